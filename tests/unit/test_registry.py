"""The registry: what it says of a mechanism is what the mechanism is, and one entry is all that a
new one takes.
"""

from __future__ import annotations

import json
import re
import sys
import types
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

import fim_private as fim
from fim_private import mechanisms
from fim_private.auditing.audit import audit, auditable
from fim_private.cli.parsing import registry_words
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.neighbors import Neighbors
from fim_private.errors import ParameterError
from fim_private.mechanisms import registry
from fim_private.mechanisms.base import PublicParameters
from fim_private.mechanisms.exponential import (
    AbstentionWeight,
    Candidate,
    ExponentialWeights,
    named,
    top,
)
from fim_private.mechanisms.registry import (
    REGISTRY,
    BasketCap,
    LineStyle,
    MechanismSpec,
    RankCap,
    UniverseNeed,
)
from fim_private.output.figures import draw_plan_figure
from fim_private.planning.plan import plan, plan_grid
from fim_private.spectrum import SupportSpectrum

DOCS = Path(__file__).parents[2] / "docs"
SINGLE = [spec for spec in REGISTRY if not spec.composed]


@pytest.mark.parametrize("spec", SINGLE, ids=lambda spec: spec.name)
def test_what_it_says_is_so(spec: MechanismSpec) -> None:
    asked = registry.spec_named(spec.asked_as or spec.name)
    candidates = None if spec.universe is UniverseNeed.UNKNOWN else 28
    known = candidates, spec.universe is UniverseNeed.LISTED
    public = PublicParameters((2,), 1, "add-remove", *known, max_rank=7, max_basket=5)
    built = registry.build(asked, 0.5, 1e-3, public)
    assert type(built) is spec.mechanism
    assert registry.spec_of(built) is spec
    assert built.neighbors == "add-remove"
    assert built.cost == PrivacyCost(0.5, 1e-3 if spec.spends_delta else 0)
    assert built.cost.delta == built.delta
    assert hasattr(built, "max_rank") == (spec.rank_cap is not RankCap.NONE)
    assert hasattr(built, "max_itemsets") == (spec.basket_cap is not BasketCap.NONE)
    assert spec.bounded_range == vars(spec.mechanism).get("bounded_range")
    assert getattr(mechanisms, spec.mechanism.__name__) is spec.mechanism
    text = (DOCS / "privacy.md").read_text(encoding="utf-8")
    for number in spec.theorem.split(", "):
        assert re.search(rf"\*\*Theorem {number}[ .*]", text), f"{spec.name}: Theorem {number}"
    if spec.bounded_range:
        assert f"**{spec.bounded_range}" in text


def test_names_classes_and_styles_are_each_somebody_s_own() -> None:
    for each in ("name", "home", "style"):
        values = [getattr(spec, each) for spec in REGISTRY]
        assert len({*values}) == len(values), each
    typed = (
        "large-margin tight-margin exponential permute-and-flip max-of-laplaces "
        "limited-domain choosing distance"
    )
    assert {*typed.split(), "levelwise"} <= {*registry.MECHANISMS}  # that people have typed


def test_what_is_not_public_is_asked_for() -> None:
    nothing = PublicParameters((2,), 1, "replace-one")
    counted = PublicParameters((2,), 1, "replace-one", 28)
    for name in ("permute-and-flip", "max-of-laplaces"):
        for public in (nothing, counted):
            with pytest.raises(ParameterError, match=f"the {name} mechanism needs a catalogue"):
                registry.build(registry.spec_named(name), 1, 1e-3, public)
    with pytest.raises(
        ParameterError, match=("needs a public item universe: give a catalogue or universe_size")
    ):
        registry.build(registry.spec_named("exponential"), 1, 1e-3, nothing)
    assert (
        type(registry.build(registry.spec_named("exponential"), 1, 1e-3, counted))
        is mechanisms.NamedExponential
    )
    with pytest.raises(ParameterError, match="mechanism must be one of large-margin, tight-margin"):
        registry.spec_named("named-exponential")
    stranger: Any = object()
    with pytest.raises(TypeError, match="object is not in the registry"):
        registry.spec_of(stranger)


