"""What a product list would bring: reckoned from public numbers alone, so that it may be told of any release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fim_private import defaults
from fim_private.dp.cost import at_least
from fim_private.errors import Marked, ParameterError, parameter
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.needs import LevelNeeds
from fim_private.mechanisms import registry
from fim_private.mining.budget import allocate
from fim_private.mining.needed_support import ITEMS_OF_USER
from fim_private.mining.options import MiningOptions

# What is reckoned with before anything was asked for.
_USUAL_TOP = 50


@dataclass(frozen=True)
class ListGain:
    """What a list of all items would bring. str() tells it in a sentence.

    options: what is asked for. item_support: in how many units an item must be, without a list, to be named with 95 %
    probability; with one there is no such threshold. None where no number is known. typical_items: the items of a
    typical unit, of which that is reckoned. unit: "user", "basket" or "unit". units: how many there are, None where
    that is not public.
    """

    options: MiningOptions
    item_support: int | None
    typical_items: float
    unit: str
    units: int | None

    @property
    def marked(self) -> str:
        """The sentence, with parameters marked as in errors."""
        how = f"{parameter('catalogue')} products.csv {parameter('catalogue_item')} sku"
        if self.item_support is None:
            return f"A public product list finds more: {how}."
        share = ""
        if self.units is not None:
            part = 100 * self.item_support / max(self.units, 1)
            share = f" ({part:.2g} % of them)" if part < 100 else ", more than there are,"
        return (
            f"Without a product list an item needs about {self.item_support:,} {self.unit}s{share} to be named at all; "
            f"a list lifts that threshold: {how}. ({self._asked})"
        )

    def __str__(self) -> str:
        return str(Marked(self.marked))

    @property
    def _asked(self) -> str:
        """For which request that is, in words."""
        options = self.options
        sizes = f"{options.sizes[0]}" if len(options.sizes) == 1 else f"{options.sizes[0]}-{options.sizes[-1]}"
        epsilon = options.epsilon
        budget = f"ρ = {at_least(options.rho or 0)}" if epsilon is None else f"ε = {at_least(epsilon)}"
        return (
            f"For the top {options.top:,} of size {sizes}, {budget}, δ = {at_least(options.delta)}, "
            f"{options.neighbors}, {self.unit}s of {self.typical_items:g} items."
        )


def list_gain(
    options: MiningOptions, *, units: int | None = None, typical_items: float = ITEMS_OF_USER, unit: str = "user"
) -> ListGain | None:
    """Return what a list of all items would bring a request; None where it has one.

    options: the request. units: how many there are, where that is public or was released. typical_items: a public guess
    of the items of a typical unit, >= 1. unit: what a unit is called.
    """
    if options.items_are_listed:
        return None
    return ListGain(options, _item_support(options, typical_items), typical_items, unit, units)


def usual_list_gain() -> ListGain | None:
    """Return what a list would bring users where nothing was asked for yet: the 50 most frequent pairs, by default."""
    return list_gain(
        levelwise_options(
            epsilon=Fraction(defaults.EPSILON),
            delta=Fraction(repr(defaults.DELTA)),
            neighbors=defaults.NEIGHBORS,
            top=_USUAL_TOP,
        )
    )


def levelwise_options(*, supports: bool = False, **asked: Any) -> MiningOptions:
    """Return a request of levelwise. supports: whether it has noisy ones. asked: other fields of MiningOptions."""
    spec = registry.spec_named("levelwise")
    return MiningOptions(spec, supports_share=spec.supports_share(asked["neighbors"]) if supports else None, **asked)


def _item_support(options: MiningOptions, typical_items: float) -> int | None:
    """Return in how many units an item must be to be found without a list; None where that is not known."""
    try:
        run = allocate(options).selections[0].run
    except ParameterError:  # a part of the budget is out of range
        return None
    if not isinstance(run, Levelwise) or run.items_delta is None:
        return None
    return math.ceil(LevelNeeds(run, typical_items, defaults.CONFIDENCE).item_support)
