"""What else the first lines of a text, or the first cells of a column, may be: refused, with the option that decides.

Only a line or a cell itself may decide which baskets it makes, so nothing here decides how a text is read. A text that
could as well be read otherwise is refused, and the caller names the right reading.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading import columns, values
from fim_private.reading.labels import as_texts
from fim_private.reading.options import DELIMITERS, Dialect, InputForm
from fim_private.reading.values import arrow_of, arrow_strings, is_missing

# How many lines, or cells, are looked at; of a line so many characters, and so many fields; of rows, for a title.
SAMPLE = 200
_CHARACTERS, _FIELDS = 1 << 16, 1000
LOOKED_AT = 20
_FEW, _SEVERAL, _SOME = 2, 3, 10
_RARE = 20  # of so many lines one may have what its form hardly has
# So many columns a table may have that nothing but its even rows tells: there are basket files of even wider rows.
_TABLE_COLUMNS = 4
# What a quoted field may hold cuts nothing.
_QUOTED_FIELD = re.compile(r'(?:^|(?<=[,;\t|]))\s*"[^"]*"(?=\s*(?:[,;\t|]|$))')
_TRUTHS = {*values.TRUE_TEXTS, *values.FALSE_TEXTS, *values.UNKNOWN_TEXTS}


@dataclass(frozen=True)
class _Sample:
    """The first lines, how many stand above each, and their fields; and how they are about to be read."""

    numbers: Sequence[int]
    lines: Sequence[str]
    rows: Sequence[list[str]]
    form: InputForm
    delimiter: str
    dialect: Dialect

    @property
    def as_lines(self) -> str:
        return f"{parameter('input_format')} {self.form}"

    def widest(self, place: int) -> Callable[[str], list[str]]:
        return max(map(fields_of, (self.delimiter, *DELIMITERS)), key=lambda cut: len(cut(self.lines[place])))


def fields_of(delimiter: str) -> Callable[[str], list[str]]:
    """Return what cuts a line into fields; a space means any white space."""
    if delimiter == " ":
        return str.split

    def cut(line: str) -> list[str]:
        try:
            return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error:
            return line.split(delimiter)

    return cut


def _bare(fields: Sequence[str]) -> list[str]:
    return [field.strip().strip("\"'") for field in fields[:_FIELDS]]


def refuse_other_readings(lines: Sequence[str], form: InputForm, delimiter: str, dialect: Dialect, name: str) -> None:
    """Raise DataError where the first lines of a text are plausibly something else than one basket per line.

    lines: without their ends. form: lines, or fimi, as which they are about to be read. name: what errors call it.
    """
    found = [(number, line) for number, line in enumerate(lines, dialect.skipped) if line.strip()][:SAMPLE]
    if dialect.form is not None or not found:
        return
    numbers, whole = zip(*found, strict=True)
    asked = parameter("input_format")
    if form is InputForm.FIMI and seems_spmf(whole):
        ends = f"where -1 and -2 are ends: say {asked} spmf, or {asked} {form} if they are items"
        raise DataError(f"{name} looks like SPMF's format for sequences, {ends}")
    if any(re.match(r'\s*\{\s*"', line) for line in whole):
        raise DataError(f"{name} has lines of JSON: say {asked} jsonl, or {asked} {form} if these are items")
    short, cut = [line[:_CHARACTERS] for line in whole], fields_of(delimiter)
    sample = _Sample(numbers, short, [_bare(cut(line)) for line in short], form, delimiter, dialect)
    for check in (_names_of_columns, _title, _other_delimiter, _one_hot, _table, _open_quotes):
        if (why := check(sample)) is not None:
            raise DataError(f"{name} {why}")


def seems_spmf(lines: Sequence[str]) -> bool:
    """Tell whether most lines end as sequences of SPMF do, or name its items. None is blank."""
    marked = [line for line in lines if line.split()[-1:] in (["-1"], ["-2"]) or line.startswith(("@CONV", "@ITEM="))]
    return 0 < len(lines) <= 2 * len(marked)


def _names_of_columns(sample: _Sample) -> str | None:
    """A first line that looks like names of columns, of which none comes again below."""
    if sample.dialect.header is not None:
        return None
    first = _bare(sample.widest(0)(sample.lines[0]))
    comes_again = not {*chain.from_iterable(sample.rows[1:])}.isdisjoint(first)
    places = columns.numbered(columns.suggested(first)[0])
    if places and len(sample.rows) > 1 and not comes_again:
        return (
            f"looks like one basket per line below column names, {places[0]!r} to {places[-1]!r}: say "
            f"{parameter('input_format')} wide, or {sample.as_lines} if its first line is a basket"
        )
    roles = columns.likely_roles(first)
    # Names of both are no basket, also where they stand again below.
    if sum(map(columns.suggests_a_column, first)) < _FEW or (comes_again and not roles):
        return None
    such_as = f", such as {columns.named_roles(roles)}" if roles else ""
    return (
        f"looks like one row per item, with a header: name its columns with {parameter('basket')} and "
        f"{parameter('item')}{such_as}; or say {sample.as_lines} if line 1 is a basket"
    )


def _title(sample: _Sample) -> str | None:
    """A title, or lines of few fields, above a line of names, or above the rows of a table."""
    if sample.dialect.header is not None:
        return None
    for place in range(1, min(LOOKED_AT, len(sample.lines))):
        cut = sample.widest(place)
        above = max(sum(map(bool, _bare(cut(line)))) for line in sample.lines[:place])
        names = [name for name in _bare(cut(sample.lines[place])) if name]
        if 2 * above > len(names):
            continue
        rows = [_bare(cut(line)) for line in sample.lines[place:]]
        rest = replace(sample, lines=sample.lines[place:], rows=rows, form=InputForm.LINES)
        is_long = columns.likely_roles(names)
        is_wide = columns.numbered(columns.suggested(names)[0]) and {*chain.from_iterable(rows[1:])}.isdisjoint(names)
        if is_long or is_wide or (len(rows) > _SOME and _table(rest) is not None):
            return (
                f"seems to have a title above a table: say {parameter('skip_rows')} {sample.numbers[place]} to skip "
                f"it, or {sample.as_lines} if each line is a basket"
            )
    return None


def _other_delimiter(sample: _Sample) -> str | None:
    """Lines that another delimiter cuts, and this one, or white space, does not."""
    if sample.dialect.delimiter is not None:
        return None
    is_spaced = sample.form is InputForm.FIMI
    if is_spaced and 2 * sum(line.strip()[:1] == '"' for line in sample.lines) > len(sample.lines):
        return (
            f"has its items in double quotes, as CSV has: say {parameter('delimiter')} ',' (or another), or "
            f"{sample.as_lines} if the quotes are part of the items"
        )
    unquoted = [_QUOTED_FIELD.sub("", line) for line in sample.lines]
    cut = 0 if is_spaced else sum(_cuts(sample.delimiter, line) for line in unquoted)
    spaced = sum(" " in line.strip() for line in unquoted)
    # Of what FIMI files may well have in them, a bar or a tab, there must be more: half of what spaces cut, and in a
    # long file more than a line here and there.
    enough = max(1, min(len(unquoted), spaced) / 2, len(unquoted) / _RARE)
    for other in DELIMITERS:
        having = [line for line in unquoted if other in line]
        # Baskets of one item have no delimiter, whichever it is, so half as many cut for sure are plausible too.
        sure = sum(_cuts(other, line) for line in having)
        least = enough if is_spaced and other in "\t|" else 1
        if other == sample.delimiter or len(having) < least or max(2 * sure, len(having)) < cut:
            continue
        if is_spaced and other == "\t" and not any(" " in line.strip() for line in having):
            continue  # white space, as that of other files of this form
        shown, by = ("tab", "tabs") if other == "\t" else (repr(other), repr(other))
        return (
            f"seems to be separated by {by}, not by {'white space' if is_spaced else repr(sample.delimiter)}: say "
            f"{parameter('delimiter')} {shown}, or {sample.as_lines} if that is part of items. For one row per item "
            f"name {parameter('basket')} and {parameter('item')}"
        )
    return None


def _cuts(delimiter: str, line: str) -> bool:
    """Tell whether a delimiter cuts a line for sure; before a space it may be an item's: eggs, large."""
    return any(after[:1] != " " for after in line.split(delimiter)[1:])


