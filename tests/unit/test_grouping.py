"""Rows brought together to baskets and units: compiled and in numpy, beside plain Python."""

from collections.abc import Iterable
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fim_private.reading import portable_grouping

MODULES = [portable_grouping]
try:
    from fim_private.reading import grouping
except ImportError:  # built without a compiler
    pass
else:
    MODULES.append(grouping)

numbers = st.lists(st.integers(0, 60), max_size=40)
rows = st.lists(st.tuples(st.integers(0, 8), st.lists(st.integers(0, 5), max_size=50)), max_size=12)


def array(values: Iterable[int]) -> np.ndarray:
    return np.array([*values], dtype=np.int32)


@pytest.mark.parametrize("module", MODULES)
@given(values=numbers)
def test_numbers_without_gaps_keep_their_order(module: ModuleType, values: list[int]) -> None:
    places = {value: place for place, value in enumerate(sorted({*values}))}
    assert module.without_gaps(array(values)).tolist() == [places[value] for value in values]


@pytest.mark.parametrize("module", MODULES)
@given(values=numbers)
def test_numbers_are_marked(module: ModuleType, values: list[int]) -> None:
    marked = np.zeros(62, dtype=np.uint8)
    module.mark(array([*values, -1]), marked)
    assert np.flatnonzero(marked).tolist() == [*sorted({*values}), 61]


@pytest.mark.parametrize("module", MODULES)
@given(pairs=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 50)), max_size=30))
def test_numbers_of_pairs_by_the_second(module: ModuleType, pairs: list[tuple[int, int]]) -> None:
    first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    numbered = module.numbers_of_pairs(array(first), array(second))
    places = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
    seconds = [number for _, number in places]
    told = len(seconds) == len({*seconds}) and max(second, default=0) < 4 * len(pairs)
    assert (numbered is not None) == told
    if told:
        assert numbered.tolist() == [places[pair] for pair in pairs]


@pytest.mark.parametrize("module", MODULES)
@given(owners=st.lists(st.integers(0, 5), max_size=20), data=st.data())
def test_baskets_are_in_order(module: ModuleType, owners: list[int], data: st.DataObject) -> None:
    again = st.lists(st.sampled_from(range(len(owners))), max_size=9) if owners else st.just([])
    baskets = [*range(len(owners)), *data.draw(again)]
    order = sorted(range(len(owners)), key=lambda basket: (owners[basket], basket))
    units = array(owners[basket] for basket in baskets)
    ranked, first_baskets = module.in_order_of_units(array(baskets), units)
    assert ranked.tolist() == [order.index(basket) for basket in baskets]
    held = [owners.count(unit) for unit in range(max(owners, default=-1) + 1)]
    assert np.diff(first_baskets).tolist() == held


@pytest.mark.parametrize("module", MODULES)
@given(rows=rows)
@example(rows=[(1, [0, 4] * 70), (0, [5, 2] * 20), (1, [3])])
def test_rows_of_a_basket_come_together_and_hold_each_item_once(module: Any, rows: Any) -> None:
    baskets, held = [basket for basket, _ in rows], [items for _, items in rows]
    count = max(baskets, default=-1) + 1
    owned = [[own for owner, own in rows if owner == basket] for basket in range(count)]
    expected = [sorted({item for items in own for item in items}) for own in owned]
    entries = array(item for items in held for item in items)
    codes, offsets = module.brought_together(entries, array(map(len, held)), array(baskets))
    assert np.diff(offsets).tolist() == [sum(map(len, own)) for own in owned]
    final = array([7, 3, 3, 0, 9, -1])  # of which two are the same item, and the last is none
    offsets, items = module.canonical_baskets(offsets, codes, final)
    kept = [sorted({final[code] for code in basket} - {-1}) for basket in expected]
    assert [items[a:b].tolist() for a, b in pairwise(offsets)] == kept
