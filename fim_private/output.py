"""Releases, rules, plans, ledgers, inspections, votes and audits as text for a screen; and figures
of plans.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import ASCII, ROUNDED
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from fim_private.display import command_line, in_braces, item_name, printable
from fim_private.dp.cost import least_in_words, most_in_words, rounded_up
from fim_private.errors import Marked, ParameterError, parameter
from fim_private.learning.voting import Vote
from fim_private.ledger.chain import Composition
from fim_private.ledger.ledger import Statement
from fim_private.mechanisms.registry import spec_named
from fim_private.options import SPELLED
from fim_private.planning import plan as planning
from fim_private.planning.advice import LARGEST_EPSILON
from fim_private.planning.plan import CustomerPlan, Plan, PlannedMechanism, percent
from fim_private.reading.inspection import EXAMPLE_ITEMS, Inspection
from fim_private.release import words
from fim_private.release.changes import Changes
from fim_private.release.chart import of_matplotlib
from fim_private.release.release import Release, SegmentedRelease
from fim_private.release.rules import Rules, rules_table
from fim_private.request.budget import Share, parts_in_words
from fim_private.request.supports import NoiseKind
from fim_private.whole_files import staged

if TYPE_CHECKING:
    from fim_private.auditing.audit import AuditReport

# What stands for no figure.
_NONE = ("", "–", "-")
# What is written for letters and signs where there are none.
_WORDS = {
    **{
        "ε": "epsilon",
        "δ": "delta",
        "μ": "mu",
        "ρ": "rho",
        "²": "^2",
        "–": "-",
        "−": "-",
        "±": "+-",
    },
    **{"→": "->", "…": "...", "×": "x", "≤": "<=", "≥": ">="},
}


@dataclass(frozen=True)
class Screen:
    """What the reader's screen can show; by default that of a file: every letter, but no colours.

    colour: whether it is a terminal, with a width of its own. ascii_only: whether it has neither
    Greek letters nor box lines. encoding: what other letters it has then. bare: whether nothing is
    to be coloured, bold or dim there.
    """

    colour: bool = False
    ascii_only: bool = False
    encoding: str = "ascii"
    bare: bool = False

    def render(self, parts: Iterable[RenderableType], *, plain_width: int = 120) -> str:
        """Return what rich can print as text. A table fits the terminal's width, or plain_width
        where there is none.

        A Text is wrapped between words on a terminal; elsewhere it is one line, as is a Text with
        no_wrap everywhere.
        """
        stream = io.StringIO()
        width = None if self.colour else plain_width
        styled = self.colour and not self.bare
        console = Console(file=stream, force_terminal=styled, no_color=not styled, width=width)
        for part in parts:
            for shown in (
                self._fitted(part, console.width)
                if isinstance(part, Table)
                else [self._shown(part)]
            ):
                as_one = isinstance(shown, Text) and (not self.colour or bool(shown.no_wrap))
                console.print(shown, soft_wrap=as_one)
        return self.text(stream.getvalue())

    def _shown(self, part: RenderableType) -> RenderableType:
        if isinstance(part, str):
            return self.text(part)
        if self.ascii_only and isinstance(part, Text):
            text = self.text(part.plain)
            return Text(
                text, part.style, justify=part.justify, overflow=part.overflow, no_wrap=part.no_wrap
            )
        return part

    def text(self, text: str) -> str:
        """Return text with words, and then escapes, for what the screen cannot show."""
        if not self.ascii_only:
            return text
        for character, word in _WORDS.items():
            text = text.replace(character, word)
        return text.encode(self.encoding, "backslashreplace").decode(self.encoding)

    def _fitted(self, table: Table, width: int) -> Iterator[RenderableType]:
        """Yield the table or, where no width of its columns leaves every word whole, its rows one
        by one.
        """
        for column in table.columns:  # before it is laid out
            column.header = self._shown(column.header)
            column._cells = [self._shown(cell) for cell in column._cells]
        widths = [_widths(column) for column in table.columns]
        room = width - 3 * len(widths) - 1  # a space on each side, and lines
        given = [least for least, _ in widths]
        if sum(given) > room:
            yield from _row_by_row(table, wrapped=self.colour)
            return
        table.box = ASCII if self.ascii_only else ROUNDED
        if sum(most for _, most in widths) > room:
            for _ in range(room - sum(given)):
                # To the one whose longest line takes the most lines.
                given[
                    max(
                        range(len(given)), key=lambda place: widths[place][1] / max(given[place], 1)
                    )
                ] += 1
            for column, columns in zip(table.columns, given, strict=True):
                column.width = columns
        yield table


def _plain(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def _widths(column: Column) -> tuple[int, int]:
    """Return how wide a column is: at least, with its longest word whole, and at most."""
    lines = [line for cell in (column.header, *column.cells) for line in _plain(cell).splitlines()]
    most = max(map(cell_len, lines), default=0)
    if column.no_wrap:
        return most, most
    return max((cell_len(word) for line in lines for word in line.split()), default=0), most


def _row_by_row(table: Table, *, wrapped: bool) -> Iterator[RenderableType]:
    """Yield each row as lines "title: cell"; what has no figure is left out, and an empty first
    cell is as before.
    """
    titles = [" ".join(_plain(column.header).split()) for column in table.columns]
    first = ""
    for row, cells in zip(
        table.rows, zip(*(column.cells for column in table.columns), strict=True), strict=True
    ):
        texts = [_plain(cell).strip() for cell in cells]
        first = texts[0] or first
        yield Text(f"{titles[0]}: {first}", row.style or "")
        lines = [
            f"{title}: {text}"
            for title, text in zip(titles, texts, strict=True)
            if text not in _NONE
        ]
        for text in (Text(line, row.style or "") for line in lines[texts[0] not in _NONE :]):
            yield Padding(text, (0, 0, 0, 2)) if wrapped else Text("  ").append_text(text)


def option(name: str) -> str:
    """Return a parameter as the command line spells it."""
    return f"--{SPELLED.get(name, name.replace('_', '-'))}"


def _grid(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    text: Collection[int] = (0,),
    whole: Collection[int] = (),
    style: Callable[[int], str] = lambda _: "",
    ends: Collection[int] = (),
) -> Table:
    """Return a table. text, whole: which columns, by place, stand to the left, and are not wrapped;
    style: of a row.

    ends: the rows, by place, below which there is a line.
    """
    table = Table()
    for place, column in enumerate(columns):
        justify: Any = "left" if place in text else "right"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=place in whole)
    for place, cells in enumerate(rows):
        table.add_row(*map(Text, cells), style=style(place), end_section=place in ends)
    return table


# From this share of the budget on, more for supports would leave too little to find itemsets.
_HIGH_SHARE = 0.7
# What the noise of supports is called where it is not rounded normal.
_NOISE = {NoiseKind.LAPLACE: "discrete Laplace", NoiseKind.GAUSSIAN: "discrete Gaussian"}
# Writes a request with some parameters changed.
Spelled = Callable[[Mapping[str, Any]], str] | None


def render_table(
    release: Release | SegmentedRelease,
    screen: Screen,
    *,
    spelled: Spelled = None,
    rules: Any = None,
    advise: bool = True,
) -> str:
    """Return a release, or those of segments, as text: itemsets, what to ask instead, and the
    guarantee.

    spelled: unless given, requests are calls of Python. rules: of segments under their names.
    advise: not where it is handed on.
    """
    if isinstance(release, Release):
        parts = _releases(
            {"": release}, release, spelled, {} if rules is None else {"": rules}, advise
        )
    else:
        parts = _releases(release, release.whole, spelled, rules or {}, advise)
    promised = map(Text, (release.guarantee, *words.charged(release.charged)))
    return screen.render([*parts, *promised])


def _releases(
    releases: Mapping[str, Release],
    whole: Release,
    spelled: Spelled,
    rules: Mapping[str, Rules],
    advise: bool,
) -> Iterator[RenderableType]:
    """Yield the itemsets of each release, by segment, then what is said of all of them."""
    remarks = {
        name: list(_remarks(release)) for name, release in releases.items() if not release.abstained
    }
    common = _common([lines for lines in remarks.values() if lines], len(releases))
    for name, release in releases.items():
        if name:
            segment = f"{printable(whole.scope.by or '')} {printable(name)}"
            yield Rule(Text(segment, style="bold"), align="left")
        yield from _itemsets(release, rules.get(name))
        yield from (Text(line) for line in remarks.get(name, []) if line not in common)
    if "" not in releases:
        yield Rule()
    if advise:
        # A request is for all segments: it must not ask for less where some came out.
        every = list(releases.values())
        nonempty = [release for release in every if release.itemsets]
        yield from _advice(min(nonempty or every, key=len), spelled)
        yield from _advice_on_rules(every[0], list(rules.values()))
        yield from _list_gain(every)
    yield from map(Text, [*common, *whole.rows_read])


def _common(remarks: Sequence[Sequence[str]], releases: int) -> list[str]:
    """Return the remarks that all of several releases share, or those of the only release."""
    if not remarks or (len(remarks) == 1 and releases > 1):
        return []
    return [line for line in remarks[0] if all(line in lines for lines in remarks)]


def _list_gain(releases: Sequence[Release]) -> Iterator[Text]:
    """Yield a line on what a product list would bring, for releases by user without one."""
    first = releases[0]
    if first.request is None or first.privacy_unit != "user":
        return
    units = first.units
    if len(releases) > 1:  # a forecast for one segment says nothing about the others
        units = None
    gain = planning.list_gain(
        first.request, units=units, came_out=len(first.itemsets) / first.wanted
    )
    if gain is not None:
        yield Text(Marked(gain.marked).spelled(option))


def _itemsets(release: Release, rules: Rules | None) -> Iterator[RenderableType]:
    """Yield the itemsets of a release, and its rules if there are any."""
    title = Text(release.title, style="bold")
    if release.abstained:
        yield Group(title)  # a Group is wrapped between words, a bare Text is not
    else:
        columns = [*release.columns]
        rows = [[*release.cells(itemset)] for itemset in release]
        if not release.has_supports:
            columns.append("support")
            rows = [[*cells, "not released"] for cells in rows]
        yield title
        yield _grid(columns, rows)
        yield from map(Text, release.certainty)
    if rules is not None and len(rules):
        table = rules_table(rules, release.decimals, release.privacy_unit)
        yield Text(table.title, style="bold")
        yield _grid(table.columns, table.rows)
        yield Text(rules.note)
    elif rules is not None and release.itemsets:
        yield Text("No rule of these itemsets has the confidence and lift that you asked for.")
    if release.min_support is None and 0 < len(release.itemsets) < release.wanted:
        came_out = f"{len(release.itemsets):,} of {release.wanted:,} came out"
        yield Text(f"{came_out}: {_why_no_more(release)}.")


def _why_no_more(release: Release) -> str:
    """Return why fewer itemsets came out than were asked for."""
    if release.counted and release.keep_all:
        return "no others were found"
    if release.counted:
        return "the others do not stand out from the noise (--keep-all shows some of them)"
    abstained = "the mechanism abstained on the others"
    if release.noise is None or release.keep_all:
        return abstained
    return f"{abstained}, or their noisy supports do not stand out from 0 (--keep-all shows these)"


def _advice(release: Release, spelled: Spelled) -> Iterator[Text]:
    if release.advice is not None:
        call = release.advice.call if spelled is None else spelled(release.advice.changes)
        # Alone on its line, and never wrapped, so that it can be copied.
        yield Text(
            f"To {'find more' if release.itemsets else 'try'}: {printable(call)}", no_wrap=True
        )
        yield Text(release.advice.explanation)
    elif release.hopeless is not None:
        yield Text(release.hopeless)
    if (
        release.min_support is None
        and not release.itemsets
        and release.counted
        and not release.keep_all
    ):
        yield Text("--keep-all shows some that do not stand out.")


def nothing_came_out(release: Release | SegmentedRelease, spelled: Spelled = None) -> str:
    """Return in one line that a release is empty, and what to try.

    spelled: as render_table takes it.
    """
    first = release if isinstance(release, Release) else release.releases[0]
    advice = next(_advice(first, spelled), None)
    if advice is None:
        # Advice is reckoned for one request, and a release of several periods has none of its own.
        return "Nothing came out. Try a larger budget, or longer or fewer periods."
    return f"Nothing came out. {advice.plain}"


def _advice_on_rules(release: Release, rules: Sequence[Rules]) -> Iterator[Text]:
    request = release.request
    if request is None:  # it was loaded
        return
    if any(one.doubtful.any() for one in rules):
        share = request.supports_share or 0
        changes = (
            [f"a higher --supports-share (it was {float(share):.2g})"]
            if share < _HIGH_SHARE
            else []
        )
        if request.min_support is not None:
            changes.append("a larger --min-support")
        elif request.top > 1:
            changes.append("a smaller --top")
        if request.budget.loss < LARGEST_EPSILON:
            changes.append(
                f"a larger --epsilon (up to {LARGEST_EPSILON})"
                if request.rho is None
                else "a larger --rho"
            )
        changes.append(f"or more {release.privacy_unit}s")
        wanted = (
            "More often than chance"
            if rules[0].has_lifts
            else ("The confidence that you asked for")
        )
        yield Text(f"{wanted} would be sure for more rules with {', '.join(changes)}.")
    if any(not one.has_lifts for one in rules):
        yield Text("--together user gives them lifts.")


def _remarks(release: Release) -> Iterator[str]:
    if release.reason is not None:
        yield f"Mechanism {release.mechanism}, chosen by --mechanism auto: {release.reason}."
    if len(release.shares) > 1:
        yield f"The budget was split: {_split(release.shares)}."
    unit = release.privacy_unit
    if release.noise is not None:
        near, kind = release.noise.half_width, _NOISE.get(release.noise.kind, "rounded normal")
        yield (
            f"Each support is within {near:,} {unit}s of the truth with 95 % probability "
            f"({kind} noise)."
        )
        if release.units is not None and release.units_interval is not None:
            low, high = release.units_interval
            yield (
                f"There are about {release.units:,} {unit}s in all ({low:,} to {high:,} with "
                f"95 % probability)."
            )
        elif release.units is not None:
            yield f"There are {release.units:,} {unit}s in all."
        if release.scope.per is not None:
            yield f"A {unit} with purchases in several {release.scope.per}s counts once for each."
    if release.parts:
        yield (
            f"The rules also need the supports of {len(release.parts):,} subsets: --format "
            f"json lists them."
        )
    items, baskets = release.caps
    if items is not None:
        of_users = (
            "" if baskets is None else (f", and {words.number_of(baskets, 'basket')} of a user,")
        )
        yield (
            f"At most {items:,} items of a basket{of_users} were counted. Supports in the "
            f"whole data may be larger."
        )


def _split(shares: tuple[Share, ...]) -> str:
    normal = sum(share.mu_squared or 0 for share in shares)
    concentrated = sum(share.rho or 0 for share in shares)
    if not (normal or concentrated):
        return "; ".join(
            (
                f"{share.in_words}: ε = {least_in_words(share.epsilon or 0)}, δ = "
                f"{least_in_words(share.delta or 0)}"
            )
            for share in shares
        )
    of_each = ", ".join(
        f"{100 * float(share):.1f} % for {what}" for what, share in parts_in_words(shares).items()
    )
    whole = f"ρ = {least_in_words(concentrated)} of zero-concentrated privacy"
    if normal:
        whole = f"μ² = {rounded_up(normal, 3)} of Gaussian privacy"
    return f"{of_each} ({whole} in all; --format json lists the steps)"


def render_changes(changes: Changes, screen: Screen) -> str:
    """Return what changed between two releases as text."""
    table = changes.table()
    parts: list[RenderableType] = [Text(table.title, style="bold")]
    if table.rows:
        parts.append(_grid(table.columns, table.rows, text=(0, 1)))
    return screen.render([*parts, *map(Text, table.notes)])


def render_vote(vote: Vote, screen: Screen) -> str:
    """Return a vote as text: its answer, how it was made, and the guarantee."""
    answer = vote.text if vote.abstained else f"    {vote.text}"
    lines = (answer, *vote.remarks, vote.guarantee, *words.charged(vote.charged))
    return screen.render([Text(vote.title, style="bold"), *map(Text, lines)])


_PLAN_LEGEND = (
    (
        "A unit is a basket, or a user if users are protected. Support needed: what an itemset "
        "without rivals must have."
    ),
    "If you ask for many, each must also lead those that are left out, by the margin.",
)
# Of a column, where it is shown.
_PLAN_LEGENDS = {
    "margin if\n10 tie": "Margin needed: the lead over many others that are tied. Margin if 10 "
    "tie: the lead of ten "
    "tied itemsets, to find one of them.",
    "mean\nregret": (
        "Mean regret: how much less support the chosen itemset has on average, at "
        "the support needed."
    ),
    "items\nneeded": "Items needed: the support that each of its items must have. Figures of "
    "levelwise are estimates: "
    "of those tried, 87 % were within a factor of 1.5.",
}


def render_plan(plan: Plan | CustomerPlan, screen: Screen) -> str:
    """Return a plan as text: the question, a row for each top and mechanism, and the advice."""
    title = Text(plan.title, style="bold")
    if isinstance(plan, CustomerPlan):
        columns = ("neighbours", "without a\nproduct list", "with a\nproduct list")
        notes = [Text(note, style="dim") for note in planning.NOTES]
        return screen.render([title, _grid(columns, plan.rows, whole=range(3)), *notes])
    planned, not_planned = [], []
    for mechanism in plan.mechanisms:
        if mechanism.top > 1 and mechanism.missing:
            not_planned.append(f"{mechanism.name} ({', '.join(mechanism.missing)})")
        else:
            planned.append(mechanism)
    figures = _plan_figures(planned)
    table = _plan_grid(plan, planned, figures)
    parts: list[RenderableType] = [title, table, Text(f"* {plan.reason}")]
    if plan.list_gain is not None:
        parts.append(Text(Marked(plan.list_gain.marked).spelled(option)))
    if not_planned:
        names = "; ".join(dict.fromkeys(not_planned))  # each once, though it lacks it for every top
        parts.append(Text(f"Not planned, because they need what was not given: {names}."))
    legends = [
        *_PLAN_LEGEND,
        *(_PLAN_LEGENDS[title] for title in _PLAN_LEGENDS if title in figures),
    ]
    parts += [Text(legend, style="dim") for legend in legends]
    return screen.render(parts)


def _plan_figures(planned: Sequence[PlannedMechanism]) -> dict[str, list[str]]:
    """Return the cells of each column of figures, by its title. A column of dashes is left out."""
    or_dash = planning.or_dash
    figures = {
        "support\nneeded": [or_dash(mechanism.required_support) for mechanism in planned],
        "% of\nunits": [or_dash(mechanism.required_share, percent) for mechanism in planned],
        "margin\nneeded": [or_dash(mechanism.required_margin) for mechanism in planned],
        "margin if\n10 tie": [or_dash(mechanism.required_margin_tied) for mechanism in planned],
        "mean\nregret": [
            or_dash(mechanism.expected_regret, "{:,.1f}".format) for mechanism in planned
        ],
        "items\nneeded": [or_dash(mechanism.item_support) for mechanism in planned],
        "noise of\nsupports": [
            or_dash(mechanism.half_width, "±{:,}".format) for mechanism in planned
        ],
    }
    return {title: cells for title, cells in figures.items() if {*cells} - {"–"}}


def _plan_grid(
    plan: Plan, planned: Sequence[PlannedMechanism], figures: Mapping[str, Sequence[str]]
) -> Table:
    """Return the table of a plan: the mechanisms of each top in turn, the best one marked."""
    several_tops = plan.tops != (1,)
    best = {top: plan.best(top) for top in plan.tops}
    tops, names, styles, last_rows = [], [], [], []
    for row, mechanism in enumerate(planned):
        mark, style = " ", ""
        if mechanism is best[mechanism.top]:
            mark, style = "*", "bold"
        elif mechanism.missing or mechanism.feasible is False:
            style = "dim"
        names.append(f"{mark} {mechanism.name}")
        styles.append(style)
        if row > 0 and mechanism.top == planned[row - 1].top:
            tops.append("")  # a top is shown in its first row only
        else:
            tops.append(f"{mechanism.top:,}")
            last_rows.append(row - 1)
    if several_tops:
        columns = {"top": tops, "mechanism": names, **figures}
        text: tuple[int, ...] = (1,)
        whole = range(len(columns))
    else:
        needs = [_needs_in_words(mechanism) for mechanism in planned]
        columns = {"mechanism": names, **figures, "needs": needs}
        text = (0, len(columns) - 1)
        whole = range(len(columns) - 1)
    rows = zip(*columns.values(), strict=True)
    return _grid([*columns], rows, text=text, whole=whole, style=styles.__getitem__, ends=last_rows)


def _needs_in_words(mechanism: PlannedMechanism) -> str:
    """Return the public parameters that a mechanism needs: those that were given come first."""
    given = [need for need in mechanism.needs if need not in mechanism.missing]
    lacking = [f"{need} (not given)" for need in mechanism.needs if need in mechanism.missing]
    return ", ".join(given + lacking) or "nothing"


_FIGURES = (".png", ".svg", ".pdf")
_NAMED = 12  # up to so many values are each named on the axis of a figure
# Of each mechanism, by name: the values on the axis, and the support that it requires at each.
_Curves = Mapping[str, tuple[list[float], list[int]]]


def plan_curves(plans: Plan | Sequence[Plan]) -> dict[str, tuple[list[float], list[int]]]:
    """Return the epsilons, ascending, and the supports that each mechanism requires there, by name.

    For a single Plan they are the numbers of itemsets, not epsilons. The curve that is highest at
    its first epsilon, or for a single Plan at its last number, comes first.
    """
    if isinstance(plans, Plan):
        by_top, ascending, highest_at = True, [plans], -1
    else:
        by_top, ascending, highest_at = False, sorted(plans, key=lambda plan: plan.epsilon), 0
    curves: dict[str, tuple[list[float], list[int]]] = {}
    for plan in ascending:
        for mechanism in plan.mechanisms:
            if mechanism.required_support is None:
                continue
            xs, supports = curves.setdefault(mechanism.name, ([], []))
            xs.append(mechanism.top if by_top else plan.epsilon)
            supports.append(mechanism.required_support)
    return dict(sorted(curves.items(), key=lambda curve: -curve[1][1][highest_at]))


@dataclass(frozen=True)
class _PlanAxis:
    """The horizontal axis of a figure of plans.

    Attributes:
        label: The name of the axis.
        values: The values that are drawn.
        in_words: Writes a value beside the axis.
        prefix: Stands before a value in the headline.
    """

    label: str
    values: frozenset[float]
    in_words: Callable[[float], str]
    prefix: str


def draw_plan_figure(plans: Plan | Sequence[Plan], path: str | Path) -> None:
    """Draw the support that each mechanism requires, against ε or, for a single Plan, against top.

    Both axes are logarithmic. Raises ParameterError for other plans or names, MissingExtraError
    without matplotlib, and OutputError where the file cannot be written.

    Args:
        plans: One Plan, or several that differ in epsilon only, as plan_grid returns them.
        path: A file that ends in .png, .svg or .pdf.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _FIGURES:
        raise ParameterError(
            f"{parameter('figure')} must be a name that ends in {', '.join(_FIGURES)}, not "
            f"{str(path)!r}"
        )
    if isinstance(plans, Plan):
        first, footnote = plans, plans.title
        label = "itemsets asked for"
        if len(plans.sizes) > 1 and not plans.union:
            label += ", of each size"
        axis = _PlanAxis(label, frozenset(plans.tops), "{:,.0f}".format, "for top ")
    else:
        first = _checked_grid(plans)
        footnote = _grid_in_words(first)
        label = "ε, the privacy loss (smaller is more private)"
        epsilons = frozenset(plan.epsilon for plan in plans)
        axis = _PlanAxis(label, epsilons, least_in_words, "at ε = ")
    planned = [mechanism for mechanism in first.mechanisms if mechanism.top == first.tops[0]]
    lacking = ", ".join(mechanism.name for mechanism in planned if mechanism.missing)
    if lacking:
        footnote += f". Not drawn, because they need what was not given: {lacking}."
    curves = plan_curves(plans)
    with staged(Path(path), option=parameter("figure")) as write:
        matplotlib, figures = of_matplotlib("matplotlib"), of_matplotlib("matplotlib.figure")
        settings = {"font.size": 10, "svg.hashsalt": "fim-private", "svg.fonttype": "none"}
        with matplotlib.rc_context(settings):
            figure = figures.Figure(figsize=(8, 5), layout="constrained")
            axes = figure.subplots()
            _draw_curves(axes, curves)
            axes.set(
                xscale="log",
                yscale="log",
                xlabel=axis.label,
                ylabel="units that must have the itemset",
            )
            axes.grid(True, which="major", alpha=0.4)
            axes.grid(True, which="minor", alpha=0.12)
            figure.suptitle(_plan_message(curves, axis), weight="bold", x=_LEFT, ha="left", size=10)
            figure.supxlabel("\n".join(textwrap.wrap(footnote, 100)), x=_LEFT, ha="left", size=9)
            legend_left = 1.02
            if first.units is not None:
                _mark_units(axes, first.units)
                legend_left = 1.13  # beside the second axis
            _set_ticks(axes, axis, curves)
            axes.legend(loc="upper left", bbox_to_anchor=(legend_left, 1), frameon=False)
            image = io.BytesIO()
            # Without a date, so that the same plan is the same file.
            metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
            figure.savefig(image, format=suffix[1:], dpi=150, metadata=metadata)
        write(image.getvalue())


