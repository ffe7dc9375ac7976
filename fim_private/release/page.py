"""Releases as pages of HTML for everybody: one, what changed between two, and how shares moved."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple, Unpack

from fim_private.display import printable
from fim_private.errors import MissingExtraError, ParameterError, parameter, shown
from fim_private.options.declaration import filled, takes
from fim_private.options.requests import RuleLimits
from fim_private.release.changes import (
    Change,
    Changes,
    all_changes,
    check_alike,
    check_has_shares,
    itemsets_with_share,
    named_itemsets,
    spent_by_all,
)
from fim_private.release.chart import BarChart
from fim_private.release.officer import facts_of
from fim_private.release.release import Release
from fim_private.release.rules import Number, RuleChoice, Rules, RulesBySegment, rules_by_segment
from fim_private.release.segments import SegmentedRelease
from fim_private.release.structure import Size, matrix_of, network_of
from fim_private.release.templates import check_page_name, checked_title, render
from fim_private.request.itemsets import Items, Itemset
from fim_private.whole_files import staged

# Of a chart of shares over time, in units of its drawing; what is read stands beside it.
_WIDTH, _HEIGHT, _EDGE = 240, 72, 4
# A picture has so many marks at least: fewer have no structure.
_FEWEST = 3
# In pixels, where letters are smallest: as wide as a printed page, below the findings on the first.
_PICTURE = Size(700, 440)


@takes(RuleLimits)
def report(
    release: Release | SegmentedRelease | Sequence[Release],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    **limits: Unpack[RuleLimits],
) -> None:
    """Write a release, or those of segments, as a page of HTML, which shows nothing else and spends
    nothing.

    release: of several, in order of time, the page shows how shares moved, and has no rules.

    title: what stands on top of the page. It has rules where it was mined with rules=True; limits
    are as in Release.rules. Raises ParameterError for what is no release, no path or no title, for
    limits out of range, and for limits of a page without rules. Raises OutputError for a name that
    ends in anything but .html, and where the file cannot be written.
    """
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"a report is written to the path of a file, not to {shown(path)}")
    file = Path(path).expanduser()
    check_page_name(file, option="path")
    choice = RuleChoice.of(filled("report", RuleLimits, limits))
    content = report_page(release, choice, title=title)
    with staged(file, option="path") as write:
        write(content)


def report_page(release: object, choice: RuleChoice, *, title: str | None) -> str:
    """Return the page of a release, with the rules that are chosen; of several in a list, the page
    of how shares moved.
    """
    if isinstance(release, Release | SegmentedRelease):
        if release.with_parts:
            return page(release, rules_by_segment(release, choice), title=title)
        _refuse_limits(choice, f"this release was mined without {parameter('rules')}")
        return page(release, title=title)
    releases = release if isinstance(release, Sequence) else ()
    if any(isinstance(period, SegmentedRelease) for period in releases):
        raise ParameterError(
            "a report of several releases shows one period of each, and one of these holds several "
            "segments or periods: make a report of that one alone"
        )
    if isinstance(release, Sequence) and all(isinstance(period, Release) for period in release):
        _refuse_limits(choice, "the page of several releases has no rules")
        return trend_page(named(release), title=title)
    raise ParameterError(
        f"a report is made of a Release, or of several in a list, not of {shown(release)}"
    )


def _refuse_limits(choice: RuleChoice, reason: str) -> None:
    """Raise ParameterError for a choice of rules where a page has none. reason: why it has none."""
    if choice.asked:
        raise ParameterError(f"leave out {parameter(choice.asked[0])}: {reason}")


def page(
    release: Release | SegmentedRelease,
    rules: RulesBySegment | None = None,
    *,
    title: str | None = None,
    budget: Sequence[str] = (),
) -> str:
    """Return the page of a release, which has only what the release says of itself.

    rules: those of each segment under its name; those of a Release under no name. budget: what its
    ledger says now, in sentences.
    """
    checked_title(title)
    whole, releases = release.whole, release.by_segment
    segments, finer = [], None
    for number, (name, segment) in enumerate(releases.items(), 1):
        if not name:
            number = 0
        rules_of_segment = None if rules is None else rules.get(name)
        segments.append(_Segment(segment, rules_of_segment, number, finer))
        if release.kind_of_part == "level":
            finer = segment
    return render(
        "page.html.jinja",
        title=title or _title_of(whole),
        private=whole.private,
        release=whole,
        facts=facts_of(release, budget),
        segments=segments,
        trend=_trend_of_periods(release),
    )


def _title_of(whole: Release) -> str:
    """Return the title of a page that was given none."""
    if whole.scope.with_items:
        return f"What goes{whole.scope.with_in_words}"
    if whole.scope.with_each:
        return f"What goes with {len(whole.scope.with_each):,} items"
    if max(whole.sizes) > 1:
        return "What is bought together"
    return "What is bought"


def changes_page(changes: Changes, *, title: str | None = None) -> str:
    """Return what changed between two releases as a page."""
    checked_title(title)
    return render(
        "changes.html.jinja",
        title=title or "What changed",
        private=changes.private,
        changes=changes,
        releases=dict(zip(changes.names, changes.releases, strict=True)),
        together=spent_by_all(changes.releases),
    )


def named(releases: Sequence[Release]) -> dict[str, Release]:
    """Return releases under the names of their periods or segments, where these differ, else
    numbered from 1.
    """
    names = [release.scope.part or "" for release in releases]
    if not all(names) or len({*names}) < len(names):
        names = [f"release {number}" for number in range(1, len(names) + 1)]
    return dict(zip(names, releases, strict=True))


def trend_page(releases: Mapping[str, Release], *, title: str | None = None) -> str:
    """Return the shares of itemsets over several releases, by their names in order of time, as a
    page.

    Raises ParameterError for fewer than two, or where they do not count the same.
    """
    checked_title(title)
    trend = _trend_of(releases)
    return render(
        "trend.html.jinja",
        title=title or "How shares moved",
        private=all(release.private for release in releases.values()),
        trend=trend,
        releases=releases,
        together=spent_by_all([*releases.values()]),
    )


# -------------------- findings: a rule and its mirror, which have the same share and lift


class _Finding(NamedTuple):
    """Two sets of items that are bought together: a rule, the surer one if both ways are rules.

    Attributes:
        antecedent: The items on the left.
        consequent: The items on the right.
        verdict: How sure more often than chance is, or the confidence that was asked for if rules
            have no lifts: "sure", "likely", "may be noise", or "less often".
        numbers: Its numbers, by the names of their columns.
        estimates: The same and the ends of their intervals, as in `Rules`.
    """

    antecedent: Items
    consequent: Items
    verdict: str
    numbers: dict[str, Number]
    estimates: Mapping[str, float]

    @property
    def is_long(self) -> bool:
        """Whether it has more than one item and another."""
        return len(self.antecedent + self.consequent) > 2


def _verdict(estimates: Mapping[str, float], *, doubtful: bool) -> str:
    """Return in words how sure a rule is; the page explains them."""
    lift, lowest = (estimates.get(name, math.inf) for name in ("lift", "lift_lower"))
    if not doubtful:
        return "sure" if lowest > 1 else "less often"
    # Chance, which is lift 1, is nearer to the lower end than to the estimate.
    if math.inf > lift > 2 - lowest:
        return "likely"
    return "may be noise"


def _findings(rules: Rules) -> list[_Finding]:
    """Return the findings of rules, those that are surest first."""
    rules_of: dict[frozenset[Items], list[_Finding]] = {}
    for left, right, values, doubtful in rules.rows():
        numbers = rules.shown(values) | {"reverse": Number(None, "–")}
        verdict = _verdict(values, doubtful=doubtful)
        finding = _Finding(left, right, verdict, numbers, values)
        rules_of.setdefault(frozenset((left, right)), []).append(finding)
    surer = []
    for both_ways in rules_of.values():
        both_ways.sort(key=lambda rule: (rule.verdict != "sure", -rule.estimates["confidence"]))
        for reverse in both_ways[1:]:
            both_ways[0].numbers["reverse"] = reverse.numbers["confidence"]
        surer.append(both_ways[0])
    return surer


@dataclass(frozen=True)
class _Segment:
    """One release on the page: that of a segment, or the only one.

    Attributes:
        release: The release.
        rules: Its rules, if any were made.
        number: Which of several it is, from 1; 0 for the only one.
        finer: The release of the next finer level of groups, if there is one.
    """

    release: Release
    rules: Rules | None
    number: int
    finer: Release | None = None

    @property
    def heading(self) -> str:
        """The name of the segment; empty for a release of everything."""
        if not self.number:
            return ""
        return self.release.heading

    @property
    def place(self) -> str:
        """The end of the ids of its elements, which makes them unique."""
        if not self.number:
            return ""
        return f"-{self.number}"

    @cached_property
    def findings(self) -> Sequence[_Finding]:
        """The findings by which the page shows the rules."""
        if self.rules is None:
            return []
        return _findings(self.rules)

    @cached_property
    def picture(self) -> BarChart | None:
        """What goes with what: a network, or a matrix without networkx; None where there is too
        little to draw.
        """
        if self.rules is None or not self.rules.has_lifts:
            return None
        try:
            chart = network_of(self.rules, _PICTURE)
        except MissingExtraError:
            chart = matrix_of(self.rules, _PICTURE)
        if chart.drawing is None or len(chart.drawing.described) < _FEWEST:
            return None
        return chart

    # These two are here for filters of Jinja such as selectattr: they index an object before they
    # look for its attribute, and to index a release is to look for an itemset.

    @property
    def itemsets(self) -> Sequence[Itemset]:
        """The itemsets of the release."""
        return self.release.itemsets

    @property
    def is_pooled(self) -> bool:
        """Whether supports draw on each other."""
        return self.release.is_pooled

    def parts_of(self, itemset: Itemset) -> Sequence[Itemset]:
        """Return the itemsets of the next finer level of groups that lie within this one."""
        if self.finer is None or self.finer.scope.catalogue is None:
            return []
        parent = dict(self.finer.scope.catalogue.within)
        whole = {*(itemset.items or ())}
        return [
            finer
            for finer in self.finer
            if finer.items and {parent.get(group) for group in finer.items} == whole
        ]

    @property
    def level(self) -> str:
        """The level of the headings of its sections."""
        return "h3" if self.heading else "h2"

    @property
    def by_size(self) -> Mapping[int, Sequence[Itemset]]:
        """The itemsets of each size."""
        groups: dict[int, list[Itemset]] = {}
        for itemset in self.release:
            size = self.release.sizes[0] if itemset.items is None else len(itemset.items)
            groups.setdefault(size, []).append(itemset)
        return groups

    @cached_property
    def first_findings(self) -> Sequence[_Finding]:
        """The findings to tell first: what is sure, and pairs, before others."""
        findings = [finding for finding in self.findings if finding.verdict != "less often"]
        findings.sort(key=lambda finding: (finding.verdict != "sure", finding.is_long))
        return findings

    @cached_property
    def first_itemsets(self) -> Sequence[Itemset]:
        """The itemsets to tell first, if they are sure by their support, or else by their rank:
        those of several items before others.
        """
        sure = []
        for itemset in self.release:
            is_sure = not itemset.doubtful
            interval = itemset.by_itself.interval
            if interval is not None:
                is_sure = interval[0] > 0
            if itemset.items and is_sure:
                sure.append(itemset)
        sure.sort(key=lambda itemset: len(itemset.items or ()) == 1)
        return sure


# -------------------- how shares moved over several releases


class _Point(NamedTuple):
    """The share of an itemset in one release, with its interval, and its place in a chart."""

    x: float
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class _Line:
    """The shares of one itemset over several releases, as a chart.

    Attributes:
        items: The itemset.
        runs: Its shares: a new run begins after each gap.
        change: From the first to the last release; None if these two are not compared in it.
    """

    items: Items
    runs: Sequence[Sequence[_Point]]
    change: Change | None

    @property
    def highest(self) -> float:
        """The highest end of its intervals, above 0."""
        return max(point.high for run in self.runs for point in run) or 1.0

    def band(self, run: Sequence[_Point]) -> Sequence[_Point]:
        """Return the points that a band joins."""
        if len(run) > 1:
            return run
        [point] = run  # the band of one point would have no width
        return point._replace(x=point.x - _EDGE / 2), point._replace(x=point.x + _EDGE / 2)


@dataclass(frozen=True)
class _Trend:
    """How the shares of itemsets moved over several releases.

    Attributes:
        changes: The changes from the first release to the last.
        lines: A line for each change, in this order, then for each itemset that only releases in
            between list.
    """

    changes: Changes
    lines: Sequence[_Line]

    width, height, top, bottom = _WIDTH, _HEIGHT, _EDGE, _HEIGHT - _EDGE

    @cached_property
    def ticks(self) -> Sequence[float]:
        """Round numbers on the scale of all lines, in per cent, from 0 on."""
        reach = 100 * max(line.highest for line in self.lines)
        return BarChart("", [], per_cent=True, reach=reach).ticks

    def y(self, share: float) -> float:
        """Return where a share is in a chart."""
        return self.bottom - (self.bottom - self.top) * 100 * share / self.ticks[-1]


def _trend_of_periods(release: Release | SegmentedRelease) -> _Trend | None:
    """Return how shares moved over the periods of a release; None where that cannot be told."""
    releases = release.by_segment
    have_shares = all(period.has_shares for period in releases.values())
    if release.kind_of_part != "period" or len(releases) < 2 or not have_shares:
        return None
    trend = _trend_of(releases)
    return trend if trend.lines else None


def _trend_of(releases: Mapping[str, Release]) -> _Trend:
    """Return how shares moved over several releases, by their names in order of time.

    Raises ParameterError for fewer than two, or where they do not count the same.
    """
    names, ordered = [*map(printable, releases)], [*releases.values()]
    if len(ordered) < 2:
        raise ParameterError(f"a trend needs two releases or more, not {len(ordered)}")
    for name, release in releases.items():
        check_has_shares(printable(name), release)
    for earlier, later in pairwise(ordered):
        check_alike(earlier, later)
    changes = replace(all_changes(ordered[0], ordered[-1]), names=(names[0], names[-1]))
    return _Trend(changes, _lines(ordered, changes))


def _lines(releases: Sequence[Release], changes: Changes) -> list[_Line]:
    """Return the line of each itemset that has a share in some release."""
    change_of = {frozenset(change.items): change for change in changes}
    items_of = {key: change.items for key, change in change_of.items()}
    sizes = {size for release in releases for size in release.sizes}
    tables = []
    for place, release in enumerate(releases):
        items_of |= named_itemsets(release)
        x = _EDGE + (_WIDTH - 2 * _EDGE) * place / (len(releases) - 1)
        table = {}
        for key, itemset in itemsets_with_share(release, sizes).items():
            low, high = release.share_interval_of(itemset) or (0.0, 1.0)
            table[key] = _Point(x, release.share_of(itemset) or 0.0, low, high)
        tables.append(table)
    lines = []
    for key, items in items_of.items():
        points = [table.get(key) for table in tables]
        runs = [[*filter(None, run)] for is_there, run in groupby(points, key=bool) if is_there]
        if runs:
            lines.append(_Line(items, runs, change_of.get(key)))
    return lines
