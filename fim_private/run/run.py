"""One run: check the ledger, read purchases, charge the ledger, count supports and draw noise.

Warnings come before reading, as far as they follow from the request, and else after the charge.

What a release spends follows from its plan, before purchases are read: the accountant adds up the
steps, in (ε, δ) and in zCDP. A ledger has one entry for a release, or one for each period if it is
of several. An entry holds both sums, so that a ledger can add up either way. It also holds the
name of the data set, the request, the unit, the neighbour relation, and the columns that name the
unit. It names no file, segment or item of the data; a condition is kept as it was written. For
segments it is the cost of all segments in which one unit may count. A release out of which nothing
comes costs as much.

When (`Run.charged` holds the order):

1. `Run.pending_charge` checks that the budget is enough, before purchases are read. If it is
   not, or the release contradicts what the ledger promises, LedgerError is raised, and no release
   is made.
   There is one exception: with items_are_public all items are read before that. They are public
   then, and the plan depends on how many there are.
2. Purchases are read. That makes sure whether the unit is a user or a basket. If reading fails,
   nothing is charged.
3. The function that `pending_charge` returned writes the charge, with that unit, to the ledger on
   the disk. It checks again, for others may have charged it meanwhile. If the charge cannot be
   written, LedgerError is raised.
4. Only then are supports counted, and noise is drawn. If that fails, the charge stays.

Without a ledger in the request nothing is charged, nor in a dry run. A ledger and a seed are
refused together.
Functions of lists, such as `fim.select` and quantiles, charge by `dp.charge.begin` instead:
they have no purchases to read.
"""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from fim_private import __version__
from fim_private.counting import Effort
from fim_private.dp.accountant import Sums, added_up, cost_of_releases, sums_of
from fim_private.dp.arguments import public_integer
from fim_private.dp.cautions import caution_of_chosen_units, cautions, cautions_of_units
from fim_private.dp.charge import Charge, Charged, Span, account_of
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError, parameter, warn
from fim_private.options import MAX_WORK
from fim_private.options.declaration import OptionValues
from fim_private.reading.files import have_something_in_common
from fim_private.reading.options import Reading, reading_of
from fim_private.reading.transactions import Transactions
from fim_private.release.release import Release
from fim_private.request.groups import Promise
from fim_private.request.plan import ReleasePlan
from fim_private.request.scope import (
    Scope,
    checked_together,
    counts_users,
    listed_items,
    rows_read,
)
from fim_private.run.engines import SQL, Engine, Opened
from fim_private.run.outcome import Outcome

# Options that list items or itemsets. A release shows what is on these lists.
_PUBLIC_LISTS = ("catalogue", "exclude", "known", "with_each")


