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
from fim_private.spark.session import quiet, session

# What the source is called in a query.
VIEW = "data"
_TEXT = {".csv": ",", ".tsv": "\t"}
_TABLES = {".parquet": "parquet", ".orc": "orc", ".json": "json"}


@dataclass(frozen=True)
class Table:
    """A DataFrame with the columns that are needed, and the parts these play.

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

    data: a DataFrame; a path, an address or a pattern that Spark reads (Parquet, ORC, JSON, CSV with a line of names,
    or a folder of them); else the name of a table. settings: of a session that has to be started.
    Raises DataError for what Spark cannot read, and for columns that cannot play their part; ParameterError for options
    that do not go together.
    """
    with ExitStack() as views:
        frame, name, kind, delimiter, schema = _read(data, options, settings, views)
        encoding = options.dialect.encoding or "utf-8" if delimiter is not None else None
        tokens = frozenset(schema.names) if delimiter is not None else frozenset[str]()
        source = ArrowSource(name, schema, lambda wanted: (), kind, delimiter, encoding, tokens)
        if not source.is_text:
            options.dialect.refuse_for(name)
        roles = choose(source.columns(), options, name)
        if roles.form is InputForm.ONE_HOT:
            raise DataError(
                f"{name} has a column for each item, which Spark is not asked to read: give one row per item, or a "
                "column of lists"
            )
        read_as = ReadAs.of_table(schema.names, roles, kind=kind, delimiter=delimiter, encoding=encoding)
        with quiet():
            needed = frame.select(*(frame[_quoted(column)] for column in roles.names))
        yield Table(needed, name, roles, schema, has_tokens(source, roles), read_as)


def _read(
    data: Any, options: Options, settings: Mapping[str, str] | None, views: ExitStack
) -> tuple[Any, str, str, str | None, pa.Schema]:
    """Return a DataFrame, what errors call it, what it is, the delimiter if it is text, and its columns."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        with quiet():
            frame, *told = _frame(data, options, settings, views)
            return frame, *told, to_arrow_schema(frame.schema)
    except PySparkException as error:
        condition = error.getCondition() or type(error).__name__
    raise DataError(
        f"Spark cannot read {_name(data)} ({condition}): name a path or a table that it can read, check "
        f"{parameter('query')}, or leave out {parameter('engine')}"
    )


def _frame(
    data: Any, options: Options, settings: Mapping[str, str] | None, views: ExitStack
) -> tuple[Any, str, str, str | None]:
    """Return a DataFrame, what errors call it, what it is, and the delimiter if it is text."""
    found: tuple[Any, str, str, str | None]
    if is_dataframe(data):
        found = data, "the DataFrame", "Spark DataFrame", None
        spark = data.sparkSession
    elif isinstance(data, str | os.PathLike):
        if is_database(data) or os.fspath(data) == "-":
            raise DataError(f"Spark is not asked to read {_name(data)}; leave out {parameter('engine')}")
        spark = session(settings)
        found = _named(spark, os.fspath(data), options)
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
    return spark.sql(options.query), "the query", "Spark query", None


def _named(spark: Any, name: str, options: Options) -> tuple[Any, str, str, str | None]:
    """Return what a path or the name of a table stands for, as _frame does."""
    suffix = PurePath(name.rstrip("/").removesuffix(".gz")).suffix.lower()
    told = repr(shown_source(name))
    if suffix in _TEXT:
        delimiter = options.dialect.delimiter or _TEXT[suffix]
        if options.dialect.header is False:
            raise ParameterError(f"leave out {parameter('header')}: Spark is asked for text with a line of names only")
        reader = spark.read.options(
            header=True,
            sep=delimiter,
            encoding=options.dialect.encoding or "utf-8",
            quote='"',
            escape='"',
            multiLine=True,
            mode="FAILFAST",
            enforceSchema=False,
        )
        return reader.csv(name), told, "CSV", delimiter
    if suffix in _TABLES or scheme_of(name) is not None or os.sep in name or Path(name).exists() or "*" in name:
        kind = _TABLES.get(suffix, "parquet")
        return spark.read.format(kind).load(name), told, {"json": "JSON", "orc": "ORC"}.get(kind, "Parquet"), None
    return spark.table(name), f"table {name!r}", "Spark table", None


def _name(data: Any) -> str:
    """Return what errors call a source."""
    return repr(shown_source(data)) if isinstance(data, str | os.PathLike) else "the DataFrame"


def _quoted(column: str) -> str:
    """Return the name of a column as Spark takes it, whatever letters are in it."""
    return "`" + column.replace("`", "``") + "`"
