"""What an audit holds a mechanism to: the guarantee of the whole, and one for each of its stages."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from fim_private.auditing.divergence import hockey_stick
from fim_private.auditing.outcomes import (
    Outcomes,
    OutputDistribution,
    OutputDistributions,
    drawn_by_both,
    excess_range,
    good_draw,
    margin_certified,
    noisy_maximum,
    step_tails,
)
from fim_private.auditing.pairs import NAMES, Counts, Pair, are_neighbors
from fim_private.auditing.stopping_ranks import ranks
from fim_private.dp.parameters import Neighbors, exact_epsilon
from fim_private.mechanisms import LargeMargin, Mechanism, TightMargin
from fim_private.mechanisms.base import BoundedContribution
from fim_private.mechanisms.mechanism_spec import BasketCap, MechanismSpec, RankCap, UniverseNeed
from fim_private.mechanisms.registry import spec_of
from fim_private.mechanisms.top_k import bounded_range_of
from fim_private.spectrum import SupportSpectrum

# These replace the rank caps, and the limits on the itemsets of one unit.
CAPS = (1, 3)
MOST_NEW = 4
# That of limited-domain is below its largest cap: there it makes abstaining lighter.
_FEW_NEW = 2
# The last rank of the search in _hard_search.
_LAST = 5


@dataclass(frozen=True)
class Guarantee:
    """A guarantee (epsilon, delta) of a part of a mechanism in some setting.

    spent: what of delta a pair of neighbours uses, from the first to the second. pairs: those it is held to; None: all
    of the audit.
    """

    name: str
    setting: str
    epsilon: Fraction
    delta: Fraction
    spent: Callable[[Counts, Counts], Decimal]
    pairs: Sequence[Pair] | None = None


def settings(mechanism: Mechanism) -> list[tuple[Mechanism, int | None, str]]:
    """Return (mechanism, universe size or None, words) for each setting that the mechanism allows.

    Caps are small; the universe is unknown, or known and small.
    """
    spec = spec_of(mechanism)
    known: tuple[int | None, str] = len(NAMES), "known universe"
    unknown: tuple[int | None, str] = None, "unknown universe"
    universes = {UniverseNeed.LISTED: [known], UniverseNeed.COUNTED: [unknown]}.get(spec.universe, [unknown, known])
    small = _at_small_limits(mechanism, spec)
    if spec.rank_cap is RankCap.NONE:
        return [(small, universe, what) for universe, what in universes]
    return [
        (_with(small, max_rank=cap), universe, f"{what}, max_rank {cap}")
        for cap in CAPS
        for universe, what in universes
        # A known universe is searched to its end, whatever the cap.
        if not (spec.rank_cap is RankCap.SEARCH and universe is not None and cap != CAPS[0])
    ]


def most_new(mechanism: Mechanism) -> int | None:
    """Return how many itemsets one unit supports at most in an audit of this mechanism; None: no limit."""
    spec = spec_of(mechanism)
    return MOST_NEW if spec.universe is UniverseNeed.COUNTED or spec.basket_cap is BasketCap.NEEDED else None


def _at_small_limits(mechanism: Mechanism, spec: MechanismSpec) -> Mechanism:
    """Return the mechanism with small limits on a unit's itemsets, where it has any."""
    if spec.universe is UniverseNeed.COUNTED:
        return _with(mechanism, universe_size=MOST_NEW)
    if not isinstance(mechanism, BoundedContribution) or mechanism.max_itemsets is None:
        return mechanism
    if spec.basket_cap is BasketCap.NEEDED:
        return _with(mechanism, max_itemsets=MOST_NEW)
    return _with(mechanism, max_itemsets=min(mechanism.max_itemsets, _FEW_NEW))


def _with(mechanism: Any, **changes: int) -> Mechanism:
    """Return a mechanism with some parameters replaced."""
    changed: Mechanism = replace(mechanism, **changes)
    return changed


def guarantees_of(mechanism: Mechanism, distributions: OutputDistributions) -> list[list[Guarantee]]:
    """Return the guarantees in every setting: first a list for the whole, then one for each stage."""
    epsilon, delta = mechanism.cost.epsilon, mechanism.cost.delta
    all_settings = settings(mechanism)
    guarantees = [
        [
            _possible(m, _guarantee("whole", what, epsilon, delta, distributions.itemsets(m, u)))
            for m, u, what in all_settings
        ]
    ]
    if theorem := bounded_range_of(mechanism):
        name, nothing = f"bounded range ({theorem})", Fraction(0)
        guarantees.append(
            [
                _possible(m, Guarantee(name, what, epsilon, nothing, excess_range(distributions, m, u, epsilon)))
                for m, u, what in all_settings
            ]
        )
    if isinstance(mechanism, LargeMargin):
        guarantees += _large_margin_stages(mechanism, epsilon, delta, distributions)
    if isinstance(mechanism, TightMargin):
        search = epsilon * (Fraction(mechanism.shared_share) + Fraction(mechanism.step_share))
        guarantees += [
            [
                *(
                    _guarantee("rank search", what, search, Fraction(0), distributions.ranks(m, u))
                    for m, u, what in all_settings
                ),
                _hard_search(mechanism, search),
            ],
            [
                _guarantee(
                    f"choice at rank {cap}",
                    what,
                    mechanism.selection_epsilon,
                    delta,
                    distributions.itemsets(m.choice(cap), u),
                )
                for cap in CAPS
                for m, u, what in all_settings[:2]
                if isinstance(m, TightMargin)
            ],
        ]
    return guarantees


