"""The report: one self-contained HTML file about a design, in full or on one page."""

from core.report.brief import render_page
from core.report.content import build_report
from core.report.document import DEPTHS, Exhibit, Fact, Origin, Report
from core.report.full import render_full

__all__ = ["DEPTHS", "Exhibit", "Fact", "Origin", "Report", "build_report", "render", "render_full", "render_page"]


def render(report: Report, depth: str) -> bytes:
    """Return a report as the content of its file, at one of the depths."""
    return (render_full if depth == "full" else render_page)(report).encode("utf-8")
