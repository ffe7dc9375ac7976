"""The command line of a benchmark: how it is read, and how a result tells it without the folders of
this machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

# datasets/README.md
DEFAULT_DATA = Path(os.environ["FIM_DATA"]) if os.environ.get("FIM_DATA") else None
DATA_HELP = "folder of real data sets, as Parquet (default: the environment variable FIM_DATA)"


class OneLineParser(argparse.ArgumentParser):
    """Of `python -m MODULE`: help keeps the lines of the description, and what is wrong is said in
    one line.
    """

    def __init__(self, module: str, description: str, example: str | None = None) -> None:
        lines = argparse.RawDescriptionHelpFormatter
        super().__init__(
            f"python -m {module}", description=description, epilog=example, formatter_class=lines
        )

    def error(self, message: str) -> NoReturn:
        """Exit with 2."""
        print(f"{self.prog}: {message}", file=sys.stderr)
        raise SystemExit(2)


def command_line(module: str, arguments: Sequence[str], real: bool = False) -> str:
    """Return the command without the folders of this machine. real: there were real data sets."""
    parts = [
        piece
        for part in arguments
        for piece in (part.split("=", 1) if part.startswith("--") else [part])
    ]
    for place_, part in enumerate(parts):
        if place_ and parts[place_ - 1] == "--data":
            parts[place_] = "DIR"
        elif Path(part).is_absolute() or part.startswith(".."):
            parts[place_] = Path(part).name
        if " " in parts[place_]:
            parts[place_] = f"'{parts[place_]}'"
    if real and "--data" not in parts:
        parts += ["--data", "DIR"]
    return " ".join([f"python -m {module}", *parts])