_LEFT = 0.01  # where the texts of a figure begin, as a share of its width


def _checked_grid(plans: Sequence[Plan]) -> Plan:
    """Return the first plan. Raises ParameterError unless all differ in epsilon only."""
    if not plans:
        raise ParameterError(f"{parameter('plans')} must hold at least one")
    if len({replace(plan, epsilon=1.0) for plan in plans}) > 1:
        raise ParameterError(
            f"{parameter('plans')} must differ in epsilon only: take them from plan_grid"
        )
    return plans[0]


def _grid_in_words(plan: Plan) -> str:
    """Return what plans that differ in epsilon only have in common."""
    common = [
        f"δ = {least_in_words(plan.delta)}",
        f"{percent(100 * plan.confidence)} probability",
        plan.neighbors,
    ]
    if plan.universe_size is not None:
        if plan.universe_size < 10**9:
            common.append(f"{plan.universe_size:,} items")
        else:
            common.append("very many items")
    return f"What it takes to find an itemset of {plan.size} ({', '.join(common)})"


def _draw_curves(axes: Any, curves: _Curves) -> None:
    for name, (xs, supports) in curves.items():
        spec = spec_named(name)
        colour, line, marker = spec.style
        label = name
        if spec.composed:
            label += " (estimate)"
        axes.plot(
            xs,
            supports,
            color=colour,
            linestyle=line,
            marker=marker,
            markersize=4,
            label=label,
        )


