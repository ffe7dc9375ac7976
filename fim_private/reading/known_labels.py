"""Item labels whose codes are known before the rows are read: several readers of one source encode them alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.reading.arrow_labels import plain_labels, with_dictionary
from fim_private.reading.arrow_numpy import null_mask, numpy_of
from fim_private.reading.labels import Codes
from fim_private.reading.vocabulary import INTEGER_TOKEN, Item, Vocabulary


class KnownLabels:
    """Labels from Arrow arrays, by the rules of `ArrowLabels`, with the codes that a table says; see `labels.Labels`.

    codes: the code of each label, -1 for one that is left out. count: of codes. where, text, fold_case: as in
    ArrowLabels.
    """

    def __init__(
        self, codes: Mapping[Item, int], count: int, where: str, *, text: bool, fold_case: bool = False
    ) -> None:
        self._codes = codes
        self._count = count
        self._where = where
        self._text = text
        self._fold_case = fold_case

    @property
    def held(self) -> int:
        """Nothing is collected."""
        return 0

    def encode(self, values: pa.Array) -> Codes:
        """Return the code of each value: (n,) int32, -1 for a null. Raises DataError as `ArrowLabels.encode` does."""
        if pa.types.is_null(values.type):
            return np.full(len(values), -1, dtype=np.int32)
        values = with_dictionary(values, self._where)
        labels, tokens = plain_labels(values.dictionary, self._where, fold_case=self._fold_case)
        items = canonical_labels(labels, tokens=tokens or self._text)
        codes = np.array([-1 if item is None else self._codes[item] for item in items] + [-1], dtype=np.int32)
        return codes[np.where(null_mask(values.indices), -1, numpy_of(values.indices))]

    def encode_lists(self, values: pa.Array) -> tuple[NDArray[np.int64], Codes]:
        """Return the length of each list, (n,) int64, and the codes of all their values; see `encode`."""
        sizes = pc.list_value_length(values)
        lengths = np.where(null_mask(sizes), 0, numpy_of(sizes))
        return lengths.astype(np.int64), self.encode(values.flatten())

    def finish(self, chunks: Iterable[Any]) -> tuple[Vocabulary, Codes]:
        """Return a vocabulary in which each code is its own label, and the codes as they are."""
        for _ in chunks:
            pass
        return numbers(self._count), np.arange(self._count, dtype=np.int32)


def canonical_labels(labels: pa.Array, *, tokens: bool) -> list[Item | None]:
    """Return labels as `vocabulary.canonical_vocabulary` has them: integers, and texts that are none.

    labels: (n,) Arrow int64 or string. tokens: whether a text that prints like an integer is one.
    """
    values: list[Any] = labels.to_pylist()
    if not tokens or pa.types.is_integer(labels.type):
        return values
    return [int(text) if text is not None and re.fullmatch(INTEGER_TOKEN, text) else text for text in values]


def numbers(count: int) -> Vocabulary:
    """Return a vocabulary in which each of so many codes is its own label."""
    return Vocabulary(np.arange(count, dtype=np.int64), pa.nulls(0, pa.string()))