@dataclass(frozen=True)
class Spending:
    """What a release spends, and what a ledger records of it.

    Attributes:
        command: The command that makes the release, such as "mine".
        promise: Who is protected, under which relation and budget.
        plans: The plans whose costs add up: one, or that of each level of groups.
        parameters: The request, as plain values that name no file, column or item.
        segments: In how many segments or periods a unit counts at most.
    """

    command: str
    promise: Promise
    plans: tuple[ReleasePlan, ...]
    parameters: Mapping[str, object]
    segments: int = 1

    @property
    def of_segment(self) -> tuple[PrivacyCost, ZcdpCost]:
        """What one segment or period spends: the (ε, δ), and the same in zCDP."""
        return self._cost(1)

    @cached_property
    def total(self) -> tuple[PrivacyCost, ZcdpCost]:
        """The (ε, δ) of the whole release, and the same in zCDP."""
        return self._cost(self.segments)

    def of_group(self, units: int) -> Sums:
        """Return what one segment or period adds up to for somebody who is so many units, >= 1."""
        sums = added_up(sums_of(*plan.cost_of_group(units)) for plan in self.plans)
        assert sums is not None
        return sums

    def _cost(self, times: int) -> tuple[PrivacyCost, ZcdpCost]:
        costs = [(plan.cost, plan.zcdp) for plan in self.plans]
        return cost_of_releases(costs, times, self.promise.budget)


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
        where: The condition that chooses rows.
        all_rows: How all rows are read that it chooses.
    """

    def __init__(self, data: object, values: OptionValues) -> None:
        """Check all that can be checked before anything is read."""
        self.values = values
        self.engine = Engine.of(data, values)
        self.data = self.engine.data
        for name in _PUBLIC_LISTS:
            self.refuse_purchases(name, values.get(name))
        if self.engine.name == SQL:
            _check_options_of_sql(values)
        self.effort = Effort(max_work=values.get("max_work", MAX_WORK))
        if values["progress"] is not None:
            self.effort = replace(self.effort, progress=values["progress"])
        self.randomness = Randomness.of_seed(values["seed"])
        # The date is taken before reading, so that it cannot depend on the data.
        self.date = datetime.date.today() if self.randomness.private else None
        self.account = account_of(
            values["ledger"], values["dataset"], private=self.randomness.private
        )
        reading = reading_of(values)
        self.by_user = counts_users(self.data, values)
        _check_times(reading, values["neighbors"])
        self.reading = replace(reading, from_query=self.engine.reads_query(reading))
        self.where, self.all_rows = rows_read(self.data, self.reading)

    def refuse_purchases(self, name: str, listed: object) -> None:
        """Raise ParameterError if what an option lists, which is public, are the purchases."""
        if listed is None or not have_something_in_common(self.data, listed):
            return
        otherwise = ""
        if name == "catalogue":
            names = "if the names of all items are public"
            otherwise = f", or {parameter('items_are_public')} {names}"
        raise ParameterError(
            f"{parameter(name)} names the purchases themselves, which are private: give a public "
            f"list{otherwise}"
        )

    @property
    def unit(self) -> str:
        """The unit of privacy, as far as it is known before reading."""
        return "user" if self.by_user else "basket"

    def promise(self, scope: Scope) -> Promise:
        """Return who is protected, under which relation and budget."""
        units_are_chosen = scope.chooses_units(self.where)
        return Promise.of(self.values, by_user=self.by_user, units_are_chosen=units_are_chosen)

    def entry(self, spending: Spending) -> tuple[PrivacyCost, ZcdpCost]:
        """Return what one entry of a ledger states: that of one period if each has its own."""
        times = self.reading.times
        if times is not None and times.released_apart:
            return spending.of_segment
        return spending.total

    def scope(self, *, rules: bool = False) -> Scope:
        """Return which purchases count. A list of the items that are left out is read.

        rules: whether association rules are to be made.
        """
        least, times = self.values["min_basket"], self.reading.times
        scope = replace(
            self.all_rows,
            min_basket=None if least is None else public_integer("min_basket", least),
            exclude=listed_items(self.values.get("exclude"), fold_case=self.all_rows.fold_case),
            together=checked_together(self.values["together"], by_user=self.by_user, rules=rules),
            by=None if self.reading.by is None else self.reading.by.column,
        )
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
        # Refused here if the budget is spent, before purchases are read.
        charge = self.pending_charge(spending, scope)
        promise, (cost, _) = spending.promise, spending.total
        self.warn(cautions(cost, rho=promise.budget.rho), stacklevel)
        if promise.neighbors == Neighbors.REPLACE_ONE and promise.units_are_chosen:
            self.warn([caution_of_chosen_units(self.unit)], stacklevel)
        with self.engine.opened(self.reading, scope, self.effort) as opened:
            first = opened[0]
            # Where warnings are errors, they come before anything is charged.
            if first.read_as is not None:
                self.warn(first.read_as.cautions(), stacklevel)
            if promise.units_are_public:
                units = [segment.source.units for segment in opened]
                most_segments = first.scope.max_segments
                self.warn(cautions_of_units(cost, units, most_segments, first.unit), stacklevel)
            # Checked again, with the unit that was read and with what others charged meanwhile.
            charged = None if charge is None else charge(first.unit)
            yield opened, charged

    def pending_charge(self, spending: Spending, scope: Scope) -> Callable[[str], Charged] | None:
        """Return a function that charges a release, given the unit that was read.

        Returns None without a ledger. The charge is checked here, too, before purchases are opened.
        Both raise LedgerError if it is refused: then nothing may be released.
        """
        account = self.account
        if account is None:
            return None
        cost, zcdp = self.entry(spending)
        charges = [
            Charge(
                command=spending.command,
                dataset=self.values["dataset"],
                privacy_unit=self.unit,
                neighbors=str(spending.promise.neighbors),
                cost=cost,
                zcdp=zcdp,
                parameters={**spending.parameters, **self._recorded_rows(scope)},
                unit_columns=self._unit_columns(),
                span=span,
                of_user=self._of_user(spending, span),
            )
            for span in self._spans()
        ]
        account.check(*charges)

        def charge(unit: str) -> Charged:
            return account.charge(*(replace(charge, privacy_unit=unit) for charge in charges))

        return charge

    def _spans(self) -> list[Span | None]:
        """Return the periods that are charged one by one; [None] if units have no times."""
        times = self.reading.times
        if times is None:
            return [None]
        span = Span(times.how, tuple(sorted(self.reading.basket)), times.per)
        # A query may choose rows by time, and so give a basket another period than it has in other
        # releases.
        if not times.periods or self.reading.from_query:
            return [span] * max(len(times.periods), 1)
        return [replace(span, period=period.name) for period in times.periods]

    def _of_user(self, spending: Spending, span: Span | None) -> Sums | None:
        """Return what an entry adds up to for a user who is several units in it; None for one."""
        times = self.reading.times
        if times is None or span is None:
            return None
        # An entry names no period where a query chose the rows. Its release is still of one.
        names = [span.period] if span.period else [period.name for period in times.periods]
        spans = [replace(span, period=name) for name in names] or [span]
        units = max(of_one.units_of_user for of_one in spans)
        if units == span.units_of_user == 1:
            return None
        sums = spending.of_group(units)
        if times.released_apart:
            return sums
        return {name: spending.segments * amount for name, amount in sums.items()}

    def _unit_columns(self) -> tuple[str, ...] | None:
        """Return the columns that name the unit, sorted: that of users, else those of baskets.

        Returns None if no column names it.
        """
        user, baskets = self.reading.user, self.reading.basket
        if isinstance(self.data, Transactions):
            if self.data.read_as is None:
                return None
            user, baskets = self.data.read_as.user, self.data.read_as.baskets
        if user is not None:
            return (user,)
        return tuple(sorted(baskets)) or None

    def _recorded_rows(self, scope: Scope) -> dict[str, object]:
        """Return what a ledger records of the rows that count.

        It names columns only in a condition, which is kept as it was written, and no segment.
        """
        reading, baskets = self.reading, len(self.reading.basket)
        recorded = scope.recorded
        if self.where is not None:
            recorded["where"] = self.where
        if scope.query:
            recorded["query"] = True
        if reading.split is not None:
            recorded["split"] = True
        if baskets > 1:
            recorded["basket_columns"] = baskets
        if reading.by is not None:
            recorded["segments"] = len(reading.by.names)
            recorded["max_segments"] = reading.by.most
        return recorded

    def warn(self, sentences: Iterable[str], stacklevel: int) -> None:
        """Warn of a release that is to be private. stacklevel: 1 for the line that calls this."""
        if self.randomness.private:
            warn(sentences, stacklevel=stacklevel + 1)

    def release(
        self,
        opened: Opened,
        plan: ReleasePlan,
        promise: Promise,
        published: Outcome,
        mechanism: str,
    ) -> Release:
        """Return what a plan published, with its guarantee."""
        target, units = plan.target, published.units
        least = target.min_support
        return Release(
            mechanism=mechanism,
            sizes=target.sizes,
            top=target.top,
            union=target.union,
            keep_all=target.keep_all,
            with_parts=target.rules,
            min_support=None if least is None else least.as_given,
            threshold=None if least is None else least.threshold(units),
            shortfall=plan.shortfall,
            cost=plan.cost,
            zcdp=plan.budget.zcdp(plan.names_delta),
            adds_up=sums_of(*plan.cost_of_group(opened.scope.units_of_user)),
            shares=plan.steps,
            neighbors=promise.neighbors,
            privacy_unit=opened.unit,
            private=self.randomness.private,
            missing_user=opened.missing_user,
            where=self.where,
            scope=opened.scope,
            date=self.date,
            version=None if self.date is None else __version__,
            abstained=not published.itemsets,
            itemsets=published.itemsets,
            parts=published.subsets,
            known=published.known,
            noise=published.noise,
            units=None if units is None else units.number,
            units_interval=None if units is None else units.interval,
            units_noise=None if units is None else units.noise,
        )

    def warn_of_noisy_units(self, cost: PrivacyCost, releases: Sequence[Release]) -> None:
        """Warn if δ is not below 1 / (number of units), as far as what was released tells that.

        cost: of all releases.
        """
        told = [release.noisy_units for release in releases]
        noisy_units = [units for units in told if units is not None]
        if noisy_units:
            most_segments, unit = releases[0].scope.max_segments, releases[0].privacy_unit
            warnings = cautions_of_units(cost, noisy_units, most_segments, unit, noisy=True)
            self.warn(warnings, stacklevel=3)


def _check_options_of_sql(values: OptionValues) -> None:
    if values.get("max_basket") is not None:
        raise ParameterError(
            f"leave out {parameter('max_basket')}: {parameter('engine')} {SQL} does not cut baskets"
        )
    if values["query"] is not None:
        raise ParameterError(
            f"{parameter('engine')} {SQL} takes no {parameter('query')}: make a view of it, and "
            f"name that with {parameter('table')}"
        )


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
