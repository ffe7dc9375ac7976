"""The source of supports: whoever selects itemsets asks it, and need not know where the baskets
are, or who counts.

The choice of counters, weighted sums of items, lazy spectra of itemsets, and the itemsets of a
public catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, islice
from types import ModuleType
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting import portable
from fim_private.counting.counter import CandidateSource, Counter, ItemCounter, Shard, ShardCounter
from fim_private.counting.portable import PortableCounter
from fim_private.counting.work import Effort
from fim_private.dp.arguments import positive_integer
from fim_private.dp.noise import Randomness, distinct_integers
from fim_private.errors import ParameterError, WorkLimitError, parameter, shown
from fim_private.reading.labels import Item, Vocabulary, in_label_order, numbers
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import Level, LevelDraws, SupportSpectrum, candidate_itemsets, union

# What counts: compiled where it was built, in numpy where it was not. Modules of the same
# functions, by name.
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

    name: one of COUNTERS; the fastest that can do it unless given. Raises ParameterError for what
    is out of range.
    """
    size, min_support = positive_integer("size", size), positive_integer("min_support", min_support)
    # no support is larger, and some fit in no array
    min_support = min(min_support, transactions.baskets + 1)
    counter = COUNTERS[_able(transactions, name, size)](
        transactions, size, min_support, effort or Effort()
    )
    return ItemCounter(counter, min_support) if size == 1 else counter


def shard_counter(shard: Shard, size: int, effort: Effort, name: str | None = None) -> ShardCounter:
    """Return a counter of the itemsets of that size, >= 2, in a shard. name: as in counter_for."""
    return COUNTERS[_able(shard.transactions, name, size)](
        shard.transactions, size, 1, effort, shard
    )


def _able(transactions: Transactions, name: str | None, size: int = 1) -> str:
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

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each item the sum of weights[distinct items of the unit] over the units that
        have it: (items,).

        weights: (most + 1,) int64, >= 0, most >= 1: every unit is first cut to its most first
        distinct items, in label order. A unit's part depends on that unit alone. The int64 sums are
        exact as long as the number of units times the largest weight is below 2^63.
        """

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        """Return for each item the sum of floor(scale · √(c / C)) over the units, exactly: (items,)
        int64.

        c: how many of its baskets have the item. C: the sum of c over the unit's items, first cut
        to the ``most`` that it has in most baskets; ties go by label order. So in multiples of
        1/scale the L2 norm of what a unit adds is at most 1. scale: 1 to 2^16. most: >= 1.
        """

    def named(self, itemsets: Sequence[Sequence[int]]) -> list[tuple[Item, ...]]:
        """Return the labels of itemsets given by codes, each in label order."""

    def among(self, codes: NDArray[np.integer]) -> CandidateSource:
        """Return the same purchases, uncut, restricted to these different items: codes[k] becomes
        number k.
        """


@dataclass(frozen=True)
class LocalItems:
    """The items of transactions in memory; see `ItemSource`.

    counter: one of COUNTERS; the fastest unless given. label: of a code; that of the transactions
    unless given.
    """

    transactions: Transactions
    effort: Effort = field(default_factory=Effort)
    counter: str | None = None
    label: Callable[[int], Item] | None = None

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weighted sum of each item; see `ItemSource.sums`."""
        cut = self.transactions.cut_to(len(weights) - 1)
        return np.asarray(self._counting.item_sums(cut, weights, self.effort))

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        """Return the level sum of each item; see `ItemSource.level_sums`."""
        return np.asarray(
            self._counting.item_level_sums(self.transactions, scale, most, self.effort)
        )

    def named(self, itemsets: Iterable[Iterable[int]]) -> list[tuple[Item, ...]]:
        """Return the labels of itemsets; see `ItemSource.named`."""
        return [
            in_label_order(map(self.label or self.transactions.vocabulary.label, codes))
            for codes in itemsets
        ]

    def among(self, codes: NDArray[np.integer]) -> CandidateSource:
        """Return the same purchases restricted to these items; see `ItemSource.among`."""
        counts: CandidateSource = self._counting.CandidateCounts(
            self.transactions, codes, self.effort
        )
        return counts

    @property
    def _counting(self) -> ModuleType:
        return _MODULES[_able(self.transactions, self.counter)]


# -------------------- spectra

