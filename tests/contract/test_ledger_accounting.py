"""What a ledger allows stays within its (ε, δ), by exact accounting of the worst mechanisms."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import fftconvolve
from scipy.special import ndtr

import fim_private as fim
from fim_private.dp.accountant import added_up, smallest_cost, times_fitting
from fim_private.dp.composition import (
    gdp_delta_upper,
    gdp_epsilon,
    gdp_mu,
    root_above,
    zcdp_rho,
)
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.ledger.chain import Entry
from fim_private.ledger.statement import Statement

EPSILON, DELTA = 3, Fraction(1, 10**5)
STEP = 512  # losses are rounded up to 1/512
REACH = 4  # the losses of one release are within ±4, or infinite
GRID = np.arange(-REACH * STEP, REACH * STEP + 1) / STEP
LEFT, RIGHT = -16, 16  # the losses of a history: of those further up all fail
LOSSES = np.arange(LEFT * STEP, RIGHT * STEP + 1) / STEP
MILLIONTH = Fraction(1, 10**6)


@dataclass(frozen=True)
class Worst:
    """The worst mechanism with some costs: the probabilities of its privacy losses, and the costs.

    What is missing of the probabilities is that of an infinite loss.
    """

    losses: tuple[float, ...]
    entry: Entry


def entry(epsilon: Fraction, delta: Fraction, rho: Fraction, name: Fraction, normal: bool) -> Entry:
    costs = PrivacyCost(epsilon, delta), ZcdpCost(rho, name, normal=normal)
    charge: Any = "mine", "sales", "basket", "add-remove", *costs, {}
    return Entry(*charge, number=1, time="", previous="")


def gaussian(mu_squared: Fraction, delta: Fraction) -> Worst:
    """Normal noise that is μ-GDP, and names something with probability δ."""
    mu = float(mu_squared) ** 0.5
    below = ndtr((GRID - mu**2 / 2) / mu)
    losses = (1 - float(delta)) * np.diff(below, prepend=0)
    epsilon = gdp_epsilon(mu_squared, MILLIONTH)
    return Worst(
        tuple(losses), entry(epsilon, delta + MILLIONTH, mu_squared / 2, delta, normal=True)
    )


def bounded_range(epsilon: Fraction, top: Fraction, delta: Fraction, rho: Fraction) -> Worst:
    """Two outcomes, of the losses `top` and `top` - ε, or a failure with probability δ."""
    growth = np.exp(float(epsilon))
    high = (growth - np.exp(float(top))) / (growth - 1)
    losses = np.zeros(len(GRID))
    for loss, probability in ((top, high), (top - epsilon, 1 - high)):
        losses[int((loss + REACH) * STEP)] = (1 - float(delta)) * probability
    return Worst(tuple(losses), entry(max(top, epsilon - top), delta, rho, delta, normal=False))


def randomised_response(epsilon: Fraction, delta: Fraction) -> Worst:
    """The worst that is (ε, δ)-private: losses of ±ε."""
    return bounded_range(2 * epsilon, epsilon, delta, epsilon**2 / 2)


def random_mechanism(random: np.random.Generator) -> Worst:
    delta = Fraction(int(random.choice([0, 1, 5, 10, 20])), 10**7)
    epsilon = Fraction(int(random.integers(1, 17)), 8)
    kind = random.integers(4)
    if kind < 2:
        return gaussian(Fraction(int(random.integers(1, 60)), 400), delta)
    if kind == 2:
        return randomised_response(epsilon, delta)
    return bounded_range(epsilon, epsilon * int(random.integers(1, 4)) / 4, delta, epsilon**2 / 8)


def failures() -> np.ndarray[Any, Any]:
    """With which probability a history of some loss breaks ε."""
    return np.maximum(0, -np.expm1(EPSILON - LOSSES))


def before(mechanism: Worst, after: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The probability to break ε from each loss on, where one more release comes first."""
    padded = np.pad(after, REACH * STEP, mode="edge")
    losses = np.array(mechanism.losses)
    expected = fftconvolve(padded, losses[::-1], mode="valid") + 1 - losses.sum()
    return np.asarray(expected)


def composed(history: Sequence[Worst]) -> float:
    """Return the least δ with which a fixed history is (3, δ)-private, or slightly more."""
    delta = failures()
    for mechanism in history:
        delta = before(mechanism, delta)
    return float(delta[-LEFT * STEP])


def allows(statement: Statement, mechanism: Worst) -> bool:
    try:
        statement.check(mechanism.entry)
    except fim.LedgerError:
        return False
    return True


def random_history(statement: Statement, random: np.random.Generator) -> Iterator[Worst]:
    """Yield releases that a ledger allows, until it has refused five."""
    menu = [random_mechanism(random) for _ in range(random.integers(1, 4))]
    refusals = 0
    while refusals < 5:
        mechanism = menu[random.integers(len(menu))]
        if allows(statement, mechanism):
            statement = statement.after([mechanism.entry])
            yield mechanism
        else:
            refusals += 1


def worst_analyst(statement: Statement, menu: Sequence[Worst]) -> float:
    """Return the most with which any analyst breaks ε who picks each release by what came out."""
    known: dict[tuple[int, ...], np.ndarray[Any, Any]] = {}

    def from_there(statement: Statement, taken: tuple[int, ...]) -> np.ndarray[Any, Any]:
        if taken not in known:
            best = failures()
            for place, mechanism in enumerate(menu):
                if allows(statement, mechanism):
                    more = (*taken[:place], taken[place] + 1, *taken[place + 1 :])
                    later = from_there(statement.after([mechanism.entry]), more)
                    best = np.maximum(best, before(mechanism, later))
            known[taken] = best
        return known[taken]

    return float(from_there(statement, (0,) * len(menu))[-LEFT * STEP])


