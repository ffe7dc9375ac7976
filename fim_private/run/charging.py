"""What a ledger is charged, and when.

What a release spends follows from its plan, before purchases are read: the accountant adds up the
steps, in (ε, δ) and in zCDP. A ledger has one entry for a release, or one for each period if it is
of several. An entry holds both sums, so that a ledger can add up either way. It also holds the
request, the unit, the neighbour relation, and the columns that name the unit. It names no file,
segment or item of the data; a condition is kept as it was written. For segments it is the cost of
all segments in which one unit may count.

When (`Run.charged` holds the order):

1. `pending_charge` checks that the budget is enough, before purchases are opened. If it is not, or
   the release contradicts what the ledger promises, LedgerError is raised, and no release is made.
   Only items_are_public reads before that: all items, which are public then, to plan with.
2. Purchases are read. That tells whether the unit is a user or a basket. If reading fails, nothing
   is charged.
3. The function that `pending_charge` returned charges the ledger on the disk, with that unit. It
   checks again, for others may have charged it meanwhile.
4. Only then are supports counted, and noise is drawn. If that fails, the charge stays.

Without a ledger in the request nothing is charged. A ledger and a seed are refused together.
Functions of lists, such as `fim.select` and quantiles, charge by `dp.charge.charge_list` instead:
they have no purchases to read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fim_private.dp.charge import Charge, Charged, Span
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.reading.options import Reading
from fim_private.reading.transactions import Transactions
from fim_private.request.scope import Scope, read_by


@dataclass(frozen=True)
class Spending:
    """What a release spends, and what a ledger records of it.

    Attributes:
        command: The command that makes the release, such as "mine".
        neighbors: The neighbour relation.
        cost: The (ε, δ) of the whole release.
        entry_cost: The (ε, δ) that each entry of the ledger spends: periods have one each.
        entry_zcdp: The same in zCDP.
        rho: The ρ that the caller gave as the budget; None if it was an ε.
        parameters: The request, as plain values that name no file, column or item.
    """

    command: str
    neighbors: str
    cost: PrivacyCost
    entry_cost: PrivacyCost
    entry_zcdp: ZcdpCost
    rho: Fraction | None
    parameters: Mapping[str, object]


def pending_charge(
    account: Any,
    dataset: str | None,
    spending: Spending,
    data: object,
    reading: Reading,
    scope: Scope,
    *,
    by_user: bool,
) -> Callable[[str], Charged] | None:
    """Return a function that charges a release, given the unit that was read.

    Returns None without a ledger. The charge is checked here, too, before purchases are opened.
    Both raise LedgerError if it is refused: then nothing may be released.
    """
    if account is None or dataset is None:
        return None
    charges = [
        Charge(
            command=spending.command,
            dataset=dataset,
            privacy_unit="user" if by_user else "basket",
            neighbors=str(spending.neighbors),
            cost=spending.entry_cost,
            zcdp=spending.entry_zcdp,
            parameters={**spending.parameters, **recorded_rows(data, reading, scope)},
            unit_columns=unit_columns(data, reading),
            span=span,
        )
        for span in spans_of(reading)
    ]
    account.check(*charges)

    def charge(unit: str) -> Charged:
        charged: Charged = account.charge(
            *(replace(charge, privacy_unit=unit) for charge in charges)
        )
        return charged

    return charge


def spans_of(reading: Reading) -> list[Span | None]:
    """Return the periods that are charged one by one; [None] if units have no times."""
    times = reading.times
    if times is None:
        return [None]
    span = Span(times.how, tuple(sorted(reading.basket or ())), times.per)
    # A query may choose rows by time, and so give a basket another period than it has in other
    # releases.
    if not times.periods or reading.from_query:
        return [span] * max(len(times.periods), 1)
    return [replace(span, period=period.name) for period in times.periods]


def unit_columns(data: object, reading: Reading) -> tuple[str, ...] | None:
    """Return the columns that name the unit, sorted: that of users, else those of baskets.

    Returns None if no column names it.
    """
    if isinstance(data, Transactions):
        if data.read_as is None:
            return None
        user, baskets = data.read_as.user, data.read_as.baskets
    else:
        user, baskets = reading.user, reading.basket or ()
    if user is not None:
        return (user,)
    return tuple(sorted(baskets)) or None


def recorded_rows(data: object, reading: Reading, scope: Scope) -> dict[str, object]:
    """Return what a ledger records of the rows that count.

    It names columns only in a condition, which is kept as it was written, and no segment.
    """
    choices = read_by(data, reading)
    recorded: dict[str, object] = {}
    if choices.where is not None:
        recorded["where"] = choices.where
    if choices.query:
        recorded["query"] = True
    if reading.split is not None:
        recorded["split"] = True
    if len(reading.basket or ()) > 1:
        recorded["basket_columns"] = len(reading.basket or ())
    recorded |= scope.charged
    if reading.by is not None:
        recorded["segments"] = len(reading.by.names)
        recorded["max_segments"] = reading.by.most
    return recorded
