"""The contract list: every mechanism, every universe, and spectra that reach each of its branches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import oracles

from fim_private.mechanisms import Exponential, LargeMargin, Mechanism, NamedExponential
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
    """One mechanism on one spectrum, with the slow definition of the right answer and of a wrong one."""

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
        right = oracles.integer_thresholds(exact(epsilon), exact(delta), range(1, 1 + (universe_size or max_rank)))
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
    name: str, supports: tuple[int, ...], universe_size: int, *, epsilon: float, neighbors: str = "replace-one"
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

    return Case(f"exponential {name}", Exponential(epsilon, neighbors), supports, universe_size, oracle)


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


# Every case has outcomes of middling probability, so that a sampler test on it has power.
CASES = [
    large_margin("one itemset, 420", (420,)),
    large_margin("one itemset, 450, add-remove", (450,), neighbors="add-remove", max_rank=300),
    large_margin("ties at the top", (455, 455, 455, 20, 20, 5), max_rank=300),
    large_margin("near ties", (460, 452, 452, 440, 3, 3), max_rank=300),
    large_margin("a tie cut by the rank", (60, *([35] * 6), 2), delta=0.9, max_rank=8),
    large_margin("zeros in the top", (55, 54), epsilon=3.0, delta=0.5, max_rank=40),
    large_margin("cap reached", (100, 95, 95, 2), delta=0.2, max_rank=50),
    large_margin("known, small", (100, 95, 95, 94, 90), delta=0.2, universe_size=7),
    large_margin("known, to the end", (12, 11, 9, 9, 9), delta=1e-3, universe_size=300),
    large_margin("known, K itemsets all occur", (9, 7, 7, 3), epsilon=2.0, delta=0.1, universe_size=4),
    exponential("three levels", (12, 11, 11, 5), 10, epsilon=1.0),
    exponential("add-remove", (12, 11, 11, 5), 10**4, epsilon=0.5, neighbors="add-remove"),
    exponential("zeros win half", (277, 250), 10**60, epsilon=1.0),
    exponential("no zeros left", (5, 4, 4), 3, epsilon=0.7),
    named_exponential("replace-one", (60, 59, 50), 10**8, epsilon=1.0, delta=1e-4),
    named_exponential("add-remove", (30, 29, 2), 10**8, epsilon=1.0, delta=1e-4, neighbors="add-remove"),
]
