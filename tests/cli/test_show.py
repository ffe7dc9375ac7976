"""`fim-private show`, and the forms in which a release is written."""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import python_calamine as calamine
from commands import Done
from commands import run as run_in
from real_data import REPOSITORY

import fim_private as fim

SHOP = "datasets/corner_shop.parquet"


def run(*words: str | Path) -> Done:
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
    of_tea = run("show", str(path), "--rules", "--antecedent", "tea bags", "--sort", "lift").stdout
    assert "{tea bags} → {semi-skimmed milk}" in of_tea
    assert "→ {tea bags}" not in of_tea
    goes = run("show", path, "--recommend", "tea bags").stdout
    assert goes.startswith("What goes with {tea bags}, surest first\n")
    assert "{tea bags} → {semi-skimmed milk}" in goes
    assert "→ {tea bags}" not in goes
    none = run("show", path, "--recommend", "tea bags", "--recommend", "semi-skimmed milk").stdout
    assert none.startswith("Nothing in this release goes with {semi-skimmed milk, tea bags}.\n")
    made = json.loads(run("show", path, "--recommend", "tea bags", "--json").stdout)
    assert [rule["antecedents"] for rule in made["rules"]][:1] == [["tea bags"]]
    as_json = run("show", str(path), "--format", "json")
    assert len(json.loads(as_json.stdout)["itemsets"]) == 4
    as_csv = run("show", path, "--format", "csv").stdout
    assert as_csv.startswith("item_1,item_2,support,lower,upper,share,doubtful\n")
    as_markdown = run("show", path, "--format", "markdown").stdout
    assert as_markdown.startswith("**The 4 most frequent pairs, by noisy support**")
    again = tmp_path / "again.parquet"
    assert run("show", str(path), "--output", str(again)).returncode == 0
    assert run("show", str(again), "--format", "json").stdout == as_json.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "missing.json"], "Error: 'missing.json' does not exist; check the path"),
        (
            ["show", SHOP],
            f"Error: '{SHOP}' is not a release: load what was saved as .json or .parquet\n",
        ),
        (["mine", SHOP, "--format", "parquet"], "Error: cannot write Parquet to the screen; name"),
        (["mine", SHOP, "--min-lift", "2"], "Error: --min-lift goes with --rules\n"),
        (["mine", SHOP, "--rules", "--min-confidence", "2"], "Error: --min-confidence"),
        (["mine", SHOP, "--rules", "--size", "1"], "Error: --rules needs itemsets of two items"),
        (["mine", SHOP, "--report", "missing/p.html"], "Error: cannot write 'missing/p.html':"),
        (["mine", SHOP, "--report", "/"], "Error: cannot write '/': it names a folder; name"),
        (["mine", SHOP, "--report", "."], "Error: cannot write '.': it is a folder; give --report"),
        (["show", SHOP, "--format", "xlsx"], "Error: cannot write a workbook of Excel"),
        (
            ["mine", SHOP, "--report", "p.html", "--output", "p.html", "--format", "json"],
            "Error: cannot write 'p.html': it is --output; ",
        ),
    ],
)
@pytest.mark.one_in(4)
def test_what_cannot_be_shown_is_one_line(words: list[str], said: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


RELEASED = (
    "this command writes files that end in .txt, .json, .csv, .xlsx, .md, .parquet, .pq "
    "or .svg; choose another"
)
LEDGER = ["--ledger", "a.ledger", "--dataset", "d"]
ASKED = {
    "mine": ["baskets.dat", *LEDGER],
    "count": ["baskets.dat", "--itemsets", "pairs.csv", "--delta", "0", *LEDGER],
    "show": ["r.json"],
    "vote": ["baskets.dat", "--question", "most-frequent", *LEDGER],
    "changes": ["r.json", "r.json"],
    "inspect": ["baskets.dat"],
    "plan": [],
    "audit": ["--trials", "0"],
    "budget show": ["a.ledger"],
    "report": ["r.json"],
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("endings")
    (folder / "baskets.dat").write_text("1 2\n" * 900)
    (folder / "pairs.csv").write_text("1,2\n")
    fim.mine([[1, 2]] * 900, top=2, seed=1).save(folder / "r.json")
    fim.Ledger.create(folder / "a.ledger", epsilon=30, delta=1e-5)
    return folder


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.every_case
def test_an_ending_that_is_not_written_is_refused_before_the_charge(shop: Path, name: str) -> None:
    before = {file: file.read_bytes() for file in shop.iterdir()}
    said = "a page is HTML" if name == "report" else RELEASED
    if name not in ("mine", "count", "show", "report"):
        said = "this command writes files that end in .txt or .json; choose another --output, or"
    for ending in [".pdf", ".json.gz", ".log"] + [".html"] * (name != "report"):
        done = run_in(shop, *name.split(), *ASKED[name], "--output", f"out{ending}")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"Error: cannot write 'out{ending}': {said}")
        assert done.stderr.count("\n") == 1
    if name in ("mine", "changes"):
        done = run_in(shop, name, *ASKED[name], "--report", "page.pdf")
        assert done.stderr.startswith("Error: cannot write 'page.pdf': a page is HTML; choose a")
    assert {file: file.read_bytes() for file in shop.iterdir()} == before


@pytest.mark.parametrize("name", ["mine", "count", "show"])
@pytest.mark.every_case
def test_a_workbook_or_its_extra(shop: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (shop / "a.ledger").read_bytes()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "xlsxwriter", None)
        done = run_in(shop, name, *ASKED[name], "--output", f"{name}.xlsx")
    assert (done.returncode, done.stdout) == (2, "")
    told = "Error: writing a workbook of Excel needs XlsxWriter: pip install 'fim-private[excel]',"
    assert done.stderr == f"{told} or save as CSV\n"
    assert (shop / "a.ledger").read_bytes() == before
    assert not (shop / f"{name}.xlsx").exists()
    done = run_in(shop, name, *ASKED[name], "--output", f"{name}.xlsx")
    assert done.returncode == 0
    sheet = calamine.load_workbook(shop / f"{name}.xlsx").get_sheet_by_name("itemsets").to_python()
    assert sheet[0][:3] == ["item_1", "item_2", "support"]
    assert sheet[1][:2] == [1, 2]


def test_a_workbook_has_a_sheet_of_rules(shop: Path) -> None:
    asked = ["mine", "baskets.dat", "--top", "1", "--rules", "--seed", "1"]
    done = run_in(shop, *asked, "--output", "rules.xlsx")
    assert done.stderr == "wrote rules.xlsx\n"
    book = calamine.load_workbook(shop / "rules.xlsx")
    assert book.sheet_names == ["itemsets", "rules"]
    head, first, *_ = book.get_sheet_by_name("rules").to_python()
    assert (head[:2], {*first[:2]}) == (["antecedent_1", "consequent_1"], {1, 2})
    assert head[-1] == "doubtful"
    assert isinstance(first[-1], bool)


EMPTY = "Nothing came out. To try: fim-private mine few.dat --top 1 --no-supports "


def test_a_file_without_itemsets_says_so_on_standard_error(shop: Path) -> None:
    (shop / "few.dat").write_text("1 2\n2 3\n")
    for name in ("e.json", "e.csv", "e.txt", "e.xlsx"):
        done = run_in(shop, "mine", "few.dat", "--output", name)
        assert (done.stdout, done.returncode) == ("", 0)
        assert done.stderr == f"{EMPTY}--output {name}\nwrote {name}\n"
    assert run_in(shop, "mine", "few.dat", "--output", "e.csv", "--quiet").stderr == ""
    assert run_in(shop, "mine", "few.dat", "--format", "json").stderr == ""
    done = run_in(shop, "mine", "baskets.dat", "--epsilon", "9", "--output", "e.csv")
    assert "Nothing" not in done.stderr
    done = run_in(shop, "mine", "few.dat", "--min-support", "0.9", "--output", "e.csv")
    assert done.stderr.startswith("Nothing came out. Try a smaller minimum support, a larger")


def test_a_release_without_itemsets_can_be_a_failure(shop: Path) -> None:
    (shop / "few.dat").write_text("1 2\n2 3\n")
    fim.Ledger.create(shop / "few.ledger", epsilon=3, delta=1e-5)
    asked = ["mine", "few.dat", "--ledger", "few.ledger", "--dataset", "d", "--fail-if-empty"]
    done = run_in(shop, *asked, "--output", "failed.json")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith(EMPTY)
    assert done.stderr.endswith(" left in few.ledger\n")
    assert json.loads((shop / "failed.json").read_text())["abstained"] is True
    assert run_in(shop, "mine", "few.dat", "--fail-if-empty").returncode == 4
    assert run_in(shop, "mine", "baskets.dat", "--epsilon", "9", "--fail-if-empty").returncode == 0
    (shop / "stores.csv").write_text("basket,item,store\n1,a,N\n1,b,N\n2,a,N\n")
    segments = ["--basket", "basket", "--item", "item", "--by", "store", "--segments", "N,S"]
    done = run_in(shop, "mine", "stores.csv", *segments, "--fail-if-empty", "--output", "s.json")
    assert (done.returncode, done.stderr.count("Nothing came out. To try: ")) == (4, 1)


@pytest.mark.full
def test_a_page_is_made_at_once_or_later(tmp_path: Path) -> None:
    kept = mined(tmp_path, "r.parquet", "--rules", "--report", str(tmp_path / "first.html"))
    first = (tmp_path / "first.html").read_text()
    assert first.startswith("<!DOCTYPE html>")
    assert "Bought together more often than chance" in first
    later = tmp_path / "later.html"
    done = run("report", kept, "--output", later)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"wrote {later}\n")
    assert later.read_text() == first
    done = run("report", str(kept), "--min-lift", "99")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"wrote {tmp_path / 'r.html'}\n")
    told = "No rule of these itemsets is one that was asked for"
    assert told in (tmp_path / "r.html").read_text()


