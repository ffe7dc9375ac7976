"""The registry: what each mechanism is, once. It imports none before it is built: the command line
reads names here.
"""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from fim_private.dp.neighbors import Neighbors
from fim_private.errors import ParameterError, parameter, shown

if TYPE_CHECKING:
    from fractions import Fraction

    from fim_private.mechanisms.base import Mechanism, PublicParameters


class UniverseNeed(StrEnum):
    """What must be public about the universe of items."""

    UNKNOWN = "nothing"
    COUNTED = "the number of items"
    LISTED = "all items"


class RankCap(StrEnum):
    """What a public cap on ranks means to a mechanism."""

    NONE = "it has none"
    SEARCH = "it ends the search of an unknown universe, and nothing beyond it could be found"
    CANDIDATES = "it decides how far down an itemset can be found"


class BasketCap(StrEnum):
    """What a public cap on baskets, and so on the itemsets that one unit supports, means to a
    mechanism.
    """

    NONE = "it has no use for it"
    OPTIONAL = "it makes abstaining lighter"
    NEEDED = "its guarantee rests on it"


class LineStyle(NamedTuple):
    """How a mechanism is drawn in figures: matplotlib's names; colours of Okabe and Ito, which all
    can tell apart.
    """

    colour: str
    line: str
    marker: str


class MechanismSpec(NamedTuple):
    """One mechanism.

    name: on the command line and in releases. home: the full name of its class.
    description: a clause that follows its name. theorem: its number, or numbers, in
    docs/privacy.md.
    spends_delta: whether it is (ε, δ)-private; else it is (ε, 0)-private. style: its line in
    figures.
    universe, rank_cap, basket_cap: what it must, or may, know.
    asked_as: the mechanism that it stands in for if only the number of items is public; None for
    one that is asked for by its own name.
    composed: whether it is a run of several steps (`levelwise`), which are planned and audited
    instead of it.
    """

    name: str
    home: str
    description: str
    theorem: str
    style: LineStyle
    spends_delta: bool = True
    universe: UniverseNeed = UniverseNeed.UNKNOWN
    rank_cap: RankCap = RankCap.NONE
    basket_cap: BasketCap = BasketCap.NONE
    asked_as: str | None = None
    composed: bool = False

    def supports_share(self, neighbors: str) -> Fraction:
        """The share of the budget that noisy supports have beside it, where none is given."""
        # which takes longer to import than all that the command line reads here
        from fractions import Fraction

        if not self.composed:
            return Fraction(1, 3)
        percent = 15 if neighbors == Neighbors.REPLACE_ONE else 10
        return Fraction(percent, 100)

    @property
    def mechanism(self) -> Any:
        """The class, imported when it is asked for."""
        module, _, name = self.home.rpartition(".")
        return getattr(import_module(module), name)

    @property
    def bounded_range(self) -> Any:
        """The theorem by which its class declares its selections bounded-range, or None; none is
        inherited.
        """
        return vars(self.mechanism).get("bounded_range")

    @property
    def is_for_one(self) -> bool:
        """Whether it is made for one itemset: each further one takes a budget of its own."""
        return not self.composed and self.bounded_range is None


_OVER_CATALOGUE = "it chooses among all itemsets of your public catalogue"

REGISTRY = (
    MechanismSpec(
        "large-margin",
        "fim_private.mechanisms.margins.LargeMargin",
        "it needs no list of items and no cap",
        theorem="2, 3",
        rank_cap=RankCap.SEARCH,
        style=LineStyle("#000000", "-", "o"),
    ),
    MechanismSpec(
        "tight-margin",
        "fim_private.mechanisms.margins.TightMargin",
        "it needs no list of items, only how far down the ranking it may look",
        theorem="11, 12",
        rank_cap=RankCap.CANDIDATES,
        style=LineStyle("#D55E00", "-", "s"),
    ),
    MechanismSpec(
        "exponential",
        "fim_private.mechanisms.exponential.Exponential",
        _OVER_CATALOGUE,
        theorem="4",
        spends_delta=False,
        universe=UniverseNeed.LISTED,
        style=LineStyle("#0072B2", "-", "^"),
    ),
    MechanismSpec(
        "named-exponential",
        "fim_private.mechanisms.exponential.NamedExponential",
        (
            "it chooses among all itemsets of a universe of public size, and names those that "
            "enough units have"
        ),
        theorem="5",
        universe=UniverseNeed.COUNTED,
        style=LineStyle("#0072B2", "--", "^"),
        asked_as="exponential",
    ),
    MechanismSpec(
        "permute-and-flip",
        "fim_private.mechanisms.noisy_max.PermuteAndFlip",
        _OVER_CATALOGUE,
        theorem="9",
        spends_delta=False,
        universe=UniverseNeed.LISTED,
        style=LineStyle("#56B4E9", "--", "v"),
    ),
    MechanismSpec(
        "max-of-laplaces",
        "fim_private.mechanisms.noisy_max.MaxOfLaplaces",
        _OVER_CATALOGUE,
        theorem="10",
        spends_delta=False,
        universe=UniverseNeed.LISTED,
        style=LineStyle("#0072B2", ":", "x"),
    ),
    MechanismSpec(
        "limited-domain",
        "fim_private.mechanisms.exponential.LimitedDomain",
        "it needs no list of items, only how many of the top itemsets it may choose from",
        theorem="6",
        rank_cap=RankCap.CANDIDATES,
        basket_cap=BasketCap.OPTIONAL,
        style=LineStyle("#009E73", "-", "D"),
    ),
    MechanismSpec(
        "choosing",
        "fim_private.mechanisms.exponential.Choosing",
        "it needs no list of items, but cuts every basket to the cap",
        theorem="6",
        basket_cap=BasketCap.NEEDED,
        style=LineStyle("#E69F00", "--", "P"),
    ),
    MechanismSpec(
        "distance",
        "fim_private.mechanisms.noisy_max.Distance",
        "it needs nothing that is public, but finds an itemset only if it leads all others",
        theorem="7",
        style=LineStyle("#CC79A7", "-.", "*"),
    ),
    MechanismSpec(
        "levelwise",
        "fim_private.levelwise.levelwise.Levelwise",
        (
            "it needs no list of items; it finds frequent items, then sets of them, and counts the "
            "candidates twice"
        ),
        theorem="13",
        style=LineStyle("#009E73", "--", "h"),
        composed=True,
    ),
)

