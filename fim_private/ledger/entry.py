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


@dataclass(frozen=True)
class Entry:
    """An entry, as it is kept: public parameters and costs, and nothing that depends on the data.

    number: >= 1, in the order charged. time: of the clock then, as text; informational, for clocks can be wrong.
    cost: (epsilon, delta). zcdp: the same release in zero-concentrated privacy. previous: the hash of the entry before,
    or of the terms. hash: of this entry.
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
        )

    def record(self) -> str:
        """Return the entry as the text that is kept, and hashed. Raises ParameterError for numbers of vast length."""
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
            }
        )

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the record, in hexadecimal."""
        return hashed(self.record())

    @classmethod
    @lru_cache(maxsize=1 << 16)  # a ledger is read several times a release, and nothing of an entry ever changes
    def read(cls, text: str) -> Entry:
        """Return the entry of a record. Raises ValueError, KeyError or TypeError for what is none."""
        record = json.loads(text)
        entry = cls(
            record["number"],
            record["time"],
            record["command"],
            record["dataset"],
            record["privacy_unit"],
            record["neighbors"],
            record["parameters"],
            PrivacyCost(read(record["epsilon"]), read(record["delta"])),
            ZcdpCost(read(record["rho"]), read(record["zcdp_delta"])),
            record["previous"],
        )
        if entry.record() != text:
            raise ValueError("no entry of a ledger")
        return entry

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
            **{name: float(value) for name, value in costs.items()},
            "exact": {name: written(value) for name, value in costs.items()},
        }
