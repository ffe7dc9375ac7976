"""Itemsets that are known from an earlier release."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run

import fim_private as fim

BUDGET: dict[str, Any] = {"size": 2, "epsilon": 1.0, "delta": 1e-6}
ROWS: list[tuple[str, ...]] = [*[("tea", "milk")] * 3000, *[("jam", "toast")] * 2000]
ROWS += [*[("salt", "pepper")] * 30, *[("oil",)] * 500]


def test_each_known_itemset_has_its_support_in_a_release() -> None:
    known = [("pepper", "salt"), ("milk", "tea"), ("ham", "eggs"), ("salt", "pepper", "vinegar")]
    found = fim.mine(ROWS, top=2, known=known, seed=1, **BUDGET)
    assert [set(one.items or ()) for one in found] == [{"tea", "milk"}, {"jam", "toast"}]
    assert {one.items for one in found.known} == {("pepper", "salt"), ("eggs", "ham")}
    for one, true in zip(found.known, (30, 0), strict=True):
        assert one.interval[0] <= true <= one.interval[1]
    assert found.mechanism == "levelwise"
    assert found.scope.known_from is not None
    assert "4 itemsets were known" in " ".join(found.rows_read)


def test_a_saved_release_is_known_on_the_command_line(tmp_path: Path) -> None:
    import pandas as pd

    rows = [(number, item) for number, basket in enumerate(ROWS) for item in basket]
    pd.DataFrame(rows, columns=["basket", "item"]).to_csv(tmp_path / "sales.csv", index=False)
    columns = ("--basket", "basket", "--item", "item", "--top", "2")
    first = run(tmp_path, "mine", "sales.csv", *columns, "--output", "week1.json")
    assert first.returncode == 0, first.stderr
    told = ("--known", "week1.json", "--output", "week2.json")
    done = run(tmp_path, "mine", "sales.csv", *columns, *told)
    assert done.returncode == 0, done.stderr
    values = json.loads((tmp_path / "week2.json").read_text())
    assert values["known_from"] == {"itemsets": 2, "source": "week1.json"}
    assert values["known"] == []
    loaded = fim.load(tmp_path / "week2.json")
    assert json.loads(loaded.to_json(whole=True)) == values
    changes = run(tmp_path, "changes", "week1.json", "week2.json")
    assert "of 2 itemsets changed" in changes.stdout


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"min_support": 5}, "known goes with top, not with min_support"),
        ({"mechanism": "limited-domain"}, "known goes with mechanism levelwise"),
        ({"exclude": ["tea"]}, "known has no itemset whose items may all be released"),
        ({"known": []}, "known must hold at least one itemset"),
        ({"known": ["tea"]}, "known: itemset 1 must be a collection of items, not str"),
        ({"known": "missing.json"}, "'missing.json' does not exist; check the path"),
    ],
)
def test_what_is_of_no_use_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(fim.FimPrivateError) as error:
        fim.mine(ROWS, seed=1, **{"known": [("tea", "milk")], **BUDGET, **asked})
    assert said in str(error.value)


def test_known_itemsets_of_a_list_and_of_numbers_that_are_texts() -> None:
    rows = [(1, 2)] * 3000 + [(3, 4)] * 2000
    found = fim.mine(rows, top=1, known=[("3", "4")], rules=True, seed=1, **BUDGET)
    assert [one.items for one in found.known] == [(3, 4)]
    assert found.known[0].support == pytest.approx(2000, abs=300)
    pairs, items = [("3", "4"), ("3", "9")], ["1", "2", "3", "4"]
    listed = fim.mine(rows, top=1, known=pairs, catalogue=items, seed=1, **BUDGET)
    assert [one.items for one in listed.known] == [(3, 4)]
    with_parts = fim.mine(rows, top=1, catalogue=items, rules=True, seed=1, **BUDGET)
    near = {(1,): pytest.approx(3000, abs=300), (2,): pytest.approx(3000, abs=300)}
    assert {one.items: one.support for one in with_parts.parts} == near
