"""Cells of CSV: what a reader gets back, and what a spreadsheet would not run."""

import csv
import io
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.release.forms import as_it_was, csv_text

TEXTS = st.text(st.sampled_from("=+-@'\"\t\r\n,;|a1.＝") | st.characters(codec="utf-8"), max_size=6)


@given(st.lists(TEXTS, min_size=2, max_size=4), st.booleans())
@example(["'=x", "=x", "''=x", "'-1", "-1"], True)
def test_cells_come_back(cells: list[str], safe: bool) -> None:
    rows = list(csv.reader(io.StringIO(csv_text([cells], spreadsheet_safe=safe), newline="")))
    assert [[as_it_was(cell) if safe else cell for cell in row] for row in rows] == [cells]


RUN = [
    "=1+1", "+1+1", "-1+1", "@sum(a1)", "\t=1", "\r=1", "\n=1", "＝1", "－tea", "\u200e=1",
    "\ufeff=1", "-1e5", "-",
]  # fmt: skip
STAYS: list[float | str] = ["-1", "+1.5", "tea", "1=1", "'tis", "'-1", "", -1, -1e-20, 1e30, 0.25]
QUOTED = ["tea; milk", "tea, milk", "tea\tmilk", "tea|milk", "tea\nmilk"]


def test_text_that_a_spreadsheet_would_run_is_defused_and_no_other() -> None:
    for text in RUN:
        for safe, expected in ((True, f"'{text}"), (False, text)):
            line = csv_text([[text, 1]], spreadsheet_safe=safe)
            assert next(csv.reader(io.StringIO(line, newline=""))) == [expected, "1"]
    for cell in STAYS:
        assert csv_text([[cell, 1]]) == f"{cell},1\n"
    for text in QUOTED:  # what separates cells anywhere in the world
        assert csv_text([[text, "a"]]) == f'"{text}",a\n'


def test_a_release_as_csv_names_the_same_itemsets(tmp_path: Path) -> None:
    baskets = [["=1+1", "'=x", "-1", "@tea"]] * 900
    release = fim.count(baskets, [["=1+1"], ["'=x", "@tea"], ["-1", "=1+1"]], count=True, seed=1)
    table = release.to_csv()
    assert table.splitlines()[0] == "item_1,item_2,support,lower,upper,share"
    assert "'=1+1,,9" in table
    assert "\n''=x,'@tea,9" in table
    assert "\n'=x,@tea,9" in release.to_csv(spreadsheet_safe=False)
    (tmp_path / "release.csv").write_text(table, encoding="utf-8")
    again = fim.count(baskets, tmp_path / "release.csv", count=True, seed=1)
    counted, expected = ([{*map(str, one.items or ())} for one in own] for own in (again, release))
    assert counted == expected
    assert again.to_csv() == table
