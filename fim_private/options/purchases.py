"""The options of how and where purchases are read, and of which purchases count."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

from fim_private.options import MAX_WORK, UNITS
from fim_private.options.declaration import (
    OptionalNumber,
    OptionalText,
    counted,
    counts,
    public,
    read,
)
from fim_private.periods import KINDS_OF_PROMISE


class ReadingOptions(TypedDict, total=False):
    """How purchases are read."""

    user: Annotated[
        OptionalText,
        read(
            "Column of the customer. It protects all baskets of a user together, not each basket "
            "by itself.",
            "COLUMN",
        ),
    ]
    basket: Annotated[
        str | Sequence[str] | None,
        read(
            "Column of the basket id, where a row is one item. Repeat it if several columns name "
            "a basket, such as customer and date.",
            "COLUMN",
            typed=list[str],
        ),
    ]
    item: Annotated[
        str | Sequence[str] | None,
        read(
            "Column of the item, where a row is one item: the product, or a coarser level such as "
            "the department. Repeat it if several columns name an item, such as department and "
            "brand.",
            "COLUMN",
            typed=list[str],
        ),
    ]
    items: Annotated[
        OptionalText,
        read(
            "Column with the list of items, where a row is a basket. It is guessed if there is "
            "exactly one.",
            "COLUMN",
        ),
    ]
    split: Annotated[
        OptionalText,
        read(
            "Where to cut each cell of the item column, such as ',' or tab. Use it where a cell "
            "is a list, such as 'a, b' or ['a', 'b']. If no column is named, each line of a text "
            "is cut like that.",
            "CHARACTER",
        ),
    ]
    fold_case: Annotated[
        bool,
        read(
            "Write all items in lower case, without white space around them. Items that differ "
            "only in these become one, also in your lists."
        ),
    ]
    missing_user: Annotated[
        OptionalText,
        read(
            "Rows without a user: drop leaves them out; own-unit makes each of their baskets a "
            "unit.",
            "drop|own-unit",
            values=("drop", "own-unit"),
        ),
    ]
    delimiter: Annotated[
        OptionalText,
        read(
            "What separates the fields of a text, such as ';' or tab. By default it is found in "
            "the first line if you name columns; otherwise comma in .csv, tab in .tsv.",
            "CHARACTER",
        ),
    ]
    header: Annotated[
        bool | None,
        read(
            "Whether the first line of a text names the columns. Without a header they are called "
            "1, 2, ...",
            spelled="--header/--no-header",
        ),
    ]
    encoding: Annotated[
        OptionalText,
        read(
            "Encoding of a text, such as cp1252. By default UTF-8, or what its byte order mark "
            "says.",
            "NAME",
        ),
    ]
    input_format: Annotated[
        OptionalText,
        read(
            "long (a row is an item), wide (items in several columns), one-hot (a column per "
            "item). For text also lines, fimi, spmf or jsonl. Needed only if several fit.",
            "FORM",
            values=("long", "wide", "one-hot", "lines", "fimi", "spmf", "jsonl"),
        ),
    ]
    skip_rows: Annotated[
        OptionalNumber,
        read(
            "Skip the first N lines of a text, or rows of a sheet, such as a title above the table."
        ),
    ]
    query: Annotated[
        OptionalText,
        read(
            "For a database: what to read, such as 'select customer_id, order_id, product from "
            "sales'. Put the password into PGPASSWORD or a service file.",
            "SELECT",
        ),
    ]
    where: Annotated[
        object,
        read(
            "Read only rows that satisfy a condition, such as \"country = 'France' and date >= "
            "'2011-01-01'\"; also in (...), between, like '%tea%', is null, or, not. It is public: "
            "the release states it.",
            "CONDITION",
        ),
    ]
    time_format: Annotated[
        OptionalText,
        read(
            "How texts of --time, and those that --where compares with a date, are written, such "
            "as '%d/%m/%Y'. By default ISO 8601, or days with dots: 31.1.2026. `inspect` finds it.",
            "FORMAT",
        ),
    ]
    max_memory: Annotated[
        str | OptionalNumber,
        read(
            "Refuse data that need more memory than this: 4GB, 500MB, or bytes. By default four "
            "fifths of this machine's.",
            "SIZE",
        ),
    ]


class TimeOptions(TypedDict, total=False):
    """Which periods are read."""

    time: Annotated[
        OptionalText,
        counts(
            "Column of the time of each row: a date, a timestamp, or text such as 2026-11-16. A "
            "basket belongs to the day of its earliest row.",
            "COLUMN",
        ),
    ]
    period: Annotated[
        OptionalText,
        counts(
            "One period: 2026, 2026-Q4, 2026-11, 2026-W46 (ISO week) or 2026-11-16. Or day, week, "
            "month, quarter or year: each of those in --periods. Give the whole table, and let "
            "--period choose: a ledger charges a view or a query to all periods.",
            "PERIOD",
        ),
    ]
    start: Annotated[OptionalText, counts("First day of one period, instead of --period.", "DAY")]
    end: Annotated[OptionalText, counts("Last day of that period.", "DAY")]
    per: Annotated[
        OptionalText,
        counts(
            "With --user: protect what a customer buys in any one day, week, month, quarter or "
            "year, not for good. A week belongs to the month of its Thursday; calendar-month, "
            "-quarter and -year cut weeks.",
            "KIND",
            values=KINDS_OF_PROMISE,
        ),
    ]
    missing_time: Annotated[
        OptionalText,
        counts(
            "drop leaves out rows without a time. Otherwise they are an error.",
            "drop",
            values=("drop",),
        ),
    ]


class InspectOptions(ReadingOptions, TimeOptions):
    """The options of `inspect`."""


class BasketOptions(TypedDict, total=False):
    """Which baskets count, and where an itemset must be together."""

    min_basket: Annotated[
        OptionalNumber, counts("Count a basket of fewer than N different items as empty.")
    ]
    together: Annotated[
        OptionalText,
        counts(
            "Where an itemset must be together: in one basket, or anywhere in what a user ever "
            "bought (--user). By default basket; with --rules and --user it is user, which counts "
            "more.",
            "basket|user",
            values=UNITS,
        ),
    ]


class ExcludeOptions(TypedDict, total=False):
    """Which items are left out."""

    exclude: Annotated[
        object,
        counts(
            "Public list of items to leave out, such as postage and bags: a file with one a line, "
            "or a column.",
            "FILE",
        ),
    ]


class EngineOptions(TypedDict, total=False):
    """The engine that counts, and how much work it may do."""

    max_work: Annotated[
        int,
        public(
            "Give up if counting takes more steps than this. 10 billion take about half a minute.",
            "STEPS",
            default=MAX_WORK,
        ),
    ]
    engine: Annotated[
        OptionalText,
        counted(
            "What reads and counts: this machine, Apache Spark (extra spark, and Java 17), or a "
            "database (extra warehouse). With spark FILE may also name a table; with sql no rows "
            "leave the database. The release is the same.",
            "local|spark|sql",
            shown="local",
        ),
    ]
    table: Annotated[
        OptionalText,
        counted(
            "With --engine sql: the table, or the view, of the database that FILE names, as "
            "schema.table or table. A view counts as a query.",
            "NAME",
        ),
    ]
    spark_conf: Annotated[
        Mapping[str, str] | None,
        counted(
            "With --engine spark: a setting of the session, such as spark.master=local[4]; repeat "
            "it for more. Otherwise spark-submit, SPARK_REMOTE or spark-defaults.conf decide.",
            "NAME=VALUE",
            typed=list[str],
        ),
    ]
