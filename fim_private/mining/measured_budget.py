"""The budget of a measured run: four ways to go, each of which may spend all of ε and its part of δ (Theorem 14)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from fim_private.counting.universe import Catalogue
from fim_private.dp.accounting import growth_bound, root_below, zcdp_rho
from fim_private.dp.cost import Exact, PrivacyCost
from fim_private.dp.gaussian_dp import gdp_mu
from fim_private.dp.parameters import Neighbors
from fim_private.levelwise.gaussian_budget import GaussianBudget
from fim_private.levelwise.item_threshold import LARGEST_DELTA
from fim_private.levelwise.levelwise import ITEMS_DELTA, Levelwise
from fim_private.levelwise.recipe import Recipe
from fim_private.mechanisms import Exponential, LimitedDomain
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.mechanisms.top_k import TopK
from fim_private.mining.measured import Measured, most_items
from fim_private.mining.options import MiningOptions
from fim_private.mining.release import Share

# The parts of the budget: of each measurement, and of the items, where they are unknown and where they are listed.
_MEASUREMENT = Fraction(2, 100)
_ITEMS, _LISTED_ITEMS = Fraction(45, 100), Fraction(15, 100)
# The part of both picks, of items and of itemsets of them, that the items have.
_PICKED_ITEMS = Fraction(1, 3)


@dataclass(frozen=True)
class Way:
    """One of the ways to go. supports: what noisy supports may spend, ρ, or with `normal` μ². shares: of the budget."""

    supports: Fraction | None
    normal: bool
    shares: tuple[Share, ...]


def can_be_measured(options: MiningOptions) -> bool:
    """Tell whether a run can be measured.

    It is for itemsets of users, in one ranking, few enough to be picked from, and e^ε no larger than is of use.
    """
    one_ranking = len(options.sizes) == 1 or options.union
    of_use = growth_bound(options.epsilon) is not None and most_items(options.sizes) > 0
    return options.by_user and one_ranking and of_use


def measured(options: MiningOptions) -> tuple[Measured, dict[str, Way]]:
    """Return the run, and its ways by name, each of which has an equal part of δ. See `can_be_measured`.

    Raises ParameterError for a budget of which some part is out of range.
    """
    listed = isinstance(options.counted_universe, Catalogue)
    [public] = options.selections()
    epsilon, for_supports = options.epsilon, options.supports_share or Fraction(0)
    single = options.sizes[-1] == 1
    part = options.delta / (3 if listed or single else 4)
    items_delta = None if listed else min(part * ITEMS_DELTA, LARGEST_DELTA)
    left = (part - (items_delta or 0)) / (1 - (items_delta or 0))
    rho, mu = zcdp_rho(epsilon, left), gdp_mu(epsilon, left)

    # The measurements cost every way the same; with the least ρ as their measure it is a part of each.
    direct_rho = rho if listed else zcdp_rho(epsilon, part / 2)
    measurement = _MEASUREMENT * (1 - for_supports) * min(rho, direct_rho)
    changes = 1 if listed or options.neighbors == Neighbors.ADD_REMOVE else 4
    items_share = (_LISTED_ITEMS if listed else _ITEMS) * (1 - for_supports)
    items = GaussianBudget(root_below(2 * rho), options.neighbors)
    items_rho = items.spent(items_share) / 2
    measured_most = 2 if listed or single else 3
    picks_rho = rho * (1 - for_supports) - items_rho - measured_most * measurement
    levels_part = 1 - for_supports - 2 * (items_rho + measured_most * measurement) / mu**2

    recipe = Recipe.of(options.sizes, options.top, union=options.union, epsilon=epsilon, neighbors=options.neighbors)
    levels = Levelwise(
        options.sizes,
        options.top,
        options.union,
        GaussianBudget(mu, options.neighbors, levels_part),
        recipe.after_items,
        items_delta,
        options.keep_all,
    )
    # Directly, or items first, both by limited-domain: half of the part of δ is for abstaining.
    bottom = part / 2 / (1 + (growth_bound(epsilon) or 0))
    by_items_rho = direct_rho * (1 - for_supports) - 2 * measurement
    wanted = min(max(8 + options.sizes[-1], math.ceil(6 * math.sqrt(options.top))), most_items(options.sizes))
    sought = replace(public, sizes=(1,), top=wanted)
    direct_picks = direct_rho * (1 - for_supports) - measurement
    direct = _exponential(options, direct_picks) if listed else _limited(public, direct_picks, bottom)
    by_items = None
    if not (listed or single):
        by_items = (
            _limited(sought, by_items_rho * _PICKED_ITEMS, bottom),
            _exponential(options, by_items_rho * (1 - _PICKED_ITEMS)),
        )
    run = Measured(
        options.sizes,
        options.top,
        options.neighbors,
        changes / (2 * measurement),
        direct,
        by_items,
        items,
        replace(recipe, items=items_share),
        items_delta,
        _exponential(options, picks_rho),
        levels,
    )
    sizes = options.sizes
    ways = {
        "direct": _concentrated(direct_rho, for_supports, sizes, {"measurement": measurement}),
        "picks": _concentrated(
            rho, for_supports, sizes, {"measurement": measured_most * measurement, "items": items_rho}
        ),
        "levels": _normal(
            mu**2, for_supports, levels, {"measurement": 2 * measured_most * measurement, "items": 2 * items_rho}
        ),
    }
    if by_items is not None:
        steps = {"measurement": 2 * measurement, "items": by_items_rho * _PICKED_ITEMS}
        ways["items"] = _concentrated(direct_rho, for_supports, sizes, steps)
    return run, ways


def cost(options: MiningOptions) -> PrivacyCost:
    """Return what a measured run spends: all of it."""
    return PrivacyCost(options.epsilon, options.delta)


def _limited(public: PublicParameters, rho: Fraction, bottom_delta: Fraction) -> TopK:
    """Return picks by limited-domain; bottom_delta as for TopK.by_zcdp_composition."""

    def build(epsilon: Fraction, delta: Fraction) -> LimitedDomain:
        return LimitedDomain.from_public(epsilon, delta, public)

    return TopK.by_zcdp_composition(build, public.top, rho, bottom_delta)


def _exponential(options: MiningOptions, rho: Fraction) -> TopK:
    """Return picks by the exponential mechanism."""

    def build(epsilon: Fraction, _: Fraction) -> Exponential:
        return Exponential(epsilon, options.neighbors)

    return TopK.by_zcdp_composition(build, options.top, rho, Fraction(0))


def _concentrated(rho: Fraction, for_supports: Fraction, sizes: tuple[int, ...], steps: dict[str, Fraction]) -> Way:
    """Return a way that is composed in zCDP: its steps, picks with the rest, and supports."""
    supports = rho * for_supports
    spent = {**steps, "selection": rho - supports - sum(steps.values()), **({"supports": supports} if supports else {})}
    shares = [
        Share(name, (1,) if name == "items" else sizes, part / rho, rho=Exact(part)) for name, part in spent.items()
    ]
    return Way(supports or None, False, tuple(shares))


def _normal(mu_squared: Fraction, for_supports: Fraction, levels: Levelwise, steps: dict[str, Fraction]) -> Way:
    """Return a way that is composed in GDP: its steps, those of levels, and supports."""
    supports = mu_squared * for_supports
    spent = [(name, (1,) if name == "items" else levels.sizes, part) for name, part in steps.items()]
    spent += [(name, sizes, levels.budget.spent(share)) for name, sizes, share in levels.steps]
    spent += [("supports", levels.sizes, supports)] if supports else []
    shares = [Share(name, sizes, part / mu_squared, mu_squared=Exact(part)) for name, sizes, part in spent]
    return Way(supports or None, True, tuple(shares))
