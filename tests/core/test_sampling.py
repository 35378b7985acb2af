"""Exact samplers, checked by enumerating their bits and by counts."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import sampling
from core.sampling import (
    Coin,
    ScriptedSource,
    SystemSource,
    draw_below,
    draw_below_many,
    draw_bernoulli,
    draw_bernoulli_many,
    draw_geometric,
    draw_permutations,
    draw_subset,
    draw_two_sided_geometric,
    draw_weighted,
)


class SeededSource:
    """Reproducible bits for statistical tests."""

    def __init__(self, seed):
        self.generator = random.Random(seed)

    def bits(self, count):
        return self.generator.getrandbits(count)

    def read(self, count):
        return self.generator.randbytes(count)


def chi_square_bound(cells):
    """Upper 1e-6 point of chi-square with cells-1 degrees of freedom (Wilson and Hilferty)."""
    f = cells - 1
    return f * (1 - 2 / (9 * f) + 4.7534 * math.sqrt(2 / (9 * f))) ** 3


def assert_law(counts, law):
    """`law` maps outcomes to probabilities; what it leaves out is one more cell."""
    total = sum(counts.values())
    expected = {value: float(share) * total for value, share in law.items()}
    assert min(expected.values()) > 5
    rest = total - sum(expected.values())
    statistic = sum((counts[value] - want) ** 2 / want for value, want in expected.items())
    seen = total - sum(counts[value] for value in law)
    if rest > 1e-9 * total:
        statistic += (seen - rest) ** 2 / rest
    else:
        assert seen == 0
    assert statistic < chi_square_bound(len(law) + 1)


def enumerate_law(draw, length):
    """Exact law of a sampler over all scripts of `length` bits; scripts that run out count as None."""
    outcomes = Counter()
    for script in itertools.product((0, 1), repeat=length):
        try:
            outcomes[draw(ScriptedSource(script))] += 1
        except EOFError:
            outcomes[None] += 1
    return outcomes


def test_scripted_source():
    source = ScriptedSource("1010000001")
    assert source.bits(2) == 2
    assert source.read(1) == b"\x81"
    assert source.bits(0) == 0
    with pytest.raises(EOFError):
        source.bits(1)


def test_system_source_has_the_widths_asked_for():
    source = SystemSource()
    assert len(source.read(33)) == 33
    assert all(0 <= source.bits(5) < 32 for _ in range(100))
    assert len({source.bits(64) for _ in range(50)}) == 50


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 6, 8])
def test_below_is_uniform_by_enumeration(bound):
    law = enumerate_law(lambda source: draw_below(bound, source), 9)
    law.pop(None, None)
    assert set(law) == set(range(bound))
    assert len(set(law.values())) == 1


def test_weighted_by_enumeration():
    law = enumerate_law(lambda source: draw_weighted([1, 0, 4, 2], source), 6)
    law.pop(None)
    assert law[2] == 4 * law[0]
    assert law[3] == 2 * law[0]
    assert set(law) == {0, 2, 3}


def test_subset_by_enumeration():
    law = enumerate_law(lambda source: draw_subset(2, 4, source), 12)
    law.pop(None)
    # Floyd's draws below 3 and below 4 reject nothing but one value in four of the first.
    assert set(law) == set(itertools.combinations(range(4), 2))
    assert len(set(law.values())) == 1
    assert draw_subset(0, 3, ScriptedSource("")) == ()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.integers(1, 40))
def test_coin_by_enumeration_of_short_words(numerator, denominator):
    numerator = min(numerator, denominator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "WORD", 2)
        law = enumerate_law(lambda source: draw_bernoulli(numerator, denominator, source), 8)
    yes, undecided = Fraction(law[True], 256), Fraction(law[None], 256)
    assert yes <= Fraction(numerator, denominator) <= yes + undecided
    assert undecided <= Fraction(1, 256)


def test_coin_at_its_edges():
    third = (1 << 64) // 3
    bits = [int(b) for b in f"{third:064b}"]
    assert not Coin(0, 5).toss(ScriptedSource(""))
    assert Coin(5, 5).toss(ScriptedSource(""))
    assert Coin(1, 3).toss(ScriptedSource(bits + [0] * 64)), "equal words go on to the next one"
    assert not Coin(1, 3).toss(ScriptedSource(bits + [1] * 64))
    for bad in ((-1, 2), (3, 2), (0, 0)):
        with pytest.raises(ValueError, match="probability"):
            Coin(*bad)


@pytest.mark.parametrize("ratio", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)])
def test_geometric_law(ratio):
    source = SeededSource(5)
    counts = Counter(draw_geometric(ratio, source) for _ in range(20_000))
    top = max(n for n in range(500) if 20_000 * (1 - ratio) * ratio**n > 5)
    assert_law(counts, {n: (1 - ratio) * ratio**n for n in range(min(top, 60) + 1)})


def test_geometric_beyond_the_digits_has_its_mean():
    ratio = 1 - Fraction(1, 100_000)
    source = SeededSource(6)
    draws = np.array([draw_geometric(ratio, source) for _ in range(500)])
    assert abs(draws.mean() - 99_999) < 4.892 * 100_000 / math.sqrt(500)
    assert len(set((draws % 4096).tolist())) > 400


def test_two_sided_geometric_law():
    ratio = Fraction(3, 5)
    source = SeededSource(7)
    counts = Counter(draw_two_sided_geometric(ratio, source) for _ in range(20_000))
    assert_law(counts, {n: (1 - ratio) / (1 + ratio) * ratio ** abs(n) for n in range(-12, 13)})
    assert draw_two_sided_geometric(Fraction(0), ScriptedSource("")) == 0


def test_vectorised_draws_follow_their_law():
    source = SeededSource(8)
    for bound in (1, 3, 200, 300, 70_000, (1 << 62) + 1):
        drawn = draw_below_many(bound, 40_000, source)
        assert drawn.min() >= 0
        assert drawn.max() < bound
        if 1 < bound < 1000:
            assert_law(Counter(drawn.tolist()), {n: Fraction(1, bound) for n in range(bound)})
        else:
            assert abs(drawn.mean() - (bound - 1) / 2) <= 4.892 * bound / math.sqrt(12 * 40_000)
    share = draw_bernoulli_many(3 << 59, 40_000, source).mean()
    assert abs(share - 0.375) < 4.892 * math.sqrt(0.375 * 0.625 / 40_000)
    assert draw_bernoulli_many(1 << 62, 100, source).all()
    assert not draw_bernoulli_many(0, 100, source).any()


def test_vectorised_coin_compares_all_its_bits():
    word = (5 << 61) | (1 << 40)  # the coin looks at the highest 62 bits of each word
    source = ScriptedSource([int(b) for b in f"{int.from_bytes(word.to_bytes(8, 'little'), 'big'):064b}"] * 2)
    assert not draw_bernoulli_many(word >> 2, 1, source)[0]
    assert draw_bernoulli_many((word >> 2) + 1, 1, source)[0]


def test_permutations_are_uniform():
    rows = draw_permutations(12_000, 3, SeededSource(9))
    assert_law(Counter(map(tuple, rows.tolist())), {p: Fraction(1, 6) for p in itertools.permutations(range(3))})
    assert draw_permutations(2, 1, SeededSource(9)).tolist() == [[0], [0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda s: draw_below(0, s),
        lambda s: draw_below_many(0, 1, s),
        lambda s: draw_below_many((1 << 63) + 1, 1, s),
        lambda s: draw_bernoulli_many(-1, 1, s),
        lambda s: draw_geometric(Fraction(1), s),
        lambda s: draw_subset(3, 2, s),
        lambda s: draw_weighted([1, -1], s),
        lambda s: draw_weighted([0], s),
    ],
)
def test_impossible_requests(call):
    with pytest.raises(ValueError, match=r".+"):
        call(SystemSource())
