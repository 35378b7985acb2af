"""Convex bounds: hand-computed cases, the paper's two linear programmes, and validity between grid budgets."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import core.envelopes
from core.envelopes import (
    PiecewiseLinear,
    greatest_convex_minorant,
    least_convex_majorant,
    lower_envelope,
    upper_envelope,
)

relaxed = settings(deadline=None, max_examples=50)
SOLVED = 1e-6  # HiGHS's feasibility tolerance, relative to the range of values, with room


@st.composite
def curves(draw, least=1, most=12):
    """Budgets from 0 with uneven gaps and non-increasing values, flat stretches included."""
    count = draw(st.integers(least, most))
    gaps = draw(st.lists(st.sampled_from([0.01, 0.25, 0.5, 1.0, 2.0]), min_size=count - 1, max_size=count - 1))
    drops = draw(st.lists(st.one_of(st.just(0.0), st.floats(0.001, 5.0)), min_size=count, max_size=count))
    values = np.cumsum(drops[::-1])[::-1]
    return np.concatenate([[0.0], np.cumsum(gaps)]), values


def convexity_rows(x):
    """Rows A with A u <= 0 iff slopes do not decrease (eq. 35)."""
    rows = np.zeros((max(len(x) - 2, 0), len(x)))
    for i in range(len(x) - 2):
        a, b = x[i + 1] - x[i], x[i + 2] - x[i + 1]
        rows[i, i : i + 3] = [-b, a + b, -a]
    return rows


def direct_program(x, y, sign):
    """LP 36 (sign -1: maximise under the points) or LP 37 (sign 1: minimise above them), written as in the paper."""
    rows = convexity_rows(x)
    bounds = [(v, None) if sign > 0 else (None, v) for v in y]
    answer = linprog(
        sign * np.ones(len(x)), A_ub=rows if len(rows) else None, b_ub=np.zeros(len(rows)) if len(rows) else None,
        bounds=bounds, method="highs",
    )  # fmt: skip
    assert answer.status == 0
    return answer.x


def test_docstring_examples():
    assert doctest.testmod(core.envelopes).failed == 0


class TestPiecewiseLinear:
    def test_interpolates_and_is_constant_after_the_last_knot(self):
        f = PiecewiseLinear([0, 1, 3], [4, 2, 1])
        assert f(0.5) == 3.0
        assert f(np.array([1.0, 2.0, 9.0])).tolist() == [2.0, 1.5, 1.0]
        assert f.slopes.tolist() == [-2.0, -0.5]
        assert f.breakpoints.tolist() == [1.0]

    def test_breakpoints_leave_out_knots_on_a_line(self):
        assert PiecewiseLinear([0, 1, 2, 3], [6, 4, 2, 1]).breakpoints.tolist() == [2.0]

    def test_a_single_knot_is_a_constant(self):
        f = PiecewiseLinear([0.0], [2.0])
        assert f(7.0) == 2.0
        assert len(f.slopes) == 0

    @pytest.mark.parametrize(
        ("knots", "values"),
        [
            ([0, 1], [1, 2]),
            ([0, 1, 2], [3, 3, 1]),
            ([0, 0], [1, 1]),
            ([1, 0], [2, 1]),
            ([0, 1], [1]),
            ([], []),
            ([0, np.nan], [1, 0]),
            ([0, 1], [np.inf, 0]),
        ],
    )
    def test_refuses_what_is_not_a_convex_non_increasing_function(self, knots, values):
        with pytest.raises(ValueError, match=r"curve|loss bound"):
            PiecewiseLinear(knots, values)

    def test_is_frozen_and_a_copy(self):
        knots = np.array([0.0, 1.0])
        f = PiecewiseLinear(knots, [1.0, 0.0])
        knots[1] = 5.0
        assert f.knots[1] == 1.0
        with pytest.raises(ValueError, match="read-only"):
            f.values[0] = 3.0


class TestGreatestConvexMinorant:
    def test_hand_computed(self):
        f = greatest_convex_minorant([0, 1, 2, 3, 4], [5, 4.5, 2, 1.8, 1])
        assert f.knots.tolist() == [0, 2, 4]
        assert f.values.tolist() == [5, 2, 1]

    @relaxed
    @given(curves(2))
    def test_solves_the_papers_programme_36(self, curve):
        x, y = curve
        hull = greatest_convex_minorant(x, y)(x)
        assert hull == pytest.approx(direct_program(x, y, -1), abs=SOLVED * (1 + y[0]))
        assert (hull <= y + 1e-12 * (1 + y[0])).all()


class TestLeastConvexMajorant:
    def test_hand_computed(self):
        # The flat start forces slope -1 back to budget 0; the convex end is kept.
        assert least_convex_majorant([0, 1, 3, 4], [3, 3, 1, 0.5]).values == pytest.approx([4, 3, 1, 0.5])

    def test_concave_points_get_their_chord(self):
        assert least_convex_majorant([0, 1, 3], [1, 0.9, 0]).values == pytest.approx([1.35, 0.9, 0])

    @relaxed
    @given(curves(2))
    def test_solves_the_papers_programme_37(self, curve):
        # The optimum need not be unique, so the sums are compared; neither sign is imposed in the programme.
        x, y = curve
        found = least_convex_majorant(x, y).values
        assert found.sum() == pytest.approx(direct_program(x, y, 1).sum(), abs=SOLVED * len(x) * (1 + y[0]))
        assert (found >= y).all()

    def test_refuses_increasing_points(self):
        with pytest.raises(ValueError, match="must not increase"):
            least_convex_majorant([0, 1], [1, 2])


class TestEnvelopes:
    def test_hand_computed_shift(self):
        lower = lower_envelope([0, 1, 3], [4, 2, 1])
        assert lower([0, 1, 3]).tolist() == [2, 1, 1]
        upper = upper_envelope([0, 1, 3], [4, 2, 1])
        # Points (0, 4), (1, 4), (3, 2): slope -1 from budget 1 on is carried back to budget 0.
        assert upper.values == pytest.approx([5, 4, 2])

    @relaxed
    @given(curves())
    def test_bracket_every_non_increasing_curve_on_a_fine_grid(self, curve):
        x, y = curve
        lower, upper = lower_envelope(x, y), upper_envelope(x, y)
        fine = np.unique(np.concatenate([np.linspace(0, x[-1], 500), x, np.nextafter(x, 0)[1:]]))
        # The step from the left is the largest curve through the points, the one from the right the smallest.
        largest = y[np.searchsorted(x, fine, side="right") - 1]
        smallest = y[np.searchsorted(x, fine, side="left")]
        slack = 1e-12 * (1 + y[0])
        assert (lower(fine) <= smallest + slack).all()
        assert (upper(fine) >= largest - slack).all()

    @relaxed
    @given(curves(3))
    def test_the_papers_boundary_on_a_uniform_grid(self, curve):
        _, y = curve
        x = np.arange(len(y), dtype=float)
        lower, upper = lower_envelope(x, y), upper_envelope(x, y)
        assert lower(x[-1]) == y[-1]
        majorant = least_convex_majorant(x[:-1], y[:-1]).values
        assert upper.values[1:] == pytest.approx(majorant, abs=1e-12 * (1 + y[0]))
        assert upper.values[0] == pytest.approx(2 * majorant[0] - majorant[1], abs=1e-12 * (1 + y[0]))

    @relaxed
    @given(curves(2))
    def test_bounds_that_cross_through_solver_gaps_are_made_monotone(self, curve):
        # A bracket may be wider at one budget than at the next; the tighter neighbour then holds there too.
        x, y = curve
        gap = 0.5 * (np.arange(len(y)) % 2)
        lower, upper = lower_envelope(x, y - gap), upper_envelope(x, y + gap)
        slack = 1e-12 * (1 + y[0])
        assert (lower(x[:-1]) <= y[1:] + slack).all()
        assert (upper(x[1:]) >= y[:-1] - slack).all()
        assert lower(x[0]) >= lower_envelope(x, np.minimum.accumulate(y - gap))(x[0]) - slack

    def test_unshifted_envelopes_would_be_wrong(self):
        # Negative control: a drop just after budget 0 is missed by the hull of the points themselves.
        x, y = np.array([0.0, 1.0]), np.array([1.0, 0.0])
        assert greatest_convex_minorant(x, y)(0.5) > 0.0
        assert lower_envelope(x, y)(0.5) == 0.0
