"""The race of levels decides as exact numbers do, to the last bit of the bytes it is given."""

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fim_private.dp.noise import Randomness
from fim_private.mechanisms import MaxOfLaplaces, PermuteAndFlip
from fim_private.spectrum import SupportSpectrum

DIGITS = 120
WORD = 1 << 64
TENTH = Fraction(1, 10)


class Chosen:
    """A source of bytes that gives the words it was built with, then zeros."""

    def __init__(self, words: list[int]) -> None:
        self._bytes = b"".join(word.to_bytes(8, "little") for word in words)

    def __call__(self, count: int) -> bytes:
        given, self._bytes = self._bytes[:count], self._bytes[count:]
        return given.ljust(count, b"\0")


def chosen_level(mechanism: Any, levels: list[tuple[int, int]], words: list[int]) -> int | None:
    size = sum(multiplicity for _, multiplicity in levels)
    spectrum = SupportSpectrum(levels, universe_size=size)
    selection = mechanism.select(spectrum, Randomness(Chosen(words)))
    level: int | None = selection.level
    return level


def complement(word: int, count: int) -> Decimal:
    """1 - V**(1/count), for V = word / 2**64."""
    return 1 - ((Decimal(word) / WORD).ln() / count).exp() if word else Decimal(1)


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def arrival(mechanism: PermuteAndFlip, distance: int, count: int, word: int) -> Decimal:
    """Minus the time at which the first accepted of count candidates arrives."""
    return -complement(word, count) * (decimal(mechanism.rate) * distance).exp()


def noisy_support(mechanism: MaxOfLaplaces, distance: int, count: int, word: int) -> Decimal:
    """The highest of count noisy supports, with a uniform number to order ties."""
    scale = decimal(mechanism.scale)

    def tail(k: int) -> Decimal:
        unit = (-1 / scale).exp()
        if k > 0:
            return (-k / scale).exp() / (1 + unit)
        return 1 - ((k - 1) / scale).exp() / (1 + unit)

    above = complement(word, count)
    low, high = -(1 << 20), 1 << 20  # tail(low) > above >= tail(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(middle) > above else (low, middle)
    return low + (tail(low) - above) / (tail(low) - tail(low + 1)) - distance


KEYS = {PermuteAndFlip: arrival, MaxOfLaplaces: noisy_support}


def winner(mechanism: Any, levels: list[tuple[int, int]], words: list[int]) -> int:
    with localcontext() as context:
        context.prec = DIGITS
        key = KEYS[type(mechanism)]
        keys = [
            key(mechanism, levels[0][0] - support, multiplicity, word)  # type: ignore[operator]
            for (support, multiplicity), word in zip(levels, words, strict=True)
        ]
        assert len(set(keys)) == len(keys)
        return levels[max(range(len(keys)), key=keys.__getitem__)][0]


def critical_word(rate: Fraction, distance: int, count: int, time: float, factor: float) -> int:
    """A word whose 1 - V is factor times what it takes to arrive by then."""
    with localcontext() as context:
        context.prec = DIGITS
        chance = (-decimal(rate) * distance).exp() * Decimal(time) * Decimal(factor)
        value = (count * (1 - min(chance, Decimal("0.5"))).ln()).exp() if chance else Decimal(1)
        return max(1, min(WORD - 1, int(value * WORD)))


@pytest.mark.parametrize("make", [PermuteAndFlip, MaxOfLaplaces])
@given(
    epsilon=st.fractions("1/1000", 3, max_denominator=1000),
    leaders=st.sampled_from([1, 2, 50]),
    log_chance=st.floats(0.01, 43.0),
    log_count=st.sampled_from([0, 0, 1, 10, 60]),
    first=st.integers(1, WORD - 1),
    factor=st.floats(0.2, 5.0),
)
@example(epsilon=TENTH, leaders=1, log_chance=36.6, log_count=0, first=WORD // 2, factor=0.9)
@example(epsilon=TENTH, leaders=1, log_chance=36.6, log_count=0, first=WORD // 3, factor=0.99)
def test_select_decides_exactly(
    make: Any, epsilon: Fraction, leaders: int, log_chance: float, log_count: int, first: int,
    factor: float,
) -> None:  # fmt: skip
    """Two levels that win about as often."""
    mechanism = make(epsilon, "add-remove")
    count = 10**log_count
    with localcontext() as context:
        context.prec = DIGITS
        distance = max(1, int((Decimal(log_chance) + Decimal(count).ln()) / decimal(epsilon)))
        time = float(complement(first, leaders))
    levels = [(distance + 1, leaders), (1, count)]
    words = [first, critical_word(epsilon, distance, count, time, factor)]
    assert chosen_level(mechanism, levels, words) == winner(mechanism, levels, words)


@pytest.mark.parametrize("make", [PermuteAndFlip, MaxOfLaplaces])
def test_the_last_of_a_word_s_digits_count(make: Any) -> None:
    """At ε = 0.1 a level 366 below wins once in 2^53."""
    mechanism = make(Fraction(1, 10), "add-remove")
    levels = [(367, 1), (1, 1)]
    first = WORD // 2
    words = [WORD - 1 - step for step in range(1, 3000, 37)]
    chosen = [chosen_level(mechanism, levels, [first, word]) for word in words]
    assert chosen == [winner(mechanism, levels, [first, word]) for word in words]
    assert 1 in chosen
    assert 367 in chosen


@pytest.mark.parametrize("make", [PermuteAndFlip, MaxOfLaplaces])
def test_a_level_of_more_candidates_than_doubles_reach(make: Any) -> None:
    """10^400 candidates, each with a chance of e^-920: doubles end at 10^308, and e^-746 is 0."""
    levels = [(9_211, 1), (1, 10**400)]
    mechanism = make(Fraction(1, 10), "add-remove")
    # 1 - V is a sixteenth of what the second level's best needs to come in time.
    assert chosen_level(mechanism, levels, [WORD // 2, WORD - (WORD >> 5)]) == 1
    assert chosen_level(mechanism, levels, [WORD // 2, 1 << 60]) == 9_211


@pytest.mark.parametrize("make", [PermuteAndFlip, MaxOfLaplaces])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(1), Fraction(10**9)])
def test_a_level_further_below_than_doubles_reach(make: Any, epsilon: Fraction) -> None:
    for distance in (1 << 899, 1 << 900, 10**400, 10**30_000):
        levels = [(distance + 1, 1), (1, 10**60)]
        assert chosen_level(make(epsilon), levels, [WORD // 2, WORD - 1]) == distance + 1
