"""Which columns of a table hold times, and how these are written: for `inspect`, whose reader has
the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from fim_private.errors import DataError, parameter
from fim_private.periods import period_at
from fim_private.reading.columns import Column, Wanted, suggests_another_date, suggests_date
from fim_private.reading.memory import LONG_ROWS
from fim_private.reading.other_readings import SAMPLE
from fim_private.reading.record_batches import ArrowSource, plain
from fim_private.reading.times import TimeFormat, iso_moment, moment_of, usual_formats_of
from fim_private.reading.values import is_missing
from fim_private.reading.where import tests_of, where_of

_MOST_MISSING = 10  # of so many values of a column of times one may be none
_DAY = 86_400 * 10**6
_LISTED = 3
_SHORTEST, _LONGEST = 6, 40  # letters of a text that says a time


class Head(Protocol):
    """A table before its roles are known: what is asked of it here."""

    @property
    def columns(self) -> Sequence[Column]:
        """What the schema says of its columns."""

    @property
    def source(self) -> ArrowSource | None:
        """Where its values are, unless in a frame."""

    @property
    def frame(self) -> Any:
        """A frame of pandas, or None."""


@dataclass(frozen=True)
class DateColumn:
    """A column of times.

    formats: how its texts may be written, where `mine` must know it; several if they fit equally
    well.
    fits_all: whether every value is a time.
    example: a month that it has, such as 2026-11; None where nobody knows.
    """

    name: str
    formats: tuple[TimeFormat, ...] = ()
    fits_all: bool = True
    example: str | None = None

    def __str__(self) -> str:
        time, said = f"{parameter('time')} {self.name!r}", parameter("time_format")
        if len(self.formats) > 1:
            either = " or ".join(repr(one.text) for one in self.formats)
            return (
                f"Column {self.name!r} holds times, and all of them fit {either}: look which is "
                f"right, and say it with "
                f"{said}, beside {time}."
            )
        if self.formats:
            time = f"{time} {said} {self.formats[0].text!r}"
        period = "" if self.example is None else f" {self.example}"
        text = (
            f"Column {self.name!r} holds times: {time} and {parameter('period')}{period} read "
            f"one period."
        )
        if not self.fits_all:
            text += f" Some rows have none: {parameter('missing_time')} 'drop' leaves them out."
        return text


def date_columns(table: Head) -> list[DateColumn]:
    """Return the columns of times of a table: by their types, or by their values, the first ones
    here.
    """
    found = []
    values = _first_values(table)
    for column in table.columns:
        name = str(column.name)
        texts = values.get(name, [])
        kind = column.kind.lower()
        if suggests_another_date(name) or (column.is_number and not suggests_date(name)):
            continue
        if kind.startswith(("date", "timestamp")):
            found.append(DateColumn(name, (), True, _month_of(texts, None)))
        elif not column.is_list and not column.is_nested and texts:
            found += _of_texts(table, name, texts)
    return found


def notes_of(columns: Iterable[DateColumn], time: str | None) -> Iterator[str]:
    """Yield what to know of the first columns of times. time: the one that was named already."""
    for column in islice((one for one in columns if one.name != time), _LISTED):
        yield str(column)


def columns_to_read(named: Mapping[str, Any]) -> list[str]:
    """Return the columns whose times are asked for, where nobody said how they are written."""
    if named.get("time_format") is not None:
        return []
    wanted = [] if named.get("time") is None else [named["time"]]
    for test in tests_of(where_of(named.get("where"))):
        if any(
            isinstance(one, str) and iso_moment(one.strip()) is not None for one in test.literals
        ):
            wanted.append(test.column)
    return wanted


def formats_to_say(wanted: Sequence[str], found: Iterable[DateColumn]) -> dict[str, str]:
    """Return the option that says how the times of columns are written, where one is needed.

    Raises DataError where two fit.
    """
    formats_of = {one.name: one.formats for one in found}
    for name in wanted:
        formats = formats_of.get(name, ())
        if len(formats) > 1:
            either = " and ".join(repr(one.text) for one in formats)
            raise DataError(
                f"column {name!r} fits both {either}: say with "
                f"{parameter('time_format')} which is right"
            )
        if formats:
            return {"time_format": formats[0].text}
    return {}


def _of_texts(table: Head, name: str, texts: Sequence[str]) -> Iterator[DateColumn]:
    """Yield a column of texts, or of whole numbers, if it holds times."""
    enough = len(texts) - len(texts) // _MOST_MISSING
    times = sum(moment_of(text) is not None for text in texts)
    if times >= enough:
        yield DateColumn(name, (), times == len(texts), _month_of(texts, None))
        return
    # 20260131 may be an id
    is_likely = suggests_date(name) or not all(text.isdigit() for text in texts)
    could_be = [
        text for text in texts if _SHORTEST <= len(text) <= _LONGEST and any(map(str.isdigit, text))
    ]
    if not is_likely or len(could_be) < enough:
        return
    likely = list(
        dict.fromkeys(one for text in could_be[:_LISTED] for one in usual_formats_of(text))
    )
    likely = [
        one for one in likely if sum(one.moment(text) is not None for text in texts) >= enough
    ]
    if likely:
        yield _written(table, name, likely, texts)


def _written(
    table: Head, name: str, likely: Sequence[TimeFormat], texts: Sequence[str]
) -> DateColumn:
    """Return a column with those of some formats that fit most of its values.

    All rows are read only where the first ones, texts, fit several that read them in different
    ways.
    """
    fits = {one: sum(one.moment(text) is not None for text in texts) for one in likely}
    likely = [one for one in likely if fits[one] == max(fits.values())]
    values: Iterable[str] = texts if len(likely) == 1 else _all_values(table, name)
    fitting = dict.fromkeys(likely, 0)
    # a hash of all moments: formats of one read every value alike
    readings = dict.fromkeys(likely, 0)
    count = 0
    for text in values:
        count += 1
        for one in likely:
            moment = one.moment(text)
            fitting[one] += moment is not None
            readings[one] = hash((readings[one], moment))
    most = max(fitting.values())
    best = {readings[one]: one for one in reversed(likely) if fitting[one] == most}
    formats = tuple(one for one in likely if one in best.values())
    return DateColumn(name, formats, most == count, _month_of(texts, formats[0]))


def _month_of(texts: Sequence[str], time_format: TimeFormat | None) -> str | None:
    """Return the month of the last of some times."""
    moments = (moment_of(text, time_format) for text in texts)
    known = [moment for moment in moments if moment is not None]
    return period_at("month", max(known) // _DAY).name if known else None


def _first_values(table: Head) -> dict[str, list[str]]:
    """Return the first values of each column as texts, without those that stand for none."""
    if table.frame is not None:
        head = table.frame.head(SAMPLE)
        return {
            str(name): _texts(head.iloc[:, place].tolist())
            for place, name in enumerate(head.columns)
        }
    names = list(dict.fromkeys(str(column.name) for column in table.columns))
    if table.source is None or not names:
        return {}
    batches = iter(table.source.batches(Wanted(names, SAMPLE)))
    batch = next(batches, None)
    if batch is None:
        return {}
    found = {name: batch.column(batch.schema.names.index(name)).slice(0, SAMPLE) for name in names}
    return {name: _texts(values.to_pylist()) for name, values in found.items()}


def _all_values(table: Head, name: str) -> Iterator[str]:
    """Yield the different values of a column as texts, of each part of it."""
    if table.frame is not None:
        yield from dict.fromkeys(_texts(table.frame[name].tolist()))
    elif table.source is not None:
        for batch in table.source.batches(Wanted([name], LONG_ROWS)):
            values: Any = plain(batch.column(batch.schema.names.index(name)))
            yield from _texts(values.unique().to_pylist())


def _texts(values: Iterable[Any]) -> list[str]:
    return [
        str(value).strip()
        for value in values
        if not isinstance(value, list) and not is_missing(value)
    ]
