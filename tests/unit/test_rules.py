"""Association rules of noisy supports."""

import csv
import io
import itertools
import json
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from released import HALF, SHOP, Markup

import fim_private as fim
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.release.forms import csv_text
from fim_private.release.metrics import METRICS, RuleCounts, bounds
from fim_private.release.page import page
from fim_private.release.rules import RuleChoice, is_clearly_more, rules_by_segment, rules_of
from fim_private.request.itemsets import subsets_of
from fim_private.request.supports import NoiseKind, SupportNoise, UnitCount
from fim_private.run.outcome import Execution

MINED: dict[str, Any] = {"size": 2, "top": 3, "rules": True, "epsilon": 5, "seed": 1}
EVERY: dict[str, Any] = {"redundant": True, "max_consequent": 9}


def counts(x: Any, y: Any, z: Any, n: Any) -> RuleCounts:
    return RuleCounts(*(np.atleast_1d(np.asarray(each, dtype=np.float64)) for each in (x, y, z, n)))


def test_the_metrics_of_one_rule() -> None:
    of = counts(30, 40, 60, 120)
    told = {name: float(metric(of)[0]) for name, metric in METRICS.items()}
    assert told == pytest.approx(
        {"confidence": 0.75, "lift": 1.5, "leverage": 1 / 12, "conviction": 2, "zhangs_metric": 0.5}
        | {"jaccard": 3 / 7, "kulczynski": 0.625}
    )


possible = st.tuples(*[st.integers(0, 12)] * 4).map(
    lambda parts: (parts[0], parts[0] + parts[1], parts[0] + parts[2], sum(parts))
)


@given(possible, st.tuples(*[st.integers(0, 4)] * 8))
def test_bounds_hold_every_metric_of_counts(true: tuple[int, ...], off: tuple[int, ...]) -> None:
    lowest = counts(*(max(count - less, 0) for count, less in zip(true, off, strict=False)))
    highest = counts(*(count + more for count, more in zip(true, off[4:], strict=False)))
    of = counts(*true)
    assume(true[1] and true[2])  # of what nobody has nothing can be told
    for name, metric in METRICS.items():
        low, high = bounds(name, lowest, highest)
        assert low <= metric(of) + 1e-12, name
        assert high >= metric(of) - 1e-12, name


ITEMSETS: list[tuple[str, ...]] = [("a", "b"), ("a", "b", "c"), ("b", "d")]
TRUE: Mapping[frozenset[str], int] = {
    frozenset(items): support
    for items, support in {
        ("a",): 400, ("b",): 300, ("c",): 100, ("d",): 700,
        ("a", "b"): 120, ("a", "c"): 50, ("b", "c"): 45, ("a", "b", "c"): 40, ("b", "d"): 210,
    }.items()
}  # fmt: skip
UNITS = 1000


def true_metrics(first: frozenset[Any], second: frozenset[Any]) -> dict[str, float]:
    of = counts(TRUE[first | second], TRUE[first], TRUE[second], UNITS)
    told = {name: float(metric(of)[0]) for name, metric in METRICS.items()}
    return told | {"support": TRUE[first | second] / UNITS}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("noisy_units", [False, True])
