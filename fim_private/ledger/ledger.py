"""The budget of a data set, kept in a file."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from fim_private.dp.charge import Charge, Charged, Left
from fim_private.errors import LedgerError, NoLedgerError, ParameterError, shown, warn
from fim_private.ledger import storage
from fim_private.ledger.statement import Balance, Composition, Entry, Statement, Terms, hashed
from fim_private.ledger.storage import LastSeen, Verified, folder, noted, remember

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

# So many entries, once verified, are not to be verified again, though nothing is charged.
_MANY = 100
# What reading a record raises that was edited, or is damaged.
_NO_RECORD = (ValueError, KeyError, TypeError, AttributeError, RecursionError)

__all__ = ["Ledger"]


class Ledger:
    """The ledger of a file, to which releases are charged: `fim.mine(..., ledger=ledger, dataset="sales")`.

    Every release is written down in it, and synced to the disk, before anything is computed of the data; one that would
    overspend is refused. It is bound to one data set, one privacy unit and one neighbour relation: those that were
    named when it was created or, where nothing was said, those of the first release; and to the columns that named the
    unit first. Any number of processes may share it on one machine (not over a network file system).

    Opened with `with`, or left to itself: the file is open only while it is read or written.
    charged: what it said when this object charged it last; None where it has not.
    """

    def __init__(self, path: str | os.PathLike[str], *, allow_other_unit: bool = False) -> None:
        """Open a ledger that `create` made.

        Entries are verified from the last one on that was verified here before, of a ledger that is new here from the
        first; `statement(verify=True)` verifies all of them.
        allow_other_unit: whether a release may name its unit by other columns than the first one did: the same users
            under another name.
        Raises LedgerError for what is no ledger, was changed, or is an older copy.
        """
        self._name, self._path = _place(path)
        self._allow_other_unit = allow_other_unit
        self._known: Balance | None = None
        self.charged: Charged | None = None
        self._closed = self._warned = False
        self._balance()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: Any,
        delta: Any,
        composition: str = Composition.BASIC.value,
        dataset: str | None = None,
        neighbors: str | None = None,
        unit: str | None = None,
    ) -> Self:
        """Create a ledger for a limit, and open it: all releases together are to be (epsilon, delta)-private.

        path: of a file that does not exist. epsilon: 1e-9 to 1e9. delta: 0, or 1e-300 up to below 1.
        composition: how releases add up. "basic": their epsilons and their deltas do. "zcdp": what they spend in
            zero-concentrated privacy does, which is less where many releases have Gaussian noise; it needs a delta.
        dataset: the name that you give to the data. neighbors: "replace-one" or "add-remove". unit: "basket" or
            "user", whom it protects. What is not said here is decided by the first release.
        Raises ParameterError for what is out of range, and LedgerError where the file cannot be written.
        """
        _, place = _place(path)
        terms = Terms.of(
            id=uuid4().hex,
            created=_now(),
            epsilon=epsilon,
            delta=delta,
            composition=composition,
            dataset=dataset,
            neighbors=neighbors,
            unit=unit,
        )
        storage.create(place, terms.record())
        ledger = cls(path)
        ledger._remember()
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """End the use of this object: it refuses everything from now on."""
        self._closed = True

    def statement(self, *, verify: bool = False) -> Statement:
        """Return what the ledger holds now: terms, entries, what is spent and left.

        verify: whether all entries are verified from the first on; without it the entries before those that were
        verified here already are shown as they stand in the file, and what is spent does not depend on them.
        Raises LedgerError as opening does.
        """
        self._check_open()
        with storage.opened(self._path) as connection:
            balance = self._read(connection, verify=verify)
            rows = storage.entries(connection)
            try:
                entries = tuple(Entry.read(record) for _, record, _ in islice(rows, balance.number))
            except _NO_RECORD:
                raise self._damaged() from None
            if [entry.number for entry in entries] != [*range(1, balance.number + 1)]:
                raise self._damaged()
        return Statement(**vars(balance), entries=entries)

    @property
    def left(self) -> Left:
        """What is left now, exactly."""
        return self._balance().left

    @property
    def privacy_unit(self) -> str | None:
        """Whom it protects, "basket" or "user"; None where neither the owner nor an entry has said."""
        return self._balance().privacy_unit

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What releases were charged with, in order."""
        return self.statement().entries

    def check(self, charge: Charge) -> None:
        """Raise LedgerError where a charge would be refused now. Nothing is written."""
        self._balance().check(charge, allow_other_unit=self._allow_other_unit)

    def charge(self, charge: Charge) -> Charged:
        """Write a charge down; when this returns it is on the disk.

        Raises LedgerError where it would overspend, or is of another data set, unit, unit column or relation; and where
        the file cannot be written, after which the charge may stand all the same, but nothing may be
        released.
        """
        self._check_open()
        with storage.writing(self._path) as connection:
            # What is left is reckoned anew, with what others have added, while nobody else can add more.
            before = self._read(connection)
            before.check(charge, allow_other_unit=self._allow_other_unit)
            entry = Entry.of(charge, number=before.number + 1, time=_now(), previous=before.hash)
            storage.append(connection, entry.number, entry.record(), entry.hash)
        self._known = before.after([entry])
        self._remember()
        self.charged = Charged(charge.dataset, entry.number, self._known.left)
        return self.charged

    def _balance(self) -> Balance:
        """Return what the ledger has added up to now. Raises LedgerError as opening does."""
        self._check_open()
        with storage.opened(self._path) as connection:
            return self._read(connection)

    def _read(self, connection: sqlite3.Connection, *, verify: bool = False) -> Balance:
        """Return what the entries in the file add up to, verified from the last one on that was verified before.

        verify: whether from the first on. Raises LedgerError for what is damaged, another ledger than before, or older.
        """
        try:
            terms = Terms.read(storage.terms(connection))
        except _NO_RECORD:
            raise self._damaged() from None
        if self._known is not None and self._known.terms.id != terms.id:
            raise LedgerError(f"{shown(self._name)} is another ledger than when it was opened; open it again")
        # First what was seen, then the entries: others may add some meanwhile, which must not look like a loss.
        note = noted(terms.id)
        seen = [each for each in (None if self._known is None else _seen(self._known), note) if each is not None]
        for each in seen:
            if not _holds(connection, terms, each):
                raise LedgerError(
                    f"{shown(self._name)} is not what it was when it was last used here ({each.entries:,} entries): an "
                    "older copy was put back, or it was edited; put back the newest, or create a new ledger with what "
                    "you know to be left"
                )
        start = Balance.without_entries(self._name, terms)
        last = max((each for each in seen if each.verified is not None), key=lambda each: each.entries, default=None)
        if not verify and last is not None and last.entries and last.verified is not None:
            columns, spent = last.verified.unit_columns, last.verified.spent
            start = Balance(self._name, terms, last.entries, last.hash, self._first(connection), columns, spent)
        self._known = start.after(self._verified(connection, start))
        if verify or self._known.number - start.number >= _MANY:
            remember(terms.id, _seen(self._known))  # where that fails, it is said when something is charged
        return self._known

    def _verified(self, connection: sqlite3.Connection, start: Balance) -> Iterator[Entry]:
        """Yield the entries after some. Raises LedgerError unless each is whole, and follows the one before."""
        place, previous = start.number, start.hash
        for number, record, kept in storage.entries(connection, after=start.number):
            try:
                entry = Entry.read(record)
                place += 1
                if not entry.number == number == place or entry.previous != previous or hashed(record) != kept:
                    raise ValueError("an entry that does not follow")
            except _NO_RECORD:
                raise self._damaged() from None
            previous = kept
            yield entry

    def _first(self, connection: sqlite3.Connection) -> Entry:
        """Return the first entry, where there is one."""
        row = storage.entry(connection, 1)
        try:
            return Entry.read(row[1] if row is not None else "")
        except _NO_RECORD:
            raise self._damaged() from None

    def _damaged(self) -> LedgerError:
        """Return what is said of entries that are none."""
        return LedgerError(
            f"{shown(self._name)} was edited or is damaged: its entries do not follow each other; put back the newest "
            "whole copy, or create a new ledger with what you know to be left"
        )

    def _remember(self) -> None:
        """Keep, apart from the file, which entry was the last. Where that fails, the charge stands, and it is said."""
        assert self._known is not None
        if not remember(self._known.terms.id, _seen(self._known)) and not self._warned:
            self._warned = True
            place = folder()
            where = "without a home directory" if place is None else f"since {shown(str(place))} cannot be written"
            warn([f"if an older copy of the ledger is put back, that will not be noticed, {where}"], stacklevel=4)

    def _check_open(self) -> None:
        """Raise LedgerError after `close`."""
        if self._closed:
            raise LedgerError(f"the ledger {shown(self._name)} is closed; open it again")

    def __repr__(self) -> str:
        return repr(self.statement())

    def _repr_html_(self) -> str:
        return self.statement()._repr_html_()


