"""required_support: the least support with the wanted probability of release, from parameters alone."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from fim_private.mechanisms import LargeMargin
from fim_private.planning import CONFIDENCE, required_support
from fim_private.spectrum import SupportSpectrum


def released(mechanism: LargeMargin, supports: list[int]) -> float:
    """The probability of releasing the first support."""
    return float(mechanism.distribution(SupportSpectrum.from_supports(supports)).probabilities[0])


@pytest.mark.parametrize(
    ("epsilon", "delta", "confidence"),
    [(1.0, 1e-6, CONFIDENCE), (1.0, 1e-6, 0.5), (0.5, 1e-8, CONFIDENCE), (4.0, 1e-3, 0.99), (0.1, 1e-6, CONFIDENCE)],
)
def test_it_is_the_least_support_that_reaches_the_confidence(epsilon: float, delta: float, confidence: float) -> None:
    first_rank = LargeMargin(epsilon, delta, max_rank=1)
    least = required_support(LargeMargin(epsilon, delta), confidence)
    assert released(first_rank, [least]) >= confidence > released(first_rank, [least - 1])


def test_at_the_usual_parameters() -> None:
    # One itemset of support 450 alone is released with probability 0.9537 (and 420 with 0.5644).
    assert required_support(LargeMargin(1.0, 1e-6)) == 450
    assert 415 < required_support(LargeMargin(1.0, 1e-6), 0.5) < 420


@pytest.mark.parametrize("max_rank", [1, 2, 10_000])
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_the_cap_and_the_neighbours_do_not_matter(max_rank: int, neighbors: str) -> None:
    assert required_support(LargeMargin(1.0, 1e-6, neighbors, max_rank)) == 450


@pytest.mark.parametrize("runner_up", [0, 1, 100, 3000])
def test_it_is_the_lead_over_the_runner_up_that_counts(runner_up: int) -> None:
    mechanism = LargeMargin(1.0, 1e-6)
    lead = required_support(mechanism)
    supports = [runner_up + lead] + [runner_up] * min(runner_up, 1)
    assert released(mechanism, supports) >= CONFIDENCE


def test_more_privacy_needs_more_support() -> None:
    by_epsilon = [required_support(LargeMargin(epsilon, 1e-6)) for epsilon in (4, 2, 1, 0.5, 0.1)]
    by_delta = [required_support(LargeMargin(1, delta)) for delta in (1e-3, 1e-6, 1e-9, 1e-12)]
    assert by_epsilon == sorted(set(by_epsilon))
    assert by_delta == sorted(set(by_delta))


@pytest.mark.parametrize(("epsilon", "delta"), [(30, 1e-6), (1000, 1e-6), (1, 1e-300), (1, 0.999), (0.01, 1e-6)])
def test_far_parameters_are_no_trouble(epsilon: float, delta: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert required_support(LargeMargin(epsilon, delta)) >= 1


def test_no_data_is_taken() -> None:
    import inspect

    parameters: Any = inspect.signature(required_support).parameters
    assert list(parameters) == ["mechanism", "confidence"]
