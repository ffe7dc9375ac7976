"""Every option, declared once, in a class of those that go together: types and the rest in annotations, help in its
docstring, spelled as it is typed. There {mechanisms}, {ranked}, {capped} and {audited} are names of the registry.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar, is_typeddict

# Defaults that others need by name.
SIZE = 2
TOP = 1
TOP_REACHING, TOP_PICKED_REACHING = 1_000, 100  # that reach a least support: by levelwise, and picked one by one
MECHANISM = "auto"
# What OpenDP, Tumult and PipelineDP mean by ε: it hides how many units there are. "replace-one" is that of the paper.
NEIGHBORS = "add-remove"
EPSILON = 1.0
DELTA = 1e-6
MAX_RANK = 10_000  # the public cap on ranks, and on candidates
BLOCKS, VOTES = 100, 2
# Steps of counting: some minutes on one core. Requests that are out of reach are out of it by factors of thousands.
MAX_WORK = 10**11
CONFIDENCE = 0.95
AUDIT_MECHANISM = "large-margin"
PLANNED_TOPS = (10, 50, 100)  # of how many itemsets, where several are planned for
AUDIT_TRIALS, AUDIT_SEED = 200, 0

# What help gathers options under.
ASKED, BUDGET, PUBLIC, WRITTEN = "What to release", "Privacy", "Mechanism, and what is public", "How to write it"
READ, COUNTS = "How to read FILE", "What counts (public choices, which the release states)"
COUNTED = "Where it is counted"
PLANNED, AUDITED, OF, SHOWN = "What to plan for", "What to audit", "What it is a budget of", "What is looked at"

ReleaseFormat = StrEnum("ReleaseFormat", ["TABLE", "JSON", "CSV", "MARKDOWN", "PARQUET", "SVG"])
TextFormat = StrEnum("TextFormat", ["TABLE", "JSON"])
RELATIONS = ("replace-one", "add-remove")
UNITS = ("basket", "user")


@dataclass
class Option:
    """What is declared of an option beside its name and the type that the library takes.

    panel: what help gathers it under. default: ... where it must be given. typed: its type on the command line; None
    for the library's own. values: those that shells complete, or which names of the registry. spelled: how it is typed,
    if not as its name. shown: the default in help, if that is None. must_be_typed: not in a file or the environment.
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
    """How purchases are read.

    user: Column of the customer: protects all baskets of each user together, not each basket by itself.
    basket: Column of the basket id (one row per item). Several name a basket together, such as customer and date.
    item: Column of the item (one row per item), at the level that you want: product, or department. Several name it
        together, such as department and brand.
    items: List column of the items; guessed when there is exactly one.
    split: Each cell of the item column is a list of items, such as 'a, b' or ['a', 'b']: where to cut it, such as ','
        or tab.
    fold_case: Items that differ by capital letters alone, or by white space around them, are one, in small letters; so
        in every list of items that is named.
    missing_user: Rows without a user: leave them out, or take each of their baskets as a unit of its own.
    delimiter: What separates the fields of a text, such as ';' or tab. Where columns are named it is found in the first
        line; else it is the comma in .csv, the tab in .tsv.
    header: Whether the first line of a text names the columns. Without one they are called 1, 2, ...
    encoding: Encoding of a text, such as cp1252; UTF-8 unless it has another's byte order mark.
    input_format: long (a row per item), wide (items in several columns), one-hot (a column per item); of text also
        lines, fimi, spmf or jsonl. Needed only where the file could be read in several forms.
    skip_rows: Leave out the first N lines of a text, or rows of a sheet: what stands above the table, such as a title.
    query: Of a database: what to read, such as 'select customer_id, order_id, product from sales'. The password is
        taken from PGPASSWORD, or from a service file.
    where: Read only rows where it is true, such as "country = 'France' and date >= '2011-01-01'": signs, in (...),
        between, is null, and, or, not. A public choice, which the release states.
    max_memory: Refuse data that take more memory, to be read and counted: 4GB, 500MB, or bytes; four fifths of what
        this machine has unless given.
    """

    user: Annotated[str | None, Option(READ, metavar="COLUMN")]
    basket: Annotated[str | Sequence[str] | None, Option(READ, typed=list[str], metavar="COLUMN")]
    item: Annotated[str | Sequence[str] | None, Option(READ, typed=list[str], metavar="COLUMN")]
    items: Annotated[str | None, Option(READ, metavar="COLUMN")]
    split: Annotated[str | None, Option(READ, metavar="CHARACTER")]
    fold_case: Annotated[bool, Option(READ, False, bool)]
    missing_user: Annotated[str | None, Option(READ, metavar="drop|own-unit", values=("drop", "own-unit"))]
    delimiter: Annotated[str | None, Option(READ, metavar="CHARACTER")]
    header: Annotated[bool | None, Option(READ, typed=bool, spelled="--header/--no-header")]
    encoding: Annotated[str | None, Option(READ, metavar="NAME")]
    input_format: Annotated[
        str | None, Option(READ, metavar="FORM", values=("long", "wide", "one-hot", "lines", "fimi", "spmf", "jsonl"))
    ]
    skip_rows: Annotated[int | None, Option(READ, typed=int, metavar="N")]
    query: Annotated[str | None, Option(READ, metavar="SELECT")]
    where: Annotated[Any, Option(READ, metavar="CONDITION")]
    max_memory: Annotated[int | str | None, Option(READ, metavar="SIZE")]


