"""What else a text may be; cells with lists of items."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading.columns import (
    numbered,
    suggests_a_column,
    suggests_basket,
    suggests_date,
    suggests_item,
    suggests_user,
)
from fim_private.reading.labels import as_texts
from fim_private.reading.options import DELIMITERS, Dialect, InputForm, MissingUser
from fim_private.reading.text_blocks import LOOKED_AT
from fim_private.reading.values import (
    ABOVE_ZERO,
    FALSE_TEXTS,
    QUANTITY,
    TRUE_TEXTS,
    arrow_of,
    arrow_strings,
    is_missing,
)

# -------------------- other readings
# What else the first lines of a text may be than one basket per line: another reading that is as plausible.
#
# Which baskets a line makes must follow from that line alone, so nothing here decides how a text is read: where another
# reading is plausible, the text is refused, and the caller says which it is. Tables are told by the names of their
# columns, which the caller gives; one basket per line is what is left, and most files that are something else would
# pass
# for it.

# How many lines are looked at, and how many tell something.
SAMPLE = 200
_OTHER_READINGS_FEW = 2
_SEVERAL = 3
_SOME = 10
# Of a line so many characters are looked at, and so many fields.
_CHARACTERS, _FIELDS = 1 << 16, 1000
# What a quoted field may hold cuts nothing.
_QUOTED_FIELD = re.compile(r'(?:^|(?<=[,;\t|]))\s*"[^"]*"(?=\s*(?:[,;\t|]|$))')
_TRUTHS = {*TRUE_TEXTS, *FALSE_TEXTS}
# Of so many lines one may have what its form hardly has.
_RARE = 20
# So many columns a table of purchases may have that is told by nothing but its even rows. (There are basket files, made
# of other tables, where each of thousands of lines has 23 items or more.)
_TABLE_COLUMNS = 4


@dataclass(frozen=True)
class Sample:
    """The first lines of a text, without blank ones, and how they are cut into fields.

    numbers: how many lines stand above each of them. rows: the fields of each line, white space and quotes taken off.
    """

    lines: Sequence[str]
    cut: Callable[[str], list[str]]
    numbers: Sequence[int] = ()

    @property
    def rows(self) -> list[list[str]]:
        """The fields of each line, the first thousand."""
        return [_fields(self.cut, line) for line in self.lines]


def bare_fields(fields: Sequence[str]) -> list[str]:
    """Return fields without white space and quotes around them."""
    return [field.strip().strip("\"'") for field in fields]


def _fields(cut: Callable[[str], list[str]], line: str) -> list[str]:
    """Return the first fields of a line, as `bare_fields` does; lines may be very long."""
    return bare_fields(cut(line)[:_FIELDS])


def refuse_other_readings(lines: Sequence[str], form: InputForm, delimiter: str, dialect: Dialect, name: str) -> None:
    """Raise DataError where the first lines of a text are plausibly something else than one basket per line.

    lines: the first of them, without their ends. form: lines, or fimi, as which they are about to be read, cut at
    delimiter. dialect: what the caller said; what is said is not asked. name: what errors call the text.
    """
    if dialect.form is not None:
        return
    numbered_lines = [(number, line) for number, line in enumerate(lines, dialect.skipped) if line.strip()][:SAMPLE]
    if not numbered_lines:
        return
    numbers, lines = zip(*numbered_lines, strict=True)
    whole = Sample(lines, fields_of(delimiter), numbers)
    sample = replace(whole, lines=[line[:_CHARACTERS] for line in lines])
    checks = [_json, _mostly_spmf, _names_of_columns, _title, _other_delimiter, _one_hot, _table, _open_quotes]
    for check in checks:
        if (why := check(whole if check is _mostly_spmf else sample, form, delimiter, dialect)) is not None:
            raise DataError(f"{name} {why}")


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


def _as_lines(form: InputForm) -> str:
    """Return how to say that each line is a basket after all."""
    return f"{parameter('input_format')} {form}"


def _mostly_spmf(sample: Sample, form: InputForm, delimiter: str, dialect: Dialect) -> str | None:
    """Sequences of SPMF: itemsets end in -1, lines in -2."""
    if form is not InputForm.FIMI:
        return None
    if not seems_spmf(sample.lines):
        return None
    return (
        f"looks like SPMF's format for sequences, where -1 and -2 are ends: say {parameter('input_format')} spmf, or "
        f"{_as_lines(form)} if they are items"
    )


def seems_spmf(lines: Sequence[str]) -> bool:
    """Tell whether most lines, of which none is blank, end as sequences of SPMF do, or name its items."""
    marked = [line for line in lines if line.split()[-1:] in (["-1"], ["-2"]) or line.startswith(("@CONV", "@ITEM="))]
    return 0 < len(lines) <= 2 * len(marked)


def _other_delimiter(sample: Sample, form: InputForm, delimiter: str, dialect: Dialect) -> str | None:
    """Lines that another delimiter cuts, and this one does not; or, for white space, that something else cuts."""
    if dialect.delimiter is not None:
        return None
    if form is InputForm.FIMI and 2 * sum(line.strip()[:1] == '"' for line in sample.lines) > len(sample.lines):
        return (
            f"has its items in double quotes, as CSV has: say {parameter('delimiter')} ',' (or another), or "
            f"{_as_lines(form)} if the quotes are part of the items"
        )
    unquoted = [_QUOTED_FIELD.sub("", line) for line in sample.lines]
    cut = 0 if form is InputForm.FIMI else sum(_cuts(delimiter, line) for line in unquoted)

    def is_odd(other: str) -> bool:
        return form is InputForm.FIMI and other in "\t|"

    spaced = sum(" " in line.strip() for line in unquoted)
    for other in DELIMITERS:
        having = [line for line in unquoted if other in line]
        # Of what FIMI files may well have in them there must be more, a bar, or a tab, which is white space: half of
        # what spaces cut, and in a long file more than a line here and there.
        enough = max(min(len(unquoted), spaced) / 2, len(unquoted) / _RARE) if is_odd(other) else 1
        # Baskets of one item have no delimiter, whichever it is, so half as many cut for sure are plausible too.
        sure = sum(_cuts(other, line) for line in having)
        if other == delimiter or len(having) < max(1, enough) or max(2 * sure, len(having)) < cut:
            continue
        if form is InputForm.FIMI and other == "\t" and not any(" " in line.strip() for line in having):
            continue  # white space, as that of other files of this form
        shown = "tab" if other == "\t" else repr(other)
        between = "white space" if form is InputForm.FIMI else repr(delimiter)
        return (
            f"seems to be separated by {'tabs' if shown == 'tab' else shown}, not by {between}: say "
            f"{parameter('delimiter')} {shown}, or {_as_lines(form)} if that is part of the items; for one row per "
            f"item name {parameter('basket')} and {parameter('item')}"
        )
    return None


def _cuts(delimiter: str, line: str) -> bool:
    """Tell whether a delimiter separates fields of a line for sure; before a space it may be an item's: eggs, large."""
    return any(after[:1] != " " for after in line.split(delimiter)[1:])


