"""Rows without a user: what says that there is none, and what becomes of them under every rule."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from sources import parquet, polars, units_of

from fim_private.errors import DataError
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions

Unit = frozenset[tuple[frozenset[Item], int]]

# (user, basket, item). Basket 1 is one of ann's, one of bob's and one of nobody's.
ROWS = [
    ("ann", 1, "beer"), (None, 1, "chips"), ("bob", 1, "tea"), (None, 2, "milk"),
    ("ann", 3, "beer"), (None, 1, "beer"), ("ann", 1, "chips"), (None, 4, None), (None, 2, "tea"),
]  # fmt: skip
ANN = ({"beer", "chips"}, {"beer"})
UNITS = {
    "drop": [ANN, ({"tea"},)],
    "own-unit": [ANN, ({"tea"},), ({"beer", "chips"},), ({"milk", "tea"},), (set(),)],
}
LONG: dict[str, Any] = {"user": "u", "basket": "b", "item": "i"}


def units(data: Transactions) -> Counter[Unit]:
    """The units as a multiset, each a multiset of baskets: their order may be any."""
    return as_multiset(units_of(data))


def as_multiset(found: Any) -> Counter[Unit]:
    return Counter(frozenset(Counter(map(frozenset, baskets)).items()) for baskets in found)


TEXTS = [None, "", " ", "\t \n", "\u00a0", "\u3000", "NULL", " nan "]


def table_of(missing: object, kind: Any = None) -> pa.Table:
    users, ids, items = zip(*ROWS, strict=True)
    named = [missing if user is None else user for user in users]
    return pa.table({"u": pa.array(named, kind or pa.string()), "b": ids, "i": items})


def numbered(missing: float | None) -> pa.Table:
    """Users as floating-point numbers, as integers become where some are missing."""
    table = table_of(None)
    users = [
        missing if user is None else float(len(user) + (user == "bob"))
        for user in table["u"].to_pylist()
    ]
    return table.set_column(0, "u", pa.array(users, pa.float64()))


KINDS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow in batches": lambda table, folder: table.to_reader(max_chunksize=2),
    "parquet": lambda table, folder: parquet(table, folder / "a.parquet"),
    "pandas objects": lambda table, folder: table.to_pandas().astype({"u": object}),
    "polars": lambda table, folder: polars(table),
}
every_rule = pytest.mark.parametrize("rule", UNITS)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_rule_they_are_refused(kind: str, tmp_path: Path) -> None:
    for table in [table_of(missing) for missing in TEXTS] + [numbered(None), numbered(math.nan)]:
        with pytest.raises(DataError) as caught:
            read_transactions(KINDS[kind](table, tmp_path), **LONG)
        shown = str(caught.value).replace(repr(str(tmp_path))[1:-1], "")
        assert all(
            part in shown for part in ("'u'", "missing_user 'drop'", "missing_user 'own-unit'")
        )
        assert "\n" not in shown
        # Not how many, nor which, nor of whom.
        assert not any(
            word in shown for word in ("ann", "bob", "beer", "tea", "5", "4", "3", "2", "1")
        )


@every_rule
def test_objects_that_are_missing_or_blank(rule: str) -> None:
    numbers = (
        math.nan,
        np.float64("nan"),
        np.float32("nan"),
        Decimal("NaN"),
        complex("nan"),
        np.datetime64("NaT", "s"),
    )
    for missing in (None, *numbers, pd.NA, pd.NaT, "", " \t", b" "):
        users = [missing if user is None else (user if user == "ann" else 7) for user, _, _ in ROWS]
        frame = pd.DataFrame(
            {"u": pd.Series(users, dtype=object), **table_of(None).to_pandas()[["b", "i"]]}
        )
        assert units(read_transactions(frame, missing_user=rule, **LONG)) == as_multiset(
            UNITS[rule]
        )
