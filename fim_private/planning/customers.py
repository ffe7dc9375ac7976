"""A plan for users: what share of the true top is found, with a product list and without."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from fim_private import options as defaults
from fim_private.display import Table
from fim_private.dp.cost import Exact, at_least
from fim_private.dp.parameters import Neighbors, exact_delta, exact_number, public_integer, whole_number
from fim_private.errors import Marked, ParameterError, parameter, shown
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.recipe import GRID, item_threshold
from fim_private.mechanisms.exponential import exponential_rate
from fim_private.mechanisms.needs import prospects
from fim_private.mechanisms.top_k import TopK
from fim_private.request.budget import AllocatedSelection, allocate
from fim_private.request.request import MiningOptions, checked_options

# An estimate from public numbers alone; no bound. Two things lose an itemset: its items do not go on to the sets, since
# their weight is too low (a normal distribution function of its logarithm), and others overtake it by noise in the
# second count. The noise and the threshold are those of the run that `mine` would carry out. How strong items and
# itemsets are in a shop was measured on seven public data sets, and is interpolated by how many different items a user
# has bought.
#
# Of pairs, at k = 10, 50 and 100 and ε = 1, the forecast was within 11 points of the share measured on all seven, whole
# and in halves of their users, with and without a list, under both neighbour relations. It is rougher for what was
# measured less: other sizes (levelwise within 10 points in 70 to 78 % of 200 cases), and fewer than ten itemsets. That
# is how well it fits what it was made of: with each data set left out in turn, forecasts from the other six were 16 to
# 28 points off in the mean, and 45 to 72 for the three of few or coarse items.

# What is planned for where nothing else is asked: of the data sets measured, most have about as many items a user.
USUAL_ITEMS, USUAL_TOP = 30.0, 50
# How many items a list has where that is not given: picks over it depend on the logarithm alone.
_LISTED_ITEMS = 10_000
_LARGEST_ITEMS = 1_000_000
_PICKED = frozenset({"exponential", "limited-domain"})


# Fitted to what `mine`, and a model of it, found in the shops whole and in halves of their users: how many different
# items a mean user has; then, in natural logarithms, the weight of the items of the top 50 pairs, per user ("reach");
# the spread of these weights; how they fall with the number wanted; how far apart the top pairs are in support, per
# user ("hold"); how that falls; and the share of users with the 1st, 10th and 100th item, and pair.
_SHOPS = (
    # Dunnhumby's sample of few items, 9,010 users of 217 items; Groceries by member, 3,898; Valued Shoppers, 9,999
    (5.4, -4.061, 0.714, -0.456, -6.751, 0.218, *map(math.log, (0.1128, 0.0648, 0.0206, 0.0085, 0.0039, 0.0020))),
    (8.9, -2.513, 0.260, -0.007, -3.805, -0.026, *map(math.log, (0.4582, 0.1855, 0.0154, 0.0552, 0.0308, 0.0118))),
    (25.9, -4.181, 0.150, 0.120, -4.260, 0.214, *map(math.log, (0.3530, 0.1195, 0.0365, 0.0916, 0.0406, 0.0166))),
    # Ta-Feng, 13,858; Online Retail, 4,372; Complete Journey by product type and by product, 2,469
    (36.4, -4.703, 0.339, -0.080, -5.946, 0.432, *map(math.log, (0.3247, 0.0776, 0.0312, 0.0363, 0.0206, 0.0073))),
    (61.2, -4.174, 0.150, 0.017, -5.671, 0.183, *map(math.log, (0.2029, 0.1338, 0.0739, 0.0716, 0.0581, 0.0393))),
    (175.9, -2.625, 0.234, 0.292, -3.476, 0.215, *map(math.log, (0.8967, 0.6351, 0.3690, 0.5751, 0.4435, 0.2791))),
    (351.4, -3.610, 0.437, 0.117, -3.999, 0.390, *map(math.log, (0.7250, 0.3860, 0.1608, 0.2394, 0.1673, 0.0757))),
)


def _shop(items: float) -> list[float]:
    """Return what is fitted for so many items a user: between two shops, and the nearest beyond them, but its items."""
    of_shops, *columns = zip(*_SHOPS, strict=True)
    return [float(np.interp(math.log(items), np.log(of_shops), column)) for column in columns]


# What is added to reach, hold and reach_decay for what is not pairs: items, sizes from 1 on together, sets of three.
_SHIFTS = {
    "items": (-0.084, 1.821, 0.366),
    "together": (-0.038, 1.182, 0.304),
    "pairs": (0.0, 0.0, 0.0),
    "larger": (0.226, -0.893, -0.357),
}
# Listed items go on from so many σ; the powers of noise over hold, of levelwise and of picks, and the scale of these.
_LISTED_SIGMAS, _POWER, _PICKS_POWER, _PICKS_SCALE = 2.555, 1.038, 0.95, -0.715
# Of picks, without a list and with one: the logarithm of support over need at which half are found, and its spread.
_PICKS_HALF = {False: (-0.108, 0.224), True: (-0.769, 0.599)}


def typical_items(name: str, items: float, *, least: int) -> float:
    """Return how many different items a user has bought. Raises ParameterError unless it is `least` to 1,000,000."""
    number = exact_number(items)
    if number is None or not least <= number <= _LARGEST_ITEMS:
        raise ParameterError(
            f"{parameter(name)} must be a number of items from {least} to {_LARGEST_ITEMS:,}, not {shown(items)}"
        )
    return float(number)


def with_list(options: MiningOptions, items: int | None = None) -> MiningOptions:
    """Return the same request with a public list of so many items, where the mechanism is left to "auto"."""
    names = ("epsilon", "delta", "rho", "neighbors", "top", "union", "supports_share", "keep_all", "by_user")
    return of_users(
        **{name: getattr(options, name) for name in names},
        size=options.sizes,
        mechanism="auto" if options.reason is not None else options.mechanism.name,
        supports=options.supports_share is not None,
        catalogue=range(_LISTED_ITEMS if items is None else items),
    )


def of_users(**asked: Any) -> MiningOptions:
    """Return a request, checked: of users and with supports unless asked otherwise."""
    return checked_options(**({"by_user": True, "supports": True} | asked))


def expected_found(options: MiningOptions, units: int, items: float) -> float | None:
    """Return the share of the true top that is found, in [0, 1], as an estimate; the mean of the sizes asked for.

    options: the request, of users. units: how many users, >= 1. items: different ones that one has bought, on average.
    None where nothing is known: for other mechanisms than "auto" takes, with a least support or a cap.
    Raises ParameterError where the budget is out of range.
    """
    if options.min_support is not None or options.max_basket is not None:
        return None
    found: list[float] = []
    for selection in allocate(options).selections:
        if isinstance(selection.run, Levelwise):
            groups = [selection.sizes] if options.union else [(size,) for size in selection.sizes]
            found += [_found_by_levels(selection.run, sizes, units, items) for sizes in groups]
        elif isinstance(selection.run, TopK) and options.mechanism.name in _PICKED:
            found.append(_found_by_picks(selection, selection.run, options, units, items))
        else:
            return None
    return sum(found) / len(found)


def _found_by_levels(run: Levelwise, sizes: tuple[int, ...], users: int, items: float) -> float:
    """Return the share that levelwise finds of itemsets of some sizes, ranked together if there are several."""
    (reach, spread, reach_decay, hold, hold_decay, *_), shifts = _shop(items), _shifts(sizes)
    budget, recipe, units, wanted = run.budget, run.recipe, math.log(users), math.log(run.count / 50)
    variance = budget.variance(recipe.items, 1)
    need = _LISTED_SIGMAS * math.sqrt(variance)
    if run.items_delta is not None:
        need = item_threshold(variance, run.items_delta, recipe.own_items) / GRID
    weight = units + reach + shifts[0] - (reach_decay + shifts[2]) * wanted
    noise = math.log(budget.variance(recipe.second, 1)) / 2
    ahead = _ahead(_POWER * (noise - (units + hold + shifts[1] - hold_decay * wanted)))
    return NormalDist().cdf((weight - math.log(need)) / spread) * ahead


def _found_by_picks(
    selection: AllocatedSelection, run: TopK, options: MiningOptions, users: int, items: float
) -> float:
    """Return the share that selections find: those with the support they need, and that others do not overtake."""
    _, _, _, hold, hold_decay, *shares = _shop(items)
    sizes, units, listed = selection.sizes, math.log(users), options.items_are_listed
    need = prospects(run.mechanism, 0.5, selection.candidates if listed else None).support
    if need is None:
        return 0.0
    half, spread = _PICKS_HALF[listed]
    of_ranks = shares[:3] if sizes[0] == 1 else shares[3:]
    support = units + float(np.interp(math.log10(run.count), (0, 1, 2), of_ranks))
    noise = _PICKS_SCALE - math.log(exponential_rate(run.mechanism.epsilon, options.neighbors))
    ahead = _ahead(_PICKS_POWER * (noise - (units + hold + _shifts(sizes)[1] - hold_decay * math.log(run.count / 50))))
    return NormalDist().cdf((support - math.log(need) - half) / spread) * ahead


def _ahead(log: float) -> float:  # the share that is not overtaken, from the logarithm of noise over hold
    return math.exp(-math.exp(min(log, 50.0)))


def _shifts(sizes: tuple[int, ...]) -> tuple[float, float, float]:
    """Return what is added to reach, hold and reach_decay; of sets of more than three, once more for each item."""
    if sizes[0] == 1:
        return _SHIFTS["items" if len(sizes) == 1 else "together"]
    if sizes[-1] == 2:
        return _SHIFTS["pairs"]
    reach, hold, decay = _SHIFTS["larger"]
    return reach, hold * (sizes[0] - 2 or 1), decay


def list_gain(options: MiningOptions, *, units: int | None = None, user_items: float = USUAL_ITEMS) -> Marked | None:
    """Return what a list of all items would bring users, in a sentence with its parameters marked; None with a list.

    options: the request. units: how many users there are, where that is public or was released; without it no number
    is known. user_items: a public guess of how many different items a user has bought, >= 1.
    """
    if options.items_are_listed:
        return None
    gain, listed, without = "A public product list finds more", None, None
    if units is not None and units >= 1:
        # A request may not go with a list, or a share of the budget be out of range.
        with suppress(ParameterError):
            listed, without = (expected_found(one, units, user_items) for one in (with_list(options), options))
    if listed is not None and without is not None:
        first, second = (f"{100 * share:.0f} %" for share in (listed, without))
        what = most_frequent(options.top, options.sizes, union=options.union)
        gain = f"With a list of your products about {first} of the {what} would be found, in place of about {second}"
        if listed <= without or first == second:
            gain = "A public product list would hardly change what is found here"
    return Marked(f"{gain}: {parameter('catalogue')} products.csv {parameter('catalogue_item')} sku.")


def usual_list_gain(units: int) -> Marked | None:
    """Return what a list would bring users where nothing was asked for yet: the 50 most frequent pairs, by default."""
    budget = {"epsilon": defaults.EPSILON, "delta": defaults.DELTA, "neighbors": defaults.NEIGHBORS}
    return list_gain(of_users(mechanism="levelwise", top=USUAL_TOP, **budget), units=units)


def most_frequent(top: int, sizes: Sequence[int], *, union: bool) -> str:
    """Return which itemsets are asked for, in words: "50 most frequent pairs"."""
    if len(sizes) > 1:
        each = "" if union else " of each size"
        return f"{top:,} most frequent itemsets of {sizes[0]} to {sizes[-1]} items{each}"
    one, several = {1: ("item", "items"), 2: ("pair", "pairs")}.get(sizes[0], ("itemset", "itemsets"))
    of_size = f" of {sizes[0]} items" if sizes[0] > 2 else ""
    return f"most frequent {one}{of_size}" if top == 1 else f"{top:,} most frequent {several}{of_size}"


NO_LIST, LIST = "no list", "list"
NOTES = (
    "These are estimates from public numbers alone: no data was read.",
    "For pairs, from the top 10 on, they were within about 10 points on the shops they come from.",
    "Take them as a rough guide: on a shop they did not know they were often 20 points off, and sometimes far more.",
)


@dataclass(frozen=True, repr=False)
class CustomerPlan:
    """What share of the true top is found where customers are protected.

    expected_found: by neighbour relation and by "no list" or "list" the share that is found, in [0, 1], an estimate.
    units: how many users. user_items: different items that one has bought in all, on average. universe_size: of the
    list; None where that was not given. top, sizes, union, epsilon, delta: what is asked for, noisy supports with it.
    """

    units: int
    user_items: float
    top: int
    sizes: tuple[int, ...]
    union: bool
    epsilon: float
    delta: float
    universe_size: int | None
    expected_found: dict[str, dict[str, float]]

    @property
    def title(self) -> str:
        """What was asked, in words."""
        return (
            f"Expected share of the {most_frequent(self.top, self.sizes, union=self.union)} that is found, "
            f"among {self.units:,} customers of {self.user_items:g} different items (ε = {at_least(self.epsilon)}, "
            f"δ = {at_least(self.delta)}, with supports)"
        )

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The neighbour relation, and the shares without a list and with one, in words."""
        found = self.expected_found.items()
        return [(relation, *(f"{100 * share:.0f} %" for share in shares.values())) for relation, shares in found]

    def _table(self) -> Table:
        columns = ("neighbours", "without a product list", "with one")
        return Table(self.title, columns, self.rows, numbers=frozenset({1, 2}), notes=NOTES)

    def __repr__(self) -> str:
        return f"Plan: {self._table().text()}"

    def _repr_html_(self) -> str:
        return self._table().html()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: one key per field."""
        return asdict(self) | {"sizes": list(self.sizes)}


def plan_customers(
    *, units: int | None, user_items: float, top: int, universe_size: int | None, **asked: Any
) -> CustomerPlan:
    """Return the plan for users, as `planning.plan` says. asked: size, union, epsilon and delta."""
    if units is None:
        raise ParameterError(
            f"{parameter('user_items')} needs {parameter('units')}: about how many customers there are"
        )
    exact_delta(asked["delta"])
    listed = None if universe_size is None else whole_number("universe_size", universe_size, least=2, most=10_000_000)
    found: dict[str, dict[str, float]] = {}
    for relation in (Neighbors.ADD_REMOVE.value, Neighbors.REPLACE_ONE.value):
        options = of_users(neighbors=relation, top=top, **asked)
        items = typical_items("user_items", user_items, least=options.sizes[-1])
        units = public_integer("units", units)
        requests = {NO_LIST: options, LIST: with_list(options, listed)}
        shares = {name: expected_found(one, units, items) for name, one in requests.items()}
        found[relation] = {name: round(share, 4) for name, share in shares.items() if share is not None}
    budget = float(Exact(asked["epsilon"])), float(Exact(asked["delta"]))
    return CustomerPlan(units, items, options.top, options.sizes, options.union, *budget, listed, found)
