"""What a ledger says: its terms, its entries, what they add up to under each composition, and what that leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from fim_private.dp.accounting import root_below
from fim_private.dp.charge import Charge, Left
from fim_private.dp.cost import Exact, at_least, at_most, rounded_down
from fim_private.dp.parameters import Neighbors
from fim_private.errors import LedgerError, parameter, shown
from fim_private.glance import Glance
from fim_private.ledger.entry import Entry
from fim_private.ledger.terms import SCHEMA, Composition, Terms

_NOTHING = Fraction(0)
_UNDECIDED = "Its first release decides whom it protects, and under which neighbour relation."


@dataclass(frozen=True, repr=False)
class Statement:
    """What a ledger held at one moment. name: of its file, as it was given."""

    name: str
    terms: Terms
    entries: tuple[Entry, ...]

    @classmethod
    def read(cls, name: str, terms: str, rows: Sequence[tuple[int, str, str]]) -> Statement:
        """Return what the records of a ledger say: its terms, and of each entry number, record and hash, in order.

        Raises LedgerError unless each entry is whole, and follows the one before.
        """
        damaged = LedgerError(
            f"{shown(name)} was edited or is damaged: its entries do not follow each other; put back the newest whole "
            "copy, or create a new ledger with what you know to be left"
        )
        try:
            statement = cls(name, Terms.read(terms), tuple(Entry.read(record) for _, record, _ in rows))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise damaged from None
        previous = statement.terms.hash
        for place, (entry, (number, _, kept)) in enumerate(zip(statement.entries, rows, strict=True), 1):
            if not entry.number == number == place or entry.previous != previous or entry.hash != kept:
                raise damaged
            previous = kept
        return statement

    @property
    def head(self) -> tuple[int, str]:
        """The number of entries, and the hash of the last of them, or of the terms."""
        return len(self.entries), self.entries[-1].hash if self.entries else self.terms.hash

    def holds(self, number: int, hash: str) -> bool:
        """Tell whether this ledger has had so many entries once, the last of which had that hash."""
        if number > len(self.entries):
            return False
        return hash == (self.entries[number - 1].hash if number else self.terms.hash)

    @property
    def dataset(self) -> str | None:
        """The data set that it is of; None where neither the owner nor an entry has said."""
        return self.terms.dataset or (self.entries[0].dataset if self.entries else None)

    @property
    def neighbors(self) -> str | None:
        """The neighbour relation; None where neither the owner nor an entry has said."""
        return self.terms.neighbors or (self.entries[0].neighbors if self.entries else None)

    @property
    def privacy_unit(self) -> str | None:
        """Whom it protects, "basket" or "user"; None where neither the owner nor an entry has said."""
        return self.terms.privacy_unit or (self.entries[0].privacy_unit if self.entries else None)

    @cached_property
    def spent(self) -> dict[str, Fraction]:
        """What the entries add up to: epsilon and delta, and in zCDP rho and zcdp_delta."""
        costs, concentrated = [entry.cost for entry in self.entries], [entry.zcdp for entry in self.entries]
        return {
            "epsilon": sum((cost.epsilon for cost in costs), _NOTHING),
            "delta": sum((cost.delta for cost in costs), _NOTHING),
            "rho": sum((cost.rho for cost in concentrated), _NOTHING),
            "zcdp_delta": sum((cost.delta for cost in concentrated), _NOTHING),
        }

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

    def check(self, charge: Charge) -> None:
        """Raise LedgerError unless a release is what the ledger is for, and leaves it within its limit."""
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

    @property
    def protected(self) -> str:
        """Whom it protects from what, in words."""
        unit, relation = self.privacy_unit, self.neighbors
        if unit is None or relation is None:
            said = " and ".join(word for word in (unit and f"{unit}s", relation) if word)
            return f"It is for {said}; its first release decides the rest." if said else _UNDECIDED
        who = "one user, with all their baskets" if unit == "user" else "one basket"
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
            for entry in self.entries
        ]

    def _glance(self) -> Glance:
        """Return what is shown of it."""
        left = self.left
        what = f"ρ = {at_most(left.rho)}" if left.rho is not None else f"ε = {at_most(left.epsilon)}"
        notes = [f"Left: {what}, δ = {at_most(left.delta)}.", self.protected]
        return Glance(self.title, self.columns, self.rows, frozenset({0, 3, 4, 5, 6}), notes, "statement.entries")

    def __repr__(self) -> str:
        return self._glance().text()

    def _repr_html_(self) -> str:
        return self._glance().html()


WORDS = {
    Composition.BASIC: "basic composition",
    Composition.ZCDP: "composition in zero-concentrated privacy (zCDP)",
}


def _as_asked(asked: tuple[str, Any]) -> str:
    """Return a public parameter as text."""
    name, value = asked
    return f"{name}={value}"
