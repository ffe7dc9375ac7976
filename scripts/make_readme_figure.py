"""Draw docs/figures/expected.svg for README.md: how many pairs are found, by the number of customers and ε.

python scripts/make_readme_figure.py

The numbers are the forecasts of `fim-private plan`, which reads no data. Needs matplotlib (extra figures).
"""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

import fim_private as fim

TOP, USER_ITEMS = 50, 30
CUSTOMERS = [1_000, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 7_000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000]
TICKS = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000]
COLOURS = {0.5: "#d55e00", 1.0: "#0072b2", 2.0: "#009e73"}  # for all eyes
FIGURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "expected.svg"


def expected(customers: int, epsilon: float) -> float:
    """Return how many of the TOP most frequent pairs a shop finds, by forecast, without a product list."""
    plan = fim.plan(units=customers, user_items=USER_ITEMS, top=TOP, epsilon=epsilon)
    assert plan.expected_found is not None
    return TOP * plan.expected_found["add-remove"]["no list"]


def main() -> None:
    """Draw one line for each ε, named at its steepest place."""
    with rc_context(
        {"svg.hashsalt": "expected", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False}
    ):
        figure = Figure(figsize=(7.2, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for epsilon, colour in COLOURS.items():
            found = [expected(customers, epsilon) for customers in CUSTOMERS]
            axes.plot(CUSTOMERS, found, color=colour, linewidth=2)
            half = next(place for place, pairs in enumerate(found) if pairs >= TOP / 2)
            axes.annotate(
                f"ε = {epsilon:g}",
                (CUSTOMERS[half], found[half]),
                (6, -14),
                textcoords="offset points",
                color=colour,
                weight="bold",
            )
        axes.set_xscale("log")
        axes.set_xticks(TICKS, [f"{tick:,}" for tick in TICKS])
        axes.minorticks_off()
        axes.set_ylim(0, TOP)
        axes.grid(alpha=0.3)
        axes.set_xlabel(f"customers, who have {USER_ITEMS} different items each")
        axes.set_ylabel(f"pairs found, of the top {TOP}")
        axes.set_title("Twice the customers find as much as twice the ε", loc="left", weight="bold")
        figure.savefig(FIGURE, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
