"""Mining: the one place that agrees on a budget, reads, selects and names, in that order.

Everything is decided before the data is opened: which mechanisms run, on which share of the budget, with how much
noise. What leaves is a Release.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from fim_private.counting import Effort, Progress
from fim_private.counting.universe import Catalogue, SizedUniverse, Universe, UnknownUniverse
from fim_private.defaults import MAX_WORK
from fim_private.dp.parameters import (
    Neighbors,
    by_digits,
    exact_delta,
    exact_epsilon,
    exact_neighbors,
    positive_integer,
)
from fim_private.dp.randomness import Randomness
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.registry import CAPPED, MECHANISMS, RANKED, Terms, maker, parse_sizes
from fim_private.mining.budget import SUPPORTS_SHARE, agree
from fim_private.mining.release import Release
from fim_private.reading import read_catalogue, read_transactions
from fim_private.reading.transactions import Transactions

LARGEST_TOP = 100_000


def mine(
    data: Any,
    *,
    size: int | str | Iterable[int] = 2,
    epsilon: float | Fraction = 1.0,
    delta: float | Fraction = 1e-6,
    mechanism: str = "large-margin",
    neighbors: str = Neighbors.REPLACE_ONE,
    top: int = 1,
    union: bool = False,
    supports: bool = False,
    supports_share: float | Fraction = SUPPORTS_SHARE,
    max_rank: int | None = None,
    max_basket: int | None = None,
    max_baskets: int | None = None,
    catalogue: Any = None,
    universe_size: int | None = None,
    user: str | None = None,
    missing_user: str | None = None,
    basket: str | None = None,
    item: str | None = None,
    items: str | None = None,
    max_work: int = MAX_WORK,
    progress: Progress | None = None,
    seed: int | None = None,
) -> Release:
    """Release the most frequent itemsets of a size, (epsilon, delta)-differentially private per basket or per user.

    data: a path, an Arrow table, a pandas or polars frame, a scipy sparse or one-hot boolean frame, an iterable of
        iterables of items, or what read_transactions returned; see there, also for basket, item and items.
    user: column of the customer. The guarantee is then for all baskets of a user together, and the support of an
        itemset is the number of users with a basket that contains it. Without it each basket is protected by itself.
    missing_user: what becomes of rows without a user (null, NaN, empty or white space only): "drop" leaves them
        out, "own-unit" makes each basket without a user a unit of its own. Without it they are refused.
    size: items per itemset, >= 1; or a range, "2-4" or range(2, 5), of which each size has an equal share.
    epsilon: > 0, delta: in (0, 1): the budget of the whole release, floats taken by their digits; split by public
        parameters where there are several itemsets or sizes; Release.shares tells how.
    mechanism: "large-margin", "tight-margin", "limited-domain" and "distance" need no item universe; "choosing" needs
        max_basket, "exponential", "permute-and-flip" and "max-of-laplaces" a public universe; "levelwise" finds
        items first and then sets of them, for several itemsets without a universe.
    neighbors: "replace-one" or "add-remove".
    top: how many itemsets of each size are wanted, >= 1; fewer come out where the mechanism abstains.
    union: with several sizes, the itemsets of all of them are ranked together in one selection, `top` of them in all.
    supports: whether noisy supports are released too, with 95 % intervals. supports_share: their part of the budget,
        above 0 and below 1, and of no use without them.
    max_rank: public cap, 10,000 unless given: on the rank search of large-margin and tight-margin over an unknown
        universe, and on how many itemsets (for levelwise, items) are candidates of limited-domain. Of no use to others.
    max_basket: public cap on a basket's items, for choosing and limited-domain: of a longer basket the first items in
        label order count. max_baskets: with it and with user, how many different baskets of a user count, drawn by what
        is in that user's baskets alone.
    catalogue: the public list of all items: a path or an iterable; items outside it are dropped.
    universe_size: the public number of items, for the exponential mechanism without a catalogue.
        The others have no use for it: without names, an unsupported itemset is an abstention anyway.
    max_work: steps after which counting gives up, or does not begin: about one for each time that an itemset is met
        in a basket. Only sizes and universes that are out of reach come near it.
    progress: called now and then while counting lasts, with the fraction done of the present pass.
    seed: for tests and benchmarks only; the release then says private=False.
    Raises ParameterError, DataError, or WorkLimitError where counting is out of reach; all are FimPrivateError. An
    error is for whoever holds the data, not for publication: it can tell what form the data has.

    >>> baskets = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50
    >>> mine(baskets, size=2, seed=1).itemsets
    (Itemset(items=('bread', 'butter'), support=None, interval=None),)

    With customers: 600 who come twice count once each.

    >>> import pyarrow as pa
    >>> visits = pa.table({"customer": [*range(600)] * 2, "items": [["bread", "butter"]] * 1200})
    >>> release = mine(visits, user="customer")
    >>> release.privacy_unit, release.itemsets[0].items
    ('user', ('bread', 'butter'))
    """
    effort = Effort(max_work=max_work) if progress is None else Effort(max_work=max_work, progress=progress)
    randomness = _randomness(seed)
    terms = Terms(
        sizes=parse_sizes(size),
        top=_top(top),
        neighbors=exact_neighbors(neighbors),
        universe=_universe(catalogue, universe_size),
        max_rank=None if max_rank is None else positive_integer("max_rank", max_rank),
        max_basket=None if max_basket is None else positive_integer("max_basket", max_basket),
        max_baskets=None if max_baskets is None else positive_integer("max_baskets", max_baskets),
    )
    if union and len(terms.sizes) == 1:
        raise ParameterError(f"{parameter('union')} goes with several sizes: whether all of them are ranked together")
    _check_caps(mechanism, terms, data.by_user if isinstance(data, Transactions) else user is not None)
    share = _supports_share(supports, supports_share)
    agreed = agree(mechanism, terms, exact_epsilon(epsilon), exact_delta(delta), union=union, supports_share=share)

    transactions = read_transactions(data, user=user, basket=basket, item=item, items=items, missing_user=missing_user)
    if terms.max_basket is not None:
        transactions = transactions.capped(terms.max_basket, terms.max_baskets or 1)
    found = [itemset for selection in agreed.selections for itemset in selection.find(transactions, effort, randomness)]
    itemsets, noise = agreed.published(found, randomness)
    return Release(
        mechanism=mechanism,
        sizes=terms.sizes,
        cost=agreed.cost,
        neighbors=terms.neighbors,
        privacy_unit="user" if transactions.by_user else "basket",
        private=randomness.private,
        abstained=not itemsets,
        itemsets=itemsets,
        missing_user=transactions.missing_user,
        top=terms.top,
        union=union,
        shares=agreed.shares,
        noise=noise,
    )


def _top(top: int) -> int:
    if positive_integer("top", top) > LARGEST_TOP:
        raise ParameterError(f"{parameter('top')} must be at most {LARGEST_TOP:,}, not {top!r}")
    return top


def _supports_share(supports: bool, share: float | Fraction) -> Fraction | None:
    if isinstance(share, float) and share == float(SUPPORTS_SHARE):
        share = SUPPORTS_SHARE  # a third has no decimals that end: its float means the third
    try:
        exact = share if isinstance(share, Fraction) else by_digits(float(share))
    except (TypeError, ValueError):
        exact = Fraction(0)
    if not 0 < exact < 1:
        raise ParameterError(f"{parameter('supports_share')} must be a number above 0 and below 1, not {share!r}")
    if not supports and exact != SUPPORTS_SHARE:
        raise ParameterError(
            f"{parameter('supports_share')} goes with {parameter('supports')}: which part of the budget they take"
        )
    return exact if supports else None


def _check_caps(mechanism: str, terms: Terms, by_user: bool) -> None:
    if mechanism not in MECHANISMS:
        maker(mechanism)
    if terms.max_rank is not None and mechanism not in RANKED:
        raise ParameterError(
            f"{parameter('max_rank')} is of use to {', '.join(RANKED)} only; {mechanism} has no cap on ranks"
        )
    if terms.max_rank is not None and mechanism == "large-margin" and isinstance(terms.universe, Catalogue):
        raise ParameterError(
            f"{parameter('max_rank')} is of no use to large-margin with a catalogue, all of which it searches"
        )
    if terms.max_basket is not None and mechanism not in CAPPED:
        raise ParameterError(
            f"{parameter('max_basket')} is of use to {' and '.join(CAPPED)} only; leave it out, "
            "for it would only lose purchases"
        )
    if terms.max_baskets is not None and (terms.max_basket is None or not by_user):
        raise ParameterError(
            f"{parameter('max_baskets')} goes with {parameter('max_basket')} and {parameter('user')}: "
            "how many baskets of a user count at most"
        )
    if terms.max_basket is not None and by_user and terms.max_baskets is None:
        raise ParameterError(
            f"{parameter('max_baskets')} is needed to protect users with {parameter('max_basket')}: "
            "how many of their baskets count"
        )


def _randomness(seed: int | None) -> Randomness:
    if seed is None:
        return Randomness()
    if not isinstance(seed, int):
        raise ParameterError(f"{parameter('seed')} must be a whole number, not {seed!r}")
    return Randomness.seeded(seed)


def _universe(catalogue: Any, universe_size: int | None) -> Universe:
    if catalogue is not None and universe_size is not None:
        raise ParameterError(f"give a catalogue or {parameter('universe_size')}, not both: a catalogue has its size")
    if catalogue is not None:
        return Catalogue(read_catalogue(catalogue))
    if universe_size is not None:
        return SizedUniverse(positive_integer("universe_size", universe_size))
    return UnknownUniverse()
