"""The command line through real processes: options, formats, errors, exit codes, and what is left behind."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from commands import run
from patience import PATIENCE
from real_data import REPOSITORY, real_data

import fim_private as fim
from fim_private.counting import active_counter
from fim_private.options import MineOptions, options_of

CORNER_SHOP = REPOSITORY / "datasets" / "corner_shop.parquet"
VERSION = f"fim-private {fim.__version__} ({active_counter()} counter)\n"
SCRIPT = Path(sys.executable).with_name("fim-private")

LARGE_MARGIN = ["--mechanism", "large-margin"]
BASKETS = [[39, 48]] * 600 + [[39, 41]] * 60 + [[38, 48, 170]] * 10 + [[32]] * 5
TOP = [39, 48]


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the same baskets in every form, and with files that are wrong in every way."""
    folder = tmp_path_factory.mktemp("shop")
    dat = "".join(" ".join(map(str, basket)) + "\n" for basket in BASKETS)
    lines = dat.replace(" ", ",")
    orders = [f"o{number}" for number, basket in enumerate(BASKETS) for _ in basket]
    products = [item for basket in BASKETS for item in basket]
    long = "order_id,product,price\n"
    long += "".join(f"{order},{product},1.5\n" for order, product in zip(orders, products, strict=True))
    for name, text in {
        "baskets.dat": dat,
        "baskets.txt": dat,
        "lines.csv": lines,
        "long.csv": long,
        "long.tsv": long.replace(",", "\t"),
    }.items():
        (folder / name).write_text(text)
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    table = pa.table({"basket": range(len(BASKETS)), "items": BASKETS})
    pq.write_table(table, folder / "list.parquet")
    feather.write_feather(table, folder / "list.feather")
    pq.write_table(pa.table({"order_id": orders, "product": products}), folder / "long.parquet")
    pq.write_table(table.append_column("returned", table["items"]), folder / "two_lists.parquet")
    # Two customers to three baskets; the last fifteen baskets are nobody's.
    customers = [f"c{number * 2 // 3}" if number < 660 else "" for number in range(len(BASKETS))]
    pq.write_table(table.append_column("customer", pa.array(customers)), folder / "customers.parquet")
    owners = [customer for customer, basket in zip(customers, BASKETS, strict=True) for _ in basket]
    with_owners = zip(owners, orders, products, strict=True)
    rows = "".join(f"{customer},{order},{product}\n" for customer, order, product in with_owners)
    (folder / "customers.csv").write_text("customer,order_id,product\n" + rows)
    words = [[f"item {item}" for item in basket] for basket in BASKETS]
    pq.write_table(pa.table({"items": words}), folder / "words.parquet")

    (folder / "little.dat").write_text("1 2 3\n2 1\n")
    (folder / "other.dat").write_text("7 8 9 10\n\n5 6\n5\n5 6 7 8\n" * 2)
    (folder / "many_items.dat").write_text("".join(f"{n} {n + 1} {n + 2}\n" for n in range(100)))
    (folder / "two_columns.csv").write_text("one,two\n1,2\n")
    (folder / "catalogue.csv").write_text("item\n" + "".join(f"{item}\n" for item in range(1000)))
    (folder / "one.csv").write_text("39\n")
    pq.write_table(pa.table({"one": [1, 2], "two": [3, 4]}), folder / "two_columns.parquet")

    whole = (folder / "list.parquet").read_bytes()
    (folder / "truncated.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "damaged.parquet").write_bytes(whole[:4] + bytes(len(whole) - 12) + whole[-8:])
    (folder / "text.parquet").write_text("39 48\n")
    (folder / "empty.parquet").write_bytes(b"")
    (folder / "empty.dat").write_bytes(b"")
    (folder / "empty.csv").write_bytes(b"")
    (folder / "truncated.dat.gz").write_bytes((folder / "baskets.dat.gz").read_bytes()[:40])
    (folder / "not_zipped.dat.gz").write_text("39 48\n")
    (folder / "latin.csv").write_bytes("thé,café\n".encode("latin-1"))
    (folder / "sheet.xlsx").write_bytes(b"PK\x03\x04 a spreadsheet")
    return folder


def environment(**changes: str) -> dict[str, str]:
    unwanted = {"FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "PYTHONIOENCODING", "COLUMNS", "TERM"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    # A warning would be an error here, and show as a traceback.
    return {**kept, "PYTHONUTF8": "1", "PYTHONWARNINGS": "error", **changes}


def process(folder: Path, *arguments: str | Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8", timeout=PATIENCE)


def answer(folder: Path, *arguments: str | Path, stdin: str = "") -> dict[str, Any]:
    """Run `mine … --format json`, which must go well, and return what it wrote."""
    done = run(folder, "mine", *arguments, "--format", "json", stdin=stdin)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.count("\n") == 1
    release: dict[str, Any] = json.loads(done.stdout)
    return release


def listing(*folders: Path) -> dict[Path, int]:
    return {path: path.stat().st_size for folder in folders for path in folder.rglob("*")}


# -------------------------------------------------------------------------------------------- output


def test_the_default_is_a_readable_table_with_the_guarantee(shop: Path) -> None:
    done = run(shop, "mine", "baskets.dat")
    assert (done.stderr, done.returncode) == ("", 0)
    lines = done.stdout.splitlines()
    assert lines[0] == "The itemset of 2 items that limited-domain selected as the most frequent"
    assert lines[-2].startswith("Mechanism limited-domain, chosen by --mechanism auto: for one itemset ")
    assert re.search(r"\{39, 48\} +│ +not released", done.stdout)
    guarantee = lines[-1]
    assert guarantee.startswith("Guarantee (limited-domain, ε = 1, δ = 1e-06): adding or removing any one basket ")
    assert "e^1 = 2.72" in guarantee
    assert "1e-06" in guarantee
    assert "\x1b" not in done.stdout


def test_json_is_exactly_the_contract(shop: Path) -> None:
    chosen = "for one itemset it needs the smallest margin of all without a list of items"
    for options, mechanism in (
        (["--mechanism", "large-margin"], '"large-margin"'),
        ([], f'"limited-domain", "reason": "{chosen}"'),
    ):
        done = run(shop, "mine", "baskets.dat", *options, "--format", "json")
        name = mechanism.split('"')[1]
        assert done.stdout == (
            f'{{"schema": 1, "private": true, "mechanism": {mechanism}, "size": 2, "epsilon": 1.0, "delta": 1e-06, '
            f'"neighbors": "add-remove", "privacy_unit": "basket", '
            f'"guarantee": "Guarantee ({name}, ε = 1, δ = 1e-06): '
            "adding or removing any one basket changes the probability of any result by at most a factor e^1 = 2.72, "
            'up to an added probability of 1e-06.", "abstained": false, '
            '"itemsets": [{"items": [39, 48], "support": null}]}\n'
        )
        assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.full
def test_a_budget_that_promises_little_is_warned_of_in_a_line_and_spent(shop: Path) -> None:
    asked = ["mine", "baskets.dat", "--format", "json", "--epsilon", "12"]
    done = run(shop, *asked)
    assert done.stderr == (
        "Warning: --epsilon 12 promises next to nothing: it lets the probability of a result change by a factor of "
        "e^12; 1 or less is a strong promise\n"
    )
    assert (json.loads(done.stdout)["epsilon"], done.returncode) == (12.0, 0)
    [line] = run(shop, *asked[:-1], "1", "--delta", "0.01").stderr.splitlines()
    assert line.startswith("Warning: --delta 0.01 promises little: ")


@pytest.mark.full
def test_csv(shop: Path) -> None:
    done = run(shop, "mine", "words.parquet", "--format", "csv")
    assert done.stdout == "item_1,item_2,support\nitem 39,item 48,\n"
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.full
@pytest.mark.parametrize("output_format", ["table", "json", "csv"])
@pytest.mark.one_in(3)
def test_output_is_what_the_screen_would_show(shop: Path, tmp_path: Path, output_format: str) -> None:
    path = tmp_path / "release.txt"
    path.write_text("old")
    screen = run(shop, "mine", "words.parquet", "--format", output_format)
    done = run(shop, "mine", "words.parquet", "--format", output_format, "--output", path)
    assert (done.stdout, done.stderr, done.returncode) == ("", f"wrote {path}\n", 0)
    assert path.read_text(encoding="utf-8") == screen.stdout
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.full
def test_what_is_no_markup_is_shown_as_it_is(shop: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"items": [["[red]x[/red]", ":smile: [/]"]] * 600}), tmp_path / "odd.parquet")
    done = run(tmp_path, "mine", "odd.parquet")
    assert "{:smile: [/], [red]x[/red]}" in done.stdout


# ------------------------------------------------------------------------------------------- sources

SOURCES: list[Sequence[str]] = [
    ["baskets.dat"],
    ["baskets.txt.gz"],
    ["baskets.dat.gz"],
    ["lines.csv"],
    ["lines.csv.gz"],
    ["list.parquet"],
    ["list.parquet", "--items", "items"],
    ["two_lists.parquet", "--items", "returned"],
    ["list.feather"],
    ["long.parquet", "--basket", "order_id", "--item", "product"],
    ["long.csv", "--basket", "order_id", "--item", "product"],
    ["long.tsv.gz", "--basket", "order_id", "--item", "product"],
]


@pytest.fixture(scope="session")
def seeded_answer(shop: Path) -> dict[str, Any]:
    """What one seed gives over these baskets and the catalogue of 1000; at this epsilon a matter of luck."""
    release = fim.mine(BASKETS, mechanism="exponential", catalogue=shop / "catalogue.csv", epsilon=0.0005, seed=11)
    assert release.itemsets[0].items != tuple(TOP)
    return release.to_dict()


LUCK = ["--mechanism", "exponential", "--catalogue", "catalogue.csv", "--epsilon", "0.0005", "--seed", "11"]


@pytest.mark.parametrize("source", SOURCES, ids=" ".join)
@pytest.mark.one_in(6)
def test_every_form_of_the_same_baskets_gives_the_same(
    shop: Path, source: Sequence[str], seeded_answer: dict[str, Any]
) -> None:
    assert answer(shop, *source, *LUCK) == seeded_answer


def test_standard_input(shop: Path, seeded_answer: dict[str, Any]) -> None:
    assert answer(shop, "-", *LUCK, stdin=(shop / "baskets.dat").read_text()) == seeded_answer


# ------------------------------------------------------------------------------------------- options


def test_parameters_are_told_in_the_release(shop: Path) -> None:
    release = answer(
        shop,
        *("words.parquet", "--size", "1", "--epsilon", "0.5", "--delta", "1e-8"),
        *("--mechanism", "large-margin", "--neighbors", "replace-one", "--max-rank", "3"),
    )
    expected = {
        "schema": 1,
        "private": True,
        "mechanism": "large-margin",
        "size": 1,
        "epsilon": 0.5,
        "delta": 1e-8,
        "neighbors": "replace-one",
        "privacy_unit": "basket",
    }
    assert {key: release[key] for key in expected} == expected


@pytest.mark.full
def test_a_seed_gives_the_same_twice_and_is_not_private(shop: Path) -> None:
    releases = [answer(shop, "baskets.dat", *LUCK) for _ in range(2)]
    assert releases[0] == releases[1]
    assert releases[0]["private"] is False
    table = run(shop, "mine", "baskets.dat", "--seed", "0").stdout
    assert "NOT PRIVATE" in table
    assert "Guarantee" not in table


@pytest.mark.full
def test_without_a_seed_luck_differs(shop: Path) -> None:
    options = LUCK[:-2]
    drawn = [answer(shop, "baskets.dat", *options) for _ in range(3)]
    assert all(release["private"] is True for release in drawn)
    assert len({str(release["itemsets"]) for release in drawn}) > 1  # of half a million pairs


@pytest.mark.full
def test_a_product_list_with_labels(shop: Path) -> None:
    (shop / "products.csv").write_text("sku;name\n" + "".join(f"{item};product {item}\n" for item in range(1000)))
    columns = ["--catalogue", "products.csv", "--catalogue-item", "sku", "--catalogue-label", "name"]
    release = answer(shop, "baskets.dat", "--mechanism", "exponential", *columns)
    assert release["itemsets"][0]["items"] == sorted(f"product {item}" for item in TOP)
    told = {"source": "products.csv", "item": "sku", "label": "name", "items": 1000}
    assert release["catalogue"] == told | {"codes": {f"product {item}": item for item in TOP}}
    public = answer(shop, "baskets.dat", "--items-are-public", "--delta", "0")
    assert public["catalogue"]["items_are_public"] is True
    assert public["delta"] == 0


@pytest.mark.full
def test_exponential_over_a_sized_universe_cannot_name_everything(shop: Path) -> None:
    options = ["--mechanism", "exponential", "--universe-size", str(10**30), "--size", "3"]
    release = answer(shop, "little.dat", *options)
    assert release["itemsets"] == [{"items": None, "support": None}]
    assert release["abstained"] is False
    done = run(shop, "mine", "little.dat", *options)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "unnamed" in done.stdout
    done = run(shop, "mine", "little.dat", *options, "--format", "csv")
    assert list(csv.reader(io.StringIO(done.stdout))) == [["item_1", "item_2", "item_3", "support"], [""] * 4]


@pytest.mark.parametrize("mechanism", ["exponential", "large-margin"])
@pytest.mark.parametrize("source", ["many_items.dat", "baskets.dat"])
@pytest.mark.one_in(4)
def test_more_items_than_promised_is_no_error(shop: Path, source: str, mechanism: str) -> None:
    release = answer(shop, source, "--mechanism", mechanism, "--universe-size", "4", "--size", "2")
    assert release["private"] is True


# ----------------------------------------------------------------------------------------- customers

CUSTOMERS: list[Sequence[str]] = [
    ["customers.parquet", "--user", "customer"],
    ["customers.parquet", "--items", "items", "--basket", "basket", "--user", "customer"],
    ["customers.csv", "--basket", "order_id", "--item", "product", "--user", "customer"],
]


@pytest.mark.parametrize("rule", ["drop", "own-unit"])
@pytest.mark.parametrize("source", CUSTOMERS, ids=" ".join)
@pytest.mark.one_in(6)
def test_customers_can_be_protected(shop: Path, source: Sequence[str], rule: str) -> None:
    release = answer(shop, *source, "--missing-user", rule, "--epsilon", "2")
    assert release["privacy_unit"] == "user"
    assert release["itemsets"] == [{"items": TOP, "support": None}]
    assert list(release) == list(answer(shop, "baskets.dat"))


@pytest.mark.parametrize(
    ("options", "change"),
    [
        (["--missing-user", "drop"], "adding or removing any one user (all their baskets) changes"),
        (
            ["--missing-user", "drop", "--neighbors", "replace-one"],
            "replacing any one user (all their baskets) by any other changes",
        ),
        (
            ["--missing-user", "own-unit"],
            "adding or removing any one user (all their baskets) or basket without a user changes",
        ),
    ],
    ids=str,
)
@pytest.mark.one_in(3)
def test_the_table_tells_whom_it_protects(shop: Path, options: list[str], change: str) -> None:
    done = run(shop, "mine", *CUSTOMERS[0], *options, "--epsilon", "2")
    assert (done.stderr, done.returncode) == ("", 0)
    assert "{39, 48}" in done.stdout
    guarantee = done.stdout.splitlines()[-1]
    assert guarantee.startswith("Guarantee (limited-domain, ε = 2, δ = 1e-06): ")
    assert change in guarantee


@pytest.mark.full
def test_online_retail_by_customer() -> None:
    path = real_data("online_retail.parquet")
    options = ["--size", "1", "--basket", "InvoiceNo", "--item", "StockCode", "--user", "CustomerID"]
    assert_refused(run(path.parent, "mine", path, *options))
    for rule in ("drop", "own-unit"):
        release = answer(path.parent, path, *options, "--missing-user", rule)
        assert (release["privacy_unit"], release["private"]) == ("user", True)


# ---------------------------------------------------------------------------------------- abstaining


@pytest.mark.full
@pytest.mark.parametrize(
    "options",
    [[], ["--size", "1", "--epsilon", "0.5"], ["--size", "100", "--delta", "1e-9"]],
    ids=" ".join,
)
@pytest.mark.one_in(3)
def test_abstaining_is_an_answer_and_its_advice_knows_no_data(shop: Path, options: list[str]) -> None:
    little, other = (run(shop, "mine", name, *options) for name in ("little.dat", "other.dat"))
    assert (little.stderr, little.returncode) == ("", 0)
    assert little.stdout == other.stdout.replace("other.dat", "little.dat")
    assert other.returncode == 0
    lines = little.stdout.splitlines()
    assert "abstained" in lines[0]
    assert len([line for line in lines if line.startswith("To try: fim-private mine little.dat ")]) == 1
    assert lines[-1].startswith("Guarantee")


def advised(output: str) -> list[str]:
    """The arguments of the command that is advised."""
    [line] = [line for line in output.splitlines() if line.startswith(("To try: ", "To find more: "))]
    words = shlex.split(line.partition(": ")[2])
    assert words[:2] == ["fim-private", "mine"]
    return words[1:]


@pytest.mark.full
@pytest.mark.parametrize(
    "options",
    [
        ["baskets.dat", *LARGE_MARGIN, "--epsilon", "0.5"],
        ["words.parquet", *LARGE_MARGIN, "--size", "2-3", "--union", "--supports", "--supports-share", "0.4"],
        ["baskets.dat", "--top", "40", "--supports", "--epsilon", "0.03"],
    ],
    ids=" ".join,
)
@pytest.mark.one_in(3)
def test_the_command_that_is_advised_finds_something(shop: Path, options: list[str]) -> None:
    first = run(shop, "mine", *options)
    command = advised(first.stdout)
    assert [word for word in command if word in ("--format", "--output")] == []
    # It probably finds more, once in forty times it does not: five such in a row are once in a hundred million.
    for _ in range(5):
        done = run(shop, *command)
        assert done.returncode == 0
        if done.stdout.count("{") > first.stdout.count("{"):
            return
    pytest.fail(done.stdout)


def test_the_command_that_is_advised_is_the_one_that_was_typed(shop: Path) -> None:
    (shop / "two words.csv").write_text("order_id,product\n" + "".join(f"{n},a\n{n},b\n" for n in range(100)))
    columns = ["--item=product", "--basket", "order_id"]
    typed = ["two words.csv", *columns, "--epsilon", "0.5", "--delta", "1e-9", *LARGE_MARGIN]
    command = advised(run(shop, "mine", *typed).stdout)
    assert command[:2] == ["mine", "two words.csv"]
    pairs = dict(zip(command[2::2], command[3::2], strict=True))
    asked = {"--basket": "order_id", "--item": "product", "--epsilon": "0.5", "--delta": "1e-09"}
    assert pairs == {"--mechanism": "auto", **asked}
    assert run(shop, "mine", *command[1:]).returncode == 0


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.one_in(2)
def test_fewer_than_asked_for_come_with_advice(shop: Path, relation: str) -> None:
    options = ["--epsilon", "9", "--top", "500", "--mechanism", "limited-domain", "--neighbors", relation]
    done = run(shop, "mine", "baskets.dat", *options)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "To find more: " in done.stdout
    assert "--top" in advised(done.stdout)
    assert re.search(r"\d+ of 500 came out: for the others the mechanism abstained\.", done.stdout)


@pytest.mark.full
@pytest.mark.parametrize(
    "options",
    [
        ["--epsilon", "1e-5"],
        ["--epsilon", "1e-9"],
        ["--epsilon", "1000"],
        ["--epsilon", "1e6"],
        ["--delta", "1e-300"],
        ["--delta", "0.999999"],
        ["--size", "1000000000"],
        ["--max-rank", "1" + "0" * 30],
        ["--epsilon", "1e-9", "--mechanism", "exponential", "--universe-size", "10"],
        ["--epsilon", "1e9"],
        ["--epsilon", "1e6", "--mechanism", "exponential", "--universe-size", "10"],
        ["--epsilon", "1e9", "--mechanism", "exponential", "--catalogue", "catalogue.csv"],
        ["--epsilon", "1000", "--mechanism", "exponential", "--universe-size", "10"],
    ],
    ids=" ".join,
)
@pytest.mark.one_in(7)
def test_far_parameters_are_answered_or_refused_in_one_line(shop: Path, options: list[str]) -> None:
    done = run(shop, "mine", "little.dat", *options)
    if done.returncode == 0:
        assert [line for line in done.stderr.splitlines() if not line.startswith("Warning: --")] == []
    else:
        assert_refused(done)


# -------------------------------------------------------------------------------------------- errors


def assert_refused(done: Any) -> None:
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.endswith("\n")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


ERRORS: list[tuple[Sequence[str], str]] = [
    (["nowhere.parquet"], r"'nowhere\.parquet' does not exist"),
    (["nowhere.dat"], r"'nowhere\.dat' does not exist"),
    (["universe_size.dat"], r"'universe_size\.dat' does not exist"),
    (["max_rank/item.csv"], r"'max_rank/item\.csv' does not exist"),
    (["two\nlines.dat"], r"two\\nlines\.dat.* does not exist"),
    (["."], r"one of several texts, which have to have columns|name those of one form"),
    (["truncated.parquet"], r"'truncated\.parquet' is truncated, damaged"),
    (["damaged.parquet"], r"'damaged\.parquet' is truncated, damaged"),
    (["text.parquet"], r"'text\.parquet' is not a Parquet file"),
    (["empty.parquet"], r"'empty\.parquet' is empty"),
    (["empty.dat"], r"'empty\.dat' is empty"),
    (["empty.csv"], r"'empty\.csv' is empty"),
    (["-"], r"standard input is empty"),
    (["truncated.dat.gz"], r"'truncated\.dat\.gz' is truncated, damaged"),
    (["not_zipped.dat.gz"], r"'not_zipped\.dat\.gz' is truncated, damaged"),
    (["latin.csv"], r"'latin\.csv' .*not UTF-8"),
    (["sheet.xlsx"], r"'sheet\.xlsx' is a ZIP archive, which is not read"),
    (["list.parquet", "--items", "itms"], r"no column 'itms'.*'basket' \(int64\), 'items' \(list<.*>\)"),
    (["list.parquet", "--items", "basket"], r"'basket'.* int64.*does not hold lists"),
    (
        ["long.parquet", "--basket", "order", "--item", "product"],
        r"no column 'order'.*'order_id' \(string\), 'product' \(int64\)",
    ),
    (["long.csv", "--basket", "order", "--item", "product"], r"no column 'order'"),
    (["long.parquet"], r"no list column.*--basket and --item.*'order_id'"),
    (["two_lists.parquet"], r"several list columns.*--items.*'items' .*'returned'"),
    (["long.csv"], r"name its columns with --basket and --item"),
    (["long.csv", "--item", "product"], r"--item needs --basket too"),
    (
        ["list.parquet", "--item", "items", "--items", "items"],
        r"--item and --items exclude each other: --item for .*, --items for",
    ),
    (["baskets.dat", "--items", "items"], r"items cannot be used"),
    (["baskets.dat", "--epsilon", "0"], r"epsilon must be a number above 0, not 0"),
    (["baskets.dat", "--epsilon", "-1"], r"epsilon must be a number above 0, not -1"),
    (["baskets.dat", "--epsilon", "nan"], r"'--epsilon': must be a number such as 0\.5 or 1e-6, not 'nan'"),
    (["baskets.dat", "--epsilon", "1e400"], r"'--epsilon': must be a number such as 0\.5 or 1e-6, not '1e400'"),
    (["baskets.dat", "--epsilon", "one"], r"'--epsilon': must be a number such as 0\.5 or 1e-6, not 'one'"),
    (["baskets.dat", "--epsilon", "1_0"], r"'--epsilon': must be a number such as 0\.5 or 1e-6, not '1_0'"),
    (["baskets.dat", "--top", "1_0"], r"'--top': must be a whole number, not '1_0'"),
    (
        ["baskets.dat", "--delta", "0"],
        r"delta must be above 0 without a public list of all items: .*; give a catalogue",
    ),
    (["baskets.dat", "--delta", "1"], r"delta must be 0 or a number above 0 and below 1, not 1"),
    (["baskets.dat", "--delta", "-1e-6"], r"delta must be 0 or a number above 0 and below 1"),
    (["baskets.dat", "--size", "0"], r"size must be a whole number of at least 1, not 0"),
    (["baskets.dat", "--size", "-2"], r"size must be a whole number of at least 1, not -2"),
    (["baskets.dat", "--size", "1.5"], r"--size"),
    (["baskets.dat", "--max-rank", "0"], r"--max-rank must be a whole number of at least 1, not 0"),
    (
        ["baskets.dat", "--mechanism", "laplace"],
        r"mechanism must be one of auto, large-margin, tight-margin, .*, levelwise, not 'laplace'",
    ),
    (["baskets.dat", "--neighbors", "swap"], r"neighbors must be one of replace-one, add-remove, not 'swap'"),
    (["baskets.dat", "--format", "xml"], r"--format.*'xml'.*table.*json.*csv"),
    (["baskets.dat", "--seed", "x"], r"--seed"),
    (["baskets.dat", "--mechanism", "exponential"], r"public.*catalogue or --universe-size.*would not be private"),
    (["baskets.dat", "--mechanism", "exponential", "--universe-size", "1"], r"--universe-size has 1 item.*size 2"),
    (["baskets.dat", "--universe-size", "0"], r"--universe-size must be a whole number of at least 1, not 0"),
    (["baskets.dat", "--catalogue", "catalogue.csv", "--universe-size", "9"], r"not both"),
    (["baskets.dat", "--catalogue", "nowhere.csv"], r"'nowhere\.csv' does not exist"),
    (["baskets.dat", "--catalogue", "empty.csv"], r"'empty\.csv' is empty"),
    (["baskets.dat", "--catalogue", "one.csv"], r"catalogue has 1 item.*size 2"),
    (["baskets.dat", "--catalogue", "two_columns.csv"], r"'two_columns\.csv' has several.*say with --catalogue-item"),
    (
        ["baskets.dat", "--catalogue", "two_columns.parquet", "--catalogue-item", "x"],
        r"no column 'x'.*--catalogue-item",
    ),
    (["baskets.dat", "--catalogue", "two_columns.parquet", "--catalogue-label", "one"], r"needs --catalogue-item"),
    (["baskets.dat", "--catalogue-item", "one"], r"--catalogue-item goes with --catalogue"),
    (["baskets.dat", "--items-are-public", "--catalogue", "catalogue.csv"], r"--catalogue or --items-are-public, not"),
    (["-", "--items-are-public"], r"--items-are-public reads all items first.*can be read only once"),
    (["baskets.dat", "--catalogue", "two_columns.parquet"], r"catalogue.*'two_columns\.parquet'.*'one' .*'two'"),
    (
        ["customers.parquet", "--user", "customer"],
        r"column 'customer' of 'customers\.parquet' has rows without a user; --missing-user 'drop' leaves them out, "
        r"--missing-user 'own-unit' makes each of their baskets a unit of its own$",
    ),
    (
        ["customers.csv", "--basket", "order_id", "--item", "product", "--user", "customer"],
        r"column 'customer' of 'customers\.csv' has rows without a user; --missing-user 'drop' .*'own-unit'",
    ),
    (["customers.parquet", "--user", "missing_user"], r"has no column 'missing_user'; it has"),
    (["customers.parquet", "--missing-user", "drop"], r"--missing-user needs --user too"),
    (
        ["customers.parquet", "--user", "customer", "--missing-user", "keep"],
        r"--missing-user must be one of drop, own-unit, not 'keep'",
    ),
    (["customers.parquet", "--user", "items"], r"column 'items' .*does not hold an identifier"),
    (["customers.parquet", "--user", "items", "--items", "items"], r"--user and --items name the same column"),
    (["baskets.dat", "--user", "customer"], r"--user cannot be used with one basket per line"),
    (["customers.csv", "--item", "product", "--user", "customer"], r"--item needs --basket too"),
    (["baskets.dat", "--no-such-option"], r"--no-such-option"),
    (["baskets.dat", "little.dat"], r"little\.dat"),
    ([], r"FILE"),
]


@pytest.mark.parametrize(("arguments", "message"), ERRORS, ids=[" ".join(a) or "nothing" for a, _ in ERRORS])
@pytest.mark.one_in(6)
def test_errors_are_one_line_and_write_nothing(
    shop: Path, tmp_path: Path, arguments: Sequence[str], message: str
) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text("old")
    before = listing(shop, tmp_path)
    done = run(shop, "mine", *arguments, "--output", tmp_path / "kept.json")
    assert_refused(done)
    assert re.search(message, done.stderr)
    assert listing(shop, tmp_path) == before
    assert kept.read_text() == "old"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("nowhere/release.json", r"nowhere'? does not exist; create it first"),
        (".", r"it is a folder; give --output a file name"),
        ("release.json/", r"it names a folder; name a file"),
        ("baskets.dat/release.json", r"cannot write"),
        ("two\nlines/release.json", r"cannot write"),
        ("/dev/full", r"cannot write '?/dev/full"),
    ],
)
@pytest.mark.one_in(4)
def test_unwritable_output(shop: Path, output: str, message: str) -> None:
    if output.startswith("/dev/") and not Path(output).exists():
        pytest.skip(f"this system has no {output}")
    before = listing(shop)
    done = run(shop, "mine", "baskets.dat", "--output", output)
    assert_refused(done)
    assert re.search(message, done.stderr)
    assert listing(shop) == before


