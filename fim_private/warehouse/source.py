"""The source in a database: weighted sums, candidates, and itemsets by a histogram of their
supports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import ibis
import numpy as np
from ibis import _
from numpy.typing import NDArray

from fim_private.counting import source as on_one_machine
from fim_private.counting.counter import (
    Candidates,
    Top,
    floor_roots,
    rank_order,
    ranks_of,
)
from fim_private.counting.source import UNKNOWN, Catalogue, KnownItemsets, SizedUniverse, Universe
from fim_private.counting.work import Effort
from fim_private.errors import ParameterError, WorkLimitError, parameter
from fim_private.reading.labels import Item, Vocabulary, in_label_order
from fim_private.spectrum import SupportSpectrum
from fim_private.warehouse.purchases import StoredPurchases
from fim_private.warehouse.session import Session

if TYPE_CHECKING:
    from ibis.expr.types import Table

MOST_OCCURRENCES = 10**8  # if itemsets are counted one by one, so many in baskets at most
_ONE = ibis.literal(1, type="int64")

# Returns the weight of a cell for a unit, from how many of its baskets hold the cell, and the sum
# of that over all cells that it holds: (n,) int64 each.
Weigh = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]


def _level(scale: int) -> Weigh:
    return lambda times, total: floor_roots(scale * scale * times // total)


@dataclass(frozen=True)
class View:
    """Purchases of one part.

    Attributes:
        session: The database.
        entries: The unit, basket and item of each purchase, each once.
        count: The codes of items are below it.
        units: How many units there are.
        by_user: Whether a unit is a user.
        together: Whether the baskets of a user count as one.
    """

    session: Session
    entries: Table
    count: int
    units: int
    by_user: bool
    together: bool

    def recoded(self, codes: NDArray[np.integer], count: int, *, merges: bool) -> View:
        """Return the purchases with other codes, (codes,), below count; -1 leaves an item out.

        merges: whether two items may get one code.
        """
        items = np.flatnonzero(codes >= 0).astype(np.int64)
        table = self.session.upload({"item": items, "code": codes[items].astype(np.int64)}, "codes")
        entries = self.entries.inner_join(table, "item").select("unit", "basket", item="code")
        if merges:
            entries = entries.distinct()
        return replace(self, entries=self.session.keep(entries, "recoded"), count=count)

    @property
    def unit_items(self) -> Table:
        """Which units have which items, and in how many of their baskets: unit, item, times."""
        if self.by_user:
            return self.entries.group_by("unit", "item").aggregate(times=_.count())
        return self.entries.select("unit", "item", times=_ONE)

    def cut_to(self, count: int) -> View:
        """Return the purchases with only the first ``count`` items of each unit, by label."""
        place = ibis.dense_rank().over(group_by="unit", order_by="item")
        entries = self.entries.mutate(place=place).filter(_.place < count).drop("place")
        return replace(self, entries=entries)

    def weight_sums(self, held: Table, cells: int, weigh: Weigh) -> NDArray[np.int64]:
        """Return the sum of the weights of the units that hold each cell: (cells,).

        held: the unit, place (the cell's number) and times (how many of its baskets hold it).
        """
        session = self.session
        held = session.keep(held, "held")  # it is read twice
        totals = held.group_by("unit").aggregate(total=_.times.sum().cast("int64"))
        joined = held.inner_join(totals, "unit")
        sizes = session.numbers(
            joined.select("times", "total").distinct(), {"times": [1], "total": [1]}
        )
        weights = weigh(sizes["times"], sizes["total"])
        # The weights are uploaded, so that no database takes a root.
        table = session.upload({**sizes, "weight": weights}, "weights")
        weighted = joined.inner_join(table, ["times", "total"])
        by_place = weighted.group_by("place").aggregate(value=_.weight.sum())
        sums = session.vector(by_place, cells, dry=int(weights.max(initial=0)) * self.units)
        session.drop(held)
        return sums


@dataclass(frozen=True)
class _Items:
    """The items of purchases in a database; see `ItemSource`."""

    view: View
    label: Callable[[int], Item]

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        cut = self.view.cut_to(len(weights) - 1)
        held = cut.unit_items.select("unit", place="item", times=_ONE)
        return cut.weight_sums(held, cut.count, lambda times, total: weights[total])

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        held = self.view.unit_items.select("unit", "times", place="item")
        # Only units with more items are put in order, since that takes long.
        long = held.group_by("unit").aggregate(items=_.count()).filter(_.items > most)
        order = ibis.row_number().over(group_by="unit", order_by=[ibis.desc("times"), "place"])
        cut = held.semi_join(long, "unit").mutate(order=order).filter(_.order < most).drop("order")
        held = held.anti_join(long, "unit").union(cut)
        return self.view.weight_sums(held, self.view.count, _level(scale))

    def named(self, itemsets: Sequence[Sequence[int]]) -> list[tuple[Item, ...]]:
        return [in_label_order(map(self.label, codes)) for codes in itemsets]

    def among(self, codes: NDArray[np.integer]) -> _CandidateCounts:
        known = max(self.view.count, int(np.max(codes, initial=-1)) + 1)
        numbers = ranks_of(codes, known)
        return _CandidateCounts(self.view.recoded(numbers, len(codes), merges=False))


@dataclass(frozen=True)
class _CandidateCounts:
    """Candidates among some items; see `CandidateSource`."""

    view: View

    def pair_level_sums(self, scale: int) -> NDArray[np.int64]:
        items = self.view.count
        held = self._held(self._pairs.select("unit", "times", place="pair"))
        sums = self.view.weight_sums(held, items * items, _level(scale)).reshape(items, items)
        return sums[np.tril_indices(items, -1)]

    def level_sums(self, sets: NDArray[np.int32], scale: int) -> NDArray[np.int64]:
        return self.view.weight_sums(self._held(self._containing([sets])), len(sets), _level(scale))

    def sums(self, candidates: Candidates, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        held = self._held(self._containing(candidates)).mutate(times=_ONE)
        return self.view.weight_sums(held, len(weights) - 1, lambda times, total: weights[total])

    def units_with(self, candidates: Candidates) -> NDArray[np.int64]:
        held = self._held(self._containing(candidates))
        counted = held.group_by("unit").aggregate(number=_.count())
        by_number = counted.group_by(place=_.number).aggregate(value=_.count())
        histogram = self.view.session.vector(by_number, sum(map(len, candidates)) + 1, dry=0)
        histogram[0] = self.view.units - histogram.sum()
        return histogram

    @property
    def _rows(self) -> Table:
        """The baskets, or united users, that may contain candidates: unit, basket, item, times."""
        if self.view.together:
            return self.view.unit_items.mutate(basket=_.unit)
        return self.view.entries.mutate(times=_ONE)

    @cached_property
    def _pairs(self) -> Table:
        """The pairs of items in each basket: unit, basket, pair and times."""
        first, second = self._rows, self._rows.view()
        pairs = first.inner_join(second, [first.basket == second.basket, first.item < second.item])
        # A pair has one number. Otherwise candidates could be joined to one of its items first,
        # which takes far longer.
        pair = second.item * self.view.count + first.item
        times = ibis.least(first.times, second.times)
        pairs = pairs.select(unit=first.unit, basket=first.basket, pair=pair, times=times)
        return self.view.session.keep(pairs, "pairs")

    def _held(self, baskets: Table) -> Table:
        """Return in how many of the baskets each unit holds each place: unit, place, times."""
        if self.view.together or not self.view.by_user:
            return baskets
        return baskets.group_by("unit", "place").aggregate(times=_.times.sum().cast("int64"))

    def _containing(self, candidates: Candidates) -> Table:
        """Return the baskets, or united users, that contain a candidate: unit, place, times."""
        starts = np.cumsum([0, *map(len, candidates)])[:-1].tolist()
        return reduce(ibis.union, map(self._containing_one_size, candidates, starts))

    def _containing_one_size(self, candidates: NDArray[np.int32], start: int) -> Table:
        sets, size = candidates.astype(np.int64), candidates.shape[1]
        columns = {"item": sets[:, 0]}
        if size > 1:
            columns = {"pair": sets[:, 1] * self.view.count + sets[:, 0]}
        further = {f"i{k}": sets[:, k] for k in range(2, size)}
        places = np.arange(start, start + len(sets), dtype=np.int64)
        table = self.view.session.upload({**columns, **further, "place": places}, "candidates")
        rows = self._rows if size == 1 else self._pairs
        baskets = rows.inner_join(table, [*columns])
        for item in further:
            rows = self._rows.view().select("basket", more=_.times, **{item: _.item})
            baskets = baskets.inner_join(rows, ["basket", item])
            baskets = baskets.mutate(times=ibis.least(_.times, _.more)).drop("more")
        return baskets.select("unit", "place", "times")


@dataclass(frozen=True)
class _DatabaseCounter:
    """Counts itemsets of one size, >= 2, by listing those in baskets, within a limit; see
    `Counter`.
    """

    _view: View
    _size: int
    _effort: Effort

    @cached_property
    def item_supports(self) -> NDArray[np.int64]:
        by_item = self._view.entries.group_by(place=_.item).aggregate(value=_.unit.nunique())
        return self._view.session.vector(by_item, self._view.count, dry=self._view.units)

    @cached_property
    def most_work(self) -> int:
        by_basket = self._view.entries.group_by("basket").aggregate(items=_.count())
        by_length = by_basket.group_by("items").aggregate(baskets=_.count())
        counts = self._view.session.numbers(by_length, {"items": [], "baskets": []})
        lengths = zip(counts["items"].tolist(), counts["baskets"].tolist(), strict=True)
        return sum(baskets * math.comb(length, self._size) for length, baskets in lengths)

    def top(self, ceiling: int | None, limit: int | None) -> Top:
        by_support = self._listed.group_by("support").aggregate(number=_.count())
        dry = {"support": [self._view.units], "number": [1]}
        counts = self._view.session.numbers(by_support, dry)
        levels = zip(counts["support"].tolist(), counts["number"].tolist(), strict=True)
        below = [level for level in levels if ceiling is None or level[0] < ceiling]
        return Top(sorted(below, reverse=True), 1)

    def locate(self, support: int, index: int) -> list[int]:
        itemset = self._between(support, support).limit(1, offset=index)
        return [int(code) for code in self._read(itemset)[0][0]]

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self._read(self._between(lowest, highest))

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return rank_order(self.item_supports, 1)

    @property
    def _ranks(self) -> list[str]:
        return [f"r{k}" for k in range(self._size)]

    @cached_property
    def _listed(self) -> Table:
        """The itemsets in baskets, by ranks r0 < r1 < …, with their supports."""
        if self.most_work > min(MOST_OCCURRENCES, self._effort.max_work):
            raise WorkLimitError(
                f"{parameter('engine')} sql counts each itemset of a selection, up to "
                f"{MOST_OCCURRENCES:,} in baskets, "
                f"and here are more: use {parameter('mechanism')} levelwise, or "
                f"{parameter('engine')} local"
            )
        session, order = self._view.session, self._order
        table = session.upload({"item": order, "place": np.arange(len(order))}, "ranks")
        ranked = self._view.entries.inner_join(table, "item").select("unit", "basket", r0="place")
        ranked = itemsets = session.keep(ranked, "ranked")
        for before, rank in pairwise(self._ranks):
            longer = ranked.view().select(own="basket", **{rank: "r0"})
            same_basket = itemsets.basket == longer.own
            itemsets = itemsets.inner_join(longer, [same_basket, itemsets[before] < longer[rank]])
            itemsets = itemsets.drop("own")
        if self._view.by_user:
            itemsets = itemsets.select("unit", *self._ranks).distinct()
        supports = itemsets.group_by(self._ranks).aggregate(support=_.count())
        return session.keep(supports, "supports")

    def _between(self, lowest: int, highest: int) -> Table:
        return self._listed.filter(_.support.between(lowest, highest)).order_by(self._ranks[::-1])

    def _read(self, itemsets: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the codes, (m, size), and the supports, (m,), of listed itemsets."""
        dry = {rank: [place] for place, rank in enumerate(self._ranks)}
        columns = self._view.session.numbers(itemsets, {**dry, "support": [self._view.units]})
        ranks = np.column_stack([columns[rank] for rank in self._ranks])
        return self._order[ranks], columns["support"]


@dataclass(frozen=True)
class DatabaseSource:
    """Purchases in a database, of one part; see `SupportSource`."""

    view: View
    vocabulary: Vocabulary
    by_user: bool
    units: int
    missing_user: str | None
    effort: Effort

    @classmethod
    def of(
        cls,
        purchases: StoredPurchases,
        segment: int,
        missing_user: str | None,
        effort: Effort,
        *,
        together: bool,
    ) -> DatabaseSource:
        """Return the source of a segment or period.

        together: whether the baskets of a user count as one.
        """
        entries = purchases.entries.filter(_.part == segment).select("unit", "basket", "item")
        units, by_user = int(purchases.units[segment]), purchases.by_user
        view = View(purchases.session, entries, len(purchases.items), units, by_user, together)
        return cls(view, purchases.items, by_user, units, missing_user, effort)

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of one size or several.

        See `SupportSource.spectrum`.
        """
        items = self.items(universe)
        view = items.view
        if view.together:  # the baskets of a user are one
            entries = view.entries.select("unit", "item", basket=_.unit).distinct()
            view = replace(view, together=False, entries=entries)
        if isinstance(universe, SizedUniverse):
            view = view.cut_to(universe.count)
        items, listed = replace(items, view=view), isinstance(universe, Catalogue)

        def of_size(size: int) -> SupportSpectrum:
            counter = _DatabaseCounter(view, max(size, 2), self.effort)
            return on_one_machine.spectrum_of_items(items, view.count, size, counter, listed=listed)

        return on_one_machine.spectrum_of_sizes(size, of_size)

    def items(self, universe: Universe | KnownItemsets = UNKNOWN) -> _Items:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        if not isinstance(universe, KnownItemsets | Catalogue):
            return _Items(self.view, self.vocabulary.label)
        listed = on_one_machine.ListedFirst.of(universe, self.vocabulary.codes_in)
        label = partial(listed.label, label_of=self.vocabulary.label)
        return _Items(self.view.recoded(listed.codes, listed.total, merges=True), label)

    def capped(self, most_items: int, most_baskets: int) -> DatabaseSource:
        """Raise ParameterError: a database does not draw which baskets of a user count."""
        raise ParameterError(
            f"leave out {parameter('max_basket')}: {parameter('engine')} sql does not cut baskets"
        )
