"""Intervals of rules by the joint law of their counts: each holds in 95 % of cases by itself."""

from dataclasses import replace

import numpy as np
import pytest

from fim_private.release.metrics import METRICS, JointNoise, RuleCounts, joint_interval

TRIALS = 20_000
OWN, OF_UNITS = 30.0**2, 90.0**2
TWO_NORMALS = JointNoise(OWN, OF_UNITS / 4, OF_UNITS, OF_UNITS / 2)
ALONE = JointNoise(OWN, units=OF_UNITS)
TRUE = RuleCounts(np.array([700.0]), np.array([1_500.0]), np.array([2_400.0]), np.array([9_000.0]))


def drawn(noise: JointNoise) -> RuleCounts:
    """Return the noisy counts of so many releases."""
    rng = np.random.default_rng(11)
    units = rng.normal(0, np.sqrt(noise.units), TRIALS)
    common = units / 2 if noise.shared else np.zeros(TRIALS)
    own = np.sqrt(noise.own)
    both, antecedent, consequent = (true + common + rng.normal(0, own, TRIALS) for true in TRUE[:3])
    return RuleCounts(both, antecedent, consequent, TRUE.units + units)


def coverage(name: str, noise: JointNoise, taken_for: JointNoise) -> float:
    """Return how often the interval of a metric holds its true value.

    noise: what the counts have. taken_for: what they are taken to have.
    """
    truth = TRUE.both / TRUE.units if name == "support" else METRICS[name](TRUE)
    (lower, upper), holds = joint_interval(name, drawn(noise), taken_for)
    assert holds.all()
    return float(((lower <= truth) & (truth <= upper)).mean())


@pytest.mark.parametrize("noise", [TWO_NORMALS, ALONE])
@pytest.mark.parametrize("name", ["support", *METRICS])
def test_each_interval_holds_in_95_percent_of_cases(name: str, noise: JointNoise) -> None:
    # 5 standard errors, and what the delta method is off.
    assert 0.94 <= coverage(name, noise, noise) <= 0.96


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("lift", replace(TWO_NORMALS, own=OWN / 2)),
        ("confidence", replace(TWO_NORMALS, own=OWN / 2)),
        ("leverage", replace(TWO_NORMALS, shared=0.0)),
        ("support", replace(TWO_NORMALS, shared=0.0)),
        ("conviction", replace(TWO_NORMALS, own=OWN / 2)),
        ("zhangs_metric", replace(TWO_NORMALS, own=OWN / 2)),
        ("jaccard", replace(TWO_NORMALS, own=OWN / 2)),
        ("kulczynski", replace(TWO_NORMALS, own=OWN / 2)),
        # Noise that supports and units share cancels in part.
        ("support", replace(TWO_NORMALS, between=0.0)),
        ("lift", replace(TWO_NORMALS, between=-OF_UNITS / 2)),
    ],
)
def test_wrong_covariances_are_found(name: str, mutant: JointNoise) -> None:
    assert not 0.94 <= coverage(name, TWO_NORMALS, mutant) <= 0.96
