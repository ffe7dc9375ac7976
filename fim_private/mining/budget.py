"""Budget allocation: which selections are run on which part of the budget, decided before the data is read.

The parts follow basic composition, which adds up (ε, δ), or composition in zero-concentrated differential privacy
(zCDP) where all of them allow it: whichever lets smaller supports through (docs/privacy.md, Theorem 8). Levelwise has
Gaussian noise only, which Gaussian differential privacy composes without loss (Theorem 13).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from fim_private.counting.source import SupportSource
from fim_private.counting.universe import Catalogue, Universe
from fim_private.dp.accounting import growth_bound, zcdp_rho
from fim_private.dp.cost import Exact, PrivacyCost
from fim_private.dp.randomness import Randomness
from fim_private.errors import ParameterError, parameter
from fim_private.levelwise.levelwise import Levelwise, levelwise
from fim_private.mechanisms import Mechanism, registry
from fim_private.mechanisms.mechanism_spec import MechanismSpec
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.mechanisms.top_k import Build, TopK, is_bounded_range
from fim_private.mining import noisy_supports
from fim_private.mining.budget_share import Share
from fim_private.mining.measured import Measured
from fim_private.mining.measured_budget import Way, can_be_measured, measured
from fim_private.mining.noisy_supports import NoiseKind, SupportNoise
from fim_private.mining.options import MiningOptions
from fim_private.mining.release import Itemset
from fim_private.reading.vocabulary import Item

# The items of an itemset found, None for the unnamed outcome, and its true support in units, which must not leave.
Found = tuple[tuple[Item, ...] | None, int]


@dataclass(frozen=True)
class AllocatedSelection:
    """One selection among the itemsets of some sizes, over a universe, with its part of the budget."""

    run: TopK | Levelwise
    sizes: tuple[int, ...]
    universe: Universe

    def find(self, source: SupportSource, randomness: Randomness) -> list[Found]:
        """Return the itemsets selected, in order, with their true supports in units; fewer if it abstained.

        Raises WorkLimitError where counting is out of reach, ParameterError where the mechanism cannot run.
        """
        if isinstance(self.run, Levelwise):
            return [*self.run.find(source, self.universe, randomness)]
        spectrum = source.spectrum(self.sizes, self.universe)
        levels = [chosen.level for chosen in self.run.select(spectrum, randomness) if chosen.level is not None]
        nameless = spectrum.universe_size is None
        names = iter(spectrum.sample_itemsets([level for level in levels if level or not nameless], randomness))
        return [(None if nameless and not level else next(names), level) for level in levels]


@dataclass(frozen=True)
class SupportsBudget:
    """What the noisy supports may spend: rho of zCDP, or μ² of GDP, or epsilon and, unless None, delta."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    mu_squared: Fraction | None = None

    def noise(self, count: int) -> SupportNoise:
        """Return the noise for that many supports, count >= 1."""
        if self.rho is not None:
            return SupportNoise.for_rho(self.rho, count)
        if self.mu_squared is not None:
            return SupportNoise.for_mu_squared(self.mu_squared, count)
        assert self.epsilon is not None
        return SupportNoise.for_budget(self.epsilon, self.delta, count)


