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

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.errors import DataError, FimPrivateError, MissingExtraError, ParameterError, parameter
from fim_private.reading.files import expanded, scheme_of, shown_source
from fim_private.reading.options import Options

_PACKAGES = {"ibis", "duckdb", "_duckdb", "psycopg", "sqlglot", "google", "snowflake", "trino", "databricks"}
# What the five letters of an error mean, as far as there is something to do about it.
_STATES = {
    "42P01": "it has no such table",
    "42703": "the table has no such column",
    "28P01": "the user or the password is wrong",
    "28000": "the user or the password is wrong",
    "3D000": "there is no such database",
    "53100": "its disk is full",
    "57014": "it gave up on a query",
}
_LOST = {"57P01", "57P02", "57P03", "08000", "08003", "08006"}
_RIGHTS = (
    "this role lacks a right. It has to read the table, and to make temporary tables: in PostgreSQL GRANT SELECT "
    "ON the table, and GRANT TEMPORARY ON DATABASE"
)


def is_table(data: Any) -> bool:
    """Return whether something is a table of Ibis, without importing it."""
    kind = type(data)
    return kind.__module__.startswith("ibis.expr.types") and hasattr(data, "get_backend")


@contextmanager
def database_errors(name: str) -> Iterator[None]:
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
    state, kind = getattr(error, "sqlstate", None) or "", type(error).__name__
    if state == "42501" or kind in ("PermissionException", "InsufficientPrivilege"):
        return _RIGHTS
    lost = state in _LOST or (kind in ("OperationalError", "InterfaceError", "ConnectionException") and not state)
    if lost:
        return "the connection was lost, or never made: nothing is released, and what was charged stays charged"
    if kind in ("TableNotFound", "CatalogException"):
        return _STATES["42P01"]
    if kind == "OutOfMemoryException":
        return f"it needs more memory: raise {parameter('max_memory')}"
    code = f" (SQLSTATE {state})" if state else f" ({kind})"
    return _STATES.get(state, "it failed; its own log says more") + code


@dataclass
class Session:
    """A database, and the temporary tables that one release makes in it.

    backend: a connection of Ibis; None to ask nothing, where each query is only noted (`queries`) and gives no rows.
    dialect: in which queries are noted.
    """

    name: str
    backend: Any
    dialect: str
    queries: list[tuple[str, str]] = field(default_factory=list)
    _kept: list[str] = field(default_factory=list)
    _mark: str = field(default_factory=lambda: uuid4().hex[:8])

    @property
    def is_dry(self) -> bool:
        """Whether nothing is asked."""
        return self.backend is None

    def rows(self, expression: Any) -> pa.Table:
        """Return what an expression gives."""
        self._note("", expression)
        if self.is_dry:
            return expression.schema().to_pyarrow().empty_table()
        with database_errors(self.name):
            return expression.to_pyarrow()

    def numbers(self, expression: Any) -> dict[str, NDArray[Any]]:
        """Return the columns of an expression of whole numbers, each (rows,) int64. Raises DataError beyond 64 bits."""
        table = self.rows(expression)
        try:
            return {name: np.array(table.column(name).to_pylist(), dtype=np.int64) for name in table.schema.names}
        except (OverflowError, TypeError):
            raise DataError(f"{self.name}: a sum is beyond 64 bits") from None

    def keep(self, expression: Any, what: str) -> Any:
        """Return what an expression gives as a temporary table, which lasts as long as the session."""
        name = self._named(what)
        self._note(f"create temporary table {name} as", expression)
        if self.is_dry:
            return _ibis().table(expression.schema(), name=name)
        with database_errors(self.name):
            self._kept.append(name)
            return self.backend.create_table(name, obj=expression, temp=True)

    def upload(self, columns: Mapping[str, Any], what: str) -> Any:
        """Return columns of numpy or Arrow, (rows,) each, as a temporary table."""
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        memory = _ibis().memtable(table)
        name = self._named(what)
        if self.is_dry:
            self.queries.append((f"upload {name}: {', '.join(columns)}", ""))
            return _ibis().table(memory.schema(), name=name)
        with database_errors(self.name):
            self._kept.append(name)
            # As an expression: of data alone some versions leave a view behind, or fail.
            return self.backend.create_table(name, obj=memory, temp=True)

    def drop(self, table: Any) -> None:
        """Drop a temporary table that is not needed any more."""
        if not self.is_dry and (name := table.get_name()) in self._kept:
            with database_errors(self.name):
                self._drop(name)
            self._kept.remove(name)

    def close(self) -> None:
        """Drop all temporary tables, also after a failure; a connection that is lost has none."""
        for name in reversed(self._kept):
            with suppress(Exception):
                self._drop(name)
        self._kept.clear()

    def _drop(self, name: str) -> None:
        # Not Ibis's drop_table: with some versions of sqlglot it names no table.
        import sqlglot

        (command,) = sqlglot.transpile(f'DROP TABLE "{name}"', write=self.dialect)
        if not hasattr(self.backend, "begin"):
            self.backend.raw_sql(command)
            return
        with self.backend.begin() as cursor:
            cursor.execute(command)

    def _named(self, what: str) -> str:
        return f"fim_{what}" if self.is_dry else f"fim_{what}_{self._mark}_{len(self._kept)}"

    def _note(self, what: str, expression: Any) -> None:
        if self.is_dry:
            self.queries.append((what, str(_ibis().to_sql(expression, dialect=self.dialect))))


