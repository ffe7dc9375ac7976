"""plan with user_items: what share of the true top is found where customers are protected."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fim_private as fim
from fim_private.errors import ParameterError
from fim_private.output.mechanisms import render_plan
from fim_private.output.screen import Screen
from fim_private.planning.forecast import CustomerPlan

RELATIONS = ("add-remove", "replace-one")


def found(**changed: Any) -> list[float]:
    """Return the four shares: by neighbour relation, without a list and with one."""
    plan: Any = fim.plan(**{"units": 5_000, "user_items": 60, "top": 50} | changed)
    return [
        plan.expected_found[relation][listed]
        for relation in RELATIONS
        for listed in ("no list", "list")
    ]


@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_shares_are_named_by_relation_and_list(ascii_only: bool) -> None:
    plan = fim.plan(units=10_000, user_items=30, top=50)
    assert isinstance(plan, CustomerPlan)
    plain = json.loads(json.dumps(plan.to_dict()))
    assert plain["expected_found"] == plan.expected_found
    assert list(plan.expected_found) == list(RELATIONS)
    asked = {"units": 10_000, "user_items": 30.0, "top": 50, "sizes": [2]}
    assert asked.items() <= plain.items()
    assert "87 %" in repr(plan)
    assert "<table" in plan._repr_html_()
    text = render_plan(plan, Screen(ascii_only=ascii_only))
    assert text.isascii() == ascii_only
    rows = {
        relation: line for line in text.splitlines() for relation in RELATIONS if relation in line
    }
    for relation, shares in plan.expected_found.items():
        assert list(shares) == ["no list", "list"]
        assert all(f"{100 * share:.0f} %" in rows[relation] for share in shares.values())
    assert "estimates" in text


def test_several_numbers_of_itemsets_have_a_share_each() -> None:
    plan = fim.plan(units=10_000, user_items=30, top=[50, 10])
    assert plan.top == plan.tops == (10, 50)
    assert plan.title.startswith(
        "Expected share of the 10 and 50 most frequent pairs that is found"
    )
    for place, top in enumerate((10, 50)):
        single = fim.plan(units=10_000, user_items=30, top=top)
        assert single.tops == (top,)
        for relation, shares in single.expected_found.items():
            several = plan.expected_found[relation]
            assert shares == {name: share[place] for name, share in several.items()}  # type: ignore[index]
    assert [row[:2] for row in plan.rows] == [
        (relation, top) for relation in RELATIONS for top in ("10", "50")
    ]
    text = render_plan(plan, Screen())
    assert "│ replace-one │  50 │" in text
    assert json.loads(json.dumps(plan.to_dict()))["top"] == [10, 50]


def test_more_customers_and_a_larger_epsilon_find_more() -> None:
    usual = found()
    for better in ({"units": 20_000}, {"epsilon": 2}, {"top": 20}):
        assert all(one > other for one, other in zip(found(**better), usual, strict=True)), better
    assert usual[0] > usual[2]
    assert usual[1] > usual[0]
    assert all(0 <= share <= 1 for units in (1, 2, 10**30) for share in found(units=units))
    assert found(units=10**30) == pytest.approx([1.0] * 4)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"units": None}, "user_items needs units: about how many customers there are"),
        ({"units": 0}, "units must be a whole number of at least 1"),
        ({"user_items": 1}, "user_items must be a number of items from 2 to 1,000,000, not 1"),
        ({"user_items": float("nan")}, "user_items must be a number of items from 2 to 1,000,000"),
        ({"user_items": 2e6}, "user_items must be a number of items from 2 to 1,000,000"),
        ({"top": 0}, "top must be a whole number of at least 1"),
        ({"top": [10, 0]}, "top must be a whole number of at least 1"),
        ({"delta": 0}, "delta must be a number above 0"),
        ({"neighbors": "both"}, "neighbors must be one of"),
        ({"universe_size": 1}, "universe_size must be a whole number of at least 2"),
        ({"max_basket": 5}, "max_basket has no use with user_items"),
        ({"confidence": 0.9}, "confidence has no use with user_items"),
    ],
    ids=str,
)
def test_errors_say_what_to_do(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        found(**asked)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


# -------------------- against real shops
