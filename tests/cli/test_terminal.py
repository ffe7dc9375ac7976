"""What terminals, locales, spreadsheets, signals and odd paths do to the commands, as processes."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import plain_environment, run_after
from patience import CAPTURED
from terminals import on_terminal

RUN = [sys.executable, "-m", "fim_private"]
LABELS = ["café", "日本 😀", "=cmd()|'x'!A1", "plain"]


environment = partial(plain_environment, PYTHONWARNINGS="error")
UTF8 = MappingProxyType({"PYTHONUTF8": "1"})


def run(*arguments: object, folder: Path | None = None, locale: Mapping[str, str] = UTF8) -> Any:
    options = CAPTURED | {"env": environment(**locale), "stdin": subprocess.DEVNULL}
    return subprocess.run([*RUN, *map(str, arguments)], cwd=folder, **options)


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("words") / "words.parquet"
    pq.write_table(pa.table({"items": [LABELS] * 700}), path)
    return path


LOCALES: list[dict[str, str]] = [
    {"PYTHONUTF8": "1"},
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "utf-16"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
]


@pytest.mark.full
@pytest.mark.parametrize("locale", LOCALES, ids=str)
def test_json_is_valid_in_every_locale(words: Path, locale: dict[str, str]) -> None:
    done = run("mine", words, "--size", 4, "--format", "json", locale=locale)
    assert (done.stderr, done.returncode) == (b"", 0)
    assert sorted(json.loads(done.stdout)["itemsets"][0]["items"]) == sorted(LABELS)
    assert done.stdout.isascii() is ("1" not in locale.values())
    for command in ("plan", "audit --mechanism distance --trials 0"):
        done = run(*command.split(), "--format", "json", locale=locale)
        assert (done.stderr, done.returncode) == (b"", 0)
        assert json.loads(done.stdout)


@pytest.mark.parametrize("locale", LOCALES, ids=str)
@pytest.mark.one_in(4)
def test_csv_is_utf8_in_every_locale(words: Path, locale: dict[str, str]) -> None:
    done = run("mine", words, "--size", 4, "--format", "csv", locale=locale)
    assert (done.stderr, done.returncode) == (b"", 0)
    _, row = csv.reader(io.StringIO(done.stdout.decode("utf-8"), newline=""))
    assert sorted(row[:4]) == sorted([*LABELS[:2], "'=cmd()|'x'!A1", LABELS[3]])


def test_a_file_is_utf8_in_every_locale(words: Path, tmp_path: Path) -> None:
    done = run(
        "mine", words, "--format", "json", "--size", 4, "--output", "a.json", folder=tmp_path,
        locale=LOCALES[1],
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"wrote a.json\n", 0)
    assert "日本 😀" in (tmp_path / "a.json").read_text(encoding="utf-8")


def test_a_dash_is_the_screen_that_there_is() -> None:
    shown = run("plan", "--units", 1000, locale=LOCALES[1]).stdout
    assert shown.startswith(b"What it takes")
    assert run("plan", "--units", 1000, "--output", "-", locale=LOCALES[1]).stdout == shown


@pytest.mark.parametrize("more", [{}, {"NO_COLOR": "1"}], ids=["styled", "bare"])
def test_no_color_is_honoured(words: Path, more: dict[str, str]) -> None:
    env = environment(TERM="xterm-256color", COLUMNS="100", PYTHONUTF8="1", **more)
    seen = on_terminal([*RUN, "mine", words, "--seed", 1], stderr=False, env=env)
    assert (seen.stderr, seen.returncode) == ("", 0)
    assert ("\x1b[" in seen.screen) is not bool(more)
    assert "┬" in seen.screen


def refused(done: subprocess.CompletedProcess[bytes]) -> str:
    """What a command said that was refused: one line, and nothing else."""
    text = done.stderr.decode()
    assert (done.stdout, done.returncode) == (b"", 2)
    assert re.fullmatch("Error: .+\n", text)
    return text


def run_with(tmp_path: Path, lines: str, *arguments: str, **modules: str) -> Any:
    """The same with modules that this has instead of others."""
    for name, source in modules.items():
        (tmp_path / f"{name}.py").write_text(source)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    return run_after(lines, *arguments, env=environment(PYTHONPATH=path))


OUT_OF_MEMORY = "Error: memory ran out, and nothing was written; free some, or ask for less\n"


def test_too_little_memory_to_load_a_library_is_one_line(tmp_path: Path) -> None:
    said = "raise ImportError('libarrow.so: failed to map segment from shared object')\n"
    done = run_with(tmp_path, "", "mine", "b.dat", pyarrow=said)
    assert refused(done) == OUT_OF_MEMORY


@pytest.mark.parametrize("module", ["typer", "numpy", "pyarrow"])
@pytest.mark.one_in(3)
def test_ctrl_c_while_it_starts_ends_it_without_a_word(tmp_path: Path, module: str) -> None:
    """Whatever is being imported: the first of it is not before the command line takes notice."""
    pressed = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    done = run_with(tmp_path, "", "mine", "b.dat", **{module: pressed})
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 130)


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
@pytest.mark.one_in(3)
def test_a_signal_while_it_writes_leaves_nothing(tmp_path: Path, name: str, code: int) -> None:
    out = tmp_path / "plan.json"
    lines = f"""
        import os, signal
        from pathlib import Path
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and then it stays so
        replace = Path.replace
        def interrupted(self, target):
            assert list(self.parent.glob(".fim-private.*.part")) == [self]
            os.kill(os.getpid(), signal.{name})
        Path.replace = interrupted
    """
    done = run_with(tmp_path, lines, "plan", "--output", str(out))
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", code)
    assert [path.name for path in tmp_path.iterdir()] == []


def test_what_would_act_on_a_terminal_is_escaped(tmp_path: Path) -> None:
    odd = "tea\x9b2J\x7f\u202eaet"
    file = tmp_path / "words.csv"
    file.write_text(f"{odd},milk\n" * 900, encoding="utf-8")
    alone = ["--top", "1", "--no-supports", "--seed", "1"]
    command = ["mine", file, "--input-format", "lines", *alone, "--format"]
    done = run(*command, "json")
    assert (done.stderr, done.returncode) == (b"", 0)
    assert b"tea\\u009b2J\\u007f\\u202eaet" in done.stdout
    assert json.loads(done.stdout)["itemsets"][0]["items"] == ["milk", odd]
    seen = run("inspect", file, "--input-format", "lines", "--format", "json").stdout
    assert (b"\\u007f" in seen, b"\x7f" in seen) == (True, False)
    assert odd in run(*command, "csv").stdout.decode()
    env = environment(PYTHONUTF8="1")
    shown = on_terminal([*RUN, *map(str, command), "csv"], env=env, stderr=False).screen
    assert "tea\\x9b2J\\x7f\\u202eaet,\r\n" in shown
    assert "item_1,item_2,support" in shown.splitlines()[0]


@pytest.mark.parametrize("form", ["csv", "markdown", "table", "json"])
def test_no_form_acts_on_a_terminal(tmp_path: Path, form: str) -> None:
    names = ["\x1b]0;owned\x07tea", 'a "b"\n=x,99', "mi\u202elk"]
    file, saved = tmp_path / "odd.parquet", tmp_path / "r.json"
    pq.write_table(pa.table({"items": [names] * 900}), file)
    asked = ["mine", file, "--top", "3", "--seed", "1", "--output", saved]
    assert run(*asked).returncode == 0
    shown = [*RUN, "show", saved, "--format", form]
    env = environment(PYTHONUTF8="1", COLUMNS="200")
    for command in (shown, [*shown, "--output", "/dev/stdout"]):
        seen = on_terminal(command, env=env, stderr=False).plain
        assert not {letter for letter in seen if not letter.isprintable()} - {"\n"}
        assert "owned" in seen
        if form == "csv":
            assert len(seen.splitlines()) == 4
            assert '"a ""b""\\n=x,99"' in seen
    if form == "csv":
        rows = csv.reader(io.StringIO(run(*shown[len(RUN) :]).stdout.decode(), newline=""))
        assert {cell.removeprefix("'") for row in [*rows][1:] for cell in row[:2]} == {*names}
