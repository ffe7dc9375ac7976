"""The head of a table: names, types and first values of its columns, before it is known how to read it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.errors import FimPrivateError
from fim_private.reading import frames
from fim_private.reading.addresses import scheme_of
from fim_private.reading.arrow_objects import arrow_object
from fim_private.reading.column_roles import Column, Roles
from fim_private.reading.dialect import InputForm
from fim_private.reading.file_errors import file_errors
from fim_private.reading.missing_values import is_missing
from fim_private.reading.named_sources import named_source, path_or_name
from fim_private.reading.options import Options
from fim_private.reading.paths import expanded
from fim_private.reading.record_batches import ArrowSource, table_source
from fim_private.reading.text import first_lines, form_of, without_lines
from fim_private.reading.text_blocks import blocks
from fim_private.reading.text_tables import text_table

_EXAMPLES = 3
_WIDEST_EXAMPLE = 40
# How many of the last rows are shown, of how many columns.
_LAST = 2
LAST_COLUMNS = 10


@dataclass(frozen=True)
class TableHead:
    """What is known of a table before its roles are.

    columns: their names and types. source, frame: where their values are. lines: the first of a text, but blank ones.
    """

    columns: Sequence[Column]
    source: ArrowSource | None = None
    frame: Any = None
    lines: Sequence[str] = ()

    def examples(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the first different values of columns, as texts."""
        if self.frame is not None:
            head = self.frame.head(100)
            columns = {name: head.iloc[:, place] for place, name in enumerate(head.columns)}  # of one name, the last
            return {name: _shown(columns[name].tolist()) for name in names}
        if self.source is None or not names:
            return {}
        roles = Roles(InputForm.WIDE, tuple(names))
        batch = next(iter(self.source.batches(roles.wanted)), None)
        if batch is None:
            return {}
        head = batch.slice(0, 100)
        return {name: _shown(head.column(head.schema.get_field_index(name)).to_pylist()) for name in names}

    def last(self, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return the last rows of a text or a sheet, where a total may stand: a few columns as texts, cut if long.

        They are looked for in all of it once more. Of other tables there are none: programs write no totals there.
        """
        if self.source is None or not (names and self.source.tokens):
            return ()
        roles = Roles(InputForm.WIDE, tuple(dict.fromkeys(names)))
        rows: list[tuple[str, ...]] = []
        for batch in self.source.batches(roles.wanted):
            values = batch.slice(max(0, len(batch) - _LAST)).to_pydict()
            rows += zip(*([_cut(_as_text(value)) for value in values[name]] for name in roles.values), strict=True)
        return tuple(rows[-_LAST:])


def _cut(text: str) -> str:
    """Return a text, cut where it is long."""
    return text if len(text) <= _WIDEST_EXAMPLE else text[: _WIDEST_EXAMPLE - 1] + "…"


def _shown(values: Sequence[object]) -> tuple[str, ...]:
    """Return the first different values as texts, cut where they are long."""
    texts = dict.fromkeys(_as_text(value) for value in values if isinstance(value, list) or not is_missing(value))
    return tuple(map(_cut, texts))[:_EXAMPLES]


def _as_text(value: object) -> str:
    """Return a value as text; a list as a set."""
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return "{" + ", ".join(map(str, value)) + "}"
    return "" if value is None else str(value)


def can_be_read_again(source: Any) -> bool:
    """Tell whether a source can be read several times."""
    if isinstance(source, str | os.PathLike):
        return scheme_of(source) is not None or (str(source) != "-" and not expanded(source).is_fifo())
    is_scan = frames.is_instance(source, "pyarrow.dataset", "Scanner")
    return not is_scan and not isinstance(source, Iterator | pa.RecordBatchReader)


def table_head(source: Any, options: Options) -> TableHead | None:
    """Return a source as a table, where it is one, or a text that may be one; None for others and for damaged files."""
    with suppress(FimPrivateError):
        if isinstance(source, str | os.PathLike):
            return _table_named(source, options)
        if can_be_read_again(source) and (table := arrow_object(source)) is not None:
            return _of_arrow(table)
        if frames.is_instance(source, "polars", "DataFrame"):
            return _of_arrow(table_source(frames.polars_to_arrow(source)))
        if frames.is_instance(source, "pandas", "DataFrame"):
            return TableHead(frames.describe_pandas(source), frame=source)
    return None


def _table_named(source: str | os.PathLike[str], options: Options) -> TableHead | None:
    """Return a file, or files, as a table; a text as if its first line named columns."""
    with file_errors(path_or_name(source)):
        file = named_source(source, options, head=True)
        if isinstance(file, ArrowSource):
            return _of_arrow(file)
        form = form_of(file, options)
        if options.dialect.form is not None and not form.is_table:
            return None
        table, _ = text_table(file, options, InputForm.WIDE)
        with closing(blocks(file, options.dialect.encoding)) as parts:
            block = next(without_lines(parts, options.dialect.skipped), b"")
            lines = [line for line in first_lines(block) if line.strip()]
        return replace(_of_arrow(table), lines=lines)


def _of_arrow(source: ArrowSource) -> TableHead:
    """Return record batches as a table."""
    return TableHead(source.columns(), source)
