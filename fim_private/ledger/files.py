"""A ledger in a file.

It is SQLite in WAL mode, and every transaction is synced to the disk before it counts as made.
Anything in it beside two tables, such as a trigger, is refused.
"""

import errno
import json
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection, Error, OperationalError, connect
from tempfile import TemporaryDirectory

from fim_private.errors import FimPrivateError, LedgerError, NoLedgerError, shown
from fim_private.ledger.chain import Terms
from fim_private.ledger.storage import (
    CLOSED,
    CREATE,
    FORM,
    IN_USE,
    PATIENCE,
    PUT_BACK,
    Book,
    Place,
    Row,
    edited,
)
from fim_private.whole_files import put_in_place

# "fimL": which of all SQLite files are ledgers. Its form is `PRAGMA user_version`.
_APPLICATION = 0x66696D4C
_TABLES = (
    "CREATE TABLE terms (one INTEGER PRIMARY KEY CHECK (one = 1), record TEXT NOT NULL)",
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, record TEXT NOT NULL, hash TEXT NOT NULL)",
)
# What a file with these and nothing else has as its schema.
_SCHEMA = [("table", table.split()[2], table) for table in _TABLES]
# A connection may take so many steps of SQLite, and one more for each byte of the file: many times
# what a ledger takes.
_STEPS, _STRIDE = 1_000_000, 1_000
# Behind the name of a file: SQLite's logs, which it reads into the file when it opens it.
_LOGS = ("-wal", "-journal")
# SQLite's codes of errors, without their details: the lowest byte.
_CANNOT_OPEN, _READ_ONLY, _NO_DATABASE = 14, 8, 26
_DAMAGED = "it is damaged, or no ledger; put back the newest whole copy"
_REASONS = {
    5: IN_USE,
    13: "the disk is full; free some of it",
    _READ_ONLY: "it is read-only, and a release must be written down in it first; make it writable",
    _CANNOT_OPEN: "no log can be written beside it; make its folder writable",
    10: "the disk is full, or failed; see to it",
    9: f"to read it takes more steps than any ledger does: it was tampered with; {PUT_BACK}",
}


class FileBook(Book):
    """A ledger in a file that is open."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        (self.terms,) = connection.execute("SELECT record FROM terms").fetchone() or ("",)
        self.form = _value(connection, "PRAGMA user_version")

    def of_periods(self, periods: Collection[str]) -> Iterable[tuple[str]]:
        """Return the records of the entries of some periods, as Book says."""
        return self._connection.execute(
            "SELECT record FROM entries WHERE json_extract(record, '$.span.period') "
            "IN (SELECT value FROM json_each(?)) ORDER BY number",
            (json.dumps([*periods]),),
        )

    def begin(self, terms: Terms) -> None:
        """Write down the terms."""
        self.terms = terms.record()
        self._connection.execute("INSERT INTO terms VALUES (1, ?)", (self.terms,))
        self.mark(FORM)

    def mark(self, form: int) -> None:
        """Change its form."""
        self.form = form
        self._connection.execute(f"PRAGMA user_version = {form}")

    def renew(self, aside: Place, terms: Terms) -> None:
        """Copy it to another file, and empty it."""
        with aside.created() as copy:
            copy.copy(self, CLOSED)
        self._connection.execute("DELETE FROM entries")
        self._connection.execute("DELETE FROM terms")
        self.begin(terms)

    def rows(self, first: int, last: int) -> Iterator[Row]:
        """Return the entries with these numbers, as Book says."""
        return self._connection.execute(
            "SELECT number, record, hash FROM entries WHERE number BETWEEN ? AND ? ORDER BY number",
            (first, last),
        )

    def _insert(self, rows: Sequence[Row]) -> None:
        self._connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)


@dataclass(frozen=True)
class FilePlace(Place):
    """Where the file of a ledger is, or may be. path: with its links followed."""

    path: Path

    def beside(self, number: int) -> "FilePlace":
        """Return the place with a number behind its name."""
        path = self.path.with_name(f"{self.path.name}.{number}")
        return FilePlace(str(path), path.name, path)

    def exists(self) -> bool:
        """Return whether there is a file."""
        return self.path.exists()

    @contextmanager
    def created(self) -> Iterator[Book]:
        """Create a file without terms, as Place says."""
        # The name is taken first, so that nobody else's file is ever replaced; then the whole
        # ledger takes its place.
        path = self.path
        with _taken(path), TemporaryDirectory(prefix=".fim-private.", dir=path.parent) as beside:
            new = Path(beside, path.name)
            _claim(new)
            with closing(_connected(new, "rw")) as connection:
                connection.executescript(
                    "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; "
                    f"PRAGMA application_id = {_APPLICATION}; {'; '.join(_TABLES)}"
                )
                yield FileBook(connection)
                connection.execute("COMMIT")
                # All of it into the file itself, which alone is put into place.
                if _value(connection, "PRAGMA wal_checkpoint(TRUNCATE)"):
                    raise OSError(errno.EBUSY, "it is in use")
            put_in_place(new, path)

    @contextmanager
    def opened(self, *, writes: bool = False) -> Iterator[Book]:
        """Open the file, as Place says."""
        path = self.path
        verb = "write" if writes else "read"
        with _explained(path, verb):
            _check_file(path)
            with closing(_readable(path)) as connection:
                if writes:
                    connection.execute("BEGIN IMMEDIATE")  # nobody else can change it any more
                yield self._checked(connection)
                if writes:
                    connection.execute("COMMIT")

    def _checked(self, connection: Connection) -> FileBook:
        """Return the ledger that is open. Raises LedgerError unless the file is one, with its two
        tables and nothing else.
        """
        if _value(connection, "PRAGMA application_id") != _APPLICATION:
            raise NoLedgerError(f"{shown(self.name)} is not a ledger; name one, or {CREATE}")
        self.check_form(_value(connection, "PRAGMA user_version"))
        schema = connection.execute(
            "SELECT type, name, sql FROM sqlite_master ORDER BY name DESC LIMIT ?",
            (len(_SCHEMA) + 1,),
        )
        if schema.fetchall() == _SCHEMA:
            book = FileBook(connection)
            if book.starts_whole:
                return book
        raise edited(self.name, "it does not hold the two tables of a ledger, and nothing else")


@contextmanager
def _taken(path: Path) -> Iterator[None]:
    """Take a name that is free, and free it again if what follows fails. Raises LedgerError."""
    with _explained(path, "create"):
        _claim(path)
        try:
            _check_logs(path)
            yield
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _check_logs(path: Path) -> None:
    """Raise LedgerError for a log of another file of that name: SQLite would read it into the new
    one.
    """
    for ending in _LOGS:
        log = path.with_name(f"{path.name}{ending}")
        if log.exists() and log.stat().st_size:
            raise NoLedgerError(
                f"cannot create the ledger {shown(str(path))}: {shown(log.name)} beside it was left"
                " by another file of that name, which is gone; delete it, or choose another name"
            )


def _claim(path: Path) -> None:
    """Create an empty file that only its owner can read, whatever the umask: SQLite's files beside
    it are like it.
    """
    path.touch(0o600, exist_ok=False)
    path.chmod(0o600)


def _check_file(path: Path) -> None:
    """Raise LedgerError unless a path is a file that may be a ledger."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise NoLedgerError(
            f"{shown(str(path))} is a folder or a device, not a ledger; name a file"
        )
    if not status.st_size:
        raise LedgerError(
            f"{shown(str(path))} is empty, as where a ledger's creation was "
            f"cut off; delete it first"
        )
    if status.st_nlink > 1:
        # SQLite keeps a log and locks beside each name: two names would be two budgets.
        raise LedgerError(
            f"the ledger {shown(str(path))} has several names (hard links); leave it one"
        )


