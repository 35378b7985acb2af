"""The Data page without a browser: what is protected, one column's bins and levels, uploads, refusals, the strip."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.opening import APP, words

pytestmark = pytest.mark.usefixtures("main_page")
CSV = b"age;town;score\n20;Rome;1,5\n30;Oslo;2,25\n40;Rome;3,5\n60;;2,5\n25;<b>R&D</b>;9,5\n"


@pytest.fixture
def opened(no_strip: None) -> Callable[..., AppTest]:
    """Return a maker of sessions without the design for the live strip."""

    def make(**query: str) -> AppTest:
        app = AppTest.from_file(APP, default_timeout=120)
        for name, value in query.items():
            app.query_params[name] = value
        return app.run()

    return make


def pick_column(app: AppTest, name: str) -> AppTest:
    box = next(s for s in app.selectbox if s.key.startswith("column_"))
    names = box.options
    columns = [s for s in names if not s.startswith(("All", "Columns"))]
    # Values are the columns' positions; Heart leaves out only its last one.
    return box.set_value(columns.index(name)).run()


def upload(app: AppTest, content: bytes, name: str = "t.csv") -> AppTest:
    app.file_uploader(key="upload").upload(name, content, "text/csv")
    return app.run()


def test_it_opens_clean_and_says_what_is_protected(opened: Callable[..., AppTest]) -> None:
    app = opened()
    assert not app.exception
    assert "What am I protecting?" in words(app)
    assert "<b>303 records</b> with <b>13 attributes</b> are protected" in words(app)
    assert "Left out: narrowing." in words(app)
    assert "UCI Machine Learning Repository" in words(app)
    assert not app.warning


def test_a_column_is_shown_large_and_its_bins_change(opened: Callable[..., AppTest]) -> None:
    app = pick_column(opened(), "age")
    assert "<b>age</b> becomes <b>5 bins</b>, 9.60 wide" in words(app)
    app.number_input(key="number_bins_0").set_value(3).run()
    assert "<b>3 bins</b>, 16.0 wide" in words(app)
    app.text_input(key="text_edges_0").set_value("29 50 77").run()
    assert "<b>2 bins</b>, 21.0 to 27.0 wide" in words(app)
    app.number_input(key="number_bins_0").set_value(4).run()
    assert "<b>4 bins</b>, 12.0 wide" in words(app)
    app.selectbox(key="choice_kind_0").set_value("nominal").run()
    assert "each at distance 1 from every other" in words(app)
    assert not app.exception


def test_edges_that_are_no_numbers_change_nothing_and_say_why(opened: Callable[..., AppTest]) -> None:
    app = pick_column(opened(), "age")
    app.text_input(key="text_edges_0").set_value("29 fifty 77").run()
    assert "must be numbers with spaces between" in words(app)
    assert "<b>5 bins</b>" in words(app)
    app.text_input(key="text_edges_0").set_value("77 50 29").run()
    assert "at least two finite, increasing numbers" in words(app)
    assert "<b>5 bins</b>" in words(app)


def test_levels_take_an_order(opened: Callable[..., AppTest]) -> None:
    app = pick_column(opened(), "chest_pain")
    levels = app.text_area(key="text_levels_2").value.splitlines()
    app.text_area(key="text_levels_2").set_value("\n".join(reversed(levels))).run()
    app.selectbox(key="choice_kind_2").set_value("ordinal").run()
    assert "<b>4 ordered levels</b>; neighbours are at distance 0.333" in words(app)
    app.text_area(key="text_levels_2").set_value("asymptomatic").run()
    assert "which is none of its 1 levels" in words(app)
    assert not app.exception


def test_an_upload_is_read_as_detected_and_read_again_as_told(opened: Callable[..., AppTest]) -> None:
    app = upload(opened(), CSV)
    assert not app.exception
    assert "<b>5 records</b> with <b>3 attributes</b>" in words(app)
    assert app.selectbox(key="choice_format_separator").value == ";"
    assert app.selectbox(key="choice_format_decimal").value == ","
    assert app.selectbox(key="choice_format_header").value is True
    app.selectbox(key="choice_format_header").set_value(False).run()
    assert "<b>6 records</b>" in words(app)
    app.selectbox(key="choice_format_separator").set_value("|").run()
    assert "Only one column was found" in words(app)
    assert not app.exception


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"%PDF-1.4 x", "This is a PDF document, not a table; export the table as CSV or Excel."),
        (b" \n", "The file is empty; give a table with a row of names"),
    ],
)
def test_a_file_that_is_no_table_changes_nothing(opened: Callable[..., AppTest], content: bytes, sentence: str) -> None:
    app = upload(opened(), content)
    assert not app.exception
    assert sentence in words(app)
    assert "<b>303 records</b>" in words(app)


def test_a_domain_that_is_not_declared_is_refused_and_can_be_declared(opened: Callable[..., AppTest]) -> None:
    app = opened()
    app.selectbox(key="choice_domain").set_value("declared").run()
    assert not app.exception
    assert "The domain is declared, but column 'age' is not" in words(app)
    assert "The schema below can be changed." in words(app)
    app.button(key="declare").click().run()
    assert "<b>303 records</b> with <b>13 attributes</b>" in words(app)
    assert "All levels and bounds are declared; the data only counts." in words(app)
    app.selectbox(key="choice_domain").set_value("product").run()
    assert "<b>303 records</b>" in words(app)


def test_the_crowdsourcing_task_asks_for_its_target(opened: Callable[..., AppTest]) -> None:
    app = opened(data="wine")
    assert app.selectbox(key="choice_target").value == 11
    assert opened().selectbox(key="choice_domain") is not None
    assert [s for s in opened().selectbox if s.key == "choice_target"] == []


def test_without_a_table_it_asks_for_one(opened: Callable[..., AppTest]) -> None:
    app = opened(data="upload")
    assert not app.exception
    assert "No table is loaded yet" in words(app)
    assert "<b>5 records</b>" in words(upload(app, CSV))


def test_many_columns_are_shown_in_turn(opened: Callable[..., AppTest]) -> None:
    names = ",".join(f"c{k}" for k in range(33))
    rows = [",".join("abc"[(k * r) % 3] for k in range(33)) for r in range(1, 40)]
    app = upload(opened(), "\n".join([names, *rows]).encode())
    box = next(s for s in app.selectbox if s.key.startswith("column_"))
    assert box.options[:3] == ["Columns 1 to 15", "Columns 16 to 22", "c1"]
    box.set_value(-2).run()
    assert not app.exception


def test_the_strip_is_filled_after_the_page_or_says_why_not() -> None:
    app = AppTest.from_file(APP, default_timeout=120)
    app.query_params["data"] = "upload"
    app = upload(app.run(), CSV)
    assert not app.exception
    strip = next(e.proto.body for e in app.get("html") if "Groups (K)" in e.proto.body)
    assert "being computed" not in strip
    assert "of 3 attributes</small></dd>" in strip
    assert "per unit of distance" in strip
    app.selectbox(key="choice_task").set_value("crowdsourcing").run()
    assert not app.exception
    assert "There is no design yet: " in words(app)
    assert "see below" in words(app)
    assert "<b>5 records</b>" in words(app)
