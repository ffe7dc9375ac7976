"""What is said of users with all their baskets, and of neighbours that have one unit replaced."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from benchmarks.frame.study import Section
from benchmarks.frame.tables import Cell, Table
from benchmarks.utility.mean_tables import RATES, best, by_k
from benchmarks.utility.measures import ADD_REMOVE, BASKET, REPLACE_ONE, USER, Row, below, mean, means
from benchmarks.utility.runs import RUNS, WITH_ITEMS
from benchmarks.utility.tasks import ENTRIES, OURS, UNKNOWN


def sections(rows: list[Row]) -> Iterator[Section]:
    """Say what is different by user, and where one unit is replaced; rows: of one δ."""
    at_one = [row for row in rows if row.epsilon == 1]
    if by_user := [row for row in at_one if (row.unit, row.neighbors) == (USER, ADD_REMOVE)]:
        yield _behind([row for row in at_one if row.unit == USER])
        yield _users(by_user, [row for row in rows if (row.unit, row.neighbors) == (USER, ADD_REMOVE)])
    for unit, named in ((BASKET, "basket"), (USER, "user with all their baskets")):
        own = [row for row in at_one if row.unit == unit]
        if any(row.neighbors == REPLACE_ONE for row in own):
            yield _replaced(own, named)


def _users(rows: list[Row], of_all: list[Row]) -> Section:
    data = list(dict.fromkeys(row.data for row in rows))
    counts = sorted({row.k for row in rows})
    reading = (
        f"A unit is a user with all their baskets, in {' and '.join(data)}; the support of an itemset is the number of "
        "users with a basket that contains it. ε = 1, δ = 1e-6, add-remove. Least mean FNR: "
        f"{best(rows, counts)} PrivBasis is not here: its bins rest on a unit that is in one bin of each basis, and a "
        "user has many baskets. The histogram and the weighted Gaussian get the best of three cuts: a user's baskets "
        "cut to B items in all, or 1 or 4 random baskets of each user cut to B items each. The first table has means "
        "over data sets and sizes; the others FNR by data set and size, and by ε."
    )
    sizes = list(dict.fromkeys(row.sizes for row in rows))
    shown = [k for k in counts if k >= 10]
    tables = [by_k(rows, RATES)]
    for name in data:
        lines: list[tuple[Cell, ...]] = []
        for entry in ENTRIES:
            own = [row for row in rows if (row.data, row.entry) == (name, entry)]
            if own:
                by_size = (mean(row for row in own if (row.sizes, row.k) == (s, k)) for s in sizes for k in shown)
                lines.append((entry, *by_size))
        tables.append(Table((name, *(f"{s}: k = {k}" for s in sizes for k in shown)), tuple(lines)))
    grid = sorted({row.epsilon for row in of_all})
    k = max(counts)
    found = [means(row for row in of_all if (row.epsilon, row.k) == (epsilon, k)) for epsilon in grid]
    by_epsilon = tuple((e, *(at.get(e) for at in found)) for e in ENTRIES if any(e in at for at in found))
    tables.append(Table((f"k = {k}", *(f"ε = {epsilon:g}" for epsilon in grid)), by_epsilon))
    return Section("By user", reading, None, tuple(tables))


def _replaced(rows: list[Row], unit: str) -> Section:
    """Compare neighbours that differ in one unit more or less with those that have one replaced."""
    replaced = [row for row in rows if row.neighbors == REPLACE_ONE]
    counts = sorted({row.k for row in replaced})
    settings = {(row.data, row.sizes, row.k) for row in replaced}
    both = {
        relation: [r for r in rows if r.neighbors == relation and (r.data, r.sizes, r.k) in settings]
        for relation in (ADD_REMOVE, REPLACE_ONE)
    }
    lines: list[tuple[Cell, ...]] = []
    for entry in ENTRIES:
        own = [[r for r in both[relation] if (r.entry, r.k) == (entry, k)] for k in counts for relation in both]
        if any(own):
            lines.append((entry, *map(mean, own)))
    changes = {e: value - means(both[ADD_REMOVE]).get(e, value) for e, value in means(both[REPLACE_ONE]).items()}
    most, fewest = max(changes, key=changes.__getitem__), min(changes, key=changes.__getitem__)
    reading = (
        f"Neighbours differ in one {unit} replaced by another, at ε = 1, δ = 1e-6; mean FNR over data sets and sizes. "
        f"Least: {best(replaced, counts)} The relation costs most for {most} ({changes[most]:.3f} more is missed than "
        f"under add-remove, in the mean over k) and least for {fewest} ({changes[fewest]:.3f}). PrivBasis is converted "
        "by group privacy, a unit replaced being one removed and one added: half of ε, or a quarter of ρ but for the "
        "Gaussian bins, of which two are moved and half of ρ is enough. OpenDP's map is asked for twice as many "
        "counts, each moved by 1, or for weights √2 apart. Large margin has the same noise under both."
    )
    columns = (f"k = {k}: {relation}" for k in counts for relation in both)
    title = f"One {unit} replaced"
    return Section(title, reading, None, (Table(("mechanism", *columns), tuple(lines)),))


def _behind(rows: list[Row]) -> Section:
    """Compare levelwise by user with the best of ours that know as much, setting by setting; rows: both relations."""
    tables, told = [], []
    for entry, rivals, knowing in (
        ("levelwise", [e for e in UNKNOWN if e not in RUNS], "without a list of items"),
        (WITH_ITEMS, [e for e in OURS if e not in RUNS], "told the items or not"),
    ):
        table, more, settings = _against_best(rows, entry, rivals)
        tables.append(table)
        told.append(f"{entry} misses more than the best of the others of ours, {knowing}, in {more} of {settings}")
    reading = (
        "A unit is a user with all their baskets; ε = 1, δ = 1e-6. FNR of levelwise, against that of whichever other "
        f"of our mechanisms misses least in the very setting. {'; '.join(told)} settings (k = 1 included, for which "
        "the default is not levelwise)."
    )
    return Section("By user: levelwise against the best of ours", reading, None, tuple(tables))


def _against_best(rows: list[Row], entry: str, rivals: list[str]) -> tuple[Table, int, int]:
    """Return FNR of an entry and of the best rival, by setting, and in how many settings it misses more."""
    counts = sorted({row.k for row in rows})
    lines: list[tuple[Cell, ...]] = []
    more = settings = 0
    for data, relation, sizes in dict.fromkeys((row.data, row.neighbors, row.sizes) for row in rows):
        cells = []
        for k in counts:
            here = [r for r in rows if (r.data, r.neighbors, r.sizes, r.k) == (data, relation, sizes, k)]
            found = means(here)
            best = min((found[rival], rival) for rival in rivals if rival in found)
            behind = below(best[0], found[entry])
            more, settings = more + behind, settings + 1
            cells.append(f"{found[entry]:.3f}, {best[0]:.3f} ({best[1]}){' more' if behind else ''}")
        lines.append((data, relation, sizes, *cells))
    columns = (entry, "neighbours", "sizes", *(f"k = {k}: it, the best other" for k in counts))
    return Table(columns, tuple(lines)), more, settings


def forms(rows: list[Row]) -> Section:
    """Compare levelwise with and without supports, and told the items; rows: at ε = 1, of one δ."""
    lines: list[tuple[Cell, ...]] = []
    counts = sorted({row.k for row in rows})
    for unit, relation, entry in product((BASKET, USER), (ADD_REMOVE, REPLACE_ONE), RUNS):
        own = [row for row in rows if (row.unit, row.neighbors, row.entry) == (unit, relation, entry)]
        if own:
            lines.append((unit, relation, entry, *(mean(r for r in own if r.k == k) for k in counts)))
    reading = (
        "Mean FNR over data sets and sizes at ε = 1, δ = 1e-6: with noisy supports, which take 10 % of μ², or 15 % "
        "under replace-one; the same, told the items; and without supports, where all of the budget finds itemsets."
    )
    columns = ("unit", "neighbours", "levelwise", *(f"k = {k}" for k in counts))
    return Section("Levelwise told the items, and without supports", reading, None, (Table(columns, tuple(lines)),))
