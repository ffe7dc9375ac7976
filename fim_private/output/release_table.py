"""The readable form of a release: a table, the guarantee in one sentence, and what to try after an abstention."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fim_private.defaults import CONFIDENCE, MAX_RANK
from fim_private.dp.cost import at_least
from fim_private.dp.parameters import EPSILON_RANGE
from fim_private.mechanisms import LargeMargin
from fim_private.mechanisms.prospects import prospects
from fim_private.mining.budget_share import Share
from fim_private.mining.noisy_supports import NoiseKind
from fim_private.mining.release import Release
from fim_private.output.advice import advice_for_more
from fim_private.output.console import Screen

# What the noise of supports is called, and what the steps of levelwise are for, in words.
_NOISE = {
    NoiseKind.LAPLACE: "discrete Laplace",
    NoiseKind.GAUSSIAN: "discrete Gaussian",
    NoiseKind.NORMAL: "rounded normal",
}
_STEPS = {
    "count": "the number of units",
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
        yield Group(Text(release.title, style="bold"))  # a Group is wrapped between words, a bare Text is not
        yield Text(f"To try: {_advice(release, max_rank)}")
    else:
        yield Text(release.title, style="bold")
        yield _rows(release)
        yield from map(Text, _remarks(release))
    yield Text(release.guarantee)


def _rows(release: Release) -> Table:
    """Return the table of itemsets."""
    table = Table()
    columns = release.columns if release.has_supports else (*release.columns, "support")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", overflow="fold")
    for itemset in release:
        cells = release.cells(itemset)
        table.add_row(*map(Text, cells if release.has_supports else (*cells, "not released")))
    return table


def _remarks(release: Release) -> Iterator[str]:
    """Say why this mechanism, how many itemsets are missing, how the budget was split, and what noise supports have."""
    yield from release.certainty
    if release.reason is not None:
        yield f"Mechanism {release.mechanism}, chosen by --mechanism auto: {release.reason}."
    if (way := _way(release)) is not None:
        yield f"What was measured first, and paid for, decided how to go on: {way}."
        if not release.counted and release.noise is None:
            yield "Picks name itemsets however rare they are: --supports tells which of these stand out from 0."
    if len(release.itemsets) < release.wanted:
        yield f"{len(release.itemsets):,} of {release.wanted:,} came out: {_missing(release)}."
        yield from advice_for_more(release)
    if len(release.shares) > 1:
        yield f"The budget was split: {_split(release.shares)}."
    if release.units is not None and release.units_interval is not None:
        low, high = release.units_interval
        yield f"There are about {release.units:,} {release.privacy_unit}s, {low:,} to {high:,} with 95 % probability."
    if release.noise is not None:
        yield (
            f"Supports count {release.privacy_unit}s{_of_how_many(release)}, with {_NOISE[release.noise.kind]} noise: "
            f"within {release.noise.half_width:,} with 95 % probability, each by itself."
        )


def _of_how_many(release: Release) -> str:
    """Return how many units there are, as far as it is known."""
    if release.units is None:
        return ""
    interval = release.units_interval
    bounds = "" if interval is None else f" ({interval[0]:,} to {interval[1]:,} with 95 % probability)"
    return f", of {release.units:,} in all{bounds}"


def _missing(release: Release) -> str:
    """Say why there are fewer itemsets than were asked for."""
    if release.counted:
        if release.keep_all:
            return "no others were found"
        return "no other stands out from the noise (--keep-all names some that do not, too)"
    others = "for the others the mechanism abstained"
    if _way(release) is not None:
        others = "others were not picked, or too few items were found to make them of"
    if release.noise is None or release.keep_all:
        return others
    return f"{others}, or their noisy supports do not stand out from 0 (--keep-all names these, too)"


def _way(release: Release) -> str | None:
    """Return what a run did that measured first; None for others."""
    if not release.measured:
        return None
    purposes = {share.purpose for share in release.shares}
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


def _advice(release: Release, max_rank: int | None) -> str:
    """Say what helps after an abstention, from public parameters alone."""
    unit = release.privacy_unit
    larger = "a larger --epsilon" if release.rho is None else "a larger --rho"
    smaller = [f"--size {release.sizes[0] - 1}"] if release.sizes[0] > 1 else []
    if release.mechanism == "levelwise":
        ways = [f"more {unit}s", larger, *smaller, *(["a smaller --top"] if release.top > 1 else [])]
        all_ = "" if release.keep_all or not release.counted else "; --keep-all names some that do not stand out, too"
        return f"{', or '.join(ways)}{all_}."
    share = release.shares[0] if release.shares else None
    if release.mechanism != "large-margin" or release.wanted > 1 or share is None or share.epsilon is None:
        ways = [f"more {unit}s", larger, *smaller]
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
