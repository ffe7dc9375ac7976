"""Ledgers as text for a screen: the entries, their sums, and how much remains."""

from collections.abc import Iterator

from fim_private.display import printable
from fim_private.dp.cost import least_in_words, most_in_words
from fim_private.ledger.chain import Composition
from fim_private.ledger.statement import LIMITING, Statement
from fim_private.output.screen import Block, Grid, Screen, bold, dim

# A table of very many entries takes long to draw, and nobody reads it.
_SHOWN = 1_000
_BAR = 20  # characters


def render_statement(statement: Statement, screen: Screen, *, verified: bool = False) -> str:
    """Return a ledger as text: its entries, what they add up to, and how much remains.

    verified: whether all entries were verified.
    """
    terms = statement.terms
    blocks: list[Block] = [bold(statement.title), statement.protected]
    entries = statement.rows_of(statement.entries[-_SHOWN:])
    rows = [[*map(printable, cells)] for cells in entries]
    if rows:
        blocks.append(Grid(statement.columns, rows, text=(1, 2)))
    else:
        blocks.append("Nothing was charged to it yet.")
    if len(statement.entries) > _SHOWN:
        blocks.append(f"Shown are the last {_SHOWN:,} entries. All are in --format json.")
    if verified:
        blocks.append(_VERIFIED)
    if statement.periods:
        columns = ("period", "spent", "", "left", "more like the last")
        blocks.append(Grid(columns, [*_periods(statement)], text=(0, 2)))
    blocks.append(Grid(("composition", "limit", "spent", "left"), [*_sums(statement)]))
    if not terms.rho:
        blocks.append(dim("Without a δ, releases can only be added up in this way."))
    else:
        blocks.append("* This composition limits the releases. The other is shown for comparison.")
        if terms.composition is Composition.ZCDP and not statement.closed:
            most = most_in_words(statement.left.epsilon)
            blocks.append(dim(_NEXT_RELEASE.format(most)))
    blocks += statement.notes
    if statement.outlook is not None:
        blocks.append(bold(statement.outlook))
    return screen.render(blocks)


_VERIFIED = (
    "All of it was verified: every entry follows the one before, from the first to the last."
)
_NEXT_RELEASE = (
    "The next release may have an ε of up to {}, if it is charged with ρ = ε²/2. A release with "
    "--rho is charged with that ρ, and one with Gaussian noise with far less than ε²/2."
)


# The signs of the sums.
_SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "zcdp_delta": "δ"}


def _periods(statement: Statement) -> Iterator[tuple[str, ...]]:
    """Yield the row of each period: how much is spent, how much remains, and for how much."""
    loss, _ = LIMITING[statement.terms.composition]
    for name, _, reach in statement.periods:
        remaining = statement.sums_left(reach)[loss]
        share = 1 - remaining / statement.terms.limit[loss]
        bar = "█" * round(_BAR * share) + "░" * round(_BAR * (1 - share))
        yield (
            name,
            f"{100 * float(share):.0f} %",
            bar,
            f"{_SIGNS[loss]} {most_in_words(remaining)}",
            f"{statement.more_like_last(reach) or 0:,}",
        )


def _sums(statement: Statement) -> Iterator[tuple[str, ...]]:
    """Yield the row of each sum: the limit, how much is spent, and how much remains."""
    terms, left = statement.terms, statement.sums_left()
    for composition, names in LIMITING.items():
        if composition is Composition.ZCDP and not terms.rho:
            continue
        mark = "*" if composition is terms.composition else " "
        for name in names:
            yield (
                f"{mark} {composition}, {_SIGNS[name]}",
                least_in_words(terms.limit[name]),
                least_in_words(statement.spent[name]),
                most_in_words(left[name]),
            )
