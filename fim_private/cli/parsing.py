"""Commands made of declared options, which may also stand in a file (--config) or in the
environment.
"""

import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from fim_private.cli.writing import is_same_file, output_path, silence
from fim_private.display import command_line
from fim_private.errors import DataError, OutputError, ParameterError, parameter, shown
from fim_private.options import option_name
from fim_private.options.declaration import Option, options_of
from fim_private.options.outputs import EveryCommand

USAGE_ERROR = 2
# The key of the running command's context, in the object that all contexts share. An error looks
# there for where a value came from.
CONTEXT = "fim_private.context"
# The key of a context's `meta` that holds, by option, where its file of options sets it.
PLACES = "fim_private.places"
# Classes of typer's parser, whose module differs between its versions. A parameter is an option or
# an argument.
Context = Any
Parameter = Any


def command(
    group: typer.Typer, *kinds: type, epilog: str, panels: Mapping[str, str] = MappingProxyType({})
) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that makes a function a command of a group: budget_show is `budget show`.

    kinds: the classes that declare its options, which the function takes as **typed, the last of
        its parameters.
    panels: headings of help that this command calls otherwise.
    """

    def decorated(function: Callable[..., None]) -> object:
        name = function.__name__
        *parameters, _ = inspect.signature(function).parameters.values()
        for option_key, option in options_of(*kinds, EveryCommand).items():
            if option.panel:
                panel = panels.get(option.panel, option.panel)
                parameters.append(_parameter(option_key, replace(option, panel=panel)))
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return group.command(
            name.rpartition("_")[2],
            cls=Command,
            help=unwrapped(function.__doc__ or ""),
            epilog=epilog,
            context_settings={"auto_envvar_prefix": f"FIM_PRIVATE_{name.upper()}"},
        )(function)

    return decorated


def unwrapped(docstring: str) -> str:
    """Return a docstring with one line for each paragraph: a terminal breaks lines by its width."""
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


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
    declared = typer.Option(
        option.spelled or option_name(name),
        help=option.help,
        metavar=option.metavar or _METAVARS.get(option.typed),
        show_default=option.shown,
        show_envvar=False,  # a line for each would double every help
        allow_from_autoenv=not option.must_be_typed,
        parser={Path: output_path, int: whole, float: number}.get(option.typed),
        rich_help_panel=option.panel,
    )
    if name == "config":
        declared.callback = _read_config
        declared.is_eager = True  # before all that is in it
    if option.values:
        declared.autocompletion = lambda: option.values
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[typed, declared]
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


class Command(TyperCommand):
    """A command whose options may also stand in a file or in the environment."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read what was typed, and take what was not from the environment and the file."""
        if isinstance(ctx.obj, dict):
            ctx.obj[CONTEXT] = ctx
        for option in self.params:
            if not is_typed_only(option):
                option.envvar = variable_of(ctx.auto_envvar_prefix, option)
        try:
            remaining = super().parse_args(ctx, args)
        except Exception as error:
            # The parser's own, whose classes differ between typer's versions.
            _refuse_flag(getattr(error, "param", None))
            raise
        if ctx.params.get("json"):
            if source_of(ctx, "format") == "COMMANDLINE" and ctx.params["format"] != "json":
                raise ParameterError(
                    f"{parameter('json')} is short for {parameter('format')} json: leave one of "
                    f"them out"
                )
            ctx.params["format"] = "json"
        if not ctx.resilient_parsing:
            silence(ctx.params["quiet"])
            _check_variables(ctx)
            _check_config_stays(ctx)
        return remaining


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


def key_of(option: Parameter) -> str:
    """Return what a parameter is called in a file of options: an option without its dashes, FILE
    and FILE... as file.
    """
    if option.param_type_name == "argument":
        return str(option.human_readable_name).lower().removesuffix("...")
    return str(max(option.opts, key=len)).removeprefix("--").replace("-", "_")


def is_typed_only(option: Parameter) -> bool:
    """Tell whether an option is taken from the command line alone."""
    return option.param_type_name == "option" and not option.allow_from_autoenv


def variable_of(prefix: str, option: Parameter) -> str:
    """Return the environment variable of a parameter."""
    return f"{prefix}_{key_of(option)}".upper().replace("-", "_")


