"""Text: FIMI, SPMF, CSV, JSON Lines."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from json import JSONDecoder
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.reading import memory
from fim_private.reading.columns import ReadAs, Wanted
from fim_private.reading.files import DELIMITER_OF_SUFFIX, File, empty, not_read
from fim_private.reading.labels import Labels
from fim_private.reading.options import DELIMITERS, InputForm, Options, not_utf8
from fim_private.reading.other_readings import SAMPLE, fields_of, refuse_other_readings
from fim_private.reading.record_batches import ArrowSource, read_arrow
from fim_private.reading.text_blocks import (
    LOOKED_AT,
    BoundedLines,
    blocks,
    encoding_of,
    refuse_nul,
    refuse_title,
    utf8_parts,
)
from fim_private.reading.transactions import KeyedRows, Transactions, assemble
from fim_private.reading.values import arrow_of, arrow_strings

# -------------------- spmf
# SPMF's format for sequences: a line is what one user bought, in baskets that end in -1; the line ends in -2.
#
# Lines that begin with %, # or @ are comments, but for those that name an item, which stand before all users:
# ``@ITEM=7=apple``. A line without -1 and -2, as SPMF writes baskets of which nobody is known to have bought two, is a
# user with one basket.

_COMMENTS = ("%", "#", "@")
_BASKET_END, _LINE_END = "-1", "-2"


def read_sequences(blocks: Iterator[bytes], labels: Labels) -> Transactions:
    """Read users, one a line, and their baskets.

    Raises DataError for names of items behind a user, UnicodeDecodeError for text that is not UTF-8.
    """
    return assemble(_spmf_rows(blocks, labels), labels)


def _spmf_rows(blocks: Iterator[bytes], labels: Labels) -> Iterator[KeyedRows]:
    """Yield the baskets of each block, under the number of their line."""
    names: dict[str, str] = {}
    line_number = 0
    for block in blocks:
        users, baskets = [], []
        for line in block.decode().split("\n")[:-1]:
            if line.startswith(_COMMENTS):
                _, _, definition = line.partition("@ITEM=")
                code, _, name = definition.partition("=")
                if name and line_number:
                    # What one line means may not depend on where it stands.
                    raise DataError("a line that names an item, @ITEM=…, stands behind a user; put these lines first")
                if name:
                    names[code.strip()] = name
                continue
            if not line.strip():
                continue
            line_number += 1
            for basket in _spmf_baskets(line.split()):
                users.append(line_number)
                baskets.append([names.get(token, token) for token in basket])
        lengths = np.array([len(basket) for basket in baskets], dtype=np.int64)
        codes = labels.encode(arrow_strings([token for basket in baskets for token in basket]))
        yield KeyedRows(lengths, codes, users=arrow_of(np.array(users, dtype=np.int64)))


def _spmf_baskets(tokens: list[str]) -> list[list[str]]:
    """Return the baskets of a line, one at least: a user of whom nothing is known is a user."""
    baskets: list[list[str]] = [[]]
    for token in tokens:
        if token == _LINE_END:
            break
        if token == _BASKET_END:
            baskets.append([])
        else:
            baskets[-1].append(token)
    return [basket for basket in baskets if basket] or [[]]


# -------------------- json lines
# JSON Lines: text with one object a line, of one item, or with a list of items.
#
# Each value is read by itself, as in CSV: what prints like an integer is one, and no type follows from what else is in
# the file. (Arrow's reader of JSON guesses a column's type from the first lines, takes texts for times where all
# look so,
# and ends the process where lists are nested a hundred thousand deep.)

_OBJECT = re.compile(rb'(\xef\xbb\xbf)?\s*\{[ \t]*"')
_DOCUMENT = re.compile(rb'(\xef\xbb\xbf)?\s*(\[\s*[\[{"]|\{\s*\n)')
_LIST = pa.list_(pa.string())
_STRUCT = pa.struct([])


def with_lines_of_json(file: File, options: Options) -> File:
    """Return a text as JSON Lines where that was said, or where nothing else was said and it begins so.

    Raises DataError where it begins as another form of JSON.
    """
    said = options.dialect
    if file.form != "text" or said.form is InputForm.JSONL:
        return replace(file, form="json") if file.form == "text" else file
    if file.suffix == ".json":
        raise not_read(file.name, "JSON")
    if said.delimiter is not None or (said.form is not None and not said.form.is_table):
        return file
    start = file.start()
    if _DOCUMENT.match(start):
        raise DataError(f"{file.name} is JSON, but not one object a line: write it so (.jsonl), or save as CSV")
    return replace(file, form="json") if _OBJECT.match(start) else file


def json_source(file: File, options: Options) -> ArrowSource:
    """Return JSON Lines as a source of record batches; its columns are those of the first block.

    Raises DataError for what is no object a line, ParameterError for a form with a column for each item or place: an
    object lacks what it has not, so these columns would be known at the end only.
    """
    if options.dialect.form in (InputForm.WIDE, InputForm.ONE_HOT):
        raise ParameterError(
            f"{parameter('input_format')} {options.dialect.form} is no form of {file.name}: its lines are objects with "
            f"one item, or with a list of items ({parameter('items')})"
        )
    name = file.name
    parts = blocks(file, options.dialect.encoding)
    first = next(parts)
    schema = _schema(_objects(first, name), options.items)
    if file.pipe is None:
        parts.close()
    # Where the only list is taken, no line may have another: which is the only one must not depend on the first lines.
    lists = options.items is None and options.item is None

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Yield the columns that are wanted, of lines that are each read by themselves."""
        again = parts if file.pipe is not None else blocks(file, options.dialect.encoding)
        with closing(again):
            for block in chain([first] if file.pipe is not None else [], again):
                objects = _objects(block, name)
                if lists and wanted.items is not None:
                    _refuse_other_lists(objects, wanted.items, name)
                yield _batch(objects, wanted.names, schema, name)

    used = ("encoding", *(("input_format",) if options.dialect.form is InputForm.JSONL else ()))
    return ArrowSource(name, schema, batches, "JSON Lines", tokens=frozenset(schema.names), used=used)


