"""The exercises as one HTML file to print: room to write, and the answers on a page of their own."""

import html
from typing import Final

from core.concepts.exercises import Exercise, build_exercises
from core.concepts.settings import Settings
from core.concepts.words import say

_STYLE: Final = """
@page{size:A4;margin:18mm}
body{font:11pt/1.45 Georgia,"Times New Roman",serif;color:#000;background:#fff;max-width:44rem;margin:2rem auto;
  padding:0 1rem}
h1{font-size:17pt;margin:0 0 .3rem}h2{font-size:12pt;margin:0 0 .2rem}
.who{display:flex;gap:2rem;margin:.8rem 0 1.4rem}.who span{flex:1;border-bottom:1px solid #000;padding-bottom:.1rem}
.exercise,.answer{break-inside:avoid;margin:0 0 1.1rem}.exercise p,.answer p{margin:0 0 .3rem}
.room{height:6.6rem;background:repeating-linear-gradient(#fff 0 1.6rem,#999 1.6rem calc(1.6rem + 1px))}
.choices{margin:.2rem 0;padding:0;list-style:none}.choices li::before{content:"\\2610";margin-right:.5rem}
.answers{break-before:page;padding-top:1rem}.wrong{font-size:10pt;margin:.1rem 0 0 1.1rem;padding:0}
.foot{font-size:9pt;margin-top:1.5rem}
@media print{body{margin:0;padding:0;max-width:none}}
"""


def write_worksheet(settings: Settings) -> str:
    """Return a self-contained HTML file with the eight exercises and, on a new page, their computed answers.

    Parameters
    ----------
    settings : Settings
        What the concepts are set to; every number of the sheet follows from it.
    """
    exercises = build_exercises(settings)
    asked = "".join(_ask(number, exercise) for number, exercise in enumerate(exercises, start=1))
    answered = "".join(_tell(number, exercise) for number, exercise in enumerate(exercises, start=1))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Metric differential privacy by hand</title><style>{_STYLE}</style></head><body>"
        "<h1>Metric differential privacy by hand</h1>"
        '<p class="who"><span>Name</span><span>Date</span></p>'
        f"<main>{asked}</main>"
        f'<section class="answers"><h1>Answers</h1>{answered}'
        '<p class="foot">Every number was computed by the mechanisms themselves; an answer within 1 % counts.</p>'
        "</section></body></html>\n"
    )


def _ask(number: int, exercise: Exercise) -> str:
    choices = "".join(f"<li>{_text(option)}</li>" for option in exercise.options)
    listed = f'<ul class="choices">{choices}</ul>' if choices else ""
    return (
        f'<section class="exercise"><h2>{number}. {_text(exercise.title)}</h2><p>{_text(exercise.question)}</p>'
        f'{listed}<div class="room"></div></section>'
    )


def _tell(number: int, exercise: Exercise) -> str:
    wrong = "".join(f"<li>{_said(mistake.value)}: {_text(mistake.reply)}</li>" for mistake in exercise.mistakes)
    return (
        f'<section class="answer"><h2>{number}. {_text(exercise.title)}: {_text(exercise.spoken)}</h2>'
        f'<p>{_text(exercise.reason)}</p><ul class="wrong">{wrong}</ul></section>'
    )


def _said(value: float | str) -> str:
    return _text(say(value) if isinstance(value, float) else value)


def _text(words: object) -> str:
    return html.escape(str(words))
