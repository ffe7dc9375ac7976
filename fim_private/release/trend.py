"""Pages of several releases: what changed between two, and how shares moved over more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fim_private.display import MARK
from fim_private.errors import ParameterError
from fim_private.reading.labels import Item
from fim_private.release import words
from fim_private.release.changes import Change, Changes, as_change, check_alike, corrected, counted
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
        cells = [tag("th", chips(one.items, changes.unit, doubt), scope="row", role="rowheader", class_="side")]
        cells.append(tag("td", text(kind.partition(",")[0]), role="cell"))
        named = zip((before, after), (one.before, one.after), shares, strict=True)
        cells += [number_cell("share", name, -1 if value is None else value, said) for name, value, said in named]
        cells.append(number_cell("difference", "Difference", one.difference or 0, difference, interval))
        rows.append(tag("tr", *cells, role="row"))
    heads = [("Items", "side"), ("Change", ""), (before, "number share"), (after, "number share")]
    found = grid("itemsets", [*heads, ("Difference", "number difference")], rows) if rows else ""
    main = [section("What changed", tag("div", found, class_="list")), _read(changes.notes)]
    facts = {"From": before, "To": after}
    warning = "" if changes.private else words.SEEDED
    return document(title or "What changed", facts, _changes_lead(changes), main, [], warning)


def _changes_lead(changes: Changes) -> str:
    before, after = map(text, changes.names)
    if (first := next((one for one in changes if one.clear and one.difference is not None), None)) is None:
        return f"Nothing changed from {before} to {after} by more than the noise."
    clear = sum(one.clear for one in changes)
    counted_ = f"{clear:,} of {words.number_of(changes.compared, 'itemset')} changed by more than the noise."
    return f"{_moved(first, changes.decimals, changes.unit)} from {before} to {after}. {counted_}"


def _moved(one: Change, decimals: int, unit: str) -> str:
    """Return in words how one itemset moved: HTML."""
    names, who = in_sentence(one.items), words.customers(unit)
    at = ["" if share is None else words.percent(share, decimals) for share in (one.before, one.after)]
    if one.before is None or one.after is None:
        way, of = ("is new", at[1]) if one.before is None else ("is gone", at[0])
        return f"{names} {way}, with {of} of all {who}: the surest change"
    way = "rose" if one.change == "rise" else "fell"
    return f"{names} {way} most surely: from {at[0]} to {at[1]} of all {who},"


@dataclass(frozen=True)
class _Line:
    """The shares of one itemset over the releases that have it. places: of these. moved: from the first to the last."""

    items: tuple[Item, ...]
    places: tuple[int, ...]
    shares: tuple[float, ...]
    ends: tuple[tuple[float, float], ...]
    moved: Change


def named(releases: Sequence[Release]) -> dict[str, Release]:
    """Return releases under the names of their periods or segments, where these differ, else under numbers from 1."""
    names = [one.scope.part or "" for one in releases]
    apart = all(names) and len({*names}) == len(names)
    return dict(zip(names if apart else map(str, range(1, len(names) + 1)), releases, strict=True))


def trend_page(releases: Mapping[str, Release], *, title: str | None = None) -> str:
    """Return the shares of itemsets over several releases, by their names in order of time, as a page.

    Raises ParameterError for fewer than two, or where they do not count the same.
    """
    checked_title(title)
    every = [*releases.values()]
    private = all(one.private for one in every)
    charts, lead, notes = _trend(releases)
    facts = {"Releases": f"{len(every):,}, {next(iter(releases))} to {[*releases][-1]}"}
    warning = "" if private else words.SEEDED
    promised = dict.fromkeys(one.guarantee for one in every if one.private)
    end = [section("What each release promises", *map(paragraph, promised))] if private else []
    return document(title or "How shares moved", facts, lead, [charts, _read(notes)], end, warning)


def trend_section(releases: Mapping[str, Release]) -> tuple[str, str]:
    """Return the charts of a page of several periods, and its first paragraph: empty where no itemset is in two."""
    if len(releases) < 2 or not _lines([*releases.values()]):
        return "", ""
    charts, lead, _ = _trend(releases)
    return charts, lead


def _trend(releases: Mapping[str, Release]) -> tuple[str, str, list[str]]:
    names, every = [*releases], [*releases.values()]
    if len(every) < 2:
        raise ParameterError(f"a trend needs two releases or more, not {len(every)}")
    for one, other in pairwise(every):
        check_alike(one, other)
    lines = _lines(every)
    decimals, unit = max(one.decimals for one in every), every[0].privacy_unit
    clear = sum(one.moved.clear for one in lines)
    cards = [_card(one, names, decimals, unit) for one in lines[:_MOST]]
    charts = section("Shares over time", tag("div", *cards, class_="multiples"))
    lead = f"No share moved from {text(names[0])} to {text(names[-1])} by more than the noise."
    if clear:
        lead = (
            f"{_moved(lines[0].moved, decimals, unit)} over {len(every):,} releases. "
            f"{clear:,} of {words.number_of(len(lines), 'itemset')} moved by more than the noise."
        )
    notes = [
        f"Each chart begins at 0. The line is the share of all {words.customers(unit)}.",
        "The band is the 95 % interval of each share by itself.",
        "The charts are sorted by how surely the share moved from the first to the last release that has it.",
        f"{MARK} marks a move that may be noise.",
        "The others are corrected for their number (Benjamini–Hochberg): at most 5 % of them are expected to be noise.",
        "A line has a gap where a release lacks the itemset. It may have been missed there.",
    ]
    return charts, lead, notes


def _lines(releases: Sequence[Release]) -> list[_Line]:
    """Return the lines of all itemsets that two releases or more have, those that moved most surely first."""
    sizes = {size for one in releases for size in one.sizes}
    tables = [counted(one, sizes) for one in releases]
    listed = {frozenset(each.items or ()) for one in releases for each in one.itemsets}
    made = []
    for key in dict.fromkeys(key for table in tables for key in table):
        places = [place for place, table in enumerate(tables) if key in table]
        if key in listed and len(places) > 1:
            made.append((places, [(releases[place], tables[place][key]) for place in places]))
    moves = corrected([as_change(own[0], own[-1]) for _, own in made])
    lines = [
        _Line(moved.items, tuple(places), *_shares(own), moved)
        for (places, own), moved in zip(made, moves, strict=True)
    ]
    return sorted(lines, key=lambda one: (one.moved.p_value or 0.0, -abs(one.moved.difference or 0)))


def _shares(own: Sequence[tuple[Release, Itemset]]) -> tuple[tuple[float, ...], tuple[tuple[float, float], ...]]:
    shares = tuple(release.share_of(one) or 0.0 for release, one in own)
    return shares, tuple(release.share_interval_of(one) or (0.0, 1.0) for release, one in own)


def _card(line: _Line, names: Sequence[str], decimals: int, unit: str) -> str:
    first, last = (words.percent(line.shares[place], decimals) for place in (0, -1))
    mark = "" if line.moved.clear else tag("abbr", MARK, title="may be noise")
    said = tag("p", text(f"{first} → {last}"), mark, class_="move")
    ends = tag("p", tag("span", text(names[0])), tag("span", text(names[-1])), class_="ends note")
    return tag("div", chips(line.items, unit), _chart(line, len(names)), ends, said, class_="multiple")


def _chart(line: _Line, count: int) -> str:
    """Return the line of one itemset with its band, as SVG."""
    highest = max(high for _, high in line.ends) or 1.0

    def x(place: int) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * place / (count - 1)

    def y(share: float) -> float:
        return _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * share / highest

    drawn = []
    for run in _runs(line.places):
        points = [(x(line.places[own]), line.shares[own], line.ends[own]) for own in run]
        upper = [f"{at:.1f},{y(high):.1f}" for at, _, (_, high) in points]
        lower = [f"{at:.1f},{y(low):.1f}" for at, _, (low, _) in reversed(points)]
        drawn.append(tag("polygon", points=" ".join(upper + lower), class_="band"))
        drawn.append(tag("polyline", points=" ".join(f"{at:.1f},{y(share):.1f}" for at, share, _ in points)))
        drawn += [tag("circle", cx=f"{at:.1f}", cy=f"{y(share):.1f}", r="2.5") for at, share, _ in points]
    axis = tag("path", d=f"M0 {_HEIGHT - _EDGE:g}H{_WIDTH:g}", class_="axis")
    return tag("svg", axis, *drawn, viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}", aria_hidden="true")


def _runs(places: Sequence[int]) -> list[list[int]]:
    """Return the indices of places that follow one another, run by run."""
    runs = [[0]]
    for index, (one, other) in enumerate(pairwise(places), 1):
        if other > one + 1:
            runs.append([])
        runs[-1].append(index)
    return runs


def _read(notes: Sequence[str]) -> str:
    return section("How to read it", *map(paragraph, notes))
