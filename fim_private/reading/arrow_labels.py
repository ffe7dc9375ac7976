"""Item labels in Arrow arrays, where a column has one declared type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.errors import DataError
from fim_private.reading.arrow_numpy import arrow_of, null_mask, numpy_of
from fim_private.reading.column_roles import shown_type
from fim_private.reading.dialect import not_utf8
from fim_private.reading.labels import Codes, folded, occurring, spread
from fim_private.reading.missing_values import present
from fim_private.reading.vocabulary import Vocabulary, canonical_vocabulary

_TABLE_ENTRY = 16
_NULL_STRING = pa.nulls(1, pa.string())[0]


class ArrowLabels:
    """Labels from Arrow arrays; see `labels.Labels`.

    Integers become int labels, text becomes str labels; other types are judged by their text, where what prints like
    an integer is one. Every chunk keeps the dictionary of its own labels; they are merged once, in `finish`, so reading
    hashes each entry once and each dictionary once.
    """

    def __init__(self, where: str, *, text: bool = False, fold_case: bool = False) -> None:
        """where: what errors call the source. text: labels are tokens of a text file, and integers if they print so.

        fold_case: whether labels that differ by capital letters alone are one (`labels.folded`).
        """
        self._where = where
        self._fold_case = fold_case
        self._tokens = text
        self._size = self._bytes = 0
        self._dictionaries: list[pa.Array] = []
        self._previous: tuple[pa.Array, int, NDArray[np.bool_]] | None = None

    @property
    def held(self) -> int:
        """About how many bytes the labels take: their texts, and for each an entry of a table in which it is found."""
        return self._bytes + _TABLE_ENTRY * self._size

    def encode(self, values: pa.Array) -> Codes:
        """Return the provisional code of each value: (n,) int32, -1 for a null.

        values: (n,) Arrow array, of a dictionary or of plain values. Raises DataError for a type that cannot be labels,
        and for text that is not UTF-8.
        """
        if pa.types.is_null(values.type):
            return np.full(len(values), -1, dtype=np.int32)
        values = with_dictionary(values, self._where)
        start, is_null = self._place(values.dictionary)
        codes = numpy_of(values.indices).astype(np.int32)
        if values.indices.null_count:
            nulls = null_mask(values.indices)
            codes[nulls] = 0
        codes += np.int32(start)
        if is_null.any():
            codes[is_null[codes - start]] = -1
        if values.indices.null_count:
            codes[nulls] = -1
        return codes

    def encode_lists(self, values: pa.Array) -> tuple[NDArray[np.int64], Codes]:
        """Return the length of each list, (n,) int64, and the provisional codes of all their values.

        values: (n,) Arrow array of lists; a null list is empty. Raises DataError as `encode` does.
        """
        sizes = pc.list_value_length(values)
        lengths = np.where(null_mask(sizes), 0, numpy_of(sizes))
        return lengths.astype(np.int64), self.encode(values.flatten())

    def finish(self, chunks: Iterable[Codes]) -> tuple[Vocabulary, Codes]:
        """Merge the dictionaries: return the vocabulary and the final code of each provisional one, (codes,) int32.

        chunks: the provisional codes of all baskets; labels that are not among them are left out, their code is -1.
        """
        if not self._size:
            return canonical_vocabulary(pa.nulls(0, pa.string()), tokens=False)
        merged = pc.dictionary_encode(pa.concat_arrays(self._dictionaries))
        position = np.where(null_mask(merged.indices), -1, numpy_of(merged.indices))
        used = occurring([position[occurring(chunks, self._size)]], len(merged.dictionary))
        vocabulary, code = canonical_vocabulary(merged.dictionary.filter(arrow_of(used)), tokens=self._tokens)
        return vocabulary, np.append(spread(code, used), np.int32(-1))[position]

    def _place(self, dictionary: pa.Array) -> tuple[int, NDArray[np.bool_]]:
        """Keep a dictionary; return the first of the provisional codes of its labels, and which labels are null."""
        # Batches of one file often share a dictionary.
        if self._previous is not None and dictionary.equals(self._previous[0]):
            return self._previous[1:]
        start = self._size
        labels, tokens = plain_labels(dictionary, self._where, fold_case=self._fold_case)
        self._tokens = self._tokens or tokens
        is_null = null_mask(labels)
        self._dictionaries.append(labels)
        self._size += len(labels)
        self._bytes += labels.nbytes
        self._previous = (dictionary, start, is_null)
        return start, is_null


def with_dictionary(values: pa.Array, where: str) -> pa.Array:
    """Return values with a dictionary. Raises DataError for a type that cannot be labels. where: as in ArrowLabels."""
    return values if pa.types.is_dictionary(values.type) else _converted(values, pc.dictionary_encode, where)


def plain_labels(labels: pa.Array, where: str, *, fold_case: bool) -> tuple[pa.Array, bool]:
    """Return labels as int64 or as strings, null for what is none, and whether those that print as integers are some.

    Raises DataError for a type that cannot be labels, and for text that is not UTF-8. where, fold_case: as in
    ArrowLabels.
    """
    kind = labels.type
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return labels.cast(pa.int64()), False
    if pa.types.is_null(kind):
        return labels.cast(pa.string()), False
    strings = _float_tokens(labels) if pa.types.is_floating(kind) else _as_strings(labels, where)
    found = present(strings)
    if fold_case:
        found = pa.array([None if text is None else folded(text) for text in found.to_pylist()], pa.string())
    return found, not _is_text(kind)


def is_list_type(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type is a list, of any or of one length."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def _is_text(kind: Any) -> bool:
    """Tell whether an Arrow type is text or bytes."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _converted(values: pa.Array, convert: Any, where: str) -> pa.Array:
    """Return values converted by Arrow. Raises DataError for a type that cannot be labels."""
    try:
        return convert(values)
    except pa.ArrowException:
        # Its own text may quote a value.
        raise DataError(
            f"{where} has items of type {shown_type(values.type)}, which cannot be labels; "
            "make them strings or integers"
        ) from None


def _as_strings(labels: pa.Array, where: str) -> pa.Array:
    """Return labels as strings. Raises DataError for text that is not UTF-8."""
    if not _is_text(labels.type):
        return _converted(labels, lambda values: values.cast(pa.string()), where)
    try:
        strings = labels.cast(pa.string())
        strings.validate(full=True)
    except pa.ArrowException:
        raise not_utf8(where) from None
    return strings


def as_texts(values: pa.Array) -> pa.Array:
    """Return labels of any type as texts, (n,) Arrow string, in which numbers print as labels do."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        return _float_tokens(values)
    return _as_strings(values, "the table")


def _float_tokens(labels: pa.Array) -> pa.Array:
    """Return floats as text, whole numbers without a point, NaN as null."""
    if pa.types.is_float16(labels.type):
        labels = labels.cast(pa.float32())
    numbers = numpy_of(labels)
    whole = np.isfinite(numbers) & (np.abs(numbers) < 1e18) & (np.floor(numbers) == numbers)
    integers = arrow_of(np.where(whole, numbers, 0).astype(np.int64)).cast(pa.string())
    tokens = pc.if_else(arrow_of(whole), integers, labels.cast(pa.string()))
    return pc.if_else(arrow_of(np.isnan(numbers) | null_mask(labels)), _NULL_STRING, tokens)
