"""train_linear: how far a row moves the weights, exactly; the noise; and what is refused."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fim_private as fim
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.learning import linear
from fim_private.learning.linear import ONE

Signed = NDArray[np.int64]


def as_rows(rows: Any) -> Signed:
    """Rows, times their labels, in steps of 2^-20."""
    return fim.unit_rows(rows, center=0, scale=1)


def apart(here: Any, there: Any, strength: Fraction, steps: int, least: int = 1) -> tuple[int, int]:
    """How far apart the weights are, in steps of the grid."""
    before, after = (linear.descend(rows, strength, steps, least) for rows in (here, there))
    moves = [abs(w - v) for w, v in zip(before, after, strict=True)]
    return sum(move * move for move in moves), sum(moves)


def bound_of(rows: int, columns: int, strength: Fraction, steps: int) -> Fraction:
    """What one row may move the weights, in steps of the grid."""
    length = fim.linear_sensitivity(rows, columns, regularization=strength, steps=steps)
    return length * (1 << linear.grid_bits(strength))


coordinates = st.floats(-1, 1, allow_subnormal=False)
strengths = st.sampled_from([*map(Fraction, ("1/1000000", "1/1000", "1/7", "8", "1000"))])


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@given(
    rows=st.lists(st.tuples(*[coordinates] * 3), max_size=6),
    other=st.tuples(*[coordinates] * 3),
    least=st.none() | st.integers(1, 12),
    strength=strengths,
    steps=st.integers(1, 40),
)
@example(rows=[], other=(0.6, 0.0, -0.8), least=5, strength=Fraction(8), steps=30)
def test_a_row_moves_the_weights_by_no_more_than_the_bound(
    relation: str, rows: Any, other: Any, least: int | None, strength: Fraction, steps: int
) -> None:
    """One row more, or another in the first one's place."""
    replaced = relation == "replace-one" and rows
    here = as_rows(np.reshape(rows, (-1, 3)))
    there = as_rows([*(rows[1:] if replaced else rows), other])
    least = least or (len(rows) if replaced else 7)
    square, total = apart(here, there, strength, steps, least)
    bound = bound_of(least, 3, strength, steps)
    assert square <= bound * bound
    assert total * total <= 3 * bound * bound


def against_the_rest() -> tuple[Signed, Signed]:
    """Many rows say (1, 1, 1, 1); one says nearly the opposite."""
    along, across = np.full(4, 0.5), np.array([0.5, 0.5, -0.5, -0.5])
    rest, against, aside = [along] * 1500, -0.4 * along, 0.9165 * across
    return as_rows([*rest, against + aside]), as_rows([*rest, against - aside])


def test_a_row_more_and_the_number_of_rows_in_the_place_of_the_least() -> None:
    rows, _ = against_the_rest()
    strength, steps, least = Fraction(1, 200), 300, 1500
    bound = bound_of(least, 4, strength, steps)

    def share(number: int, taken: int) -> float:
        one_more = np.vstack([rows[:number], rows[-1:]])
        return math.sqrt(apart(rows[:number], one_more, strength, steps, taken)[0]) / float(bound)

    assert 0.35 < max(share(number, least) for number in (0, 30, 1000, 1500)) < 0.4
    # With n for the larger of both, how far a row moves the weights would follow from what is
    # private.
    assert share(30, 1) > 8


def hard_case() -> tuple[float, float]:
    """The shares of the bound and of the noise's scale that this takes."""
    here, there = against_the_rest()
    strength, steps = Fraction(1, 200), 300
    bound, grid = bound_of(len(here), 4, strength, steps), 1 << linear.grid_bits(strength)
    noise = linear.noisy([0] * 4, len(here), strength, Fraction(1), steps, Recorded())
    assert noise.weights == tuple(Fraction(place, grid) for place in range(4))
    square, total = apart(here, there, strength, steps)
    return math.sqrt(square) / float(bound), total / float(Recorded.scales[-1])


class Recorded(Randomness):
    """Stands for randomness where `linear.discrete_laplace` notes its scale, and gives 0, 1, 2."""

    scales: list[Fraction] = []  # noqa: RUF012 - of all


