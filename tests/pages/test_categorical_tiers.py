"""The categorical tiers page, driven without a browser."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

APP = str(Path(__file__).resolve().parents[2] / "app.py")
PAGE = "pages/categorical_tiers.py"


def opened(**query):
    app = AppTest.from_file(APP, default_timeout=120)
    for key, value in query.items():
        app.query_params[key] = value
    return app.switch_page(PAGE).run()


def texts(app):
    return " ".join(entry.proto.body for entry in app.get("html"))


def test_the_page_opens_and_answers():
    app = opened()
    assert not app.exception
    assert "If all 4 collude it gives away epsilon <b>4.00</b>" in texts(app)
    app.selectbox(key="choice_tier_list").set_value("grid").run()
    app.number_input(key="number_tier_step").set_value(0.1).run()
    app.number_input(key="number_tier_count").set_value(20).run()
    assert not app.exception
    assert "at most <b>1.16</b> times the ideal error (the paper's rules 1.45 and 9.10, gradual 30.5)" in texts(app)
    app.segmented_control(key="segments_category_objective").set_value("total").run()
    assert not app.exception


def test_the_failing_example_is_one_click_away():
    app = opened()
    app.button(key="failing_example").click().run()
    assert not app.exception
    assert "one expansion lands on <b>1.31</b>, below the second budget 1.61" in texts(app)
    assert app.number_input(key="number_category_count").value == 10


def test_a_column_is_released_and_counted_and_post_processed():
    app = opened()
    assert "seeded simulation" in texts(app)
    app.button(key="release_categories").click().run()
    app.button(key="release_categories").click().run()
    assert "Released 2 times in this session" in texts(app) and "epsilon <b>8.00</b>" in texts(app)
    app.segmented_control(key="segments_category_post").set_value("total").run()
    assert not app.exception
    assert "after post-processing (sums to n)" in texts(app)


def test_the_random_lists_run_on_request():
    app = opened()
    for key, value in (("study_m", 5), ("study_runs", 50)):
        app.selectbox(key=f"choice_{key}").set_value(value).run()
    assert "The improved templates" not in texts(app)
    app.button(key="study_run").click().run()
    assert not app.exception
    assert "The improved templates, as they are read here" in texts(app)


def test_a_wrong_list_shows_its_sentence():
    app = opened()
    app.selectbox(key="choice_tier_list").set_value("own").run()
    app.text_area(key="tier_text").set_value("1, -2").run()
    assert not app.exception
    assert "from 1e-06 to 300, not -2.0" in texts(app)


def test_without_a_table_the_page_still_works():
    app = opened(data="upload")
    assert not app.exception
    assert "No table is loaded" in texts(app) and "If all 4 collude" in texts(app)
