"""How options are declared, and how functions and commands take the declared ones.

A class declares options that go together: the type that the library takes and an `Option` in an
annotation. Help spells options as the command line does.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import UnionType
from typing import Any, TypeVar, get_args

# The options of a call, by name: each value has the type that its declaration says.
OptionValues = dict[str, Any]
# What an option takes that may be left out: None stands for that.
OptionalText = str | None
OptionalNumber = int | None


@dataclass(frozen=True)
class Option:
    """The declaration of an option, without its name and the type that the library takes.

    Attributes:
        panel: The heading under which help shows it; empty if the command line has no such option.
        help: What it does.
        metavar: What stands for its value in help, if not the usual word of its type.
        default: Its default; ... if it must be given. A flag is off by default.
        typed: Its type on the command line, if that is not the first type that the library takes.
        values: The values that shells complete.
        spelled: How it is typed, if not as its name.
        shown: The default that help shows, if `default` is None.
        accepted: The type that the library takes.
        must_be_typed: Whether it is refused in a file and in the environment.
    """

    panel: str
    help: str
    metavar: str | None = None
    default: object = None
    typed: Any = None
    values: Sequence[str] = ()
    spelled: str | None = None
    shown: str | bool = True
    must_be_typed: bool = False
    accepted: Any = None


# An option under each heading of help.
asked = partial(Option, "What to release")
budget = partial(Option, "Privacy")
public = partial(Option, "Mechanism, and what is public")
written = partial(Option, "Output")
read = partial(Option, "How to read FILE")
counts = partial(Option, "What counts (public: the release states it)")
counted = partial(Option, "Where to count")
planned = partial(Option, "What to plan for")
audited = partial(Option, "What to audit")
of_ledger = partial(Option, "What it is a budget of")
shown = partial(Option, "What to show")
everywhere = partial(Option, "Every command")


def options_of(*kinds: type) -> dict[str, Option]:
    """Return the options that classes declare, by name, each with its type on the command line.

    If several declare the same name, the last one counts, in the place of the first.
    """
    return {
        name: _completed(hint.__origin__, *hint.__metadata__)
        for kind in kinds
        for name, hint in kind.__annotations__.items()
    }


def _completed(accepted: Any, option: Option) -> Option:
    """Return an option with what follows from the type that the library takes."""
    typed = accepted
    if accepted is object:
        typed = str
    elif isinstance(accepted, UnionType):
        typed = get_args(accepted)[0]
    elif accepted is bool and option.default is None:
        option = replace(option, default=False)
    return replace(option, typed=option.typed or typed, accepted=accepted)


# The options of mlxtend's functions that have another name here.
_OF_MLXTEND = {
    "max_len": "give size='1-3' for its max_len=3",
    "use_colnames": "leave it out, items always have their names",
    "metric": (
        "mine with rules=True, then ask release.rules(min_lift=1.2) or "
        "release.rules(min_confidence=0.5)"
    ),
    "low_memory": "leave it out; max_memory limits the memory",
    "verbose": "leave it out; progress takes a function that is called with the fraction done",
}
_OF_MLXTEND["min_threshold"] = _OF_MLXTEND["metric"]


def refuse_unknown(function: str, names: Iterable[str]) -> None:
    """Raise TypeError if there are any names, which are keywords that a function does not take."""
    for name in sorted(names):
        message = f"{function}() got an unexpected keyword argument {name!r}"
        if name in _OF_MLXTEND:
            message += f"; that is mlxtend's name: {_OF_MLXTEND[name]}"
        raise TypeError(message)


def filled(function: str, kind: type, given: Mapping[str, object]) -> OptionValues:
    """Return all options of a function of the library: those given, and the defaults of the others.

    Raises TypeError for options that it does not have.
    """
    declared = options_of(kind)
    refuse_unknown(function, given.keys() - declared.keys())
    return {name: given.get(name, option.default) for name, option in declared.items()}


_Function = TypeVar("_Function", bound=Callable[..., Any])


def takes(*kinds: type) -> Callable[[_Function], _Function]:
    """Return a decorator for a function of the library with **options: help() shows these
    options.
    """

    def documented(function: _Function) -> _Function:
        lines = [inspect.cleandoc(function.__doc__ or ""), "", "Options:"]
        parameters = dict(inspect.signature(function).parameters)
        parameters.popitem()  # **options
        for name, option in options_of(*kinds).items():
            declared = inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=option.default,
                annotation=option.accepted,
            )
            parameters.setdefault(name, declared)
            lines.append(f"    {name}: {_help_in_python(option.help)}")
        function.__signature__ = inspect.Signature([*parameters.values()])  # type: ignore[attr-defined]
        function.__doc__ = "\n".join(lines)
        return function

    return documented


def _help_in_python(text: str) -> str:
    """Return the help of an option with other options named as Python does."""
    text = re.sub(r"(?<![\w-])--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), text)
    return text.replace(" Must be typed.", "")
