"""The command that was typed, with some options changed: for whoever copies it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from enum import Enum
from fractions import Fraction
from typing import Any

import typer

from fim_private.reading.addresses import shown_source


def retyped(context: typer.Context, changes: Mapping[str, Any]) -> str:
    """Return the command of a context as it was typed, but for what changes: parameters and their values.

    False or None leaves an option out. What was not typed, and is not changed, stays away.
    """
    words = [str(context.find_root().info_name or "fim-private"), str(context.info_name)]
    return " ".join([*words, *map(shlex.quote, _words(context, changes))])


def _words(context: Any, changes: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arguments and options, each as it is typed."""
    for given in context.command.params:
        if given.name in changes:
            value = changes[given.name]
        elif getattr(context.get_parameter_source(given.name), "name", None) == "COMMANDLINE":
            value = context.params[given.name]
            if value is False and given.secondary_opts:
                yield given.secondary_opts[0]
        else:
            continue
        if value is None or value is False:
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            if given.param_type_name == "option":
                yield given.opts[0]
            if each is not True:
                yield _typed(each)


def _typed(value: Any) -> str:
    """Return a value as text; an address without its password."""
    if isinstance(value, Fraction):
        return f"{float(value):g}"
    return shown_source(str(value.value if isinstance(value, Enum) else value))
