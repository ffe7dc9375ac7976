"""plan: what each mechanism takes, and which one to use. From parameters alone."""

import json
import math
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from real_data import CORNER_SHOP, real_data

import fim_private as fim
from fim_private.errors import ParameterError
from fim_private.mechanisms import registry
from fim_private.mechanisms.needs import prospects
from fim_private.output.figures import plan_figure
from fim_private.output.mechanisms import render_plan
from fim_private.output.screen import Screen
from fim_private.planning.forecast import CustomerPlan, Top
from fim_private.planning.plan import Plan, PlannedMechanism, plan, plan_grid
from fim_private.spectrum import SupportSpectrum

NAMES = [*registry.single()]
AR = "add-remove"
RO = "replace-one"
ALONE: dict[str, Any] = {"top": 1, "supports": False}
# Few ranks, for speed.
EVERYTHING: dict[str, Any] = {"universe_size": 1000, "max_basket": 50, "max_rank": 100}


def of(found: Plan, name: str, top: int | None = None) -> PlannedMechanism:
    return next(one for one in found.mechanisms if one.name == name and top in (None, one.top))


@pytest.mark.parametrize(
    ("mechanism", "candidates", "others"),
    [
        (fim.LargeMargin(1.0, 1e-6, RO, max_rank=300), None, 301),
        (fim.TightMargin(1.0, 1e-6, RO, max_rank=300), None, 301),
        (fim.TightMargin(2.0, 1e-3, AR, max_rank=5), None, 6),
        (fim.LimitedDomain(0.3, 1e-6, RO, max_rank=300, max_itemsets=20), None, 301),
        (fim.Choosing(1.0, 1e-6, 1225, RO), None, 10_000),
        (fim.Distance(0.5, 1e-6, RO), None, 10_000),
        (fim.Exponential(1.0, RO), 5000, None),
        (fim.Exponential(1.0, RO), 10**60, None),
        (fim.PermuteAndFlip(1.0, RO), 5000, None),
        (fim.MaxOfLaplaces(1.0), 10**60, None),
        (fim.Exponential(1.0), 3, None),
    ],
)
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_each_figure_is_the_least_that_succeeds(
    mechanism: Any, candidates: int | None, others: int | None, confidence: float
) -> None:
    found = prospects(mechanism, confidence, candidates)

    def chance(leaders: int, lead: int, base: int) -> float:
        tied = candidates - leaders if candidates is not None else others
        levels = [(base + lead, leaders)] + ([(base, tied)] if base and tied else [])
        outcomes = mechanism.distribution(SupportSpectrum(levels, universe_size=candidates))
        return float(outcomes.probabilities[outcomes.levels == base + lead].sum())

    figures = [
        (1, found.support, 0),
        (1, found.margin, 10_000),
        (min(10, candidates or 10), found.margin_tied, 10_000),
    ]
    for leaders, lead, base in figures:
        if lead is None:
            assert chance(leaders, 10**6, base) < confidence
        else:
            assert chance(leaders, lead, base) >= confidence
            assert lead == 1 or chance(leaders, lead - 1, base) < confidence
    assert found.support is not None
    assert found.regret == pytest.approx(
        found.support * (1 - chance(1, found.support, 0)), abs=1e-9
    )


def test_what_is_not_known_is_missing() -> None:
    found = plan(units=1000, max_rank=100, **ALONE)
    for name in ("exponential", "permute-and-flip", "max-of-laplaces", "choosing"):
        mechanism = of(found, name)
        figures = mechanism.required_support, mechanism.required_margin, mechanism.expected_regret
        assert (*figures, mechanism.feasible) == (None, None, None, False)
        assert mechanism.missing == mechanism.needs
    assert of(found, "exponential").needs == ("catalogue of all items",)
    assert of(found, "choosing").needs == ("cap on basket size",)
    assert of(found, "limited-domain").needs == ("public rank cap",)
    assert of(found, "distance").needs == of(found, "large-margin").needs == ()
    assert found.recommended == "limited-domain"


def test_too_few_units_are_told_plainly() -> None:
    for neighbors, units, enough, epsilon in (
        ("add-remove", 15, 25, 2),
        ("replace-one", 20, 51, 4),
    ):
        found = plan(units=units, max_rank=1000, neighbors=neighbors, **ALONE)
        assert not any(mechanism.feasible for mechanism in found.mechanisms)
        assert found.reason.startswith(f"No mechanism will do: {units} units are too few")
        assert f"You need at least {enough} units" in found.reason
        assert f"a larger epsilon: {epsilon} would do" in found.reason
    assert "epsilon" not in plan(units=1, delta=1e-299, epsilon=6, max_rank=10).reason
    ten = plan(units=100, max_rank=1000).reason
    assert "at least 222 units, all of them with the itemset; or a larger epsilon: 4 would" in ten


