"""The budget of a data set, kept in a file: what its releases have spent, and what they may still spend.

terms      What a ledger is of: the guarantee that was chosen when it was created.
entry      What a release was charged with.
statement  What a ledger says: the sums, what is left, and what would overspend.
storage    The file, by SQLite: transactions that are on the disk before they count.
last_seen  A record beside it, by which an older copy that was put back is noticed.
rationals  Exact numbers and records as text.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from fim_private.dp.charge import Charge, Charged, Left
from fim_private.errors import LedgerError, ParameterError, shown, warn
from fim_private.ledger import storage
from fim_private.ledger.entry import Entry
from fim_private.ledger.last_seen import LastSeen, folder, noted, remember
from fim_private.ledger.statement import Statement
from fim_private.ledger.terms import Composition, Terms

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Ledger"]


class Ledger:
    """The ledger of a file, to which releases are charged: `fim.mine(..., ledger=ledger, dataset="sales")`.

    Every release is written down in it, and synced to the disk, before anything is computed of the data; one that would
    overspend is refused. It is bound to one data set, one privacy unit and one neighbour relation: those that were
    named when it was created or, where nothing was said, those of the first release. Any number of processes may share
    it on one machine (not over a network file system).

    Opened with `with`, or left to itself: the file is open only while it is read or written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a ledger that `create` made. Raises LedgerError for what is none, was changed, or is an older copy."""
        self._name, self._path = _place(path)
        self._seen: LastSeen | None = None
        self._id: str | None = None
        self._closed = self._warned = False
        self.statement()

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
        ledger._remember(terms.id, LastSeen(0, terms.hash))
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """End the use of this object: it refuses everything from now on."""
        self._closed = True

    def statement(self) -> Statement:
        """Return what the ledger holds now: terms, entries, what is spent and left. Raises LedgerError as opening."""
        self._check_open()
        with storage.opened(self._path) as connection:
            return self._read(connection)

    @property
    def left(self) -> Left:
        """What is left now, exactly."""
        return self.statement().left

    @property
    def privacy_unit(self) -> str | None:
        """Whom it protects, "basket" or "user"; None where neither the owner nor an entry has said."""
        return self.statement().privacy_unit

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What releases were charged with, in order."""
        return self.statement().entries

    def check(self, charge: Charge) -> None:
        """Raise LedgerError where a charge would be refused now. Nothing is written."""
        self.statement().check(charge)

    def charge(self, charge: Charge) -> Charged:
        """Write a charge down; when this returns it is on the disk.

        Raises LedgerError where it would overspend, or is of another data set, unit or relation; and where the file
        cannot be written, after which the charge may stand all the same, but nothing may be released.
        """
        self._check_open()
        with storage.writing(self._path) as connection:
            # What is left is reckoned anew from all entries, while nobody else can add one.
            before = self._read(connection)
            before.check(charge)
            number, previous = before.head
            entry = Entry.of(charge, number=number + 1, time=_now(), previous=previous)
            storage.append(connection, entry.number, entry.record(), entry.hash)
        after = Statement(self._name, before.terms, (*before.entries, entry))
        self._seen = LastSeen(*after.head)
        self._remember(before.terms.id, self._seen)
        return Charged(charge.dataset, entry.number, after.left)

    def _read(self, connection: sqlite3.Connection) -> Statement:
        """Return what the file holds. Raises LedgerError for what is damaged, another ledger than before, or older."""
        # First what was seen, then the entries: others may add some meanwhile, which must not look like a loss.
        terms, mine = storage.terms(connection), self._seen
        ledger = Statement.read(self._name, terms, []).terms.id
        note = noted(ledger)
        statement = Statement.read(self._name, terms, storage.entries(connection))
        if self._id not in (None, ledger):
            raise LedgerError(f"{shown(self._name)} is another ledger than when it was opened; open it again")
        for seen in (mine, note):
            if seen is not None and not statement.holds(seen.entries, seen.hash):
                raise LedgerError(
                    f"{shown(self._name)} is not what it was when it was last used here ({seen.entries:,} entries): an "
                    "older copy was put back, or it was edited; put back the newest, or create a new ledger with what "
                    "you know to be left"
                )
        self._id, self._seen = ledger, LastSeen(*statement.head)
        return statement

    def _remember(self, ledger: str, seen: LastSeen) -> None:
        """Keep, apart from the file, which entry was the last. Where that fails, the charge stands, and it is said."""
        if not remember(ledger, seen) and not self._warned:
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


def _place(path: str | os.PathLike[str]) -> tuple[str, Path]:
    """Return a path as it was given, and where it leads. Raises ParameterError for what is no path."""
    if not isinstance(path, str | os.PathLike) or not isinstance(name := os.fspath(path), str):
        raise ParameterError(f"a ledger is named by the path of its file, not by {shown(path)}")
    if not name or "\0" in name or name.endswith("/"):
        raise LedgerError(f"no ledger can have the name {shown(name)}; name a file")
    try:
        return name, Path(name).expanduser().resolve()
    except (OSError, RuntimeError):
        raise LedgerError(f"cannot open the ledger {shown(name)}: its links lead nowhere; name another file") from None


def _now() -> str:
    """Return the time of the clock, in UTC, as text."""
    return datetime.now(UTC).isoformat(timespec="seconds")
