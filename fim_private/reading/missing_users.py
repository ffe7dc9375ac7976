"""Rows without a user: which those are, and what becomes of them.

Both are decided row by row. To give such a row the user of other rows, by its basket's id for instance, would
let one user's rows change what another user is counted with.
"""

from __future__ import annotations

from enum import StrEnum

import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading.missing_values import present


class MissingUser(StrEnum):
    """The rule for rows without a user: they are left out, or each of their baskets is a unit of its own."""

    DROP = "drop"
    OWN_UNIT = "own-unit"


def apply_rule(users: pa.Array, rule: MissingUser | None, column: str, source: str) -> tuple[pa.Array, pa.Array | None]:
    """Apply the rule for rows without a user.

    users: (rows,) Arrow array of any type that can be an identifier. rule: None where such rows are refused.
    column, source: what errors call them.
    Returns the users of the rows that stay, null where the row's basket becomes a unit of its own, and which
    rows stay, (rows,) Arrow bool, None for all.
    Raises DataError when there are such rows and no rule for them.
    """
    users = present(users)
    if not users.null_count:
        return users, None
    match rule:
        case MissingUser.OWN_UNIT:
            return users, None
        case MissingUser.DROP:
            stays = users.is_valid()
            return users.filter(stays), stays
        case None:
            raise DataError(
                f"column {column!r} of {source} has rows without a user; "
                f"{parameter('missing_user')} {MissingUser.DROP.value!r} leaves them out, "
                f"{parameter('missing_user')} {MissingUser.OWN_UNIT.value!r} makes each of their baskets "
                "a unit of its own"
            )
