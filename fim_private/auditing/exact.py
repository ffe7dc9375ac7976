"""Exact output distributions of mechanisms and their stages on hard neighbours, to sixty digits.

Whole and rational numbers that a mechanism computes are taken from it, so that a broken one is
audited as it is. The rest is done here once more. Infinite sums are in closed form. NUMERICAL_ERROR
bounds how far a divergence is off.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, cached_property, lru_cache, reduce
from itertools import pairwise, product
from typing import Any

from fim_private.dp.neighbors import Neighbors
from fim_private.dp.noise import Randomness, distinct_integers
from fim_private.mechanisms import (
    Distance,
    LargeMargin,
    MaxOfLaplaces,
    Mechanism,
    PermuteAndFlip,
    TightMargin,
    margins,
)
from fim_private.mechanisms.base import universe_levels
from fim_private.mechanisms.exponential import Candidate, ExponentialWeights
from fim_private.mechanisms.margins import OneSidedSteps, Search, StepNoise
from fim_private.mechanisms.noisy_max import leader
from fim_private.mechanisms.registry import UniverseNeed, spec_of
from fim_private.spectrum import Level, SupportSpectrum

DIGITS = Context(prec=60, Emin=-999_999, Emax=999_999)
# For factors of products that are no probabilities themselves.
_WIDE = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)
NUMERICAL_ERROR = 1e-30

# The probability of each stopping rank, None for none; and of each level, all its itemsets
# together, None to abstain.
Stops = dict[int | None, Decimal]
Shares = Stops
Counts = dict[str, int]  # named itemsets with their supports in units
Pair = tuple[Counts, Counts]
Outcomes = dict[Any, Decimal]  # the probability of each
Spent = Callable[[Counts, Counts], Decimal]

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")
_RAISED = ("a", "b", "d", "bd", "abcdefgh", "e", "efgh", "cdef")
_LOWERED = ("a", "ab", "bcd", "efgh")
# Stands for infinity where a finite number is needed that a float can hold.
_UNBOUNDED = Decimal("1e300")
# Stands for infinity where an integer is needed: no noise comes near, and e^-x is 0 there.
_FAR = 1 << 200
_ZERO, _ONE = Decimal(0), Decimal(1)


def number(x: Fraction) -> Decimal:
    """Return x as a decimal, to the digits of the current context."""
    return Decimal(x.numerator) / Decimal(x.denominator)


@lru_cache(maxsize=1 << 18)
def decay(rate: Fraction, distance: int) -> Decimal:
    """Return e^{-rate * distance}, to 60 digits."""
    with localcontext(_WIDE):
        return (-number(rate * distance)).exp()


def laplace_tail(scale: Fraction, k: int) -> Decimal:
    """Return P(Z >= k) for discrete Laplace noise of that scale > 0, in the current context.

    Source: docs/privacy.md, (1).
    """
    if k <= 0:
        return 1 - laplace_tail(scale, 1 - k)
    return decay(1 / scale, k) / (1 + decay(1 / scale, 1))


def hockey_stick(p: Mapping[Any, Decimal], q: Mapping[Any, Decimal], epsilon: Fraction) -> Decimal:
    """Return Σ max(0, p(o) - e^ε q(o)), the hockey-stick divergence.

    It is the least δ for which p is (ε, δ)-close to q.
    """
    with localcontext(DIGITS):
        growth = number(epsilon).exp()
        return sum(
            (max(_ZERO, chance - growth * q.get(o, _ZERO)) for o, chance in p.items()), _ZERO
        )


# On a stretch of integers x on which every slack keeps its sign, each tail of discrete Laplace or
# geometric noise is a number, or an exponential of x, or one less the other. Products of them are
# finite sums of exponentials C e^{-u g x}, and the sum of each over the stretch is a geometric one:
# nothing is cut off, however wide the noise is. Where a uniform number t orders what is equal, a
# term is C t^k e^{-u g x}, integrated over t from 0 to 1. Here such a sum is C by (g, k), whole
# numbers, and u is a rate that all others are multiples of.
Terms = dict[tuple[int, int], Decimal]


def stretches(bounds: Iterable[int], end: int = _FAR) -> list[range]:
    """Return all integers below the end, in stretches that begin at the bounds."""
    inside = sorted({bound for bound in bounds if bound < end})
    return [range(first, following) for first, following in pairwise([-_FAR, *inside, end])]


def times(terms: Terms, factor: Terms) -> Terms:
    """Return the product of two sums of exponentials."""
    result: Terms = defaultdict(Decimal)
    for (slope, power), coefficient in factor.items():
        for (term_slope, term_power), term_coefficient in terms.items():
            result[slope + term_slope, power + term_power] += coefficient * term_coefficient
    return result


def total(terms: Terms, unit: Fraction, stretch: range) -> Decimal:
    """Return the sum of the integrals over a stretch; all terms decay where it has no end."""
    result = _ZERO
    for (slope, power), coefficient in terms.items():
        series = Decimal(stretch.stop - stretch.start)
        if slope:
            change = decay(unit, slope * stretch.start) - decay(unit, slope * stretch.stop)
            series = change / (1 - decay(unit, slope))
        result += coefficient * series / (power + 1)
    return result


def _of_others(
    factors: Mapping[int, Terms], counts: Mapping[int, int], level: int, start: Terms
) -> Terms:
    """Return the product of a start and the factors of all itemsets but one of a level."""
    copies = Counter(counts) - Counter([level])
    return reduce(times, map(factors.__getitem__, copies.elements()), start)


def _highest(counts: dict[int, int], scale: Fraction) -> Shares:
    """Return the probability of each level to be that of the highest noisy support.

    A uniform number orders equal noisy supports. An itemset is below noisy support v and number t
    with probability F(t) = P(Z < v + distance) + t P(Z = v + distance), with its distance from
    c(1): sum over v the integral over t of m P(Z = …) / F Π F^m. On a stretch of v on which no v +
    distance changes its sign, all of these are sums of exponentials of v.
    """
    rate, highest = 1 / scale, max(counts)
    shares: Shares = {None: _ZERO} | dict.fromkeys(counts, _ZERO)
    with localcontext(_WIDE):
        falls = decay(rate, 1)
        for stretch in stretches(level - highest for level in counts):
            below: dict[int, Terms] = {}
            equal: dict[int, Terms] = {}
            for level in counts:
                side = -1 if stretch.start < level - highest else 1
                tail = decay(rate, side * (highest - level)) / (1 + falls)
                equal[level] = {(side, 0): tail * (1 - falls)}
                below[level] = {(side, 1): tail * (1 - falls), (side, 0): tail * falls}
                if side > 0:
                    below[level] |= {(0, 0): _ONE, (1, 0): -tail}
            for level, m in counts.items():
                terms = _of_others(below, counts, level, equal[level])
                shares[level] += m * total(terms, rate, stretch)
    return shares


# Given the noise X that all steps of a search share, the steps are independent (docs/privacy.md,
# "Exact distribution"): step ℓ stops with a probability that depends on its slack c(1) - c(ℓ+1) -
# T(ℓ) plus X alone. On a stretch of values of X on which no slack plus X changes its sign, these
# and the probabilities of X are exponentials of X.


def ranks(search: Search) -> Stops:
    """Return the probability of each stopping rank, and of None: no rank stops."""
    slacks = tuple(
        (rank, search.maximum - run.next_support - search.threshold(rank))
        for run in search.runs()
        for rank in range(run.first, run.last + 1)
    )
    return _stops(search.noise, slacks)


@lru_cache(maxsize=1 << 12)
def _stops(noise: StepNoise, slacks: tuple[tuple[int, int], ...]) -> Stops:
    with localcontext(_WIDE):
        stops: Stops = {rank: _ZERO for rank, _ in slacks} | {None: _ZERO}
        steps = _steps(noise)
        unit, step = steps.unit, steps.step
        for stretch in stretches((0, *(-slack for _, slack in slacks)), steps.end):
            alive = steps.shared_below_0 if stretch.start < 0 else steps.shared_from_0
            left = total(alive, unit, stretch)
            for rank, slack in slacks:
                if stretch.start < -slack:
                    chance = steps.stops * decay(unit, -step * slack)
                    stop = total(times(alive, {(-step, 0): chance}), unit, stretch)
                    alive = times(alive, {(0, 0): _ONE, (-step, 0): -chance})
                else:  # as likely as not it stops, so that no digits are lost
                    alive = times(alive, {(step, 0): steps.goes_on * decay(unit, step * slack)})
                    stop = left - total(alive, unit, stretch)
                stops[rank] += stop
                left -= stop
            stops[None] += total(alive, unit, stretch)
        return stops


@dataclass(frozen=True)
class _Steps:
    """The noise of a search as exponentials of X, the part of it that all steps share.

    Attributes:
        unit: The rate that all others are multiples of.
        step: The rate of a step's own noise, in units.
        shared_below_0: The probability of X where it is below 0.
        shared_from_0: The same from 0 on.
        stops: A step stops with probability stops * e^{unit step (slack + X)}, if slack + X < 0.
        goes_on: Otherwise it goes on with probability goes_on * e^{-unit step (slack + X)}.
        end: X is below this.
    """

    unit: Fraction
    step: int
    shared_below_0: Terms
    shared_from_0: Terms
    stops: Decimal
    goes_on: Decimal
    end: int


@lru_cache(maxsize=32)
def _steps(noise: StepNoise) -> _Steps:
    """Return the noise of a search.

    X = -G <= 0, and a step stops certainly from slack + X = 0 on; or X = Z - G, and each step has
    Laplace noise.
    """
    if isinstance(noise, OneSidedSteps):
        unit, (step, shared) = _multiples(noise.step_rate, noise.shared_rate)
        falling = {(-shared, 0): 1 - decay(unit, shared)}
        return _Steps(unit, step, falling, falling, _ONE, _ZERO, end=1)
    scales = noise.step_scale, noise.maximum_scale, noise.shared_scale
    unit, (step, maximum, shared) = _multiples(*(1 / scale for scale in scales))
    falls, a, b = (decay(unit, slope) for slope in (step, maximum, shared))
    # The convolution of two discrete Laplace distributions (docs/privacy.md, equation (6)).
    right = {
        (slope, 0): (1 - x) / (1 + x) * (1 - y) ** 2 / ((1 - x * y) * (1 - y / x))
        for slope, x, y in ((maximum, a, b), (shared, b, a))
    }
    left = {(-slope, 0): weight for (slope, _), weight in right.items()}
    return _Steps(unit, step, left, right, falls / (1 + falls), 1 / (1 + falls), _FAR)


def _multiples(*rates: Fraction) -> tuple[Fraction, list[int]]:
    """Return a unit rate, and how many units each of the rates is."""
    unit = Fraction(1, math.lcm(*(rate.denominator for rate in rates)))
    return unit, [int(rate / unit) for rate in rates]


def distribution(
    mechanism: Mechanism, levels: Sequence[Level], universe_size: int | None
) -> Shares:
    """Return the exact output distribution of a mechanism; TypeError for one that has none here.

    Args:
        mechanism: One of the registry.
        levels: (support, multiplicity), support >= 1 in units, descending.
        universe_size: None where it is not public.
    """
    spectrum = SupportSpectrum(levels, universe_size=universe_size)
    with localcontext(DIGITS):
        match mechanism:
            case LargeMargin():
                return _over_ranks(
                    ranks(mechanism.search(spectrum)), lambda rank: draw(mechanism, spectrum, rank)
                )
            case TightMargin():
                stops = {**ranks(mechanism.search(spectrum))}
                stops[mechanism.last_rank(spectrum)] = stops.pop(None)
                return _over_ranks(
                    stops, lambda rank: _weighed(mechanism.choice(rank or 1), spectrum)
                )
            case Distance():
                level, margin = leader(spectrum)
                if level is None or universe_size == 1:
                    return {None: _ZERO} | {level: _ONE}
                clears = laplace_tail(
                    mechanism.scale, mechanism.threshold + mechanism.sensitivity - margin + 1
                )
                return {level: clears, None: 1 - clears}
            case PermuteAndFlip():
                return _first_accepted(_universe(spectrum), mechanism.rate)
            case MaxOfLaplaces():
                return _highest(_universe(spectrum), mechanism.scale)
            case ExponentialWeights():
                shares = _weighed(mechanism, spectrum)
                # its level 0 is the unnamed outcome
                if spec_of(mechanism).universe is UniverseNeed.COUNTED:
                    shares[None] += shares.pop(0)
                return shares
    raise TypeError(f"no exact output distribution of {type(mechanism).__name__}")


def _universe(spectrum: SupportSpectrum) -> dict[int, int]:
    """Return the multiplicity of each support, 0 included if an itemset has it."""
    return {support: m for support, m in universe_levels(spectrum, "audited") if m}


def _softmax(candidates: Sequence[Candidate], rate: Fraction) -> Shares:
    """Return the probabilities of candidates with weights multiplicity * exp(rate * support)."""
    highest = max(candidate.support for candidate in candidates)
    weights: Shares = defaultdict(Decimal, {None: _ZERO})
    for candidate in candidates:
        weights[candidate.level] += candidate.multiplicity * decay(
            rate, highest - candidate.support
        )
    whole = sum(weights.values())
    return {level: weight / whole for level, weight in weights.items()}


def _weighed(mechanism: ExponentialWeights, spectrum: SupportSpectrum) -> Shares:
    return _softmax(mechanism.candidates(spectrum), mechanism.rate)


def _over_ranks(stops: Stops, at_rank: Callable[[int | None], Shares]) -> Shares:
    """Return the mixture of the distributions at the ranks at which a search may stop."""
    shares: Shares = defaultdict(Decimal, {None: _ZERO})
    for rank, chance in stops.items():
        for level, share in at_rank(rank).items():
            shares[level] += chance * share
    return shares


def draw(mechanism: LargeMargin, spectrum: SupportSpectrum, rank: int | None) -> Shares:
    """Return the distribution of the large margin's draw at a rank; None: no rank stopped."""
    last = rank or spectrum.universe_size
    if last is None:
        return {None: _ONE}
    return _softmax(
        mechanism.candidates(spectrum, last),
        mechanism.cost.epsilon * margins.SELECTION_RATE,
    )


