"""The report: one file that fetches nothing, says what core computed, takes names as text, and can be made again."""

import base64
import json
import re
from html.parser import HTMLParser

import pytest
from plotly.offline import get_plotlyjs

from core.__main__ import main
from core.commands.report import _memory
from core.pipeline import Stages
from core.plots import template
from core.plots.report import draw_exhibits
from core.projection import RARE
from core.release import MergedStages, count_rare, plan_release, worst_factor
from core.report import DEPTHS, Origin, build_report, render, words
from core.scenario import AttributeSpec, Scenario
from core.table import read_table
from tests.core.plots.small_case import small_stages

EVIL = "</script><script>alert(1)</script>"
QUICK = {"rule": "DPN", "refine": False}


class Reader(HTMLParser):
    """Collects addresses, texts and scripts, and checks that tags are closed in order."""

    VOID = frozenset({"meta", "img", "rect", "br", "link"})

    def __init__(self, content):
        super().__init__()
        self.tags, self.addresses, self.said, self.scripts, self.open = [], [], [], [], []
        self.feed(content.decode("utf-8"))
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "srcset", "data", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.said).append(data)

    @property
    def text(self):
        return " ".join("".join(self.said).split())


def make(stages, *, domain=None, unprotected=(), origin=None):
    plan = plan_release(stages, domain=domain, unprotected=unprotected)
    return build_report(stages, plan, draw_exhibits(stages), origin=origin or Origin(None))


@pytest.fixture(scope="module")
def stages():
    return small_stages(**QUICK)


@pytest.fixture(scope="module")
def report(stages):
    return make(stages)


@pytest.fixture(scope="module")
def files(report):
    return {depth: render(report, depth) for depth in DEPTHS}


@pytest.mark.parametrize("depth", DEPTHS)
def test_it_fetches_nothing(files, depth):
    read = Reader(files[depth])
    assert all(address.startswith("data:") for address in read.addresses)
    style = re.search(r"<style>(.*?)</style>", files[depth].decode(), re.DOTALL).group(1)
    assert "url(" not in style
    assert "@import" not in style
    assert b"default-src 'none'" in files[depth]
    assert not {"link", "iframe", "object", "embed", "base"} & set(read.tags)


def test_the_full_one_has_plotly_once_and_the_page_has_no_program(files):
    assert files["full"].decode().count(get_plotlyjs()) == 1
    assert Reader(files["full"]).tags.count("figure") == 4
    assert "script" not in Reader(files["page"]).tags
    assert len(files["page"]) < 30_000


@pytest.mark.parametrize("depth", DEPTHS)
def test_names_are_text(files, depth):
    read = Reader(files[depth])
    assert "second <b>" in read.text
    assert b"second <b>" not in re.sub(rb"<script.*?</script>", b"", files[depth], flags=re.DOTALL)


def test_a_name_cannot_end_the_script_that_carries_a_figure():
    rows = "\n".join(f"{'uv'[i % 2]},{'xyz'[i % 3]}" for i in range(60))
    stages = Stages(read_table(f"{EVIL},b\n{rows}\n".encode(), name=EVIL), Scenario(**QUICK), remember=_memory())
    content = render(make(stages), "full")
    read = Reader(content)
    assert read.tags.count("script") == 4 + 2
    figures = [json.loads(s) for s in read.scripts if s.startswith("{")]
    assert len(figures) == 4
    assert any("alert(1)" in json.dumps(figure) for figure in figures)
    assert EVIL in read.text
    assert f"'{EVIL}'" in read.text, "the shell takes the file's name as one word"


def test_no_figure_names_a_state(files, stages):
    assert stages.records.attributes[0].levels[0] == "high & dry"
    for figure in (json.loads(s) for s in Reader(files["full"]).scripts if s.startswith("{")):
        for trace in figure["light"]["data"]:
            assert not {"customdata", "hovertemplate", "hovertext"} & set(trace)
        drawn = json.dumps(figure, ensure_ascii=False)
        assert "high &amp; dry" not in drawn
        assert "→" not in drawn


def test_certificates_are_those_of_the_channels(stages, report, files):
    design, text = stages.design, Reader(files["full"]).text
    assert [g.certified for g in report.groups] == [c.certified_epsilon for c in design.channels]
    assert [g.epsilon for g in report.groups] == list(design.allocation)
    assert words.above(design.certified_epsilon, 12) in text
    for group in report.groups:
        assert words.above(group.certified, 6) in text
    total = sum(g.loss for g in report.groups) + stages.surrogate.intercept
    assert total == pytest.approx(design.predicted_loss)
    assert f"exp({words.above(worst_factor(plan_release(stages)))})" in text


