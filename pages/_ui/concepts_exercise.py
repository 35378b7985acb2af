"""One exercise under the picture: question, field, hint, reply; every number computed."""

import html

import streamlit as st

from core.concepts import EXERCISES, Exercise, build_exercise, check_answer
from pages._ui import concepts_state, inputs, outputs, state

_CHOOSE = "It is checked at once, with a reply to the typical wrong answer."
_UNANSWERED = "Choose an answer"


def exercise(concept: str) -> None:
    """Show the exercise of a concept; where it has two, a switch between them."""
    own = [key for key, beside in EXERCISES.items() if beside == concept]
    with st.container(horizontal=True, gap="medium", wrap=False, key="exercise"):
        text, field = (
            st.container(key="exercise_text"),
            st.container(width=outputs.CONTROLS_WIDTH, key="exercise_field"),
        )
        with field:
            key = own[0]
            if len(own) > 1:
                numbers = {e: f"Exercise {_number(e)}" for e in own}
                key = inputs.segments(inputs.option(f"exercise_{concept}", own[0]), options=numbers, label="Which")
            chosen = build_exercise(key, concepts_state.settings())
            given = _ask(chosen)
            _help(chosen)
        with text:
            _tell(chosen, given)


def _number(key: str) -> int:
    return list(EXERCISES).index(key) + 1


def _given(chosen: Exercise) -> float | str | None:
    """Return what was answered to the question as it stands now."""
    question, given, _ = concepts_state.answers().get(chosen.key, ("", None, False))
    return given if question == chosen.question else None


def _ask(chosen: Exercise) -> float | str | None:
    def write(value: float | str) -> None:
        concepts_state.answer(chosen, value)

    given = _given(chosen)
    name = f"exercise_{chosen.key}"
    if chosen.options:
        options = {"": _UNANSWERED, **{option: option for option in chosen.options}}
        said = inputs.choice(inputs.Cell(name, given or "", write), options=options, label="Your answer", help=_CHOOSE)
        return said or None
    inputs.number(
        inputs.Cell(name, float(given or 0.0), write), bounds=(0.0, 1e12), step=0.1, digits=3, label="Your answer",
        help="Three digits are enough; press Enter to check.", show_ends=False,
    )  # fmt: skip
    return given


def _help(chosen: Exercise) -> None:
    """Offer the hint and the answer; both belong to the question as it stands."""
    with st.container(horizontal=True, gap="small", key="exercise_help"):
        for word, help in (("Hint", "One step towards the answer."), ("Answer", "The answer and why.")):
            st.button(
                word,
                key=f"exercise_{word.lower()}",
                type="tertiary",
                help=help,
                on_click=state.set_option,
                args=(f"exercise_{word.lower()}", chosen.question),
            )


def _tell(chosen: Exercise, given: float | str | None) -> None:
    reply = check_answer(chosen, given) if given is not None else None
    solved = sum(right for _, _, right in concepts_state.answers().values())
    lines = [
        f"<h2>Exercise {_number(chosen.key)} of {len(EXERCISES)}: {html.escape(chosen.title)} ({solved} solved)</h2>",
        f"<p>{html.escape(chosen.question)}</p>",
    ]
    if reply is not None:
        lines.append(
            f'<p class="{"right" if reply.right else "wrong"}" role="status">{html.escape(reply.sentence)}</p>'
        )
    elif state.option("exercise_hint") == chosen.question:
        lines.append(f"<p><i>Hint.</i> {html.escape(chosen.hint)}</p>")
    if state.option("exercise_answer") == chosen.question and not (reply and reply.right):
        lines.append(f"<p><i>Answer.</i> <b>{html.escape(chosen.spoken)}</b>. {html.escape(chosen.reason)}</p>")
    st.html(f'<div class="exercise">{"".join(lines)}</div>')
