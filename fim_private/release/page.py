"""The report: a release as a page of HTML for everybody."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fim_private.display import printable
from fim_private.dp.composition import growth_bound
from fim_private.dp.cost import Exact, least_in_words, most_in_words, one_in_words, rounded_up
from fim_private.dp.neighbors import Neighbors
from fim_private.errors import ParameterError, shown
from fim_private.reading.labels import Item
from fim_private.release import words
from fim_private.release.release import GIVEN, Release
from fim_private.release.rules import Rules, rules_by_segment, rules_table
from fim_private.release.segments import SegmentedRelease
from fim_private.release.templates import Lead, Number, Sentence, checked_title, render
from fim_private.release.trend import Trend, named, trend_of, trend_page
from fim_private.request.itemsets import Itemset
from fim_private.request.plan import shares_in_words
from fim_private.whole_files import staged

# From a probability as small as this on nobody reads odds.
_LEAST_ODDS = 1e-12


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
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"a report is written to the path of a file, not to {shown(path)}")
    if isinstance(release, Release | SegmentedRelease):
        rules = None
        if release.with_parts:
            rules = rules_by_segment(release, min_confidence, min_lift)
        content = page(release, rules, title=title)
    elif _are_releases(release):
        content = trend_page(named(release), title=title)
    else:
        raise ParameterError(
            f"a report is made of a Release, or of several in a list, not of {shown(release)}"
        )
    with staged(Path(path).expanduser(), option="path") as write:
        write(content)


def _are_releases(values: object) -> bool:
    return isinstance(values, Sequence) and all(isinstance(value, Release) for value in values)


def page(
    release: Release | SegmentedRelease,
    rules: Rules | Mapping[str, Rules] | None = None,
    *,
    title: str | None = None,
) -> str:
    """Return the page of a release, which has only what the release says of itself.

    rules: those of a release, or those of each segment under its name.
    """
    checked_title(title)
    whole = release if isinstance(release, Release) else release.whole
    segments = _segments(release, rules)
    trend = _trend(release)
    lead = _lead(segments)
    if trend is not None:
        lead = trend.lead
    default_title = "What is bought"
    if max(whole.sizes) > 1:
        default_title = "What is bought together"
    return render(
        "page.html.jinja",
        title=title or default_title,
        facts=_facts(whole),
        lead=lead,
        private=whole.private,
        trend=trend,
        segments=segments,
        how_to_read=_how_to_read(segments),
        promises=_promised(whole),
        checked=_checked(whole),
    )


def _segments(
    release: Release | SegmentedRelease, rules: Rules | Mapping[str, Rules] | None
) -> list[_Segment]:
    """Return the releases of segments, or a release of everything as the only segment."""
    if isinstance(release, Release):
        assert not isinstance(rules, Mapping)
        return [_Segment(release, _rules_section(release, rules))]
    by_segment = rules if isinstance(rules, Mapping) else {}
    return [
        _Segment(
            segment,
            _rules_section(segment, by_segment.get(name)),
            release.heading(segment),
            f"-{number}",
        )
        for number, (name, segment) in enumerate(release.items(), 1)
    ]


def _rules_section(release: Release, rules: Rules | None) -> _RulesSection | None:
    """Return the section on rules, if itemsets are long enough to have any."""
    if rules is None or max(release.sizes) == 1:
        return None
    findings = _findings(rules, release.decimals, release.privacy_unit)
    return _RulesSection(release, rules, findings)


def _trend(release: Release | SegmentedRelease) -> Trend | None:
    """Return how shares moved, if the release is of several periods and has shares of all."""
    if isinstance(release, Release) or release.part != "period" or len(release) < 2:
        return None
    if not all(period.has_shares for period in release.values()):
        return None
    trend = trend_of(release)
    if not trend.drawn:
        return None
    return trend


_MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]


def _facts(release: Release) -> dict[str, str]:
    """Return what the page is of, as far as the release says so."""
    facts = {}
    if release.charged is not None:
        facts["Data"] = release.charged.dataset
    if release.scope.period:
        facts["Period"] = release.scope.period
    if release.date is not None:
        day = release.date
        facts["Released on"] = f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
    if release.where:
        facts["Rows"] = f"those where {release.where}"
    return facts


# -------------------- findings: a rule and its mirror, which have the same share and lift


@dataclass(frozen=True)
class _Finding:
    """Two sets of items that are bought together: a rule, the surer one if both ways are rules.

    Attributes:
        antecedent: The items on the left.
        consequent: The items on the right.
        doubtful: Whether the rule is doubtful.
        above: Whether it is not, and more often than chance is sure if rules have lifts.
        numbers: Its numbers, by the names of their columns.
    """

    antecedent: tuple[Item, ...]
    consequent: tuple[Item, ...]
    doubtful: bool
    above: bool
    numbers: Mapping[str, Number]


def _findings(rules: Rules, decimals: int, unit: str) -> list[_Finding]:
    """Return the findings of rules, those that are surest first."""
    rules_of: dict[frozenset[tuple[Item, ...]], list[_Finding]] = {}
    texts = rules_table(rules, decimals, unit).rows
    for (left, right, values, doubtful), row in zip(rules.rows(), texts, strict=True):
        _, share, confidence, interval, *lift = row
        numbers = {
            "confidence": Number(values["confidence"], confidence, interval),
            "reverse": Number(None, "–"),
            "share": Number(values["support"], share),
        }
        above = not doubtful
        if lift:
            numbers["lift"] = Number(values["lift"], *lift)
            above = above and values["lift_lower"] > 1
        finding = _Finding(left, right, doubtful, above, numbers)
        rules_of.setdefault(frozenset((left, right)), []).append(finding)
    return [_surer(both_ways) for both_ways in rules_of.values()]


def _surer(both_ways: Sequence[_Finding]) -> _Finding:
    """Return the surer of a rule and the one the other way round, with the other's confidence."""
    surer, *others = sorted(
        both_ways, key=lambda rule: (rule.doubtful, -(rule.numbers["confidence"].value or 0))
    )
    for other in others:
        reverse = {"reverse": other.numbers["confidence"]}
        surer = replace(surer, numbers={**surer.numbers, **reverse})
    return surer


