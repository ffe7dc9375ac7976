"""--mechanism auto: which mechanism is chosen by public numbers, and how a release says so."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import fim_private as fim
from fim_private.levelwise.recipe import LARGEST_SIZE
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.request.groups import AUTO

SHOP = [["milk", "tea"]] * 900 + [["bread", "milk"]] * 500 + [["jam", "rye"]] * 300
ITEMS = ["milk", "tea", "bread", "jam", "rye", "salt"]


@pytest.mark.parametrize(
    ("options", "mechanism", "reason"),
    [
        ({}, "limited-domain", "smallest margin of all that need no product list"),
        ({"size": "1-2", "union": True}, "limited-domain", "smallest margin"),
        ({"universe_size": 6}, "limited-domain", "smallest margin of all that need no product"),
        ({"catalogue": ITEMS}, "exponential", "with your catalogue it needs a smaller margin"),
        ({"size": "1-2"}, "levelwise", "least noise and needs no product list"),
        ({"top": 2, "universe_size": 6}, "levelwise", "least noise and needs no product list"),
        ({"top": 2, "catalogue": ITEMS}, "levelwise", "least noise"),
        ({"top": 2, "size": LARGEST_SIZE}, "levelwise", "least noise"),
        ({"top": 2, "size": LARGEST_SIZE + 1}, "limited-domain", "levelwise finds itemsets of up"),
        ({"max_basket": 4}, "limited-domain", "public cap that you gave"),
        ({"max_rank": 50, "catalogue": ITEMS}, "limited-domain", "public cap that you gave"),
    ],
    ids=str,
)
def test_what_is_chosen_and_why(options: dict[str, Any], mechanism: str, reason: str) -> None:
    release = fim.mine(SHOP, seed=1, **options)
    assert release.mechanism == mechanism
    assert release.reason is not None
    assert reason in release.reason
    assert release.reason == fim.mine(SHOP, mechanism=AUTO, seed=1, **options).reason
    # It is what that mechanism gives when it is named.
    named = fim.mine(SHOP, mechanism=mechanism, seed=1, **options)
    assert named.itemsets == release.itemsets
    assert named.reason is None


def test_picks_that_stand_in_for_levelwise_spend_as_little_on_supports() -> None:
    """Those of a few itemsets of users; not where a cap or a δ of 0 asks for picks."""
    visits = pa.table({"user": [*range(len(SHOP))], "items": SHOP})
    asked: list[tuple[dict[str, Any], str, Fraction]] = [
        ({"top": 3}, "limited-domain", Fraction(1, 10)),
        ({"top": 2, "neighbors": "replace-one"}, "limited-domain", Fraction(15, 100)),
        ({"top": 3, "catalogue": ITEMS}, "exponential", Fraction(1, 10)),
        ({"top": 3, "catalogue": ITEMS, "delta": 0}, "permute-and-flip", Fraction(1, 3)),
        ({"top": 3, "max_rank": 50}, "limited-domain", Fraction(1, 3)),
        ({}, "limited-domain", Fraction(1, 3)),
        ({"top": 30}, "levelwise", Fraction(1, 10)),
    ]
    for options, mechanism, share in asked:
        release = fim.mine(visits, user="user", supports=True, seed=1, **options)
        assert release.mechanism == mechanism
        assert [part.fraction for part in release.shares if part.purpose == "supports"] == [share]


def test_the_table_and_json_tell_the_reason() -> None:
    asked: list[dict[str, Any]] = [{}, {"top": 2, "supports": True}]
    for options in asked:
        chosen = fim.mine(SHOP, seed=1, **options)
        reason = f"Mechanism {chosen.mechanism}, chosen by --mechanism auto: {chosen.reason}."
        assert reason in render_table(chosen, Screen())
        as_json = json.loads(chosen.to_json())
        assert as_json["reason"] == chosen.reason
        assert as_json["mechanism"] == chosen.mechanism
        named = fim.mine(SHOP, seed=1, mechanism=chosen.mechanism, **options)
        assert "chosen by --mechanism auto" not in render_table(named, Screen())
        assert "reason" not in json.loads(named.to_json())
