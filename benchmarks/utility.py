"""Every mechanism and the serious alternatives, on every data set: what they miss, and how exact their supports are.

python benchmarks/utility.py [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from statistics import fmean
from typing import Any

import utility_figures as figures
import utility_tasks as tasks
from benchmark_data import quest
from spectra import Source, sources
from study import DEFAULT_OUTPUT, Cell, Figure, Options, Results, Section, Study, Table, Task, main
from utility_figures import Row, label, rows_of

SIZES = [(1,), (2,), (3,), (1, 2, 3)]
COUNTS = [1, 10, 50, 100]
EPSILONS = [0.1, 0.25, 0.5, 1.0, 2.0]
DELTAS = [1e-6, 1e-8]
TRIALS = 100
# A false-negative rate from here on is finding nothing.
_NOTHING = 0.995
ENTRIES = (*tasks.OURS, *tasks.PEERS)
UNIVERSE = (*tasks.CATALOGUE, "exponential, size only", "PrivBasis, pure", "PrivBasis, zCDP")


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set, size, mechanism, ε and δ."""
    if options.quick:
        made = quest(DEFAULT_OUTPUT, 2_000)
        small = {"quest": Source("quest", made.about, made.path)}
        return list(_all(small, [(1,), (2,)], [1, 10], [1.0], DELTAS[:1], 30, options.seed)), []
    found, missing = sources(options.data)
    return list(_all(found, SIZES, COUNTS, EPSILONS, DELTAS, TRIALS, options.seed)), missing


def _all(
    data: dict[str, Source],
    all_sizes: list[tuple[int, ...]],
    counts: list[int],
    epsilons: list[float],
    deltas: list[float],
    trials: int,
    seed: int,
) -> Iterator[Task]:
    how = {"trials": trials, "seed": seed}
    for (name, source), sizes, entry in product(data.items(), all_sizes, ENTRIES):
        for epsilon, delta in product(epsilons, deltas):
            if entry in tasks.PEERS and delta != deltas[0] and (epsilon != 1 or entry.endswith("pure")):
                continue  # slow, so the smaller δ at ε = 1 only; the pure form spends none
            key = f"{name}/{label(sizes)}/{entry}/{epsilon}/{delta}"
            kept = [k for k in counts if k <= tasks.REPEATED_TOP or entry not in tasks.REPEATED]
            budget = {"source": source, "sizes": sizes, "counts": kept, "epsilon": epsilon, "delta": delta, **how}
            if entry in tasks.OURS:
                yield Task(key, tasks.ours, {**budget, "mechanism": entry})
            elif entry.startswith("PrivBasis"):
                if entry.endswith("pure"):
                    budget["delta"] = None
                yield Task(key, tasks.privbasis, budget)
            else:
                yield Task(key, tasks.histogram, budget)


def sections(results: Results) -> Iterator[Section]:
    """Say which wins where."""
    rows = rows_of(results)
    main_rows = [row for row in rows if row.epsilon == 1 and row.delta == DELTAS[0]]
    yield Section("What was measured", _method(rows))
    yield _winners(main_rows)
    for sizes in dict.fromkeys(row.sizes for row in main_rows):
        yield _missed([row for row in main_rows if row.sizes == sizes], sizes)
    yield _privacy(rows)
    yield _supports(main_rows)
    yield _deltas(rows)
    yield _by_data(main_rows)


def _method(rows: list[Row]) -> str:
    exact = sum(bool(row.found.get("exact")) for row in rows)
    trials = min(row.found["trials"] for row in rows)
    return (
        "False-negative rate (FNR): the share of the true top k that is missing, where any itemset with at least the "
        f"k-th support will do; a mechanism that abstains misses. {len(rows):,} settings, of which {exact:,} are exact "
        f"(one itemset, from the exact distribution) and the others means of {trials} releases with paired seeds; "
        "intervals are 95 % bootstrap percentiles. Neighbours differ in one basket (add-remove), which is what the "
        "peers use. Every release spends (ε, δ) on selection and supports together. The exponential mechanism, "
        "permute-and-flip, max-of-laplaces and PrivBasis are told the items, which is more than an analyst may take "
        "from the data; choosing and the stability histogram get the cap on baskets that suits the data best. "
        f"Large margin, tight margin and distance pick by repetition and are run up to k = {tasks.REPEATED_TOP}; the "
        "peers are run with the smaller δ at ε = 1 only. OpenDP's noise has no seed, so its figures change a little "
        "from run to run; its threshold releases what is at the threshold too, which its own map leaves out, to its "
        "advantage here."
    )