@pytest.mark.parametrize("kind", ["laplace", "gaussian", "normal", "two normals"])
def test_each_interval_of_a_rule_holds(kind: str, noisy_units: bool) -> None:
    """With 95 % probability at least, each by itself."""
    made = {
        "laplace": SupportNoise.for_budget(Fraction(1), None, len(TRUE)),
        "gaussian": SupportNoise.for_rho(Fraction(1, 20), len(TRUE)),
        "normal": SupportNoise.for_mu_squared(Fraction(1, 10), len(TRUE)),
        "two normals": SupportNoise.with_units(Fraction(1, 30), len(TRUE)),
    }[kind]
    moving = kind == "two normals"
    sets = [tuple(sorted(items)) for items in TRUE]
    randomness = Randomness.seeded(5)
    plan, source = SimpleNamespace(noise=lambda _: made), SimpleNamespace(units=UNITS)
    execution = Execution(cast(Any, plan), cast(Any, source), randomness)
    mined = fim.mine(SHOP, **MINED)
    runs, held, of_all = 400, dict[Any, int](), 0
    for _ in range(runs):
        is_noisy = noisy_units and not moving
        before = UnitCount.noisy(UNITS, made, randomness) if is_noisy else UnitCount(UNITS)
        measurement: Any = execution.measure(sets, [*TRUE.values()], before)
        count = measurement.units
        estimates = measurement.estimates()
        release = replace(
            mined,
            itemsets=tuple(one for one in estimates if one.items in ITEMSETS),
            parts=tuple(one for one in estimates if one.items not in ITEMSETS),
            noise=made,
            units=count.number,
            units_noise=count.noise,
        )
        rules = rules_of(release)
        for place in range(len(rules)):
            sides = tuple(map(frozenset, rules.sides[place]))
            true = true_metrics(*sides)
            for name, number in true.items():
                lower, upper = rules.columns[f"{name}_lower"], rules.columns[f"{name}_upper"]
                right = lower[place] <= number <= upper[place]
                held[sides, name] = held.get((sides, name), 0) + int(right)
            of_all += 1
    assert len({sides for sides, _ in held}) == 2 + 6 + 2
    # 400 draws at 95 %: 362 or more with all but 1e-4.
    assert min(held.values()) >= 362
    assert of_all > 0.9 * runs * 10


def test_a_release_for_rules_has_all_parts_and_the_number_of_units() -> None:
    assert fim.mine(SHOP, **MINED, neighbors="replace-one").units == len(SHOP)
    release = fim.mine(SHOP, **MINED)
    assert release.units == pytest.approx(len(SHOP), abs=60)
    named = [one.items or () for one in release]
    assert {one.items for one in release.parts} == {*subsets_of(named)}
    assert all(one.interval is not None and one.support is not None for one in release.parts)
    true = {("bread",): 800, ("butter",): 700, ("jam",): 300, ("tea",): 600}
    for one in release.parts:
        assert abs((one.support or 0) - true[one.items]) < 60
    assert release.noise.count >= len(named) + len(release.parts)
    told = [one["items"] for one in release.to_dict()["parts"]]
    assert told == [[*(one.items or ())] for one in release.parts]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"size": "2-3"},
        {"neighbors": "replace-one"},
        {"min_support": 0.3, "size": "1-3", "top": None},
        {"mechanism": "exponential", "catalogue": ["bread", "butter", "jam", "tea"], "delta": 0},
        {"rho": 1, "epsilon": None},
        {"mechanism": "limited-domain", "max_basket": 2},
    ],
    ids=str,
)
def test_rules_of_every_kind_of_release(how: dict[str, Any]) -> None:
    release = fim.mine(SHOP, **{**MINED, **how})
    rules = release.rules(**EVERY)
    assert release.itemsets
    assert set(rules.columns) >= {
        *("antecedents", "consequents", "antecedent support", "consequent support"),
        *("support", "confidence", "lift", "leverage", "conviction", "zhangs_metric", "doubtful"),
        *(f"lift_{end}" for end in ("lower", "upper")),
    }
    sizes = [len(one.items or ()) for one in release if one.support]
    assert len(rules) == sum(2**size - 2 for size in sizes)
    for name in ("support", *METRICS, "certainty"):
        assert (rules[f"{name}_lower"] <= rules[name] + 1e-9).all(), name
        assert (rules[name] <= rules[f"{name}_upper"] + 1e-9).all(), name
    assert list(rules["doubtful"]) == sorted(rules["doubtful"])
    assert not release.to_pandas()["itemsets"].duplicated().any()
    assert len(release.to_pandas(downward_closed=True)) == len(release.to_pandas())


