"""What a path, a pattern or an address stands for: one file, several, or a table."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading.columns import Wanted
from fim_private.reading.databases import database_source
from fim_private.reading.files import (
    File,
    Part,
    expanded,
    file_errors,
    is_database,
    name_of,
    open_file,
    parts_of_address,
    parts_of_path,
    scheme_of,
    shown_source,
)
from fim_private.reading.labels import is_list_type
from fim_private.reading.options import InputForm, Options
from fim_private.reading.parquet import arrow_source
from fim_private.reading.record_batches import ArrowSource, plain
from fim_private.reading.text import form_of, json_source, named_text_table, text_table, with_lines_of_json
from fim_private.reading.values import arrow_of, arrow_strings, shown_type
from fim_private.reading.where import may_pass, of_folders
from fim_private.reading.workbooks import workbook_source

# -------------------- file tables
# Files that are tables by themselves: which reader each form of them goes to.


def file_table(file: File, options: Options | None = None, *, head: bool = False) -> ArrowSource:
    """Return a file that is no text as a source of record batches. Raises DataError, and what `file_errors` turns.

    options: what was said of it; None for nothing. head: whether it is only looked at, so that nothing need be said.
    """
    options = Options() if options is None else options
    if file.form == "json":
        return json_source(file, options)
    return workbook_source(file, options, head=head) if file.form == "excel" else arrow_source(file)


# -------------------- joined files
# Several files as one table: those of a folder, of a pattern, or below an address.


def joined_source(parts: Sequence[Part], name: str, options: Options, *, head: bool = False) -> ArrowSource:
    """Return several files as one table, which is read file by file, in the order of their names.

    parts: at least one, all of one form. name: what errors call them together. head: as in `named_source`.
    Columns that the names of folders say are texts, in which what prints like an integer is one, and take the place of
    a file's own of that name.
    What is known of the columns is what the first file says; that the others agree, as far as they are read, is checked
    when they are. Raises DataError for a text without columns.
    """
    first = _opened(parts[0], options, None, head=head)
    folders = [folder for folder, _ in parts[0].partitions]
    own = [field.with_type(_common(field.type)) for field in first.schema if field.name not in folders]
    schema = pa.schema([*own, *((folder, pa.string()) for folder in folders)])

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Yield the columns that are wanted, of one file after the other."""
        for place, part in enumerate(parts):
            if wanted.where is not None and not may_pass(wanted.where, of_folders(dict(part.partitions), name)):
                continue
            source = first if place == 0 else _opened(part, options, first.kind, head=head)
            if [folder for folder, _ in part.partitions] != folders:
                raise DataError(
                    f"{name} has files in folders that name other columns than the first; name one kind with a pattern"
                )
            with file_errors(part.place):
                yield from _aligned(source, part, wanted, schema)

    return replace(
        first,
        name=name,
        schema=schema,
        batches=batches,
        kind=f"{first.kind} files",
        tokens=first.tokens | {*folders},
        folders=frozenset(folders),
    )


def _opened(part: Part, options: Options, kind: str | None, *, head: bool) -> ArrowSource:
    """Return one of the files as a table. kind: that of the first one, None of itself. Raises DataError."""
    with file_errors(part.place):
        file = with_lines_of_json(part.open(head or options.as_text), options)
        if file.form != "text":
            source = file_table(file, options, head=head)
        else:
            source = _text(file, options, {*dict(part.partitions)}, head=head)
    if kind is not None and source.kind != kind:
        raise DataError(f"{file.name} is {source.kind}, and the first of these files is {kind}; name those of one form")
    return source


def _text(file: File, options: Options, folders: Collection[str], *, head: bool) -> ArrowSource:
    """Return a text with columns. folders: columns that are not in it. Raises DataError for a text without columns."""
    form = form_of(file, options)
    if head:
        return text_table(file, options, form if form.is_table else InputForm.WIDE, folders)[0]
    if not form.is_table:
        raise DataError(
            f"{file.name} is one of several texts, which have to have columns: name {parameter('basket')} and "
            f"{parameter('item')}, or say {parameter('input_format')}; or name one file"
        )
    return named_text_table(file, options, form, folders)


