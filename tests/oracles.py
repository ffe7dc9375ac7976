"""Slow, literal definitions of what the package computes quickly. Test oracles only.

Everything here is written straight from the published definitions and shares no code with the
package, so that agreement between the two means something. Words used throughout:

* *support* c(i): number of privacy units with a basket that contains itemset i; c(1) >= c(2) >=
  ...; L is the number of itemsets of the size in question with support >= 1;
* *level*: a value of the support; "the distribution over levels" sums over all itemsets tied there;
* *unknown universe*: zero-support itemsets cannot be named, so winning among them means abstaining;
  *known universe of size K*: the supports are padded with K - L zeros and level 0 is ordinary;
* DLap(b), the discrete Laplace distribution: P(k) = (1 - q) / (1 + q) * q^|k| with q = e^(-1/b).

A float argument means exactly the binary fraction that it is.
"""

import importlib
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Real: TypeAlias = int | float | Fraction
Item: TypeAlias = int | str
Itemset: TypeAlias = tuple[Item, ...]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Neighbors: TypeAlias = Literal["add-remove", "replace-one"]
Key = TypeVar("Key", bound=Hashable)
Law: TypeAlias = Mapping[Key, float]

DIGITS = 200
"""Decimal digits carried wherever rounding up, or a universe of 10**60, needs more than a float."""


def decimal(value: Real) -> Decimal:
    """`value` to the precision of the current decimal context (a float's exact binary value)."""
    exact = Fraction(value)
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def _positive_descending(supports: Iterable[int]) -> list[int]:
    """The supports >= 1, highest first. Zeros are left out: they are the universe's business."""
    return sorted((int(c) for c in supports if c > 0), reverse=True)


# -------------------- noise


def discrete_laplace_pmf(scale: Real, k: npt.ArrayLike) -> Floats:
    """P(X = k) = (1 - q) / (1 + q) q^|k|, q = e^(-1/scale): the first factor is a tanh."""
    b = float(scale)
    size = np.abs(np.asarray(k, dtype=np.float64))
    if b == 0:
        return np.where(size == 0, 1.0, 0.0)
    return np.asarray(math.tanh(1 / (2 * b)) * np.exp(-size / b), dtype=np.float64)


def discrete_laplace_cdf(scale: Real, k: npt.ArrayLike) -> Floats:
    """P(X <= k) at integers k: q^(-k) / (1 + q) if k < 0, else 1 - q^(k+1) / (1 + q).

    P(X > k) is the same function at -k - 1, by symmetry, with no loss of digits in the tail.
    """
    b = float(scale)
    at = np.asarray(k, dtype=np.float64)
    if b == 0:
        return np.where(at >= 0, 1.0, 0.0)
    q = math.exp(-1 / b)
    below = np.exp(np.minimum(at, 0.0) / b) / (1 + q)
    above = 1.0 - np.exp(-(np.maximum(at, 0.0) + 1) / b) / (1 + q)
    return np.where(at < 0, below, above)


def geometric_pmf(rate: Real, k: npt.ArrayLike) -> Floats:
    """P(X = k) = (1 - e^(-rate)) e^(-rate k) for k = 0, 1, 2, ..., and 0 for k < 0."""
    r = float(rate)
    at = np.asarray(k, dtype=np.float64)
    return np.where(at >= 0, -math.expm1(-r) * np.exp(-r * np.maximum(at, 0.0)), 0.0)


@cache
def _root_two_pi() -> Decimal:
    """√(2π), with π = 16 arctan 1/5 - 4 arctan 1/239 (Machin)."""
    with localcontext() as context:
        context.prec = DIGITS

        def arctan_of_inverse(n: int) -> Decimal:
            terms = range(DIGITS)  # of which each is less than 1/25 of the one before
            powers = ((k, Decimal((2 * k + 1) * n ** (2 * k + 1))) for k in terms)
            return sum(((-1) ** k / power for k, power in powers), Decimal(0))

        return (2 * (16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239))).sqrt()


@cache
def normal_tail(x: Real) -> Decimal:
    """P(Z >= x) = 1/2 - Σ (-1)^n x^(2n+1) / (2^n n! (2n+1)) / √(2π), to 100 digits: |x| <= 12."""
    assert abs(Fraction(x)) <= 12, "too many digits cancel"
    with localcontext() as context:
        context.prec = DIGITS
        power = exact = decimal(x)
        total, n = Decimal(0), 0
        # 72 = 12²/2: from there on the terms fall
        while n < 72 or abs(power) > Decimal(10) ** -DIGITS:
            total += power / (2 * n + 1)
            n += 1
            power *= -exact * exact / (2 * n)
        return Decimal("0.5") - total / _root_two_pi()


