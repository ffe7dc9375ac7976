"""The weighted Gaussian: norms of units, what OpenDP allows, and what is released."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import transactions
from benchmarks.peers import weighted_gaussian
from benchmarks.peers.cut_baskets import Cut
from benchmarks.peers.weighted_gaussian import GRID, calibrated, unit_weights, weighted_trials
from fim_private.dp.composition import zcdp_rho
from fim_private.dp.parameters import exact_delta, exact_epsilon
from fim_private.reading.transactions import Transactions

pytestmark = pytest.mark.full
RARE = 1e-7  # nothing here fails by chance more often: OpenDP's noise has no seed
SIZES = (1, 2)


def source(folder: Path) -> Source:
    rng = np.random.default_rng(3)
    held = rng.random((400, 9)) < 0.7 / np.sqrt(np.arange(1, 10))
    baskets = pa.array([np.flatnonzero(row) for row in held], pa.list_(pa.int32()))
    pq.write_table(pa.table({"items": baskets}), folder / "shop.parquet")
    return Source("shop", "", folder / "shop.parquet")


def units(data: Transactions) -> list[set[tuple[int, ...]]]:
    """The itemsets of each unit."""
    baskets = np.split(data.items, data.offsets[1:-1])
    return [
        {found for size in SIZES for found in combinations(basket.tolist(), size)}
        for basket in baskets
    ]


def test_the_norm_of_a_unit_is_1_at_most_and_one_replaced_a_root_of_2_away(tmp_path: Path) -> None:
    data = transactions(source(tmp_path))
    weights, itemsets = unit_weights(data, SIZES).tolist(), units(data)
    norms = [
        weight * math.sqrt(len(found)) / GRID
        for weight, found in zip(weights, itemsets, strict=True)
    ]
    assert max(norms) <= 1
    assert all(norm > 0.999 for norm, found in zip(norms, itemsets, strict=True) if found)
    assert [not norm for norm in norms] == [not found for found in itemsets]
    squares = []
    for one, other in combinations(range(60), 2):
        moved = Counter(dict.fromkeys(itemsets[one], weights[one]))
        moved.subtract(dict.fromkeys(itemsets[other], weights[other]))
        squares.append(sum(value**2 for value in moved.values()) / GRID**2)
    assert 1 < max(squares) <= 2


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("most", "epsilon", "delta"), [(1, 1.0, 1e-6), (66, 0.1, 1e-8), (10**5, 2.0, 1e-6)]
)
def test_the_whole_is_within_the_budget(
    most: int, epsilon: float, delta: float, neighbors: str
) -> None:
    pytest.importorskip("opendp")
    form, replaces = calibrated(most, epsilon, delta, neighbors), neighbors == "replace-one"
    rho, spent = form.cost(most, replaces)
    whole = zcdp_rho(exact_epsilon(epsilon), exact_delta(delta - spent))
    assert 0.97 * whole <= rho + 1 / (2 * form.support_scale**2) <= whole * (1 + 1e-9)
    lower = weighted_gaussian.WeightThreshold(
        form.scale, math.floor(form.threshold * 0.95), form.support_scale
    )
    assert lower.cost(most, replaces)[1] > spent * 1.5
    # Every number of itemsets by itself, as the paper has it.
    for t in {min(t, most) for t in (1, 2, 3, most)}:
        beyond = stats.norm.sf((form.threshold - GRID / math.sqrt(t)) / form.scale)
        assert -math.expm1((2 if replaces else 1) * t * math.log1p(-beyond)) <= spent * (1 + 1e-3)


def test_opendp_releases_by_the_law_that_is_drawn_here(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    shop, kept = source(tmp_path), Cut(4, "random")
    numbers = []
    for with_opendp in (True, False):
        found = weighted_trials(shop, SIZES, 100, 1.5, 1e-2, kept, 400, 2, with_opendp=with_opendp)
        numbers.append([len(one.true) for one in found])
    assert np.mean(numbers[0]) > 0.5
    assert stats.ttest_ind(*numbers).pvalue > RARE
