"""Private selection mechanisms: each takes a support spectrum, and gives one level or abstains.

registry     What each mechanism is, one entry each.
base         What every mechanism takes and gives, its public parameters, and what the mechanisms
             have in common.
exponential  Selection by exponential weights: the exponential mechanism, choosing, limited-domain,
             and abstaining.
noisy_max    The highest of noisy supports: Laplace noise, permute-and-flip, and the distance
             mechanism.
margins      The large and the tight margin mechanism: a rank search, drawn exactly, and its noise;
             then a choice.
needs        The least support, and the least margin, with which a mechanism succeeds; and how much
             support a selected itemset may lack.
top_k        Several selections by one mechanism, composed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fim_private.mechanisms.registry import REGISTRY

if TYPE_CHECKING:
    from fim_private.mechanisms.base import ABSTAIN, Mechanism, OutcomeDistribution, Selection
    from fim_private.mechanisms.exponential import (
        Choosing,
        Exponential,
        LimitedDomain,
        NamedExponential,
    )
    from fim_private.mechanisms.margins import LargeMargin, TightMargin
    from fim_private.mechanisms.noisy_max import Distance, MaxOfLaplaces, PermuteAndFlip

__all__ = [
    "ABSTAIN",
    "Choosing",
    "Distance",
    "Exponential",
    "LargeMargin",
    "LimitedDomain",
    "MaxOfLaplaces",
    "Mechanism",
    "NamedExponential",
    "OutcomeDistribution",
    "PermuteAndFlip",
    "Selection",
    "TightMargin",
]


def __getattr__(name: str) -> Any:
    # Imported on first use: the command line reads the registry at start-up, and must not wait for
    # numpy.
    for spec in REGISTRY:
        if not spec.composed and spec.home.endswith(f".{name}"):
            return spec.mechanism
    if name in __all__:
        return getattr(import_module(f"{__name__}.base"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
