"""Every mechanism and the serious alternatives, on every data set: what they miss, and how exact
their supports are.

python -m benchmarks.utility.compare [--quick]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from benchmarks.frame.datasets import Source, quest, sources
from benchmarks.frame.output_files import DEFAULT_OUTPUT
from benchmarks.frame.study import NOTHING, Options, Results, Section, Study, Task, main
from benchmarks.frame.tables import Cell, Table
from benchmarks.peers.cut_baskets import LISTED
from benchmarks.peers.question import Question
from benchmarks.peers.weighted_gaussian import SUPPORTS_SHARE
from benchmarks.utility import tasks
from benchmarks.utility.measures import (
    BASKET,
    WITHIN,
    Row,
    among_best,
    below,
    best_of,
    key,
    least,
    mean,
    means,
    names,
    places,
    rows_of,
    written,
)
from fim_private.dp.neighbors import Neighbors

Budget = tuple[Neighbors, float, float]  # the relation of neighbours, ε and δ
SIZES = [(1,), (2,), (3,), (1, 2, 3)]
COUNTS = [1, 10, 50, 100]
EPSILONS = [0.1, 0.25, 0.5, 1.0, 2.0]
DELTAS = [1e-6, 1e-8]
TRIALS, OF_SLOW = 100, 40
# What the study is about first: if it stops, the rest is missing. Of neighbours with one unit
# replaced, of another δ, and of tight-margin, which takes long and does no better than
# limited-domain, nothing but ε = 1 is measured.
FIRST: list[Budget] = [(Neighbors.ADD_REMOVE, 1.0, DELTAS[0])]
THEN: list[Budget] = [(Neighbors.REPLACE_ONE, 1.0, DELTAS[0])]
LAST: list[Budget] = [
    (Neighbors.ADD_REMOVE, epsilon, DELTAS[0]) for epsilon in EPSILONS if epsilon != 1
]
SMALL_DELTA: list[Budget] = [(Neighbors.ADD_REMOVE, 1.0, DELTAS[1])]
# Of these there are fewer trials.
SLOW = ("tight-margin", *tasks.PEERS)
QUICK = ("levelwise", *(entry for entry in tasks.ENTRIES if entry not in (*SLOW, "levelwise")))


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set, size, mechanism, relation of neighbours, ε and δ."""
    if options.quick:
        how = (24, 4), {"counts": [1, 10], "seed": options.seed}
        small = [replace(quest(DEFAULT_OUTPUT, 2_000), name="quest")]
        entries = (*tasks.ENTRIES, tasks.WITHOUT_SUPPORTS)
        return [
            *_tasks(small, [(1,)], entries, FIRST + THEN, *how),
            *_tasks(small, [(2,)], entries, FIRST, *how),
        ], []
    found, missing = sources(options.data)
    data = [source for name, source in found.items() if options.takes(name)]
    how = (TRIALS, OF_SLOW), {"counts": COUNTS, "seed": options.seed}
    plan: list[tuple[tuple[str, ...], list[Budget]]] = [
        (QUICK, FIRST),
        (tasks.PEERS, FIRST),
        (QUICK[:1], THEN),
        ((tasks.WITHOUT_SUPPORTS,), FIRST),
        (QUICK[1:], THEN),
        (("tight-margin",), FIRST),
        ((tasks.WITHOUT_SUPPORTS,), THEN),
        (SLOW, THEN),
        (QUICK, LAST),
        (tasks.PEERS, LAST),
        (QUICK + tasks.PEERS, SMALL_DELTA),
    ]
    return [
        task for entries, budgets in plan for task in _tasks(data, SIZES, entries, budgets, *how)
    ], missing


