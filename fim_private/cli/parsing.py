"""Commands made of declared options, which may also stand in a file (--config) or in the
environment.
"""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from fim_private.cli.writing import is_same_file, output_path, silence
from fim_private.display import command_line
from fim_private.errors import DataError, OutputError, ParameterError, parameter, shown
from fim_private.options import option_name
from fim_private.options.declaration import Option, options_of

USAGE_ERROR = 2
# Where the object that all contexts share has the one whose parameters are read: who shows an error
# asks it.
CONTEXT = "fim_private.context"
# Where a context has what no command takes as an argument: --config, as its name and the places of
# its keys; --quiet.
CONFIG, PLACES, QUIET = "fim_private.config", "fim_private.places", "fim_private.quiet"
JSON = "fim_private.json"
# No file of options is larger, in bytes.
_LARGEST = 1 << 20
# Classes of typer's parser, whose module differs between its versions. A parameter is an option or
# an argument.
Context = Any
Parameter = Any
Callback = Callable[[Context, Parameter, Any], object]


def command(group: typer.Typer, *kinds: type, epilog: str) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that makes a function a command of a group: budget_show is `budget show`.

    kinds: the classes that declare its options, which the function takes as **asked.
    """

    def decorated(function: Callable[..., None]) -> object:
        name = function.__name__
        parameters = [
            argument
            for argument in inspect.signature(function, eval_str=True).parameters.values()
            if argument.kind is not argument.VAR_KEYWORD
        ]
        for option_key, option in options_of(*kinds).items():
            if not option.only_in_python:
                parameters.append(_parameter(option_key, option))
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return group.command(
            name.rpartition("_")[2],
            cls=Command,
            epilog=epilog,
            context_settings={"auto_envvar_prefix": f"FIM_PRIVATE_{name.upper()}"},
        )(function)

    return decorated


_METAVARS = {int: "N", float: "NUMBER", Path: "FILE"}


def _parameter(name: str, option: Option) -> inspect.Parameter:
    """Return an option as a parameter that typer reads."""
    typed, default = option.typed, option.default
    if default is ...:
        default = inspect.Parameter.empty
    elif default is None:
        typed |= None
    elif typed is str:
        default = str(default)
    values = option.values

    def completed() -> Sequence[str]:
        if isinstance(values, str):
            return registry_names()[values]
        return values

    declared = typer.Option(
        option.spelled or option_name(name),
        help=option.help,
        metavar=option.metavar or _METAVARS.get(option.typed),
        autocompletion=completed if values else None,
        show_default=option.shown,
        show_envvar=False,  # a line for each would double every help
        allow_from_autoenv=not option.must_be_typed,
        parser={Path: output_path, int: whole, float: number}.get(option.typed),
        rich_help_panel=option.panel,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[typed, declared],
    )


def whole(text: object) -> int:
    """Return the whole number that was typed, in plain digits: Python itself would take 1_0 and ١,
    too.
    """
    if re.fullmatch(r"[+-]?[0-9]{1,4000}", str(text)):
        return int(str(text))
    raise typer.BadParameter(f"must be a whole number, not {shown(text)}")


def number(text: object) -> float:
    """Return the number that was typed, in plain digits; no infinity and no NaN."""
    plain = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", str(text))
    if plain and math.isfinite(float(plain[0])):
        return float(plain[0])
    raise typer.BadParameter(f"must be a number such as 0.5 or 1e-6, not {shown(text)}")


def registry_words() -> dict[str, str]:
    """Return what help says of mechanisms, by the names in braces that stand for it."""
    from fim_private.mechanisms.registry import MECHANISMS, BasketCap, RankCap, UniverseNeed, single
    from fim_private.options import MAX_RANK

    specs = MECHANISMS.values()
    need_cap = [spec.name for spec in specs if spec.basket_cap is BasketCap.NEEDED]
    may_cap = [spec.name for spec in specs if spec.basket_cap is BasketCap.OPTIONAL]
    listed = [spec.name for spec in specs if spec.universe is not UniverseNeed.UNKNOWN]
    unlisted = [name for name in MECHANISMS if name not in (*listed, *need_cap)]
    capped = [f"{name} (with --max-basket)" for name in need_cap if name not in listed]
    without_list = ", ".join(unlisted + capped)
    ranked = [spec for spec in specs if spec.rank_cap is not RankCap.NONE]
    searching = " and ".join(spec.name for spec in ranked if spec.searches)
    choosing = " and ".join(spec.name for spec in ranked if not spec.searches)
    return {
        "mechanisms": f"auto, or without a list: {without_list}; over one: {', '.join(listed)}",
        "ranked": (
            f"the rank search of {searching} ({MAX_RANK:,}), or on the candidates of "
            f"{choosing} ({MAX_RANK:,})"
        ),
        "capped": " and ".join(need_cap + may_cap),
        "audited": ", ".join([*single()][:3]),
    }


def registry_names() -> dict[str, list[str]]:
    """Return the names of mechanisms that shells complete, for `mine` and for `audit`."""
    from fim_private.mechanisms.registry import MECHANISMS, single

    return {"names": ["auto", *MECHANISMS], "names audited": [*single(), "all"]}


class Command(TyperCommand):
    """A command whose options may also stand in a file or in the environment."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        options: list[Parameter] = [*self.params]
        for option in options:
            option.help = re.sub(
                r"\{(\w+)\}", lambda match: registry_words()[match[1]], option.help
            )
            if option.name == "format":
                as_json = _flag("--json", "Short for --format json.", _ask_json)
                as_json.rich_help_panel = option.rich_help_panel
                as_json.allow_from_autoenv = False
                self.params.insert(options.index(option) + 1, as_json)
            elif option.name == "basket":
                # The variable named one column before, with spaces in its name: now one a line.
                option.type = copy(option.type)
                option.type.envvar_list_splitter = "\n"
        config = TyperOption(
            param_decls=["--config"],
            help=_ABOUT_CONFIG,
            metavar="FILE",
            callback=_read_config,
            is_eager=True,  # before all that is in it
            expose_value=False,
            rich_help_panel=_EVERY_COMMAND,
        )
        self.params += [config, _flag("--quiet", _ABOUT_QUIET, _be_quiet)]

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read what was typed, and take what was not from the environment and the file."""
        if isinstance(ctx.obj, dict):
            ctx.obj[CONTEXT] = ctx
        for option in self.params:
            if option.param_type_name == "argument" or key_of(option) != option.name:
                option.envvar = variable_of(ctx.auto_envvar_prefix, option)
        remaining = super().parse_args(ctx, args)
        if ctx.meta.get(JSON):
            if source_of(ctx, "format") == "COMMANDLINE" and ctx.params["format"] != "json":
                both = f"{parameter('json')} is short for {parameter('format')} json"
                raise ParameterError(f"{both}: leave one of them out")
            ctx.params["format"] = "json"
        if not ctx.resilient_parsing:
            _check_variables(ctx)
            _check_config_stays(ctx)
        return remaining

    def get_help_option(self, ctx: Context) -> Parameter:
        """Return the option --help, which must be typed."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.allow_from_autoenv = False
        return option


