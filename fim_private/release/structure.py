"""What is bought together, as pictures of the whole: a network of rules, and a matrix of items."""

from __future__ import annotations

import importlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from fim_private.display import in_braces
from fim_private.errors import MissingExtraError, ParameterError, parameter
from fim_private.release import words
from fim_private.release.chart import BarChart
from fim_private.release.drawing import (
    GRID,
    PLAIN,
    Dot,
    Drawing,
    Key,
    Line,
    Square,
    Text,
    keys_of_lifts,
    shade_of,
    with_legend,
)
from fim_private.release.labels import ROOM, SMALL, Box, Point, placed_labels, short_name, width
from fim_private.release.rules import Rules, Sides
from fim_private.request.itemsets import Items

# How many lines a network has at most, and how many items a matrix has.
_MOST_LINES, _MOST_ITEMS = 40, 30
# How high a group of nodes is at most, and the radius of a node, in pixels.
_MOST_HIGH, _RADIUS = 560.0, 4.5
# The width of the line of a rule with confidence 0, and with 1; the largest cell of a matrix.
_THIN, _THICK = 1.0, 8.0
_CELL = 30.0
# The side of the smallest square of a matrix, in pixels.
_SMALLEST = 5.0
# How wide the name of a node, or of an item, is at most, in units of the letters' size.
_NAME = 20.0
# How far from the sides of a group of nodes they and their names are, in pixels.
_MARGIN = 45.0
_SEED = 14


class Size(NamedTuple):
    """How wide and how high a drawing is at most, in pixels, its legend aside."""

    width: float
    height: float


_LARGE = Size(ROOM, math.inf)


@dataclass(frozen=True)
class _Rule:
    """A rule that is drawn.

    Attributes:
        sides: What it says is bought with what.
        confidence: 0 to 1.
        lift: > 0, finite.
        share: The share of units with both sides, 0 to 1.
        doubtful: Whether it may be chance.
        described: All of it in words.
    """

    sides: Sides
    confidence: float
    lift: float
    share: float
    doubtful: bool
    described: str


def network_of(rules: Rules, size: Size = _LARGE) -> BarChart:
    """Return rules of two items as a network: a node for each item, and a line for each pair.

    Of the two rules of a pair, the one with more confidence is drawn. Where a size has no room for
    all, the surest are drawn. Raises ParameterError for rules without lift, and MissingExtraError
    without networkx.
    """
    networkx = _networkx()
    drawn = _pairs(rules, "network")
    for count in range(_MOST_LINES, 0, -1):
        edges = [*drawn.values()][:count]
        graph = networkx.Graph([rule.sides for rule in edges])
        corners, high = _corners(networkx.connected_components(graph), size)
        if high <= size.height:
            break
    points = _layout(networkx, graph, corners, size)
    lines = [
        Line(
            points[rule.sides[0]],
            points[rule.sides[1]],
            _line_width(rule.confidence),
            shade_of(rule.lift),
            rule.doubtful,
            _RADIUS + 1,
            rule.described,
        )
        for rule in edges
    ]
    texts = _node_names(points, lines, (0, 0, size.width, high))
    keys = keys_of_lifts(lines, line=4)
    for confidence in (0.1, 0.5, 0.9):
        keys.append(Key(f"confidence {100 * confidence:.0f} %", _line_width(confidence)))
    return _chart(
        rules,
        Drawing(size.width, high, lines, [], [*map(Dot, points.values())], texts),
        keys,
        "An arrow leads from the first item to the second. The wider it is, the more of the "
        f"{words.customers(rules.unit)} with the first have the second, too: its confidence.",
        len(drawn) - len(edges),
    )


def _line_width(confidence: float) -> float:
    return _THIN + (_THICK - _THIN) * confidence


def _node_names(points: Mapping[Items, Point], lines: Sequence[Line], bounds: Box) -> list[Text]:
    """Return the names of nodes. Where there is no free place, a name lies on others."""
    names, boxes = [*map(_name, points)], [box for line in lines for box in line.boxes]
    texts = []
    labels = placed_labels(names, [*points.values()], bounds, boxes)
    for name, (x, y), label in zip(names, points.values(), labels, strict=True):
        half = SMALL * width(name) / 2
        text = Text(name, min(max(x, half), bounds[2] - half), y + SMALL, "middle")
        if label is not None:
            text = Text(name, label.x, label.y, label.anchor)
        texts.append(text)
    return texts