def _aligned(source: ArrowSource, part: Part, wanted: Wanted, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches of one file with the columns that are wanted, as all files have them. Raises DataError."""
    said = dict(part.partitions)
    names = [name for name in wanted.names if name not in said]
    kinds = {name: schema.field(name).type for name in names}
    for name, kind in kinds.items():
        _check(source, name, kind)
    if wanted.items is None and {*source.schema.names} - {*said} != {*schema.names} - {*said}:
        # A column that is not there, or one more, is an item that baskets have or have not.
        raise DataError(f"{source.name} has other columns than the first of these files; name those of one kind")
    items = wanted.items if wanted.items in names else None
    # A file may have columns of its own under the names that its folders say.
    where = wanted.where if said.keys().isdisjoint(source.schema.names) else None
    for batch in source.batches(replace(wanted, names=names, items=items, where=where)):
        columns = {name: _as(plain(batch.column(batch.schema.get_field_index(name))), kinds[name]) for name in names}
        columns |= {name: _repeated(value, len(batch)) for name, value in said.items() if name in wanted.names}
        yield pa.RecordBatch.from_arrays([columns[name] for name in wanted.names], names=wanted.names)


def _check(source: ArrowSource, name: str, kind: pa.DataType) -> None:
    """Raise DataError unless a file has one column of that name, of the first file's type."""
    places = source.schema.get_all_field_indices(name)
    if len(places) != 1:
        raise DataError(
            f"{source.name} has {'more than one' if places else 'no'} column {name!r}, as the first file has"
        )
    found = _common(source.schema.field(places[0]).type)
    if found != kind and not pa.types.is_null(found):
        raise DataError(
            f"column {name!r} of {source.name} has type {shown_type(found)}, and in the first of these files "
            f"{shown_type(kind)}; write them with one type"
        )


def _common(kind: pa.DataType) -> pa.DataType:
    """Return a type without what says how its values are kept, in which files of one table may differ."""
    if isinstance(kind, pa.BaseExtensionType):
        return _common(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _common(kind.value_type)
    if is_list_type(kind):
        return pa.list_(_common(kind.value_type))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    return kind


def _as(column: Any, kind: pa.DataType) -> Any:
    """Return a column in the type that all files share; one of few different values as it is."""
    if pa.types.is_dictionary(column.type) and column.type.value_type == kind:
        return column
    if pa.types.is_dictionary(column.type) and not pa.types.is_nested(kind):
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(kind))
    return column if column.type == kind else column.cast(kind)


def _repeated(value: str, rows: int) -> pa.Array:
    """Return a column that has one value in each row."""
    return pa.DictionaryArray.from_arrays(arrow_of(np.zeros(rows, dtype=np.int32)), arrow_strings([value]))


# -------------------- named sources
# What a path, a pattern or an address stands for: one file, or a table.


def named_source(source: str | os.PathLike[str], options: Options, *, head: bool = False) -> File | ArrowSource:
    """Return what a source stands for: a text, or a table. Raises DataError; file_errors says what else.

    head: whether it is only looked at, as a table: a text then has any suffix, and a first line that names columns.
    """
    as_text = head or options.as_text
    if is_database(source):
        return database_source(str(source), str(options.query))
    if not os.fspath(source):
        raise DataError("the path is empty; name a file")
    path = expanded(source)
    if scheme_of(source) is None:
        parts = None if str(path) == "-" else parts_of_path(path)
        if parts is not None:
            return joined_source(parts, name_of(path), options, head=head)
        file = open_file(path, as_text=as_text)
    else:
        parts = parts_of_address(str(source))
        if len(parts) > 1 or parts[0].partitions:
            return joined_source(parts, repr(shown_source(source)), options, head=head)
        file = parts[0].open(as_text)
    file = with_lines_of_json(file, options)
    return file if file.form == "text" else file_table(file, options, head=head)


def named_files(source: str | os.PathLike[str]) -> list[File]:
    """Return the files that a path, a pattern or an address stands for. Raises DataError for a database."""
    if is_database(source):
        raise DataError(
            f"{shown_source(source)!r} is a database; name a file, or say what to read of it with "
            f"{parameter('catalogue_query')}"
        )
    if not os.fspath(source):
        raise DataError("the path is empty; name a file")
    if scheme_of(source) is not None:
        return [part.open(False) for part in parts_of_address(str(source))]
    path = expanded(source)
    parts = None if str(path) == "-" else parts_of_path(path)
    return [open_file(path)] if parts is None else [part.open(False) for part in parts]


def path_or_name(source: str | os.PathLike[str]) -> Path | str:
    """Return the path of a source; of an address what errors call it: what `file_errors` takes."""
    return expanded(source) if scheme_of(source) is None else repr(shown_source(source))
