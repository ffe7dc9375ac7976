"""The figures of the study of utility, from its answers alone."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from benchmarks.frame.figure_style import COLOURS, MARKS, legend_below, line_style
from benchmarks.frame.study import Results
from benchmarks.utility.measures import ADD_REMOVE, BASKET, Row
from benchmarks.utility.sections import complete_rows

# Those that a figure can hold; tables have all.
SHOWN = (
    "large-margin",
    "tight-margin",
    "limited-domain",
    "levelwise",
    "exponential",
    "PrivBasis, zCDP",
    "weighted Gaussian (OpenDP)",
    "stability histogram (OpenDP)",
)


def _rows(results: Results) -> list[Row]:
    """Return the settings that figures are of."""
    return [row for row in complete_rows(results) if (row.unit, row.neighbors, row.delta) == (BASKET, ADD_REMOVE, 1e-6)]


def epsilon(figure: Any, results: Results) -> None:
    """Mean FNR over the data sets against ε, by k and size."""
    rows = [row for row in _rows(results) if row.k in (10, 100)]
    if not rows:
        return
    sizes = list(dict.fromkeys(row.sizes for row in rows))
    counts = [k for k in (10, 100) if any(row.k == k for row in rows)]
    panels = figure.subplots(len(counts), len(sizes), squeeze=False, sharex=True, sharey=True)
    for line, k in zip(panels, counts, strict=True):
        for panel, size in zip(line, sizes, strict=True):
            for place, entry in enumerate(SHOWN):
                own = [row for row in rows if (row.entry, row.sizes, row.k) == (entry, size, k)]
                grid = sorted({row.epsilon for row in own})
                means = [fmean(row.found["fnr"] for row in own if row.epsilon == e) for e in grid]
                panel.plot(grid, means, label=entry, **line_style(place))
            panel.set(title=f"k = {k}, itemsets of {size}", xscale="log", ylim=(-0.03, 1.03))
            panel.set_xticks([0.1, 0.25, 0.5, 1, 2], ["0.1", "0.25", "0.5", "1", "2"])
            panel.minorticks_off()
    for line in panels:
        line[0].set_ylabel("mean false-negative rate")
    for panel in panels[-1]:
        panel.set_xlabel("ε (δ = 1e-6)")
    legend_below(figure, panels.ravel(), 4)


def supports(figure: Any, results: Results) -> None:
    """Median relative error of supports against the share that is released."""
    panel = figure.subplots()
    rows = [row for row in _rows(results) if row.epsilon == 1]
    if not rows:
        return
    for place, entry in enumerate(SHOWN):
        own = [
            row for row in rows if row.entry == entry and row.k in (10, 100) and row.found["error_median"] is not None
        ]
        panel.scatter(
            [1 - row.found["abstained"] for row in own],
            [max(row.found["error_median"], 1e-4) for row in own],
            color=COLOURS[place],
            marker=MARKS[place],
            s=16,
            alpha=0.8,
            label=entry,
        )
    panel.set(yscale="log", xlabel="share of k that is released", ylabel="median relative error of released supports")
    panel.set_title("One point a data set, size and k = 10 or 100; ε = 1, δ = 1e-6")
    figure.legend(loc="outside right upper", fontsize=7)


def data(figure: Any, results: Results) -> None:
    """FNR by data set, with intervals."""
    rows = [row for row in _rows(results) if row.epsilon == 1 and row.k == 10]
    if not rows:
        return
    sizes = list(dict.fromkeys(row.sizes for row in rows))
    chosen = sizes[min(1, len(sizes) - 1)]
    rows = [row for row in rows if row.sizes == chosen]
    names = list(dict.fromkeys(row.data for row in rows))
    panel = figure.subplots()
    for place, entry in enumerate(SHOWN):
        own = {row.data: row.found for row in rows if row.entry == entry}
        x = [names.index(name) + 0.09 * (place - len(SHOWN) / 2 + 0.5) for name in own]
        found = list(own.values())
        bars = [[max(0.0, f["fnr"] - f["low"]) for f in found], [max(0.0, f["high"] - f["fnr"]) for f in found]]
        panel.errorbar(x, [f["fnr"] for f in found], bars, label=entry, linestyle="none", **line_style(place, 5))
    panel.set_xticks(range(len(names)), names)
    panel.grid(visible=False, axis="x")
    panel.set(ylabel="false-negative rate, 95 % interval", ylim=(-0.03, 1.03))
    panel.set_title(f"k = 10, itemsets of {chosen}, ε = 1, δ = 1e-6")
    figure.legend(loc="outside lower center", ncols=4)