def matrix_of(rules: Rules, size: Size = _LARGE) -> BarChart:
    """Return pairs of items as a matrix: a square for each, larger where more units have both.

    Raises ParameterError for rules without lift.
    """
    pairs = _pairs(rules, "matrix")
    items = _neighbours_together(pairs)
    named = [_name(item) for item in items]
    beside = SMALL * max(map(width, named), default=0.0) + 8
    free = min(size.width - beside, size.height)
    cell = min(free / max(len(items), 1), _CELL)
    places = {item: (place + 0.5) * cell for place, item in enumerate(items)}
    shown = [rule for sides, rule in pairs.items() if sides <= places.keys()]
    most = max((rule.share for rule in shown), default=1.0)
    largest = 0.92 * cell
    squares = []
    for rule in shown:
        left, right = sorted(places[side] for side in rule.sides)
        side = max(largest * math.sqrt(rule.share / most), _SMALLEST)
        squares.append(
            Square((left, right), side, shade_of(rule.lift), rule.doubtful, rule.described)
        )
    end = cell * len(items)
    texts = [
        Text(name, place + 4, place) for name, place in zip(named, places.values(), strict=True)
    ]
    keys = keys_of_lifts(squares)
    who = words.customers(rules.unit)
    for share, side in ((most, largest), (most / 4, largest / 2)):
        keys.append(Key(f"{words.percent(share, rules.decimals)} of {who}", side=side))
    return _chart(
        rules,
        Drawing(size.width, end, _grid(places.values(), end), squares, [], texts),
        keys,
        "The square of two items is in the row of one, and in the column of the other. "
        f"The larger it is, the more {who} have both.",
        len(pairs) - len(shown),
    )


def _grid(places: Iterable[float], end: float) -> list[Line]:
    """Return lines from the left to each place of the diagonal, and from there down to the end."""
    grid = []
    for place in places:
        corner = place, place
        grid += [Line((0, place), corner, shade=GRID), Line(corner, (place, end), shade=GRID)]
    return grid


def _chart(
    rules: Rules, drawing: Drawing, keys: Sequence[Key], how_read: str, more: int
) -> BarChart:
    """Return a drawing with its legend and the texts around it.

    more: how many pairs have no place in it.
    """
    marks: list[Line | Square] = [*drawing.lines, *drawing.squares]
    if any(mark.doubtful for mark in marks):
        keys = [*keys, replace(keys[0], meaning="may be chance", shade=PLAIN, doubtful=True)]
    drawing = with_legend(drawing, keys)
    colours = "Its colour is the lift: how many times as often as by chance."
    notes = [f"{how_read} {colours}", rules.note]
    longer = sum(len(left + right) > 2 for left, right in rules.sides)
    if longer:
        several = words.number_of(longer, "rule")
        notes.insert(1, f"Not drawn, because they have more than two items: {several}.")
    return replace(rules.chart(), drawing=drawing, notes=notes, more=more)


def _pairs(rules: Rules, kind: str) -> dict[frozenset[Items], _Rule]:
    """Return the rule with the most confidence between each two items, the surest first."""
    if not rules.has_lifts:
        raise ParameterError(
            f"{parameter('kind')} {kind} needs the lift of rules, and these have none: "
            f"{words.NOT_INDEPENDENCE}"
        )
    pairs: dict[frozenset[Items], _Rule] = {}
    for left, right, numbers, doubtful in rules.rows():
        lift, shown, sides = numbers["lift"], rules.shown(numbers), frozenset((left, right))
        if len(left + right) > 2 or not 0 < lift < math.inf:
            continue
        described = (
            f"{in_braces(left)} → {in_braces(right)}: confidence {shown['confidence'].shown}, "
            f"lift {shown['lift'].shown}, {shown['share'].shown} of all"
        )
        if doubtful:
            described += "; may be chance"
        confidence, share = numbers["confidence"], numbers["support"]
        if sides not in pairs or pairs[sides].confidence < confidence:
            pairs[sides] = _Rule((left, right), confidence, lift, share, doubtful, described)
    return pairs


