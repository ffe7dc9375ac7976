"""The vocabulary: which label each item code stands for, and when a text is a number.

Codes are canonical: integers ascending, also those that are texts, then other texts ascending. Two sources that hold
the same baskets give the same codes, hence, under one seed, the same release: also CSV, in which 39 is a number, and
Parquet with a column of texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.reading.arrow_numpy import arrow_of, arrow_strings, null_mask, numpy_of

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
