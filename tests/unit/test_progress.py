"""A progress bar: on a terminal, on standard error, and nowhere else."""

import os
import subprocess
import sys

import pytest
from patience import PATIENCE
from terminals import on_terminal

LINES = """
import sys
from fim_private.cli import writing
writing._QUIET_SECONDS = -1
with writing.progress_bar("Working") as show:
    show(0.25)
    sys.stdout.write("kept\\n")
    sys.stdout.flush()
    show(1.0)
"""


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.every_case
def test_what_is_written_meanwhile_goes_where_it_would(quiet: bool) -> None:
    lines = f"from fim_private.cli.writing import silence\nsilence({quiet})\n{LINES}"
    seen = on_terminal(
        [sys.executable, "-c", lines], stdout=False, env={**os.environ, "TERM": "xterm"}
    )
    assert (seen.stdout, seen.returncode) == ("kept\n", 0)
    assert "kept" not in seen.screen
    assert ("Working" in seen.screen) is not quiet
    assert not quiet or not seen.screen


def test_nothing_is_shown_where_there_is_no_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LINES], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert (done.stdout, done.stderr) == ("kept\n", "")
