"""The figure of the counting benchmark: ratios to the peers, and growth; PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.counting.peer_counters import MODES
from benchmarks.counting.summary import Duel, duels, fastest, titles
from benchmarks.frame import figure_style
from benchmarks.frame.figure_style import COLOURS, MARKS


def draw(results: dict[str, Any], folder: Path) -> list[Path]:
    """Write counting.png and counting.svg to the folder; return their paths."""
    return figure_style.draw(folder, "counting", lambda figure: _paint(figure, results), (12, 10.5))


def _paint(figure: Any, results: dict[str, Any]) -> None:
    axes = figure.subplots(3, len(MODES))
    found = list(duels(results["contests"]))
    best = fastest(results["contests"])
    names = [about["name"] for about in results["datasets"]]
    for column, (mode, title) in enumerate(titles(results).items()):
        axes[0, column].set_title(title)
        for row, figure_name in enumerate(("time", "memory")):
            _ratios(axes[row, column], [duel for duel in found if duel.mode == mode], best, names, figure_name)
    for row, (label, attribute) in enumerate((("time", "time"), ("peak memory", "memory"))):
        ratios = [getattr(duel, attribute) for duel in found] or [1.0]
        for panel in axes[row]:
            panel.set_ylim(min(0.5, min(ratios) / 1.5), max(20.0, max(ratios) * 1.5))
            panel.yaxis.set_major_formatter("{x:g}")
        axes[row, 0].set_ylabel(f"{label}, peer / ours (ratio)\nabove 1: ours is better")
    _growth(axes[2], results)
    figure.suptitle(
        "Counting itemsets. Filled: the fastest peer of each contest; hollow: the others. "
        f"Medians of {results['runs']} run{'s' * (results['runs'] > 1)}."
    )


def _ratios(
    axes: Any, found: list[Duel], best: dict[tuple[str, int, str], Duel], names: list[str], figure: str
) -> None:
    sizes = sorted({duel.size for duel in found})
    for index, size in enumerate(sizes):
        shift = 0.22 * (index - (len(sizes) - 1) / 2)
        for filled in (False, True):
            chosen = [d for d in found if d.size == size and (best[d.dataset, d.size, d.mode] == d) == filled]
            axes.scatter(
                [names.index(duel.dataset) + shift for duel in chosen],
                [getattr(duel, figure) for duel in chosen],
                s=26 if filled else 12,
                marker=MARKS[index % len(MARKS)],
                facecolors=COLOURS[index % len(COLOURS)] if filled else "none",
                edgecolors=COLOURS[index % len(COLOURS)],
                linewidths=0.7,
                label=f"size {size}" if filled else None,
                zorder=3 if filled else 2,
            )
    axes.axhline(1, color="black", linewidth=1)
    axes.set_yscale("log")
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axes.set_xlim(-0.6, len(names) - 0.4)
    if sizes:
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * (high / low) ** 0.15)
        axes.legend(loc="upper right", fontsize=7, ncols=3)


def _growth(axes: Any, results: dict[str, Any]) -> None:
    panels: tuple[tuple[str, Callable[[Any, Any], float]], ...] = (
        ("time per basket of ours (µs)", lambda row, part: 1e6 * part["seconds"]["median"] / row["baskets"]),
        ("time of ours (s)", lambda row, part: part["seconds"]["median"]),
    )
    for panel, (label, value) in zip(axes, panels, strict=False):
        for rows, style in _lines(results):
            panel.plot([row["baskets"] for row, _ in rows], [value(row, part) for row, part in rows], **style)
        panel.set_ylabel(label)
    for index, size in enumerate(sorted({row["size"] for row in results["growth"]})):
        mined = [row for row in results["growth"] if row["size"] == size]
        axes[2].plot(
            [row["baskets"] for row in mined],
            [row["process"]["peak"]["median"] / 1e6 for row in mined],
            color=COLOURS[index],
            marker=MARKS[index],
            label=f"mine, size {size}",
        )
    axes[2].set_ylabel("peak memory of the whole process (MB)")
    for panel in axes:
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel("baskets (Quest T10.I4)")
        if results["growth"]:
            low, high = panel.get_ylim()
            panel.set_ylim(low, high * (high / low) ** 0.6)  # room for the legend above the lines
            panel.legend(loc="upper left", fontsize=7)


def _lines(results: dict[str, Any]) -> Iterator[tuple[list[tuple[dict[str, Any], dict[str, Any]]], dict[str, Any]]]:
    parts = (
        ("process", "-", "mine, whole process"),
        ("top", "--", f"count in memory, top {results['top']:,}"),
        ("all", ":", "count in memory, all"),
    )
    for index, size in enumerate(sorted({row["size"] for row in results["growth"]})):
        for part, dashes, name in parts:
            rows = [(r, r[part]) for r in results["growth"] if r["size"] == size and "seconds" in r[part]]
            style = {"color": COLOURS[index], "marker": MARKS[index], "linestyle": dashes}
            yield rows, {**style, "label": f"{name}, size {size}"}
