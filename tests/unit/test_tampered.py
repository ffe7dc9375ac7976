"""A saved release with one field changed: it means the same, or one line names the field."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import run
from released import SHOP

import fim_private as fim
from fim_private.errors import DataError, FimPrivateError
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.release.page import page
from fim_private.release.rules import rules_by_segment

WRONG: list[Any] = [
    None, True, -1, 0, 1.5, 10**400, "", "people", "\ud800", [], [1, 0], [None], [[1]], {},
    {"a": {}},
]  # fmt: skip
Place = tuple[str | int, ...]


def releases() -> dict[str, Any]:
    """Return releases that have every field of the schema between them."""
    items = [(n, item) for n in range(1400) for item in ("tea", "milk")]
    rows = [(n, n % 700, item, f"2026-11-{16 + n % 14:02}") for n, item in items]
    sales = pd.DataFrame(rows, columns=["order", "customer", "item", "day"])
    alone: dict[str, Any] = {"size": 2, "top": 1, "supports": False}
    known = fim.mine(SHOP, **alone, epsilon=5, seed=3)
    by_user: Any = {"basket": "order", "item": "item", "user": "customer", "missing_user": "drop"}
    by_time: dict[str, Any] = {"basket": "order", "item": "item", "time": "day", "period": "week"}
    return {
        "rules": fim.mine(SHOP, size="1-2", top=3, rules=True, epsilon=5, seed=1, known=known),
        "least support": fim.mine(SHOP, size=2, min_support=0.05, rho=0.5, exclude=["jam"], seed=1),
        "an exact number": fim.mine(SHOP, top=2, neighbors="replace-one", supports=True, seed=1),
        "one": fim.mine(SHOP, catalogue=["bread", "butter"], delta=0, seed=1, **alone),
        "counted": fim.count(SHOP, [["bread"], ["bread", "tea"]], epsilon=2, seed=1),
        "nothing": fim.mine(SHOP, **alone, epsilon=0.001, seed=1),
        "users": fim.mine(sales, **alone, epsilon=2, per="month", time="day", seed=1, **by_user),
        "periods": fim.mine(sales, **alone, periods="2026-W47..2026-W48", seed=1, **by_time),
    }


def places(values: Any, at: Place = ()) -> Iterator[Place]:
    """Yield where each field is, and each place of a list: of long lists the first two."""
    if at:
        yield at
    inside: Any = values.items() if isinstance(values, dict) else ()
    if isinstance(values, list):
        inside = [*enumerate(values)][:2]
    for key, value in inside:
        yield from places(value, (*at, key))


def with_value(values: Any, at: Place, value: Any, *, gone: bool = False) -> Any:
    changed = copy.deepcopy(values)
    whole = changed
    for key in at[:-1]:
        whole = whole[key]
    if gone:
        del whole[at[-1]]
    else:
        whole[at[-1]] = value
    return changed


def use(release: Any) -> None:
    """Ask for all that is made of a release."""
    repr(release)
    render_table(release, Screen())
    release.to_csv(), release.to_svg(), release.to_arrow(), release.to_markdown()
    page(release, rules_by_segment(release) if release.with_parts else None)
    whole = isinstance(release, fim.Release) and release.has_shares
    if whole:
        fim.changes(release, release, keep_all=True)


def outcome(path: Path, values: Any) -> str:
    """Return "" for a file that is a release, and the line that refuses it."""
    path.write_text(json.dumps(values))
    try:
        use(fim.load(path))
    except DataError as error:
        return str(error)
    except FimPrivateError as error:
        raise AssertionError(f"a file that was loaded cannot be used: {error}") from error
    return ""


def tampered(values: Any, step: int) -> Iterator[tuple[Place, Any]]:
    """Yield changes: of each field that it is gone, and each wrong value that it is not."""
    every = [(at, value) for at in places(values) for value in [..., *WRONG]]
    yield from every[::step]


def check(path: Path, values: Any, step: int) -> int:
    assert outcome(path, values) == ""
    refused = 0
    for at, value in tampered(values, step):
        said = outcome(path, with_value(values, at, value, gone=value is ...))
        if said:
            refused += 1
            assert said.isprintable()
            assert 'field "' in said or at == ("schema",), (at, value, said)
    return refused


@pytest.mark.full
def test_each_field_in_each_wrong_way(tmp_path: Path) -> None:
    for name, release in releases().items():
        assert check(tmp_path / "a.json", release.to_dict(whole=True), 1) > 100, name


def test_some_fields_in_some_wrong_ways(tmp_path: Path) -> None:
    release = fim.mine(SHOP, size="1-2", top=2, rules=True, epsilon=5, seed=1)
    assert check(tmp_path / "a.json", release.to_dict(whole=True), 23) > 30


# A step without sizes, but not without anything else.
STEP: Any = {"sizes": [], "fraction": 0.5, "epsilon": 1, "delta": 0, "rho": None}
SUPPORTS_STEP: Any = {"purpose": "supports", **STEP}
SUPPORTS: Any = {"size": 2, "top": 2, "supports": True, "count": True, "epsilon": 5, "seed": 1}


@pytest.mark.parametrize(
    ("at", "value", "field"),
    [
        (("privacy_unit",), "people", "privacy_unit"),
        (("itemsets",), {"items": ["a"]}, "itemsets"),
        (("itemsets", 1, "items"), ["butter", "bread"], "itemsets[1].items"),
        (("itemsets", 0, "items"), [], "itemsets[0].items"),
        (("itemsets", 0, "items"), ["a", "a"], "itemsets[0].items"),
        (("neighbors",), "add", "neighbors"),
        (("itemsets", 1, "support"), None, "itemsets[1].support"),
        (("itemsets", 1, "interval"), None, "itemsets[1].interval"),
        (("itemsets", 1, "interval"), ..., "itemsets[1].interval"),
        (("itemsets", 1, "share_interval"), ..., "itemsets[1].share_interval"),
        (("mechanism",), ..., "mechanism"),
        (("abstained",), True, "abstained"),
        (("schema",), True, "schema"),
        (("noise", "kind"), "none", "noise.kind"),
        (("noise", "parameter"), "1/0", "noise.parameter"),
        (("units_noise",), ..., "units_noise"),
        (("size",), "2-", None),
        (("size",), "4-2", "size"),
        (("epsilon",), 0, "epsilon"),
        (("shares",), [{"purpose": "selection", **STEP}, SUPPORTS_STEP], "shares[0].sizes"),
    ],
    ids=str,
)
@pytest.mark.every_case
def test_the_line_names_the_field(at: Place, value: Any, field: str | None, tmp_path: Path) -> None:
    values = RELEASE.to_dict(whole=True)
    said = outcome(tmp_path / "a.json", with_value(values, at, value, gone=value is ...))
    if field is None:
        assert said == ""
        return
    assert said.startswith(f'{str(tmp_path / "a.json")!r}: field "{field}" ')
    assert said.endswith("; load the file as it was saved")


RELEASE = fim.mine(SHOP, **SUPPORTS)


def test_every_reader_of_a_release_says_the_same(tmp_path: Path) -> None:
    RELEASE.save(tmp_path / "good.json")
    values = RELEASE.to_dict(whole=True) | {"privacy_unit": "people"}
    (tmp_path / "r.json").write_text(json.dumps(values))
    (tmp_path / "shop.dat").write_text("bread butter\n" * 50)
    line = "Error: 'r.json': field \"privacy_unit\" must be one of basket, user, not 'people'"
    asked = [
        ("show", "r.json"),
        ("report", "r.json", "--output", "page.html"),
        ("report", "good.json", "r.json", "--output", "page.html"),
        ("changes", "good.json", "r.json"),
        ("changes", "r.json", "--between", "a,b"),
        ("count", "shop.dat", "--itemsets", "r.json"),
        ("mine", "shop.dat", "--known", "r.json"),
        ("mine", "shop.dat", "--catalogue", "r.json"),
    ]
    for arguments in asked:
        done = run(tmp_path, *arguments)
        assert done.returncode == 2, arguments
        assert done.stderr.splitlines()[-1].startswith(line), (arguments, done.stderr)
    assert not (tmp_path / "page.html").exists()


def test_segments_whose_releases_contradict_each_other(tmp_path: Path) -> None:
    rows = [(n, item, "AB"[n % 2]) for n in range(1400) for item in ("tea", "milk")]
    sales = pd.DataFrame(rows, columns=["order", "item", "store"])
    asked: Any = {"basket": "order", "item": "item", "by": "store", "segments": ["A", "B"]}
    both = fim.mine(sales, supports=True, seed=1, **asked)
    values = both.to_dict(whole=True)
    assert outcome(tmp_path / "a.json", values) == ""
    changes: list[tuple[Place, Any, str]] = [
        (("releases", 1, "neighbors"), "replace-one", "releases[1].neighbors"),
        (("releases", 1, "segment"), "A", "segments"),
        (("releases", 0, "itemsets", 0, "support"), None, "releases[0].itemsets[0].support"),
        (("releases",), [], "releases"),
        (("segments",), ["A"], "segments"),
    ]
    for at, value, field in changes:
        said = outcome(tmp_path / "a.json", with_value(values, at, value, gone=value is ...))
        assert f'field "{field}' in said, said