def _tasks(
    data: Iterable[Source],
    sizes: Iterable[tuple[int, ...]],
    entries: Iterable[str],
    budgets: Iterable[Budget],
    trials: tuple[int, int],
    common: dict[str, Any],
) -> Iterator[Task]:
    for source, size, entry, (neighbors, epsilon, delta) in product(data, sizes, entries, budgets):
        # The one spends no δ; OpenDP's map does not resolve so small a probability for each of a
        # unit's many itemsets.
        if entry in (tasks.PURE, tasks.WEIGHTED) and delta != DELTAS[0]:
            continue
        name = key(source.name, size, entry, BASKET, neighbors, epsilon, delta)
        how = {
            "question": Question(source, size, epsilon, delta, neighbors),
            "trials": trials[entry in SLOW],
        }
        if entry in tasks.RUNS:
            yield Task(name, tasks.shipped, {**how, **common, "entry": entry})
        elif entry in tasks.OURS:
            yield Task(name, tasks.ours, {**how, **common, "mechanism": entry})
        elif entry.startswith("PrivBasis"):
            yield Task(name, tasks.privbasis, {**how, **common, "pure": entry == tasks.PURE})
        else:
            peer = tasks.weighted if entry == tasks.WEIGHTED else tasks.histogram
            yield Task(name, peer, {**how, **common})


# What there is to read in the answers, and its figures.

# A rate of false negatives, and how right what was released is.
RATES = {"FNR": "fnr", "precision": "precision", "supported": "supported"}


def complete_rows(results: Results) -> list[Row]:
    """Return all settings but those of an entry, unit, relation, ε and δ of which some have not
    been run.

    Means over some of the data sets would be compared with means over all.
    """
    begun = {tuple(key.split("/")[2:]) for key in results.get("not_done", ())}
    answers = {
        key: answer
        for key, answer in results["answers"].items()
        if tuple(key.split("/")[2:]) not in begun
    }
    return rows_of({"answers": answers})


def by_k(rows: list[Row], fields: dict[str, str]) -> Table:
    """Return the means of some measures by entry and k. fields: the measures by what they are
    called, "" for none.
    """
    counts = sorted({row.k for row in rows})
    lines: list[tuple[Cell, ...]] = []
    for entry in tasks.ENTRIES:
        own = [[row for row in rows if row.entry == entry and row.k == k] for k in counts]
        if any(own):
            cells = (mean(part, field) for part in own for field in fields.values())
            lines.append((entry, "yes" if entry in tasks.UNIVERSE else "no", *cells))
    columns = [f"k = {k}" + (name and f": {name}") for k in counts for name in fields]
    return Table(("mechanism", "needs the items", *columns), tuple(lines))


def best(rows: list[Row], counts: list[int]) -> str:
    """Say for each k who misses least."""
    return f"{'. '.join(f'k = {k}: {least_at(rows, k)}' for k in counts)}."


def least_at(rows: list[Row], k: int) -> str:
    """Say who misses least at a k, and who of those that do without the items."""
    known = means(row for row in rows if row.k == k)
    unknown = {entry: value for entry, value in known.items() if entry not in tasks.UNIVERSE}
    text = names(known)
    return text if least(known) == least(unknown) else f"{text}; without the items {names(unknown)}"


def against(rows: list[Row], entry: str) -> Table:
    """Return in how many settings an entry misses less than each other one, as much and more, and
    where by most.

    A setting is a data set, sizes and k; rows: of one ε and δ. Settings where both find nothing are
    as much.
    """
    settings = {
        (row.data, row.sizes, row.k): row.found["fnr"] for row in rows if row.entry == entry
    }
    lines: list[tuple[Cell, ...]] = []
    for other in tasks.ENTRIES:
        own = {(row.data, row.sizes, row.k): row.found["fnr"] for row in rows if row.entry == other}
        if other == entry or not (common := [setting for setting in settings if setting in own]):
            continue
        less = sum(below(settings[setting], own[setting]) for setting in common)
        more = sum(below(own[setting], settings[setting]) for setting in common)
        changes = {setting: settings[setting] - own[setting] for setting in common}
        ends = [pick(common, key=changes.__getitem__) for pick in (min, max)]
        most = [
            f"{abs(changes[end]):.3f} ({end[0]}, {end[1]}, k = {end[2]})" if some else None
            for end, some in zip(ends, (less, more), strict=True)
        ]
        lines.append(
            (
                other,
                "yes" if other in tasks.UNIVERSE else "no",
                less,
                len(common) - less - more,
                more,
                *most,
            )
        )
    columns = ("misses less", "as much", "misses more", "most ahead by", "most behind by")
    return Table((f"{entry} against", "needs the items", *columns), tuple(lines))


