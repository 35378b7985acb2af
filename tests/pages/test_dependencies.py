"""The Dependencies page without a browser: groups follow the threshold, pairs can be chosen, refusals help."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.opening import APP, words
from tests.pages.opening import opened as opened_on

pytestmark = pytest.mark.usefixtures("main_page", "no_strip")


def opened(**query: str) -> AppTest:
    return opened_on("dependencies", **query)


def test_it_opens_clean_and_counts_the_groups_of_heart() -> None:
    app = opened()
    assert not app.exception
    assert "Which attributes belong together?" in words(app)
    assert "form <b>9 groups</b>" in words(app)
    groups = app.dataframe[0].value
    assert groups["size"].sum() == 13
    assert len(groups) == 9


def test_the_threshold_regroups_and_corrects_for_chance() -> None:
    app = opened()
    app.number_input(key="number_tau_group").set_value(0.2).run()
    assert "every attribute is perturbed alone" in words(app)
    assert len(app.dataframe[0].value) == 13
    app.number_input(key="number_tau_group").set_value(0.0).run()
    assert "form <b>1 group</b>" in words(app)
    app.number_input(key="number_tau_group").set_value(0.045).run()
    assert "form <b>4 groups</b>" in words(app)
    assert "below the <b>noise floor (" in words(app)
    app.toggle(key="toggle_corrected_nmi").set_value(True).run()
    assert not app.exception
    assert "form <b>5 groups</b>" in words(app)
    assert "noise floor (" not in words(app)


def test_a_group_too_large_to_optimise_is_named_with_its_remedy() -> None:
    app = opened(tau_dim="20")
    assert "<b>37 states</b>, over tau_dim (20)" in words(app)
    assert "raise the threshold to" in words(app)
    remarks = app.dataframe[0].value["remark"]
    assert (remarks != "").sum() == 1


def test_a_pair_is_chosen_and_compared_with_its_noise_floor() -> None:
    app = opened()
    for slot, name in ((0, "sex"), (1, "thal")):
        box = next(s for s in app.selectbox if s.key.startswith(f"pair_{slot}"))
        box.set_value(box.options.index(name)).run()
    assert not app.exception
    assert "sex – thal: NMI 0." in words(app)
    assert "times its noise floor" in words(app)
    # The pair is in the address by column, and another table starts without it.
    assert app.query_params["pair"] in ("1-12", ["1-12"])
    app.selectbox(key="choice_source").set_value("wine").run()
    assert "pair" not in app.query_params


def test_without_a_table_it_says_so_and_offers_a_sample() -> None:
    app = opened(data="upload")
    assert not app.exception
    assert "No table is loaded yet." in words(app)
    app.button(key="empty_button").click().run()
    assert "form <b>9 groups</b>" in words(app)


def test_a_table_that_cannot_be_coded_is_refused_with_its_sentence() -> None:
    app = opened(domain="declared")
    assert not app.exception
    assert "The domain is declared, but column 'age' is not: declare" in words(app)


@pytest.mark.parametrize("count", [1, 30])
def test_one_attribute_and_many_open_clean(count: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (120, count))
    codes[:, 1:12] = codes[:, :11] if count > 1 else codes[:, 1:12]
    lines = [",".join(f"<b>{k}</b>" for k in range(count)) + ",n"]
    lines += [",".join("xyz"[v] for v in row) + ",7" for row in codes]
    app = AppTest.from_file(APP, default_timeout=120).run()
    app.file_uploader(key="upload").upload("t.csv", "\n".join(lines).encode(), "text/csv")
    app.run()
    app.switch_page("pages/dependencies.py").run()
    assert not app.exception
    assert len(app.dataframe[0].value) >= 1
    assert app.dataframe[0].value["size"].sum() == count
