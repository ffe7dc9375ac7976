"""Connections to databases, the temporary tables of one release, and errors of one line, which quote no rows."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import ibis
import numpy as np
import pyarrow as pa
import sqlglot
from ibis.expr.operations import InMemoryTable
from numpy.typing import NDArray

from fim_private.errors import DataError, FimPrivateError, MissingExtraError, ParameterError, parameter
from fim_private.reading.databases import unreachable
from fim_private.reading.files import expanded, scheme_of, shown_source
from fim_private.reading.options import Options

_PACKAGES = {"ibis", "duckdb", "_duckdb", "psycopg", "sqlglot", "google", "snowflake", "trino", "databricks"}


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Raise what a database raises in this block as a DataError: its own words may quote rows, or a password."""
    try:
        with warnings.catch_warnings():  # Ibis calls what its drivers will take away some day
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            yield
    except FimPrivateError:
        raise
    except Exception as error:
        packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
        if packages.isdisjoint(_PACKAGES) and not isinstance(error, OSError):
            raise
        raise DataError(f"{name}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    # Drivers name an exception after what went wrong, PostgreSQL's in the words of its manual.
    kind = type(error).__name__
    reasons = {
        "InsufficientPrivilege PermissionException": (
            "this role lacks a right. It has to read the table, and to make temporary tables: in PostgreSQL GRANT "
            "SELECT ON the table, and GRANT TEMPORARY ON DATABASE"
        ),
        "TableNotFound UndefinedTable CatalogException": "it has no such table",
        "OperationalError InterfaceError AdminShutdown CrashShutdown IdleSessionTimeout ConnectionException": (
            "the connection was lost: nothing is released, and what was charged stays charged"
        ),
        "OutOfMemoryException": f"it needs more memory: raise {parameter('max_memory')}",
        "IOException": "it is no DuckDB database, its disk is full, or another program has it open",
        "DiskFull": "its disk is full",
        "QueryCanceled": "it gave up on a query",
    }
    found = next((reason for kinds, reason in reasons.items() if kind in kinds.split()), None)
    return found or f"it failed; its own log says more ({getattr(error, 'sqlstate', None) or kind})"


@dataclass(frozen=True)
class Session:
    """A database, and the temporary tables that one release makes in it.

    queries: where they are noted, in that dialect, in a dry run, which sends none; None for a true run.
    """

    name: str
    backend: Any
    dialect: str
    queries: list[str] | None
    _kept: list[str] = field(default_factory=list)
    _mark: str = field(default_factory=lambda: uuid4().hex[:8])

    def rows(self, expression: Any, dry: Mapping[str, Any] | None = None) -> pa.Table:
        """Return what an expression gives. dry: columns that stand for it in a dry run; no rows unless given."""
        if self.queries is not None:
            self.queries.append(f"{ibis.to_sql(expression, dialect=self.dialect)};")
            return expression.schema().to_pyarrow().empty_table() if dry is None else pa.table(dry)
        with _errors(self.name):
            return expression.to_pyarrow()

    def numbers(self, expression: Any, **dry: Any) -> dict[str, NDArray[np.int64]]:
        """Return the columns of an expression of whole numbers, each (rows,). Raises DataError beyond 64 bits."""
        table = self.rows(expression, dry)
        try:
            return {name: np.array(table.column(name).to_pylist(), dtype=np.int64) for name in table.schema.names}
        except (OverflowError, TypeError):
            raise DataError(f"{self.name}: a sum is beyond 64 bits") from None

    def keep(self, expression: Any, what: str) -> Any:
        """Return what an expression gives as a temporary table, which lasts as long as the session."""
        if self.queries is not None:
            is_upload = isinstance(expression.op(), InMemoryTable)
            asked = (
                f"-- upload: {', '.join(expression.columns)}"
                if is_upload
                else ibis.to_sql(expression, dialect=self.dialect)
            )
            self.queries.append(f"CREATE TEMPORARY TABLE fim_{what} AS\n{asked};")
            return ibis.table(expression.schema(), name=f"fim_{what}")
        name = f"fim_{what}_{self._mark}_{len(self._kept)}"
        with _errors(self.name):
            self._kept.append(name)
            return self.backend.create_table(name, obj=expression, temp=True)

    def upload(self, columns: Mapping[str, Any], what: str) -> Any:
        """Return columns of numpy or Arrow, (rows,) each, as a temporary table."""
        # As an expression: of data alone some versions leave a view behind, or fail.
        return self.keep(ibis.memtable(pa.table({name: pa.array(values) for name, values in columns.items()})), what)

    def drop(self, table: Any) -> None:
        """Drop a temporary table that is not needed any more."""
        if self.queries is None:
            with _errors(self.name):
                self._drop(table.op().name)
            self._kept.remove(table.op().name)

    def close(self) -> None:
        """Drop all temporary tables, also after a failure; a connection that is lost has none."""
        for name in reversed(self._kept):
            with suppress(Exception):
                self._drop(name)
        self._kept.clear()

    def _drop(self, name: str) -> None:
        # Not Ibis's drop_table: with some versions of sqlglot it names no table.
        (command,) = sqlglot.transpile(f'DROP TABLE "{name}"', write=self.dialect)
        if not hasattr(self.backend, "begin"):
            self.backend.raw_sql(command)
            return
        with self.backend.begin() as cursor:
            cursor.execute(command)


@contextmanager
def opened(
    data: Any, table: str | None, options: Options, queries: list[str] | None, dialect: str | None
) -> Iterator[tuple[Session, Any]]:
    """Yield a session, and the table that a caller names; both last as long as this.

    data: a table of Ibis; the address of a database, with the name of a table in it; or Parquet, which DuckDB reads.
    queries: as in `Session`. dialect: of these, where a table of Ibis is in no database.
    Raises DataError, ParameterError.
    """
    with ExitStack() as stack:
        if isinstance(data, ibis.Table):
            if table is not None:
                raise ParameterError(f"leave out {parameter('table')}: the purchases are a table already")
            name, found = "the table", data
            backend: Any = data.get_backend() if dialect is None else None
        else:
            name, backend, found = _connected(data, table, options, stack)
        session = Session(name, backend, dialect or backend.name, queries)
        stack.callback(session.close)
        yield session, found


def _connected(data: Any, table: str | None, options: Options, stack: ExitStack) -> tuple[str, Any, Any]:
    if not isinstance(data, str | os.PathLike):
        kind = type(data).__name__
        raise ParameterError(f"{parameter('engine')} sql reads a table of Ibis, a database or Parquet, not a {kind}")
    address = os.fspath(data)
    name, scheme = repr(shown_source(address)), scheme_of(address)
    if scheme not in ("duckdb", "postgresql", "postgres", None):
        raise DataError(
            f"{name}: {parameter('engine')} sql opens duckdb:///shop.duckdb and postgresql://host/shop; of other "
            "databases give a table of Ibis, in Python"
        )
    if (table is None and options.query is None) is not (scheme is None):
        need = f"a database needs {parameter('table')}: the table, or the view, of the purchases"
        over = f"leave out {parameter('table')}: {name} is a file or a folder, and so is one table"
        raise ParameterError(over if scheme is None else need)
    module = "duckdb" if scheme in ("duckdb", None) else "psycopg"
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(f"this database needs {module}: pip install 'fim-private[warehouse]'")
    with _errors(name):
        backend = _duckdb(address, options, stack) if module == "duckdb" else _postgresql(address)
        stack.callback(backend.disconnect)
        if scheme is None:
            return (
                name,
                backend,
                backend.read_parquet(str(Path(address) / "**" / "*.parquet") if Path(address).is_dir() else address),
            )
        if options.query is not None:
            return name, backend, backend.sql(options.query, dialect=backend.name)
        schema, _, own = str(table).rpartition(".")
        return f"table {table!r} of {name}", backend, backend.table(own, database=schema or None)


def _duckdb(address: str, options: Options, stack: ExitStack) -> Any:
    folder = tempfile.mkdtemp(prefix="fim-private-")  # where what does not fit in memory goes
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    settings: dict[str, Any] = {"temp_directory": folder}
    if options.memory.given:
        settings["memory_limit"] = f"{options.memory.most}B"
    if scheme_of(address) is None:
        return ibis.duckdb.connect(**settings)
    path = expanded(address.partition("://")[2][1:])
    if not path.is_file():
        shown = repr(shown_source(address))
        raise DataError(f"{shown}: there is no such file; give duckdb:///shop.duckdb, or duckdb:////srv/shop.duckdb")
    return ibis.duckdb.connect(str(path), read_only=True, **settings)


def _postgresql(address: str) -> Any:
    import psycopg

    try:
        return ibis.postgres.from_connection(psycopg.connect(address, autocommit=True))
    except psycopg.Error:
        raise unreachable(address) from None
