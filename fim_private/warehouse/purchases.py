"""Purchases with numbers, in temporary tables, from the rows of a table: units, baskets and items.

The rows that count are copied once, in one query, and everything else is made from that copy, so it
is one state of the data. The names of items are fetched, each once, and are numbered in the order
of their labels.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

import ibis
import numpy as np
import pyarrow as pa
from ibis import _
from ibis.expr.types import Column, Table, Value

from fim_private.counting.work import Int64
from fim_private.errors import DataError, parameter
from fim_private.periods import is_of_weeks
from fim_private.reading.columns import ReadAs, Roles
from fim_private.reading.labels import Labels, Vocabulary
from fim_private.reading.notations import Notation, other_format, other_notation
from fim_private.reading.options import SAMPLE, InputForm, MissingUser, Reading, Times
from fim_private.reading.record_batches import ArrowSource, joint_items, without_time, without_user
from fim_private.reading.times import TimeFormat
from fim_private.reading.values import arrow_of
from fim_private.reading.where import moment_in, tests_of
from fim_private.warehouse.conditions import as_printed, day, moment, passing, present
from fim_private.warehouse.session import Session

_USER, _NOBODY = "key_user", "key_nobody"  # of a basket, beside its columns
_EPOCH = date(1970, 1, 1)
_AS_ISO = "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_SHORT_LIST = 32  # items; in longer lists a hash table is faster to find what they have twice
_DRY_ITEMS, _DRY_UNITS = 10, 10**6  # the numbers that a dry run assumes


@dataclass(frozen=True)
class StoredPurchases:
    """Purchases in a temporary table.

    Attributes:
        session: The database.
        entries: The unit, basket, part (segment or period) and item of each purchase, each once.
        items: The names of the codes.
        units: How many units each part has, (parts,), including those without an item.
        by_user: Whether a unit is a user.
        read_as: How the table was read.
    """

    session: Session
    entries: Table
    items: Vocabulary
    units: Int64
    by_user: bool
    read_as: ReadAs


def stored_purchases(
    session: Session,
    table: Table,
    options: Reading,
    *,
    excluded: Vocabulary | None,
    min_basket: int | None,
) -> StoredPurchases:
    """Return the purchases of a table that count.

    Excluded items are left out first, then baskets with fewer than min_basket items.
    """
    roles, read_as = _roles(table, options, session.name)
    rows = _rows(session, table, roles)
    vocabulary, codes, is_one_to_one = _coded(session, rows, roles, excluded)
    baskets = _numbered(session, rows, roles)
    by_part = baskets.group_by(place=_.part).aggregate(value=_.unit.nunique())
    part_count = 1 if roles.parts is None else len(roles.parts.names)
    units = session.vector(by_part, part_count, dry=_DRY_UNITS)
    short = _SHORT_LIST if is_one_to_one else 0
    entries = _entries(session, baskets, codes, short, roles)
    session.drop(rows)
    if min_basket is not None:
        counted = entries.mutate(items=_.count().over(group_by=["basket", "part"]))
        entries = session.keep(counted.filter(_.items >= min_basket).drop("items"), "long")
    return StoredPurchases(session, entries, vocabulary, units, roles.user is not None, read_as)


def _roles(table: Table, options: Reading, name: str) -> tuple[Roles, ReadAs]:
    """Return the roles of the columns, and how the table is read.

    Raises DataError if the types of the columns cannot be counted here.
    """
    # A column of a type that Arrow does not have gets no role.
    schema = table.schema()
    fields = dict.fromkeys(schema, pa.struct([]))
    for column, kind in schema.items():
        with suppress(Exception):
            fields[column] = kind.to_pyarrow()
    source = ArrowSource(name, pa.schema([*fields.items()]), lambda scan: ())
    roles = source.roles(options)
    if roles.split is not None or roles.form not in (InputForm.LONG, None):
        raise DataError(
            f"{parameter('engine')} sql reads one row per item, or a column of lists: name them "
            f"with {parameter('basket')} and {parameter('item')}, or with {parameter('items')}"
        )
    types = {column: schema[column] for column in roles.values}
    if roles.is_list:
        types = {column: kind.value_type for column, kind in types.items()}
    if roles.by is not None:
        types.setdefault(roles.by.column, schema[roles.by.column])
    for column, kind in types.items():
        if not (kind.is_string() or kind.is_integer()):
            raise DataError(
                f"column {column!r} of {name} has type {kind}. {parameter('engine')} sql needs "
                "items and segments that are texts or whole numbers: make a view"
            )
    return roles, source.read_as(roles)


def _rows(session: Session, table: Table, roles: Roles) -> Table:
    """Keep the rows that count, and raise DataError if any lacks the user or time that it needs."""
    times = roles.times
    _refuse_other_notations(session, table, roles)
    rows = session.keep(_without_missing(_selected(session, table, roles), roles), "rows")
    needs_user = roles.user is not None and roles.missing_user is None
    if needs_user and _has_rows(session, rows.filter(_[_NOBODY])):
        raise without_user(roles)
    if times is None or times.missing is not None:
        return rows
    if _has_rows(session, rows.filter(_.day.isnull())):
        raise without_time(times, session.name)
    return rows


def _has_rows(session: Session, rows: Table) -> bool:
    # No row leaves the database.
    return bool(session.numbers(rows.limit(1).aggregate(n=_.count()), [[0]])[0, 0])


def _selected(session: Session, table: Table, roles: Roles) -> Table:
    """Return the columns of a table that are needed, under names of their own.

    They are the keys of the basket, its user and whether that is nobody, the day, the part, whether
    the row is read, and the items i0, i1, ...
    """
    columns = {f"key{n}": as_printed(table[key]) for n, key in enumerate(roles.basket)}
    if not columns:  # each row is a basket
        columns["key"] = _number(session)
    if roles.user is not None:
        user = as_printed(table[roles.user])
        if not user.type().is_numeric():  # as numbers, 0.0 is -0.0
            user = user.cast("string")
        no_user = "" if user.type().is_string() else 0
        columns |= {_USER: user.fill_null(no_user), _NOBODY: user.isnull()}
    if roles.times is not None:
        columns["day"] = day(table[roles.times.column], roles.times, session)
    columns["part"], columns["read"] = _part_and_read(session, table, roles)
    for n, column in enumerate(roles.values):
        columns[f"i{n}"] = table[column]
        if len(roles.values) > 1:  # that name an item together: a missing one is an empty text
            columns[f"i{n}"] = table[column].cast("string").fill_null("")
    return table.select(columns)


def _part_and_read(session: Session, table: Table, roles: Roles) -> tuple[Value, Value]:
    """Return the number of a row's segment, 0 if there are none, and whether it is read."""
    is_read = ibis.literal(True)
    if roles.where is not None:
        is_read = passing(roles.where, table, session).fill_null(False)
    if roles.by is None:
        return ibis.literal(0, type="int32"), is_read
    segment = as_printed(table[roles.by.column].cast("string"))
    cases = ((segment == name, number) for number, name in enumerate(roles.by.names))
    part = ibis.cases(*cases, else_=-1).cast("int32")
    return part, is_read & (part >= 0)


