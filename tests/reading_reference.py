"""What reading means, said slowly in plain Python: rows to units, to baskets, to supports. A test
oracle only.

Dictionaries and sets of Python values, no arrays, and no code of the package. A row is (user,
basket, items), with the values that are in the source. What is not said here is which baskets of a
user count under a cap: that may be any of them, so long as it follows from the user's own.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

Label = int | str
Basket = frozenset[Label]
Row = tuple[Any, Any, Sequence[Any]]

INTEGER = re.compile(r"(0|-?[1-9][0-9]{0,17})(\.0+)?")


@dataclass(frozen=True)
class Meaning:
    """How rows are to be read. by_user: whether units are users. has_ids: whether rows name their
    basket.

    missing_user: "drop" or "own-unit".
    """

    by_user: bool = True
    has_ids: bool = True
    missing_user: str = "drop"


# What pandas' read_csv takes for missing, and what databases write.
_NONE = (
    "NULL null None NaN nan -NaN -nan NA N/A n/a #NA #N/A <NA> -1.#IND -1.#QNAN 1.#IND 1.#QNAN \\N"
)
NONE = {"", "#N/A N/A", *_NONE.split()}


def bare(value: Any) -> Any:
    """A text or bytes without white space; None for what stands for none. Else as it is."""
    if isinstance(value, str | bytes):
        value = value.strip()
        text = value if isinstance(value, str) else value.decode("latin-1")
        return None if text in NONE else value
    # A NaN is the only value that is not itself.
    return value if value == value else None


def label(value: Any) -> Label | None:
    """The label of one item, which no other row has a part in; None for no item."""
    value = bare(value)
    if value is None:
        return None
    if isinstance(value, float):
        value = int(value) if value == int(value) else repr(value)
    found = INTEGER.fullmatch(str(value))
    return int(found[1]) if found else str(value)


def _id(value: Any) -> Any:
    """What an identifier is: a text that is an integer in print is that; None for none."""
    value = bare(value)
    if not isinstance(value, str | bytes):
        return value
    found = INTEGER.fullmatch(value if isinstance(value, str) else value.decode("latin-1"))
    return int(found[1]) if found else value


def _place(number: int, row: Row, meaning: Meaning) -> tuple[Hashable, Hashable] | None:
    """The unit and the basket of a row, by that row alone; None for a row that is left out.

    Python's equality is that of values: 0.0 is -0.0.
    """
    user, basket = map(_id, row[:2])
    if not meaning.has_ids:
        basket = number
    elif basket is None:
        return None
    if meaning.by_user and user is not None:
        return ("user", user), basket
    if meaning.by_user and meaning.missing_user == "drop":
        return None
    return ("a basket of its own", basket), basket


def held(rows: Iterable[Row], meaning: Meaning) -> dict[Hashable, dict[Hashable, set[Label]]]:
    """The baskets of each unit, by the unit's name and the basket's."""
    units: dict[Hashable, dict[Hashable, set[Label]]] = defaultdict(lambda: defaultdict(set))
    for number, row in enumerate(rows):
        if place := _place(number, row, meaning):
            found = (label(item) for item in row[2])
            units[place[0]][place[1]].update(item for item in found if item is not None)
    return units


def baskets(rows: Iterable[Row], meaning: Meaning) -> list[list[Basket]]:
    """The units, each a list of baskets; neither order means anything."""
    return [[*map(frozenset, unit.values())] for unit in held(rows, meaning).values()]


def parts(rows: Iterable[Row], meaning: Meaning) -> list[list[int]]:
    """Which rows are each unit's, by their numbers."""
    of_unit: dict[Hashable, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        if place := _place(number, row, meaning):
            of_unit[place[0]].append(number)
    return list(of_unit.values())


def supports(units: Iterable[Iterable[Basket]], size: int) -> Counter[frozenset[Label]]:
    """How many units have a basket that contains each itemset of one size."""
    held = ({frozenset(i) for basket in unit for i in combinations(basket, size)} for unit in units)
    return Counter(itemset for own in held for itemset in own)


def in_label_order(labels: Iterable[Label]) -> list[Label]:
    """Integers ascending, then texts by code point."""

    def place(found: Label) -> tuple[bool, int, str]:
        return (True, 0, found) if isinstance(found, str) else (False, found, "")

    return sorted(labels, key=place)


def cut(unit: Sequence[Basket], count: int) -> list[Basket]:
    """A unit with the first count distinct items of all its baskets together."""
    kept = set(in_label_order({item for basket in unit for item in basket})[:count])
    return [basket & kept for basket in unit]


def shortened(basket: Basket, count: int) -> Basket:
    return frozenset(in_label_order(basket)[:count])


def listed(unit: Sequence[Basket], catalogue: Collection[Label]) -> list[Basket]:
    """A unit with the items of a catalogue only."""
    return [basket & {*map(label, catalogue)} for basket in unit]


def unlisted(unit: Sequence[Basket], excluded: Collection[Label]) -> list[Basket]:
    """A unit without the items of a list."""
    return [basket - {*map(label, excluded)} for basket in unit]
