"""Where the project and the results are, and how a result is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_OUTPUT = ROOT / "build" / "benchmarks"


def write_json(results: dict[str, Any], output: Path) -> None:
    """Write all or nothing."""
    write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", output)


def write_text(text: str, output: Path) -> None:
    """Write all or nothing."""
    temporary = output.with_name(output.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(output)
