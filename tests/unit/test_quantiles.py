"""quantiles: the law it draws from, by brute force over all points, held to its guarantee."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest

from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.learning import points
from fim_private.learning.points import quantiles

Law = dict[tuple[int, ...], float]
LEVEL, POWER = 1e-6, 0.999
NEIGHBORS = ["replace-one", "add-remove"]
DRAWS = 3_000
POINTS = 4


def law(values: Sequence[int], levels: int, low: int, high: int, rate: float) -> Law:
    """P(result), point by point, straight from the definition."""
    if not levels:
        return {(): 1.0}
    if low == high:
        return {(low,) * (2**levels - 1): 1.0}
    apart = ((sum(v < z for v in values), sum(v > z for v in values)) for z in range(low, high))
    weights = [math.exp(-rate * abs(below - above)) for below, above in apart]
    found: Law = {}
    for z, weight in zip(range(low, high), weights, strict=True):
        left = law([v for v in values if v < z], levels - 1, low, z, rate)
        right = law([v for v in values if v >= z], levels - 1, z, high, rate)
        for (one, p), (other, q) in product(left.items(), right.items()):
            result = (*one, z, *other)
            found[result] = found.get(result, 0.0) + weight / math.fsum(weights) * p * q
    return found


def law_with_lots(values: Sequence[int], levels: int, high: int, rate: float, bits: int) -> Law:
    """The same where random bits are appended to each value, and dropped from each result."""
    found: Law = {}
    share = 2.0 ** (-bits * len(values))
    for lots in product(range(1 << bits), repeat=len(values)):
        fine = [v << bits | lot for v, lot in zip(values, lots, strict=True)]
        for result, p in law(fine, levels, 0, high << bits, rate).items():
            coarse = tuple(z >> bits for z in result)
            found[coarse] = found.get(coarse, 0.0) + share * p
    return found


def rate_of(epsilon: float, levels: int, neighbors: str) -> float:
    return epsilon / levels / (4 if neighbors == "replace-one" else 2)


def drawn(values: Sequence[int], draws: int, monkeypatch: Any, **options: Any) -> Counter[Any]:
    stream = Randomness.seeded(7)
    monkeypatch.setattr(Randomness, "of_seed", lambda seed: stream)
    return Counter(tuple(quantiles(values, low=0, high=POINTS, **options)) for _ in range(draws))


@pytest.mark.parametrize(
    ("values", "levels", "bits", "neighbors"),
    [
        ([0, 1, 1, 2, 3, 3], 2, 0, "replace-one"),
        ([0, 1, 1, 3], 2, 1, "add-remove"),
        pytest.param([0, 0, 0, 0, 1, 3], 1, 0, "add-remove", marks=pytest.mark.full),
        pytest.param([0, 0, 0, 0, 1, 3], 2, 0, "add-remove", marks=pytest.mark.full),
        pytest.param([0, 1, 1, 3], 2, 1, "replace-one", marks=pytest.mark.full),
    ],
)
def test_it_draws_from_the_law(
    monkeypatch: pytest.MonkeyPatch, values: list[int], levels: int, bits: int, neighbors: str
) -> None:
    monkeypatch.setattr(points, "_TIE_BITS", bits)
    epsilon = 8.0 if neighbors == "replace-one" else 4.0  # the same rate
    rates = (rate_of(e, levels, neighbors) for e in (epsilon, 1.3 * epsilon))
    right, wrong = (law_with_lots(values, levels, POINTS, rate, bits) for rate in rates)
    assert oracles.detects(right, wrong, DRAWS, level=LEVEL) > POWER
    counts = drawn(values, DRAWS, monkeypatch, levels=levels, epsilon=epsilon, neighbors=neighbors)
    assert oracles.chi_square_pvalue(counts, right, DRAWS) > LEVEL


def neighbouring(number: int, neighbors: str) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every pair of data with so many values, of four points, that differ in one value; or that has
    one value more.
    """
    for rest in combinations_with_replacement(range(POINTS), number - (neighbors == "replace-one")):
        if neighbors == "add-remove":
            yield from ((rest, (*rest, value)) for value in range(POINTS))
        else:
            yield from (((*rest, one), (*rest, two)) for one, two in permutations(range(POINTS), 2))