def test_a_page_names_no_file_and_no_column(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    run("mine", SHOP, "--user", "customer", "--epsilon", "0.001", "--seed", "1", "--report", file)
    page = file.read_text()
    assert "Nothing stood out from the noise." in page
    for word in ("To try", "likely to find", "fim-private mine", "corner_shop", "--user"):
        assert word not in page


def test_a_trend_is_of_single_releases(tmp_path: Path) -> None:
    shop = [["bread", "butter"]] * 400
    stores = pa.table({"store": ["a"] * 400, "items": shop})
    fim.mine(stores, by="store", segments="a", seed=1).save(tmp_path / "stores.json")
    fim.mine(shop, seed=1).save(tmp_path / "all.json")
    done = run_in(tmp_path, "report", "all.json", "stores.json")
    assert done.returncode == 2
    assert "one of these holds several segments or periods" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--figure", "a.gif"], "--figure must be a name that ends in .png, .svg, .pdf"),
        (["--figure-kind", "matrix"], "--figure-kind goes with --figure"),
        (["--figure", "release.json"], "--figure must be a name that ends in"),
        (["--figure", "a.svg", "--figure-kind", "rules"], "mine again with --rules"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(words: list[str], said: str, tmp_path: Path) -> None:
    release = mined(tmp_path, "release.json")
    done = run("show", release, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (REPOSITORY / "a.svg").exists()


@pytest.mark.parametrize(("ending", "head"), [("svg", "<svg"), ("png", "\x89PNG"), ("pdf", "%PDF")])
def test_a_figure_is_written_beside_the_table(ending: str, head: str, tmp_path: Path) -> None:
    release = mined(tmp_path, "release.json", "--rules")
    figure = tmp_path / f"figure.{ending}"
    done = run("show", release, "--figure", figure, "--figure-kind", "network")
    assert (done.returncode, done.stderr) == (0, f"wrote {figure}\n")
    assert done.stdout.startswith(run("show", release).stdout[:40])
    assert figure.read_bytes().startswith(head.encode("latin-1"))


@pytest.mark.parametrize("output", ["a.svg", "./a.svg"])
def test_a_figure_and_the_output_are_two_files(output: str, shop: Path) -> None:
    done = run_in(shop, "show", "r.json", "--figure", "a.svg", "--output", output)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: cannot write 'a.svg': it is --output; choose another --figure\n"
    assert not (shop / "a.svg").exists()


def test_a_page_without_rules_takes_no_options_of_rules(shop: Path) -> None:
    done = run_in(shop, "report", "r.json", "--min-lift", "2", "--output", "q.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: leave out --min-lift: this release was mined without --rules\n"
    assert not (shop / "q.html").exists()
