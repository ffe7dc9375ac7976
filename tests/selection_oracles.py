"""Slow, literal definitions of the selection mechanisms beside the large margin.

Written straight from the definitions, sharing no code with the package (see `oracles`). All
functions here

* take `counts`, the support of each itemset by name. Universe unknown (`universe_size` None):
  itemsets of support 0 cannot be named, so entries of 0 are ignored. Universe known, of size K:
  `counts` lists all K candidates, those of support 0 too;
* return the probability of each itemset that can be named and, under the key None, of abstaining
  (always there, 0 for a mechanism that never does). Tied itemsets are in uniformly random order,
  independent of the data, so equal supports have equal probability;
* return Decimals with absolute errors below 10^-`digits`. (Decimal arithmetic on the results is
  done at the precision of the *caller's* context, 28 digits unless raised.)

A float argument means exactly the binary fraction it holds; pass a Fraction to mean a decimal
exactly.

Mutants, for audits: `noise_factor` multiplies the scales of the noise, that is, divides the rates,
while all public constants stay as they are (0: no noise at all).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from typing import Any

from oracles import Neighbors, Real, decimal, divisor

DIGITS = 60
GUARD = 30
"""Digits carried beyond those asked for: sums of 10^8 terms, alternating sums of size 10^20."""

Split = tuple[Fraction, Fraction, Fraction]
Law = dict[Any, Decimal]


@dataclass(frozen=True)
class Asked:
    """What is asked of a mechanism. named: the itemsets that can be, by descending support."""

    named: Mapping[Any, int]
    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    universe_size: int | None
    noise_factor: Fraction
    digits: int

    @property
    def step(self) -> int:
        """How far one unit moves a difference of supports: 1 (add-remove) or 2 (replace-one)."""
        return divisor(self.neighbors)

    def rate(self, share: Fraction = Fraction(1)) -> Decimal:
        """A share of epsilon, or of its half under replace-one, divided by the mutant's factor."""
        rate = share * self.epsilon / self.step
        return decimal(rate / self.noise_factor) if self.noise_factor else Decimal("Infinity")

    def ranked(self, rank: int) -> int:
        """c(rank), 0 past the end."""
        return [*self.named.values(), *[0] * rank][rank - 1]


def _candidates(counts: Mapping[Any, int], universe_size: int | None) -> dict[Any, int]:
    assert min(counts.values(), default=0) >= 0, counts
    assert universe_size is None or universe_size == len(counts) > 0, counts
    named = {name: int(c) for name, c in counts.items() if c > 0 or universe_size is not None}
    return dict(sorted(named.items(), key=lambda pair: -pair[1]))


def _exact(law: Callable[..., Law]) -> Callable[..., Law]:
    """The law of what is asked as one of counts, a budget and the keywords above."""

    def of_counts(
        counts: Mapping[Any, int],
        epsilon: Real,
        delta: Real = 0,
        *,
        neighbors: Neighbors,
        universe_size: int | None = None,
        noise_factor: Real = 1,
        digits: int = DIGITS,
        **more: Any,
    ) -> Law:
        assert epsilon > 0
        named = _candidates(counts, universe_size)
        exact = Fraction(epsilon), Fraction(delta)
        asked = Asked(named, *exact, neighbors, universe_size, Fraction(noise_factor), digits)
        with localcontext(Context(prec=digits + GUARD)):
            return law(asked, **more)

    return of_counts


def _decay(rate: Decimal, distance: int) -> Decimal:
    """e^(-rate distance) for a distance >= 0; the rate may be infinite."""
    return Decimal(1) if distance == 0 else (-rate * distance).exp()


# -------------------- pure mechanisms, universe known


def _integral(factors: Iterable[tuple[Decimal, Decimal]]) -> Decimal:
    """The integral over t from 0 to 1 of the product of (a + b t), its polynomial in t expanded."""
    coefficients = [Decimal(1)]
    for a, b in factors:
        raised = [Decimal(0), *(b * value for value in coefficients)]
        low = [*(a * value for value in coefficients), Decimal(0)]
        coefficients = [one + other for one, other in zip(low, raised, strict=True)]
    return sum((value / (power + 1) for power, value in enumerate(coefficients)), Decimal(0))


