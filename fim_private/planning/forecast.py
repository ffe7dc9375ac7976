"""A forecast for users: what share of the most frequent itemsets comes out, and what a list brings.

It is an estimate from public numbers, no bound. How many users have the most frequent items and
pairs was counted in eight public data sets. It is interpolated by how many different items a user
has bought, and raised if there are too few different items for that. From these supports, and from
the noise and thresholds of the run that `mine` would carry out, follows what is lost. The items of
an itemset may weigh too little to go on to the sets. Others may overtake it by noise. Its interval
may reach 0.

Most constants were fitted to five of these data sets, from which 500 to 100,000 users were drawn.
The others are from an earlier fit, to more data sets. benchmarks/utility/forecasts.py measures how
good the forecasts are.
"""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from statistics import NormalDist
from typing import Self

import numpy as np

from fim_private import options
from fim_private.display import JsonObject, Table, Tabular
from fim_private.dp.arguments import exact_number, public_integer, whole_number
from fim_private.dp.cost import Exact, least_in_words
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.noise import Floats
from fim_private.dp.parameters import exact_delta
from fim_private.errors import Marked, ParameterError, parameter, shown
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.recipe import GRID, item_threshold
from fim_private.mechanisms.needs import prospects
from fim_private.mechanisms.top_k import TopK
from fim_private.options.declaration import OptionValues
from fim_private.request.allocation import plan_of
from fim_private.request.groups import itemsets_of
from fim_private.request.plan import EnoughItems, ReleasePlan, Selection
from fim_private.request.request import Request, request_of

# where nothing else is asked: most data sets measured have about as many items
USUAL_ITEMS = 30.0
# on how many are listed selections depend by the logarithm alone
_LISTED_ITEMS, _LARGEST_ITEMS = 10_000, 1_000_000
_PICKED = ("exponential", "limited-domain")

# The columns: the different items of a mean user; how many times as much noise pairs tolerate as
# items do (fitted); the shares of users with the 1st, 5th, 25th and 100th item, and pair.
_SHOPS = (
    # BMS-WebView-1, 59,602 sessions of a web shop
    (2.5, 0.45, 0.0614, 0.0469, 0.0184, 0.0076, 0.0202, 0.0124, 0.0069, 0.0039),
    # Groceries, 9,835 baskets, and another data set of that name by member, 3,898 users
    (4.4, 0.80, 0.2555, 0.1395, 0.0554, 0.0080, 0.0748, 0.0474, 0.0289, 0.0153),
    (8.9, 2.50, 0.4582, 0.2830, 0.1193, 0.0154, 0.0552, 0.0400, 0.0218, 0.0118),
    # Valued Shoppers, 9,999 users
    (25.9, 1.20, 0.3530, 0.2005, 0.0729, 0.0365, 0.0916, 0.0553, 0.0311, 0.0166),
    # Ta-Feng, 13,858 users; the 5th and 25th are interpolated
    (36.4, 0.30, 0.3247, 0.1194, 0.0540, 0.0312, 0.0363, 0.0244, 0.0136, 0.0073),
    # Online Retail, 4,372 users
    (61.2, 0.45, 0.2029, 0.1464, 0.1075, 0.0739, 0.0716, 0.0624, 0.0540, 0.0393),
    # Complete Journey by product type, 2,469 users, and by product
    (175.9, 0.90, 0.8967, 0.7060, 0.5553, 0.3690, 0.5751, 0.4945, 0.3726, 0.2791),
    (351.4, 0.60, 0.7250, 0.4386, 0.3305, 0.1608, 0.2394, 0.1956, 0.1304, 0.0757),
)
_RANKS = 1.0, 5.0, 25.0, 100.0
# Shares go on to fall as they do between the last two ranks, up to this one.
_FARTHEST = 1e7
# Each item more divides the share of users by what the second divides that of the rarer item by,
# to this power.
_LARGER_POWER = 0.7
# With each item more, sets tolerate this share of the noise: there is one more step at which they
# may be lost.
_LARGER_TOLERANCE = 0.25
_SUMMED_RANKS = 100  # so many ranks stand for all items
_MOST_USERS = 10**100  # more change nothing, and a float ends at 10^308

