"""The weighted Gaussian: norms of units, and what OpenDP allows."""

from __future__ import annotations

import math
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
from benchmarks.peers.weighted_gaussian import GRID, calibrated, unit_weights
from fim_private.dp.composition import zcdp_rho
from fim_private.dp.parameters import exact_delta, exact_epsilon

pytestmark = pytest.mark.full
SIZES = (1, 2)
Users = list[list[list[int]]]


def shop() -> Users:
    rng = np.random.default_rng(3)
    held = rng.random((400, 9)) < 0.7 / np.sqrt(np.arange(1, 10))
    baskets = iter([np.flatnonzero(row).tolist() for row in held])
    return [[next(baskets) for _ in range(number)] for number in rng.integers(1, 4, 150)]


def source(folder: Path, *, by_user: bool) -> Source:
    rows = [(user, basket) for user, baskets in enumerate(shop()) for basket in baskets]
    columns = {"items": pa.array([items for _, items in rows], pa.list_(pa.int32()))}
    if by_user:
        columns["user"] = pa.array([user for user, _ in rows])
    path = folder / f"shop{by_user}.parquet"
    pq.write_table(pa.table(columns), path)
    return Source(f"shop{by_user}", "", path, (("user", "user"),) if by_user else ())


def held(by_user: bool) -> list[set[tuple[int, ...]]]:
    """The itemsets of each unit."""
    units = shop() if by_user else [[basket] for baskets in shop() for basket in baskets]
    return [{found for basket in unit for size in SIZES for found in combinations(basket, size)} for unit in units]


@pytest.mark.parametrize("by_user", [False, True])
def test_the_norm_of_a_unit_is_1_at_most(tmp_path: Path, by_user: bool) -> None:
    weights = unit_weights(transactions(source(tmp_path, by_user=by_user)), SIZES)
    norms = [
        weight * math.sqrt(len(found)) / GRID for weight, found in zip(weights.tolist(), held(by_user), strict=True)
    ]
    assert max(norms) <= 1
    if not by_user:
        assert all(norm > 0.999 for norm, found in zip(norms, held(by_user), strict=True) if found)
    assert [not norm for norm in norms] == [not found for found in held(by_user)]


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("most", "epsilon", "delta"), [(1, 1.0, 1e-6), (66, 0.1, 1e-8), (10**5, 2.0, 1e-6)])
def test_the_whole_is_within_the_budget(most: int, epsilon: float, delta: float, neighbors: str) -> None:
    pytest.importorskip("opendp")
    form, replaces = calibrated(most, epsilon, delta, neighbors), neighbors == "replace-one"
    rho, spent = form.cost(most, replaces)
    whole = zcdp_rho(exact_epsilon(epsilon), exact_delta(delta - spent))
    assert 0.97 * whole <= rho + 1 / (2 * form.support_scale**2) <= whole * (1 + 1e-9)
    lower = weighted_gaussian.WeightThreshold(form.scale, math.floor(form.threshold * 0.95), form.support_scale)
    assert lower.cost(most, replaces)[1] > spent * 1.5
    # Every number of itemsets by itself, as the paper has it.
    for t in {min(t, most) for t in (1, 2, 3, most)}:
        beyond = stats.norm.sf((form.threshold - GRID / math.sqrt(t)) / form.scale)
        assert -math.expm1((2 if replaces else 1) * t * math.log1p(-beyond)) <= spent * (1 + 1e-3)
