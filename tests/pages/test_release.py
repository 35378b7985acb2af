"""The Release page without a browser: one record, the whole table, estimates, states, what leaves, the ledger."""

import csv
import io
import re

import pytest
from streamlit.testing.v1 import AppTest

from pages._ui import release_plan, release_report, state
from tests.pages.opening import opened, start_by_the_main_page, words

QUICK = {"rule": "DPN"}
"""Without optimisation the design is quick; the page is the same."""


@pytest.fixture(autouse=True)
def _frame(monkeypatch: pytest.MonkeyPatch) -> None:
    start_by_the_main_page(monkeypatch)
    monkeypatch.setattr(state, "_STALE", 0.0)  # here every value that a widget reports is meant


def numbers(app: AppTest, column: str):  # type: ignore[no-untyped-def]
    return next(frame.value for frame in app.dataframe if column in frame.value)


def spent(app: AppTest) -> list[float]:
    return [float(word) for word in re.findall(r"learned at most epsilon <b>([\d.]+)</b>", words(app))]


def test_it_opens_clean_and_nothing_has_left() -> None:
    app = opened("release", **QUICK)
    assert not app.exception
    said = words(app)
    assert "What leaves, and what does it tell?" in said
    assert "nothing is drawn yet" in said
    assert "Nothing of these rows was released" in said
    assert "33 combinations" in said
    assert "Columns that never leave: narrowing." in said
    table = numbers(app, "drawn level")
    assert len(table) == 13
    assert table["drawn level"].isna().all()


def test_a_record_is_drawn_and_enters_the_ledger() -> None:
    app = opened("release", **QUICK)
    app.number_input(key="number_release_place").set_value(7).run()
    app.button(key="perturb_record").click().run()
    assert not app.exception
    said = words(app)
    assert re.search(r"<b>\d of 9 groups</b> came out true", said)
    assert "about the row released most" in said
    assert numbers(app, "drawn level")["drawn level"].notna().all()
    ledger = numbers(app, "of the most released row")
    assert ledger["what"].tolist() == ["record 7"]
    assert ledger["of every row so far"].tolist() == [0.0]
    app.number_input(key="number_release_place").set_value(8).run()
    assert "nothing is drawn yet" in words(app), "another record was not released"


def test_the_table_is_released_and_a_second_time_adds_up() -> None:
    app = opened("release", **QUICK)
    app.button(key="release_table").click().run()
    assert not app.exception
    once = spent(app)[0]
    released = numbers(app, "cholesterol")
    assert "narrowing" not in released
    assert released.dtypes["age"].kind == "i"
    assert "withheld: narrowing" in " ".join(c.value for c in app.caption)
    app.button(key="release_table").click().run()
    assert spent(app)[0] == pytest.approx(2 * once, abs=0.016)
    assert numbers(app, "of every row so far")["what"].tolist() == ["whole table"] * 2
    assert "Released 2 times" in words(app)


def test_estimates_stand_beside_the_raw_histogram() -> None:
    app = opened("release", **QUICK)
    assert "Release the table first" in " ".join(c.value for c in app.caption)
    app.button(key="release_table").click().run()
    table = numbers(app, "iterative Bayes")
    assert table["released, raw"].sum() == pytest.approx(1)
    assert table["iterative Bayes"].sum() == pytest.approx(1)
    assert "The raw release puts <b>" in words(app)
    box = next(b for b in app.selectbox if str(b.key).startswith("choice_release_estimated"))
    box.set_value(0).run()
    assert not app.exception
    assert len(numbers(app, "iterative Bayes")) == 5


def test_merging_rare_states_changes_the_design_and_using_all_does_too() -> None:
    app = opened("release", **QUICK)
    app.button(key="merge_states").click().run()
    assert not app.exception
    assert "33 combinations" not in words(app)
    assert "each at least 5 times" in words(app)
    assert app.selectbox(key="choice_release_states").value == "merged"
    app.selectbox(key="choice_release_states").set_value("designed").run()
    app.button(key="all_states").click().run()
    assert not app.exception
    assert "combinations that occur" not in words(app)
    assert not any(box.key == "choice_release_states" for box in app.selectbox)


