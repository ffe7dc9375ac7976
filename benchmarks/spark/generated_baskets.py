"""Generated baskets in a Parquet file of several row groups, made part by part, and kept for all
tasks of a run.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.frame.output_files import DEFAULT_OUTPUT

ITEMS = 16_000
# Of an item's rank: how fast its chance falls.
EXPONENT = 0.9
# Draws a basket; what is drawn twice is in it once, which leaves about 8 items.
DRAWS = 8.4
# Baskets in a row group.
PART = 100_000
FOLDER = DEFAULT_OUTPUT / "spark_data"


def popularity() -> np.ndarray:
    """Return the chance of each item in one draw, the most frequent first: (ITEMS,)."""
    weights = 1 / np.arange(1, ITEMS + 1) ** EXPONENT
    return np.asarray(weights / weights.sum())


def part(baskets: int, seed: int, number: int) -> pa.Table:
    """Return one row group: a column of lists of different whole numbers, in no order that means
    anything.
    """
    generator = np.random.default_rng([seed, number])
    chances = np.cumsum(popularity())
    lengths = generator.poisson(DRAWS, baskets)
    drawn = np.minimum(np.searchsorted(chances, generator.random(lengths.sum())), ITEMS - 1)
    rows = np.repeat(np.arange(baskets, dtype=np.int64), lengths)
    entries = np.unique((rows << 32) | drawn)
    offsets = np.searchsorted(entries >> 32, np.arange(baskets + 1)).astype(np.int32)
    # A frequent item has any number, as it has in a shop.
    names = np.random.default_rng(seed).permutation(ITEMS)
    items = names[entries & 0xFFFFFFFF]
    return pa.table(
        {"items": pa.ListArray.from_arrays(pa.array(offsets), pa.array(items, pa.int64()))}
    )


def basket_file(baskets: int, seed: int, folder: Path = FOLDER) -> Path:
    """Return the file of so many baskets, which is written unless it is there."""
    made_of = hashlib.sha256(repr((ITEMS, EXPONENT, DRAWS, PART)).encode()).hexdigest()[:8]
    path = folder / f"baskets_{baskets}_{seed}_{made_of}.parquet"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.part")
    sizes = [min(PART, baskets - start) for start in range(0, baskets, PART)]
    with pq.ParquetWriter(temporary, part(0, seed, 0).schema) as writer:
        for number, size in enumerate(sizes):
            writer.write_table(part(size, seed, number))
    temporary.replace(path)
    return path


def entries_among(first: int) -> float:
    """Return how many of the most frequent `first` items a basket has on average."""
    return float((1 - np.exp(-DRAWS * popularity()[:first])).sum())


def items_among(baskets: int) -> float:
    """Return how many different items so many baskets are expected to have."""
    return float(-np.expm1(-DRAWS * baskets * popularity()).sum())


def expected_support(rank: int) -> float:
    """Return the share of baskets that is expected to have the pair of that rank, 1 for the most
    frequent.
    """
    has = 1 - np.exp(-DRAWS * popularity()[: 2 * rank + 1])  # draws of each item are independent
    return float(np.sort((has[:, None] * has[None, :])[np.triu_indices(len(has), 1)])[-rank])
