"""The itemsets of a release as a chart: a dot for each, with its interval, and what leads."""

from collections.abc import Sequence
from dataclasses import replace

from fim_private.release import words
from fim_private.release.chart import (
    TITLE,
    Bar,
    BarChart,
    legend_of,
    on_one_scale,
)
from fim_private.release.forms import AnyRelease
from fim_private.release.labels import cut, named, width
from fim_private.request.itemsets import Itemset

# Nobody reads more bars than this. The other forms of a release have all itemsets.
_MOST_BARS = 200


def charts_of(
    release: AnyRelease, *, relative: bool = True, promise: bool = True
) -> list[BarChart]:
    """Return what is drawn: a chart of each segment, or one of all, on one scale.

    relative: supports as shares, where known. promise: whether the guarantee stands in the picture.
    """
    charts = [_chart(segment, relative=relative) for segment in release.by_segment.values()]
    if promise:
        charts = with_guarantee(release, charts)
    return on_one_scale(charts)


def with_guarantee(release: AnyRelease, charts: Sequence[BarChart]) -> list[BarChart]:
    """Return charts with the guarantee below the last, or the want of one above the first."""
    if not release.private:
        first, *following = charts
        return [replace(first, warning=release.guarantee), *following]
    *before, last = charts
    return [*before, replace(last, notes=[*last.notes, release.guarantee])]


def _chart(release: AnyRelease, *, relative: bool) -> BarChart:
    per_cent = relative and release.has_shares and bool(release.units)
    count = len(release.itemsets)
    drawn = release.itemsets[:_MOST_BARS]
    bars = [_bar(release, itemset, per_cent=per_cent) for itemset in drawn]
    customer = words.customer(release.privacy_unit)
    notes = [
        _how_drawn(release, bars),
        *release.certainty_for(customer),
        *release.rows_read_for(customer),
    ]
    scale = ""
    if release.has_supports and bars:
        scale = words.customers(release.privacy_unit)
    if scale and per_cent:
        among = "all" if release.units_interval is None else "about"
        scale = f"share of {among} {release.units:,} {scale}"
    heading = ""
    if release.scope.segment:
        heading = f"{cut(release.heading, TITLE / 3)}: "
    title, about, leader = release.title, "", _leader(release)
    if leader is not None:
        title = _message(release, leader, TITLE - width(heading), per_cent=per_cent)
    elif count:
        title = f"{words.number_of(count, 'itemset')}, released without supports"
    if title != release.title:
        about = release.title
    return BarChart(
        heading + title,
        bars,
        scale,
        per_cent,
        count - len(bars),
        notes=notes,
        about=about,
    )


def _how_drawn(release: AnyRelease, bars: Sequence[Bar]) -> str:
    """What the marks of a chart mean, or why it has none."""
    if not release.itemsets:
        return "The budget of this release is spent all the same."
    if not release.has_supports:
        return (
            "Supports were not asked for: this is a list, and says nothing of how frequent each is."
        )
    dots = f"{words.customers(release.privacy_unit)} with all of the items, as noisy numbers"
    return legend_of(dots, bars, f", {release.held}")


def _leader(release: AnyRelease) -> Itemset | None:
    """The itemset with the highest support released: of two items or more where there is
    one.
    """
    counted = [
        itemset
        for itemset in release.itemsets
        if itemset.items and itemset.support is not None and itemset.interval is not None
    ]
    return max(
        _of_several_items(counted) or counted,
        key=lambda itemset: itemset.support or 0,
        default=None,
    )


def _of_several_items(itemsets: Sequence[Itemset]) -> list[Itemset]:
    return [itemset for itemset in itemsets if len(itemset.items or ()) > 1]


def _message(release: AnyRelease, leader: Itemset, widest: float, *, per_cent: bool) -> str:
    """Return the title of a picture, on one line: which items lead, and with how much."""
    items, who = leader.items or (), words.customers(release.privacy_unit)
    number = _bar(release, leader, per_cent=per_cent).number
    if per_cent:
        number += " of"
    verb = "is bought"
    if len(items) > 1:
        verb = "are bought together"
    if _is_most_frequent(release, leader):
        verb += " most,"
    preposition = "in" if release.privacy_unit == "basket" else "by"
    predicate = f" {verb} {preposition} about {number} {who}"
    return named(items, widest - width(predicate)) + predicate


def _is_most_frequent(release: AnyRelease, leader: Itemset) -> bool:
    """Return whether a picture may say that the leader is bought most."""
    items, interval = leader.items or (), leader.by_itself.interval or (0, 0)
    if len(items) > 2 or leader.doubtful or release.mechanism == words.GIVEN:
        return False
    # What was left out may have more than was counted.
    if release.scope.exclude or release.max_basket is not None:
        return False
    rivals = [itemset for itemset in release.itemsets if itemset is not leader]
    if len(items) > 1:
        rivals = _of_several_items(rivals)
    intervals = [rival.by_itself.interval for rival in rivals]
    return bool(rivals) and all(rival and rival[1] < interval[0] for rival in intervals)


def _bar(release: AnyRelease, itemset: Itemset, *, per_cent: bool) -> Bar:
    doubtful = bool(itemset.doubtful)
    sides = [] if itemset.items is None else [itemset.items]
    if itemset.support is None or itemset.interval is None:
        return Bar(sides, doubtful=doubtful)
    numbers: Sequence[float] = (itemset.support, *itemset.interval)
    texts = [f"{number:,}" for number in numbers]
    if per_cent:
        interval = release.share_interval_of(itemset) or (0.0, 0.0)
        shares = (release.share_of(itemset) or 0.0, *interval)
        texts = [words.percent(share, release.decimals) for share in shares]
        numbers = [100 * share for share in shares]
    length, low, high = numbers
    number, lowest, highest = texts
    return Bar(sides, length, low, high, number, f"{lowest} to {highest}", doubtful)
