"""The validation study on the Mechanisms page: one per server, run behind all pages, watched and stopped from any."""

import threading
import time
from typing import Final

import streamlit as st

from core.errors import CoreError
from core.plots.validation import explain_validation, plot_validation, table_correlations, table_validation
from core.validation_study import INSTANCES, NAMES, ValidationStudy, extend_study
from pages._ui import figure, inputs, outputs

_CHUNK: Final = 5
"""Instances between two looks at whether it was stopped."""
_WATCH: Final = 1.0
"""Seconds between two pictures while it runs."""
_BREATH: Final = 0.02
"""Seconds that each chunk leaves to the pages of all sessions."""


class Runner:
    """The study of this server: it reads no table, so that all sessions may share it."""

    def __init__(self) -> None:
        self.study = ValidationStudy((), 0.0)
        self.problem = ""
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._lock = threading.Lock()

    @property
    def running(self) -> bool:
        """Whether instances are being added now."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def complete(self) -> bool:
        """Whether there is nothing to add."""
        return len(self.study.instances) >= INSTANCES

    def start(self) -> None:
        """Add instances in the background until all are there, or until it is stopped."""
        with self._lock:
            if self.running or self.complete:
                return
            self.problem = ""
            self._stop.clear()
            self._thread = threading.Thread(target=self._work, name="validation study", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Add no more; what was found stays."""
        self._stop.set()

    def wait(self) -> None:
        """Wait until no more is added."""
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        try:
            while not self.complete and not self._stop.is_set():
                self.study = extend_study(self.study, _CHUNK, clock=time.thread_time)
                time.sleep(_BREATH)
        except CoreError as error:
            self.problem = f"The study ended early: {error}"


runner: Final = Runner()


def show() -> None:
    """Show what was found so far; while it runs, look again every second."""
    (_watch if runner.running else _draw)()


@st.fragment(run_every=_WATCH)
def _watch() -> None:
    if not runner.running:
        st.rerun()
    _draw()


def _draw() -> None:
    study, count = runner.study, len(runner.study.instances)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="validation_controls"):
        noise = inputs.segments(
            inputs.option("validation_noise", 0),
            options=dict(enumerate(NAMES)),
            label="Noise (DPN)",
            help="Whose loss is compared with that of the optimum.",
        )
        if runner.running:
            st.button("Stop", key="validation_stop", on_click=runner.stop, help="What was solved so far is kept.")
        elif not runner.complete:
            words = f"Run {INSTANCES} instances" if not count else f"Continue from {count}"
            help = "Solves random groups in the background and compares score with gain; your table is not used."
            st.button(words, key="validation_run", on_click=runner.start, help=help)
    if runner.running:
        st.progress(count / INSTANCES, text=f"{count} of {INSTANCES} instances")
    outputs.remark(runner.problem or explain_validation(study, noise))
    figure.figure(plot_validation(study, noise), key="validation")
    if count and not runner.running:
        st.caption(f"{count} instances in {study.seconds:.0f} seconds of one processor.")
        outputs.table(table_correlations(study), name="correlations")
        outputs.table(table_validation(study), name="validation")