class Group(TyperGroup):
    """A group of commands."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read what was typed. Where that is nothing, the help is shown, and it is an error."""
        if not args and not ctx.resilient_parsing:
            text = ctx.get_help()
            if text:  # with rich it is shown already
                typer.echo(text)
            raise typer.Exit(USAGE_ERROR)
        return list(super().parse_args(ctx, args))


# The options that every command has: --config and --quiet, and --json beside --format.
_EVERY_COMMAND = "Every command"
_ABOUT_CONFIG = (
    'File of options (TOML), such as min-support = "2%", in the table of this command or above '
    "all tables. Typed options win, then the environment (FIM_PRIVATE_COMMAND_OPTION)."
)
_ABOUT_QUIET = (
    "Print only errors on standard error: no progress, no warnings, not how a file was read."
)


def _flag(name: str, about: str, callback: Callback) -> TyperOption:
    """Return a flag that a callback takes, not the function of the command."""
    return TyperOption(
        param_decls=[name],
        help=about,
        is_flag=True,
        default=False,
        callback=callback,
        expose_value=False,
        rich_help_panel=_EVERY_COMMAND,
    )


def _ask_json(ctx: Context, _: Parameter, value: bool) -> None:
    ctx.meta[JSON] = value


def _be_quiet(ctx: Context, _: Parameter, value: bool) -> None:
    if not ctx.resilient_parsing:
        ctx.meta[QUIET] = value
        silence(value)


# Where a value is from.
def key_of(option: Parameter) -> str:
    """Return what a parameter is called in a file of options: an option without its dashes, FILE as
    file.
    """
    if option.param_type_name == "argument":
        return str(option.human_readable_name).lower()
    return str(max(option.opts, key=len)).removeprefix("--").replace("-", "_")


def is_typed_only(option: Parameter) -> bool:
    """Tell whether an option is taken from the command line alone."""
    if option.param_type_name == "argument":
        return False
    return option.name == "help" or not option.allow_from_autoenv


def variable_of(prefix: str, option: Parameter) -> str:
    """Return the environment variable of a parameter."""
    return f"{prefix}_{key_of(option)}".upper().replace("-", "_")


