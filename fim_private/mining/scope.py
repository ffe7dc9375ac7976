"""Scope: what of the purchases counts, and what an item is, by public choices that a release states.

All of them look at one unit at a time: which items, baskets and rows of a unit count follows from that unit alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from fim_private.dp.parameters import public_integer
from fim_private.errors import ParameterError, parameter, shown
from fim_private.glance import printable
from fim_private.mining.listed import Listed
from fim_private.reading import read_catalogue
from fim_private.reading.options import Options
from fim_private.reading.read_as import ReadAs
from fim_private.reading.segments import Segments
from fim_private.reading.transactions import Transactions
from fim_private.reading.vocabulary import Item, Vocabulary, mixed_vocabulary

BASKET, USER = "basket", "user"
# Of a list so many items are told in words.
_TOLD = 5


@dataclass(frozen=True)
class Scope:
    """What of the purchases counts.

    basket, item: the columns that name a basket, or an item, together; empty where one does, or none. split: at which
    character cells were cut into items; None for no cut. fold_case: whether items that differ by capital letters alone
    are one. exclude: the items that are left out, a
    public list. min_basket: baskets of fewer different items, of those that are left, count as empty; None for all.
    together: "basket" where one basket has to contain an itemset, "user" where it is enough that a user had all of it.
    by, segment: the column of segments, and the one that this is of; None where there are none. max_segments: in how
    many of them a unit counts at most. query: whether a query chose the rows. catalogue: that the items were listed,
    and from where; None where they were not.
    """

    item: tuple[str, ...] = ()
    exclude: tuple[Item, ...] = ()
    min_basket: int | None = None
    together: str = BASKET
    by: str | None = None
    segment: str | None = None
    max_segments: int = 1
    query: bool = False
    basket: tuple[str, ...] = ()
    split: str | None = None
    fold_case: bool = False
    catalogue: Listed | None = None

    @classmethod
    def of(
        cls,
        *,
        exclude: Any = None,
        min_basket: Any = None,
        together: Any = None,
        by_user: bool,
        rules: bool = False,
        query: bool = False,
        by: str | None = None,
        fold_case: bool = False,
    ) -> Self:
        """Return what a caller asked for. exclude: a path or an iterable, as a catalogue is. by_user: of what is read.

        together: None for "user" where rules of users are asked for, so that both sides of a rule and the whole of it
        count the same (lift 1 is independence then), and for "basket" elsewhere.
        Raises ParameterError for what is out of range, or needs users, and DataError for a list that cannot be read.
        """
        if together is None:
            together = USER if rules and by_user else BASKET
        if together not in (BASKET, USER):
            raise ParameterError(f"{parameter('together')} must be one of {BASKET}, {USER}, not {shown(together)}")
        if together == USER and not by_user:
            raise ParameterError(
                f"{parameter('together')} {USER} needs {parameter('user')} too: the column that names the user"
            )
        least = None if min_basket is None else public_integer("min_basket", min_basket)
        listed = None if exclude is None else read_catalogue(exclude, fold_case=fold_case)
        items = () if listed is None else tuple(map(listed.label, range(len(listed))))
        return cls(exclude=items, min_basket=least, together=str(together), by=by, query=query, fold_case=fold_case)

    @property
    def excluded(self) -> Vocabulary | None:
        """The items that are left out; None for none."""
        return mixed_vocabulary(self.exclude)[0] if self.exclude else None

    def chooses_units(self, where: str | None) -> bool:
        """Whether rows were chosen by what they say, so that it is no public fact who is left. where: the condition.

        Under replace-one neighbours may then have different numbers of units (docs/privacy.md, "The number of units").
        """
        return where is not None or self.query or self.by is not None

    @property
    def unites(self) -> bool:
        """Whether all of a user's baskets are one."""
        return self.together == USER

    def has_lifts(self, unit: str) -> bool:
        """Tell whether lift 1 is independence: not where a pair must share a basket, and its items only a user.

        unit: of privacy.
        """
        return unit == BASKET or self.unites

    def check_cap(self, max_baskets: object) -> None:
        """Raise ParameterError for a cap on baskets where a user's are one."""
        if max_baskets is not None and self.unites:
            raise ParameterError(
                f"leave out {parameter('max_baskets')}: with {parameter('together')} {USER} all of a user's baskets "
                f"are one; or give {parameter('together')} {BASKET}"
            )

    def applied(self, transactions: Transactions) -> Transactions:
        """Return what counts of purchases: items are left out first, and then baskets."""
        if (excluded := self.excluded) is not None:
            transactions = transactions.without(excluded)
        if self.min_basket is not None:
            transactions = transactions.of_length(self.min_basket)
        return replace(transactions, together=self.unites)

    def read_from(self, read_as: ReadAs | None) -> Self:
        """Return this with the columns that name a basket or an item, where several do, and where cells were cut."""
        if read_as is None:
            return self
        item = read_as.items if read_as.form == "long" and len(read_as.items) > 1 else ()
        basket = read_as.baskets if len(read_as.baskets) > 1 else ()
        return replace(self, item=item, basket=basket, split=read_as.split)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; what was not asked for has no key."""
        values: dict[str, Any] = {
            "basket": [*self.basket] or None,
            "item": [*self.item] or None,
            "split": self.split,
            "fold_case": self.fold_case or None,
            "catalogue": None if self.catalogue is None else self.catalogue.to_dict(),
            "exclude": [*self.exclude] or None,
            "min_basket": self.min_basket,
            "together": None if self.together == BASKET else self.together,
            "by": self.by,
            "segment": self.segment,
            "max_segments": None if self.segment is None else self.max_segments,
            "query": self.query or None,
        }
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def of_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the scope of plain values."""
        names = ("min_basket", "together", "by", "segment", "max_segments", "query", "split", "fold_case")
        given: dict[str, Any] = {name: values[name] for name in names if name in values}
        given |= {name: tuple(values.get(name, ())) for name in ("basket", "item", "exclude")}
        if (listed := values.get("catalogue")) is not None:
            given["catalogue"] = Listed.of_dict(listed)
        return cls(**given)

    @property
    def charged(self) -> dict[str, Any]:
        """What a ledger keeps of it: no names of items, columns or segments."""
        united = self.together if self.unites else None
        values: dict[str, Any] = {"exclude": len(self.exclude) or None, "min_basket": self.min_basket}
        public = self.catalogue is not None and self.catalogue.items_are_public
        values |= {"together": united, "fold_case": self.fold_case or None, "items_are_public": public or None}
        return {name: value for name, value in values.items() if value is not None}

    def of_segment(self, segments: Segments, name: str) -> Self:
        """Return this of one segment."""
        return replace(self, by=segments.column, segment=name, max_segments=segments.most)

    @property
    def of_segment_only(self) -> str:
        """Which segment this is of, in a sentence."""
        return f"Only rows count whose {printable(self.by or '')} is {printable(self.segment or '')}."

    def _membership(self, unit: str) -> str:
        """Return in which segments a unit counts, in a sentence."""
        several = unit != BASKET
        where = "where it has the most baskets" if several else "of those that its rows name, the first in the list"
        if self.max_segments == 1:
            return f"A {unit} counts in one segment: {where}."
        return (
            f"A {unit} counts in at most {self.max_segments} segments: {where}; each has 1/{self.max_segments} of the "
            "budget."
        )

    def told(self, unit: str) -> tuple[str, ...]:
        """Return what counts, in sentences, as far as it is not everything. unit: of privacy."""
        sentences = []
        if self.segment is not None:
            sentences += [self.of_segment_only, self._membership(unit)]
        if self.query:
            sentences.append("Only rows were read that a query returned.")
        if self.basket:
            columns = " and ".join(repr(printable(column)) for column in self.basket)
            sentences.append(f"A basket is all rows with the same {columns}.")
        if self.split is not None:
            sentences.append(f"Each cell of items was cut at {printable(self.split)!r}.")
        if self.fold_case:
            sentences.append("Capital and small letters are not told apart.")
        if self.item:
            columns = " and ".join(repr(printable(column)) for column in self.item)
            sentences.append(f"An item is what the columns {columns} say together.")
        if self.catalogue is not None:
            sentences.append(self.catalogue.told())
        if self.exclude:
            items = [printable(str(item)) for item in self.exclude[:_TOLD]]
            more = len(self.exclude) - len(items)
            number = "1 item" if len(self.exclude) == 1 else f"{len(self.exclude):,} items"
            sentences.append(
                f"Left out, by a public list of {number}: {', '.join(items)}{f' and {more:,} more' if more else ''}."
            )
        if self.min_basket is not None and self.min_basket > 1:
            sentences.append(f"Baskets of fewer than {self.min_basket:,} items count as empty.")
        if self.together == USER:
            sentences.append("Items are together if one user ever had all of them, in whatever baskets.")
        return tuple(sentences)


def read_by(data: Any, reading: Options) -> tuple[str | None, bool, bool]:
    """Return the condition that chooses rows, None for none; whether a query does; and whether letters are folded.

    data: the purchases; of what was read before, it is how that was read.
    """
    if isinstance(data, Transactions):
        return data.where, data.query, data.fold_case
    return None if reading.where is None else str(reading.where), reading.query is not None, reading.fold_case
