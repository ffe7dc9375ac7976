"""How the package's own source names parameters in its errors, read from the source."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer

from fim_private.cli.commands import app, as_typed
from fim_private.cli.parsing import commands_of

PACKAGE = Path(__file__).resolve().parents[2] / "fim_private"
# The command line's own words, the tables that it prints, and the example in the documentation of
# `parameter`.
OWN_WORDS = {"cli", "output", "errors.py", "options"}


@cache
def sources() -> dict[str, ast.Module]:
    """The package's modules, parsed, by their paths."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {p.relative_to(PACKAGE).as_posix(): ast.parse(p.read_text("utf-8")) for p in paths}


# `parameter`, and what hands a name on to it.
_NAMING = (
    "parameter positive_integer public_integer whole_number exact_fraction exact_share flag "
    "exact_positive _within _check _candidates as_list as_rows as_array check_function _numbers "
    "_finite"
)
NAMING = {*_NAMING.split()}
# Parameters that no command has: of functions and classes that are for Python only.
_PYTHON_ONLY = (
    "bound counter highest itemset level lowest max_itemsets rank threads labels scale "
    "scores sensitivity d_in integer_type ax values levels low high progress "
    # of learning
    "candidates center columns regularization retrain rows run score stability steps stop train "
    "training least_rows bits error private "
    # of figures and audits
    "kind pairs"
)
PYTHON_ONLY = {*_PYTHON_ONLY.split()}
# Where a message begins with a word that only looks like a parameter: here it is what baskets hold.
NO_PARAMETER = {"items must be numbers or strings, not \0; convert them first"}


@cache
def calls() -> list[tuple[str, ast.Call]]:
    """Every call of the package of a bare name, with that name."""
    return [
        (node.func.id, node)
        for tree in sources().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]


def texts(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def options() -> dict[str, str]:
    group: Any = typer.main.get_command(app)
    given = [each for _, command in commands_of(group) for each in command.params]
    return {each.name: each.opts[0] for each in given if each.param_type_name == "option"}


def test_every_marked_name_is_an_option_or_for_python_only() -> None:
    marked = (call for name, call in calls() if name in NAMING)
    named = {text for call in marked for argument in call.args for text in texts(argument)}
    assert {"max_rank", "items", "output", "figure"} <= named
    assert named - set(options()) == PYTHON_ONLY


def test_the_command_line_spells_each_parameter_as_it_is_typed() -> None:
    assert {name: as_typed(name) for name in options()} == options()
    plain = {name: "--" + name.replace("_", "-") for name in options()}
    others = {name: option for name, option in options().items() if option != plain[name]}
    words = {"start": "from", "end": "to", "with_items": "with"}
    assert others == {name: f"--{word}" for name, word in words.items()}
    assert as_typed("data") == "FILE"
    assert {as_typed(name) for name in PYTHON_ONLY} == PYTHON_ONLY


def test_no_parameter_is_named_without_a_mark() -> None:
    names = sorted({*options(), *PYTHON_ONLY}, key=len, reverse=True)
    anywhere = "|".join(name for name in names if "_" in name)
    unmarked = re.compile(rf"\A({'|'.join(names)})\b|\b({anywhere})\b")
    errors = re.compile(r"(Parameter|Data|WorkLimit|Output|Ledger|MissingExtra)Error")
    said = (messages(call) for name, call in calls() if errors.fullmatch(name))
    assert {one for each in said for one in each if unmarked.search(one)} == NO_PARAMETER


def messages(call: ast.Call) -> Iterator[str]:
    """The texts of a call's arguments, with \0 for what is put into them."""
    for argument in call.args:
        match argument:
            case ast.Constant(value=str(text)):
                yield text
            case ast.JoinedStr(values=parts):
                shown = (p.value if isinstance(p, ast.Constant) else "\0" for p in parts)
                yield "".join(map(str, shown))


def test_only_the_command_line_spells_options() -> None:
    spelled = {
        (name, text)
        for name, tree in sources().items()
        if name.partition("/")[0] not in OWN_WORDS
        for text in texts(tree)
        # Names of CSS are followed by a colon or a bracket.
        if re.search(r"(?<![\w-])--[a-z][a-z-]*(?![\w-]*[:)])", text)
    }
    assert spelled == set()
