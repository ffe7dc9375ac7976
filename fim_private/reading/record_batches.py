"""Arrow record batches to rows: ids, items of several columns, cells of one-hot tables."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import Array, DataType, RecordBatch, types

from fim_private.errors import DataError, parameter
from fim_private.options.declaration import OptionValues
from fim_private.reading.columns import (
    Column,
    ReadAs,
    Roles,
    Scan,
    TableColumns,
    suggests_a_column,
    suggests_row_number,
)
from fim_private.reading.labels import Labels, as_printed, is_list_type, is_text_type
from fim_private.reading.lists_in_cells import cells_to_check, split_cells
from fim_private.reading.memory import LIST_ROWS
from fim_private.reading.notations import texts_to_check
from fim_private.reading.options import InputForm, MissingUser, Reading, Segments, Times
from fim_private.reading.transactions import KeyedRows, Transactions, assemble
from fim_private.reading.values import (
    ABOVE_ZERO,
    QUANTITY,
    TRUTHS,
    Mask,
    arrow_of,
    arrow_strings,
    decoded,
    integers_as_printed,
    is_string_type,
    null_mask,
    null_where,
    numpy_of,
    numpy_type,
    present,
    shown_type,
    value_type,
)
from fim_private.reading.where import moments, passing, with_times_in


@dataclass(frozen=True)
class ArrowSource:
    """A table that is read batch by batch."""

    name: str  # what errors call it
    schema: pa.Schema
    # with (at least) the columns of the scan, in order
    batches: Callable[[Scan], Iterable[RecordBatch]]
    kind: str = "table"  # of source, in a word or two
    delimiter: str | None = None  # of a text, as the encoding
    encoding: str | None = None
    # the columns that folders' names say: of no items unless they are named
    folders: frozenset[str] = frozenset()
    # the columns whose names may be those of items, whatever their types
    perhaps_items: frozenset[str] = frozenset()
    used: tuple[str, ...] = ()  # the parameters of the dialect that its reader used
    own_dates: bool = False  # whether it has dates of its own, which are texts of ISO 8601 here

    @property
    def is_text(self) -> bool:
        """Whether it is text."""
        return self.delimiter is not None

    @property
    def holds_texts(self) -> bool:
        """Whether people may have written its cells, so that a total may be in the last rows."""
        return self.is_text or self.kind.startswith(("Excel", "JSON Lines", "SQLite"))

    def columns(self) -> list[Column]:
        """Return what the schema says of each column."""
        apart = {*self.folders}
        with suppress(AttributeError, TypeError, ValueError):  # of metadata that are damaged
            # The index of a frame, if pandas wrote so. A range is no column, and is a dict.
            index = (self.schema.pandas_metadata or {}).get("index_columns", [])
            apart.update(name for name in index if isinstance(name, str))
        return [
            Column(
                field.name,
                str(field.type),
                is_list=is_list_type(field.type),
                is_nested=types.is_nested(common_type(field.type)),
                is_number=_is_number_type(field.type),
                is_apart=field.name in apart,
                may_be_item=field.name in self.perhaps_items,
            )
            for field in self.schema
        ]

    def roles(self, options: Reading) -> Roles:
        """Return the form of the table, and the roles of its columns, as `TableColumns.roles`.

        Raises ParameterError for parameters of text, too, if it is none.
        """
        if not self.is_text:
            dialect = replace(options.dialect, **dict.fromkeys(self.used))
            dialect.refuse_for(self.name)
            options = replace(options, dialect=dialect)
        roles = TableColumns(self.columns(), options, self.name).roles()
        if not self.own_dates or options.time_format is None:
            return roles
        # Its own dates are times, too, whatever the format.
        time_format = replace(options.time_format, or_iso=True)
        where, times = roles.where, roles.times
        if where is not None:
            where = with_times_in(where, time_format)
        if times is not None:
            times = replace(times, format=time_format)
        return replace(roles, where=where, times=times)

    def read_as(self, roles: Roles) -> ReadAs:
        """Return what the table is read as."""
        used = {*roles.names}
        where = None if roles.where is None else str(roles.where)
        items = () if roles.form is InputForm.ONE_HOT else roles.values
        return ReadAs(
            self.kind,
            str(roles.form or "lists"),
            baskets=roles.basket,
            user=roles.user,
            items=items,
            unread=tuple(name for name in self.schema.names if name not in used),
            delimiter=self.delimiter,
            encoding=self.encoding,
            where=where,
            split=roles.split,
        )

    def values(
        self, names: Sequence[str], rows_at_a_time: int = LIST_ROWS
    ) -> Iterator[list[Array]]:
        """Yield the values of columns, batch by batch: a plain Arrow array of each."""
        for batch in self.batches(Scan([*names], rows_at_a_time)):
            yield [plain(batch.column(batch.schema.names.index(name))) for name in names]


def _is_number_type(kind: DataType) -> bool:
    """Tell whether a type is one of numbers or booleans."""
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def table_source(table: Any) -> ArrowSource:
    """Return a pyarrow Table, RecordBatch or RecordBatchReader as a source."""
    if isinstance(table, RecordBatch):
        table = pa.Table.from_batches([table])
    batches = table.to_batches() if isinstance(table, pa.Table) else table
    return ArrowSource("the table", table.schema, lambda columns: batches)


def read_arrow(source: ArrowSource, options: Reading) -> Transactions:
    """Read baskets from record batches.

    They have a column of lists, one row per item, or columns of items (wide or one-hot). Raises
    DataError for columns that cannot have their role, ParameterError if columns are named where all
    are boolean.
    """
    roles = source.roles(options)
    labels = Labels(roles.items_name, fold_case=roles.fold_case)
    count = 0

    def batches() -> Iterator[RecordBatch]:
        # The first is empty: types are checked even when there are no rows.
        yield empty_batch(source.schema, roles.names)
        yield from source.batches(roles.scan)

    def rows() -> Iterator[KeyedRows]:
        nonlocal count
        for batch in looked_at(batches(), roles):
            count += len(batch)
            yield from keyed_rows(batch, roles, labels)

    transactions = assemble(rows(), labels, roles.times, segmented=roles.parts is not None)
    return replace(transactions, read_as=source.read_as(roles), rows=count)


def looked_at(batches: Iterable[RecordBatch], roles: Roles) -> Iterator[RecordBatch]:
    """Yield the rows of batches that are to be read, some at a time, as `chosen` returns them.

    Raises DataError if the first cells of the column of items seem to be lists, or the first texts
    that rows are chosen by are written in another notation.
    """
    first_texts, first_cells = texts_to_check(roles), cells_to_check(roles)
    for batch in sliced(batches, roles):
        first_texts.see(batch)
        rows = chosen(batch, roles)
        first_cells.see(rows)
        yield rows
    first_texts.done()
    first_cells.done()


def sliced(batches: Iterable[RecordBatch], roles: Roles) -> Iterator[RecordBatch]:
    """Yield batches again, as many rows at a time as are worked on together."""
    size = roles.rows_at_a_time
    for batch in batches:
        yield from (batch.slice(start, size) for start in range(0, max(len(batch), 1), size))


def empty_batch(schema: pa.Schema, names: list[str]) -> RecordBatch:
    """Return a batch of these columns without rows."""
    fields = [schema.field(name) for name in names]
    try:
        columns = [pa.nulls(0, field.type) for field in fields]
    except KeyError:  # a type that Arrow has, but not for Python, such as intervals of months
        raise pa.ArrowNotImplementedError("there are no arrays of this type") from None
    return RecordBatch.from_arrays(columns, schema=pa.schema(fields))


# What `chosen` puts beside the columns of `Roles.names`: the place of a row's segment, -1 where it
# only has a time, and the day of that, since 1970-01-01.
SEGMENT, DAY = "\0segment", "\0day"


def chosen(batch: RecordBatch, roles: Roles) -> RecordBatch:
    """Return the rows of a batch that are to be read by condition, segment and time.

    They have plain columns of `Roles.names`.
    """
    columns = {name: plain(batch.column(name)) for name in roles.names}
    # The place of the segment of each row, and -1 for a row that is not to be read.
    place = np.zeros(len(batch), dtype=np.int32)
    if roles.by is not None:
        segment = segment_numbers(roles.by, columns[roles.by.column])
        place = np.where(null_mask(segment), np.int32(-1), numpy_of(segment))
    if roles.where is not None:
        passes = passing(roles.where, columns, roles.source)
        place = np.where(numpy_of(passes) & ~null_mask(passes), place, np.int32(-1))
    stays = place >= 0
    if roles.times is not None:
        # The time of a row counts even if the row is not to be read otherwise.
        columns[DAY] = days(columns[roles.times.column], roles.times, roles.source)
        stays = ~null_mask(columns[DAY])
    if roles.times is not None or roles.by is not None:
        columns[SEGMENT] = arrow_of(place)
    rows = RecordBatch.from_pydict(columns)
    if stays.all():
        return rows
    return rows.filter(arrow_of(stays))


def without_time(times: Times, source: str) -> DataError:
    """Return the error for rows without a time, where nobody said what becomes of them."""
    rule = parameter("missing_time")
    written = "" if times.format is None else f" that is written as {parameter('time_format')} says"
    return DataError(
        f"column {times.column!r} of {source} has rows without a time{written}; {rule} drop "
        f"leaves them out"
    )


def days(values: Array, times: Times, source: str) -> Array:
    """Return the day of each time, since 1970-01-01, and null for no time.

    There may be no time if such rows are left out. Times without a zone are taken as they stand,
    others in UTC. Raises DataError for what is no time. Where a format says how texts are written,
    those that do not fit say no time.
    """
    values = present(decoded(values))
    name = f"column {times.column!r} of {source}"
    micros = moments(values, times.format)
    if micros is None:
        raise DataError(
            f"{name} has type {shown_type(values.type)}, which holds no times; make it dates, or "
            f"texts such as 2026-11-16; numbers such as 20261116 are times with "
            f"{parameter('time_format')} '%Y%m%d'"
        )
    if micros.null_count > values.null_count and times.format is None:
        raise DataError(
            f"{name} holds a text that is not a time; write times as 2026-11-16 or 2026-11-16 "
            f"14:30, or say with {parameter('time_format')} how they are written, such as "
            f"'%d/%m/%Y'"
        )
    if micros.null_count and times.missing is None:
        raise without_time(times, source)
    day = numpy_of(micros) // (86_400 * 10**6)
    return null_where(micros.is_null(), arrow_of(day.astype(np.int32)))


def plain(column: Any) -> Any:
    """Return a column, (n,), in a form that Arrow can leave rows out of.

    That is no extension type and no view. Lists stay.
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if types.is_string_view(column.type) or types.is_binary_view(column.type):
        return column.cast(common_type(column.type))
    return column


