"""What changed between two releases: computed of what they say alone, so that it spends nothing."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from fim_private.display import Table, Tabular, as_json, item_name, printable
from fim_private.dp.accountant import NO_SUMS, Reach, Sums, both, most_spent, smallest_cost
from fim_private.dp.charge import reach_of
from fim_private.errors import ParameterError, parameter, shown
from fim_private.reading.labels import Item
from fim_private.release import words
from fim_private.release.release import Release
from fim_private.release.saved import load
from fim_private.release.segments import SegmentedRelease
from fim_private.request.itemsets import Items, Itemset, Listed
from fim_private.request.supports import NoiseKind

if TYPE_CHECKING:
    import pandas as pd

# Noise is drawn anew for each release, so that the error of a difference is the sum of two
# independent ones. Within a release the supports and the number of units n share noise
# (docs/privacy.md, "What changed"): with two normals, x̂ - p n̂ has the variance b² + (1/2 - p)² a²
# about x - p n. To first order the share x̂/n̂ is off by that over n².
#
# A difference is clear, that is, larger than the noise, if its p-value is (Benjamini and Hochberg
# 1995): of m compared, the i-th least p-value must be at most 0.05 i/m for some i, and then all up
# to the i-th are clear.

FALSE_DISCOVERY_RATE = 0.05
CONFIDENCE = 0.95
# Supports are rounded to whole units, and so are numbers of units.
_ROUNDING = 1.0
# Months are of one length, and so are quarters.
_MOST_LONGER = 1.2
# If one release lacks an itemset, the difference is known from one side only.
_BOUND = {"new": "at least ", "gone": "at most "}


@dataclass(frozen=True)
class Change:
    """How one itemset changed.

    Attributes:
        items: The items of the itemset.
        change: "rise" or "fall", or "new" or "gone" if only one of the releases has it.
        before: The noisy share of all units in the first release, from 0 to 1; None if unknown.
        after: The same in the second release.
        difference: The share after less the share before.
        interval: The (lowest, highest) true difference, with 95 % probability, by itself.
        p_value: How likely noise alone makes such a difference; None if one share is unknown.
        clear: Whether the difference is larger than the noise explains.
    """

    items: Items
    change: str
    before: float | None
    after: float | None
    difference: float | None
    interval: tuple[float, float] | None
    p_value: float | None
    clear: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return plain values, as in JSON."""
        interval = self.interval and [*self.interval]
        return vars(self) | {"items": [*self.items], "interval": interval}


