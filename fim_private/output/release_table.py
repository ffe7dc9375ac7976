"""The readable form of a release: a table, the guarantee in one sentence, and what to try after an abstention."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fim_private.defaults import CONFIDENCE, MAX_RANK
from fim_private.dp.accounting import growth_bound
from fim_private.dp.cost import at_least, rounded_up
from fim_private.dp.parameters import EPSILON_RANGE, Neighbors
from fim_private.mechanisms import LargeMargin
from fim_private.mining.budget_share import Share
from fim_private.mining.noisy_supports import NoiseKind
from fim_private.mining.release import GIVEN, Itemset, Release
from fim_private.output.advice import advice_for_more, protected
from fim_private.output.console import Screen
from fim_private.planning.search import prospects

# What the noise of supports is called, and what the steps of levelwise are for, in words.
_NOISE = {
    NoiseKind.LAPLACE: "discrete Laplace",
    NoiseKind.GAUSSIAN: "discrete Gaussian",
    NoiseKind.NORMAL: "rounded normal",
}
_STEPS = {
    "items": "finding items",
    "candidates": "finding sets of them",
    **dict.fromkeys(("first count", "histogram", "second count"), "counting these"),
}


def render_table(release: Release, screen: Screen, *, max_rank: int | None = None) -> str:
    """Return a release as text: its itemsets, or what to try after an abstention, and the guarantee.

    max_rank: as it was asked for, None where it was not.
    """
    return screen.render(_parts(release, max_rank))


def _parts(release: Release, max_rank: int | None) -> Iterator[RenderableType]:
    """Yield what is shown, from the title to the guarantee."""
    if release.abstained:
        why = "the mechanism abstained"
        if release.counted:
            why = "none was found" if release.keep_all else "none stood out from the noise"
        elif _way(release.shares) is not None:
            why = "none was picked, or none stood out from the noise"
        nothing = Text(f"No itemset of {_items(release)} was released: {why}.", style="bold")
        yield Group(nothing)  # a Group is wrapped between words, a bare Text is not
        yield Text(f"To try: {_advice(release, max_rank)}")
    else:
        yield Text(_title(release), style="bold")
        yield _rows(release)
        yield from map(Text, _remarks(release))
    yield Text(_guarantee(release))


def _rows(release: Release) -> Table:
    """Return the table of itemsets."""
    table = Table()
    table.add_column("itemset", overflow="fold")
    table.add_column("support", justify="right")
    if release.noise is not None:
        table.add_column("95 % interval", justify="right")
    for itemset in release.itemsets:
        support = "not released" if itemset.support is None else f"{itemset.support:,}"
        bounds = () if itemset.interval is None else (f"{itemset.interval[0]:,} to {itemset.interval[1]:,}",)
        table.add_row(Text(_braces(itemset, release.privacy_unit)), support, *bounds)
    return table


def _title(release: Release) -> str:
    """Return what the itemsets are, in words."""
    if release.mechanism == GIVEN:
        return (
            f"The supports of the {release.top:,} itemsets given" if release.top > 1 else "The support of the itemset"
        )
    if release.wanted == 1:
        return f"The most frequent itemset of {_items(release)}, selected by {release.mechanism}"
    each = "" if release.union or len(release.sizes) == 1 else "each size from "
    return f"The {release.top:,} most frequent itemsets of {each}{_items(release)}, selected by {release.mechanism}"


def _items(release: Release) -> str:
    """Return the sizes of the itemsets in words."""
    if len(release.sizes) > 1:
        return f"{release.sizes[0]} to {release.sizes[-1]} items"
    return "1 item" if release.size == 1 else f"{release.size} items"


def _remarks(release: Release) -> Iterator[str]:
    """Say why this mechanism, how many itemsets are missing, how the budget was split, and what noise supports have."""
    if release.reason is not None:
        yield f"Mechanism {release.mechanism}, chosen by --mechanism auto: {release.reason}."
    if (way := _way(release.shares)) is not None:
        yield f"What was measured first, and paid for, decided how to go on: {way}."
        if not release.counted and release.noise is None:
            yield "Picks name itemsets however rare they are: --supports tells which of these stand out from 0."
    if len(release.itemsets) < release.wanted:
        yield f"{len(release.itemsets):,} of {release.wanted:,} came out: {_missing(release)}."
        yield from advice_for_more(release)
    if len(release.shares) > 1:
        yield f"The budget was split: {_split(release.shares)}."
    if release.noise is not None:
        units = f"{release.privacy_unit}s"
        yield (
            f"Supports count {units}, with {_NOISE[release.noise.kind]} noise: "
            f"within {release.noise.half_width:,} with 95 % probability, each by itself."
        )


def _missing(release: Release) -> str:
    """Say why there are fewer itemsets than were asked for."""
    if release.counted:
        if release.keep_all:
            return "no others were found"
        return "no other stands out from the noise (--keep-all names some that do not, too)"
    others = "for the others the mechanism abstained"
    if _way(release.shares) is not None:
        others = "others were not picked, or too few items were found to make them of"
    if release.noise is None or release.keep_all:
        return others
    return f"{others}, or their noisy supports do not stand out from 0 (--keep-all names these, too)"


def _way(shares: tuple[Share, ...]) -> str | None:
    """Return what a run did that measured first; None for others."""
    purposes = {share.purpose for share in shares}
    if "measurement" not in purposes:
        return None
    if "first count" in purposes:
        return "items first, then sets of them, counted under noise"
    return "items first, then picks of itemsets made of them" if "items" in purposes else "picks of itemsets at once"


def _split(shares: tuple[Share, ...]) -> str:
    """Return the parts of the budget in words; those of one purpose, of which levelwise has many, as one."""
    normal = sum(share.mu_squared or 0 for share in shares)
    concentrated = sum(share.rho or 0 for share in shares)
    if not (normal or concentrated):
        return "; ".join(
            f"{_purpose(share)}: ε = {at_least(share.epsilon or 0)}, δ = {at_least(share.delta or 0)}"
            for share in shares
        )
    parts: dict[str, Fraction] = {}
    for share in shares:
        parts[_purpose(share)] = parts.get(_purpose(share), Fraction(0)) + share.fraction
    percent = ", ".join(f"{100 * float(part):.1f} % for {what}" for what, part in parts.items())
    whole = f"μ² = {at_least(normal)} of Gaussian" if normal else f"ρ = {at_least(concentrated)} of zero-concentrated"
    return f"{percent} ({whole} privacy in all; --format json lists every step)"


def _purpose(share: Share) -> str:
    """Return what a part of the budget is for, in words."""
    if share.purpose == "selection":
        return f"selection of size {_range(share.sizes)}"
    return _STEPS.get(share.purpose, share.purpose)


def _range(sizes: tuple[int, ...]) -> str:
    """Return sizes as text, such as "2-4"."""
    return str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]}-{sizes[-1]}"


def _braces(itemset: Itemset, unit: str) -> str:
    """Return an itemset as text."""
    if itemset.items is None:
        return f"(unnamed: an itemset that no {unit} has, or too few have for it to be named privately)"
    return "{" + ", ".join(_printable(str(item)) for item in itemset.items) + "}"


def _printable(label: str) -> str:
    """Escape what would move the cursor or break the line: a label comes from somebody's file."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in label)


