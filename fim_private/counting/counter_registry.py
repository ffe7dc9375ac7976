"""The counters there are, and which of them counts: compiled where it was built, in numpy where it was not."""

from __future__ import annotations

from functools import partial

from fim_private.counting.counter import Counter, MakeCounter
from fim_private.counting.item_counter import ItemCounter
from fim_private.counting.portable_counter import PortableCounter
from fim_private.counting.work_limit import Effort
from fim_private.dp.parameters import positive_integer
from fim_private.errors import ParameterError, parameter
from fim_private.reading.transactions import Transactions

COUNTERS: dict[str, MakeCounter] = {"numpy": PortableCounter}
try:
    from fim_private.counting.compiled_counter import LARGEST_SIZE, CompiledCounter
except ImportError:  # built without a compiler
    LARGEST_SIZE = 0
else:
    COUNTERS = {"compiled": CompiledCounter, **COUNTERS}


def active_counter() -> str:
    """Return the name of the counter in use: the first of COUNTERS."""
    return next(iter(COUNTERS))


def counter_for(
    transactions: Transactions, size: int, min_support: int, effort: Effort | None = None, name: str | None = None
) -> Counter:
    """Return a counter of the itemsets of that size and at least that support.

    size: items, >= 1. min_support: units, >= 1. name: one of COUNTERS; the fastest that can do it unless given.
    Raises ParameterError for a number out of range, or another name.
    """
    size, min_support = positive_integer("size", size), positive_integer("min_support", min_support)
    min_support = min(min_support, transactions.baskets + 1)  # no support is larger, and some fit in no array
    if name is not None and name not in COUNTERS:
        raise ParameterError(f"{parameter('counter')} must be one of {', '.join(COUNTERS)}, not {name!r}")
    if name is None and (size > LARGEST_SIZE or transactions.baskets >= 1 << 31):
        name = "numpy"
    make = partial(COUNTERS[name or active_counter()], transactions, size, min_support, effort or Effort())
    return ItemCounter(make(), min_support) if size == 1 else make()
