"""δ = 0: epsilon alone, for whatever spends no delta; and one clear line for the rest."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import fim_private as fim
from fim_private.auditing.audit import auditable
from fim_private.dp.cost import PrivacyCost
from fim_private.errors import ParameterError
from fim_private.mechanisms import registry
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.planning.plan import plan
from fim_private.request.supports import NoiseKind

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
