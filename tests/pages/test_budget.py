"""The Budget page without a browser: total epsilon, allocation, target loss, feasible budgets, metrics, no table."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.opening import opened, start_by_the_main_page, words


@pytest.fixture(autouse=True)
def _frame(monkeypatch: pytest.MonkeyPatch) -> None:
    start_by_the_main_page(monkeypatch)


def shares(app: AppTest) -> dict[str, float]:
    table = next(frame.value for frame in app.dataframe if "uniform split" in frame.value)
    return dict(zip(table["group"], table["epsilon"], strict=True))


def test_it_opens_clean_and_moving_the_total_reallocates() -> None:
    app = opened("budget")
    assert not app.exception
    assert "How is the privacy budget spent?" in words(app)
    assert "The predicted loss is <b>" in words(app)
    assert "of epsilon 4.00 is certified as used; calibrated EM would spend the rest" in words(app)
    before = shares(app)
    assert sum(e**2 for e in before.values()) <= 16
    app.number_input(key="number_epsilon").set_value(8.0).run()
    assert not app.exception
    after = shares(app)
    assert 16 < sum(e**2 for e in after.values()) <= 64
    assert app.slider(key="slider_epsilon").value == 8.0
    app.toggle(key="toggle_budget_own_scales").set_value(True).run()
    assert not app.exception


def test_the_uniform_split_and_every_metric() -> None:
    app = opened("budget", allocation="uniform")
    assert not app.exception
    assert len(set(shares(app).values())) == 1
    app.segmented_control(key="segments_p").set_value(1.0).run()
    assert not app.exception
    assert set(shares(app).values()) == {4.0}
    assert "With p = 1 the feasible set is a square" in words(app)
    app.segmented_control(key="segments_p").set_value(float("inf")).run()
    assert not app.exception
    assert sum(shares(app).values()) == pytest.approx(4.0)


def test_a_target_loss_is_answered_used_or_refused_with_a_sentence() -> None:
    app = opened("budget")
    assert "A total epsilon of <b>" in words(app)
    target = app.number_input(key="number_target_loss").value
    app.button(key="use_epsilon").click().run()
    assert not app.exception
    said = words(app).split("The predicted loss is <b>")[1]
    assert float(said.split("<")[0]) <= target * 1.001
    app.number_input(key="number_target_loss").set_value(0.5).run()
    assert "A loss of 0.5 is not reached" in words(app)
    app.number_input(key="number_target_loss").set_value(1000.0).run()
    assert "needs no budget at all" in words(app)


def test_one_factorised_group_has_no_constant_and_nothing_to_share() -> None:
    app = opened("budget", tau_group="0", domain="product")
    assert not app.exception
    assert "is the only group and may use the whole budget" in words(app)
    assert list(shares(app).values()) == [pytest.approx(4.0)]
    assert not any(box.key == "choice_feasible_first" for box in app.selectbox)


def test_two_groups_are_picked_for_the_feasible_set() -> None:
    app = opened("budget")
    first, second = (app.selectbox(key=f"choice_feasible_{name}").value for name in ("first", "second"))
    assert first != second
    app.selectbox(key="choice_feasible_first").set_value(second).run()
    assert not app.exception
    assert app.selectbox(key="choice_feasible_second").value == first


def test_without_a_table_one_button_brings_a_sample() -> None:
    app = opened("budget", data="upload")
    assert "No table is loaded yet." in words(app)
    assert not app.exception
