"""`fim-private show`."""

from __future__ import annotations

from typing import Annotated

import typer

from fim_private.cli.destination import destination
from fim_private.cli.release_output import Format, ReleaseFile, ReleaseFormat, form_of, write_release
from fim_private.cli.rule_options import MinConfidence, MinLift, WithRules, rule_limits

EPILOG = (
    "Example: fim-private mine sales.parquet --top 20 --rules --output release.parquet\n\n"
    "then: fim-private show release.parquet --rules --min-lift 1.5"
)


def show(
    context: typer.Context,
    release_file: Annotated[
        str,
        typer.Argument(metavar="FILE", show_default=False, help="A release that was written as .json or .parquet."),
    ],
    rules: WithRules = False,
    min_confidence: MinConfidence = None,
    min_lift: MinLift = None,
    output_format: Format = ReleaseFormat.TABLE,
    output: ReleaseFile = None,
) -> None:
    """Show a release again, in any form. It spends nothing: no data is read.

    With --rules, the association rules of a release that was mined with --rules.
    """
    from fim_private.mining.loaded import load
    from fim_private.mining.segmented import rules_by_segment

    limits = rule_limits(rules, min_confidence, min_lift)
    form = form_of(context, output_format, output)
    release = load(release_file)
    made = None if limits is None else rules_by_segment(release, *limits)
    with destination(output, inputs=[release_file]) as write:
        write_release(write, release, form, output, rules=made)
