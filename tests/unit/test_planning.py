"""plan: what each mechanism takes, and which one to use. From parameters alone."""

from __future__ import annotations

import inspect
import json
import re
import sys
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fim_private.mechanisms.needs as search
from fim_private.errors import ParameterError
from fim_private.mechanisms import (
    Choosing,
    Distance,
    Exponential,
    LargeMargin,
    LimitedDomain,
    MaxOfLaplaces,
    PermuteAndFlip,
    TightMargin,
    registry,
)
from fim_private.mechanisms.needs import prospects
from fim_private.options import CONFIDENCE
from fim_private.output import Screen, render_plan
from fim_private.planning.plan import Plan, PlannedMechanism, plan, plan_grid
from fim_private.spectrum import SupportSpectrum


def released(mechanism: LargeMargin, supports: list[int]) -> float:
    """The probability of releasing the first support."""
    return float(mechanism.distribution(SupportSpectrum.from_supports(supports)).probabilities[0])


@pytest.mark.parametrize("runner_up", [0, 1, 100, 3000])
def test_it_is_the_lead_over_the_runner_up_that_counts(runner_up: int) -> None:
    mechanism = LargeMargin(1.0, 1e-6)
    lead = prospects(mechanism, CONFIDENCE).margin
    assert lead == 438
    supports = [runner_up + lead] + [runner_up] * min(runner_up, 1)
    assert released(mechanism, supports) >= CONFIDENCE


def test_no_data_is_taken() -> None:
    assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(plan).parameters.values())


NAMES = [*registry.single()]
AR = "add-remove"
RO = "replace-one"
# Few ranks, for speed.
EVERYTHING: dict[str, Any] = {"universe_size": 1000, "max_basket": 50, "max_rank": 100}


def of(found: Plan, name: str) -> PlannedMechanism:
    return next(mechanism for mechanism in found.mechanisms if mechanism.name == name)


@pytest.mark.parametrize(
    ("mechanism", "candidates", "support"),
    [
        (Distance(1.0, 1e-6, AR), None, 17),
        (Choosing(1.0, 1e-6, 1225, AR), None, 25),
        (LimitedDomain(1.0, 1e-6, AR, 1000), None, 25),
        (LimitedDomain(1.0, 1e-6, AR, 100_000), None, 30),
        (Exponential(1.0, AR), 10**8, 22),
        (Exponential(1.0, AR), 10**27, 66),
        (Exponential(1.0, AR), 10**60, 142),
        (Exponential(1.0, RO), 10**60, 283),
        (TightMargin(1.0, 1e-6, AR), None, 31),
        (TightMargin(1.0, 1e-6, RO), None, 63),
        (LargeMargin(1.0, 1e-6, AR), None, 438),  # 450 if only rank 1 counts
        (LargeMargin(1.0, 1e-6, AR, max_rank=1), None, 450),
    ],
)
def test_the_reference_values(mechanism: Any, candidates: int | None, support: int) -> None:
    assert prospects(mechanism, CONFIDENCE, candidates).support == support


@pytest.mark.parametrize("neighbors", ["replace-one", AR])
@pytest.mark.one_in(2)
@pytest.mark.full
def test_limited_domain_takes_no_more_than_the_tight_margin_whatever_the_cap(neighbors: str) -> None:
    before = np.zeros(3)
    for cap in (10, 10**4, 10**17, 10**18, 10**25):  # from 10**18 on doubles do not tell it from ten itemsets more
        limited, tight = (
            np.array([found.support, found.margin, found.margin_tied], dtype=np.float64)
            for found in (
                prospects(LimitedDomain(1.0, 1e-6, neighbors, cap), CONFIDENCE),
                prospects(TightMargin(1.0, 1e-6, neighbors, cap), CONFIDENCE),
            )
        )
        assert (limited <= tight).all()
        assert (tight > before).all()
        before = tight