def _number(literal: str) -> str:
    """Return a number with a point or an exponent as text: a whole one without them."""
    value = float(literal)
    return str(int(value)) if value.is_integer() and abs(value) < 1e18 else str(value)


_DECODED = JSONDecoder(parse_int=str, parse_float=_number, parse_constant=str).decode


def _objects(block: bytes, name: str) -> list[dict[str, Any]]:
    """Return the objects of a block of lines, in which numbers are texts. Raises DataError for lines of anything else.

    Raises MemoryLimitError for a block that would take too much.
    """
    memory.current().check(memory.FIELDS_BYTE * len(block))
    try:
        found = [_DECODED(line) for line in block.decode().split("\n") if not line.isspace() and line]
    except UnicodeDecodeError:
        raise not_utf8(name) from None
    except RecursionError:
        raise _nested(name) from None
    except ValueError:
        found = [None]
    if not all(isinstance(one, dict) for one in found):
        raise DataError(f"{name} has a line that is no object of JSON; write one object a line, or save as CSV")
    return found


def _nested(name: str) -> DataError:
    """Return the error for what is no list of items."""
    return DataError(
        f"{name} is nested deeper than one list of items a line: write a list of texts or numbers, or one item a line"
    )


def _schema(objects: Iterable[dict[str, Any]], items: str | None) -> pa.Schema:
    """Return the columns of objects: texts, lists of texts, or, for what plays no part, structs.

    items: the column that is said to be of lists, where no object has one yet.
    """
    kinds: dict[str, pa.DataType] = {}
    for one in objects:
        for key, value in one.items():
            if kinds.get(key) is None or (value is not None and pa.types.is_null(kinds[key])):
                kinds[key] = pa.null() if value is None else _kind(value)
    unknown = {key: _LIST if key == items else pa.string() for key, kind in kinds.items() if pa.types.is_null(kind)}
    return pa.schema([*(kinds | unknown).items()])


def _kind(value: object) -> pa.DataType:
    """Return the type of a column by a value that is in it."""
    return _LIST if isinstance(value, list) else _STRUCT if isinstance(value, dict) else pa.string()


