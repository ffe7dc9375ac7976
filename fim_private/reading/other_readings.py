"""Refusals of texts, and of columns of items, that could as well be read in another way.

Only a line or a cell itself may decide which baskets it makes, so nothing here decides how a text
is read. By its first lines, or cells, a text is refused, and the refusal names the option that
decides.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, parameter, unclear
from fim_private.options.declaration import OptionValues
from fim_private.reading import columns, values
from fim_private.reading.labels import as_texts
from fim_private.reading.options import DELIMITERS, Dialect, InputForm
from fim_private.reading.values import (
    arrow_of,
    arrow_strings,
    is_missing,
    is_string_type,
    value_type,
)

SAMPLE = 200  # so many lines, or cells, are looked at
_CHARACTERS, _FIELDS = 1 << 16, 1000  # so much of each line
LOOKED_AT = 20  # so many rows are looked at for a title
_FEW, _SEVERAL, _SOME = 2, 3, 10
_RARE = 20  # of so many lines one may have what its form hardly has
# A table with nothing but even rows has at most so many columns: basket files may have wider rows.
_TABLE_COLUMNS = 4
# What a quoted field may hold cuts nothing.
_QUOTED_FIELD = re.compile(r'(?:^|(?<=[,;\t|]))\s*"[^"]*"(?=\s*(?:[,;\t|]|$))')
# A first line that says to spreadsheets what the delimiter is.
SEPARATOR_LINE = re.compile(r"sep=([\t !#-/:-@\[-`{-~])\s*")
_TRUTHS = {*values.TRUE_TEXTS, *values.FALSE_TEXTS, *values.UNKNOWN_TEXTS}
# Between white space, ASCII's alone as in lines without quotes: a text in double quotes, in which
# two quotes stand for one; or anything.
_SPACED_FIELD = re.compile(r'"((?:[^"]|"")*)"(?!\S)|(\S+)', re.ASCII)


class OtherReading(NamedTuple):
    """What a text seems to be instead of baskets.

    Attributes:
        problem: What a refusal says of it.
        options: The options that the problem names and that read the text, none if they are not
            known, or None if no option does.
    """

    problem: str
    options: OptionValues | None = None


@dataclass(frozen=True)
class _Sample:
    """The first lines of a text that are not blank, and how they are about to be read.

    Attributes:
        numbers: How many lines stand above each.
        lines: The lines.
        rows: Their fields.
        form: lines or fimi.
        delimiter: The character that is about to cut them.
        dialect: What a caller said of the text.
        is_told: Whether a line above names the delimiter.
    """

    numbers: Sequence[int]
    lines: Sequence[str]
    rows: Sequence[list[str]]
    form: InputForm
    delimiter: str
    dialect: Dialect
    is_told: bool = False

    @property
    def as_lines(self) -> str:
        return f"{parameter('input_format')} {self.form}"

    @property
    def is_spaced(self) -> bool:
        return self.form is InputForm.FIMI

    def widest_delimiter(self, place: int) -> str:
        """Return the delimiter that cuts one of the lines into the most fields."""
        line = self.lines[place]
        if self.is_spaced and "\t" in line:  # which are white space, too
            return "\t"
        delimiters = (self.delimiter, *DELIMITERS)
        return max(delimiters, key=lambda delimiter: len(fields_of(line, delimiter)))


def fields_of(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line, cut outside double quotes; a space means ASCII white space."""
    if delimiter == " ":
        fields = _SPACED_FIELD.findall(line)
        return [plain or quoted.replace('""', '"') for quoted, plain in fields]
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return line.split(delimiter)


def _bare_fields(line: str, delimiter: str) -> list[str]:
    return [field.strip().strip("\"'") for field in fields_of(line, delimiter)[:_FIELDS]]


def _most(holds: Callable[[Any], object], values: Sequence[object]) -> bool:
    """Tell whether something holds for more than half of some values."""
    return 2 * sum(bool(holds(value)) for value in values) > len(values)


def refuse_other_readings(
    lines: Sequence[str], form: InputForm, delimiter: str, dialect: Dialect, name: str
) -> None:
    """Raise DataError if a text is plausibly something else than one basket per line.

    Args:
        lines: Its first lines, without their ends.
        form: lines or fimi, as which they are about to be read. (Sequences of SPMF are clear.)
        delimiter: The character that is about to cut them.
        dialect: What a caller said of the text.
        name: The name of the text in errors.
    """
    if dialect.form is not None or form is InputForm.SPMF:
        return
    numbered = [pair for pair in enumerate(lines, dialect.skipped) if pair[1].strip()][:SAMPLE]
    is_told = len(numbered) > 1 and SEPARATOR_LINE.fullmatch(numbered[0][1]) is not None
    if is_told:
        numbered = numbered[1:]
    short = [line[:_CHARACTERS] for _, line in numbered]
    rows = [_bare_fields(line, delimiter) for line in short]
    numbers = [number for number, _ in numbered]
    if not short:
        return
    sample = _Sample(numbers, short, rows, form, delimiter, dialect, is_told)
    for check in _CHECKS:
        other_reading = check(sample)
        if other_reading is not None:
            raise unclear(f"{name} {other_reading.problem}", other_reading.options)


