"""The budget of a data set: what releases have spent, what is left, and what it refuses."""

import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from itertools import count, islice
from pathlib import Path
from typing import Self
from uuid import uuid4

from fim_private.dp.accountant import SUMS, both
from fim_private.dp.charge import UNITS, Charge, Charged, Left, check_dataset
from fim_private.dp.composition import PrivacyBudget, gdp_mu, zcdp_rho
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.parameters import exact_delta_or_zero
from fim_private.errors import LedgerError, NoLedgerError, ParameterError, parameter, shown, warn
from fim_private.ledger import witness
from fim_private.ledger.chain import (
    NO_RECORD,
    Composition,
    Entry,
    Terms,
    amount_in,
    sums_written,
    verified_chain,
)
from fim_private.ledger.files import FilePlace
from fim_private.ledger.postgresql import TablePlace
from fim_private.ledger.statement import Statement
from fim_private.ledger.storage import CLOSED, CLOSED_FORMS, EXPORTED, FORM, Book, Place, edited
from fim_private.ledger.witness import LastSeen
from fim_private.periods import KINDS_OF_PROMISE

# So many entries, once verified, are not to be verified again, though nothing is charged.
_MANY = 100
FilePath = str | os.PathLike[str]
# A tenth of it is the least that ρ is converted with.
_LEAST_DELTA = Fraction(10, 10**300)
_NOTHING = Fraction(0)


