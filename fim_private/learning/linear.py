"""A linear classifier, trained privately: regularised logistic regression by steps in whole
numbers, and noise.

One row moves the weights by a bounded distance after any number of steps, not only near a minimum.
Nothing rests on floating point: rows, weights and slopes are whole numbers, each sum exact
(docs/privacy.md, Theorem 24).
"""

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fim_private.counting.work import Int64
from fim_private.dp.arguments import as_array, positive_integer, whole_number
from fim_private.dp.bounds import exp_bounds, power_bounds
from fim_private.dp.charge import Charging, begin
from fim_private.dp.cost import Number, PrivacyCost
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.noise import Randomness, discrete_laplace, discrete_laplace_integer
from fim_private.dp.parameters import exact_epsilon, exact_positive
from fim_private.errors import ParameterError, parameter
from fim_private.learning.points import check_some
from fim_private.options import NEIGHBORS

ONE = 1 << 20  # a length of 1 in steps of the whole numbers
# with more the squares of a row, 2^40 each, could have a sum beyond 64-bit integers
MOST_COLUMNS = 1 << 22
Rows = Int64


def unit_rows(rows: ArrayLike, *, center: ArrayLike, scale: ArrayLike) -> Rows:
    """Return rows for train_linear: (rows - center) / scale in steps of 2^-20, shortened where
    longer than 1.

    rows: (n, d) finite numbers, d at most 2^22. center: a number or (d,). scale: a number or (d,),
    above 0. Both must be **public**, not computed from these rows, or one row would change all
    others. With publicly known bounds, center=low and scale=(high - low) * √d map each row into the
    unit ball. With a public mean and deviation, scale=4 * deviation does for most. A constant
    column of center 0 makes an intercept.

    Returns (n, d) int64 with Σ x² <= 2^40 in each row. A coordinate beyond -1 or 1 is cut to it,
    then a row longer than 1 is shortened. Each depends on its own row alone, so nothing is spent.
    Raises ParameterError.
    """
    table = _finite("rows", rows)
    _check_columns(table)
    middle, unit = _finite("center", center), _finite("scale", scale)
    for name, numbers in (("center", middle), ("scale", unit)):
        if numbers.shape not in ((), table.shape[1:]):
            raise ParameterError(
                f"{parameter(name)} must be one number, or one for each column "
                f"of {parameter('rows')}"
            )
    if not (unit > 0).all():
        raise ParameterError(f"{parameter('scale')} must be above 0")
    # Each operation on floats is rounded by itself, element by element: no row touches another.
    with np.errstate(over="ignore"):
        steps: Rows = np.rint(np.clip((table - middle) / unit, -1, 1) * ONE).astype(np.int64)
    squares = (steps * steps).sum(axis=1)
    long = squares > ONE * ONE
    # above the root, whatever its rounding
    lengths = np.sqrt(squares[long].astype(np.float64)).astype(np.int64) + 1
    steps[long] = np.sign(steps[long]) * (np.abs(steps[long]) * ONE // lengths[:, None])
    return steps


def _check_columns(table: NDArray[np.generic]) -> None:
    if table.ndim != 2 or not table.shape[1]:
        raise ParameterError(f"{parameter('rows')} must be a table with one column at least")
    if table.shape[1] > MOST_COLUMNS:
        raise ParameterError(f"{parameter('rows')} must have at most {MOST_COLUMNS:,} columns")


def _finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return finite numbers as doubles. Raises ParameterError for others."""
    numbers = as_array(name, values)
    if numbers.dtype.kind not in "iufb":
        raise ParameterError(
            f"{parameter(name)} must be numbers, not of the type {numbers.dtype.name!r}"
        )
    numbers = numbers.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ParameterError(
            f"{parameter(name)} must be finite numbers: none may be missing or infinite"
        )
    return numbers


def _checked_rows(rows: ArrayLike) -> Rows:
    """Return rows for train_linear. Raises ParameterError for others."""
    table = as_array("rows", rows)
    _check_columns(table)
    if table.dtype.kind not in "iu":
        raise ParameterError(
            f"{parameter('rows')} must be whole numbers, in steps of 2^-20, not of the type "
            f"{table.dtype.name!r}: unit_rows makes them of other numbers"
        )
    # Compared before it is squared, which could overflow; and before it is cast, which could wrap.
    fits = ((table >= -ONE) & (table <= ONE)).all()
    steps: Rows = np.ascontiguousarray(table, dtype=np.int64)
    if not fits or ((steps * steps).sum(axis=1) > ONE * ONE).any():
        raise ParameterError(
            f"{parameter('rows')} must have a length of at most 1, which is 2^20 steps: unit_rows "
            "shortens those that are longer"
        )
    return steps


def _checked_labels(labels: ArrayLike, rows: int) -> Int64:
    """Return labels of -1 and 1, one for each row. Raises ParameterError for others."""
    numbers = as_array("labels", labels)
    if numbers.shape != (rows,):
        raise ParameterError(
            f"{parameter('labels')} must be as many as {parameter('rows')}: one for each"
        )
    is_whole = numbers.dtype.kind in "iu"
    if (rows and not is_whole) or not ((numbers == 1) | (numbers == -1)).all():
        raise ParameterError(f"{parameter('labels')} must be -1 or 1, whole numbers")
    return numbers.astype(np.int64)


_MOST_STEPS = 10**6
_REGULARIZATION = (1e-6, 1000.0)
# the share of ε that buys how many rows there are, as in mine with count=True
_COUNTED = Fraction(1, 20)
# A slope of the loss is a whole number of 2^-30, and known on a grid of 2^-6 between margins of -16
# and 16.
SLOPE_BITS, CELL_BITS, CELLS = 30, 6, 1 << 10
# So many rows are summed at once: 2^12 slopes of 2^30 times 2^20 stay below 2^63.
_BLOCK = 1 << 12


@dataclass(frozen=True)
class LinearClassifier:
    """Weights of a linear classifier, made private by train_linear.

    weights: (d,) Fractions. The margin of a row x, in steps of 2^-20, is Σ weights x / 2^20: above
    0 it says 1.
    """

    weights: tuple[Fraction, ...]

    def margins(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Return the margin of each row, rounded to a double: (n,). rows: as of train_linear, or
        ParameterError.
        """
        numbers, grid = self._whole(rows)
        return numbers.astype(np.float64) / (ONE * grid)

    def ramp_score(self, rows: ArrayLike, labels: ArrayLike, *, least_rows: int = 1) -> Fraction:
        """Return the mean over rows of (1 + label * margin) / 2, cut to [0, 1]: exactly.

        rows, labels: as of train_linear, m >= 0 of them. least_rows: M >= 1, public; the sum of
        fewer is divided by M. A row replaced, added or removed moves the score by 1/M at most,
        weights moved by a length of r by r/2 at most. So its stability for validate is
        max(linear_sensitivity(...) / 2, Fraction(1, M)). Raises ParameterError.
        """
        least = positive_integer("least_rows", least_rows)
        numbers, grid = self._whole(rows)
        signed = numbers * _checked_labels(labels, len(numbers))
        unit = ONE * grid
        # A margin of a noisy classifier may be any whole number, so this is Python's arithmetic
        # where it must be.
        scores = [min(max(margin, -unit), unit) + unit for margin in signed.tolist()]
        return Fraction(sum(scores), 2 * unit * max(len(scores), least))

    def _whole(self, rows: ArrayLike) -> tuple[NDArray[Any], int]:
        """Return each margin in steps of 1 / (2^20 grid), exactly, and the grid."""
        table = _checked_rows(rows)
        if table.shape[1] != len(self.weights):
            raise ParameterError(
                f"{parameter('rows')} must have as many columns as those that it was trained on"
            )
        grid = math.lcm(*(weight.denominator for weight in self.weights))
        whole = [int(weight * grid) for weight in self.weights]
        # By Cauchy and Schwarz no partial sum is longer than the weights, for a row is not longer
        # than 1.
        fits = ONE**2 * sum(weight * weight for weight in whole) < 1 << 124
        kind = np.int64 if fits else object
        return table.astype(kind, copy=False) @ np.array(whole, dtype=kind), grid


def train_linear(
    rows: ArrayLike,
    labels: ArrayLike,
    *,
    regularization: Number,
    epsilon: Number,
    steps: int,
    neighbors: str = NEIGHBORS,
    least_rows: int | None = None,
    **charging: Unpack[Charging],
) -> LinearClassifier:
    """Train a linear classifier privately: logistic loss plus regularization/2 times the squared
    length of the weights.

    rows: (n, d) whole numbers in steps of 2^-20, each row with Σ x² <= 2^40: unit_rows makes them.
        One row with its label is a unit. Where there may be no rows at all give an array, which has
        a number of columns.
    labels: (n,) of -1 and 1.
    regularization: λ, 1e-6 to 1000. epsilon: 1e-9 to 1e9. steps: 1 to 1,000,000 steps of gradient
        descent from 0, each 1 / (1/4 + λ) times the gradient. Some 5 (1/4 + λ) / λ come near the
        minimum, and fewer need less noise.
    neighbors: "add-remove", or "replace-one" (n >= 1 is public).
    least_rows: N >= 1, a public number of rows that you are sure to have. With fewer, the sum of
        their losses is divided by N, which draws the weights to 0, and is as private. Unless given,
        N is n under "replace-one"; under "add-remove" a twentieth of epsilon buys a noisy n to take
        for it. In train_and_validate give it: the stability of a score is proved for a public N
        alone. charging: as in Charging.

    Returns the classifier, (epsilon, 0)-private, with discrete Laplace noise of scale √d *
    linear_sensitivity(N, d, ...) / epsilon on each weight (19/20 of epsilon where N was bought).
    Raises ParameterError. Source: Chaudhuri and others, "Differentially private empirical risk
    minimization" (2011); docs/privacy.md, Theorem 24.
    """
    regularization = exact_positive("regularization", regularization, _REGULARIZATION)
    steps = whole_number("steps", steps, least=1, most=_MOST_STEPS)
    epsilon, relation = exact_epsilon(epsilon), exact_neighbors(neighbors)
    if least_rows is not None:
        least_rows = positive_integer("least_rows", least_rows)
    table = _checked_rows(rows)
    check_some("rows", table, relation)
    signed = table * _checked_labels(labels, len(table))[:, None]
    randomness = begin(
        "train_linear",
        relation,
        PrivacyCost(epsilon, 0),
        charging,
        columns=table.shape[1],
        regularization=regularization,
        steps=steps,
        least_rows=least_rows,
    )
    if least_rows is None:
        least_rows = len(table)
        if relation is Neighbors.ADD_REMOVE:
            noise = discrete_laplace_integer(1 / (_COUNTED * epsilon), randomness)
            least_rows = max(1, least_rows + noise)
            epsilon -= _COUNTED * epsilon
    weights = descend(signed, regularization, steps, least_rows)
    return noisy(weights, least_rows, regularization, epsilon, steps, randomness)


def linear_sensitivity(rows: int, columns: int, *, regularization: Number, steps: int) -> Fraction:
    """Return the most that one row moves the weights of train_linear before noise, as a length:
    public.

    rows: n >= 1, the least_rows of train_linear or, under replace-one, how many there are. A row
    replaced, added or removed moves them no further; nor, while its randomness is fixed, those
    after noise. columns: d, 1 to 2^22.
    regularization, steps: λ and T, as of train_linear. Raises ParameterError.

    It is (2/n + 2^-29 + √d 2^-g (1/4 + λ)) (1 - (1 - λ/(1/4 + λ))^T) / λ, rounded up
    (docs/privacy.md, Theorem 24).
    """
    regularization = exact_positive("regularization", regularization, _REGULARIZATION)
    n = positive_integer("rows", rows)
    d = whole_number("columns", columns, least=1, most=MOST_COLUMNS)
    steps = whole_number("steps", steps, least=1, most=_MOST_STEPS)
    curvature = Fraction(1, 4) + regularization
    grid = 1 << grid_bits(regularization)
    rounding = Fraction(2, 1 << SLOPE_BITS) + _root(d) * curvature / grid
    step_change = Fraction(2, n) + rounding
    bits = 128
    factor = math.floor((1 << bits) * Fraction(1, 4) / curvature)  # 1 - λ/(1/4 + λ)
    forgotten, _ = power_bounds((factor, factor + 1), steps, bits)
    return step_change * (1 - Fraction(forgotten, 1 << bits)) / regularization


def grid_bits(regularization: Fraction) -> int:
    """Return the g of the weights' grid 2^-g: the finest, up to 2^-41, on which no margin exceeds
    2^62 steps.
    """
    return min(41, math.floor(regularization * (1 << 41)).bit_length() - 1)


def descend(signed: Rows, regularization: Fraction, steps: int, least: int = 1) -> list[int]:
    """Return the weights, (d,) in steps of 2^-g, for (n, d) rows times labels, λ and N >= 1. **Not
    private.**
    """
    rows, columns = signed.shape
    grid = grid_bits(regularization)
    unit = max(rows, least) << SLOPE_BITS + 20
    divisor = unit * (regularization.denominator + 4 * regularization.numerator)
    weights = np.zeros(columns, dtype=np.int64)
    for _ in range(steps):
        pull = [0] * columns
        for start in range(0, rows, _BLOCK):
            block = signed[start : start + _BLOCK]
            sums = slopes(block @ weights, grid) @ block
            pull = [*map(operator.add, pull, sums.tolist())]
        # With n for the larger of both: w - (λw - pull/n) / (1/4 + λ) = (w + 4 pull/n) / (1 + 4λ),
        # rounded down.
        moved = [
            (weight * unit + (total << grid + 2)) * regularization.denominator // divisor
            for weight, total in zip(weights.tolist(), pull, strict=True)
        ]
        weights = np.array(moved, dtype=np.int64)
    return weights.tolist()


def noisy(
    weights: list[int],
    rows: int,
    regularization: Fraction,
    epsilon: Fraction,
    steps: int,
    randomness: Randomness,
) -> LinearClassifier:
    """Return weights that descend gave for at least ``rows`` rows, with noise that makes them
    private.
    """
    grid = grid_bits(regularization)
    length = linear_sensitivity(rows, len(weights), regularization=regularization, steps=steps)
    # the sum of all changes, in steps
    apart = math.ceil(_root(len(weights)) * length * (1 << grid))
    noise = discrete_laplace(apart / epsilon, len(weights), randomness).tolist()
    steps_of_grid = map(operator.add, weights, noise)
    return LinearClassifier(tuple(Fraction(step, 1 << grid) for step in steps_of_grid))


def slopes(margins: Int64, grid: int) -> Int64:
    """Return 1 / (1 + e^margin) in steps of 2^-30, to within 1 + 2^-18 steps, and never below.

    margins: int64 in steps of 2^-(20 + grid), at most 2^62 in size.
    """
    table, falls = _table()
    shift = 20 + grid - CELL_BITS
    reach = CELLS << shift
    if reach <= 1 << 62:
        margins = np.clip(margins, -reach, reach - 1)
    cells = (margins >> shift) + CELLS
    within = margins & ((1 << shift) - 1)
    fine = min(shift, 40)  # a fall is at most 2^22, so that the product stays below 2^62
    return np.asarray(table[cells] - (falls[cells] * (within >> shift - fine) >> fine))


@cache
def _table() -> tuple[Int64, Int64]:
    """Return 2^30 / (1 + e^z) at the grid's points z = -16, …, 16, rounded, and how far each lies
    above the next.
    """
    decays = (exp_bounds(cell, 1 << CELL_BITS, 64)[0] for cell in range(CELLS + 1))
    right = [(decay << SLOPE_BITS) // ((1 << 64) + decay) for decay in decays]
    left = [(1 << SLOPE_BITS) - value for value in reversed(right[1:])]
    table = np.array([*left, *right], dtype=np.int64)
    return table, table[:-1] - table[1:]


def _root(number: int) -> Fraction:
    """Return √number, rounded up to a multiple of 2^-32."""
    return Fraction(math.isqrt((number << 64) - 1) + 1, 1 << 32)
