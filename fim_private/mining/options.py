"""What `mine` is asked for: every choice that is public, checked before any data is read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

from fim_private import defaults
from fim_private.counting.universe import UNKNOWN, Catalogue, SizedUniverse, Universe, UnknownUniverse
from fim_private.dp.parameters import (
    Neighbors,
    exact_fraction,
    exact_neighbors,
    flag,
    positive_integer,
    whole_number,
)
from fim_private.dp.privacy_budget import PrivacyBudget
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mechanisms import registry
from fim_private.mechanisms.mechanism_spec import BasketCap, MechanismSpec, RankCap
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.mining.choice import AUTO, choose
from fim_private.reading import read_catalogue

_LARGEST_TOP = 100_000
# The longest range of sizes: each size gets a part of the budget.
_MOST_SIZES = 64
_THIRD = Fraction(1, 3)
_LEAST_SHARE = Fraction(1, 10**6)
# The part of the budget for a noisy number of units: at ε = 1 thousands of them are then off by a few in a thousand.
COUNT_SHARE = Fraction(5, 100)
_SIZES = f"{parameter('size')} must be a whole number of at least 1, or a range such as 2-4, not {{}}"


@dataclass(frozen=True)
class MiningOptions:
    """What is asked for, as plain checked values; `checked_options` makes them of what a user gave.

    sizes: ascending, consecutive, >= 1. top: itemsets of each size, with union of all sizes together, >= 1.
    epsilon, delta: of the whole release; delta is 0 where every step is purely private. rho: given in place of
    epsilon, which is None then.
    supports_share, count_share: the parts of the budget for noisy supports, and for a noisy number of units; None where
    none are bought.
    universe: of the items. max_rank, max_basket, max_baskets: public caps >= 1, None where not given.
    keep_all: whether itemsets are released that do not stand out from the noise. reason: why this mechanism, where that
    was left to "auto". by_user: whether users are protected, not baskets.
    """

    mechanism: MechanismSpec
    epsilon: Fraction | None
    delta: Fraction
    neighbors: str
    sizes: tuple[int, ...] = (defaults.SIZE,)
    top: int = defaults.TOP
    union: bool = False
    supports_share: Fraction | None = None
    universe: Universe = UNKNOWN
    max_rank: int | None = None
    max_basket: int | None = None
    max_baskets: int | None = None
    keep_all: bool = False
    reason: str | None = None
    by_user: bool = False
    rho: Fraction | None = None
    count_share: Fraction | None = None

    @property
    def extras(self) -> Fraction:
        """The part of the budget for all but what selects itemsets."""
        return (self.supports_share or Fraction(0)) + (self.count_share or Fraction(0))

    @property
    def budget(self) -> PrivacyBudget:
        """The budget of the whole release."""
        return PrivacyBudget(self.epsilon, self.delta, self.rho)

    @property
    def counted_universe(self) -> Universe:
        """The universe that itemsets are counted over.

        A bare size is of use only where the mechanism has a form for it; else the universe is unknown.
        """
        if isinstance(self.universe, SizedUniverse) and registry.form_for_counted(self.mechanism) is None:
            return UNKNOWN
        return self.universe

    def selections(self) -> list[PublicParameters]:
        """Return the public parameters of each selection: one for each size, or with union one among all sizes.

        Raises ParameterError for a universe that is too small for a size.
        """
        groups = [self.sizes] if self.union else [(size,) for size in self.sizes]
        return [self._selection(sizes) for sizes in groups]

    def _selection(self, sizes: tuple[int, ...]) -> PublicParameters:
        """Return the public parameters of one selection among itemsets of some sizes."""
        universe = self.counted_universe
        return PublicParameters(
            sizes,
            self.top,
            self.neighbors,
            None if isinstance(universe, UnknownUniverse) else sum(universe.candidates(size) for size in sizes),
            isinstance(universe, Catalogue),
            self.max_rank,
            self.max_basket,
            self.max_baskets,
        )


def checked_options(
    *,
    size: int | str | Iterable[int],
    epsilon: float | Fraction | None,
    delta: float | Fraction,
    rho: float | Fraction | None,
    mechanism: str,
    neighbors: str,
    top: int,
    union: bool,
    supports: bool,
    supports_share: float | Fraction | None,
    keep_all: bool,
    count: bool,
    max_rank: int | None,
    max_basket: int | None,
    max_baskets: int | None,
    catalogue: Any,
    universe_size: int | None,
    by_user: bool,
) -> MiningOptions:
    """Return the options of `mine`, whose parameters these are, checked. A catalogue is read.

    by_user: whether users are protected, not baskets. Raises ParameterError for what is out of range, missing, of no
    use or in contradiction, and DataError for a catalogue that cannot be read.
    """
    sizes = parse_sizes(size)
    union, supports = flag("union", union), flag("supports", supports)
    keep_all, count = flag("keep_all", keep_all), flag("count", count)
    wanted = _top(top)
    relation = exact_neighbors(neighbors)
    universe = _universe(catalogue, universe_size)
    caps = {"max_rank": max_rank, "max_basket": max_basket, "max_baskets": max_baskets}
    checked = {name: None if cap is None else positive_integer(name, cap) for name, cap in caps.items()}
    if union and len(sizes) == 1:
        raise ParameterError(f"{parameter('union')} goes with several sizes: whether all of them are ranked together")
    budget = PrivacyBudget.of(epsilon, delta, rho, otherwise=defaults.EPSILON)
    is_auto = isinstance(mechanism, str) and mechanism == AUTO
    named = None if is_auto else registry.spec_named(mechanism, AUTO).name
    registry.check_delta(budget.delta, named, listed=isinstance(universe, Catalogue))
    reason = None
    if is_auto:
        several = wanted > 1 or (len(sizes) > 1 and not union)
        mechanism, reason = choose(
            budget.delta, sizes, universe, several=several, capped=any(cap is not None for cap in checked.values())
        )
    spec = registry.spec_named(mechanism, AUTO)
    _check_caps(spec, universe, **checked, by_user=by_user)
    share = _supports_share(spec, supports, supports_share)
    counted = COUNT_SHARE if count and relation == Neighbors.ADD_REMOVE else None
    if share is not None and counted is not None and share + counted >= 1:
        raise ParameterError(
            f"{parameter('supports_share')} must be below {float(1 - counted)} with {parameter('count')}, which takes "
            f"{float(counted)}"
        )
    return MiningOptions(
        spec,
        budget.epsilon,
        budget.delta,
        relation,
        sizes,
        wanted,
        union,
        share,
        universe,
        checked["max_rank"],
        checked["max_basket"],
        checked["max_baskets"],
        keep_all,
        reason,
        by_user,
        budget.rho,
        counted,
    )


def parse_sizes(size: int | str | Iterable[int]) -> tuple[int, ...]:
    """Return the sizes of itemsets, ascending and consecutive, from 2, "2", "2-4" or range(2, 5).

    Raises ParameterError for anything else, for a size below 1, and for more than 64 sizes.
    """
    if isinstance(size, str):
        if re.fullmatch(r"[0-9]{10,}", size):
            raise ParameterError(f"{parameter('size')} must be at most 999999999, not {shown(size)}")
        if (match := re.fullmatch(r"(-?[0-9]{1,9})(?:-([0-9]{1,9}))?", size)) is None:
            raise ParameterError(_SIZES.format(shown(size)))
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise ParameterError(_SIZES.format(shown(size)))
        size = first if match[2] is None else range(first, last + 1)
    sizes = tuple(positive_integer("size", each) for each in islice(listed(size), _MOST_SIZES + 1))
    if len(sizes) > _MOST_SIZES:
        raise ParameterError(f"{parameter('size')} must be a range of at most {_MOST_SIZES} sizes")
    if not sizes or sizes != tuple(range(sizes[0], sizes[0] + len(sizes))):
        raise ParameterError(_SIZES.format(list(sizes) if max(sizes, default=0) < 10**9 else "so large"))
    return sizes


def listed(values: Any) -> Iterable[Any]:
    """Return several values, or one as if it were several; an array of no dimension is one."""
    return values if isinstance(values, Iterable) and getattr(values, "ndim", None) != 0 else (values,)


def _check_caps(
    spec: MechanismSpec,
    universe: Universe,
    max_rank: int | None,
    max_basket: int | None,
    max_baskets: int | None,
    *,
    by_user: bool,
) -> None:
    """Raise ParameterError for a cap that the mechanism has no use for, or that needs another beside it."""
    if max_rank is not None and spec.rank_cap is RankCap.NONE:
        ranked = [spec.name for spec in registry.MECHANISMS.values() if spec.rank_cap is not RankCap.NONE]
        raise ParameterError(
            f"{parameter('max_rank')} is of use to {', '.join(ranked)} only; {spec.name} has no cap on ranks"
        )
    if max_rank is not None and spec.rank_cap is RankCap.SEARCH and isinstance(universe, Catalogue):
        raise ParameterError(
            f"{parameter('max_rank')} is of no use to {spec.name} with a catalogue, all of which it searches"
        )
    if max_basket is not None and spec.basket_cap is BasketCap.NONE:
        capped = [spec.name for spec in registry.MECHANISMS.values() if spec.basket_cap is not BasketCap.NONE]
        raise ParameterError(
            f"{parameter('max_basket')} is of use to {' and '.join(capped)} only; leave it out, "
            "for it would only lose purchases"
        )
    if max_baskets is not None and (max_basket is None or not by_user):
        raise ParameterError(
            f"{parameter('max_baskets')} goes with {parameter('max_basket')} and {parameter('user')}: "
            "how many baskets of a user count at most"
        )
    if max_basket is not None and by_user and max_baskets is None:
        raise ParameterError(
            f"{parameter('max_baskets')} is needed to protect users with {parameter('max_basket')}: "
            "how many of their baskets count"
        )


def _top(top: int) -> int:
    """Return how many itemsets are wanted. Raises ParameterError unless it is 1 to 100,000."""
    return whole_number("top", top, least=1, most=_LARGEST_TOP)


def _supports_share(spec: MechanismSpec, supports: bool, share: float | Fraction | None) -> Fraction | None:
    """Return the part of the budget for supports, None without them. Raises ParameterError unless it is in (0, 1)."""
    if share is None:
        return spec.supports_share if supports else None
    if isinstance(share, float) and share == float(_THIRD):
        share = _THIRD  # no decimal is a third: this float means it
    exact = exact_fraction("supports_share", share)
    if not _LEAST_SHARE <= exact <= 1 - _LEAST_SHARE:
        raise ParameterError(
            f"{parameter('supports_share')} must leave a millionth of the budget or more to each part, "
            f"which {shown(share)} does not"
        )
    if not supports:
        raise ParameterError(
            f"{parameter('supports_share')} goes with {parameter('supports')}: which part of the budget they take"
        )
    return exact


def _universe(catalogue: Any, universe_size: int | None) -> Universe:
    """Return the universe that is public. Raises ParameterError for both a catalogue and a size."""
    if catalogue is not None and universe_size is not None:
        raise ParameterError(f"give a catalogue or {parameter('universe_size')}, not both: a catalogue has its size")
    if catalogue is not None:
        return Catalogue(read_catalogue(catalogue))
    if universe_size is not None:
        return SizedUniverse(positive_integer("universe_size", universe_size))
    return UNKNOWN
