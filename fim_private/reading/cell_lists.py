"""Cells of a column of items that hold lists, `a, b` or `['a', 'b']`: refused, unless it is said where to cut.

How a cell is cut follows from that cell alone. Whether it is to be cut does not, for names have commas in them: so the
first cells of a column are looked at, to refuse it where both are plausible, and for nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading.arrow_labels import as_texts
from fim_private.reading.arrow_numpy import arrow_of, arrow_strings
from fim_private.reading.dialect import DELIMITERS
from fim_private.reading.other_readings import SAMPLE

_BRACKETS = ("[]", "()", "{}")
# One cell may have what its form hardly has, if it has it once: "eggs, large".
_FEW = 2


class ListsInCellsError(DataError):
    """Cells look like lists. split: the character between their items."""

    def __init__(self, message: str, split: str) -> None:
        super().__init__(message)
        self.split = split


def split_cells(cells: pa.Array, split: str) -> pa.Array:
    """Return the items of each cell, cut at a character: (n,) Arrow lists of strings, null for a missing cell.

    cells: (n,) Arrow array of texts, plain or of a dictionary. split: a space means any white space. Brackets around a
    cell, and quotes around an item, are taken off; what is in quotes is not cut.

    >>> split_cells(pa.array(["['a', 'b, c']", "d,e", None]), ",").to_pylist()
    [['a', 'b, c'], ['d', 'e'], None]
    """
    encoded = cells if pa.types.is_dictionary(cells.type) else as_texts(cells).dictionary_encode()
    items = [items_of_cell(text, split) for text in as_texts(encoded.dictionary).fill_null("").to_pylist()]
    ends = np.concatenate([np.zeros(1, dtype=np.int32), np.cumsum([len(each) for each in items], dtype=np.int32)])
    lists = pa.ListArray.from_arrays(arrow_of(ends), arrow_strings([*chain.from_iterable(items)]))
    return lists.take(encoded.indices)


def items_of_cell(cell: str, split: str) -> list[str]:
    """Return the items of one cell, cut at a character; see `split_cells`."""
    bare = cell.strip()
    if bare[:1] + bare[-1:] in _BRACKETS:
        bare = bare[1:-1].strip()
    at = r"\s+" if split == " " else re.escape(split)
    plain = r"\S*" if split == " " else f"[^{at}]*"
    field = re.compile(rf"""\s*(?:"([^"]*)"|'([^']*)'|({plain}))\s*(?:{at}|\Z)""")
    found, place = [], 0
    while place < len(bare):
        match = field.match(bare, place)
        if match is None:  # what stands behind a quote belongs to the item
            end = re.compile(at).search(bare, place)
            stop, following = (end.start(), end.end()) if end else (len(bare), len(bare))
            found.append(bare[place:stop].strip())
        else:
            following = match.end()
            found.append(next((part for part in match.groups() if part is not None), "").strip())
        if following == place:
            break
        place = following
    return [item for item in found if item]


class FirstCells:
    """Looks at the first cells of a column, as they come, whether they seem to be lists.

    where: what errors call the column. is_asked: False where it was said what the cells are, and nothing is looked at.
    """

    def __init__(self, where: str, *, is_asked: bool) -> None:
        self._where = where
        self._cells: list[str] | None = [] if is_asked else None

    def see(self, cells: pa.Array) -> None:
        """Look at more cells: (n,) Arrow array of any type. Raises ListsInCellsError where they look like lists."""
        if self._cells is None or not is_text(cells.type):
            return
        part = as_texts(cells.slice(0, SAMPLE - len(self._cells)))
        self._cells += [text for text in part.to_pylist() if text is not None and text.strip()]
        if len(self._cells) >= SAMPLE:
            self.done()

    def done(self) -> None:
        """Look at what has come. Raises ListsInCellsError."""
        cells, self._cells = self._cells or [], None
        split = seeming_split(cells)
        if split is None:
            return
        shown = "tab" if split == "\t" else repr(split)
        raise ListsInCellsError(
            f"{self._where} looks as if its cells were lists of items: say {parameter('split')} {shown}, or "
            f"{parameter('input_format')} long if each cell is one item",
            "tab" if split == "\t" else split,
        )


def seeming_split(cells: Sequence[str]) -> str | None:
    """Return at which character cells seem to be cut into items; None where each seems to be an item.

    Half of them are in brackets, or have the character in them; or some have, and hold what other cells are.

    >>> [seeming_split(cells) for cells in (["a, b, c", "b", "a, c"], ["['a']", "['b']"], ["eggs, large", "tea"])]
    [',', ',', None]
    >>> seeming_split(["tea; milk; jam"])
    ';'
    """
    bracketed = [cell for cell in cells if cell.strip()[:1] + cell.strip()[-1:] in _BRACKETS]
    if cells and 2 * len(bracketed) >= len(cells):
        return next((one for one in DELIMITERS if any(one in cell for cell in bracketed)), ",")
    alone = {cell.strip() for cell in cells}
    for one in DELIMITERS:
        having = {cell for cell in cells if len(items_of_cell(cell, one)) > 1}
        if len(having) < _FEW and all(len(items_of_cell(cell, one)) <= _FEW for cell in having):
            continue
        known = sum(alone.issuperset(items_of_cell(cell, one)) for cell in having)
        if 2 * sum(cell in having for cell in cells) >= len(cells) or 2 * known >= len(having):
            return one
    return None


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type is one of texts, also inside a dictionary."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
