"""Candidates of several sizes as one trie: what begins alike is looked for once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.candidate_counts import Candidates


@dataclass(frozen=True)
class CandidateTrie:
    """A node for each beginning of a candidate, level by level; node 0 is the root, where nothing is chosen.

    width: item numbers are below it, >= 1.
    keys: (nodes - 1,) int64, strictly ascending: node v is the child of node ``keys[v - 1] // width`` by the item
        ``keys[v - 1] % width``.
    accepts: (nodes,) int32, the candidate that ends in each node, -1 for none.
    """

    width: int
    keys: NDArray[np.int64]
    accepts: NDArray[np.int32]

    @property
    def items(self) -> NDArray[np.int32]:
        """The item of each node, -1 for the root: (nodes,)."""
        return np.concatenate([[-1], self.keys % self.width]).astype(np.int32)

    @property
    def children(self) -> NDArray[np.int64]:
        """Node v has the children ``children[v]`` up to ``children[v + 1]``: (nodes + 1,)."""
        return np.searchsorted(self.keys, np.arange(len(self.accepts) + 1) * self.width) + 1


def candidate_trie(candidates: Candidates, width: int) -> CandidateTrie:
    """Return the trie of candidates, in the order of their items in a row.

    candidates: (n, r) int32 arrays of item numbers below width >= 1, ascending in a row, all rows different.
    """
    starts = np.cumsum([0, *map(len, candidates)])
    # Which node each candidate has come to.
    reached = [np.zeros(len(rows), dtype=np.int64) for rows in candidates]
    levels, accepted, nodes = [np.empty(0, dtype=np.int64)], [np.full(1, -1, dtype=np.int32)], 1
    for depth in range(max((rows.shape[1] for rows in candidates), default=0)):
        longer = [number for number, rows in enumerate(candidates) if rows.shape[1] > depth]
        keys = np.concatenate([reached[number] * width + candidates[number][:, depth] for number in longer])
        level, place = np.unique(keys, return_inverse=True)
        accepts = np.full(len(level), -1, dtype=np.int32)
        ends = np.cumsum([len(candidates[number]) for number in longer])
        for number, own in zip(longer, np.split(place, ends[:-1]), strict=True):
            reached[number] = own + nodes
            if candidates[number].shape[1] == depth + 1:
                accepts[own] = np.arange(starts[number], starts[number + 1])
        levels.append(level)
        accepted.append(accepts)
        nodes += len(level)
    return CandidateTrie(width, np.concatenate(levels), np.concatenate(accepted))
