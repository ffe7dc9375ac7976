"""Every mechanism in every universe, on spectra that reach its branches, and its definition."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import oracles
import selection_oracles

import fim_private as fim
from fim_private.mechanisms import Mechanism, NamedExponential
from fim_private.spectrum import SupportSpectrum

# The outcome's key: a support level, or None for abstaining.
Outcomes = dict[int | None, float]


def exact(value: float | Fraction) -> Fraction:
    """What the package takes a float parameter to mean: its decimal digits."""
    return value if isinstance(value, Fraction) else Fraction(repr(float(value)))


def outcomes(mechanism: Mechanism, spectrum: SupportSpectrum) -> Outcomes:
    """The mechanism's own exact distribution as a dictionary."""
    distribution = mechanism.distribution(spectrum)
    named = zip(distribution.levels.tolist(), distribution.probabilities.tolist(), strict=True)
    return {**dict(named), None: distribution.abstain}


def named(supports: tuple[int, ...], universe_size: int | None) -> dict[str, int]:
    """Supports by name, with the zeros of a known universe."""
    zeros = 0 if universe_size is None else universe_size - len(supports)
    return {f"i{place}": support for place, support in enumerate((*supports, *[0] * zeros))}


def by_level(shares: Mapping[Any, Decimal], counts: Mapping[str, int]) -> dict[Any, Decimal]:
    """A law of named itemsets, added up level by level."""
    levels: dict[int | None, Decimal] = {None: shares[None]}
    for name, support in counts.items():
        levels[support] = levels.get(support, Decimal(0)) + shares[name]
    return levels


def slow(
    mechanism: Any, supports: tuple[int, ...], universe_size: int | None, factor: float = 1
) -> Outcomes:
    """The definition of what a mechanism does; or of one whose epsilon is wrong by a factor.

    A wrong epsilon changes the noise. What is calibrated to the right one stays, as thresholds.
    """
    epsilon, delta = exact(mechanism.epsilon), exact(mechanism.delta)
    levels: Any
    wrong, neighbors = exact(round(float(epsilon) * factor, 6)), str(mechanism.neighbors)
    known: Any = {"neighbors": neighbors, "universe_size": universe_size}
    if isinstance(mechanism, fim.LargeMargin):
        ranks = range(1, 1 + (universe_size or mechanism.max_rank))
        right = oracles.integer_thresholds(epsilon, delta, ranks)
        levels, abstain = oracles.large_margin_distribution(
            supports,
            wrong,
            delta,
            universe_size=universe_size,
            max_rank=mechanism.max_rank,
            thresholds=lambda rank: right[rank - 1],
        )
        return {**levels, None: abstain}
    if isinstance(mechanism, fim.Exponential):
        levels = oracles.exponential_distribution(supports, wrong, **known)
        return {**levels, None: 0.0}
    if isinstance(mechanism, NamedExponential):
        known["universe_size"] = mechanism.universe_size
        levels, unnamed = oracles.named_exponential_distribution(supports, wrong, delta, **known)
        return {**levels, 0: unnamed, None: 0.0}
    counts = named(supports, universe_size)
    law = exact_law(mechanism, counts, universe_size, noise_factor=epsilon / wrong)
    return {level: float(share) for level, share in by_level(law, counts).items()}


def exact_law(
    mechanism: Any, counts: Mapping[str, int], universe_size: Any, noise_factor: Any = Fraction(1)
) -> selection_oracles.Law:
    """The law of a mechanism that selection_oracles defines, over named itemsets."""
    known: Any = {"neighbors": str(mechanism.neighbors), "universe_size": universe_size}
    known |= {"counts": counts, "epsilon": exact(mechanism.epsilon), "noise_factor": noise_factor}
    if isinstance(mechanism, fim.PermuteAndFlip):
        return selection_oracles.permute_and_flip_exact(**known)
    if isinstance(mechanism, fim.MaxOfLaplaces):
        return selection_oracles.max_of_laplaces_exact(**known)
    known["delta"] = exact(mechanism.delta)
    if isinstance(mechanism, fim.Distance):
        return selection_oracles.distance_exact(**known)
    if isinstance(mechanism, fim.Choosing):
        return selection_oracles.choosing_exact(**known, max_itemsets=mechanism.max_itemsets)
    known["max_rank"] = mechanism.max_rank
    if isinstance(mechanism, fim.LimitedDomain):
        return selection_oracles.limited_domain_exact(**known, max_itemsets=mechanism.max_itemsets)
    assert isinstance(mechanism, fim.TightMargin)
    # Its thresholds are its own: privacy does not depend on them.
    shares = mechanism.shared_share, mechanism.step_share
    known |= {"split": (*shares, 1 - sum(shares)), "thresholds": mechanism.threshold}
    return selection_oracles.tight_margin_exact(**known)


