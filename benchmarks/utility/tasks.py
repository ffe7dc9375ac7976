"""What the study of utility is about: mechanisms and peers; and releases of ours that are
simulated, with supports.

Everything is charged to one (ε, δ): what is simulated spends a third of it on supports (the default
of `--supports`), levelwise its own share, the peers what their papers or libraries say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import Levels, items_of, levels_for, transactions
from benchmarks.peers import weighted_gaussian
from benchmarks.peers.best_cut import best_cuts
from benchmarks.peers.item_matrix import item_matrix
from benchmarks.peers.privbasis import privbasis_trials
from benchmarks.peers.question import Question, Released
from benchmarks.peers.stability_histogram import histogram_trials
from benchmarks.utility import simulation
from benchmarks.utility.measures import ABSTAINED, PICKS, Releases, certain, label, measures
from fim_private.counting import Effort
from fim_private.counting.source import (
    UNKNOWN as NOT_LISTED,
)
from fim_private.counting.source import (
    Catalogue,
    KnownItemsets,
    LocalItems,
    LocalSource,
    SizedUniverse,
    Universe,
    UnknownUniverse,
)
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.noise import Randomness
from fim_private.mechanisms import (
    Distance,
    LargeMargin,
    MaxOfLaplaces,
    NamedExponential,
    PermuteAndFlip,
    TightMargin,
    registry,
)
from fim_private.mechanisms.exponential import ExponentialWeights
from fim_private.mechanisms.top_k import TopK
from fim_private.mining.mine import mine
from fim_private.request.allocation import checked_plan, plan_of
from fim_private.request.groups import Promise, PublicFacts, Target
from fim_private.request.plan import ReleasePlan
from fim_private.request.request import Request
from fim_private.request.supports import NoiseKind
from fim_private.run.outcome import Execution
from fim_private.spectrum import SupportSpectrum

# Mechanisms that are run as they are shipped.

WITH_ITEMS = "levelwise, catalogue"
WITHOUT_SUPPORTS = "levelwise, no supports"
# The entries that are run and not simulated: the mechanism, whether it is told the items, and
# releases supports.
RUNS: Mapping[str, tuple[str, bool, bool]] = {
    "levelwise": ("levelwise", False, True),
    WITH_ITEMS: ("levelwise", True, True),
    WITHOUT_SUPPORTS: ("levelwise", False, False),
}
MOST_RUNS = 20
# One thread: studies run a process a core. What is refused by default is estimated far too high for
# long tails.
_MAX_WORK = 10**14


def shipped(
    question: Question, entry: str, counts: list[int], trials: int, seed: int
) -> list[dict[str, Any]]:
    """Return the measures of one of RUNS for each k. trials: of which MOST_RUNS at most are run."""
    levels = levels_for(question.source, question.sizes)
    seeds = np.random.default_rng([seed, PICKS]).integers(1 << 63, size=trials).tolist()[:MOST_RUNS]
    return [
        {"k": count, **measures(run(question, entry, count, seeds), levels, count, seed)}
        for count in counts
    ]


def run(question: Question, entry: str, count: int, seeds: list[int]) -> Releases:
    """Release `count` itemsets once for each seed. Without noisy supports the true ones stand in
    their place.
    """
    data = _counted_once(question.source)
    (mechanism, listed, has_supports), (epsilon, delta) = RUNS[entry], question.budget
    spec = registry.spec_named(mechanism)
    universe: Universe = (
        Catalogue(transactions(question.source).vocabulary) if listed else NOT_LISTED
    )
    share = spec.supports_share(question.neighbors) * has_supports
    request = Request(
        Target(question.sizes, count, union=len(question.sizes) > 1),
        PublicFacts(universe),
        Promise(PrivacyBudget(epsilon, delta), question.neighbors, question.source.by_user),
        spec,
        supports_share=share,
    )
    plan = checked_plan(request)
    true = np.full((len(seeds), count), ABSTAINED, dtype=np.int64)
    noisy = np.zeros((len(seeds), count))
    for trial, seed in enumerate(seeds):
        execution = Execution(plan, data, Randomness.seeded(seed))
        selected = execution.select(execution.find_items())
        supports = {itemset.items: itemset.support for itemset in selected}
        published = execution.publish(selected)
        for place, itemset in enumerate(published.itemsets):
            true[trial, place] = supports[itemset.items]
            noisy[trial, place] = supports[itemset.items]
            if itemset.support is not None:
                noisy[trial, place] = itemset.support
    return Releases(true, noisy)


def by_default(
    question: Question, listed: bool, counts: list[int], trials: int, seed: int
) -> list[dict[str, Any]]:
    """Return the measures of the default mechanism for each k, and which that is. seed: of the
    first trial.

    listed: whether it is given the list of the items.
    """
    source, sizes = question.source, question.sizes
    data, levels, matrix = transactions(source), levels_for(source, sizes), item_matrix(source)
    given: dict[str, Any] = {
        "epsilon": question.epsilon,
        "delta": question.delta,
        "neighbors": question.neighbors,
    }
    given |= {"supports": True, "size": label(sizes), "union": len(sizes) > 1}
    if listed:
        given["catalogue"] = items_of(data)
    rows = []
    for count in counts:
        true = np.full((trials, count), ABSTAINED, dtype=np.int64)
        noisy = np.zeros((trials, count))
        mechanisms = set()
        for trial in range(trials):
            release = mine(data, top=count, seed=seed + trial, **given)
            mechanisms.add(release.mechanism)
            named = [(one.items, one.support) for one in release if one.items is not None]
            for place, (items, support) in enumerate(named):
                true[trial, place], noisy[trial, place] = (
                    matrix.support(matrix.codes(items)),
                    support,
                )
        found = measures(Releases(true, noisy), levels, count, seed)
        rows.append({"k": count, "mechanism": ", ".join(sorted(mechanisms)), **found})
    return rows


@dataclass(frozen=True)
class _ItemsOnce(LocalItems):
    """Items whose sums are counted once for the same scale and number of items."""

    known: dict[tuple[int, int], NDArray[np.int64]] = field(default_factory=dict)

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        """Return the level sum of each item; see `ItemSource.level_sums`."""
        if (scale, most) not in self.known:
            self.known[scale, most] = super().level_sums(scale, most)
        return self.known[scale, most].copy()


@dataclass(frozen=True)
class _CountedOnce(LocalSource):
    """A source that counts its items once. The catalogue holds all items, so it is the same without
    one.
    """

    once: dict[bool, _ItemsOnce] = field(default_factory=dict)

    def items(self, universe: Universe | KnownItemsets = NOT_LISTED) -> LocalItems:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        listed = isinstance(universe, Catalogue)
        if listed not in self.once:
            self.once[listed] = _ItemsOnce(super().items(universe).transactions, self.effort)
        return self.once[listed]


@lru_cache(maxsize=16)
def _counted_once(source: Source) -> LocalSource:
    return _CountedOnce(transactions(source), Effort(threads=1, max_work=_MAX_WORK))


_SUPPORTS = 2  # the stream of supports: see measures.py
# Caps on a basket: choosing gets the least that cuts none, which an analyst would have to know.
CAPS = (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500)
CATALOGUE = ("exponential", "permute-and-flip", "max-of-laplaces")


def ours(
    question: Question, mechanism: str, counts: list[int], trials: int, seed: int
) -> list[dict[str, Any]]:
    """Return the measures of one of our mechanisms for each k, simulated."""
    levels = levels_for(question.source, question.sizes)
    rows = []
    for count in counts:
        released, exact = simulated(question, mechanism, count, trials, seed)
        rows.append({"k": count, **measures(released, levels, count, seed), **exact})
    return rows


def simulated(
    question: Question, mechanism: str, count: int, trials: int, seed: int
) -> tuple[Releases, dict[str, Any]]:
    """Return simulated releases of one of our mechanisms, and for a single itemset what is known
    exactly.
    """
    plan = plan_of(_request(question, mechanism, count))
    found, exact = _picks(plan, levels_for(question.source, question.sizes), count, trials, seed)
    rng = np.random.default_rng([seed, _SUPPORTS])
    noise = _noise(plan, (found != ABSTAINED).sum(axis=1), count, rng)
    return Releases(found, found + noise), exact


def _request(question: Question, mechanism: str, count: int) -> Request:
    items = transactions(question.source).vocabulary
    universe: Universe = UnknownUniverse()
    cap = None
    if mechanism in CATALOGUE:
        universe = Catalogue(items)
    elif mechanism == "exponential, size only":
        universe = SizedUniverse(len(items))
    elif mechanism == "choosing":
        longest = int(np.diff(transactions(question.source).offsets).max())
        cap = next(cap for cap in CAPS if cap >= longest)
    spec = registry.spec_named(mechanism.split(",")[0])
    share, (epsilon, delta) = spec.supports_share(question.neighbors), question.budget
    return Request(
        Target(question.sizes, count, union=True, keep_all=True),
        PublicFacts(universe, max_basket=cap),
        Promise(PrivacyBudget(epsilon, delta), question.neighbors),
        spec,
        supports_share=share,
    )


def _picks(
    plan: ReleasePlan, levels: Levels, count: int, trials: int, seed: int
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Return the supports selected in each trial, and for a single one what is known exactly."""
    [selection] = plan.selections
    assert isinstance(selection.run, TopK), "it is run, not simulated: see by_default"
    universe, size = selection.universe, None
    if isinstance(universe, Catalogue):
        size = sum(universe.candidates(size) for size in selection.public.sizes)
    spectrum = SupportSpectrum(levels, universe_size=size)
    exact = _exact(selection.run, spectrum, levels) if count == 1 else {}
    return _simulated(selection.run, spectrum, trials, np.random.default_rng([seed, PICKS])), exact