class BasketOptions(TypedDict, total=False):
    """What of the baskets counts.

    min_basket: Baskets of fewer different items count as empty.
    together: Whether one basket has to contain an itemset, or it is enough that a user (--user) ever had all of it.
        Unless given: user for rules and lifts of users, else basket.
    """

    min_basket: Annotated[int | None, Option(COUNTS, typed=int, metavar="N")]
    together: Annotated[str | None, Option(COUNTS, metavar="basket|user", values=UNITS)]


class ExcludeOptions(TypedDict, total=False):
    """exclude: Public list of items to leave out, such as postage and bags: one a line, or a column."""

    exclude: Annotated[Any, Option(COUNTS, metavar="FILE")]


class BudgetOptions(TypedDict, total=False):
    """What a release may spend.

    epsilon: Privacy loss; smaller is more private.
    delta: Probability allowed to the guarantee's exception; far below 1 / baskets (or users). 0 allows none, and takes
        mechanisms that need a public list.
    neighbors: Hides whether one basket (or user) is there (add-remove), or what it holds (replace-one).
    """

    epsilon: Annotated[float | Fraction | None, Option(BUDGET, typed=float, shown=str(EPSILON))]
    delta: Annotated[float | Fraction, Option(BUDGET, DELTA, float)]
    neighbors: Annotated[str, Option(BUDGET, NEIGHBORS, values=RELATIONS)]


class RhoOptions(TypedDict, total=False):
    """What a release may spend in zCDP, and whether on the number of units.

    rho: The budget as ρ of zero-concentrated privacy (zCDP), instead of --epsilon. The release states the ε that
        follows.
    count: Release how many baskets (or users) there are, so that supports are shares. Supports with normal noise have
        it for nothing; otherwise it takes 5 % of the budget.
    """

    rho: Annotated[float | Fraction | None, Option(BUDGET, typed=float)]
    count: Annotated[bool, Option(ASKED, False, bool)]


class LedgerOptions(TypedDict, total=False):
    """What a release is charged to; and what makes it predictable.

    ledger: Charge the release to this ledger, before anything is computed of the data, and refuse what would overspend
        it (`fim-private budget create` makes one).
    dataset: With --ledger: your name for the data, the same for all files of the same people.
    seed: Tests and benchmarks only: the output is then predictable, not private. Must be typed.
    progress: Called now and then, with the fraction done of the present pass, 0 to 1.
    """

    ledger: Annotated[Any, Option(BUDGET, metavar="FILE")]
    dataset: Annotated[str | None, Option(BUDGET, metavar="NAME")]
    seed: Annotated[int | None, Option(BUDGET, typed=int, must_be_typed=True)]
    progress: Annotated[Callable[[float], object] | None, Option(typed=None)]


