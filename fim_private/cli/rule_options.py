"""The options of association rules, checked before anything is spent."""

from __future__ import annotations

from typing import Annotated

import typer

from fim_private.cli.release_options import ASKED
from fim_private.errors import ParameterError, parameter

WithRules = Annotated[
    bool,
    typer.Option(
        "--rules",
        help="Association rules too, surest first, with intervals: one release holds the itemsets, the supports of all "
        "their parts and the number of baskets (or users). Turns on --supports and --count.",
        rich_help_panel=ASKED,
    ),
]
MinConfidence = Annotated[
    float | None,
    typer.Option(
        help="With --rules: leave out rules of less confidence, 0 to 1.", show_default=False, rich_help_panel=ASKED
    ),
]
MinLift = Annotated[
    float | None,
    typer.Option(help="With --rules: leave out rules of less lift.", show_default=False, rich_help_panel=ASKED),
]


def rule_limits(
    with_rules: bool, min_confidence: float | None, min_lift: float | None, *, lifts: bool = True
) -> tuple[float, float] | None:
    """Return the least confidence and lift; None where no rules are wanted.

    lifts: whether rules will have any. Raises ParameterError for limits that are out of range, or given without rules,
    or for the least lift where there are none.
    """
    limits = {"min_confidence": min_confidence, "min_lift": min_lift}
    if not with_rules:
        for name, limit in limits.items():
            if limit is not None:
                raise ParameterError(f"{parameter(name)} goes with {parameter('rules')}")
        return None
    from fim_private.rules.association import least

    first, second = (least(name, limit or 0.0) for name, limit in limits.items())
    if second and not lifts:
        from fim_private.mining.wording import no_min_lift

        raise ParameterError(no_min_lift())
    return first, second
