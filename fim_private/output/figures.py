"""Figures of plans, drawn by matplotlib."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fim_private.dp.cost import at_least
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.registry import spec_named
from fim_private.planning.plan import Plan, of_units, percent
from fim_private.release.chart import of_matplotlib
from fim_private.whole_files import staged

# -------------------- figure
# A figure as a file: drawn by matplotlib, if it is there, and written whole or not at all.

# The kinds of figures, by the ends of their names.
SUFFIXES = (".png", ".svg", ".pdf")


def figure_kind(path: Path) -> str:
    """Return what kind of file a name stands for, without the dot. Raises ParameterError for other names."""
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError(
            f"{parameter('figure')} must be a name that ends in {', '.join(SUFFIXES)}, not {str(path)!r}"
        )
    return path.suffix.lower()[1:]


def figure_image(draw: Callable[[Any], None], kind: str) -> bytes:
    """Return the figure that draw(axes) makes as the bytes of a file of that kind.

    Raises MissingExtraError without matplotlib.
    """
    matplotlib, figures = of_matplotlib("matplotlib"), of_matplotlib("matplotlib.figure")
    image = io.BytesIO()
    with matplotlib.rc_context({"font.size": 9, "svg.hashsalt": "fim-private"}):
        figure = figures.Figure(figsize=(8, 5), layout="constrained")
        draw(figure.subplots())
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(image, format=kind, dpi=150, metadata=metadata)
    return image.getvalue()


def draw_units(axes: Any, everyone: int, all_units: str) -> None:
    """Mark how many units there are, in words too, and add an axis of their % on the right."""
    axes.axhline(everyone, color="#888888", linewidth=1)
    axes.annotate(
        f"all {all_units}",
        (1, everyone),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 3),
        textcoords="offset points",
        horizontalalignment="right",
        color="#666666",
        fontsize=8,
    )
    shares = axes.secondary_yaxis(
        "right", functions=(lambda support: 100 * support / everyone, lambda share: share * everyone / 100)
    )
    shares.set_ylabel("% of all units")
    shares.yaxis.set_major_formatter(lambda share, _: f"{share:g}")


# -------------------- plan figure
# A figure of plans over a grid of epsilons: what each mechanism needs, against the privacy loss.

# So many epsilons, and no more, are each named on the axis.
_PLAN_FIGURE_LABELS = 12


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
    same = {replace(plan, epsilon=1.0) for plan in plans}
    if len(same) > 1:
        raise ParameterError(f"{parameter('plans')} must differ in epsilon only: take them from plan_grid")
    image = _image(plans, kind)
    with staged(target, given=parameter("figure")) as write:
        write(image)


def _image(plans: Sequence[Plan], kind: str) -> bytes:
    """Return the figure as the bytes of a file of that kind. Raises MissingExtraError without matplotlib."""
    return figure_image(lambda axes: _plan_figure_draw(axes, plans), kind)


def _plan_figure_draw(axes: Any, plans: Sequence[Plan]) -> None:
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
    if len({plan.epsilon for plan in plans}) <= _PLAN_FIGURE_LABELS:
        axes.set_xticks(sorted({plan.epsilon for plan in plans}))
        axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda epsilon, _: at_least(epsilon))
    axes.yaxis.set_major_formatter(lambda support, _: f"{support:,.0f}")
    axes.set_ylim(bottom=max(1, 0.7 * min(min(supports) for _, supports in curves.values())) if curves else 1)
    axes.legend(loc="upper left", bbox_to_anchor=(1.13 if everyone is not None else 1.02, 1), frameon=False)


# -------------------- top plan figure
# A figure of a plan for many itemsets: what each mechanism needs, against how many are asked for.

# So many numbers, and no more, are each named on the axis.
_TOP_PLAN_FIGURE_LABELS = 12


def top_plan_curves(plan: Plan) -> dict[str, tuple[list[int], list[int]]]:
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


def draw_top_plan_figure(plan: Plan, path: str | Path) -> None:
    """Draw the required support of each mechanism against the number of itemsets, both axes logarithmic.

    path: .png, .svg or .pdf; the file appears under its name only when it is whole.
    Raises ParameterError for other names, MissingExtraError without matplotlib, and OutputError where it cannot be
    written.
    """
    target = Path(path)
    image = figure_image(lambda axes: _top_plan_figure_draw(axes, plan), figure_kind(target))
    with staged(target, given=parameter("figure")) as write:
        write(image)


def _top_plan_figure_draw(axes: Any, plan: Plan) -> None:
    """Draw the curves, and say in title, labels and legend what they are."""
    curves = top_plan_curves(plan)
    for name, (tops, supports) in curves.items():
        colour, line, marker = spec_named(name).style
        label = f"{name} (estimate)" if spec_named(name).composed else name
        axes.plot(tops, supports, color=colour, linestyle=line, marker=marker, markersize=4, label=label)
    axes.set(xscale="log", yscale="log")
    label = "itemsets asked for" + ("" if plan.union or len(plan.sizes) == 1 else ", of each size")
    if missing := [one.name for one in plan.mechanisms if one.missing and one.top == plan.tops[0]]:
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
    if len(plan.tops) <= _TOP_PLAN_FIGURE_LABELS:
        axes.set_xticks(plan.tops)
        axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda top, _: f"{top:,.0f}")
    axes.yaxis.set_major_formatter(lambda support, _: f"{support:,.0f}")
    axes.set_ylim(bottom=max(1, 0.7 * min(min(supports) for _, supports in curves.values())) if curves else 1)
    axes.legend(loc="upper left", bbox_to_anchor=(1.13 if plan.units is not None else 1.02, 1), frameon=False)
