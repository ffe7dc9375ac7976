"""Files that are tables by themselves: which reader each form of them goes to."""

from __future__ import annotations

from fim_private.reading.arrow_files import arrow_source
from fim_private.reading.files import File
from fim_private.reading.json_lines import json_source
from fim_private.reading.options import Options
from fim_private.reading.record_batches import ArrowSource
from fim_private.reading.workbooks import workbook_source


def file_table(file: File, options: Options | None = None, *, head: bool = False) -> ArrowSource:
    """Return a file that is no text as a source of record batches. Raises DataError, and what `file_errors` turns.

    options: what was said of it; None for nothing. head: whether it is only looked at, so that nothing need be said.
    """
    options = Options() if options is None else options
    if file.form == "json":
        return json_source(file, options)
    return workbook_source(file, options, head=head) if file.form == "excel" else arrow_source(file)
