"""Engines: what reads and counts, this machine or Spark; and what `mine` and `count` have in
common.
"""

from __future__ import annotations

import datetime
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

from fim_private.counting import Effort
from fim_private.counting.source import LocalSource, SupportSource
from fim_private.dp.charge import Charged, account_of
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import (
    Neighbors,
    cautions,
    cautions_of_units,
    chosen_units_show,
    units_in_all,
)
from fim_private.errors import MissingExtraError, ParameterError, parameter, shown, warn
from fim_private.reading.columns import ReadAs
from fim_private.reading.databases import check_query
from fim_private.reading.locations import source_of
from fim_private.reading.options import Options, Segments, reading_of
from fim_private.reading.purchases import is_query, read_parts
from fim_private.release.release import Release
from fim_private.request.budget import (
    BudgetAllocation,
    Published,
    pending_charge,
    rows_asked,
    spans_of,
    unit_columns,
)
from fim_private.request.request import Scope, counts_users, read_by
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


@dataclass(frozen=True)
class DryRun:
    """Purchases in a database that gets no queries: they are only noted.

    data: as `mine` takes it. dialect: that of the queries where data is a table of Ibis that is in
    no database.
    """

    data: Any
    dialect: str | None = None
    queries: list[str] = field(default_factory=list)


def _is_table(data: Any) -> bool:
    """Return whether something is a table of Ibis, without importing it."""
    return type(data).__module__ == "ibis.expr.types.relations" and hasattr(data, "get_backend")


@dataclass(frozen=True)
class Engine:
    """Which of them works on some data. settings: of a new session of Spark. table: of a
    database.
    """

    name: str
    settings: Mapping[str, str]
    table: str | None = None
    dry: DryRun | None = None

    @classmethod
    def of(
        cls,
        data: Any,
        engine: Any,
        settings: Any = None,
        table: Any = None,
        dry: DryRun | None = None,
    ) -> Self:
        """Return the engine of a name, of None that for the data; ParameterError for what does not
        go together.
        """
        found = (
            engine
            if engine is not None
            else SPARK
            if is_dataframe(data)
            else SQL
            if _is_table(data)
            else LOCAL
        )
        if found not in (LOCAL, SPARK, SQL):
            raise ParameterError(
                f"{parameter('engine')} must be one of {LOCAL}, {SPARK}, {SQL}, not {shown(engine)}"
            )
        if _is_table(data) and found != SQL:
            raise ParameterError(
                f"leave out {parameter('engine')}: a table of Ibis is counted in its database"
            )
        if table is not None and (found != SQL or not isinstance(table, str)):
            raise ParameterError(
                f"{parameter('table')} goes with {parameter('engine')} {SQL}: it names a table "
                f"of the database"
            )
        if found == LOCAL and is_dataframe(data):
            raise ParameterError(
                f"leave out {parameter('engine')}: Spark counts a DataFrame of Spark; or give "
                f"its toArrow()"
            )
        if settings is not None and (
            found != SPARK or is_dataframe(data) or not isinstance(settings, Mapping)
        ):
            raise ParameterError(
                f"{parameter('spark_conf')} goes with {parameter('engine')} {SPARK}: it has the "
                f"settings of a new "
                "session, such as 'spark.master'"
            )
        return cls(found, dict(settings or {}), table, dry)

    def reads_query(self, data: Any, reading: Options) -> bool:
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
        self, data: Any, reading: Options, scope: Scope, effort: Effort
    ) -> Iterator[list[Opened]]:
        """Read purchases, and yield those of each segment, or, without segments, all, for as long
        as this lasts.
        """
        scopes = [scope]
        if (parts := reading.parts) is not None:
            own = replace(scope, max_segments=parts.most, by=parts.column if reading.by else None)
            scopes = [
                replace(own, segment=name) if reading.by else replace(own, period=name)
                for name in parts.names
            ]
        if self.name == LOCAL:
            yield [
                Opened(
                    LocalSource(own.applied(one), effort), one.read_as, own.read_from(one.read_as)
                )
                for own, one in zip(scopes, read_parts(source_of(data), reading), strict=True)
            ]
            return
        if self.name == SQL:
            _check_ibis()
            from fim_private.warehouse.purchases import stored
            from fim_private.warehouse.session import opened
            from fim_private.warehouse.source import DatabaseSource

            dry: dict[str, Any] = (
                {}
                if self.dry is None
                else {"queries": self.dry.queries, "dialect": self.dry.dialect}
            )
            with opened(data, self.table, reading, **dry) as (session, found):
                kept = stored(
                    session, found, reading, excluded=scope.excluded, min_basket=scope.min_basket
                )
                yield [
                    Opened(
                        DatabaseSource.of(
                            kept, place, reading.missing_user, effort, together=own.unites
                        ),
                        kept.read_as,
                        own.read_from(kept.read_as),
                    )
                    for place, own in enumerate(scopes)
                ]
            return
        with (
            opened_table(data, reading, self.settings) as table,
            stored_purchases(
                table, replace(scope, exclude=(), catalogue=None).applied, scope.excluded
            ) as of_spark,
        ):
            yield [
                Opened(
                    SparkSource.of(
                        of_spark, place, reading.missing_user, effort, together=own.unites
                    ),
                    table.read_as,
                    own.read_from(table.read_as),
                )
                for place, own in enumerate(scopes)
            ]


