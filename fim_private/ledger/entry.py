"""One entry of a ledger: what a release was charged with, and the entry that it follows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from fim_private.dp.charge import Charge
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.ledger.rationals import canonical, read, written
from fim_private.ledger.terms import hashed

# What the record of every entry has.
_KEYS = {
    *("number", "time", "command", "dataset", "privacy_unit", "neighbors", "parameters", "previous"),
    *("epsilon", "delta", "rho", "zcdp_delta"),
}


@dataclass(frozen=True)
class Entry:
    """An entry, as it is kept: public parameters and costs, and nothing that depends on the data.

    number: >= 1, in the order charged. time: of the clock then, as text; informational, for clocks can be wrong.
    cost: (epsilon, delta). zcdp: the same release in zero-concentrated privacy. previous: the hash of the entry before,
    or of the terms. hash: of this entry. unit_columns: which columns named the unit; None where none was named, and in
    entries of earlier versions.
    """

    number: int
    time: str
    command: str
    dataset: str
    privacy_unit: str
    neighbors: str
    parameters: Mapping[str, Any]
    cost: PrivacyCost
    zcdp: ZcdpCost
    previous: str
    unit_columns: tuple[str, ...] | None = None

    @classmethod
    def of(cls, charge: Charge, *, number: int, time: str, previous: str) -> Entry:
        """Return the entry for a charge."""
        return cls(
            number,
            time,
            charge.command,
            charge.dataset,
            charge.privacy_unit,
            str(charge.neighbors),
            charge.parameters,
            charge.cost,
            charge.zcdp,
            previous,
            charge.unit_columns,
        )

    def record(self) -> str:
        """Return the entry as the text that is kept, and hashed. Raises ParameterError for numbers of vast length."""
        columns = self.unit_columns
        return canonical(
            {
                "number": self.number,
                "time": self.time,
                "command": self.command,
                "dataset": self.dataset,
                "privacy_unit": self.privacy_unit,
                "neighbors": self.neighbors,
                "parameters": dict(self.parameters),
                "epsilon": written(self.cost.epsilon),
                "delta": written(self.cost.delta, "delta"),
                "rho": written(self.zcdp.rho),
                "zcdp_delta": written(self.zcdp.delta, "delta"),
                "previous": self.previous,
                **({} if columns is None else {"unit_columns": [*columns]}),
            }
        )

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the record, in hexadecimal."""
        return hashed(self.record())

    @classmethod
    def read(cls, text: str) -> Entry:
        """Return the entry of a record. Raises ValueError, KeyError or TypeError for what is none."""
        record = json.loads(text)
        if canonical(record) != text or record.keys() - {"unit_columns"} != _KEYS:
            raise ValueError("no entry of a ledger")
        cost, zcdp = _costs(record["epsilon"], record["delta"], record["rho"], record["zcdp_delta"])
        return cls(
            record["number"],
            record["time"],
            record["command"],
            record["dataset"],
            record["privacy_unit"],
            record["neighbors"],
            record["parameters"],
            cost,
            zcdp,
            record["previous"],
            None if (columns := record.get("unit_columns")) is None else tuple(columns),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: costs as floats, rounded up, and exactly as texts "p/q"."""
        costs: dict[str, Fraction] = {
            "epsilon": self.cost.epsilon,
            "delta": self.cost.delta,
            "rho": self.zcdp.rho,
            "zcdp_delta": self.zcdp.delta,
        }
        return {
            "number": self.number,
            "time": self.time,
            "command": self.command,
            "parameters": dict(self.parameters),
            **({} if self.unit_columns is None else {"unit_columns": [*self.unit_columns]}),
            **{name: float(value) for name, value in costs.items()},
            "exact": {name: written(value) for name, value in costs.items()},
        }


@lru_cache(maxsize=1 << 12)  # of most ledgers a few costs come again and again
def _costs(epsilon: str, delta: str, rho: str, zcdp_delta: str) -> tuple[PrivacyCost, ZcdpCost]:
    """Return the costs of a record. Raises ValueError or TypeError for what are none."""
    return PrivacyCost(read(epsilon), read(delta)), ZcdpCost(read(rho), read(zcdp_delta))
