"""The report: a release as a page of HTML for everybody, without scripts, for which a browser may fetch nothing."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
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
from fim_private.release.chart import DARK, LIGHT, variables
from fim_private.release.release import GIVEN, Release, SegmentedRelease
from fim_private.release.rules import Rules, rules_by_segment, rules_table
from fim_private.release.words import charged, customers
from fim_private.request.budget import parts_in_words
from fim_private.whole_files import staged


# Names come from outside, and must stay text wherever they stand.
def text(content: object) -> str:
    """Return content as HTML that shows it as it is; what cannot be shown, such as a line break, as an escape."""
    return escape(printable(str(content)), quote=True)


def tag(name: str, *inside: str, **attributes: object) -> str:
    """Return an element. inside: HTML. attributes: text; class_ is class, aria_label aria-label."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>{''.join(inside)}</{name}>"


def _paragraph(content: str, **attributes: object) -> str:
    return tag("p", text(content), **attributes)


def _chips(items: tuple[Item, ...] | None, unit: str) -> str:
    if items is None:
        return tag("em", text(f"an itemset without a name: in no {unit}, or in too few to be named"))
    names = (tag("bdi", text(item)) if str(item).strip() else tag("em", "an empty name") for item in items)
    return tag("span", *(tag("span", name, class_="chip") for name in names), class_="chips")


def _table(kind: str, caption: str, heads: list[str], rows: list[str]) -> str:
    head = tag("tr", *(tag("th", text(each), scope="col", role="columnheader") for each in heads), role="row")
    groups = tag("thead", head, role="rowgroup"), tag("tbody", *rows, role="rowgroup")
    return tag("table", tag("caption", text(caption)), *groups, class_=kind, role="table")


