"""How the budget of a run is split, and how the steps are carried out and charged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fim_private.counting.source import Catalogue, Found, SizedUniverse, SupportSource, Universe, UnknownUniverse
from fim_private.dp.charge import Account, Charge, Charged
from fim_private.dp.composition import gdp_mu
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost, at_least
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import EPSILON_RANGE
from fim_private.errors import ParameterError, parameter
from fim_private.levelwise.levelwise import Levelwise, Reaching, levelwise, reaching
from fim_private.mechanisms import Mechanism, registry
from fim_private.mechanisms.base import PublicParameters
from fim_private.mechanisms.registry import MechanismSpec
from fim_private.mechanisms.top_k import Build, TopK, is_bounded_range, shortfall
from fim_private.reading.labels import Item
from fim_private.reading.options import Options
from fim_private.reading.transactions import Transactions
from fim_private.request import supports as noisy_supports
from fim_private.request.itemsets import Itemset, parts_of
from fim_private.request.request import MiningOptions, Scope, read_by
from fim_private.request.supports import CONFIDENCE, SUPPORT_CONFIDENCE, MinSupport, SupportNoise, UnitCount

# -------------------- budget share
# Parts of a budget, as a release tells them.

# What the steps of levelwise are for, in words.
_STEPS = {
    "count": "the number of units",
    "items": "finding items",
    "candidates": "finding sets of them",
    **dict.fromkeys(("first count", "histogram", "second count", "item count", "set count"), "counting these"),
}


@dataclass(frozen=True)
class Share:
    """One part of the budget, and what it was spent on.

    purpose: "selection" or "supports"; "size" for choosing one; with levelwise "items", "candidates", "first count",
        "histogram" and "second count" for the steps of its selection.
    sizes: of the itemsets it is about. fraction: the part, of 1.
    epsilon, delta: what it spends under basic composition; None where the parts are composed in zCDP, where rho is what
    it spends, or in Gaussian differential privacy, where mu_squared is. All are exact: together they are the whole.
    """

    purpose: str
    sizes: tuple[int, ...]
    fraction: Fraction
    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None
    mu_squared: Exact | None = None

    @property
    def in_zcdp(self) -> Fraction:
        """The ρ that it spends: of (ε, δ) it is ε²/2, δ-approximately, and of Gaussian privacy μ²/2 (Theorem 18)."""
        if self.rho is not None:
            return Fraction(self.rho)
        if self.mu_squared is not None:
            return self.mu_squared / 2
        return (self.epsilon or Fraction(0)) ** 2 / 2

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, the budget rounded up to floats."""
        return {
            "purpose": self.purpose,
            "sizes": self.sizes,
            "fraction": float(self.fraction),
            **{name: None if part is None else float(part) for name, part in self._spent.items()},
        }

    @property
    def _spent(self) -> dict[str, Exact | None]:
        """What it spends, by name."""
        spent = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return spent if self.mu_squared is None else {**spent, "mu_squared": self.mu_squared}

    @property
    def in_words(self) -> str:
        """What it is for, in words."""
        if self.purpose != "selection":
            return _STEPS.get(self.purpose, self.purpose)
        sizes = str(self.sizes[0]) if len(self.sizes) == 1 else f"{self.sizes[0]}-{self.sizes[-1]}"
        return f"selection of size {sizes}"


def parts_in_words(shares: Sequence[Share]) -> dict[str, Fraction]:
    """Return the part of the budget that each purpose has; parts of one purpose (levelwise has many) as one."""
    parts: dict[str, Fraction] = {}
    for share in shares:
        parts[share.in_words] = parts.get(share.in_words, Fraction(0)) + share.fraction
    return parts


# -------------------- allocation
# What is decided before the data is read, and how it is carried out: selections, and noise on supports.

_NONE = Fraction(0)


