"""The source in a database: weighted sums, candidates, and itemsets by a histogram of their supports.

Weights come from an uploaded table of whole numbers, so no database takes a root.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.counting import source as on_one_machine
from fim_private.counting.counter import (
    Candidates,
    Counter,
    ItemCounter,
    Top,
    floor_roots,
    rank_order,
    ranks_of,
)
from fim_private.counting.source import UNKNOWN, Catalogue, KnownItemsets, SizedUniverse, Universe
from fim_private.counting.work import Effort
from fim_private.dp.parameters import positive_integer
from fim_private.errors import DataError, ParameterError, WorkLimitError, parameter
from fim_private.reading.labels import Item, Vocabulary, in_label_order
from fim_private.spectrum import SupportSpectrum, union
from fim_private.warehouse.purchases import Stored
from fim_private.warehouse.session import Session

MOST_OCCURRENCES = 10**8  # so many itemsets in baskets are listed at most, where each is counted
_LARGEST = 2**63

# From how often a unit has a thing, and the sum of that over all of its things, to its weight: (n,) int64 each.
Weigh = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]


def _level(scale: int) -> Weigh:
    return lambda times, total: floor_roots(scale * scale * times // total)


@dataclass(frozen=True)
class View:
    """Purchases of one part. entries: unit, basket, item, each once. count: codes are below it. units: how many."""

    session: Session
    entries: Any
    count: int
    units: int
    by_user: bool
    together: bool

    def recoded(self, codes: NDArray[np.integer], count: int) -> View:
        """Return these with other codes, (codes,), below count; -1 leaves an item out."""
        stay = np.flatnonzero(codes >= 0)
        table = self.session.upload({"item": stay.astype(np.int64), "code": codes[stay].astype(np.int64)}, "codes")
        found = self.entries.inner_join(table, "item").select("unit", "basket", item="code").distinct()
        return replace(self, entries=self.session.keep(found, "recoded"), count=count)

    @property
    def of_units(self) -> Any:
        """Which units have which items, and in how many of their baskets: unit, item, times."""
        if not self.by_user:
            return self.entries.select("unit", "item", times=_number(1))
        return self.entries.group_by("unit", "item").aggregate(times=self.entries.count())

    def united(self) -> View:
        """Return users whose baskets count together with one basket each, if they do."""
        if not self.together:
            return self
        found = self.entries.select("unit", "item", basket=self.entries.unit).distinct()
        return replace(self, entries=found, together=False)

    def cut_to(self, count: int) -> View:
        """Return these with the first ``count`` items of each unit only, in label order."""
        import ibis

        place = ibis.dense_rank().over(ibis.window(group_by="unit", order_by="item"))
        ranked = self.entries.mutate(rank_of=place)
        return replace(self, entries=ranked.filter(ranked.rank_of < count).drop("rank_of"))

    def weighed(self, held: Any, cells: int, weigh: Weigh) -> NDArray[np.int64]:
        """Return the sum of weights over the units that hold a thing: (cells,). held: unit, place, times."""
        held = self.session.keep(held, "held")  # it is read twice
        totals = held.group_by("unit").aggregate(total=held.times.sum().cast("int64"))
        joined = held.inner_join(totals, "unit")
        sizes = self.session.numbers(joined.select("times", "total").distinct())
        weights = weigh(sizes["times"], sizes["total"])
        if int(weights.max(initial=0)) * self.units >= _LARGEST:
            raise DataError("the sums would be beyond 64 bits")
        table = self.session.upload({**sizes, "weight": weights}, "weights")
        found = joined.inner_join(table, ["times", "total"]).group_by("place").aggregate(weight=table.weight.sum())
        sums = self.session.numbers(found)
        self.session.drop(table)
        self.session.drop(held)
        vector = np.zeros(cells, dtype=np.int64)
        vector[sums["place"]] = sums["weight"]
        return vector


def _number(value: int) -> Any:
    import ibis

    return ibis.literal(value, type="int64")


@dataclass(frozen=True)
class _Items:
    """The items of purchases in a database; see `ItemSource`."""

    view: View
    label: Callable[[int], Item]

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        held = self.view.cut_to(len(weights) - 1).of_units
        once = held.select("unit", place="item", times=_number(1))
        return self.view.weighed(once, self.view.count, lambda _, total: np.asarray(weights)[total])

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        import ibis

        held = self.view.of_units
        order = ibis.window(group_by="unit", order_by=[ibis.desc("times"), "item"])
        held = held.mutate(rank_of=ibis.row_number().over(order))
        held = held.filter(held.rank_of < most).select("unit", "times", place="item")
        return self.view.weighed(held, self.view.count, _level(scale))

    def named(self, itemsets: Sequence[Sequence[int]]) -> list[tuple[Item, ...]]:
        return [in_label_order(map(self.label, codes)) for codes in itemsets]

    def among(self, codes: NDArray[np.integer]) -> _CandidateCounts:
        number = ranks_of(np.asarray(codes), max(self.view.count, int(np.max(codes, initial=-1)) + 1))
        return _CandidateCounts(self.view.recoded(number, len(codes)))


@dataclass(frozen=True)
class _CandidateCounts:
    """Candidates among some items; see `CandidateSource`."""

    view: View

    @property
    def _rows(self) -> Any:
        """What has to hold all items of a candidate: unit, basket, item and times."""
        if self.view.together:
            held = self.view.of_units
            return held.select("unit", "item", "times", basket="unit")
        return self.view.entries.select("unit", "basket", "item", times=_number(1))

    def _held(self, found: Any) -> Any:
        """Return how often a unit holds a place, of one row for each basket that does."""
        if not self.view.by_user or self.view.together:
            return found
        return found.group_by("unit", "place").aggregate(times=found.times.sum().cast("int64"))

    @cached_property
    def _pairs(self) -> Any:
        """Each two items of each basket: unit, basket, pair and times.

        A pair has one number, not two: candidates could else be joined to one item first, which takes far longer.
        """
        import ibis

        first, second = self._rows, self._rows.view()
        pairs = first.inner_join(second, [first.basket == second.basket, first.item < second.item])
        times = ibis.least(first.times, second.times)
        pair = second.item * _number(self.view.count) + first.item
        pairs = pairs.select(unit=first.unit, basket=first.basket, pair=pair, times=times)
        return self.view.session.keep(pairs, "pairs")

    def pair_level_sums(self, scale: int) -> NDArray[np.int64]:
        items, pairs = self.view.count, self._pairs
        found = pairs.select("unit", "times", place="pair")
        sums = self.view.weighed(self._held(found), items * items, _level(scale)).reshape(items, items)
        return sums[np.tril_indices(items, -1)]

    def level_sums(self, sets: NDArray[np.int32], scale: int) -> NDArray[np.int64]:
        return self.view.weighed(self._held(self._containing([sets])), len(sets), _level(scale))

    def sums(self, candidates: Candidates, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        held = self._once(candidates).mutate(times=_number(1))
        return self.view.weighed(held, len(weights) - 1, lambda _, total: np.asarray(weights)[total])

    def units_with(self, candidates: Candidates) -> NDArray[np.int64]:
        held = self._once(candidates)
        each = held.group_by("unit").aggregate(number=held.count())
        found = self.view.session.numbers(each.group_by("number").aggregate(units=each.count()))
        histogram = np.zeros(sum(map(len, candidates)) + 1, dtype=np.int64)
        histogram[found["number"]] = found["units"]
        histogram[0] = self.view.units - histogram.sum()
        return histogram

    def _once(self, candidates: Candidates) -> Any:
        """Return which units hold which candidates, each once: unit, place."""
        held = self._containing(candidates).select("unit", "place")
        return held.distinct() if self.view.by_user and not self.view.together else held

    def _containing(self, candidates: Candidates) -> Any:
        """Return each basket, or united user, that contains a candidate: unit, place, times."""
        start, found = 0, list[Any]()
        for sets in candidates:
            if len(sets) or not found:
                found.append(self._of_size(np.asarray(sets), start))
            start += len(sets)
        return reduce(lambda one, other: one.union(other), found)

    def _of_size(self, sets: NDArray[np.integer], start: int) -> Any:
        import ibis

        size = sets.shape[1]
        sets = sets.astype(np.int64)
        columns = {f"i{k}": sets[:, k] for k in range(0 if size == 1 else 2, size)}
        if size > 1:
            columns["pair"] = sets[:, 1] * self.view.count + sets[:, 0]
        places = np.arange(start, start + len(sets), dtype=np.int64)
        wanted = self.view.session.upload({**columns, "place": places}, "candidates")
        rows = self._rows
        if size == 1:
            return rows.rename(i0="item").inner_join(wanted, "i0").select("unit", "place", "times")
        found = self._pairs.inner_join(wanted, "pair")
        for k in range(2, size):
            other = rows.view().select("basket", more="times", **{f"i{k}": "item"})
            found = found.inner_join(other, ["basket", f"i{k}"])
            found = found.mutate(times=ibis.least(found.times, found.more)).drop("more")
        return found.select("unit", "place", "times")


@dataclass(frozen=True)
class _DatabaseCounter:
    """Counts itemsets of one size, >= 2, by listing those in baskets, within a limit; see `Counter`."""

    _view: View
    _size: int
    _effort: Effort

    @cached_property
    def item_supports(self) -> NDArray[np.int64]:
        """How many units have each item: (codes,)."""
        held = self._view.entries.select("unit", "item").distinct()
        found = self._view.session.numbers(held.group_by("item").aggregate(units=held.count()))
        supports = np.zeros(self._view.count, dtype=np.int64)
        supports[found["item"]] = found["units"]
        return supports

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return rank_order(self.item_supports, 1)

    @cached_property
    def most_work(self) -> int:
        """How many itemsets are in baskets, each counted in each."""
        each = self._view.entries.group_by("basket").aggregate(items=self._view.entries.count())
        found = self._view.session.numbers(each.group_by("items").aggregate(baskets=each.count()))
        lengths = zip(found["items"].tolist(), found["baskets"].tolist(), strict=True)
        return sum(number * math.comb(length, self._size) for length, number in lengths)

    @cached_property
    def _listed(self) -> Any:
        """The itemsets in baskets, by ranks r0 < r1 < …, with their supports."""
        if self.most_work > min(MOST_OCCURRENCES, self._effort.max_work):
            raise WorkLimitError(
                f"{parameter('engine')} sql counts each itemset of a selection, up to {MOST_OCCURRENCES:,} in baskets, "
                f"and here are more: use levelwise ({parameter('top')} above 1), or {parameter('engine')} local"
            )
        session, order = self._view.session, self._order
        table = session.upload({"item": order, "rank_of": np.arange(len(order))}, "ranks")
        ranked = self._view.entries.inner_join(table, "item").select("unit", "basket", r0="rank_of")
        ranked = session.keep(ranked, "ranked")
        found = ranked
        for k in range(1, self._size):
            other = ranked.view().select(own="basket", **{f"r{k}": "r0"})
            found = found.inner_join(other, [found.basket == other.own, found[f"r{k - 1}"] < other[f"r{k}"]])
            found = found.drop("own")
        held = found.select("unit", *self._ranks).distinct() if self._view.by_user else found
        return session.keep(held.group_by(self._ranks).aggregate(support=held.count()), "supports")

    @property
    def _ranks(self) -> list[str]:
        return [f"r{k}" for k in range(self._size)]

    @cached_property
    def _levels(self) -> list[tuple[int, int]]:
        found = self._view.session.numbers(self._listed.group_by("support").aggregate(number=self._listed.count()))
        return sorted(zip(found["support"].tolist(), found["number"].tolist(), strict=True), reverse=True)

    def top(self, ceiling: int | None, wanted: int | None) -> Top:
        """Return all levels below the ceiling; see `Counter`."""
        return Top([one for one in self._levels if ceiling is None or one[0] < ceiling], 1)

    def locate(self, support: int, index: int) -> list[int]:
        """Return the codes of the index-th itemset of that support in scan order; see `Counter.locate`."""
        found = self._scan(self._listed.filter(self._listed.support == support).order_by(self._ranks[::-1]), index)
        return [int(code) for code in found[0][0]]

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the itemsets of supports lowest..highest: (m, size) codes in scan order, and (m,) supports."""
        chosen = self._listed.filter(self._listed.support.between(lowest, highest))
        return self._scan(chosen.order_by(self._ranks[::-1]))

    def _scan(self, listed: Any, index: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        found = self._view.session.numbers(listed if index is None else listed.limit(1, offset=index))
        ranks = np.column_stack([found[name] for name in self._ranks])
        return self._order[ranks], found["support"]


@dataclass(frozen=True)
class DatabaseSource:
    """Purchases in a database, of one part; see `SupportSource`."""

    view: View
    vocabulary: Vocabulary
    missing_user: str | None
    effort: Effort = field(default_factory=Effort)

    @classmethod
    def of(
        cls,
        stored: Stored,
        part: int,
        missing_user: str | None,
        effort: Effort,
        *,
        excluded: Vocabulary | None = None,
        min_basket: int | None = None,
        together: bool = False,
    ) -> DatabaseSource:
        """Return the source of a part: without excluded items, and then without items in baskets of too few."""
        session, entries, baskets, count = stored.session, stored.entries, stored.baskets, len(stored.items)
        if stored.parts > 1:
            entries, baskets = entries.filter(entries.part == part), baskets.filter(baskets.part == part)
            if stored.most < stored.parts:
                counts = session.keep(_counting(stored, part), "counting")
                entries, baskets = (some.semi_join(counts, "unit") for some in (entries, baskets))
        entries = entries.select("unit", "basket", "item")
        units = int(session.numbers(baskets.aggregate(units=baskets.unit.nunique()))["units"].sum())
        view = View(session, entries, count, units, stored.by_user, together)
        if excluded is not None:
            codes = np.where(stored.items.codes_in(excluded) >= 0, -1, np.arange(count))
            view = view.recoded(codes, count)
        if min_basket is not None:
            import ibis

            length = ibis._.count().over(ibis.window(group_by="basket"))
            long = view.entries.mutate(length=length)
            view = replace(view, entries=session.keep(long.filter(long.length >= min_basket).drop("length"), "long"))
        return cls(view, stored.items, missing_user, effort)

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""
        return self.view.by_user

    @property
    def units(self) -> int:
        """How many units there are, those without an item included."""
        return self.view.units

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of that size, or of several; see `SupportSource.spectrum`."""
        sizes = size if isinstance(size, Sequence) else [size]
        if not sizes:
            raise ParameterError(f"{parameter('size')} must be at least one number")
        items = self.items(universe)
        view = items.view.united()
        items = replace(items, view=view.cut_to(universe.count) if isinstance(universe, SizedUniverse) else view)
        return union([self._spectrum(items, one, listed=isinstance(universe, Catalogue)) for one in sizes])

    def items(self, universe: Universe | KnownItemsets = UNKNOWN) -> _Items:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        if not isinstance(universe, KnownItemsets | Catalogue):
            return _Items(self.view, self.vocabulary.label)
        listed = universe.items
        codes, others = self.vocabulary.codes_in(listed), np.empty(0, dtype=np.intp)
        if isinstance(universe, KnownItemsets):
            codes, others = on_one_machine.known_first(codes, len(listed))

        def label(code: int) -> Item:
            own = code - len(listed)
            return listed.label(code) if own < 0 else self.vocabulary.label(int(others[own]))

        return _Items(self.view.recoded(codes, len(listed) + len(others)), label)

    def capped(self, most_items: int, most_baskets: int) -> DatabaseSource:
        """Refused: which baskets of a user count is not drawn in a database."""
        raise ParameterError(f"leave out {parameter('max_basket')}: {parameter('engine')} sql does not cut baskets")

    def _spectrum(self, items: _Items, size: int, *, listed: bool) -> SupportSpectrum:
        size = positive_integer("size", size)
        counting = _DatabaseCounter(items.view, max(size, 2), self.effort)
        counter: Counter = ItemCounter(counting, 1) if size == 1 else counting
        find = partial(on_one_machine.located, counter)
        found = on_one_machine.counted_spectrum(counter, find, items.named)
        if not listed:
            return found
        is_there = partial(on_one_machine.is_supported, items)
        candidates = on_one_machine.CatalogueItemsets(
            items.view.count, size, is_there, lambda: counter.itemsets(1, max(self.units, 1))[0]
        )
        return on_one_machine.listed_spectrum(found, candidates, items.named)


def _counting(stored: Stored, part: int) -> Any:
    """Return the units that count in a part: of the parts with most of its baskets; of equals the first ones."""
    import ibis

    baskets = stored.baskets.group_by("unit", "part").aggregate(number=stored.baskets.count())
    order = ibis.window(group_by="unit", order_by=[ibis.desc("number"), "part"])
    ranked = baskets.mutate(rank_of=ibis.row_number().over(order))
    return ranked.filter((ranked.rank_of < stored.most) & (ranked.part == part)).select("unit")