@pytest.mark.full
def test_unwritable_output_fails_before_the_data_is_read(shop: Path) -> None:
    done = run(shop, "mine", "nowhere.dat", "--output", "nowhere/release.json")
    assert_refused(done)
    assert "cannot write" in done.stderr


def test_a_full_standard_output(shop: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [SCRIPT, "mine", "baskets.dat"],
            cwd=shop,
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=environment(),
            timeout=PATIENCE,
        )
    assert done.returncode == 2
    assert re.fullmatch(r"Error: .*No space left.*\n", done.stderr)


def test_unknown_commands_and_none(shop: Path) -> None:
    done = run(shop, "mien", "baskets.dat")
    assert_refused(done)
    assert "mien" in done.stderr
    done = run(shop)
    assert done.returncode == 2
    assert "mine" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


# ------------------------------------------------------------------------------- signals and pipes


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.one_in(3)
def test_a_signal_ends_it_without_a_word_and_leaves_nothing(shop: Path, tmp_path: Path, name: str) -> None:
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    before = listing(shop)
    with subprocess.Popen(
        [SCRIPT, "mine", "-", "--output", tmp_path / "release.json"],
        cwd=shop,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        pipe = process.stdin.fileno()
        os.write(pipe, b"39 48\n" * 1000)
        # When it has taken what there was it waits for more.
        wait_until(lambda: fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) == bytes(4))
        time.sleep(0.2)
        assert list(tmp_path.iterdir()) == []  # nothing is there before it is whole
        process.send_signal(getattr(signal, name))
        wait_until(lambda: process.poll() is not None)
        said = process.stdout.read(), process.stderr.read()
    assert process.returncode == 128 + getattr(signal, name)
    assert said == (b"", b"")
    assert list(tmp_path.iterdir()) == []
    assert listing(shop) == before


