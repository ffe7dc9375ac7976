"""Segments: a public list of parts, such as stores, that rows name in a column."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from fim_private.errors import ParameterError, parameter, shown
from fim_private.reading.missing_values import is_missing

_MOST_SEGMENTS = 1_000


@dataclass(frozen=True)
class Segments:
    """In which part of a public list a row is: the one that its column names.

    names: of the parts, as texts, all different. most: in how many of them a unit counts at most, 1 to their number.
    """

    column: str
    names: tuple[str, ...]
    most: int = 1


def segments_of(by: object, segments: Any, max_segments: Any) -> Segments | None:
    """Return what a caller said of segments; None where nothing was said.

    by: the column. segments: names, texts or integers, or one text with commas between them. max_segments: None for 1.
    Raises ParameterError for what is missing or out of range.
    """
    if by is None:
        for name, value in (("segments", segments), ("max_segments", max_segments)):
            if value is not None:
                raise ParameterError(f"{parameter(name)} goes with {parameter('by')}: the column that names segments")
        return None
    if not isinstance(by, str):
        raise ParameterError(f"{parameter('by')} must be the name of a column, as text, not {shown(by)}")
    if segments is None:
        raise ParameterError(
            f"{parameter('by')} needs {parameter('segments')} too: the names of the segments, a public list, such as "
            "A,B,C (taken from the data it would tell who is in it)"
        )
    try:
        names = tuple(_name(each) for each in _listed(segments))
        "".join(names).encode()
    except ParameterError:
        raise
    except (csv.Error, ValueError):
        raise ParameterError(f"{parameter('segments')} must be names of valid text, none very long") from None
    if not names:
        raise ParameterError(f"{parameter('segments')} must name one segment or more")
    if len(names) > _MOST_SEGMENTS:
        raise ParameterError(f"{parameter('segments')} must name at most {_MOST_SEGMENTS:,} segments")
    if len({*names}) < len(names):
        raise ParameterError(f"{parameter('segments')} names a segment twice; name each once")
    most = 1 if max_segments is None else max_segments
    if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= len(names):
        raise ParameterError(
            f"{parameter('max_segments')} must be a whole number from 1 to that of the segments, {len(names)}, "
            f"not {shown(most)}"
        )
    return Segments(by, names, most)


def _listed(segments: Any) -> Sequence[Any]:
    """Return the names of segments, one by one. Raises ParameterError for what is no list."""
    if isinstance(segments, str):
        rows = csv.reader(segments.splitlines(), skipinitialspace=True)
        return [name for row in rows for name in row if name.strip()]
    # A set has no order, which decides where a unit counts that has as many baskets in several.
    if isinstance(segments, Mapping | Set | bytes) or not hasattr(segments, "__iter__"):
        raise ParameterError(
            f"{parameter('segments')} must be a list of names, or text such as A,B,C, not {shown(segments)}"
        )
    return [*segments]


def _name(segment: object) -> str:
    """Return the name of a segment as text. Raises ParameterError for what can be none."""
    whole = hasattr(segment, "__index__") and not isinstance(segment, bool)
    if not (isinstance(segment, str) or whole) or is_missing(segment):
        raise ParameterError(f"{parameter('segments')} must be names, texts or whole numbers, not {shown(segment)}")
    return str(segment).strip()


def check_keys(segments: Segments | None, user: str | None, basket: str | None) -> None:
    """Raise ParameterError for segments that are single users or baskets: how many units each has would tell of one."""
    for name, column in (("user", user), ("basket", basket)):
        if segments is not None and column == segments.column:
            raise ParameterError(
                f"{parameter('by')} and {parameter(name)} name the same column: a segment would be one {name} alone"
            )
