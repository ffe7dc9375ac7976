"""Pages of several releases: what changed between two, and how shares moved over more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fim_private.display import MARK, printable
from fim_private.errors import ParameterError
from fim_private.reading.labels import Item
from fim_private.release import words
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
from fim_private.release.templates import Lead, Number, checked_title, render
from fim_private.request.itemsets import Itemset

# Of a chart, in units of its drawing; what is read stands beside it.
_WIDTH, _HEIGHT, _EDGE = 240, 72, 4
_MOST = 200  # charts: more nobody reads


@dataclass(frozen=True)
class _ChangeRow:
    """A change as the row of a table: the shares before and after, and their difference."""

    change: Change
    before: Number
    after: Number
    difference: Number


def changes_page(changes: Changes, *, title: str | None = None) -> str:
    """Return what changed between two releases as a page."""
    checked_title(title)
    before, after = changes.names
    return render(
        "changes.html.jinja",
        title=title or "What changed",
        facts={"From": before, "To": after},
        lead=_changes_lead(changes),
        private=changes.private,
        before=before,
        after=after,
        unit=changes.unit,
        rows=[_change_row(changes, change) for change in changes],
        notes=changes.notes,
    )


def _change_row(changes: Changes, change: Change) -> _ChangeRow:
    _, _, before, after, difference, interval = changes.cells(change)
    return _ChangeRow(
        change,
        Number(change.before, before),
        Number(change.after, after),
        Number(change.difference or 0, difference, interval),
    )


def _changes_lead(changes: Changes) -> Lead:
    """Return the surest change, and how many itemsets changed."""
    before, after = changes.names
    clear = [change for change in changes if change.clear]
    surest = next((change for change in clear if change.difference is not None), None)
    if surest is None:
        return Lead((f"Nothing changed from {before} to {after} by more than the noise.",))
    itemsets = words.number_of(changes.compared, "itemset")
    return Lead(
        (surest.items, f"{_in_words(surest, changes)} from {before} to {after}."),
        f"{len(clear):,} of {itemsets} changed by more than the noise.",
    )


def _in_words(change: Change, changes: Changes) -> str:
    """Return how the share of an itemset moved, to follow its name in a sentence."""
    who = words.customers(changes.unit)
    before = words.percent(change.before or 0, changes.decimals)
    after = words.percent(change.after or 0, changes.decimals)
    if change.before is None:
        return f" is new, with {after} of all {who}: the surest change"
    if change.after is None:
        return f" is gone, with {before} of all {who}: the surest change"
    verb = "rose" if change.change == "rise" else "fell"
    return f" {verb} most surely: from {before} to {after} of all {who},"


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
        move: The change in words.
    """

    items: tuple[Item, ...]
    runs: Sequence[Sequence[_Point]]
    change: Change | None
    move: str

    @property
    def doubtful(self) -> bool:
        """Whether the change may be noise."""
        return self.change is not None and not self.change.clear

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
    """

    changes: Changes
    lines: Sequence[_Line]

    width, height, bottom = _WIDTH, _HEIGHT, _HEIGHT - _EDGE

    @property
    def drawn(self) -> Sequence[_Line]:
        """The lines that a page shows."""
        return self.lines[:_MOST]

    @property
    def unit(self) -> str:
        """The privacy unit."""
        return self.changes.unit

    @property
    def names(self) -> tuple[str, str]:
        """The names of the first and of the last release."""
        return self.changes.names

    @property
    def lead(self) -> Lead:
        """What changed most surely."""
        return _changes_lead(self.changes)

    @property
    def notes(self) -> list[str]:
        """How the charts are to be read, in sentences."""
        first, last = self.names
        notes = [
            f"Each chart begins at 0. The line is the share of all {words.customers(self.unit)}.",
            "The band is the 95 % interval of each share by itself.",
            f"Only {first} and {last} are compared: the charts are sorted by how surely the share "
            "changed between them.",
            f"{MARK} marks a change that may be noise.",
            *self.changes.statistics,
            "A line has a gap where a release lacks the itemset. It may have been missed there.",
        ]
        if any(line.change is None for line in self.lines):
            notes.append(
                f'The charts that say "not compared" are of itemsets that neither {first} nor '
                f"{last} has, or whose size only one of the two counts."
            )
        return notes


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
    names = [*releases]
    promises = dict.fromkeys(release.guarantee for release in releases.values())
    return render(
        "trend.html.jinja",
        title=title or "How shares moved",
        facts={"Releases": f"{len(names):,}: {names[0]} to {names[-1]}"},
        lead=trend.lead,
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
    return Trend(changes, _lines(ordered, changes))


def _lines(releases: Sequence[Release], changes: Changes) -> list[_Line]:
    """Return the line of each itemset that has a share in some release."""
    sizes = {size for release in releases for size in release.sizes}
    tables = [counted(release, sizes) for release in releases]
    decimals = max(release.decimals for release in releases)
    change_of = {frozenset(change.items): change for change in changes}
    items_of = {itemset: change.items for itemset, change in change_of.items()}
    for release in releases:
        for itemset, items in listed(release).items():
            items_of.setdefault(itemset, items)
    lines = []
    for itemset, items in items_of.items():
        runs = _runs(itemset, releases, tables)
        if runs:
            change = change_of.get(itemset)
            lines.append(_Line(items, runs, change, _move(change, decimals)))
    return lines


def _move(change: Change | None, decimals: int) -> str:
    """Return the first and the last share of an itemset."""
    if change is None:
        return "not compared"
    before = words.percent(change.before or 0.0, decimals)
    after = words.percent(change.after or 0.0, decimals)
    if change.before is None:
        return f"{change.change}, {after}"
    if change.after is None:
        return f"{change.change}, {before}"
    return f"{before} → {after}"


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