def log_ratio(number: int, levels: int, neighbors: str, rate: float, of: Any = law) -> float:
    """The largest |ln(P / P')| of any result, over all neighbours."""
    laws: dict[tuple[int, ...], Law] = {}

    def known(values: tuple[int, ...]) -> Law:
        key = tuple(sorted(values))
        if key not in laws:
            laws[key] = of(key, levels, 0, POINTS, rate)
        return laws[key]

    pairs = ((known(one), known(other)) for one, other in neighbouring(number, neighbors))
    return max(abs(math.log(p[result] / q[result])) for p, q in pairs for result in p)


AUDITED = [("replace-one", 1, 0.62), ("replace-one", 2, 0.53)]
AUDITED += [("add-remove", 1, 0.905), ("add-remove", 2, 0.77)]


@pytest.mark.parametrize(("neighbors", "levels", "used"), AUDITED)
def test_all_neighbours_are_within_epsilon(neighbors: str, levels: int, used: float) -> None:
    rate = rate_of(1.0, levels, neighbors)
    assert log_ratio(6, levels, neighbors, rate) == pytest.approx(used, abs=0.005)
    assert log_ratio(6, levels, neighbors, 2 * rate) > 1  # a mutant: twice the rate


def test_ties_by_lot_keep_the_guarantee() -> None:
    def lots(values: Sequence[int], levels: int, low: int, high: int, rate: float) -> Law:
        return law_with_lots(values, levels, high, rate, 1)

    for neighbors in NEIGHBORS:
        assert 0.3 < log_ratio(2, 2, neighbors, rate_of(1.0, 2, neighbors), lots) <= 1


def test_a_domain_of_2_to_the_64() -> None:
    prices = [199 + 10 * number for number in range(3_000)]
    asked: Any = {"levels": 2, "low": 0, "high": 2**64, "epsilon": 2.0, "seed": 1}
    found = quantiles(prices, **asked)
    assert all(abs(value - (199 + 10 * 750 * k)) < 900 for k, value in enumerate(found, 1))
    assert quantiles(np.array(prices, dtype=np.uint64), **asked) == found
    # their number is not public
    assert len(quantiles([], levels=3, low=0, high=1000, epsilon=1.0, seed=1)) == 7


def test_what_lies_outside_counts_at_the_end_and_ties_are_parted() -> None:
    asked: Any = {"levels": 1, "low": 0, "high": 10, "seed": 1}
    assert quantiles([-5] * 200 + [80] * 200, epsilon=20.0, **asked)[0] in range(10)
    assert quantiles([80] * 400, epsilon=5.0, **asked) == [9]
    # Of 400, 300 and 300 the middle is a 2, and the upper quarter a 3: only if the twos are on both
    # sides.
    tied = [1] * 400 + [2] * 300 + [3] * 300
    found = [quantiles(tied, levels=2, low=0, high=100, epsilon=4.0, seed=s) for s in range(10)]
    assert found == [[1, 2, 3]] * 10


RELATIONS, A_LIST = ", ".join(NEIGHBORS), "values must be a list or an array"
UNMASKED = "values must be an array without a mask"
GIVEN: dict[str, Any] = {"levels": 2, "low": 0, "high": 10, "epsilon": 1.0}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("values", "changes", "message"),
    [
        ([1, 2], {"levels": 17}, "levels must be at most 16, not 17"),
        ([1, 2], {"low": 10}, "low must be below high: the domain is low, ..., high - 1"),
        ([1, 2], {"high": (1 << 65_536) + 1}, "high must be at most 2^65,536 above low"),
        ([], {"neighbors": "replace-one"}, "values must hold at least one number"),
        ([1, 2], {"low": 0.5}, "low and high must be whole numbers, not float"),
        ([1, 2], {"epsilon": 0}, "epsilon must be a number above 0, not 0"),
        ([1, 2], {"neighbors": "all"}, f"neighbors must be one of {RELATIONS}, not 'all'"),
        ([1, 2.5], {}, "values must be whole numbers, not float"),
        (np.array([1.0]), {}, "values must be whole numbers, not float64"),
        (pd.DataFrame({0: [900], 1: [5]}), {}, f"{A_LIST} of one dimension, not of 2"),
        (np.ma.masked_array([1]), {}, f"{UNMASKED}: none may be missing"),
        ("12", {}, f"{A_LIST}, not str"),
    ],
)
def test_what_is_wrong_is_said(values: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as refused:
        quantiles(values, **(GIVEN | changes))
    assert str(refused.value) == message
