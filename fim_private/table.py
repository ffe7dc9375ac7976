"""The readable form of a release: a table, the guarantee in one sentence, and what to try after an abstention."""

from __future__ import annotations

import io
import math

from fim_private.mechanisms import LargeMargin
from fim_private.planning import CONFIDENCE, required_support
from fim_private.privacy import Neighbors
from fim_private.release import Itemset, Release

_PLAIN_WIDTH = 120


def render_table(release: Release, *, max_rank: int, colour: bool) -> str:
    """Return the release as text. colour: for a terminal; max_rank: as it was asked for."""
    from rich.box import ROUNDED
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=colour, no_color=not colour, width=None if colour else _PLAIN_WIDTH)
    if release.abstained:
        console.print(Text(f"No itemset of {release.size} was released: the mechanism abstained.", style="bold"))
        console.print(Text(f"To try: {_advice(release, max_rank)}"), soft_wrap=True)
    else:
        console.print(Text(_title(release), style="bold"), soft_wrap=True)
        table = Table(box=ROUNDED)
        table.add_column("itemset", overflow="fold")
        table.add_column("support", justify="right")
        for itemset in release.itemsets:
            support = "not released" if itemset.support is None else f"{itemset.support:,}"
            table.add_row(Text(_braces(itemset)), support)
        console.print(table)
    console.print(Text(_guarantee(release)), soft_wrap=True)
    return stream.getvalue()


def _title(release: Release) -> str:
    items = "item" if release.size == 1 else "items"
    return f"The most frequent itemset of {release.size} {items}, selected by {release.mechanism}"


def _braces(itemset: Itemset) -> str:
    if itemset.items is None:
        return "(unnamed: an itemset in no basket, or in too few to be named privately)"
    return "{" + ", ".join(str(item) for item in itemset.items) + "}"


def _guarantee(release: Release) -> str:
    if not release.private:
        return "NOT PRIVATE: a seed was given, so the randomness is predictable. For tests and benchmarks only."
    unit = release.privacy_unit
    change = {
        Neighbors.REPLACE_ONE: f"replacing any one {unit} by any other",
        Neighbors.ADD_REMOVE: f"adding or removing any one {unit}",
    }[Neighbors(release.neighbors)]
    factor = f"a factor e^{release.epsilon:g}" + (f" = {math.exp(release.epsilon):.3g}" if release.epsilon < 20 else "")
    slack = f", up to an added probability of {release.delta:g}" if release.delta else ""
    return (
        f"Guarantee ({release.mechanism}, ε = {release.epsilon:g}, δ = {release.delta:g}): {change} changes the "
        f"probability of any result by at most {factor}{slack}."
    )


def _advice(release: Release, max_rank: int) -> str:
    """Say what helps, from the parameters alone."""
    mechanism = LargeMargin(release.epsilon, release.delta, release.neighbors, max_rank)
    margin = required_support(mechanism)
    halved = required_support(LargeMargin(2 * release.epsilon, release.delta, release.neighbors, max_rank))
    smaller = f", or --size {release.size - 1}" if release.size > 1 else ""
    return (
        f"at these parameters an itemset is released with {CONFIDENCE:.0%} probability once its support leads by "
        f"about {margin:,} {release.privacy_unit}s; --epsilon {2 * release.epsilon:g} needs {halved:,}. "
        f"More {release.privacy_unit}s help too{smaller}."
    )
