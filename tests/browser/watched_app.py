"""The real app, which also writes down every stage that begins and ends: what was computed can be read afterwards."""

import os
import time
from pathlib import Path
from typing import Any

from core.pipeline import Stages
from pages._ui import figure, shell

LOG = Path(os.environ.get("WATCHED_LOG", os.devnull))
PAUSE = 0.2
"""Seconds that every group takes longer, so that a person's next change comes before the last on any machine."""
_stage = Stages._stage


def _watched(self: Stages, name: str, key: Any, compute: Any) -> Any:
    def written() -> Any:
        with LOG.open("a", encoding="utf-8") as log:
            log.write(f"begin {name} {self.scenario.tau_group:g}\n")
        if name == "group losses":
            time.sleep(PAUSE)
        result = compute()
        with LOG.open("a", encoding="utf-8") as log:
            log.write(f"end {name} {self.scenario.tau_group:g}\n")
        return result

    return _stage(self, name, key, written)


if Stages._stage.__name__ != "_watched":
    Stages._stage = _watched  # type: ignore[method-assign]
figure.prepare(Path(__file__).parent / "static")
shell.main()
