"""`fim-private vote` through real processes: the table, JSON, a ledger, errors."""

import json
from pathlib import Path

import pytest
from commands import refused, run, told

import fim_private as fim

BASKETS = "39 48\n" * 600 + "39 41\n" * 60
LIFT = ["--question", "highest-lift", "--min-share", "0.2"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "baskets.dat").write_text(BASKETS)
    rows = "".join(f"c{n // 2},v{n},tea\nc{n // 2},v{n},milk\n" for n in range(400))
    (tmp_path / "visits.csv").write_text("shopper,visit,product\n" + rows)
    return tmp_path


def test_the_table(folder: Path) -> None:
    table = told(run(folder, "vote", "baskets.dat", *LIFT, "--blocks", "60"))
    title = "The highest lift among pairs of items that 20 % of the baskets have, by a vote of 60"
    assert table.splitlines() == [
        f"{title} blocks",
        "    {39, 48}",
        "Each basket went to a random block, and each block gave its best 2 answers.",
        "An answer comes out with 95 % probability once about 38 blocks give it.",
        "Guarantee (vote, ε = 1, δ = 1e-06): adding or removing any one basket changes the "
        "probability of any result by at most a factor e^1 = 2.72, "
        "up to an added probability of 1e-06.",
    ]


def test_json_of_users_charged_to_a_ledger(folder: Path) -> None:
    fim.Ledger.create(folder / "shop.ledger", epsilon=1, delta=1e-5, composition="basic")
    columns = [
        "--basket", "visit", "--item", "product", "--user", "shopper", "--where", "visit <> 'v0'",
    ]  # fmt: skip
    rule = [
        "--question", "highest-confidence", "--min-share", "0.1", "--votes", "1", "--format",
        "json",
    ]  # fmt: skip
    budget = ["--ledger", "shop.ledger", "--dataset", "shop", "--output", "vote.json"]
    done = run(folder, "vote", "visits.csv", *columns, *rule, *budget)
    assert (done.stdout, done.returncode) == ("", 0)
    assert done.stderr == "wrote vote.json; ε 0 left in shop.ledger\n"
    found = json.loads((folder / "vote.json").read_text())
    assert (found["privacy_unit"], found["neighbors"]) == ("user", "add-remove")
    assert (found.get("units"), found["min_share"], found["votes"]) == (None, 0.1, 1)
    assert found["where"] == "visit <> 'v0'"
    assert found["answer"] == {"antecedents": ["milk"], "consequents": ["tea"]}
    left = {"epsilon": 0.0, "delta": 9e-06}
    spent = {"epsilon": 1.0, "delta": 1e-5}
    id = fim.Ledger(folder / "shop.ledger").statement().terms.id
    said = {"dataset": "shop", "entry": 1, "left": left, "spent": spent, "id": id}
    assert found["ledger"] == said


OF_ANOTHER_RELEASE = [
    ["show", "vote.json"],
    ["report", "vote.json"],
    ["statement", "vote.json"],
    ["changes", "vote.json", "vote.json"],
    ["mine", "baskets.dat", "--known", "vote.json"],
    ["mine", "baskets.dat", "--catalogue", "vote.json"],
    ["count", "baskets.dat", "--itemsets", "vote.json"],
]


def test_the_answer_is_no_release_of_itemsets(folder: Path) -> None:
    for question in (LIFT, ["--question", "most-frequent"]):
        run(folder, "vote", "baskets.dat", *question, "--seed", "1", "--output", "vote.json")
        for words in OF_ANOTHER_RELEASE:
            assert refused(run(folder, *words)) == (
                "Error: 'vote.json' is the answer of a vote, which has no itemsets: give a "
                "release of mine or count\n"
            )
