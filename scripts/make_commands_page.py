"""Write docs/commands.md from the commands themselves: every command, and its options.

What is said of all commands together stands here, in HEAD. Run by `make reference`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from fim_private.cli.commands import app
from fim_private.cli.parsing import commands_of, is_typed_only, key_of, variable_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"

HEAD = """\
# Commands

Every command of `fim-private` with its options, their defaults, and the key and the environment variable of each
option. `make reference` writes this page from the commands; `fim-private COMMAND --help` says the same.

## Options from a file

`--config FILE` reads options from a TOML file. Each command has a table of its name. Its keys are the names of the
options without the dashes in front; inside a name an underscore is as good as a dash. `file` is FILE, and a flag is
true or false. Keys above all tables hold for every command that has such an option. So one file, here `sales.toml`,
can say how your data is read:

```toml
file = "datasets/corner_shop.parquet"
user = "customer"
epsilon = 0.5

[mine]
size = "2-3"
top = 10
supports = true

[plan]
top = "10,50,100"
typical-basket = 10
```

```sh
fim-private mine --config sales.toml
fim-private plan --config sales.toml --epsilon 1
```

- Typed options win. Then come the environment, the table of the command, the keys above all tables, and the default.
  You cannot type away a flag that a file sets, unless it has an opposite, such as `--no-supports`. Set its variable to
  false instead.
- Paths in a file are relative to the folder in which you run the command, as typed paths are, not to the file.
- An unknown table or key is an error. So is an option that a table has twice (once with dashes, once with
  underscores), a value of the wrong type, or a file that is not TOML. Tables of other commands are checked, too.
- Numbers are numbers (`top = 10`), and everything else is text (`min-support = "2%"`; a number works there, too).
- The commands of `fim-private budget` have tables of their own, such as `[budget.create]`. Keys above all tables
  do not hold for them, because the budget of a ledger is not the budget of one release.
- **`--seed` of `mine`, `count` and `vote` must be typed.** A seed makes a release predictable, so it is not private.
  No forgotten line in a file, and no variable that was set for something else, should do that. The `--seed` of `audit`
  may come from a file or a variable, since an audit releases nothing.
- `--ledger` may come from a file or a variable, too. Put it there, so that no release forgets it.
- **`--allow-other-unit` and `--again` must be typed**, too. The first lets a ledger take a release whose unit another
  column names. The second spends the budget again for a request that was charged before.

## Options from the environment

Every option has a variable, which the tables below name: FIM_PRIVATE_, the command, and the option, in capitals and
with underscores. An empty variable counts as not set. Flags take true or false (also 1 and 0, yes and no). An option
that may be given several times takes several values, with white space between them. Put values that contain white
space into a file.

```sh
FIM_PRIVATE_MINE_EPSILON=0.5 FIM_PRIVATE_MINE_RULES=true fim-private mine datasets/corner_shop.parquet --top 5
```

