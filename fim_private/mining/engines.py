"""Engines: what reads and counts the purchases, this machine or Apache Spark; what is released is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from fim_private.counting import Effort
from fim_private.counting.source import LocalSource, SupportSource
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mining.scope import Scope
from fim_private.reading import read_parts
from fim_private.reading.databases import check_query
from fim_private.reading.options import Options
from fim_private.reading.read_as import ReadAs
from fim_private.spark.dataframes import is_dataframe, opened_table
from fim_private.spark.purchases import kept_purchases
from fim_private.spark.source import SparkSource

LOCAL, SPARK = "local", "spark"


@dataclass(frozen=True)
class Opened:
    """Purchases that were read, as far as they count.

    read_as: what the source was read as; None where that is not known. scope: with the columns that name an item, where
    several do. where: which rows were read, as a condition; None for all.
    """

    source: SupportSource
    read_as: ReadAs | None
    scope: Scope
    where: str | None


@dataclass(frozen=True)
class Engine:
    """Which of them works on some data, and how.

    settings: of a session of Spark that has to be started.
    """

    name: str
    settings: Mapping[str, str]

    @classmethod
    def of(cls, data: Any, engine: Any = None, settings: Any = None) -> Engine:
        """Return the engine of a name; of None that for the data: Spark for its DataFrames, otherwise this machine.

        Raises ParameterError for another name, and for settings that are none, or not of use.
        """
        found = engine if engine is not None else SPARK if is_dataframe(data) else LOCAL
        if found not in (LOCAL, SPARK):
            raise ParameterError(f"{parameter('engine')} must be one of {LOCAL}, {SPARK}, not {shown(engine)}")
        if found == LOCAL and is_dataframe(data):
            raise ParameterError(
                f"leave out {parameter('engine')}, for a DataFrame of Spark is counted by Spark; or give its toArrow()"
            )
        if settings is not None and (found == LOCAL or is_dataframe(data) or not isinstance(settings, Mapping)):
            raise ParameterError(
                f"{parameter('spark_conf')} takes settings of a session of Spark that is to be started, such as "
                f"'spark.master', and goes with {parameter('engine')} {SPARK}"
            )
        return cls(found, dict(settings or {}))

    def check(self, data: Any, query: str | None) -> None:
        """Raise ParameterError for a query that does not go with the data."""
        if self.name == LOCAL:
            check_query(data, query)

    @contextmanager
    def opened(self, data: Any, reading: Options, scope: Scope, effort: Effort) -> Iterator[list[Opened]]:
        """Read purchases, and yield those of each segment, or, without segments, all, for as long as this lasts.

        Raises DataError for what cannot be read.
        """
        parts = reading.by
        scopes = [scope] if parts is None else [scope.of_segment(parts, name) for name in parts.names]
        if self.name == LOCAL:
            yield [
                Opened(LocalSource(own.applied(one), effort), one.read_as, own.read_from(one.read_as), one.where)
                for own, one in zip(scopes, read_parts(data, reading), strict=True)
            ]
            return
        where = None if reading.where is None else str(reading.where)
        with (
            opened_table(data, reading, self.settings) as table,
            closing(kept_purchases(table, replace(scope, exclude=(), catalogue=None).applied, scope.excluded)) as kept,
        ):
            yield [
                Opened(
                    SparkSource.of(kept, place, reading.missing_user, effort, together=own.unites),
                    table.read_as,
                    own.read_from(table.read_as),
                    where,
                )
                for place, own in enumerate(scopes)
            ]
