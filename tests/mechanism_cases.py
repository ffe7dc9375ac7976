"""The contract list: every mechanism, every universe, and spectra that reach each of its
branches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import oracles
import pytest
import selection_oracles as slow_selection

from fim_private.mechanisms import (
    Choosing,
    Distance,
    Exponential,
    LargeMargin,
    LimitedDomain,
    MaxOfLaplaces,
    Mechanism,
    NamedExponential,
    PermuteAndFlip,
    TightMargin,
)
from fim_private.spectrum import SupportSpectrum

# The outcome's key: a support level, or None for abstaining.
Outcomes = dict[int | None, float]


def exact(value: float) -> Fraction:
    """What the package takes a float parameter to mean: its decimal digits."""
    return Fraction(repr(value))


def outcomes(mechanism: Mechanism, spectrum: SupportSpectrum) -> Outcomes:
    """The mechanism's own exact distribution as a dictionary."""
    distribution = mechanism.distribution(spectrum)
    named = zip(distribution.levels.tolist(), distribution.probabilities.tolist(), strict=True)
    return {**dict(named), None: distribution.abstain}


def with_abstention(levels: dict[int, float], abstain: float) -> Outcomes:
    """An oracle's answer in the same form."""
    joined: Outcomes = {}
    joined.update(levels.items())
    joined[None] = abstain
    return joined


@dataclass(frozen=True)
class Case:
    """One mechanism on one spectrum, with the slow definition of the right answer and of a wrong
    one.
    """

    name: str
    mechanism: Mechanism
    supports: tuple[int, ...]
    universe_size: int | None
    oracle: Callable[[float], Outcomes]  # of an epsilon: the mechanism's own, or 30 % more

    @property
    def spectrum(self) -> SupportSpectrum:
        return SupportSpectrum.from_supports(self.supports, self.universe_size)

    def __str__(self) -> str:
        return self.name


def large_margin(
    name: str,
    supports: tuple[int, ...],
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    max_rank: int = 10_000,
    universe_size: int | None = None,
    neighbors: str = "replace-one",
) -> Case:
    def oracle(at: float) -> Outcomes:
        # A wrong epsilon changes the noise and the last stage; the thresholds stay.
        right = oracles.integer_thresholds(
            exact(epsilon), exact(delta), range(1, 1 + (universe_size or max_rank))
        )
        levels, abstain = oracles.large_margin_distribution(
            supports,
            exact(at),
            exact(delta),
            universe_size=universe_size,
            max_rank=max_rank,
            thresholds=lambda rank: right[rank - 1],
        )
        return with_abstention(levels, abstain)

    mechanism = LargeMargin(epsilon=epsilon, delta=delta, neighbors=neighbors, max_rank=max_rank)
    return Case(f"large-margin {name}", mechanism, supports, universe_size, oracle)


def exponential(
    name: str,
    supports: tuple[int, ...],
    universe_size: int,
    *,
    epsilon: float,
    neighbors: str = "replace-one",
) -> Case:
    def oracle(at: float) -> Outcomes:
        return with_abstention(
            oracles.exponential_distribution(
                supports,
                exact(at),
                neighbors=neighbors,  # type: ignore[arg-type]
                universe_size=universe_size,
            ),
            0.0,
        )

    return Case(
        f"exponential {name}", Exponential(epsilon, neighbors), supports, universe_size, oracle
    )


def named_exponential(
    name: str,
    supports: tuple[int, ...],
    candidates: int,
    *,
    epsilon: float,
    delta: float,
    neighbors: str = "replace-one",
) -> Case:
    def oracle(at: float) -> Outcomes:
        levels, unnamed = oracles.named_exponential_distribution(
            supports,
            exact(at),
            exact(delta),
            neighbors=neighbors,  # type: ignore[arg-type]
            universe_size=candidates,
        )
        return with_abstention({**levels, 0: unnamed}, 0.0)

    mechanism = NamedExponential(epsilon, delta, candidates, neighbors)
    return Case(f"named-exponential {name}", mechanism, supports, None, oracle)


