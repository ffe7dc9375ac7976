"""The replay audit as a tool for any mechanism: what it says of right ones, of wrong ones and of
bad input."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fim_private.auditing.replay import Recorder, audit, audit_chances
from fim_private.dp.composition import gdp_epsilon
from fim_private.errors import ParameterError


class Unequal:
    """As a data frame is: == gives no answer."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("The truth value is ambiguous.")

    __hash__ = None  # type: ignore[assignment]


class Untold(Unequal):
    """As a data frame of polars is."""

    def __eq__(self, other: object) -> bool:
        raise TypeError("The truth value is ambiguous.")

    __hash__ = None


Mechanism = Callable[[Any, Recorder], object]
ONE_MORE: list[tuple[Any, Any]] = [([3, 4], [3, 4, 1])]


def laplace_sum(values: Any, noise: Recorder) -> object:
    return noise.laplace(sum(values), 2)


def normal_counts(values: list[int], noise: Recorder) -> object:
    return noise.normal(np.bincount(values, minlength=6), 0.5)


def both(values: list[int], noise: Recorder) -> object:
    return laplace_sum(values, noise), normal_counts(values, noise)


def asks_again(values: list[int], noise: Recorder) -> object:
    """A second question follows the first answer."""
    if noise.laplace(len(values), 1) > 2.5:
        return noise.laplace(len(values), 1)
    return None


def follows_the_data(values: list[int], noise: Recorder) -> object:
    return [noise.laplace(value, 9) for value in values]


@pytest.mark.parametrize(
    ("mechanism", "promise", "share"),
    [
        (laplace_sum, {"epsilon": 0.5}, 1),
        (laplace_sum, {"epsilon": 0.25}, 2),
        (laplace_sum, {"rho": 0.125}, 1),
        (normal_counts, {"rho": 2}, 1),
        (normal_counts, {"rho": 1}, 2),
        (normal_counts, {"epsilon": 100}, math.inf),
        (normal_counts, {"epsilon": float(gdp_epsilon(4, 0.01)), "delta": 0.01}, 1),
        (both, {"rho": 2.125}, 1),
        (both, {"epsilon": 0.5 + float(gdp_epsilon(4, 0.01)), "delta": 0.01}, 1),
        (both, {"epsilon": 0.5, "delta": 0.01}, math.inf),
    ],
)
def test_a_share_is_what_the_theorems_say(mechanism: Mechanism, promise: Any, share: float) -> None:
    loss = audit(mechanism, ONE_MORE, **promise)
    assert loss.share == pytest.approx(share, rel=1e-9)
    assert loss.holds == (share <= 1)


def test_the_worst_pair_and_its_value_are_said() -> None:
    pairs = [([1], [2]), ([1], [1, 2, 2]), ([4], [5])]
    loss = audit(normal_counts, pairs, rho=1)
    assert (loss.pair, loss.share) == (1, 8)
    used = "the mechanism uses 8 times what it allows (pair 1, step 0, value 2: 0 and 2)"
    assert str(loss) == f"the promise does not hold: {used}"
    assert "nowhere" in str(audit(normal_counts, [([1], [1])], rho=1))


def test_a_question_that_follows_an_answer_is_replayed() -> None:
    shares = {audit(asks_again, ONE_MORE, epsilon=1, seed=seed).share for seed in range(20)}
    assert shares == {1, 2}


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        (lambda values, noise: laplace_sum(values, noise) == sum(values), None),
        (lambda values, noise: (laplace_sum(values, noise), len(values)), "leaves the data"),
        (lambda values, noise: sum(values) + noise.laplace(0, 2), "leaves the data"),
        (follows_the_data, "numbers of steps are not the same"),
        (lambda values, noise: noise.laplace(values, 9), "numbers of values are not the same"),
        (lambda values, noise: noise.laplace(0, len(values)), "noise is not the same"),
    ],
)
def test_what_leaves_beside_the_noise_is_found(mechanism: Mechanism, said: str | None) -> None:
    loss = audit(mechanism, ONE_MORE, epsilon=0.5)
    if said is None:
        assert loss.share == 1
    else:
        assert loss.share == math.inf
        assert said in loss.where


