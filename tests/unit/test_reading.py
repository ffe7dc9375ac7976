import csv
import gzip
import io
import sqlite3
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from files_read import SECRET, baskets, refused, written
from hypothesis import given
from hypothesis import strategies as st
from sources import SOURCES, Item, labels_of, writers

from fim_private.errors import DataError, ParameterError
from fim_private.reading import memory as chunk_sizes
from fim_private.reading.purchases import read_catalogue, read_transactions

NUMBERS: list[list[Item]] = [[39, 48], [], [48, 0, 7, 48], [39], [1000000, 7], [39, 48], []]
NAMES: list[list[Item]] = [["pain", "vin"], ["vin"], [], ["lait", "œufs", "lait"]]
NAMES += [["a.b", "x-1"], ["vin", "pain"]]


@pytest.mark.parametrize("name", SOURCES)
def test_a_form_gives_the_baskets(name: str, tmp_path: Path) -> None:
    for lists in (NUMBERS, NAMES):
        labels = {item for basket in lists for item in basket}
        if name in writers(labels):
            source, options = SOURCES[name]([list(basket) for basket in lists], tmp_path)
            result = read_transactions(source, **options)
            assert baskets(result) == [set(basket) for basket in lists]
            assert labels_of(result.vocabulary) == sorted(labels)
            assert [result.offsets.dtype, result.items.dtype] == ["int64", "int32"]
            assert result.unit_offsets is None


ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 4)), max_size=40)


@pytest.mark.parametrize("ids", ["of a customer", "of the shop", "far apart"])
@given(rows=ROWS)
def test_a_basket_is_all_rows_with_its_id(ids: str, rows: list[tuple[int, int, int]]) -> None:
    """They are in the order of the customer's rows, whether or not others share their ids."""
    customers: dict[int, dict[int, set[int]]] = {}
    for user, basket, item in rows:
        customers.setdefault(user, {}).setdefault(basket, set()).add(item)
    users, numbers, items = np.array(rows, dtype=int).reshape(-1, 3).T
    if ids != "of a customer":
        numbers = 10 * users + numbers
    if ids == "far apart":
        numbers = 10**9 * numbers
    table = pa.table({"user": users, "basket": numbers, "item": items})
    data: Any = read_transactions(table, user="user", basket="basket", item="item")
    in_order = [sorted(labels) for labels in map(set, baskets(data))]
    units = [in_order[start:end] for start, end in pairwise(data.unit_offsets)]
    expected = [[sorted(basket) for basket in unit.values()] for unit in customers.values()]
    assert sorted(units) == sorted(expected)


@pytest.mark.parametrize("name", SOURCES)
def test_chunks_change_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in ("LIST_ROWS", "ONE_HOT_CELLS", "ENTRIES"):
        monkeypatch.setattr(chunk_sizes, size, 2)
    monkeypatch.setattr(chunk_sizes, "BLOCK_BYTES", 5)
    test_a_form_gives_the_baskets(name, tmp_path)


# Labels


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([b"39", b"x", None]), {39, "x"}),
        (pa.array(["39", "x"], pa.string_view()), {39, "x"}),
        (pa.array([2**32 - 1, None], pa.uint32()), {2**32 - 1}),
        (pa.array([5, 2**64 - 1], pa.uint64()), {5, str(2**64 - 1)}),
        (
            pa.array([1.0, -0.0, 2.5, None, float("nan"), 1e20, float("inf")]),
            {0, 1, "2.5", "1" + 20 * "0", "inf"},
        ),
        (pa.array([1.0, 0.1], pa.float32()), {1, "0.1"}),
        (pa.array([True, False]), {"true", "false"}),
        (pa.array([3, 4]).cast(pa.decimal128(38, 0)), {3, 4}),
        (pa.array([0]).cast(pa.date64()).cast(pa.date32()), {"1970-01-01"}),
        (pa.array(["a", None, "b"]).dictionary_encode(), {"a", "b"}),
        (pa.DictionaryArray.from_arrays(pa.array([0, 2, 1]), pa.array(["a", None, "a"])), {"a"}),
        (pa.DictionaryArray.from_arrays(pa.array([0, 2, None]), pa.array([9, 8, 7])), {7, 9}),
        (pa.nulls(2), set()),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_column_types(values: pa.Array, expected: set[Item]) -> None:
    long = pa.table({"b": pa.nulls(len(values), pa.int8()).fill_null(1), "i": values})
    assert baskets(long, basket="b", item="i") == [expected]
    lists = pa.ListArray.from_arrays(pa.array([0, 0, len(values)], pa.int32()), values)
    assert baskets(pa.table({"x": [1, 2], "l": lists})) == [set(), expected]