@_exact
def permute_and_flip_exact(asked: Asked) -> Law:
    """Permute-and-flip (McKenna and Sheldon 2020) on the K candidates, K <= 25 or so.

    In uniformly random order, each candidate's coin shows heads with probability p_i = e^(-q (c(1)
    - c_i)), q = epsilon (add-remove) or epsilon / 2 (replace-one); the first heads wins. Let the
    candidates come at independent uniform times in [0, 1]. Coming at time t, i wins if its coin
    shows heads and no other one comes before t and shows heads, each of which has probability p_j
    t; so

        P(i) = integral from 0 to 1 of p_i prod_{j != i} (1 - p_j t) dt.
    """
    heads = {n: _decay(asked.rate(), asked.ranked(1) - c) for n, c in asked.named.items()}
    by_level: dict[int, Decimal] = {}
    for name, count in asked.named.items():
        if count not in by_level:
            others = ((Decimal(1), -chance) for other, chance in heads.items() if other != name)
            by_level[count] = heads[name] * _integral(others)
    return {**{name: by_level[count] for name, count in asked.named.items()}, None: Decimal(0)}


def _discrete_laplace(rate: Decimal, k: int) -> Decimal:
    """P(Z = k) = (1 - q) / (1 + q) q^|k| with q = e^-rate."""
    q = _decay(rate, 1)
    return (1 - q) / (1 + q) * _decay(rate, abs(k))


def _discrete_laplace_at_least(rate: Decimal, k: int) -> Decimal:
    """P(Z >= k) = q^k / (1 + q) for k >= 1, and 1 - P(Z >= 1 - k) for k <= 0."""
    if k <= 0:
        return 1 - _discrete_laplace_at_least(rate, 1 - k)
    return _decay(rate, k) / (1 + _decay(rate, 1))


@_exact
def max_of_laplaces_exact(asked: Asked) -> Law:
    """The greatest c_i + Z_i wins (Bhaskar et al. 2010), Z_i ~ DLap(b), ties broken uniformly.

    b = 1 / epsilon (add-remove) or 2 / epsilon (replace-one). The tied ones are put in order by
    uniform times, the last of them winning: if i's sum is v and its time t, each other j has a
    lesser sum, or the same and an earlier time. So, summed over the winning values v,

        P(i) = sum_v P(Z_i = v - c_i) integral from 0 to 1 of
               prod_{j != i} (P(Z_j < v - c_j) + P(Z_j = v - c_j) t) dt.

    v runs over c(1) +- reach, outside which it is with probability < 10^-digits / 10.
    """
    named, first, rate = asked.named, asked.ranked(1), asked.rate()
    reach = 0
    if rate.is_finite():
        least = Decimal(10).ln() * (asked.digits + 1) + Decimal(2 * len(named)).ln()
        reach = math.ceil(least / rate)
    one_of = {count: name for name, count in named.items()}
    chances = dict.fromkeys(one_of, Decimal(0))
    # At distance k = v - level: P(Z < k) and P(Z = k), each computed once.
    spread = range(-reach, first - min(one_of) + reach + 1)
    below = {k: 1 - _discrete_laplace_at_least(rate, k) for k in spread}
    equal = {k: _discrete_laplace(rate, k) for k in spread}
    for v in range(first - reach, first + reach + 1):
        for level, own in one_of.items():
            others = (v - count for name, count in named.items() if name != own)
            chances[level] += equal[v - level] * _integral((below[k], equal[k]) for k in others)
    return {**{name: chances[count] for name, count in named.items()}, None: Decimal(0)}


# -------------------- limited domain and choosing, with None


@cache
def abstention_multiplicity(epsilon: Real, delta: Real, itemsets: int, neighbors: Neighbors) -> int:
    """B: abstaining weighs as B itemsets of support c(k+1) + 1 (add-remove) or + 2 (replace-one).

    With at most M = `itemsets` itemsets entering or leaving the candidates with one unit:

        add-remove   B = ceil(M / min(delta, epsilon)), enough because epsilon <= e^epsilon - 1;
        replace-one  B = ceil(M max((1 + e^-x) / delta, e^-x / x)), x = epsilon / 2,

    the latter being the add-remove weight at (x, delta / (1 + e^x)) written with one support more.
    """
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    assert epsilon > 0
    assert 0 < delta < 1 <= itemsets
    if divisor(neighbors) == 1:
        return math.ceil(itemsets / min(delta, epsilon))
    with localcontext(Context(prec=200)):
        half = decimal(epsilon / 2)
        falling = (-half).exp()
        exact = itemsets * max((1 + falling) / decimal(delta), falling / half)
        return int(exact.to_integral_value(rounding=ROUND_CEILING))


