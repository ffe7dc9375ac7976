"""What each mechanism would give on one spectrum, exactly, side by side: for planning, never for publication.

(The module's name is a gerund because `fim.compare` is a function, which would hide a module of that name.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from fim_private.display import Table
from fim_private.dp.cost import PrivacyCost, at_least
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms import Mechanism
from fim_private.spectrum import SupportSpectrum

# The probabilities that ComparedMechanism.regret_quantiles is about.
QUANTILES = (0.5, 0.9, 0.95, 0.99)
# How far rounding may leave a cumulated probability below the quantile that it reaches.
_ROUNDING = 1e-12

_WARNING = "Exact figures of the data, not private: never publish those of real data."


@dataclass(frozen=True)
class ComparedMechanism:
    """The exact prospects of one mechanism. Supports and regrets are in units; abstaining counts as support 0.

    name, cost: of the mechanism. expected_support: the mean support of the result.
    best_probability: that it is an itemset of the highest support. abstain_probability: that there is none.
    expected_regret: the mean of the highest support minus that of the result.
    regret_quantiles: for each of QUANTILES, the least regret that is not exceeded with that probability.
    """

    name: str
    cost: PrivacyCost
    expected_support: float
    best_probability: float
    abstain_probability: float
    expected_regret: float
    regret_quantiles: tuple[int, int, int, int]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; the quantiles are regret_50, regret_90, regret_95 and regret_99."""
        quantiles = {f"regret_{q * 100:g}": regret for q, regret in zip(QUANTILES, self.regret_quantiles, strict=True)}
        return {
            "mechanism": self.name,
            "epsilon": float(self.cost.epsilon),
            "delta": float(self.cost.delta),
            "expected_support": self.expected_support,
            "best_probability": self.best_probability,
            "abstain_probability": self.abstain_probability,
            "expected_regret": self.expected_regret,
            **quantiles,
        }


