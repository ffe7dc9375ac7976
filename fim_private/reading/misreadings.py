"""What is easily misread in purchases: returns, shared ids, rounded numbers, items that look alike.

These notes are for whoever has the data, and none of them is private.
"""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fim_private.errors import FimPrivateError, parameter
from fim_private.reading import columns
from fim_private.reading.columns import ReadAs
from fim_private.reading.labels import as_printed, as_texts, folded
from fim_private.reading.record_batches import ArrowSource
from fim_private.reading.transactions import Transactions
from fim_private.reading.where import column_text

# Of so many users none has one in so many baskets, usually, nor so many times the average.
_MANY_USERS, _LARGE_SHARE, _TIMES_AVERAGE = 20, 20, 5
_DAY_CHARACTERS, _COMPACT_DAY = 10, 8  # of 2026-01-31 14:30 and 31.01.2026 14:30; of 20260131
FIRST_BATCHES = 8  # so many are enough to see what most rows of an order have
_CANCELLED = r"^\s*[Cc]-?[0-9]+\s*$"
_NUMBERED = r"^\s*[0-9]+\s*$"
# As a spreadsheet writes a long number: 4,00638E+12.
_WITH_EXPONENT = r"^\s*[0-9][.,]?[0-9]*[Ee]\+[0-9]+\s*$"
_WHOLE_FLOATS = 2.0**53  # not every whole number above it is a float
_NUMBER = r"-?[0-9]+(\.[0-9]+)?"  # as a condition has it
_CLOCK = r"[T ]*[0-9]{1,2}:"  # where the time of day begins
_BELOW_ZERO = r"^\s*-\s*[0-9]*[.,]?[0-9]"
# What a second look at a source may raise.
while_readable = suppress(
    FimPrivateError, pa.ArrowException, OSError, UnicodeDecodeError, csv.Error
)


def notes_of_rows(data: Transactions, read_as: ReadAs, table: ArrowSource) -> list[str]:
    """Return notes on what is easily misread in the rows of a table, if it can be read again.

    data: what was read of it. read_as: how.
    """
    notes: list[str] = []
    for notes_of in (_cancellations, _shared_users, _rounded_numbers, _ids_of_several_days):
        with while_readable:
            notes += notes_of(data, read_as, table)
    return notes


def _cancellations(data: Transactions, read_as: ReadAs, table: ArrowSource) -> Iterator[str]:
    """Yield notes on cancelled goods: negative quantities, invoices such as C536379."""
    if read_as.form != "long" or read_as.where is not None:
        return
    basket = read_as.basket
    quantity = next(filter(columns.suggests_quantity, read_as.unread), None)
    names = [name for name in (quantity, basket) if name is not None]
    negative = cancelled = numbered = 0
    for arrays in table.values(names):
        texts = dict(zip(names, map(as_texts, arrays), strict=True))
        if quantity is not None:
            negative += _number_fitting(_BELOW_ZERO, texts[quantity])
        if basket is not None:
            cancelled += _number_fitting(_CANCELLED, texts[basket])
            numbered += _number_fitting(_NUMBERED, texts[basket])
    if quantity is not None and negative:
        yield _note_of_returns(negative, f"a negative {quantity!r}", quantity, "> 0")
    if basket is not None and 0 < cancelled < numbered:  # else they are all called so
        have = f"a {basket!r} that begins with C"
        yield _note_of_returns(cancelled, have, basket, "not like 'C%'")


def _shared_users(data: Transactions, read_as: ReadAs, table: ArrowSource) -> Iterator[str]:
    """Yield notes if one user has many of the baskets, and if ids of baskets have several."""
    user, basket, offsets = read_as.user, read_as.basket, data.unit_offsets
    if user is None or offsets is None or data.units < _MANY_USERS:
        return
    if user not in table.schema.names:  # a stream, which is not read twice
        return
    largest, baskets = int(np.diff(offsets).max()), data.baskets
    is_large = largest >= baskets * max(1 / _LARGE_SHARE, _TIMES_AVERAGE / data.units)
    # A condition may have left out the most frequent one already.
    if is_large and read_as.where is None:
        name, literal = _most_frequent(as_printed(array) for [array] in table.values([user]))
        without = json.dumps(f"{column_text(user)} <> {literal}", ensure_ascii=False)
        yield (
            f"One user, {name!r} it seems, has {largest:,} of the {baskets:,} baskets. If that "
            f"stands for customers who are not known, {parameter('where')} {without} leaves "
            f"them out."
        )
    if basket is None:
        return
    ids = pa.concat_arrays([as_printed(array).unique() for [array] in table.values([basket])])
    number = len(ids.drop_null().unique())
    # Where ids are days, or begin anew for each user, there are far fewer of them.
    if number < baskets < 2 * number:
        yield (
            f"There are {baskets:,} baskets, and {number:,} different ids in "
            f"{basket!r}: rows of one id with several users are a basket of each. Look "
            f"whether {user!r} is always written in the same way."
        )


def _rounded_numbers(data: Transactions, read_as: ReadAs, table: ArrowSource) -> Iterator[str]:
    """Yield a note on each column of ids or items with numbers that were rounded before."""
    if read_as.form != "long":
        return
    names = [*read_as.baskets, *filter(None, [read_as.user]), *read_as.items]
    rounded: dict[str, str | None] = dict.fromkeys(
        name for name in names if name in table.schema.names
    )
    if not rounded:
        return
    for arrays in table.values([*rounded]):  # once for all: to read a text takes long
        for name, array in zip(rounded, arrays, strict=True):
            rounded[name] = rounded[name] or _rounded_number(array)
    for name, number in rounded.items():
        if number is not None:
            yield (
                f"Column {name!r} has numbers that were rounded before, such as {number!r}: "
                f"different ones may have become the same. Export the column as text, or read "
                f"it so (in pandas: dtype=str)."
            )


