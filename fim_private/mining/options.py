"""What `mine` is asked for: every choice that is public, checked before any data is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fim_private import defaults
from fim_private.counting.universe import UNKNOWN, Catalogue, SizedUniverse, Universe, UnknownUniverse
from fim_private.dp.parameters import (
    Neighbors,
    exact_fraction,
    exact_neighbors,
    flag,
    public_integer,
    whole_number,
)
from fim_private.dp.privacy_budget import PrivacyBudget
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mechanisms import registry
from fim_private.mechanisms.mechanism_spec import MechanismSpec
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.mining.caps import check_caps
from fim_private.mining.choice import AUTO, choose, few_of_users
from fim_private.mining.min_support import MinSupport
from fim_private.mining.scope import Scope
from fim_private.mining.sizes import parse_sizes
from fim_private.reading import read_catalogue
from fim_private.reading.vocabulary import Vocabulary

_LARGEST_TOP = 100_000
_THIRD = Fraction(1, 3)
_LEAST_EPSILON, _LEAST_RHO, _LEAST_DELTA = Fraction(1, 10**9), Fraction(1, 10**18), Fraction(1, 10**300)
_LEAST_SHARE = Fraction(1, 10**6)
# The part of the budget for a noisy number of units: at ε = 1 thousands of them are then off by a few in a thousand.
COUNT_SHARE = Fraction(5, 100)
# The part of the budget for supports that decide which itemsets levelwise releases.
_REACHING_SHARE = Fraction(40, 100)
# The part of the budget for supports that rules are made of, whatever the mechanism: what more it makes sure, with
# levelwise, for the recall that it costs (docs/privacy.md, "Supports of parts, and rules").
_RULES_SHARE = _THIRD
# Rules take the supports of all parts of an itemset: twice as many for each item more.
_LARGEST_OF_RULES, _MOST_SUPPORTS = 16, 1_000_000


@dataclass(frozen=True)
class MiningOptions:
    """What is asked for, as plain checked values; `checked_options` makes them of what a user gave.

    sizes: ascending, consecutive, >= 1. top: itemsets of each size, with union of all sizes together, >= 1.
    epsilon, delta: of the whole release; delta is 0 where every step is purely private. rho: given in place of
    epsilon, which is None then.
    supports_share, count_share: the parts of the budget for noisy supports, and for a noisy number of units; None where
    none are bought.
    min_support: the least support that is asked for; None where the most frequent are.
    universe: of the items. max_rank, max_basket, max_baskets: public caps >= 1, None where not given.
    rules: whether supports of all parts of the itemsets are released, too, as association rules need.
    ways: where the size is chosen privately, what is asked for at each, with what of the budget is left then.
    keep_all: whether itemsets are released that do not stand out from the noise. reason: why this mechanism, where that
    was left to "auto". by_user: whether users are protected, not baskets. chosen: whether a condition, a query or
    segments choose units.
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
    min_support: MinSupport | None = None
    rules: bool = False
    ways: tuple[MiningOptions, ...] = ()
    chosen: bool = False

    @property
    def units_are_public(self) -> bool:
        """Whether neighbouring data have equally many units (docs/privacy.md, "The number of units")."""
        return self.neighbors == Neighbors.REPLACE_ONE and not self.chosen

    @property
    def has_two_normals(self) -> bool:
        """Whether normal noise of supports brings the number of units with it (docs/privacy.md, Theorem 28)."""
        return self.neighbors == Neighbors.ADD_REMOVE and self.supports_share is not None and self.delta > 0

    @property
    def beside_normals(self) -> MiningOptions:
        """The same where supports have two normals: a number of units is only bought for a least share of them."""
        share_of_units = self.min_support is not None and self.min_support.share is not None
        return self if share_of_units else replace(self, count_share=None)

    @property
    def items_are_listed(self) -> bool:
        """Whether the universe is a public list of items."""
        return isinstance(self.universe, Catalogue)

    @property
    def most_supports(self) -> int:
        """How many supports are released at most, with those of parts."""
        most = self.top if self.union else self.top * len(self.sizes)
        return most * (2 ** self.sizes[-1] - 1) if self.rules else most

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
        """The universe that itemsets are counted over: a bare size only where the mechanism has a form for it."""
        if isinstance(self.universe, SizedUniverse) and registry.form_for_counted(self.mechanism) is None:
            return UNKNOWN
        return self.universe

    def part(self, most: int) -> MiningOptions:
        """Return the same with its part of the budget where there are so many releases, >= 1."""
        epsilon, rho = (None if whole is None else whole / most for whole in (self.epsilon, self.rho))
        least = {
            "epsilon": (epsilon, _LEAST_EPSILON),
            "rho": (rho, _LEAST_RHO),
            "delta": (self.delta / most, _LEAST_DELTA),
        }
        for name, (part, smallest) in least.items():
            if most > 1 and part and part < smallest:
                raise ParameterError(
                    f"{parameter('max_segments')} {most} leaves each segment less than the least {parameter(name)}, "
                    f"{float(smallest):g}; raise {parameter(name)}"
                )
        return replace(self, epsilon=epsilon, delta=self.delta / most, rho=rho)

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
    top: int | None,
    min_support: Any = None,
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
    rules: bool = False,
    scope: Scope | None = None,
    where: str | None = None,
) -> MiningOptions:
    """Return the options of `mine`, whose parameters these are, checked. A catalogue is read.

    catalogue: as `read_catalogue` takes it, or a Vocabulary. by_user: whether users are protected, not baskets. scope:
    what counts of the data. where: which rows do, as a condition. Raises ParameterError for what is out of range,
    missing, of no use or in contradiction, and DataError for a catalogue that cannot be read.
    """
    sizes = parse_sizes(size)
    union, supports = flag("union", union), flag("supports", supports)
    keep_all, count, rules = flag("keep_all", keep_all), flag("count", count), flag("rules", rules)
    if rules:
        # Supports of the parts, and the number of units: without them there is no lift.
        if sizes[-1] == 1:
            raise ParameterError(f"{parameter('rules')} needs itemsets of two items or more: raise {parameter('size')}")
        supports = count = True
    least = None if min_support is None else MinSupport.of(min_support)
    relation = exact_neighbors(neighbors)
    scope = scope or Scope()
    universe = _universe(catalogue, universe_size, scope)
    caps = {"max_rank": max_rank, "max_basket": max_basket, "max_baskets": max_baskets}
    checked = {name: None if cap is None else public_integer(name, cap) for name, cap in caps.items()}
    if union and len(sizes) == 1:
        raise ParameterError(f"{parameter('union')} goes with several sizes: whether all of them are ranked together")
    budget = PrivacyBudget.of(epsilon, delta, rho, otherwise=defaults.EPSILON)
    is_auto = isinstance(mechanism, str) and mechanism == AUTO
    named = None if is_auto else registry.spec_named(mechanism, AUTO).name
    registry.check_delta(budget.delta, named, listed=isinstance(universe, Catalogue))
    reason, stands_in = None, False
    if is_auto:
        several = least is not None or (top is not None and _top(top) > 1) or (len(sizes) > 1 and not union)
        few = (
            by_user
            and least is None
            and few_of_users(
                sizes,
                _top(defaults.TOP if top is None else top),
                union=union,
                listed=isinstance(universe, Catalogue),
                epsilon=budget.loss,
                neighbors=relation,
            )
        )
        capped = any(cap is not None for cap in checked.values())
        mechanism, reason = choose(budget.delta, sizes, universe, several=several, capped=capped, few_of_users=few)
        stands_in = several and few and not capped and budget.delta > 0
    spec = registry.spec_named(mechanism, AUTO)
    scope.check_cap(max_baskets)
    check_caps(spec, universe, **checked, by_user=by_user and not scope.unites)
    if least is not None:
        # One threshold for all sizes, of noisy supports, or of their shares of a number of units.
        union, supports, count = len(sizes) > 1, True, count or least.share is not None
    wanted = _top(_default_top(spec, least) if top is None else top)
    # Picks of a few itemsets of users stand in for levelwise, and spend as much of the budget on finding.
    usual = registry.spec_named("levelwise") if stands_in else spec
    share = _supports_share(usual.supports_share(relation), spec, supports, supports_share, least, rules=rules)
    chosen = scope.chooses_units(where)
    counted = COUNT_SHARE if count and (chosen or relation == Neighbors.ADD_REMOVE) else None
    asked = MiningOptions(
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
        least,
        rules,
        chosen=chosen,
    )
    if asked.has_two_normals and (spec.composed or budget.rho is not None):
        asked = asked.beside_normals
    if asked.extras >= 1:
        raise ParameterError(
            f"{parameter('supports_share')} must be below {float(1 - COUNT_SHARE)} with {parameter('count')}, which "
            f"takes {float(COUNT_SHARE)}"
        )
    if rules and (sizes[-1] > _LARGEST_OF_RULES or asked.most_supports > _MOST_SUPPORTS):
        raise ParameterError(
            f"{parameter('rules')} of so many, or so large, itemsets would need supports of more than "
            f"{_MOST_SUPPORTS:,} of their parts; lower {parameter('top')} or {parameter('size')}"
        )
    return asked


