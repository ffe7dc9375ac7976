"""What of an interrupted or finished run may be used again: answers of the same code to the same data."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.frame.output_files import ROOT


def mark(functions: Iterable[Callable[..., Any]], data: Path | None, settings: object) -> str:
    """Return what must be the same for answers to be the same: the code that makes them, the data, and settings."""
    digest = hashlib.sha256(repr(settings).encode())
    for file in sorted([*ROOT.glob("fim_private/**/*.py"), *ROOT.glob("fim_private/**/*.pyx"), *_code(functions)]):
        digest.update(file.read_bytes())
    for file in sorted(data.iterdir()) if data else []:
        digest.update(repr((file.name, file.stat().st_size, file.stat().st_mtime_ns)).encode())
    return digest.hexdigest()[:16]


def _code(functions: Iterable[Callable[..., Any]]) -> set[Path]:
    """Return the files of the benchmarks that the functions are made of, as far as names lead."""
    found: set[str] = set()
    ahead = {function.__module__ for function in functions}
    while ahead:
        name = ahead.pop()
        module = sys.modules[name]
        file = getattr(module, "__file__", None)
        if name not in found and file and ROOT / "benchmarks" in Path(file).parents:
            found.add(name)
            for value in vars(module).values():
                ahead.add(value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", name))
            ahead &= set(sys.modules)
    return {Path(str(sys.modules[name].__file__)) for name in found} - {ROOT / "benchmarks" / "frame" / "study.py"}


def finished(output: Path, mark: str, keys: list[str]) -> dict[str, Any] | None:
    """Return the results of a finished run of the same code."""
    try:
        results = json.loads(output.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    same = isinstance(results, dict) and results.get("mark") == mark and list(results.get("answers", ())) == keys
    return results if same else None


def recall(remembered: Path) -> dict[str, Any]:
    """Return the answers of an interrupted run; its last line may be half written."""
    answers = {}
    if remembered.is_file():
        for line in remembered.read_text(encoding="utf-8").splitlines():
            try:
                key, answer = json.loads(line)
            except ValueError:
                continue
            answers[key] = answer
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
