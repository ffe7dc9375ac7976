"""An itemset that a selection found."""

from __future__ import annotations

from typing import NamedTuple

from fim_private.reading.vocabulary import Item


class Found(NamedTuple):
    """An itemset that a selection found. Its support is the true one: it must not leave.

    items: in the order of labels; None for the outcome without a name. support: in units.
    doubtful: whether, by noise alone, it may not be among those that were sought; None where nothing tells.
    """

    items: tuple[Item, ...] | None
    support: int
    doubtful: bool | None = None
