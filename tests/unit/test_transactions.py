from __future__ import annotations

import re

import numpy as np
import pytest
import reading_reference as reference
from hypothesis import given
from hypothesis import strategies as st
from sources import baskets_of, labels_of

from fim_private.reading import memory, read_transactions
from fim_private.reading.labels import Item, Vocabulary, mixed_vocabulary
from fim_private.reading.transactions import Transactions, canonical_baskets

LABELS = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
)
CODES = st.lists(st.lists(st.integers(-1, 9), max_size=6), max_size=12)


def vocabulary_of(*items: Item) -> Vocabulary:
    return mixed_vocabulary(items)[0]


@given(st.lists(LABELS, unique_by=lambda label: (type(label), label)))
def test_mixed_vocabulary_puts_integers_first_and_each_kind_in_order(items: list[Item]) -> None:
    vocabulary, code = mixed_vocabulary(items)
    found = [
        reference.label(item) if re.search("[0-9]", str(item)) else str(item).strip()
        for item in items
    ]
    numbers = sorted({item for item in found if isinstance(item, int)})
    # Arrow orders strings by their UTF-8 bytes, which is the order of code points.
    texts = sorted({item for item in found if isinstance(item, str)})
    assert labels_of(vocabulary) == [*numbers, *texts]
    assert [vocabulary.label(int(c)) for c in code] == found


@given(CODES, st.integers(1, 9))
def test_canonical_baskets_have_no_nulls_and_no_repetitions(
    lists: list[list[int]], entries: int
) -> None:
    expected = [{c for c in codes if c >= 0} for codes in lists]
    flat = np.array([code for codes in lists for code in codes], dtype=np.int32)
    lengths = np.array([len(codes) for codes in lists], dtype=np.int64)
    result = Transactions(*canonical_baskets(lengths, flat), vocabulary_of(*range(10)))
    assert baskets_of(result) == expected
    assert [result.offsets.dtype, result.items.dtype] == ["int64", "int32"]
    with pytest.MonkeyPatch.context() as patch:  # a few entries at a time, each where another was
        patch.setattr(memory, "ENTRIES", entries)
        items = [[code for code in codes if code >= 0] for codes in lists]
        assert baskets_of(read_transactions(items)) == expected
