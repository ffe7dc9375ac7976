"""Which form a table has, which role each of its columns has, and what a source was read as."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.options.declaration import OptionValues
from fim_private.reading import memory
from fim_private.reading.options import InputForm, Reading, Segments, Times
from fim_private.reading.values import shown_type
from fim_private.reading.where import Condition, columns_of

# What the name of a column suggests that is in it. A suggestion only: nothing is read by it.


def _suggests(*patterns: str) -> Callable[[str], bool]:
    """Return what tells whether the letters of a name fit any of some patterns."""
    # Compiled once: there may be a million names.
    fitting = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))

    def fits(name: str) -> bool:
        letters = name.casefold()
        if not letters.isascii():  # without accents
            letters = unicodedata.normalize("NFKD", letters)
        return fitting.fullmatch(re.sub(r"[^a-z]", "", letters)) is not None

    return fits


_NUMBER = "(id|no|nr|num|number|key|code|nummer)?"
_USER = (
    # What ends so counts or describes customers, and is not theirs.
    r"(?!.*(count|rating|segment|group|type|category|city|country|region|state|agent|age|gender|sex)s?\Z)"
    r"((shop|store|loyalty|anonymous|unique)?"
    r"(customer|client|member|household|shopper|buyer|cardholder|loyalty|panelist|patient|user|kunden?|haushalts?)"
    r"(card|account|unique|hashed)?(id|no|nr|num|number|key|code|nummer|hash|ref|name|email)?"
    r"|hh|hhid|cust|custid|cid|uid|person|personid|account|accountid|cardno|cardnumber|cardid|email|phone)s?"
)
_BASKET = (
    r"(?!t\Z)(basket|order|invoice|transaction|trans|receipt|ticket|t|cart|sale|visit|session|bill|check|purchase|trip"
    r"|bestellung|bestell|beleg|bon|rechnung|rechnungs)s?" + _NUMBER
)
_ITEM = (
    r"(line)?(items?|products?|stock|sku|upc|ean|plu|articles?|asin|goods|category|categories|department|subcategory|brand"
    r"|artikel|produkt|ware|bezeichnung"
    r"|description|descr|name|title)(id|no|nr|num|number|key|code|name|names|descr|description|title)?"
)
# Each tells whether a column looks by its name like
suggests_user = _suggests(_USER)  # a customer's id; customer_count is none
suggests_basket = _suggests(_BASKET)  # a basket's id, such as order_id
suggests_item = _suggests(_ITEM)  # items, such as product_name
suggests_quantity = _suggests(  # a quantity, such as Qty
    r".*(quantity|qty|quantite|cantidad|quantita)(sold|ordered)?|units(sold)?|(menge|stuck|anzahl|antal)[a-z]*"
)
suggests_another_date = _suggests(  # another date than of a purchase, such as date_of_birth
    r".*(birth(date|day|dt)?|weekday|week|holiday|update|dateofbirth|geburtstag|feiertag)|(.*(updated|deleted))(at|on|ts|dt)?"
)
# Tells whether a text looks like the name of a column of purchases, not like an item.
suggests_a_column = _suggests(
    _USER,
    _BASKET,
    _ITEM,
    r".*(date|datum|time|timestamp|day|week|month|year|quantity|qty|price|amount|value|total|revenue|country|store|shop)"
    r"(id|no)?",
)
_is_item_name = _suggests(
    r".*(description|descr|name|names|title|bezeichnung)|(line)?(item|product|article|artikel|produkt)s?"
)
_is_category = _suggests(
    r"(categor(y|ies)|department|subcategory|brand)(id|no|nr|num|number|key|code|name)?s?"
)
_is_date = _suggests(
    r"(.*(date|datum|fecha|timestamp|day|tag|datetime)|((order|invoice|transaction|purchase|sale|visit|trip)(date)?)?time"
    r"|(order|invoice|transaction|trans|purchase|sale|sales|visit|trip|t)?(dt|ts|dat))"
)
# the last of several words of a name, such as order_ts and sold_at
_DATE_WORDS = ("dt", "ts", "at")

# The index of pandas and R, and what people and spreadsheets call it.
_ROW_NUMBER = re.compile(
    r"unnamed[0-9]*|index|idx|indexlevel[0-9]+|level[0-9]+|x|rownames?|row|rows|id|#|no|nr|num|number|lfdnr"
    r"|(row|record|line|obs|observation)(id|no|nr|num|number|index|#)|s(r|l|er|erial)?(no|nr|num|number|#)"
)


def suggests_date(name: str) -> bool:
    """Tell whether a column looks by its name like when a purchase was, such as order_date."""
    words = re.findall(r"[a-z]+", name.casefold())
    is_marked = len(words) > 1 and words[-1] in _DATE_WORDS
    return (is_marked or _is_date(name)) and not suggests_another_date(name)


def suggests_row_number(name: str) -> bool:
    """Tell whether a column looks by its name like row numbers, which programs often add."""
    return _ROW_NUMBER.fullmatch(re.sub(r"[^a-z0-9#]", "", name.casefold())) is not None


def suggested(names: Sequence[str]) -> list[list[str]]:
    """Return which names suggest an item, a basket, a user, and a date: four lists."""
    tests = (suggests_item, suggests_basket, suggests_user, suggests_date)
    return [[name for name in names if test(name)] for test in tests]


def likely_keys(names: Sequence[str]) -> dict[str, str]:
    """Return the options for the user and the basket that names of columns suggest."""
    _, baskets, users, _ = suggested(names)
    keys = {}
    if users:
        keys["user"] = users[0]
    ids = [name for name in baskets if name not in users[:1]]
    if ids:
        keys["basket"] = ids[0]
    return keys


def likely_roles(names: Sequence[str]) -> OptionValues:
    """Return the options for one row per item that names of columns suggest; none if they do not.

    Without a basket's name a visit is named by its customer and its day.
    """
    items, _, _, days = suggested(names)
    roles: OptionValues = {**likely_keys(names)}
    line_items = [name for name in items if name.casefold().startswith("lineitem ")]
    if "Name" in names and line_items:  # as Shopify exports orders
        roles["basket"], items = "Name", line_items
    named_otherwise = {*roles.values(), *numbered(names)}
    items = [name for name in items if name not in named_otherwise]
    if "basket" not in roles and "user" in roles:
        visit = [roles["user"], *days[:1]]
        roles["basket"] = visit[0] if len(visit) == 1 else visit
    if "basket" not in roles or not items:
        return {}
    roles["item"] = _best_item(items)
    return roles


def likely_options(names: Sequence[str]) -> OptionValues:
    """Return the options for a table of any form that names of columns suggest."""
    if numbered(names):
        return {"input_format": str(InputForm.WIDE), **likely_keys(names)}
    return likely_roles(names)


def _best_item(names: Sequence[str]) -> str:
    """Return the column to mine first: of products, not categories, and of names, not codes."""
    products = [name for name in names if not _is_category(name)] or names
    named = [name for name in products if _is_item_name(name)]
    return (named or products)[-1]


def named_roles(roles: OptionValues) -> str:
    """Return what an error says of likely roles: the options, and how to protect customers."""
    named = [_named_role(name, roles[name]) for name in ("basket", "item") if name in roles]
    basket_and_item = " and ".join(named)
    if "user" not in roles:
        return basket_and_item
    user = _named_role("user", roles["user"])
    return f"{basket_and_item}, and {user} to protect each customer, not only each basket"


def _named_role(name: str, columns: str | list[str]) -> str:
    if isinstance(columns, str):
        return f"{parameter(name)}={columns!r}"
    return f"{parameter(name)} {' and '.join(map(repr, columns))} together"


def numbered(names: Sequence[str]) -> list[str]:
    """Return the longest run of names numbered from 1 (or 0) on, such as Item 1, Item 2.

    A run has two names at least.
    """
    runs: dict[tuple[str, int], list[str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)[ _.-]*([0-9]{1,7})", name.strip())
        if match is None:
            continue
        for start in (0, 1):
            run = runs.setdefault((match[1].casefold(), start), [])
            if int(match[2]) == start + len(run):
                run.append(name)
    longest = max(runs.values(), key=len, default=[])
    if len(longest) < 2:
        return []
    return longest


# Of a table only the schema is looked at; a pandas column of objects has none, so its first value
# stands for a type.

_LISTED_COLUMNS = 20
ID_COLUMNS = 2  # beside the items of a one-hot table there may be ids of a basket and its user


@dataclass(frozen=True)
class Column:
    """What the schema says of a column."""

    name: str
    kind: str  # its type, for error messages
    is_list: bool  # of items
    is_nested: bool  # lists, structs or maps
    is_number: bool  # numbers or booleans
    is_apart: bool  # no column of items unless it is named
    may_be_item: bool = False  # whether its name may be that of an item, whatever its type

    @property
    def is_boolean(self) -> bool:
        """Whether it holds booleans, as each column of a one-hot frame does."""
        return self.kind == "bool"


@dataclass(frozen=True)
class Scan:
    """What is read of a table: columns by name, in order, and how many rows at a time."""

    names: list[str]
    rows_at_a_time: int
    # the column of items, or of lists of them, whose values repeat, if it is one
    items: str | None = None
    where: Condition | None = None  # which rows are to be read: the others may be left out already


@dataclass(frozen=True)
class Roles:
    """The form of a table, and the roles of its columns; what has no note is as in `Reading`."""

    source: str  # what errors call the table
    form: InputForm | None  # long, wide or one-hot; None for a column of lists
    # the columns of items: one for lists, for long one or several that name an item together
    values: tuple[str, ...]
    basket: tuple[str, ...]
    user: str | None
    missing_user: str | None
    where: Condition | None
    by: Segments | None
    times: Times | None
    parts: Segments | None  # the segments, or periods, that have a release each
    split: str | None
    fold_case: bool
    # whether the form was asked for; in one-hot any number above 0 is then an item's, else an id's
    is_named: bool

    @property
    def items_name(self) -> str:
        """What errors call the items."""
        if self.form is InputForm.WIDE:
            return self.source
        return f"column {self.values[0]!r} of {self.source}"

    @property
    def is_list(self) -> bool:
        """Whether there is a column of lists, or of cells that are split into some."""
        return self.form is None or self.split is not None

    @property
    def may_hold_lists(self) -> bool:
        """Whether the cells of the item column may be lists of items: nobody named the form."""
        if self.is_named or self.split is not None:
            return False
        return self.form is InputForm.LONG and len(self.values) == 1

    @property
    def rows_at_a_time(self) -> int:
        """How many rows to work on at a time."""
        rows = memory.LONG_ROWS if self.form is InputForm.LONG else memory.LIST_ROWS
        return max(1, min(rows, memory.ONE_HOT_CELLS // len(self.values)))

    @property
    def names(self) -> list[str]:
        """All columns that are needed, once each."""
        choices = [choice.column for choice in (self.by, self.times) if choice is not None]
        named = (*self.values, *self.basket, self.user, *choices, *columns_of(self.where))
        return list(dict.fromkeys(name for name in named if name is not None))

    @property
    def scan(self) -> Scan:
        """What is read of the table."""
        items = self.values[0] if self.form in (InputForm.LONG, None) else None
        # A basket's time is that of its earliest row, whether that is to be read or not.
        where = self.where if self.times is None else None
        return Scan(self.names, self.rows_at_a_time, items, where)


# The parameters of columns that hold no lists, and what these columns hold.
_CONTENT = {
    "item": f"an item; lists are named with {parameter('items')}",
    "user": "an identifier",
    "basket": "an identifier",
    "by": "an identifier",
    "time": "times",
}


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table, and what a caller says of them.

    source: what errors call the table.
    """

    columns: Sequence[Column]
    options: Reading
    source: str

    def roles(self) -> Roles:
        """Return the form of the table, and the roles of its columns.

        Raises DataError for a column that is missing, is there twice or cannot have its role, and
        where the form is not clear. Raises ParameterError for a form that does not go with the
        columns named.
        """
        options, form = self.options, self.options.dialect.form
        if form is not None and not form.is_table:
            raise ParameterError(
                f"{parameter('input_format')} {form} is a form of text, and {self.source} is a "
                f"table"
            )
        all_boolean = all(column.is_boolean for column in self.columns)
        if self.columns and all_boolean and form is None and options.given():
            options.refuse_columns("a table of one true/false column per item")
        for option, name in options.named():
            column = self.column(name)
            if option in _CONTENT and column.is_nested:
                self._refuse_type(column, _CONTENT[option])
        is_named = form is not None
        form, values = self._form_and_items()
        if options.split is not None:
            self._check_split(form, values[0])
        grouping = options
        if options.every_item:  # the items of all rows: no column groups them or chooses among them
            grouping = Reading()
        return Roles(
            self.source,
            form,
            values,
            basket=grouping.basket,
            user=grouping.user,
            missing_user=grouping.missing_user,
            where=grouping.where,
            by=grouping.by,
            times=grouping.times,
            parts=grouping.parts,
            split=options.split,
            fold_case=options.fold_case,
            is_named=is_named,
        )

    def column(self, name: str) -> Column:
        """Return the column of a name. Raises DataError if there is none, or more than one."""
        matching = [column for column in self.columns if column.name == name]
        if not matching:
            raise DataError(f"{self.source} has no column {name!r}; it has {listing(self.columns)}")
        if len(matching) > 1:
            raise DataError(f"{self.source} has more than one column {name!r}; rename all but one")
        return matching[0]

    def _form_and_items(self) -> tuple[InputForm | None, tuple[str, ...]]:
        """Return the form of the table, None for a column of lists, and its columns of items."""
        options, form = self.options, self.options.dialect.form
        # A column that rows are chosen by is no item, unless it is named as one.
        chosen_by = [name for option, name in options.named() if option not in ("item", "items")]
        candidates = [
            column
            for column in self.columns
            if column.name not in chosen_by and not column.is_apart
        ]
        if form in (InputForm.WIDE, InputForm.ONE_HOT):
            return form, self._item_columns(form, candidates)
        if options.item:  # which takes a basket
            return InputForm.LONG, options.item
        if form is InputForm.LONG:
            raise ParameterError(
                f"{parameter('input_format')} long needs both {parameter('basket')} and "
                f"{parameter('item')}, the columns of one row per item"
            )
        # An id among numbers shows when it is read: it is not 0 or 1.
        are_numbers = all(column.is_number for column in candidates)
        is_of_one_kind = len({column.is_boolean for column in candidates}) == 1
        may_be_one_hot = options.items is None and is_of_one_kind and are_numbers
        if may_be_one_hot and not self._likely(candidates):
            return InputForm.ONE_HOT, self._item_columns(InputForm.ONE_HOT, candidates)
        return None, (self._list_column(),)

    def _list_column(self) -> str:
        """Return the column of lists: the one that is named, or the only one."""
        name = self.options.items
        if name is None:
            name = self._only_list()
        column = self.column(name)
        if not column.is_list and self.options.split is None:
            hint = f"; where its cells are texts such as 'a, b', say {parameter('split')} ','"
            self._refuse_type(column, "lists of items", hint)
        return name

    def _check_split(self, form: InputForm | None, name: str) -> None:
        """Raise an error if the cells of the column of items cannot be split."""
        if form not in (InputForm.LONG, None):
            raise ParameterError(
                f"leave out {parameter('split')}: in form {form} a cell is never a list of items"
            )
        column = self.column(name)
        if column.is_nested or column.is_list or column.is_number:
            self._refuse_type(column, "texts to split")

    def _item_columns(self, form: InputForm, candidates: Sequence[Column]) -> tuple[str, ...]:
        """Return the columns of items of a wide or one-hot table.

        candidates: the columns with no other role.
        """
        for option in self.options.given():
            if option in ("item", "items"):
                raise ParameterError(
                    f"{parameter(option)} does not go with {parameter('input_format')} {form}: "
                    f"it has many such columns"
                )
        names = [column.name for column in candidates]
        if len(set(names)) < len(names):
            raise DataError(
                f"{self.source} has two columns of one name; rename one, or leave it out"
            )
        if form is InputForm.WIDE:
            names = numbered(names) or [name for name in names if suggests_item(name)] or names
        if not names:
            raise DataError(f"{self.source} has no column of items")
        for column in candidates:
            if column.is_nested and column.name in names:
                self._refuse_type(column, "items")
        return tuple(names)

    def _only_list(self) -> str:
        """Return the only column of lists. Raises DataError if there is none, or several."""
        lists = [column.name for column in self.columns if column.is_list]
        if len(lists) == 1:
            return lists[0]
        problem = "several list columns"
        if not lists:
            self._refuse_likely_form()
            problem = "no list column"
        raise DataError(
            f"{self.source} has {problem}: name it with {parameter('items')}, or "
            f"{parameter('basket')} and {parameter('item')} for a row per item, or "
            f"{parameter('input_format')} one-hot for one per item; it has {listing(self.columns)}",
            options={},
        )

    def _refuse_likely_form(self) -> None:
        """Raise DataError if the columns suggest a form that has no column of lists."""
        names = [column.name for column in self.columns]
        roles = self._likely(self.columns)
        places = numbered([column.name for column in self.columns if not column.may_be_item])
        if roles:
            problem = f"looks like one row per item: give {named_roles(roles)}"
            raise DataError(f"{self.source} {problem}", options=roles)
        if any(column.is_boolean for column in self.columns):
            raise DataError(
                f"{self.source} has columns of booleans and others; if booleans are items, name "
                f"the others with {parameter('basket')} or {parameter('user')}, or leave them "
                f"out; it has {listing(self.columns)}",
                options={},
            )
        if places:
            raise DataError(
                f"{self.source} has a column for each place in a basket, {places[0]!r} to "
                f"{places[-1]!r}: say {parameter('input_format')} wide",
                options={"input_format": str(InputForm.WIDE), **likely_keys(names)},
            )

    def _likely(self, columns: Iterable[Column]) -> OptionValues:
        """Return the options that the names of columns suggest, and nobody gave.

        Booleans are items of a one-hot table.
        """
        names = [column.name for column in columns if not column.is_boolean]
        options_given = self.options.given()
        columns_named = [column for _, column in self.options.named()]
        return {
            option: role
            for option, role in likely_roles(names).items()
            if option not in options_given and role not in columns_named
        }

    def _refuse_type(self, column: Column, content: str, hint: str = "") -> NoReturn:
        """Raise DataError for a column whose type cannot hold this content."""
        raise DataError(
            f"column {column.name!r} of {self.source} has type {shown_type(column.kind)}, "
            f"which does not hold {content}; name another column, or convert this one{hint}"
        )


