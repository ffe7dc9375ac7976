"""The ledger: exact sums that never exceed the limit, what it refuses, what it notices."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from ledger_worker import CHARGE, LateLedger
from patience import PATIENCE, python

import fim_private as fim
from fim_private.counting.source import LocalSource
from fim_private.dp.accountant import both, smallest_cost, sums_of
from fim_private.dp.charge import Charge, Charged, Span
from fim_private.dp.composition import PrivacyBudget, gdp_mu, zcdp_epsilon, zcdp_rho
from fim_private.dp.cost import PrivacyCost, ZcdpCost, by_digits, least_in_words
from fim_private.errors import ParameterError, PrivacyWarning
from fim_private.ledger import files, witness
from fim_private.ledger.chain import Terms, hashed
from fim_private.ledger.files import FileBook, FilePlace
from fim_private.ledger.postgresql import TablePlace
from fim_private.output.ledgers import render_statement
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.periods import KINDS_OF_PROMISE
from fim_private.release.page import page
from fim_private.run import engines
from fim_private.run.run import Run

BASKETS = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50
FIFTY = [[str(number)] for number in range(50)]
WORKER = Path(__file__).resolve().parents[1] / "ledger_worker.py"


def charge(
    epsilon: Any = 1, delta: Any = 0, rho: Any = None, *, normal: bool = False, **changes: Any
) -> Charge:
    if rho is None:
        rho = Fraction(by_digits(epsilon)) ** 2 / 2
    concentrated = ZcdpCost(rho, delta, normal=normal)
    values: dict[str, Any] = {"command": "mine", "dataset": "sales", "privacy_unit": "basket"}
    values |= {"neighbors": "replace-one", "parameters": {"size": 2}, **changes}
    return Charge(cost=PrivacyCost(epsilon, delta), zcdp=concentrated, **values)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sales.ledger"


@pytest.fixture
def ledger(path: Path) -> fim.Ledger:
    return fim.Ledger.create(path, epsilon=3, delta=1e-5, composition="basic")


def opened(path: Path, *, writes: bool = False) -> Any:
    return FilePlace(str(path), path.name, path).opened(writes=writes)


def write_terms(path: Path, terms: str) -> None:
    with FilePlace(str(path), path.name, path).created() as book:
        book.begin(Terms.read(terms))


def refused(path: Path) -> str:
    """What opening says."""
    with pytest.raises(fim.LedgerError) as raised:
        fim.Ledger(path)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_charge_that_would_overspend_says_what_is_left(ledger: fim.Ledger) -> None:
    ledger.charge(charge(2.5, 1e-6))
    with pytest.raises(fim.LedgerError) as raised:
        ledger.charge(charge(1, 1e-6))
    assert raised.value.spelled(lambda name: f"--{name}").endswith(
        "epsilon 0.5 and delta 9e-06 are left, and it takes epsilon 1 and delta 1e-06; ask with "
        "a smaller --epsilon"
    )
    ledger.charge(charge(0.5))
    with pytest.raises(fim.LedgerError, match="nothing is left, and it takes epsilon 1e-09"):
        ledger.charge(charge(1e-9))
    assert len(ledger.entries) == 2


HALF = Fraction(15, 10**7)
Cost = tuple[Fraction, Fraction, Fraction, bool]
COSTS = st.tuples(
    st.sampled_from([Fraction(1, 3), Fraction(1, 10), Fraction(1, 7), Fraction(1), Fraction(2, 3)]),
    st.sampled_from([Fraction(0), Fraction(1, 10**6), Fraction(1, 3 * 10**6)]),
    st.sampled_from([Fraction(1, 100), Fraction(1, 30), Fraction(1, 2)]),
    st.booleans(),
)
# ε, δ, and in zCDP or Gaussian privacy ρ and δ: within (2, 3e-6), by how δ is split
LIMITED = {
    "basic": {"basic": (Fraction(2), Fraction(3, 10**6))},
    "zcdp": {"zcdp": (zcdp_rho(Fraction(2), HALF / (1 - HALF)), HALF)},
    "gaussian": {"gaussian": (gdp_mu(Fraction(2), HALF / (1 - HALF)) ** 2 / 2, HALF)},
    "any": {
        "basic": (Fraction(2), Fraction(9, 10**7)),
        "zcdp": (zcdp_rho(Fraction(2), Fraction(3, 10**7)), Fraction(12, 10**7)),
        "gaussian": (gdp_mu(Fraction(2), Fraction(6, 10**7)) ** 2 / 2, Fraction(12, 10**7)),
    },
}


class Sequences(RuleBasedStateMachine):
    """Any sequence of charges, reopenings and copies put back, against sums of fractions."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "sales.ledger"
        self.composition = random.choice([*LIMITED])
        limit: Any = {"epsilon": 2, "delta": 3e-6, "composition": self.composition}
        self.ledger = fim.Ledger.create(self.path, **limit)
        self.taken: list[Cost] = []
        self.copies: list[tuple[Path, int]] = []

    def holding(self, *more: Cost) -> set[str]:
        """The compositions that hold for all that was taken, and more."""
        taken = [*self.taken, *more]
        delta = sum(cost[1] for cost in taken)
        normal = all(cost[3] for cost in taken)
        return {
            name
            for name, (loss, most) in LIMITED[self.composition].items()
            if sum(cost[0 if name == "basic" else 2] for cost in taken) <= loss
            and delta <= most
            and (normal or name != "gaussian")
        }

    @rule(cost=COSTS)
    def charge(self, cost: Cost) -> None:
        """A charge is taken exactly where one composition holds for the whole history with it."""
        epsilon, delta, rho, normal = cost
        asked = charge(epsilon, delta, rho=rho, normal=normal)
        if not self.holding(cost):
            with pytest.raises(fim.LedgerError, match=r"would overspend|adds up Gaussian privacy"):
                self.ledger.charge(asked)
            return
        told = self.ledger.charge(asked)
        self.taken.append(cost)
        assert told.entry == len(self.taken)
        index = 0 if told.left.rho is None else 2
        spent = sum(cost[index] for cost in self.taken), sum(cost[1] for cost in self.taken)
        left = told.left.epsilon if told.left.rho is None else told.left.rho, told.left.delta
        limits = [LIMITED[self.composition][name] for name in self.holding()]
        assert left in [(loss - spent[0], delta - spent[1]) for loss, delta in limits]

    @rule()
    def reopen(self) -> None:
        """Another process opens it."""
        self.ledger.close()
        self.ledger = fim.Ledger(self.path)

    @rule()
    def copy(self) -> None:
        """Somebody keeps a copy."""
        place = Path(self.folder.name) / f"copy{len(self.copies)}"
        shutil.copy(self.path, place)
        self.copies.append((place, len(self.taken)))

    @precondition(lambda self: self.copies)
    @rule(number=st.integers(0, 100))
    def use_a_copy(self, number: int) -> None:
        """An older copy is refused, and one that lacks nothing is as good as the original."""
        place, entries = self.copies[number % len(self.copies)]
        if entries < len(self.taken):
            assert "older copy" in refused(place)
        else:
            assert len(fim.Ledger(place).entries) == entries

    @invariant()
    def within_the_limit(self) -> None:
        """What the file says is what was taken, and within the limit."""
        entries = self.ledger.entries
        assert self.taken == [
            (one.cost.epsilon, one.cost.delta, one.zcdp.rho, one.zcdp.normal) for one in entries
        ]
        assert self.holding()

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.folder.cleanup()


