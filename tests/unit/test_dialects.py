"""First contact with files: read as what they are, or refused with the option that says how."""

import errno
import gzip
import os
import re
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from files_read import LONG, TWO, baskets, in_every_form, refused, written
from sources import labels_of

from fim_private.errors import DataError, ParameterError
from fim_private.reading import memory as chunk_sizes
from fim_private.reading import text
from fim_private.reading.files import file_errors
from fim_private.reading.labels import Item
from fim_private.reading.lists_in_cells import items_of_cell, split_cells
from fim_private.reading.purchases import read_catalogue, read_transactions


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_lines_at_another_delimiter_are_refused(delimiter: str, tmp_path: Path) -> None:
    content = "milk,bread\nmilk\nmilk,tea,jam\n".replace(",", delimiter)
    path = written(tmp_path, "a.csv", content)
    typed = "tab" if delimiter == "\t" else repr(delimiter)
    refused(path, f"say delimiter {typed}", "or input_format lines")
    assert baskets(path, delimiter=delimiter) == [*TWO, {"milk", "tea", "jam"}]
    assert baskets(path, input_format="lines") == [
        {line} for line in content.splitlines()
    ]  # as asked for


@pytest.mark.parametrize(
    "lines",
    [
        ["milk / milk / milk;bread / eggs, large", "milk"],  # one line with each
        # commas before spaces tell nothing
        ["eggs, large", "eggs, large", "eggs, large", "milk;eggs, large"],
        ["eggs, large", "eggs, large;bread", "milk"],
        ["milk,bread", "milk,tea", "milk;tea"],  # half as many
        ['"eggs, large";"jam, red"', '"eggs, large"', '"jam, red"'],
    ],
)
def test_a_delimiter_as_plausible_as_the_comma_is_refused(lines: list[str], tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "\n".join(lines) + "\n")
    refused(path, "say delimiter ';'", "or input_format lines")
    assert {"milk / milk / milk", "bread / eggs, large"} not in baskets(path, delimiter=",")


@pytest.mark.parametrize("name", ["a.csv", "a.dat"])
@pytest.mark.parametrize("first", ["", "id,items\n"])
def test_an_id_in_front_of_each_basket_is_refused(name: str, first: str, tmp_path: Path) -> None:
    items = ("tea", "milk", "2 eggs")
    lines = [f"{1000 + 3 * n},{','.join(items[: 1 + n % 3])}\n" for n in range(12)]
    text = (first + "".join(lines)).replace(" ", "")
    if name == "a.dat":
        text = text.replace(",", " ")
    path = written(tmp_path, name, text)
    refused(path, "has a number in front of each line", "input_format")
    form = "fimi" if name == "a.dat" else "lines"
    assert {1000, "tea"} in baskets(path, input_format=form)
    assert len(baskets(written(tmp_path, name, text + "2000 7\n2001,7\n"))) > 12


def test_two_columns_of_one_name_are_to_be_renamed(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "order_id,product,product\n1,tea,milk\n")
    assert refused(path, **LONG).endswith("more than one column 'product'; rename all but one")


def test_a_delimiter_may_be_called_by_its_name(tmp_path: Path) -> None:
    names = {"comma": ",", "semicolon": ";", "pipe": "|", "tab": "\t", "\\t": "\t"}
    expected = [{"whole milk", "bread"}, {"whole milk"}]
    for name, character in names.items():
        path = written(tmp_path, "a.txt", f"whole milk{character}bread\nwhole milk\n")
        assert baskets(path, delimiter=name) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 21])