@dataclass(frozen=True, repr=False)
class Comparison:
    """One row for each mechanism, in the order given. NOT PRIVATE: every figure depends on the data exactly.

    len() and iteration are of the rows; comparison["name"] is the row of that name.
    """

    rows: tuple[ComparedMechanism, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: {"rows": [one dictionary for each mechanism]}."""
        return {"rows": [row.to_dict() for row in self.rows]}

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame, one row for each mechanism, with the columns of ComparedMechanism.to_dict."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.rows])

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ComparedMechanism]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> ComparedMechanism:
        return {row.name: row for row in self.rows}[name]

    def __str__(self) -> str:
        titles = ["mechanism", "epsilon", "delta", "E support", "P(best)", "P(abstain)", "E regret"]
        titles += [f"regret {q:.0%}" for q in QUANTILES]
        table = [titles, *(_cells(row) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join([cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))])
            for cells in table
        ]
        return "\n".join([*lines, _WARNING])

    def _table(self) -> Table:
        """Return what is shown of it: how probable the best is, and none, and what is lost on average."""
        named = "1 mechanism" if len(self.rows) == 1 else f"{len(self.rows):,} mechanisms"
        return Table(
            f"{named} on one spectrum of supports",
            ("mechanism", "P(best)", "P(abstain)", "E regret"),
            [(cells[0], *cells[4:7]) for cells in map(_cells, self.rows)],
            numbers=frozenset({1, 2, 3}),
            notes=[_WARNING],
            rest="print(comparison)",
        )

    def __repr__(self) -> str:
        return f"Comparison: {self._table().text()}"

    def _repr_html_(self) -> str:
        return self._table().html()


def compare(
    spectrum: SupportSpectrum | Iterable[int], mechanisms: Iterable[Mechanism] | Mapping[str, Mechanism]
) -> Comparison:
    """Return what each mechanism would give on this spectrum, from its exact output distribution; nothing is drawn.

    THE RESULT IS NOT PRIVATE. No figure of it may be published if the spectrum is of real data, and neither may a
    choice that was made by it: to try mechanisms on the data and to keep the best is a query that no budget covers.
    Plan with synthetic or public spectra: choose the mechanism before it meets the data.

    spectrum: a SupportSpectrum, or one support >= 1, in units, for each itemset in any order: then of an unknown
    universe.
    mechanisms: one or more, or name -> mechanism. Without names the class is the name, with the parameters in which
        mechanisms of that class differ.
    The outcome without a name of NamedExponential is no abstention; it has support 0.
    Raises ParameterError for wrong supports or mechanisms, and where a mechanism cannot run on such a spectrum.

    >>> from fim_private.mechanisms import LargeMargin
    >>> narrow, wide = compare([450, 20, 3], [LargeMargin(epsilon=0.5), LargeMargin(epsilon=1.0)]).rows
    >>> wide.name, round(wide.best_probability, 3), wide.regret_quantiles
    ('LargeMargin(epsilon=1.0)', 0.966, (0, 0, 0, 450))
    """
    if not isinstance(spectrum, SupportSpectrum):
        spectrum = SupportSpectrum.from_supports(_supports(spectrum))
    given = _by_name(mechanisms)
    if not given:
        raise ParameterError(f"{parameter('mechanisms')} must hold at least one")
    return Comparison(tuple(_compared(name, mechanism, spectrum) for name, mechanism in given))


def _compared(name: str, mechanism: Mechanism, spectrum: SupportSpectrum) -> ComparedMechanism:
    """Return the prospects of one mechanism, from its output distribution."""
    outcomes = mechanism.distribution(spectrum)
    highest = next((support for support, _ in spectrum.levels()), 0)
    # Level 0 is an itemset only where the universe is known.
    is_best = (outcomes.levels == highest) & (highest > 0 or spectrum.universe_size is not None)
    regrets = np.append(highest - outcomes.levels, highest)  # ascending: levels descend, and abstaining comes last
    probabilities = np.append(outcomes.probabilities, outcomes.abstain)
    reached = np.searchsorted(np.cumsum(probabilities), np.array(QUANTILES) - _ROUNDING)
    first, second, third, fourth = (int(regrets[place]) for place in np.minimum(reached, len(regrets) - 1))
    return ComparedMechanism(
        name=name,
        cost=mechanism.cost,
        expected_support=float(outcomes.levels @ outcomes.probabilities),
        best_probability=float(outcomes.probabilities[is_best].sum()),
        abstain_probability=float(outcomes.abstain),
        expected_regret=float(regrets @ probabilities),
        regret_quantiles=(first, second, third, fourth),
    )


def _supports(values: Any) -> Iterable[int]:
    """Return what is given as supports. Raises ParameterError for what can be none."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ParameterError(f"{parameter('spectrum')} must be a SupportSpectrum, or one support per itemset")
    return values


def _by_name(mechanisms: Any) -> list[tuple[str, Mechanism]]:
    """Return the mechanisms with their names. Raises ParameterError for what is no mechanism."""
    if not isinstance(mechanisms, Iterable):
        raise ParameterError(
            f"{parameter('mechanisms')} must be several, such as [LargeMargin(), Exponential(1.0)], "
            "or name -> mechanism"
        )
    if isinstance(mechanisms, Mapping):
        given = [(str(name), mechanism) for name, mechanism in mechanisms.items()]
    else:
        listed = list(mechanisms)
        given = list(zip(_names(listed), listed, strict=True))
    if not all(callable(getattr(mechanism, "distribution", None)) for _, mechanism in given):
        raise ParameterError(
            f"{parameter('mechanisms')} must be of fim_private.mechanisms, such as LargeMargin(epsilon=1.0)"
        )
    return given


def _names(mechanisms: list[Any]) -> list[str]:
    """Return a name for each mechanism: its class, and the parameters that tell it from others of its class."""
    times = Counter(type(mechanism) for mechanism in mechanisms)
    return [
        f"{type(one).__name__}({_differing(one, mechanisms)})" if times[type(one)] > 1 else type(one).__name__
        for one in mechanisms
    ]


def _differing(mechanism: Any, mechanisms: list[Any]) -> str:
    """Return the parameters in which a mechanism differs from others of its class."""
    if not is_dataclass(mechanism):
        return "…"
    same = [other for other in mechanisms if type(other) is type(mechanism)]
    given = [field.name for field in fields(mechanism)]
    names = [name for name in given if len({getattr(other, name) for other in same}) > 1]
    return ", ".join(f"{name}={getattr(mechanism, name)}" for name in names)


def _cells(row: ComparedMechanism) -> list[str]:
    """Return one row of the table as text."""
    return [
        row.name,
        at_least(row.cost.epsilon),
        at_least(row.cost.delta),
        f"{row.expected_support:,.1f}",
        f"{row.best_probability:.4f}",
        f"{row.abstain_probability:.2g}",
        f"{row.expected_regret:,.1f}",
        *(f"{regret:,}" for regret in row.regret_quantiles),
    ]