def common_type(kind: DataType) -> DataType:
    """Return a type without how its values are stored, in which files of a table may differ."""
    if isinstance(kind, pa.BaseExtensionType):
        return common_type(kind.storage_type)
    if types.is_dictionary(kind):
        return common_type(kind.value_type)
    if is_list_type(kind):
        return pa.list_(common_type(kind.value_type))
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    return kind


def keyed_rows(batch: RecordBatch, roles: Roles, labels: Labels) -> Iterator[KeyedRows]:
    """Yield the rows of one batch.

    Those without a basket id are left out, those without a user go by the rule. Where times count,
    rows that only have a time come after the others, without items.
    """
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    stays = np.ones(len(batch), dtype=bool)
    for name in roles.basket:
        columns[name] = present(columns[name])
        stays &= ~null_mask(columns[name])
    if roles.user is not None:
        columns[roles.user] = present(columns[roles.user])
        is_nobody = null_mask(columns[roles.user])
        # who is not named has no basket either, and is asked about all the same
        may_be_asked = stays | (roles.user in roles.basket)
        if roles.missing_user is None and (is_nobody & may_be_asked).any():
            raise without_user(roles)
        if roles.missing_user == MissingUser.DROP:
            stays &= ~is_nobody
    batch = RecordBatch.from_pydict(columns)
    if not stays.all():
        batch = batch.filter(arrow_of(stays))
    if roles.times is None:
        yield _rows_of(batch, roles, labels)
        return
    is_read = numpy_of(batch.column(SEGMENT)) >= 0
    yield _rows_of(batch.filter(arrow_of(is_read)), roles, labels)
    only_timed = batch.filter(arrow_of(~is_read))
    if len(only_timed):
        lengths = np.zeros(len(only_timed), dtype=np.int32)
        yield KeyedRows(lengths, np.empty(0, dtype=np.int32), _keys(only_timed, roles))


