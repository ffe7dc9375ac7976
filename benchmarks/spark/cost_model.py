"""What counting the first pairs costs on Spark: bytes read and shuffled, memory of a task, passes.

From how the engine works (`fim_private/spark`). The source is read twice: for its items, and for its baskets, which are
kept as arrays of codes of 4 bytes. The items' names are kept, too, and read twice to put them in order. The baskets
that are kept are read once for the number of units, once for the items' supports and once in each round; a round gives
each shard of ranks what stands in a basket up to the shard's last item.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fim_private.spark.purchases import FEWEST_ENTRIES, MOST_ENTRIES

# Spark's own settings: partitions of a shuffle, and of a file the most bytes for a task, and what it reckons opening to
# cost, which is the fewest.
_PARTITIONS, PART, _OPENING = 200, 128 << 20, 4 << 20
_CODE = 4
# These were set so that they fit 10^5 baskets, the last two with 10^6 in view, too; more baskets check them. PACKED:
# bytes of a shuffled byte, once it is packed. NAME: bytes of an item's name that is shuffled, of each task. KEPT_NAME:
# of one that is kept. WORKER: bytes of a worker that has nothing yet. ENTRY: of each entry that a task has; SHARED:
# more, of those that it gives to shards.
PACKED = 0.6
NAME, KEPT_NAME = 30, 25
WORKER, ENTRY, SHARED = 150 << 20, 21, 47


@dataclass(frozen=True)
class Data:
    """baskets: how many. length: items of one, on average. items: different ones. file: bytes of the source.

    rounds: of the counter, for each how many entries of a basket are of the items that the round counts.
    """

    baskets: int
    length: float
    items: float
    file: float
    rounds: tuple[float, ...]


@dataclass(frozen=True)
class Cost:
    """Bytes and passes. kept: bytes that Spark keeps. of_kept: bytes read of these. task: memory of the largest one."""

    source: float
    kept: float
    of_kept: float
    shuffled: float
    task: float
    tasks: int
    passes: int


def cost(data: Data, cores: int, most: float = PART) -> Cost:
    """Return what it costs on so many cores. most: bytes of the file for a task (spark.sql.files.maxPartitionBytes)."""
    part = min(most, max(_OPENING, (data.file + _OPENING) / cores))
    tasks = math.ceil(data.file / part)
    kept = _CODE * (data.length + 1) * data.baskets
    shuffled = [shared_bytes(entries, shards(entries * data.baskets)) * data.baskets for entries in data.rounds]
    # Names are grouped, and put in order; the supports of all items are added up.
    names = NAME * data.items * (tasks + 1) + 8 * data.items * tasks
    of_task = data.baskets * min(1, part / data.file)
    return Cost(
        source=2 * data.file,
        kept=kept,
        of_kept=(2 + len(data.rounds)) * kept + 2 * KEPT_NAME * data.items,
        shuffled=PACKED * sum(shuffled) + names,
        task=WORKER + of_task * (ENTRY * data.length + SHARED * max(data.rounds)),
        tasks=tasks,
        passes=2 + 2 + len(data.rounds),
    )


def shards(entries: float) -> int:
    """Return how many shards share so many entries."""
    return max(math.ceil(entries / MOST_ENTRIES), min(_PARTITIONS, math.ceil(entries / FEWEST_ENTRIES)), 1)


def shared_bytes(length: float, parts: int) -> float:
    """Return how many bytes of a basket go to all shards together, its length being Poisson with that mean.

    Its items are taken to be spread evenly. A basket of l items meets d of the shards; to these go l·1/d, l·2/d, ..., l
    items, with a length each. A basket of one item has no pair.
    """
    total, chance = 0.0, math.exp(-length)
    for count in range(1, int(length + 12 * math.sqrt(length) + 12)):
        chance *= length / count
        if count >= 2:
            met = parts * -math.expm1(count * math.log1p(-1 / parts)) if parts > 1 else 1.0
            total += chance * _CODE * (count * (met + 1) / 2 + met)
    return total
