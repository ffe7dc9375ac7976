"""A forecast for users: what share of the most frequent itemsets comes out, and what a list brings.

It is an estimate from public numbers, no bound. Two things lose an itemset. The weight of its
items may be too low for them to go on to the sets (a normal distribution function of its
logarithm). And others may overtake it by noise in the second count. The noise and the threshold
are those of the run that `mine` would carry out. How strong items and itemsets are in a shop was
measured on seven public data sets, and is interpolated by how many different items a user has
bought.

Of pairs, at k = 10, 50 and 100 and ε = 1, it was within 11 points of the share measured on all
seven. Of 500 to 10,000 users drawn from three of them 86 % of the forecasts were within 10 points,
and most others too low. It is rougher for other sizes and for fewer than ten itemsets. With each
data set left out in turn it was 16 to 28 points off in the mean, and 45 to 72 for the three of few
or coarse items.
"""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import cycle
from statistics import NormalDist

import numpy as np

from fim_private import options
from fim_private.display import JsonObject, Table, Tabular
from fim_private.dp.arguments import exact_number, public_integer, whole_number
from fim_private.dp.cost import Exact, least_in_words
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.parameters import exact_delta
from fim_private.errors import Marked, ParameterError, parameter, shown
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.recipe import GRID, Floats, item_threshold
from fim_private.mechanisms.base import exponential_rate
from fim_private.mechanisms.needs import prospects
from fim_private.mechanisms.top_k import TopK
from fim_private.options.declaration import OptionValues
from fim_private.request.allocation import plan_of
from fim_private.request.groups import itemsets_of
from fim_private.request.plan import Selection
from fim_private.request.request import Request, request_of

# where nothing else is asked: most data sets measured have about as many items
USUAL_ITEMS = 30.0
# on how many are listed selections depend by the logarithm alone
_LISTED_ITEMS, _LARGEST_ITEMS = 10_000, 1_000_000
_PICKED = frozenset({"exponential", "limited-domain"})


@dataclass(frozen=True)
class Shop:
    """How strong the items, and the itemsets of some sizes, are in a shop, in natural logarithms.

    Attributes:
        users: How many users it has: the number itself.
        reach: The weight of the items of the top 50 itemsets, per user.
        spread: The spread of these weights.
        reach_decay: How they fall with the number of itemsets sought.
        hold: How far apart the top itemsets are in support, per user.
        hold_decay: How that falls with the number of itemsets sought.
        shares: (3,) the shares of users with the 1st, 10th and 100th item, or pair.
    """

    users: int
    reach: float
    spread: float
    reach_decay: float
    hold: float
    hold_decay: float
    shares: Floats

    def top_shares(self, ranks: Floats | int) -> Floats:
        """Return the shares of users with the itemsets at these ranks, >= 1, as far as known."""
        return np.asarray(np.interp(np.log10(ranks), (0, 1, 2), self.shares))

    def share_ahead(self, count: int, log_noise: float, power: float) -> float:
        """Return the share of the `count` itemsets sought that noise does not let others overtake.

        log_noise: the logarithm of its deviation, in units.
        """
        log_hold = math.log(self.users) + self.hold - self.hold_decay * math.log(count / _PAIRS)
        return math.exp(-math.exp(min(power * (log_noise - log_hold), 50.0)))


# What is added to reach, hold and reach_decay, by the smallest size sought and whether larger sets
# are sought as well. Beyond 3, hold is added once more for each item.
_LARGER = (0.226, -0.893, -0.357)
_SHIFTS = {
    (1, False): (-0.084, 1.821, 0.366),
    (1, True): (-0.038, 1.182, 0.304),
    (2, False): (0.0, 0.0, 0.0),
}