def _replaced(rows: list[Row]) -> Section:
    """Compare neighbours that differ in one basket more or less with those that have one replaced;
    rows: at ε = 1.
    """
    replaced = [row for row in rows if row.neighbors == Neighbors.REPLACE_ONE]
    counts = sorted({row.k for row in replaced})
    settings = {(row.data, row.sizes, row.k) for row in replaced}
    both = {
        relation: [
            r for r in rows if r.neighbors == relation and (r.data, r.sizes, r.k) in settings
        ]
        for relation in (Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE)
    }
    lines: list[tuple[Cell, ...]] = []
    for entry in tasks.ENTRIES:
        own = [
            [r for r in both[relation] if (r.entry, r.k) == (entry, k)]
            for k in counts
            for relation in both
        ]
        if any(own):
            lines.append((entry, *map(mean, own)))
    changes = {
        e: value - means(both[Neighbors.ADD_REMOVE]).get(e, value)
        for e, value in means(both[Neighbors.REPLACE_ONE]).items()
    }
    most, fewest = max(changes, key=changes.__getitem__), min(changes, key=changes.__getitem__)
    reading = (
        "Neighbours differ in one basket replaced by another, at ε = 1, δ = 1e-6; mean FNR over "
        f"data sets and sizes. Least: {best(replaced, counts)} The relation costs most for {most} "
        f"({changes[most]:.3f} more is missed than under add-remove, in the mean over k) and least "
        f"for {fewest} ({changes[fewest]:.3f}). PrivBasis is converted by group privacy: a unit "
        "replaced is one removed and one added. That takes half of ε, or a quarter of ρ. For the "
        "Gaussian bins half of ρ is enough, since two of them are moved. OpenDP's map is asked for "
        "twice as many counts, each moved by 1, or for weights √2 apart. Large margin has the same "
        "noise under both."
    )
    columns = (f"k = {k}: {relation}" for k in counts for relation in both)
    return Section("One basket replaced", reading, (Table(("mechanism", *columns), tuple(lines)),))


def forms(rows: list[Row]) -> Section:
    """Compare levelwise with and without supports, and with the items; rows: at ε = 1, of one δ."""
    lines: list[tuple[Cell, ...]] = []
    counts = sorted({row.k for row in rows})
    for relation, entry in product((Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE), tasks.RUNS):
        own = [row for row in rows if (row.neighbors, row.entry) == (relation, entry)]
        if own:
            lines.append(
                (BASKET, relation, entry, *(mean(r for r in own if r.k == k) for k in counts))
            )
    reading = (
        "Mean FNR over data sets and sizes at ε = 1, δ = 1e-6, in three forms. The first has noisy "
        "supports, which take 10 % of μ², or 15 % under replace-one. The second knows the items "
        "too. The third has no supports, so that all of the budget finds itemsets."
    )
    columns = ("unit", "neighbours", "levelwise", *(f"k = {k}" for k in counts))
    return Section(
        "Levelwise with the items, and without supports",
        reading,
        (Table(columns, tuple(lines)),),
    )


DELTA = 1e-6  # of all tables but that of δ
# Compared by ε and k.
BY_US = "ours, without the items"
COMPARED = (tasks.HISTOGRAM, tasks.WEIGHTED, "PrivBasis, zCDP", "exponential", "large-margin")


