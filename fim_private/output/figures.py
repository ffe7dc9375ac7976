"""Plans as pictures: what each mechanism requires, against ε or against the number of itemsets."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fim_private.dp.cost import least_in_words
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.registry import spec_named
from fim_private.planning.plan import Plan, of_units, percent
from fim_private.release.chart import of_matplotlib
from fim_private.whole_files import staged

# The axes of matplotlib, which is an optional extra.
Axes = Any
_FIGURES = (".png", ".svg", ".pdf")
_NAMED = 12  # up to so many values are each named on the axis of a figure
# Of each mechanism, by name: the values on the axis, and the support that it requires at each.
_Curves = Mapping[str, tuple[list[float], list[int]]]


def plan_curves(plans: Plan | Sequence[Plan]) -> dict[str, tuple[list[float], list[int]]]:
    """Return the epsilons, ascending, and the supports that each mechanism requires there, by name.

    For a single Plan they are the numbers of itemsets, not epsilons. The curve that is highest at
    its first epsilon, or for a single Plan at its last number, comes first.
    """
    if isinstance(plans, Plan):
        by_top, ascending, highest_at = True, [plans], -1
    else:
        by_top, ascending, highest_at = False, sorted(plans, key=lambda plan: plan.epsilon), 0
    curves: dict[str, tuple[list[float], list[int]]] = {}
    for plan in ascending:
        for mechanism in plan.mechanisms:
            if mechanism.required_support is None:
                continue
            xs, supports = curves.setdefault(mechanism.name, ([], []))
            xs.append(mechanism.top if by_top else plan.epsilon)
            supports.append(mechanism.required_support)
    return dict(sorted(curves.items(), key=lambda curve: -curve[1][1][highest_at]))


@dataclass(frozen=True)
class _PlanAxis:
    """The horizontal axis of a figure of plans.

    Attributes:
        label: The name of the axis.
        values: The values that are drawn.
        in_words: Writes a value beside the axis.
        prefix: Stands before a value in the headline.
    """

    label: str
    values: frozenset[float]
    in_words: Callable[[float], str]
    prefix: str


def draw_plan_figure(plans: Plan | Sequence[Plan], path: str | Path) -> None:
    """Draw the support that each mechanism requires, against ε or, for a single Plan, against top.

    Both axes are logarithmic. Raises ParameterError for other plans or names, MissingExtraError
    without matplotlib, and OutputError where the file cannot be written.

    Args:
        plans: One Plan, or several that differ in epsilon only, as plan_grid returns them.
        path: A file that ends in .png, .svg or .pdf.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _FIGURES:
        raise ParameterError(
            f"{parameter('figure')} must be a name that ends in {', '.join(_FIGURES)}, not "
            f"{str(path)!r}"
        )
    if isinstance(plans, Plan):
        first, footnote = plans, plans.title
        label = "itemsets asked for"
        if len(plans.sizes) > 1 and not plans.union:
            label += ", of each size"
        axis = _PlanAxis(label, frozenset(plans.tops), "{:,.0f}".format, "for top ")
    else:
        first = _checked_grid(plans)
        footnote = _grid_in_words(first)
        label = "ε, the privacy loss (smaller is more private)"
        epsilons = frozenset(plan.epsilon for plan in plans)
        axis = _PlanAxis(label, epsilons, least_in_words, "at ε = ")
    planned = [mechanism for mechanism in first.mechanisms if mechanism.top == first.tops[0]]
    lacking = ", ".join(mechanism.name for mechanism in planned if mechanism.missing)
    if lacking:
        footnote += f". Not drawn, because they need what was not given: {lacking}."
    curves = plan_curves(plans)
    with staged(Path(path), option=parameter("figure")) as write:
        matplotlib, figures = of_matplotlib("matplotlib"), of_matplotlib("matplotlib.figure")
        settings = {"font.size": 10, "svg.hashsalt": "fim-private", "svg.fonttype": "none"}
        with matplotlib.rc_context(settings):
            figure = figures.Figure(figsize=(8, 5), layout="constrained")
            axes = figure.subplots()
            _draw_curves(axes, curves)
            axes.set(
                xscale="log",
                yscale="log",
                xlabel=axis.label,
                ylabel="units that must have the itemset",
            )
            axes.grid(True, which="major", alpha=0.4)
            axes.grid(True, which="minor", alpha=0.12)
            figure.suptitle(_plan_message(curves, axis), weight="bold", x=_LEFT, ha="left", size=10)
            figure.supxlabel("\n".join(textwrap.wrap(footnote, 100)), x=_LEFT, ha="left", size=9)
            legend_left = 1.02
            if first.units is not None:
                _mark_units(axes, first.units)
                legend_left = 1.13  # beside the second axis
            _set_ticks(axes, axis, curves)
            axes.legend(loc="upper left", bbox_to_anchor=(legend_left, 1), frameon=False)
            image = io.BytesIO()
            # Without a date, so that the same plan is the same file.
            metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
            figure.savefig(image, format=suffix[1:], dpi=150, metadata=metadata)
        write(image.getvalue())