# A reader of the top reads this many itemsets first, and then so many times more again and again.
_FIRST_ITEMSETS = 1024
_MORE_ITEMSETS = 16
# The rest comes in one pass where that is no more than the work already done. Who reads on from
# this many itemsets likely wants all: for them it may be so many times as much. What is done is a
# small part of any more than that.
_ENOUGH_ITEMSETS = 1 << 14
_WORTH_FINISHING = 16


def lazy_levels(counter: Counter, min_support: int) -> Iterator[Level]:
    """Yield the levels of at least that support, >= 1 unit, descending; each round counts more
    itemsets than before.

    Raises WorkLimitError where the next level takes more steps than allowed.
    """
    top, wanted, read, done, within_limit = (
        counter.top(None, _FIRST_ITEMSETS),
        _FIRST_ITEMSETS,
        0,
        0,
        True,
    )
    yield from top.levels
    while top.floor > min_support:
        read += sum(multiplicity for _, multiplicity in top.levels)
        done += top.work
        wanted *= _MORE_ITEMSETS
        rest = None
        if within_limit and counter.most_work <= done * (
            _WORTH_FINISHING if read >= _ENOUGH_ITEMSETS else 1
        ):
            try:
                rest = counter.top(top.floor, None)
            except WorkLimitError:
                # The whole is out of reach; whoever wants only some more can still have them.
                within_limit = False
        top = counter.top(top.floor, wanted) if rest is None else rest
        yield from top.levels


# A level's support, and which of its itemsets are to be named: places in scan order, all different.
Places = tuple[int, Sequence[int]]
# From a spectrum, the codes of the itemsets at some places of its levels, which descend: for each
# level a list.
Locate = Callable[[Sequence[Places], SupportSpectrum], list[list[list[int]]]]
# The labels of itemsets given by their codes, each in canonical order.
NameAll = Callable[[Sequence[Sequence[int]]], Iterable[tuple[Item, ...]]]

# Names from which on it is quicker to list all itemsets down to their levels, if these are no more
# than so many.
_WORTH_LISTING, _MOST_LISTED = 3, 1 << 16


def itemset_spectrum(
    transactions: Transactions,
    size: int,
    *,
    min_support: int = 1,
    effort: Effort | None = None,
    counter: str | None = None,
) -> SupportSpectrum:
    """Return the lazy spectrum of all itemsets of that size; the item universe is unknown.

    size: items per itemset, >= 1. min_support: units, >= 1; levels below it are left out, and
    nothing is spent on them.
    counter: one of COUNTERS; the fastest unless given. Raises ParameterError for a number out of
    range; reading levels raises WorkLimitError where they are out of reach.
    """
    counting = counter_for(transactions, size, min_support, effort, counter)
    names = LocalItems(transactions).named
    return counted_spectrum(counting, names, min_support=min_support)


def counted_spectrum(
    counter: Counter, names: NameAll, *, min_support: int = 1, locate: Locate | None = None
) -> SupportSpectrum:
    """Return the lazy spectrum of what a counter counts, from min_support >= 1 on.

    locate: finds itemsets; by the counter's own methods unless given.
    """
    locate = locate or partial(located, counter)

    def sample(
        wanted: Sequence[LevelDraws], randomness: Randomness
    ) -> list[list[tuple[Item, ...]]]:
        places = [
            (s, distinct_integers(many, number, randomness=randomness))
            for s, many, number in wanted
        ]
        found = locate(places, spectrum)
        named = iter(names([codes for level in found for codes in level]))
        return [list(islice(named, len(level))) for level in found]

    levels = lazy_levels(counter, positive_integer("min_support", min_support))
    spectrum = SupportSpectrum(levels, whole=lambda: counter.top(None, None).levels, sampler=sample)
    return spectrum


def catalogue_spectrum(
    transactions: Transactions, size: int, *, effort: Effort | None = None
) -> SupportSpectrum:
    """Return the lazy spectrum over a public catalogue, the transactions' vocabulary; see
    itemset_spectrum.

    The universe is every itemset of catalogue items, C(N, size) of them; the unsupported ones are
    level 0.
    """
    occurring, names = (
        itemset_spectrum(transactions, size, effort=effort),
        LocalItems(transactions).named,
    )
    return listed_spectrum(occurring, candidates_of(transactions, size, effort), names)


