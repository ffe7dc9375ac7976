"""A progress bar: on a terminal, on standard error, and nowhere else."""

import os
import sys

import pytest
from patience import python
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
    command, env = [sys.executable, "-c", lines], {**os.environ, "TERM": "xterm"}
    seen = on_terminal(command, stdout=False, env=env)
    assert (seen.stdout, seen.returncode) == ("kept\n", 0)
    assert "kept" not in seen.screen
    assert ("Working" in seen.screen) is not quiet
    assert not quiet or not seen.screen


def test_nothing_is_shown_where_there_is_no_terminal() -> None:
    done = python("-c", LINES)
    assert (done.stdout, done.stderr) == ("kept\n", "")
