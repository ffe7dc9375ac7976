"""How a release is written: the forms that mine, count and show have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fim_private.cli.destination import Write, screen_for
from fim_private.errors import OutputError

if TYPE_CHECKING:
    from fim_private.mining.release import Release
    from fim_private.rules.association import Rules


class ReleaseFormat(StrEnum):
    """How a release is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    PARQUET = "parquet"


_SUFFIXES = {
    ".json": ReleaseFormat.JSON,
    ".csv": ReleaseFormat.CSV,
    ".md": ReleaseFormat.MARKDOWN,
    ".parquet": ReleaseFormat.PARQUET,
}
Format = Annotated[
    ReleaseFormat | None,
    typer.Option(
        "--format",
        help="How to write the release: unless given as --output ends (.json, .csv, .md, .parquet), else a table. In "
        "csv an apostrophe stands before text that a spreadsheet would run; show reads json and parquet again.",
        show_default=False,
    ),
]


def format_of(given: ReleaseFormat | None, output: Path | None) -> ReleaseFormat:
    """Return the form to write. Raises OutputError for Parquet on the screen, before anything is spent."""
    to_screen = output is None or str(output) == "-"
    named = None if output is None else _SUFFIXES.get(output.suffix.lower())
    form = given or named or ReleaseFormat.TABLE
    if form is ReleaseFormat.PARQUET and to_screen:
        raise OutputError("cannot write Parquet to the screen; name a file with --output")
    return form


def write_release(
    write: Write,
    release: Release,
    form: ReleaseFormat,
    output: Path | None,
    *,
    rules: Rules | None = None,
    spelled: Callable[[Mapping[str, Any]], str] | None = None,
) -> None:
    """Write a release, with rules of it if there are any. spelled: as render_table takes it."""
    if form is ReleaseFormat.JSON:
        write.json(release.to_json(rules))
    elif form is ReleaseFormat.CSV:
        from fim_private.mining.release_rules import rules_csv

        write.csv(release.to_csv() if rules is None else rules_csv(rules))
    elif form is ReleaseFormat.PARQUET:
        from fim_private.mining.release_files import parquet

        write.send(parquet(release))
    elif form is ReleaseFormat.MARKDOWN:
        write(release.to_markdown(rules))
    else:
        from fim_private.output.release_table import render_table

        write(render_table(release, screen_for(output), spelled=spelled, rules=rules))
