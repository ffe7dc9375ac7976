"""Rank search for the first large margin, and the two mechanisms that choose among the itemsets
above it.

LargeMargin: Algorithm 1 of Chaudhuri, Hsu and Song, "The large margin mechanism for differentially
private maximization" (2014). Its α is our ε; supports and noise are integers (docs/privacy.md,
Theorems 1 to 3). TightMargin searches with one-sided noise, then limited-domain chooses. The weight
of abstaining protects, not the margin, so its thresholds matter for utility only (Theorems 11 and
12). Both are (ε, δ)-DP for both relations.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate, chain

import numpy as np

from fim_private.dp.arguments import positive_integer
from fim_private.dp.bounds import (
    UP,
    Bounds,
    exp_bounds,
    laplace_tail_bounds,
    least_integer,
    ln,
    power_bounds,
)
from fim_private.dp.noise import (
    Floats,
    Randomness,
    UniformReal,
    discrete_laplace_integer,
    geometric,
)
from fim_private.dp.parameters import exact_epsilon, of_parts
from fim_private.mechanisms.base import (
    ABSTAIN,
    MOST_CANDIDATES,
    OutcomeDistribution,
    RankCapped,
    Selection,
)
from fim_private.mechanisms.exponential import (
    Candidate,
    LimitedDomain,
    at_random_rank,
    choose,
    named,
    top,
)
from fim_private.mechanisms.noisy_max import check_memory, log_laplace_tail
from fim_private.spectrum import SupportSpectrum

# The noise of a search: an integer X, in units, that all steps share, and what each step draws for
# itself. The slack of step ℓ is c(1) - c(ℓ+1) less its threshold. Large margin: X = Z - G and Z_ℓ,
# all discrete Laplace; step ℓ stops when Z_ℓ < slack + X. Tight margin: G >= 0 and Z_ℓ >= 0,
# geometric; step ℓ stops when Z_ℓ >= G - slack, so X is -G.
#
# Both give: step_reach, from which a step stops with a probability of 1, up to 1e-18. rest_factor,
# an F with Σ_{j >= ℓ} h(j) <= F (ℓ + 2) h(ℓ) for the hazards h of zeros without slack
# (docs/privacy.md, "Exact distribution"), None where no such bound holds. shared, tails below 1e-18
# cut: the least value of X, and the probability of each value from it on. hazard, of the chance
# that a step stops; log_stay, that it does not. For these two the slack includes X.

# The largest 1/b with which the sum of the remaining hazards is bounded.
_LARGEST_RATE = 400
# Most noise values that a distribution averages over: 100 MB or so of memory.
_LARGEST_REACH = 1 << 21
# No noise of scale 1 reaches this with a probability above 1e-18.
_REACH = 42
# Doubles end at e^709.8. What weighs as much as that is chosen for certain.
_LARGEST_LOGARITHM = 709


@dataclass(frozen=True)
class TwoSidedSteps:
    """The noise of the large margin mechanism, all discrete Laplace; of Z and G the scales, in
    units, > 0, differ.
    """

    maximum_scale: Fraction
    shared_scale: Fraction
    step_scale: Fraction

    @property
    def step_reach(self) -> int:
        """The least slack from which a step stops."""
        return math.ceil(_REACH * self.step_scale)

    @property
    def rest_factor(self) -> int | None:
        """An integer of at least e^{1/b}; None where there is next to no noise, and it would be
        astronomic.

        T grows by at least (30/ε) ln((j+1)/(ℓ+1)) from ℓ to j, up to its rounding by less than 1.
        With b = 12/ε h(j) <= e^{1/b} ((ℓ+1)/(j+1))^{5/2} h(ℓ), and the sum over j > ℓ is at most
        2(ℓ+1)/3 e^{1/b} h(ℓ).
        """
        rate = 1 / self.step_scale
        return int(3 ** math.ceil(rate)) if rate <= _LARGEST_RATE else None

    def shared(self) -> tuple[int, Floats]:
        """Return the least value, and the probabilities, of X = Z - G (docs/privacy.md, (6))."""
        reach = math.ceil(_REACH * max(self.maximum_scale, self.shared_scale))
        check_memory(reach, _LARGEST_REACH)
        first, second = float(1 / self.maximum_scale), float(1 / self.shared_scale)
        distances = np.abs(np.arange(-reach, reach + 1))
        chances = np.zeros(len(distances))
        for rate, rival in ((first, second), (second, first)):
            with np.errstate(over="ignore"):  # an infinite divisor: the weight is 0
                divisor = np.expm1(-rate - rival) * np.expm1(rate - rival)
            weight = np.tanh(rate / 2) * np.expm1(-rival) ** 2 / divisor
            chances += weight * np.exp(-rate * distances)
        return -reach, chances

    def draw_shared(self, randomness: Randomness) -> int:
        """Draw X = Z - G."""
        maximum = discrete_laplace_integer(self.maximum_scale, randomness)
        return maximum - discrete_laplace_integer(self.shared_scale, randomness)

    def hazard(self, slack: int, bits: int) -> Bounds:
        """Bound ``2**bits * P(Z_ℓ < slack)``, which is P(Z_ℓ >= 1 - slack), as Z_ℓ is symmetric."""
        return laplace_tail_bounds(self.step_scale, 1 - slack, bits)

    def log_stay(self, slack: Floats) -> Floats:
        """Return ln P(Z_ℓ >= slack): (n,) float64."""
        return log_laplace_tail(slack, float(self.step_scale))


@dataclass(frozen=True)
class OneSidedSteps:
    """The tight margin mechanism's noise: P(G >= k) = e^{-shared_rate k}, P(Z_ℓ >= k) =
    e^{-step_rate k}, k >= 0.
    """

    shared_rate: Fraction
    step_rate: Fraction

    step_reach = 0  # from there on every step stops
    rest_factor = None  # no bound is needed, as the search ends at a cap

    def shared(self) -> tuple[int, Floats]:
        """Return the least value, and the probabilities, of X = -G."""
        reach, rate = math.ceil(_REACH / self.shared_rate), float(self.shared_rate)
        check_memory(reach, _LARGEST_REACH)
        return -reach, -np.expm1(-rate) * np.exp(rate * np.arange(-reach, 1))

    def draw_shared(self, randomness: Randomness) -> int:
        """Draw X = -G."""
        return -int(geometric(self.shared_rate, 1, randomness)[0])

    def hazard(self, slack: int, bits: int) -> Bounds:
        """Bound ``2**bits * P(Z_ℓ >= -slack)``."""
        return exp_bounds(
            self.step_rate.numerator * max(-slack, 0), self.step_rate.denominator, bits
        )

    def log_stay(self, slack: Floats) -> Floats:
        """Return ln P(Z_ℓ < -slack), which is minus infinity from 0 on: (n,) float64."""
        with np.errstate(divide="ignore"):
            return np.log(-np.expm1(float(self.step_rate) * np.minimum(slack, 0)))


StepNoise = TwoSidedSteps | OneSidedSteps


# Rank search: the first rank with a large margin, drawn exactly, and its exact distribution.
#
# Given the noise X that all steps share, the steps are independent, and step ℓ stops with a
# probability h(ℓ), its hazard, that depends on c(1) - c(ℓ+1) - T(ℓ) + X alone (docs/privacy.md,
# "Exact distribution"). So the rank is drawn by inverting its survival function S(ℓ) = Π (1 - h(j))
# at one uniform number, known to as many digits as it takes, and ranks that share c(ℓ+1) and T(ℓ)
# are passed in one step: also in a universe of 10**60 itemsets.

Threshold = Callable[[int], int]

# Digits, in bits, with which a draw begins.
_BITS = 128
# How a distribution groups ranks: (singles, share) of `Search.distribution`.
Groups = tuple[int, int]
_GROUPS = 1 << 14, 1 << 12


def countable(spectrum: SupportSpectrum) -> SupportSpectrum:
    """Return the spectrum with no more candidates than doubles can count, 1e300.

    More change no probability by over 1e-25 where fewer than 10^10 itemsets occur. With εc(1) <=
    3,600 a draw from this many is a zero, up to 10^10 e^600 / 10^300. With more the search has
    ended before that rank, unless noise is 400/ε
    off: its thresholds at rank 10^40 are below 3,200/ε.
    """
    if spectrum.universe_size is None or spectrum.universe_size <= MOST_CANDIDATES:
        return spectrum
    return SupportSpectrum(spectrum.levels(), universe_size=MOST_CANDIDATES)


@dataclass(frozen=True)
class Run:
    """Ranks first … last (inclusive), all tested against the same next support c(ℓ+1), in units,
    and with the same threshold.
    """

    first: int
    last: int
    next_support: int


@dataclass(frozen=True)
class Search:
    """The search of one spectrum for the first rank with a large margin.

    threshold: gives the integer T(ℓ) in units, nondecreasing in ℓ. last_rank: the last rank tested,
    0 for none.
    """

    spectrum: SupportSpectrum
    threshold: Threshold
    last_rank: int
    noise: StepNoise

    @property
    def maximum(self) -> int:
        """c(1) in units, 0 when nothing has support."""
        return next((support for support, _ in self.spectrum.levels()), 0)

    def runs(self) -> Iterator[Run]:
        """Yield the longest runs of ranks in order, reading no level beyond the run asked for."""
        before = 0
        for support, multiplicity in chain(self.spectrum.levels(), [(0, self.last_rank + 1)]):
            first, last = max(before, 1), min(before + multiplicity - 1, self.last_rank)
            while first <= last:
                following = self._following(first, last)
                yield Run(first, following - 1, support)
                first = following
            before += multiplicity
            if before > self.last_rank:
                return

    def _following(self, first: int, last: int) -> int:
        """Return the first rank after `first` with another threshold, last + 1 if there is none."""
        threshold = self.threshold(first)
        return least_integer(
            lambda rank: rank > last or self.threshold(rank) != threshold, first + 1
        )

    def draw(self, randomness: Randomness) -> int | None:
        """Draw the stopping rank, exactly; None if no rank up to last_rank stops."""
        shared = self.noise.draw_shared(randomness)
        uniform = UniformReal(randomness)
        bits = _BITS
        while True:
            digits = uniform.digits(bits)
            with suppress(_NeedsMoreBits):
                return self._invert((digits, digits + 1), shared, bits)
            bits *= 2

    def _invert(self, uniform: Bounds, shared: int, bits: int) -> int | None:
        """Return the rank at which survival falls to the uniform number; raise _NeedsMoreBits where
        that is open.
        """
        unit, maximum, factor = 1 << bits, self.maximum, self.noise.rest_factor
        survival, checked = (unit, unit), 0
        for run in self.runs():
            slack = maximum - self.threshold(run.first) + shared
            if run.first > checked:
                # Thresholds only rise and supports are at least 0: no later hazard is above this
                # one.
                later = self.last_rank - run.first + 1
                if factor is not None and slack <= 0:
                    later = min(later, factor * (run.first + 2))
                ever = min(later * self.noise.hazard(slack, bits)[1], unit)
                if uniform[1] <= survival[0] * (unit - ever) >> bits:
                    return None
                checked = 2 * run.first
            hazard = self.noise.hazard(slack - run.next_support, bits)
            stays, ranks = (unit - hazard[1], unit - hazard[0]), run.last - run.first + 1
            left = _left(survival, stays, bits, ranks)
            if _reaches(uniform, left):
                stops = partial(_stops, uniform, survival, stays, bits)
                return run.first - 1 + least_integer(stops, 1, ranks)
            survival = left
        return None

    def distribution(self, groups: Groups = _GROUPS) -> tuple[dict[int, float], float]:
        """Return the probability of each stopping rank, ascending, and that no rank stops.

        groups: (singles, share). The first `singles` ranks stand alone. Beyond them, ranks within a
        factor 1 + 1/share are grouped under their middle one. This moves no outcome of a mechanism
        by more than δ/share or so. Where the search stops, the candidates that one rank adds weigh
        about δ/ℓ or less. Otherwise it is exact up to floating point.
        """
        least, alive = self.noise.shared()
        factor, maximum = self.noise.rest_factor, self.maximum
        lowest = -self.threshold(max(self.last_rank, 1))
        # From this slack on a step stops, whatever the noise.
        most = min(maximum, self.noise.step_reach - least)
        slacks = np.arange(lowest + least, most + least + len(alive), dtype=np.float64)
        log_stays = self.noise.log_stay(slacks)
        stays = np.exp(log_stays)
        stops = {}
        total, checked = float(alive.sum()), groups[0]
        for group in self._groups(*groups):
            slack = min(maximum - group.next_support - self.threshold(group.first), most)
            here = slice(slack - lowest, slack - lowest + len(alive))
            if factor is not None and not group.next_support and group.first > checked:
                checked = 2 * group.first
                ever = -np.expm1(log_stays[here]) * float(min(factor * (group.first + 2), 10**300))
                # all hazards that are left, over all noise
                if (alive * np.minimum(ever, 1)).sum() < 1e-15:
                    break
            count = group.last - group.first + 1
            # Most groups are of one rank, for which nothing is computed anew.
            alive *= stays[here] if count == 1 else np.exp(float(count) * log_stays[here])
            before, total = total, float(alive.sum())
            stops[(group.first + group.last) // 2] = before - total
            if total < 1e-18:
                break
        return stops, total

    def _groups(self, singles: int, share: int) -> Iterator[Run]:
        for run in self.runs():
            first = run.first
            while first <= run.last:
                last = first if first <= singles else min(first + first // share, run.last)
                yield Run(first, last, run.next_support)
                first = last + 1


class _NeedsMoreBits(Exception):  # noqa: N818 - a signal, not an error
    """The digits known so far do not decide."""


def _left(survival: Bounds, stays: Bounds, bits: int, ranks: int) -> Bounds:
    """Bound the survival after so many ranks more, of each of which the search stays with the same
    probability.
    """
    lower, upper = power_bounds(stays, ranks, bits)
    return survival[0] * lower >> bits, (survival[1] * upper >> bits) + 1


def _stops(uniform: Bounds, survival: Bounds, stays: Bounds, bits: int, ranks: int) -> bool:
    return _reaches(uniform, _left(survival, stays, bits, ranks))


def _reaches(uniform: Bounds, left: Bounds) -> bool:
    """Tell whether the uniform number is at least what is left; raise _NeedsMoreBits where that is
    open.
    """
    if uniform[0] < left[1] and uniform[1] > left[0]:
        raise _NeedsMoreBits
    return uniform[0] >= left[1]


# The paper's noise scales times ε: Z on the maximum, G shared by the search, Z_ℓ of each step
# (Algorithm 1).
MAXIMUM_SCALE, SHARED_SCALE, STEP_SCALE = 3, 6, 12
# Times ε, the rate of the last stage: weights exp(εc/6), an (ε/3)-DP exponential mechanism under
# replace-one.
SELECTION_RATE = Fraction(1, 6)
# The noise of step ℓ uses up its share of the threshold with probability 1 / (this (ℓ + 1)). So a
# near tie loses little to a search that stops early, against the choice among k̄ (docs/privacy.md,
# "Stopping early"). At ε = 1 no spectrum loses more than 0.0031 of its success. Over 10 to 1,000
# others that are tied it loses 0.0015 at most; with 10 it lost 0.13.
_PATIENCE = 1000


class LargeMargin(RankCapped):
    """The large margin mechanism, whose constants are the same for both relations of neighbours.

    max_rank: the public cap k̄ >= 1 on the rank search over an unknown universe; it costs no
        privacy. A known universe is searched to its end instead, and the mechanism never abstains
        there.
    """

    @staticmethod
    def thresholds(epsilon: float, delta: float, rank: int) -> float:
        """Return the paper's margin T(ℓ) in units, for continuous noise and a rank ℓ >= 1 of any
        size.

        T(ℓ) = (3/ε) ln(3/(2δ)) + (6/ε) ln(3/δ) + (12/ε) ln(3ℓ(ℓ+1)/δ) + t(ℓ), with t(ℓ) = 6 (1 +
        ln(3ℓ/δ)/ε): lines 1 and 2 of Algorithm 1, times n (docs/privacy.md, equation (3)). Raises
        ParameterError for what is out of range.
        """
        cost = LargeMargin(epsilon, delta).cost
        odds = float(3 / cost.delta)
        fixed = 3 * math.log(odds / 2) + 24 * math.log(odds)
        return _margin(float(cost.epsilon), fixed, positive_integer("rank", rank))

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Search for a rank, then choose (Algorithm 1); reads the levels down to that rank and one
        further.
        """
        rank = self.search(spectrum).draw(randomness) or spectrum.universe_size
        if rank is None:
            return ABSTAIN
        return Selection(choose(self.candidates(spectrum, rank), self.rate, randomness).level)

    def candidates(self, spectrum: SupportSpectrum, rank: int) -> list[Candidate]:
        """Return the top `rank` itemsets; those that have no name are one candidate, abstaining
        (Theorem 3).
        """
        levels, _ = top(spectrum, rank)
        # of the top ℓ, without a name
        zeros = rank - sum(multiplicity for _, multiplicity in levels)
        return [*named(levels), Candidate(None, 0, zeros)]

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """As Mechanism.distribution, reading all levels; ranks beyond 16,384 are grouped
        (`Search.distribution`).
        """
        spectrum = countable(spectrum)
        stops, abstains = self.search(spectrum).distribution()
        known = spectrum.universe_size
        if known is not None:
            stops[known], abstains = abstains, 0.0
        outcomes = at_random_rank(spectrum, stops, float(self.rate))
        return replace(outcomes, abstain=outcomes.abstain + abstains)

    @property
    def rate(self) -> Fraction:
        """The exponent of the choice, per unit of support, for both relations."""
        return self.cost.epsilon * SELECTION_RATE

    def search(self, spectrum: SupportSpectrum) -> Search:
        """Return the rank search of a spectrum."""
        known = spectrum.universe_size
        # A known universe needs no margin at its last rank: the top K is the universe itself.
        last_rank = self.max_rank if known is None else known - 1
        return Search(spectrum, self.threshold, last_rank, self.noise)

    @property
    def noise(self) -> TwoSidedSteps:
        """The noise scales, in units: 3/ε of Z on the maximum, 6/ε of G that the steps share, 12/ε
        of each Z_ℓ.
        """
        epsilon = self.cost.epsilon
        return TwoSidedSteps(MAXIMUM_SCALE / epsilon, SHARED_SCALE / epsilon, STEP_SCALE / epsilon)

    @property
    def threshold(self) -> Threshold:
        """T̂(ℓ) in units, by rank ℓ >= 1: T(ℓ) plus what integer noise adds, rounded up
        (docs/privacy.md, (4)).
        """
        return _remembered(_integer_threshold, *map(Fraction, (self.cost.epsilon, self.cost.delta)))