def sections(results: Results) -> Iterator[Section]:
    """Say which wins where."""
    every_form = complete_rows(results)
    everything = [row for row in every_form if row.entry in tasks.ENTRIES]
    if not everything:
        yield NOTHING
        return
    yield Section("What was measured", _method(everything))
    at_one = [row for row in everything if row.delta == DELTA and row.epsilon == 1]
    rows = [row for row in everything if row.neighbors == Neighbors.ADD_REMOVE]
    main_rows = [row for row in rows if row.epsilon == 1 and row.delta == DELTA]
    if main_rows:
        yield from _of_baskets(rows, main_rows)
    if any(row.neighbors == Neighbors.REPLACE_ONE for row in at_one):
        yield _replaced(at_one)
    yield forms([row for row in every_form if row.delta == DELTA and row.epsilon == 1])


def _of_baskets(rows: list[Row], main_rows: list[Row]) -> Iterator[Section]:
    """Say which wins where a basket is a unit and neighbours have one more or less; main_rows: at ε
    = 1.
    """
    yield _winners(main_rows, [row for row in rows if row.delta == DELTA])
    yield _against(main_rows)
    for sizes in dict.fromkeys(row.sizes for row in main_rows):
        yield _missed([row for row in main_rows if row.sizes == sizes], sizes)
    yield _privacy(rows)
    yield _regret(main_rows)
    yield _supports(main_rows)
    yield _deltas(rows)
    yield _by_data(main_rows)


def _method(rows: list[Row]) -> str:
    exact = sum(bool(row.found.get("exact")) for row in rows)
    trials = max(row.found["trials"] for row in rows)
    of_peers = max((row.found["trials"] for row in rows if row.entry in tasks.PEERS), default=0)
    runs = min(tasks.MOST_RUNS, trials)
    return f"""\
The false-negative rate (FNR) is the share of the true top k that is missing. Any itemset with at least the k-th
support will do. A mechanism that abstains misses. There are {len(rows):,} settings.

- {exact:,} are exact (one itemset, from the exact distribution). The others are means of {trials} releases, with the
  same seeds for all. Of tight-margin and the peers there are {of_peers}. Levelwise is run as it is shipped, {runs}
  times. Intervals are 95 % bootstrap percentiles. Where every trial missed the same share, they follow the rule of
  three (3 by the itemsets looked for in all trials).
- Unless said otherwise, a unit is a basket, and neighbours differ in one unit more or less (add-remove). The peers
  use that too. Every release spends (ε, δ) on selection and supports together. Levelwise spends 10 % of μ² on
  supports, 15 % under replace-one, and leaves out what does not stand out from its noise. The others of ours spend a
  third on supports. They keep all that they pick (`--keep-all`), so that they miss less.
- The default, `--mechanism auto`, is levelwise for k > 1, and for k = 1 limited-domain or, over a list of items that
  is short enough, exponential.
- The exponential mechanism, permute-and-flip, max-of-laplaces and PrivBasis know the items, and so does levelwise
  where that is said. An analyst may not take the items from the data. The stability histogram and the weighted Gaussian
  get, for every k, the cut of baskets that suits the data best. Choosing gets the least cap that cuts no basket, of
  {", ".join(map(str, tasks.CAPS))} (and of users no number of baskets).
- OpenDP itself draws the noise of the {LISTED:,} highest itemsets and of all at or above the threshold. The rest is
  simulated by the same law. Its noise has no seed: its figures change from run to run, as their intervals say. All
  others are the same in every run. Its threshold releases what is at the threshold too. Its own map leaves that out,
  to its advantage here.
- The weighted Gaussian (Gopi et al. 2020) bounds a unit by norm: each of its t itemsets weighs 1/√t. The histogram
  bounds it by number. OpenDP's Gaussian threshold releases what weighs much, among the {LISTED:,} itemsets of the
  highest supports in the cut data. Then {100 * float(SUPPORTS_SHARE):g} % of its budget, as levelwise spends under add-remove, counts these in
  the whole data.
- PrivBasis on itemsets of one size is our adaptation: a cap on the number of items, and 1.5 k pairs for triples."""  # noqa: E501


