"""Two miners written in Rust, as their documentation says that they are called."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.counting.peer_counters import Request

OF_RUSKET = ("fpgrowth", "eclat", "fin", "negfin")  # its fifth, "lcm", finds closed itemsets only


def rusket(method: str, matrix: Any, request: Request) -> Any:
    """Return its table of all itemsets of up to the size. method: of OF_RUSKET; matrix: sparse by rows, of baskets."""
    share = (request.min_support - 0.5) / matrix.shape[0]
    mine = importlib.import_module("rusket").mine
    return mine(matrix, share, max_len=request.size, use_colnames=False, method=method)


def rusket_levels(matrix: Any, counted: Any, request: Request) -> Iterable[tuple[int, int]]:
    """Return what it counted, in our form."""
    whole = counted[counted["itemsets"].list.len() == request.size] if len(counted) else counted
    return Counter((whole["support"] * matrix.shape[0]).round().astype(int).tolist()).items()


def fastapriori(how: dict[str, Any], frame: Any, request: Request) -> Any:
    """Return its table of rules, one for each item of an itemset. frame: basket, sorted from 0, and item."""
    baskets = int(frame["basket"].iloc[-1]) + 1
    share = None if request.min_support == 1 else (request.min_support - 0.5) / baskets
    find = importlib.import_module("fastapriori").find_associations
    # A bound on a metric, 0 by default, leaves out what has none, and the order of the answer is not asked for.
    metrics = ("confidence", "lift", "conviction", "cosine", "jaccard")
    no_bounds = {f"min_{metric}": None for metric in metrics}
    return find(frame, "basket", "item", k=request.size, min_support=share, sorted_by=None, **no_bounds, **how)


def fastapriori_levels(_: Any, counted: Any, request: Request) -> Iterable[tuple[int, int]]:
    """Return what it counted, in our form."""
    rules = Counter(counted["instances"].tolist())  # of each itemset as many as it has items
    return [(support, number // request.size) for support, number in rules.items()]
