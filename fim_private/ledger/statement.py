"""What a ledger says: its terms, its entries in a hash chain, what they add up to, and what is left."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from fim_private.display import Table
from fim_private.dp.charge import UNITS, Charge, Left
from fim_private.dp.composition import root_below, zcdp_rho
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost, at_least, at_most, rounded_down
from fim_private.dp.parameters import Neighbors, exact_delta_or_zero, exact_epsilon, exact_neighbors
from fim_private.errors import LedgerError, ParameterError, parameter, shown

# -------------------- rationals
# Exact numbers and records as text: what is hashed must be written in one way only.

# Python itself writes no integer of more than 4,300 digits.
_MOST_DIGITS = 1_000
_TOO_LARGE = 10**_MOST_DIGITS
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_RATIONAL = re.compile(r"[0-9]+(/[1-9][0-9]*)?")


def written(value: Fraction, name: str = "epsilon") -> str:
    """Return a number >= 0 as "p" or "p/q", in lowest terms.

    Raises ParameterError, which names the parameter, where p or q has more than 1,000 digits.
    """
    if max(value.numerator, value.denominator) >= _TOO_LARGE:
        raise ParameterError(
            f"{parameter(name)} has more than {_MOST_DIGITS:,} digits as a fraction, which a ledger does not hold; "
            "give a shorter number"
        )
    return str(Fraction(value.numerator, value.denominator))


def read(text: Any) -> Fraction:
    """Return the number that `written` wrote. Raises ValueError for anything else."""
    if not isinstance(text, str) or len(text) > 2 * _MOST_DIGITS + 1 or not _RATIONAL.fullmatch(text):
        raise ValueError("no rational number")
    value = Fraction(text)
    if str(value) != text:
        raise ValueError("no rational number in lowest terms")
    return value


def canonical(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON: the same text for the same record, in ASCII, with sorted keys."""
    return _CANONICAL.encode(record)


# -------------------- terms
# What a ledger is of: the guarantee that was chosen when it was created, and does not change.

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


# -------------------- entry
# One entry of a ledger: what a release was charged with, and the entry that it follows.

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


# -------------------- statement
# What a ledger says: its terms, what its entries add up to under each composition, and what that leaves.

_NOTHING = Fraction(0)
# What is added up.
_SUMS = ("epsilon", "delta", "rho", "zcdp_delta")
_UNDECIDED = "Its first release decides whom it protects, and under which neighbour relation."


