"""Shards by rank together count what one counter counts, in the same order, by either implementation."""

from __future__ import annotations

from collections import Counter as Tally
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_private.counting import COUNTERS, Effort
from fim_private.counting.counter import Shard, ShardCounter, rank_order, ranks_of
from fim_private.counting.source import counter_for, shard_counter
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions

baskets_of = st.lists(st.sets(st.integers(0, 9), max_size=8).map(sorted), max_size=40)
each_counter = pytest.mark.parametrize("name", COUNTERS)


def purchases(baskets: list[list[int]], users: int | None) -> Transactions:
    if users is None:
        return read_transactions(baskets)
    rows = [(basket % users, basket, item) for basket, items in enumerate(baskets) for item in items]
    columns = zip(*rows, strict=True) if rows else [[], [], []]
    table = pa.table([pa.array(list(values), pa.int64()) for values in columns], ["user", "basket", "item"])
    return read_transactions(table, user="user", basket="basket", item="item")


def shards(data: Transactions, cuts: list[int], size: int, name: str) -> tuple[list[ShardCounter], np.ndarray]:
    """One counter for each range of ranks, each of nothing but the entries that it needs."""
    supports = counter_for(data, size, 1).item_supports
    order = rank_order(supports, 1)
    rank = ranks_of(order, len(supports))
    ranks = [sorted(rank[data.items[slice(*data.offsets[row : row + 2])]].tolist()) for row in range(data.stored)]
    bounds = sorted({0, len(order), *(cut for cut in cuts if cut < len(order))})
    made = []
    for low, high in pairwise(bounds):
        starts = np.arange(data.units + 1) if data.unit_offsets is None else data.unit_offsets
        units = [
            [[one for one in own if one < high] for own in baskets if any(low <= one < high for one in own)]
            for baskets in ([ranks[row] for row in range(*starts[unit : unit + 2])] for unit in range(data.units))
        ]
        rows = [row for unit in units for row in unit]
        part = Transactions(
            np.cumsum([0, *map(len, rows)], dtype=np.int64),
            np.array([one for row in rows for one in row], dtype=np.int32),
            data.vocabulary,
            np.cumsum([0, *(len(unit) for unit in units if unit)], dtype=np.int64) if data.by_user else None,
        )
        made.append(shard_counter(Shard(part, low, high, supports[order]), size, Effort(threads=1), name))
    return made, order


@each_counter
@given(
    baskets=baskets_of,
    users=st.none() | st.integers(1, 9),
    cuts=st.lists(st.integers(1, 9), max_size=4),
    size=st.integers(2, 4),
    floor=st.integers(1, 4),
    wanted=st.none() | st.integers(1, 20),
)
def test_shards_add_up_to_the_whole(
    name: str,
    baskets: list[list[int]],
    users: int | None,
    cuts: list[int],
    size: int,
    floor: int,
    wanted: int | None,
) -> None:
    data = purchases(baskets, users)
    whole = counter_for(data, size, 1)
    made, order = shards(data, cuts, size, name)
    ceiling = data.units + 1
    tops = [one.descend(ceiling, floor, wanted) for one in made]
    least = max((top.floor for top in tops), default=floor)
    assert least >= floor
    found = Tally[int]()
    for top in tops:
        assert all(top.floor <= support < ceiling for support, _ in top.levels)
        found.update({support: count for support, count in top.levels if support >= least})
    expected = {support: count for support, count in whole.top(None, None).levels if support >= least}
    assert dict(found) == expected
    if wanted is not None and any(top.floor > floor for top in tops):
        assert sum(expected.values()) >= wanted
    # In one shard after the other the itemsets stand in scan order.
    listed = [one.itemsets(floor, ceiling) for one in made]
    codes = np.concatenate([np.empty((0, size), dtype=np.int64), *(order[ranks] for ranks, _ in listed)])
    assert codes.tolist() == whole.itemsets(floor, ceiling)[0].tolist()
    for one, (ranks, supports) in zip(made, listed, strict=True):
        places = Tally[int]()
        for row, support in zip(ranks.tolist(), supports.tolist(), strict=True):
            assert one.locate(support, places[support]) == row
            places[support] += 1
