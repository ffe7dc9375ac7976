"""PrivBasis where its authors measured it: their data, numbers of itemsets, ε and measures, beside
what the tool does.

Li, Qardaji, Su and Cao (VLDB 2012) rank itemsets of all sizes together, at δ = 0, over a public
list of the items; the grid is that of the code that they published. Both forms of PrivBasis are our
implementation of the paper.

python -m benchmarks.utility.privbasis_grid [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.frame.datasets import Source, quest, real_sources
from benchmarks.frame.output_files import DEFAULT_OUTPUT
from benchmarks.frame.study import NOTHING, Options, Results, Section, Study, Task, main
from benchmarks.frame.support_spectra import Levels, transactions
from benchmarks.frame.tables import Cell, Table
from benchmarks.peers.privbasis import privbasis_trials
from benchmarks.peers.question import Question
from benchmarks.utility import tasks
from benchmarks.utility.measures import (
    ABSTAINED,
    PICKS,
    Releases,
    below,
    measures,
)
from benchmarks.utility.tasks import as_releases, seed_of_picks
from fim_private.counting import Effort, itemset_spectrum
from fim_private.dp.neighbors import Neighbors
from fim_private.spectrum import union

# What their code has for these; it has pumsb-star and AOL as well.
GRID: Mapping[str, tuple[int, ...]] = {
    "mushroom": (50, 100),
    "retail": (50, 100),
    "kosarak": (100, 200, 300, 400),
}
EPSILONS = (0.05, 0.1, 0.2, 0.25, 0.4, 0.5, 0.75, 0.8, 1.0)
TRIALS = 20
# No itemset of more items is among the highest 110 of mushroom or of retail, and of no more than
# these is any asked.
SIZES = (1, 2, 3, 4, 5)
DELTA = 1e-6
# Of these every itemset that occurs can be counted, which simulated picks take.
COUNTABLE = ("mushroom", "retail", "quest")
DEFAULT = "permute-and-flip"
# By δ: what is measured, both told the items, and what PrivBasis is compared with first.
PURE, ZCDP, LISTED = tasks.PURE, "PrivBasis, zCDP", tasks.WITH_ITEMS
ENTRIES: Mapping[str, float] = {PURE: 0.0, DEFAULT: 0.0, ZCDP: DELTA, LISTED: DELTA}
PAIRS = ((DEFAULT, PURE), (LISTED, PURE), (LISTED, ZCDP))


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set, number of itemsets, entry and ε."""
    if options.quick:
        small = replace(quest(DEFAULT_OUTPUT, 2_000), name="quest")
        return list(_all(small, (10,), (0.5, 1.0), {"trials": 4, "seed": options.seed})), []
    found, _ = real_sources(options.data)
    if options.data is not None and (file := options.data / "kosarak.parquet").is_file():
        found["kosarak"] = Source("kosarak", "FIMI: clicks on a Hungarian news site", Path(file))
    how = {"trials": TRIALS, "seed": options.seed}
    taken = [name for name in GRID if name in found and options.takes(name)]
    every = [task for name in taken for task in _all(found[name], GRID[name], EPSILONS, how)]
    return every, [
        f"{name} (no {name}.parquet in the folder of data)" for name in GRID if name not in found
    ]


def _all(
    source: Source, counts: tuple[int, ...], epsilons: tuple[float, ...], how: Mapping[str, int]
) -> Iterator[Task]:
    for count in counts:
        for entry in ENTRIES:
            if entry == DEFAULT and source.name not in COUNTABLE:
                continue
            for epsilon in epsilons:
                arguments = {
                    "source": source,
                    "entry": entry,
                    "count": count,
                    "epsilon": epsilon,
                    **how,
                }
                yield Task(f"{source.name}/{count}/{entry}/{epsilon}", measured, arguments)


def measured(
    source: Source, entry: str, count: int, epsilon: float, trials: int, seed: int
) -> dict[str, Any]:
    """Return the measures of one entry: those of `measures`, and those of `as_theirs`."""
    question = Question(source, SIZES, epsilon, ENTRIES[entry], Neighbors.ADD_REMOVE)
    if entry == DEFAULT:
        released, _ = tasks.simulated(question, entry, count, trials, seed)
    elif entry == LISTED:
        seeds = np.random.default_rng([seed, PICKS]).integers(1 << 63, size=trials).tolist()
        released = tasks.run(question, entry, count, seeds)
    else:
        releases = privbasis_trials(question, count, trials, seed_of_picks(seed))
        released = as_releases(releases, count)
    levels = highest(source, count)
    return {**measures(released, levels, count, seed), **as_theirs(released, levels, count)}