# -------------------- formats of other programs

_ARFF = re.compile(r"@(relation|attribute|data)\b", re.IGNORECASE)
_SPMF_NAMES = ("@CONVERTED_FROM_TEXT", "@ITEM=")
_SPMF_UTILITIES = re.compile(r"[0-9 ]+:[0-9.]+:[0-9. ]+")
# What Orange has in the second line of a .tab for each column: its type, or its values.
_ORANGE_TYPES = {"c", "d", "s", "t", "continuous", "discrete", "string", "time", "basket"}
_ORANGE_FLAGS = {"", "class", "c", "meta", "m", "ignore", "i", "weight", "w", "multiclass"}
# of a table with one line of names: mS#name
_ORANGE_NAME = re.compile(r"[mciw]?[CDST]#\S|[mci]#\S")
_JSON_LINE = re.compile(r'\s*\{\s*"')


def _named_format(sample: _Sample) -> OtherReading | None:
    """A format that has a name: its first lines say so."""
    if any(_ARFF.match(line) for line in sample.lines):
        return OtherReading(
            "is ARFF, the format of Weka, which is not read: save it as CSV, and read that"
        )
    if any(line.startswith(_SPMF_NAMES) for line in sample.lines):
        return OtherReading(
            "is in SPMF's format, with the names of items in its first lines: say "
            f"{parameter('input_format')} spmf, or {sample.as_lines} if these lines are baskets",
            {"input_format": str(InputForm.SPMF)},
        )
    if _most(_SPMF_UTILITIES.fullmatch, sample.lines):
        return OtherReading(
            "looks like SPMF's format of items, their total and their utilities. Keep only what "
            f"stands before the first colon, or say {sample.as_lines} if all of it is items"
        )
    if _is_orange(sample):
        return OtherReading(
            "is a table of Orange, with lines for types and flags below its names. Save it as CSV "
            f"without these lines. Then name its columns with {parameter('basket')} and "
            f"{parameter('item')}, or say {parameter('input_format')} one-hot"
        )
    if any(_JSON_LINE.match(line) for line in sample.lines):
        form = parameter("input_format")
        return OtherReading(
            f"has lines of JSON: say {form} jsonl, or {sample.as_lines} if these are items"
        )
    return None


def _is_orange(sample: _Sample) -> bool:
    names = sample.lines[0].split("\t")
    if any(_ORANGE_NAME.match(name) for name in names):
        return True
    if len(sample.lines) < _SEVERAL or len(names) < _FEW:
        return False
    types, flags = (
        [cell.strip() for cell in line.casefold().split("\t")] for line in sample.lines[1:_SEVERAL]
    )
    if len(types) != len(names) or not _ORANGE_TYPES.issuperset(types):
        return False
    # A line without flags is blank. Letters alone may be items.
    has_blank_flags = sample.numbers[2] > sample.numbers[1] + 1
    return has_blank_flags or _ORANGE_FLAGS.issuperset(flags) or max(map(len, types)) > 1


def _sequences(sample: _Sample) -> OtherReading | None:
    """Sequences of SPMF: most lines end in -1 or -2."""
    ends = [line.split()[-1] for line in sample.lines]
    if not sample.is_spaced or 2 * sum(end in ("-1", "-2") for end in ends) < len(ends):
        return None
    return OtherReading(
        "looks like SPMF's format for sequences, where -1 and -2 are ends: say "
        f"{parameter('input_format')} spmf, or {parameter('input_format')} {sample.form} if they "
        "are items",
        {"input_format": str(InputForm.SPMF)},
    )


# -------------------- tables with names of columns


