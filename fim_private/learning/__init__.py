"""Private learning, validation and aggregation, of the same exact parts as the mining of itemsets.

voting       A vote of blocks of units on any question: `vote`.
blocks       Units dealt to blocks by lot.
ballots      What blocks answer, and which answers are the same.
questions    Questions with a name: highest lift, highest confidence, most frequent.
vote_result  The answer, and the guarantee it is released under.
quantile_search  Quantiles of whole numbers, by the exponential mechanism: `quantiles`.
pieces       A domain of whole numbers cut into runs of equal score, and an exact draw from it.

Nothing here is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Where the public names are.
_HOME = {
    "HighestConfidence": "questions",
    "HighestLift": "questions",
    "MostFrequent": "questions",
    "quantiles": "quantile_search",
    "vote": "voting",
}

__all__ = ["HighestConfidence", "HighestLift", "MostFrequent", "quantiles", "vote"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