def listed_spectrum(
    named: SupportSpectrum, candidates: CatalogueItemsets, names: NameAll
) -> SupportSpectrum:
    """Return the spectrum of all candidates of a public catalogue: those that occur, named, and the
    rest as level 0.
    """

    def sample(
        wanted: Sequence[LevelDraws], randomness: Randomness
    ) -> list[list[tuple[Item, ...]]]:
        occurring = [support for support, _, number in wanted for _ in range(number) if support]
        supported = iter(named.sample_itemsets(occurring, randomness))
        return [
            list(islice(supported, number))
            if support
            else list(names(unsupported_itemsets(candidates, multiplicity, number, randomness)))
            for support, multiplicity, number in wanted
        ]

    universe_size = math.comb(candidates.items, candidates.size)
    return SupportSpectrum(
        named.levels(), whole=named.all_levels, universe_size=universe_size, sampler=sample
    )


def list_itemsets(
    transactions: Transactions, size: int, lowest: int, highest: int, *, counter: str | None = None
) -> Iterator[tuple[tuple[Item, ...], int]]:
    """Yield the itemsets of supports lowest..highest, in units, with their supports. Not private:
    for looking at data.

    Memory is proportional to their number. Raises ParameterError for a number below 1.
    """
    lowest, highest = positive_integer("lowest", lowest), positive_integer("highest", highest)
    counting = counter_for(transactions, size, lowest, None, counter)
    # more than any support: numbers beyond are as good, and may fit in no array
    most = transactions.baskets + 1
    codes, supports = counting.itemsets(min(lowest, most), min(highest, most))
    items = LocalItems(transactions)
    for row, support in zip(codes.tolist(), supports.tolist(), strict=True):
        yield items.named([row])[0], support


def located(
    counter: Counter, places: Sequence[Places], spectrum: SupportSpectrum
) -> list[list[list[int]]]:
    """Return the codes of the itemsets at some places of levels; see `Locate`."""
    return located_down_to(counter, places, lowest_listed(places, spectrum))


def located_down_to(
    counter: Counter | ShardCounter, places: Sequence[Places], lowest: int | None
) -> list[list[list[int]]]:
    """Return the codes of the itemsets at some places of levels, which descend.

    lowest: Itemsets of this support or more are listed in one scan; None to locate one by one.
    """
    listed: dict[int, list[list[int]]] = {}
    highest, least = places[0][0], places[-1][0]
    if lowest is not None and lowest <= highest:
        codes, supports = counter.itemsets(max(lowest, least), highest)
        levels = {support for support, _ in places if support >= lowest}
        listed = {support: codes[supports == support].tolist() for support in levels}
    return [
        [
            listed[support][index] if support in listed else counter.locate(support, index)
            for index in indices
        ]
        for support, indices in places
    ]


def lowest_listed(places: Sequence[Places], spectrum: SupportSpectrum) -> int | None:
    """Return down to which level, not too far, it is worth listing all itemsets to locate some;
    None for none.
    """
    if sum(len(indices) for _, indices in places) < _WORTH_LISTING:
        return None
    found, total = None, 0
    for support, multiplicity in spectrum.levels():
        total += multiplicity
        if support < places[-1][0] or total > _MOST_LISTED:
            break
        found = support
    return found


def spectrum_of_sizes(
    size: int | Sequence[int], of_size: Callable[[int], SupportSpectrum]
) -> SupportSpectrum:
    """Return the spectrum of a size, or of several ranked together. Raises ParameterError for none,
    or one below 1.
    """
    sizes = size if isinstance(size, Sequence) else [size]
    if not sizes:
        raise ParameterError(f"{parameter('size')} must be at least one number")
    return union([of_size(positive_integer("size", one)) for one in sizes])


# From so many draws on, which scan the data each, it is quicker to list what baskets contain, if
# this is no more.
_WORTH_DRAWING, _MOST_SUPPORTED = 8, 1 << 22

ItemCodes = tuple[int, ...]


class CatalogueItemsets(NamedTuple):
    """All itemsets of one size of a public catalogue of some number of items.

    is_supported: whether any basket contains one. supported: lists those that some basket contains,
    (m, size) codes.
    """

    items: int
    size: int
    is_supported: Callable[[ItemCodes], bool]
    supported: Callable[[], NDArray[np.int64]]


def is_supported(items: ItemSource, codes: ItemCodes) -> bool:
    """Return whether any basket contains all the codes, which are different."""
    whole = np.arange(len(codes), dtype=np.int32)[None]
    return bool(items.among(np.array(codes)).sums([whole], np.array([0, 1]))[0])


def candidates_of(
    transactions: Transactions, size: int, effort: Effort | None
) -> CatalogueItemsets:
    """Return the candidates of a size >= 1, of transactions whose vocabulary is the catalogue."""

    def supported() -> NDArray[np.int64]:
        return counter_for(transactions, size, 1, effort).itemsets(1, transactions.baskets)[0]

    known = partial(is_supported, LocalItems(transactions))
    return CatalogueItemsets(len(transactions.vocabulary), size, known, supported)


