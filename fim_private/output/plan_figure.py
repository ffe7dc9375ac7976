"""A figure of plans over a grid of epsilons: what each mechanism needs, against the privacy loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fim_private.dp.cost import at_least
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.registry import spec_named
from fim_private.output.figure import draw_units, figure_image, figure_kind
from fim_private.planning.results import Plan, of_units, percent
from fim_private.whole_files import staged

# So many epsilons, and no more, are each named on the axis.
_LABELS = 12


def plan_curves(plans: Sequence[Plan]) -> dict[str, tuple[list[float], list[int]]]:
    """Return what is drawn: mechanism -> (epsilons, ascending, and the support it requires at each, in units).

    Mechanisms that cannot run are left out; the curve that begins highest comes first.
    """
    curves: dict[str, tuple[list[float], list[int]]] = {}
    for plan in sorted(plans, key=lambda plan: plan.epsilon):
        for mechanism in plan.mechanisms:
            if mechanism.required_support is not None:
                epsilons, supports = curves.setdefault(mechanism.name, ([], []))
                epsilons.append(plan.epsilon)
                supports.append(mechanism.required_support)
    return dict(sorted(curves.items(), key=lambda curve: -curve[1][1][0]))


def draw_plan_figure(plans: Sequence[Plan], path: str | Path) -> None:
    """Draw the required support of each mechanism against epsilon, both axes logarithmic.

    plans: one or more, which differ in epsilon only, as plan_grid gives them. path: .png, .svg or .pdf; the file
    appears under its name only when it is whole.
    Raises ParameterError for other plans or names, MissingExtraError without matplotlib, and OutputError where it
    cannot be written.
    """
    target = Path(path)
    kind = figure_kind(target)
    if not plans:
        raise ParameterError(f"{parameter('plans')} must hold at least one")
    same = {replace(plan, epsilon=1.0, mechanisms=(), recommended="", reason="") for plan in plans}
    if len(same) > 1:
        raise ParameterError(f"{parameter('plans')} must differ in epsilon only: take them from plan_grid")
    image = _image(plans, kind)
    with staged(target, given=parameter("figure")) as write:
        write(image)


def _image(plans: Sequence[Plan], kind: str) -> bytes:
    """Return the figure as the bytes of a file of that kind. Raises MissingExtraError without matplotlib."""
    return figure_image(lambda axes: _draw(axes, plans), kind)


def _draw(axes: Any, plans: Sequence[Plan]) -> None:
    """Draw the curves, and say in title, labels and legend what they are."""
    first = plans[0]
    curves = plan_curves(plans)
    for name, (epsilons, supports) in curves.items():
        colour, line, marker = spec_named(name).style
        axes.plot(epsilons, supports, color=colour, linestyle=line, marker=marker, markersize=4, label=name)
    axes.set(xscale="log", yscale="log")
    label = "ε, the privacy loss (smaller is more private)"
    if missing := [mechanism.name for mechanism in first.mechanisms if mechanism.missing]:
        label += f"\nnot drawn, for want of a catalogue or of a cap on baskets: {', '.join(missing)}"
    axes.set_xlabel(label)
    axes.set_ylabel("units that must have the itemset")
    given = [f"δ = {at_least(first.delta)}", f"{percent(100 * first.confidence)} probability", first.neighbors]
    if first.universe_size is not None:
        given.append(f"{first.universe_size:,} items" if first.universe_size < 10**9 else "very many items")
    title = f"What it takes to find an itemset of {first.size} ({', '.join(given)})"
    axes.figure.suptitle(title, fontsize=10)
    axes.grid(True, which="major", alpha=0.4)
    axes.grid(True, which="minor", alpha=0.12)
    everyone = first.units
    if everyone is not None:
        draw_units(axes, everyone, of_units(everyone))
    if len({plan.epsilon for plan in plans}) <= _LABELS:
        axes.set_xticks(sorted({plan.epsilon for plan in plans}))
        axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda epsilon, _: at_least(epsilon))
    axes.yaxis.set_major_formatter(lambda support, _: f"{support:,.0f}")
    axes.set_ylim(bottom=max(1, 0.7 * min(min(supports) for _, supports in curves.values())) if curves else 1)
    axes.legend(loc="upper left", bbox_to_anchor=(1.13 if everyone is not None else 1.02, 1), frameon=False)
