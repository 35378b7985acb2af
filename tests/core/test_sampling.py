"""Exact samplers, checked by enumerating their bits and by counts."""

import ast
import inspect
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
from core.channel import Channel
from core.errors import InputError
from core.sampling import (
    Coin,
    ScriptedSource,
    SystemSource,
    draw,
    draw_below,
    draw_bernoulli,
    draw_geometric,
    draw_subset,
    draw_two_sided_geometric,
    draw_weighted,
    two_sided_geometric,
)
from core.vector_sampling import draw_below_many, draw_bernoulli_many, draw_permutations

DEPTH = 16
"""Every string of so many bits is enumerated."""


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


def exact_law(draw_one):
    """Exact law over all 2^16 strings of bits, as fractions, and the share of strings that run out.

    A string is extended only where the sampler asks for more: what it decides on a prefix holds for all that begin so.
    """
    law, unfinished, waiting = Counter(), Fraction(0), [()]
    while waiting:
        script = waiting.pop()
        source = ScriptedSource(script)
        try:
            value = draw_one(source)
        except EOFError:
            if len(script) == DEPTH:
                unfinished += Fraction(1, 1 << DEPTH)
            else:
                waiting += [(*script, 0), (*script, 1)]
            continue
        with pytest.raises(EOFError):
            source.bits(1)  # it read the whole string and nothing is counted twice
        law[value] += Fraction(1, 1 << len(script))
    assert sum(law.values()) + unfinished == 1
    return dict(law), unfinished


def assert_exact(draw_one, law, most_unfinished):
    """The enumerated law lies below the wanted one, and lacks no more than what is unfinished."""
    seen, unfinished = exact_law(draw_one)
    assert unfinished <= most_unfinished
    assert set(seen) <= set(law)
    for value in law:
        assert 0 <= law.get(value, Fraction(0)) - seen.get(value, Fraction(0)) <= unfinished, value
    return seen, unfinished


def integer_channel(rows):
    return Channel(np.array(rows, dtype=np.int64), 1.0, 0.0, 0.0, 1.0, "custom")


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
def test_bernoulli_law_over_all_strings(numerator, denominator):
    p = Fraction(min(numerator, denominator), denominator)
    assert_exact(
        lambda source: draw_bernoulli(p.numerator, p.denominator, source), {True: p, False: 1 - p}, Fraction(1, 1 << 16)
    )


@pytest.mark.parametrize("bound", [1, 3, 5, 8, 13, 100, 1000])
def test_uniform_law_over_all_strings(bound):
    width = (bound - 1).bit_length()
    left = (1 - Fraction(bound, 1 << width)) ** (DEPTH // width) if width else Fraction(0)
    law, unfinished = assert_exact(
        lambda source: draw_below(bound, source), {n: Fraction(1, bound) for n in range(bound)}, left
    )
    assert unfinished == left
    assert len(set(law.values())) == 1


@pytest.mark.parametrize(("size", "domain"), [(0, 4), (1, 5), (2, 4), (3, 4), (4, 4), (2, 6)])
def test_subset_law_over_all_strings(size, domain):
    subsets = list(itertools.combinations(range(domain), size))
    assert_exact(
        lambda source: draw_subset(size, domain, source),
        {s: Fraction(1, len(subsets)) for s in subsets},
        Fraction(1, 9),
    )


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 2), (1, 3), (2, 3), (3, 5), (1, 100), (2, 4)])
def test_two_sided_geometric_law_over_all_strings(numerator, denominator):
    r = Fraction(numerator, denominator)
    law = {n: (1 - r) / (1 + r) * r ** abs(n) for n in range(-60, 61)}
    seen, _ = assert_exact(lambda source: two_sided_geometric(numerator, denominator, source), law, Fraction(1, 6))
    assert min(seen) < 0 < max(seen) or numerator == 0


