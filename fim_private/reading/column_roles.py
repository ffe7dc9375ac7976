"""Which form a table has, which column plays which part, and the errors when that cannot be told.

Only schemas are looked at; a pandas column of objects has none, so its first value tells whether it holds lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.reading import chunk_sizes
from fim_private.reading.column_names import numbered, suggests_a_column, suggests_item
from fim_private.reading.dialect import InputForm
from fim_private.reading.missing_users import MissingUser
from fim_private.reading.options import Options
from fim_private.reading.segments import Segments
from fim_private.reading.where import Condition, columns_of

_LISTED_COLUMNS = 20
_TYPE_WIDTH = 40
# Beside the items of a one-hot table there may be ids of a basket and a user.
_FEW_COLUMNS = 2


@dataclass(frozen=True)
class Column:
    """What the schema says of a column.

    kind: its type, for error messages. is_list: whether it holds lists of items. is_nested: lists, structs or maps.
    is_number: whether it holds numbers or booleans. is_apart: whether it is no column of items unless it is named.
    """

    name: str
    kind: str
    is_list: bool = False
    is_nested: bool = False
    is_number: bool = False
    is_apart: bool = False

    @property
    def is_boolean(self) -> bool:
        """Whether it holds booleans, as each column of a one-hot frame does."""
        return not self.is_list and not self.is_nested and "bool" in self.kind.lower()


@dataclass(frozen=True)
class Wanted:
    """What is wanted of a table.

    names: its columns, in order. rows_at_a_time: at most. items: the column of items, or of lists of them, whose values
    repeat; None where each of several columns has, or is, items. where: which rows may be left out already.
    """

    names: list[str]
    rows_at_a_time: int
    items: str | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Roles:
    """Which column plays which part.

    form: long, wide or one-hot; None for a column of lists. values: the columns of items: one for lists, for long one
    or several that name an item together. basket, user: the key columns, if any; several name a basket together.
    missing_user: what becomes of rows
    without a user; None to refuse them. where: which rows are read; None for all. by: which segment a row is in; None
    where there are none. quantities: whether a number above 0 says in a one-hot table that a basket has an item: where
    that form was asked for. (Else a table of numbers may as well be one of ids.) split: at which character each cell of
    the item column is cut into items; None for no cut. fold_case: whether items' case is folded. is_said: whether the
    form was asked for.
    """

    form: InputForm | None
    values: tuple[str, ...]
    basket: tuple[str, ...] = ()
    user: str | None = None
    missing_user: MissingUser | None = None
    where: Condition | None = None
    by: Segments | None = None
    quantities: bool = False
    split: str | None = None
    fold_case: bool = False
    is_said: bool = False

    @property
    def is_list(self) -> bool:
        """Whether there is a column of lists, or of cells that are split into some."""
        return self.form is None or self.split is not None

    @property
    def may_hold_lists(self) -> bool:
        """Whether nobody said that each cell of the item column is one item, rather than a list of some."""
        return self.form is InputForm.LONG and len(self.values) == 1 and self.split is None and not self.is_said

    @property
    def rows_at_a_time(self) -> int:
        """How many rows to work on at a time."""
        rows = chunk_sizes.LONG_ROWS if self.form is InputForm.LONG else chunk_sizes.LIST_ROWS
        return max(1, min(rows, chunk_sizes.ONE_HOT_CELLS // len(self.values)))

    @property
    def keys(self) -> list[str]:
        """The key columns: those of the basket, then the user."""
        return [*self.basket, *([] if self.user is None else [self.user])]

    @property
    def names(self) -> list[str]:
        """All columns that are needed, once each."""
        by = [] if self.by is None else [self.by.column]
        return list(dict.fromkeys([*self.values, *self.keys, *by, *columns_of(self.where)]))

    @property
    def wanted(self) -> Wanted:
        """What is wanted of the table."""
        items = self.values[0] if self.form in (InputForm.LONG, None) else None
        return Wanted(self.names, self.rows_at_a_time, items, self.where)


def choose(columns: Sequence[Column], options: Options, source: str) -> Roles:
    """Return the form of a table, and the roles of its columns. source: what errors call the source.

    Raises DataError when a column is missing, doubled or of a type that cannot play its part, and where no form can be
    told; ParameterError for a form that does not go with the columns named.
    """
    form = options.dialect.form
    if form is not None and not form.is_table:
        raise ParameterError(f"{parameter('input_format')} {form} is a form of text, and {source} is a table")
    if columns and options.given() and form is None and all(column.is_boolean for column in columns):
        options.refuse_columns("a table of one true/false column per item")
    for _, name in options.named():
        _check(columns, name, source)
    keys = (*(options.basket or ()), options.user, None if options.by is None else options.by.column)
    for column in (_find(columns, key) for key in keys if key is not None):
        if column.is_nested:
            _wrong_type(column, source, "an identifier")
    form, values = _form_and_values(columns, options, source)
    if options.split is not None:
        _check_split(form, _find(columns, values[0]), source)
    missing_user = None if options.missing_user is None else MissingUser(options.missing_user)
    if options.every_item:
        return Roles(
            form,
            values,
            quantities=options.dialect.form is InputForm.ONE_HOT,
            split=options.split,
            fold_case=options.fold_case,
            is_said=options.dialect.form is not None,
        )
    return Roles(
        form,
        values,
        options.basket or (),
        options.user,
        missing_user,
        options.where,
        options.by,
        quantities=options.dialect.form is InputForm.ONE_HOT,
        split=options.split,
        fold_case=options.fold_case,
        is_said=options.dialect.form is not None,
    )


def _form_and_values(
    columns: Sequence[Column], options: Options, source: str
) -> tuple[InputForm | None, tuple[str, ...]]:
    """Return the form of a table, None for a column of lists, and its columns of items. Raises as `choose` does."""
    form = options.dialect.form
    # What rows are chosen by is no item, unless it is named as one.
    by = () if options.by is None else (options.by.column,)
    keys = (*(options.basket or ()), options.user, *by, *columns_of(options.where))
    others = [column for column in columns if column.name not in keys and not column.is_apart]
    if form in (InputForm.WIDE, InputForm.ONE_HOT):
        return form, _item_columns(form, others, options, source)
    if options.item is not None or form is InputForm.LONG:
        return InputForm.LONG, _columns_of_item(columns, options, source)
    # An id among numbers shows when it is read: it is not 0 or 1.
    alike = len({column.is_boolean for column in others}) == 1 and all(column.is_number for column in others)
    if options.items is None and others and alike:
        return InputForm.ONE_HOT, _item_columns(InputForm.ONE_HOT, others, options, source)
    items = options.items if options.items is not None else _only_list(columns, options, source)
    column = _find(columns, items)
    _check(columns, items, source)
    if not column.is_list and options.split is None:
        _wrong_type(
            column,
            source,
            "lists of items",
            f"; where its cells are texts such as 'a, b', say {parameter('split')} ','",
        )
    return None, (items,)


def _check_split(form: InputForm | None, column: Column, source: str) -> None:
    """Raise ParameterError for a form whose cells are never lists, DataError for a column that does not hold texts."""
    if form not in (InputForm.LONG, None):
        raise ParameterError(f"leave out {parameter('split')}: in form {form} a cell is never a list of items")
    if column.is_nested or column.is_list or column.is_number:
        _wrong_type(column, source, "texts to split")


def _columns_of_item(columns: Sequence[Column], options: Options, source: str) -> tuple[str, ...]:
    """Return the column of one item a row, or those that name it together. Raises as `choose` does."""
    if options.item is None or options.basket is None:
        raise ParameterError(
            f"{parameter('input_format')} long takes both {parameter('basket')} and {parameter('item')}, "
            "the columns of one row per item"
        )
    named: tuple[str, ...] = options.item
    for column in (_find(columns, name) for name in named):
        if column.is_list:
            raise DataError(
                f"column {column.name!r} of {source} holds lists: "
                f"name it with {parameter('items')} instead of {parameter('item')}"
            )
        if column.is_nested:
            _wrong_type(column, source, "an item")
    return named


def _item_columns(form: InputForm, others: Sequence[Column], options: Options, source: str) -> tuple[str, ...]:
    """Return the columns of items of a wide or one-hot table, which others are, without keys. Raises as `choose`."""
    if options.item is not None or options.items is not None:
        named = parameter("item" if options.item is not None else "items")
        raise ParameterError(f"{named} does not go with {parameter('input_format')} {form}: it has many such columns")
    names = [column.name for column in others]
    if len(set(names)) < len(names):
        raise DataError(f"{source} has two columns of one name; rename one, or leave it out")
    if form is InputForm.WIDE:
        names = numbered(names) or [name for name in names if suggests_item(name)] or names
    if not names:
        raise DataError(f"{source} has no column of items")
    for column in others:
        if column.is_nested and column.name in names:
            _wrong_type(column, source, "items")
    return tuple(names)


def _only_list(columns: Sequence[Column], options: Options, source: str) -> str:
    """Return the name of the only list column. Raises DataError where there is none, or more than one."""
    found = [
        column.name
        for column in columns
        if column.is_list and column.name not in (*(options.basket or ()), options.user)
    ]
    if len(found) == 1:
        return found[0]
    if not found and any(column.is_boolean for column in columns):
        raise DataError(
            f"{source} has columns of booleans and others; where booleans are items, one column each, name the other "
            f"column with {parameter('basket')} or {parameter('user')}, or leave it out; "
            f"it has the columns {listing(columns)}"
        )
    if not found and len(places := numbered([str(column.name) for column in columns])) > 1:
        raise DataError(
            f"{source} has a column for each place in a basket, {places[0]!r} to {places[-1]!r}: "
            f"say {parameter('input_format')} wide"
        )
    number = "several list columns" if found else "no list column"
    raise DataError(
        f"{source} has {number}: name it with {parameter('items')}, or {parameter('basket')} and {parameter('item')} "
        f"for one row per item, or say {parameter('input_format')} one-hot where each column is an item; it has the "
        f"columns {listing(columns)}"
    )


def shown_type(kind: object) -> str:
    """Return the name of a type for an error message: short, and escaped, for a struct's fields have names."""
    name = str(kind)
    return repr(name if len(name) <= _TYPE_WIDTH else name[: _TYPE_WIDTH - 1] + "…")[1:-1]