@pytest.mark.full
@pytest.mark.parametrize(
    "arguments", [["mine", "baskets.dat"], ["mine", "baskets.dat", "--format", "json"], ["--help"]]
)
@pytest.mark.one_in(2)
def test_a_closed_pipe_is_quiet(shop: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [SCRIPT, *arguments],
        cwd=shop,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        env=environment(),
        timeout=PATIENCE,
    )
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode != 0


# ---------------------------------------------------------------------------------------------- help

DEFAULTS = ["2", "(1.0)", "1e-06", "auto", "add-remove", "(1)", "(table)"]


def test_help_lists_every_option_its_default_and_an_example(shop: Path) -> None:
    done = process(shop, "mine", "--help", env=environment(COLUMNS="200"))
    assert (done.stderr, done.returncode) == ("", 0)
    options = {f"--{name.replace('_', '-')}" for name in options_of(MineOptions) if name != "progress"}
    assert [option for option in options if not re.search(rf"{option}\s", done.stdout)] == []
    assert [default for default in DEFAULTS if f"[default: {default}]" not in done.stdout] == []
    assert "Example: fim-private mine" in done.stdout


def test_help_of_the_whole(shop: Path) -> None:
    for flag in ("--help", "-h"):
        done = run(shop, flag)
        assert (done.stderr, done.returncode) == ("", 0)
        assert "mine" in done.stdout
        assert "Example: fim-private mine" in done.stdout


