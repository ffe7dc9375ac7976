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
from fim_private.release.markup import (
    checked_title,
    chips,
    document,
    grid,
    in_sentence,
    number_cell,
    paragraph,
    section,
    tag,
    text,
)
from fim_private.release.release import Release
from fim_private.request.itemsets import Itemset

# Of a chart, in units of its drawing; what is read stands beside it.
_WIDTH, _HEIGHT, _EDGE = 240.0, 72.0, 4.0
_MOST = 200  # charts: more nobody reads


def changes_page(changes: Changes, *, title: str | None = None) -> str:
    """Return what changed between two releases as a page."""
    checked_title(title)
    before, after = changes.names
    mark = "may be noise"
    rows = []
    for one in changes:
        _, kind, *shares, difference, interval = changes.cells(one)
        doubt = "" if one.clear else mark
        cells = [
            tag(
                "th",
                chips(one.items, changes.unit, doubt),
                scope="row",
                role="rowheader",
                class_="side",
            )
        ]
        cells.append(tag("td", text(kind.partition(",")[0]), role="cell"))
        named = zip((before, after), (one.before, one.after), shares, strict=True)
        cells += [
            number_cell("share", name, -1 if value is None else value, said)
            for name, value, said in named
        ]
        cells.append(
            number_cell("difference", "Difference", one.difference or 0, difference, interval)
        )
        rows.append(tag("tr", *cells, role="row"))
    heads = [("Items", "side"), ("Change", ""), (before, "number share"), (after, "number share")]
    found = grid("itemsets", [*heads, ("Difference", "number difference")], rows) if rows else ""
    main = [
        section("What changed", tag("div", found, class_="list")),
        _notes_section(changes.notes),
    ]
    facts = {"From": before, "To": after}
    warning = "" if changes.private else words.SEEDED
    return document(title or "What changed", facts, _changes_lead(changes), main, [], warning)


def _changes_lead(changes: Changes) -> str:
    before, after = map(text, changes.names)
    clear = [change for change in changes if change.clear]
    first = next((change for change in clear if change.difference is not None), None)
    if first is None:
        return f"Nothing changed from {before} to {after} by more than the noise."
    counted_ = (
        f"{len(clear):,} of {words.number_of(changes.compared, 'itemset')} changed by more "
        f"than the noise."
    )
    return (
        f"{_in_words(first, changes.decimals, changes.unit)} from {before} to {after}. {counted_}"
    )


def _in_words(one: Change, decimals: int, unit: str) -> str:
    """Return in words how one itemset moved: HTML."""
    names, who = in_sentence(one.items), words.customers(unit)
    at = [
        "" if share is None else words.percent(share, decimals) for share in (one.before, one.after)
    ]
    if one.before is None or one.after is None:
        way, of = ("is new", at[1]) if one.before is None else ("is gone", at[0])
        return f"{names} {way}, with {of} of all {who}: the surest change"
    way = "rose" if one.change == "rise" else "fell"
    return f"{names} {way} most surely: from {at[0]} to {at[1]} of all {who},"


@dataclass(frozen=True)
class _Line:
    """The shares of one itemset over several releases.

    Attributes:
        places: Which of the releases have it, counted from 0.
        shares: Its share in each of these.
        intervals: The 95 % interval of each share.
        change: From the first to the last release; None if these two are not compared in it.
    """

    items: tuple[Item, ...]
    places: tuple[int, ...]
    shares: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    change: Change | None


def named(releases: Sequence[Release]) -> dict[str, Release]:
    """Return releases under the names of their periods or segments, where these differ, else
    numbered from 1.
    """
    names = [release.scope.part or "" for release in releases]
    numbered = [f"release {number}" for number in range(1, len(names) + 1)]
    apart = all(names) and len({*names}) == len(names)
    return dict(zip(names if apart else numbered, releases, strict=True))


def trend_page(releases: Mapping[str, Release], *, title: str | None = None) -> str:
    """Return the shares of itemsets over several releases, by their names in order of time, as a
    page.

    Raises ParameterError for fewer than two, or where they do not count the same.
    """
    checked_title(title)
    every = [*releases.values()]
    private = all(release.private for release in every)
    charts, lead, notes = _trend(releases)
    facts = {"Releases": f"{len(every):,}: {next(iter(releases))} to {[*releases][-1]}"}
    warning = "" if private else words.SEEDED
    promised = dict.fromkeys(release.guarantee for release in every if release.private)
    end = [section("What each release promises", *map(paragraph, promised))] if private else []
    return document(
        title or "How shares moved", facts, lead, [charts, _notes_section(notes)], end, warning
    )


def trend_section(releases: Mapping[str, Release]) -> tuple[str, str]:
    """Return the charts of a page of several periods, and its first paragraph: empty if no itemset
    has a share.
    """
    charts, lead, _ = _trend(releases)
    return (charts, lead) if charts else ("", "")


def _trend(releases: Mapping[str, Release]) -> tuple[str, str, list[str]]:
    """Return the charts, the sentence above them, and how to read them."""
    names, every = [printable(name) for name in releases], [*releases.values()]
    if len(every) < 2:
        raise ParameterError(f"a trend needs two releases or more, not {len(every)}")
    for name, release in zip(names, every, strict=True):
        check_has_shares(name, release)
    for earlier, later in pairwise(every):
        check_alike(earlier, later)
    changes = replace(compared(every[0], every[-1]), names=(names[0], names[-1]))
    lines = _lines(every, changes)
    decimals = max(release.decimals for release in every)
    cards = [_card(line, names, decimals, changes.unit) for line in lines[:_MOST]]
    charts = section("Shares over time", tag("div", *cards, class_="multiples")) if cards else ""
    return charts, _changes_lead(changes), _how_to_read(changes, lines)


