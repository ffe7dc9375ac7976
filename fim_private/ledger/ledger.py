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
from fim_private.dp.accountant import SUMS, Reach, Spent, added, both, most_spent
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
# Half of it is the least that ρ is converted with.
_LEAST_DELTA = Fraction(10, 10**300)
_NOTHING = Fraction(0)
_COMPOSED = {
    "basic": "basic composition",
    "zcdp": ("composition in zero-concentrated privacy (zCDP)"),
}


@dataclass(frozen=True, repr=False)
class Statement:
    """What a ledger adds up to at one moment: all that is needed to charge it.

    number: of its entries, >= 0. hash: of the last of them, or of the terms. unit_columns: of the
    first entry that has some. by_reach: the sums of the entries, of the units that they reach.
    entries: in order, where they were asked for.
    closed: whether it was renewed, and so takes no more charges.
    """

    name: str
    terms: Terms
    number: int
    hash: str
    first: Entry | None
    unit_columns: tuple[str, ...] | None
    by_reach: Spent
    entries: tuple[Entry, ...] = ()
    closed: bool = False

    # the headings of rows_of
    columns: ClassVar = ("entry", "time", "command", "ε", "δ", "ρ", "δ of zCDP")

    def after(self, entries: Iterable[Entry]) -> Statement:
        """Return that of a ledger with more entries, which are known to follow."""
        number, hash, first, columns = self.number, self.hash, self.first, self.unit_columns
        every = []
        for entry in entries:
            number, hash, first = entry.number, entry.hash, first or entry
            columns = entry.unit_columns if columns is None else columns
            every.append(entry)
        return replace(
            self,
            number=number,
            hash=hash,
            first=first,
            unit_columns=columns,
            by_reach=added(self.by_reach, ((entry.reach, entry.sums) for entry in every)),
            entries=(),
        )

    @cached_property
    def spent(self) -> dict[str, Fraction]:
        """The most that was spent of any one unit, by the names of `accountant.SUMS`."""
        return most_spent(self.by_reach)

    @property
    def seen(self) -> LastSeen:
        """What this machine is to notice of it the next time."""
        first = self.first or self.terms
        return LastSeen(
            self.number, self.hash, self.terms.hash, first.hash, self.unit_columns, self.by_reach
        )

    @property
    def dataset(self) -> str | None:
        """The data set that it is of; None where neither the owner nor an entry names one."""
        if self.terms.dataset is None and self.first is not None:
            return self.first.dataset
        return self.terms.dataset

    @property
    def neighbors(self) -> str | None:
        """The neighbour relation; None where neither the owner nor an entry names one."""
        if self.terms.neighbors is None and self.first is not None:
            return self.first.neighbors
        return self.terms.neighbors

    @property
    def privacy_unit(self) -> str | None:
        """The unit that it protects, "basket" or "user"; None where neither the owner nor an entry
        names one.
        """
        if self.terms.privacy_unit is None and self.first is not None:
            return self.first.privacy_unit
        return self.terms.privacy_unit

    @property
    def limit(self) -> dict[str, Fraction]:
        """What the sums may be; of each composition, if it were the one that was chosen."""
        return {
            "epsilon": self.terms.epsilon,
            "delta": self.terms.delta,
            "rho": self.terms.rho,
            "zcdp_delta": self.terms.zcdp_delta,
        }

    def left_under(self, composition: Composition, at: Reach | None = None) -> Left:
        """Return what would be left under a composition, nothing where more is spent than that
        allows, or it is closed.

        at: what is left of the units that this reaches; None for those with the most spent.
        """
        spent = self.spent if at is None else most_spent(self.by_reach, at)
        left = {name: max(self.limit[name] - value, _NOTHING) for name, value in spent.items()}
        if self.closed:
            left = dict.fromkeys(SUMS, _NOTHING)
        if composition is Composition.BASIC:
            return Left(left["epsilon"], left["delta"])
        epsilon = root_below(2 * left["rho"]) if left["rho"] else _NOTHING
        return Left(epsilon, left["zcdp_delta"], left["rho"])

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
        left, last = self.left_under(self.terms.composition, at), self.entries[-1].sums
        if left.rho is None:
            delta = last["delta"]
            fit = left.epsilon / last["epsilon"]
        else:
            delta = last["zcdp_delta"]
            fit = left.rho / last["rho"]
        if delta:
            fit = min(fit, left.delta / delta)
        return int(fit)

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
                for reach in self.by_reach
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
        self._check_dataset(charge)
        self._check_unit(charge)
        if not allow_other_unit:
            self._check_unit_columns(charge)
        self._check_neighbors(charge)
        self._check_per(charge)
        if not allow_other_unit:
            self._check_partition(charge)
        self._check_limit(charge)

    def _check_dataset(self, charge: Entry) -> None:
        """Raise LedgerError for a release of another data set."""
        if self.dataset is None or charge.dataset == self.dataset:
            return
        dataset = shown(self.dataset)
        raise LedgerError(
            f"{shown(self.name)} is the budget of the data set {dataset}, not of "
            f"{shown(charge.dataset)}; if they are the same people, give "
            f"{parameter('dataset')} {dataset}, else another ledger"
        )

    def _check_unit(self, charge: Entry) -> None:
        """Raise LedgerError for a release that protects baskets instead of users, or vice versa."""
        if self.privacy_unit is None or charge.privacy_unit == self.privacy_unit:
            return
        instead = "with" if self.privacy_unit == "user" else "without"
        raise LedgerError(
            f"{shown(self.name)} protects {self.privacy_unit}s, and this release protects "
            f"{charge.privacy_unit}s; ask {instead} {parameter('user')}, or take another ledger"
        )

    def _check_unit_columns(self, charge: Entry) -> None:
        """Raise LedgerError for a release that names the units by other columns than the first."""
        if self.unit_columns is None or charge.unit_columns is None:
            return
        if sorted(self.unit_columns) == sorted(charge.unit_columns):
            return
        unit = charge.privacy_unit
        columns = _listed(self.unit_columns)
        raise LedgerError(
            f"{shown(self.name)} protects {unit}s named by {columns}, and this release names "
            f"them by {_listed(charge.unit_columns)}. Give {parameter(unit)} {columns}, or another "
            f"ledger, or say {parameter('allow_other_unit')} if both name the same {unit}s"
        )

    def _check_neighbors(self, charge: Entry) -> None:
        """Raise LedgerError for a release under another neighbour relation."""
        if self.neighbors is None or charge.neighbors == self.neighbors:
            return
        raise LedgerError(
            f"{shown(self.name)} is for {parameter('neighbors')} {self.neighbors!r}, and this "
            f"release is for {str(charge.neighbors)!r}; give {parameter('neighbors')} "
            f"{self.neighbors!r}, or another ledger"
        )

    def _check_per(self, charge: Entry) -> None:
        """Raise LedgerError for a release that protects users for another length of time."""
        per = None if charge.span is None else charge.span.per
        if charge.privacy_unit != "user" or per == self.terms.per:
            return
        if self.terms.per is None:
            instead = f"leave out {parameter('per')}"
        else:
            instead = f"give {parameter('per')} {self.terms.per}"
        raise LedgerError(
            f"{shown(self.name)} protects {_users_for(self.terms.per)}, and this release protects "
            f"{_users_for(per)}; {instead}, or take another ledger"
        )

    def _check_limit(self, charge: Entry) -> None:
        """Raise LedgerError for a release that costs more than is left."""
        left = self.left_under(self.terms.composition, charge.reach)
        if left.rho is None:
            name, loss, delta = "epsilon", charge.cost.epsilon, charge.cost.delta
            loss_left = left.epsilon
        else:
            name, loss, delta = "rho", charge.zcdp.rho, charge.zcdp.delta
            loss_left = left.rho
        if loss <= loss_left and delta <= left.delta:
            return
        where = ""
        if charge.span is not None and charge.reach is not None:
            where = f" in {charge.span.period}"
        if loss_left:
            remaining = (
                f"{name} {most_in_words(loss_left)} and delta {most_in_words(left.delta)} are left"
            )
            advice = f"ask with a smaller {parameter(_exceeded(charge, loss > loss_left))}"
        else:
            remaining = "nothing is left"
            advice = f"no more can be released of this data{where}"
        raise LedgerError(
            f"this would overspend {shown(self.name)}{where}: {remaining}, and it takes {name} "
            f"{least_in_words(loss)} and delta {least_in_words(delta)}; {advice}"
        )

    def _check_partition(self, charge: Entry) -> None:
        """Raise LedgerError if other columns than the first entry's say what is in a period.

        One unit by these columns may be spread over many units by others, and it changes all of
        them (docs/privacy.md).
        """
        if charge.span is None or charge.span.per is None:
            return
        first = None if self.first is None else self.first.span
        if first is None or first.partition == charge.span.partition:
            return
        raise LedgerError(
            f"{shown(self.name)} finds the {first.per} of a purchase by "
            f"{_listed([first.time, *first.baskets])}, and this release by "
            f"{_listed([charge.span.time, *charge.span.baskets])}. Give {parameter('time')} "
            f"{shown(first.time)} and the same {parameter('basket')}, or another ledger, or say "
            f"{parameter('allow_other_unit')} if both find the same {first.per}s"
        )

    @property
    def title(self) -> str:
        """What the ledger is of, in words."""
        whose = "" if self.dataset is None else f" of {shown(self.dataset)}"
        return (
            f"The budget{whose}: all releases together are at most ε = "
            f"{least_in_words(self.terms.epsilon)}, "
            f"δ = {least_in_words(self.terms.delta)}, by {_COMPOSED[self.terms.composition]}."
        )

    @property
    def protected(self) -> str:
        """The unit that it protects, and from what, in words."""
        unit, relation = self.privacy_unit, self.neighbors
        if unit is None and relation is None:
            return "Its first release decides what it protects, and under which neighbour relation."
        if unit is None:
            return f"It is for {relation}; its first release decides the rest."
        if relation is None:
            return f"It is for {unit}s; its first release decides the rest."
        who = "one user, with all their baskets" if unit == "user" else "one basket"
        if self.terms.per is not None:
            who += f" of one {self.terms.per}"
        if self.unit_columns is not None:
            who += f" (named by {_listed(self.unit_columns)})"
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
            "dataset": self.dataset,
            "privacy_unit": self.privacy_unit,
            "unit_columns": self.unit_columns and [*self.unit_columns],
            "neighbors": self.neighbors,
            "protected": self.protected,
            "composition": str(self.terms.composition),
            "limit": {name: rounded_down(value) for name, value in self.limit.items()},
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
        spent = most_spent(self.by_reach, reach)
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
        self, path: str | os.PathLike[str], *, allow_other_unit: bool = False, again: bool = False
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
        path: str | os.PathLike[str],
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
        _check_rho(epsilon, exact_delta, rho, composition)
        if composition is None:
            spends_delta = exact_delta >= _LEAST_DELTA
            composition = Composition.ZCDP if spends_delta else Composition.BASIC
        exact, most_rho, zcdp_delta = _exact_limits(epsilon, exact_delta, rho)
        for name, limit in (("epsilon", exact), ("delta", exact_delta), ("rho", most_rho)):
            written(limit, name)  # raises for a fraction that is too long
        _check_choices(composition, unit, per)
        if per is not None:
            unit = "user"
        if composition == Composition.ZCDP and exact_delta < _LEAST_DELTA:
            raise ParameterError(
                f"{parameter('composition')} 'zcdp' needs a {parameter('delta')} of at least 1e-299"
            )
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
    def _renew(cls, path: str | os.PathLike[str], place: Path, terms: Terms) -> None:
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
            rows = islice(storage.entries(connection), balance.number)
            try:
                entries = tuple(Entry.read(record) for _, record, _ in rows)
            except NO_RECORD:
                raise self._damaged() from None
        if [entry.number for entry in entries] != [*range(1, balance.number + 1)]:
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
        return self._balance().privacy_unit

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
        earlier = self._earlier(charges, connection)
        for charge in charges:
            values = vars(charge) | {"neighbors": str(charge.neighbors)}
            entry = Entry(number=before.number + 1, time=_now(), previous=before.hash, **values)
            before.check(entry, allow_other_unit=self._allow_other_unit)
            self._check_new(entry, earlier)
            before = before.after([entry])
            entries.append(entry)
        return before, entries

    def _earlier(
        self, charges: Sequence[Charge], connection: sqlite3.Connection
    ) -> Mapping[str, Sequence[Entry]]:
        """Return the entries of the charged periods, by period; none if `again` allows more."""
        earlier: dict[str, list[Entry]] = {}
        spans = [charge.span for charge in charges if charge.span is not None]
        periods = {span.period for span in spans if span.period}
        if periods and not self._again:
            for period, record in storage.of_periods(connection, periods):
                earlier.setdefault(period, []).append(Entry.read(record))
        return earlier

    def _check_new(self, entry: Entry, earlier: Mapping[str, Sequence[Entry]]) -> None:
        """Raise LedgerError if the same was asked before for the same period.

        earlier: entries, by period.
        """
        period = "" if entry.span is None else entry.span.period or ""
        for before in earlier.get(period, ()):
            if before.asks_as(entry):
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
            seen = [storage.noted(terms.id)]
            if self._known is not None:
                seen.insert(0, self._known.seen)
            start = Statement(self._name, terms, 0, terms.hash, None, None, {}, closed=closed)
            for last_seen in seen:
                if last_seen is None:
                    continue
                self._check_seen(connection, terms, last_seen)
                spent = last_seen.spent
                if not verify and spent is not None and last_seen.entries > start.number:
                    first = Entry.read(storage.entry(connection, 1)[1])
                    start = replace(
                        start,
                        number=last_seen.entries,
                        hash=last_seen.hash,
                        first=first,
                        unit_columns=last_seen.unit_columns,
                        by_reach=spent,
                    )
            rows = storage.entries(connection, after=start.number)
            self._known = start.after(verified_chain(rows, start.number, start.hash))
        except NO_RECORD:
            raise self._damaged() from None
        if verify or self._known.number - start.number >= _MANY:
            storage.remember(terms.id, self._known.seen)  # where that fails, a charge warns of it
        return self._known

    def _check_seen(self, connection: sqlite3.Connection, terms: Terms, seen: LastSeen) -> None:
        """Raise LedgerError unless the terms, and the first and last entry of then, are what was
        seen.
        """

        def is_there(number: int, hash: str) -> bool:
            if not number:
                return hash == terms.hash
            _, record, stored = storage.entry(connection, number)
            return isinstance(record, str) and hashed(record) == stored == hash

        same = seen.spent is None or (
            seen.terms == terms.hash and is_there(min(seen.entries, 1), seen.first)
        )
        if not same or not is_there(seen.entries, seen.hash):
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
            place = storage.folder()
            where = (
                "without a home directory"
                if place is None
                else (f"since {shown(str(place))} cannot be written")
            )
            warn(
                [f"if an older copy of the ledger is put back, that will not be noticed, {where}"],
                stacklevel=4,
            )

    def __repr__(self) -> str:
        return repr(self.statement())

    def _repr_html_(self) -> str:
        return self.statement()._repr_html_()


