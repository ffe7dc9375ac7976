"""Blank baskets that are only counted are counted everywhere, and looked for nowhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import fim_private as fim
from fim_private.counting import source as counter_registry
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions

ASKED: list[dict[str, Any]] = [
    {"size": 1},
    {"size": 2, "mechanism": "large-margin"},
    {"size": "1-3", "top": 5, "supports": True},
    {"size": 2, "top": 5, "rules": True},
    {"min_support": 0.001, "size": "1-2"},
    {"catalogue": ["a", "b", "c", "d"], "delta": 0, "mechanism": "exponential"},
    {"min_basket": 2, "exclude": ["a"], "neighbors": "replace-one"},
]


def many(baskets: list[list[str]], blank: int) -> tuple[Transactions, Transactions]:
    """The same baskets, of which those without items have a place, or are only counted."""
    return read_transactions(baskets + [[]] * blank), replace(
        read_transactions(baskets), blank=blank
    )


@pytest.mark.parametrize("counter", [*counter_registry.COUNTERS])
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_release_of_many_blank_baskets(
    asked: dict[str, Any], counter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter_registry, "active_counter", lambda: counter)
    for baskets in ([], [["a", "b", "c"]] * 900 + [["b", "c"]] * 700 + [["d"]] * 300):
        placed, counted = many(baskets, 70_000)
        mined = [fim.mine(data, **asked, seed=3).to_dict() for data in (counted, placed)]
        assert mined[0] == mined[1]
        given = [["a", "b"], ["d"], ["e"]]
        assert fim.count(counted, given, seed=3) == fim.count(placed, given, seed=3)


def test_nothing_but_blank_baskets_beyond_all_arrays() -> None:
    """Their number may not be taken for a place in the arrays: this read far outside of them."""
    beyond = replace(read_transactions([[]]), blank=10**9)
    release = fim.mine(beyond, size=1, neighbors="replace-one", seed=1)
    assert (release.units, len(release)) == (10**9 + 1, 0)
    noisy = fim.mine(beyond, size=1, count=True, seed=1)
    assert noisy.units == pytest.approx(10**9 + 1, abs=400)
    assert len(noisy) == 0
