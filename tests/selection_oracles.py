"""Slow, literal definitions of the selection mechanisms beside the large margin, itemset by
itemset.

Written straight from the definitions, sharing no code with the package (see `oracles`). All
functions here

* take `counts`, the support of each itemset by name. Universe unknown (`universe_size` None):
  itemsets of support 0 cannot be named, so entries of 0 are ignored. Universe known, of size K:
  `counts` lists all K candidates, those of support 0 too;
* return the probability of each itemset that can be named and, under the key None, of abstaining
  (always there, 0 for a mechanism that never does). Tied itemsets are in uniformly random order,
  independent of the data, so equal supports have equal probability;
* come in two forms: `f_exact` returns Decimals with absolute errors below 10^-`digits`, `f` the
  same as floats. (Decimal arithmetic on the results is done at the precision of the *caller's*
  context, 28 digits unless raised; `total` raises it.)

A float argument means exactly the binary fraction it holds; pass a Fraction to mean a decimal
exactly.

Mutants, for audits: `noise_factor` multiplies the scales of the noise, that is, divides the rates,
while all public constants stay as they are (0: no noise at all); `bottom_factor` multiplies the
weight of abstaining.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import ParamSpec, TypeVar

from oracles import Neighbors, Real

Key = TypeVar("Key", bound=Hashable)
P = ParamSpec("P")

DIGITS = 60
GUARD = 30
"""Digits carried beyond those asked for: sums of up to 10^8 terms and alternating sums of size
10^20.
"""

Split = tuple[Fraction, Fraction, Fraction]


def _context(digits: int) -> Context:
    return Context(prec=digits + GUARD)


def _decimal(value: Real) -> Decimal:
    exact = Fraction(value)
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def _divisor(neighbors: Neighbors) -> int:
    if neighbors not in ("add-remove", "replace-one"):
        raise ValueError(f"unknown neighbors {neighbors!r}")
    return 1 if neighbors == "add-remove" else 2


def _rate(epsilon: Real, neighbors: Neighbors, noise_factor: Real) -> Decimal:
    """epsilon (add-remove) or epsilon / 2 (replace-one), divided by the mutant's factor."""
    rate = Fraction(epsilon) / _divisor(neighbors)
    if rate <= 0 or noise_factor < 0:
        raise ValueError(f"epsilon {epsilon} or noise factor {noise_factor} out of range")
    return _decimal(rate / Fraction(noise_factor)) if noise_factor else Decimal("Infinity")


def _decay(rate: Decimal, distance: int) -> Decimal:
    """e^(-rate distance) for a distance >= 0; the rate may be infinite."""
    return Decimal(1) if distance == 0 else (-rate * distance).exp()


def _candidates(counts: Mapping[Key, int], universe_size: int | None) -> dict[Key, int]:
    """The itemsets that can be named, by descending support."""
    if any(count < 0 for count in counts.values()):
        raise ValueError(f"negative support in {counts}")
    if universe_size is not None and universe_size != len(counts):
        raise ValueError(f"{len(counts)} candidates listed of a universe of {universe_size}")
    if universe_size == 0:
        raise ValueError("a known universe needs a candidate")
    named = {
        name: int(count) for name, count in counts.items() if count > 0 or universe_size is not None
    }
    return dict(sorted(named.items(), key=lambda pair: -pair[1]))


def _ranked(named: Mapping[Key, int], rank: int) -> int:
    """c(rank), 0 past the end."""
    supports = sorted(named.values(), reverse=True)
    return supports[rank - 1] if rank <= len(supports) else 0


def _floats(exact: Callable[P, dict[Key, Decimal]]) -> Callable[P, dict[Key, float]]:
    def rounded(*args: P.args, **kwargs: P.kwargs) -> dict[Key, float]:
        return {outcome: float(chance) for outcome, chance in exact(*args, **kwargs).items()}

    rounded.__name__ = exact.__name__.removesuffix("_exact")
    rounded.__doc__ = f"`{exact.__name__}`, as floats."
    return rounded