def _margin(epsilon: float, fixed: float, rank: int) -> float:
    """Return 6 + (fixed + 18 ln ℓ + 12 ln(ℓ+1)) / ε, which is T(ℓ) for its fixed logarithms."""
    return 6 + (fixed + 18 * math.log(rank) + 12 * math.log(rank + 1)) / epsilon


def _integer_threshold(epsilon: Fraction, delta: Fraction, rank: int) -> int:
    """Return ⌈T(ℓ) + correction⌉; where doubles cannot tell on which side of an integer that is,
    bounds of 80 digits do.
    """
    fixed = _fixed_logarithms(epsilon, delta)
    value = _margin(float(epsilon), float(fixed), rank)
    if abs(value - round(value)) > 1e-13 * value:  # some ten operations, each good to 1.2e-16
        return math.ceil(value)
    logarithms = 18 * ln(UP, Fraction(rank)) + 12 * ln(UP, Fraction(rank + 1))
    return math.ceil(6 + (fixed + logarithms) / epsilon)


@lru_cache(maxsize=16)
def _fixed_logarithms(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return an upper bound of the logarithms in T̂(ℓ) that are the same at each rank.

    They are those of T(ℓ), and ε times the correction for integer noise (docs/privacy.md, (4)):
    b ln(2/(1 + e^{-1/b})) for each scale b.
    """
    odds = 3 / delta
    fixed = 3 * ln(UP, odds / 2) + 24 * ln(UP, odds)
    for scale in (MAXIMUM_SCALE, SHARED_SCALE, STEP_SCALE):
        decay = exp_bounds(*(epsilon / scale).as_integer_ratio(), 256)[0]
        fixed += scale * ln(UP, 2 / (1 + Fraction(decay, 1 << 256)))
    return fixed


# It remembers: a search asks for some 10,000 ranks, again for each itemset wanted.
@lru_cache(maxsize=32, typed=True)
def _remembered(threshold: Callable[..., int], *budget: float | Fraction) -> Threshold:
    return lru_cache(maxsize=1 << 14)(partial(threshold, *budget))


class TightMargin(RankCapped):
    """The tight margin mechanism, with the exponential mechanism over a universe of no more
    candidates than the rank.

    max_rank: the public rank cap k̄ >= 1, at which the search ends; it costs nothing where the
    search ends before.
    """

    # The shares of epsilon for the noise that all steps share and for that of each step; the rest
    # is for the choice (docs/privacy.md, "The split").
    shared_share = Fraction(4, 100)
    step_share = Fraction(8, 100)

    def __post_init__(self) -> None:
        super().__post_init__()
        with of_parts():
            exact_epsilon(self.selection_epsilon)

    @property
    def noise(self) -> OneSidedSteps:
        """The noise of the search, whose rank is a private output with the two shares of epsilon
        (Theorem 11).
        """
        rate = self.cost.epsilon / self.sensitivity
        return OneSidedSteps(rate * self.shared_share, rate * self.step_share)

    @property
    def selection_epsilon(self) -> Fraction:
        """What is left of epsilon for the choice among the top ℓ (Theorem 12)."""
        return self.cost.epsilon * (1 - self.shared_share - self.step_share)

    @property
    def rate(self) -> Fraction:
        """The exponent of that choice, per unit of support."""
        return self.selection_epsilon / self.sensitivity

    def choice(self, rank: int) -> LimitedDomain:
        """Return the mechanism that chooses among the top `rank` itemsets, rank >= 1."""
        return LimitedDomain(self.selection_epsilon, self.delta, self.neighbors, rank)

    @property
    def threshold(self) -> Threshold:
        """τ(ℓ) in units, by rank ℓ >= 1: about the margin with which abstaining at ℓ loses against
        the leader.

        1 + ⌈ln(ℓ/δ)/s + ln(1000 (ℓ + 1))/q⌉, with s and q the rates of the choice and of a step
        (docs/privacy.md, equation (8)). In floating point, as only utility depends on it.
        """
        choice, step = float(self.rate), float(self.noise.step_rate)
        tail = math.log(self.cost.delta)
        return _remembered(_tight_threshold, choice, step, tail)

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Search for a rank, then choose; reads the levels down to that rank and one further."""
        rank = self.search(spectrum).draw(randomness) or self.last_rank(spectrum)
        return self.choice(rank).select(spectrum, randomness)

    def distribution(
        self, spectrum: SupportSpectrum, groups: Groups = _GROUPS
    ) -> OutcomeDistribution:
        """As that of LargeMargin. groups: of ranks, as in `Search.distribution`."""
        spectrum = countable(spectrum)
        stops, at_last = self.search(spectrum).distribution(groups)
        last, known = self.last_rank(spectrum), spectrum.universe_size
        stops[last] = at_last
        # In integers, as in the draw: as doubles 10^18 + 11 itemsets are 10^18, and the support
        # below the top 10^18 would be another; 11 / 0.44 would be above 25.
        supports, multiplicities = zip(*spectrum.levels(), (0, 0), strict=True)
        ends = [*accumulate(multiplicities[:-1])]
        following = [supports[bisect_right(ends, rank)] for rank in stops]
        many, few = self.choice(last).heaviness.as_integer_ratio()
        weights = [-(-rank * many // few) for rank in stops]
        if known is None:  # zeros are left out
            weights = [
                weight if below else weight + rank
                for weight, rank, below in zip(weights, stops, following, strict=True)
            ]
        rate = float(self.rate)
        distances = np.array(following) + self.sensitivity - supports[0]
        logarithms = np.array([*map(math.log, weights)]) + rate * distances
        bottoms = np.exp(np.minimum(logarithms, _LARGEST_LOGARITHM))
        if last == known:  # then all of the universe are candidates, and none abstains
            bottoms[-1] = 0.0
        return at_random_rank(spectrum, stops, rate, bottoms)

    def last_rank(self, spectrum: SupportSpectrum) -> int:
        """Return the rank at which the search ends whatever the margin: max_rank, or the size of a
        smaller universe.
        """
        return min(self.max_rank, spectrum.universe_size or self.max_rank)

    def search(self, spectrum: SupportSpectrum) -> Search:
        """Return the rank search of a spectrum; at the last rank it ends whatever its margin."""
        return Search(spectrum, self.threshold, self.last_rank(spectrum) - 1, self.noise)


def _tight_threshold(choice: float, step: float, tail: float, rank: int) -> int:
    return 1 + math.ceil(
        (math.log(rank) - tail) / choice + (math.log(_PATIENCE) + math.log(rank + 1)) / step
    )
