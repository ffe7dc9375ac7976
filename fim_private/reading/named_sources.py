"""What a path, a pattern or an address stands for: one file, or a table."""

from __future__ import annotations

import os
from pathlib import Path

from fim_private.errors import DataError, parameter
from fim_private.reading.addresses import is_database, scheme_of, shown_source
from fim_private.reading.databases import database_source
from fim_private.reading.file_tables import file_table
from fim_private.reading.files import File, open_file
from fim_private.reading.joined_files import joined_source
from fim_private.reading.json_lines import with_lines_of_json
from fim_private.reading.locations import parts_of_address, parts_of_path
from fim_private.reading.options import Options
from fim_private.reading.paths import expanded, name_of
from fim_private.reading.record_batches import ArrowSource


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
