"""Small shops: levelwise against selecting one by one, by the number of customers, and which of
them the tool takes.

Customers are drawn from each shop, a few times for each number of them. Every release has
supports, and selections spend as little on these as levelwise does, as "auto" lets them.

python -m benchmarks.utility.small_shops [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import Any

from benchmarks.frame.datasets import Source, corner_shop, sales, shops
from benchmarks.frame.study import NOTHING, Options, Results, Section, Study, Task, main
from benchmarks.frame.support_spectra import transactions
from benchmarks.frame.tables import Cell, Table
from benchmarks.utility.measures import share_found
from benchmarks.utility.resampled import drawn_units, items_of
from fim_private.mining.mine import mine

DELTA = 1e-6
USERS, COUNTS, EPSILONS = [500, 1000, 2000, 4000, 10_000], [2, 5, 10, 20, 50], [0.5, 1.0, 2.0]
SIZES = ["2", "1", "1-2"]
SAMPLES = 3
# Whether there is a list of all items, and what selects one by one then.
PICKED = {False: "limited-domain", True: "exponential"}
LEVELWISE, SELECTIONS, TOOL, STATED = "levelwise", "one by one", "fim-private", "with --units"
ENTRIES = (LEVELWISE, SELECTIONS, TOOL, STATED)
FAR = 0.03  # what misses so much more than the better of the two is counted


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each shop, number of customers, size and ε."""
    if options.quick:
        how = {"counts": [5], "samples": 1, "seed": options.seed}
        return [*_tasks([corner_shop()], [1000], ["2"], [1.0], how)], []
    found, missing = shops(options.data)
    everywhere = [*found.values(), corner_shop(), sales()]
    taken = [source for source in everywhere if options.takes(source.name)]
    how = {"counts": COUNTS, "samples": SAMPLES, "seed": options.seed}
    return [*_tasks(taken, USERS, SIZES, EPSILONS, how)], missing


def _tasks(
    data: Sequence[Source],
    users: Sequence[int],
    sizes: Sequence[str],
    epsilons: Sequence[float],
    how: dict[str, Any],
) -> Iterator[Task]:
    for source, number, size, epsilon in product(data, users, sizes, epsilons):
        asked = {"source": source, "users": number, "size": size, "epsilon": epsilon}
        yield Task(f"{source.name}|{number}|{size}|{epsilon:g}", missed, {**asked, **how})


def missed(
    source: Source,
    users: int,
    size: str,
    epsilon: float,
    counts: list[int],
    samples: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Return for each k, without and with a list, the share of the top k that each entry misses."""
    rows = []
    union = "-" in size
    drawn = [drawn_units(transactions(source), users, [seed, sample]) for sample in range(samples)]
    for count, listed in product(counts, PICKED):
        asked: dict[str, Any] = {"size": size, "union": union, "epsilon": epsilon, "delta": DELTA}
        asked |= {"top": count, "supports": True}
        entries: dict[str, dict[str, Any]] = {
            LEVELWISE: {"mechanism": LEVELWISE, "supports_share": 0.1},
            SELECTIONS: {"mechanism": PICKED[listed], "supports_share": 0.1},
            TOOL: {},
            STATED: {"units": users},
        }
        row: dict[str, Any] = {"k": count, "listed": listed}
        for entry, options in entries.items():
            shares = []
            for place, data in enumerate(drawn):
                given = asked | options
                if listed:
                    given["catalogue"] = items_of(data)
                release = mine(data, seed=seed + place, **given)
                shares.append(1 - share_found(release, data, count))
            row[entry] = fmean(shares)
        rows.append(row)
    return rows


def sections(results: Results) -> Iterator[Section]:
    """Say what is missed by the number of customers, and how far the tool is from the better."""
    answers = results["answers"]
    if not answers:
        yield NOTHING
        return
    found: dict[tuple[str, bool, int], list[Mapping[str, float]]] = {}
    for key, rows in answers.items():
        _, users, size, _ = key.split("|")
        for row in rows:
            found.setdefault((size, row["listed"], int(users)), []).append(row)
    yield Section(
        "Small shops: which mechanism, by the number of customers",
        f"The share of the true top k that is missing, in the mean of all shops, "
        f"k = {', '.join(map(str, COUNTS))} and ε = {', '.join(f'{e:g}' for e in EPSILONS)}. "
        f"{TOOL}: what `--mechanism auto` takes; {STATED}: with the number of customers stated. "
        f"Far: in how many settings that misses over {FAR:g} more than the better of {LEVELWISE} "
        f"and selecting {SELECTIONS}. The k-th itemset of a shop counts as missed or not, so that "
        f"small k are rough.",
        (_table(found),),
    )


def _table(found: Mapping[tuple[str, bool, int], Sequence[Mapping[str, float]]]) -> Table:
    def place(setting: tuple[str, bool, int]) -> tuple[int, bool, int]:
        size, listed, users = setting
        return SIZES.index(size), listed, users

    rows: list[tuple[Cell, ...]] = []
    for size, listed, users in sorted(found, key=place):
        told = found[size, listed, users]
        means = [fmean(row[entry] for row in told) for entry in ENTRIES]
        has_list = "yes" if listed else "no"
        rows.append((size, has_list, users, *means, _far(told, TOOL), _far(told, STATED)))
    columns = ("size", "list", "customers", *ENTRIES, "far", "far with --units")
    return Table(columns, tuple(rows))


def _far(told: Sequence[Mapping[str, float]], entry: str) -> str:
    far = [row[entry] > min(row[LEVELWISE], row[SELECTIONS]) + FAR for row in told]
    return f"{sum(far)} of {len(far)}"


STUDY = Study(
    "small_shops",
    "benchmarks.utility.small_shops",
    "Small shops: levelwise or selections, by the number of customers",
    build,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