# The columns: items, reach, spread, reach_decay, hold, hold_decay; and the shares of the 1st, 10th
# and 100th item, and pair. Fitted to what `mine`, and a model of it, found in these shops, whole
# and in halves of their users.
_SHOPS = (
    # Dunnhumby's sample of few items, 9,010 users of 217 items
    (5.4, -4.061, 0.714, -0.456, -6.751, 0.218, 0.1128, 0.0648, 0.0206, 0.0085, 0.0039, 0.0020),
    # Groceries by member, 3,898 users
    (8.9, -2.513, 0.260, -0.007, -3.805, -0.026, 0.4582, 0.1855, 0.0154, 0.0552, 0.0308, 0.0118),
    # Valued Shoppers, 9,999 users
    (25.9, -4.181, 0.150, 0.120, -4.260, 0.214, 0.3530, 0.1195, 0.0365, 0.0916, 0.0406, 0.0166),
    # Ta-Feng, 13,858 users
    (36.4, -4.703, 0.339, -0.080, -5.946, 0.432, 0.3247, 0.0776, 0.0312, 0.0363, 0.0206, 0.0073),
    # Online Retail, 4,372 users
    (61.2, -4.174, 0.150, 0.017, -5.671, 0.183, 0.2029, 0.1338, 0.0739, 0.0716, 0.0581, 0.0393),
    # Complete Journey by product type, 2,469 users, and by product
    (175.9, -2.625, 0.234, 0.292, -3.476, 0.215, 0.8967, 0.6351, 0.3690, 0.5751, 0.4435, 0.2791),
    (351.4, -3.610, 0.437, 0.117, -3.999, 0.390, 0.7250, 0.3860, 0.1608, 0.2394, 0.1673, 0.0757),
)
_FIRST_SHARE = 6  # of the columns
_PAIRS = 50  # so many pairs were sought there

# Of few different items each has a large share of the users: an average item has at least items /
# different items, and an average pair its square. On 0/1 tables of 12 to 497 columns (three data
# sets, 600 and 3,000 users) this, with the true mean number of items, was 15 points off in the
# mean; 20 without it, and 25 with 30 items for a mean user.
_PAIR_HOLD = 0.5
# An itemset is sure in half of the runs where the first leads the last of those asked for by so
# much: the logarithm of their difference over the noise, times their ratio less 1. Fitted to the
# same shops, whole and in halves.
_LEAD_OF_SURE, _SPREAD_OF_SURE = 2.4, 0.8
_RANKS = 20  # so many ranks stand for all


def shop_of(sizes: Sequence[int], users: int, items: float, among: int | None) -> Shop:
    """Return a typical shop, as it is for itemsets of these sizes.

    users, items, among: as in `expected_found`.
    """
    columns = np.array(_SHOPS).T
    columns[_FIRST_SHARE:] = np.log(columns[_FIRST_SHARE:])
    at, places = math.log(items), np.log(columns[0])
    figures = [float(np.interp(at, places, column)) for column in columns[1:]]
    reach, spread, reach_decay, hold, hold_decay, *shares = figures
    average_share = -math.inf
    if among is not None:
        average_share = math.log(min(items / among, 1.0))
    reach_shift, hold_shift, decay_shift = _SHIFTS.get((sizes[0], len(sizes) > 1), _LARGER)
    is_larger = sizes[0] > 1
    return Shop(
        users,
        max(reach, average_share) + reach_shift,
        spread,
        reach_decay + decay_shift,
        max(hold, math.log(_PAIR_HOLD) + 2 * average_share) + hold_shift * max(sizes[0] - 2, 1),
        hold_decay,
        np.maximum(np.reshape(shares, (2, 3))[int(is_larger)], average_share * (1 + is_larger)),
    )


# Listed items go on from so many σ; powers of noise over hold, of levelwise and of selections; and
# their scale.
_LISTED_SIGMAS, _POWER, _PICKS_POWER, _PICKS_SCALE = 2.555, 1.038, 0.95, -0.715
# Of selections, without and with a list: the logarithm of support over need at which half are
# found, and its spread.
_PICKS_HALF = {False: (-0.108, 0.224), True: (-0.769, 0.599)}


def typical_items(name: str, items: float, *, least: int) -> float:
    """Return how many different items a user has bought. Raises ParameterError unless it is `least`
    to 1,000,000.
    """
    number = exact_number(items)
    if number is not None and least <= number <= _LARGEST_ITEMS:
        return float(number)
    raise ParameterError(
        f"{parameter(name)} must be a number of items from {least} to {_LARGEST_ITEMS:,}, not "
        f"{shown(items)}"
    )


def with_list(request: Request, items: int | None) -> Request:
    """Return the same request with a public list of that size, or of a usual one, if the mechanism
    is left to "auto".
    """
    return request.with_options(
        {
            "catalogue": range(items or _LISTED_ITEMS),
            "universe_size": None,
            "supports": request.supports_share > 0,
            "supports_share": request.supports_share or None,
            "known": None,
            "max_rank": None,
            "rules": False,
            "count": False,
        }
    )


