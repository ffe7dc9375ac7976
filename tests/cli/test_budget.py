"""`fim-private budget`, and --ledger, through real processes."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import refused, run, told

import fim_private as fim
from fim_private.counting.source import LocalSource

BASKETS = "".join(["39 48\n"] * 600 + ["39 41\n"] * 60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Baskets, and a list of itemsets."""
    (tmp_path / "baskets.dat").write_text(BASKETS)
    (tmp_path / "pairs.csv").write_text("39,48\n41\n")
    return tmp_path


CHARGED = ["--ledger", "sales.ledger", "--dataset", "sales"]
MINE = ["mine", "baskets.dat", *CHARGED]
COUNT = ["count", "baskets.dat", "--itemsets", "pairs.csv"]
SHOW = ["budget", "show", "sales.ledger"]


def create(folder: Path) -> fim.Ledger:
    return fim.Ledger.create(folder / "sales.ledger", epsilon=3, delta=1e-5, composition="basic")


def test_from_create_to_refusal(folder: Path) -> None:
    limit = ["--epsilon", "3", "--delta", "1e-5", "--composition", "basic"]
    created = told(run(folder, "budget", "create", "sales.ledger", *limit))
    assert created.startswith("Created sales.ledger. The budget: all releases together are at most")
    first = told(run(folder, *MINE))
    assert "Charged to the budget of sales (entry 1). Left: ε = 2, δ = 9e-06.\n" in first
    second = told(run(folder, *COUNT, *CHARGED, "--format", "json"))
    left = {"epsilon": 1.0, "delta": 9e-6}
    said = {"dataset": "sales", "entry": 2, "left": left, "spent": {"epsilon": 2.0, "delta": 1e-5}}
    id = fim.Ledger(folder / "sales.ledger").statement().terms.id
    assert json.loads(second)["ledger"] == {**said, "id": id}
    error = refused(run(folder, *MINE, "--epsilon", "1.5", "--output", "release.json"), 3)
    assert "epsilon 1 and delta 9e-06 are left, and it takes epsilon 1.5 and delta 1e-06" in error
    assert error.endswith("ask with a smaller --epsilon\n")
    assert not (folder / "release.json").exists()
    shown = told(run(folder, *SHOW))
    assert "mine mechanism=levelwise size=2" in shown
    assert "supports_share=0.1 top=10" in shown
    assert "count itemsets=2" in shown
    assert "│ basic " in shown
    assert shown.endswith("The rest is enough for 1 more like the last.\n")
    statement = json.loads(told(run(folder, *SHOW, "--format", "json")))
    assert statement["left"]["basic"] == {"epsilon": 1.0, "delta": 9e-6}
    assert [entry["command"] for entry in statement["entries"]] == ["mine", "count"]


def test_a_ledger_is_kept_in_zcdp_or_made_with_a_rho(folder: Path) -> None:
    asked = ["--epsilon", "3", "--composition", "zcdp"]
    for name, limit in {"a": asked, "b": ["--rho", "0.25"]}.items():
        created = told(run(folder, "budget", "create", name, *limit, "--delta", "1e-5"))
        assert "by composition in zero-concentrated privacy (zCDP)" in " ".join(created.split())
    assert "ε = 3.3, δ = 1e-05" in created
    told(run(folder, "mine", "baskets.dat", "--top", "10", "--ledger", "b", "--dataset", "sales"))
    shown = told(run(folder, "budget", "show", "b"))
    assert "│ zcdp " in shown
    assert shown.endswith("The rest is enough for 8 more like the last.\n")
    assert json.loads(told(run(folder, "budget", "show", "b", "--json")))["more_like_last"] == 8
    assert "give one of --epsilon and --rho" in refused(
        run(folder, "budget", "create", "c", "--delta", "1e-5")
    )


def test_the_end_tells_what_was_written_and_what_is_left(folder: Path) -> None:
    create(folder)
    written = ["--output", "release.json", "--report", "page.html"]
    done = run(folder, *MINE, *written)
    assert (done.stdout, done.returncode) == ("", 0)
    assert done.stderr == "wrote release.json and page.html; ε 2 left in sales.ledger\n"
    assert {"release.json", "page.html"} <= {file.name for file in folder.iterdir()}
    counted = [*COUNT, *CHARGED, "--output", "c.csv", "--epsilon", "0.5"]
    voted = ["vote", "baskets.dat", *CHARGED, "--question", "most-frequent", "--blocks", "50"]
    ascii_only = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    left = "left in sales.ledger\n"
    ended: list[tuple[list[str], dict[str, str], str]] = [
        (counted, {}, f"wrote c.csv; ε 1.5 {left}"),
        (counted, ascii_only, f"wrote c.csv; epsilon 1 {left}"),
        ([*voted, "--epsilon", "0.5", "--output", "v.json"], {}, f"wrote v.json; ε 0.5 {left}"),
        ([*counted, "--quiet"], {}, ""),
        ([*COUNT, "--output", "c.csv"], {}, "wrote c.csv\n"),
        (["plan", "--output", "plan.json"], {}, "wrote plan.json\n"),
        (["plan", "--output", "-"], {}, ""),
    ]
    for arguments, environment, line in ended:
        assert run(folder, *arguments, **environment).stderr == line
    assert "wrote" not in refused(run(folder, *counted), 3)


