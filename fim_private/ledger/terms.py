"""What a ledger is of: the guarantee that was chosen when it was created, and does not change."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from fim_private.dp.accounting import zcdp_rho
from fim_private.dp.charge import UNITS
from fim_private.dp.parameters import exact_delta_or_zero, exact_epsilon, exact_neighbors
from fim_private.errors import ParameterError, parameter, shown
from fim_private.ledger.rationals import canonical, read, written

SCHEMA = 1
_LONGEST_NAME = 200
# Half of it is the least that ρ is converted with.
_LEAST_DELTA = Fraction(10, 10**300)
_ID = re.compile(r"[0-9a-f]{32}")


class Composition(StrEnum):
    """How what releases spend adds up (docs/privacy.md, Theorem 18)."""

    BASIC = "basic"
    ZCDP = "zcdp"


@dataclass(frozen=True)
class Terms:
    """The terms of a ledger; `of` checks what an owner gives.

    id: 32 hexadecimal digits, drawn when it was created. created: when, as text; informational.
    epsilon, delta: all releases together are (epsilon, delta)-private. composition: how they add up.
    rho, zcdp_delta: what zCDP composition allows within that: each release is δ-approximately ρ-zCDP, and the ρ add up
    to at most rho, the δ to at most zcdp_delta. Both are 0 where delta is, or next to it.
    dataset, neighbors, privacy_unit: None where it was not said: the first entry then decides.
    """

    id: str
    created: str
    epsilon: Fraction
    delta: Fraction
    composition: Composition
    rho: Fraction
    zcdp_delta: Fraction
    dataset: str | None = None
    neighbors: str | None = None
    privacy_unit: str | None = None

    @classmethod
    def of(
        cls,
        *,
        id: str,
        created: str,
        epsilon: Any,
        delta: Any,
        composition: str,
        dataset: str | None,
        neighbors: str | None,
        unit: str | None,
    ) -> Terms:
        """Return checked terms. Raises ParameterError for what is out of range, or in contradiction."""
        exact, exact_delta = exact_epsilon(epsilon), exact_delta_or_zero(delta)
        if not isinstance(composition, str) or composition not in [*Composition]:
            raise ParameterError(
                f"{parameter('composition')} must be one of {', '.join(Composition)}, not {shown(composition)}"
            )
        if composition == Composition.ZCDP and exact_delta < _LEAST_DELTA:
            raise ParameterError(f"{parameter('composition')} 'zcdp' needs a {parameter('delta')} of at least 1e-299")
        if unit is not None and unit not in UNITS:
            raise ParameterError(f"{parameter('unit')} must be one of {', '.join(UNITS)}, not {shown(unit)}")
        for name, value in (("epsilon", exact), ("delta", exact_delta)):
            written(value, name)
        # Half of δ for what names one unit's own; the rest converts ρ (docs/privacy.md, Theorem 18).
        naming = rho = Fraction(0)
        if exact_delta >= _LEAST_DELTA:
            naming = exact_delta / 2
            rho = zcdp_rho(exact, (exact_delta - naming) / (1 - naming))
        return cls(
            id,
            created,
            exact,
            exact_delta,
            Composition(composition),
            rho,
            naming,
            None if dataset is None else checked_name(dataset),
            None if neighbors is None else str(exact_neighbors(neighbors)),
            unit,
        )

    def record(self) -> str:
        """Return the terms as a record, the first of the chain."""
        return canonical(
            {
                "schema": SCHEMA,
                "id": self.id,
                "created": self.created,
                "epsilon": written(self.epsilon),
                "delta": written(self.delta),
                "composition": str(self.composition),
                "rho": written(self.rho),
                "zcdp_delta": written(self.zcdp_delta),
                "dataset": self.dataset,
                "neighbors": self.neighbors,
                "privacy_unit": self.privacy_unit,
            }
        )

    @property
    def hash(self) -> str:
        """SHA-256 of the record, in hexadecimal: what the first entry follows."""
        return hashed(self.record())

    @classmethod
    def read(cls, text: str) -> Terms:
        """Return the terms of a record. Raises ValueError, KeyError or TypeError for what is none."""
        record = json.loads(text)
        terms = cls(
            record["id"],
            record["created"],
            read(record["epsilon"]),
            read(record["delta"]),
            Composition(record["composition"]),
            read(record["rho"]),
            read(record["zcdp_delta"]),
            record["dataset"],
            record["neighbors"],
            record["privacy_unit"],
        )
        if not _ID.fullmatch(terms.id) or terms.record() != text:
            raise ValueError("no terms of a ledger")
        return terms


def hashed(record: str) -> str:
    """Return SHA-256 of a record, in hexadecimal."""
    return hashlib.sha256(record.encode("ascii")).hexdigest()


def checked_name(dataset: Any) -> str:
    """Return the name of a data set. Raises ParameterError unless it is a text of 1 to 200 characters on one line."""
    if not isinstance(dataset, str) or not dataset.strip() or len(dataset) > _LONGEST_NAME or not _is_line(dataset):
        raise ParameterError(
            f"{parameter('dataset')} must be the name that you give to the data, a text of 1 to {_LONGEST_NAME} "
            f"characters on one line, not {shown(dataset)}"
        )
    return dataset


def _is_line(text: str) -> bool:
    """Tell whether a text can be shown on one line."""
    return all(character.isprintable() for character in text)
