"""The hash chain of a ledger: its terms, and its entries, each with the hash of the record before
it.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

from fim_private.display import JsonObject
from fim_private.dp.accountant import COSTS, SUMS, Reach, Sums
from fim_private.dp.charge import Charge, Span, reach_of
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.errors import ParameterError, parameter

SCHEMA = 1
# What reading a record raises that was edited, or is damaged.
NO_RECORD = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
_ID = re.compile(r"[0-9a-f]{32}")
# Python itself writes no integer of more than 4,300 digits.
_MOST_DIGITS = 1_000
_TOO_LONG = 10**_MOST_DIGITS
_RATIONAL = re.compile(r"[0-9]+(/[1-9][0-9]*)?")
# What is hashed is written in one form only: ASCII, with sorted keys.
_canonical = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
).encode


def hashed(record: str) -> str:
    """Return SHA-256 of a record, in hexadecimal."""
    return hashlib.sha256(record.encode("ascii")).hexdigest()


def sums_written(sums: Mapping[str, Fraction]) -> dict[str, str]:
    """Return sums, all >= 0, by the names of SUMS: each as "p" or "p/q", in lowest terms.

    Raises ParameterError, which names the parameter, where p or q has more than 1,000 digits.
    """
    for name, value in sums.items():
        if max(value.numerator, value.denominator) >= _TOO_LONG:
            option = name.rpartition("_")[2]
            raise ParameterError(
                f"{parameter(option)} has more than {_MOST_DIGITS:,} digits as a fraction, which a "
                f"ledger does not hold; give a shorter number"
            )
    return {name: str(Fraction(value.numerator, value.denominator)) for name, value in sums.items()}


@lru_cache(maxsize=1 << 12)  # most ledgers have the same few costs again and again
def amount_in(text: object) -> Fraction:
    """Return the number that `sums_written` wrote. Raises ValueError for anything else."""
    if not isinstance(text, str) or len(text) > 2 * _MOST_DIGITS + 1:
        raise ValueError("no rational number")
    if not _RATIONAL.fullmatch(text) or str(Fraction(text)) != text:
        raise ValueError("no rational number in lowest terms")
    return Fraction(text)


class Composition(StrEnum):
    """How what releases spend adds up (docs/privacy.md, Theorems 18 and 31)."""

    ANY = "any"  # a release is allowed if one of the others still holds
    BASIC = "basic"
    ZCDP = "zcdp"
    GAUSSIAN = "gaussian"


@dataclass(frozen=True)
class Terms:
    """What a ledger is of, chosen when it was created, and never changed.

    Attributes:
        id: 32 hexadecimal digits.
        created: The time of its creation.
        epsilon: All releases together are (epsilon, delta)-private.
        delta: With it.
        composition: How releases add up.
        rho: What the ρ of zCDP may add up to; 0 without delta.
        zcdp_delta: What the δ of zCDP and of Gaussian privacy may add up to.
        dataset: The name of the data; None, as in the two that follow: the first entry decides.
        neighbors: The neighbour relation.
        privacy_unit: "basket" or "user".
        per: The kind of period, of `periods.KINDS_OF_PROMISE`, each of which is a unit of a user;
            None where users are protected for good.
        basic_delta: What δ may add up to in basic composition; None for delta.
        gaussian_rho: What ρ = μ²/2 may add up to in Gaussian privacy; None if it is not a choice.
        renewed: None for a first one. Else file and id of the ledger before it, when it was
            renewed, and what it had spent if it promised the same: all as texts.
    """

    id: str
    created: str
    epsilon: Fraction
    delta: Fraction
    composition: Composition
    rho: Fraction
    zcdp_delta: Fraction
    dataset: str | None
    neighbors: str | None
    privacy_unit: str | None
    per: str | None = None
    basic_delta: Fraction | None = None
    gaussian_rho: Fraction | None = None
    renewed: Mapping[str, str] | None = None

    def record(self) -> str:
        """Return the terms as a record, the first of the chain."""
        record = {**vars(self)}
        for name in _LATER_TERMS:
            if record[name] is None:
                del record[name]
        return _canonical({"schema": SCHEMA, **record, **sums_written(self.amounts)})

    @property
    def amounts(self) -> Sums:
        """The numbers of the terms, by the names of its fields."""
        return {name: amount for name, amount in vars(self).items() if isinstance(amount, Fraction)}

    @property
    def limits(self) -> dict[Composition, Sums]:
        """What the sums may be, under each composition that may allow a release."""
        basic_delta = self.delta if self.basic_delta is None else self.basic_delta
        limits: dict[Composition, Sums] = {
            Composition.BASIC: {"epsilon": self.epsilon, "delta": basic_delta},
            Composition.ZCDP: {"rho": self.rho, "zcdp_delta": self.zcdp_delta},
        }
        if self.gaussian_rho is not None:
            limits[Composition.GAUSSIAN] = {
                "rho": self.gaussian_rho,
                "zcdp_delta": self.zcdp_delta,
                "other_noise": Fraction(0),
            }
        if self.composition is Composition.ANY:
            return limits
        return {self.composition: limits[self.composition]}

    def filled_from(self, first: "Entry | Terms") -> Self:
        """Return the terms, with what they leave open as an entry or other terms have it."""
        return replace(
            self,
            dataset=self.dataset or first.dataset,
            neighbors=self.neighbors or first.neighbors,
            privacy_unit=self.privacy_unit or first.privacy_unit,
        )

    @property
    def hash(self) -> str:
        """SHA-256 of the record, in hexadecimal: what the first entry follows."""
        return hashed(self.record())

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the terms of a record. Raises one of NO_RECORD for what is none."""
        record = json.loads(text)
        del record["schema"]
        names = (*COSTS, *(name for name in _LATER_AMOUNTS if name in record))
        numbers = {name: amount_in(record[name]) for name in names}
        terms = cls(**record | numbers | {"composition": Composition(record["composition"])})
        if not _ID.fullmatch(terms.id) or terms.record() != text:
            raise ValueError("no terms of a ledger")
        return terms


