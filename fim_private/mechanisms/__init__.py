"""Private selection mechanisms: a support spectrum in, one level or an abstention out."""

from fim_private.mechanisms.exponential import Exponential, NamedExponential
from fim_private.mechanisms.large_margin import LargeMargin
from fim_private.mechanisms.selection import ABSTAIN, Mechanism, OutcomeDistribution, Selection

__all__ = [
    "ABSTAIN",
    "Exponential",
    "LargeMargin",
    "Mechanism",
    "NamedExponential",
    "OutcomeDistribution",
    "Selection",
]
