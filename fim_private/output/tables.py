"""The readable tables of releases, rules, plans, ledgers, inspections, votes and audits."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from fim_private.display import printable
from fim_private.dp.cost import at_least, at_most, rounded_up
from fim_private.errors import Marked
from fim_private.learning.voting import Vote
from fim_private.ledger.chain import Composition
from fim_private.ledger.ledger import Statement
from fim_private.output.console import Screen, option
from fim_private.planning.advice import LARGEST_EPSILON
from fim_private.planning.customers import NOTES, CustomerPlan, list_gain, usual_list_gain
from fim_private.planning.plan import Plan, or_dash, percent
from fim_private.reading.inspection import EXAMPLE_ITEMS, Inspection
from fim_private.release import words
from fim_private.release.release import Release
from fim_private.release.rules import rules_cells, rules_note
from fim_private.release.segmented import SegmentedRelease
from fim_private.request.budget import Share, parts_in_words
from fim_private.request.supports import NoiseKind
from fim_private.rule_metrics import Rules

if TYPE_CHECKING:
    from fim_private.auditing.audit import AuditReport, Finding


# -------------------- rules table
# Association rules as a readable table.


def rules_parts(release: Release, rules: Rules) -> Iterator[RenderableType]:
    """Yield what is shown of the rules of a release: a title, the table, and how to read it."""
    if not len(rules):
        if release.itemsets:
            yield Text("No rule of these itemsets has as much confidence and lift as was asked for.")
        return
    yield Text(rules_cells(rules, release)[0], style="bold")
    yield _table(release, rules)
    yield Text(rules_note(rules))


def _table(release: Release, rules: Rules) -> Table:
    """Return the rules, one a row."""
    table = Table()
    _, columns, rows = rules_cells(rules, release)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


# -------------------- release table
# The readable form of a release: a table, the guarantee in one sentence, and what to try after an abstention.

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
    return screen.render([*_release_table_parts(release, spelled, rules, advise), *_promised(release)])


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
    yield from map(Text, words.charged(release.charged))


def _release_table_parts(
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


# -------------------- vote table
# The readable form of a vote: its answer, how it was held, and the guarantee.


def render_vote(vote: Vote, screen: Screen) -> str:
    """Return a vote as text."""
    return screen.render(_vote_table_parts(vote))


def _vote_table_parts(vote: Vote) -> Iterator[Text]:
    """Yield what is shown, in lines."""
    yield Text(vote.title, style="bold")
    yield Text(f"    {vote.text}" if not vote.abstained else vote.text)
    yield from map(Text, vote.remarks)
    yield from map(Text, vote.told)
    yield Text(vote.guarantee)
    yield from map(Text, words.charged(vote.charged))


_PLAN_LEGEND = (
    "A unit is a basket, or a user where users are protected. Support needed: by an itemset without rivals;",
    "of many by one that leads by the margin those that are not to be found.",
)
# What is said of a column where it is shown.
_PLAN_LEGENDS = {
    "margin if\n10 tie": "Margin needed: over many others that are tied. Margin if 10 tie: by ten together, one of "
    "which is found.",
    "mean\nregret": "Mean regret: the support that is lost on average at the support needed.",
    "items\nneeded": "Items needed: the units that each of its items must be in to be found. The figures of levelwise "
    "are estimates: where tried, mostly (87 %) within a factor of 1.5.",
}


def render_plan(plan: Plan | CustomerPlan, screen: Screen) -> str:
    """Return a plan as text: what was asked, a row for each top and mechanism, what to take, and a legend."""
    return screen.render(_customer_plan(plan) if isinstance(plan, CustomerPlan) else _plan(plan))


def _plan(plan: Plan) -> Iterator[Table | Text]:
    """Yield the title, the table, what to take and the legend. A column without a figure is not shown."""
    yield Text(plan.title, style="bold")
    rows = [one for one in plan.mechanisms if one.top == 1 or not one.missing]
    figures = {
        "support\nneeded": [or_dash(one.required_support) for one in rows],
        "% of\nunits": ["–" if one.required_share is None else percent(one.required_share) for one in rows],
        "margin\nneeded": [or_dash(one.required_margin) for one in rows],
        "margin if\n10 tie": [or_dash(one.required_margin_tied) for one in rows],
        "mean\nregret": ["–" if one.expected_regret is None else f"{one.expected_regret:,.1f}" for one in rows],
        "items\nneeded": [or_dash(one.item_support) for one in rows],
        "noise of\nsupports": ["–" if one.half_width is None else f"±{one.half_width:,}" for one in rows],
    }
    shown = {title: cells for title, cells in figures.items() if {*cells} - {"–"}}
    table = Table()
    if many := plan.tops != (1,):
        table.add_column("top", justify="right", no_wrap=True)
    table.add_column("mechanism", no_wrap=True)
    for title in shown:
        table.add_column(title, justify="right", no_wrap=True)
    if not many:
        table.add_column("needs", overflow="fold")
    for place, one in enumerate(rows):
        is_best, is_first = one is plan.best(one.top), not place or rows[place - 1].top != one.top
        cells = [*([f"{one.top:,}" if is_first else ""] if many else []), f"{'*' if is_best else ' '} {one.name}"]
        cells += [column[place] for column in shown.values()]
        needs = [
            f"{need} (not given)" if need in one.missing else need for need in sorted(one.needs, key=one.missing.count)
        ]
        cells += [] if many else [", ".join(needs) or "nothing"]
        if is_first and place:
            table.add_section()
        style = "bold" if is_best else "dim" if one.missing or one.feasible is False else ""
        table.add_row(*map(Text, cells), style=style)
    yield table
    yield Text(f"* {plan.reason}")
    if plan.list_gain is not None:
        yield Text(Marked(plan.list_gain.marked).spelled(option))
    lacking = {one.name: f"{one.name} ({', '.join(one.missing)})" for one in plan if one not in rows}
    if lacking:
        yield Text(f"Not planned, for want of what they must know: {'; '.join(lacking.values())}.")
    for line in (*_PLAN_LEGEND, *(text for title, text in _PLAN_LEGENDS.items() if title in shown)):
        yield Text(line, style="dim")


def _customer_plan(plan: CustomerPlan) -> Iterator[Table | Text]:
    """Yield the title, the table and the notes."""
    yield Text(plan.title, style="bold")
    table = Table()
    table.add_column("neighbours", no_wrap=True)
    for title in ("without a\nproduct list", "with a\nproduct list"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in plan.rows:
        table.add_row(*map(Text, row))
    yield table
    yield from (Text(line, style="dim") for line in NOTES)


# -------------------- budget table
# The readable form of a ledger: its entries, what they add up to under each composition, and what is left.

# A table of very many entries takes long to draw, and nobody reads it.
_SHOWN = 1_000


def render_created(statement: Statement, screen: Screen) -> str:
    """Return what is said of a new ledger."""
    return screen.render([Text(f"Created {printable(statement.name)}. {statement.title}"), Text(statement.protected)])


def render_statement(statement: Statement, screen: Screen, *, verified: bool = False) -> str:
    """Return a ledger as text. verified: whether all of its entries were."""
    return screen.render(_budget_table_parts(statement, verified))


def _budget_table_parts(statement: Statement, verified: bool) -> Iterator[Table | Text]:
    """Yield what is shown: the terms, the entries, and the sums."""
    yield Text(statement.title, style="bold")
    yield Text(statement.protected)
    if statement.entries:
        table = Table()
        for place, column in enumerate(statement.columns):
            table.add_column(column, justify="left" if place in (1, 2) else "right", overflow="fold")
        for row in statement.rows_of(statement.entries[-_SHOWN:]):
            table.add_row(*(Text(printable(cell)) for cell in row))
        yield table
        if (before := len(statement.entries) - _SHOWN) > 0:
            yield Text(f"Shown are the last {_SHOWN:,} entries. The {before:,} before them are in --format json.")
    else:
        yield Text("Nothing was charged to it yet.")
    if verified:
        yield Text("All of it was verified: every entry follows the one before, from the first to the last.")
    yield _sums(statement)
    if not statement.terms.rho:
        yield Text("Without δ there is no other composition.", style="dim")
        return
    yield Text("* This composition was chosen, and is what releases are held to; the other is told for comparison.")
    if statement.terms.composition is Composition.ZCDP:
        yield Text(
            "A release of which no more is known than its ε spends ρ = ε²/2: the next may have an ε of up to "
            f"{at_most(statement.left.epsilon)}. One with --rho spends that, and one with Gaussian noise far less.",
            style="dim",
        )


def _sums(statement: Statement) -> Table:
    """Return a table of what is allowed, spent and left."""
    table = Table()
    table.add_column("composition")
    for column in ("limit", "spent", "left"):
        table.add_column(column, justify="right")
    names = {Composition.BASIC: ("epsilon", "delta"), Composition.ZCDP: ("rho", "zcdp_delta")}
    for composition, pair in names.items():
        if composition is Composition.ZCDP and not statement.terms.rho:
            continue
        left = statement.left_under(composition)
        rests = (left.epsilon if left.rho is None else left.rho, left.delta)
        mark = "*" if composition is statement.terms.composition else " "
        for name, sign, rest in zip(pair, "εδ" if composition is Composition.BASIC else "ρδ", rests, strict=True):
            cells = (at_most(statement.limit[name]), at_least(statement.spent[name]), at_most(rest))
            table.add_row(f"{mark} {composition}, {sign}", *cells)
    return table


# -------------------- inspection table
# The readable form of an inspection: how a source would be read, what is in it, and the command that mines it.


def render_inspection(seen: Inspection, screen: Screen) -> str:
    """Return an inspection as text."""
    return screen.render(_inspection_table_parts(seen))


def _inspection_table_parts(seen: Inspection) -> Iterator[Table | Text]:
    """Yield what is shown, from the warning to the command."""
    yield Text("This shows data and counts exactly: it is for whoever holds them. It spends no budget.", style="bold")
    notes = [Marked(note).spelled(option) for note in seen.marked_notes]
    if seen.has_single_items_only:
        yield Text(_printable(notes.pop(0)), style="bold")
    yield Text(_printable(f"{seen.source}: {seen.read_as}."))
    if seen.columns:
        table = Table()
        for title in ("column", "type", "read as", "first values"):
            table.add_column(title, overflow="fold")
        for column in seen.columns:
            cells = (column.name, column.type, column.role or "–", ", ".join(column.examples))
            table.add_row(*(Text(_printable(cell)) for cell in cells), style="" if column.role else "dim")
        yield table
    for line in _figures(seen):
        yield Text(_printable(line))
    for note in notes:
        yield Text(_printable(note))
    if seen.users is not None and (gain := usual_list_gain(seen.users)) is not None:
        yield Text(Marked(gain.marked).spelled(option))
    yield Text(f"To mine it: {_printable(command_for(seen))}", style="bold")


def command_for(seen: Inspection) -> str:
    """Return the command that mines a file as it was read, or, for what is in memory, the call."""
    if seen.in_memory:
        return seen.call
    source = f"./{seen.source}" if seen.source.startswith("-") and seen.source != "-" else seen.source
    words = ["fim-private", "mine", source]
    for name, value in seen.options.items():
        word = option(name)
        if isinstance(value, bool):
            words.append(word if value else f"--no-{word.removeprefix('--')}")
        elif isinstance(value, int):
            words += [word, str(value)]
        else:
            words += [one for each in ([value] if isinstance(value, str) else value) for one in (word, each)]
    return shlex.join(words)


def _figures(seen: Inspection) -> Iterator[str]:
    """Yield how many there are of everything, and a few of each."""
    users = "" if seen.users is None else f", {seen.users:,} users"
    empty = f" ({seen.empty_baskets:,} of them without items)" if seen.empty_baskets else ""
    yield f"{seen.rows:,} rows, {seen.baskets:,} baskets{empty}{users}, {seen.items:,} different items."
    lengths = seen.basket_lengths
    if seen.items:
        yield (
            f"A basket has {lengths['min']:,.0f} to {lengths['max']:,.0f} different items: "
            f"{lengths['median']:,.1f} in the median, {lengths['mean']:,.1f} in the mean."
        )
        yield f"The most frequent items: {', '.join(map(str, seen.example_items))}."
        baskets = [
            ", ".join(map(str, basket)) + (", …" if len(basket) == EXAMPLE_ITEMS else "")
            for basket in seen.example_baskets
        ]
        yield f"The first baskets: {'; '.join('{' + basket + '}' for basket in baskets)}."
    if seen.last_rows:
        rows = "; ".join("{" + ", ".join(row) + "}" for row in seen.last_rows)
        yield f"The last rows: {rows}." + (" A total is left out with --where." if seen.columns else "")


def _printable(text: str) -> str:
    """Escape what would move the cursor or break the line: it comes from somebody's file."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