def total(distribution: Mapping[Key, Decimal], *, digits: int = DIGITS) -> Decimal:
    """The sum of the probabilities, without the caller's context rounding it."""
    with localcontext(_context(digits)):
        return sum(distribution.values(), Decimal(0))


# -------------------- pure mechanisms, universe known


def _integral(factors: Iterable[tuple[Decimal, Decimal]]) -> Decimal:
    """The integral over t from 0 to 1 of the product of (a + b t), its polynomial in t expanded."""
    coefficients = [Decimal(1)]
    for a, b in factors:
        raised = [Decimal(0), *(b * value for value in coefficients)]
        coefficients = [
            a * low + high for low, high in zip([*coefficients, Decimal(0)], raised, strict=True)
        ]
    return sum((value / (power + 1) for power, value in enumerate(coefficients)), Decimal(0))


def permute_and_flip_exact(
    counts: Mapping[Key, int],
    epsilon: Real,
    *,
    neighbors: Neighbors,
    universe_size: int,
    noise_factor: Real = 1,
    digits: int = DIGITS,
) -> dict[Key | None, Decimal]:
    """Permute-and-flip (McKenna and Sheldon 2020) on the K candidates, K <= 25 or so.

    In uniformly random order, each candidate's coin shows heads with probability p_i = e^(-q (c(1)
    - c_i)), q = epsilon (add-remove) or epsilon / 2 (replace-one); the first heads wins. Let the
    candidates come at independent uniform times in [0, 1]. Coming at time t, i wins if its coin
    shows heads and no other one comes before t and shows heads, each of which has probability p_j
    t; so

        P(i) = integral from 0 to 1 of p_i prod_{j != i} (1 - p_j t) dt.
    """
    named = _candidates(counts, universe_size)
    result: dict[Key | None, Decimal] = {}
    with localcontext(_context(digits)):
        rate = _rate(epsilon, neighbors, noise_factor)
        first = max(named.values())
        heads = {name: _decay(rate, first - count) for name, count in named.items()}
        by_level: dict[int, Decimal] = {}
        for name, count in named.items():
            if count not in by_level:
                others = ((Decimal(1), -chance) for other, chance in heads.items() if other != name)
                by_level[count] = heads[name] * _integral(others)
            result[name] = by_level[count]
    result[None] = Decimal(0)
    return result


def _discrete_laplace(rate: Decimal, k: int) -> Decimal:
    """P(Z = k) = (1 - q) / (1 + q) q^|k| with q = e^-rate."""
    q = _decay(rate, 1)
    return (1 - q) / (1 + q) * _decay(rate, abs(k))


def _discrete_laplace_at_least(rate: Decimal, k: int) -> Decimal:
    """P(Z >= k) = q^k / (1 + q) for k >= 1, and 1 - P(Z >= 1 - k) for k <= 0."""
    if k <= 0:
        return 1 - _discrete_laplace_at_least(rate, 1 - k)
    return _decay(rate, k) / (1 + _decay(rate, 1))


