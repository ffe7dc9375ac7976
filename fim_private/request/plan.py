"""The plan of a release: what will be done with the purchases, decided before they are read.

A plan is inert: it draws nothing and reads nothing. `allocation` makes it from a request, the
accountant says what it costs, and `run` carries it out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from fractions import Fraction

from fim_private.counting.source import Universe
from fim_private.dp.accountant import (
    Step,
    StepComposition,
    cost_of_group,
    cost_of_steps,
    zcdp_of_steps,
)
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.parameters import of_parts
from fim_private.levelwise.discovery import ItemSearch
from fim_private.levelwise.levelwise import Levelwise, LevelwiseThreshold
from fim_private.mechanisms.base import PublicParameters
from fim_private.mechanisms.needs import shortfall
from fim_private.mechanisms.top_k import TopK
from fim_private.request.groups import Promise, Target, range_of
from fim_private.request.request import Request
from fim_private.request.supports import SupportNoise

_IN_WORDS = {
    "count": "the number of units",
    "look": "choosing the mechanism",
    "items": "finding items",
    "candidates": "finding sets of items",
    "first count": "counting candidates",
    "histogram": "counting candidates",
    "second count": "counting candidates",
    "item count": "counting candidates",
    "set count": "counting candidates",
}


def step_in_words(step: Step) -> str:
    """Return what a step is for, in words."""
    if step.purpose != "selection":
        return _IN_WORDS.get(step.purpose, step.purpose)
    return f"selection of size {range_of(step.sizes)}"


def shares_in_words(steps: Iterable[Step]) -> dict[str, Fraction]:
    """Return the share of the budget that each purpose has; levelwise has many steps of one."""
    shares: defaultdict[str, Fraction] = defaultdict(Fraction)
    for step in steps:
        shares[step_in_words(step)] += step.fraction
    return shares


def noise_of(step: Step, count: int, *, joint: bool = False) -> SupportNoise:
    """Return the noise that a step adds to each of `count` numbers, count >= 1.

    joint: whether normal noise on supports gives the number of units as well.
    """
    # Without δ, a share of ε buys Laplace noise, which is never joint.
    allows_normal = step.epsilon is None or bool(step.delta)
    if joint and allows_normal:
        return SupportNoise.with_units(step.normal_mu_squared, count)
    if step.epsilon is not None:
        return SupportNoise.for_budget(Fraction(step.epsilon), Fraction(step.delta or 0), count)
    if step.rho is not None:
        return SupportNoise.for_rho(Fraction(step.rho), count)
    return SupportNoise.for_mu_squared(step.normal_mu_squared, count)


def noise_of_look(step: Step, numbers: int, promise: Promise) -> SupportNoise:
    """Return the noise on each number that a look sees: the number of units is seen, too.

    numbers: how many others there are, each of which a unit changes by 1 at most.
    """
    if promise.neighbors == Neighbors.ADD_REMOVE:
        return noise_of(step, numbers, joint=True)
    if promise.units_are_public:
        return noise_of(step, numbers)
    return noise_of(step, numbers + 1)


@dataclass(frozen=True)
class Selection:
    """A selection of itemsets, described but not carried out.

    Attributes:
        run: The mechanism, with its budget and how many itemsets it selects.
        public: What is public of it: the sizes of the itemsets, and how many are to choose from.
        universe: The public universe of items.
    """

    run: TopK | Levelwise | LevelwiseThreshold
    public: PublicParameters
    universe: Universe

    def shortfall(self, selections: int = 1) -> int | None:
        """Return the lead, in units, that an itemset left out may have over one selected.

        It has no larger lead with 95 % probability. selections: how many selections this is said
        of together, >= 1. Returns None if it does not follow from public parameters: for levelwise,
        and if baskets are cut, for an itemset may have more support than was counted.
        """
        if not isinstance(self.run, TopK) or self.public.max_basket is not None:
            return None
        return shortfall(self.run.mechanism, self.public.candidates, self.run.count * selections)


@dataclass(frozen=True)
class EnoughSupport:
    """Itemsets are picked one by one if they are frequent enough.

    What a look sees of that is the support of the first itemset that a true ranking leaves out,
    such as the eleventh of ten.

    Attributes:
        most_needed: From this noisy support on, in units, the itemsets are picked one by one,
            however many units there are.
        least_needed: From this one on at least, in units, however few units there are.
        leniency: c >= 0, in units: of n units a factor n/(n + c) of most_needed is enough, if that
            is at least least_needed.
    """

    most_needed: int
    least_needed: int
    leniency: int

    def needed(self, units: int) -> float:
        """Return the noisy support, in units, from which on itemsets are picked one by one.

        The fewer units there are, the less levelwise finds.
        """
        units = max(units, 1)
        return max(self.most_needed * units / (units + self.leniency), self.least_needed)

    def __str__(self) -> str:
        return "the itemsets are frequent enough"


@dataclass(frozen=True)
class EnoughItems:
    """Listed items are picked one by one if enough users have bought many of them.

    Levelwise counts all listed items at once. The more of them users have bought, the less each
    one weighs, whereas picks do not depend on how many that are.

    Attributes:
        items: A look sees the number of users who have bought this many different items, or more.
        share: The share of all users that is enough.
    """

    items: int
    share: float

    def needed(self, units: int) -> float:
        """Return the noisy number of users from which on items are picked one by one."""
        return self.share * units

    def __str__(self) -> str:
        return f"enough users have bought {self.items} different items"


@dataclass(frozen=True)
class Look:
    """How a noisy number decides which of two plans is carried out (docs/privacy.md, Theorem 33).

    Attributes:
        condition: On which itemsets are picked one by one.
        request: The request for the mechanism that picks them.
        plan: Its plan, which costs the same, and of which the look is a step too.
    """

    condition: EnoughSupport | EnoughItems
    request: Request
    plan: ReleasePlan

    def noise(self, step: Step) -> SupportNoise:
        """Return the noise on each number that it sees. step: what it spends."""
        numbers = 2 if isinstance(self.condition, EnoughItems) else 1
        return noise_of_look(step, numbers, self.request.promise)

    def to_dict(self) -> dict[str, object]:
        """Return plain values: what a dry run prints as JSON."""
        return {"mechanism": self.request.mechanism.name, **asdict(self.condition)}


@dataclass(frozen=True)
class ReleasePlan:
    """What a release will do with the purchases, in order.

    Attributes:
        steps: All steps, each with its share of the budget.
        budget: The budget of the plan.
        composition: How the steps add up.
        target: Which itemsets are sought.
        selections: The selections, carried out one after the other; none if itemsets are given.
        names_delta: δ₀, the part of δ for revealing what only one unit has, besides the δ of the
            steps.
        joint_noise: Whether normal noise on supports gives the number of units as well.
        look: How the data decide whether another plan, of the same cost, is carried out.
    """

    steps: tuple[Step, ...]
    budget: PrivacyBudget
    composition: StepComposition
    target: Target = field(default_factory=Target)
    selections: tuple[Selection, ...] = ()
    names_delta: Fraction = Fraction(0)
    joint_noise: bool = False
    look: Look | None = None

    @property
    def spares_all_for_one(self) -> bool:
        """Whether no itemset is left out as unclear if one leads those that were not found."""
        return any(isinstance(selection.run, Levelwise) for selection in self.selections)

    @property
    @of_parts()
    def cost(self) -> PrivacyCost:
        """The (ε, δ) that all steps spend together."""
        return cost_of_steps(self.steps, self.composition, self.budget, self.names_delta)

    @property
    def zcdp(self) -> ZcdpCost:
        """What all steps spend together in zCDP, however they add up."""
        return zcdp_of_steps(self.steps, self.names_delta)

    def cost_of_group(self, units: int) -> tuple[PrivacyCost, ZcdpCost]:
        """Return what all steps spend on somebody who is so many units, >= 1: also in zCDP.

        Source: docs/privacy.md, Theorem 30.
        """
        if units == 1:
            return self.cost, self.zcdp
        cost, zcdp = cost_of_group(self.cost, units), self.zcdp
        names_delta = self.names_delta
        for selection in self.selections:
            if isinstance(selection.run, ItemSearch):
                names_delta = selection.run.names_delta(units)
        # Picks may abstain: of several units at once that takes more than their δ₀.
        abstains = bool(self.top_k_runs) and zcdp.delta > 0
        is_scaled = zcdp.delta == self.names_delta and (zcdp.normal or not zcdp.delta)
        if is_scaled and not abstains:
            rho = units**2 * zcdp.rho
            return cost, ZcdpCost(rho, names_delta, normal=zcdp.normal)
        # A selection whose δ is no such probability: by its ε (Theorem 16).
        return cost, ZcdpCost(cost.epsilon**2 / 2, cost.delta)

    def step(self, purpose: str) -> Step | None:
        """Return the first step for a purpose; None if there is none."""
        return next((step for step in self.steps if step.purpose == purpose), None)

    @property
    def supports_step(self) -> Step | None:
        """The step for the supports of one question at one level; None if none are released."""
        step = self.step("supports")
        if step is None:
            return None
        return step.divided_by(self.target.questions * self.target.levels)

    def noise(self, count: int) -> SupportNoise | None:
        """Return the noise on each of `count` supports, >= 1; None if none are released."""
        step = self.supports_step
        return None if step is None else noise_of(step, count, joint=self.joint_noise)

    def half_width(self, count: int) -> int:
        """Return how far off each of `count` supports is with 95 % probability, in units.

        It is 0 if none are released.
        """
        noise = self.noise(count)
        return 0 if noise is None else noise.half_width

    def to_dict(self) -> dict[str, object]:
        """Return plain values: what a dry run prints as JSON."""
        return {
            "epsilon": float(self.cost.epsilon),
            "delta": float(self.cost.delta),
            "names_delta": float(Exact(self.names_delta)),
            "composition": str(self.composition),
            "zcdp": {"rho": float(self.zcdp.rho), "delta": float(self.zcdp.delta)},
            "look": self.look and self.look.to_dict(),
            "steps": [
                {**step.to_dict(), "half_width": noise and noise.half_width}
                for step, noise in zip(self.steps, map(self.widest_noise, self.steps), strict=True)
            ],
        }

    def widest_noise(self, step: Step) -> SupportNoise | None:
        """Return the noise on each number of a step, if as many as possible are released.

        Fewer supports have less noise. Returns None for a step that releases no numbers.
        """
        if step.purpose == "supports":
            return self.noise(self.target.most_supports)
        if step.purpose == "look" and self.look is not None:
            return self.look.noise(step)
        return noise_of(step, 1) if step.purpose == "count" else None

    @property
    def top_k_runs(self) -> list[TopK]:
        """The selections that pick itemsets one by one: all but levelwise."""
        return [selection.run for selection in self.selections if isinstance(selection.run, TopK)]

    @property
    def shortfall(self) -> int | None:
        """The largest shortfall of its selections; None if one of them has none."""
        count = len(self.selections)
        largest = None
        for selection in self.selections:
            shortfall = selection.shortfall(count)
            if shortfall is None:
                return None
            largest = max(largest or 0, shortfall)
        return largest
