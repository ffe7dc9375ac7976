"""A private choice among parameters to train with: by validation, or as the best of some runs.

Validation needs scores that one unit hardly moves; `best_of` takes any private runs, at a third of
the budget each.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar, Unpack

from fim_private.dp.accountant import cost_of_training
from fim_private.dp.arguments import check_function, exact_number, flag, positive_integer
from fim_private.dp.charge import Charging, begin
from fim_private.dp.cost import Number, PrivacyCost
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.parameters import EPSILON_RANGE, exact_epsilon, exact_positive
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mechanisms import PermuteAndFlip
from fim_private.options import NEIGHBORS
from fim_private.selecting import Scores, choose_index, rational, scaled

Model = TypeVar("Model")
Outcome = TypeVar("Outcome")

# A score is rounded down to so many steps a stability: rounding then costs a thousandth of what the
# noise does.
STEPS = 1024
_VALIDATION_RANGE = (1.1e-6, EPSILON_RANGE[1])  # for each step at least 1e-9


def validate(
    scores: Scores,
    *,
    stability: int | Fraction,
    epsilon: Number,
    neighbors: str = NEIGHBORS,
    **charging: Unpack[Charging],
) -> int:
    """Choose a model of nearly the highest validation score; returns its index.

    scores: (k,) whole numbers or Fractions, one for each model, on data set apart for it; higher is
        better. Their number k >= 1 must be public.
    stability: > 0, in the unit of the scores, and public: the most that one unit moves any score,
        between neighbours, with the randomness of training fixed. The unit is one to train on,
        which also changes each model, or one to validate with. Under "add-remove" it must not
        follow from the number of units. Let a score be a sum of units, or divide by a public number
        (LinearClassifier.ramp_score does).
    epsilon: 1.1e-6 to 1e9: what the choice spends, however many models there are.
    neighbors: what you vouch for by the stability; the noise is the same. charging: as in
        `dp.charge.Charging`; no delta is charged: charge only a stability that always holds.

    The index is (epsilon, 0)-private; (epsilon, delta)-private where the stability holds except
    with a probability delta of the training's randomness, for all data at once. For the models that
    were scored see train_and_validate. Raises ParameterError. Source: Algorithm 1 of Chaudhuri and
    Vinterbo, "A stability-based validation procedure for differentially private machine learning"
    (2013), whose noise is permute-and-flip; docs/privacy.md, Theorem 22.
    """
    stability, epsilon = _checked(stability, epsilon)
    steps = scaled(scores, stability / STEPS)
    randomness = begin(
        "validate",
        exact_neighbors(neighbors),
        PrivacyCost(epsilon, 0),
        charging,
        candidates=len(steps),
        stability=stability,
    )
    chosen = choose_index(steps, _choice_of_steps(epsilon), randomness)
    assert chosen is not None, "permute-and-flip never abstains"
    return chosen


def _checked(stability: int | Fraction, epsilon: Number) -> tuple[Fraction, Fraction]:
    """Return the stability and the epsilon, exactly. Raises ParameterError."""
    exact = rational(f"{parameter('stability')} must be a whole number or a Fraction", stability)
    epsilon = exact_positive("epsilon", epsilon, _VALIDATION_RANGE)
    if exact <= 0:
        raise ParameterError(f"{parameter('stability')} must be above 0, not {shown(stability)}")
    return exact, epsilon


def _choice_of_steps(epsilon: Fraction) -> PermuteAndFlip:
    """Return the mechanism for scores in steps, of which the stability is STEPS."""
    # A unit may raise one score and lower another, also one that is added: so the constants are
    # those of replace-one.
    return PermuteAndFlip(epsilon / STEPS, Neighbors.REPLACE_ONE)


def train_and_validate(
    train: Callable[[int], Model],
    score: Callable[[Model], int | Fraction],
    candidates: int,
    *,
    stability: int | Fraction,
    epsilon: Number,
    retrain: bool = True,
    training: Number | None = None,
    neighbors: str = NEIGHBORS,
    **charging: Unpack[Charging],
) -> tuple[int, Model]:
    """Train on each parameter, choose one by validation, and train on it anew; returns its number
    and the new model.

    train: makes a model with the parameter of a number 0 to candidates - 1, privately. There are
        candidates + 1 calls, each with fresh randomness, and always on the same data.
    score: of a model on data set apart, and of nothing else; a whole number or a Fraction, higher
        is better. Setting a unit apart must be public, or follow from that unit alone: not from how
        many there are.
    stability, epsilon, neighbors: as in validate. retrain: False returns the very model that won,
    not a new one.
    training: the a below, 0 or 1e-9 to 1e9: what the ledger is charged for training, once, beside
        the choice. Without it **the choice alone is charged**, and train has to charge what each of
        its calls spends.
    charging: as in validate. If training is given, as a, the charge is a + epsilon or, without
        retraining, the larger of a + epsilon / 2 and epsilon. The seed is of the choice alone.

    Let each call of train be (a, 0)-private by itself, for these neighbours. Then for any number of
    candidates, and except for the delta of the stability, the results together are
    - for a unit to train on, (a + epsilon, 0)-private; (a + epsilon / 2, 0)-private without
      retraining;
    - for a unit to validate with, (epsilon, 0)-private. A delta of train is added once, or without
    retraining once for each candidate. All other models must stay secret. Raises ParameterError;
    what train or score raises goes through.

    Source: Algorithm 2 of Chaudhuri and Vinterbo (2013); docs/privacy.md, Theorem 22, also for
    retrain=False.
    """
    check_function("train", train)
    check_function("score", score)
    count = positive_integer("candidates", candidates)
    retrain = flag("retrain", retrain)
    stability, epsilon = _checked(stability, epsilon)
    exact_training = Fraction(0)
    if training is not None and exact_number(training) != 0:
        exact_training = exact_positive("training", training, EPSILON_RANGE)
    recorded = "not in this entry" if training is None else exact_training
    cost = cost_of_training(exact_training, epsilon, retrain=retrain)
    randomness = begin(
        "train_and_validate",
        exact_neighbors(neighbors),
        cost,
        charging,
        candidates=count,
        stability=stability,
        retrain=retrain,
        training=recorded,
    )
    models: list[Model] = []
    scores: list[Fraction] = []
    for candidate in range(count):
        models.append(train(candidate))
        must = f"{parameter('score')} must return a whole number or a Fraction"
        scores.append(rational(must, score(models[-1])))
    chosen = choose_index(scaled(scores, stability / STEPS), _choice_of_steps(epsilon), randomness)
    assert chosen is not None
    if retrain:
        return chosen, train(chosen)
    return chosen, models[chosen]


def best_of(
    run: Callable[[int], tuple[int | Fraction, Outcome]],
    candidates: int,
    *,
    stop: Number,
    epsilon: Number,
    neighbors: str = NEIGHBORS,
    **charging: Unpack[Charging],
) -> tuple[Fraction, Outcome]:
    """Run random candidates until a coin says stop, and return the best run: its score, and what
    else it gave.

    run: takes the number of a candidate, 0 to candidates - 1. It returns a score (a whole number or
        a Fraction, higher is better) and anything else. **Each run, score included, must be
        (epsilon / 3, 0)-private by itself**, with fresh randomness: so a score on private data must
        be noisy.
    candidates: >= 1; each run takes one at random, all equally likely.
    stop: 1e-9 to 1: the chance to stop after each run. There are 1/stop runs on average, whatever
        the data. The best score is among the best share s of a run's scores with probability s /
        (stop + (1 - stop) s).
    epsilon: what all of it spends. neighbors: those that the runs are private for. charging: as in
        Charging; epsilon is charged once, before the first run. **No run may charge it again.** The
        seed is not of the runs.

    Returns the first of the best, (epsilon, 0)-private for these neighbours. Runs that need a delta
    are not covered. Raises ParameterError; what run raises goes through. Source: Liu and Talwar,
    "Private selection from private candidates" (2019), random stopping; docs/privacy.md, Theorem
    23.
    """
    check_function("run", run)
    count = positive_integer("candidates", candidates)
    chance = exact_positive("stop", stop, (1e-9, 1.0))
    cost = PrivacyCost(exact_epsilon(epsilon), 0)
    randomness = begin(
        "best_of",
        exact_neighbors(neighbors),
        cost,
        charging,
        candidates=count,
        stop=chance,
    )
    must = (
        f"{parameter('run')} must return two things: its score, a whole number or a Fraction, and "
        f"another"
    )
    best: tuple[Fraction, Outcome] | None = None
    while True:
        returned = run(randomness.below(count))
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise ParameterError(must)
        score = rational(must, returned[0])
        if best is None or score > best[0]:
            best = score, returned[1]
        if randomness.below(chance.denominator) < chance.numerator:
            return best
