"""Where the output of a command goes: the screen, or a file that is there only when it is whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fim_private.errors import OutputError

if TYPE_CHECKING:
    from fim_private.output.console import Screen

# Takes text; what it returns says nothing.
Write = Callable[[str], object]


class Format(StrEnum):
    """How a plan or an audit is written."""

    TABLE = "table"
    JSON = "json"


class ReleaseFormat(StrEnum):
    """How a release is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def output_path(text: str) -> Path:
    """Return the path of a file to write, as it was typed.

    Raises OutputError for what ends in a slash: it means a folder, which a Path would forget.
    """
    if text.endswith("/"):
        raise OutputError(f"cannot write {text!r}: it names a folder; name a file")
    return Path(text)


OutputFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write here instead of the screen.", show_default=False, parser=output_path),
]


@contextmanager
def destination(output: Path | None, *, inputs: Sequence[str | None] = ()) -> Iterator[Write]:
    """Open an output and yield its write function; None or - is the screen.

    inputs: what the command reads, as it was typed, which the output must not overwrite.
    Raises OutputError for an input, a closed screen and what cannot be written: at once, as far as can be known then.
    """
    if output is None or str(output) == "-":
        if sys.stdout is None:
            raise OutputError("standard output is closed; name a file with --output")
        yield _to_screen
        return
    if output.resolve() in [Path(name).resolve() for name in inputs if name is not None and name != "-"]:
        raise OutputError(f"cannot write {str(output)!r}: it is an input; choose another --output")
    from fim_private.output.files import staged

    with staged(output) as write:
        yield write


def _to_screen(text: str) -> None:
    """Write to standard output. Raises OutputError where that fails."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()
        reason = error.strerror or "the system refused"
        raise OutputError(f"cannot write to standard output: {reason}; name a file with --output") from None


def discard_stdout() -> None:
    """Keep the interpreter from failing once more on what could not be written, when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def screen_for(output: Path | None) -> Screen:
    """Return what can be shown where a table goes: colours on a terminal only, Greek where the encoding has it.

    What is named with --output, - included, gets every letter and no colours.
    """
    from fim_private.output.console import Screen

    if output is not None:
        return Screen()
    encoding = sys.stdout.encoding or "ascii"
    return Screen(colour=sys.stdout.isatty(), ascii_only=not encoding.lower().startswith("utf"))
