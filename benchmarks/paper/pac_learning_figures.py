"""The figures of `pac_learning.py`, from its answers alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.frame.figure_style import COLOURS, MARKS, legend_below
from benchmarks.frame.study import Results, answers_of
from benchmarks.paper import hypothesis_classes as h

REAL = {"mushroom": "conjunctions of up to 3 attributes", "retail": "thresholds on the basket's length"}
ABOUT = {h.GENERATED: "conjunctions of up to 3 features", **REAL}
MARGIN, EXPONENTIAL = "large-margin", "exponential"
NAMES = (MARGIN, EXPONENTIAL, "tight-margin", "limited-domain")
STYLES = {name: {"color": COLOURS[i], "marker": MARKS[i], "ms": 4} for i, name in enumerate(NAMES)}
FLOOR = 1e-6  # of logarithmic axes


def data_names(results: Results) -> list[str]:
    """Return the names of the data sets that there are answers for."""
    return [name for name in ABOUT if f"shape|{name}" in results["answers"]]


def answers_on(results: Results, kind: str, name: str) -> dict[str, Any]:
    """Return the answers of one kind on a data set, by what else is in the key."""
    return {last: answer for (data, last), answer in answers_of(results, kind).items() if data == name}


def _panels(figure: Any, results: Results) -> Iterator[tuple[Any, str]]:
    names = data_names(results)
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        panel.set_title(f"{name}: {ABOUT[name]}")
        yield panel, name
    legend_below(figure, panels, 4)


def growth(figure: Any, results: Results) -> None:
    """Expected excess error against log10 of |H|."""
    for panel, name in _panels(figure, results):
        for (epsilon, found), line in zip(answers_on(results, "growth", name).items(), ("-", ":"), strict=False):
            for each, errors in found["errors"].items():
                panel.plot(
                    found["sizes"], np.maximum(errors, FLOOR), line, label=f"{each}, ε = {epsilon}", **STYLES[each]
                )
        panel.set(yscale="log", xlabel="log10 of |H|", ylabel=f"expected excess error (at least {FLOOR})")


def shells(figure: Any, results: Results) -> None:
    """How many hypotheses are within t of the best, and where t*(n) lies."""
    for panel, name in _panels(figure, results):
        found = results["answers"][f"shape|{name}"]
        panel.step(*found["shells"], where="post", color="k", label="shell |H(t)|")
        for i, entry in enumerate(found["promised"]):
            if entry["t*"] is not None:
                x, y = entry["t*"], math.log10(entry["size"])
                panel.plot([x], [y], MARKS[i], color=COLOURS[i], ms=7, ls="", label=f"t*(n), n = {entry['rows']:,}")
        panel.set(xlabel="t: excess error", ylabel="log10 of |H(t)|", ylim=(-0.2, math.log10(found["listed"]) + 0.5))
        panel.set_xlim(-0.02 * found["useless"], 1.1 * found["useless"])


def bound(figure: Any, results: Results) -> None:
    """Excess error against the sample size n, measured and as it is bounded."""
    for panel, name in _panels(figure, results):
        promised = results["answers"][f"shape|{name}"]["promised"]
        found = answers_on(results, "learning", name)
        sizes = [int(n) for n in found]
        for each in (MARGIN, EXPONENTIAL):
            means = np.maximum([one["mean"][each] for one in found.values()], FLOOR)
            panel.plot(sizes, means, label=f"{each}: mean", **STYLES[each])
        quantiles = [max(one["quantile"], FLOOR) for one in found.values()]
        panel.plot(sizes, quantiles, "v:", color=STYLES[MARGIN]["color"], label=f"{MARGIN}: 90 % quantile")
        for key, line, label in (("bound", "k--", "bound on large-margin"), ("t*", "k:", "t*(n)")):
            known = [entry for entry in promised if entry[key] is not None]
            panel.plot([entry["rows"] for entry in known], [entry[key] for entry in known], line, label=label)
        panel.set(xscale="log", yscale="log", xlabel="sample size n", ylabel=f"excess error (at least {FLOOR})")
