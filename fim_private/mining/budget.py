"""The agreement: which selections are run on which part of the budget, decided before the data is read.

The parts are added up, (ε, δ) by (ε, δ), or composed in zero-concentrated privacy where all of them allow that:
whichever lets smaller supports through (docs/privacy.md, Theorem 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from fim_private.counting import Effort, LocalSource
from fim_private.counting.universe import Catalogue, Universe
from fim_private.dp.accounting import zcdp_rho
from fim_private.dp.parameters import Exact, PrivacyCost
from fim_private.dp.randomness import Randomness
from fim_private.mechanisms import Mechanism, limited_domain
from fim_private.mechanisms.registry import LEVELWISE, Terms, counted_universe, maker
from fim_private.mechanisms.top_k import Build, TopK, growth_bound, is_one_pass
from fim_private.mining import noisy_supports as noisy
from fim_private.mining.levelwise import Levelwise
from fim_private.mining.noisy_supports import SupportNoise
from fim_private.mining.release import Itemset, Share
from fim_private.reading.transactions import Transactions
from fim_private.reading.vocabulary import Item

# An itemset found, None for an unnamed one, and its true support: what must not leave together.
Found = tuple[tuple[Item, ...] | None, int]
SUPPORTS_SHARE = Fraction(1, 3)


@dataclass(frozen=True)
class Selection:
    """One selection among the itemsets of some sizes, over a universe, within its part of the budget."""

    run: TopK | Levelwise
    sizes: tuple[int, ...]
    universe: Universe

    def find(self, transactions: Transactions, effort: Effort, randomness: Randomness) -> list[Found]:
        """Return the itemsets picked, in order, with their true supports."""
        source = LocalSource(transactions, effort)
        if isinstance(self.run, Levelwise):
            items = source.spectrum(1, self.universe)
            return [*self.run.find(transactions, items, effort, randomness)]
        spectrum = source.spectrum(self.sizes, self.universe)
        levels = [pick.level for pick in self.run.select(spectrum, randomness) if pick.level is not None]
        nameless = spectrum.universe_size is None
        names = iter(spectrum.sample_itemsets([level for level in levels if level or not nameless], randomness))
        return [(None if nameless and not level else next(names), level) for level in levels]


@dataclass(frozen=True)
class SupportsBudget:
    """What the supports may spend: rho of a larger sum, or (epsilon, delta), delta None where none is needed."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None

    def noise(self, count: int) -> SupportNoise:
        """Return the noise for that many supports."""
        if self.rho is not None:
            return SupportNoise.for_rho(self.rho, count)
        assert self.epsilon is not None
        return SupportNoise.for_budget(self.epsilon, self.delta, count)


@dataclass(frozen=True)
class Agreement:
    """What is decided before the data is read.

    selections: what is run, one after the other. supports: the budget of their noisy supports, None where these are
    not released. cost, shares: what all of it spends.
    """

    selections: tuple[Selection, ...]
    supports: SupportsBudget | None
    cost: PrivacyCost
    shares: tuple[Share, ...]

    @property
    def lead(self) -> float:
        """The largest lead that a selection asks for, to compare splits."""
        return max(selection.run.lead for selection in self.selections)

    def published(self, found: list[Found], randomness: Randomness) -> tuple[tuple[Itemset, ...], SupportNoise | None]:
        """Return the itemsets as they may leave, without supports or with noisy ones, and the noise."""
        named = [(items, support) for items, support in found if items is not None]
        unnamed = [Itemset(None) for items, _ in found if items is None]
        if self.supports is None or not named:
            return tuple(Itemset(items) for items, _ in found), None
        # How many itemsets came out is public by now: there is noise for so many, not for all that were asked for.
        noise = self.supports.noise(len(named))
        values = noisy.release([support for _, support in named], noise, randomness=randomness)
        sets = [items for items, _ in named]
        consistent = noisy.consistent(sets, values, noise.half_width)
        rows = zip(sets, consistent.estimates, consistent.lower, consistent.upper, strict=True)
        itemsets = [Itemset(items, estimate, (lower, upper)) for items, estimate, lower, upper in rows]
        return (*sorted(itemsets, key=lambda itemset: -(itemset.support or 0)), *unnamed), noise


