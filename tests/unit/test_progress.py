"""A progress bar: on a terminal, on standard error, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

from fim_private.cli.progress import parts_of

LINES = """
import sys
from fim_private.cli import progress
progress._QUIET_SECONDS = -1
with progress.progress_bar("Working") as show:
    show(0.25)
    sys.stdout.write("kept\\n")
    sys.stdout.flush()
    show(1.0)
"""


def test_what_is_written_meanwhile_goes_where_it_would(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    reader, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", LINES], stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, "TERM": "xterm"}
    ) as process:
        os.close(terminal)
        shown = b""
        try:
            while block := os.read(reader, 1 << 16):
                shown += block
        except OSError:
            pass  # how Linux says that the other side is closed
        assert process.wait(timeout=PATIENCE) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b"kept\n"
    os.close(reader)
    assert b"Working" in shown
    assert b"kept" not in shown


def test_nothing_is_shown_where_there_is_no_terminal() -> None:
    done = subprocess.run([sys.executable, "-c", LINES], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert (done.stdout, done.stderr) == ("kept\n", "")


def test_parts_follow_each_other() -> None:
    told: list[float] = []
    for part in parts_of(told.append, 4):
        part(0.0)
        part(0.5)
    assert told == [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875]
