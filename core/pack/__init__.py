"""The mechanism pack and its stand-alone sampler."""

from core.pack.build import (
    PACK_NAME,
    README_NAME,
    SAMPLER_NAME,
    build_pack,
    pack_files,
    pack_json,
    read_pack,
    statements,
    write_pack,
    zip_pack,
)

__all__ = [
    "PACK_NAME",
    "README_NAME",
    "SAMPLER_NAME",
    "build_pack",
    "pack_files",
    "pack_json",
    "read_pack",
    "statements",
    "write_pack",
    "zip_pack",
]
