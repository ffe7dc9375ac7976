"""Supports that draw on each other, and intervals that hold for 95 % of them.

The supports of many itemsets are released with noise. Earlier counts, which decided which itemsets
are released, say about how large each support is. Here each noisy support is drawn towards what the
earlier estimates predict of it, as far as the noise makes that worthwhile. All of this is
post-processing: it reads noisy numbers only.

The intervals are those of Armstrong, Kolesár and Plagborg-Møller, "Robust empirical Bayes
confidence intervals", Econometrica 90(6), 2022. On average 95 % of them hold the true supports,
whatever these are and however wrong the prediction is. A single one of them may hold with less.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fim_private.dp.noise import Floats

# With fewer itemsets nothing can be learnt from the others.
LEAST_ITEMSETS = 20
# The spread about the prediction is estimated in √(k/66) groups of neighbours, so in 2 of 500.
# More groups follow it more closely, and fewer are estimated with less error.
_OF_A_GROUP = 66
# Earlier estimates are at least this many standard deviations of the noise, so that they have a
# logarithm. Those below one deviation still tell which supports are larger.
_LEAST_EARLIER = 0.1
# Below this many itemsets the margin of error of that estimate is a whole standard error.
_FEW = 50
# The spread is at least this much of the variance of the noise.
_LEAST_SPREAD = 1e-3
_MISSED = 0.05
# Steps of the fit, and of a search by halves.
_FITS, _HALVES = 12, 60


@dataclass(frozen=True)
class PooledSupports:
    """Estimates of k supports, and how far off they may be.

    Attributes:
        estimates: (k,) in units.
        variances: (k,) of their noise, without that which all of them share, in units squared.
        squared_biases: (k,) the mean squared bias among neighbours, in units squared.
    """

    estimates: Floats
    variances: Floats
    squared_biases: Floats

    def sigmas(self, shared_variance: Floats | float) -> Floats:
        """Return how many standard deviations the half width of a 95 % interval is: (k,).

        shared_variance: of the noise that all of them share, in units squared, (k,) or one for all.
        """
        ratios = self.squared_biases / (self.variances + shared_variance)
        return np.array([critical_value(ratio) for ratio in ratios.tolist()])

    def half_widths(self, shared_variance: float) -> Floats:
        """Return the half widths of 95 % intervals, in units: (k,)."""
        return self.sigmas(shared_variance) * np.sqrt(self.variances + shared_variance)


def pooled(noisy: Floats, earlier: Floats, variance: float) -> PooledSupports:
    """Return noisy supports drawn towards what earlier estimates predict of them.

    Args:
        noisy: (k,) noisy supports, in units, k >= LEAST_ITEMSETS.
        earlier: (k,) estimates from earlier counts, whose noise is independent of that in `noisy`.
        variance: The variance of the noise that each support has of its own, > 0, in units squared.
    """
    predicted = _predictions(noisy, earlier, variance)
    spread = _spreads(noisy - predicted, earlier, variance)
    trust = spread / (spread + variance)
    estimates = predicted + trust * (noisy - predicted)
    # That of its own noise, and that of the two coefficients of the line.
    variances = trust**2 * variance + 2 * (1 - trust) ** 2 * variance / len(noisy)
    return PooledSupports(estimates, variances, (1 - trust) ** 2 * spread)


def _predictions(noisy: Floats, earlier: Floats, variance: float) -> Floats:
    """Return exp(α + β log e) of the earlier estimates e, fitted to noisy supports: (k,)."""
    deviation = math.sqrt(variance)
    logs = np.log(np.maximum(earlier, _LEAST_EARLIER * deviation))
    features = np.column_stack([np.ones(len(logs)), logs - logs.mean()])
    level = max(float(noisy.mean()), deviation)
    coefficients = np.array([math.log(level), 1.0 if logs.std() > 0 else 0.0])
    for _ in range(_FITS):
        predicted = np.exp(features @ coefficients)
        slopes = features * predicted[:, None]
        step = np.linalg.lstsq(slopes, noisy - predicted, rcond=None)[0]
        coefficients = coefficients + np.clip(step, -1, 1)
    fitted: Floats = np.exp(features @ coefficients)
    return fitted


def _spreads(deviations: Floats, earlier: Floats, variance: float) -> Floats:
    """Return the estimated mean square of true supports about their predictions: (k,)."""
    count = len(deviations)
    number = max(math.isqrt(count // _OF_A_GROUP), 1)
    order = np.argsort(-earlier, kind="stable")
    margin = 0.5
    if count < _FEW:
        margin = 1.0
    spreads = np.empty(count)
    for places in np.array_split(order, number):
        squares = deviations[places] ** 2
        degrees = len(places) - 2 / number
        mean = float(squares.sum()) / degrees
        error = float(squares.std()) / math.sqrt(len(places))
        spread = max(mean - variance, 0.0) + margin * error
        spreads[places] = max(spread, _LEAST_SPREAD * variance)
    return spreads


def critical_value(mean_squared_bias: float) -> float:
    """Return the least χ with which 95 % of intervals hold, whatever their biases are.

    mean_squared_bias: the mean of the squared biases, >= 0, in squared standard deviations. It is
    rounded up to a hundredth of itself.
    """
    step = math.ceil(100 * math.log(max(mean_squared_bias, 1e-4)))
    return _critical_value(step)


@lru_cache(maxsize=1 << 12)
def _critical_value(step: int) -> float:
    mean_square = math.exp(step / 100)
    low, high = 0.0, 2.0 + math.sqrt(mean_square / _MISSED + 1)
    for _ in range(_HALVES):
        middle = (low + high) / 2
        if _worst_miss(mean_square, middle) > _MISSED:
            low = middle
        else:
            high = middle
    return high


def _worst_miss(mean_square: float, chi: float) -> float:
    """Return the largest probability of |b + Z| > χ for any bias b with E b² = `mean_square`.

    That is the concave majorant of `_miss`: a straight line from 0 to where it touches, then
    `_miss` itself (equation 7 of the paper).
    """
    if chi * chi <= 3:
        return _miss(mean_square, chi)
    # The slope from 0 rises up to where the line touches, and then falls.
    start = _miss(0.0, chi)
    low, high = 0.0, (chi + 4) ** 2
    for _ in range(_HALVES):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        if (_miss(first, chi) - start) / first < (_miss(second, chi) - start) / second:
            low = first
        else:
            high = second
    touch = (low + high) / 2
    if mean_square >= touch:
        return _miss(mean_square, chi)
    return start + mean_square / touch * (_miss(touch, chi) - start)


def _miss(squared_bias: float, chi: float) -> float:
    bias = math.sqrt(squared_bias)
    return (math.erfc((chi - bias) / math.sqrt(2)) + math.erfc((chi + bias) / math.sqrt(2))) / 2
