"""The readable form of a release: a table, the guarantee in one sentence, and what to try after an abstention."""

from __future__ import annotations

import io
import math

from fim_private.mechanisms import LargeMargin
from fim_private.planning import CONFIDENCE, required_support
from fim_private.privacy import EPSILON_RANGE, Neighbors
from fim_private.release import Itemset, Release
from fim_private.sources.columns import MissingUser

_PLAIN_WIDTH = 120


def render_table(release: Release, *, max_rank: int, colour: bool, ascii_only: bool) -> str:
    """Return the release as text.

    max_rank: as it was asked for. colour: for a terminal. ascii_only: for an output that has no Greek letters.
    """
    from rich.box import ASCII, ROUNDED
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
        table = Table(box=ASCII if ascii_only else ROUNDED)
        table.add_column("itemset", overflow="fold")
        table.add_column("support", justify="right")
        for itemset in release.itemsets:
            support = "not released" if itemset.support is None else f"{itemset.support:,}"
            table.add_row(Text(_braces(itemset, release.privacy_unit)), support)
        console.print(table)
    console.print(Text(_guarantee(release)), soft_wrap=True)
    text = stream.getvalue()
    return text.replace("ε", "epsilon").replace("δ", "delta") if ascii_only else text


def _title(release: Release) -> str:
    items = "item" if release.size == 1 else "items"
    return f"The most frequent itemset of {release.size} {items}, selected by {release.mechanism}"


def _braces(itemset: Itemset, unit: str) -> str:
    if itemset.items is None:
        return f"(unnamed: an itemset that no {unit} has, or too few have for it to be named privately)"
    return "{" + ", ".join(_printable(str(item)) for item in itemset.items) + "}"


def _printable(label: str) -> str:
    """Escape what would move the cursor or break the line: a label comes from somebody's file."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in label)


def _guarantee(release: Release) -> str:
    if not release.private:
        return "NOT PRIVATE: a seed was given, so the randomness is predictable. For tests and benchmarks only."
    unit = _protected(release)
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


def _protected(release: Release) -> str:
    if release.privacy_unit == "basket":
        return "basket"
    nobodys = " or basket without a user" if release.missing_user == MissingUser.OWN_UNIT else ""
    return f"{release.privacy_unit} (all their baskets){nobodys}"


def _advice(release: Release, max_rank: int) -> str:
    """Say what helps, from the parameters alone."""
    margin, easier = (
        required_support(LargeMargin(epsilon, release.delta, release.neighbors, max_rank))
        for epsilon in (release.epsilon, min(2 * release.epsilon, EPSILON_RANGE[1]))
    )
    unit = release.privacy_unit
    ways = [f"more {unit}s"]
    if easier < margin:
        ways.append(f"--epsilon {2 * release.epsilon:g} (which needs a lead of {easier:,})")
    if release.size > 1:
        ways.append(f"--size {release.size - 1}")
    return (
        f"{', or '.join(ways)}; with these parameters an itemset is released with {CONFIDENCE:.0%} probability "
        f"once it leads by {margin:,} {unit}s."
    )
