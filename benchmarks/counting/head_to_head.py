"""One contest: everybody counts the same, in turn, each in a process of its own, and has to find the same."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.counting.peer_counters import CONTESTANTS, OURS, TOP, Levels, Request, as_line
from benchmarks.frame.provenance import ROOT

LOADING_SECONDS = 600.0


class DisagreementError(Exception):
    """Two contestants counted differently."""


@dataclass(frozen=True)
class Dataset:
    """A file to count in. columns: options of read_transactions. share: of the baskets, for a minimum support."""

    name: str
    path: Path
    share: float
    about: str
    columns: tuple[tuple[str, str], ...] = ()

    def min_support(self, baskets: int) -> int:
        """Return the minimum support, in baskets."""
        return max(2, round(self.share * baskets))


@dataclass(frozen=True)
class Limits:
    """runs: repetitions. seconds: for one count. memory: bytes of address space for one contestant."""

    runs: int = 5
    seconds: float = 60.0
    memory: int = 12 * 10**9


class Worker:
    """A contestant's process. ask: one question, one answer, which always has a status."""

    def __init__(self, contestant: str, dataset: Dataset, sizes: Sequence[int], limits: Limits) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.counting.worker"],
            cwd=ROOT,  # where the benchmarks are found; so the file is named in full
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._rest = b""
        self.tell(
            {
                "contestant": contestant,
                "file": str(dataset.path.absolute()),
                "columns": dict(dataset.columns),
                "sizes": list(sizes),
                "memory_limit": limits.memory,
            }
        )

    def tell(self, message: dict[str, Any]) -> None:
        """Send a line."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: so will say the answer
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self, seconds: float) -> dict[str, Any]:
        """Wait for a line, no longer than that."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self.end()
                    return {"status": f"timeout ({seconds:g} s)"}
                part = os.read(self._process.stdout.fileno(), 1 << 20)
                if not part:
                    return {"status": self._how_it_ended()}
                self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        content: dict[str, Any] = json.loads(line)
        return content

    def ask(self, request: Request, seconds: float) -> dict[str, Any]:
        """Let it count."""
        self.tell(as_line(request))
        return self.answer(seconds)

    def end(self) -> None:
        """Make an end of it."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End it and its pipes."""
        self.end()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        if code in (-signal.SIGKILL, -signal.SIGABRT):
            return "out of memory (killed)"
        return f"crashed (signal {-code})" if code < 0 else f"crashed (exit code {code})"


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
                raise DisagreementError(f"{first[0]} counts {one} itemsets of support {support}, {name} counts {other}")


def describe(dataset: Dataset, sizes: Sequence[int], wanted: int, limits: Limits) -> dict[str, Any]:
    """Return the facts of the data, its minimum support, and the support of the wanted-th itemset of each size."""
    worker = Worker(OURS, dataset, sizes, limits)
    try:
        about = worker.answer(LOADING_SECONDS)
        if about.pop("status") != "ok":
            raise SystemExit(f"{dataset.name} cannot be read")
        supports = {str(size): _support_of_nth(worker, size, wanted) for size in sizes}
    finally:
        worker.close()
    support = dataset.min_support(about["baskets"])
    return {"name": dataset.name, "about": dataset.about, "min_support": support, "supports_of_nth": supports, **about}


def support_of_nth(dataset: Dataset, size: int, wanted: int, limits: Limits) -> int:
    """Return the support of the wanted-th most frequent itemset: what peers are told for nothing."""
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
    """Let everybody count: the outcome of each by name, with a status, and seconds and memory where that is ok.

    loaded: resident bytes with libraries and input, before the first count; memory: what counting adds at its peak.

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
