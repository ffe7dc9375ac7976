"""What comes out as a picture: which bars and texts stand for it. `charts` draws them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from fim_private.charts.bar_chart import Bar, BarChart
from fim_private.dp.cost import at_least
from fim_private.mining import wording
from fim_private.mining.itemset import Itemset
from fim_private.mining.outcome import Outcome

# More bars nobody reads; the other forms of a release have all.
_MOST = 200


class Pictured(Outcome):
    """What comes out, with what it looks like."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What was released, in words."""

    @property
    @abstractmethod
    def guarantee(self) -> str:
        """The guarantee, in one sentence."""

    @property
    @abstractmethod
    def certainty(self) -> tuple[str, ...]:
        """How certain it is that these itemsets are what was asked for."""

    def chart(self, *, relative: bool = True, most: int | None = _MOST) -> BarChart:
        """Return what is drawn of it: bars and texts.

        relative: whether supports are shares, where these are known. most: of how many itemsets there are bars.
        """
        per_cent = relative and self.has_shares and bool(self.units)
        who = "customers" if self.privacy_unit == "user" else "baskets"
        among = "all" if self.units_interval is None else "about"
        scale = f"share of {among} {self.units:,} {who}" if per_cent else who
        bars = tuple(self._bar(itemset, per_cent=per_cent) for itemset in self.itemsets[:most])
        return BarChart(
            title=self.title,
            bars=bars,
            scale=scale if self.has_supports and bars else "",
            per_cent=per_cent,
            more=len(self.itemsets) - len(bars),
            warning="" if self.private else self.guarantee,
            notes=tuple(self._notes()),
            short_title=self._short_title,
            short_note=self._short_note,
        )

    @property
    def _short_title(self) -> str:
        found = len(self.itemsets)
        if not found:
            return self.title
        return f"{'1 itemset' if found == 1 else f'{found:,} itemsets'} of {wording.of_items(self.sizes)}"

    @property
    def _short_note(self) -> str:
        promised = f"ε = {at_least(self.cost.epsilon)}, δ = {at_least(self.cost.delta)} for any one {self.privacy_unit}"
        said = ["95 % intervals"] if self.has_supports and self.itemsets else []
        return "; ".join([*said, promised] if self.private else said)

    def _notes(self) -> Iterator[str]:
        """Yield what stands below the bars: how to read them, and what is promised."""
        if self.itemsets and self.has_supports:
            maybe = "; striped, what is marked ?" if any(one.doubtful for one in self.itemsets) else ""
            who = "customers" if self.privacy_unit == "user" else "baskets"
            yield f"Bars: {who} with all of the items, as noisy numbers{maybe}. Lines: 95 % intervals, each by itself."
        elif self.itemsets:
            yield "Supports were not asked for: this is a list, and says nothing of how frequent each is."
        else:
            yield "The budget of this release is spent all the same."
        yield from self.certainty
        yield from self.rows_read
        if self.private:
            yield self.guarantee

    def _bar(self, itemset: Itemset, *, per_cent: bool) -> Bar:
        """Return what is drawn of an itemset."""
        doubtful = bool(itemset.doubtful)
        if itemset.support is None or itemset.interval is None:
            return Bar(itemset.items, doubtful=doubtful)
        low, high = itemset.interval
        told, interval = f"{itemset.support:,}", f"{low:,} to {high:,}"
        if not per_cent:
            return Bar(itemset.items, itemset.support, low, high, told, interval, doubtful)
        share, ends = self.share_of(itemset) or 0.0, self.share_interval_of(itemset) or (0.0, 0.0)
        decimals = wording.decimals_of_shares(0 if self.noise is None else self.noise.half_width, self.units or 0)
        told = wording.percent(share, decimals)
        interval = " to ".join(wording.percent(end, decimals) for end in ends)
        return Bar(itemset.items, 100 * share, 100 * ends[0], 100 * ends[1], told, interval, doubtful)

    def plot(self, ax: Any = None, *, relative: bool = True) -> Any:
        """Draw the itemsets as bars with their 95 % intervals, and return the axes of matplotlib (extra figures).

        ax: axes to draw on; None for a new figure, which is as high as it takes. relative: whether supports are told as
        shares of all units where their number was released; False for units.
        Without supports it is a list of names. It has the guarantee below, and tells of an abstention.
        Raises MissingExtraError without matplotlib, and ParameterError where ax is no axes.
        """
        from fim_private.charts.on_axes import draw

        return draw(self.chart(relative=relative), ax)

    def to_svg(self, *, relative: bool = True) -> str:
        """Return the picture that plot() draws as SVG, for which nothing has to be installed.

        It has no script, and loads nothing. relative: as in plot().
        """
        from fim_private.charts.as_svg import svg

        return svg(self.chart(relative=relative))
