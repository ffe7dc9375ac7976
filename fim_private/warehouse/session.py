"""A session in a database: the queries and the temporary tables of one release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import ibis
import numpy as np
import pyarrow as pa
import sqlglot
from ibis.expr.operations import DatabaseTable, InMemoryTable, UnboundTable
from numpy.typing import NDArray

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.reading.databases import connected, database_errors
from fim_private.reading.frames import may_be_query
from fim_private.reading.locations import InMemory, LocalPath, source_of
from fim_private.reading.options import Options


@dataclass(frozen=True)
class Session:
    """A database, and the temporary tables that one release makes in it.

    queries: where they are noted, in that dialect, in a dry run, which sends none; None for a true
    run.
    """

    name: str
    backend: Any
    dialect: str
    queries: list[str] | None
    _kept: list[str] = field(default_factory=list)

    def rows(self, expression: Any, dry: Mapping[str, Any]) -> pa.Table:
        """Return what an expression gives. dry: columns that stand for it in a dry run."""
        with database_errors(self.name):
            if self.queries is None:
                return expression.to_pyarrow()
            self.queries.append(f"{ibis.to_sql(expression, dialect=self.dialect)};")
            return pa.table(dry)

    def numbers(self, expression: Any, **dry: Any) -> dict[str, NDArray[np.int64]]:
        """Return the columns of an expression of whole numbers, each (rows,). Raises DataError
        beyond 64 bits.
        """
        table = self.rows(expression, dry)
        try:
            return {
                name: np.array(table.column(name).to_pylist(), dtype=np.int64)
                for name in table.schema.names
            }
        except (OverflowError, TypeError):
            raise DataError(f"{self.name}: a sum is beyond 64 bits") from None

    def vector(self, expression: Any, cells: int, dry: int) -> NDArray[np.int64]:
        """Return the values of an expression, by their places, its two columns: (cells,), 0 for a
        place without one.
        """
        found = self.numbers(expression, place=range(cells), value=[dry] * cells)
        vector = np.zeros(cells, dtype=np.int64)
        vector[found["place"]] = found["value"]
        return vector

    def keep(self, expression: Any, what: str) -> Any:
        """Return what an expression gives as a temporary table, which lasts as long as the
        session.
        """
        with database_errors(self.name):
            if self.queries is None:
                self._kept.append(f"fim_{what}_{uuid4().hex[:8]}")
                return self.backend.create_table(self._kept[-1], obj=expression, temp=True)
            query = ibis.to_sql(expression, dialect=self.dialect)
            self.queries.append(f"CREATE TEMPORARY TABLE fim_{what} AS\n{query};")
            return ibis.table(expression.schema(), name=f"fim_{what}")

    def upload(self, columns: Any, what: str) -> Any:
        """Return a table, or columns of numpy, (rows,) each, as a temporary table."""
        # As an expression: of data alone some versions leave a view behind, or fail.
        memory = ibis.memtable(pa.table(columns))
        if self.queries is None:
            self._kept.append(memory.op().name)  # Ibis itself drops it only when Python ends
            return self.keep(memory, what)
        self.queries.append(f"-- fim_{what} is uploaded: {', '.join(memory.columns)}")
        return ibis.table(memory.schema(), name=f"fim_{what}")

    def drop(self, table: Any) -> None:
        """Drop a temporary table that is not needed any more."""
        if self.queries is None:
            with database_errors(self.name):
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
        # of what is uploaded
        kind = "VIEW" if self.dialect == "duckdb" and name.startswith("ibis_") else "TABLE"
        (command,) = sqlglot.transpile(f'DROP {kind} "{name}"', write=self.dialect)
        with _cursor(self.backend) as execute:
            execute(command)


# Whether a name is a table that a database keeps itself: one row, true if it is, else false or
# null. DuckDB lists the views of a database that it attached as tables, so only tables of its own
# count. What read_parquet of Ibis makes is a view there: of files, and nothing is left out of them.
# PostgreSQL may let a role see some rows of a table only.
_KEPT_TABLES = {
    "duckdb": """
        SELECT bool_and(plain) FROM (
            SELECT database_name, schema_name, table_name, type = 'duckdb' AS plain
            FROM duckdb_tables() JOIN duckdb_databases() USING (database_name)
            UNION ALL
            SELECT database_name, schema_name, view_name, regexp_full_match(sql,
                'CREATE TEMP(ORARY)? VIEW \\S+ AS SELECT \\* FROM read_parquet'
                || '\\((main\\.)?list_value\\((''[^'']*''(, )?)+\\)\\);')
            FROM duckdb_views()
        ) AS named
        WHERE lower(table_name) = lower({name})
            AND database_name = coalesce({catalog}, database_name)
            AND schema_name = coalesce({schema}, schema_name)
    """,
    "postgres": """
        SELECT relkind IN ('r', 'p') AND NOT row_security_active(oid) FROM pg_class
        WHERE oid = to_regclass(concat_ws('.', quote_ident({schema}), quote_ident({name})))
    """,
}


def is_query(data: Any, table: str | None, options: Options) -> bool:
    """Tell whether a query may have chosen the rows of what a caller names, as `opened` takes it.

    It has not chosen those of Parquet, or of a table that a database keeps itself.
    All else counts as a query.
    """
    if isinstance(data, ibis.Table):
        return not _is_kept(data)
    source = source_of(data)
    if isinstance(source, LocalPath) and table is None:
        return False
    with connected(source, table, options.memory) as (_, _, found):
        return not _is_kept(found)


def _is_kept(table: Any) -> bool:
    operation = table.op()
    if isinstance(operation, UnboundTable):  # in no database: of a dry run
        return True
    if isinstance(operation, InMemoryTable):
        return not may_be_query(InMemory(operation.data.obj))
    if not isinstance(operation, DatabaseTable):
        return False
    asked = _KEPT_TABLES.get(operation.source.name)
    if asked is None:
        return False
    place = operation.namespace
    named = {"name": operation.name, "schema": place.database, "catalog": place.catalog}
    literals = {key: "NULL" if value is None else _literal(value) for key, value in named.items()}
    try:
        with _cursor(operation.source) as execute:
            found = execute(asked.format(**literals)).fetchall()
    except Exception:  # what is wrong with it, reading it will say
        return False
    return bool(found == [(True,)])


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def _cursor(backend: Any) -> Iterator[Callable[[str], Any]]:
    """Yield what sends a command to a database, past Ibis."""
    with backend.begin() if hasattr(backend, "begin") else nullcontext() as cursor:
        yield backend.raw_sql if cursor is None else cursor.execute


@contextmanager
def opened(
    data: Any,
    table: str | None,
    options: Options,
    queries: list[str] | None = None,
    dialect: str | None = None,
) -> Iterator[tuple[Session, Any]]:
    """Yield a session, and the table that a caller names; both last as long as this.

    data: a table of Ibis, or what `connected` takes. dialect: of queries, where a table of Ibis is
    in no database.
    """
    with ExitStack() as stack:
        if isinstance(data, ibis.Table):
            if table is not None:
                raise ParameterError(
                    f"leave out {parameter('table')}: the purchases are a table already"
                )
            name, found = "the table of Ibis", data
            with database_errors(name):
                backend: Any = None if dialect is not None else data.get_backend()
        else:
            source = source_of(data)
            name, backend, found = stack.enter_context(connected(source, table, options.memory))
        session = Session(name, backend, dialect or backend.name, queries)
        stack.callback(session.close)
        yield session, found
