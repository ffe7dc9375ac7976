"""Data sets made from others: some of their baskets or users, more than there are, or baskets
halved or pasted together.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import transactions
from fim_private.reading.transactions import Transactions


def drawn_units(whole: Transactions, number: int, seed: list[int]) -> Transactions:
    """Return this many users drawn at random; where users are unknown, each basket counts as one.

    They are drawn without replacement, unless there are fewer.
    """
    assert not whole.together
    rng = np.random.default_rng(seed)
    offsets = np.arange(whole.stored + 1) if whole.unit_offsets is None else whole.unit_offsets
    there = len(offsets) - 1
    drawn = rng.choice(there, number, replace=number > there)
    baskets, unit_offsets = _joined(offsets, drawn)
    entries, basket_offsets = _joined(whole.offsets, baskets)
    items = whole.items[entries]
    return Transactions(basket_offsets, items, whole.vocabulary, unit_offsets).of_occurring_items()


def _joined(
    offsets: NDArray[np.int64], drawn: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places that ranges hold, one range after another, and the offsets of these ranges.

    offsets: the places of range i are from offsets[i] to offsets[i + 1]. drawn: the ranges.
    """
    lengths = np.diff(offsets)[drawn]
    joined_offsets = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(joined_offsets[-1]) + np.repeat(
        offsets[drawn] - joined_offsets[:-1], lengths
    )
    return places, joined_offsets


def resampled(source: Source, path: Path, share: Fraction, times: Fraction, seed: int) -> None:
    """Write share times as many baskets, times as long, to a Parquet file of lists; items are
    numbered as coded.

    Up to all of the baskets are drawn without replacement, more of them, and those to be pasted,
    with it. A basket times below 1 as long has a random part of its items, rounded up. times above
    1 is a whole number.
    """
    data, rng = transactions(source), np.random.default_rng(seed)
    number = int(data.baskets * share)
    parts = max(int(times), 1)
    again = share > 1 or parts > 1
    drawn = rng.choice(data.baskets, number * parts, replace=again)
    entries, offsets = _joined(data.offsets, drawn)
    lengths = np.diff(offsets)
    basket = np.repeat(np.arange(len(drawn)) // parts, lengths)
    pairs = np.unique((basket << 32) | data.items[entries])
    basket = pairs >> 32
    if times < 1:
        pairs = pairs[_part(basket, times, rng)]
        basket = pairs >> 32
    ends = np.searchsorted(basket, np.arange(number + 1)).astype(np.int32)
    items = pa.array((pairs & 0xFFFFFFFF).astype(np.int32))
    _write(pa.table({"items": pa.ListArray.from_arrays(pa.array(ends), items)}), path)


def every_user(source: Source, path: Path, which: int, of: int) -> None:
    """Write the rows of every of-th user to a Parquet file, by identifiers in order, from the
    which-th on.

    Rows without a user are left out.
    """
    column = dict(source.columns)["user"]
    table = pq.read_table(source.path)
    table = table.filter(pc.fill_null(pc.not_equal(pc.cast(table[column], pa.string()), ""), False))
    users = table[column]
    _write(
        table.filter(pc.is_in(users, pa.array(np.unique(users.to_numpy())[which::of], users.type))),
        path,
    )


def _write(table: pa.Table, path: Path) -> None:
    """Write all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    pq.write_table(table, unfinished)
    unfinished.replace(path)


def _part(
    basket: NDArray[np.int64], times: Fraction, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the places of a random part of the items of each basket. basket: of each item,
    ascending.
    """
    ranked = np.lexsort((rng.random(len(basket)), basket))
    lengths = np.bincount(basket)
    wanted = -(-lengths * times.numerator // times.denominator)
    rank = np.arange(len(basket)) - np.searchsorted(basket, basket)
    return np.sort(ranked[rank < wanted[basket]])
