"""Periods on the command line: one or several, what a ledger says of them."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import Done, run

import fim_private as fim

ROWS = [
    (f"{day}-{number}", f"c{number % 60}", item, f"2026-{day} 10:00")
    for day in ("11-09", "11-16", "12-01")
    for number in range(300)
    for item in ("bread", "milk")
]
SHOP = ["shop.csv", "--basket", "order_id", "--item", "product", "--time", "sold_at"]
BY_USER = [*SHOP, "--user", "customer", "--max-baskets", "5"]
CHARGED = ["--ledger", "sales.ledger", "--dataset", "sales"]
CREATE = ["budget", "create", "sales.ledger", "--delta", "1e-5", "--composition", "basic"]
FOR_MANY = ["--epsilon", "9", "--delta", "1e-4"]
WEEKS = ["--period", "week", "--periods", "2026-W46..2026-W47"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The purchases of two weeks of November, and of a day of December."""
    frame = pd.DataFrame(ROWS, columns=["order_id", "customer", "product", "sold_at"])
    path = tmp_path_factory.mktemp("shop") / "shop.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def folder(tmp_path: Path, shop: Path) -> Path:
    """The same purchases, in a folder of their own."""
    (tmp_path / "shop.csv").write_bytes(shop.read_bytes())
    return tmp_path


def done(said: Done) -> str:
    assert (said.returncode, "Error" in said.stderr) == (0, False), said.stderr
    return said.stdout


def refused(said: Done, code: int = 2) -> str:
    assert (said.stdout, said.returncode) == ("", code)
    return said.stderr.splitlines()[-1]


def statement(folder: Path) -> Any:
    return json.loads(done(run(folder, "budget", "show", "sales.ledger", "--format", "json")))


def test_one_period_and_each_of_several(folder: Path) -> None:
    one = json.loads(done(run(folder, "mine", *SHOP, "--period", "2026-W46", "--json", "--top=1")))
    assert one["itemsets"][0]["items"] == ["bread", "milk"]
    assert (one["time"], one["period"]) == ("sold_at", "2026-W46")
    assert not {"segment", "by", "max_segments", "per"} & one.keys()
    done(run(folder, "mine", *SHOP, *WEEKS, "--output", "weeks.json"))
    weeks = fim.load(folder / "weeks.json")
    assert isinstance(weeks, fim.SegmentedRelease)
    assert [*weeks] == ["2026-W46", "2026-W47"]
    assert (weeks.by, weeks.kind_of_part) == ("sold_at", "period")
    assert weeks.epsilon == weeks["2026-W46"].epsilon == 1
    assert weeks["2026-W47"][0].items == ("bread", "milk")
    assert weeks.to_dict()["segments"] == [*weeks]
    assert weeks.to_pandas()["period"].tolist() == [*weeks]
    assert weeks.to_csv().startswith("period,item_1")
    text = done(run(folder, "mine", *SHOP, *WEEKS))
    assert "Only baskets of 2026-W46, 2026-W47 count. A basket belongs to the day" in text