WHOLE = "must be a whole number of at least 1"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"units": 0}, f"units {WHOLE}, not 0"),
        ({"size": None}, f"size {WHOLE}, not None"),
        ({"size": "4-2"}, f"size {WHOLE}, or a range such as 2-4, not '4-2'"),
        ({"size": 3, "universe_size": 2}, "universe_size has 2 items, too few for an itemset of"),
        ({"size": 3, "max_basket": 2}, "max_basket must be at least the size 3, not 2"),
        ({"max_baskets": 5}, "max_baskets goes with max_basket: how many baskets of a unit count"),
        ({"max_rank": 10**400}, "max_rank must be at most 1e30 to be planned for"),
        ({"confidence": 1.0}, "confidence must be a number above 0 and below 1, not 1.0"),
        ({"confidence": float("nan")}, "confidence must be a number above 0 and below 1, not nan"),
        ({"epsilon": 0}, "epsilon must be a number above 0, not 0"),
        ({"delta": 1.0}, "delta must be 0 or a number above 0 and below 1, not 1.0"),
        ({"top": 0}, f"top {WHOLE}, not 0"),
        ({"top": []}, "top must hold at least one number"),
        ({"top": 100_001}, "top must be at most 100,000, not 100001"),
        ({"typical_basket": float("nan")}, "typical_basket must be a number of items from 1 to"),
        ({"union": True}, "union goes with several sizes: whether all of them are ranked together"),
        ({"neighbors": "near"}, "neighbors must be one of replace-one, add-remove, not 'near'"),
    ],
)
def test_wrong_parameters(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}"):
        plan(**wrong)


def test_a_grid_is_one_plan_for_each_epsilon() -> None:
    grid = plan_grid([0.5, 2], **EVERYTHING)
    assert grid == (plan(epsilon=0.5, **EVERYTHING), plan(epsilon=2, **EVERYTHING))
    with pytest.raises(ParameterError, match="epsilons must hold at least one"):
        plan_grid([])


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("units", [None, 1, 100_000])
def test_the_tables(units: int | None, ascii_only: bool) -> None:
    one = plan(units=units, max_rank=100, **ALONE)
    many = plan(top=(10, 100), typical_basket=10, units=units)
    texts = [render_plan(found, Screen(ascii_only=ascii_only)) for found in (one, many)]
    for found, text in zip((one, many), texts, strict=True):
        assert text.isascii() == ascii_only
        assert all(f"* {found.best(top).name}" in text for top in found.tops)
        assert f"* {found.reason}\n" in text
        assert ("% of" in text) == (units is not None)
        assert "\x1b" not in text
        assert "\x1b" in render_plan(found, Screen(colour=True, ascii_only=ascii_only))
    assert all(name in texts[0] for name in NAMES)
    assert "catalogue of all items (not given)" in texts[0]
    assert f"{of(many, 'limited-domain', 100).required_support:,}" in texts[1]
    assert "exponential (catalogue of all items)" in texts[1]
    assert "noise of" in texts[1]
    assert ", baskets of 10 items)" in many.title
    assert ", baskets of 1 item)" in plan(typical_basket=1).title
    bare = plan(top=(10, 100), typical_basket=10, supports=False)
    assert "noise of" not in render_plan(bare, Screen())


def test_the_table_of_the_documents_is_the_planners() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ([a-z-]+) \| \(ε, [δ0]\) \|[^|]*\|[^|]*\|(.*)\|$", text, flags=re.MULTILINE
    )
    assert [name for name, _ in rows] == list(NAMES)
    plans = {}
    for neighbors in ("add-remove", "replace-one"):
        for cap in (None, 50):
            asked: dict[str, Any] = {"universe_size": 16_470, "neighbors": neighbors, **ALONE}
            found = plan(units=100_000, max_basket=cap, **asked)
            plans[neighbors, cap] = {mechanism.name: mechanism for mechanism in found.mechanisms}
    for name, shown in rows:
        figures = []
        for neighbors in ("add-remove", "replace-one"):
            each = plans[neighbors, 50 if name == "choosing" else None][name]
            figures += [each.required_support, each.required_margin, each.required_margin_tied]
        assert [cell.strip() for cell in shown.split("|")] == [
            "never" if f is None else f"{f:,}" for f in figures
        ]


