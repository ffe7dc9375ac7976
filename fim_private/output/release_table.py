"""The readable form of a release: a table, the guarantee in one sentence, and what to try after an abstention."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from fim_private.dp.cost import at_least
from fim_private.errors import Marked
from fim_private.glance import printable
from fim_private.mining import wording
from fim_private.mining.advice import LARGEST_EPSILON
from fim_private.mining.budget_share import Share, parts_in_words
from fim_private.mining.noisy_supports import NoiseKind
from fim_private.mining.release import Release
from fim_private.mining.segmented import SegmentedRelease
from fim_private.output.console import Screen, option
from fim_private.output.rules_table import rules_parts
from fim_private.planning.product_list import list_gain
from fim_private.rules.association import Rules

# From this part of the budget on, more for supports would leave too little to find itemsets.
_HIGH_SHARE = 0.7
# What the noise of supports is called.
_NOISE = {
    NoiseKind.LAPLACE: "discrete Laplace",
    NoiseKind.GAUSSIAN: "discrete Gaussian",
    NoiseKind.NORMAL: "rounded normal",
    NoiseKind.TWO_NORMALS: "rounded normal",
}


def render_table(
    release: Release | SegmentedRelease,
    screen: Screen,
    *,
    spelled: Callable[[Mapping[str, Any]], str] | None = None,
    rules: Any = None,
    advise: bool = True,
) -> str:
    """Return a release as text: its itemsets, or that there are none, what to ask instead, and the guarantee.

    Of several segments one after the other. spelled: writes a request with some parameters changed; unless given, as a
    call of Python. rules: to be shown after the itemsets; of segments under their names. advise: whether it is shown to
    whoever asked, with what to ask instead; not where it is handed on.
    """
    if isinstance(release, SegmentedRelease):
        return screen.render(_segments(release, spelled, rules or {}, advise))
    return screen.render([*_parts(release, spelled, rules, advise), *_promised(release)])


def _segments(
    release: SegmentedRelease,
    spelled: Callable[[Mapping[str, Any]], str] | None,
    rules: Mapping[str, Rules],
    advise: bool,
) -> Iterator[RenderableType]:
    """Yield what is shown of several segments, each under its name, and the advice and the guarantee of all."""
    told = {name: [] if one.abstained else [*_remarks(one)] for name, one in release.items()}
    several = [lines for lines in told.values() if lines]
    common = [line for line in several[0] if all(line in lines for lines in several)] if len(several) > 1 else []
    for name, one in release.items():
        yield Rule(Text(release.heading(one), style="bold"), align="left")
        yield from _found(one, rules.get(name))
        yield from (Text(line) for line in told[name] if line not in common)
    yield Rule()
    if advise:  # a request is for all segments: it must not ask for less where some came out
        some = [one for one in release.releases if one.itemsets] or release.releases
        yield from _advice(min(some, key=len), spelled)
        yield from _advice_on_rules(release.releases[0], [*rules.values()])
        yield from _advice_on_lists(release.releases[0])
    yield from map(Text, [*common, *release.whole.rows_read])
    yield from _promised(release)


def _promised(release: Release | SegmentedRelease) -> Iterator[Text]:
    """Yield the guarantee, and what a ledger says."""
    yield Text(release.guarantee)
    yield from map(Text, wording.charged(release.charged))


def _parts(
    release: Release, spelled: Callable[[Mapping[str, Any]], str] | None, rules: Rules | None, advise: bool
) -> Iterator[RenderableType]:
    """Yield what is shown of a release above the guarantee."""
    yield from _found(release, rules)
    if advise:
        yield from _advice(release, spelled)
        yield from _advice_on_rules(release, [] if rules is None else [rules])
        yield from _advice_on_lists(release)
    if not release.abstained:
        yield from map(Text, _remarks(release))
    yield from map(Text, release.rows_read)


def _found(release: Release, rules: Rules | None) -> Iterator[RenderableType]:
    """Yield the title, the itemsets and the rules of a release, and how many itemsets are missing."""
    if release.abstained:
        yield Group(Text(release.title, style="bold"))  # a Group is wrapped between words, a bare Text is not
    else:
        yield Text(release.title, style="bold")
        yield _rows(release)
        yield from map(Text, release.certainty)
    if rules is not None:
        yield from rules_parts(release, rules)
    if release.min_support is None and release.itemsets and len(release.itemsets) < release.wanted:
        yield Text(f"{len(release.itemsets):,} of {release.wanted:,} came out: {_missing(release)}.")


def _advice(release: Release, spelled: Callable[[Mapping[str, Any]], str] | None) -> Iterator[Text]:
    """Say what to ask instead, where itemsets are missing."""
    if release.advice is not None:
        call = release.advice.call if spelled is None else spelled(release.advice.changes)
        # Alone on its line, and never wrapped, so that it can be copied.
        yield Text(f"To {'find more' if release.itemsets else 'try'}: {printable(call)}", no_wrap=True)
        yield Text(release.advice.explanation)
    elif release.hopeless is not None:
        yield Text(release.hopeless)
    if release.min_support is None and not release.itemsets and release.counted and not release.keep_all:
        yield Text("(--keep-all names some that do not stand out, too.)")


def _advice_on_rules(release: Release, rules: Sequence[Rules]) -> Iterator[Text]:
    """Say what makes more rules clear of the noise, where some are not, and what gives them lifts."""
    request = release.request
    if request is None:  # it was loaded
        return
    if any(one.doubtful.any() for one in rules):
        share = request.supports_share or 0
        ways = [f"a higher --supports-share (it was {float(share):.2g})"] if share < _HIGH_SHARE else []
        if request.min_support is not None:
            ways.append("a larger --min-support")
        elif request.top > 1:
            ways.append("a smaller --top")
        if request.budget.loss < LARGEST_EPSILON:
            ways.append(f"a larger --epsilon (up to {LARGEST_EPSILON})" if request.rho is None else "a larger --rho")
        ways.append(f"or more {release.privacy_unit}s")
        yield Text(f"More rules would be clear of the noise with {', '.join(ways)}.")
    if any(not one.has_lifts for one in rules):
        yield Text("With --together user they have lifts.")


def _advice_on_lists(release: Release) -> Iterator[Text]:
    """Say what a list of all items would bring users, where there is none."""
    if release.request is None or release.privacy_unit != "user":
        return
    if (gain := list_gain(release.request, units=release.units)) is not None:
        yield Text(Marked(gain.marked).spelled(option))


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
    """Say why this mechanism, how the budget was split, and what noise supports have."""
    if release.reason is not None:
        yield f"Mechanism {release.mechanism}, chosen by --mechanism auto: {release.reason}."
    if len(release.shares) > 1:
        yield f"The budget was split: {_split(release.shares)}."
    if release.noise is not None:
        yield (
            f"Supports count {release.privacy_unit}s{_of_how_many(release)}, with {_NOISE[release.noise.kind]} noise: "
            f"within {release.noise.half_width:,} with 95 % probability, each by itself."
        )
    if release.parts:
        yield f"Supports of {len(release.parts):,} parts of these itemsets, for the rules, are in the other forms."
    if release.max_basket is not None:
        of_users = "" if release.max_baskets is None else f", and {release.max_baskets:,} of a user's baskets,"
        yield (
            f"No more than {release.max_basket:,} items of a basket{of_users} counted: "
            "in the whole data supports may be larger."
        )


def _of_how_many(release: Release) -> str:
    """Return how many units there are, where that is known, and how exactly."""
    if release.units is None:
        return ""
    noisy = ""
    if release.units_interval is not None:
        low, high = release.units_interval
        noisy = f" ({low:,} to {high:,} with 95 % probability)"
    return f", of {release.units:,} in all{noisy}"


def _missing(release: Release) -> str:
    """Say why there are fewer itemsets than were asked for."""
    if release.counted:
        if release.keep_all:
            return "no others were found"
        return "no other stands out from the noise (--keep-all names some that do not, too)"
    others = "for the others the mechanism abstained"
    if release.noise is None or release.keep_all:
        return others
    return f"{others}, or their noisy supports do not stand out from 0 (--keep-all names these, too)"


def _split(shares: tuple[Share, ...]) -> str:
    """Return the parts of the budget in words; those of one purpose, of which levelwise has many, as one."""
    first = [share for share in shares if share.purpose == "size" and share.epsilon]
    normal = sum(share.mu_squared or 0 for share in shares)
    concentrated = sum(share.rho or 0 for share in shares)
    if not (normal or concentrated):
        return "; ".join(
            f"{share.in_words}: ε = {at_least(share.epsilon or 0)}, δ = {at_least(share.delta or 0)}"
            for share in shares
        )
    percent = ", ".join(f"{100 * float(part):.1f} % for {what}" for what, part in parts_in_words(shares).items())
    whole = f"μ² = {at_least(normal)} of Gaussian" if normal else f"ρ = {at_least(concentrated)} of zero-concentrated"
    but = f" but for ε = {at_least(first[0].epsilon or 0)} for {first[0].in_words}" if first else ""
    return f"{percent} ({whole} privacy in all{but}; --format json lists every step)"
