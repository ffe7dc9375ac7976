"""What a privacy officer has to know: a page, a statement and the registry's form say the same."""

import json
import math
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from commands import run
from real_data import REPOSITORY
from released import SHOP, Markup, mined

import fim_private as fim
from fim_private.dp.cost import Exact
from fim_private.errors import ParameterError
from fim_private.ledger.chain import hashed
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.release.officer import as_yaml, facts_of, registry_entry
from fim_private.release.page import changes_page, page

DATA = "datasets/corner_shop.parquet"
# The fields of the registry of deployments (OpenDP, schemas/deployments-schema.yaml).
FIELDS = {
    "basic": "name data_curators intended_use data_product_type data_product_region description "
    "publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details privacy_parameters "
    "privacy_parameters_details",
    "deployment_model": "model_name model_name_details actors release_type release_type_details "
    "data_source_type data_source_type_details access_type access_type_details",
    "accounting": "post_processing composition",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms justification",
    "administrative": "sources notes registry_authors",
}
VARIANTS = ("Pure DP", "Approximate DP", "Zero-concentrated DP")


def read_yaml(text: str) -> dict[str, Any]:
    """Return the mapping that as_yaml wrote: a scalar is one of JSON, but for a float's zeros."""
    top: dict[str, Any] = {}
    levels: list[Any] = [top]
    lines = text.splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        indent, name, scalar = re.fullmatch(r"( *)(-|[a-z_]+:)(.*)", line).groups()  # type: ignore[union-attr]
        inside = json.loads(scalar) if scalar else [] if after.strip().startswith("-") else {}
        level = levels[len(indent) // 2]
        if name == "-":
            level.append(inside)
        else:
            level[name[:-1]] = inside
        levels[len(indent) // 2 + 1 :] = [inside]
    return top


def test_page_statement_and_registry_say_the_same_of_a_release(tmp_path: Path) -> None:
    ledger, saved, html = (tmp_path / name for name in ("l.ledger", "r.json", "r.html"))
    assert run(REPOSITORY, "budget", "create", ledger, "--epsilon", 3, "--delta", "1e-5")
    asked = ("--user", "customer", "--top", 5, "--ledger", ledger, "--dataset", "shop")
    run(REPOSITORY, "mine", DATA, *asked, "--output", saved, "--report", html)
    said = run(REPOSITORY, "statement", saved, "--ledger", ledger)
    assert (said.returncode, said.stderr) == (0, "")
    sentences = re.findall("^(?:- |## )(.*)", said.stdout, re.MULTILINE)
    page_text = " ".join(Markup(html.read_text(encoding="utf-8")).text.split())
    for sentence in sentences:
        assert re.sub(r"\\(.)", r"\1", sentence) in page_text
    for word in (
        "A user is a customer, and is identified in the data by 'customer'.",
        "δ times the number of users should be 0.1 at most. For about ",
        "## What is not protected",
        "Released: ",
        " % of μ² for choosing the mechanism.",
        "Charged so far: 1 release.",
        "So far ε = ",
        "Left now: ρ = ",
    ):
        assert word in said.stdout
    target = tmp_path / "s.yaml"
    form = ("--format", "yaml", "--output", target)
    assert run(REPOSITORY, "statement", saved, "--ledger", ledger, *form).returncode == 0
    entry = read_yaml(target.read_text(encoding="utf-8"))
    assert (entry["status"], entry["tier"]) == ("Draft", 3)
    fields = {name: " ".join(inside) for name, inside in entry["deployment"].items()}
    assert fields == FIELDS
    loss = entry["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert "Charged so far: 1 release." in entry["deployment"]["accounting"]["composition"]
    other = tmp_path / "other.ledger"
    run(REPOSITORY, "budget", "create", other, "--epsilon", 3, "--delta", "1e-5")
    refused = run(REPOSITORY, "statement", saved, "--ledger", other)
    assert refused.returncode == 2
    assert "the release was not charged to" in refused.stderr


def test_a_statement_is_made_of_a_ledger_whose_entries_are_all_whole(tmp_path: Path) -> None:
    """Also of those between the first and the last, which nothing else reads again."""
    saved, path = tmp_path / "r.json", tmp_path / "sales.ledger"
    ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5)
    for _ in range(3):
        release = fim.count([["bread"]] * 9, [["bread"]], ledger=ledger, dataset="sales", delta=0)
    release.save(saved)
    cheap = ledger.entries[1].record().replace('"epsilon":"1"', '"epsilon":"0"')
    with sqlite3.connect(path) as connection:
        edit = "UPDATE entries SET record = ?, hash = ? WHERE number = 2"
        connection.execute(edit, (cheap, hashed(cheap)))
    connection.close()
    refused = run(REPOSITORY, "statement", saved, "--ledger", path)
    assert (refused.returncode, refused.stdout) == (3, "")


def test_the_statement_of_a_release_takes_the_ledger_that_it_was_charged_to(tmp_path: Path) -> None:
    """Not another with an entry of the same number, such as the one that followed it."""
    saved, ledger = tmp_path / "r.json", tmp_path / "sales.ledger"
    limit: Any = {"epsilon": 3, "delta": 1e-5, "dataset": "sales"}
    asked: Any = {"epsilon": 1, "delta": 0, "dataset": "sales"}
    for renew in (False, True):
        made = fim.Ledger.create(ledger, **limit, renew=renew)
        release = fim.count([["bread"]] * 9, [["bread"]], ledger=made, **asked)
        if not renew:
            release.save(saved)
    assert run(REPOSITORY, "statement", saved, "--ledger", f"{ledger}.1").returncode == 0
    refused = run(REPOSITORY, "statement", saved, "--ledger", ledger)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the release was not charged to" in refused.stderr


@pytest.mark.parametrize(
    ("asked", "variant"),
    [
        ({}, 1),
        ({"mechanism": "exponential", "catalogue": ["bread", "tea"], "delta": 0}, 0),
        ({"rho": 0.5, "epsilon": None}, 1),
        (
            {
                "mechanism": "exponential",
                "catalogue": ["bread", "tea"],
                "rho": 0.5,
                "epsilon": None,
            },
            2,
        ),
        ({"mechanism": "limited-domain", "top": 2, "supports": True}, 1),
        ({"mechanism": "limited-domain", "top": 1, "supports": False}, 1),
    ],
    ids=str,
)
def test_losses_are_as_asked_or_follow(asked: Any, variant: int, tmp_path: Path) -> None:
    release = replace(mined(**asked), private=True)
    release.save(tmp_path / "r.json")
    facts, loaded = facts_of(release), fim.load(tmp_path / "r.json")
    assert facts_of(loaded) == facts
    parameters = registry_entry(loaded, facts)["deployment"]["privacy_loss"]["privacy_parameters"]
    assert parameters["epsilon"] == release.epsilon
    chosen = registry_entry(release, facts)["deployment"]["dp_variant"]["variant_name"]
    assert chosen == VARIANTS[variant]
    said = " ".join(facts.spent)
    if release.zcdp is not None:
        assert "set as ρ = 0.5 (zero-concentrated differential privacy)." in said
        assert parameters["rho"] == 0.5
        return
    [rho] = map(float, re.findall(r"ρ-zCDP with ρ = ([\d.]+\d)", said))
    assert rho <= 1.01 * release.epsilon**2 / 2
    if release.mechanism == "levelwise":
        [mu] = map(float, re.findall(r"μ-GDP with μ = ([\d.]+\d)", said))
        exact = math.sqrt(sum(step.mu_squared or 0 for step in release.shares))
        assert exact <= mu <= 1.01 * exact
        assert mu**2 / 2 <= 1.02 * rho


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "No catalogue was given"),
        ({}, "Rare products are mostly left out."),
        ({}, "The number of rows that were skipped"),
        ({"catalogue": ["bread", "tea"]}, "The catalogue: the list of items was given as public."),
        ({"items_are_public": True, "mechanism": "exponential"}, "The names of all items"),
        ({"neighbors": "replace-one"}, "The exact number of baskets."),
    ],
    ids=str,
)
def test_what_is_not_protected_is_named(asked: dict[str, Any], sentence: str) -> None:
    said = " ".join(facts_of(mined(**asked)).unprotected)
    assert sentence in said
    assert ("The exact number of baskets." in said) == ("neighbors" in asked)