def test_line_ends(end: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if end != "\r\r\n":
        text = "order_id,product\n1,milk\n1,bread\n2,milk\n".replace("\n", end)
        assert baskets(written(tmp_path, "t.csv", text), **LONG) == TWO
        content = "order_id,Item 1,Item 2\n1,milk,bread\n2,milk\n"
        wide = written(tmp_path, "w.csv", content.replace("\n", end))
        assert baskets(wide, basket="order_id", input_format="wide") == TWO
    lines = written(tmp_path, "a.csv", "milk,bread\nmilk\n".replace("\n", end))
    fimi = written(tmp_path, "a.dat", "milk bread\nmilk".replace("\n", end))
    blank = written(tmp_path, "b.dat", "a b\n\nc\n\n\nd\n".replace("\n", end))
    assert read_transactions(blank).baskets == 6
    monkeypatch.setattr(chunk_sizes, "BLOCK_BYTES", size)
    assert baskets(lines) == TWO
    assert baskets(fimi) == TWO


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "cp1252", "latin-1", "utf-16-be"]
)
@pytest.mark.parametrize("size", [4, 5, 9, 1 << 21])
def test_encodings(encoding: str, size: int, tmp_path: Path, monkeypatch: Any) -> None:
    marked = encoding in ("utf-8-sig", "utf-16", "utf-32")
    said: dict[str, Any] = {} if marked else {"encoding": encoding}
    lines = written(tmp_path, "a.csv", "café,thé\ncafé\n", encoding)
    table = written(tmp_path, "b.csv", "order_id;product\n1;café\n1;thé\n2;café\n", encoding)
    wide = written(tmp_path, "c.csv", "order_id;Item 1;Item 2\n1;café;thé\n2;café\n", encoding)
    zipped = written(tmp_path, "d.csv.gz", gzip.compress(table.read_bytes()))
    expected = [{"café", "thé"}, {"café"}]
    for path in (table, zipped):
        assert baskets(path, **LONG, **said) == expected
    assert baskets(wide, basket="order_id", input_format="wide", **said) == expected
    monkeypatch.setattr(chunk_sizes, "BLOCK_BYTES", size)
    assert baskets(lines, **said) == expected


def test_text_of_another_encoding_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "café,thé\ncafé\n", "cp1252")
    refused(path, "is not UTF-8 text", "encoding", "cp1252")
    refused(written(tmp_path, "b.csv", "order_id,product\n1,thé\n", "cp1252"), "UTF-8", **LONG)
    refused(written(tmp_path, "c.csv", b"\x81\x81"), "is not CP1252 text", encoding="cp1252")
    no_mark = "order_id,product\n1,tea\n".encode("utf-16-le")
    refused(
        written(tmp_path, "e.csv", no_mark), "as UTF-16 does: name its encoding, utf-16-le", **LONG
    )
    odd = written(tmp_path, "d.csv", "milk\n".encode("utf-16") + b"\0")
    refused(odd, "is not UTF-16 text")


NO_DIALECTS: dict[str, tuple[str, list[Any]]] = {
    "must be one character": ("delimiter", [",,", "", "a", "\u00e9", '"', "\n", 5]),
    "must be the name": ("encoding", ["no such", "base64", 5, "a\0b"]),
    "must be True or False": ("header", ["yes"]),
    "must be one of long, wide, one-hot, lines, fimi": ("input_format", ["excel"]),
    "must be the name of a column": ("user", [5]),
}


def test_what_is_no_dialect(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "a,b\n")
    for part, (name, values) in NO_DIALECTS.items():
        for value in values:
            refused(path, f"{name} {part}", error=ParameterError, **{name: value})
        said = refused(path, error=ParameterError, **{name: ["tea"]})
        assert re.fullmatch(f"{name} must be .*, not a list", said)
    refused(path, "basket must be the name of a column", error=ParameterError, basket=5, item="i")


def test_a_table_without_names(tmp_path: Path) -> None:
    rows = "".join(f"{order},{item}\n" for order in range(5) for item in range(order, order + 4))
    for suffix, delimiter in (("csv", ","), ("tsv", "\t"), ("txt", "\t"), ("dat", "\t")):
        path = written(tmp_path, f"a.{suffix}", rows.replace(",", delimiter))
        refused(path, "looks like a table", "basket", "item")
    assert read_transactions(written(tmp_path, "b.dat", rows.replace(",", " "))).baskets == 20
    path = tmp_path / "a.csv"
    data = read_transactions(path, header=False, basket="1", item="2")
    assert baskets(data) == [set(range(order, order + 4)) for order in range(5)]
    numbered = ("has no column 'order'", "called 1, 2, and so on")
    refused(path, *numbered, header=False, basket="order", item="2")
    assert read_transactions(path, input_format="lines").baskets == 20
    assert read_transactions(path, header=False, input_format="lines").baskets == 20
    assert read_transactions(path, header=True, input_format="lines").baskets == 19


