"""Output distributions of the mechanisms to thirty digits, for spectra of a few itemsets.

What a mechanism computes in whole and rational numbers (candidates, thresholds, scales, rates) is taken from it, so
that a broken mechanism is audited as it is. The arithmetic on them is done here once more, in decimals of 60 digits;
infinite sums are cut where what is left is below 1e-36. NUMERICAL_ERROR bounds how far a divergence is off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from fim_private.dp.parameters import exact_epsilon
from fim_private.mechanisms import (
    Distance,
    LargeMargin,
    MaxOfLaplaces,
    Mechanism,
    PermuteAndFlip,
    TightMargin,
    distance,
    large_margin,
)
from fim_private.mechanisms.exponential_weights import Candidate, ExponentialWeights
from fim_private.mechanisms.mechanism_spec import Audit, UniverseNeed
from fim_private.mechanisms.rank_search import Search
from fim_private.mechanisms.rank_search_noise import OneSidedSteps, TwoSidedSteps
from fim_private.mechanisms.registry import spec_of
from fim_private.spectrum import Level, SupportSpectrum

NUMERICAL_ERROR = 1e-30
DIGITS = Context(prec=60, Emin=-999_999, Emax=999_999)
# From this x on, e^-x is below 1e-36.
REACH = 83
_NEGLIGIBLE = Decimal("1e-40")

# The probability of each level, all its itemsets together; None is abstaining.
Shares = dict[int | None, Decimal]
# The probability of each stopping rank; None is that no rank stops.
Stops = dict[int | None, Decimal]


def distribution(
    mechanism: Mechanism, levels: Sequence[Level], universe_size: int | None, stops: Stops | None = None
) -> Shares:
    """Return the exact output distribution of a mechanism.

    levels: (support, multiplicity), support >= 1 in units, descending. universe_size: the number of candidates, None
    where it is not public. stops: what ranks() returned for the mechanism's search, where that is known.
    Raises TypeError for a mechanism that has no exact distribution here.
    """
    spec, spectrum = spec_of(mechanism), SupportSpectrum(levels, universe_size=universe_size)
    with localcontext(DIGITS):
        match spec.audit, mechanism:
            case Audit.LARGE_MARGIN, LargeMargin():
                stops = stops or ranks(mechanism.search(spectrum))
                return _over_ranks(stops, lambda rank: draw(mechanism, spectrum, rank))
            case Audit.TIGHT_MARGIN, TightMargin():
                stops = dict(stops or ranks(mechanism.search(spectrum)))
                stops[mechanism.last_rank(spectrum)] = stops.pop(None)
                return _over_ranks(stops, lambda rank: _weighed(mechanism.choice(rank or 1), spectrum))
            case Audit.LEADER, Distance():
                return _distance(mechanism, spectrum)
            case Audit.FIRST_ACCEPTED, PermuteAndFlip():
                return _first_accepted(_universe(spectrum), mechanism)
            case Audit.NOISY_MAX, MaxOfLaplaces():
                return _highest_noisy(_universe(spectrum), mechanism)
            case Audit.EXPONENTIAL_WEIGHTS, ExponentialWeights():
                shares = _weighed(mechanism, spectrum)
                if spec.universe is UniverseNeed.COUNTED:  # its level 0 is the unnamed outcome
                    shares[None] += shares.pop(0)
                return shares
    raise TypeError(f"no exact output distribution of {type(mechanism).__name__}")


def _universe(spectrum: SupportSpectrum) -> dict[int, int]:
    """Return the multiplicity of each level of a public universe, 0 included."""
    return dict([*spectrum.levels(), (0, zeros)] if (zeros := spectrum.zero_multiplicity()) else spectrum.levels())


def number(x: Fraction) -> Decimal:
    """Return x as a decimal, to the digits of the current context."""
    return Decimal(x.numerator) / Decimal(x.denominator)


@lru_cache(maxsize=1 << 18)
def decay(rate: Fraction, distance: int) -> Decimal:
    """Return e^{-rate * distance}, to 60 digits."""
    with localcontext(DIGITS):
        return (-number(rate * distance)).exp()


def _softmax(candidates: Sequence[Candidate], rate: Fraction) -> Shares:
    """Return the probabilities of candidates with weights multiplicity * exp(rate * support)."""
    highest = max(candidate.support for candidate in candidates)
    shares: Shares = {None: Decimal(0)}
    for candidate in candidates:
        weight = candidate.multiplicity * decay(rate, highest - candidate.support)
        shares[candidate.level] = shares.get(candidate.level, Decimal(0)) + weight
    total = sum(shares.values(), Decimal(0))
    return {level: weight / total for level, weight in shares.items()}


def _weighed(mechanism: ExponentialWeights, spectrum: SupportSpectrum) -> Shares:
    """Return the distribution of a mechanism that is one choice by weight."""
    return _softmax(mechanism.candidates(spectrum), mechanism.rate)


def _over_ranks(stops: Stops, given: Callable[[int | None], Shares]) -> Shares:
    """Return the mixture of the distributions given each rank, weighted by the probability of stopping there."""
    shares: Shares = {None: Decimal(0)}
    for rank, chance in stops.items():
        for level, share in given(rank).items():
            shares[level] = shares.get(level, Decimal(0)) + chance * share
    return shares


def draw(mechanism: LargeMargin, spectrum: SupportSpectrum, rank: int | None) -> Shares:
    """Return the distribution of the last stage of the large margin mechanism at a rank; None: no rank stopped."""
    if rank is None:
        if spectrum.universe_size is None:
            return {None: Decimal(1)}
        rank = spectrum.universe_size
    return _softmax(
        mechanism.candidates(spectrum, rank), exact_epsilon(mechanism.epsilon) * large_margin.SELECTION_RATE
    )


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
    """Return what ranks() returns, from each rank and its slack c(1) - c(ℓ+1) - T(ℓ) in units."""
    with localcontext(DIGITS):
        stops: Stops = {rank: Decimal(0) for rank, _ in slacks}
        stops[None] = Decimal(0)
        hazard = _hazard(noise)
        for shared, chance in _shared(noise):
            alive = chance
            for rank, slack in slacks:
                stop = alive * hazard(slack + shared)
                stops[rank] += stop
                alive -= stop
                if not alive:
                    break
            stops[None] += alive
        return stops


@lru_cache(maxsize=32)
def _shared(noise: OneSidedSteps | TwoSidedSteps) -> list[tuple[int, Decimal]]:
    """Return the values of the noise that all steps share, and their probabilities; the cut tails are at the ends."""
    with localcontext(DIGITS):
        if isinstance(noise, OneSidedSteps):
            reach = math.ceil(REACH / noise.shared_rate)
            stop = 1 - decay(noise.shared_rate, 1)
            inner = [(-k, stop * decay(noise.shared_rate, k)) for k in range(reach)]
            return [*inner, (-reach, decay(noise.shared_rate, reach))]
        rates = [1 / noise.maximum_scale, 1 / noise.shared_scale]
        reach = math.ceil(REACH / min(rates))
        # The convolution of two discrete Laplace distributions (docs/privacy.md, equation (6)).
        weights = []
        for this, other in (rates, reversed(rates)):
            a, b = decay(this, 1), decay(other, 1)
            weights.append((1 - a) / (1 + a) * (1 - b) ** 2 / ((1 - a * b) * (1 - b / a)))
        return [
            (k, sum((w * decay(r, abs(k)) for w, r in zip(weights, rates, strict=True)), Decimal(0)))
            for k in range(-reach, reach + 1)
        ]


@lru_cache(maxsize=32)
def _hazard(noise: OneSidedSteps | TwoSidedSteps) -> Callable[[int], Decimal]:
    """Return a function, which remembers, from the slack plus the shared noise to the probability that a step stops."""

    @lru_cache(maxsize=1 << 18)
    def hazard(slack: int) -> Decimal:
        if isinstance(noise, OneSidedSteps):
            return decay(noise.step_rate, max(-slack, 0))
        return laplace_tail(noise.step_scale, 1 - slack)

    return hazard


@lru_cache(maxsize=1 << 18)
def laplace_tail(scale: Fraction, k: int) -> Decimal:
    """Return P(Z >= k) for discrete Laplace noise of that scale > 0 (docs/privacy.md, equation (1))."""
    with localcontext(DIGITS):
        if k <= 0:
            return 1 - laplace_tail(scale, 1 - k)
        return decay(1 / scale, k) / (1 + decay(1 / scale, 1))


def _distance(mechanism: Distance, spectrum: SupportSpectrum) -> Shares:
    """Return the distribution of the distance mechanism."""
    level, margin = distance.leader(spectrum)
    if level is None:
        return {None: Decimal(1)}
    if spectrum.universe_size == 1:
        return {level: Decimal(1), None: Decimal(0)}
    clears = laplace_tail(mechanism.scale, mechanism.threshold + mechanism.sensitivity - margin + 1)
    return {level: clears, None: 1 - clears}


def _one_left_out(factors: Sequence[tuple[Decimal, Decimal, int]]) -> list[Decimal]:
    """Return, for each factor (a, b, m), the integral over x in [0, 1] of Π_j (a_j + b_j x)^{m_j} / (a + bx).

    The integrands are polynomials of degree below Σ m, which Gauss's rule integrates exactly.
    """
    integrals = [Decimal(0) for _ in factors]
    for x, weight in _gauss(sum(m for _, _, m in factors)):
        values = [a + b * x for a, b, _ in factors]
        product = weight * math.prod(value**m for value, (_, _, m) in zip(values, factors, strict=True))
        for place, value in enumerate(values):
            integrals[place] += product / value
    return integrals


@lru_cache(maxsize=32)
def _gauss(degree: int) -> list[tuple[Decimal, Decimal]]:
    """Return the nodes and weights of Gauss and Legendre on [0, 1], exact for polynomials below this degree."""
    count = degree // 2 + 1
    found = []
    with localcontext(DIGITS):
        for guess in np.polynomial.legendre.leggauss(count)[0].tolist():
            x = Decimal(guess)
            for _ in range(4):  # Newton's method doubles the 15 digits each time
                before, here = Decimal(1), x
                for k in range(2, count + 1):
                    before, here = here, ((2 * k - 1) * x * here - (k - 1) * before) / k
                slope = count * (x * here - before) / (x * x - 1)
                x -= here / slope
            found.append(((1 + x) / 2, 1 / ((1 - x * x) * slope * slope)))
    return found


def _first_accepted(counts: dict[int, int], mechanism: PermuteAndFlip) -> Shares:
    """Return the integral over a time t in [0, 1] of m p/(1 - pt) Π (1 - pt)^m for each level (Theorem 9)."""
    accepted = {level: decay(mechanism.rate, max(counts) - level) for level in counts}
    others = _one_left_out([(Decimal(1), -accepted[level], m) for level, m in counts.items()])
    of_levels = zip(counts.items(), others, strict=True)
    return {None: Decimal(0)} | {level: m * accepted[level] * other for (level, m), other in of_levels}


def _highest_noisy(counts: dict[int, int], mechanism: MaxOfLaplaces) -> Shares:
    """Return the distribution of the highest noisy support over a public universe."""
    shares = _highest(mechanism.scale, tuple((max(counts) - level, m) for level, m in counts.items()))
    return {None: Decimal(0)} | dict(zip(counts, shares, strict=True))


@lru_cache(maxsize=1 << 12)
def _highest(scale: Fraction, levels: tuple[tuple[int, int], ...]) -> list[Decimal]:
    """Return the probability that the highest noisy support is of each level: (distance from c(1), multiplicity).

    A uniform number orders equal noisy supports. An itemset is below noisy support v and number x with probability
    F(x) = P(Z < v + distance) + x P(Z = v + distance): sum over v the integral over x of m P(Z = …) / F Π F^m.
    """
    reach = math.ceil((REACH + math.log(sum(m for _, m in levels))) * scale)
    tail = lru_cache(maxsize=None)(partial(laplace_tail, scale))
    shares = [Decimal(0) for _ in levels]
    for value in range(-reach, reach + 1):
        tails = [(tail(value + distance), tail(value + distance + 1)) for distance, _ in levels]
        if math.prod((1 - above) ** m for (_, above), (_, m) in zip(tails, levels, strict=True)) < _NEGLIGIBLE:
            continue  # some itemset is certainly above
        others = _one_left_out(
            [(1 - here, here - above, m) for (here, above), (_, m) in zip(tails, levels, strict=True)]
        )
        for place, ((here, above), (_, m), other) in enumerate(zip(tails, levels, others, strict=True)):
            shares[place] += m * (here - above) * other
    return shares