def source_of(context: Context, name: str) -> str:
    """Return COMMANDLINE, ENVIRONMENT, DEFAULT_MAP (a file of options) or DEFAULT."""
    source = context.get_parameter_source(name)
    if source is None:
        return "DEFAULT"
    return str(source.name)


def origin(state: Mapping[str, Any], name: str) -> str:
    """Return in brackets where the value of a parameter is from, if it was not typed: a variable or
    a file's key.

    state: the object that all contexts share.
    """
    context = state.get(CONTEXT)
    if context is None:  # no parameter was read
        return ""
    source = source_of(context, name)
    if source == "ENVIRONMENT":
        [option] = [option for option in context.command.params if option.name == name]
        return f" ({variable_of(context.auto_envvar_prefix, option)})"
    if source == "DEFAULT_MAP":
        return f" ({context.meta[PLACES][name]})"
    return ""


def _refuse_flag(option: Parameter) -> None:
    """Raise ParameterError if the parser refused what a variable says of a flag.

    A flag that is typed has no value, and those of a file are checked.
    """
    if getattr(option, "is_flag", False):
        variable = option.envvar
        setting = shown(os.environ.get(variable))
        raise ParameterError(f"{variable!r} must be true or false, not {setting}") from None


def _check_variables(context: Context) -> None:
    """Raise ParameterError for variables that look like those of options but are of none.

    With a misspelt variable for --user no customer would be protected. One without the name of the
    command does no harm if its option is given otherwise.
    """
    prefix = context.auto_envvar_prefix
    known = {variable_of(prefix, option): option for option in context.command.params}
    for name in sorted(os.environ):
        if not name.startswith(f"{prefix}_") or not os.environ[name]:
            continue
        if name not in known:
            raise ParameterError(
                f"the environment variable {name!r} is not an option of {context.command_path}; "
                f"unset it"
            )
        if is_typed_only(known[name]):
            raise ParameterError(
                f"{name!r} is not taken from the environment: type {known[name].opts[0]} where "
                f"you mean it"
            )
    for variable, option in known.items():
        bare = f"FIM_PRIVATE_{key_of(option)}".upper()
        if os.environ.get(bare) and source_of(context, option.name) == "DEFAULT":
            instead = f"call it {variable}"
            if is_typed_only(option):
                instead = f"type {option.opts[0]} where you mean it"
            raise ParameterError(
                f"the environment variable {bare!r} is not read: {instead}, or unset it"
            )


def _check_config_stays(context: Context) -> None:
    """Raise OutputError if an output is the file of options."""
    config = context.params["config"]
    for name, value in context.params.items():
        if config and isinstance(value, Path) and is_same_file(value, config):
            raise OutputError(
                f"cannot write {str(value)!r}: it is {parameter('config')}; choose another "
                f"{parameter(name)}"
            )