def _how_to_read(changes: Changes, lines: Sequence[_Line]) -> list[str]:
    first, last = changes.names
    notes = [
        f"Each chart begins at 0. The line is the share of all {words.customers(changes.unit)}.",
        "The band is the 95 % interval of each share by itself.",
        (
            f"Only {first} and {last} are compared: the charts are sorted by how surely the share "
            f"changed between them."
        ),
        f"{MARK} marks a change that may be noise.",
        *changes.statistics,
        "A line has a gap where a release lacks the itemset. It may have been missed there.",
    ]
    if any(line.change is None for line in lines):
        notes.append(
            f'The charts that say "not compared" are of itemsets that neither {first} nor {last} '
            f"has, or whose size "
            "only one of the two counts."
        )
    return notes


def _lines(releases: Sequence[Release], changes: Changes) -> list[_Line]:
    """Return a line for each change, in this order, then for each itemset that only releases in
    between list.
    """
    sizes = {size for release in releases for size in release.sizes}
    tables = [counted(release, sizes) for release in releases]
    change_of = {frozenset(change.items): change for change in changes}
    in_between = {
        key: items
        for release in releases
        for key, items in listed(release).items()
        if key not in change_of
    }
    lines = [_line(releases, tables, change.items, change) for change in changes]
    lines += [_line(releases, tables, items, None) for items in in_between.values()]
    return [line for line in lines if line.places]


def _line(
    releases: Sequence[Release],
    tables: Sequence[Mapping[frozenset[Item], Itemset]],
    items: tuple[Item, ...],
    change: Change | None,
) -> _Line:
    """Return the line of one itemset. tables: the itemsets of each release that have a share."""
    key = frozenset(items)
    places = tuple(place for place, table in enumerate(tables) if key in table)
    listings = [(releases[place], tables[place][key]) for place in places]
    shares = tuple(release.share_of(itemset) or 0.0 for release, itemset in listings)
    intervals = tuple(
        release.share_interval_of(itemset) or (0.0, 1.0) for release, itemset in listings
    )
    return _Line(items, places, shares, intervals, change)


def _card(line: _Line, names: Sequence[str], decimals: int, unit: str) -> str:
    said = tag("p", *_move(line.change, decimals), class_="move")
    ends = tag("p", tag("span", text(names[0])), tag("span", text(names[-1])), class_="ends note")
    return tag(
        "div", chips(line.items, unit), _chart(line, len(names)), ends, said, class_="multiple"
    )


def _move(change: Change | None, decimals: int) -> list[str]:
    """Return the first and the last share of an itemset, and whether they differ by more than the
    noise: HTML.
    """
    if change is None:
        return [text("not compared")]
    mark = "" if change.clear else tag("abbr", MARK, title="may be noise")
    if change.before is not None and change.after is not None:
        first, last = words.percent(change.before, decimals), words.percent(change.after, decimals)
        return [text(f"{first} → {last}"), mark]
    share = change.after if change.before is None else change.before
    return [text(f"{change.change}, {words.percent(share or 0.0, decimals)}"), mark]


def _chart(line: _Line, count: int) -> str:
    """Return the line of one itemset with its band, as SVG."""
    highest = max(high for _, high in line.intervals) or 1.0

    def x(place: int) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * place / (count - 1)

    def y(share: float) -> float:
        return _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * share / highest

    drawn = []
    for run in _runs(line.places):
        points = [(x(line.places[i]), line.shares[i], line.intervals[i]) for i in run]
        band = [(at, interval) for at, _, interval in points]
        if len(band) == 1:  # of one point it would have no width
            [(at, interval)] = band
            band = [(at - _EDGE / 2, interval), (at + _EDGE / 2, interval)]
        upper = [f"{at:.1f},{y(high):.1f}" for at, (_, high) in band]
        lower = [f"{at:.1f},{y(low):.1f}" for at, (low, _) in reversed(band)]
        drawn.append(tag("polygon", points=" ".join(upper + lower), class_="band"))
        drawn.append(
            tag("polyline", points=" ".join(f"{at:.1f},{y(share):.1f}" for at, share, _ in points))
        )
        drawn += [
            tag("circle", cx=f"{at:.1f}", cy=f"{y(share):.1f}", r="2.5") for at, share, _ in points
        ]
    axis = tag("path", d=f"M0 {_HEIGHT - _EDGE:g}H{_WIDTH:g}", class_="axis")
    return tag("svg", axis, *drawn, viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}", aria_hidden="true")


def _runs(places: Sequence[int]) -> list[list[int]]:
    """Return the indices of places that follow one another, run by run."""
    runs = [[0]]
    for index, (earlier, later) in enumerate(pairwise(places), 1):
        if later > earlier + 1:
            runs.append([])
        runs[-1].append(index)
    return runs


def _notes_section(notes: Sequence[str]) -> str:
    return section("How to read it", *map(paragraph, notes))
