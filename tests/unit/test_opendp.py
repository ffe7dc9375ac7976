"""measurement: the mechanisms as OpenDP sees them, mapped, chained and composed."""

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import opendp.prelude
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opendp.mod import GLOBAL_FEATURES, OpenDPException
from patience import python

import fim_private.opendp
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import exact_delta, exact_epsilon
from fim_private.errors import FimPrivateError, MissingExtraError, ParameterError
from fim_private.mechanisms import Exponential, LargeMargin, NamedExponential
from fim_private.opendp import group_delta, measurement
from fim_private.selecting import choose_index

dp: Any = opendp.prelude  # its annotations are not strict

pytestmark = pytest.mark.full  # opendp is large, and of the extra bench
CLEAR = [20, 9_000, 31]


@pytest.fixture(autouse=True)
def contrib() -> Iterator[None]:
    """What OpenDP's own combinators ask for; the features are global, so put back what was."""
    before = set(GLOBAL_FEATURES)
    dp.enable_features("contrib")
    yield
    GLOBAL_FEATURES.clear()
    GLOBAL_FEATURES.update(before)


@pytest.mark.parametrize(
    "mechanism", [LargeMargin(), LargeMargin(neighbors="add-remove"), Exponential(1.0)], ids=repr
)
def test_it_chooses(mechanism: Any) -> None:
    choose = measurement(mechanism)
    assert [choose(CLEAR), choose([-5]), choose([0, 0, -(2**63), 2**63 - 1])] == [1, 0, 3]


def test_its_draws_are_those_of_the_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, again = Randomness.seeded(3), Randomness.seeded(3)
    mechanism, scores = Exponential(epsilon=0.5), [1, 3, 2, 3]
    monkeypatch.setattr(fim_private.opendp, "Randomness", lambda: stream)
    choose = measurement(mechanism)
    drawn = [choose(scores) for _ in range(100)]
    assert drawn == [choose_index(scores, mechanism, again) for _ in range(100)]
    assert set(Counter(drawn)) == {0, 1, 2, 3}


def test_sensitivity_divides_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(fim_private.opendp, "choose_index", lambda scores, *_: seen.append(scores))
    measurement(LargeMargin(), sensitivity=5)([9, -1, 25])
    assert seen == [[1, -1, 5]]