def expected_found(request: Request, units: int, items: float, among: int | None) -> float | None:
    """Return an estimate of the share of the true top that is found, in [0, 1].

    It is the mean of the sizes asked for. Returns None for mechanisms that "auto" does not choose,
    and with min_support or max_basket.

    Args:
        request: What is asked for.
        units: The number of users.
        items: How many different items a mean user has bought.
        among: How many different items there are, if that is public.
    """
    target = request.target
    if target.min_support is not None or request.public.max_basket is not None:
        return None
    plan = plan_of(request)
    half_width = 0
    if not target.keep_all:
        half_width = plan.half_width(target.most_supports)
    shares = []
    # Levelwise has one selection for all sizes.
    for sizes, selection in zip(target.groups, cycle(plan.selections), strict=False):
        shop, run = shop_of(sizes, units, items, among), selection.run
        if isinstance(run, Levelwise):
            shares.append(_found_by_levels(run, shop, half_width))
        elif isinstance(run, TopK) and request.mechanism.name in _PICKED:
            shares.append(_found_by_selections(run, selection, shop))
        else:
            return None
    return sum(shares) / len(shares)


def _found_by_levels(run: Levelwise, shop: Shop, half_width: int) -> float:
    """Return the share of the itemsets sought that levelwise finds and releases."""
    budget, recipe, count = run.budget, run.recipe, run.sought.count
    variance = budget.variance(recipe.items, 1)
    need = _LISTED_SIGMAS * math.sqrt(variance)
    if run.items_delta is not None:
        need = item_threshold(variance, run.items_delta, recipe.own_items) / GRID
    weight = math.log(shop.users) + shop.reach - shop.reach_decay * math.log(count / _PAIRS)
    items_go_on = NormalDist(math.log(need), shop.spread).cdf(weight)
    log_noise = math.log(budget.variance(recipe.second, 1)) / 2
    share_found = items_go_on * shop.share_ahead(count, log_noise, _POWER)
    ranks = np.geomspace(1, count, _RANKS)
    supports = shop.users * np.exp(shop.top_shares(ranks))
    return share_found * _share_that_comes_out(ranks, supports, log_noise, half_width)


def _share_that_comes_out(
    ranks: Floats, supports: Floats, log_noise: float, half_width: int
) -> float:
    """Return the share of the itemsets found that come out.

    If none is sure to be among those asked for, those whose interval reaches 0 do not.

    Args:
        ranks: (n,) ranks of the itemsets asked for.
        supports: (n,) their supports, in units.
        log_noise: The logarithm of the deviation of the second count.
        half_width: Half the interval of a support, in units, or 0 if none is left out.
    """
    first, last = float(supports[0]), float(supports[-1])
    if not half_width or first <= last:
        return 1.0
    lead = math.log(first - last) - log_noise + math.log(first / last - 1)
    none_is_sure = NormalDist(lead, _SPREAD_OF_SURE).cdf(_LEAD_OF_SURE)
    noise = NormalDist(0, half_width / NormalDist().inv_cdf(0.975))
    above_zero = [noise.cdf(support - half_width) for support in supports]
    share_above = float(np.average(above_zero, weights=np.gradient(ranks)))
    return 1 - none_is_sure * (1 - share_above)


def _found_by_selections(run: TopK, selection: Selection, shop: Shop) -> float:
    """Return the share of the itemsets sought that selections find one by one."""
    mechanism, is_listed = run.mechanism, selection.public.named
    need = prospects(mechanism, 0.5, selection.public.candidates if is_listed else None).support
    if need is None:
        return 0.0
    half, spread = _PICKS_HALF[is_listed]
    log_support = math.log(shop.users) + float(shop.top_shares(run.count))
    is_chosen = NormalDist(math.log(need) + half, spread).cdf(log_support)
    rate = exponential_rate(mechanism.epsilon, mechanism.neighbors)
    return is_chosen * shop.share_ahead(run.count, _PICKS_SCALE - math.log(rate), _PICKS_POWER)


# A forecast is not printed below a release if it is off by more than this share of what was sought.
_CONTRADICTION = 0.1