def test_sparse_zeros_and_repetitions() -> None:
    parts = np.array([0, 2, 1, 3]), np.array([0, 4, 2, 2]), np.array([0, 2, 4, 4])
    stored = scipy.sparse.csr_matrix(parts, shape=(3, 5))
    before = stored.data.copy()
    assert baskets(stored) == [{4}, {2}, set()]
    assert (stored.data == before).all()
    for value in (-1, float("nan")):
        refused(scipy.sparse.csr_matrix(np.array([[1, value]])), "negative numbers or NaN")


def test_the_data_and_the_names_of_one_hot_columns_are_not_shown() -> None:
    data = read_transactions([["secret pill", "tea"]] * 3)
    assert repr(data) == "<Transactions: purchases by basket, not shown>"
    assert repr(data.vocabulary) == "<Vocabulary: labels, not shown>"
    tea = pd.array([True, None], dtype="boolean")
    one_hot = pd.DataFrame({"secret pill": [True, False], "tea": tea, "u": [1, 2]})
    with pytest.raises(DataError, match=r"^the frame has columns of booleans and others") as caught:
        read_transactions(one_hot)
    with pytest.raises(DataError, match=r"^the frame has no column 'v'; it has 'u'") as other:
        read_transactions(one_hot, user="v")
    of_objects = pd.DataFrame({"secret pill": [True, None], "tea": [None, False], "u": ["a", "b"]})
    with pytest.raises(DataError, match="others, whose names may be items") as third:
        read_transactions(of_objects, user="v")
    for one in (caught, other, third):
        assert not any(item in str(one.value) for item in ("pill", "tea"))


@pytest.mark.parametrize("form", ["parquet_lists", "feather_lists", "csv_lines", "fimi_gzip"])
def test_a_file_name_that_is_not_utf8(form: str, tmp_path: Path) -> None:
    source, options = SOURCES[form](NAMES, tmp_path)
    path = tmp_path / f"x\udcff.{source.name.partition('.')[2]}"
    try:
        source.rename(path)
    except (OSError, UnicodeEncodeError):
        pytest.skip("this file system has UTF-8 names only")
    assert baskets(path, **options) == [set(basket) for basket in NAMES]


def test_lines_of_other_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's threads may read when the interpreter is gone."""
    path = tmp_path / "ragged.csv"
    path.write_text("order,product\n1\n")
    monkeypatch.setattr(pa, "PythonFile", None)
    refused(path, "lines with more or fewer fields", basket="order", item="product")


LONG: dict[str, Any] = {"basket": "b", "item": "i"}


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 2\n3")))
    assert baskets("-") == [{1, 2}, {3}]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    refused("-", "standard input is empty")


# Errors


def test_paths_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(tmp_path / "none.dat", "none.dat", "does not exist")
    refused(tmp_path, "folder")
    refused(written(tmp_path, "a.xyz", SECRET), "a.xyz", ".parquet", ".csv", ".dat")
    refused(written(tmp_path, "a.dat", ""), "a.dat", "is empty")
    refused(written(tmp_path, "a.csv", "\ufeff"), "is empty")
    refused(written(tmp_path, "b.dat.gz", gzip.compress(b"")), "b.dat.gz", "is empty")
    parquet = written(tmp_path, "a.parquet", SECRET)
    refused(parquet, "a.parquet", "does not begin as a .parquet file")
    refused(written(tmp_path, "a.arrow", SECRET), "does not begin as a .arrow file")

    def refuse(*_: object) -> None:
        raise PermissionError(SECRET)

    path = written(tmp_path, "p.dat", SECRET)
    monkeypatch.setattr(pa, "OSFile", refuse)
    refused(path, "p.dat", "permissions")


