"""The readable form of a plan for customers: a row for each neighbour relation, and how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from fim_private.output.console import Screen
from fim_private.planning.customers import NOTES, CustomerPlan


def render_customer_plan(plan: CustomerPlan, screen: Screen) -> str:
    """Return a plan as text: what was asked, the shares found without a list and with one, and notes."""
    return screen.render(_parts(plan))


def _parts(plan: CustomerPlan) -> Iterator[Table | Text]:
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