def test_limits_leave_rules_out_and_mark_what_may_miss_them() -> None:
    release = fim.mine(SHOP, **MINED)
    every = release.rules()
    some = release.rules(min_confidence=0.6, min_lift=1.1)
    kept = every[(every["confidence"] >= 0.6) & (every["lift"] >= 1.1)]
    assert 0 < len(some) < len(every)
    pairs = [{*zip(one["antecedents"], one["consequents"], strict=True)} for one in (some, kept)]
    assert pairs[0] == pairs[1]
    open_to_doubt = (some["confidence_lower"] < 0.6) | (some["lift_lower"] < 1.1)
    assert (some["doubtful"] == open_to_doubt).all()
    sure = some[~some["doubtful"]]
    assert list(sure["lift_lower"]) == sorted(sure["lift_lower"], reverse=True)


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"size": 1, "rules": True}, "rules needs itemsets of two items or more"),
        ({"size": 17, "top": 1, "rules": True}, "rules of these .* may have 16 items at most"),
        ({"size": 12, "top": 1000, "rules": True}, "rules of these .* 1,000,000 subsets in all"),
        ({"rules": "yes"}, "rules must be True or False"),
    ],
)
def test_rules_that_cannot_be(asked: dict[str, Any], part: str) -> None:
    with pytest.raises(ParameterError, match=part):
        fim.mine(SHOP, **asked)


def test_rules_are_chosen_by_their_items_and_sorted_by_a_number() -> None:
    baskets = [["bread", "butter", 39], ["bread", "butter"], ["bread", 39], ["milk"]] * 300
    release = fim.mine(baskets, **MINED | {"size": "2-3", "top": 4})
    every = release.rules(**EVERY)

    def told(**limits: Any) -> list[tuple[Any, Any]]:
        return sides_of(release.rules(**EVERY | limits))

    sides = told()
    for items in ("bread", ["bread"], ["butter", "39"], 39, "cheese"):
        listed = {items} if isinstance(items, str | int) else {*items}
        needed = {39 if item == "39" else item for item in listed}
        assert told(antecedent=items) == [rule for rule in sides if needed <= rule[0]]
        assert told(consequent=items) == [rule for rule in sides if needed <= rule[1]]
        assert told(contains=items) == [rule for rule in sides if needed <= rule[0] | rule[1]]
    assert told(max_antecedent=1) == [rule for rule in sides if len(rule[0]) == 1]
    assert 0 < len(told(max_antecedent=1, antecedent="bread")) < len(sides)
    for name in ("support", "confidence", "lift"):
        sorted_rules = release.rules(**EVERY, sort=name)
        assert [*sorted_rules[name]] == sorted(every[name], reverse=True)
    small = fim.mine([["Tea", "Milk"]] * 900, **MINED, fold_case=True)
    assert len(small.rules(antecedent="TEA")) == 1
    shown = rules_of(release, RuleChoice(sort="confidence")).table().title
    assert shown.endswith("association rules of these itemsets, by confidence")


def sides_of(frame: pd.DataFrame) -> list[tuple[Any, Any]]:
    return [*zip(frame["antecedents"], frame["consequents"], strict=True)]


def confidence_of(rule: dict[str, Any]) -> tuple[float, float, float]:
    return rule["confidence"], rule["confidence_lower"], rule["confidence_upper"]


@cache
def breakfast() -> list[list[str]]:
    """Of bread, 60 % have butter, with or without tea, and 90 % with jam; of jam alone, none."""
    baskets = [[item] for item in ("jam", "tea", "milk") for _ in range(1000)]
    for jam, tea, butter in itertools.product((0, 1), (0, 1), range(1000)):
        bought = {"jam": jam, "tea": tea, "butter": butter < (300, 900)[jam]}
        baskets.append(["bread", *(item for item, is_bought in bought.items() if is_bought)])
    return baskets