class EngineOptions(TypedDict, total=False):
    """What counts, and for how long.

    max_work: Give up on counts that take more steps (half a minute or so for each 10 billion).
    engine: What reads and counts: this machine, or Apache Spark (extra spark, and Java 17), where FILE may be the name
        of a table, too. The release is the same (docs/spark.md).
    spark_conf: With --engine spark: a setting of the session, such as spark.master=local[4]; may be given several
        times. Without it spark-submit, SPARK_REMOTE or spark-defaults.conf decide.
    """

    max_work: Annotated[int, Option(PUBLIC, MAX_WORK, int, metavar="STEPS")]
    engine: Annotated[str | None, Option(COUNTED, metavar="local|spark", shown="local")]
    spark_conf: Annotated[Mapping[str, str] | None, Option(COUNTED, typed=list[str], metavar="NAME=VALUE")]


class AskedOptions(TypedDict, total=False):
    """Which itemsets are wanted.

    size: Items per itemset, or a range of sizes.
    top: How many itemsets (of each size); with --min-support at most how many (of all sizes): 1,000, or 100 where they
        are selected one by one.
    min_support: Not the most frequent, but those that so many have: 0.02 or 2% of all baskets (or users), or 500 of
        them. With noisy supports; what may have less by the noise alone is marked.
    union: With a range of sizes: rank the itemsets of all together.
    supports: Release noisy supports too, with 95 % intervals. With --top above 1 that is the default.
    supports_share: The share of the budget for --supports: 0.1 with levelwise, and with few itemsets of users (0.15
        with --neighbors replace-one, 0.4 with --min-support); else 1/3, also for --rules.
    keep_all: Release itemsets, too, whose noisy support does not stand out from zero.
    """

    size: Annotated[int | str | Iterable[int], Option(ASKED, SIZE, metavar="N or N-M")]
    top: Annotated[int | None, Option(ASKED, typed=int, shown=str(TOP))]
    min_support: Annotated[float | int | Fraction | str | None, Option(ASKED, metavar="SHARE or N")]
    union: Annotated[bool, Option(ASKED, False, bool)]
    supports: Annotated[bool | None, Option(ASKED, typed=bool, spelled="--supports/--no-supports", shown="with --top")]
    supports_share: Annotated[float | Fraction | None, Option(ASKED, typed=float)]
    keep_all: Annotated[bool, Option(ASKED, False, bool)]


class RulesOption(TypedDict, total=False):
    """Whether rules are wanted.

    rules: Association rules too, surest first, with intervals: one release holds the itemsets, the supports of all
        their subsets and the number of baskets (or users). Turns on --supports and --count.
    """

    rules: Annotated[bool, Option(ASKED, False, bool)]


class CapOptions(TypedDict, total=False):
    """Public numbers.

    universe_size: Public number of items, for exponential without a catalogue.
    max_rank: Public cap on {ranked}.
    max_basket: Public cap on a basket's items, for {capped}: the first in label order count.
    max_baskets: With --max-basket and --user: how many different baskets of a user count, drawn by what is in them.
    """

    universe_size: Annotated[int | None, Option(PUBLIC, typed=int)]
    max_rank: Annotated[int | None, Option(PUBLIC, typed=int)]
    max_basket: Annotated[int | None, Option(PUBLIC, typed=int)]
    max_baskets: Annotated[int | None, Option(PUBLIC, typed=int)]


