"""The source of supports, which hides from a selection where the baskets are and how they are
counted.

Here are the choice of a counter, weighted sums of items, lazy spectra of itemsets, and the itemsets
of a public catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, combinations, islice
from types import ModuleType
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting import portable
from fim_private.counting.counter import (
    CandidateSource,
    Counter,
    ItemCounter,
    Shard,
    ShardCounter,
    lowest_listed,
)
from fim_private.counting.portable import PortableCounter
from fim_private.counting.work import Effort, Int32, Int64
from fim_private.dp.arguments import positive_integer
from fim_private.dp.noise import Randomness, distinct_integers
from fim_private.errors import ParameterError, WorkLimitError, parameter, shown
from fim_private.reading.labels import (
    Item,
    Vocabulary,
    in_label_order,
    mixed_vocabulary,
    numbers,
)
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import (
    Items,
    Level,
    LevelDraws,
    SupportSpectrum,
    candidate_itemsets,
    union,
)

# The counters by name: the compiled one if it was built, and that in numpy. Their modules have the
# same functions.
COUNTERS: dict[str, type[ShardCounter]] = {"numpy": PortableCounter}
_MODULES: dict[str, ModuleType] = {"numpy": portable}
try:
    from fim_private.counting import compiled
except ImportError:  # built without a compiler
    LARGEST_SIZE = 0
else:
    COUNTERS = {"compiled": compiled.CompiledCounter, **COUNTERS}
    _MODULES["compiled"] = compiled
    LARGEST_SIZE = compiled.LARGEST_SIZE


def active_counter() -> str:
    """Return the name of the counter in use: the first of COUNTERS."""
    return next(iter(COUNTERS))


def counter_for(
    transactions: Transactions,
    size: int,
    min_support: int,
    effort: Effort | None = None,
    name: str | None = None,
) -> Counter:
    """Return a counter of the itemsets of that size, >= 1, and at least that support, >= 1 unit.

    name: one of COUNTERS; the fastest one that can count them unless given. Raises ParameterError
    for a number out of range.
    """
    size, min_support = positive_integer("size", size), positive_integer("min_support", min_support)
    # No support is larger, and a larger number may fit in no array.
    min_support = min(min_support, transactions.baskets + 1)
    kind = COUNTERS[_counter_name(transactions, name, size)]
    counter = kind(transactions, size, min_support, effort or Effort())
    return ItemCounter(counter, min_support) if size == 1 else counter


def shard_counter(shard: Shard, size: int, effort: Effort, name: str | None = None) -> ShardCounter:
    """Return a counter of the itemsets of that size, >= 2, in a shard. name: as in counter_for."""
    kind = COUNTERS[_counter_name(shard.transactions, name, size)]
    return kind(shard.transactions, size, 1, effort, shard)


def _counter_name(transactions: Transactions, name: str | None, size: int = 1) -> str:
    """Return the name, or that of the fastest counter that can count itemsets of that size."""
    if name is not None and name not in COUNTERS:
        raise ParameterError(
            f"{parameter('counter')} must be one of {', '.join(COUNTERS)}, not {shown(name)}"
        )
    if name is None and (size > LARGEST_SIZE or transactions.baskets >= 1 << 31):
        name = "numpy"
    return name or active_counter()


# -------------------- items


class ItemSource(Protocol):
    """Purchases whose items have codes, 0 to the number of items less one, in label order.

    A unit is a basket, or a user with the distinct items of all their baskets.
    """

    def sums(self, weights: Int64) -> Int64:
        """Return the weighted sum of each item: (items,) int64.

        It is the sum of weights[distinct items of the unit] over the units that have the item. Each
        unit is first cut to its ``most`` first distinct items, in label order. What a unit adds
        depends on that unit alone. The sums are exact as long as the number of units times the
        largest weight is below 2^63.

        weights: (most + 1,) int64, >= 0, most >= 1.
        """

    def level_sums(self, scale: int, most: int) -> Int64:
        """Return the level sum of each item, exactly: (items,) int64.

        It is the sum of floor(scale · √(c / C)) over the units. c: how many of the unit's baskets
        have the item. C: the sum of c over the unit's items, first cut to the ``most`` that it has
        in the most baskets, ties by label order. So in multiples of 1/scale the L2 norm of what a
        unit adds is at most 1.

        scale: 1 to 2^16. most: >= 1.
        """

    def named(self, itemsets: Sequence[Sequence[int]]) -> list[Items]:
        """Return the labels of itemsets given by codes, each in label order."""

    def among(self, codes: NDArray[np.integer]) -> CandidateSource:
        """Return the same purchases, uncut, with only these different items: codes[k] is item k."""


@dataclass(frozen=True)
class LocalItems:
    """The items of transactions in memory; see `ItemSource`.

    Attributes:
        transactions: The purchases.
        effort: The threads and steps that counting may use.
        counter: One of COUNTERS; the fastest unless given.
        label: Returns the label of a code; that of the transactions unless given.
    """

    transactions: Transactions
    effort: Effort = field(default_factory=Effort)
    counter: str | None = None
    label: Callable[[int], Item] | None = None

    def sums(self, weights: Int64) -> Int64:
        """Return the weighted sum of each item; see `ItemSource.sums`."""
        cut = self.transactions.cut_to(len(weights) - 1)
        return np.asarray(self._counting.item_sums(cut, weights, self.effort))

    def level_sums(self, scale: int, most: int) -> Int64:
        """Return the level sum of each item; see `ItemSource.level_sums`."""
        return np.asarray(
            self._counting.item_level_sums(self.transactions, scale, most, self.effort)
        )

    def named(self, itemsets: Iterable[Iterable[int]]) -> list[Items]:
        """Return the labels of itemsets; see `ItemSource.named`."""
        label = self.label or self.transactions.vocabulary.label
        return [in_label_order(map(label, codes)) for codes in itemsets]

    def among(self, codes: NDArray[np.integer]) -> CandidateSource:
        """Return the same purchases restricted to these items; see `ItemSource.among`."""
        counts: CandidateSource = self._counting.CandidateCounts(
            self.transactions, codes, self.effort
        )
        return counts

    @property
    def _counting(self) -> ModuleType:
        return _MODULES[_counter_name(self.transactions, self.counter)]


# -------------------- spectra

# A reader of the top reads this many itemsets first, and so many times more in each further round.
_FIRST_ITEMSETS = 1024
_MORE_ITEMSETS = 16
# All further levels come in one pass if that is no more work than was already done. A reader of
# this many itemsets probably wants all: then the pass may be so many times as much work, since what
# was done is a small part of any further round.
_ENOUGH_ITEMSETS = 1 << 14
_WORTH_FINISHING = 16


def lazy_levels(counter: Counter, min_support: int) -> Iterator[Level]:
    """Yield the levels of at least that support, >= 1 unit, descending, in ever larger rounds.

    Raises WorkLimitError if the next level takes more steps than allowed.
    """
    limit, read, done = _FIRST_ITEMSETS, 0, 0
    within_limit = True
    top = counter.top(None, limit)
    yield from top.levels
    while top.floor > min_support:
        read += sum(multiplicity for _, multiplicity in top.levels)
        done += top.work
        limit *= _MORE_ITEMSETS
        further = None
        times_done = _WORTH_FINISHING if read >= _ENOUGH_ITEMSETS else 1
        if within_limit and counter.most_work <= times_done * done:
            try:
                further = counter.top(top.floor, None)
            except WorkLimitError:
                # All levels are out of reach, but a reader can still have some more.
                within_limit = False
        top = further or counter.top(top.floor, limit)
        yield from top.levels


def itemset_spectrum(
    transactions: Transactions,
    size: int,
    *,
    min_support: int = 1,
    effort: Effort | None = None,
    counter: str | None = None,
) -> SupportSpectrum:
    """Return the lazy spectrum of all itemsets of that size; the universe of items is unknown.

    Raises ParameterError for a number out of range. Reading a level that is out of reach raises
    WorkLimitError.

    Args:
        transactions: The purchases.
        size: Items per itemset, >= 1.
        min_support: In units, >= 1. Lower levels are left out, and take no steps.
        effort: The threads and steps that counting may use.
        counter: One of COUNTERS; the fastest unless given.
    """
    counting = counter_for(transactions, size, min_support, effort, counter)
    return CountedItemsets(LocalItems(transactions), size, counting).spectrum(min_support)


def list_itemsets(
    transactions: Transactions, size: int, lowest: int, highest: int, *, counter: str | None = None
) -> Iterator[tuple[Items, int]]:
    """Return the itemsets of supports lowest..highest, in units, with their supports.

    This is not private: it is for looking at data. Memory is proportional to the number of
    itemsets. Raises ParameterError for a number below 1.
    """
    lowest, highest = positive_integer("lowest", lowest), positive_integer("highest", highest)
    counting = counter_for(transactions, size, lowest, None, counter)
    most = transactions.baskets + 1  # more than any support: a larger number may fit in no array
    codes, supports = counting.itemsets(min(lowest, most), min(highest, most))
    named = LocalItems(transactions).named(codes.tolist())
    return zip(named, supports.tolist(), strict=True)


# From so many draws, each of which scans the data, it is faster to list all itemsets in baskets, if
# these are no more than so many.
_WORTH_DRAWING, _MOST_SUPPORTED = 8, 1 << 22

ItemCodes = tuple[int, ...]  # of an itemset, ascending


@dataclass(frozen=True)
class CountedItemsets:
    """All itemsets of one size in baskets, or in a public catalogue.

    Attributes:
        items: The items.
        size: How many items an itemset has.
        counter: Counts the itemsets of that size in baskets.
        listed: How many items the catalogue has: all codes are below this. 0 without one.
    """

    items: ItemSource
    size: int
    counter: Counter
    listed: int = 0

    def spectrum(self, min_support: int = 1) -> SupportSpectrum:
        """Return the lazy spectrum of those with at least min_support, >= 1.

        With a catalogue those that do not occur are level 0.
        """

        def sample(draws: Sequence[LevelDraws], randomness: Randomness) -> list[list[Items]]:
            places = [
                (support, distinct_integers(multiplicity, number, randomness=randomness))
                for support, multiplicity, number in draws
                if support
            ]
            codes: list[Sequence[int]] = []
            if places:
                lowest = lowest_listed(places, spectrum)
                codes += chain(*self.counter.located(places, lowest))
            support, multiplicity, number = draws[-1]
            if not support:
                codes += self.unsupported(multiplicity, number, randomness)
            named = iter(self.items.named(codes))
            return [list(islice(named, level.number)) for level in draws]

        spectrum = SupportSpectrum(
            lazy_levels(self.counter, positive_integer("min_support", min_support)),
            whole=lambda: self.counter.top(None, None).levels,
            universe_size=math.comb(self.listed, self.size) if self.listed else None,
            sampler=sample,
        )
        return spectrum

    def unsupported(self, unsupported: int, number: int, randomness: Randomness) -> list[ItemCodes]:
        """Return ``number`` different ones of all the unsupported itemsets: ascending codes.

        They are in uniformly random order.
        """
        total = math.comb(self.listed, self.size)
        expected_draws = number * total / (unsupported - number + 1)  # at most
        is_in_baskets: Callable[[ItemCodes], bool] = self._is_in_baskets
        if expected_draws >= _WORTH_DRAWING and total - unsupported <= _MOST_SUPPORTED:
            highest = max(1, int(self.counter.item_supports.max(initial=0)))
            codes_in_baskets, _ = self.counter.itemsets(1, highest)
            in_baskets = set(map(tuple, np.sort(codes_in_baskets, axis=1).tolist()))
            if 2 * number > unsupported:
                # To draw the last of nearly all would take long, so all are listed: not many more
                # than are wanted.
                every = combinations(range(self.listed), self.size)
                free = [codes for codes in every if codes not in in_baskets]
                places = distinct_integers(len(free), number, randomness=randomness)
                return [free[place] for place in places]
            is_in_baskets = in_baskets.__contains__
        # Draw from all itemsets, and reject those with support: as level 0 was chosen for its many
        # itemsets, that seldom takes long.
        drawn: dict[ItemCodes, None] = {}
        while len(drawn) < number:
            place = distinct_integers(self.listed, self.size, randomness=randomness)
            codes = tuple(sorted(place))
            if codes not in drawn and not is_in_baskets(codes):
                drawn[codes] = None
        return list(drawn)

    def _is_in_baskets(self, codes: ItemCodes) -> bool:
        whole = np.arange(len(codes), dtype=np.int32)[None]
        return bool(self.items.among(np.array(codes)).sums([whole], np.array([0, 1]))[0])


def spectrum_of_items(
    items: ItemSource,
    count: int,
    size: int | Sequence[int],
    universe: Universe,
    counter_of: Callable[[int], Counter],
) -> SupportSpectrum:
    """Return the spectrum of the itemsets of one size, or of several ranked together.

    Raises ParameterError for no size, or one below 1.

    Args:
        items: The items; their codes are below count.
        count: How many items there are.
        size: How many items an itemset has, or several such numbers.
        universe: A catalogue if they are all of its items, so that all itemsets are candidates.
        counter_of: Returns a counter of the itemsets of a size >= 2.
    """
    sizes = size if isinstance(size, Sequence) else [size]
    if not sizes:
        raise ParameterError(f"{parameter('size')} must be at least one number")
    listed = count if isinstance(universe, Catalogue) else 0
    spectra = []
    for number in sizes:
        counter = counter_of(max(positive_integer("size", number), 2))
        if number == 1:
            counter = ItemCounter(counter, 1)
        spectra.append(CountedItemsets(items, number, counter, listed).spectrum())
    return union(spectra)


# -------------------- the universe

# The universe is never derived from the data: that an item occurs at all is somebody's purchase.


@dataclass(frozen=True)
class UnknownUniverse:
    """Any item may occur. Itemsets that nobody has are no candidates."""

    is_listed = False


@dataclass(frozen=True)
class Grouping:
    """Public groups of items: purchases of an item count as purchases of its group.

    Attributes:
        members: The items that have a group.
        group_of: The code of the group of each, (members,), -1 for none.
    """

    members: Vocabulary
    group_of: Int32

    def codes(self, codes_in: Callable[[Vocabulary], Int32]) -> Int32:
        """Return the group of each item of the purchases, or -1: (items,).

        codes_in: Returns the code of each item of the purchases in a list, or -1.
        """
        members = codes_in(self.members)
        return np.where(members < 0, np.int32(-1), self.group_of[members])


@dataclass(frozen=True)
class Catalogue:
    """The public list of all items. Others are dropped before counting.

    Itemsets that nobody has are level 0.

    Attributes:
        items: The items, or their groups.
        grouping: Which groups the items of the purchases have; None if they are listed themselves.
    """

    items: Vocabulary
    grouping: Grouping | None = None

    is_listed = True

    def groups_within(self, coarser: Catalogue) -> tuple[tuple[Item, Item], ...]:
        """Return each group with the coarser group that all of its items with one have.

        Both have groups. A group is left out if its items have none, or several.
        """
        assert self.grouping is not None
        assert coarser.grouping is not None
        groups = self.grouping.group_of
        coarser_groups = coarser.grouping.codes(self.grouping.members.codes_in)
        pairs = np.unique(np.column_stack([groups, coarser_groups]), axis=0)
        pairs = pairs[(pairs >= 0).all(axis=1)]
        finer, places, times = np.unique(pairs[:, 0], return_index=True, return_counts=True)
        return tuple(
            (self.items.label(group), coarser.items.label(parent))
            for group, parent, count in zip(
                finer.tolist(), pairs[places, 1].tolist(), times.tolist(), strict=True
            )
            if count == 1
        )

    def only(self, items: Vocabulary) -> Catalogue:
        """Return a catalogue of some of its items or groups."""
        if self.grouping is None:
            return Catalogue(items)
        group_of = self.items.codes_in(items)[self.grouping.group_of]
        return Catalogue(items, replace(self.grouping, group_of=group_of))

    def candidates(self, size: int) -> int:
        """Return C(N, size), size >= 1. Raises ParameterError for fewer than size items, or too
        many candidates.
        """
        return candidate_itemsets(len(self.items), size, "catalogue")


@dataclass(frozen=True)
class SizedUniverse:
    """Only the number of items is public: count >= 1.

    A unit with more distinct items would contradict it, so each is cut to its first ``count`` items
    in label order. This rule looks at one unit at a time, so nobody learns that it was needed. One
    unit then supports at most candidates(size) itemsets, however many baskets it has, as Theorem 5
    requires.

    is_listed: Whether it stands for a public list of so many items, which is planned for.
    """

    count: int
    is_listed: bool = False

    def candidates(self, size: int) -> int:
        """Return C(count, size), as `Catalogue.candidates`."""
        return candidate_itemsets(self.count, size, "universe_size")


Universe = UnknownUniverse | Catalogue | SizedUniverse


@dataclass(frozen=True)
class KnownItemsets:
    """Public itemsets, such as those of an earlier release; any other item may occur.

    Attributes:
        items: Their items, and those that are required.
        itemsets: (k,) ascending codes in items, none of them required.
        required: The codes of the items that every itemset sought has.
    """

    items: Vocabulary
    itemsets: tuple[ItemCodes, ...] = ()
    required: ItemCodes = ()


NOTHING_KNOWN = KnownItemsets(mixed_vocabulary(())[0])


UNKNOWN = UnknownUniverse()


class ListedFirst(NamedTuple):
    """New codes for the items of purchases, in which those of a public list come first.

    Attributes:
        listed: The public list.
        codes: The new code of each item, (items,), -1 for none.
        others: Which items have the codes behind the list, in order: those beside known ones.
    """

    listed: Vocabulary
    codes: Int32
    others: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        universe: Catalogue | KnownItemsets,
        codes_in: Callable[[Vocabulary], Int32],
    ) -> ListedFirst:
        """Return the codes for a catalogue, or for known itemsets.

        codes_in: Returns the code of each item of the purchases in a list, or -1.
        """
        listed = universe.items
        codes, others = codes_in(listed), np.empty(0, dtype=np.intp)
        if isinstance(universe, Catalogue) and universe.grouping is not None:
            codes = universe.grouping.codes(codes_in)
        if isinstance(universe, KnownItemsets):
            others = np.flatnonzero(codes < 0)
            codes = codes.copy()
            codes[others] = len(listed) + np.arange(len(others), dtype=np.int32)
        return cls(listed, codes, others)

    @property
    def total(self) -> int:
        """How many codes there are."""
        return len(self.listed) + len(self.others)

    def label(self, code: int, label_of: Callable[[int], Item]) -> Item:
        """Return the label of a new code. label_of: returns that of an old one."""
        behind = code - len(self.listed)
        return self.listed.label(code) if behind < 0 else label_of(int(self.others[behind]))


# -------------------- the source


class SelectedItemset(NamedTuple):
    """An itemset that a selection has chosen.

    Attributes:
        items: In the order of labels; None for the outcome without a name.
        support: The true one, in units. It must not be released.
        doubtful: Whether only noise may have put it among the chosen ones; None if unknown.
        estimate: What noisy counts say about its support, in units; None if there were none.
        leads: Whether noisy counts say that it leads those left out by more than their noise
            explains.
    """

    items: Items | None
    support: int
    doubtful: bool | None = None
    estimate: float | None = None
    leads: bool = False


class SupportSource(Protocol):
    """Purchases whose itemsets can be counted.

    A support is a number of privacy units: of baskets, or of users with a basket that contains the
    itemset.
    """

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""

    @property
    def units(self) -> int:
        """How many units there are, including those without an item: no cut changes it."""

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of a size, >= 1, or of several ranked together.

        Of a catalogue it has all itemsets, else those that occur, once each unit is cut to a sized
        universe. Whether a unit has an itemset depends on that unit alone, so one unit moves each
        support by at most 1. Raises ParameterError for a size out of range, or none. Reading a
        level that is out of reach raises WorkLimitError.
        """

    def items(self, universe: Universe | KnownItemsets = UNKNOWN) -> ItemSource:
        """Return the items of a catalogue, or else those that occur, with the purchases of them.

        Known items come first, in their order; those that occur beside them follow in label order.
        """

    def capped(self, most_items: int, most_baskets: int) -> SupportSource:
        """Return a source of only the first most_items >= 1 items, by label, of each basket.

        At most most_baskets >= 1 baskets of a user count. Which ones depends on that user's baskets
        alone. A unit then supports at most most_baskets * C(most_items, size) itemsets.
        """


