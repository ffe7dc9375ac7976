"""Text: one basket per line (FIMI, CSV), sequences (SPMF), and CSV with columns.

A line ends at a line feed, a carriage return, or both, and means what it means whatever else is in
the file.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, dropwhile, groupby, islice, takewhile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.options.declaration import OptionValues
from fim_private.reading import memory
from fim_private.reading.columns import ReadAs, Scan
from fim_private.reading.files import DELIMITER_OF_SUFFIX, File, empty
from fim_private.reading.labels import Labels
from fim_private.reading.lists_in_cells import items_of_line
from fim_private.reading.options import (
    DELIMITERS,
    SAMPLE,
    Dialect,
    InputForm,
    Reading,
    not_utf8,
)
from fim_private.reading.other_readings import (
    LOOKED_AT,
    SEPARATOR_LINE,
    Cells,
    fields_of,
    is_presence,
    refuse_other_readings,
    refuse_title,
)
from fim_private.reading.record_batches import ArrowSource, read_arrow
from fim_private.reading.transactions import KeyedRows, Transactions, assemble
from fim_private.reading.values import arrow_of, arrow_strings

# Byte order marks, the longer ones first: that of UTF-16 begins that of UTF-32. Codecs of no fixed
# byte order take their mark away.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LONGEST_MARK = 4
_UTF8 = ("utf-8", "utf-8-sig", "ascii")
# two returns and a line feed, which some programs write, are one end
_LINE_END = re.compile(rb"\r\r\n|\r\n?")
# Some ten million items: what has more in a basket is no list of baskets, and a small file may have
# gigabytes of it.
_LONGEST_LINE = 1 << 26
# so many lines are looked at before they are read, unless they are very long together
_FEW_LINES, _MUCH = 4, 1 << 26
_WHITE_SPACE = b" \t\n\v\f\r"


def _encoding_of(start: bytes, named: str | None) -> str:
    """Return the encoding that was named, or else that of the byte order mark, or UTF-8."""
    marked = (encoding for mark, encoding in _MARKS.items() if start.startswith(mark))
    return named or next(marked, "utf-8")


def _utf8(file: File, encoding: str | None) -> Iterator[bytes]:
    """Yield a text in UTF-8, without a byte order mark. A text in UTF-8 is not checked."""
    start = b""
    with file.open() as stream:
        pieces = iter(partial(stream.read, memory.BLOCK_BYTES), b"")
        for piece in pieces:  # a pipe may give a byte at a time
            start += piece
            if len(start) >= _LONGEST_MARK:
                break
        encoding = _encoding_of(start, encoding)
        if encoding in _UTF8:
            yield from chain([start.removeprefix(codecs.BOM_UTF8)], pieces)
            return
        try:
            for text in codecs.iterdecode(chain([start], pieces), encoding):
                yield text.encode()
        except UnicodeError:
            # If the encoding was a guess, the option in the error tells that it was wrong.
            raise DataError(
                f"{file.name} is not {encoding.upper()} text; name its encoding with "
                f"{parameter('encoding')}",
                options={"encoding": encoding},
            ) from None


def blocks(file: File, encoding: str | None) -> Generator[bytes]:
    """Yield blocks, at least one, of whole lines in UTF-8 without a byte order mark.

    Each ends in a line feed. A text in UTF-8 is not checked. encoding: of the file; None for what
    its byte order mark says, or UTF-8. Raises DataError for a file without text, and for one
    that is not of its encoding.
    """
    carry, returns, is_empty = bytearray(), b"", True
    limit = memory.current()
    for piece in _utf8(file, encoding):
        block = returns + piece
        is_empty = is_empty and not block
        # Two carriage returns may belong to a line feed that comes behind them.
        returns = b"\r" * min(2, len(block) - len(block.rstrip(b"\r")))
        block = block.removesuffix(returns)
        if b"\r" in block:  # a hundred times as fast as the search for the pattern
            block = _LINE_END.sub(b"\n", block)
        cut = block.rfind(b"\n") + 1
        if cut:
            yield bytes(carry) + block[:cut]
            carry.clear()
        carry += block[cut:]
        if len(carry) > memory.BLOCK_BYTES:
            limit.check(memory.LINE_BYTE * len(carry))
            if len(carry) > _LONGEST_LINE:
                raise DataError(
                    f"{file.name} has a line of more than 64 MiB; write one basket a line"
                )
    if carry or returns:
        yield bytes(carry) + _LINE_END.sub(b"\n", returns or b"\r")
    if is_empty:
        raise empty(file.name)


def without_lines(text: Iterable[bytes], number: int) -> Iterator[bytes]:
    """Yield blocks of lines without the first `number` lines."""
    for block in text:
        skipped = min(number, block.count(b"\n"))
        number -= skipped
        rest_of_block = block.split(b"\n", skipped)[skipped]
        if rest_of_block:
            yield rest_of_block


def _without_nul(name: str, block: bytes) -> bytes:
    """Return a block. Raises DataError if it has a NUL."""
    if b"\0" in block:
        raise DataError(
            f"{name} has a NUL byte, as UTF-16 does: name its {parameter('encoding')}, utf-16-le "
            f"or utf-16-be; if it is UTF-8, it is damaged",
            is_of_a_line=True,
        )
    return block


# -------------------- one basket per line, or one user

# What errors call a text without columns, if a caller names columns.
_OF_COLUMNS = (
    f": name {parameter('basket')} and {parameter('item')} for one row per item, or say "
    f"{parameter('split')} for a column of lists"
)


def form_of(file: File, options: Reading) -> InputForm:
    """Return the form of a text that was asked for, or that its options and its suffix say."""
    if options.dialect.form is not None:
        return options.dialect.form
    if options.basket or options.item or (options.items and options.split):
        return InputForm.LONG
    if file.suffix == ".spmf":
        return InputForm.SPMF
    is_cut = file.suffix in DELIMITER_OF_SUFFIX or options.dialect.delimiter not in (None, " ")
    return InputForm.LINES if is_cut else InputForm.FIMI


def read_text(file: File, options: Reading) -> Transactions:
    """Read baskets from a text, in the form that was asked for, or that `form_of` says.

    Raises DataError for what plausibly is something else, ParameterError for columns that the form
    does not have.
    """
    form = form_of(file, options)
    if form.is_table:
        return _read_table(file, options, form)
    dialect = options.dialect
    is_open = dialect.form is None and form is not InputForm.SPMF
    split = None
    if is_open:  # then the lines themselves are split
        split, options = options.split, replace(options, split=None)
    if form is InputForm.SPMF:
        options.refuse_columns("sequences")
    options.refuse_columns("one basket per line", _OF_COLUMNS)
    delimiter = _delimiter_of(file, form, dialect)
    labels = Labels(file.name, fold_case=options.fold_case)
    with closing(blocks(file, dialect.encoding)) as whole_text:
        text: Iterator[bytes] = whole_text
        if dialect.form is None:
            text = map(partial(_without_nul, file.name), text)
        text = without_lines(text, dialect.skipped + bool(dialect.header))
        start = _start_of(text)
        if not start and dialect.skipped:
            raise empty(file.name)
        lines = start.decode().split("\n", SAMPLE)[:SAMPLE]
        if is_open and split is None:
            refuse_other_readings(lines, form, delimiter, dialect, file.name)
        text = chain([start], text)
        if form is InputForm.SPMF:
            rows = _sequences(text, labels)
        elif split is None:
            # In the form fimi all that stands between white space is an item, with its quotes.
            is_quoted = dialect.form is not InputForm.FIMI or dialect.delimiter is not None
            rows = _lists(text, delimiter, labels, is_quoted=is_quoted)
        else:
            cut = partial(items_of_line, split=split)
            rows = (_rows_of_lines(block, cut, labels) for block in text)
        purchases = assemble(rows, labels)
    read_as = ReadAs(
        "text",
        str(form),
        delimiter=delimiter if split is None else None,
        encoding=dialect.encoding,
        split=split,
    )
    return replace(purchases, read_as=read_as)


def _delimiter_of(file: File, form: InputForm, dialect: Dialect) -> str:
    """Return the character that cuts lines into items; a space stands for any white space."""
    if dialect.delimiter is not None:
        return dialect.delimiter
    if form is InputForm.LINES:
        return DELIMITER_OF_SUFFIX.get(file.suffix, ",")
    return " "


def _read_table(file: File, options: Reading, form: InputForm) -> Transactions:
    """Read baskets from a text with columns. Raises DataError, ParameterError."""
    is_named = form is not InputForm.LONG or () not in (options.item, options.basket)
    if options.items is not None:
        is_named = options.split is not None
    if not is_named:
        raise ParameterError(
            f"a text with one row per item needs both {parameter('basket')} and "
            f"{parameter('item')}, and no {parameter('items')}"
        )
    return read_arrow(text_table(file, options, form), options)


def _start_of(text: Iterator[bytes]) -> bytes:
    """Return the first blocks of a text: as many as a look at its first lines takes."""
    start = b""
    for block in text:
        start += block
        if start.count(b"\n") >= _FEW_LINES or len(start) >= _MUCH:
            break
    return start


def _lists(
    text: Iterator[bytes], delimiter: str, labels: Labels, *, is_quoted: bool
) -> Iterator[KeyedRows]:
    """Yield the baskets of lines that a delimiter cuts."""
    separators = _WHITE_SPACE if delimiter == " " else delimiter.encode() + b"\n"
    for block in text:
        if is_quoted and b'"' in block:
            # Each line by itself: a quote left open must not reach into somebody else's basket.
            yield _rows_of_lines(block, partial(fields_of, delimiter=delimiter), labels)
        else:
            yield _tokens(block, separators, labels)


def _rows_of_lines(block: bytes, cut: Callable[[str], list[str]], labels: Labels) -> KeyedRows:
    """Return the baskets of lines, each cut into its items."""
    return _rows_of_lists([cut(line) for line in block.decode().split("\n")[:-1]], labels)


def _rows_of_lists(baskets: Cells, labels: Labels) -> KeyedRows:
    lengths = np.fromiter(map(len, baskets), dtype=np.int64)
    return KeyedRows(lengths, labels.encode(arrow_strings([*chain.from_iterable(baskets)])))


def _tokens(block: bytes, separators: bytes, labels: Labels) -> KeyedRows:
    """Cut lines at separators, of which the newline is one, without a loop over entries.

    An empty token becomes a null.
    """
    # A token stays with the separator behind it, so that Arrow can use the file's bytes as they
    # are; the separator is cut off once per distinct token.
    table = bytes(byte in separators for byte in range(256))
    ends = np.flatnonzero(np.frombuffer(block.translate(table), dtype=bool)) + 1
    offsets = np.append(0, ends).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    encoded = pa.Array.from_buffers(pa.binary(), len(ends), buffers).dictionary_encode()
    line_ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8)[ends - 1] == ord("\n")) + 1
    distinct = pc.binary_slice(encoded.dictionary, 0, -1)
    codes = labels.encode(pa.DictionaryArray.from_arrays(encoded.indices, distinct))
    return KeyedRows(np.diff(line_ends, prepend=0), codes)


def _sequences(text: Iterator[bytes], labels: Labels) -> Iterator[KeyedRows]:
    """Yield the baskets of SPMF's sequences. The user of each is the number of its line.

    A basket ends in -1, the line in -2; a blank line is nobody. Lines that begin with %, # or @ are
    comments, or name an item (``@ITEM=7=apple``). Names stand before all users, since the meaning
    of a line may not depend on where it stands.
    """
    names: dict[str, str] = {}
    line_number = 0
    for block in text:
        users: list[int] = []
        baskets: list[list[str]] = []
        for line in block.decode().split("\n")[:-1]:
            if line.startswith(("%", "#", "@")):
                code, _, name = line.partition("@ITEM=")[2].partition("=")
                if name and line_number:
                    raise DataError(
                        "a line that names an item, @ITEM=…, stands behind a user; "
                        "put these lines first"
                    )
                if name:
                    names[code.strip()] = name
            elif line.strip():
                line_number += 1
                runs = groupby(takewhile("-2".__ne__, line.split()), "-1".__ne__)
                of_user = [
                    [names.get(code, code) for code in run] for is_basket, run in runs if is_basket
                ] or [[]]
                baskets += of_user
                users += [line_number] * len(of_user)
        keys = {"users": arrow_of(np.array(users, dtype=np.int64))}
        yield replace(_rows_of_lists(baskets, labels), keys=keys)


# -------------------- tables

_OTHER_LENGTH = (
    "has lines with more or fewer fields than its first line; check delimiters and double quotes"
)
_MOST_COLUMNS = 100_000  # each column takes a while in each block of rows


@dataclass(frozen=True)
class _Table:
    """A text with columns, and how they are named and cut.

    Attributes:
        text: The text in UTF-8, which can be read twice.
        encoding: The encoding that it had.
        lines: Its first lines.
        first_line: That of the names, or the first row; with those behind it if it has quotes.
        delimiter: The character that cuts them.
        lines_before: How many lines stand before that of the names, or before the rows.
        named: Whether a line names them.
    """

    text: File
    encoding: str
    lines: Sequence[str]
    first_line: str
    delimiter: str
    lines_before: int
    named: bool

    @cached_property
    def raw(self) -> list[str]:
        """The names of its columns as they are, or numbers, from 1 on, if no line names them."""
        line = io.StringIO(self.first_line, newline="")
        try:
            fields = next(csv.reader(line, delimiter=self.delimiter))
        except csv.Error:  # a long line that this delimiter does not cut
            fields = [self.first_line]
        if self.named:
            return fields
        return [*map(str, range(1, len(fields) + 1))]

    @cached_property
    def names(self) -> list[str]:
        """The names of its columns without white space around them."""
        return [name.strip() for name in self.raw]

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raise DataError if a column that was named is missing, or there several times.

        Names of another encoding are said to be that. The names are not listed: without a header
        line they would be somebody's purchases.
        """
        advice = ": without a line of names its columns are called 1, 2, and so on"
        options: OptionValues | None = None
        if self.named:
            options = {}  # whoever has the data may see that line
            advice = (
                f" in its first line, cut at {self.delimiter!r}; name the columns as that line "
                f"does, or say {parameter('delimiter')}; where no line names them, turn off "
                f"{parameter('header')}"
            )
        for name in columns:
            count = self.names.count(name)
            if count != 1:
                _without_nul(self.text.name, self.first_line.encode())
            if count > 1:
                raise DataError(
                    f"{self.text.name} has more than one column {name!r}; rename all but one"
                )
            if count == 0:
                problem = f"{self.text.name} has no column {name!r}{advice}"
                raise DataError(problem, options=options)

    def refuse_damage(self) -> None:
        """Raise DataError for a NUL, and csv.Error for quotes that do not belong together.

        Arrow takes such quotes as they come: an open one would make one field of the rows behind
        it.
        """
        ends = [self.delimiter.encode(), b"\r", b"\n"]
        quotes = balance = 0
        last = b"\n"
        with self.text.native() as stream:
            for block in iter(partial(stream.read, memory.BLOCK_BYTES), b""):
                quotes += _without_nul(self.text.name, block).count(b'"')
                # Quotes that open a field, and those that close one: a quote beside a delimiter
                # inside of a field is both.
                block = last + block
                balance += sum(block.count(end + b'"') - block.count(b'"' + end) for end in ends)
                last = block[-1:]
        balance -= last == b'"'
        if quotes % 2 or balance:
            spaced = re.compile(rf'"[ \t]+(?=[{re.escape(self.delimiter)}\r\n]|$)')
            for _ in self.rows(spaced):
                pass

    def rows(self, spaced: re.Pattern[str] | None = None) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the last line of each row, and its fields: those of the names first.

        spaced: matches a quote and the white space behind it, which is taken off.
        """
        limit, size = memory.current(), 0

        def bounded(lines: io.TextIOBase) -> Iterator[str]:
            nonlocal size
            # A piece at a time: a line may be as long as the file, and a reader of CSV ends it at
            # a carriage return.
            line = ""
            for piece in iter(partial(lines.readline, memory.BLOCK_BYTES), ""):
                line += piece
                size += len(piece)
                limit.check(memory.FIELDS_BYTE * size)
                if piece.endswith(("\n", "\r")):
                    yield line
                    line = ""
            if line:
                yield line

        text = self.text.native()
        with text as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream:
            lines: Iterator[str] = islice(bounded(stream), self.lines_before, None)
            if spaced is not None:
                lines = map(partial(spaced.sub, '"'), lines)
            reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
            for row in reader:
                size = 0
                yield self.lines_before + reader.line_num, row

    def parsed(self, places: Sequence[int], scan: Scan) -> Iterator[pa.RecordBatch]:
        """Yield the columns at some places, of rows that are all as long."""
        import pyarrow.csv as arrow_csv

        raw = [self.raw[place] for place in places]
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(raw, pa.string()),
            include_columns=raw,
            null_values=[""],
            strings_can_be_null=True,
        )
        parse = arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        read = arrow_csv.ReadOptions(
            # It has to hold two lines; those of many columns are long.
            block_size=max(memory.BLOCK_BYTES // 2, 4 * sum(len(name) + 1 for name in self.raw)),
            use_threads=False,  # they read ahead many blocks, and gain nothing here
            skip_rows=self.lines_before,
            column_names=None if self.named else self.raw,
        )
        text = self.text.native()
        try:
            with text as stream, arrow_csv.open_csv(stream, read, parse, convert) as reader:
                for batch in reader:
                    yield batch.rename_columns(scan.names)
        except pa.ArrowInvalid as error:  # which quotes the line
            if re.search(r"Expected \d+ columns, got", str(error)):
                raise DataError(f"{self.text.name} {_OTHER_LENGTH}", is_of_a_line=True) from None
            if "invalid UTF8" in str(error):
                raise not_utf8(self.text.name) from None
            raise

    def padded(self, places: Sequence[int], scan: Scan) -> Iterator[pa.RecordBatch]:
        """Yield the columns at some places, of rows that may end before the last of the columns."""
        rows = (row for _, row in self.rows() if row)
        if self.named:
            next(rows, None)
        width = len(self.raw)
        for chunk in iter(lambda: [*islice(rows, scan.rows_at_a_time)], []):
            if max(map(len, chunk)) > width:
                raise DataError(f"{self.text.name} {_OTHER_LENGTH}", is_of_a_line=True)
            columns = [arrow_strings([_field_at(place, row) for row in chunk]) for place in places]
            yield pa.RecordBatch.from_arrays(columns, names=scan.names)


def _field_at(place: int, row: Sequence[str]) -> str:
    """Return the field at a place of a row, which may end before it."""
    return row[place] if place < len(row) else ""


def text_table(file: File, options: Reading, form: InputForm) -> ArrowSource:
    """Return a text with columns as a source of record batches.

    Raises DataError for a column that is missing or there twice.

    Args:
        file: The text.
        options: How it is read, and the columns that were named.
        form: The form of its rows: those of a wide table may be short.
    """
    columns = [name for _, name in options.named() if name not in file.partitions]
    table = _table_of(file, options, columns)
    names = table.names
    if len(names) > _MOST_COLUMNS:
        raise DataError(
            f"{file.name} has more than {_MOST_COLUMNS:,} columns; write it with one row per item"
        )
    is_certain = len(names) > 1 and {*columns}.issubset(names)
    if table.named and not is_certain:
        above, delimiter = table.lines_before, options.dialect.delimiter
        lines = table.lines[above : above + LOOKED_AT]
        delimiters = DELIMITERS if delimiter is None else (delimiter,)
        for delimiter in delimiters:
            rows = [[*map(str.strip, fields_of(line, delimiter))] for line in lines]
            refuse_title([*enumerate(rows, above)], columns, file.name)
    if not options.head:
        table.check_columns(columns)

    # Of several columns of one name the first is read.
    place_of = {name: place for place, name in reversed([*enumerate(names)])}

    def batches(scan: Scan) -> Iterator[pa.RecordBatch]:
        table.refuse_damage()
        read = table.padded if form is InputForm.WIDE else table.parsed
        yield from read([place_of[name] for name in scan.names], scan)

    schema = pa.schema([(name, pa.string()) for name in names])
    return ArrowSource(file.name, schema, batches, "text", table.delimiter, table.encoding)


def _opened(file: File, options: Reading) -> tuple[File, str, list[str]]:
    """Return a text that Arrow can read twice, in UTF-8, its encoding, and its first whole lines.

    A pipe, or a text of another encoding, is read into memory.
    """
    text, encoding = file, options.dialect.encoding
    if file.pipe is None:
        encoding = _encoding_of(file.start(), encoding)
    if file.pipe is not None or encoding not in _UTF8:
        limit, content = memory.current(), bytearray()
        for piece in _utf8(file, encoding):
            content += piece
            limit.check(2 * len(content))
        remote = partial(pa.BufferReader, pa.py_buffer(content))
        text = File(file.path, suffix=file.suffix, remote=remote, shown=file.name)
    with closing(blocks(text, "utf-8")) as whole_text:
        block = next(whole_text)
    lines = block.decode(errors="replace" if options.head else "strict").split("\n")[:-1]
    return text, encoding or "utf-8", lines


def _table_of(file: File, options: Reading, columns: Sequence[str]) -> _Table:
    """Return a text with columns, cut so that it has those that were named.

    Raises DataError if several delimiters would do, ParameterError if none can be told.
    """
    text, encoding, first_lines = _opened(file, options)
    lines_before, delimiter = options.dialect.skipped, options.dialect.delimiter
    lines = first_lines[lines_before:] or [""]
    separator = re.fullmatch(SEPARATOR_LINE, lines[0])
    if separator is not None:
        delimiter = delimiter or separator[1]
        lines_before += 1
        del lines[0]
    lines = [*dropwhile("".__eq__, lines)]  # Arrow passes over blank lines
    if not lines:
        raise empty(file.name)
    # a name in quotes may reach over lines
    line = "\n".join(lines) if '"' in lines[0] else lines[0]
    named = options.dialect.header is not False
    delimiters = _delimiters_of(file, named=named) if delimiter is None else [delimiter]
    tables = [
        _Table(text, encoding, first_lines, line, delimiter, lines_before, named)
        for delimiter in delimiters
    ]
    fitting = [table for table in tables if {*columns}.issubset(table.names)]
    # Of several the first, that of the suffix.
    widest = max(fitting or tables, key=lambda table: len(table.raw))
    rivals = [table for table in fitting if len(table.raw) == len(widest.raw)]
    if len(rivals) > 1 and len(widest.raw) > 1:
        raise DataError(
            f"the first line of {file.name} can be cut at several delimiters; say "
            f"{parameter('delimiter')}"
        )
    return widest


def _delimiters_of(file: File, *, named: bool) -> list[str]:
    """Return the delimiters that may cut the first line, that of the suffix first."""
    of_suffix = DELIMITER_OF_SUFFIX.get(file.suffix)
    if named:
        return [*dict.fromkeys((of_suffix or ",", *DELIMITERS))]
    # The first line is somebody's: it must not decide how the others are cut.
    if of_suffix is None:
        raise ParameterError(
            f"say {parameter('delimiter')}: {file.name} has no line of names that would tell it"
        )
    return [of_suffix]


def damage_of(file: File, options: Reading) -> str | None:
    """Return what is wrong with the first line of a text that cannot be read: for its owner alone.

    It is None if every line can be read, or the text has no columns. options: those with which the
    text was refused.
    """
    form = form_of(file, options)
    if not form.is_table:
        return None
    with closing(blocks(file, options.dialect.encoding)) as text:
        lines = chain.from_iterable(block.split(b"\n")[:-1] for block in text)
        for number, line in enumerate(lines, 1):
            if b"\0" in line:
                return f"line {number} has a NUL"
            try:
                line.decode()
            except UnicodeDecodeError:
                return f"line {number} is not UTF-8"
    return _damaged_row(file, options, form)


def _damaged_row(file: File, options: Reading, form: InputForm) -> str | None:
    """Return which row of a table in a text has other fields than its first, or a stray quote."""
    named = [name for _, name in options.named()]
    table = _table_of(file, options, named)
    width, number, is_data = len(table.raw), table.lines_before + 1, not table.named
    try:
        for last_line, row in table.rows():
            is_short = 0 < len(row) < width and form is not InputForm.WIDE
            if is_short or len(row) > width:
                fields = "1 field" if len(row) == 1 else f"{len(row):,} fields"
                return f"line {number} has {fields}, and the first line {width:,}"
            if form is InputForm.ONE_HOT and is_data:
                for name, cell in zip(table.names, map(str.strip, row), strict=False):
                    if name not in named and not is_presence(cell):
                        return f"line {number} has {cell!r} in column {name!r}"
            is_data = is_data or len(row) > 0
            number = last_line + 1
    except csv.Error:
        return f"a double quote in line {number} is not closed, or stands inside a field"
    return None
