"""A session in a database: the queries and the temporary tables of one release."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import ibis
import numpy as np
import pyarrow as pa
import sqlglot
from ibis.backends import BaseBackend as Backend
from ibis.expr.operations import AggUDF, DatabaseTable, InMemoryTable, ScalarUDF, UnboundTable
from ibis.expr.types import Table
from numpy.typing import NDArray
from sqlglot.expressions import convert as literal

from fim_private.counting.work import Int64
from fim_private.errors import DataError, ParameterError, parameter
from fim_private.reading.databases import connected, database_errors
from fim_private.reading.frames import may_be_query
from fim_private.reading.locations import InMemory, LocalPath, source_of
from fim_private.reading.options import Reading
from fim_private.reading.values import arrow_of, numpy_of

# What Ibis sends to a database before a query that uses it.
_SENT_FIRST = (InMemoryTable, ScalarUDF, AggUDF)


@dataclass(frozen=True)
class Session:
    """A database, and the temporary tables that one release makes in it.

    Attributes:
        name: What errors call the database or its table.
        backend: Its connection in Ibis; None in a dry run without a database.
        dialect: Its dialect of SQL.
        queries: The queries of a dry run, which are noted here and not sent; None for a true run.
    """

    name: str
    backend: Backend
    dialect: str
    queries: list[str] | None
    _kept: list[str] = field(default_factory=list)

    def rows(self, expression: Table, dry: Sequence[Sequence[int] | pa.Array]) -> pa.Table:
        """Return the rows of an expression. dry: the columns to return in a dry run instead."""
        with database_errors(self.name):
            needs_ibis = self.dialect != "duckdb" or expression.op().find(_SENT_FIRST)
            if self.queries is None and needs_ibis:
                return expression.to_pyarrow()
            query = ibis.to_sql(expression, dialect=self.dialect)
            if self.queries is not None:
                self.queries.append(f"{query};")
                return pa.table(dry, names=expression.columns)
            # Ibis would import pandas, which takes longer than most queries.
            table = self.backend.con.sql(query).to_arrow_table()
            return table.cast(expression.schema().to_pyarrow())

    def numbers(self, expression: Table, dry: Sequence[Sequence[int]]) -> Int64:
        """Return the columns of an expression of whole numbers: (columns, rows).

        dry: as in `rows`. Raises DataError beyond 64 bits.
        """
        table = self.rows(expression, dry)
        try:
            columns = [column.cast(pa.int64()).combine_chunks() for column in table.columns]
        except pa.ArrowInvalid:
            raise DataError(f"{self.name}: a sum is beyond 64 bits") from None
        return np.array([*map(numpy_of, columns)])

    def vector(self, expression: Table, cells: int, dry: int) -> Int64:
        """Return the second column, the values at the places in the first: (cells,), 0 if none."""
        places, values = self.numbers(expression, [range(cells), [dry] * cells])
        vector = np.zeros(cells, dtype=np.int64)
        vector[places] = values
        return vector

    def keep(self, expression: Table, label: str) -> Table:
        """Return an expression as a temporary table, which lasts as long as the session."""
        with database_errors(self.name):
            if self.queries is None:
                self._kept.append(f"fim_{label}_{uuid4().hex[:8]}")
                return self.backend.create_table(self._kept[-1], obj=expression, temp=True)
            query = ibis.to_sql(expression, dialect=self.dialect)
            self.queries.append(f"CREATE TEMPORARY TABLE fim_{label} AS\n{query};")
            return ibis.table(expression.schema(), name=f"fim_{label}")

    def upload(self, columns: pa.Table | Mapping[str, NDArray[np.generic]], label: str) -> Table:
        """Return a table, or columns of (rows,) each, as a temporary table."""
        if not isinstance(columns, pa.Table):
            columns = pa.table({name: arrow_of(values) for name, values in columns.items()})
        if self.queries is not None:
            self.queries.append(f"-- fim_{label} is uploaded: {', '.join(columns.column_names)}")
            return ibis.table(ibis.schema(columns.schema), name=f"fim_{label}")
        if self.dialect == "duckdb":  # Ibis would import pandas here, too
            name = f"fim_upload_{uuid4().hex[:8]}"
            with database_errors(self.name), ExitStack() as stack:
                self.backend.con.register(name, columns)
                stack.callback(self.backend.con.unregister, name)
                return self.keep(self.backend.table(name), label)
        # As an expression: of data alone some versions leave a table behind, or fail.
        memory = ibis.memtable(columns)
        self._kept.append(memory.op().name)  # Ibis itself drops it only when Python ends
        return self.keep(memory, label)

    def drop(self, table: Table) -> None:
        """Drop a temporary table that is not needed any more."""
        if self.queries is None:
            with database_errors(self.name):
                self._drop(table.op().name)
            self._kept.remove(table.op().name)

    def close(self) -> None:
        """Drop all temporary tables, even after a failure; a lost connection has none."""
        while self._kept:
            with suppress(Exception):
                self._drop(self._kept.pop())

    def _drop(self, name: str) -> None:
        # Not by Ibis's drop_table: with some versions of sqlglot it names no table.
        (command,) = sqlglot.transpile(f'DROP TABLE "{name}"', write=self.dialect)
        with _cursor(self.backend) as execute:
            execute(command)


# Queries that tell whether a name is a table that the database keeps itself: one row, true if it
# is, else false or null. DuckDB lists the views of an attached database as tables, so only its own
# tables count. The read_parquet of Ibis makes a view there, which has all rows of the files.
# PostgreSQL may let a role see only some rows of a table.
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


def is_query(data: object, table: str | None, options: Reading) -> bool:
    """Tell whether a query may have chosen the rows of the data, which are as `opened` takes them.

    No query has chosen those of Parquet, or of a table that a database keeps itself. Everything
    else counts as a query.
    """
    if isinstance(data, ibis.Table):
        return not _is_kept(data)
    source = source_of(data)
    if isinstance(source, LocalPath) and table is None:
        return False
    with connected(source, table, options.memory) as (_, _, opened_table):
        return not _is_kept(opened_table)


def _is_kept(table: Table) -> bool:
    operation = table.op()
    if isinstance(operation, UnboundTable):  # of a dry run without a database
        return True
    if isinstance(operation, InMemoryTable):
        return not may_be_query(InMemory(operation.data.obj))
    if not isinstance(operation, DatabaseTable):
        return False
    query = _KEPT_TABLES.get(operation.source.name)
    if query is None:
        return False
    namespace = operation.namespace
    query = query.format(
        name=literal(operation.name).sql(),
        schema=literal(namespace.database).sql(),
        catalog=literal(namespace.catalog).sql(),
    )
    try:
        with _cursor(operation.source) as execute:
            return bool(execute(query).fetchall() == [(True,)])
    except Exception:  # reading the table will say what is wrong
        return False


@contextmanager
def _cursor(backend: Backend) -> Iterator[Callable[[str], Any]]:
    """Yield a function that sends a command to a database without Ibis."""
    if not hasattr(backend, "begin"):
        yield backend.raw_sql
        return
    with backend.begin() as cursor:
        yield cursor.execute


@contextmanager
def opened(
    data: object,
    table: str | None,
    options: Reading,
    queries: list[str] | None,
    dialect: str | None,
) -> Iterator[tuple[Session, Table]]:
    """Yield a session and the table that a caller names, as long as the context lasts.

    Args:
        data: A table of Ibis, or what `connected` takes.
        table: The name of the table in a database.
        options: How to read it.
        queries: Where a dry run notes its queries; None for a true run.
        dialect: That of the queries if the table of Ibis is in no database.
    """
    with ExitStack() as stack:
        if isinstance(data, ibis.Table):
            if table is not None:
                raise ParameterError(
                    f"leave out {parameter('table')}: the purchases are a table already"
                )
            name, purchases = "the table of Ibis", data
            with database_errors(name):
                backend: Backend = data.get_backend() if dialect is None else None
        else:
            connection = connected(source_of(data), table, options.memory)
            name, backend, purchases = stack.enter_context(connection)
        session = Session(name, backend, dialect or backend.name, queries)
        stack.callback(session.close)
        yield session, purchases
