"""What ends a command from outside: a signal becomes an exception, so that nothing half-written stays."""

from __future__ import annotations

import signal
import sys
from typing import Any


def end_on_signals() -> None:
    """Exit with 128 and the number of the signal when terminated or hung up on; Ctrl-C is Python's own affair.

    A signal that is ignored, as after nohup, stays ignored.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not every system has each
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, frame: Any) -> None:
    """Exit with 128 and the number of the signal."""
    sys.exit(128 + number)
