"""The process in which one contestant works.

It reads one JSON line that says what to load, answers with the facts of the data, and then answers
each further line with the seconds, the peak memory and the levels of one count.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import re
import resource
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.counting.peer_counters import CONTESTANTS, Contestant, Request

if TYPE_CHECKING:
    from fim_private.reading.transactions import Transactions


def facts(transactions: Transactions, sizes: Iterable[int]) -> dict[str, Any]:
    """Return what a reader wants to know of the data, and how often an itemset of each size is met
    in a basket.
    """
    import numpy as np

    from fim_private.counting.work import itemset_occurrences

    lengths = np.diff(transactions.offsets)
    return {
        "baskets": transactions.baskets,
        "items": len(transactions.vocabulary),
        "entries": len(transactions.items),
        "longest": int(lengths.max(initial=0)),
        "occurrences": {str(size): itemset_occurrences(lengths, size) for size in sizes},
    }


def resident(field: str) -> int:
    """Return bytes from /proc: field VmRSS is now, VmHWM the peak."""
    found = re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def settle() -> None:
    """Give back what is not in use."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def measured(contestant: Contestant, source: Any, request: Request, loaded: int) -> dict[str, Any]:
    """Count once. loaded: resident bytes before the first count."""
    settle()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    start = time.perf_counter()
    counted = contestant.count(source, request)
    seconds = time.perf_counter() - start
    peak = max(0, resident("VmHWM") - loaded)
    levels = sorted(contestant.levels(source, counted, request), reverse=True)
    return {"status": "ok", "seconds": seconds, "memory": peak, "levels": levels}


def failure(error: BaseException) -> dict[str, Any]:
    """Say in a few words why a count failed."""
    name = type(error).__name__
    if isinstance(error, MemoryError) or "Memory" in name or "memory" in str(error)[:200].lower():
        return {"status": "out of memory"}
    if name == "WorkLimitError":
        return {"status": "not feasible (work limit)"}
    return {"status": f"error: {name}: {str(error).splitlines()[0][:100] if str(error) else ''}"}


def work() -> None:
    """Load what the first line says, then count for each further line, until there are none."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints does not get among the answers

    def answer(content: dict[str, Any]) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    task = json.loads(sys.stdin.readline())
    resource.setrlimit(resource.RLIMIT_AS, (task["memory_limit"], task["memory_limit"]))
    contestant = CONTESTANTS[task["contestant"]]
    try:
        from fim_private.reading.purchases import read_transactions

        importlib.import_module(contestant.needs)
        transactions = read_transactions(task["file"], **task["columns"])
        about = facts(transactions, task["sizes"])
        source = contestant.prepare(transactions)
        del transactions
        settle()
        loaded = resident("VmRSS")
    except Exception as error:
        answer(failure(error))
        return
    answer({"status": "ok", "loaded": loaded, **about})
    for line in sys.stdin:
        try:
            answer(measured(contestant, source, Request(**json.loads(line)), loaded))
        except Exception as error:
            answer(failure(error))


if __name__ == "__main__":
    work()
