"""Help for screens that are too narrow for two columns: each option above what is said of it, no word broken."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

# From this width on, in characters, the parser's own help breaks no word.
WIDE_ENOUGH = 80
_FEWEST_COLUMNS = 20


def narrow_help(command: Any, ctx: Any, width: int) -> str:
    """Return the help of a command, or of the group of all, of the command-line parser for a width in characters."""
    columns = max(width, _FEWEST_COLUMNS)

    def wrapped(text: str, indent: str = "", more: str = "") -> str:
        return textwrap.fill(
            " ".join(text.split()),
            columns,
            initial_indent=indent,
            subsequent_indent=indent + more,
            break_long_words=False,
            break_on_hyphens=False,
        )

    lines = [wrapped(f"Usage: {ctx.command_path} {' '.join(command.collect_usage_pieces(ctx))}", more="  ")]
    lines += ["", *(wrapped(paragraph) for paragraph in _paragraphs(command.help))]
    for title, entries in _sections(command, ctx):
        lines += ["", f"{title}:"]
        for name, text in entries:
            lines += [wrapped(name, "  ", "  "), *([wrapped(text, "    ")] if text else [])]
    for paragraph in _paragraphs(command.epilog):
        lines += ["", wrapped(paragraph, more="  ")]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a help text, each as one line."""
    return [" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n") if part.strip()]


def _sections(command: Any, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the sections of a help text: titles, and in each the entries with what is said of them."""
    records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
    for param in command.get_params(ctx):
        if (record := param.get_help_record(ctx)) is not None:
            records[param.param_type_name].append(record)
    commands = [(name, " ".join(_paragraphs(each.help)[:1])) for name, each in getattr(command, "commands", {}).items()]
    for title, entries in (("Arguments", records["argument"]), ("Options", records["option"]), ("Commands", commands)):
        if entries:
            yield title, entries
