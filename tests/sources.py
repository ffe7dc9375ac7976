"""Every form that baskets can be read from: each writes the same baskets and says how to read them back.

Add a form by adding a function with ``@source``; every test over SOURCES then covers it.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse

Item = int | str
Baskets = Sequence[Sequence[Item]]
Written = tuple[Any, dict[str, Any]]
Writer = Callable[[Baskets, Path], Written]

# Writers that take any baskets of one kind of label: all integers >= 0, or all strings.
SOURCES: dict[str, Writer] = {}
# These have column numbers for labels, or column names.
INTEGERS_ONLY: set[str] = set()
STRINGS_ONLY: set[str] = set()

LONG: dict[str, Any] = {"basket": "basket", "item": "item"}
# Said, for few baskets of few items may look like something else.
LINES: dict[str, Any] = {"input_format": "lines"}
FIMI: dict[str, Any] = {"input_format": "fimi"}


def writers(labels: Iterable[Item]) -> dict[str, Writer]:
    """Return the writers that can hold such labels."""
    unfit = STRINGS_ONLY if all(isinstance(label, int) for label in labels) else INTEGERS_ONLY
    return {name: writer for name, writer in SOURCES.items() if name not in unfit}


def source(writer: Writer) -> Writer:
    SOURCES[writer.__name__] = writer
    return writer


def integers_only(writer: Writer) -> Writer:
    INTEGERS_ONLY.add(writer.__name__)
    return source(writer)


def strings_only(writer: Writer) -> Writer:
    STRINGS_ONLY.add(writer.__name__)
    return source(writer)


def item_type(baskets: Baskets) -> Any:
    return pa.int64() if all(isinstance(item, int) for basket in baskets for item in basket) else pa.string()


def list_table(baskets: Baskets) -> pa.Table:
    lists = pa.array([list(basket) for basket in baskets], pa.list_(item_type(baskets)))
    return pa.table({"number": pa.array(range(len(baskets))), "items": lists})


def long_rows(baskets: Baskets) -> list[tuple[int, Item | None]]:
    """Return (basket, item) rows; an empty basket has one row with a null item."""
    nothing: list[Item | None] = [None]
    return [(number, item) for number, basket in enumerate(baskets) for item in [*basket] or nothing]


def long_table(baskets: Baskets) -> pa.Table:
    rows = long_rows(baskets)
    return pa.table(
        {
            "basket": pa.array([number for number, _ in rows], pa.int64()),
            "price": pa.array([1.5] * len(rows), pa.float64()),
            "item": pa.array([item for _, item in rows], item_type(baskets)),
        }
    )


def shuffled(table: pa.Table) -> pa.Table:
    order = np.random.default_rng(7).permutation(len(table))
    return table.take(pa.array(order))


def one_hot(baskets: Baskets, columns: Sequence[Item]) -> np.ndarray[Any, Any]:
    return np.array([[column in basket for column in columns] for basket in baskets], dtype=bool).reshape(
        len(baskets), len(columns)
    )


def universe(baskets: Baskets) -> list[Item]:
    """Return the labels, one of them (if they are strings) in no basket, in an order that is not the canonical one."""
    labels: set[Any] = {item for basket in baskets for item in basket}
    return [*sorted(labels, reverse=True), "never bought"]


def up_to_largest(baskets: Baskets) -> list[Item]:
    return list(range(2 + max((int(item) for basket in baskets for item in basket), default=0)))


@source
def python_lists(baskets: Baskets, folder: Path) -> Written:
    return [list(basket) for basket in baskets], {}


@source
def generator_of_sets(baskets: Baskets, folder: Path) -> Written:
    return (frozenset(basket) for basket in baskets), {}


@source
def numpy_baskets(baskets: Baskets, folder: Path) -> Written:
    return [np.array(basket, dtype=None if basket else object) for basket in baskets], {}


@source
def arrow_lists(baskets: Baskets, folder: Path) -> Written:
    return list_table(baskets), {}


@source
def arrow_chunked_large_lists(baskets: Baskets, folder: Path) -> Written:
    table = list_table(baskets)
    lists = table["items"].cast(pa.large_list(item_type(baskets)))
    halves = [lists[: len(lists) // 2], lists[len(lists) // 2 :]]
    chunks = [chunk for half in halves for chunk in half.chunks]
    return pa.table({"items": pa.chunked_array(chunks, lists.type)}), {"items": "items"}


@source
def arrow_dictionary_lists(baskets: Baskets, folder: Path) -> Written:
    values = pa.array([item for basket in baskets for item in basket], item_type(baskets))
    offsets = pa.array(np.cumsum([0, *map(len, baskets)]), pa.int32())
    return pa.table({"items": pa.ListArray.from_arrays(offsets, values.dictionary_encode())}), {}


@source
def arrow_reader(baskets: Baskets, folder: Path) -> Written:
    return list_table(baskets).to_reader(max_chunksize=2), {}


@source
def arrow_array(baskets: Baskets, folder: Path) -> Written:
    return list_table(baskets)["items"], {}


@source
def arrow_long(baskets: Baskets, folder: Path) -> Written:
    return long_table(baskets), LONG


@source
def arrow_long_shuffled(baskets: Baskets, folder: Path) -> Written:
    return shuffled(long_table(baskets)), LONG


@source
def parquet_lists(baskets: Baskets, folder: Path) -> Written:
    pyarrow.parquet.write_table(list_table(baskets), folder / "lists.parquet", row_group_size=3)
    return folder / "lists.parquet", {}


@source
def parquet_long(baskets: Baskets, folder: Path) -> Written:
    pyarrow.parquet.write_table(long_table(baskets), folder / "long.parquet", row_group_size=5)
    return str(folder / "long.parquet"), LONG


@source
def parquet_long_shuffled(baskets: Baskets, folder: Path) -> Written:
    pyarrow.parquet.write_table(shuffled(long_table(baskets)), folder / "shuffled.parquet", row_group_size=5)
    return folder / "shuffled.parquet", LONG


@source
def feather_lists(baskets: Baskets, folder: Path) -> Written:
    pyarrow.feather.write_feather(list_table(baskets), str(folder / "lists.feather"), chunksize=3)
    return folder / "lists.feather", {}


@source
def arrow_stream_long(baskets: Baskets, folder: Path) -> Written:
    table = long_table(baskets)
    with pa.ipc.new_stream(str(folder / "long.arrows"), table.schema) as stream:
        stream.write_table(table, max_chunksize=4)
    return folder / "long.arrows", LONG


@source
def csv_long(baskets: Baskets, folder: Path) -> Written:
    pyarrow.csv.write_csv(long_table(baskets), folder / "long.csv")
    return folder / "long.csv", LONG


@source
def csv_long_gzip_shuffled(baskets: Baskets, folder: Path) -> Written:
    with gzip.open(folder / "long.csv.gz", "wb") as stream:
        pyarrow.csv.write_csv(shuffled(long_table(baskets)), stream)
    return folder / "long.csv.gz", LONG


@source
def tsv_long(baskets: Baskets, folder: Path) -> Written:
    options = pyarrow.csv.WriteOptions(delimiter="\t")
    pyarrow.csv.write_csv(long_table(baskets), folder / "long.tsv", options)
    return folder / "long.tsv", LONG


@source
def csv_lines(baskets: Baskets, folder: Path) -> Written:
    path = folder / "lines.csv"
    path.write_text("".join(",".join(map(str, basket)) + "\n" for basket in baskets), "utf-8")
    return path, LINES


@source
def csv_lines_quoted(baskets: Baskets, folder: Path) -> Written:
    with (folder / "quoted.csv").open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(",".join(f'"{item}"' for item in basket) + "\r\n" for basket in baskets)
    return folder / "quoted.csv", LINES


@source
def tsv_lines(baskets: Baskets, folder: Path) -> Written:
    with (folder / "lines.tsv").open("w", encoding="utf-8", newline="") as stream:
        for basket in baskets:
            csv.writer(stream, delimiter="\t").writerow(basket)
    return folder / "lines.tsv", LINES


@source
def fimi(baskets: Baskets, folder: Path) -> Written:
    path = folder / "baskets.dat"
    path.write_text("".join(" ".join(map(str, basket)) + " \n" for basket in baskets), "utf-8")
    return path, FIMI


@source
def fimi_gzip(baskets: Baskets, folder: Path) -> Written:
    path = folder / "baskets.txt.gz"
    path.write_bytes(gzip.compress("".join(" ".join(map(str, basket)) + "\n" for basket in baskets).encode()))
    return path, FIMI


@source
def pandas_lists(baskets: Baskets, folder: Path) -> Written:
    return pd.DataFrame({"number": range(len(baskets)), "items": [list(basket) for basket in baskets]}), {}


@source
def pandas_series(baskets: Baskets, folder: Path) -> Written:
    return pd.Series([list(basket) for basket in baskets], dtype=object), {}


@source
def pandas_long(baskets: Baskets, folder: Path) -> Written:
    # Integers with a missing one among them become floats here.
    return long_table(baskets).to_pandas(), LONG


@source
def pandas_long_objects(baskets: Baskets, folder: Path) -> Written:
    return pd.DataFrame(long_rows(baskets), columns=["basket", "item"], dtype=object), LONG


@source
def pandas_one_hot(baskets: Baskets, folder: Path) -> Written:
    columns = universe(baskets)
    return pd.DataFrame(one_hot(baskets, columns), columns=pd.Index(columns, dtype=object)), {}


@source
def pandas_sparse_one_hot(baskets: Baskets, folder: Path) -> Written:
    columns = universe(baskets)
    frame = pd.DataFrame(one_hot(baskets, columns), columns=pd.Index(columns, dtype=object))
    return frame.astype(pd.SparseDtype(bool, False)), {}


@source
def polars_lists(baskets: Baskets, folder: Path) -> Written:
    return pl.from_arrow(list_table(baskets)), {}


@source
def polars_lazy_long(baskets: Baskets, folder: Path) -> Written:
    frame = pl.from_arrow(shuffled(long_table(baskets)))
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy(), LONG


@source
def polars_series(baskets: Baskets, folder: Path) -> Written:
    return pl.Series(
        [list(basket) for basket in baskets],
        dtype=pl.List(pl.Int64 if item_type(baskets) == pa.int64() else pl.String),
    ), {}


@strings_only
def polars_one_hot(baskets: Baskets, folder: Path) -> Written:
    columns = [str(column) for column in universe(baskets)]
    return pl.DataFrame(one_hot(baskets, columns), schema=columns), {}


@integers_only
def scipy_matrix(baskets: Baskets, folder: Path) -> Written:
    return scipy.sparse.coo_matrix(one_hot(baskets, up_to_largest(baskets)).astype(np.int8)), {}


@integers_only
def scipy_array(baskets: Baskets, folder: Path) -> Written:
    return scipy.sparse.csc_array(one_hot(baskets, up_to_largest(baskets))), {}


@integers_only
def numpy_matrix(baskets: Baskets, folder: Path) -> Written:
    return one_hot(baskets, up_to_largest(baskets)), {}
