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

    from fim_private.errors import DataError as DataError
    from fim_private.errors import FimPrivateError as FimPrivateError
    from fim_private.errors import LedgerError as LedgerError
    from fim_private.errors import MemoryLimitError as MemoryLimitError
    from fim_private.errors import MissingExtraError as MissingExtraError
    from fim_private.errors import OutputError as OutputError
    from fim_private.errors import ParameterError as ParameterError
    from fim_private.errors import PrivacyWarning as PrivacyWarning
    from fim_private.errors import WorkLimitError as WorkLimitError
    from fim_private.learning.concepts import learn_box as learn_box
    from fim_private.learning.concepts import learn_point as learn_point
    from fim_private.learning.concepts import learn_threshold as learn_threshold
    from fim_private.learning.linear import LinearClassifier as LinearClassifier
    from fim_private.learning.linear import linear_sensitivity as linear_sensitivity
    from fim_private.learning.linear import train_linear as train_linear
    from fim_private.learning.linear import unit_rows as unit_rows
    from fim_private.learning.points import ExponentialInterior as ExponentialInterior
    from fim_private.learning.points import MajorityPath as MajorityPath
    from fim_private.learning.points import interior_point as interior_point
    from fim_private.learning.points import quantiles as quantiles
    from fim_private.learning.tuning import best_of as best_of
    from fim_private.learning.tuning import train_and_validate as train_and_validate
    from fim_private.learning.tuning import validate as validate
    from fim_private.learning.voting import HighestConfidence as HighestConfidence
    from fim_private.learning.voting import HighestLift as HighestLift
    from fim_private.learning.voting import MostFrequent as MostFrequent
    from fim_private.learning.voting import vote as vote
    from fim_private.ledger.ledger import Ledger as Ledger
    from fim_private.mechanisms import Choosing as Choosing
    from fim_private.mechanisms import Distance as Distance
    from fim_private.mechanisms import Exponential as Exponential
    from fim_private.mechanisms import LargeMargin as LargeMargin
    from fim_private.mechanisms import LimitedDomain as LimitedDomain
    from fim_private.mechanisms import MaxOfLaplaces as MaxOfLaplaces
    from fim_private.mechanisms import PermuteAndFlip as PermuteAndFlip
    from fim_private.mechanisms import TightMargin as TightMargin
    from fim_private.mining.count import count as count
    from fim_private.mining.mine import mine as mine
    from fim_private.planning.plan import Plan as Plan
    from fim_private.planning.plan import plan as plan
    from fim_private.reading.inspection import Inspection as Inspection
    from fim_private.reading.inspection import inspect as inspect
    from fim_private.reading.purchases import read_catalogue as read_catalogue
    from fim_private.reading.purchases import read_transactions as read_transactions
    from fim_private.release.page import report as report
    from fim_private.release.release import Release as Release
    from fim_private.release.release import SegmentedRelease as SegmentedRelease
    from fim_private.release.release import load as load
    from fim_private.request.itemsets import Itemset as Itemset
    from fim_private.selecting import select as select
    from fim_private.spectrum import SupportSpectrum as SupportSpectrum

__version__ = "0.1.0"

# Where the public names are.
_HOME = {
    "errors": "DataError FimPrivateError LedgerError MemoryLimitError MissingExtraError OutputError ParameterError "
    "PrivacyWarning WorkLimitError",
    "learning.concepts": "learn_box learn_point learn_threshold",
    "learning.linear": "LinearClassifier linear_sensitivity train_linear unit_rows",
    "learning.points": "ExponentialInterior MajorityPath interior_point quantiles",
    "learning.tuning": "best_of train_and_validate validate",
    "learning.voting": "HighestConfidence HighestLift MostFrequent vote",
    "ledger.ledger": "Ledger",
    "mechanisms": "Choosing Distance Exponential LargeMargin LimitedDomain MaxOfLaplaces PermuteAndFlip TightMargin",
    "mining.count": "count",
    "mining.mine": "mine",
    "planning.plan": "Plan plan",
    "reading.inspection": "Inspection inspect",
    "reading.purchases": "read_catalogue read_transactions",
    "release.page": "report",
    "release.release": "Release SegmentedRelease load",
    "request.itemsets": "Itemset",
    "selecting": "select",
    "spectrum": "SupportSpectrum",
}
__all__ = ["__version__", *" ".join(_HOME.values()).split()]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that `fim-private --help` does not wait for numpy and pyarrow.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = next(home for home, names in _HOME.items() if name in names.split())
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
