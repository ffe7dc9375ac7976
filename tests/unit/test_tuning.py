"""validate, train_and_validate and best_of."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.learning import tuning
from fim_private.learning.tuning import best_of, train_and_validate, validate
from fim_private.mechanisms import PermuteAndFlip
from fim_private.selecting import scaled

LEVEL = 1e-6  # of each test: with fixed seeds, a failure is a defect


def log_ratio(p: Sequence[float], q: Sequence[float]) -> float:
    """The largest |ln p/q| over the outcomes."""
    return max(abs(math.log(a / b)) for a, b in zip(p, q, strict=True))


def first_accepted(accepted: Sequence[float]) -> list[float]:
    """Of candidates in random order the first accepted."""
    shares = []
    for place, p in enumerate(accepted):
        others = [np.polynomial.Polynomial([1, -q]) for j, q in enumerate(accepted) if j != place]
        shares.append(float(p * math.prod(others, start=np.polynomial.Polynomial([1])).integ()(1)))
    return shares


def law(scores: Sequence[Fraction], stability: Fraction, epsilon: Fraction) -> list[float]:
    """What validate draws from, with the mechanism and the rounding that it uses."""
    mechanism = tuning._choice_of_steps(epsilon)
    steps = scaled(scores, stability / tuning.STEPS)
    rate = float(mechanism.rate)
    return first_accepted([math.exp(-rate * (max(steps) - each)) for each in steps])


def gap_ratio() -> float:
    """How much the odds against the second of two change when one score rises by the stability."""
    beta, epsilon = Fraction(1, 30), Fraction(7, 10)
    even = law([Fraction(1, 2), Fraction(1, 2)], beta, epsilon)
    apart = law([Fraction(1, 2) + beta, Fraction(1, 2) - beta], beta, epsilon)
    return log_ratio(even, apart) / float(epsilon)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("mechanism", "used"),
    [
        (PermuteAndFlip, 1),
        (lambda epsilon, relation: PermuteAndFlip(2 * epsilon, relation), 2),  # half the noise
        (lambda epsilon, _: PermuteAndFlip(epsilon, "add-remove"), 2),
    ],
)
def test_two_scores_use_all_of_epsilon(mechanism: Any, used: float, monkeypatch: Any) -> None:
    monkeypatch.setattr(tuning, "PermuteAndFlip", mechanism)
    assert gap_ratio() == pytest.approx(used, abs=1e-12)


shares = st.fractions(min_value=-1, max_value=1, max_denominator=30)


@given(data=st.data(), scores=st.lists(shares, min_size=1, max_size=4))
def test_neighbours_are_hard_to_tell_apart(data: st.DataObject, scores: list[Fraction]) -> None:
    stability = data.draw(st.fractions(min_value=Fraction(1, 40), max_value=2, max_denominator=50))
    moves = data.draw(st.lists(shares, min_size=len(scores), max_size=len(scores)))
    others = [score + move * stability for score, move in zip(scores, moves, strict=True)]
    epsilon = Fraction(6, 10)
    here, there = (law(each, stability, epsilon) for each in (scores, others))
    assert log_ratio(here, there) <= float(epsilon) + 1e-9


def test_one_step_a_stability_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    near = [Fraction(0), Fraction(99, 100)]
    assert law(near, Fraction(1), Fraction(1))[0] < 0.32
    monkeypatch.setattr(tuning, "STEPS", 1)
    assert law(near, Fraction(1), Fraction(1))[0] == pytest.approx(0.5)


FLIP = 0.02  # a model is the bit that it learned, or with this probability its opposite: a = ln 49
TRAINING, CHOICE = math.log(49), 0.5
BITS = [(0, 0), (0, 1), (1, 0), (1, 1)]


def end_to_end(bit: int, held_out: int, monkeypatch: Any, retrain: bool) -> dict[Any, float]:
    """The exact law of train_and_validate for two candidates, by all coins of the trainings and
    both choices.

    Candidate 0 learns the bit, 1 its opposite. A model's score is whether it equals the bit held
    out.
    """
    found: dict[tuple[int, int], float] = dict.fromkeys(BITS, 0.0)
    for flips in itertools.product((0, 1), repeat=3):
        for choice in (0, 1):
            coins, weights = iter(flips), list[float]()

            def train(candidate: int, coins: Iterator[int] = coins) -> int:
                return bit ^ candidate ^ next(coins)

            def forced(
                steps: Any, mechanism: Any, _: Any, choice: int = choice, weights: Any = weights
            ) -> int:
                rate = float(mechanism.rate)
                weights += first_accepted([math.exp(-rate * (max(steps) - each)) for each in steps])
                return choice

            monkeypatch.setattr(tuning, "choose_index", forced)
            score = lambda model: int(model == held_out)  # noqa: E731
            asked: dict[str, Any] = {"stability": 1, "epsilon": CHOICE, "retrain": retrain}
            outcome = train_and_validate(train, score, 2, seed=0, **asked)
            chance = math.prod(FLIP if flip else 1 - FLIP for flip in flips)
            found[outcome] += chance * weights[choice]
    return found


def worst_end_to_end(monkeypatch: pytest.MonkeyPatch, retrain: bool = True) -> tuple[float, float]:
    """The largest log-ratio over all neighbours."""
    laws = {(b, v): end_to_end(b, v, monkeypatch, retrain) for b, v in BITS}
    assert all(sum(found.values()) == pytest.approx(1) for found in laws.values())

    def between(one: tuple[int, int], other: tuple[int, int]) -> float:
        return log_ratio([laws[one][o] for o in BITS], [laws[other][o] for o in BITS])

    of_training = max(between((0, v), (1, v)) for v in (0, 1))
    return of_training, max(between((b, 0), (b, 1)) for b in (0, 1))


@pytest.mark.every_case
@pytest.mark.parametrize("retrain", [True, False])  # the very model that won may leave for less
def test_algorithm_2_is_private(retrain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    of_training, of_validation = worst_end_to_end(monkeypatch, retrain)
    promised = TRAINING + (CHOICE if retrain else CHOICE / 2)
    assert 0.98 * promised < of_training <= promised
    assert 0.85 * CHOICE < of_validation <= CHOICE


def test_that_audit_sees_half_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    half = lambda epsilon, relation: PermuteAndFlip(2 * epsilon, relation)  # noqa: E731
    monkeypatch.setattr(tuning, "PermuteAndFlip", half)
    for retrain, share in ((True, 1.5), (False, 0.6)):
        of_training, of_validation = worst_end_to_end(monkeypatch, retrain)
        assert of_training > TRAINING + share * CHOICE
        assert of_validation > 1.5 * CHOICE


def test_each_candidate_is_trained_once_and_the_winner_again() -> None:
    trained: list[int] = []

    def train(candidate: int) -> tuple[int, int]:
        trained.append(candidate)
        return candidate, len(trained)

    score = lambda model: 1000 * model[0]  # noqa: E731
    assert train_and_validate(train, score, 4, stability=1, epsilon=1, seed=3) == (3, (3, 5))
    assert trained == [0, 1, 2, 3, 3]


# A run's law: for each outcome, its score and its probability.
Table = Mapping[str, tuple[int, float]]


def best_law(run: Table, stop: float) -> dict[str, float]:
    """P(x) = γp / ((γ + (1-γ)S) (γ + (1-γ)(S+E))), S = P(a better score), E = P(an equal one)."""
    result = {}
    for name, (score, p) in run.items():
        better = math.fsum(q for other, q in run.values() if other > score)
        equal = math.fsum(q for other, q in run.values() if other == score)
        above, with_ties = (stop + (1 - stop) * share for share in (better, better + equal))
        result[name] = stop * p / (above * with_ties)
    return result


def drawn_runs(run: Table, seed: int) -> Callable[[int], tuple[Fraction, str]]:
    """Draw from a run's law; its probabilities are multiples of 1/100."""
    randomness = Randomness.seeded(seed)
    names = [name for name, (_, p) in run.items() for _ in range(round(100 * p))]
    assert len(names) == 100

    def draw(_: int) -> tuple[Fraction, str]:
        name = names[randomness.below(100)]
        return Fraction(run[name][0], 7), name

    return draw