def named(supports: tuple[int, ...], universe_size: int | None) -> dict[str, int]:
    """Supports by name, with the zeros of a known universe."""
    zeros = 0 if universe_size is None else universe_size - len(supports)
    return {f"i{place}": support for place, support in enumerate((*supports, *[0] * zeros))}


def by_level(shares: Mapping[str | None, float], counts: Mapping[str, int]) -> Outcomes:
    """An oracle's answer for named itemsets, added up level by level."""
    outcomes: Outcomes = {None: shares.get(None, 0.0)}
    for name, support in counts.items():
        outcomes[support] = outcomes.get(support, 0.0) + shares[name]
    return outcomes


def selection(
    name: str,
    make: Callable[..., Mechanism],
    slow: Callable[..., Mapping[str | None, float]],
    supports: tuple[int, ...],
    universe_size: int | None = None,
    *,
    epsilon: float = 1.0,
    neighbors: str = "replace-one",
    delta: float | None = None,
    parameters: Mapping[str, int] | None = None,
    oracle_parameters: Mapping[str, object] | None = None,
) -> Case:
    """A case of the mechanisms that selection_oracles defines: make(epsilon, …) against
    slow(counts, epsilon, …).
    """
    counts = named(supports, universe_size)
    shared = dict(parameters or {})
    own = {"neighbors": neighbors, **shared}
    mechanism = make(epsilon, **own) if delta is None else make(epsilon, delta, **own)

    def oracle(at: float) -> Outcomes:
        # A wrong epsilon changes the noise; what is calibrated to the right one stays, as
        # bottom_factor or thresholds.
        factor = exact(epsilon) / exact(at)
        budget = (exact(epsilon),) if delta is None else (exact(epsilon), exact(delta))
        relation = {"neighbors": neighbors, "universe_size": universe_size, "noise_factor": factor}
        return by_level(
            slow(counts, *budget, **relation, **shared, **(oracle_parameters or {})), counts
        )

    relation = "" if neighbors == "replace-one" else ", add-remove"
    known = "" if universe_size is None else ", known universe"
    return Case(f"{name}{relation}{known}", mechanism, supports, universe_size, oracle)


def tight_margin(
    name: str, supports: tuple[int, ...], universe_size: int | None = None, **changes: Any
) -> Case:
    """A case of the tight margin, whose thresholds are its own: privacy does not depend on them."""
    mechanism = TightMargin(
        changes.get("epsilon", 1.0),
        changes["delta"],
        changes.get("neighbors", "replace-one"),
        changes["max_rank"],
    )
    split = (
        mechanism.shared_share,
        mechanism.step_share,
        1 - mechanism.shared_share - mechanism.step_share,
    )
    return selection(
        f"tight-margin {name}",
        TightMargin,
        slow_selection.tight_margin,
        supports,
        universe_size,
        epsilon=changes.get("epsilon", 1.0),
        neighbors=changes.get("neighbors", "replace-one"),
        delta=changes["delta"],
        parameters={"max_rank": changes["max_rank"]},
        oracle_parameters={"split": split, "thresholds": mechanism.threshold},
    )


