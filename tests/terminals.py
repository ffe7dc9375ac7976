"""Commands on a terminal: a pair of pseudo-terminals, read until the command closes its side."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from patience import PATIENCE


@dataclass(frozen=True)
class Seen:
    """What a command showed: on the terminal, as it was sent, and what went elsewhere."""

    screen: str
    stdout: str
    stderr: str
    returncode: int

    @property
    def plain(self) -> str:
        """The screen without styles, its lines as text has them."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self.screen).replace("\r\n", "\n")


def on_terminal(
    command: Sequence[object],
    *,
    env: Mapping[str, str],
    stdout: bool = True,
    stderr: bool = True,
    folder: Path | None = None,
) -> Seen:
    """Run a command; stdout, stderr: which of the two is a terminal. The test is skipped where
    there are none.

    The screen is read before what goes elsewhere, of which there must be little.
    """
    pty = pytest.importorskip("pty")
    reader, terminal = pty.openpty()
    with subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=terminal if stdout else subprocess.PIPE,
        stderr=terminal if stderr else subprocess.PIPE,
    ) as process:
        os.close(terminal)
        shown = b""
        try:
            while block := os.read(reader, 1 << 16):
                shown += block
        except OSError:
            pass  # how Linux says that the other side is closed
        out, error = ((other or b"").decode() for other in process.communicate(timeout=PATIENCE))
    os.close(reader)
    return Seen(shown.decode(), out, error, process.returncode)
