"""The association rules A → C of a release: which there are, which are shown, and how."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fim_private.display import MARK, Table
from fim_private.dp.arguments import exact_number, flag, positive_integer
from fim_private.errors import ParameterError, parameter, shown
from fim_private.options.declaration import OptionValues, filled
from fim_private.options.requests import RuleLimits
from fim_private.reading.labels import Item, in_label_order
from fim_private.release import words
from fim_private.release.chart import TITLE, Bar, BarChart, legend_of
from fim_private.release.forms import Rows, item_columns, rows_of
from fim_private.release.labels import named, width
from fim_private.release.metrics import (
    METRICS,
    JointNoise,
    Marks,
    Numbers,
    RuleCounts,
    bounds,
    certainty_of,
    joint_interval,
)
from fim_private.release.plane import NAMED, plane_of
from fim_private.request.itemsets import Items, Itemset, folded_items, items_asked
from fim_private.request.supports import CONFIDENCE, SupportNoise, UnitCount

if TYPE_CHECKING:
    import pandas as pd

Sides = tuple[Items, Items]
# A number, and the ends of its interval.
Estimate = tuple[float, float, float]


class Number(NamedTuple):
    """A number in a table: by what its column is sorted, and how it and its interval are shown."""

    value: float | None
    shown: str
    interval: str = ""


# Nobody reads more dots than this. The other forms of rules have all of them.
_MOST_DRAWN = 100


@dataclass(frozen=True)
class Rules:
    """Rules, the surest first.

    Each interval holds with 95 % probability by itself.

    Attributes:
        sides: The items on the left side of each rule, and those on the right.
        columns: The numbers by the names that mlxtend has for them, then the ends of their
            intervals. Of the metrics there is confidence alone where lift 1 does not mean
            independence.
        doubtful: Whether, within these intervals, the sides may be unrelated, or the rule may miss
            a limit that was set. Without lifts only the latter counts.
        unit: The privacy unit, "basket" or "user".
        decimals: How many decimals a share has in per cent.
        choice: Which rules they are, and in which order.
        wider: How many more would be chosen if the right side could have more items.
        redundant: How many more would be chosen if redundant ones were.
    """

    sides: Sequence[Sides]
    columns: Mapping[str, Numbers]
    doubtful: Marks
    unit: str
    decimals: int
    choice: RuleChoice
    wider: int = 0
    redundant: int = 0

    def __len__(self) -> int:
        return len(self.sides)

    def at(self, places: Sequence[int]) -> Rules:
        """Return the rules at these places, in this order."""
        return replace(
            self,
            sides=[self.sides[place] for place in places],
            columns={name: numbers[places] for name, numbers in self.columns.items()},
            doubtful=self.doubtful[places],
        )

    @property
    def has_lifts(self) -> bool:
        """Whether rules have lift and the other metrics that compare with independence."""
        return "lift" in self.columns

    def rows(self) -> Iterator[tuple[Items, Items, dict[str, float], bool]]:
        """Yield each rule: its two sides, its numbers by column, and whether it is doubtful."""
        for place, sides in enumerate(self.sides):
            numbers = {name: float(values[place]) for name, values in self.columns.items()}
            yield *sides, numbers, bool(self.doubtful[place])

    @property
    def title(self) -> str:
        """What they are, and in which order, or that there are none."""
        basket, sort = self.choice.basket, self.choice.sort
        about = f"{words.number_of(len(self), 'association rule')} of these itemsets"
        nothing = "No rule of these itemsets is one that you asked for."
        if basket is not None:
            items = words.braces(in_label_order(basket), self.unit)
            about, nothing = (
                f"What goes with {items}",
                f"Nothing in this release goes with {items}.",
            )
        if not self.sides:
            return nothing
        order = "surest first" if sort is None else f"by {sort}"
        return f"{about}, {order}"

    @property
    def left_out(self) -> str:
        """How many more rules there are, in sentences; empty if these are all."""
        sentences = []
        if self.wider:
            wider = words.number_of(self.wider, "rule")
            most = words.number_of(self.choice.max_consequent or 1, "item")
            sentences.append(f"This leaves out {wider} with more than {most} on the right.")
        if self.redundant:
            sentences.append(
                f"Redundant rules are left out ({self.redundant:,}): a shorter one with the same "
                f"right side has as much confidence, within the noise."
            )
        return " ".join(sentences)

    @property
    def note(self) -> str:
        """For how many rules more often than chance is sure, how they are read, and how many are
        left out.
        """
        if not self.sides:
            return self.left_out
        doubtful, rules = int(self.doubtful.sum()), len(self)
        note = []
        may_be = "their confidence may be less than you asked for"
        if self.has_lifts:
            above = int((~self.doubtful & (self.columns["lift_lower"] > 1)).sum())
            below = rules - doubtful - above
            above_chance = words.are_above(above, rules, "rule")
            note.append(f"{above_chance.capitalize()}.")
            if below:
                note.append(f"Clearly below chance: {below:,}.")
            may_be = (
                "because of the noise, their sides may be unrelated, or they may miss a limit that "
                "you set"
            )
        if doubtful:
            note.append(f"{MARK} marks {doubtful:,} of {rules:,}: {may_be}.")
        note.append("Each interval holds by itself, with 95 % probability.")
        if not self.has_lifts:
            note.append(f"No lift is shown: {words.NOT_INDEPENDENCE}.")
        return " ".join(filter(None, (*note, self.left_out)))

    def shown(self, numbers: Mapping[str, float]) -> dict[str, Number]:
        """Return the share, the confidence and the lift of a rule as people read them."""
        share, decimals = numbers["support"], self.decimals
        confidence, lowest, highest = _with_interval(numbers, "confidence")
        interval = f"{math.floor(100 * lowest)} to {math.ceil(100 * highest)} %"
        shown = {
            "share": Number(share, words.percent(share, decimals)),
            "confidence": Number(confidence, words.percent(confidence, 0), interval),
        }
        if self.has_lifts:
            lift, lowest, highest = _with_interval(numbers, "lift")
            ends = _lift_in_words(lowest, math.floor), _lift_in_words(highest, math.ceil)
            shown["lift"] = Number(lift, _lift_in_words(lift, round), " to ".join(ends))
        return shown

    def to_dict(self) -> dict[str, object]:
        """Return rules, and how they are read, as plain values, in which an infinite number is
        None.
        """
        values = []
        for antecedent, consequent, numbers, doubtful in self.rows():
            rule: dict[str, object] = {"antecedents": [*antecedent], "consequents": [*consequent]}
            finite = {name: number for name, number in numbers.items() if math.isfinite(number)}
            for name in numbers:
                if name.endswith(("_lower", "_upper")):
                    continue
                rule[name.replace(" ", "_")] = finite.get(name)
                lower, upper = f"{name}_lower", f"{name}_upper"
                if lower in numbers:
                    rule[f"{name}_interval"] = [finite.get(lower), finite.get(upper)]
            values.append(rule | {"doubtful": doubtful})
        if not self.note:
            return {"rules": values}
        return {"rules": values, "rules_note": self.note}

    def sheet_rows(self) -> Rows:
        """Return the rows of CSV, or of a sheet of Excel, the header first: sides, then numbers."""
        columns = item_columns("antecedent", [left for left, _ in self.sides])
        columns |= item_columns("consequent", [right for _, right in self.sides])
        for name, numbers in self.columns.items():
            columns[name.replace(" ", "_")] = numbers.tolist()
        return rows_of(columns | {"doubtful": self.doubtful.tolist()})

    def table(self) -> Table:
        """Return the rules as people read them, a row each."""
        rows = []
        for antecedent, consequent, numbers, doubtful in self.rows():
            rule = f"{words.braces(antecedent, self.unit)} → {words.braces(consequent, self.unit)}"
            if doubtful:
                rule += f" {MARK}"
            shown = [text for number in self.shown(numbers).values() for text in number[1:] if text]
            rows.append([rule, *shown])
        heads = ["rule", "share", "confidence", "95 %"]
        if self.has_lifts:
            heads += ["lift", "95 %"]
        if_shortened = f"the {len(self.columns) + 3} columns of this frame have all of them"
        notes = [self.note] if self.note else []
        return Table(self.title, heads, rows, notes, if_shortened)

    def chart(self) -> BarChart:
        """Return the chart of rules: confidence by lift, or rows where rules have no lift."""
        who = words.customers(self.unit)
        bars = []
        for antecedent, consequent, numbers, doubtful in self.rows():
            lift = 1.0, 1.0, 1.0
            if self.has_lifts:
                lift = _with_interval(numbers, "lift")
            if 0 < lift[0] < math.inf:
                length, low, high = (100 * end for end in _with_interval(numbers, "confidence"))
                texts = self.shown(numbers)["confidence"][1:]
                sides = antecedent, consequent
                bars.append(Bar(sides, length, low, high, *texts, doubtful, lift))
        drawn = bars[:_MOST_DRAWN]
        legend = legend_of("rules", drawn)
        scale, drawing = f"confidence, in % of these {who}", None
        if self.has_lifts:
            legend += " Dashed: lift 1, what chance alone gives."
            if len(drawn) > NAMED:
                legend += f" The first {NAMED} alone have names and intervals."
            scale, drawing = "", plane_of(drawn)
        count = words.number_of(len(self), "association rule")
        return BarChart(
            title=_message(drawn, who),
            bars=drawn,
            scale=scale,
            per_cent=True,
            more=len(self) - len(drawn),
            notes=(legend, self.note),
            about=f"{count}: of the {who} with the left side, how many have the right too",
            drawing=drawing,
        )

    def frame(self) -> pd.DataFrame:
        """Return a pandas.DataFrame: mlxtend's columns, the ends of the intervals, and doubtful.

        A notebook shows it as people read rules; what is made of it is shown as pandas does.
        """
        import pandas as pd

        sides = [[*map(frozenset, sides)] for sides in self.sides]
        frame = pd.DataFrame(sides, columns=["antecedents", "consequents"], dtype=object)
        for name, numbers in self.columns.items():
            frame[name] = numbers
        frame["doubtful"] = self.doubtful
        shape = frame.shape

        def html() -> str:
            if frame.shape == shape:
                return self.table().html()
            return str(pd.DataFrame(frame)._repr_html_())

        frame._repr_html_ = html
        return frame


# The rules of each segment under its name; those of a release of all under no name.
RulesBySegment = Mapping[str, Rules]


def _with_interval(numbers: Mapping[str, float], name: str) -> Estimate:
    return numbers[name], numbers[f"{name}_lower"], numbers[f"{name}_upper"]


def is_clearly_more(estimate: Estimate, smaller: Estimate) -> bool:
    """Return whether the 95 % interval of the difference of two estimates is above 0.

    It follows from their intervals (Zou and Donner, Statistics in Medicine 27, 2008). Noise that
    both share only makes it too wide.
    """
    (more, lowest, _), (less, _, highest) = estimate, smaller
    return more - less > math.hypot(more - lowest, highest - less)


def _lift_in_words(lift: float, rounded: Callable[[float], int]) -> str:
    if math.isinf(lift):
        return "∞"
    decimals = max(3 - len(str(int(lift))), 0)
    return f"{rounded(lift * 10**decimals) / 10**decimals:,.{decimals}f}"


def _message(bars: Sequence[Bar], who: str) -> str:
    """Return the surest rule as a sentence, on one line."""
    if not bars:
        return "There are no rules to draw"
    first = bars[0]
    if first.doubtful:
        return words.are_above(0, len(bars), "rule").capitalize()
    begin, middle, end = f"About {first.number} of {who} with ", " also have ", ""
    if first.lift[1] > 1 or first.lift[2] < 1:
        end = f": lift {_lift_in_words(first.lift[0], round)}"
    room = (TITLE - width(begin + middle + end)) / 2
    left, right = (named(side, room) for side in first.sides)
    return f"{begin}{left}{middle}{right}{end}"


@dataclass(frozen=True)
class RuleChoice:
    """Which rules are shown, and in which order.

    Attributes:
        min_confidence: The least confidence, 0 to 1.
        min_lift: The least lift, >= 0.
        antecedent: Items that the left side must have.
        consequent: Items that the right side must have.
        contains: Items that the two sides together must have.
        max_antecedent: How many items the left side may have; None for any number.
        max_consequent: How many items the right side may have; None for any number.
        redundant: Whether redundant rules are shown.
        sort: The number whose largest come first; None for the surest first.
        basket: Items that have all of the left side and none of the right side. Then the best rule
            is shown for each right side. None for any rules.
    """

    min_confidence: float = 0.0
    min_lift: float = 0.0
    antecedent: frozenset[Item] = frozenset()
    consequent: frozenset[Item] = frozenset()
    contains: frozenset[Item] = frozenset()
    max_antecedent: int | None = None
    max_consequent: int | None = None
    redundant: bool = True
    sort: str | None = None
    basket: frozenset[Item] | None = None

    @classmethod
    def of(cls, limits: OptionValues, basket: object = None) -> Self:
        """Return the choice that options make. Raises ParameterError for what is out of range.

        basket: an item, or a list of items; None for any rules.
        """
        sides = ("antecedent", "consequent", "contains")
        antecedent, consequent, contains = (items_asked(side, limits[side]) for side in sides)
        sort, longest, widest = limits["sort"], limits["max_antecedent"], limits["max_consequent"]
        if widest is None:
            widest = max(len(consequent), 1)
        if longest is not None:
            longest = positive_integer("max_antecedent", longest)
        basket_items = None
        if basket is not None:
            basket_items = items_asked("basket", basket)
        sortable = ("support", *METRICS, "certainty")
        if sort is not None and sort not in sortable:
            raise ParameterError(
                f"{parameter('sort')} must be one of {', '.join(sortable)}, not {shown(sort)}"
            )
        return cls(
            _limit(limits, "min_confidence", 1, "a number between 0 and 1"),
            _limit(limits, "min_lift", math.inf, "a number of at least 0"),
            antecedent,
            consequent,
            contains,
            longest,
            positive_integer("max_consequent", widest),
            flag("redundant", limits["redundant"]),
            sort,
            basket_items,
        )

    @property
    def asked(self) -> list[str]:
        """The options that change which rules are shown, or their order, as the fields are."""
        usual = RuleChoice.of(filled("rules", RuleLimits, {}))
        return [name for name, value in vars(self).items() if value != vars(usual)[name]]

    def check_lifts(self, *, lifts: bool) -> None:
        """Raise ParameterError if a lift is asked for where rules have none."""
        name = "min_lift" if self.min_lift else "sort"
        if not lifts and (self.min_lift or self.sort not in (None, "support", "confidence")):
            raise ParameterError(
                f"{parameter(name)} of users needs {parameter('together')} user: "
                f"{words.NOT_INDEPENDENCE}"
            )

    def folded(self) -> RuleChoice:
        """Return the same choice for items that were read in small letters."""
        return replace(
            self,
            antecedent=folded_items(self.antecedent),
            consequent=folded_items(self.consequent),
            contains=folded_items(self.contains),
            basket=self.basket and folded_items(self.basket),
        )

    def about(self, items: Iterable[Item]) -> RuleChoice:
        """Return the choice for itemsets that all have some items: what goes with these.

        They stand on the left side, unless the choice says on which side which items are.
        """
        if self.antecedent or self.consequent or self.contains or self.basket is not None:
            return self
        return replace(self, antecedent=frozenset(items))

    def has(self, sides: Sides) -> bool:
        """Tell whether a rule has the items that are asked for, and a left side of no more than may
        be.
        """
        left, right = map(frozenset, sides)
        basket = left if self.basket is None else self.basket
        return (
            left <= basket
            and not right & basket
            and self.antecedent <= left
            and self.consequent <= right
            and self.contains <= left | right
            and len(left) <= (self.max_antecedent or len(left))
        )

    def reached_by(self, columns: Mapping[str, Numbers]) -> tuple[Marks, Marks]:
        """Return which rules reach the least confidence and lift, and which are doubtful.

        columns: the numbers of the rules, as in `Rules`.
        """
        enough = columns["confidence"] >= self.min_confidence
        doubtful = columns["confidence_lower"] < self.min_confidence
        if "lift" in columns:
            may_be_above = columns["lift_upper"] >= 1
            enough &= columns["lift"] >= self.min_lift
            doubtful |= columns["lift_lower"] < self.min_lift
            doubtful |= (columns["lift_lower"] <= 1) & may_be_above
            if self.basket is not None:
                enough &= may_be_above
        return enough, doubtful


def _limit(limits: OptionValues, name: str, most: float, expected: str) -> float:
    """Return a least number, 0 for None. Raises ParameterError for what is not as expected."""
    limit = limits[name]
    if limit is None:
        return 0.0
    number = exact_number(limit)
    if number is None or not 0 <= number <= most:
        raise ParameterError(f"{parameter(name)} must be {expected}, not {shown(limit)}")
    return float(number)


# All rules, the surest first.
ALL_RULES = RuleChoice()


def rules_of(release: Any, choice: RuleChoice = ALL_RULES) -> Rules:
    """Return the rules of a Release that are chosen, the surest first unless they are sorted.

    The estimates decide which rules reach a least confidence or lift. Doubtful rules come last;
    where there are no lifts, the lower end of the confidence orders rules, as that of lift does
    otherwise. Raises ParameterError for a lift that rules do not have, and where the release lacks
    supports, or the number of units, that rules need.
    """
    unit = release.privacy_unit
    lifts = release.scope.has_lifts(unit)
    choice.check_lifts(lifts=lifts)
    if release.scope.fold_case:
        choice = choice.folded()
    choice = choice.about(release.scope.with_items)
    noise, units = release.noise, UnitCount(release.units or 0, release.units_noise)
    itemsets = [itemset for itemset in release.itemsets if itemset.items and itemset.interval]
    known = {frozenset(itemset.items): itemset.by_itself for itemset in (*itemsets, *release.parts)}
    if release.with_parts and (noise is None or not units.number):
        itemsets = []  # it abstained, or there are no units
    elif noise is None or release.units is None or not have_subsets(known):
        raise ParameterError(
            f"this release lacks what rules need (supports of all subsets, and the number of "
            f"{unit}s): mine again with {parameter('rules')}"
        )
    sides = [*filter(choice.has, _sides_of(itemsets))]
    columns = _columns(sides, known, noise, units, lifts=lifts)
    if lifts:
        columns |= certainty_of(columns)
    enough, doubtful = choice.reached_by(columns)
    order = _order(columns, doubtful, choice.sort)
    rules = Rules(sides, columns, doubtful, unit, release.decimals, choice)
    return _shown(rules.at(order[enough[order]].tolist()))


def _shown(rules: Rules) -> Rules:
    """Return rules without those that their choice leaves out."""
    choice = rules.choice
    widest = choice.max_consequent or math.inf
    places = [place for place, (_, right) in enumerate(rules.sides) if len(right) <= widest]
    chosen = narrow = rules.at(places)
    if not choice.redundant:
        chosen = narrow.at(_not_redundant(narrow))
    if choice.basket is None:
        return replace(chosen, wider=len(rules) - len(narrow), redundant=len(narrow) - len(chosen))
    rights = [right for _, right in chosen.sides]
    return chosen.at([rights.index(right) for right in dict.fromkeys(rights)])


def _not_redundant(rules: Rules) -> list[int]:
    """Return the places of the rules that are not redundant, in order.

    A rule is redundant if a shorter one that stays, with fewer of its items on the left and the
    same right side, has as much confidence, within the noise. A doubtful rule makes no sure one
    redundant.
    """
    stay: dict[Items, list[tuple[frozenset[Item], bool, Estimate]]] = {}
    places = []
    for place, rule in sorted(enumerate(rules.rows()), key=lambda ranked: len(ranked[1][0])):
        left, right, numbers, doubtful = rule
        items, confidence = frozenset(left), _with_interval(numbers, "confidence")
        shorter_rules = stay.setdefault(right, [])
        if all(
            (is_doubtful and not doubtful) or is_clearly_more(confidence, less)
            for fewer, is_doubtful, less in shorter_rules
            if fewer < items
        ):
            shorter_rules.append((items, doubtful, confidence))
            places.append(place)
    return sorted(places)


def _order(columns: Mapping[str, Numbers], doubtful: Marks, sort: str | None) -> NDArray[np.intp]:
    """Return the places of rules, the surest first; or those with the largest number, if sorted."""
    ranked_by = "lift" if "lift" in columns else "confidence"
    # The last key comes first.
    order = np.lexsort((-columns[ranked_by], -columns[f"{ranked_by}_lower"], doubtful))
    if sort is not None:
        order = order[np.argsort(-columns[sort][order], kind="stable")]
    return order


def _sides_of(itemsets: Iterable[Itemset]) -> Iterator[Sides]:
    """Yield the two sides of every rule of itemsets that have a support above 0 by themselves."""
    for itemset in itemsets:
        items = itemset.items or ()
        if not itemset.by_itself.support:
            continue
        for size in range(1, len(items)):
            for antecedent in combinations(items, size):
                yield antecedent, tuple(item for item in items if item not in antecedent)


def _columns(
    sides: Sequence[Sides],
    known: Mapping[frozenset[Item], Itemset],
    noise: SupportNoise | None,
    units: UnitCount,
    *,
    lifts: bool,
) -> dict[str, Numbers]:
    """Return the numbers of rules, and their intervals.

    Args:
        sides: The two sides of each rule.
        known: The itemsets of both sides, and of all their items, with their supports.
        noise: That of the supports; None if there are no rules. units: Their number.
        lifts: Whether rules have lift.
    """
    noisy_counts = 3 if units.noise is None else 4
    confidence = 1 - (1 - CONFIDENCE) / noisy_counts
    wider, joint, moving = 0.0, None, False
    if noise is not None:
        # With two normals, the supports follow the number of units.
        wider, moving = noise.wider(confidence), noise.of_units is not None
        joint = JointNoise.of(noise, units)
    estimates, lowest, highest = _supports_by_rule(sides, known, wider)
    counts = RuleCounts.within(estimates, max(units.number, 1))
    names = [*METRICS] if lifts else ["confidence"]
    both, antecedent, consequent = np.divide(counts[:3], counts.units)
    columns = {
        "antecedent support": antecedent,
        "consequent support": consequent,
        "support": both,
        **{name: METRICS[name](counts) for name in names},
    }
    ranges = [
        (
            RuleCounts.within(lowest + portion.lower, portion.fewest),
            RuleCounts.within(highest + portion.upper, portion.most),
        )
        for portion in units.slices(confidence, moving=moving)
    ]
    for name in ("support", *names):
        lowers, uppers = zip(*(bounds(name, *ends) for ends in ranges), strict=True)
        lower, upper = np.min(lowers, axis=0), np.max(uppers, axis=0)
        if joint is not None:
            interval, holds = joint_interval(name, counts, joint)
            lower, upper = np.where(holds, interval, (lower, upper))
        columns[f"{name}_lower"], columns[f"{name}_upper"] = lower, upper
    return columns


def _supports_by_rule(
    sides: Sequence[Sides], known: Mapping[frozenset[Item], Itemset], wider: float
) -> Numbers:
    """Return the supports of rules, and the ends of their intervals: (3, 3, rules).

    Each has those of both sides together, of the left sides and of the right sides.

    wider: by how many units the intervals are to be wider on either side.
    """
    supports = {}
    for items, itemset in known.items():
        low, high = itemset.interval or (0, 0)
        # An end at 0 was cut off there: how far below the noise reached is not known.
        lowest = low - wider if low else -math.inf
        supports[items] = itemset.support or 0, lowest, high + wider
    by_rule = [
        supports[frozenset(items)]
        for antecedent, consequent in sides
        for items in (antecedent + consequent, antecedent, consequent)
    ]
    return np.array(by_rule, dtype=float).reshape(-1, 3, 3).transpose(2, 1, 0)


def have_subsets(itemsets: Collection[frozenset[Item]]) -> bool:
    """Return whether every subset of these itemsets that has an item is among them."""
    return all(items - {item} in itemsets for items in itemsets if len(items) > 1 for item in items)


def rules_by_segment(release: Any, choice: RuleChoice = ALL_RULES) -> dict[str, Rules]:
    """Return the rules of each segment of a release under its name, or of a Release under no name.

    Raises ParameterError as rules_of does.
    """
    return {name: rules_of(segment, choice) for name, segment in release.by_segment.items()}
