"""The request: every public choice of a release, checked before any data is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, islice
from typing import Any, Unpack

from fim_private import options as defaults
from fim_private.counting.source import (
    UNKNOWN,
    Catalogue,
    KnownItemsets,
    SizedUniverse,
    Universe,
    UnknownUniverse,
)
from fim_private.dp.arguments import exact_fraction, flag, public_integer, whole_number
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.cost import at_least
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.parameters import of_parts
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mechanisms import registry
from fim_private.mechanisms.base import PublicParameters
from fim_private.mechanisms.registry import BasketCap, MechanismSpec, RankCap
from fim_private.options.declaration import OptionValues, filled
from fim_private.options.requests import RequestOptions
from fim_private.reading.labels import Item, Vocabulary, mixed_vocabulary
from fim_private.reading.purchases import read_catalogue
from fim_private.request.choice import AUTO, Choice, automatic_choice
from fim_private.request.groups import Promise, PublicFacts, Target, range_of
from fim_private.request.itemsets import GivenItemsets
from fim_private.request.scope import BASKET, USER, Scope
from fim_private.request.supports import MinSupport

# The longest range of sizes: each size gets a share of the budget.
_MOST_SIZES = 64
_LARGEST_TOP = 100_000
_NOTHING, _THIRD = Fraction(0), Fraction(1, 3)
_LEAST_SHARE = Fraction(1, 10**6)
# The share of the budget for a noisy number of units: at ε = 1 thousands of them are then off by a
# few in a thousand.
COUNT_SHARE = Fraction(5, 100)
# The share of the budget for a look at the data that settles the mechanism.
LOOK_SHARE = Fraction(3, 100)
# The share for supports that decide which itemsets levelwise releases, and for those of rules
# (docs/privacy.md, "Supports of parts, and rules").
_THRESHOLD_SHARE, _RULES_SHARE = Fraction(40, 100), _THIRD
# Rules take the supports of all subsets of an itemset: twice as many for each item more.
_LARGEST_OF_RULES, _MOST_SUPPORTS = 16, 1_000_000


@dataclass(frozen=True)
class Request:
    """What is asked for, checked; `request_of` makes it from the options of a caller.

    Attributes:
        target: Which itemsets are sought.
        public: What is known of the data by everybody.
        promise: Who is protected, under which relation and budget.
        mechanism: What selects itemsets.
        reason: Why this mechanism, if the choice was left to "auto"; else None.
        supports_share: The share of the budget for noisy supports; 0 if none are released.
        count_share: The share for a noisy number of units; 0 if no step is spent on it.
        look_share: The share for a look at the data that settles the mechanism; 0 if there is none.
        picks: The mechanism that this look may choose instead of `mechanism`.
        may_look: Whether there may be a look at all: not in periods or segments, and on this
            machine only, since elsewhere it would count many itemsets that levelwise leaves out.
        scope: Which purchases count.
        options: The options that it was made from, to make another from some of them.
    """

    target: Target
    public: PublicFacts
    promise: Promise
    mechanism: MechanismSpec
    reason: str | None = None
    supports_share: Fraction = _NOTHING
    count_share: Fraction = _NOTHING
    look_share: Fraction = _NOTHING
    picks: str | None = None
    may_look: bool = True
    scope: Scope = field(default_factory=Scope)
    options: OptionValues = field(default_factory=dict, compare=False, repr=False)

    @property
    def budget(self) -> PrivacyBudget:
        """The budget of the whole release."""
        return self.promise.budget

    @property
    def has_joint_noise(self) -> bool:
        """Whether supports and the number of units share normal noise (docs/privacy.md, Theorem
        28).
        """
        return (
            self.promise.neighbors == Neighbors.ADD_REMOVE
            and self.supports_share > 0
            and self.budget.delta > 0
        )

    @property
    def seeks_a_share(self) -> bool:
        """Whether the least support is a share of the units."""
        least = self.target.min_support
        return least is not None and least.share is not None

    @property
    def search_share(self) -> Fraction:
        """The share of the budget that is for finding itemsets."""
        return 1 - self.supports_share - self.count_share - self.look_share

    @property
    def counted_universe(self) -> Universe:
        """The universe that itemsets are counted over.

        It is a bare size only if the mechanism has a form for that.
        """
        universe = self.public.universe
        has_size_alone = isinstance(universe, SizedUniverse) and not universe.is_listed
        if has_size_alone and registry.form_for_counted(self.mechanism) is None:
            return UNKNOWN
        return universe

    def with_options(self, changes: OptionValues) -> Request:
        """Return what a caller asks for who changes some options.

        Raises ParameterError if they do not go together.
        """
        values, promise = self.options | changes, self.promise
        promise = Promise.of(
            values, by_user=promise.by_user, units_are_chosen=promise.units_are_chosen
        )
        universe = None if "catalogue" in changes else self.public.universe
        return request_from(values, promise, self.scope, universe, may_look=self.may_look)

    def without_count_step(self) -> Request:
        """Return the request without a step for the number of units, which joint noise gives too.

        A least share of the units keeps that step: it needs the number beforehand.
        """
        if self.seeks_a_share:
            return self
        return replace(self, count_share=_NOTHING)

    def without_look(self) -> Request:
        """Return the request for the mechanism that no look at the data replaces."""
        return replace(self, look_share=_NOTHING, picks=None)

    def with_picks(self) -> Request:
        """Return the request for the mechanism that a look at the data may choose."""
        assert self.picks is not None
        return replace(self, mechanism=registry.spec_named(self.picks), picks=None)

    @of_parts()
    def divided_among(self, releases: int) -> Request:
        """Return the request for one of several releases that share the budget equally.

        Raises ParameterError if that leaves each of them too little.
        """
        budget = self.budget
        share = PrivacyBudget.of(
            budget.epsilon and budget.epsilon / releases,
            budget.delta / releases,
            budget.rho and budget.rho / releases,
        )
        return replace(self, promise=replace(self.promise, budget=share))

    def public_parameters(self, sizes: tuple[int, ...]) -> PublicParameters:
        """Return what is public of a selection among itemsets of these sizes.

        Raises ParameterError for a catalogue with too few items.
        """
        universe = self.counted_universe
        candidates = None
        if not isinstance(universe, UnknownUniverse):
            candidates = sum(map(universe.candidates, sizes))
        return PublicParameters(
            sizes,
            self.target.top,
            self.promise.neighbors,
            candidates,
            self.public.lists_items,
            max_rank=self.public.max_rank,
            max_basket=self.public.max_basket,
            max_baskets=self.public.max_baskets,
        )


# -------------------- from the options of a caller to a request


def request_of(*, by_user: bool, **options: Unpack[RequestOptions]) -> Request:
    """Return what a caller asks for, checked, if all purchases count.

    Raises as `request_from`.

    Args:
        by_user: Whether units are users.
        **options: As of `mine`.
    """
    values = filled("request_of", RequestOptions, options)
    promise = Promise.of(values, by_user=by_user)
    return request_from(values, promise, Scope())


def request_from(
    values: OptionValues,
    promise: Promise,
    scope: Scope,
    universe: Universe | None = None,
    *,
    may_look: bool = True,
) -> Request:
    """Return what a caller asks for, checked. A catalogue is read.

    Raises ParameterError for what is out of range, missing, of no use or in contradiction;
    DataError for a catalogue that cannot be read.

    Args:
        values: All options of the call.
        promise: Who is protected, under which relation and budget.
        scope: Which purchases count.
        universe: What the options say of all items, where that was read before.
        may_look: Whether a look at the data may settle the mechanism.
    """
    # In periods somebody may be several units, and picks do not say what they cost then. All
    # segments have the same mechanism.
    may_look = may_look and scope.time is None and scope.by is None
    target = _target_of(values, scope)
    if universe is None:
        universe = _universe(values, scope)
    public = PublicFacts(
        universe,
        public_number("max_rank", values),
        public_number("max_basket", values),
        public_number("max_baskets", values),
        public_number("units", values),
    )
    choice = _choice(values, target, public, promise, scope, may_look=may_look)
    spec = registry.spec_named(choice.name)
    _check_caps(spec, public, scope, by_user=promise.by_user)
    if values["known"] is not None or scope.with_items:
        target = replace(target, known=_known(values["known"], spec, public, scope, target))
    if values["top"] is None:
        top = _usual_top(target, universe, choice, spec, required=len(scope.with_items))
        target = replace(target, top=top)
    options = {name: values[name] for name in RequestOptions.__annotations__}
    request = Request(
        target,
        public,
        promise,
        spec,
        choice.reason,
        may_look=may_look,
        scope=scope,
        options=options,
    )
    request = replace(request, supports_share=_supports_share(request, choice))
    request = replace(request, count_share=_count_share(request))
    _check_supports(request)
    if choice.picks is None or request.search_share <= LOOK_SHARE:
        return request
    return replace(request, look_share=LOOK_SHARE, picks=choice.picks)


def _choice(
    values: OptionValues,
    target: Target,
    public: PublicFacts,
    promise: Promise,
    scope: Scope,
    *,
    may_look: bool,
) -> Choice:
    """Return the mechanism that a caller named, or that "auto" stands for.

    Raises ParameterError for one that there is not, and for a delta of 0 with one that needs more.
    The arguments are those of `request_from`, and what it made of them.
    """
    mechanism = values["mechanism"]
    is_auto = isinstance(mechanism, str) and mechanism == AUTO
    name = None if is_auto else registry.spec_named(mechanism, AUTO).name
    registry.check_delta(promise.budget.delta, name, listed=public.lists_items)
    if name is not None:
        return Choice(name)
    uses_named = None
    if values["known"] is not None:
        uses_named = "it makes use of the known itemsets"
    elif scope.with_items:
        uses_named = "it finds what goes with an item that you name"
    return automatic_choice(target, public, promise, uses_named=uses_named, may_look=may_look)


def _target_of(values: OptionValues, scope: Scope) -> Target:
    """Return which itemsets are sought. values: all options of a request.

    `top` is the usual one unless it is given, and `known` is None: both need the mechanism.
    """
    sizes = parse_sizes(values["size"])
    for name in ("rules", "min_support"):
        if values["supports"] is False and values[name]:
            raise ParameterError(
                f"{parameter(name)} needs {parameter('supports')}: do not leave them out"
            )
    keep_all, count, rules = (flag(name, values[name]) for name in ("keep_all", "count", "rules"))
    if rules and sizes[-1] == 1:
        raise ParameterError(
            f"{parameter('rules')} needs itemsets of two items or more: raise {parameter('size')}"
        )
    union = parse_union(values["union"], sizes)
    least = None if values["min_support"] is None else MinSupport.of(values["min_support"])
    if least is not None:
        # One threshold for all sizes: of noisy supports, or of their shares of the units.
        union, count = len(sizes) > 1, count or least.share is not None
    top = defaults.TOP
    if values["top"] is not None:
        top = parse_top(values["top"])
    return Target(
        sizes,
        top,
        union,
        least,
        rules=rules,
        keep_all=keep_all,
        count=count or rules,
        questions=max(len(scope.with_each), 1),
        levels=max(len(scope.groups), 1),
    )


def _usual_top(
    target: Target, universe: Universe, choice: Choice, spec: MechanismSpec, *, required: int
) -> int:
    """Return how many itemsets are released unless the caller says it.

    They are no more than there can be. required: how many public items each of them has.
    """
    if target.min_support is not None:
        return defaults.TOP_REACHING if spec.composed else defaults.TOP_PICKED_REACHING
    if choice.is_for_one:
        return 1
    if isinstance(universe, UnknownUniverse):
        return target.top
    possible = max(
        sum(universe.candidates(size - required) for size in sizes) for sizes in target.rankings
    )
    return min(target.top, possible)


def _check_supports(request: Request) -> None:
    """Raise ParameterError if supports take all of the budget, or there are too many of them."""
    if request.search_share <= 0:
        most, count_share = float(1 - COUNT_SHARE), float(COUNT_SHARE)
        raise ParameterError(
            f"{parameter('supports_share')} must be below {most} with {parameter('count')}, "
            f"which takes {count_share}"
        )
    target = request.target
    has_many_subsets = target.sizes[-1] > _LARGEST_OF_RULES or target.most_supports > _MOST_SUPPORTS
    if target.rules and has_many_subsets:
        raise ParameterError(
            f"{parameter('rules')} of these itemsets need too many supports: they may have "
            f"{_LARGEST_OF_RULES} items at most, and {_MOST_SUPPORTS:,} subsets in all; lower "
            f"{parameter('top')} or {parameter('size')}"
        )


def _supports_share(request: Request, choice: Choice) -> Fraction:
    """Return the share of the budget for supports: 0 without them."""
    target, values = request.target, request.options
    share, supports = values["supports_share"], values["supports"]
    if supports is None:
        supports = target.top > 1 or not choice.is_for_one
    supports = flag("supports", supports) or target.rules or target.min_support is not None
    if share is None:
        return _usual_supports_share(request, choice) if supports else _NOTHING
    if isinstance(share, float) and share == float(_THIRD):
        share = _THIRD  # no decimal is a third: this float means it
    exact = exact_fraction("supports_share", share)
    if not _LEAST_SHARE <= exact <= 1 - _LEAST_SHARE:
        raise ParameterError(
            f"{parameter('supports_share')} must leave each part at least a millionth of the "
            f"budget, which {shown(share)} does not"
        )
    if not supports:
        raise ParameterError(
            f"{parameter('supports_share')} goes with {parameter('supports')}: the part of the "
            f"budget that they take"
        )
    return exact


def _usual_supports_share(request: Request, choice: Choice) -> Fraction:
    """Return the share of the budget that supports take unless the caller gives another."""
    target, spec = request.target, request.mechanism
    if spec.composed and target.min_support is not None:
        return _THRESHOLD_SHARE
    if target.rules:
        return _RULES_SHARE
    # Selecting a few itemsets of users replaces levelwise, and spends as much of the budget on
    # finding them.
    if choice.replaces_levelwise:
        spec = registry.spec_named("levelwise")
    return spec.supports_share(request.promise.neighbors)


def _count_share(request: Request) -> Fraction:
    """Return the share of the budget for a noisy number of units; 0 if it is not bought."""
    comes_with_supports = request.has_joint_noise and (
        request.mechanism.composed or request.budget.rho is not None
    )
    is_free = request.promise.units_are_public or (
        comes_with_supports and not request.seeks_a_share
    )
    return COUNT_SHARE if request.target.count and not is_free else _NOTHING


# -------------------- sizes, catalogues, caps and known itemsets


def parse_sizes(size: int | str | Iterable[int]) -> tuple[int, ...]:
    """Return the sizes of itemsets, ascending and consecutive, from 2, "2", "2-4" or range(2, 5).

    Raises ParameterError for anything else, for a size below 1, and for more than 64 sizes.
    """
    numbers = listed(size)
    if isinstance(size, str):
        match = re.fullmatch(r"(-?[0-9]{1,4000})(?:-([0-9]{1,4000}))?", size)
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1) if match else ()
    sizes = tuple(public_integer("size", number) for number in islice(numbers, _MOST_SIZES + 1))
    if len(sizes) > _MOST_SIZES:
        raise ParameterError(f"{parameter('size')} must be a range of at most {_MOST_SIZES} sizes")
    if not sizes or sizes != tuple(range(sizes[0], sizes[0] + len(sizes))):
        raise ParameterError(
            f"{parameter('size')} must be a whole number of at least 1, or a range such as 2-4, "
            f"not {shown(size)}"
        )
    return sizes


def check_least_size(sizes: Sequence[int], required: int, naming: str) -> None:
    """Raise ParameterError if itemsets have no item besides those that all must have.

    required: how many those are. naming: the option that names them.
    """
    if required and sizes[0] <= required:
        raise ParameterError(
            f"{parameter('size')} counts the items of {parameter(naming)} too: it must be at least "
            f"{required + 1}"
        )


def parse_union(union: bool, sizes: Sequence[int]) -> bool:
    """Return whether all sizes are ranked together. Raises ParameterError if there is only one."""
    is_union = flag("union", union)
    if is_union and len(sizes) == 1:
        raise ParameterError(
            f"{parameter('union')} goes with several sizes: whether all of them are ranked together"
        )
    return is_union


def parse_top(top: int) -> int:
    """Return how many itemsets are sought. Raises ParameterError unless it is 1 to 100,000."""
    return whole_number("top", top, least=1, most=_LARGEST_TOP)


def listed(values: Any) -> Iterable[Any]:
    """Return several values, or one as if it were several."""
    if isinstance(values, Iterable) and getattr(values, "ndim", None) != 0:
        return values
    return (values,)


def public_number(name: str, values: OptionValues) -> int | None:
    """Return a public number of those that were given; None if it was not."""
    value = values[name]
    return None if value is None else public_integer(name, value)


def _check_caps(spec: MechanismSpec, public: PublicFacts, scope: Scope, *, by_user: bool) -> None:
    """Raise ParameterError for a cap that the mechanism has no use for, or that needs another."""
    specs = registry.MECHANISMS.values()
    of_ranks = [known.name for known in specs if known.rank_cap is not RankCap.NONE]
    of_baskets = [known.name for known in specs if known.basket_cap is not BasketCap.NONE]
    caps = (("max_rank", public.max_rank, of_ranks), ("max_basket", public.max_basket, of_baskets))
    for name, cap, users in caps:
        if cap is not None and spec.name not in users:
            raise ParameterError(f"leave out {parameter(name)}: only {' and '.join(users)} use it")
    if public.max_rank is not None and spec.rank_cap is RankCap.SEARCH and public.lists_items:
        raise ParameterError(
            f"leave out {parameter('max_rank')}: with a catalogue {spec.name} searches all of it"
        )
    _check_max_baskets(public, scope, by_user=by_user)


def _check_max_baskets(public: PublicFacts, scope: Scope, *, by_user: bool) -> None:
    """Raise ParameterError if a cap on baskets has no use, or is needed."""
    cap, baskets_cap = parameter("max_basket"), parameter("max_baskets")
    is_needed = public.max_basket is not None and by_user and not scope.unites
    if public.max_baskets is None and is_needed:
        raise ParameterError(
            f"{baskets_cap} is needed with {cap} to protect users: how many of their baskets count"
        )
    if public.max_baskets is None or is_needed:
        return
    if scope.unites:
        raise ParameterError(
            f"leave out {baskets_cap}: with {parameter('together')} {USER} all of a user's baskets "
            f"are one; or give {parameter('together')} {BASKET}"
        )
    raise ParameterError(
        f"{baskets_cap} goes with {cap} and {parameter('user')}: how many baskets of a user count "
        f"at most"
    )


def _universe(values: OptionValues, scope: Scope) -> Universe:
    """Return the public universe, without the items that are left out."""
    catalogue = values["catalogue"]
    size = public_number("universe_size", values)
    if catalogue is None:
        return UNKNOWN if size is None else SizedUniverse(size)
    if size is not None:
        raise ParameterError(
            f"give a catalogue or {parameter('universe_size')}, not both: a catalogue has its size"
        )
    if not isinstance(catalogue, Vocabulary):
        catalogue = read_catalogue(catalogue, fold_case=scope.fold_case)
    vocabulary = scope.kept(catalogue)
    if not len(vocabulary):
        raise ParameterError(f"{parameter('exclude')} leaves nothing of {parameter('catalogue')}")
    return Catalogue(vocabulary)


def _known(
    known: GivenItemsets | None,
    spec: MechanismSpec,
    public: PublicFacts,
    scope: Scope,
    target: Target,
) -> KnownItemsets:
    """Return the known itemsets that can be counted, and the items that all must have.

    Raises ParameterError if there are none, or if they have no use.
    """
    naming = "with_each" if scope.with_each else "with_items"
    _check_known(known, spec, target, naming=naming, required=len(scope.with_items))
    itemsets = () if known is None else known.itemsets
    labels = [*{*scope.with_items, *scope.with_each, *chain(*itemsets)}]
    named, places = mixed_vocabulary(labels)
    vocabulary = scope.kept(named)
    if isinstance(public.universe, Catalogue):
        vocabulary = public.universe.items
    code_of = dict(zip(labels, named.codes_in(vocabulary)[places].tolist(), strict=True))
    required = _required_codes(scope.with_items, code_of, naming)
    coded = [frozenset(code_of[item] for item in itemset) for itemset in itemsets]
    counted = _counted(coded, required, target.sizes[-1])
    # Itemsets without the required items are not sought, but their items are known all the same.
    if known is not None and not counted and not required:
        raise ParameterError(f"{parameter('known')} has no itemset whose items may all be released")
    return KnownItemsets(vocabulary, counted, required)


def _check_known(
    known: GivenItemsets | None,
    spec: MechanismSpec,
    target: Target,
    *,
    naming: str,
    required: int,
) -> None:
    """Raise ParameterError if public itemsets or items do not go with the rest of a request.

    naming: the option that names the items that all itemsets must have. required: how many those
    are.
    """
    if known is not None and target.min_support is not None:
        raise ParameterError(
            f"{parameter('known')} goes with {parameter('top')}, not with "
            f"{parameter('min_support')}"
        )
    if not spec.composed:
        name = naming if known is None else "known"
        raise ParameterError(
            f"{parameter(name)} goes with {parameter('mechanism')} levelwise, not {spec.name}"
        )
    check_least_size(target.sizes, required, naming)


def _counted(
    itemsets: Iterable[frozenset[int]], required: tuple[int, ...], largest: int
) -> tuple[tuple[int, ...], ...]:
    """Return the known itemsets that are counted, each once, without the items that all must have.

    Of an itemset that is too large its items are counted by themselves. One of whose items may not
    be released, code -1, is left out.

    Args:
        itemsets: The codes of their items.
        required: The codes of the items that all must have.
        largest: The largest size that is sought.
    """
    counted: dict[tuple[int, ...], None] = {}
    for codes in itemsets:
        if min(codes) < 0:
            continue
        beside = tuple(sorted(codes.difference(required)))
        if len(codes) <= largest and codes.issuperset(required):
            counted[beside] = None
        elif not required:
            counted |= dict.fromkeys((code,) for code in beside)
    counted.pop((), None)
    return tuple(counted)


def _required_codes(
    items: Sequence[Item], code_of: Mapping[Item, int], naming: str
) -> tuple[int, ...]:
    """Return the codes of the items that every itemset sought must have, ascending.

    Raises ParameterError for one that cannot be released. naming: the option that names them.
    """
    for item in items:
        if code_of[item] < 0:
            raise ParameterError(
                f"{parameter(naming)}: {shown(item)} is not in the catalogue, or is left "
                f"out by {parameter('exclude')}"
            )
    return tuple(sorted(code_of[item] for item in items))


# -------------------- what a ledger records


def recorded_request(request: Request, *, has_look: bool) -> dict[str, object]:
    """Return what a ledger records of a request: no names of files, columns or items.

    The relation, ε and δ are recorded with the charge itself.

    has_look: whether a look at the data settles the mechanism.
    """
    target, public, universe = request.target, request.public, request.public.universe
    least = target.min_support
    recorded: dict[str, object] = {
        "size": range_of(target.sizes),
        "top": target.top,
        "union": target.union,
        "rules": target.rules,
        "keep_all": target.keep_all,
        "count": target.count,
        "max_rank": public.max_rank,
        "max_basket": public.max_basket,
        "max_baskets": public.max_baskets,
        "units": public.units,
        "mechanism": AUTO if has_look else request.mechanism.name,
        "supports_share": request.supports_share,
        "count_share": request.count_share,
        "rho": request.budget.rho,
    }
    if least is not None:
        recorded["min_support"] = least.count or least.share
    if target.known.itemsets:
        recorded["known"] = len(target.known.itemsets)
    if isinstance(universe, SizedUniverse):
        recorded["universe_size"] = universe.count
    # How many items the data has is no public choice.
    if isinstance(universe, Catalogue) and not request.scope.items_are_public:
        recorded["catalogue"] = len(universe.items)
    recorded = {name: value for name, value in recorded.items() if value}
    for name, value in recorded.items():
        if isinstance(value, Fraction):
            recorded[name] = at_least(value)
    return recorded
