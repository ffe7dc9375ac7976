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

Every command of `fim-private`, its options, their defaults, and the key and the environment variable that stand for
each. Made from the commands themselves by `make reference`; `fim-private COMMAND --help` says the same.

## Options from a file

With `--config FILE` options are read from a file of TOML. A table is named as its command. Its keys
are named as the options, without the dashes in front (underscores do as well as dashes). `file` is FILE, and a flag is
true or false. Keys above all tables hold for every command that has such an option. So one file can say how some data
is read:

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

- Typed options win. Then come the environment, the table of the command, the keys above all tables, and the default. A
  flag that a file sets cannot be typed away; its variable can be set to false.
- Paths in a file are relative to the folder in which the command runs, as typed ones are, not to the file.
- A table or key that means nothing is an error. So is an option that a table has twice, with dashes and with
  underscores, a value of the wrong type, or a file that is no TOML. This
  holds in all tables, also those of other commands. Numbers are numbers (`top = 10`), and everything else is text
  (`min-support = "2%"`; a
  number is taken as it is).
- The commands of `fim-private budget` have tables of their own, such as `[budget.create]`. Keys above all tables
  do not hold for them, because the budget of a ledger is not that of one release.
- **`--seed` of `mine`, `count` and `vote` must be typed.** A seed makes a release predictable, not private. You should
  not publish one because of a line in a file, or a variable that was set for something else. The `--seed` of `audit`
  may come from a file or a variable, since an audit releases nothing. So may `--ledger`: it protects best if it is
  always charged.
- **`--allow-other-unit` and `--again` must be typed**, too. The first lets a ledger take a release whose unit another
  column names. The second spends the budget again for a request that was charged before.

## Options from the environment

Every option has a variable: FIM_PRIVATE_, the command, and the option, in capitals and with underscores; the tables
below have their names. An empty variable is none. Flags take true or false (also 1 and 0, yes and no). An option that
may be given several times takes several values, with white space between them; values that hold white space belong
into a file.

```sh
FIM_PRIVATE_MINE_EPSILON=0.5 FIM_PRIVATE_MINE_RULES=true fim-private mine datasets/corner_shop.parquet --top 5
```

A variable that begins as those of the command do, and is none of them, is an error. A misspelt FIM_PRIVATE_MINE_USER
would otherwise protect no customer. Errors and warnings name the variable or the key that a
value came from. They show no passwords: what is hidden in an address that is typed is hidden in one from a variable
or a file. Keep passwords out of both all the same: see PGPASSWORD and service files in [reading.md](reading.md).

Where a release advises another command, that command has all typed out that came from the environment or a file.

## What goes where

Standard output gets what was asked for, and nothing else, unless `--output` names a file. Standard error gets

- errors, one line that begins with `Error: `;
- warnings, lines that begin with `Warning: `: such as a budget that promises little, or a column that looks like
  customers, who are not protected;
- on a terminal only, a progress bar, and a line that says as what a file was read;
- at the end, one line that says which files were written, and what is left in the ledger:
  `wrote page.html; ε 2 left in sales.ledger`. It says ρ where the ledger composes in zCDP.

Of this, `--quiet` leaves the errors alone. The warnings are about privacy, so silence them only if you know why. A
release states its ε, its δ, its unit, and that a seed was given, all the same.

A terminal shows titles in bold and less important lines dim. With the variable `NO_COLOR` (any value) it shows plain
text. `--json` is short for `--format json`. Every command with `--format` has it, and you must type it.

## Exit codes

| code | when |
|---|---|
| 0 | it is done; a release that names nothing is one (`abstained` is true in its JSON) |
| 1 | `audit` found a guarantee broken; or whoever read standard output stopped reading |
| 2 | the request is wrong, or memory ran out, or no command is named: one line says why, no output was written |
| 3 | the ledger refuses, and one line says why: nothing was released, and no output was written |
| 4 | nothing came out, and `mine` had `--fail-if-empty`: the output was written, and the budget is spent |
| 129 | the terminal was closed (SIGHUP) |
| 130 | Ctrl-C (SIGINT) |
| 143 | it was asked to end (SIGTERM) |

A ledger refuses (3) what would overspend it. It refuses another data set, unit, unit column or neighbour relation than
it is for. It refuses every release while it cannot be read or written, was edited, or is an older copy. A ledger
that does not exist, and
a file that is none, are a wrong request (2).

## Completion in shells

`fim-private --install-completion` makes your shell (bash, zsh, fish or PowerShell) complete commands, options, and some
values, from its next start on. `fim-private --show-completion` prints what the shell runs, if you install it otherwise.
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
