"""What of an interrupted or finished run may be used again: answers of the same code to the same data."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.frame.output_files import ROOT

_PACKAGES = ("benchmarks", "fim_private")


def mark(function: Callable[..., Any], arguments: Mapping[str, Any], data: Path | None, settings: object) -> str:
    """Return what must be the same for an answer to be the same: the code that makes it, the data, and settings."""
    made_by = repr((function.__qualname__, sorted(arguments.items()), settings, _data_mark(data)))
    spec = sys.modules[function.__module__].__spec__  # which has a name of its own where that is __main__
    return hashlib.sha256((_code_mark(spec.name if spec else function.__module__) + made_by).encode()).hexdigest()[:16]


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
    """Return the files of this project that a module imports, and those that these import, and so on."""
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
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def finished(output: Path, marks: list[tuple[str, str]]) -> dict[str, Any] | None:
    """Return the results of a finished run of the same code. marks: the key and mark of each task."""
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
    """Return the results of a study from its JSON; exits with one line if the file is something else."""
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        if results["study"] == name and isinstance(results["answers"], dict):
            return dict(results)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    print(f"{path.name} does not hold the results of the study {name}", file=sys.stderr)
    raise SystemExit(2)