def _names_of_columns(sample: _Sample) -> OtherReading | None:
    """A first line that looks like names of columns, of which none comes again below."""
    if sample.dialect.header is not None:
        return None
    delimiter = sample.widest_delimiter(0)
    first = [field.strip() for field in fields_of(sample.lines[0], delimiter)]
    bare = _bare_fields(sample.lines[0], delimiter)
    comes_again = not {*chain.from_iterable(sample.rows[1:])}.isdisjoint(bare)
    places = columns.numbered(columns.suggested(first)[0]) or _numbers_above_words(sample)
    spaced, dialect = _dialect(sample, delimiter, is_headed=True)
    if places and len(sample.rows) > 1 and not comes_again:
        return OtherReading(
            f"looks like one basket per line below column names, {places[0]!r} to {places[-1]!r}: "
            f"say {parameter('input_format')} wide{spaced}, or {sample.as_lines} if its first line "
            "is a basket",
            {"input_format": str(InputForm.WIDE), **columns.likely_keys(first), **dialect},
        )
    roles = columns.likely_roles(first)
    # Names of both are no basket, also where they stand again below.
    is_named = sum(map(columns.suggests_a_column, first)) >= _FEW
    if not is_named or (comes_again and not roles):
        return None
    such_as, options = "", {}
    if roles:
        such_as, options = f", such as {columns.named_roles(roles)}", {**roles, **dialect}
    return OtherReading(
        f"looks like one row per item, with a header: name its columns with {parameter('basket')} "
        f"and {parameter('item')}{such_as}{spaced}; or say {sample.as_lines} if line 1 is a basket",
        options,
    )


def _numbers_above_words(sample: _Sample) -> list[str]:
    """Return the first line if it only numbers columns, as pandas (0, 1, …) and R (V1, V2, …) do.

    No item below is a number, or is numbered in the same way.
    """
    first, *body = sample.rows
    if columns.numbered(first) != first:
        return []
    prefix = re.escape(first[0].rstrip("0123456789"))
    below = [cell for row in body for cell in row if not is_missing(cell)]
    alike = re.compile(rf"{prefix}[0-9]+|[-+]?[0-9.,]+", re.IGNORECASE)
    if not below or any(map(alike.fullmatch, below)):
        return []
    return first


def _dialect(sample: _Sample, delimiter: str, *, is_headed: bool) -> tuple[str, OptionValues]:
    """Return what a message, and options, say of a table that is cut at a delimiter.

    A line of names tells by itself at which delimiter it is cut, unless that is white space.
    """
    is_told = is_headed or delimiter == sample.delimiter
    words, options = [], OptionValues()
    if sample.dialect.delimiter is None and (delimiter == " " or not is_told):
        words.append(f", {parameter('delimiter')} {_shown(delimiter)}")
        options["delimiter"] = _spoken(delimiter)
    if not is_headed and sample.dialect.header is None:
        words.append(f", and turn off {parameter('header')}")
        options["header"] = False
    return "".join(words), options


def _title(sample: _Sample) -> OtherReading | None:
    """A title, or lines of few fields, above a line of names, or above the rows of a table."""
    if sample.dialect.header is not None:
        return None
    for place in range(1, min(LOOKED_AT, len(sample.lines))):
        delimiter = sample.widest_delimiter(place)
        rows = [_bare_fields(line, delimiter) for line in sample.lines]
        above, rows = rows[:place], rows[place:]
        names = list(filter(None, rows[0]))
        if any(2 * sum(map(bool, row)) > len(names) for row in above):
            continue
        table = replace(sample, lines=sample.lines[place:], rows=rows, form=InputForm.LINES)
        is_long = columns.likely_roles(names)
        comes_again = not {*chain.from_iterable(rows[1:])}.isdisjoint(names)
        is_wide = columns.numbered(columns.suggested(names)[0]) and not comes_again
        if is_long or is_wide or (len(rows) > _SOME and _table(table) is not None):
            return OtherReading(
                f"seems to have a title above a table: say {parameter('skip_rows')} "
                f"{sample.numbers[place]} to skip it, or {sample.as_lines} if each line is a basket"
            )
    return None


# -------------------- lines that are cut in another way


def _lists_in_lines(sample: _Sample) -> OtherReading | None:
    """Lines that are lists of items as a cell of a table holds them: in quotes, or in brackets."""
    insides = [inside_of_list(line) for line in sample.lines]
    lists = [inside for inside in insides if inside is not None]
    pairs = zip(sample.lines, insides, strict=True)
    cut = sum(inside is None and _delimiter_in([line]) is not None for line, inside in pairs)
    split = _delimiter_in(lists)
    is_most = 2 * len(lists) >= len(sample.lines) - 1
    if split is None or not is_most or _RARE * cut > len(sample.lines):
        return None
    shown_split = f"{parameter('split')} {_shown(split)}"
    name = _name_above_lists(sample, insides)
    if name is not None:
        # Another word than that of a column may be an item: it is not shown.
        such_as = f" (such as {name!r})" if columns.suggests_item(name) else ""
        return OtherReading(
            "looks like a column of lists below its name. Give that name with "
            f"{parameter('items')}{such_as} and say {shown_split}, or say {sample.as_lines} if its "
            "first line is a basket",
            {"items": name, "split": _spoken(split)},
        )
    return OtherReading(
        f"has lines that are lists of items, in quotes or brackets: say {shown_split}, or "
        f"{sample.as_lines} if that is part of the items",
        {"split": _spoken(split)},
    )