def test_version(shop: Path) -> None:
    done = run(shop, "--version")
    assert (done.stdout, done.stderr, done.returncode) == (VERSION, "", 0)


# ------------------------------------------------------------------------- files and streams of odd kinds


@pytest.mark.full
def test_columns_fields_and_values_named_like_parameters_keep_their_names(shop: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"max_rank": [1], "size": [{"max_work": 1}]}), tmp_path / "size.parquet")
    done = run(tmp_path, "mine", "size.parquet")
    assert_refused(done)
    assert done.stderr == (
        "Error: 'size.parquet' has no list column: name it with --items, or --basket and --item for one row per item, "
        "or say --input-format one-hot where each column is an item; it has the columns 'max_rank' (int64), "
        "'size' (struct<max_work: int64>)\n"
    )
    done = run(shop, "mine", "baskets.dat", "--mechanism", "top")
    assert_refused(done)
    assert re.fullmatch(r"Error: --mechanism must be one of [a-z, -]+, not 'top'\n", done.stderr)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mine", "baskets.dat", "--max-rank", "0"], "--max-rank must be"),
        (["mine", "baskets.dat", "--epsilon", "0"], "--epsilon must be"),
        (["mine", "baskets.dat", "--max-work", "0"], "--max-work must be"),
        (["mine", "baskets.dat", "--supports-share", "0.5"], "--supports-share goes with --supports: "),
        (["mine", "baskets.dat", "--max-baskets", "3"], "--max-baskets goes with --max-basket and --user: "),
        (["mine", "baskets.dat", "--union"], "--union goes with several sizes: "),
        (["plan", "--max-baskets", "3"], "--max-baskets goes with --max-basket: "),
    ],
)
def test_parameters_are_named_as_options(shop: Path, words: list[str], message: str) -> None:
    done = run(shop, *words)
    assert_refused(done)
    assert done.stderr.startswith(f"Error: {message}")