def _missed(rows: list[Row], sizes: str) -> Section:
    reading = (
        "Means over the data sets at ε = 1, δ = 1e-6. Least FNR: "
        f"{best(rows, sorted({row.k for row in rows}))} Precision is the share of what was "
        "released that belongs to the true top k. Supported is the share that any unit has. Both "
        "are of trials that released anything. So a mechanism that says little can be right in all "
        "of it."
    )
    return Section(
        f"False negatives and precision, itemsets of {sizes}", reading, (by_k(rows, RATES),)
    )


def _winners(rows: list[Row], of_all: list[Row]) -> Section:
    """Say who misses least, and where the histogram is ahead of what needs as little; rows: at ε =
    1.
    """
    counts = sorted({row.k for row in rows})
    wins, won = _wins(rows, counts)
    compared, ahead, behind = _compared(of_all)
    best = "".join(f"- k = {k}: {least_at(rows, k)}.\n" for k in counts)
    reading = (
        f"At ε = 1, δ = 1e-6 these miss least, or within {WITHIN:g} of it, in the mean over data "
        f"sets and sizes:\n\n{best}\nThe first table counts the settings (data set, size, k) where "
        f"each is among the best. Its interval is then within {WITHIN:g} of that of the least FNR. "
        f"Where nobody finds anything, nobody is. Large margin is in {won('large-margin')}. "
        f"Limited-domain needs to know as little, and is in {won('limited-domain')}. OpenDP's "
        f"histogram is in {won(tasks.HISTOGRAM)}. Of those that know the items, the exponential "
        f"mechanism is in {won('exponential')} and PrivBasis with zCDP in "
        f"{won('PrivBasis, zCDP')}.\n\nThe second table compares by ε and k. OpenDP's histogram is "
        "compared with those of ours that need nothing public, or only a cap or a rank. It misses "
        f"less than all of these at {places(ahead)}. It misses more than the best of these at "
        f"{places(behind)}. The third table says at which ε it is ahead of them on each data set."
    )
    return Section("Which wins where", reading, (wins, compared, _ahead(of_all, counts)))


def _wins(rows: list[Row], counts: list[int]) -> tuple[Table, Callable[[str], str]]:
    """Return in how many settings each is among the best, by k, and how to say it of one."""
    settings: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        settings.setdefault((row.data, row.sizes, row.k), []).append(row)
    best = {setting: among_best(own) for setting, own in settings.items()}
    won = {
        e: {k: sum(e in tied for (_, _, at), tied in best.items() if at == k) for k in counts}
        for e in tasks.ENTRIES
    }
    run = {
        e: {k: sum((row.entry, row.k) == (e, k) for row in rows) for k in counts}
        for e in tasks.ENTRIES
    }
    lines: list[tuple[Cell, ...]] = []
    for e in tasks.ENTRIES:
        cells = (f"{won[e][k]} of {run[e][k]}" if run[e][k] else None for k in counts)
        alone = sum(tied == [e] for tied in best.values())
        lines.append((e, "yes" if e in tasks.UNIVERSE else "no", *cells, alone))
    columns = ("mechanism", "needs the items", *(f"k = {k}" for k in counts), "best alone")
    return Table(
        columns, tuple(lines)
    ), lambda e: f"{sum(won[e].values())} of {sum(run[e].values())}"


