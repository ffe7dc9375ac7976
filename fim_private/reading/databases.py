"""Databases: through their Arrow drivers (ADBC) the rows that one select gives, and connections
that Ibis counts in.

PostgreSQL's columns have types. SQLite's have none, and its driver would guess a type from the
first rows, so each value is read as text, as in CSV. No error of a database is quoted, since it may
quote values, or a password.
"""

import glob
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from fim_private.addresses import Connection, driver, open_postgresql, unreachable
from fim_private.errors import (
    DataError,
    FimPrivateError,
    ParameterError,
    parameter,
)
from fim_private.reading.columns import Scan
from fim_private.reading.files import file_errors, files_of
from fim_private.reading.labels import as_texts, is_list_type
from fim_private.reading.locations import (
    Database,
    FileLocation,
    InMemory,
    LocalPath,
    Source,
    expanded,
)
from fim_private.reading.memory import MemoryLimit
from fim_private.reading.record_batches import ArrowSource
from fim_private.reading.values import null_where
from fim_private.reading.where import quoted

# A cursor of ADBC's, a database of Ibis, and a table in it as an expression.
Cursor = Any
Backend = Any
IbisTable = Any

_SQLITE_START = b"SQLite format 3\0"
# The types of values that are read as they are.
_PLAIN = r"u?int\d+|(half)?float|double|bool|string|binary|(date|timestamp).*"
# How a query begins, behind comments and parentheses.
_SELECT = r"(?si)(\s+|--[^\n]*(\n|\Z)|/\*.*?\*/|\()*+(select|with|values|table)\b"

# What the five letters that a database gives for an error mean, or the name that its driver gives
# it, as far as there is something to do about it.
_REASONS = {
    "42P01 TableNotFound CatalogException": "there is no such table",
    "42703": "there is no such column",
    "42501 PermissionException": (
        "this role lacks a right: GRANT SELECT ON the table and, to count there, GRANT TEMPORARY "
        "ON DATABASE"
    ),
    "25006": "it would change the database, and only reads are allowed",
    "42601 ParserException": "it is not a single select that the database understands",
    "08003 08006 57P01 57P02 57P05 OperationalError InterfaceError ConnectionException": (
        "the connection was lost: nothing is released, and what was charged stays charged"
    ),
    "57014": "it gave up on a query",
    "53100": "its disk is full",
    "OutOfMemoryException": "it needs more memory: raise {max_memory}",
    "NotImplementedError UnsupportedOperationError": (
        "Ibis makes no temporary tables there, and counting needs them"
    ),
    "InvalidInputException": "it is not a Parquet file; others are read without engine sql",
    "IOException": "it is not a DuckDB database, its disk is full, or another program has it open",
}


def _reason(error: Exception) -> str:
    """Return why a database failed, as far as its code or the name of its error tells."""
    state, name = getattr(error, "sqlstate", None), type(error).__name__
    code = name
    if state:
        name, code = state, f"SQLSTATE {state}"
    elif type(error).__module__.startswith("adbc_"):
        # ADBC's names say less than its letters: it calls much an OperationalError.
        return "it failed"
    for names, reason in _REASONS.items():
        if name in names.split():
            return f"{reason.format(max_memory=parameter('max_memory'))} ({code})"
    return f"it failed ({code})"


def check_query(source: Source, query: object, name: str = "query") -> None:
    """Raise ParameterError for a query that is no select, or without a database, and for a database
    without a query.
    """
    if not isinstance(source, Database):
        if query is not None:
            raise ParameterError(
                f"{parameter(name)} is for a database: the address of one begins with "
                f"postgresql:// or sqlite:///"
            )
        return
    if query is None:
        example = "sku, name from products"
        if name == "query":
            example = "customer_id, order_id, product from sales"
        raise ParameterError(
            f"a database needs {parameter(name)}: a select that gives one row per item, such as "
            f"'select {example}'"
        )
    if not isinstance(query, str) or re.match(_SELECT, query) is None:
        raise ParameterError(
            f"{parameter(name)} must be a single select, as text, and nothing else"
        )


