"""Every mechanism and the serious alternatives, on every data set: what they miss, and how exact their supports are.

python benchmarks/utility.py [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import utility_figures as figures
import utility_tasks as tasks
from benchmark_data import quest
from item_matrix import LISTED
from spectra import Source, sources
from study import DEFAULT_OUTPUT, Cell, Figure, Options, Results, Section, Study, Table, Task, main
from utility_measures import (
    WITHIN,
    Row,
    among_best,
    below,
    best_of,
    label,
    least,
    listed,
    mean,
    means,
    names,
    places,
    rows_of,
    written,
)
from utility_tasks import ENTRIES, HISTOGRAM, UNIVERSE, UNKNOWN

SIZES = [(1,), (2,), (3,), (1, 2, 3)]
COUNTS = [1, 10, 50, 100]
EPSILONS = [0.1, 0.25, 0.5, 1.0, 2.0]
DELTAS = [1e-6, 1e-8]
TRIALS = 100
# Compared by ε and k.
BY_US = "ours, without the items"
COMPARED = (HISTOGRAM, "PrivBasis, zCDP", "exponential", "large-margin")


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set, size, mechanism, ε and δ."""
    if options.quick:
        made = quest(DEFAULT_OUTPUT, 2_000)
        small = {"quest": Source("quest", made.about, made.path)}
        return list(_all(small, [(1,), (2,)], [1, 10], [1.0], DELTAS[:1], 30, options.seed)), []
    found, missing = sources(options.data)
    taken = {name: source for name, source in found.items() if options.takes(name)}
    return list(_all(taken, SIZES, COUNTS, EPSILONS, DELTAS, TRIALS, options.seed)), missing


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
            if entry == tasks.PURE and delta != deltas[0]:
                continue  # it spends none
            key = f"{name}/{label(sizes)}/{entry}/{epsilon}/{delta}"
            budget = {"source": source, "sizes": sizes, "counts": counts, "epsilon": epsilon, "delta": delta, **how}
            if entry in tasks.OURS:
                yield Task(key, tasks.ours, {**budget, "mechanism": entry})
            elif entry.startswith("PrivBasis"):
                if entry == tasks.PURE:
                    budget["delta"] = None
                yield Task(key, tasks.privbasis, budget)
            else:
                yield Task(key, tasks.histogram, budget)


def sections(results: Results) -> Iterator[Section]:
    """Say which wins where."""
    rows = rows_of(results)
    if not rows:
        yield Section("Nothing was measured", "No data set was found; --quick makes one and measures that.")
        return
    main_rows = [row for row in rows if row.epsilon == 1 and row.delta == DELTAS[0]]
    yield Section("What was measured", _method(rows))
    yield _winners(main_rows, [row for row in rows if row.delta == DELTAS[0]])
    for sizes in dict.fromkeys(row.sizes for row in main_rows):
        yield _missed([row for row in main_rows if row.sizes == sizes], sizes)
    yield _privacy(rows)
    yield _regret(main_rows)
    yield _supports(main_rows)
    yield _deltas(rows)
    yield _by_data(main_rows)


def _method(rows: list[Row]) -> str:
    exact = sum(bool(row.found.get("exact")) for row in rows)
    trials = min(row.found["trials"] for row in rows)
    return (
        "False-negative rate (FNR): the share of the true top k that is missing, where any itemset with at least the "
        f"k-th support will do; a mechanism that abstains misses. {len(rows):,} settings, of which {exact:,} are exact "
        f"(one itemset, from the exact distribution) and the others means of {trials} releases, with the same seeds "
        "for all; intervals are 95 % bootstrap percentiles, and where every trial missed the same share the rule of "
        "three (3 by the itemsets looked for in all trials). Neighbours differ in one basket (add-remove), which is "
        "what the peers use. Every release spends (ε, δ) on selection and supports together; ours spend two thirds on "
        "selection and one third on supports. The exponential mechanism, permute-and-flip, max-of-laplaces and "
        "PrivBasis are told the items, which is more than an analyst may take from the data; the stability histogram "
        "gets, for every k, the cut of baskets that suits the data best, and choosing the "
        f"least of {', '.join(map(str, tasks.CAPS))} that cuts no basket. OpenDP itself draws the noise of the "
        f"{LISTED:,} highest itemsets and of all at or above the threshold; "
        "the rest is simulated by the same law. Its noise has no seed, so its figures change a little from run to run; "
        "its threshold releases what is at the threshold too, which its own map leaves out, to its advantage here. "
        "PrivBasis on itemsets of one size is our adaptation: a cap on the number of items, and 1.5 k pairs for "
        "triples."
    )


