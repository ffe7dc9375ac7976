"""Rows of a table to purchases with numbers: units, baskets and items, in temporary tables.

The rows that count are copied once, in one query, and all else is made of that copy: it is one
state of the data. Names of items come here, each once, to be numbered in the order of their labels.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from ibis import _
from numpy.typing import NDArray

from fim_private.errors import DataError, parameter
from fim_private.reading.columns import ReadAs, Roles, choose
from fim_private.reading.labels import Labels, Vocabulary
from fim_private.reading.notations import Notation, other_format, other_notation, what_to_do
from fim_private.reading.options import InputForm, MissingUser, Options
from fim_private.reading.other_readings import SAMPLE
from fim_private.reading.record_batches import (
    ArrowSource,
    Encoder,
    items_name,
    joint_items,
    without_time,
    without_user,
)
from fim_private.reading.times import TimeFormat, iso_moment
from fim_private.reading.where import tests_of
from fim_private.warehouse.conditions import as_printed, day, moment, passing, present
from fim_private.warehouse.session import Session

_USER, _NOBODY = "key_user", "key_nobody"  # of a basket, beside its columns
_EPOCH = date(1970, 1, 1)
_AS_ISO = "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DRY_ITEMS, _DRY_UNITS = 10, 10**6  # what a dry run takes to be there


@dataclass(frozen=True)
class Stored:
    """Purchases in a temporary table: entries has unit, basket, part (of segment or period) and
    item, each once.

    items: the names of codes. units: how many each part has, (parts,), those without an item
    included.
    """

    session: Session
    entries: Any
    items: Vocabulary
    units: NDArray[np.int64]
    by_user: bool
    read_as: ReadAs


def stored(
    session: Session,
    table: Any,
    options: Options,
    *,
    excluded: Vocabulary | None,
    min_basket: int | None,
) -> Stored:
    """Return what counts of a table: without excluded items, then without baskets of fewer than
    min_basket items.
    """
    roles = _roles(table, options, session.name)
    rows = _rows(session, table, roles)
    cells = rows.mutate(i0=rows.i0.unnest()) if roles.is_list else rows
    vocabulary, codes = _coded(session, cells.filter(_.read), roles, excluded)
    entries, units = _numbered(session, rows, cells.filter(_.read), codes, roles)
    if min_basket is not None:
        long = entries.mutate(items=_.count().over(group_by=["basket", "part"]))
        entries = session.keep(long.filter(_.items >= min_basket).drop("items"), "long")
    read_as = ReadAs.of_table([*table.columns], roles, kind="table")
    return Stored(session, entries, vocabulary, units, roles.user is not None, read_as)


def _roles(table: Any, options: Options, name: str) -> Roles:
    # that of a type that Arrow has not: it has no role
    fields = {column: pa.struct([]) for column in table.columns}
    for column, kind in table.schema().items():
        with suppress(Exception):
            fields[column] = kind.to_pyarrow()
    options.dialect.refuse_for(name)
    roles = choose(
        ArrowSource(name, pa.schema([*fields.items()]), lambda wanted: ()).columns(), options, name
    )
    if roles.split is not None or roles.form not in (InputForm.LONG, None):
        raise DataError(
            f"{parameter('engine')} sql reads one row per item, or a column of lists: name them "
            f"with "
            f"{parameter('basket')} and {parameter('item')}, or with {parameter('items')}"
        )
    for column in (*roles.values, *(() if roles.by is None else [roles.by.column])):
        kind = table[column].type()
        kind = kind.value_type if roles.is_list and column in roles.values else kind
        if not (kind.is_string() or kind.is_integer()):
            raise DataError(
                f"column {column!r} of {name} has type {kind}. {parameter('engine')} sql needs "
                f"items and segments that "
                "are texts or whole numbers: make a view"
            )
    return roles


def _rows(session: Session, table: Any, roles: Roles) -> Any:
    """Keep the rows that count, and raise DataError if any lacks the user or time that it needs."""
    times = roles.times
    _refuse_other_notations(session, table, roles)
    selected = _selected(session, table, roles)
    rows = session.keep(_without_missing(selected, roles), "rows")
    needs_user = roles.user is not None and roles.missing_user is None
    if needs_user and _any(session, rows.filter(_[_NOBODY])):
        raise without_user(roles, session.name)
    if times is not None and times.missing is None and _any(session, rows.filter(_.day.isnull())):
        raise without_time(times, session.name)
    return rows


def _selected(session: Session, table: Any, roles: Roles) -> Any:
    """Return the columns of a table that are needed, under names of their own.

    They are the keys of the basket, its user and whether that is nobody, the day, the part, whether
    the row is read, and the items i0, i1, ...
    """
    columns = {f"key{place}": as_printed(table[key]) for place, key in enumerate(roles.basket)}
    if not columns:  # each row is a basket
        columns["key"] = _number()
    read, part = _read_and_part(session, table, roles)
    if roles.user is not None:
        user = as_printed(table[roles.user])
        if not user.type().is_numeric():  # as numbers, 0.0 is -0.0
            user = user.cast("string")
        no_user = "" if user.type().is_string() else 0
        columns[_USER] = user.fill_null(no_user)
        columns[_NOBODY] = user.isnull()
    if roles.times is not None:
        time = table[roles.times.column]
        columns["day"] = day(time, roles.times, session.name, session.dialect)
    items = {f"i{place}": table[column] for place, column in enumerate(roles.values)}
    if len(items) > 1:  # that name an item together: a missing one is an empty text
        items = {item: column.cast("string").fill_null("") for item, column in items.items()}
    return table.select(**columns, part=part, read=read, **items)


def _read_and_part(session: Session, table: Any, roles: Roles) -> tuple[Any, Any]:
    """Return whether a row is read, and the number of its segment: 0 if there are none."""
    read = ibis.literal(True)
    if roles.where is not None:
        read = passing(roles.where, table, session.name, session.dialect).fill_null(False)
    if roles.by is None:
        return read, ibis.literal(0, type="int32")
    segment = as_printed(table[roles.by.column].cast("string"))
    cases = ((segment == name, number) for number, name in enumerate(roles.by.names))
    part = ibis.cases(*cases, else_=-1).cast("int32")
    return read & (part >= 0), part


def _without_missing(rows: Any, roles: Roles) -> Any:
    """Return the rows that have a basket, a time and a user, or are to be refused without one.

    Of times, rows that are not read stay, too: a basket has the day of its earliest row.
    """
    times = roles.times
    refused = []
    if times is not None and times.missing is None:
        refused.append(_.day.isnull())
    if roles.user in roles.basket and roles.missing_user is None:
        refused.append(_[_NOBODY])
    for place in range(len(roles.basket)):
        rows = rows.filter(ibis.or_(_[f"key{place}"].notnull(), *refused))
    if times is None:
        rows = rows.filter(_.read)
    elif times.missing == "drop":
        rows = rows.filter(_.day.notnull())
    if roles.missing_user is MissingUser.DROP:
        rows = rows.filter(ibis.or_(~_[_NOBODY], *refused))
    return rows


def _refuse_other_notations(session: Session, table: Any, roles: Roles) -> None:
    """Raise DataError where the first texts are not written as the format of times says. Only
    numbers come here.
    """
    for test in tests_of(roles.where):
        for literal in test.literals:
            is_time = isinstance(literal, str) and iso_moment(literal.strip()) is not None
            notation = _notation(session, table[test.column], test.time_format) if is_time else None
            if notation is not None and notation.is_refused(test.sign):
                raise other_notation(
                    test, literal, session.name, what_to_do(literal, test.time_format)
                )
    times = roles.times
    notation = None if times is None else _notation(session, table[times.column], times.format)
    if times is not None and notation is not None and notation.is_mostly_other:
        raise other_format(times, session.name)


def _notation(session: Session, column: Any, time_format: TimeFormat | None) -> Notation | None:
    """Return how many of the first texts fit a format; None where there is none, or no texts."""
    if time_format is None or not column.type().is_string():
        return None
    texts = present(column).name("x").as_table().filter(_.x.notnull()).limit(SAMPLE)
    looked_at = texts.mutate(fits=moment(texts.x, time_format).notnull())
    is_other = ~_.fits & _.x.re_search("[0-9]") & ~_.x.re_search(_AS_ISO)
    counts = {
        "n": _.count(),
        "fit": _.fits.ifelse(1, 0).sum(),
        "other": is_other.ifelse(1, 0).sum(),
    }
    found = looked_at.aggregate(
        **{name: count.cast("int64").fill_null(0) for name, count in counts.items()}
    )
    numbers = session.numbers(found, n=[0], fit=[0], other=[0])
    return Notation(*(int(numbers[name][0]) for name in ("n", "fit", "other")))


def _any(session: Session, rows: Any) -> bool:
    # no row leaves the database
    return bool(session.numbers(rows.limit(1).aggregate(n=_.count()), n=[0])["n"][0])


def _coded(
    session: Session, cells: Any, roles: Roles, excluded: Vocabulary | None
) -> tuple[Vocabulary, Any]:
    """Number the names of items as one machine does; return them, and a table of each name with its
    code.
    """
    encoder = Encoder(Labels(items_name(session.name, roles), fold_case=roles.fold_case))
    named = cells.select(*(f"i{place}" for place in range(len(roles.values)))).distinct()
    kinds = named.schema().to_pyarrow()
    found = session.rows(
        named, {kind.name: pa.array(range(_DRY_ITEMS)).cast(kind.type) for kind in kinds}
    )
    columns = [column.combine_chunks() for column in found.columns]
    codes = encoder.codes(joint_items(columns) if len(columns) > 1 else columns[0])
    vocabulary, final = encoder.labels.finish([codes])
    if excluded is not None:
        final = np.where(np.append(vocabulary.codes_in(excluded), -1)[final] >= 0, -1, final)
    final = np.append(final, -1)[codes]
    kept = found.filter(pa.array(final >= 0)).append_column(
        "item", pa.array(final[final >= 0].astype(np.int64))
    )
    return vocabulary, session.upload(kept, "items")


def _numbered(
    session: Session, rows: Any, cells: Any, codes: Any, roles: Roles
) -> tuple[Any, NDArray[np.int64]]:
    """Number baskets and units, and bring the items of each together; return the entries, and units
    of each part.
    """
    times, parts, by_user = roles.times, roles.parts, roles.user is not None
    keys = [name for name in rows.columns if name.startswith("key")]
    # Of all rows of a basket, also of those that are not read, the earliest says when it was.
    named = rows.group_by(keys).aggregate(**({} if times is None else {"day": rows.day.min()}))
    owner, place = {_USER: _[_USER]} if by_user else {}, []
    if times is not None and times.periods:
        ends = (
            [_EPOCH + timedelta(number) for number in (one.first, one.last)]
            for one in times.periods
        )
        spans = ((_.day.between(*each), place) for place, each in enumerate(ends))
        named = named.mutate(place=ibis.cases(*spans, else_=-1).cast("int32")).filter(_.place >= 0)
        place = ["place"] if times.each else []
    if times is not None and times.per is not None:  # a unit is what a user bought in one of these
        owner["stretch"] = _.day.truncate(times.per[0].upper())
    named = session.keep(named.mutate(basket=_number(), **owner), "named")
    if by_user:
        users = named.filter(~_[_NOBODY]).select(*owner).distinct().mutate(unit=_number())
        # Whoever is nobody has one basket: its number, below 0, which no user has.
        unit = _[_NOBODY].ifelse(-1 - _.basket, _.unit)
        named = named.left_join(session.keep(users, "users"), [*owner]).mutate(unit=unit)
    else:
        named = named.mutate(unit=_.basket)
    named = named.select(*keys, "basket", "unit", *place)

    def placed(some: Any, *more: str) -> Any:
        found = _joined(some, named, keys)
        found = found.mutate(part=_.place) if place else found
        return found.select("unit", "basket", "part", *more).distinct()

    baskets = session.keep(placed(rows.filter(_.read)), "baskets")
    entries = placed(
        _joined(cells, codes, [name for name in codes.columns if name != "item"]), "item"
    )
    if parts is not None and parts.most < len(parts.names):
        # A unit counts in the parts with most of its baskets; of equals in the first ones.
        order = ibis.window(group_by="unit", order_by=[ibis.desc("baskets"), "part"])
        counts = baskets.group_by("unit", "part").aggregate(baskets=_.count())
        counts = counts.mutate(order=ibis.row_number().over(order)).filter(_.order < parts.most)
        counts = session.keep(counts.select("unit", "part"), "counts")
        entries, baskets = (some.semi_join(counts, ["unit", "part"]) for some in (entries, baskets))
    entries = session.keep(entries, "entries")
    by_part = baskets.group_by(place=_.part).aggregate(value=_.unit.nunique())
    units = session.vector(by_part, 1 if parts is None else len(parts.names), dry=_DRY_UNITS)
    session.drop(rows)
    return entries, units


def _number() -> Any:
    # Some databases number only what has an order, whatever it is.
    return ibis.row_number().over(order_by=ibis.null("int64")).cast("int64")


def _joined(left: Any, right: Any, on: list[str]) -> Any:
    found = left.inner_join(right, on)
    return found.drop(*(name for name in found.columns if name.endswith("_right")))
