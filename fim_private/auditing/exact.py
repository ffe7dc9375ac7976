"""Output distributions of the mechanisms to thirty digits, for spectra of a few itemsets.

What a mechanism computes in whole and rational numbers (candidates, thresholds, scales, rates) is taken from it, so
that a broken mechanism is audited as it is. The arithmetic on them is done here once more, in decimals of 60 digits;
infinite sums are in closed form (`exponential_sums`). NUMERICAL_ERROR bounds how far a divergence is off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

from fim_private.auditing.digits import DIGITS, decay, laplace_tail
from fim_private.auditing.highest_noisy import highest_shares, one_left_out
from fim_private.auditing.stopping_ranks import Stops, ranks
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
from fim_private.mechanisms.registry import spec_of
from fim_private.spectrum import Level, SupportSpectrum

NUMERICAL_ERROR = 1e-30
# The probability of each level, all its itemsets together; None is abstaining.
Shares = dict[int | None, Decimal]


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


def _distance(mechanism: Distance, spectrum: SupportSpectrum) -> Shares:
    """Return the distribution of the distance mechanism."""
    level, margin = distance.leader(spectrum)
    if level is None:
        return {None: Decimal(1)}
    if spectrum.universe_size == 1:
        return {level: Decimal(1), None: Decimal(0)}
    clears = laplace_tail(mechanism.scale, mechanism.threshold + mechanism.sensitivity - margin + 1)
    return {level: clears, None: 1 - clears}


def _first_accepted(counts: dict[int, int], mechanism: PermuteAndFlip) -> Shares:
    """Return the integral over a time t in [0, 1] of m p/(1 - pt) Π (1 - pt)^m for each level (Theorem 9)."""
    accepted = {level: decay(mechanism.rate, max(counts) - level) for level in counts}
    others = one_left_out([(Decimal(1), -accepted[level], m) for level, m in counts.items()])
    of_levels = zip(counts.items(), others, strict=True)
    return {None: Decimal(0)} | {level: m * accepted[level] * other for (level, m), other in of_levels}


def _highest_noisy(counts: dict[int, int], mechanism: MaxOfLaplaces) -> Shares:
    """Return the distribution of the highest noisy support over a public universe."""
    shares = highest_shares(mechanism.scale, tuple((max(counts) - level, m) for level, m in counts.items()))
    return {None: Decimal(0)} | dict(zip(counts, shares, strict=True))
