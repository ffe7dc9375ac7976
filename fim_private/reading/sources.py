"""What a path, a pattern or an address stands for: a text, or a table of Parquet, Arrow or Excel,
or several as one.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, FimPrivateError, MissingExtraError, parameter, unclear
from fim_private.reading import memory
from fim_private.reading.columns import Wanted
from fim_private.reading.databases import database_source
from fim_private.reading.files import File, empty, file_errors, files_of, open_file
from fim_private.reading.locations import Database, LocalPath, Stored
from fim_private.reading.notations import refuse_other_notations
from fim_private.reading.options import InputForm, Options
from fim_private.reading.other_readings import LOOKED_AT, SAMPLE, options_of_rows, refuse_title
from fim_private.reading.record_batches import ArrowSource, common_type, index_columns, plain
from fim_private.reading.text import form_of, json_source, text_table, with_lines_of_json
from fim_private.reading.values import arrow_of, arrow_strings, number_text, shown_type
from fim_private.reading.where import columns_of, may_pass, of_folders, of_row_group


def named_source(source: Stored, options: Options, *, head: bool = False) -> File | ArrowSource:
    """Return what a source stands for: a text, or a table. Raises DataError; file_errors says what
    else.

    head: whether it is only looked at, as a table: a text then has any suffix, and a first line
    that names columns.
    """
    if isinstance(source, Database):
        return database_source(source, str(options.query))
    files = files_of(source)
    is_one_of_a_folder = isinstance(source, LocalPath) and files[0].path != source.path
    if len(files) > 1 or files[0].partitions or is_one_of_a_folder:
        return _joined(files, source.name, options, head=head)
    file = with_lines_of_json(open_file(files[0], as_text=head or options.as_text), options)
    if file.form == "text":
        return file
    return file_table(file, options, head=head)


def named_files(source: Stored) -> list[File]:
    """Return the files that a path, a pattern or an address stands for, each with its form.

    Raises DataError for a database.
    """
    if isinstance(source, Database):
        raise DataError(
            f"{source.name} is a database; name a file, or say what to read of it with "
            f"{parameter('catalogue_query')}"
        )
    return [open_file(file) for file in files_of(source)]


def file_table(file: File, options: Options | None = None, *, head: bool = False) -> ArrowSource:
    """Return a file that is no text as a source. Raises DataError, and what `file_errors` turns.
    head: as above.
    """
    if file.form == "json":
        return json_source(file, options or Options())
    if file.form == "excel":
        return _workbook(file, options or Options(), head=head)
    return _parquet(file) if file.form == "parquet" else _arrow(file)


_ENTRIES = 1 << 25  # so many entries of lists are decoded at a time, at most


def _parquet(file: File) -> ArrowSource:
    from pyarrow.parquet import ParquetFile

    sealed = _Sealed(file.native())
    head = ParquetFile(sealed)
    sealed.is_sealed = True
    schema = head.schema_arrow
    leaves = [head.schema.column(place) for place in range(len(head.schema.names))]

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        encoded = [
            path
            for path in texts
            if wanted.items is not None and f"{path}.".startswith(f"{wanted.items}.")
        ]
        # Decoded batch by batch, from a buffer a column: nothing is read ahead, unless it is far
        # away.
        far, size = file.remote is not None, memory.BLOCK_BYTES
        reader = ParquetFile(
            file.native(), pre_buffer=far, read_dictionary=encoded, buffer_size=size
        )
        tested = set() if wanted.where is None else columns_of(wanted.where)
        places = {leaf.path: place for place, leaf in enumerate(leaves) if leaf.path in tested}
        # A batch of lists cannot span two dictionaries (apache/arrow issue 32723); each row group
        # has one.
        for number in range(reader.num_row_groups):
            group = reader.metadata.row_group(number)
            for name, place in places.items():
                # Arrow's Python asks for bounds without a guard: where a damaged file says what
                # cannot be, C++ ends the process. To begin to read the column makes the same
                # checks, and raises: but nothing of it is read.
                sealed.wanted = False
                try:
                    next(
                        head.iter_batches(
                            1, row_groups=[number], columns=[name], use_threads=False
                        ),
                        None,
                    )
                except (OSError, pa.ArrowException):
                    if not sealed.wanted:
                        raise
                if group.column(place).physical_type != leaves[place].physical_type:
                    raise pa.ArrowInvalid("a column has two types")
            if wanted.where is not None and not may_pass(
                wanted.where, of_row_group, group, places, schema, file.name
            ):
                continue
            # An entry of a list takes a bit or more.
            entries = max(1, 8 * max(group.total_byte_size, 1) // max(group.num_rows, 1))
            rows = max(1, min(wanted.rows_at_a_time, _ENTRIES // entries))
            for batch in reader.iter_batches(rows, row_groups=[number], columns=wanted.names):
                if not {*wanted.names} <= {*batch.schema.names}:
                    raise pa.ArrowInvalid("the two schemas of the file do not agree")
                if encoded:
                    # Arrow takes a page's codes as they are, which may be of no value in the
                    # dictionary.
                    batch.column(wanted.items).validate(full=True)
                yield batch

    return ArrowSource(file.name, schema, batches, kind="Parquet")


class _Sealed:
    """A file that can be read until it is sealed. wanted: whether something was to be read after
    that.
    """

    closed = is_sealed = wanted = False

    def __init__(self, file: pa.NativeFile) -> None:
        self.seek, self.tell, self.close, self._read = file.seek, file.tell, file.close, file.read

    def read(self, size: int = -1) -> bytes:
        # None is for Arrow the end of the file. (An exception raised here would stay in Arrow, and
        # with it, by its frames, all that they refer to: open files.)
        self.wanted = self.wanted or self.is_sealed
        return b"" if self.is_sealed else bytes(self._read(None if size < 0 else size))


def _arrow(file: File) -> ArrowSource:
    reader = (pa.ipc.open_file if file.form == "arrow" else pa.ipc.open_stream)(file.native())

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        # of a stream, which is read once, with all of its columns
        found: Iterable[pa.RecordBatch] = reader
        if file.form == "arrow":
            fields = sorted(map(reader.schema.get_field_index, wanted.names))
            narrow = pa.ipc.open_file(
                file.native(), options=pa.ipc.IpcReadOptions(included_fields=fields)
            )
            found = map(narrow.get_batch, range(narrow.num_record_batches))
        for batch in found:
            # Arrow takes a file's offsets as they are: damaged ones would point outside of its
            # memory.
            batch.validate(full=True)
            yield batch

    return ArrowSource(file.name, reader.schema, batches, kind="Arrow")


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


def _workbook(file: File, options: Options, *, head: bool = False) -> ArrowSource:
    sheet = _only_sheet(file)
    rows = _rows(sheet, options.dialect.skipped)
    first = [
        (number, [_text(cell).strip() for cell in cells])
        for number, cells in islice(rows, LOOKED_AT)
    ]
    if not first:
        raise empty(file.name)
    named = {name for _, name in options.named()}
    refuse_title(first, named, file.name)
    names = first[0][1]
    while names and not names[-1]:
        names.pop()
    if not head and not options.given() and options.dialect.form is None:
        # Without a row of names these would be somebody's purchases: they are not listed.
        by_name = f"name its columns with {parameter('basket')} and {parameter('item')}"
        problem = (
            f"{file.name} is a table: {by_name}, or say {parameter('input_format')} wide or one-hot"
        )
        raise unclear(problem, options_of_rows([cells for _, cells in first]))
    if missing := sorted(named - {*names}):
        raise DataError(
            f"{file.name} has no column {missing[0]!r}; name the columns as the "
            f"first row of its table"
        )

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        places = [names.index(name) for name in wanted.names]
        rows = islice(_rows(sheet, options.dialect.skipped), 1, None)
        while part := list(islice(rows, wanted.rows_at_a_time)):
            columns = [
                arrow_strings([_text(cells[place]) for _, cells in part]) for place in places
            ]
            yield pa.RecordBatch.from_arrays(columns, names=wanted.names)

    schema = pa.schema([(name, pa.string()) for name in names])
    return ArrowSource(file.name, schema, batches, "Excel", used=("skip_rows",), own_dates=True)


def _only_sheet(file: File) -> Any:
    try:
        import python_calamine as calamine
    except ImportError:
        problem = "workbooks of Excel are read by python-calamine, which is not here"
        raise MissingExtraError(
            f"{problem}: pip install 'fim-private[excel]', or save as CSV"
        ) from None
    with file.open() as stream:
        content = memory.read_whole(stream)
    try:
        memory.current().check(_weight(content))
        book = calamine.load_workbook(io.BytesIO(content))
        table, visible = calamine.SheetTypeEnum.WorkSheet, calamine.SheetVisibleEnum.Visible
        shown = [
            n
            for n, one in enumerate(book.sheets_metadata)
            if one.typ is table and one.visible is visible
        ]
        sheets = [sheet for sheet in map(book.get_sheet_by_index, shown) if sheet.start is not None]
    except (FimPrivateError, MemoryError):
        raise
    except calamine.PasswordError:
        raise DataError(
            f"{file.name} has a password; save it without one, or save as CSV"
        ) from None
    except BaseException as error:
        # Each damage has an error of its own, in two libraries; one of them panics, as programs in
        # Rust do.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise DataError(
            f"{file.name} is no workbook that can be read; write it again, or save as CSV"
        ) from None
    if not sheets:
        raise empty(file.name)
    if len(sheets) > 1:
        problem = (
            "has several sheets that are not empty: save the one that you mean as CSV, or "
            "in a file alone"
        )
        raise DataError(f"{file.name} {problem}")
    return sheets[0]


def _weight(content: bytes) -> int:
    """Return how many bytes the sheets of a workbook take at most. Raises BadZipFile,
    ValueError.
    """
    # A sheet's array reaches to its last row and column, and each cell may be the longest of the
    # shared strings.
    size = cells = shared = longest = 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            text = bytearray()
            with archive.open(entry) as stream:
                while piece := stream.read(_PIECE):
                    text += piece
                    memory.current().check(2 * (size + len(text)))
            size += len(text)
            if text.startswith(_NO_TEXT):
                raise ValueError("XML that is not in UTF-8")
            row = column = last_row = last_column = string = 0
            for token in _TOKEN.finditer(text):
                if token[5] is not None:
                    longest, string = max(longest, token.end() - string), token.end()
                    continue
                if token[2] is None:
                    raise ValueError("a tag that does not end")
                places = [
                    value[1:-1] for name, value in _ATTRIBUTES.findall(token[2]) if name == b"r"
                ]
                place = _PLACE.fullmatch(places[0] if places else b"")
                if place is None or len(places) > 1:  # the reader might understand it otherwise
                    raise ValueError("a place that no sheet has")
                if token[1] == b"row":
                    row, column = int(place[2] or row + 1), 0
                else:
                    shared += 1
                    # AA is 27
                    column = (
                        reduce(lambda n, letter: 26 * n + letter - 64, place[1], 0) or column + 1
                    )
                    row = int(place[2] or row)
                    last_row, last_column = max(last_row, row), max(last_column, column)
                if row > _MOST_ROWS or column > _MOST_COLUMNS:
                    raise ValueError("a place that no sheet has")
            cells += last_row * last_column
    return 2 * size + _CELL * cells + longest * shared


def _rows(sheet: Any, skipped: int) -> Iterator[tuple[int, Sequence[object]]]:
    for number, cells in enumerate(sheet.iter_rows()):
        if number >= skipped and any(cell != "" for cell in cells):
            yield number, cells


def _text(cell: object) -> str:
    """Return a cell as text: whole numbers without a point, dates and times in ISO 8601."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return number_text(cell) if isinstance(cell, float) else str(cell)