def _exponential(chances: Mapping[Any, Any], rate: Decimal, weight: Fraction, level: int) -> Law:
    """P(i) prop. to e^(rate c_i) among the candidates, P(None) to weight times e^(rate level).

    `chances` has (c_i, P(i is a candidate)). Whichever of the itemsets tied at the cut are in, the
    weights have the same total, so the average over the order of ties is each one's chance times
    weight / total. With nothing of positive weight, the mechanism abstains.
    """
    held = {**chances, None: (level, weight)}
    tops = [count for count, chance in held.values() if chance]
    if not tops:
        return {**dict.fromkeys(chances, Decimal(0)), None: Decimal(1)}
    mass = {
        name: decimal(chance) * _decay(rate, max(tops) - count) if chance else Decimal(0)
        for name, (count, chance) in held.items()
    }
    everything = sum(mass.values(), Decimal(0))
    return {outcome: part / everything for outcome, part in mass.items()}


def _limited_domain(asked: Asked, max_rank: int, max_itemsets: int | None = None) -> Law:
    """Limited domain (after Durfee and Rogers 2019): exponential on the top k = `max_rank`, None.

    P(i) is proportional to e^(x c_i) for the top k itemsets, and P(None) to B e^(x (c(k+1) + s)), x
    = epsilon and s = 1 (add-remove) or x = epsilon / 2 and s = 2 (replace-one), with
    `abstention_multiplicity` B for M = min(k, max_itemsets). In an unknown universe, itemsets of
    support 0 are no candidates and weigh nothing; where c(k+1) = 0, None then weighs M itemsets
    more, so that all weights together never grow by more than e^x, however many of them one unit
    names. In a known one they are candidates like any other; and if k >= K, None has no weight at
    all. If m itemsets are tied where the cut is and j of these are in, each is with probability j /
    m.
    """
    supports, size = [*asked.named.values()], asked.universe_size
    chances: dict[Any, tuple[int, Fraction]] = {}
    for name, count in asked.named.items():
        better, tied = sum(other > count for other in supports), supports.count(count)
        chances[name] = count, Fraction(min(max(max_rank - better, 0), tied), tied)
    following, weight = asked.ranked(max_rank + 1), 0
    if size is None or max_rank < size:
        new = min(max_rank, max_itemsets or max_rank)
        weight = abstention_multiplicity(asked.epsilon, asked.delta, new, asked.neighbors)
        weight += new if size is None and not following else 0
    return _exponential(chances, asked.rate(), Fraction(weight), following + asked.step)


limited_domain_exact = _exact(_limited_domain)


@_exact
def choosing_exact(asked: Asked, max_itemsets: int) -> Law:
    """Choosing (after Beimel, Nissim and Stemmer 2013): all itemsets of support >= 1, and None.

    One unit supports at most M = `max_itemsets` itemsets. P(i) is proportional to e^(x c_i), and
    P(None) to B e^(x s) with x, s and B as in `limited_domain_exact`. In a known universe, the
    exponential mechanism.
    """
    many = abstention_multiplicity(asked.epsilon, asked.delta, max_itemsets, asked.neighbors)
    chances = {name: (count, Fraction(1)) for name, count in asked.named.items()}
    weight = Fraction(many if asked.universe_size is None else 0)
    return _exponential(chances, asked.rate(), weight, asked.step)


# -------------------- distance


@cache
def distance_threshold(epsilon: Real, delta: Real, neighbors: Neighbors) -> int:
    """The least integer A >= 0 with P(Z > A) <= delta, Z ~ DLap(s / epsilon), s as below."""
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    assert epsilon > 0
    assert 0 < delta < 1
    with localcontext(Context(prec=200)):
        rate = decimal(epsilon / divisor(neighbors))
        # q^(A+1) / (1 + q) <= delta
        bound = -(decimal(delta) * (1 + (-rate).exp())).ln() / rate
        return max(0, int(bound.to_integral_value(rounding=ROUND_CEILING)) - 1)