def max_of_laplaces_exact(
    counts: Mapping[Key, int],
    epsilon: Real,
    *,
    neighbors: Neighbors,
    universe_size: int,
    noise_factor: Real = 1,
    digits: int = DIGITS,
) -> dict[Key | None, Decimal]:
    """The greatest c_i + Z_i wins (Bhaskar et al. 2010), Z_i ~ DLap(b), ties of the sums broken
    uniformly.

    b = 1 / epsilon (add-remove) or 2 / epsilon (replace-one). The tied ones are put in order by
    uniform times, the last of them winning: if i's sum is v and its time t, each other j has a
    lesser sum, or the same and an earlier time. So, summed over the winning values v,

        P(i) = sum_v P(Z_i = v - c_i) integral from 0 to 1 of
               prod_{j != i} (P(Z_j < v - c_j) + P(Z_j = v - c_j) t) dt.

    v runs over c(1) +- reach, outside which the winner's sum lies with probability < 10^-digits /
    10.
    """
    named = _candidates(counts, universe_size)
    first = max(named.values())
    result: dict[Key | None, Decimal] = {}
    with localcontext(_context(digits)):
        rate = _rate(epsilon, neighbors, noise_factor)
        reach = 0
        if rate.is_finite():
            reach = math.ceil(
                (Decimal(10).ln() * (digits + 1) + Decimal(2 * len(named)).ln()) / rate
            )
        levels = sorted(set(named.values()))
        one_of = {count: name for name, count in named.items()}
        chances = dict.fromkeys(levels, Decimal(0))
        # At distance k = v - level: P(Z < k) and P(Z = k), each computed once.
        spread = first - levels[0] + reach
        below = {k: 1 - _discrete_laplace_at_least(rate, k) for k in range(-reach, spread + 1)}
        equal = {k: _discrete_laplace(rate, k) for k in range(-reach, spread + 1)}
        for v in range(first - reach, first + reach + 1):
            at = {name: v - count for name, count in named.items()}
            for level in levels:
                others = ((below[k], equal[k]) for name, k in at.items() if name != one_of[level])
                chances[level] += equal[v - level] * _integral(others)
    for name, count in named.items():
        result[name] = chances[count]
    result[None] = Decimal(0)
    return result


# -------------------- limited domain and choosing, with None


@cache
def abstention_multiplicity(epsilon: Real, delta: Real, itemsets: int, neighbors: Neighbors) -> int:
    """B: abstaining weighs as much as B itemsets of support c(k+1) + 1 (add-remove) or + 2
    (replace-one).

    With at most M = `itemsets` itemsets entering or leaving the candidates with one unit:

        add-remove   B = ceil(M / min(delta, epsilon)), enough because epsilon <= e^epsilon - 1;
        replace-one  B = ceil(M max((1 + e^-x) / delta, e^-x / x)), x = epsilon / 2,

    the latter being the add-remove weight at (x, delta / (1 + e^x)) written with one support more.
    """
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    if not (epsilon > 0 and 0 < delta < 1 and itemsets >= 1):
        raise ValueError(f"epsilon {epsilon}, delta {delta} or {itemsets} itemsets out of range")
    if _divisor(neighbors) == 1:
        return math.ceil(itemsets / min(delta, epsilon))
    with localcontext(Context(prec=200)):
        half = _decimal(epsilon / 2)
        falling = (-half).exp()
        exact = itemsets * max((1 + falling) / _decimal(delta), falling / half)
        return int(exact.to_integral_value(rounding=ROUND_CEILING))


def _exponential(
    chances: Mapping[Key, tuple[int, Fraction]], rate: Decimal, bottom: tuple[Fraction, int]
) -> dict[Key | None, Decimal]:
    """P(i) prop. to e^(rate c_i) among the candidates, P(None) to `bottom`'s weight times e^(rate
    its level).

    `chances` has (c_i, P(i is a candidate)). Whichever of the itemsets tied at the cut are in, the
    weights have the same total, so the average over the order of ties is each one's chance times
    weight / total. With nothing of positive weight, the mechanism abstains.
    """
    weight, level = bottom
    levels = [count for count, chance in chances.values() if chance] + ([level] if weight else [])
    if not levels:
        return {**dict.fromkeys(chances, Decimal(0)), None: Decimal(1)}
    top = max(levels)
    mass: dict[Key | None, Decimal] = {}
    for name, (count, chance) in chances.items():
        mass[name] = _decimal(chance) * _decay(rate, top - count) if chance else Decimal(0)
    mass[None] = _decimal(weight) * _decay(rate, top - level) if weight else Decimal(0)
    everything = sum(mass.values(), Decimal(0))
    return {outcome: part / everything for outcome, part in mass.items()}


