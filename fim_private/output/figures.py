"""Plans as pictures, what each mechanism requires against ε or against the number of itemsets; and
releases as pictures of each kind.
"""

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fim_private.dp.cost import least_in_words
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.registry import spec_named
from fim_private.options.outputs import FigureKind
from fim_private.planning.plan import Plan, PlannedMechanism, of_units, percent
from fim_private.release.chart import draw, draw_all
from fim_private.release.figures import figure_charts, figure_svg
from fim_private.release.forms import AnyRelease
from fim_private.release.labels import of_matplotlib
from fim_private.release.rules import RuleChoice

# The axes of matplotlib, which is an optional extra.
Axes = Any
_FIGURES = (".png", ".svg", ".pdf")
# The value on the horizontal axis at which a mechanism was planned.
_Points = Sequence[tuple[float, PlannedMechanism]]
_TITLE = "Fewest units that must have an itemset, for each mechanism to find it"
_LEFT = 0.01  # where the texts of a figure begin, as a share of its width


def plan_figure(plans: Plan | Sequence[Plan], path: str | Path) -> bytes:
    """Return a picture of the support that each mechanism requires, against ε or, for a single
    Plan, against top; in the form that the name of a file ends in.

    Both axes are logarithmic. Raises ParameterError for another ending, and MissingExtraError
    without matplotlib.

    Args:
        plans: One Plan, or several that differ in epsilon only, as plan_grid returns them: at least
            one.
        path: A name that ends in .png, .svg or .pdf.
    """
    suffix = _checked_suffix(path)
    if isinstance(plans, Plan):
        first, footnote = plans, plans.title
        points: _Points = [(planned.top, planned) for planned in plans.mechanisms]
        label = "itemsets asked for"
        if len(plans.sizes) > 1 and not plans.union:
            label += ", of each size"
    else:
        first, footnote = plans[0], _grid_in_words(plans[0])
        ascending = sorted(plans, key=lambda plan: plan.epsilon)
        points = [(plan.epsilon, mechanism) for plan in ascending for mechanism in plan.mechanisms]
        label = "ε, the privacy loss (smaller is more private)"
    least = [mechanism for mechanism in first.mechanisms if mechanism.top == first.tops[0]]
    lacking = ", ".join(mechanism.name for mechanism in least if mechanism.missing)
    if lacking:
        footnote += f". Not drawn, because they need what was not given: {lacking}."
    matplotlib, figures = of_matplotlib("matplotlib"), of_matplotlib("matplotlib.figure")
    settings = {"font.size": 10, "svg.hashsalt": "fim-private", "svg.fonttype": "none"}
    with matplotlib.rc_context(settings):
        figure = figures.Figure(figsize=(8, 5), layout="constrained")
        axes = figure.subplots()
        _draw_curves(axes, points)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel=label,
            ylabel="units that must have the itemset",
            xticks=sorted({x for x, _ in points}),
        )
        axes.set_xticks([], minor=True)
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.grid(True, alpha=0.4)
        figure.suptitle(_TITLE, weight="bold", x=_LEFT, ha="left", size=10)
        figure.supxlabel("\n".join(textwrap.wrap(footnote, 100)), x=_LEFT, ha="left", size=9)
        if first.units is not None:
            _mark_units(axes, first.units)
        # Beside the second axis.
        axes.legend(loc="upper left", bbox_to_anchor=(1.13, 1), frameon=False)
        return _image(figure, suffix)


def release_figure(
    release: AnyRelease, kind: FigureKind, choice: RuleChoice, path: Path
) -> str | bytes:
    """Return a picture of a release, in the form that the name of a file ends in.

    Raises what `figure_charts` raises, ParameterError for another ending, and MissingExtraError for
    .png and .pdf without matplotlib.

    Args:
        release: What is drawn.
        kind: Which picture.
        choice: Which rules are drawn.
        path: A name that ends in .png, .svg or .pdf.
    """
    suffix = _checked_suffix(path)
    if suffix == ".svg":
        return figure_svg(release, kind, choice)
    charts = figure_charts(release, kind, choice)
    of_matplotlib("matplotlib").use("agg")
    axes = draw(charts[0]) if len(charts) == 1 else draw_all(charts)[0]
    return _image(axes.figure, suffix)


def _checked_suffix(path: str | Path) -> str:
    """Return the ending of the name of a figure. Raises ParameterError for another."""
    suffix = Path(path).suffix.lower()
    if suffix not in _FIGURES:
        raise ParameterError(
            f"{parameter('figure')} must be a name that ends in {', '.join(_FIGURES)}, not "
            f"{str(path)!r}"
        )
    return suffix


def _image(figure: Any, suffix: str) -> bytes:
    """Return a figure in the form of an ending, without a date: the same figure is the same
    file.
    """
    image = io.BytesIO()
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    figure.savefig(image, format=suffix[1:], dpi=150, metadata=metadata)
    return image.getvalue()


def _grid_in_words(plan: Plan) -> str:
    """Return what plans that differ in epsilon only have in common."""
    common = [
        f"δ = {least_in_words(plan.delta)}",
        f"{percent(100 * plan.confidence)} probability",
        plan.neighbors,
    ]
    if plan.universe_size is not None:
        common.append(f"{plan.universe_size:,} items")
    return f"What it takes to find {plan.sought} ({', '.join(common)})"


def _draw_curves(axes: Axes, points: _Points) -> None:
    """Draw the curve of each mechanism through the supports that it requires."""
    drawn = [(x, mechanism) for x, mechanism in points if mechanism.required_support is not None]
    for name in dict.fromkeys(mechanism.name for _, mechanism in drawn):
        spec = spec_named(name)
        colour, line, marker = spec.style
        label = name
        if spec.composed:
            label += " (estimate)"
        axes.plot(
            [x for x, mechanism in drawn if mechanism.name == name],
            [mechanism.required_support for _, mechanism in drawn if mechanism.name == name],
            color=colour,
            linestyle=line,
            marker=marker,
            markersize=4,
            label=label,
        )


def _mark_units(axes: Axes, units: int) -> None:
    """Draw a line at the number of all units, and an axis of shares at the right."""
    axes.axhline(units, color="#888888", linewidth=1, label=f"all {of_units(units)}")
    both = (lambda support: 100 * support / units, lambda share: share * units / 100)
    shares = axes.secondary_yaxis("right", functions=both)
    shares.set_ylabel("% of all units")
    shares.yaxis.set_major_formatter("{x:g}")
