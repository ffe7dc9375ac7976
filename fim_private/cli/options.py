"""The options that several commands share; progress and notes on standard error."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from fim_private import options
from fim_private.cli.given import forms, is_given, relations, rules_of_missing_users, units
from fim_private.errors import ParameterError, PrivacyWarning, parameter

# -------------------- process memory
# The process itself held to its memory, by the system: for what is decoded in one piece before it can be estimated.

# What a process takes beside the data: libraries, threads, what their allocators keep ready.
_BESIDE = 2 << 30
_STATUS = Path("/proc/self/status")


def hold_process(max_memory: str | None) -> str | None:
    """Have the system refuse this process more than twice its limit, and never more than the machine has.

    What is refused ends in MemoryError, of which the command line makes one line. Where the system knows no such limit
    nothing is done. Returns the limit as it was given. Raises ParameterError for what is no size.
    """
    from fim_private.reading.memory import MemoryLimit

    limit, machine = MemoryLimit.of(max_memory), MemoryLimit.of_whole_machine()
    try:
        import resource

        status = _STATUS.read_text(encoding="ascii", errors="replace")
        taken = 1024 * int(status.partition("VmData:")[2].split()[0])
    except (ImportError, OSError, ValueError, IndexError):  # not Linux, which alone counts what is allocated so
        return max_memory
    if limit.most is None or machine is None:
        return max_memory
    most = taken + min(2 * limit.most + _BESIDE, max(limit.most * 5 // 4, machine))
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if all(most < other for other in (soft, hard) if other != resource.RLIM_INFINITY):
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    return max_memory


# -------------------- notes
# What is said beside the output, on standard error: progress, how a file was read, warnings. And --quiet.

_silent = False


def silence(wanted: bool) -> None:
    """Say nothing from now on but errors, or again all there is. As with warnings, this holds for the process."""
    global _silent
    _silent = wanted


def on_terminal() -> bool:
    """Tell whether somebody sits there who may be told what goes on."""
    return not _silent and sys.stderr is not None and sys.stderr.isatty()


def note(text: str) -> None:
    """Say something in a line on standard error."""
    if not _silent:
        typer.echo(text, err=True)


def show_warnings_as_lines(spell: Callable[[str], str]) -> None:
    """From now on, print warnings of privacy as notes, with parameters named as spell says. Others go with them."""
    shown_otherwise = warnings.showwarning

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if isinstance(message, PrivacyWarning):
            note(f"Warning: {message.spelled(spell)}")
        elif not _silent:
            shown_otherwise(message, *where, **more)

    warnings.filterwarnings("always", category=PrivacyWarning)
    warnings.showwarning = show


# -------------------- progress
# A progress bar for long work: on standard error, on a terminal only, and not for what is done in a moment.

Show = Callable[[float], None]

# Work that takes less shows no bar.
_QUIET_SECONDS = 1.0


@contextmanager
def progress_bar(label: str) -> Iterator[Show]:
    """Yield a function that shows how far the work is, from 0 to 1; the bar goes away at the end.

    label: what is being done. Where standard error is no terminal, or after --quiet, nothing is shown.
    """
    if not on_terminal():
        yield lambda fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    # What the command writes is its own affair: rich would send standard output to the console of the bar.
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task(label, total=1.0)
    begun = time.monotonic()

    def show(fraction: float) -> None:
        if time.monotonic() - begun > _QUIET_SECONDS:
            bar.start()
            bar.update(task, completed=fraction)

    try:
        yield show
    finally:
        bar.stop()


def parts_of(show: Show, count: int) -> list[Show]:
    """Return, for each of so many equal parts of the work, a function that shows how far that part is."""

    def part(place: int, fraction: float) -> None:
        show((place + fraction) / count)

    return [partial(part, place) for place in range(count)]


# -------------------- source options
# The options that say how a file is read, which commands that read one share; and the line that says how it was.

_SOURCE_OPTIONS_PANEL = "How to read FILE"

Purchases = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Purchases: Parquet, Arrow/Feather, CSV, JSON Lines or .dat (text also as .gz or .bz2), Excel (.xlsx), or "
        "a folder or a pattern of such "
        "('sales/*.parquet'), also in an object store (s3://...); - reads text from standard input; a database is "
        "postgresql://... or sqlite:///shop.db, with --query. `fim-private inspect FILE` tells how it would be read.",
        show_default=False,
    ),
]

UserColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the customer: protects all baskets of each user together, not each basket by itself.",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
MissingUserRule = Annotated[
    str | None,
    typer.Option(
        metavar="drop|own-unit",
        autocompletion=rules_of_missing_users,
        help="Rows without a user: leave them out, or take each of their baskets as a unit of its own.",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
BasketColumn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the basket id (one row per item). Several name a basket together: --basket customer --basket "
        "date.",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
ItemColumn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the item (one row per item), at the level that you want: product, or department. Several name "
        "it together: --item department --item brand.",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
ItemsColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="List column of the items; guessed when there is exactly one.",
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="Each cell of the item column is a list of items, such as 'a, b' or ['a', 'b']: where to cut it, such as "
        "',' or tab.",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
FoldCase = Annotated[
    bool,
    typer.Option(
        "--fold-case",
        help="Items that differ by capital letters alone, or by white space around them, are one, in small letters; so "
        "in every list of items that is named.",
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORM",
        autocompletion=forms,
        help="long (one row per item), wide (a basket in several columns), one-hot (a column of 0 and 1, of "
        "words such as yes and no, or of quantities for each item); in text also lines (one basket per line, between "
        "delimiters), fimi (between white space), spmf or jsonl. Needed only where the file could be read in several "
        "ways.",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="What separates the fields of a text, such as ';' or tab. Where columns are named it is found in the "
        "first line; else it is the comma in .csv, the tab in .tsv.",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
HasHeader = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a text names the columns. Without one they are called 1, 2, ...",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of a text, such as cp1252; UTF-8 unless it has another's byte order mark.",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
SkipRows = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Leave out the first N lines of a text, or rows of a sheet: what stands above the table, such as a title.",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        metavar="SELECT",
        help="Of a database: what to read, such as 'select customer_id, order_id, product from sales'. The password "
        "is taken from PGPASSWORD, or from a service file.",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help="Read only rows where it is true, such as \"country = 'France' and date >= '2011-01-01'\": signs, in "
        "(...), between, is null, and, or, not. A public choice, which the release states.",
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]

MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Refuse data that take more memory, to be read and counted: 4GB, 500MB, or bytes; four fifths of what "
        "this machine has unless given.",
        callback=hold_process,
        show_default=False,
        rich_help_panel=_SOURCE_OPTIONS_PANEL,
    ),
]


@contextmanager
def reading_is_told() -> Iterator[None]:
    """Say on standard error, on a terminal, as what a file was read: its form and columns, nothing of its rows."""
    if not on_terminal():
        yield
        return
    logger = logging.getLogger("fim_private.reading")
    handler = logging.StreamHandler(sys.stderr)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


# -------------------- release options
# The options that all commands have which release something of purchases.

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


# -------------------- rule options
# The options of association rules, checked before anything is spent.

WithRules = Annotated[
    bool,
    typer.Option(
        "--rules",
        help="Association rules too, surest first, with intervals: one release holds the itemsets, the supports of all "
        "their parts and the number of baskets (or users). Turns on --supports and --count.",
        rich_help_panel=ASKED,
    ),
]
MinConfidence = Annotated[
    float | None,
    typer.Option(
        help="With --rules: leave out rules of less confidence, 0 to 1.", show_default=False, rich_help_panel=ASKED
    ),
]
MinLift = Annotated[
    float | None,
    typer.Option(help="With --rules: leave out rules of less lift.", show_default=False, rich_help_panel=ASKED),
]


def rule_limits(
    with_rules: bool, min_confidence: float | None, min_lift: float | None, *, lifts: bool = True
) -> tuple[float, float] | None:
    """Return the least confidence and lift; None where no rules are wanted.

    lifts: whether rules will have any. Raises ParameterError for limits that are out of range, or given without rules,
    or for the least lift where there are none.
    """
    limits = {"min_confidence": min_confidence, "min_lift": min_lift}
    if not with_rules:
        for name, limit in limits.items():
            if limit is not None:
                raise ParameterError(f"{parameter(name)} goes with {parameter('rules')}")
        return None
    from fim_private.release.rules import least

    first, second = (least(name, limit or 0.0) for name, limit in limits.items())
    if second and not lifts:
        from fim_private.release.words import no_min_lift

        raise ParameterError(no_min_lift())
    return first, second


# -------------------- segment options
# The options of `fim-private mine` that say what is left out, and of which segments there is a release each.

ExcludeFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Public list of items to leave out, such as postage and bags: one a line, or a column.",
        show_default=False,
        rich_help_panel=COUNTS,
    ),
]
SegmentColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of segments, such as stores: one release for each, under one budget.",
        show_default=False,
        rich_help_panel=COUNTS,
    ),
]
SegmentNames = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="With --by: which segments, a public list. Rows of others are not read.",
        show_default=False,
        rich_help_panel=COUNTS,
    ),
]
MaxSegments = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="In how many segments a basket (or user) counts at most: where it has the most baskets. Each release "
        "has 1/N of the budget; unless given N is 1.",
        show_default=False,
        rich_help_panel=COUNTS,
    ),
]


# -------------------- catalogue options
# The options of `fim-private mine` that say which items there are: a public list, or that those of the data are.

CatalogueFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Public list of all items: one a line, a folder of such files, an earlier release (last-week.parquet), or "
        "with --catalogue-item any table, sheet or database that FILE may be. It finds more, above all of customers.",
        show_default=False,
        rich_help_panel=PUBLIC,
    ),
]
CatalogueItem = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="With --catalogue: the column of the items, as they are in FILE, such as --catalogue products.csv "
        "--catalogue-item sku.",
        show_default=False,
        rich_help_panel=PUBLIC,
    ),
]
CatalogueLabel = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="With --catalogue-item: the column of their labels, such as name, which the release shows in their place. "
        "A label that several items have is shown with the item in brackets.",
        show_default=False,
        rich_help_panel=PUBLIC,
    ),
]
CatalogueQuery = Annotated[
    str | None,
    typer.Option(
        metavar="SELECT",
        help="Where --catalogue is a database: what to read, such as 'select sku, name from products'.",
        show_default=False,
        rich_help_panel=PUBLIC,
    ),
]
ItemsArePublic = Annotated[
    bool,
    typer.Option(
        "--items-are-public",
        help="Take the names of all items in FILE for public, in place of --catalogue. The release states it, and does "
        "not protect them: only where it tells nothing of anybody which items there are. Must be typed.",
        allow_from_autoenv=False,
        rich_help_panel=PUBLIC,
    ),
]


# -------------------- engine options
# The options that say what reads and counts: this machine, or Apache Spark.

_ENGINE_OPTIONS_PANEL = "Where it is counted"

EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="local|spark",
        help="What reads and counts: this machine, or Apache Spark (extra spark, and Java 17), where FILE may be the "
        "name of a table, too. The release is the same (docs/spark.md).",
        show_default="local",
        rich_help_panel=_ENGINE_OPTIONS_PANEL,
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="With --engine spark: a setting of the session, such as spark.master=local[4]; may be given several "
        "times. Without it spark-submit, SPARK_REMOTE or spark-defaults.conf decide.",
        show_default=False,
        rich_help_panel=_ENGINE_OPTIONS_PANEL,
    ),
]


def spark_settings(given: list[str] | None) -> dict[str, str] | None:
    """Return settings of Spark given as texts; None for none. Raises ParameterError for what is no setting."""
    if not given:
        return None
    from fim_private.spark.dataframes import settings_of

    return settings_of(given)


# -------------------- mechanism help
# What help texts say of mechanisms, read from the registry when a command is built: to import this costs nothing.


def mechanisms_by_need() -> str:
    """Return every mechanism's name, by what it needs to know."""
    from fim_private.mechanisms.registry import MECHANISMS, BasketCap, UniverseNeed

    unlisted = [spec for spec in MECHANISMS.values() if spec.universe is UniverseNeed.UNKNOWN]
    capped = [spec.name for spec in unlisted if spec.basket_cap is BasketCap.NEEDED]
    names = [spec.name for spec in unlisted if spec.name not in capped]
    names += [f"{name} (with --max-basket)" for name in capped]
    listed = [spec.name for spec in MECHANISMS.values() if spec not in unlisted]
    return (
        "auto: levelwise for several itemsets; for one, and for a few of users, limited-domain, or exponential over a "
        "list; permute-and-flip without delta. "
        f"No item universe needed: {', '.join(names)}. Over a public one: {', '.join(listed)}."
    )


def what_max_rank_caps() -> str:
    """Return what a cap on ranks is to those that have one."""
    from fim_private.mechanisms.registry import MECHANISMS, RankCap

    ranked = [spec for spec in MECHANISMS.values() if spec.rank_cap is not RankCap.NONE]
    searches, others = (
        " and ".join(spec.name for spec in ranked if spec.searches is search) for search in (True, False)
    )
    most = f"{options.MAX_RANK:,}"
    return f"Public cap on the rank search of {searches} ({most}), or on the candidates of {others} ({most})."


def whom_max_basket_serves() -> str:
    """Return the mechanisms that make use of a cap on baskets: first those that need it."""
    from fim_private.mechanisms.registry import MECHANISMS, BasketCap

    caps = (BasketCap.NEEDED, BasketCap.OPTIONAL)
    return " and ".join(spec.name for cap in caps for spec in MECHANISMS.values() if spec.basket_cap is cap)


def some_mechanisms() -> str:
    """Return the first names that an audit takes."""
    from fim_private.mechanisms.registry import single

    return ", ".join([*single()][:3])
