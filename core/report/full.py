"""The full report: scenario, data, every figure with its table, certificate, guarantees, how to make it again."""

import base64
import json
from typing import Final

from plotly.offline import get_plotlyjs

from core.report.document import Exhibit, Report
from core.report.pieces import (
    HERE,
    bullets,
    choice_mark,
    document,
    facts_table,
    frame_table,
    paragraph,
    section,
    strip,
)
from core.report.words import above, cell, sig, text

_GLOSSARY: Final = (
    ("mDP", "metric differential privacy: outputs of two records at distance d have probabilities within a factor "
     "exp(epsilon d)"),
    ("epsilon", "privacy budget per unit of distance; smaller is more private"),
    ("group", "attributes that are perturbed jointly; its domain is its set of states"),
    ("channel", "one row of release probabilities per true state, kept as whole numbers"),
    ("DPN, OPT", "predefined noise driven by distance; the channel of least expected loss for the task"),
    ("score", "how well distance alone explains a group's loss; 1 means entirely, and then noise fits"),
    ("regret", "share of the noise's loss that OPT would save"),
    ("zero information", "what always releasing the best constant would lose"),
)  # fmt: skip


def render_full(report: Report) -> str:
    """Return the full report as one HTML file; plotly's program is in it once, for its figures."""
    parts = [
        _head(report),
        section("Scenario", paragraph(report.purpose), facts_table(report.knobs), number=1),
        section(
            "What is protected",
            frame_table(report.schema),
            "<h3>Findings in the data</h3>",
            bullets(report.findings) if report.findings else paragraph("Nothing unusual was noticed."),
            number=2,
        ),
        *(_exhibit(exhibit, number) for number, exhibit in enumerate(report.exhibits, 3)),
    ]
    number = len(report.exhibits) + 3
    parts += [
        section("Certificate", _certificate(report), number=number),
        section(
            "What is and what is not guaranteed",
            "<h3>Guaranteed</h3>",
            bullets(report.assured),
            "<h3>Not guaranteed, or only under a condition</h3>",
            bullets(report.unassured),
            number=number + 1,
        ),
        section("How to reproduce it", _reproduce(report), number=number + 2),
        section("Words", _glossary(), number=number + 3),
        _foot(report),
    ]
    return document(f"Report: {report.title}", "\n".join(parts), depth="full", script=_script(report.exhibits))


def _head(report: Report) -> str:
    made = f" · {text(report.made)}" if report.made else ""
    warnings = "".join(paragraph(w, "warning") for w in report.warnings)
    return (
        f'<header>\n<p class="kind">Metric differential privacy: report of a design{made}</p>\n'
        f"<h1>{text(report.title)}</h1>\n{strip(report.strip)}\n"
        + "".join(paragraph(s) for s in report.summary)
        + f"\n{warnings}\n</header>"
    )


def _exhibit(exhibit: Exhibit, number: int) -> str:
    both = json.dumps({"light": exhibit.light, "dark": exhibit.dark}, separators=(",", ":"))
    # A closing tag inside a name must not end the script that carries the figure.
    safe = both.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    figure = (
        f'<figure data-height="{exhibit.height}">\n'
        f'<div class="screen" role="img" aria-label="{text(exhibit.alt)}" style="height:{exhibit.height}px"></div>\n'
        f'<img class="print" alt="{text(exhibit.alt)}">\n'
        f'<script type="application/json">{safe}</script>\n'
        f"<figcaption>{text(exhibit.caption or exhibit.alt)}</figcaption>\n</figure>"
    )
    return section(
        exhibit.title,
        paragraph(exhibit.means, "means"),
        figure,
        bullets(exhibit.remarks) if exhibit.remarks else "",
        frame_table(exhibit.table) if exhibit.table is not None else "",
        number=number,
    )


def _certificate(report: Report) -> str:
    rows = "".join(
        f"<tr><td>{text(g.attributes)}</td><td>{choice_mark(g)}</td><td>{text(g.mechanism)}</td>"
        f"<td class=n>{'by attribute' if g.states is None else cell(g.states)}</td>"
        f"<td class=n>{g.epsilon:.6g}</td><td class=n>{above(g.certified, 6)}</td>"
        f"<td class=n>{sig(g.loss)}</td><td class=n>{sig(g.constant)}</td></tr>"
        for g in report.groups
    )
    head = (
        "<tr><th>group</th><th>choice</th><th>mechanism</th><th class=n>states</th><th class=n>epsilon given</th>"
        f"<th class=n>epsilon certified</th><th class=n>loss, {text(report.unit)}</th>"
        "<th class=n>constant's loss</th></tr>"
    )
    total = (
        f"<tr class=total><td colspan=4>the whole record: norm with q = {text(report.norm)} of the groups'</td>"
        f"<td class=n>{report.asked:.6g}</td><td class=n>{above(report.certified, 6)}</td>"
        f"<td class=n>{sig(report.predicted)}</td><td class=n>{sig(report.constant)}</td></tr>"
    )
    said = (
        f"Every group's epsilon is the smallest that its whole numbers satisfy, rounded up. The groups' values combine "
        f"to **{above(report.certified, 12)}** for the record, at most the {report.asked:g} that were asked for. "
        "Losses are weighted, so that they add up with the surrogate's intercept to the predicted loss."
    )
    return f'{paragraph(said)}<table class="data"><thead>{head}</thead><tbody>{rows}{total}</tbody></table>'


def _reproduce(report: Report) -> str:
    encoded = base64.b64encode(report.scenario_json.encode()).decode("ascii")
    return (
        paragraph("Save the scenario as scenario.json beside the table and run, with the same versions:")
        + f'<pre class="command">{text_lines(report.command)}</pre>'
        + facts_table(report.made_with)
        + f'<h3>scenario.json <a class="save" download="scenario.json" href="data:application/json;base64,{encoded}">'
        f'save</a></h3><pre class="json">{text_lines(report.scenario_json)}</pre>'
    )


def text_lines(lines: str) -> str:
    """Return several lines as text, each escaped."""
    return "\n".join(text(line) for line in lines.split("\n"))


def _glossary() -> str:
    rows = "".join(f"<tr><th scope=row>{text(word)}</th><td>{text(what)}</td></tr>" for word, what in _GLOSSARY)
    return f'<table class="facts">{rows}</table>'


def _foot(report: Report) -> str:
    said = f"Data: {report.attribution} " if report.attribution else ""
    return f"<footer>{text(said)}Made with mDP Explorer, Apache-2.0.</footer>"


def _script(exhibits: tuple[Exhibit, ...]) -> str:
    if not exhibits:
        return ""
    ours = (HERE / "report.js").read_text(encoding="utf-8")
    return f"<script>{get_plotlyjs()}</script>\n<script>\n{ours}</script>\n"
