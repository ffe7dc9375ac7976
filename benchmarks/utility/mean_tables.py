"""Tables of means by mechanism and k, and who is least, in the study of utility."""

from __future__ import annotations

from benchmarks.frame.tables import Cell, Table
from benchmarks.utility.measures import Row, least, mean, means, names
from benchmarks.utility.tasks import ENTRIES, UNIVERSE

# A rate of false negatives, and how right what was released is.
RATES = {"FNR": "fnr", "precision": "precision", "supported": "supported"}


def by_k(rows: list[Row], fields: dict[str, str]) -> Table:
    """Return the means of some measures by entry and k. fields: the measures by what they are called, "" for none."""
    counts = sorted({row.k for row in rows})
    lines: list[tuple[Cell, ...]] = []
    for entry in ENTRIES:
        own = [[row for row in rows if row.entry == entry and row.k == k] for k in counts]
        if any(own):
            cells = (mean(part, field) for part in own for field in fields.values())
            lines.append((entry, "yes" if entry in UNIVERSE else "no", *cells))
    columns = [f"k = {k}" + (name and f": {name}") for k in counts for name in fields]
    return Table(("mechanism", "needs the items", *columns), tuple(lines))


def best(rows: list[Row], counts: list[int]) -> str:
    """Say for each k who misses least."""
    return f"{'. '.join(f'k = {k}: {least_at(rows, k)}' for k in counts)}."


def least_at(rows: list[Row], k: int) -> str:
    """Say who misses least at a k, and who of those that are not told the items."""
    known = means(row for row in rows if row.k == k)
    unknown = {entry: value for entry, value in known.items() if entry not in UNIVERSE}
    text = names(known)
    return text if least(known) == least(unknown) else f"{text}; of those not told the items {names(unknown)}"
