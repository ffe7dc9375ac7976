"""The options of the budget, of the ledger that a release is charged to, and of the audit."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, TypedDict

from fim_private.options import (
    AUDIT_SEED,
    AUDIT_TRIALS,
    CHOOSING,
    DELTA,
    EPSILON,
    NEIGHBORS,
    RELATIONS,
    UNITS,
)
from fim_private.options.declaration import (
    Option,
    OptionalNumber,
    OptionalText,
    audited,
    budget,
    of_ledger,
    shown,
)
from fim_private.periods import KINDS_OF_PROMISE


class BudgetOptions(TypedDict, total=False):
    """The budget of a release, and its neighbour relation."""

    epsilon: Annotated[
        float | Fraction | None,
        budget("Privacy loss; smaller is more private.", shown=str(EPSILON)),
    ]
    delta: Annotated[
        float | Fraction,
        budget(
            "Probability with which the guarantee may fail. Keep it far below 1 / baskets (or "
            "users). With 0 you need a public list of items.",
            default=DELTA,
        ),
    ]
    neighbors: Annotated[
        str,
        budget(
            "What is hidden: whether one basket (or user) is there (add-remove), or what it holds "
            "(replace-one).",
            default=NEIGHBORS,
            values=RELATIONS,
        ),
    ]


class RhoOption(TypedDict, total=False):
    """The budget of a release in zCDP."""

    rho: Annotated[
        float | Fraction | None,
        budget(
            "The budget as ρ of zero-concentrated privacy (zCDP), instead of --epsilon. The "
            "release states the ε that follows."
        ),
    ]


class LedgerOptions(TypedDict, total=False):
    """The ledger that a release is charged to, its seed, and its progress."""

    ledger: Annotated[
        object,
        budget(
            "Charge the release to this ledger, a file or postgresql://host/database#name, before "
            "supports are counted. It refuses what would overspend it. Make one with "
            "`fim-private budget create`.",
            "LEDGER",
        ),
    ]
    dataset: Annotated[
        OptionalText,
        budget(
            "With --ledger: your name for the data. Use one name for all files about the same "
            "people.",
            "NAME",
        ),
    ]
    seed: Annotated[
        OptionalNumber,
        budget(
            "For tests and benchmarks only: the output becomes predictable, and so is not "
            "private. Must be typed.",
            must_be_typed=True,
        ),
    ]
    progress: Annotated[
        Callable[[float], object] | None,
        Option(
            "",
            "A function that is called now and then with the fraction done of the present pass, 0 "
            "to 1.",
        ),
    ]


class OtherUnitOption(TypedDict):
    """Charges that a ledger refuses unless they are confirmed."""

    allow_other_unit: Annotated[
        bool,
        budget(
            "With --ledger: accept another column of --user, --basket or (with --per) --time than "
            "that of its first release, because both name the same units. Must be typed.",
            must_be_typed=True,
        ),
    ]
    again: Annotated[
        bool,
        budget(
            "With --ledger: spend the budget again, though the same request was charged before "
            "for the same period. Must be typed.",
            must_be_typed=True,
        ),
    ]


class LedgerLimit(TypedDict):
    """The limit of a new ledger, and the releases that it is for."""

    epsilon: Annotated[float | None, budget("Privacy loss of all releases together, at most.")]
    delta: Annotated[
        float,
        budget(
            "Probability with which the guarantee of all releases together may fail.", default=...
        ),
    ]
    rho: Annotated[
        float | None,
        budget(
            "With --delta: the limit as ρ of zCDP, instead of --epsilon. The ledger shows the ε "
            "that follows."
        ),
    ]
    composition: Annotated[
        OptionalText,
        budget(
            "How releases add up: as sums of ε and δ (basic), in zCDP, or in Gaussian privacy, "
            "if all of them are Gaussian. Any allows what one of the three allows, and needs a δ.",
            "any|basic|zcdp|gaussian",
            values=("any", "basic", "zcdp", "gaussian"),
            shown="any; zcdp with --rho; basic without a δ",
        ),
    ]
    dataset: Annotated[
        OptionalText,
        of_ledger("Your name for the data. By default that of the first release.", "NAME"),
    ]
    neighbors: Annotated[
        OptionalText,
        of_ledger(
            "Neighbour relation of its releases. By default that of the first release.",
            "add-remove|replace-one",
            values=RELATIONS,
        ),
    ]
    unit: Annotated[
        OptionalText,
        of_ledger(
            "What its releases protect, a basket or a user. By default that of the first release.",
            "basket|user",
            values=UNITS,
        ),
    ]
    per: Annotated[
        OptionalText,
        of_ledger(
            "Protect what a customer buys in any one day, week, month, quarter or year, not the "
            "customer for good. Each has the whole budget. A week belongs to the month of its "
            "Thursday; calendar-month, -quarter and -year cut weeks.",
            "KIND",
            values=KINDS_OF_PROMISE,
        ),
    ]
    renew: Annotated[
        bool,
        of_ledger(
            "Begin the LEDGER anew. The old one is kept beside it, and takes no more "
            "charges. The promise stays the same, unless you give another one.",
            must_be_typed=True,
        ),
    ]


class VerifyOption(TypedDict):
    """Whether all entries of a ledger are verified."""

    verify: Annotated[
        bool,
        shown(
            "Verify every entry, not only those that are new since this machine last used the "
            "ledger."
        ),
    ]


class AuditOptions(TypedDict):
    """Which mechanism is audited, and how thoroughly."""

    mechanism: Annotated[
        str,
        audited(
            "large-margin, tight-margin, exponential, … or all of them (all).",
            default="large-margin",
            values=(*CHOOSING, "all"),
        ),
    ]
    trials: Annotated[
        int,
        audited("How many more pairs of neighbours a random search tries.", default=AUDIT_TRIALS),
    ]
    seed: Annotated[
        int, audited("Seed of that search. The audit itself has no noise.", default=AUDIT_SEED)
    ]