def spectrum_of_items(
    items: ItemSource,
    count: int,
    size: int,
    counter: Counter,
    *,
    listed: bool,
    locate: Locate | None = None,
) -> SupportSpectrum:
    """Return the spectrum of the itemsets of one size among some items.

    Args:
        items: The items; their codes are below count.
        count: How many items there are.
        size: How many items an itemset has, >= 1.
        counter: Counts itemsets of that size, or pairs if it is 1.
        listed: Whether the items are a catalogue, so that all their itemsets are candidates.
        locate: Finds itemsets of 2 items or more faster than the counter's own methods.
    """
    if size == 1:
        counter, locate = ItemCounter(counter, 1), None
    occurring = counted_spectrum(counter, items.named, locate=locate)
    if not listed:
        return occurring

    def supported() -> NDArray[np.int64]:
        return counter.itemsets(1, max(1, int(counter.item_supports.max(initial=0))))[0]

    candidates = CatalogueItemsets(count, size, partial(is_supported, items), supported)
    return listed_spectrum(occurring, candidates, items.named)


def unsupported_itemsets(
    candidates: CatalogueItemsets, unsupported: int, number: int, randomness: Randomness
) -> list[ItemCodes]:
    """Return ``number`` different itemsets of all the unsupported, as ascending codes, in uniformly
    random order.
    """
    items, size, is_known, supported = candidates
    every = math.comb(items, size)
    most_draws = number * every / (unsupported - number + 1)  # so many are expected at most
    if most_draws >= _WORTH_DRAWING and every - unsupported <= _MOST_SUPPORTED:
        known = set(map(tuple, np.sort(supported(), axis=1).tolist()))
        if 2 * number > unsupported:
            # To draw the last of nearly all would take long. So these are listed, not many more
            # than are wanted.
            free = [codes for codes in combinations(range(items), size) if codes not in known]
            return [
                free[place] for place in distinct_integers(len(free), number, randomness=randomness)
            ]
        is_known = known.__contains__
    # Draw from all itemsets and reject what is supported: as level 0 was chosen by its number, that
    # is seldom long.
    found: dict[ItemCodes, None] = {}
    while len(found) < number:
        codes = tuple(sorted(distinct_integers(items, size, randomness=randomness)))
        if codes not in found and not is_known(codes):
            found[codes] = None
    return list(found)


# -------------------- the universe

# The universe is never derived from the data: which items occur at all is somebody's purchase.


@dataclass(frozen=True)
class UnknownUniverse:
    """Nothing is known: any item may occur. Itemsets that nobody has are no candidates."""


@dataclass(frozen=True)
class Catalogue:
    """All items are listed publicly; others are dropped before counting. Itemsets that nobody has
    are level 0.
    """

    items: Vocabulary

    def candidates(self, size: int) -> int:
        """Return C(N, size), size >= 1. Raises ParameterError for fewer than size items, or too
        many candidates.
        """
        return candidate_itemsets(len(self.items), size, "catalogue")


@dataclass(frozen=True)
class SizedUniverse:
    """Only the number of items is public: count >= 1.

    A unit with more distinct items would contradict it, so each is cut to its first ``count`` items
    in label order. This rule is for one unit at a time and needs no other data, so nobody learns
    that it was needed. One unit then supports at most candidates(size) itemsets, however many
    baskets it has, which is what Theorem 5 asks for.
    """

    count: int

    def candidates(self, size: int) -> int:
        """Return C(count, size), as `Catalogue.candidates`."""
        return candidate_itemsets(self.count, size, "universe_size")


Universe = UnknownUniverse | Catalogue | SizedUniverse


@dataclass(frozen=True)
class KnownItemsets:
    """Itemsets that are public, such as those of an earlier release, and so are their items; any
    other item may occur.

    items: theirs. itemsets: (k,) their codes in items, ascending.
    """

    items: Vocabulary
    itemsets: tuple[tuple[int, ...], ...]


UNKNOWN = UnknownUniverse()


