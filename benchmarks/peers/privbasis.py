"""PrivBasis, re-implemented from its paper: Li, Qardaji, Su and Cao, VLDB 2012, section 4. A
baseline from outside.

It releases the k most frequent itemsets of some sizes with noisy supports, under adding or removing
one basket, or replacing one. It needs a public universe of items and is given the items that occur:
generous. The noise is of floats out of a seeded generator: good for measuring utility, not for
releasing anything.

What is spent, and why. A selection by the exponential mechanism that costs c has the rate ε₀ = c in
the pure form, and √(8c) under zCDP, for it is ε₀-bounded-range, hence (ε₀²/8)-zCDP (Dong, Durfee
and Rogers 2020). Each stage depends on the data through what the stages before released only: basic
adaptive composition, of pure or of zCDP costs.
1. λ, one selection, a tenth. |c_j - θ| moves by at most 1, in either direction: weight e^{-ε₀|c_j -
  θ|/2}.
2. λ items and λ₂ pairs of them, four tenths, the same cost for each selection; the paper's shares λ
   : λ₂ come to that. One basket moves all supports by 0 or 1 in one direction: weight e^{ε₀c},
   without the factor 2.
3. The bins of w bases, one half. One basket is in one bin of each basis, which moves by 1: L1
   sensitivity w, L2 √w. With c = share / w for each basis, that is noise Lap(1/c), or Gaussian of
   variance 1/(2c). That a basket is in one bin of each basis is what the sensitivities rest on. A
   user has many baskets, in many bins: by user there is no PrivBasis without a cut of its own,
   which the paper does not have.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.datasets import Source
from benchmarks.peers.item_matrix import (
    Codes,
    Int64,
    basis_bins,
    item_matrix,
    subsets,
    support_at_rank,
    supports_of_subsets,
)
from benchmarks.peers.question import Question, Released, nothing
from fim_private.dp.composition import zcdp_rho
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.parameters import exact_delta, exact_epsilon

# As in the paper: the shares of the stages.
SHARES = (Fraction(1, 10), Fraction(4, 10), Fraction(5, 10))


@dataclass(frozen=True)
class Budget:
    """total: ε, or ρ where zcdp. replaces: whether neighbours differ in a basket replaced, not in
    one more or less.

    To replace a basket is to remove one and add one. For pure ε that is twice the cost, and under
    zCDP four times, of all that is analysed for one basket (group privacy). For the Gaussian bins
    it is only twice: a bin of each basis falls by 1 and another rises by 1, an L2 sensitivity of
    √(2w).
    """

    total: Fraction
    zcdp: bool
    replaces: bool = False

    @classmethod
    def of(cls, question: Question) -> Budget:
        """Return the budget that keeps the guarantee: pure where δ is 0."""
        epsilon = exact_epsilon(question.epsilon)
        replaces = question.neighbors is Neighbors.REPLACE_ONE
        if question.delta == 0:
            return cls(epsilon, False, replaces)
        return cls(zcdp_rho(epsilon, exact_delta(question.delta)), True, replaces)

    def stage(self, number: int) -> Fraction:
        """Return what stage 1, 2 or 3 may spend on one basket more or less."""
        share = self.total * SHARES[number - 1]
        if not self.replaces:
            return share
        is_a_choice = number < 3
        return share / 4 if self.zcdp and is_a_choice else share / 2


Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Mask = NDArray[np.bool_]

# As in the paper: the longest basis, and how many more than k itemsets are aimed at.
LONGEST_BASIS = 12
MARGIN = Fraction(11, 10)
LEFT_OVER_BASIS = 3


def pick(
    utilities: Floats, picks: int, cost: Fraction, zcdp: bool, rng: np.random.Generator
) -> Int64:
    """Return the places selected one after another without replacement, each by weight e^{ε₀
    utility}; cost: of each.

    For any two neighbours the differences of utilities must change within an interval of length 1
    as in the head of this module. Gumbel noise once and sorting has the same distribution as
    selecting again and again.
    """
    rate = math.sqrt(8 * cost) if zcdp else float(cost)
    keys = rate * utilities + rng.gumbel(size=len(utilities))
    return np.argsort(-keys, kind="stable")[:picks].astype(np.int64)


def noisy_bins(bins: Int64, cost: Fraction, zcdp: bool, rng: np.random.Generator) -> Floats:
    """Return the bins of one basis with noise that costs so much: L1 and L2 sensitivity 1."""
    if zcdp:
        return bins + rng.normal(scale=math.sqrt(1 / (2 * cost)), size=len(bins))
    return bins + rng.laplace(scale=float(1 / cost), size=len(bins))


def number_of_items(
    supports: Int64,
    theta: int,
    sizes: tuple[int, ...],
    wanted: int,
    budget: Budget,
    rng: np.random.Generator,
) -> int:
    """Select λ (GetLambda): the j whose j-th item has about the support of the wanted-th itemset.

    No more items than wanted have that support where items count as itemsets, and none helps beyond
    wanted * size: a public limit, which the paper does not state and which helps where ε is small.
    """
    most = min(len(supports), wanted * (1 if 1 in sizes else max(sizes)))
    ordered = np.sort(supports)[::-1][min(min(sizes), most) - 1 : most]
    quality = -np.abs(ordered - theta) / 2
    return min(min(sizes), most) + int(pick(quality, 1, budget.stage(1), budget.zcdp, rng)[0])


def number_of_pairs(items: int, sizes: tuple[int, ...], wanted: int) -> int:
    """Return λ₂: what is left of the itemsets wanted, none where one basis holds all items or none
    are asked for.

    Where more are left than there are items, the paper, which asks for all sizes, divides by the
    root of that ratio: many will be larger than pairs. Triples alone hold more pairs than they are:
    half as many again did well on retail.
    """
    if items <= LONGEST_BASIS or max(sizes) == 1:
        return 0
    if 1 in sizes:
        left = max(0, wanted - items)
        if max(sizes) > 2:
            left = math.ceil(left / math.sqrt(max(1, left / items)))
    else:
        left = wanted if 2 in sizes else wanted * 3 // 2
    return min(left, math.comb(items, 2))


def maximal_cliques(neighbors: Mapping[int, Collection[int]]) -> Iterator[frozenset[int]]:
    """Yield the maximal cliques of a graph (Bron and Kerbosch 1973, with a pivot of most
    neighbours).
    """

    def extend(
        clique: frozenset[int], possible: set[int], excluded: set[int]
    ) -> Iterator[frozenset[int]]:
        if not possible and not excluded:
            yield clique
            return
        pivot = max(
            sorted(possible | excluded),
            key=lambda node: len(possible.intersection(neighbors[node])),
        )
        for node in sorted(possible.difference(neighbors[pivot])):
            near = neighbors[node]
            yield from extend(
                clique | {node}, possible.intersection(near), excluded.intersection(near)
            )
            possible.remove(node)
            excluded.add(node)

    if neighbors:
        yield from extend(frozenset(), set(neighbors), set())


def split(clique: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Return sets of at most LONGEST_BASIS members that hold every subset of that size of the
    clique.
    """
    if len(clique) <= LONGEST_BASIS:
        return [tuple(clique)]
    step = LONGEST_BASIS // size
    groups = [tuple(clique[start : start + step]) for start in range(0, len(clique), step)]
    return [sum(chosen, ()) for chosen in combinations(groups, size)]