def _ibis() -> Any:
    if importlib.util.find_spec("ibis") is None:
        raise MissingExtraError(f"{parameter('engine')} sql needs Ibis: pip install 'fim-private[warehouse]'")
    import ibis

    return ibis


@contextmanager
def opened(data: Any, table: Any, options: Options, *, dry: bool = False) -> Iterator[tuple[Session, Any]]:
    """Yield a session, and the table that a caller names; both last as long as this.

    data: a table of Ibis; the address of a database, with the name of a table in it; or Parquet, which DuckDB reads.
    dry: whether only to note the queries. Raises DataError, ParameterError.
    """
    ibis = _ibis()
    with ExitStack() as stack:
        if is_table(data):
            if table is not None:
                raise ParameterError(f"leave out {parameter('table')}: the purchases are a table already")
            name, found = "the table", data
            backend = data.get_backend()
        else:
            name, backend, found = _connected(ibis, data, table, options, stack)
        session = Session(name, None if dry else backend, backend.name)
        stack.callback(session.close)
        yield session, found


def _connected(ibis: Any, data: Any, table: Any, options: Options, stack: ExitStack) -> tuple[str, Any, Any]:
    if not isinstance(data, str | os.PathLike):
        kind = type(data).__name__
        raise ParameterError(f"{parameter('engine')} sql reads a table of Ibis, a database or Parquet, not a {kind}")
    address = os.fspath(data)
    name, scheme = repr(shown_source(address)), scheme_of(address)
    if scheme in ("duckdb", None):
        duckdb = _driver("duckdb", ibis)
        with database_errors(name):
            folder = tempfile.mkdtemp(prefix="fim-private-")  # where what does not fit in memory goes
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            settings: dict[str, Any] = {"temp_directory": folder}
            if options.memory.given:
                settings["memory_limit"] = f"{options.memory.most}B"
            if scheme is None:
                if table is not None:
                    raise ParameterError(f"leave out {parameter('table')}: {name} is a file or a folder, one table")
                backend = duckdb.connect(**settings)
                stack.callback(backend.disconnect)
                return name, backend, backend.read_parquet(_parquet(address))
            path = expanded(address.partition("://")[2][1:])
            if not path.is_file():
                raise DataError(
                    f"{name}: there is no such file; give duckdb:///shop.duckdb, or duckdb:////srv/shop.duckdb"
                )
            backend = duckdb.connect(str(path), read_only=True, **settings)
            stack.callback(backend.disconnect)
    elif scheme in ("postgresql", "postgres"):
        with database_errors(name):
            backend = _driver("postgres", ibis).connect(**_postgresql(address))
            stack.callback(backend.disconnect)
    else:
        raise DataError(
            f"{name}: {parameter('engine')} sql opens duckdb:///shop.duckdb and postgresql://host/shop; of other "
            "databases give a table of Ibis, in Python"
        )
    if options.query is None and table is None:
        raise ParameterError(f"a database needs {parameter('table')}: the table, or the view, of the purchases")
    with database_errors(name):
        if options.query is not None:
            return name, backend, backend.sql(options.query, dialect=backend.name)
        schema, _, own = str(table).rpartition(".")
        return f"table {table!r} of {name}", backend, backend.table(own, database=schema or None)


def _driver(name: str, ibis: Any) -> Any:
    module = {"postgres": "psycopg"}.get(name, name)
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(f"this database needs {module}: pip install 'fim-private[warehouse]'")
    return getattr(ibis, name)


def _postgresql(address: str) -> dict[str, Any]:
    import psycopg.conninfo

    try:
        given = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        raise DataError(f"{shown_source(address)!r} is no address of PostgreSQL; give postgresql://host/shop") from None
    names = {"host": "host", "port": "port", "user": "user", "password": "password", "dbname": "database"}
    found: dict[str, Any] = {ours: given.pop(theirs) for theirs, ours in names.items() if theirs in given}
    environment = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"}
    for ours, variable in environment.items():
        if ours not in found and variable in os.environ:
            found[ours] = os.environ[variable]
    return found | given


def _parquet(path: str) -> str:
    place = Path(path)
    return str(place / "**" / "*.parquet") if place.is_dir() else path