def _ids_of_several_days(data: Transactions, read_as: ReadAs, table: ArrowSource) -> Iterator[str]:
    """Yield a note if most ids of baskets come again on another day. The first rows are enough.

    Where users are read, the rows of an id are of one user.
    """
    basket, unread = read_as.basket, read_as.unread
    dates = [*filter(columns.suggests_date, unread)]
    if basket is None or not dates or read_as.user is not None:
        return
    if basket not in table.schema.names or columns.suggests_user(basket):
        return
    days_of: defaultdict[str, set[str]] = defaultdict(set)
    for ids, days in islice(table.values([basket, dates[0]]), FIRST_BATCHES):
        for number, text in zip(as_texts(ids).to_pylist(), as_texts(days).to_pylist(), strict=True):
            if number is not None and text is not None:
                days_of[number].add(_day(text.strip()))
    several = sum(len(days) > 1 for days in days_of.values())
    if 2 * several > len(days_of):
        yield (
            f"Most ids in {basket!r} come again on other days ({dates[0]!r}). If they begin "
            f"anew each day, {named_together(basket, dates[0])} would make a basket of each. "
            f"If they do so in each store, name its column, too."
        )


def _number_fitting(pattern: str, texts: pa.Array) -> int:
    return int(pc.match_substring_regex(texts, pattern).true_count)


def _note_of_returns(rows: int, have: str, column: str, condition: str) -> str:
    """Return a note on rows of returned goods, and the condition that leaves them out."""
    rows_have = "1 row has" if rows == 1 else f"{rows:,} rows have"
    # Quoted so, it is a word for a shell and a text for Python.
    where = json.dumps(f"{column_text(column)} {condition}", ensure_ascii=False)
    return (
        f"{rows_have} {have}, as returns and cancellations have. They count as purchases: "
        f"{parameter('where')} {where} leaves them out."
    )


def _rounded_number(array: pa.Array) -> str | None:
    """Return the first number with an exponent, or the first float above 2^53; None if none."""
    if pa.types.is_integer(array.type):
        return None
    if pa.types.is_floating(array.type):
        rounded = array.filter(pc.greater_equal(pc.abs(array), _WHOLE_FLOATS))
    else:
        texts = as_texts(array)
        rounded = texts.filter(pc.match_substring_regex(texts, _WITH_EXPONENT))
    return str(as_printed(rounded)[0]) if len(rounded) else None


def _day(text: str) -> str:
    """Return the day in the text of a time; an empty text if it has none."""
    if text.isdecimal() and len(text) > _COMPACT_DAY:  # seconds since 1970
        return ""
    return re.split(_CLOCK, text, maxsplit=1)[0][:_DAY_CHARACTERS]


def _most_frequent(arrays: Iterable[pa.Array]) -> tuple[str, str]:
    """Return the text that the most rows have, and the same as a literal of a condition."""
    rows: Counter[str | None] = Counter()
    for array in arrays:
        for counted in pc.value_counts(array.drop_null()).to_pylist():
            rows[counted["values"]] += counted["counts"]
    [(text, _)] = rows.most_common(1)
    name = str(text)
    if all(re.fullmatch(_NUMBER, str(other)) for other in rows):
        return name, name
    return name, "'" + name.replace("'", "''") + "'"


def notes_of_items(items: Sequence[str], *, fold_case: bool) -> Iterator[str]:
    """Yield notes if items that differ look the same, or differ by capital letters alone.

    fold_case: whether such letters make no difference anyway.
    """
    alike = _alike(items, _look)
    if alike is not None:
        number, first, second = alike
        yield (
            f"{number} written in several ways that look the same, such as {first!a} and "
            f"{second!a}. They count as different items: write each in one way first."
        )
    alike = None if fold_case else _alike(items, folded)
    if alike is not None:
        number, first, second = alike
        yield (
            f"{number} written in several ways that differ by capital letters alone, such as "
            f"{first!r} and {second!r}: {parameter('fold_case')} takes them as one."
        )


def _alike(items: Sequence[str], form: Callable[[str], str | None]) -> tuple[str, str, str] | None:
    """Return how many items are written in several ways, in words, and two of these ways.

    form: what all ways to write an item have in common. None if each item is written in one way.
    """
    spellings: defaultdict[str | None, list[str]] = defaultdict(list)
    for item in items:
        spellings[form(item)].append(item)
    several = [texts for texts in spellings.values() if len(texts) > 1]
    if not several:
        return None
    first, second = sorted(several[0])[:2]
    number = "1 item is" if len(several) == 1 else f"{len(several):,} items are"
    return number, first, second


def _look(item: str) -> str:
    """Return an item in Unicode's composed form, without characters that nobody sees."""
    if item.isascii():
        return item
    composed = unicodedata.normalize("NFC", item)
    return "".join(character for character in composed if unicodedata.category(character) != "Cf")


def named_together(*keys: str) -> str:
    """Return the options that name a basket by several columns."""
    return " and ".join(f"{parameter('basket')} {name!r}" for name in keys)
