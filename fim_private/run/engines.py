"""What opens and counts purchases: this machine, a Spark session, or the database they are in."""

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from fim_private.counting import Effort
from fim_private.counting.source import LocalSource, SupportSource
from fim_private.errors import MissingExtraError, ParameterError, parameter, shown
from fim_private.options.declaration import OptionValues
from fim_private.reading.columns import ReadAs
from fim_private.reading.databases import check_query
from fim_private.reading.locations import source_of
from fim_private.reading.options import Reading
from fim_private.reading.purchases import is_query, read_parts
from fim_private.request.scope import Scope
from fim_private.spark import dataframes
from fim_private.spark.purchases import stored_purchases
from fim_private.spark.source import SparkSource

LOCAL, SPARK, SQL = "local", "spark", "sql"


@dataclass(frozen=True)
class Opened:
    """Purchases that were read, as far as they count.

    missing_user: how rows without a user were read; None if nobody said.
    """

    source: SupportSource
    read_as: ReadAs | None
    scope: Scope
    missing_user: str | None

    @property
    def unit(self) -> str:
        """The unit of privacy."""
        return "user" if self.source.by_user else "basket"


# What makes a source of each segment of stored purchases, and how all of them were read.
_Stored = tuple[Callable[..., SupportSource], ReadAs | None]


@dataclass(frozen=True)
class DryRun:
    """Purchases in a database that gets no queries: they are only noted.

    Attributes:
        data: The purchases, as `mine` takes them.
        dialect: The dialect of the queries, if data is a table of Ibis that is in no database.
        queries: The queries noted so far.
    """

    data: object
    dialect: str | None
    queries: list[str] = field(default_factory=list)


def _natural_engine(data: object) -> str:
    """Return the engine of data for which none was named. Ibis is not imported."""
    if dataframes.is_dataframe(data):
        return SPARK
    is_ibis = type(data).__module__ == "ibis.expr.types.relations"
    return SQL if is_ibis and hasattr(data, "get_backend") else LOCAL


@dataclass(frozen=True)
class Engine:
    """What opens and counts purchases.

    Attributes:
        name: "local", "spark" or "sql".
        data: The purchases, as the caller gave them.
        settings: The settings of a new Spark session.
        table: The table of a database.
        queries: Where the queries of a dry run are noted, which are not sent; None otherwise.
        dialect: The dialect of these queries, if data is a table of Ibis that is in no database.
    """

    name: str
    data: object
    settings: Mapping[str, str] | None
    table: str | None
    queries: list[str] | None
    dialect: str | None

    @classmethod
    def of(cls, data: object, values: OptionValues) -> Self:
        """Return the engine that options name, or else the one that the data needs.

        Raises ParameterError for options that do not go together.
        """
        engine, settings, table = map(values.get, ("engine", "spark_conf", "table"))
        queries = dialect = None
        if isinstance(data, DryRun):
            queries, dialect, data = data.queries, data.dialect, data.data
        natural = _natural_engine(data)
        name = natural if engine is None else engine
        if name not in (LOCAL, SPARK, SQL):
            raise ParameterError(
                f"{parameter('engine')} must be one of {LOCAL}, {SPARK}, {SQL}, not {shown(engine)}"
            )
        if natural == SQL and name != SQL:
            raise ParameterError(
                f"leave out {parameter('engine')}: a table of Ibis is counted in its database"
            )
        if natural == SPARK and name == LOCAL:
            raise ParameterError(
                f"leave out {parameter('engine')}: Spark counts a DataFrame of Spark; or give "
                f"its toArrow()"
            )
        is_mapping = isinstance(settings, Mapping)
        if settings is not None and (name != SPARK or natural == SPARK or not is_mapping):
            raise ParameterError(
                f"{parameter('spark_conf')} goes with {parameter('engine')} {SPARK}: it has the "
                f"settings of a new session, such as 'spark.master'"
            )
        if table is not None and not (name == SQL and isinstance(table, str)):
            raise ParameterError(
                f"{parameter('table')} goes with {parameter('engine')} {SQL}: it names a table "
                f"of the database"
            )
        return cls(name, data, settings, table, queries, dialect)

    def reads_query(self, reading: Reading) -> bool:
        """Tell whether a query, or what may be one, chose the rows. It looks at no row.

        Raises DataError and ParameterError for what cannot be opened.
        """
        if self.name == LOCAL:
            source = source_of(self.data)
            check_query(source, reading.query)
            return is_query(source, reading)
        if self.name == SPARK:
            return dataframes.is_query(self.data, reading, self.settings)
        if importlib.util.find_spec("ibis") is None:
            raise MissingExtraError(
                f"{parameter('engine')} {SQL} needs Ibis: pip install 'fim-private[warehouse]'"
            )
        from fim_private.warehouse import session

        return session.is_query(self.data, self.table, reading)

    @contextmanager
    def opened(self, reading: Reading, scope: Scope, effort: Effort) -> Iterator[list[Opened]]:
        """Read purchases, and yield those of each segment, or all in one.

        They are there for as long as this lasts.
        """
        scopes = _scopes_of_segments(reading, scope)
        if self.name == LOCAL:
            segments = read_parts(source_of(self.data), reading)
            yield [
                Opened(
                    LocalSource(scope.applied(segment), effort),
                    segment.read_as,
                    scope.read_from(segment.read_as),
                    segment.reading.missing_user,
                )
                for scope, segment in zip(scopes, segments, strict=True)
            ]
            return
        stored = self._stored_in_spark if self.name == SPARK else self._stored_in_database
        with stored(reading, scopes[0]) as (source, read_as):
            yield [
                Opened(
                    source(place, effort, together=scope.unites),
                    read_as,
                    scope.read_from(read_as),
                    reading.missing_user,
                )
                for place, scope in enumerate(scopes)
            ]

    @contextmanager
    def _stored_in_spark(self, reading: Reading, scope: Scope) -> Iterator[_Stored]:
        # The list of items stays here: a task needs no more than which items are left out.
        of_tasks = replace(scope, exclude=(), catalogue=None)
        with (
            dataframes.opened_table(self.data, reading, self.settings) as table,
            stored_purchases(table, of_tasks.applied, scope.excluded) as stored,
        ):
            yield partial(SparkSource.of, stored), table.read_as

    @contextmanager
    def _stored_in_database(self, reading: Reading, scope: Scope) -> Iterator[_Stored]:
        from fim_private.warehouse.purchases import stored_purchases
        from fim_private.warehouse.session import opened
        from fim_private.warehouse.source import DatabaseSource

        with opened(self.data, self.table, reading, self.queries, self.dialect) as (session, table):
            stored = stored_purchases(
                session, table, reading, excluded=scope.excluded, min_basket=scope.min_basket
            )
            yield partial(DatabaseSource.of, stored), stored.read_as


def _scopes_of_segments(reading: Reading, scope: Scope) -> list[Scope]:
    """Return the scope of each segment or period; that of all purchases if there are none."""
    segments = reading.parts
    if segments is None:
        return [scope]
    scope = replace(scope, max_segments=segments.most)
    if reading.by:
        return [replace(scope, segment=name) for name in segments.names]
    return [replace(scope, period=name) for name in segments.names]
