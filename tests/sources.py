"""The forms that baskets alone can be read from: each writes the same baskets and says how to read
them back.

Add a form to SOURCES; every test over these then covers it. Forms that have users are those of
reading_files.py.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
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

from fim_private.reading.labels import Vocabulary
from fim_private.reading.transactions import Transactions

Item = int | str
Baskets = Sequence[Sequence[Item]]
Written = tuple[Any, dict[str, Any]]
Writer = Callable[[Baskets, Path], Written]

# Said, for few baskets of few items may look like something else.
LINES: dict[str, Any] = {"input_format": "lines"}
FIMI: dict[str, Any] = {"input_format": "fimi"}


def labels_of(vocabulary: Vocabulary) -> list[Item]:
    return [vocabulary.label(code) for code in range(len(vocabulary))]


def baskets_of(data: Transactions) -> list[frozenset[Item]]:
    """The baskets, in order, of labels."""
    label = data.vocabulary.label
    bounds = pairwise(data.offsets.tolist())
    return [frozenset(map(label, data.items[a:b].tolist())) for a, b in bounds]


def units_of(data: Transactions) -> list[list[frozenset[Item]]]:
    """The baskets of each unit."""
    baskets = baskets_of(data)
    if data.unit_offsets is None:
        return [[basket] for basket in baskets]
    return [baskets[a:b] for a, b in pairwise(data.unit_offsets.tolist())]


def item_type(baskets: Baskets) -> Any:
    numbers = all(isinstance(item, int) for own in baskets for item in own)
    return pa.int64() if numbers else pa.string()


def list_table(baskets: Baskets) -> pa.Table:
    lists = pa.array([list(basket) for basket in baskets], pa.list_(item_type(baskets)))
    return pa.table({"number": pa.array(range(len(baskets))), "items": lists})


def one_hot(baskets: Baskets, columns: Sequence[Item]) -> np.ndarray[Any, Any]:
    cells = [[column in basket for column in columns] for basket in baskets]
    return np.array(cells, dtype=bool).reshape(len(baskets), len(columns))


def universe(baskets: Baskets) -> list[Item]:
    """The labels in an order that is not the canonical one; one of strings is in no basket."""
    labels: set[Any] = {item for basket in baskets for item in basket}
    return [*sorted(labels, reverse=True), "never bought"]


def up_to_largest(baskets: Baskets) -> list[Item]:
    return list(range(2 + max((int(item) for basket in baskets for item in basket), default=0)))


def parquet(table: pa.Table, path: Path) -> Path:
    pyarrow.parquet.write_table(table, path, row_group_size=3)
    return path


def feather(table: pa.Table, path: Path) -> Path:
    pyarrow.feather.write_feather(table, str(path), chunksize=3)
    return path


def stream(table: pa.Table, path: Path) -> Path:
    with pa.ipc.new_stream(str(path), table.schema) as sink:
        sink.write_table(table, max_chunksize=4)
    return path


def lines(baskets: Baskets, path: Path, between: str, *, end: str = "\n") -> Path:
    text = "".join(between.join(map(str, basket)) + end for basket in baskets)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def pandas_one_hot(baskets: Baskets) -> pd.DataFrame:
    columns = universe(baskets)
    return pd.DataFrame(one_hot(baskets, columns), columns=pd.Index(columns, dtype=object))


def polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def polars_series(baskets: Baskets) -> pl.Series:
    kind = pl.Int64 if item_type(baskets) == pa.int64() else pl.String
    return pl.Series([list(basket) for basket in baskets], dtype=pl.List(kind))


def polars_one_hot(baskets: Baskets) -> pl.DataFrame:
    columns = [*map(str, universe(baskets))]
    return pl.DataFrame(one_hot(baskets, columns), schema=columns)


# Writers that take any baskets of one kind of label: all integers >= 0, or all strings.
SOURCES: dict[str, Writer] = {
    "python_lists": lambda b, to: ([list(one) for one in b], {}),
    "generator_of_sets": lambda b, to: ((frozenset(one) for one in b), {}),
    "numpy_arrays": lambda b, to: ([np.array(one, dtype=None if one else object) for one in b], {}),
    "arrow_array": lambda b, to: (list_table(b)["items"], {}),
    "parquet_lists": lambda b, to: (parquet(list_table(b), to / "lists.parquet"), {}),
    "feather_lists": lambda b, to: (feather(list_table(b), to / "lists.feather"), {}),
    "csv_lines": lambda b, to: (lines(b, to / "lines.csv", ","), LINES),
    "tsv_lines": lambda b, to: (lines(b, to / "lines.tsv", "\t", end="\r\n"), LINES),
    "fimi": lambda b, to: (lines(b, to / "baskets.dat", " ", end=" \n"), FIMI),
    "fimi_gzip": lambda b, to: (lines(b, to / "baskets.txt.gz", " "), FIMI),
    "pandas_series": lambda b, to: (pd.Series([list(one) for one in b], dtype=object), {}),
    "pandas_one_hot": lambda b, to: (pandas_one_hot(b), {}),
    "pandas_sparse": lambda b, to: (pandas_one_hot(b).astype(pd.SparseDtype(bool, False)), {}),
    "polars_series": lambda b, to: (polars_series(b), {}),
    "polars_one_hot": lambda b, to: (polars_one_hot(b), {}),
    "scipy_matrix": lambda b, to: (
        scipy.sparse.coo_matrix(one_hot(b, up_to_largest(b)).astype(np.int8)),
        {},
    ),
    "numpy_matrix": lambda b, to: (one_hot(b, up_to_largest(b)), {}),
}
# These have column numbers for labels, or column names.
INTEGERS_ONLY = {"scipy_matrix", "numpy_matrix"}
STRINGS_ONLY = {"polars_one_hot"}


def writers(labels: Iterable[Item]) -> dict[str, Writer]:
    """Return the writers that can hold such labels."""
    unfit = STRINGS_ONLY if all(isinstance(label, int) for label in labels) else INTEGERS_ONLY
    return {name: writer for name, writer in SOURCES.items() if name not in unfit}


# -------------------- a table of any columns


def _csv(table: pa.Table, folder: Path) -> Path:
    pyarrow.csv.write_csv(table, folder / "a.csv")
    return folder / "a.csv"


def _json_lines(table: pa.Table, folder: Path) -> Path:
    lines = (json.dumps(row, default=str) + "\n" for row in table.to_pylist())
    (folder / "a.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder / "a.jsonl"


def _pandas(table: pa.Table) -> pd.DataFrame:
    """A frame whose integers stay integers beside missing ones."""
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)


WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda table, folder: table,
    # a row group for every three rows: their bounds say which are skipped
    "parquet": lambda table, folder: parquet(table, folder / "a.parquet"),
    "arrow stream": lambda table, folder: stream(table, folder / "a.arrows"),
    "pandas": lambda table, folder: _pandas(table),
    "pandas objects": lambda table, folder: pd.DataFrame(table.to_pydict(), dtype=object),
    "pandas categories": lambda table, folder: table.to_pandas().astype("category"),
    "polars": lambda table, folder: polars(table),
    "csv": _csv,
    "json lines": _json_lines,
}
# A file of JSON lines without rows has no columns, and its blank texts are texts.
ANY_ROWS = [name for name in WRITERS if name != "json lines"]
