"""Rows of a table to purchases with numbers: units, baskets and items, in temporary tables of one state of the data.

The rows that count are copied once, in one statement, and all else is made of that copy: a table that changes
meanwhile changes nothing. Names of items come here, each once, to be numbered in the order of their labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading.columns import ReadAs, Roles, choose
from fim_private.reading.labels import Labels, Vocabulary
from fim_private.reading.options import InputForm, MissingUser, Options
from fim_private.reading.record_batches import ArrowSource, Encoder, days, items_name, joint_items
from fim_private.reading.values import numpy_of
from fim_private.warehouse.conditions import day, passing, present
from fim_private.warehouse.session import Session, opened

_KEYS = ("user", "nobody")  # of a unit, beside the columns of a basket


@dataclass(frozen=True)
class Stored:
    """Purchases in temporary tables.

    entries: unit, basket, part and item: which item is in which basket, each once. baskets: unit, basket and part, also
    of those without an item. part: the place of the segment or period. items: the names of codes.
    """

    session: Session
    entries: Any
    baskets: Any
    items: Vocabulary
    read_as: ReadAs
    by_user: bool
    parts: int
    most: int  # in how many parts a unit counts at most
    state: tuple[int, int] = field(default=(0, 0))  # how many entries and baskets there are: they stay as many

    def check(self) -> None:
        """Raise DataError where the temporary tables are not what they were."""
        if not self.session.is_dry and _state(self.session, self.entries, self.baskets) != self.state:
            raise DataError(f"{self.session.name}: the purchases changed while they were counted; nothing is released")


@contextmanager
def stored_purchases(data: Any, table: Any, options: Options, *, dry: bool = False) -> Iterator[Stored]:
    """Yield the purchases of the table that a caller names, in tables that last as long. Raises DataError."""
    with opened(data, table, options, dry=dry) as (session, found):
        roles = _roles(found, options, session.name)
        rows, cells, codes_of = _rows(session, found, roles)
        items, codes = _coded(session, cells, codes_of, roles)
        read_as = ReadAs.of_table([*found.columns], roles, kind="table")
        yield _numbered(session, rows, cells, codes, items, roles, read_as)


def _roles(table: Any, options: Options, name: str) -> Roles:
    fields = []
    for column, kind in table.schema().items():
        try:
            fields.append(pa.field(column, kind.to_pyarrow()))
        except Exception:  # a type that Arrow has not: such a column has no role
            fields.append(pa.field(column, pa.struct([])))
    options.dialect.refuse_for(name)
    roles = choose(ArrowSource(name, pa.schema(fields), lambda wanted: ()).columns(), options, name)
    if roles.split is not None or roles.form not in (InputForm.LONG, None):
        raise DataError(
            f"{parameter('engine')} sql reads one row per item, or a column of lists: name them with "
            f"{parameter('basket')} and {parameter('item')}, or with {parameter('items')}"
        )
    for column in roles.values:
        kind = table[column].type()
        kind = kind.value_type if roles.is_list else kind
        if not (kind.is_string() or kind.is_integer()):
            raise DataError(
                f"column {column!r} of {name} has type {kind}, and {parameter('engine')} sql takes whole numbers and "
                "texts as items: make a view that has them so"
            )
    return roles


def _rows(session: Session, table: Any, roles: Roles) -> tuple[Any, Any, list[str]]:
    """Keep the rows that count; return them, the same with an item each, and the columns of items."""
    ibis, name = _ibis(), session.name
    read = ibis.literal(True) if roles.where is None else passing(roles.where, table, name).fill_null(False)
    columns: dict[str, Any] = {f"b{place}": present(table[key]) for place, key in enumerate(roles.basket)}
    if not roles.basket:
        columns["b0"] = ibis.row_number()  # each row is a basket
    keys = [*columns]
    bad: dict[str, Any] = {}
    if roles.user is not None:
        user = present(table[roles.user])
        user = user if user.type().is_string() or user.type().is_integer() else user.cast("string")
        columns |= {"user": user.fill_null("" if user.type().is_string() else 0), "nobody": user.isnull()}
    columns["part"] = ibis.literal(0, type="int32")
    if roles.by is not None:
        named = table[roles.by.column]
        if not (named.type().is_string() or named.type().is_integer() or named.type().is_boolean()):
            raise DataError(f"column {roles.by.column!r} of {name} names no segments; make it texts or whole numbers")
        columns["part_name"] = present(named.cast("string"))
        lower = named.type().is_boolean()
        names = [one.lower() if lower else one for one in roles.by.names]
        parts = session.upload({"part_name": names, "place": np.arange(len(names))}, "parts")
        del columns["part"]
    if roles.times is not None:
        columns["day"], columns["no_time"] = day(table[roles.times.column], roles.times.column, name)
        bad["no_time"] = f"column {roles.times.column!r} of {name} holds a text that is no time"
    columns["read"] = read
    items = [f"i{place}" for place in range(len(roles.values))]
    columns |= {item: table[column] for item, column in zip(items, roles.values, strict=True)}
    rows = table.select(**columns)
    if roles.by is not None:
        rows = rows.left_join(parts, "part_name").drop("part_name_right")
        # What is in no segment has no part, and is not read; with times it still has a day.
        rows = rows.mutate(part=rows.place.fill_null(-1).cast("int32"), read=rows.read & rows.place.notnull())
        rows = rows.drop("part_name", "place")
    if roles.times is None:
        rows = rows.filter(rows.read)
    rows = rows.filter([rows[key].notnull() for key in keys])
    if roles.user is not None and roles.missing_user is MissingUser.DROP:
        rows = rows.filter(~rows.nobody)
    if roles.times is not None and roles.times.missing == "drop":
        rows = rows.filter(rows.day.notnull() | rows.no_time)
    rows = session.keep(rows, "rows")
    _refuse(session, rows, roles, bad)
    cells = rows
    if roles.is_list:
        cells = rows.mutate(i0=rows.i0.unnest())
    return rows, cells.filter(cells.read), items


def _refuse(session: Session, rows: Any, roles: Roles, bad: dict[str, str]) -> None:
    """Raise DataError for rows without a user, or a time, where nobody said what becomes of them."""
    ibis = _ibis()
    problems = {column: getattr(rows, column).any() for column in bad}
    if roles.user is not None and roles.missing_user is None:
        problems["nobody"] = rows.nobody.any()
        rule = parameter("missing_user")
        bad["nobody"] = (
            f"column {roles.user!r} of {session.name} has rows without a user; {rule} {MissingUser.DROP.value!r} "
            f"leaves them out, {rule} {MissingUser.OWN_UNIT.value!r} makes each of their baskets a unit of its own"
        )
    if roles.times is not None and roles.times.missing is None:
        problems["timeless"] = (rows.day.isnull() & ~rows.no_time).any()
        bad["timeless"] = (
            f"column {roles.times.column!r} of {session.name} has rows without a time; {parameter('missing_time')} "
            "drop leaves them out"
        )
    if not problems:
        return
    found = session.rows(rows.aggregate(**{name: ibis.coalesce(test, False) for name, test in problems.items()}))
    for name in problems if len(found) else ():
        if found.column(name)[0].as_py():
            raise DataError(bad[name])


def _coded(session: Session, cells: Any, items: list[str], roles: Roles) -> tuple[Vocabulary, Any]:
    """Number the names of items as one machine does; return them, and a table of each name with its code."""
    encoder = Encoder(Labels(items_name(session.name, roles), fold_case=roles.fold_case))
    some = cells.filter(reduce(lambda one, other: one | other, [cells[item].notnull() for item in items]))
    texts = len(items) > 1  # of several columns a missing one is an empty text
    named = some.select(**{item: _text(some[item]) if texts else some[item] for item in items}).distinct()
    found = session.rows(named)
    columns = [found.column(item).combine_chunks() for item in items]
    codes = encoder.codes(joint_items(columns) if texts else columns[0])
    vocabulary, final = encoder.labels.finish([codes])
    final = np.append(final, -1)[codes]
    stay = final >= 0
    kept = {item: column.filter(pa.array(stay)) for item, column in zip(items, columns, strict=True)}
    return vocabulary, session.upload({**kept, "item": final[stay].astype(np.int64)}, "items")


def _text(column: Any) -> Any:
    return column.cast("string").fill_null("")


def _numbered(
    session: Session, rows: Any, cells: Any, codes: Any, items: Vocabulary, roles: Roles, read_as: ReadAs
) -> Stored:
    """Number baskets and units, and bring the items of each together."""
    ibis, by_user, times = _ibis(), roles.user is not None, roles.times
    keys = [name for name in rows.columns if name[0] == "b" and name[1:].isdigit()]
    keys += [*_KEYS] if by_user else []
    # Of all rows of a basket, also of those that are not read, the earliest says when it was.
    first = {} if times is None else {"day": rows.day.min()}
    named = rows.group_by(keys).aggregate(**first) if first else rows.select(keys).distinct()
    named = session.keep(named.mutate(basket=ibis.row_number().cast("int64")), "named")
    if times is not None:
        found = session.rows(named.select("day").distinct())
        moments = found.column("day").cast(pa.date32()).combine_chunks()
        days_since = numpy_of(days(moments, times, session.name))
        calendar = {"day": moments, "place": times.places(days_since).astype(np.int64)}
        if times.per is not None:
            calendar["stretch"] = times.stretches(days_since).astype(np.int64)
        named = _joined(named, session.upload(calendar, "days"), ["day"])
    if by_user:
        own = ["user", *(["stretch"] if times is not None and times.per is not None else [])]
        users = named.filter(~named.nobody).select(own).distinct()
        users = session.keep(users.mutate(unit=ibis.row_number().cast("int64")), "users")
        known = _joined(named.filter(~named.nobody), users, own)
        # Whoever is nobody has one basket: its number, below 0, which no user has.
        alone = named.filter(named.nobody).mutate(unit=-1 - named.basket)
        columns = [*keys, "basket", "unit", *(["place"] if times is not None else [])]
        named = known.select(columns).union(alone.select(columns))
    else:
        named = named.mutate(unit=named.basket)

    def placed(some: Any, more: list[str]) -> Any:
        some = _joined(some, named, keys)
        if times is not None:
            some = some.filter(some.place >= 0)
            if times.parts is not None:
                some = some.mutate(part=some.place.cast("int32"))
        return some.select("unit", "basket", "part", *more).distinct()

    baskets = session.keep(placed(rows.filter(rows.read), []), "baskets")
    texts = len(roles.values) > 1
    columns = [name for name in codes.columns if name != "item"]
    if texts:
        cells = cells.mutate(**{name: _text(cells[name]) for name in columns})
    entries = session.keep(placed(_joined(cells, codes, columns), ["item"]), "entries")
    session.drop(rows)
    parts = roles.parts
    return Stored(
        session,
        entries,
        baskets,
        items,
        read_as,
        by_user,
        1 if parts is None else len(parts.names),
        1 if parts is None else parts.most,
        _state(session, entries, baskets),
    )


def _joined(left: Any, right: Any, on: list[str]) -> Any:
    found = left.inner_join(right, on)
    return found.drop(*(name for name in found.columns if name.endswith("_right")))


def _state(session: Session, entries: Any, baskets: Any) -> tuple[int, int]:
    found = [session.numbers(table.aggregate(n=table.count()))["n"] for table in (entries, baskets)]
    one, other = (int(n.sum()) for n in found)
    return one, other


def _ibis() -> Any:
    import ibis

    return ibis
