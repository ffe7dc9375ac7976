"""What the mechanisms and peers of a study are asked, and what one trial of a peer releases."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.datasets import Source
from fim_private.dp.neighbors import Neighbors


@dataclass(frozen=True)
class Question:
    """Itemsets of some sizes, ranked together, of a data set, with one guarantee.

    sizes: ascending. delta: 0 for pure ε-privacy, of those who have it.
    """

    source: Source
    sizes: tuple[int, ...]
    epsilon: float
    delta: float
    neighbors: Neighbors

    @property
    def budget(self) -> tuple[Fraction, Fraction]:
        """ε and δ, exactly as written."""
        return Fraction(repr(self.epsilon)), Fraction(repr(self.delta))


@dataclass(frozen=True)
class Released:
    """What one trial released.

    true: supports in the whole data of the itemsets released, in the order of release. noisy: what
    was released as their supports; as many.
    """

    true: NDArray[np.int64]
    noisy: NDArray[np.float64]

    def first(self, count: int) -> Released:
        """Return what a release of the first `count` itemsets would have been."""
        return Released(self.true[:count], self.noisy[:count])


def nothing() -> Released:
    """Return what a trial that releases nothing released."""
    return Released(np.zeros(0, dtype=np.int64), np.zeros(0))
