"""Where an evaluation stands, over its controls: what is known, what runs, how long it takes; run, stop, continue."""

import html
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages._ui import background, outputs
from pages._ui.background import Job, Run, duration
from pages._ui.evaluation_runs import start

HEIGHT: Final = 112
"""Fixed, so that the controls below stay where they are when a run begins or ends."""


def place() -> DeltaGenerator:
    """Return where the bar stands, for views whose controls decide what its job is."""
    return st.container(key="run_place")


def bar(job: Job, *, found: int, wanted: int, what: str, button: str) -> None:
    """Show where a job stands, at the top of the controls, in a box of fixed height.

    Parameters
    ----------
    job : Job
        What is on screen.
    found, wanted : int
        How much of it is known.
    what : str
        What is counted.
    button : str
        What starts it.
    """
    desk = background.desk()
    running, own = desk.active, desk.find(job.token)
    with st.container(height=HEIGHT, border=False, gap="small", key="run_bar"):
        if running is not None and running.token == job.token:
            st.button("Stop", key="run_stop", on_click=desk.stop, width="stretch")
            _progress(running, running.words or running.inner or running.title)
        elif running is not None:
            with st.container(horizontal=True, gap="small", key="run_buttons"):
                st.button("Stop it", key="run_stop", on_click=desk.stop)
                if found < wanted:
                    st.button("Run this", key="run_start", on_click=start(job), help="It takes the place of the other.")
            _progress(running, f"{running.title}, for other settings")
        else:
            if found < wanted:
                label = "Continue" if own is not None and own.status == "stopped" else button
                st.button(label, key="run_start", on_click=start(job), width="stretch", type="primary")
            st.caption(_standing(own, found=found, wanted=wanted, what=what))


def _progress(run: Run, words: str) -> None:
    left = run.left
    if run.status == "waiting":
        words = "Waiting for another run on this table"
    elif left is not None:
        words += f", about {duration(left)} left"
    st.progress(run.fraction, text=html.escape(words))


def _standing(run: Run | None, *, found: int, wanted: int, what: str) -> str:
    count = f"{found} of {wanted} {what}"
    if found >= wanted:
        return f"All {wanted} {what} are known." if wanted > 1 else f"The {what} is there."
    if wanted == 1:
        return f"There is no {what} yet."
    if run is not None and run.status == "stopped":
        return f"Stopped at {count}; what was found is kept."
    return f"{count} are known."


def problem(job: Job) -> str:
    """Return why the last run of a job failed, empty if it did not."""
    run = background.desk().find(job.token)
    return run.problem if run is not None and run.status == "failed" else ""


def blank(job: Job, sentence: str, button: str, height: int) -> None:
    """Show where the figure will be that nothing is known: with what runs it, or that it runs, or why not.

    Parameters
    ----------
    job : Job
        What would be shown.
    sentence, button : str
        What will be computed, and what starts it.
    height : int
        Height of the figure, so that nothing jumps.
    """
    running, failed = background.desk().active, problem(job)
    if running is not None and running.token == job.token:
        with st.container(height=height, key="first_rows", horizontal_alignment="center", vertical_alignment="center"):
            st.html('<p class="empty">What is found appears here as it is found.</p>', width="content")
    elif failed:
        with st.container(height=height, border=False, key="run_failed"):
            outputs.refusal(failed)
    else:
        outputs.empty(sentence, button, start(job), height=height)
