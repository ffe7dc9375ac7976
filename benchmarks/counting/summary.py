"""What the figures say: ratios to ours, the best peer of each contest, and where a peer is better."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.counting.peer_counters import ALL, MODES, OURS, THRESHOLD, TOP, is_ours

MODE_NAMES = {
    ALL: "all nonzero supports",
    THRESHOLD: "minimum support",
    TOP: "top {top:,}, threshold given to peers only",
}
TIME, NET, MEMORY = "time", "time net of taking in the input", "memory"
SMALLEST_MEMORY = 1 << 20  # bytes: a ratio of memories below this says nothing, so each counts as this much


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
                net = max(0.0, figures["seconds"]["median"] - figures["conversion"]["median"]) / seconds
            time = figures["seconds"]["median"] / seconds
            used = max(figures["memory"]["median"], SMALLEST_MEMORY) / memory
            yield Duel(contest["dataset"], contest["size"], contest["mode"], peer, time, used, net)


def quietest(results: dict[str, Any]) -> dict[str, Any]:
    """Return the same with the least time of each contestant in the place of its median: the least disturbed."""

    def least(figures: dict[str, Any]) -> dict[str, Any]:
        times = [figure for figure in ("seconds", "conversion") if figure in figures]
        return figures | {figure: figures[figure] | {"median": figures[figure]["min"]} for figure in times}

    contests = [
        contest | {"outcome": {name: least(figures) for name, figures in contest["outcome"].items()}}
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
    """Return a line for everything at which peers are better than ours: time, then time net of input, then memory."""
    failed, worse = [], defaultdict(list)
    for contest in results["contests"]:
        status = contest["outcome"][OURS]["status"]
        finished = [n for n, figures in contest["outcome"].items() if not is_ours(n) and figures["status"] == "ok"]
        if status != "ok" and finished:
            failed.append(f"{place(contest)}: ours ends with {status}, not so {', '.join(finished)}")
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
    return failed + [f"{what}: {where}: {', '.join(sorted(peers))}" for (what, where), peers in lines]


def reading(results: dict[str, Any], mode: str) -> str:
    """Return one sentence about the contests of a mode."""
    contests = [contest for contest in results["contests"] if contest["mode"] == mode]
    ratios = [duel.time for duel in fastest(contests).values()]
    if not ratios:
        return "No peer finished."
    won = sum(ratio > 1 for ratio in ratios)
    return (
        f"Ours is the fastest in {won} of {len(ratios)} contests; the fastest peer takes "
        f"{statistics.median(ratios):.2g} times as long in the median, from {min(ratios):.2g} to {max(ratios):.2g}."
    )


def growth_reading(results: dict[str, Any]) -> str:
    """Return one sentence about growth."""
    parts = []
    for size in sorted({row["size"] for row in results["growth"]}):
        rows = [row for row in results["growth"] if row["size"] == size]
        each = [1e6 * row["process"]["seconds"]["median"] / row["baskets"] for row in rows]
        parts.append(f"{each[0]:.3g} µs to {each[-1]:.3g} µs a basket at size {size}")
    baskets = [row["baskets"] for row in results["growth"]]
    return f"From {min(baskets):,} to {max(baskets):,} baskets the whole command goes from {', '.join(parts)}."


def place(contest: dict[str, Any]) -> str:
    """Name a contest."""
    return f"{contest['dataset']}, size {contest['size']}, {contest['mode']}"


def summary_rows(results: dict[str, Any], mode: str) -> Iterator[tuple[str, ...]]:
    """Yield cells: data, size, minimum support, ours, fastest peer, its time, ratios, who did not finish."""
    contests = [contest for contest in results["contests"] if contest["mode"] == mode]
    best = fastest(contests)
    for contest in contests:
        ours = contest["outcome"][OURS]
        duel = best.get((contest["dataset"], contest["size"], mode))
        cells = [contest["dataset"], str(contest["size"]), f"{contest['min_support']:,}", cell(ours)]
        if duel is None:
            cells += ["–"] * 5
        else:
            net = "–" if duel.net is None else f"{duel.net:.2f}"
            cells += [duel.peer, cell(contest["outcome"][duel.peer]), f"{duel.time:.2f}", net, f"{duel.memory:.2f}"]
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
    return f"{1e3 * figures['seconds']['median']:,.1f}" if figures["status"] == "ok" else str(figures["status"])


def titles(results: dict[str, Any]) -> dict[str, str]:
    """Return the name of each mode."""
    return {mode: MODE_NAMES[mode].format(top=results["top"]) for mode in MODES}
