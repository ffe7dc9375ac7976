"""Requests for tests, by the words of `mine`, without its usual choices."""

from fractions import Fraction

from fim_private.counting.source import NOTHING_KNOWN, UNKNOWN, KnownItemsets, Universe
from fim_private.dp.composition import PrivacyBudget
from fim_private.mechanisms import registry
from fim_private.request.groups import Promise, PublicFacts, Target
from fim_private.request.request import Request
from fim_private.request.supports import MinSupport


def request_for(
    mechanism: str,
    *,
    epsilon: Fraction | None = Fraction(1),
    delta: Fraction = Fraction(1, 10**6),
    rho: Fraction | None = None,
    neighbors: str = "replace-one",
    sizes: tuple[int, ...] = (2,),
    top: int = 1,
    union: bool = False,
    keep_all: bool = False,
    rules: bool = False,
    min_support: MinSupport | None = None,
    known: KnownItemsets = NOTHING_KNOWN,
    universe: Universe = UNKNOWN,
    max_rank: int | None = None,
    max_basket: int | None = None,
    max_baskets: int | None = None,
    by_user: bool = False,
    supports_share: Fraction = Fraction(0),
    count_share: Fraction = Fraction(0),
) -> Request:
    return Request(
        Target(sizes, top, union, min_support, known, rules, keep_all),
        PublicFacts(universe, max_rank, max_basket, max_baskets),
        Promise(PrivacyBudget(epsilon, delta, rho), neighbors, by_user),
        registry.spec_named(mechanism),
        supports_share=supports_share,
        count_share=count_share,
    )
