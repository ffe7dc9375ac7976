"""What users run, audited from outside: seeded runs of `mine` against exact distributions.

The library runs often; the command, as a process of its own that reads a file and writes JSON, has
to draw what the library draws.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import oracles
import pytest
import selection_oracles as slow
from patience import PATIENCE

import fim_private as fim
from fim_private.mechanisms import TightMargin

PAIRS: dict[tuple[int, ...], int] = {(1, 2): 17, (1, 3): 15, (4, 5): 2}
CATALOGUE = [1, 2, 3, 4, 5]
ZEROS = {f"zero {i}": 0 for i in range(math.comb(5, 2) - len(PAIRS))}
Runs = Counter[tuple[int, ...] | None]


def baskets_of(pairs: dict[tuple[int, ...], int]) -> list[list[int]]:
    return [list(pair) for pair, support in pairs.items() for _ in range(support)]


# For each mechanism the options of the command, and the slow definition of the law of its result.
E, D = Fraction(1), Fraction(1, 100)
NAMED: dict[Any, int] = {**PAIRS}
TIGHT = TightMargin(1.0, 0.01, "add-remove", 4)
SPLIT = (TIGHT.shared_share, TIGHT.step_share, 1 - TIGHT.shared_share - TIGHT.step_share)
AR: Any = {"neighbors": "add-remove"}
LAWS: dict[str, tuple[dict[str, Any], Callable[[], dict[Any, float]]]] = {
    "limited-domain": ({"max_rank": 2}, lambda: slow.limited_domain(NAMED, E, D, max_rank=2, **AR)),
    "choosing": ({"max_basket": 2}, lambda: slow.choosing(NAMED, E, D, max_itemsets=1, **AR)),
    "distance": ({}, lambda: slow.distance(NAMED, E, D, **AR)),
    "tight-margin": (
        {"max_rank": 4},
        lambda: slow.tight_margin(
            NAMED, E, D, max_rank=4, split=SPLIT, thresholds=TIGHT.threshold, **AR
        ),
    ),
    "permute-and-flip": (
        {"catalogue": CATALOGUE},
        lambda: slow.permute_and_flip({**NAMED, **ZEROS}, E, universe_size=10, **AR),
    ),
    "max-of-laplaces": (
        {"catalogue": CATALOGUE},
        lambda: slow.max_of_laplaces({**NAMED, **ZEROS}, E, universe_size=10, **AR),
    ),
}


def expected(law: dict[Any, float]) -> dict[Any, float]:
    """The zeros of a known universe, which are named at random, as one outcome."""
    joined: dict[Any, float] = {}
    for name, chance in law.items():
        key = "zero" if isinstance(name, str) else name
        joined[key] = joined.get(key, 0.0) + chance
    return joined


def counted(results: list[tuple[int, ...] | None]) -> Counter[Any]:
    return Counter(result if result is None or result in PAIRS else "zero" for result in results)


def in_process(
    pairs: dict[tuple[int, ...], int], mechanism: str, runs: int, **options: Any
) -> list[Any]:
    purchases = fim.read_transactions(baskets_of(pairs))
    releases = (
        fim.mine(
            purchases,
            mechanism=mechanism,
            epsilon=1.0,
            delta=0.01,
            neighbors="add-remove",
            seed=seed,
            **options,
        )
        for seed in range(runs)
    )
    return [release.itemsets[0].items if release.itemsets else None for release in releases]


@pytest.mark.full
@pytest.mark.parametrize("mechanism", LAWS)
def test_the_library_follows_the_exact_law(mechanism: str) -> None:
    options, law_of = LAWS[mechanism]
    law = law_of()
    runs = 1100  # they tell 70 % of the noise for sure
    drawn = counted(in_process(PAIRS, mechanism, runs, **options))
    assert oracles.chi_square_pvalue(drawn, expected(law), runs) > 1e-3


def by_command(
    folder: Path, pairs: dict[tuple[int, ...], int], mechanism: str, runs: int
) -> list[Any]:
    data = folder / "baskets.dat"
    data.write_text(
        "".join(" ".join(map(str, basket)) + "\n" for basket in baskets_of(pairs)), encoding="utf-8"
    )
    command = [
        *(sys.executable, "-m", "fim_private", "mine", str(data), "--mechanism", mechanism),
        *("--format", "json"),
    ]
    command += [
        *("--epsilon", "1", "--delta", "0.01", "--neighbors", "add-remove", "--max-rank"),
        *("2", "--seed"),
    ]
    found = []
    for seed in range(runs):
        done = subprocess.run(
            [*command, str(seed)],
            capture_output=True,
            check=True,
            timeout=PATIENCE,
            env=os.environ.copy(),
        )
        release = json.loads(done.stdout)
        assert release["private"] is False
        found.append(tuple(release["itemsets"][0]["items"]) if release["itemsets"] else None)
    return found


@pytest.mark.full
@pytest.mark.parametrize("raised", [{}, {(1, 3): 16}], ids=["a file", "its neighbour"])
def test_the_command_draws_what_the_library_draws(
    raised: dict[tuple[int, ...], int], tmp_path: Path
) -> None:
    """Run by run, under the same seeds: what holds of the library holds of it."""
    drawn = by_command(tmp_path, PAIRS | raised, "limited-domain", 10)
    assert drawn == in_process(PAIRS | raised, "limited-domain", 10, **LAWS["limited-domain"][0])
    assert len(set(drawn)) > 1


def test_the_library_s_law_has_power() -> None:
    law = expected(LAWS["limited-domain"][1]())
    wrong = slow.limited_domain(NAMED, E, D, max_rank=2, noise_factor=Fraction(7, 10), **AR)
    assert oracles.detects(law, expected(wrong), 1100, level=1e-3) > 0.999
