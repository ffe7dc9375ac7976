"""What a source was read as: its form, its dialect, and the names of its columns. Nothing of what is in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fim_private.errors import parameter
from fim_private.reading.column_names import suggests_user
from fim_private.reading.column_roles import Roles
from fim_private.reading.dialect import InputForm


@dataclass(frozen=True)
class ReadAs:
    """What a source was read as.

    kind: of source, in a word or two. form: long, wide, one-hot, lines, fimi or spmf; "lists" for a column of lists,
    and for lists in memory. baskets, user: the columns of ids; several name a basket together. items: the columns of
    items; not those of a one-hot table, which are items. others: the columns that were not read, nor are items.
    delimiter, encoding: of a text, None elsewhere; that of fimi and spmf is white space. where: which rows were read;
    None for all. split: at which character cells were split into items; None where they were not.
    """

    kind: str
    form: str
    baskets: tuple[str, ...] = ()
    user: str | None = None
    items: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str | None = None
    where: str | None = None
    split: str | None = None

    @property
    def basket(self) -> str | None:
        """The column that names baskets alone; None where there is none, or several."""
        return self.baskets[0] if len(self.baskets) == 1 else None

    @classmethod
    def of_table(
        cls, names: Sequence[str], roles: Roles, *, kind: str, delimiter: str | None = None, encoding: str | None = None
    ) -> ReadAs:
        """Return what a table with columns of these names was read as."""
        one_hot = roles.form is InputForm.ONE_HOT
        used = {*roles.names}
        return cls(
            kind,
            "lists" if roles.form is None else str(roles.form),
            roles.basket,
            roles.user,
            () if one_hot else roles.values,
            tuple(name for name in names if name not in used),
            delimiter,
            encoding,
            None if roles.where is None else str(roles.where),
            roles.split,
        )

    @property
    def user_like(self) -> str | None:
        """The first column that looks by its name like a customer's, where no column of users was named; else None."""
        if self.user is not None:
            return None
        found = [name for name in (*self.others, *self.baskets) if suggests_user(name)]
        return found[0] if found else None

    def cautions(self) -> Iterator[str]:
        """Yield what is to be said of whom this reading protects, with parameters marked as in errors."""
        if self.user_like is not None:
            yield (
                f"column {self.user_like!r} looks like customers, and each basket is protected by itself; "
                f"{parameter('user')} {self.user_like!r} would protect all baskets of a customer together"
            )

    def __str__(self) -> str:
        """Return it as part of a sentence."""
        where = {
            "long": "one item per row",
            "lists": "one list of items per row" if self.items else "one basket per element",
            "wide": "one basket per row, its items in several columns",
            "one-hot": "one basket per row, a column for each item",
            "lines": "one basket per line",
            "fimi": "one basket per line",
            "spmf": "one user's sequence of baskets per line (SPMF)",
        }[self.form]
        columns = [f"user {self.user!r}"] if self.user else []
        columns += [f"basket {' and '.join(map(repr, self.baskets))}"] if self.baskets else []
        if len(self.items) > 1 and self.form == "long":
            columns.append(f"item {' and '.join(map(repr, self.items))}")
        elif len(self.items) == 1:
            columns.append(f"{'item' if self.form == 'long' else 'items'} {self.items[0]!r}")
        elif self.items:
            columns.append(f"items {self.items[0]!r} to {self.items[-1]!r}")
        between = (
            [] if self.delimiter is None else [f"separated by {_DELIMITERS.get(self.delimiter, repr(self.delimiter))}"]
        )
        if self.encoding not in (None, "utf-8", "utf-8-sig"):
            between.append(f"in {self.encoding}")
        if self.split is not None:
            between.append(f"each cell split at {_DELIMITERS.get(self.split, repr(self.split))}")
        if self.where is not None:
            between.append(f"where {self.where}")
        return f"{self.kind}, {'; '.join([where + (': ' if columns else '') + ', '.join(columns), *between])}"


_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "white space"}
