"""The budget of a data set, in a file: what releases spent, what is left, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self
from uuid import uuid4

from fim_private.display import JsonObject, Table
from fim_private.dp.accountant import SUMS, Reach, added, both, most_spent
from fim_private.dp.charge import UNITS, Charge, Charged, Left, of_many
from fim_private.dp.composition import PrivacyBudget, root_below
from fim_private.dp.cost import (
    Exact,
    PrivacyCost,
    ZcdpCost,
    least_in_words,
    most_in_words,
    rounded_down,
)
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.parameters import exact_delta_or_zero
from fim_private.errors import LedgerError, ParameterError, no_ledger, parameter, shown, warn
from fim_private.ledger import storage
from fim_private.ledger.chain import (
    NO_RECORD,
    SCHEMA,
    Composition,
    Entry,
    Sums,
    Terms,
    hashed,
    read,
    verified_chain,
    written,
)
from fim_private.ledger.storage import LastSeen
from fim_private.periods import KINDS, period_at

if TYPE_CHECKING:
    import sqlite3

# So many entries, once verified, are not to be verified again, though nothing is charged.
_MANY = 100
_LONGEST_NAME = 200
FilePath = str | os.PathLike[str]
# Half of it is the least that ρ is converted with.
_LEAST_DELTA = Fraction(10, 10**300)
_NOTHING = Fraction(0)
_COMPOSED = {
    Composition.BASIC: "basic composition",
    Composition.ZCDP: "composition in zero-concentrated privacy (zCDP)",
}
# The sums that limit the releases.
_LIMITING = {Composition.BASIC: ("epsilon", "delta"), Composition.ZCDP: ("rho", "zcdp_delta")}


@dataclass(frozen=True, repr=False)
class Statement:
    """What a ledger adds up to at one moment: all that is needed to charge it.

    seen: the verified entries, and what they add up to. first: the first entry. entries: in order,
    where they were asked for. closed: whether it was renewed, and so takes no more charges.
    """

    name: str
    terms: Terms
    seen: LastSeen
    first: Entry | None = None
    entries: tuple[Entry, ...] = ()
    closed: bool = False

    # the headings of rows_of
    columns: ClassVar = ("entry", "time", "command", "ε", "δ", "ρ", "δ of zCDP")

    def after(self, entries: Iterable[Entry]) -> Statement:
        """Return that of a ledger with more entries, which are known to follow."""
        following = tuple(entries)
        if not following:
            return self
        seen, last, first = self.seen, following[-1], self.first or following[0]
        named = [seen.unit_columns, *(entry.unit_columns for entry in following)]
        columns = next((names for names in named if names is not None), None)
        spent = added(seen.spent, ((entry.reach, entry.sums) for entry in following))
        seen = LastSeen(last.number, last.hash, seen.terms, first.hash, columns, spent)
        return replace(self, seen=seen, first=first)

    @cached_property
    def spent(self) -> Sums:
        """The most that was spent of any one unit, by the names of `accountant.SUMS`."""
        return most_spent(self.seen.spent)

    @cached_property
    def promise(self) -> Terms:
        """The terms, with what they leave open as the first entry decided it."""
        return self.terms if self.first is None else self.terms.filled_from(self.first)

    def left_under(self, composition: Composition, at: Reach | None = None) -> Left:
        """Return what would be left under a composition, nothing where more is spent than that
        allows, or it is closed.

        at: what is left of the units that this reaches; None for those with the most spent.
        """
        left = self._sums_left(at)
        if composition is Composition.BASIC:
            return Left(left["epsilon"], left["delta"])
        epsilon = root_below(2 * left["rho"]) if left["rho"] else _NOTHING
        return Left(epsilon, left["zcdp_delta"], left["rho"])

    def _sums_left(self, at: Reach | None) -> Sums:
        """Return how much of each sum is left: epsilon, delta, rho and zcdp_delta.

        at: what is left of the units that this reaches; None for those with the most spent.
        """
        if self.closed:
            return dict.fromkeys(SUMS, _NOTHING)
        spent = self.spent if at is None else most_spent(self.seen.spent, at)
        limit = self.terms.limit
        return {name: max(limit[name] - spent[name], _NOTHING) for name in SUMS}

    @property
    def left(self) -> Left:
        """What is left under the composition that was chosen."""
        return self.left_under(self.terms.composition)

    @property
    def periods(self) -> list[tuple[str, str, Reach]]:
        """The periods charged, the earliest first: name, column of times, and the units reached."""
        named = {
            (entry.span.period, entry.reach) for entry in self.entries if entry.span and entry.reach
        }
        periods = [(name, reach[0][0], reach) for name, reach in named if name is not None]
        return sorted(periods, key=lambda period: (period[2][1:], period[:2]))

    def more_like_last(self, at: Reach | None = None) -> int | None:
        """Return how many more releases like the last fit; None before the first.

        at: of the units that this reaches; None for those with the most spent.
        """
        if not self.entries:
            return None
        left, last = self._sums_left(at), self.entries[-1].sums
        limiting = _LIMITING[self.terms.composition]
        return int(min(left[name] / last[name] for name in limiting if last[name]))

    @property
    def outlook(self) -> str | None:
        """How many more releases like the last fit, in words; None before the first."""
        if self.closed:
            followed = "they go to the ledger that followed it"
            return f"It was renewed, and takes no more charges: {followed}."
        number = self.more_like_last()
        if number is None:
            return None
        where = " in the periods that have spent most" if self.periods else ""
        if not number:
            return f"The rest is not enough for another release like the last{where}."
        releases = "release" if number == 1 else "releases"
        return f"The rest is enough for about {number:,} more {releases} like the last{where}."

    @property
    def notes(self) -> list[str]:
        """What else is to be said of it, in sentences."""
        notes = []
        if self.terms.renewed is not None:
            notes.append(_renewal_in_words(self.terms.renewed))
        per = self.terms.per
        if per is not None and self.spent["epsilon"]:
            apart = all(
                reach is not None and reach[2] <= period_at(per, reach[1]).last
                for reach in self.seen.spent
            )
            cost = PrivacyCost(self.spent["epsilon"], self.spent["delta"])
            zcdp = ZcdpCost(self.spent["rho"], self.spent["zcdp_delta"])
            notes.append(of_many(per, cost, zcdp, apart=apart))
        return notes

    def check(self, charge: Entry, *, allow_other_unit: bool = False) -> None:
        """Raise LedgerError unless the ledger is for such a release and has enough left for it."""
        if self.closed:
            raise LedgerError(
                f"{shown(self.name)} was renewed, and takes no more charges; give "
                f"{parameter('ledger')} the one that followed it"
            )
        contradiction = self._other_promise(charge)
        if contradiction is None and not allow_other_unit:
            contradiction = self._other_columns(charge)
        if contradiction is not None:
            raise LedgerError(f"{shown(self.name)} {contradiction}")
        self._check_limit(charge)

    def _other_promise(self, charge: Entry) -> str | None:
        """Return in words what a release protects that the ledger does not; None for nothing."""
        promise = self.promise
        dataset, unit, neighbors = promise.dataset, promise.privacy_unit, promise.neighbors
        if dataset not in (None, charge.dataset):
            return (
                f"is the budget of the data set {shown(dataset)}, not of "
                f"{shown(charge.dataset)}; if they are the same people, give "
                f"{parameter('dataset')} {shown(dataset)}, else another ledger"
            )
        if unit not in (None, charge.privacy_unit):
            instead = "with" if unit == "user" else "without"
            return (
                f"protects {unit}s, and this release protects {charge.privacy_unit}s; ask "
                f"{instead} {parameter('user')}, or take another ledger"
            )
        if neighbors not in (None, charge.neighbors):
            return (
                f"is for {parameter('neighbors')} {neighbors!r}, and this release is for "
                f"{str(charge.neighbors)!r}; give {parameter('neighbors')} {neighbors!r}, or "
                "another ledger"
            )
        per = None if charge.span is None else charge.span.per
        if charge.privacy_unit != "user" or per == self.terms.per:
            return None
        instead = f"give {parameter('per')} {self.terms.per}"
        if self.terms.per is None:
            instead = f"leave out {parameter('per')}"
        return (
            f"protects {_users_for(self.terms.per)}, and this release protects "
            f"{_users_for(per)}; {instead}, or take another ledger"
        )

    def _other_columns(self, charge: Entry) -> str | None:
        """Return in words by which other columns than the first a release finds its units, if any.

        One unit by the columns of periods may be spread over many units by others, and it changes
        all of them (docs/privacy.md).
        """
        named, unit = self.seen.unit_columns, charge.privacy_unit
        if named and charge.unit_columns and sorted(named) != sorted(charge.unit_columns):
            return (
                f"protects {unit}s named by {_listed(named)}, and this release names them by "
                f"{_listed(charge.unit_columns)}. Give {parameter(unit)} {_listed(named)}, or "
                f"another ledger, or say {parameter('allow_other_unit')} if both name the same "
                f"{unit}s"
            )
        span, first = charge.span, None if self.first is None else self.first.span
        if span is None or span.per is None or first is None or first.partition == span.partition:
            return None
        return (
            f"finds the {first.per} of a purchase by {_listed([first.time, *first.baskets])}, and "
            f"this release by {_listed([span.time, *span.baskets])}. Give {parameter('time')} "
            f"{shown(first.time)} and the same {parameter('basket')}, or another ledger, or say "
            f"{parameter('allow_other_unit')} if both find the same {first.per}s"
        )

    def _check_limit(self, charge: Entry) -> None:
        """Raise LedgerError for a release that costs more than is left."""
        left, cost = self._sums_left(charge.reach), charge.sums
        loss, delta = _LIMITING[self.terms.composition]
        exceeded = [name for name in (loss, delta) if cost[name] > left[name]]
        if not exceeded:
            return
        where = ""
        if charge.span is not None and charge.reach is not None:
            where = f" in {charge.span.period}"
        remaining = "nothing is left"
        advice = f"no more can be released of this data{where}"
        if left[loss]:
            remaining = (
                f"{loss} {most_in_words(left[loss])} and delta {most_in_words(left[delta])} are "
                "left"
            )
            advice = f"ask with a smaller {parameter(_to_lower(charge, exceeded))}"
        raise LedgerError(
            f"this would overspend {shown(self.name)}{where}: {remaining}, and it takes {loss} "
            f"{least_in_words(cost[loss])} and delta {least_in_words(cost[delta])}; {advice}"
        )

    @property
    def title(self) -> str:
        """What the ledger is of, in words."""
        dataset = self.promise.dataset
        whose = "" if dataset is None else f" of {shown(dataset)}"
        return (
            f"The budget{whose}: all releases together are at most ε = "
            f"{least_in_words(self.terms.epsilon)}, "
            f"δ = {least_in_words(self.terms.delta)}, by {_COMPOSED[self.terms.composition]}."
        )

    @property
    def protected(self) -> str:
        """The unit that it protects, and from what, in words."""
        unit, relation = self.promise.privacy_unit, self.promise.neighbors
        if unit is None and relation is None:
            return "Its first release decides what it protects, and under which neighbour relation."
        if unit is None:
            return f"It is for {relation}; its first release decides the rest."
        if relation is None:
            return f"It is for {unit}s; its first release decides the rest."
        who = "one user, with all their baskets" if unit == "user" else "one basket"
        if self.terms.per is not None:
            who += f" of one {self.terms.per}"
        if self.seen.unit_columns is not None:
            who += f" (named by {_listed(self.seen.unit_columns)})"
        parameters = {name for entry in self.entries for name in entry.parameters}
        alike = _alike(parameters) if relation == Neighbors.REPLACE_ONE else ""
        listed = ""
        if "items_are_public" in parameters:
            listed = ", among data with the same list of items"
        return f"It is about {who}, under {relation}{alike}{listed}."

    def to_dict(self) -> JsonObject:
        """Return plain values. Limits and what is left are rounded down, what is spent is rounded
        up.
        """
        return {
            "schema": SCHEMA,
            "dataset": self.promise.dataset,
            "privacy_unit": self.promise.privacy_unit,
            "unit_columns": self.seen.unit_columns and [*self.seen.unit_columns],
            "neighbors": self.promise.neighbors,
            "protected": self.protected,
            "composition": str(self.terms.composition),
            "limit": {name: rounded_down(value) for name, value in self.terms.limit.items()},
            "spent": {name: float(Exact(value)) for name, value in self.spent.items()},
            "left": {
                str(composition): self.left_under(composition).to_dict()
                for composition in Composition
            },
            "per": self.terms.per,
            "renewed": self.terms.renewed,
            "periods": [self._period_to_dict(*period) for period in self.periods],
            "more_like_last": self.more_like_last(),
            "entries": [entry.to_dict() for entry in self.entries],
        }

    def _period_to_dict(self, period: str, column: str, reach: Reach) -> JsonObject:
        spent = most_spent(self.seen.spent, reach)
        return {
            "period": period,
            "time": column,
            "spent": {name: float(Exact(value)) for name, value in spent.items()},
            "left": self.left_under(self.terms.composition, reach).to_dict(),
            "more_like_last": self.more_like_last(reach),
        }

    def rows_of(self, entries: Iterable[Entry]) -> Iterator[tuple[str, ...]]:
        """Yield entries as texts, one for each of `columns`."""
        for entry in entries:
            parameters = {**entry.parameters, "period": entry.span and entry.span.period}
            named = (f"{name}={value}" for name, value in parameters.items() if value is not None)
            command = " ".join([entry.command, *named])
            yield (
                f"{entry.number:,}",
                entry.time,
                command,
                *map(least_in_words, entry.sums.values()),
            )

    def _table(self) -> Table:
        left = self.left
        if left.rho is None:
            loss = f"ε = {most_in_words(left.epsilon)}"
        else:
            loss = f"ρ = {most_in_words(left.rho)}"
        notes = [f"Left: {loss}, δ = {most_in_words(left.delta)}.", self.protected, *self.notes]
        if self.outlook is not None:
            notes.append(self.outlook)
        rows = [*self.rows_of(self.entries)]
        return Table(
            self.title, self.columns, rows, frozenset({0, 3, 4, 5, 6}), notes, "statement.entries"
        )

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()


class Ledger:
    """The ledger of a file, to which releases are charged: `fim.mine(..., ledger=ledger,
    dataset="sales")`.

    Every release is written down in it, and synced to the disk, before supports are counted and
    noise is drawn; one that would overspend is refused. It is bound to one data set, privacy unit
    and neighbour relation. They are named at creation or by the first release. It is bound to the
    columns that named the unit first, too. Any number of processes may share it on one machine (not
    over a network file system). charged: what this object was charged with last.
    """

    def __init__(
        self, path: FilePath, *, allow_other_unit: bool = False, again: bool = False
    ) -> None:
        """Open a ledger that `create` made.

        Entries verified here before are not verified again. allow_other_unit: whether a release may
        name the same users by other columns than the first did. again: whether the same request for
        the same period may be charged again. Raises LedgerError for what is no ledger, was changed,
        or is an older copy.
        """
        self._name, place = _place(path)
        self._file: Path | None = place
        self._allow_other_unit, self._again = allow_other_unit, again
        self._known: Statement | None = None
        self.charged: Charged | None = None
        self._warned = False
        renewed = self._balance().terms.renewed or {}
        # Also where whoever renewed it was killed before that was noted, or is another user.
        if "id" in renewed:
            storage.remember_renewal(renewed["id"])

    @classmethod
    def create(
        cls,
        path: FilePath,
        *,
        epsilon: float | Fraction | None = None,
        delta: float | Fraction,
        rho: float | Fraction | None = None,
        composition: str | None = None,
        dataset: str | None = None,
        neighbors: str | None = None,
        unit: str | None = None,
        per: str | None = None,
        renew: bool = False,
    ) -> Self:
        """Create a ledger for a limit, (epsilon, delta) for all releases together, and open it.

        Raises ParameterError, and LedgerError if it cannot be written.

        Args:
            path: Of a new file.
            epsilon: 1e-9 to 1e9.
            delta: 0, or 1e-300 up to below 1.
            rho: 1e-18 to 1e8, instead of epsilon, which then follows from rho and delta.
            composition: "zcdp" adds up zero-concentrated privacy, the default where delta is above
                0; "basic" adds up epsilons and deltas.
            dataset: Your name for the data. None: the first release decides.
            neighbors: "replace-one" or "add-remove". None: the first release decides.
            unit: What it protects, "basket" or "user". None: the first release decides.
            per: "day", "week", "month", "quarter" or "year", which protects what a user buys in any
                one of them, not users for good. Periods that do not overlap cost the most of them.
            renew: Whether path may be a ledger. It begins anew with nothing spent. The old ledger
                stays beside it, as path.1, and takes no more charges. Its dataset, neighbors, unit
                and per apply where you leave them out. The new ledger then says what the old one
                had spent: a user of both times is protected by both budgets together. Where it
                promises something else, it only names the old one, and nothing is added up.
        """
        _, place = _place(path)
        exact_delta = exact_delta_or_zero(delta)
        _check_choices(epsilon, rho, composition, unit, per)
        if composition is None:
            is_zcdp = rho is not None or exact_delta >= _LEAST_DELTA
            composition = Composition.ZCDP if is_zcdp else Composition.BASIC
        if composition == Composition.ZCDP and exact_delta < _LEAST_DELTA:
            raise ParameterError(
                f"{parameter('rho')}, as {parameter('composition')} 'zcdp', needs a "
                f"{parameter('delta')} of at least 1e-299"
            )
        exact, most_rho, zcdp_delta = _exact_limits(epsilon, exact_delta, rho)
        for name, limit in (("epsilon", exact), ("delta", exact_delta), ("rho", most_rho)):
            written(limit, name)  # raises for a fraction that is too long
        if per is not None:
            unit = "user"
        if dataset is not None:
            _check_dataset_name(dataset)
        terms = Terms(
            id=uuid4().hex,
            created=_now(),
            epsilon=exact,
            delta=exact_delta,
            composition=Composition(composition),
            rho=most_rho,
            zcdp_delta=zcdp_delta,
            dataset=dataset,
            neighbors=None if neighbors is None else str(exact_neighbors(neighbors)),
            privacy_unit=unit,
            per=per,
        )
        if renew and place.exists():
            cls._renew(path, place, terms)
        else:
            storage.create(place, terms.record())
        ledger = cls(path)
        ledger._remember()
        return ledger

    @classmethod
    def _renew(cls, path: FilePath, place: Path, terms: Terms) -> None:
        """Begin a ledger anew, and keep it as it was, but closed, under another name."""
        with storage.opened(place, writes=True) as connection:
            before = cls(path).statement(verify=True)  # while nobody else can add to it
            if before.closed:
                raise LedgerError(
                    f"{shown(before.name)} was renewed already; renew the ledger that followed it, "
                    "or choose another name"
                )
            names = (place.with_name(f"{place.name}.{number}") for number in count(1))
            aside = next(name for name in names if not name.exists())
            terms = _with_promise_of(before, terms)
            renewed = {"file": aside.name, "time": terms.created, "id": before.terms.id}
            if _promises_the_same(before, terms):
                renewed |= _spent_until_now(before)
            storage.renew(connection, place, aside, replace(terms, renewed=renewed).record())

    def close(self) -> None:
        """Refuse everything from now on."""
        self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def statement(self, *, verify: bool = False) -> Statement:
        """Return what is in the ledger now. Raises LedgerError as opening does.

        verify: from the first entry on; else those verified here before are shown as the file has
        them, not added up.
        """
        with storage.opened(self._path) as connection:
            balance = self._verify_and_note(connection, verify=verify)
            rows = islice(storage.entries(connection), balance.seen.entries)
            try:
                entries = tuple(Entry.read(record) for _, record, _ in rows)
            except NO_RECORD:
                raise self._damaged() from None
        if [entry.number for entry in entries] != [*range(1, balance.seen.entries + 1)]:
            raise self._damaged()
        return replace(balance, entries=entries)

    @property
    def left(self) -> Left:
        """What is left now, exactly."""
        return self._balance().left

    @property
    def privacy_unit(self) -> str | None:
        """The unit that it protects, "basket" or "user"; None where neither the owner nor an entry
        names one.
        """
        return self._balance().promise.privacy_unit

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What releases were charged with, in order."""
        return self.statement().entries

    def check(self, *charges: Charge) -> None:
        """Raise LedgerError where charges would be refused now. Nothing is written."""
        with storage.opened(self._path) as connection:
            self._after(self._verify_and_note(connection), charges, connection)

    def charge(self, *charges: Charge) -> Charged:
        """Write charges down, all or none; when this returns they are on the disk. Return what it
        says of the last.

        Raises LedgerError as `check` does; and where it cannot be written: it may stand then, but
        release nothing.
        """
        with storage.opened(self._path, writes=True) as connection:
            # What is left is reckoned anew, with what others have added, while nobody else can add
            # more.
            before = self._verify_and_note(connection)
            after, entries = self._after(before, charges, connection)
            for entry in entries:
                storage.append(connection, entry.number, entry.record(), entry.hash)
        self._known = after
        self._remember()
        last = entries[-1]
        left = after.left_under(after.terms.composition, last.reach)
        period = last.span.period if last.span is not None and last.reach is not None else None
        self.charged = Charged(last.dataset, last.number, left, period)
        return self.charged

    def _after(
        self, before: Statement, charges: Sequence[Charge], connection: sqlite3.Connection
    ) -> tuple[Statement, list[Entry]]:
        """Return what a ledger adds up to with some charges, and these as entries; LedgerError
        where one is refused.
        """
        if not charges:
            raise ParameterError(
                "a ledger is charged with a cost: give one fim_private.dp.charge.Charge or more"
            )
        entries = []
        for charge in charges:
            values = vars(charge) | {"neighbors": str(charge.neighbors)}
            number, previous = before.seen.entries + 1, before.seen.hash
            entry = Entry(number=number, time=_now(), previous=previous, **values)
            before.check(entry, allow_other_unit=self._allow_other_unit)
            before = before.after([entry])
            entries.append(entry)
        if not self._again:
            self._check_new(entries, connection)
        return before, entries

    def _check_new(self, entries: Sequence[Entry], connection: sqlite3.Connection) -> None:
        """Raise LedgerError if the same was asked before for the same period."""
        by_period: dict[str, list[Entry]] = {}
        for entry in entries:
            if entry.span is not None and entry.span.period is not None:
                by_period.setdefault(entry.span.period, []).append(entry)
        for period, record in storage.of_periods(connection, by_period):
            before = Entry.read(record)
            if any(before.asks_as(entry) for entry in by_period[period]):
                raise LedgerError(
                    f"{shown(self._name)} was charged for the same request and {period} before: "
                    f"entry {before.number:,} of {before.time[:10]}; use that release, or spend "
                    f"again with {parameter('again')}"
                )

    @property
    def _path(self) -> Path:
        if self._file is None:
            raise LedgerError(f"the ledger {shown(self._name)} is closed; open it again")
        return self._file

    def _balance(self) -> Statement:
        """Return what the ledger adds up to now, without its entries. Raises LedgerError as opening
        does.
        """
        with storage.opened(self._path) as connection:
            return self._verify_and_note(connection)

    def _verify_and_note(
        self, connection: sqlite3.Connection, *, verify: bool = False
    ) -> Statement:
        """Return what the entries add up to; LedgerError for what is damaged, another ledger than
        before, or older.
        """
        try:
            terms = Terms.read(storage.terms(connection))
            if self._known is not None and self._known.terms.id != terms.id:
                raise LedgerError(
                    f"{shown(self._name)} is another ledger than when it was opened; open it again"
                )
            closed = storage.is_closed(connection)
            if not closed and storage.was_renewed(terms.id):
                raise LedgerError(
                    f"{shown(self._name)} is an older copy of a ledger that was renewed, "
                    "and takes no more charges. Put back the ledger that followed it, or create "
                    "a new "
                    "ledger with what you know to be left"
                )
            # First what was seen, then the entries: others may add some meanwhile, which must not
            # look like a loss.
            known = None if self._known is None else self._known.seen
            nothing = LastSeen(0, terms.hash, terms.hash, terms.hash, None, {})
            notes = [note for note in (storage.noted(terms.id), known) if note is not None]
            for note in notes:
                self._check_seen(connection, terms, note)
            seen, first = nothing, None
            if not verify:
                seen = max([nothing, *notes], key=lambda note: note.entries)
            if seen.entries:
                first = Entry.read(str(storage.entry(connection, 1)[0]))
            rows = storage.entries(connection, after=seen.entries)
            chain = verified_chain(rows, seen.entries, seen.hash)
            self._known = Statement(self._name, terms, seen, first, closed=closed).after(chain)
        except NO_RECORD:
            raise self._damaged() from None
        if verify or self._known.seen.entries - seen.entries >= _MANY:
            storage.remember(terms.id, self._known.seen)  # where that fails, a charge warns of it
        return self._known

    def _check_seen(self, connection: sqlite3.Connection, terms: Terms, seen: LastSeen) -> None:
        """Raise LedgerError unless the terms, and the first and last entry of then, are what was
        seen.
        """

        def is_there(number: int, hash: str) -> bool:
            if not number:
                return hash == terms.hash
            record, stored = storage.entry(connection, number)
            return hashed(str(record)) == stored == hash

        same_first = seen.terms == terms.hash and is_there(min(seen.entries, 1), seen.first)
        if not same_first or not is_there(seen.entries, seen.hash):
            raise LedgerError(
                f"{shown(self._name)} is not what it was when it was last used here "
                f"({seen.entries:,} entries). An "
                "older copy was put back, or it was edited. Put back the newest, or create a new "
                "ledger with what you "
                "know to be left"
            )

    def _damaged(self) -> LedgerError:
        return LedgerError(
            f"{shown(self._name)} was edited or is damaged: its entries do not follow each "
            f"other; {storage.PUT_BACK}"
        )

    def _remember(self) -> None:
        """Note, apart from the file, which entry was the last. Where that fails, the charge stands,
        with a warning.
        """
        assert self._known is not None
        if not storage.remember(self._known.terms.id, self._known.seen) and not self._warned:
            self._warned = True
            folder = storage.folder()
            reason = f"{shown(str(folder))} cannot be written"
            if folder.is_relative_to(storage.NO_HOME / "fim-private"):
                reason = "you have no home directory"
            unnoticed = "if an older copy of the ledger is put back, that will not be noticed"
            warn([f"{unnoticed}, since {reason}"], stacklevel=4)

    def __repr__(self) -> str:
        return repr(self.statement())

    def _repr_html_(self) -> str:
        return self.statement()._repr_html_()


