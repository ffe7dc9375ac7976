"""A ledger in PostgreSQL, which many machines share.

Two tables hold all ledgers of a database. A charge locks the row of its ledger, so that charges
come one after the other, and is synced to the server's disk before it counts as made. No error of
the server is quoted, since it may quote a password.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from fim_private.addresses import Connection, driver, open_postgresql, shown_source
from fim_private.errors import DataError, LedgerError, NoLedgerError, shown
from fim_private.ledger.chain import Terms
from fim_private.ledger.storage import (
    CLOSED,
    CREATE,
    FORM,
    IN_USE,
    PATIENCE,
    Book,
    Place,
    Row,
    edited,
)

_TABLES = (
    "CREATE SCHEMA IF NOT EXISTS fim_private",
    "CREATE TABLE IF NOT EXISTS fim_private.ledgers (id text PRIMARY KEY, "
    "name text NOT NULL UNIQUE, form integer NOT NULL, terms text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS fim_private.entries (ledger text, number bigint, "
    "record text NOT NULL, hash text NOT NULL, PRIMARY KEY (ledger, number))",
)
# Whether both are tables, and nothing else happens with what is written in them.
_WHOLE = """
SELECT count(*) = 2 AND bool_and(relkind = 'r' AND relpersistence = 'p' AND NOT relhasrules
    AND NOT relhastriggers AND NOT relhassubclass AND NOT relrowsecurity)
FROM pg_class WHERE oid IN ('fim_private.ledgers'::regclass, 'fim_private.entries'::regclass)
"""
# Whoever has the row sees what others wrote before; so every statement sees what is there then.
_READS = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"
_WRITES = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
# These hold whatever the server's defaults are. A client that falls silent loses the row.
_SETTINGS = """
SELECT set_config('synchronous_commit', 'on', true), set_config('lock_timeout', $1, true),
    set_config('idle_in_transaction_session_timeout', $1, true),
    set_config('client_min_messages', 'error', true)
"""
# The values of a row, as the driver gives them.
_Values = tuple[Any, ...]
_NAME = r"[\w.-]{1,100}"
# The period in a record, whose keys are sorted. (PostgreSQL reads no JSON in which a condition has
# half a pair of surrogates, as a command line may.)
_PERIOD = '"period":"([^"]*)","time":'
_TAKEN = "23505"
_NO_TABLE = ("42P01", "3F000")
_NONE = f"there is none; {CREATE}"
_IS_TAKEN = "its database has it already, by this name or another; choose another"
_NOT_WHOLE = (
    "the schema fim_private does not hold two plain, logged tables, without triggers, rules and "
    "policies, and with nothing before the first entry"
)
_LOST = (
    "the connection was lost, or the server failed; nothing is released. A charge may have been "
    "written down: see `fim-private budget show`"
)
# What the five letters that the server gives for an error mean.
_REASONS = {
    "42501": (
        "this role lacks a right. GRANT it USAGE on the schema fim_private and SELECT on its "
        "tables. To charge, add INSERT on its entries and UPDATE (form) on its ledgers. To create, "
        "add INSERT on both, and for the first ledger CREATE on the database"
    ),
    "25006": "the server takes no writes, as a replica does not; name the primary",
    "55P03": IN_USE,
    "53100": "the server's disk is full; free some of it",
}


class _TableBook(Book):
    """A ledger in PostgreSQL that is open, in a transaction."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection, self._name = connection, name

    def find(self, lock: str = "") -> bool:
        """Read its row, and return whether there is one. lock: what the query ends in."""
        rows = self.query(
            f"SELECT id, form, terms FROM fim_private.ledgers WHERE name = $1 {lock}", self._name
        )
        if rows:
            ((self._id, self.form, self.terms),) = rows
        return bool(rows)

    def query(self, query: str, *values: object) -> list[_Values]:
        """Return the rows of a query; none for a statement that has none."""
        with self._connection.cursor() as cursor:
            cursor.execute(query, values or None)
            rows: list[_Values] = cursor.fetchall()
            return rows

    def of_periods(self, periods: Collection[str]) -> Iterable[tuple[str]]:
        """Return the records of the entries of some periods, as Book says."""
        return self.query(
            "SELECT record FROM fim_private.entries WHERE ledger = $1 AND "
            "substring(record FROM $2) IN (SELECT json_array_elements_text($3::json)) "
            "ORDER BY number",
            *(self._id, _PERIOD, json.dumps([*periods])),
        )

    def begin(self, terms: Terms) -> None:
        """Write down the terms."""
        self._id = terms.id
        self.terms, self.form = terms.record(), FORM
        self.query(
            "INSERT INTO fim_private.ledgers VALUES ($1, $2, $3, $4)",
            *(self._id, self._name, self.form, self.terms),
        )

    def mark(self, form: int) -> None:
        """Change its form."""
        self.form = form
        self.query("UPDATE fim_private.ledgers SET form = $1 WHERE id = $2", form, self._id)

    def renew(self, aside: Place, terms: Terms) -> None:
        """Give it another name; it keeps its entries."""
        self.mark(CLOSED)
        self.query("UPDATE fim_private.ledgers SET name = $1 WHERE id = $2", aside.label, self._id)
        self.begin(terms)

    def rows(self, first: int, last: int) -> Iterator[Row]:
        """Return the entries with these numbers, as Book says."""
        yield from self.query(
            "SELECT number, record, hash FROM fim_private.entries "
            "WHERE ledger = $1 AND number BETWEEN $2 AND $3 ORDER BY number",
            *(self._id, first, last),
        )

    def _insert(self, rows: Sequence[Row]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO fim_private.entries VALUES ($1, $2, $3, $4)",
                [(self._id, *row) for row in rows],
            )


