"""Workbooks of Excel (.xlsx): the table on the only sheet, its cells as texts, each read by itself, as in CSV.

The reader (python-calamine) makes an array of a whole sheet, and ends the process where memory does not suffice: a few
kilobytes may ask for terabytes. So what it would take is reckoned first, from the file's own XML.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Any

import pyarrow as pa

from fim_private.errors import DataError, FimPrivateError, MissingExtraError, parameter
from fim_private.reading import memory
from fim_private.reading.columns import Wanted
from fim_private.reading.files import File, empty
from fim_private.reading.options import Options
from fim_private.reading.record_batches import ArrowSource
from fim_private.reading.text_blocks import LOOKED_AT, refuse_title
from fim_private.reading.values import arrow_strings

_PIECE = 1 << 20
# Bytes of a cell in the reader's array, and of what it makes of it.
_CELL = 64
# A row or a cell with its attributes, or the end of a shared string; an attribute; and a place on a sheet.
_ATTRIBUTE = rb"""\s+([^\s=<>"'/]+)\s*=\s*("[^"<]*"|'[^'<]*')"""
_TOKEN = re.compile(rb"<(?:[^\s<>/:]+:)?(row|c)(?=[\s/>])((?:" + _ATTRIBUTE + rb")*\s*/?>)?|(</(?:[^\s<>/:]+:)?si\s*>)")
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_PLACE = re.compile(rb"([A-Z]{0,3})([0-9]{0,7})")
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14
_NO_TEXT = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")


def workbook_source(file: File, options: Options, *, head: bool = False) -> ArrowSource:
    """Return the table on the only sheet as a source of record batches. head: as in `file_table`.

    Raises DataError for a workbook with several sheets that are not empty, or without any, and for a title above the
    table; MemoryLimitError for one that would take too much; MissingExtraError where there is no reader.
    """
    sheet = _only_sheet(file)
    rows = _rows(sheet, options.dialect.skipped)
    first = list(islice(rows, LOOKED_AT))
    if not first:
        raise empty(file.name)
    wanted = {name for _, name in options.named()}
    refuse_title([(number, _texts(cells)) for number, cells in first], wanted, file.name)
    names = _texts(first[0][1])
    while not names[-1]:
        names.pop()
    if not head and not options.given() and options.dialect.form is None:
        # Without a row of names these would be somebody's purchases: they are not listed.
        raise DataError(
            f"{file.name} is a table: name its columns with {parameter('basket')} and {parameter('item')}, or say "
            f"{parameter('input_format')} wide or one-hot"
        )
    if missing := [name for name in sorted(wanted) if name not in names]:
        raise DataError(f"{file.name} has no column {missing[0]!r}; name the columns as the first row of its table")

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Yield the columns that are wanted as texts."""
        places = [names.index(name) for name in wanted.names]
        rows = islice(_rows(sheet, options.dialect.skipped), 1, None)
        while part := list(islice(rows, wanted.rows_at_a_time)):
            columns = [[_text(cells[place]) for _, cells in part] for place in places]
            yield pa.RecordBatch.from_arrays([arrow_strings(column) for column in columns], names=wanted.names)

    schema = pa.schema([(name, pa.string()) for name in names])
    return ArrowSource(file.name, schema, batches, "Excel", tokens=frozenset(names), used=("skip_rows",))


def _only_sheet(file: File) -> Any:
    """Return the only sheet that is shown and not empty. Raises as `workbook_source` does."""
    try:
        import python_calamine
    except ImportError:
        raise MissingExtraError(
            "workbooks of Excel are read by python-calamine, which is not here: pip install 'fim-private[excel]', or "
            "save as CSV"
        ) from None
    with file.open() as stream:
        content = memory.read_whole(stream)
    try:
        memory.current().check(_weight(content))
        book = python_calamine.load_workbook(io.BytesIO(content))
        shown = [
            place
            for place, sheet in enumerate(book.sheets_metadata)
            if sheet.typ is python_calamine.SheetTypeEnum.WorkSheet
            and sheet.visible is python_calamine.SheetVisibleEnum.Visible
        ]
        sheets = [sheet for sheet in map(book.get_sheet_by_index, shown) if sheet.start is not None]
    except (FimPrivateError, MemoryError):
        raise
    except python_calamine.PasswordError:
        raise DataError(f"{file.name} has a password; save it without one, or save as CSV") from None
    except BaseException as error:
        # Each damage has an error of its own, in two libraries; one of them panics, as programs in Rust do.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise DataError(f"{file.name} is no workbook that can be read; write it again, or save as CSV") from None
    if not sheets:
        raise empty(file.name)
    if len(sheets) > 1:
        raise DataError(
            f"{file.name} has several sheets that are not empty: save the one that you mean as CSV, or in a file alone"
        )
    return sheets[0]


def _weight(content: bytes) -> int:
    """Return how many bytes the sheets of a workbook take at most, by what its XML says. Raises BadZipFile, ValueError.

    A sheet's array reaches to its last row and column, and each cell may be the longest of the shared strings.
    """
    size = cells = shared = longest = 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            row = column = last_row = last_column = read = string = 0
            with archive.open(entry) as stream:
                rest = b""
                while piece := stream.read(_PIECE):
                    size += len(piece)
                    memory.current().check(2 * size)
                    if not read and not rest and piece.startswith(_NO_TEXT):
                        raise ValueError("XML that is not in UTF-8")
                    text = rest + piece
                    cut = max(text.rfind(b"<"), 0) if len(text) < 2 * _PIECE else len(text)
                    for token in _TOKEN.finditer(text[:cut]):
                        if token[5] is not None:
                            place = read + token.end()
                            longest, string = max(longest, place - string), place
                            continue
                        letters, digits = _place(token[2])
                        if token[1] == b"row":
                            row, column = int(digits or row + 1), 0
                        else:
                            shared += 1
                            column, row = _column(letters) if letters else column + 1, int(digits or row)
                            last_row, last_column = max(last_row, row), max(last_column, column)
                        if row > _MOST_ROWS or column > _MOST_COLUMNS:
                            raise ValueError("a place that no sheet has")
                    rest = text[cut:]
                    read += cut
            cells += last_row * last_column
    return 2 * size + _CELL * cells + longest * shared


def _place(attributes: bytes | None) -> tuple[bytes, bytes]:
    """Return the letters and digits of the place that a row or a cell says, empty where it says none.

    Raises ValueError for what the reader might understand in another way.
    """
    if attributes is None:
        raise ValueError("a tag that does not end")
    places = [value for name, value in _ATTRIBUTES.findall(attributes) if name == b"r"]
    match = _PLACE.fullmatch(places[0][1:-1] if places else b"")
    if match is None or len(places) > 1:
        raise ValueError("a place that no sheet has")
    return match[1], match[2]


def _column(letters: bytes) -> int:
    """Return the number of a column, from 1 on: of AA 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _rows(sheet: Any, skipped: int) -> Iterator[tuple[int, Sequence[object]]]:
    """Yield the rows that are not blank below so many, each with how many rows stand above it."""
    for number, cells in enumerate(sheet.iter_rows()):
        if number >= skipped and any(cell != "" for cell in cells):
            yield number, cells


def _texts(cells: Sequence[object]) -> list[str]:
    """Return cells as texts without white space around them."""
    return [_text(cell).strip() for cell in cells]


def _text(cell: object) -> str:
    """Return a cell as text: whole numbers without a point, dates and times in ISO 8601."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e18 else str(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date) else str(cell)