# -------------------- large margin


@cache
def _integer_threshold(epsilon: Fraction, delta: Fraction, rank: int) -> int:
    with localcontext() as context:
        context.prec = 50
        e, d = decimal(epsilon), decimal(delta)
        total = (3 / e) * (3 / (2 * d)).ln() + (6 / e) * (3 / d).ln()
        total += (12 / e) * (3 * rank * (rank + 1) / d).ln() + 6 * (1 + (3 * rank / d).ln() / e)
        total += sum(b * (2 / (1 + (-1 / b).exp())).ln() for b in (3 / e, 6 / e, 12 / e))
        assert abs(total - total.to_integral_value()) > Decimal("1e-30"), "too close to an integer"
        return int(total.to_integral_value(rounding=ROUND_CEILING))


def integer_thresholds(epsilon: Real, delta: Real, ranks: Iterable[int]) -> list[int]:
    """ceil(T(l) + correction) for each rank l (Chaudhuri, Hsu and Song 2014, Algorithm 1, on
    supports).

        T(l) = (3/e) ln(3/(2d)) + (6/e) ln(3/d) + (12/e) ln(3 l (l+1) / d) + 6 (1 + ln(3 l / d) / e)
        correction = sum over b in {3/e, 6/e, 12/e} of b ln(2 / (1 + e^(-1/b)))

    with e = epsilon, d = delta. The correction pays for DLap(b)'s tail, which is up to 2 / (1 +
    e^(-1/b)) times that of the continuous Laplace distribution. Computed with 50 digits, so the
    ceiling is exact.
    """
    return [_integer_threshold(Fraction(epsilon), Fraction(delta), int(rank)) for rank in ranks]


def _margin_noise(scale_z: float, scale_g: float) -> tuple[Ints, Floats]:
    """Values and probabilities of X = Z - G, Z ~ DLap(scale_z), G ~ DLap(scale_g).

    Each is cut off at 40 scales, where less than 2 e^-40 < 1e-16 of its mass is left.
    """
    reach_z, reach_g = (math.ceil(40 * scale) for scale in (scale_z, scale_g))
    z = discrete_laplace_pmf(scale_z, np.arange(-reach_z, reach_z + 1))
    g = discrete_laplace_pmf(scale_g, np.arange(-reach_g, reach_g + 1))
    reach = reach_z + reach_g
    return np.arange(-reach, reach + 1, dtype=np.int64), np.convolve(z, g[::-1])


def _stopping_distribution(
    supports: Sequence[int], epsilon: float, threshold: Callable[[int], int], tests: int
) -> tuple[dict[int, float], float]:
    """P(the first l in 1..tests that stops is l), for each l, and P(none of them stops).

    Given X = Z - G = x the tests are independent, and test l stops when
    Z_l < c(1) - c(l+1) - T(l) + x, that is when Z_l <= c(1) - c(l+1) - T(l) + x - 1.
    """
    x, going = _margin_noise(3 / epsilon, 6 / epsilon)
    padded = [*supports, *[0] * (tests + 1)]
    stops: dict[int, float] = {}
    for rank in range(1, tests + 1):
        bound = padded[0] - padded[rank] - threshold(rank) + x - 1
        stops[rank] = math.fsum(going * discrete_laplace_cdf(12 / epsilon, bound))
        going = going * discrete_laplace_cdf(12 / epsilon, -bound - 1)
        if float(going.sum()) < 1e-30:
            break
    return stops, math.fsum(going)