@dataclass(frozen=True, repr=False)
class Balance:
    """What a ledger had added up to at one moment: all that is needed to charge it.

    name: of its file, as it was given. number: of its entries, >= 0. hash: of the last of them, or of the terms. first:
    the first of them; None where there is none. unit_columns: which columns named the unit, of the first entry that
    says; None where none does. spent: what the entries add up to: epsilon and delta, and in zCDP rho and zcdp_delta.
    """

    name: str
    terms: Terms
    number: int
    hash: str
    first: Entry | None
    unit_columns: tuple[str, ...] | None
    spent: Mapping[str, Fraction]

    @classmethod
    def without_entries(cls, name: str, terms: Terms) -> Balance:
        """Return that of a ledger without entries."""
        return cls(name, terms, 0, terms.hash, None, None, dict.fromkeys(_SUMS, _NOTHING))

    def after(self, entries: Iterable[Entry]) -> Balance:
        """Return that of a ledger with more entries, which are known to follow."""
        number, hash, first, columns = self.number, self.hash, self.first, self.unit_columns
        # Of equal costs, of which most ledgers have a few, only the number is added up one by one.
        times: dict[tuple[int, int], int] = {}
        costs: dict[tuple[int, int], tuple[PrivacyCost, ZcdpCost]] = {}
        for entry in entries:
            number, hash, first = entry.number, entry.hash, first or entry
            columns = entry.unit_columns if columns is None else columns
            which = id(entry.cost), id(entry.zcdp)
            times[which] = times.get(which, 0) + 1
            costs.setdefault(which, (entry.cost, entry.zcdp))
        spent = dict(self.spent)
        for which, (cost, zcdp) in costs.items():
            for name, more in zip(_SUMS, (cost.epsilon, cost.delta, zcdp.rho, zcdp.delta), strict=True):
                spent[name] += times[which] * Fraction(more)
        return Balance(self.name, self.terms, number, hash, first, columns, spent)

    @property
    def dataset(self) -> str | None:
        """The data set that it is of; None where neither the owner nor an entry has said."""
        return self.terms.dataset or (self.first.dataset if self.first else None)

    @property
    def neighbors(self) -> str | None:
        """The neighbour relation; None where neither the owner nor an entry has said."""
        return self.terms.neighbors or (self.first.neighbors if self.first else None)

    @property
    def privacy_unit(self) -> str | None:
        """Whom it protects, "basket" or "user"; None where neither the owner nor an entry has said."""
        return self.terms.privacy_unit or (self.first.privacy_unit if self.first else None)

    @property
    def limit(self) -> dict[str, Fraction]:
        """What they may add up to, by the same names; of each composition, if it were the one that was chosen."""
        terms = self.terms
        return {"epsilon": terms.epsilon, "delta": terms.delta, "rho": terms.rho, "zcdp_delta": terms.zcdp_delta}

    def left_under(self, composition: Composition) -> Left:
        """Return what would be left under a composition, nothing where more is spent than that allows."""
        left = {name: max(self.limit[name] - value, _NOTHING) for name, value in self.spent.items()}
        if composition is Composition.BASIC:
            return Left(left["epsilon"], left["delta"])
        epsilon = root_below(2 * left["rho"]) if left["rho"] else _NOTHING
        return Left(epsilon, left["zcdp_delta"], left["rho"])

    @property
    def left(self) -> Left:
        """What is left under the composition that was chosen: what the ledger holds releases to."""
        return self.left_under(self.terms.composition)

    def check(self, charge: Charge, *, allow_other_unit: bool = False) -> None:
        """Raise LedgerError unless a release is what the ledger is for, and leaves it within its limit.

        allow_other_unit: whether other columns may name the unit than in the first entry that says.
        """
        name = shown(self.name)
        if self.dataset is not None and charge.dataset != self.dataset:
            raise LedgerError(
                f"{name} is the budget of the data set {shown(self.dataset)}, not of {shown(charge.dataset)}; if they "
                f"are the same people, give {parameter('dataset')} {shown(self.dataset)}, else another ledger"
            )
        if self.privacy_unit is not None and charge.privacy_unit != self.privacy_unit:
            instead = "with" if self.privacy_unit == "user" else "without"
            raise LedgerError(
                f"{name} protects {self.privacy_unit}s, and this release protects {charge.privacy_unit}s; ask "
                f"{instead} {parameter('user')}, or take another ledger"
            )
        if not allow_other_unit and _differ(self.unit_columns, charge.unit_columns):
            named, unit = _listed(self.unit_columns), charge.privacy_unit
            raise LedgerError(
                f"{name} protects {unit}s that are named by {named}, and this release names them by "
                f"{_listed(charge.unit_columns)}; give {parameter(unit)} {named}, or another ledger, or say "
                f"{parameter('allow_other_unit')} if both name the same {unit}s"
            )
        if self.neighbors is not None and charge.neighbors != self.neighbors:
            raise LedgerError(
                f"{name} is for {parameter('neighbors')} {self.neighbors!r}, and this release is for "
                f"{str(charge.neighbors)!r}; give {parameter('neighbors')} {self.neighbors!r}, or another ledger"
            )
        if self.terms.composition is Composition.BASIC:
            wanted, left = (charge.cost.epsilon, charge.cost.delta), (self.left.epsilon, self.left.delta)
        else:
            wanted, left = (charge.zcdp.rho, charge.zcdp.delta), (self.left.rho or _NOTHING, self.left.delta)
        if any(more > rest for more, rest in zip(wanted, left, strict=True)):
            loss = "epsilon" if self.terms.composition is Composition.BASIC else "rho"
            budget = parameter("epsilon" if charge.parameters.get("rho") is None else "rho")
            lower = f"a smaller {budget}" if wanted[0] > left[0] else f"a smaller {parameter('delta')}"
            has = f"{loss} {at_most(left[0])} and delta {at_most(left[1])} are left" if left[0] else "nothing is left"
            todo = f"ask with {lower}" if left[0] else "no more can be released of this data"
            raise LedgerError(
                f"this would overspend {name}: {has}, and it takes {loss} {at_least(wanted[0])} and delta "
                f"{at_least(wanted[1])}; {todo}"
            )

    @property
    def title(self) -> str:
        """What the ledger is of, in words."""
        whose = "" if self.dataset is None else f" of {shown(self.dataset)}"
        return (
            f"The budget{whose}: all releases together are at most ε = {at_most(self.terms.epsilon)}, "
            f"δ = {at_most(self.terms.delta)}, by {WORDS[self.terms.composition]}."
        )


