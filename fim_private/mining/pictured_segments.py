"""Releases of several segments as one picture: one below the other, on one scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fim_private.charts.bar_chart import BarChart, on_one_scale
from fim_private.mining.release import Release


def segment_charts(releases: Mapping[str, Release], whole: Release, *, relative: bool) -> list[BarChart]:
    """Return what is drawn of each segment. releases: by what stands above each. whole: says what holds for them all.

    What holds for all is said once: the guarantee below the last, or the want of one above the first.
    """
    charts = []
    for place, (heading, release) in enumerate(releases.items(), 1):
        chart, promise = release.chart(relative=relative), whole.chart()
        last = place == len(releases)
        notes = tuple(note for note in chart.notes if note != release.guarantee)
        charts.append(
            replace(
                chart,
                title=f"{heading}: {chart.title}",
                short_title=f"{heading}: {chart.short_title}",
                warning=chart.warning if place == 1 else "",
                notes=(*notes, whole.guarantee) if last and whole.private else notes,
                short_note=promise.short_note if last else "",
            )
        )
    return on_one_scale(charts)


def svg_of_segments(releases: Mapping[str, Release], whole: Release, *, relative: bool) -> str:
    """Return the picture as SVG."""
    from fim_private.charts.as_svg import svg

    return svg(*segment_charts(releases, whole, relative=relative))


def plot_of_segments(releases: Mapping[str, Release], whole: Release, *, relative: bool) -> list[Any]:
    """Draw the picture on matplotlib, and return its axes. Raises MissingExtraError without it."""
    from fim_private.charts.on_axes import draw_all

    return draw_all(segment_charts(releases, whole, relative=relative))
