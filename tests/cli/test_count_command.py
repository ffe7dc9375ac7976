"""`fim-private count` through real processes: options, formats, errors, exit codes."""

import json
from pathlib import Path

import pytest
from commands import refused, run, told

BASKETS = "".join(["39 48\n"] * 600 + ["39 41\n"] * 60)
PAIRS = ["count", "baskets.dat", "--itemsets", "pairs.csv"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Baskets, and lists of itemsets."""
    (tmp_path / "baskets.dat").write_text(BASKETS)
    visits = "".join(f"c{n // 2},v{n},tea\n" for n in range(200))
    (tmp_path / "visits.csv").write_text(f"shopper,visit,product\n{visits}")
    (tmp_path / "pairs.csv").write_text("39,48\n41\n39,unicorn\n")
    (tmp_path / "tea.csv").write_text("tea\n")
    return tmp_path


def test_the_table(folder: Path) -> None:
    table = told(run(folder, *PAIRS, "--epsilon", "9"))
    assert "The supports of the 3 itemsets given" in table
    assert "{39, 48}" in table
    assert "{39, unicorn}" in table
    assert "Guarantee (count, ε = 9, δ = 0)" in table


def test_json_and_csv(folder: Path) -> None:
    release = json.loads(run(folder, *PAIRS, "--json", "--seed", "1").stdout)
    assert (release["mechanism"], release["private"], "units" in release) == ("count", False, True)
    itemsets = [[39, 48], [41], [39, "unicorn"]]
    assert [itemset["items"] for itemset in release["itemsets"]] == itemsets
    assert all(itemset["interval"][0] <= itemset["support"] for itemset in release["itemsets"])
    done = run(folder, *PAIRS, "--format", "csv", "--output", "counts.csv")
    assert (done.stdout, done.stderr, done.returncode) == ("", "wrote counts.csv\n", 0)
    header, *_ = (folder / "counts.csv").read_text().splitlines()
    assert header == "item_1,item_2,support,lower,upper,share"
    again = json.loads(run(folder, *PAIRS[:-1], "counts.csv", "--json").stdout)
    assert [itemset["items"] for itemset in again["itemsets"]] == itemsets


def test_users_and_columns(folder: Path) -> None:
    columns = ["--basket", "visit", "--item", "product", "--user", "shopper"]
    words = ["count", "visits.csv", "--itemsets", "tea.csv", *columns, "--json"]
    release = json.loads(run(folder, *words, "--epsilon", "20").stdout)
    assert (release["privacy_unit"], release["neighbors"]) == ("user", "add-remove")
    assert abs(release["itemsets"][0]["support"] - 100) < 5
    assert abs(release["units"] - 100) < 20
    assert "units" not in json.loads(run(folder, *words, "--no-count").stdout)


@pytest.mark.full
def test_standard_input(folder: Path) -> None:
    both = (["-", "--itemsets", "pairs.csv"], BASKETS), (["baskets.dat", "--itemsets", "-"], "41\n")
    for arguments, stdin in both:
        assert "{41}" in told(run(folder, "count", *arguments, stdin=stdin))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["baskets.dat"], "Missing option '--itemsets'"),
        (["-", "--itemsets", "-"], "only one of the purchases and --itemsets can be standard"),
        (["baskets.dat", "--itemsets", "nowhere.csv"], "'nowhere.csv' does not exist; check"),
        (["nowhere.dat", "--itemsets", "pairs.csv"], "'nowhere.dat' does not exist; check"),
        ([*PAIRS[1:], "--epsilon", "0"], "--epsilon must be a number above 0, not 0.0"),
        ([*PAIRS[1:], "--output", "pairs.csv"], "cannot write 'pairs.csv': it is an input"),
        (["visits.csv", "--itemsets", "tea.csv", "--item", "product"], "--item needs --basket too"),
        ([*PAIRS[1:], "--max-work", "3"], "--max-work"),
    ],
)
@pytest.mark.one_in(3)
def test_what_is_wrong_is_said_in_a_line(folder: Path, arguments: list[str], message: str) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert message in refused(run(folder, "count", *arguments))
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
