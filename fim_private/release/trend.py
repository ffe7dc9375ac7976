"""Pages of several releases: what changed between two, and how shares moved over more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fim_private.display import printable
from fim_private.errors import ParameterError
from fim_private.reading.labels import Item
from fim_private.release.changes import (
    Change,
    Changes,
    check_alike,
    check_has_shares,
    compared,
    counted,
    listed,
)
from fim_private.release.release import Release
from fim_private.release.templates import checked_title, render
from fim_private.request.itemsets import Itemset

# Of a chart, in units of its drawing; what is read stands beside it.
_WIDTH, _HEIGHT, _EDGE = 240, 72, 4
_MOST = 200  # charts: more nobody reads


def changes_page(changes: Changes, *, title: str | None = None) -> str:
    """Return what changed between two releases as a page."""
    checked_title(title)
    return render(
        "changes.html.jinja",
        title=title or "What changed",
        private=changes.private,
        changes=changes,
    )


# -------------------- how shares moved over more


@dataclass(frozen=True)
class _Point:
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

    items: tuple[Item, ...]
    runs: Sequence[Sequence[_Point]]
    change: Change | None

    def y(self, share: float) -> float:
        """Return where a share is in the chart."""
        highest = max(point.high for run in self.runs for point in run) or 1.0
        return _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * share / highest

    def band(self, run: Sequence[_Point]) -> Sequence[_Point]:
        """Return the points that a band joins."""
        if len(run) > 1:
            return run
        [point] = run  # the band of one point would have no width
        return replace(point, x=point.x - _EDGE / 2), replace(point, x=point.x + _EDGE / 2)


@dataclass(frozen=True)
class Trend:
    """How the shares of itemsets moved over several releases.

    Attributes:
        changes: The changes from the first release to the last.
        lines: A line for each change, in this order, then for each itemset that only releases in
            between list.
        decimals: How many decimals a share has in per cent.
    """

    changes: Changes
    lines: Sequence[_Line]
    decimals: int

    width, height, bottom = _WIDTH, _HEIGHT, _HEIGHT - _EDGE

    @property
    def drawn(self) -> Sequence[_Line]:
        """The lines that a page shows."""
        return self.lines[:_MOST]


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
    trend = trend_of(releases)
    promises = dict.fromkeys(release.guarantee for release in releases.values())
    return render(
        "trend.html.jinja",
        title=title or "How shares moved",
        names=[*releases],
        private=all(release.private for release in releases.values()),
        trend=trend,
        promises=promises,
    )


def trend_of(releases: Mapping[str, Release]) -> Trend:
    """Return how shares moved over several releases, by their names in order of time.

    Raises ParameterError for fewer than two, or where they do not count the same.
    """
    names, ordered = [printable(name) for name in releases], [*releases.values()]
    if len(ordered) < 2:
        raise ParameterError(f"a trend needs two releases or more, not {len(ordered)}")
    for name, release in zip(names, ordered, strict=True):
        check_has_shares(name, release)
    for earlier, later in pairwise(ordered):
        check_alike(earlier, later)
    changes = replace(compared(ordered[0], ordered[-1]), names=(names[0], names[-1]))
    decimals = max(release.decimals for release in ordered)
    return Trend(changes, _lines(ordered, changes), decimals)


def _lines(releases: Sequence[Release], changes: Changes) -> list[_Line]:
    """Return the line of each itemset that has a share in some release."""
    sizes = {size for release in releases for size in release.sizes}
    tables = [counted(release, sizes) for release in releases]
    change_of = {frozenset(change.items): change for change in changes}
    items_of = {itemset: change.items for itemset, change in change_of.items()}
    for release in releases:
        for itemset, items in listed(release).items():
            items_of.setdefault(itemset, items)
    lines = []
    for itemset, items in items_of.items():
        runs = _runs(itemset, releases, tables)
        if runs:
            lines.append(_Line(items, runs, change_of.get(itemset)))
    return lines


def _runs(
    key: frozenset[Item],
    releases: Sequence[Release],
    tables: Sequence[Mapping[frozenset[Item], Itemset]],
) -> list[list[_Point]]:
    """Return the shares of an itemset, in runs that have no gap.

    tables: the itemsets of each release that have a share.
    """
    runs: list[list[_Point]] = [[]]
    for place, (release, table) in enumerate(zip(releases, tables, strict=True)):
        itemset = table.get(key)
        if itemset is None:
            runs.append([])
            continue
        x = _EDGE + (_WIDTH - 2 * _EDGE) * place / (len(releases) - 1)
        low, high = release.share_interval_of(itemset) or (0.0, 1.0)
        runs[-1].append(_Point(x, release.share_of(itemset) or 0.0, low, high))
    return [run for run in runs if run]
