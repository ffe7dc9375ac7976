"""The registry: what it says of a mechanism is what the mechanism is."""

import re
from pathlib import Path
from typing import Any

import pytest

from fim_private import mechanisms
from fim_private.dp.cost import PrivacyCost
from fim_private.errors import ParameterError
from fim_private.mechanisms import registry
from fim_private.mechanisms.base import PublicParameters
from fim_private.mechanisms.registry import REGISTRY, BasketCap, MechanismSpec, RankCap

DOCS = Path(__file__).parents[2] / "docs"
SINGLE = [spec for spec in REGISTRY if not spec.composed]


@pytest.mark.parametrize("spec", SINGLE, ids=lambda spec: spec.name)
def test_what_it_says_is_so(spec: MechanismSpec) -> None:
    asked = registry.spec_named(spec.asked_as or spec.name)
    candidates = None if spec.universe is registry.UniverseNeed.UNKNOWN else 28
    known = candidates, spec.universe is registry.UniverseNeed.LISTED
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


def test_what_is_not_public_is_asked_for() -> None:
    nothing = PublicParameters((2,), 1, "replace-one")
    counted = PublicParameters((2,), 1, "replace-one", 28)
    for name in ("permute-and-flip", "max-of-laplaces"):
        for public in (nothing, counted):
            with pytest.raises(ParameterError, match=f"the {name} mechanism needs a catalogue"):
                registry.build(registry.spec_named(name), 1, 1e-3, public)
    with pytest.raises(ParameterError, match="needs a public item universe: give a catalogue"):
        registry.build(registry.spec_named("exponential"), 1, 1e-3, nothing)
    named = registry.build(registry.spec_named("exponential"), 1, 1e-3, counted)
    assert type(named) is mechanisms.NamedExponential
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
    singles = registry.single().values()
    written = [[s.name, "(ε, δ)" if s.spends_delta else "(ε, 0)", s.theorem] for s in singles]
    assert [row[:3] for row in rows[2:]] == written