def _guarantee(release: Release) -> str:
    """Return the guarantee in one sentence."""
    if not release.private:
        return "NOT PRIVATE: a seed was given, so the randomness is predictable. For tests and benchmarks only."
    unit = protected(release)
    change = {
        Neighbors.REPLACE_ONE: f"replacing any one {unit} by any other",
        Neighbors.ADD_REMOVE: f"adding or removing any one {unit}",
    }[Neighbors(release.neighbors)]
    epsilon, delta = at_least(release.cost.epsilon), at_least(release.cost.delta)
    growth = growth_bound(release.cost.epsilon) if release.epsilon < 20 else None
    factor = f"a factor e^{epsilon}" + (f" = {rounded_up(growth, 3)}" if growth else "")
    slack = f", up to an added probability of {delta}" if release.delta else ""
    return (
        f"Guarantee ({release.mechanism}, ε = {epsilon}, δ = {delta}): {change} changes the "
        f"probability of any result by at most {factor}{slack}."
    )


def _advice(release: Release, max_rank: int | None) -> str:
    """Say what helps after an abstention, from public parameters alone."""
    unit = release.privacy_unit
    smaller = [f"--size {release.sizes[0] - 1}"] if release.sizes[0] > 1 else []
    if release.mechanism == "levelwise":
        ways = [f"more {unit}s", "a larger --epsilon", *smaller, *(["a smaller --top"] if release.top > 1 else [])]
        all_ = "" if release.keep_all or not release.counted else "; --keep-all names some that do not stand out, too"
        return f"{', or '.join(ways)}{all_}."
    share = release.shares[0] if release.shares else None
    if release.mechanism != "large-margin" or release.wanted > 1 or share is None or share.epsilon is None:
        ways = [f"more {unit}s", "a larger --epsilon", *smaller]
        return f"{', or '.join(ways)}; `fim-private plan` tells what each mechanism needs, from the parameters alone."
    rank = MAX_RANK if max_rank is None else max_rank
    margin, easier = (
        prospects(LargeMargin(epsilon, share.delta or release.delta, release.neighbors, rank), CONFIDENCE).margin
        for epsilon in (share.epsilon, min(2 * share.epsilon, Fraction(EPSILON_RANGE[1])))
    )
    assert margin is not None
    assert easier is not None
    ways = [f"more {unit}s"]
    if easier < margin:
        ways.append(f"--epsilon {at_least(2 * release.cost.epsilon)} (which needs a margin of {easier:,})")
    ways += smaller
    return (
        f"{', or '.join(ways)}; with these parameters an itemset is released with {CONFIDENCE:.0%} probability "
        f"once it leads by {margin:,} {unit}s."
    )
