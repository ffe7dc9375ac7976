"""Tables of CSV, one of each segment, as one."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from fim_private.mining.csv_cells import csv_line


def by_segment(tables: Mapping[str, str]) -> str:
    """Return tables of CSV, under the names of their segments, as one, with the segment in a first column.

    tables: not yet safe for spreadsheets; what is returned is. Of different numbers of columns for items the most are
    taken.
    """
    read = {name: [*csv.reader(io.StringIO(table, newline=""))] for name, table in tables.items()}
    head = max((rows[0] for rows in read.values()), key=len)
    lines = [csv_line(["segment", *head], spreadsheet_safe=False)]
    for name, (own, *rows) in read.items():
        held = [dict(zip(own, row, strict=True)) for row in rows]
        lines += [csv_line([name, *(row.get(column, "") for column in head)], spreadsheet_safe=True) for row in held]
    return "".join(lines)