def commands_of(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all commands of a group, each after the names that lead to it."""
    for name, member in group.commands.items():
        if hasattr(member, "commands"):
            yield from commands_of(member, (*path, name))
        else:
            yield (*path, name), member


class _Key(NamedTuple):
    """A key of a file of options.

    Attributes:
        file: The name of the file.
        table: The path of its table, such as ("budget", "create"); empty above all tables.
        name: As it is written, with dashes or underscores.
        value: A value of TOML.
    """

    file: str
    table: tuple[str, ...]
    name: str
    value: object

    @property
    def option(self) -> str:
        """The parameter that it is the key of, as `key_of` names it."""
        return self.name.replace("-", "_")

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        in_table = f" of table [{'.'.join(self.table)}]" if self.table else ""
        return f"key {shown(self.name)}{in_table} in {shown(self.file)}"


def _read_config(ctx: Context, _: Parameter, value: str | None) -> str | None:
    """Take what a file says to the command of a context as its defaults; tables of other commands
    are checked, too.

    A table, such as [budget.create], wins over a key above all tables, which holds for commands
    that are in no group.
    """
    if value is None or ctx.resilient_parsing:
        return value
    commands = [*commands_of(ctx.find_root().command)]
    values, places = {}, {}
    keys = sorted(_keys(value, _toml(value)), key=lambda key: len(key.table))
    _check_spellings(keys)
    for key in keys:
        takers = [*_takers(key, commands)]
        if not takers:
            raise ParameterError(
                f"{key.place} is not an option; fim-private COMMAND --help lists what there is"
            )
        for command, option in takers:
            if not key.table and command is not ctx.command:
                continue  # above all tables a key is for this command, if it takes it
            setting = _as_typed(key, option)
            if command is ctx.command:
                values[option.name], places[option.name] = setting, key.place
    ctx.meta[PLACES] = places
    ctx.default_map = values
    return value


def _takers(
    key: _Key, commands: Iterable[tuple[tuple[str, ...], Any]]
) -> Iterator[tuple[Any, Parameter]]:
    """Yield each command that a key is for, with the option that it is the key of."""
    for path, command in commands:
        is_for_command = path == key.table or (len(path) == 1 and not key.table)
        if not is_for_command:
            continue
        for option in command.params:
            if key_of(option) == key.option != "config":
                yield command, option


def _toml(name: str) -> dict[str, Any]:
    """Return the tables of a file of TOML. Raises DataError."""
    import tomllib

    from fim_private.reading.files import file_errors

    if not name:
        raise DataError(f"the path of {parameter('config')} is empty; name a file")
    with file_errors(repr(name)):
        content = Path(name).expanduser().read_bytes()
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise DataError(f"{shown(name)} is not TOML: it is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:  # such as a list in thousands of lists
        raise DataError(f"{shown(name)} is not TOML: {' '.join(str(error).split())}") from None


def _keys(file: str, table: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[_Key]:
    """Yield each key of a table, and of the tables within it."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _keys(file, value, (*path, name))
        else:
            yield _Key(file, path, name, value)


def _check_spellings(keys: Iterable[_Key]) -> None:
    """Raise ParameterError if a table has an option twice, with dashes and with underscores."""
    first_of: dict[tuple[tuple[str, ...], str], _Key] = {}
    for key in keys:
        first = first_of.setdefault((key.table, key.option), key)
        if first is not key:
            raise ParameterError(
                f"{key.place} is the same option as {shown(first.name)} there: leave one of them "
                f"out"
            )


def _as_typed(key: _Key, option: Parameter) -> str | list[str]:
    """Return the value of a key as it would be typed for a parameter. Raises ParameterError."""
    if is_typed_only(option):
        raise ParameterError(
            f"{key.place} is not taken from a file: type {option.opts[0]} where you mean it"
        )
    types, kind = {str, int, float}, "a text, or a number"
    if getattr(option, "is_flag", False):
        types, kind = {bool}, "true or false"
    elif option.type.name in ("whole", "number"):
        types, kind = {int, float}, "a number"
    is_multiple = getattr(option, "multiple", False) or option.nargs == -1
    elements = [key.value]
    if is_multiple and isinstance(key.value, list):
        elements = key.value
    for element in elements:
        if type(element) not in types:
            raise ParameterError(f"{key.place} must be {kind}, not {shown(element)}")
    texts = [*map(str, elements)]
    return texts if is_multiple else texts[0]


def retyped(context: Context, changes: Mapping[str, Any]) -> str:
    """Return the command of a context as it was given, with the changes, to be copied.

    changes: parameters and their values; False or None leaves an option out. A variable that gives
    what is to be left out is emptied in front of the command.
    """
    emptied, words = [], []
    for option in context.command.params:
        name, source = option.name, source_of(context, option.name)
        typed = []
        if name in changes:
            typed = _typed(option, changes[name])
        elif name != "config" and source != "DEFAULT":  # all that the file says is typed out
            typed = _typed(option, context.params[name])
        if source == "ENVIRONMENT" and not typed:
            emptied.append(f"{variable_of(context.auto_envvar_prefix, option)}=")
        words += typed
    return " ".join([*emptied, context.command_path, command_line(words)])


def _typed(option: Parameter, value: Any) -> list[str]:
    """Return the words that give an option or argument a value: none if it is left out."""
    if value is False:
        return list(option.secondary_opts[:1])
    if value is None:
        return []
    words = []
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
    from fim_private.addresses import shown_source

    return shown_source(str(value))  # an address without its password
