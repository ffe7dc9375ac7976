"""Commands made of declared options, which may also stand in a file (--config) or in the
environment.
"""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from fim_private.cli.writing import is_same_file, output_path, silence
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


def command(group: typer.Typer, *kinds: type, epilog: str) -> Callable[[Callable[..., None]], Any]:
    """Make a function a command of a group: budget_show is `budget show`. kinds: of its options,
    **asked.
    """

    def of(function: Callable[..., None]) -> Any:
        name = function.__name__
        own = inspect.signature(function, eval_str=True).parameters.values()
        given = [
            _parameter(name, one)
            for name, one in options_of(*kinds).items()
            if not one.only_in_python
        ]
        function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*(each for each in own if each.kind is not each.VAR_KEYWORD), *given]
        )
        prefix = {"auto_envvar_prefix": f"FIM_PRIVATE_{name.upper()}"}
        return group.command(
            name.rpartition("_")[2], cls=Command, epilog=epilog, context_settings=prefix
        )(function)

    return of


def _parameter(name: str, option: Option) -> inspect.Parameter:
    default = inspect.Parameter.empty if option.default is ... else option.default
    values = option.values

    def completed() -> list[str]:
        return [*(registry_words()[values] if isinstance(values, str) else values)]

    typed = typer.Option(
        option.spelled or option_name(name),
        help=option.help,
        metavar=option.metavar or {int: "N", float: "NUMBER"}.get(option.typed),
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
        default=str(default) if option.typed is str and isinstance(default, int) else default,
        annotation=Annotated[option.typed if default is not None else option.typed | None, typed],
    )


def whole(text: Any) -> int:
    """Return the whole number that was typed, in plain digits: Python itself would take 1_0 and ١,
    too.
    """
    if re.fullmatch(r"[+-]?[0-9]{1,4000}", str(text)):
        return int(text)
    raise typer.BadParameter(f"must be a whole number, not {shown(text)}")


def number(text: Any) -> float:
    """Return the number that was typed, in plain digits; no infinity and no NaN."""
    plain = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", str(text))
    if plain and math.isfinite(value := float(text)):
        return value
    raise typer.BadParameter(f"must be a number such as 0.5 or 1e-6, not {shown(text)}")


def registry_words() -> dict[str, Any]:
    """Return what help says of mechanisms, and their names."""
    from fim_private.mechanisms.registry import MECHANISMS, BasketCap, RankCap, UniverseNeed, single
    from fim_private.options import MAX_RANK

    specs = MECHANISMS.values()
    unlisted, capped, listed = [], [], []
    for spec in specs:
        if spec.universe is not UniverseNeed.UNKNOWN:
            listed.append(spec.name)
        elif spec.basket_cap is BasketCap.NEEDED:
            capped.append(f"{spec.name} (with --max-basket)")
        else:
            unlisted.append(spec.name)
    without_list = ", ".join(unlisted + capped)
    ranked = [spec for spec in specs if spec.rank_cap is not RankCap.NONE]
    searching = " and ".join(spec.name for spec in ranked if spec.searches)
    choosing = " and ".join(spec.name for spec in ranked if not spec.searches)
    need_cap = [spec.name for spec in specs if spec.basket_cap is BasketCap.NEEDED]
    may_cap = [spec.name for spec in specs if spec.basket_cap is BasketCap.OPTIONAL]
    return {
        "mechanisms": f"auto, or without a list: {without_list}; over one: {', '.join(listed)}",
        "ranked": (
            f"the rank search of {searching} ({MAX_RANK:,}), or on the candidates of "
            f"{choosing} ({MAX_RANK:,})"
        ),
        "capped": " and ".join(need_cap + may_cap),
        "audited": ", ".join([*single()][:3]),
        "names": ["auto", *MECHANISMS],
        "names audited": [*single(), "all"],
    }


