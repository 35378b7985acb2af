"""The pieces that both depths are put together from: the file's frame, tables, fact lists, bars."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from core.report.document import Fact, GroupRow
from core.report.words import cell, rich, sig, text

HERE: Final = Path(__file__).parent
POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
"""What the browser lets the file load: nothing but what is in it."""
TABLE_ROWS: Final = 60
"""Rows of a table that are printed; the rest are counted."""


def document(title: str, body: str, *, depth: str, script: str = "") -> str:
    """Return the whole file: nothing is fetched from elsewhere, and the browser is told to refuse it."""
    style = (HERE / "report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f'<body class="{depth}">\n<main>\n{body}\n</main>\n{script}</body>\n</html>\n'
    )


def section(title: str, *parts: str, number: int) -> str:
    """Return a numbered section."""
    return (
        f"<section>\n<h2><span>{number}</span>{text(title)}</h2>\n" + "\n".join(p for p in parts if p) + "\n</section>"
    )


def paragraph(sentence: str, kind: str = "") -> str:
    """Return a sentence as a paragraph; **bold** is the only markup."""
    return f'<p class="{kind}">{rich(sentence)}</p>' if kind else f"<p>{rich(sentence)}</p>"


def bullets(sentences: Iterable[str]) -> str:
    """Return sentences as a list."""
    return "<ul>" + "".join(f"<li>{rich(s)}</li>" for s in sentences) + "</ul>"


def strip(facts: Sequence[Fact]) -> str:
    """Return the headline numbers."""
    entries = "".join(
        f"<div><dt>{text(f.label)}</dt><dd>{text(f.value)}<small>{text(f.note)}</small></dd></div>" for f in facts
    )
    return f'<dl class="strip">{entries}</dl>'


def facts_table(facts: Sequence[Fact]) -> str:
    """Return facts as a table of name, value, note."""
    rows = "".join(
        f"<tr><th scope=row>{text(f.label)}</th><td>{text(f.value)}</td><td class=note>{text(f.note)}</td></tr>"
        for f in facts
    )
    return f'<table class="facts">{rows}</table>'


def frame_table(frame: pd.DataFrame, caption: str = "") -> str:
    """Return a table: numbers with three digits at the right, names as text; empty columns are left out."""
    frame = frame[[name for name in frame.columns if not (frame[name].astype(str) == "").all()]]
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame.columns]
    kinds = [" class=n" if is_number else "" for is_number in numeric]
    head = "".join(f"<th{k}>{text(name)}</th>" for name, k in zip(frame.columns, kinds, strict=True))
    rows = [
        "<tr>" + "".join(f"<td{k}>{text(cell(v))}</td>" for v, k in zip(row, kinds, strict=True)) + "</tr>"
        for row in frame.head(TABLE_ROWS).itertuples(index=False, name=None)
    ]
    more = len(frame) - TABLE_ROWS
    if more > 0:
        rows.append(f"<tr><td colspan={len(kinds)}>and {more:,} more</td></tr>")
    said = f"<caption>{text(caption)}</caption>" if caption else ""
    return f'<table class="data">{said}<thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def bar(value: float, most: float, colour: str) -> str:
    """Return a bar, a drawing of its own, whose full width stands for `most`."""
    share = 0.0 if most <= 0 or math.isnan(value) else max(0.0, min(1.0, value / most))
    width = 0.0 if share == 0 else max(100 * share, 1.0)
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{text(sig(value))}"><rect class="track" width="100" height="10"/>'
        f'<rect width="{width:.1f}" height="10" fill="{colour}"/></svg>'
    )


DPN: Final = "#0072B2"
OPT: Final = "#D55E00"
"""The hues of noise and optimum, as in the figures."""


def choice_mark(row: GroupRow) -> str:
    """Return the word of a group's choice with its colour and symbol, so that it is seen without colour too."""
    colour, symbol = (OPT, "◆") if row.choice == "OPT" else (DPN, "●")
    return f'<span style="color:{colour}">{symbol}</span> {text(row.choice)}'