class Ledger:
    """The ledger, in a file or in PostgreSQL, to which releases are charged: `fim.mine(...,
    ledger=ledger, dataset="sales")`.

    Every release is written down in it, and synced to the disk, before supports are counted and
    noise is drawn; one that would overspend is refused. It is bound to one data set, privacy unit
    and neighbour relation. They are named at creation or by the first release. It is bound to the
    columns that named the unit first, too. Any number of processes may share it: on one machine in
    a file (not over a network file system), on many in PostgreSQL. name: as messages show it.
    charged: what this object was charged with last.
    """

    def __init__(
        self, path: FilePath, *, allow_other_unit: bool = False, again: bool = False
    ) -> None:
        """Open a ledger that `create` made: a file, or postgresql://host/database#name.

        Entries verified here before are not verified again. allow_other_unit: whether a release may
        name the same users by other columns than the first did. again: whether the same request for
        the same period may be charged again. Raises LedgerError for what is no ledger, was changed,
        or is an older copy.
        """
        place = _place(path)
        self.name = place.name
        self._place: Place | None = place
        self._allow_other_unit, self._again = allow_other_unit, again
        self._known: Statement | None = None
        self.charged: Charged | None = None
        self._warned = False
        renewed = self._balance().terms.renewed or {}
        # Noted again: the process that renewed it may have been killed first, or be another user's.
        if "id" in renewed:
            witness.remember_renewal(renewed["id"])

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
            path: Of a new file, or postgresql://host/database#name with a name that is free.
            epsilon: 1e-9 to 1e9.
            delta: 0, or 1e-300 up to below 1.
            rho: 1e-18 to 1e8, instead of epsilon, which then follows from rho and delta.
            composition: "basic" adds up epsilons and deltas, "zcdp" zero-concentrated privacy,
                "gaussian" Gaussian privacy of releases with normal noise alone. "any" keeps all
                three, with a part of delta each, and allows what one of them allows. The default
                is "zcdp" with rho, else "any", or "basic" without delta.
            dataset: Your name for the data. None: the first release decides.
            neighbors: "replace-one" or "add-remove". None: the first release decides.
            unit: What it protects, "basket" or "user". None: the first release decides.
            per: "day", "week", "month", "quarter" or "year", which protects what a user buys in any
                one of them, not users for good. Periods that do not overlap cost the most of them.
                A week belongs to the month, quarter or year of its Thursday; "calendar-month" and
                its like cut weeks instead.
            renew: Whether path may be a ledger. It begins anew with nothing spent. The old ledger
                stays beside it, with .1 behind its name, and takes no more charges. Its dataset,
                neighbors, unit and per apply where you leave them out; per does not where you name
                a unit. The new ledger then says what the old one had spent: a user of both times is
                protected by both budgets together. Where it promises something else, it only names
                the old one, and nothing is added up.
        """
        place = _place(path)
        exact_delta = exact_delta_or_zero(delta)
        _check_choices(epsilon, rho, composition, dataset, unit, per)
        if per is not None:
            unit = "user"
        terms = _with_limits(
            Terms(
                id=uuid4().hex,
                created=_now(),
                epsilon=_NOTHING,
                delta=exact_delta,
                composition=_chosen(composition, exact_delta, rho),
                rho=_NOTHING,
                zcdp_delta=_NOTHING,
                dataset=dataset,
                neighbors=None if neighbors is None else str(exact_neighbors(neighbors)),
                privacy_unit=unit,
                per=None if per is None else KINDS_OF_PROMISE[per],
            ),
            PrivacyBudget.of(epsilon, delta, rho),
        )
        _check_per(terms)
        if renew and place.exists():
            cls._renew(path, place, terms)
        else:
            with place.created() as book:
                book.begin(terms)
        ledger = cls(path)
        ledger._remember()
        return ledger

    @classmethod
    def _renew(cls, path: FilePath, place: Place, terms: Terms) -> None:
        """Begin a ledger anew, and keep it as it was, but closed, under another name."""
        with place.opened(writes=True) as book:
            before = cls(path).statement(verify=True)  # while nobody else can add to it
            if before.closed:
                raise LedgerError(f"{shown(before.name)} {before.closed}; choose another name")
            aside = next(beside for beside in map(place.beside, count(1)) if not beside.exists())
            per = before.terms.per if terms.privacy_unit is None else terms.per
            terms = replace(terms.filled_from(before.promise), per=per)
            _check_per(terms)
            renewed = {"file": aside.label, "time": terms.created, "id": before.terms.id}
            if _promises_the_same(before, terms):
                renewed |= _spent_until_now(before)
            book.renew(aside, replace(terms, renewed=renewed))

    @classmethod
    def import_from(cls, source: FilePath, path: FilePath) -> Self:
        """Create the ledger of an export, or move a ledger, and open it.

        A ledger that is moved becomes an export of itself, so that nothing is charged twice. Raises
        LedgerError where path is taken, and for an older copy than this machine knows.
        """
        old = cls(source)
        moves = not old._balance().closed
        with _place(path).created() as new, old._opened(writes=moves) as book:
            if book.form == CLOSED:
                raise LedgerError(f"{shown(old.name)} {CLOSED_FORMS[CLOSED]}; import that one")
            if moves and book.form == EXPORTED:
                raise LedgerError(f"{shown(old.name)} was moved by another process just now")
            new.copy(book, FORM)
            old._verify_and_note(new, verify=True)
            if moves:
                # On the disk before the new ledger is: whatever fails, there are never two.
                book.mark(EXPORTED)
        return cls(path)

    def export(self, file: FilePath) -> None:
        """Copy the ledger as it is now to a new file, which can be shown, and takes no charges.

        A ledger that was renewed stays closed: its copy is never imported. Raises LedgerError, also
        if the file exists.
        """
        place = _place(file)
        with place.created() as copy, self._opened() as book:
            self._verify_and_note(book, verify=True)
            copy.copy(book, CLOSED if book.form == CLOSED else EXPORTED)

    def close(self) -> None:
        """Refuse everything from now on."""
        self._place = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def statement(self, *, verify: bool = False) -> Statement:
        """Return what is in the ledger now. Raises LedgerError as opening does.

        verify: from the first entry on; else those verified here before are shown as the file has
        them, not added up.
        """
        with self._opened() as book:
            balance = self._verify_and_note(book, verify=verify)
            rows = islice(book.entries(), balance.seen.entries)
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
        return self._balance().at().left

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
        with self._opened() as book:
            self._after(charges, book)

    def charge(self, *charges: Charge) -> Charged:
        """Write charges down, all or none; when this returns they are on the disk. Return what it
        says of the last.

        Raises LedgerError as `check` does, and if they cannot be written. The charge may be on the
        disk then; whoever asked for it must release nothing.
        """
        with self._opened(writes=True) as book:
            # What is left is reckoned anew, with what others have added, while nobody else can add
            # more.
            after, entries = self._after(charges, book)
            book.append([(entry.number, entry.record(), entry.hash) for entry in entries])
        self._known = after
        last = entries[-1]
        left = after.at(last.reach).left
        period = None if last.reach is None else last.period
        spent, id = after.together, after.terms.id
        charged = Charged(last.dataset, last.number, left, period, spent, id)
        self.charged = charged
        self._remember()
        return charged  # another thread may have charged it meanwhile

    def _after(self, charges: Sequence[Charge], book: Book) -> tuple[Statement, list[Entry]]:
        """Return what the ledger adds up to with some charges, and these as entries; LedgerError
        where one is refused.
        """
        before = self._verify_and_note(book)
        if not charges:
            raise ParameterError(
                "a ledger is charged with a cost: give one fim_private.dp.charge.Charge or more"
            )
        entries = []
        for charge in charges:
            last = before.seen
            entry = Entry(number=last.entries + 1, time=_now(), previous=last.hash, **vars(charge))
            before.check(entry, allow_other_unit=self._allow_other_unit)
            before = before.after([entry])
            entries.append(entry)
        if not self._again:
            self._check_new(entries, book)
        return before, entries

    def _check_new(self, entries: Sequence[Entry], book: Book) -> None:
        """Raise LedgerError if the same was asked before for the same period."""
        requests = [entry.request for entry in entries]
        for (record,) in book.of_periods({entry.period for entry in entries if entry.period}):
            try:
                before = Entry.read(record)
            except NO_RECORD:
                raise self._damaged() from None
            if before.request in requests:
                raise LedgerError(
                    f"{shown(self.name)} was charged for the same request and {before.period} "
                    f"before: entry {before.number:,} of {before.time[:10]}; use that release, or "
                    f"spend again with {parameter('again')}, as for another list of the same length"
                )

    def _opened(self, *, writes: bool = False) -> AbstractContextManager[Book]:
        """Open where it is kept. Raises LedgerError."""
        if self._place is None:
            raise LedgerError(f"the ledger {shown(self.name)} is closed; open it again")
        return self._place.opened(writes=writes)

    def _balance(self) -> Statement:
        """Return what the ledger adds up to now, without its entries. Raises LedgerError as opening
        does.
        """
        with self._opened() as book:
            return self._verify_and_note(book)

    def _verify_and_note(self, book: Book, *, verify: bool = False) -> Statement:
        """Return what the entries add up to; LedgerError for what is damaged, another ledger than
        before, or older.
        """
        try:
            terms = Terms.read(book.terms)
            if self._known is not None and self._known.terms.id != terms.id:
                raise LedgerError(
                    f"{shown(self.name)} is another ledger than when it was opened; open it again"
                )
            if book.form not in CLOSED_FORMS and witness.was_renewed(terms.id):
                raise LedgerError(
                    f"{shown(self.name)} is an older copy of a ledger that was renewed, and takes "
                    "no more charges. Put back the ledger that followed it, or create a new ledger "
                    "with what you know to be left"
                )
            # First what was seen, then the entries: others may add some meanwhile, which must not
            # look like a loss.
            nothing = LastSeen(0, terms.hash, terms.hash, terms.hash, None, {})
            known = nothing if self._known is None else self._known.seen
            notes = [nothing, known]
            is_export = book.form == EXPORTED  # it may be older: it is never charged
            if not is_export:
                notes.append(witness.noted(terms.id) or nothing)
            for note in notes:
                self._check_seen(book, terms, note)
            seen, first = nothing, None
            if not verify:
                seen = max(notes, key=lambda note: note.entries)
            if seen.entries:
                [(_, record, _)] = book.rows(1, 1)
                first = Entry.read(record)
            rows = book.entries(after=seen.entries)
            before = Statement(self.name, terms, seen, first, form=book.form)
            self._known = before.after(verified_chain(rows, seen.entries, seen.hash))
        except NO_RECORD:
            raise self._damaged() from None
        is_much = verify or self._known.seen.entries - seen.entries >= _MANY
        if is_much and not is_export:
            witness.remember(terms.id, self._known.seen)  # where that fails, a charge warns of it
        return self._known

    def _check_seen(self, book: Book, terms: Terms, seen: LastSeen) -> None:
        """Raise LedgerError unless the terms, and the first and last entry of then, are what was
        seen.
        """
        is_same = seen.terms == terms.hash
        if seen.entries:
            is_same &= book.holds(1, seen.first) and book.holds(seen.entries, seen.hash)
        if not is_same:
            raise LedgerError(
                f"{shown(self.name)} is not what it was when it was last used here "
                f"({seen.entries:,} entries). An older copy was put back, or it was edited. Put "
                "back the newest, or create a new ledger with what you know to be left"
            )

    def _damaged(self) -> LedgerError:
        return edited(self.name, "its entries do not follow each other")

    def _remember(self) -> None:
        """Note, apart from the file, which entry was the last. Where that fails, the charge stands,
        with a warning.
        """
        assert self._known is not None
        if not witness.remember(self._known.terms.id, self._known.seen) and not self._warned:
            self._warned = True
            folder = witness.folder()
            reason = f"{shown(str(folder))} cannot be written"
            if folder.is_relative_to(witness.NO_HOME / "fim-private"):
                reason = "you have no home directory"
            unnoticed = "if an older copy of the ledger is put back, that will not be noticed, "
            warn([f"{unnoticed}since {reason}"], stacklevel=4)

    def __repr__(self) -> str:
        return repr(self.statement())

    def _repr_html_(self) -> str:
        return self.statement()._repr_html_()


def _place(path: FilePath) -> Place:
    """Return where a path or an address leads; raise ParameterError if it is neither."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"a ledger is named by the path of its file, not by {shown(path)}")
    name = os.fspath(path)
    if not name:
        raise NoLedgerError("the path of the ledger is empty; name a file")
    if re.match("postgres(ql)?://", name):
        return TablePlace.of(name)
    try:
        path = Path(name).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):
        raise NoLedgerError(
            f"cannot open the ledger {shown(name)}: its links lead nowhere, or no file can have "
            "such a name; name another"
        ) from None
    return FilePlace(name, path.name, path)