class Command(TyperCommand):
    """A command whose options may also stand in a file or in the environment."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        of_all: dict[str, Any] = {
            "show_default": False,
            "show_envvar": False,
            "expose_value": False,
        }
        of_all["rich_help_panel"] = "Every command"
        about = (
            'File of options (TOML), such as min-support = "2%", in the table of this command or '
            "above all tables. "
            "Typed options win, then the environment (FIM_PRIVATE_COMMAND_OPTION)."
        )
        of_file: dict[str, Any] = {
            "type": str,
            "metavar": "FILE",
            "callback": _read_config,
            **of_all,
        }
        # before all that is in it
        config = TyperOption(param_decls=["--config"], is_eager=True, help=about, **of_file)
        about = (
            "Print only errors on standard error: no progress, no warnings, not how a file "
            "was read."
        )
        flag: dict[str, Any] = {
            "type": bool,
            "is_flag": True,
            "default": False,
            "callback": _be_quiet,
            **of_all,
        }
        self.params += [config, TyperOption(param_decls=["--quiet"], help=about, **flag)]
        given: Any
        for place, given in enumerate(self.params):
            if given.name == "format":
                of_all["rich_help_panel"] = given.rich_help_panel
                about = "Short for --format json."
                flag |= {"callback": _ask_json, "allow_from_autoenv": False, **of_all}
                self.params.insert(
                    place + 1, TyperOption(param_decls=["--json"], help=about, **flag)
                )
                break
        for given in self.params:
            given.help = re.sub(
                r"\{(\w+)\}", lambda match: str(registry_words()[match[1]]), given.help
            )
            # the variable named one column before, with spaces in its name: now one a line
            if given.name == "basket":
                given.type = copy(given.type)
                given.type.envvar_list_splitter = "\n"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed, and take what was not from the environment and the file."""
        if isinstance(ctx.obj, dict):
            ctx.obj[CONTEXT] = ctx
        for given in self.params:
            if given.param_type_name == "argument" or key_of(given) != given.name:
                given.envvar = variable_of(ctx.auto_envvar_prefix, given)
        rest = super().parse_args(ctx, args)
        if ctx.meta.get(JSON):
            if source_of(ctx, "format") == "COMMANDLINE" and ctx.params["format"] != "json":
                both = f"{parameter('json')} is short for {parameter('format')} json"
                raise ParameterError(f"{both}: leave one of them out")
            ctx.params["format"] = "json"
        if not ctx.resilient_parsing:
            _check_variables(ctx)
            for name, value in ctx.params.items() if CONFIG in ctx.meta else ():
                if isinstance(value, Path) and is_same_file(value, ctx.meta[CONFIG]):
                    raise OutputError(
                        f"cannot write {str(value)!r}: it is {parameter('config')}; choose "
                        f"another {parameter(name)}"
                    )
        return rest

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option --help, which must be typed."""
        if (option := super().get_help_option(ctx)) is not None:
            option.allow_from_autoenv = False
        return option


class Group(TyperGroup):
    """A group of commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed. Where that is nothing, the help is shown, and it is an error."""
        if not args and not ctx.resilient_parsing:
            if text := ctx.get_help():  # with rich it is shown already
                typer.echo(text)
            raise typer.Exit(USAGE_ERROR)
        return list(super().parse_args(ctx, args))


def _ask_json(ctx: Any, given: Any, value: bool) -> bool:
    ctx.meta[JSON] = value
    return value


def _be_quiet(ctx: Any, given: Any, value: bool) -> bool:
    if not ctx.resilient_parsing:
        ctx.meta[QUIET] = value
        silence(value)
    return value


# Where a value is from.
def key_of(given: Any) -> str:
    """Return what a parameter is called in a file of options: an option without its dashes, FILE as
    file.
    """
    if given.param_type_name == "argument":
        return str(given.human_readable_name).lower()
    return str(max(given.opts, key=len)).removeprefix("--").replace("-", "_")


def is_typed_only(given: Any) -> bool:
    """Tell whether an option is taken from the command line alone."""
    return given.name == "help" or (
        given.param_type_name == "option" and not given.allow_from_autoenv
    )


def variable_of(prefix: str, given: Any) -> str:
    """Return the environment variable of a parameter."""
    return f"{prefix}_{key_of(given)}".upper().replace("-", "_")


def source_of(context: Any, name: str) -> str:
    """Return COMMANDLINE, ENVIRONMENT, DEFAULT_MAP (a file of options) or DEFAULT."""
    return str(getattr(context.get_parameter_source(name), "name", "DEFAULT"))


def origin(context: Any, name: str) -> str | None:
    """Return where the value of a parameter is from, if it was not typed: a variable or a file's
    key.
    """
    source = source_of(context, name)
    if source == "ENVIRONMENT":
        given = next(each for each in context.command.params if each.name == name)
        return variable_of(context.auto_envvar_prefix, given)
    return context.meta.get(PLACES, {}).get(name) if source == "DEFAULT_MAP" else None


def path_of(context: Any) -> list[str]:
    """Return the names that lead to the command of a context: of `fim-private budget show` these
    two.
    """
    return [] if context.parent is None else [*path_of(context.parent), str(context.info_name)]


def _check_variables(context: Any) -> None:
    # Who misspells that of --user would protect no customer.
    prefix = context.auto_envvar_prefix
    known = {
        variable_of(prefix, given): given
        for given in context.command.params
        if given.name != "help"
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


def _read_config(ctx: Any, given: Any, value: str | None) -> str | None:
    """Take what a file says to the command of a context as its defaults; tables of other commands
    are checked, too.

    A table, such as [budget.create], wins over a key above all tables, which holds for commands
    that are in no group.
    """
    if value is None or ctx.resilient_parsing:
        return value
    path = tuple(path_of(ctx))
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    seen: set[tuple[tuple[str, ...], str]] = set()
    for table, name, setting, commands in _keys(value, _toml(value), ctx.find_root().command):
        in_table = f" of table [{'.'.join(table)}]" if table else ""
        place, key = f"key {shown(name)}{in_table} in {shown(value)}", name.replace("-", "_")
        takers = {
            id(command): option
            for command in commands
            for option in command.params
            if key_of(option) == key != "config"
        }
        if not takers:
            raise ParameterError(f"{place} is no option; {_near_option(name, commands)}")
        for owner, option in takers.items():
            if not table and owner != id(ctx.command):
                continue  # above all tables a key is for this command, if it takes it
            if is_typed_only(option):
                raise ParameterError(
                    f"{place} is not taken from a file: type {option.opts[0]} where you mean it"
                )
            typed = _as_typed(place, option, setting)
            if table == path or (not table and len(path) == 1 and option.name not in values):
                values[option.name], places[option.name] = typed, place
        if (table, key) in seen:
            raise ParameterError(
                f"{place} is there twice, with dashes and with underscores; leave one"
            )
        seen.add((table, key))
    ctx.meta[CONFIG], ctx.meta[PLACES] = value, places
    ctx.default_map = values
    return value


def _near_option(name: str, commands: Iterable[Any]) -> str:
    """Return a hint at the option that a key was probably meant to be."""
    names = {
        key_of(option).replace("_", "-")
        for command in commands
        for option in command.params
        if not is_typed_only(option)
    }
    near = get_close_matches(name.replace("_", "-"), names - {"config"}, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return "fim-private COMMAND --help lists what there is"


def _toml(name: str) -> dict[str, Any]:
    import tomllib

    from fim_private.reading.files import file_errors

    with file_errors(Path(name)), Path(name).expanduser().open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise DataError(f"{shown(name)} is too long for a file of options; it has at most 1 MiB")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (
        ValueError,
        RecursionError,
    ) as error:  # also a number of thousands of digits, a list in thousands of others
        why = " that can be read: it is too deep, or has too long a number"
        if isinstance(error, UnicodeDecodeError):
            why = ": it is not UTF-8; write it again as UTF-8"
        elif isinstance(error, tomllib.TOMLDecodeError):
            why = f": {' '.join(str(error).split())}"
        raise DataError(f"{shown(name)} is no TOML{why}") from None


def _keys(
    file: str, table: Mapping[str, Any], command: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, Any, list[Any]]]:
    """Yield each key, those in tables first: the path of its table, its name and value, and the
    commands it is for.
    """
    commands = getattr(command, "commands", {})
    for name, value in table.items():
        if commands and isinstance(value, dict):
            if name not in commands:
                known = ", ".join(f"[{'.'.join([*path, other])}]" for other in commands)
                raise ParameterError(
                    f"{shown(file)} has a table {shown(name)}, which is no "
                    f"command; there are {known}"
                )
            yield from _keys(file, value, commands[name], (*path, name))
    for name, value in table.items():
        if not (commands and isinstance(value, dict)):
            every = (
                []
                if path
                else [each for each in commands.values() if not hasattr(each, "commands")]
            )
            yield path, name, value, every if commands else [command]


def _as_typed(place: str, given: Any, value: Any) -> Any:
    """Return the value of a key as it would be typed for a parameter: a flag, texts of one that
    takes several, text.
    """
    if getattr(given, "is_flag", False):
        if not isinstance(value, bool):
            raise ParameterError(f"{place} must be true or false, not {_kind(value)}")
        return value
    if getattr(given, "multiple", False) and isinstance(value, list):
        return [_text(place, given, each) for each in value]
    text = _text(place, given, value)
    return [text] if getattr(given, "multiple", False) else text


def _text(place: str, given: Any, value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and (given.type.name in ("whole", "number") or not isinstance(value, str)):
        kind = "a number" if given.type.name in ("whole", "number") else "a text, or a number"
        raise ParameterError(f"{place} must be {kind}, not {_kind(value)}")
    if isinstance(value, str) and "\0" in value:
        raise ParameterError(f"{place} has a NUL in it; leave it out")
    return str(value)


def _kind(value: Any) -> str:
    kinds = {
        bool: "a truth value",
        str: "a text",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "a table",
    }
    return kinds.get(type(value), "a date or a time")
