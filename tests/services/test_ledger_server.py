"""Ledgers in a real PostgreSQL server."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from adbc_driver_manager import AdbcStatusCode, OperationalError
from ledger_worker import CHARGE
from patience import PATIENCE, Done, program, python
from postgres_server import PASSWORD, Server, running_server

import fim_private as fim
from fim_private.dp.charge import Charge, Span
from fim_private.ledger import postgresql
from fim_private.ledger.postgresql import TablePlace, _TableBook

pytestmark = pytest.mark.full

WORKER = Path(__file__).resolve().parents[1] / "ledger_worker.py"
BASKETS = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50
LIMIT: Any = {"epsilon": 1, "delta": 1e-6, "composition": "basic"}  # ten of CHARGE
TOLD = "CREATE ROLE {0} LOGIN PASSWORD '" + PASSWORD + "'; GRANT USAGE ON SCHEMA fim_private TO {0}"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with running_server(port) as server:
        yield server


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return running


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return str(request.node.name).partition("[")[0]


@pytest.fixture
def address(server: Server, name: str) -> str:
    return f"{server.address()}#{name}"


@pytest.fixture
def ledger(address: str) -> fim.Ledger:
    return fim.Ledger.create(address, **LIMIT)


def lost() -> Exception:
    """What the driver raises where the connection is lost."""
    return OperationalError("lost", status_code=AdbcStatusCode.IO)


def fim_private(*words: object) -> Done:
    return program(sys.executable, "-m", "fim_private", *words)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(fim.LedgerError) as raised:
        call()
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_every_command_charges_it_and_shows_no_password(
    server: Server, name: str, tmp_path: Path
) -> None:
    address = f"postgresql://owner:tell%40no%2Fone%3F@127.0.0.1:{server.port}/shop#{name}"
    server.run("create database elsewhere")
    elsewhere = address.partition("#")[0].replace("/shop", "/elsewhere")
    baskets, pairs, out = (tmp_path / file for file in ("baskets.csv", "pairs.csv", "out.json"))
    uncharged = tmp_path / "uncharged.json"
    baskets.write_text("\n".join(map(",".join, BASKETS)), encoding="utf-8")
    pairs.write_text("bread,butter\n", encoding="utf-8")
    spent = ("--ledger", address, "--dataset", "sales", "--epsilon", 1)
    done = [
        fim_private(*words)
        for words in (
            ("mine", baskets, *spent),
            ("budget", "create", address, "--epsilon", 2, "--delta", 1e-5),
            ("mine", baskets, *spent, "--report", tmp_path / "page.html", "--output", out),
            ("count", baskets, "--itemsets", pairs, *spent),
            ("mine", baskets, *spent),
            ("budget", "show", address, "--verify"),
            ("budget", "export", address, f"{elsewhere}#{name}"),
            ("count", baskets, "--itemsets", pairs, "--output", uncharged),
            ("statement", uncharged, "--ledger", address),
            ("budget", "show", address.replace(f":{server.port}", ":1")),
        )
    ]
    assert [each.returncode for each in done] == [2, 0, 0, 0, 3, 0, 0, 0, 2, 3]
    shown = f"postgresql://owner:***@127.0.0.1:{server.port}/shop#{name}"
    assert done[2].stderr.rstrip().endswith(f"left in {shown}")
    assert [command in done[5].stdout for command in ("mine", "count")] == [True, True]
    said = [each.stdout + each.stderr for each in done] + [out.read_text("utf-8")]
    said += [(tmp_path / "page.html").read_text("utf-8"), repr(fim.Ledger(address))]
    assert "tell" not in "".join(said)


def test_what_the_document_shows_runs(server: Server, tmp_path: Path) -> None:
    """In the order of the page. An export and what is moved go to names that nobody has yet."""
    document = (WORKER.parents[1] / "docs" / "ledger.md").read_text(encoding="utf-8")
    _, _, section = document.partition("## A ledger that a team shares")
    rows = [
        {"receipt": number, "product": item, "customer": f"c{number}"}
        for number, basket in enumerate(BASKETS)
        for item in basket
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "purchases.parquet")
    fim.Ledger.create(tmp_path / "north.ledger", **LIMIT).charge(CHARGE)
    server.run("create database archive; create role weekly login")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for language, text in re.findall(r"```(sh|sql)\n(.*?)```", section, flags=re.DOTALL):
        if language == "sql":
            server.run(text)
            continue
        shown = text
        for place, database in (("weekly@db", "shop"), ("db2", "archive")):
            address = server.address(database).replace("&", "\\&")
            shown = shown.replace(f"postgresql://{place}.example/shop", address)
        done = program("sh", "-ec", shown, folder=tmp_path, PATH=path)
        assert done.returncode == 0, done.stderr
    for ledger in (f"{server.address()}#sales", f"{server.address('archive')}#sales"):
        assert len(fim.Ledger(ledger).entries) == 1
    assert len(fim.Ledger(f"{server.address()}#north").entries) == 1
    server.run("drop owned by weekly; drop role weekly")


def test_sixteen_clients_at_once_release_what_the_limit_allows(
    ledger: fim.Ledger, address: str, tmp_path: Path
) -> None:
    log = tmp_path / "released"
    log.touch()
    words = [sys.executable, str(WORKER), "charge", address, str(log), "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    clients = [subprocess.Popen(words, env=environment) for _ in range(16)]
    assert {client.wait(PATIENCE) for client in clients} == {0}
    assert len(log.read_bytes().splitlines()) == len(ledger.entries) == 10
    assert [entry.number for entry in ledger.statement(verify=True).entries] == [*range(1, 11)]


def test_no_release_is_there_without_its_charge_wherever_a_process_is_killed(
    server: Server, name: str, tmp_path: Path
) -> None:
    """Two hundred kills at random moments, of four that charge at once."""
    address, log = f"{server.address()}#{name}", tmp_path / "released"
    log.touch()
    ledger = fim.Ledger.create(address, epsilon=1000, delta=1e-1)
    python(WORKER, "killed", address, log, 3, 4, 200, PYTHONPATH=os.pathsep.join(sys.path))
    released = len(log.read_bytes().splitlines())
    assert 12 <= released <= len(ledger.statement(verify=True).entries)


@pytest.mark.parametrize(("mode", "holds"), [("every-line", True), ("every-line-late", False)])
def test_that_holds_at_every_line_and_the_test_catches_who_charges_late(
    server: Server, name: str, tmp_path: Path, mode: str, holds: bool
) -> None:
    address = f"{server.address()}#{name}.{mode}"
    done = python(
        WORKER, mode, address, tmp_path / "log", 211, PYTHONPATH=os.pathsep.join(sys.path)
    )
    pairs = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert all(entries >= releases for entries, releases in pairs) == holds
    assert {releases for _, releases in pairs} == {0, 1}


def test_a_connection_that_is_lost_leaves_a_charge_or_nothing(
    ledger: fim.Ledger, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    query = _TableBook.query

    def without_an_answer(book: _TableBook) -> None:
        query(book, "COMMIT")
        raise lost()

    def cut_before(book: _TableBook) -> None:
        ((process,),) = query(book, "SELECT pg_backend_pid()")
        server.run(f"SELECT pg_terminate_backend({process}, 60000)")
        query(book, "COMMIT")

    def undone(book: _TableBook) -> None:
        query(book, "ROLLBACK")

    def broken(commit: Callable[[_TableBook], None]) -> Any:
        def answer(book: _TableBook, words: str, *values: object) -> Any:
            writes = "SELECT current_setting('transaction_read_only') = 'off'"
            if words == "COMMIT" and query(book, writes) == [(True,)]:
                return commit(book)
            return query(book, words, *values)

        return answer

    asked: Any = {"dataset": "sales", "neighbors": "replace-one", "epsilon": 0.1, "delta": 1e-7}
    for commit in (without_an_answer, cut_before, undone):
        with monkeypatch.context() as patch:
            patch.setattr(_TableBook, "query", broken(commit))
            said = refused(lambda: fim.mine(BASKETS, ledger=ledger, **asked))
        assert "nothing is released. A charge may have been written down" in said
        assert len(ledger.entries) == 1  # by the first, whose answer was lost
    assert ledger.charge(CHARGE).entry == 2


def test_a_server_that_crashes_and_starts_again_has_all_charges(
    ledger: fim.Ledger, server: Server
) -> None:
    for _ in range(3):
        ledger.charge(CHARGE)
    server.stop()
    try:
        assert "cannot be connected to; check the address" in refused(lambda: ledger.charge(CHARGE))
        assert "cannot be connected to" in refused(
            lambda: fim.mine(BASKETS, ledger=ledger, dataset="sales")
        )
    finally:
        server.start()
    assert len(ledger.statement(verify=True).entries) == 3
    assert ledger.charge(CHARGE).entry == 4


def test_it_is_synced_whatever_is_usual_at_the_server(ledger: fim.Ledger, server: Server) -> None:
    server.run("ALTER DATABASE shop SET synchronous_commit = off")
    server.run("ALTER DATABASE shop SET default_transaction_isolation = 'serializable'")
    assert ledger._place is not None
    with ledger._place.opened(writes=True) as book:
        assert isinstance(book, _TableBook)
        settings = "current_setting('synchronous_commit'), current_setting('transaction_isolation')"
        assert book.query(f"SELECT {settings}") == [("on", "read committed")]


def test_rights_that_are_missing_are_named_and_cost_nothing(
    ledger: fim.Ledger, server: Server, name: str
) -> None:
    def role(user: str, *grants: str) -> str:
        server.run(
            "; ".join([TOLD.format(user), *(f"GRANT {grant} TO {user}" for grant in grants)])
        )
        return f"{server.address(user=user)}#{name}"

    reads = "SELECT ON ALL TABLES IN SCHEMA fim_private"
    charges = "INSERT ON fim_private.entries", "UPDATE (form) ON fim_private.ledgers"
    assert "this role lacks a right" in refused(lambda: fim.Ledger(role("stranger")))
    assert "this role lacks a right" in refused(
        lambda: fim.Ledger.create(f"{role('maker')}2", **LIMIT)
    )
    reader = fim.Ledger(role("reader", reads))
    assert reader.left == ledger.left
    assert "this role lacks a right" in refused(lambda: reader.charge(CHARGE))
    half = fim.Ledger(role("half", reads, charges[1]))
    assert "this role lacks a right" in refused(lambda: half.charge(CHARGE))
    assert ledger.entries == ()
    weekly = fim.Ledger(role("weekly", reads, *charges))
    assert weekly.charge(CHARGE).entry == len(ledger.entries) == 1
    with pytest.raises(AssertionError, match="permission denied"):
        server.run("SET ROLE weekly; DELETE FROM fim_private.entries")


def test_several_names_of_a_database_are_one_ledger(
    ledger: fim.Ledger, server: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", str(server.port))
    places = ("localhost", f"localhost:{server.port}", "127.0.0.1", f"127.0.0.1:{server.port}")
    names = [f"postgresql://owner@{place}/shop#{name}" for place in places]
    names.append(f"postgres:///?dbname=shop&user=owner&host=127.0.0.1#{name}")
    for number, same in enumerate(names, 1):
        assert fim.Ledger(same).charge(CHARGE).entry == number
    assert ledger.left == fim.Ledger(names[0]).left
    with TablePlace.of(names[0]).opened(writes=True):
        monkeypatch.setattr(postgresql, "PATIENCE", 0.2)
        said = refused(lambda: fim.Ledger(names[2]).charge(CHARGE))
    assert "another process has had it" in said
    assert len(ledger.entries) == len(names)


def test_an_older_state_is_noticed_where_the_newer_one_was_used(
    ledger: fim.Ledger, server: Server, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.charge(CHARGE)
    backup = tmp_path / "backup"
    ledger.export(backup)
    ledger.charge(CHARGE)
    row = f"(SELECT id FROM fim_private.ledgers WHERE name = '{name}')"
    server.run(f"DELETE FROM fim_private.entries WHERE number = 2 AND ledger = {row}")
    address = f"{server.address()}#{name}"
    assert "older copy was put back" in refused(lambda: fim.Ledger(address))
    server.run(f"DELETE FROM fim_private.ledgers WHERE name = '{name}'")
    server.run("DELETE FROM fim_private.entries")
    assert "older copy was put back" in refused(lambda: fim.Ledger.import_from(backup, address))
    assert len(fim.Ledger(backup).entries) == 1  # to look at
    # Who never saw the newer state cannot know.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    assert fim.Ledger.import_from(backup, address).charge(CHARGE).entry == 2


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO fim_private.entries SELECT ledger, 0, record, hash FROM fim_private.entries",
        "UPDATE fim_private.entries SET record = replace(record, '1/10', '1/99')",
        "UPDATE fim_private.ledgers SET form = 5",
        "ALTER TABLE fim_private.entries SET UNLOGGED",
        "CREATE RULE forget AS ON INSERT TO fim_private.entries DO INSTEAD NOTHING",
        "ALTER TABLE fim_private.entries ENABLE ROW LEVEL SECURITY",
    ],
)
def test_tables_that_were_changed_are_refused(
    running: Server, statement: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    running.run("CREATE DATABASE changed", "postgres")
    try:
        ledger = fim.Ledger.create(f"{running.address('changed')}#sales", **LIMIT)
        ledger.charge(CHARGE)
        running.run(statement, "changed")
        said = refused(lambda: ledger.charge(CHARGE))
        assert "was edited or is damaged" in said or "not what it was" in said or "newer" in said
    finally:
        running.run("DROP DATABASE changed", "postgres")


def test_it_is_renewed_under_its_name(ledger: fim.Ledger, address: str) -> None:
    ledger.charge(CHARGE)
    new = fim.Ledger.create(address, **LIMIT, renew=True)
    assert (new.entries, dict(new.statement().terms.renewed or {})["file"]) == (
        (),
        f"{address.rpartition('#')[2]}.1",
    )
    assert new.charge(CHARGE).entry == 1
    old = fim.Ledger(f"{address}.1")
    assert len(old.statement(verify=True).entries) == 1
    assert "was renewed" in refused(lambda: old.charge(CHARGE))
    assert "another ledger than when it was opened" in refused(lambda: ledger.charge(CHARGE))
    fim.Ledger.create(address, **LIMIT, renew=True)
    assert len(fim.Ledger(f"{address}.2").entries) == 1


def test_who_waits_while_it_is_renewed_finds_the_ledger_that_followed(
    ledger: fim.Ledger, address: str
) -> None:
    place, waits = TablePlace.of(address), "SELECT 1 FROM pg_locks WHERE NOT granted"
    terms = replace(ledger.statement().terms, id=uuid4().hex)
    with ThreadPoolExecutor() as threads:
        with place.opened(writes=True) as book:
            assert isinstance(book, _TableBook)
            said = threads.submit(refused, lambda: ledger.charge(CHARGE))
            while not book.query(waits):
                time.sleep(0.05)
            book.renew(place.beside(1), terms)
        assert "another ledger than when it was opened; open it again" in said.result(PATIENCE)


def test_the_period_of_an_entry_is_found_whatever_its_condition_is(address: str) -> None:
    """Also one that is no text in UTF-8, as a command line may have, or looks like a period."""
    ledger = fim.Ledger.create(address, **LIMIT)

    def of_week(week: int, where: str) -> Charge:
        span = Span("day", period=f"2026-W{week}")
        return replace(CHARGE, neighbors="add-remove", parameters={"where": where}, span=span)

    conditions = ("item <> '\udcff'", '"period":"2026-W46","time":', "item <> '\0'")
    asked = [*(of_week(45, where) for where in conditions), of_week(46, "item <> ''")]
    for request in asked:
        ledger.charge(request)
    for request in asked:
        assert "charged for the same request" in refused(partial(ledger.charge, request))


def test_a_file_moves_to_the_server_and_back(server: Server, name: str, tmp_path: Path) -> None:
    file, address = tmp_path / "sales.ledger", f"{server.address()}#{name}"
    before = fim.Ledger.create(file, **LIMIT)
    for _ in range(3):
        before.charge(CHARGE)
    moved = fim.Ledger.import_from(file, address)
    assert "was exported or moved" in refused(lambda: before.charge(CHARGE))
    assert moved.charge(CHARGE).entry == 4
    assert moved.statement().seen.hash == moved.statement(verify=True).seen.hash
    assert "has it already" in refused(lambda: fim.Ledger.import_from(file, f"{address}2"))
    back = fim.Ledger.import_from(address, tmp_path / "back.ledger")
    assert back.charge(CHARGE).entry == 5
    assert "was exported or moved" in refused(lambda: moved.charge(CHARGE))


def test_a_move_that_fails_never_leaves_two(
    server: Server, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, address = tmp_path / "sales.ledger", f"{server.address()}#{name}"
    fim.Ledger.create(file, **LIMIT).charge(CHARGE)
    query = _TableBook.query

    def fails_at(start: str) -> None:
        def fails(book: _TableBook, words: str, *values: object) -> Any:
            if words.startswith(start):
                raise lost()
            return query(book, words, *values)

        with monkeypatch.context() as patch:
            patch.setattr(_TableBook, "query", fails)
            refused(lambda: fim.Ledger.import_from(file, address))

    fails_at("INSERT INTO fim_private.ledgers")
    assert fim.Ledger(file).charge(CHARGE).entry == 2  # as if nothing had been
    fails_at("COMMIT")
    assert "was exported or moved" in refused(lambda: fim.Ledger(file).charge(CHARGE))
    assert fim.Ledger.import_from(file, address).charge(CHARGE).entry == 3
