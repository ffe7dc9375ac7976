"""`fim-private inspect`, and what `mine` says on a terminal of how it read a file."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Done, run
from patience import PATIENCE
from real_data import REPOSITORY
from terminals import on_terminal

SCRIPT = Path(sys.executable).with_name("fim-private")
SALES = REPOSITORY / "datasets" / "sales.csv.gz"


@pytest.mark.full
def test_the_command_it_names_runs(tmp_path: Path) -> None:
    done = run(tmp_path, "inspect", str(SALES), "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    seen = json.loads(done.stdout)
    names = ("form", "delimiter", "rows", "users")
    assert [seen[name] for name in names] == ["long", ";", 50840, 6560]
    words = shlex.split(seen["command"])
    assert words[:3] == ["fim-private", "mine", str(SALES)]
    mined = run(tmp_path, *words[1:], "--format", "json")
    assert (mined.returncode, mined.stderr) == (0, "")
    assert json.loads(mined.stdout)["privacy_unit"] == "user"


def test_it_says_that_it_shows_data(tmp_path: Path) -> None:
    done = run(tmp_path, "inspect", str(SALES), "--output", "seen.txt")
    assert done == Done("", "wrote seen.txt\n", 0)
    shown = (tmp_path / "seen.txt").read_text()
    assert shown.startswith("For your eyes only: this shows data and exact counts.")
    assert "6,560 users" in shown
    assert "semi-skimmed milk" in shown
    assert "To mine it: fim-private mine" in shown


def test_what_cannot_be_inspected(tmp_path: Path) -> None:
    (tmp_path / "wrong.csv").write_text("a,b\n1,x\n")
    for words, part in (
        ("none.csv", "'none.csv' does not exist"),
        ("wrong.csv --delimiter ab", "--delimiter must be one character"),
        ("wrong.csv --encoding klingon", "--encoding must be the name of a text encoding"),
        ("wrong.csv --input-format excel", "--input-format must be one of long, wide"),
        ("wrong.csv --basket a --item z", "has no column 'z'"),
    ):
        done = run(tmp_path, "inspect", *words.split())
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith("Error: ")
        assert part in done.stderr
    assert run(tmp_path, "inspect", "-").stderr.startswith("Error: standard input is empty")


@pytest.mark.full
def test_on_a_terminal_it_says_what_it_read() -> None:
    words = [str(SCRIPT), "mine", str(SALES), "--basket", "order_id", "--item", "product"]
    seen = on_terminal(words, stdout=False, env=os.environ)
    assert seen.returncode == 0
    lines = [line for line in seen.screen.splitlines() if line.startswith("Read as ")]
    said = "Read as text, one item per row: basket 'order_id', item 'product'; separated by"
    assert lines == [f"{said} semicolons."]
    assert "column 'customer_id' looks like customers" in " ".join(seen.screen.split())
    assert "50" not in lines[0]
    plain = subprocess.run(words, capture_output=True, timeout=PATIENCE, check=False)
    assert b"Read as" not in plain.stderr
    quiet = on_terminal([*words, "--quiet"], stdout=False, env=os.environ)
    assert (quiet.screen, quiet.returncode) == ("", 0)
    assert quiet.stdout.count("\n") == seen.stdout.count("\n") > 3