def _mean(rows: list[Row], field: str) -> float | None:
    values = [row.found[field] for row in rows if row.found[field] is not None]
    return fmean(values) if values else None


def _missed(rows: list[Row], sizes: str) -> Section:
    counts = sorted({row.k for row in rows})
    lines: list[tuple[Cell, ...]] = []
    for entry in ENTRIES:
        own = [[row for row in rows if row.entry == entry and row.k == k] for k in counts]
        if any(own):
            lines.append((entry, "yes" if entry in UNIVERSE else "no", *(_mean(part, "fnr") for part in own)))
    reading = f"Mean FNR over the data sets at ε = 1, δ = 1e-6. {_best(rows, counts)}"
    columns = ("mechanism", "needs the items", *(f"k = {k}" for k in counts))
    return Section(f"False negatives, itemsets of {sizes}", reading, None, (Table(columns, tuple(lines)),))


def _best(rows: list[Row], counts: list[int]) -> str:
    said = []
    for k in counts:
        means = {e: _mean([r for r in rows if r.k == k and r.entry == e], "fnr") for e in ENTRIES}
        known = {entry: mean for entry, mean in means.items() if mean is not None}
        unknown = {entry: mean for entry, mean in known.items() if entry not in UNIVERSE}
        least, least_unknown = min(known, key=known.__getitem__), min(unknown, key=unknown.__getitem__)
        also = "" if least == least_unknown else f", without the items {least_unknown} ({unknown[least_unknown]:.3f})"
        if known[least] > _NOTHING:
            said.append(f"k = {k}: nobody finds anything")
            continue
        if unknown[least_unknown] > _NOTHING:
            also = ", without the items nobody"
        said.append(f"k = {k}: {least} ({known[least]:.3f}){also}")
    return "Least: " + "; ".join(said) + "."


def _winners(rows: list[Row]) -> Section:
    """Count, over data sets, sizes and k, who is best or not told apart from the best."""
    settings = sorted({(row.data, row.sizes, row.k) for row in rows})
    counts = sorted({row.k for row in rows})
    won = {entry: dict.fromkeys(counts, 0) for entry in ENTRIES}
    alone = dict.fromkeys(ENTRIES, 0)
    for data, sizes, k in settings:
        own = [row for row in rows if (row.data, row.sizes, row.k) == (data, sizes, k)]
        best = min(own, key=lambda row: row.found["fnr"])
        tied = [row for row in own if row.found["low"] <= best.found["high"]]
        for row in tied:
            won[row.entry][k] += 1
        if len(tied) == 1:
            alone[best.entry] += 1
    lines = [(e, "yes" if e in UNIVERSE else "no", *won[e].values(), alone[e]) for e in ENTRIES]
    of = {k: sum(setting[2] == k for setting in settings) for k in counts}
    large, limited = won["large-margin"], won["limited-domain"]
    reading = (
        f"At ε = 1, δ = 1e-6: in how many of {len(settings)} settings (data, size, k) each has the least FNR or cannot "
        f"be told from it. Large margin is among the best in {sum(large.values())} ({large[counts[0]]} of them at k = "
        f"{counts[0]}); limited-domain, which needs to know as little, in {sum(limited.values())}; of those told the "
        f"items, the exponential mechanism in {sum(won['exponential'].values())} and PrivBasis with zCDP in "
        f"{sum(won['PrivBasis, zCDP'].values())}."
    )
    columns = ("mechanism", "needs the items", *(f"k = {k} (of {of[k]})" for k in counts), "best alone")
    return Section("Which wins where", reading, None, (Table(columns, tuple(lines)),))


