"""What is allowed but promises little: an ε, or a δ, that is larger than a guarantee should have."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from fim_private.dp.cost import PrivacyCost, at_least
from fim_private.errors import parameter

# Above these it is said that little is promised.
_LARGE_EPSILON, _LARGE_DELTA = 10, Fraction(1, 1000)


def cautions(cost: PrivacyCost, *, rho: Fraction | None = None) -> Iterator[str]:
    """Yield what is to be said of what a release spends, with parameters marked as in errors. rho: if it was given."""
    if cost.epsilon > _LARGE_EPSILON:
        name, epsilon = parameter("epsilon"), at_least(cost.epsilon)
        given = f"{name} {epsilon}" if rho is None else f"{parameter('rho')} {at_least(rho)}, an {name} of {epsilon},"
        yield (
            f"{given} promises next to nothing: it lets the probability of a result change by a factor of e^{epsilon}; "
            "1 or less is a strong promise"
        )
    if cost.delta > _LARGE_DELTA:
        yield (
            f"{parameter('delta')} {at_least(cost.delta)} promises little: so probable it is allowed to be that "
            "somebody's data is simply published; choose it far below 1 / (how many they are)"
        )


def chosen_units_show(unit: str) -> str:
    """Return what is to be said under replace-one where a condition, a query or segments choose units.

    unit: "basket" or "user".
    """
    return (
        f"{parameter('neighbors')} replace-one does not hide which {unit}s are chosen by a condition, a query or "
        f"segments; {parameter('neighbors')} add-remove hides that, too"
    )


def cautions_of_units(cost: PrivacyCost, units: int, unit: str) -> Iterator[str]:
    """Yield what is to be said where the number of units, >= 0, is public. unit: "basket" or "user"."""
    if _LARGE_DELTA >= cost.delta > 0 and cost.delta * units >= 1:
        yield (
            f"{parameter('delta')} {at_least(cost.delta)} is not below 1 / (number of {unit}s): to publish one {unit} "
            "that is drawn by lot would be within it; choose it far below"
        )