def listing(columns: Iterable[Column]) -> str:
    """Return names and types of columns for an error: the first 20 that cannot be items.

    The columns of a one-hot table are items. They are of booleans; or of numbers, unless they look
    like columns of purchases, where there is little else. What only some lines of JSON name may be
    an item, too, and so may a column of Python's booleans.
    """
    named = list(columns)
    if not named:
        return "no columns"
    columns = [column for column in named if not column.may_be_item]
    shown, hidden = _that_cannot_be_items(columns)
    listed = [f"{column.name!r} ({shown_type(column.kind)})" for column in shown[:_LISTED_COLUMNS]]
    if len(shown) > _LISTED_COLUMNS:
        listed.append(f"and {len(shown) - _LISTED_COLUMNS} more")
    if len(shown) < len(columns):  # a one-hot frame with something else beside it
        listed.append(f"columns of {hidden}, whose names may be items and are not shown")
    if len(columns) < len(named):
        others = "others, whose" if listed else "columns whose"
        listed.append(f"{others} names may be items and are not shown")
    return ", ".join(listed)


def _that_cannot_be_items(columns: Sequence[Column]) -> tuple[list[Column], str]:
    """Return the columns whose names cannot be items, and of which type the others are."""
    numbers = sum(column.is_number for column in columns)
    is_boolean = any(column.is_boolean for column in columns)
    if is_boolean or not ID_COLUMNS < len(columns) <= numbers + ID_COLUMNS:
        return [column for column in columns if not column.is_boolean], "booleans"
    shown = [column for column in columns if not column.is_number or suggests_a_column(column.name)]
    return shown, "numbers"


