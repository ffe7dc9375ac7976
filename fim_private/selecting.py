"""Private selection from any public list of candidates that have scores, such as hypotheses.

A score is to its candidate what a support is to an itemset, so every mechanism over a public
universe serves.
"""

from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.arguments import as_list, exact_number
from fim_private.dp.charge import begin
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mechanisms import Mechanism, NamedExponential
from fim_private.mechanisms.top_k import TopK
from fim_private.spectrum import SupportSpectrum

_SENSITIVITY = f"{parameter('sensitivity')} must be a whole number or a Fraction"
Scores = Sequence[int | Fraction] | NDArray[np.generic]


def select(
    scores: Scores,
    mechanism: Mechanism,
    *,
    labels: Sequence[object] | NDArray[np.generic] | None = None,
    sensitivity: int | Fraction = 1,
    ledger: Any = None,
    dataset: str | None = None,
    unit: str | None = None,
    seed: int | None = None,
) -> Any:
    """Choose a candidate of nearly the highest score, with the guarantee that mechanism.cost
    states.

    scores: (K,) whole numbers or Fractions, of any sign, one for each candidate; higher is better.
        The candidates and their number K >= 1 must be public; the scores need not be. Floats are
        refused, because rounding a sum can move it by more than its sensitivity.
    mechanism: any of fim_private.mechanisms except NamedExponential. If it has a max_itemsets, you
        vouch that one unit changes at most that number of scores.
    labels: (K,), none of them None. Without them it returns the index.
    sensitivity: int or Fraction > 0, the most that one unit can change any score. Under
        "add-remove", the default, that is by leaving the unit out; under "replace-one" by replacing
        its data. Scores are divided by it and rounded down.
    ledger, dataset: as in mine. Each call charges mechanism.cost before a candidate is chosen.
        unit: "basket" or "user"; by default what the ledger protects, or a basket.
    seed: for tests only: with a seed nothing is private.

    Returns the label or index, uniformly random among those of the level that was chosen, or None
    if it abstains.

    **"add-remove" assumes that one more unit moves all scores in one direction**, as counts and
    sums of one sign do. If a unit can raise one score and lower another, give the mechanism
    neighbors="replace-one". Its constants hold for any direction, and for leaving a unit out as
    well. Raises ParameterError for arguments of the wrong kind, and LedgerError if the ledger
    refuses. Warns (PrivacyWarning) if the mechanism has an epsilon above 10 or a delta above
    1/1000, unless a seed was given. Proof: docs/choosing.md.
    """
    steps = scaled(scores, sensitivity)
    names: Sequence[Any] = range(len(steps))
    if labels is not None:
        names = as_list("labels", labels)
    if len(names) != len(steps):
        raise ParameterError(
            f"{parameter('labels')} must be as many as {parameter('scores')}: one per candidate"
        )
    if any(name is None for name in names):
        raise ParameterError(
            f"{parameter('labels')} must not be None: that is what an abstention returns"
        )
    check_mechanism(mechanism)
    randomness = begin(
        "select",
        getattr(mechanism, "neighbors", ""),
        mechanism.cost,
        {"ledger": ledger, "dataset": dataset, "unit": unit, "seed": seed},
        rho=TopK(mechanism, 1).choices.rho,
        mechanism=type(mechanism).__name__,
        candidates=len(steps),
        sensitivity=rational(_SENSITIVITY, sensitivity),
    )
    chosen = choose_index(steps, mechanism, randomness)
    if chosen is None:
        return None
    return names[chosen]


def scaled(scores: Scores, sensitivity: int | Fraction) -> list[int]:
    """Return ⌊score / sensitivity⌋ for each score: (K,) integers, which one unit changes by at most
    1.

    If x <= y <= x + 1, then ⌊x⌋ <= ⌊y⌋ <= ⌊x⌋ + 1: what is monotone under add-remove stays
    monotone. Raises ParameterError for no scores, what is no whole number or Fraction, and a
    sensitivity not above 0.
    """
    unit = rational(_SENSITIVITY, sensitivity)
    if unit <= 0:
        raise ParameterError(
            f"{parameter('sensitivity')} must be above 0, not {shown(sensitivity)}"
        )
    must = f"{parameter('scores')} must be whole numbers or Fractions"
    values = [rational(must, score) for score in as_list("scores", scores)]
    if not values:
        raise ParameterError(f"{parameter('scores')} must hold at least one candidate")
    return [value // unit for value in values]


def choose_index(scores: Sequence[int], mechanism: Mechanism, randomness: Randomness) -> int | None:
    """Return the index that the mechanism chooses among public candidates, None for abstaining.

    scores: (K,) integers, K >= 1, which one unit changes by at most 1. Raises ParameterError for a
    mechanism not for a public universe. Their shift depends on the data, but a mechanism looks at
    differences only.
    """
    shift = 1 - min(scores)
    spectrum = SupportSpectrum.from_supports(
        (score + shift for score in scores), universe_size=len(scores)
    )
    level = mechanism.select(spectrum, randomness).level
    if level is None:
        return None
    tied = [index for index, score in enumerate(scores) if score + shift == level]
    if not tied:
        raise ParameterError(
            f"{parameter('mechanism')} chose a level that no candidate has: it is none for a "
            "public universe"
        )
    return tied[randomness.below(len(tied))]


def check_mechanism(mechanism: Mechanism) -> None:
    """Raise ParameterError unless it is a mechanism over a public universe, of differences only."""
    if not callable(getattr(mechanism, "select", None)) or isinstance(mechanism, type):
        raise ParameterError(
            f"{parameter('mechanism')} must be one of fim_private.mechanisms, such as "
            "LargeMargin(epsilon=1.0)"
        )
    if isinstance(mechanism, NamedExponential):
        # Its unnamed outcome weighs against absolute supports, so the shift would leak; and here
        # all have names.
        raise ParameterError(
            "NamedExponential is for candidates without names: all have names here, use Exponential"
        )


def rational(must: str, value: object) -> Fraction:
    """Return a whole number or Fraction, exactly. Raises ParameterError, which names the type and
    never the value: an error is an output.

    must: what the error begins with.
    """
    exact = exact_number(value)
    if exact is not None and isinstance(value, Rational):
        return exact
    kind = type(value).__name__
    if isinstance(value, float | np.floating):
        raise ParameterError(
            f"{must}, not {kind}: floats are rounded, which breaks the stated sensitivity; "
            "round each unit's share to an integer, or give Fractions"
        )
    raise ParameterError(f"{must}, not {kind}")
