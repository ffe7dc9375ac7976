"""One contest: everybody counts the same, in turn, each in a process of its own, and has to find
the same.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.counting.datasets import Dataset
from benchmarks.counting.peer_counters import CONTESTANTS, OURS, TOP, Levels, Request
from benchmarks.counting.worker_client import LOADING_SECONDS, Limits, Worker


class DisagreementError(Exception):
    """Two contestants counted differently."""


def spread(figures: Sequence[float]) -> dict[str, float]:
    """Return median, min and max."""
    return {"median": statistics.median(figures), "min": min(figures), "max": max(figures)}


def check_agreement(counted: Mapping[str, Levels]) -> None:
    """Raise DisagreementError unless all have the same levels: support, how many itemsets."""
    first: tuple[str, dict[int, int]] | None = None
    for name, levels in counted.items():
        found = dict(levels)
        if first is None:
            first = name, found
            continue
        for support in sorted(first[1].keys() | found.keys(), reverse=True):
            one, other = first[1].get(support, 0), found.get(support, 0)
            if one != other:
                raise DisagreementError(
                    f"{first[0]} counts {one} itemsets of support {support}, {name} counts {other}"
                )


def describe(dataset: Dataset, sizes: Sequence[int], wanted: int, limits: Limits) -> dict[str, Any]:
    """Return the facts of the data, its minimum support, and the support of the wanted-th itemset
    of each size.
    """
    worker = Worker(OURS, dataset, sizes, limits)
    try:
        about = worker.answer(LOADING_SECONDS)
        if about.pop("status") != "ok":
            raise SystemExit(f"{dataset.name} cannot be read")
        supports = {str(size): _support_of_nth(worker, size, wanted) for size in sizes}
    finally:
        worker.close()
    support = dataset.min_support(about["baskets"])
    return {
        "name": dataset.name,
        "about": dataset.about,
        "min_support": support,
        "supports_of_nth": supports,
        **about,
    }


def support_of_nth(dataset: Dataset, size: int, wanted: int, limits: Limits) -> int:
    """Return the support of the wanted-th most frequent itemset: what peers are told for
    nothing.
    """
    worker = Worker(OURS, dataset, (), limits)
    try:
        worker.answer(LOADING_SECONDS)
        return _support_of_nth(worker, size, wanted)
    finally:
        worker.close()


def _support_of_nth(worker: Worker, size: int, wanted: int) -> int:
    levels = worker.ask(Request(size, TOP, wanted=wanted), LOADING_SECONDS).get("levels")
    return int(levels[-1][0]) if levels else 1


def hold(
    dataset: Dataset, request: Request, occurrences: int, names: Iterable[str], limits: Limits
) -> dict[str, dict[str, Any]]:
    """Let everybody count: the outcome of each by name, with a status, and seconds and memory where
    that is ok.

    loaded: resident bytes with libraries and input, before the first count; memory: what counting
    adds at its peak.

    Raises DisagreementError where two do not count the same.
    """
    outcome: dict[str, dict[str, Any]] = {}
    workers: dict[str, Worker] = {}
    samples: dict[str, dict[str, list[float]]] = {}
    inputs: dict[str, int] = {}
    try:
        for name in names:
            obstacle = CONTESTANTS[name].obstacle(request, occurrences)
            if obstacle is None:
                workers[name] = Worker(name, dataset, (), limits)
            else:
                outcome[name] = {"status": obstacle}
        for name, worker in list(workers.items()):
            loaded = worker.answer(LOADING_SECONDS)
            inputs[name] = loaded.get("loaded", 0)
            if loaded["status"] != "ok":
                outcome[name] = {"status": f"{loaded['status']} while loading"}
                workers.pop(name).close()
        for _ in range(limits.runs):
            counted: dict[str, Levels] = {}
            for name, worker in list(workers.items()):
                answers = _turn(name, worker, request, limits)
                if answers["status"] != "ok":
                    outcome[name] = {"status": answers["status"]}
                    workers.pop(name).close()
                    samples.pop(name, None)
                    continue
                counted[name] = answers.pop("levels")
                for figure in answers.keys() - {"status"}:
                    samples.setdefault(name, {}).setdefault(figure, []).append(answers[figure])
            check_agreement(counted)
    finally:
        for worker in workers.values():
            worker.close()
    for name, figures in samples.items():
        outcome[name] = {
            "status": "ok",
            "loaded": inputs[name],
            **{figure: spread(values) for figure, values in figures.items()},
        }
    return outcome


def _turn(name: str, worker: Worker, request: Request, limits: Limits) -> dict[str, Any]:
    answer = worker.ask(request, limits.seconds)
    if answer["status"] == "ok" and CONTESTANTS[name].converts:
        nothing = worker.ask(request.unreachable(), limits.seconds)
        if nothing["status"] != "ok":
            return nothing
        answer["conversion"] = nothing["seconds"]
    return answer