def source_of(context: Context, name: str) -> str:
    """Return COMMANDLINE, ENVIRONMENT, DEFAULT_MAP (a file of options) or DEFAULT."""
    source = context.get_parameter_source(name)
    if source is None:
        return "DEFAULT"
    return str(source.name)


def origin(context: Context, name: str) -> str | None:
    """Return where the value of a parameter is from, if it was not typed: a variable or a file's
    key.
    """
    source = source_of(context, name)
    if source == "ENVIRONMENT":
        [option] = [option for option in context.command.params if option.name == name]
        return variable_of(context.auto_envvar_prefix, option)
    if source == "DEFAULT_MAP":
        return str(context.meta[PLACES][name])
    return None


def path_of(context: Context) -> list[str]:
    """Return the names that lead to the command of a context: of `fim-private budget show` these
    two.
    """
    if context.parent is None:
        return []
    return [*path_of(context.parent), str(context.info_name)]


def _check_variables(context: Context) -> None:
    """Raise ParameterError for variables that look like options of the command but are none.

    Who misspells that of --user would protect no customer.
    """
    prefix = context.auto_envvar_prefix
    known = {
        variable_of(prefix, option): option
        for option in context.command.params
        if option.name != "help"
    }
    for name in sorted(os.environ):
        if not name.startswith(f"{prefix}_") or not os.environ[name]:
            continue
        if name not in known:
            raise ParameterError(
                f"the environment variable {name!r} is no option of fim-private "
                f"{' '.join(path_of(context))}; unset it"
            )
        if is_typed_only(known[name]):
            raise ParameterError(
                f"{name!r} is not taken from the environment: type {known[name].opts[0]} where "
                f"you mean it"
            )


def _check_config_stays(context: Context) -> None:
    """Raise OutputError if an output is the file of options."""
    if CONFIG not in context.meta:
        return
    for name, value in context.params.items():
        if isinstance(value, Path) and is_same_file(value, context.meta[CONFIG]):
            raise OutputError(
                f"cannot write {str(value)!r}: it is {parameter('config')}; choose "
                f"another {parameter(name)}"
            )


@dataclass(frozen=True)
class _Key:
    """A key of a file of options.

    Attributes:
        file: The name of the file.
        table: The path of its table, such as ("budget", "create"); empty above all tables.
        name: As it is written, with dashes or underscores.
        value: A value of TOML.
        commands: The commands that may take it.
    """

    file: str
    table: tuple[str, ...]
    name: str
    value: object
    commands: Sequence[Any]

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        in_table = f" of table [{'.'.join(self.table)}]" if self.table else ""
        return f"key {shown(self.name)}{in_table} in {shown(self.file)}"


def _read_config(ctx: Context, _: Parameter, value: str | None) -> None:
    """Take what a file says to the command of a context as its defaults; tables of other commands
    are checked, too.

    A table, such as [budget.create], wins over a key above all tables, which holds for commands
    that are in no group.
    """
    if value is None or ctx.resilient_parsing:
        return
    path = tuple(path_of(ctx))
    values: dict[str, object] = {}
    places: dict[str, str] = {}
    seen: set[tuple[tuple[str, ...], str]] = set()
    for key in _keys(value, _toml(value), ctx.find_root().command):
        name = key.name.replace("-", "_")
        takers = [
            (command, option)
            for command in key.commands
            for option in command.params
            if key_of(option) == name != "config"
        ]
        if not takers:
            raise ParameterError(f"{key.place} is no option; {_near_option(key)}")
        for command, option in takers:
            if not key.table and command is not ctx.command:
                continue  # above all tables a key is for this command, if it takes it
            setting = _as_typed(key, option)
            # Keys in tables come first.
            if key.table in ((), path) and option.name not in values:
                values[option.name], places[option.name] = setting, key.place
        if (key.table, name) in seen:
            raise ParameterError(
                f"{key.place} is there twice, with dashes and with underscores; leave one"
            )
        seen.add((key.table, name))
    ctx.meta[CONFIG], ctx.meta[PLACES] = value, places
    ctx.default_map = values


