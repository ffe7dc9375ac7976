"""draw_plan_figure: what is drawn, and that a file appears only on success."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from fim_private.errors import MissingExtraError, OutputError, ParameterError
from fim_private.mechanisms import registry
from fim_private.mechanisms.registry import BasketCap, UniverseNeed
from fim_private.output import draw_plan_figure, plan_curves
from fim_private.planning.plan import Plan, plan, plan_grid

GRID = plan_grid([2.0, 0.5, 1.0], units=100_000, max_rank=100)


def test_what_is_drawn() -> None:
    curves = plan_curves(GRID)
    able = {
        spec.name
        for spec in registry.single().values()
        if spec.universe is UniverseNeed.UNKNOWN and spec.basket_cap is not BasketCap.NEEDED
    }
    assert set(curves) == able
    assert [supports[0] for _, supports in curves.values()] == sorted((s[0] for _, s in curves.values()), reverse=True)
    for name, (epsilons, supports) in curves.items():
        assert epsilons == [0.5, 1.0, 2.0]
        for epsilon, support in zip(epsilons, supports, strict=True):
            planned = next(one for one in GRID if one.epsilon == epsilon)
            assert next(m for m in planned.mechanisms if m.name == name).required_support == support


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
@pytest.mark.one_in(3)
def test_the_file(tmp_path: Path, suffix: str, start: bytes) -> None:
    target = tmp_path / f"plan{suffix}"
    draw_plan_figure(GRID, target)
    first = target.read_bytes()
    assert first.startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    draw_plan_figure(list(GRID), str(target))
    assert target.read_bytes() == first


def test_without_units_and_for_one_epsilon(tmp_path: Path) -> None:
    draw_plan_figure([plan(max_rank=10, universe_size=100, max_basket=10)], tmp_path / "plan.PNG")
    assert (tmp_path / "plan.PNG").stat().st_size > 1000


@pytest.mark.parametrize(
    ("plans", "name", "message"),
    [
        (GRID, "plan.gif", "figure must be a name that ends in .png, .svg, .pdf, not"),
        ((), "plan.png", "plans must hold at least one"),
        ((*GRID, plan(size=3, max_rank=100)), "plan.png", "plans must differ in epsilon only"),
    ],
)
def test_what_cannot_be_drawn(tmp_path: Path, plans: tuple[Plan, ...], name: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        draw_plan_figure(plans, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r'^figures need matplotlib: pip install "fim-private\[figures\]"$'):
        draw_plan_figure(GRID, tmp_path / "plan.png")
    assert not list(tmp_path.iterdir())


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(OutputError, match=r"cannot write .*: it is a folder; give figure a file name"):
        draw_plan_figure(GRID, tmp_path / "folder.png")
