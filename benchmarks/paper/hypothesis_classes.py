"""Classes of hypotheses on labelled rows, and how private learning does on them, and the bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.datasets import sources
from benchmarks.frame.support_spectra import items_of, transactions
from fim_private.mechanisms import LargeMargin, Mechanism
from fim_private.spectrum import SupportSpectrum

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
GENERATED = "generated"
# of the FIMI file of mushrooms: poisonous (3,916 rows in the UCI data), edible (4,208)
CLASS_ITEMS = (1, 2)
NOISE = 0.1  # of the generated labels
_MANY = 10**6


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows with a label of -1 or 1, and one useless prediction that any number of hypotheses may
    share: always -1.
    """

    values: NDArray[Any]
    labels: Counts

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.labels)

    def useless(self, weights: Counts) -> int:
        """Return how many rows a useless hypothesis predicts correctly, a row counting by its
        weight.
        """
        return int(weights[self.labels < 0].sum())


@dataclass(frozen=True, eq=False)
class Conjunctions(Labelled):
    """Positive iff a row has all of some features, up to `literals` of them; and the same with the
    signs exchanged.

    values: (rows, d) of 0.0 and 1.0. Useless: a conjunction with a feature that no row has.
    """

    literals: int = 3

    def correct(self, weights: Counts) -> Counts:
        """Return the correct predictions: negatives, plus positives that have all features, less
        negatives that do.
        """
        difference = subset_sums(
            self.values, (weights * self.labels).astype(np.float64), self.literals
        )
        straight = self.useless(weights) + np.rint(difference).astype(np.int64)
        return np.concatenate([straight, weights.sum() - straight])

    def distinct(self) -> int:
        """Return twice the number of different sets of rows that conjunctions choose, found by
        hashing to 62 bits.
        """
        random = np.random.default_rng(0)
        keys = [random.integers(1, 1 << 31, self.rows).astype(np.float64) for _ in range(2)]
        hashed = [subset_sums(self.values, key, self.literals) for key in keys]
        return 2 * len(np.unique(np.append(hashed[0] + 1j * hashed[1], 0)))


@dataclass(frozen=True, eq=False)
class Thresholds(Labelled):
    """Positive iff a row's value, a whole number >= 0, is at least θ, for θ up to the largest.
    Useless: a θ beyond.
    """

    def correct(self, weights: Counts) -> Counts:
        """Return the correct predictions of θ = 0, 1, …."""
        by_value = np.bincount(self.values, weights * self.labels)
        at_least: Counts = np.rint(by_value[::-1].cumsum()[::-1]).astype(np.int64)
        return at_least + self.useless(weights)

    def distinct(self) -> int:
        """Return the number of thresholds that matter, and one for those beyond."""
        return len(np.unique(self.values)) + 1


Learnable = Conjunctions | Thresholds


def subset_sums(features: Floats, values: Floats, most: int) -> Floats:
    """Return, for each set of 1 to `most` <= 3 features, the sum of the values of the rows that
    have all of them.
    """
    found = [features.T @ values]
    for first in range(features.shape[1] - 1 if most > 1 else 0):
        has = features[:, first] > 0
        others, weights = features[has, first + 1 :], values[has]
        found.append(others.T @ weights)
        if most > 2:
            found.append(
                (others.T @ (others * weights[:, None]))[np.triu_indices(others.shape[1], 1)]
            )
    return np.concatenate(found)


