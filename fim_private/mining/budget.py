"""Budget allocation: which selections are run on which part of the budget, decided before the data is read.

The parts follow basic composition, which adds up (ε, δ), or composition in zero-concentrated differential privacy
(zCDP) where all of them allow it: whichever asks for the smaller margin and noise of supports together
(docs/privacy.md, Theorem 8). Levelwise has Gaussian noise only, which Gaussian differential privacy composes without
loss (Theorem 13). A budget that is given as ρ is composed in zCDP, or as μ² = 2ρ in Gaussian differential privacy
(Theorem 16).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from fim_private.counting.universe import Catalogue
from fim_private.dp.cost import Exact, PrivacyCost
from fim_private.dp.gaussian_dp import gdp_mu
from fim_private.dp.parameters import EPSILON_RANGE
from fim_private.errors import ParameterError, parameter
from fim_private.levelwise.levelwise import Levelwise, levelwise
from fim_private.levelwise.reaching import Reaching, reaching
from fim_private.mechanisms import Mechanism, registry
from fim_private.mechanisms.mechanism_spec import MechanismSpec
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.mechanisms.top_k import Build, TopK, is_bounded_range
from fim_private.mining.allocation import AllocatedSelection, BudgetAllocation, SupportsBudget
from fim_private.mining.budget_share import Share
from fim_private.mining.options import MiningOptions

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
