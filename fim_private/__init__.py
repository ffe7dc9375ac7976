"""Find which items are bought together without revealing what is in any one basket.

With `user`, the column of customers, nothing that any one customer ever bought is revealed either.

>>> import fim_private as fim
>>> baskets = [["milk", "tea"]] * 700 + [["milk", "bread"]] * 40
>>> fim.mine(baskets, size=2, epsilon=1.0, delta=1e-6, seed=1).itemsets[0].items
('milk', 'tea')
"""

from __future__ import annotations

# As in typing, which the command line must not wait for: Ctrl-C would show a traceback of its import.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from fim_private.errors import (
        DataError,
        FimPrivateError,
        LedgerError,
        MemoryLimitError,
        MissingExtraError,
        OutputError,
        ParameterError,
        PrivacyWarning,
        WorkLimitError,
    )
    from fim_private.learning.concepts import learn_box, learn_point, learn_threshold
    from fim_private.learning.linear import LinearClassifier, linear_sensitivity, train_linear, unit_rows
    from fim_private.learning.points import ExponentialInterior, MajorityPath, interior_point, quantiles
    from fim_private.learning.tuning import best_of, train_and_validate, validate
    from fim_private.learning.voting import HighestConfidence, HighestLift, MostFrequent, vote
    from fim_private.ledger.ledger import Ledger
    from fim_private.mechanisms import (
        Choosing,
        Distance,
        Exponential,
        LargeMargin,
        LimitedDomain,
        MaxOfLaplaces,
        PermuteAndFlip,
        TightMargin,
    )
    from fim_private.mining.count import count
    from fim_private.mining.mine import mine
    from fim_private.planning.plan import Plan, plan
    from fim_private.reading.inspection import Inspection, inspect
    from fim_private.reading.purchases import read_catalogue, read_transactions
    from fim_private.release.page import report
    from fim_private.release.release import Release, SegmentedRelease, load
    from fim_private.request.itemsets import Itemset
    from fim_private.selecting import select
    from fim_private.spectrum import SupportSpectrum

__version__ = "0.1.0"

__all__ = [
    "Choosing",
    "DataError",
    "Distance",
    "Exponential",
    "ExponentialInterior",
    "FimPrivateError",
    "HighestConfidence",
    "HighestLift",
    "Inspection",
    "Itemset",
    "LargeMargin",
    "Ledger",
    "LedgerError",
    "LimitedDomain",
    "LinearClassifier",
    "MajorityPath",
    "MaxOfLaplaces",
    "MemoryLimitError",
    "MissingExtraError",
    "MostFrequent",
    "OutputError",
    "ParameterError",
    "PermuteAndFlip",
    "Plan",
    "PrivacyWarning",
    "Release",
    "SegmentedRelease",
    "SupportSpectrum",
    "TightMargin",
    "WorkLimitError",
    "__version__",
    "best_of",
    "count",
    "inspect",
    "interior_point",
    "learn_box",
    "learn_point",
    "learn_threshold",
    "linear_sensitivity",
    "load",
    "mine",
    "plan",
    "quantiles",
    "read_catalogue",
    "read_transactions",
    "report",
    "select",
    "train_and_validate",
    "train_linear",
    "unit_rows",
    "validate",
    "vote",
]

# Where the public names are; the others are classes of mechanisms, which are where their registry says.
_HOME = {
    "DataError": "errors",
    "FimPrivateError": "errors",
    "LedgerError": "errors",
    "MemoryLimitError": "errors",
    "MissingExtraError": "errors",
    "OutputError": "errors",
    "ParameterError": "errors",
    "PrivacyWarning": "errors",
    "WorkLimitError": "errors",
    "quantiles": "learning.points",
    "vote": "learning.voting",
    "HighestConfidence": "learning.voting",
    "HighestLift": "learning.voting",
    "MostFrequent": "learning.voting",
    "best_of": "learning.tuning",
    "LinearClassifier": "learning.linear",
    "linear_sensitivity": "learning.linear",
    "train_and_validate": "learning.tuning",
    "train_linear": "learning.linear",
    "unit_rows": "learning.linear",
    "validate": "learning.tuning",
    "ExponentialInterior": "learning.points",
    "interior_point": "learning.points",
    "MajorityPath": "learning.points",
    "learn_box": "learning.concepts",
    "learn_point": "learning.concepts",
    "learn_threshold": "learning.concepts",
    "Ledger": "ledger.ledger",
    "count": "mining.count",
    "mine": "mining.mine",
    "Plan": "planning.plan",
    "plan": "planning.plan",
    "inspect": "reading.inspection",
    "Inspection": "reading.inspection",
    "read_catalogue": "reading.purchases",
    "read_transactions": "reading.purchases",
    "Itemset": "request.itemsets",
    "load": "release.release",
    "Release": "release.release",
    "report": "release.page",
    "SegmentedRelease": "release.release",
    "select": "selecting",
    "SupportSpectrum": "spectrum",
}


def __getattr__(name: str) -> Any:
    # Imported on first use, so that `fim-private --help` does not wait for numpy and pyarrow.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'mechanisms')}"), name)


def __dir__() -> list[str]:
    return __all__
