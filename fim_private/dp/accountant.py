"""The accountant: what steps spend together, under every way of adding up.

The guarantee of a release, its JSON, the entry of a ledger and the sums of a year all ask here.
Only the privacy map for OpenDP, which has to answer for any distance, adds up costs itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate
from typing import Self

from fim_private.dp.composition import (
    PrivacyBudget,
    gdp_epsilon,
    gdp_mu,
    growth_bound,
    zcdp_epsilon,
)
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost

_NOTHING = Fraction(0)


class StepComposition(StrEnum):
    """How the steps of a plan add up."""

    BASIC = "basic"  # their ε and their δ are added
    ZCDP = "zcdp"  # their ρ are added (docs/privacy.md, Theorem 8)
    GAUSSIAN = "gaussian"  # their μ² are added: of normal noise (Theorem 13), of picks (33)


@dataclass(frozen=True)
class Choices:
    """The equal choices that a selection is made of.

    Attributes:
        count: How many choices there are, >= 1.
        epsilon: What one choice spends.
        bounded_range: Whether the odds of any two outcomes of one choice change by e^ε at most.
    """

    count: int
    epsilon: Fraction
    bounded_range: bool

    @property
    def rho(self) -> Fraction:
        """The ρ that all choices spend together: ε²/8 each if bounded-range, else ε²/2.

        Source: docs/privacy.md, Theorems 8 and 16.
        """
        squares = self.count * self.epsilon**2
        if self.bounded_range:
            return squares / 8
        return squares / 2


@dataclass(frozen=True)
class Step:
    """One use of the purchases, described but not carried out.

    Its share of the budget is exact, and stated in the terms in which the plan adds up: as epsilon
    and delta, as rho, or as mu_squared. The others are None.

    Attributes:
        purpose: "selection", "supports", "count" (the number of units), "look", "vote", or a step
            of levelwise such as "items".
        sizes: The sizes of the itemsets that it is about.
        fraction: Its share of the whole budget, which is 1.
        epsilon: What it spends under basic composition.
        delta: What it spends besides epsilon.
        rho: What it spends in zCDP.
        mu_squared: What it spends in Gaussian privacy, μ². Of choices: what they add to the μ² of
            the steps after them (docs/privacy.md, Theorem 33).
        choices: Of a selection: the choices that it is made of.
        noise_rho: The ρ of its noise, if the plan already settles which noise that is. It is then
            all that the step spends in zCDP.
    """

    purpose: str
    sizes: tuple[int, ...]
    fraction: Fraction
    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None
    mu_squared: Exact | None = None
    choices: Choices | None = field(default=None, compare=False)
    noise_rho: Fraction | None = field(default=None, compare=False)

    @property
    def zcdp(self) -> ZcdpCost:
        """What it spends in zCDP.

        Noise that was chosen with the step spends its ρ, and no δ: it is normal or Laplace noise,
        which is ρ-zCDP by itself. A share of ρ or μ² spends ρ, or μ²/2. Choices spend the ρ of
        `Choices`, and any other (ε, δ) spends ε²/2, both δ-approximately. Source: docs/privacy.md,
        Theorem 18.
        """
        delta = self.delta or _NOTHING
        if self.noise_rho is not None:
            return ZcdpCost(self.noise_rho, 0)
        if self.epsilon is None:
            return ZcdpCost(self.normal_mu_squared / 2, delta)
        if self.choices is not None:
            return ZcdpCost(self.choices.rho, delta)
        return ZcdpCost(self.epsilon**2 / 2, delta)

    @property
    def normal_mu_squared(self) -> Fraction:
        """The μ² of normal noise that is as private as the step may be."""
        if self.epsilon is not None:
            return gdp_mu(self.epsilon, self.delta or _NOTHING) ** 2
        if self.mu_squared is not None:
            return Fraction(self.mu_squared)
        return 2 * Fraction(self.rho or 0)

    def divided_by(self, questions: int) -> Self:
        """Return what it spends on each of several questions, if they share μ²."""
        if self.mu_squared is None:
            return self
        return replace(self, mu_squared=Exact(self.mu_squared / questions))

    def to_dict(self) -> dict[str, object]:
        """Return plain values, as in the JSON of a release: the budget rounded up to floats."""
        amounts = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        if self.mu_squared is not None:
            amounts["mu_squared"] = self.mu_squared
        values = {"purpose": self.purpose, "sizes": self.sizes, "fraction": float(self.fraction)}
        return values | {
            name: None if amount is None else float(amount) for name, amount in amounts.items()
        }


def cost_of_steps(
    steps: Sequence[Step],
    composition: StepComposition,
    budget: PrivacyBudget,
    names_delta: Fraction,
) -> PrivacyCost:
    """Return the (ε, δ) that steps spend together.

    Args:
        steps: All steps of a plan.
        composition: How they were given their shares of the budget.
        budget: The budget of the whole plan. If steps share ρ or μ², an ε that was given is spent
            in full.
        names_delta: The part of δ that is for revealing what only one unit has.
    """
    if composition is StepComposition.BASIC:
        epsilon = _total(step.epsilon for step in steps)
        delta = _total(step.delta for step in steps)
        return PrivacyCost(epsilon, delta)
    is_normal = composition is StepComposition.GAUSSIAN
    if is_normal:
        allowed, spent = budget.mu_squared_for_steps(names_delta), total_mu_squared(steps)
    else:
        allowed, spent = budget.rho_for_steps(names_delta), total_rho(steps)
    if spent > allowed:
        raise ValueError("the steps of this plan spend more than its budget")
    cost = budget.cost(names_delta, normal=is_normal)
    choices = [step.choices for step in steps if step.choices is not None]
    if budget.rho is None or len(choices) < len(steps):
        return cost
    # Nothing but choices: these also add up by basic composition.
    basic_epsilon = _total(choice.count * choice.epsilon for choice in choices)
    return min(cost, PrivacyCost(basic_epsilon, names_delta), key=lambda either: either.epsilon)


def _total(amounts: Iterable[Fraction | None]) -> Fraction:
    return sum(filter(None, amounts), _NOTHING)


def total_mu_squared(steps: Iterable[Step]) -> Fraction:
    """Return the μ² that steps share; 0 for steps that share something else."""
    return _total(step.mu_squared for step in steps)


def total_rho(steps: Iterable[Step]) -> Fraction:
    """Return the ρ that steps share; 0 for steps that share something else."""
    return _total(step.rho for step in steps)


def zcdp_of_steps(steps: Sequence[Step], names_delta: Fraction) -> ZcdpCost:
    """Return what steps spend together in zCDP, however they were given their shares.

    names_delta: as in `cost_of_steps`. Source: docs/privacy.md, Theorem 18.
    """
    costs = [step.zcdp for step in steps]
    delta = names_delta + _total(cost.delta for cost in costs)
    is_normal = all(step.mu_squared is not None for step in steps)
    return ZcdpCost(_total(cost.rho for cost in costs), delta, normal=is_normal)


def cost_of_training(training: Fraction, choice: Fraction, *, retrain: bool) -> PrivacyCost:
    """Return what training models and choosing one by validation spend of a unit.

    A unit to train on spends the training and, without a new model, half of the choice. A unit to
    validate with spends the choice. Source: docs/privacy.md, Theorem 22.

    Args:
        training: The ε of each call that trains a model.
        choice: The ε of the choice.
        retrain: Whether a new model is trained at the end.
    """
    if retrain:
        return PrivacyCost(training + choice, 0)
    return PrivacyCost(max(training + choice / 2, choice), 0)


def cost_of_releases(
    costs: Sequence[tuple[PrivacyCost, ZcdpCost]], times: int, budget: PrivacyBudget
) -> tuple[PrivacyCost, ZcdpCost]:
    """Return what releases spend together of a unit that counts in all of them.

    Args:
        costs: What each of them spends, >= 1 of them, also in zCDP.
        times: In how many such rows of releases a unit counts at most, >= 1.
        budget: The budget of all of them together.
    """
    if len(costs) == times == 1:
        return costs[0]
    total = PrivacyCost(
        times * sum(cost.epsilon for cost, _ in costs), times * sum(cost.delta for cost, _ in costs)
    )
    total_zcdp = ZcdpCost(
        times * sum(zcdp.rho for _, zcdp in costs),
        times * sum(zcdp.delta for _, zcdp in costs),
        normal=all(zcdp.normal for _, zcdp in costs),
    )
    if budget.rho is None:
        return total, total_zcdp
    # Both hold; if ρ is divided often, the ε of the whole is the smaller one.
    converted = budget.cost(total_zcdp.delta, normal=False)
    smaller = min(total, converted, key=lambda either: (either.epsilon, either.delta))
    return smaller, total_zcdp


# -------------------- sums over time: of all entries of a ledger

# What an entry costs: (ε, δ), and ρ and δ of zero-concentrated privacy.
COSTS = ("epsilon", "delta", "rho", "zcdp_delta")
# What entries add up. The last is the number of those that do not count as Gaussian.
SUMS = (*COSTS, "other_noise")
# What decides which unit is of which day: the columns of times and of baskets, and the kind of
# period. Entries that differ in it add up.
Partition = tuple[str, tuple[str, ...], str | None]
# A partition, and the first and the last day of units.
Reach = tuple[Partition, int, int]
Sums = Mapping[str, Fraction]  # by the names of SUMS
# What entries have spent of the units that they reach; None reaches all.
Spent = Mapping[Reach | None, Sums]
NO_SUMS = dict.fromkeys(SUMS, _NOTHING)
# Beyond it, ρ says less than the ε that are added.
_MOST_RHO = 10**6


def sums_of(cost: PrivacyCost, zcdp: ZcdpCost) -> dict[str, Fraction]:
    """Return what one release adds up to, by the names of SUMS."""
    other_noise = Fraction(not zcdp.normal)
    amounts = (cost.epsilon, cost.delta, zcdp.rho, zcdp.delta, other_noise)
    return dict(zip(SUMS, amounts, strict=True))


def smallest_cost(sums: Mapping[str, Fraction], delta: Fraction | None = None) -> PrivacyCost:
    """Return the (ε, δ) of releases that were planned beforehand, with the smallest valid ε.

    Basic composition, zCDP and, where all of them count as Gaussian, Gaussian privacy each prove
    one.

    Args:
        sums: What the releases add up to, by the names of SUMS.
        delta: The δ at which ε is stated, >= 0; None for the sum of theirs.

    Source: docs/privacy.md, Theorem 32.
    """
    own_delta = min(sums["delta"], Fraction(1))
    if delta is None:
        delta = own_delta
    proven = []
    if sums["delta"] <= delta:
        proven.append(sums["epsilon"])
    rho, names_delta = sums["rho"], sums["zcdp_delta"]
    if names_delta < delta < 1 and 0 < rho <= _MOST_RHO:
        spare_delta = PrivacyBudget(None, delta).spare_delta(names_delta)
        proven.append(zcdp_epsilon(rho, spare_delta))
        if not sums["other_noise"]:
            proven.append(gdp_epsilon(2 * rho, spare_delta))
    if not proven:
        return PrivacyCost(sums["epsilon"], own_delta)
    return PrivacyCost(min(proven), delta)


def cost_of_group(cost: PrivacyCost, units: int) -> PrivacyCost:
    """Return what a release spends of somebody who is several units in it, >= 1.

    cost: what it spends of one unit. Source: docs/privacy.md, Theorem 30 (b).
    """
    epsilon, delta = units * cost.epsilon, units * cost.delta
    # δ (1 + e^ε + … + e^{(units-1)ε}), rounded up: any above 0 counts as 1 where that is vast
    growth = growth_bound(Fraction(cost.epsilon)) if epsilon < 700 else None
    if growth is None:
        delta = Fraction(cost.delta > 0)
    elif growth > 1:
        delta = cost.delta * (growth**units - 1) / (growth - 1)
    # Of few digits, and no less: a ledger holds no fraction of many.
    return PrivacyCost(epsilon, float(Exact(min(Fraction(1), delta))))


def both(earlier: Mapping[str, Fraction], later: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return the sums of somebody who spent two times, by the names of SUMS."""
    return {name: earlier[name] + later[name] for name in SUMS}


