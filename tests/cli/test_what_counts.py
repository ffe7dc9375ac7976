"""What counts, on the command line: columns of items, lists, users together."""

import json
from pathlib import Path

import pytest
from commands import run

# Two stores, and a third that nobody asks for.
ROWS = [
    (n % 300, n, "ABC"[n % 3], item, "own" if item == "tea" else "brand")
    for n in range(1800)
    for item in ("tea", "milk", "jam", "bag")[n % 2 :]
]
READ = ("--basket", "order", "--item", "product")
SEGMENTS = ("--by", "store", "--segments", "A,B")


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    lines = ["customer,order,store,product,brand", *(",".join(map(str, row)) for row in ROWS)]
    (tmp_path / "sales.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "left.txt").write_text("bag\n")
    return tmp_path


def test_each_segment_has_its_table(sales: Path) -> None:
    words = ("mine", "sales.csv", *READ, *SEGMENTS, "--exclude", "left.txt")
    done = run(sales, *words, "--supports", "--seed", "1")
    assert done.returncode == 0
    heads = [line.split(" ──")[0] for line in done.stdout.splitlines() if line.startswith("store ")]
    assert heads == ["store A", "store B"]
    assert done.stdout.count("By a public list, 1 item is left out: bag.") == 1
    one_segment = "A basket counts in one segment: of those that its rows name, the first"
    assert [done.stdout.count(said) for said in (one_segment, "NOT PRIVATE")] == [1, 1]
    assert "{jam, milk}" in done.stdout
    assert "bag}" not in done.stdout


def test_a_least_lift_that_there_is_not_is_refused_before_anything_is_spent(sales: Path) -> None:
    words = ("mine", "sales.csv", *READ, "--user", "customer", "--together", "basket", "--rules")
    run(sales, "budget", "create", "b.ledger", "--epsilon", "3", "--delta", "1e-5")
    charged = ("--ledger", "b.ledger", "--dataset", "sales")
    done = run(sales, *words, *charged, "--min-lift", "1.2", "--output", "out.json")
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: --min-lift of users needs --together user: lift 1 would")
    assert not (sales / "out.json").exists()
    budget = json.loads(run(sales, "budget", "show", "b.ledger", "--format", "json").stdout)
    assert budget["entries"] == []
    rules = ("--min-confidence", "0.1", "--top", "3", "--epsilon", "9", "--seed", "1")
    fine = run(sales, *words, *rules)
    assert fine.returncode == 0
    assert "No lift is shown: " in fine.stdout
    assert "--together user gives them lifts." in fine.stdout


def test_visits_split_cells_and_folded_letters(tmp_path: Path) -> None:
    lines = [f'C{n % 300},{n // 300},"{"Tea, milk" if n % 2 else "TEA,Jam"}"' for n in range(3000)]
    (tmp_path / "visits.csv").write_text("\n".join(["customer,date,items", *lines]) + "\n")
    (tmp_path / "left.txt").write_text("JAM\n")
    read = ("--basket", "customer", "--basket", "date", "--item", "items")
    refused = run(tmp_path, "mine", "visits.csv", *read)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "say --split ',', or --input-format long" in refused.stderr
    options = (*read, "--split", ",", "--fold-case")
    words = ("--exclude", "left.txt", "--format", "json", "--epsilon", "9", "--seed", "1")
    done = run(tmp_path, "mine", "visits.csv", *options, *words)
    assert [found["items"] for found in json.loads(done.stdout)["itemsets"]] == [["milk", "tea"]]
    assert json.loads(done.stdout)["basket"] == ["customer", "date"]
    seen = run(tmp_path, "inspect", "visits.csv", "--fold-case", "--format", "json").stdout
    command = f"fim-private mine visits.csv --user customer {' '.join(read)} --split , --fold-case"
    assert json.loads(seen)["command"] == command
    table = '[mine]\nbasket = ["customer", "date"]\nsplit = ","\nfold-case = true\n'
    (tmp_path / "options.toml").write_text(table)
    by_file = ("--config", "options.toml", "--item", "items", "--seed", "1")
    from_file = run(tmp_path, "mine", "visits.csv", *by_file)
    assert "A basket is all rows with the same 'customer' and 'date'." in from_file.stdout
