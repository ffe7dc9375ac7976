"""What to ask instead where too little came out: a line for whoever asks, which no release has.

It follows from what was asked and from how much came out, and so from nothing that is private. Of
all changes that would probably find something it names the one that gives up least, in doublings of
ε. It names no ε above 3, and no other neighbour relation. "Probably" compares what an itemset then
needs with what it needed, and with the units, if public.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, product
from typing import Any

from fim_private.dp.cost import at_least, rounded_up
from fim_private.errors import ParameterError
from fim_private.mechanisms import LargeMargin, TightMargin, registry
from fim_private.mechanisms.registry import BasketCap, MechanismSpec, RankCap
from fim_private.mechanisms.top_k import TopK
from fim_private.options import CONFIDENCE
from fim_private.planning.plan import run_needs
from fim_private.request.budget import allocate
from fim_private.request.request import AUTO, MiningOptions, usual_top

# How many items units have is private. These are guesses, on which levelwise alone depends.
_ITEMS_OF_BASKET, _ITEMS_OF_USER = 8.0, 30.0
# An itemset will probably come out that needs so many times less than was needed (more where nobody
# knows how many units there are), and no more than so large a share of the units, by its size.
# Chosen on 30 to 10,000 baskets of six data sets under replace-one, nine requests each: what was
# called likely did come out in 913 of 977 cases.
_TIMES_LESS, _BLIND = 3, 3
_SHARES, _LEAST_SHARE = {1: 0.08, 2: 0.025, 3: 0.012}, 0.006
# Where some came out: the support at a rank falls about so fast, as a power of it.
_FALL, _FARTHEST = 0.7, 0.25
LARGEST_EPSILON = 3  # that is advised, also by a ρ: above it a release is a weak promise to anybody
_TOPS = (10, 3, 1)
# Prices, in doublings of ε: of a tenth of the itemsets, of single items, of no supports, and of any
# change at all.
_FEWER, _SINGLE, _NO_SUPPORTS, _CHANGE = 1.5, 1.5, 0.5, 0.01


def needed_support(options: MiningOptions) -> int | None:
    """Return the support, in units, with which an itemset without rivals comes out with 95 %
    probability.

    Of the sizes asked for that which needs least; of levelwise an estimate. None where none is
    enough, or known.
    """
    supports, items = [], _ITEMS_OF_USER if options.by_user else _ITEMS_OF_BASKET
    try:
        allocation = allocate(options)
        for selection in allocation.selections:
            run, candidates = selection.run, selection.candidates
            if isinstance(run, TopK) and isinstance(run.mechanism, TightMargin):
                # Its search seldom stops, and what then decides is this; to follow the search takes
                # seconds.
                run = TopK(run.mechanism.choice(run.mechanism.max_rank), run.count)
            if isinstance(run, TopK) and isinstance(run.mechanism, LargeMargin):
                candidates = None  # of a rank search the first ranks decide, whatever the universe
            needs = run_needs(run, CONFIDENCE, candidates=candidates, items=items)
            if needs is not None and needs.support is not None:
                supports.append(needs.support)
    except ParameterError:  # a step of the budget is out of range, too
        return None
    least = min(supports, default=None)
    # An interval that reaches 0 leaves an itemset out.
    return (
        max(least, 2 * allocation.half_width(1))
        if least is not None and allocation.leaves_out
        else least
    )


@dataclass(frozen=True)
class Advice:
    """One request to try instead; str() is the call of Python, with what it takes and what it gives
    up.

    changes: the parameters of `mine` that differ. asked, options: what was asked for, and what is
    to be. units: how many there are, where that is public. found: how many itemsets came out.
    before, need: the support in units with which an itemset came out, if known, and then does, with
    95 % probability. likely: whether it will probably do.
    """

    changes: Mapping[str, Any]
    asked: MiningOptions
    options: MiningOptions
    units: int | None
    found: int
    before: int | None
    need: int
    likely: bool

    @property
    def call(self) -> str:
        """The request as a call of Python."""
        arguments = [f"{name}={_literal(value)}" for name, value in self.changes.items()]
        return f"fim.mine(..., {', '.join(arguments)})"

    @property
    def explanation(self) -> str:
        """The support that an itemset then needs, what is given up, and any doubt, in sentences."""
        text = f"{self._takes()} {self._gives_up()}"
        if self.likely or self.found:
            return text
        if self.units is None:
            return f"{text} The number of {self._unit}s is private, so this may not be enough."
        return f"{text} Even that is probably not enough: you need more {self._unit}s."

    def __str__(self) -> str:
        return f"{self.call}. {self.explanation}"

    @property
    def _unit(self) -> str:
        return "user" if self.asked.by_user else "basket"

    def _takes(self) -> str:
        """Return the support that an itemset then needs, in a sentence."""
        if self.found:
            if self.before is None:
                return "An itemset then needs less support."
            factor = f"{self.need / self.before:.2g}"
            return f"An itemset then needs about {factor} times the support."
        about = "about " if self.options.mechanism.composed else ""
        have = f"{self._unit}s have" if self.need > 1 else f"{self._unit} has"
        subject, compared = "An itemset", ""
        if self.options.sizes == (1,) and self.asked.sizes != (1,):
            subject = "An item"
        elif self.before is not None:
            compared = f", not {self.before:,}"
        return (
            f"{subject} then comes out, with 95 % probability, once {about}{self.need:,} {have} "
            f"it{self._of_all()}{compared}."
        )

    def _of_all(self) -> str:
        """Return which share of all units that is, if their number is known."""
        if not self.units:
            return ""
        share = self.need / self.units
        if share < 0.1:
            return f" ({100 * share:.2g} % of all)"
        return f" ({100 * share:,.0f} % of all)"

    def _gives_up(self) -> str:
        """Return what the changed request gives less of, and promises less, in sentences."""
        less = []
        if self.options.sizes != self.asked.sizes:
            less.append("single items only")
        if self.options.top != self.asked.top:
            less.append(
                "one itemset" if self.options.top == 1 else f"{self.options.top:,} itemsets"
            )
        if self.options.supports_share is None and self.asked.supports_share is not None:
            less.append("no supports")
        gives = f" It gives less: {', '.join(less)}." if less else ""
        factor = rounded_up(self.options.budget.loss, 3)
        earlier = rounded_up(self.asked.budget.loss, 3)
        if factor != earlier:
            return f"It promises less: a factor of e^{factor}, not e^{earlier}.{gives}"
        return f"It promises as much.{gives}"


def _literal(value: Fraction | float | str | None) -> str:
    """Return a value as Python code."""
    if isinstance(value, Fraction):
        return at_least(value)
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)


def advice(options: MiningOptions, units: int | None, found: int) -> Advice | None:
    """Return what to ask instead, or None if all came out that was asked for or nothing helps.

    Args:
        options: The request.
        units: The number of units, if it is public.
        found: The number of itemsets that came out.
    """
    total = options.top if options.union else options.top * len(options.sizes)
    if found >= total:
        return None
    before = needed_support(options)

    def price(changes: Mapping[str, Any]) -> float:
        return _price(options, changes)

    def attempt(changes: Mapping[str, Any]) -> Advice | None:
        """Return the changed request as advice, or None if it is not valid or needs no less."""
        changed = _with(options, changes)
        if changed is None:
            return None
        need = needed_support(changed)
        if need is None:
            return None
        if changed.sizes == options.sizes and before is not None and need >= before:
            return None
        likely = need <= _enough(changed, options, units, before, found / total)
        return Advice(changes, options, changed, units, found, before, need, likely)

    def is_likely(changes: Mapping[str, Any]) -> bool:
        attempted = attempt(changes)
        return attempted is not None and attempted.likely

    best: Advice | None = None
    nearest: Advice | None = None
    for changes in sorted(_changes(options, found, before), key=price):
        if best is not None and price(changes) >= price(best.changes):
            break
        budgets = _budgets(options)
        if not changes:
            budgets = budgets[1:]  # without any change it is the same request
        if not budgets:
            continue
        requests = [{**changes, **budget} for budget in budgets]
        attempted = attempt(requests[-1])
        if attempted is not None and attempted.likely:
            # The least budget that would probably do: with a larger one an itemset needs no more.
            least = bisect_left(requests, True, hi=len(requests) - 1, key=is_likely)
            attempted = attempt(requests[least])
        if attempted is None:
            continue
        if attempted.likely and (best is None or price(attempted.changes) < price(best.changes)):
            best = attempted
        if nearest is None or attempted.need < nearest.need:
            nearest = attempted
    if best is not None:
        if not found and units is None:
            return replace(best, likely=False)  # there may be too few units
        return best
    if nearest is None or (units is not None and nearest.need > units):
        return None
    return nearest


def _price(options: MiningOptions, changes: Mapping[str, Any]) -> float:
    """Return what changes of a request give up, in doublings of ε."""
    price = _CHANGE * len(changes)
    if "size" in changes:
        price += _SINGLE
    if changes.get("supports") is False:
        price += _NO_SUPPORTS
    changed = options
    if "epsilon" in changes:
        changed = replace(options, epsilon=changes["epsilon"])
    elif "rho" in changes:
        changed = replace(options, rho=changes["rho"])
    if changed is not options:
        price += math.log2(changed.budget.loss / options.budget.loss)
    return price + _FEWER * math.log10(options.top / changes.get("top", options.top))


def _budgets(options: MiningOptions) -> list[dict[str, Any]]:
    """Return changes of the budget, ascending: none, then 1, 2 and 5 of each power of ten, and the
    largest ε.
    """
    name, given = ("epsilon", options.epsilon) if options.rho is None else ("rho", options.rho)
    assert given is not None
    budgets: list[dict[str, Any]] = [{}]
    if options.budget.loss >= LARGEST_EPSILON:
        return budgets
    tens = (Fraction(10) ** exponent for exponent in count(math.floor(math.log10(given))))
    for change in (
        {name: digit * ten} for ten in tens for digit in (1, 2, 5) if digit * ten > given
    ):
        if replace(options, **change).budget.loss > LARGEST_EPSILON:  # type: ignore[arg-type]
            break
        budgets.append(change)
    return [*budgets, {name: Fraction(LARGEST_EPSILON)}] if name == "epsilon" else budgets


def _enough(
    changed: MiningOptions,
    options: MiningOptions,
    units: int | None,
    before: int | None,
    share: float,
) -> float:
    """Return the support with which an itemset will probably come out. share: of those wanted that
    did.
    """
    if share:
        return math.inf if before is None else before * max(share**_FALL, _FARTHEST)
    times = (_TIMES_LESS if changed.sizes == options.sizes else 1) * (
        1 if units is not None else _BLIND
    )
    limits = [] if before is None else [before / times]
    if units is not None:
        limits.append(units * _SHARES.get(changed.sizes[0], _LEAST_SHARE))
    return min(limits, default=math.inf)


def _changes(options: MiningOptions, found: int, before: int | None) -> Iterator[dict[str, Any]]:
    """Yield all changes of a request except its budget. If something came out, none gives less."""
    mechanisms = _other_mechanisms(options, found, before)
    tops: list[int | None] = [None]
    sizes: list[int | None] = [None]
    supports: list[bool | None] = [None]
    if not found:
        tops += [top for top in _TOPS if top < options.top]
        if not options.rules and options.sizes[0] != 1:
            sizes.append(1)
    has_supports = options.supports_share is not None
    if has_supports and not options.rules and options.min_support is None:
        supports.append(False)
    for mechanism, top, size, support in product(mechanisms, tops, sizes, supports):
        changes: dict[str, Any] = {}
        if mechanism is not None:
            changes["mechanism"] = mechanism
        if size is not None:
            changes["size"] = size
        if top is not None:
            changes["top"] = top
        if support is not None:
            changes["supports"] = support
        if size is not None and options.union:
            changes["union"] = False
        if support is False and options.supports_share != options.usual_supports_share:
            changes["supports_share"] = None
        if top == 1 and support is None and has_supports and not options.rules:
            changes["supports"] = True  # by default one itemset has none
        yield changes


def _other_mechanisms(options: MiningOptions, found: int, before: int | None) -> list[str | None]:
    """Return the mechanisms to try. None stands for the one that was asked for."""
    if options.reason is not None:  # it was chosen by "auto"
        return [None] if found else [None, "limited-domain"]
    auto = _with(options, {"mechanism": AUTO})
    if auto is None:
        return [None]
    need = needed_support(auto)
    if need is None or (before is not None and need >= before):
        return [None]
    return [AUTO]


def _with(options: MiningOptions, changes: Mapping[str, Any]) -> MiningOptions | None:
    """Return the request with changes, or None if these do not go together."""
    changed = replace(
        options,
        top=changes.get("top", options.top),
        epsilon=changes.get("epsilon", options.epsilon),
        rho=changes.get("rho", options.rho),
    )
    if "size" in changes:
        changed = replace(changed, sizes=(changes["size"],), union=False)
    usual_name = options.mechanism.name if options.reason is None else AUTO
    name, reason = changes.get("mechanism", usual_name), None
    if name == AUTO:
        choice = changed.automatic
        name, reason = choice.name, choice.reason
    spec = registry.spec_named(name)
    if not _goes_with(spec, options):
        return None
    changed = replace(changed, mechanism=spec, reason=reason)
    has_threshold = options.min_support is not None
    has_usual_top = options.top == usual_top(options.mechanism, has_threshold=has_threshold)
    if has_usual_top and "top" not in changes:
        changed = replace(changed, top=usual_top(spec, has_threshold=has_threshold))
    if changes.get("supports") is False:
        changed = replace(changed, supports_share=None)
    elif options.supports_share == options.usual_supports_share:
        changed = replace(changed, supports_share=changed.usual_supports_share)
    return replace(changed, count_share=changed.usual_count_share)


def _goes_with(spec: MechanismSpec, options: MiningOptions) -> bool:
    """Return whether a mechanism has a use for the caps, δ and known itemsets of a request."""
    if options.max_rank is not None and spec.rank_cap is RankCap.NONE:
        return False
    if options.max_basket is not None and spec.basket_cap is BasketCap.NONE:
        return False
    if spec.spends_delta and not options.delta:
        return False
    return options.known is None or spec.composed
