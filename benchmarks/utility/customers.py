"""Customers: what is missed where a shop protects its customers, by the tool as it is shipped and
by its peers.

Three shops, and each half of their customers, so that nothing rests on one shop's size. Every
release has supports.

python -m benchmarks.utility.customers [--quick]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.frame.datasets import Source, corner_shop, shops
from benchmarks.frame.output_files import DEFAULT_OUTPUT
from benchmarks.frame.study import NOTHING, Options, Results, Section, Study, Task, main
from benchmarks.frame.tables import Cell, Table
from benchmarks.peers.question import Question
from benchmarks.utility import tasks
from benchmarks.utility.measures import (
    USER,
    Row,
    below,
    key,
    label,
    rows_of,
    written,
)
from benchmarks.utility.resampled import every_user
from fim_private.dp.neighbors import Neighbors

DELTA = 1e-6
COUNTS = [10, 50, 100]
PAIRS, OTHER_SIZES = (2,), [(1,), (3,), (1, 2, 3)]
EPSILON, OTHER_EPSILONS = 1.0, [0.5, 2.0]
# Runs of the tool where the main table is, and elsewhere; of what is drawn quickly; and of the
# histogram.
RUNS, FEWER_RUNS, SIMULATED, OF_HISTOGRAM = 10, 4, 100, 40
DEFAULT, WITH_LIST = "fim-private", "fim-private, list"
PICKS, PICKS_OF_LIST, HISTOGRAM = "limited-domain", "exponential", tasks.HISTOGRAM
# Whether they are given the list of the items.
ENTRIES = {DEFAULT: "no", PICKS: "no", HISTOGRAM: "no", WITH_LIST: "yes", PICKS_OF_LIST: "yes"}
WHOLE, HALVES = "whole", ("half 1", "half 2")
NEARLY_ALL = 0.9


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each shop, size, entry, relation and ε, what matters most first. Makes
    the halves.
    """
    if options.quick:
        shop = corner_shop()
        halves = [half(shop, which, of=40) for which in range(2)]
        parts = [replace(halves[0], name=f"{shop.name}, {WHOLE}"), *halves]
        how = {"counts": [10], "runs": 2, "seed": options.seed}
        return [*_tasks(parts, [PAIRS], [EPSILON], ENTRIES, how)], []
    found, missing = shops(options.data)
    taken = [source for name, source in found.items() if options.takes(name)]
    whole = [replace(source, name=f"{source.name}, {WHOLE}") for source in taken]
    halves = [half(source, which) for source, which in product(taken, range(2))]
    how = {"counts": COUNTS, "runs": RUNS, "seed": options.seed}
    fewer = {**how, "runs": FEWER_RUNS}
    quick = [entry for entry in ENTRIES if entry != HISTOGRAM]
    built: list[Task] = []
    built += _tasks(whole + halves, [PAIRS], [EPSILON], quick, how)
    built += _tasks(whole + halves, [PAIRS], [EPSILON], [HISTOGRAM], how)
    for entries, part in product((quick, [HISTOGRAM]), (whole, halves)):
        built += _tasks(part, OTHER_SIZES, [EPSILON], entries, fewer)
        built += _tasks(part, [PAIRS], OTHER_EPSILONS, entries, fewer)
    return built, missing


def _tasks(
    data: Iterable[Source],
    sizes: Iterable[tuple[int, ...]],
    epsilons: Iterable[float],
    entries: Iterable[str],
    how: dict[str, Any],
) -> Iterator[Task]:
    for source, size, epsilon, neighbors, entry in product(
        data, sizes, epsilons, (Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE), entries
    ):
        name = key(source.name, size, entry, USER, neighbors, epsilon, DELTA)
        asked = {
            "question": Question(source, size, epsilon, DELTA, neighbors),
            "counts": how["counts"],
            "seed": how["seed"],
        }
        if entry == HISTOGRAM:
            yield Task(name, tasks.histogram, {**asked, "trials": OF_HISTOGRAM})
        elif entry in (PICKS, PICKS_OF_LIST):
            yield Task(name, tasks.ours, {**asked, "mechanism": entry, "trials": SIMULATED})
        else:
            yield Task(
                name,
                tasks.by_default,
                {**asked, "listed": entry == WITH_LIST, "trials": how["runs"]},
            )


def half(source: Source, which: int, of: int = 2) -> Source:
    """Return every other customer of a shop, or every of-th, by their identifiers in order: from
    the which-th on.
    """
    name = f"{source.name}, {HALVES[which]}"
    path = DEFAULT_OUTPUT / f"customers_{source.name}_{which + 1}_{of}.parquet"
    made_of = (source.path, Path(every_user.__code__.co_filename))
    if not path.is_file() or path.stat().st_mtime < max(file.stat().st_mtime for file in made_of):
        every_user(source, path, which, of)
    return Source(name, f"{source.about}; {HALVES[which]} of them", path, source.columns)


