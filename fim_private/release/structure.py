"""What is bought together, as pictures of the whole: a network of rules, and a matrix of items."""

from __future__ import annotations

import importlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from fim_private.display import in_braces
from fim_private.errors import MissingExtraError, ParameterError, parameter
from fim_private.release import words
from fim_private.release.chart import BarChart
from fim_private.release.drawing import (
    GRID,
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
# How wide the name of a node, or of an item, is at most, in units of the letters' size.
_NAME = 20.0
_SEED = 14


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


def network_of(rules: Rules) -> BarChart:
    """Return rules of two items as a network: a node for each item, and a line for each pair.

    Of the two rules of a pair, the one with more confidence is drawn. Raises ParameterError for
    rules without lift, and MissingExtraError without networkx.
    """
    networkx = _networkx()
    drawn = _of_each_two(_drawable(rules, "network"))
    edges = [*drawn.values()][:_MOST_LINES]
    graph = networkx.Graph([rule.sides for rule in edges])
    points, high = _layout(networkx, graph)
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
    texts = _node_names(points, lines, (0, 0, ROOM, high))
    keys = keys_of_lifts(lines, line=4)
    for confidence in (0.1, 0.5, 0.9):
        keys.append(Key(f"confidence {100 * confidence:.0f} %", _line_width(confidence)))
    if any(rule.doubtful for rule in edges):
        keys.append(Key("may be chance", 2, doubtful=True))
    drawing = Drawing(ROOM, high, lines, [], [*map(Dot, points.values())], texts)
    return _chart(
        rules,
        with_legend(drawing, keys),
        "An arrow leads from the left side of a rule to its right side.",
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
        text = Text(name, x, y + SMALL, "middle")
        if label is not None:
            text = Text(name, label.x, label.y, label.anchor)
        texts.append(text)
    return texts


def matrix_of(rules: Rules) -> BarChart:
    """Return pairs of items as a matrix: a square for each, larger where more units have both.

    Raises ParameterError for rules without lift.
    """
    pairs = _of_each_two(_drawable(rules, "matrix"))
    items = _neighbours_together(pairs)
    named = [_name(item) for item in items]
    room = SMALL * max(map(width, named), default=0.0) + 8
    cell = min((ROOM - room) / max(len(items), 1), _CELL)
    places = {item: (place + 0.5) * cell for place, item in enumerate(items)}
    shown = [rule for sides, rule in pairs.items() if sides <= places.keys()]
    most = max((rule.share for rule in shown), default=1.0)
    squares = []
    for rule in shown:
        left, right = sorted(places[side] for side in rule.sides)
        side = max(cell * 0.92 * math.sqrt(rule.share / most), 5.0)
        squares.append(
            Square((left, right), side, shade_of(rule.lift), rule.doubtful, rule.described)
        )
    end = cell * len(items)
    grid = [Line((0, place), (place, place), shade=GRID) for place in places.values()]
    grid += [Line((place, place), (place, end), shade=GRID) for place in places.values()]
    texts = [
        Text(name, place + 4, place) for name, place in zip(named, places.values(), strict=True)
    ]
    keys = keys_of_lifts(squares)
    who = words.customers(rules.unit)
    for share in (most, most / 4):
        side = cell * 0.92 * math.sqrt(share / most)
        keys.append(Key(f"{words.percent(share, rules.decimals)} of {who}", side=side))
    if any(rule.doubtful for rule in shown):
        keys.append(Key("may be chance", doubtful=True))
    return _chart(
        rules,
        with_legend(Drawing(ROOM, end, grid, squares, [], texts), keys),
        "The square of two items is in the row of one, and in the column of the other.",
        len(pairs) - len(shown),
    )


def _chart(rules: Rules, drawing: Drawing, how_read: str, more: int) -> BarChart:
    """Return a drawing with the texts around it. more: how many pairs have no place in it."""
    notes = [f"{how_read} Lift: how many times as often as by chance.", rules.note]
    longer = sum(len(left + right) > 2 for left, right in rules.sides)
    if longer:
        several = words.number_of(longer, "rule")
        notes.insert(1, f"Not drawn, because they have more than two items: {several}.")
    return replace(rules.chart(), drawing=drawing, notes=notes, more=more)


def _drawable(rules: Rules, kind: str) -> list[_Rule]:
    """Return the rules from one item to another, the surest first."""
    if not rules.has_lifts:
        raise ParameterError(
            f"{parameter('kind')} {kind} needs the lift of rules, and these have none: "
            f"{words.NOT_INDEPENDENCE}"
        )
    drawable = []
    for left, right, numbers, doubtful in rules.rows():
        lift, shown = numbers["lift"], rules.shown(numbers)
        if len(left + right) > 2 or not 0 < lift < math.inf:
            continue
        described = (
            f"{in_braces(left)} → {in_braces(right)}: confidence {shown['confidence'].shown}, "
            f"lift {shown['lift'].shown}, {shown['share'].shown} of all"
        )
        if doubtful:
            described += "; may be chance"
        rule = _Rule(
            (left, right), numbers["confidence"], lift, numbers["support"], doubtful, described
        )
        drawable.append(rule)
    return drawable


def _of_each_two(rules: Iterable[_Rule]) -> dict[frozenset[Items], _Rule]:
    """Return the rule with the most confidence between each two sides, the surest first."""
    of_two: dict[frozenset[Items], _Rule] = {}
    for rule in rules:
        sides = frozenset(rule.sides)
        if sides not in of_two or of_two[sides].confidence < rule.confidence:
            of_two[sides] = rule
    return of_two


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


def _layout(networkx: ModuleType, graph: Any) -> tuple[dict[Items, Point], float]:
    """Return where nodes are, in pixels, and how high all is: the largest group of nodes first."""
    waiting = sorted(
        networkx.connected_components(graph),
        key=lambda group: (-len(group), min(map(in_braces, group))),
    )
    points: dict[Items, Point] = {}
    left, top, bottom = 0.0, 0.0, 0.0
    while waiting:
        fitting = [group for group in waiting if left + _room_for(group)[0] <= ROOM + 1]
        if not fitting:
            left, top = 0.0, bottom
            continue
        group = fitting[0]
        waiting.remove(group)
        wide, high = _room_for(group)
        for name, (x, y) in _within_unit_square(networkx, graph, group).items():
            # Names stand beside the nodes.
            points[name] = left + wide * (0.15 + 0.6 * x), top + high * (0.1 + 0.75 * y)
        left, bottom = left + wide, max(bottom, top + high)
    return points, bottom


def _room_for(group: Collection[Items]) -> tuple[float, float]:
    """Return how wide and how high a group of nodes is, in pixels."""
    nodes = len(group)
    if nodes == 2:
        return ROOM / 3, 60.0
    in_a_row = 3
    if nodes > 4:
        in_a_row = 2
    if nodes > 9:
        in_a_row = 1
    return ROOM / in_a_row, min(60 + 22 * nodes, _MOST_HIGH)


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
    if len(names) == 2:
        places = np.eye(2)
    least, most = places.min(axis=0), places.max(axis=0)
    filled = (places - least) / np.maximum(most - least, 1e-9)
    return dict(zip(names, map(tuple, filled.tolist()), strict=True))


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