@dataclass(frozen=True)
class TablePlace(Place):
    """Where a ledger is in PostgreSQL, or may be. address: of the database, with its secrets."""

    address: str = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the place that postgresql://host/database#name names. Raises LedgerError."""
        address, mark, label = text.rpartition("#")
        if not mark or not re.fullmatch(_NAME, label):
            raise NoLedgerError(
                f"the ledger {shown(shown_source(text))} needs a name behind its database, of "
                "letters, digits, points, - and _, as in postgresql://host/shop#sales"
            )
        database, _, _ = shown_source(address).partition("?")
        return cls(f"{database}#{label}", label, address)

    def beside(self, number: int) -> "TablePlace":
        """Return the place in the same database with a number behind its name."""
        return self.of(f"{self.address}#{self.label}.{number}")

    def exists(self) -> bool:
        """Return whether the database has a ledger of that name."""
        try:
            with self.opened():
                return True
        except NoLedgerError:
            return False

    @contextmanager
    def created(self) -> Iterator[Book]:
        """Create a ledger without terms, as Place says; and the tables, where there are none."""
        with self._transaction("create", _WRITES) as book:
            ((is_new,),) = book.query("SELECT to_regclass('fim_private.entries') IS NULL")
            if is_new:
                # One after the other: what two create at once fails.
                book.query("SELECT pg_advisory_xact_lock(hashtext('fim_private'))")
                for statement in _TABLES:
                    book.query(statement)
            self._check_tables(book)
            if book.find():
                raise self._error("create", _IS_TAKEN, NoLedgerError)
            yield book

    @contextmanager
    def opened(self, *, writes: bool = False) -> Iterator[Book]:
        """Open the ledger, as Place says."""
        verb, begin, lock = "read", _READS, ""
        if writes:
            verb, begin, lock = "write", _WRITES, "FOR UPDATE"
        with self._transaction(verb, begin) as book:
            self._check_tables(book)
            # One that was renewed while this waited has another name now: the second look finds the
            # ledger that followed it.
            if not (book.find(lock) or book.find(lock)):
                raise self._error(verb, _NONE, NoLedgerError)
            self.check_form(book.form)
            if not book.starts_whole:
                raise edited(self.name, _NOT_WHOLE)
            yield book

    @contextmanager
    def _transaction(self, verb: str, begin: str) -> Iterator[_TableBook]:
        """Begin a transaction, and commit it when this ends well. verb: what is tried in it."""
        postgresql = driver("adbc_driver_postgresql.dbapi")
        try:
            connection = open_postgresql(self.address)
        except DataError as error:
            raise LedgerError(str(error)) from None
        try:
            with closing(connection):
                book = _TableBook(connection, self.label)
                book.query(begin)
                book.query(_SETTINGS, f"{PATIENCE * 1000:.0f}")
                number = None
                if begin == _WRITES:
                    ((number,),) = book.query("SELECT txid_current()")
                yield book
                book.query("COMMIT")
                # PostgreSQL answers a COMMIT without an error also where it has rolled back.
                if number is not None:
                    ((status,),) = book.query("SELECT txid_status($1)", number)
                    if status != "committed":
                        raise self._error(verb, _LOST)
        except postgresql.Error as error:
            raise self._explained(verb, error.sqlstate) from None

    def _check_tables(self, book: _TableBook) -> None:
        """Raise LedgerError unless the tables are as they are made."""
        ((is_whole,),) = book.query(_WHOLE)
        if not is_whole:
            raise edited(self.name, _NOT_WHOLE)

    def _explained(self, verb: str, state: str | None) -> LedgerError:
        """Return what an error of the server means, by its five letters; it has none for a
        connection that was lost.
        """
        if state in _NO_TABLE:
            return self._error(verb, _NONE, NoLedgerError)
        if state == _TAKEN:
            return self._error(verb, _IS_TAKEN, NoLedgerError)
        reason = _LOST
        if state is not None and not state.startswith(("08", "57P", "25P03")):
            reason = _REASONS.get(state, f"the server refuses (SQLSTATE {state})")
        return self._error(verb, reason)

    def _error(self, verb: str, reason: str, kind: type[LedgerError] = LedgerError) -> LedgerError:
        return kind(f"cannot {verb} the ledger {shown(self.name)}: {reason}")