# -------------------- audit table
# The readable form of audits.

# Wider than other tables: pairs of neighbours are long.
_PLAIN_WIDTH = 132


def render_audit(reports: Sequence[AuditReport], screen: Screen) -> str:
    """Return audits as text: for each the verdict, a table of what was found, and how much was tried."""
    parts = (part for report in reports for part in _audit_table_parts(report))
    return screen.render(parts, plain_width=_PLAIN_WIDTH)


def _audit_table_parts(report: AuditReport) -> Iterator[Table | Text]:
    """Yield the verdict of one audit, its table, and how much was tried."""
    guarantee = f"ε = {at_least(report.epsilon)}, δ = {at_least(report.delta)}, {report.neighbors}"
    verdict = "every guarantee was kept" if report.holds else "A GUARANTEE IS BROKEN"
    yield Text(f"{report.mechanism} ({guarantee}): {verdict}", style="bold")
    table = Table("guarantee")
    for name in ("ε", "δ", "δ used", "share of δ"):
        table.add_column(name, justify="right")
    table.add_column("worst neighbours, supports by itemset", overflow="fold")
    for finding in (report.whole, *report.stages):
        table.add_row(
            finding.name,
            at_least(finding.epsilon),
            at_least(finding.delta),
            _used(finding, report.numerical_error) + ("" if finding.holds else " !"),
            "-" if finding.share is None else rounded_up(finding.share, 2),
            Text(_pair(finding)),
        )
    yield table
    yield Text(f"{report.pairs:,} pairs of neighbours, both ways; numerical error below {report.numerical_error:g}.")


def _used(finding: Finding, numerical_error: float) -> str:
    """Return a divergence as text, 0 where it is within the numerical error."""
    return rounded_up(finding.divergence, 3) if finding.divergence > numerical_error else "0"


def _pair(finding: Finding) -> str:
    """Return the supports of the worst pair as text."""
    setting = f" ({finding.setting})" if finding.setting else ""
    return f"{' '.join(map(str, finding.one))} → {' '.join(map(str, finding.two))}{setting}"
