"""What a caller says of a source: which column is what, and how it is to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fim_private.errors import ParameterError, parameter, shown
from fim_private.reading.dialect import DIALECT, Dialect, one_character
from fim_private.reading.memory import MemoryLimit
from fim_private.reading.missing_users import MissingUser
from fim_private.reading.segments import Segments, check_keys
from fim_private.reading.where import Condition, columns_of


@dataclass(frozen=True)
class Options:
    """The names a caller gave to the columns, and the rule for rows without a user; None where none was given.

    basket, item: one column, or several, as they are given; kept as a tuple. dialect: how the source is to be read, as
    far as that was said. query: of a database. where: which rows are read. by: the segments that rows are in. memory:
    how much it may take. split: at which character cells of the item column are lists of items; None where each is one.
    fold_case: whether items that differ by capital letters alone are one. every_item: whether only the names of items
    are wanted, of all rows, whoever's they are and whatever the condition. Raises ParameterError for names that
    contradict each other, for an unknown rule or one without a user column, and for no character.
    """

    user: str | None = None
    basket: Any = None
    item: Any = None
    items: str | None = None
    missing_user: str | None = None
    dialect: Dialect = field(default_factory=Dialect)
    query: str | None = None
    where: Condition | None = None
    by: Segments | None = None
    memory: MemoryLimit = field(default_factory=partial(MemoryLimit.of, None))
    split: str | None = None
    fold_case: bool = False
    every_item: bool = False

    def __post_init__(self) -> None:
        for name in ("item", "basket"):
            object.__setattr__(self, name, _several_columns(name, getattr(self, name)))
        if self.split is not None:
            object.__setattr__(self, "split", one_character("split", self.split))
        if not isinstance(self.fold_case, bool):
            raise ParameterError(f"{parameter('fold_case')} must be True or False, not {shown(self.fold_case)}")
        for name in ("user", "items"):
            if not isinstance(getattr(self, name), str | None):
                raise ParameterError(
                    f"{parameter(name)} must be the name of a column, as text, not {shown(getattr(self, name))}"
                )
        if self.missing_user is not None:
            if not isinstance(self.missing_user, str) or self.missing_user not in [*MissingUser]:
                raise ParameterError(
                    f"{parameter('missing_user')} must be one of {', '.join(MissingUser)}, "
                    f"not {shown(self.missing_user)}"
                )
            if self.user is None:
                raise ParameterError(
                    f"{parameter('missing_user')} needs {parameter('user')} too: "
                    "the column that names the user of each row"
                )
        if self.item is not None and self.items is not None:
            raise ParameterError(
                f"{parameter('item')} and {parameter('items')} exclude each other: "
                f"{parameter('item')} for one row per item, {parameter('items')} for a list column"
            )
        if self.item is not None and self.basket is None:
            raise ParameterError(
                f"{parameter('item')} needs {parameter('basket')} too: one row per item takes both column names"
            )
        if self.split is not None and len(self.item or (self.items,)) > 1:
            raise ParameterError(
                f"{parameter('split')} is for one column whose cells are lists of items, and {parameter('item')} names "
                "several"
            )
        for name, columns in (("basket", self.basket or ()), ("user", (self.user,))):
            if not {*columns, None}.isdisjoint({*(self.item or ()), self.items} - {None}):
                raise ParameterError(
                    f"{parameter(name)} and {parameter('item' if self.item else 'items')} name the same column"
                )

        alone = self.basket[0] if self.basket is not None and len(self.basket) == 1 else None
        check_keys(self.by, self.user, alone)

    @property
    def as_text(self) -> bool:
        """Whether what is said of the source says that it is text, if it is no Parquet or Arrow."""
        said = self.dialect
        return self.item is not None or any(
            given is not None for given in (said.delimiter, said.header, said.encoding, said.form, said.skip_rows)
        )

    def given(self) -> list[str]:
        """Return which of user, basket, item and items were named, in this order."""
        return [name for name in ("user", "basket", "item", "items") if getattr(self, name) is not None]

    def named(self) -> list[tuple[str, str]]:
        """Return each parameter that names columns, with a column that it names."""
        given = [(name, getattr(self, name)) for name in self.given()]
        several = [(name, columns if isinstance(columns, tuple) else (columns,)) for name, columns in given]
        several.append(("where", tuple(columns_of(self.where))))
        several.append(("by", () if self.by is None else (self.by.column,)))
        return [(name, column) for name, columns in several for column in columns]

    def refuse(self, source: str) -> None:
        """Raise ParameterError if any column, or a dialect, was named to a source in memory without named columns."""
        self.dialect.refuse_for(source, DIALECT)
        self.refuse_columns(source)

    def refuse_columns(self, source: str) -> None:
        """Raise ParameterError if any column was named to a source without named columns: what errors call it."""
        others = (name for name in ("where", "by", "split") if getattr(self, name) is not None)
        if given := [*self.given(), *others]:
            raise ParameterError(
                f"{' and '.join(map(parameter, given))} cannot be used with {source}, which has no such columns"
            )


def _several_columns(name: str, given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the columns that a parameter names; None for none. Raises ParameterError for no names, or one twice."""
    if given is None:
        return None
    columns = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else ()
    if not columns or not all(isinstance(column, str) for column in columns):
        raise ParameterError(
            f"{parameter(name)} must be the name of a column, as text, or a list of such names, not {shown(given)}"
        )
    if len({*columns}) < len(columns):
        raise ParameterError(f"{parameter(name)} names a column twice; name each once")
    return columns