def listing(columns: Iterable[Column]) -> str:
    """Return names and types of columns for an error: the first 20, none that may be an item of a one-hot table.

    Those are of booleans; and of numbers, unless they look like columns of purchases, where there is little else.
    """
    columns = list(columns)
    numbers = sum(column.is_number for column in columns)
    is_boolean = any(column.is_boolean for column in columns)
    may_be_items = not is_boolean and _FEW_COLUMNS < len(columns) <= numbers + _FEW_COLUMNS
    named = [
        column
        for column in columns
        if not column.is_boolean and not (may_be_items and column.is_number and not suggests_a_column(column.name))
    ]
    listed = [f"{str(column.name)!r} ({shown_type(column.kind)})" for column in named]
    more = [f"and {len(listed) - _LISTED_COLUMNS} more"] if len(listed) > _LISTED_COLUMNS else []
    if len(named) < len(columns):  # a one-hot frame with something else beside it
        more.append(
            f"columns of {'numbers' if may_be_items else 'booleans'}, whose names may be items and are not shown"
        )
    return ", ".join(listed[:_LISTED_COLUMNS] + more)


def _find(columns: Sequence[Column], name: str) -> Column:
    """Return the column of that name, which exists."""
    return next(column for column in columns if column.name == name)


def _check(columns: Sequence[Column], name: str, source: str) -> None:
    """Raise DataError unless there is one column of that name."""
    count = sum(column.name == name for column in columns)
    if count == 0:
        raise DataError(f"{source} has no column {name!r}; it has {listing(columns)}")
    if count > 1:
        raise DataError(f"{source} has more than one column {name!r}; rename all but one")


def _wrong_type(column: Column, source: str, wanted: str, more: str = "") -> NoReturn:
    """Raise DataError for a column that does not hold what is wanted."""
    raise DataError(
        f"column {column.name!r} of {source} has type {shown_type(column.kind)}, "
        f"which does not hold {wanted}; name another column, or convert this one{more}"
    )