def _one_hot(sample: _Sample) -> str | None:
    """Below the first line, hardly anything but 0 and 1, or quantities of which some are 0."""
    first, *body = sample.rows
    by_column = _columns(body)
    is_truth = [all(is_missing(cell) or cell.casefold() in _TRUTHS for cell in column) for column in by_column]
    is_distinct = len({*first}) == len(first)
    # Quantities are known from ids, prices and items that are numbers by their zeros, under a line of names.
    if first and is_distinct and not any(re.fullmatch(values.QUANTITY, name) for name in first):
        is_truth = [one or _are_quantities(column) for one, column in zip(is_truth, by_column, strict=True)]
    if sum(is_truth) < _FEW or all(is_missing(cell) for row in body for cell in row):
        return None
    # Items may be called 0 and 1, but a line of nothing else is no line of names.
    alike = [name.casefold() in _TRUTHS or is_missing(name) for name, one in zip(first, is_truth, strict=False) if one]
    if len(first) == len(by_column) and (not any(alike) or (not all(alike) and is_distinct)):
        if sum(is_truth) < len(by_column) - _FEW:  # beside ids of a basket and its user
            return None
    elif not all(is_truth) or sum(len({*column}) > 1 for column in by_column) < _FEW:
        return None
    return (
        f"looks like one column of 0 and 1, or of quantities, per item: say {parameter('input_format')} one-hot, "
        f"or {sample.as_lines} if these are items"
    )