@dataclass(frozen=True)
class AllocatedSelection:
    """One selection among the itemsets of some sizes, over a universe, with its part of the budget.

    is_cut: whether only a part of long baskets, or of users, is counted.
    """

    run: TopK | Levelwise | Reaching
    sizes: tuple[int, ...]
    universe: Universe
    is_cut: bool = False

    def find(self, source: SupportSource, randomness: Randomness, threshold: int | None = None) -> list[Found]:
        """Return the itemsets selected, in order, with their true supports in units; fewer if it abstained.

        threshold: the support that is asked for, in units, where one is; of picks it is asked afterwards.
        Raises WorkLimitError where counting is out of reach, ParameterError where the mechanism cannot run.
        """
        if isinstance(self.run, Reaching):
            assert threshold is not None
            return self.run.find(source, self.universe, threshold, randomness)
        if isinstance(self.run, Levelwise):
            return self.run.find(source, self.universe, randomness)
        spectrum = source.spectrum(self.sizes, self.universe)
        levels = [chosen.level for chosen in self.run.select(spectrum, randomness) if chosen.level is not None]
        nameless = spectrum.universe_size is None
        names = iter(spectrum.sample_itemsets([level for level in levels if level or not nameless], randomness))
        return [Found(None if nameless and not level else next(names), level) for level in levels]

    def shortfall(self, selections: int = 1) -> int | None:
        """By how many units at most something that was passed over beats what was picked, with 95 % probability.

        selections: of how many such this is one, if it is said of all of them together, >= 1.
        None where no such number follows from public parameters, where baskets are cut, so that what was passed over
        has more support than was counted, and where it was not picked.
        """
        if not isinstance(self.run, TopK) or self.is_cut:
            return None
        known = None if isinstance(self.universe, UnknownUniverse) else sum(map(self.universe.candidates, self.sizes))
        return shortfall(self.run.mechanism, known, self.run.count * selections)

    def with_doubts(self, itemsets: Sequence[Itemset], common: int = 0) -> list[Itemset]:
        """Return itemsets with supports, those of this selection with whether they may not be the most frequent.

        Something that was passed over has at most `shortfall` units more than the least of those picked. Of one pick
        that says nothing new, and where levelwise counts it has told already. common: by how many units two intervals
        may come closer together, since both have the same noise in part.
        """
        picked = [one for one in itemsets if one.items is not None and len(one.items) in self.sizes]
        most_left_out = self.shortfall()
        if most_left_out is None or not isinstance(self.run, TopK) or self.run.count == 1 or not picked:
            return [*itemsets]
        cut = most_left_out + min(one.interval[1] for one in picked if one.interval is not None) - common
        return [
            replace(one, doubtful=not one.interval[0] or one.interval[0] <= cut)
            if one in picked and one.interval is not None
            else one
            for one in itemsets
        ]


