"""Several files as one table: those of a folder, of a pattern, or below an address."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading.arrow_labels import is_list_type
from fim_private.reading.arrow_numpy import arrow_of, arrow_strings
from fim_private.reading.column_roles import Wanted, shown_type
from fim_private.reading.dialect import InputForm
from fim_private.reading.file_errors import file_errors
from fim_private.reading.file_tables import file_table
from fim_private.reading.files import File
from fim_private.reading.json_lines import with_lines_of_json
from fim_private.reading.locations import Part
from fim_private.reading.options import Options
from fim_private.reading.record_batches import ArrowSource, plain
from fim_private.reading.skipping import may_pass, of_folders
from fim_private.reading.text import form_of
from fim_private.reading.text_tables import named_text_table, text_table


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
