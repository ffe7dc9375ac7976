"""What leaves: the released itemsets, the guarantee they were released under, and the forms they are written in.

Nothing else that depends on the data is in a release: not a true support, not the rank at which a search stopped. The
number of units is in it under replace-one, where neighbouring data have equally many; otherwise only with noise.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fim_private.dp.cost import PrivacyCost
from fim_private.errors import ParameterError, parameter
from fim_private.mining import frames
from fim_private.mining.budget_share import Share
from fim_private.mining.noisy_supports import SupportNoise
from fim_private.reading.vocabulary import Item

SCHEMA = 1
# The mechanism's name where no itemset was selected: all were given, to be counted.
GIVEN = "count"


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
class Release:
    """What leaves: the itemsets, and the guarantee they were released under.

    mechanism: its name; "count" where the itemsets were given, to be counted. reason: why it was taken, where that was
        left to "auto"; None where it was named.
    sizes: the sizes of itemsets asked for. cost: the (epsilon, delta) of all of it. shares: how it was split.
    top: how many itemsets were asked for, of each size or, with union, of all sizes together.
    neighbors: the neighbour relation. privacy_unit: whom the guarantee is about: one "basket", or one "user" with all
        their baskets.
    private: False when a seed made the randomness predictable; such output protects nobody.
    abstained: True when the mechanism gave no itemset, which is a valid private answer.
    itemsets: in descending order of noisy support where supports were released, else in the order selected; in the
        order given where they were.
    missing_user: what was asked for rows without a user: "own-unit" for each such basket as a unit of its own, "drop"
        for leaving them out, None where nothing was said of them.
    noise: the noise of the supports; None where none were released.
    keep_all: whether all were kept that do not stand out from the noise. Otherwise those were left out that levelwise
        counted, or whose noisy supports did not; of picks without supports nothing tells.
    units: how many units there are, as they were read (docs/privacy.md, "The number of units"): exactly under
        replace-one, which makes that number public; otherwise a noisy count, or None where none was asked for.
    units_interval: (lowest, highest), a 95 % interval of their true number; None where units is exact or None.
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
    units: int | None = None
    units_interval: tuple[int, int] | None = None

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

    def share_of(self, itemset: Itemset) -> float | None:
        """Return the share of all units that have an itemset of this release, 0 to 1: its noisy support / units.

        None where its support was not released, or the number of units is not known or 0.
        """
        if itemset.support is None or not self.units:
            return None
        return min(itemset.support / self.units, 1.0)

    def share_interval_of(self, itemset: Itemset) -> tuple[float, float] | None:
        """Return (lowest, highest), an interval of the true share; None where there is no share_of.

        It holds the true share if both intervals hold theirs, that of the support and that of the units: with 95 %
        probability where units is exact, with 90 % where it is noisy.
        """
        if itemset.interval is None or not self.units:
            return None
        fewest, most = self.units_interval or (self.units, self.units)
        low, high = itemset.interval
        return min(low / max(most, 1), 1.0), min(high / fewest, 1.0) if fewest else 1.0

    @property
    def _has_shares(self) -> bool:
        """Whether supports can be told as shares, whatever came out."""
        return self._has_supports and self.units is not None

    @property
    def _has_supports(self) -> bool:
        """Whether supports were asked for, whatever came out: the forms below must not depend on that."""
        return any(share.purpose == "supports" for share in self.shares)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the order of the JSON schema (docs/architecture.md).

        What was not asked for has no key: top, shares, noise, intervals and keep_all; nor has the reason where the
        mechanism was named, nor the units where their number is not known. noise is None where nothing was named.
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
            **({} if self.units is None else {"units": self.units}),
            **({} if self.units_interval is None else {"units_interval": list(self.units_interval)}),
            **({"keep_all": True} if self.keep_all else {}),
            "abstained": self.abstained,
            "itemsets": [itemset.to_dict() | self._share_values(itemset) for itemset in self.itemsets],
            **split,
            **({"noise": noise} if self._has_supports else {}),
        }

    def _share_values(self, itemset: Itemset) -> dict[str, Any]:
        """Return the share of an itemset, with its interval, as plain values; nothing where supports have no shares."""
        if not self._has_shares:
            return {}
        bounds = self.share_interval_of(itemset)
        return {"share": self.share_of(itemset), **({} if bounds is None else {"share_interval": list(bounds)})}

    def to_json(self) -> str:
        """Return the release as one line of JSON, schema 1."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_csv(self) -> str:
        """Return CSV with a header: item_1 … item_size, support and, where supports were asked for, lower and upper.

        Where they can be told as shares, share comes last. The text 1 and the number 1 look alike in it.
        """
        import csv
        import io

        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        columns = max(self.sizes)
        bounds = ["lower", "upper"] if self._has_supports else []
        share = ["share"] if self._has_shares else []
        writer.writerow([*(f"item_{place}" for place in range(1, columns + 1)), "support", *bounds, *share])
        for itemset in self.itemsets:
            items = itemset.items or ()
            row: list[Any] = [*items, *[""] * (columns - len(items))]
            row.append("" if itemset.support is None else itemset.support)
            row += (itemset.interval or ("", "")) if bounds else ()
            row += ["" if (part := self.share_of(itemset)) is None else part] if share else ()
            writer.writerow(row)
        return stream.getvalue()

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table, one row for each itemset: support (int64) and itemsets (a list of the items' type).

        Where supports were asked for it has lower and upper too (int64), and share (float64) where they can be told as
        shares. Items of both kinds in one release come out as strings, for an Arrow list has one type.
        """
        columns: dict[str, Any] = _counts(self.itemsets, self._has_supports)
        if self._has_shares:
            columns["share"] = list(map(self.share_of, self.itemsets))
        return frames.arrow_table([itemset.items for itemset in self.itemsets], columns)

    def to_pandas(self, *, relative: bool = True, lists: bool = False) -> Any:
        """Return a pandas.DataFrame with mlxtend's columns: support, a share of all units, and itemsets, frozensets.

        `mlxtend.frequent_patterns.association_rules` takes it as it is. For rules it has to hold the parts of each
        itemset as well: ask for size="1-2" (or more) and supports=True; with union=True a part is seldom missing.

        support: float64, 0 to 1. Where supports were asked for there are count (Int64), the same in units, and lower
            and upper (float64), the ends of the 95 % interval as shares. Where not, support is missing throughout
            (Float64, for which association_rules raises a TypeError; a plain NaN it would take for "no rules").
        relative: False for support, lower and upper in units (Int64), whatever is known of their number.
        lists: itemsets as lists, which Parquet can hold, not as frozensets; items of both kinds then become strings.
        An outcome without a name (Itemset.items is None) has no row, for such frames hold sets.
        Raises ParameterError where supports were asked for, but the number of units is not known (add-remove without
        count): there are no shares then, and rules made of counts would be wrong.
        """
        named = [itemset for itemset in self.itemsets if itemset.items is not None]
        columns: dict[str, Any] = _counts(named, self._has_supports)
        dtypes = {}
        if relative and self._has_supports:
            if self.units is None:
                raise ParameterError(self._no_shares())
            bounds = [self.share_interval_of(itemset) or (None, None) for itemset in named]
            columns = {
                "support": list(map(self.share_of, named)),
                "count": columns["support"],
                "lower": [low for low, _ in bounds],
                "upper": [high for _, high in bounds],
            }
            # Of no units there are no shares: missing then, whatever came out.
            dtypes = dict.fromkeys(("support", "lower", "upper"), "float64" if self.units else "Float64")
        elif relative:
            dtypes = {"support": "Float64"}
        return frames.pandas_frame([itemset.items or () for itemset in named], columns, dtypes, lists=lists)

    def _no_shares(self) -> str:
        """Say why supports are no shares, and what to do."""
        relation, private = parameter("neighbors"), str(self.neighbors)
        return (
            f"supports cannot be told as shares of all {self.privacy_unit}s, which association_rules needs: under "
            f"{relation} {private!r} how many there are is private. Mine again with {parameter('count')}=True, which "
            f"buys a noisy count, or with {relation}='replace-one', where it is public; or take the supports as they "
            "are, in units: to_pandas(relative=False)"
        )


def _counts(itemsets: Sequence[Itemset], has_supports: bool) -> dict[str, list[int | None]]:
    """Return what is known of itemsets in units: their supports and, where these were asked for, lower and upper."""
    columns = {"support": [itemset.support for itemset in itemsets]}
    if has_supports:
        for place, name in enumerate(("lower", "upper")):
            columns[name] = [itemset.interval and itemset.interval[place] for itemset in itemsets]
    return columns