@pytest.fixture
def statement(tmp_path: Path) -> Statement:
    """A new ledger of (3, 1e-5)."""
    return fim.Ledger.create(tmp_path / "ledger", epsilon=EPSILON, delta=DELTA).statement()


class Forgetful(Statement):
    """A mutant: a sum forgets the releases that another composition allowed beyond its limit."""

    def after(self, entries: Any) -> Any:
        statement = self
        for entry in entries:
            counted = {
                name
                for left in statement.at().room.values()
                if times_fitting(left, entry.sums) >= 1
                for name in left
            }
            spent = statement.seen.spent.get(None, {})
            after = Statement.after(statement, [entry])
            kept = {
                name: total if name in counted else spent.get(name, Fraction(0))
                for name, total in after.seen.spent[None].items()
            }
            statement = replace(after, seen=after.seen._replace(spent={None: kept}))
        return statement


def without_the_split(statement: Statement, share: Fraction) -> Statement:
    """A mutant: basic composition has all of δ, and the others a share for names and for noise."""
    delta = DELTA * share
    terms = replace(
        statement.terms,
        basic_delta=DELTA,
        zcdp_delta=delta,
        rho=zcdp_rho(Fraction(EPSILON), delta),
        gaussian_rho=gdp_mu(Fraction(EPSILON), delta) ** 2 / 2,
    )
    return replace(statement, terms=terms)


MENUS: Mapping[str, list[Worst]] = {
    "levelwise and picks": [
        gaussian(Fraction(1, 18), Fraction(1, 10**7)),
        randomised_response(Fraction(1), MILLIONTH),
        gaussian(Fraction(1, 500), MILLIONTH),
    ],
    "large and small": [
        gaussian(Fraction(2, 5), Fraction(0)),
        randomised_response(Fraction(1, 4), 3 * MILLIONTH),
        bounded_range(Fraction(1), Fraction(1, 2), MILLIONTH, Fraction(1, 8)),
    ],
    # Four of the first are nearly all that half of δ allows in Gaussian composition.
    "all of δ": [
        gaussian(Fraction(483, 4000), Fraction(1, 10**7)),
        gaussian(Fraction(1, 10**5), 2 * MILLIONTH),
        randomised_response(Fraction(1, 2), MILLIONTH),
        randomised_response(Fraction(5, 2), 5 * MILLIONTH),
    ],
}


@pytest.mark.parametrize("mu_squared", [Fraction(3, 10), Fraction(1, 2)])
def test_the_accounting_itself_is_exact_but_for_rounding_up(mu_squared: Fraction) -> None:
    """One normal release, as four, and randomised response with its δ alone."""
    exact = float(gdp_delta_upper(Fraction(EPSILON), root_above(mu_squared)))
    for number in (1, 4):
        quarters = [gaussian(mu_squared / number, Fraction(0))] * number
        assert exact * (1 - 1e-6) <= composed(quarters) <= exact * 1.1
    answers = [randomised_response(Fraction(1), MILLIONTH)] * 3
    assert composed(answers) == pytest.approx(3e-6, rel=1e-5)


@pytest.mark.parametrize("histories", [200, pytest.param(2_000, marks=pytest.mark.full)])
def test_no_random_history_that_a_ledger_allows_breaks_its_promise(
    statement: Statement, histories: int
) -> None:
    random = np.random.default_rng(45)
    allowed = [[*random_history(statement, random)] for _ in range(histories)]
    assert max(map(composed, allowed)) <= DELTA


@pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS)
def test_no_analyst_breaks_the_promise_by_picking_releases(
    statement: Statement, menu: list[Worst]
) -> None:
    assert DELTA / 5 < worst_analyst(statement, menu) <= DELTA


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 2)], ids=["1", "each alone is right"])
def test_that_test_catches_a_ledger_that_does_not_split_delta(
    statement: Statement, share: Fraction
) -> None:
    mutant = without_the_split(statement, share)
    # More than rounding up adds.
    assert worst_analyst(mutant, MENUS["all of δ"]) > DELTA * Fraction(103, 100)


def test_that_test_catches_a_composition_that_forgets_what_exceeded_it(
    statement: Statement,
) -> None:
    mutant = Forgetful(**vars(statement))
    assert worst_analyst(mutant, MENUS["levelwise and picks"]) > 1000 * DELTA


def margin(history: Sequence[Worst], **assumed: Fraction) -> float:
    """Return by which factor a history that was fixed needs less δ than its one number states.

    assumed: what a mutant takes some of the sums for.
    """
    sums = {**(added_up(mechanism.entry.sums for mechanism in history) or {}), **assumed}
    for delta in (Fraction(1, 10**7) * Fraction(3, 2) ** step for step in range(26)):
        cost = smallest_cost(sums, delta)
        if cost.delta == delta and cost.epsilon <= EPSILON:
            return float(delta) / max(composed(history), 1e-12)
    return math.inf


@pytest.mark.parametrize("histories", [50, pytest.param(1_000, marks=pytest.mark.full)])
def test_the_one_number_of_a_fixed_history_holds(histories: int) -> None:
    random = np.random.default_rng(46)
    fixed = [
        [random_mechanism(random) for _ in range(random.integers(1, 9))] for _ in range(histories)
    ]
    margins = [margin(history) for history in fixed]
    assert min(margins) >= 1 - 1e-6
    assert sum(number < 2 for number in margins) > histories / 20  # it is not far too much
    # a mutant that forgets the δ of names
    assert min(margin(history, zcdp_delta=Fraction(0)) for history in fixed[:20]) < 0.5
