"""The replay audit: how much of its promise any mechanism uses on two neighbouring inputs, exactly.

A mechanism whose result follows from noisy values alone is run on one input, and run again on its
neighbour with the same noisy values. It must then ask for the same values and give the same result.
How far apart the true values are, in multiples of the noise, is what the neighbour costs.

A mechanism that chooses is audited by the chances of its outcomes instead (`audit_chances`).
docs/auditing.md has an example of both.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fim_private.auditing.exact import hockey_stick, number
from fim_private.dp.composition import PrivacyBudget, gdp_mu, zcdp_rho
from fim_private.dp.noise import Randomness, rounded_normal
from fim_private.dp.parameters import exact_rho
from fim_private.errors import ParameterError, parameter

Data = TypeVar("Data")
Outcome = TypeVar("Outcome")
Number = int | float | Fraction
Chances = Mapping[Outcome, float]

_NONE = Fraction(0)
# What floats may be wrong by, relatively.
_ROUNDING = 1e-9
# Any α > 1 disproves a ρ. The worst lies between two of these by so little that a share is right
# to a thousandth or so.
_RENYI_ORDERS: list[float] = [1 + 2.0 ** (sixteenth / 16) for sixteenth in range(-160, 161)]


class LeakError(Exception):
    """More than noisy values leaves the data."""


@dataclass(frozen=True)
class Step:
    """Values that get noise together, each of its own.

    Attributes:
        norm: 1 for Laplace noise, 2 for normal noise.
        parameter: The scale of Laplace noise, the variance of normal noise.
        true: The values before noise.
        discrete: Whether the noise is discrete Gaussian, to which no μ belongs.
    """

    norm: int
    parameter: Fraction
    true: tuple[int | Fraction, ...]
    discrete: bool = False

    def moves(self, neighbor: "Step") -> list[Fraction]:
        """Return how far each value is from that of the neighbour."""
        if len(self.true) != len(neighbor.true):
            raise LeakError("the numbers of values are not the same")
        pairs = zip(self.true, neighbor.true, strict=True)
        return [abs(Fraction(before) - after) for before, after in pairs]

    def apart(self, neighbor: "Step") -> Fraction:
        """Return Σ|Δ|/b of Laplace noise, and ‖Δ‖²/σ² of normal noise."""
        if (self.norm, self.parameter) != (neighbor.norm, neighbor.parameter):
            raise LeakError("the noise is not the same")
        powers = [move**self.norm for move in self.moves(neighbor)]
        return Fraction(sum(powers)) / self.parameter

    def told_again(self, neighbor: "Step", told: Sequence[Number]) -> Sequence[Number]:
        """Return the noisy values for this step that the neighbour was told for its own."""
        self.moves(neighbor)
        return told


# Returns the noisy values of a step, whose place is counted from 0.
Teller = Callable[[int, Step], Sequence[Number]]


def _same(first: object, second: object) -> bool:
    """Return whether two outcomes are alike: in value, in type, and in the order of a mapping.

    Each of these may tell something. NaN is like NaN, and so are other missing values, but 0.0 is
    not like -0.0.
    """
    if type(first) is not type(second):
        return False
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return _same([*first.items()], [*second.items()])
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, set | frozenset) and isinstance(second, set | frozenset):
        return _same(sorted(first, key=repr), sorted(second, key=repr))
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        alike = (first.dtype, first.shape) == (second.dtype, second.shape)
        return alike and _same(first.tolist(), second.tolist())
    if isinstance(first, float | complex | np.inexact | np.datetime64 | np.timedelta64):
        return repr(first) == repr(second)
    try:
        return first is second or bool(first == second)
    except (TypeError, ValueError):
        kind = type(first).__name__
        raise ParameterError(
            f"a result of the type {kind} cannot be compared: return numbers, texts, lists, "
            "mappings or numpy arrays"
        ) from None


class Recorder:
    """Stands in for a numpy.random.Generator: notes the true values, and says the noisy ones.

    Attributes:
        steps: What the run asked for, in order.
        told: The noisy values of each step.
        outcome: What came out of the run.
    """

    def __init__(self, teller: Teller) -> None:
        self.steps: list[Step] = []
        self.told: list[Sequence[Number]] = []
        self.outcome: object = None
        self._teller = teller

    def told_again(self, place: int, step: Step) -> Sequence[Number]:
        """Return what this run was told, for a step of the run of a neighbour."""
        if place >= len(self.steps):
            raise LeakError("the numbers of steps are not the same")
        return step.told_again(self.steps[place], self.told[place])

    def apart(self, neighbor: "Recorder") -> list[Fraction]:
        """Return how far apart the steps are; LeakError where that does not tell all."""
        if len(self.steps) != len(neighbor.steps):
            raise LeakError("the numbers of steps are not the same")
        distances = [*map(Step.apart, self.steps, neighbor.steps)]
        if not _same(self.outcome, neighbor.outcome):
            raise LeakError("more than the noisy values leaves the data")
        return distances

    def noisy(self, step: Step) -> Sequence[Number]:
        """Return the noisy values of a step."""
        told = self._teller(len(self.steps), step)
        self.steps.append(step)
        self.told.append(told)
        return told

    def normal(self, loc: ArrayLike, scale: float) -> NDArray[np.float64]:
        """Return the values `loc` with normal noise of standard deviation `scale`."""
        return self._near(loc, scale, 2)

    def laplace(self, loc: ArrayLike, scale: float) -> NDArray[np.float64]:
        """Return the values `loc` with Laplace noise of that scale."""
        return self._near(loc, scale, 1)

    def _near(self, loc: ArrayLike, scale: float, norm: int) -> NDArray[np.float64]:
        values = np.asarray(loc, dtype=float)
        if not np.isfinite(values).all():
            raise ParameterError("a value that is to get noise is not a finite number")
        if np.ndim(scale) or not 0 < scale < math.inf:
            raise ParameterError(
                f"{parameter('scale')} must be one number above 0: values of another scale are "
                "another step"
            )
        true = tuple(map(Fraction, values.ravel().tolist()))
        told = self.noisy(Step(norm, Fraction(float(scale)) ** norm, true))
        # [()] turns an array without dimensions into a number.
        return np.array(told, dtype=float).reshape(values.shape)[()]


def record(mechanism: Callable[[Data, Recorder], object], data: Data, teller: Teller) -> Recorder:
    """Return the record of a run with these noisy values."""
    recorder = Recorder(teller)
    recorder.outcome = mechanism(data, recorder)
    return recorder


def share_used(
    budget: PrivacyBudget, steps: Sequence[Step], distances: Sequence[Fraction]
) -> Number:
    """Return the share of a budget that steps use together which are so far apart.

    It is that of ε if all noise is Laplace noise. Else it is that of ρ, or of the μ² that is left
    beside what Laplace noise spends.
    """
    measured = [*zip(steps, distances, strict=True)]
    laplace = [distance for step, distance in measured if step.norm == 1]
    squared = sum((distance for step, distance in measured if step.norm == 2), _NONE)
    if budget.rho is not None:
        return (squared + sum(loss**2 for loss in laplace)) / (2 * budget.rho)
    left = budget.loss - sum(laplace)
    if not squared:
        return 1 - left / budget.loss
    if left <= 0 or not budget.delta:
        return math.inf
    if any(step.discrete for step in steps):
        return squared / (2 * zcdp_rho(left, budget.delta))
    return squared / gdp_mu(left, budget.delta) ** 2


@dataclass(frozen=True)
class Loss:
    """The largest share of its promise that a mechanism uses, and where it does.

    Attributes:
        share: Above 1 the promise is not kept, as far as the standard sums tell (docs/auditing.md).
            inf: no noise hides the difference.
        pair: The place of the pair of inputs, from 0.
        where: The step and the value that differ most, or the outcome; in words.
    """

    share: float
    pair: int
    where: str

    @property
    def holds(self) -> bool:
        """Whether the promise holds on every pair, up to rounding."""
        return self.share <= 1 + _ROUNDING

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "does not hold"
        used = f"the mechanism uses {self.share:.4g} times what it allows"
        return f"the promise {verdict}: {used} (pair {self.pair}, {self.where})"


def audit(
    mechanism: Callable[[Data, Recorder], object],
    pairs: Iterable[tuple[Data, Data]],
    *,
    epsilon: float | None = None,
    delta: float = 0,
    rho: float | None = None,
    seed: int = 0,
) -> Loss:
    """Return the worst loss of a mechanism that adds Laplace or normal noise, over pairs.

    The share is of ε where all noise is Laplace noise. With normal noise it is of ρ, or of the μ²
    that (ε, δ) allows. Raises ParameterError for a promise or a noise that makes no sense.

    Args:
        mechanism: Called with an input and a stand-in for a numpy.random.Generator, which has
            `normal(values, scale)` and `laplace(values, scale)` alone. It must take all noise from
            there, and give the true values with it. It must leave its input as it is.
        pairs: Neighbouring inputs. Both directions are tried.
        epsilon: The ε that is promised, or None where rho is.
        delta: The δ that is promised with epsilon.
        rho: The ρ of zCDP that is promised.
        seed: The seed of the noise, which matters only to a mechanism whose questions follow it.
    """
    budget = _promise(epsilon, delta, rho)

    def replayed(pair: int, before: Data, after: Data) -> Loss:
        randomness = Randomness.seeded(seed)

        def drawn(_: int, step: Step) -> Sequence[Number]:
            # any noisy values will do: these are as far off as noise is
            deviation = math.pow(step.parameter, 1 / step.norm)
            noise = rounded_normal(Fraction(1 << 20), len(step.true), randomness) / 1024
            return [value + deviation * z for value, z in zip(step.true, noise, strict=True)]

        first = record(mechanism, before, drawn)
        try:
            second = record(mechanism, after, first.told_again)
            distances = first.apart(second)
        except LeakError as leak:
            return Loss(math.inf, pair, str(leak))
        share = share_used(budget, first.steps, distances)
        return Loss(float(share), pair, _where_most(first, second, distances))

    return _worst(replayed, pairs)


def _promise(epsilon: float | None, delta: float, rho: float | None) -> PrivacyBudget:
    if rho is None:
        return PrivacyBudget.of(epsilon, delta)
    if epsilon is not None or delta:
        raise ParameterError(f"give {parameter('rho')} alone, or epsilon and delta")
    return PrivacyBudget(None, _NONE, exact_rho(rho))


def _worst(loss: Callable[[int, Data, Data], Loss], pairs: Iterable[tuple[Data, Data]]) -> Loss:
    losses = [
        loss(place, *ordered) for place, pair in enumerate(pairs) for ordered in (pair, pair[::-1])
    ]
    if not losses:
        raise ParameterError(f"{parameter('pairs')} must have at least one pair of inputs")
    return max(losses, key=lambda loss: loss.share)


def _where_most(first: Recorder, second: Recorder, distances: Sequence[Fraction]) -> str:
    """Return the step and the value that differ most, in words."""
    if not any(distances):
        return "nowhere"
    step = distances.index(max(distances))
    moves = first.steps[step].moves(second.steps[step])
    place = moves.index(max(moves))
    before, after = (float(run.steps[step].true[place]) for run in (first, second))
    return f"step {step}, value {place}: {before:g} and {after:g}"


def audit_chances(
    chances: Callable[[Data], Chances[Outcome]],
    pairs: Iterable[tuple[Data, Data]],
    *,
    epsilon: float | None = None,
    delta: float = 0,
    rho: float | None = None,
) -> Loss:
    """Return the worst loss of a mechanism whose outcomes have known chances, over pairs.

    The share is of ε, of δ where delta is above 0, or of ρ. Raises ParameterError for chances
    that do not add up to 1.

    Args:
        chances: Returns the chance of each outcome for an input.
        pairs: Neighbouring inputs. Both directions are tried.
        epsilon: The ε that is promised, or None where rho is.
        delta: The δ that is promised with epsilon.
        rho: The ρ of zCDP that is promised.
    """
    budget = _promise(epsilon, delta, rho)
    return _worst(lambda pair, *data: _told_apart(budget, pair, *map(chances, data)), pairs)


def _told_apart(
    budget: PrivacyBudget, pair: int, before: Chances[Outcome], after: Chances[Outcome]
) -> Loss:
    for side in (before, after):
        total = math.fsum(side.values())
        if not abs(total - 1) <= _ROUNDING:  # also of NaN
            raise ParameterError(f"the chances of all outcomes must add up to 1, not {total!r}")
        if min(side.values()) < 0:
            raise ParameterError("the chance of an outcome must be 0 or more")
    ratios = {name: _ratio(chance, after.get(name)) for name, chance in before.items() if chance}
    likeliest, highest = max(ratios.items(), key=itemgetter(1))
    if budget.rho is not None:
        share = _concentrated(before, ratios, highest) / float(budget.rho)
    elif budget.delta:
        exact = [{name: number(Fraction(side[name])) for name in side} for side in (before, after)]
        share = float(hockey_stick(exact[0], exact[1], budget.loss)) / float(budget.delta)
    else:
        share = math.log(highest) / float(budget.loss)
    seen = f"{before[likeliest]:.4g} and {after.get(likeliest, 0):.4g}"
    return Loss(share, pair, f"chances of {likeliest!r}: {seen}")


def _ratio(before: float, after: float | None) -> float:
    return before / after if after else math.inf


def _concentrated(before: Chances[Outcome], ratios: Chances[Outcome], highest: float) -> float:
    """Return the largest D_α / α over some orders α: the Rényi divergence over its order."""
    if math.isinf(highest):
        return math.inf

    def divergence(order: float) -> float:
        # p (p/q)^(α - 1), with ratios less than the highest: nothing overflows
        terms = [before[name] * (ratios[name] / highest) ** (order - 1) for name in ratios]
        return math.log(highest) + math.log(math.fsum(terms)) / (order - 1)

    return max(divergence(order) / order for order in _RENYI_ORDERS)