def _names_of_columns(sample: Sample, form: InputForm, delimiter: str, dialect: Dialect) -> str | None:
    """A first line that looks like names of columns, of which none comes again below."""
    if dialect.header is not None:
        return None
    others = sample.rows[1:]
    cuts = [sample.cut, *map(fields_of, DELIMITERS)]
    first = max((_fields(cut, sample.lines[0]) for cut in cuts), key=len)
    below = {field for row in others for field in row}
    comes_again = any(field in below for field in first)
    places = numbered([field for field in first if suggests_item(field)])
    if places and others and not comes_again:
        return (
            f"looks like one basket per line under a line of column names, {places[0]!r} to {places[-1]!r}: say "
            f"{parameter('input_format')} wide, or {_as_lines(form)} if its first line is a basket too"
        )
    if sum(map(suggests_a_column, first)) < _OTHER_READINGS_FEW:
        return None
    baskets = [name for name in first if suggests_basket(name)][:1]
    if not baskets:  # a visit is named by its customer and its day
        customers, days = ([name for name in first if test(name)][:1] for test in (suggests_user, suggests_date))
        baskets = [*customers, *days] if customers else []
    items = [name for name in first if suggests_item(name)]
    suggested = ""
    if comes_again and not (baskets and items):  # names of both are no basket, also where they stand again below
        return None
    if baskets and items:
        named = " and ".join(f"{parameter('basket')} {name!r}" for name in baskets)
        suggested = f", such as {named} and {parameter('item')} {items[-1]!r}"
    return (
        f"looks like one row per item, with a header; name its columns with {parameter('basket')} and "
        f"{parameter('item')}{suggested}; or say {_as_lines(form)} if its first line is a basket too"
    )