def test_itemsets_that_were_given_do_not_come_from_the_data() -> None:
    said = " ".join(facts_of(fim.count(SHOP, [["bread"], ["tea"]], seed=1)).unprotected)
    assert "Which itemsets were counted: they were given, and taken to be public." in said
    assert "come from the data" not in said
    assert "Rare products" not in said


def test_levels_of_groups_have_a_public_catalogue() -> None:
    items = {"item": ["bread", "butter", "jam", "tea"], "kind": ["food", "food", "food", "drink"]}
    asked: dict[str, Any] = {
        "catalogue_item": "item",
        "group": ["kind", "store"],
        "size": 1,
        "top": 1,
        "seed": 1,
    }
    release = fim.mine(SHOP, catalogue=pa.table({**items, "store": ["A"] * 4}), **asked)
    unprotected = facts_of(release).unprotected
    assert "The catalogue: the list of items was given as public." in unprotected
    assert "No catalogue was given" not in " ".join(unprotected)


def test_the_condition_and_the_steps_are_named(tmp_path: Path) -> None:
    by_store = tmp_path / "sales.csv"
    rows = [f"u{n},{n},{item},{n % 2}" for n in range(900) for item in ("tea", "jam")]
    by_store.write_text("\n".join(["user,basket,item,store", *rows]), encoding="utf-8")
    asked: dict[str, Any] = {"user": "user", "basket": "basket", "item": "item", "top": 1}
    release = fim.mine(by_store, **asked, where="store = 1")
    facts = facts_of(release)
    assert "The condition: rows where store = 1. It is public." in facts.unprotected
    assert facts.unit[1] == "A user is a customer, and is identified in the data by 'user'."
    assert f"by fim-private {fim.__version__};" in facts.versions[0]
    assert sum(float(step.split()[0]) for step in facts.steps) == pytest.approx(100, abs=0.3)
    assert all(" % of ε for " in step for step in facts.steps)
    stores = fim.mine(by_store, **asked, by="store", segments=["0", "1"], supports=True)
    facts = facts_of(stores)
    together = "Each of the releases that were made together"
    assert together in facts.steps[0]
    of_times: dict[str, Any] = {"time": "day", "top": 1}
    days = [(n, item, f"2026-11-{1 + n % 20:02}") for n in range(900) for item in ("tea", "jam")]
    sold = pd.DataFrame(days, columns=["basket", "item", "day"])
    shop: dict[str, Any] = {"basket": "basket", "item": "item", **of_times}
    assert together not in facts_of(fim.mine(sold, **shop, period="2026-11")).steps[0]
    weeks = fim.mine(sold, **shop, period="week", periods="2026-W45..2026-W46", supports=True)
    assert together in facts_of(weeks).steps[0]
    assert "The release does not have that number." in facts.spent[-1]
    assert facts.released[0] == "Released: 2 itemsets."


