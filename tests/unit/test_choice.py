"""--mechanism auto: which mechanism is chosen by public numbers, and how a release says so."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fim_private as fim
from fim_private.auditing.audit import auditable
from fim_private.dp.accountant import Step
from fim_private.dp.composition import choice_epsilon
from fim_private.dp.cost import Exact, PrivacyCost
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.levelwise.recipe import LARGEST_SIZE
from fim_private.mechanisms import registry
from fim_private.mining.mine import planned
from fim_private.options.declaration import filled
from fim_private.options.requests import RequestOptions
from fim_private.output.releases import render_release_plan, render_table
from fim_private.output.screen import Screen
from fim_private.planning.plan import plan
from fim_private.request import supports
from fim_private.request.allocation import plan_of
from fim_private.request.choice import AUTO
from fim_private.request.groups import Promise
from fim_private.request.plan import EnoughItems, EnoughSupport
from fim_private.request.request import Request, request_from, request_of
from fim_private.request.scope import Scope
from fim_private.request.supports import NoiseKind, SupportNoise
from fim_private.run.outcome import Execution, NoisySupport

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
    lists = [*SHOP, *[["oil", "salt"]] * 300]
    visits = pa.table({"user": [*range(len(lists))], "items": lists})
    asked: list[tuple[dict[str, Any], str, Fraction]] = [
        ({"top": 2}, "limited-domain", Fraction(1, 10)),
        ({"top": 3}, "limited-domain", Fraction(1, 10)),  # after a look
        ({"top": 4}, "levelwise", Fraction(1, 10)),
        ({"top": 3, "units": 10_000}, "limited-domain", Fraction(1, 10)),
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


# -------------------- a look at the data


def looking(**options: Any) -> Request:
    return request_of(by_user=True, **{"top": 10, **options})


MANY = [f"item {n}" for n in range(200)]


def test_it_looks_for_some_tens_of_itemsets_of_users_where_both_plans_are_good() -> None:
    together = {"size": "1-3", "union": True}
    expected: list[tuple[dict[str, Any], str]] = [
        ({}, "limited-domain"),
        ({"top": 50}, "limited-domain"),
        ({"size": 1}, "limited-domain"),
        (together, "limited-domain"),
        ({"catalogue": MANY}, "exponential"),
        ({"catalogue": MANY, "size": 1, "top": 100}, "exponential"),
        ({"catalogue": MANY, "size": "1-2", "union": True}, "exponential"),
        ({"catalogue": MANY, **together}, "limited-domain"),
        ({"catalogue": ITEMS, **together}, "exponential"),  # of 41 candidates none is left unranked
        ({"units": 1_000}, "limited-domain"),
        ({"rho": 0.01}, "limited-domain"),
        ({"supports": False}, "limited-domain"),
        ({"neighbors": "replace-one"}, "limited-domain"),
    ]
    for options, mechanism in expected:
        look = plan_of(looking(**options)).look
        assert look is not None, options
        assert look.request.mechanism.name == mechanism, options
    for options in (
        {"top": 51},
        {"size": 3},
        {"size": "1-2"},
        {"size": "1-4", "union": True},
        {"catalogue": ITEMS[:3], **together},
        {"catalogue": MANY, "size": 1, "top": 101},
        {"catalogue": MANY, "top": 51},
        {"delta": 5e-300},
        {"rules": True},
        {"min_support": 100},
        {"mechanism": "levelwise"},
        {"units": 10_000},
        {"delta": 0, "catalogue": ITEMS},
    ):
        assert plan_of(looking(**options)).look is None, options
    assert plan_of(request_of(by_user=False)).look is None
    visits = pa.table({"user": [1, 2], "items": [["a"], ["b"]], "day": ["2026-01-05"] * 2})
    for asked in (
        planned(visits, user="user", known=[["a", "b"]]),
        planned(visits, user="user", with_items="a"),
        planned(visits, user="user", time="day", period="2026-W02"),
        planned(visits, user="user", by="day", segments=["2026-01-05"]),
    ):
        assert asked.plans[0].look is None
    assert planned(visits, user="user").plans[0].look is not None


@pytest.mark.every_case
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("rho", [None, 0.02])
@pytest.mark.parametrize("catalogue", [None, MANY])
@pytest.mark.parametrize("counts", ["nothing", "units", "chosen units"])
@pytest.mark.parametrize("size", [2, "1-3"])
def test_both_plans_of_a_look_cost_the_same(
    neighbors: str, rho: float | None, catalogue: list[str] | None, counts: str, size: int | str
) -> None:
    """All of the budget: what is charged before does not depend on what it sees."""
    given: dict[str, Any] = {"catalogue": catalogue, "neighbors": neighbors, "rho": rho}
    are_chosen = counts == "chosen units"
    given |= {"size": size, "top": 10, "union": size != 2, "count": counts != "nothing"}
    values = filled("mine", RequestOptions, given)
    promise = Promise.of(values, by_user=True, units_are_chosen=are_chosen)
    plan = plan_of(request_from(values, promise, Scope()))
    assert plan.look is not None
    picks = plan.look.plan
    assert picks.cost == plan.cost
    assert (picks.zcdp, picks.zcdp.normal) == (plan.zcdp, True)
    assert picks.steps[0] == plan.steps[0]
    assert picks.step("supports") == plan.step("supports")
    assert (picks.step("count"), picks.joint_noise) == (plan.step("count"), plan.joint_noise)
    buys_count = are_chosen and neighbors == "replace-one"
    assert (picks.step("count") is not None) == buys_count
    for one in (plan, picks):
        assert sum(step.fraction for step in one.steps) == 1
    # Theorem 33: what the picks may be follows from what comes after them, too.
    [run], selection, last = picks.top_k_runs, picks.step("selection"), picks.step("supports")
    assert selection is not None
    assert last is not None
    assert run.mechanism.cost.epsilon == choice_epsilon(
        selection.normal_mu_squared, run.count, last.normal_mu_squared
    )
    assert (picks.names_delta > 0) == (run.mechanism.cost.delta > 0)
    assert isinstance(plan.look.condition, EnoughSupport)
    assert plan.to_dict()["look"] == {
        "mechanism": plan.look.request.mechanism.name,
        "most_needed": plan.look.condition.most_needed,
        "least_needed": plan.look.condition.least_needed,
        "leniency": plan.look.condition.leniency,
    }


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("given", "candidates", "numbers"),
    [
        ({}, None, (1.15, 0, 15, 0.55)),
        ({"neighbors": "replace-one"}, None, (1.15, 0, 15, 0.55)),
        ({"catalogue": MANY}, math.comb(200, 2), (1, 0.25, 0, math.inf)),
        ({"catalogue": MANY, "top": 50}, math.comb(200, 2), (1, 0.25, 0, math.inf)),
        ({"catalogue": MANY, "size": "1-3", "union": True}, None, (1.2, 0, 4, math.inf)),
    ],
)
def test_the_threshold_follows_from_what_picks_need_and_from_the_noise(
    given: dict[str, Any], candidates: int | None, numbers: tuple[float, ...]
) -> None:
    """docs/privacy.md, after Theorem 33. An itemset has even odds against all that is not it."""
    look = plan_of(looking(**given)).look
    assert look is not None
    condition = look.condition
    assert isinstance(condition, EnoughSupport)
    [run], step = look.plan.top_k_runs, look.plan.step("look")
    assert step is not None
    cost = run.mechanism.cost
    log_odds = math.log(candidates or 10_000 / cost.delta)
    need = log_odds / cost.epsilon * (2 if "neighbors" in given else 1)
    sigma = float(step.normal_mu_squared) ** -0.5
    ample, growth, per_noise, most_lenient = numbers
    most = ample * (run.count / 20) ** growth * need
    assert condition.most_needed == math.ceil(most)
    assert condition.least_needed == math.ceil(most / (1 + most_lenient))
    assert condition.leniency == math.ceil(per_noise * sigma)
    assert condition.needed(10**12) == pytest.approx(condition.most_needed)
    assert condition.needed(0) == pytest.approx(
        max(most / (1 + condition.leniency), condition.least_needed), rel=0.02
    )
    if condition.leniency:
        half = max(condition.most_needed / 2, condition.least_needed)
        assert condition.needed(condition.leniency) == pytest.approx(half)


def test_of_listed_items_it_goes_by_how_many_users_have_bought_as_many_as_are_sought() -> None:
    look = plan_of(looking(catalogue=MANY, size=1, top=30)).look
    assert look is not None
    assert look.condition == EnoughItems(30, 0.65)
    assert look.condition.needed(1_000) == 650
    assert look.to_dict() == {"mechanism": "exponential", "items": 30, "share": 0.65}
    # It sees a support as well, so each of the two numbers has more noise.
    alone = plan_of(looking(catalogue=MANY, size=2)).look
    assert alone is not None
    step = look.plan.steps[0]
    assert look.noise(step).half_width > 1.15 * alone.noise(step).half_width


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_listed_items_are_picked_where_enough_users_have_bought_many(neighbors: str) -> None:
    """Half of the releases pick where 65 % have bought as many as are sought, in all baskets."""
    asked: dict[str, Any] = {"size": 1, "top": 6, "epsilon": 2, "neighbors": neighbors}
    asked |= {"catalogue": [*"abcdefgh"]}
    users, step = 2_000, plan_of(looking(**asked)).step("look")
    assert step is not None
    picked = {}
    for apart in (-5, 0, 5):
        many = round(0.65 * users + apart * float(step.normal_mu_squared) ** -0.5)
        lists = [[*"abc"], [*"defz"]] * many + [[*"abc"], [*"dezz"]] * (users - many)
        data = pa.table({"user": np.repeat(np.arange(users), 2), "items": lists})
        releases = [fim.mine(data, user="user", seed=n, **asked) for n in range(60)]
        picked[apart] = sum(one.mechanism == "exponential" for one in releases)
        for one in releases:
            showed = "showed" if one.mechanism == "exponential" else "did not show"
            assert one.reason is not None
            assert f"{showed} that enough users have bought 6 different items" in one.reason
            assert (one.cost, one.zcdp) == (releases[0].cost, releases[0].zcdp)
    assert picked[-5] <= 1
    assert 15 <= picked[0] <= 45
    assert picked[5] >= 59


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("users", [1_000, 4_000])
def test_a_noisy_support_is_compared_with_what_picks_need(neighbors: str, users: int) -> None:
    """Half of the releases pick where the support is the threshold; hardly any, far from it.

    The threshold is lower the fewer users there are.
    """
    asked: dict[str, Any] = {"size": 1, "top": 6, "epsilon": 2, "neighbors": neighbors}
    look = plan_of(looking(**asked)).look
    assert look is not None
    condition = look.condition
    assert isinstance(condition, EnoughSupport)
    assert condition.needed(users) < 0.96 * condition.most_needed
    picked = {}
    for apart in (-4, 0, 4):
        sigma = float(look.plan.steps[0].normal_mu_squared) ** -0.5
        owners = round(condition.needed(users) + apart * sigma)
        lists = [[*"abcdefg"]] * owners + [["h"]] * (users - owners)
        data = pa.table({"user": [*range(users)], "items": lists})
        releases = [fim.mine(data, user="user", seed=n, **asked) for n in range(60)]
        picked[apart] = sum(one.mechanism == "limited-domain" for one in releases)
        for one in releases:
            is_picked = one.mechanism == "limited-domain"
            assert one.reason is not None
            assert one.reason.startswith("a noisy look at the data showed") == is_picked
            purposes = [step.purpose for step in one.shares]
            assert purposes[0] == "look"
            assert ("selection" in purposes) == is_picked
            assert (one.cost, one.zcdp) == (releases[0].cost, releases[0].zcdp)
    assert picked[-4] <= 1
    assert 15 <= picked[0] <= 45
    assert picked[4] >= 59


@pytest.mark.parametrize(
    ("neighbors", "are_chosen", "numbers", "of_each", "of_units"),
    [
        ("add-remove", False, 1, 100, 200),
        ("replace-one", False, 1, 100, 0),
        ("replace-one", True, 1, 200, 200),
        ("add-remove", False, 2, 145.7, 241.4),  # (1 + √2)² / 4 and 1 + √2, times 100
        ("replace-one", False, 2, 200, 0),
        ("replace-one", True, 2, 300, 300),
    ],
)
def test_a_look_adds_noise_to_whatever_a_unit_changes(
    neighbors: str, are_chosen: bool, numbers: int, of_each: float, of_units: float
) -> None:
    """Together all numbers spend the μ² of the step. Where rows are chosen, no n is public."""
    promise = replace(
        request_of(by_user=True, neighbors=neighbors).promise, units_are_chosen=are_chosen
    )
    source = SimpleNamespace(units=1_000)
    execution = Execution(None, source, Randomness.seeded(3))  # type: ignore[arg-type]
    step = Step("look", (2,), Fraction(1), mu_squared=Exact(Fraction(1, 100)))
    drawn = [execution._seen([500] * numbers, step, promise) for _ in range(3_000)]
    for place in range(numbers):
        supports_seen = [seen[place].support for seen, _ in drawn]
        assert np.var(supports_seen) == pytest.approx(of_each, rel=0.1)
    assert np.var([units for _, units in drawn]) == pytest.approx(of_units, rel=0.1)


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize("budget", [Fraction(1, 20), 4])
def test_an_itemset_is_sure_if_it_has_more_than_the_look_saw(
    joint: bool, count: int, budget: Fraction
) -> None:
    """With 95 % probability none of those that have as much is sure, even where noise is narrow."""
    rng = Randomness.seeded(5)
    of_budget = SupportNoise.with_units if joint else SupportNoise.for_mu_squared
    seen_noise, noise = of_budget(budget, 1), of_budget(budget, count)

    def drawn(number: int, of: SupportNoise) -> Sequence[int]:
        if not joint:
            return supports.release([500] * number, of, randomness=rng)
        return supports.release_with_units([500] * number, 2_000, of, randomness=rng)[0]

    wrong = 0
    for _ in range(4_000):
        [seen], noisy = drawn(1, seen_noise), drawn(count, noise)
        exceeded = NoisySupport(seen / noise.per_unit, seen_noise).surely_exceeded(noise, count)
        wrong += max(noisy) > exceeded * noise.per_unit
    assert wrong / 4_000 < 0.06
    assert wrong / 4_000 > 0.01  # no wider than that needs


def test_what_is_clearly_among_the_most_frequent_is_sure_after_a_look() -> None:
    """Also where none leads the others, so that picks alone would leave all in doubt."""
    items = [f"item {n}" for n in range(12)]
    lists = [[items[n], *items[:10]] for n in (10, 11) for _ in range(700)] + [items[:10]] * 400
    visits = pa.table({"user": [*range(len(lists))], "items": lists})
    release = fim.mine(visits, user="user", size=1, top=10, seed=2)
    assert release.mechanism == "limited-domain"
    assert not any(itemset.doubtful for itemset in release)


def test_hardly_a_rank_is_sure_after_a_look_where_many_itemsets_are_nearly_as_frequent() -> None:
    """Ten items have 608 users, and 190 others have 600."""
    users: list[list[str]] = [[] for _ in range(4_000)]
    for item in range(200):
        for place in range(608 if item < 10 else 600):
            users[(item * 311 + place * 7) % len(users)].append(f"item {item}")
    visits = pa.table({"user": [*range(len(users))], "items": users})
    releases = [fim.mine(visits, user="user", size=1, top=10, seed=n) for n in range(60)]
    picked = [release for release in releases if release.mechanism == "limited-domain"]
    assert len(picked) == 60
    best = {(f"item {item}",) for item in range(10)}
    wrong = sum(
        any(one.items not in best and one.doubtful is False for one in release)
        for release in picked
    )
    assert wrong <= 8  # 3 of 60 are expected at most


def test_a_dry_run_says_what_the_look_goes_by() -> None:
    visits = pa.table({"user": [*range(len(SHOP))], "items": SHOP})
    prepared = planned(visits, user="user", top=10, catalogue=MANY, size="1-3", union=True)
    look = prepared.plans[0].look
    assert look is not None
    said = " ".join(render_release_plan(prepared, Screen()).split())
    condition = look.condition
    assert isinstance(condition, EnoughSupport)
    assert f"If the result is {condition.most_needed:,} or more, limited-domain replaces" in said
    needed = math.ceil(condition.needed(1_000))
    assert f"With fewer users, less is enough: {needed} for 1,000 users." in said
    assert "the chance that an itemset is revealed which only one user has." in said
    prepared = planned(visits, user="user", top=10, catalogue=MANY, size=1)
    said = " ".join(render_release_plan(prepared, Screen()).split())
    assert "how many users have bought 10 or more of the listed items" in said
    assert "If the result is 65 % of all users or more, exponential replaces" in said


def test_where_nobody_looks_nothing_says_so(tmp_path: Path) -> None:
    visits = pa.table({"user": [*range(len(SHOP))], "items": SHOP})
    ledger = fim.Ledger.create(tmp_path / "a.ledger", dataset="shop", epsilon=9, delta=1e-5)
    release = fim.mine(  # of six items there are 15 pairs
        visits, user="user", ledger=ledger, dataset="shop", top=15, catalogue=ITEMS
    )
    assert (release.shares[0].purpose, release.reason) == (
        "items",
        "it finds many itemsets with the least noise",
    )
    assert ledger.entries[0].parameters["mechanism"] == "levelwise"
    for share in (0.96, 0.97, 0.99):
        asked = request_of(by_user=True, supports_share=share)
        assert (asked.look_share > 0) == (share == 0.96)
    assert request_of(by_user=True).with_options({"top": 20}).picks is not None
    elsewhere = replace(request_of(by_user=True), may_look=False)
    assert elsewhere.with_options({"top": 20}).picks is None


def test_picks_after_a_look_cost_a_group_more_than_levelwise_does() -> None:
    """They may abstain: no multiple of δ₀ bounds that for several units."""
    look = plan_of(looking()).look
    assert look is not None
    cost, zcdp = look.plan.cost_of_group(3)
    assert not zcdp.normal
    assert zcdp.delta == cost.delta


def test_it_is_said_recorded_and_checked(tmp_path: Path) -> None:
    visits = pa.table({"user": [*range(len(SHOP))], "items": SHOP})
    ledger = fim.Ledger.create(tmp_path / "a.ledger", dataset="shop", epsilon=1, delta=1e-5)
    release = fim.mine(
        visits, user="user", top=3, units=9_000, epsilon=0.5, ledger=ledger, dataset="shop"
    )
    assert release.reason == "it finds more than levelwise, for few itemsets of about 9,000 users"
    assert ledger.entries[0].parameters["units"] == 9_000
    fim.mine(visits, user="user", top=3, epsilon=0.1, ledger=ledger, dataset="shop")
    assert ledger.entries[1].parameters["mechanism"] == "auto"  # a look decided
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