def _are_quantities(column: Sequence[str]) -> bool:
    given = [cell for cell in column if not is_missing(cell)]
    has_zero = len(given) < len(column) or not all(re.match(values.ABOVE_ZERO, cell) for cell in given)
    return has_zero and all(re.fullmatch(values.QUANTITY, cell) for cell in given)


def _table(sample: _Sample) -> str | None:
    """Rows of a table, with names of columns or without: as many fields in each, of another kind in each column."""
    if sample.form is InputForm.FIMI and 2 * sum("\t" in line for line in sample.lines) < len(sample.lines):
        return None  # no program writes a table so
    first, *body = sample.rows
    by_column = _columns(body)
    # Rows of a table hardly come again; baskets of two or three items do.
    if len(body) < _SEVERAL or len(by_column) < _FEW or 10 * len({tuple(row) for row in body}) < 9 * len(body):
        return None
    coded = [all(re.search(r"\d", cell) for cell in column) for column in by_column]
    is_keyed = any(one and len({*column}) > 1 for one, column in zip(coded, by_column, strict=True))
    is_headed = len(first) == len(by_column) and (
        any(
            all(map(_is_number, column)) and not _is_number(name) for name, column in zip(first, by_column, strict=True)
        )
        or (any(map(columns.suggests_a_column, first)) and {*chain.from_iterable(body)}.isdisjoint(first))
    )
    # Baskets are seldom all of one small size, and all different.
    is_even = len(body) >= _SOME and len(by_column) <= _TABLE_COLUMNS
    if not ((is_keyed and not all(coded) and all(map(any, by_column))) or is_headed or is_even):
        return None
    return (
        f"looks like a table of items: name its columns with {parameter('basket')} and {parameter('item')} "
        f"(1, 2, … without a header), or say {sample.as_lines} if each line is a basket"
    )


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[-+]?[0-9]+([.,][0-9]+)?", cell) is not None


