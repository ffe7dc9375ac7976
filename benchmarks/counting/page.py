"""The tables that report a run of the counting benchmark, from its JSON alone."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.counting.peer_counters import ALL, MODES, OURS, THRESHOLD, TOP, is_ours
from benchmarks.frame.published import circumstances, publish
from benchmarks.frame.study import Section
from benchmarks.frame.tables import Table

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


def losses(results: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return a row for everything at which peers are better than ours (what, where, who): no end,
    then time, then time net of input, then memory.
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
            failed.append((f"ours: {status}", place(contest), ", ".join(finished)))
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
    return failed + [(what, where, ", ".join(sorted(peers))) for (what, where), peers in lines]


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
QUESTION = "Counting itemsets: how fast, and in how much memory?"
EVERYTHING = "counting"


def write_tables(results: dict[str, Any], name: str, docs: Path) -> None:
    """Write the tables of a run to docs/data; name: counting, or what the files of a run that
    compares some contestants later begin with.
    """
    figures, question = "Medians", QUESTION
    if name != EVERYTHING:
        contestants = ", ".join(who for who in results["contestants"] if not is_ours(who))
        figures, question = "Least times", f"{QUESTION} Beside {contestants}"
    limits = f"{results['timeout']:g} s and {results['memory_limit'] / 1e9:g} GB of address space"
    loads = results["loads"] or [0.0]
    how = (
        f"{figures} of {results['runs']} run{'s' * (results['runs'] > 1)}, each count in at most "
        f"{limits}. Load average of the machine: {min(loads):.1f} to {max(loads):.1f}."
    )
    if results["missing"]:
        how += f" Not there, so not counted: {', '.join(results['missing'])}."
    about = circumstances(name, results | {"question": question}, how)
    publish(docs / "data", about, _sections(results, figures.lower()))


def _sections(results: dict[str, Any], figures: str) -> Iterator[Section]:
    yield Section("Data", METHOD.format(top=results["top"]), (_datasets(results),))
    modes = [
        mode for mode in MODES if any(contest["mode"] == mode for contest in results["contests"])
    ]
    for mode in modes:
        summary = Table(SUMMARY_COLUMNS, tuple(summary_rows(results, mode)))
        yield Section(titles(results)[mode].capitalize(), reading(results, mode), (summary,))
    if results["processes"]:
        told = (
            "From start to answer: reading the file, counting, the mechanism, printing. Start "
            "alone is the imports of numpy and pyarrow, which nothing that reads Parquet can go "
            "below."
        )
        yield Section("Whole processes", told, (_processes(results),))
    if results["growth"]:
        yield Section("Growth", growth_reading(results), (_growth(results),))
    told = "The ratio of each such peer to ours is in brackets, below 1."
    worse = Table(("better in", "contest", "peers"), tuple(losses(results)))
    yield Section("Where a peer is better", told, (worse,))
    for mode in modes:
        title = f"Everybody, {titles(results)[mode]}"
        told = f"Milliseconds, {figures}; where there is no number, the reason."
        yield Section(title, told, (_everybody(results, mode),))


def _datasets(results: dict[str, Any]) -> Table:
    rows = [
        (
            about["name"],
            about["about"],
            about["baskets"],
            about["items"],
            f"{about['entries'] / max(about['baskets'], 1):.1f}",
            about["longest"],
        )
        for about in results["datasets"]
    ]
    columns = ("data", "what", "baskets", "items", "mean items a basket", "longest")
    return Table(columns, tuple(rows))


def _processes(results: dict[str, Any]) -> Table:
    rows = []
    for row in results["processes"]:
        ours = next(iter(row["commands"].values()))["seconds"]["median"]
        for name, figures in row["commands"].items():
            seconds, peak = figures["seconds"], figures["peak"]["median"] / 1e6
            spread = f"{seconds['min']:.2f} – {seconds['max']:.2f}"
            ratio = f"{seconds['median'] / ours:.2f}"
            median = f"{seconds['median']:.2f}"
            rows.append((row["dataset"], name, median, spread, ratio, f"{peak:.0f}"))
    columns = ("data", "command", "seconds", "min – max", "time ratio", "peak (MB)")
    return Table(columns, tuple(rows))


def _growth(results: dict[str, Any]) -> Table:
    rows = []
    for row in results["growth"]:
        process = row["process"]
        seconds = process["seconds"]["median"]
        a_basket = f"{1e6 * seconds / row['baskets']:.2f}"
        peak = f"{process['peak']['median'] / 1e6:.0f}"
        counts = (cell(row[mode]) for mode in (TOP, ALL))
        rows.append((row["baskets"], row["size"], f"{seconds:.2f}", a_basket, peak, *counts))
    columns = ("baskets", "size", "mine (s)", "µs a basket", "peak (MB)")
    counted = (f"count top {results['top']:,} (ms)", "count all (ms)")
    return Table((*columns, *counted), tuple(rows))


def _everybody(results: dict[str, Any], mode: str) -> Table:
    contests = [contest for contest in results["contests"] if contest["mode"] == mode]
    names = [
        name
        for name in results["contestants"]
        if any(contest["outcome"][name]["status"] != "other sizes only" for contest in contests)
    ]
    rows = [
        (
            contest["dataset"],
            contest["size"],
            *(cell(contest["outcome"][name]) for name in names),
        )
        for contest in contests
    ]
    return Table(("data", "size", *names), tuple(rows))
