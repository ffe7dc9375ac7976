"""Rows without a user: which those are, and what becomes of them.

Both are decided row by row. To give such a row the user of other rows, by its basket's id for instance, would
let one user's rows change what another user is counted with.
"""

from __future__ import annotations

from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from fim_private.errors import DataError, parameter
from fim_private.reading.arrow_numpy import arrow_of, null_mask, numpy_of

# Bytes may be no text; ASCII's white space they can hold all the same.
_BLANK_BYTES = r"\A[\s\v]*\z"


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
    users = with_nulls(users)
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


def with_nulls(users: pa.Array) -> pa.Array:
    """Return identifiers with null for each that names nobody: a null, NaN, empty text or white space only.

    users: (rows,) Arrow array of any type that can be an identifier; so is what is returned.
    """
    kind = users.type
    if pa.types.is_dictionary(kind):
        named = with_nulls(users.dictionary).is_valid()
        indices = pc.if_else(named.take(users.indices), users.indices, pa.nulls(1, kind.index_type)[0])
        return pa.DictionaryArray.from_arrays(indices, users.dictionary)
    if pa.types.is_floating(kind):
        return _without(users, pc.is_null(users, nan_is_null=True))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _without(users, pc.or_kleene(_is_empty(users), pc.utf8_is_space(users)))
    if pa.types.is_fixed_size_binary(kind):
        users = users.cast(pa.binary())
    if pa.types.is_binary(users.type) or pa.types.is_large_binary(users.type):
        return _without(users, pc.match_substring_regex(users, _BLANK_BYTES))
    return users


def _is_empty(texts: pa.Array) -> pa.Array:
    """Return which texts are empty: (rows,) Arrow bool; a null is not."""
    return arrow_of((numpy_of(pc.binary_length(texts)) == 0) & ~null_mask(texts))


def _without(users: pa.Array, names_nobody: pa.Array) -> pa.Array:
    """Return the identifiers with null for those that name nobody."""
    return pc.if_else(names_nobody, pa.nulls(1, users.type)[0], users) if names_nobody.true_count else users
