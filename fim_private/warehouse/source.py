"""The source in a database: weighted sums, candidates, and itemsets by a histogram of their
supports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import accumulate, pairwise

import ibis
import numpy as np
from ibis import _
from ibis.expr.types import Table
from numpy.typing import NDArray

from fim_private.counting.counter import Candidates, Counter, Top, rank_order, ranks_of
from fim_private.counting.source import (
    UNKNOWN,
    Catalogue,
    ItemCodes,
    KnownItemsets,
    ListedFirst,
    SizedUniverse,
    Universe,
    spectrum_of_items,
)
from fim_private.counting.work import Effort, Int32, Int64
from fim_private.errors import ParameterError, WorkLimitError, parameter
from fim_private.reading.labels import Item, Vocabulary, in_label_order
from fim_private.spectrum import Items, SupportSpectrum
from fim_private.warehouse.purchases import StoredPurchases
from fim_private.warehouse.session import Session

MOST_OCCURRENCES = 10**8  # if itemsets are counted one by one, so many in baskets at most
_ONE = ibis.literal(1, type="int8")
_TIMES = _.times.sum().cast("int64")


@dataclass(frozen=True)
class View:
    """The purchases of one part, and their items; see `ItemSource`.

    Attributes:
        session: The database.
        entries: The unit, basket and item of each purchase, each once.
        count: The codes of items are below it.
        units: How many units there are.
        by_user: Whether a unit is a user.
        together: Whether the baskets of a user count as one.
        label: Returns the label of a code.
    """

    session: Session
    entries: Table
    count: int
    units: int
    by_user: bool
    together: bool
    label: Callable[[int], Item]

    def recoded(self, codes: Int32, count: int, *, merges: bool) -> View:
        """Return the purchases with other codes, (codes,), below count; -1 leaves an item out.

        merges: whether two items may get one code.
        """
        items = np.flatnonzero(codes >= 0)
        table = self.session.upload({"item": items.astype(np.int32), "code": codes[items]}, "codes")
        entries = self.entries.inner_join(table, "item").select("unit", "basket", item="code")
        if merges:
            entries = entries.distinct()
        if self.by_user:
            entries = self.session.keep(entries, "recoded")
        else:  # a unit is a basket
            entries = self.session.keep(entries.drop("unit"), "recoded").mutate(unit=_.basket)
        return replace(self, entries=entries, count=count)

    @cached_property
    def unit_items(self) -> Table:
        """Which units have which items, and in how many of their baskets: unit, item, times."""
        if not self.by_user:
            return self.entries.select("unit", "item", times=_ONE)
        counted = self.entries.group_by("unit", "item").aggregate(times=_.count())
        return self.session.keep(counted, "times")

    def cut_to(self, count: int) -> View:
        """Return the purchases with only the first ``count`` items of each unit, by label."""
        if count >= self.count:  # no unit has more
            return self
        place = ibis.dense_rank().over(group_by="unit", order_by="item")
        entries = self.entries.mutate(place=place).filter(_.place < count).drop("place")
        return replace(self, entries=entries)

    def sums_by_total(self, held: Table, cells: int, weights: Int64) -> Int64:
        """Return the sum of the weights of the units that hold each cell: (cells,).

        held: the unit and the place (the cell's number), each pair of them once.
        weights: (most + 1,) the weight of each cell of a unit that holds so many in all.
        """
        if (weights[1:] == 1).all():  # then no unit's total is needed
            return self.summed(held.mutate(weight=_ONE), cells, 1)
        uploaded = {"total": np.arange(len(weights)), "weight": weights.astype(np.float64)}
        table = self.session.upload(uploaded, "weights")
        totals = held.group_by("unit").aggregate(total=_.count()).inner_join(table, "total")
        return self.summed(held.inner_join(totals, "unit"), cells, int(weights.max(initial=0)))

    def summed(self, weighted: Table, cells: int, most: int) -> Int64:
        """Return the sum of the weights, at most ``most`` each, at each place: (cells,).

        Weights that differ are floats, which are added faster, and exactly as long as a sum is
        below 2^53.
        """
        by_place = weighted.group_by("place").aggregate(value=_.weight.sum().cast("int64"))
        return self.session.vector(by_place, cells, dry=most * self.units)

    def sums(self, weights: Int64) -> Int64:
        """Return the weighted sum of each item; see `ItemSource.sums`."""
        cut = self.cut_to(len(weights) - 1)
        return cut.sums_by_total(cut.unit_items.select("unit", place="item"), cut.count, weights)

    def level_sums(self, scale: int, most: int) -> Int64:
        """Return the level sum of each item; see `ItemSource.level_sums`."""
        held = self.unit_items.rename(place="item")
        counted = held.group_by("unit").aggregate(items=_.count(), total=_TIMES)
        counted = self.session.keep(counted, "totals")
        # Only units with more items are put in order, since that takes long.
        long = held.semi_join(counted.filter(_.items > most), "unit")
        order = ibis.row_number().over(group_by="unit", order_by=[ibis.desc("times"), "place"])
        beyond = long.mutate(order=order).filter(_.order >= most).drop("order")
        beyond = self.session.keep(beyond, "beyond")
        left_out = beyond.group_by("unit").aggregate(left_out=_TIMES)
        totals = counted.left_join(left_out, "unit").select(
            "unit", total=_.total - _.left_out.fill_null(0)
        )
        cut = held.anti_join(beyond, ["unit", "place"])
        weighted = cut.inner_join(self.weights_of(totals, scale), "unit")
        if self.by_user:
            weighted = _with_level_weights(weighted, scale)
        sums = self.summed(weighted, self.count, scale)
        self.session.drop(counted)
        self.session.drop(beyond)
        return sums

    def weights_of(self, totals: Table, scale: int) -> Table:
        """Return the totals of users, or the weight that each cell of a basket has in a level sum.

        totals: unit and total, the sum of times over all cells that it holds.
        """
        if self.by_user:
            return totals
        return _with_level_weights(totals.mutate(times=_ONE), scale).select("unit", "weight")

    def named(self, itemsets: Sequence[Sequence[int]]) -> list[Items]:
        """Return the labels of itemsets; see `ItemSource.named`."""
        return [in_label_order(map(self.label, codes)) for codes in itemsets]

    def among(self, codes: NDArray[np.integer]) -> _CandidateCounts:
        """Return the same purchases restricted to these items; see `ItemSource.among`."""
        known = max(self.count, int(np.max(codes, initial=-1)) + 1)
        return _CandidateCounts(self.recoded(ranks_of(codes, known), len(codes), merges=False))


def _with_level_weights(held: Table, scale: int) -> Table:
    """Return the cells with their weights in a level sum: floor(scale · √(times / total)), exactly.

    held: times (how many of a unit's baskets hold the cell) and total (the sum of times over all
    cells that the unit holds).
    """
    square = _.times * (scale * scale)
    rooted = held.mutate(square=square, root=(square / _.total).sqrt().round().cast("int64"))
    # Databases round differently, so whole numbers tell whether the root was rounded up. However
    # a database takes roots, no weight is above the true one.
    lower = _.root - 1
    weight = ibis.cases(
        (_.root * _.root * _.total <= _.square, _.root),
        (lower * lower * _.total <= _.square, lower),
        else_=0,
    )
    return rooted.select(*held.columns, weight=weight.cast("float64"))


# Candidates with their places in a table, and that table of who holds them: unit, place, times.
_LookedFor = tuple[dict[ItemCodes, int], Table]


@dataclass(frozen=True)
class _CandidateCounts:
    """Candidates among some items; see `CandidateSource`."""

    view: View
    _looked_for: list[_LookedFor] = field(default_factory=list)

    def pair_level_sums(self, scale: int) -> Int64:
        view, items = self.view, self.view.count
        weights = view.weights_of(self._pair_totals, scale)
        rows = self._keep(self._rows.inner_join(weights, "unit"))
        pairs = self._pairs(rows)
        if self._counts_baskets:
            pairs = pairs.group_by("unit", "place").aggregate(times=_TIMES, total=_.total.max())
        if view.by_user:
            pairs = _with_level_weights(pairs, scale)
        sums = view.summed(pairs, items * (items - 1) // 2, scale)
        view.session.drop(rows)
        return sums

    def level_sums(self, sets: Int32, scale: int) -> Int64:
        held = self._held([sets])
        totals = held.group_by("unit").aggregate(total=_TIMES)
        weighted = _with_level_weights(held.inner_join(totals, "unit"), scale)
        return self.view.summed(weighted, len(sets), scale)

    def sums(self, candidates: Candidates, weights: Int64) -> Int64:
        return self.view.sums_by_total(self._held(candidates), len(weights) - 1, weights)

    def units_with(self, candidates: Candidates) -> Int64:
        counted = self._held(candidates).group_by("unit").aggregate(number=_.count())
        by_number = counted.group_by(place=_.number).aggregate(value=_.count())
        histogram = self.view.session.vector(by_number, sum(map(len, candidates)) + 1, dry=0)
        histogram[0] = self.view.units - histogram.sum()
        return histogram

    @property
    def _counts_baskets(self) -> bool:
        """Whether a unit holds a candidate as often as its baskets do."""
        return self.view.by_user and not self.view.together

    @property
    def _rows(self) -> Table:
        """The baskets, or united users, that may contain candidates: unit, basket, item, times."""
        if self.view.together:
            return self.view.unit_items.mutate(basket=_.unit)
        return self.view.entries.mutate(times=_ONE)

    @property
    def _pair_totals(self) -> Table:
        """The sum of times over the pairs in each unit's baskets: unit and total, which is > 0."""
        basket = ["unit", "basket"] if self.view.by_user else ["unit"]
        # An item makes a pair with each one before it, as often as it occurs itself.
        if self.view.together:
            before = ibis.row_number().over(group_by="unit", order_by=ibis.desc("times"))
            baskets = self._rows.mutate(pairs=_.times * before)
        else:
            baskets = self.view.entries.group_by(basket).aggregate(items=_.count())
            baskets = baskets.mutate(pairs=(_.items * (_.items - 1) / 2).cast("int64"))
        if self.view.by_user:
            totals = baskets.group_by("unit").aggregate(total=_.pairs.sum().cast("int64"))
        else:
            totals = baskets.select("unit", total="pairs")
        return totals.filter(_.total > 0)

    def _held(self, candidates: Candidates) -> Table:
        """Return which units have which candidates, and how often: unit, place and times."""
        itemsets = [tuple(itemset) for sets in candidates for itemset in sets.tolist()]
        with_all = (before for before in self._looked_for if before[0].keys() >= {*itemsets})
        places, held = next(with_all, None) or self._look_for(candidates, itemsets)
        old = np.array([places[itemset] for itemset in itemsets], dtype=np.int32)
        new = np.arange(len(old), dtype=np.int32)
        table = self.view.session.upload({"place": old, "new": new}, "places")
        return held.inner_join(table, "place").select("unit", "times", place="new")

    def _look_for(self, candidates: Candidates, itemsets: list[ItemCodes]) -> _LookedFor:
        """Make the table of who holds which of these itemsets, the candidates in their order."""
        session = self.view.session
        codes = np.unique(np.concatenate([sets.ravel() for sets in candidates]))
        items = session.upload({"item": codes}, "items")
        rows = self._keep(self._rows.semi_join(items, "item"))
        starts = accumulate(map(len, candidates), initial=0)
        baskets = reduce(ibis.union, map(partial(self._containing, rows), candidates, starts))
        if self._counts_baskets:
            baskets = baskets.group_by("unit", "place").aggregate(times=_TIMES)
        held = session.keep(baskets, "held")
        session.drop(rows)
        places = {itemset: place for place, itemset in enumerate(itemsets)}
        if session.queries is None:  # a dry run shows every query that there may be
            self._looked_for.append((places, held))
        return places, held

    def _containing(self, rows: Table, candidates: Int32, start: int) -> Table:
        """Return the baskets, or united users, that contain a candidate: unit, place, times.

        rows: those with items of candidates.
        """
        sets = candidates.astype(np.int64)
        beyond_pair = range(2, candidates.shape[1])
        columns = {f"i{place}": candidates[:, place] for place in beyond_pair}
        columns["place"] = np.arange(start, start + len(sets), dtype=np.int32)
        key, baskets = "item", rows
        if candidates.shape[1] == 1:
            columns = {"item": candidates[:, 0], **columns}
        else:
            columns["pair"] = sets[:, 1] * (sets[:, 1] - 1) // 2 + sets[:, 0]
            key, baskets = "pair", self._pairs(rows).rename(pair="place")
        baskets = baskets.inner_join(self.view.session.upload(columns, "candidates"), key)
        for place in beyond_pair:
            further = rows.view().select({"basket": _.basket, "more": _.times, f"i{place}": _.item})
            baskets = baskets.inner_join(further, ["basket", f"i{place}"])
            baskets = baskets.mutate(times=ibis.least(_.times, _.more)).drop("more")
        unit = "unit" if self.view.by_user else "basket"
        return baskets.select("place", "times", unit=unit)

    def _keep(self, rows: Table) -> Table:
        """Keep rows. A unit that is the basket takes no room."""
        if not self.view.by_user:
            rows = rows.drop("unit")
        return self.view.session.keep(rows, "rows")

    def _pairs(self, rows: Table) -> Table:
        """Return the pairs of items in each basket, by their numbers as places, with their times.

        The other columns of the rows come along.
        """
        item = _.item.cast("int64")
        # A pair has one number, which is this and its smaller item: the more frequent its items,
        # the lower it is, so most sums are near each other in memory. Without numbers candidates
        # could be joined to one of their items first, which takes far longer.
        pairs_before = (item * (item - 1) / 2).cast("int64")
        larger, smaller = rows.mutate(pairs_before=pairs_before), rows.view()
        in_one_basket = [larger.basket == smaller.basket, larger.item > smaller.item]
        unchanged = [larger[name] for name in rows.columns if name not in ("item", "times")]
        pair = larger.pairs_before + smaller.item
        times = ibis.least(larger.times, smaller.times)
        return larger.inner_join(smaller, in_one_basket).select(*unchanged, place=pair, times=times)


@dataclass(frozen=True)
class _DatabaseCounter(Counter):
    """Counts itemsets of one size, >= 2, by listing those in baskets, within a limit; see
    `Counter`.
    """

    _view: View
    _effort: Effort
    _size: int

    @cached_property
    def item_supports(self) -> Int64:
        by_item = self._view.entries.group_by(place=_.item).aggregate(value=_.unit.nunique())
        return self._view.session.vector(by_item, self._view.count, dry=self._view.units)

    @cached_property
    def most_work(self) -> int:
        by_basket = self._view.entries.group_by("basket").aggregate(items=_.count())
        by_length = by_basket.group_by("items").aggregate(baskets=_.count())
        counts = self._view.session.numbers(by_length, [[], []])
        return sum(baskets * math.comb(items, self._size) for items, baskets in counts.T.tolist())

    def top(self, ceiling: int | None, limit: int | None) -> Top:
        by_support = self._listed.group_by("support").aggregate(number=_.count())
        counts = self._view.session.numbers(by_support, [[self._view.units], [1]])
        below = counts[:, counts[0] < (ceiling or math.inf)]
        return Top(sorted(map(tuple, below.T.tolist()), reverse=True), 1)

    def locate(self, support: int, index: int) -> list[int]:
        codes, _ = self._read(self._between(support, support).limit(1, offset=index))
        return [int(code) for code in codes[0]]

    def itemsets(self, lowest: int, highest: int) -> tuple[Int64, Int64]:
        return self._read(self._between(lowest, highest))

    @cached_property
    def _order(self) -> Int64:
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
                f"{MOST_OCCURRENCES:,} in baskets, and here are more: use {parameter('mechanism')} "
                f"levelwise, or {parameter('engine')} local"
            )
        session, order = self._view.session, self._order
        table = session.upload({"item": order, "place": np.arange(len(order))}, "ranks")
        ranked = self._view.entries.inner_join(table, "item").select("unit", "basket", r0="place")
        ranked = itemsets = session.keep(ranked, "ranked")
        for before, rank in pairwise(self._ranks):
            longer = ranked.view().select({"own": "basket", rank: "r0"})
            same_basket = itemsets.basket == longer.own
            itemsets = itemsets.inner_join(longer, [same_basket, itemsets[before] < longer[rank]])
            itemsets = itemsets.drop("own")
        if self._view.by_user:
            itemsets = itemsets.select("unit", *self._ranks).distinct()
        return session.keep(itemsets.group_by(self._ranks).aggregate(support=_.count()), "supports")

    def _between(self, lowest: int, highest: int) -> Table:
        return self._listed.filter(_.support.between(lowest, highest)).order_by(self._ranks[::-1])

    def _read(self, itemsets: Table) -> tuple[Int64, Int64]:
        """Return the codes, (m, size), and the supports, (m,), of listed itemsets."""
        dry = [*range(self._size), self._view.units]
        *ranks, supports = self._view.session.numbers(itemsets, [[number] for number in dry])
        return self._order[np.transpose(ranks)], supports


