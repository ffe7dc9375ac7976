"""JSON Lines: text with one object a line, of one item, or with a list of items.

Each value is read by itself, as in CSV: what prints like an integer is one, and no type follows from what else is in
the file. (Arrow's reader of JSON guesses a column's type from the first lines, takes texts for times where all look so,
and ends the process where lists are nested a hundred thousand deep.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from json import JSONDecoder
from typing import Any

import pyarrow as pa

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.reading import memory
from fim_private.reading.column_roles import Wanted
from fim_private.reading.dialect import InputForm, not_utf8
from fim_private.reading.files import File, not_read
from fim_private.reading.options import Options
from fim_private.reading.record_batches import ArrowSource
from fim_private.reading.text_blocks import blocks

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
