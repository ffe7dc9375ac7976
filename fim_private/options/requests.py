"""Options for requests and mechanisms, and all options of each function."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, TypedDict

from fim_private.options import CHOOSING, CONFIDENCE, SIZE, TOP, VOTES
from fim_private.options.declaration import (
    OptionalNumber,
    OptionalText,
    asked,
    counts,
    planned,
    public,
    shown,
)
from fim_private.options.privacy import BudgetOptions, LedgerOptions, RhoOption
from fim_private.options.purchases import (
    BasketOptions,
    EngineOptions,
    ExcludeOptions,
    ReadingOptions,
    TimeOptions,
)


class AskedOptions(TypedDict, total=False):
    """Which itemsets are released, and what about them."""

    size: Annotated[
        str | int | Iterable[int],
        asked("Items per itemset, or a range of sizes, such as 2-4.", "N or N-M", default=SIZE),
    ]
    top: Annotated[
        OptionalNumber,
        asked(
            "How many itemsets, of each size. With a --mechanism made for one itemset it is 1 by "
            "default. With --min-support it is the limit for all sizes: 1,000, or 100 if they are "
            "picked one by one.",
            shown=str(TOP),
        ),
    ]
    min_support: Annotated[
        str | float | int | Fraction | None,
        asked(
            "Itemsets with at least this support, instead of the most frequent: 0.02 or 2% of all "
            "baskets (or users), or 500 of them. A ? marks those that may have less: of the "
            "itemsets that do, at most 2.5 % have no mark.",
            "SHARE or N",
        ),
    ]
    with_items: Annotated[
        object,
        asked(
            "Only itemsets with this public item: what goes with it. Repeat it for itemsets with "
            "several. --size counts them, so --size 2 asks for its partners.",
            "ITEM",
            typed=list[str],
            spelled="--with",
        ),
    ]
    union: Annotated[bool, asked("With a range of sizes: rank the itemsets of all sizes together.")]
    supports: Annotated[
        bool | None,
        asked(
            "Release noisy supports with 95 % intervals. With a --mechanism made for one itemset, "
            "and --top 1, none are released by default.",
            spelled="--supports/--no-supports",
            shown="supports",
        ),
    ]
    supports_share: Annotated[
        float | Fraction | None,
        asked(
            "Share of the budget for --supports. By default 0.1 with levelwise and for few "
            "itemsets of users (0.15 with --neighbors replace-one, 0.4 with --min-support); "
            "otherwise, and for --rules, 1/3."
        ),
    ]
    keep_all: Annotated[
        bool, asked("Keep itemsets whose noisy support does not stand out from zero.")
    ]
    count: Annotated[
        bool,
        asked(
            "Release the number of baskets (or users), so that supports are shares. It is free if "
            "supports have normal noise; otherwise it takes 5 % of the budget."
        ),
    ]


class RulesOption(TypedDict, total=False):
    """Whether association rules are released."""

    rules: Annotated[
        bool,
        asked(
            "Release association rules too, surest first, with intervals. This also releases the "
            "supports of all subsets and the number of baskets (or users)."
        ),
    ]


class ShowRulesOption(TypedDict, total=False):
    """Whether association rules that were released are shown."""

    rules: Annotated[
        bool,
        shown("Show association rules, surest first, if the release was mined with --rules."),
    ]


class RuleLimits(TypedDict, total=False):
    """Which rules are shown, and in which order."""

    min_confidence: Annotated[
        float | None, asked("For rules: leave out those of lower confidence, 0 to 1.")
    ]
    min_lift: Annotated[float | None, asked("For rules: leave out those of lower lift.")]
    antecedent: Annotated[
        object,
        asked(
            "For rules: show those with this item on the left side. Repeat it for several items "
            "that must be there together.",
            "ITEM",
            typed=list[str],
        ),
    ]
    consequent: Annotated[
        object,
        asked("For rules: the same for the right side.", "ITEM", typed=list[str]),
    ]
    contains: Annotated[
        object,
        asked("For rules: the same for both sides together.", "ITEM", typed=list[str]),
    ]
    max_antecedent: Annotated[
        OptionalNumber,
        asked("For rules: show those with at most this many items on the left side."),
    ]
    max_consequent: Annotated[
        OptionalNumber,
        asked(
            "For rules: the same for the right side. By default 1, or as many as --consequent "
            "names."
        ),
    ]
    redundant: Annotated[
        bool,
        asked(
            "For rules: show redundant ones too. A rule is redundant if a shorter one with the "
            "same right side has as much confidence, within the noise."
        ),
    ]
    sort: Annotated[
        OptionalText,
        asked(
            "For rules: put those with the largest support, confidence or lift (or another "
            "metric) first. By default the surest come first.",
            "METRIC",
        ),
    ]


class RecommendOption(TypedDict):
    """A basket that rules are shown for."""

    recommend: Annotated[
        object,
        shown(
            "Show what goes with this item: the best rule for each other item, surest first. "
            "Repeat it for a basket of several items.",
            "ITEM",
            typed=list[str],
        ),
    ]


class CapOptions(TypedDict, total=False):
    """Public numbers that mechanisms need."""

    universe_size: Annotated[
        OptionalNumber,
        public(
            "Public number of different items, for exponential without a catalogue. Forecasts of "
            "plan are better with it."
        ),
    ]
    max_rank: Annotated[
        OptionalNumber,
        public(
            "Public cap on the rank search of large-margin and tight-margin (10,000), or on the "
            "candidates of limited-domain (10,000)."
        ),
    ]
    max_basket: Annotated[
        OptionalNumber,
        public(
            "Public cap on the items of a basket, for the mechanisms choosing and limited-domain. "
            "The first items in label order count."
        ),
    ]
    max_baskets: Annotated[
        OptionalNumber,
        public(
            "With --max-basket and --user: public cap on the different baskets of a user. They "
            "are drawn by their content."
        ),
    ]


class GivenOptions(TypedDict):
    """What `count` counts."""

    itemsets: Annotated[
        object,
        asked(
            "Public list of itemsets: text with one a line, items separated by commas (.csv) or "
            "spaces (.dat, .txt). Or a release (.json), or a table as mlxtend and arules write "
            "it. A table has a column itemsets or items, or the two sides of rules.",
            "FILE",
            default=...,
        ),
    ]


class QuestionOptions(TypedDict):
    """The question that a vote answers."""

    question: Annotated[
        str,
        asked(
            "highest-lift (a pair of items), highest-confidence (a rule of two items) or "
            "most-frequent (an itemset of --size).",
            "NAME",
            default=...,
            values=("highest-lift", "highest-confidence", "most-frequent"),
        ),
    ]
    min_share: Annotated[
        OptionalText,
        asked(
            "For highest-lift and highest-confidence: ask only about pairs with at least this "
            "share of a block, 0.04 or 4%.",
            "SHARE",
        ),
    ]
    size: Annotated[OptionalNumber, asked("For most-frequent: items per itemset, by default 2.")]


class RequestOptions(AskedOptions, RulesOption, BudgetOptions, RhoOption, CapOptions, total=False):
    """The options of `mine` that make its request, which a ledger records."""

    mechanism: Annotated[
        str,
        public(
            "auto, or without a list: large-margin, tight-margin, limited-domain, distance, "
            "levelwise, choosing (with --max-basket); over one: exponential, permute-and-flip, "
            "max-of-laplaces. Made for one itemset are large-margin, tight-margin, distance, "
            "permute-and-flip and max-of-laplaces. Compare them with `fim-private plan`.",
            default="auto",
            values=("auto", *CHOOSING, "levelwise"),
        ),
    ]
    catalogue: Annotated[
        object,
        public(
            "Public list of all items. With it you mostly find more, above all with few users. "
            "Give text with one item a line, a folder of these, an earlier release, or with "
            "--catalogue-item a table or database.",
            "FILE",
        ),
    ]
    catalogue_item: Annotated[
        OptionalText,
        public(
            "With --catalogue: the column of the items as FILE has them, such as sku.", "COLUMN"
        ),
    ]
    catalogue_label: Annotated[
        OptionalText,
        public(
            "With --catalogue-item: the column of labels, such as name, that the release shows "
            "instead. If several items share a label, it shows the item in brackets too.",
            "COLUMN",
        ),
    ]
    catalogue_query: Annotated[
        OptionalText,
        public(
            "If --catalogue is a database: what to read, such as 'select sku, name from products'.",
            "SELECT",
        ),
    ]
    items_are_public: Annotated[
        bool,
        public(
            "Treat the names of all items in FILE as public, instead of --catalogue. They are "
            "then not protected: the guarantee is among data with the same list of items. Safe "
            "only if no name reveals anything. Must be typed.",
            must_be_typed=True,
        ),
    ]
    units: Annotated[
        OptionalNumber,
        public(
            "About how many baskets (or users) there are, if that is public. For up to 20 itemsets "
            "of users it can decide the mechanism, so that no budget goes to a look at the data. "
            "If it is wrong you find less, and everybody stays protected."
        ),
    ]
    known: Annotated[
        object,
        public(
            "An earlier release, or a list of itemsets. Their items need not be found again, and "
            "each itemset gets its support. It finds more, above all with --user.",
            "FILE",
        ),
    ]


class MineOptions(
    RequestOptions,
    ReadingOptions,
    ExcludeOptions,
    BasketOptions,
    TimeOptions,
    EngineOptions,
    LedgerOptions,
):
    """The options of `mine`, without those of segments."""


class AllMineOptions(MineOptions, total=False):
    """The options of `mine`: also segments, periods or items that each have a release."""

    group: Annotated[
        object,
        public(
            "With --catalogue-item: the column of groups, such as category, that are counted "
            "instead of items. Small shops find more of them. Repeat it for several levels: each "
            "has its own release, all under one budget.",
            "COLUMN",
            typed=list[str],
        ),
    ]
    with_each: Annotated[
        object,
        asked(
            "The same as --with for each item of a list of up to 50: text with one item a line. "
            "Each has its own release, all under one budget.",
            "FILE",
        ),
    ]

    by: Annotated[
        OptionalText,
        counts(
            "Column of segments, such as stores. Each segment gets its own release, all under one "
            "budget.",
            "COLUMN",
        ),
    ]
    segments: Annotated[
        object,
        counts(
            "With --by: a public list of segments. Rows of other segments are not read.", "A,B,..."
        ),
    ]
    max_segments: Annotated[
        OptionalNumber,
        counts(
            "How many segments a basket (or user) counts in at most: those with most of its "
            "baskets. Each release gets 1/N of the budget. By default N is 1."
        ),
    ]
    periods: Annotated[
        object,
        counts(
            "With --time: a release of each of these, such as 2026-W40..2026-W46 or "
            "2026-10,2026-11.",
            "A..B",
        ),
    ]


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
        asked(
            "Whether to release the number of baskets (or users), so that supports are shares. It "
            "is free if supports have normal noise; otherwise it takes 5 % of the budget.",
            default=True,
            spelled="--count/--no-count",
        ),
    ]


class VoteOptions(
    BudgetOptions, ReadingOptions, ExcludeOptions, BasketOptions, LedgerOptions, total=False
):
    """The options of `vote`."""

    blocks: Annotated[
        int, public("Number of blocks that the baskets (or users) are dealt to.", default=100)
    ]
    votes: Annotated[
        OptionalNumber,
        public("Number of its best answers that each block names.", shown=str(VOTES)),
    ]


class PlanOptions(BudgetOptions, CapOptions, total=False):
    """The options of `plan`, without that for users."""

    units: Annotated[OptionalNumber, planned("Number of baskets (or users), if that is public.")]
    size: Annotated[
        str | int | Iterable[int],
        planned(
            "Items per itemset; for many itemsets also a range, such as 2-4.", "SIZE", default=SIZE
        ),
    ]
    top: Annotated[
        int | Iterable[int],
        planned(
            "Number of itemsets to plan for, or several numbers.",
            "K1,K2,…",
            default=TOP,
            typed=str,
        ),
    ]
    with_items: Annotated[
        object,
        planned(
            "For what goes with this item, which --size counts too. Repeat it for several.",
            "ITEM",
            typed=list[str],
            spelled="--with",
        ),
    ]
    typical_basket: Annotated[
        float | None, planned("For many itemsets: your public guess of the items in a basket.")
    ]
    union: Annotated[bool, planned("For many itemsets of several sizes: rank all together.")]
    supports: Annotated[
        bool,
        planned(
            "Plan for noisy supports, and show how far off they are.",
            default=True,
            spelled="--supports/--no-supports",
        ),
    ]
    confidence: Annotated[
        float, planned("Probability with which an itemset is to be found.", default=CONFIDENCE)
    ]


class PlannedUsers(TypedDict):
    """The option of `plan` for users."""

    user_items: Annotated[
        float | None,
        planned(
            "For customers: how many different items each has bought, on average. It shows which "
            "share of the --top you will find."
        ),
    ]
