"""The readable form of audits."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fim_private.dp.cost import at_least, rounded_up

if TYPE_CHECKING:
    from fim_private.auditing.audit import AuditReport, Finding

_PLAIN_WIDTH = 132


def render_audit(reports: Sequence[AuditReport], *, colour: bool, ascii_only: bool) -> str:
    """Return the audits as text. colour: for a terminal. ascii_only: for an output that has no Greek letters."""
    from rich.box import ASCII, ROUNDED
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=colour, no_color=not colour, width=None if colour else _PLAIN_WIDTH)
    for report in reports:
        promise = f"ε = {at_least(report.epsilon)}, δ = {at_least(report.delta)}, {report.neighbors}"
        verdict = "every promise was kept" if report.holds else "A PROMISE IS BROKEN"
        console.print(Text(f"{report.mechanism} ({promise}): {verdict}", style="bold"), soft_wrap=True)
        table = Table(box=ASCII if ascii_only else ROUNDED)
        for name, justify in (("promise", "left"), ("ε", "right"), ("δ", "right"), ("δ used", "right")):
            table.add_column(name, justify="right" if justify == "right" else "left")
        table.add_column("share of δ", justify="right")
        table.add_column("worst neighbours, supports by itemset", overflow="fold")
        for finding in (report.whole, *report.stages):
            share = "-" if finding.share is None else rounded_up(finding.share, 2)
            table.add_row(
                finding.name,
                at_least(finding.epsilon),
                at_least(finding.delta),
                _used(finding, report.numerical_error) + ("" if finding.holds else " !"),
                share,
                Text(_pair(finding)),
            )
        console.print(table)
        console.print(
            Text(f"{report.pairs:,} pairs of neighbours, both ways; numerical error below {report.numerical_error:g}."),
            soft_wrap=True,
        )
    text = stream.getvalue()
    return text.replace("ε", "epsilon").replace("δ", "delta").replace("→", "->") if ascii_only else text


def _used(finding: Finding, numerical_error: float) -> str:
    return rounded_up(finding.divergence, 3) if finding.divergence > numerical_error else "0"


def _pair(finding: Finding) -> str:
    setting = f" ({finding.setting})" if finding.setting else ""
    return f"{' '.join(map(str, finding.one))} → {' '.join(map(str, finding.two))}{setting}"
