"""The command that was typed, with some options changed: for whoever copies it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from enum import Enum
from fractions import Fraction
from typing import Any

import typer

from fim_private.cli.given import kept, path_of, source_of
from fim_private.reading.addresses import shown_source


def retyped(context: typer.Context, changes: Mapping[str, Any]) -> str:
    """Return the command of a context as it was given, but for what changes: parameters and their values.

    False or None leaves an option out. What nobody gave, and is not changed, stays away. What the environment gave is
    typed. A file of options is named again; where it says what is to be left out, its other options are typed instead.
    A variable that says so is emptied in front of the command.
    """
    emptied, words = _retyped(context, changes)
    start = [str(context.find_root().info_name or "fim-private"), *path_of(context)]
    return " ".join([*(f"{name}=" for name in emptied), *start, *map(shlex.quote, words)])


def _retyped(context: Any, changes: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the environment's variables that must be empty, and the arguments and options as they are typed."""
    file = kept(context, "config")
    typed, emptied = {}, []
    for given in context.command.params:
        name, source = given.name, source_of(context, given.name)
        if name in changes or source not in ("DEFAULT", "DEFAULT_MAP"):
            value = changes[name] if name in changes else _value(context, given)
            typed[name] = [*_words(given, value, is_changed=name in changes)]
            if name in changes and source == "ENVIRONMENT" and not typed[name]:
                emptied.append(str(given.envvar))
    if file is not None:
        # Nothing that is typed can take away what the file says.
        if all(typed.get(name, True) for name in file.values):
            typed["config"] = ["--config", file.name]
        else:
            typed["config"] = []
            for given in context.command.params:
                if given.name == "config" and source_of(context, "config") == "ENVIRONMENT":
                    emptied.append(str(given.envvar))
                elif given.name in file.values and given.name not in typed:
                    typed[given.name] = [*_words(given, _value(context, given))]
    return emptied, [word for given in context.command.params for word in typed.get(given.name, [])]


def _value(context: Any, given: Any) -> Any:
    """Return the value of a parameter."""
    return context.params.get(given.name, kept(context, given.name))


def _words(given: Any, value: Any, *, is_changed: bool = False) -> Iterator[str]:
    """Yield a parameter as it is typed: nothing where it is to be left out."""
    if value is False and given.secondary_opts and not is_changed:
        yield given.secondary_opts[0]
    if value is None or value is False:
        return
    for part in value if isinstance(value, list | tuple) else [value]:
        if given.param_type_name == "option":
            yield given.opts[0]
        if part is not True:
            yield _typed(part)


def _typed(value: Any) -> str:
    """Return a value as text; an address without its password."""
    if isinstance(value, Fraction):
        return f"{float(value):g}"
    return shown_source(str(value.value if isinstance(value, Enum) else value))