TestSequences = Sequences.TestCase
TestSequences.settings = settings(max_examples=8, stateful_step_count=12, deadline=None)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"dataset": "shop"}, "is the budget of the data set 'sales', not of 'shop'; if they are"),
        ({"privacy_unit": "user"}, "protects baskets, and this release protects users; ask"),
        ({"neighbors": "add-remove"}, "is for neighbors 'replace-one', and this release"),
    ],
)
@pytest.mark.parametrize("bound", ["at creation", "by the first release"])
def test_it_is_bound_to_one_data_set_unit_and_relation(
    path: Path, changes: dict[str, Any], says: str, bound: str
) -> None:
    terms: dict[str, Any] = {"epsilon": 3, "delta": 1e-5, "composition": "basic"}
    if bound == "at creation":
        terms |= {"dataset": "sales", "neighbors": "replace-one", "unit": "basket"}
    ledger = fim.Ledger.create(path, **terms)
    if bound != "at creation":
        ledger.charge(charge())
    with pytest.raises(fim.LedgerError, match=says):
        ledger.charge(charge(**changes))
    assert len(ledger.entries) == (bound != "at creation")


def test_it_is_bound_to_the_columns_that_named_the_unit_first(path: Path) -> None:
    import pyarrow as pa

    shop = pa.table(
        {"who": range(650), "city": ["Bonn"] * 650, "visit": range(650), "items": BASKETS}
    )
    ledger = fim.Ledger.create(path, epsilon=9, delta=1e-4)
    asked: dict[str, Any] = {"dataset": "sales", "epsilon": 0.5}
    fim.mine(shop, user="who", ledger=ledger, **asked)
    asked["ledger"] = ledger
    attempts: tuple[Callable[[], object], ...] = (
        lambda: fim.mine(shop, user="city", **asked),
        lambda: fim.vote(shop, lambda _: ["jam"], user="city", **asked),
        lambda: fim.mine(fim.read_transactions(shop, user="city"), **asked),
    )
    for refusing in attempts:
        with pytest.raises(fim.LedgerError) as raised:
            refusing()
        assert str(raised.value).endswith(
            "protects users named by 'who', and this release names them by 'city'. Give user "
            "'who', or another ledger, or say allow_other_unit if both name the same users"
        )
    assert len(ledger.entries) == 1
    fim.count(shop, [["jam"]], user="who", **asked)
    asked["ledger"] = fim.Ledger(path, allow_other_unit=True)
    fim.mine(shop, user="city", **asked)
    assert [entry.unit_columns for entry in ledger.entries] == [("who",), ("who",), ("city",)]
    # it was allowed for that one alone
    with pytest.raises(fim.LedgerError, match="named by 'who'"):
        fim.mine(shop, user="city", **asked | {"ledger": ledger})
    assert ledger.statement().protected.startswith("It is about one user, with all their baskets")
    assert ledger.statement().to_dict()["unit_columns"] == ["who"]


def test_several_columns_name_a_unit_in_any_order_and_what_names_none_is_not_held_to_them(
    ledger: fim.Ledger,
) -> None:
    ledger.charge(charge(0.1))
    ledger.charge(charge(0.1, unit_columns=("customer", "date")))
    ledger.charge(charge(0.1, unit_columns=("date", "customer")))
    ledger.charge(charge(0.1))
    with pytest.raises(fim.LedgerError, match="named by 'customer' and 'date', and this release"):
        ledger.charge(charge(0.1, unit_columns=("order",)))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"epsilon": 0}, "epsilon must be a number above 0"),
        ({"delta": 1}, "delta must be 0 or a number above 0 and below 1"),
        (
            {"composition": "rdp"},
            "composition must be one of any, basic, zcdp, gaussian, not 'rdp'",
        ),
        ({"composition": "zcdp", "delta": 0}, "composition zcdp needs a delta of at least 1e-299"),
        ({"composition": "any", "delta": 0}, "composition any needs a delta of at least 1e-299"),
        ({"neighbors": "all"}, "neighbors must be one of"),
        ({"per": "month", "neighbors": "replace-one"}, "per needs neighbors add-remove"),
        ({"unit": "shop"}, "unit must be one of basket, user"),
        ({"dataset": ""}, "dataset must be the name"),
        ({"dataset": "a\nb"}, "dataset must be the name"),
        ({"epsilon": 1 + Fraction(1, 10**1500)}, "epsilon has more than 1,000 digits"),
        ({"epsilon": None}, "give one of epsilon and rho"),
        ({"rho": 1}, "give one of epsilon and rho"),
        ({"epsilon": None, "rho": 1, "delta": 0}, "composition zcdp needs a delta of at least"),
        (
            {"epsilon": None, "rho": 1, "composition": "basic"},
            "rho is a budget of zCDP: leave out composit",
        ),
        ({"epsilon": None, "rho": 0}, "rho must be a number above 0"),
        ({"epsilon": None, "rho": 1 + Fraction(1, 3**3000)}, "rho has more than 1,000 digits"),
    ],
)
def test_terms_are_checked(path: Path, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=f"^{says}"):
        fim.Ledger.create(path, **{"epsilon": 1, "delta": 1e-6, **wrong})
    assert not path.exists()


def test_creating_leaves_one_file_or_none_and_replaces_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fim.Ledger.create(path, epsilon=1, delta=0)
    before = path.read_bytes()
    with pytest.raises(fim.LedgerError, match="there is such a file already"):
        fim.Ledger.create(path, epsilon=2, delta=0)
    assert path.read_bytes() == before

    def fails(*arguments: Any) -> None:
        raise OSError("broken")

    monkeypatch.setattr(FileBook, "begin", fails)
    with pytest.raises(fim.LedgerError):
        fim.Ledger.create(path.with_name("other"), epsilon=1, delta=0)
    assert [file.name for file in path.parent.iterdir()] == ["sales.ledger"]


def test_a_log_that_a_deleted_ledger_left_is_never_read_into_a_new_one(
    ledger: fim.Ledger, path: Path
) -> None:
    with opened(path):
        ledger.charge(charge(1))
        log = path.with_name("sales.ledger-wal")
        kept = log.read_bytes()
    path.unlink()
    log.write_bytes(kept)  # as a process that was killed leaves it
    with pytest.raises(fim.LedgerError, match=r"'sales.ledger-wal' beside it was left by another"):
        fim.Ledger.create(path, epsilon=1, delta=0)
    assert not path.exists()
    log.unlink()
    assert fim.Ledger.create(path, epsilon=1, delta=0).entries == ()


def test_a_closed_ledger_refuses(path: Path) -> None:
    with fim.Ledger.create(path, epsilon=1, delta=0) as ledger:
        ledger.charge(charge(0.5))
    with pytest.raises(fim.LedgerError, match="is closed"):
        ledger.charge(charge(0.5))


