"""The noise tiers page, driven without a browser."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.sampling import SystemSource

PAGE = "pages/noise_tiers.py"


def opened(**options):
    app = AppTest.from_file(str(Path(__file__).resolve().parents[2] / "app.py"), default_timeout=120)
    for key, value in options.items():
        app.query_params[key] = value
    return app.switch_page(PAGE).run()


def texts(app):
    return " ".join(entry.proto.body for entry in app.get("html"))


def test_the_page_opens_and_answers():
    app = opened()
    assert not app.exception
    said = texts(app)
    assert "If all 4 collude, the chain gives away epsilon <b>4.00</b>" in said
    assert "seeded simulation" in said
    app.selectbox(key="choice_tier_family").set_value("gaussian").run()
    app.selectbox(key="choice_tier_list").set_value("grid").run()
    assert not app.exception
    assert "<dd>10<small>2.00 to 0.200" in texts(app)
    assert "single Gaussian answer" in texts(app)
    # Continuous noise is simulated, never released.
    assert app.button(key="release_tiers").disabled
    assert "Mironov 2012" in texts(app)


def test_an_own_list_that_is_wrong_shows_its_sentence_and_keeps_the_last_one():
    app = opened()
    app.selectbox(key="choice_tier_list").set_value("own").run()
    app.text_area(key="tier_text").set_value("3, 3, 1").run()
    assert "appeared more than once" in texts(app)
    assert "If all 2 collude" in texts(app)
    app.text_area(key="tier_text").set_value("3, many").run()
    assert not app.exception
    assert "“many”, is no number" in texts(app) and "If all 2 collude" in texts(app)


def test_a_release_is_counted_and_a_later_tier_is_drawn_from_it():
    app = opened()
    app.button(key="release_tiers").click().run()
    assert "Released once in this session" in texts(app)
    app.button(key="release_tiers").click().run()
    assert "Released 2 times in this session" in texts(app) and "epsilon <b>8.00</b>" in texts(app)
    app.button(key="add_tier").click().run()
    assert not app.exception
    app.number_input(key="number_later_budget").set_value(9.0).run()
    app.button(key="add_tier").click().run()
    assert "above every released one" in texts(app)


def test_only_a_release_draws_from_the_cryptographic_source(monkeypatch):
    made = []

    class Recorded(SystemSource):
        def __init__(self):
            made.append(self)

    monkeypatch.setattr("core.tiers.release.SystemSource", Recorded)
    app = opened()
    app.button(key="simulate_again").click().run()
    assert not made
    app.button(key="release_tiers").click().run()
    assert len(made) == 1


@pytest.mark.parametrize("kind", ["sum", "histogram"])
def test_other_queries_are_released_too(kind):
    app = opened()
    app.segmented_control(key="segments_query_kind").set_value(kind).run()
    app.button(key="release_tiers").click().run()
    assert not app.exception
    assert "Released once in this session" in texts(app)


def test_the_checker_judges_other_noise():
    app = opened()
    app.selectbox(key="choice_step_source").set_value("discrete gaussian").run()
    assert "<b>invalid</b>, negative mass 0.000810" in texts(app)
    app.selectbox(key="choice_step_source").set_value("own").run()
    app.text_input(key="step_own_to").set_value("0.5, 0.6").run()
    assert not app.exception
    assert "sum to 1" in texts(app)


def test_without_a_table_the_page_still_works():
    app = opened(data="upload")
    assert not app.exception
    assert "No table is loaded" in texts(app) and "If all 4 collude" in texts(app)