def _without_missing(rows: Table, roles: Roles) -> Table:
    """Return the rows that have a basket, a time and a user, or are to be refused without one.

    If there are times, rows that are not read stay, too: a basket has the day of its earliest row.
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
    if roles.missing_user == MissingUser.DROP:
        rows = rows.filter(ibis.or_(~_[_NOBODY], *refused))
    return rows


def _refuse_other_notations(session: Session, table: Table, roles: Roles) -> None:
    """Raise DataError if the first texts are not written as the format of times says.

    Only numbers of texts leave the database.
    """
    for test in tests_of(roles.where):
        for literal in test.literals:
            if moment_in(literal) is None:
                continue
            if _notation(session, table[test.column], test.time_format).is_refused(test.sign):
                raise other_notation(test, literal, session.name)
    times = roles.times
    if times is None:
        return
    if _notation(session, table[times.column], times.format).is_mostly_other:
        raise other_format(times, session.name)


def _notation(session: Session, column: Column, time_format: TimeFormat | None) -> Notation:
    """Return how many of the first texts fit a format: 0 of 0 without a format or texts."""
    if time_format is None or not column.type().is_string():
        return Notation(0, 0, 0)
    texts = present(column).name("x").as_table().filter(_.x.notnull()).limit(SAMPLE)
    texts = texts.mutate(fits=moment(texts.x, time_format).notnull())
    is_other = ~_.fits & _.x.re_search("[0-9]") & ~_.x.re_search(_AS_ISO)
    counted = texts.aggregate(
        n=_whole(_.count()),
        fit=_whole(_.fits.ifelse(1, 0).sum()),
        in_other_notation=_whole(is_other.ifelse(1, 0).sum()),
    )
    return Notation(*session.numbers(counted, [[0]] * 3)[:, 0].tolist())


def _whole(count: Value) -> Value:
    """Return a count as a whole number, 0 where there are no rows to count."""
    return count.cast("int64").fill_null(0)


def _coded(
    session: Session, rows: Table, roles: Roles, excluded: Vocabulary | None
) -> tuple[Vocabulary, Table, bool]:
    """Number the names of items as one machine does.

    Returns the vocabulary, a table of each name that counts with its code, and whether no two have
    the same code.
    """
    labels = Labels(roles.items_name, fold_case=roles.fold_case)
    distinct = _cells(rows.filter(_.read), roles).select(_items(rows)).distinct()
    kinds = distinct.schema().to_pyarrow().types
    names = session.rows(distinct, [arrow_of(np.arange(_DRY_ITEMS)).cast(kind) for kind in kinds])
    coded = labels.encode(joint_items([column.combine_chunks() for column in names.columns]))
    vocabulary, code_of = labels.finish([coded])
    codes = np.append(code_of, -1)[coded]
    is_counted = codes >= 0
    if excluded is not None:
        is_counted &= np.append(vocabulary.codes_in(excluded), -1)[codes] < 0
    numbers = arrow_of(codes[is_counted].astype(np.int32))
    named = names.filter(arrow_of(is_counted)).append_column("item", numbers)
    return vocabulary, session.upload(named, "items"), len(numbers.unique()) == len(numbers)


def _numbered(session: Session, rows: Table, roles: Roles) -> Table:
    """Return the rows that are read, with the numbers of their units, baskets and parts."""
    baskets = _with_baskets(session, rows, roles).filter(_.read)
    # The period of a basket, or the segment of a row.
    is_by_period = roles.times is not None and roles.times.released_apart
    place = _.place if is_by_period else _.part
    baskets = baskets.select("unit", "basket", *_items(rows), part=place)
    segments = roles.parts
    if segments is None or segments.most >= len(segments.names):
        return baskets
    counted_parts = session.keep(_parts_with_most(baskets, segments.most), "counts")
    return baskets.semi_join(counted_parts, ["unit", "part"])


def _entries(session: Session, baskets: Table, codes: Table, short: int, roles: Roles) -> Table:
    """Keep each entry once.

    The columns of a unit that is the basket, and of a part that is always 0, take no room.

    short: lists of up to so many items are looked through for names that they have twice; 0 if an
    item may have two names.
    """
    implied = {}
    if roles.user is None:
        implied["unit"] = _.basket
    if roles.parts is None:
        implied["part"] = ibis.literal(0, type="int32")
    baskets = baskets.drop(*implied)
    if roles.is_list and not roles.basket and session.dialect == "duckdb":
        # To look for an item in its own short list takes a tenth of the time of a hash table.
        is_short = _.i0.length() <= short
        first = _with_codes(_first_cells(baskets.filter(is_short)), codes)
        cells = _with_codes(_cells(baskets.filter(~is_short), roles), codes)
        entries = first.union(cells.distinct())
    else:
        entries = _with_codes(_cells(baskets, roles), codes).distinct()
    return session.keep(entries, "entries").mutate(implied)


def _with_codes(cells: Table, codes: Table) -> Table:
    """Return rows with the code of an item in place of its name."""
    items = codes.columns[:-1]
    return cells.inner_join(codes, items).drop(*items)


def _items(rows: Table) -> list[str]:
    return [name for name in rows.columns if name.startswith("i")]


def _cells(rows: Table, roles: Roles) -> Table:
    """Return rows with one item each."""
    return rows.mutate(i0=rows.i0.unnest()) if roles.is_list else rows


def _first_cells(lists: Table) -> Table:
    """Return rows with one item each, for each name in a list where it comes first."""
    cells = lists.mutate(cell=lists.i0.unnest(), place=ibis.range(lists.i0.length()).unnest())
    first = cells.filter(_.i0.index(_.cell) == _.place)
    return first.mutate(i0=_.cell).drop("cell", "place")


def _with_baskets(session: Session, rows: Table, roles: Roles) -> Table:
    """Return the rows with their basket, its unit, and its period if each is released."""
    times = roles.times
    keys = [name for name in rows.columns if name.startswith("key")]
    owner = [_USER]
    if not roles.basket:  # each row is one
        baskets = rows.mutate(basket=_.key)
    elif times is None:
        baskets = rows.group_by(keys).aggregate()
    else:
        # The earliest of all rows of a basket, also of those that are not read, says when it was.
        baskets = rows.group_by(keys).aggregate(day=_.day.min())
    if times is not None and times.periods:
        baskets = _in_periods(baskets, times)
    if times is not None and times.per is not None:  # a unit is what a user bought in one of these
        baskets = baskets.mutate(stretch=_stretch(times.per))
        owner.append("stretch")
    if roles.basket:
        baskets = session.keep(baskets.mutate(basket=_number(session)), "named")
    if roles.user is None:
        baskets = baskets.mutate(unit=_.basket)
    else:
        owners = baskets.filter(~_[_NOBODY]).select(*owner).distinct()
        users = session.keep(owners.mutate(unit=_number(session)), "users")
        # Nobody has one basket: its number, below 0, which no user has.
        unit = _[_NOBODY].ifelse(-1 - _.basket, _.unit)
        baskets = baskets.left_join(users, owner).mutate(unit=unit)
    if not roles.basket:
        return baskets
    place = ["place"] if times is not None and times.released_apart else []
    return rows.inner_join(baskets.select(*keys, "basket", "unit", *place), keys)


def _stretch(per: str) -> Value:
    """Return the first day of the period of a kind that a basket's day is in.

    Of a kind of whole weeks it is that of the calendar which has the week's Thursday.
    """
    day = _.day
    if is_of_weeks(per):
        day = day.truncate("W") + ibis.interval(days=3)
    return day.truncate(per[0].upper())


def _in_periods(baskets: Table, times: Times) -> Table:
    """Return the baskets of the periods, with the place of their period."""
    cases = [
        (_.day.between(_date(period.first), _date(period.last)), place)
        for place, period in enumerate(times.periods)
    ]
    place = ibis.cases(*cases, else_=-1).cast("int32")
    return baskets.mutate(place=place).filter(_.place >= 0)


def _date(day: int) -> date:
    """Return a day that is counted since 1970-01-01."""
    return _EPOCH + timedelta(day)


def _parts_with_most(baskets: Table, most: int) -> Table:
    """Return the parts with most of each unit's baskets, the first ones if equal: unit and part."""
    order = ibis.window(group_by="unit", order_by=[ibis.desc("baskets"), "part"])
    counts = baskets.group_by("unit", "part").aggregate(baskets=_.basket.nunique())
    counts = counts.mutate(order=ibis.row_number().over(order)).filter(_.order < most)
    return counts.select("unit", "part")


def _number(session: Session) -> Column:
    """Return a number for each row, from 0, in any order."""
    if session.dialect == "duckdb":  # with an order, it would sort
        return ibis.row_number().cast("int64")
    # Some databases number only what has an order, whatever it is.
    return ibis.row_number().over(order_by=ibis.null("int64")).cast("int64")