@dataclass(frozen=True)
class _RulesSection:
    """The rules of a release, and the findings by which a page shows them."""

    release: Release
    rules: Rules
    findings: list[_Finding]

    @property
    def unit(self) -> str:
        return self.release.privacy_unit

    @property
    def has_lifts(self) -> bool:
        return self.rules.has_lifts

    @property
    def above(self) -> list[_Finding]:
        return [finding for finding in self.findings if finding.above]

    @property
    def others(self) -> list[_Finding]:
        return [finding for finding in self.findings if not finding.above]

    @property
    def title(self) -> str:
        if self.has_lifts and self.above:
            return "Bought together more often than chance"
        return "Bought together"

    @property
    def note(self) -> str:
        """How the rules are to be read."""
        if not self.has_lifts:
            return self.rules.note
        return (
            f"“{self.labels['lift']}” is the lift. It compares with all "
            f"{words.customers(self.unit)}, not only with the others. "
            "With 95 % probability, all intervals of a row hold at once."
        )

    @property
    def labels(self) -> dict[str, str]:
        """The titles of the columns with numbers, by their names."""
        every = f"all {words.customers(self.unit)}"
        buyers, compared_with = "those who buy", every
        if self.unit == "basket":
            buyers, compared_with = "baskets with", f"in {every}"
        labels = {}
        if self.has_lifts:
            labels["lift"] = f"Times as often as {compared_with}"
        labels["confidence"] = f"Of {buyers} the first"
        labels["reverse"] = f"Of {buyers} the second"
        labels["share"] = f"Of {every}"
        return labels

    @property
    def doubt(self) -> str:
        """What is doubtful about a finding that is."""
        if self.has_lifts:
            return "more often than chance is not sure"
        return "may have less than was asked for"

    def sentence(self) -> Sentence:
        """Return the surest rule as a sentence, with its intervals; nothing if none is sure."""
        if not self.above:
            return ()
        # A rule of one item and another, if there is one: that can be said in one breath.
        rule = min(self.above, key=lambda rule: len(rule.antecedent + rule.consequent) > 2)
        confidence = rule.numbers["confidence"]
        claim = f": about {confidence.shown} of them ({confidence.interval})"
        if self.has_lifts:
            lift = rule.numbers["lift"]
            who = words.customers(self.unit)
            claim += f", {lift.shown} times as often as {who} in all ({lift.interval})"
        left, right = rule.antecedent, rule.consequent
        if self.unit == "basket":
            return ("Baskets with ", left, " also hold ", right, f"{claim}.")
        where = "" if self.release.scope.unites else " in the same basket"
        return ("Customers who buy ", left, " also buy ", right, f"{where}{claim}.")


