"""A release as a file: loaded again it is the same."""

import io
import json
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import python_calamine as calamine
from released import SHOP

import fim_private as fim
from fim_private.dp.charge import UNITS
from fim_private.dp.neighbors import Neighbors
from fim_private.errors import DataError, OutputError, ParameterError
from fim_private.options.outputs import ReleaseFormat
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.periods import PERIODS_A_YEAR
from fim_private.reading.options import MissingUser
from fim_private.release import files, forms
from fim_private.release.rules import rules_by_segment, rules_of
from fim_private.request.supports import NoiseKind

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
    {"mechanism": "exponential", "catalogue": ["bread", "tea", "=1"], "top": 2}
    | {"delta": 0, "supports": True},
    {"epsilon": 0.001},
]


def everything(release: fim.Release) -> tuple[Any, ...]:
    rules = rules_of(release).to_dict() if release.with_parts else None
    table = render_table(release, Screen())
    told = [line for line in table.splitlines() if "fim.mine(" not in line]
    forms = (release.to_dict(), str(release), release.to_csv(), release.to_markdown())
    return (*forms, told[0], told[-1], rules)


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
        for _ in range(2):
            loaded = fim.load(str(path))
            assert isinstance(loaded, fim.Release)
            assert everything(loaded) == everything(release)
            assert loaded.itemsets == release.itemsets
            loaded.save(path)


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_a_release_of_no_noisy_units_comes_back(suffix: str, tmp_path: Path) -> None:
    """As a period without baskets has in about every second release."""
    several = (fim.count([["bread"]], [["bread"]], delta=0, seed=seed) for seed in range(99))
    release = next(release for release in several if release.units == 0)
    release.save(tmp_path / f"r{suffix}")
    assert fim.load(tmp_path / f"r{suffix}").to_dict() == release.to_dict()


def test_a_parquet_file_has_the_itemsets_as_rows_and_all_else_as_metadata(tmp_path: Path) -> None:
    release = fim.mine(SHOP, size=2, top=3, supports=True, count=True, epsilon=5, seed=1)
    release.save(tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column_names == ["support", "itemsets", "lower", "upper", "share", "doubtful"]
    assert table.num_rows == len(release)
    values = json.loads(table.schema.metadata[b"fim_private"])
    assert values["epsilon"] == 5
    assert values["neighbors"] == "add-remove"


NAMES = ["=1+1", "+tea", "-milk", "@jam", "https://shop", "plain", "a" * 40_000]


def test_a_workbook_has_a_sheet_with_numbers_and_without_formulas(tmp_path: Path) -> None:
    items = [[name, 39, 2**60] for name in NAMES] * 300
    asked: Any = {"size": 1, "top": 9, "supports": True, "count": True, "epsilon": 9}
    release = fim.mine(items, delta=0.01, seed=1, **asked)
    release.save(tmp_path / "a.xlsx")
    release.save(tmp_path / "again.xlsx")
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "again.xlsx").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        assert "<f>" not in archive.read("xl/worksheets/sheet1.xml").decode()
    head, *rows = calamine.load_workbook(tmp_path / "a.xlsx").get_sheet_by_index(0).to_python()
    assert head == ["item_1", "support", "lower", "upper", "share", "doubtful"]
    assert [row[0] for row in rows[:2]] == [39, str(2**60)]
    assert {row[0] for row in rows[2:]} == {*NAMES[:-1], "a" * 32_767}
    assert [row[1:4] for row in rows] == [[one.support, *(one.interval or ())] for one in release]
    assert [row[5] for row in rows] == [one.doubtful for one in release]


def test_more_itemsets_asked_for_than_are_possible_stay_as_many(tmp_path: Path) -> None:
    release = fim.mine(SHOP, catalogue=["bread", "butter"], top=2, supports=True, seed=1)
    assert isinstance(release, fim.Release)
    assert (release.top, release.wanted) == (2, 1)
    release.save(tmp_path / "r.json")
    loaded = fim.load(tmp_path / "r.json")
    assert isinstance(loaded, fim.Release)
    assert (loaded.top, loaded.wanted, loaded.certainty) == (2, 1, release.certainty)


def test_a_workbook_of_segments(tmp_path: Path) -> None:
    sales = pa.table({"items": [["bread", "tea"]] * 900, "store": ["A", "B", "A"] * 300})
    fim.mine(sales, by="store", segments="A,B", top=2, epsilon=9, seed=1).save(tmp_path / "a.xlsx")
    rows = calamine.load_workbook(tmp_path / "a.xlsx").get_sheet_by_index(0).to_python()
    assert rows[0][:3] == ["segment", "item_1", "item_2"]
    assert [row[0] for row in rows[1:]] == ["A", "B"]


