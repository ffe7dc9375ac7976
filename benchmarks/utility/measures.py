"""How good releases are, with intervals, and who is among the best, in the study of utility."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.support_spectra import Levels, top_supports
from benchmarks.utility import simulation
from fim_private.counting import Effort, LocalSource
from fim_private.dp.neighbors import Neighbors
from fim_private.reading.transactions import Transactions
from fim_private.release.release import Release
from fim_private.request.itemsets import GivenItemsets, supports_of

ABSTAINED = simulation.ABSTAINED
BASKET, USER = "basket", "user"
# False-negative rates that differ by no more are taken for equal.
WITHIN = 0.005
# A false-negative rate from here on is finding nothing.
NOTHING = 0.995
_REPLACED = 2_000  # bootstrap samples
_ROUNDING = 1e-9
# Streams of a study's seed, the same for every mechanism and peer: default_rng([seed, stream]). The
# noise of supports has its own, 2, and the cut of the histogram is chosen by the stream of another
# seed.
PICKS, _BOOTSTRAP = 1, 4


@dataclass(frozen=True)
class Releases:
    """Itemsets released in many trials, (trials, k): their supports, ABSTAINED where there is none,
    and noisy ones.
    """

    true: NDArray[np.int64]
    noisy: NDArray[np.float64]


def false_negative_rate(true: NDArray[np.int64], top: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of the top k that each trial missed, (trials,), where any itemset with the
    k-th support will do.

    true: (trials, k) supports of what was released. top: the supports of the top k, descending; of
    none 0 is missed.
    """
    return (
        np.clip(1 - (true >= top[-1]).sum(axis=1) / len(top), 0, 1)
        if len(top)
        else np.zeros(len(true))
    )


def share_found(release: Release, data: Transactions, count: int) -> float:
    """Return the share of the `count` most frequent itemsets that a release has, in [0, 1].

    Itemsets of all sizes are ranked together, and any as frequent as the last will do. If fewer
    occur, it is the share of those; if none does, 1.
    """
    source = LocalSource(data, Effort(threads=1))
    top = top_supports(source.spectrum(release.sizes).levels(), count)
    named = [itemset.items for itemset in release if itemset.items is not None]
    supports = supports_of(GivenItemsets.of(named), source) if named else []
    missed = false_negative_rate(np.array([supports], dtype=np.int64), np.array(top))
    return 1 - float(missed[0])


def measures(released: Releases, levels: Levels, count: int, seed: int) -> dict[str, float | None]:
    """Return how good the releases are, relative to min(k, itemsets that occur).

    fnr: the mean false_negative_rate; low, high: see interval. regret: the share of the top k's
    supports that is lost.
    abstained: the share of k that was not named. precision: the share of all that was released that
    is in the top k;
    supported: the share of it that occurs at all. error_median, error_95: |noisy - true| / true of
    what was released, true at least 1. These four are None where no trial released anything.
    """
    top = np.array(top_supports((level for level in levels if level[0] > 0), count))
    named = released.true != ABSTAINED
    true = released.true[named]
    missing = false_negative_rate(released.true, top)
    if len(top):
        lost = np.clip(1 - np.maximum(released.true, 0).sum(axis=1) / top.sum(), 0, 1)
        unnamed = 1 - np.minimum(named.sum(axis=1), len(top)) / len(top)
    else:  # nothing can be missed
        lost = unnamed = np.zeros(len(named))
    errors = np.abs(released.noisy[named] - true) / np.maximum(true, 1)
    low, high = interval(missing, max(len(top), 1), seed)
    return {
        "trials": len(missing),
        "fnr": float(missing.mean()),
        "low": low,
        "high": high,
        "regret": float(lost.mean()),
        "abstained": float(unnamed.mean()),
        "precision": float((true >= top[-1]).mean() if len(top) else 0) if len(true) else None,
        "supported": float((true > 0).mean()) if len(true) else None,
        "error_median": float(np.median(errors)) if len(errors) else None,
        "error_95": float(np.quantile(errors, 0.95)) if len(errors) else None,
    }


