"""The samplers as programs: sources, seeds, refinement, sizes."""

import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import python

from fim_private.dp import noise as sampler
from fim_private.dp.noise import Randomness, choose_level


class Script:
    """A byte source that plays given bytes, then fails."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __call__(self, count: int) -> bytes:
        assert count <= len(self.content), "the script has no more bytes"
        taken, self.content = self.content[:count], self.content[count:]
        return taken


def test_only_the_operating_systems_generator_is_private() -> None:
    assert Randomness().private
    assert Randomness(os.urandom).private
    assert not Randomness.seeded(1).private
    assert not Randomness(Script(b"")).private


def test_one_seed_gives_one_stream_whatever_the_request_sizes() -> None:
    one, two = Randomness.seeded(5), Randomness.seeded(5)
    assert one.words(10_000, 1).tolist() == [two.bits(8) for _ in range(10_000)]
    assert Randomness.seeded(5).bits(64) != Randomness.seeded(6).bits(64)


def test_the_seeded_stream_is_pinned() -> None:
    # A seeded figure in a paper must not change with a version.
    assert Randomness.seeded(2014).bits(64) == 8760093950480234898


def test_below_rejects_what_is_too_large() -> None:
    # 0xFF >> 5 = 7 is rejected, 0x20 >> 5 = 1
    assert Randomness(Script(bytes([0xFF, 0x20]))).below(5) == 1
    assert Randomness(Script(b"")).below(1) == 0


@given(st.integers(1, 10**30), st.integers(0, 2**32))
def test_uniform_integers_stay_below_the_bound(bound: int, seed: int) -> None:
    drawn = sampler.uniform_integers(bound, 50, randomness=Randomness.seeded(seed))
    assert len(drawn) == 50
    assert all(0 <= value < bound for value in drawn.tolist())


@settings(max_examples=40)
@given(st.fractions(Fraction(1, 10**20), 10**6, max_denominator=10**24), st.integers(0, 2**32))
def test_any_positive_rational_parameter_works(parameter: Fraction, seed: int) -> None:
    randomness = Randomness.seeded(seed)
    if parameter < 1000:
        assert sampler.bernoulli_exp(parameter, 3, randomness=randomness).shape == (3,)
    assert (sampler.geometric(parameter, 3, randomness=randomness) >= 0).all()
    assert sampler.discrete_laplace(parameter, 3, randomness=randomness).shape == (3,)
    assert isinstance(sampler.discrete_laplace_integer(parameter, randomness=randomness), int)


def test_a_uniform_real_keeps_its_digits_when_refined() -> None:
    uniform = sampler.UniformReal(randomness=Randomness.seeded(3))
    coarse = uniform.digits(10)
    fine = uniform.digits(1000)
    assert fine >> 990 == coarse == uniform.digits(10)


@pytest.mark.parametrize("more", [b"\x00", b"\xfe"])
def test_a_choice_that_the_first_digits_leave_open_is_refined(more: bytes) -> None:
    # Two equal weights and u = 0.0111… for 98 digits: below the border by less than the digits
    # show.
    source = Script(b"\xff" * 12 + b"\x7f" + more * 13)
    assert choose_level([0, 0], [1, 1], Fraction(1), randomness=Randomness(source)) == 0
    assert not source.content  # it did ask for more
    source = Script(b"\x00" * 12 + b"\x80")  # on the border: that of the upper level
    assert choose_level([0, 0], [1, 1], Fraction(1), randomness=Randomness(source)) == 1


def test_a_choice_among_astronomic_multiplicities_is_decided_exactly() -> None:
    randomness = Randomness.seeded(11)
    # 10**60 itemsets at distance 277: 10**60 e^-138.5 = 0.71 of a single leader. A level of none is
    # never chosen.
    choice = [0, 277, 280], [1, 10**60, 0], Fraction(1, 2)
    draws = [choose_level(*choice, randomness=randomness) for _ in range(4000)]
    expected = 1 / (1 + 1e60 * np.exp(-138.5))
    assert set(draws) == {0, 1}
    assert abs(1 - np.mean(draws) - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000)


def test_large_scales_take_the_integer_path() -> None:
    scale, draw = Fraction(10**17), sampler.discrete_laplace_integer
    drawn = [draw(scale, randomness=Randomness.seeded(seed)) for seed in range(200)]
    assert 0.8 < np.mean(np.abs(drawn)) / 1e17 < 1.25


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_has_no_random_bytes_in_stock() -> None:
    """Two processes of one origin that drew the same noise would take it off each other's
    releases.
    """
    program = """
import os
from fim_private.dp.noise import Randomness
randomness = Randomness()
randomness.bits(8)
for _ in range(2):
    if not os.fork():
        os.write(1, b"%x\\n" % randomness.bits(256))
        os._exit(0)
    os.wait()
os.write(1, b"%x\\n" % randomness.bits(256))
"""
    assert len({*python("-c", program).stdout.split()}) == 3