def test_the_output_may_not_be_an_input(shop: Path) -> None:
    for arguments in (
        ["little.dat", "--output", "./little.dat"],
        ["baskets.dat", "--catalogue", "one.csv", "--output", "one.csv"],
    ):
        before = listing(shop)
        done = run(shop, "mine", *arguments)
        assert_refused(done)
        assert "it is an input" in done.stderr
        assert listing(shop) == before


@pytest.mark.full
def test_closed_streams(shop: Path) -> None:
    for redirection, reason in ((">&-", "standard output is closed"), ("- <&-", "standard input is closed")):
        name = "" if redirection.startswith("-") else "baskets.dat"
        done = subprocess.run(
            ["bash", "-c", f"exec {SCRIPT} mine {name} {redirection}"],
            cwd=shop,
            capture_output=True,
            encoding="utf-8",
            env=environment(),
            timeout=PATIENCE,
        )
        assert_refused(done)
        assert reason in done.stderr


@pytest.mark.full
def test_a_pipe_by_name_is_refused_instead_of_hanging(shop: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.dat")
    done = run(shop, "mine", tmp_path / "pipe.dat")
    assert_refused(done)
    assert "is no regular file" in done.stderr


def test_an_output_without_greek_letters(shop: Path) -> None:
    done = process(shop, "mine", "baskets.dat", env=environment(PYTHONUTF8="0", PYTHONIOENCODING="ascii"))
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.isascii()
    assert "epsilon = 1" in done.stdout
    assert "\\u" not in done.stdout


def test_a_label_cannot_write_on_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2Jgone"
    (tmp_path / "evil.csv").write_text(f"{evil},tea\n" * 700)
    done = run(tmp_path, "mine", "evil.csv")
    assert "\x1b" not in done.stdout
    assert r"\x1b[2Jgone" in done.stdout


# --------------------------------------------------------------------------------------- long counts


@pytest.fixture(scope="session")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six equal baskets of 400 items: C(400, 6) itemsets of support 6, which nobody could count one by one."""
    path = tmp_path_factory.mktemp("endless") / "endless.dat"
    path.write_text((" ".join(map(str, range(400))) + "\n") * 6)
    return path


@pytest.mark.full
def test_a_count_out_of_reach_is_refused_with_one_line(endless: Path, tmp_path: Path) -> None:
    release = tmp_path / "release.json"
    done = run(
        endless.parent,
        *("mine", str(endless), "--size", "6", "--mechanism", "exponential", "--universe-size", "1000"),
        *("--output", str(release)),
    )
    assert (done.stdout, done.returncode) == ("", 2)
    assert re.fullmatch(
        r"Error: counting every itemset of size 6 in these baskets would take up to 3\.2e13 steps, more than "
        r"--max-work = 1\.0e11: ask for a smaller size, use large-margin, .* or raise --max-work\n",
        done.stderr,
    )
    assert not release.exists()


def test_a_count_that_goes_on_and_on_is_given_up_with_one_line(endless: Path) -> None:
    done = run(endless.parent, "mine", str(endless), "--size", "6", "--max-work", "1000000")
    assert (done.stdout, done.returncode) == ("", 2)
    assert re.fullmatch(r"Error: .* took more than --max-work = 1\.0e6 steps: .*\n", done.stderr)


def test_progress_is_shown_on_a_terminal_and_ctrl_c_ends_the_count(endless: Path) -> None:
    import pty

    command = [str(SCRIPT), "mine", str(endless), "--size", "6", "--max-work", "1000000000000000"]
    reader, terminal = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=environment()) as process:
        os.close(terminal)
        shown = b""
        while b"Counting itemsets" not in shown:
            shown += os.read(reader, 1 << 16)
        process.send_signal(signal.SIGINT)
        while True:  # the terminal's buffer is small: read on, or the process waits for us
            try:
                if not os.read(reader, 1 << 16):
                    break
            except OSError:
                break
        assert process.wait(timeout=PATIENCE) == 130
        assert process.stdout is not None
        assert process.stdout.read() == b""
    os.close(reader)
