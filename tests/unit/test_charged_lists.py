"""Whatever is computed of a caller's list can be charged to a ledger."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fim_private as fim
from fim_private.dp.noise import Randomness
from fim_private.errors import LedgerError, ParameterError, PrivacyWarning

ROWS = fim.unit_rows([[77.0], [-77.0]] * 20, center=0, scale=100)
SIGNS, TRUTHS = [1, -1] * 20, [True, False] * 20
VALUES = [77, 7] * 20
ran: list[int] = []


def train(candidate: int) -> int:
    ran.append(candidate)
    return candidate


def run(candidate: int) -> tuple[int, int]:
    ran.append(candidate)
    return candidate, candidate


half = Fraction(1, 2)
validated = {"candidates": 2, "stability": "1"}
trained = partial(fim.train_and_validate, train, lambda _: 77, 2, stability=1, epsilon=0.5)
linear = partial(fim.train_linear, ROWS, SIGNS, regularization=0.1, epsilon=0.5, steps=3)
box = partial(fim.learn_box, [[77], [7]] * 20, TRUTHS, bits=8, error=0.5, epsilon=0.5)
scaled = partial(fim.select, [77, 7], fim.Exponential(0.5), labels=["a", "b"], sensitivity=half)
wide = partial(fim.quantiles, VALUES, levels=2, low=-1, high=2**64, epsilon=0.5)
inside = partial(fim.interior_point, VALUES, fim.MajorityPath(0.5, 1e-6, 8))
margin = partial(fim.select, [77, 7], fim.LargeMargin(0.5, 1e-6))
valid = partial(fim.validate, [77, 7], stability=1, epsilon=0.5)
best = partial(fim.best_of, run, 3, stop=0.5, epsilon=0.5)
point = partial(fim.learn_point, VALUES, TRUTHS, bits=8, epsilon=0.5, delta=1e-6)
threshold = partial(fim.learn_threshold, VALUES, TRUTHS, bits=8, epsilon=0.5)
# Each way to spend: a call without a ledger, and the public parameters of its entry.
WAYS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "select": (scaled, {"mechanism": "Exponential", "candidates": 2, "sensitivity": "0.5"}),
    "select by a mechanism that is not bounded-range": (
        margin,
        {"mechanism": "LargeMargin", "candidates": 2, "sensitivity": "1"},
    ),
    "quantiles": (wide, {"levels": 2, "low": -1, "high": "1.845e+19"}),
    "validate": (valid, validated),
    "train_and_validate": (
        trained,
        {**validated, "retrain": True, "training": "not in this entry"},
    ),
    "train_and_validate with its training": (
        partial(trained, training=0.25),
        {**validated, "retrain": True, "training": "0.25"},
    ),
    "train_and_validate of the very model": (
        partial(trained, training=0.75, retrain=False),
        {**validated, "retrain": False, "training": "0.75"},
    ),
    "best_of": (best, {"candidates": 3, "stop": "0.5"}),
    "train_linear": (linear, {"columns": 1, "regularization": "0.1", "steps": 3}),
    "interior_point": (inside, {"mechanism": "MajorityPath", "bits": 8}),
    "learn_point": (point, {"bits": 8}),
    "learn_threshold": (threshold, {"bits": 8}),
    "learn_box": (box, {"bits": 8, "columns": 1, "error": "0.5"}),
}
# What each costs: ε and ρ, where they are not 1/2 and 1/8; and δ, where it is not 0.
COSTS: dict[str, tuple[Any, Fraction]] = {
    "select": (half, Fraction(1, 32)),
    "train_and_validate with its training": (Fraction(3, 4), Fraction(9, 32)),
    "train_and_validate of the very model": (1, half),
}
WITH_DELTA = ("select by a mechanism that is not bounded-range", "interior_point", "learn_point")
every_way = pytest.mark.parametrize("way", WAYS)
# Those that take their relation themselves; of the others it is the mechanism's.
RELATED = [way for way in WAYS if not way.startswith(("select", "interior_point"))]


Create = Callable[..., fim.Ledger]


@pytest.fixture
def create(tmp_path: Path) -> Create:
    """Make a ledger that holds two calls, unless it is to be another one."""
    ran.clear()
    limits: dict[str, Any] = {"epsilon": 2, "delta": 1e-5, "composition": "basic"}
    return partial(fim.Ledger.create, tmp_path / "sales.ledger", **limits)


@pytest.mark.every_case
@every_way
def test_an_entry_says_what_was_asked_and_nothing_of_the_data(create: Create, way: str) -> None:
    call, asked = WAYS[way]
    epsilon, rho = COSTS.get(way, (half, Fraction(1, 8)))
    delta = Fraction(1, 10**6) if way in WITH_DELTA else 0
    with create(epsilon=1) as ledger:
        call(ledger=ledger, dataset="sales")
        [entry] = ledger.entries
        assert (entry.command, entry.dataset) == (way.partition(" ")[0], "sales")
        assert (entry.cost.epsilon, entry.cost.delta) == (epsilon, delta)
        assert (entry.zcdp.rho, entry.zcdp.delta) == (rho, delta)
        assert (entry.neighbors, entry.privacy_unit) == ("add-remove", "basket")
        assert entry.parameters == {**asked, "unit": "basket"}
        assert "77" not in str({**entry.parameters, "training": ""})
        if epsilon > Fraction(1, 2):
            with pytest.raises(LedgerError, match="this would overspend"):
                call(ledger=ledger, dataset="sales")


class Untouched:
    """Randomness that nobody may draw from."""

    private = True

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was drawn before the charge")


@pytest.mark.every_case
@every_way
def test_nothing_is_drawn_and_no_function_is_called_before_the_charge(
    create: Create, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, ledger = WAYS[way][0], create(epsilon=0.25, delta=0)
    monkeypatch.setattr(Randomness, "of_seed", lambda seed: Untouched())
    with pytest.raises(LedgerError, match="this would overspend"):
        call(ledger=ledger, dataset="sales")
    assert (ran, ledger.entries) == ([], ())
    # The same call with a budget does draw. What goes wrong then has been charged.
    ledger = create(renew=True)
    with pytest.raises(AssertionError, match="before the charge"):
        call(ledger=ledger, dataset="sales")
    assert len(ledger.entries) == 1


@every_way
def test_what_is_refused_costs_nothing(create: Create, way: str) -> None:
    call, ledger = WAYS[way][0], create()
    both: dict[str, Any] = {"ledger": ledger, "dataset": "sales"}
    for given, message in (
        ({"dataset": "sales"}, "dataset goes with ledger"),
        ({"unit": "user"}, "unit goes with ledger: what one entry of your list is"),
        ({"ledger": ledger}, "ledger needs dataset"),
        ({"ledger": "sales.ledger", "dataset": "sales"}, "ledger must be a fim.Ledger"),
        ({**both, "seed": 1}, "seed and ledger contradict each other"),
        ({**both, "unit": "row"}, "unit must be one of basket, user, not 'row'"),
    ):
        with pytest.raises((ParameterError, LedgerError), match=f"^{message}"):
            call(**given)
    assert (ledger.entries, ran) == ((), [])


@every_way
def test_a_unit_is_that_of_the_ledger_unless_another_is_said(create: Create, way: str) -> None:
    call, ledger = WAYS[way][0], create(unit="user")
    call(ledger=ledger, dataset="sales")
    call(ledger=ledger, dataset="sales", unit="user")
    assert [entry.privacy_unit for entry in ledger.entries] == ["user"] * 2
    assert [entry.parameters["unit"] for entry in ledger.entries] == ["user"] * 2
    with pytest.raises(LedgerError, match="protects users, and this release protects baskets"):
        call(ledger=ledger, dataset="sales", unit="basket")


def test_the_first_charge_decides_whom_the_ledger_protects(create: Create) -> None:
    ledger = create(epsilon=3)
    fim.validate([1, 2], stability=1, epsilon=1, ledger=ledger, dataset="sales", unit="user")
    assert ledger.privacy_unit == "user"
    with pytest.raises(LedgerError, match="protects users"):
        fim.mine([["tea", "milk"]] * 50, ledger=ledger, dataset="sales")


@pytest.mark.parametrize("way", RELATED)
def test_a_ledger_of_another_relation_refuses(create: Create, way: str) -> None:
    call, ledger = WAYS[way][0], create(neighbors="replace-one")
    with pytest.raises(LedgerError, match="is for neighbors 'replace-one', and this release"):
        call(ledger=ledger, dataset="sales")
    assert ran == []
    call(ledger=ledger, dataset="sales", neighbors="replace-one")
    assert [entry.neighbors for entry in ledger.entries] == ["replace-one"]


@pytest.mark.every_case
@pytest.mark.parametrize("way", RELATED)
def test_a_large_epsilon_is_said_where_it_is_private(way: str) -> None:
    call = WAYS[way][0]
    with pytest.warns(PrivacyWarning, match=r"epsilon 11\S* promises next to nothing") as said:
        call(epsilon=11)
    assert said[0].filename == __file__
    call(epsilon=11, seed=1)  # warnings are errors


def test_the_relation_of_a_mechanism_is_charged(create: Create) -> None:
    ledger = create(neighbors="replace-one")
    with pytest.raises(LedgerError, match="this release is for 'add-remove'"):
        fim.select([7, 9], fim.Exponential(1), ledger=ledger, dataset="s")
    with pytest.raises(LedgerError, match="this release is for 'add-remove'"):
        fim.interior_point([7], fim.ExponentialInterior(1, 8), ledger=ledger, dataset="s")
    fim.select([7, 9], fim.Exponential(1, "replace-one"), ledger=ledger, dataset="s")
    interior = fim.ExponentialInterior(1, 8, "replace-one")
    fim.interior_point([7], interior, ledger=ledger, dataset="s")
    assert [entry.command for entry in ledger.entries] == ["select", "interior_point"]


def test_labels_alone_are_no_unit_of_a_ledger(create: Create) -> None:
    ledger = create()
    charged: Any = {"ledger": ledger, "dataset": "sales"}
    with pytest.raises(ParameterError, match=r"^private 'labels' and ledger contradict each other"):
        fim.learn_threshold([1], [True], bits=8, epsilon=1, private="labels", **charged)
    assert ledger.entries == ()


def test_no_rows_at_all_are_answered_where_their_number_is_private() -> None:
    none = np.empty((0, 2), dtype=np.int64)
    assert 0 <= fim.learn_point([], [], bits=8, epsilon=1, delta=1e-6, seed=1) < 256
    assert 0 <= fim.learn_threshold([], [], bits=8, epsilon=1, seed=1) <= 256
    assert len(fim.learn_box(none, [], bits=8, error=0.5, epsilon=1, seed=1)) == 2
    assert fim.interior_point([], fim.MajorityPath(bits=8), seed=1) is None
    assert 0 <= (fim.interior_point([], fim.ExponentialInterior(bits=8), seed=1) or 0) < 256
    model = fim.train_linear(none, [], regularization=1, epsilon=1, steps=3, seed=1)
    assert len(model.weights) == 2
    assert model.margins(none).shape == (0,)
    assert model.ramp_score(none, [], least_rows=5) == 0