@pytest.mark.parametrize("epsilon", [0.2, 1, 9])
def test_a_rule_that_says_no_more_than_a_shorter_one_is_left_out(epsilon: float) -> None:
    release = fim.mine(breakfast(), **MINED | {"size": "2-3", "top": 9, "epsilon": epsilon})
    shown, every = release.rules(), release.rules(redundant=True)
    bread, tea, jam = (({"bread", *items}, {"butter"}) for items in ([], ["tea"], ["jam"]))
    assert (bread in sides_of(shown) and jam in sides_of(shown)) or epsilon < 1
    assert tea in sides_of(every)
    assert tea not in sides_of(shown)
    rules = dict(zip(sides_of(every), every.to_dict("records"), strict=True))
    for (left, right), longer in rules.items():
        confidence = confidence_of(longer)
        says_more = all(
            (rules[sides]["doubtful"] and not longer["doubtful"])
            or is_clearly_more(confidence, confidence_of(rules[sides]))
            for sides in sides_of(shown)
            if sides[0] < left and sides[1] == right
        )
        assert ((left, right) in sides_of(shown)) == says_more
    made = rules_by_segment(release, RuleChoice(max_consequent=1, redundant=False))
    wide = len(release.rules(**EVERY)) - len(every)
    told = (
        f"This leaves out {wide} rules with more than 1 item on the right. "
        f"Redundant rules are left out ({len(every) - len(shown)}): a shorter one with the same"
    )
    assert wide > 0
    assert told in json.loads(release.to_json(made))["rules_note"]
    assert told in Markup(page(release, made)).words
    assert f"{told} right side has as much confidence, within the noise.\nShow all with " in (
        render_table(release, Screen(), rules=made)
    )
    assert len(release.rules(consequent=["bread", "butter"])) > 0


def test_what_goes_with_a_basket() -> None:
    release = fim.mine(breakfast(), **MINED | {"size": "2-3", "top": 9}, fold_case=True)
    rules = release.rules().query("lift_upper >= 1")
    for basket in (["bread"], ["Bread", "JAM"], ["butter", "cheese"]):
        goes, items = release.recommend(basket, top=9), {*map(str.lower, basket)}
        best: dict[frozenset[Any], int] = {}
        for place, (left, right) in enumerate(sides_of(rules)):
            if left <= items and not right & items:
                best.setdefault(right, place)
        assert len(best) > 0
        pd.testing.assert_frame_equal(goes, rules.iloc[[*best.values()]].reset_index(drop=True))
    assert sides_of(release.recommend({"bread", "jam"}, top=1)) == [({"bread", "jam"}, {"butter"})]
    for nothing in (release.recommend("cheese"), release.recommend([])):
        assert nothing.empty
        assert "<b>Nothing in this release goes with {" in nothing._repr_html_()
    with pytest.raises(ParameterError, match="top must be a whole number of at least 1"):
        release.recommend("tea", top=0)
    with pytest.raises(ParameterError, match="basket must be an item or a list of items"):
        release.recommend(b"tea")


def counted(named: str, **supports: int) -> fim.Release:
    """Return a release of 1,000 baskets with these supports: of named itemsets and of parts."""
    of = {key: fim.Itemset((*key,), n, (n - 16, n + 16), False) for key, n in supports.items()}
    noise = SupportNoise.of(NoiseKind.NORMAL, Fraction(64), 9)
    itemsets = tuple(of.pop(key) for key in named.split())
    made: fim.Release = replace(fim.mine(SHOP, **MINED), itemsets=itemsets, parts=(*of.values(),))
    return replace(made, noise=noise, units=1000, units_noise=None)


def test_a_sure_rule_is_not_left_out_for_a_doubtful_one() -> None:
    assert is_clearly_more((0.5, 0.4, 0.6), (0.35, 0.3, 0.45))
    assert not is_clearly_more((0.5, 0.4, 0.6), (0.37, 0.3, 0.47))
    parts = {"a": 150, "b": 400, "c": 500, "ab": 120, "bc": 100}
    for shorter, is_sure in ((80, False), (118, True)):
        release = counted("ac abc", ac=shorter, abc=84, **parts)
        [short, longer] = (
            rules_of(release, RuleChoice(antecedent=frozenset(left), consequent=frozenset("c")))
            for left in ("a", "ab")
        )
        assert not longer.doubtful.any()
        assert short.doubtful.any() != is_sure
        assert (({"a", "b"}, {"c"}) in sides_of(release.rules())) != is_sure