def _title(sample: Sample, form: InputForm, delimiter: str, dialect: Dialect) -> str | None:
    """A title, or lines of few fields, above a line of names, or above the rows of a table."""
    if dialect.header is not None:
        return None
    most = 0
    for place in range(1, min(LOOKED_AT, len(sample.lines))):
        cut = max(map(fields_of, (delimiter, *DELIMITERS)), key=lambda cut: len(cut(sample.lines[place])))
        fields = [field for field in bare_fields(cut(sample.lines[place])) if field]
        above = max(sum(map(bool, bare_fields(cut(line)))) for line in sample.lines[:place])
        if 2 * above > len(fields) or len(fields) <= most:
            continue
        most = len(fields)
        rest = Sample(sample.lines[place:], cut)
        # Names of both an id and an item tell, or places; a date and a title may be items, and a few even rows baskets.
        told = [suggests_item, lambda name: suggests_basket(name) or suggests_user(name)]
        is_named = all(any(map(tells, fields)) for tells in told) or len(numbered(fields)) > 1
        checks = [*([_names_of_columns] if is_named else []), *([_table] if len(rest.lines) > _SOME else [])]
        if any(check(rest, InputForm.LINES, delimiter, dialect) for check in checks):
            return (
                f"seems to have a title above a table: say {parameter('skip_rows')} {sample.numbers[place]} to leave "
                f"out what stands above the names of the columns, or {_as_lines(form)} if each line is a basket"
            )
    return None


def _json(sample: Sample, form: InputForm, delimiter: str, dialect: Dialect) -> str | None:
    """A line that is an object of JSON."""
    if any(re.match(r'\s*\{\s*"', line) for line in sample.lines):
        return f"has lines of JSON: say {parameter('input_format')} jsonl, or {_as_lines(form)} if these are items"
    return None


def _open_quotes(sample: Sample, form: InputForm, delimiter: str, dialect: Dialect) -> str | None:
    """A double quote that begins a field, and is not closed in its line."""
    if form is InputForm.FIMI:
        return None
    for line in sample.lines:
        # An open quote takes in what stands behind the line.
        if '"' in line and len(list(csv.reader([line, "x"], delimiter=delimiter, skipinitialspace=True))) == 1:
            return (
                "has a line with an open double quote: check its double quotes, or say "
                f"{_as_lines(form)} if they are part of the items"
            )
    return None


def _one_hot(sample: Sample, form: InputForm, delimiter: str, dialect: Dialect) -> str | None:
    """Below the first line, hardly anything but 0 and 1."""
    first, *body = sample.rows
    columns = _columns(body)
    # Quantities are told from ids, prices and items that are numbers by their zeros, under a line of names.
    has_names = bool(first) and not any(re.fullmatch(QUANTITY, name) for name in first) and len({*first}) == len(first)
    told = [
        all(map(_is_truth, column)) or (has_names and any(map(_is_nothing, column)) and all(map(_is_quantity, column)))
        for column in columns
    ]
    if sum(told) < _OTHER_READINGS_FEW:
        return None
    truths = [_is_truth(name) for name, is_told in zip(first, told, strict=False) if is_told]
    # Items may be called 0 and 1, but a line of nothing else is no line of names.
    named = len(first) == len(told) and (not any(truths) or (not all(truths) and len({*first}) == len(first)))
    varied = sum(len({*column}) > 1 for column in columns)
    # Under a line that names the items, beside ids of a basket and its user; or without one, where there is nothing
    # else.
    if not (sum(told) >= len(told) - _OTHER_READINGS_FEW if named else all(told) and varied >= _OTHER_READINGS_FEW):
        return None
    if all(is_missing(cell) for row in body for cell in row):
        return None
    return (
        f"looks like a column of 0 and 1, or of quantities, for each item: say {parameter('input_format')} one-hot "
        f"(its first line names the items), or {_as_lines(form)} if these are items"
    )


def _is_quantity(cell: str) -> bool:
    """Tell whether a cell is a number of at least 0, or nothing."""
    return is_missing(cell) or re.fullmatch(QUANTITY, cell) is not None


def _is_nothing(cell: str) -> bool:
    """Tell whether a cell is 0, or nothing."""
    return is_missing(cell) or (_is_quantity(cell) and re.match(ABOVE_ZERO, cell) is None)


def _is_truth(cell: str) -> bool:
    """Tell whether a cell says that a basket has an item, or that it has not."""
    return is_missing(cell) or cell.casefold() in _TRUTHS