@dataclass(frozen=True, repr=False)
class Statement(Balance):
    """What a ledger held at one moment, with its entries, in order."""

    entries: tuple[Entry, ...]

    @property
    def protected(self) -> str:
        """Whom it protects from what, in words."""
        unit, relation = self.privacy_unit, self.neighbors
        if unit is None or relation is None:
            said = " and ".join(word for word in (unit and f"{unit}s", relation) if word)
            return f"It is for {said}; its first release decides the rest." if said else _UNDECIDED
        who = "one user, with all their baskets" if unit == "user" else "one basket"
        who += "" if self.unit_columns is None else f" (named by {_listed(self.unit_columns)})"
        same = self._alike if relation == Neighbors.REPLACE_ONE else ""
        return f"It is about {who}, under {relation}{same}."

    @property
    def _alike(self) -> str:
        """For what another a unit is exchanged under replace-one, where entries chose units: in words."""
        asked = {name for entry in self.entries for name in entry.parameters}
        chosen_by = [name for key, name in (("where", "condition"), ("query", "query")) if key in asked]
        kept = [f"every {' and every '.join(chosen_by)} keeps as well"] if chosen_by else []
        alike = [*kept, *(["counts in the same segments"] if "segments" in asked else [])]
        return f": replacing it by any other that {' and '.join(alike)}" if alike else ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the order of the JSON schema (docs/architecture.md).

        Limits and what is left are rounded down, what is spent is rounded up.
        """
        return {
            "schema": SCHEMA,
            "dataset": self.dataset,
            "privacy_unit": self.privacy_unit,
            "unit_columns": None if self.unit_columns is None else [*self.unit_columns],
            "neighbors": self.neighbors,
            "protected": self.protected,
            "composition": str(self.terms.composition),
            "limit": {name: rounded_down(value) for name, value in self.limit.items()},
            "spent": {name: float(Exact(value)) for name, value in self.spent.items()},
            "left": {str(each): self.left_under(each).to_dict() for each in Composition},
            "entries": [entry.to_dict() for entry in self.entries],
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """The headings of `rows`."""
        return ("entry", "time", "command", "ε", "δ", "ρ", "δ of zCDP")

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Each entry as texts, one for each of `columns`."""
        return self.rows_of(self.entries)

    def rows_of(self, entries: Iterable[Entry]) -> list[tuple[str, ...]]:
        """Return entries as texts, one for each of `columns`."""
        return [
            (
                f"{entry.number:,}",
                entry.time,
                " ".join([entry.command, *map(_as_asked, entry.parameters.items())]),
                at_least(entry.cost.epsilon),
                at_least(entry.cost.delta),
                at_least(entry.zcdp.rho),
                at_least(entry.zcdp.delta),
            )
            for entry in entries
        ]

    def _table(self) -> Table:
        """Return what is shown of it."""
        left = self.left
        what = f"ρ = {at_most(left.rho)}" if left.rho is not None else f"ε = {at_most(left.epsilon)}"
        notes = [f"Left: {what}, δ = {at_most(left.delta)}.", self.protected]
        return Table(self.title, self.columns, self.rows, frozenset({0, 3, 4, 5, 6}), notes, "statement.entries")

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()


WORDS = {
    Composition.BASIC: "basic composition",
    Composition.ZCDP: "composition in zero-concentrated privacy (zCDP)",
}


def _as_asked(asked: tuple[str, Any]) -> str:
    """Return a public parameter as text."""
    name, value = asked
    return f"{name}={value}"


def _differ(named: tuple[str, ...] | None, others: tuple[str, ...] | None) -> bool:
    """Tell whether two releases name the unit by different columns; False where one of them names none."""
    return named is not None and others is not None and sorted(named) != sorted(others)


def _listed(columns: tuple[str, ...] | None) -> str:
    """Return columns as text."""
    return " and ".join(map(shown, columns or ()))