A variable that begins like those of the command, but names no option, is an error. Otherwise a misspelt
FIM_PRIVATE_MINE_USER would leave customers unprotected. FIM_PRIVATE_USER, which names no command, is an error,
too, if nothing else gives the option. Errors and warnings name the variable or the key that a
value came from. They hide the password of an address, wherever the address came from. Still, keep passwords out of
variables and files: [reading.md](reading.md#databases) says how.

If a release suggests another command, that command is written out in full, with what came from the environment or a
file.

## What goes where

Standard output gets what you asked for and nothing else. With `--output` that goes to the file. Standard error gets

- errors, one line that begins with `Error: `;
- warnings, lines that begin with `Warning: `: such as a budget that promises little, or a column that looks like
  customers, who are not protected;
- on a terminal only, a progress bar, and a line that says how a file was read;
- at the end, one line that says which files were written, and what is left in the ledger:
  `wrote page.html; ρ 0.194 left in sales.ledger`. A ledger with `--composition basic` has ε there.

With `--quiet` only the errors remain. The warnings are about privacy, so silence them only if you know why. A
release states its ε, its δ, its unit, and whether a seed was given, all the same.

A terminal shows titles in bold and less important lines dim. Set the variable `NO_COLOR` to any value for plain
text. Every command with `--format` also has `--json`, short for `--format json`. You must type it.

## Exit codes

| code | when |
|---|---|
| 0 | success, also for a release that names nothing (`abstained` is true in its JSON) |
| 1 | `audit` found a broken guarantee, or the program that reads standard output stopped reading |
| 2 | the request is wrong, or memory ran out: one line says why, no output was written. Or no command is named: the help is printed |
| 3 | the ledger refuses, and one line says why: nothing was released, and no output was written |
| 4 | nothing came out, and `mine` had `--fail-if-empty`: the output was written, and the budget is spent |
| 129 | the terminal was closed (SIGHUP) |
| 130 | Ctrl-C (SIGINT) |
| 143 | the process was asked to end (SIGTERM) |

A ledger refuses (3) what would overspend it, and releases of another data set, unit, unit column or neighbour relation
than its own. It refuses every release while it cannot be read or written, after it was edited, and if it is an older
copy. If the ledger does not exist, or the file is not a ledger, the request is wrong (2).

## Completion in shells

`fim-private --install-completion` makes your shell (bash, zsh, fish or PowerShell) complete commands, options, and some
values, from its next start on. To install it yourself, `fim-private --show-completion` prints what the shell runs.
"""  # noqa: E501

# One a command, on files that come with the project, or that another example writes.
EXAMPLES = {
    "inspect": "fim-private inspect datasets/sales.csv.gz",
    "mine": "fim-private mine datasets/corner_shop.parquet --user customer --size 2",
    "count": "fim-private count datasets/corner_shop.parquet --itemsets datasets/pairs.csv",
    "vote": (
        "fim-private vote datasets/corner_shop.parquet --question highest-lift --min-share "
        "0.04 --blocks 50"
    ),
    "show": "fim-private show release.parquet --format markdown",
    "changes": "fim-private changes week45.parquet week46.parquet --keep-all",
    "report": "fim-private report release.parquet --output page.html",
    "statement": "fim-private statement release.parquet --output statement.md",
    "budget create": "fim-private budget create sales.ledger --epsilon 3 --delta 1e-5",
    "budget show": "fim-private budget show sales.ledger",
    "budget export": "fim-private budget export sales.ledger sales.export",
    "budget import": "fim-private budget import sales.ledger postgresql://weekly@db.example/shop#sales",
    "plan": "fim-private plan --units 100000 --typical-basket 10 --top 10,50,100",
    "audit": "fim-private audit --mechanism limited-domain --epsilon 1 --delta 1e-6",
}


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for path, command in commands_of(typer.main.get_command(app)):
        parts += section(path, command)
    return "\n".join(parts)


def section(path: tuple[str, ...], command: Any) -> Iterator[str]:
    """Yield the paragraphs on a command."""
    name = " ".join(path)
    takes = [
        given.human_readable_name for given in command.params if given.param_type_name == "argument"
    ]
    yield f"## {name}\n"
    yield f"`{' '.join(['fim-private', name, *takes, '[OPTIONS]'])}`\n"
    yield (
        "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(command.help).split("\n\n"))
        + "\n"
    )
    yield f"```sh\n{EXAMPLES[name]}\n```\n"
    yield f"Its table in a file of options is [{'.'.join(path)}].\n"
    panels: dict[str, list[Any]] = {}
    for given in command.params:
        title = "Arguments" if given.param_type_name == "argument" else given.rich_help_panel
        panels.setdefault(title, []).append(given)
    for title, members in panels.items():
        yield f"**{title}**\n"
        yield "| option | default | what it is | key | variable |\n|---|---|---|---|---|"
        for given in members:
            yield row(given, list(path))
        yield ""


def row(given: Any, path: list[str]) -> str:
    """Return the row of a parameter."""
    typed = given.human_readable_name
    if given.param_type_name == "option":
        typed = " ".join(["/".join([*given.opts[:1], *given.secondary_opts]), *value_of(given)])
    variable = variable_of("_".join(["FIM_PRIVATE", *path]), given)
    names = (
        ["must be typed", ""]
        if is_typed_only(given)
        else [code(key_of(given).replace("_", "-")), variable]
    )
    if given.name == "config":
        names[0] = ""
    cells = [code(typed), default_of(given), given.help, *names]
    return f"| {' | '.join(in_cell(cell) for cell in cells)} |"


def value_of(given: Any) -> list[str]:
    """Return what stands for an option's value, in a list; nothing for a flag."""
    if given.is_flag:
        return []
    if given.metavar:
        return [given.metavar]
    choices = [
        str(getattr(choice, "value", choice)) for choice in getattr(given.type, "choices", [])
    ]
    return ["|".join(choices) if choices else "TEXT"]


def default_of(given: Any) -> str:
    """Return the default of a parameter, as it would be typed."""
    if given.required:
        return "required"
    if isinstance(given.show_default, str):
        return code(given.show_default)
    value = getattr(given.default, "value", given.default)
    return "" if value in (None, False, (), []) else code(str(value))


def code(text: str) -> str:
    """Return text as code."""
    return f"`{text}`" if text else ""


def in_cell(text: str) -> str:
    """Return text for a cell of a table: on one line, with nothing that Markdown would take as its
    own.
    """
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        part if place % 2 else part.replace("*", r"\*") for place, part in enumerate(parts)
    ).replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
