"""What leaves: the released itemsets, the guarantee they were released under, and the forms they are written in.

Nothing else that depends on the data is in a release: not the number of baskets, not a true support, not the rank at
which a search stopped.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fim_private.dp.cost import Exact, PrivacyCost
from fim_private.mining.noisy_supports import SupportNoise
from fim_private.reading.vocabulary import Item

SCHEMA = 1


@dataclass(frozen=True)
class Itemset:
    """A released itemset.

    items: integers, then strings, ascending; None for the one outcome that has no name: an itemset of a universe of
        which only the size is public, in no basket or in too few to be named privately.
    support: a noisy support in units, >= 0; None where supports were not released.
    interval: (lowest, highest), a 95 % interval of the true support in units; None where supports were not released.
    """

    items: tuple[Item, ...] | None
    support: int | None = None
    interval: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: items, support, and interval where there is one."""
        bounds = {} if self.interval is None else {"interval": list(self.interval)}
        return {"items": None if self.items is None else list(self.items), "support": self.support, **bounds}


@dataclass(frozen=True)
class Share:
    """One part of the budget, and what it was spent on.

    purpose: "selection" or "supports"; with levelwise "items", "candidates", "first count", "histogram" and "second
    count" for the steps of its selection, and "measurement" for what decided how it went on.
    sizes: of the itemsets it is about. fraction: the part, of 1.
    epsilon, delta: what it spends under basic composition; None where the parts are composed in zCDP, where rho is what
    it spends, or in Gaussian differential privacy, where mu_squared is. All are exact: together they are the whole.
    """

    purpose: str
    sizes: tuple[int, ...]
    fraction: Fraction
    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None
    mu_squared: Exact | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, the budget rounded up to floats."""
        return {
            "purpose": self.purpose,
            "sizes": self.sizes,
            "fraction": float(self.fraction),
            **{name: None if part is None else float(part) for name, part in self._spent.items()},
        }

    @property
    def _spent(self) -> dict[str, Exact | None]:
        """What it spends, by name."""
        spent = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return spent if self.mu_squared is None else {**spent, "mu_squared": self.mu_squared}


@dataclass(frozen=True)
class Release:
    """What leaves: the itemsets, and the guarantee they were released under.

    mechanism: its name. reason: why it was taken, where that was left to "auto"; None where it was named.
    sizes: the sizes of itemsets asked for. cost: the (epsilon, delta) of all of it. shares: how it
        was split. top: how many itemsets were asked for, of each size or, with union, of all sizes together.
    neighbors: the neighbour relation. privacy_unit: whom the guarantee is about: one "basket", or one "user" with all
        their baskets.
    private: False when a seed made the randomness predictable; such output protects nobody.
    abstained: True when the mechanism gave no itemset, which is a valid private answer.
    itemsets: in descending order of noisy support where supports were released, else in the order selected.
    missing_user: what was asked for rows without a user: "own-unit" for each such basket as a unit of its own, "drop"
        for leaving them out, None where nothing was said of them.
    noise: the noise of the supports; None where none were released.
    keep_all: whether all were kept that do not stand out from the noise. Otherwise those were left out that levelwise
        counted, or whose noisy supports did not; of picks without supports nothing tells.
    """

    mechanism: str
    sizes: tuple[int, ...]
    cost: PrivacyCost
    neighbors: str
    privacy_unit: str
    private: bool
    abstained: bool
    itemsets: tuple[Itemset, ...]
    missing_user: str | None = None
    top: int = 1
    union: bool = False
    shares: tuple[Share, ...] = ()
    noise: SupportNoise | None = None
    reason: str | None = None
    keep_all: bool = False

    @property
    def size(self) -> int | str:
        """The size of the itemsets, or a range such as "2-4"."""
        return self.sizes[0] if len(self.sizes) == 1 else f"{self.sizes[0]}-{self.sizes[-1]}"

    @property
    def wanted(self) -> int:
        """How many itemsets were asked for in all."""
        return self.top if self.union else self.top * len(self.sizes)

    @property
    def epsilon(self) -> float:
        """The epsilon spent, as a float that is rounded up; cost has the exact one."""
        return float(self.cost.epsilon)

    @property
    def delta(self) -> float:
        """The delta spent, as a float that is rounded up; 0 for a purely private mechanism."""
        return float(self.cost.delta)

    @property
    def counted(self) -> bool:
        """Whether levelwise counted its candidates, and left out what does not stand out: of users it may pick them."""
        purposes = {share.purpose for share in self.shares}
        return self.mechanism == "levelwise" and ("measurement" not in purposes or "first count" in purposes)

    @property
    def _has_supports(self) -> bool:
        """Whether supports were asked for, whatever came out: the forms below must not depend on that."""
        return any(share.purpose == "supports" for share in self.shares)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the order of the JSON schema (docs/architecture.md).

        What was not asked for has no key: top, shares, noise, intervals and keep_all; nor has the reason where the
        mechanism was named. noise is None where nothing was named.
        """
        several = {"top": self.top} if self.wanted > 1 else {}
        split = {"shares": [share.to_dict() for share in self.shares]} if len(self.shares) > 1 else {}
        noise = self.noise and {"kind": str(self.noise.kind), "half_width": self.noise.half_width}
        return {
            "schema": SCHEMA,
            "private": self.private,
            "mechanism": self.mechanism,
            **({} if self.reason is None else {"reason": self.reason}),
            "size": self.size,
            **several,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbors": str(self.neighbors),
            "privacy_unit": self.privacy_unit,
            **({"keep_all": True} if self.keep_all else {}),
            "abstained": self.abstained,
            "itemsets": [itemset.to_dict() for itemset in self.itemsets],
            **split,
            **({"noise": noise} if self._has_supports else {}),
        }

    def to_json(self) -> str:
        """Return the release as one line of JSON, schema 1."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_csv(self) -> str:
        """Return CSV with a header: item_1 … item_size, support and, where supports were asked for, lower and upper.

        The text 1 and the number 1 look alike in it.
        """
        import csv
        import io

        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        columns = max(self.sizes)
        bounds = ["lower", "upper"] if self._has_supports else []
        writer.writerow([*(f"item_{place}" for place in range(1, columns + 1)), "support", *bounds])
        for itemset in self.itemsets:
            items = itemset.items or ()
            row = [*items, *[""] * (columns - len(items)), "" if itemset.support is None else itemset.support]
            writer.writerow([*row, *((itemset.interval or ("", "")) if bounds else ())])
        return stream.getvalue()

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table, one row for each itemset: support (int64) and itemsets (a list of the items' type).

        Where supports were asked for it has lower and upper too (int64). Items of both kinds in one release come out as
        strings, for an Arrow list has one type.
        """
        import pyarrow as pa

        rows = [itemset.items for itemset in self.itemsets]
        labels = [item for items in rows if items is not None for item in items]
        kind = pa.int64() if labels and all(isinstance(item, int) for item in labels) else pa.string()
        texts = [None if items is None else [str(i) if kind == pa.string() else i for i in items] for items in rows]
        columns = {
            "support": pa.array([itemset.support for itemset in self.itemsets], pa.int64()),
            "itemsets": pa.array(texts, pa.list_(kind)),
        }
        if self._has_supports:
            for place, name in enumerate(("lower", "upper")):
                ends = [itemset.interval and itemset.interval[place] for itemset in self.itemsets]
                columns[name] = pa.array(ends, pa.int64())
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame with mlxtend's columns: support (Int64), and itemsets as frozensets.

        Where supports were asked for it has lower and upper too (Int64). An outcome without a name (Itemset.items is
        None) has no row, for such frames hold sets.
        """
        import pandas as pd

        named = [itemset for itemset in self.itemsets if itemset.items is not None]
        supports = pd.array([itemset.support for itemset in named], dtype="Int64")
        sets = pd.Series([frozenset(itemset.items or ()) for itemset in named], dtype=object)
        frame = pd.DataFrame({"support": supports, "itemsets": sets})
        if self._has_supports:
            frame["lower"] = pd.array([itemset.interval and itemset.interval[0] for itemset in named], dtype="Int64")
            frame["upper"] = pd.array([itemset.interval and itemset.interval[1] for itemset in named], dtype="Int64")
        return frame
