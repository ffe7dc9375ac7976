"""SupportSpectrum: lazy descending levels, the zero level of a public universe, and naming."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_private.errors import ParameterError
from fim_private.randomness import Randomness
from fim_private.spectrum import Level, SupportSpectrum
from fim_private.transactions import Item


@given(st.lists(st.integers(1, 10**20), max_size=40))
def test_levels_descend_strictly_and_count_ties(supports: list[int]) -> None:
    levels = list(SupportSpectrum.from_supports(supports).levels())
    assert dict(levels) == Counter(supports)
    assert [support for support, _ in levels] == sorted(set(supports), reverse=True)


def test_numpy_integers_are_supports_and_come_out_as_python_integers() -> None:
    levels = list(SupportSpectrum.from_supports(np.array([3, 5, 5])).levels())
    assert levels == [(5, 2), (3, 1)]
    assert {type(number) for level in levels for number in level} == {int}


@pytest.mark.parametrize("support", [0, -1, 1.5, 2.0, "3", None, True])
def test_from_supports_refuses_what_is_no_support(support: Any) -> None:
    with pytest.raises(ParameterError, match=r"^supports must be a whole number of at least 1"):
        SupportSpectrum.from_supports([4, support])


@pytest.mark.parametrize("universe_size", [0, -1, 1.5, "3", True])
def test_from_supports_refuses_what_is_no_universe_size(universe_size: Any) -> None:
    with pytest.raises(ParameterError, match=r"^universe_size must be a whole number of at least 1"):
        SupportSpectrum.from_supports([4], universe_size=universe_size)


class Source:
    """Levels that say how far they have been read."""

    def __init__(self, levels: list[Level]) -> None:
        self.read = 0
        self._levels = levels

    def __iter__(self) -> Iterator[Level]:
        for level in self._levels:
            self.read += 1
            yield level


def test_levels_are_read_as_far_as_asked_for_and_once() -> None:
    source = Source([(9, 1), (5, 2), (2, 4), (1, 8)])
    spectrum = SupportSpectrum(source)
    assert source.read == 0
    first = spectrum.levels()
    assert next(first) == (9, 1)
    assert source.read == 1
    assert spectrum.multiplicity(5) == 2
    assert source.read == 2
    second = spectrum.levels()  # two readers at different places do not disturb each other
    assert [next(second), next(second), next(second)] == [(9, 1), (5, 2), (2, 4)]
    assert source.read == 3
    assert list(first) == [(5, 2), (2, 4), (1, 8)]
    assert list(second) == [(1, 8)]
    assert source.read == 4


def test_multiplicity_reads_no_further_than_its_level() -> None:
    source = Source([(9, 1), (5, 2), (2, 4), (1, 8)])
    spectrum = SupportSpectrum(source)
    assert spectrum.multiplicity(10) == 0
    assert source.read == 1
    assert spectrum.multiplicity(7) == 0
    assert source.read == 2
    assert [spectrum.multiplicity(level) for level in (9, 5, 2, 1)] == [1, 2, 4, 8]


def test_unknown_universe_has_no_zero_level() -> None:
    spectrum = SupportSpectrum.from_supports([2, 2])
    assert spectrum.universe_size is None
    with pytest.raises(ParameterError, match="universe_size is not public"):
        spectrum.zero_multiplicity()
    with pytest.raises(ParameterError, match="universe_size is not public"):
        spectrum.multiplicity(0)


@pytest.mark.parametrize(("universe_size", "zeros"), [(3, 0), (4, 1), (10**60, 10**60 - 3), (2, 0), (1, 0)])
def test_zero_multiplicity_is_what_the_universe_leaves_and_never_negative(universe_size: int, zeros: int) -> None:
    spectrum = SupportSpectrum.from_supports([7, 2, 2], universe_size=universe_size)
    assert spectrum.zero_multiplicity() == spectrum.multiplicity(0) == zeros


def test_an_empty_spectrum() -> None:
    spectrum = SupportSpectrum.from_supports([], universe_size=10)
    assert list(spectrum.levels()) == []
    assert spectrum.zero_multiplicity() == 10
    assert spectrum.multiplicity(1) == 0


def test_supports_alone_cannot_be_named() -> None:
    with pytest.raises(ParameterError, match="supports only"):
        SupportSpectrum.from_supports([3]).sample_itemset(3, Randomness())


def test_naming_passes_support_and_multiplicity_to_the_sampler() -> None:
    calls = []

    def sampler(support: int, multiplicity: int, randomness: Randomness) -> tuple[Item, ...]:
        calls.append((support, multiplicity, randomness))
        return ("a", "b")

    randomness = Randomness()
    spectrum = SupportSpectrum([(5, 2), (3, 1)], universe_size=10, sampler=sampler)
    assert spectrum.sample_itemset(3, randomness) == ("a", "b")
    assert spectrum.sample_itemset(0, randomness) == ("a", "b")
    assert calls == [(3, 1, randomness), (0, 7, randomness)]
    with pytest.raises(ParameterError, match="level must be a support"):
        spectrum.sample_itemset(4, randomness)
