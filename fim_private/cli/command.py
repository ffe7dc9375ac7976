"""What all commands have: files of options, environment variables, help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer import Exit, echo
from typer.core import TyperCommand, TyperGroup, TyperOption

from fim_private.cli.given import (
    answer_shells,
    check_variables,
    is_typed_only,
    keep,
    kept,
    key_of,
    path_of,
    read_plainly,
    spelled_key,
    takes_numbers,
    variable_of,
)
from fim_private.cli.options import silence
from fim_private.cli.writing import is_same_file
from fim_private.errors import DataError, OutputError, ParameterError, parameter, shown

# -------------------- options file
# A file of options (TOML), which --config names: which keys it may have, and what they say to a command.

# No file of options is larger, in bytes.
_LARGEST = 1 << 20


@dataclass(frozen=True)
class OptionsFile:
    """What a file says to one command.

    name: of the file, as it was typed. values: by parameter, as they would be typed; flags as true and false.
    places: by parameter, which key of which table of which file it is.
    """

    name: str
    values: Mapping[str, Any]
    places: Mapping[str, str]


@dataclass(frozen=True)
class _Key:
    """A key of a file, with its value. path: of the table that it is in."""

    file: str
    path: tuple[str, ...]
    name: str
    value: Any

    def __str__(self) -> str:
        table = f" of table [{'.'.join(self.path)}]" if self.path else ""
        return f"key {shown(self.name)}{table} in {shown(self.file)}"

    @property
    def plain(self) -> str:
        """The key with underscores, however it was spelled."""
        return self.name.replace("-", "_")


def read_options(name: str, context: Any) -> OptionsFile:
    """Return what a file says to the command of a context: its table, and above all tables what holds for all.

    A table is named as its command ([mine], [budget.create]), and wins over a key above all tables, which holds for
    every command that has such an option, but for those in groups. Tables of other commands are checked, too.
    Raises DataError for what cannot be read as TOML, ParameterError for keys and values that mean nothing.
    """
    root, path = context.find_root().command, tuple(path_of(context))
    keys = list(_keys(name, _tables(name), root))
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    for key in sorted(keys, key=lambda key: len(key.path)):  # a table's after those above all tables
        if key.path == path or (not key.path and len(path) == 1):
            given = _parameter(key, context.command, optional=not key.path)
            if given is None:
                continue
            if str(given.name) in values and key.path == ():
                raise ParameterError(f"{key} is there twice, with dashes and with underscores; leave one")
            values[given.name], places[given.name] = _as_typed(key, given), str(key)
    return OptionsFile(name, values, places)


def _tables(name: str) -> dict[str, Any]:
    """Return a file of TOML as Python has it. Raises DataError."""
    import tomllib

    from fim_private.reading.files import file_errors

    with file_errors(Path(name)), Path(name).expanduser().open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise DataError(f"{shown(name)} is too long for a file of options; it has at most 1 MiB")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise DataError(f"{shown(name)} is no TOML: it is not UTF-8; write it again as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{shown(name)} is no TOML: {' '.join(str(error).split())}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, a list in thousands of others
        raise DataError(
            f"{shown(name)} is no TOML that can be read: it is too deep, or has too long a number"
        ) from None


def _keys(file: str, table: Mapping[str, Any], group: Any, path: tuple[str, ...] = ()) -> Iterator[_Key]:
    """Yield all keys of the tables of a group of commands; each is one that means something where it stands."""
    for name, value in table.items():
        if isinstance(value, dict):
            command = group.commands.get(name)
            if command is None:
                known = ", ".join(f"[{'.'.join([*path, other])}]" for other in group.commands)
                raise ParameterError(f"{shown(file)} has a table {shown(name)}, which is no command; there are {known}")
            if hasattr(command, "commands"):
                yield from _keys(file, value, command, (*path, name))
            else:
                yield from _command_keys(file, value, command, (*path, name))
            continue
        key = _Key(file, path, name, value)
        commands = [] if path else [each for each in group.commands.values() if not hasattr(each, "commands")]
        if not any(_parameter(key, command, optional=True, typed_only=True) for command in commands):
            raise _unknown(key, {other: None for command in commands for other in _names(command)})
        yield key


def _command_keys(file: str, table: Mapping[str, Any], command: Any, path: tuple[str, ...]) -> Iterator[_Key]:
    """Yield the keys of a command's table."""
    seen = set()
    for name, value in table.items():
        key = _Key(file, path, name, value)
        given = _parameter(key, command)
        if key.plain in seen:
            raise ParameterError(f"{key} is there twice, with dashes and with underscores; leave one")
        seen.add(key.plain)
        _as_typed(key, given)
        yield key


def _names(command: Any) -> list[str]:
    """Return the keys that the table of a command may have."""
    return [name.replace("_", "-") for given in command.params if (name := key_of(given)) not in (None, "config")]


def _parameter(key: _Key, command: Any, *, optional: bool = False, typed_only: bool = False) -> Any:
    """Return the parameter that a key is of, in a command.

    optional: return None where it has none. typed_only: return what must be typed, too, instead of refusing it.
    """
    for given in command.params:
        if given.name not in ("config", "help") and spelled_key(given) == key.plain:
            if is_typed_only(given) and not typed_only:
                raise ParameterError(f"{key} is not taken from a file: type {given.opts[0]} where you mean it")
            return given
    if optional:
        return None
    raise _unknown(key, _names(command))