# How the page looks. Colours have a contrast of 4.5 or more; nothing is loaded from anywhere.
STYLE = (
    f"\n:root {{ color-scheme: light dark; {variables(LIGHT)}"
    """
  --rule: #d5dbe3; --card: #f4f6f9; --warnpaper: #fff1e3; }
@media (prefers-color-scheme: dark) { :root { """
    f"{variables(DARK)}"
    """
  --rule: #333c48; --card: #1d232c; --warnpaper: #33230f; } }
* { box-sizing: border-box; } html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main, header, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; } header { padding-top: 2.5rem; }
h1 { font-size: clamp(1.5rem, 5vw, 2.25rem); line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem; }
p { max-width: 44rem; margin: .5rem 0; overflow-wrap: anywhere; } .lead { font-size: 1.1rem; color: var(--soft); }
.note, footer, caption { color: var(--soft); font-size: .9rem; }
.warning { background: var(--warnpaper); color: var(--warn); border-left: .3rem solid; padding: .75rem 1rem;
  font-weight: 600; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.nothing, .cards div { background: var(--card); border-radius: .5rem; padding: .75rem 1rem; }
.cards dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
caption { text-align: left; padding: .25rem 0 .5rem; }
th, td { text-align: left; padding: .45rem .6rem .45rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: middle; font-weight: 400; }
thead th, .cards dt { color: var(--soft); font-size: .85rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.number .interval { display: block; color: var(--soft); font-size: .8rem; }
thead th:nth-child(n+3) { text-align: right; } .rules thead th:nth-child(3) { text-align: left; }
.chips { display: inline-flex; flex-wrap: wrap; gap: .3rem; }
.chip { border: 1px solid var(--rule); background: var(--card); border-radius: .4rem; padding: .05rem .5rem;
  overflow-wrap: anywhere; }
abbr { text-decoration: none; color: var(--warn); font-weight: 700; margin-left: .4rem; }
.bars { width: 34%; min-width: 8rem; } .bar { display: block; position: relative; height: 1.25rem; }
.fill { position: absolute; inset: .1rem auto .1rem 0; background: var(--bar); border-radius: 0 .2rem .2rem 0; }
.fill.doubtful { background: repeating-linear-gradient(135deg, var(--bar) 0 .35rem, transparent .35rem .6rem); }
.line { position: absolute; top: 50%; height: 0; border-top: 2px solid var(--line); }
.line::before, .line::after { content: ""; position: absolute; top: -.35rem; height: .6rem;
  border-left: 2px solid var(--line); }
.line::before { left: 0; } .line::after { right: 0; } .plain li { margin: .5rem 0; } .arrow { color: var(--soft); }
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
  body { font-size: 11pt; } header { padding-top: 0; } tr, .cards div { break-inside: avoid; }
  h2 { break-after: avoid; }
  .fill { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
)

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def report(
    release: Release | SegmentedRelease,
    path: str | os.PathLike[str],
    *,
    min_confidence: float = 0.0,
    min_lift: float = 0.0,
) -> None:
    """Write a release, or those of segments, as a page of HTML, which shows nothing else and spends nothing.

    It has rules where it was mined with rules=True; min_confidence, min_lift: as in Release.rules.
    Raises ParameterError for what is no release or no path, and for limits out of range, and OutputError where the file
    cannot be written.
    """
    if not isinstance(release, Release | SegmentedRelease):
        raise ParameterError(f"a report is made of a Release, not of {shown(release)}")
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"a report is written to the path of a file, not to {shown(path)}")
    rules = rules_by_segment(release, min_confidence, min_lift) if release.with_parts else None
    with staged(Path(path).expanduser(), given="path") as write:
        write(page(release, rules))


def page(release: Release | SegmentedRelease, rules: Any = None) -> str:
    """Return the page, which has only what a release says of itself. rules: of segments under their names."""
    if isinstance(release, Release):
        whole, fullest, found = release, release, [*_found(release, rules, "", "")]
    else:
        whole, fullest, found = release.whole, max(release.releases, key=len), []
        for place, (name, one) in enumerate(release.items(), 1):
            found += _found(one, rules and rules[name], f": {release.heading(one)}", f"-{place}")
    title = "What is bought together" if max(whole.sizes) > 1 else "What is bought"
    head = (
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{text(_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        tag("title", text(title)),
        f"<style>{STYLE}</style>",
    )
    warned = "" if whole.private else _paragraph(release.guarantee, class_="warning", role="alert")
    header = tag("header", warned, tag("h1", text(title)), _paragraph(release.title, class_="lead"))
    read = whole.scope.sentences(customers(whole.privacy_unit)[:-1])
    main = tag(
        "main",
        *found,
        _section("What this page promises", *_promised(whole)),
        _section("What was asked", _asked(whole), *(_paragraph(each, class_="note") for each in read)),
        _section("What was spent", *_spent(whole)),
        _section("How to read it", *map(_paragraph, _how_to_read(fullest))),
    )
    footer = tag("footer", text(f"Made by fim-private {__version__} from a differentially private release."))
    return f'<!DOCTYPE html>\n<html lang="en">{tag("head", *head)}{tag("body", header, main, footer)}</html>\n'


def _section(title: str, *inside: str, suffix: str = "", place: str = "") -> str:
    name = title.lower().replace(" ", "-") + place
    return tag("section", tag("h2", text(title + suffix), id=name), *inside, aria_labelledby=name)


def _found(release: Release, rules: Rules | None, suffix: str, place: str) -> Iterator[str]:
    inside = [_paragraph(release.nothing, class_="nothing")]
    if release.itemsets:
        inside = [_itemsets(release), *(_paragraph(each, class_="note") for each in release.certainty)]
    yield _section("What was found", *inside, suffix=suffix, place=place)
    if release.itemsets and rules is not None:
        yield _section("What goes with what", _rules(release, rules), suffix=suffix, place=place)


def _promised(release: Release) -> Iterator[str]:
    if not release.private:
        yield _paragraph("Nothing: a seed was given, for a test, and so its chance can be foreseen.")
        return
    who = customers(release.privacy_unit)[:-1]
    chosen = release.where is not None or release.scope.query
    of_whom = f"{who} whose rows were read" if chosen else who
    had = "not been in the data"
    if release.neighbors == Neighbors.REPLACE_ONE:
        had = "bought anything else" if release.privacy_unit == "user" else "contained anything else"
        had += ", and its rows been read just as well" if chosen else ""
        segment = printable(release.scope.by or "")
        had += f" and counted in the same {segment}" if release.scope.segment is not None else ""
    bound = growth_bound(release.cost.epsilon)
    factor = f"e^{at_least(release.cost.epsilon)}" if bound is None else rounded_up(bound, 3)
    odds = 1 / release.delta if release.delta else math.inf
    chance = f"one in {odds:,.0f}" if odds < 1e12 else f"{release.delta:g}"
    added = f", up to an added probability of {chance}" if release.delta else ""
    # Above ε = 3 what is here may be more than twenty times as likely because of one unit.
    weak = "That is a weak promise to any one" if release.cost.epsilon > 3 else ""
    yield _paragraph(
        f"What is on this page was drawn by chance, weighed so that no single {who} matters much: had any one "
        f"{of_whom} {had}, whatever is here would have been at most {factor} times more, or less, likely{added}. "
        f"{weak or 'So little of what it shows can be due to that one'} {who}."
    )
    if release.units is not None and release.units_interval is None:
        hidden = "what one of them holds is hidden, not that it is among them"
        yield _paragraph(f"How many {who}s there are is released exactly: {hidden}.")
    yield _paragraph(f"Exactly: {release.guarantee}", class_="note")


def _asked(release: Release) -> str:
    who = "one customer, with all their baskets" if release.privacy_unit == "user" else "one basket"
    most = f"{release.wanted:,} at most" + ("" if release.scope.segment is None else " in each segment")
    asked = {
        "Items together": str(release.size),
        "How many": f"the {release.top:,} named" if release.mechanism == GIVEN else most,
        "Protected": who,
        "Which may be": "another" if release.neighbors == "replace-one" else "there or not",
        "Mechanism": release.mechanism if release.reason is None else f"{release.mechanism}: {release.reason}",
    }
    unit = customers(release.privacy_unit)
    if release.min_support is not None:
        share = isinstance(release.min_support, float)
        asked["At least in"] = f"{100 * release.min_support:g} % of all" if share else f"{release.min_support:,} {unit}"
    if release.units is not None:
        asked[f"How many {unit} there are"] = f"{release.units:,}" + ("" if release.units_noise is None else ", about")
    items, baskets = release.caps
    if items is not None:
        asked["Counted of a basket"] = f"{items:,} items at most"
    if baskets is not None:
        asked["Counted of a customer"] = f"{baskets:,} baskets at most"
    if release.where is not None:
        asked["Rows that were read"] = f"those where {release.where}"
    if release.missing_user is not None:
        by_itself = release.missing_user == "own-unit"
        asked["Baskets of nobody known"] = "each protected by itself" if by_itself else "left out"
    cards = (tag("div", tag("dt", text(key)), tag("dd", text(value))) for key, value in asked.items())
    return tag("dl", *cards, class_="cards")


def _spent(release: Release) -> Iterator[str]:
    budget = f"ε = {at_least(release.cost.epsilon)}, δ = {at_least(release.cost.delta)}"
    if release.zcdp is not None:
        budget += f" (ρ = {at_least(release.zcdp.rho)} of zero-concentrated privacy)"
    yield _paragraph(f"This release took {budget}. Whatever else is released of the same data adds to that.")
    yield from map(_paragraph, charged(release.charged))
    if len(release.shares) > 1:
        shares = parts_in_words(release.shares).items()
        yield tag("ul", *(tag("li", text(f"{100 * float(share):.1f} % for {what}")) for what, share in shares))


def _how_to_read(release: Release) -> Iterator[str]:
    if release.has_supports and release.itemsets:
        yield (
            f"Numbers of {customers(release.privacy_unit)} are true numbers with noise added on purpose: the same "
            "question asked twice has two answers. The thin line on each bar is where the true number is, with 95 % "
            "probability, each by itself. Two bars whose lines overlap may well be in the other order."
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


def _itemsets(release: Release) -> str:
    mark = tag("abbr", MARK, title="may not be one of the most frequent")
    names = [_chips(one.items, release.privacy_unit) + mark * bool(one.doubtful) for one in release.itemsets]
    if not release.has_supports:
        return tag("ol", *(tag("li", name) for name in names), class_="itemsets plain")
    chart, who = release.chart(relative=False, most=None), customers(release.privacy_unit)
    kinds = ["support", *(["share"] if release.has_shares else []), "interval"]
    rows = []
    for one, name, bar in zip(release.itemsets, names, chart.bars, strict=True):
        cells = [tag("th", name, scope="row", role="rowheader")]
        if bar.length is None or bar.low is None or bar.high is None:
            cells.append(tag("td", text("not released"), colspan="4", role="cell"))
        else:
            low, length, high = (100 * (end / chart.longest) for end in (bar.low, bar.length, bar.high))
            fill = tag("span", class_="fill doubtful" if bar.doubtful else "fill", style=f"width:{length:.2f}%")
            line = tag("span", class_="line", style=f"left:{low:.2f}%;width:{high - low:.2f}%")
            cells.append(tag("td", tag("span", fill, line, class_="bar"), class_="bars", aria_hidden="true"))
            numbers = zip(kinds, release.cells(one)[1:], strict=True)
            cells += [tag("td", text(number), class_=f"number {kind}", role="cell") for kind, number in numbers]
        rows.append(tag("tr", *cells, role="row"))
    heads = ["Items", "", who.capitalize(), *(["Share"] if release.has_shares else []), "95 % interval"]
    return _table("itemsets", f"Itemsets, and the number of {who} that have all of their items", heads, rows)


def _rules(release: Release, rules: Rules) -> str:
    if not len(rules):
        return _paragraph("No rule of these itemsets has as much confidence and lift as was asked for.")
    table, rows = rules_table(rules, release.decimals, release.privacy_unit), []
    doubted = "may be chance" if rules.has_lifts else "may miss what was asked for"
    for place, (_, share, confidence, within, *lift) in enumerate(table.rows[:200]):  # more nobody reads
        doubt = tag("abbr", MARK, title=doubted) if rules.doubtful[place] else ""
        cells = [
            tag("td", _chips(rules.antecedents[place], release.privacy_unit), role="cell"),
            tag("td", tag("span", "→", aria_label="goes with"), class_="arrow", role="cell"),
            tag("td", _chips(rules.consequents[place], release.privacy_unit) + doubt, role="cell"),
        ]
        for kind, value, *interval in (
            *(("share", share), ("confidence", confidence, within)),
            *([("lift", *lift)] if lift else []),
        ):
            number = tag("span", text(value), class_="value")
            number += "".join(tag("span", text(each), class_="interval") for each in interval)
            cells.append(tag("td", number, class_=f"number {kind}", role="cell"))
        rows.append(tag("tr", *cells, role="row", class_="doubtful" if rules.doubtful[place] else "sure"))
    who = "If a basket has" if release.privacy_unit == "basket" else "Who buys"
    heads = [who, "", "also", "Share", "Confidence", *(["Lift"] if rules.has_lifts else [])]
    left = len(rules) - len(rows)
    rest = _paragraph(f"The other {left:,} are in the release's file.") if left else ""
    return _table("rules", table.title, heads, rows) + rest + _paragraph(rules.note, class_="note")
