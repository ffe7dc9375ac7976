"""Ledgers as text for a screen: the entries, their sums, and how much remains."""

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from fim_private.display import printable
from fim_private.dp.accountant import Sums
from fim_private.dp.cost import least_in_words, most_in_words
from fim_private.ledger.chain import Composition
from fim_private.ledger.statement import Statement
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
        blocks.append("Nothing has been charged to it yet.")
    if len(statement.entries) > _SHOWN:
        blocks.append(f"Shown are the last {_SHOWN:,} entries. All are in --format json.")
    if verified:
        blocks.append(_VERIFIED)
    if statement.periods:
        columns = ("period", "spent", "", "left", "more like the last")
        blocks.append(Grid(columns, [*_periods(statement)], text=(0, 2)))
    blocks.append(Grid(("composition", "spent", "left", "more like the last"), [*_sums(statement)]))
    if terms.composition is Composition.ANY:
        blocks.append(dim(_ANY))
    blocks.append(statement.repeatable)
    blocks += statement.notes
    if statement.outlook is not None:
        blocks.append(bold(statement.outlook))
    return screen.render(blocks)


_VERIFIED = (
    "All of it was verified: every entry follows the one before, from the first to the last."
)
_ANY = (
    "A release is allowed if one of these has enough left for it. Gaussian composition ends "
    "with the first release that is not Gaussian."
)


# The signs of the sums.
_SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "zcdp_delta": "δ"}


def budget_in_words(statement: Statement) -> tuple[str, ...]:
    """Return what a ledger allows, what all releases so far have spent, and what is left."""
    number = len(statement.entries)
    plural = "" if number == 1 else "s"
    sentences = [
        statement.title,
        f"Charged so far: {number:,} release{plural}.",
        f"Left now: {statement.at().left.in_words}.",
        statement.repeatable,
        *statement.notes,
        statement.outlook,
    ]
    return (*filter(None, sentences),)


def _periods(statement: Statement) -> Iterator[tuple[str, ...]]:
    """Yield the row of each period: how much is spent, how much remains, and for how much."""
    for name, reach in statement.stretches:
        balance = statement.at(reach)
        composition, share = balance.roomiest
        percent = math.ceil(100 * (1 - share))
        bar = "█" * round(_BAR * (1 - share)) + "░" * round(_BAR * share)
        yield (
            name,
            f"ε {least_in_words(statement.spent_at(reach).epsilon)}",
            f"{bar} {percent} %",
            _left(composition, balance.room),
            f"{statement.more_like_last(reach) or 0:,}",
        )


def _sums(statement: Statement) -> Iterator[tuple[str, ...]]:
    """Yield the row of each composition: what is spent of its sums, and what remains."""
    balance = statement.at()
    for composition, limit in balance.limits.items():
        spent = {name: balance.spent[name] for name in limit}
        more = ""
        if statement.entries:
            times = balance.times_left(statement.entries[-1].sums)
            more = f"{int(times.get(composition, 0)):,}"
        left = _left(composition, balance.room)
        yield (str(composition), _in_words(spent, least_in_words), left, more)


def _left(composition: Composition, room: Mapping[Composition, Sums]) -> str:
    """Return what is left under a composition, in words; it has ended if that is in no room."""
    if composition not in room:
        return "ended"
    return _in_words(room[composition], most_in_words)


def _in_words(sums: Sums, written: Callable[[Fraction], str]) -> str:
    """Return amounts of sums, such as "ε 1, δ 1e-06"."""
    return ", ".join(f"{_SIGNS[name]} {written(sums[name])}" for name in _SIGNS if name in sums)
