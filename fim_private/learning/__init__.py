"""Private learning, validation and aggregation, of the same exact parts as the mining of itemsets.

voting           Sample and aggregate: blocks of units answer a question, and their votes choose one answer.
questions        Questions with a name, to ask of each block.
quantile_search  Quantiles of whole numbers by the exponential mechanism, exactly.
tuning           Which of several parameters to train with, chosen privately.
linear           A linear classifier, trained privately, and the rows it is trained on.
majority         A point inside the data.
concepts         Concepts learned of labelled rows: a point, a threshold, a box.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fim_private.learning.concepts import learn_box, learn_point, learn_threshold
    from fim_private.learning.linear import LinearClassifier, linear_sensitivity, train_linear, unit_rows
    from fim_private.learning.majority import ExponentialInterior, MajorityPath, interior_point
    from fim_private.learning.quantile_search import quantiles
    from fim_private.learning.questions import HighestConfidence, HighestLift, MostFrequent
    from fim_private.learning.tuning import best_of, train_and_validate, validate
    from fim_private.learning.voting import vote

# Where the public names are.
_HOME = {
    "ExponentialInterior": "majority",
    "HighestConfidence": "questions",
    "HighestLift": "questions",
    "LinearClassifier": "linear",
    "MajorityPath": "majority",
    "MostFrequent": "questions",
    "best_of": "tuning",
    "interior_point": "majority",
    "learn_box": "concepts",
    "learn_point": "concepts",
    "learn_threshold": "concepts",
    "linear_sensitivity": "linear",
    "quantiles": "quantile_search",
    "train_and_validate": "tuning",
    "train_linear": "linear",
    "unit_rows": "linear",
    "validate": "tuning",
    "vote": "voting",
}

__all__ = [
    "ExponentialInterior",
    "HighestConfidence",
    "HighestLift",
    "LinearClassifier",
    "MajorityPath",
    "MostFrequent",
    "best_of",
    "interior_point",
    "learn_box",
    "learn_point",
    "learn_threshold",
    "linear_sensitivity",
    "quantiles",
    "train_and_validate",
    "train_linear",
    "unit_rows",
    "validate",
    "vote",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