def test_one_hot_text(tmp_path: Path) -> None:
    hot = ("a.csv", "milk,bread,7\n1,1,0\n1,0,0\n"), ("a.dat", "milk bread 7\n1 1 0\n1 0 0\n")
    for name, content in hot:
        refused(written(tmp_path, name, content), "input_format one-hot")
    csv = tmp_path / "a.csv"
    assert baskets(csv, input_format="one-hot") == TWO
    words = written(tmp_path, "b.csv", "milk;bread;7\nTrue;true;False\nyes;;no\nx;NA;0.0\n;;\n")
    assert baskets(words, input_format="one-hot") == [*TWO, {"milk"}, set()]
    seven = written(tmp_path, "c.csv", "milk,7\n1,1\n")
    assert baskets(seven, input_format="one-hot") == [{"milk", 7}]
    ids = written(tmp_path, "d.csv", "order_id,ann,milk,bread\n5,u,1,0\n5,u,0,1\n6,v,1,0\n")
    refused(ids, "input_format one-hot")
    refused(ids, "column 'order_id'", "holds more than 0 and 1", "basket", input_format="one-hot")
    by_user = read_transactions(ids, input_format="one-hot", basket="order_id", user="ann")
    assert baskets(by_user) == TWO
    assert by_user.units == 2


def test_wide_text(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "No,Item 1,Item 2,Item 3\n1,milk,bread,\n2,milk,,\n")
    refused(path, "'Item 1' to 'Item 3'", "input_format wide")
    assert baskets(path, input_format="wide") == TWO
    rows = "Visit;who;Item 1;Item 2\n1;ann;milk\n1;ann;bread;tea\n2;bob\n3;bob;milk\n"
    ragged = written(tmp_path, "b.csv", rows)
    data = read_transactions(ragged, input_format="wide", basket="Visit", user="who")
    assert baskets(data) == [{"milk", "bread", "tea"}, set(), {"milk"}]
    assert data.units == 2
    by_row = baskets(ragged, input_format="wide", user="who")
    assert by_row[-2:] == [set(), {"milk"}]
    long = written(tmp_path, "c.csv", "Transaction;Item 1;Item 2\n1;milk;tea;jam\n")
    refused(long, "more or fewer fields", input_format="wide")
    open_quote = written(tmp_path, "e.csv", 'Transaction,Item 1,Item 2\n1,"milk,bread\n2,tea,jam\n')
    refused(open_quote, "double quotes", input_format="wide")
    others = written(tmp_path, "d.csv", "first,second\nmilk,bread\nmilk,\n")
    assert baskets(others, input_format="wide") == TWO
    with pytest.raises(ParameterError, match="item does not go with input_format wide"):
        read_transactions(pa.table({"a": [1], "b": [1]}), input_format="wide", basket="a", item="b")


SPMF = "1 3 -1 2 -1 -2\n1 -1 1 3 -1 -2\n4 -1 -2\n"


@pytest.mark.parametrize("name", ["a.txt", "a.dat"])
def test_sequences_of_spmf(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, SPMF)
    refused(path, "input_format spmf", "input_format fimi")
    assert baskets(path, input_format="fimi")[0] == {1, 2, 3, -1, -2}
    named = written(tmp_path, "a.spmf", SPMF)
    for source, options in ((path, {"input_format": "spmf"}), (named, {})):
        data: Any = read_transactions(source, **options)  # type: ignore[arg-type]
        assert baskets(data) == [{1, 3}, {2}, {1}, {1, 3}, {4}]
        assert data.unit_offsets.tolist() == [0, 2, 4, 5]