def test_map() -> None:
    choose = measurement(LargeMargin(epsilon=0.5, delta=1e-6))
    assert choose.map(0) == (0.0, 0.0)
    assert choose.map(1) == (0.5, 1e-6)
    epsilon, delta = choose.map(3)
    assert epsilon == 1.5
    assert delta == pytest.approx(1e-6 * (1 + math.exp(0.5) + math.exp(1.0)), rel=1e-11)
    assert choose.map(10_000) == (5_000.0, 1.0)
    # Scores that are at most 3 apart are at most 1 apart once divided by 3 and rounded down.
    divided = measurement(Exponential(0.25), sensitivity=3)
    assert [divided.map(apart) for apart in range(7)] == [0, 0.25, 0.25, 0.25, 0.5, 0.5, 0.5]
    pure = measurement(Exponential(0.25))
    assert [pure.map(steps) for steps in (0, 1, 2, 2**60)] == [0.0, 0.25, 0.5, 2.0**58]


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 1, 1.1])
def test_one_step_costs_the_very_double(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    run = []
    monkeypatch.setattr(fim_private.opendp, "choose_index", lambda _, kind, __: run.append(kind))
    choose = measurement(LargeMargin(epsilon, 1e-6))
    choose(CLEAR)
    assert choose.map(1) == (float(epsilon), 1e-6)
    # ... because that is what the mechanism is run with: 0.3 alone would mean 3/10, which is more.
    assert exact_epsilon(run[0].epsilon) == Fraction(epsilon)
    assert exact_delta(run[0].delta) == Fraction(1e-6) != Fraction(1, 10**6)


def test_a_cost_that_is_no_double_is_rounded_up() -> None:
    third = Fraction(1, 3)
    assert Fraction(1 / 3) < third
    assert measurement(Exponential(third)).map(1) == math.nextafter(1 / 3, 1)


def exact_group_delta(epsilon: Fraction, delta: Fraction, steps: int) -> Fraction:
    """Summed term by term, with e^epsilon from below by its series."""
    e, term = Fraction(0), Fraction(1)
    for k in range(1, 60):
        e, term = e + term, term * epsilon / k
    return sum((delta * e**i for i in range(steps)), Fraction(0))


@given(
    epsilon=st.fractions(min_value=Fraction(1, 10**9), max_value=4, max_denominator=10**9),
    delta=st.sampled_from([Fraction(1, 10**300), Fraction(1, 10**6), Fraction(1, 2)]),
    steps=st.integers(0, 12),
)
@example(epsilon=Fraction(1, 10**9), delta=Fraction(1, 10**6), steps=12)
def test_group_delta_is_rounded_up_little(epsilon: Fraction, delta: Fraction, steps: int) -> None:
    exact, rounded = exact_group_delta(epsilon, delta, steps), group_delta(epsilon, delta, steps)
    assert min(exact, Fraction(1)) <= rounded <= 1
    assert rounded <= exact * (1 + Fraction(1, 10**11))


def composition(choose: Any, d_mids: list[Any]) -> Any:
    make = getattr(dp.c, "make_adaptive_composition", None) or dp.c.make_sequential_composition
    given = (choose.input_domain, choose.input_metric, choose.output_measure)
    return make(*given, d_in=1, d_mids=d_mids)


def test_the_budget_is_kept() -> None:
    choose = measurement(LargeMargin(0.3, 1e-6))
    dear = measurement(LargeMargin(0.3000001, 1e-6))
    ask = composition(choose, [(0.3, 1e-6)])(CLEAR)
    with pytest.raises(OpenDPException):
        ask(dear)
    assert ask(choose) == 1


def test_monotone_scores_are_not_taken_for_others() -> None:
    queries = composition(measurement(LargeMargin()), [(1.0, 1e-6)])
    with pytest.raises(OpenDPException):
        queries(CLEAR)(measurement(LargeMargin(neighbors="replace-one")))


@pytest.mark.parametrize("integer_type", ["i32", "i64", "u32", "u64", "usize"])
def test_each_type_of_integers(integer_type: str) -> None:
    choose = measurement(LargeMargin(), integer_type=integer_type)
    assert (choose(CLEAR), choose.map(1)) == (1, (1.0, 1e-6))


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^NamedExponential is"):
        measurement(NamedExponential(1.0, 1e-6, 10))
    with pytest.raises(ParameterError, match=r"^sensitivity must be a whole number"):
        measurement(LargeMargin(), sensitivity=0)
    for integer_type in ("f64", "i8", "String", None):
        with pytest.raises(ParameterError, match=r"^integer_type must be one of i32, i64, u32, "):
            measurement(LargeMargin(), integer_type=integer_type)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^mechanism must be one of"):
        measurement("large-margin")  # type: ignore[arg-type]


def test_max_itemsets_is_refused() -> None:
    from fim_private.mechanisms.exponential import LimitedDomain

    assert measurement(LimitedDomain())(CLEAR) == 1
    with pytest.raises(ParameterError, match=r"^mechanism must have no max_itemsets"):
        measurement(LimitedDomain(max_itemsets=5))


@pytest.mark.parametrize("mechanism", [LargeMargin(), Exponential(1.0)], ids=repr)
def test_bad_calls(mechanism: Any) -> None:
    choose = measurement(mechanism)
    with pytest.raises(OpenDPException, match="d_in must be 0 or more"):
        choose.map(-1)
    with pytest.raises(OpenDPException, match="scores must hold at least one candidate"):
        choose([])
    with pytest.raises(TypeError):
        choose([1.5, 2.5])


def test_without_opendp_one_line_names_the_extra() -> None:
    lines = """
import sys
sys.modules["opendp"] = None
from fim_private.errors import FimPrivateError
from fim_private.mechanisms import LargeMargin
from fim_private.opendp import measurement
try:
    measurement(LargeMargin())
except FimPrivateError as error:
    print(type(error).__name__, isinstance(error, ImportError), error)
"""
    said = 'MissingExtraError True opendp is not installed: pip install "fim-private[opendp]"\n'
    assert python("-c", lines).stdout == said
    assert issubclass(MissingExtraError, FimPrivateError)
