"""How a source may be read that does not tell, guessed from its first lines: for a person to check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fim_private.reading.column_names import numbered, suggests_basket, suggests_date, suggests_item, suggests_user
from fim_private.reading.dialect import DELIMITERS
from fim_private.reading.missing_users import MissingUser
from fim_private.reading.other_readings import seems_spmf

# A frequent encoding of files that are not in UTF-8: that of spreadsheets in Western Europe.
OTHER_ENCODING = "cp1252"


def possible_readings(names: Sequence[str], lines: Sequence[str], named: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield options, beside those that were named, with which a source may be read: none first, then guesses."""
    for encoding in ({}, {"encoding": OTHER_ENCODING}) if "encoding" not in named else ({},):
        yield encoding
        for guess in _guesses(names, lines):
            more = {name: value for name, value in guess.items() if name not in named} | encoding
            yield more
            if "user" in {*more, *named} and "missing_user" not in named:
                yield {**more, "missing_user": str(MissingUser.DROP)}


def _guesses(names: Sequence[str], lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield options that the names of columns suggest, and forms that tell themselves when they are read."""
    places = numbered(names)
    keys = _first("user", [name for name in names if suggests_user(name)])
    keys |= _first("basket", [name for name in names if suggests_basket(name) and name not in keys.values()])
    if places:
        if lines:  # of a text: items that are numbered, or places; only cells of 0 and 1 are read as a one-hot table
            yield {"input_format": "one-hot", **keys}
        yield {"input_format": "wide", **keys}
    items = [name for name in names if suggests_item(name) and name not in {*keys.values(), *places}]
    if items and keys:
        # What nobody but its customer and its day names is a visit: all that a customer ever bought is no basket.
        days = [name for name in names if suggests_date(name)]
        only_key = next(iter(keys.values()))
        yield {"basket": [only_key, days[0]] if days and "user" in keys else only_key} | keys | {"item": items[-1]}
    if keys:
        yield keys
    if seems_spmf(lines):
        yield {"input_format": "spmf"}
    yield {"input_format": "one-hot", **keys}
    for delimiter in DELIMITERS:
        if 2 * sum(delimiter in line for line in lines) >= len(lines) > 0:
            yield {"delimiter": delimiter}


def _first(role: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the first of some columns in a role, nothing where there are none."""
    return {role: names[0]} if names else {}
