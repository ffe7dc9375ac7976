"""Options for output: where it goes, its form, and how much is shown."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypedDict

from fim_private.options.declaration import OptionalText, everywhere, shown, written

ReleaseFormat = StrEnum(
    "ReleaseFormat", ["TABLE", "JSON", "CSV", "XLSX", "MARKDOWN", "PARQUET", "SVG"]
)
TextFormat = StrEnum("TextFormat", ["TABLE", "JSON"])
StatementFormat = StrEnum("StatementFormat", ["MARKDOWN", "YAML"])
Intervals = StrEnum("Intervals", ["POOLED", "EXACT"])
FigureKind = StrEnum("FigureKind", ["NETWORK", "MATRIX", "SUPPORTS", "RULES"])
# The form of a release's file, by the ending of its name.
FORM_OF_ENDING = {
    ".json": ReleaseFormat.JSON,
    ".csv": ReleaseFormat.CSV,
    ".xlsx": ReleaseFormat.XLSX,
    ".md": ReleaseFormat.MARKDOWN,
    ".parquet": ReleaseFormat.PARQUET,
    ".pq": ReleaseFormat.PARQUET,
    ".svg": ReleaseFormat.SVG,
}

Json = Annotated[bool, written("Short for --format json.", must_be_typed=True)]


class ReleaseOutput(TypedDict):
    """Where a release is written, and in which form."""

    format: Annotated[
        ReleaseFormat | None,
        written(
            "table, json (or --json), csv, xlsx (Excel; extra excel), markdown, parquet or svg (a "
            "picture). By default it follows the ending of --output. In csv, text that a "
            "spreadsheet would run has an apostrophe in front.",
            "FORM",
            shown="table",
        ),
    ]
    json: Json
    output: Annotated[
        Path | None,
        written(
            "Write to this file instead of the screen. It ends in .txt, .json, .csv, .xlsx, .md, "
            ".parquet, .pq or .svg."
        ),
    ]


class IntervalsOption(TypedDict):
    """Which supports and intervals are shown."""

    intervals: Annotated[
        Intervals,
        written(
            "With 20 itemsets or more, each support is estimated with the help of the others "
            "(pooled), and 95 % of the intervals hold. exact: each support by itself, with a wider "
            "interval.",
            default=Intervals.POOLED,
        ),
    ]


class ReleaseFigure(TypedDict):
    """A picture of a release beside the output."""

    figure: Annotated[Path | None, written("Also draw a picture (.svg, .png, .pdf).")]
    figure_kind: Annotated[
        FigureKind | None,
        written(
            "With --figure: supports as dots, rules by lift and confidence, a network of rules "
            "(extra figures), or a matrix of items.",
            shown="supports",
        ),
    ]


class TextOutput(TypedDict):
    """Where a table or JSON is written."""

    format: Annotated[
        TextFormat | None,
        written(
            "table or json (or --json). By default a table, or JSON if --output ends in .json."
        ),
    ]
    json: Json
    output: Annotated[
        Path | None, written("Write to this file instead of the screen. It ends in .txt or .json.")
    ]


class TitleOption(TypedDict):
    """The title of a page."""

    title: Annotated[
        OptionalText,
        written(
            "Heading of the page, such as 'Corner shop, spring'.",
            "TEXT",
            shown="What is bought together",
        ),
    ]


class PageOption(TitleOption):
    """A page of HTML beside the output."""

    report: Annotated[Path | None, written("Also write a page of HTML that you can show.")]


class PageOutput(TitleOption):
    """Where a page is written."""

    output: Annotated[
        Path | None,
        written(
            "Write the page here. By default it stands beside the release, with the ending .html."
        ),
    ]


class StatementOutput(TypedDict):
    """Where a statement for the privacy officer is written, and what it says of the budget."""

    ledger: Annotated[
        OptionalText,
        written(
            "The ledger that the release was charged to: the statement then says what is spent "
            "and left now.",
            "FILE",
        ),
    ]
    format: Annotated[
        StatementFormat,
        written(
            "markdown, or yaml: a draft for the public registry of deployments (OpenDP).",
            default=StatementFormat.MARKDOWN,
        ),
    ]
    output: Annotated[
        Path | None, written("Write to this file instead of the screen, such as statement.md.")
    ]


class PlanFigure(TypedDict):
    """The figure that `plan` draws."""

    epsilons: Annotated[
        OptionalText, written("With --figure: the privacy losses to compare.", "E1,E2,…")
    ]
    figure: Annotated[
        Path | None,
        written("Draw what each mechanism needs, against ε or against --top (.png, .svg, .pdf)."),
    ]


class ChangeOptions(TypedDict):
    """Which changes `changes` shows."""

    between: Annotated[
        OptionalText,
        shown(
            "Of one release of several segments or periods: the two to compare, such as "
            "north,south.",
            "ONE,OTHER",
        ),
    ]
    keep_all: Annotated[bool, shown("Also show differences that may be noise.")]


class RunOptions(TypedDict):
    """Whether a request is only shown, and whether a release without itemsets is an error."""

    dry_run: Annotated[
        bool,
        written(
            "Print the plan: each step with its noise and its cost; with --engine sql also the "
            "queries. No purchases are read, nothing is charged, and nothing is released. It fails "
            "if --ledger would refuse the release."
        ),
    ]
    fail_if_empty: Annotated[
        bool,
        written(
            "Exit with code 4 if nothing came out. The output is written and the budget is spent "
            "all the same."
        ),
    ]


class EveryCommand(TypedDict):
    """The options that every command has."""

    config: Annotated[
        OptionalText,
        everywhere(
            'File of options (TOML), such as min-support = "2%", in the table of this command or '
            "above all tables. Typed options win, then the environment "
            "(FIM_PRIVATE_COMMAND_OPTION).",
            "FILE",
        ),
    ]
    quiet: Annotated[
        bool,
        everywhere(
            "Print only errors on standard error: no progress, no warnings, not how a file was "
            "read."
        ),
    ]