def _first_accepted(counts: dict[int, int], rate: Fraction) -> Shares:
    """Return ∫ m p/(1 - pt) Π (1 - pt)^m over t in [0, 1] for each level (Theorem 9).

    The integrands are polynomials.
    """
    accepted = {level: decay(rate, max(counts) - level) for level in counts}
    waiting: dict[int, Terms] = {
        level: {(0, 0): _ONE, (0, 1): -chance} for level, chance in accepted.items()
    }
    shares: Shares = {None: _ZERO}
    for level, m in counts.items():
        terms = _of_others(waiting, counts, level, {(0, 0): accepted[level]})
        shares[level] = m * total(terms, rate, range(1))
    return shares


# Neighbouring data that mechanisms find hard: named itemsets with their supports, and what one unit
# does to them. The structured pairs are those on which selection mechanisms break: a unit whose
# itemsets are all new, ties across the cut, a leader that is tied with others and then lowered or
# raised, ranks that swap, empty data, a single itemset.


def structured_pairs(neighbors: str, scales: Sequence[int], most: int | None) -> Iterator[Pair]:
    """Return pairs of neighbours, in one direction each.

    Args:
        neighbors: The relation in which they are neighbours.
        scales: Supports, in units, with which a leader is released about as often as not.
        most: How many itemsets a unit supports at most. None stands for no limit.
    """
    pairs: dict[str, Pair] = {}  # each once
    for lead in (*scales, 0, 1, 2):
        # A leader, one or two runners-up, and one itemset just below them.
        for runner, ties in product((0, 1, lead // 2, max(lead - 1, 0), lead), (1, 2)):
            tied = dict.fromkeys(NAMES[1 : 1 + ties], runner)
            base = dict.fromkeys(NAMES, 0) | {"a": lead, **tied, "d": max(runner - 1, 0)}
            for raised, lowered in product(_RAISED, ("", *_LOWERED)):
                pair = changed(neighbors, base, raised[:most], lowered[:most])
                pairs[str(pair)] = pair
    return (pair for pair in pairs.values() if pair[0] != pair[1])


def changed(
    neighbors: str, base: Counts, raised: Collection[str], lowered: Collection[str]
) -> Pair:
    """Return data before and after a unit has the raised itemsets, and no longer the lowered ones.

    Only a unit that is replaced lowers any, and those it has had before.
    """
    if neighbors != Neighbors.REPLACE_ONE:
        lowered = ""
    before = {name: support + (name in lowered and not support) for name, support in base.items()}
    return before, {
        name: support + (name in raised) - (name in lowered) for name, support in before.items()
    }


def random_pairs(
    neighbors: str, scales: Sequence[int], most: int | None, trials: int, seed: int
) -> Iterator[Pair]:
    """Yield up to `trials` random pairs with supports near a few values: many tie or swap."""
    randomness = Randomness.seeded(seed)

    def one_of(choices: Sequence[int]) -> int:
        return choices[randomness.below(len(choices))]

    def some(least: int, largest: int) -> str:
        count = least + randomness.below(largest - least + 1)
        return "".join(NAMES[i] for i in distinct_integers(len(NAMES), count, randomness))[:most]

    centres = (0, 1, *scales, *(scale // 2 for scale in scales))
    for _ in range(trials):
        near = [one_of(centres) for _ in range(3)]
        base = {name: max(one_of(near) + one_of((-1, 0, 0, 1)), 0) for name in NAMES}
        raised = some(1, len(NAMES))
        lowered = some(0, 4) if neighbors == Neighbors.REPLACE_ONE else ""
        before, after = changed(neighbors, base, raised, lowered)
        if before != after:
            yield before, after


def _levels(counts: Counts) -> tuple[Level, ...]:
    """Return the levels (support, multiplicity) of itemsets, descending, without support 0."""
    return tuple(sorted(Counter(filter(None, counts.values())).items(), reverse=True))


@dataclass(frozen=True, eq=False)
class Setting:
    """A mechanism with small caps, and a universe.

    Attributes:
        mechanism: The mechanism, with its caps.
        universe: The size of the universe; None where it is unknown.
        words: Both in words.
    """

    mechanism: Mechanism
    universe: int | None
    words: str = ""

    @cached_property
    def shares(self) -> Callable[[tuple[Level, ...]], Shares]:
        """Returns the output distribution for some levels; each is computed once."""
        return cache(lambda levels: distribution(self.mechanism, levels, self.universe))

    def itemsets(self, counts: Counts) -> Outcomes:
        """Return the output distribution by name."""
        return self._named(self.shares(_levels(counts)), counts)

    def _named(self, shares: Shares, counts: Counts) -> Outcomes:
        """Return the probabilities by name: the itemsets of a level share its probability."""
        tied = list(counts.values())
        with localcontext(DIGITS):
            named = {
                name: shares[support] / tied.count(support)
                for name, support in counts.items()
                if support in shares and (support or self.universe)
            }
        return {**named, None: shares.get(None, _ZERO)}

    def _spectrum(self, counts: Counts) -> SupportSpectrum:
        return SupportSpectrum(_levels(counts), universe_size=self.universe)

    def stopping_rank(self, counts: Counts) -> Outcomes:
        """Return the distribution of the rank at which the search stops, None for none."""
        assert isinstance(self.mechanism, LargeMargin | TightMargin)
        return ranks(self.mechanism.search(self._spectrum(counts)))

    def bad_stop(self, first: Counts, second: Counts) -> Decimal:
        """Return the probability to stop without the margin that the draw relies on (Theorem 2)."""
        bad = (
            chance
            for rank, chance in self.stopping_rank(first).items()
            if rank is not None and not self._is_good(first, rank)
        )
        with localcontext(DIGITS):
            return sum(bad, _ZERO)

    def _is_good(self, counts: Counts, rank: int) -> bool:
        """Tell whether c(1) - c(ℓ+1) is above t(ℓ)."""
        supports = [*sorted(counts.values(), reverse=True), *[0] * rank]
        return supports[0] - supports[rank] > margin_certified(self.mechanism, rank)

    def good_draw(self, rank: int, epsilon: Fraction, first: Counts, second: Counts) -> Decimal:
        """Return the divergence of the draws at a rank good for the first, else 0 (Theorem 2)."""
        if not self._is_good(first, rank):
            return _ZERO
        return hockey_stick(self._drawn(first, rank), self._drawn(second, rank), epsilon)

    def drawn_by_both(self, rank: int, epsilon: Fraction, first: Counts, second: Counts) -> Decimal:
        """Return the divergence of the draws on itemsets that both name."""
        p, q = self._drawn(first, rank), self._drawn(second, rank)
        named_by_both = {name: p[name] for name in p if name in q and name is not None}
        return hockey_stick(named_by_both, q, epsilon)

    def _drawn(self, counts: Counts, rank: int) -> Outcomes:
        """Return the distribution, by name, of the large margin's draw at a rank."""
        assert isinstance(self.mechanism, LargeMargin)
        return self._named(draw(self.mechanism, self._spectrum(counts), rank), counts)

    def excess_range(self, epsilon: Fraction, first: Counts, second: Counts) -> Decimal:
        """Return by which factor beyond e^ε the odds of two outcomes change, less 1; 0 if they do
        not.

        Outcomes that only one of the pair has count as abstaining (docs/privacy.md, Theorem 8). Of
        itemsets tied at the rank cap, names decide the candidates, in both directions: the theorem
        is about each order, not their mixture.
        """
        orders = sorted(first), sorted(first, reverse=True)
        with localcontext(DIGITS):
            changes = [
                _change(self._in_order(first, order), self._in_order(second, order))
                for order in orders
            ]
            return max(_ZERO, max(changes) / number(epsilon).exp() - 1)

    def _in_order(self, counts: Counts, order: Sequence[str]) -> Outcomes:
        able = [name for name in order if counts[name] or self.universe]
        able.sort(key=lambda name: -counts[name])
        candidates = {
            name: counts[name] for name in able[: getattr(self.mechanism, "max_rank", None)]
        }
        return self._named(self.shares(_levels(counts)), candidates)


def _change(p: Outcomes, q: Outcomes) -> Decimal:
    """Return by what factor the odds of two outcomes change at most."""
    both = [name for name in p if name is not None and p[name] and q.get(name)]
    ratios = [p[name] / q[name] for name in both]
    # Whatever only one of them has counts as abstaining.
    before, after = (
        sum((chance for name, chance in outcomes.items() if name not in both), _ZERO)
        for outcomes in (p, q)
    )
    if before and after:
        ratios.append(before / after)
    elif before or after:
        return _UNBOUNDED
    return max(ratios, default=_ONE) / min(ratios, default=_ONE)


def noisy_maximum(mechanism: LargeMargin, epsilon: Fraction) -> Spent:
    """Return the divergence of c(1) + Z, which the paper's proof counts as released.

    If c(1) moves by 1, it is that of the values of Z on one side of 0, whose probabilities change
    by the factor e^{-1/b}.
    """
    with localcontext(DIGITS):
        falls = decay(1 / mechanism.noise.maximum_scale, 1)
        moved = max(_ZERO, (1 - number(epsilon).exp() * falls) / (1 + falls))
    return lambda first, second: moved * (max(first.values()) != max(second.values()))


@lru_cache(maxsize=1 << 8)
def margin_certified(mechanism: Mechanism, rank: int) -> float:
    """Return t(ℓ) = 6 (1 + ln(3ℓ/δ)/ε), the margin that the draw at rank ℓ relies on (3)."""
    return 6 * (1 + math.log(3 * rank / mechanism.cost.delta) / mechanism.cost.epsilon)


def step_tails(mechanism: LargeMargin, last: int) -> Decimal:
    """Return Σ P(-Z_ℓ > what T̂(ℓ) leaves for it) over ranks 1 … last (docs/privacy.md, Theorem 2).

    That is T̂(ℓ) - t(ℓ) less the tails of Z at δ/3 and of G at δ/6. With the shipped T̂ the sum is
    at most δ/6.
    """
    epsilon, delta = mechanism.cost.epsilon, mechanism.cost.delta
    noise, step = mechanism.noise, mechanism.noise.step_scale
    with localcontext(DIGITS):
        # The -A with e^{-A/b} / (1 + e^{-1/b}) = chance, of Z and of G.
        reserved = sum(
            number(scale) * (number(chance) * (1 + decay(1 / scale, 1))).ln()
            for scale, chance in ((noise.maximum_scale, delta / 3), (noise.shared_scale, delta / 6))
        )
        margins_left = [
            mechanism.threshold(rank)
            - 6 * (1 + number(3 * rank / delta).ln() / number(epsilon))
            + reserved
            for rank in range(1, last + 1)
        ]
        falls = decay(1 / step, 1)
        tails = [(-left / number(step)).exp() / (1 + falls) for left in margins_left]
        return sum((min(tail, _ONE) for tail in tails), _ZERO)