@pytest.mark.parametrize(
    "rows",
    [
        [[8, 0, 0], [0, 1, 7], [2, 3, 3]],
        [[1, 2, 4, 8, 1, 0, 16 - 16, 0], [2, 2, 2, 2, 2, 2, 2, 2], [0, 0, 0, 0, 0, 0, 0, 16]],
        [[1 << 12, (1 << 12) - 1, 1], [1, 0, (1 << 13) - 1]],
    ],
)
def test_channel_rows_over_all_strings_give_exactly_the_integers(rows):
    for x, row in enumerate(rows):
        law, unfinished = exact_law(lambda source, x=x: draw(integer_channel(rows), [x], source)[0])
        assert unfinished == 0
        assert law == {y: Fraction(w, sum(row)) for y, w in enumerate(row) if w}


def test_two_rows_in_one_call_are_independent():
    rows = [[1, 3], [3, 1]]
    law, unfinished = exact_law(lambda source: tuple(draw(rows, [0, 1], source)))
    assert unfinished == 0
    assert law == {(a, b): Fraction(rows[0][a] * rows[1][b], 16) for a in (0, 1) for b in (0, 1)}


def test_rows_of_other_sums_reject_and_stay_exact():
    rows = [[1, 2, 3], [5, 0, 1], [0, 0, 7]]
    for x, row in enumerate(rows):
        assert_exact(
            lambda source, x=x: draw(rows, [x], source)[0],
            {y: Fraction(w, sum(row)) for y, w in enumerate(row)},
            Fraction(1, 1 << 10),
        )


def test_a_channel_of_58_bits_is_cut_at_its_partial_sums():
    row = [(1 << 57) - 3, 0, 5, (1 << 57) - 2]
    sums = list(itertools.accumulate(row))
    for y, (low, high) in enumerate(itertools.pairwise([0, *sums])):
        for value in {low, high - 1} if high > low else ():
            script = f"{value:058b}"
            assert draw(integer_channel([row]), [0], ScriptedSource(script)) == [y]


def test_draws_follow_a_large_channel():
    generator = np.random.default_rng(3)
    weights = generator.multinomial(1 << 58, generator.dirichlet(np.ones(12)), size=4)
    counts = Counter(draw(integer_channel(weights), [2] * 20_000, SeededSource(10)))
    assert_law(counts, {y: Fraction(int(w), 1 << 58) for y, w in enumerate(weights[2]) if w > 1 << 46})


@pytest.mark.parametrize(
    ("table", "rows"), [([[1, 1]], [1]), ([[1, 1]], [-1]), ([[0, 0]], [0]), ([[2, -1]], [0]), ([[]], [0])]
)
def test_impossible_rows_are_refused_with_a_sentence(table, rows):
    with pytest.raises(InputError, match=r"rows count from 0|negative|no positive"):
        draw(table, rows)


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (3, 2), (-1, 2), (0, 0), (0.5, 1), (True, 2), ("1", 2)])
def test_ratios_outside_the_range_are_refused(numerator, denominator):
    with pytest.raises(InputError, match="two whole numbers"):
        two_sided_geometric(numerator, denominator)


def test_nothing_between_source_and_output_is_rounded():
    """The module itself: no array library, no other import that rounds, no literal with a point, no true division."""
    text = inspect.getsource(sampling)
    assert not any(word in text for word in ("float", "numpy", "np."))
    tree = ast.parse(text)
    exact = {"itertools", "os", "secrets", "bisect", "collections", "dataclasses", "fractions", "functools", "typing"}
    assert imported_roots(tree) <= exact | {"core"}
    divided = [ast.unparse(n) for n in ast.walk(tree) if isinstance(getattr(n, "op", None), ast.Div)]
    assert not divided
    assert not any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in ast.walk(tree))
    errors = ast.parse(inspect.getsource(inspect.getmodule(InputError)))
    assert not imported_roots(errors), "what it imports from the core brings nothing along"


def imported_roots(tree):
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            roots.add(str(node.module).split(".")[0])
        elif isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
    return roots


def test_coin_at_its_edges():
    assert not Coin(0, 5).toss(ScriptedSource(""))
    assert Coin(5, 5).toss(ScriptedSource(""))
    assert Coin(1, 3).toss(ScriptedSource("01010100")), "the binary digits of 1/3 go on after equal bits"
    assert not Coin(1, 3).toss(ScriptedSource("0101011"))
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
