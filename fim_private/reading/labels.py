"""Item labels to codes, and the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.errors import DataError
from fim_private.reading.columns import shown_type
from fim_private.reading.options import not_utf8
from fim_private.reading.values import MISSING_TEXTS, arrow_of, arrow_strings, is_missing, null_mask, numpy_of, present

# -------------------- vocabulary
# The vocabulary: which label each item code stands for, and when a text is a number.
#
# Codes are canonical: integers ascending, also those that are texts, then other texts ascending. Two sources that hold
# the same baskets give the same codes, hence, under one seed, the same release: also CSV, in which 39 is a number, and
# Parquet with a column of texts.

Item = int | str

# A token that is exactly how an int64 prints (18 digits always fit). The rule looks at one token at a
# time: whether 39 is released as a number must not depend on what anybody else bought.
INTEGER_TOKEN = r"^(0|-?[1-9][0-9]{0,17})$"


@dataclass(frozen=True, repr=False)
class Vocabulary:
    """The distinct item labels: code c is ``integers[c]``, or ``strings[c - len(integers)]``.

    integers: (a,) int64, strictly ascending. strings: (b,) Arrow string, distinct: those that print like integers
    ascending as these, then the others ascending.
    """

    integers: NDArray[np.int64]
    strings: pa.Array

    def __repr__(self) -> str:
        # The labels of data are somebody's purchases: they must not get into logs, notebooks and tracebacks.
        return "<Vocabulary: labels, not shown>"

    def __len__(self) -> int:
        """How many labels there are: a + b."""
        return len(self.integers) + len(self.strings)

    def label(self, code: int) -> Item:
        """Return the label of a code, 0 <= code < len(self): a Python int or str. Raises IndexError beyond."""
        if code < len(self.integers):
            return int(self.integers[code])
        return str(self.strings[code - len(self.integers)].as_py())

    def only(self, kept: NDArray[np.bool_]) -> Vocabulary:
        """Return the labels that are kept, (len(self),) bool."""
        count = len(self.integers)
        return Vocabulary(self.integers[kept[:count]], self.strings.filter(arrow_of(kept[count:])))

    def without(self, other: Vocabulary) -> Vocabulary:
        """Return the labels that another vocabulary has not, in either form."""
        return self.only(self.codes_in(other) < 0)

    def codes_in(self, other: Vocabulary) -> NDArray[np.int32]:
        """Return for each code the code of the same label in other, or -1: (len(self),) int32.

        A label that other lacks is looked for in the other form, 39 for "39": a catalogue read from text and
        a column of strings mean the same items. The rule looks at one label at a time.
        """
        theirs = arrow_of(other.integers)
        count = len(other.integers)
        integers = arrow_of(self.integers)
        exact = np.concatenate([_positions(integers, theirs, 0), _positions(self.strings, other.strings, count)])
        is_token = pc.match_substring_regex(self.strings, INTEGER_TOKEN)
        tokens = pc.if_else(is_token, self.strings, pa.nulls(1, pa.string())[0]).cast(pa.int64())
        alike = np.concatenate(
            [_positions(integers.cast(pa.string()), other.strings, count), _positions(tokens, theirs, 0)]
        )
        return np.where(exact >= 0, exact, alike)


def canonical_vocabulary(labels: pa.Array, *, tokens: bool) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Sort distinct labels into a vocabulary; also return the new code of each label, (n,) int32.

    labels: (n,) Arrow int64 or string, distinct, no nulls.
    tokens: True for text sources, where a token that prints like an integer is one.
    """
    position = np.arange(len(labels), dtype=np.int32)
    if pa.types.is_integer(labels.type):
        is_number, numbers, texts = np.ones(len(labels), dtype=bool), numpy_of(labels), pa.nulls(0, pa.string())
    else:
        is_number = numpy_of(pc.match_substring_regex(labels, INTEGER_TOKEN))
        numbers = numpy_of(labels.filter(arrow_of(is_number)).cast(pa.int64()))
        texts = labels.filter(arrow_of(~is_number))
    number_order = np.argsort(numbers, kind="stable")
    text_order = numpy_of(pc.sort_indices(texts))
    order = np.concatenate([position[is_number][number_order], position[~is_number][text_order]])
    code = np.empty(len(labels), dtype=np.int32)
    code[order] = position
    if tokens or pa.types.is_integer(labels.type):
        return Vocabulary(numbers[number_order].astype(np.int64), texts.take(arrow_of(text_order))), code
    return Vocabulary(np.empty(0, dtype=np.int64), labels.take(arrow_of(order))), code


def mixed_vocabulary(labels: Sequence[Item]) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Sort distinct Python labels, of which some may be int and some str, into a vocabulary.

    labels: n of them; an int fits into 64 bits with a sign. Also returns the new code of each, (n,) int32.
    Raises OverflowError for an integer that does not fit, UnicodeEncodeError for a text with a lone surrogate.
    """
    is_integer = np.fromiter((isinstance(label, int) for label in labels), dtype=bool, count=len(labels))
    position = np.arange(len(labels))
    integers, integer_code = canonical_vocabulary(
        arrow_of(np.array([label for label in labels if isinstance(label, int)], dtype=np.int64)),
        tokens=False,
    )
    strings, string_code = canonical_vocabulary(
        arrow_strings([label for label in labels if isinstance(label, str)]), tokens=False
    )
    code = np.empty(len(labels), dtype=np.int32)
    code[position[is_integer]] = integer_code
    code[position[~is_integer]] = string_code + np.int32(len(integers))
    return Vocabulary(integers.integers, strings.strings), code


def _positions(labels: pa.Array, among: pa.Array, start: int) -> NDArray[np.int32]:
    """Return where each label is among others, counted from start, -1 for nowhere: (len(labels),) int32."""
    found = pc.index_in(labels, value_set=among)
    return np.where(null_mask(found), np.int32(-1), numpy_of(found) + np.int32(start)).astype(np.int32)


# -------------------- labels
# Item labels to provisional codes, one chunk at a time, and the vocabulary once all chunks are read.
#
# A label's type is decided by the label alone, or by the declared type of its column, never by other rows.

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


# -------------------- python labels
# Item labels that are Python objects, where every value has a type of its own.

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


# -------------------- arrow labels
# Item labels in Arrow arrays, where a column has one declared type.

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


# -------------------- known labels
# Item labels whose codes are known before the rows are read: several readers of one source encode them alike.


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
