"""Rounded normal noise as a program: draws from chosen bytes against the definition, seeds."""

import math
from bisect import bisect_right
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fim_private.dp import noise as sampler
from fim_private.dp.bounds import DOWN, UP, normal_tail
from fim_private.dp.noise import Randomness, rounded_normal, rounded_normal_tail

PRECISE = Context(prec=90)
TAIL = (1 << 16) - 1
# One word a proposal for the first three, two for the others; of the last, many roundings are left
# open by doubles.
VARIANCES = [Fraction(1, 10), Fraction(7, 3), Fraction(401, 3) * 2**32]
VARIANCES += [Fraction(300 << 40), Fraction(1 << 79, 3)]


class Rejected(Exception):  # noqa: N818 - an outcome, no error
    """The proposal was not kept."""


class OneProposal(Randomness):
    """The words of one proposal, then some bytes, then always the same one."""

    def __init__(self, words: list[int], before: bytes, ever: int) -> None:
        super().__init__(self._bytes)
        self._words, self._before, self._ever = words, before, ever
        self.refined = False

    def _bytes(self, count: int) -> bytes:
        self.refined = True
        given = self._before[:count]
        self._before = self._before[count:]
        return given + bytes([self._ever]) * (count - len(given))

    def words(self, count: int, width: int) -> NDArray[np.unsignedinteger]:
        assert (count, width) == (1, 8)
        if not self._words:
            raise Rejected
        return np.array([self._words.pop(0)], dtype="<u8")


def drawn(sigma2: Fraction, words: list[int], ever: int, before: bytes = b"") -> int | None:
    """What is drawn by one proposal, all of whose later bits are 0 or 1; None if it is not kept."""
    try:
        proposal = OneProposal([*words], before, 255 * ever)
        return int(rounded_normal(sigma2, 1, randomness=proposal)[0])
    except Rejected:
        return None


@cache
def weights() -> list[int]:
    """The weights of the narrow cells, from the definition: 1611 e^{-a²/2}, up."""
    exponents = [PRECISE.divide(Decimal(-j * j), Decimal(2 * 32**2)) for j in range(152)]
    parts = [math.ceil(PRECISE.multiply(Decimal(1611), PRECISE.exp(power))) for power in exponents]
    assert sum(parts) <= TAIL
    return [parts[0] + TAIL - sum(parts), *parts[1:]]


def cell(choice: int, coins: int) -> tuple[Fraction, Fraction, Fraction]:
    """The start, the width and the weight of the cell that 16 bits choose."""
    if choice == TAIL:
        return Fraction(19, 4) + Fraction(coins, 4), Fraction(1, 4), Fraction(1, 2 ** (coins + 1))
    j = bisect_right(list(accumulate(weights())), choice)
    return Fraction(j, 32), Fraction(1, 32), Fraction(weights()[j])


def decimal(value: Fraction) -> Decimal:
    return PRECISE.divide(Decimal(value.numerator), Decimal(value.denominator))


def acceptance(choice: int, x: Fraction, coins: int = 0) -> Decimal:
    """Equation (N): S (w/h) / c · e^{-(a+wx)²/2}."""
    start, width, weight = cell(choice, coins)
    decay = PRECISE.exp(decimal(-((start + width * x) ** 2) / 2))
    return PRECISE.multiply(decimal(1611 * width * 32 / weight), decay)


def defined(sigma2: Fraction, words: list[int], ever: int, coins: int = 0) -> int | None:
    """What the definition makes of a proposal, all of whose later bits are 0 or 1."""
    choice, first, negative = words[0] & 0xFFFF, words[0] >> 16 & 0xFFFF, words[0] >> 63
    x = Fraction(words[0] >> 32 & 0x7FFFFFFF, 1 << 31)
    if len(words) == 2:
        x += Fraction(words[1] + ever, 1 << 95)
    else:
        x += Fraction(ever, 1 << 31)
    if Fraction(first + ever, 1 << 16) > Fraction(acceptance(choice, x, coins)):
        return None
    start, width, _ = cell(choice, coins)
    magnitude = PRECISE.multiply(PRECISE.sqrt(decimal(sigma2)), decimal(start + width * x))
    rounded = int(PRECISE.add(magnitude, Decimal("0.5")).to_integral_value(rounding=ROUND_FLOOR))
    return -rounded if negative else rounded