def _refuse_other_lists(objects: list[dict[str, Any]], items: str | None, name: str) -> None:
    """Raise DataError where an object has a list in another column than that of the items."""
    if any(isinstance(value, list) and key != items for one in objects for key, value in one.items()):
        raise DataError(f"{name} has several columns of lists: name that of the items with {parameter('items')}")


def _batch(objects: list[dict[str, Any]], names: list[str], schema: pa.Schema, name: str) -> pa.RecordBatch:
    """Return columns of objects. Raises DataError for a value of another kind than its column, or nested deeper."""
    columns = []
    for column in names:
        kind = schema.field(column).type
        values = [one.get(column) for one in objects]
        if any(value is not None and _kind(value) != kind for value in values):
            raise DataError(f"column {column!r} of {name} has both lists and single values; write one kind of them")
        if kind == _LIST:
            values = [None if held is None else [_text(value, name) for value in held] for held in values]
        elif kind != _STRUCT:
            values = [_text(value, name) for value in values]
        else:
            raise _nested(name)
        try:
            columns.append(pa.array(values, kind))
        except UnicodeEncodeError:  # half of a pair of surrogates
            raise DataError(f"{name} has an escape that is no character; check how it was written") from None
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema([schema.field(column) for column in names]))


def _text(value: object, name: str) -> str | None:
    """Return a single value as text. Raises DataError for a list or an object."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    raise _nested(name)


# -------------------- text tables
# Text with columns, which its first line names: one row per item, or a basket in several columns.

# A first line that tells spreadsheets what the delimiter is.
_SEPARATOR_LINE = re.compile(r"sep=([\t !#-/:-@\[-`{-~])\s*")
_ENOUGH_FOR_A_MARK = 4
# Each column takes a while in each block of rows.
_MOST_COLUMNS = 100_000


def read_text_table(file: File, options: Options, form: InputForm) -> Transactions:
    """Read a text with columns. form: long, wide or one-hot. Raises DataError, and ParameterError for other options."""
    if (options.items is not None and options.split is None) or (
        form is InputForm.LONG and options.items is None and (options.item is None or options.basket is None)
    ):
        raise ParameterError(
            f"one row per item in text takes both {parameter('basket')} and {parameter('item')}, "
            f"and no {parameter('items')}"
        )
    source = named_text_table(file, options, form)
    # Of one row per item the columns tell, and whether the form was said matters to what its cells may be.
    said = options.dialect if form is InputForm.LONG else replace(options.dialect, input_format=str(form))
    return read_arrow(source, replace(options, dialect=said))


def named_text_table(file: File, options: Options, form: InputForm, elsewhere: Collection[str] = ()) -> ArrowSource:
    """Return a text with columns, those that were named among them, but for columns that are elsewhere.

    Raises DataError where one is not in it, or twice.
    """
    source, header = text_table(file, options, form, elsewhere)
    for option, name in options.named():
        if name not in elsewhere and (count := header.names.count(name)) != 1:
            _refuse_column(file.name, option, name, header, count)
    return source


def text_table(
    file: File, options: Options, form: InputForm, elsewhere: Collection[str] = ()
) -> tuple[ArrowSource, Header]:
    """Return a text with columns as a source of record batches, and its columns. Raises DataError.

    elsewhere: columns that it is not expected to have.
    """
    text = _opened(file, options.dialect.encoding)
    header = header_of(text, file, options, elsewhere)
    if len(header.raw) > _MOST_COLUMNS:
        raise DataError(f"{file.name} has more than {_MOST_COLUMNS:,} columns; write it with one row per item")
    if header.named:
        _refuse_title(text, header, options, elsewhere)
    schema = pa.schema([(name, pa.string()) for name in header.names])

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Yield the columns that are wanted as strings: no type is inferred from the values."""
        _refuse_damage(text, header, file.name)
        read = _padded if form is InputForm.WIDE else _parsed
        yield from read(text, header, wanted, file.name)

    tokens = frozenset(header.names)
    return ArrowSource(file.name, schema, batches, "text", header.delimiter, text.encoding, tokens), header