# -------------------- itemsets


@dataclass(frozen=True)
class _Bar:
    """A support and the ends of its interval, in per cent of the longest bar."""

    low: float
    length: float
    high: float


@dataclass(frozen=True)
class _ItemsetRow:
    """An itemset as the row of a table; without a bar if its support was not released."""

    itemset: Itemset
    bar: _Bar | None
    numbers: Mapping[str, Number]


@dataclass(frozen=True)
class _Segment:
    """One release on the page: that of a segment, or the only one.

    Attributes:
        release: The release.
        rules: The section on its rules, if rules were made.
        heading: The name of the segment; empty for a release of everything.
        place: The end of the ids of its elements, which makes them unique.
    """

    release: Release
    rules: _RulesSection | None
    heading: str = ""
    place: str = ""

    @property
    def unit(self) -> str:
        return self.release.privacy_unit

    @property
    def findings(self) -> list[_Finding]:
        return [] if self.rules is None else self.rules.findings

    @property
    def level(self) -> str:
        """The level of the headings of its sections."""
        return "h3" if self.heading else "h2"

    @property
    def doubt(self) -> str:
        """What is doubtful about an itemset that is."""
        if self.release.min_support is None:
            return "rank is not sure"
        return "may have less than was asked for"

    @property
    def notes(self) -> list[str]:
        """How certain the itemsets are, and what they count, in sentences."""
        notes = [*self.release.certainty]
        if self.release.counts_for_rules:
            who = words.customers(self.unit)
            notes.append(
                f"An itemset counts all {who} who ever bought all of it, in one basket or in "
                f"several. {words.counted_for_rules(who)}"
            )
        return notes

    @property
    def by_size(self) -> Mapping[str, Sequence[Itemset]]:
        """The itemsets of each size under their heading, which is empty for a single size."""
        groups: dict[int, list[Itemset]] = {}
        for itemset in self.release.itemsets:
            size = self.release.sizes[0] if itemset.items is None else len(itemset.items)
            groups.setdefault(size, []).append(itemset)
        if len(groups) == len(self.release.sizes) == 1:
            return {"": self.release.itemsets}
        return {_of_size(size).capitalize(): groups[size] for size in sorted(groups)}

    @property
    def labels(self) -> dict[str, str]:
        """The titles of the columns with numbers, by their names."""
        labels = {"support": words.customers(self.unit).capitalize()}
        if self.release.has_shares:
            labels["share"] = "Share"
        labels["interval"] = "95 % interval"
        return labels

    def rows(self, itemsets: Sequence[Itemset]) -> list[_ItemsetRow]:
        """Return itemsets with supports as rows."""
        ends = [1.0]
        for itemset in itemsets:
            if itemset.interval is not None:
                ends += [itemset.interval[1], itemset.support or 0]
        return [self._row(itemset, max(ends)) for itemset in itemsets]

    def _row(self, itemset: Itemset, longest: float) -> _ItemsetRow:
        support, bar = itemset.support, None
        if support is not None and itemset.interval is not None:
            low, high = itemset.interval
            bar = _Bar(100 * low / longest, 100 * support / longest, 100 * high / longest)
        _, *texts = self.release.cells(itemset)
        numbers = {
            name: Number(support, text) for name, text in zip(self.labels, texts, strict=True)
        }
        return _ItemsetRow(itemset, bar, numbers)


