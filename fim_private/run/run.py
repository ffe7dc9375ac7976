"""One run: check the ledger, read purchases, charge the ledger, count supports and draw noise.

Warnings come before reading, as far as they follow from the request, and else after the charge.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from fim_private.counting import Effort
from fim_private.dp.arguments import public_integer
from fim_private.dp.cautions import (
    caution_of_chosen_units,
    cautions,
    cautions_of_units,
    least_units,
)
from fim_private.dp.charge import Charged, account_of
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError, parameter, warn
from fim_private.options import MAX_WORK
from fim_private.options.declaration import OptionValues
from fim_private.reading.databases import check_query
from fim_private.reading.locations import source_of
from fim_private.reading.options import Reading, Segments, reading_of
from fim_private.release.release import Release
from fim_private.request.plan import ReleasePlan
from fim_private.request.scope import (
    Scope,
    checked_together,
    counts_users,
    excluded_items,
    read_by,
)
from fim_private.run.charging import Spending, pending_charge
from fim_private.run.engines import LOCAL, SQL, DryRun, Engine, Opened
from fim_private.run.outcome import Outcome


class Run:
    """One call of `mine`, `count` or `vote`: how purchases are read, and who is charged.

    Attributes:
        data: The purchases, as the caller gave them.
        values: All options of the call.
        engine: What opens and counts the purchases.
        effort: How much work counting may take, and the function that is told of progress.
        randomness: What noise is drawn from.
        date: The day of the release; None with a seed.
        reading: How purchases are read.
        by_user: Whether the units will be users.
        choices: The public choices by which rows are read.
    """

    def __init__(
        self, data: object, values: OptionValues, segments: Segments | None = None
    ) -> None:
        """Check all that can be checked before anything is read."""
        dry = data if isinstance(data, DryRun) else None
        self.data = data if dry is None else dry.data
        self.values = values
        self.engine = Engine.of(
            self.data, values.get("engine"), values.get("spark_conf"), values.get("table"), dry
        )
        if self.engine.name == SQL:
            _check_options_of_sql(values)
        self.effort = _effort_of(values)
        self.randomness = Randomness.of_seed(values["seed"])
        # The date is taken before reading, so that it cannot depend on the data.
        self.date = datetime.date.today() if self.randomness.private else None
        self.account = account_of(
            values["ledger"], values["dataset"], private=self.randomness.private
        )
        reading = reading_of(values, segments)
        self.by_user = counts_users(self.data, values)
        _check_times(reading, values["neighbors"])
        if self.engine.name == LOCAL:
            check_query(source_of(self.data), values["query"])
        from_query = self.engine.reads_query(self.data, reading)
        self.reading = replace(reading, from_query=from_query)
        self.choices = read_by(self.data, self.reading)

    @property
    def where(self) -> str | None:
        """The condition that chooses rows."""
        return self.choices.where

    @property
    def unit(self) -> str:
        """The unit of privacy, as far as it is known before reading."""
        return "user" if self.by_user else "basket"

    def scope(self, *, exclude: object = None, rules: bool = False, by: str | None = None) -> Scope:
        """Return which purchases count. A list of the items that are left out is read.

        Args:
            exclude: The items that are left out.
            rules: Whether association rules are to be made.
            by: The column of segments.
        """
        together = checked_together(self.values["together"], by_user=self.by_user, rules=rules)
        least = self.values["min_basket"]
        scope = Scope(
            min_basket=None if least is None else public_integer("min_basket", least),
            exclude=excluded_items(exclude, fold_case=self.choices.fold_case),
            together=together,
            by=by,
            query=self.choices.query,
            fold_case=self.choices.fold_case,
            time_format=self.choices.time_format,
        )
        times = self.reading.times
        if times is None:
            return scope
        period = None
        if times.periods and not times.released_apart:
            period = times.periods[0].name
        return replace(
            scope, time=times.column, period=period, per=times.per, missing_time=times.missing
        )

    @contextmanager
    def charged(
        self, spending: Spending, scope: Scope, *, stacklevel: int = 4
    ) -> Iterator[tuple[list[Opened], Charged | None]]:
        """Read purchases, and charge their release before supports are counted and noise is drawn.

        The guarantee rests on the order of these lines. Reading comes before the charge, because it
        tells whether the unit is a user or a basket. It also leaves out excluded items and short
        baskets, and it finds how many units there are. If it fails, nothing is charged and nothing
        is released. Yields the purchases, those of each segment if there are some, and what the
        ledger says of the charge. Raises LedgerError and DataError.

        stacklevel: of warnings. By default they name the caller of `mine`: above this method stand
        contextlib's, and `mine`.
        """
        charge = pending_charge(  # refused here if the budget is spent, before purchases are read
            self.account,
            self.values["dataset"],
            spending,
            self.data,
            self.reading,
            scope,
            by_user=self.by_user,
        )
        self._warn_before_reading(spending, scope, stacklevel + 1)
        with self.engine.opened(self.data, self.reading, scope, self.effort) as opened:
            unit = "user" if opened[0].source.by_user else "basket"
            # Checked again, with the unit that was read and with what others charged meanwhile.
            charged = None if charge is None else charge(unit)
            self._warn_after_reading(spending, scope, opened, unit, stacklevel + 1)
            yield opened, charged

    def _warn_before_reading(self, spending: Spending, scope: Scope, stacklevel: int) -> None:
        if not self.randomness.private:
            return
        warn(cautions(spending.cost, rho=spending.rho), stacklevel=stacklevel)
        exchanges = spending.neighbors == Neighbors.REPLACE_ONE
        if exchanges and scope.chooses_units(self.where):
            warn([caution_of_chosen_units(self.unit)], stacklevel=stacklevel)

    def _warn_after_reading(
        self,
        spending: Spending,
        scope: Scope,
        opened: Sequence[Opened],
        unit: str,
        stacklevel: int,
    ) -> None:
        if not self.randomness.private:
            return
        read_as = opened[0].read_as
        if read_as is not None:
            warn(read_as.cautions(), stacklevel=stacklevel)
        exchanges = spending.neighbors == Neighbors.REPLACE_ONE
        if exchanges and not scope.chooses_units(self.where):
            numbers = [segment.source.units for segment in opened]
            units = least_units(numbers, opened[0].scope.max_segments)
            warn(cautions_of_units(spending.cost, units, unit), stacklevel=stacklevel)

    def release(
        self,
        opened: Opened,
        plan: ReleasePlan,
        published: Outcome,
        *,
        mechanism: str,
        sizes: tuple[int, ...],
        neighbors: str,
    ) -> Release:
        """Return what a plan published, with its guarantee."""
        source, units = opened.source, published.units
        return Release(
            mechanism=mechanism,
            sizes=sizes,
            cost=plan.cost,
            zcdp=plan.stated_zcdp,
            shares=plan.steps,
            neighbors=neighbors,
            privacy_unit="user" if source.by_user else "basket",
            private=self.randomness.private,
            missing_user=source.missing_user,
            where=self.where,
            scope=opened.scope,
            date=self.date,
            abstained=False,
            itemsets=published.itemsets,
            parts=published.subsets,
            known=published.known,
            noise=published.noise,
            units=None if units is None else units.number,
            units_interval=None if units is None else units.interval,
            units_noise=None if units is None else units.noise,
        )

    def warn_of_noisy_units(
        self, cost: PrivacyCost, noisy_units: Sequence[int], scope: Scope, unit: str
    ) -> None:
        """Warn if δ is not below 1 / (number of units), as far as what was released tells that.

        cost: of all releases. noisy_units: about how many units each release says there are.
        """
        if self.randomness.private and noisy_units:
            units = least_units(noisy_units, scope.max_segments)
            warn(cautions_of_units(cost, units, unit, noisy=True), stacklevel=3)


def _check_options_of_sql(values: OptionValues) -> None:
    if values.get("max_basket") is not None:
        raise ParameterError(
            f"leave out {parameter('max_basket')}: {parameter('engine')} {SQL} does not cut baskets"
        )
    if values["query"] is not None:
        raise ParameterError(
            f"leave out {parameter('query')}: make a view, and name it with "
            f"{parameter('table')}; it counts as a query"
        )


def _effort_of(values: OptionValues) -> Effort:
    max_work = values.get("max_work", MAX_WORK)
    if values["progress"] is None:
        return Effort(max_work=max_work)
    return Effort(max_work=max_work, progress=values["progress"])


def _check_times(reading: Reading, neighbors: object) -> None:
    """Raise ParameterError for times without periods, or under a relation that may move a unit."""
    times = reading.times
    if times is None:
        return
    if not times.periods and times.per is None:
        raise ParameterError(
            f"{parameter('time')} needs {parameter('period')} too, such as 2026-11, or "
            f"{parameter('per')}"
        )
    if neighbors == Neighbors.REPLACE_ONE:
        raise ParameterError(
            f"{parameter('time')} needs {parameter('neighbors')} add-remove: what replaces a "
            f"basket can be of another period, and then two releases change"
        )
