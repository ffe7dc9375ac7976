"""A figure of a plan for many itemsets: what each mechanism needs, against how many are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fim_private.dp.cost import at_least
from fim_private.errors import parameter
from fim_private.mechanisms.registry import spec_named
from fim_private.output.figure import draw_units, figure_image, figure_kind
from fim_private.planning.results import of_units, percent
from fim_private.planning.top_results import TopPlan
from fim_private.whole_files import staged

# So many numbers, and no more, are each named on the axis.
_LABELS = 12


def top_plan_curves(plan: TopPlan) -> dict[str, tuple[list[int], list[int]]]:
    """Return what is drawn: mechanism -> (tops, ascending, and the support it requires at each, in units).

    Mechanisms that cannot run are left out; the curve that ends highest comes first.
    """
    curves: dict[str, tuple[list[int], list[int]]] = {}
    for mechanism in plan.mechanisms:
        if mechanism.required_support is not None:
            tops, supports = curves.setdefault(mechanism.name, ([], []))
            tops.append(mechanism.top)
            supports.append(mechanism.required_support)
    return dict(sorted(curves.items(), key=lambda curve: -curve[1][1][-1]))


def draw_top_plan_figure(plan: TopPlan, path: str | Path) -> None:
    """Draw the required support of each mechanism against the number of itemsets, both axes logarithmic.

    path: .png, .svg or .pdf; the file appears under its name only when it is whole.
    Raises ParameterError for other names, MissingExtraError without matplotlib, and OutputError where it cannot be
    written.
    """
    target = Path(path)
    image = figure_image(lambda axes: _draw(axes, plan), figure_kind(target))
    with staged(target, given=parameter("figure")) as write:
        write(image)


def _draw(axes: Any, plan: TopPlan) -> None:
    """Draw the curves, and say in title, labels and legend what they are."""
    curves = top_plan_curves(plan)
    for name, (tops, supports) in curves.items():
        colour, line, marker = spec_named(name).style
        label = f"{name} (estimate)" if spec_named(name).composed else name
        axes.plot(tops, supports, color=colour, linestyle=line, marker=marker, markersize=4, label=label)
    axes.set(xscale="log", yscale="log")
    label = "itemsets asked for" + ("" if plan.union or len(plan.sizes) == 1 else ", of each size")
    if missing := [one.name for one in plan.mechanisms if one.missing and one.top == plan.top[0]]:
        label += f"\nnot drawn, for want of what they must know: {', '.join(missing)}"
    axes.set_xlabel(label)
    axes.set_ylabel("units that must have the itemset")
    given = [f"ε = {at_least(plan.epsilon)}", f"δ = {at_least(plan.delta)}", plan.neighbors]
    given.append(f"{percent(100 * plan.confidence)} probability")
    if plan.typical_basket is not None:
        given.append(f"baskets of {plan.typical_basket:g} items")
    axes.figure.suptitle(
        f"What it takes to find one of many itemsets of {plan.size}\n({', '.join(given)})", fontsize=10
    )
    axes.grid(True, which="major", alpha=0.4)
    axes.grid(True, which="minor", alpha=0.12)
    if plan.units is not None:
        draw_units(axes, plan.units, of_units(plan.units))
    if len(plan.top) <= _LABELS:
        axes.set_xticks(plan.top)
        axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda top, _: f"{top:,.0f}")
    axes.yaxis.set_major_formatter(lambda support, _: f"{support:,.0f}")
    axes.set_ylim(bottom=max(1, 0.7 * min(min(supports) for _, supports in curves.values())) if curves else 1)
    axes.legend(loc="upper left", bbox_to_anchor=(1.13 if plan.units is not None else 1.02, 1), frameon=False)