# By shop, whether whole or halves, k, sizes, ε, relation and entry: one row of the whole shop, or
# of each half.
Setting = tuple[str, str, int, str, float, str]
Found = dict[Setting, dict[str, list[Row]]]


def _found(results: Results) -> Found:
    """Return what was measured; of halves only where both were."""
    found: Found = {}
    for row in rows_of(results):
        shop, part = row.data.rsplit(", ", 1)
        setting = (
            shop,
            WHOLE if part == WHOLE else "halves",
            row.k,
            row.sizes,
            row.epsilon,
            row.neighbors,
        )
        found.setdefault(setting, {}).setdefault(row.entry, []).append(row)
    for (_, part, *_), entries in found.items():
        needed = 1 if part == WHOLE else len(HALVES)
        for entry in [entry for entry, rows in entries.items() if len(rows) < needed]:
            del entries[entry]
    return {setting: entries for setting, entries in found.items() if entries}


def _missed(rows: list[Row]) -> float:
    return fmean(row.found["fnr"] for row in rows)


def sections(results: Results) -> Iterator[Section]:
    """Say what is missed, and who misses less."""
    found = _found(results)
    if not found:
        yield NOTHING
        return
    yield Section("What was measured of customers", _METHOD)
    first = found_at(found, label(PAIRS), EPSILON)
    yield Section("Pairs of customers", _PAIRS, (_targets(first), _table(first, "pairs")))
    yield _losses(found)
    yield _nearly_all(found)
    for sizes in OTHER_SIZES:
        if some := found_at(found, label(sizes), EPSILON):
            title = f"Customers: itemsets of {label(sizes)}"
            together = " Sizes are ranked together." if len(sizes) > 1 else ""
            yield Section(
                title,
                f"ε = {EPSILON:g}.{together}",
                (_table(some, f"itemsets of {label(sizes)}"),),
            )
    for epsilon in OTHER_EPSILONS:
        if some := found_at(found, label(PAIRS), epsilon):
            yield Section(
                f"Customers: pairs at ε = {epsilon:g}",
                _OTHER_EPSILON,
                (_table(some, "pairs"),),
            )


def found_at(found: Found, sizes: str, epsilon: float) -> Found:
    """Return what was measured of these sizes at this ε."""
    return {
        setting: entries for setting, entries in found.items() if setting[3:5] == (sizes, epsilon)
    }


_METHOD = f"""\
A unit is a customer with all their orders; the support of an itemset is the number of customers with an order that
holds it. Every release has supports, which its budget pays for. δ = {DELTA:g}. FNR is the share of the true top k that
is missing. Any itemset as frequent as the k-th will do.

Each shop is measured whole and in halves of its customers: every other one, by their identifiers in order. A figure of
halves is the mean of both.

- {DEFAULT}: what `fim-private mine --user` does by default, run with seeds: {RUNS} runs for pairs at ε = {EPSILON:g},
  {FEWER_RUNS} elsewhere. Of frequent itemsets, if few are sought, it takes {PICKS} or, over a list, mostly {PICKS_OF_LIST}.
- {WITH_LIST}: the same, given a list of all items that the shop sold (`--catalogue`).
- {PICKS}, and {PICKS_OF_LIST} over the list: picks one after the other, simulated {SIMULATED} times.
- {HISTOGRAM}: every customer is cut to some items. Counts that clear OpenDP's threshold are released.
  The cut is the one that suits the data best, which a user of it could not know. {OF_HISTOGRAM} runs.

Sizes vary at ε = {EPSILON:g}, and ε for pairs: not every size is measured at every ε. A – stands where nothing was
measured, and what was not measured at all has no row."""  # noqa: E501
_PAIRS = (
    "The first table has the tool alone, on whole shops, with 95 % intervals. The second "
    "has the FNR of all."
)
_OTHER_EPSILON = "FNR, as in the table of pairs."


def _columns(found: Found) -> list[tuple[int, str]]:
    """Return k and part of what was measured."""
    return sorted({(k, part) for _, part, k, *_ in found}, key=lambda at: (at[1] != WHOLE, at[0]))


