"""`fim-private audit`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from fim_private import defaults
from fim_private.cli.completion import audited_names, relations
from fim_private.cli.destination import Format, OutputFile, TableOrJson, destination, screen_for, table_or_json
from fim_private.cli.mechanism_help import some_mechanisms
from fim_private.cli.release_options import BUDGET

EPILOG = "Example: fim-private audit --mechanism large-margin --epsilon 1 --delta 1e-6"

_AUDITED = "What to audit"
# The exit code where a guarantee is broken.
FAILED = 1


def audit(
    mechanism: Annotated[
        str,
        typer.Option(
            help=f"{some_mechanisms()}, …; all for every one of them.",
            autocompletion=audited_names,
            rich_help_panel=_AUDITED,
        ),
    ] = defaults.AUDIT_MECHANISM,
    epsilon: Annotated[
        float, typer.Option(help="Privacy loss that is guaranteed.", rich_help_panel=BUDGET)
    ] = defaults.EPSILON,
    delta: Annotated[
        float, typer.Option(help="Probability allowed to the guarantee's exception.", rich_help_panel=BUDGET)
    ] = defaults.DELTA,
    neighbors: Annotated[
        str, typer.Option(help="add-remove or replace-one.", autocompletion=relations, rich_help_panel=BUDGET)
    ] = defaults.NEIGHBORS,
    trials: Annotated[
        int, typer.Option(help="Neighbouring pairs that a random search tries besides.", rich_help_panel=_AUDITED)
    ] = defaults.AUDIT_TRIALS,
    seed: Annotated[
        int, typer.Option(help="Seed of that search; the audit itself has no noise.", rich_help_panel=_AUDITED)
    ] = defaults.AUDIT_SEED,
    output_format: TableOrJson = None,
    output: OutputFile = None,
) -> None:
    """Compute, exactly, how much of its guarantee a mechanism uses on neighbouring data that is hard for it.

    No data is read: the audit makes up pairs of neighbours. Exit code 1 if a guarantee is broken.
    """
    from fim_private.auditing.audit import audit as audited
    from fim_private.auditing.audit import auditable
    from fim_private.cli.progress import parts_of, progress_bar

    form = table_or_json(output_format, output)
    with destination(output) as write:
        subjects = auditable(mechanism, epsilon, delta, neighbors)
        with progress_bar("Auditing") as progress:
            reports = [
                audited(subject, trials=trials, seed=seed, progress=part)
                for subject, part in zip(subjects, parts_of(progress, len(subjects)), strict=True)
            ]
        if form is Format.JSON:
            found = [report.to_dict() for report in reports]
            write.json(json.dumps(found if mechanism == "all" else found[0]))
        else:
            from fim_private.output.audit_table import render_audit

            write(render_audit(reports, screen_for(output)))
    if not all(report.holds for report in reports):
        raise typer.Exit(FAILED)
