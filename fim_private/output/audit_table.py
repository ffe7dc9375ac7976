"""The readable form of audits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fim_private.dp.cost import at_least, rounded_up
from fim_private.output.console import Screen

if TYPE_CHECKING:
    from fim_private.auditing.audit import AuditReport, Finding

# Wider than other tables: pairs of neighbours are long.
_PLAIN_WIDTH = 132


def render_audit(reports: Sequence[AuditReport], screen: Screen) -> str:
    """Return audits as text: for each the verdict, a table of what was found, and how much was tried."""
    parts = (part for report in reports for part in _parts(report))
    return screen.render(parts, plain_width=_PLAIN_WIDTH)


def _parts(report: AuditReport) -> Iterator[Table | Text]:
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