def _of_size(size: int, number: int = 2) -> str:
    """Return what itemsets of a size are called."""
    plural = "" if number == 1 else "s"
    names = {1: f"single item{plural}", 2: f"pair{plural}", 3: f"triple{plural}"}
    return names.get(size, f"itemset{plural} of {size} items")


# -------------------- the first paragraph


def _lead(segments: Sequence[_Segment]) -> Lead:
    """Return the first paragraph: what the first section shows, and how much of it is sure."""
    found = [segment for segment in segments if segment.release.itemsets]
    if not found:
        nothing = "Nothing stood out from the noise."
        if len(segments) == 1:
            nothing = segments[0].release.nothing
        return Lead((f"{nothing} That is a valid answer, and its budget is spent.",))
    with_findings = [segment for segment in found if segment.findings]
    if with_findings:
        return _first_said(with_findings, _rule_in_words, _sure_rules(with_findings))
    return _first_said(found, _itemset_in_words, _sure_ranks(found))


def _first_said(
    segments: Sequence[_Segment], in_words: Callable[[_Segment], Sentence], remark: str
) -> Lead:
    """Return the sentence of the first segment that has one, and a remark behind it."""
    for segment in segments:
        sentence = in_words(segment)
        if sentence:
            return Lead(sentence, remark, segment.heading)
    return Lead((), remark or "The findings are below.")


def _rule_in_words(segment: _Segment) -> Sentence:
    if segment.rules is None:
        return ()
    return segment.rules.sentence()


def _sure_rules(segments: Sequence[_Segment]) -> str:
    """Return for how many findings more often than chance, or the confidence, is sure."""
    findings = [finding for segment in segments for finding in segment.findings]
    above = sum(finding.above for finding in findings)
    if segments[0].rules is not None and segments[0].rules.has_lifts:
        if above:
            sure = words.some_of(above, len(findings), "finding")
            return f"More often than chance is sure for {sure}."
        return "More often than chance is sure for none of the findings below: they may be chance."
    if above:
        return ""
    return "The confidence that was asked for is sure for none of the rules below."


def _sure_ranks(segments: Sequence[_Segment]) -> str:
    """Return for how many itemsets the rank is sure; nothing if that is unknown."""
    marks = [
        itemset.doubtful
        for segment in segments
        for itemset in segment.release.itemsets
        if itemset.doubtful is not None
    ]
    if segments[0].release.min_support is not None:
        if not any(marks):
            return ""
        return "A ? marks what may have less support than was asked for, because of the noise."
    if not marks:
        return ""
    if not all(marks):
        sure = words.some_of(marks.count(False), len(marks), "itemset")
        return f"The rank is sure for {sure}."
    rank = "The rank is sure for none of these itemsets"
    if len(marks) == 1:
        rank = "Its rank is not sure"
    return f"{rank}: something that was left out may be as frequent."


def _itemset_in_words(segment: _Segment) -> Sentence:
    """Return the itemset to tell first as a sentence, with its support; nothing without one."""
    release = segment.release
    told = [itemset for itemset in release.itemsets if itemset.items and _is_worth_telling(itemset)]
    if not told:
        return ()
    # One of several items if there is one.
    itemset = max(told, key=lambda itemset: len(itemset.items or ()) > 1)
    items = itemset.items or ()
    if itemset.support is None or itemset.interval is None:
        return _selected_in_words(release, items, sure=itemset.doubtful is False)
    low, high = itemset.interval
    end = f" (95 %: {low:,} to {high:,})."
    share = release.share_of(itemset)
    if share is not None:
        end = f", {words.percent(share, release.decimals)} of all{end}"
    number = f"{itemset.support:,} {words.customers(segment.unit)}"
    if segment.unit == "basket":
        together = " together" if len(items) > 1 else ""
        return (f"About {number} hold ", items, f"{together}{end}")
    together = ""
    if len(items) > 1 and not release.scope.unites:
        together = " in one basket"
    return (f"About {number} bought ", items, f"{together}{end}")