def _place(path: str | os.PathLike[str]) -> tuple[str, Path]:
    """Return a path as it was given, and where it leads; raise ParameterError if it is no path."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str):
        raise ParameterError(f"a ledger is named by the path of its file, not by {shown(path)}")
    if not name or "\0" in name or name.endswith(("/", os.sep)):
        raise no_ledger(f"no ledger can have the name {shown(name)}; name a file")
    try:
        return name, Path(name).expanduser().resolve()
    except (OSError, RuntimeError):
        raise no_ledger(
            f"cannot open the ledger {shown(name)}: its links lead nowhere; name another file"
        ) from None


def _check_rho(epsilon: object, delta: Fraction, rho: object, composition: str | None) -> None:
    """Raise ParameterError unless one of epsilon and rho is given, and the rest allows that."""
    if (epsilon is None) == (rho is None):
        raise ParameterError(f"give {parameter('epsilon')} or {parameter('rho')}, one of them")
    if rho is None:
        return
    if composition == Composition.BASIC:
        raise ParameterError(
            f"{parameter('rho')} is of zCDP: leave out {parameter('composition')} basic"
        )
    if delta < _LEAST_DELTA:
        raise ParameterError(f"{parameter('rho')} needs a {parameter('delta')} of at least 1e-299")


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


def _check_choices(composition: str, unit: str | None, per: str | None) -> None:
    """Raise ParameterError for what is none of the choices, or a period of baskets."""
    _check_choice("composition", composition, [*Composition])
    if unit is not None:
        _check_choice("unit", unit, UNITS)
    if per is not None:
        _check_choice("per", per, KINDS)
    if per is not None and unit == "basket":
        raise ParameterError(
            f"{parameter('per')} is for users, and {parameter('unit')} is basket; leave one out"
        )


def _check_choice(name: str, choice: str, choices: Sequence[str]) -> None:
    if choice not in choices:
        raise ParameterError(
            f"{parameter(name)} must be one of {', '.join(choices)}, not {shown(choice)}"
        )


def _check_dataset_name(dataset: str | None) -> None:
    """Raise ParameterError unless the name of a data set is short, and on one line."""
    if dataset is None:
        return
    is_line = isinstance(dataset, str) and dataset.strip() and dataset.isprintable()
    if is_line and len(dataset) <= _LONGEST_NAME:
        return
    raise ParameterError(
        f"{parameter('dataset')} must be the name that you give to the data, a text of 1 "
        f"to {_LONGEST_NAME} characters on one line, not {shown(dataset)}"
    )


def _users_for(per: str | None) -> str:
    """Return in words which purchases of a user are protected together."""
    return "users for good" if per is None else f"what a user buys in one {per}"


def _exceeded(charge: Entry, exceeds_loss: bool) -> str:
    """Return the parameter that a release has to lower to stay within the limit."""
    if not exceeds_loss:
        return "delta"
    return "epsilon" if charge.parameters.get("rho") is None else "rho"


def _alike(parameters: Collection[str]) -> str:
    """Return in words which units may replace one, if the entries choose or divide the units."""
    choices = []
    if "where" in parameters:
        choices.append("every condition")
    if "query" in parameters:
        choices.append("every query")
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
    unit, per = terms.privacy_unit, terms.per
    if unit is None:
        unit, per = before.privacy_unit, before.terms.per
    return replace(
        terms,
        dataset=terms.dataset or before.dataset,
        neighbors=terms.neighbors or before.neighbors,
        privacy_unit=unit,
        per=per,
    )


def _promises_the_same(before: Statement, terms: Terms) -> bool:
    """Return whether new terms protect the same units of the same data as the ledger before.

    What that one had left open differs from nothing.
    """
    if before.dataset is not None and terms.dataset != before.dataset:
        return False
    if before.neighbors is not None and terms.neighbors != before.neighbors:
        return False
    if before.privacy_unit is None:
        return True
    return (terms.privacy_unit, terms.per) == (before.privacy_unit, before.terms.per)


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
