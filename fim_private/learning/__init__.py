"""Private learning, validation and aggregation, of the same exact parts as the mining of itemsets.

Nothing here is imported before it is used.

tuning        validate, train_and_validate and best_of: which of several parameters to train with.
linear        train_linear: a linear classifier, and how far one row can move it.
bounded_rows  Rows of whole numbers no longer than 1, which it is trained on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fim_private.learning.bounded_rows import unit_rows
    from fim_private.learning.linear import LinearClassifier, linear_sensitivity, train_linear
    from fim_private.learning.tuning import best_of, train_and_validate, validate

# Where the public names are.
_HOME: dict[str, str] = {
    "best_of": "tuning",
    "LinearClassifier": "linear",
    "linear_sensitivity": "linear",
    "train_and_validate": "tuning",
    "train_linear": "linear",
    "unit_rows": "bounded_rows",
    "validate": "tuning",
}

__all__: list[str] = [
    "LinearClassifier",
    "best_of",
    "linear_sensitivity",
    "train_and_validate",
    "train_linear",
    "unit_rows",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