def test_steps_that_differ_are_not_called_one_step() -> None:
    items = pa.table({"sku": ["a", "b", "c", "d"], "kind": [*"xxyz"], "sort": [*"vvww"]})
    listed: dict[str, Any] = {"catalogue": items, "catalogue_item": "sku"}
    asked: dict[str, Any] = {"size": 1, "mechanism": "exponential", "seed": 1}
    levels: Any = fim.mine([["a", "c"]] * 50, group=["kind", "sort"], **asked, **listed)
    kinds, sorts = levels.releases
    assert kinds.shares != sorts.shares
    [sentence] = facts_of(levels).steps
    assert sentence.endswith("do not have the same steps: see each of them.")


@pytest.mark.every_case
@pytest.mark.parametrize(("least", "named"), [(3, "3 baskets"), ("1 %", "1 % of all baskets")])
def test_a_least_support_is_said_of_noisy_supports(least: Any, named: str) -> None:
    """Some that come out have less."""
    said = facts_of(fim.mine([["tea"]] * 500, size=1, min_support=least, seed=1)).released
    assert (
        f"Each itemset has a noisy support of at least {named}. The true one may be smaller."
        in said
    )


@pytest.mark.parametrize(
    ("delta", "units", "said"),
    [
        (1e-6, 100_000, "For 100,000 of them it is 0.1: δ is small enough."),
        (1e-6, 100_001, "For 100,001 of them it is 0.101: δ is TOO LARGE."),
        (0, 5, None),
    ],
)
def test_delta_is_held_against_the_number_of_units(delta: float, units: int, said: Any) -> None:
    public = {"mechanism": "exponential", "catalogue": ["bread", "tea"], "delta": delta}
    release = replace(mined(**public, neighbors="replace-one"), units=units)
    release = replace(release, cost=replace(release.cost, delta=Exact(delta)))
    sizes = [sentence for sentence in facts_of(release).spent if "δ times" in sentence]
    rule = "δ times the number of baskets should be 0.1 at most."
    assert sizes == ([] if said is None else [f"{rule} {said}"])


