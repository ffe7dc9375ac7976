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
from fim_private.mechanisms.registry import BasketCap, RankCap
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
        values = {
            name: at_least(value)
            if isinstance(value, Fraction)
            else f'"{value}"'
            if isinstance(value, str)
            else value
            for name, value in self.changes.items()
        }
        return f"fim.mine(..., {', '.join(f'{name}={value}' for name, value in values.items())})"

    @property
    def explanation(self) -> str:
        """Which support an itemset then needs, what is given up, and where it is not likely to do,
        in sentences.
        """
        found, unit = (
            f"{self._takes()} {self._gives_up()}",
            "user" if self.asked.by_user else "basket",
        )
        if self.likely or self.found:
            return found
        if self.units is None:
            return f"{found} The number of {unit}s is private, so this may not be enough."
        return f"{found} Even that is probably not enough: you need more {unit}s."

    def __str__(self) -> str:
        return f"{self.call}. {self.explanation}"

    def _takes(self) -> str:
        if self.found:
            less = (
                "less support"
                if self.before is None
                else f"about {self.need / self.before:.2g} times the support"
            )
            return f"An itemset then needs {less}."
        about = "about " if self.options.mechanism.composed else ""
        one = "An item" if self.options.sizes == (1,) and self.asked.sizes != (1,) else "An itemset"
        share = self.need / self.units if self.units else 0.0
        of_all = f" ({100 * share:{'.2g' if share < 0.1 else ',.0f'}} % of all)" if share else ""
        compared = (
            f", not {self.before:,}" if self.before is not None and one == "An itemset" else ""
        )
        unit = "user" if self.asked.by_user else "basket"
        have = f"{unit}s have" if self.need > 1 else f"{unit} has"
        return (
            f"{one} then comes out, with 95 % probability, once {about}{self.need:,} {have} "
            f"it{of_all}{compared}."
        )

    def _gives_up(self) -> str:
        new, asked = self.options, self.asked
        changes = {
            "single items only": new.sizes != asked.sizes,
            "one itemset" if new.top == 1 else f"{new.top:,} itemsets": new.top != asked.top,
            "no supports": new.supports_share is None and asked.supports_share is not None,
        }
        less = [change for change, holds in changes.items() if holds]
        gives = f" It gives less: {', '.join(less)}." if less else ""
        factor, before = (rounded_up(one.budget.loss, 3) for one in (self.options, self.asked))
        if factor != before:
            return f"It promises less: a factor of e^{factor}, not e^{before}.{gives}"
        return f"It promises as much.{gives}"


def advice(options: MiningOptions, units: int | None, found: int) -> Advice | None:
    """Return what to ask instead; None where as much came out as was asked for, or nothing would
    help; see `Advice`.
    """
    wanted = options.top if options.union else options.top * len(options.sizes)
    if found >= wanted:
        return None
    before = needed_support(options)

    def price(changes: Mapping[str, Any]) -> float:  # what is given up, in doublings of ε
        price = (
            _CHANGE * len(changes)
            + _SINGLE * ("size" in changes)
            + _NO_SUPPORTS * (changes.get("supports") is False)
        )
        budget: dict[str, Any] = {
            name: changes[name] for name in ("epsilon", "rho") if name in changes
        }
        if budget:
            price += math.log2(replace(options, **budget).budget.loss / options.budget.loss)
        return price + _FEWER * math.log10(options.top / changes.get("top", options.top))

    def tried(changes: Mapping[str, Any]) -> Advice | None:
        """Return a request with whether it would do; None where it cannot be, or needs no less."""
        changed = _with(options, changes)
        if changed is None or (need := needed_support(changed)) is None:
            return None
        if changed.sizes == options.sizes and before is not None and need >= before:
            return None
        likely = need <= _enough(changed, options, units, before, found / wanted)
        return Advice(changes, options, changed, units, found, before, need, likely)

    def does(request: Mapping[str, Any]) -> bool:
        one = tried(request)
        return one is not None and one.likely

    best: Advice | None = None
    nearest: Advice | None = None
    for changes in sorted(_changes(options, found, before), key=price):
        if best is not None and price(changes) >= price(best.changes):
            break
        # The least budget that would probably do, or else the largest: with a larger one an itemset
        # needs no more.
        requests = [{**changes, **budget} for budget in _budgets(options)][0 if changes else 1 :]
        one = tried(requests[-1]) if requests else None
        if one is not None and one.likely:
            one = tried(requests[bisect_left(requests, True, hi=len(requests) - 1, key=does)])
        if one is None:
            continue
        if one.likely and (best is None or price(one.changes) < price(best.changes)):
            best = one
        if nearest is None or one.need < nearest.need:
            nearest = one
    if best is not None:
        return best if found or units is not None else replace(best, likely=False)
    return nearest if nearest is not None and (units is None or nearest.need <= units) else None


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
    """Yield all changes of a request except its budget; nothing that gives less where something was
    found.
    """
    mechanisms: list[str | None] = [None] if found else [None, "limited-domain"]
    if options.reason is None:
        auto = _with(options, {"mechanism": AUTO})
        need = None if auto is None else needed_support(auto)
        mechanisms = [AUTO] if need is not None and (before is None or need < before) else [None]
    tops = [None, *(top for top in _TOPS if top < options.top and not found)]
    sizes = [None] if found or options.rules or options.sizes[0] == 1 else [None, 1]
    needs_supports = options.rules or options.min_support is not None
    supports = [None] if needs_supports or options.supports_share is None else [None, False]
    for mechanism, top, size, support in product(mechanisms, tops, sizes, supports):
        given = {"mechanism": mechanism, "size": size, "top": top, "supports": support}
        changes: dict[str, Any] = {
            name: value for name, value in given.items() if value is not None
        }
        if size is not None and options.union:
            changes["union"] = False
        if support is False and options.supports_share != options.usual_supports_share:
            changes["supports_share"] = None
        if (
            top == 1
            and support is None
            and options.supports_share is not None
            and not options.rules
        ):
            changes["supports"] = True
        yield changes


def _with(options: MiningOptions, changes: Mapping[str, Any]) -> MiningOptions | None:
    """Return the options with changes; None where these do not go together."""
    plain: dict[str, Any] = {
        name: changes[name] for name in ("top", "epsilon", "rho") if name in changes
    }
    if "size" in changes:
        plain |= {"sizes": (changes["size"],), "union": False}
    changed = replace(options, **plain)
    name = changes.get("mechanism", options.mechanism.name if options.reason is None else AUTO)
    reason = None
    if name == AUTO:
        choice = changed.automatic
        name, reason = choice.name, choice.reason
    spec = registry.spec_named(name)
    no_rank = options.max_rank is not None and spec.rank_cap is RankCap.NONE
    no_basket = options.max_basket is not None and spec.basket_cap is BasketCap.NONE
    no_delta = spec.spends_delta and not options.delta
    no_known = options.known is not None and not spec.composed
    if no_rank or no_basket or no_delta or no_known:
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
