"""Private learning, validation and aggregation, of the same exact parts as the mining of itemsets.

Nothing here is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Where the public names are.
_HOME: dict[str, str] = {}

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
