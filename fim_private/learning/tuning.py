"""Which of several parameters to train with, chosen privately: by validation, or as the best of several private runs.

Validation trains once on each parameter and chooses by noisy scores, whose noise does not grow with the number of
parameters (Chaudhuri and Vinterbo, "A stability-based validation procedure for differentially private machine
learning", 2013; here Theorem 22). It needs scores that one unit hardly moves. `best_of` needs nothing of the kind: it
takes any private runs, at a third of the budget each (Liu and Talwar, "Private selection from private candidates",
2019; here Theorem 23).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeGuard, TypeVar

from fim_private.dp.cautions import cautions
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.parameters import (
    EPSILON_RANGE,
    check_function,
    exact_epsilon,
    exact_number,
    flag,
    is_whole,
    positive_integer,
)
from fim_private.dp.randomness import Randomness
from fim_private.errors import ParameterError, parameter, shown, warn
from fim_private.mechanisms import PermuteAndFlip
from fim_private.selecting import Scores, choose_index, scaled

Model = TypeVar("Model")
Found = TypeVar("Found")

# A score is rounded down to so many steps a stability: rounding then costs a thousandth of what the noise does.
STEPS = 1024
# With a smaller chance to stop there would be more than 10^9 runs on average: nobody means that.
_LEAST_STOP = Fraction(1, 10**9)


def validate(scores: Scores, *, stability: int | Fraction, epsilon: float | Fraction, seed: int | None = None) -> int:
    """Choose a model of nearly the highest validation score; returns its index.

    scores: (k,) whole numbers or Fractions, one for each model, on data that was set apart for it; higher is better.
        Their number k >= 1 must be public.
    stability: > 0, in the unit of the scores: the most that replacing one unit of the data moves any score, with the
        randomness of training held fixed. Of n units to train on and m to validate with it is the larger of what one
        of the n moves, which also changes each model, and of what one of the m moves.
    epsilon: 1.1e-6 to 1e9: what the choice spends, however many models there are.
    seed: for tests only: with a seed, nothing is private.

    The index is (epsilon, 0)-private under replace-one, where n and m are public; (epsilon, delta)-private where the
    stability holds but for a probability delta of the training's randomness, for all data at once. The models that were
    scored are not paid for by it: train_and_validate says what may leave of them. The score of the winner is below the
    best by stability * 2 ln(k / p) / epsilon at most, with probability 1 - p, and by a thousandth of stability that
    rounding costs.
    Raises ParameterError for a parameter of the wrong kind. Warns (PrivacyWarning) of an epsilon above 10, unless a
    seed was given.

    Source: Algorithm 1 of Chaudhuri and Vinterbo (2013), whose noise is permute-and-flip; docs/privacy.md, Theorem 22.

    >>> shares = [Fraction(71, 100), Fraction(84, 100), Fraction(52, 100)]
    >>> validate(shares, stability=Fraction(1, 500), epsilon=1, seed=1)
    1
    """
    return _chosen(lambda: scores, stability, epsilon, seed)


def _chosen(
    scores: Callable[[], Scores], stability: int | Fraction, epsilon: float | Fraction, seed: int | None
) -> int:
    """Choose as validate does among scores that are made once all that is public has been checked."""
    mechanism, step = _rounded_choice(stability, epsilon)
    randomness = Randomness.of_seed(seed)
    if randomness.private:
        warn(cautions(PrivacyCost(epsilon, 0)), stacklevel=3)
    steps = scaled(scores(), step)
    chosen = choose_index(steps, mechanism, randomness)
    assert chosen is not None, "permute-and-flip never abstains"
    return chosen


def _rounded_choice(stability: int | Fraction, epsilon: float | Fraction) -> tuple[PermuteAndFlip, Fraction]:
    """Return the mechanism for scores in steps, and one step: a unit moves a score by STEPS of them.

    Raises ParameterError for a parameter of the wrong kind.
    """
    if not _is_exact(stability):
        kind = type(stability).__name__
        raise ParameterError(f"{parameter('stability')} must be a whole number or a Fraction, not {kind}")
    if stability <= 0:
        raise ParameterError(f"{parameter('stability')} must be above 0, not {shown(stability)}")
    exact = exact_epsilon(epsilon)
    if exact / STEPS < Fraction(repr(EPSILON_RANGE[0])):
        raise ParameterError(f"{parameter('epsilon')} must be at least 1.1e-06 here, not {shown(epsilon)}")
    return PermuteAndFlip(exact / STEPS), _exact(stability) / STEPS


def train_and_validate(
    train: Callable[[int], Model],
    score: Callable[[Model], int | Fraction],
    candidates: int,
    *,
    stability: int | Fraction,
    epsilon: float | Fraction,
    retrain: bool = True,
    seed: int | None = None,
) -> tuple[int, Model]:
    """Train on each parameter, choose one by validation, and train on it anew; returns its number and the new model.

    train: makes a model with the parameter of a number 0 to candidates - 1, privately, with fresh randomness in each
        call, and always on the same data. It is called candidates + 1 times.
    score: of a model on data set apart, and of nothing else; a whole number or a Fraction, higher is better.
    stability, epsilon: as in validate. seed: for tests only; it is of the choice alone.
    retrain: False returns the very model that won, instead of a new one with the same parameter.

    If each call of train is (a, 0)-private by itself, then under replace-one, whatever the number of candidates, and
    but for the delta of the stability, the results together are
    - for a unit to train on, (a + epsilon, 0)-private; (a + epsilon / 2, 0)-private without retraining;
    - for a unit to validate with, (epsilon, 0)-private.
    A delta of train is added once, or without retraining once for each candidate. All other models must stay secret.
    Raises ParameterError for a parameter of the wrong kind, scores among them; what train or score raises goes through.

    Source: Algorithm 2 of Chaudhuri and Vinterbo (2013); docs/privacy.md, Theorem 22, also for retrain=False.

    >>> train_and_validate(lambda i: 10 * i, lambda model: -abs(model - 20), 5, stability=1, epsilon=9, seed=1)
    (2, 20)
    """
    check_function("train", train)
    check_function("score", score)
    count = positive_integer("candidates", candidates)
    again = flag("retrain", retrain)
    models: list[Model] = []

    def scores() -> list[Fraction]:
        found = []
        for candidate in range(count):
            models.append(train(candidate))
            found.append(_checked_score(score(models[-1])))
        return found

    chosen = _chosen(scores, stability, epsilon, seed)
    return chosen, train(chosen) if again else models[chosen]


def best_of(
    run: Callable[[int], tuple[int | Fraction, Found]],
    candidates: int,
    *,
    stop: float | Fraction,
    epsilon: float | Fraction,
    seed: int | None = None,
) -> tuple[Fraction, Found]:
    """Run random candidates until a coin says stop, and return the best run: its score, and what else it gave.

    run: takes the number of a candidate, 0 to candidates - 1, and returns a score (a whole number or a Fraction, higher
        is better) and anything else. **Each run, score included, must be (epsilon / 3, 0)-private by itself**, with
        fresh randomness: so a score on private data has to be noisy.
    candidates: >= 1; each run takes one at random, all equally likely.
    stop: 1e-9 to 1: the chance to stop after each run. There are 1/stop runs on average; how many does not
        depend on the data. The best score is among the best share s of a run's scores with probability
        s / (stop + (1 - stop) s).
    epsilon: what all of it spends. seed: for tests only; it is of the candidates and the coin, not of the runs.

    Returns the first of the best, (epsilon, 0)-private for the neighbours that the runs are private for. Nothing has to
    be stable. Runs that need a delta are not covered.
    Raises ParameterError for a parameter of the wrong kind, and for a score that is no whole number or Fraction; what
    run raises goes through. Warns (PrivacyWarning) of an epsilon above 10, unless a seed was given.

    Source: Liu and Talwar (2019), random stopping; docs/privacy.md, Theorem 23.

    >>> best_of(lambda candidate: (Fraction(candidate, 2), "abc"[candidate]), 3, stop=0.05, epsilon=1, seed=1)
    (Fraction(1, 1), 'c')
    """
    check_function("run", run)
    count = positive_integer("candidates", candidates)
    chance = exact_number(stop)
    if chance is None or not _LEAST_STOP <= chance <= 1:
        raise ParameterError(f"{parameter('stop')} must be a number from 1e-9 to 1, not {shown(stop)}")
    exact_epsilon(epsilon)
    randomness = Randomness.of_seed(seed)
    if randomness.private:
        warn(cautions(PrivacyCost(epsilon, 0)), stacklevel=2)
    best: tuple[Fraction, Found] | None = None
    while True:
        outcome = run(randomness.below(count))
        if not isinstance(outcome, tuple) or len(outcome) != 2 or not _is_exact(outcome[0]):
            raise ParameterError(
                f"{parameter('run')} must return two things: its score, a whole number or a Fraction, and another"
            )
        score = _exact(outcome[0])
        if best is None or score > best[0]:
            best = score, outcome[1]
        if randomness.below(chance.denominator) < chance.numerator:
            return best


def _checked_score(value: object) -> Fraction:
    """Return what `score` gave. Raises ParameterError, before more is trained, for what is no exact number."""
    if not _is_exact(value):
        kind = type(value).__name__
        raise ParameterError(f"{parameter('score')} must return a whole number or a Fraction, not {kind}")
    return _exact(value)


def _is_exact(value: object) -> TypeGuard[int | Fraction]:
    """Whether a value is a whole number or a Fraction, numpy's integers among them."""
    return is_whole(type(value)) or isinstance(value, Fraction)


def _exact(value: int | Fraction) -> Fraction:
    """Return such a value as a Fraction of Python's integers."""
    return value if isinstance(value, Fraction) else Fraction(int(value))
