"""Every option, declared once, in a class with those that go together.

Its type and its help are in an annotation. Help spells options as the command line does.
{mechanisms}, {ranked}, {capped} and {audited} are names of the registry.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar

from fim_private.dp.neighbors import Neighbors

# Defaults that others need by name.
SIZE = 2
TOP = 1
# that reach a least support: by levelwise, and picked one by one
TOP_REACHING, TOP_PICKED_REACHING = 1_000, 100
MECHANISM = "auto"
# What OpenDP, Tumult and PipelineDP mean by ε: it hides how many units there are. "replace-one" is
# that of the paper.
NEIGHBORS = Neighbors.ADD_REMOVE.value
EPSILON = 1.0
DELTA = 1e-6
MAX_RANK = 10_000  # the public cap on ranks, and on candidates
BLOCKS, VOTES = 100, 2
# Steps of counting: some minutes on one core. Requests that are out of reach are out of it by
# factors of thousands.
MAX_WORK = 10**11
CONFIDENCE = 0.95
AUDIT_MECHANISM = "large-margin"
PLANNED_TOPS = (10, 50, 100)  # of how many itemsets, where several are planned for
AUDIT_TRIALS, AUDIT_SEED = 200, 0

# What help gathers options under.
ASKED, BUDGET, PUBLIC, WRITTEN = (
    "What to release",
    "Privacy",
    "Mechanism, and what is public",
    "Output",
)
READ, COUNTS = "How to read FILE", "What counts (public: the release states it)"
COUNTED = "Where to count"
PLANNED, AUDITED, OF, SHOWN = (
    "What to plan for",
    "What to audit",
    "What it is a budget of",
    "What to show",
)

ReleaseFormat = StrEnum(
    "ReleaseFormat", ["TABLE", "JSON", "CSV", "XLSX", "MARKDOWN", "PARQUET", "SVG"]
)
TextFormat = StrEnum("TextFormat", ["TABLE", "JSON"])
RELATIONS = tuple(relation.value for relation in Neighbors)
UNITS = ("basket", "user")
PERIODS = ("day", "week", "month", "quarter", "year")
SPELLED = {"start": "from", "end": "to"}  # on the command line, where Python has those words itself


@dataclass
class Option:
    """What is declared of an option beside its name and the type that the library takes.

    panel: what help gathers it under. default: ... where it must be given. typed: its type on the
    command line; None for the library's own. values: those that shells complete, or which names of
    the registry. spelled: how it is typed, if not as its name. shown: the default in help, if that
    is None. must_be_typed: not in a file or the environment.
    """

    panel: str = ""
    default: Any = None
    typed: Any = str
    metavar: str | None = None
    values: tuple[str, ...] | str = ()
    spelled: str | None = None
    shown: str | bool = True
    must_be_typed: bool = False
    help: str = ""


_Function = TypeVar("_Function", bound=Callable[..., Any])


class ReadingOptions(TypedDict, total=False):
    """How purchases are read."""

    user: Annotated[
        str | None,
        Option(
            READ,
            metavar="COLUMN",
            help=(
                "Column of the customer. It protects all baskets of a user together, not each "
                "basket by itself."
            ),
        ),
    ]
    basket: Annotated[
        str | Sequence[str] | None,
        Option(
            READ,
            typed=list[str],
            metavar="COLUMN",
            help=(
                "Column of the basket id, where a row is one item. Repeat it if several columns "
                "name a basket, such as customer and date."
            ),
        ),
    ]
    item: Annotated[
        str | Sequence[str] | None,
        Option(
            READ,
            typed=list[str],
            metavar="COLUMN",
            help=(
                "Column of the item, where a row is one item: the product, or a coarser level "
                "such as the department. Repeat it if several columns name an item, such as "
                "department and brand."
            ),
        ),
    ]
    items: Annotated[
        str | None,
        Option(
            READ,
            metavar="COLUMN",
            help=(
                "Column with the list of items, where a row is a basket. It is guessed if there "
                "is exactly one."
            ),
        ),
    ]
    split: Annotated[
        str | None,
        Option(
            READ,
            metavar="CHARACTER",
            help=(
                "Where to cut each cell of the item column, such as ',' or tab. Use it where a "
                "cell is a list, such as 'a, b' or ['a', 'b']. If no column is named, each line "
                "of a text is cut so."
            ),
        ),
    ]
    fold_case: Annotated[
        bool,
        Option(
            READ,
            False,
            bool,
            help=(
                "Write all items in small letters, without white space around them. Items that "
                "differ only in these become one, also in your lists."
            ),
        ),
    ]
    missing_user: Annotated[
        str | None,
        Option(
            READ,
            metavar="drop|own-unit",
            values=("drop", "own-unit"),
            help=(
                "Rows without a user: drop leaves them out; own-unit makes each of their "
                "baskets a unit."
            ),
        ),
    ]
    delimiter: Annotated[
        str | None,
        Option(
            READ,
            metavar="CHARACTER",
            help=(
                "What separates the fields of a text, such as ';' or tab. By default it is "
                "found in the first line if you name columns; else comma in .csv, tab in .tsv."
            ),
        ),
    ]
    header: Annotated[
        bool | None,
        Option(
            READ,
            typed=bool,
            spelled="--header/--no-header",
            help=(
                "Whether the first line of a text names the columns. Without a header they are "
                "called 1, 2, ..."
            ),
        ),
    ]
    encoding: Annotated[
        str | None,
        Option(
            READ,
            metavar="NAME",
            help=(
                "Encoding of a text, such as cp1252. By default UTF-8, or what its byte order "
                "mark says."
            ),
        ),
    ]
    input_format: Annotated[
        str | None,
        Option(
            READ,
            metavar="FORM",
            values=("long", "wide", "one-hot", "lines", "fimi", "spmf", "jsonl"),
            help=(
                "long (a row is an item), wide (items in several columns), one-hot (a column "
                "per item). For text also lines, fimi, spmf or jsonl. Needed only if several "
                "fit."
            ),
        ),
    ]
    skip_rows: Annotated[
        int | None,
        Option(
            READ,
            typed=int,
            metavar="N",
            help=(
                "Skip the first N lines of a text, or rows of a sheet, such as a title above "
                "the table."
            ),
        ),
    ]
    query: Annotated[
        str | None,
        Option(
            READ,
            metavar="SELECT",
            help=(
                "For a database: what to read, such as 'select customer_id, order_id, product "
                "from sales'. Put the password into PGPASSWORD or a service file."
            ),
        ),
    ]
    where: Annotated[
        Any,
        Option(
            READ,
            metavar="CONDITION",
            help=(
                "Read only rows that satisfy a condition, such as \"country = 'France' and date "
                ">= '2011-01-01'\"; also in (...), between, like '%tea%', is null, or, not. It "
                "is public: the release states it."
            ),
        ),
    ]
    time_format: Annotated[
        str | None,
        Option(
            READ,
            metavar="FORMAT",
            help=(
                "How texts of --time, and those that --where compares with a date, are written, "
                "such as '%d/%m/%Y'. By default ISO 8601, or days with dots: 31.1.2026. "
                "`inspect` finds it."
            ),
        ),
    ]
    max_memory: Annotated[
        int | str | None,
        Option(
            READ,
            metavar="SIZE",
            help=(
                "Refuse data that need more memory than this: 4GB, 500MB, or bytes. By default "
                "four fifths of this machine's."
            ),
        ),
    ]


class BasketOptions(TypedDict, total=False):
    """What of the baskets counts."""

    min_basket: Annotated[
        int | None,
        Option(
            COUNTS,
            typed=int,
            metavar="N",
            help="Count a basket of fewer than N different items as empty.",
        ),
    ]
    together: Annotated[
        str | None,
        Option(
            COUNTS,
            metavar="basket|user",
            values=UNITS,
            help=(
                "Where an itemset must be together: in one basket, or anywhere in what a user "
                "ever bought (--user). By default basket; with --rules and --user it is user, "
                "which counts more."
            ),
        ),
    ]


class ExcludeOptions(TypedDict, total=False):
    """Which items are left out."""

    exclude: Annotated[
        Any,
        Option(
            COUNTS,
            metavar="FILE",
            help=(
                "Public list of items to leave out, such as postage and bags: a file with one a "
                "line, or a column."
            ),
        ),
    ]


class BudgetOptions(TypedDict, total=False):
    """What a release may spend."""

    epsilon: Annotated[
        float | Fraction | None,
        Option(
            BUDGET, typed=float, shown=str(EPSILON), help="Privacy loss; smaller is more private."
        ),
    ]
    delta: Annotated[
        float | Fraction,
        Option(
            BUDGET,
            DELTA,
            float,
            help=(
                "Probability with which the guarantee may fail. Keep it far below 1 / baskets "
                "(or users). With 0 you need a public list of items."
            ),
        ),
    ]
    neighbors: Annotated[
        str,
        Option(
            BUDGET,
            NEIGHBORS,
            values=RELATIONS,
            help=(
                "What is hidden: whether one basket (or user) is there (add-remove), or what it "
                "holds (replace-one)."
            ),
        ),
    ]


class RhoOption(TypedDict, total=False):
    """What a release may spend in zCDP."""

    rho: Annotated[
        float | Fraction | None,
        Option(
            BUDGET,
            typed=float,
            help=(
                "The budget as ρ of zero-concentrated privacy (zCDP), instead of --epsilon. The "
                "release states the ε that follows."
            ),
        ),
    ]


class RhoOptions(RhoOption, total=False):
    """What a release may spend in zCDP, and whether on the number of units."""

    count: Annotated[
        bool,
        Option(
            ASKED,
            False,
            bool,
            help=(
                "Release the number of baskets (or users), so that supports are shares. It is "
                "free if supports have normal noise; otherwise it takes 5 % of the budget."
            ),
        ),
    ]


class LedgerOptions(TypedDict, total=False):
    """What a release is charged to; and what makes it predictable."""

    ledger: Annotated[
        Any,
        Option(
            BUDGET,
            metavar="FILE",
            help=(
                "Charge the release to this ledger before the data is used. The ledger refuses "
                "what would overspend it. Make one with `fim-private budget create`."
            ),
        ),
    ]
    dataset: Annotated[
        str | None,
        Option(
            BUDGET,
            metavar="NAME",
            help=(
                "With --ledger: your name for the data. Use one name for all files about the "
                "same people."
            ),
        ),
    ]
    seed: Annotated[
        int | None,
        Option(
            BUDGET,
            typed=int,
            must_be_typed=True,
            help=(
                "For tests and benchmarks only: the output becomes predictable, and so is not "
                "private. Must be typed."
            ),
        ),
    ]
    progress: Annotated[
        Callable[[float], object] | None,
        Option(
            typed=None,
            help=(
                "A function that is called now and then with the fraction done of the present "
                "pass, 0 to 1."
            ),
        ),
    ]


class EngineOptions(TypedDict, total=False):
    """What counts, and for how long."""

    max_work: Annotated[
        int,
        Option(
            PUBLIC,
            MAX_WORK,
            int,
            metavar="STEPS",
            help=(
                "Give up if counting takes more steps than this. 10 billion take about half a "
                "minute."
            ),
        ),
    ]
    engine: Annotated[
        str | None,
        Option(
            COUNTED,
            metavar="local|spark|sql",
            shown="local",
            help=(
                "What reads and counts: this machine, Apache Spark (extra spark, and Java 17), "
                "or a database (extra warehouse). With spark FILE may also name a table; with "
                "sql no rows leave the database. The release is the same."
            ),
        ),
    ]
    table: Annotated[
        str | None,
        Option(
            COUNTED,
            metavar="NAME",
            help=(
                "With --engine sql: the table, or the view, of the database that FILE names, as "
                "schema.table or table. A view counts as a query."
            ),
        ),
    ]
    spark_conf: Annotated[
        Mapping[str, str] | None,
        Option(
            COUNTED,
            typed=list[str],
            metavar="NAME=VALUE",
            help=(
                "With --engine spark: a setting of the session, such as spark.master=local[4]; "
                "repeat it for more. Otherwise spark-submit, SPARK_REMOTE or "
                "spark-defaults.conf decide."
            ),
        ),
    ]


class AskedOptions(TypedDict, total=False):
    """Which itemsets are wanted."""

    size: Annotated[
        int | str | Iterable[int],
        Option(
            ASKED,
            SIZE,
            metavar="N or N-M",
            help="Items per itemset, or a range of sizes, such as 2-4.",
        ),
    ]
    top: Annotated[
        int | None,
        Option(
            ASKED,
            typed=int,
            shown=str(TOP),
            help=(
                "How many itemsets, of each size. With --min-support it is the limit for all "
                "sizes: 1,000, or 100 if they are picked one by one."
            ),
        ),
    ]
    min_support: Annotated[
        float | int | Fraction | str | None,
        Option(
            ASKED,
            metavar="SHARE or N",
            help=(
                "Itemsets with at least this support, instead of the most frequent: 0.02 or 2% "
                "of all baskets (or users), or 500 of them. A ? marks those that may have less: "
                "of itemsets below, at most 2.5 % have none."
            ),
        ),
    ]
    union: Annotated[
        bool,
        Option(
            ASKED,
            False,
            bool,
            help="With a range of sizes: rank the itemsets of all sizes together.",
        ),
    ]
    supports: Annotated[
        bool | None,
        Option(
            ASKED,
            typed=bool,
            spelled="--supports/--no-supports",
            shown="with --top",
            help=(
                "Release noisy supports with 95 % intervals. This is the default if --top is "
                "above 1."
            ),
        ),
    ]
    supports_share: Annotated[
        float | Fraction | None,
        Option(
            ASKED,
            typed=float,
            help=(
                "Share of the budget for --supports. By default 0.1 with levelwise and for few "
                "itemsets of users (0.15 with --neighbors replace-one, 0.4 with --min-support); "
                "else, and for --rules, 1/3."
            ),
        ),
    ]
    keep_all: Annotated[
        bool,
        Option(
            ASKED,
            False,
            bool,
            help="Keep itemsets whose noisy support does not stand out from zero.",
        ),
    ]


class RulesOption(TypedDict, total=False):
    """Whether rules are wanted."""

    rules: Annotated[
        bool,
        Option(
            ASKED,
            False,
            bool,
            help=(
                "Release association rules too, surest first, with intervals. This also "
                "releases the supports of all subsets and the number of baskets (or users)."
            ),
        ),
    ]


class CapOptions(TypedDict, total=False):
    """Public numbers."""

    universe_size: Annotated[
        int | None,
        Option(
            PUBLIC, typed=int, help="Public number of items, for exponential without a catalogue."
        ),
    ]
    max_rank: Annotated[int | None, Option(PUBLIC, typed=int, help="Public cap on {ranked}.")]
    max_basket: Annotated[
        int | None,
        Option(
            PUBLIC,
            typed=int,
            help=(
                "Public cap on the items of a basket, for {capped}. The first items in label "
                "order count."
            ),
        ),
    ]
    max_baskets: Annotated[
        int | None,
        Option(
            PUBLIC,
            typed=int,
            help=(
                "With --max-basket and --user: public cap on the different baskets of a user. "
                "They are drawn by their content."
            ),
        ),
    ]


class MechanismOptions(TypedDict, total=False):
    """Which mechanism, and which items are public."""

    mechanism: Annotated[
        str,
        Option(
            PUBLIC,
            MECHANISM,
            values="names",
            help="{mechanisms}. Compare them with `fim-private plan`.",
        ),
    ]
    catalogue: Annotated[
        Any,
        Option(
            PUBLIC,
            metavar="FILE",
            help=(
                "Public list of all items. It finds more, above all with --user. Give text with "
                "one item a line, a folder of these, an earlier release, or with "
                "--catalogue-item a table or database."
            ),
        ),
    ]
    catalogue_item: Annotated[
        str | None,
        Option(
            PUBLIC,
            metavar="COLUMN",
            help="With --catalogue: the column of the items as FILE has them, such as sku.",
        ),
    ]
    catalogue_label: Annotated[
        str | None,
        Option(
            PUBLIC,
            metavar="COLUMN",
            help=(
                "With --catalogue-item: the column of labels, such as name, that the release "
                "shows instead. If several items share a label, it shows the item in brackets "
                "too."
            ),
        ),
    ]
    catalogue_query: Annotated[
        str | None,
        Option(
            PUBLIC,
            metavar="SELECT",
            help=(
                "If --catalogue is a database: what to read, such as 'select sku, name from "
                "products'."
            ),
        ),
    ]
    items_are_public: Annotated[
        bool,
        Option(
            PUBLIC,
            False,
            bool,
            must_be_typed=True,
            help=(
                "Treat the names of all items in FILE as public, instead of --catalogue. They "
                "are then not protected: the guarantee is among data with the same list of "
                "items. Safe only if no name reveals anything. Must be typed."
            ),
        ),
    ]
    known: Annotated[
        Any,
        Option(
            PUBLIC,
            metavar="FILE",
            help=(
                "An earlier release, or a list of itemsets. Their items need not be found "
                "again, and each itemset gets its support. It finds more, above all with --user."
            ),
        ),
    ]


class TimeOptions(TypedDict, total=False):
    """Which periods are read."""

    time: Annotated[
        str | None,
        Option(
            COUNTS,
            metavar="COLUMN",
            help=(
                "Column of the time of each row: a date, a timestamp, or text such as "
                "2026-11-16. A basket belongs to the day of its earliest row."
            ),
        ),
    ]
    period: Annotated[
        str | None,
        Option(
            COUNTS,
            metavar="PERIOD",
            help=(
                "One period: 2026, 2026-Q4, 2026-11, 2026-W46 (ISO week) or 2026-11-16. Or day, "
                "week, month, quarter or year: each of those in --periods. Give the whole "
                "table, and let --period choose: a ledger charges a view or a query to all "
                "periods."
            ),
        ),
    ]
    start: Annotated[
        str | None,
        Option(
            COUNTS,
            metavar="DAY",
            spelled=f"--{SPELLED['start']}",
            help="First day of one period, instead of --period.",
        ),
    ]
    end: Annotated[
        str | None,
        Option(
            COUNTS, metavar="DAY", spelled=f"--{SPELLED['end']}", help="Last day of that period."
        ),
    ]
    per: Annotated[
        str | None,
        Option(
            COUNTS,
            metavar="KIND",
            values=PERIODS,
            help=(
                "With --user: protect what a customer buys in any one day, week, month, quarter "
                "or year, not for good."
            ),
        ),
    ]
    missing_time: Annotated[
        str | None,
        Option(
            COUNTS,
            metavar="drop",
            values=("drop",),
            help="drop leaves out rows without a time. Otherwise they are an error.",
        ),
    ]


class InspectOptions(ReadingOptions, TimeOptions, total=False):
    """The options of `inspect`."""


class CountOptions(
    BudgetOptions,
    RhoOption,
    ReadingOptions,
    TimeOptions,
    BasketOptions,
    EngineOptions,
    LedgerOptions,
    total=False,
):
    """The options of `count`."""

    count: Annotated[
        bool,
        Option(
            ASKED,
            True,
            bool,
            spelled="--count/--no-count",
            help=(
                "Whether to release the number of baskets (or users), so that supports are "
                "shares. It is free if supports have normal noise; otherwise it takes 5 % of "
                "the budget."
            ),
        ),
    ]


class RequestOptions(
    AskedOptions, RulesOption, CapOptions, MechanismOptions, BudgetOptions, RhoOptions, total=False
):
    """What of the options of `mine` makes its request, and what of it a ledger records."""


class MineOptions(
    AskedOptions,
    RulesOption,
    CapOptions,
    MechanismOptions,
    BudgetOptions,
    RhoOptions,
    ReadingOptions,
    TimeOptions,
    BasketOptions,
    EngineOptions,
    LedgerOptions,
    ExcludeOptions,
    total=False,
):
    """The options of `mine`, without those of segments."""


class SegmentOptions(TypedDict, total=False):
    """Segments, each with its own release."""

    by: Annotated[
        str | None,
        Option(
            COUNTS,
            metavar="COLUMN",
            help=(
                "Column of segments, such as stores. Each segment gets its own release, all "
                "under one budget."
            ),
        ),
    ]
    segments: Annotated[
        Any,
        Option(
            COUNTS,
            metavar="A,B,...",
            help="With --by: a public list of segments. Rows of other segments are not read.",
        ),
    ]
    max_segments: Annotated[
        int | None,
        Option(
            COUNTS,
            typed=int,
            metavar="N",
            help=(
                "How many segments a basket (or user) counts in at most: those with most of its "
                "baskets. Each release gets 1/N of the budget. By default N is 1."
            ),
        ),
    ]


class PeriodsOption(TypedDict, total=False):
    """Whether each period has a release of its own."""

    periods: Annotated[
        Any,
        Option(
            COUNTS,
            metavar="A..B",
            help=(
                "With --time: a release of each of these, such as 2026-W40..2026-W46 or "
                "2026-10,2026-11."
            ),
        ),
    ]


class RuleLimits(TypedDict, total=False):
    """Which rules are shown."""

    min_confidence: Annotated[
        float | None,
        Option(
            ASKED, typed=float, help="With --rules: leave out rules of lower confidence, 0 to 1."
        ),
    ]
    min_lift: Annotated[
        float | None,
        Option(ASKED, typed=float, help="With --rules: leave out rules of lower lift."),
    ]


class ReleaseOutput(TypedDict, total=False):
    """Where a release is written, and how."""

    format: Annotated[
        ReleaseFormat | None,
        Option(
            WRITTEN,
            typed=ReleaseFormat,
            metavar="FORM",
            shown="table",
            help=(
                "table, json (or --json), csv, xlsx (Excel; extra excel), markdown, parquet or "
                "svg (a picture). By default it follows the ending of --output. In csv, text "
                "that a spreadsheet would run has an apostrophe in front."
            ),
        ),
    ]
    output: Annotated[
        Path | None,
        Option(
            WRITTEN,
            typed=Path,
            metavar="FILE",
            help=(
                "Write to this file instead of the screen. It ends in .txt, .json, .csv, .xlsx, "
                ".md, .parquet, .pq or .svg."
            ),
        ),
    ]


class TextOutput(TypedDict, total=False):
    """Where a text is written, and how."""

    format: Annotated[
        TextFormat | None,
        Option(
            WRITTEN,
            typed=TextFormat,
            help=(
                "table or json (or --json). By default a table, or JSON if --output ends in .json."
            ),
        ),
    ]
    output: Annotated[
        Path | None,
        Option(
            WRITTEN,
            typed=Path,
            metavar="FILE",
            help="Write to this file instead of the screen. It ends in .txt or .json.",
        ),
    ]


class TitleOption(TypedDict, total=False):
    """What a page is called."""

    title: Annotated[
        str | None,
        Option(
            WRITTEN,
            metavar="TEXT",
            shown="What is bought together",
            help="What stands on top of the page, such as 'Corner shop, spring'.",
        ),
    ]


class PageOption(TitleOption, total=False):
    """A page beside the output."""

    report: Annotated[
        Path | None,
        Option(
            WRITTEN, typed=Path, metavar="FILE", help="Also write a page of HTML that you can show."
        ),
    ]


class EmptyOption(TypedDict, total=False):
    """What becomes of a release without itemsets."""

    fail_if_empty: Annotated[
        bool,
        Option(
            WRITTEN,
            False,
            bool,
            help=(
                "Exit with code 4 if nothing came out. The output is written and the budget is "
                "spent all the same."
            ),
        ),
    ]


class DryRunOption(TypedDict, total=False):
    """Whether anything is run."""

    dry_run: Annotated[
        bool,
        Option(
            WRITTEN,
            False,
            bool,
            help=(
                "With --engine sql: print the queries that would be sent. Nothing is charged, "
                "and nothing is released."
            ),
        ),
    ]


class PageOutput(TitleOption, total=False):
    """Where a page is written."""

    output: Annotated[
        Path | None,
        Option(
            WRITTEN,
            typed=Path,
            metavar="FILE",
            help=(
                "Write the page here. By default it stands beside the release, with the ending "
                ".html."
            ),
        ),
    ]


class ChangeOptions(TypedDict, total=False):
    """Which changes are shown."""

    between: Annotated[
        str | None,
        Option(
            SHOWN,
            metavar="ONE,OTHER",
            help=(
                "Of one release of several segments or periods: the two to compare, such as "
                "north,south."
            ),
        ),
    ]
    keep_all: Annotated[
        bool, Option(SHOWN, False, bool, help="Also show differences that may be noise.")
    ]


class OtherUnitOption(TypedDict, total=False):
    """What a ledger takes."""

    allow_other_unit: Annotated[
        bool,
        Option(
            BUDGET,
            False,
            bool,
            must_be_typed=True,
            help=(
                "With --ledger: accept another column of --user, --basket or (with --per) "
                "--time than that of its first release, because both name the same units. Must "
                "be typed."
            ),
        ),
    ]
    again: Annotated[
        bool,
        Option(
            BUDGET,
            False,
            bool,
            must_be_typed=True,
            help=(
                "With --ledger: spend the budget again, though the same request was charged "
                "before for the same period. Must be typed."
            ),
        ),
    ]


class GivenOptions(TypedDict, total=False):
    """What `count` counts."""

    itemsets: Annotated[
        Any,
        Option(
            ASKED,
            ...,
            metavar="FILE",
            help=(
                "Public list of itemsets: text with one a line, items separated by commas "
                "(.csv) or spaces (.dat, .txt). Or a release (.json), or a table as mlxtend and "
                "arules write it. A table has a column itemsets or items, or the two sides of "
                "rules."
            ),
        ),
    ]


class QuestionOptions(TypedDict, total=False):
    """What a vote answers."""

    question: Annotated[
        str,
        Option(
            ASKED,
            ...,
            metavar="NAME",
            values=("highest-lift", "highest-confidence", "most-frequent"),
            help=(
                "highest-lift (a pair of items), highest-confidence (a rule of two items) or "
                "most-frequent (an itemset of --size)."
            ),
        ),
    ]
    min_share: Annotated[
        str | None,
        Option(
            ASKED,
            metavar="SHARE",
            help=(
                "For highest-lift and highest-confidence: ask only about pairs with at least "
                "this share of a block, 0.04 or 4%."
            ),
        ),
    ]
    size: Annotated[
        int | None,
        Option(ASKED, typed=int, help="For most-frequent: items per itemset, by default 2."),
    ]


class VoteOptions(
    BudgetOptions, ReadingOptions, ExcludeOptions, BasketOptions, LedgerOptions, total=False
):
    """The options of `vote`."""

    blocks: Annotated[
        int,
        Option(
            PUBLIC, BLOCKS, int, help="Number of blocks that the baskets (or users) are dealt to."
        ),
    ]
    votes: Annotated[
        int | None,
        Option(
            PUBLIC,
            typed=int,
            shown=str(VOTES),
            help="Number of its best answers that each block names.",
        ),
    ]


class PlanOptions(BudgetOptions, CapOptions, total=False):
    """What `plan` plans for, without users."""

    units: Annotated[
        int | None,
        Option(PLANNED, typed=int, help="Number of baskets (or users), if that is public."),
    ]
    size: Annotated[
        int | str | Iterable[int],
        Option(
            PLANNED,
            str(SIZE),
            metavar="SIZE",
            help="Items per itemset; for many itemsets also a range, such as 2-4.",
        ),
    ]
    top: Annotated[
        int | Iterable[int] | None,
        Option(
            PLANNED,
            metavar="K1,K2,…",
            help="Number of itemsets to plan for. With --typical-basket alone: 10, 50, 100.",
        ),
    ]
    typical_basket: Annotated[
        float | None,
        Option(
            PLANNED,
            typed=float,
            help="For many itemsets: your public guess of the items in a basket.",
        ),
    ]
    union: Annotated[
        bool,
        Option(PLANNED, False, bool, help="For many itemsets of several sizes: rank all together."),
    ]
    supports: Annotated[
        bool | None,
        Option(
            PLANNED,
            typed=bool,
            spelled="--supports/--no-supports",
            shown="with --top",
            help=(
                "For many itemsets: with noisy supports; shows how far off they are. This is "
                "the default if --top is above 1."
            ),
        ),
    ]
    confidence: Annotated[
        float,
        Option(
            PLANNED, CONFIDENCE, float, help="Probability with which an itemset is to be found."
        ),
    ]


class PlannedUsers(TypedDict, total=False):
    """Whether it is for users."""

    user_items: Annotated[
        float | None,
        Option(
            PLANNED,
            typed=float,
            help=(
                "For customers: how many different items each has bought, on average. It shows "
                "which share of the top 50 (or --top) you will find."
            ),
        ),
    ]


class PlanFigure(TypedDict, total=False):
    """What is drawn."""

    epsilons: Annotated[
        str | None,
        Option(WRITTEN, metavar="E1,E2,…", help="With --figure: the privacy losses to compare."),
    ]
    figure: Annotated[
        Path | None,
        Option(
            WRITTEN,
            typed=Path,
            metavar="FILE",
            help="Draw what each mechanism needs, against ε or against --top (.png, .svg, .pdf).",
        ),
    ]


class AuditOptions(TypedDict, total=False):
    """What is audited."""

    mechanism: Annotated[
        str,
        Option(
            AUDITED,
            AUDIT_MECHANISM,
            values="names audited",
            help="{audited}, … or all of them (all).",
        ),
    ]
    trials: Annotated[
        int,
        Option(
            AUDITED,
            AUDIT_TRIALS,
            int,
            help="How many more pairs of neighbours a random search tries.",
        ),
    ]
    seed: Annotated[
        int,
        Option(
            AUDITED, AUDIT_SEED, int, help="Seed of that search. The audit itself has no noise."
        ),
    ]


class LedgerLimit(TypedDict, total=False):
    """What a new ledger allows, and of what."""

    epsilon: Annotated[
        float | None,
        Option(BUDGET, typed=float, help="Privacy loss of all releases together, at most."),
    ]
    delta: Annotated[
        float,
        Option(
            BUDGET,
            ...,
            float,
            help="Probability with which the guarantee of all releases together may fail.",
        ),
    ]
    rho: Annotated[
        float | None,
        Option(
            BUDGET,
            typed=float,
            help=(
                "With --delta: the limit as ρ of zCDP, instead of --epsilon. The ledger shows "
                "the ε that follows."
            ),
        ),
    ]
    composition: Annotated[
        str | None,
        Option(
            BUDGET,
            metavar="zcdp|basic",
            values=("zcdp", "basic"),
            shown="zcdp, where delta is above 0",
            help=(
                "How releases add up: in zCDP, which allows more of them and needs a δ, or as "
                "sums of ε and of δ (basic)."
            ),
        ),
    ]
    dataset: Annotated[
        str | None,
        Option(
            OF, metavar="NAME", help="Your name for the data. By default that of the first release."
        ),
    ]
    neighbors: Annotated[
        str | None,
        Option(
            OF,
            metavar="add-remove|replace-one",
            values=RELATIONS,
            help="Neighbour relation of its releases. By default that of the first release.",
        ),
    ]
    unit: Annotated[
        str | None,
        Option(
            OF,
            metavar="basket|user",
            values=UNITS,
            help=(
                "What its releases protect, a basket or a user. By default that of the first "
                "release."
            ),
        ),
    ]
    per: Annotated[
        str | None,
        Option(
            OF,
            metavar="KIND",
            values=PERIODS,
            help=(
                "Protect what a customer buys in any one day, week, month, quarter or year, not "
                "the customer for good. Each has the whole budget."
            ),
        ),
    ]
    renew: Annotated[
        bool,
        Option(
            OF,
            False,
            bool,
            must_be_typed=True,
            help=(
                "Begin the ledger FILE anew. The old one is kept beside it, and takes no more "
                "charges. The promise stays the same, unless you give another one."
            ),
        ),
    ]


class VerifyOption(TypedDict, total=False):
    """Which entries are checked."""

    verify: Annotated[
        bool,
        Option(
            SHOWN,
            False,
            bool,
            help=(
                "Verify every entry, not only those that are new since this machine last used "
                "the ledger."
            ),
        ),
    ]


# -------------------- reading the declarations


def options_of(*kinds: type) -> dict[str, Option]:
    """Return the options of classes of them, by name; of one name the last, where the first of them
    stands.
    """
    return {
        name: hint.__metadata__[0] for kind in kinds for name, hint in kind.__annotations__.items()
    }


# What mlxtend calls an option: what it is here.
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
    """Raise TypeError if there are any names: keywords that a function of the library does not
    take.
    """
    for name in sorted(names):
        ours = f"; that is mlxtend's name: {_OF_MLXTEND[name]}" if name in _OF_MLXTEND else ""
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{ours}")


def filled(function: str, kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of a function of the library: those given, the others by default;
    TypeError for others.
    """
    declared = options_of(kind)
    refuse_unknown(function, given.keys() - declared.keys())
    return {name: given.get(name, option.default) for name, option in declared.items()}


def takes(*kinds: type) -> Callable[[_Function], _Function]:
    """Return a decorator of a function of the library with **options: help() shows these
    options.
    """

    def shown(function: _Function) -> _Function:
        lines = [inspect.cleandoc(function.__doc__ or ""), "", "Options:"]
        parameters = {
            one.name: one
            for one in inspect.signature(function).parameters.values()
            if one.kind < one.VAR_KEYWORD
        }
        for name, hint in (hint for kind in kinds for hint in kind.__annotations__.items()):
            option, keyword = hint.__metadata__[0], inspect.Parameter.KEYWORD_ONLY
            declared = inspect.Parameter(
                name, keyword, default=option.default, annotation=hint.__origin__
            )
            parameters.setdefault(name, declared)
            # As Python names them, not as they are typed.
            text = re.sub(
                r"(?<![\w-])--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), option.help
            )
            text = re.sub(r"\{\w+\}", "those of fim_private.mechanisms.registry", text)
            lines.append(f"    {name}: {text.replace(' Must be typed.', '')}")
        function.__signature__ = inspect.Signature([*parameters.values()])  # type: ignore[attr-defined]
        function.__doc__ = "\n".join(lines)
        return function

    return shown