# -------------------- several files as one table


def _joined(
    files: Sequence[File], name: str, options: Options, *, head: bool = False
) -> ArrowSource:
    # Columns that the names of folders say are texts, and take the place of a file's own of that
    # name. The types are those of the first file; that the others agree is checked when they are
    # read: a type that one file has must not change what another's rows mean, as in a scan of
    # Arrow's.
    first = _one_of_several(files[0], options, None, head=head)
    named = {
        folder: [dict(file.partitions).get(folder) for file in files[:SAMPLE]]
        for folder, _ in files[0].partitions
    }
    refuse_other_notations(
        options.where, {key: [*filter(None, texts)] for key, texts in named.items()}, name
    )
    folders = [folder for folder, _ in files[0].partitions]
    own = [
        field.with_type(common_type(field.type))
        for field in first.schema
        if field.name not in folders
    ]
    schema = pa.schema([*own, *((folder, pa.string()) for folder in folders)])

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        for place, file in enumerate(files):
            given = dict(file.partitions)
            if wanted.where is not None and not may_pass(wanted.where, of_folders, given, name):
                continue
            source = first if place == 0 else _one_of_several(file, options, first.kind, head=head)
            if [*given] != folders:
                problem = (
                    "has files in folders that name other columns than the first; name one "
                    "kind with a pattern"
                )
                raise DataError(f"{name} {problem}")
            with file_errors(file.place):
                yield from _aligned(source, given, wanted, schema)

    kind, apart = f"{first.kind} files", index_columns(first.schema) | {*folders}
    return replace(first, name=name, schema=schema, batches=batches, kind=kind, folders=apart)


