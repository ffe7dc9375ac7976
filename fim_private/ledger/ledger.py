"""The budget of a data set, in a file: what releases spent, what is left, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self
from uuid import uuid4

from fim_private.display import Table
from fim_private.dp.charge import UNITS, Charge, Charged, Left, of_many
from fim_private.dp.composition import root_below, zcdp_epsilon, zcdp_rho
from fim_private.dp.cost import (
    Exact,
    PrivacyCost,
    ZcdpCost,
    least_in_words,
    most_in_words,
    rounded_down,
)
from fim_private.dp.parameters import (
    Neighbors,
    exact_delta_or_zero,
    exact_epsilon,
    exact_neighbors,
    exact_rho,
)
from fim_private.errors import LedgerError, ParameterError, no_ledger, parameter, shown, warn
from fim_private.ledger import storage
from fim_private.ledger.chain import (
    NO_RECORD,
    SCHEMA,
    SUMS,
    Composition,
    Entry,
    Reach,
    Spent,
    Terms,
    added,
    hashed,
    most_spent,
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
            by_reach=added(self.by_reach, every),
            entries=(),
        )

    @cached_property
    def spent(self) -> dict[str, Fraction]:
        """The most that was spent of any one unit, by the names of `chain.SUMS`."""
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
        return self.terms.dataset or (self.first.dataset if self.first else None)

    @property
    def neighbors(self) -> str | None:
        """The neighbour relation; None where neither the owner nor an entry names one."""
        return self.terms.neighbors or (self.first.neighbors if self.first else None)

    @property
    def privacy_unit(self) -> str | None:
        """The unit that it protects, "basket" or "user"; None where neither the owner nor an entry
        names one.
        """
        return self.terms.privacy_unit or (self.first.privacy_unit if self.first else None)

    @property
    def limit(self) -> dict[str, Fraction]:
        """What the sums may be; of each composition, if it were the one that was chosen."""
        return {name: getattr(self.terms, name) for name in SUMS}

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
        """The periods that were charged, the earliest first: their names, columns of times, and the
        units reached.
        """
        named = {
            (entry.span.period, entry.reach) for entry in self.entries if entry.span and entry.reach
        }
        found = [(name, reach[0][0], reach) for name, reach in named if name is not None]
        return sorted(found, key=lambda one: (one[2][1:], one[:2]))

    def more_like_last(self, at: Reach | None = None) -> int | None:
        """Return how many more releases like the last fit, of the units that a reach has; None
        before the first.
        """
        if not self.entries:
            return None
        left, last = self.left_under(self.terms.composition, at), self.entries[-1].sums
        loss, delta = ("epsilon", "delta") if left.rho is None else ("rho", "zcdp_delta")
        fit = (left.epsilon if left.rho is None else left.rho) / last[loss]
        return int(min(fit, left.delta / last[delta]) if last[delta] else fit)

    @property
    def outlook(self) -> str | None:
        """How many more releases like the last fit, in words; None before the first."""
        if self.closed:
            followed = "they go to the ledger that followed it"
            return f"It was renewed, and takes no more charges: {followed}."
        if (number := self.more_like_last()) is None:
            return None
        where = " in the periods that have spent most" if self.periods else ""
        if not number:
            return f"The rest is not enough for another release like the last{where}."
        return (
            f"The rest is enough for about {number:,} more release{'s' * (number > 1)} like "
            f"the last{where}."
        )

    @property
    def notes(self) -> list[str]:
        """What else is to be said of it, in sentences."""
        found = []
        if self.terms.renewed is not None:
            found += [_renewal_in_words(self.terms.renewed)]
        if (per := self.terms.per) is not None and self.spent["epsilon"]:
            apart = all(
                reach is not None and reach[2] <= period_at(per, reach[1]).last
                for reach in self.by_reach
            )
            cost = PrivacyCost(self.spent["epsilon"], self.spent["delta"])
            found += [
                of_many(
                    per, cost, ZcdpCost(self.spent["rho"], self.spent["zcdp_delta"]), apart=apart
                )
            ]
        return found

    def check(self, charge: Entry, *, allow_other_unit: bool = False) -> None:
        """Raise LedgerError unless a release is what the ledger is for, and leaves it within its
        limit.
        """
        name, unit = shown(self.name), charge.privacy_unit
        if self.closed:
            raise LedgerError(
                f"{name} was renewed, and takes no more charges; give {parameter('ledger')} the "
                f"one that followed it"
            )
        if self.dataset is not None and charge.dataset != self.dataset:
            raise LedgerError(
                f"{name} is the budget of the data set {shown(self.dataset)}, not of "
                f"{shown(charge.dataset)}; if they "
                f"are the same people, give {parameter('dataset')} {shown(self.dataset)}, else "
                f"another ledger"
            )
        if self.privacy_unit is not None and unit != self.privacy_unit:
            instead = "with" if self.privacy_unit == "user" else "without"
            raise LedgerError(
                f"{name} protects {self.privacy_unit}s, and this release protects {unit}s; ask "
                f"{instead} {parameter('user')}, or take another ledger"
            )
        first, own = self.unit_columns, charge.unit_columns
        if (
            not allow_other_unit
            and first is not None
            and own is not None
            and sorted(first) != sorted(own)
        ):
            raise LedgerError(
                f"{name} protects {unit}s named by {_listed(first)}, and this release names them "
                f"by "
                f"{_listed(own)}. Give {parameter(unit)} {_listed(first)}, or another ledger, or "
                f"say "
                f"{parameter('allow_other_unit')} if both name the same {unit}s"
            )
        if self.neighbors is not None and charge.neighbors != self.neighbors:
            raise LedgerError(
                f"{name} is for {parameter('neighbors')} {self.neighbors!r}, and this release is "
                f"for "
                f"{str(charge.neighbors)!r}; give {parameter('neighbors')} {self.neighbors!r}, "
                f"or another ledger"
            )
        per = None if charge.span is None else charge.span.per
        if unit == "user" and per != self.terms.per:
            of, asked = (
                f"what a user buys in one {kind}" if kind else "users for good"
                for kind in (self.terms.per, per)
            )
            instead = (
                f"give {parameter('per')} {self.terms.per}"
                if self.terms.per
                else f"leave out {parameter('per')}"
            )
            raise LedgerError(
                f"{name} protects {of}, and this release protects {asked}; {instead}, or take "
                f"another ledger"
            )
        if per is not None and not allow_other_unit:
            self._check_partition(charge)
        left = self.left_under(self.terms.composition, charge.reach)
        at = (
            f" in {charge.span.period}"
            if charge.span is not None and charge.reach is not None
            else ""
        )
        loss, wanted, rest = (
            "epsilon",
            (charge.cost.epsilon, charge.cost.delta),
            (left.epsilon, left.delta),
        )
        if left.rho is not None:
            loss, wanted, rest = "rho", (charge.zcdp.rho, charge.zcdp.delta), (left.rho, left.delta)
        if wanted[0] > rest[0] or wanted[1] > rest[1]:
            budget = "epsilon" if charge.parameters.get("rho") is None else "rho"
            lower = parameter(budget if wanted[0] > rest[0] else "delta")
            has = (
                f"{loss} {most_in_words(rest[0])} and delta {most_in_words(rest[1])} are left"
                if rest[0]
                else "nothing is left"
            )
            todo = (
                f"ask with a smaller {lower}"
                if rest[0]
                else ("no more can be released of this data") + at
            )
            raise LedgerError(
                f"this would overspend {name}{at}: {has}, and it takes {loss} "
                f"{least_in_words(wanted[0])} and delta "
                f"{least_in_words(wanted[1])}; {todo}"
            )

    def _check_partition(self, charge: Entry) -> None:
        """Raise LedgerError where other columns than those of the first entry say what a user
        bought in one period.

        One unit by these columns may be spread over many units by others, and it changes all of
        them (docs/privacy.md).
        """
        before = None if self.first is None else self.first.span
        if before is None or charge.span is None or before.partition == charge.span.partition:
            return
        first, own = ([span.time, *span.baskets] for span in (before, charge.span))
        raise LedgerError(
            f"{shown(self.name)} finds the {before.per} of a purchase by {_listed(first)}, and "
            f"this release by "
            f"{_listed(own)}. Give {parameter('time')} {shown(before.time)} and the same "
            f"{parameter('basket')}, or "
            f"another ledger, or say {parameter('allow_other_unit')} if both find the same "
            f"{before.per}s"
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
        if unit is None or relation is None:
            known = " and ".join(word for word in (unit and f"{unit}s", relation) if word)
            if not known:
                return (
                    "Its first release decides what it protects, and under which neighbour "
                    "relation."
                )
            return f"It is for {known}; its first release decides the rest."
        who = "one user, with all their baskets" if unit == "user" else "one basket"
        who += "" if self.terms.per is None else f" of one {self.terms.per}"
        who += "" if self.unit_columns is None else f" (named by {_listed(self.unit_columns)})"
        every = {name for entry in self.entries for name in entry.parameters}
        # Where entries chose units, one is replaced by another that they chose.
        asked = every if relation == Neighbors.REPLACE_ONE else set[str]()
        chosen_by = [
            f"every {name}"
            for key, name in (("where", "condition"), ("query", "query"))
            if key in asked
        ]
        alike = [f"{' and '.join(chosen_by)} keeps as well"] if chosen_by else []
        alike += ["counts in the same segments"] if "segments" in asked else []
        same = f": replacing it by any other that {' and '.join(alike)}" if alike else ""
        listed = ", among data with the same list of items" if "items_are_public" in every else ""
        return f"It is about {who}, under {relation}{same}{listed}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values. Limits and what is left are rounded down, what is spent is rounded
        up.
        """
        return {
            "schema": SCHEMA,
            "dataset": self.dataset,
            "privacy_unit": self.privacy_unit,
            "unit_columns": None if self.unit_columns is None else [*self.unit_columns],
            "neighbors": self.neighbors,
            "protected": self.protected,
            "composition": str(self.terms.composition),
            "limit": {name: rounded_down(value) for name, value in self.limit.items()},
            "spent": {name: float(Exact(value)) for name, value in self.spent.items()},
            "left": {str(each): self.left_under(each).to_dict() for each in Composition},
            "per": self.terms.per,
            "renewed": self.terms.renewed,
            "periods": [
                {
                    "period": name,
                    "time": column,
                    "spent": {
                        each: float(Exact(value))
                        for each, value in most_spent(self.by_reach, reach).items()
                    },
                    "left": self.left_under(self.terms.composition, reach).to_dict(),
                    "more_like_last": self.more_like_last(reach),
                }
                for name, column, reach in self.periods
            ],
            "more_like_last": self.more_like_last(),
            "entries": [entry.to_dict() for entry in self.entries],
        }

    def rows_of(self, entries: Iterable[Entry]) -> Iterator[tuple[str, ...]]:
        """Yield entries as texts, one for each of `columns`."""
        for entry in entries:
            asked = {**entry.parameters, "period": entry.span and entry.span.period}
            named = (f"{name}={value}" for name, value in asked.items() if value is not None)
            command = " ".join([entry.command, *named])
            yield (
                f"{entry.number:,}",
                entry.time,
                command,
                *map(least_in_words, entry.sums.values()),
            )

    def _table(self) -> Table:
        left = self.left
        what = (
            f"ρ = {most_in_words(left.rho)}"
            if left.rho is not None
            else f"ε = {most_in_words(left.epsilon)}"
        )
        notes = [f"Left: {what}, δ = {most_in_words(left.delta)}.", self.protected, *self.notes]
        notes += [] if self.outlook is None else [self.outlook]
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

    Every release is written down in it, and synced to the disk, before anything is computed of the
    data; one that would overspend is refused. It is bound to one data set, privacy unit and
    neighbour relation. They are named at creation or by the first release. It is bound to the
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
        epsilon: Any = None,
        delta: Any,
        rho: Any = None,
        composition: str | None = None,
        dataset: str | None = None,
        neighbors: str | None = None,
        unit: str | None = None,
        per: str | None = None,
        renew: bool = False,
    ) -> Self:
        """Create a ledger for a limit, and open it: all releases together are to be (epsilon,
        delta)-private.

        path: of a new file. epsilon: 1e-9 to 1e9. delta: 0, or 1e-300 up to below 1. rho: 1e-18 to
            1e8, instead of epsilon, which then follows from rho and delta. composition: "zcdp" adds
            up zero-concentrated privacy, the default where delta is above 0; "basic" adds up
            epsilons and deltas.
        dataset: your name for the data. neighbors: "replace-one" or "add-remove". unit: "basket" or
            "user", which it protects. None: the first release decides. per: "day", "week", "month",
            "quarter" or "year", which protects what a user buys in any one of them, not users for
            good. Periods that do not overlap cost the most of them.
        renew: path may be a ledger. It begins anew with nothing spent. The old ledger stays beside
            it, as path.1, and takes no more charges. Its dataset, neighbors, unit and per apply
            where you leave them out. The new ledger then says what the old one had spent: a user of
            both times is protected by both budgets together. Where it promises something else, it
            only names the old one, and nothing is added up. Raises ParameterError, and LedgerError
            if it cannot be written.
        """
        _, place = _place(path)
        exact_delta = exact_delta_or_zero(delta)
        if (epsilon is None) == (rho is None):
            raise ParameterError(f"give {parameter('epsilon')} or {parameter('rho')}, one of them")
        if rho is not None and composition == Composition.BASIC:
            raise ParameterError(
                f"{parameter('rho')} is of zCDP: leave out {parameter('composition')} basic"
            )
        if composition is None:
            composition = (
                Composition.ZCDP
                if rho is not None or exact_delta >= _LEAST_DELTA
                else Composition.BASIC
            )
        if rho is not None and exact_delta < _LEAST_DELTA:
            raise ParameterError(
                f"{parameter('rho')} needs a {parameter('delta')} of at least 1e-299"
            )
        # Half of δ for what names one unit's own; the rest converts ρ (docs/privacy.md, Theorem
        # 18).
        naming = exact_delta / 2 if exact_delta >= _LEAST_DELTA else _NOTHING
        left = (exact_delta - naming) / (1 - naming)
        exact = exact_epsilon(epsilon) if rho is None else zcdp_epsilon(exact_rho(rho), left)
        limit = _NOTHING if not naming else zcdp_rho(exact, left) if rho is None else exact_rho(rho)
        for name, value in (("epsilon", exact), ("delta", exact_delta), ("rho", limit)):
            written(value, name)
        protects = UNITS[0] if unit is None else unit
        for name, given, names in (
            ("composition", composition, [*Composition]),
            ("unit", protects, [*UNITS]),
        ):
            if given not in names:
                raise ParameterError(
                    f"{parameter(name)} must be one of {', '.join(names)}, not {shown(given)}"
                )
        if per is not None and per not in KINDS:
            raise ParameterError(
                f"{parameter('per')} must be one of {', '.join(KINDS)}, not {shown(per)}"
            )
        if per is not None and unit == "basket":
            raise ParameterError(
                f"{parameter('per')} is for users, and {parameter('unit')} is basket; leave one out"
            )
        unit = "user" if per is not None else unit
        if composition == Composition.ZCDP and exact_delta < _LEAST_DELTA:
            raise ParameterError(
                f"{parameter('composition')} 'zcdp' needs a {parameter('delta')} of at least 1e-299"
            )
        if dataset is not None and not (
            isinstance(dataset, str)
            and dataset.strip()
            and len(dataset) <= _LONGEST_NAME
            and dataset.isprintable()
        ):
            raise ParameterError(
                f"{parameter('dataset')} must be the name that you give to the data, a text of 1 "
                f"to {_LONGEST_NAME} "
                f"characters on one line, not {shown(dataset)}"
            )
        relation = None if neighbors is None else str(exact_neighbors(neighbors))
        limits = (exact, exact_delta, Composition(composition), limit, naming)
        terms = Terms(uuid4().hex, _now(), *limits, dataset, relation, unit, per)
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
            balance = self._read(connection, verify=verify)
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
            self._after(self._read(connection), charges, connection)

    def charge(self, *charges: Charge) -> Charged:
        """Write charges down, all or none; when this returns they are on the disk. Return what it
        says of the last.

        Raises LedgerError as `check` does; and where it cannot be written: it may stand then, but
        release nothing.
        """
        with storage.opened(self._path, writes=True) as connection:
            # What is left is reckoned anew, with what others have added, while nobody else can add
            # more.
            before = self._read(connection)
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
            what = "give one fim_private.dp.charge.Charge or more"
            raise ParameterError(f"a ledger is charged with a cost: {what}")
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
        """Return the entries of the periods of charges, by period; none where they may be charged
        again.
        """
        found: dict[str, list[Entry]] = {}
        periods = {
            charge.span.period
            for charge in charges
            if charge.span is not None and charge.span.period
        }
        if periods and not self._again:
            for period, record in storage.of_periods(connection, periods):
                found.setdefault(period, []).append(Entry.read(record))
        return found

    def _check_new(self, entry: Entry, earlier: Mapping[str, Sequence[Entry]]) -> None:
        """Raise LedgerError where the same was asked before for the same period. earlier: entries,
        by period.
        """
        period = "" if entry.span is None else entry.span.period or ""
        for before in earlier.get(period, ()):
            if before.asks_as(entry):
                raise LedgerError(
                    f"{shown(self._name)} was charged for the same request and {period} before: "
                    f"entry "
                    f"{before.number:,} of {before.time[:10]}; use that release, or spend again "
                    f"with "
                    f"{parameter('again')}"
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
            return self._read(connection)

    def _read(self, connection: sqlite3.Connection, *, verify: bool = False) -> Statement:
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
            seen = [self._known.seen if self._known else None, storage.noted(terms.id)]
            start = Statement(self._name, terms, 0, terms.hash, None, None, {}, closed=closed)
            for each in (each for each in seen if each is not None):
                self._check_seen(connection, terms, each)
                if not verify and each.spent is not None and each.entries > start.number:
                    first = Entry.read(storage.entry(connection, 1)[1])
                    start = replace(
                        start,
                        number=each.entries,
                        hash=each.hash,
                        first=first,
                        unit_columns=each.unit_columns,
                        by_reach=each.spent,
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
    """Return a path as it was given, and where it leads. Raises ParameterError for what is no
    path.
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(name := os.fspath(path), str):
        raise ParameterError(f"a ledger is named by the path of its file, not by {shown(path)}")
    if not name or "\0" in name or name.endswith(("/", os.sep)):
        raise no_ledger(f"no ledger can have the name {shown(name)}; name a file")
    try:
        return name, Path(name).expanduser().resolve()
    except (OSError, RuntimeError):
        raise no_ledger(
            f"cannot open the ledger {shown(name)}: its links lead nowhere; name another file"
        ) from None


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
    spent = {}
    for name, value in before.spent.items():
        spent[name] = written(value + read(earlier.get(name, "0")))
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
