"""The request: every public choice, checked before any data is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import log
from typing import Any, Self, Unpack

import numpy as np

from fim_private import options as defaults
from fim_private.counting.source import (
    UNKNOWN,
    Catalogue,
    KnownItemsets,
    SizedUniverse,
    Universe,
    UnknownUniverse,
)
from fim_private.display import item_name, printable
from fim_private.dp.charge import Span
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.parameters import (
    Neighbors,
    exact_fraction,
    exact_neighbors,
    flag,
    public_integer,
    whole_number,
)
from fim_private.errors import ParameterError, parameter, shown
from fim_private.levelwise.recipe import LARGEST_SIZE
from fim_private.mechanisms import registry
from fim_private.mechanisms.base import PublicParameters
from fim_private.mechanisms.registry import BasketCap, MechanismSpec, RankCap
from fim_private.options import RequestOptions, filled
from fim_private.reading.columns import ReadAs
from fim_private.reading.labels import Item, Vocabulary, in_label_order, mixed_vocabulary
from fim_private.reading.locations import source_of
from fim_private.reading.options import Options
from fim_private.reading.purchases import read_catalogue, reads_users
from fim_private.reading.transactions import Transactions
from fim_private.request.itemsets import GivenItemsets, KnownFrom, Listed
from fim_private.request.supports import MinSupport

# The longest range of sizes: each size gets a share of the budget.
_MOST_SIZES = 64
_CAPS = ("max_rank", "max_basket", "max_baskets")
_SIZES = (
    f"{parameter('size')} must be a whole number of at least 1, or a range such as 2-4, not {{}}"
)


def parse_sizes(size: int | str | Iterable[int]) -> tuple[int, ...]:
    """Return the sizes of itemsets, ascending and consecutive, from 2, "2", "2-4" or range(2, 5).

    Raises ParameterError for anything else, for a size below 1, and for more than 64 sizes.
    """
    if isinstance(size, str):
        if re.fullmatch(r"[0-9]{10,}", size):
            raise ParameterError(
                f"{parameter('size')} must be at most 999999999, not {shown(size)}"
            )
        match = re.fullmatch(r"(-?[0-9]{1,9})(?:-([0-9]{1,9}))?", size)
        if match is None or int(match[1]) > int(match[2] or match[1]):
            raise ParameterError(_SIZES.format(shown(size)))
        size = range(int(match[1]), int(match[2] or match[1]) + 1)
    sizes = tuple(public_integer("size", each) for each in islice(listed(size), _MOST_SIZES + 1))
    if len(sizes) > _MOST_SIZES:
        raise ParameterError(f"{parameter('size')} must be a range of at most {_MOST_SIZES} sizes")
    if not sizes or sizes != tuple(range(sizes[0], sizes[0] + len(sizes))):
        raise ParameterError(
            _SIZES.format(list(sizes) if max(sizes, default=0) < 10**9 else "so large")
        )
    return sizes


def listed(values: Any) -> Iterable[Any]:
    """Return several values, or one as if it were several."""
    return (
        values if isinstance(values, Iterable) and getattr(values, "ndim", None) != 0 else (values,)
    )


def _check_caps(
    spec: MechanismSpec, universe: Universe, caps: Mapping[str, int | None], *, by_user: bool
) -> None:
    """Raise ParameterError for a cap that the mechanism has no use for, or that needs another
    beside it.
    """
    max_rank, max_basket, max_baskets = caps.values()
    rank, basket, baskets = map(parameter, _CAPS)
    specs = registry.MECHANISMS.values()
    if max_rank is not None and spec.rank_cap is RankCap.NONE:
        ranked = ", ".join(spec.name for spec in specs if spec.rank_cap is not RankCap.NONE)
        raise ParameterError(f"leave out {rank}: only {ranked} use it")
    if max_rank is not None and spec.rank_cap is RankCap.SEARCH and isinstance(universe, Catalogue):
        raise ParameterError(f"leave out {rank}: with a catalogue {spec.name} searches all of it")
    if max_basket is not None and spec.basket_cap is BasketCap.NONE:
        capped = " and ".join(spec.name for spec in specs if spec.basket_cap is not BasketCap.NONE)
        raise ParameterError(f"leave out {basket}: only {capped} use it")
    if max_baskets is not None and (max_basket is None or not by_user):
        raise ParameterError(
            f"{baskets} goes with {basket} and {parameter('user')}: how many baskets of a user "
            f"count at most"
        )
    if max_basket is not None and by_user and max_baskets is None:
        raise ParameterError(
            f"{baskets} is needed with {basket} to protect users: how many of their baskets count"
        )


# -------------------- which mechanism "auto" is, by public numbers
#
# Several itemsets: levelwise, whose noise does not grow with their number. One: the mechanism that
# needs the smallest margin (docs/privacy.md, "What each mechanism needs").

AUTO = "auto"
# Up to how many itemsets of users are selected at once, at ε = 1 under add-remove: of single items,
# of sizes from 1 on ranked together, and of pairs; without a list of items, and with one. Of larger
# ones none: levelwise finds more.
_PICKED = {"items": (30, 100), "together": (30, 20), "pairs": (5, 10)}


def few_of_users(
    sizes: Sequence[int],
    count: int,
    *,
    union: bool,
    listed: bool,
    epsilon: Fraction,
    neighbors: str,
) -> bool:
    """Tell whether selections of so few itemsets of users miss fewer than levelwise; measured
    (docs/benchmarks.md).
    """
    kind = "items" if tuple(sizes) == (1,) else "together" if union and sizes[0] == 1 else "pairs"
    if kind == "pairs" and sizes[-1] > 2:
        return False
    wanted = (count if union else count * len(sizes)) * (
        2 if neighbors == Neighbors.REPLACE_ONE else 1
    )
    return wanted <= _PICKED[kind][listed] * epsilon


def choose(
    delta: Fraction,
    sizes: Sequence[int],
    universe: Universe,
    *,
    several: bool,
    capped: bool,
    few_of_users: bool,
) -> tuple[str, str]:
    """Return the name of a mechanism, and why it: a clause that follows the name. delta: 0 only
    over a catalogue.
    """
    if not delta:
        return "permute-and-flip", "it needs the smallest margin of all that spend no delta"
    if capped:
        return "limited-domain", "it uses the public cap that you gave"
    if several and few_of_users:
        name = "exponential" if isinstance(universe, Catalogue) else "limited-domain"
        return name, "it finds more than levelwise, for few itemsets of users"
    if several and sizes[-1] > LARGEST_SIZE:
        return "limited-domain", f"levelwise finds itemsets of up to {LARGEST_SIZE} items only"
    if several:
        no_list = "" if isinstance(universe, Catalogue) else " and needs no product list"
        return "levelwise", f"it finds many itemsets with the least noise{no_list}"
    if isinstance(universe, Catalogue):
        candidates = sum(universe.candidates(size) for size in sizes)
        # With K candidates one must lead by about ln K / rate, without a list by ln(k / δ) / rate.
        if log(max(candidates, 1)) < log(defaults.MAX_RANK) - log(delta):
            return "exponential", (
                "with your catalogue it needs a smaller margin than any mechanism without one"
            )
    return "limited-domain", (
        "for one itemset, it needs the smallest margin of all that need no product list"
    )


@dataclass(frozen=True)
class Choice:
    """The mechanism that "auto" stands for.

    Attributes:
        name: The name of the mechanism.
        reason: Why it was chosen: a clause that follows the name.
        replaces_levelwise: Whether it selects a few itemsets of users where levelwise is usual.
    """

    name: str
    reason: str
    replaces_levelwise: bool = False


def automatic_choice(
    *,
    budget: PrivacyBudget,
    neighbors: str,
    sizes: Sequence[int],
    top: int,
    union: bool,
    universe: Universe,
    by_user: bool,
    is_capped: bool,
    has_threshold: bool,
    has_known: bool,
) -> Choice:
    """Return the mechanism that "auto" stands for. It follows from public choices alone.

    is_capped: whether a cap on ranks or baskets is given. has_threshold: whether min_support is.
    has_known: whether known itemsets are.
    """
    spends_delta = budget.delta > 0
    if has_known and spends_delta and not is_capped:
        return Choice("levelwise", "it makes use of the known itemsets")
    several = has_threshold or top > 1 or (len(sizes) > 1 and not union)
    are_few = (
        by_user
        and not has_threshold
        and few_of_users(
            sizes,
            top,
            union=union,
            listed=isinstance(universe, Catalogue),
            epsilon=budget.loss,
            neighbors=neighbors,
        )
    )
    name, reason = choose(
        budget.delta, sizes, universe, several=several, capped=is_capped, few_of_users=are_few
    )
    replaces_levelwise = several and are_few and not is_capped and spends_delta
    return Choice(name, reason, replaces_levelwise)


# -------------------- what of the purchases counts

BASKET, USER = "basket", "user"
_NAMED = 5  # of a list so many items are named


@dataclass(frozen=True)
class Scope:
    """What of the purchases counts, and what an item is, by public choices that a release states.

    Each unit alone decides which of its items, baskets and rows count. basket, item: the columns
    that name one together; empty where one does, or none. exclude: items left out. min_basket:
    baskets of fewer different items, of those that are left, count as empty. together: "user" where
    it is enough that a user had all of an itemset. by,
    segment: the column of segments, and the one that this is of. query: whether a query chose the
    rows. time: the column of times, by which a basket is of a period. time_format: how its texts,
    and those that the condition compares with a date, are written. per: where a unit is a user's
    day, week, month, quarter or year.
    """

    item: tuple[str, ...] = ()
    exclude: tuple[Item, ...] = ()
    min_basket: int | None = None
    together: str = BASKET
    by: str | None = None
    segment: str | None = None
    max_segments: int = 1
    query: bool = False
    basket: tuple[str, ...] = ()
    split: str | None = None
    fold_case: bool = False
    catalogue: Listed | None = None
    known_from: KnownFrom | None = None
    time: str | None = None
    time_format: str | None = None
    period: str | None = None
    per: str | None = None
    missing_time: str | None = None

    @classmethod
    def of(
        cls,
        *,
        exclude: Any = None,
        min_basket: Any = None,
        together: Any = None,
        by_user: bool,
        rules: bool = False,
        **own: Any,
    ) -> Self:
        """Return what a caller asked for; ParameterError if out of range, DataError for a list that
        cannot be read.
        """
        if together is None:  # with rules of users lift 1 is independence then
            together = USER if rules and by_user else BASKET
        if together not in (BASKET, USER):
            raise ParameterError(
                f"{parameter('together')} must be one of {BASKET}, {USER}, not {shown(together)}"
            )
        if together == USER and not by_user:
            raise ParameterError(
                f"{parameter('together')} {USER} needs {parameter('user')} too: the column that "
                f"names the user"
            )
        least = None if min_basket is None else public_integer("min_basket", min_basket)
        listed = (
            None
            if exclude is None
            else read_catalogue(exclude, fold_case=own.get("fold_case", False))
        )
        items = () if listed is None else tuple(map(listed.label, range(len(listed))))
        return cls(exclude=items, min_basket=least, together=str(together), **own)

    @property
    def items_are_public(self) -> bool:
        """Whether the list of items is that of the data: the guarantee is then among data with the
        same list.
        """
        return self.catalogue is not None and self.catalogue.items_are_public

    @property
    def excluded(self) -> Vocabulary | None:
        """The items that are left out; None for none."""
        return mixed_vocabulary(self.exclude)[0] if self.exclude else None

    def chooses_units(self, where: str | None) -> bool:
        """Whether rows were chosen by what they say (where: the condition): then it is no public
        fact who is left.
        """
        return where is not None or self.query or self.by is not None or self.time is not None

    @property
    def has_one_each(self) -> bool:
        """Whether a user has no more than one unit in a release, where each is what a user buys in
        one period.
        """
        spans = [Span(self.time or "", (), self.per, name) for name in self.periods]
        return bool(spans) and self.max_segments == 1 and all(span.has_one_each for span in spans)

    @property
    def periods(self) -> list[str]:
        """The names of the periods: of all releases together there may be several."""
        return [] if self.period is None else self.period.split(", ")

    @property
    def part(self) -> str | None:
        """The segment, or the period, that this is of; None where all is read."""
        return self.period if self.segment is None else self.segment

    @property
    def unites(self) -> bool:
        """Whether all of a user's baskets are one."""
        return self.together == USER

    def has_lifts(self, unit: str) -> bool:
        """Tell whether lift 1 is independence: not where a pair must share a basket, and its items
        only a user.
        """
        return unit == BASKET or self.unites

    def applied(self, transactions: Transactions) -> Transactions:
        """Return what counts of purchases: items are left out first, and then baskets."""
        if (excluded := self.excluded) is not None:
            transactions = transactions.without(excluded)
        if self.min_basket is not None:
            transactions = transactions.of_length(self.min_basket)
        return replace(transactions, together=self.unites)

    def read_from(self, read_as: ReadAs | None) -> Self:
        """Return this with the columns that name a basket or an item, where several do, and where
        cells were cut.
        """
        if read_as is None:
            return self
        item = read_as.items if read_as.form == "long" and len(read_as.items) > 1 else ()
        basket = read_as.baskets if len(read_as.baskets) > 1 else ()
        return replace(self, item=item, basket=basket, split=read_as.split)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; what was not asked for has no key."""
        order = (
            "basket item split fold_case catalogue known_from exclude min_basket together by "
            "segment max_segments "
        )
        order += "query time time_format period per missing_time"
        values: dict[str, Any] = {name: getattr(self, name) for name in order.split()}
        values |= {
            name: values[name] and values[name].to_dict() for name in ("catalogue", "known_from")
        }
        values["together"] = self.together if self.unites else None
        values["max_segments"] = (
            None if self.segment is None and self.max_segments == 1 else self.max_segments
        )
        plain = {
            name: [*value] if isinstance(value, tuple) else value for name, value in values.items()
        }
        return {name: value for name, value in plain.items() if value or value == ""}

    @property
    def charged(self) -> dict[str, Any]:
        """What a ledger keeps of it: no names of items, columns or segments."""
        names = ("min_basket", "together", "fold_case", "time_format")
        values = {name: value for name, value in self.to_dict().items() if name in names}
        numbers = {"exclude": len(self.exclude), "items_are_public": self.items_are_public}
        return values | {name: value for name, value in numbers.items() if value}

    def sentences(self, unit: str) -> tuple[str, ...]:
        """Return what counts, in sentences, as far as it is not everything. unit: of privacy."""
        segment, most = printable(self.segment or ""), self.max_segments
        first = (
            "where it has the most baskets"
            if unit != BASKET
            else ("of those that its rows name, the first in the list")
        )
        several = f"at most {most} segments: {first}; each has 1/{most} of the budget"
        count, named = len(self.exclude), ", ".join(map(item_name, self.exclude[:_NAMED]))
        more = f" and {count - _NAMED:,} more" if count > _NAMED else ""
        listed = "" if self.catalogue is None else self.catalogue.sentences()
        between = (
            self.periods if len(self.periods) < 3 else [self.periods[0], "…", self.periods[-1]]
        )
        at, of = f", by {printable(self.time or '')}", "" if self.per is None else f"'s {self.per}"
        sentences = [
            (
                self.segment is not None,
                (f"Only rows where {printable(self.by or '')} is {segment} count."),
            ),
            (
                self.segment is not None,
                (f"A {unit} counts in {f'one segment: {first}' if most == 1 else several}."),
            ),
            (
                self.period,
                (
                    f"Only baskets of {', '.join(between)} count. A basket belongs to the day of "
                    f"its "
                    f"earliest row{at}."
                ),
            ),
            (
                self.period and most > 1,
                f"A {unit}{of} counts in up to {most} periods: each has 1/{most} of the budget.",
            ),
            (self.time_format, f"Times are written as {printable(self.time_format or '')}."),
            (self.missing_time, "Rows without a time were left out."),
            (self.query, "Only rows that a query returned were read."),
            (self.basket, f"A basket is all rows with the same {_named(self.basket)}."),
            (
                self.split is not None,
                (f"Each cell of items was cut at {printable(self.split or '')!r}."),
            ),
            (self.fold_case, "Capital and small letters are the same."),
            (self.item, f"An item is what the columns {_named(self.item)} say together."),
            (listed, listed),
            (
                count,
                (
                    f"By a public list, {count:,} item{'s are' if count > 1 else ' is'} left "
                    f"out: {named}{more}."
                ),
            ),
            (self.known_from, self.known_from.sentences() if self.known_from else ""),
            (
                (self.min_basket or 0) > 1,
                (f"Baskets of fewer than {self.min_basket or 0:,} items count as empty."),
            ),
            (
                self.unites,
                (
                    "An itemset counts all users who ever bought all of it, in one basket "
                    "or in several."
                ),
            ),
        ]
        return tuple(sentence for holds, sentence in sentences if holds)


def _named(columns: Sequence[str]) -> str:
    return " and ".join(repr(printable(column)) for column in columns)


@dataclass(frozen=True)
class ReadBy:
    """By which public choices rows were read, now or before.

    where: the condition. query: whether a query chose them. fold_case: whether letters are folded.
    time_format: how texts say times.
    """

    where: str | None
    query: bool
    fold_case: bool
    time_format: str | None


def read_by(data: Any, reading: Options) -> ReadBy:
    """Return by which choices purchases are read, or were, where they have been read already."""
    if isinstance(data, Transactions):
        return ReadBy(data.where, data.query, data.fold_case, data.time_format)
    where = None if reading.where is None else str(reading.where)
    time_format = None if reading.time_format is None else str(reading.time_format)
    return ReadBy(where, reading.from_query, reading.fold_case, time_format)


def counts_users(data: Any, asked: Mapping[str, Any]) -> bool:
    """Tell whether units will be users, from what is public. asked: all options of a function of
    the library.
    """
    if isinstance(data, Transactions):
        return data.by_user
    return reads_users(source_of(data), asked["user"], asked["input_format"], asked["basket"])


# -------------------- the request

_LARGEST_TOP = 100_000
_THIRD = Fraction(1, 3)
_LEAST = {"epsilon": Fraction(1, 10**9), "rho": Fraction(1, 10**18), "delta": Fraction(1, 10**300)}
_LEAST_SHARE = Fraction(1, 10**6)
# The share of the budget for a noisy number of units: at ε = 1 thousands of them are then off by a
# few in a thousand.
COUNT_SHARE = Fraction(5, 100)
# Of supports that decide which itemsets levelwise releases, and of those of rules (docs/privacy.md,
# "Supports of parts, and rules").
_REACHING_SHARE, _RULES_SHARE = Fraction(40, 100), _THIRD
# Rules take the supports of all parts of an itemset: twice as many for each item more.
_LARGEST_OF_RULES, _MOST_SUPPORTS = 16, 1_000_000


@dataclass(frozen=True)
class MiningOptions:
    """What is asked for, as plain checked values; `checked_options` makes them of what a user gave.

    sizes: ascending, consecutive, >= 1. top: itemsets of each size, with union of all sizes
    together, >= 1. epsilon,
    delta: of the whole release; rho: given instead of epsilon, which is then None. supports_share,
    count_share: of the budget for noisy supports, and a noisy number of units; None where none are
    bought. count: whether a number of units was asked for, or is needed. rules: whether supports of
    all subsets of the itemsets are released, too. reason: why this mechanism, where that was left
    to "auto". chosen: whether a condition, a query or segments choose units. known: itemsets that
    are counted in any case.
    """

    mechanism: MechanismSpec
    epsilon: Fraction | None
    delta: Fraction
    neighbors: str
    sizes: tuple[int, ...] = (defaults.SIZE,)
    top: int = defaults.TOP
    union: bool = False
    supports_share: Fraction | None = None
    universe: Universe = UNKNOWN
    max_rank: int | None = None
    max_basket: int | None = None
    max_baskets: int | None = None
    keep_all: bool = False
    reason: str | None = None
    by_user: bool = False
    rho: Fraction | None = None
    count: bool = False
    count_share: Fraction | None = None
    min_support: MinSupport | None = None
    rules: bool = False
    chosen: bool = False
    known: KnownItemsets | None = None

    @property
    def units_are_public(self) -> bool:
        """Whether neighbouring data have equally many units (docs/privacy.md, "The number of
        units").
        """
        return self.neighbors == Neighbors.REPLACE_ONE and not self.chosen

    @property
    def has_two_normals(self) -> bool:
        """Whether normal noise of supports brings the number of units with it (docs/privacy.md,
        Theorem 28).
        """
        return (
            self.neighbors == Neighbors.ADD_REMOVE
            and self.supports_share is not None
            and self.delta > 0
        )

    @property
    def beside_normals(self) -> MiningOptions:
        """The same where supports have two normals: a number of units is only bought for a least
        share of them.
        """
        return (
            self
            if self.min_support is not None and self.min_support.share
            else replace(self, count_share=None)
        )

    @property
    def caps(self) -> dict[str, int | None]:
        """The public caps on ranks and baskets, by their names."""
        return {name: getattr(self, name) for name in _CAPS}

    @property
    def automatic(self) -> Choice:
        """The mechanism that "auto" stands for in this request."""
        return automatic_choice(
            budget=self.budget,
            neighbors=self.neighbors,
            sizes=self.sizes,
            top=self.top,
            union=self.union,
            universe=self.universe,
            by_user=self.by_user,
            is_capped=any(cap is not None for cap in self.caps.values()),
            has_threshold=self.min_support is not None,
            has_known=self.known is not None,
        )

    @property
    def usual_supports_share(self) -> Fraction:
        """The share of the budget that supports take where none is given."""
        if self.mechanism.composed and self.min_support is not None:
            return _REACHING_SHARE
        if self.rules:
            return _RULES_SHARE
        # Selecting a few itemsets of users replaces levelwise, and spends as much of the budget on
        # finding.
        is_automatic = self.reason is not None
        if is_automatic and self.automatic.replaces_levelwise:
            return registry.spec_named("levelwise").supports_share(self.neighbors)
        return self.mechanism.supports_share(self.neighbors)

    @property
    def usual_count_share(self) -> Fraction | None:
        """The share of the budget that a noisy number of units takes, or None where none is
        bought.
        """
        if not self.count or self.units_are_public:
            return None
        supports_bring_it = self.has_two_normals and (
            self.mechanism.composed or self.rho is not None
        )
        threshold_is_share = self.min_support is not None and self.min_support.share is not None
        if supports_bring_it and not threshold_is_share:
            return None
        return COUNT_SHARE

    @property
    def known_itemsets(self) -> list[tuple[Item, ...]]:
        """The known itemsets of the sizes that are sought."""
        known = self.known
        own = (
            [] if known is None else [codes for codes in known.itemsets if len(codes) in self.sizes]
        )
        return (
            []
            if known is None
            else [in_label_order(map(known.items.label, codes)) for codes in own]
        )

    @property
    def items_are_listed(self) -> bool:
        """Whether the universe is a public list of items."""
        return isinstance(self.universe, Catalogue)

    @property
    def most_supports(self) -> int:
        """How many supports are released at most, with those of parts."""
        most = self.top if self.union else self.top * len(self.sizes)
        most += 0 if self.known is None else len(self.known.itemsets)
        return most * (2 ** self.sizes[-1] - 1) if self.rules else most

    @property
    def extras(self) -> Fraction:
        """The share of the budget for all but what selects itemsets."""
        return (self.supports_share or Fraction(0)) + (self.count_share or Fraction(0))

    @property
    def budget(self) -> PrivacyBudget:
        """The budget of the whole release."""
        return PrivacyBudget(self.epsilon, self.delta, self.rho)

    @property
    def counted_universe(self) -> Universe:
        """The universe that itemsets are counted over: a bare size only where the mechanism has a
        form for it.
        """
        if (
            isinstance(self.universe, SizedUniverse)
            and registry.form_for_counted(self.mechanism) is None
        ):
            return UNKNOWN
        return self.universe

    def part(self, most: int) -> MiningOptions:
        """Return the same with its share of the budget of several releases, >= 1."""
        shares: dict[str, Any] = {
            name: (whole := getattr(self, name)) and whole / most for name in _LEAST
        }
        for name, smallest in _LEAST.items():
            if most > 1 and shares[name] and shares[name] < smallest:
                raise ParameterError(
                    f"{parameter('max_segments')} {most} leaves each segment less than the least "
                    f"{parameter(name)}, "
                    f"{float(smallest):g}; raise {parameter(name)}"
                )
        return replace(self, **shares)

    def selections(self) -> list[PublicParameters]:
        """Return what is public of each selection, one a size, or with union one; ParameterError
        for too few items.
        """
        universe, found = self.counted_universe, []
        for sizes in [self.sizes] if self.union else [(size,) for size in self.sizes]:
            count = (
                None
                if isinstance(universe, UnknownUniverse)
                else sum(map(universe.candidates, sizes))
            )
            found.append(
                PublicParameters(
                    sizes, self.top, self.neighbors, count, self.items_are_listed, **self.caps
                )
            )
        return found


def usual_top(spec: MechanismSpec, *, has_threshold: bool) -> int:
    """Return how many itemsets of each size are released at most where the caller does not say.

    has_threshold: whether min_support is given.
    """
    if not has_threshold:
        return defaults.TOP
    return defaults.TOP_REACHING if spec.composed else defaults.TOP_PICKED_REACHING


def wants_supports(supports: bool | None, top: Any, *, known: bool = False) -> bool:
    """Return whether supports are released: as asked, and unless that was said with several, or
    known, itemsets.
    """
    return known or (top is not None and top != 1) if supports is None else supports


def checked_options(
    *,
    by_user: bool,
    scope: Scope | None = None,
    where: Any = None,
    **options: Unpack[RequestOptions],
) -> MiningOptions:
    """Return what is asked for, checked. A catalogue is read. where: the condition that chooses
    rows.

    Raises ParameterError for what is out of range, missing, of no use or in contradiction;
    DataError for a catalogue.
    """
    asked = filled("checked_options", RequestOptions, options)
    sizes = parse_sizes(asked["size"])
    for name in ("rules", "min_support"):
        if asked["supports"] is False and asked[name]:
            raise ParameterError(
                f"{parameter(name)} needs {parameter('supports')}: do not leave them out"
            )
    asked["supports"] = wants_supports(
        asked["supports"], asked["top"], known=asked["known"] is not None
    )
    flags = ("union", "supports", "keep_all", "count", "rules")
    union, supports, keep_all, count, rules = (flag(name, asked[name]) for name in flags)
    if rules and sizes[-1] == 1:
        raise ParameterError(
            f"{parameter('rules')} needs itemsets of two items or more: raise {parameter('size')}"
        )
    supports, count = supports or rules, count or rules
    least = None if asked["min_support"] is None else MinSupport.of(asked["min_support"])
    relation = exact_neighbors(asked["neighbors"])
    scope = scope or Scope()
    universe = _universe(asked["catalogue"], asked["universe_size"], scope)
    is_listed = isinstance(universe, Catalogue)
    caps = {
        name: None if asked[name] is None else public_integer(name, asked[name]) for name in _CAPS
    }
    if union and len(sizes) == 1:
        raise ParameterError(
            f"{parameter('union')} goes with several sizes: whether all of them are ranked together"
        )
    budget = PrivacyBudget.of(
        asked["epsilon"], asked["delta"], asked["rho"], otherwise=defaults.EPSILON
    )
    mechanism, reason = asked["mechanism"], None
    top = (
        None
        if asked["top"] is None
        else whole_number("top", asked["top"], least=1, most=_LARGEST_TOP)
    )
    is_auto = isinstance(mechanism, str) and mechanism == AUTO
    named = None if is_auto else registry.spec_named(mechanism, AUTO).name
    registry.check_delta(budget.delta, named, listed=is_listed)
    if is_auto:
        choice = automatic_choice(
            budget=budget,
            neighbors=relation,
            sizes=sizes,
            top=defaults.TOP if top is None else top,
            union=union,
            universe=universe,
            by_user=by_user,
            is_capped=any(cap is not None for cap in caps.values()),
            has_threshold=least is not None,
            has_known=asked["known"] is not None,
        )
        mechanism, reason = choice.name, choice.reason
    spec = registry.spec_named(mechanism, AUTO)
    if asked["max_baskets"] is not None and scope.unites:
        raise ParameterError(
            f"leave out {parameter('max_baskets')}: with {parameter('together')} {USER} all of a "
            f"user's baskets "
            f"are one; or give {parameter('together')} {BASKET}"
        )
    known = (
        None
        if asked["known"] is None
        else _known(asked["known"], spec, universe, scope, sizes, least)
    )
    _check_caps(spec, universe, caps, by_user=by_user and not scope.unites)
    if least is not None:
        # One threshold for all sizes, of noisy supports, or of their shares of a number of units.
        union, supports, count = len(sizes) > 1, True, count or least.share is not None
    chosen = scope.chooses_units(where)
    if top is None:
        top = usual_top(spec, has_threshold=least is not None)
    which: Any = {"sizes": sizes, "top": top, "union": union, "min_support": least}
    own: Any = {
        "keep_all": keep_all,
        "rules": rules,
        "reason": reason,
        "by_user": by_user,
        "chosen": chosen,
    }
    own |= {"rho": budget.rho, "count": count}
    which |= {"universe": universe, "known": known, **caps}
    found = MiningOptions(spec, budget.epsilon, budget.delta, relation, **which, **own)
    found = replace(found, supports_share=_supports_share(found, supports, asked["supports_share"]))
    found = replace(found, count_share=found.usual_count_share)
    if found.extras >= 1:
        below, takes = float(1 - COUNT_SHARE), float(COUNT_SHARE)
        raise ParameterError(
            f"{parameter('supports_share')} must be below {below} with {parameter('count')}, "
            f"which takes {takes}"
        )
    if rules and (sizes[-1] > _LARGEST_OF_RULES or found.most_supports > _MOST_SUPPORTS):
        raise ParameterError(
            f"{parameter('rules')} of these itemsets need supports of more than "
            f"{_MOST_SUPPORTS:,} subsets; lower "
            f"{parameter('top')} or {parameter('size')}"
        )
    return found


def _supports_share(options: MiningOptions, supports: bool, share: Any) -> Fraction | None:
    """Return the share of the budget for supports, or None without them.

    share: what the caller gave, or None for the usual share. Raises ParameterError unless it is in
    (0, 1).
    """
    if share is None:
        return options.usual_supports_share if supports else None
    if isinstance(share, float) and share == float(_THIRD):
        share = _THIRD  # no decimal is a third: this float means it
    exact = exact_fraction("supports_share", share)
    if not _LEAST_SHARE <= exact <= 1 - _LEAST_SHARE:
        raise ParameterError(
            f"{parameter('supports_share')} must leave each part at least a millionth of the "
            f"budget, "
            f"which {shown(share)} does not"
        )
    if not supports:
        raise ParameterError(
            f"{parameter('supports_share')} goes with {parameter('supports')}: the part of the "
            f"budget that they take"
        )
    return exact


def _known(
    given: GivenItemsets,
    spec: MechanismSpec,
    universe: Universe,
    scope: Scope,
    sizes: Sequence[int],
    least: MinSupport | None,
) -> KnownItemsets:
    """Return the known itemsets that can be counted. Raises ParameterError where none is left, or
    of no use.
    """
    if least is not None:
        raise ParameterError(
            f"{parameter('known')} goes with {parameter('top')}, not with "
            f"{parameter('min_support')}"
        )
    if not spec.composed:
        raise ParameterError(
            f"{parameter('known')} goes with {parameter('mechanism')} levelwise, not {spec.name}"
        )
    listed = given.vocabulary
    taken = (
        np.full(len(listed), True)
        if scope.excluded is None
        else listed.codes_in(scope.excluded) < 0
    )
    if isinstance(universe, Catalogue):
        codes, listed = (
            np.where(taken, listed.codes_in(universe.items), -1).tolist(),
            universe.items,
        )
    else:
        codes, listed = np.where(taken, np.cumsum(taken) - 1, -1).tolist(), listed.only(taken)
    kept = [itemset for itemset in given.codes if all(codes[item] >= 0 for item in itemset)]
    # Of larger ones the items are known.
    small = dict.fromkeys(
        own
        for itemset in kept
        for own in ([itemset] if len(itemset) <= sizes[-1] else [(item,) for item in itemset])
    )
    if not small:
        raise ParameterError(f"{parameter('known')} has no itemset whose items may all be released")
    return KnownItemsets(listed, tuple(tuple(sorted(codes[item] for item in own)) for own in small))


def _universe(catalogue: Any, universe_size: int | None, scope: Scope) -> Universe:
    """Return the public universe, less what is left out. Raises ParameterError for both a catalogue
    and a size.
    """
    if catalogue is None:
        return (
            UNKNOWN
            if universe_size is None
            else SizedUniverse(public_integer("universe_size", universe_size))
        )
    if universe_size is not None:
        raise ParameterError(
            f"give a catalogue or {parameter('universe_size')}, not both: a catalogue has its size"
        )
    listed = catalogue
    if not isinstance(catalogue, Vocabulary):
        listed = read_catalogue(catalogue, fold_case=scope.fold_case)
    left = listed if scope.excluded is None else listed.without(scope.excluded)
    if not len(left):
        raise ParameterError(f"{parameter('exclude')} leaves nothing of {parameter('catalogue')}")
    return Catalogue(left)
