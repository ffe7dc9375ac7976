"""Private PAC learning: the study runs on generated data alone, and its figures are what the
theorem promises.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from benchmarks.paper import hypothesis_classes
from benchmarks.paper import hypothesis_classes as h
from fim_private.mechanisms import Exponential, LargeMargin

ETA = 0.05


@pytest.mark.parametrize("literals", [1, 2, 3])
def test_conjunctions_by_hand(literals: int) -> None:
    random = np.random.default_rng(3)
    features = (random.random((40, 5)) < 0.6).astype(float)
    labels = np.where(random.random(40) < 0.4, 1, -1)
    weights = random.integers(0, 4, 40)
    slow = []
    functions = set()
    for size in range(1, literals + 1):
        for chosen in combinations(range(5), size):
            says = features[:, list(chosen)].min(axis=1) > 0
            functions |= {tuple(says.tolist()), tuple((~says).tolist())}
            slow.append(int(weights[says == (labels > 0)].sum()))
    problem = h.Conjunctions(features, labels, literals)
    fast = problem.correct(weights).tolist()
    assert sorted(fast) == sorted(slow + [int(weights.sum()) - correct for correct in slow])
    assert problem.useless(weights) == int(weights[labels < 0].sum())
    assert (
        len(functions | {(True,) * 40, (False,) * 40}) <= problem.distinct() <= len(functions) + 4
    )


def test_thresholds_by_hand() -> None:
    values, labels = np.array([0, 2, 2, 5]), np.array([-1, 1, -1, 1])
    problem = h.Thresholds(values, labels)
    weights = np.array([1, 3, 1, 2])
    slow = [int(weights[(values >= theta) == (labels > 0)].sum()) for theta in range(6)]
    assert problem.correct(weights).tolist() == slow
    assert problem.useless(weights) == 2
    assert problem.distinct() == 4


def test_the_bound_by_hand() -> None:
    u = hypothesis_classes.deviation(10, 1000, ETA)
    assert u == pytest.approx(math.sqrt(math.log(400) / 2000))
    assert hypothesis_classes.promise(u, 7, 1000, 0.5, ETA) == pytest.approx(
        2 * u + 0.012 * math.log(280)
    )
    chooser = LargeMargin(1.0, 1e-6)
    plain = chooser.integer_threshold(7) + 21 * math.log(60)
    assert plain < hypothesis_classes.margin(chooser, 7, ETA) < plain + 1.5


def test_t_star_by_hand() -> None:
    # |H(t)| is 1 up to 0.2, 3 up to 0.5, and 9 beyond, of 10 rows.
    shells = ([0, 2, 5], [1, 3, 9])
    assert hypothesis_classes.least_margin(*shells, 10, [0.15, 0.3, 0.4]) == (0.15, 1)
    assert hypothesis_classes.least_margin(*shells, 10, [0.25, 0.3, 0.4]) == (0.3, 3)
    assert hypothesis_classes.least_margin(*shells, 10, [0.25, 0.1, 0.4]) == (0.2, 3)
    # the whole class is no shell
    assert hypothesis_classes.least_margin(*shells, 10, [0.25, 0.5, 0.6]) is None


def test_choice_merges_only_what_does_not_matter() -> None:
    sample = h.Scored(np.array([30, 10, 28, 30]), 12)
    replaced = Exponential(0.3, "replace-one")
    for mechanism in (replaced, LargeMargin(20.0, 1e-6)):
        few = h.choice(sample, 5, mechanism)
        assert few.listed.sum() + few.useless + few.abstain == pytest.approx(1)
        assert few.listed[0] == few.listed[3] > few.listed[2]
    weights = np.exp(0.15 * np.array([30, 10, 28, 30]))
    few = h.choice(sample, 5, replaced)
    assert few.listed == pytest.approx(weights / (weights.sum() + 5 * math.exp(0.15 * 12)))
    many = h.choice(sample, 10**7, replaced)  # here the one below counts as one of the useless
    assert many.useless == pytest.approx(1, abs=1e-5)
    assert many.listed[1] == pytest.approx(many.useless / 10**7)