def last_run(run: Table, _: float) -> dict[str, float]:
    """What it would be if the last run were returned, not the best."""
    return {name: p for name, (_, p) in run.items()}


@pytest.mark.full
def test_draws_follow_the_formula() -> None:
    stop, draws = Fraction(3, 10), 4000
    run = drawn_runs(RUN, 41)
    found = [best_of(run, 5, stop=stop, epsilon=1, seed=seed) for seed in range(draws)]
    assert all(score == Fraction(RUN[name][0], 7) for score, name in found)
    drawn = Counter(name for _, name in found)
    exact = best_law(RUN, float(stop))
    assert oracles.chi_square_pvalue(drawn, exact, draws) > LEVEL
    wrong = [best_law(RUN, 0.21), best_law(RUN, 0.39), last_run(RUN, 0.3)]
    assert min(oracles.detects(exact, other, draws) for other in wrong) > 0.999


RUN: Table = {"a": (3, 0.1), "b": (2, 0.25), "c": (2, 0.2), "d": (-1, 0.45)}


def test_candidates_are_drawn_evenly() -> None:
    times: Counter[int] = Counter()

    def run(candidate: int) -> tuple[int, None]:
        times[candidate] += 1
        return 0, None

    for seed in range(1500):
        best_of(run, 3, stop=Fraction(1, 4), epsilon=1, seed=seed)
    assert oracles.chi_square_pvalue(times, dict.fromkeys(range(3), 1 / 3), times.total()) > LEVEL
    assert 5_500 < times.total() < 6_500  # 4 runs on average


def hard_pair(each: float) -> tuple[Table, Table]:
    """Two laws of a run that are (each, 0)-private."""
    grow = math.exp(each)
    here = {"better": (2, 0.3), "rare": (1, 0.004 * grow), "rest": (0, 1 - 0.3 - 0.004 * grow)}
    there = {"better": (2, 0.3 * grow), "rare": (1, 0.004), "rest": (0, 1 - 0.3 * grow - 0.004)}
    assert all(abs(math.log(here[name][1] / there[name][1])) <= each + 1e-12 for name in here)
    return here, there