def _top(top: int) -> int:
    """Return how many itemsets are wanted. Raises ParameterError unless it is 1 to 100,000."""
    return whole_number("top", top, least=1, most=_LARGEST_TOP)


def _default_top(spec: MechanismSpec, least: MinSupport | None) -> int:
    """Return how many itemsets are wanted where nothing is said of it."""
    if least is None:
        return defaults.TOP
    return defaults.TOP_REACHING if spec.composed else defaults.TOP_PICKED_REACHING


def _supports_share(
    usual: Fraction,
    spec: MechanismSpec,
    supports: bool,
    share: float | Fraction | None,
    least: MinSupport | None,
    *,
    rules: bool,
) -> Fraction | None:
    """Return the part of the budget for supports, None without them. Raises ParameterError unless it is in (0, 1)."""
    if share is None:
        usual = _RULES_SHARE if rules else usual
        if spec.composed and least is not None:
            usual = _REACHING_SHARE
        return usual if supports else None
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


def _universe(catalogue: Any, universe_size: int | None, scope: Scope) -> Universe:
    """Return the public universe, less what is left out. Raises ParameterError for both a catalogue and a size."""
    if catalogue is not None and universe_size is not None:
        raise ParameterError(f"give a catalogue or {parameter('universe_size')}, not both: a catalogue has its size")
    if catalogue is not None:
        is_read = isinstance(catalogue, Vocabulary)
        listed = catalogue if is_read else read_catalogue(catalogue, fold_case=scope.fold_case)
        excluded = scope.excluded
        left = listed if excluded is None else listed.without(excluded)
        if not len(left):
            raise ParameterError(f"{parameter('exclude')} leaves nothing of {parameter('catalogue')}")
        return Catalogue(left)
    if universe_size is not None:
        return SizedUniverse(public_integer("universe_size", universe_size))
    return UNKNOWN
