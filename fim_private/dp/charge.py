"""What a ledger is charged for one release, and what it says of that charge.

`run/run.py` tells, at its head, when a ledger is charged, and in which order purchases are read,
charged for and counted. Functions of lists charge by `charge_list`, before they compute anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fim_private.display import JsonObject
from fim_private.dp.accountant import cost_of_units
from fim_private.dp.arguments import short
from fim_private.dp.cost import PrivacyCost, ZcdpCost, least_in_words, rounded_down
from fim_private.dp.neighbors import exact_neighbors
from fim_private.errors import ParameterError, parameter, shown
from fim_private.periods import PERIODS_A_YEAR, Period, first_day, period_at

UNITS = ("basket", "user")
# A parameter from there on is written in four digits.
_LONG = 10**18


@dataclass(frozen=True)
class Span:
    """The units that a release is of, by time (docs/privacy.md, "Periods").

    time, baskets: the columns of times, and of baskets' ids, sorted. per: the kind of period; each
    holds a unit of a user; None otherwise. period: whose units they are; None for all.
    """

    time: str
    baskets: tuple[str, ...] = ()
    per: str | None = None
    period: str | None = None

    @property
    def partition(self) -> tuple[str, tuple[str, ...], str | None]:
        """The columns and period that assign a unit to a day."""
        return self.time, self.baskets, self.per

    @property
    def has_one_each(self) -> bool:
        """Whether a user has no more than one unit in it, where a unit is what a user buys in one
        period.
        """
        if self.per is None or self.days is None:
            return False
        first, last = self.days
        return period_at(self.per, first).last == last

    @property
    def days(self) -> tuple[int, int] | None:
        """The first and the last day on which one of its units may be; None for all days."""
        if self.period is None:
            return None
        period = Period.of(self.period)
        if self.per is None:
            return period.first, period.last
        touched = period.stretches(self.per)
        return first_day(self.per, touched[0]), first_day(self.per, touched[-1] + 1) - 1


def of_many(per: str, cost: PrivacyCost, zcdp: ZcdpCost | None, *, apart: bool) -> str:
    """Return in words what it means for a user of many units, each of one such period, that so much
    is spent on each.

    apart: as in `accountant.cost_of_units`.
    """
    units = PERIODS_A_YEAR[per]
    whole = cost_of_units(cost, zcdp, units, apart=apart)
    return (
        f"One {per} of a user is protected, not the user for good. A user who buys in {units} "
        f"{per}s, with as much "
        f"spent on each, has ε = {least_in_words(whole.epsilon)}, δ = "
        f"{least_in_words(whole.delta)} in all."
    )


@dataclass(frozen=True)
class Charge:
    """What a release spends, and what may be written down of it.

    All of it is public, and all but the privacy unit is known before purchases are read. If no
    option names the unit, the columns that are found do.

    Attributes:
        command: The command that makes the release, such as "mine".
        dataset: The name of the data set.
        privacy_unit: "basket" or "user".
        neighbors: The neighbour relation.
        cost: The (ε, δ) that is charged: that of the whole release, or of one period where each
            period has an entry of its own.
        zcdp: The same in zCDP.
        parameters: What was asked for, as plain values of JSON without floats.
        unit_columns: The columns that name the privacy unit; None if none does, as for lists.
        span: The period of the units, and the columns that assign it.
    """

    command: str
    dataset: str
    privacy_unit: str
    neighbors: str
    cost: PrivacyCost
    zcdp: ZcdpCost
    parameters: Mapping[str, object]
    unit_columns: tuple[str, ...] | None = None
    span: Span | None = None


@dataclass(frozen=True)
class Left:
    """What one more release may spend of a budget, exactly; each >= 0.

    rho: where budgets add up in zCDP; epsilon is then √(2 rho), rounded down, as for a release
    known by ε alone. None where they add up as (ε, δ).
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None = None

    def to_dict(self) -> dict[str, float]:
        """Return plain values, rounded down to floats: they claim no more than there is."""
        return {
            name: rounded_down(value) for name, value in vars(self).items() if value is not None
        }


@dataclass(frozen=True)
class Charged:
    """What an account says once a release has been charged: its data set, the number of the entry,
    what is left.

    period: whose units this is left of; None for all.
    """

    dataset: str
    entry: int
    left: Left
    period: str | None = None

    def to_dict(self) -> JsonObject:
        """Return plain values, as in the JSON of a release."""
        values = vars(self) | {"left": self.left.to_dict()}
        return {name: value for name, value in values.items() if value is not None}


def account_of(ledger: Any, dataset: str | None, *, private: bool) -> Any:
    """Return the ledger that a caller gave, None for none; ParameterError for what contradicts it,
    a seed among it.
    """
    if ledger is None:
        if dataset is not None:
            raise ParameterError(
                f"{parameter('dataset')} goes with {parameter('ledger')}: whose budget is charged"
            )
        return None
    if not callable(getattr(ledger, "charge", None)):
        raise ParameterError(
            f"{parameter('ledger')} must be one that fim.Ledger opened, not {shown(ledger)}"
        )
    if not dataset:
        raise ParameterError(
            f"{parameter('ledger')} needs {parameter('dataset')}: your name for the data, the "
            f"same for all files about "
            "the same people"
        )
    if not private:
        raise ParameterError(
            f"{parameter('seed')} and {parameter('ledger')} contradict each other: with a seed "
            f"nothing is private; "
            "leave one of them out"
        )
    return ledger


def charge_list(
    ledger: Any,
    dataset: str | None,
    unit: str | None,
    *,
    command: str,
    neighbors: str,
    cost: PrivacyCost,
    private: bool,
    rho: Fraction | None = None,
    **parameters: object,
) -> None:
    """Charge what is about to be computed of a list, whose entries are one for each unit.

    Without a ledger nothing is charged; else the charge is on the disk when this returns. Raises
    ParameterError and LedgerError.

    Args:
        ledger: The ledger that the caller gave; None for none.
        dataset: The caller's name for the data.
        unit: What one entry is, "basket" or "user"; None for what the ledger protects, or for a
            basket.
        command: What makes the release.
        neighbors: The neighbour relation.
        cost: What is spent.
        private: Whether there is no seed.
        rho: What it spends in zCDP, beside cost.delta; None for what follows from the cost
            (docs/privacy.md, "The ledger").
        **parameters: Its public parameters; None for one that was not given.
    """
    account = account_of(ledger, dataset, private=private)
    if unit is not None and unit not in UNITS:
        raise ParameterError(
            f"{parameter('unit')} must be one of {', '.join(UNITS)}, not {shown(unit)}"
        )
    if unit is not None and account is None:
        raise ParameterError(
            f"{parameter('unit')} goes with {parameter('ledger')}: what one entry of your list is"
        )
    if account is None or dataset is None:
        return
    protected = unit or account.privacy_unit or UNITS[0]
    recorded = {name: _plain(value) for name, value in parameters.items() if value is not None}
    recorded["unit"] = protected
    if rho is None:  # what any (ε, δ)-private release spends, δ-approximately
        rho = cost.epsilon**2 / 2
    zcdp = ZcdpCost(rho, cost.delta)
    charge = Charge(
        command, dataset, protected, str(exact_neighbors(neighbors)), cost, zcdp, recorded
    )
    account.charge(charge)


def _plain(value: object) -> object:
    """Return a parameter as a ledger records it: fractions and long numbers in four digits."""
    if isinstance(value, Fraction) or (isinstance(value, int) and abs(value) >= _LONG):
        return short(Fraction(value))
    return value