def limited_domain_exact(
    counts: Mapping[Key, int],
    epsilon: Real,
    delta: Real,
    *,
    max_rank: int,
    neighbors: Neighbors,
    universe_size: int | None = None,
    max_itemsets: int | None = None,
    noise_factor: Real = 1,
    digits: int = DIGITS,
) -> dict[Key | None, Decimal]:
    """Limited domain (after Durfee and Rogers 2019): exponential on the top k = `max_rank`, and
    None.

    P(i) is proportional to e^(x c_i) for the top k itemsets, and P(None) to B e^(x (c(k+1) + s)), x
    = epsilon and s = 1 (add-remove) or x = epsilon / 2 and s = 2 (replace-one), with
    `abstention_multiplicity` B for M = min(k, max_itemsets). In an unknown universe, itemsets of
    support 0 are no candidates and weigh nothing; where c(k+1) = 0, None then weighs M itemsets
    more, so that all weights together never grow by more than e^x, however many of them one unit
    names. In a known one they are candidates like any other; and if k >= K, None has no weight at
    all. If m itemsets are tied where the cut is and j of these are in, each is with probability j /
    m.
    """
    named = _candidates(counts, universe_size)
    if max_rank < 1 or (max_itemsets is not None and max_itemsets < 1):
        raise ValueError(f"max_rank {max_rank} or max_itemsets {max_itemsets} out of range")
    supports = list(named.values())
    chances: dict[Key, tuple[int, Fraction]] = {}
    for name, count in named.items():
        better = sum(other > count for other in supports)
        tied = supports.count(count)
        chances[name] = count, Fraction(min(max(max_rank - better, 0), tied), tied)
    with localcontext(_context(digits)):
        rate = _rate(epsilon, neighbors, noise_factor)
        weight = Fraction(0)
        if universe_size is None or max_rank < universe_size:
            itemsets = max_rank if max_itemsets is None else min(max_rank, max_itemsets)
            following = _ranked(named, max_rank + 1)
            more = itemsets if universe_size is None and not following else 0
            weight = Fraction(abstention_multiplicity(epsilon, delta, itemsets, neighbors) + more)
        return _exponential(
            chances, rate, (weight, _ranked(named, max_rank + 1) + _divisor(neighbors))
        )


def choosing_exact(
    counts: Mapping[Key, int],
    epsilon: Real,
    delta: Real,
    *,
    max_itemsets: int,
    neighbors: Neighbors,
    universe_size: int | None = None,
    noise_factor: Real = 1,
    bottom_factor: Real = 1,
    digits: int = DIGITS,
) -> dict[Key | None, Decimal]:
    """Choosing (after Beimel, Nissim and Stemmer 2013): all itemsets of support >= 1, and None.

    One unit supports at most M = `max_itemsets` itemsets. P(i) is proportional to e^(x c_i), and
    P(None) to B e^(x s) with x, s and B as in `limited_domain_exact`. In a known universe, the
    exponential mechanism.
    """
    named = _candidates(counts, universe_size)
    multiplicity = abstention_multiplicity(epsilon, delta, max_itemsets, neighbors)
    with localcontext(_context(digits)):
        rate = _rate(epsilon, neighbors, noise_factor)
        weight = Fraction(bottom_factor) * multiplicity if universe_size is None else Fraction(0)
        chances = {name: (count, Fraction(1)) for name, count in named.items()}
        return _exponential(chances, rate, (weight, _divisor(neighbors)))


# -------------------- distance


@cache
def distance_threshold(epsilon: Real, delta: Real, neighbors: Neighbors) -> int:
    """The least integer A >= 0 with P(Z > A) <= delta, Z ~ DLap(s / epsilon), s = 1 or 2 as
    below.
    """
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError(f"epsilon {epsilon} or delta {delta} out of range")
    with localcontext(Context(prec=200)):
        rate = _decimal(epsilon / _divisor(neighbors))
        # q^(A+1) / (1 + q) <= delta
        bound = -(_decimal(delta) * (1 + (-rate).exp())).ln() / rate
        return max(0, int(bound.to_integral_value(rounding=ROUND_CEILING)) - 1)


