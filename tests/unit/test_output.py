"""What is shown fits the screen. A file is written whole or not at all."""

import errno
import json
import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from patience import PATIENCE
from rich.text import Text

from fim_private import whole_files
from fim_private.errors import DataError, OutputError
from fim_private.output.screen import Grid, Screen
from fim_private.whole_files import staged


def shown(screen: Screen, **options: Any) -> str:
    table = Grid(["ε", "words"], [["1", "word " * 50]], text=range(2))
    return screen.render([Text("δ → ρ " * 50, style="bold"), table], **options)


def test_a_file_holds_every_letter_and_no_colours() -> None:
    line, *table = shown(Screen(), plain_width=30).splitlines()
    assert line == "δ → ρ " * 50
    assert max(map(len, table)) == 30
    assert table[1].startswith("│ ε │ words")


def plain(text: str) -> str:
    return re.sub("\x1b.*?m", "", text)


def test_a_terminal_has_its_own_width_and_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = shown(Screen(colour=True), plain_width=30)
    assert text.startswith("\x1b[1mδ → ρ")
    lines = [line.rstrip() for line in plain(text).splitlines()]
    assert max(map(len, lines)) == 40
    assert max(len(line) for line in lines if line.startswith("δ")) <= 40


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_a_screen_cannot_show_is_escaped_before_a_table_is_laid_out(encoding: str) -> None:
    rows = [["±1", label, "x"] for label in ("{café}", "{…, π}", "{tea}")]
    table = Grid(["ε", "itemset", "π"], rows, text=range(3))
    first, *others = Screen(ascii_only=True, encoding=encoding).render([table]).splitlines()
    assert {len(line) for line in others} == {len(first)}
    assert others[0].split() == ["|", "epsilon", "|", "itemset", "|", r"\u03c0", "|"]
    assert ("{café}" if encoding == "latin-1" else r"{caf\xe9}") in "".join(others)
    assert r"{..., \u03c0}" in "".join(others)


TEXT = "anticonstitutionnellement of any replacing {semi-skimmed milk, tea bags} 8,690 1e-06"
WORDS = TEXT.split()


def wide_table(columns: int) -> Grid:
    headings = ["head\nline" if place % 2 else "title" for place in range(columns)]
    width = range(columns)
    rows = [[" ".join(WORDS[(row + n) % 5 :][: 1 + n % 4]) for n in width] for row in range(4)]
    return Grid(headings, rows, text=range(0, columns, 2))


