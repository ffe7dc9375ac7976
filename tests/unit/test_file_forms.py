"""Forms of files: JSON Lines, workbooks of Excel, bzip2; and what is refused."""

import bz2
import gzip
import json
import os
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from commands import run
from files_read import LONG, TWO, baskets, refused, written
from workbook_files import Rows, workbook

import fim_private as fim
from fim_private.output.inspections import command_for

ROWS = "order_id,product\n1,milk\n1,bread\n2,milk\n"
LISTS = '{"items": ["milk", "bread"]}\n{"items": ["milk"]}\n'
SHEET: Rows = {1: ["order_id", "product"], 2: [1, "milk"], 3: [1, "bread"], 4: [2, "milk"]}


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.ndjson", "a.jsonl.gz", "a.jsonl.bz2", "a.txt", "a.csv", "a.txt.gz", ""]
)
def test_json_lines_are_read_whatever_they_are_called(name: str, tmp_path: Path) -> None:
    content = LISTS.encode()
    kinds = {"gz": gzip.compress(content), "bz2": bz2.compress(content)}
    packed = kinds.get(name.rpartition(".")[2], content)
    path = written(tmp_path, name or "baskets", packed)
    said: dict[str, Any] = {} if name else {"input_format": "jsonl"}
    data = fim.read_transactions(path, **said)
    assert baskets(data) == TWO
    assert str(data.read_as) == "JSON Lines, one list of items per row: items 'items'"
    if packed == content:  # what is compressed cannot be looked at twice
        reader, writer = os.pipe()
        os.write(writer, packed)
        os.close(writer)
        assert baskets(f"/dev/fd/{reader}", **said) == TWO


def test_one_object_an_item(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"who": "u", "order_id": 1, "product": "milk"},
        {"order_id": 1.0, "product": "bread", "who": "u"},
        {"order_id": 2, "product": "milk", "who": None, "more": {"deep": [[1]]}},
        {"order_id": 3, "product": None},
    ]
    path = written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert baskets(path, **LONG) == [*TWO, set()]
    data = fim.read_transactions(path, user="who", missing_user="drop", **LONG)
    assert (baskets(data), data.units) == ([{"milk", "bread"}], 1)
    assert baskets(path, where="order_id > 1", **LONG) == [{"milk"}, set()]
    assert baskets(str(tmp_path / "*.jsonl"), **LONG) == [*TWO, set()]
    listed = '{"item": "milk", "price": 1}\n{"item": "bread"}\n'
    assert len(fim.read_catalogue(written(tmp_path, "b.jsonl", listed))) == 2


def test_a_value_of_json_means_what_it_says_whatever_else_is_there(tmp_path: Path) -> None:
    values: list[Any] = [
        "tea", 39, "39", 39.0, 1.5, True, None, "2024-01-02", "2024-01-02 00:00:00", "", 2**70,
        "007",
    ]  # fmt: skip
    lines = [json.dumps({"items": [value]}) for value in values]
    expected = [
        {"tea"}, {39}, {39}, {39}, {"1.5"}, {"true"}, set(), {"2024-01-02"},
        {"2024-01-02 00:00:00"}, set(),
    ]  # fmt: skip
    expected += [{str(2**70)}, {"007"}]
    together = baskets(written(tmp_path, "a.jsonl", "\n".join(lines)))
    assert together == expected
    for line, basket in zip(lines, expected, strict=True):
        assert baskets(written(tmp_path, "b.jsonl", line)) == [basket]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"items": [["milk"]]}\n', "is nested deeper than one list of items"),
        ('{"order": {"items": ["milk"]}}\n', "no list column"),
        ('{"items": ' + "[" * 100_000 + "]" * 100_000 + "}\n", "is nested deeper than one list"),
        ('{"items": ["milk"]}\n{"items": "bread"}\n', "both lists and single values"),
        ('{"items": ["milk"]}\n{"items": ["bread"\n', "a line that is not a JSON object"),
        ('{"items": ["\\ud800"]}\n', "an escape that is not a character"),
        ('{"items": ["caf\u00e9"]}\n', "is not UTF-8 text"),
        ('[{"items": ["milk"]}]\n', "a line that is not a JSON object"),
    ],
)
def test_what_is_no_line_of_json(text: str, part: str, tmp_path: Path) -> None:
    refused(written(tmp_path, "a.jsonl", text.encode("latin-1")), part)