def distance_exact(
    counts: Mapping[Key, int],
    epsilon: Real,
    delta: Real,
    *,
    neighbors: Neighbors,
    universe_size: int | None = None,
    noise_factor: Real = 1,
    digits: int = DIGITS,
) -> dict[Key | None, Decimal]:
    """Distance to instability (after Smith and Thakurta 2013): the argmax, or None.

    The argmax, uniform among ties, is released if c(1) - c(2) - s + Z > A, Z ~ DLap(s / epsilon),
    with s = 1 (add-remove) or 2 (replace-one) and A = `distance_threshold`. c(2) = 0 if there is no
    second candidate. In an unknown universe an argmax of support 0 cannot be named: None.
    """
    named = _candidates(counts, universe_size)
    s = _divisor(neighbors)
    result: dict[Key | None, Decimal] = dict.fromkeys(named, Decimal(0))
    result[None] = Decimal(1)
    if not named:
        return result
    first = max(named.values())
    winners = [name for name, count in named.items() if count == first]
    needed = distance_threshold(epsilon, delta, neighbors) + s - (first - _ranked(named, 2)) + 1
    with localcontext(_context(digits)):
        rate = _rate(epsilon, neighbors, noise_factor)
        release = _discrete_laplace_at_least(rate, needed)
        for name in winners:
            result[name] = release / len(winners)
        result[None] = _discrete_laplace_at_least(rate, 1 - needed)
    return result


# -------------------- tight margin


def tight_margin_ranks_exact(
    counts: Mapping[Key, int],
    epsilon: Real,
    *,
    max_rank: int,
    neighbors: Neighbors,
    split: Split,
    thresholds: Callable[[int], int],
    universe_size: int | None = None,
    noise_factor: Real = 1,
    digits: int = DIGITS,
) -> dict[int, Decimal]:
    """P(l) for each rank l = 1 .. last at which the tight margin's search can end.

    last = max_rank, or min(max_rank, K) in a known universe. With G, Z_1, Z_2, ... >= 0 geometric,
    P(G >= k) = e^(-r_t k) and P(Z_l >= k) = e^(-r_q k), l is the first l < last with

        c(1) - c(l+1) + Z_l >= thresholds(l) + G,

    and last if there is none; r = fraction * epsilon (add-remove) or half of it (replace-one),
    `split` being the fractions (t, q, s). Given G the tests are independent; G is summed over until
    P(G >= n) < 10^-digits, and all of that tail is taken to be at n.
    """
    named = _candidates(counts, universe_size)
    if sum(split) != 1 or min(split) <= 0 or max_rank < 1:
        raise ValueError(f"split {split} or max_rank {max_rank} out of range")
    last = max_rank if universe_size is None else min(max_rank, universe_size)
    first = _ranked(named, 1)
    # Test l stops the search if Z_l >= needed[l] + G.
    needed = {
        rank: thresholds(rank) - (first - _ranked(named, rank + 1)) for rank in range(1, last)
    }
    result = dict.fromkeys(range(1, last + 1), Decimal(0))
    with localcontext(_context(digits)):
        rate_g = _rate(split[0] * Fraction(epsilon), neighbors, noise_factor)
        rate_z = _rate(split[1] * Fraction(epsilon), neighbors, noise_factor)
        at_least: dict[int, Decimal] = {}
        tail = Decimal(1)
        ratio = _decay(rate_g, 1)
        g = 0
        while tail:
            going = tail * (1 - ratio)
            if tail < Decimal(10) ** -digits:
                going = tail
            for rank in range(1, last):
                k = max(0, needed[rank] + g)
                if k not in at_least:
                    at_least[k] = _decay(rate_z, k)
                result[rank] += going * at_least[k]
                going *= 1 - at_least[k]
                if not going:
                    break
            result[last] += going
            tail = Decimal(0) if tail < Decimal(10) ** -digits else tail * ratio
            g += 1
    return result


