"""Which mechanism "auto" stands for, by public choices alone.

For many itemsets it is levelwise, whose noise does not grow with their number. For one, it is the
mechanism that needs the smallest margin (docs/privacy.md, "What each mechanism needs"). For one or
two itemsets of users, with δ = 0 or with caps it is one that selects itemsets one by one. For up to
50 itemsets of users a run looks first whether the last one sought has the support that selections
need, and selects one by one if it has (docs/privacy.md, "A look before the choice").
"""

from dataclasses import dataclass
from math import log

from fim_private import options as defaults
from fim_private.counting.source import Catalogue
from fim_private.levelwise.recipe import LARGEST_SIZE, kind_of
from fim_private.mechanisms import registry
from fim_private.request.groups import Promise, PublicFacts, Target

AUTO = "auto"
# So many itemsets of users are selected one by one in any case, and at most so many after a look.
_FEW, _MOST_SELECTED = 2, 50


@dataclass(frozen=True)
class Choice:
    """A mechanism: that which "auto" stands for, or which a caller named.

    Attributes:
        name: The name of the mechanism.
        reason: Why it was chosen: a clause that follows the name; None if a caller named it.
        replaces_levelwise: Whether it selects a few itemsets of users where levelwise is usual.
        rival: The name of the mechanism that selects one by one instead, if a look says so; None if
            there is no look.
    """

    name: str
    reason: str | None = None
    replaces_levelwise: bool = False
    rival: str | None = None

    @property
    def is_for_one(self) -> bool:
        """Whether a caller named a mechanism that is made for one itemset."""
        return self.reason is None and registry.spec_named(self.name).is_for_one


def automatic_choice(
    target: Target, public: PublicFacts, promise: Promise, *, uses_named: str | None
) -> Choice:
    """Return the mechanism that "auto" stands for.

    Args:
        target: Which itemsets are sought.
        public: What is known of the data by everybody.
        promise: Who is protected, under which relation and budget.
        uses_named: What levelwise makes of public items or itemsets that a caller named, which no
            other mechanism uses; None if none were named.
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
    picks = "exponential" if public.lists_items else "limited-domain"
    most_selected = _most_selected(target, promise)
    if most_selected and target.sought <= _FEW:
        reason = "it finds more than levelwise, for few itemsets of users"
        return Choice(picks, reason, replaces_levelwise=True)
    if target.sizes[-1] > LARGEST_SIZE:
        return Choice(
            "limited-domain", f"levelwise finds itemsets of up to {LARGEST_SIZE} items only"
        )
    needs_no_list = "" if public.lists_items else " and needs no product list"
    rival = picks if target.sought <= most_selected and not target.count else None
    reason = f"it finds many itemsets with the least noise{needs_no_list}"
    return Choice("levelwise", reason, rival=rival)


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


def _most_selected(target: Target, promise: Promise) -> int:
    """Return how many itemsets may be selected one by one instead of by levelwise; 0 if none.

    Only itemsets of users are, of one ranking, and of two items at most or with single items.
    """
    kind = kind_of(target.sizes, union=target.union)
    is_one_ranking = len(target.groups) * target.questions * target.levels == 1
    if not promise.by_user or target.min_support is not None or kind == "larger":
        return 0
    return _MOST_SELECTED if is_one_ranking else _FEW
