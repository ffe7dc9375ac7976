"""JSON Lines: one object a line, of one item, or with a list of items.

Each value is read by itself, as in CSV. (Arrow's reader of JSON guesses types from the first lines,
takes texts for times, and ends the process where lists are nested deeply.)
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from json import JSONDecoder

import pyarrow as pa

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.reading import memory
from fim_private.reading.columns import Scan
from fim_private.reading.files import File, not_read
from fim_private.reading.options import InputForm, Reading
from fim_private.reading.record_batches import ArrowSource
from fim_private.reading.text import blocks
from fim_private.reading.values import number_text

_OBJECT = rb'(\xef\xbb\xbf)?\s*\{[ \t]*"'
_DOCUMENT = rb'(\xef\xbb\xbf)?\s*(\[\s*[\[{"]|\{\s*\n)'
_NESTED = (
    "is nested deeper than one list of items a line: write a list of texts or numbers, or "
    "one item a line"
)
_Object = dict[str, object]
_LIST = pa.list_(pa.string())
_DECODED = JSONDecoder(
    parse_int=str, parse_float=lambda literal: number_text(float(literal)), parse_constant=str
).decode


def with_lines_of_json(file: File, options: Reading) -> File:
    """Return a text as JSON Lines if that was asked for, or if nothing was and it begins so.

    Raises DataError for other JSON.
    """
    dialect = options.dialect
    if file.form != "text":
        return file
    if dialect.form is InputForm.JSONL:
        return replace(file, form="json")
    if file.suffix == ".json":
        raise not_read(file.name, "JSON")
    if dialect.delimiter is not None or (dialect.form is not None and not dialect.form.is_table):
        return file
    start = file.start()
    if re.match(_DOCUMENT, start):
        raise DataError(
            f"{file.name} is JSON, but not one object a line: write it so (.jsonl), or save as CSV"
        )
    return replace(file, form="json") if re.match(_OBJECT, start) else file


def json_source(file: File, options: Reading) -> ArrowSource:
    """Return JSON Lines as a source of record batches; its columns are those of the first block.

    Raises DataError for what is no object a line, ParameterError for a form with a column for each
    item or place.
    """
    name, dialect = file.name, options.dialect
    if dialect.form in (InputForm.WIDE, InputForm.ONE_HOT):
        raise ParameterError(
            f"{parameter('input_format')} {dialect.form} is not a form of {name}: its lines are "
            f"objects with one item, or with a list of items ({parameter('items')})"
        )
    lines = blocks(file, dialect.encoding)
    first = next(lines)
    objects = _objects(first, name)
    schema = _schema(objects, options)
    is_pipe = file.pipe is not None
    if not is_pipe:
        lines.close()
    # Where the only list is taken, no line may have another: which is the only one must not depend
    # on the first lines.
    is_only_list = options.items is None and not options.item

    def batches(scan: Scan) -> Iterator[pa.RecordBatch]:
        was_read = [first] if is_pipe else []
        text = lines if is_pipe else blocks(file, dialect.encoding)
        with closing(text):
            for block in chain(was_read, text):
                objects = _objects(block, name)
                if is_only_list and scan.items is not None:
                    _refuse_other_lists(objects, scan.items, name)
                columns = [_column(objects, schema.field(column), name) for column in scan.names]
                yield pa.RecordBatch.from_arrays(columns, names=scan.names)

    used = ["encoding"]
    if dialect.form is InputForm.JSONL:
        used.append("input_format")
    return ArrowSource(
        name,
        schema,
        batches,
        "JSON Lines",
        used=tuple(used),
        perhaps_items=_names_of_some(objects),
    )


def _refuse_other_lists(objects: Sequence[_Object], items: str, name: str) -> None:
    """Raise DataError if objects have lists in another column than that of the items."""
    not_items = (value for key, value in _fields(objects) if key != items)
    if any(isinstance(value, list) for value in not_items):
        raise DataError(
            f"{name} has several columns of lists: name that of the items with {parameter('items')}"
        )


def _names_of_some(objects: Sequence[_Object]) -> frozenset[str]:
    """Return the names that not all objects have. Each may be an item of the basket that has it."""
    times = Counter(key for key, _ in _fields(objects))
    return frozenset(key for key, number in times.items() if number < len(objects))


def _schema(objects: Sequence[_Object], options: Reading) -> pa.Schema:
    """Return the columns of objects, each of the kind of its first value that is not null."""
    values: dict[str, object] = {}
    for key, value in _fields(objects):
        if values.get(key) is None:
            values[key] = value
    if options.items in values and values[options.items] is None:
        values[options.items] = []  # all its lists are null
    return pa.schema([(key, _kind(value)) for key, value in values.items()])


def _fields(objects: Sequence[_Object]) -> Iterator[tuple[str, object]]:
    return chain.from_iterable(fields.items() for fields in objects)


def _objects(block: bytes, name: str) -> list[_Object]:
    """Return the objects in the lines of a block. Raises DataError for anything else."""
    memory.current().check(memory.FIELDS_BYTE * len(block))
    lines = block.decode().split("\n")
    try:
        objects = [_DECODED(line) for line in lines if line.strip()]
    except RecursionError:
        raise DataError(f"{name} {_NESTED}") from None
    except ValueError:
        objects = [None]
    if not all(isinstance(fields, dict) for fields in objects):
        raise DataError(
            f"{name} has a line that is not a JSON object; write one object a line, or save as CSV"
        )
    return objects


def _kind(value: object) -> pa.DataType:
    """Return the type of a column: lists, objects, or single values as texts."""
    if isinstance(value, list):
        return _LIST
    return pa.struct([]) if isinstance(value, dict) else pa.string()


def _column(objects: list[_Object], field: pa.Field, name: str) -> pa.Array:
    values = [fields.get(field.name) for fields in objects]
    if any(value is not None and _kind(value) != field.type for value in values):
        raise DataError(
            f"column {field.name!r} of {name} has both lists and single values; "
            f"write one kind of them"
        )
    try:
        return pa.array([_cell(value, name) for value in values], field.type)
    except UnicodeEncodeError:  # half of a pair of surrogates
        raise DataError(
            f"{name} has an escape that is not a character; check how it was written"
        ) from None


def _cell(value: object, name: str) -> str | list[str | None] | None:
    """Return a value as text, or a list of texts. Raises DataError for what is nested deeper."""
    if isinstance(value, list):
        return [_text(item, name) for item in value]
    return _text(value, name)


def _text(value: object, name: str) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value
    raise DataError(f"{name} {_NESTED}")
