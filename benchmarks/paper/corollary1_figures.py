"""The figures of `corollary1.py`, from its answers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.frame.figure_style import COLOURS, MARKS, legend_below, line_style
from benchmarks.frame.study import Results, answers_of
from benchmarks.paper.corollary1_tasks import NEIGHBORS

KINDS = ("large-margin", "tight-margin", "limited-domain", "named-exponential")
_NAMES = {"named-exponential": "exponential (size only)"}


def parts(results: Results, part: str) -> dict[tuple[str, ...], Any]:
    """Return the answers of one kind, by what else is in the key."""
    return answers_of(results, part, "/")


def slope(exponents: list[int], values: list[int]) -> float:
    """Return the slope of values against exponents, by least squares."""
    return float(np.polyfit(exponents, values, 1)[0])


@dataclass(frozen=True)
class Covered:
    """One check of Theorem 3. share: of the draws that kept the bound, with a 95 % Clopper–Pearson interval."""

    eta: float
    draws: int
    share: float
    lower: float
    upper: float
    exact: float


def covered(results: Results) -> list[Covered]:
    """Return the checks of Theorem 3 in all cases where its condition holds."""
    from scipy.stats import binomtest

    found = []
    for case in parts(results, "coverage").values():
        for row in case["rows"]:
            if row["rank"] is not None:
                interval = binomtest(row["kept"], row["draws"]).proportion_ci(0.95, method="exact")
                share = row["kept"] / row["draws"]
                limits = float(interval.low), float(interval.high)
                found.append(Covered(row["eta"], row["draws"], share, *limits, row["exact"]))
    return found


def needs(figure: Any, results: Results) -> None:
    """Support needed against the number of items."""
    for panel, neighbors in zip(figure.subplots(1, 2, sharey=True), NEIGHBORS, strict=True):
        margin = 0
        for place, ((size,), found) in enumerate(parts(results, "needs").items()):
            items = [10.0**e for e in found["exponents"]]
            panel.plot(items, found[neighbors]["exponential"], label=f"exponential, r = {size}", **line_style(place, 3))
            margin = found[neighbors]["large-margin"]
        panel.axhline(margin, color="black", linestyle="--", label="large margin, every r")
        panel.set(title=neighbors, xscale="log", yscale="log", xlabel="items in the universe, |I|")
        panel.set_yticks(*[[10, 30, 100, 300, 1000, 3000]] * 2)
        panel.minorticks_off()
        panel.set_xticks([10.0**e for e in (2, 10, 20, 30, 40, 50, 60)])
    figure.axes[0].set_ylabel("support needed (units), 95 %, ε = 1, δ = 1e-6")
    figure.axes[1].legend(fontsize=7, loc="lower right")


def errors(figure: Any, results: Results) -> None:
    """Mean error against the number of items, a panel for each data set, and the crowd."""
    found = parts(results, "errors")
    names = list(dict.fromkeys(name for name, _ in found))
    names = [*(name for name in names if not name.startswith("zipf")), *names[-1:]][:6]
    names = list(dict.fromkeys(names))[:5]
    columns = min(3, len(names) + 1)
    panels = figure.subplots(math.ceil((len(names) + 1) / columns), columns, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        for (_, size), answer in ((key, value) for key, value in found.items() if key[0] == name):
            colour, apart = COLOURS[int(size) - 1], 0.02 * (int(size) - 1)  # or lines would lie on each other
            items = [10.0 ** row["exponent"] for row in answer["rows"]]
            error = [row["replace-one"] / answer["maximum"] - apart for row in answer["rows"]]
            panel.plot(items, error, color=colour, marker=MARKS[int(size) - 1], markersize=3, label=f"r = {size}")
            panel.axhline(answer["large-margin"] / answer["maximum"] - apart, color=colour, linestyle="--")
            told = [(10.0 ** row["exponent"], row["large-margin"]) for row in answer["rows"] if "large-margin" in row]
            heights = [error / answer["maximum"] - apart for _, error in told]
            panel.plot([x for x, _ in told], heights, ":", color=colour, marker="x", markersize=4)
        panel.set(title=name, ylim=(-0.15, 1.05), ylabel="mean error (share of f_max)")
    panel = panels[len(names)]
    for (size,), answer in parts(results, "crowd").items():
        colour, place = COLOURS[int(size) - 1], int(size) - 1
        items = [10.0 ** row["exponent"] for row in answer["rows"]]
        panel.plot(items, [row["replace-one"] for row in answer["rows"]], **line_style(place, 3))
        panel.plot(items, [row["large-margin"] for row in answer["rows"]], "--", color=colour)
    panel.set(title="a crowd below the leader", ylabel="mean error (units)")
    for panel in panels[: len(names) + 1]:
        panel.set(xscale="log", xlabel="items in the universe, |I|")
        panel.set_xticks([10.0**e for e in (2, 20, 40, 60)])
    for panel in panels[len(names) + 1 :]:
        panel.remove()
    legend_below(figure, panels[:1], 6)
    title = "Mean error, ε = 1, δ = 1e-6, replace-one. Solid: exponential; dashed: large margin; dotted: told |I|"
    figure.suptitle(
        f"{title}\n(sizes are set apart by 0.02; an error of f_max is abstaining, or naming what nobody has)"
    )


def crossing(figure: Any, results: Results) -> None:
    """Crossings measured against predicted."""
    panel = figure.subplots()
    highest = 1.0
    for place, neighbors in enumerate(NEIGHBORS):
        both = [found["crossing"][neighbors] for found in parts(results, "errors").values()]
        both += [found[neighbors]["crossing"] for found in parts(results, "needs").values()]
        points = [(c["predicted"], c["measured"]) for c in both if c["measured"] is not None]
        highest = max([highest, *(measured for _, measured in points)])
        style = {"color": COLOURS[place], "marker": MARKS[place], "s": 14}
        panel.scatter(*zip(*points, strict=True), label=neighbors, **style)
    panel.plot([100, highest], [100, highest], color="black", linewidth=0.7, label="equal")
    panel.axvspan(10, 60, color="0.85", label="pairs of up to 10^13 items")
    panel.set(xscale="log", yscale="log", xlabel="ln K predicted", ylabel="ln K measured")
    panel.set(title="Candidates K from which large margin wins", xlim=(10, None))
    panel.legend(fontsize=7)


def coverage(figure: Any, results: Results) -> None:
    """Shares of releases within the bound, with intervals, against what is promised."""
    panel = figure.subplots()
    points = covered(results)
    etas = sorted({p.eta for p in points}, reverse=True)
    for place, eta in enumerate(etas):
        own = sorted((p for p in points if p.eta == eta), key=lambda p: p.share)
        x = place + np.linspace(-0.3, 0.3, len(own))
        share = np.array([p.share for p in own])
        bars = [share - [p.lower for p in own], [p.upper for p in own] - share]
        panel.errorbar(x, share, bars, fmt="o", markersize=2, linewidth=0.6, color=COLOURS[0])
        promised = panel.hlines(1 - eta, place - 0.4, place + 0.4, color=COLOURS[5])
    if points:
        promised.set_label("promised: 1 − η")
        panel.plot([], [], "o", color=COLOURS[0], markersize=3, label="share of releases, 95 % interval, one case each")
        panel.legend(fontsize=7, loc="lower right")
    panel.set_xticks(range(len(etas)), [f"{eta:g}" for eta in etas])
    panel.set(xlabel="η", ylabel="share of releases within the bound", title="Theorem 3, where its condition holds")


def condition(figure: Any, results: Results) -> None:
    """Probability of a release against c(1) ε / ln(L/δ)."""
    panel = figure.subplots()
    found = parts(results, "condition")
    names = list(dict.fromkeys(name for name, _ in found))
    for (name, size), rows in found.items():
        place = names.index(name)
        panel.scatter(
            [row["ratio"] for row in rows],
            [1 - row["abstain"] for row in rows],
            s=12,
            color=COLOURS[place % len(COLOURS)],
            marker=MARKS[int(size) - 1],
            label=f"{name}, r = {size}",
            alpha=0.8,
        )
    panel.set(xscale="log", xlim=(0.9, None), xlabel="f_max · n ε / ln(L/δ)", ylabel="probability of a release")
    panel.set_title("Large margin's success against the condition of Corollary 1 (δ = 1e-6)")
    figure.legend(loc="outside right upper", fontsize=6)


def unknown(figure: Any, results: Results) -> None:
    """Supports needed over open vocabularies."""
    found = parts(results, "vocabulary")
    names = list(dict.fromkeys(name for name, _ in found))
    for panel, neighbors in zip(figure.subplots(1, 2, sharey=True), NEIGHBORS, strict=True):
        for place, name in enumerate(names):
            sizes = sorted(int(size) for other, size in found if other == name)
            for index, kind in enumerate(KINDS):
                needed = [found[name, str(size)][neighbors][kind] for size in sizes]
                if place and kind != "named-exponential":
                    continue  # the others do not depend on the vocabulary
                where = f", {name}" if kind == "named-exponential" else ""
                colour = COLOURS[index + place]
                panel.plot(
                    sizes, needed, color=colour, marker=MARKS[index + place], label=_NAMES.get(kind, kind) + where
                )
        panel.set(title=neighbors, yscale="log", xlabel="items in the itemset, r")
        panel.set_xticks(sizes)
        panel.set_yticks(*[[10, 30, 100, 300, 1000]] * 2)
        panel.minorticks_off()
    figure.axes[0].set_ylabel("support needed (units), 95 %, ε = 1, δ = 1e-6")
    legend_below(figure, figure.axes[:1], 3, fontsize=7)
