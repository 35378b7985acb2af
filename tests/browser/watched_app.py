"""The real app, which also writes down every stage that begins and ends: what was computed can be read afterwards."""

import os
import time
from pathlib import Path
from typing import Any

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

from core.pipeline import Stages
from pages._ui import figure, shell

LOG = Path(os.environ.get("WATCHED_LOG", os.devnull))
HELD = float(os.environ.get("WATCHED_HELD", "nan"))
"""The tau_group whose groups are not profiled before a person's next change has arrived, on any machine."""
PATIENCE = 60.0
_stage = Stages._stage


def _await_change() -> None:
    """Wait until the server has a newer request of this session, which the run meets at its next word of progress."""
    context = get_script_run_ctx()
    assert context is not None
    assert context.script_requests is not None
    end = time.monotonic() + PATIENCE
    while context.script_requests._state is ScriptRequestType.CONTINUE and time.monotonic() < end:
        time.sleep(0.01)


def _watched(self: Stages, name: str, key: Any, compute: Any) -> Any:
    def written() -> Any:
        with LOG.open("a", encoding="utf-8") as log:
            log.write(f"begin {name} {self.scenario.tau_group:g}\n")
        if name == "group losses" and self.scenario.tau_group == HELD:
            _await_change()
        result = compute()
        with LOG.open("a", encoding="utf-8") as log:
            log.write(f"end {name} {self.scenario.tau_group:g}\n")
        return result

    return _stage(self, name, key, written)


if Stages._stage.__name__ != "_watched":
    Stages._stage = _watched  # type: ignore[method-assign]
figure.prepare(Path(__file__).parent / "static")
shell.main()
