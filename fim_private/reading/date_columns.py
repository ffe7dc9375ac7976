"""Which columns of a table hold times, and how they are written: for `inspect`.

Whoever calls that has the data.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fim_private.errors import DataError, parameter
from fim_private.periods import period_at
from fim_private.reading.columns import suggests_another_date, suggests_date
from fim_private.reading.memory import LONG_ROWS
from fim_private.reading.other_readings import SAMPLE
from fim_private.reading.record_batches import ArrowSource
from fim_private.reading.times import TimeFormat, moment_of, usual_formats_of
from fim_private.reading.values import is_missing
from fim_private.reading.where import columns_of, compares_times, where_of

_MOST_MISSING = 10  # one in so many values of a column of times may be no time
_DAY = 86_400 * 10**6
_LISTED = 3


@dataclass(frozen=True)
class DateColumn:
    """A column of times.

    Attributes:
        name: Its name.
        formats: How its texts may be written, if `mine` must know it; several if all fit equally.
        fits_all: Whether every value is a time.
        example: A month that it has, such as 2026-11.
    """

    name: str
    formats: Sequence[TimeFormat]
    fits_all: bool
    example: str

    def __str__(self) -> str:
        time, time_format = f"{parameter('time')} {self.name!r}", parameter("time_format")
        if len(self.formats) > 1:
            return (
                f"Column {self.name!r} holds times, and all of them fit {self.listed(' or ')}: "
                f"look which is right, and say it with {time_format}, beside {time}."
            )
        if self.formats:
            time = f"{time} {time_format} {self.formats[0].text!r}"
        text = (
            f"Column {self.name!r} holds times: {time} and {parameter('period')} {self.example} "
            f"read one period."
        )
        if not self.fits_all:
            text += f" Some rows have none: {parameter('missing_time')} 'drop' leaves them out."
        return text

    def listed(self, conjunction: str) -> str:
        """Return its formats for a message."""
        return conjunction.join(repr(time_format.text) for time_format in self.formats)


def date_columns(table: ArrowSource) -> Iterator[DateColumn]:
    """Yield the columns of times of a table, by their types or by their first values."""
    names = list(dict.fromkeys(table.schema.names))
    arrays = next(table.values(names, SAMPLE), [])
    first_values = dict(zip(names, arrays, strict=False))
    for column in table.columns():
        name = column.name
        is_unlikely = suggests_another_date(name) or (column.is_number and not suggests_date(name))
        if is_unlikely or column.is_list or column.is_nested or name not in first_values:
            continue
        texts = _texts(first_values[name][:SAMPLE].to_pylist())
        if texts:
            yield from _of_texts(table, name, texts)


def format_to_say(options: Mapping[str, object], columns: Iterable[DateColumn]) -> dict[str, str]:
    """Return the option that says how the times are written that options read, if one is needed.

    Raises DataError if two formats fit.
    """
    where, names = where_of(options.get("where")), []
    if compares_times(where):
        names = columns_of(where)
    if options.get("time") is not None:
        names.append(str(options["time"]))
    if not names or options.get("time_format") is not None:
        return {}
    for column in columns:
        if column.name not in names or not column.formats:
            continue
        if len(column.formats) > 1:
            raise DataError(
                f"column {column.name!r} fits both {column.listed(' and ')}: say with "
                f"{parameter('time_format')} which is right"
            )
        return {"time_format": column.formats[0].text}
    return {}


def _of_texts(table: ArrowSource, name: str, texts: Sequence[str]) -> Iterator[DateColumn]:
    """Yield a column of texts, or of whole numbers, if it holds times.

    All rows are read only if its first values, texts, fit several formats.
    """
    likely: Sequence[TimeFormat | None] = [None]  # in ISO 8601, or a day with dots
    enough = len(texts) - len(texts) // _MOST_MISSING
    # 20260131 may be an id
    may_be_dates = suggests_date(name) or not all(map(str.isdigit, texts))
    if may_be_dates and len(_moments(texts, None)) < enough:
        with_digits = [text for text in texts if any(map(str.isdigit, text))]
        usual = map(usual_formats_of, with_digits[:_LISTED])
        likely = _best(chain.from_iterable(usual), texts)
    if not likely or len(_moments(texts, likely[0])) < enough:
        return
    values = texts
    if len(likely) > 1:
        arrays = (array.unique().to_pylist() for [array] in table.values([name], LONG_ROWS))
        values = list(dict.fromkeys(chain.from_iterable(map(_texts, arrays))))
        likely = _best(likely, values)
        readings = {tuple(_moments(values, time_format)) for time_format in likely}
        if len(readings) == 1:
            likely = likely[:1]
    fits_all = len(_moments(values, likely[0])) == len(values)
    month = period_at("month", max(_moments(texts, likely[0])) // _DAY).name
    yield DateColumn(name, [*filter(None, likely)], fits_all, month)


def _best(formats: Iterable[TimeFormat | None], texts: Sequence[str]) -> list[TimeFormat | None]:
    """Return the formats that fit the most of some texts."""
    fits = {time_format: len(_moments(texts, time_format)) for time_format in formats}
    most = max(fits.values(), default=0)
    return [time_format for time_format, fit in fits.items() if fit == most]


def _moments(texts: Iterable[str], time_format: TimeFormat | None) -> list[int]:
    """Return the times that texts say, in microseconds since 1970."""
    moments = (moment_of(text, time_format) for text in texts)
    return [moment for moment in moments if moment is not None]


def _texts(values: Iterable[object]) -> list[str]:
    return [
        str(value).strip()
        for value in values
        if not isinstance(value, list) and not is_missing(value)
    ]
