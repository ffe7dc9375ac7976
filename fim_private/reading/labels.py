"""Item labels to codes, and the vocabulary."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import Array, DataType, types

from fim_private.errors import DataError
from fim_private.reading.options import not_utf8
from fim_private.reading.values import (
    LEAST_TEXT,
    MISSING_TEXTS,
    PRINTED_INTEGER,
    Int32,
    Int64,
    Mask,
    arrow_of,
    arrow_strings,
    decoded,
    integer_or_text,
    integers_as_printed,
    is_missing,
    null_mask,
    null_where,
    number_text,
    numpy_of,
    present,
    shown_type,
)

try:
    from fim_private.reading import grouping
except ImportError:  # built without a compiler
    from fim_private.reading import portable_grouping as grouping  # type: ignore[no-redef]

Item = int | str

Codes = Int32
_MISSING = frozenset(text.casefold() for text in MISSING_TEXTS)
_TEXT_TYPE = re.compile(r"(large_)?(string|binary)(_view)?|fixed_size_binary\[[0-9]+\]")
_LIST_TYPE = re.compile(r"((large_)?list(_view)?|fixed_size_list)<")
_TABLE_ENTRY = 16  # about how many bytes a label takes beside its text: an entry of a table


@dataclass(frozen=True, repr=False)
class Vocabulary:
    """The distinct item labels: code c is ``integers[c]``, or ``strings[c - len(integers)]``.

    So codes are canonical: the same baskets have the same codes and, with one seed, the same
    release. It makes no difference whether a source has 39 as a number, as a text or as 39.0.

    integers: (a,), strictly ascending, of 18 digits at most. strings: (b,) Arrow string, strictly
    ascending, and none an integer in print.
    """

    integers: Int64
    strings: Array

    def __repr__(self) -> str:
        # Labels are somebody's purchases: they must not get into logs, notebooks and tracebacks.
        return "<Vocabulary: labels, not shown>"

    def __len__(self) -> int:
        """How many labels there are."""
        return len(self.integers) + len(self.strings)

    def label(self, code: int) -> Item:
        """Return the label of a code, 0 <= code < len(self). Raises IndexError beyond."""
        if code < len(self.integers):
            return int(self.integers[code])
        return str(self.strings[code - len(self.integers)].as_py())

    def only(self, stay: Mask) -> Vocabulary:
        """Return some of the labels: (len(self),) bool."""
        count = len(self.integers)
        return Vocabulary(self.integers[stay[:count]], self.strings.filter(arrow_of(stay[count:])))

    def without(self, removed: Vocabulary) -> Vocabulary:
        """Return the labels that another vocabulary has not."""
        return self.only(self.codes_in(removed) < 0)

    def codes_in(self, vocabulary: Vocabulary) -> Codes:
        """Return for each code that of the same label in a vocabulary, or -1: (len(self),)."""
        integers = pc.index_in(arrow_of(self.integers), value_set=arrow_of(vocabulary.integers))
        strings = pc.index_in(self.strings, value_set=vocabulary.strings)
        places = pa.concat_arrays([integers, strings])
        codes = numpy_of(places).copy()
        codes[len(integers) :] += len(vocabulary.integers)
        codes[null_mask(places)] = -1
        return codes


def canonical_vocabulary(labels: Array) -> tuple[Vocabulary, Codes]:
    """Sort distinct labels into a vocabulary; return the new code of each, too.

    labels: (n,) Arrow, no nulls: int64, or texts as `integers_as_printed` leaves them.
    """
    integers = labels
    if not types.is_integer(labels.type):
        is_text = pc.invert(pc.match_substring_regex(labels, PRINTED_INTEGER))
        integers = null_where(is_text, labels).cast(pa.int64())
    # An integer comes before a null, which all texts have in its place.
    keys = pa.RecordBatch.from_arrays([integers, labels], names=["integer", "text"])
    order = pc.sort_indices(keys, [("integer", "ascending"), ("text", "ascending")])
    code = np.empty(len(labels), dtype=np.int32)
    code[numpy_of(order)] = np.arange(len(labels))
    first_text = len(labels) - integers.null_count
    texts = labels.take(order[first_text:]).cast(pa.string())
    return Vocabulary(numpy_of(integers.take(order[:first_text])), texts), code


def mixed_vocabulary(labels: Sequence[Item]) -> tuple[Vocabulary, Codes]:
    """Sort n labels, int and str, into a vocabulary; also return the new code of each, (n,) int32.

    Two that are one item have one code. Raises UnicodeEncodeError for a text with a lone surrogate.
    """
    texts = arrow_strings([str(item_of(label)) for label in labels]).dictionary_encode()
    vocabulary, code = canonical_vocabulary(texts.dictionary)
    return vocabulary, code[numpy_of(texts.indices)]


def item_of(label: Item) -> Item:
    """Return the item of a label: an integer of up to 18 digits, or a text that prints as none."""
    item = integer_or_text(label)
    assert isinstance(item, int | str)
    return item


def in_label_order(items: Iterable[Item]) -> tuple[Item, ...]:
    """Return items in the order of a vocabulary's codes: whole numbers first."""
    return tuple(sorted(items, key=lambda item: (isinstance(item, str), item)))