def _missed(rows: list[Row], sizes: str) -> Section:
    reading = f"Mean FNR over the data sets at ε = 1, δ = 1e-6. {_best(rows, sorted({row.k for row in rows}))}"
    return Section(f"False negatives, itemsets of {sizes}", reading, None, (_by_k(rows, "fnr"),))


def _by_k(rows: list[Row], field: str) -> Table:
    counts = sorted({row.k for row in rows})
    lines: list[tuple[Cell, ...]] = []
    for entry in ENTRIES:
        own = [[row for row in rows if row.entry == entry and row.k == k] for k in counts]
        if any(own):
            lines.append((entry, "yes" if entry in UNIVERSE else "no", *(mean(part, field) for part in own)))
    return Table(("mechanism", "needs the items", *(f"k = {k}" for k in counts)), tuple(lines))


def _best(rows: list[Row], counts: list[int]) -> str:
    said = []
    for k in counts:
        known = means(row for row in rows if row.k == k)
        unknown = {entry: value for entry, value in known.items() if entry not in UNIVERSE}
        text = f"k = {k}: {names(known)}"
        said.append(text if least(known) == least(unknown) else f"{text}; without the items {names(unknown)}")
    return f"Least, or within {WITHIN:g} of it: {'. '.join(said)}."


def _winners(rows: list[Row], of_all: list[Row]) -> Section:
    """Count, over data sets, sizes and k, who is best or not told apart from the best; then compare by ε and k."""
    settings: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        settings.setdefault((row.data, row.sizes, row.k), []).append(row)
    counts = sorted({k for _, _, k in settings})
    best = {setting: among_best(own) for setting, own in settings.items()}
    won = {e: {k: sum(e in tied for (_, _, at), tied in best.items() if at == k) for k in counts} for e in ENTRIES}
    run = {e: {k: sum((row.entry, row.k) == (e, k) for row in rows) for k in counts} for e in ENTRIES}
    lines: list[tuple[Cell, ...]] = []
    for e in ENTRIES:
        cells = (f"{won[e][k]} of {run[e][k]}" if run[e][k] else None for k in counts)
        alone = sum(tied == [e] for tied in best.values())
        lines.append((e, "yes" if e in UNIVERSE else "no", *cells, alone))

    def often(entry: str) -> str:
        return f"{sum(won[entry].values())} of {sum(run[entry].values())}"

    table, compared = _compared(of_all)
    reading = (
        f"At ε = 1, δ = 1e-6: in how many of the settings (data, size, k) each is among the best, its "
        f"interval within {WITHIN:g} of the interval of the least FNR. Large margin is in {often('large-margin')}; "
        f"limited-domain, which needs to know as little, in {often('limited-domain')}; OpenDP's histogram in "
        f"{often(HISTOGRAM)}; of those told the items, the exponential mechanism in {often('exponential')} and "
        f"PrivBasis with zCDP in {often('PrivBasis, zCDP')}. Where nobody finds anything, nobody is. {compared}"
    )
    columns = ("mechanism", "needs the items", *(f"k = {k}" for k in counts), "best alone")
    return Section("Which wins where", reading, None, (Table(columns, tuple(lines)), table))


def _compared(rows: list[Row]) -> tuple[Table, str]:
    """Return mean FNRs by ε and k: of the one of ours with the least mean that needs no items, and of COMPARED."""
    lines: list[tuple[Cell, ...]] = []
    first: dict[str, list[tuple[int, float]]] = {}
    lost, kept = [], []
    for epsilon, k in sorted({(row.epsilon, row.k) for row in rows}):
        found = means(row for row in rows if (row.epsilon, row.k) == (epsilon, k))
        which, rate = best_of(found, UNKNOWN)
        compared = {BY_US: rate, **{entry: found[entry] for entry in COMPARED if entry in found}}
        for entry in (tied := least(compared)):
            first.setdefault(entry, []).append((k, epsilon))
        lines.append((epsilon, k, rate, which, *map(compared.get, COMPARED), ", ".join(tied) or "nobody"))
        rival = found.get(HISTOGRAM, 1.0)
        lost += [(k, epsilon)] if below(rival, rate) else []
        kept += [(k, epsilon)] if below(rate, rival) else []
    by_data: dict[str, list[tuple[int, float]]] = {}
    for data, epsilon, k in sorted({(row.data, row.epsilon, row.k) for row in rows}):
        found = means(row for row in rows if (row.data, row.epsilon, row.k) == (data, epsilon, k))
        if below(found.get(HISTOGRAM, 1.0), best_of(found, UNKNOWN)[1]):
            by_data.setdefault(data, []).append((k, epsilon))
    said = (
        "By ε and k (means over data sets and sizes, δ = 1e-6; of ours that need nothing public but a cap or a rank "
        f"the best one, which the table names): OpenDP's histogram misses less than all of these of ours at "
        f"{places(lost)}, and more than the best of them at {places(kept)}. By data set (means over sizes) it is ahead "
        f"of all of these on: {listed(by_data) or 'none'}. Least of the table, or within {WITHIN:g} of it: "
        f"{listed(first) or 'nobody'}."
    )
    columns = ("ε", "k", BY_US, "which of ours", *COMPARED, f"least, or within {WITHIN:g}")
    return Table(columns, tuple(lines)), said


