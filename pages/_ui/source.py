"""Where the table comes from: the uploader, and the format of a file as detected, to be overridden."""

from collections.abc import Callable
from typing import Any, Final

import streamlit as st
from starlette.formparsers import MultiPartParser

from core import limits
from core.errors import CoreError
from core.table import SAMPLES, Table
from pages._ui import inputs, outputs, state
from pages._ui.link import UPLOAD

# The web server would put what is larger than 1 MB into a temporary file while it arrives; an upload stays in memory.
MultiPartParser.spool_max_size = (limits.UPLOAD_LIMIT_MB + 1) << 20

_SEPARATORS: Final = {",": "comma ,", ";": "semicolon ;", "\t": "tab", "|": "bar |", " ": "space"}
_ENCODINGS: Final = ("utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16", "cp1250", "cp1251", "shift_jis", "gb18030")
_DECIMALS: Final = {".": "point 1.5", ",": "comma 1,5"}
_FIRST_ROWS: Final = 8
_FORMAT: Final = "format_overrides"


def uploader(key: str = "upload") -> None:
    """Show the uploader; what cannot be read becomes a sentence and changes nothing."""

    def uploaded() -> None:
        file = state.uploaded(key)
        if file is None:
            return
        try:
            state.load_upload(file.getvalue(), file.name)
            state.set_option(_FORMAT, {})
        except CoreError as error:
            state.tell(str(error))

    st.file_uploader(
        "Your own table",
        key=key,
        on_change=uploaded,
        max_upload_size=limits.UPLOAD_LIMIT_MB,
        help="CSV, TSV, Excel (.xlsx) or Parquet, also gzipped. It stays in this session's memory: it is never written "
        "to disk or to a log, and leaves with the session.",
    )


def show_format(table: Table) -> None:
    """Show how the file was read, each part to be overridden for an upload, and its first rows."""
    if state.source() != UPLOAD:
        sample = SAMPLES[state.source()]
        outputs.remark(f"**{sample.title}.** {sample.note} Source: {sample.attribution}")
    else:
        with st.container(horizontal=True, gap="medium", key="format"):
            _overrides(table)
    st.dataframe(table.frame.head(_FIRST_ROWS), key="first_rows", width="stretch", hide_index=True)


def _overrides(table: Table) -> None:
    dialect = table.dialect
    if dialect.format == "parquet":
        outputs.remark("A Parquet file says itself how it is to be read; there is nothing to choose.")
        return
    if dialect.format == "text":
        separators = {dialect.separator: f"character {dialect.separator}", **_SEPARATORS}
        inputs.choice(
            _cell("separator", dialect.separator),
            options=separators,
            label="Separator",
            help="Character between two fields of a line.",
        )
        encodings = list(dict.fromkeys((dialect.encoding or "utf-8", *_ENCODINGS)))
        inputs.choice(
            _cell("encoding", dialect.encoding),
            options=encodings,
            label="Encoding",
            help="How letters are written as bytes; choose another if letters look wrong.",
        )
    elif table.sheets:
        inputs.choice(_cell("sheet", dialect.sheet), options=table.sheets, label="Sheet", help="Sheet of the workbook.")
    inputs.choice(
        _cell("decimal", dialect.decimal), options=_DECIMALS, label="Decimal mark", help="Mark in numbers kept as text."
    )
    inputs.choice(
        _cell("header", dialect.header),
        options={True: "names", False: "values"},
        label="First row holds",
        help="Whether the first row holds the columns' names.",
    )


def _cell(name: str, value: Any) -> inputs.Cell:
    return inputs.Cell(f"format_{name}", value, _reread(name))


def _reread(name: str) -> Callable[[Any], None]:
    def write(value: Any) -> None:
        wanted = {**state.option(_FORMAT, {}), name: value}
        try:
            state.reread_upload(**wanted)
            state.set_option(_FORMAT, wanted)
        except CoreError as error:
            state.tell(str(error))

    return write