def numbers(count: int) -> Vocabulary:
    """Return a vocabulary of `count` codes, each its own label."""
    return Vocabulary(np.arange(count, dtype=np.int64), pa.nulls(0, pa.string()))


def folded(text: str) -> str | None:
    """Return a text bare and in small letters, as Unicode folds them; None if it stands for none.

    Which texts stand for none does not depend on their letters' case here.
    """
    small = text.strip().casefold()
    return None if small in _MISSING else small


@dataclass(repr=False)
class Labels:
    """Makes provisional codes, >= 0, of the labels of one source, and the vocabulary in the end.

    A value that is an integer in print is that integer, whatever its type: 7, 7.0, "7" and "7.0".
    All others go by their text. So a value alone decides what label it is, never other rows nor the
    type of its column.

    Attributes:
        where: The name of the source in errors.
        fold_case: Whether labels are `folded`.
        known: The code of each label if codes were agreed on before; below count, or -1 to leave
            the label out. The vocabulary is then `numbers`.
        count: How many codes there are: those that were agreed on, or those of the labels so far.
        nbytes: About how many bytes the labels take that were collected so far.
    """

    where: str
    fold_case: bool = False
    known: Mapping[Item, int] | None = None
    count: int = 0
    nbytes: int = 0
    _dictionaries: list[Array] = field(default_factory=list)
    _previous: tuple[Array, Codes] = (pa.nulls(0), np.full(1, -1, dtype=np.int32))
    _below: int = 0  # integers from 0 to below this are a dictionary

    def encode(self, values: Array | Collection[object]) -> Codes:
        """Return the provisional code of each value: (n,), -1 for a null.

        Raises DataError for a value that cannot be a label. values: (n,) Arrow array; or Python or
        numpy integers and strings.
        """
        if not isinstance(values, Array):
            return self._of_objects(values)
        if not types.is_dictionary(values.type):
            with _label_errors(values.type, self.where):
                values = self._encoded(values)
        codes, place = self._of_dictionary(values.dictionary), numpy_of(values.indices)
        if values.indices.null_count:
            place = np.where(null_mask(values.indices), -1, place.astype(np.int64))
        return np.take(codes, place)

    def encode_lists(self, values: Array | Collection[object]) -> tuple[Int64, Codes]:
        """Return the length of each list, (n,), and the provisional codes of their values.

        A null is an empty list. values: (n,) Arrow array of lists, or Python collections. Raises
        DataError for others.
        """
        if isinstance(values, Array):
            sizes = pc.list_value_length(values)
            lengths = np.where(null_mask(sizes), 0, numpy_of(sizes)).astype(np.int64)
            return lengths, self.encode(values.flatten())
        baskets = [basket_of(value) for value in values]
        lengths = np.fromiter(map(len, baskets), dtype=np.int64)
        return lengths, self._of_objects([*chain.from_iterable(baskets)])

    def finish(self, chunks: Iterable[Codes]) -> tuple[Vocabulary, Codes]:
        """Return the vocabulary of the labels that occur, and each provisional code's final one.

        Labels that do not occur have the final code -1. chunks: all provisional codes of the rows.
        """
        if self.known is not None:
            return numbers(self.count), np.arange(self.count, dtype=np.int32)
        used = np.zeros(self.count + 1, dtype=bool)  # one slot more, the last, takes the nulls
        for codes in chunks:
            grouping.mark(codes, used.view(np.uint8))
        used[-1] = False
        dictionaries = self._dictionaries or [arrow_strings([])]
        if len({labels.type for labels in dictionaries}) > 1:
            dictionaries = [labels.cast(pa.string()) for labels in dictionaries]
        occurring = pa.concat_arrays(dictionaries).filter(arrow_of(used[:-1])).dictionary_encode()
        vocabulary, code = canonical_vocabulary(occurring.dictionary)
        final = np.full(self.count + 1, -1, dtype=np.int32)  # the last is that of nulls
        final[used] = code[numpy_of(occurring.indices)]
        return vocabulary, final

    def _encoded(self, values: Array) -> Array:
        """Return values as indices of a dictionary: small integers of all of them, without hashing.

        Raises ArrowException for a type that cannot be labels.
        """
        if types.is_signed_integer(values.type) and self.known is None:
            least, most = pc.min_max(values).as_py().values()
            if least is not None and least >= 0 and most < max(self._below, 4 * len(values)):
                self._below = max(self._below, 1 << most.bit_length())  # seldom grows
                return pa.DictionaryArray.from_arrays(values, arrow_of(np.arange(self._below)))
        return values.dictionary_encode()

    def _of_dictionary(self, dictionary: Array) -> Codes:
        """Return the code of each label of a dictionary, and -1 for a null as the last."""
        # Batches of a file often share one.
        previous, codes = self._previous
        if dictionary.equals(previous):
            return codes
        labels = self._plain(dictionary)
        codes = np.arange(self.count, self.count + len(labels) + 1, dtype=np.int32)
        codes[np.append(null_mask(labels), True)] = -1
        if self.known is not None:
            for place in np.flatnonzero(codes >= 0).tolist():
                codes[place] = self.known[item_of(labels[place].as_py())]
        else:
            self._dictionaries.append(labels)
            self.count += len(labels)
            self.nbytes += labels.nbytes + _TABLE_ENTRY * len(labels)
        self._previous = dictionary, codes
        return codes

    def _plain(self, labels: Array) -> Array:
        """Return labels as int64 of 18 digits at most, or as strings in print; null for none."""
        kind = labels.type
        if types.is_integer(kind) and not types.is_uint64(kind):
            whole = labels.cast(pa.int64())
            least, most = pc.min_max(whole).as_py().values()
            if least is None or (least > -LEAST_TEXT and most < LEAST_TEXT):
                return whole
        texts = as_texts(labels, self.where)
        if self.fold_case:
            texts = pa.array([text and folded(text) for text in texts.to_pylist()], pa.string())
        return integers_as_printed(texts)

    def _of_objects(self, values: Collection[object]) -> Codes:
        # True, 1 and 1.0 are one key to a dict
        if not set(map(type, values)) <= {int, str, type(None)}:
            values = [*map(_python_label, values)]
        place = defaultdict[object, int](count().__next__)
        place_of = np.fromiter(map(place.__getitem__, values), dtype=np.intp)
        try:
            distinct = arrow_strings(["" if value is None else str(value) for value in place])
        except UnicodeEncodeError:
            raise DataError(
                "the items hold text that is not valid Unicode; repair it before reading"
            ) from None
        return self.encode(distinct)[place_of]