def _chosen(composition: str | None, delta: Fraction, rho: object) -> Composition:
    """Return how releases add up. Raises ParameterError if that needs a larger δ."""
    if composition is None:
        composition = Composition.BASIC if delta < _LEAST_DELTA else Composition.ANY
    if rho is not None:
        composition = Composition.ZCDP
    if composition != Composition.BASIC and delta < _LEAST_DELTA:
        raise ParameterError(
            f"{parameter('composition')} {composition!s} needs a {parameter('delta')} of at least "
            f"1e-299"
        )
    return Composition(composition)


def _with_limits(terms: Terms, budget: PrivacyBudget) -> Terms:
    """Return terms with what the sums may be within a budget.

    One composition alone has all of δ: half is for revealing what only one unit has, and the rest
    converts ρ (docs/privacy.md, Theorem 18).
    """
    names_delta = budget.delta / 2
    epsilon = Fraction(budget.cost(names_delta, normal=False).epsilon)
    terms = replace(terms, epsilon=epsilon)
    if terms.composition is Composition.BASIC:
        return terms
    if terms.composition is Composition.ANY:
        # The parts of δ add up to all of it (docs/privacy.md, Theorem 31). What names items is the
        # same for two of the compositions.
        tenth = budget.delta / 10
        return replace(
            terms,
            rho=zcdp_rho(epsilon, tenth),
            zcdp_delta=4 * tenth,
            basic_delta=3 * tenth,
            gaussian_rho=gdp_mu(epsilon, 2 * tenth) ** 2 / 2,
        )
    terms = replace(terms, zcdp_delta=names_delta)
    if terms.composition is Composition.GAUSSIAN:
        return replace(terms, gaussian_rho=budget.mu_squared_for_steps(names_delta) / 2)
    return replace(terms, rho=budget.rho_for_steps(names_delta))