def _near_option(key: _Key) -> str:
    """Return a hint at the option that a key was probably meant to be."""
    names = {
        key_of(option).replace("_", "-")
        for command in key.commands
        for option in command.params
        if not is_typed_only(option)
    }
    near = get_close_matches(key.name.replace("_", "-"), names - {"config"}, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return "fim-private COMMAND --help lists what there is"


def _toml(name: str) -> dict[str, Any]:
    """Return the tables of a file of TOML. Raises DataError."""
    import tomllib

    from fim_private.reading.files import file_errors

    with file_errors(repr(name)), Path(name).expanduser().open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise DataError(f"{shown(name)} is too long for a file of options; it has at most 1 MiB")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        why = ": it is not UTF-8; write it again as UTF-8"
    except tomllib.TOMLDecodeError as error:
        why = f": {' '.join(str(error).split())}"
    except (ValueError, RecursionError):  # a number of thousands of digits, a list in others
        why = " that can be read: it is too deep, or has too long a number"
    raise DataError(f"{shown(name)} is no TOML{why}")


def _keys(
    file: str, table: Mapping[str, Any], command: Any, path: tuple[str, ...] = ()
) -> Iterator[_Key]:
    """Yield each key of a table of a command or group, those in tables within it first."""
    commands = getattr(command, "commands", {})
    keys = dict(table)
    for name, value in table.items():
        if not commands or not isinstance(value, dict):
            continue
        if name not in commands:
            known = ", ".join(f"[{'.'.join([*path, sibling])}]" for sibling in commands)
            raise ParameterError(
                f"{shown(file)} has a table {shown(name)}, which is no command; there are {known}"
            )
        del keys[name]
        yield from _keys(file, value, commands[name], (*path, name))
    takers = [command]
    if commands and path:
        takers = []
    elif commands:
        takers = [taker for taker in commands.values() if not hasattr(taker, "commands")]
    for name, value in keys.items():
        yield _Key(file, path, name, value, takers)


def _as_typed(key: _Key, option: Parameter) -> bool | str | list[str]:
    """Return the value of a key as it would be typed for a parameter. Raises ParameterError."""
    if is_typed_only(option):
        raise ParameterError(
            f"{key.place} is not taken from a file: type {option.opts[0]} where you mean it"
        )
    if getattr(option, "is_flag", False):
        if not isinstance(key.value, bool):
            raise ParameterError(f"{key.place} must be true or false, not {_kind(key.value)}")
        return key.value
    if not getattr(option, "multiple", False):
        return _text(key.place, option, key.value)
    elements = key.value if isinstance(key.value, list) else [key.value]
    return [_text(key.place, option, element) for element in elements]


def _text(place: str, option: Parameter, value: object) -> str:
    """Return a number or text as it would be typed for a parameter. Raises ParameterError."""
    must_be_number = option.type.name in ("whole", "number")
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, str):
        fits = not must_be_number
    if not fits:
        kind = "a number" if must_be_number else "a text, or a number"
        raise ParameterError(f"{place} must be {kind}, not {_kind(value)}")
    if "\0" in str(value):
        raise ParameterError(f"{place} has a NUL in it; leave it out")
    return str(value)


def _kind(value: object) -> str:
    """Return what a value of TOML is, in words."""
    kinds = {
        bool: "a truth value",
        str: "a text",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "a table",
    }
    return kinds.get(type(value), "a date or a time")


def retyped(context: Context, changes: Mapping[str, Any]) -> str:
    """Return the command of a context as it was given, with the changes, to be copied.

    changes: parameters and their values; False or None leaves an option out. A variable that gives
    what is to be left out is emptied in front of the command.
    """
    prefix = context.auto_envvar_prefix
    emptied: list[str] = []
    words: list[str] = []
    hidden = {"quiet": context.meta.get(QUIET), "json": context.meta.get(JSON)}
    for option in context.command.params:
        name, source = option.name, source_of(context, option.name)
        from_environment = source == "ENVIRONMENT"
        if name in changes:
            typed = _typed(option, changes[name])
            words += typed
            if from_environment and not typed:
                emptied.append(f"{variable_of(prefix, option)}=")
        elif name == "config":
            # Nothing that is typed can take away what a file of options says.
            if from_environment and CONFIG in context.meta:
                emptied.append(f"{variable_of(prefix, option)}=")
        elif source != "DEFAULT":
            words += _typed(option, context.params.get(name, hidden.get(name)))
    start = [str(context.find_root().info_name or "fim-private"), *path_of(context)]
    return " ".join([*emptied, *start, command_line(words)])


def _typed(option: Parameter, value: Any) -> list[str]:
    """Return the words that give an option or argument a value: none if it is left out."""
    if value is False:
        return list(option.secondary_opts[:1])
    if value is None or value == 0:
        return []
    words: list[str] = []
    elements = value if isinstance(value, list | tuple) else [value]
    for element in elements:
        if option.param_type_name == "option":
            words.append(option.opts[0])
        if element is not True:
            words.append(_word(element))
    return words


def _word(value: object) -> str:
    if isinstance(value, Fraction):
        return f"{float(value):g}"
    from fim_private.reading.locations import shown_source

    if isinstance(value, Enum):
        value = value.value
    return shown_source(str(value))  # an address without its password
