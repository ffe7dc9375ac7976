"""Runs of levelwise, for the best or for what reaches a threshold, whose noisy weights are given beforehand: what each
step adds to them is then seen without noise.

A run sees its data through noisy weights alone. So with the same noisy weights two neighbours must go the same way, to
the same itemsets, and what is left between them is how far the sums of each step are apart: its sensitivity, for that
past. Everything but the noise is the package's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import repeat
from typing import Any
from unittest import mock

import numpy as np

from fim_private.counting import Effort, LocalSource
from fim_private.counting.universe import UNKNOWN, Universe
from fim_private.dp.randomness import Randomness
from fim_private.levelwise import discovery, gaussian_budget, reaching, two_counts
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.reaching import Reaching
from fim_private.reading import read_transactions
from fim_private.reading.transactions import Transactions

GRID = 1 << 16
Basket = tuple[str, ...]
# A unit's baskets: one, or those of a user.
Unit = tuple[Basket, ...]


def purchases(units: Sequence[Unit], *, by_user: bool = False) -> Transactions:
    """Transactions that know of no items but those that these units have."""
    whole = read_transactions([list(basket) for unit in units for basket in unit])
    if not by_user:
        assert all(len(unit) == 1 for unit in units)
        return whole
    offsets = np.cumsum([0, *map(len, units)]).astype(np.int64)
    return Transactions(whole.offsets, whole.items, whole.vocabulary, offsets)


@dataclass(frozen=True)
class Script:
    """The noisy weights of a run. items: of each item, in multiples of 1/GRID. seed: of those of all later steps."""

    items: Mapping[str, int]
    seed: int = 0


@dataclass(frozen=True)
class Step:
    """One step. sums: before noise, in multiples of 1/GRID. sigma2: of the noise drawn, in the square of these."""

    purpose: str
    sums: tuple[int, ...]
    sigma2: Fraction

    def moved(self, other: Step) -> int:
        """The square of the L2 distance of the sums."""
        return sum((x - y) ** 2 for x, y in zip(self.sums, other.sums, strict=True))


@dataclass(frozen=True)
class Played:
    """What happened. itemsets: what is released, and which of them as doubtful. items: the sum of each item that the
    data know, before noise; weights: what units gave them."""

    steps: tuple[Step, ...]
    itemsets: tuple[tuple[tuple[Any, ...], bool | None], ...]
    supports: tuple[int, ...]
    items: Mapping[str, int]
    weights: tuple[int, ...]

    def item_sum(self, label: str) -> int:
        return self.items.get(label, 0)


@dataclass
class _Source:
    """A source whose items are seen: what they weigh, and their sums."""

    transactions: Transactions
    recorder: _Recorder
    inner: Any = None

    def items(self, universe: Universe) -> _Source:
        self.inner = LocalSource(self.transactions, Effort(threads=1)).items(universe)
        return self

    def sums(self, weights: Any) -> Any:
        found = self.inner.sums(weights)
        self.recorder.items = {str(self.inner.label(code)): int(value) for code, value in enumerate(found)}
        self.recorder.weights = tuple(weights.tolist())
        return found

    def among(self, codes: Any) -> Any:
        return self.inner.among(codes)

    def label(self, code: int) -> Any:
        return self.inner.label(code)

    def named(self, itemsets: Any) -> Any:
        return self.inner.named(itemsets)


@dataclass
class _Recorder:
    script: Script
    universe: Universe
    steps: list[Step] = field(default_factory=list)
    items: dict[str, int] = field(default_factory=dict)
    weights: tuple[int, ...] = ()
    purpose: str = "items"
    sums: Any = None

    def see_sums(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function that makes sums noisy, its sums noted."""

        def noisy(sums: Any, *rest: Any) -> Any:
            self.sums = sums
            return function(sums, *rest)

        return noisy

    def see_counting(self, function: Callable[..., Any], purposes: Iterator[str]) -> Callable[..., Any]:
        """The function that counts candidates, what it is for noted: each time the next of the purposes."""

        def counted(*rest: Any, **more: Any) -> Any:
            self.purpose = next(purposes)
            found = function(*rest, **more)
            self.purpose = "candidates"
            return found

        return counted

    def noise(self, sigma2: Fraction, size: int, *, randomness: Randomness) -> Any:
        """In place of the noise: what takes the sums to the values that are given."""
        step = len(self.steps)
        if not step:
            labels = [label for label, value in self.items.items() if value or self.universe != UNKNOWN]
            values = [self.script.items.get(label, 0) for label in labels]
        else:
            stream = np.random.default_rng([self.script.seed, step])
            most = int(5 * float(sigma2) ** 0.5) + 40 * GRID
            values = stream.integers(-most // 4, most, size).tolist()
        assert size == len(values) == len(self.sums)
        self.steps.append(Step(self.purpose, tuple(self.sums.tolist()), Fraction(sigma2)))
        self.purpose = "candidates"
        return np.array(values, dtype=np.int64) - self.sums


def played(
    run: Levelwise | Reaching,
    transactions: Transactions,
    script: Script,
    universe: Universe = UNKNOWN,
    threshold: int = 1,
) -> Played:
    """The run on these data with these noisy weights. Items that the script lacks are not named: theirs are 0.

    threshold: what is to be reached, of a run that looks for that.
    """
    recorder = _Recorder(script, universe)
    source: Any = _Source(transactions, recorder)
    room, counts = (
        (two_counts, ("first count", "second count"))
        if isinstance(run, Levelwise)
        else (reaching, ("item count", "set count"))
    )
    purposes = {"weighed": iter(counts), "held_by_units": repeat("histogram")}
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(gaussian_budget, "rounded_normal", recorder.noise))
        for place in (gaussian_budget, discovery):
            seen = recorder.see_sums(vars(place)["noisy_sums"])
            stack.enter_context(mock.patch.object(place, "noisy_sums", seen))
        for name, its in purposes.items():
            stack.enter_context(mock.patch.object(room, name, recorder.see_counting(vars(room)[name], its)))
        randomness = Randomness.seeded(0)
        if isinstance(run, Levelwise):
            found = run.find(source, universe, randomness)
        else:
            found = run.find(source, universe, threshold, randomness)
    return Played(
        tuple(recorder.steps),
        tuple((one.items or (), one.doubtful) for one in found),
        tuple(one.support for one in found),
        recorder.items,
        recorder.weights,
    )
