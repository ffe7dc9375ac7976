"""Chunks of baskets as they were read, to the two arrays of `Transactions`: items ascending, each once a basket."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

# How many entries each basket of a chunk has, (baskets,), and the provisional codes of all of them, -1 for a null.
Chunk = tuple[NDArray[np.integer], NDArray[np.int32]]


def canonical_baskets(
    chunks: Iterable[Chunk], code: NDArray[np.int32], *, out: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return offsets and items as in `Transactions`, (baskets + 1,) int64 and (entries,) int32.

    chunks: one at a time is worked on. A list is emptied while it is read, so that its memory can be reused.
    code: (n,) the canonical code of each provisional code.
    out: where to put the items, of any length that is enough. It may be the array that the chunks are
        slices of, one after another: an item is never written before those at its place were read.
    Nulls are dropped, an item repeated inside a basket counts once.
    """
    source = iter(chunks) if not isinstance(chunks, list) else _emptying(chunks)
    counts: list[NDArray[np.int32]] = []
    parts: list[NDArray[np.int32]] = []
    size = 0
    for lengths, provisional in source:
        count, items = _canonical_chunk(lengths, provisional, code)
        counts.append(count)
        if out is None:
            parts.append(items)
        else:
            out[size : size + len(items)] = items
        size += len(items)
    offsets = np.zeros(sum(map(len, counts)) + 1, dtype=np.int64)
    if counts:
        np.cumsum(np.concatenate(counts), out=offsets[1:])
    if out is None:
        items = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
    else:
        # A view holds all of out: worth it only if most of out is used.
        items = out[:size] if size > len(out) * 3 // 4 else out[:size].copy()
    return offsets, items


def _canonical_chunk(
    lengths: NDArray[np.integer], provisional: NDArray[np.int32], code: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return how many distinct items each basket has, and their codes, ascending inside each basket."""
    key = np.repeat(np.arange(len(lengths), dtype=np.int64) << 32, lengths)
    present = provisional >= 0
    if not present.all():
        key, provisional = key[present], provisional[present]
    key |= code[provisional]
    ascending = key[1:] > key[:-1]
    if not ascending.all():
        key.sort()
        key = key[np.concatenate([key[:1] >= 0, key[1:] != key[:-1]])]
    items = (key & 0xFFFFFFFF).astype(np.int32)
    key >>= 32
    return np.bincount(key, minlength=len(lengths)).astype(np.int32), items


def _emptying(chunks: list[Chunk]) -> Iterable[Chunk]:
    """Yield the chunks of a list in order, and take each out of it, so that its memory can be reused."""
    chunks.reverse()
    while chunks:
        yield chunks.pop()
