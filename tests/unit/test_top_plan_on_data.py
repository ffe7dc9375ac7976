"""plan against experiment: the support from which on itemsets are found, on real data."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from real_data import CORNER_SHOP, real_data

import fim_private as fim
from fim_private.planning.plan import PlannedMechanism, plan

RUNS = 10
TOP = 100
# Data, items per basket, size.
CASES = [
    ("groceries.parquet", 4.4, 1),
    ("groceries.parquet", 4.4, 2),
    ("retail.dat", 10.3, 2),
    ("bms_webview_1.parquet", 2.5, 2),
    ("corner_shop.parquet", 5.1, 3),
]


def planned(mechanism: str, size: int, epsilon: float, items: float, confidence: float) -> PlannedMechanism:
    found = plan(top=TOP, size=size, typical_basket=items, epsilon=epsilon, confidence=confidence)
    return next(one for one in found.mechanisms if one.name == mechanism)


# How far off the plan may be: levelwise is estimated.
@pytest.mark.full
@pytest.mark.parametrize(("mechanism", "epsilon", "factor"), [("levelwise", 0.25, 1.5), ("limited-domain", 1.0, 1.1)])
def test_what_is_planned_is_what_it_takes(mechanism: str, epsilon: float, factor: float) -> None:
    above: list[float] = []
    below: list[float] = []
    for name, items, size in CASES:
        path: Path = CORNER_SHOP if name == CORNER_SHOP.name else real_data(name)
        data = fim.read_transactions(path)
        assert np.diff(data.offsets).mean() == pytest.approx(items, abs=0.06)
        exact = fim.mine(data, size=size, top=TOP, epsilon=1e6, mechanism="limited-domain", supports=True, seed=1)
        found = Counter[object]()
        for seed in range(RUNS):
            release = fim.mine(data, size=size, top=TOP, epsilon=epsilon, mechanism=mechanism, seed=seed)
            found.update(one.items for one in release.itemsets)
        rates = [(one.support or 0, found[one.items] / RUNS) for one in exact.itemsets]
        likely, even = (planned(mechanism, size, epsilon, items, confidence) for confidence in (0.95, 0.5))
        assert likely.required_support is not None
        assert likely.required_margin is not None
        assert even.required_support is not None
        # Those that race with the next below the top need a margin above it as well.
        race = rates[-1][0] + (likely.required_margin if mechanism == "levelwise" else 0)
        above += [rate for support, rate in rates if support >= factor * max(likely.required_support, race)]
        below += [rate for support, rate in rates if support <= even.required_support / factor]
    assert len(above) >= 30
    assert len(below) >= 25
    assert np.mean(above) >= 0.95
    assert np.mean(below) <= 0.5
