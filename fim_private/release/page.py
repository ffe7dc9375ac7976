"""The report: a release as a page of HTML for everybody."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fim_private.display import printable
from fim_private.dp.composition import growth_bound
from fim_private.dp.cost import Exact, least_in_words, most_in_words, one_in_words, rounded_up
from fim_private.dp.parameters import Neighbors
from fim_private.errors import ParameterError, shown
from fim_private.reading.labels import Item
from fim_private.release import words
from fim_private.release.markup import (
    checked_title,
    chips,
    document,
    grid,
    in_sentence,
    number_cell,
    paragraph,
    section,
    tag,
    text,
)
from fim_private.release.release import GIVEN, Release, SegmentedRelease
from fim_private.release.rules import Rules, rules_by_segment, rules_table
from fim_private.release.trend import named, trend_page, trend_section
from fim_private.request.budget import parts_in_words
from fim_private.request.itemsets import Itemset
from fim_private.whole_files import staged

# From a probability as small as this on nobody reads odds.
_LEAST_ODDS = 1e-12
# Rows past the first are folded; more findings than the most nobody reads.
_OPEN, _MOST = 20, 200
_MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]


def report(
    release: Release | SegmentedRelease | Sequence[Release],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    min_confidence: float = 0.0,
    min_lift: float = 0.0,
) -> None:
    """Write a release, or those of segments, as a page of HTML, which shows nothing else and spends
    nothing.

    release: of several, in order of time, the page shows how shares moved, and has no rules.

    title: what stands on top of the page. It has rules where it was mined with rules=True;
    min_confidence, min_lift: as in Release.rules. Raises ParameterError for what is no release, no
    path or no title, and for limits out of range. Raises OutputError where the file cannot be
    written.
    """
    several = [] if isinstance(release, Release | SegmentedRelease) else release
    if not isinstance(several, Sequence) or not all(isinstance(one, Release) for one in several):
        raise ParameterError(
            f"a report is made of a Release, or of several in a list, not of {shown(release)}"
        )
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"a report is written to the path of a file, not to {shown(path)}")
    if isinstance(release, Release | SegmentedRelease):
        rules = rules_by_segment(release, min_confidence, min_lift) if release.with_parts else None
        content = page(release, rules, title=title)
    else:
        content = trend_page(named(several), title=title)
    with staged(Path(path).expanduser(), option="path") as write:
        write(content)


def page(
    release: Release | SegmentedRelease, rules: Any = None, *, title: str | None = None
) -> str:
    """Return the page, which has only what a release says of itself. rules: of segments under their
    names.
    """
    checked_title(title)
    if isinstance(release, Release):
        whole, parts = release, [_Part(release, rules, _findings(rules))]
    else:
        whole = release.whole
        own = rules or {}
        parts = [
            _Part(one, own.get(name), _findings(own.get(name)), release.heading(one), f"-{place}")
            for place, (name, one) in enumerate(release.items(), 1)
        ]
    title = title or ("What is bought together" if max(whole.sizes) > 1 else "What is bought")
    contents = (
        tag("li", tag("a", text(part.heading), href=f"#part{part.place}")) for part in parts
    )
    officer = tag("details", tag("summary", "For the privacy officer"), _officer(whole))
    over_time, lead = _over_time(release)
    main = [
        over_time,
        tag("ul", *contents, class_="contents") if len(parts) > 1 else "",
        *(each for part in parts for each in part.sections()),
        section(
            "How to read it", tag("ul", *(tag("li", text(each)) for each in _how_to_read(parts)))
        ),
    ]
    end = [section("What this page promises", *map(paragraph, _promised(whole))), officer]
    return document(
        title,
        _facts(whole),
        lead or _lead(parts),
        main,
        end,
        "" if whole.private else whole.guarantee,
    )


def _over_time(release: Release | SegmentedRelease) -> tuple[str, str]:
    """Return the charts of how shares moved, and the sentence on them, of several periods with
    shares; else nothing.
    """
    if isinstance(release, Release) or release.part != "period" or len(release) < 2:
        return "", ""
    if not all(one.has_shares for one in release.values()):
        return "", ""
    return trend_section(release)


def _facts(release: Release) -> dict[str, str]:
    """Return what the page is of, as far as the release says so."""
    day = release.date
    facts = {
        "Data": release.charged and release.charged.dataset,
        "Period": release.scope.period,
        "Released on": day and f"{day.day} {_MONTHS[day.month - 1]} {day.year}",
        "Rows": release.where and f"those where {release.where}",
    }
    return {name: value for name, value in facts.items() if value}


# -------------------- findings: a rule and its mirror, which have the same share and lift


@dataclass(frozen=True)
class _Finding:
    """Two sides that are together, by the places of the rules from one to the other: the surer
    first, if both are.
    """

    rule: int
    mirror: int | None
    clear: bool
    # more often than chance is sure; without lifts, that the confidence is what was asked for
    above: bool


def _findings(rules: Rules | None) -> list[_Finding]:
    """Return the findings of rules, those that are surest first."""
    if rules is None:
        return []
    places: dict[frozenset[tuple[Item, ...]], list[int]] = {}
    for place, sides in enumerate(zip(rules.antecedents, rules.consequents, strict=True)):
        places.setdefault(frozenset(sides), []).append(place)
    made = []
    for both in places.values():
        rule, *mirror = sorted(
            both, key=lambda place: (rules.doubtful[place], -rules.metrics["confidence"][place])
        )
        clear = not rules.doubtful[rule]
        above = clear and (not rules.has_lifts or rules.bounds["lift"][0][rule] > 1)
        made.append(_Finding(rule, mirror[0] if mirror else None, bool(clear), bool(above)))
    return made


@dataclass(frozen=True)
class _Part:
    """What the page says of one release, which may be that of a segment. place: what makes its
    names its own.
    """

    release: Release
    rules: Rules | None
    findings: list[_Finding]
    heading: str = ""
    place: str = ""

    @property
    def unit(self) -> str:
        return self.release.privacy_unit

    def sections(self) -> Iterator[str]:
        release = self.release
        if self.heading:
            yield tag("h2", text(self.heading), id=f"part{self.place}")
        if not release.itemsets:  # the first paragraph says so of one release alone
            yield paragraph(release.nothing, class_="nothing") if self.heading else ""
            return
        where = {"level": "h3" if self.heading else "h2", "place": self.place}
        if self.rules is not None and max(release.sizes) > 1:
            is_sure = self.rules.has_lifts and any(one.above for one in self.findings)
            title = "Bought together more often than chance" if is_sure else "Bought together"
            yield section(title, *self._rules(self.rules), **where)
        told = [*release.certainty]
        if release.counts_for_rules:
            who = words.customers(self.unit)
            counted = (
                f"An itemset counts all {who} who ever bought all of it, in one basket or "
                f"in several."
            )
            told.append(f"{counted} {words.counted_for_rules(who)}")
        notes = (paragraph(each, class_="note") for each in told)
        yield section("What was found", *self._itemsets(), *notes, **where)

    # -------------------- rules

    def _rules(self, rules: Rules) -> Iterator[str]:
        if not self.findings:
            yield paragraph(
                "No rule of these itemsets has as much confidence and lift as was asked for."
            )
            return
        above = [one for one in self.findings if one.above]
        others = [one for one in self.findings if not one.above]
        rows = self._rule_rows(rules)
        if above:
            yield self._list("rules", self._rule_heads(rules), [rows(one) for one in above[:_MOST]])
        elif rules.has_lifts:
            yield paragraph("More often than chance is sure for none of these.")
        else:
            yield paragraph("The confidence that was asked for is sure for none of these.")
        if others and rules.has_lifts:
            below = "Less often than chance, or more often is not sure"
            shown_others = [rows(one) for one in others[:_MOST]]
            table = self._list(
                "rules", self._rule_heads(rules), shown_others, most=len(shown_others)
            )
            summary = tag("summary", text(f"{below}: {len(others):,}"))
            yield tag("details", summary, table, class_="less")
        elif others:
            yield self._list(
                "rules", self._rule_heads(rules), [rows(one) for one in others[:_MOST]]
            )
        left = sum(max(len(each) - _MOST, 0) for each in (above, others))
        if left:
            yield paragraph(f"The release's file has {left:,} more.", class_="note")
        yield paragraph(self._rules_note(rules), class_="note")

    def _rules_note(self, rules: Rules) -> str:
        who = words.customers(self.unit)
        if not rules.has_lifts:
            return rules.note
        return (
            f"“{self._rule_labels(rules)['lift']}” is the lift. It compares with all {who}, not "
            f"only with the others. "
            "With 95 % probability, all intervals of a row hold at once."
        )

    def _rule_labels(self, rules: Rules) -> dict[str, str]:
        """Return what the numbers of a rule are called."""
        every = f"all {words.customers(self.unit)}"
        those, lift = (
            ("baskets with", f"in {every}") if self.unit == "basket" else ("those who buy", every)
        )
        return {
            **({"lift": f"Times as often as {lift}"} if rules.has_lifts else {}),
            "confidence": f"Of {those} the first",
            "reverse": f"Of {those} the second",
            "share": f"Of {every}",
        }

    def _rule_heads(self, rules: Rules) -> list[tuple[str, str]]:
        who = ("Baskets with", "also hold") if self.unit == "basket" else ("Who buys", "also buys")
        numbers = [(label, f"number {kind}") for kind, label in self._rule_labels(rules).items()]
        return [(who[0], "side"), ("", "arrow unsorted"), (who[1], "side"), *numbers]

    def _rule_rows(self, rules: Rules) -> Any:
        cells_of = rules_table(rules, self.release.decimals, self.unit).rows
        doubted = (
            "more often than chance is not sure"
            if rules.has_lifts
            else ("may have less than was asked for")
        )
        labels = self._rule_labels(rules)

        def confidence(place: int) -> tuple[float, str, str]:
            return float(rules.metrics["confidence"][place]), cells_of[place][2], cells_of[place][3]

        def row(one: _Finding) -> list[str]:
            share, lift = cells_of[one.rule][1], cells_of[one.rule][4:]
            named = [
                chips(side[one.rule], self.unit) for side in (rules.antecedents, rules.consequents)
            ]
            named[1] = chips(rules.consequents[one.rule], self.unit, "" if one.clear else doubted)
            cells = [
                tag("td", named[0], class_="side", role="cell"),
                tag("td", tag("span", "→", aria_label="goes with"), class_="arrow", role="cell"),
                tag("td", named[1], class_="side other", role="cell"),
            ]
            numbers: dict[str, Any] = {
                "lift": (float(rules.metrics["lift"][one.rule]), *lift) if lift else (),
                "confidence": confidence(one.rule),
                "reverse": (-1.0, "–", "") if one.mirror is None else confidence(one.mirror),
                "share": (float(rules.shares["support"][one.rule]), share),
            }
            return [
                *cells,
                *(number_cell(kind, label, *numbers[kind]) for kind, label in labels.items()),
            ]

        return lambda one: tag(
            "tr", *row(one), role="row", class_="sure" if one.clear else "doubtful"
        )

    # -------------------- itemsets

    def _itemsets(self) -> Iterator[str]:
        release = self.release
        groups: dict[int, list[Itemset]] = {}
        for one in release.itemsets:
            size = release.sizes[0] if one.items is None else len(one.items)
            groups.setdefault(size, []).append(one)
        for size, itemsets in sorted(groups.items()):
            if len(groups) > 1 or len(release.sizes) > 1:
                yield tag("h4" if self.heading else "h3", text(_of_size(size).capitalize()))
            if release.has_supports:
                rows = self._support_rows(itemsets)
                yield self._list("itemsets", self._support_heads(), rows)
            else:
                yield self._names(itemsets)

    def _chips(self, one: Itemset) -> str:
        doubt = (
            "rank is not sure"
            if self.release.min_support is None
            else ("may have less than was asked for")
        )
        return chips(one.items, self.unit, doubt if one.doubtful else "")

    def _names(self, itemsets: Sequence[Itemset]) -> str:
        names = [tag("li", self._chips(one)) for one in itemsets]
        first = tag("ol", *names[:_OPEN], class_="names")
        rest = tag("ol", *names[_OPEN:], class_="names", start=_OPEN + 1)
        more = tag("summary", f"{len(names) - _OPEN:,} more")
        return tag(
            "div",
            first,
            tag("details", more, rest, class_="more") if names[_OPEN:] else "",
            class_="list",
        )

    def _support_heads(self) -> list[tuple[str, str]]:
        heads = [
            ("Items", "side"),
            ("", "bars unsorted"),
            (words.customers(self.unit).capitalize(), "number support"),
        ]
        heads += [("Share", "number share")] if self.release.has_shares else []
        return [*heads, ("95 % interval", "number interval unsorted")]

    def _support_rows(self, itemsets: Sequence[Itemset]) -> list[str]:
        release, rows = self.release, []
        longest = max(
            [
                1,
                *(
                    max(one.interval[1], one.support or 0)
                    for one in itemsets
                    if one.interval is not None
                ),
            ]
        )
        labels = [
            words.customers(self.unit).capitalize(),
            *(["Share"] if release.has_shares else []),
            "95 % interval",
        ]
        kinds = ["support", *(["share"] if release.has_shares else []), "interval"]
        for one in itemsets:
            cells = [tag("th", self._chips(one), scope="row", role="rowheader", class_="side")]
            if one.support is None or one.interval is None:
                cells.append(tag("td", class_="bars", aria_hidden="true"))
                numbers = ["not released", *[""] * (len(kinds) - 1)]
            else:
                low, length, high = (
                    100 * end / longest for end in (one.interval[0], one.support, one.interval[1])
                )
                fill = tag(
                    "span",
                    class_="fill doubtful" if one.doubtful else "fill",
                    style=f"width:{length:.2f}%",
                )
                line = tag("span", class_="line", style=f"left:{low:.2f}%;width:{high - low:.2f}%")
                cells.append(
                    tag(
                        "td",
                        tag("span", fill, line, class_="bar"),
                        class_="bars",
                        aria_hidden="true",
                    )
                )
                numbers = [*release.cells(one)[1:]]
            support = -1 if one.support is None else one.support
            cells += [
                number_cell(kind, label, support, number)
                for kind, label, number in zip(kinds, labels, numbers, strict=True)
            ]
            rows.append(tag("tr", *cells, role="row"))
        return rows

    def _list(
        self, kind: str, heads: list[tuple[str, str]], rows: list[str], *, most: int = _OPEN
    ) -> str:
        """Return rows as a table, with those past the most in a second one that is folded."""
        shown_rows, folded = grid(kind, heads, rows[:most]), ""
        if rows[most:]:
            more = tag("summary", f"{len(rows) - most:,} more")
            folded = tag("details", more, grid(kind, heads, rows[most:]), class_="more")
        return tag("div", shown_rows, folded, class_="list")


def _of_size(size: int, number: int = 2) -> str:
    """Return what itemsets of a size are called."""
    several = "s" * (number != 1)
    names = {1: f"single item{several}", 2: f"pair{several}", 3: f"triple{several}"}
    return names.get(size, f"itemset{several} of {size} items")


# -------------------- the first paragraph


def _lead(parts: Sequence[_Part]) -> str:
    """Return the paragraph that can be read out: what the first section shows, and how much of it
    is sure.
    """
    found = [part for part in parts if part.release.itemsets]
    if not found:
        nothing = (
            parts[0].release.nothing if len(parts) == 1 else ("Nothing stood out from the noise.")
        )
        return text(f"{nothing} That is a valid answer, and its budget is spent.")
    with_rules = [part for part in found if part.findings]
    if with_rules:
        said, counted = _first_said(with_rules, _rule_in_words), _sure_rules(with_rules)
    else:
        said, counted = _first_said(found, _itemset_in_words), _sure_ranks(found)
    return f"{said} {text(counted)}".strip() or text("What was found is below.")


def _first_said(parts: Sequence[_Part], in_words: Callable[[_Part], str]) -> str:
    """Return the first sentence that there is of a part, after the part's name; nothing without
    one.
    """
    for part in parts:
        said = in_words(part)
        if said:
            return f"In {tag('bdi', text(part.heading))}: {said}" if part.heading else said
    return ""


def _sure_rules(parts: Sequence[_Part]) -> str:
    """Return for how many findings more often than chance is sure; nothing where rules have no
    lift.
    """
    findings = [one for part in parts for one in part.findings]
    if parts[0].rules is None or not parts[0].rules.has_lifts:
        doubted = not any(one.above for one in findings)
        return (
            "The confidence that was asked for is sure for none of the rules below."
            if doubted
            else ""
        )
    above = sum(one.above for one in findings)
    if not above:
        return "More often than chance is sure for none of the findings below: they may be chance."
    return f"More often than chance is sure for {words.some_of(above, len(findings), 'finding')}."


def _sure_ranks(parts: Sequence[_Part]) -> str:
    """Return of how many itemsets the rank is sure; nothing where that is unknown."""
    marks = [
        one.doubtful for part in parts for one in part.release.itemsets if one.doubtful is not None
    ]
    if parts[0].release.min_support is not None:
        return (
            "A ? marks what may have less support than was asked for, because of the noise."
            if any(marks)
            else ""
        )
    sure = marks.count(False)
    if marks and not sure:
        rank = (
            "Its rank is not sure"
            if len(marks) == 1
            else ("The rank is sure for none of these itemsets")
        )
        return f"{rank}: something that was left out may be as frequent."
    return f"The rank is sure for {words.some_of(sure, len(marks), 'itemset')}." if marks else ""


def _rule_in_words(part: _Part) -> str:
    """Return the surest rule as a sentence, with its intervals; nothing without one."""
    rules, who, sure = (
        part.rules,
        words.customers(part.unit),
        [one.rule for one in part.findings if one.above],
    )
    if rules is None or not sure:
        return ""
    # Of one item and another, if there is one: that can be said in one breath.
    short = [
        place
        for place in sure
        if len(rules.antecedents[place]) == len(rules.consequents[place]) == 1
    ]
    place = [*short, *sure][0]
    one, other = (in_sentence(side[place]) for side in (rules.antecedents, rules.consequents))
    verb = f"Customers who buy {one} also buy {other}"
    if part.unit == "basket":
        verb = f"Baskets with {one} also hold {other}"
    elif not part.release.scope.unites:
        verb += " in the same basket"
    *_, share, within, lift, between = [
        *rules_table(rules, part.release.decimals, part.unit).rows[place],
        "",
        "",
    ][:6]
    claim = f"{verb}: about {share} of them ({within})"
    return (
        f"{claim}, {lift} times as often as {who} in all ({between})."
        if rules.has_lifts
        else f"{claim}."
    )


def _itemset_in_words(part: _Part) -> str:
    """Return the itemset to tell first as a sentence, with its support; nothing without one."""
    release = part.release
    told = [itemset for itemset in release.itemsets if itemset.items and _is_worth_telling(itemset)]
    if not told:
        return ""
    # Of several items if there is one.
    itemset = next((itemset for itemset in told if len(itemset.items or ()) > 1), told[0])
    items = itemset.items or ()
    if itemset.support is None or itemset.interval is None:
        return _selected_in_words(release, items, sure=itemset.doubtful is False)
    of_all = ""
    share = release.share_of(itemset)
    if share is not None:
        of_all = f", {words.percent(share, release.decimals)} of all"
    low, high = itemset.interval
    verb, together = "bought", ""
    if part.unit == "basket":
        verb = "hold"
    if len(items) > 1 and part.unit == "basket":
        together = " together"
    elif len(items) > 1 and not release.scope.unites:
        together = " in one basket"
    number = f"{itemset.support:,} {words.customers(part.unit)}"
    within = f"(95 %: {low:,} to {high:,})"
    return f"About {number} {verb} {in_sentence(items)}{together}{of_all} {within}."


def _selected_in_words(release: Release, items: Sequence[Item], *, sure: bool) -> str:
    """Return an itemset without a support as a sentence. sure: whether its rank is."""
    names = in_sentence(items)
    if release.wanted > 1 and sure:
        kinds = "itemsets"
        if len(release.sizes) == 1 or not release.union:
            kinds = _of_size(len(items))
        return f"Among the {release.top:,} most frequent {text(kinds)}: {names}."
    selected = "Selected as frequent"
    if release.wanted == 1:
        selected = f"Selected as the most frequent {text(_of_size(len(items), 1))}"
    return f"{selected}: {names}. Its support was not released."


def _is_worth_telling(one: Itemset) -> bool:
    """Whether an itemset may stand in the first paragraph: by its support, or else by its rank."""
    return not one.doubtful if one.interval is None else one.interval[0] > 0


# -------------------- what it promises, and to whom


def _promised(release: Release) -> Iterator[str]:
    """Yield the guarantee in everyday words, a paragraph each."""
    if not release.private:
        yield (
            "This page protects nobody: a seed was given, for a test, so its noise can be "
            "predicted."
        )
        return
    who = words.customers(release.privacy_unit)[:-1]
    yield _protected(release)
    if release.scope.items_are_public:
        yield "It does not protect which items there are: their names were taken to be public."
    # Above ε = 3 what is here may be more than twenty times as likely because of one unit.
    weak = f"So what the page shows says little about any one {who}."
    if release.cost.epsilon > 3:
        weak = f"That is a weak promise to any one {who}."
    yield (
        f"It was partly left to chance, on purpose. Suppose {_supposed(release, who)}. Then the "
        f"probability of what you see here would differ by {_most_difference(release)}. {weak}"
    )
    if release.units is not None and release.units_interval is None:
        holds = "bought" if release.privacy_unit == "user" else "holds"
        yield (
            f"The number of {who}s is released exactly. The page hides what any one {who} "
            f"{holds}, but not that the {who} is in the data."
        )
    yield "Each further release of the same data reveals a little more about it."


def _protected(release: Release) -> str:
    """Return whom the page protects."""
    if release.privacy_unit != "user":
        return (
            "This page protects each single basket. A customer with several baskets is "
            "protected less."
        )
    alone = ""
    if release.missing_user == "own-unit":
        alone = " A basket without a customer is protected by itself."
    per = release.scope.per
    if per is None:
        return f"This page protects each customer, with all that they bought.{alone}"
    longer = f"Purchases of several {per}s are together protected less."
    return f"This page protects what a customer bought in any one {per}. {longer}{alone}"


def _supposed(release: Release, who: str) -> str:
    """Return how other data may differ, by one unit, so that the promise holds between the two."""
    scope = release.scope
    chosen = release.where is not None or scope.query
    of_whom = f"{who} whose rows were read" if chosen else who
    if release.neighbors == Neighbors.REPLACE_ONE:
        had = "contained anything else"
        if release.privacy_unit == "user":
            had = "bought anything else"
        if chosen:
            had += ", and its rows been read just as well"
        if scope.segment is not None:
            had += f" and counted in the same {printable(scope.by or '')}"
    elif scope.per is None:
        had = "not been in the data"
    else:
        had = f"bought nothing in any one {scope.per}"
    if scope.items_are_public:
        had += f", {words.SAME_ITEMS}"
    return f"any one {of_whom} had {had}"


def _most_difference(release: Release) -> str:
    """Return by how much a probability may differ at most: by a factor and, with δ, an addition."""
    epsilon, delta = release.cost.epsilon, release.cost.delta
    bound = growth_bound(epsilon)
    factor = f"e^{least_in_words(epsilon)}"
    if bound is not None:
        factor = rounded_up(bound, 3)
    if not delta:
        return f"a factor of {factor} at most"
    chance = one_in_words(delta) if delta > _LEAST_ODDS else least_in_words(delta)
    return f"a factor of {factor} at most, up to an added probability of {chance}"


def _officer(release: Release) -> str:
    """Return the table of all that was asked and spent, for whoever checks it."""
    rows = (
        tag("tr", tag("th", text(key), scope="row"), tag("td", *map(paragraph, values)))
        for key, values in _checked(release).items()
        if values
    )
    return tag("table", tag("tbody", *rows), class_="officer")


def _checked(release: Release) -> dict[str, list[str]]:
    """Return the rows of the table for the privacy officer: what each is about, and its texts."""
    who = words.customers(release.privacy_unit)
    protected = "one basket"
    if release.privacy_unit == "user":
        period = "" if release.scope.per is None else f" of one {release.scope.per}"
        protected = f"one customer, with all their baskets{period}"
    alike = f", {words.SAME_ITEMS}" if release.scope.items_are_public else ""
    replaced = release.neighbors == Neighbors.REPLACE_ONE
    mechanism = release.mechanism
    if release.reason is not None:
        mechanism += f": {release.reason}"
    table = {
        "Guarantee": [release.guarantee],
        "Protected": [protected + alike],
        "Neighbours": [
            f"{release.neighbors}: {protected} "
            f"{'in place of any other' if replaced else 'more or less'}{alike}"
        ],
        "Spent": [_budget(release), *words.charged(release.charged)],
        "Steps": _steps(release),
        "Mechanism": [mechanism],
        "Items in an itemset": [str(release.size)],
        "Itemsets": [_how_many_itemsets(release)],
    }
    if release.min_support is not None:
        table["At least in"] = [_least_support(release.min_support, who)]
    if release.units is not None:
        about = "" if release.units_noise is None else "about "
        table[f"Number of {who}"] = [f"{about}{release.units:,}"]
    if release.max_basket is not None:
        table["Counted of a basket"] = [f"{release.max_basket:,} items at most"]
    if release.max_baskets is not None:
        table["Counted of a customer"] = [f"{release.max_baskets:,} baskets at most"]
    if release.missing_user is not None:
        left_out = release.missing_user != "own-unit"
        table["Baskets without a customer"] = [
            "left out" if left_out else "each protected by itself"
        ]
    table["What was read"] = [*words.rows_where(release.where), *release.scope.sentences(who[:-1])]
    return table


def _budget(release: Release) -> str:
    """Return what a release spends."""
    cost = release.cost
    budget = f"ε = {least_in_words(cost.epsilon)}, δ = {least_in_words(cost.delta)}"
    if release.zcdp is None:
        return budget
    return f"{budget} (ρ = {least_in_words(release.zcdp.rho)} of zero-concentrated privacy)"


def _steps(release: Release) -> list[str]:
    """Return what share of the budget each step spends; nothing for a single step."""
    if len(release.shares) < 2:
        return []
    shares = parts_in_words(release.shares)
    return [f"{100 * float(share):.1f} % for {purpose}" for purpose, share in shares.items()]


def _how_many_itemsets(release: Release) -> str:
    """Return how many itemsets could come out."""
    if release.mechanism == GIVEN:
        return f"the {release.top:,} named"
    in_each = "" if release.scope.segment is None else " in each segment"
    return f"{release.wanted:,} at most{in_each}"


def _least_support(least: float, who: str) -> str:
    """Return the least support that was asked for: a share, or a number of units."""
    if isinstance(least, float):
        return f"{most_in_words(100 * Exact(least))} % of all"
    return f"{least:,} {who}"


def _how_to_read(parts: Sequence[_Part]) -> Iterator[str]:
    releases = [part.release for part in parts]
    supports = any(one.has_supports and one.itemsets for one in releases)
    who = words.customers(releases[0].privacy_unit)
    if supports:
        yield (
            f"Numbers of {who} are true numbers with noise added on purpose. If you ask the same "
            f"question twice, you "
            "get two answers."
        )
        yield (
            "The thin line on a bar is an interval: it contains the true number with 95 % "
            "probability."
        )
        yield "If the lines of two bars overlap, the true order may be the other way round."
    doubtful = any(one.doubtful for release in releases for one in release.itemsets)
    if doubtful and releases[0].min_support is not None:
        yield (
            "A ? beside an itemset means that it may have less support than was asked for, "
            "because of the noise."
        )
    elif doubtful:
        yield (
            "A ? beside an itemset, and stripes in its bar, mean that its rank is not sure. "
            "Something that was left "
            "out may be as frequent. The number and the interval hold all the same."
        )
    if any(part.rules is not None and part.rules.has_lifts and part.findings for part in parts):
        yield (
            "More often than chance is sure where the whole interval of the lift is above 1. A ? "
            "beside a row means "
            "that it is not sure, and what you see there may be chance."
        )
    yield (
        "Items that are not on this page may be bought together, too. They only do not stand "
        "out from the noise."
    )
    if not any(releases):
        yield "An empty page is a valid answer. Its budget is spent all the same."