def _rows_of(batch: RecordBatch, roles: Roles, labels: Labels) -> KeyedRows:
    """Return the rows of a batch, which are all to be read."""
    columns, keys = batch.columns[: len(roles.values)], _keys(batch, roles)
    if roles.is_list:
        lists = columns[0] if roles.split is None else split_cells(columns[0], roles.split)
        return KeyedRows(*labels.encode_lists(lists), keys)
    if roles.form is InputForm.ONE_HOT:
        has_item = np.column_stack([*map(partial(_presence, roles), roles.values, columns)])
        codes = labels.encode([*roles.values])[np.nonzero(has_item)[1]]
        return KeyedRows(np.count_nonzero(has_item, axis=1), codes, keys)
    if roles.form is InputForm.LONG:
        columns = [joint_items(columns)]
    codes = np.column_stack([*map(labels.encode, columns)])
    rows = KeyedRows(np.full(len(codes), len(columns), dtype=np.int32), codes.ravel(), keys)
    return rows.merged() if roles.form is InputForm.LONG else rows


def _keys(batch: RecordBatch, roles: Roles) -> dict[str, Array]:
    """Return the baskets, users, segments and days of rows, as `KeyedRows` has them."""
    keys = {}
    if roles.basket:  # none of its columns lacks a value
        keys["baskets"] = by_value(joint_items([batch.column(name) for name in roles.basket]))
    if roles.user is not None:
        keys["users"] = by_value(batch.column(roles.user))
    for name, column in (("segments", SEGMENT), ("days", DAY)):
        if column in batch.schema.names:
            keys[name] = batch.column(column)
    return keys


