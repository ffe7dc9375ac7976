"""The readable form of a ledger: its entries, what they add up to under each composition, and what is left."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from fim_private.dp.cost import at_least, at_most
from fim_private.glance import printable
from fim_private.ledger.statement import Statement
from fim_private.ledger.terms import Composition
from fim_private.output.console import Screen

# A table of very many entries takes long to draw, and nobody reads it.
_SHOWN = 1_000


def render_created(statement: Statement, screen: Screen) -> str:
    """Return what is said of a new ledger."""
    return screen.render([Text(f"Created {printable(statement.name)}. {statement.title}"), Text(statement.protected)])


def render_statement(statement: Statement, screen: Screen, *, verified: bool = False) -> str:
    """Return a ledger as text. verified: whether all of its entries were."""
    return screen.render(_parts(statement, verified))


def _parts(statement: Statement, verified: bool) -> Iterator[Table | Text]:
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