def _selected_in_words(release: Release, items: tuple[Item, ...], *, sure: bool) -> Sentence:
    """Return an itemset without a support as a sentence. sure: whether its rank is."""
    if release.wanted > 1 and sure:
        kinds = "itemsets"
        if len(release.sizes) == 1 or not release.union:
            kinds = _of_size(len(items))
        return (f"Among the {release.top:,} most frequent {kinds}: ", items, ".")
    selected = "Selected as frequent"
    if release.wanted == 1:
        selected = f"Selected as the most frequent {_of_size(len(items), 1)}"
    return (f"{selected}: ", items, ". Its support was not released.")


def _is_worth_telling(itemset: Itemset) -> bool:
    """Whether an itemset may stand in the first paragraph: by its support, or else by its rank."""
    if itemset.interval is None:
        return not itemset.doubtful
    return itemset.interval[0] > 0


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


def _checked(release: Release) -> dict[str, list[str]]:
    """Return the rows of the table for the privacy officer: what each is about, and its texts.

    A row without a text is not shown.
    """
    who = words.customers(release.privacy_unit)
    protected = "one basket"
    if release.privacy_unit == "user":
        period = "" if release.scope.per is None else f" of one {release.scope.per}"
        protected = f"one customer, with all their baskets{period}"
    alike = f", {words.SAME_ITEMS}" if release.scope.items_are_public else ""
    changed = "more or less"
    if release.neighbors == Neighbors.REPLACE_ONE:
        changed = "instead of any other"
    mechanism = release.mechanism
    if release.reason is not None:
        mechanism += f": {release.reason}"
    table = {
        "Guarantee": [release.guarantee],
        "Protected": [protected + alike],
        "Neighbours": [f"{release.neighbors}: {protected} {changed}{alike}"],
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
    if release.missing_user == "own-unit":
        table["Baskets without a customer"] = ["each protected by itself"]
    elif release.missing_user is not None:
        table["Baskets without a customer"] = ["left out"]
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
    shares = shares_in_words(release.shares)
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


def _how_to_read(segments: Sequence[_Segment]) -> Iterator[str]:
    """Yield how to read the numbers and the marks that are on the page."""
    releases = [segment.release for segment in segments]
    who = words.customers(releases[0].privacy_unit)
    if any(release.has_supports and release.itemsets for release in releases):
        yield (
            f"Numbers of {who} are true numbers with noise added on purpose. If you ask the same "
            "question twice, you get two answers."
        )
        yield (
            "The thin line on a bar is an interval: it contains the true number with 95 % "
            "probability."
        )
        yield "If the lines of two bars overlap, the true order may be the other way round."
    doubtful = any(itemset.doubtful for release in releases for itemset in release.itemsets)
    if doubtful and releases[0].min_support is not None:
        yield (
            "A ? beside an itemset means that it may have less support than was asked for, "
            "because of the noise."
        )
    elif doubtful:
        yield (
            "A ? beside an itemset, and stripes in its bar, mean that its rank is not sure. "
            "Something that was left out may be as frequent. The number and the interval hold "
            "all the same."
        )
    sections = [segment.rules for segment in segments if segment.rules is not None]
    if any(section.has_lifts and section.findings for section in sections):
        yield (
            "More often than chance is sure where the whole interval of the lift is above 1. A ? "
            "beside a row means that it is not sure, and what you see there may be chance."
        )
    yield (
        "Items that are not on this page may be bought together, too. They only do not stand "
        "out from the noise."
    )
    if not any(releases):
        yield "An empty page is a valid answer. Its budget is spent all the same."
