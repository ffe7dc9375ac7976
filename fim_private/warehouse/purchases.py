"""Rows of a table to purchases with numbers: units, baskets and items, in temporary tables of one state of the data.

The rows that count are copied once, in one statement, and all else is made of that copy: a table that changes
meanwhile changes nothing. Names of items come here, each once, to be numbered in the order of their labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from ibis import _
from numpy.typing import NDArray

from fim_private.errors import DataError, parameter
from fim_private.reading.columns import ReadAs, Roles, choose
from fim_private.reading.labels import Labels, Vocabulary
from fim_private.reading.options import InputForm, MissingUser, Options
from fim_private.reading.record_batches import ArrowSource, Encoder, days, items_name, joint_items
from fim_private.reading.values import numpy_of
from fim_private.warehouse.conditions import day, passing, present
from fim_private.warehouse.session import Session, opened

_DRY_ITEMS, _DRY_UNITS = 10, 10**6  # what a dry run takes to be there


@dataclass(frozen=True)
class Stored:
    """Purchases in a temporary table.

    entries: unit, basket, part and item: which item is in which basket, each once. items: the names of codes. units:
    how many each part has, (parts,), those without an item included. part: the place of the segment or period.
    """

    session: Session
    entries: Any
    items: Vocabulary
    units: NDArray[np.int64]
    by_user: bool
    read_as: ReadAs
    rows: int

    def check(self) -> None:
        """Raise DataError where the table has not as many rows as it had."""
        if _count(self.session, self.entries) != self.rows:
            raise DataError(f"{self.session.name}: the purchases changed while they were counted; nothing is released")


@contextmanager
def stored_purchases(
    data: Any,
    table: str | None,
    options: Options,
    *,
    excluded: Vocabulary | None,
    min_basket: int | None,
    queries: list[str] | None,
    dialect: str | None,
) -> Iterator[Stored]:
    """Yield what counts of the table that a caller names, for as long as this lasts. Raises DataError.

    Excluded items are left out first, and then baskets of fewer than min_basket items. queries, dialect: of a dry run.
    """
    with opened(data, table, options, queries, dialect) as (session, found):
        roles = _roles(found, options, session.name)
        rows = _rows(session, found, roles)
        cells = rows.mutate(i0=rows.i0.unnest()) if roles.is_list else rows
        vocabulary, codes = _coded(session, cells.filter(_.read), roles, excluded)
        entries, units = _numbered(session, rows, cells.filter(_.read), codes, roles)
        if min_basket is not None:
            long = entries.mutate(items=_.count().over(group_by=["basket", "part"]))
            entries = session.keep(long.filter(_.items >= min_basket).drop("items"), "long")
        read_as = ReadAs.of_table([*found.columns], roles, kind="table")
        count = _count(session, entries)
        yield Stored(session, entries, vocabulary, units, roles.user is not None, read_as, count)


def _count(session: Session, table: Any) -> int:
    return int(session.numbers(table.aggregate(n=table.count()), n=[0])["n"][0])


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
    for column in (*roles.values, *(() if roles.by is None else [roles.by.column])):
        kind = table[column].type()
        kind = kind.value_type if roles.is_list and column in roles.values else kind
        if not (kind.is_string() or kind.is_integer()):
            raise DataError(
                f"column {column!r} of {name} has type {kind}, and {parameter('engine')} sql takes whole numbers and "
                "texts as items and segments: make a view that has them so"
            )
    return roles


def _rows(session: Session, table: Any, roles: Roles) -> Any:
    """Keep the rows that count: the columns of the basket (b0 ...) and its items (i0 ...), part, and whether to read.

    Of a user: user, and whether it is nobody. Of times: day; then rows are kept that are not read, for a basket's time
    is that of its earliest row.
    """
    name, user, times = session.name, roles.user, roles.times
    keys = {f"b{place}": present(table[key]) for place, key in enumerate(roles.basket)}
    columns = {**keys} or {"b0": _number()}  # else each row is a basket
    read = ibis.literal(True) if roles.where is None else passing(roles.where, table, name).fill_null(False)
    part = ibis.literal(0, type="int32")
    if roles.by is not None:
        named, places = present(table[roles.by.column].cast("string")), enumerate(roles.by.names)
        part = ibis.cases(*((named == segment, place) for place, segment in places), else_=-1).cast("int32")
        read &= part >= 0
    if user is not None:
        given = present(table[user])
        given = given if given.type().is_integer() else given.cast("string")
        columns |= {"user": given.fill_null("" if given.type().is_string() else 0), "nobody": given.isnull()}
    if times is not None:
        columns["day"] = day(table[times.column], times.column, name)
    items = {f"i{place}": table[column] for place, column in enumerate(roles.values)}
    rows = table.select(**columns, part=part, read=read, **items)
    for key in keys:
        rows = rows.filter(_[key].notnull())
    if times is None:
        rows = rows.filter(_.read)
    elif times.missing == "drop":
        rows = rows.filter(_.day.notnull())
    if roles.missing_user is MissingUser.DROP:
        rows = rows.filter(~_.nobody)
    rows = session.keep(rows, "rows")
    if user is not None and roles.missing_user is None and len(session.rows(rows.filter(_.nobody).limit(1))):
        rule = parameter("missing_user")
        raise DataError(
            f"column {user!r} of {name} has rows without a user; {rule} {MissingUser.DROP.value!r} leaves them out, "
            f"{rule} {MissingUser.OWN_UNIT.value!r} makes each of their baskets a unit of its own"
        )
    if times is not None and times.missing is None and len(session.rows(rows.filter(_.day.isnull()).limit(1))):
        rule = parameter("missing_time")
        raise DataError(f"column {times.column!r} of {name} has rows without a time; {rule} drop leaves them out")
    return rows


def _coded(session: Session, cells: Any, roles: Roles, excluded: Vocabulary | None) -> tuple[Vocabulary, Any]:
    """Number the names of items as one machine does; return them, and a table of each name with its code."""
    encoder = Encoder(Labels(items_name(session.name, roles), fold_case=roles.fold_case))
    names = _names(cells, roles)
    some = cells.filter(reduce(or_, [cells[item].notnull() for item in names]))
    named = some.select(**_names(some, roles)).distinct()
    kinds = named.schema().to_pyarrow()
    made_up = {field.name: pa.array(range(_DRY_ITEMS)).cast(field.type) for field in kinds}
    found = session.rows(named, made_up)
    columns = [found.column(item).combine_chunks() for item in names]
    codes = encoder.codes(joint_items(columns) if len(columns) > 1 else columns[0])
    vocabulary, final = encoder.labels.finish([codes])
    if excluded is not None:
        final = np.where(np.append(vocabulary.codes_in(excluded), -1)[final] >= 0, -1, final)
    final = np.append(final, -1)[codes]
    stay = pa.array(final >= 0)
    kept = {item: column.filter(stay) for item, column in zip(names, columns, strict=True)}
    return vocabulary, session.upload({**kept, "item": final[final >= 0].astype(np.int64)}, "items")


def _names(cells: Any, roles: Roles) -> dict[str, Any]:
    """Return the columns that name an item. Of several a missing one is an empty text."""
    names = [f"i{place}" for place in range(len(roles.values))]
    return {item: cells[item].cast("string").fill_null("") if len(names) > 1 else cells[item] for item in names}


def _numbered(session: Session, rows: Any, cells: Any, codes: Any, roles: Roles) -> tuple[Any, NDArray[np.int64]]:
    """Number baskets and units, and bring the items of each together; return the entries, and units of each part."""
    times, by_user = roles.times, roles.user is not None
    keys = [name for name in rows.columns if name in ("user", "nobody") or (name[0] == "b" and name[1:].isdigit())]
    # Of all rows of a basket, also of those that are not read, the earliest says when it was.
    named = rows.group_by(keys).aggregate(**({} if times is None else {"day": rows.day.min()}))
    named = session.keep(named.mutate(basket=_number()), "named")
    own = ["user"]
    if times is not None:
        moments = session.rows(named.select("day").distinct()).column("day").cast(pa.date32()).combine_chunks()
        since = numpy_of(days(moments, times, session.name))
        calendar = {"day": moments, "place": times.places(since).astype(np.int64)}
        if times.per is not None:
            calendar["stretch"] = times.stretches(since).astype(np.int64)
            own.append("stretch")
        named = _joined(named, session.upload(calendar, "days"), ["day"]).filter(_.place >= 0)
    if by_user:
        users = named.filter(~_.nobody).select(own).distinct().mutate(unit=_number())
        named = named.left_join(session.keep(users, "users"), own)
        # Whoever is nobody has one basket: its number, below 0, which no user has.
        named = named.mutate(unit=_.nobody.ifelse(-1 - _.basket, _.unit))
    else:
        named = named.mutate(unit=_.basket)
    named = named.select(*keys, "basket", "unit", *(["place"] if times is not None else []))

    def placed(some: Any, *more: str) -> Any:
        found = _joined(some, named, keys)
        if times is not None and times.parts is not None:
            found = found.mutate(part=_.place.cast("int32"))
        return found.select("unit", "basket", "part", *more).distinct()

    baskets = session.keep(placed(rows.filter(_.read)), "baskets")
    cells = cells.mutate(**_names(cells, roles))
    entries = placed(_joined(cells, codes, [*_names(cells, roles)]), "item")
    parts = roles.parts
    if parts is not None and parts.most < len(parts.names):
        # A unit counts in the parts with most of its baskets; of equals in the first ones.
        order = ibis.window(group_by="unit", order_by=[ibis.desc("baskets"), "part"])
        counts = (
            baskets.group_by("unit", "part").aggregate(baskets=_.count()).mutate(place=ibis.row_number().over(order))
        )
        counts = session.keep(counts.filter(_.place < parts.most).select("unit", "part"), "counts")
        entries, baskets = (some.semi_join(counts, ["unit", "part"]) for some in (entries, baskets))
    entries = session.keep(entries, "entries")
    number = 1 if parts is None else len(parts.names)
    each = session.numbers(
        baskets.group_by("part").aggregate(units=_.unit.nunique()), part=range(number), units=[_DRY_UNITS] * number
    )
    units = np.zeros(number, dtype=np.int64)
    units[each["part"]] = each["units"]
    session.drop(rows)
    return entries, units


def _number() -> Any:
    # Some databases number only what has an order, whatever it is.
    return ibis.row_number().over(order_by=ibis.null("int64")).cast("int64")


def _joined(left: Any, right: Any, on: list[str]) -> Any:
    found = left.inner_join(right, on)
    return found.drop(*(name for name in found.columns if name.endswith("_right")))
