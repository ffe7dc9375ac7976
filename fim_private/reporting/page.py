"""The page of a release: what was asked, what is promised, what was found, what it cost, and how to read it.

One file of HTML with its style in it, no script, and a policy that forbids a browser to fetch anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fim_private import __version__
from fim_private.dp.cost import at_least
from fim_private.errors import ParameterError, shown
from fim_private.mining.budget_share import parts_in_words
from fim_private.mining.release import GIVEN, Release
from fim_private.mining.segmented import SegmentedRelease, rules_by_segment
from fim_private.mining.wording import charged
from fim_private.reporting.html import tag, text
from fim_private.reporting.itemset_bars import itemset_table
from fim_private.reporting.plain_words import counted, how_to_read, promise
from fim_private.reporting.rule_matrix import rules_section
from fim_private.reporting.style import STYLE
from fim_private.rules.association import Rules
from fim_private.whole_files import staged

# A heading, what was found in a segment, and its rules, if they are to be shown.
Segment = tuple[str, Release, Rules | None]
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def report(
    release: Release | SegmentedRelease,
    path: str | os.PathLike[str],
    *,
    min_confidence: float = 0.0,
    min_lift: float = 0.0,
) -> None:
    """Write a release as a page of HTML, whole or not at all: for whoever is to look at it, with nothing to install.

    release: as mine, count or load return it; of segments, one page for all. Where it was mined with rules=True the
    page has its rules.
    min_confidence, min_lift: as in Release.rules.
    It shows nothing but what is released, and spends nothing. Raises ParameterError for what is no release or no path,
    and for limits out of range, and OutputError where the file cannot be written.
    """
    if not isinstance(release, Release | SegmentedRelease):
        raise ParameterError(f"a report is made of a Release, not of {shown(release)}")
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"a report is written to the path of a file, not to {shown(path)}")
    rules = rules_by_segment(release, min_confidence, min_lift) if release.with_parts else None
    with staged(Path(path).expanduser(), given="path") as write:
        write(page(release, rules))


def page(release: Release | SegmentedRelease, rules: Any = None) -> str:
    """Return the page. rules: to be shown; of segments under their names.

    It has no name of the data's file, of a column or a database, and no query: only what a release says of itself.
    """
    segments: list[Segment] = [("", release, rules)] if isinstance(release, Release) else [*_segments(release, rules)]
    whole = release if isinstance(release, Release) else release.whole
    title = "What is bought together" if max(whole.sizes) > 1 else "What is bought"
    head = (
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{text(_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        tag("title", text(title)),
        f"<style>{STYLE}</style>",
    )
    warned = "" if whole.private else tag("p", text(release.guarantee), class_="warning", role="alert")
    header = tag("header", warned, tag("h1", text(title)), tag("p", text(release.title), class_="lead"))
    main = tag("main", *_sections(whole, segments))
    footer = tag("footer", text(f"Made by fim-private {__version__} from a differentially private release."))
    return f'<!DOCTYPE html>\n<html lang="en">{tag("head", *head)}{tag("body", header, main, footer)}</html>\n'


def _segments(release: SegmentedRelease, rules: Any) -> Iterator[Segment]:
    """Yield what there is of each segment."""
    for name, one in release.items():
        yield release.heading(one), one, None if rules is None else rules[name]


def _sections(whole: Release, segments: Sequence[Segment]) -> Iterator[str]:
    """Yield the sections of the page. whole: what is said of all segments together."""
    for place, (heading, release, rules) in enumerate(segments, 1):
        of_segment = (f": {heading}", f"-{place}") if heading else ("", "")
        yield _section("What was found", *_found(release), of_segment=of_segment)
        if rules is not None and release.itemsets:
            yield _section("What goes with what", rules_section(release, rules), of_segment=of_segment)
    yield _section("What this page promises", *_promised(whole))
    told = whole.scope.told("customer" if whole.privacy_unit == "user" else "basket")
    yield _section("What was asked", _asked(whole), *(tag("p", text(each), class_="note") for each in told))
    yield _section("What was spent", *_spent(whole))
    fullest = max((release for _, release, _ in segments), key=len)
    yield _section("How to read it", *(tag("p", text(each)) for each in how_to_read(fullest)))


def _section(title: str, *inside: str, of_segment: tuple[str, str] = ("", "")) -> str:
    """Return a section. of_segment: what is added to its title and to its id."""
    name = title.lower().replace(" ", "-") + of_segment[1]
    return tag("section", tag("h2", text(title + of_segment[0]), id=name), *inside, aria_labelledby=name)


def _found(release: Release) -> Iterator[str]:
    """Yield the itemsets, and how certain they are; or that there are none."""
    if not release.itemsets:
        yield tag("p", text(release.nothing), class_="nothing")
        return
    yield itemset_table(release)
    yield from (tag("p", text(each), class_="note") for each in release.certainty)


def _promised(release: Release) -> Iterator[str]:
    """Yield the guarantee, in plain words and exactly."""
    if not release.private:
        yield tag("p", text("Nothing: a seed was given, for a test, and so its chance can be foreseen."))
        return
    yield tag("p", text(promise(release)))
    if (told := counted(release)) is not None:
        yield tag("p", text(told))
    yield tag("p", text(f"Exactly: {release.guarantee}"), class_="note")


def _asked(release: Release) -> str:
    """Return what was asked for: public choices, all of them."""
    of_each = "" if release.scope.segment is None else " in each segment"
    who = "one customer, with all their baskets" if release.privacy_unit == "user" else "one basket"
    most = f"{release.wanted:,} at most{of_each}"
    asked = {
        "Items together": str(release.size),
        "How many": f"the {release.top:,} named" if release.mechanism == GIVEN else most,
        "Protected": who,
        "Which may be": "another" if release.neighbors == "replace-one" else "there or not",
        "Mechanism": release.mechanism if release.reason is None else f"{release.mechanism}: {release.reason}",
    }
    unit = "customers" if release.privacy_unit == "user" else "baskets"
    if release.min_support is not None:
        share = isinstance(release.min_support, float)
        asked["At least in"] = f"{100 * release.min_support:g} % of all" if share else f"{release.min_support:,} {unit}"
    if release.units is not None:
        asked[f"How many {unit} there are"] = f"{release.units:,}" + ("" if release.units_noise is None else ", about")
    if release.max_basket is not None:
        asked["Counted of a basket"] = f"{release.max_basket:,} items at most"
    if release.max_baskets is not None:
        asked["Counted of a customer"] = f"{release.max_baskets:,} baskets at most"
    if release.where is not None:
        asked["Rows that were read"] = f"those where {release.where}"
    if release.missing_user is not None:
        left_out = release.missing_user == "drop"
        asked["Baskets of nobody known"] = "left out" if left_out else "each protected by itself"
    cards = (tag("div", tag("dt", text(key)), tag("dd", text(said))) for key, said in asked.items())
    return tag("dl", *cards, class_="cards")


def _spent(release: Release) -> Iterator[str]:
    """Yield the budget that this release took, and on what."""
    budget = f"ε = {at_least(release.cost.epsilon)}, δ = {at_least(release.cost.delta)}"
    if release.zcdp is not None:
        budget += f" (ρ = {at_least(release.zcdp.rho)} of zero-concentrated privacy)"
    yield tag("p", text(f"This release took {budget}. Whatever else is released of the same data adds to that."))
    yield from (tag("p", text(each)) for each in charged(release.charged))
    if len(release.shares) > 1:
        parts = parts_in_words(release.shares)
        strips = (tag("span", style=f"flex:{float(part):.4f}", title=what) for what, part in parts.items())
        yield tag("div", *strips, class_="parts", aria_hidden="true")
        yield tag("ul", *(tag("li", text(f"{100 * float(part):.1f} % for {what}")) for what, part in parts.items()))
