"""What a ledger had added up to when it was seen here last: kept apart from it, in the user's state directory.

A ledger that was put back from an older copy lacks the entry that was the last then, or has another in its place. This
notices mistakes, on one machine and for one user; it is no protection from somebody who may write both. What was
verified once need not be read again: a copy of the ledger brings no such record with it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from fim_private.errors import OutputError
from fim_private.whole_files import staged

_HASH = re.compile(r"[0-9a-f]{64}")
_RATIONAL = re.compile(r"[0-9a-f]+/[1-9a-f][0-9a-f]*")
_SUMS = ("epsilon", "delta", "rho", "zcdp_delta")


@dataclass(frozen=True)
class Verified:
    """What was verified of a ledger up to an entry.

    terms, first: the hashes of its terms, and of its first entry (of the terms where there is none). unit_columns:
    which columns named the unit, of the first entry that says. spent: what the entries add up to, exactly.
    """

    terms: str
    first: str
    unit_columns: tuple[str, ...] | None
    spent: Mapping[str, Fraction]


@dataclass(frozen=True)
class LastSeen:
    """entries: how many there were, >= 0. hash: of the last of them, or of the terms.

    verified: None in a record of an earlier version, which kept no more.
    """

    entries: int
    hash: str
    verified: Verified | None = None


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
        seen = LastSeen(record["entries"], record["hash"], _verified(record.get("verified")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    whole = isinstance(seen.entries, int) and isinstance(seen.hash, str) and _HASH.fullmatch(seen.hash)
    return seen if whole else None


def remember(ledger: str, seen: LastSeen) -> bool:
    """Write the record of a ledger, by its id, unless there is one of more entries. Return whether it is there then."""
    if (place := folder()) is None:
        return False
    kept = noted(ledger)
    if kept is not None and (kept.entries > seen.entries or kept == seen):
        return True
    values = asdict(seen)
    if seen.verified is not None:
        values["verified"]["spent"] = {name: _written(value) for name, value in seen.verified.spent.items()}
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with staged(place / f"{ledger}.json") as write:
            write(json.dumps(values))
    except (OSError, OutputError):
        return False
    return True


def _verified(values: Any) -> Verified | None:
    """Return what was verified, of plain values. Raises ValueError, KeyError or TypeError for what is none."""
    if values is None:
        return None
    columns = values["unit_columns"]
    spent = {name: _read(values["spent"][name]) for name in _SUMS}
    return Verified(values["terms"], values["first"], None if columns is None else tuple(columns), spent)


def _written(value: Fraction) -> str:
    """Return a sum as text: in hexadecimal, for which there is no limit of digits."""
    return f"{value.numerator:x}/{value.denominator:x}"


def _read(text: str) -> Fraction:
    """Return the sum that `_written` wrote. Raises ValueError for anything else."""
    if not _RATIONAL.fullmatch(text):
        raise ValueError("no sum")
    return Fraction(*(int(part, 16) for part in text.split("/")))
