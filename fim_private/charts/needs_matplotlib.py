"""matplotlib, which is of an extra: imported by name, where a figure is drawn, so that nothing else waits."""

from __future__ import annotations

import importlib
from typing import Any

from fim_private.errors import MissingExtraError


def of_matplotlib(module: str) -> Any:
    """Return a module of matplotlib. Raises MissingExtraError, which says what to install, where there is none."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError('figures need matplotlib: pip install "fim-private[figures]"') from None
