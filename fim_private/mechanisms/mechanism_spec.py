"""What the registry says of a mechanism: its names, needs, guarantee, looks and audit."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from fractions import Fraction


class UniverseNeed(StrEnum):
    """What must be public about the universe of items."""

    UNKNOWN = "nothing"
    COUNTED = "the number of items"
    LISTED = "all items"


class RankCap(StrEnum):
    """What a public cap on ranks means to a mechanism."""

    NONE = "it has none"
    SEARCH = "it ends the search of an unknown universe, and nothing that could be found lies beyond"
    CANDIDATES = "it decides how far down an itemset can be found"


class BasketCap(StrEnum):
    """What a public cap on baskets, and so on the itemsets that one unit supports, means to a mechanism."""

    NONE = "it has no use for it"
    OPTIONAL = "it makes abstaining lighter"
    NEEDED = "its guarantee rests on it"


class Audit(StrEnum):
    """How a mechanism comes to its output: this tells the audit how to compute the distribution, and the stages."""

    EXPONENTIAL_WEIGHTS = "one choice by exponential weights"
    LEADER = "the leader, if its noisy margin is large enough"
    FIRST_ACCEPTED = "the first candidate accepted in random order"
    NOISY_MAX = "the highest noisy support"
    LARGE_MARGIN = "a rank search, then a choice by exponential weights among the top ranks"
    TIGHT_MARGIN = "a rank search, then the limited-domain mechanism at that rank"
    COMPOSED = "of selections by other mechanisms, each audited by itself"


def declared_bounded_range(mechanism: type[Any]) -> str | None:
    """Return the theorem by which a class declares its selections bounded-range; none is inherited."""
    theorem = vars(mechanism).get("bounded_range")
    return theorem if isinstance(theorem, str) else None


class LineStyle(NamedTuple):
    """How a mechanism is drawn in figures: matplotlib's names. Colours are Okabe and Ito's, told apart by everybody."""

    colour: str
    line: str
    marker: str


class MechanismSpec(NamedTuple):
    """One mechanism.

    name: on the command line and in releases. home: its module, inside mechanisms unless dotted, and its class.
    description: a clause that follows its name. theorem: its number, or numbers, in docs/privacy.md.
    spends_delta: whether it is (ε, δ)-private; else it is (ε, 0)-private. style: its line in figures.
    audit: how it is audited. universe, rank_cap, basket_cap: what it must, or may, know.
    one_leader: whether it finds an itemset only if that one alone has the highest support.
    asked_as: the name by which it is asked for, where that is another's, for which it stands in if less is public.
    composed: whether it is a run of several steps (`levelwise`), which are planned and audited instead of it.
    supports_ratio: the part of the budget that noisy supports have beside it, where none is given, as (numerator,
    denominator): the command line reads this at start-up, and fractions take longer to import than all of it.
    """

    name: str
    home: str
    description: str
    theorem: str
    spends_delta: bool
    style: LineStyle
    audit: Audit
    universe: UniverseNeed = UniverseNeed.UNKNOWN
    rank_cap: RankCap = RankCap.NONE
    basket_cap: BasketCap = BasketCap.NONE
    one_leader: bool = False
    asked_as: str | None = None
    composed: bool = False
    supports_ratio: tuple[int, int] = (1, 3)

    def supports_share(self, neighbors: str) -> Fraction:
        """The part of the budget that noisy supports have beside it, where none is given.

        Under replace-one, where their noise is nearly twice as wide, half as much again where steps are composed.
        """
        from fractions import Fraction

        share = Fraction(*self.supports_ratio)
        return share * Fraction(3, 2) if self.composed and neighbors == "replace-one" else share

    @property
    def path(self) -> str:
        """The full name of its class."""
        return f"{'fim_private' if self.home.count('.') > 1 else __package__}.{self.home}"

    @property
    def mechanism(self) -> type[Any]:
        """The class, imported when it is asked for."""
        module, _, name = self.path.rpartition(".")
        found: type[Any] = getattr(import_module(module), name)
        return found

    @property
    def searches(self) -> bool:
        """Whether it begins with a rank search."""
        return self.audit in (Audit.LARGE_MARGIN, Audit.TIGHT_MARGIN)

    @property
    def guarantee(self) -> str:
        """What it guarantees: (ε, δ), or (ε, 0) for a purely private mechanism."""
        return "(ε, δ)" if self.spends_delta else "(ε, 0)"

    @property
    def bounded_range(self) -> str | None:
        """The theorem by which its selections are bounded-range, as its class declares; None where they are not."""
        return declared_bounded_range(self.mechanism)

    @property
    def must_know(self) -> str:
        """What must be public, in words: for documents."""
        if self.universe is not UniverseNeed.UNKNOWN:
            return "catalogue of all items"
        if self.basket_cap is BasketCap.NEEDED:
            return "cap on basket size"
        if self.rank_cap is RankCap.CANDIDATES:
            return "nothing but a public rank cap"
        return "nothing; a single leader" if self.one_leader else "nothing"
