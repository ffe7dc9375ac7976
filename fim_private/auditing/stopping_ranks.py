"""At which rank a search stops, to sixty digits.

Given the noise X that all steps share, the steps are independent (docs/privacy.md, "Exact distribution"): step ℓ stops
with a probability, its hazard, that depends on its slack c(1) - c(ℓ+1) - T(ℓ) plus X alone. On a stretch of values of X
on which no slack plus X changes its sign, hazards and the probabilities of X are exponentials of X.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Protocol

from fim_private.auditing.digits import DIGITS, decay
from fim_private.auditing.exponential_sums import Exponentials, Stretch, Terms, stretches
from fim_private.mechanisms.rank_search import Search
from fim_private.mechanisms.rank_search_noise import OneSidedSteps, TwoSidedSteps

# The probability of each stopping rank; None is that no rank stops.
Stops = dict[int | None, Decimal]


def ranks(search: Search) -> Stops:
    """Return the probability of each stopping rank, and of None: no rank up to the last one stops."""
    assert isinstance(search.noise, OneSidedSteps | TwoSidedSteps)
    maximum = search.maximum
    slacks = (
        (rank, maximum - run.next_support - search.threshold(rank))
        for run in search.runs()
        for rank in range(run.first, run.last + 1)
    )
    return dict(_stops(search.noise, tuple(slacks)))


@lru_cache(maxsize=1 << 12)
def _stops(noise: OneSidedSteps | TwoSidedSteps, slacks: tuple[tuple[int, int], ...]) -> Stops:
    """Return what ranks() returns, from each rank and its slack in units."""
    with localcontext(DIGITS):
        stops: Stops = {rank: Decimal(0) for rank, _ in slacks} | {None: Decimal(0)}
        steps = _noise_of(noise)
        sums = steps.sums
        for stretch in stretches({0, *(-slack for _, slack in slacks)}, steps.last):
            alive = steps.shared(stretch)
            left = sums.total(alive, stretch)
            for rank, slack in slacks:
                if stretch.first is None or slack + stretch.first < 0:
                    hazard = steps.hazard(slack)
                    stop = sums.total(sums.times(alive, hazard), stretch)
                    stays = {0: (0, Decimal(1))} | {slope: (p, -c) for slope, (p, c) in hazard.items()}
                    alive = sums.times(alive, stays)
                else:  # as likely as not it stops, so that no digits are lost
                    alive = sums.times(alive, steps.stays(slack))
                    stop = left - sums.total(alive, stretch)
                stops[rank] += stop
                left -= stop
                if not alive:
                    break
            stops[None] += sums.total(alive, stretch)
        return stops


class _Noise(Protocol):
    """The noise of a search as exponentials of X."""

    @property
    def sums(self) -> Exponentials:
        """The exponentials that it is made of."""
        ...

    @property
    def last(self) -> int | None:
        """The largest value of X; None for no end."""
        ...

    def shared(self, stretch: Stretch) -> Terms:
        """Return the probability of X, on a stretch that does not go on both sides of 0."""
        ...

    def hazard(self, slack: int) -> Terms:
        """Return the probability that a step of this slack stops, for slack + X <= 0."""
        ...

    def stays(self, slack: int) -> Terms:
        """Return the probability that a step of this slack does not stop, for slack + X >= 0."""
        ...


@lru_cache(maxsize=32)
def _noise_of(noise: OneSidedSteps | TwoSidedSteps) -> _Noise:
    """Return the noise of a search as exponentials."""
    return _OneSided(noise) if isinstance(noise, OneSidedSteps) else _TwoSided(noise)


class _OneSided:
    """X = -G <= 0. A step stops with probability e^{rate (slack + X)}, and certainly from slack + X = 0 on."""

    last = 0

    def __init__(self, noise: OneSidedSteps) -> None:
        self.sums = Exponentials(DIGITS, [noise.shared_rate, noise.step_rate])
        self._shared = self.sums.multiple(noise.shared_rate)
        self._step = self.sums.multiple(noise.step_rate)
        self._weight = 1 - decay(noise.shared_rate, 1)

    def shared(self, stretch: Stretch) -> Terms:
        return {-self._shared: (0, self._weight)}

    def hazard(self, slack: int) -> Terms:
        return {-self._step: (-self._step * slack, Decimal(1))}

    def stays(self, slack: int) -> Terms:
        return {}


class _TwoSided:
    """X = Z - G, and a step stops with the probability that its own Laplace noise is below slack + X."""

    last = None

    def __init__(self, noise: TwoSidedSteps) -> None:
        rates = [1 / noise.maximum_scale, 1 / noise.shared_scale]
        self.sums = Exponentials(DIGITS, [*rates, 1 / noise.step_scale])
        self._step, falls = self.sums.multiple(1 / noise.step_scale), decay(1 / noise.step_scale, 1)
        self._below, self._above = falls / (1 + falls), 1 / (1 + falls)
        # The convolution of two discrete Laplace distributions (docs/privacy.md, equation (6)).
        self._weights = []
        for this, other in (rates, reversed(rates)):
            a, b = decay(this, 1), decay(other, 1)
            weight = (1 - a) / (1 + a) * (1 - b) ** 2 / ((1 - a * b) * (1 - b / a))
            self._weights.append((self.sums.multiple(this), weight))

    def shared(self, stretch: Stretch) -> Terms:
        side = -1 if stretch.first is None or stretch.first < 0 else 1
        return {side * rate: (0, weight) for rate, weight in self._weights}

    def hazard(self, slack: int) -> Terms:
        return {-self._step: (-self._step * slack, self._below)}

    def stays(self, slack: int) -> Terms:
        return {self._step: (self._step * slack, self._above)}
