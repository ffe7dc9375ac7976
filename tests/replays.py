"""Releases made again with the noisy values of another one: what the data add to each value is then
seen without noise.

A release may see its data through noisy values alone. So, forced to the noisy values of a release
of D, a release of a neighbour D′ must ask for the same values, and come out the same; and how far
their true values are apart, in multiples of the noise, is what one unit costs, exactly, whatever
noise was drawn. Nothing is known here of any step but where its noise comes from: everything else
is the package's own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fim_private.counting.source import LocalItems
from fim_private.dp.noise import Randomness
from fim_private.levelwise import discovery
from fim_private.levelwise import recipe as gaussian_budget
from fim_private.request import supports as noisy_supports
from fim_private.request.supports import NoiseKind

# Where true values become noisy ones.
DOORS = ((gaussian_budget, "noisy_sums"), (discovery, "noisy_sums"), (noisy_supports, "release"))


@dataclass(frozen=True)
class Step:
    """Values that get noise together, each of its own.

    kind, parameter: of the noise: σ² of normal noise, the scale of Laplace noise. true: the values
    before noise.
    names: of the items that occur, or are known, where nobody listed all and these are their
    weights; else None.
    """

    kind: NoiseKind
    parameter: Fraction
    true: tuple[int, ...]
    names: tuple[Any, ...] | None

    def apart(self, other: Step) -> Fraction:
        """How far this step is from that of a neighbour: ‖Δ‖²/σ² of normal noise, Σ|Δ|/b of Laplace
        noise.

        Of items that nobody listed those count that both have.
        """
        assert (self.kind, self.parameter) == (other.kind, other.parameter), "noise is not the same"
        if self.names is not None and other.names is not None:
            theirs = dict(zip(other.names, other.true, strict=True))
            pairs = [
                (x, theirs[name])
                for name, x in zip(self.names, self.true, strict=True)
                if name in theirs
            ]
        else:
            assert len(self.true) == len(other.true), "candidates are not the same"
            pairs = list(zip(self.true, other.true, strict=True))
        power = 1 if self.kind is NoiseKind.LAPLACE else 2
        return Fraction(sum(abs(x - y) ** power for x, y in pairs)) / self.parameter

    def lone(self, other: Step) -> list[int]:
        """The weights of items that only this one has, where nobody listed them."""
        if self.names is None or other.names is None:
            return []
        return [x for name, x in zip(self.names, self.true, strict=True) if name not in other.names]

    @property
    def deviation(self) -> float:
        """About σ of the noise."""
        return float(self.parameter) ** (1 if self.kind is NoiseKind.LAPLACE else 0.5)


@dataclass(frozen=True)
class Transcript:
    """What a run asked for, in order, what it was told, and what came out."""

    steps: tuple[Step, ...]
    told: tuple[tuple[int, ...], ...]
    outcome: Any

    def apart(self, other: Transcript) -> list[tuple[NoiseKind, Fraction]]:
        """How far each step is from that of a neighbour, by the kind of its noise.

        Fails where more than the noisy values leaves the data.
        """
        assert len(self.steps) == len(other.steps), "steps are not the same"
        found = [
            (one.kind, one.apart(two)) for one, two in zip(self.steps, other.steps, strict=True)
        ]
        assert self.outcome == other.outcome, "more than the noisy values leaves the data"
        return found


# Says the noisy values of a step, the number of which is given.
Teller = Callable[[int, Step], Sequence[int]]


def recorded(run: Callable[[], Any], teller: Teller, known: Collection[Any] = ()) -> Transcript:
    """Run it with these noisy values. known: public items, which take part anyway."""
    steps: list[Step] = []
    told: list[tuple[int, ...]] = []
    with _told(steps, told, teller, known):
        outcome = run()
    return Transcript(tuple(steps), tuple(told), outcome)


def forced(
    run: Callable[[], Any], transcript: Transcript, known: Collection[Any] = ()
) -> Transcript:
    """Run it with the noisy values of another one. An item that only this one has weighs 0."""

    def teller(place: int, step: Step) -> Sequence[int]:
        assert place < len(transcript.steps), "steps are not the same"
        theirs, told = transcript.steps[place], transcript.told[place]
        if step.names is not None and theirs.names is not None:
            by_name = dict(zip(theirs.names, told, strict=True))
            return [by_name.get(name, 0) for name in step.names]
        assert len(step.true) == len(told), "candidates are not the same"
        return told

    return recorded(run, teller, known)


@contextmanager
def _told(
    steps: list[Step], told: list[tuple[int, ...]], teller: Teller, known: Collection[Any]
) -> Iterator[None]:
    """Have all noise make of the true values what is told; all other randomness is refused."""
    true: list[int] | None = None
    sources: list[Randomness] = []
    items: list[tuple[Any, int]] = []
    finding = False

    def door(function: Callable[..., Any], finds: bool) -> Callable[..., Any]:
        def noisy(values: Any, *rest: Any, **more: Any) -> Any:
            nonlocal true, finding
            true, finding = [int(value) for value in values], finds
            out = function(values, *rest, **more)
            assert true is None, "values leave without their noise"
            assert [int(value) for value in out] == [*told[-1]], "values leave without their noise"
            return out

        return noisy

    def sampler(kind: NoiseKind) -> Callable[..., Any]:
        def drawn(parameter: Fraction, size: int, *, randomness: Randomness) -> Any:
            nonlocal true
            assert true is not None, "noise is drawn for no values"
            assert len(true) == size, "values leave without their noise"
            # One stream never gives the same noise again.
            sources.append(randomness)
            assert randomness is sources[0], "noise is drawn from several streams"
            met = [label for label, value in items if value or label in known]
            names = tuple(met) if finding and len(met) == size else None
            steps.append(Step(kind, Fraction(parameter), tuple(true), names))
            told.append(tuple(map(int, teller(len(steps) - 1, steps[-1]))))
            noise = np.array([y - x for y, x in zip(told[-1], true, strict=True)], dtype=np.int64)
            true = None
            return noise

        return drawn

    def sums(source: LocalItems, scale: int, most: int, whole: Any = LocalItems.level_sums) -> Any:
        found = whole(source, scale, most)
        items[:] = [
            (source.named([[code]])[0][0], value) for code, value in enumerate(found.tolist())
        ]
        return found

    def refused(*_: Any) -> Any:
        raise AssertionError("something is picked, not measured")

    with pytest.MonkeyPatch.context() as patch:
        for module, name in DOORS:
            patch.setattr(module, name, door(vars(module)[name], module is discovery))
        patch.setattr(gaussian_budget, "rounded_normal", sampler(NoiseKind.NORMAL))
        patch.setattr(noisy_supports, "_DRAW", {kind: sampler(kind) for kind in NoiseKind})
        patch.setattr(LocalItems, "level_sums", sums)
        for name in ("bits", "words"):
            patch.setattr(Randomness, name, refused)
        yield