def database_source(source: Database, query: str) -> ArrowSource:
    """Return what a query gives as a table. Raises DataError, and MissingExtraError where there is
    no driver for it.

    The database is opened for reading only, and asked twice: for the columns, then for those of
    them that are wanted.
    """
    is_sqlite = source.scheme == "sqlite"
    connect, kind, options = _postgresql, "PostgreSQL", {}
    if is_sqlite:
        connect, kind, options = _sqlite, "SQLite", {"adbc.sqlite.query.batch_rows": "65536"}
    problem = f"{parameter('query')} gives nothing from {source.name}"
    # A line break, since a comment may end the query.
    rows = f"({query.rstrip().rstrip(';')}\n) as t"

    @contextmanager
    def opened_cursor() -> Iterator[Cursor]:
        with (
            _errors(problem, "; run it yourself to see what it says"),
            connect(source) as connection,
            connection.cursor(adbc_stmt_kwargs=options) as cursor,
        ):
            yield cursor

    with opened_cursor() as cursor:
        if is_sqlite:
            cursor.execute(f"select * from {rows} limit 0")
            with cursor.fetch_record_batch() as reader:
                schema = pa.schema([(column, pa.string()) for column in reader.schema.names])
        else:
            schema = cursor.adbc_execute_schema(f"select * from {rows}")

    described = pa.schema([field.with_type(_kind(field)) for field in schema])

    def batches(scan: Scan) -> Iterator[pa.RecordBatch]:
        # In the order in which the database gives its rows.
        columns = [_select(schema.field(name), is_sqlite) for name in scan.names]
        types = pa.schema([described.field(name) for name in scan.names])
        with opened_cursor() as cursor:
            cursor.execute(f"select {', '.join(columns)} from {rows}")
            with cursor.fetch_record_batch() as reader:
                for batch in reader:
                    if is_sqlite:
                        batch = _with_numbers_as_printed(batch)
                    cast = batch.cast(types)
                    cast.validate(full=True)
                    yield cast

    return ArrowSource(source.name, described, batches, kind)


@contextmanager
def _errors(name: str, advice: str = "") -> Iterator[None]:
    """Raise what a database raises in this block as a DataError: its own words may quote rows, or a
    password.
    """
    try:
        yield
    except (FimPrivateError, MemoryError):
        raise
    except Exception as error:  # also what Ibis does not understand of its drivers
        raise DataError(f"{name}: {_reason(error)}{advice}") from None


def _postgresql(source: Database) -> Connection:
    connection = open_postgresql(source.text)
    with connection.cursor() as cursor:
        cursor.execute("set default_transaction_read_only = on")
    return connection


def _sqlite(source: Database) -> Connection:
    sqlite = driver("adbc_driver_sqlite.dbapi")
    place = source.text.partition("://")[2]
    if not place.startswith("/") or "?" in place:
        raise DataError(
            f"{source.name} is not the address of a SQLite file; give sqlite:///shop.db "
            f"or, with the whole "
            "path, sqlite:////srv/shop.db, and no parameters"
        )
    path = expanded(place[1:])
    with file_errors(repr(str(path))), path.open("rb") as stream:
        start = stream.read(len(_SQLITE_START))
    if start != _SQLITE_START:
        raise DataError(f"{str(path)!r} is not a SQLite database; check the path")
    return sqlite.connect(f"file:{quote(os.fsencode(path.absolute()))}?mode=ro", autocommit=True)


def _select(field: pa.Field, is_sqlite: bool) -> str:
    """Return the expression that selects a column.

    Of SQLite each value becomes a text: n before a number with a point, t before all else. (A
    column of its own for that would be one too many in a table of as many as SQLite allows.)
    """
    name = quoted(field.name)
    if is_sqlite:
        # Of no value it is '': of nulls alone the driver would guess another type.
        return (
            f"case typeof({name}) when 'null' then '' when 'blob' then 't' || hex({name}) "
            f"when 'real' then 'n' || printf('%!.17g', {name}) else 't' || cast({name} as text) "
            f"end as {name}"
        )
    if _kind(field) == field.type:
        return name
    return f"{name}::text as {name}"