def tight_margin_exact(
    counts: Mapping[Key, int],
    epsilon: Real,
    delta: Real,
    *,
    max_rank: int,
    neighbors: Neighbors,
    split: Split,
    thresholds: Callable[[int], int],
    universe_size: int | None = None,
    noise_factor: Real = 1,
    digits: int = DIGITS,
) -> dict[Key | None, Decimal]:
    """The tight margin: the rank l of `tight_margin_ranks_exact`, then limited domain at l, (s
    epsilon, delta).
    """
    named = _candidates(counts, universe_size)
    ranks = tight_margin_ranks_exact(
        counts,
        epsilon,
        max_rank=max_rank,
        neighbors=neighbors,
        split=split,
        thresholds=thresholds,
        universe_size=universe_size,
        noise_factor=noise_factor,
        digits=digits,
    )
    result: dict[Key | None, Decimal] = dict.fromkeys([*named, None], Decimal(0))
    with localcontext(_context(digits)):
        for rank, chance in ranks.items():
            if not chance:
                continue
            selected = limited_domain_exact(
                counts,
                split[2] * Fraction(epsilon),
                delta,
                max_rank=rank,
                neighbors=neighbors,
                universe_size=universe_size,
                noise_factor=noise_factor,
                digits=digits,
            )
            for outcome, part in selected.items():
                result[outcome] += chance * part
    return result


permute_and_flip = _floats(permute_and_flip_exact)
max_of_laplaces = _floats(max_of_laplaces_exact)
limited_domain = _floats(limited_domain_exact)
choosing = _floats(choosing_exact)
distance = _floats(distance_exact)
tight_margin = _floats(tight_margin_exact)


# -------------------- zero-concentrated privacy


def zcdp_log_delta_at(rho: Real, epsilon: Real, alpha_less_1_log: Decimal) -> Decimal:
    """ln of e^((alpha-1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha at alpha = 1 +
    e^u.

    With a = alpha - 1 = e^u it is a (alpha rho - epsilon) - u + alpha (u - ln alpha).
    """
    u = alpha_less_1_log
    a = u.exp()
    alpha = 1 + a
    return a * (alpha * _decimal(rho) - _decimal(epsilon)) + a * u - alpha * alpha.ln()


def zcdp_delta(rho: Real, epsilon: Real) -> float:
    """The least delta that Canonne, Kamath and Steinke (2020), Corollary 13, gives rho-zCDP at
    epsilon.

        inf over alpha > 1 of e^((alpha-1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha

    The logarithm has derivative (2 alpha - 1) rho - epsilon + ln(1 - 1/alpha), increasing in alpha,
    so it has one minimum, found by narrowing u = ln(alpha - 1) by thirds. The derivative is
    negative at u = -2 rho - 20 and positive at alpha = 2 + (epsilon + 1) / rho. Relative error
    below 1e-12.
    """
    if rho < 0 or epsilon < 0:
        raise ValueError(f"rho {rho} or epsilon {epsilon} out of range")
    if rho == 0:
        return 0.0
    with localcontext(Context(prec=120)):
        low = -2 * _decimal(rho) - 20
        high = (1 + (_decimal(epsilon) + 1) / _decimal(rho)).ln()
        while high - low > Decimal("1e-20"):
            third = (high - low) / 3
            if zcdp_log_delta_at(rho, epsilon, low + third) < zcdp_log_delta_at(
                rho, epsilon, high - third
            ):
                high -= third
            else:
                low += third
        return float(zcdp_log_delta_at(rho, epsilon, (low + high) / 2).exp())
