"""The figure of `scale.py`, from its answers alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.frame.figure_style import COLOURS, MARKS
from benchmarks.frame.study import Results
from benchmarks.spark.watched_process import OK, TOGETHER


def by_way(results: Results) -> dict[str, dict[int, dict[str, Any]]]:
    """Return the answers of each way, by baskets."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for key, answer in results["answers"].items():
        way, _, baskets = key.rpartition("|")
        found.setdefault(way, {})[int(baskets)] = answer
    return found


def done(answers: Mapping[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the answers of counts that came to an end."""
    return {baskets: answer for baskets, answer in answers.items() if answer["status"] == OK}


def scale(figure: Any, results: Results) -> None:
    """Seconds, and the memory of all processes, against baskets."""
    seconds, memory = figure.subplots(1, 2)
    for i, (way, answers) in enumerate(by_way(results).items()):
        style = {"color": COLOURS[i], "marker": MARKS[i], "ms": 5, "label": way}
        ended = done(answers)
        seconds.plot([*ended], [one["seconds"] for one in ended.values()], **style)
        memory.plot([*ended], [one["peaks"][TOGETHER] / 1e6 for one in ended.values()], **style)
    seconds.set(xscale="log", yscale="log", xlabel="baskets", ylabel="seconds, start of the process included")
    memory.set(xscale="log", yscale="log", xlabel="baskets", ylabel="peak resident memory of all processes (MB)")
    figure.legend(*seconds.get_legend_handles_labels(), loc="outside lower center", ncols=3)