@dataclass(frozen=True)
class DatabaseSource:
    """Purchases in a database, of one part; see `SupportSource`."""

    view: View
    vocabulary: Vocabulary
    effort: Effort

    @classmethod
    def of(
        cls,
        purchases: StoredPurchases,
        segment: int,
        effort: Effort,
        *,
        together: bool,
    ) -> DatabaseSource:
        """Return the source of a segment or period.

        together: whether the baskets of a user count as one.
        """
        entries = purchases.entries.filter(_.part == segment).select("unit", "basket", "item")
        items, by_user, units = purchases.items, purchases.by_user, int(purchases.units[segment])
        view = View(purchases.session, entries, len(items), units, by_user, together, items.label)
        return cls(view, items, effort)

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user; see `SupportSource.by_user`."""
        return self.view.by_user

    @property
    def units(self) -> int:
        """How many units there are; see `SupportSource.units`."""
        return self.view.units

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of one size or several.

        See `SupportSource.spectrum`.
        """
        view = self.items(universe)
        if view.together:  # the baskets of a user are one
            entries = view.entries.select("unit", "item", basket=_.unit).distinct()
            view = replace(view, together=False, entries=entries)
        if isinstance(universe, SizedUniverse):
            view = view.cut_to(universe.count)
        return spectrum_of_items(
            view, view.count, size, universe, partial(_DatabaseCounter, view, self.effort)
        )

    def items(self, universe: Universe | KnownItemsets = UNKNOWN) -> View:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        if not isinstance(universe, KnownItemsets | Catalogue):
            return self.view
        listed = ListedFirst.of(universe, self.vocabulary.codes_in)
        recoded = self.view.recoded(listed.codes, listed.total, merges=True)
        return replace(recoded, label=partial(listed.label, label_of=self.vocabulary.label))

    def capped(self, most_items: int, most_baskets: int) -> DatabaseSource:
        """Raise ParameterError: a database does not draw which baskets of a user count."""
        raise ParameterError(
            f"leave out {parameter('max_basket')}: {parameter('engine')} sql does not cut baskets"
        )
