"""The file of a ledger, and what this machine saw of it last.

It is SQLite in WAL mode, and every transaction is synced to the disk before it counts as made.
Anything in it beside two tables, such as a trigger, is refused.
"""

import errno
import json
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from sqlite3 import Connection, Error, OperationalError, connect
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from fim_private.dp.accountant import COSTS, SUMS, Reach, Spent
from fim_private.errors import FimPrivateError, LedgerError, NoLedgerError, OutputError, shown
from fim_private.ledger.chain import NO_RECORD
from fim_private.whole_files import put_in_place, staged, sync_folder

# "fimL": which of all SQLite files are ledgers.
_APPLICATION = 0x66696D4C
# The form of the file, as `PRAGMA user_version`: in 2 entries may say which columns named the unit,
# in 3 their period, in 4 that their noise is normal.
_FORM = 4
# Instead of its form one that was renewed has this. It can be read, and is never written again.
_CLOSED = -1
_FORMS = (1, 2, 3, _FORM, _CLOSED)
# For so long it is waited for another process, which holds a ledger for some milliseconds.
PATIENCE = 60.0  # seconds
_CREATE = "create it with `fim-private budget create`"
_TABLES = (
    "CREATE TABLE terms (one INTEGER PRIMARY KEY CHECK (one = 1), record TEXT NOT NULL)",
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, record TEXT NOT NULL, hash TEXT NOT NULL)",
)
# What a file with these and nothing else has as its schema.
_SCHEMA = [("table", table.split()[2], table) for table in _TABLES]
# A connection may take so many steps of SQLite, and one more for each byte of the file: many times
# what a ledger takes.
_STEPS, _STRIDE = 1_000_000, 1_000
PUT_BACK = "put back the newest whole copy, or create a new ledger with what you know to be left"
# Of what SQLite reports, by the first byte of its code.
_CANNOT_OPEN, _READ_ONLY, _NO_DATABASE = 14, 8, 26
_DAMAGED = "it is damaged, or no ledger; put back the newest whole copy"
_REASONS = {
    5: f"another process has had it for {PATIENCE:.0f} seconds; end that, or try again",
    13: "the disk is full; free some of it",
    _READ_ONLY: "it is read-only, and a release must be written down in it first; make it writable",
    _CANNOT_OPEN: "no log can be written beside it; make its folder writable",
    10: "the disk is full, or failed; see to it",
    9: f"to read it takes more steps than any ledger does: it was tampered with; {PUT_BACK}",
}


def create(path: Path, terms: str) -> None:
    """Write a ledger without entries under a name that is free: all of it, or nothing. Raises
    LedgerError.
    """
    # The name is taken first, so that nobody else's file is ever replaced; then the whole ledger
    # takes its place.
    with _taken(path), TemporaryDirectory(prefix=".fim-private.", dir=path.parent) as beside:
        new = Path(beside, path.name)
        _claim(new)
        _write_new(new, terms)
        put_in_place(new, path)


def renew(connection: Connection, path: Path, aside: Path, terms: str) -> None:
    """Copy a ledger, which is open to be written, to a free name; then give it new terms, and no
    entries.

    The copy is closed: it takes no more charges.
    """
    with _taken(aside):
        with closing(_connected(path, "rw")) as whole, closing(_connected(aside, "rw")) as copy:
            whole.backup(copy)
            copy.execute(f"PRAGMA user_version = {_CLOSED}")
        sync_folder(aside.parent)
    connection.execute("DELETE FROM entries")
    connection.execute("UPDATE terms SET record = ?", (terms,))
    connection.execute(f"PRAGMA user_version = {_FORM}")


@contextmanager
def _taken(path: Path) -> Iterator[None]:
    """Take a name that is free, and free it again if what follows fails. Raises LedgerError."""
    with _explained(path, "create"):
        _claim(path)
        try:
            yield
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _claim(path: Path) -> None:
    """Create an empty file that only its owner can read, whatever the umask: SQLite's files beside
    it are like it.
    """
    path.touch(0o600, exist_ok=False)
    path.chmod(0o600)


