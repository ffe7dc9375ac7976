"""The selection oracles against second definitions, simulations, and the privacy the theory claims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import numpy.typing as npt
import oracles
import pytest
import selection_oracles as so
from oracles import Neighbors

Counts = Mapping[str, int]
Exact = dict[str | None, Decimal]
Run = Callable[[Counts], Exact]

NEIGHBORS: tuple[Neighbors, Neighbors] = ("add-remove", "replace-one")
SPLIT = (Fraction(1, 5), Fraction(3, 10), Fraction(1, 2))
TINY = Decimal("1e-50")
SPREAD = {"a": 9, "b": 7, "c": 7, "d": 7, "e": 4, "f": 1, "g": 1, "h": 0, "i": 0}


def step(rank: int) -> int:
    return 2 + rank


def known(counts: Counts, is_known: bool) -> int | None:
    return len(counts) if is_known else None


def close(p: Mapping[str | None, Decimal], q: Mapping[str | None, Decimal], error: Decimal = TINY) -> bool:
    with localcontext() as context:
        context.prec = 100
        return all(abs(p.get(o, Decimal(0)) - q.get(o, Decimal(0))) <= error for o in {*p, *q})


def every_mechanism(
    counts: Counts, epsilon: Fraction, delta: Fraction, neighbors: Neighbors, is_known: bool
) -> Iterator[Exact]:
    size = known(counts, is_known)
    if is_known:
        yield so.permute_and_flip_exact(counts, epsilon, neighbors=neighbors, universe_size=len(counts))
        yield so.max_of_laplaces_exact(counts, epsilon, neighbors=neighbors, universe_size=len(counts))
    for rank in (1, 3, 6, 8, 20):
        yield so.limited_domain_exact(
            counts, epsilon, delta, max_rank=rank, neighbors=neighbors, universe_size=size, max_itemsets=4
        )
    yield so.choosing_exact(counts, epsilon, delta, max_itemsets=4, neighbors=neighbors, universe_size=size)
    yield so.distance_exact(counts, epsilon, delta, neighbors=neighbors, universe_size=size)
    for rank in (1, 4, 12):
        yield so.tight_margin_exact(
            counts,
            epsilon,
            delta,
            max_rank=rank,
            neighbors=neighbors,
            split=SPLIT,
            thresholds=step,
            universe_size=size,
        )


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("counts", [SPREAD, {"a": 1}, {"a": 0, "b": 0}, {"a": 60, "b": 3, "c": 0}])
@pytest.mark.one_in(3)
def test_distributions_sum_to_one_and_treat_ties_alike(counts: Counts, is_known: bool, neighbors: Neighbors) -> None:
    for result in every_mechanism(counts, Fraction(3, 2), Fraction(1, 50), neighbors, is_known):
        assert abs(so.total(result) - 1) < TINY
        assert min(result.values()) >= 0
        names = {name for name, count in counts.items() if count or is_known}
        assert set(result) == {*names, None}
        for one, other in combinations(names, 2):
            if counts[one] == counts[other]:
                assert result[one] == result[other]
            else:
                more, less = (one, other) if counts[one] > counts[other] else (other, one)
                assert result[more] >= result[less]


def test_empty_data_of_unknown_universe_abstains() -> None:
    for result in every_mechanism({"a": 0}, Fraction(1), Fraction(1, 50), "add-remove", False):
        assert set(result) == {None}
        assert abs(so.total(result) - 1) < TINY


def test_known_universe_must_be_listed() -> None:
    with pytest.raises(ValueError, match="of a universe of 5"):
        so.permute_and_flip({"a": 1}, 1, neighbors="add-remove", universe_size=5)


# ------------------------------------------------------------------------------- second definitions


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("counts", [{"a": 5, "b": 4, "c": 4, "d": 0, "e": 2}, {"a": 0, "b": 0}, {"a": 3}])
def test_permute_and_flip_by_permutations_and_subsets(counts: Counts, neighbors: Neighbors) -> None:
    with localcontext() as context:
        context.prec = 90
        rate = Decimal("0.7") / (1 if neighbors == "add-remove" else 2)
        heads = {name: (-rate * (max(counts.values()) - count)).exp() for name, count in counts.items()}
        by_order: Exact = dict.fromkeys(counts, Decimal(0))
        for order in permutations(counts):
            still = Decimal(1) / math.factorial(len(counts))
            for name in order:
                by_order[name] += still * heads[name]
                still *= 1 - heads[name]
        by_subset: Exact = {}
        for name in counts:
            others = [other for other in counts if other != name]
            by_subset[name] = heads[name] * sum(
                (
                    (-1) ** size * math.prod((heads[o] for o in chosen), start=Decimal(1)) / (size + 1)
                    for size in range(len(others) + 1)
                    for chosen in combinations(others, size)
                ),
                Decimal(0),
            )
    result = so.permute_and_flip_exact(
        counts, Fraction("0.7"), neighbors=neighbors, universe_size=len(counts), digits=70
    )
    assert close(result, by_order, Decimal("1e-65"))
    assert close(result, by_subset, Decimal("1e-65"))


def test_permute_and_flip_of_25_candidates_is_exact() -> None:
    counts = {str(i): i // 2 for i in range(25)}
    result = so.permute_and_flip_exact(counts, Fraction(1, 10), neighbors="add-remove", universe_size=25)
    assert abs(so.total(result) - 1) < TINY
    better = so.permute_and_flip_exact(counts, Fraction(1, 10), neighbors="add-remove", universe_size=25, digits=100)
    assert close(result, better, Decimal("1e-60"))


def test_max_of_laplaces_by_every_pair_of_noises() -> None:
    result = so.max_of_laplaces_exact({"a": 4, "b": 1}, 2, neighbors="add-remove", universe_size=2)
    expected: Exact = {"a": Decimal(0), "b": Decimal(0)}
    with localcontext() as context:
        context.prec = 80
        q = Decimal(-2).exp()
        pmf = {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-70, 71)}
        for x, y in product(pmf, repeat=2):
            chance = pmf[x] * pmf[y]
            for name, share in (("a", 4 + x >= 1 + y), ("b", 4 + x <= 1 + y)):
                expected[name] += chance * share / (2 if 4 + x == 1 + y else 1)
    assert close(result, expected)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_max_of_laplaces_by_every_triple_of_noises(neighbors: Neighbors) -> None:
    counts = {"a": 3, "b": 3, "c": 2}
    scale = (1 if neighbors == "add-remove" else 2) / 1.5
    k = np.arange(-60, 61)
    pmf = oracles.discrete_laplace_pmf(scale, k)
    chance = pmf[:, None, None] * pmf[None, :, None] * pmf[None, None, :]
    sums = np.broadcast_arrays((3 + k)[:, None, None], (3 + k)[None, :, None], (2 + k)[None, None, :])
    best = np.maximum(np.maximum(sums[0], sums[1]), sums[2])
    tied = sum((one == best).astype(np.int64) for one in sums)
    result = so.max_of_laplaces(counts, 1.5, neighbors=neighbors, universe_size=3)
    for name, one in zip(counts, sums, strict=True):
        assert result[name] == pytest.approx(float((chance * (one == best) / tied).sum()), abs=1e-13)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5, 6, 9])
@pytest.mark.one_in(5)
def test_limited_domain_by_every_order_of_ties(rank: int, is_known: bool, neighbors: Neighbors) -> None:
    counts = {"a": 5, "b": 3, "c": 3, "d": 3, "e": 0, "f": 0}
    epsilon, delta = Fraction(1, 2), Fraction(1, 30)
    expected: Exact = dict.fromkeys([*counts, None], Decimal(0))
    with localcontext() as context:
        context.prec = 90
        m = min(rank, 2)
        if neighbors == "add-remove":
            rate, lift, number = Decimal("0.5"), 1, 30 * m
        else:
            rate, lift = Decimal("0.25"), 2
            number = math.ceil(30 * m * (1 + math.exp(-0.25)))
        orders = list(permutations(counts))
        for order in orders:
            ranking = sorted((n for n in order if counts[n] or is_known), key=lambda name: -counts[name])
            mass: Exact = {name: (rate * counts[name]).exp() for name in ranking[:rank]}
            cut = counts[ranking[rank]] if rank < len(ranking) else 0
            more = 0 if is_known or cut else m  # the zeros left out, docs/privacy.md, (7)
            mass[None] = (number + more) * (rate * (cut + lift)).exp() if not is_known or rank < 6 else Decimal(0)
            whole = sum(mass.values())
            for name, part in mass.items():
                expected[name] += part / whole / len(orders)
    result = so.limited_domain_exact(
        counts,
        epsilon,
        delta,
        max_rank=rank,
        neighbors=neighbors,
        universe_size=known(counts, is_known),
        max_itemsets=2,
    )
    assert close(result, expected)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_choosing_is_limited_domain_without_a_cut(neighbors: Neighbors) -> None:
    for size in (None, len(SPREAD)):
        chosen = so.choosing_exact(SPREAD, 0.7, 0.01, max_itemsets=3, neighbors=neighbors, universe_size=size)
        limited = so.limited_domain_exact(
            SPREAD, 0.7, 0.01, max_rank=99, max_itemsets=3, neighbors=neighbors, universe_size=size
        )
        if size is not None:
            assert close(chosen, limited)
        else:  # limited domain weighs its abstention by M = 3 itemsets more where it leaves zeros out
            number = so.abstention_multiplicity(0.7, 0.01, 3, neighbors)
            heavier = so.choosing_exact(
                SPREAD, 0.7, 0.01, max_itemsets=3, neighbors=neighbors, bottom_factor=1 + Fraction(3, number)
            )
            assert close(heavier, limited)
    levels = oracles.exponential_distribution(
        list(SPREAD.values()), 0.7, neighbors=neighbors, universe_size=len(SPREAD)
    )
    for name, count in SPREAD.items():
        tied = sum(other == count for other in SPREAD.values())
        assert float(chosen[name]) == pytest.approx(levels[count] / tied, rel=1e-14)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 3), Fraction(9, 10)])
def test_replace_one_weight_is_the_least_that_the_conversion_allows(epsilon: Fraction, delta: Fraction) -> None:
    number = so.abstention_multiplicity(epsilon, delta, 7, "replace-one")
    with localcontext() as context:
        context.prec = 50
        x = Decimal(epsilon.numerator) / epsilon.denominator / 2
        share = Decimal(delta.numerator) / delta.denominator / (1 + x.exp())
        needed = 7 / min(share, x)
        assert number * x.exp() >= needed > (number - 1) * x.exp()


def test_add_remove_weight() -> None:
    assert so.abstention_multiplicity(1, Fraction(1, 10**6), 3, "add-remove") == 3 * 10**6
    assert so.abstention_multiplicity(Fraction(1, 10), Fraction(1, 2), 3, "add-remove") == 30


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("delta", [0.5, 0.2, 1e-3, 1e-8])
def test_distance_threshold_and_release_by_sums(delta: float, neighbors: Neighbors) -> None:
    epsilon, s = 0.8, 1 if neighbors == "add-remove" else 2
    threshold = so.distance_threshold(epsilon, delta, neighbors)
    k = np.arange(0, 400)
    pmf = oracles.discrete_laplace_pmf(s / epsilon, k)
    assert math.fsum(pmf[threshold + 1 :]) <= delta
    assert threshold == 0 or math.fsum(pmf[threshold:]) > delta
    pmf = oracles.discrete_laplace_pmf(s / epsilon, k - 200)
    for gap in (0, 1, 2, 5, 30):
        counts = {"a": gap + 1, "b": 1, "c": 0}
        release = math.fsum(pmf[gap - s + (k - 200) > threshold])
        result = so.distance(counts, epsilon, delta, neighbors=neighbors)
        share = 2 if gap == 0 else 1
        assert result["a"] == pytest.approx(release / share, rel=1e-12)
        assert result["b"] == (result["a"] if gap == 0 else 0)
        assert result[None] == pytest.approx(1 - release, rel=1e-12)


def test_distance_without_support() -> None:
    zeros = {"a": 0, "b": 0}
    assert so.distance(zeros, 1, 0.1, neighbors="add-remove") == {None: 1.0}
    chances = so.distance(zeros, 1, 0.1, neighbors="add-remove", universe_size=2)
    assert chances["a"] == chances["b"] > 0
    # A single candidate has all others, none, at 0.
    assert so.distance({"a": 0}, 1, 0.1, neighbors="add-remove", universe_size=1)["a"] == 2 * chances["a"]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("threshold", [-3, 0, 2, 3, 8])
def test_tight_margin_search_of_one_test_in_closed_form(threshold: int, neighbors: Neighbors) -> None:
    epsilon = Fraction(7, 5)
    result = so.tight_margin_ranks_exact(
        {"a": 6, "b": 4}, epsilon, max_rank=2, neighbors=neighbors, split=SPLIT, thresholds=lambda _: threshold
    )
    with localcontext() as context:
        context.prec = 90
        e = Decimal("1.4") / (1 if neighbors == "add-remove" else 2)
        x, y = (-e / 5).exp(), (-3 * e / 10).exp()
        m = threshold - 2  # stops if Z >= m + G
        later = (1 - y) * x ** (1 - m) / (1 - x * y)
        stops = (1 - x) * y**m / (1 - x * y) if m >= 0 else 1 - later
        assert abs(result[1] - stops) < TINY
        assert abs(result[2] - (1 - stops)) < TINY


def test_tight_margin_is_the_mixture_of_its_stages() -> None:
    ranks = so.tight_margin_ranks(
        SPREAD, 2, max_rank=5, neighbors="replace-one", split=SPLIT, thresholds=step, universe_size=9
    )
    assert list(ranks) == [1, 2, 3, 4, 5]
    assert min(ranks.values()) > 0.01
    expected = Counter[str | None]()
    for rank, chance in ranks.items():
        selected = so.limited_domain(SPREAD, 1, 0.05, max_rank=rank, neighbors="replace-one", universe_size=9)
        for name, part in selected.items():
            expected[name] += chance * part  # type: ignore[assignment]
    result = so.tight_margin(
        SPREAD, 2, 0.05, max_rank=5, neighbors="replace-one", split=SPLIT, thresholds=step, universe_size=9
    )
    assert result == pytest.approx(dict(expected), abs=1e-14)


# -------------------------------------------------------------------------------------- simulations

DRAWS = 100_000


def geometric(rng: np.random.Generator, rate: float, size: int) -> npt.NDArray[np.int64]:
    """P(>= k) = e^(-rate k), by inversion."""
    return np.asarray(np.floor(rng.exponential(1 / rate, size)), dtype=np.int64)


def laplace(rng: np.random.Generator, rate: float, size: int) -> npt.NDArray[np.int64]:
    return geometric(rng, rate, size) - geometric(rng, rate, size)


def simulated(p: Mapping[str | None, float], drawn: Mapping[str | None, int]) -> None:
    assert oracles.chi_square_pvalue(drawn, p, sum(drawn.values())) > 1e-4


def weighted(rng: np.random.Generator, names: Sequence[str | None], weights: Sequence[float]) -> str | None:
    at = rng.random() * math.fsum(weights)
    for name, weight in zip(names, weights, strict=True):
        at -= weight
        if at < 0:
            return name
    return names[-1]


def draw_limited(
    rng: np.random.Generator,
    counts: Counts,
    rank: int,
    epsilon: float,
    delta: float,
    neighbors: Neighbors,
    is_known: bool,
) -> str | None:
    """Shuffle, sort, cut, draw."""
    names = [name for name, count in counts.items() if count or is_known]
    shuffled = [names[i] for i in rng.permutation(len(names))]
    ranking = sorted(shuffled, key=lambda name: -counts[name])
    x, lift = (epsilon, 1) if neighbors == "add-remove" else (epsilon / 2, 2)
    outcomes: list[str | None] = [*ranking[:rank]]
    weights = [math.exp(x * counts[name]) for name in ranking[:rank]]
    if not is_known or rank < len(counts):
        cut = counts[ranking[rank]] if rank < len(ranking) else 0
        number = rank / min(delta, epsilon)
        if neighbors == "replace-one":
            number = rank * max((1 + math.exp(-x)) / delta, math.exp(-x) / x)
        outcomes.append(None)
        weights.append(math.ceil(number) * math.exp(x * (cut + lift)))
    return weighted(rng, outcomes, weights)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_simulated_permute_and_flip(neighbors: Neighbors) -> None:
    rng = np.random.default_rng(1)
    counts = {"a": 4, "b": 4, "c": 3, "d": 1}
    rate = 0.5 / (1 if neighbors == "add-remove" else 2)
    # Noisy maximum with one-sided exponential noise, another definition of the same mechanism.
    sums = np.array(list(counts.values())) + rng.exponential(1 / rate, (DRAWS, 4))
    drawn: Counter[str | None] = Counter(list(counts)[i] for i in sums.argmax(axis=1))
    simulated(so.permute_and_flip(counts, 0.5, neighbors=neighbors, universe_size=4), drawn)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_simulated_max_of_laplaces(neighbors: Neighbors) -> None:
    rng = np.random.default_rng(2)
    counts = {"a": 4, "b": 4, "c": 3, "d": 1}
    rate = 1.5 / (1 if neighbors == "add-remove" else 2)
    sums = np.array(list(counts.values())) + laplace(rng, rate, 4 * DRAWS).reshape(DRAWS, 4)
    drawn: Counter[str | None] = Counter(list(counts)[i] for i in (sums + rng.random((DRAWS, 4))).argmax(axis=1))
    simulated(so.max_of_laplaces(counts, 1.5, neighbors=neighbors, universe_size=4), drawn)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("is_known", [False, True])
def test_simulated_distance(is_known: bool, neighbors: Neighbors) -> None:
    rng = np.random.default_rng(3)
    counts = {"a": 3, "b": 3, "c": 1} if is_known else {"a": 9, "b": 4, "c": 0}
    gap = 0 if is_known else 5
    s = 1 if neighbors == "add-remove" else 2
    delta = 0.05
    noise = laplace(rng, 1.2 / s, DRAWS)
    released = gap - s + noise > so.distance_threshold(1.2, delta, neighbors)
    first = rng.random(DRAWS) < (0.5 if is_known else 1)
    drawn: Counter[str | None] = Counter(
        ("a" if one else "b") if out else None for out, one in zip(released, first, strict=True)
    )
    simulated(so.distance(counts, 1.2, delta, neighbors=neighbors, universe_size=known(counts, is_known)), drawn)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.one_in(3)
def test_simulated_limited_domain_and_tight_margin(is_known: bool, neighbors: Neighbors) -> None:
    rng = np.random.default_rng(4)
    counts = {"a": 8, "b": 7, "c": 7, "d": 2, "e": 0}
    size, draws = known(counts, is_known), DRAWS // 4
    drawn = Counter(draw_limited(rng, counts, 2, 0.9, 0.2, neighbors, is_known) for _ in range(draws))
    simulated(so.limited_domain(counts, 0.9, 0.2, max_rank=2, neighbors=neighbors, universe_size=size), drawn)

    supports, half = sorted(counts.values(), reverse=True), 1 if neighbors == "add-remove" else 2
    last = min(7, size or 7)
    rates = [float(part) * 2.0 / half for part in SPLIT]
    drawn = Counter()
    g, z = geometric(rng, rates[0], draws), geometric(rng, rates[1], 7 * draws).reshape(draws, 7)
    ranks: Counter[int] = Counter()
    for i in range(draws):
        rank = 1
        while rank < last:
            following = supports[rank] if rank < len(supports) else 0
            if supports[0] - following + z[i, rank] >= step(rank) + g[i]:
                break
            rank += 1
        ranks[rank] += 1
        drawn[draw_limited(rng, counts, rank, 1.0, 0.2, neighbors, is_known)] += 1
    chances = so.tight_margin_ranks(
        counts, 2, max_rank=7, neighbors=neighbors, split=SPLIT, thresholds=step, universe_size=size
    )
    assert oracles.chi_square_pvalue(ranks, chances, draws) > 1e-4
    result = so.tight_margin(
        counts, 2, 0.2, max_rank=7, neighbors=neighbors, split=SPLIT, thresholds=step, universe_size=size
    )
    simulated(result, drawn)


# ------------------------------------------------------------------------------------------ privacy


def neighbouring(
    top: int, names: str, neighbors: Neighbors, max_itemsets: int
) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """All pairs of supports up to `top`, a unit supporting at most `max_itemsets` itemsets."""
    steps = (0, 1) if neighbors == "add-remove" else (-1, 0, 1)
    for levels in product(range(top + 1), repeat=len(names)):
        if list(levels) != sorted(levels, reverse=True):  # renaming the itemsets changes nothing
            continue
        for move in product(steps, repeat=len(names)):
            if (
                max(move.count(1), move.count(-1)) <= max_itemsets
                and min(map(sum, zip(levels, move, strict=True))) >= 0
            ):
                after = [level + up for level, up in zip(levels, move, strict=True)]
                yield dict(zip(names, levels, strict=True)), dict(zip(names, after, strict=True))


def worst(
    run: Run, epsilon: Fraction, neighbors: Neighbors, *, top: int = 3, names: str = "abcd", max_itemsets: int = 99
) -> Decimal:
    """The greatest hockey-stick divergence, both ways, over all small neighbouring pairs.

    Names do not matter (see the test of ties), so each distribution is computed once for each multiset.
    """
    memory: dict[tuple[int, ...], tuple[dict[int, Decimal], Exact]] = {}

    def remembered(counts: Counts) -> Exact:
        key = tuple(sorted(counts.values()))
        if key not in memory:
            result = run(dict(zip(names, key, strict=True)))
            by_level = {level: result.get(name, Decimal(0)) for name, level in zip(names, key, strict=True)}
            others: Exact = {outcome: chance for outcome, chance in result.items() if outcome not in counts}
            memory[key] = by_level, others
        by_level, others = memory[key]
        return {**{name: by_level[level] for name, level in counts.items()}, **others}

    found = Decimal(0)
    for before, after in neighbouring(top, names, neighbors, max_itemsets):
        p, q = remembered(before), remembered(after)
        found = max(found, so.hockey_stick_exact(p, q, epsilon), so.hockey_stick_exact(q, p, epsilon))
    return found


EPSILON = Fraction(4, 5)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.full
def test_pure_mechanisms_are_private_and_less_noise_is_not(neighbors: Neighbors) -> None:
    for mechanism in (so.permute_and_flip_exact, so.max_of_laplaces_exact):

        def right(counts: Counts, mechanism: Callable[..., Exact] = mechanism) -> Exact:
            return mechanism(counts, EPSILON, neighbors=neighbors, universe_size=len(counts), digits=30)

        def mutant(counts: Counts, mechanism: Callable[..., Exact] = mechanism) -> Exact:
            return mechanism(
                counts, EPSILON, neighbors=neighbors, universe_size=len(counts), noise_factor=Fraction(7, 10)
            )

        assert worst(right, EPSILON, neighbors, top=2, names="abc") < Decimal("1e-28")
        assert worst(mutant, EPSILON, neighbors, top=7, names="ab") > Decimal("0.001")


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("delta", [Fraction(1, 20), Fraction(1, 2), Fraction(99, 100)])
@pytest.mark.parametrize(("rank", "most"), [(1, 1), (1, 4), (2, 4), (3, 2), (3, 4), (4, 1)])
@pytest.mark.one_in(7)
def test_limited_domain_is_private(rank: int, most: int, delta: Fraction, is_known: bool, neighbors: Neighbors) -> None:
    def run(counts: Counts) -> Exact:
        return so.limited_domain_exact(
            counts,
            EPSILON,
            delta,
            max_rank=rank,
            neighbors=neighbors,
            max_itemsets=most,
            universe_size=known(counts, is_known),
            digits=50,
        )

    top = 3 if neighbors == "add-remove" else 2
    assert worst(run, EPSILON, neighbors, top=top, max_itemsets=most) <= delta


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("delta", [Fraction(1, 20), Fraction(99, 100)])
@pytest.mark.parametrize("most", [1, 2, 4])
@pytest.mark.one_in(5)
def test_choosing_and_distance_are_private(most: int, delta: Fraction, neighbors: Neighbors) -> None:
    for size in (None, 4):

        def choosing(counts: Counts, size: int | None = size) -> Exact:
            return so.choosing_exact(
                counts, EPSILON, delta, max_itemsets=most, neighbors=neighbors, universe_size=size, digits=50
            )

        def distance(counts: Counts, size: int | None = size) -> Exact:
            return so.distance_exact(counts, EPSILON, delta, neighbors=neighbors, universe_size=size, digits=50)

        top = 3 if neighbors == "add-remove" else 2
        assert worst(choosing, EPSILON, neighbors, top=top, max_itemsets=most) <= (delta if size is None else TINY)
        assert worst(distance, EPSILON, neighbors, top=top) <= delta


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("threshold", [0, 2])
@pytest.mark.full
def test_tight_margin_is_private(threshold: int, neighbors: Neighbors) -> None:
    delta = Fraction(1, 10)
    for size in (None, 4):

        def run(counts: Counts, size: int | None = size) -> Exact:
            return so.tight_margin_exact(
                counts,
                EPSILON,
                delta,
                max_rank=3,
                neighbors=neighbors,
                split=SPLIT,
                thresholds=lambda rank: threshold * rank,
                universe_size=size,
                digits=30,
            )

        def search(counts: Counts, size: int | None = size) -> Exact:
            ranks = so.tight_margin_ranks_exact(
                counts,
                EPSILON,
                max_rank=3,
                neighbors=neighbors,
                split=SPLIT,
                thresholds=lambda rank: threshold * rank,
                universe_size=size,
                digits=30,
            )
            return {str(rank): chance for rank, chance in ranks.items()}

        assert worst(run, EPSILON, neighbors, top=2) <= delta
        assert worst(search, EPSILON / 2, neighbors, top=2) < Decimal("1e-28")


def test_mutants_are_not_private() -> None:
    delta = Fraction(1, 100)
    up = {"b": 10, "c": 10, "d": 10, "a": 10}
    pairs: list[tuple[Run, Counts, Counts]] = [
        # All of the top is new.
        (
            lambda c: so.limited_domain_exact(c, 1, delta, max_rank=3, neighbors="add-remove", bottom_factor=0),
            {},
            {"a": 1},
        ),
        (
            lambda c: so.choosing_exact(c, 1, delta, max_itemsets=3, neighbors="add-remove", bottom_factor=0.5),
            {},
            {"a": 1, "b": 1, "c": 1},
        ),
        # One up, one down.
        (
            lambda c: so.choosing_exact(
                c, 1, delta, max_itemsets=1, neighbors="replace-one", noise_factor=Fraction(7, 10)
            ),
            {"a": 40, "b": 45},
            {"a": 41, "b": 44},
        ),
        # Rank swaps.
        (
            lambda c: so.distance_exact(c, 1, delta, neighbors="add-remove", margin_offset=-1),
            {**up, "a": 11},
            {**up, "a": 10, "b": 11},
        ),
        (
            lambda c: so.distance_exact(c, 1, delta, neighbors="add-remove", threshold_offset=-1),
            up,
            {**up, "a": 11},
        ),
    ]
    for run, before, after in pairs:
        p, q = run(before), run(after)
        assert max(so.hockey_stick_exact(p, q, 1), so.hockey_stick_exact(q, p, 1)) > delta


# ------------------------------------------------------------------------------------ known figures


@pytest.mark.full
def test_supports_needed_as_the_theory_says() -> None:
    """One clear winner, epsilon = 1, delta = 1e-6, 95 % success."""
    delta = Fraction(1, 10**6)

    def needed(run: Run) -> int:
        return next(count for count in range(5, 60) if run({"a": count})["a"] >= Decimal("0.95"))

    assert needed(lambda c: so.distance_exact(c, 1, delta, neighbors="add-remove")) == 17
    assert needed(lambda c: so.choosing_exact(c, 1, delta, max_itemsets=1225, neighbors="add-remove")) == 25
    assert needed(lambda c: so.limited_domain_exact(c, 1, delta, max_rank=1000, neighbors="add-remove")) == 25
    assert needed(lambda c: so.limited_domain_exact(c, 1, delta, max_rank=10**5, neighbors="add-remove")) == 30

    def threshold(rank: int) -> int:
        return math.ceil(1 + math.log(rank * 1e6) / 0.8 + math.log(10 * (rank + 1)) / 0.12)

    split = (Fraction(8, 100), Fraction(12, 100), Fraction(80, 100))
    below, enough = (
        so.tight_margin_exact(
            {"a": count},
            1,
            delta,
            max_rank=10_000,
            neighbors="add-remove",
            split=split,
            thresholds=threshold,
            digits=7,
        )["a"]
        for count in (32, 33)
    )
    assert below < Decimal("0.95") <= enough


@pytest.mark.parametrize("sigma2", [Fraction(1, 10), 1, 40.5])
def test_discrete_gaussian(sigma2: Fraction | float) -> None:
    with localcontext() as context:
        context.prec = 90
        values = {k: so.discrete_gaussian_pmf(sigma2, k) for k in range(-160, 161)}
        assert abs(so.total(values) - 1) < TINY
        exact = Fraction(sigma2)
        ratio = (-Decimal(2 * exact.denominator) / exact.numerator).exp()
        assert abs(values[3] / values[-1] / ratio**2 - 1) < TINY  # e^(-8 / (2 sigma2)) = ratio^2
    # Poisson summation: the normaliser is sqrt(2 pi sigma2) sum of e^(-2 pi^2 sigma2 j^2).
    s = float(sigma2)
    whole = math.sqrt(2 * math.pi * s) * math.fsum(math.exp(-2 * math.pi**2 * s * j * j) for j in range(-20, 21))
    assert float(values[0]) == pytest.approx(1 / whole, rel=1e-13)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.01, 1.0), (0.1, 1.0), (0.5, 4.0), (1.0, 0.5), (3.0, 0.0), (20.0, 5.0)])
def test_zcdp_delta_against_its_derivative_and_a_grid(rho: float, epsilon: float) -> None:
    def log_delta(alpha: float) -> float:
        return (
            (alpha - 1) * (alpha * rho - epsilon) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)
        )  # Corollary 13 as printed

    low, high = 1.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        if (2 * middle - 1) * rho - epsilon + math.log1p(-1 / middle) < 0:
            low = middle
        else:
            high = middle
    delta = so.zcdp_delta(rho, epsilon)
    if high - 1 > 1e-6:  # in floats alpha - 1 has no digits left below
        assert delta == pytest.approx(math.exp(log_delta(high)), rel=1e-12)
    assert all(math.log(delta) <= log_delta(1 + 10 ** (i / 50)) + 1e-12 for i in range(-300, 100))
    assert 0 < delta <= 1


def test_zcdp_delta_covers_the_gaussian() -> None:
    """The discrete Gaussian of variance 1 / (2 rho) is rho-zCDP for a count; its own delta is below."""
    rho = Fraction(1, 8)
    for epsilon in (0.5, 1.0, 2.0):
        p = {k: so.discrete_gaussian_pmf(4, k) for k in range(-60, 61)}
        q = {k: so.discrete_gaussian_pmf(4, k - 1) for k in range(-60, 61)}
        own = float(so.hockey_stick_exact(p, q, epsilon))
        assert own < so.zcdp_delta(rho, epsilon) < 5 * own + 0.05
    assert so.zcdp_delta(0, 1) == 0