class MechanismOptions(TypedDict, total=False):
    """Which mechanism, and which items are public.

    mechanism: {mechanisms}. plan compares them.
    catalogue: Public list of all items: one a line, a folder of such files, an earlier release, or with
        --catalogue-item any table or database. It finds more, above all of customers.
    catalogue_item: With --catalogue: the column of the items, as they are in FILE, such as sku.
    catalogue_label: With --catalogue-item: the column of their labels, such as name, which the release shows in their
        place. A label that several items have is shown with the item in brackets.
    catalogue_query: Where --catalogue is a database: what to read, such as 'select sku, name from products'.
    items_are_public: Take the names of all items in FILE as public, instead of --catalogue. The release states it and
        does not protect them: only where no name reveals anything of anybody. Must be typed.
    """

    mechanism: Annotated[str, Option(PUBLIC, MECHANISM, values="names")]
    catalogue: Annotated[Any, Option(PUBLIC, metavar="FILE")]
    catalogue_item: Annotated[str | None, Option(PUBLIC, metavar="COLUMN")]
    catalogue_label: Annotated[str | None, Option(PUBLIC, metavar="COLUMN")]
    catalogue_query: Annotated[str | None, Option(PUBLIC, metavar="SELECT")]
    items_are_public: Annotated[bool, Option(PUBLIC, False, bool, must_be_typed=True)]


class CountOptions(BudgetOptions, RhoOptions, ReadingOptions, BasketOptions, EngineOptions, LedgerOptions, total=False):
    """The options of `count`."""


class RequestOptions(AskedOptions, RulesOption, CapOptions, MechanismOptions, BudgetOptions, RhoOptions, total=False):
    """What of the options of `mine` makes its request, and what of it a ledger records."""


class MineOptions(
    AskedOptions,
    RulesOption,
    CapOptions,
    MechanismOptions,
    BudgetOptions,
    RhoOptions,
    ReadingOptions,
    BasketOptions,
    EngineOptions,
    LedgerOptions,
    ExcludeOptions,
    total=False,
):
    """The options of `mine`, without those of segments."""


class SegmentOptions(TypedDict, total=False):
    """Segments of which there is a release each.

    by: Column of segments, such as stores: one release for each, under one budget.
    segments: With --by: which segments, a public list. Rows of others are not read.
    max_segments: In how many segments a basket (or user) counts at most: where it has the most baskets. Each release
        has 1/N of the budget; unless given N is 1.
    """

    by: Annotated[str | None, Option(COUNTS, metavar="COLUMN")]
    segments: Annotated[Any, Option(COUNTS, metavar="A,B,...")]
    max_segments: Annotated[int | None, Option(COUNTS, typed=int, metavar="N")]


class RuleLimits(TypedDict, total=False):
    """Which rules are shown.

    min_confidence: With --rules: leave out rules of less confidence, 0 to 1.
    min_lift: With --rules: leave out rules of less lift.
    """

    min_confidence: Annotated[float | None, Option(ASKED, typed=float)]
    min_lift: Annotated[float | None, Option(ASKED, typed=float)]


class ReleaseOutput(TypedDict, total=False):
    """Where a release is written, and how.

    format: table, json, csv, markdown, parquet or svg (a picture); by default as --output ends. In csv an apostrophe
        stands before text that a spreadsheet would run.
    output: Write here instead of the screen.
    """

    format: Annotated[ReleaseFormat | None, Option(WRITTEN, typed=ReleaseFormat, metavar="FORM", shown="table")]
    output: Annotated[Path | None, Option(WRITTEN, typed=Path, metavar="FILE")]


class TextOutput(TypedDict, total=False):
    """Where a text is written, and how.

    format: table or json; unless given a table, or JSON where --output ends in .json.
    output: Write here instead of the screen.
    """

    format: Annotated[TextFormat | None, Option(WRITTEN, typed=TextFormat)]
    output: Annotated[Path | None, Option(WRITTEN, typed=Path, metavar="FILE")]


class TitleOption(TypedDict, total=False):
    """title: What stands on top of the page, such as 'Corner shop, spring'."""

    title: Annotated[str | None, Option(WRITTEN, metavar="TEXT", shown="What is bought together")]


class PageOption(TitleOption, total=False):
    """report: Write a page of HTML to show, too."""

    report: Annotated[Path | None, Option(WRITTEN, typed=Path, metavar="FILE")]


