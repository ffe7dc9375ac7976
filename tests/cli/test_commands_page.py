"""docs/commands.md and docs/json.md are what their scripts make."""

import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import typer
from commands import run_after
from real_data import REPOSITORY

from fim_private.cli.commands import app
from fim_private.cli.parsing import commands_of
from fim_private.mechanisms.registry import MECHANISMS, BasketCap, RankCap, single
from fim_private.options import CHOOSING, MAX_RANK
from fim_private.options.declaration import options_of
from fim_private.options.requests import RequestOptions

SCRIPT = runpy.run_path(str(REPOSITORY / "scripts" / "make_commands_page.py"))
PAGE, EXAMPLES = REPOSITORY / "docs" / "commands.md", SCRIPT["EXAMPLES"]
EXIT_CODES = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE.read_text("utf-8"), re.M)}


@pytest.mark.parametrize("name", ["commands", "json"])
def test_a_page_is_what_its_script_makes(name: str) -> None:
    made = runpy.run_path(str(REPOSITORY / "scripts" / f"make_{name}_page.py"))["page"]()
    assert (REPOSITORY / f"docs/{name}.md").read_text("utf-8") == made, "run make reference"


def test_a_terminal_breaks_the_lines_of_help_by_its_width() -> None:
    application = typer.main.get_command(app)
    texts = [application.help, *(command.help for _, command in commands_of(application))]
    assert len(texts) > 10
    for text in texts:
        assert not re.search(r"(?<!\n)\n(?!\n)", str(text))


def test_what_only_shows_releases_nothing() -> None:
    commands = dict(commands_of(typer.main.get_command(app)))
    for name in ("show", "report", "changes"):
        options = [given for given in commands[(name,)].params if given.param_type_name == "option"]
        assert not any(given.rich_help_panel == "What to release" for given in options)
        assert not any("elease association rules" in given.help for given in options)


def test_help_names_the_mechanisms_of_the_registry() -> None:
    assert tuple(single()) == CHOOSING
    assert [*MECHANISMS] == [*CHOOSING, "levelwise"]
    options = options_of(RequestOptions)
    capped = {name for name, spec in MECHANISMS.items() if spec.basket_cap is not BasketCap.NONE}
    ranked = {name for name, spec in MECHANISMS.items() if spec.rank_cap is not RankCap.NONE}
    whole = {"mechanism": {*MECHANISMS}, "max_basket": capped, "max_rank": ranked}
    named = {name: {*re.findall(r"[\w-]+", options[name].help)} & {*MECHANISMS} for name in whole}
    assert named == whole
    assert f"({MAX_RANK:,})" in options["max_rank"].help


# --------------------------------------------------------------------------------- exit codes


PATH = os.pathsep.join([str(REPOSITORY), *sys.path])
run = partial(run_after, env={**os.environ, "PYTHONPATH": PATH, "PYTHONUTF8": "1"})

RETURNED: dict[str, tuple[int, str, str]] = {
    "it is done": (0, "", "plan"),
    "a release that names nothing": (0, "", "mine BASKETS"),
    "help was asked for": (0, "", "mine --help"),
    "a guarantee is broken": (
        1,
        """
        from fim_private.auditing.audit import AuditReport
        AuditReport.holds = property(lambda self: False)
        """,
        "audit --mechanism distance --trials 0",
    ),
    "bad input": (2, "", "mine nothing.dat"),
    "an option that is none": (2, "", "mine --nothing"),
    "no command": (2, "", ""),
    "a ledger refuses": (
        3,
        """
        import os
        import fim_private as fim
        path = os.path.join(os.path.dirname(sys.argv[2]), "sales.ledger")
        fim.Ledger.create(path, epsilon=0.5, delta=0)
        sys.argv += ["--ledger", path, "--dataset", "sales"]
        """,
        "mine BASKETS",
    ),
    "nothing came out, which was to be a failure": (4, "", "mine BASKETS --fail-if-empty"),
    "memory ran out": (
        2,
        """
        from fim_private.cli import writing
        def fail(*_, **__): raise MemoryError
        writing.progress_bar = fail
        """,
        "mine BASKETS",
    ),
}
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    # A hangup that is ignored, as by nohup, would stay so.
    lines = f"""
        import os, signal
        from fim_private.cli import writing
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        writing.output_of = lambda *_, **__: os.kill(os.getpid(), signal.{number.name})
    """
    RETURNED[number.name] = (128 + number, lines, "plan")


@pytest.mark.parametrize("case", RETURNED)
@pytest.mark.one_in(3)
def test_exit_codes(tmp_path: Path, case: str) -> None:
    code, lines, words = RETURNED[case]
    (tmp_path / "b.dat").write_text("1 2\n3 4\n")
    done = run(lines, *shlex.split(words.replace("BASKETS", str(tmp_path / "b.dat"))))
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    if code in (2, 3) and words:
        assert re.fullmatch(rb"Error: [^\n]*\n", done.stderr)


@pytest.mark.full
def test_the_exit_code_where_nobody_reads_on() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run("", "plan", capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
    assert (done.stderr, done.returncode) == (b"", 1)


def test_every_exit_code_that_is_documented_is_tested() -> None:
    assert {code for code, _, _ in RETURNED.values()} == EXIT_CODES
    told = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    numbers = re.findall(r"\b\d+\b", told.rpartition("- Exit codes")[2])
    assert {*map(int, numbers)} >= EXIT_CODES
