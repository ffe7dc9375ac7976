"""What mechanisms need (plans), and how much of their guarantee they use (audits), as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fim_private.dp.cost import least_in_words, rounded_up
from fim_private.options import option_name
from fim_private.output.screen import Block, Grid, Screen, bold, dim
from fim_private.planning.forecast import CustomerPlan
from fim_private.planning.plan import Plan, PlannedMechanism, or_dash, percent

if TYPE_CHECKING:
    from fim_private.auditing.audit import AuditReport, Finding

_PLAN_LEGEND = (
    "A unit is a basket, or a user if users are protected. Support needed: what an itemset "
    "without rivals must have.",
    "If you ask for many, each must also lead those that are left out, by the margin.",
)
# The legend of a column, if it is shown.
_PLAN_LEGENDS = {
    "margin if\n10 tie": (
        "Margin needed: the lead over many others that are tied. Margin if 10 tie: the lead of "
        "ten tied itemsets, to find one of them."
    ),
    "mean\nregret": (
        "Mean regret: how much less support the chosen itemset has on average, at "
        "the support needed."
    ),
    "items\nneeded": (
        "Items needed: the support that each of its items must have. Figures of levelwise are "
        "estimates: of those tried, 87 % were within a factor of 1.5."
    ),
}


def render_plan(plan: Plan | CustomerPlan, screen: Screen) -> str:
    """Return a plan as text: the question, a row for each top and mechanism, and the advice."""
    title = bold(plan.title)
    if isinstance(plan, CustomerPlan):
        columns = (*plan.row_names, "without a\nproduct list", "with a\nproduct list")
        notes = map(dim, plan.notes)
        return screen.render([title, Grid(columns, plan.rows, whole=range(len(columns))), *notes])
    planned, not_planned = [], []
    for mechanism in plan.mechanisms:
        if mechanism.top > 1 and mechanism.missing:
            not_planned.append(f"{mechanism.name} ({', '.join(mechanism.missing)})")
        else:
            planned.append(mechanism)
    grid = _plan_grid(plan, planned)
    blocks: list[Block] = [title, grid, f"* {plan.reason}"]
    blocks += [gain.spelled(option_name) for gain in plan.gains]
    if not_planned:
        names = "; ".join(dict.fromkeys(not_planned))  # each once, though it lacks it for every top
        blocks.append(f"Not planned, because they need what was not given: {names}.")
    legends = [legend for column, legend in _PLAN_LEGENDS.items() if column in grid.columns]
    blocks += map(dim, [*_PLAN_LEGEND, *legends])
    return screen.render(blocks)


def _plan_grid(plan: Plan, planned: Sequence[PlannedMechanism]) -> Grid:
    """Return the table of a plan: the mechanisms of each top in turn, the best one marked."""
    best = {top: plan.best(top) for top in plan.tops}
    rows, styles, last_rows = [], [], []
    shown_top = 0
    for place, mechanism in enumerate(planned):
        mark, style = " ", ""
        if mechanism is best[mechanism.top]:
            mark, style = "*", "bold"
        elif mechanism.missing or mechanism.feasible is False:
            style = "dim"
        styles.append(style)
        top = ""
        if mechanism.top != shown_top:  # a top is shown in its first row only
            shown_top = mechanism.top
            top = f"{shown_top:,}"
            last_rows.append(place - 1)
        names = {"top": top, "mechanism": f"{mark} {mechanism.name}"}
        rows.append(names | _figures(mechanism))
    # Of one itemset there are the needs, and otherwise the tops.
    hidden = "needs"
    if plan.tops == (1,):
        hidden = "top"
    titles = [title for title in rows[0] if any(row[title] != "–" for row in rows)]
    columns = [title for title in titles if title != hidden]
    needs = len(columns) - columns.count("needs")
    return Grid(
        columns,
        [[row[title] for title in columns] for row in rows],
        text=(columns.index("mechanism"), needs),
        whole=range(needs),
        styles=styles,
        ends=last_rows,
    )


def _figures(mechanism: PlannedMechanism) -> dict[str, str]:
    """Return the figures and the needs of a mechanism, by the titles of their columns."""
    return {
        "support\nneeded": or_dash(mechanism.required_support),
        "% of\nunits": or_dash(mechanism.required_share, percent),
        "margin\nneeded": or_dash(mechanism.required_margin),
        "margin if\n10 tie": or_dash(mechanism.required_margin_tied),
        "mean\nregret": or_dash(mechanism.expected_regret, "{:,.1f}".format),
        "items\nneeded": or_dash(mechanism.item_support),
        "noise of\nsupports": or_dash(mechanism.half_width, "±{:,}".format),
        "needs": _needs_in_words(mechanism),
    }


def _needs_in_words(mechanism: PlannedMechanism) -> str:
    """Return the public parameters that a mechanism needs: those that were given come first."""
    available = [need for need in mechanism.needs if need not in mechanism.missing]
    lacking = [f"{need} (not given)" for need in mechanism.needs if need in mechanism.missing]
    return ", ".join(available + lacking) or "nothing"


def render_audit(reports: Sequence[AuditReport], screen: Screen) -> str:
    """Return audits as text: each verdict, a table of guarantees, and how much was tried."""
    blocks: list[Block] = []
    for report in reports:
        guarantee = (
            f"ε = {least_in_words(report.epsilon)}, δ = {least_in_words(report.delta)}, "
            f"{report.neighbors}"
        )
        verdict = "every guarantee holds" if report.holds else "A GUARANTEE IS BROKEN"
        error = rounded_up(report.numerical_error, 3)
        tried = f"{report.pairs:,} pairs of neighbours, both ways; numerical error below {error}."
        findings = (report.whole, *report.stages)
        rows = [_finding_cells(finding, report.numerical_error) for finding in findings]
        blocks += [
            bold(f"{report.mechanism} ({guarantee}): {verdict}"),
            Grid(_AUDIT_COLUMNS, rows, text=(0, 5)),
            tried,
        ]
    return screen.render(blocks, plain_width=132)  # pairs of neighbours are long


_AUDIT_COLUMNS = (
    "guarantee",
    "ε",
    "δ",
    "δ used",
    "share of δ",
    "worst neighbours, supports by itemset",
)


def _finding_cells(finding: Finding, numerical_error: float) -> tuple[str, ...]:
    """Return the row of a guarantee: what was promised, how much is used, and on which pair."""
    used = "0"
    if finding.divergence > numerical_error:
        used = rounded_up(finding.divergence, 3)
    if not finding.holds:
        used += " !"
    share = "-"
    if finding.share is not None:
        share = rounded_up(finding.share, 2)
    pair = f"{' '.join(map(str, finding.one))} → {' '.join(map(str, finding.two))}"
    if finding.setting:
        pair += f" ({finding.setting})"
    promised = least_in_words(finding.epsilon), least_in_words(finding.delta)
    return (finding.name, *promised, used, share, pair)
