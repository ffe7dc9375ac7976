"""Every command and example in the documents runs, and shows what the documents say that it shows.

Conventions for the documents: commands stand in ``sh`` blocks (one a line), in ``console`` blocks
(after ``$ ``, with the whole output below; a line ``...`` stands for any lines, and lines may be
wrapped anywhere), or indented by four spaces. Python stands in ``python`` blocks, which one process
runs in order; a comment behind a ``print`` is what it prints. Files that do not come with the
project are made up, in the form that the command says.
"""

import gzip
import json
import math
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from commands import Done
from commands import run as run_command
from patience import PATIENCE
from real_data import REPOSITORY

import fim_private as fim
from fim_private.cli import writing

README = "README.md"
DOCUMENTS = [
    README,
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "datasets/README.md",
    *sorted(p.relative_to(REPOSITORY).as_posix() for p in (REPOSITORY / "docs").rglob("*.md")),
]
COMMAND_BLOCKS = {"sh", "bash", "shell", "console"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its lines, and the number of the line before it."""

    language: str
    lines: list[str]
    line: int


@dataclass(frozen=True)
class Command:
    """A command line of a document, and the output shown below it (None where none is shown)."""

    document: str
    line: int
    text: str
    output: str | None = None

    def __str__(self) -> str:
        return f"{self.document}:{self.line}: {self.text}"


def read(document: str) -> str:
    return (REPOSITORY / document).read_text(encoding="utf-8")


def blocks(document: str) -> Iterator[Block]:
    lines = iter(enumerate(read(document).splitlines(), 1))
    for number, line in lines:
        if line.startswith("```"):
            inside = [
                text for _, text in takewhile(lambda item: not item[1].startswith("```"), lines)
            ]
            yield Block(line.removeprefix("```").strip(), inside, number)


def outside_of_blocks(document: str) -> Iterator[tuple[int, str]]:
    """The lines of a document that are in no fenced block, with their numbers."""
    fenced = {
        n
        for block in blocks(document)
        for n in range(block.line, block.line + len(block.lines) + 2)
    }
    return ((n, line) for n, line in enumerate(read(document).splitlines(), 1) if n not in fenced)


def commands(document: str) -> Iterator[Command]:
    for block in blocks(document):
        if block.language == "console":
            yield from console_commands(document, block)
        elif block.language in COMMAND_BLOCKS:
            joined = "\n".join(block.lines).replace("\\\n", " " * 2)
            for number, line in enumerate(joined.split("\n"), block.line + 1):
                if line.strip() and not line.startswith("#"):
                    yield Command(document, number, line)
    for number, line in outside_of_blocks(document):
        if line.startswith("    fim-private "):
            yield Command(document, number, line.strip())


def console_commands(document: str, block: Block) -> Iterator[Command]:
    text = "\n".join(block.lines).replace("\\\n", " " * 2)
    assert text.startswith("$ "), (
        f"{document}:{block.line}: a console block begins with a command, after '$ '"
    )
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield Command(document, block.line + 1, command, output if output.strip() else None)


# Their commands start Spark, and need a PostgreSQL: test_spark.py and test_warehouse.py in
# tests/services run them. So does test_ledger_server.py with the commands that name a ledger there.
SERVICES = ("docs/spark.md", "docs/warehouse.md")
# Their commands follow on each other, and run so.
TOP_TO_BOTTOM = ("docs/a-shops-year.md", "docs/weekly-job.md")
COMMANDS = [
    command
    for document in DOCUMENTS
    if document not in SERVICES + TOP_TO_BOTTOM
    for command in commands(document)
    if " postgresql://" not in command.text
]
OURS = [command for command in COMMANDS if re.search(r"\bfim-private\b", command.text)]
OTHERS = [command for command in COMMANDS if command not in OURS]
PYTHON = {
    d: python
    for d in DOCUMENTS
    if d not in SERVICES and (python := [b for b in blocks(d) if b.language == "python"])
}


ITEMS = ["bread", "milk", "tea"]
BASKETS = [[0, 1]] * 600 + [[1, 2]] * 40 + [[0, 1, 2]] * 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to run in, with the data sets of the project."""
    (tmp_path / "datasets").symlink_to(REPOSITORY / "datasets", target_is_directory=True)
    return tmp_path


def make_up(path: Path, columns: list[str]) -> None:
    """Write baskets in the form of the path's suffix, with these columns if one row per item."""
    if path.exists() or any(path.parent.glob(path.name)):
        return
    rows = [
        (f"b{number}", ITEMS[item], f"u{number}")[: len(columns)]
        for number, basket in enumerate(BASKETS)
        for item in basket
    ]
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"create table sales ({', '.join(columns)})")
            connection.executemany(
                f"insert into sales values ({', '.join('?' * len(columns))})", rows
            )
            connection.commit()
        return
    if path.suffix in (".parquet", ".feather", ".arrow"):
        table = pa.table({"items": [[ITEMS[item] for item in basket] for basket in BASKETS]})
        if columns:
            table = pa.table(dict(zip(columns, zip(*rows, strict=True), strict=True)))
        (pq.write_table if path.suffix == ".parquet" else feather.write_feather)(table, path)
        return
    separator = " " if ".dat" in path.suffixes else ","
    lines = [columns, *rows] if columns else [[str(item) for item in basket] for basket in BASKETS]
    text = "".join(separator.join(line) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def make_up_catalogue(path: Path) -> None:
    if path.exists():
        return
    assert path.suffix in (".csv", ".txt"), "a catalogue in the documents is text"
    path.write_text("".join(f"{item}\n" for item in [*ITEMS, "jam", "rye"]))


def make_up_ledger(path: Path) -> None:
    if not path.exists():
        fim.Ledger.create(path, epsilon=3, delta=1e-5)


def make_up_options(path: Path, document: str) -> None:
    """Write the file of options that a document shows."""
    [shown] = [block.lines for block in blocks(document) if block.language == "toml"]
    path.write_text("\n".join(shown), encoding="utf-8")


def make_up_inputs(folder: Path, command: str, document: str) -> None:
    words = shlex.split(command, comments=True)
    if words[1:2] in (["show"], ["report"], ["statement"]) and not (folder / words[2]).exists():
        spent_in: dict[str, Any] = {}
        if "--ledger" in words:
            ledger = folder / words[words.index("--ledger") + 1]
            make_up_ledger(ledger)
            spent_in = {"ledger": fim.Ledger(ledger), "dataset": "sales"}
        fim.mine([["milk", "tea"]] * 700, rules=True, **spent_in).save(folder / words[2])
    if words[1:2] == ["changes"] and "--between" in words:
        rows = [
            (n, store, item)
            for n, store in enumerate(["north", "south"] * 700)
            for item in ("milk", "tea")
        ]
        table = pa.table(
            dict(zip(("n", "store", "item"), map(list, zip(*rows, strict=True)), strict=True))
        )
        asked: Any = {"basket": "n", "item": "item", "by": "store", "segments": "north,south"}
        fim.mine(table, top=2, **asked).save(folder / words[2])
    elif words[1:2] == ["changes"]:
        for name in (word for word in words[2:] if word.endswith((".json", ".parquet"))):
            fim.mine([["milk", "tea"]] * 700, top=2).save(folder / name)
    if words[1:3] in (["budget", "show"], ["budget", "export"]):
        make_up_ledger(folder / words[3])
    if "--config" in words:
        make_up_options(folder / words[words.index("--config") + 1], document)
    verb = next((word for word in words if word in ("mine", "count", "vote")), None)
    if verb is None:
        return
    option: dict[str, str] = {}
    files = []
    rest = iter(
        takewhile(lambda word: word not in ("|", ">", "&&"), words[words.index(verb) + 1 :])
    )
    for word in rest:
        if word in ("--help", "-h"):
            return
        if word in ("--supports", "--union", "--count", "--rules", "--quiet"):
            continue
        if word.startswith("--"):
            name, _, value = word.partition("=")
            option[name] = value or next(rest)
        else:
            files.append(word)
    if "--config" in option:
        files.append(
            tomllib.loads((folder / option["--config"]).read_text(encoding="utf-8"))["file"]
        )
    assert len(files) == 1, f"one file is mined: {command}"
    columns = [option[name] for name in ("--basket", "--item", "--user") if name in option]
    sources = (
        files
        if files != ["-"]
        else [word for word in words[: words.index(verb)] if Path(word).suffix]
    )
    for source in sources:
        make_up(folder / source.lstrip("<").removeprefix("sqlite:///"), columns)
    if "--itemsets" in option and not (folder / option["--itemsets"]).exists():
        (folder / option["--itemsets"]).write_text("milk,tea\n")
    if "--ledger" in option:
        make_up_ledger(folder / option["--ledger"])
    for name in ("--catalogue", "--with-each"):
        if name in option:
            make_up_catalogue(folder / option[name])


def environment() -> dict[str, str]:
    unwanted = {"FORCE_COLOR", "GITHUB_ACTIONS", "COLUMNS", "PYTHONIOENCODING"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    return {**kept, "PATH": path, "PYTHONUTF8": "1", "PYTHONWARNINGS": "error"}


def run(arguments: list[str], folder: Path, *, whole: bool = False) -> str:
    """Run a command, one of ours in this process; whole: with standard error."""
    done: Done | subprocess.CompletedProcess[str]
    if arguments[0] == "fim-private":
        done = run_command(folder, *arguments[1:])
    else:
        done = subprocess.run(
            arguments,
            cwd=folder,
            env=environment(),
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
            input="",
        )
    # The corner shop has customers, which some examples do not protect: a warning says so.
    said = ("Read as ", "Warning: column 'customer", "wrote ")
    errors = [line for line in done.stderr.splitlines() if line and not line.startswith(said)]
    assert (errors, done.returncode) == ([], 0)
    return f"{done.stderr}{done.stdout}" if whole else str(done.stdout)


def same(shown: str, printed: str) -> bool:
    """Whether a document shows what was printed: white space aside, and ``...`` for any lines."""
    if "95 % interval" in shown:  # noisy supports: no two runs show the same itemsets and numbers
        shown, printed = _without_noise(shown), _without_noise(printed)
    parts = re.split(r"^\s*(?:\.\.\.|…)\s*$", shown, flags=re.MULTILINE)
    pattern = r".*".join(r"\s+".join(map(re.escape, part.split())) for part in parts)
    return re.fullmatch(rf"\s*{pattern}\s*", printed, flags=re.DOTALL) is not None


def _without_noise(output: str) -> str:
    """What is printed, without the itemsets in its table and the widths that follow from them."""
    rows = re.sub(r"^│ \{.*$", "│ {}", output, flags=re.MULTILINE)
    # How certain they are, which the title and a line below say: now and then one is doubtful.
    rows = re.sub(
        r"^(?:The \d+ most frequent|\d+ candidates: ).*$", "…title", rows, flags=re.MULTILINE
    )
    rows = re.sub(
        r"^(?:\? may not be among|The rank is sure for all) .*$",
        "…certain",
        rows,
        flags=re.MULTILINE,
    )
    rows = re.sub(
        r"about [\d,]+ baskets in all \([\d,]+ to [\d,]+ with",
        "about … baskets in all (… with",
        rows,
    )
    return re.sub(r"─+", "─", re.sub(r" +", " ", rows))


# Those of the other documents differ little, and half of those without an output.
SHOWN = [c for c in OURS if c.document == README and c.output is not None]
PLAIN = [c for c in OURS if c.document == README and c.output is None]
RUN = [
    *SHOWN,
    *(
        c if c in PLAIN[::2] else pytest.param(c, marks=pytest.mark.full)
        for c in OURS
        if c not in SHOWN
    ),
]


@pytest.mark.parametrize("command", RUN, ids=str)
def test_commands_run_and_print_what_is_shown(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_up_inputs(folder, command.text, command.document)
    needs_shell = re.search(r"[|<>&*=;$]", command.text) or not command.text.startswith(
        "fim-private "
    )
    words = ["sh", "-c", command.text] if needs_shell else shlex.split(command.text, comments=True)
    whole = command.document == README
    if whole:  # as on a terminal, which shows more
        monkeypatch.setattr(writing, "_on_terminal", lambda: True)
        monkeypatch.setattr(writing, "_QUIET_SECONDS", math.inf)
    printed = run(words, folder, whole=whole)
    if command.output is not None:
        assert same(command.output, printed), f"shown:\n{command.output}\nprinted:\n{printed}"


@pytest.mark.full
@pytest.mark.every_case
@pytest.mark.parametrize("document", TOP_TO_BOTTOM)
def test_a_tutorial_runs_from_top_to_bottom(document: str, folder: Path) -> None:
    make_up_options(folder / "shop.toml", document)
    for command in commands(document):
        printed = run(shlex.split(command.text), folder)
        assert command.output is None or same(command.output, printed), (
            f"{command}\nprinted:\n{printed}"
        )


@pytest.mark.full
def test_readme_guide_and_the_command_of_inspect_follow_each_other_in_one_folder(
    folder: Path,
) -> None:
    assert len(read(README).encode()) <= 8_192
    for document in (README, "docs/guide.md"):
        for command in commands(document):
            if command in OURS:
                run(shlex.split(command.text, comments=True), folder)
        code = "\n".join(line for block in PYTHON[document] for line in block.lines)
        run([sys.executable, "-c", code], folder)
    seen = run(["fim-private", "inspect", "datasets/sales.csv.gz"], folder)
    suggested = seen.partition("To mine it: ")[2].splitlines()[0]
    assert "95 % interval" in run(shlex.split(suggested), folder)


@pytest.mark.parametrize(
    "document",
    # opendp is of the extra bench.
    [
        pytest.param(d, marks=[pytest.mark.full] if "opendp" in str(python) else [])
        for d, python in PYTHON.items()
    ],
)
def test_python_runs_and_prints_what_is_shown(document: str, folder: Path) -> None:
    code = "\n".join(line for block in PYTHON[document] for line in block.lines)
    for name in re.findall(r"""["']([^"'\s]+\.(?:parquet|dat|csv|feather))["']""", code):
        make_up(folder / name, [])
    shown = re.findall(r"^[^#\n]*\bprint\(.*\)\s+# (.*)$", code, flags=re.MULTILINE)
    printed = run([sys.executable, "-c", code], folder).splitlines()
    assert printed == shown


def plain(command: Command) -> str:
    return " ".join(shlex.split(command.text, comments=True))


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), flags=re.MULTILINE))


