"""What a path, a pattern or an address stands for: a text, or a table of Parquet, Arrow or Excel,
or several as one.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import RecordBatch

from fim_private.errors import DataError, FimPrivateError, MissingExtraError, parameter
from fim_private.reading import memory
from fim_private.reading.columns import Scan
from fim_private.reading.databases import database_source
from fim_private.reading.files import File, empty, file_errors, files_of, open_file
from fim_private.reading.json_lines import json_source, with_lines_of_json
from fim_private.reading.locations import Database, FileLocation, LocalPath
from fim_private.reading.notations import refuse_other_notations
from fim_private.reading.options import SAMPLE, InputForm, Reading
from fim_private.reading.other_readings import LOOKED_AT, options_of_rows, refuse_title
from fim_private.reading.record_batches import ArrowSource, common_type, plain
from fim_private.reading.text import form_of, text_table
from fim_private.reading.values import arrow_of, arrow_strings, number_text, present, shown_type
from fim_private.reading.where import bounds_of, columns_of, may_pass

if TYPE_CHECKING:
    import pyarrow.parquet
    import python_calamine


def named_source(source: FileLocation, options: Reading) -> File | ArrowSource:
    """Return a text, or a table, that a path or an address stands for.

    Raises DataError, and what `file_errors` turns into one.
    """
    if isinstance(source, Database):
        return database_source(source, str(options.query))
    files = files_of(source)
    is_one_of_a_folder = isinstance(source, LocalPath) and files[0].path != source.path
    if len(files) > 1 or files[0].partitions or is_one_of_a_folder:
        return _joined(files, source.name, options)
    file = _opened(files[0], options)
    if file.form == "text":
        return file
    return file_table(file, options)


def _opened(file: File, options: Reading) -> File:
    # Text by what is given, if it is no Parquet or Arrow.
    as_text = options.head or bool(options.item or options.dialect.given())
    return with_lines_of_json(open_file(file, as_text=as_text), options)


def file_table(file: File, options: Reading) -> ArrowSource:
    """Return a file that is no text as a source.

    Raises DataError, and what `file_errors` turns into one.
    """
    if file.form == "json":
        return json_source(file, options)
    if file.form == "excel":
        return _workbook(file, options)
    if file.form == "parquet":
        return _parquet(file)
    return _arrow(file)


_ENTRIES = 1 << 25  # so many entries of lists are decoded at a time, at most


def _parquet(file: File) -> ArrowSource:
    from pyarrow.parquet import ParquetFile

    with file.native() as stream:
        head = ParquetFile(stream)
    leaves = [*map(head.schema.column, range(len(head.schema)))]

    def batches(scan: Scan) -> Iterator[RecordBatch]:
        encoded = [
            leaf.path
            for leaf in leaves
            if leaf.physical_type == "BYTE_ARRAY"
            and scan.items is not None
            and f"{leaf.path}.".startswith(f"{scan.items}.")
        ]
        # Decoded batch by batch, from a buffer a column: nothing is read ahead, unless it is far
        # away.
        reader = ParquetFile(
            file.native(),
            pre_buffer=file.remote is not None,
            read_dictionary=encoded,
            buffer_size=memory.BLOCK_BYTES,
        )
        tested = columns_of(scan.where)
        places = {leaf.path: place for place, leaf in enumerate(leaves) if leaf.path in tested}
        # A batch of lists cannot span two dictionaries (apache/arrow issue 32723); each row group
        # has one.
        for number in range(reader.num_row_groups):
            group = reader.metadata.row_group(number)
            bounds = {name: _bounds(head, group, number, place) for name, place in places.items()}
            if not may_pass(scan.where, bounds, file.name):
                continue
            # An entry of a list takes a bit or more.
            entries = max(1, 8 * max(group.total_byte_size, 1) // max(group.num_rows, 1))
            rows = max(1, min(scan.rows_at_a_time, _ENTRIES // entries))
            for batch in reader.iter_batches(rows, row_groups=[number], columns=scan.names):
                if not {*scan.names} <= {*batch.schema.names}:
                    raise pa.ArrowInvalid("the two schemas of the file do not agree")
                if encoded:
                    # Arrow takes a page's codes as they are, which may be of no value in the
                    # dictionary.
                    batch.column(scan.items).validate(full=True)
                yield batch

    return ArrowSource(file.name, head.schema_arrow, batches, kind="Parquet")


def _bounds(
    head: pyarrow.parquet.ParquetFile,
    group: pyarrow.parquet.RowGroupMetaData,
    number: int,
    place: int,
) -> pa.Array | None:
    """Return the bounds of the column at a place in a row group, of a number; see `bounds_of`.

    Raises ArrowException for a damaged file.
    """
    leaf = head.schema.column(place)
    _check_column(head, number, leaf.path)
    column = group.column(place)
    if column.physical_type != leaf.physical_type:
        raise pa.ArrowInvalid("a column has two types")
    return bounds_of(column, head.schema_arrow.field(leaf.path).type)


def _check_column(head: pyarrow.parquet.ParquetFile, row_group: int, column: str) -> None:
    """Raise an error of Arrow if a damaged file states impossible sizes of a column.

    Arrow's Python asks for bounds without a guard: there C++ ends the process. To begin to read the
    column makes the same checks, and raises, but head is closed, so nothing of it is read.
    """
    try:
        batches = head.iter_batches(1, row_groups=[row_group], columns=[column], use_threads=False)
        next(batches, None)
    except (OSError, pa.ArrowException) as error:
        if " on closed " not in str(error):
            raise


def _arrow(file: File) -> ArrowSource:
    if file.form == "stream":
        # A stream is read once, with all of its columns.
        stream = pa.ipc.open_stream(file.native())
        return ArrowSource(file.name, stream.schema, lambda _: _validated(stream), kind="Arrow")
    schema = pa.ipc.open_file(file.native()).schema

    def batches(scan: Scan) -> Iterator[RecordBatch]:
        fields = sorted(map(schema.get_field_index, scan.names))
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        reader = pa.ipc.open_file(file.native(), options=options)
        return _validated(map(reader.get_batch, range(reader.num_record_batches)))

    return ArrowSource(file.name, schema, batches, kind="Arrow")


def _validated(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    """Yield batches of a file of Arrow. Raises ArrowException for a damaged one."""
    for batch in batches:
        # Arrow takes a file's offsets as they are: damaged ones would point outside of its memory.
        batch.validate(full=True)
        yield batch


# -------------------- workbooks of Excel
# The table on the only sheet, its cells as texts, as in CSV. The reader (python-calamine) makes an
# array of a sheet, and ends the process where memory does not suffice: so what it would take is
# reckoned first, from the file's own XML.

_PIECE = 1 << 20
_CELL = 64  # bytes of a cell in the reader's array, and of what it makes of it
# A row or a cell with its attributes, or the end of a shared string; an attribute; and a place on a
# sheet.
_ATTRIBUTE = rb"""\s+([^\s=<>"'/]+)\s*=\s*("[^"<]*"|'[^'<]*')"""
_TOKEN = re.compile(
    rb"<(?:[^\s<>/:]+:)?(row|c)(?=[\s/>])((?:"
    + _ATTRIBUTE
    + rb")*\s*/?>)?|(</(?:[^\s<>/:]+:)?si\s*>)"
)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_PLACE = re.compile(rb"([A-Z]{0,3})([0-9]{0,7})")
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14
_NO_TEXT = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
_Row = tuple[int, Sequence[object]]  # how many rows stand above it, and its cells


def _workbook(file: File, options: Reading) -> ArrowSource:
    rows = partial(_rows, _only_sheet(file), options.dialect.skipped)
    names = _column_names(rows(), options, file)

    def batches(scan: Scan) -> Iterator[RecordBatch]:
        places = [names.index(name) for name in scan.names]
        below = islice(rows(), 1, None)
        for block in iter(lambda: list(islice(below, scan.rows_at_a_time)), []):
            columns = [
                arrow_strings([_text(cells[place]) for _, cells in block]) for place in places
            ]
            yield RecordBatch.from_arrays(columns, names=scan.names)

    schema = pa.schema([(name, pa.string()) for name in names])
    return ArrowSource(file.name, schema, batches, "Excel", used=("skip_rows",), own_dates=True)


def _column_names(rows: Iterable[_Row], options: Reading, file: File) -> list[str]:
    """Return the names in the first row. Raises DataError if they are none, or not as was said."""
    rows = islice(rows, LOOKED_AT)
    first = [(number, [_text(cell).strip() for cell in cells]) for number, cells in rows]
    if not first:
        raise empty(file.name)
    named = {name for _, name in options.named()}
    refuse_title(first, named, file.name)
    names = first[0][1]
    while names and not names[-1]:
        names.pop()
    if not options.head and not options.given() and options.dialect.form is None:
        # Without a row of names these would be somebody's purchases: they are not listed.
        raise DataError(
            f"{file.name} is a table: name its columns with {parameter('basket')} and "
            f"{parameter('item')}, or say {parameter('input_format')} wide or one-hot",
            options=options_of_rows([cells for _, cells in first]),
        )
    missing = sorted(named - {*names})
    if missing:
        raise DataError(
            f"{file.name} has no column {missing[0]!r}; name the columns as the first row of its "
            f"table does"
        )
    return names


def _only_sheet(file: File) -> python_calamine.CalamineSheet:
    try:
        import python_calamine as calamine
    except ImportError:
        raise MissingExtraError(
            "workbooks of Excel are read by python-calamine, which is not installed: "
            "pip install 'fim-private[excel]', or save as CSV"
        ) from None
    with file.open() as stream:
        content = memory.read_whole(stream)
    try:
        memory.current().check(_weight(content))
        book = calamine.load_workbook(io.BytesIO(content))
        table, visible = calamine.SheetTypeEnum.WorkSheet, calamine.SheetVisibleEnum.Visible
        sheets = [
            book.get_sheet_by_index(number)
            for number, sheet in enumerate(book.sheets_metadata)
            if sheet.typ is table and sheet.visible is visible
        ]
    except (FimPrivateError, MemoryError):
        raise
    except BaseException as error:
        # Each damage has an error of its own, in two libraries; one of them panics, as programs in
        # Rust do.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise DataError(
            f"{file.name} is not a workbook that can be read, or has a password; write it again "
            f"without one, or save as CSV"
        ) from None
    filled = [sheet for sheet in sheets if sheet.start is not None]
    if not filled:
        raise empty(file.name)
    if len(filled) > 1:
        raise DataError(
            f"{file.name} has several sheets that are not empty: save the one that you mean as "
            f"CSV, or in a file alone"
        )
    return filled[0]


def _weight(content: bytes) -> int:
    """Return how many bytes the sheets of a workbook take at most.

    Raises BadZipFile, ValueError.
    """
    size = cells = written = longest = 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            text = bytearray()
            with archive.open(entry) as stream:
                for piece in iter(partial(stream.read, _PIECE), b""):
                    text += piece
                    memory.current().check(2 * (size + len(text)))
            size += len(text)
            if text.startswith(_NO_TEXT):
                raise ValueError("XML that is not in UTF-8")
            extent = _extent(text)
            cells += extent.cells
            written += extent.written
            longest = max(longest, extent.longest)
    # Each cell that is written may be the longest of the shared strings.
    return 2 * size + _CELL * cells + longest * written


@dataclass(frozen=True)
class _Extent:
    """How large a sheet, or the list of the shared strings, is by its XML.

    Attributes:
        cells: The number of cells in a sheet's array, which reaches to the last row and column.
        written: The number of cells that the XML has.
        longest: The number of bytes of the longest shared string.
    """

    cells: int
    written: int
    longest: int


def _extent(text: bytearray) -> _Extent:
    """Return how large a sheet is by its XML. Raises ValueError for XML that no sheet has."""
    row = column = last_row = last_column = written = 0
    start = longest = 0
    for token in _TOKEN.finditer(text):
        if token[5] is not None:
            longest = max(longest, token.end() - start)
            start = token.end()
            continue
        letters, number = _place(token[2])
        if token[1] == b"row":
            row, column = int(number or row + 1), 0
        else:
            written += 1
            column = _column_number(letters) or column + 1
            row = int(number or row)
            last_row, last_column = max(last_row, row), max(last_column, column)
        if row > _MOST_ROWS or column > _MOST_COLUMNS:
            raise ValueError("a place that no sheet has")
    return _Extent(last_row * last_column, written, longest)


def _column_number(letters: bytes) -> int:
    """Return the number of a column by its letters: 1 for A, 27 for AA, 0 for none."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _place(attributes: bytes | None) -> tuple[bytes, bytes]:
    """Return the letters and the number of a place that a tag states, either empty if it does not.

    Raises ValueError for what the reader of the sheet might understand otherwise.
    """
    if attributes is None:
        raise ValueError("a tag that does not end")
    stated = [value[1:-1] for name, value in _ATTRIBUTES.findall(attributes) if name == b"r"]
    place = _PLACE.fullmatch(b"".join(stated))
    if place is None or len(stated) > 1:
        raise ValueError("a place that no sheet has")
    return place[1], place[2]


def _rows(sheet: python_calamine.CalamineSheet, skipped: int) -> Iterator[_Row]:
    for number, cells in enumerate(sheet.iter_rows()):
        if number >= skipped and any(cell != "" for cell in cells):
            yield number, cells


def _text(cell: object) -> str:
    """Return a cell as text: whole numbers without a point, dates and times in ISO 8601."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return number_text(cell)
    return str(cell)


# -------------------- several files as one table


def _joined(files: Sequence[File], name: str, options: Reading) -> ArrowSource:
    # Columns that the names of folders say are texts, and take the place of a file's own of that
    # name. The types are those of the first file; that the others agree is checked when they are
    # read: a type that one file has must not change what another's rows mean, as in a scan of
    # Arrow's.
    first = _one_of_several(files[0], options)
    folders = [*files[0].partitions]
    texts = {
        folder: [*filter(None, (file.partitions.get(folder) for file in files[:SAMPLE]))]
        for folder in folders
    }
    refuse_other_notations(options.where, texts, name)
    fields = [
        field.with_type(common_type(field.type))
        for field in first.schema
        if field.name not in folders
    ]
    fields += [pa.field(folder, pa.string()) for folder in folders]
    schema = pa.schema(fields, first.schema.metadata)

    def batches(scan: Scan) -> Iterator[RecordBatch]:
        for file in files:
            named = file.partitions
            values = {folder: present(arrow_strings([text])) for folder, text in named.items()}
            if not may_pass(scan.where, values, name):
                continue
            source = _one_of_several(file, options)
            if source.kind != first.kind:
                raise DataError(
                    f"{file.name} is {source.kind}, and the first of these files is "
                    f"{first.kind}; name those of one form"
                )
            if [*named] != folders:
                raise DataError(
                    f"{name} has files in folders that name other columns than the first; name "
                    f"one kind with a pattern"
                )
            with file_errors(file.name):
                yield from _aligned(source, named, scan, schema)

    kind, apart = f"{first.kind} files", frozenset(folders)
    return replace(first, name=name, schema=schema, batches=batches, kind=kind, folders=apart)


def _one_of_several(file: File, options: Reading) -> ArrowSource:
    with file_errors(file.name):
        file = _opened(file, options)
        if file.form != "text":
            return file_table(file, options)
        form = form_of(file, options)
        if not form.is_table:
            if not options.head:
                raise DataError(
                    f"{file.name} is one of several texts, which need columns: name "
                    f"{parameter('basket')} and {parameter('item')}, or say "
                    f"{parameter('input_format')}; or name one file"
                )
            form = InputForm.WIDE
        return text_table(file, options, form)


def _aligned(
    source: ArrowSource, named: Mapping[str, str], scan: Scan, schema: pa.Schema
) -> Iterator[RecordBatch]:
    """Yield the batches of a file with the types of a schema, and with the columns of its folders.

    named: the columns that its folders name, with their values. Raises DataError for other columns.
    """
    kinds = {name: schema.field(name).type for name in scan.names if name not in named}
    for name, kind in kinds.items():
        if source.schema.names.count(name) != 1:
            raise DataError(
                f"{source.name} has no column {name!r}, or several; the first of these files has "
                f"one"
            )
        type_here = common_type(source.schema.field(name).type)
        if type_here != kind and not pa.types.is_null(type_here):
            raise DataError(
                f"column {name!r} of {source.name} has type {shown_type(type_here)}, and in the "
                f"first of these files {shown_type(kind)}; write them with one type"
            )
    if scan.items is None and not {*source.schema.names} ^ {*schema.names} <= named.keys():
        # A column that is not there, or one more, is an item that baskets have or have not.
        raise DataError(
            f"{source.name} has other columns than the first of these files; name those of one kind"
        )
    items = scan.items if scan.items in kinds else None
    # A file may have columns of its own under the names that its folders say.
    where = scan.where if named.keys().isdisjoint(source.schema.names) else None
    for batch in source.batches(Scan([*kinds], scan.rows_at_a_time, items, where)):
        columns = {name: _as(plain(batch.column(name)), kind) for name, kind in kinds.items()}
        codes = arrow_of(np.zeros(len(batch), dtype=np.int32))
        for name, value in named.items():
            columns[name] = pa.DictionaryArray.from_arrays(codes, arrow_strings([value]))
        yield RecordBatch.from_arrays([columns[name] for name in scan.names], names=scan.names)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(column.type) and not pa.types.is_nested(kind):
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(kind))
    return column.cast(kind)
