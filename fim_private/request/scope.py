"""The rows that count, and what an item is: public choices, which a release states."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from fim_private.display import item_name, printable
from fim_private.dp.charge import Span
from fim_private.errors import ParameterError, parameter, shown
from fim_private.options.declaration import OptionValues
from fim_private.periods import in_words, plain_promise
from fim_private.reading.columns import ReadAs
from fim_private.reading.labels import Item, Vocabulary, mixed_vocabulary
from fim_private.reading.locations import source_of
from fim_private.reading.options import Reading
from fim_private.reading.purchases import read_catalogue, reads_users
from fim_private.reading.transactions import Transactions
from fim_private.request.itemsets import KnownFrom, Listed

BASKET, USER = "basket", "user"
_MOST_NAMED = 5  # a sentence names so many items of a list
_CHARGED = ("min_basket", "together", "fold_case", "time_format")


@dataclass(frozen=True)
class Scope:
    """Which purchases count, and what an item is: public choices, which a release states.

    Each unit alone decides which of its items, baskets and rows count.

    Attributes:
        unit_columns: The columns that name the privacy unit; empty if none does.
        basket: The columns that name a basket together; empty if one column or none does.
        item: The columns that name an item together; empty if one column or none does.
        split: The text at which each cell of items was cut.
        fold_case: Whether capital and small letters are the same.
        catalogue: The public list of items.
        known_from: Where the known itemsets come from.
        with_items: The public items that every itemset sought has.
        with_each: The items that are asked about together, each in a release of its own.
        exclude: The items that are left out.
        groups: The columns of groups that are released together, each in a release of its own.
        min_basket: Baskets of fewer different items (without those left out) count as empty.
        together: "user" if it is enough that a user had all of an itemset in several baskets.
        by: The column of segments.
        segment: The segment that this is of.
        max_segments: In how many segments or periods a unit counts at most.
        query: Whether a query chose the rows.
        time: The column of times, by which a basket is of a period.
        time_format: How times are written, in the column and in the condition.
        period: The period that this is of.
        per: If a unit is what a user buys in one period: its kind, of `periods.KINDS_OF_PROMISE`.
        missing_time: The rule for rows without a time.
    """

    unit_columns: tuple[str, ...] = ()
    basket: tuple[str, ...] = ()
    item: tuple[str, ...] = ()
    split: str | None = None
    fold_case: bool = False
    catalogue: Listed | None = None
    known_from: KnownFrom | None = None
    with_items: tuple[Item, ...] = ()
    with_each: tuple[Item, ...] = ()
    exclude: tuple[Item, ...] = ()
    groups: tuple[str, ...] = ()
    min_basket: int | None = None
    together: str = BASKET
    by: str | None = None
    segment: str | None = None
    max_segments: int = 1
    query: bool = False
    time: str | None = None
    time_format: str | None = None
    period: str | None = None
    per: str | None = None
    missing_time: str | None = None

    @property
    def items_are_public(self) -> bool:
        """Whether all items of the data were taken to be public.

        The guarantee is then among data with the same items.
        """
        return self.catalogue is not None and self.catalogue.items_are_public

    @property
    def excluded(self) -> Vocabulary | None:
        """The items that are left out; None if there are none."""
        if not self.exclude:
            return None
        return mixed_vocabulary(self.exclude)[0]

    def kept(self, items: Vocabulary) -> Vocabulary:
        """Return items without those that are left out."""
        excluded = self.excluded
        return items if excluded is None else items.without(excluded)

    def chooses_units(self, where: str | None) -> bool:
        """Whether rows were chosen by their content: it is then no public fact who is left.

        where: the condition that chose rows.
        """
        return where is not None or self.query or self.by is not None or self.time is not None

    @property
    def units_of_user(self) -> int:
        """How many units a user may be in it, if a unit is a user's period."""
        return self.span.units_of_user

    @property
    def span(self) -> Span:
        """The period, and what decides which unit is of it."""
        return Span(self.time or "", self.unit_columns, self.per, self.period)

    @property
    def per_in_words(self) -> str | None:
        """What `per` is called, such as "month"; None for nothing."""
        return None if self.per is None else in_words(self.per)

    @property
    def periods(self) -> list[str]:
        """The names of the periods: several for all releases together."""
        if self.period is None:
            return []
        return self.period.split(", ")

    @property
    def part(self) -> str | None:
        """The segment, period, item or level of groups that this is of.

        It is None for all purchases.
        """
        if self.groups and self.catalogue is not None:
            return self.catalogue.group
        if self.with_each:
            return ", ".join(map(item_name, self.with_items))
        return self.period if self.segment is None else self.segment

    @property
    def with_in_words(self) -> str:
        """With which public items itemsets were sought: " with tea and milk", or nothing."""
        names = " and ".join(map(item_name, self.with_items))
        return f" with {names}" if names else ""

    @property
    def unites(self) -> bool:
        """Whether all of a user's baskets count as one."""
        return self.together == USER

    def has_lifts(self, unit: str) -> bool:
        """Tell whether a lift of 1 means independence.

        It does not if a pair must share a basket, and its items only a user.
        """
        return unit == BASKET or self.unites

    def applied(self, transactions: Transactions) -> Transactions:
        """Return the purchases that count: items are left out first, and then baskets."""
        excluded = self.excluded
        if excluded is not None:
            transactions = transactions.without(excluded)
        if self.min_basket is not None:
            transactions = transactions.of_length(self.min_basket)
        return replace(transactions, together=self.unites)

    def read_from(self, read_as: ReadAs | None) -> Self:
        """Return the scope with the columns that name a unit, or a basket or an item together.

        It also has the text at which cells were cut. read_as: how the purchases were read.
        """
        if read_as is None:
            return self
        item = read_as.items if read_as.form == "long" and len(read_as.items) > 1 else ()
        basket = read_as.baskets if len(read_as.baskets) > 1 else ()
        unit = read_as.baskets if read_as.user is None else (read_as.user,)
        return replace(self, unit_columns=unit, item=item, basket=basket, split=read_as.split)

    def to_dict(self) -> dict[str, object]:
        """Return plain values; what was not asked for has no key."""
        values: dict[str, object] = vars(self) | {"per": None} | plain_promise(self.per)
        values |= {
            "basket": [*self.basket],
            "item": [*self.item],
            "with_items": [*self.with_items],
            "with_each": [*self.with_each],
            "exclude": [*self.exclude],
            "groups": [*self.groups],
            "catalogue": self.catalogue and self.catalogue.to_dict(),
            "known_from": self.known_from and self.known_from.to_dict(),
        }
        if self.segment is None and self.max_segments == 1:
            values["max_segments"] = None
        if not self.unites:
            values["together"] = None
        return {name: value for name, value in values.items() if value or value == ""}

    @property
    def recorded(self) -> dict[str, object]:
        """What a ledger records of it: no names of items, columns or segments."""
        recorded = {name: value for name, value in self.to_dict().items() if name in _CHARGED}
        # Of several questions, each is about one item.
        for name in ("exclude", "with_each", "with_items"):
            items = vars(self)[name]
            if items:
                recorded[name] = len(items)
        if self.catalogue is not None and self.catalogue.group is not None:
            recorded["groups"] = max(len(self.groups), 1)
        if self.items_are_public:
            recorded["items_are_public"] = True
        return recorded

    def sentences(self, unit: str) -> tuple[str, ...]:
        """Return in sentences which purchases count, if not all do. unit: what one is called."""
        return (*self._part_in_words(unit), *self._rows_in_words(unit))

    def _part_in_words(self, unit: str) -> Iterator[str]:
        most, periods = self.max_segments, self.periods
        if self.segment is not None:
            first = "of those that its rows name, the first in the list"
            if unit != BASKET:
                first = "where it has the most baskets"
            segments = f"at most {most} segments: {first}; each has 1/{most} of the budget"
            if most == 1:
                segments = f"one segment: {first}"
            yield f"Only rows where {printable(self.by or '')} is {printable(self.segment)} count."
            yield f"A {unit} counts in {segments}."
        if len(periods) > 2:
            periods = [periods[0], "…", periods[-1]]
        if periods:
            yield (
                f"Only baskets of {', '.join(periods)} count. A basket belongs to the day of its "
                f"earliest row, by {printable(self.time or '')}."
            )
        if periods and most > 1:
            whose = unit if self.per is None else f"{unit}'s {self.per_in_words}"
            yield f"A {whose} counts in up to {most} periods: each has 1/{most} of the budget."
        if self.time_format:
            yield f"Times are written as {printable(self.time_format)}."
        if self.missing_time:
            yield "Rows without a time were left out."

    def _rows_in_words(self, unit: str) -> Iterator[str]:
        if self.query:
            yield "Only rows that a query returned were read."
        if self.basket:
            yield f"A basket is all rows with the same {_named(self.basket)}."
        if self.split is not None:
            yield f"Each cell of items was cut at {printable(self.split)!r}."
        if self.fold_case:
            yield "Capital and small letters are the same."
        if self.item:
            yield f"An item is what the columns {_named(self.item)} say together."
        if self.catalogue is not None:
            yield self.catalogue.sentences()
        yield from self._question_in_words()
        number = len(self.exclude)
        if number:
            named = _items_in_words(self.exclude)
            verb = "item is" if number == 1 else "items are"
            yield f"By a public list, {number:,} {verb} left out: {named}."

        if self.known_from is not None:
            yield self.known_from.sentences()
        if self.min_basket is not None and self.min_basket > 1:
            yield f"Baskets of fewer than {self.min_basket:,} items count as empty."
        if self.unites:
            yield (
                f"An itemset counts all {unit}s who ever bought all of it, in one basket or in "
                "several."
            )

    def _question_in_words(self) -> Iterator[str]:
        """Yield with which items itemsets were sought, and what shares the budget."""
        if self.with_items:
            yield f"Only itemsets{self.with_in_words} were sought: a public choice."
        if self.groups:
            yield (
                f"{len(self.groups)} levels of groups were counted: each has an equal part of the "
                f"budget."
            )
        if self.with_each:
            yield (
                f"{len(self.with_each):,} items were asked about together: the budget for counting "
                f"and for supports has an equal part for each."
            )


