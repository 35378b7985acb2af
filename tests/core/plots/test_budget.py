"""The budget picture: totals, shares, curves, what rides along with the handle, the feasible set, and the words."""

import dataclasses
import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from core.metric import dual_norm
from core.pipeline import Stages
from core.plots.budget import SHOWN, plot_budget, table_budget
from core.plots.budget_view import BudgetView, draw_loss
from core.plots.budget_words import count_worse, explain_budget, list_details
from core.plots.feasible import explain_feasible, plot_feasible, remaining_budget, trace_boundary
from core.plots.grouping import group_label
from core.plots.interaction import Ride
from core.plots.palette import DPN, OPT, TUNED, UNIFORM
from core.plots.template import Mark, Picture, sig
from core.surrogate import Surrogate
from tests.core.plots.small_case import small_stages, texts, trace

NAN = float("nan")


def view_of(stages: Stages) -> BudgetView:
    surrogate: Surrogate = stages.surrogate
    return BudgetView(
        names=tuple(group_label(names) for names in stages.group_names),
        choices=stages.choices,
        curves=stages.curves,
        beta=tuple(float(b) for b in surrogate.beta),
        intercept=surrogate.intercept,
        constants=tuple(p.zero_information for p in stages.profiles),
        budgets=stages.budgets,
        track=stages.track,
        design=stages.design,
        uniform_loss=stages.uniform_loss,
        unit=stages.task.unit,
    )


@cache
def view(**knobs: Any) -> BudgetView:
    return view_of(small_stages(**knobs))


def ride(picture: Picture, uid: str, point: int = 0) -> Ride:
    return next(p for p in picture.previews if isinstance(p, Ride) and (p.trace, p.point) == (uid, point))


def on_axis(picture: Picture, name: str) -> list[Mark]:
    return [t for t in picture.traces if t.get("xaxis") == name]


# --- the picture -----------------------------------------------------------------------------------------------------


def test_chosen_points_stand_at_the_design() -> None:
    shown = view(rule="OPT")
    picture = plot_budget(shown)
    assert trace(picture, "total")["x"] == [3.0]
    assert trace(picture, "total")["y"] == [shown.design.predicted_loss]
    budgets = [shown.design.allocation[k] for k in shown.order]
    for uid in ("shares", "bars"):
        np.testing.assert_allclose(trace(picture, uid)["x"], np.array(budgets) / 3.0)
    assert trace(picture, "bars")["customdata"] == budgets
    assert trace(picture, "budgets")["text"] == [sig(budget) for budget in budgets]
    assert trace(picture, "shares")["y"] == list(range(len(shown.order)))
    for k in shown.order:
        point = trace(picture, f"point{k}")
        assert point["x"] == [shown.design.allocation[k]]
        assert point["y"] == [shown.beta[k] * shown.design.losses[k]]
        assert point["marker"]["color"] == (OPT if shown.choices[k] == "OPT" else DPN)
    assert shown.design.allocation[shown.most] == max(budgets)
    # Drawn weighted, the points of the groups add up to the total.
    weighted = sum(trace(picture, f"point{k}")["y"][0] for k in shown.order)
    assert weighted + shown.intercept == pytest.approx(shown.design.predicted_loss)


def test_everything_rides_along_with_the_handle_on_what_is_drawn() -> None:
    shown = view()
    picture = plot_budget(shown)
    (handle,) = picture.handles
    assert (handle.name, handle.value, handle.low) == ("epsilon", 3.0, 0.25)
    green = next(t for t in on_axis(picture, "x20") if t["line"].get("color") == TUNED)
    total = ride(picture, "total")
    assert list(total.at) == green["x"]
    # Where the handle stands the certified design stands too; everywhere else what the track foretells.
    now = total.at.index(3.0)
    others = np.arange(len(total.at)) != now
    assert total.y[now] == shown.design.predicted_loss
    np.testing.assert_array_equal(np.array(total.y)[others], np.array(green["y"])[others])
    for row, k in enumerate(shown.order):
        along = ride(picture, f"point{k}")
        assert (along.x[now], along.y[now]) == (
            shown.design.allocation[k],
            shown.beta[k] * shown.design.losses[k],
        )
        np.testing.assert_allclose(np.array(along.x)[others], shown.track.epsilons[others, k])
        np.testing.assert_allclose(along.y, draw_loss(shown, k, np.array(along.x)), rtol=1e-3)
        end = ride(picture, "shares", row)
        np.testing.assert_allclose(np.array(end.x) * np.array(end.at), along.x)
        assert set(end.y) == {float(row)}
        assert (end.bar, along.told) == ("bars", ("budgets", row))
    # What is drawn for all groups adds up to the total wherever the bound does not lift it.
    added = shown.intercept + sum(np.array(ride(picture, f"point{k}").y) for k in shown.order)
    np.testing.assert_allclose(np.maximum(added, shown.track.bounds)[others], np.array(total.y)[others])
    assert added[now] == pytest.approx(shown.design.predicted_loss)


