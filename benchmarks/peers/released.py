"""What one trial of a peer released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Released:
    """What one trial released.

    true: supports in the whole data of the itemsets released, in the order of release. noisy: what was released as
    their supports; as many.
    """

    true: NDArray[np.int64]
    noisy: NDArray[np.float64]


def nothing() -> Released:
    """Return what a trial that releases nothing released."""
    return Released(np.zeros(0, dtype=np.int64), np.zeros(0))