class PageOutput(TitleOption, total=False):
    """output: Write the page here; unless given beside the release, under its name with .html."""

    output: Annotated[Path | None, Option(WRITTEN, typed=Path, metavar="FILE")]


class OtherUnitOption(TypedDict, total=False):
    """What a ledger takes.

    allow_other_unit: With --ledger: let --user (or --basket) name another column than its first release did, because
        both name the same units. Must be typed.
    """

    allow_other_unit: Annotated[bool, Option(BUDGET, False, bool, must_be_typed=True)]


class GivenOptions(TypedDict, total=False):
    """What `count` counts.

    itemsets: Which itemsets, a public list: text with one a line, items separated by commas (.csv) or white space
        (.dat, .txt); Parquet or Arrow with a list column itemsets; or a release as .json.
    """

    itemsets: Annotated[Any, Option(ASKED, ..., metavar="FILE")]


class QuestionOptions(TypedDict, total=False):
    """What a vote answers.

    question: highest-lift (the pair of items), highest-confidence (the rule of two items) or most-frequent (the itemset
        of --size).
    min_share: For highest-lift and highest-confidence: only pairs that such a share of a block has: 0.04 or 4%.
    size: For most-frequent: items per itemset, 2 unless given.
    """

    question: Annotated[
        str, Option(ASKED, ..., metavar="NAME", values=("highest-lift", "highest-confidence", "most-frequent"))
    ]
    min_share: Annotated[str | None, Option(ASKED, metavar="SHARE")]
    size: Annotated[int | None, Option(ASKED, typed=int)]


class VoteOptions(BudgetOptions, ReadingOptions, ExcludeOptions, BasketOptions, LedgerOptions, total=False):
    """The options of `vote`.

    blocks: How many blocks baskets (or users) are dealt to.
    votes: How many of its best answers each block names.
    """

    blocks: Annotated[int, Option(PUBLIC, BLOCKS, int)]
    votes: Annotated[int | None, Option(PUBLIC, typed=int, shown=str(VOTES))]


class PlanOptions(BudgetOptions, CapOptions, total=False):
    """What `plan` plans for, without users.

    units: Baskets (or users), if that may be known.
    size: Items per itemset; for many itemsets also a range, such as 2-4.
    top: Plan for so many itemsets; with --typical-basket alone, for 10, 50, 100.
    typical_basket: For many itemsets: a public guess of the items in a basket.
    union: For many itemsets of several sizes: one ranking.
    supports: For many itemsets: with noisy supports, and how far off they are. With --top above 1 that is the default.
    confidence: Probability with which an itemset is to be found.
    """

    units: Annotated[int | None, Option(PLANNED, typed=int)]
    size: Annotated[int | str | Iterable[int], Option(PLANNED, str(SIZE), metavar="SIZE")]
    top: Annotated[int | Iterable[int] | None, Option(PLANNED, metavar="K1,K2,…")]
    typical_basket: Annotated[float | None, Option(PLANNED, typed=float)]
    union: Annotated[bool, Option(PLANNED, False, bool)]
    supports: Annotated[
        bool | None, Option(PLANNED, typed=bool, spelled="--supports/--no-supports", shown="with --top")
    ]
    confidence: Annotated[float, Option(PLANNED, CONFIDENCE, float)]


class PlannedUsers(TypedDict, total=False):
    """Whether it is for users.

    user_items: For customers: how many different items one has bought in all, on average. Shows the share that is
        found, of the top 50 or --top.
    """

    user_items: Annotated[float | None, Option(PLANNED, typed=float)]


class PlanFigure(TypedDict, total=False):
    """What is drawn.

    epsilons: With --figure: the privacy losses to compare.
    figure: Draw what each mechanism needs, against ε or against --top (.png, .svg, .pdf).
    """

    epsilons: Annotated[str | None, Option(WRITTEN, metavar="E1,E2,…")]
    figure: Annotated[Path | None, Option(WRITTEN, typed=Path, metavar="FILE")]