def _python_label(value: object) -> str | None:
    if is_missing(value):
        return None
    label = integer_or_text(value)
    if isinstance(value, bool | np.timedelta64) or not isinstance(label, int | str):
        raise DataError(
            f"items must be numbers or strings, not {type(value).__name__}; convert them first"
        )
    return str(label)


def basket_of(value: object) -> Collection[object]:
    """Return the items of a basket in Python. Raises DataError for what is no collection."""
    if isinstance(value, list | set | frozenset):
        return value
    if isinstance(value, Mapping) or hasattr(value, "_fields"):
        # Its items would be its keys, or the fields of a named tuple.
        raise DataError(
            f"each basket must be a collection of items, not {type(value).__name__}; for rows of "
            f"a table give a frame, such as pandas.DataFrame(rows)"
        )
    if isinstance(value, tuple):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value.tolist()  # type: ignore[no-any-return]
    if isinstance(value, Array | pa.ChunkedArray):
        return value.to_pylist()  # type: ignore[no-any-return]
    if is_missing(value):
        return ()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        with suppress(TypeError):  # a 0-dimensional array claims to be iterable
            return list(value)
    raise DataError(f"each basket must be a collection of items, not {type(value).__name__}")


def as_printed(values: Array) -> Array:
    """Return values as items print, (n,) Arrow string: bare texts, integers without a point."""
    return integers_as_printed(as_texts(values))