def test_another_value_shows_the_projection() -> None:
    app = opened("release", **QUICK)
    digest = next(str(b.key) for b in app.selectbox if str(b.key).startswith("choice_release_changed"))
    box = app.selectbox(key=digest)
    thal = next(i for i, name in enumerate(box.options) if name == "thal") - 1
    box.set_value(thal).run()
    level = next(b for b in app.selectbox if str(b.key).startswith("choice_release_level"))
    level.set_value(3).run()  # female or male with no result: one of them was never seen
    assert not app.exception
    table = numbers(app, "drawn level").set_index("attribute")
    assert table.loc["thal", "true level"] == level.options[3]


def test_an_excluded_column_leaves_only_when_it_is_named() -> None:
    app = opened("release", **QUICK)
    chooser = next(m for m in app.multiselect if str(m.key).startswith("unprotected_"))
    chooser.set_value(["narrowing"]).run()
    assert not app.exception
    assert "without any protection" in words(app)
    assert "leave WITHOUT protection because a person marked them so: narrowing" in words(app)
    app.button(key="release_table").click().run()
    assert "narrowing" in numbers(app, "cholesterol")


def test_a_table_whose_states_are_all_rare_says_what_to_do() -> None:
    rows = "\n".join(f"{i % 7},{i % 5}" for i in range(20))
    app = opened("release", data="upload")
    assert "No table is loaded yet." in words(app)
    app.switch_page("pages/data.py").run()
    app.file_uploader(key="upload").set_value(("few.csv", f"a,b\n{rows}\n".encode(), "text/csv")).run()
    app.switch_page("pages/release.py").run()
    assert not app.exception
    merge = [b for b in app.button if b.key == "merge_states"]
    assert merge
    merge[0].click().run()
    assert not app.exception
    assert "choose all combinations" in words(app)
    assert app.selectbox(key="choice_release_states").value == "designed"


def test_the_downloads_are_what_was_released(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[release_plan.Released] = []
    keep = release_plan.keep_table

    def spy(plan, release):  # type: ignore[no-untyped-def]
        keep(plan, release)
        last = release_plan.last_table()
        assert last is not None
        kept.append(last)

    monkeypatch.setattr(release_plan, "keep_table", spy)
    app = opened("release", **QUICK)
    app.button(key="release_table").click().run()
    from core.release import to_csv, type_of

    plan = kept[0].plan
    content = to_csv(kept[0].release.frame, tuple(type_of(plan, c) for c in plan.leaving)).decode()
    rows = list(csv.reader(io.StringIO(content)))
    assert rows[0] == [str(n) for n in plan.table.frame.columns][:-1]
    assert len(rows) == 304
    shown = numbers(app, "cholesterol")
    assert [int(r[0]) for r in rows[1:201]] == shown["age"].tolist()


def test_the_report_is_offered_at_two_depths_and_warns_of_rare_states(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {}
    maker = release_report._maker

    def spy(plan, depth):  # type: ignore[no-untyped-def]
        made[depth] = maker(plan, depth)
        return made[depth]

    monkeypatch.setattr(release_report, "_maker", spy)
    app = opened("release", **QUICK)
    assert not app.exception
    assert [b.proto.label for b in app.get("download_button") if "report" in str(b.proto.id)] == [
        "Download full report",
        "Download one page",
    ]
    assert "The report warns of it" in words(app)
    page = made["page"]().decode()  # as the browser asks for it: without a session
    assert "--sample heart" in page
    assert "<b>33 combinations</b> were seen" in page
    assert "<script" not in page
    app.button(key="merge_states").click().run()
    merged = made["page"]().decode()
    assert "--merge-rare" in merged
    assert "Rarer ones were merged" in merged
    assert made["full"]().count(b"<figure") == 4