def _set_ticks(axes: Any, axis: _PlanAxis, curves: _Curves) -> None:
    if len(axis.values) <= _NAMED:
        axes.set_xticks(sorted(axis.values))
        axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda x, _: axis.in_words(x))
    axes.yaxis.set_major_formatter(lambda support, _: f"{support:,.0f}")
    least = min((min(supports) for _, supports in curves.values()), default=1)
    axes.set_ylim(bottom=max(1, 0.7 * least))


def _plan_message(curves: _Curves, axis: _PlanAxis) -> str:
    """Return on one line which mechanism needs the fewest units at both ends of a figure."""
    if not curves:
        return "No mechanism finds it with what was given"
    points = [
        (x, support, name)
        for name, (xs, supports) in curves.items()
        for x, support in zip(xs, supports, strict=True)
    ]
    least = []
    for end in sorted({min(points)[0], max(points)[0]}):
        _, units, name = min(point for point in points if point[0] == end)
        about = "about " if spec_named(name).composed else ""
        least.append(f"{about}{units:,} by {name} {axis.prefix}{axis.in_words(end)}")
    return f"Fewest units needed: {', '.join(least)}"


def _mark_units(axes: Any, units: int) -> None:
    """Draw a line at the number of all units, and an axis of shares at the right."""
    axes.axhline(units, color="#888888", linewidth=1)
    axes.annotate(
        f"all {planning.of_units(units)}",
        (1, units),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 3),
        textcoords="offset points",
        horizontalalignment="right",
        color="#595959",
        fontsize=9,
    )
    both = (lambda support: 100 * support / units, lambda share: share * units / 100)
    shares = axes.secondary_yaxis("right", functions=both)
    shares.set_ylabel("% of all units")
    shares.yaxis.set_major_formatter(lambda share, _: f"{share:g}")


