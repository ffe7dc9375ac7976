"""What a ledger says: its terms, what its entries add up to under each composition, and what that leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fim_private.dp.accounting import root_below
from fim_private.dp.charge import Charge, Left
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost, at_least, at_most, rounded_down
from fim_private.dp.parameters import Neighbors
from fim_private.errors import LedgerError, parameter, shown
from fim_private.glance import Glance
from fim_private.ledger.entry import Entry
from fim_private.ledger.terms import SCHEMA, Composition, Terms

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


def _differ(named: tuple[str, ...] | None, others: tuple[str, ...] | None) -> bool:
    """Tell whether two releases name the unit by different columns; False where one of them names none."""
    return named is not None and others is not None and sorted(named) != sorted(others)


def _listed(columns: tuple[str, ...] | None) -> str:
    """Return columns as text."""
    return " and ".join(map(shown, columns or ()))
