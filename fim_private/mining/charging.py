"""Charging a release to a ledger, once all that is public is known and before anything is computed of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fim_private.counting.universe import Catalogue, SizedUniverse
from fim_private.dp.charge import Account, Charge, Charged
from fim_private.dp.cost import PrivacyCost, ZcdpCost, at_least
from fim_private.mining.options import MiningOptions
from fim_private.mining.scope import Scope, read_by
from fim_private.mining.sizes import AUTO_SIZE
from fim_private.reading.options import Options
from fim_private.reading.transactions import Transactions


@dataclass(frozen=True)
class Bill:
    """What is to be charged to an account, which has said that it would take it."""

    account: Account
    charge: Charge

    def pay(self, unit: str) -> Charged:
        """Charge it. unit: of privacy, as the data was read. Raises LedgerError, and then nothing may be released."""
        return self.account.charge(replace(self.charge, privacy_unit=unit))


def bill(
    account: Account | None,
    *,
    command: str,
    dataset: str | None,
    by_user: bool,
    neighbors: str,
    cost: PrivacyCost,
    zcdp: ZcdpCost,
    parameters: dict[str, Any],
    unit_columns: tuple[str, ...] | None = None,
) -> Bill | None:
    """Return what a release is to be charged with; None without an account. Raises LedgerError if it is refused.

    unit_columns: which columns name the unit; None where none does.
    """
    if account is None or dataset is None:
        return None
    unit = "user" if by_user else "basket"
    charge = Charge(command, dataset, unit, str(neighbors), cost, zcdp, parameters, unit_columns)
    account.check(charge)
    return Bill(account, charge)


def unit_columns(data: Any, reading: Options) -> tuple[str, ...] | None:
    """Return the columns that name the unit: that of users, else of baskets; None where none does.

    data: the purchases; of what was read before, they are the columns of then.
    """
    if isinstance(data, Transactions):
        user, baskets = (None, ()) if data.read_as is None else (data.read_as.user, data.read_as.baskets)
    else:
        user, baskets = reading.user, reading.basket or ()
    # In whatever order several are named, they name the same baskets.
    return tuple(sorted(baskets)) or None if user is None else (user,)


def asked(options: MiningOptions) -> dict[str, Any]:
    """Return the public parameters of `mine` that a ledger keeps, as plain values; what was not asked for is not there.

    Of a catalogue only how many items it has; no names of files, columns or items. Fractions are texts, rounded up.
    """
    universe, least = options.universe, options.min_support
    one_of = AUTO_SIZE if options.ways else ""
    values = {
        "mechanism": options.mechanism.name,
        "size": options.sizes[0] if len(options.sizes) == 1 else f"{one_of}{options.sizes[0]}-{options.sizes[-1]}",
        "top": options.top,
        "union": options.union or None,
        "min_support": None if least is None else least.count or _text(least.share),
        "supports_share": _text(options.supports_share),
        "count_share": _text(options.count_share),
        "rules": options.rules or None,
        "keep_all": options.keep_all or None,
        "max_rank": options.max_rank,
        "max_basket": options.max_basket,
        "max_baskets": options.max_baskets,
        "catalogue": len(universe.items) if isinstance(universe, Catalogue) else None,
        "universe_size": universe.count if isinstance(universe, SizedUniverse) else None,
        "rho": _text(options.rho),
    }
    return {name: value for name, value in values.items() if value is not None}


def rows_asked(data: Any, reading: Options, scope: Scope) -> dict[str, Any]:
    """Return what a ledger keeps of which rows count: the condition, and that there was a query, but not which.

    Of segments it keeps how many.
    """
    where, query, _ = read_by(data, reading)
    by = reading.by
    return {
        **({} if where is None else {"where": where}),
        **({"query": True} if query else {}),
        **({} if reading.split is None else {"split": True}),
        **({"basket_columns": len(reading.basket)} if reading.basket is not None and len(reading.basket) > 1 else {}),
        **scope.charged,
        **({} if by is None else {"segments": len(by.names), "max_segments": by.most}),
    }


def _text(value: Fraction | None) -> str | None:
    """Return a number as text, of a few digits; None for None."""
    return None if value is None else at_least(value)
