"""Association rules as a readable table."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fim_private.mining.release import Release
from fim_private.mining.release_rules import rules_cells, rules_note
from fim_private.rules.association import Rules


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
