"""Spectra to study: of real data where there is any, of random parts of it, and of a power law with
planted leaders.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.frame.datasets import Source
from fim_private.counting import Effort, itemset_spectrum
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import Level, SupportSpectrum, union

Levels = tuple[Level, ...]
# One thread: studies run a process a core. What is refused by default is estimated far too high for
# long tails.
_EFFORT = Effort(threads=1, max_work=10**14)


@lru_cache(maxsize=16)
def transactions(source: Source) -> Transactions:
    """Read a data set; a privacy unit is a basket, or a user where the source has a column of
    users.
    """
    columns: dict[str, Any] = dict(source.columns)
    return read_transactions(source.path, **columns)


def items_of(data: Transactions) -> list[Item]:
    """Return the labels of all items, by code."""
    return [data.vocabulary.label(code) for code in range(len(data.vocabulary))]


@lru_cache(maxsize=2)
def part(source: Source, share: float, seed: int) -> Transactions:
    """Return a random part of the baskets, each kept with that probability; a basket is a unit."""
    whole = transactions(source)
    if share >= 1:
        return whole
    assert not whole.by_user, "a part of the units is wanted, and these are users"
    kept = np.random.default_rng(seed).random(whole.baskets) < share
    lengths = np.diff(whole.offsets)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths[kept])])
    return Transactions(offsets, whole.items[np.repeat(kept, lengths)], whole.vocabulary)


@lru_cache(maxsize=64)
def levels_of(source: Source, size: int, share: float = 1.0, seed: int = 0) -> Levels:
    """Return all (support, multiplicity) of the itemsets of a size."""
    return tuple(itemset_spectrum(part(source, share, seed), size, effort=_EFFORT).all_levels())


@lru_cache(maxsize=16)
def mixed_levels(source: Source, sizes: tuple[int, ...]) -> Levels:
    """Return the levels of the itemsets of several sizes together."""
    whole = transactions(source)
    return tuple(
        union([itemset_spectrum(whole, size, effort=_EFFORT) for size in sizes]).all_levels()
    )


def levels_for(source: Source, sizes: tuple[int, ...]) -> Levels:
    """Return the levels of the itemsets of these sizes together."""
    return levels_of(source, sizes[0]) if len(sizes) == 1 else mixed_levels(source, sizes)


def top_supports(levels: Iterable[Level], count: int) -> list[int]:
    """Return the `count` highest supports, descending; fewer if there are fewer itemsets.

    No more levels are read than that takes.
    """
    supports: list[int] = []
    for support, multiplicity in levels:
        supports += [support] * min(multiplicity, count - len(supports))
        if len(supports) == count:
            break
    return supports


def power_law(
    count: int, second: int, lead: int, leaders: int = 1, exponent: float = 1.0
) -> Levels:
    """Return levels c(ℓ) = second / (ℓ - leaders)^exponent below `leaders` itemsets that lead by so
    much.

    count: how many itemsets lie below the leaders; those that round to 0 are left out.
    """
    ranks = np.arange(1, count + 1, dtype=np.float64)
    supports = np.rint(second / ranks**exponent).astype(np.int64)
    values, multiplicities = np.unique(supports[supports > 0], return_counts=True)
    below = [(int(v), int(m)) for v, m in zip(values[::-1], multiplicities[::-1], strict=True)]
    if lead == 0 and below:
        return ((below[0][0], below[0][1] + leaders), *below[1:])
    return ((second + lead, leaders), *below)


def spectrum(levels: Levels, universe_size: int | None = None) -> SupportSpectrum:
    """Return a spectrum of these levels."""
    return SupportSpectrum(levels, universe_size=universe_size)
