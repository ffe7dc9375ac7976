"""Plans as pictures: what each mechanism requires, against ε or against the number of itemsets."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fim_private.dp.cost import least_in_words
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.registry import spec_named
from fim_private.planning.plan import Plan, PlannedMechanism, of_units, percent
from fim_private.release.chart import of_matplotlib
from fim_private.whole_files import staged

# The axes of matplotlib, which is an optional extra.
Axes = Any
_FIGURES = (".png", ".svg", ".pdf")
_NAMED = 12  # up to so many values are each named on the axis of a figure
# Of each mechanism, by name: the values on the axis, and the support that it requires at each.
_Curves = Mapping[str, tuple[list[float], list[int]]]


@dataclass(frozen=True)
class _PlanAxis:
    """The horizontal axis of a figure of plans.

    Attributes:
        label: The name of the axis.
        in_words: Writes a value beside the axis.
        prefix: Stands before a value in the headline.
    """

    label: str
    in_words: Callable[[float], str]
    prefix: str


def draw_plan_figure(plans: Plan | Sequence[Plan], path: str | Path) -> None:
    """Draw the support that each mechanism requires, against ε or, for a single Plan, against top.

    Both axes are logarithmic. Raises ParameterError for other plans or names, MissingExtraError
    without matplotlib, and OutputError where the file cannot be written.

    Args:
        plans: One Plan, or several that differ in epsilon only, as plan_grid returns them: at least
            one.
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
        curves = _curves([(planned.top, planned) for planned in first.mechanisms], highest_at=-1)
        label = "itemsets asked for"
        if len(plans.sizes) > 1 and not plans.union:
            label += ", of each size"
        axis = _PlanAxis(label, "{:,.0f}".format, "for top ")
    else:
        first, footnote = plans[0], _grid_in_words(plans[0])
        ascending = sorted(plans, key=lambda plan: plan.epsilon)
        points = [(plan.epsilon, mechanism) for plan in ascending for mechanism in plan.mechanisms]
        curves = _curves(points, highest_at=0)
        label = "ε, the privacy loss (smaller is more private)"
        axis = _PlanAxis(label, least_in_words, "at ε = ")
    planned = [mechanism for mechanism in first.mechanisms if mechanism.top == first.tops[0]]
    lacking = ", ".join(mechanism.name for mechanism in planned if mechanism.missing)
    if lacking:
        footnote += f". Not drawn, because they need what was not given: {lacking}."
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


def _curves(points: Sequence[tuple[float, PlannedMechanism]], *, highest_at: int) -> _Curves:
    """Return the curve of each mechanism through the supports that it requires at ascending values.

    highest_at: where on its curve the highest comes first.
    """
    curves: dict[str, tuple[list[float], list[int]]] = {}
    for x, mechanism in points:
        if mechanism.required_support is not None:
            xs, supports = curves.setdefault(mechanism.name, ([], []))
            xs.append(x)
            supports.append(mechanism.required_support)
    return dict(sorted(curves.items(), key=lambda curve: -curve[1][1][highest_at]))


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
    values = {x for xs, _ in curves.values() for x in xs}
    if len(values) <= _NAMED:
        axes.set_xticks(sorted(values))
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
