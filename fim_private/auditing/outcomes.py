"""Output distributions of mechanisms and of their stages, over named itemsets with supports in units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from fim_private.auditing import exact
from fim_private.auditing.digits import DIGITS, decay, laplace_tail, number
from fim_private.auditing.divergence import hockey_stick
from fim_private.auditing.pairs import Counts
from fim_private.auditing.stopping_ranks import Stops, ranks
from fim_private.dp.parameters import exact_delta, exact_epsilon
from fim_private.mechanisms import LargeMargin, Mechanism, TightMargin
from fim_private.mechanisms.base import RankCapped
from fim_private.spectrum import Level, SupportSpectrum

# The probability of each outcome, whatever stands for it.
Outcomes = dict[Any, Decimal]
OutputDistribution = Callable[[Counts], Outcomes]
Spent = Callable[[Counts, Counts], Decimal]

# From this x on, e^-x is below 1e-36.
_REACH = 83
# Stands for infinity where a finite number is needed that a float can hold.
_UNBOUNDED = Decimal("1e300")


def _levels(counts: Counts) -> tuple[Level, ...]:
    """Return the levels (support, multiplicity) of itemsets, descending, those of support 0 left out."""
    supports = [support for support in counts.values() if support]
    return tuple((support, supports.count(support)) for support in sorted(set(supports), reverse=True))


def _named(shares: exact.Shares, counts: Counts, universe: int | None) -> Outcomes:
    """Return the probabilities by name: the itemsets of a level share its probability equally."""
    tied = list(counts.values())
    with localcontext(DIGITS):
        named = {n: shares[c] / tied.count(c) for n, c in counts.items() if c in shares and (c or universe)}
    return {**named, None: shares.get(None, Decimal(0))}


class OutputDistributions:
    """The output distributions of one audit. It remembers those of the ranks, which are most of the work.

    They are not remembered beyond the audit, for the code of a mechanism may be changed before the next one.
    """

    def __init__(self) -> None:
        self._stops: dict[tuple[Mechanism, int | None, tuple[Level, ...]], Stops] = {}
        self._shares: dict[tuple[Mechanism, int | None, tuple[Level, ...]], exact.Shares] = {}

    def itemsets(self, mechanism: Mechanism, universe: int | None) -> OutputDistribution:
        """Return the output distribution of the mechanism over a universe of that size; None: an unknown one."""
        return lambda counts: _named(self._of_levels(mechanism, universe, counts), counts, universe)

    def in_order(
        self, mechanism: Mechanism, universe: int | None, counts: Counts, order: Sequence[str], cap: int | None
    ) -> Outcomes:
        """Return the probabilities by name, None for abstaining, with ties at the cap broken in this order of names.

        mechanism, universe: as for itemsets. counts: the data. cap: the mechanism's on ranks, None for none.
        """
        able = [name for name in order if counts[name] or universe]
        able.sort(key=lambda name: -counts[name])  # stable: ties keep their order
        taken = {name: counts[name] for name in able[:cap]}
        shares, tied = self._of_levels(mechanism, universe, counts), list(taken.values())
        named = {name: shares[support] / tied.count(support) for name, support in taken.items() if support in shares}
        return {**named, None: shares.get(None, Decimal(0))}

    def _of_levels(self, mechanism: Mechanism, universe: int | None, counts: Counts) -> exact.Shares:
        """Return the probabilities of levels, remembered."""
        key = mechanism, universe, _levels(counts)
        if key not in self._shares:
            searched = isinstance(mechanism, LargeMargin | TightMargin)
            stops = self.ranks(mechanism, universe)(counts) if searched else None
            self._shares[key] = exact.distribution(mechanism, key[2], universe, stops)
        return self._shares[key]

    def ranks(self, mechanism: Mechanism, universe: int | None) -> OutputDistribution:
        """Return the distribution of the rank at which the search stops, None for none."""
        assert isinstance(mechanism, LargeMargin | TightMargin)

        def distribution(counts: Counts) -> Outcomes:
            """Return the distribution for some data, remembered."""
            key = mechanism, universe, _levels(counts)
            if key not in self._stops:
                spectrum = SupportSpectrum(key[2], universe_size=universe)
                self._stops[key] = ranks(mechanism.search(spectrum))
            return self._stops[key]

        return distribution

    def bad_stop(self, mechanism: LargeMargin, universe: int | None) -> Spent:
        """Return the probability of stopping at a rank without the margin that the draw relies on (Theorem 2)."""
        ranks = self.ranks(mechanism, universe)

        def spent(one: Counts, two: Counts) -> Decimal:
            stops = ranks(one).items()
            bad = (chance for rank, chance in stops if rank is not None and not _is_good(mechanism, one, rank))
            with localcontext(DIGITS):
                return sum(bad, Decimal(0))

        return spent


def noisy_maximum(mechanism: LargeMargin, epsilon: Fraction) -> Spent:
    """Return the divergence of c(1) + Z, which the paper's proof counts as released."""

    @cache
    def spent(moved: int) -> Decimal:
        """Return the divergence of the noise from itself, moved."""
        return hockey_stick(_noise(0, mechanism.scales[0]), _noise(moved, mechanism.scales[0]), epsilon)

    return lambda one, two: spent(max(two.values()) - max(one.values()))


