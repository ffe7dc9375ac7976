"""Private learning, validation and aggregation, of the same exact parts as the mining of itemsets.

Nothing here is imported before it is used.

voting           A vote of blocks of units on any question: vote.
blocks           Units dealt to blocks by lot.
ballots          What blocks answer, and which answers are the same.
questions        Questions with a name: highest lift, highest confidence, most frequent.
vote_result      The answer, and the guarantee it is released under.
quantile_search  Quantiles of whole numbers, by the exponential mechanism: quantiles.
pieces           A domain of whole numbers cut into runs of equal score, and an exact draw from it.
tuning           validate, train_and_validate and best_of: which of several parameters to train with.
linear           train_linear: a linear classifier, and how far one row can move it.
bounded_rows     Rows of whole numbers no longer than 1, which it is trained on.
majority         A point inside the data: MajorityPath, and the exponential mechanism on points.
concepts         Concepts learned of labelled rows: a point, a threshold, a box.
given_values     What learners of these are given, checked.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fim_private.learning.bounded_rows import unit_rows
    from fim_private.learning.concepts import learn_box, learn_point, learn_threshold
    from fim_private.learning.linear import LinearClassifier, linear_sensitivity, train_linear
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
    "unit_rows": "bounded_rows",
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
