"""select: a private choice among any public candidates, and the shift that it rests on."""

import dataclasses
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mechanism_cases import Outcomes, outcomes

from fim_private import mechanisms
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.mechanisms import Exponential, LargeMargin, Mechanism, NamedExponential, Selection
from fim_private.selecting import choose_index, scaled, select
from fim_private.spectrum import SupportSpectrum

NEIGHBORS = ["replace-one", "add-remove"]
# A value for each parameter by its name, with which small spectra have outcomes of middling
# probability.
PARAMETERS: dict[str, Any] = {"epsilon": 1.5, "delta": 0.05, "max_itemsets": 7, "max_rank": 3}
PARAMETERS |= {"universe_size": 50}


def constructed(name: str, neighbors: str) -> Mechanism:
    kind = getattr(mechanisms, name)
    names = {field.name for field in dataclasses.fields(kind)}
    given = {name: value for name, value in PARAMETERS.items() if name in names}
    made: Mechanism = kind(**given, neighbors=neighbors)
    return made


MECHANISMS = [
    constructed(name, neighbors)
    for name in mechanisms.__all__
    if name not in {"ABSTAIN", "Mechanism", "NamedExponential", "OutcomeDistribution", "Selection"}
    for neighbors in NEIGHBORS
]
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
scores_of_two_or_more = st.lists(st.integers(1, 40), min_size=2, max_size=8)


@dataclass(frozen=True)
class Recorder:
    """Remembers what it was given, and chooses a level: the highest, unless told."""

    seen: list[SupportSpectrum] = dataclasses.field(default_factory=list)
    private: list[bool] = dataclasses.field(default_factory=list)
    always: Selection | None = None
    cost = PrivacyCost(1.0, 0.0)

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        self.seen.append(spectrum)
        self.private.append(randomness.private)
        return self.always or Selection(next(spectrum.levels())[0])

    def distribution(self, spectrum: SupportSpectrum) -> Any:
        raise NotImplementedError


def seen(scores: Any, **options: Any) -> tuple[list[tuple[int, int]], int | None]:
    recorder: Any = Recorder()
    select(scores, recorder, **options)
    return recorder.seen[0].all_levels(), recorder.seen[0].universe_size


def test_the_least_score_becomes_1_and_there_is_no_level_0() -> None:
    assert seen([-5, 7, 7, 2]) == ([(13, 2), (8, 1), (1, 1)], 4)
    assert seen([100]) == ([(1, 1)], 1)


def of_candidates(mechanism: Mechanism, scores: list[int], shift: int = 0) -> Outcomes:
    """The exact probability of each candidate, by its index; None is abstaining."""
    shifted = [score + shift for score in scores]
    levels = outcomes(mechanism, SupportSpectrum.from_supports(shifted, len(scores)))
    ties = Counter(shifted)
    named: Outcomes = {i: levels.get(s, 0.0) / ties[s] for i, s in enumerate(shifted)}
    return {**named, None: levels[None]}


@every_mechanism
@settings(max_examples=25)
@given(scores=scores_of_two_or_more, shift=st.sampled_from([1, 2, 30, 10**6]))
@example(scores=[1, 1], shift=1)
@example(scores=[30, 1, 1, 1, 1], shift=10**6)
def test_only_differences_matter(mechanism: Mechanism, scores: list[int], shift: int) -> None:
    expected = pytest.approx(of_candidates(mechanism, scores), abs=1e-9)
    assert of_candidates(mechanism, scores, shift) == expected


def test_named_exponential_does_not_and_is_refused() -> None:
    mechanism = NamedExponential(1.5, 0.05, 50)
    near, far = of_candidates(mechanism, [5, 3]), of_candidates(mechanism, [5, 3], 6)
    assert abs(near[0] - far[0]) > 0.1
    with pytest.raises(ParameterError, match=r"^NamedExponential .* use Exponential$"):
        select([5, 3], mechanism)


def hockey_stick(mechanism: Mechanism, scores: list[int], others: list[int]) -> float:
    """The least delta for which the outcomes on both are (epsilon, delta)-close."""
    here = of_candidates(mechanism, scores, 1 - min(scores))
    there = of_candidates(mechanism, others, 1 - min(others))
    return sum(max(0.0, p - math.exp(mechanism.cost.epsilon) * there[i]) for i, p in here.items())


@every_mechanism
@settings(max_examples=40)
@given(data=st.data())
@pytest.mark.one_in(3)
def test_neighbours_are_hard_to_tell_apart(mechanism: Mechanism, data: st.DataObject) -> None:
    scores = data.draw(st.lists(st.integers(-20, 20), min_size=1, max_size=7))
    lowest = 0 if "add-remove" in repr(mechanism) else -1
    steps = data.draw(st.lists(st.integers(lowest, 1), min_size=len(scores), max_size=len(scores)))
    others = [score + step for score, step in zip(scores, steps, strict=True)]
    for one, other in ((scores, others), (others, scores)):
        assert hockey_stick(mechanism, one, other) <= mechanism.cost.delta + 1e-9