def _columns(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    return [*zip(*rows, strict=True)] if len({len(row) for row in rows}) == 1 else []


def _open_quotes(sample: _Sample) -> str | None:
    """A double quote that begins a field, and is not closed in its line: it takes in what stands behind the line."""
    lines = [] if sample.form is InputForm.FIMI else [line for line in sample.lines if '"' in line]
    read = ([*csv.reader([line, "x"], delimiter=sample.delimiter, skipinitialspace=True)] for line in lines)
    if all(len(rows) > 1 for rows in read):
        return None
    return (
        f"has a line with an open double quote: check its double quotes, or say {sample.as_lines} if they are part of "
        "the items"
    )


def refuse_title(rows: Sequence[tuple[int, Sequence[str]]], wanted: Collection[str], name: str) -> None:
    """Raise DataError where rows above that of the names plausibly are a title. Nothing is left out unasked.

    The names are in the first row that has all columns wanted. If none are wanted, they are in the first of the fullest
    rows, if it has twice as many cells as the first row. rows: each with how many stand above it, and its bare cells.
    """
    filled = [(above, {*cells}, sum(map(bool, cells))) for above, cells in rows if any(cells)]
    if wanted:
        found = [above for above, cells, _ in filled if cells.issuperset(wanted)]
    else:
        most = max((count for _, _, count in filled), default=0)
        found = [above for above, _, count in filled if count == most and 2 * filled[0][2] <= most]
    if found and found[0] != filled[0][0]:
        raise DataError(
            f"{name} seems to have a title above its table: say {parameter('skip_rows')} {found[0]} to leave out what "
            "stands above the names of the columns"
        )


# Cells of a column of items may be lists, `a, b` or `['a', 'b']`, but names have commas, too: so the first cells
# are looked at, and refused where both may be. How a cell is cut follows from it alone.
_BRACKETS = ("[]", "()", "{}")


def split_cells(cells: pa.Array, split: str) -> pa.Array:
    """Return the items of each cell, (n,) Arrow texts, cut at a character: (n,) Arrow lists of strings, null for null.

    A space means any white space. Brackets around a cell, and quotes around an item, go; what is in quotes is not cut.
    """
    encoded = cells if pa.types.is_dictionary(cells.type) else as_texts(cells).dictionary_encode()
    items = [items_of_cell(text, split) for text in as_texts(encoded.dictionary).fill_null("").to_pylist()]
    ends = np.cumsum([0, *map(len, items)], dtype=np.int32)
    lists = pa.ListArray.from_arrays(arrow_of(ends), arrow_strings([*chain.from_iterable(items)]))
    return lists.take(encoded.indices)


def items_of_cell(cell: str, split: str) -> list[str]:
    """Return the items of one cell; see `split_cells`."""
    bare = cell.strip()
    if bare[:1] + bare[-1:] in _BRACKETS:
        bare = bare[1:-1].strip()
    at, plain = (r"\s+", r"\S*") if split == " " else (re.escape(split), f"[^{re.escape(split)}]*")
    field = rf"""\s*(?:"([^"]*)"|'([^']*)'|({plain}))\s*(?:{at}|\Z)"""
    return [item for match in re.finditer(field, bare) if (item := match[match.lastindex or 0].strip())]


class FirstCells:
    """Looks at the first cells of a column, which errors call where, as they come: whether they seem to be lists."""

    def __init__(self, where: str, *, is_asked: bool) -> None:
        self._where = where
        self._cells: list[str] | None = [] if is_asked else None

    def see(self, cells: pa.Array) -> None:
        """Look at more cells: (n,) Arrow array of any type. Raises DataError where they look like lists."""
        if self._cells is not None and is_text(cells.type):
            texts = as_texts(cells.slice(0, SAMPLE - len(self._cells))).to_pylist()
            self._cells += [text for text in texts if text is not None and text.strip()]
            if len(self._cells) >= SAMPLE:
                self.done()

    def done(self) -> None:
        """Look at what has come. Raises DataError, with a split."""
        cells, self._cells = self._cells or [], None
        if (split := _seeming_split(cells)) is not None:
            shown = "tab" if split == "\t" else repr(split)
            error = DataError(
                f"{self._where} looks as if its cells were lists of items: say {parameter('split')} {shown}, or "
                f"{parameter('input_format')} long if each cell is one item"
            )
            error.split = "tab" if split == "\t" else split
            raise error


def _seeming_split(cells: Sequence[str]) -> str | None:
    """Return at which character cells seem to be cut: half are in brackets, or have it; or some, of known items."""
    bracketed = [cell for cell in cells if cell.strip()[:1] + cell.strip()[-1:] in _BRACKETS]
    if cells and 2 * len(bracketed) >= len(cells):
        return next((one for one in DELIMITERS if any(one in cell for cell in bracketed)), ",")
    alone = {cell.strip() for cell in cells}
    for one in DELIMITERS:
        having = {cell: items for cell in {*cells} if len(items := items_of_cell(cell, one)) > 1}
        # One cell may have it, if it has it once: "eggs, large".
        if len(having) < _FEW and all(len(items) <= _FEW for items in having.values()):
            continue
        known = sum(alone.issuperset(items) for items in having.values())
        if 2 * sum(cell in having for cell in cells) >= len(cells) or 2 * known >= len(having):
            return one
    return None


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type is one of texts, also inside a dictionary."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
