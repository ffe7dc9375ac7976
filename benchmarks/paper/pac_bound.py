"""What the theorem says of private learning: the bound on the error, and how many rows it takes.

The bound (section 4.2 and Corollary 2 of the large margin paper, in the form proved here). A sample of n rows is drawn
from a population. There are F different prediction functions, so by Hoeffding's inequality and a union bound, with
u = sqrt(ln(2F/η)/(2n)), all errors in the sample are within u of those in the population with probability 1 - η. Let
h* have the least error err*, H(t) = {h: err(h) <= err* + t}, and ℓ = |H(t)| < |H|. Whoever is outside H(t) has more
than n(err* + t - u) mistakes in the sample and h* has at most n(err* + u), so the score of rank ℓ + 1 is more than
n(t - 2u) below the best. Let T̂ be the threshold of the search and A(b) = b ln(3/η) + b ln(2/(1 + e^{-1/b})), which
noise of scale b exceeds on one side with probability η/6 at most (docs/privacy.md, (2)). If

    n(t - 2u) >= T̂(ℓ) + A(3/ε) + A(6/ε) + A(12/ε),        where the A together are (21/ε) ln(3/η) and less than 3/2,

the search stops by rank ℓ with probability 1 - η/2, and the draw among ℓ at most then loses more than (6/ε) ln(2ℓ/η)
units with probability η/2 at most: that is the paper's Theorem 3. So with t*(n) the least such t, with probability
1 - 2η over the sample and the mechanism,

    err(A) <= err* + 2u + (6/(nε)) ln(2|H(t*)|/η).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.paper.hypothesis_classes import Learnable, Scored
from fim_private.mechanisms import LargeMargin


def shells(population: Scored, useless: int) -> tuple[list[int], list[int]]:
    """Return the excess mistakes that occur, ascending, and how many hypotheses have at most so many."""
    values, counts = np.unique(population.best - population.listed, return_counts=True)
    number = dict(zip(values.tolist(), counts.tolist(), strict=True))
    if useless:
        of_useless = population.best - population.useless
        number[of_useless] = number.get(of_useless, 0) + useless
    mistakes = sorted(number)
    sizes: list[int] = []
    for value in mistakes:
        sizes.append(number[value] + (sizes[-1] if sizes else 0))
    return mistakes, sizes


def deviation(functions: int, rows: int, eta: float) -> float:
    """Return u, by which no error in the sample is off with probability 1 - η."""
    return math.sqrt(math.log(2 * functions / eta) / (2 * rows))


def margin(mechanism: LargeMargin, rank: int, eta: float) -> float:
    """Return T̂(ℓ) + A(3/ε) + A(6/ε) + A(12/ε), in units."""
    scales = [float(scale) for scale in mechanism.scales]
    tails = sum(b * (math.log(3 / eta) + math.log(2 / (1 + math.exp(-1 / b)))) for b in scales)
    return mechanism.integer_threshold(rank) + tails


def least_margin(
    mistakes: Sequence[int], sizes: Sequence[int], population: int, needed: Sequence[float]
) -> tuple[float, int] | None:
    """Return t* and |H(t*)|; None if no t with |H(t)| < |H| has margin enough.

    needed: the t that each shell asks for. |H(t)| is sizes[k] from mistakes[k]/population up to the next.
    """
    for k in range(len(sizes) - 1):
        t = max(mistakes[k] / population, needed[k])
        if t < mistakes[k + 1] / population:
            return t, sizes[k]
    return None


def promised(
    problem: Learnable, population: Scored, useless: int, mechanism: LargeMargin, rows: Sequence[int], eta: float
) -> list[dict[str, Any]]:
    """Return u, t*, |H(t*)| and the bound for samples of so many rows; None where no t* exists."""
    mistakes, sizes = shells(population, useless)
    margins = [margin(mechanism, size, eta) for size in sizes]
    functions, found = problem.distinct(), []
    for n in rows:
        u = deviation(functions, n, eta)
        t, size = least_margin(mistakes, sizes, problem.rows, [2 * u + m / n for m in margins]) or (None, None)
        bound = None if size is None else promise(u, size, n, float(mechanism.epsilon), eta)
        found.append({"rows": n, "functions": functions, "u": u, "t*": t, "size": size, "bound": bound})
    return found


def promise(deviates: float, rank: int, rows: int, epsilon: float, eta: float) -> float:
    """Return the bound on err(A) - err*: 2u + (6/(nε)) ln(2ℓ/η)."""
    return 2 * deviates + 6 / (rows * epsilon) * math.log(2 * rank / eta)


def enough_rows(population: Scored, rows: int, mechanism: LargeMargin, eta: float) -> int:
    """Return with how many rows the margin lies above the useless ones: a quarter more than the least, in hundreds."""
    mistakes, sizes = shells(population, 0)
    useless = population.best - population.useless
    ends = [min(value, useless) for value in [*mistakes[1:], useless]]
    inside = [(size, end) for value, size, end in zip(mistakes, sizes, ends, strict=True) if value < useless]
    least = min(margin(mechanism, size, eta) * rows / end for size, end in inside)
    return math.ceil(1.25 * least / 100) * 100