@dataclass(frozen=True)
class SupportsBudget:
    """What the noisy supports may spend: rho of zCDP, or μ² of GDP, or epsilon and, unless None, delta.

    with_units: whether the number of units comes with them, by two normals: of rho or μ², under add-remove.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    mu_squared: Fraction | None = None
    with_units: bool = False

    @property
    def normal(self) -> Fraction:
        """The μ² that it may spend, of which μ-GDP is as private as ρ-zCDP where that is what it may."""
        return 2 * (self.rho or _NONE) if self.mu_squared is None else self.mu_squared

    def noise(self, count: int) -> SupportNoise:
        """Return the noise for that many supports, count >= 1."""
        if self.with_units:
            return SupportNoise.with_units(self.normal, count)
        if self.rho is not None:
            return SupportNoise.for_rho(self.rho, count)
        if self.mu_squared is not None:
            return SupportNoise.for_mu_squared(self.mu_squared, count)
        assert self.epsilon is not None
        return SupportNoise.for_budget(self.epsilon, self.delta, count)


@dataclass(frozen=True)
class Published:
    """What leaves of what was found: itemsets, the noise of their supports, and the parts of them with supports.

    noise: None where no supports leave. units: how many there are, None where that is not released. parts: every part
    of the itemsets that is not among them, where they were asked for.
    """

    itemsets: tuple[Itemset, ...]
    noise: SupportNoise | None
    units: UnitCount | None = None
    parts: tuple[Itemset, ...] = ()


@dataclass(frozen=True)
class BudgetAllocation:
    """What is decided before the data is read.

    selections: what is run, one after the other. supports: the budget of their noisy supports, None where none are
    released. count: that of a noisy number of units, None where none is bought.
    cost: what all of it spends. shares: the same, part by part. zcdp: what it spends in zCDP, where the budget is a ρ.
    leaves_out: whether itemsets are not published that do not stand out from the noise of their supports.
    min_support: the least support that is asked for, None where the most frequent are. most: how many itemsets are
    looked at then, at most. naming: what of δ names what only one unit has, beside the deltas of the shares.
    """

    selections: tuple[AllocatedSelection, ...]
    supports: SupportsBudget | None
    cost: PrivacyCost
    shares: tuple[Share, ...]
    zcdp: ZcdpCost | None = None
    count: SupportsBudget | None = None
    leaves_out: bool = False
    min_support: MinSupport | None = None
    most: int | None = None
    naming: Fraction = Fraction(0)

    @property
    def concentrated(self) -> ZcdpCost:
        """What it spends in zCDP, whatever it is composed in: a bound (docs/privacy.md, Theorem 18)."""
        added_up = any(share.purpose == "selection" and share.epsilon is not None for share in self.shares)
        rho = sum((share.in_zcdp for share in self.shares if not (added_up and share.purpose == "selection")), _NONE)
        if added_up:
            rho += sum((picks.concentrated for picks in self.picks), _NONE)
        return ZcdpCost(rho, self.naming + sum((share.delta or _NONE for share in self.shares), _NONE))

    def find(self, source: SupportSource, randomness: Randomness, threshold: int | None = None) -> list[Found]:
        """Return the itemsets that its selections find, in order; threshold: in units, if any."""
        return [itemset for each in self.selections for itemset in each.find(source, randomness, threshold)]

    @property
    def picks(self) -> list[TopK]:
        """The selections that are picks, not levelwise."""
        return [selection.run for selection in self.selections if isinstance(selection.run, TopK)]

    @property
    def margin(self) -> float:
        """The largest margin that a selection asks for, estimated, in units: to compare allocations."""
        return max(picks.margin for picks in self.picks)

    def published(
        self,
        found: list[Found],
        randomness: Randomness,
        units: UnitCount | None = None,
        count_parts: Callable[[Sequence[tuple[Item, ...]]], Sequence[int]] | None = None,
        *,
        true_units: int = 0,
    ) -> Published:
        """Return the itemsets as they may leave, and the noise of their supports; without supports, None for it.

        units: how many there are, None where that is not released. count_parts: gives the true supports of the parts
        of what was found, where these are to leave as well; which they are follows from what was found, that is, from
        what is public by then. true_units: how many there are; it leaves with noise where supports have two normals,
        and then in place of `units`, also where nothing was found.

        With supports, itemsets are in descending order of noisy support, unnamed ones last; where leaves_out says so,
        only those whose intervals lie above 0. (Picks name itemsets however rare they are. Where levelwise counts, it
        has left out its own, by other noise, so that its intervals cover as they say.) Where a least support is asked
        for, only those whose noisy support is as much, doubtful if by the noise alone they may have less.
        """
        named = [one for one in found if one.items is not None]
        unnamed = [Itemset(None) for one in found if one.items is None]
        if self.supports is None or not named:
            if self.supports is not None and self.supports.with_units:
                noise = SupportNoise.for_mu_squared(self.supports.normal, 1)
                units = UnitCount.noisy(true_units, noise, randomness)
            return Published(tuple(Itemset(one.items, doubtful=one.doubtful) for one in found), None, units)
        sets, supports = [one.items or () for one in named], [one.support for one in named]
        parts = [] if count_parts is None else parts_of(sets)
        if count_parts is not None and parts:
            supports += count_parts(parts)
        # How many came out is public by now: the noise is for so many, not for all that were asked for.
        noise = self.supports.noise(len(supports))
        values, units = released(supports, noise, randomness, units, true_units)
        if self.min_support is None:
            made = told([*sets, *parts], values, noise, units)
            itemsets = [replace(each, doubtful=one.doubtful) for each, one in zip(made, named, strict=False)]
            for selection in self.selections:
                itemsets = selection.with_doubts(itemsets, noise.common_reach)
        else:
            # As they were drawn, before inclusion changes them.
            threshold = self.min_support.threshold(units)
            enough = [place for place in range(len(sets)) if values[place] >= threshold * noise.steps]
            others = [] if count_parts is None else sorted({*range(len(values))}.difference(enough))
            order = [*enough, *others]
            kept = [[*sets, *parts][place] for place in order], [values[place] for place in order]
            made = told(*kept, noise, units)
            if self.min_support.share is not None and noise.of_units is not None:
                sure = [
                    one.share_interval is not None and one.share_interval[0] >= self.min_support.share for one in made
                ]
            else:
                reach = noise.reach(self.min_support.confidence(units))
                lowest = noisy_supports.consistent(*kept, reach, noise.steps).lower
                sure = [self.min_support.is_certain(low, units) for low in lowest]
            itemsets = [
                replace(each, doubtful=not certain) for each, certain in zip(made[: len(enough)], sure, strict=False)
            ]
        left = [one for one in itemsets if not self.leaves_out or (one.interval or (0,))[0] > 0]
        left.sort(key=lambda itemset: -(itemset.support or 0))
        needed = {*parts_of([one.items or () for one in left])} if count_parts is not None else set()
        return Published((*left, *unnamed), noise, units, tuple(one for one in made if one.items in needed))

    @property
    def shortfall(self) -> int | None:
        """The largest of its selections, each among the itemsets of its sizes; None where one of them has none."""
        each = [selection.shortfall(len(self.selections)) for selection in self.selections]
        known = [one for one in each if one is not None]
        return max(known) if known and len(known) == len(each) else None


def told(
    itemsets: Sequence[tuple[Item, ...]], values: Sequence[int], noise: SupportNoise, units: UnitCount | None
) -> list[Itemset]:
    """Return itemsets with what their noisy supports tell: estimates, intervals, and intervals of shares.

    itemsets: (k,), all different. values: (k,) their supports with this noise, as `released` returns them. units: as
    in `published`.
    """
    made = noisy_supports.consistent(itemsets, values, noise.reach(CONFIDENCE), noise.steps)
    shares: Sequence[tuple[float, float] | None] = [None] * len(itemsets)
    if units is not None and noise.of_units is not None:
        ends = noisy_supports.extremes(itemsets, values)
        shares = [noise.share_interval(units.number, *pair) for pair in ends]
    elif units is not None and units.noise is not None:
        wider = noisy_supports.consistent(itemsets, values, noise.within(SUPPORT_CONFIDENCE))
        shares = [units.share_interval(*bounds) for bounds in zip(wider.lower, wider.upper, strict=True)]
    intervals = zip(made.lower, made.upper, strict=True)
    rows = zip(itemsets, made.estimates, intervals, shares, strict=True)
    return [Itemset(items, estimate, bounds, share_interval=own) for items, estimate, bounds, own in rows]


def released(
    supports: Sequence[int], noise: SupportNoise, randomness: Randomness, units: UnitCount | None, true_units: int
) -> tuple[Sequence[int], UnitCount | None]:
    """Return supports with noise, in steps of its grid, and the number of units: the one given, or that of the noise.

    true_units: how many there are.
    """
    if noise.of_units is None:
        return noisy_supports.release(supports, noise, randomness=randomness), units
    values, number = noisy_supports.release_with_units(supports, true_units, noise, randomness=randomness)
    return values, UnitCount(max(number, 0), noise.number)


def counted_units(
    source: SupportSource, budget: SupportsBudget | None, randomness: Randomness, *, public: bool
) -> UnitCount | None:
    """Return how many units there are, exactly where that is public; None where it is not, and nobody paid for it."""
    if public:
        return UnitCount(source.units)
    return None if budget is None else UnitCount.noisy(source.units, budget.noise(1), randomness)


# -------------------- budget
# Budget allocation: which selections are run on which part of the budget, decided before the data is read.
#
# The parts follow basic composition, which adds up (ε, δ), or composition in zero-concentrated differential privacy
# (zCDP) where all of them allow it: whichever asks for the smaller margin and noise of supports together
# (docs/privacy.md, Theorem 8). Levelwise has Gaussian noise only, which Gaussian differential privacy composes without
# loss (Theorem 13). A budget that is given as ρ is composed in zCDP, or as μ² = 2ρ in Gaussian differential privacy
# (Theorem 16).

# The part of δ for abstaining, where picks are composed in zCDP.
_NAMING = Fraction(1, 2)


def allocation_of(options: MiningOptions) -> BudgetAllocation:
    """Return how a release spends its budget, as `allocate` says.

    Raises ParameterError as `allocate` does, and where supports would have noise that no number holds.
    """
    allocation = allocate(options)
    _check_noise(allocation, options)
    return allocation


def _check_noise(allocation: BudgetAllocation, options: MiningOptions) -> None:
    """Raise ParameterError if noisy supports may not fit into 64 bits, in which they are handed on."""
    if allocation.supports is not None and allocation.supports.noise(options.most_supports).half_width >= 1 << 56:
        share, budget = parameter("supports_share"), parameter("epsilon" if options.rho is None else "rho")
        raise ParameterError(f"{share} leaves next to nothing for supports; raise it, or {budget}")


def allocate(options: MiningOptions, selections: Sequence[PublicParameters] | None = None) -> BudgetAllocation:
    """Allocate the budget: supports_share of it to the supports, the rest in equal parts, one for each selection.

    selections: the public parameters of each, where a catalogue is planned for that nobody has yet; unless given they
    are those of the options.
    Raises ParameterError for a mechanism that lacks what must be public, and for a part of the budget out of range.
    """
    if options.mechanism.composed:
        return _by_gdp_composition(options)
    if selections is None:
        selections = options.selections()
    if options.rho is not None:
        return _by_zcdp_composition(options, selections)
    ways = [_by_basic_composition(options, selections)]
    if options.delta and all(is_bounded_range(picks.mechanism) for picks in ways[0].picks):
        ways.append(_by_zcdp_composition(options, selections))
    wanted = options.top * len(selections)

    def need(way: BudgetAllocation) -> float:
        return way.margin + (0 if way.supports is None else way.supports.noise(wanted).half_width)

    return min(ways, key=need)


def _by_basic_composition(options: MiningOptions, selections: Sequence[PublicParameters]) -> BudgetAllocation:
    """Allocate (ε, δ) by basic composition, spending δ only where it is needed."""
    epsilon, delta = options.epsilon, options.delta
    assert epsilon is not None
    for_supports = options.supports_share or Fraction(0)
    budget, shares, spent = None, [], Fraction(0)
    if for_supports:
        budget = basic_supports(
            epsilon * for_supports, delta * for_supports, options.top * len(selections), two=options.has_two_normals
        )
        # Discrete Laplace noise, which a budget without delta has, spends none.
        spent = Fraction(0) if budget.delta is None else budget.delta
        shares = [Share("supports", options.sizes, for_supports, Exact(epsilon * for_supports), Exact(spent))]
        if budget.with_units:
            options = options.beside_normals
    rest = delta - spent
    shares += _count_shares(options, epsilon=epsilon)
    fraction = (1 - options.extras) / len(selections)
    part, part_delta = epsilon * fraction, rest / len(selections)
    allocated = []
    for public in selections:
        run = TopK.by_basic_composition(_build(options.mechanism, public), public.top, part, part_delta)
        own = part_delta if run.mechanism.cost.delta else Fraction(0)
        spent += own
        allocated.append(AllocatedSelection(run, public.sizes, options.counted_universe, public.max_basket is not None))
        shares.insert(len(allocated) - 1, Share("selection", public.sizes, fraction, Exact(part), Exact(own)))
    return BudgetAllocation(
        tuple(allocated),
        budget,
        PrivacyCost(epsilon, spent),
        tuple(shares),
        count=None if options.count_share is None else SupportsBudget(epsilon * options.count_share),
        leaves_out=not options.keep_all,
        min_support=options.min_support,
        most=options.top,
    )


def basic_supports(epsilon: Fraction, delta: Fraction, count: int, *, two: bool) -> SupportsBudget:
    """Return the budget of `count` supports that spend epsilon and, but for discrete Laplace noise, delta.

    The narrowest noise decides. two: whether normal noise is that of two normals.
    """
    ways = [SupportsBudget(epsilon)]
    if delta:
        mu_squared = gdp_mu(epsilon, delta) ** 2 if two else None
        ways.append(SupportsBudget(epsilon, delta, mu_squared=mu_squared, with_units=two))
    return min(ways, key=lambda way: way.noise(count).half_width)


def _count_shares(
    options: MiningOptions,
    *,
    epsilon: Fraction | None = None,
    rho: Fraction | None = None,
    mu_squared: Fraction | None = None,
) -> list[Share]:
    """Return the part that buys a noisy number of units, if any does: of ε, ρ or μ², as the budget is composed."""
    if (part := options.count_share) is None:
        return []
    spent = {"epsilon": epsilon, "delta": epsilon and Fraction(0), "rho": rho, "mu_squared": mu_squared}
    whole = {name: None if value is None else Exact(value * part) for name, value in spent.items()}
    return [Share("count", (), part, **whole)]


def _by_zcdp_composition(options: MiningOptions, selections: Sequence[PublicParameters]) -> BudgetAllocation:
    """Allocate in zCDP (Theorems 8 and 16): a part of δ is for abstaining, if that needs any, the rest converts ρ."""
    options = options.beside_normals if options.has_two_normals else options
    budget, for_supports = options.budget, options.supports_share or Fraction(0)
    whole = registry.build(options.mechanism, budget.loss, options.delta, selections[0])
    naming = budget.naming(_NAMING) if whole.cost.delta else Fraction(0)
    rho = budget.concentrated(naming)
    part = rho * (1 - options.extras) / len(selections)
    if 2 * part / max(public.top for public in selections) < Fraction(repr(EPSILON_RANGE[0])) ** 2:
        given = parameter("epsilon" if options.rho is None else "rho")
        raise ParameterError(f"{given} leaves next to nothing for each itemset; raise it, or ask for fewer")
    each = naming / len(selections)
    runs = [
        TopK.by_zcdp_composition(_build(options.mechanism, public), public.top, part, each) for public in selections
    ]
    shares = [Share("selection", public.sizes, part / rho, rho=Exact(part)) for public in selections]
    if for_supports:
        shares.append(Share("supports", options.sizes, for_supports, rho=Exact(rho * for_supports)))
    shares += _count_shares(options, rho=rho)
    cost = budget.cost(naming, normal=False)
    if options.rho is not None and not options.extras:
        # Without Gaussian noise the selections are also (ε, δ₀)-private together, by basic composition.
        together = sum((run.basic_epsilon for run in runs), Fraction(0))
        cost = min(cost, PrivacyCost(together, naming), key=lambda either: either.epsilon)
    return BudgetAllocation(
        tuple(
            AllocatedSelection(run, public.sizes, options.counted_universe, public.max_basket is not None)
            for run, public in zip(runs, selections, strict=True)
        ),
        SupportsBudget(rho=rho * for_supports, with_units=options.has_two_normals) if for_supports else None,
        cost,
        tuple(shares),
        zcdp=budget.zcdp(naming),
        naming=naming,
        count=None if options.count_share is None else SupportsBudget(rho=rho * options.count_share),
        leaves_out=not options.keep_all,
        min_support=options.min_support,
        most=options.top,
    )


def _by_gdp_composition(options: MiningOptions) -> BudgetAllocation:
    """Allocate in Gaussian differential privacy (Theorem 13): one run for all sizes, and their supports."""
    options = options.beside_normals if options.has_two_normals else options
    for_supports = options.supports_share or Fraction(0)
    universe = options.counted_universe
    options.selections()  # raises for a catalogue that is too small for a size
    spent: dict[str, Any] = {
        "budget": options.budget,
        "neighbors": options.neighbors,
        "listed": isinstance(universe, Catalogue),
        "by_user": options.by_user,
        "part": 1 - options.extras,
    }
    run: Levelwise | Reaching
    if options.min_support is None:
        run = levelwise(options.sizes, options.top, union=options.union, keep_all=options.keep_all, **spent)
    else:
        run = reaching(options.sizes, options.top, **spent)
    mu_squared = run.budget.mu_squared
    shares = [
        Share(purpose, sizes, share * run.budget.part, mu_squared=Exact(run.budget.spent(share)))
        for purpose, sizes, share in run.steps
    ]
    supports = None
    if for_supports:
        supports = SupportsBudget(mu_squared=for_supports * mu_squared, with_units=options.has_two_normals)
        shares.append(Share("supports", options.sizes, for_supports, mu_squared=Exact(for_supports * mu_squared)))
    shares += _count_shares(options, mu_squared=mu_squared)
    selection = AllocatedSelection(run, options.sizes, universe)
    naming = run.items_delta or Fraction(0)
    return BudgetAllocation(
        (selection,),
        supports,
        options.budget.cost(naming, normal=True),
        tuple(shares),
        zcdp=options.budget.zcdp(naming),
        naming=naming,
        count=None if options.count_share is None else SupportsBudget(mu_squared=mu_squared * options.count_share),
        leaves_out=options.min_support is not None and not options.keep_all,
        min_support=options.min_support,
        most=options.top,
    )


def _build(spec: MechanismSpec, public: PublicParameters) -> Build:
    """Return a function of (epsilon, delta) that builds the mechanism."""

    def build(epsilon: Fraction, delta: Fraction) -> Mechanism:
        return registry.build(spec, epsilon, delta, public)

    return build


# -------------------- charging
# Charging a release to a ledger, once all that is public is known and before anything is computed of the data.


@dataclass(frozen=True)
class Bill:
    """What is to be charged to an account, which has said that it would take it."""

    account: Account
    charge: Charge

    def pay(self, unit: str) -> Charged:
        """Charge it. unit: of privacy, as the data was read. Raises LedgerError, and then nothing may be released."""
        return self.account.charge(replace(self.charge, privacy_unit=unit))


def bill(
    account: Account | None,
    *,
    command: str,
    dataset: str | None,
    by_user: bool,
    neighbors: str,
    cost: PrivacyCost,
    zcdp: ZcdpCost,
    parameters: dict[str, Any],
    unit_columns: tuple[str, ...] | None = None,
) -> Bill | None:
    """Return what a release is to be charged with; None without an account. Raises LedgerError if it is refused.

    unit_columns: which columns name the unit; None where none does.
    """
    if account is None or dataset is None:
        return None
    unit = "user" if by_user else "basket"
    charge = Charge(command, dataset, unit, str(neighbors), cost, zcdp, parameters, unit_columns)
    account.check(charge)
    return Bill(account, charge)


def unit_columns(data: Any, reading: Options) -> tuple[str, ...] | None:
    """Return the columns that name the unit: that of users, else of baskets; None where none does.

    data: the purchases; of what was read before, they are the columns of then.
    """
    if isinstance(data, Transactions):
        user, baskets = (None, ()) if data.read_as is None else (data.read_as.user, data.read_as.baskets)
    else:
        user, baskets = reading.user, reading.basket or ()
    # In whatever order several are named, they name the same baskets.
    return tuple(sorted(baskets)) or None if user is None else (user,)


def asked(options: MiningOptions) -> dict[str, Any]:
    """Return the public parameters of `mine` that a ledger keeps, as plain values; what was not asked for is not there.

    Of a catalogue only how many items it has; no names of files, columns or items. Fractions are texts, rounded up.
    """
    universe, least = options.universe, options.min_support
    values = {
        "mechanism": options.mechanism.name,
        "size": options.sizes[0] if len(options.sizes) == 1 else f"{options.sizes[0]}-{options.sizes[-1]}",
        "top": options.top,
        "union": options.union or None,
        "min_support": None if least is None else least.count or _text(least.share),
        "supports_share": _text(options.supports_share),
        "count_share": _text(options.count_share),
        "rules": options.rules or None,
        "keep_all": options.keep_all or None,
        "max_rank": options.max_rank,
        "max_basket": options.max_basket,
        "max_baskets": options.max_baskets,
        "catalogue": len(universe.items) if isinstance(universe, Catalogue) else None,
        "universe_size": universe.count if isinstance(universe, SizedUniverse) else None,
        "rho": _text(options.rho),
    }
    return {name: value for name, value in values.items() if value is not None}


def rows_asked(data: Any, reading: Options, scope: Scope) -> dict[str, Any]:
    """Return what a ledger keeps of which rows count: the condition, and that there was a query, but not which.

    Of segments it keeps how many.
    """
    where, query, _ = read_by(data, reading)
    by = reading.by
    return {
        **({} if where is None else {"where": where}),
        **({"query": True} if query else {}),
        **({} if reading.split is None else {"split": True}),
        **({"basket_columns": len(reading.basket)} if reading.basket is not None and len(reading.basket) > 1 else {}),
        **scope.charged,
        **({} if by is None else {"segments": len(by.names), "max_segments": by.most}),
    }


def _text(value: Fraction | None) -> str | None:
    """Return a number as text, of a few digits; None for None."""
    return None if value is None else at_least(value)