@dataclass(frozen=True)
class BudgetAllocation:
    """What is decided before the data is read.

    selections: what is run, one after the other. supports: the budget of their noisy supports, None where none are
    released. cost: what all of it spends. shares: the same, part by part. leaves_out: whether itemsets are not
    published that do not stand out from the noise of their supports.
    """

    selections: tuple[AllocatedSelection, ...]
    supports: SupportsBudget | None
    cost: PrivacyCost
    shares: tuple[Share, ...]
    leaves_out: bool = False

    def find(self, source: SupportSource, randomness: Randomness) -> tuple[BudgetAllocation, list[Found]]:
        """Return this allocation, and the itemsets that its selections find, in order."""
        return self, [itemset for selection in self.selections for itemset in selection.find(source, randomness)]

    @property
    def margin(self) -> float:
        """The largest margin that a selection asks for, estimated, in units: to compare allocations."""
        return max(selection.run.margin for selection in self.selections if isinstance(selection.run, TopK))

    def published(self, found: list[Found], randomness: Randomness) -> tuple[tuple[Itemset, ...], SupportNoise | None]:
        """Return the itemsets as they may leave, and the noise of their supports; without supports, None for it.

        With supports, itemsets are in descending order of noisy support, unnamed ones last; where leaves_out says so,
        only those whose intervals lie above 0. (Picks name itemsets however rare they are. Where levelwise counts, it
        has left out its own, by other noise, so that its intervals cover as they say.)
        """
        named = [(items, support) for items, support in found if items is not None]
        unnamed = [Itemset(None) for items, _ in found if items is None]
        if self.supports is None or not named:
            return tuple(Itemset(items) for items, _ in found), None
        # How many came out is public by now: the noise is for so many, not for all that were asked for.
        noise = self.supports.noise(len(named))
        values = noisy_supports.release([support for _, support in named], noise, randomness=randomness)
        sets = [items for items, _ in named]
        consistent = noisy_supports.consistent(sets, values, noise.half_width)
        rows = zip(sets, consistent.estimates, consistent.lower, consistent.upper, strict=True)
        itemsets = [
            Itemset(items, estimate, (lower, upper))
            for items, estimate, lower, upper in rows
            if lower > 0 or not self.leaves_out
        ]
        return (*sorted(itemsets, key=lambda itemset: -(itemset.support or 0)), *unnamed), noise


@dataclass(frozen=True)
class MeasuredAllocation:
    """An allocation with several ways to go, one of which is taken as what is measured first suggests.

    run: what measures. universe: of the items. ways: the allocations, by the names that the run has for them.
    """

    run: Measured
    universe: Universe
    ways: Mapping[str, BudgetAllocation]

    def find(self, source: SupportSource, randomness: Randomness) -> tuple[BudgetAllocation, list[Found]]:
        """Return the allocation of the way that was taken, and the itemsets found, in order."""
        way, found = self.run.find(source, self.universe, randomness)
        return self.ways[way], [*found]


def allocation_of(options: MiningOptions) -> BudgetAllocation | MeasuredAllocation:
    """Return how a release spends its budget: as `allocate` says, or where users' itemsets are many, after measuring.

    Raises ParameterError as `allocate` does, and where supports would have noise that no number holds.
    """
    if options.mechanism.composed and can_be_measured(options):
        # A part may be too small for some way: levelwise does with the whole, or says why not.
        with suppress(ParameterError):
            made = _measured(options)
            for way in made.ways.values():
                _check_noise(way, options.top * len(options.sizes))
            return made
    allocation = allocate(options)
    _check_noise(allocation, options.top * len(options.sizes))
    return allocation


def _check_noise(allocation: BudgetAllocation, count: int) -> None:
    """Raise ParameterError if noisy supports may not fit into 64 bits, in which they are handed on."""
    if allocation.supports is not None and allocation.supports.noise(count).half_width >= 1 << 56:
        share, epsilon = parameter("supports_share"), parameter("epsilon")
        raise ParameterError(f"{share} leaves next to nothing for supports; raise it, or {epsilon}")


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
    ways = [_by_basic_composition(options, selections)]
    if (way := _by_zcdp_composition(options, selections)) is not None:
        ways.append(way)
    return min(ways, key=lambda way: way.margin)


def _by_basic_composition(options: MiningOptions, selections: Sequence[PublicParameters]) -> BudgetAllocation:
    """Allocate (ε, δ) by basic composition, spending δ only where it is needed."""
    epsilon, delta = options.epsilon, options.delta
    for_supports = options.supports_share or Fraction(0)
    wanted = options.top * len(selections)
    budget, shares, spent = None, [], Fraction(0)
    rest = delta
    if for_supports:
        # Discrete Laplace noise, which a budget without delta has, spends none.
        noise = SupportsBudget(epsilon * for_supports, delta * for_supports or None).noise(wanted)
        spent = Fraction(0) if noise.kind is NoiseKind.LAPLACE else delta * for_supports
        budget = SupportsBudget(epsilon * for_supports, spent or None)
        rest -= spent
        shares.append(Share("supports", options.sizes, for_supports, Exact(epsilon * for_supports), Exact(spent)))
    fraction = (1 - for_supports) / len(selections)
    part, part_delta = epsilon * fraction, rest / len(selections)
    allocated = []
    for public in selections:
        run = TopK.by_basic_composition(_build(options.mechanism, public), public.top, part, part_delta)
        own = part_delta if run.mechanism.cost.delta else Fraction(0)
        spent += own
        allocated.append(AllocatedSelection(run, public.sizes, options.counted_universe))
        shares.insert(len(allocated) - 1, Share("selection", public.sizes, fraction, Exact(part), Exact(own)))
    return BudgetAllocation(tuple(allocated), budget, PrivacyCost(epsilon, spent), tuple(shares), not options.keep_all)


