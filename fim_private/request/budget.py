"""How the budget of a run is split into steps, how these are carried out, and how they are
charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from fim_private.counting.source import (
    Catalogue,
    Found,
    SizedUniverse,
    SupportSource,
    Universe,
    UnknownUniverse,
)
from fim_private.dp.charge import Charge, Charged, Span
from fim_private.dp.composition import PrivacyBudget, gdp_mu
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost, at_least
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import EPSILON_RANGE
from fim_private.errors import ParameterError, parameter
from fim_private.levelwise.levelwise import Levelwise, LevelwiseThreshold, levelwise
from fim_private.mechanisms import registry
from fim_private.mechanisms.base import PublicParameters
from fim_private.mechanisms.top_k import TopK, is_bounded_range, shortfall
from fim_private.options.declaration import options_of
from fim_private.options.requests import RequestOptions
from fim_private.reading.labels import Item
from fim_private.reading.options import Options
from fim_private.reading.transactions import Transactions
from fim_private.request import supports as noisy_supports
from fim_private.request.itemsets import Itemset, parts_of
from fim_private.request.request import COUNT_SHARE, MiningOptions, Scope, read_by
from fim_private.request.supports import (
    CONFIDENCE,
    SUPPORT_CONFIDENCE,
    MinSupport,
    SupportNoise,
    UnitCount,
)

_NONE = Fraction(0)
_NAMING = Fraction(1, 2)  # the share of δ for abstaining, where selections are composed in zCDP
_PURPOSES = {
    "count": "the number of units",
    "items": "finding items",
    "candidates": "finding sets of items",
    **dict.fromkeys(
        ("first count", "histogram", "second count", "item count", "set count"),
        "counting candidates",
    ),
}


@dataclass(frozen=True)
class Share:
    """One step of a run, and its share of the budget: its noise is made of it, a release states it,
    a ledger sums it.

    purpose: "selection", or a step of levelwise (`_PURPOSES`); "supports"; "count" for the number
    of units. sizes: of the itemsets it is about. fraction: of the whole budget, which is 1. It
    spends, exactly, epsilon and delta under basic composition, rho in zCDP, or mu_squared in
    Gaussian privacy; the others are None.
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
        """The ρ that it spends: of (ε, δ) it is ε²/2, δ-approximately, and of Gaussian privacy μ²/2
        (Theorem 18).
        """
        return (self.epsilon or _NONE) ** 2 / 2 if self.epsilon is not None else self.normal / 2

    @property
    def normal(self) -> Fraction:
        """The μ² of normal noise that it may spend, as private as ρ-zCDP or (ε, δ)-privacy."""
        if self.epsilon is not None:
            return gdp_mu(Fraction(self.epsilon), Fraction(self.delta or 0)) ** 2
        return (
            Fraction(self.mu_squared)
            if self.mu_squared is not None
            else 2 * Fraction(self.rho or 0)
        )

    def noise(self, count: int, *, two: bool = False) -> SupportNoise:
        """Return the noise for this number of counts, >= 1. two: whether normal noise is that of
        two normals.
        """
        if two and (self.epsilon is None or self.delta):
            return SupportNoise.with_units(self.normal, count)
        if self.epsilon is not None:
            return SupportNoise.for_budget(
                Fraction(self.epsilon), Fraction(self.delta) if self.delta else None, count
            )
        if self.rho is not None:
            return SupportNoise.for_rho(Fraction(self.rho), count)
        return SupportNoise.for_mu_squared(self.normal, count)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, the budget rounded up to floats."""
        names = (
            "epsilon",
            "delta",
            "rho",
            *(("mu_squared",) if self.mu_squared is not None else ()),
        )
        spent = {
            name: None if (value := getattr(self, name)) is None else float(value) for name in names
        }
        return {
            "purpose": self.purpose,
            "sizes": self.sizes,
            "fraction": float(self.fraction),
            **spent,
        }

    @property
    def in_words(self) -> str:
        """What it is for, in words."""
        if self.purpose != "selection":
            return _PURPOSES.get(self.purpose, self.purpose)
        sizes = str(self.sizes[0]) if len(self.sizes) == 1 else f"{self.sizes[0]}-{self.sizes[-1]}"
        return f"selection of size {sizes}"


def parts_in_words(shares: Iterable[Share]) -> dict[str, Fraction]:
    """Return the share of the budget that each purpose has; steps of one purpose (levelwise has
    many) as one.
    """
    found: dict[str, Fraction] = {}
    for share in shares:
        found[share.in_words] = found.get(share.in_words, _NONE) + share.fraction
    return found


@dataclass(frozen=True)
class AllocatedSelection:
    """One selection. is_cut: whether only some of long baskets, or of users, counts."""

    run: TopK | Levelwise | LevelwiseThreshold
    sizes: tuple[int, ...]
    universe: Universe
    is_cut: bool = False

    @property
    def candidates(self) -> int | None:
        """How many itemsets there are to choose from; None where that is not public."""
        return (
            None
            if isinstance(self.universe, UnknownUniverse)
            else sum(map(self.universe.candidates, self.sizes))
        )

    def find(
        self, source: SupportSource, randomness: Randomness, threshold: int | None = None
    ) -> list[Found]:
        """Return the itemsets selected, in order, with true supports. threshold: in units, for
        levelwise.
        """
        if isinstance(self.run, LevelwiseThreshold):
            assert threshold is not None
            return self.run.find(source, self.universe, threshold, randomness)
        if isinstance(self.run, Levelwise):
            return self.run.find(source, self.universe, randomness)
        spectrum = source.spectrum(self.sizes, self.universe)
        levels = [
            chosen.level
            for chosen in self.run.select(spectrum, randomness)
            if chosen.level is not None
        ]
        nameless = spectrum.universe_size is None
        names = iter(
            spectrum.sample_itemsets(
                [level for level in levels if level or not nameless], randomness
            )
        )
        return [Found(None if nameless and not level else next(names), level) for level in levels]

    def shortfall(self, selections: int = 1) -> int | None:
        """By how many units at most something that was passed over beats what was selected, with 95
        % probability.

        selections: of how many such this is one, >= 1, all together. None where it does not follow
        from public parameters; so where baskets are cut: what was passed over has more than was
        counted.
        """
        if not isinstance(self.run, TopK) or self.is_cut:
            return None
        return shortfall(self.run.mechanism, self.candidates, self.run.count * selections)

    def with_doubts(self, itemsets: Sequence[Itemset], common: int = 0) -> list[Itemset]:
        """Return itemsets with supports, those of this selection with whether they may not be the
        most frequent.

        common: by how many units two intervals may come closer together, since both share some of
        their noise.
        """
        own = [one for one in itemsets if one.items is not None and len(one.items) in self.sizes]
        most_left_out = self.shortfall()
        if (
            most_left_out is None
            or not isinstance(self.run, TopK)
            or self.run.count == 1
            or not own
        ):
            return [*itemsets]
        intervals = {one: one.interval or (0, 0) for one in own}
        cut = most_left_out + min(high for _, high in intervals.values()) - common
        return [
            replace(one, doubtful=not intervals[one][0] or intervals[one][0] <= cut)
            if one in intervals
            else one
            for one in itemsets
        ]


@dataclass(frozen=True)
class Published:
    """What leaves of what was found.

    parts: every subset of the itemsets not among them, where they were asked for. known: those
    known, and in neither.
    """

    itemsets: tuple[Itemset, ...]
    noise: SupportNoise | None
    units: UnitCount | None = None
    parts: tuple[Itemset, ...] = ()
    known: tuple[Itemset, ...] = ()


@dataclass(frozen=True)
class BudgetAllocation:
    """What is decided before the data is read.

    selections: run one after the other; none where itemsets are given. shares: the steps, which
    together spend cost, and zcdp where the budget is a ρ. naming: what of δ names what only one
    unit has, beside the deltas of the steps.
    two_normals: whether normal noise of supports brings the number of units with it. leaves_out:
    whether itemsets stay out whose interval reaches 0. leaves_out_candidates: whether they do if no
    itemset is sure to be among those asked for. most: how many are looked at for a min_support.
    given: how many were given.
    """

    selections: tuple[AllocatedSelection, ...]
    shares: tuple[Share, ...]
    cost: PrivacyCost
    zcdp: ZcdpCost | None = None
    naming: Fraction = _NONE
    two_normals: bool = False
    leaves_out: bool = False
    leaves_out_candidates: bool = False
    min_support: MinSupport | None = None
    most: int | None = None
    given: int = 0

    def step(self, purpose: str) -> Share | None:
        """Return the first step for a purpose."""
        return next((share for share in self.shares if share.purpose == purpose), None)

    def noise(self, count: int) -> SupportNoise | None:
        """Return the noise of this number of supports, >= 1; None where none are released."""
        return step.noise(count, two=self.two_normals) if (step := self.step("supports")) else None

    def half_width(self, count: int) -> int:
        """Return how far off each of `count` supports is with 95 % probability, in units; 0 where
        none are released.
        """
        return noise.half_width if (noise := self.noise(count)) else 0

    @property
    def concentrated(self) -> ZcdpCost:
        """What it spends in zCDP, whatever it is composed in: a bound (docs/privacy.md, Theorem
        18).
        """
        if self.given and (noise := self.noise(self.given)) is not None:
            counted = self.step("count")
            return ZcdpCost(noise.rho + (_NONE if counted is None else counted.in_zcdp), 0)
        added_up = any(
            share.purpose == "selection" and share.epsilon is not None for share in self.shares
        )
        rho = sum(
            (
                share.in_zcdp
                for share in self.shares
                if not (added_up and share.purpose == "selection")
            ),
            _NONE,
        )
        if added_up:
            rho += sum((run.concentrated for run in self.top_k_runs), _NONE)
        return ZcdpCost(
            rho, self.naming + sum((share.delta or _NONE for share in self.shares), _NONE)
        )

    def find(
        self, source: SupportSource, randomness: Randomness, threshold: int | None = None
    ) -> list[Found]:
        """Return the itemsets that its selections find, in order; threshold: in units, if any."""
        return [
            itemset
            for each in self.selections
            for itemset in each.find(source, randomness, threshold)
        ]

    @property
    def top_k_runs(self) -> list[TopK]:
        """The selections one by one, without levelwise."""
        return [selection.run for selection in self.selections if isinstance(selection.run, TopK)]

    def units(
        self, source: SupportSource, randomness: Randomness, *, public: bool
    ) -> UnitCount | None:
        """Return how many units there are, exactly where that is public; None where no step counts
        them.
        """
        if public:
            return UnitCount(source.units)
        return (
            UnitCount.noisy(source.units, step.noise(1), randomness)
            if (step := self.step("count"))
            else None
        )

    def published(
        self,
        found: list[Found],
        randomness: Randomness,
        units: UnitCount | None = None,
        count_others: Callable[[Sequence[tuple[Item, ...]]], Sequence[int]] | None = None,
        *,
        with_parts: bool = False,
        known: Sequence[tuple[Item, ...]] = (),
        true_units: int = 0,
    ) -> Published:
        """Return the itemsets as they may leave, and the noise of their supports.

        units: how many there are, None where that is not released. with_parts: whether their
        subsets are to leave, too, as are known ones; count_others gives the true supports of these.
        true_units: leave with noise where supports have two normals, also where nothing is found.
        With supports: by descending noisy support, unnamed ones last; where itemsets are left out,
        only intervals above
        0. (One that is left out still leaves among the parts or the known ones, if it is one of
        these.) With a least support only those whose noisy support is as much, doubtful if by the
        noise alone they may have less.
        """
        named = [one for one in found if one.items is not None]
        unnamed = [Itemset(None) for one in found if one.items is None]
        step = self.step("supports")
        if step is None or not (named or known):
            if step is not None and self.two_normals:
                units = UnitCount.noisy(
                    true_units, SupportNoise.for_mu_squared(step.normal, 1), randomness
                )
            return Published(
                tuple(Itemset(one.items, doubtful=one.doubtful) for one in found), None, units
            )
        sets, supports = [one.items or () for one in named], [one.support for one in named]
        parts, there = parts_of(sets) if with_parts else [], {frozenset(own) for own in sets}
        there |= {frozenset(own) for own in parts}
        others = [*parts, *(own for own in known if frozenset(own) not in there)]
        if count_others is not None and others:
            sets, supports = [*sets, *others], [*supports, *count_others(others)]
        # How many came out is public by now: the noise is for so many, not for all that were asked
        # for.
        noise = step.noise(len(supports), two=self.two_normals)
        values, units = released(supports, noise, randomness, units, true_units)
        if self.min_support is None:
            made = estimated(sets, values, noise, units)
            itemsets = [
                replace(each, doubtful=one.doubtful) for each, one in zip(made, named, strict=False)
            ]
            for selection in self.selections:
                itemsets = selection.with_doubts(itemsets, noise.common_reach)
        else:
            # As they were drawn, before inclusion changes them. Of the others only parts of these
            # are needed.
            threshold = self.min_support.threshold(units) * noise.steps
            enough = [place for place in range(len(named)) if values[place] >= threshold]
            rest = sorted({*range(len(values))}.difference(enough)) if with_parts else []
            order = [*enough, *rest]
            sets, values = [sets[place] for place in order], [values[place] for place in order]
            made = estimated(sets, values, noise, units)
            if (share := self.min_support.share) is not None and noise.of_units is not None:
                sure = [
                    one.share_interval is not None and one.share_interval[0] >= share
                    for one in made
                ]
            else:
                reach = noise.reach(self.min_support.confidence(units))
                lowest = noisy_supports.consistent(sets, values, reach, noise.steps).lower
                sure = [self.min_support.is_certain(low, units) for low in lowest]
            itemsets = [
                replace(made[place], doubtful=not sure[place]) for place in range(len(enough))
            ]
        is_none_sure = all(one.doubtful for one in itemsets)
        leaves_out = self.leaves_out or (self.leaves_out_candidates and is_none_sure)
        public = [one for one in itemsets if not leaves_out or (one.interval or (0,))[0] > 0]
        public.sort(key=lambda itemset: -(itemset.support or 0))
        needed = {*parts_of([one.items or () for one in public])} if with_parts else set()
        left = {frozenset(own) for own in (*(one.items or () for one in public), *needed)}
        rest_known = {frozenset(own) for own in known} - left
        return Published(
            (*public, *unnamed),
            noise,
            units,
            tuple(one for one in made if one.items in needed),
            tuple(one for one in made if frozenset(one.items or ()) in rest_known),
        )

    @property
    def shortfall(self) -> int | None:
        """The largest of its selections; None where one of them has none."""
        each = [selection.shortfall(len(self.selections)) for selection in self.selections]
        known = [one for one in each if one is not None]
        return max(known) if known and len(known) == len(each) else None


def estimated(
    itemsets: Sequence[tuple[Item, ...]],
    values: Sequence[int],
    noise: SupportNoise,
    units: UnitCount | None,
) -> list[Itemset]:
    """Return itemsets, (k,) and all different, with what their noisy values from `released` say."""
    made = noisy_supports.consistent(itemsets, values, noise.reach(CONFIDENCE), noise.steps)
    shares: Sequence[tuple[float, float] | None] = [None] * len(itemsets)
    if units is not None and noise.of_units is not None:
        ends = noisy_supports.extremes(itemsets, values)
        shares = [noise.share_interval(units.number, *pair) for pair in ends]
    elif units is not None and units.noise is not None:
        wider = noisy_supports.consistent(itemsets, values, noise.within(SUPPORT_CONFIDENCE))
        shares = [
            units.share_interval(*bounds) for bounds in zip(wider.lower, wider.upper, strict=True)
        ]
    intervals = zip(made.lower, made.upper, strict=True)
    rows = zip(itemsets, made.estimates, intervals, shares, strict=True)
    return [
        Itemset(items, estimate, bounds, share_interval=own)
        for items, estimate, bounds, own in rows
    ]


def released(
    supports: Sequence[int],
    noise: SupportNoise,
    randomness: Randomness,
    units: UnitCount | None,
    true_units: int,
) -> tuple[Sequence[int], UnitCount | None]:
    """Return supports with noise, in steps of its grid, and the number of units: that given, or
    that of the noise.
    """
    if noise.of_units is None:
        return noisy_supports.release(supports, noise, randomness=randomness), units
    values, number = noisy_supports.release_with_units(
        supports, true_units, noise, randomness=randomness
    )
    return values, UnitCount(max(number, 0), noise.number)


# The steps follow basic composition, or composition in zero-concentrated differential privacy
# (zCDP) where all of them allow it: whichever asks for the smaller margin and noise of supports
# together (docs/privacy.md, Theorem 8). Levelwise has Gaussian noise only, composed without loss
# (Theorem 13). A ρ is composed in zCDP, or as μ² = 2ρ (Theorem 16).


def allocation_of(options: MiningOptions) -> BudgetAllocation:
    """Return what `allocate` does; raise ParameterError, too, where supports would have noise
    beyond 64 bits.
    """
    allocation = allocate(options)
    if allocation.half_width(options.most_supports) >= 1 << 56:
        share, budget = (
            parameter("supports_share"),
            parameter("epsilon" if options.rho is None else "rho"),
        )
        raise ParameterError(f"{share} leaves next to nothing for supports; raise it, or {budget}")
    return allocation


def allocate(
    options: MiningOptions, selections: Sequence[PublicParameters] | None = None
) -> BudgetAllocation:
    """Allocate the budget: supports_share of it to the supports, the rest in equal shares, one for
    each selection.

    selections: the public parameters of each, where a catalogue is planned for that nobody has yet.
    Raises ParameterError for a mechanism that lacks what must be public, and for a step out of
    range.
    """
    if options.mechanism.composed:
        return _by_gdp_composition(options)
    selections = options.selections() if selections is None else selections
    if options.rho is not None:
        return _by_zcdp_composition(options, selections)
    found = [_by_basic_composition(options, selections)]
    if options.delta and all(is_bounded_range(run.mechanism) for run in found[0].top_k_runs):
        found.append(_by_zcdp_composition(options, selections))
    wanted = options.top * len(selections)
    return min(
        found, key=lambda one: max(run.margin for run in one.top_k_runs) + one.half_width(wanted)
    )


def allocate_given(
    budget: PrivacyBudget, sizes: tuple[int, ...], given: int, *, count: bool, two: bool
) -> BudgetAllocation:
    """Split the budget between the supports of `given` itemsets and, with count, the number of
    units.

    The narrower noise decides: basic composition, or normal noise on all (ρ-zCDP with μ² = 2ρ);
    two: of two normals.
    """
    part = COUNT_SHARE if count else _NONE
    found = []
    if budget.epsilon is not None:
        steps = _steps([("supports", sizes, 1 - part), ("count", (), part)], epsilon=budget.epsilon)
        delta = _NONE if two else budget.delta
        cost = SupportNoise.for_budget(budget.epsilon * (1 - part), delta or None, given).cost
        assert cost is not None
        steps[0] = replace(steps[0], delta=cost.delta)
        found.append(
            BudgetAllocation((), tuple(steps), PrivacyCost(budget.epsilon, cost.delta), given=given)
        )
    if budget.epsilon is None or (budget.delta and (part or two)):
        part = _NONE if two else part
        wanted = [("supports", sizes, 1 - part), ("count", (), part)]
        steps = _steps(wanted, mu_squared=budget.normal(_NONE))
        found.append(
            BudgetAllocation(
                (), tuple(steps), budget.cost(_NONE, normal=True), two_normals=two, given=given
            )
        )
    return replace(min(found, key=lambda one: one.half_width(given)), zcdp=budget.zcdp(_NONE))


def _steps(
    wanted: Iterable[tuple[str, tuple[int, ...], Fraction]], **whole: Fraction
) -> list[Share]:
    ((name, budget),) = whole.items()
    delta = Exact(0) if name == "epsilon" else None
    return [
        Share(purpose, sizes, fraction, delta=delta, **{name: Exact(budget * fraction)})
        for purpose, sizes, fraction in wanted
        if fraction
    ]


def _wanted(
    options: MiningOptions, selections: Sequence[PublicParameters] = ()
) -> list[tuple[str, tuple[int, ...], Fraction]]:
    supports, count = options.supports_share or _NONE, options.count_share or _NONE
    selected = [
        ("selection", tuple(public.sizes), (1 - options.extras) / len(selections))
        for public in selections
    ]
    return [*selected, ("supports", options.sizes, supports), ("count", (), count)]


def _by_basic_composition(
    options: MiningOptions, selections: Sequence[PublicParameters]
) -> BudgetAllocation:
    """Allocate (ε, δ) by basic composition, spending δ only where it is needed."""
    epsilon, delta, build = (
        options.epsilon,
        options.delta,
        partial(registry.build, options.mechanism),
    )
    assert epsilon is not None
    two, of_supports = False, []
    if share := options.supports_share:
        # Discrete Laplace noise spends no δ; the narrowest noise decides.
        [plain] = _steps([("supports", options.sizes, share)], epsilon=epsilon)
        usual = replace(plain, delta=Exact(delta * share))
        count, two = options.top * len(selections), options.has_two_normals
        best = (
            min((plain, usual), key=lambda step: step.noise(count, two=two).half_width)
            if delta
            else plain
        )
        of_supports.append(Fraction(best.delta or 0))
        two = two and bool(best.delta)
    options = options.beside_normals if two else options
    steps = _steps(_wanted(options, selections), epsilon=epsilon)
    each = (delta - sum(of_supports)) / len(selections)
    runs = [
        TopK.by_basic_composition(
            partial(build, public=public), public.top, Fraction(step.epsilon or 0), each
        )
        for public, step in zip(selections, steps, strict=False)
    ]
    deltas = [*(each if run.mechanism.cost.delta else _NONE for run in runs), *of_supports, _NONE]
    steps = [replace(step, delta=Exact(own)) for step, own in zip(steps, deltas, strict=False)]
    return _of_selections(
        options, selections, runs, steps, PrivacyCost(epsilon, sum(deltas, _NONE)), two_normals=two
    )


def _by_zcdp_composition(
    options: MiningOptions, selections: Sequence[PublicParameters]
) -> BudgetAllocation:
    """Allocate in zCDP (Theorems 8 and 16): a share of δ is for abstaining, if that needs any, the
    rest converts ρ.
    """
    options = options.beside_normals if options.has_two_normals else options
    budget, build = options.budget, partial(registry.build, options.mechanism)
    whole = build(budget.loss, options.delta, selections[0])
    naming = budget.naming(_NAMING) if whole.cost.delta else _NONE
    steps = _steps(_wanted(options, selections), rho=budget.concentrated(naming))
    if (
        2 * (steps[0].rho or 0) / max(public.top for public in selections)
        < Fraction(repr(EPSILON_RANGE[0])) ** 2
    ):
        given = parameter("epsilon" if options.rho is None else "rho")
        raise ParameterError(
            f"{given} leaves next to nothing for each itemset; raise it, or ask for fewer"
        )
    each = naming / len(selections)
    runs = [
        TopK.by_zcdp_composition(
            partial(build, public=public), public.top, Fraction(step.rho or 0), each
        )
        for public, step in zip(selections, steps, strict=False)
    ]
    cost = budget.cost(naming, normal=False)
    if options.rho is not None and not options.extras:
        # Without Gaussian noise the selections are also (ε, δ₀)-private together, by basic
        # composition.
        together = sum((run.basic_epsilon for run in runs), _NONE)
        cost = min(cost, PrivacyCost(together, naming), key=lambda either: either.epsilon)
    composed = {
        "zcdp": budget.zcdp(naming),
        "naming": naming,
        "two_normals": options.has_two_normals,
    }
    return _of_selections(options, selections, runs, steps, cost, **composed)


def _by_gdp_composition(options: MiningOptions) -> BudgetAllocation:
    """Allocate in Gaussian differential privacy (Theorem 13): one run for all sizes, and their
    supports.
    """
    options = options.beside_normals if options.has_two_normals else options
    universe = options.counted_universe
    options.selections()  # raises for a catalogue that is too small for a size
    share, listed, least = 1 - options.extras, isinstance(universe, Catalogue), options.min_support
    spent: Any = {
        "neighbors": options.neighbors,
        "listed": listed,
        "by_user": options.by_user,
        "part": share,
    }
    spent |= {"union": options.union, "keep_all": options.keep_all, "threshold": least is not None}
    spent |= {"known": options.known}
    run = levelwise(options.sizes, options.top, budget=options.budget, **spent)
    wanted = [(purpose, sizes, share * run.budget.part) for purpose, sizes, share in run.steps]
    naming = run.items_delta or _NONE
    return BudgetAllocation(
        (AllocatedSelection(run, options.sizes, universe),),
        tuple(_steps([*wanted, *_wanted(options)], mu_squared=run.budget.mu_squared)),
        options.budget.cost(naming, normal=True),
        zcdp=options.budget.zcdp(naming),
        naming=naming,
        two_normals=options.has_two_normals,
        leaves_out=least is not None and not options.keep_all,
        leaves_out_candidates=not options.keep_all,
        min_support=least,
        most=options.top,
    )


def _of_selections(
    options: MiningOptions,
    selections: Sequence[PublicParameters],
    runs: Sequence[TopK],
    steps: Sequence[Share],
    cost: PrivacyCost,
    **others: Any,
) -> BudgetAllocation:
    selected = tuple(
        AllocatedSelection(
            run, public.sizes, options.counted_universe, public.max_basket is not None
        )
        for run, public in zip(runs, selections, strict=True)
    )
    usual = {
        "leaves_out": not options.keep_all,
        "min_support": options.min_support,
        "most": options.top,
    }
    return BudgetAllocation(selected, tuple(steps), cost, **usual | others)


# Charging a release to a ledger, once all that is public is known and before anything is computed
# of the data.


def pending_charge(
    account: Any,
    *,
    dataset: str | None,
    by_user: bool,
    neighbors: str,
    spans: Sequence[Span | None] = (None,),
    **others: Any,
) -> Callable[[str], Charged] | None:
    """Return what charges a release, given the unit of privacy as the data was read; None without
    an account.

    spans: of each of its parts that is charged by itself.
    Both raise LedgerError if it is refused, and then nothing may be released.
    """
    if account is None or dataset is None:
        return None
    unit = "user" if by_user else "basket"
    named: dict[str, Any] = {"dataset": dataset, "neighbors": str(neighbors), **others}
    charges = [Charge(privacy_unit=unit, span=span, **named) for span in spans]
    account.check(*charges)
    return lambda unit: account.charge(*(replace(charge, privacy_unit=unit) for charge in charges))


def spans_of(reading: Options) -> list[Span | None]:
    """Return the periods that are charged, one by one: None where units have no times."""
    if (times := reading.times) is None:
        return [None]
    span = Span(times.how, tuple(sorted(reading.basket or ())), times.per)
    # A query may choose rows by time, and so give one basket another period than it has in other
    # releases.
    if not times.periods or reading.from_query:
        return [span] * max(len(times.periods), 1)
    return [replace(span, period=period.name) for period in times.periods]


def unit_columns(data: Any, reading: Options) -> tuple[str, ...] | None:
    """Return the columns that name the unit: that of users, else of baskets, sorted; None for
    none.
    """
    if isinstance(data, Transactions):
        user, baskets = (
            (None, ()) if data.read_as is None else (data.read_as.user, data.read_as.baskets)
        )
    else:
        user, baskets = reading.user, reading.basket or ()
    return tuple(sorted(baskets)) or None if user is None else (user,)


def asked(options: MiningOptions, scope: Scope) -> dict[str, Any]:
    """Return what a ledger records of a request, beside what a charge has: no names of files,
    columns or items.
    """
    universe, least = options.universe, options.min_support
    listed = None
    # how many the data has is no public choice
    if isinstance(universe, Catalogue) and not scope.items_are_public:
        listed = len(universe.items)
    made = {
        "mechanism": options.mechanism.name,
        "size": options.sizes[0]
        if len(options.sizes) == 1
        else f"{options.sizes[0]}-{options.sizes[-1]}",
        "min_support": None if least is None else least.count or least.share,
        "catalogue": listed,
        "known": None if options.known is None else len(options.known.itemsets),
        "universe_size": universe.count if isinstance(universe, SizedUniverse) else None,
        **dict.fromkeys(("epsilon", "delta", "neighbors")),
    }
    named = {
        name: made[name] if name in made else getattr(options, name, None)
        for name in options_of(RequestOptions)
    }
    named["count_share"] = options.count_share
    return {
        name: at_least(value) if isinstance(value, Fraction) else value
        for name, value in named.items()
        if value
    }


def rows_asked(data: Any, reading: Options, scope: Scope) -> dict[str, Any]:
    """Return what a ledger records of the rows that count: the condition, a query, the number of
    segments.
    """
    by_choice = read_by(data, reading)
    columns, by = len(reading.basket or ()), reading.by
    values = {
        "where": by_choice.where,
        "query": by_choice.query or None,
        "split": None if reading.split is None else True,
        "basket_columns": columns if columns > 1 else None,
        **scope.charged,
        **({} if by is None else {"segments": len(by.names), "max_segments": by.most}),
    }
    return {name: value for name, value in values.items() if value is not None}