def _exact(run: TopK, spectrum: SupportSpectrum, levels: Levels) -> dict[str, Any]:
    outcomes = run.mechanism.distribution(spectrum)
    maximum = levels[0][0]
    best = float(outcomes.probabilities[outcomes.levels == maximum].sum())
    kept = float((outcomes.levels * outcomes.probabilities).sum()) / maximum
    unnamed = (
        outcomes.levels == 0
        if isinstance(run.mechanism, NamedExponential)
        else np.zeros(1, dtype=bool)
    )
    abstain = outcomes.abstain + float((outcomes.probabilities * unnamed).sum())
    return certain(
        1 - best, 1 - kept, abstain, float(outcomes.probabilities[outcomes.levels > 0].sum())
    )


def _simulated(
    run: TopK, spectrum: SupportSpectrum, trials: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    mechanism = run.mechanism
    match mechanism:
        case ExponentialWeights():
            return simulation.weighed(mechanism, spectrum, run.count, trials, rng)
        case PermuteAndFlip() | MaxOfLaplaces():
            return simulation.noisy_max(mechanism, spectrum, run.count, trials, rng)
        case Distance():
            return simulation.distant(mechanism, spectrum, run.count, trials, rng)
    assert isinstance(mechanism, LargeMargin | TightMargin)
    return simulation.searched(mechanism, spectrum, run.count, trials, rng)


def _noise(
    plan: ReleasePlan, released: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the noise of each trial's supports, which depends on how many were released, (trials,
    k).
    """
    values = np.zeros((len(released), count))
    for number in np.unique(released[released > 0]):
        noise = plan.noise(int(number))
        assert noise is not None
        shape = int((released == number).sum()), count
        if noise.kind is NoiseKind.LAPLACE:
            rate = 1 / float(noise.parameter)
            drawn = np.floor(rng.exponential(1 / rate, shape)) - np.floor(
                rng.exponential(1 / rate, shape)
            )
        else:
            drawn = rng.normal(0, float(noise.parameter) ** 0.5, shape)
            if noise.of_units is not None:
                drawn += rng.normal(0, float(noise.of_units) ** 0.5 / 2, (shape[0], 1))
            drawn = np.rint(drawn)
        values[released == number] = drawn
    return values


OURS = (
    "large-margin",
    "tight-margin",
    "limited-domain",
    "choosing",
    "distance",
    "levelwise",
    WITH_ITEMS,
    "exponential",
    "exponential, size only",
    "permute-and-flip",
    "max-of-laplaces",
)
HISTOGRAM = "stability histogram (OpenDP)"
PURE = "PrivBasis, pure"
WEIGHTED = "weighted Gaussian (OpenDP)"
PEERS = (HISTOGRAM, WEIGHTED, PURE, "PrivBasis, zCDP")
ENTRIES = (*OURS, *PEERS)
# Those that are told the items, or at least how many there are.
UNIVERSE = (WITH_ITEMS, *CATALOGUE, "exponential, size only", PURE, "PrivBasis, zCDP")
# Ours that need nothing public but, some of them, a cap on baskets or a rank.
UNKNOWN = tuple(entry for entry in OURS if entry not in UNIVERSE)


# Releases of the peers with supports.


def histogram(
    question: Question, counts: list[int], trials: int, seed: int
) -> list[dict[str, Any]]:
    """Return the measures of the stability histogram, every k with the cut of its own that suits
    the data best.

    The release does not depend on k otherwise: a cut that is the best of several k is released
    once, and the top k by noisy supports are the first of a larger k.
    """
    cuts = best_cuts(question, counts)
    rows = []
    for kept in dict.fromkeys(cuts.values()):
        of_cut = [count for count in counts if cuts[count] == kept]
        releases = histogram_trials(question, max(of_cut), kept, trials, seed_of_picks(seed))
        measured = _peer(question, of_cut, partial(_first, releases), seed)
        rows += [{**row, **kept._asdict()} for row in measured]
    return sorted(rows, key=lambda row: counts.index(row["k"]))


def seed_of_picks(seed: int) -> int:
    """Return the one number of the stream of selections: to numpy, numbers are words of 32 bits,
    the lowest first.
    """
    assert 0 <= seed < 1 << 32
    return seed + (PICKS << 32)


def _first(releases: list[Released], count: int) -> list[Released]:
    return [release.first(count) for release in releases]


def weighted(question: Question, counts: list[int], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the measures of the weighted Gaussian, every k with the cut of its own that suits the
    data best.
    """
    rows = []
    for count in counts:
        kept = weighted_gaussian.best_cut(question, count)
        releases = weighted_gaussian.weighted_trials(
            question, count, kept, trials, seed_of_picks(seed)
        )
        [row] = _peer(question, [count], partial(_first, releases), seed)
        rows.append({**row, **kept._asdict()})
    return rows


def privbasis(
    question: Question, counts: list[int], trials: int, seed: int, *, pure: bool
) -> list[dict[str, Any]]:
    """Return the measures of PrivBasis; pure: at δ = 0."""
    if pure:
        question = replace(question, delta=0.0)

    def releases(count: int) -> list[Released]:
        return privbasis_trials(question, count, trials, seed_of_picks(seed))

    return _peer(question, counts, releases, seed)


def _peer(
    question: Question, counts: list[int], trials: Callable[[int], list[Released]], seed: int
) -> list[dict[str, Any]]:
    levels = levels_for(question.source, question.sizes)
    return [{"k": k, **measures(as_releases(trials(k), k), levels, k, seed)} for k in counts]


def as_releases(trials: list[Released], count: int) -> Releases:
    """Return the same in the form of the study, (trials, count)."""
    true = np.full((len(trials), count), ABSTAINED, dtype=np.int64)
    noisy = np.zeros((len(trials), count))
    for trial, release in enumerate(trials):
        true[trial, : len(release.true)] = release.true
        noisy[trial, : len(release.noisy)] = release.noisy
    return Releases(true, noisy)
