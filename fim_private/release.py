"""The release: the one place that reads, selects and names, in that order, and what it hands out.

Nothing else that depends on the data leaves ``mine``: not the number of baskets, not a support, not the
rank at which the search stopped.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fim_private.counting import DEFAULT_MAX_WORK, Effort, Progress
from fim_private.errors import ParameterError
from fim_private.mechanisms import Exponential, LargeMargin, Mechanism, NamedExponential, Selection
from fim_private.mechanisms.large_margin import DEFAULT_MAX_RANK
from fim_private.privacy import Neighbors, PrivacyCost, exact_delta, exact_neighbors, positive_integer
from fim_private.randomness import Randomness
from fim_private.reading import read_catalogue, read_transactions
from fim_private.spectrum import SupportSpectrum
from fim_private.transactions import Item
from fim_private.universe import Catalogue, SizedUniverse, Universe, UnknownUniverse

SCHEMA = 1
MECHANISMS = ("large-margin", "exponential")


@dataclass(frozen=True)
class Itemset:
    """A released itemset.

    items: integers, then strings, ascending; None for the one outcome that has no name: an itemset of a
        universe of which only the size is public, in no basket or in too few to be named privately.
    support: a noisy support in units, or None where supports were not released.
    """

    items: tuple[Item, ...] | None
    support: int | None = None


@dataclass(frozen=True)
class Release:
    """What leaves: the itemsets, and the guarantee they were released under.

    privacy_unit: whom the guarantee is about: one "basket", or one "user" with all their baskets.
    private: False when a seed made the randomness predictable; such output protects nobody.
    abstained: True when the mechanism gave no itemset, which is a valid private answer.
    missing_user: "own-unit" when each basket without a user was a unit of its own, "drop" when rows without a
        user were left out, None where all had one, or none were needed.
    """

    mechanism: str
    size: int
    cost: PrivacyCost
    neighbors: str
    privacy_unit: str
    private: bool
    abstained: bool
    itemsets: tuple[Itemset, ...]
    missing_user: str | None = None

    @property
    def epsilon(self) -> float:
        """The epsilon spent."""
        return self.cost.epsilon

    @property
    def delta(self) -> float:
        """The delta spent; 0 for a purely epsilon-private mechanism."""
        return self.cost.delta

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain values, in the order of the JSON schema (docs/architecture.md)."""
        return {
            "schema": SCHEMA,
            "private": self.private,
            "mechanism": self.mechanism,
            "size": self.size,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbors": str(self.neighbors),
            "privacy_unit": self.privacy_unit,
            "abstained": self.abstained,
            "itemsets": [
                {"items": None if itemset.items is None else list(itemset.items), "support": itemset.support}
                for itemset in self.itemsets
            ],
        }

    def to_json(self) -> str:
        """Return the release as one line of JSON, schema 1."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_csv(self) -> str:
        """Return the release as CSV: columns item_1 … item_size and support, one row per itemset."""
        import csv
        import io

        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*(f"item_{place}" for place in range(1, self.size + 1)), "support"])
        for itemset in self.itemsets:
            items = [""] * self.size if itemset.items is None else itemset.items
            writer.writerow([*items, "" if itemset.support is None else itemset.support])
        return stream.getvalue()

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table with columns support (int64) and itemsets (list of the items' type).

        Items of both kinds in one release come out as strings: an Arrow list has one type.
        """
        import pyarrow as pa

        rows = [itemset.items for itemset in self.itemsets]
        labels = [item for items in rows if items is not None for item in items]
        kind = pa.int64() if labels and all(isinstance(item, int) for item in labels) else pa.string()
        texts = [None if items is None else [str(i) if kind == pa.string() else i for i in items] for items in rows]
        supports = pa.array([itemset.support for itemset in self.itemsets], pa.int64())
        return pa.table({"support": supports, "itemsets": pa.array(texts, pa.list_(kind))})

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame with mlxtend's columns: support, and itemsets as frozensets."""
        import pandas as pd

        named = [itemset for itemset in self.itemsets if itemset.items is not None]
        supports = pd.array([itemset.support for itemset in named], dtype="Int64")
        sets = pd.Series([frozenset(itemset.items or ()) for itemset in named], dtype=object)
        return pd.DataFrame({"support": supports, "itemsets": sets})


