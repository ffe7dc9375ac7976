"""Commands in this process, run as a process of its own would run them, but sooner."""

import io
import os
import re
import subprocess
import sys
import textwrap
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from patience import CAPTURED

from fim_private.cli import commands, writing

# What a terminal, a locale or somebody who runs tests may set: variables that begin so.
_UNWANTED = (
    "FIM_PRIVATE_", "FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "COLUMNS", "TERM",
    "LC_", "LANG", "PYTHONUTF8", "PYTHONIOENCODING",
)  # fmt: skip


def plain_environment(**changes: str) -> dict[str, str]:
    """Return the variables of this process, without those that change what commands print."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_UNWANTED)}
    return {**kept, **changes}


@dataclass(frozen=True)
class Done:
    """What a command wrote, and its exit code."""

    stdout: str
    stderr: str
    returncode: int


def run(folder: Path, *words: object, stdin: str | bytes = "", **variables: str) -> Done:
    """Run `fim-private` with these words; the limit of memory, of a process, is not set."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    encoding = variables.get("PYTHONIOENCODING", "utf-8")
    streams = [io.TextIOWrapper(io.BytesIO(data), encoding=encoding) for data in (given, b"", b"")]
    words = ("fim-private", *map(str, words))
    here = Path.cwd()
    os.chdir(folder)
    try:
        with (
            patch.dict(os.environ, plain_environment(**variables), clear=True),
            patch.multiple(sys, argv=[*words], stdin=streams[0], stdout=streams[1]),
            patch.object(sys, "stderr", streams[2]),
            patch.object(writing, "hold_process", lambda size: None),
            warnings.catch_warnings(),
        ):
            code = commands.run()
    except SystemExit as error:
        code = int(error.code or 0)
    finally:
        os.chdir(here)
    for stream in streams[1:]:
        stream.flush()
    out, error_text = (stream.buffer.getvalue().decode() for stream in streams[1:])
    return Done(out, error_text, code)


def told(done: Done) -> str:
    """What a command that went well printed."""
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def refused(done: Any, code: int = 2) -> str:
    """The one line of a command that was refused: with code 3 by the ledger."""
    assert (done.stdout, done.returncode) == ("", code)
    assert re.fullmatch(r"Error: .+\n", done.stderr)
    return str(done.stderr)


def run_after(lines: str, *words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command line after some lines of Python, in a process of its own."""
    program = f"import sys; sys.argv = ['fim-private', *{words!r}]\n{textwrap.dedent(lines)}\n"
    program += "from fim_private.cli import main\nmain()\n"
    return subprocess.run([sys.executable, "-c", program], **CAPTURED | options)
