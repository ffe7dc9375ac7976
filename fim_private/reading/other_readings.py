"""Refusals of texts, and of rows in a list, that could as well be read in another way.

Only a line itself may decide which baskets it makes, so nothing here decides how a text is read. By
its first lines a text is refused, and the refusal names the option that decides.
"""

import csv
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress
from typing import TypeVar

from fim_private.errors import DataError, parameter
from fim_private.options.declaration import OptionValues
from fim_private.reading import columns, values
from fim_private.reading.lists_in_cells import (
    delimiter_in,
    inside_of_list,
    shown_delimiter,
    spoken_delimiter,
)
from fim_private.reading.options import DELIMITERS, Dialect, InputForm
from fim_private.reading.values import is_missing

_Cell = TypeVar("_Cell")
Cells = Sequence[Sequence[str]]  # of a table, row by row or column by column

_CHARACTERS, _FIELDS = 1 << 16, 1000  # so much of each line is looked at
LOOKED_AT = 20  # so many rows are looked at for a title
_FEW, _SEVERAL, _SOME = 2, 3, 10
_RARE = 20  # of so many lines one may have what its form hardly has
# A table with nothing but even rows has at most so many columns: basket files may have wider rows.
_TABLE_COLUMNS = 4
# What a quoted field may hold cuts nothing.
_QUOTED_FIELD = r'(?:^|(?<=[,;\t|]))\s*"[^"]*"(?=\s*(?:[,;\t|]|$))'
# A first line that says to spreadsheets what the delimiter is.
SEPARATOR_LINE = r"sep=([\t !#-/:-@\[-`{-~])\s*"
# Between white space, ASCII's alone as in lines without quotes: a text in double quotes, in which
# two quotes stand for one; or anything.
_SPACED_FIELD = re.compile(r'"((?:[^"]|"")*)"(?!\S)|(\S+)', re.ASCII)
# The parameters that refusals name, as a template of a refusal has them.
_NAMES = ("basket", "delimiter", "input_format", "item", "skip_rows")
_PARAMETERS = {name: parameter(name) for name in _NAMES}


@dataclass(frozen=True)
class _Sample:
    """The first lines of a text that are not blank, and how they are about to be read.

    Attributes:
        name: The name of the text in errors.
        numbers: How many lines stand above each, besides those that are skipped.
        lines: The lines.
        form: lines or fimi.
        delimiter: The character that is about to cut them.
        dialect: What a caller said of the text.
        has_separator_line: Whether a line above, such as sep=;, names the delimiter.
    """

    name: str
    numbers: Sequence[int]
    lines: Sequence[str]
    form: InputForm
    delimiter: str
    dialect: Dialect
    has_separator_line: bool

    @property
    def as_lines(self) -> str:
        """The option by which the text is read as baskets after all."""
        return f"{parameter('input_format')} {self.form}"

    @property
    def is_spaced(self) -> bool:
        return self.form is InputForm.FIMI

    @cached_property
    def rows(self) -> Cells:
        """The fields of each line."""
        return self.cut_at(self.delimiter)

    def cut_at(self, delimiter: str) -> Cells:
        """Return the fields of each line, without quotes, cut at a delimiter."""
        return [
            [field.strip().strip("\"'") for field in fields_of(line, delimiter)[:_FIELDS]]
            for line in self.lines
        ]

    def widest_delimiter(self, place: int) -> str:
        """Return the delimiter that cuts one of the lines into the most fields."""
        line = self.lines[place]
        if self.is_spaced and "\t" in line:  # which are white space, too
            return "\t"
        delimiters = (self.delimiter, *DELIMITERS)
        return max(delimiters, key=lambda delimiter: len(fields_of(line, delimiter)))

    def refusal(self, problem: str, options: OptionValues | None = None) -> DataError:
        """Return the error that says what the text seems to be instead. options: see DataError."""
        return DataError(f"{self.name} {problem}", options=options)


