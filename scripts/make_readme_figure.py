"""Draw the figures of README.md: hashed.svg, expected.svg and page.png in docs/figures.

python scripts/make_readme_figure.py

hashed.svg shows how often a basket of the corner shop fits one customer only, by its items.
expected.svg shows how many pairs are found, by the number of customers and ε: forecasts of
`fim-private plan`, which reads no data. page.png shows the top of a page of the corner shop. Needs
matplotlib (extra figures) and Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
from matplotlib import rc_context
from matplotlib.figure import Figure

import fim_private as fim

TOP, USER_ITEMS = 50, 30
CUSTOMERS = [
    1_000,
    1_500,
    2_000,
    2_500,
    3_000,
    4_000,
    5_000,
    7_000,
    10_000,
    15_000,
    20_000,
    30_000,
    50_000,
    100_000,
]
TICKS = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000]
# for all eyes, and each line has its name beside it
COLOURS = {2.0: "#009e73", 1.0: "#0072b2", 0.5: "#d55e00"}
MARKS = {2.0: "^", 1.0: "o", 0.5: "s"}
AT = 10_000  # customers that the title speaks of
ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"
FIGURE, PICTURE, HASHED = FIGURES / "expected.svg", FIGURES / "page.png", FIGURES / "hashed.svg"
CORNER_SHOP = ROOT / "datasets" / "corner_shop.parquet"
MOST_ITEMS = 12  # of a basket in the figure
STYLE: Any = {
    "svg.hashsalt": "expected",
    "svg.fonttype": "none",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
WIDTH, HEIGHT = 1000, 1075  # of the picture, in pixels
# Nothing is fetched, and nothing is kept.
BROWSER = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run "
    "--hide-scrollbars"
)


def expected(customers: int, epsilon: float) -> float:
    """Return how many of the TOP most frequent pairs a shop finds, by forecast, without a product
    list.
    """
    plan = fim.plan(units=customers, user_items=USER_ITEMS, top=TOP, epsilon=epsilon)
    share = plan.expected_found["add-remove"]["no list"]
    assert isinstance(share, float)
    return TOP * share


def fit_one_customer() -> dict[int, float]:
    """Return which share of the baskets fit one customer only, by the number of their items.

    A basket fits everybody who has one with all of its items.
    """
    table = pq.read_table(CORNER_SHOP, columns=["customer", "items"])
    customers = table["customer"].to_pylist()
    baskets = [frozenset(items) for items in table["items"].to_pylist()]
    with_item: dict[str, set[int]] = defaultdict(set)
    for number, basket in enumerate(baskets):
        for item in basket:
            with_item[item].add(number)
    fits: dict[int, list[bool]] = defaultdict(list)
    for basket in baskets:
        if len(basket) <= MOST_ITEMS:
            rarest_first = sorted((with_item[item] for item in basket), key=len)
            fitting = set.intersection(*rarest_first)
            fits[len(basket)].append(len({customers[number] for number in fitting}) == 1)
    return {items: sum(alone) / len(alone) for items, alone in sorted(fits.items())}


def draw_hashed() -> None:
    """Draw a bar for each number of items."""
    shares = fit_one_customer()
    with rc_context(STYLE):
        figure = Figure(figsize=(7.2, 2.9), layout="constrained")
        axes = figure.add_subplot()
        bars = axes.bar(list(shares), [100 * share for share in shares.values()], color="#0072b2")
        axes.bar_label(bars, [f"{100 * share:.0f}" for share in shares.values()])
        axes.set_xticks(list(shares))
        axes.set_ylim(0, 112)
        axes.set_xlabel("items in the basket that somebody saw")
        axes.set_ylabel("% that fit one id only")
        title = "One basket is enough to find its buyer among 20,000 hashed ids"
        figure.suptitle(title, x=0.01, ha="left", size=12, weight="bold")
        figure.savefig(HASHED, metadata={"Date": None, "Creator": None})


def draw_page() -> None:
    """Take a picture of a page of the corner shop."""
    chromium = shutil.which("chromium")
    assert chromium, "install chromium"
    release = fim.mine(CORNER_SHOP, user="customer", top=10, rules=True)
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        fim.report(release, page, title="What our customers buy together")
        size = (
            f"--window-size={WIDTH},{HEIGHT}",
            f"--user-data-dir={folder}/browser",
            f"--screenshot={PICTURE}",
        )
        subprocess.run(
            [chromium, *BROWSER.split(), *size, page.as_uri()], check=True, capture_output=True
        )


def draw_expected() -> None:
    """Draw one line for each ε, named at its steepest place."""
    with rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.8), layout="constrained")
        axes = figure.add_subplot()
        found_at = {
            epsilon: [expected(customers, epsilon) for customers in CUSTOMERS]
            for epsilon in COLOURS
        }
        for epsilon, found in found_at.items():
            colour = COLOURS[epsilon]
            axes.plot(
                CUSTOMERS,
                found,
                color=colour,
                linewidth=2,
                marker=MARKS[epsilon],
                markersize=5,
                clip_on=False,
            )
            half = next(place for place, pairs in enumerate(found) if pairs >= TOP / 2)
            place: Any = {"xytext": (9, -12), "textcoords": "offset points"}
            axes.annotate(
                f"ε = {epsilon:g}",
                (CUSTOMERS[half], found[half]),
                color=colour,
                weight="bold",
                **place,
            )
        here = found_at[1.0][CUSTOMERS.index(AT)]
        title = f"With {AT:,} customers, {here:.0f} of the top {TOP} pairs are found at ε = 1"
        axes.set_xscale("log")
        axes.set_xticks(TICKS, [f"{tick:,}" for tick in TICKS])
        axes.minorticks_off()
        axes.set_ylim(0, TOP)
        axes.grid(alpha=0.3)
        axes.set_xlabel(
            f"customers, who have {USER_ITEMS} different items each (forecast of fim-private plan)"
        )
        axes.set_ylabel(f"pairs found, of the top {TOP}")
        figure.suptitle(title, x=0.01, ha="left", size=12, weight="bold")
        figure.savefig(FIGURE, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw_hashed()
    draw_expected()
    draw_page()