def _privacy(rows: list[Row]) -> Section:
    reading = []
    for entry in ("large-margin", "limited-domain", "exponential", "PrivBasis, zCDP", "stability histogram (OpenDP)"):
        own = [row for row in rows if row.entry == entry and row.delta == DELTAS[0] and row.k == 10]
        means = {e: _mean([row for row in own if row.epsilon == e], "fnr") for e in sorted({r.epsilon for r in own})}
        said = ", ".join(f"{mean:.2f} at ε = {epsilon:g}" for epsilon, mean in means.items() if mean is not None)
        if said:
            reading.append(f"{entry} {said}")
    text = f"Mean FNR over data sets at k = 10, all sizes, δ = 1e-6: {'; '.join(reading)}."
    return Section("More and less privacy", text, "epsilon")


def _supports(rows: list[Row]) -> Section:
    lines: list[tuple[Cell, ...]] = []
    for entry in ENTRIES:
        cells: list[Cell] = []
        for k in sorted({row.k for row in rows}):
            own = [row for row in rows if row.entry == entry and row.k == k]
            cells += [_mean(own, "error_median"), _mean(own, "error_95"), _mean(own, "abstained")]
        lines.append((entry, *cells))
    counts = sorted({row.k for row in rows})
    columns = [f"k = {k}: {what}" for k in counts for what in ("median error", "95th percentile", "abstained")]
    reading = (
        "Relative error |noisy − true| / true of released supports (true at least 1), and the share of k that was not "
        "released, means over data sets and sizes at ε = 1, δ = 1e-6. A mechanism that releases only the strongest "
        "itemsets has small relative errors for that reason, and noise for fewer of them: read the three together. "
        "Errors above 1 are itemsets named though hardly any basket has them."
    )
    return Section("Supports and abstentions", reading, "supports", (Table(("mechanism", *columns), tuple(lines)),))


def _deltas(rows: list[Row]) -> Section:
    deltas = sorted({row.delta for row in rows}, reverse=True)
    means: dict[str, list[float | None]] = {}
    for entry in ENTRIES:
        own = [row for row in rows if row.entry == entry and row.epsilon == 1]
        if own:
            means[entry] = [_mean([row for row in own if row.delta == d], "fnr") for d in deltas]
    changes = [
        (entry, last - first)
        for entry, (first, *_, last) in ((e, m) for e, m in means.items() if len(m) > 1)
        if first is not None and last is not None
    ]
    lines: list[tuple[Cell, ...]] = [(entry, *cells) for entry, cells in means.items()]
    reading = "Mean FNR over data sets, sizes and k at ε = 1, by δ."
    if changes:
        most = max(changes, key=lambda change: change[1])
        reading += f" A δ a hundred times smaller costs most for {most[0]}: {most[1]:.3f} more is missed."
    return Section(
        "The price of a smaller δ", reading, None, (Table(("mechanism", *map(_power, deltas)), tuple(lines)),)
    )


def _power(delta: float) -> str:
    return f"δ = {delta:g}"


def _by_data(rows: list[Row]) -> Section:
    k = max(row.k for row in rows if row.entry == "large-margin")
    data = list(dict.fromkeys(row.data for row in rows))
    sizes = list(dict.fromkeys(row.sizes for row in rows))
    chosen = sizes[min(1, len(sizes) - 1)]
    lines: list[tuple[Cell, ...]] = []
    for entry in ENTRIES:
        found = {row.data: row for row in rows if (row.entry, row.k, row.sizes) == (entry, k, chosen)}
        cells = [_interval(found[name].found) if name in found else None for name in data]
        if any(cells):
            lines.append((entry, *cells))
    reading = f"FNR with its interval at ε = 1, δ = 1e-6, k = {k}, itemsets of {chosen}."
    return Section("By data set", reading, "data", (Table(("mechanism", *data), tuple(lines)),))


def _interval(found: dict[str, Any]) -> str:
    if found["high"] - found["low"] < 5e-4:
        return f"{found['fnr']:.3f}"
    return f"{found['fnr']:.3f} ({found['low']:.3f} – {found['high']:.3f})"


STUDY = Study(
    "utility",
    "Utility: who finds the most frequent itemsets, and who does not",
    build,
    sections,
    {
        "epsilon": Figure(figures.epsilon, (13, 7)),
        "supports": Figure(figures.supports, (8, 4.5)),
        "data": Figure(figures.data, (12, 5)),
    },
)

if __name__ == "__main__":
    main(STUDY)
