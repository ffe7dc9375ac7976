"""Find which items are bought together without revealing any one customer's purchases.

>>> import fim_private as fim
>>> baskets = [["milk", "tea"]] * 700 + [["milk", "bread"]] * 40
>>> fim.mine(baskets, size=2, epsilon=1.0, delta=1e-6, seed=1).itemsets[0].items
('milk', 'tea')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fim_private.errors import DataError, FimPrivateError, OutputError, ParameterError
    from fim_private.reading import read_catalogue, read_transactions
    from fim_private.release import Itemset, Release, mine

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "FimPrivateError",
    "Itemset",
    "OutputError",
    "ParameterError",
    "Release",
    "__version__",
    "mine",
    "read_catalogue",
    "read_transactions",
]

_HOME = {
    "DataError": "errors",
    "FimPrivateError": "errors",
    "OutputError": "errors",
    "ParameterError": "errors",
    "Itemset": "release",
    "Release": "release",
    "mine": "release",
    "read_catalogue": "reading",
    "read_transactions": "reading",
}


def __getattr__(name: str) -> Any:
    # Imported on first use, so that `fim-private --help` does not wait for numpy and pyarrow.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