def test_that_audit_sees_a_unit_that_counts_twice_and_what_is_not_monotone() -> None:
    for neighbors in NEIGHBORS:
        assert hockey_stick(Exponential(1.5, neighbors), [2, *[0] * 5], [-2, *[0] * 5]) > 0.01
    # The caveat of the docstring: one score up and the others down is no neighbour under
    # add-remove.
    up_and_down = [1, *[-1] * 6]
    assert hockey_stick(Exponential(1.5, "add-remove"), up_and_down, [0] * 7) > 0.01
    assert hockey_stick(Exponential(1.5, "replace-one"), up_and_down, [0] * 7) <= 1e-9


rationals = st.fractions(min_value=-50, max_value=50, max_denominator=12)


@given(
    x=rationals,
    sensitivity=st.fractions(min_value=Fraction(1, 9), max_value=9, max_denominator=9),
    share=st.fractions(min_value=0, max_value=1, max_denominator=8),
)
def test_rounding_down_keeps_direction(x: Fraction, sensitivity: Fraction, share: Fraction) -> None:
    low, high = scaled([x, x + share * sensitivity], sensitivity)
    assert low <= high <= low + 1
    assert 0 <= x / sensitivity - low < 1


def test_scaled_by_hand() -> None:
    assert scaled([7, -7, 0], 2) == [3, -4, 0]
    assert scaled([Fraction(7, 2), -1], Fraction(1, 2)) == [7, -2]
    assert scaled(np.array([7, -7, 0]), 2) == [3, -4, 0]
    assert scaled([np.uint8(255), np.int64(-3)], np.int64(2)) == [127, -2]  # type: ignore[list-item, arg-type]
    assert scaled(np.array([Fraction(1, 2), 10**30], dtype=object), 1) == [0, 10**30]


@every_mechanism
@pytest.mark.one_in(4)
def test_draws_have_the_exact_distribution(mechanism: Mechanism) -> None:
    scores, randomness = [-3, -4, -3, -9, -6], Randomness.seeded(11)
    times = Counter(choose_index(scores, mechanism, randomness) for _ in range(1500))
    exact = of_candidates(mechanism, scores, 10)
    for outcome, probability in exact.items():
        # Five standard deviations, for each of some six outcomes: a chance of 1e-5, and the seed is
        # fixed.
        assert abs(times[outcome] - 1500 * probability) <= 5 * math.sqrt(1500 * probability) + 5
    assert set(times) <= set(exact)


def test_labels_and_indices() -> None:
    scores = [3, 900, 5]
    assert select(scores, Exponential(1.0), seed=1) == 1
    assert select(tuple(scores), Exponential(1.0), labels=[(0,), (1,), (2,)], seed=1) == (1,)
    assert select(np.array(scores), Exponential(1.0), labels=np.array([0.1, 0.2, 3]), seed=1) == 0.2


def test_abstaining_gives_none_and_an_invented_level_is_refused() -> None:
    silent: Any = Recorder(always=Selection(None))
    assert select([1, 2], silent, labels=["a", "b"]) is None
    inventive: Any = Recorder(always=Selection(0))
    with pytest.raises(ParameterError, match="level that no candidate has"):
        select([1, 2], inventive)


def test_without_a_seed_the_randomness_is_private() -> None:
    recorder: Any = Recorder()
    select([1], recorder)
    select([1], recorder, seed=1)
    assert recorder.private == [True, False]


@pytest.mark.parametrize("value", [1.0, math.nan, math.inf, np.float64(2), np.float32(2)])
def test_floats_are_refused(value: Any) -> None:
    for scores in ([1, value], np.array([1, value])):
        with pytest.raises(ParameterError, match=r"^scores must be .* not float\d*: .* give"):
            select(scores, Exponential(1.0))
    with pytest.raises(ParameterError, match=r"^sensitivity must be .* not float\d*: "):
        select([1], Exponential(1.0), sensitivity=value)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "scores must hold at least one candidate"),
        ([True, False], "scores must be whole numbers or Fractions, not bool$"),
        ([np.timedelta64(1, "s")], "scores must be whole numbers or Fractions, not timedelta64$"),
        (np.array([[1, 2], [3, 4]]), "of one dimension, not of 2"),
        (pd.DataFrame({1: [7], 2: [8]}), "of one dimension, not of 2"),
        (np.ma.masked_array([1, 2], mask=[False, True]), "scores must be an array without a mask"),
        ("123", "scores must be a list or an array"),
        ({1: 2}, "scores must be a list or an array"),
        (np.array(5), "scores must be a list or an array"),
        ((x for x in [1]), "scores must be a list or an array"),
    ],
)
def test_scores_of_the_wrong_kind(scores: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as error:
        select(scores, Exponential(1.0))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        *(
            ({"sensitivity": one}, r"^sensitivity must be")
            for one in (0, Fraction(-1, 2), True, None, "1")
        ),
        *(
            ({"labels": one}, r"^labels must")
            for one in ([], ["a", "b", "c"], ["a", None], {"a": 1, "b": 2}, "ab", 2)
        ),
        *(
            ({"mechanism": one}, r"^mechanism must be one of")
            for one in ("large-margin", None, LargeMargin)
        ),
        *(({"seed": one}, r"^seed must be a whole number") for one in (1.5, "1")),
    ],
)
def test_options_of_the_wrong_kind(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        select([1, 2], **{"mechanism": Exponential(1.0), **wrong})
