"""Item labels to provisional codes, one chunk at a time, and the vocabulary once all chunks are read.

A label's type is decided by the label alone, or by the declared type of its column, never by other rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.reading.missing_values import MISSING_TEXTS
from fim_private.reading.vocabulary import Vocabulary

Codes = NDArray[np.int32]
_MISSING = frozenset(text.casefold() for text in MISSING_TEXTS)


class Labels(Protocol):
    """Collects the labels of one source. Provisional codes are >= 0, and -1 for a null."""

    @property
    def held(self) -> int:
        """About how many bytes the labels take that were collected so far."""

    def encode(self, values: Any) -> Codes:
        """Return the provisional code of each value: (n,) int32. Raises DataError for what cannot be a label."""

    def encode_lists(self, values: Any) -> tuple[NDArray[np.int64], Codes]:
        """Return the length of each list, (n,) int64, and the provisional codes of all their values.

        Raises DataError for what is no list, or cannot be a label.
        """

    def finish(self, chunks: Iterable[Codes]) -> tuple[Vocabulary, Codes]:
        """Return the vocabulary of the labels that occur in chunks, and each provisional code's final one.

        chunks: provisional codes, all that were given once. The final codes are (provisional codes,) int32, -1 for
        those that occur in no chunk.
        """


def folded(text: str) -> str | None:
    """Return a text without white space around it and in small letters, as Unicode folds them; None for no value.

    It looks at one text alone. What stands for no value does so in any letters.

    >>> folded(" TEA "), folded("Stra\u00dfe"), folded("Null")
    ('tea', 'strasse', None)
    """
    small = text.strip().casefold()
    return None if small in _MISSING else small


def occurring(chunks: Iterable[NDArray[np.integer]], size: int) -> NDArray[np.bool_]:
    """Return which of size provisional codes are in chunks: (size,) bool."""
    # One slot more, the last, takes the nulls.
    used = np.zeros(size + 1, dtype=bool)
    for codes in chunks:
        used[codes] = True
    return used[:-1]


def spread(code: Codes, used: NDArray[np.bool_]) -> Codes:
    """Put codes, as many as are used, at the places that are used, -1 elsewhere: (len(used),) int32."""
    codes = np.full(len(used), -1, dtype=np.int32)
    codes[used] = code
    return codes
