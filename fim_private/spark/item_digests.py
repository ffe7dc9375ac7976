"""Items as numbers of 64 bits, by which tasks agree on codes without a list of all names.

The driver holds the digests of all items in the order of their labels: an item's code is the place of its digest. Two
items of one digest are noticed when the list is made, and it is made anew with another salt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from fim_private.reading.vocabulary import INTEGER_TOKEN, Item, Vocabulary
from fim_private.spark.check_cells import changed


def digest(item: Item, salt: int) -> int:
    """Return an item as a whole number of 64 bits with a sign. salt: 0 to 255."""
    kind = b"i" if isinstance(item, int) else b"s"
    made = blake2b(kind + str(item).encode(), digest_size=8, salt=bytes([salt])).digest()
    return int.from_bytes(made, "little", signed=True)


@dataclass(frozen=True)
class ItemDigests:
    """The digests of all items, (count,) int64, all different, in the order of the items' labels.

    salt: that they were made with. left_out: the codes of items that do not count.
    """

    digests: NDArray[np.int64]
    salt: int
    left_out: frozenset[int] = frozenset()

    def __len__(self) -> int:
        """How many items there are."""
        return len(self.digests)

    def __reduce__(self) -> tuple[type[ItemDigests], tuple[object, ...]]:
        """Leave out what was sorted: it is sent to every task, and takes three times as much."""
        return ItemDigests, (self.digests, self.salt, self.left_out)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.digests, kind="stable")

    @cached_property
    def _sorted(self) -> NDArray[np.int64]:
        return self.digests[self._order]

    def code(self, item: Item) -> int | None:
        """Return the code of an item; None for one that is not among them."""
        wanted = digest(item, self.salt)
        place = int(np.searchsorted(self._sorted, wanted))
        if place == len(self) or int(self._sorted[place]) != wanted:
            return None
        return int(self._order[place])

    def codes_in(self, listed: Vocabulary) -> NDArray[np.int32]:
        """Return for each code the code of the same label in a public list, or -1: (count,) int32.

        By the rule of `Vocabulary.codes_in`: what the list lacks is looked for in its other form, 39 for "39".
        """
        labels = [listed.label(code) for code in range(len(listed))]
        found = np.full(len(self), -1, dtype=np.int32)
        exact = {label: code for label in labels if (code := self.code(label)) is not None}
        for number, label in enumerate(labels):
            for other in _other_forms(label):
                if (code := self.code(other)) is not None:
                    found[code] = number
        for number, label in enumerate(labels):  # these come before the others
            if label in exact:
                found[exact[label]] = number
        return found


class ItemCodes(dict[Item, int]):
    """The code of each item, -2 - code for one that is left out; found when it is first asked for.

    Raises DataError for an item that was not there when the items were numbered.
    """

    def __init__(self, digests: ItemDigests) -> None:
        super().__init__()
        self._digests = digests

    def __missing__(self, item: Item) -> int:
        code = self._digests.code(item)
        if code is None:
            raise changed()
        self[item] = -2 - code if code in self._digests.left_out else code
        return self[item]


class NewItems(dict[Item, int]):
    """Numbers items as they are first asked for, and notes them in `fresh`."""

    def __init__(self) -> None:
        super().__init__()
        self.fresh: list[Item] = []

    def __missing__(self, item: Item) -> int:
        self[item] = number = len(self)
        self.fresh.append(item)
        return number


def _other_forms(label: Item) -> Iterable[Item]:
    """Yield the label of the other kind that means the same item where the list has not that itself."""
    if isinstance(label, int):
        # Of texts only those that are no longer than a token are numbers.
        if re.fullmatch(INTEGER_TOKEN, str(label)):
            yield str(label)
    elif re.fullmatch(r"0|-?[1-9][0-9]{0,18}", label) and -(2**63) <= int(label) < 2**63:
        yield int(label)