# A table of very many entries takes long to draw, and nobody reads it.
_SHOWN = 1_000
_BAR = 20  # characters


def render_statement(statement: Statement, screen: Screen, *, verified: bool = False) -> str:
    """Return a ledger as text: its entries, what they add up to, and what is left. verified:
    whether all were.
    """
    parts: list[RenderableType] = [Text(statement.title, style="bold"), Text(statement.protected)]
    if statement.entries:
        rows = ([*map(printable, row)] for row in statement.rows_of(statement.entries[-_SHOWN:]))
        parts.append(_grid(statement.columns, rows, text=(1, 2)))
        if (before := len(statement.entries) - _SHOWN) > 0:
            parts.append(
                Text(
                    f"Shown are the last {_SHOWN:,} entries. The {before:,} before them are in "
                    f"--format json."
                )
            )
    else:
        parts.append(Text("Nothing was charged to it yet."))
    if verified:
        parts.append(
            Text(
                "All of it was verified: every entry follows the one before, from the "
                "first to the last."
            )
        )
    if statement.periods:
        parts.append(
            _grid(
                ("period", "spent", "", "left", "more like the last"),
                _periods(statement),
                text=(0, 2),
            )
        )
    parts.append(_grid(("composition", "limit", "spent", "left"), _sums(statement)))
    if not statement.terms.rho:
        parts.append(Text("Without a δ, releases can only be added up in this way.", style="dim"))
    else:
        parts.append(
            Text("* This composition limits the releases. The other is shown for comparison.")
        )
    if (
        statement.terms.rho
        and statement.terms.composition is Composition.ZCDP
        and not statement.closed
    ):
        most = most_in_words(statement.left.epsilon)
        parts.append(
            Text(
                f"The next release may have an ε of up to {most}, if it is charged with ρ = "
                f"ε²/2. A release with --rho "
                "is charged with that ρ, and one with Gaussian noise with far less than ε²/2.",
                style="dim",
            )
        )
    parts += map(Text, statement.notes)
    if statement.outlook is not None:
        parts.append(Text(statement.outlook, style="bold"))
    return screen.render(parts)


