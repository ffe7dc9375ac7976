"""Levels as far as they are read: rounds of counting from the top, and the rest at once where that costs no more."""

from __future__ import annotations

from collections.abc import Iterator

from fim_private.counting.counter import Counter
from fim_private.errors import WorkLimitError
from fim_private.spectrum import Level

# A reader of the top reads this many itemsets first, and then so many times more again and again.
_FIRST_ITEMSETS = 1024
_MORE_ITEMSETS = 16
# The rest comes in one pass where that is no more than the work already done. Who reads on from this many itemsets
# likely wants all: for them it may be so many times as much. What is done is a small part of any more than that.
_ENOUGH_ITEMSETS = 1 << 14
_WORTH_FINISHING = 16


def lazy_levels(counter: Counter, min_support: int) -> Iterator[Level]:
    """Yield the levels of at least that support, descending; each round some times as many itemsets as the one before.

    min_support: units, >= 1. Raises WorkLimitError where the next level takes more steps than allowed.
    """
    top, wanted, read, done, within_limit = counter.top(None, _FIRST_ITEMSETS), _FIRST_ITEMSETS, 0, 0, True
    yield from top.levels
    while top.floor > min_support:
        read += sum(multiplicity for _, multiplicity in top.levels)
        done += top.work
        wanted *= _MORE_ITEMSETS
        rest = None
        if within_limit and counter.most_work <= done * (_WORTH_FINISHING if read >= _ENOUGH_ITEMSETS else 1):
            try:
                rest = counter.top(top.floor, None)
            except WorkLimitError:  # out of reach as a whole: who wants only some more can still have them
                within_limit = False
        top = counter.top(top.floor, wanted) if rest is None else rest
        yield from top.levels
