"""`min_support`: what is asked for, what is released, and what is promised of it."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from real_data import REPOSITORY

import fim_private as fim
from fim_private.counting import list_itemsets
from fim_private.dp.cost import PrivacyCost
from fim_private.errors import ParameterError
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.reading.purchases import read_transactions
from fim_private.release.page import page
from fim_private.request import supports
from fim_private.request.supports import CONFIDENCE, MinSupport, SupportNoise, UnitCount

BASKETS = [["bread", "butter"]] * 6000 + [["bread", "jam"]] * 2500
BASKETS += [["tea"]] * 1400 + [["tea", "jam"]] * 100
CATALOGUE = ["bread", "butter", "jam", "tea", "caviar"]
DATA = read_transactions(BASKETS)
TWO_PER_CENT = Fraction(2, 100)
RELATIONS = ("replace-one", "add-remove")


def mined(data: Any = DATA, **asked: Any) -> fim.Release:
    release: fim.Release = fim.mine(data, **{"seed": 1, "min_support": 0.2, "size": "1-2", **asked})
    return release


@pytest.mark.parametrize(
    ("value", "share", "count"),
    [
        *((value, TWO_PER_CENT, None) for value in (0.02, "0.02", ".02", "2e-2", "2%", " 2 % ")),
        *((kind("0.02"), TWO_PER_CENT, None) for kind in (Decimal, np.float64, np.float32)),
        ("0.5%", Fraction(5, 1000), None),
        (Fraction(1, 3), Fraction(1, 3), None),
        *((value, None, 500) for value in (500, "500", np.int32(500))),
        (1, None, 1),
        ("1", None, 1),
    ],
)
def test_shares_and_numbers_of_units(value: Any, share: Fraction | None, count: int | None) -> None:
    assert MinSupport.of(value) == MinSupport(share, count)


WRONG: list[Any] = [0, 0.0, 1.0, -0.1, -5, 1.5, 500.0, "0", "0%", "100%", "150 %", "-2%", "", "x"]
WRONG += ["1_0", "1e3", "nan", "٢%", "0x1", Decimal(500), Decimal("nan"), "x" * 10**6, True, None]
WRONG += [np.bool_(True), float("nan"), float("inf"), [0.02], 1j, 10**18, "9" * 50, "0." + "9" * 60]
WRONG += [Fraction(3, 2), "1e5", "1e-99999999999", ".1e99999999999"]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
def test_what_is_neither(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^min_support must be a share above 0") as caught:
        MinSupport.of(value)
    said = "or a number >= 1 of baskets (or users), of up to 18 plain digits, not "
    assert said in str(caught.value)
    assert len(str(caught.value)) < 240


def test_what_is_certain_is_so_for_all_the_units_there_may_be() -> None:
    noise = SupportNoise.for_budget(Fraction(1, 10), None, 1)
    most = 1000 + noise.within(supports.UNITS_CONFIDENCE)
    share = MinSupport(share=Fraction(1, 10))
    edge = math.ceil(Fraction(most, 10))
    assert share.is_certain(edge, UnitCount(1000, noise))
    assert not share.is_certain(edge - 1, UnitCount(1000, noise))
    assert share.is_certain(100, UnitCount(1000))
    assert not share.is_certain(99, UnitCount(1000))
    assert MinSupport(count=5).is_certain(5, None)
    assert share.confidence(UnitCount(1000, noise)) == Fraction(96, 100)
    assert share.confidence(UnitCount(1000)) == CONFIDENCE
    assert MinSupport(count=5).confidence(UnitCount(1000, noise)) == CONFIDENCE
    assert not MinSupport(count=5).is_certain(4, None)


def test_what_is_frequent_is_found_and_nothing_else() -> None:
    release: Any = mined(epsilon=5)
    found = {itemset.items: itemset for itemset in release}
    assert set(found) == {("bread",), ("butter",), ("jam",), ("bread", "butter"), ("bread", "jam")}
    assert (release.min_support, release.threshold) == (0.2, math.ceil(0.2 * release.units))
    assert (release.top, release.union, release.capped) == (1000, True, False)
    assert abs(release.units - 10_000) < 60
    assert release.units_interval is not None
    assert not any(itemset.doubtful for itemset in release)
    assert all((one.interval or (0, 0))[0] >= release.threshold for one in release)
    replaced = mined(epsilon=5, neighbors="replace-one")
    assert (replaced.threshold, replaced.units, replaced.units_interval) == (2000, 10_000, None)
    assert {itemset.items for itemset in replaced} == set(found)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    "asked",
    [
        *({}, {"rho": 0.3}, {"size": "1-4"}, {"catalogue": CATALOGUE}, {"supports_share": 0.2}),
        {"mechanism": "limited-domain", "rho": 0.3},
        {"mechanism": "exponential", "catalogue": CATALOGUE},
        {"delta": 0, "catalogue": CATALOGUE},
        {"mechanism": "choosing", "max_basket": 2, "top": 4},
    ],
    ids=str,
)
def test_all_of_the_budget_is_spent_and_no_more(asked: dict[str, Any], neighbors: str) -> None:
    release = mined(neighbors=neighbors, **asked)
    assert sum(share.fraction for share in release.shares) == 1
    names = ("epsilon", "rho", "mu_squared")
    whole = {key: sum((getattr(s, key) or 0 for s in release.shares), Fraction(0)) for key in names}
    if "rho" in asked:
        assert whole["rho"] + whole["mu_squared"] / 2 == Fraction(3, 10)
        assert release.zcdp is not None
    elif whole["epsilon"]:
        assert whole["epsilon"] == 1
    assert release.has_supports
    least = release.threshold or 0
    assert all(one.support is not None and one.support >= least for one in release)
    assert all(itemset.doubtful is not None for itemset in release)
    if release.mechanism == "levelwise":
        supports = [share for share in release.shares if share.purpose == "supports"]
        assert supports[0].fraction == Fraction(str(asked.get("supports_share", 0.4)))


def test_picks_are_looked_at_again() -> None:
    release = mined(mechanism="limited-domain", top=3)
    assert release.top == 3
    assert release.capped
    assert {itemset.items for itemset in release} == {("bread",), ("bread", "butter"), ("butter",)}
    assert mined(mechanism="limited-domain").top == 100
    capped = mined(min_support=0.1, top=2, epsilon=5)
    assert (capped.capped, len(capped)) == (True, 2)
    assert "Only 2 were looked at, which is the limit. Others may" in " ".join(capped.certainty)
    assert "Others may have as much, but were not found." in " ".join(mined(epsilon=5).certainty)
    assert "It lifts some" in " ".join(mined(epsilon=5).certainty)
    few = mined(delta=0, catalogue=CATALOGUE)
    assert few.mechanism == "permute-and-flip"
    assert few.cost == PrivacyCost(1, 0)


def test_the_table_says_what_is_certain() -> None:
    shown = " ".join(render_table(mined(epsilon=5, neighbors="replace-one"), Screen()).split())
    assert "5 itemsets of 1 to 2 items with a noisy support of at least 20 % of all" in shown
    assert "Of itemsets below 20 % of all baskets (2,000), at most 2.5 % come out unmarked" in shown
    near = " ".join(render_table(mined(seed=2, min_support=2600, epsilon=0.5), Screen()).split())
    assert "? may have less than 2,600 baskets, because of the noise. Of itemsets below" in near
    assert "of 1,000 asked for" not in near
    assert "% for counting candidates" in near
    found = mined(min_support=0.99, neighbors="replace-one")
    nothing = " ".join(render_table(found, Screen()).split())
    assert "No itemset of 1 to 2 items was found with a noisy support of at least 99 %" in nothing
    assert "Try a smaller minimum support, a larger budget, or more baskets." in nothing
    noisy = mined(epsilon=5)
    assert f"at least 20 % of all baskets (about {noisy.threshold:,})" in noisy.title


# 300 items, each in 900 of 9,000 baskets. To ask for 905 is to ask for more than any of them has.
_TENS = range(0, 300, 10)
JUST_BELOW = read_transactions([[f"item {ten + n % 10}" for ten in _TENS] for n in range(9_000)])


@pytest.mark.parametrize(
    ("asked", "seeds"),
    [
        ({"min_support": 905}, 12),
        *(
            pytest.param({"min_support": least, "neighbors": name}, 60, marks=pytest.mark.full)
            for least in (905, 0.1006)
            for name in RELATIONS
        ),
    ],
    ids=str,
)
@pytest.mark.every_case
def test_of_itemsets_below_the_least_support_few_come_out_unmarked(asked: Any, seeds: int) -> None:
    """And of those that are shown unmarked, here, none has as much: nothing is claimed of them."""
    releases = [mined(JUST_BELOW, size=1, **asked | {"seed": seed}) for seed in range(seeds)]
    unmarked = sum(itemset.doubtful is False for release in releases for itemset in release)
    below = seeds * 300
    assert 0 < unmarked / below <= 0.025 + 3.5 * math.sqrt(0.025 * 0.975 / below)
    for release in releases:
        said = " ".join(release.certainty)
        assert "Of itemsets below " in said
        assert "at most 2.5 % come out unmarked (without ?), on average." in said
    assert "97.5" not in said + render_table(releases[-1], Screen()) + page(releases[-1])


@pytest.mark.parametrize(
    ("share", "written"),
    [
        (Fraction(2, 3), "66.6666 %"),
        (Fraction(1, 3), "33.3333 %"),
        (0.02, "2 %"),
        (0.0123, "1.23 %"),
    ],
)
@pytest.mark.every_case
def test_a_share_is_never_written_as_more_than_was_asked_for(share: Any, written: str) -> None:
    release = mined(min_support=share, epsilon=5)
    assert f"at least {written} of all baskets" in release.title + release.nothing
    assert f"{written} of all" in page(release)


@pytest.mark.parametrize(
    ("share", "size", "least"), [(0.05, "1-3", 0.9), (0.02, "1-3", 0.9), (0.02, "2", 0.85)]
)
def test_most_of_what_reaches_the_threshold_is_found(share: float, size: str, least: float) -> None:
    """Of the corner shop, at ε = 1: and nearly all that is released does reach it."""
    shop = read_transactions(REPOSITORY / "datasets" / "corner_shop.parquet")
    threshold = math.ceil(Fraction(str(share)) * shop.units)
    first, last = int(size[0]), int(size[-1])
    listed = (list_itemsets(shop, n, threshold, shop.units) for n in range(first, last + 1))
    true = {tuple(items) for own in listed for items, _ in own}
    recall, precision, sure = [], [], []
    for seed in range(3):
        release = fim.mine(shop, min_support=share, size=size, seed=seed)
        found = {itemset.items for itemset in release}
        recall.append(len(found & true) / len(true))
        precision.append(len(found & true) / len(found))
        certain = [itemset.items for itemset in release if not itemset.doubtful]
        sure.append(sum(items in true for items in certain) / len(certain))
    assert min(recall) >= least
    assert min(precision) >= 0.85
    assert np.mean(sure) >= 0.98


def test_supports_come_unless_they_are_left_out() -> None:
    """A mechanism made for one itemset that was named has none by default, and seeks one."""
    baskets = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 300

    def has_supports(**asked: Any) -> bool:
        return fim.mine(baskets, seed=1, **asked).noise is not None

    assert has_supports()
    assert has_supports(top=1)
    assert not has_supports(top=2, supports=False)
    assert has_supports(delta=0, catalogue=["bread", "butter", "jam"])  # by permute-and-flip
    assert not has_supports(mechanism="large-margin")
    assert has_supports(mechanism="large-margin", supports=True, epsilon=5)
    assert has_supports(mechanism="large-margin", top=2, epsilon=5)
    for name, value in (("rules", True), ("min_support", 0.1)):
        with pytest.raises(ParameterError, match=f"^{name} needs supports"):
            has_supports(supports=False, **{name: value})
