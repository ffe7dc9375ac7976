"""Questions with a name: what to ask of each block of purchases, and how an answer to it is written.

Each is asked for its best answers, as many as a block may give. They are counted by the counter of itemsets
(`fim_private.counting`), and follow from the block alone, ties included.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fim_private import options
from fim_private.counting.counter import Counter
from fim_private.counting.source import counter_for
from fim_private.dp.cost import at_least
from fim_private.dp.parameters import whole_number
from fim_private.errors import ParameterError, parameter, shown
from fim_private.reading.labels import Item
from fim_private.reading.transactions import Transactions
from fim_private.release.words import braces
from fim_private.request.supports import exact_share

# A block with more itemsets to compare than this has no vote: to list them would take too much memory.
_MOST_LISTED = 1 << 21
_LARGEST_SIZE = 16
# Ratios that differ by less, relatively, are compared exactly.
_NEARLY = 1e-9


class TooManyError(Exception):
    """A block has more itemsets than are compared. It never leaves: such a block has no vote."""


class Question(ABC):
    """A question with a name.

    of_rules: whether it compares what units have together with what they have of each item, as rules do. of_lift:
    whether it compares that with independence.
    """

    name: ClassVar[str]
    of_rules: ClassVar[bool] = False
    of_lift: ClassVar[bool] = False

    def __call__(self, block: Transactions) -> list[tuple[Any, ...]]:
        """Return the best answer of a block, in a list, which is empty where there is none."""
        return self.best(block, 1)

    @abstractmethod
    def best(self, block: Transactions, count: int) -> list[tuple[Any, ...]]:
        """Return the best answers of a block, at most count >= 1, the best one first."""

    @property
    @abstractmethod
    def asked(self) -> dict[str, int | Fraction]:
        """Its public parameters, as exact numbers."""

    @abstractmethod
    def told(self, unit: str) -> str:
        """Return what is asked, in words. unit: of privacy."""

    def plain(self, answer: tuple[Any, ...]) -> dict[str, Any]:
        """Return an answer as plain values."""
        return {"items": list(answer)}

    def text(self, answer: tuple[Any, ...], unit: str) -> str:
        """Return an answer as text. unit: of privacy."""
        return braces(answer, unit)


@dataclass(frozen=True)
class _OfPairs(Question):
    """A question about pairs of items that many units have.

    min_share: above 0 and below 1, as 0.04, "0.04", "4%" or a Fraction; the pair has to be in so many of the block's
        units, as a share of them.
    Raises ParameterError for another.
    """

    of_rules: ClassVar[bool] = True
    min_share: float | Fraction | str

    def __post_init__(self) -> None:
        exact_share("min_share", self.min_share)

    @property
    def asked(self) -> dict[str, int | Fraction]:
        """Its public parameters, as exact numbers."""
        return {"min_share": exact_share("min_share", self.min_share)}

    def _among(self, unit: str) -> str:
        """Return which pairs are compared, in words."""
        percent = 100 * exact_share("min_share", self.min_share)
        return f"among pairs of items that {at_least(percent)} % of the {unit}s have"

    def _pairs(self, block: Transactions) -> tuple[Counter, NDArray[np.int64], NDArray[np.int64]]:
        """Return a counter, the codes of the pairs that units enough have, (m, 2) and ascending, and their supports."""
        least = max(1, math.ceil(exact_share("min_share", self.min_share) * block.units))
        counter = counter_for(block, 2, least)
        top = counter.top(None, _MOST_LISTED)
        if top.floor > least or sum(multiplicity for _, multiplicity in top.levels) > _MOST_LISTED:
            raise TooManyError
        if not top.levels:
            return counter, np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)
        codes, supports = counter.itemsets(least, block.units)
        codes = np.sort(codes.reshape(-1, 2), axis=1)
        order = np.lexsort((codes[:, 1], codes[:, 0]))  # codes are in the order of labels
        return counter, codes[order], supports[order]


@dataclass(frozen=True)
class HighestLift(_OfPairs):
    """Which pair of items has the highest lift, of those that at least min_share of a block's units have.

    The lift of a and b is n x / (y z), with x of n units that have both, y that have a and z that have b.
    An answer is the pair, in label order.

    >>> from fim_private.reading import read_transactions
    >>> shop = read_transactions([["gin", "tonic"]] * 5 + [["bread", "milk"]] * 30 + [["bread"], ["milk"]] * 30)
    >>> HighestLift(min_share=0.02)(shop)
    [('gin', 'tonic')]
    """

    name: ClassVar[str] = "highest-lift"
    of_lift: ClassVar[bool] = True

    def best(self, block: Transactions, count: int) -> list[tuple[Any, ...]]:
        """Return the pairs of highest lift; see `Question.best`."""
        counter, codes, supports = self._pairs(block)
        items = counter.item_supports
        return [
            _labels(block, codes[place]) for place in _highest(supports, items[codes[:, 0]] * items[codes[:, 1]], count)
        ]

    def told(self, unit: str) -> str:
        """Return what is asked, in words."""
        return f"the highest lift {self._among(unit)}"


@dataclass(frozen=True)
class HighestConfidence(_OfPairs):
    """Which rule a → b has the highest confidence, of pairs that at least min_share of a block's units have.

    The confidence of a → b is x / y, with x units that have both and y that have a. An answer is ((a,), (b,)).

    >>> from fim_private.reading import read_transactions
    >>> shop = read_transactions([["gin", "tonic"]] * 5 + [["tonic"]] * 5 + [["bread"]] * 90)
    >>> HighestConfidence(min_share=0.02)(shop)
    [(('gin',), ('tonic',))]
    """

    name: ClassVar[str] = "highest-confidence"

    def best(self, block: Transactions, count: int) -> list[tuple[Any, ...]]:
        """Return the rules of highest confidence; see `Question.best`."""
        counter, codes, supports = self._pairs(block)
        rules = np.concatenate([codes, codes[:, ::-1]])
        places = _highest(np.concatenate([supports, supports]), counter.item_supports[rules[:, 0]], count)
        return [tuple((label,) for label in _labels(block, rules[place])) for place in places]

    def told(self, unit: str) -> str:
        """Return what is asked, in words."""
        return f"the rule of highest confidence {self._among(unit)}"

    def plain(self, answer: tuple[Any, ...]) -> dict[str, Any]:
        """Return an answer as plain values."""
        antecedents, consequents = answer
        return {"antecedents": list(antecedents), "consequents": list(consequents)}

    def text(self, answer: tuple[Any, ...], unit: str) -> str:
        """Return an answer as text."""
        return " → ".join(braces(side, unit) for side in answer)


@dataclass(frozen=True)
class MostFrequent(Question):
    """Which itemset of a size the most of a block's units have.

    size: items, 1 to 16. An answer is the itemset, in label order. (To find it in all of the data, `mine` needs less.)
    Raises ParameterError for another size.

    >>> from fim_private.reading import read_transactions
    >>> MostFrequent(size=1)(read_transactions([["bread", "milk"], ["milk"], []]))
    [('milk',)]
    """

    size: int = options.SIZE
    name: ClassVar[str] = "most-frequent"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number("size", self.size, least=1, most=_LARGEST_SIZE))

    @property
    def asked(self) -> dict[str, int | Fraction]:
        """Its public parameters, as exact numbers."""
        return {"size": self.size}

    def best(self, block: Transactions, count: int) -> list[tuple[Any, ...]]:
        """Return the itemsets that most units have; see `Question.best`."""
        counter = counter_for(block, self.size, 1)
        found: list[tuple[Any, ...]] = []
        for support, multiplicity in counter.top(None, count).levels:
            places = range(min(multiplicity, count - len(found)))
            found += [_labels(block, sorted(counter.locate(support, place))) for place in places]
            if len(found) == count:
                break
        return found

    def told(self, unit: str) -> str:
        """Return what is asked, in words."""
        return f"the most frequent {'item' if self.size == 1 else f'itemset of {self.size} items'}"


QUESTIONS: dict[str, type[Question]] = {kind.name: kind for kind in (HighestLift, HighestConfidence, MostFrequent)}


def named_question(name: str, *, min_share: float | Fraction | str | None = None, size: int | None = None) -> Question:
    """Return the question of a name: "highest-lift", "highest-confidence" or "most-frequent".

    min_share: of the first two, which need it. size: of the last one; 2 unless given.
    Raises ParameterError for another name, and for what a question needs or has no use for.
    """
    if name not in QUESTIONS:
        raise ParameterError(f"{parameter('question')} must be one of {', '.join(QUESTIONS)}, not {shown(name)}")
    if name == MostFrequent.name:
        if min_share is not None:
            raise ParameterError(
                f"leave out {parameter('min_share')}: {parameter('question')} {name} has no use for it"
            )
        return MostFrequent(options.SIZE if size is None else size)
    if size is not None:
        raise ParameterError(f"leave out {parameter('size')}: {parameter('question')} {name} is about pairs")
    if min_share is None:
        raise ParameterError(
            f"{parameter('question')} {name} needs {parameter('min_share')}: which share of a block must have a pair "
            "for it to count, such as 0.04"
        )
    return HighestLift(min_share) if name == HighestLift.name else HighestConfidence(min_share)


def _highest(above: NDArray[np.int64], below: NDArray[np.int64], count: int) -> list[int]:
    """Return the places of the highest ratios above / below, at most count, in descending order, exactly.

    above, below: (m,), >= 1. Those that are equal come in their order.
    """
    if not len(above):
        return []
    ratios = above / below.astype(np.float64)
    cut = np.partition(ratios, -count)[-count] if count < len(ratios) else ratios.min()
    near = _first_of_equals(np.flatnonzero(ratios >= cut * (1 - _NEARLY)), above, below, count).tolist()
    return sorted(near, key=lambda place: Fraction(-int(above[place]), int(below[place])))[:count]


def _first_of_equals(
    places: NDArray[np.int64], above: NDArray[np.int64], below: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Return places in their order, but of those with the same two numbers the first `count` alone.

    places: (m,) ascending, m >= 1. Those left out cannot be among the first `count`, and there may be millions of them.
    """
    order = places[np.lexsort((below[places], above[places]))]  # stable: equal ones stay in their order
    differs = (np.diff(above[order], prepend=0) != 0) | (np.diff(below[order], prepend=0) != 0)
    number = np.arange(len(order))
    rank = number - np.maximum.accumulate(np.where(differs, number, 0))
    return np.sort(order[rank < count])


def _labels(block: Transactions, codes: Iterable[int]) -> tuple[Item, ...]:
    """Return the labels of codes, in their order."""
    return tuple(block.vocabulary.label(int(code)) for code in codes)