def _place(path: FilePath) -> tuple[str, Path]:
    """Return a path as it was given, and where it leads; raise ParameterError if it is no path."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"a ledger is named by the path of its file, not by {shown(path)}")
    name = os.fspath(path)
    try:
        return name, Path(name).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):
        raise no_ledger(
            f"cannot open the ledger {shown(name)}: its links lead nowhere, or no file can have "
            "such a name; name another"
        ) from None


def _exact_limits(
    epsilon: float | Fraction | None, delta: Fraction, rho: float | Fraction | None
) -> tuple[Fraction, Fraction, Fraction]:
    """Return the limits of ε, of ρ, and of the δ of zCDP; the last two are 0 if δ is too small."""
    budget = PrivacyBudget.of(epsilon, delta, rho, otherwise=1)  # one of both is given
    if delta < _LEAST_DELTA:
        return budget.loss, _NOTHING, _NOTHING
    # Half of δ is for revealing what only one unit has; the rest converts ρ (docs/privacy.md,
    # Theorem 18).
    names_delta = delta / 2
    most_epsilon = Fraction(budget.cost(names_delta, normal=False).epsilon)
    return most_epsilon, budget.rho_for_steps(names_delta), names_delta


def _check_choices(
    epsilon: object, rho: object, composition: str | None, unit: str | None, per: str | None
) -> None:
    """Raise ParameterError for what is none of the choices, and what contradicts another."""
    if (epsilon is None) == (rho is None):
        raise ParameterError(f"give {parameter('epsilon')} or {parameter('rho')}, one of them")
    for name, choice, choices in (
        ("composition", composition, (*Composition,)),
        ("unit", unit, UNITS),
        ("per", per, KINDS),
    ):
        if choice is not None and choice not in choices:
            raise ParameterError(
                f"{parameter(name)} must be one of {', '.join(choices)}, not {shown(choice)}"
            )
    if rho is not None and composition == Composition.BASIC:
        raise ParameterError(
            f"{parameter('rho')} is of zCDP: leave out {parameter('composition')} basic"
        )
    if per is not None and unit == "basket":
        raise ParameterError(
            f"{parameter('per')} is for users, and {parameter('unit')} is basket; leave one out"
        )


def _check_dataset_name(dataset: str) -> None:
    """Raise ParameterError unless the name of a data set is short, and on one line."""
    is_line = isinstance(dataset, str) and dataset.strip() and dataset.isprintable()
    if not is_line or len(dataset) > _LONGEST_NAME:
        raise ParameterError(
            f"{parameter('dataset')} must be the name that you give to the data, a text of 1 "
            f"to {_LONGEST_NAME} characters on one line, not {shown(dataset)}"
        )


def _users_for(per: str | None) -> str:
    """Return in words which purchases of a user are protected together."""
    return "users for good" if per is None else f"what a user buys in one {per}"


def _to_lower(charge: Entry, exceeded: Collection[str]) -> str:
    """Return the parameter that a release has to lower to stay within the sums it exceeds."""
    if not {"epsilon", "rho"}.intersection(exceeded):
        return "delta"
    return "epsilon" if charge.parameters.get("rho") is None else "rho"


def _alike(parameters: Collection[str]) -> str:
    """Return in words which units may replace one, if the entries choose or divide the units."""
    choosing = {"where": "every condition", "query": "every query"}
    choices = [choice for name, choice in choosing.items() if name in parameters]
    alike = []
    if choices:
        alike.append(f"{' and '.join(choices)} keeps as well")
    if "segments" in parameters:
        alike.append("counts in the same segments")
    if not alike:
        return ""
    return f": replacing it by any other that {' and '.join(alike)}"


def _with_promise_of(before: Statement, terms: Terms) -> Terms:
    """Return the terms of a ledger that is renewed: what they leave open is as it was before."""
    per = before.terms.per if terms.privacy_unit is None else terms.per
    return replace(terms.filled_from(before.promise), per=per)


def _promises_the_same(before: Statement, terms: Terms) -> bool:
    """Return whether new terms protect the same units of the same data as the ledger before.

    What that one had left open differs from nothing.
    """
    old = before.promise
    same_unit = (old.privacy_unit, old.per) == (terms.privacy_unit, terms.per)
    return (
        (old.privacy_unit is None or same_unit)
        and old.dataset in (None, terms.dataset)
        and old.neighbors in (None, terms.neighbors)
    )


def _spent_until_now(before: Statement) -> dict[str, str]:
    """Return what a ledger and those before it have spent: somebody may be in the data of all."""
    earlier = before.terms.renewed or {}
    # A first ledger, or one that promised something else than the one before it.
    if "epsilon" not in earlier:
        earlier = {}
    sums = {name: read(earlier.get(name, "0")) for name in SUMS}
    spent = {name: written(value) for name, value in both(sums, before.spent).items()}
    if earlier:
        spent["ledgers"] = str(1 + int(earlier.get("ledgers", "1")))
    return spent


def _renewal_in_words(renewed: Mapping[str, str]) -> str:
    """Return what a ledger that was renewed says of those before it."""
    day, file = renewed["time"][:10], shown(renewed["file"])
    if "epsilon" not in renewed:
        return (
            f"It was renewed on {day}. The ledger before it, {file}, promised something else, "
            "so what that one has spent is not counted here."
        )
    epsilon, delta = (least_in_words(Fraction(renewed[name])) for name in ("epsilon", "delta"))
    ledgers = int(renewed.get("ledgers", "1"))
    whose, times, budgets = f"The ledger before it, {file},", "both times", "both budgets"
    if ledgers > 1:
        whose = f"The {ledgers} ledgers before it, the last of them {file},"
        times, budgets = "all these times", "all these budgets"
    return (
        f"It was renewed on {day}. {whose} had spent ε = {epsilon}, δ = {delta}. "
        f"Anyone in the data of {times} is protected by {budgets} together."
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _listed(columns: Iterable[str]) -> str:
    return " and ".join(map(shown, columns))
