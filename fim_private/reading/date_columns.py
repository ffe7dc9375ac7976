"""Which columns of a table hold times, and how they are written: for `inspect`.

Whoever calls that has the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fim_private.errors import DataError, parameter
from fim_private.periods import period_at
from fim_private.reading.columns import Wanted, suggests_another_date, suggests_date
from fim_private.reading.memory import LONG_ROWS
from fim_private.reading.other_readings import SAMPLE
from fim_private.reading.record_batches import ArrowSource, plain
from fim_private.reading.times import TimeFormat, iso_moment, moment_of, usual_formats_of
from fim_private.reading.values import is_missing
from fim_private.reading.where import tests_of, where_of

_MOST_MISSING = 10  # one in so many values of a column of times may be no time
_DAY = 86_400 * 10**6
_LISTED = 3
_SHORTEST, _LONGEST = 6, 40  # letters of a text that says a time


@dataclass(frozen=True)
class DateColumn:
    """A column of times.

    Attributes:
        name: Its name.
        formats: How its texts may be written, if `mine` must know it; several if all fit equally.
        fits_all: Whether every value is a time.
        example: A month that it has, such as 2026-11; None if nobody knows.
    """

    name: str
    formats: tuple[TimeFormat, ...] = ()
    fits_all: bool = True
    example: str | None = None

    def __str__(self) -> str:
        time, time_format = f"{parameter('time')} {self.name!r}", parameter("time_format")
        if len(self.formats) > 1:
            return (
                f"Column {self.name!r} holds times, and all of them fit {self._listed(' or ')}: "
                f"look which is right, and say it with {time_format}, beside {time}."
            )
        if self.formats:
            time = f"{time} {time_format} {self.formats[0].text!r}"
        period = parameter("period")
        if self.example is not None:
            period += f" {self.example}"
        text = f"Column {self.name!r} holds times: {time} and {period} read one period."
        if not self.fits_all:
            text += f" Some rows have none: {parameter('missing_time')} 'drop' leaves them out."
        return text

    def _listed(self, conjunction: str) -> str:
        return conjunction.join(repr(time_format.text) for time_format in self.formats)

    def format_to_say(self) -> str | None:
        """Return the format that `mine` must know, if any. Raises DataError if two fit."""
        if len(self.formats) > 1:
            raise DataError(
                f"column {self.name!r} fits both {self._listed(' and ')}: say with "
                f"{parameter('time_format')} which is right"
            )
        return self.formats[0].text if self.formats else None


def date_columns(table: ArrowSource) -> list[DateColumn]:
    """Return the columns of times of a table, by their types or by their first values."""
    dates = []
    values = _first_values(table)
    for column in table.columns():
        name = column.name
        texts = values.get(name, [])
        if suggests_another_date(name) or (column.is_number and not suggests_date(name)):
            continue
        if column.kind.lower().startswith(("date", "timestamp")):
            dates.append(DateColumn(name, example=_month_of(texts, None)))
        elif not column.is_list and not column.is_nested and texts:
            date = _of_texts(table, name, texts)
            if date is not None:
                dates.append(date)
    return dates


def notes_of(columns: Iterable[DateColumn], time: str | None) -> list[str]:
    """Return notes on the first columns of times. time: the one that was named already."""
    return [str(column) for column in columns if column.name != time][:_LISTED]


def columns_to_read(options: Mapping[str, object]) -> list[str]:
    """Return the columns that options read times of, if they do not say how these are written."""
    if options.get("time_format") is not None:
        return []
    names = [str(options["time"])] if options.get("time") is not None else []
    for test in tests_of(where_of(options.get("where"))):
        texts = (literal for literal in test.literals if isinstance(literal, str))
        if any(iso_moment(text.strip()) is not None for text in texts):
            names.append(test.column)
    return names


def formats_to_say(names: Sequence[str], columns: Iterable[DateColumn]) -> dict[str, str]:
    """Return the option that says how the times of columns are written, if one is needed.

    Raises DataError if two formats fit.
    """
    column_of = {column.name: column for column in columns}
    for name in names:
        if name in column_of:
            time_format = column_of[name].format_to_say()
            if time_format is not None:
                return {"time_format": time_format}
    return {}


def _of_texts(table: ArrowSource, name: str, texts: Sequence[str]) -> DateColumn | None:
    """Return a column of texts, or of whole numbers, if it holds times."""
    enough = len(texts) - len(texts) // _MOST_MISSING
    times = _fitting(texts, None)
    if times >= enough:
        return DateColumn(name, (), times == len(texts), _month_of(texts, None))
    # 20260131 may be an id
    if all(text.isdigit() for text in texts) and not suggests_date(name):
        return None
    could_be = [text for text in texts if _could_be_time(text)]
    if len(could_be) < enough:
        return None
    fits = {}
    for text in could_be[:_LISTED]:
        for time_format in usual_formats_of(text):
            fits[time_format] = _fitting(texts, time_format)
    most = max(fits.values(), default=0)
    if most < enough:
        return None
    likely = [time_format for time_format in fits if fits[time_format] == most]
    return _written(table, name, likely, texts)


def _could_be_time(text: str) -> bool:
    return _SHORTEST <= len(text) <= _LONGEST and any(map(str.isdigit, text))


def _fitting(texts: Iterable[str], time_format: TimeFormat | None) -> int:
    """Return how many texts are times."""
    return sum(moment_of(text, time_format) is not None for text in texts)


def _written(
    table: ArrowSource, name: str, likely: Sequence[TimeFormat], texts: Sequence[str]
) -> DateColumn:
    """Return a column with the formats that fit most of its values.

    All rows are read only if its first values, texts, fit several formats that read them in
    different ways.
    """
    values: Iterable[str] = texts if len(likely) == 1 else _all_values(table, name)
    fitting = dict.fromkeys(likely, 0)
    # The hash of all moments: formats with the same hash read every value alike.
    readings = dict.fromkeys(likely, 0)
    count = 0
    for text in values:
        count += 1
        for time_format in likely:
            moment = time_format.moment(text)
            fitting[time_format] += moment is not None
            readings[time_format] = hash((readings[time_format], moment))
    most = max(fitting.values())
    first_of_reading: dict[int, TimeFormat] = {}
    for time_format in likely:
        if fitting[time_format] == most:
            first_of_reading.setdefault(readings[time_format], time_format)
    formats = tuple(first_of_reading.values())
    return DateColumn(name, formats, most == count, _month_of(texts, formats[0]))


def _month_of(texts: Sequence[str], time_format: TimeFormat | None) -> str | None:
    """Return the month of the last of some times."""
    moments = (moment_of(text, time_format) for text in texts)
    known = [moment for moment in moments if moment is not None]
    if not known:
        return None
    return period_at("month", max(known) // _DAY).name


def _first_values(table: ArrowSource) -> dict[str, list[str]]:
    """Return the first values of each column as texts, without those that stand for none."""
    names = list(dict.fromkeys(table.schema.names))
    batch = next(iter(table.batches(Wanted(names, SAMPLE))), None)
    if batch is None:
        return {}
    columns = {name: batch.column(batch.schema.names.index(name)) for name in names}
    return {name: _texts(values[:SAMPLE].to_pylist()) for name, values in columns.items()}


def _all_values(table: ArrowSource, name: str) -> Iterator[str]:
    """Yield the different values of each part of a column as texts."""
    for batch in table.batches(Wanted([name], LONG_ROWS)):
        values = plain(batch.column(batch.schema.names.index(name)))
        yield from _texts(values.unique().to_pylist())


def _texts(values: Iterable[object]) -> list[str]:
    return [
        str(value).strip()
        for value in values
        if not isinstance(value, list) and not is_missing(value)
    ]