def test_rows_and_axis_of_the_shares_stay_while_the_total_moves() -> None:
    low, high = view(epsilon=1.0), view(epsilon=3.0)
    assert low.track.totals[-1] == high.track.totals[-1]
    assert low.order == high.order
    means = high.fractions.mean(axis=0)[high.order]
    assert list(means) == sorted(means, reverse=True)
    ends = [plot_budget(shown).layout["xaxis"]["range"] for shown in (low, high)]
    assert ends[0] == ends[1]
    assert ends[0][1] >= high.fractions.max()


def test_a_refined_share_above_every_foretold_one_stays_on_the_axis() -> None:
    base = view()
    low = replace(base, track=replace(base.track, epsilons=base.track.epsilons * 0.2))
    assert max(low.chosen) > 1.06 * low.fractions.max()
    assert plot_budget(low).layout["xaxis"]["range"][1] > max(low.chosen)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_the_equal_split_fits_the_budget_under_every_metric(p: float) -> None:
    shown = view(p=p)
    assert dual_norm([shown.equal] * len(shown.names), p) == pytest.approx(3.0)
    picture = plot_budget(shown)
    line = next(t for t in picture.traces if t.get("line", {}).get("color") == UNIFORM and "xaxis" not in t)
    np.testing.assert_allclose(line["x"], [shown.equal / 3.0] * 2)
    said = explain_budget(shown)
    if p == 1.0:
        assert "every group may use the whole budget, 3.00" in said
    else:
        assert "receives the most" in said


def test_under_the_equal_split_the_total_is_the_uniform_line() -> None:
    shown = view(allocation="uniform")
    np.testing.assert_allclose(shown.shares, np.repeat(shown.track.totals[:, None] / 2.0, 4, axis=1))
    np.testing.assert_allclose(shown.total, np.maximum(shown.track.uniform, shown.track.bounds))
    assert "every group receives 1.50" in explain_budget(shown)


def test_curves_lie_between_their_envelopes_at_solved_budgets_and_share_a_scale() -> None:
    shown = view(rule="OPT")
    for own in (False, True):
        picture = plot_budget(shown, own_scales=own)
        tops = [picture.layout[f"yaxis{cell + 2}"]["range"][1] for cell in range(4)]
        assert (len(set(tops)) == 1) != own
    for cell, k in enumerate(shown.order):
        band = on_axis(picture, f"x{cell + 2}")[0]
        assert band["fill"] == "toself"
        turn = int(np.argmax(np.diff(band["x"]) <= 0)) + 1  # the outline goes right above and comes back below
        upper, lower = (band["x"][:turn], band["y"][:turn]), (band["x"][turn:][::-1], band["y"][turn:][::-1])
        grid = np.array(shown.curves[k].epsilons)
        drawn = draw_loss(shown, k, grid)
        assert np.all(np.interp(grid, *lower) <= drawn + 1e-9)
        assert np.all(np.interp(grid, *upper) >= drawn - 1e-9)
        line = next(shape for shape in picture.layout["shapes"] if shape["yref"] == f"y{cell + 2}")
        assert line["y0"] == line["y1"] == shown.beta[k] * shown.constants[k]


def test_one_group_and_more_than_eight() -> None:
    alone = view(tau_group=0.0)
    picture = plot_budget(alone)
    assert picture.layout["xaxis2"]["domain"][1] == pytest.approx(1)
    assert "is the only group and may use the whole budget" in explain_budget(alone)
    base = view()
    count = 10
    design = replace(
        base.design,
        groups=base.design.groups[1:2] * count,
        choices=("DPN",) * count,
        mechanisms=base.design.mechanisms[1:2] * count,
        allocation=tuple(0.1 * k for k in range(count)),
        channels=base.design.channels[1:2] * count,
        losses=base.design.losses[1:2] * count,
        beta=(1.0,) * count,
    )
    many = replace(
        base,
        names=tuple(f"<g{k}>" for k in range(count)),
        choices=("DPN",) * count,
        curves=base.curves[1:2] * count,
        beta=(1.0,) * count,
        constants=(NAN,) * count,
        design=design,
        track=replace(base.track, epsilons=np.repeat(base.track.epsilons[:, 1:2], count, axis=1)),
    )
    picture = plot_budget(many)
    assert sum(str(t.get("uid", "")).startswith("point") for t in picture.traces) == SHOWN
    assert any("8 of 10" in words for words in texts(picture))
    assert "&lt;g9&gt;" in texts(picture)
    assert "&lt;g1&gt;" not in texts(picture)
    assert len(table_budget(many)) == count


def test_a_group_without_a_known_constant_has_no_line_for_it() -> None:
    base = view()
    unknown = replace(base, constants=(NAN, *base.constants[1:]), design=replace(base.design, zero_information=NAN))
    assert "zero information" not in texts(plot_budget(unknown))
    assert "zero information" in texts(plot_budget(base))
    assert "zero information" not in explain_budget(unknown)
    assert any("attribute by attribute" in line for line in list_details(unknown))


