from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
import reading_reference as reference
from hypothesis import given
from hypothesis import strategies as st
from sources import baskets_of, labels_of

from fim_private.reading import memory, read_transactions
from fim_private.reading.labels import Item, Vocabulary, mixed_vocabulary
from fim_private.reading.transactions import Transactions, canonical_baskets
from fim_private.reading.values import arrow_of, arrow_strings, null_mask, numpy_of

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


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("39", 39),
        ("-5", -5),
        ("007", "007"),
        ("-0", "-0"),
        ("+7", "+7"),
        ("7.0", 7),
        ("-7.00", -7),
        ("-0.0", "-0.0"),
        ("7.", "7."),
        ("7.50", "7.50"),
        ("1e3", "1e3"),
        ("39\n", 39),
        ("٣", "٣"),
        ("9" * 18, int("9" * 18)),
        ("9" * 19, "9" * 19),
    ],
)
def test_a_text_is_an_integer_if_it_is_one_in_print(token: str, label: Item) -> None:
    assert labels_of(mixed_vocabulary([token])[0]) == [label]
    for source in ([[token]], pa.array([[token]]), pa.array([[token.encode()]])):
        assert labels_of(read_transactions(source).vocabulary) == [label]


@given(
    st.lists(st.one_of(st.integers(-20, 200).map(str), st.text("019-a", max_size=3)), unique=True)
)
def test_codes_do_not_depend_on_whether_numbers_are_texts(texts: list[str]) -> None:
    mixed = [int(text) if re.fullmatch("0|-?[1-9][0-9]*", text) else text for text in texts]
    of_texts, code = mixed_vocabulary(texts)
    of_mixed, same = mixed_vocabulary(mixed)
    assert code.tolist() == same.tolist()
    assert labels_of(of_texts) == labels_of(of_mixed)


def test_codes_in_another_vocabulary() -> None:
    mine, other = vocabulary_of(1, 5, "beer"), vocabulary_of("5", "beer", "chips")
    assert mine.codes_in(other).tolist() == [-1, 0, 1]
    assert other.codes_in(mine).tolist() == [1, 2, -1]
    assert vocabulary_of().codes_in(mine).tolist() == []


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
        assert (
            baskets_of(read_transactions([[c for c in codes if c >= 0] for codes in lists]))
            == expected
        )


@given(st.lists(st.booleans()), st.integers(0, 9))
def test_booleans_survive_arrow(values: list[bool], start: int) -> None:
    assert numpy_of(arrow_of(np.array(values, dtype=bool))[start:]).tolist() == values[start:]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64, np.float32])
def test_numbers_survive_arrow(dtype: type[np.generic]) -> None:
    values = np.arange(9).astype(dtype)[::2]
    assert arrow_of(values).to_pylist() == values.tolist()
    assert numpy_of(arrow_of(values)[2:]).tolist() == values[2:].tolist()
    assert numpy_of(arrow_of(values)[5:]).dtype == dtype


def test_nulls_and_strings_in_arrow() -> None:
    assert null_mask(pa.array([1, None, 3])[1:]).tolist() == [True, False]
    assert arrow_strings(["a", "", "é"]).to_pylist() == ["a", "", "é"]
    assert arrow_strings([]).type == pa.string()
    with pytest.raises(UnicodeEncodeError):
        arrow_strings(["\ud800"])
