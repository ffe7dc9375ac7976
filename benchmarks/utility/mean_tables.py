"""Tables of means by mechanism and k, and who is least, in the study of utility."""

from __future__ import annotations

from benchmarks.frame.study import Results
from benchmarks.frame.tables import Cell, Table
from benchmarks.utility.measures import Row, below, least, mean, means, names, rows_of
from benchmarks.utility.tasks import ENTRIES, UNIVERSE

# A rate of false negatives, and how right what was released is.
RATES = {"FNR": "fnr", "precision": "precision", "supported": "supported"}


def complete_rows(results: Results) -> list[Row]:
    """Return all settings but those of an entry, unit, relation, ε and δ of which some have not been run.

    Means over some of the data sets would be compared with means over all.
    """
    begun = {tuple(key.split("/")[2:]) for key in results.get("not_done", ())}
    answers = {key: answer for key, answer in results["answers"].items() if tuple(key.split("/")[2:]) not in begun}
    return rows_of({"answers": answers})


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


def against(rows: list[Row], entry: str) -> Table:
    """Return in how many settings an entry misses less than each other one, as much and more, and where by most.

    A setting is a data set, sizes and k; rows: of one ε and δ. Settings where both find nothing are as much.
    """
    settings = {(row.data, row.sizes, row.k): row.found["fnr"] for row in rows if row.entry == entry}
    lines: list[tuple[Cell, ...]] = []
    for other in ENTRIES:
        own = {(row.data, row.sizes, row.k): row.found["fnr"] for row in rows if row.entry == other}
        if other == entry or not (common := [setting for setting in settings if setting in own]):
            continue
        less = sum(below(settings[setting], own[setting]) for setting in common)
        more = sum(below(own[setting], settings[setting]) for setting in common)
        changes = {setting: settings[setting] - own[setting] for setting in common}
        ends = [pick(common, key=changes.__getitem__) for pick in (min, max)]
        most = [
            f"{abs(changes[end]):.3f} ({end[0]}, {end[1]}, k = {end[2]})" if some else None
            for end, some in zip(ends, (less, more), strict=True)
        ]
        lines.append((other, "yes" if other in UNIVERSE else "no", less, len(common) - less - more, more, *most))
    columns = ("misses less", "as much", "misses more", "most ahead by", "most behind by")
    return Table((f"{entry} against", "needs the items", *columns), tuple(lines))
