"""Figures: one style, and each written as SVG."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# for all eyes
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000", "#999933")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


# How wide pages show a figure, in inches, so that they do not shrink its letters; and the size of
# these, in points.
SHOWN, LETTERS = 7.2, 9.0


def line_style(place: int, size: int = 4) -> dict[str, Any]:
    """Return the colour and mark of the place-th line of a panel."""
    return {"color": COLOURS[place], "marker": MARKS[place], "markersize": size}


def legend_below(figure: Any, panels: Iterable[Any], columns: int) -> None:
    """Put one legend of all panels below them."""
    entries = [
        entry for panel in panels for entry in zip(*panel.get_legend_handles_labels(), strict=True)
    ]
    handles = {label: handle for handle, label in reversed(entries)}
    names = list(dict.fromkeys(label for _, label in entries))
    figure.legend(
        [handles[name] for name in names], names, loc="outside lower center", ncols=columns
    )


def draw(folder: Path, name: str, paint: Callable[[Any], None], height: float) -> None:
    """Write NAME.svg to the folder, SHOWN inches wide.

    paint: fills an empty matplotlib figure. height: in inches. The same figures give the same
    bytes.
    """
    with _style(name):
        figure = importlib.import_module("matplotlib.figure").Figure(
            figsize=(SHOWN, height), layout="constrained"
        )
        paint(figure)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.svg"
        unfinished = path.with_name(f"{path.name}.part")
        figure.savefig(unfinished, format="svg", metadata={"Date": None, "Creator": None})
        unfinished.replace(path)


@contextmanager
def _style(name: str) -> Iterator[None]:
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
    except ImportError:
        raise SystemExit(
            "figures need matplotlib: pip install 'fim-private[bench]', or give --no-figures"
        ) from None
    sizes = dict.fromkeys(
        ("axes.titlesize", "legend.fontsize", "figure.titlesize", "figure.labelsize"), "medium"
    )
    letters = {"font.size": LETTERS, **sizes}
    lines = {"axes.grid": True, "grid.alpha": 0.3, "lines.linewidth": 1.5}
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none", **letters, **lines}):
        yield
