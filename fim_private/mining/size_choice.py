"""The size of itemsets, where it is left to a private choice among several: ``size="auto:2-4"``.

Wanted is the largest size of which as many itemsets as are asked for will probably come out. Whether they will follows
from the *margin* m of a size: the support of the last of them, by rank, less the support that they need, which is
public. Margins fall from size to size, so the size wanted is where they change their sign, and its score is

    s(r) = min(m(r), -m(next size)),

without the first of the two for the smallest size, and without the second for the largest: it is above 0 there, and
below 0 for all others. The exponential mechanism chooses by it (docs/privacy.md, Theorem 27), for a part of the budget;
itemsets of the chosen size are released with the rest. (The highest margin itself would be no use: it is that of the
smallest size.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

from fim_private.counting.source import SupportSource
from fim_private.dp.accounting import root_below
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost
from fim_private.dp.parameters import EPSILON_RANGE, Neighbors
from fim_private.dp.randomness import Randomness
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms import Exponential
from fim_private.mechanisms.exponential_weights import top
from fim_private.mining.budget import allocation_of
from fim_private.mining.budget_share import Share
from fim_private.mining.engines import Opened
from fim_private.mining.needed_support import needed_support
from fim_private.mining.one_release import Job
from fim_private.mining.options import MiningOptions, checked_options
from fim_private.mining.release import Release
from fim_private.mining.sizes import AUTO_SIZE, sizes_to_choose_from
from fim_private.selecting import choose_index

# The part of the budget that chooses the size. Of 1/20 to 3/10 it is that by which most came out, or nearly, on
# baskets of four data sets (benchmarks/utility/size_choice.py).
PART = Fraction(1, 10)


def request_of(*, size: Any, by: str | None, **asked: Any) -> MiningOptions:
    """Return the options of `mine`, checked; where the size is to be chosen, with what is asked for at each.

    by: the column of segments. The others: as checked_options takes them.
    Raises ParameterError and DataError as that does, for each of the sizes; and for what does not go with a choice:
    levelwise neither, for it finds more where all sizes are asked for (benchmarks/utility/size_choice.py).
    """
    sizes = sizes_to_choose_from(size)
    if sizes is None:
        return checked_options(size=size, **asked)
    for name, given in (("union", asked["union"]), ("min_support", asked["min_support"] is not None), ("by", by)):
        if given:
            raise ParameterError(
                f"{parameter(name)} does not go with a {parameter('size')} that is chosen ({AUTO_SIZE}); name the "
                "size, or sizes such as 2-4"
            )
    each = [checked_options(size=one, **asked) for one in sizes]
    if composed := next((one.mechanism.name for one in each if one.mechanism.composed), None):
        raise ParameterError(
            f"{composed} finds more if {parameter('size')} is {sizes[0]}-{sizes[-1]}, all of which it counts in one "
            f"run: give that, without {AUTO_SIZE}, or choose for one itemset, or for {parameter('mechanism')} "
            "limited-domain"
        )
    return replace(each[0], sizes=sizes, ways=tuple(map(_with_what_is_left, each)))


def _with_what_is_left(options: MiningOptions) -> MiningOptions:
    """Return options with the part of the budget that does not choose the size."""
    epsilon, rho = (None if whole is None else whole * (1 - PART) for whole in (options.epsilon, options.rho))
    return replace(options, epsilon=epsilon, rho=rho)


def job_of(options: MiningOptions, randomness: Randomness) -> Job | SizeChoice:
    """Return what is done with purchases, decided before they are read.

    Raises ParameterError where the budget is too small, for a mechanism that lacks something, and, where the size is to
    be chosen, if no support is known to be enough.
    """
    if not options.ways:
        return Job(options, allocation_of(options), randomness)
    mechanism = chooser(options)
    jobs = tuple(Job(way, allocation_of(way), randomness) for way in options.ways)
    needs = [needed_support(way) for way in options.ways]
    known = tuple(need for need in needs if need is not None)
    if len(known) < len(needs):
        raise ParameterError(
            f"{parameter('size')} cannot be chosen ({AUTO_SIZE}) where no support is known to be enough for an itemset "
            "to come out; name the size, or raise the budget"
        )
    return SizeChoice(options, jobs, known, mechanism, randomness)


def chooser(options: MiningOptions) -> Exponential:
    """Return the mechanism that chooses the size: of ε a tenth, of ρ what a tenth of it pays for, √(8ρ/10).

    Scores move in both directions whatever the neighbours are, so its constants are those of replace-one.
    """
    name, least = "epsilon", Fraction(repr(EPSILON_RANGE[0]))
    if options.rho is not None:
        name, epsilon = "rho", root_below(8 * options.rho * PART)
    else:
        assert options.epsilon is not None
        epsilon = options.epsilon * PART
    if epsilon < least:
        raise ParameterError(f"{parameter(name)} leaves next to nothing to choose {parameter('size')} with; raise it")
    return Exponential(epsilon, Neighbors.REPLACE_ONE)


def size_scores(margins: Sequence[int]) -> list[int]:
    """Return how well each size is the largest whose margin suffices: (k,), for (k,) margins of ascending sizes, k > 1.

    If no margin moves by more than 1, no score does.

    >>> size_scores([700, 40, -25])
    [-40, 25, -25]
    """
    last = len(margins) - 1
    return [
        min(([margin] if place else []) + ([-margins[place + 1]] if place < last else []))
        for place, margin in enumerate(margins)
    ]


@dataclass(frozen=True)
class SizeChoice:
    """A private choice of a size, and what is done then: a Job for each, with what of the budget is left.

    needs: the support, in units, that itemsets need to come out, for each size.
    """

    options: MiningOptions
    jobs: tuple[Job, ...]
    needs: tuple[int, ...]
    mechanism: Exponential
    randomness: Randomness

    @property
    def concentrated(self) -> ZcdpCost:
        """What a release spends in zCDP, whichever size it is: the choice ε₀²/8 (Theorem 8), and the most of a job."""
        each = [job.concentrated for job in self.jobs]
        if self.options.rho is not None:
            return ZcdpCost(self.options.rho, max(one.delta for one in each))
        chosen = Fraction(self.mechanism.cost.epsilon) ** 2 / 8
        return ZcdpCost(chosen + max(one.rho for one in each), max(one.delta for one in each))

    @property
    def zcdp(self) -> ZcdpCost | None:
        """The same as a release tells it, where the budget is a ρ; None elsewhere."""
        return None if self.options.rho is None else self.concentrated

    @property
    def cost(self) -> PrivacyCost:
        """What a release spends, whichever size it is."""
        each = [job.cost for job in self.jobs]
        first = Fraction(self.mechanism.cost.epsilon)
        added = PrivacyCost(first + max(one.epsilon for one in each), max(one.delta for one in each))
        if (spent := self.zcdp) is None:
            return added
        converted = self.options.budget.cost(Fraction(spent.delta), normal=False)
        return min(added, converted, key=lambda cost: (cost.epsilon, cost.delta))

    @property
    def share(self) -> Share:
        """The part of the budget that chooses."""
        if self.options.rho is not None:
            return Share("size", self.options.sizes, PART, rho=Exact(self.options.rho * PART))
        return Share("size", self.options.sizes, PART, self.mechanism.cost.epsilon, Exact(0))

    def margins(self, source: SupportSource) -> list[int]:
        """Return by how much the last itemset wanted, by rank, has more support than it needs: (k,), one for each size.

        As much as 1/ε₀ units of it are left out, so that a size which is next to too large is seldom chosen. A unit
        moves each by 1 at most, since it moves each support so.
        """
        spare = ceil(1 / Fraction(self.mechanism.cost.epsilon))
        if self.options.max_basket is not None:
            source = source.capped(self.options.max_basket, self.options.max_baskets or 1)
        supports = [
            top(source.spectrum(job.options.sizes, job.options.counted_universe), self.options.top - 1)[1]
            for job in self.jobs
        ]
        return [support - need - spare for support, need in zip(supports, self.needs, strict=True)]

    def chosen(self, margins: Sequence[int]) -> Job:
        """Return what is done at the size that is chosen. margins: (k,), one for each size."""
        place = choose_index(size_scores(margins), self.mechanism, self.randomness)
        assert place is not None  # over a public list nothing abstains
        return self.jobs[place]

    def release(self, opened: Opened) -> Release:
        """Return what comes out at the size that is chosen. Raises WorkLimitError where counting is out of reach."""
        job = self.chosen(self.margins(opened.source))
        made = job.release(opened)
        shares = (self.share, *(replace(one, fraction=one.fraction * (1 - PART)) for one in made.shares))
        # What is advised is for that size, and then all of the budget is for its itemsets.
        request = replace(job.options, epsilon=self.options.epsilon, rho=self.options.rho, ways=self.options.ways)
        return replace(
            made, cost=self.cost, zcdp=self.zcdp, shares=shares, chosen_from=self.options.sizes, request=request
        )
