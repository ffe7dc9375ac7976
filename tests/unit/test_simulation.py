"""The simulations of the benchmarks follow the exact laws of the mechanisms they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2_contingency

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import transactions
from benchmarks.peers.item_matrix import support_at_rank
from benchmarks.utility import runs, simulation
from benchmarks.utility.levelwise_simulation import counted, levelwise
from fim_private.counting import Effort
from fim_private.counting.source import LocalSource
from fim_private.counting.universe import UnknownUniverse
from fim_private.dp.randomness import Randomness
from fim_private.mechanisms import (
    Choosing,
    Distance,
    Exponential,
    LargeMargin,
    LimitedDomain,
    MaxOfLaplaces,
    NamedExponential,
    PermuteAndFlip,
    TightMargin,
    registry,
)
from fim_private.mining.budget import allocate
from fim_private.mining.levelwise import Levelwise
from fim_private.mining.options import MiningOptions
from fim_private.reading import read_transactions
from fim_private.spectrum import SupportSpectrum

DRAWS = 20_000
NEIGHBORS = ["replace-one", "add-remove"]
PICK: dict[type, Callable[..., Any]] = {
    Exponential: simulation.weighed,
    NamedExponential: simulation.weighed,
    LimitedDomain: simulation.weighed,
    Choosing: simulation.weighed,
    PermuteAndFlip: simulation.noisy_max,
    MaxOfLaplaces: simulation.noisy_max,
    LargeMargin: simulation.searched,
    TightMargin: simulation.searched,
    Distance: simulation.distant,
}
SEARCHED = (LargeMargin, TightMargin)
CASES: list[tuple[Any, list[int], int | None]] = [
    (Exponential(0.5), [43, 42, 41, 7], 10**9),
    (Exponential(0.5), [12, 11, 11, 7], 6),
    (LimitedDomain(0.8, 1e-2, max_rank=3), [24, 22, 22, 20, 3], None),
    (LimitedDomain(0.8, 1e-2, max_rank=9), [16, 15, 15], None),
    (NamedExponential(0.8, 1e-2, 40), [17, 16, 16, 2], None),
    (Choosing(0.8, 1e-2, 4), [16, 15, 15, 2], None),
    (PermuteAndFlip(0.5), [12, 11, 11, 7], 60),
    (PermuteAndFlip(0.2), [130, 120, 110], 10**12),
    (MaxOfLaplaces(0.5), [12, 11, 11, 7], 60),
    (MaxOfLaplaces(3.0), [4, 3, 3], 9),
    (LargeMargin(1.0, 0.1, max_rank=30), [170, 165, 165, 60], None),
    (LargeMargin(1.0, 0.1, max_rank=30), [140], None),
    (LargeMargin(1.0, 0.1, max_rank=400), [205, *[198] * 120], None),
    (TightMargin(0.8, 1e-2, max_rank=3), [36, 33, 33, 31, 3], None),
    (TightMargin(0.8, 1e-2, max_rank=20), [30, 28, 27], None),
    (TightMargin(0.8, 1e-2, max_rank=400), [50, *[44] * 120], None),
    (Distance(0.8, 1e-2), [19, 12, 12, 2], None),
]


def related(mechanism: Any, neighbors: str) -> Any:
    """With about the same noise under either relation."""
    factor = 2 if neighbors == "replace-one" and not isinstance(mechanism, LargeMargin) else 1
    return replace(mechanism, neighbors=neighbors, epsilon=mechanism.epsilon * factor)


def law(mechanism: Any, spectrum: SupportSpectrum) -> dict[int, float]:
    outcomes = mechanism.distribution(spectrum)
    shares = dict(zip(outcomes.levels.tolist(), outcomes.probabilities.tolist(), strict=True))
    abstain = outcomes.abstain + (shares.pop(0) if isinstance(mechanism, NamedExponential) else 0.0)
    return {simulation.ABSTAINED: abstain} | shares


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("mechanism", "supports", "size"), CASES)
@pytest.mark.one_in(12)
def test_one_pick_follows_the_exact_distribution(
    mechanism: Any, supports: list[int], size: int | None, neighbors: str
) -> None:
    mechanism = related(mechanism, neighbors)
    spectrum = SupportSpectrum.from_supports(supports, size)
    right = law(mechanism, spectrum)
    rng = np.random.default_rng(7)
    drawn = Counter(PICK[type(mechanism)](mechanism, spectrum, 1, DRAWS, rng)[:, 0].tolist())
    assert oracles.chi_square_pvalue(drawn, right, DRAWS) > 1e-6
    wrong = law(replace(mechanism, epsilon=mechanism.epsilon / 0.7), spectrum)
    assert oracles.detects(right, wrong, DRAWS) > 0.999


@pytest.mark.parametrize(("mechanism", "supports"), [(m, s) for m, s, _ in CASES if isinstance(m, SEARCHED)])
@pytest.mark.one_in(6)
def test_blocks_change_no_law(mechanism: Any, supports: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "_BLOCKS", (1, 2, 5, 60, 119, 121))
    spectrum = SupportSpectrum.from_supports(supports)
    drawn = Counter(simulation.searched(mechanism, spectrum, 1, DRAWS, np.random.default_rng(9))[:, 0].tolist())
    assert oracles.chi_square_pvalue(drawn, law(mechanism, spectrum), DRAWS) > 1e-6


@pytest.mark.full
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("mechanism", "supports", "size"), CASES)
def test_two_picks_follow_it_on_what_is_left(
    mechanism: Any, supports: list[int], size: int | None, neighbors: str
) -> None:
    """In one pass nothing follows abstaining; by repetition the next pick is as if there had been none."""
    mechanism = related(mechanism, neighbors)
    spectrum = SupportSpectrum.from_supports(supports, size)
    one_pass = PICK[type(mechanism)] is simulation.weighed
    candidates = {c.level: c for c in mechanism.candidates(spectrum)} if one_pass else {}
    if isinstance(mechanism, NamedExponential):
        candidates[None] = replace(candidates.pop(0), level=None)
    right: dict[tuple[int, int], float] = {}
    for first, chance in law(mechanism, spectrum).items():
        if one_pass and first == simulation.ABSTAINED:
            right[first, first] = chance
            continue
        if one_pass:  # the same candidates less the one picked, whatever the cut would be without it
            left = [replace(c, multiplicity=c.multiplicity - (level == first)) for level, c in candidates.items()]
            weights = {
                simulation.ABSTAINED if c.level is None else c.level: float(c.multiplicity)
                * np.exp(float(mechanism.rate) * (c.support - max(supports)))
                for c in left
            }
            total = sum(weights.values())
            after = {level: weight / total for level, weight in weights.items()}
        else:
            after = law(mechanism, spectrum.without({first: 1}) if first != simulation.ABSTAINED else spectrum)
        for second, share in after.items():
            right[first, second] = right.get((first, second), 0.0) + chance * share
    picks = PICK[type(mechanism)](mechanism, spectrum, 2, DRAWS, np.random.default_rng(8))
    drawn = Counter(map(tuple, picks.tolist()))
    assert oracles.chi_square_pvalue(drawn, right, DRAWS) > 1e-6


def test_a_level_is_not_picked_more_often_than_it_has_itemsets() -> None:
    spectrum = SupportSpectrum.from_supports([9, 9, 5], 3)
    for mechanism in (Exponential(50.0), PermuteAndFlip(50.0), MaxOfLaplaces(50.0)):
        picks = PICK[type(mechanism)](mechanism, spectrum, 3, 50, np.random.default_rng(1))
        assert np.array_equal(picks, np.tile([9, 9, 5], (50, 1)))


@pytest.mark.full
@pytest.mark.parametrize("sizes", [(2,), (1, 2, 3)])
def test_levelwise_is_the_shipped_one(sizes: tuple[int, ...]) -> None:
    """Of what 2,000 releases of each pick first, two-sample."""
    rng = np.random.default_rng(4)
    chances = np.array([0.5, 0.45, 0.4, 0.1, 0.05])
    baskets = [[i for i, kept in enumerate(row) if kept] for row in rng.random((60, 5)) < chances]
    data = read_transactions(baskets)
    run = Levelwise.by_basic_composition(sizes, 2, Fraction(6), Fraction(1, 10), "add-remove", 4)
    source, randomness = LocalSource(data, Effort(threads=1)), Randomness.seeded(5)
    draws = 2_000
    shipped: Counter[int] = Counter()
    for _ in range(draws):
        found = run.find(source, UnknownUniverse(), randomness)
        shipped[found[0][1] if found else simulation.ABSTAINED] += 1
    picks = levelwise(run, counted(data, sizes), draws, rng)[:, 0]
    both = np.array([[shipped[level], (picks == level).sum()] for level in {*shipped, *picks.tolist()}])
    common = both[both.sum(axis=1) >= 20]
    assert len(common) >= 3
    assert chi2_contingency(common).pvalue > 1e-6


def small(folder: Path, *, by_user: bool) -> tuple[Source, list[set[int]]]:
    """2,000 baskets, of 1,000 users where asked for."""
    chances = np.array([0.5, 0.45, 0.4, 0.1, 0.05, 0.04, 0.03, 0.03, 0.02, 0.02, 0.02])
    baskets = [np.flatnonzero(row).tolist() for row in np.random.default_rng(6).random((2000, 11)) < chances]
    columns = {"items": pa.array(baskets, pa.list_(pa.int32()))}
    if by_user:
        columns["user"] = pa.array(np.repeat(np.arange(1000), 2))
    pq.write_table(pa.table(columns), folder / "small.parquet")
    source = Source("small", "", folder / "small.parquet", (("user", "user"),) if by_user else ())
    return source, list(map(set, baskets))


@pytest.mark.full
def test_runs_are_what_is_simulated(tmp_path: Path) -> None:
    """How many of the pairs released are among the top, of 400 releases of each, two-sample."""
    source, _ = small(tmp_path, by_user=False)
    draws, count, budget = 400, 3, (Fraction(1, 10), Fraction(1, 100))
    shipped = runs.run(source, (2,), "levelwise", count, 0.1, 1e-2, "add-remove", list(range(draws))).true
    spec = registry.spec_named("levelwise")
    (selection,) = allocate(MiningOptions(spec, *budget, "add-remove", (2,), count, True, Fraction(1, 3))).selections
    assert isinstance(selection.run, Levelwise)
    picks = levelwise(selection.run, counted(transactions(source), (2,)), draws, np.random.default_rng(7))
    least = support_at_rank(source, (2,), 3)
    hits = [(found >= least).sum(axis=1) for found in (shipped, picks)]
    named = [(found != simulation.ABSTAINED).sum(axis=1) for found in (shipped, picks)]
    both = np.array([(4 * one + other) for one, other in zip(hits, named, strict=True)])
    table = np.array([(both == value).sum(axis=1) for value in range(16)])
    common = table[table.sum(axis=1) >= 10]
    assert len(common) >= 2
    assert chi2_contingency(common).pvalue > 1e-6


@pytest.mark.parametrize("by_user", [False, True])
def test_runs_tell_true_and_noisy_supports(tmp_path: Path, by_user: bool) -> None:
    source, baskets = small(tmp_path, by_user=by_user)
    owners = [place // 2 if by_user else place for place in range(len(baskets))]
    supports = {
        pair: len({owner for owner, basket in zip(owners, baskets, strict=True) if set(pair) <= basket})
        for pair in combinations(range(11), 2)
    }
    found = runs.run(source, (2,), "levelwise", 10, 1e5, 1e-2, "replace-one", [3, 4])
    top = sorted(supports.values(), reverse=True)[:10]
    assert found.true.tolist() == [top, top]
    assert np.array_equal(found.noisy, found.true)
    noisy = runs.run(source, (2,), "levelwise", 10, 30.0, 1e-2, "replace-one", [3, 4, 3])
    named = noisy.true != simulation.ABSTAINED
    assert named.any()
    assert set(noisy.true[named].tolist()) <= set(supports.values())
    assert (noisy.true != noisy.noisy)[named].any()
    assert np.array_equal(noisy.true[0], noisy.true[2])
    assert np.array_equal(noisy.noisy[0], noisy.noisy[2])


def test_supports_of_pairs_and_triples_by_their_definition() -> None:
    baskets = [{0, 1, 2}, {0, 1}, {0, 2}, {0, 1, 2, 3}, {1}, set()]
    found = counted(read_transactions(baskets), (3,), frequent=3)
    assert found[1].tolist() == [4, 4, 3, 1]
    for size in (2, 3):
        for chosen in combinations(range(3), size):
            assert found[size][chosen] == sum(set(chosen) <= basket for basket in baskets)
        assert not found[size][-1].any()