def is_known(command: str) -> bool:
    """Whether a command that is not run here is one that set-up consists of."""
    extras = set(tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"])
    if found := re.fullmatch(r"make ([a-z-]+)", command):
        return found[1] in targets()
    if found := re.fullmatch(
        r"(?:\S*/)?(?:pip|python3? -m pip) install (?:-e |--editable )?\.(?:\[(\S+)\])?", command
    ):
        return found[1] is None or set(found[1].split(",")) <= extras
    if found := re.fullmatch(r"(?:\S*/)?python3? (scripts/\S+\.py)", command):
        return (REPOSITORY / found[1]).is_file()
    set_up = (
        r"python3? -m venv \S+|(source|\.) \S+/bin/activate|git clone \S+|cd "
        r"\S+|(\S*/)?(python3? -m )?pytest( .*)?"
    )
    return re.fullmatch(set_up, command) is not None


@pytest.mark.parametrize("command", OTHERS, ids=str)
def test_other_commands_exist(command: Command) -> None:
    # make and pip are not run from here: they would build an environment and run this test in it.
    unknown = f"{command} is no command that this test knows: add it to is_known, or let it be run"
    for part in plain(command).split(" && "):
        assert is_known(part), unknown


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_command_hides_from_these_tests(document: str) -> None:
    for block in blocks(document):
        if block.language not in COMMAND_BLOCKS:
            hidden = [
                line for line in block.lines if re.match(r"(\$ |\s*fim-private |make )", line)
            ]
            assert not hidden, f"{document}:{block.line}: commands belong into sh or console blocks"


def inline_code(document: str) -> list[str]:
    text = "\n".join(line for _, line in outside_of_blocks(document))
    return [" ".join(code.split()) for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", text)]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Every option of every command, by its help."""
    folder = tmp_path_factory.mktemp("help")
    # The headings of the page of commands: "## budget create".
    names = re.findall(r"^## ([a-z]+(?: [a-z]+)?)$", read("docs/commands.md"), flags=re.MULTILINE)
    commands = [[], *(name.split() for name in names)]
    helps = (run(["fim-private", *command, "--help"], folder) for command in commands)
    return {*re.findall(r"(--[a-z-]+)", "".join(helps))}


@pytest.mark.every_case
@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_named_in_the_text_exists(document: str, options: set[str]) -> None:
    for code in inline_code(document):
        if found := re.fullmatch(r"make ([a-z-]+)", code):
            assert found[1] in targets(), f"{document}: `{code}`"
        if code.startswith(("fim-private", "--")):
            named = set(re.findall(r"(?<![\w-])--[a-z-]+", code))
            assert named <= options, f"{document}: `{code}`"
        if found := re.match(r"fim\.([A-Za-z]\w*)", code):
            assert hasattr(fim, found[1]), f"{document}: `{code}`"
        if re.fullmatch(r"(?:tests|scripts|docs|fim_private|datasets|\.ci)/[\w./-]+", code):
            assert (REPOSITORY / code).exists(), f"{document}: `{code}`"


NOTEBOOKS = [p.relative_to(REPOSITORY).as_posix() for p in sorted(REPOSITORY.glob("docs/*.ipynb"))]


def written(document: str) -> str:
    """What somebody wrote: of a notebook its cells of text."""
    if document not in NOTEBOOKS:
        return read(document)
    cells = json.loads(read(document))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def test_packages_to_install_exist() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    known = {*map(normal, [*project["dependencies"], *chain(*extras.values())]), "fim-private"}
    sources = [p.read_text(encoding="utf-8") for p in (REPOSITORY / "fim_private").rglob("*.py")]
    text = "\n".join([*map(written, [*DOCUMENTS, *NOTEBOOKS]), *sources])
    named = re.findall(r"pip\s+install\s+['\"]?([a-zA-Z][\w.-]*)(?:\[(\w+)\])?", text)
    assert len(named) > 10
    assert {normal(package) for package, _ in named} <= known
    assert {extra for package, extra in named if package == "fim-private" and extra} <= {*extras}
    assert {*re.findall(r"\bextra `(\w+)`", text)} <= {*extras}


def normal(package: str) -> str:
    """The name of a package, without its version, as all write it."""
    return re.split(r"[\[<>=]", package)[0].lower().replace("_", "-")


@pytest.mark.every_case
@pytest.mark.parametrize("document", [*DOCUMENTS, *NOTEBOOKS])
def test_links_lead_somewhere(document: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", written(document)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (REPOSITORY / document).parent / name if name else REPOSITORY / document
        assert path.exists(), f"{document}: {target}"
        if anchor:
            headings = re.findall(
                r"^#+ (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE
            )
            anchors = {
                re.sub(r"[^\w\s-]", "", heading.lower()).replace(" ", "-") for heading in headings
            }
            assert anchor in anchors, f"{document}: {target}"