def _seen(balance: Balance) -> LastSeen:
    """Return what is kept of a balance."""
    first = balance.terms.hash if balance.first is None else balance.first.hash
    verified = Verified(balance.terms.hash, first, balance.unit_columns, balance.spent)
    return LastSeen(balance.number, balance.hash, verified)


def _holds(connection: sqlite3.Connection, terms: Terms, seen: LastSeen) -> bool:
    """Tell whether a file holds what was seen: the same terms, and the same first and last entry of then."""

    def is_there(number: int, hash: str) -> bool:
        if not number:
            return hash == terms.hash
        row = storage.entry(connection, number)
        return row is not None and isinstance(row[1], str) and hashed(row[1]) == row[2] == hash

    known = seen.verified
    if known is not None and (known.terms != terms.hash or not is_there(min(seen.entries, 1), known.first)):
        return False
    return is_there(seen.entries, seen.hash)


def _place(path: str | os.PathLike[str]) -> tuple[str, Path]:
    """Return a path as it was given, and where it leads. Raises ParameterError for what is no path."""
    if not isinstance(path, str | os.PathLike) or not isinstance(name := os.fspath(path), str):
        raise ParameterError(f"a ledger is named by the path of its file, not by {shown(path)}")
    if not name or "\0" in name or name.endswith("/"):
        raise NoLedgerError(f"no ledger can have the name {shown(name)}; name a file")
    try:
        return name, Path(name).expanduser().resolve()
    except (OSError, RuntimeError):
        raise NoLedgerError(
            f"cannot open the ledger {shown(name)}: its links lead nowhere; name another file"
        ) from None


def _now() -> str:
    """Return the time of the clock, in UTC, as text."""
    return datetime.now(UTC).isoformat(timespec="seconds")
