"""Budgets that are allowed and promise little: who is told, where, and in which words."""

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
    for epsilon, delta in ((0.1, 1e-9), (10, 4e-4)):
        assert told(partial(fim.mine, SHOP, epsilon=epsilon, delta=delta)) == []
        assert told(partial(fim.count, SHOP, [["tea"]], epsilon=epsilon, delta=delta)) == []


EPSILON = "promises next to nothing: it lets the probability of a result change by a factor of e^"
DELTA = "promises little: with this probability somebody's data may simply be published"
UNITS = "is not below 1 / (number of baskets): it allows one basket, drawn at random, to be"

PURE: dict[str, Any] = {"mechanism": "exponential", "catalogue": ITEMS, "top": 1}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"epsilon": 10.001}, [f"epsilon 10.001 {EPSILON}10.001;"]),
        ({"epsilon": 50, "neighbors": "replace-one"}, [f"epsilon 50 {EPSILON}50;"]),
        ({"delta": 0.00101}, [f"delta 0.00101 {DELTA};"]),
        ({"delta": 0.001, "neighbors": "replace-one"}, [f"delta 0.001 {UNITS}"]),
        ({"delta": 0.0005, "neighbors": "replace-one"}, [f"delta 0.0005 {UNITS}"]),
        ({"delta": 0.0005, "supports": False}, []),  # how many baskets there are is private
        (
            {"epsilon": 11, "delta": 0.5, "top": 3},
            [f"epsilon 11 {EPSILON}11;", f"delta 0.5 {DELTA};"],
        ),
        (PURE | {"epsilon": 11, "delta": 0.5}, [f"epsilon 11 {EPSILON}11;"]),
        ({"rho": 3, "top": 3}, ["rho 3, an epsilon of "]),
        ({"rho": 0.01, "top": 3}, []),
    ],
)
def test_whoever_calls_is_told_once(asked: dict[str, Any], words: list[str]) -> None:
    found = told(lambda: fim.mine(SHOP, **asked))
    assert len(found) == len(words)
    for one, text in zip(found, words, strict=True):
        assert text in str(one)


NOISY = "is not below 1 / (number of baskets, about "
MANY = [["milk", "tea"]] * 15_000 + [["bread", "milk"]] * 5_000


@pytest.mark.parametrize(
    "asked",
    [
        {"top": 3},
        {"top": 3, "where": "day >= 0", "neighbors": "replace-one"},
        {"min_support": 0.1},
        {"top": 2, "mechanism": "limited-domain"},
    ],
    ids=str,
)
@pytest.mark.every_case
def test_a_release_that_tells_how_many_there_are_warns_of_delta(asked: dict[str, Any]) -> None:
    table = pa.table({"items": MANY, "day": [1] * len(MANY)})
    *others, said = map(str, told(lambda: fim.mine(table, delta=9e-4, **asked)))
    assert said.startswith(f"delta 0.0009 {NOISY}")
    assert "or more): it allows one basket, drawn at random, to be published" in said
    assert all("does not hide which baskets are chosen" in one for one in others)
    assert told(lambda: fim.mine(table, delta=4e-5, **asked))[len(others) :] == []
    assert told(lambda: fim.mine(table, delta=9e-4, **asked, seed=1)) == []


def test_the_number_in_that_warning_is_the_one_that_was_released() -> None:
    releases: list[fim.Release] = []
    items = [["tea"], ["milk"], ["bread"]]
    for call in (
        lambda: releases.append(fim.mine(MANY, delta=9e-4, top=3)),
        lambda: releases.append(fim.count(MANY, items, delta=9e-4, rho=0.1)),
    ):
        [said] = told(call)
        assert f"about {releases[-1].units:,} or more" in str(said)


def test_where_nothing_tells_how_many_there_are_nobody_is_told() -> None:
    assert told(lambda: fim.mine(MANY, delta=9e-4, supports=False)) == []
    # Laplace noise: it spends no delta
    assert told(lambda: fim.count(MANY, [["tea"]], delta=9e-4)) == []


def test_segments_and_periods_are_told_of_all_together() -> None:
    """Ten parts of 2,000 baskets: delta is below 1/2,000, and not below 1/20,000."""
    names = [f"R{number}" for number in range(10)]
    days = [f"2026-11-{number + 10}" for number in range(10)]
    columns = {"region": names * 2_000, "day": days * 2_000}
    table = pa.table({"items": MANY, "basket": [*range(len(MANY))], **columns})
    regions: dict[str, Any] = {"by": "region", "segments": names}
    periods: dict[str, Any] = {"time": "day", "periods": ",".join(days)}
    for parts in (regions, periods):
        for delta, count in ((1e-4, 1), (4e-5, 0)):
            found = told(partial(fim.mine, table, delta=delta, top=3, **parts))
            assert [NOISY in str(one) for one in found] == [True] * count


def test_users_are_told_of_users() -> None:
    asked: dict[str, Any] = {"user": "user", "delta": 1e-3}
    [one] = told(lambda: fim.mine(USERS, **asked, top=3, neighbors="replace-one"))
    assert "is not below 1 / (number of users): it allows one user, " in str(one)
    assert told(lambda: fim.mine(USERS, **asked, supports=False)) == []


def test_what_else_spends_tells_it_too() -> None:
    items = [["tea"], ["milk"], ["bread"]]
    calls: dict[str, Callable[[], Any]] = {
        f"epsilon 30 {EPSILON}30": lambda: fim.count(SHOP, [["tea"]], epsilon=30),
        "rho 10, an epsilon of ": lambda: fim.count(SHOP, items, rho=10, delta=1e-4),
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