def test_tables_of_periods_name_them_as_periods() -> None:
    days = pa.array([f"2026-0{month}-01" for month in (1, 2)] * 450)
    sales = pa.table({"items": [["bread", "tea"]] * 900, "day": days})
    asked: dict[str, Any] = {"time": "day", "period": "month", "periods": "2026-01,2026-02"}
    release = fim.mine(sales, **asked, rules=True, top=1, epsilon=9, seed=1)
    csv = files.CONTENT[ReleaseFormat.CSV](release, rules_by_segment(release))
    assert str(csv).startswith("period,antecedent_1,consequent_1,")
    assert release.to_csv().startswith("period,item_1,item_2,")
    assert list(release.rules().columns[:2]) == ["period", "antecedents"]


def test_more_rows_than_a_sheet_has_go_on_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_SHEET_ROWS", 3)
    content = forms.workbook({"itemsets": [["a"], *([n] for n in range(5))], "none": [["b"]]})
    book = calamine.load_workbook(io.BytesIO(content))
    sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    assert sheets == {
        "itemsets": [["a"], [0], [1]],
        "itemsets 2": [["a"], [2], [3]],
        "itemsets 3": [["a"], [4]],
        "none": [["b"]],
    }


@pytest.mark.parametrize("name", ["a", "a.txt", "a.html", "folder.json/"])
def test_forms_that_there_are_not(name: str, tmp_path: Path) -> None:
    release = fim.mine(SHOP, size=2, seed=1)
    if name.endswith("/"):
        (tmp_path / name).mkdir()
        with pytest.raises(OutputError, match="it is a folder"):
            release.save(tmp_path / name)
        return
    with pytest.raises(ParameterError, match=r"must end in \.json, \.csv, \.xlsx, \.md, \.parquet"):
        release.save(tmp_path / name)
    with pytest.raises(ParameterError, match="to the path of a file, not to a list"):
        release.save([])  # type: ignore[arg-type]
    assert not [*tmp_path.iterdir()]


def broken() -> dict[str, Any]:
    return fim.mine(SHOP, size=2, supports=True, seed=1).to_dict()


def test_files_that_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the path of a release is empty; name a file"):
        fim.load("")
    with pytest.raises(DataError, match="does not exist; check the path"):
        fim.load(tmp_path / "a.json")
    with pytest.raises(DataError, match="does not exist; check the path"):
        fim.load(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="from the path of a file, not from a list"):
        fim.load([])  # type: ignore[arg-type]
    pq.write_table(pa.table({"a": [1]}), tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 and nothing")
    for name in ("b.parquet", "c.parquet"):
        with pytest.raises(DataError, match="is not a release"):
            fim.load(tmp_path / name)
    (tmp_path / "d.json").write_text(json.dumps({**broken(), "schema": 2}))
    with pytest.raises(DataError, match="has a release of schema 2; this version reads schema 1"):
        fim.load(tmp_path / "d.json")


# Its floats, and the advice that it saved, are those of an earlier version.
STEP = {"sizes": [2], "epsilon": None, "delta": None, "rho": None}
ITEMSET = {"items": ["a", 1], "support": 700, "interval": [650, 750], "doubtful": False}
OLD: dict[str, Any] = {
    **{"schema": 1, "private": False, "mechanism": "levelwise", "size": 2, "top": 3},
    **{"epsilon": 1.0, "delta": 1e-06, "neighbors": "replace-one", "privacy_unit": "basket"},
    **{"guarantee": "", "units": 1300, "abstained": False},
    "itemsets": [{**ITEMSET, "share": 0.538, "share_interval": [0.5, 0.58]}],
    "shares": [
        {"purpose": "items", "fraction": 0.85, "mu_squared": 0.04, **STEP},
        {"purpose": "supports", "fraction": 0.15, "mu_squared": 0.01, **STEP},
    ],
    "noise": {"kind": "rounded-normal", "parameter": "625/4", "half_width": 25},
    "saved": {"advice": "To try", "shortfall": 3},
}


def test_a_file_of_an_earlier_version_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(json.dumps(OLD))
    release = fim.load(tmp_path / "old.json")
    assert isinstance(release, fim.Release)
    assert (release.units, release.shortfall, release.size) == (1300, 3, 2)
    assert release[{"a", 1}].support == 700
    assert release.share_interval_of(release[0]) == (0.5, 750 / 1300)
    assert release.shares[0].fraction == Fraction("0.85")
    assert release.to_dict()["noise"] == OLD["noise"]
    # which takes all memory
    (tmp_path / "bomb.json").write_text(json.dumps(OLD).replace("625/4", "1e999999999"))
    with pytest.raises(DataError, match=r'field "noise\.parameter" must be of the type "fraction"'):
        fim.load(tmp_path / "bomb.json")


def test_the_schema_allows_what_the_package_writes_and_nothing_else() -> None:
    allowed = {
        "neighbors": Neighbors,
        "privacy_unit": UNITS,
        "per": PERIODS_A_YEAR,
        "missing_user": MissingUser,
        "kind": NoiseKind,
    }
    for name, texts in allowed.items():
        assert {*forms.CHOICES[name]} == {*map(str, texts)}, name
