"""The checker: verdicts on noise on the integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.tiers import check_residual, check_step, discrete_gaussian_pmf, noise_law, residual, staircase_pmf
from core.tiers.laws import GeometricLaw, SkellamLaw
from core.tiers.tail import find_periodic, positive_from

N = np.arange(-2048, 2048)


def window(law, n=N):
    pmf = law.density(n)
    return pmf / pmf.sum()


def test_known_families_are_valid_by_proof():
    for before, after in (
        (GeometricLaw(2), GeometricLaw(1)),
        (SkellamLaw(1), SkellamLaw(2)),
        (SkellamLaw(10), SkellamLaw(20)),
    ):
        found = check_residual(window(before), window(after))
        assert found.verdict == "valid"
        assert found.negative_mass == 0
        assert found.pmf.sum() == pytest.approx(1)
        both = np.convolve(found.pmf, window(before))  # starts at n = -4096
        np.testing.assert_allclose(both[4046:4146], window(after)[1998:2098], atol=1e-14)
    geometric = check_residual(window(GeometricLaw(2)), window(GeometricLaw(1)))
    np.testing.assert_allclose(geometric.pmf, residual("geometric", 2, 1).pmf(geometric.offsets), rtol=1e-9)


def test_going_back_up_is_invalid():
    assert check_residual(window(GeometricLaw(1)), window(GeometricLaw(2))).verdict == "invalid"
    assert check_residual(window(SkellamLaw(2)), window(SkellamLaw(1))).verdict == "invalid"


def test_too_small_a_window_is_undecided_and_says_by_how_much():
    laws = [noise_law("msdlap", epsilon, sensitivity=2) for epsilon in (0.02, 0.01)]
    found = check_residual(*(window(law) for law in laws))
    assert found.verdict == "undecided"
    assert -found.error_bound < found.pmf.min() < -1e-12
    narrow = np.arange(-500, 501)
    assert check_residual(window(GeometricLaw(0.02), narrow), window(GeometricLaw(0.01), narrow)).verdict == "valid"


@pytest.mark.parametrize(
    ("before", "after", "negative", "first"),
    [(1, 2, 8.1e-4, 4), (1, 1.1, 4.95e-2, 2), (0.3, 0.4, 2.79e-2, 2), (3, 6, 4e-8, 12)],
)
def test_discrete_gaussian_has_no_residual(before, after, negative, first):
    found = check_step("discrete gaussian", before, after)
    assert found.verdict == "invalid"
    assert found.negative_mass == pytest.approx(negative, rel=0.03)
    assert found.first_negative == first
    verdict, pmf, mass = found
    assert (verdict, mass) == (found.verdict, found.negative_mass)
    assert pmf is found.pmf
    assert "no distribution" in found.reason


def test_underflow_is_undecided():
    found = check_step("discrete gaussian", 10, 20)
    assert found.verdict == "undecided"
    assert "more precision" in found.reason
    assert np.all(np.isfinite(found.pmf))


def test_the_layout_of_a_list_does_not_matter():
    before, after = discrete_gaussian_pmf(1), discrete_gaussian_pmf(2)
    centred = check_residual(before, after)
    turned = check_residual(np.fft.ifftshift(before), np.fft.ifftshift(after))
    short = check_residual(discrete_gaussian_pmf(1, 41), discrete_gaussian_pmf(2, 61))
    np.testing.assert_allclose(turned.pmf, centred.pmf, atol=1e-15)
    np.testing.assert_allclose(short.pmf, centred.pmf, atol=1e-14)


def test_a_typed_list_by_hand():
    # X = -1, 0, 1 with 1/4, 1/2, 1/4; adding S = -1, 0, 1 with 0.1, 0.8, 0.1 is a valid step.
    before, step = np.array([0.2, 0.6, 0.2]), np.array([0.1, 0.8, 0.1])
    found = check_residual(before, np.convolve(before, step))
    np.testing.assert_allclose(
        found.pmf[found.offsets.searchsorted([-2, -1, 0, 1, 2])], [0, 0.1, 0.8, 0.1, 0], atol=1e-14
    )
    assert found.verdict == "undecided", "zeros of the residual are not proved to be zero"
    one_sided = check_residual([0, 0, 1.0, 0, 0], [0, 0, 0.5, 0.3, 0.2])
    np.testing.assert_allclose(one_sided.pmf[one_sided.offsets.searchsorted([0, 1, 2])], [0.5, 0.3, 0.2], atol=1e-14)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.3, 4), st.floats(0.3, 4))
def test_every_geometric_pair_is_judged_right(first, second):
    found = check_residual(window(GeometricLaw(first)), window(GeometricLaw(second)))
    assert found.verdict == ("valid" if first >= second else "invalid")


@pytest.mark.parametrize(("step", "verdict"), [(1, "valid"), (2, "valid"), (3, "invalid")])
def test_staircases(step, verdict):
    found = check_step("staircase", 2, 1, sensitivity=3, step=step)
    assert found.verdict == verdict
    assert (found.negative_mass > 1) == (verdict == "invalid")
    assert check_step("staircase", 1, 2, sensitivity=3, step=step).verdict == "invalid"


def test_the_tail_of_a_staircase_residual_is_positive_by_brute_force():
    shown = 0
    for d, step, before, after in ((3, 1, 2.0, 1.0), (5, 1, 2.0, 1.5), (4, 2, 1.5, 0.8), (2, 1, 1.0, 0.5)):
        laws = [staircase_pmf(epsilon, d, step) for epsilon in (before, after)]
        start = positive_from(*laws)
        if start is not None:
            shown += 1
            assert check_residual(*laws).pmf[2048 + start : 2048 + 12 * d].min() > 0
    assert shown >= 2
    assert positive_from(staircase_pmf(2.0, 3, 1), staircase_pmf(1.0, 3, 1)) == 3


def test_a_smeared_geometric_steps_on_its_own_lattice():
    found = check_step("staircase", 2, 1, sensitivity=3, step=2)
    expected = residual("geometric", 2, 1).pmf(found.offsets // 3) * (found.offsets % 3 == 0)
    np.testing.assert_allclose(found.pmf, expected, atol=1e-14)
    both = np.convolve(found.pmf, staircase_pmf(2, 3, 2))
    np.testing.assert_allclose(both[4046:4146], staircase_pmf(1, 3, 2)[1998:2098], atol=1e-13)


def test_period_and_decay_are_found():
    found = find_periodic(staircase_pmf(2.0, 5, 2))
    assert found.period == 5
    assert found.decay == pytest.approx(np.exp(-2.0))
    z = np.exp(0.7j) ** np.arange(-2048, 2048)
    whole = np.sum(staircase_pmf(2.0, 5, 2) * z)
    parts = np.sum(found.numerator * np.exp(0.7j) ** np.arange(-4, 5)) / abs(1 - found.decay * np.exp(3.5j)) ** 2
    assert parts == pytest.approx(whole)
    assert find_periodic(discrete_gaussian_pmf(2.0)) is None
    assert find_periodic(np.array([0.1, 0.5, 0.4])) is None


def test_staircase_shape_by_hand():
    pmf = staircase_pmf(1.0, 3, 1, 13)
    centre = pmf[6]
    np.testing.assert_allclose(pmf[6:] / centre, np.exp([0, -1, -1, -1, -2, -2, -2]))
    np.testing.assert_allclose(pmf, pmf[::-1])
    np.testing.assert_allclose(staircase_pmf(2.0), window(noise_law("geometric", 2.0)), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: check_residual([0.5, 0.6], [1.0]), "sum to 1, not to 1.1"),
        (lambda: check_residual([1.5, -0.5], [1.0]), "from 0 up"),
        (lambda: check_residual([], [1.0]), "one list"),
        (lambda: check_step("laplace", 2, 1), "discrete gaussian, staircase"),
        (lambda: check_step("discrete gaussian", 0, 1), "above 0"),
        (lambda: check_step("staircase", 2, 1, sensitivity=3, step=4), "from 1 to the sensitivity 3"),
        (lambda: check_step("staircase", 1, 1e-5), "narrow it"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
