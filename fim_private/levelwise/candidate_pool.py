"""Candidates of several sizes, their estimates, and the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fim_private.levelwise.closed_sets import Itemsets
from fim_private.levelwise.discovery import Level, nothing, parts_features
from fim_private.levelwise.shrinkage import shrunken


@dataclass(frozen=True)
class CandidatePool:
    """Candidates of one or more sizes: K in all.

    sets: for each size (n, size), any number of them. estimates: (K,) of their supports, in units, in that order.
    """

    sets: tuple[Itemsets, ...]
    estimates: NDArray[np.float64]

    @classmethod
    def of_levels(cls, levels: Mapping[int, Level], sizes: Sequence[int], most: Sequence[int]) -> CandidatePool:
        """Return the most[i] candidates of the highest weights of each size."""
        best = [levels.get(size, nothing(size)).best(count) for size, count in zip(sizes, most, strict=True)]
        return cls(tuple(level.sets for level in best), np.concatenate([level.weights for level in best]))

    @property
    def parts(self) -> Iterator[tuple[Itemsets, slice]]:
        """The candidates of each size, and where their estimates stand."""
        begin = 0
        for sets in self.sets:
            yield sets, slice(begin, begin + len(sets))
            begin += len(sets)

    def __len__(self) -> int:
        return len(self.estimates)

    def rivals(self, *, union: bool) -> list[slice]:
        """Return the places of those that are ranked together: of all, or without union of each size."""
        return [slice(0, len(self))] if union else [part for _, part in self.parts]

    def best(self, count: int, *, union: bool) -> NDArray[np.intp]:
        """Return the places of the `count` highest estimates, of all or without union of each size; ascending."""
        ranked = self.rivals(union=union)
        chosen = [part.start + np.argsort(-self.estimates[part], kind="stable")[:count] for part in ranked]
        return np.sort(np.concatenate(chosen))

    def at(self, places: NDArray[np.intp]) -> CandidatePool:
        """Return the candidates at these places, ascending."""
        sets = tuple(
            own[places[(places >= part.start) & (places < part.stop)] - part.start] for own, part in self.parts
        )
        return CandidatePool(sets, self.estimates[places])

    def shrunken(
        self,
        weights: NDArray[np.float64],
        variance: float,
        levels: Mapping[int, Level],
        counted: NDArray[np.float64] | None = None,
    ) -> tuple[CandidatePool, NDArray[np.float64]]:
        """Return the pool with estimates from noisy weights, (K,), each size by itself, and the deviation of each.

        variance: of their noise. levels: what was found. counted: (K,) earlier estimates, positive, if there are any.
        """
        estimates, deviations = weights.copy(), np.full(len(weights), variance**0.5)
        for sets, part in self.parts:
            if len(sets):
                own = levels[sets.shape[1]].logs
                features = [np.array([own[tuple(row)] for row in sets.tolist()])]
                if sets.shape[1] > 1:
                    features.append(parts_features(sets, levels))
                if counted is not None:
                    features.append(np.log(counted[part]))
                estimates[part], left_open = shrunken(weights[part], variance, np.column_stack(features))
                # A prediction alone is no sign of an itemset: its own weight has to stand a little out as well.
                deviations[part] = np.where(weights[part] >= deviations[part], left_open, deviations[part])
        return CandidatePool(self.sets, estimates), deviations