def _neighbours_together(pairs: Mapping[frozenset[Items], _Rule]) -> list[Items]:
    """Return the items of the surest pairs, so that those with a high lift are neighbours."""
    waiting = [*dict.fromkeys(side for rule in pairs.values() for side in rule.sides)]
    del waiting[_MOST_ITEMS:]
    ordered: list[Items] = []
    while waiting:
        lifts = [_lift_to_last(pairs, ordered, item) for item in waiting]
        ordered.append(waiting.pop(lifts.index(max(lifts))))
    return ordered


def _lift_to_last(
    pairs: Mapping[frozenset[Items], _Rule], ordered: Sequence[Items], item: Items
) -> float:
    rule = pairs.get(frozenset((*ordered[-1:], item)))
    return 0.0 if rule is None else rule.lift


def _corners(
    groups: Iterable[Collection[Items]], size: Size
) -> tuple[dict[frozenset[Items], Point], float]:
    """Return the upper left corner of each group of nodes, the largest first, and where the last
    ends.
    """
    waiting = sorted(
        map(frozenset, groups), key=lambda group: (-len(group), min(map(in_braces, group)))
    )
    corners: dict[frozenset[Items], Point] = {}
    left, top, bottom = 0.0, 0.0, 0.0
    while waiting:
        free = size.width + 1 - left
        fitting = [group for group in waiting if _size_of(group, size).width <= free]
        if not fitting:
            left, top = 0.0, bottom
            continue
        group = fitting[0]
        waiting.remove(group)
        wide, high = _size_of(group, size)
        corners[group] = left, top
        left, bottom = left + wide, max(bottom, top + high)
    return corners, bottom


def _layout(
    networkx: ModuleType, graph: Any, corners: Mapping[frozenset[Items], Point], size: Size
) -> dict[Items, Point]:
    """Return where nodes are, in pixels. Names have room beside them."""
    points: dict[Items, Point] = {}
    for group, (left, top) in corners.items():
        wide, high = _size_of(group, size)
        across = max(wide - 2 * _MARGIN - _longest_name(group), wide / 3)
        for name, (x, y) in _within_unit_square(networkx, graph, group).items():
            points[name] = left + _MARGIN + across * x, top + 20 + (high - 40) * y
    return points


def _size_of(group: Collection[Items], size: Size) -> Size:
    """Return how wide and how high a group of nodes is, in pixels."""
    nodes = len(group)
    in_a_row = min(int(size.width / (2 * _MARGIN + _longest_name(group))), 3)
    if nodes == 2:
        return Size(size.width / in_a_row, 60.0)
    if nodes > 4:
        in_a_row = min(in_a_row, 2)
    if nodes > 9:
        in_a_row = 1
    return Size(size.width / in_a_row, min(60 + 22 * nodes, _MOST_HIGH, size.height))


def _longest_name(group: Collection[Items]) -> float:
    return SMALL * max(width(_name(items)) for items in group)


def _within_unit_square(
    networkx: ModuleType, graph: Any, group: Collection[Items]
) -> dict[Items, Point]:
    """Return where the nodes of a group are, in a square of side 1 that they fill."""
    # In an order of their own, so that the same rules are the same picture.
    names = sorted(group, key=in_braces)
    ordered = networkx.Graph()
    ordered.add_nodes_from(names)
    ordered.add_edges_from(graph.edges(names))
    apart = 2 / math.sqrt(len(names))
    layout = networkx.spring_layout(ordered, k=apart, seed=_SEED, iterations=300)
    places = np.array([layout[name] for name in names])
    least, most = places.min(axis=0), places.max(axis=0)
    filled = (places - least) / np.maximum(most - least, 1e-9)
    # Halfway to places at equal distances: the middle of a network is crowded.
    ranks = filled.argsort(axis=0).argsort(axis=0) / (len(names) - 1)
    return dict(zip(names, map(tuple, ((filled + ranks) / 2).tolist()), strict=True))


def _name(items: Items) -> str:
    """Return what stands beside a node or in a matrix: one item has no braces."""
    name = short_name(items, _NAME)
    return name[1:-1] if len(items) == 1 else name


def _networkx() -> ModuleType:
    try:
        return importlib.import_module("networkx")
    except ModuleNotFoundError:
        raise MissingExtraError(
            'networks need networkx: pip install "fim-private[figures]"; the kind matrix does not'
        ) from None
