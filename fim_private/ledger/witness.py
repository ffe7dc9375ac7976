"""What this machine saw of a ledger last, apart from the ledger.

A ledger that was put back from an older copy lacks the entry that was the last then, or has another
in its place. One that was renewed has a second record, so that no copy of it is taken for the
ledger again. This notices mistakes, on one machine and for one user; it is no protection from
somebody who may write both. What was verified once is not read again.
"""

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from fim_private.dp.accountant import COSTS, SUMS, Reach, Spent
from fim_private.errors import OutputError
from fim_private.ledger.chain import NO_RECORD
from fim_private.whole_files import staged


class LastSeen(NamedTuple):
    """What the entries of a ledger add up to, once they are verified.

    entries: how many there are. hash: of the last, or of the terms. terms, first: hashes of the
    terms, and of the first entry, or the terms. unit_columns: the first that an entry has. spent:
    the sums of each reach.
    """

    entries: int
    hash: str
    terms: str
    first: str
    unit_columns: tuple[str, ...] | None
    spent: Spent


# Where no file can be: the home directory of a user who has none.
NO_HOME = Path(os.devnull)


def folder() -> Path:
    """Return where these records are: in $XDG_STATE_HOME, or ~/.local/state."""
    base = os.environ.get("XDG_STATE_HOME", "")
    try:
        state = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        state = NO_HOME
    return state / "fim-private" / "ledgers"


def noted(ledger: str) -> LastSeen | None:
    """Return the record of a ledger, by its id; None where there is none that can be read."""
    try:
        record = json.loads((folder() / f"{ledger}.json").read_text(encoding="ascii"))
        verified = record["verified"]
        columns = verified["unit_columns"]
        spent = {_reach(reach): _sums(written) for reach, written in verified["reaches"]}
        return LastSeen(
            int(record["entries"]),
            record["hash"],
            verified["terms"],
            verified["first"],
            columns and tuple(columns),
            spent,
        )
    except (OSError, ZeroDivisionError, *NO_RECORD):
        return None


def remember_renewal(ledger: str) -> None:
    """Note that the ledger with an id was renewed, so that no older copy of it is charged again.

    Where that cannot be written it is tried again whenever the ledger that followed is opened.
    """
    if not was_renewed(ledger):
        _write(f"{ledger}.renewed", "")  # that the file is there says it all


def was_renewed(ledger: str) -> bool:
    """Return whether the ledger with an id is known here to have been renewed."""
    try:
        return (folder() / f"{ledger}.renewed").exists()
    except OSError:  # a folder that this user may not look into
        return False


def remember(ledger: str, seen: LastSeen) -> bool:
    """Write the record of a ledger, by its id, unless there is one of more entries. Return whether
    it is there then.
    """
    before = noted(ledger)
    if before is not None and (before.entries > seen.entries or before == seen):
        return True
    # In hexadecimal, for which there is no limit of digits.
    spent = [
        (reach, [f"{sums[name].numerator:x}/{sums[name].denominator:x}" for name in SUMS])
        for reach, sums in seen.spent.items()
    ]
    values = {
        "entries": seen.entries,
        "hash": seen.hash,
        "verified": {
            "terms": seen.terms,
            "first": seen.first,
            "unit_columns": seen.unit_columns,
            "reaches": spent,
        },
    }
    return _write(f"{ledger}.json", json.dumps(values))


def _write(name: str, content: str) -> bool:
    """Write one of these records. Return whether it is there then."""
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with staged(place / name) as write:
            write(content)
    except (OSError, OutputError):
        return False
    return True


def _sums(written: list[str]) -> dict[str, Fraction]:
    if len(written) == len(COSTS):  # of an earlier version, which knew no normal noise
        written = [*written, "1/1"]
    return dict(zip(SUMS, map(_read, written), strict=True))


def _read(text: str) -> Fraction:
    return Fraction(*[int(digits, 16) for digits in text.split("/")])


def _reach(record: Any) -> Reach | None:
    if record is None:
        return None
    (time, baskets, per), first, last = record
    return (time, tuple(baskets), per), int(first), int(last)
