"""The report: one release as an HTML page."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from fim_private import __version__
from fim_private.display import MARK, printable
from fim_private.dp.composition import growth_bound
from fim_private.dp.cost import at_least, rounded_up
from fim_private.dp.parameters import Neighbors
from fim_private.errors import ParameterError, shown
from fim_private.reading.labels import Item
from fim_private.release.chart import DARK, LIGHT, Bar, BarChart, variables
from fim_private.release.release import GIVEN, Release
from fim_private.release.rules import rules_cells, rules_note
from fim_private.release.segmented import SegmentedRelease, rules_by_segment
from fim_private.release.words import charged, decimals_of_shares, percent
from fim_private.request.budget import parts_in_words
from fim_private.request.itemsets import Itemset
from fim_private.rule_metrics import Rules
from fim_private.whole_files import staged

# -------------------- html
# Tags and escaped text: item names come from outside, and must stay text wherever they stand.


def text(content: object) -> str:
    """Return content as HTML that shows it as it is; what cannot be shown, such as a line break, as an escape.

    >>> text("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return escape(printable(str(content)), quote=True)


def tag(name: str, *inside: str, **attributes: object) -> str:
    """Return an element. inside: HTML, not text. attributes: text; class_ is class, aria_label aria-label.

    >>> tag("p", text("1 < 2"), class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>{''.join(inside)}</{name}>"


def chips(items: tuple[Item, ...] | None, unit: str) -> str:
    """Return an itemset as a row of its items, each in a frame, whatever way its letters run."""
    if items is None:
        return tag("em", text(f"an itemset without a name: in no {unit}, or in too few to be named"))
    shown = (tag("bdi", text(item)) if str(item).strip() else tag("em", "an empty name") for item in items)
    return tag("span", *(tag("span", each, class_="chip") for each in shown), class_="chips")


# -------------------- style
# How the page looks. Colours have a contrast of 4.5 or more; nothing is loaded from anywhere.

STYLE = (
    f"""
:root {{ color-scheme: light dark; {variables(LIGHT)}"""
    """
  --rule: #d5dbe3; --card: #f4f6f9; --accent: #1f5fbf; --warnpaper: #fff1e3;
  --l0: #d3dae3; --l1: #b5cdf0; --l2: #7fa9e4; --l3: #3f78c9; --l4: #123f80; }
@media (prefers-color-scheme: dark) { :root { """
    f"{variables(DARK)}"
    """
  --rule: #333c48; --card: #1d232c; --accent: #8bb8ff; --warnpaper: #33230f;
  --l0: #333c48; --l1: #2c4a75; --l2: #3f6db0; --l3: #6f9fe6; --l4: #c2dafc; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main, header, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; }
h1 { font-size: clamp(1.5rem, 5vw, 2.25rem); line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem; }
p { max-width: 44rem; margin: .5rem 0; overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; color: var(--soft); }
.note, footer, caption { color: var(--soft); font-size: .9rem; }
.warning { background: var(--warnpaper); color: var(--warn); border-left: .3rem solid; padding: .75rem 1rem;
  font-weight: 600; }
.nothing { background: var(--card); border-radius: .5rem; padding: .75rem 1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .75rem; padding: 0;
  margin: 1rem 0; }
.cards div { background: var(--card); border-radius: .5rem; padding: .75rem 1rem; }
.cards dt { color: var(--soft); font-size: .85rem; }
.cards dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
caption { text-align: left; padding: .25rem 0 .5rem; }
th, td { text-align: left; padding: .45rem .6rem .45rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: middle;
  font-weight: 400; }
thead th { color: var(--soft); font-size: .85rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.number .interval { display: block; color: var(--soft); font-size: .8rem; }
thead th:nth-child(n+3) { text-align: right; } .rules thead th:nth-child(3) { text-align: left; }
.chips { display: inline-flex; flex-wrap: wrap; gap: .3rem; }
.chip { border: 1px solid var(--rule); background: var(--card); border-radius: .4rem; padding: .05rem .5rem;
  overflow-wrap: anywhere; }
abbr { text-decoration: none; color: var(--warn); font-weight: 700; margin-left: .4rem; }
.bars { width: 34%; min-width: 8rem; }
.bar { display: block; position: relative; height: 1.25rem; }
.fill { position: absolute; inset: .1rem auto .1rem 0; background: var(--bar); border-radius: 0 .2rem .2rem 0; }
.fill.doubtful { background: repeating-linear-gradient(135deg, var(--bar) 0 .35rem, transparent .35rem .6rem); }
.line { position: absolute; top: 50%; height: 0; border-top: 2px solid var(--line); }
.line::before, .line::after { content: ""; position: absolute; top: -.35rem; height: .6rem;
  border-left: 2px solid var(--line); }
.line::before { left: 0; } .line::after { right: 0; }
.plain li { margin: .5rem 0; }
.matrix { overflow-x: auto; border: 1px solid var(--rule); border-radius: .5rem; padding: .5rem; }
.matrix:focus-visible, a:focus-visible, summary:focus-visible { outline: 3px solid var(--accent);
  outline-offset: 2px; }
svg { display: block; max-width: none; } svg text { fill: var(--ink); font-size: 12px; }
svg text.row { text-anchor: end; } svg line { stroke: var(--rule); }
circle { stroke: var(--ink); stroke-width: .5; }
circle.hollow { fill: none; stroke-dasharray: 3 2; stroke-width: 1.2; }
.lift0 { fill: var(--l0); } .lift1 { fill: var(--l1); } .lift2 { fill: var(--l2); } .lift3 { fill: var(--l3); }
.lift4 { fill: var(--l4); }
.arrow { color: var(--soft); }
.parts { display: flex; height: 1.5rem; border-radius: .4rem; overflow: hidden; margin: .5rem 0; max-width: 44rem; }
.parts span { background: var(--l3); border-right: 2px solid var(--paper); }
.parts span:nth-child(2n) { background: var(--l2); }
footer { padding-top: 2rem; padding-bottom: 2.5rem; }
@media (max-width: 40rem) {
  table, tbody { display: block; }
  thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  caption { display: block; }
  tr { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; padding: .6rem 0;
    border-bottom: 1px solid var(--rule); }
  th, td { border: 0; padding: .1rem 0; } th[scope=row], .bars { flex: 1 0 100%; width: 100%; min-width: 0; }
  .rules td:nth-child(3) { flex: 1 1 auto; }
  .number { text-align: left; } .number.interval, .number .interval { color: var(--soft); font-size: .85rem; }
  .rules .number::before { color: var(--soft); font-size: .8rem; margin-right: .35rem; }
  .rules .share::before { content: "share"; } .rules .confidence::before { content: "confidence"; }
  .rules .lift::before { content: "lift"; } }
@media print { :root { color-scheme: light; --paper: #fff; --ink: #000; --soft: #444; --card: #fff; }
  body { font-size: 11pt; } header { padding-top: 0; } tr, .cards div, .matrix { break-inside: avoid; }
  h2 { break-after: avoid; }
  .fill, circle, .parts span { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
)


# -------------------- plain words
# What a release promises, and how to read it, in words for people who never heard of differential privacy.

# Above this ε what is here may be more than twenty times as likely because of one unit.
_WEAK = 3


def promise(release: Release) -> str:
    """Return what the guarantee means to one of those in the data, in a few sentences: its factor, and how strong."""
    who = "customer" if release.privacy_unit == "user" else "basket"
    chosen = release.where is not None or release.scope.query
    of_whom = f"{who} whose rows were read" if chosen else who
    had = "not been in the data" if _may_be_absent(release) else "held anything else"
    if release.privacy_unit == "user" and not _may_be_absent(release):
        had = "bought anything else"
    if chosen and not _may_be_absent(release):
        had += ", and its rows been read just as well"
    if release.scope.segment is not None and not _may_be_absent(release):
        had += f" and counted in the same {printable(release.scope.by or '')}"
    bound = growth_bound(release.cost.epsilon)
    factor = f"e^{at_least(release.cost.epsilon)}" if bound is None else rounded_up(bound, 3)
    added = f", up to an added probability of {_chance(release.delta)}" if release.delta else ""
    told = (
        f"What is on this page was drawn by chance, weighed so that no single {who} matters much: had any one "
        f"{of_whom} {had}, whatever is here would have been at most {factor} times more, or less, likely{added}. "
        f"So little of what it shows can be due to that one {who}."
    )
    if release.cost.epsilon > _WEAK:
        told = told.replace(" So little of what it shows can be due to that one", " That is a weak promise to any one")
    return told


def counted(release: Release) -> str | None:
    """Return what is told exactly, and so hidden of nobody; None where nothing is."""
    if release.units is None or release.units_interval is not None:
        return None
    whose = "customers" if release.privacy_unit == "user" else "baskets"
    hidden = "what one of them holds is hidden, not that it is among them"
    return f"How many {whose} there are is told exactly: {hidden}."


def how_to_read(release: Release) -> Iterator[str]:
    """Yield what to know of noise and of what is missing, a paragraph each."""
    unit = release.privacy_unit
    who = "customers" if unit == "user" else "baskets"
    if release.has_supports and release.itemsets:
        yield (
            f"Numbers of {who} are true numbers with noise added on purpose: the same question asked twice has two "
            "answers. The thin line on each bar is where the true number is, with 95 % probability, each by itself. "
            "Two bars whose lines overlap may well be the other way round."
        )
    if any(one.doubtful for one in release.itemsets):
        yield "A striped bar marked with ? may not belong here at all: by the noise alone another may have as much."
    yield (
        "What is not on this page was not necessarily not bought together: it may only not stand out enough from the "
        "noise, or it may have been passed over by chance."
    )
    if not release.itemsets:
        yield (
            "An empty page is a valid answer. It says that nothing stood out from the noise that this much privacy "
            "takes; and the privacy it took is spent all the same."
        )


def _may_be_absent(release: Release) -> bool:
    return release.neighbors == Neighbors.ADD_REMOVE


def _chance(delta: float) -> str:
    """Return a small probability in words."""
    odds = 1 / delta
    return f"one in {odds:,.0f}" if odds < 1e12 else f"{delta:g}"


# -------------------- itemset bars
# Itemsets as a table with a bar each: the noisy support, and on it the interval in which the true one is.


def itemset_table(release: Release) -> str:
    """Return the itemsets as HTML: one a row, with its number, share and interval where these were released."""
    who = "customers" if release.privacy_unit == "user" else "baskets"
    if not release.has_supports:
        rows = [tag("li", _named(release, one)) for one in release.itemsets]
        return tag("ol", *rows, class_="itemsets plain")
    heads = ["Items", "", who.capitalize(), *(["Share"] if release.has_shares else []), "95 % interval"]
    head = tag("tr", *(tag("th", text(each), scope="col", role="columnheader") for each in heads), role="row")
    chart = release.chart(relative=False, most=None)
    body = "".join(_row(release, one, bar, chart) for one, bar in zip(release.itemsets, chart.bars, strict=True))
    caption = tag("caption", text(f"Itemsets, and the number of {who} that have all of their items"))
    return tag(
        "table",
        caption,
        tag("thead", head, role="rowgroup"),
        tag("tbody", body, role="rowgroup"),
        class_="itemsets",
        role="table",
    )


def _row(release: Release, one: Itemset, bar: Bar, chart: BarChart) -> str:
    """Return one itemset. bar: what is drawn of it, among those of a chart."""
    cells = [tag("th", _named(release, one), scope="row", role="rowheader")]
    if bar.length is None or bar.low is None or bar.high is None:
        return tag("tr", *cells, tag("td", text("not released"), colspan="4", role="cell"), role="row")
    low, length, high = (100 * chart.part(end) for end in (bar.low, bar.length, bar.high))
    fill = tag("span", class_="fill doubtful" if bar.doubtful else "fill", style=f"width:{length:.2f}%")
    line = tag("span", class_="line", style=f"left:{low:.2f}%;width:{high - low:.2f}%")
    cells.append(tag("td", tag("span", fill, line, class_="bar"), class_="bars", aria_hidden="true"))
    cells.append(_number(bar.told, "support"))
    if release.has_shares:
        width = 0 if release.noise is None else release.noise.half_width
        share = percent(release.share_of(one) or 0, decimals_of_shares(width, release.units or 0))
        cells.append(_number(share, "share"))
    cells.append(_number(bar.interval, "interval"))
    return tag("tr", *cells, role="row")


def _number(shown: str, kind: str) -> str:
    return tag("td", text(shown), class_=f"number {kind}", role="cell")


def _named(release: Release, one: Itemset) -> str:
    mark = tag("abbr", MARK, title="may not be one of the most frequent") if one.doubtful else ""
    return chips(one.items, release.privacy_unit) + mark


# -------------------- rule matrix
# Rules as a matrix, what is bought down the side and what goes with it along the top; and as a table.

# More rows or columns do not fit a page, and more rules nobody reads; the other forms of a release have all.
_WIDEST, _MOST_ROWS = 24, 200
_CELL, _LONGEST = 30, 22
# From which lift on a circle is darker.
_STEPS = (1.0, 1.5, 2.5, 5.0)
# How dark all are where there are no lifts.
_UNSHADED = 2


def rules_section(release: Release, rules: Rules) -> str:
    """Return the rules as HTML: a matrix where they fit one, the table, and how to read it."""
    title, _, rows = rules_cells(rules, release)
    if not len(rules):
        return tag("p", text("No rule of these itemsets has as much confidence and lift as was asked for."))
    heads = ("If a basket has" if release.privacy_unit == "basket" else "Who buys", "", "also", "Share", "Confidence")
    shown, doubted = min(len(rules), _MOST_ROWS), _doubted(rules)
    body = []
    for place in range(shown):
        doubt = tag("abbr", MARK, title=doubted) if rules.doubtful[place] else ""
        cells = [
            tag("td", chips(rules.antecedents[place], release.privacy_unit), role="cell"),
            tag("td", tag("span", "→", aria_label="goes with"), class_="arrow", role="cell"),
            tag("td", chips(rules.consequents[place], release.privacy_unit) + doubt, role="cell"),
            *_numbers(rows[place]),
        ]
        body.append(tag("tr", *cells, role="row", class_="doubtful" if rules.doubtful[place] else "sure"))
    lift = ("Lift",) if rules.has_lifts else ()
    head = [tag("th", text(each), scope="col", role="columnheader") for each in (*heads, *lift)]
    table = tag(
        "table",
        tag("caption", text(title)),
        tag("thead", tag("tr", *head, role="row"), role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        class_="rules",
        role="table",
    )
    rest = "" if shown == len(rules) else tag("p", text(f"The other {len(rules) - shown:,} are in the release's file."))
    return _matrix(rules) + table + rest + tag("p", text(rules_note(rules)), class_="note")


def _numbers(row: list[str]) -> list[str]:
    """Return the cells of share, confidence and perhaps lift, each of the last two with its interval."""
    _, share, confidence, of_confidence, *lift = row
    pairs = [(share, "", "share"), (confidence, of_confidence, "confidence")]
    if lift:
        pairs.append((lift[0], lift[1], "lift"))
    return [
        tag(
            "td",
            tag("span", text(value), class_="value"),
            tag("span", text(interval), class_="interval") if interval else "",
            class_=f"number {kind}",
            role="cell",
        )
        for value, interval, kind in pairs
    ]


def _matrix(rules: Rules) -> str:
    """Return the rules as circles: larger with more confidence, darker with more lift (if any); hollow if doubtful."""
    sides = [*dict.fromkeys(rules.antecedents)], [*dict.fromkeys(rules.consequents)]
    if not all(2 <= len(each) <= _WIDEST for each in sides):
        return ""
    labels = [[_label(items) for items in each] for each in sides]
    left = 16 + math.ceil(8.5 * max(map(len, labels[0])))
    slope = 16 + math.ceil(6.5 * max(map(len, labels[1])))
    width, height = left + _CELL * len(sides[1]) + slope, slope + _CELL * len(sides[0]) + 8
    drawn = []
    for place, name in enumerate(labels[0]):
        y = slope + _CELL * place + _CELL / 2
        drawn.append(tag("text", text(name), x=left - 8, y=f"{y + 4:g}", class_="row"))
        drawn.append(f'<line x1="{left}" x2="{left + _CELL * len(sides[1])}" y1="{y:g}" y2="{y:g}"/>')
    for place, name in enumerate(labels[1]):
        x = left + _CELL * place + _CELL / 2
        drawn.append(tag("text", text(name), transform=f"translate({x + 4:g} {slope - 6}) rotate(-45)"))
        drawn.append(f'<line x1="{x:g}" x2="{x:g}" y1="{slope}" y2="{slope + _CELL * len(sides[0])}"/>')
    for place in range(len(rules)):
        row, column = sides[0].index(rules.antecedents[place]), sides[1].index(rules.consequents[place])
        confidence = float(rules.metrics["confidence"][place])
        words, shade = f"{labels[0][row]} → {labels[1][column]}: confidence {100 * confidence:.0f} %", _UNSHADED
        if rules.has_lifts:
            lift = float(rules.metrics["lift"][place])
            words, shade = f"{words}, lift {lift:.2f}", sum(lift >= step for step in _STEPS)
        x, y = left + _CELL * column + _CELL / 2, slope + _CELL * row + _CELL / 2
        kind = "hollow" if rules.doubtful[place] else f"lift{shade}"
        radius = 3 + (_CELL / 2 - 4) * math.sqrt(confidence)
        drawn.append(tag("circle", tag("title", text(words)), cx=f"{x:g}", cy=f"{y:g}", r=f"{radius:.1f}", class_=kind))
    picture = tag(
        "svg",
        *drawn,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label="Rules as a matrix of circles; the table below has the same in words and numbers.",
    )
    scrolled = tag("div", picture, class_="matrix", tabindex="0", role="region", aria_label="Matrix of rules")
    darker = "; the darker (on a dark screen the lighter), the more lift" if rules.has_lifts else ""
    hollow = f" Hollow ones {_doubted(rules)}." if rules.doubtful.any() else ""
    legend = f"The larger a circle, the more confidence{darker}.{hollow}"
    return scrolled + tag("p", text(legend), class_="note")


def _doubted(rules: Rules) -> str:
    """Return what is uncertain of doubtful rules."""
    return "may be chance" if rules.has_lifts else "may miss what was asked for"


def _label(items: tuple[Item, ...]) -> str:
    """Return the items of a side on one line, cut where they are long; the table has them whole."""
    name = ", ".join(map(str, items))
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


# -------------------- page
# The page of a release: what was asked, what is promised, what was found, what it cost, and how to read it.
#
# One file of HTML with its style in it, no script, and a policy that forbids a browser to fetch anything.

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