def large_margin_distribution(
    supports: Sequence[int],
    epsilon: Real,
    delta: Real,
    *,
    universe_size: int | None = None,
    max_rank: int = 10_000,
    thresholds: Callable[[int], int] | None = None,
) -> tuple[dict[int, float], float]:
    """P(the released itemset has support s), for each level s, and P(abstain).

    With Z ~ DLap(3/epsilon), G ~ DLap(6/epsilon) and Z_l ~ DLap(12/epsilon), the rank l is the
    first >= 1 with

        c(1) + Z - c(l+1) > Z_l + G + T(l),        T(l) = integer_thresholds(epsilon, delta, [l]),

    in an unknown universe up to max_rank; in a known one of size K, l is K if no earlier test
    stops. Then an itemset I of the top l is drawn with probability proportional to exp(epsilon c(I)
    / 6). In an unknown universe the search abstains if it never stops; the zero-support itemsets of
    a top l > L are one outcome, abstain, of weight l - L. `thresholds` replaces T(l), for mutants.
    """
    c, e = _positive_descending(supports), float(epsilon)
    threshold = thresholds or (lambda rank: integer_thresholds(epsilon, delta, [rank])[0])
    tests = max_rank if universe_size is None else universe_size - 1
    stops, never = _stopping_distribution(c, e, threshold, tests)
    if universe_size is not None:
        stops[universe_size] = stops.get(universe_size, 0.0) + never
    first = c[0] if c else 0
    result = dict.fromkeys(sorted(set(c), reverse=True), 0.0)
    zero = 0.0
    for rank, chance in stops.items():
        tops = Counter(c[:rank])
        mass = {level: count * math.exp(e * (level - first) / 6) for level, count in tops.items()}
        zero_mass = max(0, rank - len(c)) * math.exp(-e * first / 6)
        total = math.fsum([*mass.values(), zero_mass])
        for level, part in mass.items():
            result[level] += chance * part / total
        zero += chance * zero_mass / total
    return (result, zero + never) if universe_size is None else ({**result, 0: zero}, 0.0)


# -------------------- exponential family


def exponential_distribution(
    supports: Sequence[int], epsilon: Real, *, neighbors: Neighbors, universe_size: int
) -> dict[int, float]:
    """The exponential mechanism over all K candidates: P(level s), level 0 always included.

    P(i) is proportional to e^(epsilon c(i)) for add-remove and e^(epsilon c(i) / 2) for
    replace-one. The K - L candidates without support weigh e^0 each; K may be 10**60.
    """
    c = _positive_descending(supports)
    rate = Fraction(epsilon) / divisor(neighbors)
    return _by_weight(c, rate, {0: Decimal(universe_size - len(c))})


def _by_weight(c: list[int], rate: Fraction, others: dict[int, Decimal]) -> dict[int, float]:
    """P(level) proportional to e^(rate level) for each itemset, beside others of known weight."""
    with localcontext() as context:
        context.prec = DIGITS
        mass = {level: many * (decimal(rate) * level).exp() for level, many in spectrum_of(c)}
        mass |= others
        total = sum(mass.values(), Decimal(0))
        return {level: float(part / total) for level, part in mass.items()}


def divisor(neighbors: Neighbors) -> int:
    """How far one unit moves the difference of two supports."""
    return {"add-remove": 1, "replace-one": 2}[neighbors]


def named_exponential_distribution(
    supports: Sequence[int], epsilon: Real, delta: Real, *, neighbors: Neighbors, universe_size: int
) -> tuple[dict[int, float], float]:
    """For a universe whose size M alone is public: P(level s) for each s >= 1, and P(unnamed).

    Candidates are the itemsets with support >= 1 and one outcome for all others, "unnamed".
    Add-remove:

        P(i) proportional to e^(epsilon c(i)),  P(unnamed) to ceil(M / delta_) e^epsilon,
        delta_ = min(delta, e^epsilon - 1).

    Replace-one: the add-remove mechanism with (epsilon / 2, delta / (1 + e^(epsilon / 2))).
    """
    rate = Fraction(epsilon) / divisor(neighbors)
    with localcontext() as context:
        context.prec = DIGITS
        e = decimal(rate).exp()
        share = decimal(delta) if neighbors == "add-remove" else decimal(delta) / (1 + e)
        number = (universe_size / min(share, e - 1)).to_integral_value(rounding=ROUND_CEILING)
        if neighbors == "add-remove" and share < e - 1:
            number = Decimal(math.ceil(Fraction(universe_size) / Fraction(delta)))
        levels = _by_weight(_positive_descending(supports), rate, {0: number * e})
    return levels, levels.pop(0)


# -------------------- counting


def brute_force_supports(baskets: Iterable[Iterable[Item]], size: int) -> Counter[Itemset]:
    """Number of baskets that contain each itemset of `size` distinct items, if any."""
    return brute_force_user_supports(([basket] for basket in baskets), size)