def test_names_and_comments_of_spmf(tmp_path: Path) -> None:
    head = "@CONVERTED_FROM_TEXT\n@ITEM=1=apple\n@ITEM=2=pear tree\n# nothing\n"
    path = written(tmp_path, "a.txt", head + "1 -1 2 1 -1 -2\n\n-2\n3\n")
    refused(path, "input_format spmf")
    data = read_transactions(path, input_format="spmf")
    assert baskets(data) == [{"apple"}, {"apple", "pear tree"}, set(), {3}]
    assert data.units == 3
    late = written(tmp_path, "b.txt", "7 -1 -2\n@ITEM=7=apple\n7 -1 -2\n")
    refused(late, "names an item", "put these lines first", input_format="spmf")
    with pytest.raises(
        ParameterError, match="user cannot be used with sequences, where there are no"
    ):
        read_transactions(path, input_format="spmf", user="u")


def test_a_refusal_quotes_no_line_of_data(tmp_path: Path) -> None:
    assert "Jane" not in refused(written(tmp_path, "a.csv", "house of Jane Doe,goods,order,item\n"))
    items = pa.table({"bread": [1, 0], "HIV test": [1, 0], "tea": [0, 0], "milk": [1, 1]})
    assert "HIV" not in refused(items, "no column 'u'", user="u")


def test_paths_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(tmp_path / ("x" * 300), "cannot be read: file name too long; see to that")
    refused("a\0b.csv", "NUL")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refused(tmp_path / "loop", "cannot be read: too many levels of symbolic links; see to that")
    refused(written(tmp_path, "a.csv", "x\n") / "b.csv", "is not a folder")
    refused("/dev/zero", "is not a regular file")
    monkeypatch.setenv("HOME", str(tmp_path))
    written(tmp_path, "home.dat", "milk bread\nmilk\n")
    assert baskets("~/home.dat") == TWO
    assert baskets(Path("~/home.dat")) == TWO
    refused("~nobody-at-all/x.csv", "does not exist")


def test_what_the_system_refuses() -> None:
    for number, problem in (
        (errno.EMFILE, "cannot be read: too many open files; see to that, and try again"),
        (errno.EIO, "cannot be read: input/output error; see to that, and try again"),
        (None, "is truncated, damaged or not of the form its name says; write it again"),
    ):
        with pytest.raises(DataError) as caught, file_errors("'a.csv'"):
            raise OSError(number, "") if number else OSError("no thrift")
        assert str(caught.value) == f"'a.csv' {problem}"
    with pytest.raises(DataError, match="of a type that cannot be read"), file_errors("'a.csv'"):
        raise pa.ArrowNotImplementedError
    for error in (OSError(errno.ENOMEM, ""), MemoryError(), pa.ArrowMemoryError()):
        with pytest.raises(MemoryError), file_errors("'a.csv'"):
            raise error


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"milk bread\nmilk\n", {}),
        (b"order_id;product\n1;milk\n1;bread\n2;milk\n", LONG),
        (gzip.compress(b"order_id,product\n1,milk\n1,bread\n2,milk\n", mtime=0), LONG),
        ("milk bread\nmilk\n".encode("utf-16"), {}),
    ],
)
def test_pipes(content: bytes, options: dict[str, Any]) -> None:
    assert baskets(piped(content), **options) == TWO


def piped(content: bytes) -> str:
    """The path of an open pipe with this content, as a shell's <(command) is one."""
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    return f"/dev/fd/{reader}"


def test_pipes_that_are_refused(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"items": [["a"]]}), tmp_path / "a.parquet")
    for content, part in (
        ((tmp_path / "a.parquet").read_bytes(), "is not text, and can be read only once"),
        (b"", "is empty"),
        (b"bakery life,milk\nmilk,tea\n", "seems to be separated by ','"),
    ):
        refused(piped(content), part)
    # It may wait for ever for who writes it.
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "is not a regular file; send it to standard input and name it -")


WORDS = "WAHR FALSCH, ja nein, Yes No, TRUE false, VRAI FAUX, T F, 3 0, 0.5 0.0, 2e3 0e3, 10 NA"
PAIRS = [*(words.split() for words in WORDS.split(", ")), ["x", ""], ["+1", ""], ["0,5", "0,00"]]


