"""A study: tasks done one by one and remembered, and the tables and sentences made of their
answers.

Every study is run as a module, and writes NAME.json and NAME.md. A run that was interrupted goes on
where it was when the same command is given again, as long as nobody has changed the code.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, TextIO

from benchmarks.frame.command_line import DATA_HELP, DEFAULT_DATA, OneLineParser, command_line
from benchmarks.frame.output_files import DEFAULT_OUTPUT, ROOT, machine, write_json, write_text
from benchmarks.frame.tables import Table, table_lines

# What of an interrupted or finished run may be used again.

_PACKAGES = ("benchmarks", "fim_private")


def mark(
    function: Callable[..., Any], arguments: Mapping[str, Any], data: Path | None, settings: object
) -> str:
    """Return what must be the same for an answer to be the same: the code that makes it, the data,
    and settings.
    """
    made_by = repr((function.__qualname__, sorted(arguments.items()), settings, _data_mark(data)))
    # which has a name of its own where that is __main__
    spec = sys.modules[function.__module__].__spec__
    return hashlib.sha256(
        (_code_mark(spec.name if spec else function.__module__) + made_by).encode()
    ).hexdigest()[:16]


def _data_mark(data: Path | None) -> list[tuple[str, str]]:
    """Return the names and contents of the files of a folder: a copy of it has other dates."""
    files = sorted(file for file in data.iterdir() if file.is_file()) if data else []
    return [(file.name, _contents(file, file.stat().st_mtime_ns)) for file in files]


@cache
def _contents(file: Path, _: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@cache
def _code_mark(module: str) -> str:
    digest = hashlib.sha256()
    for file in sorted([*ROOT.glob("fim_private/**/*.pyx"), *code(module)]):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def code(module: str) -> set[Path]:
    """Return the files of this project that a module imports, and those that these import, and so
    on.
    """
    found: set[Path] = set()
    ahead = {module}
    while ahead:
        file = _file(ahead.pop())
        if file is not None and file not in found:
            found.add(file)
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.Import):
                    ahead.update(name.name for name in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    inner = (f"{node.module}.{name.name}" for name in node.names)
                    ahead.update(name if _file(name) else node.module for name in inner)
    return found


def _file(module: str) -> Path | None:
    """Return the file of a module of this project, None for another, and for what is no module."""
    if module.split(".")[0] not in _PACKAGES:
        return None
    path = ROOT.joinpath(*module.split("."))
    return next(
        (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None
    )


def finished(output: Path, marks: list[tuple[str, str]]) -> dict[str, Any] | None:
    """Return the results of a finished run of the same code. marks: the key and mark of each
    task.
    """
    try:
        results = json.loads(output.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    keys = [key for key, _ in marks]
    same = isinstance(results, dict) and results.get("mark") == of_all(marks)
    return results if same and list(results.get("answers", ())) == keys else None


def of_all(marks: list[tuple[str, str]]) -> str:
    """Return the mark of all tasks."""
    return hashlib.sha256(repr(marks).encode()).hexdigest()[:16]


def recall(remembered: Path) -> dict[tuple[str, str], Any]:
    """Return the answers of earlier runs by key and mark; a last line may be half written."""
    answers = {}
    if remembered.is_file():
        for line in remembered.read_text(encoding="utf-8").splitlines():
            try:
                key, mark, answer = json.loads(line)
            except ValueError:
                continue
            answers[key, mark] = answer
    return answers


def read(name: str, path: Path) -> dict[str, Any]:
    """Return the results of a study from its JSON; exits with one line if the file is something
    else.
    """
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        if results["study"] == name and isinstance(results["answers"], dict):
            return dict(results)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    print(f"{path.name} does not hold the results of the study {name}", file=sys.stderr)
    raise SystemExit(2)


PACKAGES = ("fim-private", "numpy", "pyarrow", "scipy", "opendp", "matplotlib")

# What a study has found: its circumstances, and under "answers" the JSON value of each task, by
# key.
Results = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """data: folder of real data, None where there is none. quick: a small setting, to see that all
    works.

    only: the names of the data sets to take, None for all.
    """

    data: Path | None = DEFAULT_DATA
    seed: int = 2014
    quick: bool = False
    only: tuple[str, ...] | None = None

    def takes(self, name: str) -> bool:
        """Whether a data set is to be taken."""
        return self.only is None or name in self.only


@dataclass(frozen=True)
class Task:
    """key: its name, once in a study. function: at the top level of a module, returns a JSON value
    of the arguments.
    """

    key: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """A heading with what there is to read from its tables."""

    title: str
    reading: str
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Study:
    """name: of its files. module: `python -m MODULE` runs it.

    tasks: returns the tasks, and the names of the data sets that are missing. workers: processes
    unless the command line says otherwise, None for one a core; 1 where time is what is measured.
    """

    name: str
    module: str
    question: str
    tasks: Callable[[Options], tuple[list[Task], list[str]]]
    sections: Callable[[Results], Iterable[Section]]
    workers: int | None = None


NOTHING = Section(
    "Nothing was measured", "No data set was found; --quick makes one and measures that."
)


def answers_of(results: Results, kind: str, apart: str = "|") -> dict[tuple[str, ...], Any]:
    """Return the answers of one kind, with which their keys begin, by what else is in the key."""
    split = ((key.split(apart), answer) for key, answer in results["answers"].items())
    return {tuple(rest): answer for (first, *rest), answer in split if first == kind}


def main(study: Study) -> None:
    """Run a study from the command line."""
    options = _parse(study)
    if options.read is not None:
        results = read(study.name, options.read)
    else:
        chosen = Options(options.data, options.seed, options.quick, options.only)
        results = run(
            study,
            chosen,
            options.output,
            options.workers,
            fresh=options.fresh,
            minutes=options.minutes,
        )
    folder = options.output.parent
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{options.output.stem}.md"
    write_text("\n".join(markdown(study, results)) + "\n", page)
    print("\n".join(summary(study, results)))
    written = [*([] if options.read else [options.output.name]), page.name]
    print(f"\nWritten to {folder}: {', '.join(written)}")


def _parse(study: Study) -> argparse.Namespace:
    example = f"Example: python -m {study.module} --quick --output /tmp/some.json"
    parser = OneLineParser(study.module, study.question, example)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help=DATA_HELP)
    parser.add_argument(
        "--output",
        type=Path,
        help=(
            f"JSON to write (default: build/benchmarks/{study.name}.json, with --quick "
            f"{study.name}_quick.json)"
        ),
    )
    parser.add_argument("--read", type=Path, help="run nothing: make the tables of this JSON")
    parser.add_argument(
        "--seed", type=int, default=2014, help="of all that is random (default: %(default)s)"
    )
    workers = study.workers or os.cpu_count() or 1
    told = "one a core" if study.workers is None else f"{workers}"
    parser.add_argument("--workers", type=int, default=workers, help=f"processes (default: {told})")
    parser.add_argument(
        "--quick", action="store_true", help="a small setting, to see that all works"
    )
    parser.add_argument(
        "--only",
        type=lambda text: tuple(text.split(",")),
        help="names of data sets with commas between; default: all",
    )
    parser.add_argument("--fresh", action="store_true", help="do again what the same code has done")
    parser.add_argument(
        "--minutes",
        type=float,
        default=math.inf,
        help=(
            "write what is done after so long, 0: what was done before; the same command "
            "without it does the rest"
        ),
    )
    options = parser.parse_args()
    if options.workers < 1:
        parser.error("--workers must be at least 1")
    if options.read is not None and not options.read.is_file():
        parser.error(f"--read: there is no file {options.read}")
    options.data = options.data if options.data is not None and options.data.is_dir() else None
    default = f"{study.name}_quick.json" if options.quick else f"{study.name}.json"
    options.output = options.output or options.read or DEFAULT_OUTPUT / default
    return options


def run(
    study: Study,
    options: Options,
    output: Path,
    workers: int = 1,
    *,
    fresh: bool = False,
    minutes: float = math.inf,
) -> Results:
    """Do all tasks that the same code has not yet done, and write the results as JSON.

    fresh: do all of them. minutes: do no more after so long; what is left is missing from the
    answers.
    """
    tasks, missing = study.tasks(options)
    keys = [task.key for task in tasks]
    assert len(set(keys)) == len(keys), "keys of tasks are unique"
    if missing:
        print(f"{study.name}: missing, so left out: {', '.join(missing)}", file=sys.stderr)
    output.parent.mkdir(parents=True, exist_ok=True)
    circumstances = machine(PACKAGES)
    settings = (options.seed, circumstances["versions"])
    marks = {
        task.key: mark(task.function, task.arguments, options.data, settings) for task in tasks
    }
    if not fresh and (done := finished(output, [*marks.items()])):
        print(f"{study.name}: done before by the same code; --fresh does it again", file=sys.stderr)
        return done
    remembered = output.with_suffix(".parts")  # what other code or options have left stays
    known = {} if fresh else recall(remembered)
    answers = {key: known[key, mark] for key, mark in marks.items() if (key, mark) in known}
    resumed = len(answers)
    start = time.monotonic()
    try:
        with remembered.open("w" if fresh else "a", encoding="utf-8") as parts:
            parts.write("\n")  # a last line may be half written
            left = [task for task in tasks if task.key not in answers] if minutes > 0 else []
            doing = _answers(left, workers)
            for key, answer in _progress(study, doing, resumed, len(tasks)):
                answers[key] = answer
                _remember([key, marks[key], answer], parts)
                if time.monotonic() - start > 60 * minutes:
                    doing.close()
                    break
    except KeyboardInterrupt:
        print(
            f"interrupted after {len(answers)} of {len(tasks)} tasks; the same command goes on "
            f"from there",
            file=sys.stderr,
        )
        raise SystemExit(130) from None
    results = {
        "study": study.name,
        "question": study.question,
        "command": command_line(study.module, sys.argv[1:]),
        **circumstances,
        "seed": options.seed,
        "quick": options.quick,
        "only": options.only,
        "mark": of_all([*marks.items()]),
        "seconds": round(time.monotonic() - start),
        "resumed": resumed,
        "missing": missing,
        "not_done": [key for key in keys if key not in answers],
        "answers": {key: answers[key] for key in keys if key in answers},
    }
    write_json(results, output)
    return results


def _remember(entry: list[Any], parts: TextIO) -> None:
    """Add a key, a mark and an answer to a file that `recall` reads."""
    parts.write(json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n")
    parts.flush()


def _answers(tasks: list[Task], workers: int) -> Generator[tuple[str, Any], None, None]:
    if workers == 1 or len(tasks) < 2:
        for task in tasks:
            yield task.key, task.function(**task.arguments)
        return
    # a process a core: threads below them only get in the way
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    ignore = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=signal.signal, initargs=ignore
    ) as pool:
        under_way = {pool.submit(task.function, **task.arguments): task.key for task in tasks}
        try:
            for future in as_completed(under_way):
                yield under_way[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in active_children():  # what is under way is not waited for
                process.terminate()
            raise


def _progress(
    study: Study, answers: Iterator[tuple[str, Any]], done: int, total: int
) -> Iterator[tuple[str, Any]]:
    """Pass the answers on, with a bar on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as bar:
        task = bar.add_task(study.name, total=total, completed=done)
        for key, answer in answers:
            bar.update(task, advance=1, description=f"{study.name}: {key}")
            yield key, answer


