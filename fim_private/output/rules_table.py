"""Association rules as a readable table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fim_private.mining.release import Release
from fim_private.mining.wording import MARK, braces, decimals_of_shares, percent
from fim_private.rules.association import Rules


def rules_parts(release: Release, rules: Rules) -> Iterator[RenderableType]:
    """Yield what is shown of the rules of a release: a title, the table, and how to read it."""
    if not len(rules):
        if release.itemsets:
            yield Text("No rule of these itemsets has as much confidence and lift as was asked for.")
        return
    rules_are = "rule" if len(rules) == 1 else "rules"
    yield Text(f"{len(rules):,} association {rules_are} of these itemsets, the surest first", style="bold")
    yield _table(release, rules)
    note = "The intervals of a rule hold what they are of with 95 % probability together."
    if marked := int(rules.doubtful.sum()):
        note += (
            f" {MARK} ({marked:,} of {len(rules):,}): by the noise alone its two sides may be together no more (or "
            "less) often than by chance, or it may miss what was asked for."
        )
    yield Text(note)


def _table(release: Release, rules: Rules) -> Table:
    """Return the rules, one a row."""
    table = Table()
    for place, column in enumerate(("rule", "share", "confidence", "95 %", "lift", "95 %")):
        table.add_column(column, justify="right" if place else "left", overflow="fold")
    decimals = decimals_of_shares(0 if release.noise is None else release.noise.half_width, release.units or 0)
    unit = release.privacy_unit
    for place in range(len(rules)):
        sides = (braces(side[place], unit) for side in (rules.antecedents, rules.consequents))
        mark = f" {MARK}" if rules.doubtful[place] else ""
        low, high = (float(end[place]) for end in rules.bounds["confidence"])
        least, most = (float(end[place]) for end in rules.bounds["lift"])
        table.add_row(
            Text(" → ".join(sides) + mark),
            percent(float(rules.support[place]), decimals),
            percent(float(rules.metrics["confidence"][place]), 0),
            f"{math.floor(100 * low)} to {math.ceil(100 * high)} %",
            _figure(float(rules.metrics["lift"][place])),
            f"{_figure(least, math.floor)} to {_figure(most, math.ceil)}",
        )
    return table


def _figure(value: float, whole: Callable[[float], int] = round) -> str:
    """Return a lift with three digits or so. whole: which way it is rounded."""
    if math.isinf(value):
        return "∞"
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{whole(value * 10**decimals) / 10**decimals:,.{decimals}f}"
