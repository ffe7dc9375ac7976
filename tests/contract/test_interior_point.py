"""A point inside: MajorityPath and the exponential mechanism, by definition, draws and audits."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError, PrivacyWarning
from fim_private.learning.points import ExponentialInterior, MajorityPath, Stop, interior_point

LEVEL = 1e-6
EPSILON, DELTA, BITS = 2.0, 0.05, 3
POINTS = range(1 << BITS)

NEIGHBORS = ["replace-one", "add-remove"]

small_values = st.lists(st.integers(0, 7), max_size=12)


def slow_path(values: list[int], bits: int) -> list[Stop]:
    """By every cell of the binary tree: those with more than half of the values, largest first."""
    n, found = len(values), []
    for size in range(bits, -1, -1):
        for start in range(0, 1 << bits, 1 << size):
            held = sum(start <= value < start + (1 << size) for value in values)
            if 2 * held > n:
                middle = start + (1 << size) // 2
                sides = sum(v <= middle for v in values), sum(v >= middle for v in values)
                found.append(Stop(middle, min(*sides, held - n // 2), held - n // 2))
    return found


def slow_law(values: list[int], mechanism: MajorityPath) -> dict[int | None, float]:
    """The output distribution by its definition, in floating point, noise summed term by term."""
    epsilon = float(mechanism.epsilon)
    stops = slow_path(values, mechanism.bits)
    scores = [stop.score for stop in stops] + [0] * (mechanism.bits + 1 - len(stops))
    weights = [math.exp(0.3 * epsilon * score) for score in scores]
    noise = {z: math.exp(-0.4 * epsilon * abs(z)) for z in range(-2000, 2001)}
    total = math.fsum(noise.values())
    tails = (math.fsum(w for z, w in noise.items() if z > a) for a in range(2000))
    threshold = next(a for a, tail in enumerate(tails) if tail <= DELTA * total)
    law: dict[int | None, float] = {None: 0.0}
    for stop, weight in zip(stops, weights, strict=False):
        clears = math.fsum(w for z, w in noise.items() if stop.excess - 1 + z > threshold) / total
        law[stop.point] = law.get(stop.point, 0.0) + weight / math.fsum(weights) * clears
    law[None] = 1 - math.fsum(law.values())
    return law


@given(values=small_values)
@example(values=[])
@example(values=[5])
@example(values=[3, 4])
@example(values=[4] * 9)
def test_the_law_is_that_of_the_definition(values: list[int]) -> None:
    mechanism = MajorityPath(EPSILON, DELTA, BITS)
    found = mechanism.distribution(values)
    assert found == pytest.approx(slow_law(values, mechanism), abs=1e-12)
    assert math.fsum(found.values()) == pytest.approx(1)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@given(values=small_values)
def test_the_exponential_mechanism_weighs_each_point(neighbors: str, values: list[int]) -> None:
    replaced = neighbors == "replace-one"
    values = [*values, *([3] if replaced else [])]  # there is one at least
    rate = EPSILON / 2 if replaced else EPSILON
    depths = [min(sum(v <= z for v in values), sum(v >= z for v in values)) for z in POINTS]
    weights = [math.exp(rate * depth) for depth in depths]
    law = {z: weight / math.fsum(weights) for z, weight in enumerate(weights)}
    found = law_of(ExponentialInterior(EPSILON, BITS, neighbors), values)
    assert found == pytest.approx(law, abs=1e-12)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("make", "values", "epsilon", "draws"),
    [
        (lambda e: MajorityPath(e, DELTA, BITS), [1] * 20 + [6] * 4, 1.0, 1_500),
        (lambda e: ExponentialInterior(e, BITS), [1] * 4 + [2] * 4, 0.5, 3_000),
    ],
)
def test_draws_are_from_the_law(make: Any, values: list[int], epsilon: float, draws: int) -> None:
    law, *wrong = (law_of(make(epsilon * factor), values) for factor in (1, 1.3, 1 / 1.3))
    assert min(oracles.detects(law, other, draws, level=LEVEL) for other in wrong) > 0.999

    def pvalue(epsilon: float) -> float:
        mechanism, randomness = make(epsilon), Randomness.of_seed(18)
        drawn = Counter(mechanism.select(values, randomness) for _ in range(draws))
        return oracles.chi_square_pvalue(drawn, law, draws)

    assert pvalue(epsilon) > LEVEL
    assert pvalue(1.3 * epsilon) < LEVEL


def law_of(mechanism: Any, values: list[int]) -> dict[int | None, float]:
    """Its own distribution, point by point."""
    if isinstance(mechanism, MajorityPath):
        return mechanism.distribution(values)
    runs = mechanism.distribution(values)
    return {start + n: chance / length for start, length, chance in runs for n in range(length)}


@cache
def neighbours(n: int, neighbors: str = "replace-one") -> tuple[list[tuple[int, ...]], Any, Any]:
    """All data of n of eight points, and all pairs that differ in one value, both ways.

    Under add-remove those of n and of one value less, of which one has a value more.
    """
    less = [*combinations_with_replacement(POINTS, n - 1)]
    data = [*combinations_with_replacement(POINTS, n), *(less if neighbors == "add-remove" else ())]
    places = {values: place for place, values in enumerate(data)}
    pairs: list[tuple[int, int]] = []
    for values in less:
        more = [places[tuple(sorted([*values, other]))] for other in POINTS]
        if neighbors == "add-remove":
            own = [places[values]] * len(more)
            pairs += [*zip(own, more, strict=True), *zip(more, own, strict=True)]
        else:
            pairs += permutations(more, 2)
    one, two = np.array(pairs).T
    return data, one, two


class Audit:
    """The parts of its guarantee that MajorityPath uses up over all neighbouring data of n values,
    stage by stage.

    depth: the largest log-ratio of a depth's probability, over 3ε/5. release: the most δ that the
    second stage takes at 2ε/5 for one depth, over δ. whole: the tight δ at ε of the whole, over δ.
    """

    def __init__(self, mechanism: MajorityPath, n: int, neighbors: str = "replace-one") -> None:
        data, one, two = neighbours(n, neighbors)
        epsilon, delta = float(mechanism.epsilon), float(mechanism.delta)
        paths = [mechanism.path(values) for values in data]
        by_scores = {tuple(stop.score for stop in path): path for path in paths}
        depths = {scores: mechanism.depths(path) for scores, path in by_scores.items()}
        chosen = np.array([depths[tuple(stop.score for stop in path)] for path in paths])
        released = [mechanism.released(excess) for excess in range(n + 2)]
        self.depth = float(np.abs(np.log(chosen[one] / chosen[two])).max() / (0.6 * epsilon))
        cells = np.full((len(data), BITS + 1), -1)
        clears = np.zeros((len(data), BITS + 1))
        for place, path in enumerate(paths):
            cells[place, : len(path)] = [stop.point for stop in path]
            clears[place, : len(path)] = [released[stop.excess] for stop in path]
        factor, same = math.exp(0.4 * epsilon), cells[one] == cells[two]
        here, there = clears[one], clears[two]
        named = np.maximum(here - factor * np.where(same, there, 0), 0)
        silent = np.maximum((1 - here) - factor * (1 - there), 0)
        self.release = float((named + silent).max() / delta)
        whole = np.zeros((len(data), len(POINTS) + 1))
        for depth in range(BITS + 1):  # where the path has ended it adds 0, in the last place
            whole[np.arange(len(data)), cells[:, depth]] += chosen[:, depth] * clears[:, depth]
        whole[:, -1] = 1 - whole[:, :-1].sum(axis=1)
        spent = np.maximum(whole[one] - math.exp(epsilon) * whole[two], 0).sum(axis=1)
        self.whole = float(spent.max() / delta)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("n", "neighbors", "used"),
    [
        (8, "replace-one", (0.90, 0.56, 0.27)),
        (5, "replace-one", (0.83, 0.56, 0.35)),
        (7, "add-remove", (0.45, 0.56, 0.27)),  # from even to odd
        (8, "add-remove", (0.90, 0.56, 0.27)),  # from odd to even
    ],
)
def test_all_neighbours_are_within_it_stage_by_stage(n: int, neighbors: str, used: Any) -> None:
    found = audit(n, neighbors)
    assert (found.depth, found.release, found.whole) == pytest.approx(used, abs=0.005)


def patched(monkeypatch: pytest.MonkeyPatch, name: str, factor: Any) -> None:
    right = vars(MajorityPath)[name].func
    monkeypatch.setattr(MajorityPath, name, property(lambda mechanism: right(mechanism) * factor))


def audit(n: int = 8, neighbors: str = "replace-one") -> Audit:
    return Audit(MajorityPath(EPSILON, DELTA, BITS), n, neighbors)


@pytest.mark.full
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.05), (1.0, 1e-3), (4.0, 0.2), (8.0, 1e-6)])
@pytest.mark.parametrize("n", [1, 2, 6, 7])
@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_other_budgets_are_within_it(neighbors: str, epsilon: float, delta: float, n: int) -> None:
    found = Audit(MajorityPath(epsilon, delta, BITS), n, neighbors)
    assert max(found.depth, found.release, found.whole) <= 1 + 1e-9


def test_the_audit_sees_a_rate_that_is_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, "rate", 2)
    for neighbors in NEIGHBORS:
        assert audit(8, neighbors).depth == pytest.approx(1.96, abs=0.005)


def test_the_audit_sees_noise_that_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    threshold = MajorityPath(EPSILON, DELTA, BITS).threshold
    patched(monkeypatch, "scale", Fraction(1, 2))  # and with it the threshold
    assert audit().release == pytest.approx(9.16, abs=0.005)
    monkeypatch.setattr(MajorityPath, "threshold", threshold)
    assert audit().release == pytest.approx(1.85, abs=0.005)


def test_the_audit_sees_a_release_without_one_value_less(monkeypatch: pytest.MonkeyPatch) -> None:
    right = MajorityPath.released
    one_more = lambda mechanism, excess: right(mechanism, excess + 1)  # noqa: E731
    monkeypatch.setattr(MajorityPath, "released", one_more)
    for n, neighbors in product((5, 8), NEIGHBORS):
        assert audit(n, neighbors).release == pytest.approx(1.25, abs=0.005)


def test_the_audit_sees_a_path_without_a_majority(monkeypatch: pytest.MonkeyPatch) -> None:
    def heavier(mechanism: MajorityPath, ordered: list[int]) -> list[Stop]:
        stops, start = [], 0
        for size in range(mechanism.bits, -1, -1):
            held = sum(start <= value < start + (1 << size) for value in ordered)
            middle = start + (1 << size) // 2
            sides = sum(v <= middle for v in ordered), sum(v >= middle for v in ordered)
            stops.append(Stop(middle, min(sides), held))
            left = sum(start <= value < middle for value in ordered)
            start = start if 2 * left >= held else middle
        return stops

    monkeypatch.setattr(MajorityPath, "path", heavier)
    assert audit(5).release > 1


def ratio_of_exponential(n: int, neighbors: str, made_for: str | None = None) -> float:
    """The largest log-ratio over all neighbouring data of n values, over ε."""
    data, one, two = neighbours(n, neighbors)
    mechanism = ExponentialInterior(EPSILON, BITS, made_for or neighbors)
    laws = np.array([[*law_of(mechanism, [*values]).values()] for values in data])
    return float(np.abs(np.log(laws[one] / laws[two])).max() / EPSILON)


@pytest.mark.every_case
@pytest.mark.parametrize(("neighbors", "used"), [("replace-one", 0.88), ("add-remove", 0.99)])
def test_exponential_is_within_epsilon(monkeypatch: Any, neighbors: str, used: float) -> None:
    assert ratio_of_exponential(4, neighbors) == pytest.approx(used, abs=0.005)
    # under add-remove one of the two has no value at all
    assert ratio_of_exponential(1, neighbors) <= 1
    if neighbors == "replace-one":  # the rate of add-remove would be seen
        assert ratio_of_exponential(4, neighbors, "add-remove") > 1.6
    rate = Fraction(2 if neighbors == "replace-one" else 4)
    monkeypatch.setattr(ExponentialInterior, "rate", rate)
    assert ratio_of_exponential(4, neighbors) > 1.6


@pytest.mark.parametrize("kind", [MajorityPath, ExponentialInterior])
def test_a_budget_that_a_float_cannot_hold_is_split_exactly(kind: Any) -> None:
    for epsilon in (0.1, 1e-9, 1e9, Fraction(1, 3)):
        mechanism = kind(epsilon=epsilon, bits=5)
        assert mechanism.cost.epsilon == epsilon
        # A score of the depth moves either way under both relations.
        parts = [mechanism.rate]
        if kind is MajorityPath:
            parts = [2 * mechanism.rate, 1 / mechanism.scale]
        assert sum(parts) == mechanism.cost.epsilon
        mechanism.select([1, 2, 3], Randomness.of_seed(1))


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-6, 1e-300])
def test_the_threshold_is_the_least(delta: float) -> None:
    threshold = MajorityPath(1.0, delta).threshold

    def tail(threshold: int) -> float:
        """The logarithm: δ may be too small for anything else."""
        return -0.4 * (threshold + 1) - math.log1p(math.exp(-0.4))

    assert tail(threshold) <= math.log(delta)
    assert threshold == 0 or tail(threshold - 1) > math.log(delta)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (partial(MajorityPath, epsilon=0), "epsilon must be a number above 0, not 0"),
        (partial(MajorityPath, delta=1), "delta must be a number above 0 and below 1, not 1"),
        (partial(MajorityPath, bits=0), "bits must be a whole number of at least 1, not 0"),
        (partial(ExponentialInterior, bits=10**6), "bits must be at most 65,536, not 1000000"),
    ],
)
def test_parameters_out_of_range(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}$"):
        make()


RANGE = "values must be whole numbers from 0 to below 2**bits"


@pytest.mark.parametrize("kind", [MajorityPath, ExponentialInterior])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 256], f"{RANGE}: one is not"),
        ([1, 7.5], f"{RANGE}, not float"),
        ([], "values must hold at least one number"),
        ([True], f"{RANGE}, not bool"),
        ({1, 2}, "values must be a list or an array, not set"),
        (pd.DataFrame({0: [900]}), "values must be a list or an array of one dimension, not of 2"),
    ],
)
def test_no_error_tells_a_value(kind: Any, values: Any, message: str) -> None:
    mechanism = kind(bits=8, neighbors="replace-one")
    for ask in (partial(mechanism.select, randomness=Randomness()), mechanism.distribution):
        with pytest.raises(ParameterError) as error:
            ask(values)
        assert str(error.value) == message


def test_interior_point_takes_either_and_warns() -> None:
    values = np.array([40] * 200 + [60] * 200)
    assert 40 <= (fim.interior_point(values, fim.ExponentialInterior(1.0, 16), seed=1) or 0) <= 60
    assert interior_point(values, MajorityPath(1.0, 1e-6, 16)) == 48
    assert interior_point([9], MajorityPath(1.0, 1e-6, 16)) is None
    with pytest.warns(PrivacyWarning, match="epsilon 11"):
        interior_point(values, ExponentialInterior(11, 16))
    refused: Any = fim.Exponential(1.0)
    told = "mechanism must be a MajorityPath or an ExponentialInterior"
    with pytest.raises(ParameterError, match=told):
        interior_point(values, refused)
