"""A release as a file: loaded again it is the same, and what is no release is refused in one line."""

from __future__ import annotations

import json
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fim_private as fim
from fim_private.errors import DataError, OutputError, ParameterError
from fim_private.output import Screen, render_table
from fim_private.release.forms import INSIDE, KEYS, SEGMENTED_KEYS
from fim_private.release.rules import rules_json, rules_of
from fim_private.request.request import Scope

SHOP = [["bread", "butter", "jam"]] * 300 + [["bread", "butter"]] * 400 + [["tea"]] * 500 + [["bread", "tea"]] * 100
USERS = pa.table({"customer": [*range(600)] * 2, "items": [["bread", "butter"], [1, 2]][:1] * 1200})
ASKED: list[dict[str, Any]] = [
    {},
    {"mechanism": "large-margin"},
    {"top": 3, "supports": True, "neighbors": "replace-one"},
    {"top": 3, "size": "1-2", "union": True, "supports": True, "count": True},
    {"top": 3, "rules": True, "neighbors": "replace-one", "epsilon": 5},
    {"top": 3, "rules": True, "epsilon": 5},
    {"min_support": 0.05},
    {"min_support": 40, "keep_all": True},
    {"rho": 0.5, "supports": True},
    {"mechanism": "limited-domain", "max_basket": 2, "top": 4},
    {"mechanism": "exponential", "universe_size": 1000},
    {"mechanism": "exponential", "catalogue": ["bread", "tea", "=1"], "delta": 0, "supports": True, "top": 2},
    {"epsilon": 0.001},
]


def everything(release: fim.Release) -> tuple[Any, ...]:
    rules = rules_json(rules_of(release)) if release.with_parts else None
    table = render_table(release, Screen())
    told = [line for line in table.splitlines() if "fim.mine(" not in line]
    return release.to_dict(), str(release), told[0], told[-1], release.to_csv(), release.to_markdown(), rules


@pytest.mark.parametrize("suffix", [".json", ".parquet", ".PARQUET"])
@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.one_in(4)
def test_a_release_comes_back_as_it_was(asked: dict[str, Any], suffix: str, tmp_path: Path) -> None:
    by_user: dict[str, Any] = {"user": "customer", "missing_user": "drop"}
    for data, how in ((SHOP, {}), (USERS, by_user)):
        if "max_basket" in asked and how:
            continue
        release = fim.mine(data, **{"size": 2, **asked}, **how, seed=4)
        path = tmp_path / f"release{suffix}"
        release.save(path)
        assert everything(fim.load(path)) == everything(release)
        assert fim.load(path).itemsets == release.itemsets
        fim.load(str(path)).save(path)
        assert everything(fim.load(path)) == everything(release)


def test_all_that_is_written_is_in_the_schema() -> None:
    inside = {key for keys in INSIDE.values() for key in keys}
    assert {field.name for field in fields(Scope)} <= {*KEYS}
    sales = pa.table({"items": [["bread", "tea"]] * 900, "store": ["A", "B", "A"] * 300})
    both = fim.mine(sales, by="store", segments=["A", "B"], catalogue=["bread", "tea"], exclude=["jam"], seed=1)
    assert [*both.to_dict()] == [name for name in SEGMENTED_KEYS if name not in ("rho", "zcdp_delta", "ledger")]
    for release in (*both.values(), *(fim.mine(SHOP, **{"size": 2, **asked}, seed=4) for asked in ASKED)):
        values = release.to_dict(whole=True)
        assert [name for name in values if name != "saved"] == [name for name in KEYS if name in values]
        for name in ("itemsets", "parts", "shares", "noise", "units_noise", "catalogue", "saved"):
            found = values.get(name) or []
            assert {key for one in ([found] if isinstance(found, dict) else found) for key in one} <= inside