def edited(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str = "another") -> None:
    """From here on as on another machine, where the ledger was not used yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))


EDITS = [
    """UPDATE entries SET record = replace(record, '"epsilon":"1"', '"epsilon":"0"') WHERE number = 2""",  # noqa: E501
    "UPDATE entries SET hash = lower(hex(zeroblob(32))) WHERE number = 2",
    "DELETE FROM entries WHERE number = 1",
    "DELETE FROM entries WHERE number = 2",
    "UPDATE entries SET number = 7 WHERE number = 3",
    """UPDATE terms SET record = replace(record, '"epsilon":"3"', '"epsilon":"9"')""",
    "UPDATE terms SET record = '{}'",
    "UPDATE terms SET record = '[]'",
    "UPDATE entries SET record = 'null'",
    "DELETE FROM terms",
    "INSERT INTO entries SELECT 4, record, hash FROM entries WHERE number = 3",
    "INSERT INTO entries SELECT 0, record, hash FROM entries WHERE number = 3",
    "DROP TABLE entries",
]


@pytest.mark.parametrize("statement", EDITS)
def test_an_edit_is_noticed_by_the_chain_alone(
    ledger: fim.Ledger, path: Path, statement: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for _ in range(3):
        ledger.charge(charge(1, 1e-6))
    elsewhere(monkeypatch, tmp_path)
    edited(path, statement)
    assert "damaged" in refused(path)
    with pytest.raises(fim.LedgerError):
        ledger.statement(verify=True)


def test_an_edit_between_them_gains_nothing_here_and_is_noticed_when_all_is_verified(
    ledger: fim.Ledger, path: Path
) -> None:
    for _ in range(3):
        ledger.charge(charge(1, 1e-6))
    cheap = ledger.entries[1].record().replace('"epsilon":"1"', '"epsilon":"0"')
    changed = f"record = '{cheap}', hash = '{hashed(cheap)}'"
    edited(path, f"UPDATE entries SET {changed} WHERE number = 2")
    assert fim.Ledger(path).left.epsilon == 0
    with pytest.raises(fim.LedgerError, match="nothing is left"):
        fim.Ledger(path).charge(charge(1e-3))
    with pytest.raises(fim.LedgerError, match="damaged"):
        fim.Ledger(path).statement(verify=True)


def test_what_another_added_is_verified(
    ledger: fim.Ledger, path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ledger.charge(charge(0.5))
    with monkeypatch.context() as there:
        elsewhere(there, tmp_path)
        other = fim.Ledger(path)
        for _ in range(2):
            other.charge(charge(0.5))
    assert ledger.left.epsilon == Fraction(3, 2)
    with monkeypatch.context() as there:
        elsewhere(there, tmp_path)
        for _ in range(2):
            other.charge(charge(0.5))
    edited(
        path,
        """UPDATE entries SET record = replace(record, '"epsilon":"1/2"', '"epsilon":"0"') WHERE number = 4""",  # noqa: E501
    )
    with pytest.raises(fim.LedgerError, match="damaged"):
        ledger.charge(charge(0.5))
    assert "damaged" in refused(path)


def test_sums_of_any_length_are_kept(path: Path) -> None:
    ledger = fim.Ledger.create(path, epsilon=3, delta=0)
    taken = [Fraction(1, 10**999 + number) for number in range(9)]
    for epsilon in taken:
        ledger.charge(charge(epsilon, rho=Fraction(1, 7)))
    assert fim.Ledger(path).left.epsilon == 3 - sum(taken)


# As version 1 wrote them.
OLD_TERMS = (
    '{"composition":"basic","created":"2026-01-01T00:00:00+00:00","dataset":null,"delta":"1/100000","epsilon":"3",'
    '"id":"00000000000000000000000000000001","neighbors":null,"privacy_unit":null,"rho":"0","schema":1,'
    '"zcdp_delta":"1/200000"}'
)
OLD_ENTRY = (
    '{"command":"mine","dataset":"sales","delta":"1/1000000","epsilon":"1/2","neighbors":"replace-one","number":1,'
    '"parameters":{"size":2},"previous":"%s","privacy_unit":"user","rho":"1/8","time":"2026-01-01T00:00:00+00:00",'
    '"zcdp_delta":"1/1000000"}'
)


def test_a_ledger_of_version_1_is_read_and_charged(path: Path) -> None:
    write_terms(path, OLD_TERMS)
    entry = OLD_ENTRY % hashed(OLD_TERMS)
    edited(
        path,
        "PRAGMA user_version = 1",
        f"INSERT INTO entries VALUES (1, '{entry}', '{hashed(entry)}')",
    )
    ledger = fim.Ledger(path)
    assert (ledger.left.epsilon, ledger.entries[0].unit_columns) == (Fraction(5, 2), None)
    assert ledger.charge(charge(0.5, privacy_unit="user", unit_columns=("customer",))).entry == 2
    assert ledger.statement(verify=True).seen.unit_columns == ("customer",)
    with sqlite3.connect(path) as connection:
        # an older program cannot read it any more
        assert connection.execute("PRAGMA user_version").fetchone() == (4,)
    connection.close()


HANGS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END"],
        ["INSERT INTO entries VALUES (0, 'x', 'y')"],
        [
            "DROP TABLE entries",
            f"CREATE VIEW entries AS {HANGS} SELECT i AS number, '' AS record, '' AS hash FROM n",
        ],
        [
            "ALTER TABLE entries RENAME TO kept",
            "CREATE VIEW entries AS SELECT * FROM kept WHERE number < 1",
        ],
        ["CREATE INDEX i ON entries (hash)"],
        ["DROP TABLE terms", files._TABLES[0].replace("CHECK (one = 1)", "CHECK (one > 0)")],
    ],
)
@pytest.mark.every_case
def test_a_schema_that_is_not_the_two_tables_is_refused(
    ledger: fim.Ledger, path: Path, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.charge(charge(0.5))
    edited(path, *statements)
    assert "does not hold the two tables of a ledger, and nothing else" in refused(path)
    monkeypatch.setattr(LocalSource, "spectrum", None)  # is never come to
    with pytest.raises(fim.LedgerError, match="two tables"):
        fim.mine(BASKETS, ledger=ledger, dataset="sales", epsilon=0.5, neighbors="replace-one")


def test_what_is_written_is_read_back_before_it_counts(ledger: fim.Ledger, path: Path) -> None:
    forgets = "CREATE TEMP TRIGGER t AFTER INSERT ON main.entries BEGIN DELETE FROM entries; END"
    with opened(path, writes=True) as book:
        book._connection.execute(forgets)
        with pytest.raises(fim.LedgerError, match="does not keep what is written"):
            book.append([(1, "record", "hash")])
    assert ledger.entries == ()


def test_reading_takes_a_limited_number_of_steps(ledger: fim.Ledger, path: Path) -> None:
    too_many = pytest.raises(fim.LedgerError, match="more steps than any ledger does")
    with too_many, opened(path) as book:
        book._connection.execute(f"{HANGS} SELECT count(*) FROM n").fetchone()
    assert ledger.charge(charge()).entry == 1


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
@pytest.mark.every_case
def test_a_new_ledger_is_readable_by_its_owner_only(
    path: Path, mask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    begin = FileBook.begin

    def watched(book: FileBook, terms: Terms) -> None:
        (part,) = path.parent.glob(".fim-private.*/sales.ledger")
        modes.extend(each.stat().st_mode & 0o777 for each in (part, path))
        begin(book, terms)

    monkeypatch.setattr(FileBook, "begin", watched)
    before = os.umask(mask)
    try:
        write_terms(path, OLD_TERMS)
        with opened(path, writes=True) as book:
            book.append([(1, "record", "hash")])
            modes += [each.stat().st_mode & 0o777 for each in path.parent.glob("sales.ledger*")]
    finally:
        os.umask(before)
    # while it is made under two names, and it, its log and the log's index while it is written
    assert len(modes) == 5
    assert {*modes} == {0o600}


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries WHERE number = 2",
        "UPDATE entries SET record = '{cheap}', hash = '{hash}' WHERE number = 2",
        """UPDATE terms SET record = replace(record, '"epsilon":"3"', '"epsilon":"9"')""",
    ],
    ids=["cut off", "made anew", "a raised limit"],
)
@pytest.mark.every_case
def test_what_the_chain_alone_does_not_show_is_noticed_where_it_was_used(
    ledger: fim.Ledger, path: Path, statement: str
) -> None:
    if "terms" not in statement:
        ledger.charge(charge(1, 1e-6), charge(1, 1e-6))
        cheap = ledger.entries[-1].record().replace('"epsilon":"1"', '"epsilon":"1/1000"')
        statement = statement.replace("{cheap}", cheap).replace("{hash}", hashed(cheap))
    edited(path, statement)
    assert "is not what it was when it was last used here" in refused(path)
    with pytest.raises(fim.LedgerError, match="older copy was put back, or it was edited"):
        ledger.charge(charge(0.1))


def test_a_copy_put_back_is_noticed_by_who_has_it_open_even_without_a_home(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")
    with pytest.warns(PrivacyWarning, match="will not be noticed, since '/dev/null/nowhere/"):
        ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5, composition="basic")
    shutil.copy(path, tmp_path / "copy")
    ledger.charge(charge())  # says it once
    shutil.copy(tmp_path / "copy", path)
    with pytest.raises(fim.LedgerError, match="older copy"):
        ledger.charge(charge())
    assert fim.Ledger(path).entries == ()  # what cannot be noticed


NO_SUMS = (
    '{"entries": 1, "hash": "", "verified": '
    '{"terms": "", "first": "", "unit_columns": null, "reaches": [[null, %s]]}}'
)


@pytest.mark.parametrize(
    "garbage",
    [
        *("", "{}", "[1]", '{"entries": "1", "hash": 2}', '{"entries": 1, "hash": "x"}'),
        *(NO_SUMS % '["1/1"]', NO_SUMS % '["1/0", "0/1", "0/1", "0/1"]'),
    ],
)
@pytest.mark.every_case
def test_a_note_that_cannot_be_read_is_none(ledger: fim.Ledger, path: Path, garbage: str) -> None:
    ledger.charge(charge())
    note = witness.folder() / f"{ledger.statement().terms.id}.json"
    note.write_text(garbage)
    fim.Ledger(path).charge(charge())
    assert json.loads(note.read_text())["entries"] == 2


def test_another_ledger_under_the_same_name_is_noticed(ledger: fim.Ledger, path: Path) -> None:
    path.unlink()
    fim.Ledger.create(path, epsilon=3, delta=1e-5)
    with pytest.raises(fim.LedgerError, match="is another ledger than when it was opened"):
        ledger.charge(charge())


def test_a_charge_without_a_cost_is_refused(ledger: fim.Ledger) -> None:
    for call in (ledger.charge, ledger.check):
        with pytest.raises(ParameterError, match="a ledger is charged with a cost"):
            call()
    assert ledger.entries == ()


def renewed(path: Path, **asked: Any) -> fim.Ledger:
    asked = {"epsilon": 3, "delta": 1e-5, "composition": "basic", **asked}
    return fim.Ledger.create(path, renew=True, **asked)


def test_a_copy_of_a_ledger_that_was_renewed_is_never_charged_again(
    ledger: fim.Ledger, path: Path, tmp_path: Path
) -> None:
    """Nor is the old ledger itself, under whatever name it stands; the new one goes on."""
    ledger.charge(charge())
    shutil.copy(path, tmp_path / "copy")
    renewed(path).charge(charge())
    shutil.copy(path, tmp_path / "new")
    for place in (path, tmp_path / "elsewhere.ledger"):
        shutil.copy(tmp_path / "copy", place)
        assert "is an older copy of a ledger that was renewed, and takes no more" in refused(place)
    with pytest.raises(fim.LedgerError, match="older copy of a ledger that was renewed"):
        ledger.charge(charge())  # it was open all the time
    with pytest.raises(fim.LedgerError, match="older copy of a ledger that was renewed"):
        renewed(path)
    shutil.copy(tmp_path / "new", path)
    fim.Ledger(path).charge(charge())
    assert len(fim.Ledger(path).entries) == 2


@pytest.mark.parametrize("known", [True, False], ids=["here", "on another machine"])
@pytest.mark.every_case
def test_the_old_ledger_is_shown_and_takes_no_more_charges(
    ledger: fim.Ledger, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    ledger.charge(charge())
    renewed(path)
    aside = path.with_name("sales.ledger.1")
    if not known:
        elsewhere(monkeypatch, tmp_path)
    old = fim.Ledger(aside)
    before = aside.read_bytes()
    for call in (old.charge, old.check):
        with pytest.raises(fim.LedgerError, match="' was renewed, and takes no more charges"):
            call(charge(0.1))
    with pytest.raises(fim.LedgerError, match=r"takes no more charges.*; choose another name"):
        renewed(aside)
    said = old.statement(verify=True)
    assert len(said.entries) == 1
    assert said.at().left.epsilon == 0
    assert said.more_like_last() == 0
    shown = " ".join(render_statement(said, Screen()).split())
    assert "It was renewed, and takes no more charges: they go to the ledger that followed" in shown
    assert aside.read_bytes() == before
    shutil.copy(aside, path)
    with pytest.raises(fim.LedgerError, match="was renewed, and takes no more charges"):
        fim.Ledger(path).charge(charge(0.1))


def test_who_opens_a_ledger_knows_from_then_on_what_it_renewed(
    ledger: fim.Ledger, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user, or who was killed before it was noted; who never opened it cannot know."""
    ledger.charge(charge())
    shutil.copy(path, tmp_path / "copy")
    renewed(path)
    shutil.copy(path, tmp_path / "new")
    elsewhere(monkeypatch, tmp_path)
    shutil.copy(tmp_path / "copy", path)
    assert len(fim.Ledger(path).entries) == 1
    shutil.copy(tmp_path / "new", path)
    fim.Ledger(path)
    shutil.copy(tmp_path / "copy", path)
    assert "older copy of a ledger that was renewed" in refused(path)


