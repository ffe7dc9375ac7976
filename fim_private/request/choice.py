"""Which mechanism "auto" stands for, by public choices. For some tens of itemsets of users a look
at the data, with noise, may still choose another one (`plan.Look`).

For many itemsets it is levelwise, whose noise does not grow with their number. For one, it is the
mechanism that needs the smallest margin (docs/privacy.md, "What each mechanism needs"). For a few
itemsets of users, with δ = 0 or with caps it is one that selects itemsets one by one. How many
"a few" are depends on the number of users, if that is stated.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from fim_private import options as defaults
from fim_private.counting.source import Catalogue, UnknownUniverse
from fim_private.dp.neighbors import Neighbors
from fim_private.levelwise.recipe import LARGEST_SIZE, kind_of
from fim_private.mechanisms import registry
from fim_private.request.groups import Promise, PublicFacts, Target

AUTO = "auto"
# Where the number of users is not stated, up to so many of their itemsets are selected one by one.
_FEW = {"items": 5, "together": 5, "pairs": 2}
# If it is stated, up to 20 itemsets are selected one by one: k of them if users · ε is at least
# this times k^1.25. By kind, and by whether items are listed. Selections miss nearly all below
# that, and a little less than levelwise above it.
# Source: measured with 500 to 10,000 users of five shops (benchmarks/utility/small_shops.py;
# docs/benchmarks.md has three of them).
_USERS_NEEDED = {
    ("items", False): 100,
    ("items", True): 400,
    ("together", False): 100,
    ("together", True): 50,
    ("pairs", False): 400,
    ("pairs", True): 400,
}
_GROWTH = 1.25
_MOST_SELECTED = 20
# Otherwise a look at the data decides, if at most this many itemsets of at most so many items are
# sought. Single items of a list may be more: levelwise counts all of the list at once, with much
# noise, so picks may be better for more of them.
_MOST_LOOKED_FOR, _MOST_LISTED_LOOKED_FOR = 50, 100
_LARGEST_LOOKED_FOR = 3
# Over a list the exponential mechanism counts all itemsets that occur. Of more items than this they
# may be too many.
_LARGEST_COUNTED_WHOLE = 2


@dataclass(frozen=True)
class Choice:
    """A mechanism: that which "auto" stands for, or which a caller named.

    Attributes:
        name: The name of the mechanism.
        reason: Why it was chosen: a clause that follows the name; None if a caller named it.
        replaces_levelwise: Whether it selects a few itemsets of users where levelwise is usual.
        picks: The name of the mechanism that is taken instead if a look at the data, with noise,
            says that it finds more (`plan.Look`). None if nobody looks.
    """

    name: str
    reason: str | None = None
    replaces_levelwise: bool = False
    picks: str | None = None

    @property
    def is_for_one(self) -> bool:
        """Whether a caller named a mechanism that is made for one itemset."""
        return self.reason is None and registry.spec_named(self.name).is_for_one


def automatic_choice(
    target: Target,
    public: PublicFacts,
    promise: Promise,
    *,
    uses_named: str | None,
    may_look: bool,
) -> Choice:
    """Return the mechanism that "auto" stands for.

    Args:
        target: Which itemsets are sought.
        public: What is known of the data by everybody.
        promise: Who is protected, under which relation and budget.
        uses_named: What levelwise makes of public items or itemsets that a caller named, which no
            other mechanism uses; None if none were named.
        may_look: Whether there may be a look at the data at all.
    """
    spends_delta = promise.budget.delta > 0
    if not spends_delta:
        return Choice("permute-and-flip", "it needs the smallest margin of all that spend no delta")
    if public.max_rank or public.max_basket or public.max_baskets:
        return Choice("limited-domain", "it uses the public cap that you gave")
    if uses_named is not None:
        return Choice("levelwise", uses_named)
    seeks_several = (
        target.min_support is not None
        or target.top > 1
        or (len(target.sizes) > 1 and not target.union)
    )
    if not seeks_several:
        return _for_one_itemset(target, public, promise)
    return _for_several(target, public, promise, may_look=may_look)


def _for_several(
    target: Target, public: PublicFacts, promise: Promise, *, may_look: bool
) -> Choice:
    """Return the mechanism that finds most of several itemsets, and spends δ."""
    picks = "exponential" if public.lists_items else "limited-domain"
    if _are_few_of_users(target, public, promise):
        users = "users" if public.units is None else f"about {public.units:,} users"
        reason = f"it finds more than levelwise, for few itemsets of {users}"
        return Choice(picks, reason, replaces_levelwise=True)
    if target.sizes[-1] > LARGEST_SIZE:
        return Choice(
            "limited-domain", f"levelwise finds itemsets of up to {LARGEST_SIZE} items only"
        )
    needs_no_list = "" if public.lists_items else " and needs no product list"
    reason = f"it finds many itemsets with the least noise{needs_no_list}"
    if may_look and _is_look_worth_it(target, public, promise):
        return Choice("levelwise", reason, picks=_picks_after_look(picks, target, public))
    return Choice("levelwise", reason)


def _for_one_itemset(target: Target, public: PublicFacts, promise: Promise) -> Choice:
    """Return the mechanism that needs the smallest margin for one itemset, and spends δ."""
    if isinstance(public.universe, Catalogue):
        candidates = sum(map(public.universe.candidates, target.sizes))
        # One of K candidates must lead by about ln K / rate, without a list by ln(k / δ) / rate.
        if log(max(candidates, 1)) < log(defaults.MAX_RANK) - log(promise.budget.delta):
            return Choice(
                "exponential",
                "with your catalogue it needs a smaller margin than any mechanism without one",
            )
    return Choice(
        "limited-domain",
        "for one itemset, it needs the smallest margin of all that need no product list",
    )


def _is_look_worth_it(target: Target, public: PublicFacts, promise: Promise) -> bool:
    """Tell whether a look at the data is worth its share.

    Source: measured (docs/benchmarks.md).
    """
    kind = kind_of(target.sizes, union=target.union)
    most = _MOST_LISTED_LOOKED_FOR if public.lists_items and kind == "items" else _MOST_LOOKED_FOR
    return (
        promise.by_user
        and target.min_support is None
        and not target.rules
        and target.levels == 1
        and len(target.rankings) == 1
        and target.sought <= most
        and kind != "larger"
        and target.sizes[-1] <= _LARGEST_LOOKED_FOR
    )


def _picks_after_look(name: str, target: Target, public: PublicFacts) -> str:
    """Return the mechanism that picks if a look at the data says that it finds more.

    name: the one that picks a few itemsets of users without a look.
    """
    if target.sizes[-1] > _LARGEST_COUNTED_WHOLE and not _has_few_candidates(target, public):
        return "limited-domain"
    return name


def _has_few_candidates(target: Target, public: PublicFacts) -> bool:
    """Tell whether a list makes so few itemsets that limited-domain would rank all of them."""
    if isinstance(public.universe, UnknownUniverse):
        return False
    return sum(map(public.universe.candidates, target.sizes)) <= defaults.MAX_RANK


def _are_few_of_users(target: Target, public: PublicFacts, promise: Promise) -> bool:
    """Tell whether selecting one by one misses fewer itemsets of users than levelwise does.

    Source: measured (docs/benchmarks.md).
    """
    if not promise.by_user or target.min_support is not None:
        return False
    kind = kind_of(target.sizes, union=target.union)
    if kind == "larger":
        return False
    sought = target.sought
    if promise.neighbors == Neighbors.REPLACE_ONE:
        sought *= 2  # the odds of a choice count half
    if sought <= _FEW[kind]:
        return True
    if public.units is None or sought > _MOST_SELECTED:
        return False
    needed = _USERS_NEEDED[kind, public.lists_items] * sought**_GROWTH
    return bool(public.units * promise.budget.loss >= needed)