def test_maximal_and_closed_itemsets() -> None:
    release = counted("a b c ab ac d bc", a=500, b=300, c=310, ab=295, ac=200, d=90, bc=300)
    assert [i.items for i in release.maximal()] == [(*n,) for n in ("ab", "ac", "d", "bc")]
    closed = {"".join(map(str, i.items or ())): i.doubtful for i in release.closed()}
    assert closed == {"a": False, "c": True, "ab": False, "ac": False, "d": False, "bc": False}
    with pytest.raises(ParameterError, match="closed itemsets need supports: mine again with"):
        fim.mine(SHOP, size=2, supports=False, seed=1).closed()


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"antecedent": b"a"}, "antecedent must be an item or a list of items, not a bytes"),
        ({"contains": [["a"]]}, "contains must be an item or a list of items"),
        ({"sort": "cosine"}, "sort must be one of support, confidence, lift"),
        ({"max_antecedent": 0}, "max_antecedent must be a whole number of at least 1"),
        ({"max_consequent": 0}, "max_consequent must be a whole number of at least 1"),
        ({"redundant": "yes"}, "redundant must be True or False"),
    ],
)
def test_choices_of_rules_that_cannot_be(asked: dict[str, Any], part: str) -> None:
    with pytest.raises(fim.ParameterError, match=part):
        fim.mine([["a", "b"]] * 900, **MINED).rules(**asked)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, "0.5", True])
def test_limits_that_cannot_be(value: Any) -> None:
    release = fim.mine(SHOP, **MINED)
    with pytest.raises(ParameterError, match=r"^min_confidence must be a number between 0 and 1"):
        release.rules(min_confidence=value)
    with pytest.raises(ParameterError, match=r"^min_lift must be a number of at least 0, not"):
        release.rules(min_lift=-1)


@pytest.mark.parametrize(
    "how", [{}, {"supports": True}, {"supports": True, "neighbors": "replace-one"}]
)
def test_a_release_that_was_not_mined_for_rules_says_so(how: dict[str, Any]) -> None:
    release = fim.mine(SHOP, size=2, top=3, epsilon=5, seed=1, **how)
    with pytest.raises(ParameterError, match=r"^this release lacks what rules need .*: mine again"):
        release.rules()


BY_CUSTOMER: dict[str, Any] = {"user": "customer", "basket": "visit", "item": "product"}
BY_CUSTOMER |= {"epsilon": 5, "seed": 1}
MEASURES = {*METRICS, "certainty"} - {"confidence"}


@cache
def independent() -> pa.Table:
    """Customers who come twice, and buy each of two things never, first, then or both times,
    whatever the other thing.

    3/4 ever buy a thing, 9/16 both, and 7/16 both at one visit. Each buys something of their own as
    well.
    """
    times: list[tuple[int, ...]] = [(), (0,), (1,), (0, 1)]
    rows = []
    for customer, (bananas, bread) in enumerate([*itertools.product(times, times)] * 250):
        rows += [(customer, 2 * customer, f"own {customer}")]
        rows += [(customer, 2 * customer + time, "bananas") for time in bananas]
        rows += [(customer, 2 * customer + time, "bread") for time in bread]
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(("customer", "visit", "product"), map(list, columns), strict=True)))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_independent_purchases_of_customers_have_lift_one(relation: str) -> None:
    """A pair in one basket, of items that count customers who ever bought them."""
    release = fim.mine(independent(), rules=True, neighbors=relation, **BY_CUSTOMER)
    assert release.to_dict()["together"] == "user"
    rules = release.rules()
    assert len(rules) == 2
    assert (rules["lift_lower"] <= 1).all()
    assert (rules["lift_upper"] >= 1).all()
    # as wide as all that is, it would tell nothing
    assert (rules["lift_upper"] - rules["lift_lower"] < 0.3).all()
    assert rules["doubtful"].all()


