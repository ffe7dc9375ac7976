"""Budgets that are allowed and promise little: who is told, where, and in which words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import fim_private as fim
from fim_private.cli.commands import as_typed
from fim_private.errors import parameter
from fim_private.mechanisms import Exponential, LargeMargin

SHOP = [["milk", "tea"]] * 1500 + [["bread", "milk"]] * 500
ITEMS = ["milk", "tea", "bread"]
USERS = pa.table({"user": [*range(1000)] * 2, "items": SHOP})


def told(call: Callable[[], Any]) -> list[fim.PrivacyWarning]:
    """The warnings of a call, each of which must name the line that made it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    for one in caught:
        assert one.category is fim.PrivacyWarning
        assert one.filename == __file__
        assert "\n" not in str(one.message)
    return [one.message for one in caught if isinstance(one.message, fim.PrivacyWarning)]


def test_most_budgets_need_no_word() -> None:
    budgets: list[dict[str, Any]] = [{"epsilon": 0.1, "delta": 1e-9}, {"epsilon": 10, "delta": 4e-4}]
    for budget in budgets:
        assert told(partial(fim.mine, SHOP, **budget)) == []
        assert told(partial(fim.count, SHOP, [["tea"]], **budget)) == []


EPSILON = "promises next to nothing: it lets the probability of a result change by a factor of e^"
DELTA = "promises little: with this probability somebody's data may simply be published"
UNITS = "is not below 1 / (number of baskets): to publish one basket that is drawn by lot would be allowed"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"epsilon": 10.001}, [f"epsilon 10.001 {EPSILON}10.001;"]),
        ({"epsilon": 50, "neighbors": "replace-one"}, [f"epsilon 50 {EPSILON}50;"]),
        ({"delta": 0.00101}, [f"delta 0.00101 {DELTA};"]),
        ({"delta": 0.001, "neighbors": "replace-one"}, [f"delta 0.001 {UNITS};"]),
        ({"delta": 0.0005, "neighbors": "replace-one"}, [f"delta 0.0005 {UNITS};"]),
        ({"delta": 0.0005}, []),  # how many baskets there are is private
        ({"epsilon": 11, "delta": 0.5, "top": 3}, [f"epsilon 11 {EPSILON}11;", f"delta 0.5 {DELTA};"]),
        ({"epsilon": 11, "delta": 0.5, "mechanism": "exponential", "catalogue": ITEMS}, [f"epsilon 11 {EPSILON}11;"]),
        ({"rho": 3, "top": 3}, ["rho 3, an epsilon of "]),
        ({"rho": 0.01, "top": 3}, []),
    ],
)
def test_whoever_calls_is_told_once(asked: dict[str, Any], words: list[str]) -> None:
    found = told(lambda: fim.mine(SHOP, **asked))
    assert len(found) == len(words)
    for one, text in zip(found, words, strict=True):
        assert text in str(one)


def test_users_are_told_of_users() -> None:
    asked: dict[str, Any] = {"user": "user", "delta": 1e-3}
    [one] = told(lambda: fim.mine(USERS, **asked, top=3, neighbors="replace-one"))
    assert "is not below 1 / (number of users): to publish one user " in str(one)
    assert told(lambda: fim.mine(USERS, **asked)) == []


def test_what_else_spends_tells_it_too() -> None:
    calls: dict[str, Callable[[], Any]] = {
        f"epsilon 30 {EPSILON}30": lambda: fim.count(SHOP, [["tea"]], epsilon=30),
        "rho 10, an epsilon of ": lambda: fim.count(SHOP, [["tea"], ["milk"], ["bread"]], rho=10, delta=1e-4),
        f"epsilon 20 {EPSILON}20": lambda: fim.select([612, 840], Exponential(epsilon=20.0)),
        f"delta 0.01 {DELTA}": lambda: fim.select([612, 840], LargeMargin(1.0, 0.01)),
    }
    for words, call in calls.items():
        [one] = told(call)
        assert str(one).startswith(words)
    assert told(lambda: fim.select([612, 840], Exponential(epsilon=10.0))) == []


def test_a_seed_protects_nobody_and_says_so_itself() -> None:
    assert told(lambda: fim.mine(SHOP, epsilon=50, delta=0.5, seed=1)) == []
    assert told(lambda: fim.count(SHOP, [["tea"]], epsilon=50, seed=1)) == []
    assert told(lambda: fim.select([612, 840], Exponential(epsilon=20.0), seed=1)) == []


def test_it_is_said_before_the_data_is_read() -> None:
    with pytest.raises(fim.PrivacyWarning):  # an error in these tests
        fim.mine("no such file.parquet", epsilon=11)


def test_the_command_line_names_its_options() -> None:
    [one] = told(lambda: fim.mine(SHOP, epsilon=11))
    assert one.spelled(as_typed).startswith("--epsilon 11 promises next to nothing")
    assert str(fim.PrivacyWarning(f"{parameter('rho')} of rho")) == "rho of rho"
    assert issubclass(fim.PrivacyWarning, UserWarning)
    assert not issubclass(fim.PrivacyWarning, fim.FimPrivateError)
