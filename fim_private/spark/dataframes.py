"""What a caller names, as a DataFrame of Spark: a DataFrame, a table, a path, or a query on one of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.reading.addresses import is_database, scheme_of, shown_source
from fim_private.reading.column_roles import Roles, choose
from fim_private.reading.dialect import InputForm
from fim_private.reading.options import Options
from fim_private.reading.read_as import ReadAs
from fim_private.reading.record_batches import ArrowSource, has_tokens
from fim_private.spark.row_reader import INSTANT
from fim_private.spark.session import need_pyspark, session
from fim_private.spark.spark_errors import told
from fim_private.spark.tasks import spark_call

# What the source is called in a query.
VIEW = "data"
QUERY = parameter("query")
_TABLES = {".parquet": "parquet", ".orc": "orc"}
_TEXTS = {".csv", ".tsv", ".dat", ".txt", ".fimi", ".spmf", ".json", ".jsonl", ".ndjson"}


@dataclass(frozen=True)
class Table:
    """A DataFrame with the columns that are needed, in the order of roles.names, and the parts these play.

    name: what errors call it. tokens: whether items are texts of which those that print as integers are some.
    """

    frame: Any
    name: str
    roles: Roles
    schema: pa.Schema
    tokens: bool
    read_as: ReadAs


def is_dataframe(data: Any) -> bool:
    """Tell whether something is a DataFrame of Spark, also of Spark Connect, without importing it."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")


@contextmanager
def opened_table(data: Any, options: Options, settings: Mapping[str, str] | None = None) -> Iterator[Table]:
    """Yield the table that a caller names, with the parts of its columns; a view that a query needs lasts as long.

    data: a DataFrame; a path, an address or a pattern of Parquet or ORC, or a folder of them; else the name of a table.
    settings: of a session that has to be started.
    Raises DataError for what Spark cannot read, and for columns that cannot play their part; ParameterError for options
    that do not go together.
    """
    if isinstance(data, str | os.PathLike):  # before anything is started, which takes a while
        _refuse_unread(os.fspath(data))
    need_pyspark()
    with ExitStack() as views:
        with told(f"Spark cannot read {_name(data)}", "name a path or a table that it can read"):
            frame, name, kind = _frame(data, options, settings, views)
            schema = _arrow_schema(frame.schema)
        source = ArrowSource(name, schema, lambda wanted: (), kind)
        options.dialect.refuse_for(name)
        roles = choose(source.columns(), options, name)
        if roles.form is InputForm.ONE_HOT:
            raise DataError(
                f"{name} has a column for each item, which Spark is not asked to read: give one row per item, or a "
                "column of lists"
            )
        with spark_call():
            needed = _selected(frame, schema.names, roles.names)
        yield Table(
            needed, name, roles, schema, has_tokens(source, roles), ReadAs.of_table(schema.names, roles, kind=kind)
        )


def _frame(data: Any, options: Options, settings: Mapping[str, str] | None, views: ExitStack) -> tuple[Any, str, str]:
    """Return a DataFrame, what errors call it, and what it is."""
    found: tuple[Any, str, str]
    if is_dataframe(data):
        found = data, "the DataFrame", "Spark DataFrame"
        spark = data.sparkSession
    elif isinstance(data, str | os.PathLike):
        spark = session(settings)
        found = _named(spark, os.fspath(data))
    else:
        raise ParameterError(
            f"{parameter('engine')} spark reads a DataFrame of Spark, a table or a path, not a {type(data).__name__}"
        )
    if options.query is None:
        return found
    if spark.catalog.tableExists(VIEW):
        raise ParameterError(
            f"{parameter('query')} calls the source {VIEW!r}, and this session has a table of that name: drop it"
        )
    found[0].createTempView(VIEW)
    views.callback(spark.catalog.dropTempView, VIEW)
    with told(f"Spark cannot run {QUERY}", f"correct it; in it the source is called {VIEW}"):
        frame = spark.sql(options.query)
        frame.schema  # noqa: B018 - with Spark Connect errors show only now
    return frame, "the query", "Spark query"


def _suffix(name: str) -> str:
    return PurePath(name.rstrip("/").removesuffix(".gz").removesuffix(".bz2")).suffix.lower()


def _refuse_unread(name: str) -> None:
    """Raise DataError for a database, standard input, and a path of text, by its suffix."""
    if is_database(name) or name == "-":
        raise DataError(f"Spark is not asked to read {_name(name)}; leave out {parameter('engine')}")
    if _suffix(name) in _TEXTS:
        raise DataError(
            f"Spark is not asked to read {_name(name)}, since its readers of text guess: make Parquet of it, or give "
            "the DataFrame that you read it as"
        )


def _named(spark: Any, name: str) -> tuple[Any, str, str]:
    """Return what a path or the name of a table stands for, as _frame does."""
    suffix = _suffix(name)
    if suffix in _TABLES or scheme_of(name) is not None or os.sep in name or Path(name).exists() or "*" in name:
        kind = _TABLES.get(suffix, "parquet")
        return spark.read.format(kind).load(name), _name(name), {"orc": "ORC"}.get(kind, "Parquet")
    return spark.table(name), f"table {name!r}", "Spark table"


def _arrow_schema(schema: Any) -> pa.Schema:
    """Return the columns of a DataFrame as Arrow has them. One that Arrow has not can play no part, and is a struct."""
    from pyspark.sql.pandas.types import to_arrow_type

    def kind(field: Any) -> pa.DataType:
        if field.dataType.typeName() == "timestamp":
            return INSTANT
        try:
            return to_arrow_type(field.dataType)
        except Exception:  # of which kinds differs by version
            return pa.struct([])

    return pa.schema([pa.field(field.name, kind(field)) for field in schema.fields])


def _selected(frame: Any, names: list[str], wanted: list[str]) -> Any:
    """Return some columns, in this order, under names of ours: theirs may hold letters that Spark takes for more."""
    from pyspark.sql import functions

    places = {name: f"c{place}" for place, name in enumerate(names)}
    numbered = frame.toDF(*(f"c{place}" for place in range(len(names))))
    return numbered.select(*(functions.col(places[name]) for name in wanted))


def _name(data: Any) -> str:
    """Return what errors call a source."""
    return repr(shown_source(data)) if isinstance(data, str | os.PathLike) else "the DataFrame"
