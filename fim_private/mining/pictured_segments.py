"""Releases of several segments as one picture: one below the other, on one scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fim_private.charts.bar_chart import BarChart, on_one_scale
from fim_private.mining.release import Release


def segment_charts(releases: Mapping[str, Release], guarantee: str, *, relative: bool) -> list[BarChart]:
    """Return what is drawn of each segment. releases: by what stands above each. guarantee: of all together.

    What holds for all of them is said once: the guarantee, or the want of one.
    """
    charts = []
    for place, (heading, release) in enumerate(releases.items(), 1):
        chart = release.chart(relative=relative)
        notes = tuple(note for note in chart.notes if note != release.guarantee)
        last = (guarantee,) if place == len(releases) and release.private else ()
        chart = replace(chart, title=f"{heading}: {chart.title}", short_title=f"{heading}: {chart.short_title}")
        charts.append(replace(chart, notes=notes + last, warning=chart.warning if place == 1 else ""))
    return on_one_scale(charts)


def svg_of_segments(releases: Mapping[str, Release], guarantee: str, *, relative: bool) -> str:
    """Return the picture as SVG."""
    from fim_private.charts.as_svg import svg

    return svg(*segment_charts(releases, guarantee, relative=relative))


def plot_of_segments(releases: Mapping[str, Release], guarantee: str, *, relative: bool) -> list[Any]:
    """Draw the picture on matplotlib, and return its axes. Raises MissingExtraError without it."""
    from fim_private.charts.on_axes import draw_all

    return draw_all(segment_charts(releases, guarantee, relative=relative))