def _items_in_words(items: Sequence[Item]) -> str:
    named, more = ", ".join(map(item_name, items[:_MOST_NAMED])), len(items) - _MOST_NAMED
    return f"{named} and {more:,} more" if more > 0 else named


def _named(columns: Sequence[str]) -> str:
    return " and ".join(repr(printable(column)) for column in columns)


def checked_together(together: object, *, by_user: bool, rules: bool) -> str:
    """Return whether an itemset counts by "basket" or by "user"; ParameterError for anything else.

    None stands for baskets; for users if rules of users are asked for, so that a lift of 1 means
    independence.
    """
    if together is None:
        return USER if rules and by_user else BASKET
    if together not in (BASKET, USER):
        raise ParameterError(
            f"{parameter('together')} must be one of {BASKET}, {USER}, not {shown(together)}"
        )
    if together == USER and not by_user:
        raise ParameterError(
            f"{parameter('together')} {USER} needs {parameter('user')} too: the column that names "
            f"the user"
        )
    return str(together)


def listed_items(listing: object, *, fold_case: bool) -> tuple[Item, ...]:
    """Return the items of a list or a file, none for None; DataError if it cannot be read."""
    if listing is None:
        return ()
    vocabulary = read_catalogue(listing, fold_case=fold_case)
    return tuple(map(vocabulary.label, range(len(vocabulary))))


def rows_read(data: object, reading: Reading) -> tuple[str | None, Scope]:
    """Return the condition by which rows are read, or were if they have been read already.

    The scope is that of all rows that it chooses: how an item and a time are read.
    """
    if isinstance(data, Transactions):
        reading = data.reading
    where = None if reading.where is None else str(reading.where)
    time_format = None if reading.time_format is None else str(reading.time_format)
    scope = Scope(query=reading.from_query, fold_case=reading.fold_case, time_format=time_format)
    return where, scope


def counts_users(data: object, values: OptionValues) -> bool:
    """Tell from public choices whether the units will be users. values: all options of a call."""
    if isinstance(data, Transactions):
        return data.by_user
    return reads_users(source_of(data), values["user"], values["input_format"], values["basket"])
