"""The options that say what reads and counts: this machine, or Apache Spark."""

from __future__ import annotations

from typing import Annotated

import typer

_PANEL = "Where it is counted"

EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="local|spark",
        help="What reads and counts: this machine, or Apache Spark (extra spark, and Java 17), where FILE may be the "
        "name of a table, too. The release is the same (docs/spark.md).",
        show_default="local",
        rich_help_panel=_PANEL,
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="With --engine spark: a setting of the session, such as spark.master=local[4]; may be given several "
        "times. Without it spark-submit, SPARK_REMOTE or spark-defaults.conf decide.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]


def spark_settings(given: list[str] | None) -> dict[str, str] | None:
    """Return settings of Spark given as texts; None for none. Raises ParameterError for what is no setting."""
    if not given:
        return None
    from fim_private.spark.session import settings_of

    return settings_of(given)