@pytest.mark.parametrize(
    ("units", "said"),
    [
        (20_000, "For 20,000 to 60,000 of them it is 0.02 to 0.06: δ is small enough."),
        (40_000, "For 40,000 to 120,000 of them it is 0.04 to 0.12: δ may be TOO LARGE."),
        (100_001, "For 100,001 to 300,003 of them it is 0.101 to 0.301: δ is TOO LARGE."),
        (None, "The release does not have that number."),
    ],
)
def test_delta_is_held_against_the_units_of_several_periods(units: Any, said: str) -> None:
    """Who buys in one month may be the one who buys in another."""
    asked: dict[str, Any] = {"user": "customer", "time": "date", "top": 1, "seed": 1}
    months = fim.mine(REPOSITORY / DATA, **asked, period="month", periods="2025-01..2025-03")
    releases = tuple(
        replace(month, units=units, units_noise=None, units_interval=None)
        for month in months.releases
    )
    rule = "δ times the number of users should be 0.1 at most."
    assert facts_of(replace(months, releases=releases)).spent[-1] == f"{rule} {said}"


def test_a_release_with_a_seed_has_no_place_in_a_registry() -> None:
    release = fim.mine(SHOP, size=2, seed=1)
    assert "This page protects nobody" in page(release)
    with pytest.raises(ParameterError, match="made with a seed"):
        registry_entry(release, facts_of(release))


def test_yaml_is_plain_where_names_are_not() -> None:
    values = {"a": ['" \u2028 # :', "x\ny"], "b": {"c": 1e-300, "d": 3}}
    assert as_yaml(values) == (
        'a:\n  - "\\" \\\\u2028 # :"\n  - "x\\\\ny"\nb:\n  c: 1.0e-300\n  d: 3\n'
    )


def test_a_statement_calls_the_unit_by_one_name(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"user": "customer", "max_basket": 20, "max_baskets": 5}
    ledger = fim.Ledger.create(tmp_path / "s.ledger", epsilon=3, delta=1e-5)
    release = fim.mine(
        REPOSITORY / DATA, **asked, ledger=ledger, dataset="s", mechanism="limited-domain"
    )
    said = facts_of(release).to_markdown()
    assert re.findall("[^.-]*customer[^.]*", said) == [
        " A user is a customer, and is identified in the data by 'customer'"
    ]
    assert "for one user." in said
    assert "for one unit" not in said
    assert "At most 5 baskets of a user count." in said


def test_only_a_release_of_users_speaks_of_people_with_several_ids() -> None:
    assert "several ids" not in facts_of(mined()).to_markdown()
    users = replace(mined(), privacy_unit="user")
    assert "A person with several ids counts as several users." in facts_of(users).to_markdown()


