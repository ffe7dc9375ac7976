"""What `corollary1.py` computes: exact distributions, exact draws, and runs of the command on open
vocabularies.
"""

from __future__ import annotations

import json
import math
import string
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.frame.bisection import least
from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import Levels, levels_of, part, spectrum, transactions
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.noise import Randomness
from fim_private.mechanisms import (
    Exponential,
    LargeMargin,
    LimitedDomain,
    Mechanism,
    NamedExponential,
    OutcomeDistribution,
    TightMargin,
)

DELTA = 1e-6
CONFIDENCE = 0.95


def errors(
    about: Source | Levels, size: int, exponents: list[int], epsilon: float, known: list[int]
) -> dict[str, Any]:
    """Return mean errors f_max - f(I) in units, the items of the universe being 10^exponent.

    about: a data set, or a synthetic spectrum. known: exponents for which large margin is told the
    universe as well.
    """
    levels, items = _levels(about, size)
    maximum = levels[0][0]
    large_margin = LargeMargin(epsilon, DELTA, Neighbors.REPLACE_ONE)
    unknown = large_margin.distribution(spectrum(levels))
    rows = []
    for exponent in (e for e in exponents if 10**e >= items):
        candidates = math.comb(10**exponent, size)
        row: dict[str, Any] = {"exponent": exponent, "ln_candidates": math.log(candidates)}
        whole = spectrum(levels, candidates)
        for neighbors in Neighbors:
            row[neighbors] = mean_error(
                Exponential(epsilon, neighbors).distribution(whole), maximum
            )
        if exponent in known:
            row["large-margin"] = mean_error(large_margin.distribution(whole), maximum)
        rows.append(row)
    own = mean_error(unknown, maximum)
    return {
        "maximum": maximum,
        "itemsets": sum(m for _, m in levels),
        "large-margin": own,
        "abstain": unknown.abstain,
        "rows": rows,
        "crossing": {
            neighbors: crossing(levels, own, epsilon, neighbors) for neighbors in Neighbors
        },
    }


def _levels(about: Source | Levels, size: int) -> tuple[Levels, int]:
    """Return the levels and the number of items that occur."""
    if isinstance(about, Source):
        return levels_of(about, size), len(transactions(about).vocabulary)
    return about, 0


def mean_error(outcomes: OutcomeDistribution, maximum: int) -> float:
    """Return E[c(1) - c(I)]; to abstain is to name an itemset that nobody has."""
    return float(
        ((maximum - outcomes.levels) * outcomes.probabilities).sum() + maximum * outcomes.abstain
    )


def crossing(
    levels: Levels, error: float, epsilon: float, neighbors: str
) -> dict[str, float | None]:
    """Return ln K from which on the exponential mechanism's mean error is above that of large
    margin.

    predicted: K zeros cause that error once K e^{-rate c(1)} c(1) is as much, at ln K = rate c(1) +
    ln(error / c(1)). Both None where large margin abstains more often than not.
    """
    maximum, mechanism = levels[0][0], Exponential(epsilon, neighbors)
    if error > 0.5 * maximum:
        return {"measured": None, "predicted": None}
    occurring = sum(m for _, m in levels)

    def worse(doublings: int) -> bool:
        outcomes = mechanism.distribution(spectrum(levels, occurring + 2**doublings))
        return mean_error(outcomes, maximum) > error

    doublings = least(worse, 0)
    rate = float(mechanism.rate)
    return {
        "measured": math.log(occurring + 2**doublings),
        "predicted": rate * maximum + math.log(error / maximum),
    }


@lru_cache
def needed(kind: str, epsilon: float, neighbors: str, candidates: int | None = None) -> int:
    """Return the least support at which an itemset without rivals is named with 95 % probability.

    candidates: for the exponential mechanism, over all of them or told their number only.
    """
    makers: dict[str, Callable[[], Mechanism]] = {
        "exponential": lambda: Exponential(epsilon, neighbors),
        "large-margin": lambda: LargeMargin(epsilon, DELTA, neighbors),
        "tight-margin": lambda: TightMargin(epsilon, DELTA, neighbors),
        "limited-domain": lambda: LimitedDomain(epsilon, DELTA, neighbors),
        "named-exponential": lambda: NamedExponential(epsilon, DELTA, candidates or 1, neighbors),
    }
    mechanism = makers[kind]()
    size = candidates if kind == "exponential" else None

    def named(support: int) -> bool:
        outcomes = mechanism.distribution(spectrum(((support, 1),), size))
        return bool(outcomes.probabilities[outcomes.levels == support].sum() >= CONFIDENCE)

    return least(named, 1)


