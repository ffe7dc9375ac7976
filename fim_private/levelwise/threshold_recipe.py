"""The parts of the budget for itemsets that reach a threshold, and the numbers of candidates: public numbers.

Chosen on five public data sets and the corner shop; within a third of these numbers, either way, hardly anything
changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from fim_private.errors import ParameterError, parameter
from fim_private.levelwise.recipe import LARGEST_SIZE, OWN_ITEMS, OWN_ITEMS_OF_USER, unlisted_items_share

# Of items alone: the part that finds them. With sets: that, what counts the items, what each level of sets has, and all
# levels together at most. Of each histogram, of which there is one before each count.
_ITEMS_ALONE = Fraction(35, 100)
_ITEMS, _ITEM_COUNT, _LEVEL, _LEVELS = Fraction(23, 100), Fraction(8, 100), Fraction(20, 100), Fraction(36, 100)
_HISTOGRAM = Fraction(15, 1000)
# The same for users: without a list of items, and with one.
_USERS_ITEMS, _USERS_LISTED_ITEMS = Fraction(50, 100), Fraction(30, 100)
_USERS_LEVEL, _USERS_LISTED_LEVEL, _USERS_LEVELS = Fraction(17, 100), Fraction(26, 100), Fraction(26, 100)
_USERS_ITEM_COUNT = Fraction(6, 100)


@dataclass(frozen=True)
class ThresholdRecipe:
    """What a run spends, and on how many candidates.

    items, item_count, levels, set_count: parts of μ², which with those of the histograms add up to 1: for finding
    items; for counting them; for the sets of 2, 3, … items; for counting the sets. histogram: of each of the
    histograms, one before each count. Without sets there are no levels, and set_count is 0.
    own_items: how many items of a unit count where items are found. most_items: how many items are counted.
    most_closed: how many candidates of a size are weighed. kept: how many of each size are counted.
    """

    items: Fraction
    item_count: Fraction
    levels: tuple[Fraction, ...]
    set_count: Fraction
    histogram: Fraction = _HISTOGRAM
    own_items: int = OWN_ITEMS
    most_items: int = 1_500
    most_closed: int = 8_000
    kept: int = 2_000

    @classmethod
    def of(cls, sizes: Sequence[int]) -> ThresholdRecipe:
        """Return the recipe for itemsets of baskets, of these sizes, consecutive, and for single items of users.

        Raises ParameterError for a size above 20.
        """
        if sizes[-1] > LARGEST_SIZE:
            raise ParameterError(
                f"{parameter('size')} must be at most {LARGEST_SIZE} with levelwise, which finds all smaller ones first"
            )
        if not (levels := sizes[-1] - 1):
            return cls(_ITEMS_ALONE, 1 - _ITEMS_ALONE - _HISTOGRAM, (), Fraction(0))
        each = min(_LEVEL, _LEVELS / levels)
        rest = 1 - _ITEMS - _ITEM_COUNT - 2 * _HISTOGRAM - levels * each
        return cls(_ITEMS, _ITEM_COUNT, (each,) * levels, rest)

    @classmethod
    def of_users(cls, sizes: Sequence[int], *, epsilon: Fraction, neighbors: str, listed: bool) -> ThresholdRecipe:
        """Return the recipe for itemsets of users, of these sizes, the largest >= 2. Raises as `of` does."""
        levels = sizes[-1] - 1
        usual = _USERS_LISTED_ITEMS if listed else _USERS_ITEMS
        items = usual if listed else unlisted_items_share(usual, epsilon, neighbors)
        # What the items take more, all others give in proportion: none is left with nothing.
        left = (1 - items) / (1 - usual)
        item_count = left * _USERS_ITEM_COUNT
        each = left * min(_USERS_LISTED_LEVEL if listed else _USERS_LEVEL, _USERS_LEVELS / levels)
        rest = 1 - items - item_count - 2 * _HISTOGRAM - levels * each
        return replace(
            cls.of(sizes),
            items=items,
            item_count=item_count,
            levels=(each,) * levels,
            set_count=rest,
            own_items=OWN_ITEMS_OF_USER,
        )
