"""Item labels that are Python objects, where every value has a type of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.errors import DataError
from fim_private.reading.labels import Codes, folded, occurring, spread
from fim_private.reading.missing_values import is_missing
from fim_private.reading.vocabulary import Item, Vocabulary, mixed_vocabulary

_LABEL_BYTES = 160


class PythonLabels(dict[Any, int]):
    """Labels from Python objects, int and str mixed as they come: the provisional code of each, see `labels.Labels`."""

    def __init__(self, *, fold_case: bool = False) -> None:
        """Start with no labels. fold_case: as in `arrow_labels.ArrowLabels`."""
        super().__init__({None: -1})
        self._bare: Callable[[str], str | None] = folded if fold_case else str.strip
        self._labels: list[Item] = []

    @property
    def held(self) -> int:
        """About how many bytes the labels take, as Python has them."""
        return _LABEL_BYTES * len(self)

    def __missing__(self, label: Item) -> int:
        """Give a label seen for the first time its code."""
        bare = self._bare(label) if isinstance(label, str) else label
        if bare is None or is_missing(bare):
            code = -1
        elif bare != label:
            code = self[bare]
        elif isinstance(label, int) and not -(2**63) <= label < 2**63:
            code = self[str(label)]
        else:
            if isinstance(label, str) and not _is_unicode(label):
                raise DataError("the items hold text that is not valid Unicode; repair it before reading")
            code = len(self._labels)
            self._labels.append(label)
        self[label] = code
        return code

    def encode(self, values: Collection[object]) -> Codes:
        """Return the provisional code of each value: (n,) int32, -1 for a null.

        values: n Python or numpy integers and strings; some stand for none (`missing_values`). Raises DataError for
        other types, and for text with a lone surrogate.
        """
        # Types first: True, 1 and 1.0 are one key to a dict.
        if not set(map(type, values)) <= {int, str, type(None)}:
            values = [_python_label(value) for value in values]
        return np.fromiter(map(self.__getitem__, values), dtype=np.int32, count=len(values))

    def encode_lists(self, values: Iterable[object]) -> tuple[NDArray[np.int64], Codes]:
        """Return the length of each collection, (n,) int64, and the provisional codes of all their values.

        values: n collections of labels; None and NaN are empty ones. Raises DataError for what is no collection, and as
        `encode` does.
        """
        baskets = [_basket(value) for value in values]
        lengths = np.fromiter(map(len, baskets), dtype=np.int64, count=len(baskets))
        return lengths, self.encode(list(chain.from_iterable(baskets)))

    def finish(self, chunks: Iterable[Codes]) -> tuple[Vocabulary, Codes]:
        """Sort the labels that occur in chunks into a vocabulary; also return each provisional code's final one.

        chunks: the provisional codes of all baskets. The final codes are (provisional codes,) int32, -1 for the others.
        """
        used = occurring(chunks, len(self._labels))
        labels = [label for label, is_used in zip(self._labels, used, strict=True) if is_used]
        vocabulary, code = mixed_vocabulary(labels)
        return vocabulary, spread(code, used)


def _is_unicode(label: str) -> bool:
    """Tell whether a text has no lone surrogate."""
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return True


def _python_label(value: object) -> Item | None:
    """Return a label as a Python int or str, None for a missing one. Raises DataError for another type."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64):
        return int(value)
    raise DataError(f"items must be whole numbers or strings, not {type(value).__name__}; convert them first")


def _basket(value: object) -> Collection[object]:
    """Return a basket as a collection that has a length. Raises DataError for what is no collection."""
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value.tolist()  # type: ignore[no-any-return]
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return value.to_pylist()  # type: ignore[no-any-return]
    if is_missing(value):
        return ()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return list(_elements(value))
    raise DataError(f"each basket must be a collection of items, not {type(value).__name__}")


def _elements(value: Iterable[object]) -> Iterator[object]:
    """Iterate over a collection. Raises DataError for what only claims to be one."""
    try:
        return iter(value)
    except TypeError:  # a 0-dimensional array claims to be iterable
        raise DataError(f"each basket must be a collection of items, not {type(value).__name__}") from None
