"""A release: what came out, under which guarantee, and the forms in which it is handed on."""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Unpack, overload

from fim_private.display import MARK, JsonObject, Table, markdown, printable
from fim_private.dp.accountant import Step, Sums
from fim_private.dp.charge import Charged, for_good
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost, at_most, least_in_words
from fim_private.errors import ParameterError, parameter, shown
from fim_private.options.declaration import filled, takes
from fim_private.options.outputs import FigureKind
from fim_private.options.requests import RuleLimits
from fim_private.planning.advice import Advice, advice
from fim_private.reading.labels import Item
from fim_private.release import forms, words
from fim_private.release.chart import draw
from fim_private.release.figures import figure_charts
from fim_private.release.files import Published
from fim_private.release.rules import (
    RuleChoice,
    Rules,
    RulesBySegment,
    is_clearly_more,
    rules_of,
)
from fim_private.request.groups import itemsets_of, range_of
from fim_private.request.itemsets import Itemset
from fim_private.request.pooling import LEAST_ITEMSETS
from fim_private.request.request import Request
from fim_private.request.scope import Scope
from fim_private.request.supports import SupportNoise

__all__ = ["Itemset", "Release"]

_MOST_COLUMNS, _MOST_DECIMALS = 10_000, 6
# Of supports that decide which itemsets are shown (docs/privacy.md, "Noisy supports").
_LIFTED = (
    "Noise also decides whose support is large enough to be shown. It lifts some, so fewer than "
    "95 % of these intervals may hold."
)