@pytest.fixture
def known_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    def noted(scale: Fraction, size: int, randomness: Randomness) -> Signed:
        assert isinstance(randomness, Recorded)
        Recorded.scales.append(scale)
        return np.arange(size)

    monkeypatch.setattr(linear, "discrete_laplace", noted)


@pytest.mark.usefixtures("known_noise")
def test_the_bound_and_the_noise_are_nearly_reached() -> None:
    of_length, of_noise = hard_case()
    assert 0.7 < of_length <= 1
    assert 0.7 < of_noise <= 1


@pytest.mark.usefixtures("known_noise")
@pytest.mark.parametrize("noise", [-(10**6), -7, 0, 9])
def test_a_bought_number_and_what_it_leaves(noise: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # ε = 2: a twentieth buys the number, which one row changes by 1, and the noise on the weights
    # is that of the rest.
    bought: list[Fraction] = []

    def counted(scale: Fraction, randomness: Randomness) -> int:
        bought.append(scale)
        return noise

    monkeypatch.setattr(linear, "discrete_laplace_integer", counted)
    monkeypatch.setattr(Randomness, "of_seed", lambda seed: Recorded())
    rows, labels = random_rows(40, 3, seed=2), np.array([1, -1] * 20)
    strength, least = Fraction(1, 10), max(1, 40 + noise)
    options: dict[str, Any] = {"regularization": strength, "steps": 9, "epsilon": 2}

    def check_scale(epsilon: Fraction) -> None:
        scale = math.sqrt(3) * float(bound_of(least, 3, strength, 9) / epsilon)
        assert float(Recorded.scales[-1]) == pytest.approx(scale, rel=1e-3)

    model = fim.train_linear(rows, labels, **options)
    assert bought == [10]
    check_scale(Fraction(19, 10))
    weights = linear.descend(rows * labels[:, None], strength, 9, least)
    grid = 1 << linear.grid_bits(strength)
    assert model.weights == tuple(Fraction(w + place, grid) for place, w in enumerate(weights))
    # Where the number is public nothing is bought, under either relation.
    for relation in ("add-remove", "replace-one"):
        public: dict[str, Any] = {"least_rows": least, "neighbors": relation}
        assert fim.train_linear(rows, labels, **options, **public) == model
        check_scale(Fraction(2))
    fim.train_linear(rows, labels, neighbors="replace-one", **options)
    assert bought == [10]


def spent_with_a_bought_number(divided_by_n: bool) -> float:
    """The largest log-ratio of a number that is bought and of weights, over ε, of a row more of up
    to three rows.

    Both are noise of a known law: that of the number has the scale 20/ε, cut below 1; that of a
    weight, in steps, the scale that `noisy` takes. divided_by_n: a mutant, whose steps divide by
    the number of rows alone.
    """
    epsilon, strength, steps = 1.0, Fraction(1, 2), 12
    kinds = as_rows([(1.0, 0.0), (-1.0, 0.0), (0.6, 0.8), (0.0, -1.0)])
    law = {n: np.exp(-epsilon / 20 * np.abs(np.arange(-2000, 2001) - n)) for n in range(5)}
    # of 1 and less, 2, …
    numbers = {n: np.concatenate([[p[:2002].sum()], p[2002:]]) / p.sum() for n, p in law.items()}
    worst = 0.0
    for least in (1, 2, 3, 7, 40):
        taken = 1 if divided_by_n else least
        linear.noisy([0, 0], least, strength, Fraction(19, 20), steps, Recorded())
        scale = float(Recorded.scales[-1])
        for size in range(4):
            for rows in itertools.combinations_with_replacement(kinds, size):
                for other in kinds:
                    here, there = np.reshape(rows, (-1, 2)), np.array([*rows, other])
                    moved = apart(here, there, strength, steps, taken)[1]
                    told = abs(math.log(numbers[size][least - 1] / numbers[size + 1][least - 1]))
                    worst = max(worst, moved / scale + told)
    return worst / epsilon


@pytest.mark.usefixtures("known_noise")
def test_a_bought_number_and_the_weights_together_are_within_epsilon() -> None:
    assert 0.25 < spent_with_a_bought_number(False) <= 1
    assert spent_with_a_bought_number(True) > 3


@pytest.mark.usefixtures("known_noise")
def test_that_case_sees_half_a_bound_and_a_forgotten_root(monkeypatch: pytest.MonkeyPatch) -> None:
    original, root = linear.linear_sensitivity, linear._root
    half = lambda *given, **options: original(*given, **options) / 2  # noqa: E731
    with monkeypatch.context() as patch:  # 1/(λn), as for a row that is left out
        patch.setattr(linear, "linear_sensitivity", half)
        assert hard_case()[1] > 1.4
    with monkeypatch.context() as patch:  # no √d between a length and a sum
        patch.setattr(linear, "_root", lambda _: Fraction(1))
        assert hard_case()[1] > 1.4
    assert root(9) == 3


def python_weights(signed: Signed, strength: Fraction, steps: int) -> list[int]:
    """The same descent in Python's own numbers, a row at a time."""
    grid, (table, _) = linear.grid_bits(strength), linear._table()
    rows, weights = signed.tolist(), [0] * signed.shape[1]
    reach, shift = linear.CELLS << 14 + grid, 14 + grid
    for _ in range(steps):
        pull = [0] * len(weights)
        for row in rows:
            margin = sum(x * w for x, w in zip(row, weights, strict=True))
            margin = min(max(margin, -reach), reach - 1)
            cell, rest = divmod(margin + reach, 1 << shift)
            fall, dropped = int(table[cell] - table[cell + 1]), max(shift - 40, 0)
            slope = int(table[cell]) - (fall * (rest >> dropped) >> shift - dropped)
            pull = [total + slope * x for total, x in zip(pull, row, strict=True)]
        weights = [
            math.floor((w + Fraction(4 * total << grid, len(rows) << 50)) / (1 + 4 * strength))
            for w, total in zip(weights, pull, strict=True)
        ]
    return weights


def random_rows(count: int, columns: int, seed: int) -> Signed:
    generator = np.random.default_rng(seed)
    return as_rows(generator.normal(size=(count, columns)) * 0.5)


@pytest.mark.parametrize("strength", [*map(Fraction, ("1/1000000", "1/1000", "1/3", "1000"))])
def test_descent_in_python_numbers(strength: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    largest = as_rows([[1.0, 0.0]] * 3)  # where weights are largest no number overflows
    assert linear.descend(largest, strength, 30) == python_weights(largest, strength, 30)
    assert 1 << 20 + linear.grid_bits(strength) <= strength * (1 << 61)
    signed = random_rows(23, 3, seed=5)
    found = linear.descend(signed, strength, 12)
    assert found == python_weights(signed, strength, 12)
    monkeypatch.setattr(linear, "_BLOCK", 4)
    assert linear.descend(signed, strength, 12) == found
    # sums are exact: their order does not matter
    assert linear.descend(signed[::-1], strength, 12) == found


def slow_ramp(weights: tuple[Fraction, ...], rows: Signed, labels: list[int]) -> Fraction:
    total = Fraction(0)
    for row, label in zip(rows.tolist(), labels, strict=True):
        terms = (w * Fraction(x, ONE) for w, x in zip(weights, row, strict=True))
        margin = sum(terms, Fraction(0))
        total += min(max((1 + label * margin) / 2, Fraction(0)), Fraction(1))
    return total / len(labels)


small = st.fractions(min_value=-3, max_value=3, max_denominator=1 << 20)
small = small.map(lambda x: Fraction(round(x * 2**25), 2**25))


@given(
    weights=st.tuples(small, small),
    other=st.tuples(small, small),
    least=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_how_far_a_ramp_score_moves(weights: Any, other: Any, least: int, seed: int) -> None:
    rows, labels = random_rows(6, 2, seed), [1, -1, 1, 1, -1, 1]

    def ramp_score(weights: Any, some_rows: Signed) -> Fraction:
        some_labels = labels[: len(some_rows)]
        return fim.LinearClassifier(weights).ramp_score(some_rows, some_labels, least_rows=least)

    scores = [ramp_score(weights, rows[:m]) for m in range(7)]
    assert all(abs(one - two) <= Fraction(1, least) for one, two in itertools.pairwise(scores))
    assert scores[6] == slow_ramp(weights, rows, labels) * Fraction(6, max(6, least))
    # and however many there are, weights move it by half of their length
    for m, score in enumerate(scores):
        change = ramp_score(other, rows[:m]) - score
        assert 4 * change * change <= sum((w - v) ** 2 for w, v in zip(weights, other, strict=True))
    replaced = rows.copy()
    replaced[2] = -replaced[2][::-1]
    change = scores[6] - ramp_score(weights, replaced)
    assert abs(change) <= Fraction(1, max(6, least))


wild = st.one_of(st.floats(allow_nan=False, allow_infinity=False), coordinates)


@given(rows=st.lists(st.tuples(wild, wild, wild), min_size=1, max_size=5))
@example(rows=[(1.0, 1.0, 1.0), (-1e308, 1e308, 1e-308)])
def test_a_row_is_of_that_row_alone_and_no_longer_than_1(rows: list[tuple[float, ...]]) -> None:
    options: dict[str, Any] = {"center": [0.25, 0, -3], "scale": [1, 0.5, 1e-300]}
    found = fim.unit_rows(rows, **options)
    assert found.dtype == np.int64
    assert (np.square(found).sum(axis=1) <= ONE**2).all()
    for row, steps in zip(rows, found.tolist(), strict=True):
        assert fim.unit_rows([row], **options).tolist() == [steps]


TRAIN: dict[str, Any] = {"regularization": 0.1, "epsilon": 1, "steps": 3, "seed": 1}
TRAIN |= {"rows": np.array([[ONE // 2, 0], [0, 77]]), "labels": [1, -1]}
NONE = np.empty((0, 2), dtype=int)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"regularization": 0}, "regularization must be a number above 0, not 0"),
        ({"steps": 0}, "steps must be a whole number of at least 1, not 0"),
        ({"epsilon": 0}, "epsilon must be a number above 0, not 0"),
        ({"seed": "a"}, "seed must be a whole number, not 'a'"),
        ({"rows": NONE, "labels": [], "neighbors": "replace-one"}, "rows must hold at least one"),
        ({"least_rows": 0}, "least_rows must be a whole number of at least 1, not 0"),
        ({"neighbors": "all"}, "neighbors must be one of replace-one, add-remove, not 'all'"),
        ({"rows": [[0.5, 0], [0, 77]]}, r"rows must be whole numbers, in steps of 2\^-20"),
        ({"rows": [[ONE, 1], [0, 0]]}, r"rows must have a length of at most 1, which is 2\^20"),
        ({"rows": [[-(2**63), 0], [0, 0]]}, "rows must have a length of at most 1"),
        # Squares that would come to 2^64, which is 0 in 64 bits.
        (
            {"rows": np.broadcast_to(np.int64(ONE), (1, 1 << 24)), "labels": [1]},
            "rows must have at most",
        ),
        ({"rows": np.ma.masked_array([[1, 0]], mask=True)}, "rows must be an array without a mask"),
        ({"labels": [1]}, "labels must be as many as rows: one for each"),
        ({"labels": [1, 0]}, "labels must be -1 or 1, whole numbers"),
    ],
)
def test_what_train_linear_refuses(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}") as error:
        fim.train_linear(**{**TRAIN, **changed})
    assert "\n" not in str(error.value)
    assert "77" not in str(error.value)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": [["77"]]}, "rows must be numbers, not of the type"),
        ({"rows": [[math.nan]]}, "rows must be finite numbers: none may be missing or infinite"),
        ({"center": [1, 2]}, "center must be one number, or one for each column of rows"),
        ({"scale": 0}, "scale must be above 0"),
    ],
)
def test_what_unit_rows_refuses(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}") as error:
        fim.unit_rows(**{"rows": [[77.0]], "center": 0, "scale": 1, **options})
    assert "77" not in str(error.value)
