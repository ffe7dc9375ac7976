"""--mechanism auto: which mechanism is chosen by public numbers, and how a release says so."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fim_private as fim
from fim_private.auditing.audit import auditable
from fim_private.dp.cost import PrivacyCost
from fim_private.errors import ParameterError
from fim_private.levelwise.recipe import LARGEST_SIZE
from fim_private.mechanisms import registry
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.planning.plan import plan
from fim_private.request.choice import AUTO
from fim_private.request.request import request_of
from fim_private.request.supports import NoiseKind

SHOP = [["milk", "tea"]] * 900 + [["bread", "milk"]] * 500 + [["jam", "rye"]] * 300
ITEMS = ["milk", "tea", "bread", "jam", "rye", "salt"]


@pytest.mark.parametrize(
    ("options", "mechanism", "reason"),
    [
        ({}, "levelwise", "least noise and needs no product list"),
        ({"top": 1}, "limited-domain", "smallest margin of all that need no product list"),
        ({"top": 1, "size": "1-2", "union": True}, "limited-domain", "smallest margin"),
        ({"top": 1, "universe_size": 6}, "limited-domain", "smallest margin of all that need no"),
        ({"top": 1, "catalogue": ITEMS}, "exponential", "with your catalogue it needs a smaller"),
        ({"top": 1, "size": "1-2"}, "levelwise", "least noise and needs no product list"),
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


def test_a_mechanism_made_for_one_itemset_releases_one_if_it_is_named() -> None:
    needs: dict[str, dict[str, Any]] = {"choosing": {"max_basket": 4}}
    needs |= {name: {"catalogue": range(100)} for name in registry.purely_private()}
    usual = {}
    for name in registry.MECHANISMS:
        request = request_of(by_user=False, mechanism=name, **needs.get(name, {}))
        usual[name] = (request.target.top, request.supports_share > 0)
    of_ten = {"exponential", "limited-domain", "choosing", "levelwise"}
    assert usual == {name: (10, True) if name in of_ten else (1, False) for name in usual}
    for delta in (0, 1e-6):  # whatever "auto" stands for
        request = request_of(by_user=False, delta=delta, catalogue=range(100))
        assert (request.target.top, request.supports_share > 0) == (10, True)


def test_no_more_are_sought_than_a_short_list_makes() -> None:
    for mechanism, top in ((AUTO, None), ("exponential", None), ("permute-and-flip", 7)):
        release = fim.mine(SHOP, catalogue=ITEMS[:3], mechanism=mechanism, top=top, seed=1)
        assert (release.wanted, release.top) == (3, top or 3)
        assert " possible pairs, by noisy support" in release.title
        assert not any(itemset.doubtful for itemset in release)  # nothing else is possible


def test_picks_that_stand_in_for_levelwise_spend_as_little_on_supports() -> None:
    """Those of a few itemsets of users; not where a cap or a δ of 0 asks for picks."""
    visits = pa.table({"user": [*range(len(SHOP))], "items": SHOP})
    asked: list[tuple[dict[str, Any], str, Fraction]] = [
        ({"top": 2}, "limited-domain", Fraction(1, 10)),
        ({"top": 3}, "levelwise", Fraction(1, 10)),
        ({"top": 3, "units": 10_000}, "limited-domain", Fraction(1, 10)),
        ({"top": 3, "units": 1_000}, "levelwise", Fraction(1, 10)),
        ({"top": 2, "neighbors": "replace-one", "size": 1}, "limited-domain", Fraction(15, 100)),
        ({"top": 3, "catalogue": ITEMS, "units": 10_000}, "exponential", Fraction(1, 10)),
        ({"top": 3, "catalogue": ITEMS, "delta": 0}, "permute-and-flip", Fraction(1, 3)),
        ({"top": 3, "max_rank": 50}, "limited-domain", Fraction(1, 3)),
        ({"top": 1}, "limited-domain", Fraction(1, 3)),
        ({"top": 30}, "levelwise", Fraction(1, 10)),
    ]
    for options, mechanism, share in asked:
        release = fim.mine(visits, user="user", supports=True, seed=1, **options)
        assert release.mechanism == mechanism
        assert [part.fraction for part in release.shares if part.purpose == "supports"] == [share]


def test_a_stated_number_of_users_decides() -> None:
    """More users, a larger ε or fewer itemsets make room for selecting them one by one."""

    def chosen(users: int | None, top: int, epsilon: float, **options: Any) -> str:
        asked = {"top": top, "epsilon": epsilon, "units": users, **options}
        return request_of(by_user=True, **asked).mechanism.name

    needed = math.ceil(400 * 10**1.25)
    assert chosen(needed, 10, 1) == "limited-domain"
    assert chosen(needed - 1, 10, 1) == "levelwise"
    assert chosen(needed // 2 + 1, 10, 2) == "limited-domain"
    assert chosen(needed, 10, 1, catalogue=ITEMS) == "exponential"
    assert chosen(10**9, 20, 1) == "limited-domain"
    assert chosen(10**9, 21, 1) == "levelwise"
    assert chosen(10**9, 11, 1, neighbors="replace-one") == "levelwise"
    for size in (1, "1-2"):  # items are more frequent than pairs
        assert chosen(needed // 4 + 1, 10, 1, size=size, union=size != 1) == "limited-domain"
    assert chosen(10**9, 3, 1, size=3) == "levelwise"
    assert chosen(None, 3, 1) == "levelwise"
    assert request_of(by_user=False, top=3, units=10**9).mechanism.name == "levelwise"


def test_it_is_said_recorded_and_checked(tmp_path: Path) -> None:
    visits = pa.table({"user": [*range(len(SHOP))], "items": SHOP})
    ledger = fim.Ledger.create(tmp_path / "a.ledger", dataset="shop", epsilon=1, delta=1e-5)
    release = fim.mine(visits, user="user", top=3, units=9_000, ledger=ledger, dataset="shop")
    assert release.reason == "it finds more than levelwise, for few itemsets of about 9,000 users"
    assert ledger.entries[0].parameters["units"] == 9_000
    for wrong in (0, -5, 1.5, True):
        with pytest.raises(fim.ParameterError, match=r"^units must be a whole number"):
            fim.mine(visits, user="user", units=wrong)  # type: ignore[arg-type]


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


# -------------------- δ = 0: what spends none, and one clear line for the rest


BASKETS = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50 + [["jam", "tea"]] * 400
CATALOGUE = ["bread", "butter", "jam", "tea", "caviar"]
PURE = ("exponential", "permute-and-flip", "max-of-laplaces")


def mined(**options: Any) -> fim.Release:
    release: fim.Release = fim.mine(
        BASKETS, **{"delta": 0, "catalogue": CATALOGUE, "seed": 1, **options}
    )
    return release


@pytest.mark.parametrize("top", [1, 3])
def test_auto_takes_one_that_spends_none(top: int) -> None:
    release = mined(top=top)
    assert release.mechanism == "permute-and-flip"
    assert release.reason == "it needs the smallest margin of all that spend no delta"
    assert release.cost == PrivacyCost(1, 0)
    assert release.itemsets[0].items == ("bread", "butter")
    assert len(release.itemsets) == top


@pytest.mark.parametrize("mechanism", registry.purely_private())
@pytest.mark.parametrize("supports", [False, True])
def test_the_budget_is_epsilon_alone(mechanism: str, supports: bool) -> None:
    release = mined(mechanism=mechanism, top=2, size="1-2", supports=supports, epsilon=0.7)
    assert release.cost == PrivacyCost(0.7, 0)
    assert [share.delta for share in release.shares] == [0] * len(release.shares)
    assert sum(share.epsilon or 0 for share in release.shares) == Fraction(7, 10)
    if not supports:
        # of two sizes, alike
        assert {share.epsilon for share in release.shares} == {Fraction(7, 20)}
    assert all(share.rho is None and share.mu_squared is None for share in release.shares)
    if supports:
        assert release.noise is not None
        assert release.noise.kind is NoiseKind.LAPLACE
        assert release.noise.parameter == len(release.itemsets) / (Fraction(7, 10) / 3)
    found = json.loads(release.to_json())
    assert (found["epsilon"], found["delta"]) == (0.7, 0.0)


def test_the_guarantee_has_no_exception() -> None:
    shown = render_table(fim.mine(BASKETS, delta=0, catalogue=CATALOGUE), Screen())
    assert "Guarantee (permute-and-flip, ε = 1, δ = 0): adding or removing any one basket" in shown
    assert shown.rstrip().endswith("by at most a factor e^1 = 2.72.")


NO_LIST = (
    r"^delta must be above 0 without a public list of all items. Give a catalogue, or a delta "
    r"far below 1 / \(number "
    r"of baskets, or of users\)$"
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mechanism": "exponential", "universe_size": 5},
        {"mechanism": "large-margin"},
        {"mechanism": "levelwise", "top": 5, "user": "nobody"},
    ],
)
def test_without_a_list_a_delta_is_needed(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=NO_LIST):
        fim.mine("no such file", delta=0, **options)


@pytest.mark.parametrize("mechanism", [name for name in registry.MECHANISMS if name not in PURE])
def test_what_spends_delta_needs_one(mechanism: str) -> None:
    caps: dict[str, Any] = {"max_basket": 3} if mechanism == "choosing" else {}
    line = (
        rf"^delta must be above 0 for {mechanism}, which spends it; with 0 take exponential, "
        rf"permute-and-flip or max-of"
    )
    with pytest.raises(ParameterError, match=line):
        fim.mine("no such file", delta=0, catalogue=CATALOGUE, mechanism=mechanism, **caps)
    if mechanism != "levelwise":
        with pytest.raises(ParameterError, match=line):
            auditable(mechanism, 1.0, 0, "replace-one")


def test_plan_without_delta() -> None:
    found = plan(units=10_000, universe_size=1000, delta=0)
    assert found.delta == 0.0
    assert found.recommended == "permute-and-flip"
    assert {one.name for one in found.mechanisms if "delta above 0" not in one.missing} == set(PURE)
    top = plan(top=(1, 20), universe_size=1000, delta=0, supports=True, typical_basket=5)
    assert top.recommended == ("permute-and-flip", "permute-and-flip")
    assert {one.name for one in top.mechanisms if not one.missing} == set(PURE)
    with pytest.raises(ParameterError, match=r"^delta must be above 0 without a public list"):
        plan(delta=0)
