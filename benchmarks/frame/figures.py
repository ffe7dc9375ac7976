"""The figures of the benchmarks, drawn from the tables in docs/data: no figure shows what no table
has.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.frame.published import Row, read_rows
from fim_private.dp.neighbors import Neighbors

Tables = Mapping[str, list[Row]]

# for all eyes
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
MARKS = ("o", "s", "^", "D", "v", "P")
# How wide pages show a figure, in inches, so that they do not shrink its letters; and the size of
# these, in points.
SHOWN, LETTERS = 7.2, 9.0
LOSSES = 1.03  # the top of an axis of shares, so that a mark at 1 is whole
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_QUESTIONS = {
    "counting_all_nonzero_supports": "all nonzero supports",
    "counting_minimum_support": "those above a minimum",
    "counting_top_1_000_threshold_given_to_peers_only": "the 1,000 most frequent",
}


@dataclass(frozen=True)
class Figure:
    """A figure of docs.

    Attributes:
        tables: The names of the tables in docs/data that it is drawn from.
        paint: Fills an empty matplotlib figure from their rows.
        height: In inches.
    """

    tables: tuple[str, ...]
    paint: Callable[[Any, Tables], None]
    height: float


def draw_figures(docs: Path) -> None:
    """Write docs/figures/NAME.svg for every figure whose tables there are."""
    for name, figure in FIGURES.items():
        present = [table for table in figure.tables if (docs / "data" / f"{table}.csv").is_file()]
        tables = {table: read_rows(docs / "data", table) for table in present}
        if tables:
            _draw(docs / "figures" / f"{name}.svg", figure, tables)


def _draw(path: Path, figure: Figure, tables: Tables) -> None:
    """Draw one figure; the same tables give the same bytes."""
    with _style(path.stem):
        empty = importlib.import_module("matplotlib.figure").Figure(
            figsize=(SHOWN, figure.height), layout="constrained"
        )
        figure.paint(empty, tables)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.part")
        empty.savefig(unfinished, format="svg", metadata={"Date": None, "Creator": None})
        unfinished.replace(path)


@contextmanager
def _style(name: str) -> Iterator[None]:
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
    except ImportError:
        raise SystemExit(
            "figures need matplotlib: pip install 'fim-private[bench]', or give --no-figures"
        ) from None
    sizes = dict.fromkeys(("axes.titlesize", "legend.fontsize", "figure.labelsize"), "medium")
    letters = {"font.size": LETTERS, "figure.titlesize": "large", **sizes}
    lines = {"axes.grid": True, "grid.alpha": 0.3, "lines.linewidth": 1.5}
    frame = {"axes.spines.top": False, "axes.spines.right": False, "figure.titleweight": "bold"}
    fixed = {"svg.hashsalt": name, "svg.fonttype": "none"}
    with matplotlib.rc_context({**fixed, **letters, **lines, **frame}):
        yield


def _line_style(place: int) -> dict[str, Any]:
    """Return the colour and mark of the place-th line of a panel."""
    return {"color": COLOURS[place], "marker": MARKS[place], "markersize": 4}


def _message(figure: Any, *lines: str) -> None:
    """Put what the figure says above it."""
    figure.suptitle("\n".join(lines), x=0.01, ha="left")


def _legend(figure: Any, columns: int) -> None:
    """Put the legend of the first panel below all of them."""
    entries = figure.axes[0].get_legend_handles_labels()
    figure.legend(*entries, loc="outside lower center", ncols=columns, frameon=False)


def _plain_ticks(axis: Any, ticks: list[float]) -> None:
    """Name a logarithmic axis by whole numbers, not by powers."""
    axis.set_ticks(ticks, [f"{tick:,.10g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def _powers(panel: Any, exponents: list[int]) -> None:
    """Name an axis of exponents by powers of ten."""
    panel.set_xticks(exponents, [f"10{str(e).translate(_RAISED)}" for e in exponents])


# The figures.


def _paint_customers(figure: Any, tables: Tables) -> None:
    """Draw what each mechanism misses against k: whole shops in columns, relations in rows."""
    [rows] = tables.values()
    shops = list(dict.fromkeys(row["FNR, pairs"] for row in rows))
    relations = list(dict.fromkeys(row["neighbours"] for row in rows))
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in rows))
    panels = figure.subplots(len(relations), len(shops), squeeze=False, sharex=True, sharey=True)
    for row in rows:
        missed = {
            int(column.rpartition(" ")[2]): float(share)
            for column, share in row.items()
            if column.startswith("whole: ") and share
        }
        panel = panels[relations.index(row["neighbours"]), shops.index(row["FNR, pairs"])]
        style = _line_style(mechanisms.index(row["mechanism"]))
        panel.plot([*missed], [*missed.values()], label=row["mechanism"], **style)
        panel.set(ylim=(-0.03, LOSSES), xticks=[*missed])
    for panel, shop in zip(panels[0], shops, strict=True):
        panel.set_title(shop.replace("_", " "))
    for panel in panels[-1]:
        panel.set_xlabel("k pairs asked for, ε = 1")
    for line, relation in zip(panels, relations, strict=True):
        line[0].set_ylabel(f"share missed, {relation}")
    _message(
        figure,
        "Of 50 or 100 pairs fim-private misses least, with a product list and without",
    )
    _legend(figure, 3)


def _paint_needs(figure: Any, tables: Tables) -> None:
    """Draw the units needed against the number of items, where one item leads by all of them."""
    [rows] = tables.values()
    rows = [row for row in rows if row["data"] == rows[0]["data"]]
    exponents = [int(column.partition("^")[2]) for column in rows[0] if column.startswith("K = ")]
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in rows))
    constant = ""
    for panel, relation in zip(figure.subplots(1, 2, sharey=True), Neighbors, strict=True):
        for row in rows:
            if row["neighbours"] in (relation, "both"):
                name = row["mechanism"]
                units = [float(row[f"K = 10^{exponent}"]) for exponent in exponents]
                panel.plot(exponents, units, label=name, **_line_style(mechanisms.index(name)))
                constant = row[f"K = 10^{exponents[-1]}"] if name == "large-margin" else constant
        panel.set(title=relation, yscale="log", xlabel="items that there may be, K")
        _powers(panel, [2, 40, 80, 120])
        _plain_ticks(panel.yaxis, [10, 20, 50, 100, 200, 500])
    figure.axes[0].set_ylabel("units for 95 % success (ε = 1, δ = 10⁻⁶)")
    _message(
        figure,
        f"However many items there may be, large margin needs {constant} units,",
        "and the exponential mechanism more and more",
    )
    _legend(figure, 3)


def _paint_errors(figure: Any, tables: Tables) -> None:
    """Draw mean errors against the number of items, named at the ends of their lines."""
    [rows] = tables.values()
    panel = figure.subplots()
    most = max(float(row["large margin, at most"]) for row in rows)
    drawn = [row for row in rows if int(row["r"]) in (1, 2, 4, 6)]
    for place, row in enumerate(drawn):
        errors = {
            int(column.removeprefix("10^").removesuffix(" items")): float(error.removeprefix("< "))
            for column, error in row.items()
            if column.startswith("10^") and error
        }
        panel.plot([*errors], [*errors.values()], **_line_style(place))
        size = f"{row['r']} item{'s' * (row['r'] != '1')}"
        at = (max(errors), errors[max(errors)])
        beside = {"xytext": (8, 4), "textcoords": "offset points"}
        panel.annotate(size, at, color=COLOURS[place], weight="bold", **beside)
    panel.axhline(most, color="black", linestyle="--")
    panel.annotate(
        f"large margin: at most {most:.0f}",
        (2, most),
        weight="bold",
        xytext=(0, 8),
        textcoords="offset points",
    )
    panel.set(xlim=(0, 67), ylim=(-40, None))
    panel.set_xlabel("items that there may be (ε = 1, δ = 10⁻⁶, replace-one)")
    panel.set_ylabel("mean error (units)")
    _powers(panel, [2, 10, 20, 30, 40, 50, 60])
    _message(
        figure,
        "The more items there may be, the larger the exponential mechanism's error;",
        "large margin's stays where it is",
    )


def _paint_counting(figure: Any, tables: Tables) -> None:
    """Draw the fastest peer of each contest by ours: time above, memory below."""
    measures = {"time ratio": "time: peer / ours", "memory ratio": "memory: peer / ours"}
    panels = figure.subplots(2, len(tables), squeeze=False, sharex=True, sharey="row")
    for column, (name, rows) in zip(panels.T, tables.items(), strict=True):
        names = list(dict.fromkeys(row["data"] for row in rows))
        sizes = sorted({row["size"] for row in rows})
        column[0].set_title(_QUESTIONS[name])
        for panel, (measure, words) in zip(column, measures.items(), strict=True):
            for place, size in enumerate(sizes):
                ratios = [row for row in rows if row["size"] == size and row[measure]]
                panel.plot(
                    [names.index(row["data"]) + 0.2 * (place - 1) for row in ratios],
                    [float(row[measure]) for row in ratios],
                    linestyle="none",
                    label=f"itemsets of {size}",
                    **_line_style(place),
                )
            panel.axhline(1, color="black", linewidth=1)
            panel.set(yscale="log", xlim=(-0.6, len(names) - 0.4))
            panel.set_xticks(range(len(names)), names, rotation=30, ha="right")
            _plain_ticks(panel.yaxis, [0.5, 1, 2, 5, 10])
            panel.set_ylim(0.35, 16)
            panels[[*measures].index(measure), 0].set_ylabel(words)
    times = [float(row["time ratio"]) for rows in tables.values() for row in rows]
    _message(
        figure,
        f"The fastest peer takes {min(times):.1f} to {max(times):.1f} times as long as ours,",
        "and mostly more memory",
    )
    _legend(figure, 3)


def _paint_growth(figure: Any, tables: Tables) -> None:
    """Draw the time for each basket and the memory of the whole command against baskets."""
    [rows] = tables.values()
    sizes = sorted({row["size"] for row in rows})
    measures = {"µs a basket": "time for each basket (µs)", "peak (MB)": "peak memory (MB)"}
    ticks: dict[str, list[float]] = {
        "µs a basket": [0.5, 1, 2, 3],
        "peak (MB)": [100, 200, 500, 1_000, 2_000],
    }
    for panel, (measure, words) in zip(figure.subplots(1, 2), measures.items(), strict=True):
        for place, size in enumerate(sizes):
            points = {
                int(row["baskets"]): float(row[measure]) for row in rows if row["size"] == size
            }
            label = f"itemsets of {size}"
            panel.plot([*points], [*points.values()], label=label, **_line_style(place))
        panel.set(xscale="log", yscale="log", xlabel="baskets (Quest T10.I4)", title=words)
        _plain_ticks(panel.xaxis, sorted({float(row["baskets"]) for row in rows}))
        _plain_ticks(panel.yaxis, ticks[measure])
    baskets = [int(row["baskets"]) for row in rows]
    _message(
        figure,
        f"{max(baskets) // min(baskets):,} times the baskets take "
        f"{_growth(rows, 'mine (s)')} times as long",
        f"and {_growth(rows, 'peak (MB)')} times the memory",
    )
    _legend(figure, 2)


def _growth(rows: list[Row], column: str) -> str:
    """Return how many times as large a column is at most baskets as at fewest, over the sizes."""
    by_size: dict[str, list[float]] = {}
    for row in rows:
        by_size.setdefault(row["size"], []).append(float(row[column]))
    times = [values[-1] / values[0] for values in by_size.values()]
    return f"{min(times):.0f} to {max(times):.0f}"


FIGURES = {
    "corollary1_errors": Figure(("corollary1_error_as_the_universe_grows_2",), _paint_errors, 3.8),
    "counting": Figure(tuple(_QUESTIONS), _paint_counting, 5.2),
    "counting_growth": Figure(("counting_growth",), _paint_growth, 3.6),
    "customers_pairs": Figure(("customers_pairs_of_customers_2",), _paint_customers, 5.2),
    "examples_needs": Figure(("examples_units_needed_for_95_success",), _paint_needs, 4.2),
}