def test_rules_alone_change_what_is_together() -> None:
    for asked in ({"supports": True}, {"rules": True, "together": "basket"}):
        assert "together" not in fim.mine(independent(), **asked, **BY_CUSTOMER).to_dict()
    assert "together" not in fim.mine(SHOP, **MINED).to_dict()
    with pytest.raises(ParameterError, match="together user needs user too"):
        fim.mine(SHOP, **MINED, together="user")
    caps: Any = {"mechanism": "limited-domain", "max_basket": 2, "max_baskets": 2}
    with pytest.raises(ParameterError, match=r"^leave out max_baskets: .*; or give together"):
        fim.mine(independent(), rules=True, **caps, **BY_CUSTOMER)


@pytest.fixture(scope="module")
def in_one_basket() -> fim.Release:
    release: fim.Release = fim.mine(independent(), rules=True, together="basket", **BY_CUSTOMER)
    return release


def test_without_independence_there_is_no_lift(in_one_basket: fim.Release, tmp_path: Path) -> None:
    told = (
        "No lift is shown: lift 1 would not mean independence, since a pair must share one basket"
    )
    rules = rules_by_segment(in_one_basket)
    frame = in_one_basket.rules()
    assert not [name for name in frame.columns if re.match("lift|leverage|conviction|zhangs", name)]
    assert {"confidence_lower", "confidence_upper", "support_lower"} <= {*frame.columns}
    assert [*frame["confidence_lower"]] == sorted(frame["confidence_lower"], reverse=True)
    assert "lift</th>" not in frame._repr_html_()
    assert told in frame._repr_html_()
    [first, _] = json.loads(in_one_basket.to_json(rules))["rules"]
    assert not {*first} & (MEASURES | {f"{name}_interval" for name in MEASURES})
    assert 0.5 < first["confidence"] < 0.65
    assert not MEASURES & {*csv_text(rules[""].sheet_rows()).splitlines()[0].split(",")}
    for shown in (
        render_table(in_one_basket, Screen(), rules=rules),
        in_one_basket.to_markdown(rules),
        page(in_one_basket, rules),
    ):
        shown = re.sub(r"(?s)<(style|script)>.*?</\1>", "", shown)
        text = " ".join(shown.replace("\\", "").split())
        assert told in text
        for said in (told, "--together user gives them lifts", 'class="lift2"'):
            text = text.replace(said, "")
        assert "lift" not in text.lower()
    in_one_basket.save(tmp_path / "r.json")
    assert "lift" not in fim.load(tmp_path / "r.json").rules().columns


def test_it_is_said_for_how_many_more_often_than_chance_is_sure() -> None:
    release = fim.mine(HALF, **{**MINED, "top": 2})
    made = rules_by_segment(release)
    rules = made[""]
    sure = int((~rules.doubtful & (rules.columns["lift_lower"] > 1)).sum())
    assert 0 < sure < len(rules)
    note = f"{sure} of {len(rules)} rules are clearly above chance."
    assert json.loads(release.to_json(made))["rules_note"].startswith(note)
    shared = render_table(release, Screen(), rules=made, advise=False)
    for shown in (shared, release.to_markdown(made)):
        assert note in shown
        assert "would be sure" not in shown
    more = (
        "More often than chance would be sure for more rules with a higher --supports-share (it "
        "was 0.33), a smaller --top, or more "
    )
    assert more in render_table(release, Screen(), rules=made)


def test_more_often_than_chance_is_not_said_of_rules_that_are_less_often() -> None:
    """Tea and coffee are bought together by fewer than chance alone would bring together."""
    apart = [["tea"]] * 900 + [["coffee"]] * 900 + [["tea", "coffee"]] * 60 + [["jam"]] * 60
    rules = rules_of(fim.mine(apart, size=2, top=1, rules=True, epsilon=9, seed=1))
    assert len(rules) == 2
    assert not rules.doubtful.any()
    assert rules.note.startswith("No rule is clearly above chance. Clearly below chance")


