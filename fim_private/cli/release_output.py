"""How a release is written: the forms that mine, count and show have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fim_private.cli.destination import Write, destination, output_path, screen_for
from fim_private.cli.given import is_given
from fim_private.cli.release_options import WRITTEN
from fim_private.errors import OutputError, parameter

if TYPE_CHECKING:
    from fim_private.mining.release import Release
    from fim_private.mining.segmented import SegmentedRelease


class ReleaseFormat(StrEnum):
    """How a release is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    PARQUET = "parquet"
    SVG = "svg"


_SUFFIXES = {
    ".json": ReleaseFormat.JSON,
    ".csv": ReleaseFormat.CSV,
    ".md": ReleaseFormat.MARKDOWN,
    ".parquet": ReleaseFormat.PARQUET,
    ".svg": ReleaseFormat.SVG,
}
Format = Annotated[
    ReleaseFormat,
    typer.Option(
        "--format",
        metavar="FORM",
        help="table, json, csv, markdown, parquet or svg (a picture); unless given as --output ends (.json, .csv, "
        ".md, .parquet, .svg). In csv an apostrophe stands before text that a spreadsheet would run. show and report "
        "read json and parquet.",
        rich_help_panel=WRITTEN,
    ),
]
ReleaseFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write here instead of the screen.",
        show_default=False,
        parser=output_path,
        rich_help_panel=WRITTEN,
    ),
]


@dataclass(frozen=True)
class Form:
    """A form to write. kept: whether all is written that a release says, so that it can be shown again in full."""

    format: ReleaseFormat
    kept: bool = False


def form_of(context: typer.Context, given: ReleaseFormat, output: Path | None) -> Form:
    """Return the form to write: as given, or as the output's name ends.

    Raises OutputError for Parquet on the screen, before anything is spent.
    """
    form = Form(given)
    if output is not None and not is_given(context, "output_format"):
        form = Form(_SUFFIXES.get(output.suffix.lower(), given), kept=True)
    if form.format is ReleaseFormat.PARQUET and (output is None or str(output) == "-"):
        raise OutputError(f"cannot write Parquet to the screen; name a file with {parameter('output')}")
    return form


def write_release(
    write: Write,
    release: Release | SegmentedRelease,
    form: Form,
    output: Path | None,
    *,
    rules: Any = None,
    spelled: Callable[[Mapping[str, Any]], str] | None = None,
) -> None:
    """Write a release, or those of segments. rules: of it, if there are any, or of each segment under its name.

    spelled: as render_table takes it.
    """
    from fim_private.mining.segment_tables import by_segment
    from fim_private.mining.segmented import SegmentedRelease

    if form.format is ReleaseFormat.JSON:
        write.json(release.to_json(rules, kept=form.kept))
    elif form.format is ReleaseFormat.CSV:
        from fim_private.mining.release_rules import rules_csv

        if rules is None:
            write.csv(release.to_csv())
        elif isinstance(release, SegmentedRelease):
            write.csv(by_segment({name: rules_csv(each, spreadsheet_safe=False) for name, each in rules.items()}))
        else:
            write.csv(rules_csv(rules))
    elif form.format is ReleaseFormat.PARQUET:
        from fim_private.mining.release_files import parquet

        write.send(parquet(release))
    elif form.format is ReleaseFormat.SVG:
        write.send(release.to_svg().encode())
    elif form.format is ReleaseFormat.MARKDOWN:
        write(release.to_markdown(rules))
    else:
        from fim_private.output.release_table import render_table

        # A file is handed on: advice is for whoever asked.
        to_screen = output is None or str(output) == "-"
        write(render_table(release, screen_for(output), spelled=spelled, rules=rules, advise=to_screen))


@contextmanager
def page_at(path: Path | None, *, inputs: Sequence[str | None]) -> Iterator[Callable[..., None]]:
    """Open where a page goes, and yield what writes the page of a release, with rules.

    path: None where no page is wanted. Raises OutputError, at once, where it cannot be written.
    """
    if path is None:
        yield lambda *_: None
        return
    with destination(path, inputs=inputs, given=parameter("report")) as write:

        def write_page(release: Release | SegmentedRelease, rules: Any) -> None:
            from fim_private.reporting.page import page

            write.send(page(release, rules).encode(errors="backslashreplace"))

        yield write_page
