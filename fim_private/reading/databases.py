"""Databases, through their Arrow drivers (ADBC): the rows that one select gives, as record batches.

PostgreSQL's columns have types. SQLite's have none, and its driver would guess a type from the first rows, so each
value is read as text, as in CSV. No error of a database is quoted, since it may quote values, or a password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from fim_private.errors import DataError, MissingExtraError, ParameterError, parameter, shown
from fim_private.reading.columns import Wanted
from fim_private.reading.files import expanded, file_errors, is_database, scheme_of, shown_source
from fim_private.reading.labels import is_list_type
from fim_private.reading.record_batches import ArrowSource

_SQLITE_START = b"SQLite format 3\0"
# How a query begins, behind comments and parentheses.
_SELECT = re.compile(r"(\s+|--[^\n]*(\n|\Z)|/\*.*?\*/|\()*+(select|with|values|table)\b", re.DOTALL | re.IGNORECASE)

# What the five letters that a database gives for an error mean, as far as there is something to do about it.
_STATES = {
    "42P01": "it names a table that is not there",
    "42703": "it names a column that is not there",
    "42501": "this user may not read what it names",
    "25006": "it would change the database, and only reads are allowed",
    "42601": "it is no single select that the database understands",
}


def check_query(source: Any, query: object, name: str = "query") -> None:
    """Raise ParameterError for a query that is no select, or without a database, and for a database without a query."""
    if not is_database(source):
        if query is not None:
            raise ParameterError(
                f"{parameter(name)} is for a database: the address of one begins with postgresql:// or sqlite:///"
            )
        return
    if query is None:
        raise ParameterError(
            f"a database needs {parameter(name)}: a select that gives one row per item, such as "
            f"'select {'customer_id, order_id, product from sales' if name == 'query' else 'sku, name from products'}'"
        )
    if not isinstance(query, str):
        raise ParameterError(f"{parameter(name)} must be text, not {shown(query)}")
    if _SELECT.match(query) is None:
        raise ParameterError(f"{parameter(name)} must be a single select, and nothing else")


def database_source(address: str, query: str) -> ArrowSource:
    """Return what a query gives as a table. Raises DataError, and MissingExtraError where there is no driver for it.

    The database is opened for reading only, and asked twice: for the columns, then for those of them that are wanted.
    """
    is_sqlite = scheme_of(address) == "sqlite"
    connect = _sqlite if is_sqlite else _postgresql
    name = repr(shown_source(address))
    # A line break, since a comment may end the query.
    asked = f"({query.rstrip().rstrip(';')}\n) as t"
    with _errors(name), closing(connect(address)) as connection, closing(connection.cursor()) as cursor:
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
            closing(connect(address)) as connection,
            closing(connection.cursor(adbc_stmt_kwargs=options)) as cursor,
        ):
            cursor.execute(f"select {columns} from {asked}")
            with closing(cursor.fetch_record_batch()) as reader:
                for batch in reader:
                    given = [column.cast(_kind(field)) for column, field in zip(batch.columns, fields, strict=True)]
                    found = pa.RecordBatch.from_arrays(given, names=wanted.names)
                    found.validate(full=True)
                    yield found

    described = pa.schema([field.with_type(_kind(field)) for field in schema])
    # Texts of these are integers where they print so.
    tokens = frozenset(field.name for field in schema if is_sqlite or b"numeric" in (field.metadata or {}).values())
    return ArrowSource(name, described, batches, kind="SQLite" if is_sqlite else "PostgreSQL", tokens=tokens)


@contextmanager
def _errors(name: str) -> Iterator[None]:
    # Of drivers before 1.12 a RuntimeError comes of closing what has failed.
    driver_errors: Any = (pa.ArrowException, OSError, RuntimeError, UnicodeError)
    try:
        yield
    except Exception as error:
        if isinstance(error, MemoryError) or not (
            isinstance(error, driver_errors) or type(error).__module__.partition(".")[0] == "adbc_driver_manager"
        ):
            raise
        state = getattr(error, "sqlstate", None) or ""
        why = _STATES.get(state, "it failed") + (f" (SQLSTATE {state})" if state else "")
        problem = f"gives nothing from {name}: {why}; run it yourself to see what it says"
        raise DataError(f"{parameter('query')} {problem}") from None


def _driver(name: str) -> Any:
    try:
        return import_module(f"adbc_driver_{name}.dbapi")
    except ImportError:
        advice = f"pip install 'fim-private[sql]' (adbc-driver-{name})"
        raise MissingExtraError(f"reading a database needs ADBC, which is not installed: {advice}") from None


def unreachable(address: str) -> DataError:
    """Return the error where PostgreSQL lets nobody in; what it says itself may quote the address and its password."""
    return DataError(
        f"{shown_source(address)!r} cannot be connected to; check the address, the server, the user and the "
        "password (give it by PGPASSWORD, or by a service file: postgresql://?service=NAME)"
    )


def _postgresql(address: str) -> Any:
    driver = _driver("postgresql")
    try:
        connection = driver.connect(address, autocommit=True)
    except driver.Error:
        raise unreachable(address) from None
    with closing(connection.cursor()) as cursor:
        cursor.execute("set default_transaction_read_only = on")
    return connection


def _sqlite(address: str) -> Any:
    driver = _driver("sqlite")
    place = address.partition("://")[2]
    if not place.startswith("/") or "?" in place:
        raise DataError(
            f"{shown_source(address)!r} is no address of a SQLite file; give sqlite:///shop.db or, with the whole "
            "path, sqlite:////srv/shop.db, and no parameters"
        )
    path = expanded(place[1:])
    with file_errors(path), path.open("rb") as stream:
        start = stream.read(len(_SQLITE_START))
    if start != _SQLITE_START:
        raise DataError(f"{str(path)!r} is no SQLite database; check the path")
    return driver.connect(f"file:{quote(os.fsencode(path.absolute()))}?mode=ro", autocommit=True)


def _asked(field: pa.Field, is_sqlite: bool) -> str:
    """Return what is asked for a column; of SQLite each value as text, whole numbers without a point, '' for none."""
    name = '"' + field.name.replace('"', '""') + '"'
    if not is_sqlite:
        return name if _is_plain(field.type) else f"{name}::text as {name}"
    whole = f"abs({name}) < 1e18 and {name} = cast({name} as integer)"
    return (
        f"case typeof({name}) when 'null' then '' when 'blob' then hex({name}) when 'real' then "
        f"case when {whole} then cast(cast({name} as integer) as text) else printf('%!.17g', {name}) end "
        f"else cast({name} as text) end as {name}"
    )


def _kind(field: pa.Field) -> pa.DataType:
    return field.type if _is_plain(field.type) else pa.string()


def _is_plain(kind: pa.DataType) -> bool:
    if is_list_type(kind):
        return _is_plain(kind.value_type)
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string, pa.types.is_binary)
    return any(test(kind) for test in (*tests, pa.types.is_date, pa.types.is_timestamp))
