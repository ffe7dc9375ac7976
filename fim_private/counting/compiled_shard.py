"""Support counting in a shard by the compiled kernel."""

from __future__ import annotations

from fim_private.counting.compiled_counter import LARGE, CompiledCounter, levels_of_scan
from fim_private.counting.counter import Top
from fim_private.counting.shards import Shard
from fim_private.counting.work_limit import Effort


class CompiledShard(CompiledCounter):
    """Counts the itemsets whose least frequent item is among some ranks; see `shards.ShardCounter`."""

    def __init__(self, shard: Shard, size: int, effort: Effort) -> None:
        super().__init__(shard.transactions, size, 1, effort)
        self._shard = shard
        # The codes are ranks, so ranking them by these leaves them as they are.
        self.item_supports = shard.supports

    def descend(self, ceiling: int, floor: int, wanted: int | None) -> Top:
        """Count itemsets of supports floor..ceiling - 1, from the top down to the wanted-th; see `ShardCounter`."""
        low, high = self._last_ranks(floor)
        if low == high:
            return Top([], floor)
        # No itemset of the shard has more support than its most frequent last item: no longer a histogram than that.
        ceiling = min(ceiling, int(self._supports[low]) + 1)
        scan = self._scan(self._size, ceiling, floor, wanted or 0)
        self._count_ranks(scan, low, high, copied=len(self._transactions.items) >= LARGE and self._size > 2)
        scan.settle()
        return Top(levels_of_scan(scan), scan.floor, scan.work)

    def _last_ranks(self, floor: int) -> tuple[int, int]:
        """Return which ranks of the shard the least frequent item may have, from the first up to before the second."""
        low, high = super()._last_ranks(floor)
        low = max(low, self._shard.low)
        return low, max(low, min(high, self._shard.high))