def list_gain(
    request: Request,
    *,
    units: int | None = None,
    user_items: float = USUAL_ITEMS,
    among: int | None = None,
    came_out: float | None = None,
) -> Marked | None:
    """Return what a list of all items would bring users, in a sentence with parameters marked.

    Returns None with a list, or if all came out and the forecast without a list is lower than that.

    Args:
        request: What is asked for.
        units: The number of users, if it is public or was released.
        user_items: How many different items a mean user has bought, >= 1.
        among: How many different items there are, if that is known.
        came_out: The share that came out of the itemsets asked for, after a release.
    """
    if request.public.lists_items:
        return None
    gain = "A public product list finds more"
    listed = without = None
    if units:
        # A request may not go with a list, or a share of the budget be out of range.
        with suppress(ParameterError):
            listed = expected_found(with_list(request, among), units, user_items, among)
            without = expected_found(request, units, user_items, among)
    if listed is not None and without is not None:
        is_contradicted = came_out is not None and abs(came_out - without) > _CONTRADICTION
        if is_contradicted and came_out == 1:
            return None
        if not is_contradicted:
            first, second = (f"{100 * share:.0f} %" for share in (listed, without))
            gain = "A public product list would hardly change what you find here"
            if listed > without and first != second:
                target = request.target
                top = most_frequent([target.top], target.sizes, union=target.union)
                gain = (
                    f"With a list of your products you would find about {first} of the {top}, "
                    f"without it about {second}"
                )
    return Marked(
        f"{gain}: {parameter('catalogue')} products.csv {parameter('catalogue_item')} sku."
    )


# Enough itemsets are found from this share on. So many groups of products are tried.
_ENOUGH, _GROUPS = 0.5, (2000, 1000, 500, 200, 100, 50, 20)


def group_gain(request: Request, units: int, user_items: float) -> Marked | None:
    """Return that users are too few for products, and how much of groups of products is found.

    It speaks of as many groups as half of the itemsets are found of. Returns None if half are found
    of products, or of no groups.

    Args:
        request: What is asked for.
        units: The number of users.
        user_items: How many different items a mean user has bought, >= 1.
    """
    target = request.target
    share = expected_found(request, units, user_items, None)
    if share is None or share >= _ENOUGH:
        return None
    top = most_frequent([target.top], target.sizes, union=target.union)
    for groups in _GROUPS:
        # as many different groups as there are among items that are drawn evenly
        different = groups * (1 - (1 - 1 / groups) ** user_items)
        of_groups = expected_found(request, units, different, groups) or 0
        if of_groups >= _ENOUGH and math.comb(groups, target.sizes[0]) >= target.top:
            return Marked(
                f"{units:,} customers of {user_items:g} different products each are too few: about "
                f"{100 * share:.0f} % of the {top} are found, but about {100 * of_groups:.0f} % of "
                f"those of {groups:,} groups, such as categories."
            )
    return None


def usual_list_gain(units: int, user_items: float, among: int) -> Marked | None:
    """Return what a list would bring users where nothing was asked for yet: the 10 most frequent
    pairs, by default.

    units, user_items, among: as in `list_gain`.
    """
    request = request_of(by_user=True, mechanism="levelwise")
    return list_gain(request, units=units, user_items=user_items, among=among)


