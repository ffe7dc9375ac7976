"""The readable form of an inspection: how a source would be read, what is in it, and the command that mines it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from fim_private.errors import Marked
from fim_private.output.console import Screen, option
from fim_private.planning.product_list import usual_list_gain
from fim_private.reading.inspection import EXAMPLE_ITEMS, Inspection


def render_inspection(seen: Inspection, screen: Screen) -> str:
    """Return an inspection as text."""
    return screen.render(_parts(seen))


def _parts(seen: Inspection) -> Iterator[Table | Text]:
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