def _check_ibis() -> None:
    if importlib.util.find_spec("ibis") is None:
        raise MissingExtraError(
            f"{parameter('engine')} {SQL} needs Ibis: pip install 'fim-private[warehouse]'"
        )


class Run:
    """One call of `mine` or `count`: how purchases are read; noise; account. asked: all options of
    the function.
    """

    def __init__(
        self, data: Any, asked: Mapping[str, Any], segments: Segments | None = None
    ) -> None:
        dry = data if isinstance(data, DryRun) else None
        self.data, self.asked = data if dry is None else dry.data, asked
        self.engine = Engine.of(
            self.data, asked["engine"], asked["spark_conf"], asked["table"], dry
        )
        if self.engine.name == SQL and asked.get("max_basket") is not None:
            raise ParameterError(
                f"leave out {parameter('max_basket')}: {parameter('engine')} {SQL} does not cut "
                f"baskets"
            )
        if self.engine.name == SQL and asked["query"] is not None:
            raise ParameterError(
                f"leave out {parameter('query')}: make a view, and name it with "
                f"{parameter('table')}; it counts as a "
                "query"
            )
        watched = {} if asked["progress"] is None else {"progress": asked["progress"]}
        self.effort = Effort(max_work=asked["max_work"], **watched)
        self.randomness = Randomness.of_seed(asked["seed"])
        # Of the day before anything is read: how long that takes may depend on the data.
        self.date = datetime.date.today() if self.randomness.private else None
        self.account = account_of(
            asked["ledger"], asked["dataset"], private=self.randomness.private
        )
        self.reading, self.by_user = reading_of(asked, segments), counts_users(self.data, asked)
        times = self.reading.times
        if times is not None and not times.periods and times.per is None:
            raise ParameterError(
                f"{parameter('time')} needs {parameter('period')} too, such as 2026-11, or "
                f"{parameter('per')}"
            )
        if times is not None and asked["neighbors"] == Neighbors.REPLACE_ONE:
            raise ParameterError(
                f"{parameter('time')} needs {parameter('neighbors')} add-remove: what replaces a "
                f"basket can be of "
                "another period, and then two releases change"
            )
        if self.engine.name == LOCAL:
            check_query(source_of(self.data), asked["query"])
        self.reading = replace(
            self.reading, from_query=self.engine.reads_query(self.data, self.reading)
        )
        self.read_by = read_by(self.data, self.reading)
        self.where, self.fold_case = self.read_by.where, self.read_by.fold_case

    def scope(self, **chosen: Any) -> Scope:
        """Return what of the purchases counts. chosen: what of it not every function has. A list is
        read.
        """
        own: dict[str, Any] = {
            "by_user": self.by_user,
            "query": self.read_by.query,
            "fold_case": self.fold_case,
        }
        own["time_format"] = self.read_by.time_format
        if (times := self.reading.times) is not None:
            period = None if times.each or not times.periods else times.periods[0].name
            own |= {
                "time": times.column,
                "period": period,
                "per": times.per,
                "missing_time": times.missing,
            }
        return Scope.of(
            min_basket=self.asked["min_basket"], together=self.asked["together"], **own, **chosen
        )

    @contextmanager
    def charged(
        self,
        command: str,
        scope: Scope,
        cost: PrivacyCost,
        neighbors: str,
        *,
        rho: Fraction | None,
        **recorded: Any,
    ) -> Iterator[tuple[list[Opened], Charged | None]]:
        """Read purchases, and charge the release of them before anything is computed; warn of what
        promises little.

        Yields the purchases, of each segment where there are some, and the charge. cost: of all of
        it. recorded: zcdp, and the parameters beside which rows count; each: of several periods,
        which are charged one by one, the cost. Raises LedgerError, DataError.
        """
        recorded["parameters"] |= rows_asked(self.data, self.reading, scope)
        recorded |= {
            "command": command,
            "cost": recorded.pop("each", cost),
            "spans": spans_of(self.reading),
        }
        recorded["unit_columns"] = unit_columns(self.data, self.reading)
        dataset = self.asked["dataset"]
        due = pending_charge(
            self.account, dataset=dataset, by_user=self.by_user, neighbors=neighbors, **recorded
        )
        # Warnings name the caller of `mine`: above this line, contextlib's, and that of `mine`.
        private, stacklevel = self.randomness.private, 4
        exchanged = neighbors == Neighbors.REPLACE_ONE
        chosen = scope.chooses_units(self.where)
        if private:
            warn(cautions(cost, rho=rho), stacklevel=stacklevel)
        if private and chosen and exchanged:
            warn([chosen_units_show("user" if self.by_user else "basket")], stacklevel=stacklevel)
        with self.engine.opened(self.data, self.reading, scope, self.effort) as read:
            unit = "user" if read[0].source.by_user else "basket"
            charged = None if due is None else due(unit)
            if private and read[0].read_as is not None:
                warn(read[0].read_as.cautions(), stacklevel=stacklevel)
            if private and exchanged and not chosen:
                units = units_in_all([one.source.units for one in read], read[0].scope.max_segments)
                warn(cautions_of_units(cost, units, unit), stacklevel=stacklevel)
            yield read, charged

    def warn_of_units(self, cost: PrivacyCost, releases: Sequence[Release]) -> None:
        """Warn where delta is not below 1 / (number of units), as far as releases tell that number.

        cost: of all of them. It reads what was released, and nothing else of the data. The warning
        names the caller of `mine`.
        """
        first = releases[0]
        each = [one.noisy_units for one in releases if one.noisy_units is not None]
        if self.randomness.private and each:
            units = units_in_all(each, first.scope.max_segments)
            warn(cautions_of_units(cost, units, first.privacy_unit, noisy=True), stacklevel=3)

    def release(
        self, opened: Opened, allocation: BudgetAllocation, published: Published, **own: Any
    ) -> Release:
        """Return what comes out, with the guarantee. own: what else a Release has."""
        source, units = opened.source, published.units
        usual: dict[str, Any] = {"scope": opened.scope, "itemsets": published.itemsets}
        return Release(
            cost=allocation.cost,
            zcdp=allocation.zcdp,
            shares=allocation.shares,
            privacy_unit="user" if source.by_user else "basket",
            private=self.randomness.private,
            missing_user=source.missing_user,
            where=self.where,
            date=self.date,
            noise=published.noise,
            units=None if units is None else units.number,
            units_interval=None if units is None else units.interval,
            units_noise=None if units is None else units.noise,
            **usual | own,
        )