def test_a_renewal_that_fails_leaves_the_old_ledger_as_it_was(
    ledger: fim.Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a process is killed between the copy and the new terms."""
    ledger.charge(charge())

    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files, "put_in_place", fails)
        with pytest.raises(KeyboardInterrupt):
            renewed(path)
    assert not path.with_name("sales.ledger.1").exists()
    fim.Ledger(path).charge(charge())
    assert renewed(path).entries == ()


def test_a_renewal_for_periods_keeps_no_relation_that_has_none(path: Path) -> None:
    fim.Ledger.create(path, epsilon=3, delta=1e-5, neighbors="replace-one")
    with pytest.raises(ParameterError, match=r"^per needs neighbors add-remove"):
        renewed(path, per="month")
    fim.Ledger(path).charge(charge())
    assert not path.with_name("sales.ledger.1").exists()
    assert renewed(path, per="month", neighbors="add-remove").entries == ()


PROMISE: Any = {"dataset": "sales", "neighbors": "add-remove", "unit": "user", "per": "month"}


@pytest.mark.parametrize(
    "other",
    [
        *({"dataset": "returns"}, {"per": "week"}),
        *({"unit": "user", "per": None}, {"unit": "basket", "per": None}),
        {"unit": "user", "per": None, "neighbors": "replace-one"},
    ],
    ids=str,
)
@pytest.mark.every_case
def test_only_the_same_promise_adds_up_with_the_ledger_before(
    path: Path, other: dict[str, Any]
) -> None:
    ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5, composition="basic", **PROMISE)
    span = Span("sold_at", ("order_id",), KINDS_OF_PROMISE["month"], "2026-11")
    ledger.charge(charge(neighbors="add-remove", privacy_unit="user", span=span))
    same = renewed(path).statement()  # what is left out stays as it was
    promised = {"dataset": "sales", "neighbors": "add-remove", "privacy_unit": "user"}
    assert (promised | {"per": "month"}).items() <= same.to_dict().items()
    [note] = same.notes
    spent = "ε = 1 (stated at δ = 1e-05)"
    assert f"'sales.ledger.1', had spent {spent}. Anyone in the data of both times" in note
    said = renewed(
        path, **({} if "unit" in other else {**PROMISE, "unit": "user"}) | other
    ).statement()
    assert set(said.to_dict()["renewed"]) == {"file", "id", "time"}
    [note] = said.notes
    assert "The ledger before it, 'sales.ledger.2', promised something else" in note
    assert "together" not in note
    [note] = renewed(path).statement().notes  # the same as the one before it, which counts alone
    assert "The ledger before it, 'sales.ledger.3', had spent ε = 0" in note


def a_ledger(path: Path) -> Path:
    fim.Ledger.create(path, epsilon=3, delta=1e-5)
    return path


NEWER = "PRAGMA user_version = 5"
WRONG_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "there is none; create it with `fim-private budget create`"),
    "empty": (lambda path: path.touch(), "is empty, as where a ledger's creation was cut off"),
    "text": (lambda path: path.write_text("hello\n" * 1000), "damaged, or no ledger"),
    "database": (lambda path: edited(path, "CREATE TABLE t (x)"), "is not a ledger"),
    "truncated": (lambda path: path.write_bytes(a_ledger(path).read_bytes()[:5000]), "damaged"),
    "newer": (lambda path: edited(a_ledger(path), NEWER), "made by a newer fim-private"),
    "hard link": (lambda path: path.with_name("b").hardlink_to(a_ledger(path)), "several names"),
    "folder": (lambda path: path.mkdir(), "is a folder or a device"),
    "fifo": (lambda path: os.mkfifo(path), "is a folder or a device"),
    "link in a circle": (lambda path: path.symlink_to(path), "links"),
}


@pytest.mark.parametrize(("make", "says"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_what_is_no_ledger_is_refused_and_left_as_it_is(
    path: Path, make: Callable[[Path], object], says: str
) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else None
    assert says in refused(path)
    if before is not None:
        assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["", "a\0b", "folder/", 5, None, b"sales.ledger"])
def test_what_is_no_path_is_refused(name: Any) -> None:
    with pytest.raises((fim.ParameterError, fim.LedgerError)):
        fim.Ledger(name)
    with pytest.raises(fim.LedgerError, match="the path of the ledger is empty; name a file"):
        fim.Ledger.create("", epsilon=1, delta=0)
    with pytest.raises(fim.FimPrivateError, match="the folder '/nowhere' does not exist"):
        fim.Ledger.create("/nowhere/sales.ledger", epsilon=1, delta=0)
    with pytest.raises(fim.LedgerError, match="the system refused"):
        fim.Ledger.create("/proc/sales.ledger", epsilon=1, delta=0)


def test_its_file_is_synced_at_each_commit(ledger: fim.Ledger, path: Path) -> None:
    with opened(path, writes=True) as book:
        assert book._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert book._connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_mine_and_count_charge_what_they_cost(ledger: fim.Ledger) -> None:
    alone: dict[str, Any] = {"top": 1, "supports": False, "epsilon": 0.5, "delta": 1e-6}
    release = fim.mine(BASKETS, ledger=ledger, dataset="sales", **alone)
    together = ledger.statement().together
    assert release.charged == Charged(
        "sales", 1, ledger.left, spent=together, id=ledger.statement().terms.id
    )
    asked: dict[str, Any] = {"ledger": ledger, "dataset": "sales", "epsilon": 0.25, "delta": 0}
    counted = fim.count(BASKETS, [["bread"], ["jam"]], **asked)
    first, second = ledger.entries
    assert (first.command, first.cost, first.dataset) == ("mine", release.cost, "sales")
    assert first.parameters == {"mechanism": "limited-domain", "size": 2, "top": 1}
    assert (second.command, second.cost) == ("count", counted.cost)
    assert second.parameters == {"itemsets": 2}
    assert ledger.left.epsilon == Fraction(9, 4)
    charged: Any = {"dataset": "sales", "entry": 2, "left": {"epsilon": 2.25, "delta": 9e-6}}
    charged |= {"spent": {"epsilon": 0.75, "delta": 1e-5}, "id": ledger.statement().terms.id}
    assert json.loads(counted.to_json())["ledger"] == charged
    line = "Charged to the budget of sales (entry 1). Left: ε = 2.5, δ = 9e-06."
    assert line in render_table(release, Screen())
    assert line in repr(release)
    assert line in release.to_markdown()
    assert line in page(release)


@pytest.mark.parametrize(
    ("asked", "rho", "delta"),
    [
        ({"rho": 0.05}, Fraction(5, 100), 0.5e-6),
        ({"rho": 0.05, "top": 3, "supports": True}, Fraction(5, 100), 0.5e-6),
        ({"rho": 0.05, "user": "who", "top": 3}, Fraction(5, 100), 0.5e-6),
        ({"rho": 0.05, "min_support": 0.1}, Fraction(5, 100), 0.5e-6),
        ({"top": 1, "supports": False}, Fraction(1, 8), 1e-6),  # one bounded-range pick: ε²/8
        ({"mechanism": "large-margin"}, Fraction(1, 2), 1e-6),  # of which only ε is known
        ({"top": 1, "supports_share": 0.5}, Fraction(1, 32) + Fraction(1, 8), 1e-6),
        ({"delta": 0, "catalogue": ["bread", "jam"], "supports": False}, Fraction(1, 2), 0),
    ],
)
def test_what_a_release_spends_in_zcdp(
    path: Path, asked: dict[str, Any], rho: Fraction, delta: float
) -> None:
    import pyarrow as pa

    data = pa.table({"who": range(len(BASKETS)), "items": BASKETS}) if "user" in asked else BASKETS
    ledger = fim.Ledger.create(path, epsilon=100, delta=1e-2)
    fim.mine(data, ledger=ledger, dataset="sales", **asked)
    assert ledger.entries[0].zcdp.rho == rho
    assert ledger.entries[0].zcdp.delta <= delta


def test_gaussian_noise_spends_far_less_in_zcdp(path: Path) -> None:
    ledger = fim.Ledger.create(path, epsilon=100, delta=1e-2)
    mined = fim.mine(BASKETS, top=5, ledger=ledger, dataset="sales")
    release = fim.count(BASKETS, [[str(n)] for n in range(50)], ledger=ledger, dataset="sales")
    for entry in ledger.entries:
        assert entry.cost.epsilon == 1
        # ε = 1 follows from it, too: with ρ = 1/2 it would not.
        assert Fraction(1, 50) < entry.zcdp.rho < Fraction(1, 20)
    assert ledger.entries[0].zcdp.rho == sum(share.mu_squared or 0 for share in mined.shares) / 2
    noise: Any = release.noise
    rho = (1 / noise.of_units + 50 / (4 * noise.parameter)) / 2
    assert ledger.entries[1].zcdp == ZcdpCost(rho, 0, normal=True)


def test_what_is_refused_is_refused_before_the_data_is_read(path: Path) -> None:
    def baskets() -> Iterator[list[str]]:
        raise AssertionError("it was read")
        yield []

    terms: Any = {"epsilon": 3, "delta": 1e-5, "dataset": "sales", "neighbors": "add-remove"}
    bound = fim.Ledger.create(path, **terms)
    costs: list[dict[str, Any]] = [{"epsilon": 3.5}, {"delta": 1e-3}]
    for ask in (*costs, {"neighbors": "replace-one"}, {"dataset": "other"}):
        with pytest.raises(fim.LedgerError):
            fim.mine(baskets(), **{"ledger": bound, "dataset": "sales", **ask})
        assert bound.entries == ()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"seed": 1}, "seed and ledger contradict each other"),
        ({"dataset": None}, "ledger needs dataset"),
        *(
            ({"dataset": wrong}, "dataset must be the name that you give to the data, a text")
            for wrong in (5, b"sales", ["sales"], " ", "two\nlines", "x" * 201)
        ),
        ({"ledger": None}, "dataset goes with ledger"),
        ({"ledger": "sales.ledger"}, "ledger must be a fim.Ledger, such as"),
        ({"user": "customer"}, "user"),  # lists have no columns
    ],
)
@pytest.mark.parametrize("command", ["mine", "count"])
def test_a_wrong_parameter_costs_nothing(
    ledger: fim.Ledger, wrong: dict[str, Any], says: str, command: str
) -> None:
    given = {"ledger": ledger, "dataset": "sales", **wrong}
    with pytest.raises(fim.FimPrivateError, match=says):
        fim.mine(BASKETS, **given) if command == "mine" else fim.count(BASKETS, [["jam"]], **given)
    assert ledger.entries == ()


def test_an_abstention_costs_and_so_does_a_count_that_is_given_up(ledger: fim.Ledger) -> None:
    charged: Any = {"ledger": ledger, "dataset": "sales"}
    assert not fim.mine([], **charged)
    assert len(ledger.entries) == 1
    with pytest.raises(fim.WorkLimitError):
        fim.mine([list(map(str, range(60)))] * 3, size=5, top=1, max_work=10, **charged)
    assert len(ledger.entries) == 2


def test_nothing_of_the_data_is_in_the_file(ledger: fim.Ledger, path: Path, tmp_path: Path) -> None:
    clinic = tmp_path / "clinic.csv"
    clinic.write_text("visit,drug\n" + "".join(f"{n},antiretroviral\n" for n in range(500)))
    source: Any = {"basket": "visit", "item": "drug", "ledger": ledger, "dataset": "sales"}
    fim.mine(clinic, size=1, catalogue=["antiretroviral", "other"], **source)
    fim.count(clinic, [["antiretroviral"]], **source)
    kept = path.read_bytes()
    assert b"visit" in kept  # the column that names the unit
    for told in (b"antiretroviral", b"clinic", b"drug"):
        assert told not in kept


def test_what_was_asked_of_rows_is_in_the_file_in_full(ledger: fim.Ledger) -> None:
    columns = {"drug": "aspirin", "day": "2026-11-09", "doctor": "Smith"}
    shop = pd.DataFrame({"visit": range(600), **columns})
    where = "doctor = 'Smith'"
    asked: dict[str, Any] = {"basket": "visit", "item": "drug", "time": "day", "period": "2026-W46"}
    fim.mine(shop, size=1, where=where, **asked, ledger=ledger, dataset="sales")
    [entry] = ledger.entries
    assert entry.parameters["where"] == where
    assert entry.span == Span("day", ("visit",), None, "2026-W46")
    assert entry.unit_columns == ("visit",)


def charges_first(monkeypatch: pytest.MonkeyPatch, ledger: fim.Ledger) -> bool:
    """Whether a release was on the disk as charged before anything was computed of the data."""
    found = set()

    def note() -> None:
        with sqlite3.connect(ledger.name) as connection:
            found.add(connection.execute("SELECT count(*) FROM entries").fetchone()[0])
        connection.close()

    class Watched(LocalSource):
        @property
        def units(self) -> int:
            note()
            return super().units

        def spectrum(self, *given: Any) -> Any:
            note()
            return super().spectrum(*given)

        def items(self, *given: Any) -> Any:
            note()
            return super().items(*given)

    monkeypatch.setattr(engines, "LocalSource", Watched)
    fim.mine(BASKETS, ledger=ledger, dataset="sales")
    fim.count(BASKETS, [["jam"]], ledger=ledger, dataset="sales")
    return found == {1, 2}


def test_it_is_charged_before_anything_is_computed(
    ledger: fim.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert charges_first(monkeypatch, ledger)


def test_that_test_catches_who_charges_late(
    ledger: fim.Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LateLedger(path) as late:
        assert not charges_first(monkeypatch, late)
    monkeypatch.setattr(Run, "pending_charge", lambda *_, **__: None)
    assert not charges_first(monkeypatch, ledger)


def test_where_warnings_are_errors_they_come_before_the_charge(ledger: fim.Ledger) -> None:
    frame = pd.DataFrame({"customer": [1, 2], "basket": [1, 2], "item": ["tea", "milk"]})
    with pytest.raises(fim.PrivacyWarning, match="'customer' looks like customers"):
        fim.mine(frame, ledger=ledger, dataset="shop", basket="basket", item="item", size=1)
    assert not ledger.entries


def test_a_release_that_cannot_be_charged_is_not_made(
    ledger: fim.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(FileBook, "append", full)
    monkeypatch.setattr(LocalSource, "spectrum", None)  # is never come to
    with pytest.raises(fim.LedgerError, match="cannot write the ledger"):
        fim.mine(BASKETS, ledger=ledger, dataset="sales")
    assert ledger.entries == ()


def worker(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, WORKER, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )


def states(mode: str, path: Path, step: int) -> Counter[str]:
    """How many entries and releases there are, killed at every step-th line."""
    process = worker(mode, path, path.with_name("released"), step)
    told, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    return Counter(told.splitlines())


@pytest.mark.parametrize(
    "step",
    [
        61,
        pytest.param(5, marks=pytest.mark.full),
        pytest.param(1, marks=[pytest.mark.full, pytest.mark.rare]),
    ],
)
def test_killed_anywhere_it_has_charged_what_was_released(path: Path, step: int) -> None:
    found = states("every-line", path, step)
    assert set(found) <= {"0 0", "1 0", "1 1"}
    assert found["0 0"]
    assert found["1 1"]


def test_that_test_catches_a_ledger_that_charges_late(path: Path) -> None:
    assert states("every-line-late", path, 61)["0 1"]


# Of many processes each charges long enough to be there still when it is killed.
@pytest.mark.parametrize(
    ("processes", "kills", "charges"),
    [(6, 20, 20), pytest.param(50, 200, 40, marks=pytest.mark.full, id="50 processes, 200 kills")],
)
def test_parallel_processes_and_kills_never_overspend(
    path: Path, processes: int, kills: int, charges: int
) -> None:
    ledger = fim.Ledger.create(path, epsilon=1000, delta=0.5, composition="basic")
    log = path.with_name("released")
    log.touch()
    process = worker("killed", path, log, charges, processes, kills)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    released = len(log.read_bytes().splitlines())
    assert charges * processes <= released <= len(ledger.entries) <= 10_000
    assert ledger.left.epsilon == 1000 - len(ledger.entries) * Fraction(1, 10)


@pytest.mark.parametrize("processes", [6, pytest.param(50, marks=pytest.mark.full)])
def test_parallel_processes_share_what_is_left_to_the_last(path: Path, processes: int) -> None:
    # Thirty charges of 0.1, for more who want them.
    ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5, composition="basic")
    log = path.with_name("released")
    started = [worker("charge", path, log, 30) for _ in range(processes)]
    for process in started:
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    assert len(log.read_bytes().splitlines()) == len(ledger.entries) == 30
    assert ledger.left.epsilon == 0


SMALL_FILES = """
import resource, sys
import fim_private as fim
from ledger_worker import CHARGE
ledger = fim.Ledger(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    for _ in range(200):
        ledger.charge(CHARGE)
        print("released")
except fim.LedgerError as error:
    print(error)
"""


@pytest.mark.parametrize("size", [0, 1_000, 4_096, 5_000, 20_000])
def test_a_full_disk_refuses_and_gains_nothing(path: Path, size: int) -> None:
    fim.Ledger.create(path, epsilon=1000, delta=0.1)
    places = os.pathsep.join([*sys.path, str(WORKER.parent)])
    done = python("-W", "ignore", "-c", SMALL_FILES, path, size, PYTHONPATH=places)
    *released, error = done.stdout.splitlines()
    assert done.stderr == ""
    assert "cannot " in error
    assert "full" in error
    assert len(released) < 200
    ledger = fim.Ledger(path)
    assert len(released) <= len(ledger.entries)
    ledger.charge(CHARGE)  # there is room again


def test_one_that_another_process_keeps_is_waited_for_and_then_refused(
    ledger: fim.Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    with opened(path, writes=True):
        with pytest.raises(fim.LedgerError, match="another process has had it"):
            ledger.charge(charge())
        assert fim.Ledger(path).entries == ()  # reading goes on
    assert ledger.charge(charge()).entry == 1


def test_a_new_ledger_adds_up_in_any_way_where_it_has_a_delta(path: Path) -> None:
    def created(name: str, **limit: Any) -> Any:
        return fim.Ledger.create(path.with_name(name), **limit).statement().terms

    assert created("usual", epsilon=3, delta=1e-5).composition == "any"
    assert created("pure", epsilon=3, delta=0).composition == "basic"
    assert created("asked", epsilon=3, delta=1e-5, composition="basic").composition == "basic"
    of_rho = created("rho", rho=0.21, delta=1e-5)
    assert (of_rho.composition, of_rho.rho) == ("zcdp", Fraction(21, 100))
    assert of_rho.zcdp_delta == Fraction(1, 200_000)
    # The ε that is stated is one that follows, and hardly more than what would do.
    left = (of_rho.delta - of_rho.zcdp_delta) / (1 - of_rho.zcdp_delta)
    assert of_rho.epsilon == zcdp_epsilon(of_rho.rho, left)
    assert zcdp_rho(of_rho.epsilon * (1 - Fraction(1, 10**9)), left) < of_rho.rho


@pytest.mark.parametrize(
    ("composition", "asked", "releases"),
    [
        ("any", {"top": 1, "supports": False}, 3),
        ("basic", {"top": 1, "supports": False}, 3),
        ("zcdp", {"top": 1, "supports": False}, 1),
        ("gaussian", {"top": 1, "supports": False}, 0),
        ("any", {}, 8),
        ("basic", {}, 3),
        ("zcdp", {}, 7),
        ("gaussian", {}, 8),
        ("any", {"top": 3, "mechanism": "limited-domain", "supports": False}, 4),
        ("zcdp", {"top": 3, "mechanism": "limited-domain", "supports": False}, 5),
        ("any", {"itemsets": FIFTY}, 7),
        ("basic", {"itemsets": FIFTY}, 3),
        ("zcdp", {"itemsets": FIFTY}, 7),
        ("gaussian", {"itemsets": FIFTY}, 8),
    ],
)
def test_a_ledger_allows_so_many_releases(
    path: Path, composition: str, asked: dict[str, Any], releases: int
) -> None:
    ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5, composition=composition)

    def release() -> None:
        if "itemsets" in asked:
            fim.count(BASKETS, ledger=ledger, dataset="sales", **asked)
        else:
            fim.mine(BASKETS, ledger=ledger, dataset="sales", **asked)

    for _ in range(releases):
        release()
    with pytest.raises(
        fim.LedgerError, match=r"overspend|not all normal; give mechanism levelwise"
    ):
        release()
    if releases:
        assert ledger.statement().more_like_last() == 0


def test_a_composition_that_was_exceeded_holds_no_more(path: Path) -> None:
    """Also for a release that adds nothing to the sum that was exceeded."""
    ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5)
    ledger.charge(charge(0.1, 3.5e-6, rho=0.001, normal=True))  # more than basic's part of δ
    assert ledger.statement().to_dict()["left"]["basic"] == {"epsilon": 0.0, "delta": 0.0}
    ledger.charge(charge(0.1, 0, rho=0.001))  # after which Gaussian composition has ended
    with pytest.raises(fim.LedgerError, match=r"rho 0\.183 and delta 5e-07 are left, and it takes"):
        ledger.charge(charge(0.1, 0, rho=0.185))
    with pytest.raises(fim.LedgerError, match=r"rho 0\.183 and delta 5e-07 are left"):
        ledger.charge(charge(0.1, 0, rho=0.2, normal=True))
    shown = render_statement(ledger.statement(), Screen())
    assert shown.count("ended") == 2
    assert (
        "one basket changes the probability of whatever all releases say together by a factor"
        in shown
    )


def test_once_delta_is_spent_it_says_what_is_left_without_delta(path: Path) -> None:
    ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5)
    asked = charge(0.4, 5e-7, rho=0.01, normal=True)
    for _ in range(8):
        ledger.charge(asked)
    assert "Left: ρ = 0.142, δ = 0." in repr(ledger)
    with pytest.raises(fim.LedgerError, match="ask for what takes no delta, as with a public list"):
        ledger.charge(asked)
    ledger.charge(charge(0.4, 0, rho=0.142, normal=True))


def test_an_entry_between_them_that_is_damaged_is_no_entry_of_a_period(path: Path) -> None:
    ledger = fim.Ledger.create(path, epsilon=30, delta=1e-5)
    for number in range(3):
        ledger.charge(of_day(16, 0.001 + number / 1000))
    edited(path, "UPDATE entries SET record = replace(record, 'rho', 'roh') WHERE number = 2")
    with pytest.raises(fim.LedgerError, match="was edited or is damaged: its entries do not"):
        ledger.charge(of_day(16, 0.01))


def of_day(day: int | None, rho: float, *, normal: bool = True) -> Charge:
    """Return a charge of ε = 1 for the baskets of a day in November, or of all days."""
    span = Span("day", period=None if day is None else f"2026-11-{day:02}")
    return charge(1, 0, rho=rho, normal=normal, neighbors="add-remove", span=span)


def test_what_is_spent_on_a_period_is_rounded_up(path: Path) -> None:
    ledger = fim.Ledger.create(path, epsilon=300, delta=0)
    ledger.charge(of_day(1, 0.5))
    assert " 1 % " in render_statement(ledger.statement(), Screen())


def test_what_is_spent_is_never_more_than_the_limit(path: Path) -> None:
    """On one day basic composition alone holds, and on the other Gaussian composition alone."""
    ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5)
    ledger.charge(of_day(1, 4, normal=False))
    for rho in (0.050, 0.051, 0.052, 0.053):
        ledger.charge(of_day(2, rho))
    statement = ledger.statement()
    assert statement.together == PrivacyCost(3, 1e-5)
    costs = [statement.spent_at(reach).epsilon for _, _, reach in statement.periods]
    assert costs[0] == 1
    assert 2 < costs[1] < 3


def test_one_composition_has_to_hold_for_all_that_another_like_the_last_reaches(path: Path) -> None:
    """On one day zCDP is nearly spent, and on the other Gaussian composition has ended."""
    ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5)
    for asked in (of_day(1, 0.184), of_day(2, 0.001, normal=False), of_day(None, 0.0007)):
        ledger.charge(asked)
    assert ledger.statement().more_like_last() == 1
    ledger.charge(of_day(None, 0.0007))
    with pytest.raises(fim.LedgerError, match="would overspend"):
        ledger.charge(of_day(None, 0.0007))


def test_a_statement_ends_with_how_many_more_there_may_be(ledger: fim.Ledger) -> None:
    def said() -> set[str]:
        statement = ledger.statement()
        last = repr(statement).splitlines()[-1]
        assert last in statement._repr_html_()
        return {last, render_statement(statement, Screen()).splitlines()[-1]}

    assert "like the last" not in " ".join(said())
    for cost, words in (
        (charge("0.001", 0), "enough for 2,999 more like the last."),
        (charge("0.5", 1e-6), "enough for 4 more like the last."),
        (charge("0.001", "0.000003"), "enough for 2 more like the last."),
        (charge(1, 1e-6), "enough for 1 more like the last."),
        (charge(1, 1e-6), "not enough for another like the last."),
    ):
        ledger.charge(cost)
        assert said() == {f"The rest is {words}"}


def test_the_same_request_for_the_same_period_is_noticed(path: Path) -> None:
    import pandas as pd

    rows = [(n, item, f"2026-11-{16 + n % 14:02}") for n in range(400) for item in ("tea", "milk")]
    sales = pd.DataFrame(rows, columns=["order", "item", "day"])
    asked: Any = {"basket": "order", "item": "item", "time": "day", "dataset": "sales", "top": 3}
    fim.Ledger.create(path, epsilon=9, delta=1e-5)
    fim.mine(sales, period="2026-W47", ledger=fim.Ledger(path), **asked)
    fim.mine(sales, period="2026-W48", ledger=fim.Ledger(path), **asked)
    fim.mine(sales, period="2026-W47", ledger=fim.Ledger(path), **asked | {"top": 4})
    several: dict[str, Any] = {"period": "week", "periods": "2026-W47..2026-W49"}
    for period in ({"period": "2026-W47"}, several):
        with pytest.raises(fim.LedgerError, match=r"the same request and 2026-W47 before: entry 1"):
            fim.mine(sales, ledger=fim.Ledger(path), **asked, **period)
    assert len(fim.Ledger(path).statement().entries) == 3
    with pytest.raises(fim.LedgerError, match=r"again, as for another list of the same length$"):
        fim.mine(sales, period="2026-W47", ledger=fim.Ledger(path), **asked)
    fim.mine(sales, period="2026-W47", ledger=fim.Ledger(path, again=True), **asked)
    assert len(fim.Ledger(path).statement().entries) == 4


def test_the_numbers_of_the_tutorials_are_what_the_sums_come_to() -> None:
    """Those that no command of the tutorials prints there, because it would take a year."""

    def docs(name: str) -> str:
        return (Path(__file__).parents[2] / "docs" / name).read_text(encoding="utf-8")

    def cost(rho: str, names: Fraction) -> PrivacyCost:
        return PrivacyBudget.of(None, Fraction("1e-6"), Fraction(rho)).cost(names, normal=True)

    def sums(number: int, rho: str, names: Fraction = Fraction(0)) -> dict[str, Fraction]:
        each = sums_of(cost(rho, names), ZcdpCost(Fraction(rho), names, normal=True))
        return {name: number * amount for name, amount in each.items()}

    week = Fraction("5e-7")
    for number in (52, 5):
        assert smallest_cost(sums(number, "0.04", week)).in_words in docs("weekly-job.md")
    year = both(sums(12, "0.0125"), sums(1, "0.07"))
    together = smallest_cost(year, Fraction("1e-5"))
    said = f"has ε = {least_in_words(together.epsilon)} at δ = 10⁻⁵"
    assert f"{said}. Their own ε would add up to {float(year['epsilon']):.2f}" in " ".join(
        docs("a-shops-year.md").split()
    )


def test_an_export_is_shown_and_takes_no_charges(
    ledger: fim.Ledger, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.charge(charge(0.5))
    export, imported = tmp_path / "sales.export", tmp_path / "imported.ledger"
    ledger.export(export)
    for again in (lambda: ledger.export(export), lambda: fim.Ledger.import_from(export, path)):
        with pytest.raises(fim.LedgerError, match="there is such a file already"):
            again()
    ledger.charge(charge(0.5))
    copy = fim.Ledger(export)
    assert (copy.left.epsilon, len(copy.statement(verify=True).entries)) == (Fraction(5, 2), 1)
    assert "It was exported or moved, and takes no charges" in repr(copy)
    for call in (lambda: copy.charge(charge()), lambda: renewed(export)):
        with pytest.raises(fim.LedgerError, match="was exported or moved, and takes no charges"):
            call()
    with pytest.raises(fim.LedgerError, match="older copy was put back"):
        fim.Ledger.import_from(export, imported)
    assert not imported.exists()
    elsewhere(monkeypatch, tmp_path)
    assert fim.Ledger.import_from(export, imported).charge(charge()).entry == 2


def test_the_export_of_a_ledger_that_was_renewed_is_never_imported(
    ledger: fim.Ledger, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on a machine that does not know of the renewal."""
    ledger.charge(charge(0.5))
    renewed(path)
    export = tmp_path / "old.export"
    fim.Ledger(f"{path}.1").export(export)
    elsewhere(monkeypatch, tmp_path)
    assert len(fim.Ledger(export).statement(verify=True).entries) == 1
    with pytest.raises(fim.LedgerError, match=r"was renewed.*; import that one"):
        fim.Ledger.import_from(export, tmp_path / "again.ledger")
    assert not (tmp_path / "again.ledger").exists()


def test_a_ledger_that_is_moved_is_charged_in_one_place(
    ledger: fim.Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.charge(charge(0.5))
    moved = fim.Ledger.import_from(path, path.with_name("moved"))
    # two at once: one of them found a ledger, which is an export once it has the lock
    with monkeypatch.context() as patched:
        patched.setattr(fim.Ledger, "_balance", lambda _: ledger._known)
        with pytest.raises(fim.LedgerError, match="was moved by another process just now"):
            fim.Ledger.import_from(path, path.with_name("twice"))
    with pytest.raises(fim.LedgerError, match="was exported or moved"):
        ledger.charge(charge())
    assert moved.charge(charge()).entry == 2
    renewed(path.with_name("moved"))
    with pytest.raises(fim.LedgerError, match="was renewed"):
        fim.Ledger.import_from(path, path.with_name("again"))
    with pytest.raises(fim.LedgerError, match=r"was renewed.*; import that one"):
        fim.Ledger.import_from(path.with_name("moved.1"), path.with_name("again"))


def test_a_name_in_postgresql_hides_its_password_and_needs_a_ledger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = TablePlace.of("postgresql://ann:se#cret@db.example:5432/shop?sslmode=require#sales.1")
    assert place.address == "postgresql://ann:se#cret@db.example:5432/shop?sslmode=require"
    assert (place.label, place.beside(2).label) == ("sales.1", "sales.1.2")
    assert place.name == "postgresql://ann:***@db.example:5432/shop#sales.1"
    assert "cret" not in repr(place)
    for address in ("postgresql://ann:secret@host/shop", "postgres:///shop#", "postgres:///a#b c"):
        with pytest.raises(fim.LedgerError, match="needs a name behind its database") as raised:
            fim.Ledger(address)
        assert "secret" not in str(raised.value)
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(fim.MissingExtraError, match=r"pip install 'fim-private\[sql\]'"):
        fim.Ledger("postgresql:///shop#sales")