def test_no_error_names_what_only_some_lines_of_json_name(tmp_path: Path) -> None:
    """An object may have a name for each item of its basket."""
    lines = [{"order": 1, "milk": 1, "bread 1": 1}, {"order": 2, "tea": 1, "bread 2": 1}]
    path = written(tmp_path, "a.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    named: dict[str, Any] = {"basket": "order", "item": "product"}
    for options in ({}, named):
        with pytest.raises(fim.FimPrivateError) as caught:
            fim.read_transactions(path, **options)
        assert "it has 'order' (string), others, whose names" in str(caught.value)
        assert not any(item in str(caught.value) for item in ("milk", "bread", "tea"))
    path = written(tmp_path, "b.jsonl", '{"milk": 1}\n{"tea": 1}\n')
    with pytest.raises(fim.DataError, match="it has columns whose names may be items and are not"):
        fim.read_transactions(path)


def test_a_workbook(tmp_path: Path) -> None:
    sheet: Rows = {
        1: ["order_id", "product", "day", "price", "paid"],
        2: [1, "milk", date(2024, 1, 2), 1.5, True],
        3: [1.0, 39, datetime(2024, 1, 3, 12, 30), None, False],
        5: [2, " 007 ", None, 2],
        6: [2, "NULL"],
        7: [None, "tea"],
    }
    path = written(tmp_path, "a.xlsx", workbook(sheet))
    data = fim.read_transactions(path, **LONG)
    assert baskets(data) == [{"milk", 39}, {"007"}]
    assert str(data.read_as) == "Excel, one item per row: basket 'order_id', item 'product'"
    selected = {"day > '2024-01-02'": {39}, "price = 2": {"007"}, "paid = true": {"milk"}}
    for where, found in selected.items():
        assert baskets(path, where=where, **LONG) == [found]
    days = fim.read_transactions(path, basket="order_id", item="day")
    assert baskets(days)[0] == {"2024-01-02", "2024-01-03 12:30:00"}
    unnamed = written(tmp_path, "b.ods.xlsx.copy", path.read_bytes())  # told by what it is
    assert baskets(unnamed, **LONG) == [{"milk", 39}, {"007"}]
    seen = fim.inspect(path)
    assert dict(seen.options) == LONG
    assert seen.last_rows == (("2", "NULL", "", "", ""), ("", "tea", "", "", ""))


def test_sheets(tmp_path: Path) -> None:
    path = written(tmp_path, "a.xlsx", workbook({}, SHEET, {}))
    assert baskets(path, **LONG) == TWO
    hidden = written(tmp_path, "b.xlsx", workbook({1: ["a"]}, SHEET, hidden=[1]))
    assert baskets(hidden, **LONG) == TWO
    several = written(tmp_path, "c.xlsx", workbook(SHEET, SHEET))
    refused(several, "several sheets that are not empty", "CSV", **LONG)
    refused(written(tmp_path, "d.xlsx", workbook({})), "is empty", **LONG)
    refused(path, "has no column 'product name'", basket="order_id", item="product name")
    with pytest.raises(fim.ParameterError, match="delimiter"):
        fim.read_transactions(path, **LONG, delimiter=",")


def test_a_few_kilobytes_of_workbook_may_ask_for_all_memory(tmp_path: Path) -> None:
    """The reader would end the process: 2 kB that ask for 550 GB, and a long text in many cells."""
    row, last_row = '<row r="1"><c r="A1"><v>1</v></c></row>', '<c r="XFD1048576"><v>1</v></c>'
    cell, text = "<c><v>1</v></c>", '<c t="s"><v>0</v></c>'
    contents = [
        workbook(f'{row}<row r="1048576">{last_row}</row>'),
        workbook(f"<row>{cell * 1000}</row>{'<row/>' * 100_000}<row>{cell}</row>"),
        workbook(f"<row>{text * 10_000}</row>", strings=["x" * 30_000]),
        workbook(" " * 30_000_000),
    ]
    for number, content in enumerate(contents):
        path = written(tmp_path, f"{number}.xlsx", content)
        assert len(content) < 200_000
        for ask in (fim.read_transactions, fim.inspect, fim.mine):
            with pytest.raises(fim.MemoryLimitError):
                ask(path, **LONG, max_memory="40MB")


@pytest.mark.parametrize(
    "cell",
    [
        '<c r="A9999999999999999999999999999991"><v>1</v></c>',
        '<c r="xfd1048576"><v>1</v></c>',
        '<c q=">" r="XFD1048577"><v>1</v></c>',
        '<c r="A1" r="XFD1048576"><v>1</v></c>',
        "<c q=' r=\"A1\"' r = 'ZZZ1'><v>1</v></c>",
        '<c r="A1"r="XFD1048576"><v>1</v></c>',
        """<!-- <c a=" --><c r='XFD1048576'><v>1</v></c><x q="/> "/>""",
    ],
)
def test_places_that_no_sheet_has(cell: str, tmp_path: Path) -> None:
    """What the reader might take for the last corner of a sheet."""
    path = written(tmp_path, "a.xlsx", workbook(f'<row r="1">{cell}<c r="B1"><v>2</v></c></row>'))
    refused(path, "is not a workbook that can be read", **LONG)


def test_a_missing_reader_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    path = written(tmp_path, "a.xlsx", workbook(SHEET))
    for ask in (fim.mine, fim.inspect):
        with pytest.raises(fim.MissingExtraError, match=r"pip install 'fim-private\[excel\]'"):
            ask(path, **LONG)


@pytest.mark.parametrize("name", ["a.csv.bz2", "a.csv", "a.tsv.bz2"])
def test_bzip2_is_read_as_gzip_is(name: str, tmp_path: Path) -> None:
    # as pbzip2 writes it
    packed = bz2.compress(ROWS[:20].encode()) + bz2.compress(ROWS[20:].encode())
    path = written(tmp_path, name, packed)
    assert baskets(path, **LONG) == TWO
    lines = written(tmp_path, "a.dat.bz2", bz2.compress(b"milk bread\nmilk\n"))
    assert baskets(lines) == TWO
    refused(written(tmp_path, "b.dat.bz2", packed[:-20]), "is truncated, damaged")
    refused(written(tmp_path, "c.dat.bz2", "milk\n"), "is truncated, damaged")
    assert fim.inspect(path).baskets == 2


TITLES: dict[str, str | bytes] = {
    "a.csv": "Sales of 2024\n\norder_id,product\n1,milk\n1,bread\n2,milk\n",
    "b.csv": 'Sales,,\n"of 2024",,\norder_id,day,product\n1,x,milk\n1,x,bread\n2,x,milk\n',
    "d.tsv": "Sales\nof 2024\norder_id\tproduct\n1\tmilk\n1\tbread\n2\tmilk\n",
    "f.xlsx": workbook({1: ["Sales of 2024"], **{2 + place: SHEET[place] for place in SHEET}}),
}


@pytest.mark.parametrize("name", [*TITLES])
def test_a_title_is_refused_with_what_leaves_it_out(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, TITLES[name])
    refused(path, "title above", "say skip_rows 2")
    refused(path, "title above", "say skip_rows 2", **LONG)
    assert baskets(path, skip_rows=2, **LONG) == TWO
    seen = fim.inspect(path, skip_rows=2)
    assert dict(seen.options) == {**LONG, "skip_rows": 2}
    assert "--skip-rows 2" in command_for(seen)


_MANY = "order,item\n" + "".join(f"{n},milk\n{n},bread\n" for n in range(50))


def test_inspect_says_which_cell_is_no_cell_of_a_one_hot_table(tmp_path: Path) -> None:
    rows = "tea,milk\n" + "0,1\n1,0\n" * 150 + "1,maybe\n"
    path = written(tmp_path, "a.csv", rows)
    shown = refused(path, "holds other values", input_format="one-hot")
    with pytest.raises(fim.DataError, match="line 302 has 'maybe' in column 'milk'") as caught:
        fim.inspect(path)
    assert str(caught.value).startswith(shown)


RAGGED = "has lines with more or fewer fields than its first line"
STRAY = "is not well-formed CSV; check its double quotes"
# Of each table: where what is wrong with it is, which only inspect says.
DAMAGED = {
    "ragged.csv": (_MANY + "7,milk,bread\n8\n", "line 102 has 3 fields, and the first line 2"),
    "open.csv": (_MANY + '51,"milk\n52,tea\n', "a double quote in line 102 is not closed"),
    "pairs.csv": ("order,item\n" + '1,"milk\n' * 50, "a double quote in line 2 is not closed"),
    "quoted.csv": ('order,item\n1,"milk\nfresh"\n2,tea\n3,tea,jam\n', "line 5 has 3 fields"),
    "titled.csv": ("order;item\n1;milk\n2;tea;jam\n", "line 3 has 3 fields"),
    "after-a-break.csv": (
        'order,item,note\n1,milk,"two\nlines"\n2,tea,-\n2,"jam,-\n',
        "a double quote in line 5 is not closed",
    ),
}


@pytest.mark.parametrize("name", [*DAMAGED])
def test_inspect_says_which_line_of_the_best_guess_is_damaged(name: str, tmp_path: Path) -> None:
    content, line = DAMAGED[name]
    reason = RAGGED if "fields" in line else STRAY
    written(tmp_path, name, content)
    named = ("--basket", "order", "--item", "item")
    mined = run(tmp_path, "mine", name, *named)
    for words in ((), named):
        seen = run(tmp_path, "inspect", name, *words)
        assert (seen.returncode, seen.stdout) == (mined.returncode, mined.stdout) == (2, "")
        assert seen.stderr.startswith(mined.stderr.rstrip())  # the same reason, and where
        assert seen.stderr.count("\n") == 1
        assert reason in seen.stderr
        assert line in seen.stderr
        assert line not in mined.stderr
