"""A figure as a file: drawn by matplotlib, if it is there, and written whole or not at all."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fim_private.charts.needs_matplotlib import of_matplotlib
from fim_private.errors import ParameterError, parameter

# The kinds of figures, by the ends of their names.
SUFFIXES = (".png", ".svg", ".pdf")


def figure_kind(path: Path) -> str:
    """Return what kind of file a name stands for, without the dot. Raises ParameterError for other names."""
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError(
            f"{parameter('figure')} must be a name that ends in {', '.join(SUFFIXES)}, not {str(path)!r}"
        )
    return path.suffix.lower()[1:]


def figure_image(draw: Callable[[Any], None], kind: str) -> bytes:
    """Return the figure that draw(axes) makes as the bytes of a file of that kind.

    Raises MissingExtraError without matplotlib.
    """
    matplotlib, figures = of_matplotlib("matplotlib"), of_matplotlib("matplotlib.figure")
    image = io.BytesIO()
    with matplotlib.rc_context({"font.size": 9, "svg.hashsalt": "fim-private"}):
        figure = figures.Figure(figsize=(8, 5), layout="constrained")
        draw(figure.subplots())
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(image, format=kind, dpi=150, metadata=metadata)
    return image.getvalue()


def draw_units(axes: Any, everyone: int, all_units: str) -> None:
    """Mark how many units there are, in words too, and add an axis of their % on the right."""
    axes.axhline(everyone, color="#888888", linewidth=1)
    axes.annotate(
        f"all {all_units}",
        (1, everyone),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 3),
        textcoords="offset points",
        horizontalalignment="right",
        color="#666666",
        fontsize=8,
    )
    shares = axes.secondary_yaxis(
        "right", functions=(lambda support: 100 * support / everyone, lambda share: share * everyone / 100)
    )
    shares.set_ylabel("% of all units")
    shares.yaxis.set_major_formatter(lambda share, _: f"{share:g}")
