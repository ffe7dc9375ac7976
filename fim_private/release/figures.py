"""A release as a picture of each kind: its supports, its rules, their network, or a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fim_private.errors import ParameterError, parameter, shown
from fim_private.options.outputs import FigureKind
from fim_private.release.chart import BarChart, svg
from fim_private.release.forms import AnyRelease
from fim_private.release.picture import charts_of, with_guarantee
from fim_private.release.rules import (
    ALL_RULES,
    RuleChoice,
    Rules,
    RulesBySegment,
    rules_by_segment,
)
from fim_private.release.structure import matrix_of, network_of

_OF_RULES: dict[str, Callable[[Rules], BarChart]] = {
    FigureKind.NETWORK: network_of,
    FigureKind.MATRIX: matrix_of,
    FigureKind.RULES: Rules.chart,
}


def figure_svg(
    release: AnyRelease,
    kind: str = FigureKind.NETWORK,
    choice: RuleChoice = ALL_RULES,
    *,
    promise: bool = True,
) -> str:
    """Return a picture of a release as one element of SVG, which is a whole file as it is.

    Raises what `figure_charts` raises.

    Args:
        release: A release, or that of segments: then one picture stands below the other.
        kind: "network", "matrix", "supports" or "rules".
        choice: Which rules are drawn.
        promise: Whether the guarantee stands in the picture.
    """
    return svg(*figure_charts(release, kind, choice, promise=promise))


def figure_charts(
    release: AnyRelease,
    kind: str,
    choice: RuleChoice = ALL_RULES,
    *,
    relative: bool = True,
    promise: bool = True,
) -> list[BarChart]:
    """Return what a picture of a release draws: a chart for each segment, or one of all.

    Raises ParameterError for another kind, and where the release lacks the rules that a kind needs,
    or these lack lift; and MissingExtraError for a network without networkx.

    Args:
        release: A release, or that of segments.
        kind: "network", "matrix", "supports" or "rules".
        choice: Which rules are drawn.
        relative: Supports as shares, where known.
        promise: Whether the guarantee stands in the picture.
    """
    if kind == FigureKind.SUPPORTS:
        return charts_of(release, relative=relative, promise=promise)
    if kind not in _OF_RULES:
        raise ParameterError(
            f"{parameter('kind')} must be one of {', '.join(FigureKind)}, not {shown(kind)}"
        )
    charts = charts_of_rules(release, rules_by_segment(release, choice), _OF_RULES[kind])
    return with_guarantee(release, charts) if promise else charts


def charts_of_rules(
    release: AnyRelease,
    rules: RulesBySegment,
    draw: Callable[[Rules], BarChart] = Rules.chart,
) -> list[BarChart]:
    """Return a chart of the rules of each segment, under its name."""
    charts = []
    for name, of_segment in rules.items():
        chart = draw(of_segment)
        if name:
            heading = release.by_segment[name].heading
            chart = replace(chart, title=f"{heading}: {chart.title}")
        charts.append(chart)
    return charts