_LEFT = 0.01  # where the texts of a figure begin, as a share of its width


def _checked_grid(plans: Sequence[Plan]) -> Plan:
    """Return the first plan. Raises ParameterError unless all differ in epsilon only."""
    if not plans:
        raise ParameterError(f"{parameter('plans')} must hold at least one")
    if len({replace(plan, epsilon=1.0) for plan in plans}) > 1:
        raise ParameterError(
            f"{parameter('plans')} must differ in epsilon only: take them from plan_grid"
        )
    return plans[0]


def _grid_in_words(plan: Plan) -> str:
    """Return what plans that differ in epsilon only have in common."""
    common = [
        f"δ = {least_in_words(plan.delta)}",
        f"{percent(100 * plan.confidence)} probability",
        plan.neighbors,
    ]
    if plan.universe_size is not None:
        if plan.universe_size < 10**9:
            common.append(f"{plan.universe_size:,} items")
        else:
            common.append("very many items")
    return f"What it takes to find an itemset of {plan.size} ({', '.join(common)})"


def _draw_curves(axes: Axes, curves: _Curves) -> None:
    for name, (xs, supports) in curves.items():
        spec = spec_named(name)
        colour, line, marker = spec.style
        label = name
        if spec.composed:
            label += " (estimate)"
        axes.plot(
            xs,
            supports,
            color=colour,
            linestyle=line,
            marker=marker,
            markersize=4,
            label=label,
        )


def _set_ticks(axes: Axes, axis: _PlanAxis, curves: _Curves) -> None:
    if len(axis.values) <= _NAMED:
        axes.set_xticks(sorted(axis.values))
        axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda x, _: axis.in_words(x))
    axes.yaxis.set_major_formatter(lambda support, _: f"{support:,.0f}")
    least = min((min(supports) for _, supports in curves.values()), default=1)
    axes.set_ylim(bottom=max(1, 0.7 * least))


def _plan_message(curves: _Curves, axis: _PlanAxis) -> str:
    """Return on one line which mechanism needs the fewest units at both ends of a figure."""
    if not curves:
        return "No mechanism finds it with what was given"
    points = [
        (x, support, name)
        for name, (xs, supports) in curves.items()
        for x, support in zip(xs, supports, strict=True)
    ]
    least = []
    for end in sorted({min(points)[0], max(points)[0]}):
        _, units, name = min(point for point in points if point[0] == end)
        about = "about " if spec_named(name).composed else ""
        least.append(f"{about}{units:,} by {name} {axis.prefix}{axis.in_words(end)}")
    return f"Fewest units needed: {', '.join(least)}"


def _mark_units(axes: Axes, units: int) -> None:
    """Draw a line at the number of all units, and an axis of shares at the right."""
    axes.axhline(units, color="#888888", linewidth=1)
    axes.annotate(
        f"all {of_units(units)}",
        (1, units),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 3),
        textcoords="offset points",
        horizontalalignment="right",
        color="#595959",
        fontsize=9,
    )
    both = (lambda support: 100 * support / units, lambda share: share * units / 100)
    shares = axes.secondary_yaxis("right", functions=both)
    shares.set_ylabel("% of all units")
    shares.yaxis.set_major_formatter(lambda share, _: f"{share:g}")