def agree(
    mechanism: str, terms: Terms, epsilon: Fraction, delta: Fraction, *, union: bool, supports_share: Fraction | None
) -> Agreement:
    """Split (epsilon, delta): supports_share of it for the supports, the rest in equal parts, one for each selection.

    There is one selection for each size, or with union one among all sizes. Raises ParameterError for a mechanism
    that the terms do not allow.
    """
    universe = counted_universe(mechanism, terms.universe)
    if isinstance(universe, Catalogue):
        for size in terms.sizes:
            universe.candidates(size)
    groups = [replace(terms, sizes=terms.sizes if union else (size,)) for size in terms.sizes[: 1 if union else None]]
    supports = Fraction(0) if supports_share is None else supports_share
    ways = [_by_addition(mechanism, groups, universe, epsilon, delta, supports)]
    if (way := _concentrated(mechanism, groups, universe, epsilon, delta, supports)) is not None:
        ways.append(way)
    return min(ways, key=lambda way: way.lead)


def _by_addition(
    mechanism: str, groups: Sequence[Terms], universe: Universe, epsilon: Fraction, delta: Fraction, supports: Fraction
) -> Agreement:
    budget, shares, spent = None, [], Fraction(0)
    rest = delta
    if supports:
        needs_delta = SupportNoise.for_budget(epsilon * supports, delta * supports, _wanted(groups)).parameter
        laplace = SupportNoise.for_budget(epsilon * supports, None, _wanted(groups)).parameter
        spent = Fraction(0) if needs_delta == laplace else delta * supports
        budget = SupportsBudget(epsilon * supports, spent or None)
        rest -= spent
        shares.append(Share("supports", _sizes(groups), supports, Exact(epsilon * supports), Exact(spent)))
    part, part_delta = epsilon * (1 - supports) / len(groups), rest / len(groups)
    selections = []
    for terms in groups:
        run = _run_by_addition(mechanism, terms, part, part_delta)
        own = part_delta if isinstance(run, Levelwise) or run.mechanism.cost.delta else Fraction(0)
        spent += own
        selections.append(Selection(run, terms.sizes, universe))
        fraction = (1 - supports) / len(groups)
        shares.insert(len(selections) - 1, Share("selection", terms.sizes, fraction, Exact(part), Exact(own)))
    return Agreement(tuple(selections), budget, PrivacyCost(epsilon, spent), tuple(shares))


def _concentrated(
    mechanism: str, groups: Sequence[Terms], universe: Universe, epsilon: Fraction, delta: Fraction, supports: Fraction
) -> Agreement | None:
    """Compose all parts in zero-concentrated privacy, where the mechanism's picks are bounded-range."""
    growth = growth_bound(epsilon)
    picks = None if mechanism == LEVELWISE else maker(mechanism)(epsilon, delta, groups[0])
    if growth is None or not (picks is None or is_one_pass(picks)):
        return None
    pure = picks is not None and not picks.cost.delta
    composing = delta if pure else delta / 2
    rho = zcdp_rho(epsilon, composing)
    part = rho * (1 - supports) / len(groups)
    bottom_delta = delta / 2 / (1 + growth) / len(groups)
    selections = [
        Selection(_run_concentrated(mechanism, terms, part, bottom_delta), terms.sizes, universe) for terms in groups
    ]
    shares = [Share("selection", terms.sizes, part / rho, rho=Exact(part)) for terms in groups]
    if supports:
        shares.append(Share("supports", _sizes(groups), supports, rho=Exact(rho * supports)))
    budget = SupportsBudget(rho=rho * supports) if supports else None
    return Agreement(tuple(selections), budget, PrivacyCost(epsilon, delta), tuple(shares))


def _run_by_addition(mechanism: str, terms: Terms, epsilon: Fraction, delta: Fraction) -> TopK | Levelwise:
    if mechanism == LEVELWISE:
        rank = terms.rank(limited_domain.DEFAULT_MAX_RANK)
        return Levelwise.by_addition(terms.sizes, terms.top, epsilon, delta, terms.neighbors, rank)
    return TopK.by_addition(_build(mechanism, terms), terms.top, epsilon, delta)


def _run_concentrated(mechanism: str, terms: Terms, rho: Fraction, bottom_delta: Fraction) -> TopK | Levelwise:
    if mechanism == LEVELWISE:
        rank = terms.rank(limited_domain.DEFAULT_MAX_RANK)
        return Levelwise.concentrated(terms.sizes, terms.top, rho, bottom_delta, terms.neighbors, rank)
    return TopK.concentrated(_build(mechanism, terms), terms.top, rho, bottom_delta)


def _build(mechanism: str, terms: Terms) -> Build:
    make = maker(mechanism)

    def build(epsilon: Fraction, delta: Fraction) -> Mechanism:
        return make(epsilon, delta, terms)

    return build


def _wanted(groups: Sequence[Terms]) -> int:
    return sum(terms.top for terms in groups)


def _sizes(groups: Sequence[Terms]) -> tuple[int, ...]:
    return tuple(size for terms in groups for size in terms.sizes)