def precisions(bases: Mask, queries: Int64) -> Floats32:
    """Return 1 / variance of each query from each basis in units of a bin's, 0 where not contained:
    (w, q).

    queries: (q, 2) places of two items, or twice that of one. The precisions are powers of 2 not
    below 2^-LONGEST_BASIS: sums and differences of a thousand are exact in 24 bits.
    """
    left, right = queries.T
    of_basis = np.exp2(-bases.sum(axis=1, dtype=np.float32))
    of_query = np.where(left == right, np.float32(2), np.float32(4))
    result: Floats32 = (bases[:, left] & bases[:, right]) * of_basis[:, None] * of_query
    return result


def merge(bases: Mask, queries: Int64, zcdp: bool) -> Mask:
    """Merge the two bases whose union most reduces the mean variance of the queries, until no
    merger reduces it.

    (w, items) and (q, 2). The variance of a bin grows as w² in the pure form, as the paper has it,
    and as w under zCDP. Left-over items are merged in like all others, where the paper looks at
    them last.
    """
    power = 1 if zcdp else 2
    own = precisions(bases, queries)
    alive = np.ones(len(bases), dtype=bool)
    mergers = _mergers(bases, own, queries, *np.triu_indices(len(bases), 1))
    while len(mergers[0]):
        first, second, changes = mergers
        total = own[alive].sum(axis=0)
        variances = (alive.sum() - 1) ** power * (1 / (total + changes)).mean(axis=1)
        best = int(variances.argmin())
        if variances[best] >= alive.sum() ** power * (1 / total).mean():
            break
        union = bases[first[best]] | bases[second[best]]
        # what the union contains is no basis of its own any more
        alive &= (bases & ~union).any(axis=1)
        left = alive[first] & alive[second]
        others = np.flatnonzero(alive)
        alive, bases = np.append(alive, True), np.vstack([bases, union])
        own = np.vstack([own, precisions(union[None], queries)])
        new = _mergers(bases, own, queries, others, np.full(len(others), len(bases) - 1))
        mergers = (
            np.concatenate([first[left], new[0]]),
            np.concatenate([second[left], new[1]]),
            np.concatenate([changes[left], new[2]]),
        )
    return bases[alive]


def _mergers(
    bases: Mask, own: Floats32, queries: Int64, first: Int64, second: Int64
) -> tuple[Int64, Int64, Floats32]:
    """Return the pairs of bases that are not too long together, and how their merger changes the
    precisions.
    """
    unions = bases[first] | bases[second]
    fit = unions.sum(axis=1) <= LONGEST_BASIS
    first, second = first[fit], second[fit]
    return first, second, precisions(unions[fit], queries) - own[first] - own[second]