@dataclass(frozen=True, repr=False)
class Changes(Tabular):
    """What changed between two releases: a sequence of Change, the surest first.

    Attributes:
        changes: The changes.
        names: The names of the two releases, such as their periods.
        compared: How many itemsets were compared.
        smallest: The smallest difference of shares that is larger than the noise explains if no
            other is; None if no itemset has a share in both releases.
        releases: The two releases.
        keep_all: Whether changes that may be noise stayed.
    """

    changes: Sequence[Change]
    names: tuple[str, str]
    compared: int
    smallest: float | None
    releases: tuple[Release, Release]
    keep_all: bool

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __getitem__(self, place: int) -> Change:
        return self.changes[place]

    @property
    def unit(self) -> str:
        """The privacy unit, "basket" or "user"."""
        return self.releases[0].privacy_unit

    @property
    def private(self) -> bool:
        """Whether both releases are private: not if a seed was given."""
        return all(release.private for release in self.releases)

    @property
    def decimals(self) -> int:
        """How many decimals a share has in per cent."""
        return max(release.decimals for release in self.releases)

    @property
    def title(self) -> str:
        """How many itemsets changed, in words."""
        before, after = self.names
        itemsets = words.number_of(self.compared, "itemset")
        return f"{self._clear:,} of {itemsets} changed from {before} to {after}"

    @property
    def _clear(self) -> int:
        return sum(change.clear for change in self.changes)

    @property
    def notes(self) -> tuple[str, ...]:
        """How the changes are to be read, in sentences."""
        notes = []
        if not self.private:
            notes.append(words.SEEDED)
        notes.append(
            f"Shares are of all {words.customers(self.unit)}, differences in percentage points. "
            "Each interval holds the true difference with 95 % probability, by itself."
        )
        notes += self.statistics
        if not self._clear:
            notes.append(self.nothing)
        elif not self.keep_all:
            notes.append("Differences that may be noise are left out.")
        return (*notes, "No data was read, and no budget spent.")

    @property
    def nothing(self) -> str:
        """That nothing changed, or can be compared, and the smallest change that would have been
        seen.
        """
        before, after = self.names
        if not self.compared:
            return f"No itemset of {before} and {after} can be compared."
        nothing = f"Nothing changed from {before} to {after} by more than the noise"
        if self.smallest is None:
            return f"{nothing}."
        smallest = math.ceil(100 * self.smallest * 10**self.decimals) / 10**self.decimals
        return f"{nothing}: it takes a change of {smallest:,.{self.decimals}f} points to be seen."

    @property
    def statistics(self) -> list[str]:
        """What the verdicts mean, and what they assume, in sentences."""
        notes = []
        if self.compared:
            notes.append(
                f"The changes are corrected for {words.number_of(self.compared, 'comparison')} "
                "(Benjamini–Hochberg): at most 5 % of those reported are expected to be noise."
            )
        lengths = self._lengths
        if max(lengths) > _MOST_LONGER * min(lengths):
            days = " and ".join(words.number_of(length, "day") for length in lengths)
            notes.append(
                f"Their periods have {days}. In a longer period, more purchases of each customer "
                "count, so shares are larger there."
            )
        if any(release.min_support is not None for release in self.releases):
            notes.append(
                "Noise lifts some itemsets over a least support. Their shares tend to be too high "
                "there, so their intervals hold less often."
            )
        in_one = [change for change in self.changes if change.change in ("new", "gone")]
        if in_one:
            notes.append(
                "A new or gone itemset is in one release only. Its share in the other is taken to "
                "be below that of everything there. It may also have been missed."
            )
        if any(change.interval is None for change in in_one):
            notes.append(
                "Without an interval nothing is known of it in the other release, which has "
                "nothing of its size, or had another list to look through."
            )
        return notes

    @property
    def _lengths(self) -> tuple[int, ...]:
        """How many days the periods have in which all baskets of a user count together; 1 for other
        releases, whose shares do not depend on that.
        """
        spans = [release.scope.span for release in self.releases]
        days = [span.days for span in spans if span.per is None]
        if self.unit != "user" or len(days) < len(spans):
            return (1,)
        return tuple(last - first + 1 for first, last in filter(None, days)) or (1,)

    def table(self) -> Table:
        """Return what a session and a notebook show."""
        heads = ("itemset", "change", *self.names, "difference", "95 % interval")
        rows = [*map(self.cells, self)]
        return Table(self.title, heads, rows, self.notes, text_columns=(0, 1))

    def cells(self, change: Change) -> tuple[str, ...]:
        """Return a change as texts, one for each column of the table."""
        verdict = change.change
        if not change.clear:
            verdict += ", may be noise"
        difference = ""
        if change.difference is not None:
            bound = _BOUND.get(change.change, "")
            difference = f"{bound}{self._points(change.difference)} points"
        interval = " to ".join(map(self._points, change.interval or ()))
        return (
            words.braces(change.items, self.unit),
            verdict,
            self._share(change.before),
            self._share(change.after),
            difference,
            interval,
        )

    def _share(self, share: float | None) -> str:
        return "not released" if share is None else words.percent(share, self.decimals)

    def _points(self, difference: float) -> str:
        """Return a difference of shares as text, in percentage points."""
        return f"{100 * difference:+z,.{self.decimals}f}".replace("-", words.MINUS)

    def to_dict(self) -> dict[str, object]:
        """Return plain values, as in JSON (docs/json.md)."""
        return {
            "before": self.names[0],
            "after": self.names[1],
            "privacy_unit": self.unit,
            "private": self.private,
            "method": "benjamini-hochberg",
            "false_discovery_rate": FALSE_DISCOVERY_RATE,
            "compared": self.compared,
            "clear": self._clear,
            "changes": [change.to_dict() for change in self],
            "notes": [*self.notes],
        }

    def to_json(self) -> str:
        """Return to_dict() as JSON on one line."""
        return as_json(self.to_dict())

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas.DataFrame, a row for each change, with shares from 0 to 1."""
        import pandas as pd

        numbers = ("before", "after", "difference", "lower", "upper", "p_value")
        kinds = dict.fromkeys(("itemsets", "change"), object) | dict.fromkeys(numbers, float)
        kinds["clear"] = bool
        rows = []
        for change in self:
            lower, upper = change.interval or (None, None)
            ends = {"itemsets": frozenset(change.items), "lower": lower, "upper": upper}
            rows.append(vars(change) | ends)
        return pd.DataFrame(rows, columns=[*kinds]).astype(kinds)

    def __str__(self) -> str:
        return self.table().text(len(self))


class _Estimate(NamedTuple):
    """A noisy share of all units, and its error, in shares.

    Attributes:
        share: The share.
        interval: Its 95 % interval.
        variance: The variance of its normal noise.
        laplace: The scales of its Laplace noise.
        slack: By how much rounding, and making supports consistent, may have moved it.
    """

    share: float
    interval: tuple[float, float]
    variance: float
    laplace: tuple[float, ...]
    slack: float

    @classmethod
    def of(cls, release: Release, itemset: Itemset) -> _Estimate:
        """Return the estimate of an itemset of a release with shares."""
        share = release.share_of(itemset) or 0.0
        interval = release.share_interval_of(itemset) or (0.0, 1.0)
        support, (lowest, highest) = itemset.support or 0, itemset.interval or (0, 0)
        noise, units = release.noise, release.units
        assert noise is not None
        assert units
        variance = 0.0
        laplace = []
        if noise.of_units is not None:
            variance += float(noise.parameter) + (0.5 - share) ** 2 * float(noise.of_units)
        else:
            for count_noise, weight in ((noise, 1.0), (release.units_noise, share)):
                if count_noise is None:
                    continue
                if count_noise.kind is NoiseKind.LAPLACE:
                    laplace.append(weight * float(count_noise.parameter) / units)
                else:
                    variance += weight**2 * float(count_noise.parameter)
        # A support that contradicted an inclusion has a wider interval, by as much as it may have
        # been moved.
        below = support - lowest if lowest else 0
        moved = max(highest - support, below) - noise.half_width
        rounded = _ROUNDING
        if release.units_noise is not None:
            rounded += share * _ROUNDING
        slack = (max(moved, 0) + rounded) / units
        return cls(share, interval, variance / units**2, tuple(laplace), slack)


class _Last(NamedTuple):
    """The least frequent itemset of a release, by the estimates.

    Which one it is, noise decides. So what is said of it has to hold for each that might be it
    (Bonferroni).

    Attributes:
        estimate: Its share.
        listed: How many itemsets might be it.
    """

    estimate: _Estimate
    listed: int


def _tail(distance: float, *estimates: _Estimate) -> float:
    """Return at most how likely the errors of estimates add up to a distance >= 0, either way.

    For normal noise alone it is exact. Otherwise all normal noise together, and each Laplace noise,
    has a part of the distance in proportion to its deviation. If the errors add up to the distance,
    at least one of them reaches its part (union bound).
    """
    variance = sum(estimate.variance for estimate in estimates)
    scales = [scale for estimate in estimates for scale in estimate.laplace if scale]
    deviations = [math.sqrt(2) * scale for scale in scales]
    if variance:
        deviations.append(math.sqrt(variance))
    if not deviations:
        return 0.0 if distance > 0 else 1.0
    in_deviations = distance / sum(deviations)
    normal = math.erfc(in_deviations / math.sqrt(2)) if variance else 0.0
    return min(normal + len(scales) * math.exp(-math.sqrt(2) * in_deviations), 1.0)


def _reach(probability: float, *estimates: _Estimate) -> float:
    """Return the least distance that errors reach with at most this probability, above 0."""
    low, high = 0.0, 1.0
    while _tail(high, *estimates) > probability:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if _tail(middle, *estimates) <= probability:
            high = middle
        else:
            low = middle
    return high


def _moved(before: _Estimate, after: _Estimate, items: Items) -> Change:
    """Return the change of an itemset that both releases have."""
    difference = after.share - before.share
    direction = "rise"
    if difference < 0:
        direction = "fall"
    slack = before.slack + after.slack
    reach = _reach(1 - CONFIDENCE, before, after) + slack
    return Change(
        items,
        direction,
        before.share,
        after.share,
        difference,
        (max(difference - reach, -1.0), min(difference + reach, 1.0)),
        _tail(max(abs(difference) - slack, 0.0), before, after),
    )


def _new(estimate: _Estimate, last: _Last | None, items: Items) -> Change:
    """Return the change of an itemset that only the later release has.

    last: what the earlier one says of it; None if that is nothing.
    """
    change = Change(items, "new", None, estimate.share, None, None, None)
    if last is None:
        return change
    least = last.estimate
    slack = estimate.slack + least.slack
    lead = estimate.share - least.share - slack
    missed = (1 - CONFIDENCE) / last.listed
    lowest = max(lead - _reach(missed, estimate, least), -1.0)
    interval = min(lowest, estimate.interval[1]), estimate.interval[1]
    excess = estimate.share - least.share - _reach(missed, least) - least.slack
    if excess <= 0:
        return replace(change, interval=interval, p_value=1.0)
    tail = _tail(max(lead, 0.0), estimate, least)
    p_value = min(last.listed * tail / 2, 1.0)  # of one side
    return replace(change, difference=excess, interval=interval, p_value=p_value)


def _reversed(new: Change) -> Change:
    """Return the change of an itemset that is gone: with time reversed it is new."""
    interval = new.interval and (-new.interval[1], -new.interval[0])
    difference = new.difference and -new.difference
    return Change(new.items, "gone", new.after, None, difference, interval, new.p_value)


def changes(
    before: Release | str | os.PathLike[str],
    after: Release | str | os.PathLike[str],
    *,
    keep_all: bool = False,
) -> Changes:
    """Return what changed from one release to another, such as those of two weeks or segments.

    before, after: each a Release, or the path of a saved one, with supports and a number of units.
    keep_all: whether differences that may be noise stay. It reads no data, and spends nothing.
    Raises ParameterError where the two do not count the same, and DataError for a file that is no
    release.
    """
    everything = all_changes(_opened("before", before), _opened("after", after))
    reported = [change for change in everything if keep_all or change.clear]
    return replace(everything, changes=reported, keep_all=keep_all)


def all_changes(before: Release, after: Release) -> Changes:
    """Return how each itemset changed that either release lists, if both count its size.

    It is the one test of change: `changes` and the pages of several releases show what it finds.
    Raises ParameterError where the two do not count the same.
    """
    check_alike(before, after)
    common = {*before.sizes} & {*after.sizes}
    earlier, later = _estimates(before, common), _estimates(after, common)
    last_before = _last_by_size(before, after, common)
    last_after = _last_by_size(after, before, common)
    uncorrected, pairs = [], []
    for key, items in (named_itemsets(after) | named_itemsets(before)).items():
        first, second = earlier.get(key), later.get(key)
        if first and second:
            pairs.append((first, second))
            uncorrected.append(_moved(first, second, items))
        elif second:
            uncorrected.append(_new(second, last_before.get(len(key)), items))
        elif first:
            uncorrected.append(_reversed(_new(first, last_after.get(len(key)), items)))
    p_values = sorted(change.p_value for change in uncorrected if change.p_value is not None)
    clear = _clear_among(p_values)
    corrected = [replace(change, clear=change.p_value in clear) for change in uncorrected]
    corrected.sort(key=lambda change: (-abs(change.difference or 0), [*map(str, change.items)]))
    # The surest come first, and what cannot be told comes last.
    corrected.sort(key=lambda change: (change.p_value is None, change.p_value))
    # The smallest difference whose p-value is small at rank 1.
    rank_one = FALSE_DISCOVERY_RATE / max(len(p_values), 1)
    least = [
        _reach(rank_one, first, second) + first.slack + second.slack for first, second in pairs
    ]
    return Changes(
        changes=corrected,
        names=_names(before, after),
        compared=len(p_values),
        smallest=min(least, default=None),
        releases=(before, after),
        keep_all=True,
    )


def _estimates(release: Release, sizes: Collection[int]) -> dict[frozenset[Item], _Estimate]:
    """Return the estimates of the itemsets of these sizes that have a share in a release."""
    itemsets = itemsets_with_share(release, sizes)
    return {key: _Estimate.of(release, itemset) for key, itemset in itemsets.items()}


def _clear_among(p_values: Sequence[float]) -> set[float]:
    """Return which of ascending p-values are of clear changes (Benjamini and Hochberg)."""
    small = [
        rank
        for rank, p_value in enumerate(p_values, 1)
        if p_value <= FALSE_DISCOVERY_RATE * rank / len(p_values)
    ]
    return {*p_values[: max(small, default=0)]}


def between(release: object, names: str) -> tuple[Release, Release]:
    """Return two of the releases of segments or periods, in a release or in the file at its path.

    names: their names, with a comma between. Raises ParameterError where there are no such two, and
    DataError for a file that is no release.
    """
    whole = release
    if isinstance(release, str | os.PathLike):
        whole = load(release)
    if not isinstance(whole, SegmentedRelease):
        raise ParameterError(
            f"{parameter('between')} is for a release of several segments or periods, not "
            f"{shown(release)}"
        )
    # A name may have a comma, too.
    pairs = [
        (before, after) for before, after in permutations(whole, 2) if f"{before},{after}" == names
    ]
    if len(pairs) != 1:
        raise ParameterError(
            f"{parameter('between')} must name two of these, with a comma between: "
            f"{shown(', '.join(whole))}; not {shown(names)}"
        )
    [(before, after)] = pairs
    return whole[before], whole[after]


def _opened(name: str, release: object) -> Release:
    if isinstance(release, str | os.PathLike):
        release = load(release)
    if isinstance(release, SegmentedRelease):
        raise ParameterError(
            f"{parameter(name)} holds {words.number_of(len(release), 'release')}; take that of "
            f"one: fim.load(...)[{shown(next(iter(release)))}].save(...)"
        )
    if not isinstance(release, Release):
        raise ParameterError(
            f"{parameter(name)} must be a release, or the path of a saved one, not {shown(release)}"
        )
    check_has_shares(parameter(name), release)
    return release


def check_has_shares(name: str, release: Release) -> None:
    """Raise ParameterError, which names the release, if its itemsets have no shares."""
    if release.itemsets and not release.has_shares:
        raise ParameterError(
            f"{name} has no shares to compare: mine with {parameter('supports')} and "
            f"{parameter('count')}"
        )


def check_alike(first: Release, second: Release) -> None:
    """Raise ParameterError unless shares of two releases are of the same kind."""
    options, second_options = _options_of(first), _options_of(second)
    pairs = {name: (options[name], second_options[name]) for name in _KIND_OF_SHARES}
    if first.charged is not None and second.charged is not None:
        pairs["dataset"] = first.charged.dataset, second.charged.dataset
    differences = [_difference(name, *pair) for name, pair in pairs.items() if pair[0] != pair[1]]
    if not {*first.sizes} & {*second.sizes}:
        differences.append(f"their itemsets have {first.size} and {second.size} items")
    if differences:
        raise ParameterError(f"these releases are not compared: {differences[0]}")


# The options that two releases must have in common for their shares to be compared.
_KIND_OF_SHARES = (
    *("privacy_unit", "neighbors", "missing_user", "max_basket", "max_baskets", "item", "basket"),
    *("split", "fold_case", "with_items", "exclude", "min_basket", "time", "time_format", "per"),
    *("missing_time", "together", "catalogue_label", "group"),
)


def _options_of(release: Release) -> dict[str, object]:
    """Return the options that a release was made with, by name, and what else it has."""
    listed = release.scope.catalogue or Listed()
    of_list = {"catalogue_label": listed.label, "group": listed.group}
    return {
        **vars(release),
        **vars(release.scope),
        **of_list,
        "per": release.scope.per_in_words,
    }


def _difference(name: str, first: object, second: object) -> str:
    """Return in words that two releases differ in an option, with its values."""
    if isinstance(first, bool):
        only = "first" if first else "second"
        return f"only the {only} was made with {parameter(name)}"
    sentence = f"they differ in {parameter(name)} ({_plain(first)} and {_plain(second)})"
    if name == "together":
        sentence += f"; with {parameter('rules')} it is 'user' unless you say otherwise"
    return sentence


def _plain(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(item_name, value)) or "none"
    if isinstance(value, str):
        value = str(value)  # the text of an enumeration's member
    return shown(value)


def spent_by_all(releases: Sequence[Release]) -> str:
    """Return in words what releases of the same unit spend together.

    Of a user it is the sum, with all periods that the user may be in. A basket is in one period,
    unless a query may have cut it.
    """
    first = releases[0]
    spent: dict[Reach | None, Sums] = defaultdict(lambda: NO_SUMS)
    for release in releases:
        if release.adds_up is None:
            return "An older version made one of these releases: their sum is not known."
        reach = None
        if first.privacy_unit != "user" and not release.scope.query:
            reach = reach_of(release.scope.span, first.privacy_unit, release.neighbors)
        spent[reach] = both(spent[reach], release.adds_up)
    # Where one ledger was charged with all of them, the sum is stated at its δ, as the ledger does.
    budgets = {_delta_of_ledger(release) for release in releases}
    delta = None
    if len(budgets) == 1 and first.scope.per is None:
        delta = budgets.pop()
    cost = smallest_cost(most_spent(spent), delta)
    total = cost.in_words if delta is None else cost.as_total
    who = words.customer(first.privacy_unit)
    if first.scope.per is not None and any(not release.scope.periods for release in releases):
        who += " in a year"
    return (
        f"Together these {len(releases):,} releases spend {total} on one {who}, if they "
        "were planned beforehand."
    )


def _delta_of_ledger(release: Release) -> Fraction | None:
    """Return the δ of the ledger that a release was charged to; None if that is not known."""
    if release.charged is None or release.charged.spent is None:
        return None
    return release.charged.spent.delta


def itemsets_with_share(release: Release, sizes: Collection[int]) -> dict[frozenset[Item], Itemset]:
    """Return the itemsets of these sizes, and the parts of itemsets, that have a share."""
    return {
        frozenset(itemset.items): itemset.by_itself
        for itemset in (*release.itemsets, *release.parts, *release.known)
        if itemset.items is not None
        and len(itemset.items) in sizes
        and release.share_of(itemset) is not None
    }


def named_itemsets(release: Release) -> dict[frozenset[Item], Items]:
    """Return the named itemsets of a release, in its order, without parts and known itemsets."""
    return {
        frozenset(itemset.items): itemset.items
        for itemset in release.itemsets
        if itemset.items is not None
    }


def _last_by_size(release: Release, other: Release, sizes: Collection[int]) -> dict[int, _Last]:
    """Return the least frequent of the itemsets that compete with those of each size.

    Sizes of which nothing is known have no key.

    Args:
        release: The release that lacks an itemset.
        other: The release that has it.
        sizes: The sizes.
    """
    if not _looked_for_all(release, other):
        return {}
    last_by_size = {size: _last_in(release, size) for size in sizes}
    return {size: last for size, last in last_by_size.items() if last is not None}


def _looked_for_all(release: Release, other: Release) -> bool:
    """Return whether a release would have found what the other has, if it were frequent enough."""
    if release.mechanism == words.GIVEN:
        return False
    listed = _list_of(release)
    return listed is None or listed == _list_of(other)


def _list_of(release: Release) -> Listed | None:
    """Return the list of items of a release, without what depends on the itemsets that came out.

    It is None where no item of the data was left out.
    """
    listed = release.scope.catalogue
    if listed is None or listed.items_are_public:
        return None
    return replace(listed, codes=(), within=())


def _last_in(release: Release, size: int) -> _Last | None:
    """Return the least frequent itemset that competes with those of a size; None if there is none.

    An itemset that the release lacks is taken to have no larger share than any of these.
    """
    # With one ranking of all sizes, an itemset competed with the last one of any size.
    sizes = release.sizes if release.union else (size,)
    estimates = [
        _Estimate.of(release, itemset.by_itself)
        for itemset in release.itemsets
        if len(itemset.items or ()) in sizes and release.share_of(itemset) is not None
    ]
    if not estimates:
        return None
    return _Last(min(estimates, key=lambda estimate: estimate.share), len(estimates))


def _names(before: Release, after: Release) -> tuple[str, str]:
    first, second = (printable(release.scope.part or "") for release in (before, after))
    if first and second and first != second:
        return first, second
    return "before", "after"