def test_an_error_after_the_charge_says_that_it_stands(folder: Path) -> None:
    create(folder)
    error = refused(run(folder, *MINE, "--max-work", "1", "--output", "r.json"))
    assert error.endswith("; the charge stands: ε 2 left in sales.ledger\n")
    assert "the charge stands" not in refused(run(folder, *MINE, "--epsilon", "5"), 3)
    assert not (folder / "r.json").exists()


def test_who_interrupts_it_after_the_charge_is_told_that_it_stands(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Ctrl-C, and by a signal that ends a job."""
    create(folder)

    def interrupted(number: BaseException) -> Callable[..., None]:
        def ends(*_: object, **__: object) -> None:
            raise number

        return ends

    for ending, code, left in ((KeyboardInterrupt(), 130, "2"), (SystemExit(143), 143, "1")):
        monkeypatch.setattr(LocalSource, "items", interrupted(ending))
        done = run(folder, *MINE)
        line = f"Interrupted; the charge stands: ε {left} left in sales.ledger\n"
        assert (done.stderr, done.returncode) == (line, code)


def test_a_ledger_refuses_with_a_code_of_its_own(folder: Path) -> None:
    rows = "".join(f"{n},{n},{n % 3}\n" for n in range(600))
    (folder / "sales.csv").write_text(f"order,who,what\n{rows}")
    create(folder)
    columns = ["mine", "sales.csv", "--item", "what", "--size", "1", *CHARGED, "--basket", "order"]
    assert run(folder, *columns, "--user", "who").returncode == 0
    error = refused(run(folder, *columns, "--user", "order"), 3)
    assert "Give --user 'who', or another ledger, or say --allow-other-unit if both name" in error
    assert run(folder, *columns, "--user", "order", "--allow-other-unit").returncode == 0
    assert "-unit goes with --ledger" in refused(run(folder, *MINE[:2], "--allow-other-unit"))
    refused(run(folder, *columns, "--user", "who", "--neighbors", "replace-one"), 3)
    refused(run(folder, *columns), 3)
    with sqlite3.connect(folder / "sales.ledger") as connection:
        connection.execute("UPDATE entries SET record = '{}' WHERE number = 2")
    connection.close()
    refused(run(folder, *columns, "--user", "who"), 3)
    refused(run(folder, *SHOW), 3)


def test_show_verifies_all_of_it_where_that_is_asked(folder: Path) -> None:
    asked: Any = {"epsilon": 0.5, "delta": 0, "ledger": create(folder), "dataset": "sales"}
    for _ in range(3):
        fim.count(folder / "baskets.dat", [["39"]], **asked)
    text = told(run(folder, *SHOW, "--verify"))
    assert "every entry follows the one before, from the first to the last" in text
    assert json.loads(told(run(folder, *SHOW, "--verify", "--format", "json")))["verified"]
    edit = "UPDATE entries SET record = replace(record, '1/2', '1/3') WHERE number = 2"
    with sqlite3.connect(folder / "sales.ledger") as connection:
        connection.execute(edit)
    connection.close()
    assert "every entry" not in told(run(folder, *SHOW))
    assert "damaged" in refused(run(folder, *SHOW, "--verify"), 3)


ONTO_IT = ["--output", "sales.ledger", "--format", "json"]
CREATE = ["budget", "create", "--epsilon", "1"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*MINE, "--seed", "1"], "--seed and --ledger contradict each"),
        ([*MINE, "--output", "nowhere/release.json"], "does not exist"),
        ([*MINE, *ONTO_IT], "it is an input"),
        ([*CREATE, "sales.ledger", "--delta", "0"], "there is such a file already"),
        ([*CREATE, "new.ledger"], "--delta"),
        (["budget", "show", "baskets.dat"], "is damaged, or no ledger"),
        ([*SHOW, *ONTO_IT], "it is an input"),
        ([*MINE, "--known", "pairs.csv", "--output", "pairs.csv"], "it is an input"),
        ([*MINE, "--with-each", "pairs.csv", "--output", "pairs.csv"], "it is an input"),
    ],
)
@pytest.mark.one_in(4)
def test_errors_are_a_line_and_cost_nothing(folder: Path, arguments: list[str], says: str) -> None:
    create(folder)
    assert says in refused(run(folder, *arguments))
    assert fim.Ledger(folder / "sales.ledger").entries == ()
    assert {file.name for file in folder.iterdir()} == {"baskets.dat", "pairs.csv", "sales.ledger"}
