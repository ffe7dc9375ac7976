"""Candidates that are counted with weights: a trie of them, and clipped weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.work import Effort
from fim_private.dp.parameters import positive_integer
from fim_private.reading.transactions import Transactions

# -------------------- clipped weights
# Clipped weights: what a unit gives to each of its candidates, so that all together have a bounded L2 norm.

# Products up to here are exact in int64.
_EXACT = 1 << 62


def clipped_weights(bound: int, largest: int, scale: int) -> NDArray[np.int64]:
    """Return the weight of each of a unit's candidates where it holds m of them, m = 0..largest: (largest + 1,) int64.

    The weight is floor(scale · min(1, sqrt(bound / m))), exactly, 0 for m = 0: in multiples of 1 / scale the vector of
    such a unit has an L2 norm of at most sqrt(bound), as m · weight² <= scale² · bound. It falls as m grows.
    bound: the square of that norm, >= 1. largest: candidates, >= 0. scale: >= 1, below 2^63.
    Raises ParameterError where bound or scale is no positive whole number.
    Weights of this form: Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially private set union", 2020.

    >>> clipped_weights(2, 4, 100).tolist()
    [0, 100, 100, 81, 70]
    """
    bound, scale = positive_integer("bound", bound), positive_integer("scale", scale)
    weights = np.full(largest + 1, scale, dtype=np.int64)
    weights[0] = 0
    if largest > bound:
        weights[bound + 1 :] = _roots(scale * scale * bound, np.arange(bound + 1, largest + 1, dtype=np.int64), scale)
    return weights


def _roots(top: int, counts: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return floor(sqrt(top / count)) for each count, (n,) int64 >= 1 ascending; all of them are at most `most`."""
    if (most + 2) ** 2 * int(counts[-1]) > _EXACT:
        return np.array([isqrt(top // count) for count in counts.tolist()], dtype=np.int64)
    # The guess is off by far less than 1, so its floor by 1 at most.
    guess = np.sqrt(top / counts).astype(np.int64)
    guess -= guess * guess * counts > top
    guess += (guess + 1) ** 2 * counts <= top
    return guess


# -------------------- candidate counts
# What units hold of a public list of candidates: the door for whoever weighs and counts them.

# Candidates of one size each: (n, r) int32 item numbers, r >= 1, ascending in a row; any number of such arrays.
Candidates = Sequence[NDArray[np.int32]]


class CandidateSource(Protocol):
    """Purchases restricted to m items, numbered 0..m - 1.

    A unit holds a candidate if any one of its baskets contains it (where baskets count together, if all of them do),
    and then once, in however many baskets. What a unit adds depends on that unit alone. Sums are exact as long as the
    number of units times the largest weight is below 2^63, and the same for any number of threads. Each method raises
    WorkLimitError where it takes more steps than allowed.
    """

    def pair_level_sums(self, scale: int) -> NDArray[np.int64]:
        """Return the level sum of each pair, see `level_sums`: (m(m - 1)/2,) int64.

        The pair a < b is at b(b - 1)/2 + a. scale: 1 to 2^16.
        """

    def level_sums(self, sets: NDArray[np.int32], scale: int) -> NDArray[np.int64]:
        """Return for each candidate the sum of floor(scale · √(c / C)) over the units, exactly: (K,) int64.

        c: in how many of its baskets a unit has the candidate; where baskets count together, the least number of
        baskets that have one of its items. C: the sum of c over all candidates. So in multiples of 1/scale the L2 norm
        of what a unit adds is at most 1. sets: (K, r) different candidates of one size r >= 1. scale: 1 to 2^16.
        """

    def sums(self, candidates: Candidates, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each candidate the sum of weights[candidates of the unit] over the units that hold it: (K,) int64.

        candidates: K different ones in all; the sums stand in their order. weights: (K + 1,) int64, >= 0; all 1 for
        plain supports.
        """

    def held(self, candidates: Candidates) -> NDArray[np.int64]:
        """Return how many units hold exactly 0, 1, ... K of the candidates: (K + 1,) int64.

        candidates: K different ones in all.
        """


# A source from transactions, the codes of the m items in the order of their numbers, (m,), all different, and effort.
MakeCandidates = Callable[[Transactions, NDArray[np.integer], Effort], CandidateSource]


# -------------------- candidate trie
# Candidates of several sizes as one trie: what begins alike is looked for once.


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