def added_up(several: Iterable[Sums | None]) -> Sums | None:
    """Return the sums of all of several releases; None if those of one are not known."""
    total: Sums = NO_SUMS
    for sums in several:
        if sums is None:
            return None
        total = both(total, sums)
    return total


def times_fitting(left: Mapping[str, Fraction], cost: Mapping[str, Fraction]) -> Fraction:
    """Return how many times a cost fits into what is left of sums, each >= 0."""
    return min(left[name] / cost[name] for name in left if cost[name])


def most_spent(spent: Spent, at: Reach | None = None) -> dict[str, Fraction]:
    """Return the most that is spent of any one unit; `at`: of any one that this reaches.

    A unit has one day in each partition, so that only what reaches that day adds up. Source:
    docs/privacy.md, Theorem 29.
    """
    total = dict(spent.get(None, NO_SUMS))
    changes: dict[Partition, list[tuple[int, int, Mapping[str, Fraction]]]] = defaultdict(list)
    for reach, sums in spent.items():
        if reach is None:
            continue
        partition, first, last = reach
        if at is not None and at[0] == partition:
            first, last = max(first, at[1]), min(last, at[2])
        if first <= last:
            changes[partition] += [(first, 1, sums), (last + 1, -1, sums)]
    for days in changes.values():
        # What ends comes before what begins on the same day.
        ordered = sorted(days, key=lambda change: change[:2])
        for name in SUMS:
            total[name] += max(accumulate(sign * sums[name] for _, sign, sums in ordered))
    return total