def _compared(rows: list[Row]) -> tuple[Table, list[tuple[int, float]], list[tuple[int, float]]]:
    """Return mean FNRs by ε and k: of the one of ours with the least mean that needs no items, and
    of COMPARED.

    And the k and ε at which the histogram's is less than the former, and those at which it is more.
    """
    lines: list[tuple[Cell, ...]] = []
    ahead, behind = [], []
    for epsilon, k in sorted({(row.epsilon, row.k) for row in rows}):
        found = means(row for row in rows if (row.epsilon, row.k) == (epsilon, k))
        which, rate = best_of(found, tasks.UNKNOWN)
        compared = {BY_US: rate, **{entry: found[entry] for entry in COMPARED if entry in found}}
        tied = ", ".join(least(compared)) or "nobody"
        lines.append((epsilon, k, rate, which, *map(compared.get, COMPARED), tied))
        if tasks.HISTOGRAM in found:
            ahead += [(k, epsilon)] if below(found[tasks.HISTOGRAM], rate) else []
            behind += [(k, epsilon)] if below(rate, found[tasks.HISTOGRAM]) else []
    columns = ("ε", "k", BY_US, "which of ours", *COMPARED, f"least, or within {WITHIN:g}")
    return Table(columns, tuple(lines)), ahead, behind


def _ahead(rows: list[Row], counts: list[int]) -> Table:
    """Return by data set and k the ε at which the histogram misses less than all of ours that need
    no items.
    """
    lines: list[tuple[Cell, ...]] = []
    for data in dict.fromkeys(row.data for row in rows):
        cells: list[Cell] = []
        for k in counts:
            own = [row for row in rows if (row.data, row.k) == (data, k)]
            by_epsilon = {
                e: means(row for row in own if row.epsilon == e)
                for e in sorted({r.epsilon for r in own})
            }
            of_both = {e: f for e, f in by_epsilon.items() if tasks.HISTOGRAM in f}
            ahead = [
                e
                for e, f in of_both.items()
                if below(f[tasks.HISTOGRAM], best_of(f, tasks.UNKNOWN)[1])
            ]
            cells.append(
                (", ".join(f"{epsilon:g}" for epsilon in ahead) or "none") if of_both else None
            )
        lines.append((data, *cells))
    columns = ("data set: ε where OpenDP's histogram is ahead", *(f"k = {k}" for k in counts))
    return Table(columns, tuple(lines))


def _against(rows: list[Row]) -> Section:
    table = against(rows, "levelwise")
    behind = [
        f"- {line[0]}: {line[4]}" for line in table.rows if int(line[4] or 0) > int(line[2] or 0)
    ]
    reading = (
        "In how many settings (data set, size, k) at ε = 1, δ = 1e-6 levelwise misses less than "
        f"each of the others, as much (within {WITHIN:g}), and more. "
    )
    if behind:
        reading += (
            "It loses more often than it wins to these, at this many settings:\n\n"
            + "\n".join(behind)
        )
    else:
        reading += "It loses to none of them more often than it wins."
    return Section("Levelwise against each of the others", reading, (table,))


def _privacy(rows: list[Row]) -> Section:
    own = [row for row in rows if row.delta == DELTA]
    grid = sorted({row.epsilon for row in own})
    counts = [k for k in (10, 100) if any(row.k == k for row in own)]
    tables = []
    for k in counts:
        found = [
            means(row for row in own if (row.epsilon, row.k) == (epsilon, k)) for epsilon in grid
        ]
        lines = tuple((entry, *(at.get(entry) for at in found)) for entry in tasks.ENTRIES)
        tables.append(Table((f"k = {k}", *(f"ε = {epsilon:g}" for epsilon in grid)), lines))
    least_at = "\n".join(
        (
            f"- k = {k} and ε = {epsilon:g}: "
            f"{names(means(row for row in own if (row.epsilon, row.k) == (epsilon, k)))}."
        )
        for k, epsilon in product(counts, dict.fromkeys((grid[0], grid[-1])))
    )
    reading = f"Mean FNR over data sets and all sizes, δ = 1e-6. Least are:\n\n{least_at}"
    return Section("More and less privacy", reading, tuple(tables))


