"""The exact distribution of a release by picks over a few named items, with noise on supports.

Written from docs/privacy.md (equation 7, Theorems 5 to 12, "Noisy supports"), without the package.
A `Plan` holds what is allocated before the data is read; `release_distribution` gives the
probability of each sequence of itemsets, and `divergence` the exact δ of whole releases, noise
included, between two data sets. Equal supports are equally likely, and picked without replacement.
All probabilities are Decimals, but for the search of the large margin, which is good to 1e-13.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import accumulate, combinations, combinations_with_replacement, product
from typing import Any

import oracles
import selection_oracles
from oracles import decimal
from selection_oracles import abstention_multiplicity

PRECISION = 40
# What a distribution may be wrong by in all: doubles in one of the oracles, and noise cut where
# less than this is left.
ERROR = Decimal("1e-12")
_TAIL = Decimal("1e-25")

Itemset = tuple[str, ...]
Supports = Mapping[Itemset, int]
Picked = tuple[Itemset | None, ...]
Distribution = dict[Picked, Decimal]


# -------------------- what is allocated


@dataclass(frozen=True)
class Picks:
    """One selection. epsilon, delta: what its mechanism is run with, for each pick.

    known: whether every itemset has a name, those without support too. units: the most itemsets
    that one unit may support, None without such a limit. bottom_factor: multiplies the weight of ⊥,
    for mutants.
    """

    mechanism: str
    sizes: tuple[int, ...]
    count: int
    epsilon: Fraction
    delta: Fraction
    neighbors: oracles.Neighbors
    known: bool
    max_rank: int = 0
    units: int | None = None
    bottom_factor: Fraction = Fraction(1)

    @property
    def offset(self) -> int:
        """How far above the next support ⊥ weighs; also what ε is divided by: 1 or 2."""
        return 1 if self.neighbors == "add-remove" else 2


@dataclass(frozen=True)
class Noise:
    """Noise on each of some supports.

    kind: discrete "laplace", of which the parameter is the scale; or discrete "gaussian", or
    "normal" that is rounded, of which it is σ²; or two "normals", of which it is b², of as many
    supports as count, and of_units is a².
    half_width: of the interval that is told of a support, in steps of the grid.
    """

    kind: str
    parameter: Fraction
    half_width: int = 0
    of_units: Fraction | None = None
    count: int = 1

    @property
    def steps(self) -> int:
        """How many steps of the grid make a unit."""
        return 1 if self.of_units is None else 2

    @property
    def mu_squared(self) -> Fraction:
        """Of two normals: how far neighbours are apart, one of whom has a unit more."""
        assert self.of_units is not None
        return 1 / self.of_units + self.count / (4 * self.parameter)

    def times(self, factor: Fraction) -> Noise:
        """The same with a scale that is so many times as large."""
        squared = factor * factor
        of_units = None if self.of_units is None else self.of_units * squared
        scaled = self.parameter * (squared if self.is_squared else factor)
        return replace(self, parameter=scaled, of_units=of_units)

    def noisy(self, supports: Sequence[int]) -> Iterator[tuple[list[int], float]]:
        """Each list of noisy supports, in steps of the grid, with its probability."""
        own, common = self, {0: Decimal(1)}
        if self.of_units is not None:
            own = Noise("normal", 4 * self.parameter)
            common = Noise("normal", self.of_units).chances()
        chances = {z: float(p) for z, p in own.chances().items() if p > 1e-14}
        for shift, part in common.items():
            for values in product(chances, repeat=len(supports)) if part > 1e-14 else ():
                both = zip(supports, values, strict=True)
                noisy = [self.steps * support + shift + z for support, z in both]
                yield noisy, float(part) * math.prod(chances[z] for z in values)

    @property
    def is_squared(self) -> bool:
        """Whether the parameter is the square of a scale."""
        return self.kind != "laplace"

    def excess(self, moved: int, ratio: Decimal) -> Decimal:
        """Σ max(0, P(z) - ratio Q(z)) over all values z, where that many of the supports are one
        apart in P and Q.

        Values of equal P/Q are taken together. Discrete Laplace has two, e^{1/b} and e^{-1/b}, for
        each support. The discrete Gaussian has one for each sum of the values, on which P/Q falls
        as it grows.
        """
        if self.of_units is not None:
            # Of the normals before they are rounded: a bound. They move whatever the unit holds.
            return _two_normals_excess(self.mu_squared, ratio)
        if not moved:
            return max(Decimal(0), 1 - ratio)
        if self.kind == "laplace":
            likely = 1 / (1 + decimal(-1 / self.parameter).exp())
            cells = [
                math.comb(moved, k)
                * (
                    likely**k * (1 - likely) ** (moved - k)
                    - ratio * likely ** (moved - k) * (1 - likely) ** k
                )
                for k in range(moved + 1)
            ]
            return sum((cell for cell in cells if cell > 0), Decimal(0))
        if self.kind == "normal":
            return _normal_excess(self.parameter, moved, ratio) + moved * _TAIL
        first, below, missing = _gaussian_sums(self.parameter, moved)
        edge = Decimal(moved) / 2 - decimal(self.parameter) * ratio.ln()  # P > ratio Q below it
        last = int(edge.to_integral_value(rounding=ROUND_CEILING)) - 1

        def up_to(value: int) -> Decimal:
            return below[min(max(value - first + 1, 0), len(below) - 1)]

        return up_to(last) - ratio * up_to(last - moved) + missing

    def ratios(self) -> list[tuple[Decimal, Decimal]]:
        """P and Q/P of all values of one noise, Q being P one apart; equal Q/P together."""
        if self.kind == "laplace":
            likely = 1 / (1 + decimal(-1 / self.parameter).exp())
            return [(likely, (1 - likely) / likely), (1 - likely, likely / (1 - likely))]
        chances = self.chances()
        return [(p, chances.get(z - 1, Decimal(0)) / p) for z, p in chances.items()]

    def chances(self) -> dict[int, Decimal]:
        """The probability of each value of one noise, without a tail of less than 1e-25."""
        if self.kind == "normal":
            return _normal_chances(self.parameter)
        with localcontext(prec=PRECISION):
            rate = 1 / decimal(self.parameter)
            ratio = (-rate / (2 if self.is_squared else 1)).exp()
            weights = [Decimal(1)]
            while weights[-1] > _TAIL * (1 - ratio):
                z = len(weights)
                weights.append(ratio ** (z * z if self.is_squared else z))
            total = 2 * sum(weights) - 1
            return {z: weights[abs(z)] / total for z in range(1 - len(weights), len(weights))}


@cache
def _normal_chances(sigma2: Fraction) -> dict[int, Decimal]:
    """P(⌊σZ + 1/2⌋ = z), without a tail of less than 1e-25."""
    with localcontext(prec=PRECISION):
        sigma = decimal(sigma2).sqrt()
        tails = [Decimal(1) / 2]  # beyond 0, 1/2, 3/2, ...
        while tails[-1] > _TAIL:
            edge = Fraction((len(tails) - Decimal("0.5")) / sigma)
            tails.append(oracles.normal_tail(edge) if edge <= 12 else Decimal(0))  # less than 1e-32
        positive = {z: tails[z] - tails[z + 1] for z in range(1, len(tails) - 1)}
        return {-z: positive[z] for z in reversed(positive)} | {0: 1 - 2 * tails[1]} | positive


def _normal_excess(sigma2: Fraction, moved: int, ratio: Decimal) -> Decimal:
    """As Noise.excess without the tails: two noises by a table, the others value by value."""
    falling, likely, unlikely = _normal_table(sigma2, min(moved, 2))
    rest = _normal_cells(sigma2, moved - 2) if moved > 2 else [(Decimal(1), Decimal(1))]
    excess = Decimal(0)
    for p, q in rest:
        place = bisect_left(falling, -ratio * q / p)  # so many values have P > ratio Q
        excess += p * likely[place] - ratio * q * unlikely[place]
    return excess


def _two_normals_excess(mu_squared: Fraction, ratio: Decimal) -> Decimal:
    """Q(a) - ratio Q(a + μ), with a = ln(ratio)/μ - μ/2."""
    mu = decimal(mu_squared).sqrt()

    def tail(x: Decimal) -> Decimal:
        if x < 0:
            return 1 - tail(-x)
        return oracles.normal_tail(Fraction(x)) if x <= 12 else Decimal(0)  # less than 1e-32

    near = ratio.ln() / mu - mu / 2
    return tail(near) - ratio * tail(near + mu) + _TAIL


@cache
def _normal_cells(sigma2: Fraction, moved: int) -> list[tuple[Decimal, Decimal]]:
    """P and Q of all values of so many noises, Q being P one apart, in whatever order."""
    chances = list(_normal_chances(sigma2).values())
    one = list(zip(chances, [chances[0] * _TAIL, *chances], strict=False))
    cells = []
    for values in combinations_with_replacement(one, moved):
        orders = math.factorial(moved) // math.prod(map(math.factorial, Counter(values).values()))
        p, q = (math.prod(value[side] for value in values) for side in (0, 1))
        cells.append((orders * p, orders * q))
    return cells  # type: ignore[return-value]


@cache
def _normal_table(sigma2: Fraction, moved: int) -> tuple[list[Decimal], ...]:
    """-P/Q of all values of so many noises, ascending; the sums of P, and of Q, before each."""
    ratios = ((-p / q, p, q) for p, q in _normal_cells(sigma2, moved))
    cells = sorted(ratios, key=lambda cell: cell[0])
    likely = [Decimal(0), *accumulate(p for _, p, _ in cells)]
    unlikely = [Decimal(0), *accumulate(q for _, _, q in cells)]
    return [edge for edge, _, _ in cells], likely, unlikely


@cache
def _gaussian_sums(sigma2: Fraction, moved: int) -> tuple[int, list[Decimal], Decimal]:
    """The least sum of so many noises, P(sum < each value from there), and what is left out."""
    one = Noise("gaussian", sigma2).chances()
    sums = {0: Decimal(1)}
    for _ in range(moved):
        longer: Counter[int] = Counter()
        for value, chance in sums.items():
            for z, part in one.items():
                longer[value + z] += chance * part  # type: ignore[assignment]
        sums = dict(longer)  # type: ignore[arg-type]
    below = [Decimal(0)]
    for value in sorted(sums):
        below.append(below[-1] + sums[value])
    return min(sums), below, moved * _TAIL


@dataclass(frozen=True)
class Plan:
    """All that is allocated. noises: that of n released supports, at n - 1; empty where none are
    released.

    count: of the number of units; None where it is not released, or public.
    """

    selections: tuple[Picks, ...]
    noises: tuple[Noise, ...]
    epsilon: Fraction
    delta: Fraction
    count: Noise | None = None

    def excess(self, count: int, moved: int, ratio: Decimal) -> Decimal:
        """Σ max(0, P - ratio Q) over all that is said of so many itemsets, and of the units."""
        units = [(Decimal(1), Decimal(1))] if self.count is None else self.count.ratios()
        two = bool(self.noises) and self.noises[0].of_units is not None
        # Two normals spend as much where there is nothing but the number of units.
        supports = (
            self.noises[max(count, 1) - 1].excess
            if moved or two
            else lambda _, ratio: max(Decimal(0), 1 - ratio)
        )
        rest = (mass * (supports(moved, ratio * factor) if factor else 1) for mass, factor in units)
        return sum(rest, Decimal(0))


# -------------------- the distribution


def release_distribution(plan: Plan, supports: Supports) -> Distribution:
    """P(each sequence of itemsets released), all selections one after the other."""
    distribution: Distribution = {(): Decimal(1)}
    with localcontext(prec=PRECISION):
        for selection in plan.selections:
            joined: defaultdict[Picked, Decimal] = defaultdict(Decimal)
            own = selection_law(selection, supports).items()
            for (before, chance), (more, part) in product(distribution.items(), own):
                joined[before + more] += chance * part
            distribution = dict(joined)
    return distribution


def selection_law(selection: Picks, supports: Supports) -> Distribution:
    candidates = {
        itemset: support
        for itemset, support in supports.items()
        if len(itemset) in selection.sizes and (support or selection.known)
    }
    if selection.mechanism in ("exponential", "choosing", "limited-domain"):
        return _one_pass(selection, candidates)
    return _runs(selection, candidates, selection.count)


def _one_pass(picks: Picks, candidates: Supports) -> Distribution:
    """Theorem 8: by weight among those left, until ⊥, which one mechanism reports as unnamed."""
    rate, factor = decimal(picks.epsilon / picks.offset), decimal(picks.bottom_factor)
    weights = {itemset: (rate * support).exp() for itemset, support in candidates.items()}

    def bottom(new: int, following: int, zeros: int = 0) -> Decimal:
        """The weight of ⊥: B of equation (7), of so many itemsets."""
        many = abstention_multiplicity(picks.epsilon, picks.delta, new, picks.neighbors)
        return (many + zeros) * (rate * (following + picks.offset)).exp() * factor

    if picks.mechanism == "limited-domain":
        distribution: defaultdict[Picked, Decimal] = defaultdict(Decimal)
        following, tops = _tops(candidates, picks.max_rank)
        new = min(picks.max_rank, picks.units or picks.max_rank)
        weight = bottom(new, following, new if not picks.known and not following else 0)
        weight = Decimal(0) if picks.known and len(candidates) <= picks.max_rank else weight
        for top in tops:
            for picked, chance in _peeled({i: weights[i] for i in top}, weight, picks.count):
                distribution[picked] += chance / len(tops)
        return dict(distribution)
    if picks.known:
        return dict(_peeled(weights, Decimal(0), picks.count))
    assert picks.units is not None
    ending: Picked = (None,) if picks.mechanism == "exponential" else ()
    return dict(_peeled(weights, bottom(picks.units, 0), picks.count, ending))


def _tops(candidates: Supports, rank: int) -> tuple[int, list[tuple[Itemset, ...]]]:
    """The support next below the top, and all that it may be: ties are in random order."""
    ordered = sorted(candidates.values(), reverse=True)
    if len(ordered) <= rank:
        return 0, [tuple(candidates)]
    edge = ordered[rank - 1]
    above = tuple(itemset for itemset, support in candidates.items() if support > edge)
    tied = [itemset for itemset, support in candidates.items() if support == edge]
    return ordered[rank], [above + rest for rest in combinations(tied, rank - len(above))]


def _peeled(weights: Any, bottom: Decimal, count: int, ending: Picked = ()) -> Iterator[Any]:
    """Each sequence of picks with its probability; `ending` is what is reported in place of ⊥."""
    total = sum(weights.values(), bottom)
    if not count or not total:
        yield (), Decimal(1)
        return
    if bottom:
        yield ending, bottom / total
    for itemset, weight in weights.items():
        left = {other: w for other, w in weights.items() if other != itemset}
        for picked, chance in _peeled(left, bottom, count - 1, ending):
            yield (itemset, *picked), weight / total * chance


def _runs(picks: Picks, candidates: Supports, runs: int) -> Distribution:
    """The mechanism run again and again, on what is left; a run that abstains releases nothing."""
    if not runs or (picks.known and not candidates):
        return {(): Decimal(1)}
    distribution: defaultdict[Picked, Decimal] = defaultdict(Decimal)
    chances, abstain = _single(picks, tuple(sorted(candidates.values(), reverse=True)))
    for picked, chance in _runs(picks, candidates, runs - 1).items() if abstain else ():
        distribution[picked] += abstain * chance
    for itemset, support in candidates.items():
        left = {other: c for other, c in candidates.items() if other != itemset}
        for more, chance in _runs(picks, left, runs - 1).items() if chances[support] else ():
            distribution[(itemset, *more)] += chances[support] * chance
    return dict(distribution)


@cache
def _single(picks: Picks, supports: tuple[int, ...]) -> tuple[dict[int, Decimal], Decimal]:
    """P(an itemset of each support) and P(⊥) of one run."""
    size = len(supports) if picks.known else None
    counts = dict(enumerate(supports))
    budget = picks.epsilon, picks.delta
    asked: dict[str, Any] = {"neighbors": picks.neighbors, "universe_size": size}
    if picks.mechanism == "large-margin":
        universe: Any = {"universe_size": size, "max_rank": picks.max_rank}
        levels, abstain = oracles.large_margin_distribution(supports, *budget, **universe)
        tied = Counter(supports)
        return {c: Decimal(levels[c]) / tied[c] for c in tied}, Decimal(abstain)
    if picks.mechanism == "permute-and-flip":
        exactly = selection_oracles.permute_and_flip_exact
        shares = exactly(counts, *budget, digits=PRECISION, **asked)
    elif picks.mechanism == "max-of-laplaces":
        shares = selection_oracles.max_of_laplaces_exact(counts, *budget, digits=18, **asked)
    elif picks.mechanism == "distance":
        asked["universe_size"] = None
        shares = selection_oracles.distance_exact(counts, *budget, **asked)
    else:
        assert picks.mechanism == "tight-margin", picks
        asked["split"] = split = Fraction(4, 100), Fraction(8, 100), Fraction(88, 100)
        asked["thresholds"] = lambda rank: _tight_threshold(picks, split, rank)
        asked |= {"max_rank": picks.max_rank, "digits": 18}
        shares = selection_oracles.tight_margin_exact(counts, *budget, **asked)
    return {c: shares[place] for place, c in counts.items()}, shares[None]


def _tight_threshold(picks: Picks, split: selection_oracles.Split, rank: int) -> int:
    """τ(ℓ) of equation (8), with the rates halved under replace-one."""
    with localcontext(prec=PRECISION):
        step, choice = (decimal(part * picks.epsilon / picks.offset) for part in split[1:])
        lead = (decimal(rank / picks.delta)).ln() / choice + Decimal(10 * (rank + 1)).ln() / step
        return 1 + int(lead.to_integral_value(rounding=ROUND_CEILING))


# -------------------- the promise


def divergence(
    plan: Plan, one: Supports, other: Supports, own: Distribution, others: Distribution
) -> Decimal:
    """The least δ with P(release of one in O) <= e^ε P(release of the other in O) + δ for every set
    O of releases.

    A release is the sequence of itemsets and, where the plan says so, the noisy support of each,
    and the noisy number of units: what is printed is made of these alone. own, others:
    release_distribution of the two.
    """
    with localcontext(prec=PRECISION):
        factor = decimal(plan.epsilon).exp()
        # the names of items make no difference
        alike: Counter[tuple[Decimal, Decimal, int, int]] = Counter()
        for picked, chance in own.items():
            named = [itemset for itemset in picked if itemset is not None] if plan.noises else []
            moved = sum(abs(one[itemset] - other[itemset]) for itemset in named)
            assert moved <= len(named), "no neighbours"
            alike[chance, others.get(picked, Decimal(0)), len(named), moved] += 1
        total = Decimal(0)
        for (chance, other_chance, count, moved), many in alike.items():
            if not other_chance:
                total += many * chance
            elif chance:
                total += many * chance * plan.excess(count, moved, factor * other_chance / chance)
    return total


# -------------------- what is printed


def consistent(itemsets: Iterable[Itemset], values: Iterable[int], steps: int = 1) -> list[Any]:
    """The least noisy support among subsets, and the estimate printed: the mean of that and the
    greatest of supersets.

    The estimate is in units, not below 0; all else in steps of a grid.
    """
    rows = [(set(itemset), value) for itemset, value in zip(itemsets, values, strict=True)]
    ends = [(min(w for t, w in rows if t <= s), max(w for t, w in rows if t >= s)) for s, _ in rows]
    return [(low, max(0, round(Fraction((low + high) // 2, steps)))) for low, high in ends]
