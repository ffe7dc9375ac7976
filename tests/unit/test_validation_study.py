"""The ways of the study of validation: what each of them spends, and the histogram's stability by
brute force.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest

from benchmarks import tuning, validation
from fim_private.dp.noise import Randomness
from fim_private.learning.linear import linear_sensitivity, train_linear


@pytest.mark.parametrize(
    ("units", "validated"), [(3, 2), pytest.param(4, 1, marks=pytest.mark.full)]
)
def test_a_histogram_s_stability_is_reached(units: int, validated: int) -> None:
    """By brute force, over all data in two bins and noise from -2 to 2: a score is 2/m Σ f(v) - ∫
    f².
    """

    def score(noisy: tuple[int, int], others: int) -> Fraction:
        shares = [Fraction(count, units) for count in noisy]
        return 2 * (
            2 * (shares[0] * others + shares[1] * (validated - others)) / validated
            - shares[0] ** 2
            - shares[1] ** 2
        )

    of_training = of_validation = Fraction(0)
    for first, one, two, others in itertools.product(
        range(units), range(-2, 3), range(-2, 3), range(validated + 1)
    ):
        # One unit goes from the second bin to the first; counts are cut to [0, n].
        before, after = (
            (min(max(count + one, 0), units), min(max(units - count + two, 0), units))
            for count in (first, first + 1)
        )
        of_training = max(of_training, abs(score(before, others) - score(after, others)))
        if others:
            of_validation = max(
                of_validation,
                *(abs(score(n, others) - score(n, others - 1)) for n in (before, after)),
            )
    h = Fraction(1, 2)
    assert of_training * units == 4 / h - 2 / (h * units)
    assert of_validation * validated == 2 / h


@pytest.fixture(scope="module")
def given() -> tuning.Candidates:
    known = tuning.labelled(tuning.GENERATED, "z-score", 400)
    training, held, _ = next(tuning.folds(400, 3))
    strengths = validation.LINEAR[:3]
    return tuning.candidates(known.of(training), known.of(held), strengths, [40, 12, 8])


def test_a_way_trains_as_train_linear_does(given: tuning.Candidates) -> None:
    found = given.train(1, Fraction(1, 2), Randomness.seeded(5))
    rows, labels = given.training.rows, given.training.labels
    options: dict[str, Any] = {
        "regularization": given.strengths[1],
        "steps": 12,
        "neighbors": "replace-one",
    }
    assert found == train_linear(rows, labels, **options, epsilon=Fraction(1, 2), seed=5)


def test_the_stability_is_of_the_least_stable(given: tuning.Candidates) -> None:
    lengths = [
        linear_sensitivity(320, 10, regularization=one, steps=steps)
        for one, steps in zip(given.strengths, given.taken, strict=True)
    ]
    assert given.stability == max(max(lengths) / 2, Fraction(1, 40))


# For each way: ε of each training, of how many; ε of the choice, and the stability that it is for.
SPENT: dict[str, tuple[str, bool, str | None, bool]] = {
    tuning.STABILITY: ("1/2", False, "1/2", True),
    tuning.KEPT: ("1/2", False, "1", True),
    tuning.SPLIT: ("1/6", False, "1/2", False),
    tuning.PARALLEL: ("1/3", False, "1", False),
    tuning.RANDOM: ("1", False, None, False),
    tuning.BEST: ("1/3", True, None, False),
}


@pytest.mark.every_case
@pytest.mark.parametrize("way", SPENT)
def test_what_each_way_spends(
    way: str, given: tuning.Candidates, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[Fraction] = []
    chosen: list[dict[str, Any]] = []
    train = tuning.Candidates.train

    def recorded(
        self: tuning.Candidates, place: int, epsilon: Fraction, randomness: Randomness
    ) -> Any:
        trained.append(epsilon)
        return train(self, place, epsilon, randomness)

    monkeypatch.setattr(tuning.Candidates, "train", recorded)

    def spied(original: Any) -> Any:
        def noted(*values: Any, **options: Any) -> Any:
            chosen.append(options)
            return original(*values, **options)

        return noted

    for name in ("train_and_validate", "validate", "best_of"):
        monkeypatch.setattr(tuning, name, spied(getattr(tuning, name)))
    place, model = tuning.choose(way, given, Fraction(1), 7)
    assert 0 <= place < 3
    assert len(model.weights) == 10
    each, runs, choice, stability = SPENT[way]
    assert set(trained) == {Fraction(each)}
    assert runs or len(trained) == {tuning.STABILITY: 4, tuning.RANDOM: 1}.get(way, 3)
    if choice is None:
        assert [options["epsilon"] for options in chosen] == ([1] if runs else [])
        return
    [options] = chosen
    assert options["epsilon"] == Fraction(choice)
    assert options["stability"] == (given.stability if stability else Fraction(1, 40))
    assert options.get("retrain", True) is (way != tuning.KEPT)