def _privacy(rows: list[Row]) -> Section:
    said = []
    for k in (10, 100):
        parts = []
        for entry in (*UNKNOWN[:1], "limited-domain", *COMPARED[:3]):
            own = [row for row in rows if (row.entry, row.delta, row.k) == (entry, DELTAS[0], k)]
            grid = sorted({row.epsilon for row in own})
            found = [f"{mean(row for row in own if row.epsilon == e) or 0.0:.2f} at ε = {e:g}" for e in grid]
            parts += [f"{entry} {', '.join(found)}"] if found else []
        said += [f"At k = {k}: {'; '.join(parts)}."] if parts else []
    text = f"Mean FNR over data sets and all sizes, δ = 1e-6. {' '.join(said)}"
    return Section("More and less privacy", text, "epsilon")


def _regret(rows: list[Row]) -> Section:
    most = max(row.k for row in rows)
    found = means((row for row in rows if row.k == most), "regret")
    missed = means(row for row in rows if row.k == most)
    parts = [f"{e} loses {found[e]:.3f} (FNR {missed[e]:.3f})" for e in ENTRIES if e in least(found)]
    reading = (
        "Regret is the share of the top k's supports, added up, that the release does not hold; means over data sets "
        f"and sizes at ε = 1, δ = 1e-6. At k = {most} the least, or within {WITHIN:g} of it: "
        f"{'; '.join(parts) or 'nobody finds anything'}. Where the regret is far below the FNR, "
        "what is released instead is nearly as frequent."
    )
    return Section("Regret", reading, None, (_by_k(rows, "regret"),))


def _supports(rows: list[Row]) -> Section:
    lines: list[tuple[Cell, ...]] = []
    for entry in ENTRIES:
        cells: list[Cell] = []
        for k in sorted({row.k for row in rows}):
            own = [row for row in rows if row.entry == entry and row.k == k]
            cells += [mean(own, "error_median"), mean(own, "error_95"), mean(own, "abstained")]
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
    at_one = [row for row in rows if row.epsilon == 1]
    deltas = sorted({row.delta for row in at_one}, reverse=True)
    by_delta = [means(row for row in at_one if row.delta == delta) for delta in deltas]
    lines = [(e, *(found.get(e) for found in by_delta)) for e in ENTRIES if any(e in found for found in by_delta)]
    reading = "Mean FNR over data sets, sizes and k at ε = 1, by δ."
    changes = {e: by_delta[-1][e] - by_delta[0][e] for e in by_delta[0] if e in by_delta[-1]} if by_delta else {}
    if len(deltas) > 1 and changes:
        most = max(changes, key=changes.__getitem__)
        ratio = deltas[0] / deltas[-1]
        reading += f" A δ {ratio:.0f} times smaller costs most for {most}: {changes[most]:.3f} more is missed."
    columns = ("mechanism", *(f"δ = {delta:g}" for delta in deltas))
    return Section("The price of a smaller δ", reading, None, (Table(columns, tuple(lines)),))


def _by_data(rows: list[Row]) -> Section:
    k = max(row.k for row in rows if row.k <= 10)
    data = list(dict.fromkeys(row.data for row in rows))
    sizes = list(dict.fromkeys(row.sizes for row in rows))
    chosen = sizes[min(1, len(sizes) - 1)]
    lines: list[tuple[Cell, ...]] = []
    for entry in ENTRIES:
        found = {row.data: row for row in rows if (row.entry, row.k, row.sizes) == (entry, k, chosen)}
        cells = [written(found[name].found) if name in found else None for name in data]
        if any(cells):
            lines.append((entry, *cells))
    reading = f"FNR with its interval at ε = 1, δ = 1e-6, k = {k}, itemsets of {chosen}."
    return Section("By data set", reading, "data", (Table(("mechanism", *data), tuple(lines)),))


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