def _value(connection: Connection, query: str) -> int:
    """Return the first number that a query gives."""
    return int(connection.execute(query).fetchone()[0])


def _readable(path: Path) -> Connection:
    """Connect to a file, also where it and its folder are read-only; nothing can be written there
    then.
    """
    try:
        return _connected(path, "rw")
    except OperationalError as error:
        log = path.with_name(f"{path.name}-wal")
        if _code(error) not in (_CANNOT_OPEN, _READ_ONLY) or (log.exists() and log.stat().st_size):
            raise
    # No log can be beside it, and there is none: the file itself is all of it.
    return _connected(path, "ro&immutable=1")


def _connected(path: Path, mode: str) -> Connection:
    """Connect to a file of that name, absolute, which need not be a ledger."""
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    # A file that was tampered with may have pages that lead back to themselves, without an end.
    left = iter(range((_STEPS + path.stat().st_size) // _STRIDE))
    connection = connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
    connection.set_progress_handler(lambda: next(left, None) is None, _STRIDE)
    try:
        connection.executescript(
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; "
            "PRAGMA trusted_schema = OFF"
        )
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _code(error: Error) -> int:
    """Return SQLite's code of an error, without what is more particular."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


@contextmanager
def _explained(path: Path, deed: str) -> Iterator[None]:
    """Turn what SQLite and the system say of a ledger into a LedgerError. deed: what was tried,
    such as "read".
    """
    where = f"cannot {deed} the ledger {shown(str(path))}"
    try:
        yield
    except FimPrivateError:
        raise
    except FileExistsError:
        raise NoLedgerError(f"{where}: there is such a file already; choose another name") from None
    except FileNotFoundError:
        folder = path.absolute().parent
        if not folder.is_dir():
            raise NoLedgerError(
                f"{where}: the folder {str(folder)!r} does not exist; create it first"
            ) from None
        todo = f"there is none; {CREATE}"
        if deed == "create":
            todo = "the system refused; choose another place"
        raise NoLedgerError(f"{where}: {todo}") from None
    except OSError as error:
        raise LedgerError(
            f"{where}: {error.strerror or 'the system refused'}; see to it, or take another file"
        ) from None
    except Error as error:
        kind = NoLedgerError if _code(error) == _NO_DATABASE else LedgerError
        raise kind(f"{where}: {_REASONS.get(_code(error), _DAMAGED)}") from None