def _table(sample: Sample, form: InputForm, delimiter: str, dialect: Dialect) -> str | None:
    """Rows of a table, with names of columns or without: as many fields in each, of another kind in each column."""
    if form is InputForm.FIMI and 2 * sum("\t" in line for line in sample.lines) < len(sample.lines):
        return None  # no program writes a table so
    body = sample.rows[1:]
    columns = _columns(body)
    # Rows of a table hardly come again; baskets of two or three items do.
    if (
        len(body) < _SEVERAL
        or len(columns) < _OTHER_READINGS_FEW
        or 10 * len({tuple(row) for row in body}) < 9 * len(body)
    ):
        return None
    first = sample.rows[0]
    coded = [all(any(letter.isdigit() for letter in cell) for cell in column) for column in columns]
    keyed = [is_coded and len({*column}) > 1 for is_coded, column in zip(coded, columns, strict=True)]
    is_of_kinds = any(keyed) and not all(coded) and all(map(any, columns))
    is_headed = len(first) == len(columns) and any(
        all(map(_is_number, column)) and not _is_number(name) for name, column in zip(first, columns, strict=True)
    )
    below = {cell for row in body for cell in row}
    is_named = len(first) == len(columns) and any(map(suggests_a_column, first)) and below.isdisjoint(first)
    # Baskets are seldom all of one small size, and all different.
    is_even = len(body) >= _SOME and len(columns) <= _TABLE_COLUMNS
    if not (is_of_kinds or is_headed or is_named or is_even):
        return None
    return (
        f"looks like a table, one row per item: name its columns with {parameter('basket')} and {parameter('item')} "
        f"(1, 2, … where its first line does not name them); or say {_as_lines(form)} if each line is a basket"
    )


def _is_number(cell: str) -> bool:
    """Tell whether a cell is a number."""
    return re.fullmatch(r"[-+]?[0-9]+([.,][0-9]+)?", cell) is not None


def _columns(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the columns of rows of equal length; none where rows differ in length."""
    if len({len(row) for row in rows}) != 1:
        return []
    return [list(column) for column in zip(*rows, strict=True)]


# -------------------- cell lists
# Cells of a column of items that hold lists, `a, b` or `['a', 'b']`: refused, unless it is said where to cut.
#
# How a cell is cut follows from that cell alone. Whether it is to be cut does not, for names have commas in them: so
# the
# first cells of a column are looked at, to refuse it where both are plausible, and for nothing else.

_BRACKETS = ("[]", "()", "{}")
# One cell may have what its form hardly has, if it has it once: "eggs, large".
_CELL_LISTS_FEW = 2


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
        if len(having) < _CELL_LISTS_FEW and all(len(items_of_cell(cell, one)) <= _CELL_LISTS_FEW for cell in having):
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


# -------------------- possible readings
# How a source may be read that does not tell, guessed from its first lines: for a person to check.

# A frequent encoding of files that are not in UTF-8: that of spreadsheets in Western Europe.
OTHER_ENCODING = "cp1252"


def possible_readings(names: Sequence[str], lines: Sequence[str], named: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield options, beside those that were named, with which a source may be read: none first, then guesses."""
    for encoding in ({}, {"encoding": OTHER_ENCODING}) if "encoding" not in named else ({},):
        yield encoding
        for guess in _guesses(names, lines):
            more = {name: value for name, value in guess.items() if name not in named} | encoding
            yield more
            if "user" in {*more, *named} and "missing_user" not in named:
                yield {**more, "missing_user": str(MissingUser.DROP)}


def _guesses(names: Sequence[str], lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield options that the names of columns suggest, and forms that tell themselves when they are read."""
    places = numbered(names)
    keys = _first("user", [name for name in names if suggests_user(name)])
    keys |= _first("basket", [name for name in names if suggests_basket(name) and name not in keys.values()])
    if places:
        if lines:  # of a text: items that are numbered, or places; only cells of 0 and 1 are read as a one-hot table
            yield {"input_format": "one-hot", **keys}
        yield {"input_format": "wide", **keys}
    items = [name for name in names if suggests_item(name) and name not in {*keys.values(), *places}]
    if items and keys:
        # What nobody but its customer and its day names is a visit: all that a customer ever bought is no basket.
        days = [name for name in names if suggests_date(name)]
        only_key = next(iter(keys.values()))
        yield {"basket": [only_key, days[0]] if days and "user" in keys else only_key} | keys | {"item": items[-1]}
    if keys:
        yield keys
    if seems_spmf(lines):
        yield {"input_format": "spmf"}
    yield {"input_format": "one-hot", **keys}
    for delimiter in DELIMITERS:
        if 2 * sum(delimiter in line for line in lines) >= len(lines) > 0:
            yield {"delimiter": delimiter}


def _first(role: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the first of some columns in a role, nothing where there are none."""
    return {role: names[0]} if names else {}