def _regret(rows: list[Row]) -> Section:
    most = max(row.k for row in rows)
    found = means((row for row in rows if row.k == most), "regret")
    missed = means(row for row in rows if row.k == most)
    parts = [
        f"{e} loses {found[e]:.3f} (FNR {missed[e]:.3f})"
        for e in tasks.ENTRIES
        if e in least(found)
    ]
    reading = (
        "Regret is the share of the top k's supports, added up, that the release does not hold; "
        f"means over data sets and sizes at ε = 1, δ = 1e-6. At k = {most} the least, or within "
        f"{WITHIN:g} of it: {'; '.join(parts) or 'nobody finds anything'}. Where the regret is far "
        "below the FNR, what is released instead is nearly as frequent."
    )
    return Section("Regret", reading, (by_k(rows, {"": "regret"}),))


def _supports(rows: list[Row]) -> Section:
    lines: list[tuple[Cell, ...]] = []
    for entry in tasks.ENTRIES:
        cells: list[Cell] = []
        for k in sorted({row.k for row in rows}):
            own = [row for row in rows if row.entry == entry and row.k == k]
            cells += [mean(own, "error_median"), mean(own, "error_95"), mean(own, "abstained")]
        lines.append((entry, *cells))
    counts = sorted({row.k for row in rows})
    columns = [
        f"k = {k}: {what}"
        for k in counts
        for what in ("median error", "95th percentile", "abstained")
    ]
    reading = (
        "The relative error is |noisy − true| / true of released supports (true at least 1). "
        "Abstained is the share of k that was not released. All are means over data sets and sizes "
        "at ε = 1, δ = 1e-6. A mechanism that releases only the strongest itemsets has small "
        "relative errors for that reason, and noise for fewer of them: read the three together. "
        "Errors above 1 are itemsets named though hardly any basket has them."
    )
    return Section(
        "Supports and abstentions",
        reading,
        (Table(("mechanism", *columns), tuple(lines)),),
    )


def _deltas(rows: list[Row]) -> Section:
    at_one = [row for row in rows if row.epsilon == 1]
    deltas = sorted({row.delta for row in at_one}, reverse=True)
    by_delta = [means(row for row in at_one if row.delta == delta) for delta in deltas]
    lines = [
        (e, *(found.get(e) for found in by_delta))
        for e in tasks.ENTRIES
        if any(e in found for found in by_delta)
    ]
    reading = "Mean FNR over data sets, sizes and k at ε = 1, by δ."
    changes = (
        {e: by_delta[-1][e] - by_delta[0][e] for e in by_delta[0] if e in by_delta[-1]}
        if by_delta
        else {}
    )
    if len(deltas) > 1 and changes:
        most = max(changes, key=changes.__getitem__)
        ratio = deltas[0] / deltas[-1]
        reading += (
            f" A δ {ratio:.0f} times smaller costs most for {most}: {changes[most]:.3f} "
            f"more is missed."
        )
    columns = ("mechanism", *(f"δ = {delta:g}" for delta in deltas))
    return Section("The price of a smaller δ", reading, (Table(columns, tuple(lines)),))


def _by_data(rows: list[Row]) -> Section:
    k = max(row.k for row in rows if row.k <= 10)
    data = list(dict.fromkeys(row.data for row in rows))
    sizes = list(dict.fromkeys(row.sizes for row in rows))
    chosen = sizes[min(1, len(sizes) - 1)]
    lines: list[tuple[Cell, ...]] = []
    for entry in tasks.ENTRIES:
        found = {
            row.data: row for row in rows if (row.entry, row.k, row.sizes) == (entry, k, chosen)
        }
        cells = [written(found[name].found) if name in found else None for name in data]
        if any(cells):
            lines.append((entry, *cells))
    reading = f"FNR with its interval at ε = 1, δ = 1e-6, k = {k}, itemsets of {chosen}."
    return Section("By data set", reading, (Table(("mechanism", *data), tuple(lines)),))


STUDY = Study(
    "utility",
    "benchmarks.utility.compare",
    "Utility: who finds the most frequent itemsets, and who does not",
    build,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