@dataclass(frozen=True, repr=False)
class Release(Published):
    """A release: its itemsets, as a sequence, and its guarantee.

    It has len(release), release[0], release[{"milk", "tea"}].support, {"tea"} in release. One that
    abstained is empty, and so is false; it has spent its budget all the same.

    docs/json.md explains what is in its JSON; None, or empty, where that has no key. Besides:
    sizes: those asked for. cost: the (epsilon, delta) of all of it; zcdp: the (rho, delta) it
    follows from, if any.
    parts: every subset of the itemsets that is not one of them, if rules were asked for
        (with_parts). known: itemsets that
        were known, and are in neither. scope: what counted, and what an item is.
    missing_user: the rule for rows without a user. "own-unit" makes each such basket a unit, "drop"
        leaves it out; None if there was no rule.
    keep_all: whether itemsets that do not stand out from the noise stayed, of levelwise or with
    noisy supports.
    units: exact under replace-one, which makes that number public; otherwise a noisy count, or
    None.
    shortfall: of itemsets that were picked one by one. With 95 % probability, nothing that was left
        out has over `shortfall` units more than one that was picked. None if no such number follows
        from public parameters.
    adds_up: what it adds to a sum over several releases, by the names of `accountant.SUMS`: of one
    unit, but of a user with all the periods that are a unit each. None if that is not known.
    charged: what a ledger says. date, version: the day on which it was made, and by which
    fim-private; None with a seed, which makes the same on any day.
    request: what was asked for; None where itemsets were given, and in a loaded release.
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
    shares: tuple[Step, ...] = ()
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
    known: tuple[Itemset, ...] = ()
    with_parts: bool = False
    max_basket: int | None = None
    max_baskets: int | None = None
    adds_up: Sums | None = field(default=None, compare=False)
    charged: Charged | None = None
    date: datetime.date | None = None
    version: str | None = None
    request: Request | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.itemsets)

    def __iter__(self) -> Iterator[Itemset]:
        return iter(self.itemsets)

    def __contains__(self, itemset: object) -> bool:
        return self._with_items(itemset) is not None

    @overload
    def __getitem__(self, place: slice) -> tuple[Itemset, ...]: ...
    @overload
    def __getitem__(self, place: int | Itemset | Collection[Item]) -> Itemset: ...
    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice) or hasattr(place, "__index__"):
            return self.itemsets[place]
        itemset = self._with_items(place)
        if itemset is None:
            raise KeyError(place)
        return itemset

    def _with_items(self, itemset: object) -> Itemset | None:
        items: Collection[Item] | None
        if isinstance(itemset, Itemset):
            items = itemset.items
        # A text is a collection, too: of letters, which nobody means as items.
        elif isinstance(itemset, Collection) and not isinstance(itemset, str | bytes):
            items = itemset
        else:
            example = "{'milk', 'tea'}"
            raise ParameterError(
                f"{parameter('itemset')} must be a collection of items such as {example}, not "
                f"{shown(itemset)}"
            )
        key = None if items is None else {*items}
        for released in self.itemsets:
            if (released.items and {*released.items}) == key:
                return released
        return None

    @property
    def wanted(self) -> int:
        """How many itemsets were asked for in all, of those that are possible."""
        itemsets = self.top if self.union else self.top * len(self.sizes)
        return int(min(itemsets, self._possible))

    @property
    def _possible(self) -> float:
        """How many itemsets the listed items make; infinity if none are listed."""
        listed = self.scope.catalogue
        if listed is None or listed.items is None:
            return math.inf
        required = len(self.scope.with_items)
        return sum(math.comb(listed.items - required, size - required) for size in self.sizes)

    @property
    def noisy_units(self) -> int | None:
        """About how many units there are, or some of them, by what was released with noise.

        None where nothing says it.
        """
        if self.units is not None:
            return None if self.units_noise is None else self.units
        supports = (itemset.support for itemset in self if itemset.support is not None)
        return max(supports, default=None)

    @property
    def rho(self) -> Exact | None:
        """The ρ spent, if the budget was given as ρ."""
        return None if self.zcdp is None else self.zcdp.rho

    @property
    def counted(self) -> bool:
        """Whether levelwise counted its candidates, and left out what does not stand out."""
        return self.mechanism == "levelwise" and self.min_support is None

    @property
    def by_segment(self) -> dict[str, Release]:
        """The release under no name, as a SegmentedRelease has those of segments under theirs."""
        return {"": self}

    @property
    def whole(self) -> Release:
        """The release, as a SegmentedRelease has what holds for all of its releases."""
        return self

    @property
    def heading(self) -> str:
        """What stands above it, of several: the column and the segment, period, item or level."""
        before = {"item": "With ", "level": "By ", "segment": f"{self.scope.by} "}
        return printable(f"{before.get(self.kind_of_part, '')}{self.scope.part or ''}")

    # The forms below must not depend on what came out, so these two say what was asked for.
    @property
    def has_supports(self) -> bool:
        """Whether supports were asked for, whatever came out."""
        return any(share.purpose == "supports" for share in self.shares)

    @property
    def is_pooled(self) -> bool:
        """Whether supports draw on each other."""
        return any(itemset.exact_interval is not None for itemset in self.itemsets)

    @property
    def held(self) -> str:
        """How the 95 % of its intervals are meant, in words."""
        return "of which so many hold the true number" if self.is_pooled else "each by itself"

    def with_exact_intervals(self) -> Release:
        """Return the same release with supports and intervals that each hold by themselves.

        They are wider than those which draw on other itemsets, of which 95 % hold.
        """
        itemsets = (itemset.by_itself for itemset in self.itemsets)
        ordered = sorted(itemsets, key=lambda itemset: -(itemset.support or 0))
        return replace(self, itemsets=tuple(ordered))

    def maximal(self) -> tuple[Itemset, ...]:
        """Return the itemsets that are part of no other itemset of this release."""
        return tuple(itemset for itemset, larger in self._with_larger() if not larger)

    def closed(self) -> tuple[Itemset, ...]:
        """Return the itemsets that have more support than any other of this release that contains
        them.

        Noisy supports decide. An itemset is doubtful if it was released so, and also if a larger
        one has no clearly lower support. Raises ParameterError if the release has no supports.
        """
        if not self.has_supports:
            raise ParameterError(
                f"closed itemsets need supports: mine again with {parameter('supports')}"
            )
        closed = []
        for itemset, larger in self._with_larger():
            support, supports = _estimate(itemset), [*map(_estimate, larger)]
            if all(estimate[0] < support[0] for estimate in supports):
                is_clear = all(is_clearly_more(support, estimate) for estimate in supports)
                closed.append(replace(itemset, doubtful=itemset.doubtful or not is_clear))
        return tuple(closed)

    def _with_larger(self) -> Iterator[tuple[Itemset, list[Itemset]]]:
        """Yield each itemset, and those of this release that have all of its items and more."""
        sets = [(frozenset(itemset.items or ()), itemset) for itemset in self]
        for items, itemset in sets:
            yield itemset, [larger for superset, larger in sets if items < superset]

    @property
    def has_shares(self) -> bool:
        """Whether supports can be given as shares of all units, whatever came out."""
        return self.has_supports and self.units is not None

    @property
    def has_doubts(self) -> bool:
        """Whether it can be known of itemsets that they may not be among those asked for, whatever
        came out.
        """
        is_ranked = self.has_supports and self.shortfall is not None and self.top > 1
        return self.min_support is not None or self.counted or is_ranked

    @property
    def size(self) -> int | str:
        """The size of the itemsets, or a range such as "2-4"."""
        return range_of(self.sizes)

    @property
    def decimals(self) -> int:
        """With how many decimals shares are written, in per cent."""
        # So many tell more than the noise of a support does.
        half_width = 0.5 if self.noise is None else max(self.noise.half_width, 0.5)
        resolution = 100 * half_width / max(self.units or 0, 1)
        return min(max(math.ceil(-math.log10(resolution)), 1), _MOST_DECIMALS)

    def share_of(self, itemset: Itemset) -> float | None:
        """Return the share of all units that have an itemset of this release, 0 to 1; None where
        that is not known.
        """
        if itemset.support is None or not self.units:
            return None
        return min(itemset.support / self.units, 1.0)

    def share_interval_of(self, itemset: Itemset) -> tuple[float, float] | None:
        """Return (lowest, highest), a 95 % interval of the true share; None where there is no
        share_of.
        """
        if not self.units:
            return None
        # If the number of units is noisy, it was made with the release, from the noise of both.
        if itemset.interval is None or self.units_interval is not None:
            return itemset.share_interval
        low, high = itemset.interval
        return min(low / self.units, 1.0), min(high / self.units, 1.0)

    @property
    def protected(self) -> str:
        """What the guarantee protects, in words."""
        whom = words.protected(self)
        return f"{whom}, {words.SAME_ITEMS}" if self.scope.items_are_public else whom

    @property
    def title(self) -> str:
        """What was released, in words: how many itemsets of how many, or why there are none."""
        if self.mechanism == words.GIVEN:
            if self.top == 1:
                return "The support of the itemset given"
            return f"The supports of the {self.top:,} itemsets given"
        count = len(self.itemsets)
        if not count:
            return self._no_itemsets
        if self.min_support is not None:
            least = self._least(self.privacy_unit)
            return f"{count:,} {self._kinds(count)} with a noisy support of at least {least}"
        marks = [itemset.doubtful for itemset in self.itemsets]
        if any(marks):
            return words.candidates(count, marks.count(False), self._among)
        if self.wanted == 1:
            return f"The most frequent {self._kinds(1)}, {self._ranked_by}"
        number = f"{count:,} of the {self.wanted:,}"
        if count == self.wanted:
            number = f"The {count:,}"
        rank = "possible" if self.wanted == self._possible else "most frequent"
        kinds = f"{rank} {self._kinds(self.wanted)}"
        if not self.union and len(self.sizes) > 1:
            kinds += f" ({self.top:,} of each size)"
        return f"{number} {kinds}, {self._ranked_by}"

    def _kinds(self, number: int) -> str:
        """Return what was sought, such as "pairs with tea". number: how many, for the plural."""
        return itemsets_of(self.sizes, number) + self.scope.with_in_words

    @property
    def _no_itemsets(self) -> str:
        """The title of a release without itemsets: that there are none, and why."""
        if self.scope.part is not None:
            return self.nothing
        kind = self._kinds(1)
        if self.min_support is not None:
            least = self._least(self.privacy_unit)
            return f"No {kind} was found with a noisy support of at least {least}."
        why = "the mechanism abstained"
        if self.counted:
            why = "none was found" if self.keep_all else "none stood out from the noise"
        return f"No {kind} was released: {why}."

    @property
    def _ranked_by(self) -> str:
        """By what the itemsets are the most frequent, in words."""
        if self.noise is not None:
            return "by noisy support"
        if self.counted:
            return "by noisy count"
        return f"as picked by {self.mechanism}"

    @property
    def _among(self) -> str:
        """What an itemset was sought as, such as "among the 50 most frequent"."""
        most = "the most frequent" if self.top == 1 else f"among the {self.top:,} most frequent"
        if len(self.sizes) > 1 and not self.union:
            most += " of the same size"
        return most + self.scope.with_in_words

    @property
    def nothing(self) -> str:
        """That nothing came out, in plain words: for whoever reads a page, not for whoever made
        it.
        """
        segment = self.scope.part
        for_whom = "" if segment is None else f" for {printable(segment)}"
        if self.min_support is not None:
            return (
                f"Nothing{self.scope.with_in_words} was found{for_whom} with a noisy support of at "
                f"least {self._least(self.privacy_unit)}."
            )
        verb = "was found" if self.keep_all else "stood out from the noise"
        return f"Nothing{self.scope.with_in_words} {verb}{for_whom}."

    def _least(self, unit: str) -> str:
        """Return the least support that was asked for, in words. unit: what has it."""
        assert self.threshold is not None
        if isinstance(self.min_support, int):
            return words.number_of(self.threshold, unit)
        about = "" if self.units_interval is None else "about "
        # Rounded down, never up: what is said of itemsets below the support that was asked for
        # holds below that, too.
        percent = at_most(100 * Exact(self.min_support or 0))
        return f"{percent} % of all {words.units_of(self, unit)} ({about}{self.threshold:,})"

    @property
    def guarantee(self) -> str:
        """The guarantee, in one sentence; more where the budget was given as rho, or a unit is a
        user's period.
        """
        if not self.private:
            return words.SEEDED
        sentence = words.guarantee(self.mechanism, self.neighbors, self)
        if self.zcdp is not None:
            approximately = ""
            if self.zcdp.delta:
                approximately = f"{least_in_words(self.zcdp.delta)}-approximately "
            sentence += (
                f" This follows from {approximately}ρ-zCDP with ρ = "
                f"{least_in_words(self.zcdp.rho)}, which adds up: "
                "several releases spend the sum of their ρ."
            )
        per = self.scope.per
        if per is not None:
            sentence += f" {for_good(per, self.scope.periods, self.adds_up)}"
        return sentence

    @property
    def certainty(self) -> tuple[str, ...]:
        """How certain it is that these itemsets are what was asked for, in sentences; none where
        they were given.
        """
        return self.certainty_for(self.privacy_unit)

    def certainty_for(self, unit: str) -> tuple[str, ...]:
        """Return the sentences of `certainty`. unit: what they call a unit, such as "customer"."""
        if self.mechanism == words.GIVEN or not self.itemsets:
            return ()
        marks = [itemset.doubtful for itemset in self if itemset.doubtful is not None]
        if self.min_support is not None:
            # It is about what lies below, not what is shown (docs/privacy.md, "A least support").
            least = self._least(unit)
            sure = (
                f"Of itemsets below {least}, at most 2.5 % come out unmarked (without "
                f"{MARK}), "
                "on average. If many lie just below, they may be most of those that are unmarked."
            )
            if any(marks):
                sure = f"{MARK} may have less than {least}, because of the noise. {sure}"
            missed = "Others may have as much, but were not found."
            if self.capped:
                missed = f"Only {self.top:,} were looked at, which is the limit. {missed}"
            return sure, missed, _LIFTED
        sentences = []
        if not self.counted:
            sentences.append(self._odds(unit))
        if marks:
            sentences.append(words.ranks(marks, self._among))
        if self.counted and not all(marks):
            # For how many units a weight stands is estimated from the itemsets that were found
            # (docs/privacy.md, "How certain a release is").
            sentences[-1] += f" This assumes that {_alike(unit)}."
        if self._leaves_out_by_support:
            sentences.append(_LIFTED)
        return tuple(sentences)

    @property
    def _leaves_out_by_support(self) -> bool:
        """Whether itemsets may have been left out for their noisy supports alone.

        Levelwise leaves out by its counts, too, whose noise is not that of supports.
        """
        is_short = len(self.itemsets) < self.wanted
        return is_short and self.has_supports and not self.counted and not self.keep_all

    def _odds(self, unit: str) -> str:
        """Return how far a pick may be from the best, in sentences."""
        left_out = "nothing that was left out"
        if len(self.sizes) > 1 and not self.union:
            left_out = "nothing of the same size that was left out"
        if self.shortfall == 0:
            return f"{left_out.capitalize()} has more support."
        chance = (
            "The choice was random: the more support an itemset has, the likelier it is chosen."
        )
        if self.shortfall is None:
            return f"{chance} So chance decides between near ties."
        lead = words.number_of(self.shortfall, unit)
        return (
            f"{chance} With 95 % probability, {left_out} has over {lead} more than one that was "
            "chosen."
        )

    @property
    def rows_read(self) -> tuple[str, ...]:
        """Which rows were read, and what of them counted, in sentences."""
        return self.rows_read_for(self.privacy_unit)

    def rows_read_for(self, unit: str) -> tuple[str, ...]:
        """Return the sentences of `rows_read`. unit: what they call a unit, such as "customer"."""
        sentences = [*words.rows_where(self.where), *self.scope.sentences(unit)]
        if self.counts_for_rules:
            sentences.append(words.counted_for_rules(f"{unit}s"))
        if self.scope.period is not None and self.abstained and self.mechanism != words.GIVEN:
            sentences.append("A period without baskets gives the same, and costs as much.")
        return tuple(sentences)

    @property
    def counts_for_rules(self) -> bool:
        """Whether an itemset counts users who had it in several baskets, which is the default for
        rules.
        """
        return self.with_parts and self.scope.unites

    @cached_property
    def advice(self) -> Advice | None:
        """What to ask instead where less than was asked for came out, for whoever asks: no form
        handed on has it.
        """
        is_complete = len(self.itemsets) >= self.wanted
        if self.request is None or self.min_support is not None or is_complete:
            return None
        low, high = self.units_interval or (0, 0)
        # else a share of it would say nothing
        is_clear = self.units is not None and high - low <= self.units / 5
        units = self.units if is_clear else None
        return advice(self.request, units, len(self.itemsets))

    @property
    def hopeless(self) -> str | None:
        """What to say where nothing came out and there is no advice; None elsewhere."""
        if self.itemsets or self.request is None or self.advice is not None:
            return None
        if self.min_support is not None:
            return f"Try a smaller minimum support, a larger budget, or more {self.privacy_unit}s."
        return f"No other request is likely to find anything: you need more {self.privacy_unit}s."

    @property
    def columns(self) -> tuple[str, ...]:
        """The headings of `cells`."""
        if not self.has_supports:
            return ("itemset",)
        shares = ("share",) * self.has_shares
        return ("itemset", "support", *shares, "95 % interval")

    def cells(self, itemset: Itemset) -> tuple[str, ...]:
        """Return an itemset as texts, one for each of `columns`."""
        named = words.braces(itemset.items, self.privacy_unit)
        if itemset.doubtful:
            named += f" {MARK}"
        if not self.has_supports:
            return (named,)
        if itemset.support is None or itemset.interval is None:
            return (named, "not released", *("",) * (1 + self.has_shares))
        low, high = itemset.interval
        share = words.percent(self.share_of(itemset) or 0, self.decimals)
        shares = (share,) * self.has_shares
        return (named, f"{itemset.support:,}", *shares, f"{low:,} to {high:,}")

    def table(self, *, promise: bool = True) -> Table:
        """Return what a session, a notebook and Markdown show: itemsets, how certain they are, and
        what was read.
        """
        notes = [*self.certainty, *self.rows_read]
        if promise:
            notes += words.promises(self)
        rows = [*map(self.cells, self)]
        return Table(self.title, self.columns, rows, notes, "release.to_pandas(relative=False)")

    def __repr__(self) -> str:
        lines = [super().__repr__()]
        if self.advice is not None:  # of a session: nobody hands it on
            purpose = "find more" if self.itemsets else "try"
            lines.append(f"To {purpose}: {self.advice}")
        elif self.hopeless:
            lines.append(self.hopeless)
        return "\n".join(lines)

    def to_dict(self, *, whole: bool = False) -> JsonObject:
        """Return plain values, in the order of the JSON schema (docs/json.md). whole: as in
        to_json.
        """
        return forms.plain_values(self, everything=whole)

    def sheet_rows(self) -> forms.Rows:
        """Return the rows that CSV and a sheet of Excel have, the header first."""
        itemsets = [itemset.items or () for itemset in self.itemsets]
        # For sizes that no basket has there are no more columns than a spreadsheet has.
        items = forms.item_columns("item", itemsets, min(max(self.sizes), _MOST_COLUMNS))
        return forms.rows_of(items | self.columns_of(self.itemsets))

    def columns_of(self, itemsets: Sequence[Itemset]) -> forms.Columns:
        """Return the columns of a frame besides the itemsets, by name: a value for each itemset."""
        columns: forms.Columns = {}
        versions = {"": itemsets}
        # Supports draw on each other if enough came out, and exact ones stand beside.
        if self.has_supports and self.counted and self.wanted >= LEAST_ITEMSETS:
            versions["exact_"] = [itemset.by_itself for itemset in itemsets]
        for prefix, version in versions.items():
            columns[f"{prefix}support"] = [itemset.support for itemset in version]
            if self.has_supports:
                columns |= _ends(prefix, [itemset.interval for itemset in version])
        if self.has_shares:
            columns["share"] = [self.share_of(itemset) for itemset in itemsets]
        if self.has_doubts:
            columns["doubtful"] = [itemset.doubtful for itemset in itemsets]
        return columns

    def to_markdown(self, rules: RulesBySegment | None = None) -> str:
        """Return Markdown: the itemsets as a table, how certain they are, rules if given, and the
        guarantee.
        """
        tables = [self.table(promise=False), *map(Rules.table, (rules or {}).values())]
        return "\n".join([*map(Table.markdown, tables), promise_of(self)])

    def to_pandas(
        self, *, relative: bool = True, lists: bool = False, downward_closed: bool = False
    ) -> forms.Frame:
        """Return a pandas.DataFrame with mlxtend's columns: support, a share of all units, and
        itemsets, frozensets.

        `mlxtend.frequent_patterns.association_rules` takes it if it was mined with rules=True:
        `parts` then follow the itemsets, and the supports of all are exact. An outcome without a
        name (Itemset.items is None) has no row.
        support: float64, 0 to 1. If supports were asked for, count (Int64) is the same in units.
            lower and upper (float64) are the ends of the 95 % interval, as shares. Otherwise
            support is missing throughout (Float64): association_rules then raises a TypeError,
            whereas a plain NaN would mean "no rules" to it.
        doubtful: whether an itemset may not be among those asked for (boolean). There is such a
            column where that can be known. It is missing for `parts`, which were not asked for.
        relative: False for support, lower and upper in units (Int64), whether or not their number
        is known.
        lists: itemsets as lists, which Parquet can hold; items of both kinds then become strings.
        downward_closed: only itemsets whose subsets were all released too, as rules need. Raises
        ParameterError if supports were asked for but the number of units is not known (add-remove
        with Laplace noise, without count). Rules made of counts would be wrong.
        """
        # Rules compare itemsets with their parts, whose supports are exact.
        itemsets = self.with_exact_intervals().itemsets if self.with_parts else self.itemsets
        named = [itemset for itemset in (*itemsets, *self.parts) if itemset.items is not None]
        if downward_closed:
            named = forms.downward_closed(named)
        columns, dtypes = self.columns_of(named), {"doubtful": "boolean"}
        shares = columns.pop("share", None)
        if relative:
            # Without units there are no shares: they are missing then, whatever came out.
            dtype = "float64" if self.has_supports and self.units else "Float64"
            dtypes |= dict.fromkeys(("support", "lower", "upper"), dtype)
        if relative and self.has_supports:
            if shares is None:
                raise self._needs_shares()
            of_shares = {"support": shares, "count": columns["support"]}
            of_shares |= _ends("", map(self.share_interval_of, named))
            if "doubtful" in columns:
                of_shares["doubtful"] = columns["doubtful"]
            columns = of_shares
        items = [itemset.items or () for itemset in named]
        return forms.pandas_frame(items, columns, dtypes, lists=lists)

    def _needs_shares(self) -> ParameterError:
        """Return the error that a frame has no shares, as the number of units is private."""
        public = ""
        if not self.scope.chooses_units(self.where):
            public = f", or with {parameter('neighbors')}='replace-one', where it is public"
        return ParameterError(
            f"a support cannot be a share: the number of {self.privacy_unit}s is private. Take the "
            f"supports in {self.privacy_unit}s, to_pandas(relative=False); or mine again with "
            f"{parameter('count')}=True for a noisy number{public}"
        )

    def plot(
        self, ax: forms.Axes = None, *, kind: str = FigureKind.SUPPORTS, relative: bool = True
    ) -> forms.Axes:
        """Draw a picture with matplotlib (extra figures), on new axes unless given, and return
        them.

        Raises MissingExtraError without matplotlib, or without networkx for a network. Raises
        ParameterError where ax is no axes, for another kind, and for one that needs rules which the
        release lacks.

        Args:
            ax: Axes of matplotlib; None for new ones.
            kind: "supports" as dots with intervals; "rules" by lift and confidence; a "network" of
                the rules; or a "matrix" of items by items.
            relative: False for supports in units, not as shares.
        """
        return draw(figure_charts(self, kind, relative=relative)[0], ax)

    @takes(RuleLimits)
    def plot_rules(self, ax: forms.Axes = None, **limits: Unpack[RuleLimits]) -> forms.Axes:
        """Draw the rules that rules() has by confidence and lift with matplotlib, and return the
        axes.

        Raises what rules() and plot() raise.
        """
        choice = RuleChoice.of(filled("plot_rules", RuleLimits, limits))
        return draw(rules_of(self, choice).chart(), ax)


def _estimate(itemset: Itemset) -> tuple[float, float, float]:
    """Return the support of an itemset by itself, and the ends of its interval."""
    alone = itemset.by_itself
    return (alone.support or 0, *(alone.interval or (0, math.inf)))


def _alike(unit: str) -> str:
    """Return what the ranks of levelwise assume of units, in words."""
    if unit == "basket":
        return "long baskets hold much the same items as short ones"
    return (
        f"{unit}s with many items buy much the same ones as {unit}s with few, and buy them again "
        "about as often"
    )


def promise_of(release: Release) -> str:
    """Return the last lines of Markdown: the guarantee, and what a ledger says."""
    return "\n\n".join(map(markdown, words.promises(release))) + "\n"


def _ends(prefix: str, intervals: Iterable[tuple[float, float] | None]) -> forms.Columns:
    """Return the lowest and the highest of each interval, as columns."""
    ends = [interval or (None, None) for interval in intervals]
    return {
        f"{prefix}lower": [lowest for lowest, _ in ends],
        f"{prefix}upper": [highest for _, highest in ends],
    }