def is_list_type(kind: DataType) -> bool:
    """Tell whether an Arrow type is a list, of any or of one length."""
    return _LIST_TYPE.match(str(kind)) is not None


def is_text_type(kind: DataType) -> bool:
    """Tell whether an Arrow type is one of texts or bytes."""
    return _TEXT_TYPE.fullmatch(str(kind)) is not None


@contextmanager
def _label_errors(kind: DataType, where: str) -> Iterator[None]:
    """Raise an error of Arrow, whose text may quote a value, as DataError."""
    try:
        yield
    except pa.ArrowException:
        if is_text_type(kind):
            raise not_utf8(where) from None
        raise DataError(
            f"{where} has items of type {shown_type(kind)}, which cannot be labels; make them "
            f"strings or integers"
        ) from None


def _texts_of_floats(values: Array) -> Array:
    """Return floats as texts, (n,) Arrow string: whole ones without a point; null for null.

    Arrow prints others in another way than Python does. Lists, frames of objects and texts print as
    Python does, so the form of a number does not depend on the type of its column.
    """
    numbers, is_null = numpy_of(values), null_mask(values)
    is_whole = (np.abs(numbers) < LEAST_TEXT) & (np.floor(numbers) == numbers)
    integers = values.cast(pa.int64(), safe=False).cast(pa.string())
    not_whole = np.flatnonzero(~is_whole & ~is_null)
    if not len(not_whole):
        return integers
    distinct, place = np.unique(numbers[not_whole], return_inverse=True)
    place_of = np.full(len(numbers), len(distinct))
    place_of[not_whole] = place
    texts = arrow_strings([*map(number_text, distinct), ""])
    return pc.if_else(arrow_of(is_whole | is_null), integers, texts.take(arrow_of(place_of)))


def _texts_of_decimals(values: Array) -> Array:
    """Return decimals as texts, (n,) Arrow string, without an exponent, as Python's are printed.

    Arrow writes one for a negative scale, and for many zeros behind the point.
    """
    texts = values.cast(pa.string())
    have_exponent = pc.match_substring(texts, "E")
    if not have_exponent.true_count:
        return texts
    numbers = map(Decimal, texts.filter(have_exponent).to_pylist())
    plain = arrow_strings([format(number, "f") for number in numbers])
    return pc.replace_with_mask(texts, have_exponent, plain)


def as_texts(values: Array, where: str = "the table") -> Array:
    """Return labels as bare texts, (n,) Arrow string; null for none.

    Whole floats have no point. Raises DataError for values that are no texts.
    """
    values = decoded(values)
    if types.is_floating(values.type):
        return _texts_of_floats(present(values))
    if types.is_decimal(values.type):
        return _texts_of_decimals(values)
    with _label_errors(values.type, where):
        texts = values.cast(pa.string())
        texts.validate(full=True)
    return present(texts)
