"""Learners of a point, a threshold and a box: exact laws, draws, and audits of all neighbours."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, pairwise, permutations, product
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
import selection_oracles
from hypothesis import example, given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.errors import ParameterError, PrivacyWarning
from fim_private.learning import concepts
from fim_private.learning.concepts import learn_box, learn_point, learn_threshold
from fim_private.learning.points import Piece
from fim_private.mechanisms import Distance
from fim_private.spectrum import SupportSpectrum

LEVEL = 1e-6
EPSILON = 1.5
Row = tuple[int, bool]
Law = dict[int, float]

NEIGHBORS = ["replace-one", "add-remove"]
# of a score that a row more moves one way
RATES = {"replace-one": EPSILON / 2, "add-remove": EPSILON}

labelled = st.lists(st.tuples(st.integers(0, 7), st.booleans()), max_size=10)


@pytest.fixture
def laws(monkeypatch: pytest.MonkeyPatch) -> list[Law]:
    """The exact law of each choice that a learner makes."""
    seen: list[Law] = []

    def draw(pieces: Sequence[Piece], distances: Any, rate: Fraction, randomness: Any) -> int:
        exponents = {
            piece.start + step: -float(rate) * distance
            for piece, distance in zip(pieces, distances, strict=True)
            for step in range(piece.length)
        }
        seen.append(softmax(exponents))
        return pieces[0].start

    monkeypatch.setattr(concepts, "draw", draw)
    return seen


def softmax(exponents: Mapping[int, float]) -> Law:
    top = max(exponents.values())
    total = math.fsum(math.exp(x - top) for x in exponents.values())
    return {key: math.exp(x - top) / total for key, x in exponents.items()}


def log_ratio(one: Mapping[Any, float], two: Mapping[Any, float]) -> float:
    assert one.keys() == two.keys()
    return max(abs(math.log(one[key] / two[key])) for key in one)


def right(threshold: int, rows: Sequence[Row]) -> int:
    return sum((value >= threshold) == label for value, label in rows)


def threshold_law(rows: Sequence[Row], bits: int, rate: float) -> Law:
    return softmax({t: rate * right(t, rows) for t in range((1 << bits) + 1)})


def split(rows: Sequence[Row]) -> tuple[list[int], list[bool]]:
    return [value for value, _ in rows], [label for _, label in rows]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@given(rows=labelled)
@example(rows=[(7, True), (0, False), (3, True), (3, False), (4, False)])
def test_a_threshold_weighs_how_many_rows_it_gets_right(neighbors: str, rows: list[Row]) -> None:
    if neighbors == "replace-one":
        rows = [*rows, (5, True)]  # there is one at least
    with pytest.MonkeyPatch.context() as patch:
        seen = laws.__wrapped__(patch)  # type: ignore[attr-defined]
        learn_threshold(*split(rows), bits=3, epsilon=EPSILON, neighbors=neighbors, seed=1)
        assert seen[0] == pytest.approx(threshold_law(rows, 3, RATES[neighbors]))


@given(rows=labelled)
def test_label_private_thresholds_are_one_for_each_labelling_of_the_values(rows: list[Row]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        seen = laws.__wrapped__(patch)  # type: ignore[attr-defined]
        learn_threshold(*split(rows), bits=3, epsilon=EPSILON, private="labels", seed=1)
    cuts = [0, *sorted({value + 1 for value, _ in rows}), 9]
    right_about = {(t + end) // 2: right(t, rows) for t, end in pairwise(cuts)}
    assert seen[0] == pytest.approx(softmax({at: EPSILON / 2 * n for at, n in right_about.items()}))


SMALL = [*product(range(4), (False, True))]


def neighbours(n: int, kinds: Sequence[Row] = SMALL, neighbors: str = "replace-one") -> list[Any]:
    """All pairs of n rows of these kinds that differ in one row; or of n and of one row less."""
    pairs: list[tuple[tuple[Row, ...], tuple[Row, ...]]] = []
    for rest in combinations_with_replacement(sorted(kinds), n - 1):
        more = [tuple(sorted([*rest, other])) for other in kinds]
        one_less = [(rest, rows) for rows in more]
        pairs += one_less if neighbors == "add-remove" else permutations(more, 2)
    return pairs


def worst(laws: list[Law], learn: Callable[[Any], object], pairs: Sequence[Any]) -> float:
    """The largest log-ratio of an outcome over all pairs, over ε: choices are independent."""
    known: dict[tuple[Row, ...], list[Law]] = {}
    for rows in {rows for pair in pairs for rows in pair}:
        laws.clear()
        learn(rows)
        known[rows] = [*laws]
    return max(sum(map(log_ratio, known[one], known[two])) for one, two in pairs) / EPSILON


@pytest.mark.every_case
@pytest.mark.parametrize(("neighbors", "used"), [("replace-one", 0.94), ("add-remove", 0.99)])
def test_a_threshold_is_within_epsilon(laws: list[Law], neighbors: str, used: float) -> None:
    pairs = neighbours(3, neighbors=neighbors)

    def learn(rows: tuple[Row, ...], epsilon: float = EPSILON, made_for: str = neighbors) -> int:
        return learn_threshold(*split(rows), bits=2, epsilon=epsilon, neighbors=made_for, seed=1)

    assert worst(laws, learn, pairs) == pytest.approx(used, abs=0.005)
    assert worst(laws, lambda rows: learn(rows, 2 * EPSILON), pairs) > 1
    if neighbors == "replace-one":  # the rate of add-remove would be seen
        assert worst(laws, lambda rows: learn(rows, made_for="add-remove"), pairs) > 1.5


def test_labels_are_within_epsilon_for_all_flips_and_values_are_not(laws: list[Law]) -> None:
    def learn(rows: tuple[Row, ...], epsilon: float = EPSILON) -> int:
        return learn_threshold(*split(rows), bits=2, epsilon=epsilon, private="labels", seed=1)

    flips = [(one, two) for one, two in neighbours(4) if split(one)[0] == split(two)[0]]
    assert len(flips) > 300
    assert worst(laws, learn, flips) <= 1
    assert worst(laws, lambda rows: learn(rows, 2 * EPSILON), flips) > 1
    laws.clear()
    learn(((0, True), (0, True)))
    learn(((0, True), (1, True)))
    assert laws[0].keys() != laws[1].keys()  # how many there are to choose from tells of the values


def cut_law(values: Sequence[int], rank: int, bits: int, rate: float) -> Law:
    """By the definition of a cut's distance, point for point."""
    distance = {
        point: max(sum(v < point for v in values) - rank, rank - sum(v <= point for v in values), 0)
        for point in range(1 << bits)
    }
    end = {1 << bits: max(len(values) - rank, 0)}
    return softmax({z: -rate * d for z, d in {**distance, **end}.items()})