NAMES_OF_MANY = ["exponential", "limited-domain", "choosing", "levelwise"]
FOR_MANY: dict[str, Any] = {"typical_basket": 10, "universe_size": 1000, "max_basket": 50}


def test_every_mechanism_for_many_is_planned_and_one_recommended_for_each_top() -> None:
    found = plan(units=100_000, supports=False, top=(10, 50, 100), **FOR_MANY)
    assert [(one.top, one.name) for one in found.mechanisms] == [
        (top, name) for top in found.top for name in NAMES_OF_MANY
    ]
    for one in found.mechanisms:
        assert one.feasible is True
        assert one.required_support is not None
        assert one.required_share == one.required_support / 1000
        assert one.half_width is None
        assert (one.item_support is None) == (one.step is None) == (one.name != "levelwise")

    def price(one: PlannedMechanism) -> int:
        return max(one.required_support or 0, one.required_margin or 0)

    for top, name in zip(found.top, found.recommended, strict=True):
        best = found.best(top)
        assert best == of(found, name, top)
        assert price(best) == min(price(one) for one in found.mechanisms if one.top == top)
        assert name in found.reason


def test_the_noise_of_levelwise_does_not_grow_with_their_number_as_that_of_picks_does() -> None:
    found = plan(top=[100, 10], typical_basket=10, neighbors=AR)
    assert found.recommended == ("limited-domain", "levelwise")
    few, many = (of(found, "limited-domain", top).required_support or 0 for top in found.tops)
    assert many / few == pytest.approx(math.sqrt(10), rel=0.05)
    ten, hundred = (of(found, "levelwise", top).required_support or 0 for top in found.tops)
    assert 0 < hundred <= ten


@pytest.mark.parametrize("union", [False, True])
def test_supports_take_their_part_and_say_how_far_off_they_are(union: bool) -> None:
    asked: dict[str, Any] = {"top": 30, "size": "1-3", "union": union, **FOR_MANY}
    # supports come unless they are left out
    bare, noisy = plan(supports=False, **asked), plan(**asked)
    for one, other in zip(bare.mechanisms, noisy.mechanisms, strict=True):
        assert other.required_support > one.required_support
    baskets = [[f"{i}", f"{j}", "x"] for i in range(6) for j in range(6, 12)] * 5000
    options: dict[str, Any] = {"top": 30, "size": "1-3", "union": union, "supports": True}
    release = fim.mine(baskets, mechanism="levelwise", seed=1, **options)
    assert release.noise is not None
    wider = math.sqrt((30 if union else 90) / release.noise.count)
    planned = of(noisy, "levelwise", 30).half_width
    assert planned == pytest.approx(release.noise.half_width * wider, rel=0.03)


GRID = plan_grid([2.0, 0.5, 1.0], units=100_000, max_rank=100)


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")]
)
@pytest.mark.one_in(3)
def test_the_figure(suffix: str, start: bytes) -> None:
    first = plan_figure(GRID, f"plan{suffix}")
    assert first.startswith(start)
    assert plan_figure(list(GRID), Path(f"plan{suffix}")) == first
    of_one = plan_figure([plan(max_rank=10, universe_size=100, max_basket=10)], f"one{suffix}")
    assert len(of_one) > 1000
    drawn = plan_figure(plan(typical_basket=10, units=10_000), "top.svg").decode()
    axes = ("itemsets asked for", "units that must have the itemset", "% of all units")
    for words in (*axes, "levelwise (estimate)"):
        assert words in drawn


def test_a_figure_of_another_form() -> None:
    message = "figure must be a name that ends in .png, .svg, .pdf, not 'plan.gif'"
    with pytest.raises(ParameterError, match=message):
        plan_figure(GRID, "plan.gif")


# Against experiment: the support from which on itemsets are found, on real data.
RUNS = 10
TOP = 100
# Data, items per basket, size.
CASES = [
    ("groceries.parquet", 4.4, 1),
    ("groceries.parquet", 4.4, 2),
    ("retail.dat", 10.3, 2),
    ("bms_webview_1.parquet", 2.5, 2),
    ("corner_shop.parquet", 5.1, 3),
]


