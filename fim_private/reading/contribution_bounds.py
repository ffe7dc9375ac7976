"""The contribution bound on a user's baskets: which of them count, a function of what is in them alone."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

# Two different baskets have one digest with a probability of 2^-128; then the order of their codes decides.
_DIGEST_BYTES = 16


def drawn(
    items: NDArray[np.int32],
    offsets: NDArray[np.int64],
    unit_offsets: NDArray[np.int64],
    digests: Mapping[int, bytes],
    count: int,
) -> NDArray[np.bool_]:
    """Return which baskets count where no unit may have more than count: (baskets,) bool.

    items, offsets, unit_offsets: as in Transactions. digests: of the label of each code.
    A unit of no more baskets keeps all. Of one with more, equal baskets are one, empty ones take no place, and of the
    others the first count stay in an order by digests of what is in them, mixed with that of the whole unit: else all
    units would lose the same itemsets. No step looks at two units.
    """
    counts = np.ones(len(offsets) - 1, dtype=bool)
    for unit in np.flatnonzero(np.diff(unit_offsets) > count).tolist():
        first, last = unit_offsets[unit : unit + 2].tolist()
        contents = (tuple(items[offsets[basket] : offsets[basket + 1]].tolist()) for basket in range(first, last))
        distinct = {codes: basket for basket, codes in enumerate(contents, first) if codes}
        counts[first:last] = False
        counts[_first(distinct, digests, count)] = True
    return counts


def _first(distinct: Mapping[tuple[int, ...], int], digests: Mapping[int, bytes], count: int) -> list[int]:
    """Return the first count of one unit's different baskets: tuples of codes, and where each is."""
    # Sorted, for the order of codes is that of labels, and so depends on whether a label is a number or its text.
    basket_digests = {codes: _digest(sorted(digests[code] for code in codes)) for codes in distinct}
    unit = _digest(sorted(basket_digests.values()))
    order = sorted(distinct, key=lambda codes: (_digest([unit, basket_digests[codes]]), codes))
    return [distinct[codes] for codes in order[:count]]


def _digest(parts: list[bytes]) -> bytes:
    """Return a digest of digests, all of one length."""
    return blake2b(b"".join(parts), digest_size=_DIGEST_BYTES).digest()


def text_digest(text: str) -> bytes:
    """Return a digest of a label's text, the same on every machine."""
    return _digest([text.encode()])
