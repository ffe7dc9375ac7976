"""Releases made again with the noisy values of another one, as auditing.replay does with any
mechanism.

Nothing is known here of any step but where its noise comes from: everything else is the package's
own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fim_private.auditing import replay
from fim_private.auditing.replay import Number, Recorder
from fim_private.counting.source import LocalItems
from fim_private.dp.noise import Randomness
from fim_private.levelwise import discovery
from fim_private.levelwise import recipe as gaussian_budget
from fim_private.request import supports as noisy_supports
from fim_private.request.supports import NoiseKind

# Where true values become noisy ones.
DOORS = ((gaussian_budget, "noisy_sums"), (discovery, "noisy_sums"), (noisy_supports, "release"))


@dataclass(frozen=True)
class Step(replay.Step):
    """Whole numbers that get noise together.

    names: of the items that occur, or are known, where nobody listed all and these are their
    weights; else None.
    """

    true: tuple[int, ...]
    names: tuple[Any, ...] | None = None

    def moves(self, neighbor: replay.Step) -> list[Fraction]:
        """Of items that nobody listed those count that both have."""
        assert isinstance(neighbor, Step)
        if self.names is None or neighbor.names is None:
            return super().moves(neighbor)
        theirs = dict(zip(neighbor.names, neighbor.true, strict=True))
        named = zip(self.names, self.true, strict=True)
        return [Fraction(abs(x - theirs[name])) for name, x in named if name in theirs]

    def told_again(self, neighbor: replay.Step, told: Sequence[Number]) -> Sequence[Number]:
        """An item that only this one has weighs 0."""
        assert isinstance(neighbor, Step)
        if self.names is None or neighbor.names is None:
            return super().told_again(neighbor, told)
        by_name = dict(zip(neighbor.names, told, strict=True))
        return [by_name.get(name, 0) for name in self.names]

    def lone(self, other: Step) -> list[int]:
        """The weights of items that only this one has, where nobody listed them."""
        if self.names is None or other.names is None:
            return []
        return [x for name, x in zip(self.names, self.true, strict=True) if name not in other.names]

    @property
    def deviation(self) -> float:
        """About σ of the noise."""
        return math.pow(self.parameter, 1 / self.norm)


class Transcript(Recorder):
    """Of a release."""

    steps: list[Step]  # type: ignore[assignment]


# Says the noisy values of a step, the number of which is given.
Teller = Callable[[int, Step], Sequence[Number]]


def recorded(run: Callable[[], Any], teller: Teller, known: Collection[Any] = ()) -> Transcript:
    """Run it with these noisy values. known: public items, which take part anyway."""

    def told(place: int, step: replay.Step) -> Sequence[Number]:
        assert isinstance(step, Step)
        return teller(place, step)

    transcript = Transcript(told)
    with _told(transcript, known):
        transcript.outcome = run()
    return transcript


def forced(
    run: Callable[[], Any], transcript: Transcript, known: Collection[Any] = ()
) -> Transcript:
    """Run it with the noisy values of another one."""
    return recorded(run, transcript.told_again, known)


@contextmanager
def _told(recorder: Recorder, known: Collection[Any]) -> Iterator[None]:
    """Have all noise make of the true values what is told; all other randomness is refused."""
    told: list[int] = []
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
            assert [int(value) for value in out] == told, "values leave without their noise"
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
            norm = 1 if kind is NoiseKind.LAPLACE else 2
            discrete = kind is NoiseKind.GAUSSIAN
            step = Step(norm, Fraction(parameter), tuple(true), discrete, names)
            told[:] = map(int, recorder.noisy(step))
            noise = np.array([y - x for y, x in zip(told, true, strict=True)], dtype=np.int64)
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
