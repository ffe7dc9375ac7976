"""Contribution bounds: where long baskets, users of many baskets and units of many items are cut.

No step looks at two units, so a cut in one changes nothing about another.
"""

from collections.abc import Callable
from functools import cache
from hashlib import blake2b

import numpy as np

from fim_private.reading.values import Int32, Int64, Mask


def first_of_basket(offsets: Int64, count: int) -> Mask:
    """Return which entries are among the first count >= 0 items, by label, of their basket."""
    return np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets)) < count


def first_of_unit(items: Int32, bounds: Int64, count: int) -> Mask:
    """Return which entries are among the first count >= 1 distinct items, by label, of their unit.

    bounds: (units + 1,); unit u has the entries ``bounds[u]`` up to ``bounds[u + 1]``, of all its
    baskets.
    """
    lengths = np.diff(bounds)
    is_long = lengths > count
    if not is_long.any():
        return np.ones(len(items), dtype=bool)
    stay = np.repeat(~is_long, lengths)
    unit = np.repeat(np.flatnonzero(is_long) << 32, lengths[is_long])
    # The codes ascend with the labels.
    distinct, place = np.unique(unit | items[~stay], return_inverse=True)
    stay[~stay] = place - np.searchsorted(distinct, unit) < count
    return stay


def drawn_baskets(
    items: Int32, offsets: Int64, unit_offsets: Int64, digest_of: Callable[[int], bytes], count: int
) -> Mask:
    """Return which baskets count if no unit may have more than count >= 1: (baskets,).

    If a unit has at most `count` baskets all count. If it has more, equal baskets are one, and
    empty ones take no place. The first `count` of the others stay, in an order by digests of their
    content, mixed with that of the whole unit. Otherwise all units would lose the same itemsets.
    Neither ids nor the order of rows matter, because other units could change these. digest_of:
    returns the digest of a code's label.
    """
    counts = np.ones(len(offsets) - 1, dtype=bool)
    for unit in np.flatnonzero(np.diff(unit_offsets) > count).tolist():
        first, last = unit_offsets[unit : unit + 2].tolist()
        contents = (
            tuple(items[offsets[basket] : offsets[basket + 1]].tolist())
            for basket in range(first, last)
        )
        distinct = {codes: basket for basket, codes in enumerate(contents, first) if codes}
        # They are sorted because the order of codes, which is that of labels, depends on whether a
        # label is a number or its text.
        of_basket = {codes: _digest(sorted(map(digest_of, codes))) for codes in distinct}
        of_unit = _digest(sorted(of_basket.values()))
        order = sorted(distinct, key=lambda codes: (_digest([of_unit, of_basket[codes]]), codes))
        counts[first:last] = False
        counts[[distinct[codes] for codes in order[:count]]] = True
    return counts


def label_digests(label: Callable[[int], object]) -> Callable[[int], bytes]:
    """Return what gives the digest of a code's label, by its text: 39 and "39" have the same."""
    return cache(lambda code: text_digest(str(label(code))))


def text_digest(text: str) -> bytes:
    """Return a digest of a label's text, 16 bytes, the same on every machine."""
    return _digest([text.encode()])


def _digest(digests: list[bytes]) -> bytes:
    # Two different baskets have one digest with a probability of 2^-128; then the order of their
    # codes decides.
    return blake2b(b"".join(digests), digest_size=16).digest()
