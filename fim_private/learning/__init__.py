"""Private learning, validation and aggregation, of the same exact parts as the mining of itemsets.

Nothing here is imported before it is used.

pieces        A domain of whole numbers, cut by sorted values into runs of equal rank; a choice among its points.
given_values  What learners are given, checked.
majority      A point inside the data: MajorityPath, and the exponential mechanism on points.
concepts      Concepts learned of labelled rows: a point, a threshold, a box.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Where the public names are.
_HOME: dict[str, str] = {
    "ExponentialInterior": "majority",
    "MajorityPath": "majority",
    "interior_point": "majority",
    "learn_box": "concepts",
    "learn_point": "concepts",
    "learn_threshold": "concepts",
}

__all__: list[str] = [
    "ExponentialInterior",
    "MajorityPath",
    "interior_point",
    "learn_box",
    "learn_point",
    "learn_threshold",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
