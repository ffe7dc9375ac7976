"""What to ask instead where too little came out: a line for whoever asks, which no release has.

It follows from what was asked and from how much came out, and so from nothing that is private. Of
all changes that would probably find something it names the one that gives up least, in doublings of
ε. It names no ε above 3, and no other neighbour relation. "Probably" compares what an itemset then
needs with what it needed, and with the units, if public.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, product
from typing import Any

from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.cost import at_least, rounded_up
from fim_private.errors import ParameterError
from fim_private.levelwise.levelwise import LevelNeeds, Levelwise
from fim_private.mechanisms import LargeMargin, TightMargin
from fim_private.mechanisms.needs import prospects
from fim_private.mechanisms.top_k import TopK
from fim_private.options import CONFIDENCE
from fim_private.request.allocation import plan_of
from fim_private.request.choice import AUTO
from fim_private.request.plan import Selection
from fim_private.request.request import Request

# Parameters of `mine` that are to differ, by name.
Changes = dict[str, Any]

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


def needed_support(request: Request) -> int | None:
    """Return the support, in units, with which an itemset without rivals comes out.

    It does with 95 % probability. It is that of the size which needs least; for levelwise an
    estimate. Returns None if no support is enough, or none is known.
    """
    items = _ITEMS_OF_USER if request.promise.by_user else _ITEMS_OF_BASKET
    try:
        plan = plan_of(request)
        supports = [_needed_by(selection, items) for selection in plan.selections]
    except ParameterError:  # a step of the budget is out of range, too
        return None
    least = min(filter(None, supports), default=None)
    if least is not None and plan.look is not None:  # whichever mechanism it chooses
        least = max(least, needed_support(plan.look.request) or least)
    if least is None or request.target.keep_all or plan.spares_all_for_one:
        return least
    # An interval that reaches 0 leaves an itemset out.
    return max(least, 2 * plan.half_width(1))


def _needed_by(selection: Selection, items: float) -> int | None:
    """Return the support with which a selection finds an itemset; None if that is not known.

    items: the different items of a typical unit.
    """
    match selection.run:
        case TopK(mechanism):
            candidates = selection.public.candidates
            if isinstance(mechanism, TightMargin):
                # It seldom stops, and what then decides is this; to follow the search takes
                # seconds.
                mechanism = mechanism.choice(mechanism.max_rank)
            if isinstance(mechanism, LargeMargin):
                candidates = None  # the first ranks decide, whatever the universe
            return prospects(mechanism, CONFIDENCE, candidates).support
        case Levelwise() as run if run.items_delta is not None:
            return LevelNeeds.of(run, items, CONFIDENCE).support
    return None


@dataclass(frozen=True)
class Advice:
    """One request to try instead; str() is the call of Python, with what it takes and what it gives
    up.

    Attributes:
        changes: The parameters of `mine` that differ.
        request: What was asked for.
        changed: What is to be asked for instead.
        units: How many units there are, if that is public.
        came_out: How many itemsets came out.
        before: The support in units with which an itemset came out with 95 % probability, if known.
        need: The support with which it will.
        is_enough: Whether so much support is probable, if there are units enough.
    """

    changes: Changes
    request: Request
    changed: Request
    units: int | None
    came_out: int
    before: int | None
    need: int
    is_enough: bool

    @property
    def likely(self) -> bool:
        """Whether an itemset will probably come out: unknown units may be too few."""
        return self.is_enough and (self.units is not None or self.came_out > 0)

    @property
    def call(self) -> str:
        """The request as a call of Python."""
        arguments = [f"{name}={_literal(value)}" for name, value in self.changes.items()]
        return f"fim.mine(..., {', '.join(arguments)})"

    @property
    def explanation(self) -> str:
        """The support that an itemset then needs, what is given up, and any doubt, in sentences."""
        text = f"{self._takes()} {self._gives_up()}"
        if self.likely or self.came_out:
            return text
        if self.units is None:
            return f"{text} The number of {self._unit}s is private, so this may not be enough."
        return f"{text} Even that is probably not enough: you need more {self._unit}s."

    def __str__(self) -> str:
        return f"{self.call}. {self.explanation}"

    @property
    def _unit(self) -> str:
        return "user" if self.request.promise.by_user else "basket"

    def _takes(self) -> str:
        """Return the support that an itemset then needs, in a sentence."""
        if self.came_out:
            if self.before is None:
                return "An itemset then needs less support."
            return f"An itemset then needs about {self.need / self.before:.2g} times the support."
        about = "about " if self.changed.mechanism.composed else ""
        have = f"{self._unit}s have" if self.need > 1 else f"{self._unit} has"
        subject, compared, of_all = "An itemset", "", ""
        if self.changed.target.sizes == (1,) and self.request.target.sizes != (1,):
            subject = "An item"
        elif self.before is not None:
            compared = f", not {self.before:,}"
        if self.units:
            share = self.need / self.units
            digits = ".2g" if share < 0.1 else ",.0f"
            of_all = f" ({100 * share:{digits}} % of all)"
        return (
            f"{subject} then comes out, with 95 % probability, once {about}{self.need:,} {have} "
            f"it{of_all}{compared}."
        )

    def _gives_up(self) -> str:
        """Return what the changed request gives less of, and promises less, in sentences."""
        less = []
        if self.changed.target.sizes != self.request.target.sizes:
            less.append("single items only")
        top = self.changed.target.top
        if top != self.request.target.top:
            itemsets = "one itemset" if top == 1 else f"{top:,} itemsets"
            less.append(itemsets)
        if self.request.supports_share and not self.changed.supports_share:
            less.append("no supports")
        gives = f" You get less: {', '.join(less)}." if less else ""
        factor = rounded_up(self.changed.budget.loss, 3)
        earlier = rounded_up(self.request.budget.loss, 3)
        if factor != earlier:
            return f"The promise is weaker: a factor of e^{factor}, not e^{earlier}.{gives}"
        return f"The promise is the same.{gives}"


def _literal(value: Fraction | float | str | None) -> str:
    """Return a value as Python code."""
    if isinstance(value, Fraction):
        return at_least(value)
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)


def advice(request: Request, units: int | None, came_out: int) -> Advice | None:
    """Return what to ask instead where less came out than was asked for; None if nothing helps.

    Args:
        request: What was asked for.
        units: The number of units, if it is public.
        came_out: The number of itemsets that came out.
    """
    search = _Search(request, units, came_out, needed_support(request))
    budgets = _budgets(request)
    possible: list[Advice] = []
    cheapest, lowest_price = None, math.inf
    for changes in sorted(search.changes(), key=search.price):
        # Without any change it is the same request.
        attempts = [changes | budget for budget in budgets if changes or budget]
        # What gives up no less than another request that will do is not tried.
        cheaper = [attempt for attempt in attempts if search.price(attempt) < lowest_price]
        attempted = search.least_of(cheaper)
        if attempted is None:
            continue
        if units is None or attempted.need <= units:
            possible.append(attempted)
        if attempted.is_enough:
            cheapest, lowest_price = attempted, search.price(attempted.changes)
    if cheapest is not None:
        return cheapest
    return min(possible, key=lambda attempted: attempted.need, default=None)


@dataclass(frozen=True)
class _Search:
    """The search for a request to try instead. Its attributes are those of `Advice`."""

    request: Request
    units: int | None
    came_out: int
    before: int | None

    def changes(self) -> Iterator[Changes]:
        """Yield all changes of the request except its budget.

        If something came out, none gives less.
        """
        request, target = self.request, self.request.target
        tops, sizes, supports = [Changes()], [Changes()], [Changes()]
        if not self.came_out:
            tops += [{"top": top} for top in _TOPS if top < target.top]
            if not target.rules and target.sizes[0] != 1:
                sizes.append({"size": 1})
                if target.union:
                    sizes[-1]["union"] = False
        if request.supports_share and not target.rules and target.min_support is None:
            supports.append({"supports": False})
            if request.options["supports_share"] is not None:
                supports[-1]["supports_share"] = None
        for mechanism, top, size, support in product(self._mechanisms(), tops, sizes, supports):
            yield mechanism | size | top | support

    def _mechanisms(self) -> list[Changes]:
        """Return changes of the mechanism to try; none stand for the one that was asked for."""
        if self.request.reason is None:
            to_auto: Changes = {"mechanism": AUTO}
            if self.request.target.top == 1:  # by default ten are sought, with their supports
                to_auto |= {"top": 1, "supports": self.request.supports_share > 0}
            return [{}] if self._attempt(to_auto) is None else [to_auto]
        return [{}] if self.came_out else [{}, {"mechanism": "limited-domain"}]

    def least_of(self, attempts: list[Changes]) -> Advice | None:
        """Return the first attempt that would probably do, else the last one, if it needs less.

        attempts: the same changes with ascending budgets.
        """
        last = self._attempt(attempts[-1]) if attempts else None
        if last is None or not last.is_enough:
            return last
        # With a larger budget an itemset needs no more.
        least = bisect_left(attempts, True, hi=len(attempts) - 1, key=self._is_enough)
        return self._attempt(attempts[least])

    def _attempt(self, changes: Changes) -> Advice | None:
        """Return the changed request as advice, or None if it is not valid or needs no less."""
        request, before = self.request, self.before
        try:
            changed = request.with_options(changes)
        except ParameterError:
            return None
        need = needed_support(changed)
        if need is None:
            return None
        is_same_size = changed.target.sizes == request.target.sizes
        if is_same_size and before is not None and need >= before:
            return None
        is_enough = need <= self._enough(changed)
        return Advice(changes, request, changed, self.units, self.came_out, before, need, is_enough)

    def _is_enough(self, changes: Changes) -> bool:
        attempted = self._attempt(changes)
        return attempted is not None and attempted.is_enough

    def price(self, changes: Changes) -> float:
        """Return what changes of the request give up, in doublings of ε."""
        price = _CHANGE * len(changes)
        if "size" in changes:
            price += _SINGLE
        if changes.get("supports") is False:
            price += _NO_SUPPORTS
        request = self.request
        price += math.log2(_loss(request, changes) / request.budget.loss)
        top = request.target.top
        return price + _FEWER * math.log10(top / changes.get("top", top))

    def _enough(self, changed: Request) -> float:
        """Return the support with which an itemset of a changed request will probably come out."""
        target, units = self.request.target, self.units
        before = math.inf if self.before is None else self.before
        if self.came_out:
            return before * max(math.pow(self.came_out / target.sought, _FALL), _FARTHEST)
        enough = before
        if changed.target.sizes == target.sizes:
            enough /= _TIMES_LESS
        if units is None:
            return enough / _BLIND
        return min(enough, units * _SHARES.get(changed.target.sizes[0], _LEAST_SHARE))


def _loss(request: Request, changes: Changes) -> Fraction:
    """Return the ε of a request with changes of epsilon or rho, or what its ρ implies."""
    budget = request.budget
    epsilon, rho = changes.get("epsilon", budget.epsilon), changes.get("rho", budget.rho)
    return PrivacyBudget(epsilon, budget.delta, rho).loss


def _budgets(request: Request) -> list[Changes]:
    """Return changes of the budget, ascending: none, then 1, 2 and 5 of each power of ten.

    The last is the largest ε that is advised.
    """
    budget = request.budget
    name, current = ("epsilon", budget.epsilon) if budget.rho is None else ("rho", budget.rho)
    assert current is not None
    budgets = [Changes()]
    powers = (Fraction(10) ** exponent for exponent in count(math.floor(math.log10(current))))
    for amount in (digit * power for power in powers for digit in (1, 2, 5)):
        if amount <= current:
            continue
        if _loss(request, {name: amount}) > LARGEST_EPSILON:
            break
        budgets.append({name: amount})
    if name == "epsilon" and current < LARGEST_EPSILON:
        budgets.append({name: Fraction(LARGEST_EPSILON)})
    return budgets