def _periods(statement: Statement) -> Iterator[tuple[str, ...]]:
    composition = statement.terms.composition
    loss, sign = ("rho", "ρ") if composition is Composition.ZCDP else ("epsilon", "ε")
    for name, _, reach in statement.periods:
        left = statement.left_under(composition, reach)
        rest = left.epsilon if left.rho is None else left.rho
        share = 1 - rest / statement.limit[loss]
        bar = "█" * round(_BAR * share) + "░" * round(_BAR * (1 - share))
        yield (
            name,
            f"{100 * float(share):.0f} %",
            bar,
            f"{sign} {most_in_words(rest)}",
            f"{statement.more_like_last(reach) or 0:,}",
        )


def _sums(statement: Statement) -> Iterator[tuple[str, ...]]:
    named = {
        Composition.BASIC: {"ε": "epsilon", "δ": "delta"},
        Composition.ZCDP: {"ρ": "rho", "δ": "zcdp_delta"},
    }
    for composition in named if statement.terms.rho else [Composition.BASIC]:
        left = statement.left_under(composition)
        rests = (left.epsilon if left.rho is None else left.rho, left.delta)
        mark = "*" if composition is statement.terms.composition else " "
        for (sign, name), rest in zip(named[composition].items(), rests, strict=True):
            sums = (
                least_in_words(statement.limit[name]),
                least_in_words(statement.spent[name]),
                most_in_words(rest),
            )
            yield (f"{mark} {composition}, {sign}", *sums)


