"""Lists of items in a cell, or in a line: how they are cut, and what seems to be one.

Cells of a column of items may be lists, `a, b` or `['a', 'b']`, but names have commas, too. So the
first cells are looked at, and refused if they may be both. How a cell is cut follows from it alone.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading import columns
from fim_private.reading.labels import as_texts
from fim_private.reading.options import DELIMITERS, SAMPLE
from fim_private.reading.values import (
    arrow_of,
    arrow_strings,
    decoded,
    is_string_type,
    present,
    value_type,
)
from fim_private.reading.where import is_text

Texts = Mapping[str, Sequence[str]]  # the first texts of columns

_FEW = 2


def split_cells(cells: pa.Array, split: str) -> pa.Array:
    """Return the items of each cell, (n,) Arrow texts, as (n,) Arrow lists; null for null.

    Cells are cut at a character; a space means any white space. Brackets around a cell, and quotes
    around an item, are taken off. Text in quotes is not cut.
    """
    encoded = cells.dictionary_encode()
    texts = as_texts(encoded.dictionary).fill_null("").to_pylist()
    items = [items_of_cell(text, split) for text in texts]
    ends = np.cumsum([0, *map(len, items)], dtype=np.int32)
    lists = pa.ListArray.from_arrays(arrow_of(ends), arrow_strings([*chain.from_iterable(items)]))
    return lists.take(encoded.indices)


def items_of_cell(cell: str, split: str) -> list[str]:
    """Return the items of one cell; see `split_cells`."""
    bare = cell.strip()
    if _is_in_brackets(bare):
        bare = bare[1:-1]
    at, plain = re.escape(split), f"[^{re.escape(split)}]*"
    if split == " ":
        at, plain = r"\s+", r"\S*"
    field = rf"""\s*(?:"([^"]*)"|'([^']*)'|({plain}))\s*(?:{at}|\Z)"""
    items = ["".join(groups).strip() for groups in re.findall(field, bare)]
    return list(filter(None, items))


def inside_of_list(line: str) -> str | None:
    """Return what is inside a line that is one list, in double quotes or brackets; else None.

    >>> inside_of_list('"tea,milk"'), inside_of_list('{tea,milk}'), inside_of_list('"tea","milk"')
    ('tea,milk', 'tea,milk', None)
    """
    inside = line.strip()
    quoted = re.fullmatch(r'"((?:[^"]|"")*)"', inside)
    if quoted is not None:
        inside = quoted[1].replace('""', '"').strip()
    if _is_in_brackets(inside):
        return inside[1:-1]
    return None if quoted is None else inside


def items_of_line(line: str, split: str) -> list[str]:
    """Return the items of a line that is a list, perhaps in quotes or brackets."""
    return items_of_cell(inside_of_list(line) or line, split)


def _is_in_brackets(cell: str) -> bool:
    return cell[:1] + cell[-1:] in ("[]", "()", "{}")


def delimiter_in(texts: Sequence[str]) -> str | None:
    """Return the first of the usual delimiters that any of the texts has; else None."""
    joined = "".join(texts)
    return next((delimiter for delimiter in DELIMITERS if delimiter in joined), None)


def shown_delimiter(delimiter: str) -> str:
    """Return a delimiter as messages show it."""
    return "tab" if delimiter == "\t" else repr(delimiter)


def spoken_delimiter(delimiter: str) -> str:
    """Return a delimiter as an option is given it."""
    return "tab" if delimiter == "\t" else delimiter


@dataclass
class FirstTexts:
    """Looks at the first texts of some columns, which are checked when there are enough of them.

    Attributes:
        texts: Those that were seen, by column, without those that stand for no value.
        check: Raises DataError for texts that are written otherwise than they are read.
        is_text: Tells whether a type is looked at.
        is_done: Whether enough was seen, and checked.
    """

    texts: Mapping[str, list[str]]
    check: Callable[[Texts], None]
    is_text: Callable[[pa.DataType], bool] = is_text
    is_done: bool = False

    def see(self, batch: pa.RecordBatch) -> None:
        """Look at more rows, whose columns may have any type. Raises DataError."""
        if self.is_done:
            return
        for name, texts in self.texts.items():
            column = batch.column(name)
            if isinstance(column, pa.ExtensionArray):
                column = column.storage
            kind = value_type(column.type)
            if self.is_text(kind) or pa.types.is_string_view(kind):
                values = present(decoded(column).cast(pa.large_string())).drop_null()
                texts += values[: SAMPLE - len(texts)].to_pylist()
        if all(len(texts) >= SAMPLE for texts in self.texts.values()):
            self.done()

    def done(self) -> None:
        """Check the texts that were seen. Raises DataError."""
        self.is_done = True
        self.check(self.texts)


def cells_to_check(roles: columns.Roles) -> FirstTexts:
    """Return what looks at the cells of a column of items: they must not seem to be lists.

    Its errors have options with a split.
    """

    def check(texts: Texts) -> None:
        split = _seeming_split([*chain.from_iterable(texts.values())])
        if split is not None:
            raise DataError(
                f"{roles.items_name} looks as if its cells were lists of items: say "
                f"{parameter('split')} {shown_delimiter(split)}, or {parameter('input_format')} "
                f"long if each cell is one item",
                options={"split": spoken_delimiter(split)},
            )

    looked_at = [name for name in roles.values if roles.may_hold_lists]
    return FirstTexts({name: [] for name in looked_at}, check, is_string_type)


def _seeming_split(cells: Sequence[str]) -> str | None:
    """Return the character at which bare cells seem to be cut; None if they are no lists."""
    bracketed = [*filter(_is_in_brackets, cells)]
    if cells and 2 * len(bracketed) >= len(cells):
        return delimiter_in(bracketed) or ","
    return next((delimiter for delimiter in DELIMITERS if _seems_to_split(delimiter, cells)), None)


def _seems_to_split(delimiter: str, cells: Sequence[str]) -> bool:
    """Tell whether half of the cells have a delimiter, or some have it between known items."""
    alone = {*cells}
    items_of = [items_of_cell(cell, delimiter) for cell in cells]
    lists = [items for items in items_of if len(items) > 1]
    # One cell may have it, if it has it once: "eggs, large".
    if len({*map(tuple, lists)}) < _FEW and all(len(items) <= _FEW for items in lists):
        return False
    known = sum(alone.issuperset(items) for items in lists)
    return 2 * len(lists) >= len(cells) or 2 * known >= len(lists)
