"""SupportSpectrum: lazy descending levels, the zero level of a public universe, and naming."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.reading.labels import Item
from fim_private.spectrum import LevelDraws, SupportSpectrum, union


@pytest.mark.parametrize("wrong", [0, 1.5, "3", True])
def test_from_supports_refuses_what_is_no_positive_whole_number(wrong: Any) -> None:
    with pytest.raises(ParameterError, match=r"^supports must be a whole number of at least 1"):
        SupportSpectrum.from_supports([4, wrong])
    with pytest.raises(ParameterError, match=r"^universe_size must be a whole number of at least"):
        SupportSpectrum.from_supports([4], universe_size=wrong)


def test_union_adds_up_levels_and_names_from_each_part() -> None:
    def named(
        label: str,
    ) -> Callable[[Sequence[LevelDraws], Randomness], list[list[tuple[Item, ...]]]]:
        return lambda wanted, _: [
            [(label, s, place) for place in range(number)] for s, _, number in wanted
        ]

    one = SupportSpectrum([(5, 2), (3, 1)], universe_size=10, sampler=named("one"))
    two = SupportSpectrum([(7, 1), (5, 1)], universe_size=5, sampler=named("two"))
    both = union([one, two])
    assert list(both.levels()) == union([one, two]).all_levels() == [(7, 1), (5, 3), (3, 1)]
    assert both.universe_size == 15
    assert both.zero_multiplicity() == 10
    names = both.sample_itemsets([7, 5, 5, 5, 3], Randomness())
    assert names[0] == ("two", 7, 0)
    assert sorted(names[1:4]) == [("one", 5, 0), ("one", 5, 1), ("two", 5, 0)]
    assert union([one, SupportSpectrum([(2, 1)])]).universe_size is None
    drawn = [both.sample_itemsets([5], Randomness.seeded(seed))[0][0] for seed in range(300)]
    assert 160 < drawn.count("one") < 240  # 2 in 3, five standard deviations
