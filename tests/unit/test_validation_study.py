"""The ways of the study of validation: what each of them spends, and the histogram's stability by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from benchmarks import validation
from benchmarks.tuning import labelled_rows as data
from benchmarks.tuning import ways
from fim_private.dp.noise import Randomness
from fim_private.learning.linear import linear_sensitivity, train_linear


@dataclass(frozen=True)
class Histogram:
    """kept: noisy counts in bins of [0, 1), cut to [0, n]; the density in a bin is kept * bins / n."""

    kept: tuple[int, ...]
    units: int

    def score(self, counts: Sequence[int]) -> Fraction:
        """2/m Σ f(v) - ∫ f² for m values to validate with, by their counts in the bins."""
        bins = len(self.kept)
        hits = Fraction(2 * sum(k * c for k, c in zip(self.kept, counts, strict=True)), sum(counts))
        return bins * (hits / self.units - Fraction(sum(k * k for k in self.kept), self.units**2))


def made_of(counts: tuple[int, ...], noise: tuple[int, ...], units: int, cut: bool) -> Histogram:
    most = units if cut else 10**9
    return Histogram(tuple(min(max(c + z, 0), most) for c, z in zip(counts, noise, strict=True)), units)


def counts_of(units: int, bins: int) -> Iterator[tuple[int, ...]]:
    return (counts for counts in itertools.product(range(units + 1), repeat=bins) if sum(counts) == units)


def replaced(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The counts after one unit went to another bin."""
    for here, there in itertools.permutations(range(len(counts)), 2):
        if counts[here]:
            other = list(counts)
            other[here] -= 1
            other[there] += 1
            yield tuple(other)


def largest_changes(units: int, validated: int, bins: int, cut: bool = True) -> tuple[Fraction, Fraction]:
    """The most that a unit to train on, or to validate with, moves a score: over all data and noise from -2 to 2."""
    of_training = of_validation = Fraction(0)
    noises = list(itertools.product(range(-2, 3), repeat=bins))
    for counts in counts_of(units, bins):
        for noise in noises:
            made = made_of(counts, noise, units, cut)
            for others in counts_of(validated, bins):
                here = made.score(others)
                for changed in replaced(counts):
                    of_training = max(of_training, abs(here - made_of(changed, noise, units, cut).score(others)))
                for changed in replaced(others):
                    of_validation = max(of_validation, abs(here - made.score(changed)))
    return of_training, of_validation


@pytest.mark.parametrize(("units", "validated"), [(3, 2), pytest.param(4, 1, marks=pytest.mark.full)])
def test_a_histogram_s_stability_is_reached(units: int, validated: int) -> None:
    h = Fraction(1, 2)
    of_training, of_validation = largest_changes(units, validated, 2)
    assert of_training * units == 4 / h - 2 / (h * units)
    assert of_validation * validated == 2 / h


def test_counts_that_are_not_cut_at_n_would_break_it() -> None:
    of_training, of_validation = largest_changes(2, 2, 2, cut=False)
    assert of_training * 2 > 4 * 2
    assert of_validation * 2 > 2 * 2


def test_the_histogram_s_score_is_its_definition() -> None:
    made = Histogram((3, 0, 5, 1), 8)
    heights = np.array(made.kept) * 4 / 8
    validated = [2, 1, 0, 1]
    right = 2 * float(heights @ validated) / 4 - float((heights**2).mean())
    assert float(made.score(validated)) == pytest.approx(right)


@pytest.fixture(scope="module")
def given() -> ways.Candidates:
    known = data.labelled(data.GENERATED, "z-score", 400)
    training, held, _ = next(data.folds(400, 3))
    strengths = validation.LINEAR[:3]
    return ways.candidates(known.of(training), known.of(held), strengths, [40, 12, 8])


def test_a_way_trains_as_train_linear_does(given: ways.Candidates) -> None:
    found = given.train(1, Fraction(1, 2), Randomness.seeded(5))
    rows, labels = given.training.rows, given.training.labels
    options: dict[str, Any] = {"regularization": given.strengths[1], "steps": 12, "neighbors": "replace-one"}
    assert found == train_linear(rows, labels, **options, epsilon=Fraction(1, 2), seed=5)


def test_the_stability_is_of_the_least_stable(given: ways.Candidates) -> None:
    lengths = [
        linear_sensitivity(320, 10, regularization=one, steps=steps)
        for one, steps in zip(given.strengths, given.taken, strict=True)
    ]
    assert given.stability == max(max(lengths) / 2, Fraction(1, 40))


# For each way: ε of each training, of how many; ε of the choice, and the stability that it is for.
SPENT: dict[str, tuple[str, bool, str | None, bool]] = {
    ways.STABILITY: ("1/2", False, "1/2", True),
    ways.KEPT: ("1/2", False, "1", True),
    ways.SPLIT: ("1/6", False, "1/2", False),
    ways.PARALLEL: ("1/3", False, "1", False),
    ways.RANDOM: ("1", False, None, False),
    ways.BEST: ("1/3", True, None, False),
}


@pytest.mark.every_case
@pytest.mark.parametrize("way", SPENT)
def test_what_each_way_spends(way: str, given: ways.Candidates, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[Fraction] = []
    chosen: list[dict[str, Any]] = []
    train = ways.Candidates.train

    def recorded(self: ways.Candidates, place: int, epsilon: Fraction, randomness: Randomness) -> Any:
        trained.append(epsilon)
        return train(self, place, epsilon, randomness)

    monkeypatch.setattr(ways.Candidates, "train", recorded)

    def spied(original: Any) -> Any:
        def noted(*values: Any, **options: Any) -> Any:
            chosen.append(options)
            return original(*values, **options)

        return noted

    for name in ("train_and_validate", "validate", "best_of"):
        monkeypatch.setattr(ways, name, spied(getattr(ways, name)))
    place, model = ways.choose(way, given, Fraction(1), 7)
    assert 0 <= place < 3
    assert len(model.weights) == 10
    each, runs, choice, stability = SPENT[way]
    assert set(trained) == {Fraction(each)}
    assert runs or len(trained) == {ways.STABILITY: 4, ways.RANDOM: 1}.get(way, 3)
    if choice is None:
        assert [options["epsilon"] for options in chosen] == ([1] if runs else [])
        return
    [options] = chosen
    assert options["epsilon"] == Fraction(choice)
    assert options["stability"] == (given.stability if stability else Fraction(1, 40))
    assert options.get("retrain", True) is (way != ways.KEPT)