def _with_numbers_as_printed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return columns of texts as `_select` marks them: each number as it is written in every
    source, where SQLite itself writes 1.0e+300.
    """
    columns = []
    for column in batch.columns:
        marked = column.cast(pa.string())  # without rows the driver guesses another type
        texts = pc.utf8_slice_codeunits(marked, 1)
        is_number = pc.starts_with(marked, "n")
        if is_number.true_count:
            numbers = null_where(pc.invert(is_number), texts).cast(pa.float64())
            texts = pc.if_else(is_number, as_texts(numbers), texts)
        columns.append(texts)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _kind(field: pa.Field) -> pa.DataType:
    """Return the type that a column is read as: its own, or text."""
    values = field.type
    while is_list_type(values):
        values = values.value_type
    if re.fullmatch(_PLAIN, str(values)):
        return field.type
    return pa.string()


# -------------------- to count in, through Ibis


@contextmanager
def database_errors(name: str) -> Iterator[None]:
    """Raise what a database raises through Ibis in this block as a DataError."""
    with _errors(name), warnings.catch_warnings():
        # Ibis calls functions of its drivers that are deprecated.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield


@contextmanager
def connected(
    source: Source, table: str | None, memory: MemoryLimit
) -> Iterator[tuple[str, Backend, IbisTable]]:
    """Yield the name of a database, a connection of Ibis, and the table as an expression of it.

    source: duckdb:///shop.duckdb, postgresql://host/shop, or Parquet, which DuckDB reads, with what
    memory allows. Raises DataError, ParameterError, MissingExtraError.
    """
    if isinstance(source, InMemory):
        raise ParameterError(
            f"{parameter('engine')} sql reads a table of Ibis, a database or Parquet, not a "
            f"{source.shown}"
        )
    name = repr(source.shown)
    _check_table(source, table, name)
    if table is not None:
        name = f"table {table!r} of {name}"
    with ExitStack() as stack:
        with database_errors(name):
            if isinstance(source, Database):
                backend = _counting_postgresql(source)
            else:
                backend = _duckdb(source, memory, stack)
            stack.callback(backend.disconnect)
            if table is None:
                # The files that one machine reads, without what programs keep beside the data.
                files = [glob.escape(str(file.path)) for file in files_of(source)]
                purchases = backend.read_parquet(files)
            else:
                schema, _, table_name = table.rpartition(".")
                purchases = backend.table(table_name, database=schema or None)
        yield name, backend, purchases


def _check_table(source: FileLocation, table: str | None, name: str) -> None:
    """Raise DataError or ParameterError if a source cannot be read, or not with this table."""
    if isinstance(source, LocalPath):
        if table is not None:
            raise ParameterError(
                f"leave out {parameter('table')}: {name} is a file or a folder, and so is one table"
            )
        if not glob.has_magic(source.shown) and not source.path.exists():
            raise DataError(
                f"{name}: there is no such file or folder; {parameter('engine')} sql reads Parquet"
            )
    elif source.scheme not in ("duckdb", "postgresql", "postgres"):
        raise DataError(
            f"{name}: {parameter('engine')} sql opens duckdb:///shop.duckdb and "
            f"postgresql://host/shop; of other databases give a table of Ibis, in Python"
        )
    elif table is None:
        raise ParameterError(
            f"a database needs {parameter('table')}: the table, or the view, of the purchases"
        )


def _duckdb(source: FileLocation, memory: MemoryLimit, stack: ExitStack) -> Backend:
    driver("duckdb", "warehouse")
    import ibis

    # For data that do not fit in memory.
    folder = tempfile.TemporaryDirectory(prefix="fim-private-", ignore_cleanup_errors=True)
    settings = {"temp_directory": stack.enter_context(folder), "preserve_insertion_order": "false"}
    if memory.is_given:
        settings["memory_limit"] = f"{memory.most}B"
    else:
        # Sums of up to 2^22 pairs are found by their places: faster, but beyond any limit.
        settings["perfect_ht_threshold"] = "22"
    if isinstance(source, LocalPath):
        return ibis.duckdb.connect(**settings)
    path = expanded(source.text.partition("://")[2][1:])
    if not path.is_file():
        raise DataError(
            f"{source.name}: there is no such file; give duckdb:///shop.duckdb, or "
            f"duckdb:////srv/shop.duckdb"
        )
    return ibis.duckdb.connect(str(path), read_only=True, **settings)


def _counting_postgresql(source: Database) -> Backend:
    driver("psycopg", "warehouse")
    import ibis
    import psycopg

    try:
        return ibis.postgres.from_connection(psycopg.connect(source.text, autocommit=True))
    except psycopg.Error:
        raise unreachable(source.text) from None