def selections() -> list[Case]:
    """Every mechanism of selection_oracles × neighbour relation × known or unknown universe."""
    cases = []
    limited = slow_selection.limited_domain
    for neighbors in ("replace-one", "add-remove"):
        double = 2 if neighbors == "replace-one" else 1
        for known in (9, 20):
            near = (6 * double, 5 * double, 5 * double, 3)
            for name, make, slow in (
                ("permute-and-flip", PermuteAndFlip, slow_selection.permute_and_flip),
                ("max-of-laplaces", MaxOfLaplaces, slow_selection.max_of_laplaces),
            ):
                cases.append(
                    selection(f"{name} {known}", make, slow, near, known, neighbors=neighbors)
                )
        lead = 12 * double
        choices: list[tuple[str, Any, Any, tuple[int, ...], dict[str, int]]] = [
            (
                "limited-domain ties",
                LimitedDomain,
                limited,
                (lead, lead - 1, lead - 1, 3, 2),
                {"max_rank": 3},
            ),
            (
                "limited-domain a tie cut",
                LimitedDomain,
                limited,
                (lead, 3, 3, 3, 2),
                {"max_rank": 2},
            ),
            ("limited-domain zeros", LimitedDomain, limited, (lead, lead - 2), {"max_rank": 7}),
            (
                "limited-domain capped",
                LimitedDomain,
                limited,
                (lead, lead - 2, 4, 1),
                {"max_rank": 3, "max_itemsets": 2},
            ),
            (
                "choosing",
                Choosing,
                slow_selection.choosing,
                (lead, lead - 2, 5),
                {"max_itemsets": 6},
            ),
            ("distance", Distance, slow_selection.distance, (lead, 2, 1), {}),
            ("distance ties", Distance, slow_selection.distance, (5, 5, 1), {}),
        ]
        searches: list[tuple[str, tuple[int, ...], float, int]] = [
            ("leader", (15 * double, 3), 1e-3, 6),
            ("ties", (*[12 * double] * 3, 5, 5), 1e-3, 5),
            ("cap 1", (13 * double, 2, 2), 1e-3, 1),
            ("to the end", (8 * double, 3, 3), 0.05, 40),
        ]
        for universe_size in (None, 12):
            for label, make, slow, supports, parameters in choices:
                delta = 0.1 if label == "distance ties" else 1e-3
                more: dict[str, Any] = {
                    "neighbors": neighbors,
                    "delta": delta,
                    "parameters": parameters,
                }
                cases.append(selection(label, make, slow, supports, universe_size, **more))
            for label, supports, delta, rank in searches:
                cases.append(
                    tight_margin(
                        label,
                        supports,
                        universe_size,
                        delta=delta,
                        max_rank=rank,
                        neighbors=neighbors,
                    )
                )
    return cases


# Every case has outcomes of middling probability, so that a sampler test on it has power.
CASES: list[Case] = [
    *selections(),
    large_margin("one itemset, 420", (420,)),
    large_margin("one itemset, 450, add-remove", (450,), neighbors="add-remove", max_rank=300),
    large_margin("ties at the top", (455, 455, 455, 20, 20, 5), max_rank=300),
    large_margin("near ties", (460, 452, 452, 440, 3, 3), max_rank=300),
    large_margin("a tie cut by the rank", (60, *([35] * 6), 2), delta=0.9, max_rank=8),
    large_margin("zeros in the top", (55, 54), epsilon=3.0, delta=0.5, max_rank=40),
    large_margin("cap reached", (100, 95, 95, 2), delta=0.2, max_rank=50),
    large_margin("known, small", (100, 95, 95, 94, 90), delta=0.2, universe_size=7),
    large_margin("known, to the end", (12, 11, 9, 9, 9), delta=1e-3, universe_size=300),
    large_margin(
        "known, K itemsets all occur", (9, 7, 7, 3), epsilon=2.0, delta=0.1, universe_size=4
    ),
    exponential("three levels", (12, 11, 11, 5), 10, epsilon=1.0),
    exponential("add-remove", (12, 11, 11, 5), 10**4, epsilon=0.5, neighbors="add-remove"),
    exponential("zeros win half", (277, 250), 10**60, epsilon=1.0),
    exponential("no zeros left", (5, 4, 4), 3, epsilon=0.7),
    named_exponential("replace-one", (60, 59, 50), 10**8, epsilon=1.0, delta=1e-4),
    named_exponential(
        "add-remove", (30, 29, 2), 10**8, epsilon=1.0, delta=1e-4, neighbors="add-remove"
    ),
]


def cases(for_test_all: str) -> list[Any]:
    """CASES as parameters; those whose name begins like the pattern, which take long, are for make
    test-all alone.
    """
    return [
        pytest.param(case, marks=pytest.mark.full) if re.match(for_test_all, case.name) else case
        for case in CASES
    ]
