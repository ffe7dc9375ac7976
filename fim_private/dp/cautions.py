"""Warnings about guarantees that promise little."""

from collections.abc import Collection, Iterator
from fractions import Fraction

from fim_private.dp.cost import PrivacyCost, least_in_words
from fim_private.errors import parameter

# Above these a warning says that little is promised.
_LARGE_EPSILON, _LARGE_DELTA = 10, Fraction(1, 1000)


def cautions(cost: PrivacyCost, *, rho: Fraction | None = None) -> Iterator[str]:
    """Yield a warning for each parameter of a release that promises little.

    Parameters are marked as in errors. rho: the budget in zCDP, if it was given instead of epsilon.
    """
    if cost.epsilon > _LARGE_EPSILON:
        epsilon = least_in_words(cost.epsilon)
        budget = f"{parameter('epsilon')} {epsilon}"
        if rho is not None:
            rho_in_words = f"{parameter('rho')} {least_in_words(rho)}"
            budget = f"{rho_in_words}, an {parameter('epsilon')} of {epsilon},"
        yield (
            f"{budget} promises next to nothing: it lets the probability of a result change by a "
            f"factor of e^{epsilon}; 1 or less is a strong promise"
        )
    if cost.delta > _LARGE_DELTA:
        yield (
            f"{parameter('delta')} {least_in_words(cost.delta)} promises little: with this "
            "probability somebody's data may simply be published; "
            "choose it far below 1 / (number of baskets or users)"
        )


def caution_of_chosen_units(unit: str) -> str:
    """Return the warning for replace-one where a condition, a query or segments choose units.

    unit: "basket" or "user".
    """
    return (
        f"{parameter('neighbors')} replace-one does not hide which {unit}s are chosen by a "
        f"condition, a query or segments; {parameter('neighbors')} add-remove hides that, too"
    )


def cautions_of_units(
    cost: PrivacyCost,
    segment_units: Collection[int],
    most_segments: int,
    unit: str,
    *,
    noisy: bool = False,
) -> Iterator[str]:
    """Yield a warning if delta is not below 1 / (number of units).

    Args:
        cost: The (epsilon, delta) of the release.
        segment_units: The number of units in each segment, >= 0.
        most_segments: How many segments one unit may be in.
        unit: What a unit is: "basket" or "user".
        noisy: Whether there may be more units, or their number has noise; else it is public.
    """
    # All segments together have at least this many units.
    units = max(*segment_units, sum(segment_units) // most_segments, 0)
    if _LARGE_DELTA >= cost.delta > 0 and cost.delta * units >= 1:
        about = f", about {units:,} or more" if noisy else ""
        yield (
            f"{parameter('delta')} {least_in_words(cost.delta)} is not below 1 / (number of "
            f"{unit}s{about}): it allows one {unit}, drawn at random, to be published; "
            "choose it far below"
        )