@pytest.mark.parametrize(("yes", "no"), PAIRS)
@pytest.mark.every_case
def test_one_hot_text_is_read_as_people_write_it(yes: str, no: str, tmp_path: Path) -> None:
    rows = [(yes, no, yes), (no, yes, yes), (yes, no, no), (no, no, no)]
    lines = "".join(";".join(row) + "\n" for row in rows * 5)
    path = written(tmp_path, "a.csv", f"tea;milk;jam\n{lines}")
    refused(path, "input_format one-hot", delimiter=";")
    read = read_transactions(path, delimiter=";", input_format="one-hot")
    assert baskets(read) == [{"tea", "jam"}, {"milk", "jam"}, {"tea"}, set()] * 5
    frame = pd.DataFrame(rows * 5, columns=["tea", "milk", "jam"])
    for table in (frame, pa.Table.from_pandas(frame), pl.from_pandas(frame)):
        assert baskets(table, input_format="one-hot") == baskets(read)


@pytest.mark.parametrize(
    ("cells", "split"),
    [
        (["a, b, c", "b", "c,a"], ","),
        (["['a', 'b', 'c']", "['b']", '["c", "a"]'], ","),
        (["{a,b,c}", "{b}", "{c,a}"], ","),
        (["a|b|c", "b", "c|a"], "|"),
        (["a;b; c", "b;", "c;a"], ";"),
        (["a\tb\tc", "b", "c\ta"], "tab"),
    ],
)
@pytest.mark.every_case
def test_lists_in_cells_name_what_splits_them(cells: list[str], split: str, tmp_path: Path) -> None:
    expected = [{"a", "b", "c"}, {"b"}, {"c", "a"}]
    frame = pd.DataFrame({"order": [1, 2, 3], "items": cells})
    frame.to_csv(tmp_path / "a.csv", index=False)
    pyarrow.parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet")
    named: Any = {"basket": "order", "item": "items"}
    shown = "tab" if split == "tab" else repr(split)
    for source in (tmp_path / "a.csv", tmp_path / "a.parquet", frame, pl.from_pandas(frame)):
        refused(source, f"say split {shown}", "input_format long", **named)
        assert baskets(source, split=split, **named) == expected
        assert baskets(source, split=split, items="items") == expected
        whole = baskets(source, input_format="long", **named)
        assert whole == [{cell.strip()} for cell in cells]


