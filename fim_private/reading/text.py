"""Text without columns: FIMI (.dat), and CSV with one basket per line. And which of the forms of text a file has.

Blocks of bytes are cut into tokens by arrays, without a Python loop over entries. A token keeps the
separator behind it, so that Arrow can use the file's bytes as they are; it is cut off once per distinct
token.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fim_private.errors import parameter
from fim_private.reading.arrow_labels import ArrowLabels
from fim_private.reading.arrow_numpy import arrow_strings
from fim_private.reading.assembly import KeyedRows, assemble
from fim_private.reading.dialect import InputForm
from fim_private.reading.files import DELIMITER_OF_SUFFIX, File, empty
from fim_private.reading.options import Options
from fim_private.reading.other_readings import SAMPLE, fields_of, refuse_other_readings
from fim_private.reading.read_as import ReadAs
from fim_private.reading.spmf import read_sequences
from fim_private.reading.text_blocks import blocks, refuse_nul
from fim_private.reading.text_tables import read_text_table
from fim_private.reading.transactions import Transactions

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
        labels = ArrowLabels(file.name, text=True, fold_case=options.fold_case)
        found = _baskets(chain([first], parts), form, delimiter, labels)
    return replace(found, read_as=ReadAs("text", str(form), delimiter=delimiter, encoding=dialect.encoding))


def _baskets(parts: Iterator[bytes], form: InputForm, delimiter: str, labels: ArrowLabels) -> Transactions:
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


def _delimited_lines(parts: Iterator[bytes], delimiter: str, labels: ArrowLabels) -> Iterator[KeyedRows]:
    """Yield rows from blocks of a CSV with one basket per line."""
    for block in parts:
        if b'"' in block:
            yield _quoted_lines(block, delimiter, labels)
        else:
            yield _tokens(block, delimiter.encode() + b"\n", labels)


def _quoted_lines(block: bytes, delimiter: str, labels: ArrowLabels) -> KeyedRows:
    """Return the rows of a block in which there are quotes, each line by itself.

    A quote left open must not reach into somebody else's basket.
    """
    baskets = list(map(fields_of(delimiter), block.decode().split("\n")[:-1]))
    lengths = np.fromiter(map(len, baskets), dtype=np.int64, count=len(baskets))
    return KeyedRows(lengths, labels.encode(arrow_strings(list(chain.from_iterable(baskets)))))