def word(choice: int, first: int, negative: bool, x: int) -> int:
    return choice | first << 16 | x << 32 | negative << 63


def words_of(sigma2: Fraction, choice: int, first: int, negative: bool, x: Fraction) -> list[int]:
    """The words of a proposal with the first digits of x, 31 or 95 of them."""
    if sigma2 <= 1 << 40:
        return [word(choice, first, negative, math.floor(x * 2**31))]
    digits = math.floor(x * 2**95)
    return [word(choice, first, negative, digits >> 64), digits & 2**64 - 1]


@pytest.fixture(params=["doubles", "rationals", "coarse"])
def paths(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is; all that is not certain at a cell's edge by rationals; the same, digit by digit."""
    if request.param == "coarse":
        monkeypatch.setattr(sampler, "_FIRST_BITS", 1)
    if request.param != "doubles":
        monkeypatch.setattr(sampler, "_MARGIN", 2.0)
        monkeypatch.setattr(sampler, "_ROUNDING", 2.0)


PROPOSALS = {
    "choice": st.integers(0, TAIL),
    "first": st.integers(0, 2**16 - 1),
    "negative": st.booleans(),
    "x": st.one_of(  # anywhere, and at both ends
        st.builds(Fraction, st.integers(0, 2**95 - 1), st.just(2**95)),
        st.sampled_from([0, 1 - Fraction(1, 2**95)]),
    ),
}
on_all_paths = pytest.mark.usefixtures("paths")
each_variance = pytest.mark.parametrize("sigma2", VARIANCES, ids=str)


@pytest.mark.one_in(4)
@on_all_paths
@each_variance
@given(**PROPOSALS, ever=st.integers(0, 1))
def test_any_proposal(
    sigma2: Fraction, choice: int, first: int, negative: bool, x: Fraction, ever: int
) -> None:
    words = words_of(sigma2, choice, first, negative, x)
    if choice == TAIL:
        ever = 0  # else the coins would never end
    assert drawn(sigma2, words, ever) == defined(sigma2, words, ever)


@pytest.mark.one_in(4)
@on_all_paths
@each_variance
@given(choice=PROPOSALS["choice"], negative=PROPOSALS["negative"], x=PROPOSALS["x"])
def test_later_bits_accept(sigma2: Fraction, choice: int, negative: bool, x: Fraction) -> None:
    chance = Fraction(acceptance(choice, x))
    first = min(math.floor(chance * 2**16), 2**16 - 1)
    words = words_of(sigma2, choice, first, negative, x)
    assert drawn(sigma2, words, 0) == defined(sigma2, words, 0)
    if choice != TAIL and chance < 1 - Fraction(1, 2**16):
        assert drawn(sigma2, words, 0) is not None
        assert drawn(sigma2, words, 1) is None


@pytest.mark.one_in(4)
@on_all_paths
@pytest.mark.parametrize("sigma2", [VARIANCES[1], VARIANCES[3]], ids=["7/3", "2^48"])
@given(choice=st.integers(0, TAIL - 1), share=st.fractions(0, 1))
def test_a_proposal_that_later_bits_drop(sigma2: Fraction, choice: int, share: Fraction) -> None:
    # u < (first + 1)/2^16, which p falls to between one x of 31 digits, or 95, and the next.
    start, width, _ = cell(choice, 0)
    least, most = (math.ceil(Fraction(acceptance(choice, Fraction(x))) * 2**16) for x in (1, 0))
    first = least + math.floor(share * (most - 2 - least))
    if first < least:
        return  # p falls by less than two steps of u in this cell
    height = PRECISE.divide(acceptance(choice, -start / width), decimal(Fraction(first + 1, 2**16)))
    z = PRECISE.sqrt(PRECISE.multiply(Decimal(2), PRECISE.ln(height)))
    words = words_of(sigma2, choice, first, False, (Fraction(z) - start) / width)
    assert drawn(sigma2, words, 0) is not None
    assert drawn(sigma2, words, 1) is None


@pytest.mark.one_in(4)
@on_all_paths
@each_variance
@given(choice=st.integers(0, TAIL - 1), share=st.fractions(0, 1), negative=PROPOSALS["negative"])
def test_later_bits_decide(sigma2: Fraction, choice: int, share: Fraction, negative: bool) -> None:
    # x such that σ|Z| is just at n + 1/2, for one of the n there are in the cell.
    start, width, _ = cell(choice, 0)
    sigma = Fraction(PRECISE.sqrt(decimal(sigma2)))
    least = math.ceil(sigma * start - Fraction(1, 2))
    most = math.floor(sigma * (start + width) - Fraction(1, 2))
    if least > most:
        return  # no half-integer in this cell
    n = least + math.floor(share * (most - least))
    words = words_of(sigma2, choice, 0, negative, ((n + Fraction(1, 2)) / sigma - start) / width)
    sign = -1 if negative else 1
    assert drawn(sigma2, words, 0) == sign * n
    assert drawn(sigma2, words, 1) == sign * (n + 1)


@on_all_paths
@pytest.mark.parametrize("coins", [0, 1, 2, 7])
def test_a_draw_from_the_wide_cells(coins: int) -> None:
    sigma2 = Fraction(10**6)
    before = b"\x80" * coins + b"\x00"
    for first in (0, 1000, 5000, 10_000, 40_000):
        for x in (Fraction(0), Fraction(1, 5), Fraction(7, 9)):
            words = words_of(sigma2, TAIL, first, False, x)
            assert drawn(sigma2, words, 0, before) == defined(sigma2, words, 0, coins)


def test_seeds_reproduce_and_are_pinned() -> None:
    # A seeded figure in a paper must not change with a version.
    first = rounded_normal(Fraction(400), 8, randomness=Randomness.seeded(2014)).tolist()
    assert first == rounded_normal(Fraction(400), 8, randomness=Randomness.seeded(2014)).tolist()
    assert first != rounded_normal(Fraction(400), 8, randomness=Randomness.seeded(2015)).tolist()
    assert first == [6, 41, 29, -4, -4, 17, 4, 19]
    for sigma2, kind in ((1 << 80, object), ((1 << 80) - 1, np.int64)):
        for size in (0, 7):
            values = rounded_normal(sigma2, size, randomness=Randomness.seeded(1))
            assert values.shape == (size,)
            assert values.dtype == kind


# -------------------- tails

TAIL_VARIANCES = st.builds(
    lambda digits, e: digits * Fraction(10) ** e, st.integers(1, 9999), st.integers(-6, 36)
)
PROBABILITIES = st.one_of(
    st.fractions(Fraction(1, 1000), Fraction(999, 1000)),
    st.builds(lambda n, e: n * Fraction(10) ** e, st.integers(1, 9), st.integers(-310, -3)),
)


@given(TAIL_VARIANCES, st.fractions(-40, 40))
def test_the_tail_is_that_of_the_rounded_normal(sigma2: Fraction, place: Fraction) -> None:
    k = math.floor(place * Fraction(math.sqrt(sigma2)))
    # Q((k - 1/2)/σ) lies between Q at rationals on either side of it.
    upper = rounded_normal_tail(sigma2, k)
    root = math.isqrt(math.floor((2 * k - 1) ** 2 / (4 * sigma2) * 10**80))
    roots = sorted((root, root + 1), key=abs)
    low, high = (Fraction(r, 10**40) if k > 0 else -Fraction(r, 10**40) for r in roots)
    least, most = min(low, high), max(low, high)
    assert Fraction(normal_tail(DOWN, most)) <= upper
    if upper > Fraction(1, 10**1000):
        assert upper <= Fraction(normal_tail(UP, least)) * (1 + Fraction(1, 10**30))


@given(TAIL_VARIANCES, PROBABILITIES)
def test_least_exceeding_is_certified_and_the_least(sigma2: Fraction, p: Fraction) -> None:
    q = sampler.least_exceeding(sigma2, p)
    assert rounded_normal_tail(sigma2, q) <= p < rounded_normal_tail(sigma2, q - 1)


@given(TAIL_VARIANCES, st.fractions(Fraction(1, 10), Fraction(999, 1000)))
def test_the_half_width_is_certified_and_the_least(sigma2: Fraction, confidence: Fraction) -> None:
    width = sampler.rounded_normal_half_width(sigma2, confidence)
    assert width >= 0
    assert 1 - 2 * rounded_normal_tail(sigma2, width + 1) >= confidence
    assert width == 0 or 1 - 2 * rounded_normal_tail(sigma2, width) < confidence
