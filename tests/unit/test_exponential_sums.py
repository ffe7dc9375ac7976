"""Sums over all values of noise in closed form: against the same sums term by term, for noise of
any width.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fim_private.auditing.exact import (
    DIGITS,
    Exponentials,
    Stops,
    Stretch,
    Terms,
    decay,
    highest_shares,
    laplace_tail,
    ranks,
)
from fim_private.mechanisms import LargeMargin, TightMargin
from fim_private.mechanisms.margins import OneSidedSteps, Search, TwoSidedSteps
from fim_private.spectrum import SupportSpectrum

# Beyond, e^-x is below 1e-43: what is left out of the sums term by term.
FAR = 100
CLOSE = Decimal("1e-40")


terms = st.dictionaries(
    st.integers(-3, 3),
    st.tuples(st.integers(0, 40), st.fractions(-2, 2).map(lambda x: Decimal(float(x)))),
    max_size=4,
)


@settings(max_examples=40)
@given(one=terms, two=terms, first=st.integers(-5, 5), count=st.integers(1, 20))
def test_a_total_is_the_sum_of_what_the_terms_are(
    one: Terms, two: Terms, first: int, count: int
) -> None:
    rate = Fraction(3, 100)
    with localcontext(DIGITS):
        sums = Exponentials(rate)

        def value(of: Terms, x: int) -> Decimal:
            exponents = ((c, rate * (p + 20 + g * x)) for g, (p, c) in of.items())
            return sum(
                (c * (-Decimal(e.numerator) / Decimal(e.denominator)).exp() for c, e in exponents),
                Decimal(0),
            )

        # Raised, so that all exponents are at least 0 here.
        raised = {g: (p + 80, c) for g, (p, c) in sums.times(one, two).items()}
        found = sums.total(raised, Stretch(first, first + count - 1))
        right = sum(
            (value(one, x) * value(two, x) for x in range(first, first + count)), Decimal(0)
        )
        assert abs(found - right * decay(rate, 40)) < CLOSE


def stops_term_by_term(search: Search) -> Stops:
    """The same probabilities, summed over the values of the shared noise one by one."""
    noise = search.noise
    with localcontext(DIGITS):
        if isinstance(noise, OneSidedSteps):
            reach = int(FAR / noise.shared_rate)
            shared = {
                -k: (1 - decay(noise.shared_rate, 1)) * decay(noise.shared_rate, k)
                for k in range(reach)
            }
        else:
            assert isinstance(noise, TwoSidedSteps)
            reach = int(FAR * max(noise.maximum_scale, noise.shared_scale))
            scales = noise.maximum_scale, noise.shared_scale
            z, g = (
                [laplace_tail(b, k) - laplace_tail(b, k + 1) for k in range(-reach, reach + 1)]
                for b in scales
            )
            shared = {}
            for i, one in enumerate(z):
                for j, two in enumerate(g):
                    shared[i - j] = shared.get(i - j, Decimal(0)) + one * two
        found: Stops = {None: Decimal(0)}
        for x, alive in shared.items():
            for run in search.runs():
                for rank in range(run.first, run.last + 1):
                    slack = search.maximum - run.next_support - search.threshold(rank) + x
                    if isinstance(noise, OneSidedSteps):
                        hazard = decay(noise.step_rate, max(-slack, 0))
                    else:
                        hazard = laplace_tail(noise.step_scale, 1 - slack)
                    found[rank] = found.get(rank, Decimal(0)) + alive * hazard
                    alive *= 1 - hazard
            found[None] += alive
        return found


@pytest.mark.parametrize("supports", [[0], [40], [90, 60, 60, 2], [300, 300, 299, 7, 7]])
def test_where_a_search_stops_is_summed_to_its_end(supports: list[int]) -> None:
    """Slacks of both signs, above and below all of the noise, equal ones among them."""
    spectrum = SupportSpectrum.from_supports([support for support in supports if support])
    tight = TightMargin(2.0, 1e-3, max_rank=6)
    one_sided = tight.search(spectrum)
    two_sided = Search(
        spectrum, lambda rank: 20 + rank // 2, 4, TwoSidedSteps(*map(Fraction, (1, 2, 4)))
    )
    for search in (one_sided, two_sided):
        found, right = ranks(search), stops_term_by_term(search)
        assert found.keys() == right.keys()
        for rank, chance in right.items():
            assert abs(found[rank] - chance) < CLOSE


def test_noise_of_any_width_takes_as_long() -> None:
    """At ε = 1e-6 the noise has half a billion values: the probabilities still are those of ε = 1,
    scaled.
    """
    found = {}
    for scale in (10**3, 10**6):
        mechanism = LargeMargin(Fraction(1, scale), 1e-6, max_rank=5)
        search = mechanism.search(
            SupportSpectrum.from_supports([420 * scale, 5 * scale, 5 * scale, 3 * scale])
        )
        stops = ranks(search)
        with localcontext(DIGITS):
            assert abs(sum(stops.values(), Decimal(0)) - 1) < CLOSE
        found[scale] = {rank: float(chance) for rank, chance in stops.items()}
    assert found[10**3] == pytest.approx(found[10**6], rel=1e-3)


@pytest.mark.parametrize("levels", [((0, 1), (4, 2)), ((0, 3), (1, 1), (30, 4)), ((0, 2),)])
def test_who_has_the_highest_noisy_support_is_summed_to_its_end(
    levels: tuple[tuple[int, int], ...],
) -> None:
    """P(Z_i is the highest, a uniform number ordering equal ones): Σ_v over how many tie."""
    scale = Fraction(5, 2)
    found = highest_shares(scale, levels)
    itemsets = [(place, distance) for place, (distance, m) in enumerate(levels) for _ in range(m)]
    right = [Decimal(0) for _ in levels]
    with localcontext(DIGITS):
        for v in range(-int(FAR * scale), int(FAR * scale)):
            # How many of the others tie at v, none being above: the coefficients of a polynomial.
            for own, (place, distance) in enumerate(itemsets):
                ties = [laplace_tail(scale, v + distance) - laplace_tail(scale, v + distance + 1)]
                for other, (_, d) in enumerate(itemsets):
                    if other != own:
                        here = laplace_tail(scale, v + d) - laplace_tail(scale, v + d + 1)
                        below = 1 - laplace_tail(scale, v + d)
                        ties = [
                            (ties[k] if k < len(ties) else 0) * below
                            + (ties[k - 1] * here if k else 0)
                            for k in range(len(ties) + 1)
                        ]
                right[place] += sum((tie / (k + 1) for k, tie in enumerate(ties)), Decimal(0))
        assert abs(sum(found, Decimal(0)) - 1) < CLOSE
        for one, two in zip(found, right, strict=True):
            assert abs(one - two) < CLOSE