@pytest.mark.parametrize("width", [26, 40, 60, 80, 120])
@pytest.mark.parametrize("columns", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_no_word_is_broken(monkeypatch: Any, width: int, columns: int, ascii_only: bool) -> None:
    if width == 26 and columns > 1:
        width = 30  # rows one by one are indented
    monkeypatch.setenv("COLUMNS", str(width))
    screen = Screen(colour=True, ascii_only=ascii_only)
    text = plain(screen.render([Text(" ".join(WORDS * 3)), wide_table(columns)]))
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    found = set(re.split(r"[\s│╭╮╰╯─┬┴┼├┤|+:]+", text)) - {"", "-", "head", "line", "title"}
    assert {word for word in found if set(word) != {"-"}} <= {*WORDS}
    assert {*WORDS} <= found


def test_what_is_to_be_copied_is_left_as_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    command = "fim-private plan " + "--units 100000 " * 5
    assert plain(Screen(colour=True).render([Text(command, no_wrap=True)])) == command + "\n"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_file_appears_at_the_end_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "release.json"
    with staged(path) as write:
        write("ε\n")
        write(b"\x89\xff\r\n")
        assert names(tmp_path) == []
    assert path.read_bytes() == "ε\n".encode() + b"\x89\xff\r\n"
    assert names(tmp_path) == ["release.json"]


def fail_halfway(path: Path, error: BaseException) -> None:
    with staged(path) as write:
        write("half of it")
        raise error


@pytest.mark.parametrize(
    "error", [DataError("no such column"), KeyboardInterrupt(), SystemExit(1), RuntimeError()]
)
@pytest.mark.parametrize("existing", [True, False])
def test_nothing_is_left_on_failure(tmp_path: Path, existing: bool, error: BaseException) -> None:
    path = tmp_path / "release.json"
    if existing:
        path.write_text("old")
    with pytest.raises(type(error)) as caught:
        fail_halfway(path, error)
    assert caught.value is error
    assert names(tmp_path) == (["release.json"] if existing else [])
    assert not existing or path.read_text() == "old"


def entered(path: Path) -> bool:
    with staged(path):
        return True


@pytest.mark.parametrize("refused", ["stat", "open"])
def test_refused_at_once(refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, system = tmp_path / "release.json", getattr(os, refused)

    def refuse(asked: Any, *arguments: Any, **options: Any) -> Any:
        if not str(asked).startswith(f"{tmp_path}{os.sep}"):
            return system(asked, *arguments, **options)
        raise PermissionError(errno.EACCES, "Permission denied")

    # Whoever runs the tests may be root, who may write anything: so the system's answer is made up.
    monkeypatch.setattr(os, refused, refuse)
    with pytest.raises(OutputError, match=r"cannot write .*: permission denied; choose"):
        entered(path)
    monkeypatch.undo()
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere/release.json", "the folder .*nowhere'? does not exist; create it first"),
        ("file/release.json", ".*"),
        ("r" * 256, "the name is too long"),
        ("loop", "its links lead back to themselves"),
        ("nul\0.json", "no file can have this name"),
        ("folder", "it is a folder; give output a file name"),
    ],
)
def test_names_that_no_file_has_fail_at_once(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match=rf"^cannot write .*: {reason}") as caught:
        entered(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == ["file", "folder", "loop"]


def test_half_a_surrogate_pair_is_written_as_its_escape(tmp_path: Path) -> None:
    write(tmp_path / "release.json", '["\ud800", "é"]')
    assert json.loads((tmp_path / "release.json").read_text(encoding="utf-8")) == ["\ud800", "é"]


def write(path: Path, text: str) -> None:
    with staged(path) as add:
        add(text)


def test_a_planted_link_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "kept"
    kept.write_text("mine")
    (tmp_path / f".fim-private.{os.getpid()}.part").symlink_to(kept)
    write(tmp_path / "release.json", "text")
    assert kept.read_text() == "mine"
    # Nor does it where somebody has guessed the name.
    monkeypatch.setattr(whole_files, "uuid4", lambda: UUID(int=0))
    (tmp_path / f".fim-private.{'0' * 32}.part").symlink_to(kept)
    with pytest.raises(OutputError):
        write(tmp_path / "release.json", "more")
    assert kept.read_text() == "mine"
    assert (tmp_path / "release.json").read_text() == "text"


KILLED = """
import os, signal, sys
from pathlib import Path
from fim_private.whole_files import staged

def stop(temporary, _):
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    print(temporary.name, flush=True)
    input()

Path.replace = stop
with staged(Path(sys.argv[1])) as write:
    write("half of it")
"""


def test_what_a_killed_process_leaves_is_removed_and_nobody_elses(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "other.json")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [*command, "alive"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as alive:
        assert alive.stdout is not None
        # Said once it writes in earnest: the file that only tries the folder is gone by then.
        writing = alive.stdout.readline().strip()
        subprocess.run([*command, "killed"], env=environment, timeout=PATIENCE, check=False)
        assert len(names(tmp_path)) == 2
        (tmp_path / f".fim-private.{'x' * 32}.part").touch()
        os.mkfifo(tmp_path / f".fim-private.{'0' * 32}.part")
        others = {writing, f".fim-private.{'x' * 32}.part", f".fim-private.{'0' * 32}.part"}
        write(tmp_path / "release.json", "text")
        assert {*names(tmp_path)} == {*others, "release.json"}
        alive.kill()


def test_it_is_on_disk_before_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    replace, sync = Path.replace, os.fsync

    def synced(handle: int) -> None:
        state = os.fstat(handle)
        done.append("folder" if stat.S_ISDIR(state.st_mode) else f"{state.st_size} bytes")
        sync(handle)

    def renamed(part: Path, place: Path) -> Path:
        done.append("name")
        return replace(part, place)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    write(tmp_path / "release.json", "text")
    assert done == ["4 bytes", "name", "folder"]


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_permissions_as_new_files_have(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write(tmp_path / "release.json", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "release.json").stat().st_mode & 0o777 == mode


def test_a_link_keeps_its_place_and_a_file_its_permissions(tmp_path: Path) -> None:
    path, link = tmp_path / "release.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o600)
    link.symlink_to(path)
    write(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_device_is_an_output_error() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(OutputError, match=r"cannot write '?/dev/full"):
        write(Path("/dev/full"), "text")


def test_a_named_pipe_is_written_directly(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(path.read_text()))
    reader.start()
    write(path, "text")
    reader.join(10)
    assert received == ["text"]
    assert path.is_fifo()
    assert names(tmp_path) == ["pipe"]
