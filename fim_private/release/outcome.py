"""What came out, and under which guarantee: all that leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

from fim_private.dp.charge import Charged
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost
from fim_private.release import words
from fim_private.request.budget import Share
from fim_private.request.itemsets import Itemset, Itemsets
from fim_private.request.request import MiningOptions, Scope
from fim_private.request.supports import SupportNoise


@dataclass(frozen=True, repr=False)
class Outcome(Itemsets):
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
    scope: what counted of the data, and what an item is, by public choices.
    where: the condition, public as it was asked for, by which rows were read; None where all were.
    noise: the noise of the supports; None where none were released.
    keep_all: whether all were kept that do not stand out from the noise. Otherwise those were left out that levelwise
        counted, or whose noisy supports did not; of picks without supports nothing tells.
    units: how many units there are, as they were read (docs/privacy.md, "The number of units"): exactly under
        replace-one, which makes that number public; otherwise a noisy count, with supports or asked for, or None.
    units_interval: (lowest, highest), a 95 % interval of their true number; None where units is exact or None.
    units_noise: the noise of units; None where it is exact or None.
    parts: every part of the itemsets that is not among them, with its noisy support, where rules were asked for;
        with_parts: whether they were. max_basket, max_baskets: the public caps on what of a basket and a user counted.
    zcdp: where the budget was given as rho, the (rho, delta) of all of it: it is delta-approximately rho-zCDP, and cost
        is the (epsilon, delta) that follows from it; None elsewhere.
    chosen_from: the sizes of which this one was chosen privately; none where it was named.
    min_support: the least support that was asked for, as it was: a share of all units, below 1, or a number of units;
        None where the most frequent itemsets were asked for. threshold: the same in units, of a noisy number of them
        where that is not exact. capped: whether as many were found as `top` allows, so that more may reach it.
    shortfall: where itemsets were picked one by one: with 95 % probability, none that was passed over has over so many
        units more than one that was picked with it, of its size or, with union, of any. None where no such number
        follows from public parameters.
    charged: what a ledger said when it was charged; None where there was none.
    request: what was asked for, from which advice follows; None where itemsets were given, and in a loaded release.
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
    where: str | None = None
    scope: Scope = field(default_factory=Scope)
    top: int = 1
    union: bool = False
    shares: tuple[Share, ...] = ()
    noise: SupportNoise | None = None
    reason: str | None = None
    keep_all: bool = False
    units: int | None = None
    units_interval: tuple[int, int] | None = None
    zcdp: ZcdpCost | None = None
    shortfall: int | None = None
    min_support: float | int | None = None
    threshold: int | None = None
    capped: bool = False
    units_noise: SupportNoise | None = None
    parts: tuple[Itemset, ...] = ()
    with_parts: bool = False
    max_basket: int | None = None
    max_baskets: int | None = None
    charged: Charged | None = None
    chosen_from: tuple[int, ...] = ()
    request: MiningOptions | None = field(default=None, compare=False)

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
    def rho(self) -> Exact | None:
        """The rho spent, of zero-concentrated privacy, where the budget was given so; None elsewhere."""
        return None if self.zcdp is None else self.zcdp.rho

    @property
    def counted(self) -> bool:
        """Whether levelwise counted its candidates, and left out what does not stand out."""
        return self.mechanism == "levelwise" and self.min_support is None

    def share_of(self, itemset: Itemset) -> float | None:
        """Return the share of all units that have an itemset of this release, 0 to 1: its noisy support / units.

        None where its support was not released, or the number of units is not known or 0.
        """
        if itemset.support is None or not self.units:
            return None
        return min(itemset.support / self.units, 1.0)

    def share_interval_of(self, itemset: Itemset) -> tuple[float, float] | None:
        """Return (lowest, highest), a 95 % interval of the true share; None where there is no share_of.

        Where the number of units is noisy it was made with the release: of the covariance of both where their noise is
        two normals, otherwise of intervals of both that are wider than those of 95 %.
        """
        if itemset.interval is None or not self.units:
            return None
        if self.units_interval is not None:
            return itemset.share_interval
        low, high = itemset.interval
        return min(low / self.units, 1.0), min(high / self.units, 1.0)

    @property
    def rows_read(self) -> tuple[str, ...]:
        """Which rows were read, what of them counted, and how a size was chosen, in sentences; nothing where none was,
        and everything counted."""
        return (*words.rows_where(self.where), *self.scope.told(self.privacy_unit), *self._size_choice)

    @property
    def _size_choice(self) -> tuple[str, ...]:
        """How the size was chosen, in a sentence; nothing where it was named."""
        if not self.chosen_from:
            return ()
        part = next((100 * float(share.fraction) for share in self.shares if share.purpose == "size"), 0.0)
        come_out = "an itemset comes out" if self.top == 1 else f"{self.top:,} itemsets come out"
        return (
            f"The size {self.sizes[0]} was chosen privately of {self.chosen_from[0]} to {self.chosen_from[-1]}, for "
            f"{part:.3g} % of the budget: by lot, most likely the largest at which {come_out}.",
        )

    @property
    def has_shares(self) -> bool:
        """Whether supports can be told as shares, whatever came out."""
        return self.has_supports and self.units is not None

    @property
    def has_supports(self) -> bool:
        """Whether supports were asked for, whatever came out: the forms below must not depend on that."""
        return any(share.purpose == "supports" for share in self.shares)