# Only those that can be asked for by name.
MECHANISMS = {spec.name: spec for spec in REGISTRY if spec.asked_as is None}


def spec_named(name: str, *before: str) -> MechanismSpec:
    """Return the mechanism asked for by that name. Raises ParameterError naming the choices, those
    before first.
    """
    if isinstance(name, str) and name in MECHANISMS:
        return MECHANISMS[name]
    raise ParameterError(
        f"{parameter('mechanism')} must be one of {', '.join([*before, *MECHANISMS])}, not "
        f"{shown(name)}"
    )


def single() -> dict[str, MechanismSpec]:
    """Return those of MECHANISMS that are one selection each."""
    return {name: spec for name, spec in MECHANISMS.items() if not spec.composed}


def purely_private() -> list[str]:
    """Return the names of MECHANISMS that spend no delta, where all items are listed publicly."""
    return [name for name, spec in MECHANISMS.items() if not spec.spends_delta]


def check_delta(
    delta: Fraction, name: str | None, *, listed: bool, give: str = "a catalogue"
) -> None:
    """Raise ParameterError where delta is 0 and a selection would need more.

    name: of the mechanism asked for, None for any. listed: whether all items are public. give: how
    they would be.
    """
    if delta:
        return
    if not listed:
        raise ParameterError(
            f"{parameter('delta')} must be above 0 without a public list of all items. Give "
            f"{give}, or a delta far below 1 / (number of baskets, or of users)"
        )
    if name is not None and spec_named(name).spends_delta:
        choices = " or ".join(", ".join(purely_private()).rsplit(", ", 1))
        raise ParameterError(
            f"{parameter('delta')} must be above 0 for {name}, which spends it; "
            f"with 0 take {choices}"
        )


def spec_of(mechanism: Mechanism) -> MechanismSpec:
    """Return the registry entry of a mechanism's class, or of the nearest that it inherits from, or
    raise TypeError.
    """
    entries = {spec.home: spec for spec in REGISTRY}
    for kind in type(mechanism).__mro__:
        home = f"{kind.__module__}.{kind.__qualname__}"
        if home in entries:
            return entries[home]
    raise TypeError(f"{type(mechanism).__name__} is not in the registry of mechanisms")


def form_for_counted(spec: MechanismSpec) -> MechanismSpec | None:
    """Return the mechanism that stands in where only the size of the universe is public; None where
    there is none.
    """
    return next((form for form in REGISTRY if form.asked_as == spec.name), None)


def build(
    spec: MechanismSpec,
    epsilon: float | Fraction,
    delta: float | Fraction,
    public: PublicParameters,
) -> Mechanism:
    """Return the mechanism asked for, in the form that is possible; ParameterError for what is
    missing.
    """
    if spec.universe is UniverseNeed.LISTED and not public.named:
        counted = form_for_counted(spec)
        if counted is None or public.candidates is None:
            universe = f"a public item universe: give a catalogue or {parameter('universe_size')}"
            needs = "a catalogue: the public list of all items" if counted is None else universe
            raise ParameterError(
                f"the {spec.name} mechanism needs {needs} (items taken from the data would not be "
                "private: each shows that somebody bought it)"
            )
        spec = counted
    return spec.mechanism.from_public(epsilon, delta, public)  # type: ignore[no-any-return]
