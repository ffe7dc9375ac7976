"""compare: the exact prospects of mechanisms on one spectrum."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_cases import CASES, Case, outcomes

from fim_private.comparing import QUANTILES, ComparedMechanism, Comparison, compare
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.mechanisms import Exponential, LargeMargin, Mechanism, NamedExponential, OutcomeDistribution
from fim_private.spectrum import SupportSpectrum


@dataclass(frozen=True)
class Fixed:
    """A mechanism whose distribution is given."""

    shares: tuple[tuple[int, float], ...]
    abstain: float = 0.0
    cost = PrivacyCost(0.25, 1e-9)

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Any:
        raise NotImplementedError

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        levels, probabilities = zip(*self.shares, strict=True) if self.shares else ((), ())
        return OutcomeDistribution(np.array(levels, dtype=np.int64), np.array(probabilities, dtype=float), self.abstain)


def only(spectrum: SupportSpectrum | Iterable[int], mechanism: Any) -> ComparedMechanism:
    (row,) = compare(spectrum, [mechanism]).rows
    return row


# ------------------------------------------------------------------------------------------------ the figures


def test_by_hand() -> None:
    row = only([100, 90, 40], Fixed(((100, 0.5), (90, 0.375), (40, 0.0625)), 0.0625))
    assert row == ComparedMechanism(
        name="Fixed",
        cost=PrivacyCost(0.25, 1e-9),
        expected_support=86.25,
        best_probability=0.5,
        abstain_probability=0.0625,
        expected_regret=13.75,
        regret_quantiles=(0, 60, 100, 100),
    )


def test_a_quantile_that_is_reached_exactly_though_rounded() -> None:
    assert 0.7 + 0.2 < 0.9  # in doubles
    row = only([9, 8, 1], Fixed(((9, 0.7), (8, 0.2), (1, 0.1))))
    assert row.regret_quantiles == (0, 1, 8, 8)


def test_probabilities_that_are_rounded_below_a_quantile_still_have_one() -> None:
    assert only([9], Fixed(((9, 0.5),), 0.4)).regret_quantiles == (0, 9, 9, 9)


@pytest.mark.parametrize("case", [case for case in CASES if "zeros win half" not in case.name], ids=str)
def test_figures_follow_from_the_distribution(case: Case) -> None:
    row = only(case.spectrum, case.mechanism)
    top = max(case.supports)
    exact = outcomes(case.mechanism, case.spectrum)
    assert row.expected_support == pytest.approx(math.fsum((level or 0) * p for level, p in exact.items()))
    assert row.expected_regret == pytest.approx(top - row.expected_support, abs=1e-9 * top)
    assert row.best_probability == pytest.approx(exact[top])
    assert row.abstain_probability == exact[None]
    for quantile, regret in zip(QUANTILES, row.regret_quantiles, strict=True):
        within = math.fsum(p for level, p in exact.items() if top - (level or 0) <= regret)
        less = math.fsum(p for level, p in exact.items() if top - (level or 0) < regret)
        assert less < quantile <= within + 1e-9


def test_seeded_draws_agree() -> None:
    spectrum = SupportSpectrum.from_supports([62, 60, 60, 57, 40], 100)
    mechanism = Exponential(epsilon=0.6)
    row, randomness = only(spectrum, mechanism), Randomness.seeded(4)
    levels = np.array([mechanism.select(spectrum, randomness).level or 0 for _ in range(4000)])
    assert abs(levels.mean() - row.expected_support) < 5 * levels.std() / math.sqrt(4000)
    assert abs((levels == 62).mean() - row.best_probability) < 5 * 0.5 / math.sqrt(4000)
    assert row.regret_quantiles[0] == np.quantile(62 - levels, 0.5)


@settings(max_examples=30)
@given(
    supports=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    extra=st.integers(0, 5),
    epsilon=st.sampled_from([0.1, 1.0, 8.0]),
)
def test_figures_are_consistent(supports: list[int], extra: int, epsilon: float) -> None:
    row = only(SupportSpectrum.from_supports(supports, len(supports) + extra), Exponential(epsilon))
    top = max(supports)
    assert 0 <= row.expected_support <= top + 1e-9
    assert row.expected_support + row.expected_regret == pytest.approx(top)
    assert list(row.regret_quantiles) == sorted(row.regret_quantiles)
    assert set(row.regret_quantiles) <= {top - level for level in {*supports, 0}}
    assert (row.best_probability >= 0.5 - 1e-9) == (row.regret_quantiles[0] == 0)


def test_a_larger_epsilon_is_better() -> None:
    rows = compare([460, 452, 20], [LargeMargin(0.5), LargeMargin(1.0), LargeMargin(4.0)]).rows
    supports = [row.expected_support for row in rows]
    assert supports == sorted(supports)
    assert supports[0] < supports[1]


# ----------------------------------------------------------------------------------------------------- spectra


def test_numbers_mean_an_unknown_universe() -> None:
    assert only([450, 20], LargeMargin()) == only(SupportSpectrum.from_supports([20, 450]), LargeMargin())
    assert only(iter([450, 20]), LargeMargin()) == only(np.array([20, 450]), LargeMargin())
    with pytest.raises(ParameterError, match="needs a public universe"):
        compare([450, 20], [Exponential(1.0)])


def test_nothing_to_find() -> None:
    row = only([], LargeMargin())
    assert (row.expected_support, row.best_probability, row.regret_quantiles) == (0.0, 0.0, (0, 0, 0, 0))
    assert row.abstain_probability == pytest.approx(1.0)


def test_level_0_is_best_only_where_it_is_an_itemset() -> None:
    assert only(SupportSpectrum.from_supports([], 5), Exponential(1.0)).best_probability == 1.0
    unnamed = only([], NamedExponential(1.0, 1e-6, 5))
    assert (unnamed.best_probability, unnamed.abstain_probability) == (0.0, 0.0)


def test_all_mechanisms_see_the_same_spectrum() -> None:
    alone = [only([450, 440], LargeMargin(epsilon)) for epsilon in (0.5, 2.0)]
    together = compare(iter([450, 440]), {"LargeMargin": LargeMargin(0.5), "other": LargeMargin(2.0)}).rows
    assert [row.expected_support for row in together] == [row.expected_support for row in alone]


# ------------------------------------------------------------------------------------------------------- names


def test_names() -> None:
    spectrum = SupportSpectrum.from_supports([50], 10)
    several: list[Mechanism] = [LargeMargin(0.5), Exponential(1.0), LargeMargin(1.0, max_rank=5)]
    assert [row.name for row in compare(spectrum, several).rows] == [
        "LargeMargin(epsilon=0.5, max_rank=10000)",
        "Exponential",
        "LargeMargin(epsilon=1.0, max_rank=5)",
    ]
    assert [row.name for row in compare(spectrum, {"b": several[0], "a": several[1]}).rows] == ["b", "a"]
    assert [row.name for row in compare(spectrum, iter(several[:2])).rows] == ["LargeMargin", "Exponential"]


def test_a_row_has_the_cost() -> None:
    assert only([50], LargeMargin(0.5, 1e-7)).cost == PrivacyCost(0.5, 1e-7)


# -------------------------------------------------------------------------------------------------------- forms

COMPARISON = Comparison(
    (
        ComparedMechanism("careful", PrivacyCost(0.5, 1e-6), 12_345.678, 0.75, 0.25, 100.0, (0, 5, 10, 12_000)),
        ComparedMechanism("bold", PrivacyCost(2.0, 0.0), 12_400.0, 1.0, 0.0, 45.678, (0, 0, 1, 2)),
    )
)


def test_to_dict() -> None:
    assert COMPARISON.to_dict()["rows"][0] == {
        "mechanism": "careful",
        "epsilon": 0.5,
        "delta": 1e-6,
        "expected_support": 12_345.678,
        "best_probability": 0.75,
        "abstain_probability": 0.25,
        "expected_regret": 100.0,
        "regret_50": 0,
        "regret_90": 5,
        "regret_95": 10,
        "regret_99": 12_000,
    }
    assert [row["mechanism"] for row in COMPARISON.to_dict()["rows"]] == ["careful", "bold"]


def test_to_pandas() -> None:
    frame = COMPARISON.to_pandas()
    assert frame.to_dict("records") == COMPARISON.to_dict()["rows"]


def test_the_table() -> None:
    assert str(COMPARISON).splitlines() == [
        "mechanism  epsilon  delta  E support  P(best)  P(abstain)  E regret"
        "  regret 50%  regret 90%  regret 95%  regret 99%",
        "careful        0.5  1e-06   12,345.7   0.7500        0.25     100.0"
        "           0           5          10      12,000",
        "bold             2      0   12,400.0   1.0000           0      45.7"
        "           0           0           1           2",
        "Exact figures of the data, not private: never publish those of real data.",
    ]


# ------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("spectrum", "given_mechanisms", "message"),
    [
        ([5], [], "mechanisms must hold at least one"),
        ([5], {}, "mechanisms must hold at least one"),
        ([5], LargeMargin(), "mechanisms must be several"),
        ([5], "large-margin", "mechanisms must be of fim_private.mechanisms"),
        ([5], [None], "mechanisms must be of fim_private.mechanisms"),
        ([0], [LargeMargin()], "supports must be a whole number of at least 1"),
        ([2.5], [LargeMargin()], "supports must be a whole number"),
        ("55", [LargeMargin()], "spectrum must be"),
        ({5: 1}, [LargeMargin()], "spectrum must be"),
        (5, [LargeMargin()], "spectrum must be"),
    ],
)
def test_errors(spectrum: Any, given_mechanisms: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=rf"^{message}") as error:
        compare(spectrum, given_mechanisms)
    assert "\n" not in str(error.value)
