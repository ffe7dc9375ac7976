"""plan_top: what each mechanism takes where many itemsets are asked for. From parameters alone."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fim_private as fim
from fim_private.errors import ParameterError
from fim_private.levelwise.levelwise import LevelNeeds
from fim_private.output import Screen, draw_top_plan_figure, render_top_plan, top_plan_curves
from fim_private.planning.top_plan import PlannedTop, TopPlan, plan_top

NAMES = ["exponential", "limited-domain", "choosing", "levelwise"]
AR = "add-remove"
EVERYTHING: dict[str, Any] = {"typical_basket": 10, "universe_size": 1000, "max_basket": 50}


def of(found: TopPlan, name: str, top: int) -> PlannedTop:
    return next(one for one in found.mechanisms if (one.name, one.top) == (name, top))


def test_every_mechanism_for_many_is_planned_and_one_recommended_for_each_top() -> None:
    found = plan_top(units=100_000, **EVERYTHING)
    assert found.top == (10, 50, 100)
    assert [(one.top, one.name) for one in found.mechanisms] == [(top, name) for top in found.top for name in NAMES]
    for one in found.mechanisms:
        assert one.feasible is True
        assert one.required_support is not None
        assert one.required_share == one.required_support / 1000
        assert one.half_width is None
        assert (one.item_support is None) == (one.step is None) == (one.name != "levelwise")
    for top, name in zip(found.top, found.recommended, strict=True):
        assert found.best(top) == of(found, name, top)
        least = min(max(m.required_support or 0, m.required_margin or 0) for m in found.mechanisms if m.top == top)
        assert max(found.best(top).required_support or 0, found.best(top).required_margin or 0) == least
        assert name in found.reason


def test_the_noise_of_levelwise_does_not_grow_with_their_number_as_that_of_picks_does() -> None:
    found = plan_top(top=[100, 10], typical_basket=10, neighbors=AR)
    assert found.recommended == ("limited-domain", "levelwise")
    few, many = (of(found, "limited-domain", top).required_support or 0 for top in found.top)
    assert many / few == pytest.approx(math.sqrt(10), rel=0.05)
    assert of(found, "levelwise", 100).required_support <= of(found, "levelwise", 10).required_support  # type: ignore[operator]


def test_one_pick_is_that_of_plan() -> None:
    one = of(plan_top(top=1, **EVERYTHING), "limited-domain", 1)
    [single] = [m for m in fim.plan(universe_size=1000, max_basket=50).mechanisms if m.name == one.name]
    assert (one.required_support, one.required_margin) == (single.required_support, single.required_margin)


def test_longer_baskets_and_more_privacy_take_more_of_levelwise() -> None:
    base: dict[str, Any] = {"top": 50, "typical_basket": 8.0, "size": "2-3", "neighbors": AR}
    own = of(plan_top(**base), "levelwise", 50)
    for harder in ({"typical_basket": 20.0}, {"epsilon": 0.5}, {"neighbors": "replace-one"}, {"confidence": 0.99}):
        hard = of(plan_top(**base | harder), "levelwise", 50)
        assert hard.required_support > own.required_support  # type: ignore[operator]
        assert hard.item_support > own.item_support  # type: ignore[operator]
    lenient = of(plan_top(**base | {"confidence": 0.3}), "levelwise", 50)
    assert lenient.required_support < own.required_support  # type: ignore[operator]


def test_items_take_the_threshold_times_the_root_of_the_basket() -> None:
    four, sixteen = (of(plan_top(top=50, size=1, typical_basket=n), "levelwise", 50) for n in (4, 16))
    assert four.required_support == four.item_support
    assert sixteen.item_support == pytest.approx(2 * (four.item_support or 0), abs=2)
    assert four.step == "items"


@pytest.mark.parametrize("union", [False, True])
def test_supports_take_their_part_and_say_how_far_off_they_are(union: bool) -> None:
    asked: dict[str, Any] = {"top": 30, "size": "1-3", "union": union, **EVERYTHING}
    bare, noisy = plan_top(**asked), plan_top(supports=True, **asked)
    for one, other in zip(bare.mechanisms, noisy.mechanisms, strict=True):
        assert other.required_support > one.required_support  # type: ignore[operator]
    baskets = [[f"{i}", f"{j}", "x"] for i in range(6) for j in range(6, 12)] * 5000
    release = fim.mine(baskets, top=30, size="1-3", union=union, mechanism="levelwise", supports=True, seed=1)
    assert release.noise is not None
    planned = of(noisy, "levelwise", 30).half_width
    assert planned == pytest.approx(
        release.noise.half_width * math.sqrt((30 if union else 90) / release.noise.count), rel=0.03
    )


def test_what_is_not_known_is_missing() -> None:
    found = plan_top(top=10, units=100)
    assert [one.name for one in found.mechanisms if one.missing] == ["exponential", "choosing", "levelwise"]
    assert of(found, "levelwise", 10).missing == ("items of a typical basket",)
    assert of(found, "levelwise", 10).feasible is False
    assert "100 units are too few for the top 10" in found.reason


def test_the_json_form_and_the_data_frame() -> None:
    found = plan_top(top=(np.int64(5), 7), size=range(2, 4), **EVERYTHING)  # type: ignore[arg-type]
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["top"] == [5, 7]
    assert plain["sizes"] == [2, 3]
    assert plain["mechanisms"][0]["name"] == "exponential"
    assert plain["recommended"] == list(found.recommended)
    assert found.size == "2-3"
    assert list(found.to_pandas()["name"]) == NAMES * 2


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("units", [None, 100_000])
def test_the_table(units: int | None, ascii_only: bool) -> None:
    found = plan_top(top=(10, 100), typical_basket=10, units=units, supports=True)
    text = render_top_plan(found, Screen(ascii_only=ascii_only))
    assert text.isascii() == ascii_only
    assert f"* {found.best(100).name}" in text
    assert f"* {found.reason}\n" in text
    assert f"{of(found, 'limited-domain', 100).required_support:,}" in text
    assert ("% of" in text) == (units is not None)
    assert "exponential (catalogue of all items)" in text
    assert "noise of" not in render_top_plan(replace(found, supports=False), Screen())


def test_the_figure(tmp_path: Path) -> None:
    found = plan_top(typical_basket=10, units=10_000)
    curves = top_plan_curves(found)
    assert list(curves) == ["limited-domain", "levelwise"]
    assert curves["levelwise"] == (
        [10, 50, 100],
        [of(found, "levelwise", top).required_support for top in (10, 50, 100)],
    )
    draw_top_plan_figure(found, tmp_path / "plan.svg")
    drawn = (tmp_path / "plan.svg").read_text(encoding="utf-8")
    for words in ("itemsets asked for", "units that must have the itemset", "levelwise (estimate)", "% of all units"):
        assert words in drawn
    draw_top_plan_figure(plan_top(top=3), tmp_path / "plan.png")
    with pytest.raises(ParameterError, match="figure must be a name that ends in"):
        draw_top_plan_figure(found, tmp_path / "plan.gif")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"top": 0}, "top must be a whole number of at least 1, not 0"),
        ({"top": []}, "top must hold at least one number"),
        ({"top": 100_001}, "top must be at most 100,000, not 100001"),
        ({"typical_basket": 0}, "typical_basket must be a number of items from 1 to 1,000,000, not 0"),
        ({"typical_basket": float("nan")}, "typical_basket must be a number of items from 1 to 1,000,000, not nan"),
        ({"union": True}, "union goes with several sizes: whether all of them are ranked together"),
        ({"size": "4-2"}, "size must be a whole number of at least 1, or a range such as 2-4, not '4-2'"),
        ({"size": 3, "universe_size": 2}, "universe_size has 2 items, too few for an itemset of size 3"),
    ],
)
def test_wrong_parameters(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        plan_top(**wrong)
    assert str(raised.value) == message


def test_a_run_that_is_kept_whole_need_not_stand_out() -> None:
    from fim_private.dp.composition import PrivacyBudget
    from fim_private.levelwise.levelwise import levelwise  # built as mine builds it

    budget = PrivacyBudget.of(1.0, 1e-6, None, otherwise=1.0)
    run = levelwise((2,), 50, union=False, budget=budget, neighbors=AR, listed=False, by_user=False)
    second, kept = (LevelNeeds(one, 10.0, 0.95).steps["second count"] for one in (run, replace(run, keep_all=True)))
    assert kept / second == pytest.approx(1.645 / 3.645, rel=1e-3)