def _name_above_lists(sample: _Sample, insides: Sequence[str | None]) -> str | None:
    """Return the first line if it seems to name the column of the lists below; else None."""
    if sample.dialect.header is not None:
        return None
    inside, *below = insides
    first = sample.lines[0].strip() if inside is None else inside
    if _delimiter_in([first]) is not None:
        return None
    is_alone = inside is None and None not in below and len(insides) > _SOME
    if is_alone or columns.suggests_item(first):
        return first
    return None


def _delimiter_in(texts: Sequence[str]) -> str | None:
    """Return the first of the usual delimiters that any of the texts has; else None."""
    joined = "".join(texts)
    return next((delimiter for delimiter in DELIMITERS if delimiter in joined), None)


def inside_of_list(line: str) -> str | None:
    """Return what is inside a line that is one list, in double quotes or brackets; else None.

    >>> inside_of_list('"tea,milk"'), inside_of_list('{tea,milk}'), inside_of_list('"tea","milk"')
    ('tea,milk', 'tea,milk', None)
    """
    inside = line.strip()
    quoted = re.fullmatch(r'"((?:[^"]|"")*)"', inside)
    if quoted is not None:
        inside = quoted[1].replace('""', '"').strip()
    if inside[:1] + inside[-1:] in _BRACKETS:
        return inside[1:-1]
    return None if quoted is None else inside


def items_of_line(line: str, split: str) -> list[str]:
    """Return the items of a line that is a list, perhaps in quotes or brackets."""
    inside = inside_of_list(line)
    return items_of_cell(line if inside is None else inside, split)


