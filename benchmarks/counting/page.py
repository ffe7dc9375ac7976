"""The page that reports a run of the counting benchmark, from its JSON alone."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.counting.peer_counters import ALL, MODES, OURS, THRESHOLD, TOP, is_ours
from benchmarks.frame import figure_style
from benchmarks.frame.figure_style import COLOURS, MARKS, legend_below
from benchmarks.frame.output_files import write_text
from benchmarks.frame.tables import markdown_table

# Ratios to ours, and where a peer is better.

MODE_NAMES = {
    ALL: "all nonzero supports",
    THRESHOLD: "minimum support",
    TOP: "top {top:,}, threshold given to peers only",
}
TIME, NET, MEMORY = "time", "net of input", "memory"
# bytes: a ratio of memories below this says nothing, so each counts as this much
SMALLEST_MEMORY = 1 << 20


@dataclass(frozen=True)
class Duel:
    """A peer against ours in one contest; ratios are peer / ours, above 1 where ours is better.

    net: of the time without taking in Python objects, for those who do that in every call.
    """

    dataset: str
    size: int
    mode: str
    peer: str
    time: float
    memory: float
    net: float | None


def duels(contests: Iterable[dict[str, Any]]) -> Iterator[Duel]:
    """Yield every peer that finished, in every contest that ours finished."""
    for contest in contests:
        ours = contest["outcome"][OURS]
        if ours["status"] != "ok":
            continue
        seconds, memory = ours["seconds"]["median"], max(ours["memory"]["median"], SMALLEST_MEMORY)
        for peer, figures in contest["outcome"].items():
            if is_ours(peer) or figures["status"] != "ok":
                continue
            net = None
            if "conversion" in figures:
                net = (
                    max(0.0, figures["seconds"]["median"] - figures["conversion"]["median"])
                    / seconds
                )
            time = figures["seconds"]["median"] / seconds
            used = max(figures["memory"]["median"], SMALLEST_MEMORY) / memory
            yield Duel(contest["dataset"], contest["size"], contest["mode"], peer, time, used, net)


def quietest(results: dict[str, Any]) -> dict[str, Any]:
    """Return the same with the least time of each contestant in the place of its median: the least
    disturbed.
    """

    def least(figures: dict[str, Any]) -> dict[str, Any]:
        times = [figure for figure in ("seconds", "conversion") if figure in figures]
        return figures | {
            figure: figures[figure] | {"median": figures[figure]["min"]} for figure in times
        }

    contests = [
        contest
        | {"outcome": {name: least(figures) for name, figures in contest["outcome"].items()}}
        for contest in results["contests"]
    ]
    return results | {"contests": contests}


def fastest(contests: Iterable[dict[str, Any]]) -> dict[tuple[str, int, str], Duel]:
    """Return the fastest peer of each contest by (dataset, size, mode)."""
    best: dict[tuple[str, int, str], Duel] = {}
    for duel in duels(contests):
        key = duel.dataset, duel.size, duel.mode
        if key not in best or duel.time < best[key].time:
            best[key] = duel
    return best


def losses(results: dict[str, Any]) -> list[str]:
    """Return a line for everything at which peers are better than ours: time, then time net of
    input, then memory.
    """
    failed, worse = [], defaultdict(list)
    for contest in results["contests"]:
        status = contest["outcome"][OURS]["status"]
        finished = [
            n
            for n, figures in contest["outcome"].items()
            if not is_ours(n) and figures["status"] == "ok"
        ]
        if status != "ok" and finished:
            failed.append(
                f"{place(contest)}: ours ends with {status}, not so {', '.join(finished)}"
            )
    for duel in duels(results["contests"]):
        where = f"{duel.dataset}, size {duel.size}, {duel.mode}"
        net = None if duel.time < 1 else duel.net
        for what, ratio in ((TIME, duel.time), (NET, net), (MEMORY, duel.memory)):
            if ratio is not None and ratio < 1:
                worse[what, where].append(f"{duel.peer} ({ratio:.2f})")
    for row in results["processes"]:
        ours = next(iter(row["commands"].values()))
        for name, figures in row["commands"].items():
            for figure, what in (("seconds", TIME), ("peak", MEMORY)):
                ratio = figures[figure]["median"] / ours[figure]["median"]
                if "PyFIM" in name and ratio < 1:
                    worse[what, f"whole process, {row['dataset']}"].append(f"{name} ({ratio:.2f})")
    order = (TIME, NET, MEMORY)
    lines = sorted(worse.items(), key=lambda line: order.index(line[0][0]))
    return failed + [
        f"{what}: {where}: {', '.join(sorted(peers))}" for (what, where), peers in lines
    ]


def reading(results: dict[str, Any], mode: str) -> str:
    """Return one sentence about the contests of a mode."""
    contests = [contest for contest in results["contests"] if contest["mode"] == mode]
    ratios = [duel.time for duel in fastest(contests).values()]
    if not ratios:
        return "No peer finished."
    won = sum(ratio > 1 for ratio in ratios)
    return (
        f"Ours is the fastest in {won} of {len(ratios)} contests; the fastest peer takes "
        f"{statistics.median(ratios):.2g} times as long in the median, from {min(ratios):.2g} to "
        f"{max(ratios):.2g}."
    )


def growth_reading(results: dict[str, Any]) -> str:
    """Return a sentence about the growth at each size."""
    parts = []
    for size in sorted({row["size"] for row in results["growth"]}):
        rows = [row for row in results["growth"] if row["size"] == size]
        each = [1e6 * row["process"]["seconds"]["median"] / row["baskets"] for row in rows]
        first = f"{each[0]:.3g} µs a basket with {rows[0]['baskets']:,} baskets"
        last = f"{each[-1]:.3g} µs with {rows[-1]['baskets']:,}"
        parts.append(f"At size {size} the whole command takes {first}, and {last}.")
    return " ".join(parts)


def place(contest: dict[str, Any]) -> str:
    """Name a contest."""
    return f"{contest['dataset']}, size {contest['size']}, {contest['mode']}"


def summary_rows(results: dict[str, Any], mode: str) -> Iterator[tuple[str, ...]]:
    """Yield cells: data, size, minimum support, ours, fastest peer, its time, ratios, who did not
    finish.
    """
    contests = [contest for contest in results["contests"] if contest["mode"] == mode]
    best = fastest(contests)
    for contest in contests:
        ours = contest["outcome"][OURS]
        duel = best.get((contest["dataset"], contest["size"], mode))
        cells = [
            contest["dataset"],
            str(contest["size"]),
            f"{contest['min_support']:,}",
            cell(ours),
        ]
        if duel is None:
            cells += ["–"] * 5
        else:
            net = "–" if duel.net is None else f"{duel.net:.2f}"
            cells += [
                duel.peer,
                cell(contest["outcome"][duel.peer]),
                f"{duel.time:.2f}",
                net,
                f"{duel.memory:.2f}",
            ]
        yield tuple(cells)


SUMMARY_COLUMNS = (
    "data",
    "size",
    "min. support",
    "ours (ms)",
    "fastest peer",
    "peer (ms)",
    "time ratio",
    "net of input",
    "memory ratio",
)


def cell(figures: dict[str, Any]) -> str:
    """Return milliseconds, or why there are none."""
    return (
        f"{1e3 * figures['seconds']['median']:,.1f}"
        if figures["status"] == "ok"
        else str(figures["status"])
    )


def titles(results: dict[str, Any]) -> dict[str, str]:
    """Return the name of each mode."""
    return {mode: MODE_NAMES[mode].format(top=results["top"]) for mode in MODES}


METHOD = """\
Every contestant works in a process of its own. Before the clock starts it has its input in memory, in the form that it
takes in fastest, with items numbered from 0. Contestants take turns inside each repetition. Every time the run compares
what they count (how many itemsets have each support), and it stops at the first difference. A peer that reads a
threshold gets the right one; for the top {top:,} ours gets none. Memory is what counting adds at its peak to a process
that holds its input; ratios take anything below 1 MB for 1 MB. Some peers take in Python objects in every call. For
them *net of input* is the ratio without that part, which the same call measures with a support that nothing has. Ours
uses all cores; *1 thread* and *numpy* (no compiled code) are shown beside it.
"""  # noqa: E501


def write_document(results: dict[str, Any], document: Path) -> None:
    """Write the page; its pictures are in figures/ beside it."""
    write_text("\n".join(_lines(results, "figures/")) + "\n", document)


SECTION_METHOD = """\
Measured after the rest of this page, in a run of its own, by the same rules. Ours was counted anew beside them, what
they counted is the same, and ratios are within this run. The machine was shared with other work meanwhile (load average
{least:.1f} to {most:.1f}), so that times are the least of {runs} runs. Do not compare them with those of other tables.
A contestant that took more than {timeout:g} s for one count in any run, on that loaded machine, has no time here.
"""  # noqa: E501


def write_section(results: dict[str, Any], document: Path, title: str) -> None:
    """Write one part of a page that is there anew, at its end if it has none; results: with the
    times to show.
    """
    parts = re.split(r"^(?=## )", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
    own = "\n".join(_section(results, title)).rstrip() + "\n\n"
    at = next((at for at, part in enumerate(parts) if part.startswith(f"## {title}\n")), len(parts))
    parts[at:] = [own, *parts[at + 1 :]]
    write_text("".join(part.rstrip() + "\n\n" for part in parts).rstrip() + "\n", document)


def _section(results: dict[str, Any], title: str) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"    {results['command']}\n"
    shown = ("rusket", "fastapriori", "fim-private", "numpy")
    versions = ", ".join(
        f"{name} {results['versions'][name]}" for name in shown if name in results["versions"]
    )
    yield (
        f"{results['date']}, commit {results['commit'] or 'unknown'}; {results['cpu']}, "
        f"{results['cores']} cores;"
    )
    yield f"{_gib(results)} of memory; Python {results['python']}, {versions}.\n"
    loads = results["loads"]
    yield SECTION_METHOD.format(
        least=min(loads), most=max(loads), runs=results["runs"], timeout=results["timeout"]
    )
    for mode, name in titles(results).items():
        if any(contest["mode"] == mode for contest in results["contests"]):
            yield f"### {name[0].upper()}{name[1:]}, least times\n"
            yield reading(results, mode) + "\n"
            yield from _table(SUMMARY_COLUMNS, summary_rows(results, mode))
    found = losses(results)
    yield (
        "Where a peer is better, in brackets what it takes of ours:\n"
        if found
        else "No peer is better anywhere.\n"
    )
    yield "".join(f"- {loss}\n" for loss in found)
    yield from _everybody(results, level=3, figures="the least")


def _lines(results: dict[str, Any], figures: str) -> Iterator[str]:
    yield "# Benchmarks: counting itemsets\n"
    yield "This page is written by the benchmark itself:\n"
    yield f"    {results['command']}\n"
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    yield f"- Date: {results['date']}, commit {results['commit'] or 'unknown'}"
    yield (
        f"- Machine: {results['cpu']} ({results['machine']}), {results['cores']} cores, "
        f"{_gib(results)} of memory"
    )
    yield f"- Versions: Python {results['python']}, {versions}"
    yield f"- Figures: medians of {results['runs']} run{'s' * (results['runs'] > 1)}"
    limit = f"{results['timeout']:g} s and {results['memory_limit'] / 1e9:g} GB of address space"
    yield f"- Limits of one count: {limit}\n"
    yield METHOD.format(top=results["top"])
    yield f"![Time and memory of the peers relative to ours]({figures}counting.svg)\n"
    yield from _datasets(results)
    for mode, title in titles(results).items():
        if not any(contest["mode"] == mode for contest in results["contests"]):
            continue
        yield f"## {title[0].upper()}{title[1:]}\n"
        yield reading(results, mode) + "\n"
        yield from _table(SUMMARY_COLUMNS, summary_rows(results, mode))
    yield from _processes(results)
    yield from _growth(results, figures)
    yield "## Where a peer is better\n"
    found = losses(results)
    if found:
        yield "In brackets what the peer takes of ours, a ratio below 1.\n"
    yield "\n".join(f"- {loss}" for loss in found) + "\n" if found else "none\n"
    yield from _everybody(results, level=2, figures="medians")


def _gib(results: dict[str, Any]) -> str:
    return f"{results['memory_total'] / 2**30:.0f} GiB"


def _datasets(results: dict[str, Any]) -> Iterator[str]:
    yield "## Data\n"
    yield from _table(
        ("data", "what", "baskets", "items", "mean items a basket", "longest"),
        (
            (
                about["name"],
                about["about"],
                f"{about['baskets']:,}",
                f"{about['items']:,}",
                f"{about['entries'] / max(about['baskets'], 1):.1f}",
                f"{about['longest']:,}",
            )
            for about in results["datasets"]
        ),
    )
    if results["missing"]:
        yield f"Not there, so not counted: {', '.join(results['missing'])}.\n"


def _processes(results: dict[str, Any]) -> Iterator[str]:
    yield "## Whole processes\n"
    yield (
        "From start to answer: reading the file, counting, the mechanism, printing. Start "
        "alone is the imports of"
    )
    yield "numpy and pyarrow, which nothing that reads Parquet can go below.\n"
    rows = []
    for row in results["processes"]:
        ours = next(iter(row["commands"].values()))["seconds"]["median"]
        for name, figures in row["commands"].items():
            seconds, peak = figures["seconds"], figures["peak"]["median"] / 1e6
            spread = f"{seconds['min']:.2f} – {seconds['max']:.2f}"
            ratio = f"{seconds['median'] / ours:.2f}"
            rows.append(
                (
                    row["dataset"],
                    f"`{name}`",
                    f"{seconds['median']:.2f}",
                    spread,
                    ratio,
                    f"{peak:.0f}",
                )
            )
    yield from _table(("data", "command", "seconds", "min – max", "time ratio", "peak (MB)"), rows)


def _growth(results: dict[str, Any], figures: str) -> Iterator[str]:
    if not results["growth"]:
        return
    yield "## Growth\n"
    yield growth_reading(results) + "\n"
    yield f"![Time for each basket, and memory, as baskets grow]({figures}counting_growth.svg)\n"
    rows = []
    for row in results["growth"]:
        process = row["process"]
        seconds = process["seconds"]["median"]
        counts = (cell(row[mode]) for mode in (TOP, ALL))
        rows.append(
            (
                f"{row['baskets']:,}",
                str(row["size"]),
                f"{seconds:.2f}",
                f"{1e6 * seconds / row['baskets']:.2f}",
                f"{process['peak']['median'] / 1e6:,.0f}",
                *counts,
            )
        )
    columns = ("baskets", "size", "`mine` (s)", "µs a basket", "peak (MB)")
    yield from _table((*columns, f"count top {results['top']:,} (ms)", "count all (ms)"), rows)


def _everybody(results: dict[str, Any], *, level: int, figures: str) -> Iterator[str]:
    yield f"{'#' * level} Everybody\n"
    yield f"Milliseconds, {figures}; where there is no number, the reason.\n"
    for mode in MODES:
        contests = [contest for contest in results["contests"] if contest["mode"] == mode]
        if not contests:
            continue
        names = [
            name
            for name in results["contestants"]
            if any(contest["outcome"][name]["status"] != "other sizes only" for contest in contests)
        ]
        yield f"{'#' * (level + 1)} {titles(results)[mode].capitalize()}\n"
        yield from _table(
            ("data", "size", *names),
            (
                (
                    contest["dataset"],
                    str(contest["size"]),
                    *(cell(contest["outcome"][name]) for name in names),
                )
                for contest in contests
            ),
        )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    left = {"data", "what", "command", "fastest peer"}
    return markdown_table(columns, rows, [column not in left for column in columns])


# The figure.


def draw(results: dict[str, Any], folder: Path) -> None:
    """Write counting and counting_growth, each as PNG and SVG, to the folder."""
    figure_style.draw(folder, "counting", partial(_paint_ratios, results=results), 9.5)
    if results["growth"]:
        figure_style.draw(folder, "counting_growth", partial(_paint_growth, results=results), 5)


def _paint_ratios(figure: Any, results: dict[str, Any]) -> None:
    panels = figure.subplots(len(MODES), 2, sharex=True, sharey="col")
    found = list(duels(results["contests"]))
    best = fastest(results["contests"])
    names = [about["name"] for about in results["datasets"]]
    for line, (mode, title) in zip(panels, titles(results).items(), strict=True):
        for panel, measure in zip(line, (TIME, MEMORY), strict=True):
            _ratios(panel, [duel for duel in found if duel.mode == mode], best, names, measure)
            panel.set_title(f"{measure}: {title}".replace(", ", ",\n"))
    for column, measure in zip(panels.T, (TIME, MEMORY), strict=True):
        ratios = [getattr(duel, measure) for duel in found] or [1.0]
        column[0].set_ylim(min(0.5, min(ratios) / 1.5), max(20.0, max(ratios) * 1.5))
        column[0].yaxis.set_major_formatter("{x:g}")
    figure.supylabel("peer / ours (ratio); above 1 ours is better")
    figure.suptitle(
        "Time and memory of counting. Filled: the fastest peer of each contest; hollow: the "
        "others. "
        f"Medians of {results['runs']} run{'s' * (results['runs'] > 1)}."
    )
    legend_below(figure, panels[0], 3)


def _ratios(
    axes: Any,
    found: list[Duel],
    best: dict[tuple[str, int, str], Duel],
    names: list[str],
    figure: str,
) -> None:
    sizes = sorted({duel.size for duel in found})
    for index, size in enumerate(sizes):
        shift = 0.22 * (index - (len(sizes) - 1) / 2)
        for filled in (False, True):
            chosen = [
                d
                for d in found
                if d.size == size and (best[d.dataset, d.size, d.mode] == d) == filled
            ]
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


def _paint_growth(figure: Any, results: dict[str, Any]) -> None:
    time, memory = figure.subplots(1, 2)
    for rows, style in _styled(results):
        each = [1e6 * part["seconds"]["median"] / row["baskets"] for row, part in rows]
        time.plot([row["baskets"] for row, _ in rows], each, **style)
    for index, size in enumerate(sorted({row["size"] for row in results["growth"]})):
        mined = [row for row in results["growth"] if row["size"] == size]
        peaks = [row["process"]["peak"]["median"] / 1e6 for row in mined]
        memory.plot(
            [row["baskets"] for row in mined], peaks, color=COLOURS[index], marker=MARKS[index]
        )
    time.set_title("time of ours for each basket (µs)")
    memory.set_title("peak memory of the whole process (MB)")
    for panel in (time, memory):
        panel.set(xscale="log", yscale="log", xlabel="baskets (Quest T10.I4)")
    legend_below(figure, [time], 2)


def _styled(
    results: dict[str, Any],
) -> Iterator[tuple[list[tuple[dict[str, Any], dict[str, Any]]], dict[str, Any]]]:
    parts = (
        ("process", "-", "mine, whole process"),
        ("top", "--", f"count in memory, top {results['top']:,}"),
        ("all", ":", "count in memory, all"),
    )
    for index, size in enumerate(sorted({row["size"] for row in results["growth"]})):
        for part, dashes, name in parts:
            rows = [
                (r, r[part])
                for r in results["growth"]
                if r["size"] == size and "seconds" in r[part]
            ]
            style = {"color": COLOURS[index], "marker": MARKS[index], "linestyle": dashes}
            yield rows, {**style, "label": f"{name}, size {size}"}
