"""What is advised where nothing, or too little, came out."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fim_private as fim
from fim_private.counting.source import NOTHING_KNOWN, UNKNOWN
from fim_private.mining.given import given_itemsets
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.planning.advice import Advice, advice, needed_support
from fim_private.reading.purchases import read_transactions
from fim_private.release.page import page
from fim_private.request.request import Request, request_of

# Budgets are as large as they are advised to be.
pytestmark = pytest.mark.filterwarnings("ignore::fim_private.PrivacyWarning")


ALONE: dict[str, Any] = {"top": 1, "supports": False}
BY_AUTO = {"mechanism": "auto", **ALONE}


def asked(**options: Any) -> Request:
    return request_of(**{"by_user": False, "neighbors": "replace-one", **options})


def told(units: int | None = None, found: int = 0, **options: Any) -> Advice:
    one = advice(asked(**options), units, found)
    assert one is not None
    return one


@pytest.mark.parametrize(
    ("options", "units", "changes"),
    [
        # Where another mechanism needs little enough, it is all.
        ({"mechanism": "large-margin"}, 5_000, BY_AUTO),
        ({"mechanism": "large-margin", "neighbors": "add-remove"}, None, BY_AUTO),
        ({"mechanism": "large-margin"}, 1_500, BY_AUTO | {"epsilon": 2}),
        # The least that would probably do, not the most.
        (ALONE, 700, {"size": 1}),
        (ALONE | {"epsilon": 1e-9}, 3_000, {"epsilon": 1}),
        ({"top": 20}, 3_000, {"top": 1, "supports": False}),
        (ALONE | {"rho": 1e-4}, 2_000, {"size": 1, "rho": Fraction(1, 50)}),
        # Rules need supports, and two items.
        ({"top": 20, "rules": True, "epsilon": 0.3}, 10_000, {"top": 1, "epsilon": Fraction(1, 2)}),
        # What was asked for with the wrong mechanism is asked for with the one that has use for the
        # cap.
        ({"mechanism": "large-margin", "max_rank": 50}, 5_000, BY_AUTO),
    ],
)
def test_the_least_change_that_would_probably_do(options: Any, units: Any, changes: Any) -> None:
    one = told(units, **options)
    assert one.changes == changes
    assert one.likely is (units is not None)
    assert needed_support(asked(**{**options, **changes})) == one.need


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_it_never_proposes_an_epsilon_above_three_nor_another_relation(relation: str) -> None:
    budgets = ({"epsilon": 0.01}, {"epsilon": 3}, {"epsilon": 7}, {"rho": 1e-3}, {"rho": 0.5})
    others = ({"mechanism": "large-margin", "size": "2-4", "top": 9}, {"top": 30, "rules": True})
    for options in ({}, {"top": 50}, *budgets, *others):
        request = asked(**options, neighbors=relation)
        for units in (5, 50, 500, 10**6, None):
            for found in (0, 1):
                one = advice(request, units, found)
                if one is not None:
                    assert "neighbors" not in one.changes
                    assert one.changed.budget.loss <= max(Fraction(3), request.budget.loss)


def test_nothing_is_advised_where_there_are_fewer_units_than_an_itemset_needs() -> None:
    assert advice(asked(), 3, 0) is None
    nothing = fim.mine([["a", "b"]] * 3, neighbors="replace-one")
    assert nothing.advice is None
    words = "No other request is likely to find anything: you need more baskets."
    assert nothing.hopeless == words
    assert nothing.hopeless in repr(nothing)
    assert nothing.hopeless in render_table(nothing, Screen())


def test_it_follows_from_what_is_public() -> None:
    """Two shops of as many baskets, of which nothing came out: the same words."""
    little = [["a", "b"]] * 300 + [["c"]] * 200
    other = [[f"{n}", f"{n + 1}"] for n in range(500)]
    requests: list[dict[str, Any]] = [{}, {"supports": True, "size": "2-3"}]
    mine = partial(fim.mine, mechanism="large-margin")
    for options in requests:
        options["neighbors"] = "replace-one"
        texts = {render_table(mine(data, **options), Screen()) for data in (little, other)}
        assert len(texts) == 1
    few, many = (mine(little[:size], neighbors="add-remove") for size in (100, 500))
    assert repr(few) == repr(many)


def _plain(request: Request) -> Request:
    """Leave out the lists of items, which are arrays and cannot be compared."""
    target = replace(request.target, known=NOTHING_KNOWN)
    return replace(request, target=target, public=replace(request.public, universe=UNKNOWN))


FURTHER_REQUESTS: list[dict[str, Any]] = [
    {},
    {"min_support": 50},
    {"min_support": 50, "epsilon": 0.1, "count": True, "supports_share": 0.2},
    {"min_support": "2 %", "size": "1-2", "rules": True, "count": True},
    {"known": [["a", "b"]]},
    {"known": [["a", "b"]], "size": 1, "count": True},
    {"known": [["a", "b"]], "size": "1-2", "supports_share": 0.2},
    {"known": [["a", "b"]], "top": 20, "supports_share": 0.2},
    {"rules": True, "count": True, "size": "1-2", "supports_share": 0.2, "top": 3},
    {"top": 20, "max_basket": 8, "max_baskets": 2, "by_user": True},
    {"top": 4, "by_user": True, "epsilon": 0.5},
]


def test_its_call_asks_for_what_it_was_reckoned_for() -> None:
    """The request behind an advice is the one that its call makes."""
    advised = 0
    for relation in ("add-remove", "replace-one"):
        for further in FURTHER_REQUESTS:
            options: dict[str, Any] = {"epsilon": 0.01, "neighbors": relation, **further}
            if "known" in options:
                options["known"] = given_itemsets(options["known"], name="known")
            one = advice(asked(**options), None, 0)
            if one is not None:
                advised += 1
                assert _plain(asked(**{**options, **one.changes})) == _plain(one.changed)
    assert advised > len(FURTHER_REQUESTS)


@pytest.mark.parametrize(
    ("options", "units", "words"),
    [
        (
            {"mechanism": "large-margin"},
            1_500,
            'fim.mine(..., mechanism="auto", top=1, supports=False, epsilon=2). An itemset then '
            "comes out, with 95 % probability, once 29 baskets have it (1.9 % of all), not 438. "
            "The promise is weaker: a factor of e^2, not e^1.",
        ),
        (
            {"mechanism": "large-margin", "neighbors": "add-remove"},
            None,
            'fim.mine(..., mechanism="auto", top=1, supports=False). An itemset then comes out, '
            "with 95 % probability, once 27 baskets have it, not 438. The promise is the same. The "
            "number of baskets is private, so this may not be enough.",
        ),
        (
            {"by_user": True, "top": 1, "supports": False},
            40,
            "fim.mine(..., epsilon=3). An itemset then comes out, with 95 % probability, once 20 "
            "users have it (50 % of all), not 55. The promise is weaker: a factor of e^3, not e^1. "
            "Even that is probably not enough: you need more users.",
        ),
    ],
)
def test_the_words(options: dict[str, Any], units: int | None, words: str) -> None:
    assert str(told(units, **options)) == words


def test_it_is_in_nothing_that_is_handed_on(tmp_path: Path) -> None:
    nothing = fim.mine([["a", "b"]] * 300, mechanism="large-margin")
    little = fim.mine([["a", "b"]] * 3, neighbors="replace-one")  # where there is none to give
    some = fim.mine([["a", "b"]] * 3000 + [["c", "d"]] * 10, top=9, supports=True, seed=1)
    assert None not in (nothing.advice, some.advice, little.hopeless)
    for release in (nothing, little, some):
        release.save(tmp_path / "r.parquet")
        for text in (
            page(release),
            str(release),
            release._repr_html_(),
            release.to_json(whole=True),
            release.to_markdown(),
            release.to_svg(),
            repr(fim.load(tmp_path / "r.parquet")),
            render_table(fim.load(tmp_path / "r.parquet"), Screen()),
            render_table(release, Screen(), advise=False),
        ):
            for words in ("To try", "To find more", "fim.mine", "could be asked"):
                assert words not in text


CORNER_SHOP = read_transactions("datasets/corner_shop.parquet")
WORDS = CORNER_SHOP.vocabulary
LABELS = np.array([WORDS.label(code) for code in range(len(WORDS))], dtype=object)


def some_baskets(count: int, seed: int) -> list[list[str]]:
    picked = np.sort(np.random.default_rng(seed).choice(CORNER_SHOP.baskets, count, replace=False))
    offsets = CORNER_SHOP.offsets
    return [LABELS[CORNER_SHOP.items[offsets[one] : offsets[one + 1]]].tolist() for one in picked]


@pytest.mark.parametrize(
    "options",
    [
        *({}, {"mechanism": "tight-margin"}, {"top": 20, "supports": True}, {"rho": 0.001}),
        {"size": 3, "epsilon": 0.2},
        {"size": "2-4", "top": 10, "supports": True, "union": True},
    ],
    ids=str,
)
@pytest.mark.one_in(2)
def test_whoever_follows_it_mostly_finds_something(options: dict[str, Any]) -> None:
    likely = worked = 0
    for count in (100, 400, 1500):
        data = read_transactions(some_baskets(count, seed=count))
        for seed in range(3):
            # Under add-remove nobody knows how many units there are, and so nothing is called
            # likely.
            release = fim.mine(data, **options, neighbors="replace-one", seed=seed)
            if release.abstained and release.advice is not None and release.advice.likely:
                likely += 1
                again = {**options, **release.advice.changes, "neighbors": "replace-one"}
                worked += not fim.mine(data, **again, seed=100 + seed).abstained
    assert likely >= 2
    assert worked >= 0.9 * likely