def _check_choices(
    epsilon: object, rho: object, composition: object, dataset: object, unit: object, per: object
) -> None:
    """Raise ParameterError for what is none of the choices, and what contradicts another."""
    if (epsilon is None) == (rho is None):
        raise ParameterError(f"give one of {parameter('epsilon')} and {parameter('rho')}")
    for name, choice, choices in (
        ("composition", composition, (*Composition,)),
        ("unit", unit, UNITS),
        ("per", per, KINDS_OF_PROMISE),
    ):
        if choice not in (None, *choices):
            raise ParameterError(
                f"{parameter(name)} must be one of {', '.join(choices)}, not {shown(choice)}"
            )
    if rho is not None and composition not in (None, Composition.ZCDP):
        raise ParameterError(
            f"{parameter('rho')} is a budget of zCDP: leave out {parameter('composition')} "
            f"{composition}"
        )
    if per is not None and unit == "basket":
        raise ParameterError(
            f"{parameter('per')} is for users, and {parameter('unit')} is basket; leave one out"
        )
    if dataset is not None:
        check_dataset(dataset)


def _check_per(terms: Terms) -> None:
    """Raise ParameterError for periods under a relation under which none can be released."""
    if terms.per is not None and terms.neighbors == Neighbors.REPLACE_ONE:
        raise ParameterError(
            f"{parameter('per')} needs {parameter('neighbors')} add-remove: what replaces a "
            f"basket can be of another period, and then two releases change"
        )


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
        return sums_written(before.at().spent)
    sums = both({name: amount_in(earlier.get(name, "1")) for name in SUMS}, before.at().spent)
    return {**sums_written(sums), "ledgers": str(1 + int(earlier.get("ledgers", "1")))}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
