"""Noisy weights drawn towards what others predict of them: post-processing, which costs nothing.

The model of Fay and Herriot ("Estimates of income for small places", 1979) with a logarithmic link: weight i is
p_i = exp(b · x_i), times a factor of its own of variance c, plus noise of a known variance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_STEPS = 12
_RIDGE = 1e-3
# Fewer weights than coefficients and so many more tell nothing.
_SPARE = 5
# The variance c, and logarithms, stay in these ranges.
_LEAST_SPREAD, _LARGEST_SPREAD = 1e-3, 10.0
_BELOW_NOISE, _LARGEST_LOG = 8.0, 40.0
# No step moves a logarithm further than by a weight that is this much of its prediction off.
_LEAST_RATIO, _LARGEST_RATIO = -1.0, 3.0


def shrunken(
    weights: NDArray[np.float64], variance: float, features: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return estimates of the true weights, each between its noisy weight and its prediction, and what is left open.

    weights: (n,) with normal noise. variance: of that noise, > 0. features: (n, q) logarithms, public or noisy.
    Both are (n,): the estimates, and the standard deviation of each. A weight has σ √(c p² / (σ² + c p²)), given its
    prediction, and the prediction has an error of its own, by the curvature of what was fitted. With few weights,
    n < q + 6, they are returned as they are, with the σ of the noise.
    """
    n, q = features.shape
    if n < q + 1 + _SPARE:
        return weights.copy(), np.full(n, math.sqrt(variance))
    x = np.column_stack([np.ones(n), (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-9)])
    noise = math.sqrt(variance)
    coefficients = np.linalg.lstsq(x, np.log(np.maximum(weights, noise)), rcond=None)[0]
    spread = 0.3
    for _ in range(_STEPS):  # iterated weighted least squares, and moments for the spread
        logs = _logs(x, coefficients, noise)
        p = np.asarray(np.exp(logs), dtype=np.float64)
        precision = p * p / (variance + spread * p * p)
        aim = logs + np.clip((weights - p) / p, _LEAST_RATIO, _LARGEST_RATIO)
        normal = x.T @ (x * precision[:, None]) + _RIDGE * np.eye(q + 1)
        coefficients = np.linalg.solve(normal, x.T @ (precision * aim))
        p = np.exp(_logs(x, coefficients, noise))
        trust = (p / (variance + spread * p * p)) ** 2
        moment = float((trust * ((weights - p) ** 2 - variance)).sum() / (trust * p * p).sum())
        spread = min(max(moment, _LEAST_SPREAD), _LARGEST_SPREAD)
    drawn: NDArray[np.float64] = variance / (variance + spread * p * p)
    precision = p * p / (variance + spread * p * p)
    covariance = np.linalg.inv(x.T @ (x * precision[:, None]) + _RIDGE * np.eye(q + 1))
    of_prediction = drawn * p * np.sqrt(np.einsum("ij,jk,ik->i", x, covariance, x))
    return weights + drawn * (p - weights), np.hypot(noise * np.sqrt(1 - drawn), of_prediction)


def _logs(x: NDArray[Any], coefficients: NDArray[Any], noise: float) -> NDArray[np.float64]:
    """Return the logarithms of the predictions, (n,), within a range that keeps arithmetic sound."""
    return np.asarray(np.clip(x @ coefficients, math.log(noise) - _BELOW_NOISE, _LARGEST_LOG))