@dataclass(frozen=True)
class Header:
    """The columns of a text. raw: their names as they are; numbers, from 1 on, where no line names them.

    lines_before: how many lines stand before that of the names, or before the rows. named: whether a line names them.
    """

    raw: tuple[str, ...]
    delimiter: str
    lines_before: int
    named: bool

    @property
    def names(self) -> list[str]:
        """The names without white space around them."""
        return [name.strip() for name in self.raw]

    def places(self, names: Sequence[str]) -> list[int]:
        """Return where columns stand; of several of one name the first."""
        place_of = {name: place for place, name in reversed([*enumerate(self.names)])}
        return [place_of[name] for name in names]


@dataclass(frozen=True)
class _Text:
    """A text that is read twice: for its header, and its rows. content: in UTF-8, where Arrow cannot read the file."""

    file: File
    encoding: str
    content: bytes | None = None

    def native(self) -> pa.NativeFile:
        """Open for Arrow's own reading, in UTF-8."""
        return self.file.native() if self.content is None else pa.BufferReader(self.content)

    def first_lines(self) -> Iterator[str]:
        """Yield the first lines with their ends, as far as they are in the first block; the first is whole."""
        block = self.content
        if block is None:
            with closing(blocks(self.file, self.encoding)) as parts:
                block = next(parts)
        else:
            block = block[: max(memory.BLOCK_BYTES, block.find(b"\n") + 1)]
        return iter(io.StringIO(block.decode("utf-8", "replace"), newline=""))


def _opened(file: File, encoding: str | None) -> _Text:
    """Return a text that can be read twice; a pipe, or one that is not in UTF-8, is held in memory."""
    if file.pipe is None:
        with file.open() as stream:
            start = stream.read(_ENOUGH_FOR_A_MARK)
        encoding = encoding_of(start, encoding)
        if encoding in ("utf-8", "utf-8-sig", "ascii"):
            return _Text(file, encoding)
    with file.open() as stream:
        content = _held(utf8_parts(stream, encoding, file.name))
    if not content:
        raise empty(file.name)
    return _Text(file, encoding or "utf-8", content)


def _held(parts: Iterator[bytes]) -> bytes:
    """Return the parts of a text together. Raises MemoryLimitError where they are too many."""
    limit, size, kept = memory.current(), 0, []
    for part in parts:
        kept.append(part)
        size += len(part)
        limit.check(2 * size)  # parts, and all of them together
    return b"".join(kept)


def header_of(text: _Text, file: File, options: Options, elsewhere: Collection[str] = ()) -> Header:
    """Return the columns of a text: of the delimiter that was given, or that cuts its first line into those named.

    Without a line of names it is that of the suffix. Raises DataError for a text without lines, and where several
    delimiters do that; ParameterError where neither names nor suffix tell.
    """
    before = options.dialect.skipped
    delimiter = options.dialect.delimiter
    lines = islice(text.first_lines(), before, None)
    line = next(lines, None)
    if line is not None and (match := _SEPARATOR_LINE.fullmatch(line)) is not None:
        delimiter = delimiter or match[1]
        before, line = before + 1, next(lines, None)
    while line is not None and not line.strip("\r\n"):  # Arrow passes over blank lines
        line = next(lines, None)
    if line is None:
        raise empty(file.name)
    line += "".join(lines) if '"' in line else ""
    named = options.dialect.header is not False
    if delimiter is not None:
        return _header(line, delimiter, before, named)
    first = DELIMITER_OF_SUFFIX.get(file.suffix, ",")
    if not named:
        # The first line is somebody's: it must not decide how the others are cut.
        if file.suffix not in DELIMITER_OF_SUFFIX:
            raise ParameterError(f"say {parameter('delimiter')}: {file.name} has no line of names that would tell it")
        return _header(line, first, before, named)
    found = [_header(line, other, before, named) for other in dict.fromkeys((first, *DELIMITERS))]
    wanted = {name for _, name in options.named()} - {*elsewhere}
    fitting = [header for header in found if wanted <= set(header.names)]
    if not wanted or not fitting:
        widest = max(len(header.raw) for header in found)
        fitting = [header for header in found if len(header.raw) == widest]
        if wanted:
            return next((header for header in fitting if header.delimiter == first), fitting[0])
    widest = max(len(header.raw) for header in fitting)
    fitting = [header for header in fitting if len(header.raw) == widest]
    if len(fitting) > 1 and widest > 1:
        raise DataError(f"the first line of {file.name} can be cut at several delimiters; say {parameter('delimiter')}")
    return fitting[0]


