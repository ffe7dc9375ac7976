"""Text with columns, which its first line names: one row per item, or a basket in several columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import NoReturn

import pyarrow as pa

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.reading import chunk_sizes, memory
from fim_private.reading.arrow_numpy import arrow_strings
from fim_private.reading.bounded_lines import BoundedLines
from fim_private.reading.column_roles import Wanted
from fim_private.reading.dialect import DELIMITERS, InputForm, not_utf8
from fim_private.reading.files import DELIMITER_OF_SUFFIX, File, empty
from fim_private.reading.options import Options
from fim_private.reading.other_readings import fields_of
from fim_private.reading.record_batches import ArrowSource, read_arrow
from fim_private.reading.text_blocks import blocks, encoding_of, refuse_nul, utf8_parts
from fim_private.reading.title_rows import LOOKED_AT, refuse_title
from fim_private.reading.transactions import Transactions

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
            block = block[: max(chunk_sizes.BLOCK_BYTES, block.find(b"\n") + 1)]
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
        while part := stream.read(chunk_sizes.BLOCK_BYTES):
            refuse_nul(part, name)
            quotes += part.count(b'"')
            # Those that open a field, and those that close one: a quote beside a delimiter inside of a field is both.
            part = last + part
            balance += sum(part.count(end + b'"') - part.count(b'"' + end) for end in ends)
            last = part[-1:]
    balance -= last == b'"'
    if quotes % 2 or balance:
        with _rows(text, header, re.compile(rf'"[ \t]+(?=[{re.escape(header.delimiter)}\r\n]|$)')) as rows:
            for _ in rows:
                pass


@contextmanager
def _rows(text: _Text, header: Header, spaced: re.Pattern[str] | None = None) -> Iterator[Iterator[list[str]]]:
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
        block_size=max(chunk_sizes.BLOCK_BYTES // 2, 4 * sum(len(name) + 1 for name in header.raw)),
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
    with _rows(text, header) as rows:
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
