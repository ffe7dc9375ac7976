"""Programs that tests run, and how long tests wait before they call one hung: no bound on speed."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PATIENCE = 300.0  # seconds; runners share their cores, and what takes 2 s alone has taken 30
CAPTURED: Any = {"capture_output": True, "timeout": PATIENCE, "check": False}
Done = subprocess.CompletedProcess[str]


def program(*words: object, folder: Path | None = None, **variables: str) -> Done:
    """Run a program until it ends. variables: of its environment, besides those of this process."""
    env = os.environ | variables
    return subprocess.run([*map(str, words)], cwd=folder, env=env, text=True, **CAPTURED)


def python(*words: object, folder: Path | None = None, **variables: str) -> Done:
    """Run Python, which must end well."""
    done = program(sys.executable, *words, folder=folder, **variables)
    assert done.returncode == 0, done.stderr[-2_000:]
    return done