def fields_of(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line, cut outside double quotes; a space means ASCII white space."""
    if delimiter == " ":
        return [plain or quoted.replace('""', '"') for quoted, plain in _SPACED_FIELD.findall(line)]
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return line.split(delimiter)


def refuse_other_readings(
    lines: Sequence[str], form: InputForm, delimiter: str, dialect: Dialect, name: str
) -> None:
    """Raise DataError if a text is plausibly something else than one basket per line.

    Args:
        lines: Its first lines, without their ends.
        form: lines or fimi, as which they are about to be read.
        delimiter: The character that is about to cut them.
        dialect: What a caller said of the text.
        name: The name of the text in errors.
    """
    numbers = [place for place, line in enumerate(lines) if line.strip()]
    has_separator_line = False
    if len(numbers) > 1 and re.fullmatch(SEPARATOR_LINE, lines[numbers[0]]):
        has_separator_line = True
        del numbers[0]
    if not numbers:
        return
    short = [lines[number][:_CHARACTERS] for number in numbers]
    sample = _Sample(name, numbers, short, form, delimiter, dialect, has_separator_line)
    for check in _CHECKS:
        check(sample)


# -------------------- texts that are refused for their look alone

# What Orange has in the second line of a .tab for each column, its type; and in the third.
_ORANGE_TYPE = r"\s*(c|d|s|t|continuous|discrete|string|time|basket)\s*"
_ORANGE_TYPES = rf"(?i){_ORANGE_TYPE}(\t{_ORANGE_TYPE})+"
_ORANGE_FLAG = r"\s*(class|c|meta|m|ignore|i|weight|w|multiclass|)\s*"
_ORANGE_FLAGS = rf"(?i){_ORANGE_FLAG}(\t{_ORANGE_FLAG})*"
# of a table with one line of names: mS#name
_ORANGE_NAME = r"(^|\t)([mciw]?[CDST]|[mci])#\S"
_SPACED_QUOTES = r'(?a)(?<!\S)"(?:[^"]|"")*"(?!\S)'


@dataclass(frozen=True)
class _Look:
    """A reading that certain looks suggest, and that is always named in the same words.

    problem: a template, in which {as_lines} and names of parameters are to be filled in.
    """

    has_look: Callable[[_Sample], bool]
    problem: str
    options: OptionValues | None = None

    def __call__(self, sample: _Sample) -> None:
        if self.has_look(sample):
            words = _PARAMETERS | {"as_lines": sample.as_lines}
            raise sample.refusal(self.problem.format_map(words), self.options)


def _lines(pattern: str, share: float = 0) -> Callable[[_Sample], bool]:
    """Return what tells whether more than a share of the lines have a pattern."""
    search = re.compile(pattern, re.ASCII).search

    def have_pattern(sample: _Sample) -> bool:
        return len([*filter(search, sample.lines)]) > share * len(sample.lines)

    return have_pattern


def _is_orange(sample: _Sample) -> bool:
    if re.search(_ORANGE_NAME, sample.lines[0]):
        return True
    if len(sample.lines) < 3:
        return False
    _, types, flags = sample.lines[:3]
    if re.fullmatch(_ORANGE_TYPES, types) is None:
        return False
    # A line without flags is blank. Letters alone may be items.
    has_blank_flags = sample.numbers[2] > sample.numbers[1] + 1
    return has_blank_flags or re.fullmatch(_ORANGE_FLAGS, flags) is not None


def _has_row_numbers(sample: _Sample) -> bool:
    """Tell whether lines begin with their number, as R and pandas write the names of rows."""
    first, *body = rows = sample.rows
    least = _SOME
    if body and (first[0] == "" or {*map(len, body)} == {len(first) + 1}):  # a line of names
        rows, least = body, _FEW
    counted = [*map(str, range(len(rows) + 1))]
    is_numbered = [row[0] for row in rows] in (counted[:-1], counted[1:])
    return is_numbered and len(rows) >= least and any(len(row) > 1 for row in rows)


def _has_numbers_in_front(sample: _Sample) -> bool:
    """Tell whether each line has a whole number in front, all different, and no other number.

    The first line may name columns.
    """
    first, *body = rows = sample.rows
    if not first[0].isdecimal():
        rows = body
    numbers = {row[0] for row in rows if row[0].isdecimal()}
    others = chain.from_iterable(row[1:] for row in rows)
    return len(rows) >= _SOME and len(numbers) == len(rows) and not any(map(str.isdecimal, others))


def _has_spaced_quotes(sample: _Sample) -> bool:
    """Tell whether a text that is to be cut elsewhere has items in double quotes between spaces."""
    unquoted = [re.sub(_SPACED_QUOTES, "", line) for line in sample.lines]
    has_several = any(len(re.findall(_SPACED_QUOTES, line)) > 1 for line in sample.lines)
    is_cut = delimiter_in(unquoted) is not None or any('"' in line for line in unquoted)
    return has_several and not is_cut and not sample.is_spaced and sample.dialect.delimiter is None


def _has_an_open_quote(sample: _Sample) -> bool:
    """Tell whether a double quote that begins a field is not closed in its line."""
    return not sample.is_spaced and any(
        # it takes in the next line
        len([*csv.reader([line, "x"], delimiter=sample.delimiter, skipinitialspace=True)]) == 1
        for line in sample.lines
    )


# -------------------- tables with names of columns


def _names_of_columns(sample: _Sample) -> None:
    """A first line that looks like names of columns, of which none comes again below."""
    if sample.dialect.header is not None:
        return
    delimiter = sample.widest_delimiter(0)
    first = [field.strip() for field in fields_of(sample.lines[0], delimiter)]
    comes_again = _come_again(first, sample.rows[1:])
    places = columns.numbered(columns.suggested(first)[0])
    dialect, also_say = _dialect(sample, delimiter, is_headed=True)
    if places and len(sample.rows) > 1 and not comes_again:
        raise sample.refusal(
            f"looks like one basket per line below column names, {places[0]!r} to {places[-1]!r}: "
            f"say {parameter('input_format')} wide{also_say}, or {sample.as_lines} if its first "
            f"line is a basket",
            {"input_format": "wide", **columns.likely_keys(first), **dialect},
        )
    roles = columns.likely_roles(first)
    # Names of both are no basket, also where they stand again below.
    is_named = sum(map(columns.suggests_a_column, first)) >= _FEW
    if not is_named or (comes_again and not roles):
        return
    such_as, options = "", {}
    if roles:
        such_as, options = f", such as {columns.named_roles(roles)}", {**roles, **dialect}
    raise sample.refusal(
        f"looks like one row per item, with a header: name its columns with {parameter('basket')} "
        f"and {parameter('item')}{such_as}{also_say}; or say {sample.as_lines} if line 1 is a "
        f"basket",
        options,
    )


def _come_again(names: Sequence[str], rows: Cells) -> bool:
    """Tell whether any of the names is a cell of the rows below."""
    return not {*chain.from_iterable(rows)}.isdisjoint(names)


def _dialect(sample: _Sample, delimiter: str, *, is_headed: bool) -> tuple[OptionValues, str]:
    """Return the options of a table that is cut at a delimiter, and what a message says of them.

    A line of names tells by itself at which delimiter it is cut, unless that is white space.
    """
    is_told = is_headed or delimiter == sample.delimiter
    also_say, options = "", OptionValues()
    if sample.dialect.delimiter is None and (delimiter == " " or not is_told):
        also_say = f", {parameter('delimiter')} {shown_delimiter(delimiter)}"
        options["delimiter"] = spoken_delimiter(delimiter)
    if not is_headed and sample.dialect.header is None:
        also_say += f", and turn off {parameter('header')}"
        options["header"] = False
    return options, also_say


def _title(sample: _Sample) -> None:
    """A title, or lines of few fields, above a line of names, or above the rows of a table."""
    if sample.dialect.header is not None:
        return
    for place in range(1, min(LOOKED_AT, len(sample.lines))):
        rows = sample.cut_at(sample.widest_delimiter(place))
        above, rows = rows[:place], rows[place:]
        names = list(filter(None, rows[0]))
        if any(2 * sum(map(bool, row)) > len(names) for row in above):
            continue
        is_long = columns.likely_roles(names)
        is_wide = columns.numbered(columns.suggested(names)[0]) and not _come_again(names, rows[1:])
        if is_long or is_wide or (len(rows) > _SOME and _are_of_a_table(rows)):
            skip_rows = sample.dialect.skipped + sample.numbers[place]
            raise sample.refusal(
                f"seems to have a title above a table: say {parameter('skip_rows')} {skip_rows} to "
                f"skip it, or {sample.as_lines} if each line is a basket"
            )


# -------------------- lines that are cut in another way


def _lists_in_lines(sample: _Sample) -> None:
    """Lines that are lists of items as a cell of a table holds them: in quotes, or in brackets."""
    plain = [line for line in sample.lines if inside_of_list(line) is None]
    cut = [line for line in plain if delimiter_in([line])]
    split = delimiter_in([*filter(None, map(inside_of_list, sample.lines))])
    is_most = 2 * len(plain) <= len(sample.lines) + 1
    if split is None or not is_most or _RARE * len(cut) > len(sample.lines):
        return
    raise sample.refusal(
        f"has lines that are lists of items, in quotes or brackets: say {parameter('split')} "
        f"{shown_delimiter(split)} (and {parameter('header')} if the first line names them), or "
        f"{sample.as_lines} if that is part of the items",
        {"split": spoken_delimiter(split)},
    )


def _other_delimiter(sample: _Sample) -> None:
    """Lines that another delimiter cuts, and this one, or white space, does not."""
    if sample.dialect.delimiter is not None:
        return
    unquoted = [re.sub(_QUOTED_FIELD, "", line) for line in sample.lines]
    for delimiter in DELIMITERS:
        if not _may_separate(sample, delimiter, unquoted):
            continue
        _one_hot(sample, delimiter)
        separator = "tabs" if delimiter == "\t" else repr(delimiter)
        usual = "white space" if sample.is_spaced else repr(sample.delimiter)
        options = None
        if 2 * sum(delimiter in line for line in unquoted) >= len(unquoted):
            options = {"delimiter": spoken_delimiter(delimiter)}
        # Otherwise only the data's owner knows what these few lines are.
        raise sample.refusal(
            f"seems to be separated by {separator}, not by {usual}: say {parameter('delimiter')} "
            f"{shown_delimiter(delimiter)}, or {sample.as_lines} if that is part of items. For one "
            f"row per item name {parameter('basket')} and {parameter('item')}",
            options,
        )


def _may_separate(sample: _Sample, delimiter: str, unquoted: Sequence[str]) -> bool:
    """Tell whether a delimiter plausibly separates the items, and the usual one does not."""
    having = [line for line in unquoted if delimiter in line]
    # Tabs alone are white space, as that of other files of this form.
    may_be_white = sample.is_spaced and delimiter == "\t"
    is_white = may_be_white and not any(" " in line.strip() for line in having)
    if not having or is_white or delimiter == sample.delimiter:
        return False
    # Baskets of one item have no delimiter, whichever it is, so half as many cut for sure are
    # plausible too.
    sure = sum(sample.is_spaced or _cuts(delimiter, line) for line in having)
    usual = sum(_cuts(sample.delimiter, line.strip(" ")) for line in unquoted)
    return max(2 * sure, len(having)) >= usual


def _cuts(delimiter: str, line: str) -> bool:
    """Tell whether a delimiter cuts a line for sure; before a space it may be an item's: eggs,
    large.
    """
    return re.search(f"{re.escape(delimiter)}(?! )", line) is not None


# -------------------- rows of a table, by what is in them


def refuse_rows_of_a_table(baskets: Sequence[object]) -> None:
    """Raise DataError if the first baskets of an iterable seem to be rows of a table.

    Then one column has ids and another has none, or columns differ in type. The cells of a row have
    an order, so a set is none; and items such as age=23 are no cells.
    """
    rows = [basket[:_FIELDS] for basket in baskets if isinstance(basket, list | tuple)]
    cells = [[str(cell).strip() for cell in row] for row in rows]
    # Rows of a table hardly come again.
    is_varied = 10 * len({*map(tuple, cells)}) >= 9 * len(baskets)
    is_named = all("=" in cell for cell in chain.from_iterable(cells))
    if len(baskets) < _SOME or not is_varied or is_named:
        return
    if _has_ids(_columns(cells)) or _differ_in_type(_columns(rows)):
        raise DataError(
            f"the iterable looks like rows of a table, not like baskets: give a frame, such as "
            f"pandas.DataFrame(rows, columns=[...]), with {parameter('basket')} and "
            f"{parameter('item')}; or make each basket a set"
        )


def _differ_in_type(by_column: Sequence[Sequence[object]]) -> bool:
    """Tell whether each column has values of one type, and not all have the same."""
    types = [{*map(type, column)} for column in by_column]
    return all(len(kinds) == 1 for kinds in types) and len(set().union(*types)) > 1


def _one_hot(sample: _Sample, delimiter: str | None = None) -> None:
    """Nothing but 0 and 1, or quantities of which some are 0, with or without names.

    delimiter: another than that which is about to cut the lines.
    """
    delimiter = delimiter or sample.delimiter
    rows = sample.cut_at(delimiter)
    is_headed = _headed_one_hot(rows)
    if is_headed is None:
        return
    names = rows[0] if is_headed else []
    raise _as_one_hot(sample, delimiter, names)


def options_of_rows(rows: Cells) -> OptionValues:
    """Return the options that the first rows of a sheet suggest, if the first names its columns."""
    options = columns.likely_options(rows[0])
    if not options and _headed_one_hot(rows):
        return {"input_format": "one-hot", **columns.likely_keys(rows[0])}
    return options


def _headed_one_hot(rows: Cells) -> bool | None:
    """Return whether the first row of a one-hot table names its columns; None for other tables.

    What tells quantities from ids, prices and items that are numbers is their zeros, under a line
    of names.
    """
    first, by_column = rows[0], _columns(rows[1:])
    is_distinct = len({*first}) == len(first)
    may_have_quantities = is_distinct and not any(map(_is_quantity, first))
    is_item = [
        all(map(_is_truth, column)) or (may_have_quantities and _are_quantities(column))
        for column in by_column
    ]
    if sum(is_item) < _FEW or all(map(is_missing, chain.from_iterable(by_column))):
        return None
    # Items may be called 0 and 1, but a line of nothing else is no line of names.
    is_headed = is_distinct and not all(map(_is_truth, compress(first, is_item)))
    if is_headed and len(first) == len(by_column):
        return True if sum(is_item) >= len(by_column) - columns.ID_COLUMNS else None
    if not all(is_item) or sum(len({*column}) > 1 for column in by_column) < _FEW:
        return None
    return False


def _is_truth(cell: str) -> bool:
    """Tell whether a cell is true, false, unknown or missing."""
    return is_missing(cell) or cell.casefold() in values.TRUTHS


def _is_quantity(cell: str) -> bool:
    return re.fullmatch(values.QUANTITY, cell) is not None


def _are_quantities(cells: Sequence[str]) -> bool:
    """Tell whether all cells are quantities or missing, and some say that there is no item."""
    has_zero = not all(re.match(values.ABOVE_ZERO, cell) for cell in cells)
    return has_zero and all(is_missing(cell) or _is_quantity(cell) for cell in cells)


def _as_one_hot(sample: _Sample, delimiter: str, names: Sequence[str] = ()) -> DataError:
    """Return the refusal of a one-hot table, whose columns may have names."""
    options, also_say = _dialect(sample, delimiter, is_headed=len(names) > 0)
    return sample.refusal(
        f"looks like a matrix with a column of 0 and 1, or of quantities, for each item: say "
        f"{parameter('input_format')} one-hot{also_say}, or {sample.as_lines} if these are items",
        {"input_format": "one-hot", **columns.likely_keys(names), **options},
    )


def _matrix(sample: _Sample) -> None:
    """Lines of as many values each, most of which have a value twice: baskets have none twice."""
    rows = sample.rows
    is_most = 2 * sum(map(_repeats, rows)) > len(rows)
    if len(rows) < _FEW or len(_columns(rows)) < _SEVERAL or not is_most:
        return
    cells = [*chain.from_iterable(rows)]
    has_zero = any(cell.casefold() in values.FALSE_TEXTS for cell in cells)
    if has_zero and all(map(is_presence, cells)):
        raise _as_one_hot(sample, sample.delimiter)
    raise sample.refusal(
        "looks like a matrix with a value in every column, not like baskets. Write items such as "
        f"colour=red, or keep only columns of 0 and 1 and say {parameter('input_format')} one-hot. "
        f"Say {sample.as_lines} if these are items"
    )


def is_presence(cell: str) -> bool:
    """Tell whether a text says if a basket has an item, or says nothing: yes, 0, 2.5, NULL."""
    return _is_truth(cell) or _is_quantity(cell)


def _repeats(row: Sequence[str]) -> bool:
    cells = [cell for cell in row if not is_missing(cell) and cell != "?"]
    return len({*cells}) < len(cells)


def _is_table(sample: _Sample) -> bool:
    """Tell whether these are rows of a table: as many fields in each, in columns that differ."""
    # No program writes a table with spaces between its fields.
    has_tabs = 2 * sum("\t" in line for line in sample.lines) >= len(sample.lines)
    return (has_tabs or not sample.is_spaced) and _are_of_a_table(sample.rows)


def _are_of_a_table(rows: Cells) -> bool:
    first, *body = rows
    by_column = _columns(body)
    if len(body) < _SEVERAL or len(by_column) < _FEW:
        return False
    # Rows of a table hardly come again; baskets of two or three items do.
    if 10 * len({*map(tuple, body)}) < 9 * len(body):
        return False
    # Baskets are seldom all of one small size, and all different.
    is_even = len(body) >= _SOME and len(by_column) <= _TABLE_COLUMNS
    return is_even or _has_ids(by_column) or _is_above(first, by_column)


def _has_ids(by_column: Cells) -> bool:
    """Tell whether a column of a full table seems to have ids, and another one does not."""
    has_digits = [all(re.search(r"\d", cell) for cell in column) for column in by_column]
    varies = any(len({*column}) > 1 for column in compress(by_column, has_digits))
    return varies and not all(has_digits) and all(map(any, by_column))


_NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?")


def _is_above(first: Sequence[str], by_column: Cells) -> bool:
    """Tell whether the first row seems to name the columns below it."""
    if len(first) != len(by_column):
        return False
    numbers = [all(map(_NUMBER.fullmatch, column)) for column in by_column]
    if not all(map(_NUMBER.fullmatch, compress(first, numbers))):
        return True
    return any(map(columns.suggests_a_column, first)) and not _come_again(first, by_column)


def _columns(rows: Sequence[Sequence[_Cell]]) -> list[tuple[_Cell, ...]]:
    """Return the columns of rows that all have one length; none of others."""
    if len({*map(len, rows)}) != 1:
        return []
    return [*zip(*rows, strict=True)]


_SPMF = {"input_format": "spmf"}
_CHECKS: tuple[Callable[[_Sample], None], ...] = (
    _Look(
        _lines(r"(?i)^@(relation|attribute|data)\b"),
        "is ARFF, the format of Weka, which is not read: save it as CSV, and read that",
    ),
    _Look(
        _lines("(?i)^@(CONVERTED_FROM_TEXT|ITEM=)"),
        "is in SPMF's format, with the names of items in its first lines: say {input_format} spmf, "
        "or {as_lines} if these lines are baskets",
        _SPMF,
    ),
    _Look(
        _lines("^[0-9 ]+:[0-9.]+:[0-9. ]+$", share=0.5),
        "looks like SPMF's format of items, their total and their utilities. Keep only what "
        "stands before the first colon, or say {as_lines} if all of it is items",
    ),
    _Look(
        _is_orange,
        "is a table of Orange, with lines for types and flags below its names. Save it as CSV "
        "without these lines. Then name its columns with {basket} and {item}, or say "
        "{input_format} one-hot",
    ),
    _Look(
        _lines(r'^\s*\{\s*"'),
        "has lines of JSON: say {input_format} jsonl, or {as_lines} if these are items",
    ),
    _Look(
        _lines(r"(^|\s)-[12]\s*$", share=0.5),
        "looks like SPMF's format for sequences, where -1 and -2 are ends: say {input_format} "
        "spmf, or {as_lines} if they are items",
        _SPMF,
    ),
    _lists_in_lines,
    _names_of_columns,
    _Look(
        _has_row_numbers,
        "has lines that begin with their number, as R writes row names and pandas its index. "
        "Write it without them (row.names=FALSE, or index=False), or say {as_lines} if these "
        "numbers are items",
    ),
    _title,
    _Look(  # as those of MovieLens
        _lines(r"\S::\S", share=0.5),
        "has '::' between its values, and a delimiter is one character. Write a tab or a comma in "
        "its place, or say {as_lines} if it is part of the items",
    ),
    _Look(  # milk=2; or libsvm's 7:1 behind a first number
        _lines(
            r"[^=\s,;|][^=,;|]*=\s*[0-9]+(\.[0-9]+)?\s*($|[\s,;|])"
            r"|^[^\s,;|]+([\s,;|]+[^:\s,;|]+:[0-9]+(\.[0-9]+)?)+\s*$",
            share=0.5,
        ),
        "has quantities behind its items, as in milk=2 or milk:2: leave the quantities out, or "
        "say {as_lines} if they are part of the items",
    ),
    _Look(
        _has_spaced_quotes,
        "has items in double quotes with spaces between them, as R writes them: say {delimiter} "
        "' ', or {as_lines} if a line is one item",
        {"delimiter": " "},
    ),
    _other_delimiter,
    _one_hot,
    _matrix,
    _Look(
        _is_table,
        "looks like a table of items: name its columns with {basket} and {item} (1, 2, … without "
        "a header), or say {as_lines} if each line is a basket",
        {},
    ),
    _Look(
        _has_numbers_in_front,
        "has a number in front of each line, all different, as ids of baskets are: leave them out "
        "of the text, or say {as_lines} if these numbers are items",
    ),
    _Look(
        _has_an_open_quote,
        "has a line with an open double quote: check its double quotes, or say {as_lines} if they "
        "are part of the items",
    ),
    _Look(
        lambda sample: sample.has_separator_line and not sample.dialect.skipped,
        "has a first line that names the delimiter for spreadsheets: say {skip_rows} 1 and "
        "{delimiter}, or {as_lines} if it is a basket",
    ),
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
