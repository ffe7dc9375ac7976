"""The options of `mine` as types, for programs that check them: those without which it gives one release.

Those that say how purchases are read are of others, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypedDict

from fim_private.counting import Progress


class SourceOptions(TypedDict, total=False):
    """How purchases are read, and what of them counts: all of it public, and nothing of it needed."""

    user: str | None
    missing_user: str | None
    basket: str | Sequence[str] | None
    item: str | Sequence[str] | None
    items: str | None
    split: str | None
    fold_case: bool
    delimiter: str | None
    header: bool | None
    encoding: str | None
    input_format: str | None
    skip_rows: int | None
    query: str | None
    where: str | None
    exclude: Any
    min_basket: int | None
    together: str | None
    max_memory: int | str | None


class MineOptions(SourceOptions, total=False):
    """The options of `mine`, but for those of segments."""

    size: int | str | Iterable[int]
    epsilon: float | Fraction | None
    delta: float | Fraction
    rho: float | Fraction | None
    mechanism: str
    neighbors: str
    top: int | None
    min_support: float | int | Fraction | str | None
    union: bool
    supports: bool
    supports_share: float | Fraction | None
    keep_all: bool
    count: bool
    rules: bool
    max_rank: int | None
    max_basket: int | None
    max_baskets: int | None
    catalogue: Any
    catalogue_item: str | None
    catalogue_label: str | None
    catalogue_query: str | None
    items_are_public: bool
    universe_size: int | None
    max_work: int
    progress: Progress | None
    engine: str | None
    spark_conf: Mapping[str, str] | None
    ledger: Any
    dataset: str | None
    seed: int | None
