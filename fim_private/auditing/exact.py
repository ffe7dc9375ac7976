"""Output distributions of the mechanisms to thirty digits, for spectra of a few itemsets.

What a mechanism computes with whole and rational numbers (candidates, thresholds, scales, rates) is taken from it, so a
broken mechanism is audited as it is. The arithmetic is done here, once more, in decimals of 60 digits; infinite
sums are cut where what is left is below 1e-36. NUMERICAL_ERROR bounds what an audit's divergence can be off by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

from fim_private.mechanisms import (
    Choosing,
    Distance,
    Exponential,
    LargeMargin,
    LimitedDomain,
    MaxOfLaplaces,
    Mechanism,
    NamedExponential,
    PermuteAndFlip,
    TightMargin,
    distance,
    large_margin,
    weighing,
)
from fim_private.mechanisms.steps import OneSidedSteps, TwoSidedSteps
from fim_private.mechanisms.stopping import Search
from fim_private.mechanisms.weighing import Candidate
from fim_private.privacy import exact_delta, exact_epsilon
from fim_private.spectrum import Level, SupportSpectrum

NUMERICAL_ERROR = 1e-30
DIGITS = Context(prec=60, Emin=-999_999, Emax=999_999)
# e^-x is below 1e-36 from here.
_REACH = 83
_NEGLIGIBLE = Decimal("1e-40")

# The probability of each level, all its itemsets together; None is abstaining.
Shares = dict[int | None, Decimal]
# The probability of each stopping rank; None is that no rank stops.
Stops = dict[int | None, Decimal]


def distribution(
    mechanism: Mechanism, levels: Sequence[Level], universe_size: int | None, stops: Stops | None = None
) -> Shares:
    """Return the exact distribution of a mechanism. levels: (support, multiplicity), support >= 1, descending.

    stops: what ranks() returned for its search, where that is known.
    """
    spectrum = SupportSpectrum(levels, universe_size=universe_size)
    with localcontext(DIGITS):
        match mechanism:
            case LargeMargin():
                stops = stops or ranks(mechanism.search(spectrum))
                return _over_ranks(stops, lambda rank: draw(mechanism, spectrum, rank))
            case TightMargin():
                stops = dict(stops or ranks(mechanism.search(spectrum)))
                stops[mechanism.last_rank(spectrum)] = stops.pop(None)
                return _over_ranks(stops, lambda rank: _weighed(mechanism.choice(rank or 1), spectrum))
            case Distance():
                return _distance(mechanism, spectrum)
            case PermuteAndFlip():
                return _first_accepted(_universe(spectrum), mechanism)
            case MaxOfLaplaces():
                return _highest_noisy(_universe(spectrum), mechanism)
            case Exponential() | NamedExponential() | LimitedDomain() | Choosing():
                return _weighed(mechanism, spectrum)
    raise TypeError(f"no exact distribution of {type(mechanism).__name__}")


def _universe(spectrum: SupportSpectrum) -> dict[int, int]:
    return dict([*spectrum.levels(), (0, zeros)] if (zeros := spectrum.zero_multiplicity()) else spectrum.levels())


def divergence(p: Mapping[Any, Decimal], q: Mapping[Any, Decimal], epsilon: Fraction) -> Decimal:
    """Return Σ max(0, p(o) - e^ε q(o)): the least δ for which p is (ε, δ)-close to q."""
    with localcontext(DIGITS):
        growth = _number(epsilon).exp()
        zero = Decimal(0)
        return sum((max(zero, chance - growth * q.get(o, zero)) for o, chance in p.items()), zero)


def _number(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


@lru_cache(maxsize=1 << 18)
def _decay(rate: Fraction, distance: int) -> Decimal:
    """Return e^{-rate * distance}."""
    with localcontext(DIGITS):
        return (-_number(rate * distance)).exp()


def _softmax(candidates: Sequence[Candidate], rate: Fraction) -> Shares:
    highest = max(candidate.support for candidate in candidates)
    shares: Shares = {None: Decimal(0)}
    for candidate in candidates:
        weight = candidate.multiplicity * _decay(rate, highest - candidate.support)
        shares[candidate.level] = shares.get(candidate.level, Decimal(0)) + weight
    total = sum(shares.values(), Decimal(0))
    return {level: weight / total for level, weight in shares.items()}


def _weighed(mechanism: Exponential | NamedExponential | LimitedDomain | Choosing, spectrum: SupportSpectrum) -> Shares:
    rate = weighing.exponential_rate(mechanism.epsilon, mechanism.neighbors)
    shares = _softmax(mechanism.candidates(spectrum), rate)
    if isinstance(mechanism, NamedExponential):  # its level 0 is the unnamed outcome
        shares[None] += shares.pop(0)
    return shares


def _over_ranks(stops: Stops, given: Callable[[int | None], Shares]) -> Shares:
    shares: Shares = {None: Decimal(0)}
    for rank, chance in stops.items():
        for level, share in given(rank).items():
            shares[level] = shares.get(level, Decimal(0)) + chance * share
    return shares


def draw(mechanism: LargeMargin, spectrum: SupportSpectrum, rank: int | None) -> Shares:
    """Return the last stage of the large margin mechanism at a rank; None: no rank stopped."""
    if rank is None:
        if spectrum.universe_size is None:
            return {None: Decimal(1)}
        rank = spectrum.universe_size
    return _softmax(
        mechanism.candidates(spectrum, rank), exact_epsilon(mechanism.epsilon) * large_margin.SELECTION_RATE
    )


def ranks(search: Search) -> Stops:
    """Return the probability of each stopping rank, and of None: no rank up to the last stops."""
    with localcontext(DIGITS):
        slacks = [
            (rank, search.maximum - run.next_support - search.threshold(rank))
            for run in search.runs()
            for rank in range(run.first, run.last + 1)
        ]
        stops: Stops = {rank: Decimal(0) for rank, _ in slacks}
        stops[None] = Decimal(0)
        noise = search.noise
        assert isinstance(noise, OneSidedSteps | TwoSidedSteps)
        for shared, chance in _shared(noise):
            alive = chance
            for rank, slack in slacks:
                stop = alive * _hazard(noise, slack + shared)
                stops[rank] += stop
                alive -= stop
            stops[None] += alive
        return stops


@lru_cache(maxsize=32)
def _shared(noise: OneSidedSteps | TwoSidedSteps) -> list[tuple[int, Decimal]]:
    """Return the values of the noise that all steps share, and their probabilities; the cut tails are at the ends."""
    with localcontext(DIGITS):
        if isinstance(noise, OneSidedSteps):
            reach = math.ceil(_REACH / noise.shared_rate)
            stop = 1 - _decay(noise.shared_rate, 1)
            inner = [(-k, stop * _decay(noise.shared_rate, k)) for k in range(reach)]
            return [*inner, (-reach, _decay(noise.shared_rate, reach))]
        rates = [1 / noise.maximum_scale, 1 / noise.shared_scale]
        reach = math.ceil(_REACH / min(rates))
        # The convolution of two discrete Laplace distributions (docs/privacy.md, equation (6)).
        weights = []
        for this, other in (rates, reversed(rates)):
            a, b = _decay(this, 1), _decay(other, 1)
            weights.append((1 - a) / (1 + a) * (1 - b) ** 2 / ((1 - a * b) * (1 - b / a)))
        return [
            (k, sum((w * _decay(r, abs(k)) for w, r in zip(weights, rates, strict=True)), Decimal(0)))
            for k in range(-reach, reach + 1)
        ]


def _hazard(noise: OneSidedSteps | TwoSidedSteps, slack: int) -> Decimal:
    if isinstance(noise, OneSidedSteps):
        return _decay(noise.step_rate, max(-slack, 0))
    return _laplace_tail(noise.step_scale, 1 - slack)


@lru_cache(maxsize=1 << 18)
def _laplace_tail(scale: Fraction, k: int) -> Decimal:
    """Return P(Z >= k) of discrete Laplace noise."""
    with localcontext(DIGITS):
        if k <= 0:
            return 1 - _laplace_tail(scale, 1 - k)
        return _decay(1 / scale, k) / (1 + _decay(1 / scale, 1))


def _distance(mechanism: Distance, spectrum: SupportSpectrum) -> Shares:
    level, lead = distance.leader(spectrum)
    if level is None:
        return {None: Decimal(1)}
    if spectrum.universe_size == 1:
        return {level: Decimal(1), None: Decimal(0)}
    clears = _laplace_tail(mechanism.scale, mechanism.threshold + mechanism.sensitivity - lead + 1)
    return {level: clears, None: 1 - clears}


def _times(one: list[Decimal], two: list[Decimal]) -> list[Decimal]:
    """Return the product of two polynomials, lowest coefficient first."""
    product = [Decimal(0)] * (len(one) + len(two) - 1)
    for i, x in enumerate(one):
        for j, y in enumerate(two):
            product[i + j] += x * y
    return product


def _integral(factors: Sequence[tuple[Decimal, Decimal, int]]) -> Decimal:
    """Return the integral over x in [0, 1] of the product of (a + bx)^m."""
    product = [Decimal(1)]
    for a, b, m in factors:
        product = _times(product, [math.comb(m, i) * a ** (m - i) * b**i for i in range(m + 1)])
    return sum((c / (i + 1) for i, c in enumerate(product)), Decimal(0))


def _first_accepted(counts: dict[int, int], mechanism: PermuteAndFlip) -> Shares:
    rate = weighing.exponential_rate(mechanism.epsilon, mechanism.neighbors)
    accepted = {level: _decay(rate, max(counts) - level) for level in counts}
    return {
        None: Decimal(0),
        **{
            level: counts[level]
            * accepted[level]
            * _integral([(Decimal(1), -accepted[other], m - (other == level)) for other, m in counts.items()])
            for level in counts
        },
    }


def _highest_noisy(counts: dict[int, int], mechanism: MaxOfLaplaces) -> Shares:
    scale, highest = mechanism.scale, max(counts)
    reach = math.ceil((_REACH + math.log(sum(counts.values()))) * scale)
    shares: Shares = {None: Decimal(0), **dict.fromkeys(counts, Decimal(0))}
    for value in range(highest - reach, highest + reach + 1):
        # P(noisy support <= value - 1) and P(= value), for each level.
        below = {level: 1 - _laplace_tail(scale, value - level) for level in counts}
        at = {level: _laplace_tail(scale, value - level) - _laplace_tail(scale, value - level + 1) for level in counts}
        if math.prod((below[level] + at[level]) ** m for level, m in counts.items()) < _NEGLIGIBLE:
            continue  # some itemset is above for certain
        for level in counts:
            others = [(below[other], at[other], m - (other == level)) for other, m in counts.items()]
            shares[level] += counts[level] * at[level] * _integral(others)
    return shares


def noisy(value: int, scale: Fraction) -> dict[int, Decimal]:
    """Return the distribution of value + Z; what is beyond its reach counts as at its ends."""
    reach = math.ceil(_REACH * scale)
    with localcontext(DIGITS):
        inner = {k: _laplace_tail(scale, k) - _laplace_tail(scale, k + 1) for k in range(-reach, reach + 1)}
        return {value + k: chance for k, chance in inner.items()}


def step_tails(mechanism: LargeMargin, last: int) -> Decimal:
    """Return Σ P(-Z_ℓ > what T̂(ℓ) leaves for it) over the ranks 1 … last (docs/privacy.md, Theorem 2).

    T̂(ℓ) - t(ℓ) less the tails of Z at δ/3 and of G at δ/6. With the shipped T̂ it is at most δ/6.
    """
    epsilon, delta = exact_epsilon(mechanism.epsilon), exact_delta(mechanism.delta)
    maximum, shared, step = mechanism.scales
    total = Decimal(0)
    with localcontext(DIGITS):
        for rank in range(1, last + 1):
            margin = 6 * (1 + _number(3 * rank / delta).ln() / _number(epsilon))
            left = mechanism.integer_threshold(rank) - margin
            for scale, chance in ((maximum, delta / 3), (shared, delta / 6)):
                # The A with e^{-A/b} / (1 + e^{-1/b}) = chance.
                left += _number(scale) * (_number(chance) * (1 + _decay(1 / scale, 1))).ln()
            tail = (-left / _number(step)).exp() / (1 + _decay(1 / step, 1)) if left > 0 else Decimal(1)
            total += tail
    return total