def good_draw(mechanism: LargeMargin, universe: int | None, rank: int, epsilon: Fraction) -> Spent:
    """Return the divergence of the draws at a rank that is good for the first of the pair (Theorem 2), else 0."""
    distribution = _draw(mechanism, universe, rank)

    def spent(one: Counts, two: Counts) -> Decimal:
        """Return the divergence from one to two where the rank is good, else 0."""
        return (
            hockey_stick(distribution(one), distribution(two), epsilon)
            if _is_good(mechanism, one, rank)
            else Decimal(0)
        )

    return spent


def drawn_by_both(mechanism: LargeMargin, rank: int, epsilon: Fraction) -> Spent:
    """Return the divergence of the draws, over an unknown universe, on itemsets that both of the pair name."""
    distribution = _draw(mechanism, None, rank)

    def spent(one: Counts, two: Counts) -> Decimal:
        p, q = distribution(one), distribution(two)
        return hockey_stick({name: p[name] for name in p if name in q and name is not None}, q, epsilon)

    return spent


def excess_range(
    distributions: OutputDistributions, mechanism: Mechanism, universe: int | None, epsilon: Fraction
) -> Spent:
    """Return by how much the odds of two outcomes change beyond a factor of e^ε, less 1; 0 where they do not.

    Outcomes that only one of the pair has count as abstaining (docs/privacy.md, Theorem 8). Which of the itemsets tied
    at the rank cap are candidates goes by name, in both directions: the theorem is about each order, not about their
    mixture.
    """

    cap = mechanism.max_rank if isinstance(mechanism, RankCapped) else None

    def spent(one: Counts, two: Counts) -> Decimal:
        """Return the largest excess over both orders of names."""
        with localcontext(DIGITS):
            changes = (
                _change(*(distributions.in_order(mechanism, universe, counts, order, cap) for counts in (one, two)))
                for order in (sorted(one), sorted(one, reverse=True))
            )
            return max(Decimal(0), *(change / number(epsilon).exp() - 1 for change in changes))

    return spent


def _change(p: Outcomes, q: Outcomes) -> Decimal:
    """Return by what factor the odds of two outcomes change at most."""
    both = [name for name in p if name is not None and p[name] and q.get(name)]
    rest = [
        sum((chance for name, chance in distribution.items() if name not in both), Decimal(0))
        for distribution in (p, q)
    ]
    if min(rest) < max(rest) and not min(rest):
        return _UNBOUNDED  # one of the two data never abstains
    ratios = [p[name] / q[name] for name in both] + ([rest[0] / rest[1]] if min(rest) else [])
    return max(ratios) / min(ratios) if ratios else Decimal(1)


def _draw(mechanism: LargeMargin, universe: int | None, rank: int) -> OutputDistribution:
    """Return the distribution of the last stage at a rank, by name."""

    def distribution(counts: Counts) -> Outcomes:
        spectrum = SupportSpectrum(_levels(counts), universe_size=universe)
        return _named(exact.draw(mechanism, spectrum, rank), counts, universe)

    return distribution


def _is_good(mechanism: LargeMargin, counts: Counts, rank: int) -> bool:
    """Tell whether c(1) - c(ℓ+1) is above t(ℓ)."""
    supports = [*sorted(counts.values(), reverse=True), *[0] * rank]
    return supports[0] - supports[rank] > margin_certified(mechanism, rank)


@lru_cache(maxsize=1 << 8)
def margin_certified(mechanism: LargeMargin, rank: int) -> float:
    """Return t(ℓ) = 6 (1 + ln(3ℓ/δ)/ε), the margin in units that the draw at rank ℓ relies on (equation (3))."""
    return 6 * (1 + math.log(3 * rank / mechanism.cost.delta) / mechanism.cost.epsilon)


def _noise(moved: int, scale: Fraction) -> dict[int, Decimal]:
    """Return the distribution of moved + Z but for tails below 1e-36."""
    reach = math.ceil(_REACH * scale)
    with localcontext(DIGITS):
        return {moved + k: laplace_tail(scale, k) - laplace_tail(scale, k + 1) for k in range(-reach, reach + 1)}


def step_tails(mechanism: LargeMargin, last: int) -> Decimal:
    """Return Σ P(-Z_ℓ > what T̂(ℓ) leaves for it) over the ranks 1 … last (docs/privacy.md, Theorem 2).

    That is T̂(ℓ) - t(ℓ) less the tails of Z at δ/3 and of G at δ/6. With the shipped T̂ the sum is at most δ/6.
    """
    epsilon, delta = exact_epsilon(mechanism.epsilon), exact_delta(mechanism.delta)
    maximum, shared, step = mechanism.scales
    total = Decimal(0)
    with localcontext(DIGITS):
        for rank in range(1, last + 1):
            margin = 6 * (1 + number(3 * rank / delta).ln() / number(epsilon))
            left = mechanism.integer_threshold(rank) - margin
            for scale, chance in ((maximum, delta / 3), (shared, delta / 6)):
                # The A with e^{-A/b} / (1 + e^{-1/b}) = chance.
                left += number(scale) * (number(chance) * (1 + decay(1 / scale, 1))).ln()
            tail = (-left / number(step)).exp() / (1 + decay(1 / step, 1)) if left > 0 else Decimal(1)
            total += tail
    return total