def _large_margin_stages(
    mechanism: LargeMargin, epsilon: Fraction, delta: Fraction, distributions: OutputDistributions
) -> list[list[Guarantee]]:
    """Return the guarantees of the steps of docs/privacy.md, Theorems 1 to 3, each with its part of the whole."""
    replaced = Neighbors(mechanism.neighbors) is Neighbors.REPLACE_ONE
    all_settings = [(m, u, what) for m, u, what in settings(mechanism) if isinstance(m, LargeMargin)]
    nothing = Fraction(0)
    search = epsilon / (2 if replaced else 4)

    tails = step_tails(mechanism, 8)

    return [
        [Guarantee("noisy maximum", "", epsilon / 3, nothing, noisy_maximum(mechanism, epsilon / 3))],
        [
            *(
                _guarantee("rank search", what, search, nothing, distributions.ranks(m, u))
                for m, u, what in all_settings
            ),
            _hard_search(mechanism, search),
        ],
        [Guarantee("noise of the steps", "ranks 1 to 8", nothing, delta / 6, lambda one, two: tails)],
        [
            Guarantee("margin", what, nothing, 2 * delta / 3, distributions.bad_stop(m, u))
            for m, u, what in all_settings
        ],
        [
            Guarantee(f"draw at rank {rank}", what, epsilon / 3, delta / 3, good_draw(m, u, rank, epsilon / 3))
            for m, u, what in all_settings[:2]
            for rank in (1, 2, 3)
        ]
        + [_hard_draw(mechanism, epsilon / 3, delta / 3)],
        [_named_draw(mechanism, epsilon / (3 if replaced else 6))],
    ]


def _hard_search(mechanism: LargeMargin | TightMargin, epsilon: Fraction) -> Guarantee:
    """Hold the search to its guarantee where that is used up: ranks 1 to 4 ought to stop, and the last ought not.

    The guarantee holds for any thresholds: here they are 0, and then a high one. To reach the last rank all noise must
    lie to one side. Then the margins of ranks 1 to 4 grow, and that of the last stays as it is.
    """
    unit = math.ceil(30 / exact_epsilon(mechanism.cost.epsilon))
    replaced = Neighbors(mechanism.neighbors) is Neighbors.REPLACE_ONE

    def distribution(counts: Counts) -> Outcomes:
        search = mechanism.search(SupportSpectrum.from_supports(counts.values()))
        return ranks(replace(search, threshold=lambda rank: 0 if rank < _LAST else 2 * unit, last_rank=_LAST))

    before = dict.fromkeys(NAMES[:6], 6 * unit) | {"a": 7 * unit, "f": 6 * unit - (2 if replaced else 1)}
    after = {n: c + (n in "af") - (replaced and n in "bcde") for n, c in before.items()}
    return replace(
        _guarantee("rank search", "thresholds for the worst", epsilon, Fraction(0), distribution),
        pairs=[(before, after)],
    )


def _hard_draw(mechanism: LargeMargin, epsilon: Fraction, delta: Fraction) -> Guarantee:
    """Hold the draw to its guarantee where that is used up: one itemset rises, and all others fall or stay."""
    support = math.ceil(2 * margin_certified(mechanism, len(NAMES)))
    replaced = Neighbors(mechanism.neighbors) is Neighbors.REPLACE_ONE
    before = dict.fromkeys(NAMES, support) | {"a": support - 1}
    after = {n: c + (n == "a") - (replaced and n != "a") for n, c in before.items()}
    rank = len(NAMES)
    spent = good_draw(mechanism, None, rank, epsilon)
    return Guarantee(f"draw at rank {rank}", "unknown universe", epsilon, delta, spent, [(before, after)])


def _named_draw(mechanism: LargeMargin, epsilon: Fraction) -> Guarantee:
    """Hold the draw of an itemset that both data name to a ratio of e^(ε/3), with no δ (docs/privacy.md, Theorem 3).

    That needs no margin, but the zeros: without their weight in the sum, a unit whose itemsets are new would lower all
    other probabilities by more. Under add-remove weights and their sum move the same way, so the ratio is e^(ε/6).
    """
    support, nothing = math.ceil(12 / exact_epsilon(mechanism.epsilon)), dict.fromkeys(NAMES, 0)
    replaced = Neighbors(mechanism.neighbors) is Neighbors.REPLACE_ONE
    new, all_high = nothing | {"a": support, "b": 2}, dict.fromkeys(NAMES, support)
    pairs = [
        (new, {n: c - 1 if replaced and n == "b" else c + (n != "b") for n, c in new.items()}),
        (all_high, {n: c + 1 if n == "a" else c - replaced for n, c in all_high.items()}),
    ]
    spent = drawn_by_both(mechanism, len(NAMES), epsilon)
    return Guarantee("draw of what both name", "unknown universe, all ranks", epsilon, Fraction(0), spent, pairs)


def _possible(mechanism: Mechanism, guarantee: Guarantee) -> Guarantee:
    """Hold a mechanism that limits a unit's itemsets to its guarantee for changes that such a unit can make."""
    most = mechanism.max_itemsets if isinstance(mechanism, BoundedContribution) else None
    if most is None or most_new(mechanism) is not None:  # then all pairs are of such units
        return guarantee

    def spent(one: Counts, two: Counts) -> Decimal:
        possible = are_neighbors(one, two, mechanism.neighbors, most)
        return guarantee.spent(one, two) if possible else Decimal(0)

    return replace(guarantee, spent=spent)


def _guarantee(
    name: str, setting: str, epsilon: Fraction, delta: Fraction, distribution: OutputDistribution
) -> Guarantee:
    """Return the guarantee that an output distribution is (epsilon, delta)-private."""
    return Guarantee(
        name,
        setting,
        epsilon,
        delta,
        lambda one, two: hockey_stick(distribution(one), distribution(two), epsilon),
    )