def _targets(found: Found) -> Table:
    """Return FNR of the tool, with intervals, by shop and k."""
    asked = [
        (entry, relation)
        for entry in (DEFAULT, WITH_LIST)
        for relation in (Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE)
    ]
    lines: list[tuple[Cell, ...]] = []
    for shop, k in dict.fromkeys((shop, k) for shop, part, k, *_ in found if part == WHOLE):
        cells: list[Cell] = []
        for entry, relation in asked:
            rows = found.get((shop, WHOLE, k, label(PAIRS), EPSILON, relation), {}).get(entry)
            cells.append(written(rows[0].found) if rows else None)
        lines.append((f"{shop}, k = {k}", *cells))
    names = (
        f"{'list' if entry == WITH_LIST else 'no list'}, {relation}" for entry, relation in asked
    )
    return Table(("pairs, ε = 1", *names), tuple(lines))


def _table(found: Found, what: str) -> Table:
    """Return FNR by shop, relation and entry; found: of one size and ε."""
    columns = _columns(found)
    lines: list[tuple[Cell, ...]] = []
    settings = dict.fromkeys(
        (shop, sizes, epsilon, relation) for shop, _, _, sizes, epsilon, relation in found
    )
    for (shop, sizes, epsilon, relation), entry in product(settings, ENTRIES):
        own = [
            found.get((shop, part, k, sizes, epsilon, relation), {}).get(entry)
            for k, part in columns
        ]
        if any(own):
            cells = (round(_missed(rows), 3) if rows else None for rows in own)
            lines.append((shop, relation, entry, ENTRIES[entry], *cells))
    names = (f"{part}: k = {k}" for k, part in columns)
    return Table((f"FNR, {what}", "neighbours", "mechanism", "list", *names), tuple(lines))


def _losses(found: Found) -> Section:
    """Say at how many settings the tool misses more than each of those that know as much, or less,
    and where.
    """
    told: list[str] = []
    lines: list[tuple[Cell, ...]] = []
    for ours, other in product((DEFAULT, WITH_LIST), (PICKS, HISTOGRAM, PICKS_OF_LIST)):
        both = {
            at: (entries[ours], entries[other])
            for at, entries in found.items()
            if {ours, other} <= entries.keys()
        }
        if not both or ENTRIES[other] > ENTRIES[ours]:
            continue
        apart = {
            at: pair
            for at, pair in both.items()
            if any(row.found["mechanism"] != other for row in pair[0])
        }
        lost = {at: (_missed(own), _missed(theirs)) for at, (own, theirs) in apart.items()}
        lost = {at: (own, theirs) for at, (own, theirs) in lost.items() if below(theirs, own)}
        same = (
            f" At {len(both) - len(apart)} more it is that mechanism itself."
            if len(apart) < len(both)
            else ""
        )
        told.append(
            f"- {ours} misses more than {other} at {len(lost)} of {len(apart)} settings.{same}"
        )
        lines += [
            (ours, other, *_cells(at), round(own, 3), round(theirs, 3), round(own - theirs, 3))
            for at, (own, theirs) in lost.items()
        ]
    reading = (
        "A setting is a shop, whole or in halves, with a size, k, ε and relation. FNR that "
        "differ by no more than "
        "0.005 count as equal. Few runs were made, so that small differences are chance.\n\n"
        + "\n".join(told)
    )
    names = ("the tool", "who misses less", *_SETTING, "its FNR", "theirs", "difference")
    table = Table(names, tuple(lines))
    return Section(
        "Where the tool loses, and to which mechanisms", reading, (table,) if lines else ()
    )


def _nearly_all(found: Found) -> Section:
    """Say where the tool misses nearly all."""
    told: list[str] = []
    lines: list[tuple[Cell, ...]] = []
    for ours in (DEFAULT, WITH_LIST):
        own = {at: _missed(entries[ours]) for at, entries in found.items() if ours in entries}
        bad = {at: missed for at, missed in own.items() if missed >= NEARLY_ALL}
        told.append(f"- {ours}: at {len(bad)} of {len(own)} settings.")
        lines += [(ours, *_cells(at), round(missed, 3)) for at, missed in bad.items()]
    reading = (
        f"The tool misses {100 * NEARLY_ALL:.0f} % or more of the top k here.\n\n" + "\n".join(told)
    )
    table = Table(("the tool", *_SETTING, "FNR"), tuple(lines))
    return Section("Where nearly all is missed", reading, (table,) if lines else ())


_SETTING = ("shop", "customers", "sizes", "ε", "neighbours", "k")


def _cells(setting: Setting) -> tuple[Cell, ...]:
    shop, part, k, sizes, epsilon, relation = setting
    return shop, part, sizes, f"{epsilon:g}", relation, k


STUDY = Study(
    "customers",
    "benchmarks.utility.customers",
    "Customers: what is missed where a shop protects its customers",
    build,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
