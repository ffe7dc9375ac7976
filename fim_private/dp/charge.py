"""What a release is charged with before it is made, and the account that it is charged to.

An account is a ledger (`fim_private.ledger`); whoever releases something knows no more of it than this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, Self

from fim_private.dp.cost import PrivacyCost, ZcdpCost, rounded_down


@dataclass(frozen=True)
class Charge:
    """What a release spends, and what of it may be written down: all of it is public, and known before data is read.

    command: what makes the release, such as "mine". dataset: the name that the owner gives to the data.
    privacy_unit, neighbors: what the guarantee is about. cost: (epsilon, delta) of all of it. zcdp: the release is
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
    """What is left of a budget, exactly; each >= 0.

    epsilon, delta: what one more release may spend. rho: where budgets add up in zero-concentrated privacy (zCDP), what
    is left of it; epsilon is then that of a release of which nothing else is known, √(2 rho), rounded down. None where
    they add up as (epsilon, delta).
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
    """What an account says once a release has been charged to it.

    dataset: its name. entry: the number of the entry, >= 1. left: what was left after it.
    """

    dataset: str
    entry: int
    left: Left

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as in the JSON of a release."""
        return {"dataset": self.dataset, "entry": self.entry, "left": self.left.to_dict()}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return what to_dict made, floats taken by their digits. Raises LookupError, TypeError or ValueError."""
        left = {name: Fraction(repr(float(value))) for name, value in values["left"].items()}
        return cls(str(values["dataset"]), int(values["entry"]), Left(**left))


class Account(Protocol):
    """Where releases are charged."""

    def check(self, charge: Charge) -> None:
        """Raise LedgerError where the account would refuse a charge now. Nothing is written."""
        ...

    def charge(self, charge: Charge) -> Charged:
        """Write a charge down so that it outlasts a crash, and only then return. Raises LedgerError, uncharged."""
        ...
