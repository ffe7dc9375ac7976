"""Who counts itemsets: ours and every peer, each in its best form.

Peers get item codes 0, 1, 2, ... as input, already in memory, in the form that they take in
fastest.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

# Two miners written in Rust, as their documentation says that they are called.

OF_RUSKET = ("fpgrowth", "eclat", "fin", "negfin")  # its fifth, "lcm", finds closed itemsets only


def rusket(method: str, matrix: Any, request: Request) -> Any:
    """Return its table of all itemsets of up to the size. method: of OF_RUSKET; matrix: sparse by
    rows, of baskets.
    """
    share = (request.min_support - 0.5) / matrix.shape[0]
    mine = importlib.import_module("rusket").mine
    return mine(matrix, share, max_len=request.size, use_colnames=False, method=method)


def rusket_levels(matrix: Any, counted: Any, request: Request) -> Iterable[tuple[int, int]]:
    """Return what it counted, in our form."""
    whole = counted[counted["itemsets"].list.len() == request.size] if len(counted) else counted
    return Counter((whole["support"] * matrix.shape[0]).round().astype(int).tolist()).items()


def fastapriori(how: dict[str, Any], frame: Any, request: Request) -> Any:
    """Return its table of rules, one for each item of an itemset. frame: basket, sorted from 0, and
    item.
    """
    baskets = int(frame["basket"].iloc[-1]) + 1
    share = None if request.min_support == 1 else (request.min_support - 0.5) / baskets
    find = importlib.import_module("fastapriori").find_associations
    # A bound on a metric, 0 by default, leaves out what has none, and the order of the answer is
    # not asked for.
    metrics = ("confidence", "lift", "conviction", "cosine", "jaccard")
    no_bounds = {f"min_{metric}": None for metric in metrics}
    return find(
        frame,
        "basket",
        "item",
        k=request.size,
        min_support=share,
        sorted_by=None,
        **no_bounds,
        **how,
    )


def fastapriori_levels(_: Any, counted: Any, request: Request) -> Iterable[tuple[int, int]]:
    """Return what it counted, in our form."""
    rules = Counter(counted["instances"].tolist())  # of each itemset as many as it has items
    return [(support, number // request.size) for support, number in rules.items()]


if TYPE_CHECKING:  # the benchmark itself imports this module and stays small
    from fim_private.reading.transactions import Transactions

Levels = list[tuple[int, int]]

ALL, THRESHOLD, TOP = "all", "threshold", "top"
MODES = (ALL, THRESHOLD, TOP)
OURS = "fim-private"

# A join writes one row for each time that an itemset is met in a basket.
JOIN_LIMIT = 5 * 10**8
# Beyond this many meetings nobody counts every itemset within any patience.
MEETING_LIMIT = 2 * 10**10
DENSE_CELLS = 2 * 10**8  # a one-hot frame of more cells is sparse


@dataclass(frozen=True)
class Request:
    """What to count. min_support: baskets, 1 for all. wanted: with mode top, how many itemsets; 0
    otherwise.
    """

    size: int
    mode: str
    min_support: int = 1
    wanted: int = 0

    def unreachable(self) -> Request:
        """Return the same with a support that nothing has: what is left is the taking in of the
        input.
        """
        return Request(self.size, THRESHOLD, 1 << 30)


@dataclass(frozen=True)
class Contestant:
    """prepare: makes the input (not timed). count: what is timed. levels: what it counted, in our
    form (not timed).

    needs: the module that it is. sizes, modes: where it takes part; None for any.
    converts: part of every call is taking in the Python objects, so that is measured on its own as
    well.
    joins: it makes a row each time that an itemset is met in a basket.
    """

    prepare: Callable[[Transactions], Any]
    count: Callable[[Any, Request], Any]
    levels: Callable[[Any, Any, Request], Iterable[tuple[int, int]]]
    needs: str
    sizes: tuple[int, ...] | None = None
    modes: tuple[str, ...] = MODES
    converts: bool = False
    joins: bool = False

    @property
    def installed(self) -> bool:
        """Whether its module is there."""
        return importlib.util.find_spec(self.needs) is not None

    def obstacle(self, request: Request, meetings: int) -> str | None:
        """Why it is not even tried, or None. meetings: how often an itemset of the size is met in a
        basket.
        """
        if not self.installed:
            return "not installed"
        if self.sizes is not None and request.size not in self.sizes:
            return "other sizes only"
        if request.mode not in self.modes:
            return "not feasible (makes an object of every itemset)"
        if request.mode == ALL and meetings > (JOIN_LIMIT if self.joins else MEETING_LIMIT):
            return f"not feasible ({meetings:.0e} occurrences)"
        return None


def ours(
    transactions: Transactions,
    request: Request,
    *,
    threads: int | None = None,
    counter: str | None = None,
) -> Levels:
    """Count with this package; the only place that knows how."""
    from fim_private.counting import Effort, itemset_spectrum

    spectrum = partial(
        itemset_spectrum,
        transactions,
        request.size,
        effort=Effort(threads=threads),
        counter=counter,
    )
    if request.mode != TOP:
        return spectrum(min_support=request.min_support).all_levels()
    read: Levels = []
    itemsets = 0
    for support, multiplicity in spectrum().levels():  # the threshold is not given
        read.append((support, multiplicity))
        itemsets += multiplicity
        if itemsets >= request.wanted:
            break
    return read


def _same(transactions: Transactions) -> Any:
    return transactions


def _as_they_are(_: Any, counted: Any, request: Request) -> Iterable[tuple[int, int]]:
    return [(int(support), int(multiplicity)) for support, multiplicity in counted]


def _tuples(transactions: Transactions) -> list[tuple[int, ...]]:
    # one object for each item: less to go through
    labels = list(range(len(transactions.vocabulary)))
    flat = [labels[code] for code in transactions.items.tolist()]
    bounds = transactions.offsets.tolist()
    return [tuple(flat[begin:end]) for begin, end in pairwise(bounds)]


def _pyfim(algorithm: str, variant: str, baskets: Any, request: Request) -> Any:
    # report "=" is the pattern spectrum: (size, support, how many), no itemset is made
    count = getattr(importlib.import_module("fim"), algorithm)
    return count(
        baskets,
        supp=-request.min_support,
        zmin=request.size,
        zmax=request.size,
        report="=",
        algo=variant or "a",
    )


def _pyfim_levels(_: Any, counted: Any, request: Request) -> Iterable[tuple[int, int]]:
    return [
        (int(support), round(itemsets))
        for size, support, itemsets in counted
        if size == request.size
    ]


def _one_hot(transactions: Transactions) -> Any:
    import numpy as np

    pandas: Any = importlib.import_module("pandas")
    matrix = _csr(transactions).astype(bool)
    names = [str(code) for code in range(matrix.shape[1])]
    if matrix.shape[0] * matrix.shape[1] > DENSE_CELLS:
        return pandas.DataFrame.sparse.from_spmatrix(matrix, columns=names)
    return pandas.DataFrame(np.asarray(matrix.todense()), columns=names)


def _mlxtend(algorithm: str, frame: Any, request: Request) -> Any:
    mine = getattr(importlib.import_module("mlxtend.frequent_patterns"), algorithm)
    return mine(frame, min_support=(request.min_support - 0.5) / len(frame), max_len=request.size)


def _mlxtend_levels(frame: Any, counted: Any, request: Request) -> Iterable[tuple[int, int]]:
    counts: Counter[int] = Counter()
    for share, itemset in zip(counted["support"], counted["itemsets"], strict=True):
        if len(itemset) == request.size:
            counts[round(share * len(frame))] += 1
    return counts.items()


def _efficient_apriori(baskets: Any, request: Request) -> Any:
    mine = importlib.import_module("efficient_apriori").itemsets_from_transactions
    return mine(
        baskets, min_support=(request.min_support - 0.5) / len(baskets), max_length=request.size
    )


def _efficient_apriori_levels(_: Any, counted: Any, request: Request) -> Iterable[tuple[int, int]]:
    return Counter(counted[0].get(request.size, {}).values()).items()


def _csr(transactions: Transactions) -> Any:
    import numpy as np

    ones = np.ones(len(transactions.items), dtype=np.int32)
    shape = (transactions.baskets, len(transactions.vocabulary))
    return importlib.import_module("scipy.sparse").csr_array(
        (ones, transactions.items, transactions.offsets), shape
    )


def _scipy(matrix: Any, request: Request) -> Any:
    import numpy as np

    frequent = np.flatnonzero(
        np.bincount(matrix.indices, minlength=matrix.shape[1]) >= request.min_support
    )
    kept = matrix if len(frequent) == matrix.shape[1] else matrix[:, frequent]
    product = kept.T.tocsr() @ kept
    row = np.repeat(np.arange(product.shape[0]), np.diff(product.indptr))
    return np.bincount(product.data[product.indices > row])


def _histogram_levels(_: Any, counted: Any, request: Request) -> Iterable[tuple[int, int]]:
    return [
        (support, int(m))
        for support, m in enumerate(counted)
        if m and support >= request.min_support
    ]


def _long_form(transactions: Transactions) -> dict[str, Any]:
    import numpy as np

    rows = np.arange(transactions.baskets, dtype=np.int32)
    return {"basket": np.repeat(rows, np.diff(transactions.offsets)), "item": transactions.items}


def _polars_frame(transactions: Transactions) -> Any:
    return importlib.import_module("polars").DataFrame(_long_form(transactions))


def _polars(frame: Any, request: Request) -> Any:
    polars: Any = importlib.import_module("polars")
    entries = frame.lazy()
    if request.min_support > 1:
        supports = entries.group_by("item").len()
        entries = entries.join(
            supports.filter(polars.col("len") >= request.min_support), on="item", how="semi"
        )
    joined, names = entries, ["item"]
    for place in range(1, request.size):
        name = f"item{place}"
        joined = joined.join(entries.rename({"item": name}), on="basket").filter(
            polars.col(names[-1]) < polars.col(name)
        )
        names.append(name)
    counts = (
        joined.group_by(names).len("support").filter(polars.col("support") >= request.min_support)
    )
    return counts.group_by("support").len("itemsets").collect(engine="streaming").rows()


def _duckdb_table(transactions: Transactions) -> Any:
    import pyarrow as pa

    connection: Any = importlib.import_module("duckdb").connect(
        config={"threads": 2, "memory_limit": "8GB", "temp_directory": ""}
    )
    connection.register("source", pa.table(_long_form(transactions)))
    connection.execute("create table entries as select * from source")
    connection.unregister("source")
    return connection


def _duckdb(connection: Any, request: Request) -> Any:
    size, support = request.size, request.min_support
    items = ", ".join(f"e{place}.item as item{place}" for place in range(size))
    joins = " ".join(
        f"join kept e{place} on e{place}.basket = e0.basket and e{place}.item > e{place - 1}.item"
        for place in range(1, size)
    )
    groups = ", ".join(f"item{place}" for place in range(size))
    frequent = (
        ""
        if support == 1
        else (
            f"where item in (select item from entries group by item having count(*) >= {support})"
        )
    )
    return connection.execute(
        f"with kept as materialized (select * from entries {frequent}), "
        f"met as (select {items} from kept e0 {joins}), "
        f"counted as (select count(*) as support from met group by {groups} having count(*) >= "
        f"{support}) "
        "select support, count(*) from counted group by support"
    ).fetchall()


def _pandas_frame(transactions: Transactions) -> Any:
    # the types that it works with, so that it need not convert
    frame = importlib.import_module("pandas").DataFrame(_long_form(transactions))
    return frame.astype({"basket": "int64", "item": "int32"})


def _pyfim_contestant(algorithm: str, variant: str) -> Contestant:
    return Contestant(
        _tuples, partial(_pyfim, algorithm, variant), _pyfim_levels, "fim", converts=True
    )


def _mlxtend_contestant(algorithm: str) -> Contestant:
    return Contestant(
        _one_hot, partial(_mlxtend, algorithm), _mlxtend_levels, "mlxtend", modes=(THRESHOLD, TOP)
    )


def _fastapriori_contestant(**how: Any) -> Contestant:
    return Contestant(_pandas_frame, partial(fastapriori, how), fastapriori_levels, "fastapriori")


CONTESTANTS: dict[str, Contestant] = {
    OURS: Contestant(_same, ours, _as_they_are, "fim_private"),
    f"{OURS}, 1 thread": Contestant(_same, partial(ours, threads=1), _as_they_are, "fim_private"),
    f"{OURS}, numpy": Contestant(
        _same, partial(ours, counter="numpy"), _as_they_are, "fim_private"
    ),
    "PyFIM eclat": _pyfim_contestant("eclat", "a"),
    "PyFIM eclat (o)": _pyfim_contestant("eclat", "o"),
    "PyFIM fpgrowth": _pyfim_contestant("fpgrowth", "s"),
    "PyFIM fpgrowth (d)": _pyfim_contestant("fpgrowth", "d"),
    "PyFIM relim": _pyfim_contestant("relim", "s"),
    "PyFIM apriori": _pyfim_contestant("apriori", "b"),
    "mlxtend fpgrowth": _mlxtend_contestant("fpgrowth"),
    "mlxtend apriori": _mlxtend_contestant("apriori"),
    "mlxtend hmine": _mlxtend_contestant("hmine"),
    "efficient-apriori": Contestant(
        _tuples,
        _efficient_apriori,
        _efficient_apriori_levels,
        "efficient_apriori",
        modes=(THRESHOLD, TOP),
    ),
    **{
        f"rusket {m}": Contestant(_csr, partial(rusket, m), rusket_levels, "rusket")
        for m in OF_RUSKET
    },
    "fastapriori": _fastapriori_contestant(),
    "fastapriori eclat": replace(
        _fastapriori_contestant(backend_options={"fast_variant": "eclat"}), sizes=(3, 4)
    ),
    "fastapriori classic": replace(_fastapriori_contestant(algo="classic"), modes=(THRESHOLD, TOP)),
    "scipy XᵀX": Contestant(_csr, _scipy, _histogram_levels, "scipy", sizes=(2,)),
    "polars join": Contestant(
        _polars_frame, _polars, _as_they_are, "polars", sizes=(2, 3), joins=True
    ),
    "DuckDB join": Contestant(
        _duckdb_table, _duckdb, _as_they_are, "duckdb", sizes=(2, 3), joins=True
    ),
}


def is_ours(name: str) -> bool:
    """Whether a contestant is this package."""
    return name.startswith(OURS)


def as_line(request: Request) -> dict[str, Any]:
    """Return the request as a worker reads it."""
    return asdict(request)