def _by_zcdp_composition(options: MiningOptions, selections: Sequence[PublicParameters]) -> BudgetAllocation | None:
    """Allocate in zCDP (Theorem 8): half of δ is for the conversion to (ε, δ), half for abstaining, if that needs any.

    None where the mechanism's selections are not bounded-range, epsilon is above 50, or there is no delta.
    """
    epsilon, delta = options.epsilon, options.delta
    if not delta:
        return None
    for_supports = options.supports_share or Fraction(0)
    growth = growth_bound(epsilon)
    whole = registry.build(options.mechanism, epsilon, delta, selections[0])
    if growth is None or not is_bounded_range(whole):
        return None
    rho = zcdp_rho(epsilon, delta / 2 if whole.cost.delta else delta)
    part = rho * (1 - for_supports) / len(selections)
    bottom_delta = delta / 2 / (1 + growth) / len(selections)
    allocated = [
        AllocatedSelection(
            TopK.by_zcdp_composition(_build(options.mechanism, public), public.top, part, bottom_delta),
            public.sizes,
            options.counted_universe,
        )
        for public in selections
    ]
    shares = [Share("selection", public.sizes, part / rho, rho=Exact(part)) for public in selections]
    if for_supports:
        shares.append(Share("supports", options.sizes, for_supports, rho=Exact(rho * for_supports)))
    budget = SupportsBudget(rho=rho * for_supports) if for_supports else None
    return BudgetAllocation(tuple(allocated), budget, PrivacyCost(epsilon, delta), tuple(shares), not options.keep_all)


def _by_gdp_composition(options: MiningOptions) -> BudgetAllocation:
    """Allocate in Gaussian differential privacy (Theorem 13): one run for all sizes, and their supports."""
    for_supports = options.supports_share or Fraction(0)
    universe = options.counted_universe
    options.selections()  # raises for a catalogue that is too small for a size
    run = levelwise(
        options.sizes,
        options.top,
        union=options.union,
        epsilon=options.epsilon,
        delta=options.delta,
        neighbors=options.neighbors,
        listed=isinstance(universe, Catalogue),
        part=1 - for_supports,
        keep_all=options.keep_all,
    )
    shares = [
        Share(purpose, sizes, share * run.budget.part, mu_squared=Exact(run.budget.spent(share)))
        for purpose, sizes, share in run.steps
    ]
    budget = None
    if for_supports:
        budget = SupportsBudget(mu_squared=for_supports * run.budget.mu**2)
        shares.append(Share("supports", options.sizes, for_supports, mu_squared=Exact(for_supports * run.budget.mu**2)))
    selection = AllocatedSelection(run, options.sizes, universe)
    cost = PrivacyCost(options.epsilon, options.delta)
    return BudgetAllocation((selection,), budget, cost, tuple(shares))


def _measured(options: MiningOptions) -> MeasuredAllocation:
    """Allocate for users: several ways, of which measurements take one (Theorem 14)."""
    run, ways = measured(options)
    cost = PrivacyCost(options.epsilon, options.delta)

    def allocation(way: Way) -> BudgetAllocation:
        supports = None
        if way.supports is not None:
            supports = SupportsBudget(mu_squared=way.supports) if way.normal else SupportsBudget(rho=way.supports)
        return BudgetAllocation((), supports, cost, way.shares, not (options.keep_all or way.normal))

    return MeasuredAllocation(run, options.counted_universe, {name: allocation(way) for name, way in ways.items()})


def _build(spec: MechanismSpec, public: PublicParameters) -> Build:
    """Return a function of (epsilon, delta) that builds the mechanism."""

    def build(epsilon: Fraction, delta: Fraction) -> Mechanism:
        return registry.build(spec, epsilon, delta, public)

    return build