def without_user(roles: Roles) -> DataError:
    """Return the error for rows without a user, where nobody said what becomes of them."""
    rule = parameter("missing_user")
    return DataError(
        f"column {roles.user!r} of {roles.source} has rows without a user; {rule} "
        f"{MissingUser.DROP.value!r} leaves them out, {rule} {MissingUser.OWN_UNIT.value!r} makes "
        f"each of their baskets a unit of its own",
        options={"missing_user": MissingUser.DROP.value},
    )


# -------------------- identifiers of baskets and users
# Two are one if their values are equal, or are one integer in print, whatever their column's type,
# and whatever order its rows are in: a rule that another unit's rows cannot change. Which stand for
# none `values.present` says.


def by_value(ids: Array) -> Array:
    """Return identifiers, (rows,), in a type where equal values have equal hashes; nulls stay."""
    kind = value_type(ids.type)
    if is_text_type(kind):
        if types.is_dictionary(ids.type):
            return pa.DictionaryArray.from_arrays(ids.indices, integers_as_printed(ids.dictionary))
        return integers_as_printed(ids)
    ids = decoded(ids)
    if types.is_floating(kind):
        # -0.0 equals 0.0 but hashes otherwise; -0.0 + 0.0 is 0.0.
        return pc.add(ids, arrow_of(np.zeros(1, dtype=numpy_type(kind)))[0])
    if types.is_decimal(kind) and kind.bit_width < 128:
        return ids.cast(pa.decimal128(kind.precision, kind.scale))
    return ids


# -------------------- what several columns name together: an item by a department and a brand, say

_BETWEEN = " | "
# What gets a backslash in front: so "a | b" beside "c" is not "a" beside "b | c".
_ESCAPED = r"([|\\])"
_NOTHING = r"^[| ]*$"  # what is left where all columns lack a value


def joint_items(columns: Sequence[Array]) -> Array:
    """Return the texts of several columns' values with a bar between them: (rows,) Arrow strings.

    A missing value is an empty text; where all are missing there is no item. One column alone stays
    as it is. Raises DataError for what has no labels.
    """
    if len(columns) == 1:
        return columns[0]
    texts = [
        pc.replace_substring_regex(as_printed(column), _ESCAPED, r"\\\1").fill_null("")
        for column in columns
    ]
    bare = pc.utf8_trim_whitespace(pc.binary_join_element_wise(*texts, _BETWEEN))
    return null_where(pc.match_substring_regex(bare, _NOTHING), bare)


