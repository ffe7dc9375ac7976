"""Releases of several segments or periods, such as stores, that were made together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from fim_private.display import JsonObject, Table, markdown, printable
from fim_private.dp.accountant import added_up
from fim_private.dp.charge import Charged
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.options.outputs import FigureKind
from fim_private.release import forms, words
from fim_private.release.chart import draw_all
from fim_private.release.figures import figure_charts
from fim_private.release.files import Published
from fim_private.release.release import Release, promise_of
from fim_private.release.rules import RulesBySegment

# So many segments without itemsets are named in a session.
_FEW_SEGMENTS = 5


@dataclass(frozen=True, repr=False)
class SegmentedRelease(Published, Mapping[str, Release]):
    """A release of each segment, under its name: a mapping, in the order of the list of segments.

    releases: one of each segment; what one of them says of its budget is of it alone. cost: the
    (epsilon, delta) of all of them together, and zcdp, where the budget was given as rho, the (rho,
    delta). charged: what a ledger says.
    """

    releases: tuple[Release, ...]
    cost: PrivacyCost
    zcdp: ZcdpCost | None = None
    charged: Charged | None = None

    def __getitem__(self, segment: object) -> Release:
        """Return the release of a segment, named as text or as a whole number. Raises KeyError for
        others.
        """
        return self.by_segment[str(segment)]

    @cached_property
    def by_segment(self) -> dict[str, Release]:
        """The release of each segment or period, under its name."""
        return {release.scope.part or "": release for release in self.releases}

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_segment)

    def __len__(self) -> int:
        return len(self.releases)

    @property
    def by(self) -> str:
        """The column of segments, or of times; else the option whose values have a release each:
        "with_items" or "group".
        """
        scope, options = self.releases[0].scope, {"item": "with_items", "level": "group"}
        return options.get(self.kind_of_part) or scope.by or scope.time or ""

    @property
    def max_segments(self) -> int:
        """In how many segments, or periods, a unit counts at most."""
        return self.releases[0].scope.max_segments

    @property
    def private(self) -> bool:
        """Whether it protects anybody: not where a seed was given."""
        return all(release.private for release in self.releases)

    def with_exact_intervals(self) -> SegmentedRelease:
        """Return the same releases with supports and intervals that each hold by themselves."""
        releases = tuple(release.with_exact_intervals() for release in self.releases)
        return replace(self, releases=releases)

    @property
    def abstained(self) -> bool:
        """Whether nothing came out."""
        return all(release.abstained for release in self.releases)

    @property
    def neighbors(self) -> str:
        """The neighbour relation."""
        return self.releases[0].neighbors

    @property
    def privacy_unit(self) -> str:
        """The privacy unit: "basket" or "user"."""
        return self.releases[0].privacy_unit

    @property
    def with_parts(self) -> bool:
        """Whether rules can be made."""
        return all(release.with_parts for release in self.releases)

    @property
    def guarantee(self) -> str:
        """The guarantee of all of it, in one sentence."""
        return self.whole.guarantee

    @property
    def whole(self) -> Release:
        """A release without itemsets that says what holds for all segments together."""
        first = self.releases[0]
        # How it was split in one segment may not be how it was in another.
        same_shares = all(release.shares == first.shares for release in self.releases)
        names = ", ".join(self)
        # A unit counts in so many of them. A user who is protected for good counts in all periods.
        counting = self.releases[: self.max_segments]
        if self.kind_of_part == "period" and self.privacy_unit == "user":
            counting = self.releases
        # Levels of groups share the steps of one plan of levelwise, or have a plan each.
        if self.kind_of_part == "level" and first.mechanism != "levelwise":
            counting = self.releases
        scopes = {
            "item": replace(first.scope, with_items=()),
            "level": replace(first.scope, catalogue=None),
            "segment": replace(first.scope, segment=names),
            "period": replace(first.scope, period=names),
        }
        return replace(
            first,
            scope=scopes[self.kind_of_part],
            top=max(release.top for release in self.releases),
            cost=self.cost,
            zcdp=self.zcdp,
            abstained=any(release.abstained for release in self.releases),
            adds_up=added_up(release.adds_up for release in counting),
            charged=self.charged,
            shares=first.shares if same_shares else (),
            itemsets=(),
            parts=(),
            known=(),
            capped=False,
            units=None,
            units_interval=None,
            units_noise=None,
            noise=None,
            threshold=None,
            shortfall=None,
            request=None,
        )

    @property
    def title(self) -> str:
        """What was released, in words."""
        itemsets = words.number_of(sum(map(len, self.releases)), "itemset")
        parts = words.number_of(len(self), self.kind_of_part)
        titles = {"item": f"{itemsets} with {parts}", "level": f"{itemsets} of {parts} of groups"}
        return titles.get(self.kind_of_part, f"{itemsets} in {parts} of {printable(self.by)}")

    def to_dict(self, *, whole: bool = False) -> JsonObject:
        """Return plain values (docs/json.md): what holds for all, and each release as its own
        to_dict.
        """
        return forms.plain_segments(self, everything=whole)

    def sheet_rows(self) -> forms.Rows:
        """Return the rows of Release.sheet_rows of all segments, with the segment in a first
        column.
        """
        return forms.rows_by_segment(self, self.kind_of_part)

    def to_markdown(self, rules: RulesBySegment | None = None) -> str:
        """Return Markdown: a heading and a release for each segment, and the guarantee of all."""
        releases = []
        for name, release in self.items():
            content = release.to_markdown(rules and {"": rules[name]})
            releases.append(f"## {markdown(release.heading)}\n\n{content}")
        return "\n".join([f"# {markdown(self.title)}\n", *releases, promise_of(self.whole)])

    def to_pandas(
        self, *, relative: bool = True, lists: bool = False, downward_closed: bool = False
    ) -> forms.Frame:
        """Return the frames of Release.to_pandas, one below the other, with the segment in a first
        column.
        """
        frames = {
            name: release.to_pandas(relative=relative, lists=lists, downward_closed=downward_closed)
            for name, release in self.items()
        }
        return forms.joined(frames, self.kind_of_part)

    def plot(self, *, kind: str = FigureKind.SUPPORTS, relative: bool = True) -> list[forms.Axes]:
        """Draw each segment as Release.plot does, all in a new figure and on one scale, and return
        their axes.
        """
        return draw_all(figure_charts(self, kind, relative=relative))

    def table(self) -> Table:
        """Return what a session and a notebook show."""
        columns = max((release.columns for release in self.releases), key=len)
        rows = [
            (name, *release.cells(itemset)) for name, release in self.items() for itemset in release
        ]
        nothing = [release.nothing for release in self.releases if release.abstained]
        notes = nothing[:_FEW_SEGMENTS]
        if nothing[_FEW_SEGMENTS:]:
            more = len(nothing) - _FEW_SEGMENTS
            notes.append(f"and {more:,} more {self.kind_of_part}s without itemsets")
        certain = [*dict.fromkeys(line for release in self.releases for line in release.certainty)]
        if len(certain) <= _FEW_SEGMENTS:
            notes += certain
        notes += [*self.whole.rows_read, *words.promises(self.whole)]
        all_of_one = f"release[{self.kind_of_part}]"
        return Table(self.title, (self.kind_of_part, *columns), rows, notes, all_of_one, (0, 1))