EQUAL_BUT_UNLIKE: list[tuple[Any, Any]] = [
    (1, 1.0),
    (1, True),
    (0.0, -0.0),
    ([1], (1,)),
    ({1}, {1.0}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (np.zeros(2, np.int8), np.zeros(2, np.int64)),
    (np.zeros(2), -np.zeros(2)),
    (np.float32(0), np.float32(-0.0)),
]


@pytest.mark.parametrize("outcomes", EQUAL_BUT_UNLIKE, ids=repr)
def test_equal_results_that_look_different_are_told_apart(outcomes: tuple[Any, Any]) -> None:
    def tells(values: Any, noise: Recorder) -> object:
        laplace_sum(values, noise)
        return outcomes[sum(values) > 7]

    assert audit(tells, ONE_MORE, epsilon=0.5).share == math.inf


@pytest.mark.parametrize(
    "result",
    [
        math.nan,
        {1, 2},
        np.array([math.nan, 1]),
        np.array(["a"]),
        None,
        pd.NA,
        pd.NaT,
        np.datetime64("NaT", "s"),
    ],
)
def test_a_result_is_like_itself(result: Any) -> None:
    def constant(values: Any, noise: Recorder) -> object:
        laplace_sum(values, noise)
        return result

    assert audit(constant, ONE_MORE, epsilon=0.5).holds


def chances(odds: float) -> Mapping[str, float]:
    return {"yes": 1 - odds, "no": odds}


def renyi(order: float) -> float:
    """D_α of the odds 0.5 from those of 0.1."""
    ratios = 5 ** (order - 1), (5 / 9) ** (order - 1)
    return math.log(sum(ratios) / 2) / (order - 1)


@pytest.mark.parametrize(
    ("promise", "share"),
    [
        ({"epsilon": math.log(5)}, 1),
        ({"epsilon": math.log(3), "delta": 0.1}, 2),
        ({"rho": 1}, max(renyi(order / 100) * 100 / order for order in range(101, 2000))),
    ],
)
def test_shares_of_chances_are_what_the_definitions_say(promise: Any, share: float) -> None:
    loss = audit_chances(chances, [(0.5, 0.5), (0.1, 0.5)], **promise)
    assert loss.share == pytest.approx(share, rel=1e-3)
    assert (loss.pair, loss.where) == (1, "chances of 'no': 0.5 and 0.1")


def test_the_worst_order_is_not_missed() -> None:
    """It lies between the powers of two, at which no more than 0.90 of this ρ is seen."""
    before = {0: 0.01923283, 1: 0.91530413, 2: 0.06290614, 3: 0.0025569}
    after = {0: 1.86641645e-04, 1: 0.988410088, 2: 0.0114031497, 3: 1.20599087e-07}
    pair = before, after

    def shares(odds: Mapping[int, float]) -> Mapping[int, float]:
        return {name: each / sum(odds.values()) for name, each in odds.items()}

    assert audit_chances(shares, [pair], rho=2.3973).share > 0.999


def test_an_outcome_that_one_input_alone_has_is_found() -> None:
    assert audit_chances(chances, [(0, 0.5)], epsilon=9).share == math.inf
    assert audit_chances(chances, [(0, 0.5)], rho=9).share == math.inf
    assert audit_chances(chances, [(0, 0.5)], epsilon=9, delta=0.5).holds


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda: audit(laplace_sum, [], epsilon=1), "pairs must have at least one pair"),
        (lambda: audit(laplace_sum, ONE_MORE, epsilon=0), "epsilon must be a number above 0"),
        (lambda: audit(laplace_sum, ONE_MORE), "epsilon must be a number above 0"),
        (lambda: audit(laplace_sum, ONE_MORE, epsilon=1, rho=1), "give rho alone"),
        (lambda: audit(laplace_sum, ONE_MORE, delta=0.1, rho=1), "give rho alone"),
        (lambda: audit(laplace_sum, [([math.nan], [1])], epsilon=1), "is not a finite number"),
        (
            lambda: audit(lambda values, noise: noise.normal(1, 0), ONE_MORE, rho=1),
            "scale must be one number above 0",
        ),
        (
            lambda: audit_chances(lambda odds: {0: odds, 1: 0.6}, [(0.4, 0.5)], rho=1),
            "add up to 1, not 1.1",
        ),
        (
            lambda: audit_chances(lambda odds: {0: 0.5, 1: odds}, [(math.nan, 0.5)], epsilon=1),
            "add up to 1, not nan",
        ),
        (
            lambda: audit_chances(lambda odds: {0: odds, 1: 1 - odds}, [(1.5, 1.5)], epsilon=1),
            "the chance of an outcome must be 0 or more",
        ),
        (
            lambda: audit(lambda values, noise: Unequal(), ONE_MORE, epsilon=1),
            "a result of the type Unequal cannot be compared: return numbers",
        ),
        (
            lambda: audit(lambda values, noise: Untold(), ONE_MORE, epsilon=1),
            "a result of the type Untold cannot be compared: return numbers",
        ),
    ],
)
def test_bad_input_gets_one_clear_line(run: Callable[[], object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        run()
