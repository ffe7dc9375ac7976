"""Itemsets as a table with a bar each: the noisy support, and on it the interval in which the true one is."""

from __future__ import annotations

from fim_private.charts.bar_chart import Bar, BarChart
from fim_private.glance import MARK
from fim_private.mining.itemset import Itemset
from fim_private.mining.release import Release
from fim_private.mining.wording import decimals_of_shares, percent
from fim_private.reporting.html import chips, tag, text


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
