"""What a private choice of the size is worth: `size="auto:2-4"` against sizes that are named, and against all of them.

One itemset is wanted, of parts of real data sets: outcomes have exact probabilities. Told is what comes out, by size:
the mean, over all cases, of the size that is named (0 where none is) as a part of the best that any one named size
gives, and the probability that nothing comes out. Of all sizes together the largest that comes out counts. Then ten
itemsets: how many of which size come out, on average over seeded runs. There levelwise, which counts all sizes in one
run, finds more of each than a choice does, which is why `mine` refuses to choose for it.

python -m benchmarks.utility.size_choice [--data FOLDER] [--quick]
"""

from __future__ import annotations

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import fim_private as fim
from benchmarks.frame.datasets import Source, corner_shop, real_sources
from benchmarks.frame.support_spectra import part, spectrum, transactions
from fim_private.counting.source import LocalSource
from fim_private.dp.parameters import Neighbors
from fim_private.mechanisms.exponential import exponential_rate, top
from fim_private.mechanisms.top_k import TopK
from fim_private.mining import mine as size_choice
from fim_private.planning.advice import needed_support
from fim_private.reading.transactions import Transactions
from fim_private.request.budget import allocate
from fim_private.request.request import MiningOptions, checked_options

DATA = ("groceries", "retail", "bms_webview_1", "corner_shop")
BASKETS = (300, 700, 1_500, 3_000, 6_000, 9_800)
RANGES = ((1, 2, 3, 4), (2, 3, 4))
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(2))
PARTS = tuple(Fraction(percent, 100) for percent in (5, 10, 15, 20, 30))
# Where even the best size is named so seldom there is nothing to compare.
LEAST = 0.5
TEN, RUNS, PICKS = 10, 10, "limited-domain"
NOTHING: dict[str, Any] = {
    "rho": None,
    "mechanism": PICKS,
    "top": 1,
    "union": False,
    "supports": False,
    "supports_share": None,
    "keep_all": False,
    "count": False,
    "max_rank": None,
    "max_basket": None,
    "max_baskets": None,
    "catalogue": None,
    "universe_size": None,
    "by_user": False,
}
Law = Mapping[int, float]


@cache
def options(size: int | str, epsilon: Fraction, neighbors: str, union: bool = False) -> MiningOptions:
    """Return what is asked for."""
    asked = NOTHING | {"size": size, "epsilon": epsilon, "delta": 1e-6, "neighbors": neighbors, "union": union}
    return checked_options(**asked)


needed = cache(needed_support)
allocated = cache(allocate)


def named(data: Mapping[int, Any], size: int, asked: MiningOptions) -> float:
    """Return with which probability an itemset of a size is named."""
    [run] = [one.run for one in allocated(asked).selections if one.sizes == (size,)]
    assert isinstance(run, TopK)
    law = run.mechanism.distribution(data[size])
    return float(1 - law.abstain)


def choosing(scores: Sequence[int], rate: float) -> Sequence[float]:
    """Return the law of an exponential mechanism."""
    weights = np.exp(rate * (np.array(scores, dtype=float) - max(scores)))
    return [float(weight) for weight in weights / weights.sum()]