_SENTENCES = {
    "long": "one item per row",
    "wide": "one basket per row, its items in several columns",
    "one-hot": "one basket per row, a column for each item",
    "lines": "one basket per line",
    "fimi": "one basket per line",
    "spmf": "one user's sequence of baskets per line (SPMF)",
}
_DELIMITERS = {
    ",": "commas",
    ";": "semicolons",
    "\t": "tabs",
    "|": "vertical bars",
    " ": "white space",
}


@dataclass(frozen=True)
class ReadAs:
    """What a source was read as: its form, dialect and names of columns; none of its content."""

    kind: str  # of source, in a word or two
    form: str  # an `InputForm`; "lists" for a column of lists, and for lists in memory
    baskets: tuple[str, ...] = ()  # the columns of ids, as is that of users
    user: str | None = None
    # the columns of items; not those of a one-hot table, which are items
    items: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()  # the columns that were not read, nor are items
    delimiter: str | None = None  # of a text, as the encoding
    encoding: str | None = None
    where: str | None = None  # which rows were read
    split: str | None = None  # at which character cells were split

    @property
    def basket(self) -> str | None:
        """The column that names baskets alone; None where there is none, or several."""
        return self.baskets[0] if len(self.baskets) == 1 else None

    @property
    def user_like(self) -> str | None:
        """The first column that looks by its name like a customer's; None if users are named."""
        if self.user is not None:
            return None
        return next(filter(suggests_user, (*self.unread, *self.baskets)), None)

    def cautions(self) -> Iterator[str]:
        """Yield warnings about what this reading protects, with parameters marked as in errors."""
        if self.user_like is not None:
            yield (
                f"column {self.user_like!r} looks like customers, but each basket is protected "
                f"by itself; give {parameter('user')} {self.user_like!r} to protect all baskets "
                f"of a customer together"
            )

    def __str__(self) -> str:
        lists = "one list of items per row" if self.items else "one basket per element"
        form = _SENTENCES.get(self.form, lists)
        columns = ", ".join(self._columns())
        if columns:
            form = f"{form}: {columns}"
        statements = [form]
        if self.delimiter is not None:
            statements.append(f"separated by {_named_delimiter(self.delimiter)}")
        if self.encoding not in (None, "utf-8", "utf-8-sig"):
            statements.append(f"in {self.encoding}")
        if self.split is not None:
            cut = "line" if self.form in ("lines", "fimi") else "cell"
            statements.append(f"each {cut} split at {_named_delimiter(self.split)}")
        if self.where is not None:
            statements.append(f"where {self.where}")
        return f"{self.kind}, {'; '.join(statements)}"

    def _columns(self) -> Iterator[str]:
        """Yield each role that columns have, with their names."""
        if self.user:
            yield f"user {self.user!r}"
        if self.baskets:
            yield f"basket {' and '.join(map(repr, self.baskets))}"
        if self.form == "long":
            yield f"item {' and '.join(map(repr, self.items))}"
        elif len(self.items) == 1:
            yield f"items {self.items[0]!r}"
        elif self.items:
            yield f"items {self.items[0]!r} to {self.items[-1]!r}"


def _named_delimiter(delimiter: str) -> str:
    return _DELIMITERS.get(delimiter, repr(delimiter))
