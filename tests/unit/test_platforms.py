"""Other systems, as far as they can be played here."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import CAPTURED
from real_data import REPOSITORY

import fim_private as fim
from fim_private import whole_files
from fim_private.display import command_line
from fim_private.whole_files import staged

SHOP = REPOSITORY / "datasets" / "corner_shop.parquet"

# What Windows has not. There nobody removes, renames or replaces a file that is open, and a folder
# cannot be opened.
WINDOWS = """
import os, signal, sys
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
for name in ("SIGHUP", "SIGQUIT", "SIGUSR1", "SIGPIPE", "SIGALRM"):
    delattr(signal, name)
for name in (
    "sched_getaffinity", "fork", "geteuid", "getuid", "fchmod", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "sysconf",
    "sysconf_names", "mkfifo", "link",
):
    delattr(os, name)

def held(*paths):
    for path in paths:
        for each in os.listdir("/proc/self/fd"):
            try:
                if os.path.realpath(path) == os.readlink(f"/proc/self/fd/{each}"):
                    raise PermissionError(13, "another program has it open", str(path))
            except FileNotFoundError:
                pass

def guarded(call):
    return lambda *paths, **more: (held(*paths), call(*paths, **more))[1]

for name in ("replace", "rename", "unlink", "remove"):
    setattr(os, name, guarded(getattr(os, name)))
opened = os.open

def open_file(path, *how, **more):
    if isinstance(path, (str, os.PathLike)) and os.path.isdir(path):
        raise PermissionError(13, "it is a folder", str(path))
    return opened(path, *how, **more)

os.open = open_file
"""  # noqa: E501
RUN = """
from fim_private.cli import main
for words in COMMANDS:
    sys.argv = ["fim-private", *words.split()]
    try:
        main()
    except SystemExit as end:
        print("exit", end.code, words, flush=True)
"""
CHARGED = "--ledger sales.ledger --dataset sales"
COMMANDS = [
    "--help",
    "mine --help",
    "plan --top 10,50 --typical-basket 10",
    "audit --mechanism distance --trials 0",
    "inspect shop.parquet",
    "budget create sales.ledger --epsilon 5 --delta 1e-5",
    *[f"mine shop.parquet --top 5 --rules {CHARGED} --output a.json --report a.html"] * 2,
    "budget show sales.ledger --verify",
    "show a.json --rules",
    "mine shop.parquet --top 5 --count",
]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are seen in /proc")
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.one_in(2)
def test_nothing_of_linux_is_needed(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "shop.parquet").write_bytes(SHOP.read_bytes())
    names = [f".fim-private.{letter * 32}.part" for letter in "ab"]
    for name in names:
        (tmp_path / name).write_bytes(b"left by a killed process, or not yet written")
    os.utime(tmp_path / names[0], (0, 0))
    code = f"{WINDOWS}\nCOMMANDS = {COMMANDS!r}\n{RUN}"
    settings = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "COLUMNS": "100"}
    env = {**os.environ, **settings, "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, **CAPTURED)
    said = done.stderr.decode(encoding)
    assert "Traceback" not in said, said
    shown = done.stdout.decode(encoding)
    ended = [line.strip() for line in shown.splitlines() if line.startswith("exit ")]
    assert ended == [f"exit 0 {words}" for words in COMMANDS], said
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["itemsets"]
    assert "ρ" in (tmp_path / "a.html").read_text(encoding="utf-8")
    made = (".part", ".ledger", ".json", ".html")
    left = {path.name for path in tmp_path.iterdir() if path.suffix in made}
    # one that is old goes, and one that is new stays
    assert left == {names[1], "sales.ledger", "a.json", "a.html"}


def test_an_open_file_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[Path] = []
    replace = Path.replace

    def busy(self: Path, target: Path) -> Path:
        refused.append(self)
        if len(refused) < 3:
            raise PermissionError(13, "it is open")
        return replace(self, target)

    monkeypatch.setattr(whole_files, "fcntl", None)
    monkeypatch.setattr(whole_files, "_PAUSE", 0)
    monkeypatch.setattr(Path, "replace", busy)
    with staged(tmp_path / "a.txt") as write:
        write("tea")
    assert (len(refused), (tmp_path / "a.txt").read_text(encoding="utf-8")) == (3, "tea")
    monkeypatch.setattr(whole_files, "_PATIENCE", 0)
    refused.clear()
    with pytest.raises(fim.OutputError, match="permission denied; choose"), staged(tmp_path / "b"):
        time.sleep(0.001)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_command_to_copy_is_quoted_for_its_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["mine", "my sales.csv", "--delimiter", ";"]
    assert command_line(words) == "mine 'my sales.csv' --delimiter ';'"
    monkeypatch.setattr(os, "name", "nt")
    assert command_line(words) == 'mine "my sales.csv" --delimiter ;'
