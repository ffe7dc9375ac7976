"""Find which items are bought together without revealing what is in any one basket.

With `user`, the column of customers, nothing that any one customer ever bought is revealed either.

>>> import fim_private as fim
>>> baskets = [["milk", "tea"]] * 700 + [["milk", "bread"]] * 40
>>> fim.mine(baskets, size=2, epsilon=1.0, delta=1e-6, seed=1).itemsets[0].items
('milk', 'tea')
"""

__version__ = "0.1.0"

# Where the public names are. Each is imported on first use, so that `fim-private --help` does not
# wait for numpy and pyarrow. Their types are in __init__.pyi.
_HOME = {
    "errors": "DataError FimPrivateError LedgerError MemoryLimitError MissingExtraError "
    "OutputError ParameterError "
    "PrivacyWarning WorkLimitError",
    "learning.concepts": "learn_box learn_point learn_threshold",
    "learning.linear": "LinearClassifier linear_sensitivity train_linear unit_rows",
    "learning.points": "ExponentialInterior MajorityPath interior_point quantiles",
    "learning.tuning": "best_of train_and_validate validate",
    "learning.voting": "HighestConfidence HighestLift MostFrequent vote",
    "ledger.ledger": "Ledger",
    "mechanisms": (
        "Choosing Distance Exponential LargeMargin LimitedDomain MaxOfLaplaces "
        "PermuteAndFlip TightMargin"
    ),
    "mining.mine": "count mine queries",
    "planning.plan": "Plan plan",
    "reading.inspection": "Inspection inspect",
    "reading.purchases": "read_catalogue read_transactions",
    "release.changes": "Change Changes changes",
    "release.page": "report",
    "release.release": "Release",
    "release.saved": "load",
    "release.segments": "SegmentedRelease",
    "request.itemsets": "Itemset",
    "selecting": "select",
    "spectrum": "SupportSpectrum",
}
__all__ = ["__version__", *" ".join(_HOME.values()).split()]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = next(home for home, names in _HOME.items() if name in names.split())
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
