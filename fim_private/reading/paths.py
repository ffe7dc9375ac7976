"""Paths as users write them, and as errors call them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path, in which a leading ~ is the home folder, as in a shell."""
    found = Path(path)
    with suppress(RuntimeError):  # there is no such home
        return found.expanduser()
    return found


def name_of(path: Path) -> str:
    """Return what errors call a file."""
    # As a literal: a name with a line break in it still makes one line.
    return "standard input" if str(path) == "-" else repr(str(path))