def test_the_same_in_python_from_a_file_and_from_the_environment(folder: Path) -> None:
    frame = pd.read_csv(folder / "shop.csv", dtype=str)
    asked: dict[str, Any] = {"basket": "order_id", "item": "product", "time": "sold_at"}
    alone: dict[str, Any] = {"top": 1, "supports": False}
    days = fim.mine(frame, **asked, **alone, start="2026-11-09", end="2026-11-15", seed=1)
    assert days.scope.period == "2026-11-09..2026-11-15"
    (folder / "shop.toml").write_text('[mine]\nfrom = "2026-11-09"\nto = "2026-11-15"\n')
    words = ["mine", *SHOP, "--top", "1", "--no-supports", "--seed", "1", "--format", "json"]
    typed = json.loads(done(run(folder, *words, "--from", "2026-11-09", "--to", "2026-11-15")))
    assert json.loads(done(run(folder, *words, "--config", "shop.toml"))) == typed == days.to_dict()
    variables = {"FIM_PRIVATE_MINE_FROM": "2026-11-09", "FIM_PRIVATE_MINE_TO": "2026-11-15"}
    assert json.loads(done(run(folder, *words, **variables))) == typed
    orders = frame.drop(columns="customer")
    counted = fim.count(orders, [["bread", "milk"]], period="2026-11", **asked)
    assert counted.scope.period == "2026-11"
    assert abs((counted[0].support or 0) - 600) < 200


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--from", "2026-11-01"], "--from and --to go together"),
        ([], "--time needs --period too, such as 2026-11, or --per"),
        (["--period", "week"], "--period week needs --periods too"),
        (["--period", "2026-11", "--neighbors", "replace-one"], "--time needs --neighbors"),
        (["--period", "2026-11", "--per", "month"], "--per needs --user too"),
        (["--period", "2026-11", "--missing-time", "keep"], "--missing-time must be drop"),
        ([*WEEKS, "--by", "customer", "--segments", "c1,c2"], "give --by or --periods, not both"),
        (["--period", "2026-11", "--time", "product"], "column 'product' of 'shop.csv' holds"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(shop: Path, words: list[str], says: str) -> None:
    assert refused(run(shop.parent, "mine", *SHOP, *words)).startswith(f"Error: {says}")


@pytest.mark.every_case
@pytest.mark.parametrize(
    "options",
    [
        {"max_basket": 3, "together": "user", "mechanism": "choosing"},
        {"max_basket": 3, "max_baskets": 2, "mechanism": "choosing"},
        {"per": "month", "known": [["bread", "milk"]]},
        {"together": "user", "size": "1-2", "rules": True},
        {"min_support": 0.02},
        {"catalogue": ["bread", "milk"], "delta": 0, "count": True},
    ],
    ids=lambda options: " ".join(options),
)
def test_an_empty_period_is_a_release_like_others(shop: Path, options: dict[str, Any]) -> None:
    """An error would say that nobody bought anything."""
    asked: Any = {"user": "customer", "basket": "order_id", "item": "product", "time": "sold_at"}
    asked |= {"top": 3}
    for period in ("2031-W40", "2026-W46"):
        release = fim.mine(shop, period=period, seed=1, **asked | options)
        assert release.scope.period == period


def test_disjoint_periods_cost_the_most_expensive_of_them(folder: Path) -> None:
    done(run(folder, *CREATE, "--epsilon", "2"))
    done(run(folder, "mine", *SHOP, *CHARGED, *WEEKS))
    done(run(folder, "mine", *SHOP, *CHARGED, "--period", "2026-W46", "--epsilon", "0.5"))
    said = statement(folder)
    assert (said["spent"]["epsilon"], said["left"]["basic"]["epsilon"]) == (1.5, 0.5)
    periods = {one["period"]: one for one in said["periods"]}
    assert [one["spent"]["epsilon"] for one in periods.values()] == [1.5, 1]
    assert [one["left"]["epsilon"] for one in periods.values()] == [0.5, 1]
    assert [one["more_like_last"] for one in periods.values()] == [1, 2]
    assert {one["time"] for one in periods.values()} == {"sold_at"}
    assert said["more_like_last"] == 1
    spans = [entry["span"]["period"] for entry in said["entries"]]
    assert spans == ["2026-W46", "2026-W47", "2026-W46"]
    shown = done(run(folder, "budget", "show", "sales.ledger"))
    row = r"2026-W46 +│ +ε 0.993 +│ +█{15}░{5} 75 % +│ +ε 0.5, δ [\de.-]+ +│ +1"
    assert re.search(row, shown), shown
    assert "period=2026-W47" in shown
    # A month has both weeks, and a release of all times all of them: they add up.
    refused(run(folder, "mine", *SHOP, *CHARGED, "--period", "2026-11", "--epsilon", "0.6"), 3)
    said = refused(run(folder, "mine", *SHOP[:-2], *CHARGED, "--epsilon", "0.6"), 3)
    assert "epsilon 0.5 and delta" in said
    done(run(folder, "mine", *SHOP, *CHARGED, "--period", "2026-12", "--epsilon", "2"))
    over = refused(run(folder, "mine", *SHOP, *CHARGED, "--period", "2026-12", "--epsilon", "1"), 3)
    assert "'sales.ledger' in 2026-12: nothing is left" in over


def test_several_periods_are_charged_all_or_none(folder: Path) -> None:
    done(run(folder, *CREATE, "--epsilon", "1"))
    done(run(folder, "mine", *SHOP, *CHARGED, "--period", "2026-W47"))
    refused(run(folder, "mine", *SHOP, *CHARGED, *WEEKS), 3)
    assert len(statement(folder)["entries"]) == 1


def test_promises_are_not_mixed(folder: Path) -> None:
    create = ["budget", "create", "sales.ledger", *FOR_MANY]
    basket_unit = ["--per", "month", "--unit", "basket"]
    assert "--per is for users" in refused(run(folder, *create, *basket_unit))
    done(run(folder, *create, "--per", "month"))
    said = refused(run(folder, "mine", *BY_USER[:-2], *CHARGED, "--period", "2026-11"), 3)
    assert "protects what a user buys in one month, and this release protects users" in said
    said = refused(run(folder, "mine", *SHOP, *CHARGED, "--period", "2026-11"), 3)
    assert "protects users, and this" in said
    weekly = [*CHARGED, "--period", "2026-11", "--per", "week"]
    said = refused(run(folder, "mine", *BY_USER[:-2], *weekly), 3)
    assert "this release protects what a user buys in one week; give --per month" in said
    monthly = ["--period", "2026-11", "--per", "month", "--format", "json"]
    release = json.loads(done(run(folder, "mine", *BY_USER[:-2], *CHARGED, *monthly)))
    assert release["per"] == "month"
    assert "any one user's month (all their baskets of that month)" in release["guarantee"]
    told = "A user who buys in 12 months, with as much spent on each, has ε = 3.45, δ = 1.2e-05"
    assert release["guarantee"].endswith(f"{told} in all.")
    shown = done(run(folder, "budget", "show", "sales.ledger"))
    assert "A user who buys in all of these periods has ε = 1, δ = 1e-06 in all." in shown
    assert "of one month" in shown
    assert statement(folder)["per"] == "month"
    done(run(folder, "budget", "create", "good.ledger", *FOR_MANY))
    words = [*BY_USER[:-2], "--ledger", "good.ledger", "--dataset", "sales", "--period", "2026-11"]
    assert "leave out --per" in refused(run(folder, "mine", *words, "--per", "month"), 3)


def test_months_are_found_by_the_same_columns(folder: Path) -> None:
    """What one column finds in a month, another may find in many."""
    shop = pd.read_csv(folder / "shop.csv")
    shop = shop.assign(paid_at="2026-12-02", line=range(len(shop)))
    shop.to_csv(folder / "shop.csv", index=False)
    done(run(folder, "budget", "create", "sales.ledger", *FOR_MANY, "--per", "month"))
    words = ["mine", *BY_USER[:-2], *CHARGED, "--per", "month", "--period", "2026-12"]
    done(run(folder, *words))
    for name, other in (("sold_at", "paid_at"), ("order_id", "line")):
        changed = [other if word == name else word for word in words]
        names = (other if column == name else column for column in ("sold_at", "order_id"))
        columns = " and ".join(map(repr, names))
        said = refused(run(folder, *changed), 3)
        assert f"by 'sold_at' and 'order_id', and this release by {columns}" in said
        done(run(folder, *changed, "--allow-other-unit"))
    assert len(statement(folder)["entries"]) == 3


def test_customers_for_good_share_the_budget_among_periods(folder: Path) -> None:
    weeks = json.loads(done(run(folder, "mine", *BY_USER[:-2], *WEEKS, "--format", "json")))
    assert weeks["epsilon"] == 1
    assert [one["epsilon"] for one in weeks["releases"]] == [0.5, 0.5]
    assert [one["max_segments"] for one in weeks["releases"]] == [2, 2]
    months = ["--periods", "2026-11,2026-12", "--per", "month", "--format", "json"]
    each = json.loads(done(run(folder, "mine", *BY_USER[:-2], *months)))
    assert [one["epsilon"] for one in each["releases"]] == [1, 1]
    assert each["guarantee"].endswith("in all these periods has ε = 1.41, δ = 2e-06 in all.")
    both = [*WEEKS, "--per", "month", "--format", "json"]  # two weeks of one month
    releases = json.loads(done(run(folder, "mine", *BY_USER[:-2], *both)))["releases"]
    assert [release["epsilon"] for release in releases] == [0.5, 0.5]


def test_a_ledger_is_renewed_only_where_that_is_said(folder: Path) -> None:
    create = [*CREATE, "--epsilon", "1"]
    done(run(folder, *create, "--renew"))
    done(run(folder, "mine", *SHOP, *CHARGED, "--period", "2026-W46"))
    assert "there is such a file already" in refused(run(folder, *create))
    old = fim.Ledger(folder / "sales.ledger")
    done(run(folder, *create, "--renew"))
    with pytest.raises(fim.LedgerError, match="another ledger than when it was opened"):
        _ = old.left
    said = statement(folder)
    assert (said["spent"]["epsilon"], said["entries"]) == (0, [])
    renewed = said["renewed"]
    assert (renewed["file"], renewed["epsilon"]) == ("sales.ledger.1", "1")
    shown = done(run(folder, "budget", "show", "sales.ledger"))
    old = fim.Ledger(folder / "sales.ledger.1")
    spent = old.statement(verify=True).together.as_total  # the same number as it says itself
    assert spent == "ε = 0.869 (stated at δ = 1e-05)"
    assert f"'sales.ledger.1', had spent {spent}. Anyone in" in " ".join(shown.split())
    assert len(old.entries) == 1
    done(run(folder, "mine", *SHOP, *CHARGED, "--period", "2026-W46"))
    done(run(folder, *create, "--renew"))
    both = statement(folder)["renewed"]
    assert (both["file"], both["epsilon"], both["ledgers"]) == ("sales.ledger.2", "2", "2")
    shown = " ".join(done(run(folder, "budget", "show", "sales.ledger")).split())
    assert (
        "The 2 ledgers before it, the last of them 'sales.ledger.2', had spent ε = 1.28 (" in shown
    )
    assert "Anyone in the data of all these times is protected by all these budgets" in shown


def test_periods_in_which_nothing_stands_out_end_in_one_line(folder: Path) -> None:
    asked = [*BY_USER[:-2], *WEEKS, "--epsilon", "0.01"]
    said = run(folder, "mine", *asked, "--fail-if-empty", "--output", "empty.json")
    assert (said.returncode, said.stdout) == (4, "")
    assert "Nothing came out. Try a larger budget, or longer or fewer periods." in said.stderr
    assert "Traceback" not in said.stderr
