"""The budget of a measured run: each of its ways may spend all of it (Theorem 14)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fim_private import defaults
from fim_private.counting.universe import Catalogue
from fim_private.dp.cost import Exact
from fim_private.dp.parameters import Neighbors
from fim_private.dp.privacy_budget import PrivacyBudget
from fim_private.errors import ParameterError, parameter
from fim_private.levelwise.gaussian_budget import GaussianBudget
from fim_private.levelwise.item_threshold import LARGEST_DELTA
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.reaching import Reaching
from fim_private.levelwise.recipe import Recipe
from fim_private.levelwise.threshold_recipe import ThresholdRecipe
from fim_private.mechanisms import Exponential, LimitedDomain
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.mechanisms.top_k import TopK
from fim_private.mining.budget_share import Share
from fim_private.mining.measured import Measured, PicksOfItems
from fim_private.mining.options import MiningOptions

# The largest itemsets whose margin is measured: of users with hundreds of items, larger ones are out of reach to count.
_LARGEST_SIZE = 4
# The parts of the budget: of each of two measurements, and of finding items for picks: where their names are unknown
# it is the first or, where it takes more to find them, the second. Where they are listed there is no threshold; more is
# needed where the items themselves are ranked with their sets, so that all that are sought have to be among them.
_MEASUREMENT = Fraction(2, 100)
_ITEMS, _MORE_ITEMS = Fraction(60, 100), Fraction(80, 100)
_LISTED_ITEMS, _RANKED_LISTED_ITEMS = Fraction(15, 100), Fraction(30, 100)
# The parts of δ: for naming what only one unit has, and of the rest for the ways that compose in zCDP.
_NAMING, _CONCENTRATED = Fraction(1, 4), Fraction(2, 3)


@dataclass(frozen=True)
class BudgetParts:
    """What each way may spend, and what of δ names what only one unit has (Theorem 14).

    naming: δ₀; None where the items are listed. rho: of the ways that compose in zCDP. mu_squared: μ² of levels.
    """

    naming: Fraction | None
    rho: Fraction
    mu_squared: Fraction

    @classmethod
    def of(cls, budget: PrivacyBudget, *, listed: bool) -> BudgetParts:
        """Return the parts of a budget: of an (ε, δ) both have a part of δ, of ρ they have it all."""
        naming = None if listed else min(budget.naming(_NAMING), LARGEST_DELTA)
        spent = naming or Fraction(0)
        rho, mu_squared = budget.concentrated(spent, _CONCENTRATED), budget.normal(spent, 1 - _CONCENTRATED)
        return cls(naming, rho, mu_squared)


@dataclass(frozen=True)
class Way:
    """One of the ways to go.

    supports: what noisy supports may spend, ρ, or with `normal` μ². shares: of the budget. count: the ρ that a noisy
    number of units spends, the same in each way. Both are None where there is no such thing.
    """

    supports: Fraction | None
    normal: bool
    shares: tuple[Share, ...]
    count: Fraction | None


def can_be_measured(options: MiningOptions) -> bool:
    """Tell whether a run can be measured.

    It is for itemsets of users, small enough to be counted.
    """
    return options.by_user and options.sizes[-1] <= _LARGEST_SIZE


def measured(options: MiningOptions) -> tuple[Measured, dict[str, Way]]:
    """Return the run, and its ways by name. See `can_be_measured`.

    Raises ParameterError for a budget of which some part is out of range.
    """
    listed = isinstance(options.counted_universe, Catalogue)
    replaces = options.neighbors == Neighbors.REPLACE_ONE
    left = 1 - options.extras
    parts = BudgetParts.of(options.budget, listed=listed)
    rho, mu_squared = parts.rho, parts.mu_squared

    counted = rho * (options.count_share or 0)
    measurement = _MEASUREMENT * left * rho
    # Of a least support no margin is measured, and nothing is picked at once.
    is_reaching = options.min_support is not None
    margins = Fraction(0) if is_reaching else measurement
    count = min(options.top, defaults.TOP_PICKED_REACHING) if is_reaching else options.top
    # The difference of two supports at a rank, or one of them; a user is in one bin of lengths.
    margin_change, lengths_change = (2 if replaces and not listed else 1), (2 if replaces else 1)
    rankings = options.selections()
    direct_rho = (left * rho - margins) / len(rankings)
    recipe = Recipe.of(
        options.sizes, count, union=options.union, epsilon=options.budget.loss, neighbors=options.neighbors
    )
    items = GaussianBudget(2 * rho, options.neighbors, left)
    picks = {
        name: PicksOfItems(
            recipe.with_items(share),
            _exponential(options, count, (left * rho - margins - measurement - items.spent(share) / 2) / len(rankings)),
        )
        for name, share in _item_shares(options, listed=listed).items()
    }
    left_for_levels = 1 - (options.supports_share or 0) - 2 * (counted + margins + measurement) / mu_squared
    if left_for_levels <= 0:
        raise ParameterError(f"{parameter('supports_share')} leaves nothing for finding itemsets; lower it")
    gaussian = GaussianBudget(mu_squared, options.neighbors, left_for_levels)
    levels: Levelwise | Reaching = Levelwise(
        options.sizes,
        options.top,
        options.union,
        gaussian,
        recipe.with_items(_LISTED_ITEMS) if listed and recipe.levels else recipe,
        parts.naming,
        options.keep_all,
    )
    if is_reaching:
        levels = Reaching(options.sizes, options.top, gaussian, ThresholdRecipe.of(options.sizes), parts.naming)
    direct = tuple(
        _exponential(options, count, direct_rho)
        if parts.naming is None
        else _limited(public, direct_rho, parts.naming / len(rankings))
        for public in rankings
    )
    run = Measured(
        tuple(public.sizes for public in rankings),
        count,
        None if is_reaching else len(rankings) * margin_change**2 / (2 * measurement),
        lengths_change / (2 * measurement),
        () if is_reaching else direct,
        items,
        tuple(picks.items()),
        parts.naming,
        levels,
    )
    spent = margins + measurement
    ways = {"levels": _normal(mu_squared, options, levels, {"measurement": 2 * spent}, counted)}
    if not is_reaching:
        ways["direct"] = _concentrated(rho, options, {"measurement": margins})
    for name, way in picks.items():
        steps = {"measurement": spent, "items": items.spent(way.recipe.items) / 2}
        ways[name] = _concentrated(rho, options, steps)
    return run, ways


def _item_shares(options: MiningOptions, *, listed: bool) -> dict[str, Fraction]:
    """Return which parts of the budget may find items for picks, by the name of the way."""
    single = options.sizes[-1] == 1
    if listed:
        return {"picks": _RANKED_LISTED_ITEMS if options.sizes[0] == 1 and not single else _LISTED_ITEMS}
    if single:
        return {"picks": _MORE_ITEMS}
    return {"picks": _ITEMS, "picks of more items": _MORE_ITEMS}


def _limited(public: PublicParameters, rho: Fraction, naming: Fraction) -> TopK:
    """Return picks by limited-domain; naming as for TopK.by_zcdp_composition."""

    def build(epsilon: Fraction, delta: Fraction) -> LimitedDomain:
        return LimitedDomain.from_public(epsilon, delta, public)

    return TopK.by_zcdp_composition(build, public.top, rho, naming)


def _exponential(options: MiningOptions, count: int, rho: Fraction) -> TopK:
    """Return picks by the exponential mechanism."""

    def build(epsilon: Fraction, _: Fraction) -> Exponential:
        return Exponential(epsilon, options.neighbors)

    return TopK.by_zcdp_composition(build, count, rho, Fraction(0))


def _concentrated(rho: Fraction, options: MiningOptions, steps: dict[str, Fraction]) -> Way:
    """Return a way that is composed in zCDP: its steps, picks with the rest, supports, and the number of units."""
    supports, counted = rho * (options.supports_share or 0), rho * (options.count_share or 0)
    extras = {name: part for name, part in (("supports", supports), ("count", counted)) if part}
    spent = {**steps, "selection": rho - supports - counted - sum(steps.values()), **extras}
    shares = [Share(name, _sizes(name, options), part / rho, rho=Exact(part)) for name, part in spent.items()]
    return Way(supports or None, False, tuple(shares), counted or None)


def _normal(
    mu_squared: Fraction,
    options: MiningOptions,
    levels: Levelwise | Reaching,
    steps: dict[str, Fraction],
    counted: Fraction,
) -> Way:
    """Return a way that is composed in GDP: its steps, those of levels, supports, and the number of units.

    counted: the ρ that the last of these spends.
    """
    supports = mu_squared * (options.supports_share or 0)
    spent = [(name, _sizes(name, options), part) for name, part in steps.items()]
    spent += [(name, sizes, levels.budget.spent(share)) for name, sizes, share in levels.steps]
    extras = (("supports", supports), ("count", 2 * counted))
    spent += [(name, _sizes(name, options), part) for name, part in extras if part]
    shares = [Share(name, sizes, part / mu_squared, mu_squared=Exact(part)) for name, sizes, part in spent]
    return Way(supports or None, True, tuple(shares), counted or None)


def _sizes(purpose: str, options: MiningOptions) -> tuple[int, ...]:
    """Return the sizes of the itemsets that a step is about."""
    return {"items": (1,), "count": ()}.get(purpose, options.sizes)