# What ledgers of earlier versions do not have in their terms.
_LATER_AMOUNTS = ("basic_delta", "gaussian_rho")
_LATER_TERMS = ("per", "renewed", *_LATER_AMOUNTS)
# What the record of every entry has, besides the costs.
_PLAIN = (
    "number",
    "time",
    "command",
    "dataset",
    "privacy_unit",
    "neighbors",
    "parameters",
    "previous",
)


@dataclass(frozen=True, kw_only=True)
class Entry(Charge):
    """What a ledger recorded of one release: costs, and parameters that are public.

    Nothing in it tells what anybody bought.

    number: >= 1. previous: the hash of the entry before, or of the terms. In entries of earlier
    versions unit_columns and span are None.
    """

    number: int
    time: str
    previous: str

    @property
    def costs(self) -> Sums:
        """What it costs, by the names of COSTS."""
        return {name: self.sums[name] for name in COSTS}

    @cached_property
    def reach(self) -> Reach | None:
        """Which units it is of; None for all of them."""
        return reach_of(self.span, self.privacy_unit, self.neighbors)

    def record(self) -> str:
        """Return the entry as the text that is hashed. Raises ParameterError for numbers of vast
        length.
        """
        plain = {name: vars(self)[name] for name in _PLAIN}
        return _canonical(plain | sums_written(self.costs) | self._later)

    @property
    def request(self) -> Self:
        """The entry without its place in the chain: the same for the same units and period, with
        the same parameters and cost.
        """
        return replace(self, number=0, time="", previous="")

    @property
    def _later(self) -> JsonObject:
        """What entries of earlier versions do not have, and others only where it applies."""
        values: JsonObject = {}
        if self.unit_columns is not None:
            values["unit_columns"] = [*self.unit_columns]
        if self.span is not None:
            values["span"] = {**vars(self.span), "baskets": [*self.span.baskets]}
        if self.zcdp.normal:
            values["normal"] = True
        if self.of_user is not None:
            values["of_user"] = sums_written(self.of_user)
        return values

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the record, in hexadecimal."""
        return hashed(self.record())

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the entry of a record. Raises one of NO_RECORD for what is none."""
        record = json.loads(text)
        epsilon, delta, rho, zcdp_delta = (amount_in(record.pop(name)) for name in COSTS)
        zcdp = ZcdpCost(rho, zcdp_delta, normal=record.pop("normal", False))
        if "unit_columns" in record:
            record["unit_columns"] = tuple(record["unit_columns"])
        if "span" in record:
            span = record["span"]
            record["span"] = Span(**span | {"baskets": tuple(span["baskets"])})
        if "of_user" in record:
            record["of_user"] = {name: amount_in(record["of_user"][name]) for name in SUMS}
        entry = cls(**record, cost=PrivacyCost(epsilon, delta), zcdp=zcdp)
        _ = entry.reach  # raises for no period
        if entry.hash != hashed(text):
            raise ValueError("no entry of a ledger")
        return entry

    def to_dict(self) -> JsonObject:
        """Return plain values: costs as floats, rounded up, and exactly as texts "p/q"."""
        plain = {name: vars(self)[name] for name in ("number", "time", "command", "parameters")}
        costs = {name: float(value) for name, value in self.costs.items()}
        return {**plain, **self._later, **costs, "exact": sums_written(self.costs)}


def verified_chain(
    rows: Iterable[tuple[int, str, str]], number: int, previous: str
) -> Iterator[Entry]:
    """Yield the entries of rows of (number, record, hash); each must be whole, and follow the one
    before.

    number, previous: those of the last entry before them, or 0 and the hash of the terms. Raises
    one of NO_RECORD.
    """
    for due, (place, record, hash) in enumerate(rows, number + 1):
        entry = Entry.read(record)
        if not entry.number == place == due or entry.previous != previous or entry.hash != hash:
            raise ValueError("an entry that does not follow")
        previous = hash
        yield entry
