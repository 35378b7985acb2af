"""The real app, which also writes down how much of its uploads is alive: what stays after a session can be read."""

import os
import threading
import time
import weakref
from pathlib import Path
from typing import Any

from streamlit import runtime

from pages._ui import cache, figure, shell, state

LOG = Path(os.environ.get("COUNTED_LOG", os.devnull))
_SECONDS = 0.2
_FILES = "_uploaded_file_mgr"


def _followed(make: Any, kept: list[weakref.ref[Any]]) -> Any:
    """Return a function that also follows what it makes, without holding it."""

    def made(*args: Any, **named: Any) -> Any:
        thing = make(*args, **named)
        kept.append(weakref.ref(thing))
        return thing

    return made


def _watch(*followed: list[weakref.ref[Any]]) -> None:
    while True:
        alive = [sum(ghost() is not None for ghost in kept) for kept in followed]
        files = sum(len(files) for files in getattr(runtime.get_instance(), _FILES).file_storage.values())
        with LOG.open("a", encoding="utf-8") as log:
            log.write(" ".join(map(str, (*alive, files))) + "\n")
        time.sleep(_SECONDS)


if "counting" not in {thread.name for thread in threading.enumerate()}:
    tables, stages = [], []
    state.read_table = _followed(state.read_table, tables)
    cache.Stages = _followed(cache.Stages, stages)
    threading.Thread(target=_watch, args=(tables, stages), name="counting", daemon=True).start()
figure.prepare(Path(__file__).parent / "static")
shell.main()