rows_of_two = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.booleans()), max_size=18)


@given(rows=rows_of_two)
@example(rows=[(7, 0, True)] * 12)
@example(rows=[(7, 0, False)] * 12)
@example(rows=[])
def test_a_box_is_cut_from_each_side_of_each_column(rows: list[tuple[int, int, bool]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        seen = laws.__wrapped__(patch)  # type: ignore[attr-defined]
        table = np.array([row[:2] for row in rows], dtype=int).reshape(-1, 2)
        labels = [row[2] for row in rows]
        learn_box(table, labels, bits=3, error=Fraction(3, 4), epsilon=EPSILON, seed=1)
    rank = max(math.floor(Fraction(3, 4) * len(rows) / 8), 1)
    inside = [[row[column] for row in rows if row[2]] for column in (0, 1)]
    sides = [side for column in inside for side in (column, [7 - v for v in column])]
    assert seen == [pytest.approx(cut_law(side, rank, 3, EPSILON / 8)) for side in sides]


def learned_box(rows: tuple[Row, ...], neighbors: str, error: Fraction, epsilon: float) -> object:
    values, labels = split(rows)
    table = np.array(values, dtype=int).reshape(-1, 1)
    asked: Any = {"error": error, "epsilon": epsilon, "neighbors": neighbors}
    return learn_box(table, labels, bits=2, seed=1, **asked)


# Of 5 rows 9/10 is a rank of 1 in one column. With error 1 the rank of 8 rows is 2, of 7 or 0 is 1.
FEW = [(0, True), (1, True), (3, True), (0, False)]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("neighbors", "kinds", "error", "numbers", "used", "doubled"),
    [
        ("replace-one", SMALL, Fraction(9, 10), [5], 0.64, 1.40),
        ("add-remove", SMALL, Fraction(9, 10), [1, 2, 3, 4, 5], 0.62, 1.29),
        ("add-remove", FEW, Fraction(1), [7, 8, 9], 0.69, 1.44),
    ],
)
def test_a_box_is_within_epsilon_for_all_neighbours(
    laws: list[Law],
    neighbors: str,
    kinds: list[Row],
    error: Fraction,
    numbers: list[int],
    used: float,
    doubled: float,
) -> None:
    pairs = [pair for n in numbers for pair in neighbours(n, kinds, neighbors)]
    for epsilon, spent in ((EPSILON, used), (2 * EPSILON, doubled)):
        learn = partial(learned_box, neighbors=neighbors, error=error, epsilon=epsilon)
        assert worst(laws, learn, pairs) == pytest.approx(spent, abs=0.005)


def test_a_box_of_no_rows_is_as_one_of_few() -> None:
    """It is cut at rank 1 as with one: what it is does not tell that there are none."""
    sure: dict[str, Any] = {**BOX, "epsilon": 1e6}
    none = np.empty((0, 1), dtype=int)
    assert learn_box(none, [], **sure) == learn_box([[7]], [False], **sure)


def point_law(rows: Any, bits: int, epsilon: float, delta: float, neighbors: Any) -> Law:
    """The distance mechanism's winner, else a uniform point."""
    positives = Counter(value for value, label in rows if label)
    size = 1 << bits
    counts = {**dict(positives), **{-n: 0 for n in (1, 2)}} if positives else {}
    exact = Fraction(repr(epsilon)), Fraction(repr(delta))
    exact_shares = selection_oracles.distance_exact(counts, *exact, neighbors=neighbors)
    shares = {outcome: float(share) for outcome, share in exact_shares.items()}
    return {value: shares.get(value, 0) + shares[None] / size for value in range(size)}


@pytest.mark.every_case
@pytest.mark.parametrize(("neighbors", "leader"), [("replace-one", 12), ("add-remove", 7)])
def test_a_point_is_drawn_as_the_definition_says(neighbors: str, leader: int) -> None:
    rows = [(1, True)] * leader + [(2, True), (0, False), (3, False)]
    values, labels = split(rows)
    law, draws = point_law(rows, 2, 1.0, 0.01, neighbors), 600
    wrong = [point_law(rows, 2, epsilon, 0.01, neighbors) for epsilon in (1.3, 1 / 1.3)]
    assert min(oracles.detects(law, other, draws, level=LEVEL) for other in wrong) > 0.999

    def pvalue(epsilon: float) -> float:
        asked: Any = {"epsilon": epsilon, "delta": 0.01, "neighbors": neighbors}
        drawn = (learn_point(values, labels, bits=2, seed=n, **asked) for n in range(draws))
        return oracles.chi_square_pvalue(Counter(drawn), law, draws)

    assert pvalue(1.0) > LEVEL
    assert pvalue(1.3) < LEVEL


@pytest.mark.every_case
@pytest.mark.parametrize(("neighbors", "used"), [("replace-one", 0.24), ("add-remove", 0.59)])
def test_a_point_is_within_the_guarantee_for_all_neighbours(neighbors: str, used: float) -> None:
    # A row labelled False is like any other that is; of 256 points those from 4 on are alike, and
    # so one outcome.
    kinds = [*((value, True) for value in range(4)), (0, False)]
    pairs = neighbours(9, kinds, neighbors)

    def share(epsilon: float) -> float:
        known = {}
        for rows in {rows for pair in pairs for rows in pair}:
            law = point_law(rows, 8, epsilon, 0.05, neighbors)
            known[rows] = {**{value: law[value] for value in range(4)}, 4: 252 * law[4]}
        both = [*pairs, *(pair[::-1] for pair in pairs)]
        return max(oracles.hockey_stick(known[one], known[two], 1.0) for one, two in both) / 0.05

    assert share(1.0) == pytest.approx(used, abs=0.005)
    assert share(2.0) > 1


@pytest.mark.parametrize(("neighbors", "enough"), [("add-remove", 17), ("replace-one", 34)])
def test_so_many_positives_are_enough_in_a_domain_of_any_size(neighbors: str, enough: int) -> None:
    def found(positives: int) -> float:
        spectrum = SupportSpectrum.from_supports([positives], 1 << 64)
        return float(Distance(1.0, 1e-6, neighbors).distribution(spectrum).probabilities[0])

    assert found(enough) >= 0.95 > found(enough - 1)
    values = [(1 << 63) + 1] * enough + [*range(100)]
    labels = [value >= 100 for value in values]
    options: dict[str, Any] = {"bits": 64, "epsilon": 1, "delta": 1e-6, "neighbors": neighbors}
    hits = [learn_point(values, labels, **options, seed=s) == values[0] for s in range(200)]
    assert sum(hits) > 170


BOX: dict[str, Any] = {"bits": 8, "epsilon": 1.0, "error": 0.5, "seed": 1}
REPLACED: dict[str, Any] = {"neighbors": "replace-one"}
NO_COLUMN = (
    "rows must have at least one number each; where there may be none of them, give an array of "
    "the shape (rows, columns)"
)
FLAT = "must be a list or an array of one dimension, not of 2"
UNMASKED = "must be an array without a mask: none may be missing"
DOMAIN = "must be whole numbers from 0 to below 2**bits"


ONE_EACH = "must be one for each row: there are more or fewer of them"
ENOUGH = "must be at least 4 times their columns divided by error"


BOX_OF = partial(learn_box, bits=8, epsilon=1.0, error=0.5, seed=1)
POINT_OF = partial(learn_point, bits=8, epsilon=1.0, delta=1e-6, seed=1)
THRESHOLD_OF = partial(learn_threshold, bits=8, epsilon=1.0, seed=1)
MASKED = np.ma.masked_array([1], mask=[True])


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("learn", "rows", "labels", "changed", "message"),
    [
        (POINT_OF, [1], [1], {"bits": "8"}, "bits must be a whole number of at least 1, not '8'"),
        (POINT_OF, [1], [1], {"delta": 0}, "delta must be a number above 0 and below 1, not 0"),
        (POINT_OF, [0.5], [1], {}, f"values {DOMAIN}, not float"),
        (POINT_OF, [1, 2], [1], {}, f"labels {ONE_EACH}"),
        (POINT_OF, [], [], REPLACED, "values must hold at least one number"),
        (BOX_OF, [], [], REPLACED, "rows must hold at least one number"),
        (POINT_OF, [1], [2], {}, "labels must be True or False, or 1 or 0: one is not"),
        (THRESHOLD_OF, [1], [1], {"private": "x"}, "private must be 'rows' or 'labels', not 'x'"),
        (BOX_OF, [[1], [2, 3]], [1, 1], {}, "rows must have equally many numbers each"),
        (POINT_OF, pd.DataFrame({0: [9]}), [1], {}, f"values {FLAT}"),
        (POINT_OF, [9], MASKED, {}, f"labels {UNMASKED}"),
        (BOX_OF, [], [], {}, NO_COLUMN),
        (BOX_OF, [[]], [1], {}, NO_COLUMN),
        (BOX_OF, [[1]], [1], REPLACED, f"rows {ENOUGH}"),
        (BOX_OF, [[1]] * 8, [1] * 8, {"error": 2}, "error must lie between 1e-300 and 1, not 2"),
    ],
)
def test_what_is_refused(learn: Any, rows: Any, labels: Any, changed: Any, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        learn(rows, labels, **changed)
    assert str(error.value) == message


def test_numpy_is_welcome() -> None:
    values = np.arange(200, dtype=np.uint8)
    assert fim.learn_threshold(values, values >= 100, bits=8, epsilon=1e9, seed=1) == 100
    with pytest.warns(PrivacyWarning, match=r"delta 0\.01"):
        fim.learn_point(values, values >= 100, bits=8, epsilon=1, delta=0.01)
