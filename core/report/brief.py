"""The report on one A4 page, for those who decide: what it costs, where the budget goes, what is promised."""

import math
from typing import Final

from core.report.document import GroupRow, Report
from core.report.full import text_lines
from core.report.pieces import DPN, OPT, bar, bullets, choice_mark, document, paragraph, strip
from core.report.words import above, shorten, sig, text

GROUPS: Final = 8
"""Groups listed; the rest are summed up in a line."""
NAME: Final = 44
"""Characters of a group's name."""
SENTENCE: Final = 420
"""Characters of a warning; longer ones, with many long names, are cut."""


def render_page(report: Report) -> str:
    """Return one page: no program in it, and it prints on one A4 sheet."""
    made = f" · {text(report.made)}" if report.made else ""
    body = (
        f'<header>\n<p class="kind">Metric differential privacy: summary of a design{made}</p>\n'
        f"<h1>{text(shorten(report.title, 70))}</h1>\n{strip(report.strip)}\n</header>\n"
        + "".join(paragraph(s) for s in report.summary)
        + f'<div class="columns">\n{_loss(report)}\n{_budget(report)}\n</div>\n'
        + "".join(paragraph(shorten(w, SENTENCE), "warning") for w in report.warnings)
        + f'<div class="columns">\n<section><h2>Guaranteed</h2>{bullets(_promises(report))}</section>\n'
        f"<section><h2>Not guaranteed</h2>{bullets(_limits(report))}</section>\n</div>\n" + _foot(report)
    )
    return document(f"Summary: {report.title}", body, depth="page")


def _loss(report: Report) -> str:
    """Draw the predicted loss between nothing lost and nothing told."""
    most = max(x for x in (report.predicted, report.constant) if not math.isnan(x))
    rows = [("this design", report.predicted, OPT if any(g.choice == "OPT" for g in report.groups) else DPN)]
    if not math.isnan(report.constant):
        rows.append(("a constant (tells nothing)", report.constant, "#8A9299"))
    drawn = "".join(
        f"<tr><th scope=row>{text(name)}</th><td class=drawn>{bar(value, most, colour)}</td>"
        f"<td class=n>{sig(value)}</td></tr>"
        for name, value, colour in rows
    )
    count = sum(g.loss > g.constant * (1 + 1e-9) for g in report.groups)
    worse = "" if count == 0 else f" {count} of the groups {'loses' if count == 1 else 'lose'} more than a constant."
    return (
        f"<section><h2>What it costs</h2><table class=bars>{drawn}</table>"
        + paragraph(f"Predicted loss in {report.unit}; no loss is 0.{worse} {report.purpose}", "small")
        + "</section>"
    )


def _budget(report: Report) -> str:
    """Draw the budgets of the groups, the largest first."""
    ordered = sorted(report.groups, key=lambda g: -g.epsilon)
    shown = ordered if len(ordered) <= GROUPS + 1 else ordered[:GROUPS]
    most = max(g.epsilon for g in ordered)
    rows = "".join(_budget_row(g, most) for g in shown)
    rest = ordered[len(shown) :]
    if rest:
        rows += (
            f"<tr><th scope=row>{len(rest)} more groups</th><td class=drawn></td>"
            f"<td class=n>at most {sig(rest[0].epsilon)}</td></tr>"
        )
    return (
        f"<section><h2>Where the privacy budget goes</h2><table class=bars>{rows}</table>"
        + paragraph(
            f"Epsilon per group; their norm with q = {report.norm} is certified as {sig(report.certified)}. "
            "◆ optimal channel, ● noise.",
            "small",
        )
        + "</section>"
    )


def _budget_row(group: GroupRow, most: float) -> str:
    colour = OPT if group.choice == "OPT" else DPN
    mark = choice_mark(group).split("</span>")[0] + "</span>"
    return (
        f"<tr><th scope=row>{mark} {text(shorten(group.attributes, NAME))}</th>"
        f"<td class=drawn>{bar(group.epsilon, most, colour)}</td><td class=n>{sig(group.epsilon)}</td></tr>"
    )


def _promises(report: Report) -> tuple[str, ...]:
    return (
        f"Two records at distance d, in the declared metric: every output has probabilities within exp("
        f"{above(report.certified)} d); any two records within exp({above(report.worst)}).",
        "Whatever an attacker knows of other records, and whatever is done with the output.",
        "Derived from the very whole numbers that are drawn from, rounded up.",
    )


def _limits(report: Report) -> tuple[str, ...]:
    return (
        "That the declared metric fits the harm; inside a bin it sees nothing.",
        "More than one release of a record: epsilons add up.",
        "The data that the design was fitted on: levels, states and channels tell of them unless declared.",
        "Groups that are not drawn independently, or records outside the declared states.",
        "Any use of the data but this task.",
    )


def _foot(report: Report) -> str:
    facts = " · ".join(f"{text(f.label.lower())} {text(shorten(f.value, 40))}" for f in report.made_with)
    return (
        f'<footer><pre class="command">{text_lines(report.command.split(chr(10))[0])}</pre>'
        f"<p>{facts}. The full report has the scenario, every figure and the certificate per group.</p></footer>"
    )