class AuditOptions(TypedDict, total=False):
    """What is audited.

    mechanism: {audited}, …; all for every one of them.
    trials: Neighbouring pairs that a random search tries besides.
    seed: Seed of that search; the audit itself has no noise.
    """

    mechanism: Annotated[str, Option(AUDITED, AUDIT_MECHANISM, values="names audited")]
    trials: Annotated[int, Option(AUDITED, AUDIT_TRIALS, int)]
    seed: Annotated[int, Option(AUDITED, AUDIT_SEED, int)]


class LedgerLimit(TypedDict, total=False):
    """What a new ledger allows, and of what.

    epsilon: Privacy loss of all releases together, at most.
    delta: Probability allowed to the exceptions of all releases together.
    composition: How releases add up: in zCDP, which allows more of them, or as sums of ε and of δ (basic). zCDP needs
        a δ.
    rho: With --delta: the limit as ρ of zCDP, instead of --epsilon. The ε that follows is shown.
    dataset: Your name for the data; unless given, the first release's.
    neighbors: The neighbour relation of its releases; unless given, the first release's.
    unit: Whom its releases protect; unless given, whom the first release does.
    """

    epsilon: Annotated[float | None, Option(BUDGET, typed=float)]
    delta: Annotated[float, Option(BUDGET, ..., float)]
    rho: Annotated[float | None, Option(BUDGET, typed=float)]
    composition: Annotated[
        str | None, Option(BUDGET, metavar="zcdp|basic", values=("zcdp", "basic"), shown="zcdp, where delta is above 0")
    ]
    dataset: Annotated[str | None, Option(OF, metavar="NAME")]
    neighbors: Annotated[str | None, Option(OF, metavar="add-remove|replace-one", values=RELATIONS)]
    unit: Annotated[str | None, Option(OF, metavar="basket|user", values=UNITS)]


class VerifyOption(TypedDict, total=False):
    """verify: Verify every entry. Without it: those that are new since this machine last used the ledger."""

    verify: Annotated[bool, Option(SHOWN, False, bool)]


# -------------------- reading the declarations

for _kind in filter(is_typeddict, [*globals().values()]):
    for _name, _text in re.findall(r"^(\w+): (.*(?:\n +.*)*)", inspect.cleandoc(_kind.__doc__ or ""), re.MULTILINE):
        _kind.__annotations__[_name].__metadata__[0].help = " ".join(_text.split())


def options_of(*kinds: type) -> dict[str, Option]:
    """Return the options of classes of them, by name; of one name the last, where the first of them stands."""
    return {name: hint.__metadata__[0] for kind in kinds for name, hint in kind.__annotations__.items()}


def filled(function: str, kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of a function of the library: those given, the others by default; TypeError for others."""
    declared = options_of(kind)
    if unknown := given.keys() - declared.keys():
        raise TypeError(f"{function}() got an unexpected keyword argument {min(unknown)!r}")
    return {name: given.get(name, option.default) for name, option in declared.items()}


def takes(*kinds: type) -> Callable[[_Function], _Function]:
    """Return a decorator of a function of the library with **options: help() shows these options."""

    def shown(function: _Function) -> _Function:
        lines = [inspect.cleandoc(function.__doc__ or ""), "", "Options:"]
        parameters = {
            one.name: one for one in inspect.signature(function).parameters.values() if one.kind < one.VAR_KEYWORD
        }
        for name, hint in (hint for kind in kinds for hint in kind.__annotations__.items()):
            option, keyword = hint.__metadata__[0], inspect.Parameter.KEYWORD_ONLY
            declared = inspect.Parameter(name, keyword, default=option.default, annotation=hint.__origin__)
            parameters.setdefault(name, declared)
            # As Python names them, not as they are typed.
            text = re.sub(r"(?<![\w-])--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), option.help)
            text = re.sub(r"\{\w+\}", "those of fim_private.mechanisms.registry", text)
            lines.append(f"    {name}: {text.replace(' Must be typed.', '')}")
        function.__signature__ = inspect.Signature([*parameters.values()])  # type: ignore[attr-defined]
        function.__doc__ = "\n".join(lines)
        return function

    return shown