def test_the_zero_line_is_named_where_no_other_line_is_near() -> None:
    shown = view()
    picture = plot_budget(shown)
    words = next(n for n in picture.layout["annotations"] if n["text"] == "zero information")
    assert words["y"] == shown.design.zero_information
    right = words["xanchor"] == "right"
    half = slice(-20, None) if right else slice(0, 20)
    others = np.concatenate([line[half] for line in (shown.track.uniform, shown.total, shown.track.bounds)])
    above = words["yanchor"] == "bottom"
    room = 0.06 * picture.layout["yaxis20"]["range"][1]
    inside = (others > words["y"]) & (others < words["y"] + room) if above else (others < words["y"]) & (
        others > words["y"] - room
    )  # fmt: skip
    assert not inside.any()


def test_the_table_adds_up() -> None:
    shown = view()
    table = table_budget(shown)
    assert table["weighted loss"].sum() + shown.intercept == pytest.approx(shown.design.predicted_loss)
    assert dual_norm(table["certified epsilon"].tolist(), 2.0) == shown.design.certified_epsilon


# --- the words -------------------------------------------------------------------------------------------------------


def test_an_unspent_certificate_is_said_with_its_remedy() -> None:
    shown = view(noise="EM")
    assert shown.design.certified_epsilon < 2.7
    assert "calibrated EM would spend the rest" in explain_budget(shown)
    assert any("**Calibrated EM** turns" in line for line in list_details(shown))
    spent = view(noise="EM", rule="OPT")
    assert "certified as used" not in explain_budget(spent)


def test_a_loss_above_a_constant_is_said_before_anything_else() -> None:
    base = view()
    constants = tuple(0.9 * loss for loss in base.design.losses[:2]) + base.constants[2:]
    worse = replace(base, constants=constants, design=replace(base.design, zero_information=1.0))
    assert count_worse(worse) == 2 + count_worse(replace(base, constants=(9.0, 9.0, *base.constants[2:])))
    said = explain_budget(worse)
    assert "**above zero information (1.00)**" in said
    assert "calibrated" not in said
    assert any("remapping to the least task loss" in line for line in list_details(worse))


def test_what_is_saved_is_against_the_uniform_split() -> None:
    base = view()
    saved = replace(base, uniform_loss=base.design.predicted_loss / 0.8)
    assert "**20.0 %** below the uniform split" in explain_budget(saved)
    assert "as low as the uniform split" in explain_budget(replace(base, uniform_loss=base.design.predicted_loss))


# --- the feasible set ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 4.0, math.inf])
def test_the_edge_of_the_feasible_set_has_the_norm_of_the_total(q: float) -> None:
    x, y = trace_boundary(3.0, q)
    norm = np.maximum(x, y) if math.isinf(q) else (x**q + y**q) ** (1 / q)
    np.testing.assert_allclose(norm, 3.0)
    assert (x[0], y[-1]) == (3.0, 3.0)
    assert x[-1] == pytest.approx(0)
    assert y[0] == pytest.approx(0)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
def test_the_allocation_lies_on_or_inside_what_the_others_leave(p: float) -> None:
    shown = view(p=p)
    rest = remaining_budget(shown, (0, 1))
    assert dual_norm([shown.design.allocation[k] for k in (0, 1)], p) <= rest * (1 + 1e-9)
    if p > 1:
        whole = dual_norm([rest, *shown.design.allocation[2:]], p)
        assert whole == pytest.approx(3.0)
    picture = plot_feasible(shown, (0, 1))
    square = next(t for t in picture.traces if t.get("marker", {}).get("symbol") == "square")
    assert (square["x"], square["y"]) == ([shown.design.allocation[0]], [shown.design.allocation[1]])
    own = [t for t in picture.traces if t.get("line", {}).get("dash") == "solid"]
    assert len(own) == 2
    assert ("square: " in explain_feasible(shown, (0, 1))) == (p == 1.0)


def test_the_words_of_the_feasible_set_tell_a_chosen_split_from_the_equal_one() -> None:
    assert "gains for one group what it costs the other" in explain_feasible(view(), (0, 1))
    equal = view(allocation="uniform")
    assert "is the equal split, whatever the losses" in explain_feasible(equal, (0, 1))
    # Four equal shares of 3 under p = 2: two of them leave 3 / sqrt(2).
    assert "radius 2.12 of 3.00" in explain_feasible(equal, (0, 1))


def test_nothing_is_said_of_an_edge_where_the_others_take_everything() -> None:
    shown = view()
    design = dataclasses.replace(shown.design, allocation=(0.0, 0.0, 3.0, 0.0))
    words = explain_feasible(dataclasses.replace(shown, design=design), (0, 1))
    assert "take the whole epsilon of 3.00" in words and words.endswith("get none of it.")


def test_the_background_is_the_loss_of_both_groups() -> None:
    shown = view()
    contour = plot_feasible(shown, (1, 3)).traces[0]
    i, j = 10, 40
    at = contour["x"]
    expected = draw_loss(shown, 1, np.array([at[i]])) + draw_loss(shown, 3, np.array([at[j]]))
    assert contour["z"][j, i] == pytest.approx(float(expected[0]), rel=1e-5)
