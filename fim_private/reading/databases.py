"""Databases: through their Arrow drivers (ADBC) the rows that one select gives, and connections
that Ibis counts in.

PostgreSQL's columns have types. SQLite's have none, and its driver would guess a type from the
first rows, so each value is read as text, as in CSV. No error of a database is quoted, since it may
quote values, or a password.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from fim_private.errors import (
    DataError,
    FimPrivateError,
    MissingExtraError,
    ParameterError,
    parameter,
    shown,
)
from fim_private.reading.columns import Wanted
from fim_private.reading.files import file_errors, files_of
from fim_private.reading.labels import is_list_type
from fim_private.reading.locations import (
    Address,
    Database,
    InMemory,
    LocalPath,
    Source,
    expanded,
)
from fim_private.reading.memory import MemoryLimit
from fim_private.reading.record_batches import ArrowSource

_SQLITE_START = b"SQLite format 3\0"
# How a query begins, behind comments and parentheses.
_SELECT = re.compile(
    r"(\s+|--[^\n]*(\n|\Z)|/\*.*?\*/|\()*+(select|with|values|table)\b", re.DOTALL | re.IGNORECASE
)

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
    "42601 ParserException": "it is no single select that the database understands",
    "08003 08006 57P01 57P02 57P05 OperationalError InterfaceError ConnectionException": (
        "the connection was lost: nothing is released, and what was charged stays charged"
    ),
    "57014": "it gave up on a query",
    "53100": "its disk is full",
    "OutOfMemoryException": "it needs more memory: raise {max_memory}",
    "NotImplementedError UnsupportedOperationError": (
        "Ibis makes no temporary tables there, and counting needs them"
    ),
    "InvalidInputException": "it is no file of Parquet; others are read without engine sql",
    "IOException": "it is no DuckDB database, its disk is full, or another program has it open",
}


def _reason(error: Exception) -> str:
    state = getattr(error, "sqlstate", None)
    # ADBC's names say less than its letters: it calls much an OperationalError.
    kind = None if state or type(error).__module__.startswith("adbc_") else type(error).__name__
    reasons = (reason for names, reason in _REASONS.items() if {state, kind} & {*names.split()})
    reason = next(reasons, None)
    code = ""
    if state:
        code = f" (SQLSTATE {state})"
    elif kind and reason is None:
        code = f" ({kind})"
    return (reason or "it failed").format(max_memory=parameter("max_memory")) + code


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
    if not isinstance(query, str):
        raise ParameterError(f"{parameter(name)} must be text, not {shown(query)}")
    if _SELECT.match(query) is None:
        raise ParameterError(f"{parameter(name)} must be a single select, and nothing else")


def database_source(source: Database, query: str) -> ArrowSource:
    """Return what a query gives as a table. Raises DataError, and MissingExtraError where there is
    no driver for it.

    The database is opened for reading only, and asked twice: for the columns, then for those of
    them that are wanted.
    """
    is_sqlite = source.scheme == "sqlite"
    connect = _sqlite if is_sqlite else _postgresql
    name = source.name
    # A line break, since a comment may end the query.
    asked = f"({query.rstrip().rstrip(';')}\n) as t"
    with (
        _errors(name),
        closing(connect(source)) as connection,
        closing(connection.cursor()) as cursor,
    ):
        if is_sqlite:
            cursor.execute(f"select * from {asked} limit 0")
            with closing(cursor.fetch_record_batch()) as reader:
                schema = pa.schema([(column, pa.string()) for column in reader.schema.names])
        else:
            schema = cursor.adbc_execute_schema(f"select * from {asked}")

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        # In the order in which the database gives its rows.
        fields = [schema.field(column) for column in wanted.names]
        columns = ", ".join(_asked(field, is_sqlite) for field in fields)
        options = {"adbc.sqlite.query.batch_rows": str(1 << 16)} if is_sqlite else {}
        with (
            _errors(name),
            closing(connect(source)) as connection,
            closing(connection.cursor(adbc_stmt_kwargs=options)) as cursor,
        ):
            cursor.execute(f"select {columns} from {asked}")
            with closing(cursor.fetch_record_batch()) as reader:
                for batch in reader:
                    given = [
                        column.cast(_kind(field))
                        for column, field in zip(batch.columns, fields, strict=True)
                    ]
                    found = pa.RecordBatch.from_arrays(given, names=wanted.names)
                    found.validate(full=True)
                    yield found

    described = pa.schema([field.with_type(_kind(field)) for field in schema])
    return ArrowSource(name, described, batches, kind="SQLite" if is_sqlite else "PostgreSQL")


@contextmanager
def _errors(name: str) -> Iterator[None]:
    # Of drivers before 1.12 a RuntimeError comes of closing what has failed.
    driver_errors: Any = (pa.ArrowException, OSError, RuntimeError, UnicodeError)
    try:
        yield
    except Exception as error:
        if isinstance(error, MemoryError) or not (
            isinstance(error, driver_errors)
            or type(error).__module__.partition(".")[0] == "adbc_driver_manager"
        ):
            raise
        problem = (
            f"gives nothing from {name}: {_reason(error)}; run it yourself to see what it says"
        )
        raise DataError(f"{parameter('query')} {problem}") from None


def _driver(name: str) -> Any:
    try:
        return import_module(f"adbc_driver_{name}.dbapi")
    except ImportError:
        advice = f"pip install 'fim-private[sql]' (adbc-driver-{name})"
        raise MissingExtraError(
            f"reading a database needs ADBC, which is not installed: {advice}"
        ) from None


def _unreachable(source: Address) -> DataError:
    """Return the error where PostgreSQL lets nobody in; what it says itself may quote the address
    and its password.
    """
    return DataError(
        f"{source.name} cannot be connected to; check the address, the server, the "
        f"user and the "
        "password (give it by PGPASSWORD, or by a service file: postgresql://?service=NAME)"
    )


def _postgresql(source: Database) -> Any:
    driver = _driver("postgresql")
    try:
        connection = driver.connect(source.text, autocommit=True)
    except driver.Error:
        raise _unreachable(source) from None
    with closing(connection.cursor()) as cursor:
        cursor.execute("set default_transaction_read_only = on")
    return connection


def _sqlite(source: Database) -> Any:
    driver = _driver("sqlite")
    place = source.text.partition("://")[2]
    if not place.startswith("/") or "?" in place:
        raise DataError(
            f"{source.name} is no address of a SQLite file; give sqlite:///shop.db "
            f"or, with the whole "
            "path, sqlite:////srv/shop.db, and no parameters"
        )
    path = expanded(place[1:])
    with file_errors(path), path.open("rb") as stream:
        start = stream.read(len(_SQLITE_START))
    if start != _SQLITE_START:
        raise DataError(f"{str(path)!r} is no SQLite database; check the path")
    return driver.connect(f"file:{quote(os.fsencode(path.absolute()))}?mode=ro", autocommit=True)


def _asked(field: pa.Field, is_sqlite: bool) -> str:
    """Return what is asked for a column; of SQLite each value as text, whole numbers without a
    point, '' for none.
    """
    name = '"' + field.name.replace('"', '""') + '"'
    if not is_sqlite:
        return name if _is_plain(field.type) else f"{name}::text as {name}"
    whole = f"abs({name}) < 1e18 and {name} = cast({name} as integer)"
    return (
        f"case typeof({name}) when 'null' then '' when 'blob' then hex({name}) when 'real' then "
        f"case when {whole} then cast(cast({name} as integer) as text) else printf('%!.17g', "
        f"{name}) end "
        f"else cast({name} as text) end as {name}"
    )


def _kind(field: pa.Field) -> pa.DataType:
    return field.type if _is_plain(field.type) else pa.string()


def _is_plain(kind: pa.DataType) -> bool:
    if is_list_type(kind):
        return _is_plain(kind.value_type)
    tests = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_string,
        pa.types.is_binary,
    )
    return any(test(kind) for test in (*tests, pa.types.is_date, pa.types.is_timestamp))


# -------------------- to count in, through Ibis


@contextmanager
def database_errors(name: str) -> Iterator[None]:
    """Raise what a database raises in this block as a DataError: its own words may quote rows, or a
    password.
    """
    try:
        with warnings.catch_warnings():  # Ibis calls what its drivers will take away some day
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            yield
    except (FimPrivateError, MemoryError):
        raise
    except Exception as error:  # also what Ibis does not understand of its drivers
        raise DataError(f"{name}: {_reason(error)}") from None


@contextmanager
def connected(
    source: Source, table: str | None, memory: MemoryLimit
) -> Iterator[tuple[str, Any, Any]]:
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
    if isinstance(source, LocalPath):
        _check_parquet(source, table, name)
    else:
        _check_address(source, table, name)
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


def _check_parquet(source: LocalPath, table: str | None, name: str) -> None:
    if table is not None:
        raise ParameterError(
            f"leave out {parameter('table')}: {name} is a file or a folder, and so is one table"
        )
    if not glob.has_magic(source.shown) and not source.path.exists():
        raise DataError(
            f"{name}: there is no such file or folder; {parameter('engine')} sql reads Parquet"
        )


def _check_address(source: Address, table: str | None, name: str) -> None:
    if source.scheme not in ("duckdb", "postgresql", "postgres"):
        raise DataError(
            f"{name}: {parameter('engine')} sql opens duckdb:///shop.duckdb and "
            f"postgresql://host/shop; of other databases give a table of Ibis, in Python"
        )
    if table is None:
        raise ParameterError(
            f"a database needs {parameter('table')}: the table, or the view, of the purchases"
        )


def _check_installed(module: str) -> None:
    if find_spec(module) is None:
        raise MissingExtraError(
            f"this database needs {module}: pip install 'fim-private[warehouse]'"
        )


def _duckdb(source: LocalPath | Address, memory: MemoryLimit, stack: ExitStack) -> Any:
    _check_installed("duckdb")
    import ibis

    folder = tempfile.mkdtemp(prefix="fim-private-")  # for data that do not fit in memory
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    settings = {"temp_directory": folder}
    if memory.given:
        settings["memory_limit"] = f"{memory.most}B"
    if isinstance(source, LocalPath):
        return ibis.duckdb.connect(**settings)
    path = expanded(source.text.partition("://")[2][1:])
    if not path.is_file():
        raise DataError(
            f"{source.name}: there is no such file; give duckdb:///shop.duckdb, or "
            f"duckdb:////srv/shop.duckdb"
        )
    return ibis.duckdb.connect(str(path), read_only=True, **settings)


def _counting_postgresql(source: Database) -> Any:
    _check_installed("psycopg")
    import ibis
    import psycopg

    try:
        connection = psycopg.connect(source.text, autocommit=True)
        return ibis.postgres.from_connection(connection)
    except psycopg.Error:
        raise _unreachable(source) from None