def basis_set(
    items: Codes, pairs: Sequence[tuple[int, int]], sizes: tuple[int, ...], zcdp: bool
) -> list[Codes]:
    """Return bases that hold all pairs, and all items where sizes has 1 (ConstructBasisSet).

    items: ascending; pairs: of places in items.
    """
    neighbors: dict[int, set[int]] = {}
    for i, j in pairs:
        neighbors.setdefault(i, set()).add(j)
        neighbors.setdefault(j, set()).add(i)
    cliques = [
        part
        for clique in maximal_cliques(neighbors)
        for part in split(sorted(clique), max(2, *sizes))
    ]
    alone = [place for place in range(len(items)) if place not in neighbors] if 1 in sizes else []
    groups = [
        tuple(alone[start : start + LEFT_OVER_BASIS])
        for start in range(0, len(alone), LEFT_OVER_BASIS)
    ]
    singles = [(place, place) for place in range(len(items))] if 1 in sizes else []
    queries = np.array([*singles, *pairs], dtype=np.int64).reshape(-1, 2)
    merged = merge(_masks([*cliques, *groups], len(items)), queries, zcdp)
    bases = [tuple(items[place] for place in np.flatnonzero(row)) for row in merged]
    return [basis for basis in bases if len(basis) >= min(sizes)]


def _masks(sets: Sequence[Sequence[int]], width: int) -> Mask:
    masks = np.zeros((len(sets), width), dtype=bool)
    for row, members in zip(masks, sets, strict=True):
        row[list(members)] = True
    return masks


def estimates(
    source: Source,
    bases: Sequence[Codes],
    sizes: tuple[int, ...],
    budget: Budget,
    rng: np.random.Generator,
) -> Released:
    """Return true and noisy supports of all itemsets of the sizes that some basis holds
    (BasisFreq).

    Several estimates of one itemset are averaged by inverse variance, 2^(length of the basis -
    size) bins each: their noise is independent, so no weighted mean has less.
    """
    keys, weights, noisy, true = [], [], [], []
    for basis in bases:
        bins = basis_bins(source, basis)
        masks, places = subsets(len(basis), sizes)
        measured = supports_of_subsets(
            noisy_bins(bins, budget.stage(3) / len(bases), budget.zcdp, rng)
        )
        keys.append(np.append(basis, -1)[places])
        weights.append(np.exp2((places >= 0).sum(axis=1) - float(len(basis))))
        noisy.append(measured[masks])
        true.append(supports_of_subsets(bins)[masks])
    if not keys:
        return nothing()
    _, first, same = np.unique(np.concatenate(keys), axis=0, return_index=True, return_inverse=True)
    weight = np.concatenate(weights)
    total = np.bincount(same.ravel(), weight * np.concatenate(noisy))
    return Released(np.concatenate(true)[first], total / np.bincount(same.ravel(), weight))


def _trial(
    source: Source,
    sizes: tuple[int, ...],
    count: int,
    theta: int,
    budget: Budget,
    rng: np.random.Generator,
) -> Released:
    matrix = item_matrix(source)
    universe = np.flatnonzero(matrix.supports_of_items)
    supports = matrix.supports_of_items[universe]
    wanted = math.ceil(MARGIN * count)
    number = number_of_items(supports, theta, sizes, wanted, budget, rng)
    more = number_of_pairs(number, sizes, wanted)
    cost = budget.stage(2) / (number + more)
    items = tuple(
        np.sort(universe[pick(supports.astype(float), number, cost, budget.zcdp, rng)]).tolist()
    )
    if number <= LONGEST_BASIS:
        bases = [items]
    else:
        left, right = np.triu_indices(len(items), 1)
        chosen = pick(matrix.pairs(items).astype(float), more, cost, budget.zcdp, rng)
        pairs = list(zip(left[chosen].tolist(), right[chosen].tolist(), strict=True))
        bases = basis_set(items, pairs, sizes, budget.zcdp)
    candidates = estimates(source, bases, sizes, budget, rng)
    top = np.argsort(-candidates.noisy, kind="stable")[:count]
    return Released(candidates.true[top], candidates.noisy[top])


def privbasis_trials(question: Question, count: int, trials: int, seed: int) -> list[Released]:
    """Release the count most frequent itemsets of the sizes so many times; pure where δ is 0, else
    by zCDP.

    At most count each time: fewer where the bases hold fewer. Raises ValueError for a size that no
    basis can hold.
    """
    source, sizes = question.source, question.sizes
    if not 1 <= min(sizes) <= max(sizes) <= LONGEST_BASIS:
        raise ValueError(f"sizes must lie between 1 and {LONGEST_BASIS}, not {sizes}")
    budget = Budget.of(question)
    theta = support_at_rank(source, sizes, math.ceil(MARGIN * count))
    streams = np.random.default_rng(seed).spawn(trials)
    return [_trial(source, sizes, count, theta, budget, rng) for rng in streams]