def test_the_documents_table_is_the_registry_s() -> None:
    """docs/privacy.md, "What each mechanism needs": its first four columns."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")][:4]
        for line in (DOCS / "privacy.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and line.count("|") == 11
    ]
    assert rows[0] == ["mechanism", "guarantee", "theorem", "must know"]
    written = [
        [s.name, "(ε, δ)" if s.spends_delta else "(ε, 0)", s.theorem]
        for s in registry.single().values()
    ]
    assert [row[:3] for row in rows[2:]] == written


@dataclass(frozen=True)
class TopTen(ExponentialWeights):
    """A mechanism that is nowhere else: limited-domain with ten candidates."""

    bounded_range: ClassVar[str] = "Theorem 8"

    epsilon: float | Fraction
    delta: float | Fraction
    neighbors: str = Neighbors.REPLACE_ONE

    @classmethod
    def from_public(
        cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters
    ) -> Self:
        return cls(epsilon, delta, public.neighbors)

    @property
    def cost(self) -> PrivacyCost:
        return PrivacyCost(self.epsilon, self.delta)

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        levels, following = top(spectrum, 10)
        if spectrum.universe_size is not None and spectrum.universe_size <= 10:
            return named(levels)
        weight = AbstentionWeight(self.epsilon, self.delta, self.neighbors)
        return [
            *named(levels),
            weight.candidate(10, following, zeros_left_out=spectrum.universe_size is None),
        ]


@dataclass(frozen=True)
class Lighter(TopTen):
    """The same, broken: abstaining weighs a fiftieth."""

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        *levels, weight = super().candidates(spectrum)
        return [*levels, Candidate(weight.level, weight.support, weight.multiplicity // 50 or 1)]


@pytest.fixture
def top_ten(monkeypatch: pytest.MonkeyPatch) -> MechanismSpec:
    """An entry more, of a mechanism in a module of its own."""
    module = types.ModuleType("fim_private.mechanisms.top_ten")
    vars(module)["TopTen"] = TopTen
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for kind in (TopTen, Lighter):
        monkeypatch.setattr(kind, "__module__", module.__name__)
    spec = MechanismSpec(
        "top-ten",
        "top_ten.TopTen",
        "it chooses among the ten most frequent itemsets",
        theorem="6",
        spends_delta=True,
        style=LineStyle("#999999", "-", "."),
    )
    monkeypatch.setattr(registry, "REGISTRY", (*REGISTRY, spec))
    monkeypatch.setitem(registry.MECHANISMS, spec.name, spec)
    monkeypatch.setattr(mechanisms, "REGISTRY", (*REGISTRY, spec))
    return spec


@pytest.mark.full
def test_one_entry_makes_it_mined_composed_planned_drawn_and_audited(
    top_ten: MechanismSpec, tmp_path: Path
) -> None:
    assert mechanisms.TopTen is TopTen
    baskets = [["tea", "milk"]] * 300 + [["tea", "jam"]] * 200 + [["bread"]] * 30
    one = json.loads(fim.mine(baskets, mechanism="top-ten", seed=1).to_json())
    assert (one["mechanism"], one["itemsets"][0]["items"]) == ("top-ten", ["milk", "tea"])
    several = fim.mine(baskets, mechanism="top-ten", size="1-2", top=2, supports=True, seed=1)
    assert several.cost == PrivacyCost(1, 1e-6)
    assert len(several.itemsets) >= 3
    [planned] = [row for row in plan(units=1000).mechanisms if row.name == "top-ten"]
    assert (planned.feasible, planned.needs) == (True, ())
    assert planned.required_support is not None
    assert 20 < planned.required_support < 30
    draw_plan_figure(plan_grid([0.5, 1.0], units=1000), tmp_path / "plan.svg")
    assert "#999999" in (tmp_path / "plan.svg").read_text()
    for neighbors in Neighbors:
        [mechanism] = auditable("top-ten", 1.0, 1e-3, neighbors)
        report = audit(mechanism, trials=20)
        assert report.mechanism == "top-ten"
        assert report.holds
        assert [stage.name for stage in report.stages] == ["bounded range (Theorem 8)"]
        assert not audit(Lighter(1.0, 1e-3, neighbors), trials=20).holds
    with pytest.raises(ParameterError, match=r"leave out max_rank: only .* use it"):
        fim.mine(baskets, mechanism="top-ten", max_rank=3)
    assert "distance, levelwise, top-ten" in registry_words()["mechanisms"]