@pytest.mark.parametrize(
    ("mechanism", "candidates", "others"),
    [
        (LargeMargin(1.0, 1e-6, RO, max_rank=300), None, 301),
        (TightMargin(1.0, 1e-6, RO, max_rank=300), None, 301),
        (TightMargin(2.0, 1e-3, AR, max_rank=5), None, 6),
        (LimitedDomain(0.3, 1e-6, RO, max_rank=300, max_itemsets=20), None, 301),
        (Choosing(1.0, 1e-6, 1225, RO), None, 10_000),
        (Distance(0.5, 1e-6, RO), None, 10_000),
        (Exponential(1.0, RO), 5000, None),
        (PermuteAndFlip(1.0, RO), 5000, None),
        (MaxOfLaplaces(1.0), 10**60, None),
        (Exponential(1.0), 3, None),
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

    figures = [(1, found.support, 0), (1, found.margin, 10_000), (min(10, candidates or 10), found.margin_tied, 10_000)]
    for leaders, lead, base in figures:
        if lead is None:
            assert chance(leaders, 10**6, base) < confidence
        else:
            assert chance(leaders, lead, base) >= confidence
            assert lead == 1 or chance(leaders, lead - 1, base) < confidence
    assert found.support is not None
    assert found.regret == pytest.approx(found.support * (1 - chance(1, found.support, 0)), abs=1e-9)


@pytest.mark.full
def test_ranks_beyond_those_looked_at_change_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = LargeMargin(0.3, 1e-3)
    few = prospects(mechanism, CONFIDENCE)
    monkeypatch.setattr(search, "_LARGE_RANKS", 10_000)
    all_of_them = prospects.__wrapped__(mechanism, CONFIDENCE)
    assert few.support == all_of_them.support
    assert 0 <= few.margin_tied - all_of_them.margin_tied <= 1  # type: ignore[operator]


@pytest.mark.parametrize("neighbors", ["replace-one", AR])
@pytest.mark.parametrize("kind", [LargeMargin, TightMargin])
def test_figures_below_the_least_epsilon_are_scaled_upwards(
    kind: Any, neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = kind(0.05, 1e-6, neighbors, max_rank=50)
    scaled = prospects(mechanism, CONFIDENCE)
    monkeypatch.setattr(search, "_LEAST_EPSILON", 0.01)
    exact = prospects.__wrapped__(mechanism, CONFIDENCE)
    for name in ("support", "margin", "margin_tied"):
        assert 1 <= getattr(scaled, name) / getattr(exact, name) <= 1.01


def test_every_mechanism_is_planned_and_one_recommended() -> None:
    found = plan(units=100_000, **EVERYTHING)
    assert [mechanism.name for mechanism in found.mechanisms] == NAMES
    for mechanism in found.mechanisms:
        assert mechanism.feasible is True
        assert mechanism.missing == ()
        assert mechanism.required_support is not None
        assert mechanism.required_share == mechanism.required_support / 1000
    assert found.recommended in NAMES
    assert found.recommended in found.reason
    assert "95 %" in found.reason
    assert "100,000 units" in found.reason


def test_what_is_not_known_is_missing() -> None:
    found = plan(units=1000, max_rank=100)
    for name in ("exponential", "permute-and-flip", "max-of-laplaces", "choosing"):
        mechanism = of(found, name)
        assert mechanism.required_support is mechanism.required_margin is mechanism.expected_regret is None
        assert mechanism.feasible is False
        assert mechanism.missing == mechanism.needs
    assert of(found, "exponential").needs == ("catalogue of all items",)
    assert of(found, "choosing").needs == ("cap on basket size",)
    assert of(found, "limited-domain").needs == ("public rank cap",)
    assert of(found, "distance").needs == of(found, "large-margin").needs == ()
    assert found.recommended == "limited-domain"


def test_caps_on_baskets_bound_the_itemsets_of_a_unit() -> None:
    one = of(plan(max_basket=50, max_rank=100), "choosing")
    many = of(plan(max_basket=50, max_baskets=1000, max_rank=100), "choosing")
    assert many.needs == ("cap on basket size", "cap on baskets per unit")
    assert one.required_support < many.required_support  # type: ignore[operator]
    # 3 itemsets a unit are fewer than 100 ranks.
    capped = of(plan(max_basket=3, max_rank=100), "limited-domain")
    assert capped.required_support < of(plan(max_rank=100), "limited-domain").required_support  # type: ignore[operator]
    assert capped.needs == ("public rank cap", "cap on basket size")


def test_distance_never_finds_one_of_several() -> None:
    assert of(plan(max_rank=100), "distance").required_margin_tied is None


def test_too_few_units_are_told_plainly() -> None:
    for neighbors, units, enough, epsilon in (("add-remove", 15, 25, 2), ("replace-one", 20, 51, 4)):
        found = plan(units=units, max_rank=1000, neighbors=neighbors)
        assert not any(mechanism.feasible for mechanism in found.mechanisms)
        assert found.reason.startswith(f"None will do: {units} units are too few")
        assert f"more units: {enough}" in found.reason
        assert f"a larger epsilon: {epsilon} would do" in found.reason
    assert "epsilon" not in plan(units=1, delta=1e-299, epsilon=6, max_rank=10).reason


def test_a_mechanism_that_the_units_suffice_for_comes_first() -> None:
    # The lead that distance asks for is the least, but ten that are tied are none.
    for neighbors, few, enough in (("add-remove", 20, 30), ("replace-one", 40, 60)):
        found = plan(units=few, max_rank=1000, neighbors=neighbors)
        assert found.recommended == "distance"
        assert "none is found" in found.reason
        assert plan(units=enough, max_rank=1000, neighbors=neighbors).recommended == "limited-domain"


@pytest.mark.full
def test_the_least_epsilon_is_planned_for() -> None:
    found = plan(epsilon=1e-9)
    assert {m.name for m in found.mechanisms if m.required_support is not None} == {
        m.name for m in plan().mechanisms if m.required_support is not None
    }


def test_the_json_form() -> None:
    found = json.loads(json.dumps(plan(units=np.int64(1000), **EVERYTHING).to_dict()))  # type: ignore[call-overload]
    of_customers = {"user_items", "top", "union"}
    asked = {*inspect.signature(plan).parameters} - of_customers
    assert set(found) == {*asked, "mechanisms", "recommended", "reason"}
    assert [mechanism["name"] for mechanism in found["mechanisms"]] == NAMES
    for mechanism in found["mechanisms"]:
        assert list(mechanism) == [
            "name",
            "required_support",
            "required_share",
            "required_margin",
            "required_margin_tied",
            "expected_regret",
            "feasible",
            "needs",
            "missing",
        ]
        assert isinstance(mechanism["needs"], list)
    assert found["neighbors"] == "add-remove"


def test_the_data_frame() -> None:
    frame = plan(max_rank=10).to_pandas()
    assert list(frame["name"]) == NAMES


def test_one_candidate_is_always_found() -> None:
    found = of(plan(size=2, universe_size=2, max_rank=10), "exponential")
    assert (found.required_support, found.required_margin, found.required_margin_tied) == (1, 1, 1)


@pytest.mark.parametrize("universe_size", [10**30, 10**200])
def test_a_universe_of_any_size(universe_size: int) -> None:
    found = plan(size=2, universe_size=universe_size, max_rank=10)
    supports = [of(found, name).required_support for name in ("permute-and-flip", "exponential", "max-of-laplaces")]
    least, middle, highest = (support or 0 for support in supports)
    assert 0 < least <= middle <= highest <= 1.02 * middle + 6


@settings(max_examples=25)
@given(
    epsilon=st.floats(1e-3, 50),
    factor=st.floats(1, 10),
    delta=st.floats(1e-12, 0.1),
    confidence=st.floats(0.3, 0.9),
    neighbors=st.sampled_from(["replace-one", AR]),
)
@pytest.mark.full
def test_more_privacy_and_more_confidence_take_more(
    epsilon: float, factor: float, delta: float, confidence: float, neighbors: str
) -> None:
    given_ = {"neighbors": neighbors, **EVERYTHING, "max_rank": 3}
    base = plan(epsilon=epsilon * factor, delta=delta, confidence=confidence, **given_)
    for harder in (
        plan(epsilon=epsilon, delta=delta, confidence=confidence, **given_),
        plan(epsilon=epsilon * factor, delta=delta / factor, confidence=confidence, **given_),
        plan(epsilon=epsilon * factor, delta=delta, confidence=min(confidence * factor, 0.95), **given_),
    ):
        for easy, hard in zip(base.mechanisms, harder.mechanisms, strict=True):
            assert easy.required_support <= hard.required_support  # type: ignore[operator]
            assert easy.required_margin <= hard.required_margin  # type: ignore[operator]


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(2e-9, 1e-299), (1e-3, 1e-12), (1e-3, 0.5), (100.0, 1e-12), (1e9, 0.999)]
)
def test_far_parameters_of_a_plan_are_no_trouble(epsilon: float, delta: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = plan(epsilon=epsilon, delta=delta, **EVERYTHING)
    assert all(mechanism.required_support for mechanism in found.mechanisms)


def calls_of_a_plan(max_rank: int | None) -> int:
    prospects.cache_clear()
    calls = Counter[str]()
    sys.setprofile(lambda frame, event, argument: calls.update([event]))
    try:
        plan(units=100_000, universe_size=16_470, max_basket=50, max_rank=max_rank)
    finally:
        sys.setprofile(None)
    return calls["call"]


@pytest.mark.full
def test_a_plan_is_little_work() -> None:
    calls = calls_of_a_plan(None)
    assert 0 < calls < 10**6  # 450,000, in some 0.4 s: calls, because a busy machine changes only the seconds
    assert calls_of_a_plan(10**20) < 3 * calls


@pytest.mark.full
@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("mechanism", "confidence"),
    [
        (TightMargin(4.0, 1e-3, RO, max_rank=10**9), 0.5),
        (TightMargin(4.0, 1e-6, AR, max_rank=10**6), CONFIDENCE),
        (TightMargin(20.0, 1e-9, RO, max_rank=10**12), 0.99),
    ],
)
def test_larger_groups_of_many_ranks_do_not_change_the_figures(
    mechanism: TightMargin, confidence: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    grouped = prospects.__wrapped__(mechanism, confidence)
    monkeypatch.setattr(search, "_MANY_RANKS", 10**30)
    exact = prospects.__wrapped__(mechanism, confidence)
    assert replace(grouped, regret=None) == replace(exact, regret=None)
    assert grouped.regret != exact.regret  # it was another way
    assert grouped.regret == pytest.approx(exact.regret, rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"units": 0}, "units must be a whole number of at least 1, not 0"),
        ({"size": None}, "size must be a whole number of at least 1, not None"),
        ({"size": 3, "universe_size": 2}, "universe_size has 2 items, too few for an itemset of size 3"),
        ({"size": 3, "max_basket": 2}, "max_basket must be at least the size 3, not 2"),
        ({"max_baskets": 5}, "max_baskets goes with max_basket: how many baskets of a unit count at most"),
        ({"max_rank": 10**400}, "max_rank must be at most 1e30 to be planned for"),
        ({"max_baskets": 0}, "max_baskets must be a whole number of at least 1, not 0"),
        ({"max_rank": 0}, "max_rank must be a whole number of at least 1, not 0"),
        ({"confidence": 1.0}, "confidence must be a number above 0 and below 1, not 1.0"),
        ({"confidence": "x"}, "confidence must be a number above 0 and below 1, not 'x'"),
        ({"confidence": float("nan")}, "confidence must be a number above 0 and below 1, not nan"),
        ({"epsilon": 0}, "epsilon must be a number above 0, not 0"),
        ({"delta": 1.0}, "delta must be 0 or a number above 0 and below 1, not 1.0"),
        ({"neighbors": "near"}, "neighbors must be one of replace-one, add-remove, not 'near'"),
    ],
)
def test_wrong_parameters(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        plan(**wrong)
    assert str(raised.value) == message


def test_a_grid_is_one_plan_for_each_epsilon() -> None:
    grid = plan_grid([0.5, 2], **EVERYTHING)
    assert grid == (plan(epsilon=0.5, **EVERYTHING), plan(epsilon=2, **EVERYTHING))
    with pytest.raises(ParameterError, match="epsilons must hold at least one"):
        plan_grid([])


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("units", [None, 1, 100_000])
def test_the_table(units: int | None, ascii_only: bool) -> None:
    found = plan(units=units, max_rank=100)
    text = render_plan(found, Screen(ascii_only=ascii_only))
    assert text.isascii() == ascii_only
    assert all(name in text for name in NAMES)
    assert f"* {found.recommended}" in text
    assert f"* {found.reason}\n" in text
    assert ("% of" in text) == (units is not None)
    assert "catalogue of all items (not given)" in text
    assert "\x1b" not in text
    assert "\x1b" in render_plan(found, Screen(colour=True, ascii_only=ascii_only))


def test_the_margin_in_the_documents_is_the_planners() -> None:
    root = Path(__file__).resolve().parents[2]
    one, two, tenth = (f"{prospects(LargeMargin(e, 1e-6), CONFIDENCE).margin:,}" for e in (1.0, 2.0, 0.1))
    documents = [root / "docs" / "privacy.md", root / "README.md"]
    privacy, readme = (" ".join(document.read_text(encoding="utf-8").split()) for document in documents)
    assert f"leads by {one} units at ε = 1, δ = 10⁻⁶ ({two} at ε = 2, {tenth} at ε = 0.1" in privacy
    assert f"`large-margin` needs {one}:" in readme


def test_the_table_of_the_documents_is_the_planners() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z-]+) \| \(ε, [δ0]\) \|[^|]*\|[^|]*\|(.*)\|$", text, flags=re.MULTILINE)
    assert [name for name, _ in rows] == list(NAMES)
    plans = {}
    for neighbors in ("add-remove", "replace-one"):
        for cap in (None, 50):
            found = plan(units=100_000, universe_size=16_470, max_basket=cap, neighbors=neighbors)
            plans[neighbors, cap] = {mechanism.name: mechanism for mechanism in found.mechanisms}
    for name, shown in rows:
        figures = []
        for neighbors in ("add-remove", "replace-one"):
            each = plans[neighbors, 50 if name == "choosing" else None][name]
            figures += [each.required_support, each.required_margin, each.required_margin_tied]
        assert [cell.strip() for cell in shown.split("|")] == ["never" if f is None else f"{f:,}" for f in figures]
