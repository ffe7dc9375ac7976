"""Paths as users write them."""

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
