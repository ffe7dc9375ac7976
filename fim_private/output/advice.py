"""What finds more itemsets after a release, and what each way promises less: from public parameters alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from fim_private.dp.cost import at_least
from fim_private.dp.parameters import EPSILON_RANGE, Neighbors
from fim_private.mining.release import Release


def advice_for_more(release: Release) -> Iterator[str]:
    """Yield what finds more itemsets, a line, and what promises as much, another, where there is such a way."""
    ways = []
    if release.rho is not None:
        more = at_least(4 * release.rho)
        ways.append(f"a larger --rho: {more} halves the noise, or about what an itemset needs, for four times the cost")
    elif release.epsilon < EPSILON_RANGE[1]:
        # Margins and noise are in proportion to 1/ε, or nearly so.
        twice = at_least(min(2 * release.cost.epsilon, Fraction(EPSILON_RANGE[1])))
        ways.append(
            f"a larger --epsilon: {twice} about halves what an itemset needs, and squares the factor of the guarantee"
        )
    if release.neighbors == Neighbors.REPLACE_ONE:
        # Replacing is a removal and an addition, each at epsilon.
        need = "0.7 of the noise" if release.counted else "half the margin"
        ways.append(
            f"--neighbors add-remove, which needs {need} and guarantees less: replacing one {release.protected} "
            "then costs 2ε"
        )
    if release.privacy_unit == "user":
        ways.append("leaving out --user, which protects each basket by itself only")
    if ways:
        yield f"To find more: {'; or '.join(ways)}."
    if release.top > 1 and not release.counted:
        yield "As private, for the more frequent ones: a smaller --top, among which the budget is shared."