def test_rules_of_users_say_that_they_count_any_basket(in_one_basket: fim.Release) -> None:
    items = [(n, item) for n in range(4000) for item in ("tea", f"x{n % 2}")]
    rows = [{"who": n // 2, "order": n, "item": item} for n, item in items]
    asked: Any = {"user": "who", "basket": "order", "item": "item", "size": 2, "top": 2, "seed": 1}
    told = "counts all {} who ever bought all of it, in one basket or in several."
    ruled = fim.mine(pa.Table.from_pylist(rows), rules=True, **asked)
    assert {"x0", "x1"} in ruled
    made = rules_by_segment(ruled)
    table = render_table(ruled, Screen(), rules=made)
    for shown in (table, str(ruled), ruled.to_markdown(made)):
        assert told.format("users") in " ".join(shown.split())
    picture = " ".join(re.sub("<.*?>", " ", ruled.to_svg(made)).split())
    assert told.format("customers") in picture
    assert told.format("customers") in page(ruled, made)
    plain = fim.mine(pa.Table.from_pylist(rows), supports=True, **asked)
    assert {"x0", "x1"} not in plain
    assert "users who bought all of it in one basket. --together" in render_table(plain, Screen())
    for release in (plain, in_one_basket):
        assert "who ever bought all of it, in one" not in render_table(release, Screen())
        assert "who ever bought all of it" not in page(release)


def test_forms_of_rules() -> None:
    release = fim.mine(SHOP, **MINED)
    made = rules_by_segment(release)
    rules = made[""]
    values = json.loads(release.to_json(made))["rules"]
    assert values == json.loads(json.dumps(rules.to_dict()))["rules"]
    assert [one["lift"] for one in values] == [*release.rules()["lift"]]
    assert all(one["lift_interval"][0] <= one["lift"] for one in values)
    rows = list(csv.DictReader(io.StringIO(csv_text(rules.sheet_rows()))))
    assert len(rows) == len(rules)
    assert float(rows[0]["lift"]) == values[0]["lift"]
    assert [rows[0]["antecedent_1"]] == values[0]["antecedents"]
    shown = " ".join(render_table(release, Screen(), rules=made).split())
    assert f"{len(rules)} association rules of these itemsets, surest first" in shown
    assert "{butter} → {bread}" in shown
    none = render_table(release, Screen(), rules=rules_by_segment(release, RuleChoice(1.0, 99.0)))
    assert "No rule of these itemsets is one that you asked for." in none


def test_mlxtend_makes_the_same_rules_of_the_frame() -> None:
    with warnings.catch_warnings(action="ignore"):
        from mlxtend import frequent_patterns
    newer = {"jaccard", "kulczynski", "certainty"}
    everywhere = [["tea", "milk"]] * 900  # whose noisy supports are above the number of baskets
    for baskets, size in ((SHOP, 2), (SHOP, "2-3"), (everywhere, 2)):
        release = fim.mine(baskets, **{**MINED, "size": size})
        with warnings.catch_warnings(action="ignore"):  # 0 / 0
            asked: Any = {"metric": "confidence", "min_threshold": 0}
            theirs = frequent_patterns.association_rules(release.to_pandas(), **asked)
        named = {frozenset(one.items or ()) for one in release}
        sides = zip(theirs["antecedents"], theirs["consequents"], strict=True)
        theirs = theirs[[antecedent | consequent in named for antecedent, consequent in sides]]
        ours = release.rules(**EVERY)
        assert len(ours) == len(theirs) > 0
        columns = ["antecedent support", "consequent support", "support", *METRICS, "certainty"]
        # mlxtend has these three from 0.23.2 on, and none of them before.
        assert newer & {*theirs} in (newer, set())
        columns = [name for name in columns if name in theirs or name not in newer]
        key = ["antecedents", "consequents"]
        both = ours.merge(theirs, on=key, suffixes=("", " theirs"))
        assert len(both) == len(ours)
        for name in columns:
            assert np.allclose(both[name], both[f"{name} theirs"]), name
    assert isinstance(ours, pd.DataFrame)