def brute_force_user_supports(users: Iterable[Iterable[Any]], size: int) -> Counter[Itemset]:
    """Number of users with a basket that contains the itemset; integers come before strings."""
    result: Counter[Itemset] = Counter()
    for baskets in users:
        ordered = (
            sorted(set(basket), key=lambda item: (isinstance(item, str), item))
            for basket in baskets
        )
        result.update({itemset for basket in ordered for itemset in combinations(basket, size)})
    return result


def spectrum_of(supports: Mapping[Key, int] | Iterable[int]) -> list[tuple[int, int]]:
    """(support, number of itemsets with exactly that support), descending, without zeros."""
    values: Iterable[int] = supports.values() if isinstance(supports, Mapping) else supports
    return sorted(Counter(_positive_descending(values)).items(), reverse=True)


# -------------------- privacy


def hockey_stick(p: Mapping[Key, float], q: Mapping[Key, float], epsilon: Real) -> float:
    """The least delta with P(S) <= e^epsilon Q(S) + delta for every S: of (p, q), not of (q, p)."""
    factor = math.exp(float(epsilon))
    return math.fsum(max(0.0, chance - factor * q.get(key, 0.0)) for key, chance in p.items())


# -------------------- statistics


def _pooled_cells(probabilities: Mapping[Key, float], draws: int) -> list[list[Key]]:
    """Cells of expectation >= 5: the possible outcomes below that share one cell, which, if it is
    still below, joins the least of the others. Outcomes of probability 0 are in no cell."""
    assert abs(math.fsum(probabilities.values()) - 1) <= 1e-9
    assert min(probabilities.values()) >= 0
    likely = [outcome for outcome, chance in probabilities.items() if chance > 0]
    possible = sorted(likely, key=lambda outcome: probabilities[outcome])
    small = [o for o in possible if draws * probabilities[o] < 5]
    cells = [[o] for o in possible if draws * probabilities[o] >= 5]
    if small and cells and draws * math.fsum(probabilities[o] for o in small) < 5:
        cells[0] = [*small, *cells[0]]
    elif small:
        cells.append(small)
    return cells


def chi_square_pvalue(counts: Mapping[Key, int], probabilities: Law[Key], draws: int) -> float:
    """Pearson's test that `counts` of `draws` come from `probabilities`, by cells as above.

    An outcome seen though its probability is 0 gives 0.0; a single cell gives 1.0.
    """
    assert sum(counts.values()) == draws
    cells = _pooled_cells(probabilities, draws)
    if any(count and probabilities.get(outcome, 0.0) <= 0 for outcome, count in counts.items()):
        return 0.0
    if len(cells) < 2:
        return 1.0
    statistic = 0.0
    for cell in cells:
        expected = draws * math.fsum(probabilities[outcome] for outcome in cell)
        observed = sum(counts.get(outcome, 0) for outcome in cell)
        statistic += (observed - expected) ** 2 / expected
    stats: Any = importlib.import_module("scipy.stats")
    return float(stats.chi2.sf(statistic, len(cells) - 1))


def detects(p: Law[Key], q: Law[Key], draws: int, *, level: float = 1e-6) -> float:
    """Power of `chi_square_pvalue(counts, p, draws) < level` when the draws really come from q.

    The noncentral chi-square approximation with noncentrality draws * sum (q - p)^2 / p over the
    pooled cells of p; or, if greater, the probability 1 - (1 - mass)^draws of seeing an outcome
    that p rules out.
    """
    cells = _pooled_cells(p, draws)
    forbidden = math.fsum(chance for outcome, chance in q.items() if p.get(outcome, 0.0) <= 0)
    impossible = 1.0 if forbidden >= 1 else -math.expm1(draws * math.log1p(-forbidden))
    if len(cells) < 2:
        return impossible
    noncentrality = 0.0
    for cell in cells:
        right = math.fsum(p[outcome] for outcome in cell)
        wrong = math.fsum(q.get(outcome, 0.0) for outcome in cell)
        noncentrality += draws * (wrong - right) ** 2 / right
    stats: Any = importlib.import_module("scipy.stats")
    critical = float(stats.chi2.isf(level, len(cells) - 1))
    if noncentrality == 0:
        return max(impossible, level)
    return max(impossible, float(stats.ncx2.sf(critical, len(cells) - 1, noncentrality)))