class ListedFirst(NamedTuple):
    """The codes of own items where those of a public list come first, (items,), -1 for none; how
    many codes there are.

    others: (codes behind the list,) which own items these are: those that occur beside known ones.
    """

    listed: Vocabulary
    codes: NDArray[np.int32]
    others: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        universe: Catalogue | KnownItemsets,
        codes_in: Callable[[Vocabulary], NDArray[np.int32]],
    ) -> ListedFirst:
        """Return those of a catalogue, or of known itemsets. codes_in: of each own item the code in
        a list, or -1.
        """
        listed = universe.items
        codes, others = codes_in(listed), np.empty(0, dtype=np.intp)
        if isinstance(universe, KnownItemsets):
            others = np.flatnonzero(codes < 0)
            codes = codes.copy()
            codes[others] = len(listed) + np.arange(len(others), dtype=np.int32)
        return cls(listed, codes, others)

    @property
    def total(self) -> int:
        """How many codes there are."""
        return len(self.listed) + len(self.others)

    def label(self, code: int, own: Callable[[int], Item]) -> Item:
        """Return the label of a code. own: that of an own item."""
        behind = code - len(self.listed)
        return self.listed.label(code) if behind < 0 else own(int(self.others[behind]))


# -------------------- the source


class SelectedItemset(NamedTuple):
    """An itemset that a selection found.

    items: in the order of labels; None for the outcome without a name. support: in units; the true
    one: it must not leave. doubtful: whether, by noise alone, it may not be among those that were
    sought; None where unknown.
    """

    items: tuple[Item, ...] | None
    support: int
    doubtful: bool | None = None


class SupportSource(Protocol):
    """Purchases whose itemsets can be counted.

    A support is a number of privacy units: of baskets, or of users with a basket that contains the
    itemset.
    """

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""

    @property
    def missing_user(self) -> str | None:
        """What became of rows without a user, as in read_transactions; None where that was not
        asked for.
        """

    @property
    def units(self) -> int:
        """How many units there are, those without an item included: the same whatever a unit has,
        or is cut to.
        """

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of that size, >= 1, or of several different ones
        ranked together.

        universe: unknown or sized: the itemsets that occur, once each unit is cut to that size; a
        catalogue: all. A unit has an itemset or not whatever other units have, so one unit moves
        each support by at most 1. Raises ParameterError for a size out of range, or none; reading
        raises WorkLimitError for levels out of reach.
        """

    def items(self, universe: Universe | KnownItemsets = UNKNOWN) -> ItemSource:
        """Return the items, and what units have of them: those of a catalogue, or else those that
        occur.

        Known items come first, in their order, and those that occur beside them follow in label
        order.
        """

    def capped(self, most_items: int, most_baskets: int) -> SupportSource:
        """Return a source where each basket counts with its first most_items >= 1 items, in label
        order, only.

        Of a user at most most_baskets >= 1 baskets count, drawn by what is in that user's baskets
        alone. A unit then supports at most most_baskets * C(most_items, size) itemsets.
        """


@dataclass(frozen=True)
class LocalSource:
    """The source on one machine, see `SupportSource`: transactions in memory, counted with some
    effort.
    """

    transactions: Transactions
    effort: Effort = field(default_factory=Effort)

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user; see `SupportSource.by_user`."""
        return self.transactions.by_user

    @property
    def missing_user(self) -> str | None:
        """What became of rows without a user, as in read_transactions."""
        return self.transactions.missing_user

    @property
    def units(self) -> int:
        """How many units there are, those without an item included."""
        return self.transactions.units

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of that size, or of several; see
        `SupportSource.spectrum`.
        """
        data = self.transactions.united()
        if isinstance(universe, Catalogue):
            data = data.restricted_to(universe.items)
        elif isinstance(universe, SizedUniverse):
            data = data.cut_to(universe.count)
        of_size = catalogue_spectrum if isinstance(universe, Catalogue) else itemset_spectrum
        return spectrum_of_sizes(size, lambda one: of_size(data, one, effort=self.effort))

    def items(self, universe: Universe | KnownItemsets = UNKNOWN) -> LocalItems:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        data = self.transactions
        if isinstance(universe, KnownItemsets):
            own = data.vocabulary
            listed = ListedFirst.of(universe, own.codes_in)
            label = partial(listed.label, own=own.label)
            return LocalItems(
                data.recoded(listed.codes, numbers(listed.total)), self.effort, label=label
            )
        return LocalItems(
            data.restricted_to(universe.items) if isinstance(universe, Catalogue) else data,
            self.effort,
        )

    def capped(self, most_items: int, most_baskets: int) -> LocalSource:
        """Return a source of fewer items and baskets; see `SupportSource.capped`."""
        return replace(self, transactions=self.transactions.capped(most_items, most_baskets))
