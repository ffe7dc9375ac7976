"""Which entry of a ledger was the last when it was used here: kept apart from it, in the user's state directory.

A ledger that was put back from an older copy lacks that entry, or has another in its place. This notices mistakes, on
one machine and for one user; it is no protection from somebody who may write both.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class LastSeen:
    """entries: how many there were, >= 0. hash: of the last of them, or of the terms."""

    entries: int
    hash: str


def folder() -> Path | None:
    """Return where these records are kept: in $XDG_STATE_HOME, or ~/.local/state; None without a home directory."""
    base = os.environ.get("XDG_STATE_HOME", "")
    try:
        state = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return state / "fim-private" / "ledgers"


def noted(ledger: str) -> LastSeen | None:
    """Return the record of a ledger, by its id; None where there is none that can be read."""
    if (place := folder()) is None:
        return None
    try:
        record = json.loads((place / f"{ledger}.json").read_text(encoding="ascii"))
        seen = LastSeen(record["entries"], record["hash"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    whole = isinstance(seen.entries, int) and isinstance(seen.hash, str) and _HASH.fullmatch(seen.hash)
    return seen if whole else None


def remember(ledger: str, seen: LastSeen) -> bool:
    """Write the record of a ledger, by its id, unless there is one of more entries. Return whether it is there then."""
    if (place := folder()) is None:
        return False
    kept = noted(ledger)
    if kept is not None and kept.entries >= seen.entries:
        return True
    part = place / f".{uuid4().hex}.part"
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with part.open("w", encoding="ascii") as stream:
            json.dump({"entries": seen.entries, "hash": seen.hash}, stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(place / f"{ledger}.json")
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        return False
    return True