@dataclass(frozen=True)
class Case:
    """One mechanism on one spectrum."""

    name: str
    mechanism: Mechanism
    supports: tuple[int, ...]
    universe_size: int | None = None

    @property
    def spectrum(self) -> SupportSpectrum:
        return SupportSpectrum.from_supports(self.supports, self.universe_size)

    def oracle(self, factor: float = 1) -> Outcomes:
        return slow(self.mechanism, self.supports, self.universe_size, factor)

    def __str__(self) -> str:
        return self.name


def selections(neighbors: str) -> list[Case]:
    """Every mechanism that selection_oracles defines, in known and unknown universes."""
    add_remove = neighbors == "add-remove"
    of, twice = (", add-remove", 1) if add_remove else ("", 2)
    near, lead = (6 * twice, 5 * twice, 5 * twice, 3), 12 * twice
    cases = []
    for size in (9, 20):
        makers: Any = {"permute-and-flip": fim.PermuteAndFlip, "max-of-laplaces": fim.MaxOfLaplaces}
        for name, make in makers.items():
            cases.append(Case(f"{name} {size}{of}, known universe", make(1, neighbors), near, size))

    def limited(*caps: int) -> Mechanism:
        return fim.LimitedDomain(1.0, 1e-3, neighbors, *caps)

    def tight(max_rank: int, delta: float = 1e-3) -> Mechanism:
        return fim.TightMargin(1.0, delta, neighbors, max_rank)

    either: list[tuple[str, Mechanism, tuple[int, ...]]] = [
        ("limited-domain ties", limited(3), (lead, lead - 1, lead - 1, 3, 2)),
        ("limited-domain a tie cut", limited(2), (lead, 3, 3, 3, 2)),
        ("limited-domain zeros", limited(7), (lead, lead - 2)),
        ("limited-domain capped", limited(3, 2), (lead, lead - 2, 4, 1)),
        ("choosing", fim.Choosing(1.0, 1e-3, 6, neighbors), (lead, lead - 2, 5)),
        ("distance", fim.Distance(1.0, 1e-3, neighbors), (lead, 2, 1)),
        ("distance ties", fim.Distance(1.0, 0.1, neighbors), (5, 5, 1)),
        ("tight-margin leader", tight(6), (15 * twice, 3)),
        ("tight-margin ties", tight(5), (*[lead] * 3, 5, 5)),
        ("tight-margin cap 1", tight(1), (13 * twice, 2, 2)),
        ("tight-margin to the end", tight(40, 0.05), (8 * twice, 3, 3)),
    ]
    for universe, (name, mechanism, supports) in product((None, 12), either):
        known = "" if universe is None else ", known universe"
        cases.append(Case(f"{name}{of}{known}", mechanism, supports, universe))
    return cases


def large_margin(epsilon: float = 1, delta: float = 1e-6, max_rank: int = 10**4) -> fim.LargeMargin:
    return fim.LargeMargin(epsilon, delta, max_rank=max_rank)


# Every case has outcomes of middling probability, so that a sampler test on it has power.
CASES: list[Case] = [
    *selections("replace-one"),
    *selections("add-remove"),
    Case("large-margin one itemset, 420", large_margin(), (420,)),
    Case(
        "large-margin one itemset, 450, add-remove",
        fim.LargeMargin(neighbors="add-remove", max_rank=300),
        (450,),
    ),
    Case("large-margin ties at the top", large_margin(max_rank=300), (*[455] * 3, 20, 20, 5)),
    Case("large-margin near ties", large_margin(max_rank=300), (460, 452, 452, 440, 3, 3)),
    Case("large-margin a tie cut", large_margin(delta=0.9, max_rank=8), (60, *([35] * 6), 2)),
    Case("large-margin zeros in the top", large_margin(3.0, 0.5, 40), (55, 54)),
    Case("large-margin cap reached", large_margin(delta=0.2, max_rank=50), (100, 95, 95, 2)),
    Case("large-margin known, small", large_margin(delta=0.2), (100, 95, 95, 94, 90), 7),
    Case("large-margin known, to the end", large_margin(delta=1e-3), (12, 11, 9, 9, 9), 300),
    Case("large-margin known, all occur", large_margin(2.0, 0.1), (9, 7, 7, 3), 4),
    Case("exponential three levels", fim.Exponential(1.0), (12, 11, 11, 5), 10),
    Case("exponential add-remove", fim.Exponential(0.5, "add-remove"), (12, 11, 11, 5), 10**4),
    Case("exponential zeros win half", fim.Exponential(1.0, "replace-one"), (277, 250), 10**60),
    Case("exponential no zeros left", fim.Exponential(0.7), (5, 4, 4), 3),
    Case("named-exponential", NamedExponential(1.0, 1e-4, 10**8), (60, 59, 50)),
    Case("named, add-remove", NamedExponential(1.0, 1e-4, 10**8, "add-remove"), (30, 29, 2)),
]