def _unknown(key: _Key, names: Any) -> ParameterError:
    """Return the error for a key that means nothing, with the one that may be meant."""
    from difflib import get_close_matches

    near = get_close_matches(key.name.replace("_", "-"), list(names), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "fim-private COMMAND --help lists what there is"
    return ParameterError(f"{key} is no option; {hint}")


def _as_typed(key: _Key, given: Any) -> Any:
    """Return the value of a key as it would be typed for a parameter: text, texts of one that takes several, a flag."""
    if getattr(given, "is_flag", False):
        if not isinstance(key.value, bool):
            raise ParameterError(f"{key} must be true or false, not {_kind(key.value)}")
        return key.value
    if getattr(given, "multiple", False) or given.nargs != 1:
        return [_text(key, given, part) for part in (key.value if isinstance(key.value, list) else [key.value])]
    return _text(key, given, key.value)


def _text(key: _Key, given: Any, value: Any) -> str:
    """Return one value as it would be typed."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if takes_numbers(given):
        if not is_number:
            raise ParameterError(f"{key} must be a number, not {_kind(value)}")
    elif not is_number and not isinstance(value, str):
        raise ParameterError(f"{key} must be a text, or a number, not {_kind(value)}")
    if isinstance(value, str) and "\0" in value:
        raise ParameterError(f"{key} has a NUL in it; leave it out")
    return str(value)


def _kind(value: Any) -> str:
    """Return the kind of a value, in TOML's words."""
    kinds = {bool: "a truth value", str: "a text", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or a time")


# -------------------- command
# What commands have in common: --config, --quiet, options from the environment, plain numbers, help for any screen.

USAGE_ERROR = 2
# Where the object that all contexts share holds the one whose parameters are read: who shows an error asks it.
CONTEXT = "fim_private.context"
# What help texts gather their options under.
_EVERY = "Every command"


class Command(TyperCommand):
    """A command whose options may also stand in a file or in the environment, and whose numbers are plain."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params += [_config(), _quiet()]
        for given in self.params:
            given.show_envvar = False  # type: ignore[attr-defined]  # a line for each would double every help
            read_plainly(given)
            if given.name == "basket":  # the variable named one column before, with spaces in its name: now one a line
                given.type = copy(given.type)
                given.type.envvar_list_splitter = "\n"  # type: ignore[misc]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed, and take what was not from the environment and the file."""
        if isinstance(ctx.obj, dict):
            ctx.obj[CONTEXT] = ctx
        path = path_of(ctx)
        for given in self.params:
            given.envvar = variable_of(given, path)
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            check_variables(ctx)
            _check_outputs(ctx)
        return rest


class Group(TyperGroup):
    """A group of commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed. Where that is nothing, the help is shown, and it is an error."""
        if not args and not ctx.resilient_parsing:
            if text := ctx.get_help():  # on a wide screen it is shown already
                echo(text)
            raise Exit(USAGE_ERROR)
        return list(super().parse_args(ctx, args))

    def _main_shell_completion(self, *arguments: Any, **settings: Any) -> None:
        answer_shells()
        super()._main_shell_completion(*arguments, **settings)


def _config() -> Any:
    """Return the option --config."""
    return TyperOption(
        param_decls=["--config"],
        type=str,
        metavar="FILE",
        help='A file of options (TOML): min-support = "2%" in the table of this command, or above all tables for every '
        "command. What is typed wins, then the environment (FIM_PRIVATE_COMMAND_OPTION).",
        show_default=False,
        expose_value=False,
        rich_help_panel=_EVERY,
        is_eager=True,  # before all that may be in it
        callback=_read_config,
    )


def _quiet() -> Any:
    """Return the option --quiet."""
    return TyperOption(
        param_decls=["--quiet"],
        type=bool,
        is_flag=True,
        default=False,
        help="Say nothing on standard error but errors: no progress, no warnings, not as what a file was read.",
        show_default=False,
        rich_help_panel=_EVERY,
        expose_value=False,
        callback=_be_quiet,
    )


def _check_outputs(ctx: Any) -> None:
    """Raise OutputError where an output would overwrite the file of options."""
    file = kept(ctx, "config")
    for name, value in ctx.params.items() if file is not None else ():
        if isinstance(value, Path) and is_same_file(value, file.name):
            raise OutputError(
                f"cannot write {str(value)!r}: it is {parameter('config')}; choose another {parameter(name)}"
            )


def _read_config(ctx: Any, given: Any, value: str | None) -> str | None:
    """Take a file's values as defaults of a context."""
    if value is not None and not ctx.resilient_parsing:
        options = read_options(value, ctx)
        keep(ctx, given, options)
        ctx.default_map = dict(options.values)
    return value


def _be_quiet(ctx: Any, given: Any, value: bool) -> bool:
    """Say nothing but errors, if that is wanted."""
    if not ctx.resilient_parsing:
        keep(ctx, given, value)
        silence(value)
    return value
