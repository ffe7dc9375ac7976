"""Which mechanism suits a request, by public numbers, where that is left to "auto".

Several itemsets: levelwise, whose noise does not grow with their number as that of picks does. One: the mechanism that
needs the smallest margin (docs/privacy.md, "What each mechanism needs"): limited-domain without a catalogue, or
exponential weights over one that is small enough. Where δ is 0, permute-and-flip, which is never worse than these. Not
large-margin: it needs no rank cap, and pays for it with a margin of 438 units instead of 27 (ε = 1, δ = 1e-6,
add-remove).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import log

from fim_private import defaults
from fim_private.counting.universe import Catalogue, Universe
from fim_private.dp.parameters import Neighbors
from fim_private.levelwise.recipe import LARGEST_SIZE

AUTO = "auto"
# Up to how many itemsets of users are picked at once, at ε = 1 under add-remove: of single items, of sizes from 1 on
# ranked together, and of pairs; without a list of items, and with one. Of larger ones none: levelwise finds more.
_PICKED = {"items": (30, 100), "together": (30, 20), "pairs": (5, 10)}


def few_of_users(
    sizes: Sequence[int], count: int, *, union: bool, listed: bool, epsilon: Fraction, neighbors: str
) -> bool:
    """Tell whether so few itemsets of users are wanted that picks miss fewer than levelwise does.

    The noise of picks grows with their number, and that of levelwise with what users hold. The bounds were measured on
    ten shops and halves of shops (docs/benchmarks.md). sizes: consecutive. epsilon: > 0, of the whole release.
    """
    kind = "items" if tuple(sizes) == (1,) else "together" if union and sizes[0] == 1 else "pairs"
    if kind == "pairs" and sizes[-1] > 2:
        return False
    doubled = 2 if neighbors == Neighbors.REPLACE_ONE else 1
    wanted = count if union else count * len(sizes)
    return wanted * doubled <= _PICKED[kind][listed] * epsilon


def choose(
    delta: Fraction,
    sizes: Sequence[int],
    universe: Universe,
    *,
    several: bool,
    capped: bool,
    few_of_users: bool = False,
) -> tuple[str, str]:
    """Return the name of a mechanism, and why it: a clause that follows the name.

    delta: 0 only over a catalogue. several: whether more than one itemset is wanted. capped: whether a public cap on
    ranks or baskets is given. few_of_users: as the function of that name says.
    """
    if not delta:
        return "permute-and-flip", "of those that spend no delta it needs the smallest margin"
    if capped:
        return "limited-domain", "it makes use of the public cap that you give"
    if several and few_of_users:
        name = "exponential" if isinstance(universe, Catalogue) else "limited-domain"
        return name, "for so few itemsets of users it finds more than levelwise"
    if several and sizes[-1] > LARGEST_SIZE:
        return "limited-domain", f"levelwise, for several itemsets, is for up to {LARGEST_SIZE} items"
    if several:
        no_list = "" if isinstance(universe, Catalogue) else ", without a list of items"
        return "levelwise", f"it finds many itemsets with the least noise{no_list}"
    if isinstance(universe, Catalogue):
        candidates = sum(universe.candidates(size) for size in sizes)
        # Both weigh supports by exponentials of the same rate: with K candidates one must lead by about ln K / rate,
        # without a list by ln(k / δ) / rate.
        if log(max(candidates, 1)) < log(defaults.MAX_RANK) - log(delta):
            return "exponential", "over your catalogue it needs a smaller margin than any without one"
    return "limited-domain", "for one itemset it needs the smallest margin of all without a list of items"