@pytest.mark.parametrize(
    "cells",
    [["eggs, large", "milk", "tea", "jam"], ["milk", "a;b"], ["tea (green)", "milk"], ["1", "2"]],
)
def test_names_with_a_comma_here_and_there_are_items(cells: list[str]) -> None:
    items = [cells[n % len(cells)] for n in range(300)]
    frame = pd.DataFrame({"order": [n // 3 for n in range(300)], "item": items})
    found = read_transactions(frame, basket="order", item="item").vocabulary
    assert {*map(str, labels_of(found))} == {*cells}


@pytest.mark.parametrize(
    ("cell", "split", "items"),
    [
        ("['a, b', 'c']", ",", ["a, b", "c"]),
        ("[\"it's\", 'b']", ",", ["it's", "b"]),
        ("d'or, l'eau", ",", ["d'or", "l'eau"]),
        ("'a' b, c", ",", ["'a' b", "c"]),
        ("['a' 'b c'\n 'd']", " ", ["a", "b c", "d"]),
        (",, a ,", ",", ["a"]),
        ("[]", ",", []),
        ("[a", ",", ["[a"]),
    ],
)
@pytest.mark.every_case
def test_a_cell_is_split_by_itself(cell: str, split: str, items: list[str]) -> None:
    assert items_of_cell(cell, split) == items
    lists = split_cells(pa.array([cell, None, cell]).dictionary_encode(), split)
    assert lists.to_pylist() == [items, None, items]


def test_limits_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_MOST_COLUMNS", 3)
    hot = written(tmp_path, "a.csv", "a,b,c,d\n1,0,1,0\n")
    refused(hot, "has more than 3 columns; write it with one row per item", input_format="one-hot")
    monkeypatch.setattr(chunk_sizes, "BLOCK_BYTES", 8)
    monkeypatch.setattr(text, "_LONGEST_LINE", 16)
    said = "has a line of more than 64 MiB; write one basket a line"
    refused(written(tmp_path, "a.dat", "1 " * 40), said)
    refused(tmp_path, "is one of several texts, which need columns: name basket and item")


def test_what_cannot_be_split(tmp_path: Path) -> None:
    frame = pd.DataFrame({"order": [1, 2], "number": [1, 2], "list": [["a"], ["b"]]})
    frame["more"] = ["a,b", "c,d"]
    table = pa.Table.from_pandas(frame)
    refused(table, "does not hold texts to split", basket="order", item="number", split=",")
    refused(table, "does not hold texts to split", items="list", split=",")
    for options, part in (
        ({"basket": "order", "item": ["more", "number"], "split": ","}, "several"),
        ({"basket": "order", "item": "more", "split": "ab"}, "split must be one character"),
        ({"input_format": "wide", "split": ","}, "leave out split"),
    ):
        with pytest.raises(ParameterError, match=part):
            read_transactions(table.drop_columns(["list"]), **options)
    with pytest.raises(ParameterError, match="split cannot be used with one basket per line"):
        read_transactions(written(tmp_path, "a.csv", "a,b\n"), split=";", input_format="lines")


def test_letters_are_folded_one_label_at_a_time(tmp_path: Path) -> None:
    words = [["Tea", "TEA ", "tea"], ["Stra\u00dfe", "STRASSE"], ["Null", "NONE", "milk"]]
    words.append(["39", "A1", "a1"])
    expected: list[set[Item]] = [{"tea"}, {"strasse"}, {"milk"}, {39, "a1"}]
    lines = written(tmp_path, "a.csv", "".join(",".join(row) + "\n" for row in words))
    assert baskets(lines, fold_case=True, input_format="lines") == expected
    wide = written(tmp_path, "a.txt", "\n".join(" ".join(map(str.strip, row)) for row in words))
    assert baskets(wide, fold_case=True, input_format="fimi") == expected
    assert baskets(words, fold_case=True) == expected
    assert baskets(pa.array(words), fold_case=True) == expected
    rows = [("", str(n), word) for n, row in enumerate(words) for word in row]
    for source in in_every_form(rows, tmp_path):
        assert baskets(source, basket="b", item="i", fold_case=True) == expected
    one_hot = pd.DataFrame({"TEA": [True, False], "tea": [True, True], "Milk": [False, True]})
    assert baskets(one_hot, fold_case=True) == [{"tea"}, {"tea", "milk"}]
    assert len(read_catalogue(["TEA", "tea", "Milk"], fold_case=True)) == 2


def test_several_columns_name_a_basket(tmp_path: Path) -> None:
    rows = [
        ("a", "b | c", "tea"), ("a | b", "c", "milk"), ("a", "b | c", "jam"), ("a", "", "salt"), ("", "c", "oil"),  # noqa: E501
        (" a | b", "c", "tea"), ("a|b", "c", "rye"), ("a\\", "b", "oat"), ("a", "\\b", "fig"),
    ]  # fmt: skip
    named: Any = {"basket": ["u", "b"], "item": "i"}
    expected = [["fig"], ["jam", "tea"], ["milk", "tea"], ["oat"], ["rye"]]
    for source in in_every_form(rows, tmp_path):
        found = baskets(source, **named)
        assert sorted(sorted(map(str, basket)) for basket in found) == expected
        refused(source, "without a user", user="u", **named)
        users = read_transactions(source, user="u", missing_user="drop", **named)
        assert (users.units, users.baskets) == (4, 5)
        with pytest.raises(ParameterError, match="basket names a column twice"):
            read_transactions(source, basket=["b", "b"], item="i")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", '"tea,milk"\n"tea"\n"jam,milk,tea"\n', "lists of items, in quotes or brackets"),
        ("a.txt", '"green tea;milk"\n"tea;jam"\n', "say split ';'"),
        ("a.csv", "{tea,milk}\n{jam,tea}\n", "say split ','"),
        ("a.csv", "0,1,3,0\n2,0,0,1\n0,0,1,1\n", "say input_format one-hot, and turn off header"),
        ("a.dat", "0 1 3 0\n2 0 0 1\n0 0 1 1\n", "say input_format one-hot, delimiter ' '"),
        ("a.csv", "n,y,n,y\ny,y,n,n\nn,n,n,y\n", "looks like a matrix"),
        ("a.csv", "rep,n,y,n,?\ndem,y,y,?,n\nrep,n,n,n,y\n", "looks like a matrix with a value in"),
        ("a.csv", "a::b\nb::c::d\n", "'::' between its values"),
        ("a.csv", "sep=;\nmilk;tea\njam\n", "separated by ';'"),
        ("a.csv", "sep=,\nmilk,tea\njam\n", "a first line that names the delimiter"),
    ],
)
@pytest.mark.every_case
def test_no_basket_per_line_is_named(name: str, content: str, reason: str, tmp_path: Path) -> None:
    """More of them are in test_public_files.py."""
    path = written(tmp_path, name, content)
    form = "lines" if name == "a.csv" else "fimi"
    assert "tea" not in refused(path, reason, f"input_format {form}")
    assert read_transactions(path, input_format=form).baskets >= 2


@pytest.mark.parametrize(
    "content",
    [
        "a b\nc d\na d\n",
        "d\tc\nc\td\ns\tt\n",  # letters that Orange has for types
        "a,a,b\nb,c\nc,c\n",  # what is bought twice
        "1,2\n3,4\n5,6\n",
        "10:30 tea,milk\njam\n",
        "size=L,tea\nmilk\n",
        "p1,p2\np2,p3,p7\n",
        "1,2,3\n2,5\n",
    ],
)
@pytest.mark.every_case
def test_small_baskets_are_no_other_format(content: str, tmp_path: Path) -> None:
    suffix = ".csv" if "," in content else ".tab" if "\t" in content else ".txt"
    data = read_transactions(written(tmp_path, f"a{suffix}", content))
    assert data.baskets == content.count("\n")


R_LINES = '"whole milk" "tea"\n"tea"\n"5"" nails" tea\n'


def test_items_in_quotes_between_spaces(tmp_path: Path) -> None:
    """As R writes them. What a line means follows from this line alone."""
    path = written(tmp_path, "a.txt", R_LINES)
    expected = [{"whole milk", "tea"}, {"tea"}, {'5" nails', "tea"}]
    assert baskets(path) == expected
    assert baskets(path, delimiter=" ") == expected
    csv = written(tmp_path, "a.csv", R_LINES)
    refused(csv, "as R writes them: say delimiter ' '", "input_format lines")
    assert baskets(csv, delimiter=" ") == expected
    as_they_are = baskets(path, input_format="fimi")
    assert as_they_are[0] == {'"whole', 'milk"', '"tea"'}
    later = "1 2\n" * 300
    opened = written(tmp_path, "b.txt", later + '"whole milk\n3" 4\n' + later)
    assert baskets(opened)[299:303] == [{1, 2}, {'"whole', "milk"}, {'3"', 4}, {1, 2}]
    commas = written(tmp_path, "c.txt", '"whole milk","tea"\n"tea"\n"jam","tea"\n')
    refused(commas, "say delimiter ','")


def test_lines_are_split_as_cells_are(tmp_path: Path) -> None:
    lines = ['"tea,milk"', "jam", "{tea, 'red, jam'}", '"[""oil"", milk]"', "", "a,b"]
    path = written(tmp_path, "a.csv", "\n".join(lines) + "\n")
    data = read_transactions(path, split=",")
    expected = [{"tea", "milk"}, {"jam"}, {"tea", "red, jam"}, {"oil", "milk"}, set(), {"a", "b"}]
    assert baskets(data) == expected
    assert str(data.read_as) == "text, one basket per line; each line split at commas"
    assert baskets(path, split=",", header=True) == expected[1:]
    # A line means the same alone as with others.
    for place, line in enumerate(lines):
        alone = written(tmp_path, "b.csv", f"{line}\n")
        assert baskets(alone, split=",") == [expected[place]]
