"""The options that all commands have which release something of purchases."""

from __future__ import annotations

from typing import Annotated, TypeVar

import typer

from fim_private.cli.completion import relations, units
from fim_private.cli.given import is_given

_Value = TypeVar("_Value")
# What help texts gather options under, besides how a file is read.
ASKED, BUDGET, PUBLIC, WRITTEN = "What to release", "Privacy", "Mechanism, and what is public", "How to write it"
COUNTS = "What counts (public choices, which the release states)"

Epsilon = Annotated[float, typer.Option(help="Privacy loss; smaller is more private.", rich_help_panel=BUDGET)]
Rho = Annotated[
    float | None,
    typer.Option(
        help="The budget in zero-concentrated privacy (zCDP), in place of --epsilon, which then follows from it.",
        show_default=False,
        rich_help_panel=BUDGET,
    ),
]
Delta = Annotated[
    float,
    typer.Option(
        help="Probability allowed to the guarantee's exception; far below 1 / baskets (or users). 0 allows none, and "
        "takes mechanisms that need a public list.",
        rich_help_panel=BUDGET,
    ),
]
Neighbors = Annotated[
    str,
    typer.Option(
        autocompletion=relations,
        help="Hides whether one basket (or user) is there (add-remove), or what it holds (replace-one).",
        rich_help_panel=BUDGET,
    ),
]
MaxWork = Annotated[
    int,
    typer.Option(
        metavar="STEPS",
        help="Give up on counts that take more steps (half a minute or so for each 10 billion).",
        rich_help_panel=PUBLIC,
    ),
]
Count = Annotated[
    bool,
    typer.Option(
        "--count",
        help="Release how many baskets (or users) there are, too, so that supports are shares. Supports with normal "
        "noise have it anyway, for nothing; otherwise 5 % of the budget buys a noisy number. (With --neighbors "
        "replace-one it is public, unless rows were chosen.)",
        rich_help_panel=ASKED,
    ),
]
MinBasket = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Baskets of fewer different items count as empty.",
        show_default=False,
        rich_help_panel=COUNTS,
    ),
]
Together = Annotated[
    str | None,
    typer.Option(
        metavar="basket|user",
        autocompletion=units,
        help="Whether one basket has to contain an itemset, or it is enough that a user (--user) ever had all of it. "
        "Unless given: user for rules and lifts of users, else basket.",
        show_default=False,
        rich_help_panel=COUNTS,
    ),
]
LedgerFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Charge the release to this ledger, before anything is computed of the data, and refuse what would "
        "overspend it (`fim-private budget create` makes one).",
        show_default=False,
        rich_help_panel=BUDGET,
    ),
]
DataSet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="With --ledger: your name for the data, the same for all files of the same people.",
        show_default=False,
        rich_help_panel=BUDGET,
    ),
]
OtherUnit = Annotated[
    bool,
    typer.Option(
        "--allow-other-unit",
        help="With --ledger: let --user (or --basket) name another column than its first release did, because both "
        "name the same units. Must be typed.",
        allow_from_autoenv=False,
        rich_help_panel=BUDGET,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Tests and benchmarks only: the output is then predictable, not private. Must be typed.",
        allow_from_autoenv=False,
        rich_help_panel=BUDGET,
    ),
]


def unless(context: typer.Context, name: str, value: _Value, instead: object) -> _Value | None:
    """Return an option's value; None where nobody gave it, and another, which asks otherwise, was given instead."""
    return value if instead is None or is_given(context, name) else None