def test_a_parquet_file_has_the_itemsets_as_rows_and_all_else_as_metadata(tmp_path: Path) -> None:
    release = fim.mine(SHOP, size=2, top=3, supports=True, count=True, epsilon=5, seed=1)
    release.save(tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column_names == ["support", "itemsets", "lower", "upper", "share"]
    assert table.num_rows == len(release)
    values = json.loads(table.schema.metadata[b"fim_private"])
    assert values["epsilon"] == 5
    assert values["neighbors"] == "add-remove"


@pytest.mark.parametrize("name", ["a", "a.txt", "a.xlsx", "folder.json/"])
def test_forms_that_there_are_not(name: str, tmp_path: Path) -> None:
    release = fim.mine(SHOP, size=2, seed=1)
    if name.endswith("/"):
        (tmp_path / name).mkdir()
        with pytest.raises(OutputError, match="it is a folder"):
            release.save(tmp_path / name)
        return
    with pytest.raises(ParameterError, match=r"must end in \.json, \.parquet, \.csv, \.md or \.svg, not"):
        release.save(tmp_path / name)
    with pytest.raises(ParameterError, match="to the path of a file, not to a list"):
        release.save([])  # type: ignore[arg-type]
    assert not [*tmp_path.iterdir()]


def broken() -> dict[str, Any]:
    return fim.mine(SHOP, size=2, supports=True, seed=1).to_dict()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[]",
        "null",
        "\x00\xff",
        '{"schema": 1}',
        "[" * 100_000,
        *(json.dumps({**broken(), key: value}) for key, value in [
            ("size", "a"), ("itemsets", 5), ("itemsets", [5]), ("itemsets", [{"items": [[1]], "support": 1}]),
            ("epsilon", None), ("epsilon", "x"), ("noise", {"kind": "none", "parameter": "1", "half_width": 1}),
            ("noise", {"kind": "discrete-laplace", "parameter": "1/0", "half_width": 1}), ("shares", [1]),
        ]),
    ],
)  # fmt: skip
@pytest.mark.one_in(2)
def test_what_is_no_release(content: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"is no release: load what was saved|: field \".*\" .*; load") as caught:
        fim.load(path)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        fim.load(tmp_path / "a.json")
    with pytest.raises(DataError, match="cannot be read"):
        fim.load(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="from the path of a file, not from a list"):
        fim.load([])  # type: ignore[arg-type]
    pq.write_table(pa.table({"a": [1]}), tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 and nothing")
    for name in ("b.parquet", "c.parquet"):
        with pytest.raises(DataError, match="is no release"):
            fim.load(tmp_path / name)
    (tmp_path / "d.json").write_text(json.dumps({**broken(), "schema": 2}))
    with pytest.raises(DataError, match="has a release of schema 2; this version reads schema 1"):
        fim.load(tmp_path / "d.json")


OLD = (
    '{"schema": 1, "private": false, "mechanism": "levelwise", "size": 2, "top": 3, "epsilon": 1.0, "delta": 1e-06, '
    '"neighbors": "replace-one", "privacy_unit": "basket", "guarantee": "", "units": 1300, "abstained": false, '
    '"itemsets": [{"items": ["a", 1], "support": 700, "interval": [650, 750], "doubtful": false, "share": 0.538, '
    '"share_interval": [0.5, 0.58]}], "shares": [{"purpose": "items", "sizes": [2], "fraction": 0.85, "epsilon": null, '
    '"delta": null, "rho": null, "mu_squared": 0.04}, {"purpose": "supports", "sizes": [2], "fraction": 0.15, '
    '"epsilon": null, "delta": null, "rho": null, "mu_squared": 0.01}], "noise": {"kind": "rounded-normal", '
    '"parameter": "625/4", "half_width": 25}, "saved": {"advice": "To try", "shortfall": 3}}'
)


def test_a_file_of_an_earlier_version_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(OLD)
    release = fim.load(tmp_path / "old.json")
    assert (release.units, release.shortfall, release.size, release[{"a", 1}].support) == (1300, 3, 2, 700)
    assert release.share_interval_of(release[0]) == (0.5, 750 / 1300)
    assert release.shares[0].fraction == Fraction("0.85")
    assert release.to_dict()["noise"] == json.loads(OLD)["noise"]
    (tmp_path / "bomb.json").write_text(OLD.replace("625/4", "1e999999999"))  # which takes all memory
    with pytest.raises(DataError, match=r'field "noise\.parameter" must be a fraction above 0'):
        fim.load(tmp_path / "bomb.json")
