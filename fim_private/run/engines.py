"""What opens and counts purchases: this machine, a Spark session, or the database they are in."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from fim_private.counting import Effort
from fim_private.counting.source import LocalSource, SupportSource
from fim_private.errors import MissingExtraError, ParameterError, parameter, shown
from fim_private.reading.columns import ReadAs
from fim_private.reading.locations import source_of
from fim_private.reading.options import Reading
from fim_private.reading.purchases import is_query, read_parts
from fim_private.request.scope import Scope
from fim_private.spark import dataframes
from fim_private.spark.dataframes import is_dataframe, opened_table
from fim_private.spark.purchases import stored_purchases
from fim_private.spark.source import SparkSource

LOCAL, SPARK, SQL = "local", "spark", "sql"


@dataclass(frozen=True)
class Opened:
    """Purchases that were read, as far as they count."""

    source: SupportSource
    read_as: ReadAs | None
    scope: Scope

    @classmethod
    def of(cls, source: SupportSource, read_as: ReadAs | None, scope: Scope) -> Self:
        """Return purchases with the scope that says how they were read."""
        return cls(source, read_as, scope.read_from(read_as))

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
    dialect: str | None = None
    queries: list[str] = field(default_factory=list)


def _is_ibis_table(data: object) -> bool:
    """Return whether something is a table of Ibis, without importing Ibis."""
    return type(data).__module__ == "ibis.expr.types.relations" and hasattr(data, "get_backend")


@dataclass(frozen=True)
class Engine:
    """What opens and counts purchases.

    Attributes:
        name: "local", "spark" or "sql".
        settings: The settings of a new Spark session.
        table: The table of a database.
        dry: What notes queries instead of sending them.
    """

    name: str
    settings: Mapping[str, str]
    table: str | None = None
    dry: DryRun | None = None

    @classmethod
    def of(
        cls,
        data: object,
        engine: str | None,
        settings: object = None,
        table: object = None,
        dry: DryRun | None = None,
    ) -> Self:
        """Return the engine of a name, or else the one that the data needs.

        Raises ParameterError for options that do not go together.
        """
        name = _natural_engine(data) if engine is None else engine
        if name not in (LOCAL, SPARK, SQL):
            raise ParameterError(
                f"{parameter('engine')} must be one of {LOCAL}, {SPARK}, {SQL}, not {shown(engine)}"
            )
        if _is_ibis_table(data) and name != SQL:
            raise ParameterError(
                f"leave out {parameter('engine')}: a table of Ibis is counted in its database"
            )
        if name == LOCAL and is_dataframe(data):
            raise ParameterError(
                f"leave out {parameter('engine')}: Spark counts a DataFrame of Spark; or give "
                f"its toArrow()"
            )
        starts_session = name == SPARK and not is_dataframe(data)
        of_session = _settings_of(settings, starts_session=starts_session)
        return cls(name, of_session, _named_table(table, name), dry)

    def reads_query(self, data: object, reading: Reading) -> bool:
        """Tell whether a query, or what may be one, chose the rows. It looks at no row.

        Raises DataError and ParameterError for what cannot be opened.
        """
        if self.name == LOCAL:
            return is_query(source_of(data), reading)
        if self.name == SPARK:
            return dataframes.is_query(data, reading, self.settings)
        _check_ibis()
        from fim_private.warehouse import session

        return session.is_query(data, self.table, reading)

    @contextmanager
    def opened(
        self, data: object, reading: Reading, scope: Scope, effort: Effort
    ) -> Iterator[list[Opened]]:
        """Read purchases, and yield those of each segment, or all in one.

        They are there for as long as this lasts.
        """
        scopes = _scopes_of_segments(reading, scope)
        if self.name == LOCAL:
            segments = read_parts(source_of(data), reading)
            yield [
                Opened.of(LocalSource(scope.applied(segment), effort), segment.read_as, scope)
                for scope, segment in zip(scopes, segments, strict=True)
            ]
            return
        stored = self._stored_in_spark if self.name == SPARK else self._stored_in_database
        with stored(data, reading, scopes[0]) as (source, read_as):
            yield [
                Opened.of(
                    source(place, reading.missing_user, effort, together=scope.unites),
                    read_as,
                    scope,
                )
                for place, scope in enumerate(scopes)
            ]

    @contextmanager
    def _stored_in_spark(self, data: object, reading: Reading, scope: Scope) -> Iterator[_Stored]:
        # The list of items stays here: a task needs no more than which items are left out.
        of_tasks = replace(scope, exclude=(), catalogue=None)
        with (
            opened_table(data, reading, self.settings) as table,
            stored_purchases(table, of_tasks.applied, scope.excluded) as stored,
        ):
            yield partial(SparkSource.of, stored), table.read_as

    @contextmanager
    def _stored_in_database(
        self, data: object, reading: Reading, scope: Scope
    ) -> Iterator[_Stored]:
        _check_ibis()
        from fim_private.warehouse.purchases import stored_purchases
        from fim_private.warehouse.session import opened
        from fim_private.warehouse.source import DatabaseSource

        queries = None if self.dry is None else self.dry.queries
        dialect = None if self.dry is None else self.dry.dialect
        with opened(data, self.table, reading, queries=queries, dialect=dialect) as (
            session,
            table,
        ):
            stored = stored_purchases(
                session, table, reading, excluded=scope.excluded, min_basket=scope.min_basket
            )
            yield partial(DatabaseSource.of, stored), stored.read_as


def _named_table(table: object, engine: str) -> str | None:
    """Return the name of a table of a database; ParameterError if it has no use."""
    if table is None:
        return None
    if engine != SQL or not isinstance(table, str):
        raise ParameterError(
            f"{parameter('table')} goes with {parameter('engine')} {SQL}: it names a table "
            f"of the database"
        )
    return table


def _settings_of(settings: object, *, starts_session: bool) -> dict[str, str]:
    """Return the settings of a new Spark session; ParameterError if none is started."""
    if settings is None:
        return {}
    if not starts_session or not isinstance(settings, Mapping):
        raise ParameterError(
            f"{parameter('spark_conf')} goes with {parameter('engine')} {SPARK}: it has the "
            f"settings of a new session, such as 'spark.master'"
        )
    return dict(settings)


def _natural_engine(data: object) -> str:
    """Return the engine of data for which none was named."""
    if is_dataframe(data):
        return SPARK
    return SQL if _is_ibis_table(data) else LOCAL


def _scopes_of_segments(reading: Reading, scope: Scope) -> list[Scope]:
    """Return the scope of each segment or period; that of all purchases if there are none."""
    segments = reading.parts
    if segments is None:
        return [scope]
    scope = replace(scope, max_segments=segments.most)
    if reading.by:
        return [replace(scope, segment=name) for name in segments.names]
    return [replace(scope, period=name) for name in segments.names]


def _check_ibis() -> None:
    if importlib.util.find_spec("ibis") is None:
        raise MissingExtraError(
            f"{parameter('engine')} {SQL} needs Ibis: pip install 'fim-private[warehouse]'"
        )