# An item has this many times the weight that it would have if all users were mean users.
_MEAN_WEIGHT = 1.12
# The noise of levelwise is this many times that of its second count, and grows by this power of the
# number of candidates that a user has. The scaling of users who have many moves a support by this
# share.
_LEVELS_NOISE, _LOAD_POWER, _UNEVEN = 0.85, 0.33, 0.01
# The noise of selections is this, divided by their rate.
_PICKS_NOISE = 0.80
# Some itemset clearly leads those left out in half of the runs where the first leads the last of
# those asked for by so many σ: the logarithm, and its spread.
_CLEAR_LEAD, _SPREAD_OF_LEAD = 2.0, 0.43
# How many itemsets compete for the top: this many times as many as are sought, and a few more.
_TIMES_AS_MANY, _MORE = 5, 10
# Noise is hardly ever more than this many σ. The search for a threshold halves its range so often.
_FAR, _HALVINGS = 8, 40


@dataclass(frozen=True)
class Top:
    """The most frequent itemsets of a shop, and those that noise may put in their place.

    Attributes:
        supports: (k,) of the k most frequent, descending, in units. They are fewer than were asked
            for if there are not so many.
        rarest_items: (k,) the support of the rarest item of each.
        rivals: (n,) the supports of those that follow, descending, in units.
        tolerance: How many times as much noise all of these tolerate as single items do.
        load: How many of all of these a mean user has.
    """

    supports: Floats
    rarest_items: Floats
    rivals: Floats
    tolerance: float
    load: float

    def share_ahead(self, noise: float) -> float:
        """Return the share of the most frequent that stays ahead if each support has noise.

        An itemset stays ahead if its noisy support is above a threshold: the one above which as
        many itemsets are expected as are sought.

        noise: its standard deviation, in units, > 0.
        """
        sigma, supports = noise / self.tolerance, np.concatenate([self.supports, self.rivals])
        lowest, highest = supports[-1] - _FAR * sigma, supports[0] + _FAR * sigma
        for _ in range(_HALVINGS):
            threshold = (lowest + highest) / 2
            if _normal((supports - threshold) / sigma).sum() > len(self.supports):
                lowest = threshold
            else:
                highest = threshold
        return float(_normal((self.supports - lowest) / sigma).mean())


@dataclass(frozen=True)
class Shop:
    """A typical shop.

    Attributes:
        users: How many users it has, at most _MOST_USERS.
        items: How many different items a mean user has bought.
        pairs_tolerance: How many times as much noise pairs tolerate as items do.
        shares: (2, 5) the shares of users with the items, and pairs, of some ranks.
        among: How many different items there are, if that is public.
    """

    users: int
    items: float
    pairs_tolerance: float
    shares: Floats
    among: int | None = None

    @classmethod
    def of(cls, users: int, items: float, among: int | None) -> Self:
        """Return the shop of so many users. users, items, among: as in `expected_found`."""
        places, *columns = np.log(_SHOPS).T
        logs = [np.interp(math.log(items), places, column) for column in columns]
        shares = np.reshape(logs[1:], (2, len(_RANKS)))
        fall = math.log(_FARTHEST / _RANKS[-1]) / math.log(_RANKS[-1] / _RANKS[-2])
        farthest = shares[:, -1] + fall * (shares[:, -1] - shares[:, -2])
        users = min(users, _MOST_USERS)
        shop = cls(users, items, math.exp(logs[0]), np.exp(np.column_stack([shares, farthest])))
        if among is None:
            return shop
        ranks = np.geomspace(1, among, _SUMMED_RANKS)
        bought = float(np.trapezoid(shop.supports(1, ranks) * ranks, np.log(ranks))) / users
        odds = max(items / max(bought, 1.0), 1.0) ** np.array([[1], [2]])
        shares = odds * shop.shares / (1 + (odds - 1) * shop.shares)
        return replace(shop, shares=shares, among=among)

    def supports(self, size: int, ranks: Floats) -> Floats:
        """Return the supports of the itemsets of a size at these ranks, >= 1, in units."""
        shares = self.shares[min(size, 2) - 1]
        logs = np.interp(np.log(ranks), np.log([*_RANKS, _FARTHEST]), np.log(shares))
        supports = self.users * np.exp(logs)
        if size > 2:
            supports *= (supports / self.rarest_items(2, ranks)) ** (_LARGER_POWER * (size - 2))
        return np.asarray(supports)

    def rarest_items(self, size: int, ranks: Floats) -> Floats:
        """Return the support of the rarest item of each of these itemsets, in units.

        The most frequent itemsets are taken to be those of the most frequent items.
        """
        items = np.maximum((math.factorial(size) * ranks) ** (1 / size), 1)
        return np.maximum(self.supports(1, items), self.supports(size, ranks))

    def _possible(self, size: int) -> float:
        """Return how many itemsets of a size there can be, or 1 if there can be none."""
        return math.inf if self.among is None else max(math.comb(self.among, size), 1)

    def top(self, sizes: Sequence[int], count: int) -> Top:
        """Return the `count` most frequent itemsets of these sizes, ranked together.

        They are fewer if there are not so many.
        """
        most = _TIMES_AS_MANY * count + _MORE
        supports_by_size, rarest_by_size = [], []
        for size in sizes:
            ranks = np.arange(1.0, min(most, self._possible(size)) + 1)
            supports_by_size.append(self.supports(size, ranks))
            rarest_by_size.append(self.rarest_items(size, ranks))
        supports, rarest = np.concatenate(supports_by_size), np.concatenate(rarest_by_size)
        order = np.argsort(-supports, kind="stable")[:most]
        supports, rarest = supports[order], rarest[order]
        tolerance = 1.0
        if sizes[0] > 1:
            tolerance = self.pairs_tolerance * _LARGER_TOLERANCE ** (sizes[0] - 2)
        load = float(supports.sum()) / self.users
        return Top(supports[:count], rarest[:count], supports[count:], tolerance, load)


