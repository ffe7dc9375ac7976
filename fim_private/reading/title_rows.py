"""What stands above a table, such as a title: it is refused, with the option that leaves it out.

Which lines are read follows from what the caller says alone; nothing is left out unasked.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fim_private.errors import DataError, parameter

# How many rows are looked at.
LOOKED_AT = 20


def refuse_title(rows: Sequence[tuple[int, Sequence[str]]], wanted: Collection[str], name: str) -> None:
    """Raise DataError where rows above that of the names plausibly are a title.

    rows: the first that are not blank, each with how many lines or rows stand above it, and its cells, without white
    space around them. wanted: the columns that were named. name: what errors call the file.
    """
    if (above := title_rows(rows, wanted)) is not None:
        raise DataError(
            f"{name} seems to have a title above its table: say {parameter('skip_rows')} {above} to leave out what "
            "stands above the names of the columns"
        )


def title_rows(rows: Sequence[tuple[int, Sequence[str]]], wanted: Collection[str]) -> int | None:
    """Return how many lines stand above the row that plausibly names the columns; None where it is the first.

    It is the first that has all columns that were named. Where none were named it is the first with as many cells as
    any, if that are two at least, and twice as many as the first row has.

    >>> title_rows([(0, ["Sales 2024", ""]), (2, ["order", "item"]), (3, ["1", "tea"])], [])
    2
    """
    held = [(above, {*cells}, sum(map(bool, cells))) for above, cells in rows if any(cells)]
    if not held:
        return None
    if wanted:
        place = next((place for place, (_, cells, _) in enumerate(held) if cells.issuperset(wanted)), 0)
        return held[place][0] if place else None
    most = max(count for _, _, count in held)
    above = next(above for above, _, count in held if count == most)
    return above if 2 * held[0][2] <= most else None
