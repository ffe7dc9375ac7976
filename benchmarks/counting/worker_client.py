"""A process that counts, as it is asked: the other end of `worker.py`."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.counting.datasets import Dataset
from benchmarks.counting.peer_counters import Request, as_line
from benchmarks.frame.output_files import ROOT

LOADING_SECONDS = 600.0


@dataclass(frozen=True)
class Limits:
    """runs: repetitions. seconds: for one count. memory: bytes of address space for one
    contestant.
    """

    runs: int = 5
    seconds: float = 60.0
    memory: int = 12 * 10**9


class Worker:
    """A contestant's process. ask: one question, one answer, which always has a status."""

    def __init__(
        self, contestant: str, dataset: Dataset, sizes: Sequence[int], limits: Limits
    ) -> None:
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