def test_lines_taken_for_a_long_file(tmp_path: Path) -> None:
    # The first line is somebody's basket: the message must not repeat it as a list of columns.
    path = written(tmp_path, "a.csv", f"{SECRET},bread\n")
    assert "bread" not in refused(path, "a.csv", "'b'", **LONG)
    refused(written(tmp_path, "b.csv", "b,i,i\n1,2,3\n"), "more than one", "'i'", **LONG)


def test_columns_that_are_missing_or_several() -> None:
    table = pa.table({"b": [1], "i": [SECRET], "l": [[SECRET]], "m": [[2]], "s": [{"x": SECRET}]})
    refused(table, "several list columns", "'l' (list", "with items, or basket and item")
    without_lists = table.select(["b", "i"])
    refused(without_lists, "no list column", "'b' (int64)", "'i' (string)", "with items")
    refused(table, "no column 'x'", "'b'", "'m'", items="x")
    refused(table, "'i'", "string", "lists", items="i")
    refused(table, "'l'", "lists are named with items", basket="b", item="l")
    refused(table, "'s'", "struct", basket="b", item="s")
    refused(table, "'s'", "struct", basket="s", item="i")
    refused(table, "'l'", "list", user="l", items="m")
    assert read_transactions(table.drop_columns(["m"])).baskets == 1
    refused(pa.table({"n": [[[SECRET]]]}).slice(0, 0), "'n'", "list<")
    wide = pa.table({f"column {letter}": [SECRET] for letter in "abcdefghijklmnopqrstuvwxyzABCD"})
    assert "column z" not in refused(wide, "column t", "10 more")
    doubled = pa.table([[[1]], [1], [2]], ["l", "b", "b"])
    refused(doubled, "more than one column 'b'", basket="b")
    frame = pd.DataFrame([[1, SECRET]], columns=["b", "i"])
    refused(frame, "no column 'x'", "'i'", items="x")
    for index in ("b", ["b", "i"]):
        indexed = frame.assign(n=1).set_index(index)
        refused(indexed, "'b' is in the index", "give frame.reset_index()", basket="b", item="n")
    refused(pd.DataFrame(), "no list column", "; it has no columns")


def test_options_that_contradict_each_other() -> None:
    both = ({"basket": "i", "item": "i"}, {"user": "l", "items": "l"})
    for options in ({"item": "i"}, LONG | {"items": "l"}, *both):
        named = ["item"] if "item" in options else options
        refused(pa.table({"b": [1]}), *named, error=ParameterError, **options)


