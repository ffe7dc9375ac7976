"""What is drawn of itemsets, whatever draws it: bars with their intervals on one scale, or, without numbers, a list."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fim_private.charts.names import short_name, whole_name
from fim_private.glance import MARK

# About so many ticks stand on the scale.
_TICKS = 5
_STEPS = (1, 2, 2.5, 5, 10)
# In the place of a name.
UNNAMED = "an itemset without a name"
# Where there is room, names are so wide, in units of the letters' size.
WIDE = 30.0


@dataclass(frozen=True)
class Bar:
    """One itemset.

    items: of which it consists; None for one without a name. length, low, high: its support and the ends of
    the interval, in units of the scale; None where no number was released. told, interval: the same as texts.
    doubtful: whether it may not belong here.
    """

    items: tuple[object, ...] | None
    length: float | None = None
    low: float | None = None
    high: float | None = None
    told: str = ""
    interval: str = ""
    doubtful: bool = False

    def label(self, widest: float) -> str:
        """Return what stands beside it, about so wide at most, in units of the letters' size."""
        name = UNNAMED if self.items is None else short_name(self.items, widest)
        return f"{name} {MARK}" if self.doubtful else name

    @property
    def described(self) -> str:
        """All of it in words, for who points at it or hears it."""
        name = UNNAMED if self.items is None else whole_name(self.items)
        numbers = f": {self.told} ({self.interval})" if self.told else ""
        return name + numbers + ("; may not be one of those asked for" if self.doubtful else "")


@dataclass(frozen=True)
class BarChart:
    """Bars from the top down, in the order of the release, and the texts around them.

    title: what it shows. warning: what must be seen before all else, "" for nothing. scale: what lengths are, and in
    which unit; "" where there are none. per_cent: whether lengths are percentages, so that no scale goes beyond 100.
    more: of how many further itemsets there is no bar. notes: how to read it, what is promised, a paragraph each.
    short_title, short_note: what is said in place of title and notes where there is little room. reach: how far the
    scale goes at least, for charts that are to be compared.
    """

    title: str
    bars: tuple[Bar, ...]
    scale: str = ""
    per_cent: bool = False
    more: int = 0
    warning: str = ""
    notes: tuple[str, ...] = ()
    short_title: str = ""
    short_note: str = ""
    reach: float = 0.0

    @property
    def has_lengths(self) -> bool:
        """Whether there is a scale: numbers were released of something."""
        return any(bar.length is not None for bar in self.bars)

    @property
    def longest(self) -> float:
        """The highest end of an interval, > 0."""
        return max([self.reach, *(bar.high for bar in self.bars if bar.high is not None)]) or 1.0

    def part(self, length: float) -> float:
        """Return a length as a part of the longest, 0 to 1: for bars without a scale."""
        return length / self.longest

    @property
    def ticks(self) -> tuple[float, ...]:
        """Where the scale has ticks: round numbers from 0 to the first that no interval goes beyond."""
        rough = self.longest / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(each * power for each in _STEPS if each * power >= rough * (1 - 1e-9))
        if not self.per_cent:
            step = max(math.ceil(step), 1)  # units are whole
        count = math.ceil(self.longest / step - 1e-9)
        ticks = tuple(round(place * step, 12) for place in range(count + 1))
        if self.per_cent and ticks[-1] > 100:
            return (*(tick for tick in ticks if tick < 100), 100.0)
        return ticks

    @property
    def end(self) -> float:
        """Where the scale ends."""
        return self.ticks[-1]

    def tick_text(self, tick: float) -> str:
        """Return what stands at a tick."""
        return f"{tick:g} %" if self.per_cent else f"{tick:,.0f}"

    @property
    def below(self) -> Iterator[str]:
        """Yield what stands below the bars: what is not drawn, and the notes."""
        if self.more:
            yield f"{self.more:,} more {'is' if self.more == 1 else 'are'} not drawn."
        yield from self.notes


def on_one_scale(charts: Sequence[BarChart]) -> list[BarChart]:
    """Return charts whose scales end alike, those that tell shares and those that tell units each among themselves."""
    ends = {
        kind: max((chart.longest for chart in charts if chart.has_lengths and chart.per_cent == kind), default=0.0)
        for kind in (True, False)
    }
    return [replace(chart, reach=ends[chart.per_cent]) for chart in charts]