def interval(missing: NDArray[np.float64], count: int, seed: int) -> tuple[float, float]:
    """Return a 95 % interval of the mean of the shares of `count` itemsets that each trial missed.

    By bootstrap percentiles. Where all trials missed the same share these say nothing: the rule of
    three then, 3 by the itemsets that were looked for in all.
    """
    mean = float(missing.mean())
    if np.ptp(missing) < _ROUNDING:
        reach = 3 / (len(missing) * count)
        return max(0.0, mean - reach), min(1.0, mean + reach)
    rng = np.random.default_rng([seed, _BOOTSTRAP])
    resampled = rng.choice(missing, (_REPLACED, len(missing))).mean(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return min(float(low), mean), max(float(high), mean)


def certain(fnr: float, regret: float, abstained: float, supported: float) -> dict[str, Any]:
    """Return measures of one itemset that are known exactly, without what rounding adds.

    supported: the chance that an itemset is released that occurs. Precision and supported are given
    that anything is.
    """
    fnr, regret, abstained, supported = (
        min(max(share, 0.0), 1.0) for share in (fnr, regret, abstained, supported)
    )
    named = 1 - abstained
    given = (
        {"precision": (1 - fnr) / named, "supported": supported / named}
        if named > _ROUNDING
        else {}
    )
    return {
        "fnr": fnr,
        "low": fnr,
        "high": fnr,
        "regret": regret,
        "abstained": abstained,
        "precision": min(given["precision"], 1.0) if given else None,
        "supported": min(given["supported"], 1.0) if given else None,
        "exact": True,
    }


@dataclass(frozen=True)
class Row:
    """One setting and what was found in it (measures).

    unit: "basket" or "user", whom the guarantee is about. neighbors: the relation.
    """

    data: str
    sizes: str
    entry: str
    epsilon: float
    delta: float
    k: int
    found: dict[str, Any]
    unit: str = BASKET
    neighbors: str = Neighbors.ADD_REMOVE


def label(sizes: tuple[int, ...]) -> str:
    """Return "2" or "1-3"."""
    return str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]}-{sizes[-1]}"


def key(
    data: str,
    sizes: tuple[int, ...],
    entry: str,
    unit: str,
    neighbors: str,
    epsilon: float,
    delta: float,
) -> str:
    """Return the key of the task of one setting, of all k."""
    return f"{data}/{label(sizes)}/{entry}/{unit}/{neighbors}/{epsilon}/{delta}"


def rows_of(results: Mapping[str, Any]) -> list[Row]:
    """Return all settings."""
    found = []
    for name, answer in results["answers"].items():
        data, sizes, entry, unit, neighbors, epsilon, delta = name.split("/")
        for row in answer:
            found.append(
                Row(
                    data, sizes, entry, float(epsilon), float(delta), row["k"], row, unit, neighbors
                )
            )
    return found


def mean(rows: Iterable[Row], field: str = "fnr") -> float | None:
    """Return the mean of a measure; None where there is none."""
    values = [row.found[field] for row in rows if row.found[field] is not None]
    return fmean(values) if values else None


def means(rows: Iterable[Row], field: str = "fnr") -> dict[str, float]:
    """Return the mean of a measure for each entry that has any, in the order of the rows."""
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(row.entry, []).append(row)
    found = {entry: mean(part, field) for entry, part in parts.items()}
    return {entry: value for entry, value in found.items() if value is not None}


def among_best(rows: Iterable[Row]) -> list[str]:
    """Return the entries of one setting whose interval reaches within WITHIN of the best's; none if
    nobody finds any.

    Of equal rates the one of the shorter interval is the best.
    """
    own = list(rows)
    best = min(own, key=lambda row: (row.found["fnr"], row.found["high"]))
    if best.found["fnr"] > NOTHING:
        return []
    return [row.entry for row in own if row.found["low"] <= best.found["high"] + WITHIN + _ROUNDING]


def least(values: Mapping[str, float]) -> list[str]:
    """Return the names of the least rate and of those within WITHIN of it; none if all are as good
    as 1.
    """
    lowest = min(values.values(), default=1.0)
    return (
        []
        if lowest > NOTHING
        else [name for name, value in values.items() if value <= lowest + WITHIN + _ROUNDING]
    )


def below(one: float, other: float) -> bool:
    """Whether a rate is less than another by more than WITHIN."""
    return one < other - WITHIN - _ROUNDING


def best_of(values: Mapping[str, float], entries: Iterable[str]) -> tuple[str, float]:
    """Return which of these entries has the least rate, and that; "none" and 1 where none finds
    anything.
    """
    own = {entry: values[entry] for entry in entries if entry in values}
    return (min(own, key=own.__getitem__), min(own.values())) if least(own) else ("none", 1.0)


def names(values: Mapping[str, float]) -> str:
    """Say who is least, or how many are within WITHIN of it."""
    tied = least(values)
    if not tied:
        return "nobody finds anything"
    named = f" ({', '.join(tied)})" if len(tied) <= 3 else ""
    who = tied[0] if len(tied) == 1 else f"{len(tied)} of {len(values)}{named}"
    return f"{who}, at {min(values.values()):.3f}"


def places(at: Iterable[tuple[int, float]]) -> str:
    """Write pairs of k and ε."""
    parts: dict[int, list[str]] = {}
    for k, epsilon in sorted(at):
        parts.setdefault(k, []).append(f"{epsilon:g}")
    return (
        ", ".join(f"k = {k} (ε = {', '.join(part)})" for k, part in parts.items()) or "no ε and k"
    )


def written(found: Mapping[str, Any]) -> str:
    """Write a rate with its interval, where it has any."""
    if found["high"] - found["low"] < 5e-4:
        return f"{found['fnr']:.3f}"
    return f"{found['fnr']:.3f} ({found['low']:.3f} – {found['high']:.3f})"
