"""The files that the browser loads once: plotly.min.js and the figure's modules, copied into the served folder."""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import plotly

MODULES: Final = ("figure.js", "handles.js", "moves.js", "preview.js", "slide.js", "theme.js")
_HERE: Final = Path(__file__).parent
_PLOTLY: Final = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


@dataclass(frozen=True)
class Served:
    """Where the browser finds the files, relative to the app's address.

    Parameters
    ----------
    plotly, module : str
        Addresses of the drawing library and of the figure's main module.
    problem : str
        Why figures cannot be shown; empty if they can.
    """

    plotly: str
    module: str
    problem: str = ""


_served: dict[Path, Served] = {}


def prepare(folder: Path) -> Served:
    """Copy what is missing or outdated into the served `folder`, once per process.

    Every file is written under another name and moved into place, so servers that start together cannot see half a
    file; files that are already right are left alone, so a read-only folder that was filled once is enough.

    Parameters
    ----------
    folder : Path
        The folder `static` beside the main script.
    """
    if folder not in _served or _served[folder].problem:
        _served[folder] = _copy(folder)
    return _served[folder]


def current() -> Served:
    """Return where the files of the folder prepared last are."""
    if not _served:
        return Served("", "", "The figures' files were not prepared; open the app by its main page.")
    return next(reversed(_served.values()))


def _copy(folder: Path) -> Served:
    sources = {name: (_HERE / name).read_bytes() for name in MODULES}
    # The version is in the path, so that a browser never mixes modules of two versions.
    version = hashlib.sha256(b"".join(sources.values())).hexdigest()[:12]
    library = _PLOTLY.read_bytes()
    mark = hashlib.sha256(library).hexdigest()[:12]
    wanted = {folder / "plotly.min.js": library}
    wanted |= {folder / f"figure-{version}" / name: content for name, content in sources.items()}
    problem = ""
    try:
        for path, content in wanted.items():
            _write(path, content)
    except OSError as error:
        problem = (
            f"Figures cannot be drawn: the folder {folder.name}/ beside the app cannot be written "
            f"({error.strerror or 'unknown reason'}); make it writable for the server and restart it."
        )
    return Served(f"app/static/plotly.min.js?v={mark}", f"app/static/figure-{version}/figure.js", problem)


def _write(path: Path, content: bytes) -> None:
    if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)  # mkstemp makes it private
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