@lru_cache(maxsize=1)
def learnable(name: str, folder: str | None) -> Learnable:
    """Return a data set with its hypotheses."""
    if name == GENERATED:
        return planted(4000, 12, NOISE, np.random.default_rng(7))
    found, _ = sources(None if folder is None else Path(folder))
    baskets = transactions(found[name])
    lengths = np.diff(baskets.offsets)
    row = np.repeat(np.arange(baskets.baskets), lengths)
    if name == "retail":
        has = np.zeros(baskets.baskets, dtype=np.int64)
        has[row[baskets.items == np.bincount(baskets.items).argmax()]] = 1
        return Thresholds(lengths - has, 2 * has - 1)
    features = np.zeros((baskets.baskets, len(baskets.vocabulary)))
    features[row, baskets.items] = 1
    labels = items_of(baskets)
    positive, negative = (features[:, labels.index(item)] for item in CLASS_ITEMS)
    if (positive + negative != 1).any():
        raise ValueError(f"items {CLASS_ITEMS} are not the two classes of {name}")
    others = [code for code, label in enumerate(labels) if label not in CLASS_ITEMS]
    return Conjunctions(features[:, others], np.where(positive > 0, 1, -1))


def planted(rows: int, width: int, noise: float, random: np.random.Generator) -> Conjunctions:
    """Return rows of random features, labelled by the first two together, with so much label noise.

    Four more features are the first two but for 1 and 2 % of the rows, so that many hypotheses are
    nearly the best.
    """
    features = random.random((rows, width)) < 0.7
    for copy in range(2, 6):
        features[:, copy] = features[:, copy % 2] ^ (random.random(rows) < copy // 2 / 100)
    labels = np.where(features[:, :2].all(axis=1), 1, -1)
    return Conjunctions(
        features.astype(np.float64), np.where(random.random(rows) < noise, -labels, labels)
    )


@dataclass(frozen=True, eq=False)
class Scored:
    """Correct predictions of all hypotheses on some rows: of those listed, and of one that is
    useless.
    """

    listed: Counts
    useless: int

    @property
    def best(self) -> int:
        """The most correct predictions."""
        return max(int(self.listed.max()), self.useless)


def scored(problem: Learnable, weights: Counts | None = None) -> Scored:
    """Score all hypotheses on the rows, each counting by its weight, or as once."""
    given = np.ones(problem.rows, dtype=np.int64) if weights is None else weights
    return Scored(problem.correct(given), problem.useless(given))


def samples(problem: Learnable, rows: int, number: int, seed: int) -> Iterator[Scored]:
    """Yield the scores on samples of so many rows, drawn with replacement."""
    for one in range(number):
        random = np.random.default_rng([seed, rows, one])
        drawn = np.bincount(random.integers(0, problem.rows, rows), minlength=problem.rows)
        yield scored(problem, drawn.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Choice:
    """The exact probability of each listed hypothesis, of the useless ones together, and of
    abstaining.
    """

    listed: Floats
    useless: float
    abstain: float


def choice(sample: Scored, useless: int, mechanism: Mechanism) -> Choice:
    """Return what a mechanism chooses from these scores, with so many useless hypotheses among the
    candidates.

    Listed hypotheses that score below the useless ones get their score if they are a millionth of
    them or less: that moves no more than a millionth of what the useless have, and then the search
    need not walk through 10^300 ranks.
    """
    scores, universe = sample.listed, len(sample.listed) + useless
    if useless > _MANY * int((scores < sample.useless).sum()):
        scores = np.maximum(scores, sample.useless)
    lowest = min(int(scores.min()), sample.useless)
    levels, place, counts = np.unique(scores - lowest, return_inverse=True, return_counts=True)
    multiplicity = dict(zip(levels.tolist(), counts.tolist(), strict=True))
    of_useless = sample.useless - lowest
    multiplicity[of_useless] = multiplicity.get(of_useless, 0) + useless
    present = sorted((item for item in multiplicity.items() if item[0] and item[1]), reverse=True)
    outcome = mechanism.distribution(SupportSpectrum(present, universe_size=universe))
    chance = dict(zip(outcome.levels.tolist(), outcome.probabilities.tolist(), strict=True))
    each = np.array(
        [chance.get(level, 0.0) / float(multiplicity[level]) for level in levels.tolist()]
    )
    unlisted = (
        chance.get(of_useless, 0.0) * (useless / multiplicity[of_useless]) if useless else 0.0
    )
    return Choice(each[place], unlisted, outcome.abstain)


def excess_errors(population: Scored, rows: int) -> tuple[Floats, float]:
    """Return err(h) - err* of the listed hypotheses and of a useless one."""
    return (population.best - population.listed) / rows, (
        population.best - population.useless
    ) / rows


def expected(chosen: Choice, excess: tuple[Floats, float]) -> float:
    """Return the expected excess error; abstaining counts as predicting what the useless ones
    do.
    """
    return float(chosen.listed @ excess[0]) + (chosen.useless + chosen.abstain) * excess[1]


def quantile(values: Floats, chance: Floats, share: float) -> float:
    """Return the least value that is not exceeded with at least this probability."""
    order = np.argsort(values)
    return float(values[order[np.searchsorted(np.cumsum(chance[order])[:-1], share - 1e-12)]])


def paired(less: Floats) -> list[float]:
    """Return the mean of differences over the same samples, and its standard error."""
    return [float(less.mean()), float(less.std(ddof=1) / math.sqrt(len(less)))]


# The bound.


def shells(population: Scored, useless: int) -> tuple[list[int], list[int]]:
    """Return the excess mistakes that occur, ascending, and how many hypotheses have at most so
    many.
    """
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
    noise = mechanism.noise
    scales = map(float, (noise.maximum_scale, noise.shared_scale, noise.step_scale))
    tails = sum(b * (math.log(3 / eta) + math.log(2 / (1 + math.exp(-1 / b)))) for b in scales)
    return mechanism.threshold(rank) + tails


def least_margin(
    mistakes: Sequence[int], sizes: Sequence[int], population: int, needed: Sequence[float]
) -> tuple[float, int] | None:
    """Return t* and |H(t*)|; None if no t with |H(t)| < |H| has margin enough.

    needed: the t that each shell asks for. |H(t)| is sizes[k] from mistakes[k]/population up to the
    next.
    """
    for k in range(len(sizes) - 1):
        t = max(mistakes[k] / population, needed[k])
        if t < mistakes[k + 1] / population:
            return t, sizes[k]
    return None


def promised(
    problem: Learnable,
    population: Scored,
    useless: int,
    mechanism: LargeMargin,
    rows: Sequence[int],
    eta: float,
) -> list[dict[str, Any]]:
    """Return u, t*, |H(t*)| and the bound for samples of so many rows; None where no t* exists."""
    mistakes, sizes = shells(population, useless)
    margins = [margin(mechanism, size, eta) for size in sizes]
    functions, found = problem.distinct(), []
    for n in rows:
        u = deviation(functions, n, eta)
        t, size = least_margin(mistakes, sizes, problem.rows, [2 * u + m / n for m in margins]) or (
            None,
            None,
        )
        bound = None if size is None else promise(u, size, n, float(mechanism.epsilon), eta)
        found.append(
            {"rows": n, "functions": functions, "u": u, "t*": t, "size": size, "bound": bound}
        )
    return found


def promise(deviates: float, rank: int, rows: int, epsilon: float, eta: float) -> float:
    """Return the bound on err(A) - err*: 2u + (6/(nε)) ln(2ℓ/η)."""
    return 2 * deviates + 6 / (rows * epsilon) * math.log(2 * rank / eta)


def enough_rows(population: Scored, rows: int, mechanism: LargeMargin, eta: float) -> int:
    """Return with how many rows the margin lies above the useless ones: a quarter more than the
    least, in hundreds.
    """
    mistakes, sizes = shells(population, 0)
    useless = population.best - population.useless
    ends = [min(value, useless) for value in [*mistakes[1:], useless]]
    inside = [
        (size, end)
        for value, size, end in zip(mistakes, sizes, ends, strict=True)
        if value < useless
    ]
    least = min(margin(mechanism, size, eta) * rows / end for size, end in inside)
    return math.ceil(1.25 * least / 100) * 100
