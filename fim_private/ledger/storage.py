"""Where a ledger is kept: what a file and a database have in common."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from fim_private.errors import LedgerError, shown
from fim_private.ledger.chain import Terms, hashed

# Number, record and hash of an entry.
Row = tuple[int, str, str]
# In form 2 entries may say which columns named the unit, in 3 their period, in 4 that their noise
# is normal.
FORM = 4
# Instead of its form a ledger that is never charged again has one of these, and says why.
CLOSED, EXPORTED = -1, -2
CLOSED_FORMS = {
    CLOSED: "was renewed, and takes no more charges: they go to the ledger that followed it",
    EXPORTED: (
        "was exported or moved, and takes no charges: `fim-private budget import` makes it a "
        "ledger, where no other copy of it is charged"
    ),
}
_FORMS = (1, 2, 3, FORM, *CLOSED_FORMS)
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
# How long to wait for another process, which holds a ledger for some milliseconds.
PATIENCE = 60.0  # seconds
IN_USE = f"another process has had it for {PATIENCE:.0f} seconds; end that, or try again"
CREATE = "create it with `fim-private budget create`"
PUT_BACK = "put back the newest whole copy, or create a new ledger with what you know to be left"


class Book(ABC):
    """A ledger that is open.

    terms: the record of its terms; nothing where there is none. form: one of those above.
    """

    terms: str
    form: int

    @property
    def starts_whole(self) -> bool:
        """Whether nothing stands before the first entry: it would be outside of the chain."""
        return next(self.rows(_LEAST, 0), None) is None

    def entries(self, after: int = 0) -> Iterator[Row]:
        """Return the entries after a number, in order, as they are read."""
        return self.rows(after + 1, _MOST)

    def holds(self, number: int, hash: str) -> bool:
        """Return whether there is an entry of that number with this hash, and it is whole."""
        return any(
            hashed(str(record)) == stored == hash for _, record, stored in self.rows(number, number)
        )

    def append(self, rows: Sequence[Row]) -> None:
        """Write more entries, and read them back. Raises LedgerError where the ledger does not hold
        them then.
        """
        if not rows:
            return
        self._insert(rows)
        self.mark(FORM)
        if [*self.entries(after=rows[0][0] - 1)] != [*rows]:
            raise LedgerError(
                f"the ledger does not keep what is written in it: it was tampered with; {PUT_BACK}"
            )

    def copy(self, book: "Book", form: int) -> None:
        """Write down another ledger, as a new one. form: what it becomes."""
        self.begin(Terms.read(book.terms))
        self.append([*book.entries()])
        self.mark(form)

    @abstractmethod
    def of_periods(self, periods: Collection[str]) -> Iterable[tuple[str]]:
        """Return the records of the entries of some periods, in order: in one pass, however many
        periods there are.
        """

    @abstractmethod
    def begin(self, terms: Terms) -> None:
        """Write down the terms of a ledger that has none."""

    @abstractmethod
    def mark(self, form: int) -> None:
        """Change its form."""

    @abstractmethod
    def renew(self, aside: "Place", terms: Terms) -> None:
        """Keep it, closed, in another place, where there is none; then give it new terms, and no
        entries.
        """

    @abstractmethod
    def rows(self, first: int, last: int) -> Iterator[Row]:
        """Return the entries with these numbers, in order."""

    @abstractmethod
    def _insert(self, rows: Sequence[Row]) -> None:
        """Write more entries."""


@dataclass(frozen=True)
class Place(ABC):
    """Where a ledger is, or may be.

    Attributes:
        name: As messages show it.
        label: Its name among the ledgers beside it.
    """

    name: str
    label: str

    @abstractmethod
    def beside(self, number: int) -> "Place":
        """Return the place beside it of the ledger that was renewed so often before."""

    @abstractmethod
    def exists(self) -> bool:
        """Return whether there is anything."""

    @abstractmethod
    def created(self) -> AbstractContextManager[Book]:
        """Create a ledger without terms: when this ends well it is there for good, else there is
        nothing. Raises LedgerError, at once where there is one already.
        """

    @abstractmethod
    def opened(self, *, writes: bool = False) -> AbstractContextManager[Book]:
        """Open a ledger to read it, or to write it alone: when this ends well, that is durable.
        Raises LedgerError.
        """

    def check_form(self, form: object) -> None:
        """Raise LedgerError for a ledger of a later version."""
        if form not in _FORMS:
            raise LedgerError(
                f"{shown(self.name)} was made by a newer fim-private; install that, or a newer one"
            )


def edited(name: str, lack: str) -> LedgerError:
    """Return the error for a ledger that is not as it is made. lack: what is not so."""
    return LedgerError(f"{shown(name)} was edited or is damaged: {lack}; {PUT_BACK}")