def _refuse_title(text: _Text, header: Header, options: Options, elsewhere: Collection[str]) -> None:
    """Raise DataError where the line that would name the columns is that of a title above it."""
    wanted = {name for _, name in options.named()} - {*elsewhere}
    if wanted <= {*header.names} and len(header.raw) > 1:
        return
    lines = list(islice(text.first_lines(), header.lines_before, header.lines_before + LOOKED_AT))
    given = options.dialect.delimiter
    for delimiter in (given,) if given is not None else DELIMITERS:
        rows = [(place, _cells(line, delimiter)) for place, line in enumerate(lines, header.lines_before)]
        refuse_title([(place, cells) for place, cells in rows if any(cells)], wanted, text.file.name)


def _cells(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line by itself, without white space around them."""
    return [field.strip() for field in fields_of(delimiter)(line)]


def _header(line: str, delimiter: str, before: int, named: bool) -> Header:
    """Return the columns of a text of which the first line is known."""
    try:
        fields = tuple(next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter), []))
    except csv.Error:  # a long line that this delimiter does not cut
        fields = (line.rstrip("\r\n"),)
    return Header(fields if named else tuple(map(str, range(1, len(fields) + 1))), delimiter, before, named)


def _refuse_column(name: str, option: str, column: str, header: Header, count: int) -> NoReturn:
    """Raise DataError for a column that is not there, or there more than once."""
    # The names are not listed: without a header line they would be somebody's purchases.
    if not header.named:
        raise DataError(
            f"{name} has no column {column!r}: without a line of names its columns are called 1, 2, and so on"
        )
    problem = "has no" if count == 0 else "has more than one"
    raise DataError(
        f"{name} {problem} column {column!r} in its first line, cut at {header.delimiter!r}; name the columns as that "
        f"line does, or say {parameter('delimiter')}; where no line names them, turn off {parameter('header')}"
    )


def _refuse_damage(text: _Text, header: Header, name: str) -> None:
    """Raise DataError for a NUL, and csv.Error for quotes that do not belong together, which Arrow takes as they come.

    An open quote would make one field of the rows behind it.
    """
    ends = [header.delimiter.encode(), b"\r", b"\n"]
    quotes = balance = 0
    last = b"\n"
    with text.native() as stream:
        while part := stream.read(memory.BLOCK_BYTES):
            refuse_nul(part, name)
            quotes += part.count(b'"')
            # Those that open a field, and those that close one: a quote beside a delimiter inside of a field is both.
            part = last + part
            balance += sum(part.count(end + b'"') - part.count(b'"' + end) for end in ends)
            last = part[-1:]
    balance -= last == b'"'
    if quotes % 2 or balance:
        with _text_tables_rows(text, header, re.compile(rf'"[ \t]+(?=[{re.escape(header.delimiter)}\r\n]|$)')) as rows:
            for _ in rows:
                pass


@contextmanager
def _text_tables_rows(
    text: _Text, header: Header, spaced: re.Pattern[str] | None = None
) -> Iterator[Iterator[list[str]]]:
    """Give the rows of a text below what stands before its names. Reading them raises csv.Error for open quotes.

    spaced: quotes with white space behind them, which is left out.
    """
    with text.native() as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as lines:
        bounded = BoundedLines(lines, memory.current())
        for _ in islice(bounded, header.lines_before):
            pass
        cut = bounded if spaced is None else (spaced.sub('"', line) for line in bounded)
        yield bounded.each(csv.reader(cut, delimiter=header.delimiter, strict=True))


def _parsed(text: _Text, header: Header, wanted: Wanted, name: str) -> Iterator[pa.RecordBatch]:
    """Yield the columns that are wanted, by Arrow. Raises DataError for a line of more or fewer fields."""
    import pyarrow.csv as arrow_csv

    raw = [header.raw[place] for place in header.places(wanted.names)]
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(raw, pa.string()),
        include_columns=raw,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    parse = arrow_csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True)
    read = arrow_csv.ReadOptions(
        # It has to hold two lines; those of many columns are long.
        block_size=max(memory.BLOCK_BYTES // 2, 4 * sum(len(name) + 1 for name in header.raw)),
        use_threads=False,  # they read ahead many blocks, and gain nothing here
        skip_rows=header.lines_before,
        column_names=None if header.named else list(header.raw),
    )
    with (
        _ragged(name),
        text.native() as stream,
        arrow_csv.open_csv(stream, read_options=read, parse_options=parse, convert_options=convert) as reader,
    ):
        for batch in reader:
            yield batch.rename_columns(wanted.names)


def _padded(text: _Text, header: Header, wanted: Wanted, name: str) -> Iterator[pa.RecordBatch]:
    """Yield the columns that are wanted; a row may end before the last of them, as wide rows often do.

    Raises DataError for a row with more fields than there are columns.
    """
    places = header.places(wanted.names)
    with _text_tables_rows(text, header) as rows:
        held = (row for row in rows if row)
        if header.named:
            next(held, None)
        while part := _part(held, wanted.rows_at_a_time, len(header.raw), name):
            yield pa.RecordBatch.from_arrays(
                [arrow_strings([row[place] if place < len(row) else "" for row in part]) for place in places],
                names=wanted.names,
            )


def _part(rows: Iterator[list[str]], count: int, width: int, name: str) -> Sequence[list[str]]:
    """Return the next rows, count of them at most. Raises DataError for one that is wider than the header."""
    part = []
    for row in rows:
        if len(row) > width:
            raise _of_other_length(name)
        part.append(row)
        if len(part) == count:
            break
    return part


def _of_other_length(name: str) -> DataError:
    """Return the error for lines of unequal length."""
    return DataError(
        f"{name} has lines with more or fewer fields than its first line; check delimiters and double quotes"
    )


@contextmanager
def _ragged(name: str) -> Iterator[None]:
    """Say what Arrow means by its commonest complaints, which quote the line."""
    try:
        yield
    except pa.ArrowInvalid as error:
        if re.search(r"Expected \d+ columns, got", str(error)):
            raise _of_other_length(name) from None
        if "invalid UTF8" in str(error):
            raise not_utf8(name) from None
        raise


# -------------------- text
# Text without columns: FIMI (.dat), and CSV with one basket per line. And which of the forms of text a file has.
#
# Blocks of bytes are cut into tokens by arrays, without a Python loop over entries. A token keeps the
# separator behind it, so that Arrow can use the file's bytes as they are; it is cut off once per distinct
# token.

_WHITE_SPACE = b" \t\n\v\f\r"
_NEWLINE = ord("\n")
# So many lines are looked at before they are read, unless they are very long together.
_FEW_LINES, _MUCH = 4, 1 << 26


def read_text(file: File, options: Options) -> Transactions:
    """Read baskets from a text, in the form that was asked for, or that `form_of` says.

    Raises DataError for what cannot be read so, or plausibly is something else, ParameterError for names of columns
    that the form does not have.
    """
    form = form_of(file, options)
    if form.is_table:
        return read_text_table(file, options, form)
    by_comma = file.suffix in DELIMITER_OF_SUFFIX
    options.refuse_columns(
        ("one basket per line" if form is not InputForm.SPMF else "sequences")
        + (
            f" (name {parameter('basket')} and {parameter('item')} for one row per item, or say {parameter('split')} "
            "for a column of lists)"
            if by_comma
            else ""
        )
    )
    dialect = options.dialect
    default = DELIMITER_OF_SUFFIX.get(file.suffix, ",") if form is InputForm.LINES else " "
    delimiter = dialect.delimiter or default
    with closing(blocks(file, dialect.encoding)) as lines:
        parts = without_lines(
            lines if dialect.form is not None else _without_nul(lines, file.name),
            dialect.skipped + (dialect.header is True),
        )
        first = b""
        while first.count(b"\n") < _FEW_LINES and len(first) < _MUCH and (block := next(parts, b"")):
            first += block
        if not first and dialect.skipped:
            raise empty(file.name)
        refuse_other_readings(first_lines(first), form, delimiter, dialect, file.name)
        labels = Labels(file.name, text=True, fold_case=options.fold_case)
        found = _text_baskets(chain([first], parts), form, delimiter, labels)
    return replace(found, read_as=ReadAs("text", str(form), delimiter=delimiter, encoding=dialect.encoding))


def _text_baskets(parts: Iterator[bytes], form: InputForm, delimiter: str, labels: Labels) -> Transactions:
    """Return the baskets in blocks of lines."""
    if form is InputForm.SPMF:
        return read_sequences(parts, labels)
    if delimiter == " ":
        return assemble((_tokens(block, _WHITE_SPACE, labels) for block in parts), labels)
    return assemble(_delimited_lines(parts, delimiter, labels), labels)


def form_of(file: File, options: Options) -> InputForm:
    """Return the form of a text: the one asked for; else what names of columns, a delimiter and the suffix say."""
    if options.dialect.form is not None:
        return options.dialect.form
    if options.basket is not None or options.item is not None or (options.items and options.split):
        return InputForm.LONG
    if file.suffix == ".spmf":
        return InputForm.SPMF
    if file.suffix in DELIMITER_OF_SUFFIX or options.dialect.delimiter not in (None, " "):
        return InputForm.LINES
    return InputForm.FIMI


def first_lines(block: bytes) -> list[str]:
    """Return the first lines of a block."""
    return [line.decode("utf-8", "replace") for line in block.split(b"\n", SAMPLE)[:SAMPLE]]


def _without_nul(parts: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield blocks of lines as they are. Raises DataError where one has a NUL."""
    for block in parts:
        refuse_nul(block, name)
        yield block


def without_lines(parts: Iterator[bytes], number: int) -> Iterator[bytes]:
    """Yield blocks of lines without so many of the first lines."""
    for block in parts:
        kept = block.split(b"\n", number)[number:] if number else [block]
        number -= 0 if kept else block.count(b"\n")
        if kept:
            number = 0
            if kept[0]:
                yield kept[0]


def _tokens(block: bytes, separators: bytes, labels: Labels) -> KeyedRows:
    """Cut lines at separators (the newline one of them). An empty token becomes a null."""
    table = bytearray(256)
    for separator in separators:
        table[separator] = 1
    ends = np.flatnonzero(np.frombuffer(block.translate(table), dtype=bool)) + 1
    offsets = np.concatenate([np.zeros(1, dtype=np.int32), ends.astype(np.int32)])
    tokens = pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(block)])
    encoded = tokens.dictionary_encode()
    line_ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8)[ends - 1] == _NEWLINE) + 1
    distinct = pc.binary_slice(encoded.dictionary, 0, -1)
    codes = labels.encode(pa.DictionaryArray.from_arrays(encoded.indices, distinct))
    return KeyedRows(np.diff(line_ends, prepend=0), codes)


def _delimited_lines(parts: Iterator[bytes], delimiter: str, labels: Labels) -> Iterator[KeyedRows]:
    """Yield rows from blocks of a CSV with one basket per line."""
    for block in parts:
        if b'"' in block:
            yield _quoted_lines(block, delimiter, labels)
        else:
            yield _tokens(block, delimiter.encode() + b"\n", labels)


def _quoted_lines(block: bytes, delimiter: str, labels: Labels) -> KeyedRows:
    """Return the rows of a block in which there are quotes, each line by itself.

    A quote left open must not reach into somebody else's basket.
    """
    baskets = list(map(fields_of(delimiter), block.decode().split("\n")[:-1]))
    lengths = np.fromiter(map(len, baskets), dtype=np.int64, count=len(baskets))
    return KeyedRows(lengths, labels.encode(arrow_strings(list(chain.from_iterable(baskets)))))