def _write_new(path: Path, terms: str) -> None:
    with closing(_connected(path, "rw")) as connection:
        connection.executescript(
            f"PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; PRAGMA application_id = {_APPLICATION}; "
            f"PRAGMA user_version = {_FORM}; {'; '.join(_TABLES)}"
        )
        connection.execute("INSERT INTO terms VALUES (1, ?)", (terms,))
        connection.execute("COMMIT")
        # All of it into the file itself, which alone is put into place.
        if _value(connection, "PRAGMA wal_checkpoint(TRUNCATE)"):
            raise OSError(errno.EBUSY, "it is in use")


@contextmanager
def opened(path: Path, *, writes: bool = False) -> Iterator[Connection]:
    """Open a ledger to read it, or to write it alone: when this ends well it is on the disk. Raises
    LedgerError.
    """
    verb = "write" if writes else "read"
    with _explained(path, verb):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise NoLedgerError(
                f"{shown(str(path))} is a folder or a device, and no ledger; name a file"
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
        with closing(_readable(path)) as connection:
            if writes:
                connection.execute("BEGIN IMMEDIATE")  # nobody else can change it any more
            _check_form(connection, path)
            yield connection
            if writes:
                connection.execute("COMMIT")


def _value(connection: Connection, query: str) -> object:
    """Return the first value that a query gives."""
    return connection.execute(query).fetchone()[0]


def is_closed(connection: Connection) -> bool:
    """Return whether a ledger was renewed, and so takes no more charges."""
    return _value(connection, "PRAGMA user_version") == _CLOSED


def terms(connection: Connection) -> str:
    """Return the record of the terms; nothing where there is none."""
    (record,) = connection.execute("SELECT record FROM terms").fetchone() or ("",)
    return str(record)


def entries(connection: Connection, after: int = 0) -> Iterator[tuple[int, str, str]]:
    """Return number, record and hash of the entries after one, in order, as they are read."""
    # Without a number also what stands before the first: it is no entry, and has to be noticed.
    least = after + 1 if after else -(1 << 63)
    return connection.execute(
        ("SELECT number, record, hash FROM entries WHERE number >= ? ORDER BY number"), (least,)
    )


def entry(connection: Connection, number: int) -> tuple[str | None, str | None]:
    """Return record and hash of one entry; two times None where there is none of that number."""
    row = connection.execute("SELECT record, hash FROM entries WHERE number = ?", (number,))
    return row.fetchone() or (None, None)


def of_periods(connection: Connection, periods: Collection[str]) -> Iterator[tuple[str, str]]:
    """Return period and record of the entries of some periods, in order: in one pass, however many
    periods there are.
    """
    return connection.execute(
        "SELECT json_extract(record, '$.span.period') AS period, record FROM entries "
        "WHERE period IN (SELECT value FROM json_each(?)) ORDER BY number",
        (json.dumps([*periods]),),
    )


def append(connection: Connection, number: int, record: str, hash: str) -> None:
    """Write one more entry, and read it back. Raises LedgerError where the file does not hold it
    then.
    """
    connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, record, hash))
    connection.execute(f"PRAGMA user_version = {_FORM}")
    last = _value(connection, "SELECT max(number) FROM entries")
    if last != number or entry(connection, number) != (record, hash):
        raise LedgerError(
            f"the ledger does not keep what is written in it: it was tampered with; {PUT_BACK}"
        )


def _check_form(connection: Connection, path: Path) -> None:
    """Raise LedgerError unless a file is a ledger, with its two tables and nothing else."""
    if _value(connection, "PRAGMA application_id") != _APPLICATION:
        raise NoLedgerError(f"{shown(str(path))} is no ledger; name one, or {_CREATE}")
    if _value(connection, "PRAGMA user_version") not in _FORMS:
        raise LedgerError(
            f"{shown(str(path))} was made by a newer fim-private; install that, or a newer one"
        )
    schema = connection.execute(
        "SELECT type, name, sql FROM sqlite_master ORDER BY name DESC LIMIT ?", (len(_SCHEMA) + 1,)
    )
    is_whole = schema.fetchall() == _SCHEMA
    if is_whole:
        # What stands before the first entry would stand outside of the chain.
        is_whole = _value(connection, "SELECT min(number) FROM entries") in (None, 1)
    if not is_whole:
        raise LedgerError(
            f"{shown(str(path))} was edited or is damaged: it does not hold the two tables of a "
            f"ledger, and nothing "
            f"else; {PUT_BACK}"
        )


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
        todo = f"there is none; {_CREATE}"
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