def test_a_single_period_is_not_taken_for_several_releases() -> None:
    asked: dict[str, Any] = {"user": "customer", "time": "date", "top": 1, "mechanism": "distance"}
    one = facts_of(fim.mine(REPOSITORY / DATA, **asked, period="2025-Q1"))
    assert one.steps[0] == "One step has all of it."
    assert "Asked for: at most 1 itemset of size 2." in one.released
    periods = ["2025-Q1", "2025-Q2"]
    several = fim.mine(REPOSITORY / DATA, **asked, period="quarter", periods=periods)
    facts = facts_of(several)
    assert facts.steps[0] == "Each of the releases that were made together has such steps:"
    assert "Asked for: at most 1 itemset of size 2 in each period." in facts.released
    first, last = several.releases
    on_page = Markup(page(several)).words
    for sentence in (facts.steps[0], *facts.released):
        assert sentence in on_page
    changed = replace(several, releases=(first, replace(last, shares=mined().shares)))
    assert facts_of(changed).steps == (
        "The releases that were made together do not have the same steps: see each of them.",
    )


def test_the_steps_of_one_period_are_not_taken_for_those_of_all() -> None:
    asked: dict[str, Any] = {"user": "customer", "time": "date", "top": 3, "seed": 1}
    year = fim.mine(REPOSITORY / DATA, **asked, period="2025")
    quarters = fim.mine(REPOSITORY / DATA, **asked, period="quarter", periods="2025-Q1..2025-Q2")
    assert "The budget was split: " in render_table(year, Screen())
    assert "The budget of each period was split: " in render_table(quarters, Screen())


def test_several_periods_say_what_their_ledger_has_spent(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"user": "customer", "per": "month", "time": "date", "top": 1}
    ledger = fim.Ledger.create(tmp_path / "s.ledger", epsilon=3, delta=1e-5, per="month")
    asked |= {"period": "month", "periods": ["2025-01", "2025-02"], "ledger": ledger}
    release = fim.mine(REPOSITORY / DATA, **asked, dataset="s")
    for shown in (str(release), release.to_markdown(), render_table(release, Screen())):
        assert "for one user's month." in " ".join(shown.split())


def test_several_periods_that_are_units_have_a_page_and_a_statement(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"user": "customer", "per": "month", "time": "date", "top": 1}
    months = ["2025-01", "2025-02"]
    release = fim.mine(REPOSITORY / DATA, **asked, period="month", periods=months)
    fim.report(release, tmp_path / "page.html")
    assert facts_of(release).spent[0] == "The budget was set as ε = 1, δ = 1e-06."
    assert "add up" not in " ".join(facts_of(release).spent)
    assert "add up" in " ".join(facts_of(release["2025-01"]).spent)


def test_what_users_buy_in_a_month_is_counted_as_users_months() -> None:
    asked: dict[str, Any] = {"user": "customer", "per": "month", "time": "date", "count": True}
    release = fim.mine(REPOSITORY / DATA, **asked, top=3)
    assert isinstance(release, fim.Release)
    facts = facts_of(release)
    said = " ".join((*facts.spent, *facts.released))
    assert "δ times the number of users' months should be 0.1 at most." in said
    assert f"Number of users' months: {release.units:,} with noise" in said
    least = fim.mine(REPOSITORY / DATA, **asked, min_support="5%")
    assert "a noisy support of at least 5 % of all users' months (about " in str(least)
    everyday = Markup(page(release)).words
    assert "Customers' months about 59," in everyday or "Customers' months about 60," in everyday
    assert "A customer counts once for each month." in everyday
    on_screen = " ".join(render_table(release, Screen()).split())
    assert f"There are about {release.units:,} users' months in all" in on_screen
    assert "users' months of the truth with 95 % probability" in on_screen
    assert "A user with purchases in several months counts once for each." in on_screen
    assert "about any one customer in any one month. What this page promises" in everyday
    moved = Markup(changes_page(fim.changes(release, release, keep_all=True))).words
    assert re.search(r"From .*, about [0-9,]+ customers' months To ", moved)


def test_a_release_with_a_seed_has_no_version() -> None:
    [made, _] = facts_of(mined()).versions
    assert made.startswith("Made by an unknown version of fim-private; described by fim-private")
