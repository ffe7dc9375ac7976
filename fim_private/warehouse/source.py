"""The source in a database: weighted sums, candidates, and itemsets by a histogram of their
supports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any

import ibis
import numpy as np
from ibis import _
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
from fim_private.errors import ParameterError, WorkLimitError, parameter
from fim_private.reading.labels import Item, Vocabulary, in_label_order
from fim_private.spectrum import SupportSpectrum
from fim_private.warehouse.purchases import Stored
from fim_private.warehouse.session import Session

MOST_OCCURRENCES = 10**8  # so many itemsets in baskets are listed at most, where each is counted
_ONE: Any = ibis.literal(1, type="int64")

# From how often a unit has a thing, and the sum of that over all of its things, to its weight: (n,)
# int64 each.
Weigh = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]


def _level(scale: int) -> Weigh:
    return lambda times, total: floor_roots(scale * scale * times // total)


@dataclass(frozen=True)
class View:
    """Purchases of one part. entries: unit, basket, item, each once. count: codes are below it.
    units: how many.
    """

    session: Session
    entries: Any
    count: int
    units: int
    by_user: bool
    together: bool

    def recoded(self, codes: NDArray[np.integer], count: int, *, merges: bool) -> View:
        """Return these with other codes, (codes,), below count; -1 leaves an item out. merges: two
        may become one.
        """
        stay = np.flatnonzero(codes >= 0).astype(np.int64)
        table = self.session.upload({"item": stay, "code": codes[stay].astype(np.int64)}, "codes")
        found = self.entries.inner_join(table, "item").select("unit", "basket", item="code")
        return replace(
            self,
            entries=self.session.keep(found.distinct() if merges else found, "recoded"),
            count=count,
        )

    @property
    def of_units(self) -> Any:
        """Which units have which items, and in how many of their baskets: unit, item, times."""
        by_user = self.entries.group_by("unit", "item").aggregate(times=_.count())
        return by_user if self.by_user else self.entries.select("unit", "item", times=_ONE)

    def cut_to(self, count: int) -> View:
        """Return these with the first ``count`` items of each unit only, in label order."""
        place = ibis.dense_rank().over(group_by="unit", order_by="item")
        return replace(
            self, entries=self.entries.mutate(place=place).filter(_.place < count).drop("place")
        )

    def weighed(self, held: Any, cells: int, weigh: Weigh) -> NDArray[np.int64]:
        """Return the sum of weights over the units that hold a thing: (cells,). held: unit, place,
        times.
        """
        session = self.session
        held = session.keep(held, "held")  # it is read twice
        totals = held.group_by("unit").aggregate(total=_.times.sum().cast("int64"))
        joined = held.inner_join(totals, "unit")
        sizes = session.numbers(
            joined.select("times", "total").distinct(), {"times": [1], "total": [1]}
        )
        weights = weigh(sizes["times"], sizes["total"])
        # so that no database takes a root
        table = session.upload({**sizes, "weight": weights}, "weights")
        found = (
            joined.inner_join(table, ["times", "total"])
            .group_by("place")
            .aggregate(value=_.weight.sum())
        )
        sums = session.vector(found, cells, dry=int(weights.max(initial=0)) * self.units)
        session.drop(held)
        return sums


@dataclass(frozen=True)
class _Items:
    """The items of purchases in a database; see `ItemSource`."""

    view: View
    label: Callable[[int], Item]

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        once = self.view.cut_to(len(weights) - 1).of_units.select("unit", place="item", times=_ONE)
        return self.view.weighed(
            once, self.view.count, lambda times, total: np.asarray(weights)[total]
        )

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        held = self.view.of_units.select("unit", "times", place="item")
        # Only units with more items are put in order, which takes long.
        long = held.group_by("unit").aggregate(items=_.count()).filter(_.items > most)
        order = ibis.row_number().over(group_by="unit", order_by=[ibis.desc("times"), "place"])
        cut = held.semi_join(long, "unit").mutate(order=order).filter(_.order < most).drop("order")
        return self.view.weighed(
            held.anti_join(long, "unit").union(cut), self.view.count, _level(scale)
        )

    def named(self, itemsets: Sequence[Sequence[int]]) -> list[tuple[Item, ...]]:
        return [in_label_order(map(self.label, codes)) for codes in itemsets]

    def among(self, codes: NDArray[np.integer]) -> _CandidateCounts:
        number = ranks_of(
            np.asarray(codes), max(self.view.count, int(np.max(codes, initial=-1)) + 1)
        )
        return _CandidateCounts(self.view.recoded(number, len(codes), merges=False))


@dataclass(frozen=True)
class _CandidateCounts:
    """Candidates among some items; see `CandidateSource`."""

    view: View

    def pair_level_sums(self, scale: int) -> NDArray[np.int64]:
        items = self.view.count
        held = self._held(self._pairs.select("unit", "times", place="pair"))
        return self.view.weighed(held, items * items, _level(scale)).reshape(items, items)[
            np.tril_indices(items, -1)
        ]

    def level_sums(self, sets: NDArray[np.int32], scale: int) -> NDArray[np.int64]:
        return self.view.weighed(self._held(self._containing([sets])), len(sets), _level(scale))

    def sums(self, candidates: Candidates, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        once = self._held(self._containing(candidates)).mutate(times=_ONE)
        return self.view.weighed(
            once, len(weights) - 1, lambda times, total: np.asarray(weights)[total]
        )

    def units_with(self, candidates: Candidates) -> NDArray[np.int64]:
        each = self._held(self._containing(candidates)).group_by("unit").aggregate(number=_.count())
        by_number = each.group_by(place=_.number).aggregate(value=_.count())
        histogram = self.view.session.vector(by_number, sum(map(len, candidates)) + 1, dry=0)
        histogram[0] = self.view.units - histogram.sum()
        return histogram

    @property
    def _rows(self) -> Any:
        """What has to hold all items of a candidate: unit, basket, item and times."""
        view = self.view
        return (
            view.of_units.mutate(basket=_.unit)
            if view.together
            else view.entries.mutate(times=_ONE)
        )

    @cached_property
    def _pairs(self) -> Any:
        """Each two items of each basket: unit, basket, pair and times."""
        first, second = self._rows, self._rows.view()
        pairs = first.inner_join(second, [first.basket == second.basket, first.item < second.item])
        # A pair has one number: candidates could else be joined to one of its items first, which
        # takes far longer.
        pair, times = (
            second.item * self.view.count + first.item,
            ibis.least(first.times, second.times),
        )
        pairs = pairs.select(unit=first.unit, basket=first.basket, pair=pair, times=times)
        return self.view.session.keep(pairs, "pairs")

    def _held(self, found: Any) -> Any:
        """Return how often a unit holds a place, of one row for each basket that does."""
        several = self.view.by_user and not self.view.together
        return (
            found.group_by("unit", "place").aggregate(times=_.times.sum().cast("int64"))
            if several
            else found
        )

    def _containing(self, candidates: Candidates) -> Any:
        """Return each basket, or united user, that contains a candidate: unit, place, times."""
        starts = np.cumsum([0, *map(len, candidates)])
        found = [
            self._of_size(np.asarray(sets), int(start))
            for sets, start in zip(candidates, starts, strict=False)
        ]
        return reduce(lambda one, other: one.union(other), found)

    def _of_size(self, candidates: NDArray[np.integer], start: int) -> Any:
        sets, size, rows = candidates.astype(np.int64), candidates.shape[1], self._rows
        first = (
            {"item": sets[:, 0]}
            if size == 1
            else {"pair": sets[:, 1] * self.view.count + sets[:, 0]}
        )
        others = {f"i{k}": sets[:, k] for k in range(2, size)}
        places = np.arange(start, start + len(sets), dtype=np.int64)
        wanted = self.view.session.upload({**first, **others, "place": places}, "candidates")
        found = (rows if size == 1 else self._pairs).inner_join(wanted, [*first])
        for own in others:
            found = found.inner_join(
                rows.view().select("basket", more="times", **{own: "item"}), ["basket", own]
            )
            found = found.mutate(times=ibis.least(found.times, found.more)).drop("more")
        return found.select("unit", "place", "times")


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
        each = self._view.entries.group_by("basket").aggregate(items=_.count())
        found = self._view.session.numbers(
            each.group_by("items").aggregate(baskets=_.count()), {"items": [], "baskets": []}
        )
        lengths = zip(found["items"].tolist(), found["baskets"].tolist(), strict=True)
        return sum(number * math.comb(length, self._size) for length, number in lengths)

    def top(self, ceiling: int | None, wanted: int | None) -> Top:
        by_support = self._listed.group_by("support").aggregate(number=_.count())
        found = self._view.session.numbers(
            by_support, {"support": [self._view.units], "number": [1]}
        )
        levels = sorted(
            zip(found["support"].tolist(), found["number"].tolist(), strict=True), reverse=True
        )
        return Top([one for one in levels if ceiling is None or one[0] < ceiling], 1)

    def locate(self, support: int, index: int) -> list[int]:
        return [
            int(code)
            for code in self._named(self._between(support, support).limit(1, offset=index))[0][0]
        ]

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self._named(self._between(lowest, highest))

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return rank_order(self.item_supports, 1)

    @property
    def _ranks(self) -> list[str]:
        return [f"r{k}" for k in range(self._size)]

    @cached_property
    def _listed(self) -> Any:
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
        ranked = found = session.keep(ranked, "ranked")
        for k in range(1, self._size):
            other = ranked.view().select(own="basket", **{f"r{k}": "r0"})
            found = found.inner_join(
                other, [found.basket == other.own, found[f"r{k - 1}"] < other[f"r{k}"]]
            )
            found = found.drop("own")
        held = found.select("unit", *self._ranks).distinct() if self._view.by_user else found
        return session.keep(held.group_by(self._ranks).aggregate(support=_.count()), "supports")

    def _between(self, lowest: int, highest: int) -> Any:
        return self._listed.filter(_.support.between(lowest, highest)).order_by(self._ranks[::-1])

    def _named(self, listed: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        dry = {rank: [place] for place, rank in enumerate(self._ranks)}
        found = self._view.session.numbers(listed, {**dry, "support": [self._view.units]})
        return self._order[np.column_stack([found[own] for own in self._ranks])], found["support"]


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
        cls, kept: Stored, part: int, missing_user: str | None, effort: Effort, *, together: bool
    ) -> DatabaseSource:
        """Return the source of a part. together: whether the baskets of a user count so."""
        entries, units = (
            kept.entries.filter(_.part == part).select("unit", "basket", "item"),
            int(kept.units[part]),
        )
        view = View(kept.session, entries, len(kept.items), units, kept.by_user, together)
        return cls(view, kept.items, kept.by_user, units, missing_user, effort)

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of that size, or of several; see
        `SupportSource.spectrum`.
        """
        items = self.items(universe)
        view = items.view
        if view.together:  # the baskets of a user are one
            view = replace(
                view,
                together=False,
                entries=view.entries.select("unit", "item", basket=_.unit).distinct(),
            )
        view = view.cut_to(universe.count) if isinstance(universe, SizedUniverse) else view
        items, listed = replace(items, view=view), isinstance(universe, Catalogue)

        def of_size(one: int) -> SupportSpectrum:
            counting = _DatabaseCounter(view, max(one, 2), self.effort)
            counter: Counter = ItemCounter(counting, 1) if one == 1 else counting
            locate = partial(on_one_machine.located, counter)
            return on_one_machine.occurring_or_listed(
                items, view.count, one, counter, locate, listed=listed
            )

        return on_one_machine.spectrum_of_sizes(size, of_size)

    def items(self, universe: Universe | KnownItemsets = UNKNOWN) -> _Items:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        if not isinstance(universe, KnownItemsets | Catalogue):
            return _Items(self.view, self.vocabulary.label)
        listed = on_one_machine.ListedFirst.of(universe, self.vocabulary.codes_in)
        label = partial(listed.label, own=self.vocabulary.label)
        return _Items(self.view.recoded(listed.codes, listed.total, merges=True), label)

    def capped(self, most_items: int, most_baskets: int) -> DatabaseSource:
        """Refused: which baskets of a user count is not drawn in a database."""
        raise ParameterError(
            f"leave out {parameter('max_basket')}: {parameter('engine')} sql does not cut baskets"
        )