def highest(source: Source, count: int) -> Levels:
    """Return the levels of all sizes together, down to the support of the count-th itemset."""
    spectra = [
        itemset_spectrum(transactions(source), size, effort=Effort(threads=1)) for size in SIZES
    ]
    found, seen = [], 0
    for level in union(spectra).levels():
        found.append(level)
        seen += level[1]
        if seen >= count:
            break
    return tuple(found)


def as_theirs(released: Releases, levels: Levels, count: int) -> dict[str, float | None]:
    """Return the measures as the authors' code has them; levels: down to the count-th itemset's,
    and no lower.

    fnr_listed: the share missed of one list of exactly `count` itemsets. Of those tied at its end
    some are on it, by
    lot: one that is released counts by its chance. error: the mean over trials of the median of
    |noisy - true| / true, true at least 1, over what was released (their code counts no error where
    true is 0), None if nothing ever was.
    """
    (last, tied), above = levels[-1], sum(m for _, m in levels[:-1])
    listed = min(count, above + tied)
    hits = (released.true > last).sum(axis=1) + (released.true == last).sum(axis=1) * (
        (listed - above) / tied
    )
    errors = np.abs(released.noisy - released.true) / np.maximum(released.true, 1)
    named = released.true != ABSTAINED
    medians = [
        float(np.median(row[some])) for row, some in zip(errors, named, strict=True) if some.any()
    ]
    return {
        "fnr_listed": float(1 - hits.mean() / listed),
        "error": fmean(medians) if medians else None,
    }


# By data set, number of itemsets and entry: the answer at each ε.
Curves = dict[tuple[str, int, str], dict[float, dict[str, Any]]]


def _curves(results: Results) -> Curves:
    curves: Curves = {}
    for key, answer in results["answers"].items():
        data, count, entry, epsilon = key.split("/")
        curves.setdefault((data, int(count), entry), {})[float(epsilon)] = answer
    return curves


def sections(results: Results) -> Iterator[Section]:
    """Say who misses less where, by their measures."""
    curves = _curves(results)
    if not curves:
        yield NOTHING
        return
    partly = _table({key: curve for key, curve in curves.items() if _fewer(curve)}, "released")
    trials = max(answer["trials"] for curve in curves.values() for answer in curve.values())
    yield Section("What was measured against PrivBasis", _method(trials))
    yield Section(
        "Who misses less",
        (
            "FNR is the share of the top k that is missing. Where supports are tied at rank k, any "
            "of the tied will do.\n\n"
        )
        + "\n".join(f"- {_against(curves, ours, theirs, 'fnr')}" for ours, theirs in PAIRS),
        (_table(curves, "fnr"), _by_setting(curves)),
    )
    yield Section(
        "The same, with ties counted as PrivBasis's authors do",
        "Their code holds the release against one list of k itemsets. Of those tied at rank k only "
        "some are on it, here by lot. So even a release of the true top k may miss some.\n\n"
        + "\n".join(f"- {_against(curves, ours, theirs, 'fnr_listed')}" for ours, theirs in PAIRS),
        (_table(curves, "fnr_listed"),),
    )
    yield Section(
        "Relative error of supports",
        "The median over what one run released, and its mean over the runs. An itemset that nobody "
        "has counts as if one basket had it, and the authors' code counts no error for it. A "
        "mechanism that releases fewer than k, only what stands out from the noise, has small "
        "errors for that reason too."
        + (" Another table has them.\n\n" if partly.rows else "\n\n")
        + "\n".join(f"- {_against(curves, ours, theirs, 'error')}" for ours, theirs in PAIRS),
        (_table(curves, "error"), *([partly] if partly.rows else [])),
    )