def render_inspection(seen: Inspection, screen: Screen) -> str:
    """Return an inspection as text: how a source would be read, what is in it, and the command that
    mines it.
    """
    exactly = "For your eyes only: this shows data and exact counts. It spends no budget."
    parts: list[RenderableType] = [Text(exactly, style="bold")]
    notes = [printable(Marked(note).spelled(option)) for note in seen.marked_notes]
    if seen.has_single_items_only:
        parts.append(Text(notes.pop(0), style="bold"))
    parts.append(Text(printable(f"{seen.source}: {seen.read_as}.")))
    if seen.columns:
        found = seen.columns
        rows = [(one.name, one.type, one.role or "–", ", ".join(one.examples)) for one in found]
        cells, heads = (
            [[*map(printable, row)] for row in rows],
            ("column", "type", "read as", "first values"),
        )
        parts.append(
            _grid(
                heads, cells, text=range(4), style=lambda place: "" if found[place].role else "dim"
            )
        )
    parts += map(Text, [*map(printable, _figures(seen)), *notes])
    if seen.users is not None and seen.items_per_user is not None:
        typical = max(1.0, seen.items_per_user)
        gain = planning.usual_list_gain(seen.users, user_items=typical, among=max(1, seen.items))
        if gain is not None:
            parts.append(Text(Marked(gain.marked).spelled(option)))
    parts.append(Text(f"To mine it: {printable(command_for(seen))}", style="bold"))
    return screen.render(parts)