def enumerated(words: Sequence[str]) -> str:
    """Return words with commas and "and" between them: "10, 50 and 100"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def most_frequent(tops: Sequence[int], sizes: Sequence[int], *, union: bool) -> str:
    """Return which itemsets are asked for, in words: "10 and 50 most frequent pairs"."""
    numbers = enumerated([f"{top:,}" for top in tops])
    itemsets = itemsets_of(sizes, tops[-1])
    if len(sizes) > 1 and not union:
        itemsets += " of each size"
    if numbers == "1":
        return f"most frequent {itemsets}"
    return f"{numbers} most frequent {itemsets}"


NOTES = (
    (
        "These are estimates from public numbers alone: no data was read. They are for a release "
        "that is told the number of customers, too."
    ),
    (
        "On the shops that they come from 17 of 20 were within 10 points, for the top 10 pairs or "
        "more. Nearly all others were too low: a small shop often finds more."
    ),
    (
        "Take them as a rough guide: on other shops they were often 20 points off, and sometimes "
        "far "
        "more."
    ),
)


class TabularPlan(Tabular):
    """What plans of both kinds share: for how many itemsets they are, and how they are shown."""

    top: int | tuple[int, ...]

    @property
    def tops(self) -> tuple[int, ...]:
        """For how many itemsets it is, ascending."""
        return (self.top,) if isinstance(self.top, int) else self.top


@dataclass(frozen=True, repr=False)
class CustomerPlan(TabularPlan):
    """What share of the true top is found where customers are protected, with noisy supports.

    top: how many itemsets, or several such numbers.
    expected_found: the estimated share that is found, in [0, 1], by neighbour relation and by "no
    list" or "list"; of several numbers of itemsets, a share for each.
    user_items: different items that a user has bought in all, on average. universe_size: of the
    list, if given. notes: what is to be said of it, in sentences.
    """

    units: int
    user_items: float
    top: int | tuple[int, ...]
    sizes: tuple[int, ...]
    union: bool
    epsilon: float
    delta: float
    universe_size: int | None
    expected_found: dict[str, dict[str, float | tuple[float, ...]]]
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """What was asked, in words."""
        return (
            f"Expected share of the {most_frequent(self.tops, self.sizes, union=self.union)} that "
            f"is found, "
            f"among {self.units:,} customers of {self.user_items:g} different items "
            f"(ε = {least_in_words(self.epsilon)}, δ = {least_in_words(self.delta)}, with supports)"
        )

    @property
    def row_names(self) -> tuple[str, ...]:
        """What names a row: the neighbour relation and, if there are several, the number sought."""
        return ("neighbours", "top")[: len(self.tops)]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """What `row_names` says, and the shares without a list and with one, in words."""
        rows = []
        for relation, shares in self.expected_found.items():
            columns = map(np.atleast_1d, shares.values())
            for top, *of_top in zip(self.tops, *columns, strict=True):
                names = (relation, f"{top:,}")[: len(self.tops)]
                rows.append((*names, *(f"{100 * share:.0f} %" for share in of_top)))
        return rows

    def table(self) -> Table:
        """Return the shares by neighbour relation, without a list and with one."""
        columns = (*self.row_names, "without a product list", "with one")
        return Table(self.title, columns, self.rows, self.notes)

    def to_dict(self) -> JsonObject:
        """Return plain values: one key per field."""
        return asdict(self)


def plan_customers(
    user_items: float, values: OptionValues, top: int | tuple[int, ...]
) -> CustomerPlan:
    """Return the forecast for users. values: all options of `plan`. top: one or several numbers."""
    usual = {"confidence": options.CONFIDENCE}
    for name in ("max_basket", "max_baskets", "max_rank", "typical_basket", "confidence"):
        if values[name] != usual.get(name):
            raise ParameterError(
                f"{parameter(name)} has no use with {parameter('user_items')}: leave it out"
            )
    if values["units"] is None:
        raise ParameterError(
            f"{parameter('user_items')} needs {parameter('units')}: about how many customers "
            f"there are"
        )
    exact_delta(values["delta"])
    universe_size = values["universe_size"]
    if universe_size is not None:
        universe_size = whole_number("universe_size", universe_size, least=2, most=10_000_000)
    units = public_integer("units", values["units"])
    whole = request_of(
        by_user=True,
        supports=True,
        size=values["size"],
        union=values["union"],
        epsilon=values["epsilon"],
        delta=values["delta"],
        units=units,
    )
    target = whole.target
    items = typical_items("user_items", user_items, least=target.sizes[-1])

    def shares(requests: Iterable[Request]) -> float | tuple[float, ...]:
        estimates = (expected_found(request, units, items, universe_size) for request in requests)
        rounded = tuple(round(estimate or 0.0, 4) for estimate in estimates)
        return rounded[0] if isinstance(top, int) else rounded

    expected, tops = {}, (top,) if isinstance(top, int) else top
    for relation in (Neighbors.ADD_REMOVE.value, Neighbors.REPLACE_ONE.value):
        requests = [whole.with_options({"neighbors": relation, "top": number}) for number in tops]
        listed = [with_list(request, universe_size) for request in requests]
        expected[relation] = {"no list": shares(requests), "list": shares(listed)}
    gain = None
    if universe_size is None:
        gain = group_gain(whole.with_options({"top": tops[-1]}), units, items)
    return CustomerPlan(
        units=units,
        user_items=items,
        top=top,
        sizes=target.sizes,
        union=target.union,
        epsilon=float(Exact(whole.budget.loss)),
        delta=float(Exact(whole.budget.delta)),
        universe_size=universe_size,
        expected_found=expected,
        notes=NOTES if gain is None else (str(gain), *NOTES),
    )