def _shown(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else repr(delimiter)


def _spoken(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else delimiter


def _two_colons(sample: _Sample) -> OtherReading | None:
    """Lines whose values have :: between them, as those of MovieLens."""
    if sample.dialect.delimiter is not None or not _most(
        re.compile(r"\S::\S").search, sample.lines
    ):
        return None
    return OtherReading(
        "has '::' between its values, and a delimiter is one character. Write a tab or a comma in "
        f"its place, or say {sample.as_lines} if it is part of the items"
    )


_QUANTITY = re.compile(r"[^=]*[^=\s][^=]*=\s*[0-9]+([.,][0-9]+)?")
_NUMBERED_VALUE = re.compile(r"[^:\s]+:[0-9]+(\.[0-9]+)?")  # of libsvm: 7:1


def _quantities(sample: _Sample) -> OtherReading | None:
    """Items with a quantity behind each: milk=2, or 7:1 with a first number that is none."""

    def has_them(row: Sequence[str]) -> bool:
        cells = list(filter(None, row))
        if any(map(_QUANTITY.fullmatch, cells)):
            return True
        return len(cells) > 1 and all(map(_NUMBERED_VALUE.fullmatch, cells[1:]))

    if not _most(has_them, sample.rows):
        return None
    return OtherReading(
        "has quantities behind its items, as in milk=2 or milk:2: leave the quantities out, or "
        f"say {sample.as_lines} if they are part of the items"
    )


def _row_numbers(sample: _Sample) -> OtherReading | None:
    """Lines that begin with their number, as R and pandas write the names of rows."""
    first, *body = sample.rows
    is_short = {len(row) for row in body} == {len(first) + 1}
    rows, lines = sample.rows, sample.lines
    is_named = len(body) > 0 and (first[0] == "" or is_short)
    if is_named:
        rows, lines = body, lines[1:]
    is_quoted = all(re.match(r'\s*"[0-9]+"', line) for line in lines)
    least = _FEW if is_named or is_quoted else _SOME
    is_numbered = _counts_up([row[0] for row in rows])
    if not is_numbered or len(rows) < least or all(len(row) == 1 for row in rows):
        return None
    return OtherReading(
        "has lines that begin with their number, as R writes row names and pandas its index. "
        "Write it without them (row.names=FALSE, or index=False), or say "
        f"{sample.as_lines} if these numbers are items"
    )


def _counts_up(texts: Sequence[str]) -> bool:
    """Tell whether texts are 0, 1, … or 1, 2, …"""
    numbers = [*map(str, range(len(texts) + 1))]
    return texts in (numbers[:-1], numbers[1:])


def _other_delimiter(sample: _Sample) -> OtherReading | None:
    """Lines that another delimiter cuts, and this one, or white space, does not."""
    if sample.dialect.delimiter is not None:
        return None
    quoted = _quoted_items(sample) if sample.is_spaced else _spaced_items(sample)
    if quoted is not None:
        return quoted
    unquoted = [_QUOTED_FIELD.sub("", line) for line in sample.lines]
    for delimiter in DELIMITERS:
        if _may_separate(sample, delimiter, unquoted):
            return _one_hot(sample, delimiter) or _as_separated(sample, delimiter, unquoted)
    return None


def _may_separate(sample: _Sample, delimiter: str, unquoted: Sequence[str]) -> bool:
    """Tell whether a delimiter plausibly separates the items, and the usual one does not."""
    having = [line for line in unquoted if delimiter in line]
    if delimiter == sample.delimiter or len(having) < _least_lines(sample, delimiter, unquoted):
        return False
    if sample.is_spaced:
        # Tabs alone are white space, as that of other files of this form.
        return delimiter != "\t" or any(" " in line.strip() for line in having)
    # Baskets of one item have no delimiter, whichever it is, so half as many cut for sure are
    # plausible too.
    sure = sum(_cuts(delimiter, line) for line in having)
    usual = sum(_cuts(sample.delimiter, line) for line in unquoted)
    return max(2 * sure, len(having)) >= usual


def _least_lines(sample: _Sample, delimiter: str, unquoted: Sequence[str]) -> float:
    """Return how many lines must have a delimiter before it is plausible.

    FIMI files may well have a bar or a tab in them. So of these there must be more: half of what
    spaces cut, and in a long file more than a line here and there.
    """
    if not sample.is_spaced or delimiter not in "\t|":
        return 1
    spaced = sum(" " in line.strip() for line in unquoted)
    return max(1, min(len(unquoted), spaced) / 2, len(unquoted) / _RARE)


def _as_separated(sample: _Sample, delimiter: str, unquoted: Sequence[str]) -> OtherReading:
    """Return the reading of lines as separated by a delimiter, with the option if most have it."""
    separator = "tabs" if delimiter == "\t" else repr(delimiter)
    usual = "white space" if sample.is_spaced else repr(sample.delimiter)
    having = sum(delimiter in line for line in unquoted)
    options = None
    # Of a few lines here and there only the data's owner knows what they are.
    if 2 * having >= len(unquoted):
        options = {"delimiter": _spoken(delimiter)}
    return OtherReading(
        f"seems to be separated by {separator}, not by {usual}: say {parameter('delimiter')} "
        f"{_shown(delimiter)}, or {sample.as_lines} if that is part of items. For one row per item "
        f"name {parameter('basket')} and {parameter('item')}",
        options,
    )


def _quoted_items(sample: _Sample) -> OtherReading | None:
    """Items in double quotes, of which white space does not cut the lines, as it does in R's."""
    if not _most(lambda line: line.strip()[:1] == '"', sample.lines):
        return None
    if all('"' not in _SPACED_QUOTES.sub("", line) for line in sample.lines):
        return None
    behind = re.findall(r'"\s*([,;|])\s*"', "\n".join(sample.lines))
    usual = max({*behind}, key=behind.count, default=",")
    return OtherReading(
        f"has its items in double quotes, as CSV has: say {parameter('delimiter')} {usual!r} (or "
        f"another), or {sample.as_lines} if the quotes are part of the items",
        {"delimiter": usual} if behind else None,
    )


def _spaced_items(sample: _Sample) -> OtherReading | None:
    """Items in double quotes that are separated by spaces, as R writes them, in a .csv or .tsv."""
    unquoted = [_SPACED_QUOTES.sub("", line) for line in sample.lines]
    has_several = any(len(_SPACED_QUOTES.findall(line)) > 1 for line in sample.lines)
    is_cut = _delimiter_in(unquoted) is not None
    if not has_several or is_cut or any('"' in line for line in unquoted):
        return None
    return OtherReading(
        "has items in double quotes with spaces between them, as R writes them: say "
        f"{parameter('delimiter')} ' ', or {sample.as_lines} if a line is one item",
        {"delimiter": " "},
    )


_SPACED_QUOTES = re.compile(r'(?<!\S)"(?:[^"]|"")*"(?!\S)', re.ASCII)


def _cuts(delimiter: str, line: str) -> bool:
    """Tell whether a delimiter cuts a line for sure; before a space it may be an item's: eggs,
    large.
    """
    return any(after[:1] != " " for after in line.split(delimiter)[1:])


# -------------------- rows of a table, by what is in them


def _one_hot(sample: _Sample, delimiter: str | None = None) -> OtherReading | None:
    """Hardly anything but 0 and 1, or quantities of which some are 0, with or without names.

    delimiter: another than that which is about to cut the lines.
    """
    delimiter = delimiter or sample.delimiter
    rows = [_bare_fields(line, delimiter) for line in sample.lines]
    is_headed = _headed_one_hot(rows)
    if is_headed is None:
        return None
    keys = columns.likely_keys(rows[0]) if is_headed else {}
    return _as_one_hot(sample, delimiter, keys, is_headed=is_headed)


def options_of_rows(rows: Sequence[list[str]]) -> OptionValues:
    """Return the options that the first rows of a sheet suggest, if the first names its columns."""
    options = columns.likely_options(rows[0])
    if not options and _headed_one_hot(rows):
        return {"input_format": str(InputForm.ONE_HOT), **columns.likely_keys(rows[0])}
    return options


def _headed_one_hot(rows: Sequence[list[str]]) -> bool | None:
    """Return whether the first row of a one-hot table names its columns; None for other tables."""
    first, body = rows[0], _even(rows[1:])
    by_column = _columns(body)
    is_item = _are_items(first, by_column)
    if sum(is_item) < _FEW or all(is_missing(cell) for row in body for cell in row):
        return None
    if len(first) == len(by_column) and _names_items(first, is_item):
        # Beside the items there may be ids of a basket and its user.
        if sum(is_item) < len(by_column) - _FEW:
            return None
        return True
    if not all(is_item) or sum(len({*column}) > 1 for column in by_column) < _FEW:
        return None
    return False


def _are_items(first: Sequence[str], by_column: Sequence[Sequence[str]]) -> list[bool]:
    """Tell for each column whether its cells may say that baskets have an item, or how many.

    What tells quantities from ids, prices and items that are numbers is their zeros, under a line
    of names.
    """
    is_item = [all(map(_is_truth, column)) for column in by_column]
    is_distinct = len({*first}) == len(first) > 0
    if not is_distinct or any(re.fullmatch(values.QUANTITY, name) for name in first):
        return is_item
    pairs = zip(is_item, by_column, strict=True)
    return [is_truth or _are_quantities(column) for is_truth, column in pairs]


def _is_truth(cell: str) -> bool:
    """Tell whether a cell is true, false, unknown or missing."""
    return is_missing(cell) or cell.casefold() in _TRUTHS


def _names_items(first: Sequence[str], is_item: Sequence[bool]) -> bool:
    """Tell whether the first row may name the columns of items.

    Items may be called 0 and 1, but a line of nothing else is no line of names.
    """
    is_value = [_is_truth(name) for name in compress(first, is_item)]
    is_distinct = len({*first}) == len(first)
    return not any(is_value) or (is_distinct and not all(is_value))


def _as_one_hot(
    sample: _Sample, delimiter: str, keys: OptionValues, *, is_headed: bool
) -> OtherReading:
    words, options = _dialect(sample, delimiter, is_headed=is_headed)
    return OtherReading(
        "looks like a matrix with a column of 0 and 1, or of quantities, for each item: say "
        f"{parameter('input_format')} one-hot{words}, or {sample.as_lines} if these are items",
        {"input_format": str(InputForm.ONE_HOT), **keys, **options},
    )


def _matrix(sample: _Sample) -> OtherReading | None:
    """Lines of as many values each, most of which have a value twice: baskets have none twice."""
    rows = _even(sample.rows)
    if len(_columns(rows)) < _SEVERAL or len(rows) < _FEW:
        return None
    if not _most(_repeats, rows):
        return None
    cells = [cell for row in rows for cell in row if not is_missing(cell)]
    is_absent = [cell.casefold() in values.FALSE_TEXTS for cell in cells]
    if any(is_absent) and all(is_presence(cell) for cell in cells):
        return _as_one_hot(sample, sample.delimiter, {}, is_headed=False)
    return OtherReading(
        "looks like a matrix with a value in every column, not like baskets. Write items such as "
        f"colour=red, or keep only columns of 0 and 1 and say {parameter('input_format')} one-hot. "
        f"Say {sample.as_lines} if these are items"
    )


def is_presence(cell: str) -> bool:
    """Tell whether a text says that a basket has an item, or that it does not: yes, 0, 2.5."""
    return cell.casefold() in _TRUTHS or re.fullmatch(values.QUANTITY, cell) is not None


def _repeats(row: Sequence[str]) -> bool:
    cells = [cell for cell in row if not is_missing(cell) and cell != "?"]
    return len({*cells}) < len(cells)


def _are_quantities(column: Sequence[str]) -> bool:
    cells = [cell for cell in column if not is_missing(cell)]
    above_zero = [cell for cell in cells if re.match(values.ABOVE_ZERO, cell)]
    has_zero = len(above_zero) < len(column)
    return has_zero and all(re.fullmatch(values.QUANTITY, cell) for cell in cells)


def _table(sample: _Sample) -> OtherReading | None:
    """Rows of a table: as many fields in each, of another kind in each column."""
    if sample.is_spaced and 2 * sum("\t" in line for line in sample.lines) < len(sample.lines):
        return None  # no program writes a table so
    first, *body = sample.rows
    by_column = _columns(body)
    if len(body) < _SEVERAL or len(by_column) < _FEW:
        return None
    # Rows of a table hardly come again; baskets of two or three items do.
    if 10 * len({tuple(row) for row in body}) < 9 * len(body):
        return None
    # Baskets are seldom all of one small size, and all different.
    is_even = len(body) >= _SOME and len(by_column) <= _TABLE_COLUMNS
    if not (is_even or _has_ids(by_column) or _is_above(first, by_column)):
        return None
    return OtherReading(
        f"looks like a table of items: name its columns with {parameter('basket')} and "
        f"{parameter('item')} (1, 2, … without a header), or say {sample.as_lines} if each line is "
        "a basket",
        {},
    )


def _has_ids(by_column: Sequence[Sequence[str]]) -> bool:
    """Tell whether a column of a full table seems to have ids, and another one does not."""
    has_digits = [all(re.search(r"\d", cell) for cell in column) for column in by_column]
    varies = any(len({*column}) > 1 for column in compress(by_column, has_digits))
    return varies and not all(has_digits) and all(map(any, by_column))


def _is_above(first: Sequence[str], by_column: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row seems to name the columns below it."""
    if len(first) != len(by_column):
        return False
    for name, column in zip(first, by_column, strict=True):
        if all(map(_is_number, column)) and not _is_number(name):
            return True
    comes_again = not {*chain.from_iterable(by_column)}.isdisjoint(first)
    return not comes_again and any(map(columns.suggests_a_column, first))


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[-+]?[0-9]+([.,][0-9]+)?", cell) is not None


def _columns(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    return [*zip(*rows, strict=True)] if len({len(row) for row in rows}) == 1 else []


def _even(rows: Sequence[list[str]]) -> Sequence[list[str]]:
    """Return rows without those of another length than most, which a table hardly has."""
    lengths = [len(row) for row in rows]
    usual = max({*lengths}, key=lengths.count, default=0)
    even = [row for row in rows if len(row) == usual]
    return even if _RARE * (len(rows) - len(even)) <= len(rows) else rows


def _open_quotes(sample: _Sample) -> OtherReading | None:
    """A double quote that begins a field, and is not closed in its line: it takes in the next."""
    if sample.is_spaced:
        return None
    for line in sample.lines:
        rows = csv.reader([line, "x"], delimiter=sample.delimiter, skipinitialspace=True)
        if '"' in line and len([*rows]) == 1:
            return OtherReading(
                "has a line with an open double quote: check its double quotes, or say "
                f"{sample.as_lines} if they are part of the items"
            )
    return None


def _separator_line(sample: _Sample) -> OtherReading | None:
    """A first line that says to spreadsheets what the delimiter is."""
    if not sample.is_told or sample.dialect.skipped:
        return None
    options = f"{parameter('skip_rows')} 1 and {parameter('delimiter')}"
    return OtherReading(
        f"has a first line that names the delimiter for spreadsheets: say {options}, or "
        f"{sample.as_lines} if it is a basket"
    )


_CHECKS: tuple[Callable[[_Sample], OtherReading | None], ...] = (
    _named_format,
    _sequences,
    _lists_in_lines,
    _names_of_columns,
    _row_numbers,
    _title,
    _two_colons,
    _quantities,
    _other_delimiter,
    _one_hot,
    _matrix,
    _table,
    _open_quotes,
    _separator_line,
)


def refuse_title(
    rows: Sequence[tuple[int, Sequence[str]]], names: Collection[str], source: str
) -> None:
    """Raise DataError if rows above that of the names plausibly are a title.

    The names are in the first row that has all names of columns. If none are given, they are in the
    first of the fullest rows, if it has twice as many cells as the first row.

    Args:
        rows: The number of rows above each row, and its bare cells.
        names: The columns that were named.
        source: The name of the table in errors.
    """
    rows = [(above, cells) for above, cells in rows if any(cells)]
    if not rows:
        return
    counts = [sum(map(bool, cells)) for _, cells in rows]
    may_be_names = [count == max(counts) and 2 * counts[0] <= count for count in counts]
    if names:
        may_be_names = [{*cells}.issuperset(names) for _, cells in rows]
    above = next((above for above, _ in compress(rows, may_be_names)), rows[0][0])
    if above != rows[0][0]:
        raise DataError(
            f"{source} seems to have a title above its table: say {parameter('skip_rows')} "
            f"{above} to leave out what stands above the names of the columns"
        )


# Cells of a column of items may be lists, `a, b` or `['a', 'b']`, but names have commas, too. So
# the first cells are looked at, and refused if they may be both. How a cell is cut follows from it
# alone.
_BRACKETS = ("[]", "()", "{}")


def split_cells(cells: pa.Array, split: str) -> pa.Array:
    """Return the items of each cell, (n,) Arrow texts, as (n,) Arrow lists; null for null.

    Cells are cut at a character; a space means any white space. Brackets around a cell, and quotes
    around an item, are taken off. Text in quotes is not cut.
    """
    encoded = cells
    if not pa.types.is_dictionary(cells.type):
        encoded = as_texts(cells).dictionary_encode()
    texts = as_texts(encoded.dictionary).fill_null("").to_pylist()
    items = [items_of_cell(text, split) for text in texts]
    ends = np.cumsum([0, *map(len, items)], dtype=np.int32)
    lists = pa.ListArray.from_arrays(arrow_of(ends), arrow_strings([*chain.from_iterable(items)]))
    return lists.take(encoded.indices)


def items_of_cell(cell: str, split: str) -> list[str]:
    """Return the items of one cell; see `split_cells`."""
    bare = cell.strip()
    if bare[:1] + bare[-1:] in _BRACKETS:
        bare = bare[1:-1].strip()
    at, plain = re.escape(split), f"[^{re.escape(split)}]*"
    if split == " ":
        at, plain = r"\s+", r"\S*"
    field = rf"""\s*(?:"([^"]*)"|'([^']*)'|({plain}))\s*(?:{at}|\Z)"""
    items = ["".join(groups).strip() for groups in re.findall(field, bare)]
    return list(filter(None, items))


class FirstCells:
    """Looks at the first cells of a column of items: they must not seem to be lists.

    where: the name of the column in errors. is_asked: whether to look at all.
    """

    def __init__(self, where: str, *, is_asked: bool) -> None:
        self._where, self._is_asked = where, is_asked
        self._cells: list[str] = []

    def see(self, cells: pa.Array) -> None:
        """Look at more cells: (n,) Arrow array of any type. Raises DataError for lists."""
        if self._is_asked and is_string_type(value_type(cells.type)):
            texts = as_texts(cells.slice(0, SAMPLE - len(self._cells))).to_pylist()
            self._cells += [text for text in texts if text is not None and text.strip()]
            if len(self._cells) >= SAMPLE:
                self.done()

    def done(self) -> None:
        """Check the cells that were seen. Raises DataError, whose options have a split."""
        self._is_asked = False
        split = _seeming_split(self._cells)
        self._cells = []
        if split is not None:
            raise unclear(
                f"{self._where} looks as if its cells were lists of items: say "
                f"{parameter('split')} {_shown(split)}, or {parameter('input_format')} long if "
                "each cell is one item",
                {"split": _spoken(split)},
            )


def _seeming_split(cells: Sequence[str]) -> str | None:
    """Return the character at which cells seem to be cut; None if they are no lists."""
    bracketed = [cell for cell in cells if cell.strip()[:1] + cell.strip()[-1:] in _BRACKETS]
    if cells and 2 * len(bracketed) >= len(cells):
        return _delimiter_in(bracketed) or ","
    return next((delimiter for delimiter in DELIMITERS if _seems_to_split(delimiter, cells)), None)


def _seems_to_split(delimiter: str, cells: Sequence[str]) -> bool:
    """Tell whether half of the cells have a delimiter, or some have it between known items."""
    alone = {cell.strip() for cell in cells}
    items_of = {cell: items_of_cell(cell, delimiter) for cell in {*cells}}
    lists = {cell: items for cell, items in items_of.items() if len(items) > 1}
    # One cell may have it, if it has it once: "eggs, large".
    if len(lists) < _FEW and all(len(items) <= _FEW for items in lists.values()):
        return False
    known = sum(alone.issuperset(items) for items in lists.values())
    return 2 * sum(cell in lists for cell in cells) >= len(cells) or 2 * known >= len(lists)
