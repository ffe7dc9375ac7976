"""Tables of texts and numbers, and how they are written in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows of texts and numbers; numbers are written with four significant digits."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def table_lines(table: Table) -> Iterator[str]:
    """Yield a table in Markdown."""
    numeric = [
        all(not isinstance(row[i], str) for row in table.rows) for i in range(len(table.columns))
    ]
    columns = [column.replace("|", "\\|") for column in table.columns]
    yield from markdown_table(columns, (map(cell, row) for row in table.rows), numeric)


def markdown_table(
    columns: Sequence[str], rows: Iterable[Iterable[str]], right: Iterable[bool]
) -> Iterator[str]:
    """Yield a table of texts in Markdown, and an empty line. right: which columns stand on the
    right.
    """
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join('---:' if numeric else '---' for numeric in right)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def cell(value: Cell) -> str:
    """Write a value for a table in Markdown."""
    return written(value).replace("|", "\\|")


def written(value: Cell) -> str:
    """Write a number with four significant digits, and nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        if 0 < abs(value) < 1e-12:
            return "< 1e-12"
        if value and not 1e-4 <= abs(value) < 1e7:
            return f"{value:.2e}"
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value


def floored(share: float) -> str:
    """Return a probability with four digits, rounded down: no 1.0000 for less than 1."""
    return f"{math.floor(share * 10_000) / 10_000:.4f}" if math.isfinite(share) else "unknown"