def command_for(seen: Inspection) -> str:
    """Return the command that mines a file as it was read, or, for what is in memory, the call."""
    if seen.in_memory:
        return seen.call
    source = (
        f"./{seen.source}" if seen.source.startswith("-") and seen.source != "-" else seen.source
    )
    command = ["fim-private", "mine", source]
    for name, value in seen.options.items():
        word = option(name)
        if isinstance(value, bool):
            command.append(word if value else f"--no-{word.removeprefix('--')}")
        elif isinstance(value, int):
            command += [word, str(value)]
        else:
            command += [
                one
                for each in ([value] if isinstance(value, str) else value)
                for one in (word, each)
            ]
    return command_line(command)


def _figures(seen: Inspection) -> Iterator[str]:
    users = "" if seen.users is None else f", {seen.users:,} users"
    empty = f" ({seen.empty_baskets:,} of them without items)" if seen.empty_baskets else ""
    yield (
        f"{seen.rows:,} rows, {seen.baskets:,} baskets{empty}{users}, {seen.items:,} different "
        f"items."
    )
    lengths = seen.basket_lengths
    if seen.items:
        yield (
            f"A basket has {lengths['min']:,.0f} to {lengths['max']:,.0f} different items "
            f"(median {lengths['median']:,.1f}, mean {lengths['mean']:,.1f})."
        )
        yield f"The most frequent items: {', '.join(map(item_name, seen.example_items))}."
        baskets = [
            [*basket, *["…"] * (len(basket) == EXAMPLE_ITEMS)] for basket in seen.example_baskets
        ]
        yield f"The first baskets: {'; '.join(map(in_braces, baskets))}."
    if seen.last_rows:
        rows = "; ".join(map(in_braces, seen.last_rows))
        yield f"The last rows: {rows}." + (
            " If one is a total, leave it out with --where." if seen.columns else ""
        )


