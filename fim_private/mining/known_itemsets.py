"""Itemsets that are public before they are counted: given by the caller, or parts of what is released already."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fim_private.counting.source import SupportSource
from fim_private.counting.universe import Catalogue
from fim_private.reading.vocabulary import INTEGER_TOKEN, Item, Vocabulary, mixed_vocabulary

# Sets of at most so many different items are looked for in one pass: tables grow with the square of that number.
_ITEMS_AT_ONCE = 8_192


@dataclass(frozen=True)
class GivenItemsets:
    """Itemsets in the order given, all different.

    itemsets: (k,) their items, each once, in the order of the vocabulary. vocabulary: of all their items.
    codes: (k,) the codes of their items in it, ascending.
    """

    itemsets: tuple[tuple[Item, ...], ...]
    vocabulary: Vocabulary
    codes: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many items they have, ascending, each number once."""
        return tuple(sorted({len(itemset) for itemset in self.itemsets}))

    @classmethod
    def of(cls, itemsets: Iterable[Collection[Item]], *, exactly: bool = False) -> GivenItemsets:
        """Return them with codes of their own. itemsets: at least one, none of them empty or given twice.

        exactly: whether 39 and "39" are two items. Otherwise they are one, where only one of them is given.
        """
        sets = list(itemsets)
        labels = list(dict.fromkeys(item for itemset in sets for item in itemset))
        if exactly:  # each is then taken for itself, since the other is in the list, too
            labels = list(dict.fromkeys([*labels, *(twin for label in labels for twin in _twin(label))]))
        vocabulary, code = mixed_vocabulary(labels)
        code_of = dict(zip(labels, code.tolist(), strict=True))
        label_of = {number: label for label, number in code_of.items()}
        codes = tuple(tuple(sorted(code_of[item] for item in itemset)) for itemset in sets)
        return cls(tuple(tuple(label_of[number] for number in own) for own in codes), vocabulary, codes)


def _twin(label: Item) -> Iterator[Item]:
    """Yield the label of the other kind that has the same digits, if there is one."""
    if isinstance(label, int):
        yield str(label)
    elif re.fullmatch(INTEGER_TOKEN, label) and abs(int(label)) < 2**63:
        yield int(label)


def parts_of(itemsets: Collection[tuple[Item, ...]]) -> list[tuple[Item, ...]]:
    """Return every part of these itemsets that is not among them: not empty, each once, the small ones first.

    itemsets: items in one order, as a release has them; the parts keep it.
    """
    known = {frozenset(itemset) for itemset in itemsets}
    parts = {
        frozenset(part): part
        for itemset in itemsets
        for size in range(1, len(itemset))
        for part in combinations(itemset, size)
    }
    return sorted((part for key, part in parts.items() if key not in known), key=len)


def supports_of(given: GivenItemsets, source: SupportSource) -> list[int]:
    """Return how many units have each of the itemsets: (k,), in their order. They must not leave.

    Items that no unit has are counted like all others. Raises WorkLimitError where counting is out of reach.
    """
    items = source.items(Catalogue(given.vocabulary))
    supports: dict[tuple[int, ...], int] = {}
    if singles := [codes for codes in given.codes if len(codes) == 1]:
        each = np.append(0, np.ones(len(given.vocabulary), dtype=np.int64))
        sums = items.sums(each)
        supports |= {codes: int(sums[codes[0]]) for codes in singles}
    for together in _passes(sorted(codes for codes in given.codes if len(codes) > 1)):
        used = sorted({code for codes in together for code in codes})
        number = {code: place for place, code in enumerate(used)}
        by_size: dict[int, list[tuple[int, ...]]] = {}
        for codes in together:
            by_size.setdefault(len(codes), []).append(codes)
        sets = [np.array([[number[c] for c in codes] for codes in own], dtype=np.int32) for own in by_size.values()]
        counts = items.among(np.array(used, dtype=np.int64))
        sums = counts.sums(sets, np.append(0, np.ones(len(together), dtype=np.int64)))
        in_order = [codes for own in by_size.values() for codes in own]
        supports |= dict(zip(in_order, map(int, sums.tolist()), strict=True))
    return [supports[codes] for codes in given.codes]


def _passes(ordered: Sequence[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    """Yield the itemsets in parts that have no more different items than one pass may look for."""
    part: list[tuple[int, ...]] = []
    used: set[int] = set()
    for codes in ordered:
        if part and len(used) + sum(code not in used for code in codes) > _ITEMS_AT_ONCE:
            yield part
            part, used = [], set()
        part.append(codes)
        used.update(codes)
    if part:
        yield part
