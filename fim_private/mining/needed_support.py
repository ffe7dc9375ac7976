"""About how many units must have an itemset for it to come out: with all that a request asks for, from its options."""

from __future__ import annotations

from fim_private.counting.universe import UnknownUniverse
from fim_private.defaults import CONFIDENCE
from fim_private.errors import ParameterError
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.needs import LevelNeeds
from fim_private.levelwise.reaching import Reaching
from fim_private.mechanisms import LargeMargin, TightMargin
from fim_private.mechanisms.prospects import prospects
from fim_private.mining.allocation import AllocatedSelection
from fim_private.mining.budget import allocate
from fim_private.mining.options import MiningOptions

# How many items units have is private. These are guesses, on which levelwise alone depends.
_ITEMS_OF_BASKET, ITEMS_OF_USER = 8.0, 30.0


def needed_support(options: MiningOptions) -> int | None:
    """Return the support, in units, with which an itemset without rivals comes out with 95 % probability.

    It is that of the sizes asked for which needs least. Of levelwise it is an estimate. None where no support is
    enough, where nothing is known of it, and for options that do not go together.
    """
    try:
        allocation = allocate(options)
        needs = [need for one in allocation.selections if (need := _needed(one, by_user=options.by_user)) is not None]
    except ParameterError:  # a part of the budget is out of range, too
        return None
    if not needs:
        return None
    if allocation.supports is None or not allocation.leaves_out:
        return min(needs)
    # An interval that reaches 0 leaves an itemset out.
    return max(min(needs), 2 * allocation.supports.noise(1).half_width)


def _needed(selection: AllocatedSelection, *, by_user: bool) -> int | None:
    """Return what one selection needs; None where that is not known."""
    if isinstance(selection.run, Levelwise):
        if selection.run.items_delta is None:
            return None
        return LevelNeeds(selection.run, ITEMS_OF_USER if by_user else _ITEMS_OF_BASKET, CONFIDENCE).support
    if isinstance(selection.run, Reaching):
        return None
    mechanism, universe = selection.run.mechanism, selection.universe
    if isinstance(mechanism, TightMargin):
        # Its search seldom stops, and what then decides is this; to follow the search takes seconds.
        mechanism = mechanism.choice(mechanism.max_rank)
    if isinstance(universe, UnknownUniverse) or isinstance(mechanism, LargeMargin):
        # Of a rank search the first ranks decide, whatever the universe: all those of a large one take long to follow.
        return prospects(mechanism, CONFIDENCE).support
    return prospects(mechanism, CONFIDENCE, sum(map(universe.candidates, selection.sizes))).support