# How far off the plan may be: levelwise is estimated.
@pytest.mark.full
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "factor"), [("levelwise", 0.25, 1.5), ("limited-domain", 1.0, 1.1)]
)
def test_what_is_planned_is_what_it_takes(mechanism: str, epsilon: float, factor: float) -> None:
    above: list[float] = []
    below: list[float] = []
    for name, items, size in CASES:
        path: Path = CORNER_SHOP if name == CORNER_SHOP.name else real_data(name)
        data = fim.read_transactions(path)
        assert np.diff(data.offsets).mean() == pytest.approx(items, abs=0.06)
        mine = partial(fim.mine, data, size=size, top=TOP)
        exact = mine(epsilon=1e6, mechanism="limited-domain", supports=True, seed=1)
        found = Counter[object]()
        for seed in range(RUNS):
            release = mine(epsilon=epsilon, mechanism=mechanism, seed=seed)
            found.update(one.items for one in release.itemsets)
        rates = [(one.support or 0, found[one.items] / RUNS) for one in exact.itemsets]
        asked: Any = {"top": TOP, "size": size, "typical_basket": items, "epsilon": epsilon}
        plans = (plan(**asked, confidence=confidence) for confidence in (0.95, 0.5))
        likely, even = (of(planned, mechanism) for planned in plans)
        assert likely.required_support is not None
        assert likely.required_margin is not None
        assert even.required_support is not None
        # Those that race with the next below the top need a margin above it as well.
        race = rates[-1][0] + (likely.required_margin if mechanism == "levelwise" else 0)
        sure = factor * max(likely.required_support, race)
        above += [rate for support, rate in rates if support >= sure]
        below += [rate for support, rate in rates if support <= even.required_support / factor]
    assert len(above) >= 30
    assert len(below) >= 25
    assert np.mean(above) >= 0.95
    assert np.mean(below) <= 0.5


# -------------------- users' itemsets: what share of the true top is found


RELATIONS = ("add-remove", "replace-one")


def shares_of(**changed: Any) -> list[float]:
    """Return the four shares: by neighbour relation, without a list and with one."""
    plan: Any = fim.plan(**{"units": 5_000, "user_items": 30, "top": 50} | changed)
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


def test_where_customers_are_too_few_for_products_groups_are_named() -> None:
    few = fim.plan(units=1_200, user_items=351, top=50)
    found = (
        "1,200 customers of 351 different products each are too few: about 9 % of the 50 most "
        "frequent pairs are found, but about 92 % of those of 2,000 groups, such as categories."
    )
    assert few.notes[0] == found
    assert found in " ".join(render_plan(few, Screen()).split())
    assert "1,200 customers of 30 different products" in repr(fim.plan(units=1_200))
    for others in ({"units": 20}, {"units": 10_000}, {"units": 9, "universe_size": 99}):
        asked: Any = others
        assert "such as cat" not in repr(fim.plan(**asked)) + repr(fim.plan(**asked, user_items=9))


def test_more_customers_and_a_larger_epsilon_find_more() -> None:
    usual = shares_of()
    for better in ({"units": 20_000}, {"epsilon": 2}, {"top": 20}):
        assert all(one > other for one, other in zip(shares_of(**better), usual, strict=True)), (
            better
        )
    assert usual[0] > usual[2]
    assert usual[1] > usual[0]
    assert all(0 <= share <= 1 for units in (1, 2, 10**30) for share in shares_of(units=units))
    # Then noise costs nothing, and all are picked.
    for units in (10**30, 10**310):
        assert shares_of(units=units) == pytest.approx([1] * 4)


@pytest.mark.parametrize("noise", [1e-3, 5, 20, 80, 1e6])
def test_as_many_stay_ahead_as_where_noise_is_drawn(noise: float) -> None:
    supports = 400 / np.arange(1.0, 61.0) ** 0.6
    count, tolerance = 10, 1.25
    top = Top(supports[:count], supports[:count], supports[count:], tolerance, load=1)
    drawn = np.random.default_rng(7).normal(size=(4000, len(supports)))
    noisy = supports + noise / tolerance * drawn
    best = np.argpartition(-noisy, count, axis=1)[:, :count]
    # A logistic curve stands for the normal one.
    assert top.share_ahead(noise) == pytest.approx((best < count).mean(), abs=0.03)


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
        ({"universe_size": 29}, "user_items must be at most universe_size: nobody has more"),
        ({"max_basket": 5}, "max_basket is not used with user_items"),
        ({"confidence": 0.9}, "confidence is not used with user_items"),
    ],
    ids=str,
)
def test_errors_say_what_to_do(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        shares_of(**asked)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


# -------------------- against real shops
