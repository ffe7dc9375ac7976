"""Text: FIMI (.dat), CSV with one basket per line, CSV with one row per item.

Blocks of bytes are cut into tokens by arrays, without a Python loop over entries. A token keeps the
separator behind it, so that Arrow can use the file's bytes as they are; it is cut off once per distinct
token.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import chain
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.reading import chunk_sizes
from fim_private.reading.arrow_labels import ArrowLabels
from fim_private.reading.arrow_numpy import arrow_strings
from fim_private.reading.assembly import KeyedRows, assemble
from fim_private.reading.column_roles import Options, Roles
from fim_private.reading.files import DELIMITERS, FIMI_SUFFIXES, File, empty
from fim_private.reading.record_batches import ArrowSource, read_arrow
from fim_private.reading.transactions import Transactions

_BOM = b"\xef\xbb\xbf"
_WHITE_SPACE = b" \t\n\v\f\r"
_NEWLINE = ord("\n")
_BASKET_NAMES = re.compile(r"(basket|order|invoice|transaction|trans|receipt|ticket|tid|cart)s?(id|no|nr|number)?")
_ITEM_NAMES = re.compile(r"(items?|products?|stock|sku|articles?|description)(id|no|nr|number|code|name|description)?")


def is_text(file: File) -> bool:
    """Tell whether a file is one of the text forms."""
    return file.form in DELIMITERS or file.form in FIMI_SUFFIXES


def read_text(file: File, options: Options) -> Transactions:
    """Read baskets from a text file: CSV with a basket column one row per item, any other one basket per line.

    Raises DataError for what cannot be read so, ParameterError for names of columns that the form does not have.
    """
    delimiter = DELIMITERS.get(file.form)
    if delimiter is not None and (options.basket is not None or options.item is not None):
        return _read_long(file, options, delimiter)
    options.refuse(
        "one basket per line"
        + (f" (name {parameter('basket')} and {parameter('item')} for one row per item)" if delimiter else "")
    )
    labels = ArrowLabels(file.name, text=True)
    with file.open() as stream:
        blocks = _blocks(stream, file.name)
        if delimiter is None:
            return assemble((_tokens(block, _WHITE_SPACE, labels) for block in blocks), labels)
        return assemble(_comma_lines(blocks, delimiter, labels, file.name), labels)


def _blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield blocks of whole lines, each ending in a newline, without byte order mark; at least one."""
    carry = b""
    started = False
    while block := stream.read(chunk_sizes.BLOCK_BYTES):
        if not started:
            block = (block + stream.read(len(_BOM))).removeprefix(_BOM)
        started = started or bool(block)
        cut = block.rfind(b"\n") + 1
        if cut:
            yield carry + block[:cut]
            carry = block[cut:]
        else:
            carry += block
    if carry:
        yield carry + b"\n"
    if not started:
        raise empty(name)


def _tokens(block: bytes, separators: bytes, labels: ArrowLabels) -> KeyedRows:
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


def _comma_lines(blocks: Iterator[bytes], delimiter: str, labels: ArrowLabels, name: str) -> Iterator[KeyedRows]:
    """Yield rows from blocks of a CSV with one basket per line. Raises DataError if it seems to have a header."""
    first = next(blocks)
    _refuse_header(first, name)
    for block in chain([first], blocks):
        if b'"' in block:
            yield _quoted_lines(block, delimiter, labels)
        else:
            yield _tokens(block, delimiter.encode() + b"\n", labels)


def _quoted_lines(block: bytes, delimiter: str, labels: ArrowLabels) -> KeyedRows:
    """Return the rows of a block in which there are quotes, line by line."""
    # Not splitlines: it also cuts at characters that are no line ends in a CSV.
    baskets = [_fields(line.removesuffix("\r"), delimiter) for line in block.decode().split("\n")[:-1]]
    lengths = np.fromiter(map(len, baskets), dtype=np.int64, count=len(baskets))
    return KeyedRows(lengths, labels.encode(arrow_strings(list(chain.from_iterable(baskets)))))


def _fields(line: str, delimiter: str) -> list[str]:
    """Split one basket's line, by itself: a quote left open must not reach into somebody else's basket."""
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return line.split(delimiter)


def _refuse_header(block: bytes, name: str) -> None:
    """Raise DataError if the first line looks like the header of a CSV with one row per item."""
    fields = [
        re.sub(rb"[^a-z]", b"", field.lower()).decode() for field in re.split(rb"[,;\t]", block[: block.index(b"\n")])
    ]
    if any(map(_BASKET_NAMES.fullmatch, fields)) and any(map(_ITEM_NAMES.fullmatch, fields)):
        raise DataError(
            f"{name} looks like one row per item, with a header; "
            f"name its columns with {parameter('basket')} and {parameter('item')}"
        )


def _read_long(file: File, options: Options, delimiter: str) -> Transactions:
    """Read a CSV with one row per item. Raises as read_text."""
    if options.items is not None or options.item is None or options.basket is None:
        raise ParameterError(
            f"one row per item in text takes both {parameter('basket')} and {parameter('item')}, "
            f"and no {parameter('items')}"
        )
    header = _header(file, delimiter)
    names = header.names
    for option in options.given():
        count = names.count(getattr(options, option))
        if count != 1:
            # The names are not listed: without a header line they would be somebody's purchases.
            problem = "has no" if count == 0 else "has more than one"
            raise DataError(
                f"{file.name} {problem} column {getattr(options, option)!r} in its first line; "
                "name the columns as the header line does"
            )
    schema = pa.schema([(name, pa.string()) for name in names])
    return read_arrow(ArrowSource(file.name, schema, lambda roles: header.batches(file, roles), text=True), options)


class _Header:
    """The first line of a long CSV. names: stripped; raw: as they are."""

    def __init__(self, raw: list[str], delimiter: str) -> None:
        self.names = [name.strip() for name in raw]
        self._raw = raw
        self._delimiter = delimiter

    def batches(self, file: File, roles: Roles | None) -> Iterator[pa.RecordBatch]:
        """Yield the columns that the roles name as strings: no type is inferred from the values.

        Raises DataError for a line with more or fewer fields than the header.
        """
        import pyarrow.csv as arrow_csv

        assert roles is not None
        raw = [self._raw[self.names.index(name)] for name in roles.names]
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(raw, pa.string()),
            include_columns=raw,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        )
        parse = arrow_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        # Its threads read ahead many blocks, and gain nothing here.
        read = arrow_csv.ReadOptions(block_size=chunk_sizes.BLOCK_BYTES // 2, use_threads=False)
        with (
            _ragged(file.name),
            file.native() as stream,
            arrow_csv.open_csv(stream, read_options=read, parse_options=parse, convert_options=convert) as reader,
        ):
            for batch in reader:
                yield batch.rename_columns(roles.names)


@contextmanager
def _ragged(name: str) -> Iterator[None]:
    """Say what Arrow means by its commonest complaint, which quotes the line."""
    try:
        yield
    except pa.ArrowInvalid as error:
        if re.search(r"Expected \d+ columns, got", str(error)):
            raise DataError(
                f"{name} has lines with more or fewer fields than its first line; check delimiters and double quotes"
            ) from None
        raise


def _header(file: File, delimiter: str) -> _Header:
    """Return the first line of a CSV. Where it has semicolons and no commas, these are the delimiter."""
    with file.open() as stream:
        lines = _blocks(stream, file.name)
        first = next(lines).decode()
    line = first.partition("\n")[0]
    if delimiter == "," and ";" in line and "," not in line:
        delimiter = ";"
    return _Header(next(csv.reader(StringIO(first, newline=""), delimiter=delimiter)), delimiter)
