"""Private selection mechanisms: each takes a support spectrum, and gives one level or abstains.

registry             What each mechanism is, one entry each, as a mechanism_spec; each has a file of its own here.
base                 The protocol: what every mechanism takes and gives.
public_parameters    What a mechanism may be built from, besides its part of the budget.
exponential_weights  A choice by weight, the step that most mechanisms end with.
abstention           The weight of abstaining in it.
rank_search          The first rank with a large margin; rank_search_noise is its noise.
noisy_max            The highest of many noisy keys, exactly; laplace_sum: sums of Laplace noise, in closed form.
prospects            The least support and the least margin with which a mechanism succeeds.
shortfall            How much less support a pick has than what was passed over.
top_k                Several selections by one mechanism, composed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fim_private.mechanisms.registry import REGISTRY

if TYPE_CHECKING:
    from fim_private.mechanisms.base import ABSTAIN, Mechanism, OutcomeDistribution, Selection
    from fim_private.mechanisms.choosing import Choosing
    from fim_private.mechanisms.distance import Distance
    from fim_private.mechanisms.exponential import Exponential, NamedExponential
    from fim_private.mechanisms.large_margin import LargeMargin
    from fim_private.mechanisms.limited_domain import LimitedDomain
    from fim_private.mechanisms.max_of_laplaces import MaxOfLaplaces
    from fim_private.mechanisms.permute_and_flip import PermuteAndFlip
    from fim_private.mechanisms.tight_margin import TightMargin

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

# These come from base.py; the registry says where the mechanisms are.
_OF_BASE = {"ABSTAIN", "Mechanism", "OutcomeDistribution", "Selection"}


def __getattr__(name: str) -> Any:
    # Imported on first use: the command line reads the registry at start-up, and must not wait for numpy.
    if name in _OF_BASE:
        return getattr(import_module(f"{__name__}.base"), name)
    for spec in REGISTRY:
        if not spec.composed and spec.home.endswith(f".{name}"):
            return spec.mechanism
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