def test_options_for_sources_without_columns(tmp_path: Path) -> None:
    truth = pd.DataFrame({SECRET: [True]})
    lines = written(tmp_path, "a.csv", f"{SECRET}\n")
    fimi = written(tmp_path, "a.dat", f"{SECRET}\n")
    frames = [truth, pl.from_pandas(truth), truth.to_numpy()]
    in_memory = [[[SECRET]], *frames, scipy.sparse.eye(2), pa.array([[1]])]
    for source in (lines, fimi, *in_memory):
        refused(source, "user", user="u", error=ParameterError)
        refused(source, "items", items="l", error=ParameterError)
    for source in in_memory:
        refused(source, "basket", error=ParameterError, **LONG)
    refused(fimi, "no column 'b' in its first line", **LONG)
    refused(lines, "basket", basket="b", error=ParameterError)
    refused(lines, "items", basket="b", items="i", error=ParameterError)


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ([SECRET], "not str"),
        ([SECRET.encode()], "not bytes"),
        ([5], "not int"),
        ([[True]], "not bool"),
        ([[np.timedelta64(1, "ns")]], "not timedelta64"),
        ([[1, 1.5j]], "not complex"),
        ([np.array(5)], "not ndarray"),
        ([["\ud800"]], "Unicode"),
        (SECRET.encode(), "bytes"),
        (None, "NoneType"),
        ({SECRET: [SECRET]}, "give its values()"),
        ([["tea"], {SECRET: 1}], "pandas.DataFrame(rows)"),
        (pd.Series([{SECRET: 1}]), "pandas.DataFrame(rows)"),
        (pd.DataFrame({"o": [1], "i": [SECRET]}).itertuples(), "pandas.DataFrame(rows)"),
        (io.StringIO(SECRET), "give the path of the file"),
        (csv.reader([SECRET]), "give the path of the file"),
        (csv.DictReader([SECRET]), "give the path of the file"),
        (sqlite3.connect(":memory:").execute("select 1, 'tea'"), "read them into a frame"),
        (pd.DataFrame({"o": [1], "i": [SECRET]}).groupby("o")["i"], "agg(list)"),
        (np.array([[0, 2]]), "more than 0 and 1: give array > 0 if these are quantities"),
        (np.array([["a", "b"]]), "give array.tolist()"),
        (np.array([True]), "two dimensions"),
        (scipy.sparse.coo_array(np.array([1, 0])), "two-dimensional"),
        (pd.DataFrame({SECRET: [0, 2], "beer": [1, 1]}), "a column of the frame holds more than 0"),
        (pd.DataFrame({SECRET: [0, 3]}).astype(pd.SparseDtype(int, 0)), "more than 0 and 1"),
        (pd.Series([SECRET]), "each basket"),
        (pl.Series([SECRET]), "each basket"),
        (pd.DataFrame({"l": [[SECRET], 3]}), "each basket"),
        (pa.table({"l": pa.array([[SECRET.encode() + b"\xff"]])}), "UTF-8"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_objects_that_are_no_baskets(source: Any, part: str) -> None:
    refused(source, part)


def test_columns_of_what_has_none_are_refused_with_what_to_do(tmp_path: Path) -> None:
    named: dict[str, Any] = {"user": "u", "basket": "b", "item": "i"}
    problem = "user, basket and item cannot be used with an iterable of baskets, where there are "
    problem += "no such columns: give a frame, such as pandas.DataFrame(rows)"
    refused([{"u": 1, "b": 2, "i": 3}], problem, error=ParameterError, **named)
    path = written(tmp_path, "a.csv", "milk,bread\n")
    problem = "user cannot be used with one basket per line, where there are no such columns: name "
    refused(path, problem + "basket and item", error=ParameterError, user="u")


def test_rows_of_a_table_in_a_list_are_no_baskets() -> None:
    rows = [(1000 + n // 2, SECRET + "xy"[n % 2]) for n in range(20)]
    for source in (rows, [*map(list, rows)], iter(rows), [(f"A-{n}", item) for n, item in rows]):
        refused(source, "looks like rows of a table", "pandas.DataFrame(rows", "each basket a set")
    assert len(baskets([*map(set, rows)])) == 20
    assert len(baskets(rows[:9])) == 9
    assert len(baskets([*rows, (1, 2, 3)])) == 21
    # Both columns have digits here, but only one has numbers.
    refused([(n, f"{SECRET}{n % 3}") for n in range(20)], "looks like rows of a table")
    # Items that say what they are of: no cells.
    assert len(baskets([[f"age={n}", "of=" + "xy"[n % 2]] for n in range(20)])) == 20


# The catalogue


@pytest.mark.parametrize(
    ("name", "content", "labels"),
    [
        ("a.txt", "olive oil\r\n39\n\n007\n39\n", [39, "007", "olive oil"]),
        ("a.csv", 'Item,price\n"a, b",1\nc,2\n', ["a, b", "c"]),
        ("b.csv", "label;price\nx,y;2\n", ["x,y"]),
        ("a.tsv", "\ufeffproduct\tprice\nc\t2\n", ["c"]),
        ("a.csv.gz", gzip.compress(b"c\nd\n", mtime=0), ["c", "d"]),
    ],
)
def test_lists_in_text(name: str, content: str | bytes, labels: list[Item], tmp_path: Path) -> None:
    assert labels_of(read_catalogue(str(written(tmp_path, name, content)))) == labels


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ([], "no items"),
        ([None], "no items"),
        (5, "not int"),
        ([["a"]], "not list"),
        (np.array(5), "not ndarray"),
        (pa.table({"a": [SECRET], "b": [1]}), "'a' (string)"),
        (pa.table({"item": [SECRET], "label": ["x"]}), "one named item"),
        (pa.table({"item": [[SECRET]]}), "list"),
    ],
    ids=str,
)
def test_things_that_are_no_catalogue(source: Any, part: str) -> None:
    with pytest.raises(DataError) as caught:
        read_catalogue(source)
    assert part in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_empty_catalogue_files(tmp_path: Path) -> None:
    for content in ("", "\n \n", "item\n", "\ufeff"):
        with pytest.raises(DataError, match=r"a\.csv"):
            read_catalogue(written(tmp_path, "a.csv", content))
