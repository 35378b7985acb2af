"""The Loss page without a browser: the sentence, own scales, held-out scores, other tasks, one group, no table."""

import pytest

from tests.pages.opening import opened, words

pytestmark = pytest.mark.usefixtures("main_page", "no_strip")


def test_it_opens_clean_with_scores_sentence_and_held_out_table() -> None:
    app = opened("losses")
    assert not app.exception
    assert "How does perturbing a group hurt the task?" in words(app)
    assert "is <b>not radial</b>" in words(app)
    assert "of the loss of held-out pairs" in words(app)
    tables = {tuple(frame.value.columns)[1]: frame.value for frame in app.dataframe}
    numbers = tables["states"]
    assert len(numbers) == 9
    assert numbers["radial-fit score"].between(0, 1).all()
    held = next(frame.value for frame in app.dataframe if "radial-fit score, held out" in frame.value)
    assert held["group"].tolist() == numbers["group"].tolist()
    assert held["radial-fit score, held out"].notna().sum() >= 8
    app.toggle(key="toggle_loss_own_scales").set_value(True).run()
    assert not app.exception


def test_another_task_is_measured_anew() -> None:
    app = opened("losses", task="frequency")
    assert any("largest loss (L1)" in frame.value for frame in app.dataframe)
    before = words(app)
    app.selectbox(key="choice_task_here").set_value("mean").run()
    assert not app.exception
    assert words(app) != before
    assert any("largest loss (squared spans)" in frame.value for frame in app.dataframe)


def test_without_a_table_one_button_brings_a_sample() -> None:
    app = opened("losses", data="upload")
    assert "No table is loaded yet." in words(app)
    app.button(key="empty_button").click().run()
    assert not app.exception
    assert "of the loss of held-out pairs" in words(app)


def test_an_ugly_upload_is_shown_as_text_and_an_impossible_task_is_one_sentence() -> None:
    app = opened("data", data="upload")
    content = 'a <b>x</b>;"long name with spaces, and so on and on"\n' + "\n".join(
        f"{'<i>p</i>' if i % 3 else 'q'};{'u' if i % 2 else 'v'}" for i in range(12)
    )
    app.file_uploader(key="upload").upload("ugly.csv", content.encode(), "text/csv")
    app.run().switch_page("pages/losses.py").run()
    assert not app.exception
    assert "<b>x</b>" not in words(app)
    app.selectbox(key="choice_task_here").set_value("mean").run()
    assert not app.exception
    assert 'class="refusal"' in words(app)
    assert "numeric" in words(app)
