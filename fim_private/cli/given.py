"""How a parameter got its value: typed, from the environment, from a file of options, or by default."""

from __future__ import annotations

import os
from typing import Any

from fim_private.errors import ParameterError

PREFIX = "FIM_PRIVATE"
# Where a context keeps what no command takes as an argument: --config and --quiet.
_KEPT = "fim_private."
# Never from a file or the environment.
_TYPED_ONLY = ("help",)


def key_of(given: Any) -> str | None:
    """Return what a parameter is called in a file of options: an option without its dashes, FILE as file.

    None for what must be typed: help, and an option made with allow_from_autoenv=False (a seed, which makes a release
    predictable: nobody is to get that from a file or a variable that they forgot).
    """
    return None if given.name in _TYPED_ONLY or is_typed_only(given) else spelled_key(given)


def spelled_key(given: Any) -> str:
    """Return the key of a parameter, whether or not it may be used."""
    if given.param_type_name == "argument":
        return str(given.human_readable_name).lower().replace("-", "_")
    return str(given.opts[0]).lstrip("-").replace("-", "_")


def is_typed_only(given: Any) -> bool:
    """Tell whether an option is taken from the command line alone."""
    return given.param_type_name == "option" and not given.allow_from_autoenv


def path_of(context: Any) -> list[str]:
    """Return the names that lead to the command of a context: of `fim-private budget show` these two."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return names


def variable_of(given: Any, path: list[str]) -> str | None:
    """Return the environment variable of a parameter of the command with a path; None where there is none."""
    key = key_of(given)
    return None if key is None else "_".join([PREFIX, *path, key]).upper().replace("-", "_")


def check_variables(context: Any) -> None:
    """Raise ParameterError for a variable that is set, by its name for the command of a context, and is none of its."""
    path = path_of(context)
    prefix = "_".join([PREFIX, *path, ""]).upper()
    known = {variable_of(given, path): given for given in context.command.params}
    typed = {f"{prefix}{spelled_key(given).upper()}": given for given in context.command.params if is_typed_only(given)}
    for name in sorted(os.environ):
        if not name.startswith(prefix) or not os.environ[name] or name in known:
            continue
        if name in typed:
            raise ParameterError(
                f"{name!r} is not taken from the environment: type {typed[name].opts[0]} where you mean it"
            )
        raise ParameterError(
            f"the environment variable {name!r} is no option of fim-private {' '.join(path)}; unset it"
        )


def keep(context: Any, given: Any, value: Any) -> None:
    """Keep the value of a parameter that no command takes as an argument."""
    context.meta[_KEPT + given.name] = value


def kept(context: Any, name: str) -> Any:
    """Return what was kept; None for nothing."""
    return context.meta.get(_KEPT + name)


def source_of(context: Any, name: str) -> str:
    """Return COMMANDLINE, ENVIRONMENT, DEFAULT_MAP (a file of options) or DEFAULT."""
    return str(getattr(context.get_parameter_source(name), "name", "DEFAULT"))


def is_given(context: Any, name: str) -> bool:
    """Tell whether somebody said a parameter's value, wherever."""
    return source_of(context, name) != "DEFAULT"


def origin(context: Any, name: str) -> str | None:
    """Return where the value of a parameter of a context was said, if it was not typed: a variable or a file's key."""
    source = source_of(context, name)
    if source == "ENVIRONMENT":
        return next((str(given.envvar) for given in context.command.params if given.name == name), None)
    file = kept(context, "config")
    return file.places.get(name) if source == "DEFAULT_MAP" and file is not None else None
