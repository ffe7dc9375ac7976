"""The report: a release as a page of HTML for everybody."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from fim_private.dp.composition import growth_bound
from fim_private.dp.cost import least_in_words, one_in_words, rounded_up
from fim_private.errors import ParameterError, shown
from fim_private.reading.labels import Item
from fim_private.release.release import Release
from fim_private.release.rules import Rules, rules_by_segment, rules_table
from fim_private.release.segments import SegmentedRelease
from fim_private.release.templates import checked_title, render
from fim_private.release.trend import Trend, named, trend_of, trend_page
from fim_private.request.itemsets import Itemset
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
    if isinstance(release, Release):
        assert not isinstance(rules, Mapping)
        whole, segments = release, [_Segment.of(release, rules)]
    else:
        whole, segments = release.whole, _segments(release, rules)
    default_title = "What is bought"
    if max(whole.sizes) > 1:
        default_title = "What is bought together"
    return render(
        "page.html.jinja",
        title=title or default_title,
        private=whole.private,
        release=whole,
        segments=segments,
        trend=_trend(release),
        most_difference=_most_difference(whole),
    )


def _segments(
    release: SegmentedRelease, rules: Rules | Mapping[str, Rules] | None
) -> list[_Segment]:
    by_segment = rules if isinstance(rules, Mapping) else {}
    return [
        _Segment.of(segment, by_segment.get(name), release.heading(segment), f"-{number}")
        for number, (name, segment) in enumerate(release.items(), 1)
    ]


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


class _Number(NamedTuple):
    """A number in a table: by what its column is sorted, and how it and its interval are shown."""

    value: float | None
    shown: str
    interval: str = ""


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
    numbers: Mapping[str, _Number]


def _findings(rules: Rules, decimals: int, unit: str) -> list[_Finding]:
    """Return the findings of rules, those that are surest first."""
    rules_of: dict[frozenset[tuple[Item, ...]], list[_Finding]] = {}
    texts = rules_table(rules, decimals, unit).rows
    for (left, right, values, doubtful), row in zip(rules.rows(), texts, strict=True):
        _, share, confidence, interval, *lift = row
        numbers = {
            "confidence": _Number(values["confidence"], confidence, interval),
            "reverse": _Number(None, "–"),
            "share": _Number(values["support"], share),
        }
        above = not doubtful
        if lift:
            numbers["lift"] = _Number(values["lift"], *lift)
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
class _Segment:
    """One release on the page: that of a segment, or the only one.

    Attributes:
        release: The release.
        rules: Its rules, if any were made of itemsets that are long enough.
        findings: The findings by which the page shows them.
        heading: The name of the segment; empty for a release of everything.
        place: The end of the ids of its elements, which makes them unique.
    """

    release: Release
    rules: Rules | None
    findings: Sequence[_Finding]
    heading: str = ""
    place: str = ""

    @classmethod
    def of(
        cls, release: Release, rules: Rules | None, heading: str = "", place: str = ""
    ) -> _Segment:
        """Return a release with the findings of its rules."""
        if rules is None or max(release.sizes) == 1:
            return cls(release, None, (), heading, place)
        findings = _findings(rules, release.decimals, release.privacy_unit)
        return cls(release, rules, findings, heading, place)

    @property
    def itemsets(self) -> Sequence[Itemset]:
        """The itemsets of the release."""
        return self.release.itemsets

    @property
    def level(self) -> str:
        """The level of the headings of its sections."""
        return "h3" if self.heading else "h2"

    @property
    def by_size(self) -> Mapping[int, Sequence[Itemset]]:
        """The itemsets of each size."""
        groups: dict[int, list[Itemset]] = {}
        for itemset in self.itemsets:
            size = self.release.sizes[0] if itemset.items is None else len(itemset.items)
            groups.setdefault(size, []).append(itemset)
        return groups

    @property
    def surest(self) -> _Finding | None:
        """The rule to tell first, if one is sure: of one item and another, if there is one."""
        sure = [finding for finding in self.findings if finding.above]
        return min(sure, key=lambda rule: len(rule.antecedent + rule.consequent) > 2, default=None)

    @property
    def told(self) -> Itemset | None:
        """The itemset to tell first, if one is sure by its support, or else by its rank: one of
        several items, if there is one.
        """
        sure = []
        for itemset in self.itemsets:
            is_sure = not itemset.doubtful
            if itemset.interval is not None:
                is_sure = itemset.interval[0] > 0
            if itemset.items and is_sure:
                sure.append(itemset)
        return max(sure, key=lambda itemset: len(itemset.items or ()) > 1, default=None)