@_exact
def distance_exact(asked: Asked) -> Law:
    """Distance to instability (after Smith and Thakurta 2013): the argmax, or None.

    The argmax, uniform among ties, is released if c(1) - c(2) - s + Z > A, Z ~ DLap(s / epsilon),
    with s = 1 (add-remove) or 2 (replace-one) and A = `distance_threshold`. c(2) = 0 if there is no
    second candidate. In an unknown universe an argmax of support 0 cannot be named: None.
    """
    nothing = {**dict.fromkeys(asked.named, Decimal(0)), None: Decimal(1)}
    if not asked.named:
        return nothing
    first = asked.ranked(1)
    winners = [name for name, count in asked.named.items() if count == first]
    threshold = distance_threshold(asked.epsilon, asked.delta, asked.neighbors)
    needed = threshold + asked.step - (first - asked.ranked(2)) + 1
    each = _discrete_laplace_at_least(asked.rate(), needed) / len(winners)
    silent = _discrete_laplace_at_least(asked.rate(), 1 - needed)
    return {**nothing, **dict.fromkeys(winners, each), None: silent}


# -------------------- tight margin


def _tight_margin_ranks(
    asked: Asked, max_rank: int, split: Split, thresholds: Callable[[int], int]
) -> dict[int, Decimal]:
    """P(l) for each rank l = 1 .. last at which the tight margin's search can end.

    last = max_rank, or min(max_rank, K) in a known universe. With G, Z_1, Z_2, ... >= 0 geometric,
    P(G >= k) = e^(-r_t k) and P(Z_l >= k) = e^(-r_q k), l is the first l < last with

        c(1) - c(l+1) + Z_l >= thresholds(l) + G,

    and last if there is none; r = fraction * epsilon (add-remove) or half of it (replace-one),
    `split` being the fractions (t, q, s). Given G the tests are independent; G is summed over until
    P(G >= n) < 10^-digits, and all of that tail is taken to be at n.
    """
    assert sum(split) == 1
    last = min(max_rank, asked.universe_size or max_rank)
    # Test l stops the search if Z_l >= needed[l] + G.
    first, ranks = asked.ranked(1), range(1, last)
    needed = {rank: thresholds(rank) - (first - asked.ranked(rank + 1)) for rank in ranks}
    result = dict.fromkeys(range(1, last + 1), Decimal(0))
    at_least = cache(partial(_decay, asked.rate(split[1])))
    tail, ratio = Decimal(1), _decay(asked.rate(split[0]), 1)
    g = 0
    while tail:
        is_last = tail < Decimal(10) ** -asked.digits
        going = tail if is_last else tail * (1 - ratio)
        for rank in range(1, last):
            stops = at_least(max(0, needed[rank] + g))
            result[rank] += going * stops
            going *= 1 - stops
            if not going:
                break
        result[last] += going
        tail = Decimal(0) if is_last else tail * ratio
        g += 1
    return result


@_exact
def tight_margin_exact(asked: Asked, max_rank: int, split: Split, thresholds: Any) -> Law:
    """The tight margin: the rank of its search, then limited domain at it, (s epsilon, delta)."""
    result: Law = dict.fromkeys([*asked.named, None], Decimal(0))
    choice = replace(asked, epsilon=split[2] * asked.epsilon)
    for rank, chance in _tight_margin_ranks(asked, max_rank, split, thresholds).items():
        for outcome, part in _limited_domain(choice, rank).items() if chance else ():
            result[outcome] += chance * part
    return result


# -------------------- zero-concentrated privacy


def zcdp_delta(rho: Real, epsilon: Real) -> float:
    """The least delta of rho-zCDP at epsilon (Canonne, Kamath and Steinke 2020, Corollary 13).

        inf over alpha > 1 of e^((alpha-1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha

    Its logarithm, with a = alpha - 1 = e^u, is a (alpha rho - epsilon) - u + alpha (u - ln alpha).
    The derivative (2 alpha - 1) rho - epsilon + ln(1 - 1/alpha) increases in alpha, so it has one
    minimum, found by narrowing u by thirds. The derivative is negative at u = -2 rho - 20 and
    positive at alpha = 2 + (epsilon + 1) / rho. Relative error below 1e-12.
    """
    assert min(rho, epsilon) >= 0
    if rho == 0:
        return 0.0
    with localcontext(Context(prec=120)):
        own, promised = decimal(rho), decimal(epsilon)

        def log_delta(u: Decimal) -> Decimal:
            a = u.exp()
            return a * ((1 + a) * own - promised) + a * u - (1 + a) * (1 + a).ln()

        low, high = -2 * own - 20, (1 + (promised + 1) / own).ln()
        while high - low > Decimal("1e-20"):
            third = (high - low) / 3
            if log_delta(low + third) < log_delta(high - third):
                high -= third
            else:
                low += third
        return float(log_delta((low + high) / 2).exp())
