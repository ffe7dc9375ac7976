"""What a release is charged with before it is made, and the account, a ledger, that it is charged to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fim_private.dp.cost import PrivacyCost, ZcdpCost, rounded_down
from fim_private.dp.parameters import exact_neighbors, short
from fim_private.errors import ParameterError, parameter, shown

UNITS = ("basket", "user")
# A parameter from there on is written in four digits.
_LONG = 10**18


@dataclass(frozen=True)
class Charge:
    """What a release spends, and what may be written down of it: all is public, and known before data is read.

    command: what makes the release, such as "mine". dataset: its name. cost: (epsilon, delta) of all of it. zcdp: it is
    also zcdp.delta-approximately zcdp.rho-zCDP. parameters: what was asked, as plain values of JSON without floats.
    unit_columns: which columns name the privacy unit; None where none is named, as for lists in memory.
    """

    command: str
    dataset: str
    privacy_unit: str
    neighbors: str
    cost: PrivacyCost
    zcdp: ZcdpCost
    parameters: Mapping[str, Any]
    unit_columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Left:
    """What one more release may spend of a budget, exactly; each >= 0.

    rho: where budgets add up in zCDP; epsilon is then that of a release of which nothing else is known, √(2 rho),
    rounded down. None where they add up as (ε, δ).
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None = None

    def to_dict(self) -> dict[str, float]:
        """Return plain values, rounded down to floats: they claim no more than there is."""
        named = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {name: rounded_down(value) for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Charged:
    """What an account says once a release has been charged: its data set, the number of the entry, what is left."""

    dataset: str
    entry: int
    left: Left

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON of a release."""
        return {"dataset": self.dataset, "entry": self.entry, "left": self.left.to_dict()}


def account_of(ledger: Any, dataset: str | None, *, private: bool) -> Any:
    """Return the ledger that a caller gave, None for none; ParameterError for what contradicts it, a seed among it."""
    if ledger is None:
        if dataset is not None:
            raise ParameterError(f"{parameter('dataset')} goes with {parameter('ledger')}: whose budget is charged")
        return None
    if isinstance(ledger, str) or not callable(getattr(ledger, "charge", None)):
        raise ParameterError(f"{parameter('ledger')} must be one that fim.Ledger opened, not {shown(ledger)}")
    if not dataset:
        raise ParameterError(
            f"{parameter('ledger')} needs {parameter('dataset')}: your name for the data, the same for all files about "
            "the same people"
        )
    if not private:
        raise ParameterError(
            f"{parameter('seed')} and {parameter('ledger')} contradict each other: with a seed nothing is private; "
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
    **asked: Any,
) -> None:
    """Charge what is about to be computed of a list that the caller gives, one entry of it for each unit.

    unit: what one entry is, "basket" or "user"; None for what the ledger protects, or for a basket. private: whether
    there is no seed. rho: what it spends in zCDP, beside cost.delta; None for what follows from the cost
    (docs/privacy.md, "The ledger"). asked: its public parameters, None for not asked. Without a ledger nothing is
    charged; else the charge is on the disk when this returns. Raises ParameterError and LedgerError.
    """
    account = account_of(ledger, dataset, private=private)
    if unit is not None and unit not in UNITS:
        raise ParameterError(f"{parameter('unit')} must be one of {', '.join(UNITS)}, not {shown(unit)}")
    if unit is not None and account is None:
        raise ParameterError(f"{parameter('unit')} goes with {parameter('ledger')}: what one entry of your list is")
    if account is None or dataset is None:
        return
    whose = unit or account.privacy_unit or UNITS[0]
    plain = {name: value for name, value in asked.items() if value is not None} | {"unit": whose}
    for name, value in plain.items():
        if isinstance(value, Fraction) or (isinstance(value, int) and abs(value) >= _LONG):
            plain[name] = short(Fraction(value))
    zcdp = ZcdpCost(Fraction(cost.epsilon) ** 2 / 2 if rho is None else rho, cost.delta)
    account.charge(Charge(command, dataset, whose, str(exact_neighbors(neighbors)), cost, zcdp, plain))
