"""Private selection mechanisms: a support spectrum in, one level or an abstention out."""

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
