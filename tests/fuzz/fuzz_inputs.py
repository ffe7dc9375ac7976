"""Inputs of all kinds: files, frames, tables, arrays, objects; options."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse
from byte_targets import HOT, LISTS, OBJECTS, SALES, TEXTS, WORKBOOKS
from hypothesis import strategies as st
from reading_files import TYPES

_KINDS = ".csv .tsv .tab .txt .dat .fimi .spmf .csv.gz .dat.gz .CSV .parquet .pq .arrow .feather"
_MORE = ".ipc .arrows .json .jsonl .ndjson.gz .csv.bz2 .xlsx .zip"
SUFFIXES = [*_KINDS.split(), *_MORE.split(), ""]

_PLAIN = (
    "a b milk 1 2 39 007 -1 -2 0 1.5 NULL nan é 漢字 order_id product customer true False x # % -"
)
_TOKENS = st.sampled_from(
    [
        *_PLAIN.split(),
        *("", " ", "whole milk", "Item 1", "Item 2", '"', '""', '"q, r"', "'", "@ITEM=1=a"),
        *("a" * 300, "9" * 30),
        *("\0", "\ufeff", "\x1b[2J", "=1+1", "sep=;", "\u3000", "\u2028"),
    ]
)
_SEPARATORS = st.sampled_from([",", ";", "\t", "|", " ", ", ", "  "])
_ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\r\n", "\v", ""])


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Text that looks like purchases, in some dialect, perhaps of several at once."""
    separator, end = draw(_SEPARATORS), draw(_ENDS)
    lines = draw(st.lists(st.lists(_TOKENS, max_size=5), max_size=8))
    text = end.join(
        (draw(_SEPARATORS) if draw(st.integers(0, 9)) == 0 else separator).join(line)
        for line in lines
    )
    text += draw(st.sampled_from(["", end, "\n"]))
    kinds = ["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-32", "cp1252", "utf-16-le"]
    encoding = draw(st.sampled_from(kinds))
    return text.encode(encoding, "replace")


LONG = SALES.select(["customer", "order_id", "product"])
NUMBERS = pa.table({"milk": [1, 0], "bread": [1, 1]})
WIDE = pa.table({"order_id": [1, 2], "Item 1": ["a", "b"], "Item 2": ["b", None]})
TABLES = [LONG, LISTS, HOT, NUMBERS, WIDE]
contents = texts() | st.binary(max_size=60) | st.sampled_from([*TEXTS, *OBJECTS, *WORKBOOKS])

_NAMED = "customer order_id product items milk a b 1 2 漢"
_COLUMNS = [*_NAMED.split(), "Item 1", "", " ", "no such", "a\0b"]
columns: st.SearchStrategy[Any] = st.sampled_from(_COLUMNS)
_ODD: st.SearchStrategy[Any] = st.sampled_from([0, 5, True, b"x", ["a"], 1.5, object, float("nan")])
_OPTIONS: dict[str, tuple[int, list[Any]]] = {
    **dict.fromkeys(("user", "basket", "item", "items"), (3, _COLUMNS)),
    "missing_user": (3, ["drop", "own-unit", "keep", ""]),
    "delimiter": (3, [",", ";", "tab", "|", " ", "", "ab", '"', "\0", "é"]),
    "header": (3, [True, False]),
    "encoding": (4, ["utf-8", "utf-16", "cp1252", "ascii", "utf-7", "idna", "rot13", "cp037", "x"]),
    "input_format": (2, ["long", "wide", "one-hot", "lines", "fimi", "spmf", "jsonl", "excel"]),
    "skip_rows": (4, [0, 1, 2, 3, 10_000]),
}


@st.composite
def options(draw: st.DrawFn, *, odd: bool = True) -> dict[str, Any]:
    """Options of reading: mostly none, some that fit, some that do not, few that are no options."""
    drawn = {
        name: draw(st.sampled_from(values))
        for name, (rare, values) in _OPTIONS.items()
        if draw(st.integers(0, rare)) == 0
    }
    if draw(st.integers(0, 3)) == 0:
        drawn |= {"basket": "order_id", "item": "product"}
    if odd and draw(st.integers(0, 19)) == 0:
        name = draw(st.sampled_from(sorted({*_OPTIONS} - {"missing_user", "input_format"})))
        drawn[name] = draw(_ODD)
    return drawn


# -------------------- what is in memory

