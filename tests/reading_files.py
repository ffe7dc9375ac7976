"""Files of purchases to be read: every type of identifier, and every form that rows can be written
in.

Add a type to TYPES or a form to FORMS; the tests of tests/contract/test_unit_locality.py then cover
it.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from reading_reference import Row
from sources import feather, parquet, polars, stream

from fim_private.reading import memory as chunk_sizes

Values = st.SearchStrategy[Any]


def _integers(bits: int, *, signed: bool) -> Values:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    ends = st.sampled_from([low, low + 1, high - 1, high, 0])
    return ends | st.integers(low, high) | st.integers(max(low, -3), 3)


def _floats(width: Any) -> Values:
    special = st.sampled_from([0.0, -0.0, 1.0, float("nan"), float("inf"), float("-inf")])
    return special | st.floats(width=width)


def _decimals(digits: int) -> Values:
    largest = 10**digits - 1
    # Of text: arithmetic would round to 28 digits.
    numbers = st.sampled_from([0, largest, -largest, 100]) | st.integers(-largest, largest)
    return numbers.map(lambda number: Decimal(f"{number}e-2"))


_WRITTEN = ["", " ", "\u3000", "0", "0.0", "00", "-0", "a", " a", "a ", "A", "\u00e9", "e\u0301"]
_TEXTS = st.sampled_from([*_WRITTEN, "NULL", " NA", "null\t"]) | st.text('ab ,;"\n\t', max_size=3)
_ODD = [b"", b" ", b"\xff", b"7", b"7.0", b"a", b"a ", b"a\0", b"\vNaN", b"NULL"]
_BYTES = st.sampled_from(_ODD) | st.binary(max_size=3)
_MOMENTS = st.integers(-3, 3) | st.integers(-(10**6), 10**6)

# Name, arrow type, values that pa.array takes. Of dates and times the values are the numbers that
# arrow keeps.
TYPES: dict[str, tuple[Any, Values]] = {
    **{
        f"{u}int{bits}": (getattr(pa, f"{u}int{bits}")(), _integers(bits, signed=not u))
        for u in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    **{f"float{bits}": (getattr(pa, f"float{bits}")(), _floats(bits)) for bits in (16, 32, 64)},
    "bool": (pa.bool_(), st.booleans()),
    "decimal128": (pa.decimal128(38, 2), _decimals(38)),
    "decimal256": (pa.decimal256(60, 2), _decimals(60)),
    "date32": (pa.date32(), _MOMENTS.map(lambda day: day % 10**5)),
    "time": (pa.time64("us"), st.integers(0, 86_399_999_999) | st.integers(0, 3)),
    "timestamp": (pa.timestamp("ns"), _MOMENTS | st.integers(-(2**63) + 1, 2**63 - 1)),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), _MOMENTS),
    "duration": (pa.duration("s"), _MOMENTS),
    "string": (pa.string(), _TEXTS),
    "large_string": (pa.large_string(), _TEXTS),
    "string_view": (pa.string_view(), _TEXTS),
    "binary": (pa.binary(), _BYTES),
    "binary_view": (pa.binary_view(), _BYTES),
    "fixed_binary": (
        pa.binary(2),
        st.sampled_from([b"  ", b"\0\0", b"ab"]) | st.binary(min_size=2, max_size=2),
    ),
    "null": (pa.null(), st.none()),
}
if hasattr(pa, "decimal32"):  # pyarrow 19
    TYPES["decimal32"] = pa.decimal32(9, 2), _decimals(9)
    TYPES["decimal64"] = pa.decimal64(18, 2), _decimals(18)
TEXTS = ("string", "large_string", "string_view")
_VIEWS = ("string_view", "binary_view")
_SHORT_DECIMALS = ("decimal32", "decimal64")

# Of each item type: the arrow type, values of few kinds, and whether a value is judged by its text.
ITEM_TYPES: dict[str, tuple[Any, Values, bool]] = {
    "int8": (pa.int8(), st.integers(-1, 4), False),
    "int64": (pa.int64(), st.integers(0, 4) | st.just(-(2**63)), False),
    "uint64": (pa.uint64(), st.integers(0, 4) | st.just(2**64 - 1), True),
    "float64": (pa.float64(), st.sampled_from([0.0, -0.0, 1.0, 2.0, 2.5, float("nan")]), True),
    "string": (
        pa.string(),
        st.sampled_from(
            ["a", "b", "c", "1", "1.0", "01", " 1", "\u00e9", "", "\u3000", "a ", "NA", " nan"]
        ),
        False,
    ),
}


@dataclass(frozen=True)
class File:
    """Rows, and the types of their columns."""

    rows: tuple[Row, ...]
    users: str = "int64"
    baskets: str = "int64"
    items: str = "int64"

    def of(self, rows: Sequence[Row]) -> File:
        return replace(self, rows=tuple(rows))


def long_table(file: File) -> pa.Table:
    """One row per item; a basket without items has a row with a null item."""
    rows = [(user, basket, one) for user, basket, items in file.rows for one in [*items] or [None]]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    kinds = [TYPES[file.users][0], TYPES[file.baskets][0], ITEM_TYPES[file.items][0]]
    named = zip("ubi", columns, kinds, strict=True)
    return pa.table({key: arrow_array(own, kind) for key, own, kind in named})


def arrow_array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """An Arrow array of plain values; pyarrow before 19 takes floats of 16 bits of NumPy alone."""
    if not pa.types.is_float16(kind):
        return pa.array(column, kind)
    values = np.array([0 if value is None else value for value in column], dtype=np.float16)
    return pa.array(values, kind, mask=np.array([value is None for value in column], dtype=bool))


def list_table(file: File) -> pa.Table:
    """One list per row, null if it is empty."""
    users, baskets, items = ([row[place] for row in file.rows] for place in range(3))
    kind = pa.list_(ITEM_TYPES[file.items][0])
    return pa.table(
        {
            "u": arrow_array(users, TYPES[file.users][0]),
            "b": arrow_array(baskets, TYPES[file.baskets][0]),
            "i": pa.array([[*held] or None for held in items], kind),
        }
    )


def dictionaries(table: pa.Table, size: int) -> pa.Table:
    """Encode columns in chunks, each with a dictionary in which values and nulls repeat."""
    columns = []
    for column in table.columns:
        chunks = []
        for start in range(0, max(len(column), 1), size):
            values = column.slice(start, size).combine_chunks()
            places = [len(values) - 1 - place for place in range(len(values))]
            # Every other null is one of the indices, not of the dictionary.
            hidden = [place % 2 == 0 and not values[place].is_valid for place in range(len(values))]
            indices = pa.array(places, pa.int8(), mask=np.array(hidden, dtype=bool))
            given = values.take(pa.array(places, pa.int8()))
            chunks.append(pa.DictionaryArray.from_arrays(indices, given))
        columns.append(pa.chunked_array(chunks))
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def _parquet_folder(table: pa.Table, folder: Path) -> Path:
    for part, start in enumerate(range(0, max(1, len(table)), 4)):
        # Files of one table may keep the same texts in other ways.
        some = table.slice(start, 4)
        if part % 2:
            large = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
            fields = [one.with_type(large.get(one.type, one.type)) for one in some.schema]
            some = some.cast(pa.schema(fields))
        (folder / f"part={part % 3}").mkdir(exist_ok=True)
        parquet(some, folder / f"part={part % 3}" / f"{part}.parquet")
    return folder


def _objects(table: pa.Table) -> pd.DataFrame:
    """Python objects, and every way to say that there is none."""
    nothing = [None, float("nan"), pd.NA, pd.NaT]
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = [nothing[n % 4] if v is None else v for n, v in enumerate(column.to_pylist())]
        columns[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(columns)


def _text(file: File, path: Path, delimiter: str = ",", quoting: Any = csv.QUOTE_MINIMAL) -> Path:
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerow(["u", "b", "i"])
    writer.writerows(row.values() for row in long_table(file).to_pylist())
    content = written.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def _text_folder(file: File, folder: Path) -> Path:
    _text(file.of([]), folder / "none.csv")
    for part, row in enumerate(file.rows):
        _text(file.of([row]), folder / f"{part}.csv")
    return folder / "*.csv"


def _lines(table: pa.Table, path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), encoding="utf-8")
    return path


def _has_items(file: File) -> bool:
    """Whether any row has an item: a list tells that it is one where there is one."""
    return any(item is not None for row in file.rows for item in row[2])


@dataclass(frozen=True)
class Form:
    """A form that a file can be written in.

    ids, items: the types it can hold. has_lists: whether a row holds a list of items. on_disk:
    whether it needs a folder.
    """

    name: str
    write: Callable[[File, Path], Any]
    without: tuple[str, ...] = ()
    ids: tuple[str, ...] = tuple(TYPES)
    items: tuple[str, ...] = tuple(ITEM_TYPES)
    has_lists: bool = False
    on_disk: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", tuple(one for one in self.ids if one not in self.without))

    def __repr__(self) -> str:
        return self.name


_IN_TEXT: dict[str, Any] = {"items": ("int8", "int64", "string"), "on_disk": True}
_IN_TEXT |= {"ids": (*TEXTS, "int8", "int64", "uint64")}
_LISTS: Any = {"has_lists": True}
_SOME: Any = {"items": ("int8", "int64", "string")}
# Arrow cannot take views out of a dictionary; null is no type of a dictionary.
_CODED: Any = {"without": (*_VIEWS, "null")}
_ON_DISK: Any = {"without": _SHORT_DECIMALS, "on_disk": True}
_NO_POLARS: Any = {"without": ("decimal256", *_SHORT_DECIMALS)}
_ALL = [
    Form("arrow_table", lambda file, to: long_table(file)),
    Form("arrow_batches", lambda file, to: long_table(file).to_reader(max_chunksize=3)),
    Form("arrow_dictionaries", lambda file, to: dictionaries(long_table(file), 4), **_CODED),
    Form("parquet", lambda file, to: parquet(long_table(file), to / "a.parquet"), **_ON_DISK),
    Form("parquet_folder", lambda file, to: _parquet_folder(long_table(file), to), **_ON_DISK),
    Form("feather", lambda file, to: feather(long_table(file), to / "a.feather"), on_disk=True),
    Form("arrow_stream", lambda file, to: stream(long_table(file), to / "a.arrows"), on_disk=True),
    Form("arrow_lists", lambda file, to: list_table(file), has_lists=True),
    Form(
        "parquet_lists",
        lambda file, to: parquet(list_table(file), to / "l.parquet"),
        **_ON_DISK,
        **_LISTS,
    ),
    Form("pandas_objects", lambda file, to: _objects(long_table(file)), **_SOME),
    Form(
        "pandas_lists",
        lambda file, to: _objects(list_table(file)) if _has_items(file) else list_table(file),
        **_LISTS,
        **_SOME,
    ),
    # pandas makes floats of integers beside missing ones: those far from 0 would not be themselves.
    Form(
        "pandas",
        lambda file, to: long_table(file).to_pandas(),
        without=("int64", "uint64"),
        items=("int8", "float64", "string"),
    ),
    Form(
        "pandas_categories",
        lambda file, to: long_table(file).to_pandas().astype({"u": "category", "b": "category"}),
        without=("int64", "uint64", "float16", "null"),
        items=("int8", "string"),
    ),
    Form(
        "pandas_arrow",
        lambda file, to: long_table(file).to_pandas(types_mapper=pd.ArrowDtype),
        **_CODED,
    ),
    # Of several chunks they are refused: arrow unifies no dictionaries with nulls.
    Form(
        "pandas_arrow_dictionaries",
        lambda file, to: dictionaries(long_table(file), 100).to_pandas(types_mapper=pd.ArrowDtype),
        **_CODED,
    ),
    Form("polars", lambda file, to: polars(long_table(file)), **_NO_POLARS),
    Form("polars_lists", lambda file, to: polars(list_table(file)).lazy(), **_LISTS, **_NO_POLARS),
    Form(
        "polars_categories",
        lambda file, to: polars(long_table(file)).with_columns(
            pl.col("u", "b").cast(pl.Categorical)
        ),
        ids=TEXTS,
    ),
    Form("csv_rows", lambda file, to: _text(file, to / "a.csv"), **_IN_TEXT),
    Form("csv_folder", _text_folder, **_IN_TEXT),
    Form(
        "csv_rows_quoted",
        lambda file, to: _text(file, to / "q.csv.gz", ";", csv.QUOTE_ALL),
        **_IN_TEXT,
    ),
    Form("tsv_rows", lambda file, to: _text(file, to / "a.tsv", "\t"), **_IN_TEXT),
    # A line without rows has no columns either.
    Form(
        "json_rows",
        lambda file, to: (
            _lines(long_table(file), to / "a.jsonl") if file.rows else _text(file, to / "n.csv")
        ),
        **_IN_TEXT,
    ),
    Form(
        "json_lists",
        lambda file, to: (
            _lines(list_table(file), to / "l.jsonl") if _has_items(file) else list_table(file)
        ),
        **_LISTS,
        **_IN_TEXT,
    ),
]
FORMS = {form.name: form for form in _ALL}


@contextmanager
def small_pieces(size: int) -> Iterator[None]:
    """Read few rows, and few bytes, at a time: baskets and users are spread over pieces."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LIST_ROWS", "LONG_ROWS", "ENTRIES"):
            patch.setattr(chunk_sizes, name, size)
        # Arrow wants a line to fit into half of it.
        patch.setattr(chunk_sizes, "BLOCK_BYTES", 150 + 2 * size)
        yield


@st.composite
def drawn_files(draw: st.DrawFn, form: Form, only: Sequence[str] = ()) -> File:
    """Files of a form: a few users and baskets of one type each, in any order."""
    types = [kind for kind in only or form.ids if kind in form.ids]
    users, baskets, items = (draw(st.sampled_from(kinds)) for kinds in (types, types, form.items))
    pools = [draw(st.lists(TYPES[kind][1], min_size=1, max_size=4)) for kind in (users, baskets)]
    held = st.lists(st.none() | ITEM_TYPES[items][1], max_size=4).map(tuple)
    row = st.tuples(*(st.sampled_from([None, *pool]) for pool in pools), held)
    return File(tuple(draw(st.lists(row, max_size=12))), users, baskets, items)