def segment_numbers(segments: Segments, values: Array) -> Array:
    """Return the place of each row's segment in the list, null for none: (rows,) Arrow int32.

    The texts of values name segments; those of True and False in any case. Raises DataError for a
    type that has no texts, and for times.
    """
    kind = value_type(values.type)
    if types.is_temporal(kind) and not types.is_date(kind):
        raise DataError(
            f"column {segments.column!r} has type {shown_type(kind)}, which names no segments; "
            f"make it texts, dates or whole numbers"
        )
    names = list(segments.names)
    if types.is_boolean(kind):
        names = [name.lower() for name in names]
    return pc.index_in(as_printed(values), value_set=as_printed(arrow_strings(names)))


# -------------------- cells of tables and matrices with a column for each item


@dataclass(frozen=True)
class Numbers:
    """Which numbers of a column of an item are read, and the error for others.

    Attributes:
        may_be_quantities: Whether they may be quantities of at least 0, and not only 0 and 1.
        problem: What is wrong with others, and what to do.
        options: The options that would read them; None if there are none.
    """

    may_be_quantities: bool
    problem: str
    options: OptionValues | None = None


_KEYS = f"{parameter('basket')} or {parameter('user')}"
_LONG = f"for one row per item name {parameter('basket')} and {parameter('item')}"
QUANTITIES = Numbers(
    True,
    "holds other values than true, false and quantities of at least 0: take off returned items "
    f"first. If it is an id name it with {_KEYS}, or leave it out",
)
_NAMED_LIKE_IDS = Numbers(
    False,
    f"holds more than 0 and 1, and is called like an id: name it with {_KEYS}, leave it out, or "
    f"rename it; {_LONG}",
)
ZERO_OR_ONE = Numbers(
    False,
    f"holds more than 0 and 1: name it with {_KEYS} if it is an id, or leave it out; for "
    f"quantities say {parameter('input_format')} one-hot; {_LONG}",
    {"input_format": str(InputForm.ONE_HOT)},
)
OF_ARRAY = Numbers(
    False,
    "holds more than 0 and 1: give array > 0 if these are quantities, or array.tolist() if its "
    "rows list items",
)


def _presence(roles: Roles, name: str, column: Array) -> Mask:
    """Return which cells of a column say that the basket has the item; a null does not: (rows,)."""
    # Errors name it only if it looks like one of ids, for other names may be items.
    where = f"a column of {roles.source}"
    numbers = QUANTITIES if roles.is_named else ZERO_OR_ONE
    if suggests_a_column(name) or suggests_row_number(name):
        where, numbers = f"column {name!r} of {roles.source}", _NAMED_LIKE_IDS
    column = decoded(column)
    kind = column.type
    if types.is_null(kind):
        return np.zeros(len(column), dtype=bool)
    if is_string_type(kind):
        encoded = present(column).dictionary_encode()  # there are few different ones
        said = [_said_by(text.lower()) for text in encoded.dictionary.to_pylist()]
        place = np.where(null_mask(encoded.indices), len(said), numpy_of(encoded.indices))
        return as_presence(np.array([*said, 0])[place], where, numbers)
    if not _is_number_type(kind):
        raise DataError(
            f"{where} has type {shown_type(kind)}, and a column of an item holds 0 "
            f"and 1, or booleans"
        )
    cells = numpy_of(column)
    absent = null_mask(column) | (cells != cells)
    return as_presence(np.where(absent, cells.dtype.type(0), cells), where, numbers)


def _said_by(text: str) -> int:
    """Return what a text in small letters says: 1 for yes, 0 for no, 2 for a quantity above 0, -1
    for none of these.
    """
    if text in TRUTHS:
        return int(TRUTHS[text])
    if re.match(QUANTITY, text) is None:
        return -1
    return 2 if re.match(ABOVE_ZERO, text) else 0


def as_presence(cells: NDArray[Any], where: str, numbers: Numbers = ZERO_OR_ONE) -> Mask:
    """Return numbers or booleans as booleans.

    where: what errors call them. Raises DataError for numbers that do not say whether there is an
    item.
    """
    if cells.dtype == bool:
        return cells
    is_valid = cells >= 0 if numbers.may_be_quantities else (cells == 0) | (cells == 1)
    if not is_valid.all():
        raise DataError(f"{where} {numbers.problem}", options=numbers.options, is_of_a_line=True)
    return cells > 0