_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from(
        [
            *(2**63, -(2**63) - 1, 10**40, np.int8(1), np.float32(0.5), np.str_("a"), b"a"),
            *(Decimal("1.5"), Fraction(1, 3)),
        ]
    ),
    st.floats(),
    st.sampled_from(["a", "b", " a", "", "NULL", "a\0", "\ud800", "é", "1", "\n"]),
    st.sampled_from(
        [
            *(pd.NA, pd.NaT, np.nan, np.datetime64("NaT", "s"), pd.Timestamp(0), object(), (1, 2)),
            *(range(2), {}),
        ]
    ),
)
_NESTED = st.recursive(
    _VALUES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.lists(st.sampled_from(["a", "b", 1]), max_size=3).map(frozenset)
        | st.dictionaries(st.sampled_from(["a", 1]), inner, max_size=2)
    ),
    max_leaves=6,
)
objects = st.one_of(
    _NESTED,
    st.lists(st.lists(st.sampled_from(["a", "b", 1, 2]), max_size=3), max_size=5),
    st.lists(st.lists(_VALUES, max_size=3), max_size=3).map(iter),
)
_NAMES = st.lists(columns | st.sampled_from([1, 2.5, None, ("a", 1), True]), min_size=0, max_size=4)


def _array(draw: st.DrawFn, length: int) -> Any:
    kind, values = TYPES[draw(st.sampled_from([*TYPES]))]
    drawn = [draw(st.none() | values) for _ in range(length)]
    if draw(st.integers(0, 4)) == 0:
        lengths = [draw(st.integers(-1, length)) for _ in range(length)]
        lists = [None if size < 0 else drawn[:size] for size in lengths]
        return pa.array(lists, pa.list_(kind))
    return pa.array(drawn, kind)


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Arrow tables of any types, as they are, in batches, or as a frame of polars or pandas."""
    names = [str(name) for name in draw(_NAMES)]
    length = draw(st.integers(0, 4))
    table = draw(st.sampled_from(TABLES))
    if names:
        table = pa.table([_array(draw, length) for _ in names], names=names)
    forms = ["table", "reader", "batch", "polars", "pandas", "array", "arrow pandas"]
    match draw(st.sampled_from(forms)):
        case "reader":
            return table.to_reader(max_chunksize=2)
        case "batch":
            return table.to_batches()[0] if table.to_batches() else table
        case "array":
            return table.column(0)
        case "polars":
            try:
                return pl.from_arrow(table)
            except BaseException:  # polars panics at types that it does not have
                return table
        case "pandas" | "arrow pandas" as form:
            try:
                types = pd.ArrowDtype if form == "arrow pandas" else None
                return table.to_pandas(types_mapper=types)
            except Exception:
                return table
    return table


@st.composite
def frames(draw: st.DrawFn) -> Any:
    """Frames of pandas with anything in them, and arrays and matrices."""
    names, length = draw(_NAMES) or ["x"], draw(st.integers(0, 4))
    forms = ["lists", "numbers", "sparse", "category", "array", "matrix", "series"]
    kind = draw(st.sampled_from(forms))
    if kind == "array":
        shape = draw(st.sampled_from([(), (0,), (3,), (2, 2), (0, 3), (2, 0), (1, 2, 2)]))
        dtype = draw(st.sampled_from(["bool", "int8", "float64", "U1", "O", "complex64", "M8[s]"]))
        return np.full(shape, draw(st.sampled_from([0, 1, 2])), dtype="int8").astype(dtype)
    if kind == "matrix":
        cell = st.sampled_from([0, 0, 1, 2, -1])
        cells = np.array([[draw(cell) for _ in range(3)] for _ in range(length or 1)])
        return draw(st.sampled_from([scipy.sparse.csr_matrix, scipy.sparse.coo_array]))(cells)
    kinds: dict[str, tuple[Any, Any]] = {
        "numbers": (st.sampled_from([0, 1, 1, 0, 2, -1, np.nan]), "float64"),
        "sparse": (st.sampled_from([0, 1]), pd.SparseDtype("int64", 0)),
        "category": (st.sampled_from([0, 1]), "category"),
    }
    lists = st.lists(st.sampled_from(["a", "b", 1, None]), max_size=3) | _VALUES
    values, dtype = kinds.get(kind, (lists, object))
    columns_ = [[draw(values) for _ in range(length)] for _ in names]
    if kind == "series":
        return pd.Series(columns_[0], dtype=object)
    frame = pd.DataFrame(dict(enumerate(columns_)), dtype=object).astype(dtype)
    frame.columns = pd.Index(names, dtype=object)
    return frame