def test_its_numbers_follow_the_scenario(report):
    other = make(small_stages(**QUICK | {"epsilon": 6.0}))
    assert other.certified > report.certified
    assert other.predicted < report.predicted
    assert other.summary != report.summary
    assert {f.label: f.value for f in other.knobs}["Privacy budget (epsilon)"] == "6"
    changed = {f.label for f, g in zip(report.made_with, other.made_with, strict=True) if f.value != g.value}
    assert changed == {"Scenario", "Mechanism"}


def test_every_condition_is_named(files):
    text = Reader(files["full"]).text
    said = (
        "The metric is a decision",
        "The domain is observed",
        "One release",
        "drawn independently",
        "The fitting data are not protected",
        "The loss is a prediction",
        "no private release",
    )
    for condition in said:
        assert condition in text


def rare_stages(kind=Stages, **changes):
    rows = "\n".join(f"{i % 4},{i % 4 if i % 40 else (i + 1) % 4}" for i in range(160))
    specs = tuple(AttributeSpec(c, kind="nominal") for c in range(2))
    scenario = Scenario(attributes=specs, **(QUICK | changes))
    return kind(read_table(f"a,b\n{rows}\n".encode(), name="t.csv"), scenario, remember=_memory())


def test_rare_states_are_warned_of_until_merged_or_complete():
    stages = rare_stages()
    plan = plan_release(stages)
    rare = count_rare(plan, RARE)
    assert rare == 1
    found = build_report(stages, plan, (), origin=Origin(None))
    assert f"**{rare} combination** was seen fewer than {RARE} times" in found.warnings[0]
    assert "merge rare states" in found.warnings[0]
    assert "all combinations" in found.warnings[0]
    merged = rare_stages(MergedStages)
    found = build_report(merged, plan_release(merged, domain="merged"), (), origin=Origin(None))
    assert "Rarer ones were merged" in found.warnings[0]
    assert "--merge-rare" in found.command
    whole = rare_stages(domain="product")
    found = build_report(whole, plan_release(whole), (), origin=Origin(None))
    assert len(found.warnings) == 1
    assert "no private release" in found.warnings[0]


def test_a_loss_above_a_constants_is_said():
    stages = rare_stages(epsilon=0.05)
    found = build_report(stages, plan_release(stages), (), origin=Origin(None))
    assert found.predicted > found.constant
    assert "more than releasing a constant" in found.summary[1]


def test_the_command_makes_it_again(tmp_path, capsys):
    table = tmp_path / "own table.csv"
    table.write_text("a;b\n" + "".join(f"{i % 3};{'xy'[i % 2]}\n" for i in range(60)), encoding="utf-8")
    arguments = ["report", "--table", str(table), "--no-date"]
    assert main([*arguments, "--out", str(tmp_path / "deep" / "first.html")]) == 0
    assert "first.html" in capsys.readouterr().out
    first = (tmp_path / "deep" / "first.html").read_bytes()
    assert "--table 'own table.csv'" in Reader(first).text
    address = next(a for a in Reader(first).addresses if a.startswith("data:application/json"))
    (tmp_path / "scenario.json").write_bytes(base64.b64decode(address.split(",")[1]))
    again = ["--scenario", str(tmp_path / "scenario.json"), "--out", str(tmp_path / "second.html")]
    assert main([*arguments, *again]) == 0
    assert (tmp_path / "second.html").read_bytes() == first


def test_the_command_refuses_in_one_sentence(tmp_path, capsys):
    (tmp_path / "few.csv").write_text("a,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(20)), encoding="utf-8")
    arguments = ["report", "--table", str(tmp_path / "few.csv"), "--out", str(tmp_path / "r.html")]
    assert main([*arguments, "--merge-rare"]) == 2
    assert "choose all combinations" in capsys.readouterr().err
    assert main([*arguments, "--unprotected", "a"]) == 2
    assert "cannot be marked unprotected" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize("value", [0.0, -2.0, 9.996, 15.8342, 0.06531, 15358.2, 2.5e-7, float("inf"), float("nan")])
def test_numbers_read_as_in_the_figures(value):
    assert words.sig(value) == template.sig(value)


@pytest.mark.parametrize("digits", [3, 6, 12])
@pytest.mark.parametrize("value", [6.49416, 2.72000689312, 0.1, 1 / 3, 4.0, 0.0])
def test_what_is_promised_is_rounded_up(value, digits):
    assert value <= float(words.above(value, digits)) <= value * (1 + 10.0 ** (1 - digits))
