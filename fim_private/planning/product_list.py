"""What a product list would bring: reckoned from public numbers alone, so that it may be told of any release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fim_private import defaults
from fim_private.errors import Marked, ParameterError, parameter
from fim_private.mechanisms import registry
from fim_private.mining.options import MiningOptions
from fim_private.planning.forecast import USUAL_ITEMS, Customers, expected_found, with_list

# What is reckoned with before anything was asked for.
_USUAL_TOP = 50


@dataclass(frozen=True)
class ListGain:
    """What a list of all items would bring. str() tells it in a sentence or two.

    with_list, without: the shares of the true top that are found, in [0, 1], as estimates (`planning.forecast`); None
    where no number is known. what: of which itemsets that is, in words.
    """

    with_list: float | None
    without: float | None
    what: str

    @property
    def marked(self) -> str:
        """The sentences, with parameters marked as in errors."""
        how = f"{parameter('catalogue')} products.csv {parameter('catalogue_item')} sku"
        if self.with_list is None or self.without is None:
            return f"A public product list finds more: {how}."
        first, second = (f"{100 * share:.0f} %" for share in (self.with_list, self.without))
        if self.with_list <= self.without or first == second:
            return f"A public product list would hardly change what is found here: {how}."
        return (
            f"With a list of your products about {first} of the {self.what} would be found, in place of about "
            f"{second}: {how}."
        )

    def __str__(self) -> str:
        return str(Marked(self.marked))


def list_gain(options: MiningOptions, *, units: int | None = None, user_items: float = USUAL_ITEMS) -> ListGain | None:
    """Return what a list of all items would bring users; None where there is one.

    options: the request. units: how many users there are, where that is public or was released; without it no number
    is known. user_items: a public guess of how many different items a user has bought, >= 1.
    """
    if options.items_are_listed:
        return None
    listed = without = None
    if units is not None and units >= 1:
        customers = Customers(units, user_items)
        try:
            listed, without = expected_found(with_list(options), customers), expected_found(options, customers)
        except ParameterError:  # the request does not go with a list, or a part of the budget is out of range
            listed = without = None
    return ListGain(listed, without, most_frequent(options.top, options.sizes, union=options.union))


def usual_list_gain(units: int) -> ListGain | None:
    """Return what a list would bring users where nothing was asked for yet: the 50 most frequent pairs, by default."""
    options = levelwise_options(
        epsilon=Fraction(defaults.EPSILON),
        delta=Fraction(repr(defaults.DELTA)),
        neighbors=defaults.NEIGHBORS,
        top=_USUAL_TOP,
        supports=True,
    )
    return list_gain(options, units=units)


def levelwise_options(*, supports: bool = False, **asked: Any) -> MiningOptions:
    """Return a request of levelwise for users. supports: whether it has noisy ones. asked: other MiningOptions."""
    spec = registry.spec_named("levelwise")
    share = spec.supports_share(asked["neighbors"]) if supports else None
    return MiningOptions(spec, supports_share=share, by_user=True, **asked)


def most_frequent(top: int, sizes: Sequence[int], *, union: bool) -> str:
    """Return which itemsets are asked for, in words: "50 most frequent pairs"."""
    if len(sizes) > 1:
        each = "" if union else " of each size"
        return f"{top:,} most frequent itemsets of {sizes[0]} to {sizes[-1]} items{each}"
    one, several = {1: ("item", "items"), 2: ("pair", "pairs")}.get(sizes[0], ("itemset", "itemsets"))
    of_size = f" of {sizes[0]} items" if sizes[0] > 2 else ""
    return f"most frequent {one}{of_size}" if top == 1 else f"{top:,} most frequent {several}{of_size}"