def mine(
    data: Any,
    *,
    size: int = 2,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    mechanism: str = "large-margin",
    neighbors: str = Neighbors.REPLACE_ONE,
    max_rank: int = DEFAULT_MAX_RANK,
    catalogue: Any = None,
    universe_size: int | None = None,
    user: str | None = None,
    missing_user: str | None = None,
    basket: str | None = None,
    item: str | None = None,
    items: str | None = None,
    max_work: int = DEFAULT_MAX_WORK,
    progress: Progress | None = None,
    seed: int | None = None,
) -> Release:
    """Release the most frequent itemset of a size, (epsilon, delta)-differentially private per basket or per user.

    data: a path, an Arrow table, a pandas or polars frame, a scipy sparse or one-hot boolean frame, or an
        iterable of iterables of items; see read_transactions, also for basket, item and items.
    user: column of the customer. The guarantee is then for all baskets of a user together, and the support of an
        itemset is the number of users with a basket that contains it. Without it each basket is protected by itself.
    missing_user: what becomes of rows without a user (null, NaN, empty or white space only): "drop" leaves them
        out, "own-unit" makes each basket without a user a unit of its own. Without it they are refused.
    size: items per itemset, >= 1. epsilon: > 0. delta: in (0, 1).
    mechanism: "large-margin", which needs no item universe, or "exponential", which needs a public one.
    neighbors: "replace-one" or "add-remove".
    max_rank: public cap on the rank search of large-margin over an unknown universe.
    catalogue: the public list of all items: a path or an iterable; items outside it are dropped.
    universe_size: the public number of items, for the exponential mechanism without a catalogue.
        Large-margin has no use for it: without names, an unsupported itemset is an abstention anyway.
    max_work: steps after which counting gives up, or does not begin: about one for each time that an itemset is met
        in a basket. Only sizes and universes that are out of reach come near it.
    progress: called now and then while counting lasts, with the fraction done of the present pass.
    seed: for tests and benchmarks only; the release then says private=False.
    Raises ParameterError, DataError, or WorkLimitError where counting is out of reach; all are FimPrivateError. An
    error is for whoever holds the data, not for publication: it can tell what form the data has.

    >>> baskets = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50
    >>> mine(baskets, size=2, seed=1).itemsets
    (Itemset(items=('bread', 'butter'), support=None),)

    With customers: 600 who come twice count once each.

    >>> import pyarrow as pa
    >>> visits = pa.table({"customer": [*range(600)] * 2, "items": [["bread", "butter"]] * 1200})
    >>> release = mine(visits, user="customer")
    >>> release.privacy_unit, release.itemsets[0].items
    ('user', ('bread', 'butter'))
    """
    size = positive_integer("size", size)
    neighbors = exact_neighbors(neighbors)
    exact_delta(delta)
    positive_integer("max_rank", max_rank)
    effort = Effort(max_work=max_work) if progress is None else Effort(max_work=max_work, progress=progress)
    randomness = _randomness(seed)
    universe = _universe(catalogue, universe_size)
    chosen: Mechanism
    if mechanism == "large-margin":
        chosen = LargeMargin(epsilon, delta, neighbors, max_rank)
        if isinstance(universe, SizedUniverse):
            universe = UnknownUniverse()
    elif mechanism == "exponential":
        chosen = _exponential(size, epsilon, delta, neighbors, universe)
    else:
        raise ParameterError(f"mechanism must be one of {', '.join(MECHANISMS)}, not {mechanism!r}")
    if isinstance(universe, Catalogue):
        universe.candidates(size)

    transactions = read_transactions(data, user=user, basket=basket, item=item, items=items, missing_user=missing_user)
    spectrum = universe.spectrum(transactions, size, effort)
    selection = chosen.select(spectrum, randomness)
    return Release(
        mechanism=mechanism,
        size=size,
        cost=chosen.cost,
        neighbors=neighbors,
        privacy_unit="basket" if user is None else "user",
        private=randomness.private,
        abstained=selection.abstained,
        itemsets=_named(selection, spectrum, randomness),
        missing_user=missing_user,
    )


def _randomness(seed: int | None) -> Randomness:
    if seed is None:
        return Randomness()
    if not isinstance(seed, int):
        raise ParameterError(f"seed must be a whole number, not {seed!r}")
    return Randomness.seeded(seed)


def _universe(catalogue: Any, universe_size: int | None) -> Universe:
    if catalogue is not None and universe_size is not None:
        raise ParameterError("give a catalogue or universe_size, not both: a catalogue has its size")
    if catalogue is not None:
        return Catalogue(read_catalogue(catalogue))
    if universe_size is not None:
        return SizedUniverse(positive_integer("universe_size", universe_size))
    return UnknownUniverse()


def _exponential(size: int, epsilon: float, delta: float, neighbors: Neighbors, universe: Universe) -> Mechanism:
    match universe:
        case Catalogue():
            return Exponential(epsilon, neighbors)
        case SizedUniverse():
            return NamedExponential(epsilon, delta, universe.candidates(size), neighbors)
        case UnknownUniverse():
            raise ParameterError(
                "the exponential mechanism needs a public item universe: give a catalogue or universe_size "
                "(taking the items from the data would not be private: that an item occurs at all tells "
                "that somebody bought it)"
            )


def _named(selection: Selection, spectrum: SupportSpectrum, randomness: Randomness) -> tuple[Itemset, ...]:
    if selection.level is None:
        return ()
    if selection.level == 0 and spectrum.universe_size is None:
        return (Itemset(None),)
    return (Itemset(spectrum.sample_itemset(selection.level, randomness)),)