def needs(size: int, exponents: list[int], epsilon: float) -> dict[str, Any]:
    """Return the supports needed as the items of the universe grow, and where the two mechanisms
    cross.
    """
    found: dict[str, Any] = {"exponents": exponents}
    for neighbors in Neighbors:
        lead = needed("large-margin", epsilon, neighbors)
        rate = float(Exponential(epsilon, neighbors).rate)
        mechanism = Exponential(epsilon, neighbors)

        def fails(doublings: int, mechanism: Exponential = mechanism, lead: int = lead) -> bool:
            outcomes = mechanism.distribution(spectrum(((lead, 1),), 2**doublings))
            return bool(outcomes.probabilities[0] < CONFIDENCE)

        found[neighbors] = {
            "exponential": [
                needed("exponential", epsilon, neighbors, math.comb(10**e, size)) for e in exponents
            ],
            "large-margin": lead,
            # P = 1 / (1 + (K - 1) e^{-rate c}) is 95 % at ln K = rate c - ln 19.
            "crossing": {
                "measured": least(fails, 1) * math.log(2),
                "predicted": rate * lead - math.log(CONFIDENCE / (1 - CONFIDENCE)),
            },
        }
    return found


def coverage(
    about: Source | Levels,
    size: int,
    share: float,
    epsilon: float,
    delta: float,
    etas: list[float],
    draws: int,
    seed: int,
) -> dict[str, Any]:
    """Draw releases, and hold them to Theorem 3 wherever its margin condition is met.

    share: of the baskets that are kept, at random. The condition is the paper's, with T; the
    mechanism tests with T̂, some two units more, which makes it harder to keep.
    """
    if isinstance(about, Source):
        levels, units = levels_of(about, size, share, seed), part(about, share, seed).baskets
    else:
        levels, units = about, None
    mechanism = LargeMargin(epsilon, delta, Neighbors.REPLACE_ONE)
    whole = spectrum(levels)
    outcomes = mechanism.distribution(whole)
    maximum, itemsets = levels[0][0], sum(m for _, m in levels)
    ranks = {eta: good_rank(levels, mechanism, 21 / epsilon * math.log(3 / eta)) for eta in etas}
    # Where the condition holds for no η there is nothing to check, and a draw that reads all ranks
    # takes long.
    draws = draws if any(rank is not None for rank in ranks.values()) else 0
    randomness = Randomness.seeded(seed)
    drawn = Counter(mechanism.select(whole, randomness).level for _ in range(draws))
    rows: list[dict[str, Any]] = []
    for eta, rank in ranks.items():
        if rank is None:
            rows.append({"eta": eta, "rank": None})
            continue
        least_support = maximum - 6 / epsilon * math.log(2 * rank / eta)
        kept = sum(
            count for level, count in drawn.items() if level is not None and level >= least_support
        )
        exact = float(outcomes.probabilities[outcomes.levels >= least_support].sum())
        rows.append({"eta": eta, "rank": rank, "kept": kept, "draws": draws, "exact": exact})
    return {
        "units": units,
        "maximum": maximum,
        "itemsets": itemsets,
        "rows": rows,
        "abstain": outcomes.abstain,
        "constant": _constant(outcomes, maximum, delta, epsilon, itemsets),
    }


def good_rank(levels: Levels, mechanism: LargeMargin, more: float) -> int | None:
    """Return the least ℓ with c(ℓ+1) < c(1) - T(ℓ) - more, None if there is none up to the cap.

    Within a level c(ℓ+1) is the same and T grows, so only the first rank of each can be the least.
    """
    ends = list(accumulate(m for _, m in levels))
    maximum = levels[0][0]
    starts = [(1, levels[0][0] if levels[0][1] > 1 else _next(levels, 0))]
    starts += [(end, _next(levels, place)) for place, end in enumerate(ends)]
    for rank, following in starts:
        if rank > mechanism.max_rank:
            return None
        if (
            following
            < maximum
            - mechanism.thresholds(float(mechanism.epsilon), float(mechanism.delta), rank)
            - more
        ):
            return rank
    return None


def _next(levels: Levels, place: int) -> int:
    return levels[place + 1][0] if place + 1 < len(levels) else 0


def _constant(
    outcomes: OutcomeDistribution, maximum: int, delta: float, epsilon: float, itemsets: int
) -> float | None:
    """Return the least C with P(c(I) >= c(1) - C ln(L/δ)/ε) >= 1 - δ, None if abstaining alone is
    above δ.
    """
    within = np.cumsum(outcomes.probabilities)
    enough = np.flatnonzero(within >= 1 - delta)
    if outcomes.abstain > delta or not len(enough):
        return None
    return float(maximum - outcomes.levels[enough[0]]) * epsilon / math.log(itemsets / delta)


def condition(
    about: Source | Levels,
    size: int,
    shares: list[float],
    epsilons: list[float],
    deltas: list[float],
    seed: int,
) -> list[dict[str, float]]:
    """Return, for parts of a data set, the probability of a release against c(1) ε / ln(L/δ)."""
    rows = []
    for share in shares:
        levels = (
            levels_of(about, size, share, seed)
            if isinstance(about, Source)
            else _scaled(about, share)
        )
        if not levels:
            continue
        itemsets = sum(m for _, m in levels)
        for epsilon, delta in product(epsilons, deltas):
            outcomes = LargeMargin(epsilon, delta, Neighbors.REPLACE_ONE).distribution(
                spectrum(levels)
            )
            ratio = levels[0][0] * epsilon / math.log(itemsets / delta)
            # What the corollary's proof asks for: rank L has the margin, with η = δ in Theorem 3.
            margin = LargeMargin.thresholds(epsilon, delta, itemsets) + 21 / epsilon * math.log(
                3 / delta
            )
            enough = margin * epsilon / math.log(itemsets / delta)
            rows.append(
                {"ratio": ratio, "abstain": outcomes.abstain, "delta": delta, "enough": enough}
            )
    return rows