def spent(each: float, stop: float) -> float:
    """The log-ratio of best_of on the hard pair, in units of what a run spends."""
    one, other = (best_law(table, stop) for table in hard_pair(each))
    return log_ratio([*one.values()], [*other.values()]) / each


def test_nearly_all_of_epsilon_is_used() -> None:
    assert 2.94 < spent(1 / 3, 1e-5) <= 3
    # Runs with half of epsilon, not a third, would spend 1.4 epsilon and more; one run alone spends
    # what it spends.
    assert spent(1 / 2, 1e-5) / 2 > 1.4
    assert spent(1 / 3, 1.0) == pytest.approx(1)


@given(data=st.data(), stop=st.sampled_from([1e-5, 0.02, 0.5, 1.0]))
@settings(max_examples=60)
def test_any_private_run_gives_a_private_best(data: st.DataObject, stop: float) -> None:
    """Laws whose ratios are within e^each, ties included: theirs are within e^(3 each)."""
    size = data.draw(st.integers(2, 5))
    weights = st.lists(st.floats(0.01, 1), min_size=size, max_size=size)
    here = data.draw(weights)
    factors = data.draw(st.lists(st.floats(-0.2, 0.2), min_size=size, max_size=size))
    scores = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    there = [w * math.exp(f) for w, f in zip(here, factors, strict=True)]
    laws = [[w / math.fsum(each) for w in each] for each in (here, there)]
    each = log_ratio(*laws)
    both = (zip(scores, one, strict=True) for one in laws)
    tables: list[Table] = [{str(i): (s, p) for i, (s, p) in enumerate(own)} for own in both]
    best = [[*best_law(table, stop).values()] for table in tables]
    assert log_ratio(*best) <= 3 * each + 1e-9


def always(outcome: Any) -> Callable[[int], Any]:
    return lambda _: outcome


def never(*_: Any) -> Any:
    raise AssertionError("nothing may be run before all that is public has been checked")


VALIDATE: dict[str, Any] = {"stability": Fraction(1, 10), "epsilon": 1, "seed": 1}
BEST: dict[str, Any] = {"stop": Fraction(1, 10), "epsilon": 1, "seed": 1}


def test_no_error_tells_a_score() -> None:
    refused: list[Any] = [[0.123456], [1, 0.123456], ["0.123456"], [np.timedelta64(123456, "s")]]
    for scores in refused:
        with pytest.raises(ParameterError, match=r"^scores must be whole numbers") as error:
            validate(scores, **VALIDATE)
        assert "123456" not in str(error.value)
    with pytest.raises(ParameterError, match=r"^scores must hold at least one candidate$"):
        validate([], **VALIDATE)
    trained: list[int] = []

    def train(candidate: int) -> int:
        trained.append(candidate)
        return candidate

    with pytest.raises(ParameterError, match=r"^score must return a whole number or a Fraction"):
        train_and_validate(train, always(0.123456), 2, **VALIDATE)
    assert trained == [0]
    scores = (np.timedelta64(1, "s"), 0.123456, True)
    outcomes: list[Any] = [0.123456, (1, 2, 3), *((score, "a") for score in scores)]
    for outcome in outcomes:
        with pytest.raises(ParameterError, match=r"^run must return two things: .*") as error:
            best_of(always(outcome), 1, **BEST)
        assert "123456" not in str(error.value)


of_scores = partial(validate, [Fraction(1, 2)], **VALIDATE)
of_models = partial(train_and_validate, train=never, score=never, candidates=2, **VALIDATE)
of_runs = partial(best_of, run=never, candidates=2, **BEST)
ALL = (of_scores, of_models, of_runs)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("calls", "changed", "message"),
    [
        (ALL, {"epsilon": 0}, "epsilon must be a number above 0, not 0"),
        (ALL, {"neighbors": "all"}, "neighbors must be one of replace-one, add-remove, not 'all'"),
        (ALL[1:], {"candidates": 0}, "candidates must be a whole number of at least 1, not 0"),
        (ALL[:2], {"stability": 0.1}, "stability must be a whole number or a Fraction, not float"),
        (ALL[:2], {"stability": 0}, "stability must be above 0, not 0"),
        (ALL[:2], {"epsilon": 1e-7}, r"epsilon must lie between 1.1e-06 and 1e\+09, not 1e-07"),
        ([of_models], {"train": 3}, "train must be a function, not 3"),
        ([of_models], {"score": None}, "score must be a function, not None"),
        ([of_models], {"training": "1"}, "training must be a number above 0, not '1'"),
        ([of_runs], {"run": 3}, "run must be a function, not 3"),
        ([of_runs], {"stop": 0}, "stop must be a number above 0, not 0"),
    ],
)
def test_what_is_refused(calls: Any, changed: dict[str, Any], message: str) -> None:
    for call in calls:
        with pytest.raises(ParameterError, match=f"^{message}"):
            call(**changed)