def render_audit(reports: Sequence[AuditReport], screen: Screen) -> str:
    """Return audits as text: for each the verdict, a table of what was found, and how much was
    tried.
    """
    parts: list[RenderableType] = []
    for report in reports:
        guarantee = (
            f"ε = {least_in_words(report.epsilon)}, δ = {least_in_words(report.delta)}, "
            f"{report.neighbors}"
        )
        verdict = "every guarantee holds" if report.holds else "A GUARANTEE IS BROKEN"
        parts.append(Text(f"{report.mechanism} ({guarantee}): {verdict}", style="bold"))
        rows = []
        for finding in (report.whole, *report.stages):
            used = (
                rounded_up(finding.divergence, 3)
                if finding.divergence > report.numerical_error
                else "0"
            )
            share = "-" if finding.share is None else rounded_up(finding.share, 2)
            pair = f"{' '.join(map(str, finding.one))} → {' '.join(map(str, finding.two))}"
            pair += f" ({finding.setting})" if finding.setting else ""
            figures = (
                least_in_words(finding.epsilon),
                least_in_words(finding.delta),
                used if finding.holds else f"{used} !",
                share,
            )
            rows.append((finding.name, *figures, pair))
        columns = (
            "guarantee",
            "ε",
            "δ",
            "δ used",
            "share of δ",
            ("worst neighbours, supports by itemset"),
        )
        parts.append(_grid(columns, rows, text=(0, 5)))
        error = rounded_up(report.numerical_error, 3)
        parts.append(
            Text(f"{report.pairs:,} pairs of neighbours, both ways; numerical error below {error}.")
        )
    return screen.render(parts, plain_width=132)  # pairs of neighbours are long
