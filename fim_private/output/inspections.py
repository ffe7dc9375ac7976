"""How a source would be read, as text for a screen, and the command that mines it."""

from collections.abc import Iterator

from fim_private.display import command_line, in_braces, item_name, printable
from fim_private.errors import Marked
from fim_private.options import option_name
from fim_private.output.screen import Block, Grid, Screen, bold
from fim_private.planning.forecast import usual_list_gain
from fim_private.reading.inspection import EXAMPLE_ITEMS, Inspection


def render_inspection(seen: Inspection, screen: Screen) -> str:
    """Return an inspection as text: how a source would be read, its content, and the command."""
    exactly = "For your eyes only: this shows data and exact counts. It spends no budget."
    blocks: list[Block] = [bold(exactly)]
    notes = [printable(Marked(note).spelled(option_name)) for note in seen.marked_notes]
    if seen.has_single_items_only:
        blocks.append(bold(notes.pop(0)))
    blocks.append(printable(f"{seen.source}: {seen.read_as}."))
    if seen.columns:
        blocks.append(_columns(seen))
    blocks += [*map(printable, _figures(seen)), *notes]
    if seen.users is not None and seen.items_per_user is not None:
        typical = max(1.0, seen.items_per_user)
        gain = usual_list_gain(seen.users, typical, max(1, seen.items))
        if gain is not None:
            blocks.append(gain.spelled(option_name))
    blocks.append(bold(f"To mine it: {printable(command_for(seen))}"))
    return screen.render(blocks)


def _columns(seen: Inspection) -> Grid:
    """Return the table of columns, those that are not read dim."""
    rows = []
    styles = []
    for column in seen.columns:
        cells = (column.name, column.type, column.role or "–", ", ".join(column.examples))
        rows.append([*map(printable, cells)])
        style = "" if column.role else "dim"
        styles.append(style)
    headings = ("column", "type", "read as", "first values")
    return Grid(headings, rows, text=range(4), styles=styles)


def command_for(seen: Inspection) -> str:
    """Return the command that mines a file as it was read, or, for what is in memory, the call."""
    if seen.in_memory:
        return seen.call
    source = seen.source
    if source.startswith("-") and source != "-":  # it would be read as an option
        source = f"./{source}"
    command = ["fim-private", "mine", source]
    for name, value in seen.options.items():
        word = option_name(name)
        if value is True:
            command.append(word)
        elif value is False:
            command.append(f"--no-{word.removeprefix('--')}")
        elif isinstance(value, list | tuple):
            for element in value:
                command += [word, element]
        else:
            command += [word, str(value)]
    return command_line(command)


def _figures(seen: Inspection) -> Iterator[str]:
    """Yield sentences with the exact counts, and examples."""
    baskets = f"{seen.baskets:,} baskets"
    if seen.empty_baskets:
        baskets += f" ({seen.empty_baskets:,} of them without items)"
    if seen.users is not None:
        baskets += f", {seen.users:,} users"
    yield f"{seen.rows:,} rows, {baskets}, {seen.items:,} different items."
    if seen.items:
        lengths = seen.basket_lengths
        yield (
            f"A basket has {lengths['min']:,.0f} to {lengths['max']:,.0f} different items "
            f"(median {lengths['median']:,.1f}, mean {lengths['mean']:,.1f})."
        )
        yield f"The most frequent items: {', '.join(map(item_name, seen.example_items))}."
        examples = []
        for basket in seen.example_baskets:
            items = [*basket]
            if len(items) == EXAMPLE_ITEMS:
                items.append("…")
            examples.append(in_braces(items))
        yield f"The first baskets: {'; '.join(examples)}."
    if seen.last_rows:
        last = f"The last rows: {'; '.join(map(in_braces, seen.last_rows))}."
        if seen.columns:
            last += " If one is a total, leave it out with --where."
        yield last