def markdown(study: Study, results: Results) -> Iterator[str]:
    """Yield the lines of a page."""
    yield f"# {study.question}\n"
    yield f"    {results['command']}\n"
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    setting = " (the small setting of --quick)" if results["quick"] else ""
    yield (
        f"{results['date']}, commit {results['commit'] or 'unknown'}, seed "
        f"{results['seed']}{setting};"
    )
    took = (
        f", {results['seconds']:,} s"
        if results.get("seconds") and not results.get("resumed")
        else ""
    )
    yield f"{results['cpu']}, {results['cores']} cores{took};"
    yield f"Python {results['python']}, {versions}."
    yield f"{left_out(results)}\n"
    for section in study.sections(results):
        yield f"## {section.title}\n"
        yield f"{section.reading}\n"
        for table in section.tables:
            yield from table_lines(table)


def left_out(results: Results) -> str:
    """Return a sentence about the data sets and tasks that are missing from the results."""
    return f"{_missing(results)}{_not_done(results)}"


def _missing(results: Results) -> str:
    if results["quick"]:
        return "The small setting leaves out the real data."
    if results.get("only"):
        return f"Of the data sets only these, as was asked for: {', '.join(results['only'])}."
    return (
        f"Missing, so left out: {', '.join(results['missing'])}."
        if results["missing"]
        else "No data set is missing."
    )


def _not_done(results: Results) -> str:
    left = len(results.get("not_done", ()))
    every = left + len(results.get("answers", ()))
    return (
        f" Of {every:,} tasks {left:,} have not been run, and are in no figure here."
        if left
        else ""
    )


def summary(study: Study, results: Results) -> Iterator[str]:
    """Yield what a reader of the terminal wants: the sentences."""
    yield study.question
    yield left_out(results)
    for section in study.sections(results):
        yield f"\n{section.title}\n  {section.reading}"
