"""`fim-private show`, and the forms in which a release is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Done
from commands import run as run_in
from real_data import REPOSITORY

SHOP = "datasets/corner_shop.parquet"


def run(*words: str) -> Done:
    return run_in(REPOSITORY, *words)


def mined(folder: Path, name: str, *options: str) -> Path:
    path = folder / name
    done = run("mine", SHOP, "--top", "4", "--seed", "1", "--output", str(path), *options)
    assert (done.returncode, done.stdout) == (0, "")
    return path


@pytest.mark.full
@pytest.mark.parametrize("name", [pytest.param("r.json", marks=pytest.mark.full), "r.parquet"])
def test_a_release_is_shown_again(name: str, tmp_path: Path) -> None:
    path = mined(tmp_path, name, "--rules")
    shown = run("show", str(path), "--rules", "--min-lift", "2")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "association rules of these itemsets, surest first" in shown.stdout
    assert "{semi-skimmed milk, tea bags}" in shown.stdout
    as_json = run("show", str(path), "--format", "json")
    assert len(json.loads(as_json.stdout)["itemsets"]) == 4
    assert run("show", str(path), "--format", "csv").stdout.startswith("item_1,item_2,support,lower,upper,share\n")
    assert run("show", str(path), "--format", "markdown").stdout.startswith(
        "**The 4 most frequent pairs, by noisy support**"
    )
    again = tmp_path / "again.parquet"
    assert run("show", str(path), "--output", str(again)).returncode == 0
    assert run("show", str(again), "--format", "json").stdout == as_json.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "missing.json"], "Error: 'missing.json' cannot be read: No such file or directory\n"),
        (["show", SHOP], f"Error: '{SHOP}' is no release: load what was saved as .json or .parquet\n"),
        (["mine", SHOP, "--format", "parquet"], "Error: cannot write Parquet to the screen; name a file with --output"),
        (["mine", SHOP, "--min-lift", "2"], "Error: --min-lift goes with --rules\n"),
        (["mine", SHOP, "--rules", "--min-confidence", "2"], "Error: --min-confidence must be a number between 0 and "),
        (
            ["mine", SHOP, "--rules", "--size", "1"],
            "Error: --rules needs itemsets of two items or more: raise --size\n",
        ),
        (["mine", SHOP, "--report", "missing/p.html"], "Error: cannot write 'missing/p.html': the folder"),
        (["mine", SHOP, "--report", "/"], "Error: cannot write '/': it names a folder; name a file"),
        (["mine", SHOP, "--report", "."], "Error: cannot write '.': it is a folder; give --report a file name"),
        (["mine", SHOP, "--report", SHOP], f"Error: cannot write '{SHOP}': it is an input; choose another --report"),
        (["mine", SHOP, "--report", "p.html", "--output", "p.html"], "Error: cannot write 'p.html': it is --output; "),
    ],
)
@pytest.mark.one_in(4)
def test_what_cannot_be_shown_is_one_line(words: list[str], said: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


@pytest.mark.full
def test_rules_of_a_release_that_was_not_mined_for_them(tmp_path: Path) -> None:
    done = run("show", str(mined(tmp_path, "r.json", "--supports")), "--rules")
    assert done.returncode == 2
    assert "this release lacks what rules need" in done.stderr
    assert done.stderr.endswith("mine again with --rules\n")


@pytest.mark.full
def test_a_page_is_made_at_once_or_later(tmp_path: Path) -> None:
    kept = mined(tmp_path, "r.parquet", "--rules", "--report", str(tmp_path / "first.html"))
    first = (tmp_path / "first.html").read_text()
    assert first.startswith("<!DOCTYPE html>")
    assert "Bought together more often than chance" in first
    done = run("report", str(kept), "--output", str(tmp_path / "later.html"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"wrote {tmp_path / 'later.html'}\n")
    assert (tmp_path / "later.html").read_text() == first
    done = run("report", str(kept), "--min-lift", "99")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"wrote {tmp_path / 'r.html'}\n")
    assert "No rule of these itemsets has as much" in (tmp_path / "r.html").read_text()


def test_a_page_names_no_file_and_no_column(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run("mine", SHOP, "--user", "customer", "--epsilon", "0.001", "--seed", "1", "--report", str(page))
    assert "Nothing stood out from the noise." in page.read_text()
    assert not {
        word for word in ("To try", "likely to find", "fim-private mine", "fim.mine") if word in page.read_text()
    }
    assert "corner_shop" not in page.read_text()
    assert "--user" not in page.read_text()
