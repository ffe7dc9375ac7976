"""What goes with an item that a person names."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run

import fim_private as fim
from fim_private.request.itemsets import GivenItemsets
from fim_private.run import outcome

BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "seed": 1}
# Of 4,000 baskets with tea 1,000 have nothing else.
ROWS: list[tuple[str, ...]] = [("tea", "milk")] * 2000 + [("tea", "sugar", "milk")] * 1000
ROWS += [("tea",)] * 1000 + [("jam", "toast")] * 5000 + [("salt",)] * 30


def items_of(release: fim.Release) -> list[set[Any]]:
    return [set(itemset.items or ()) for itemset in release]


def test_only_itemsets_with_the_item_come_out() -> None:
    release = fim.mine(ROWS, with_items=["tea"], size=2, top=2, **BUDGET)
    assert items_of(release) == [{"tea", "milk"}, {"tea", "sugar"}]
    assert release.title == "The 2 most frequent pairs with tea, by noisy support"
    assert "Only itemsets with tea were sought: a public choice." in release.rows_read
    for itemset, true in zip(release, (3000, 1000), strict=True):
        assert itemset.interval[0] <= true <= itemset.interval[1]
    triples = fim.mine(ROWS, with_items=("tea", "milk"), size=3, top=5, **BUDGET)
    assert items_of(triples) == [{"tea", "milk", "sugar"}]


def test_an_item_that_nobody_has_costs_and_says_the_same_as_one_that_few_have() -> None:
    asked: Any = {"size": 2, "top": 2, **BUDGET}
    rare, absent = (fim.mine(ROWS, with_items=[item], **asked) for item in ("salt", "caviar"))
    assert not rare
    assert not absent
    assert rare.cost == absent.cost
    assert rare.title.replace("salt", "caviar") == absent.title
    assert absent.title == "No pair with caviar was released: none stood out from the noise."


@pytest.mark.parametrize("forgets_some", [False, True])
def test_confidence_is_of_all_who_have_the_item(forgets_some: bool, monkeypatch: Any) -> None:
    if forgets_some:  # a mutant
        whole = vars(outcome)["supports_of"]

        def without_lone_owners(itemsets: GivenItemsets, *rest: Any) -> list[int]:
            lone = [1000 * (itemset == ("tea",)) for itemset in itemsets.itemsets]
            return [n - less for n, less in zip(whole(itemsets, *rest), lone, strict=True)]

        monkeypatch.setattr(outcome, "supports_of", without_lone_owners)
    release = fim.mine(ROWS, with_items="tea", top=2, rules=True, **BUDGET | {"epsilon": 50})
    parts = {itemset.items: itemset.support for itemset in release.parts}
    assert (parts[("tea",)] == pytest.approx(4000, abs=20)) is not forgets_some
    rules = release.rules(antecedent="tea")
    is_right = rules["confidence"].tolist() == pytest.approx([0.75, 0.25], abs=0.01)
    assert is_right is not forgets_some


def test_every_question_has_a_release_under_one_budget(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("tea\njam\n")
    each: Any = fim.mine(ROWS, with_each=tmp_path / "items.csv", top=1, supports=True, **BUDGET)
    assert [*each] == ["jam", "tea"]
    assert items_of(each["jam"]) == [{"jam", "toast"}]
    assert items_of(each["tea"]) == [{"tea", "milk"}]
    one: Any = fim.mine(ROWS, with_items=["tea"], top=1, supports=True, **BUDGET)
    assert each.cost == one.cost
    assert each["tea"].shares == one.shares
    # Supports have half of the share each, and so √2 times the noise.
    widths = each["tea"].noise.half_width, one.noise.half_width
    assert widths[0] / widths[1] == pytest.approx(2**0.5, rel=0.1)
    each.save(tmp_path / "each.json")
    loaded = fim.load(tmp_path / "each.json")
    assert loaded.to_dict() == each.to_dict()
    assert loaded.by_segment["tea"].scope.with_items == ("tea",)
    page = tmp_path / "page.html"
    fim.report(loaded, page)
    assert "With jam" in page.read_text()


def test_a_label_of_the_catalogue_names_the_item(tmp_path: Path) -> None:
    listed = "sku,name\ntea,Black tea\nmilk,Milk\nsugar,Sugar\njam,Jam\ntoast,Toast\n"
    (tmp_path / "products.csv").write_text(listed)
    names = {"catalogue_item": "sku", "catalogue_label": "name"}
    asked = {"catalogue": tmp_path / "products.csv", "size": 2, "top": 1, **names, **BUDGET}
    by_label = fim.mine(ROWS, with_items=["Black tea"], **asked)
    assert items_of(by_label) == [{"Black tea", "Milk"}]
    assert by_label.scope.with_items == ("Black tea",)
    assert by_label.to_dict() == fim.mine(ROWS, with_items=["tea"], **asked).to_dict()


def test_known_itemsets_with_the_item_have_their_supports() -> None:
    known = [("tea", "salt"), ("jam", "toast")]
    release = fim.mine(ROWS, with_items=["tea"], known=known, size=2, top=1, **BUDGET)
    assert [itemset.items for itemset in release.known] == [("salt", "tea")]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"with_items": ["tea", "milk"]}, "size counts the items of with_items too: it must be"),
        ({"with_items": ["tea"], "size": 1, "universe_size": 9}, "size counts the items of"),
        (
            {"with_items": ["tea", "jam"], "size": 1, "universe_size": 9},
            "size counts the items of with_items too: it must be at least 3",
        ),
        ({"with_each": ["tea"], "size": 1}, "size counts the items of with_each too"),
        ({"with_each": ["tea"], "mechanism": "distance"}, "^with_each goes with mechanism"),
        ({"with_each": ["ham"], "catalogue": ["tea", "jam"]}, "^with_each: 'ham' is not in"),
        ({"with_items": ["ham"], "catalogue": ["tea", "jam"]}, "'ham' is not in the catalogue"),
        ({"with_items": ["tea"], "exclude": ["tea"]}, "'tea' is not in the catalogue, or is left"),
        ({"with_items": ["tea"], "delta": 0, "catalogue": ["tea", "jam"]}, "levelwise, not"),
        ({"with_items": b"tea"}, "with_items must be an item or a list of items"),
        ({"with_items": True}, "with_items must be an item or a list of items, not True"),
        ({"with_items": ""}, "with_items must name an item: no purchase has '' as an item"),
        ({"with_items": ["tea", "NA"]}, "no purchase has 'NA' as an item"),
        ({"with_each": ["tea"], "with_items": ["jam"]}, "give with_each or with_items, not both"),
        ({"with_each": ["tea"], "known": [("tea", "jam")]}, "give with_each or known, not both"),
        ({"with_each": [*map(str, range(51))]}, "with_each must list at most 50 items"),
    ],
)
def test_what_does_not_go_together_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(fim.ParameterError, match=said):
        fim.mine(ROWS, **{"size": 2, "epsilon": 1, "delta": 1e-6} | asked)


def test_on_the_command_line_an_item_is_named_by_with(tmp_path: Path) -> None:
    lines = "\n".join(",".join(basket) for basket in ROWS)
    (tmp_path / "sales.csv").write_text(lines + "\n")
    asked = ("mine", "sales.csv", "--with", "tea", "--top", "2", "--output", "tea.json")
    done = run(tmp_path, *asked)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "tea.json").read_text())["with_items"] == ["tea"]
    shown = run(tmp_path, "show", "tea.json")
    assert "most frequent pairs with tea" in shown.stdout
    refused = run(tmp_path, "mine", "sales.csv", "--with", "tea", "--mechanism", "distance")
    assert refused.stderr == "Error: --with goes with --mechanism levelwise, not distance\n"


def test_a_plan_says_what_a_partner_needs_and_what_its_item() -> None:
    asked: dict[str, Any] = {"units": 4_000, "with_items": ["tea"], "top": 20}
    users = fim.plan(user_items=61, **asked)
    assert isinstance(users, fim.Plan)
    planned = users.best(20)
    assert planned.name == "levelwise"
    assert 60 < (planned.required_support or 0) < (planned.item_support or 0)
    assert "one of many itemsets of 2 with tea among 4,000 units" in users.title
    assert "users of 61 items" in users.title
    with pytest.raises(fim.ParameterError, match="with_items needs typical_basket, a guess of"):
        fim.plan(**asked)
    with pytest.raises(fim.ParameterError, match="size counts the items of with_items too"):
        fim.plan(typical_basket=8, size=1, **asked)
