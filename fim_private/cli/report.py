"""`fim-private report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fim_private.cli.destination import destination, output_path
from fim_private.cli.release_options import WRITTEN
from fim_private.cli.rule_options import MinConfidence, MinLift

EPILOG = (
    "Example: fim-private report release.parquet --output page.html\n\n"
    "At once: fim-private mine sales.parquet --top 20 --rules --report page.html"
)


def report(
    release_file: Annotated[
        str,
        typer.Argument(metavar="FILE", show_default=False, help="A release that was written as .json or .parquet."),
    ],
    min_confidence: MinConfidence = None,
    min_lift: MinLift = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the page here; unless given beside the release, under its name with .html.",
            show_default=False,
            parser=output_path,
            rich_help_panel=WRITTEN,
        ),
    ] = None,
) -> None:
    """Make a page of a release, to look at in a browser or to send: one file, which loads nothing from anywhere.

    It shows what is released and nothing else, and spends nothing.
    """
    from fim_private.mining.loaded import load
    from fim_private.mining.segmented import rules_by_segment
    from fim_private.reporting.page import page
    from fim_private.rules.association import least

    limits = least("min_confidence", min_confidence or 0.0), least("min_lift", min_lift or 0.0)
    release = load(release_file)
    rules = rules_by_segment(release, *limits) if release.with_parts else None
    where = Path(release_file).expanduser().with_suffix(".html") if output is None else output
    with destination(where, inputs=[release_file]) as write:
        write.send(page(release, rules).encode(errors="backslashreplace"))