def crowd(size: int, exponents: list[int], epsilon: float) -> dict[str, Any]:
    """Return mean errors where a universe of K has e^{0.75 εd} itemsets at every tenth distance d
    below the leader.

    That is the exponential mechanism's worst case: distant itemsets weigh more together than near
    ones, down to the distance ln K / 0.75ε, where there are no more. Large margin has its margin at
    rank 1.
    """
    lead, farthest, rows = 450, 1_100, []
    for exponent in exponents:
        candidates = left = math.comb(10**exponent, size)
        levels = [(farthest, 1)]
        left -= 1
        for distance in range(lead, farthest, 10):
            many = min(left, 1 << round(0.75 * epsilon * distance / math.log(2)))
            levels += [(farthest - distance, many)] if many else []
            left -= many
        if candidates > 10**300:
            continue
        whole = spectrum(tuple(levels), candidates)
        row: dict[str, Any] = {"ln_candidates": math.log(candidates), "exponent": exponent}
        row |= {
            n: mean_error(Exponential(epsilon, n).distribution(whole), farthest) for n in Neighbors
        }
        unknown = LargeMargin(epsilon, DELTA, Neighbors.REPLACE_ONE).distribution(
            spectrum(tuple(levels))
        )
        row["large-margin"] = mean_error(unknown, farthest)
        rows.append(row)
    return {"maximum": farthest, "rows": rows}


def _scaled(levels: Levels, share: float) -> Levels:
    counts: Counter[int] = Counter()
    for support, multiplicity in levels:
        counts[round(support * share)] += multiplicity
    return tuple(sorted(((s, m) for s, m in counts.items() if s), reverse=True))


# Items that nobody knows in advance: what the mechanisms need, and what the command answers.

VOCABULARIES = {"GTIN-13 (10^12)": 10**12, "strings of 32 bytes (2^256)": 2**256}


def needs_of_unlisted(name: str, size: int, epsilon: float) -> dict[str, dict[str, int]]:
    """Return the supports needed where items come from an open vocabulary, by relation and
    mechanism.
    """
    candidates = math.comb(VOCABULARIES[name], size)
    ours = ("large-margin", "tight-margin", "limited-domain")
    return {
        n: {kind: needed(kind, epsilon, n) for kind in ours}
        | {"named-exponential": needed("named-exponential", epsilon, n, candidates)}
        for n in Neighbors
    }


def end_to_end(name: str, baskets: int, planted: int, seed: int) -> list[dict[str, Any]]:
    """Run the command on generated baskets whose items nobody knows in advance; so many hold the
    planted pair.
    """
    rng = np.random.default_rng(seed)
    labels = _labels(name, 2_000, rng)
    weights = 1 / np.arange(20, 2_018)
    rows = [
        [labels[2 + i] for i in rng.choice(1_998, 5, p=weights / weights.sum())]
        for _ in range(baskets)
    ]
    for row in rows[:planted]:
        row += labels[:2]
    size = ["--universe-size", str(VOCABULARIES[name])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "baskets.parquet"
        pq.write_table(pa.table({"items": rows}), path)
        return [
            {
                "mechanism": mechanism,
                "planted": planted,
                **_command(path, mechanism, more, set(labels[:2]), seed),
            }
            for mechanism, more in (
                ("large-margin", []),
                ("limited-domain", []),
                ("exponential", []),
                ("exponential", size),
            )
        ]


def _labels(name: str, count: int, rng: np.random.Generator) -> list[str]:
    if name.startswith("GTIN"):
        return [
            _with_check_digit(f"{number:012d}")
            for number in rng.choice(10**12, count, replace=False)
        ]
    letters = np.array(list(string.ascii_letters + string.digits + "-_"))
    return ["".join(row) for row in rng.choice(letters, (count, 32))]


def _with_check_digit(digits: str) -> str:
    total = sum(int(d) * (3 if place % 2 else 1) for place, d in enumerate(digits))
    return digits + str(-total % 10)


def _command(
    path: Path, mechanism: str, more: list[str], planted: set[str], seed: int
) -> dict[str, Any]:
    options = ["--mechanism", mechanism, "--neighbors", Neighbors.REPLACE_ONE, *more]
    arguments = [str(path), "--format", "json", "--seed", str(seed), *options]
    alone = ["--top", "1", "--no-supports"]
    command = [sys.executable, "-m", "fim_private", "mine", *alone, *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        answer = done.stderr.strip().replace(str(path), path.name)
    else:
        itemsets = json.loads(done.stdout)["itemsets"]
        found = itemsets[0]["items"] if itemsets else None
        named = {str(item) for item in found} if found else set()
        answer = "another pair" if named else "no named itemset"
        if named == planted:
            answer = "the planted pair"
    return {"options": " ".join(options), "exit": done.returncode, "answer": answer}
