"""The simulations of the benchmarks follow the exact laws of the mechanisms they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pytest

from benchmarks.utility import simulation
from fim_private.mechanisms import (
    Choosing,
    Distance,
    Exponential,
    LargeMargin,
    LimitedDomain,
    MaxOfLaplaces,
    NamedExponential,
    PermuteAndFlip,
    TightMargin,
)
from fim_private.spectrum import SupportSpectrum

DRAWS = 20_000
# each takes longer; they are enough as well, which the test of one pick proves
DRAWS_OF_A_SEARCH = 9_500
NEIGHBORS = ["replace-one", "add-remove"]
PICK: dict[type, Callable[..., Any]] = {
    Exponential: simulation.weighed,
    NamedExponential: simulation.weighed,
    LimitedDomain: simulation.weighed,
    Choosing: simulation.weighed,
    PermuteAndFlip: simulation.noisy_max,
    MaxOfLaplaces: simulation.noisy_max,
    LargeMargin: simulation.searched,
    TightMargin: simulation.searched,
    Distance: simulation.distant,
}
SEARCHED = (LargeMargin, TightMargin)
CASES: list[tuple[Any, list[int], int | None]] = [
    (Exponential(0.5), [43, 42, 41, 7], 10**9),
    (Exponential(0.5), [12, 11, 11, 7], 6),
    (LimitedDomain(0.8, 1e-2, max_rank=3), [24, 22, 22, 20, 3], None),
    (LimitedDomain(0.8, 1e-2, max_rank=9), [16, 15, 15], None),
    (NamedExponential(0.8, 1e-2, 40), [17, 16, 16, 2], None),
    (Choosing(0.8, 1e-2, 4), [16, 15, 15, 2], None),
    (PermuteAndFlip(0.5), [12, 11, 11, 7], 60),
    (PermuteAndFlip(0.2), [130, 120, 110], 10**12),
    (MaxOfLaplaces(0.5), [12, 11, 11, 7], 60),
    (MaxOfLaplaces(3.0), [4, 3, 3], 9),
    (LargeMargin(1.0, 0.1, max_rank=30), [170, 165, 165, 60], None),
    (LargeMargin(1.0, 0.1, max_rank=30), [140], None),
    (LargeMargin(1.0, 0.1, max_rank=400), [205, *[198] * 120], None),
    (TightMargin(0.8, 1e-2, max_rank=3), [36, 33, 33, 31, 3], None),
    (TightMargin(0.8, 1e-2, max_rank=20), [30, 28, 27], None),
    (TightMargin(0.8, 1e-2, max_rank=400), [50, *[44] * 120], None),
    (Distance(0.8, 1e-2), [19, 12, 12, 2], None),
]


def related(mechanism: Any, neighbors: str) -> Any:
    """With about the same noise under either relation."""
    factor = 2 if neighbors == "replace-one" and not isinstance(mechanism, LargeMargin) else 1
    return replace(mechanism, neighbors=neighbors, epsilon=mechanism.epsilon * factor)


def draws_of(mechanism: Any) -> int:
    return DRAWS_OF_A_SEARCH if isinstance(mechanism, SEARCHED) else DRAWS


def law(mechanism: Any, spectrum: SupportSpectrum) -> dict[int, float]:
    outcomes = mechanism.distribution(spectrum)
    shares = dict(zip(outcomes.levels.tolist(), outcomes.probabilities.tolist(), strict=True))
    abstain = outcomes.abstain + (shares.pop(0) if isinstance(mechanism, NamedExponential) else 0.0)
    return {simulation.ABSTAINED: abstain} | shares


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("mechanism", "supports", "size"), CASES)
@pytest.mark.one_in(12)
def test_one_pick_follows_the_exact_distribution(
    mechanism: Any, supports: list[int], size: int | None, neighbors: str
) -> None:
    mechanism = related(mechanism, neighbors)
    spectrum = SupportSpectrum.from_supports(supports, size)
    right = law(mechanism, spectrum)
    rng = np.random.default_rng(7)
    draws = draws_of(mechanism)
    drawn = Counter(PICK[type(mechanism)](mechanism, spectrum, 1, draws, rng)[:, 0].tolist())
    assert oracles.chi_square_pvalue(drawn, right, draws) > 1e-6
    wrong = law(replace(mechanism, epsilon=mechanism.epsilon / 0.7), spectrum)
    assert oracles.detects(right, wrong, draws) > 0.999