# What a ledger had added up to when it was seen here last, in the user's state directory: one that
# was put back from an older copy lacks the entry that was the last then, or has another in its
# place. A ledger that was renewed has a second file there, so that no copy of it is taken for the
# ledger again. This notices mistakes, on one machine and for one user; it is no protection from
# somebody who may write both. What was verified once is not read again.


class LastSeen(NamedTuple):
    """What the entries of a ledger add up to, once they are verified.

    entries: how many there are. hash: of the last, or of the terms. terms, first: hashes of the
    terms, and of the first entry, or the terms. unit_columns: the first that an entry has. spent:
    the sums of each reach.
    """

    entries: int
    hash: str
    terms: str
    first: str
    unit_columns: tuple[str, ...] | None
    spent: Spent


# Where no file can be: the home directory of a user who has none.
NO_HOME = Path(os.devnull)


def folder() -> Path:
    """Return where these records are: in $XDG_STATE_HOME, or ~/.local/state."""
    base = os.environ.get("XDG_STATE_HOME", "")
    try:
        state = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        state = NO_HOME
    return state / "fim-private" / "ledgers"


def noted(ledger: str) -> LastSeen | None:
    """Return the record of a ledger, by its id; None where there is none that can be read."""
    try:
        record = json.loads((folder() / f"{ledger}.json").read_text(encoding="ascii"))
        verified = record["verified"]
        columns = verified["unit_columns"]
        spent = {_reach(reach): _sums(written) for reach, written in verified["reaches"]}
        return LastSeen(
            int(record["entries"]),
            record["hash"],
            verified["terms"],
            verified["first"],
            columns and tuple(columns),
            spent,
        )
    except (OSError, ZeroDivisionError, *NO_RECORD):
        return None


def remember_renewal(ledger: str) -> None:
    """Note that the ledger with an id was renewed, so that no older copy of it is charged again.

    Where that cannot be written it is tried again whenever the ledger that followed is opened.
    """
    if not was_renewed(ledger):
        _write(f"{ledger}.renewed", "")  # that the file is there says it all


def was_renewed(ledger: str) -> bool:
    """Return whether the ledger with an id is known here to have been renewed."""
    try:
        return (folder() / f"{ledger}.renewed").exists()
    except OSError:  # a folder that this user may not look into
        return False


def remember(ledger: str, seen: LastSeen) -> bool:
    """Write the record of a ledger, by its id, unless there is one of more entries. Return whether
    it is there then.
    """
    before = noted(ledger)
    if before is not None and (before.entries > seen.entries or before == seen):
        return True
    # In hexadecimal, for which there is no limit of digits.
    spent = [
        (reach, [f"{sums[name].numerator:x}/{sums[name].denominator:x}" for name in SUMS])
        for reach, sums in seen.spent.items()
    ]
    values = {
        "entries": seen.entries,
        "hash": seen.hash,
        "verified": {
            "terms": seen.terms,
            "first": seen.first,
            "unit_columns": seen.unit_columns,
            "reaches": spent,
        },
    }
    return _write(f"{ledger}.json", json.dumps(values))


def _write(name: str, content: str) -> bool:
    """Write one of these records. Return whether it is there then."""
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with staged(place / name) as write:
            write(content)
    except (OSError, OutputError):
        return False
    return True


def _sums(written: list[str]) -> dict[str, Fraction]:
    if len(written) == len(COSTS):  # of an earlier version, which knew no normal noise
        written = [*written, "1/1"]
    return dict(zip(SUMS, map(_read, written), strict=True))


def _read(text: str) -> Fraction:
    return Fraction(*[int(digits, 16) for digits in text.split("/")])


def _reach(record: Any) -> Reach | None:
    if record is None:
        return None
    (time, baskets, per), first, last = record
    return (time, tuple(baskets), per), int(first), int(last)
