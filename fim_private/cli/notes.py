"""What is said beside the output, on standard error: progress, how a file was read, warnings. And --quiet."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import typer

from fim_private.errors import PrivacyWarning

_silent = False


def silence(wanted: bool) -> None:
    """Say nothing from now on but errors, or again all there is. As with warnings, this holds for the process."""
    global _silent
    _silent = wanted


def on_terminal() -> bool:
    """Tell whether somebody sits there who may be told what goes on."""
    return not _silent and sys.stderr is not None and sys.stderr.isatty()


def note(text: str) -> None:
    """Say something in a line on standard error."""
    if not _silent:
        typer.echo(text, err=True)


def show_warnings_as_lines(spell: Callable[[str], str]) -> None:
    """From now on, print warnings of privacy as notes, with parameters named as spell says. Others go with them."""
    shown_otherwise = warnings.showwarning

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if isinstance(message, PrivacyWarning):
            note(f"Warning: {message.spelled(spell)}")
        elif not _silent:
            shown_otherwise(message, *where, **more)

    warnings.filterwarnings("always", category=PrivacyWarning)
    warnings.showwarning = show
