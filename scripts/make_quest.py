"""Make large synthetic baskets: as the Quest generator draws them, like a click-stream, or dense.

*Quest* is R. Agrawal and R. Srikant, Fast Algorithms for Mining Association Rules, VLDB 1994,
section 2.4.3: baskets are filled with patterns, which share items with one another and appear with
some of their items dropped. With the default parameters it is T10.I4 with 1,000 items. Items have
exponential weights, as in IBM's program.

*Heavy tail* is like the kosarak click-stream: 990,002 baskets over 41,270 items, 8 items a basket
on average and up to 2,500, the most frequent item in some 60 % of them.

*Dense* is like the chess data: 3,196 rows of 37 attributes with 2 or 3 values, 75 items; values
hang together and most are nearly always the same.

Everything is drawn in blocks of a fixed number of baskets, so that memory is bounded, and a smaller
file is the beginning of a larger one. The same seed and the same versions of Python, numpy and
pyarrow write the same bytes.

    python scripts/make_quest.py OUTPUT --baskets 100000
    python scripts/make_quest.py OUTPUT --heavy-tail
    python scripts/make_quest.py OUTPUT --dense
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

SEED = 1994
BLOCK = 1 << 16  # baskets drawn at a time

CORRELATION = 0.5  # mean of the share of items that a pattern takes from the one before
CORRUPTION, CORRUPTION_SPREAD = 0.5, 0.1

HEAVY_BASKETS, HEAVY_ITEMS = 990_002, 41_270
HEAVY_MEDIAN, HEAVY_SPREAD, HEAVY_LONGEST = 2.65, 1.45, 2_500  # log-normal lengths
HEAVY_EXPONENT = 1.3  # of the popularity of items
# items; longer baskets are drawn in another way, which does not mind how long they are
HEAVY_LONG = 100

DENSE_ROWS = 3_196
DENSE_VALUES = (3, *[2] * 36)
DENSE_TOP_SHARES = np.concatenate([np.linspace(0.999, 0.91, 15), np.linspace(0.89, 0.5, 22)])
DENSE_LOADING = 0.6  # how strongly an attribute hangs on what all have in common


class Block(NamedTuple):
    """Baskets one after another: lengths (baskets,), and items (their sum,), distinct and ascending
    in a basket.
    """

    lengths: IntArray
    items: IntArray


@dataclass(frozen=True)
class Quest:
    """Parameters as in the paper's table 2: mean_length |T|, pattern_length |I|, patterns |L|,
    items N.
    """

    mean_length: float = 10
    pattern_length: float = 4
    items: int = 1000
    patterns: int = 2000


class Patterns(NamedTuple):
    """Pattern p: ``items[start[p]:start[p] + length[p]]``; cumulative weights; corruption levels in
    0..1.
    """

    items: IntArray
    start: IntArray
    length: IntArray
    cumulative: FloatArray
    corruption: FloatArray


def make_patterns(quest: Quest, rng: np.random.Generator) -> Patterns:
    """Draw the maximal potentially large itemsets."""
    weights = rng.exponential(size=quest.items)
    weights /= weights.sum()
    lengths = np.minimum(1 + rng.poisson(quest.pattern_length - 1, quest.patterns), quest.items)
    patterns: list[IntArray] = []
    for length in lengths:
        share = int(length * rng.exponential(CORRELATION) + 0.5)
        previous = patterns[-1] if patterns else np.empty(0, dtype=np.int64)
        chosen = rng.permutation(previous)[: min(share, length)]
        while len(chosen) < length:
            chosen = np.append(
                chosen,
                [item for item in [rng.choice(quest.items, p=weights)] if item not in chosen],
            )
        patterns.append(chosen.astype(np.int64))
    popularity = np.cumsum(rng.exponential(size=quest.patterns))
    corruption = np.clip(rng.normal(CORRUPTION, CORRUPTION_SPREAD, quest.patterns), 0.01, 0.99)
    start = np.cumsum(lengths) - lengths
    return Patterns(
        np.concatenate(patterns), start, lengths, popularity / popularity[-1], corruption
    )


def quest_blocks(quest: Quest, seed: int) -> Iterator[Block]:
    """Yield blocks of baskets without end.

    A pattern that does not fit and is moved to the next basket goes to the basket at the same place
    of the next block, so that a whole block is filled at once.
    """
    rng = np.random.default_rng(seed)
    patterns = make_patterns(quest, rng)
    # the pattern moved here from the block before, and how many items it has left
    moved = np.full(BLOCK, -1)
    moved_length = np.zeros(BLOCK, dtype=np.int64)
    while True:
        size = np.maximum(rng.poisson(quest.mean_length, BLOCK), 1)
        filled = np.zeros(BLOCK, dtype=np.int64)
        active = np.arange(BLOCK)
        baskets: list[IntArray] = []
        chosen: list[IntArray] = []
        while len(active):
            pattern = np.searchsorted(patterns.cumulative, rng.random(len(active)))
            # Items are dropped for as long as a uniform number is below the level: a geometric
            # number of them.
            dropped = (
                np.log(1 - rng.random(len(active))) / np.log(patterns.corruption[pattern])
            ).astype(np.int64)
            length = np.maximum(patterns.length[pattern] - dropped, 0)
            waiting = moved[active] >= 0
            pattern, length = (
                np.where(waiting, moved[active], pattern),
                np.where(waiting, moved_length[active], length),
            )
            moved[active] = -1
            over = filled[active] + length > size[active]
            away = over & (filled[active] > 0) & (rng.random(len(active)) < 0.5)
            moved[active[away]], moved_length[active[away]] = pattern[away], length[away]
            basket, item = _pattern_items(
                patterns, active[~away], pattern[~away], length[~away], rng
            )
            baskets.append(basket)
            chosen.append(item)
            filled[active[~away]] += length[~away]
            active = active[~over & (filled[active] < size[active])]
        yield _distinct(np.concatenate(baskets), np.concatenate(chosen), quest.items)


def _pattern_items(
    patterns: Patterns,
    basket: IntArray,
    pattern: IntArray,
    length: IntArray,
    rng: np.random.Generator,
) -> tuple[IntArray, IntArray]:
    """Put `length` items of each pattern, chosen uniformly, into its basket: (basket, item) of
    each.
    """
    whole = patterns.length[pattern]
    begin = np.cumsum(whole) - whole
    place = np.arange(int(whole.sum())) - np.repeat(begin, whole)
    item = patterns.items[np.repeat(patterns.start[pattern], whole) + place]
    order = np.argsort(np.repeat(np.arange(len(pattern)), whole) + rng.random(len(item)))
    return np.repeat(basket, length), item[order][place < np.repeat(length, whole)]


def _distinct(basket: IntArray, item: IntArray, items: int) -> Block:
    key = _sorted_set(basket * items + item)
    return Block(np.bincount(key // items, minlength=BLOCK), key % items)


def _sorted_set(keys: IntArray) -> IntArray:
    # Not np.unique, which hashes integers: many times slower here.
    keys = np.sort(keys)
    return keys[np.diff(keys, prepend=-1) > 0]


def heavy_tail_blocks(seed: int) -> Iterator[Block]:
    """Yield blocks of baskets without end: log-normal lengths, items without replacement by a power
    law.
    """
    rng = np.random.default_rng(seed)
    weights = np.arange(1, HEAVY_ITEMS + 1) ** -HEAVY_EXPONENT
    cumulative = np.cumsum(weights) / weights.sum()
    label = rng.permutation(HEAVY_ITEMS)
    while True:
        length = np.ceil(rng.lognormal(np.log(HEAVY_MEDIAN), HEAVY_SPREAD, BLOCK))
        length = np.minimum(length, HEAVY_LONGEST).astype(np.int64)
        done = [np.empty(0, dtype=np.int64)]
        for long in np.flatnonzero(length > HEAVY_LONG):
            # Successive sampling, as the order of arrival of exponential clocks (Efraimidis and
            # Spirakis 2006).
            arrival = rng.exponential(size=HEAVY_ITEMS) / weights
            done.append(long * HEAVY_ITEMS + np.argpartition(arrival, length[long])[: length[long]])
        basket, drawn = np.flatnonzero(length <= HEAVY_LONG), np.empty(0, dtype=np.int64)
        while len(basket):  # what a basket has is not taken again: its draw is repeated
            missing = length[basket] - np.bincount(drawn // HEAVY_ITEMS, minlength=BLOCK)[basket]
            again = np.repeat(basket, missing)
            item = np.searchsorted(cumulative, rng.random(len(again)))
            drawn = _sorted_set(np.concatenate([drawn, again * HEAVY_ITEMS + item]))
            full = np.bincount(drawn // HEAVY_ITEMS, minlength=BLOCK) == length
            done.append(drawn[full[drawn // HEAVY_ITEMS]])
            basket, drawn = basket[~full[basket]], drawn[~full[drawn // HEAVY_ITEMS]]
        key = np.concatenate(done)
        yield _distinct(key // HEAVY_ITEMS, label[key % HEAVY_ITEMS], HEAVY_ITEMS)


def dense_blocks(seed: int) -> Iterator[Block]:
    """Yield blocks of rows without end, one item (from 1) of each attribute in each."""
    rng = np.random.default_rng(seed)
    share = rng.permutation(DENSE_TOP_SHARES)
    # the normal's quantiles
    bounds = np.sort(rng.normal(size=1 << 16))[(share * ((1 << 16) - 1)).astype(np.int64)]
    first = 1 + np.cumsum((0, *DENSE_VALUES[:-1]))
    while True:
        common = rng.normal(size=(BLOCK, 1))
        own = rng.normal(size=(BLOCK, len(DENSE_VALUES)))
        level = DENSE_LOADING * common + np.sqrt(1 - DENSE_LOADING**2) * own
        value = (level > bounds).astype(np.int64)
        value += (value > 0) & (np.array(DENSE_VALUES) == 3) & (rng.random(value.shape) < 0.3)
        yield Block(np.full(BLOCK, len(DENSE_VALUES)), (first + value).ravel())


def write(blocks: Iterator[Block], baskets: int, output: Path) -> None:
    """Write the first baskets to Parquet, a block at a time, under a temporary name that is then
    changed.
    """
    schema = pa.schema([("items", pa.list_(pa.int32()))])
    temporary = output.with_name(output.name + ".part")
    try:
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            while baskets > 0:
                block = next(blocks)
                lengths = block.lengths[:baskets]
                offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
                lists = pa.ListArray.from_arrays(
                    pa.array(offsets), pa.array(block.items[: offsets[-1]].astype(np.int32))
                )
                writer.write_table(pa.table([lists], schema=schema))
                baskets -= len(lengths)
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


class OneLineParser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with 2."""
        print(f"{self.prog}: {message}", file=sys.stderr)
        raise SystemExit(2)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, make the file."""
    parser = OneLineParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "output", type=Path, help="the Parquet file to write; its folder must exist"
    )
    parser.add_argument(
        "--baskets",
        type=int,
        help=f"default: 100000, heavy tail {HEAVY_BASKETS}, dense {DENSE_ROWS} (rows)",
    )
    parser.add_argument(
        "--mean-length",
        type=float,
        default=10,
        help="mean items per basket (default: %(default)s)",
    )
    parser.add_argument(
        "--pattern-length",
        type=float,
        default=4,
        help="mean items per pattern (default: %(default)s)",
    )
    parser.add_argument("--items", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--patterns", type=int, default=2000, help="default: %(default)s")
    parser.add_argument(
        "--seed", type=int, default=SEED, help="an integer >= 0 (default: %(default)s)"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--heavy-tail", action="store_true", help="like the kosarak click-stream")
    form.add_argument("--dense", action="store_true", help="like the chess data")
    options = parser.parse_args(arguments)
    default = HEAVY_BASKETS if options.heavy_tail else DENSE_ROWS if options.dense else 100_000
    baskets = default if options.baskets is None else options.baskets
    for name in ("mean_length", "pattern_length", "items", "patterns"):
        if not getattr(options, name) >= 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    if baskets < 1:
        parser.error("--baskets must be at least 1")
    if options.seed < 0:
        parser.error("--seed must not be negative")
    if options.pattern_length * 10 > options.items:
        parser.error("--items must be at least 10 times --pattern-length")
    if not options.output.parent.is_dir():
        parser.error(f"the folder of {options.output} does not exist")
    if options.heavy_tail:
        blocks = heavy_tail_blocks(options.seed)
    elif options.dense:
        blocks = dense_blocks(options.seed)
    else:
        quest = Quest(options.mean_length, options.pattern_length, options.items, options.patterns)
        blocks = quest_blocks(quest, options.seed)
    try:
        write(blocks, baskets, options.output)
    except OSError as error:
        parser.error(f"cannot write {options.output}: {error.strerror}")
    print(f"wrote {options.output}: {baskets:,} baskets, {options.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