@dataclass(frozen=True)
class LocalSource:
    """The source on one machine: transactions in memory; see `SupportSource`."""

    transactions: Transactions
    effort: Effort = field(default_factory=Effort)

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user; see `SupportSource.by_user`."""
        return self.transactions.by_user

    @property
    def units(self) -> int:
        """How many units there are, including those without an item."""
        return self.transactions.units

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of one size or several.

        See `SupportSource.spectrum`.
        """
        items = self.items(universe)
        data = items.transactions.united()
        if isinstance(universe, SizedUniverse):
            data = data.cut_to(universe.count)
        count = len(data.vocabulary)
        items = replace(items, transactions=data)
        return spectrum_of_items(
            items, count, size, universe, lambda number: counter_for(data, number, 1, self.effort)
        )

    def items(self, universe: Universe | KnownItemsets = UNKNOWN) -> LocalItems:
        """Return the items, with the purchases of them; see `SupportSource.items`."""
        data = self.transactions
        if not isinstance(universe, KnownItemsets | Catalogue):
            return LocalItems(data, self.effort)
        listed = ListedFirst.of(universe, data.vocabulary.codes_in)
        label = partial(listed.label, label_of=data.vocabulary.label)
        recoded = data.recoded(listed.codes, numbers(listed.total))
        return LocalItems(recoded, self.effort, label=label)

    def capped(self, most_items: int, most_baskets: int) -> LocalSource:
        """Return a source of fewer items and baskets; see `SupportSource.capped`."""
        return replace(self, transactions=self.transactions.capped(most_items, most_baskets))
