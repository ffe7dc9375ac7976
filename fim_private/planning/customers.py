"""A plan for users: what share of the most frequent itemsets is found, with a product list and without. No data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from fim_private.dp.cost import Exact, at_least
from fim_private.dp.parameters import Neighbors, exact_delta, public_integer, whole_number
from fim_private.errors import ParameterError, parameter
from fim_private.glance import Glance
from fim_private.mining.options import checked_options
from fim_private.planning.forecast import Customers, expected_found, typical_items, with_list
from fim_private.planning.product_list import most_frequent

# How many itemsets are planned for where nothing is said.
USUAL_TOP = 50
NO_LIST, LIST = "no list", "list"
NOTES = (
    "These are estimates from public numbers alone: no data was read.",
    "For pairs, from the top 10 on, they were within about 10 points on the shops they come from.",
    "Take them as a rough guide: on a shop they did not know they were often 20 points off, and sometimes far more.",
)


@dataclass(frozen=True, repr=False)
class CustomerPlan:
    """What share of the true top is found where customers are protected.

    expected_found: by neighbour relation and by "no list" or "list" the share that is found, in [0, 1], an estimate.
    units: how many users. user_items: different items that one has bought in all, on average. universe_size: of the
    list; None where that was not given. top, sizes, union, epsilon, delta: what is asked for, noisy supports with it.
    """

    units: int
    user_items: float
    top: int
    sizes: tuple[int, ...]
    union: bool
    epsilon: float
    delta: float
    universe_size: int | None
    expected_found: dict[str, dict[str, float]]

    @property
    def title(self) -> str:
        """What was asked, in words."""
        return (
            f"Expected share of the {most_frequent(self.top, self.sizes, union=self.union)} that is found, "
            f"among {self.units:,} customers of {self.user_items:g} different items (ε = {at_least(self.epsilon)}, "
            f"δ = {at_least(self.delta)}, with supports)"
        )

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """The neighbour relation, and the shares without a list and with one, in words."""
        return [
            (relation, *(f"{100 * found[way]:.0f} %" for way in (NO_LIST, LIST)))  # type: ignore[misc]
            for relation, found in self.expected_found.items()
        ]

    def _glance(self) -> Glance:
        columns = ("neighbours", "without a product list", "with one")
        return Glance(self.title, columns, self.rows, numbers=frozenset({1, 2}), notes=NOTES)

    def __repr__(self) -> str:
        return f"Plan: {self._glance().text()}"

    def _repr_html_(self) -> str:
        return self._glance().html()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: one key per field."""
        return asdict(self) | {"sizes": list(self.sizes)}


def plan_customers(
    *,
    units: int | None,
    user_items: float,
    top: int,
    size: int | str | Iterable[int],
    union: bool,
    epsilon: float | Fraction,
    delta: float | Fraction,
    universe_size: int | None,
) -> CustomerPlan:
    """Return the plan for users, as `planning.plan` says. Raises ParameterError for a parameter outside its range."""
    if units is None:
        raise ParameterError(
            f"{parameter('user_items')} needs {parameter('units')}: about how many customers there are"
        )
    exact_delta(delta)
    listed = None if universe_size is None else whole_number("universe_size", universe_size, least=2, most=10_000_000)
    found: dict[str, dict[str, float]] = {}
    for relation in (Neighbors.ADD_REMOVE.value, Neighbors.REPLACE_ONE.value):
        options = checked_options(
            size=size,
            epsilon=epsilon,
            delta=delta,
            rho=None,
            mechanism="auto",
            neighbors=relation,
            top=top,
            union=union,
            supports=True,
            supports_share=None,
            keep_all=False,
            count=False,
            max_rank=None,
            max_basket=None,
            max_baskets=None,
            catalogue=None,
            universe_size=None,
            by_user=True,
        )
        items = typical_items("user_items", user_items, least=options.sizes[-1])
        customers = Customers(public_integer("units", units), items)
        ways = {NO_LIST: options, LIST: with_list(options, listed)}
        shares = {way: expected_found(asked, customers) for way, asked in ways.items()}
        found[relation] = {way: round(share, 4) for way, share in shares.items() if share is not None}
    return CustomerPlan(
        customers.units,
        customers.items,
        options.top,
        options.sizes,
        options.union,
        float(Exact(epsilon)),
        float(Exact(delta)),
        listed,
        found,
    )