def ways(
    data: Mapping[int, Any], sizes: tuple[int, ...], epsilon: Fraction, neighbors: str
) -> Iterator[tuple[str, Law]]:
    """Yield ways to ask, and with which probability an itemset of each size is what comes out, the largest if any."""
    for size in sizes:
        yield f"size {size}", {size: named(data, size, options(size, epsilon, neighbors))}
    every = options(f"{sizes[0]}-{sizes[-1]}", epsilon, neighbors)
    largest: dict[int, float] = {}
    none = 1.0
    for size in reversed(sizes):
        one = named(data, size, every)
        largest[size], none = none * one, none * (1 - one)
    yield "all sizes", largest
    supports = {size: top(data[size], 0)[1] for size in sizes}
    for share in PARTS:
        left = [options(size, epsilon * (1 - share), neighbors) for size in sizes]
        margins = [supports[asked.sizes[0]] - (needed(asked) or 0) for asked in left]
        will = [named(data, asked.sizes[0], asked) for asked in left]
        scale = float(1 / (epsilon * share))
        for name, spare in (("", int(-(-scale // 1))), (", nothing to spare", 0)):
            scores = size_choice.size_scores([margin - spare for margin in margins])
            law = choosing(scores, float(exponential_rate(epsilon * share, Neighbors.REPLACE_ONE)))
            yield f"auto, {float(share):.0%}{name}", {s: p * w for s, p, w in zip(sizes, law, will, strict=True)}
        if share == size_choice.PART:
            law = choosing(margins, float(exponential_rate(epsilon * share, neighbors)))
            yield "highest margin, 10%", {s: p * w for s, p, w in zip(sizes, law, will, strict=True)}


def one_itemset(data: Mapping[str, Source], quick: bool) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return for each relation and way (part of the best size, probability of nothing) of each case."""
    told: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for source, baskets in product(data.values(), BASKETS[:2] if quick else BASKETS):
        counted = LocalSource(part(source, baskets / transactions(source).baskets, 3))
        spectra = {size: spectrum(tuple(counted.spectrum(size).all_levels())) for size in RANGES[0]}
        for neighbors, epsilon, sizes in product(Neighbors, EPSILONS, RANGES):
            found = dict(ways(spectra, sizes, epsilon, neighbors))
            best = max(size * law for size in sizes for law in found[f"size {size}"].values())
            if best < LEAST:
                continue
            found["smallest size"], found["largest size"] = found[f"size {sizes[0]}"], found[f"size {sizes[-1]}"]
            for way, law in found.items():
                worth = sum(size * chance for size, chance in law.items()) / best
                told[neighbors][way].append((worth, 1 - sum(law.values())))
    return told


def ten_itemsets(data: Mapping[str, Source], quick: bool) -> Iterator[tuple[str, int, str, dict[int, float]]]:
    """Yield for a data set, baskets and a way the mean number of itemsets of each size, of ten wanted of each."""
    for (name, source), baskets in product(data.items(), (3_000, 9_800)):
        taken = part(source, baskets / transactions(source).baskets, 3)
        for mechanism, size in product(("levelwise", PICKS), ("2", "3", "4", "2-4", "auto:2-4")):
            if mechanism == PICKS or not size.startswith("auto"):
                means = _mean_sizes(taken, 2 if quick else RUNS, size=size, mechanism=mechanism)
                yield name, baskets, f"{mechanism} {size}", means


def _mean_sizes(taken: Transactions, runs: int, **asked: Any) -> dict[int, float]:
    """Return the mean number of itemsets of each size."""
    asked = {"top": TEN, "neighbors": Neighbors.REPLACE_ONE, **asked}
    found = Counter(len(itemset.items or ()) for seed in range(runs) for itemset in fim.mine(taken, seed=seed, **asked))
    return {each: found[each] / runs for each in (2, 3, 4)}


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("FIM_DATA"))
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    real, _ = real_sources(None if asked.data is None else Path(asked.data))
    found = {"corner_shop": corner_shop()} | real
    data = {name: replace(found[name], columns=()) for name in DATA if name in found}
    for neighbors, by_way in one_itemset(data, asked.quick).items():
        print(f"\n{neighbors}: {len(by_way['all sizes'])} cases; part of the best size, and nothing at all")
        for way, cases in by_way.items():
            if not way.startswith("size "):
                worth, nothing = np.array(cases).mean(axis=0)
                print(f"{way:32}{worth:8.2f}{nothing:8.2f}")
    print("\nten itemsets of each size, epsilon 1, replace-one: how many of 2, 3 and 4 items come out")
    for name, baskets, size, means in ten_itemsets(data, asked.quick):
        print(f"{name:16}{baskets:8,} {size:24}" + "".join(f"{mean:7.1f}" for mean in means.values()), flush=True)


if __name__ == "__main__":
    main()