def _normal(sigmas: Floats | float) -> Floats:
    """Return about the probability that a standard normal variable is below each number."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.8 * np.asarray(sigmas)))


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
    plan, shop = plan_of(request), Shop.of(units, items, among)
    share_found, step = _found_by_plan(request, plan, shop), plan.step("look")
    if share_found is None or plan.look is None or step is None:
        return share_found
    left_out = shop.top(target.sizes, target.top).rivals
    if not len(left_out):
        return share_found
    condition, seen = plan.look.condition, float(left_out[0])
    if isinstance(condition, EnoughItems):
        seen = units * math.exp(-condition.items / items)
    lead = (seen - condition.needed(units)) * math.sqrt(step.normal_mu_squared)
    is_picked = float(_normal(lead))
    of_picks = _found_by_plan(plan.look.request, plan.look.plan, shop)
    assert of_picks is not None
    return is_picked * of_picks + (1 - is_picked) * share_found


def _found_by_plan(request: Request, plan: ReleasePlan, shop: Shop) -> float | None:
    """Return the share that a plan finds of the true top, without a look. See `expected_found`."""
    target = request.target
    half_width = 0
    if not target.keep_all:
        half_width = plan.half_width(target.most_supports)
    shares = []
    # Levelwise has one selection for all sizes.
    for sizes, selection in zip(target.rankings, cycle(plan.selections), strict=False):
        top, run = shop.top(sizes, target.top), selection.run
        if isinstance(run, Levelwise):
            go_on = _share_of_items(run, shop, top)
            shares.append(go_on * _found_by_levels(run, top, half_width))
        elif isinstance(run, TopK) and request.mechanism.name in _PICKED:
            shares.append(_found_by_selections(run, selection, top))
        else:
            return None
    return sum(shares) / len(shares)


def _share_of_items(run: Levelwise, shop: Shop, top: Top) -> float:
    """Return the share of the itemsets sought whose items go on."""
    listed = shop.among or _LISTED_ITEMS
    most, variance = run.recipe.most_paired, run.budget.variance(run.recipe.items, 1)
    sigma, weight = math.sqrt(variance), _MEAN_WEIGHT / math.sqrt(shop.items)
    # The best of the other items of a list, of which nobody has any, are so many σ above 0.
    need = NormalDist().inv_cdf(1 - min(most / listed, 0.5)) * sigma
    if run.items_delta is not None:
        need = item_threshold(variance, run.items_delta, run.recipe.own_items) / GRID
    rivals = weight * shop.supports(1, np.array([float(most)]))
    return float(_normal((weight * top.rarest_items - np.maximum(need, rivals)) / sigma).mean())


def _found_by_levels(run: Levelwise, top: Top, half_width: int) -> float:
    """Return the share of the itemsets whose items went on that is found and comes out.

    half_width: half the interval of a support, in units, or 0 if none is left out.
    """
    noise = math.sqrt(run.budget.variance(run.recipe.second, 1))
    first, last = float(top.supports[0]), float(top.supports[-1])
    of_all_steps = _LEVELS_NOISE * noise * top.load**_LOAD_POWER
    share_found = top.share_ahead(math.hypot(of_all_steps, _UNEVEN * last))
    if not half_width or first <= last:
        return share_found
    # If none clearly leads those left out, those whose interval reaches 0 do not come out.
    lead = math.log((first - last) / noise)
    none_leads = float(_normal((_CLEAR_LEAD - lead) / _SPREAD_OF_LEAD))
    deviation = half_width / NormalDist().inv_cdf(0.975)
    share_above = float(_normal((top.supports - half_width) / deviation).mean())
    return share_found * (1 - none_leads * (1 - share_above))


def _found_by_selections(run: TopK, selection: Selection, top: Top) -> float:
    """Return the share of the itemsets sought that selections find one by one."""
    candidates = selection.public.candidates if selection.public.named else None
    need = prospects(run.mechanism, 0.5, candidates).support
    if need is None:
        return 0.0
    is_chosen = float((top.supports >= need).mean())
    return is_chosen * top.share_ahead(_PICKS_NOISE / float(run.mechanism.rate))


# A forecast is not printed below a release if it is off by more than this share of what was sought.
_CONTRADICTION = 0.1
# Forecasts are 2 to 3 points off on average: a smaller gain than this says nothing.
_LEAST_GAIN = 0.03


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
            if listed - without < _LEAST_GAIN:
                return Marked("A public product list would hardly change what you find here.")
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
    request = request_of(by_user=True)
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
        "These are estimates from public numbers alone: no data was read. They assume that the "
        "release is given the number of customers (units), too."
    ),
    (
        "On the data sets that they come from, 9 of 10 were within 10 points: for the top 10 to "
        "100 items, pairs or both, of 500 to 100,000 customers."
    ),
    (
        "Take them as a rough guide: on other data sets they were 13 to 19 points off on average, "
        "and sometimes far more. Give the number of different products (universe size), too: they "
        "may change a lot."
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
            f"is found, among {self.units:,} customers of {self.user_items:g} different items (ε = "
            f"{least_in_words(self.epsilon)}, δ = {least_in_words(self.delta)}, with supports)"
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
            for top, *of_top in zip(self.tops, *map(np.atleast_1d, shares.values()), strict=True):
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
    _check_options(values)
    exact_delta(values["delta"])
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
    among = _universe_size(values["universe_size"], items)

    def shares(requests: Iterable[Request]) -> float | tuple[float, ...]:
        estimates = (expected_found(request, units, items, among) for request in requests)
        rounded = tuple(round(estimate or 0.0, 4) for estimate in estimates)
        return rounded[0] if isinstance(top, int) else rounded

    tops = (top,) if isinstance(top, int) else top
    expected = {}
    for relation in (Neighbors.ADD_REMOVE.value, Neighbors.REPLACE_ONE.value):
        requests = [whole.with_options({"neighbors": relation, "top": number}) for number in tops]
        listed = [with_list(request, among) for request in requests]
        expected[relation] = {"no list": shares(requests), "list": shares(listed)}
    gain = None
    if among is None:
        gain = group_gain(whole.with_options({"top": tops[-1]}), units, items)
    return CustomerPlan(
        units=units,
        user_items=items,
        top=top,
        sizes=target.sizes,
        union=target.union,
        epsilon=float(Exact(whole.budget.loss)),
        delta=float(Exact(whole.budget.delta)),
        universe_size=among,
        expected_found=expected,
        notes=NOTES if gain is None else (str(gain), *NOTES),
    )


def _check_options(values: OptionValues) -> None:
    """Raise ParameterError for options that a forecast has no use for, and without units."""
    usual = {"confidence": options.CONFIDENCE}
    for name in ("max_basket", "max_baskets", "max_rank", "typical_basket", "confidence"):
        if values[name] != usual.get(name):
            raise ParameterError(
                f"{parameter(name)} is not used with {parameter('user_items')}: leave it out"
            )
    if values["units"] is None:
        raise ParameterError(
            f"{parameter('user_items')} needs {parameter('units')}: about how many customers "
            f"there are"
        )


def _universe_size(universe_size: int | None, items: float) -> int | None:
    """Return how many different items there are, if that is given.

    Raises ParameterError if it is out of range, or below how many a user has.
    """
    if universe_size is None:
        return None
    among = whole_number("universe_size", universe_size, least=2, most=10_000_000)
    if items > among:
        raise ParameterError(
            f"{parameter('user_items')} must be at most {parameter('universe_size')}: nobody has "
            f"more different items than there are"
        )
    return among