def _one_of_several(file: File, options: Options, kind: str | None, *, head: bool) -> ArrowSource:
    with file_errors(file.place):
        file = with_lines_of_json(open_file(file, as_text=head or options.as_text), options)
        form = form_of(file, options)
        if file.form != "text":
            source = file_table(file, options, head=head)
        elif form.is_table or head:
            form = form if form.is_table else InputForm.WIDE
            source = text_table(
                file, options, form, [folder for folder, _ in file.partitions], head=head
            )
        else:
            raise DataError(
                f"{file.name} is one of several texts, which need columns: name "
                f"{parameter('basket')} and "
                f"{parameter('item')}, or say {parameter('input_format')}; or name one file"
            )
    if kind is not None and source.kind != kind:
        raise DataError(
            f"{file.name} is {source.kind}, and the first of these files is {kind}; "
            f"name those of one form"
        )
    return source


def _aligned(
    source: ArrowSource, given: Mapping[str, str], wanted: Wanted, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    kinds = {name: schema.field(name).type for name in wanted.names if name not in given}
    for name, kind in kinds.items():
        places = source.schema.get_all_field_indices(name)
        if len(places) != 1:
            count = "more than one" if places else "no"
            raise DataError(f"{source.name} has {count} column {name!r}, as the first file has")
        found = common_type(source.schema.field(places[0]).type)
        if found != kind and not pa.types.is_null(found):
            raise DataError(
                f"column {name!r} of {source.name} has type {shown_type(found)}, and in the "
                f"first of these files "
                f"{shown_type(kind)}; write them with one type"
            )
    if wanted.items is None and {*source.schema.names} - {*given} != {*schema.names} - {*given}:
        # A column that is not there, or one more, is an item that baskets have or have not.
        raise DataError(
            f"{source.name} has other columns than the first of these files; name those of one kind"
        )
    items = wanted.items if wanted.items in kinds else None
    # A file may have columns of its own under the names that its folders say.
    where = wanted.where if given.keys().isdisjoint(source.schema.names) else None
    for batch in source.batches(replace(wanted, names=[*kinds], items=items, where=where)):
        columns = {name: _as(plain(batch.column(name)), kind) for name, kind in kinds.items()}
        once = arrow_of(np.zeros(len(batch), dtype=np.int32))
        columns |= {
            name: pa.DictionaryArray.from_arrays(once, arrow_strings([value]))
            for name, value in given.items()
        }
        yield pa.RecordBatch.from_arrays(
            [columns[name] for name in wanted.names], names=wanted.names
        )


def _as(column: Any, kind: pa.DataType) -> Any:
    if pa.types.is_dictionary(column.type) and not pa.types.is_nested(kind):
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(kind))
    return column.cast(kind)