def _method(trials: int) -> str:
    return f"""\
The setting is that of Li, Qardaji, Su and Cao (2012). Itemsets of all sizes are ranked together, here of 1 to
{SIZES[-1]} items, which hold the true top k. Neighbours have one basket more or less. The list of the items is
public. Data, k and ε are those of the code that they published, and so is the number of runs, {trials}. It has
pumsb-star and AOL too, which were not at hand. Every release has supports.

- {PURE}: their method at δ = 0, written anew from the paper. Their code takes all of ε for the choice of λ, where the
  paper has a tenth, and averages estimates of one itemset without weights. Ours takes the tenth, and weighs.
- {DEFAULT}: what `fim-private mine` does by default at δ = 0 with a catalogue. Every pick costs a part of ε, and must
  stand out from all itemsets that the catalogue allows.
- {ZCDP}: the same method with normal noise at δ = {DELTA:g}, which its authors do not have.
- {LISTED}: the default at δ = {DELTA:g}. Levelwise has no form at δ = 0, since its noise is normal."""  # noqa: E501


def value(answer: Mapping[str, Any], field: str) -> float | None:
    """Return a measure; "released" is the share of k that was released."""
    found = 1 - answer["abstained"] if field == "released" else answer[field]
    return None if found is None else float(found)


def _settings(
    curves: Curves, ours: str, theirs: str, field: str
) -> Iterator[tuple[str, int, float, float, float]]:
    """Yield data, k, ε and the measure of both, where both have one."""
    for (data, count, entry), curve in curves.items():
        other = curves.get((data, count, theirs), {})
        for epsilon in curve if entry == ours else ():
            one, two = value(curve[epsilon], field), value(other.get(epsilon, {field: None}), field)
            if one is not None and two is not None:
                yield data, count, epsilon, one, two


def _against(curves: Curves, ours: str, theirs: str, field: str) -> str:
    """Say at how many settings the one has less of a measure than the other, as much and more, and
    where more.
    """
    found = list(_settings(curves, ours, theirs, field))
    less = sum(below(one, two) for *_, one, two in found)
    lost: dict[tuple[str, int], list[str]] = {}
    for data, count, epsilon, one, two in found:
        if below(two, one):
            lost.setdefault((data, count), []).append(f"{epsilon:g}")
    more = sum(map(len, lost.values()))
    grid = len({epsilon for *_, epsilon, _, _ in found})
    places = {
        place: "every ε" if 1 < len(at) == grid else f"ε = {', '.join(at)}"
        for place, at in lost.items()
    }
    where = "; ".join(f"{data}, k = {count} ({at})" for (data, count), at in places.items())
    what = "errs" if field == "error" else "misses"
    return (
        f"{ours} (δ = {ENTRIES[ours]:g}) {what} less than {theirs} (δ = {ENTRIES[theirs]:g}) at "
        f"{less} of {len(found)} settings. It {what} as much at {len(found) - less - more}. It "
        f"{what} more at {more}{f': {where}' if where else ''}."
    )


def _fewer(curve: Mapping[float, Mapping[str, Any]]) -> bool:
    return any(answer["abstained"] > 0 for answer in curve.values())


def _grid(curves: Curves) -> list[float]:
    return sorted({epsilon for curve in curves.values() for epsilon in curve})


NAMES = {
    "fnr": "FNR",
    "fnr_listed": "FNR of a fixed list",
    "error": "relative error",
    "released": "share released",
}


def _table(curves: Curves, field: str) -> Table:
    grid = _grid(curves)
    lines: list[tuple[Cell, ...]] = []
    for (data, count, entry), curve in curves.items():
        cells = (value(curve[epsilon], field) if epsilon in curve else None for epsilon in grid)
        rounded = (None if cell is None else round(cell, 3) for cell in cells)
        lines.append((f"{data}, k = {count}", entry, f"{ENTRIES[entry]:g}", *rounded))
    return Table(
        (NAMES[field], "mechanism", "δ", *(f"ε = {epsilon:g}" for epsilon in grid)), tuple(lines)
    )


def _by_setting(curves: Curves) -> Table:
    """Return means over ε for each data set and k."""
    lines: list[tuple[Cell, ...]] = []
    for data, count in dict.fromkeys((data, count) for data, count, _ in curves):
        own = {entry: curves.get((data, count, entry), {}) for entry in ENTRIES}
        means = (
            round(fmean(found["fnr"] for found in curve.values()), 3) if curve else None
            for curve in own.values()
        )
        lines.append((f"{data}, k = {count}", *means))
    columns = ("mean FNR over ε", *(f"{entry}, δ = {delta:g}" for entry, delta in ENTRIES.items()))
    return Table(columns, tuple(lines))


STUDY = Study(
    "privbasis",
    "benchmarks.utility.privbasis_grid",
    "PrivBasis on its authors' own grid",
    build,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
