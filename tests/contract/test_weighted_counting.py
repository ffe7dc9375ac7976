"""Weighted sums are exact, whoever counts them, and one unit adds its own vector."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from naming import needs_kernel
from numpy.typing import NDArray

from fim_private.counting import COUNTERS, Effort, LocalSource
from fim_private.counting import portable as portable_candidates
from fim_private.counting.counter import CandidateSource, clipped_weights
from fim_private.counting.source import UNKNOWN, Catalogue, ItemSource, Universe
from fim_private.errors import ParameterError, WorkLimitError
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_catalogue, read_transactions
from fim_private.reading.transactions import Transactions

Baskets = list[list[int]]
# A set of item numbers.
Candidate = tuple[int, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of counting: which counter, with how many threads."""

    counter: str
    threads: int = 1

    def items(self, data: Transactions, universe: Universe = UNKNOWN, **effort: Any) -> ItemSource:
        source = LocalSource(data, Effort(threads=self.threads, **effort))
        return replace(source.items(universe), counter=self.counter)

    def among(self, data: Transactions, labels: Iterable[Item], **effort: Any) -> CandidateSource:
        """Number these items in that order, which the data must have."""
        items = self.items(data, **effort)
        code_of = {data.vocabulary.label(code): code for code in range(len(data.vocabulary))}
        return items.among(np.array([code_of[label] for label in labels], dtype=np.int64))


NUMPY = Kind("numpy")
# Small data are counted before a second thread has begun: there the number makes no difference that
# shows often.
every_kind = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(Kind("compiled", 1), marks=[needs_kernel, pytest.mark.full]),
        pytest.param(Kind("compiled", 2), marks=needs_kernel),
        pytest.param(Kind("compiled", 7), marks=[needs_kernel, pytest.mark.full]),
        NUMPY,
    ],
    ids=["kernel, 1 thread", "kernel, 2 threads", "kernel, 7 threads", "numpy"],
)

numbers = st.integers(0, 6)
random_users = st.lists(st.lists(st.lists(numbers, max_size=6), max_size=4), max_size=8)
random_candidates = st.lists(
    st.sets(numbers, min_size=1).map(sorted).map(tuple), unique=True, max_size=25
)
random_sets = st.integers(1, 4).flatmap(
    lambda size: st.lists(
        st.sets(numbers, min_size=size, max_size=size).map(sorted).map(tuple), unique=True
    )
)
order_of_items = st.permutations(range(7))
scales = st.integers(1, 1 << 16)
# The scale of what is released: the largest there is.
GRID = 1 << 16


def of_users(users: Sequence[Sequence[Sequence[int]]]) -> Transactions:
    """All seven items have a code: a last unit, taken off again, has them."""
    baskets = [list(basket) for user in users for basket in user]
    whole = read_transactions([*baskets, range(7)])
    offsets = np.cumsum([0, *map(len, users)]).astype(np.int64)
    return replace(whole, offsets=whole.offsets[:-1], items=whole.items[:-7], unit_offsets=offsets)


def together(users: Sequence[Baskets]) -> Transactions:
    """The same, with baskets that count together."""
    return replace(of_users(users), together=True)


def of_baskets(baskets: Baskets) -> Transactions:
    return replace(of_users([[basket] for basket in baskets]), unit_offsets=None)


def by_size(candidates: Sequence[Candidate], numbering: Sequence[int] = range(7)) -> list[Any]:
    """Candidates as the kernel wants them: by item numbers, in arrays of one size each."""
    number_of = {item: number for number, item in enumerate(numbering)}
    rows = [sorted(number_of[item] for item in candidate) for candidate in candidates]
    arrays: list[list[list[int]]] = []
    for row in rows:
        if not arrays or len(arrays[-1][0]) != len(row):
            arrays.append([])
        arrays[-1].append(row)
    return [np.array(array, dtype=np.int32) for array in arrays]


def held_by(users: Sequence[Baskets], candidates: Sequence[Candidate]) -> list[list[int]]:
    """Oracle: which candidates each unit holds, by the definition."""
    return [[*repeated(user, candidates)] for user in users]


def weighted(units: Sequence[Sequence[int]], weights: Sequence[int], cells: int) -> list[int]:
    """Oracle: every unit adds the weight of its number of cells to each of them."""
    sums = [0] * cells
    for held in units:
        for cell in held:
            sums[cell] += weights[len(held)]
    return sums


def repeated(user: Baskets, cells: Sequence[Candidate], together: bool = False) -> dict[int, int]:
    """Oracle: in how many of its baskets a unit has each cell that it has."""
    baskets = [set(basket) for basket in user]

    def times(cell: Candidate) -> int:
        if together:
            return min(sum(item in basket for basket in baskets) for item in cell)
        return sum(set(cell) <= basket for basket in baskets)

    return {number: times(cell) for number, cell in enumerate(cells) if times(cell)}


def most_repeated(user: Baskets, most: int) -> dict[int, int]:
    """Oracle: the items that a unit has in most baskets, of as many the first, and in how many."""
    times = repeated(user, [(item,) for item in range(7)])
    return dict(sorted(times.items(), key=lambda one: (-one[1], one[0]))[:most])


def leveled(units: Iterable[Mapping[int, int]], scale: int, cells: int) -> list[int]:
    """Oracle: every unit adds the root of its part of all that it repeats, rounded down."""
    sums = [0] * cells
    for times in units:
        for cell, count in times.items():
            sums[cell] += isqrt(scale**2 * count // sum(times.values()))
    return sums


def some_weights(length: int) -> NDArray[np.int64]:
    """Weights of which no two are equal, and no sum of few hides another."""
    return np.arange(length, dtype=np.int64) ** 5 + 3


@given(bound=st.integers(1, 300), largest=st.integers(0, 400), scale=st.integers(1, 2**26))
@example(bound=1, largest=5, scale=2**20)
@example(bound=400, largest=400, scale=7)
@example(bound=999_983, largest=1_200_000, scale=2**20)
@example(bound=1, largest=1_200_000, scale=2**16)
def test_a_clipped_weight_is_the_root_rounded_down(bound: int, largest: int, scale: int) -> None:
    expected = [0, *(min(scale, isqrt(scale**2 * bound // m)) for m in range(1, largest + 1))]
    assert clipped_weights(bound, largest, scale).tolist() == expected
    for name in ("bound", "scale"):
        with pytest.raises(ParameterError, match=f"^{name} must be a whole number of at least 1"):
            clipped_weights(**{"bound": 1, "largest": 3, "scale": 1, name: 0})


def first_items(user: Baskets, most: int) -> list[int]:
    return sorted({item for basket in user for item in basket})[:most]


@every_kind
@given(users=random_users, most=st.integers(1, 8), scale=scales)
@example(users=[], most=1, scale=1)
@example(users=[[], [[]], [[], [3]]], most=1, scale=GRID)
@example(users=[[[1, 2], [2, 3], [0]], [[3]]], most=2, scale=1)
@example(users=[[[1, 2, 2, 2], [2, 3], [0]], [[3]], [[6, 5], [5, 4], [4, 6]]], most=2, scale=GRID)
def test_sums_of_items_are_exact(kind: Kind, users: list[Baskets], most: int, scale: int) -> None:
    weights = some_weights(most + 1)
    for data, units in every_form(users):
        items = kind.items(data)
        expected = weighted([first_items(unit, most) for unit in units], weights.tolist(), 7)
        assert items.sums(weights).tolist() == expected
        expected = leveled([most_repeated(unit, most) for unit in units], scale, 7)
        assert items.level_sums(scale, most).tolist() == expected


def every_form(users: Sequence[Baskets]) -> list[tuple[Transactions, Sequence[Baskets]]]:
    """The same baskets by user, by user whose baskets count together, and by basket."""
    baskets = [basket for user in users for basket in user]
    by_basket = of_baskets(baskets), [[basket] for basket in baskets]
    return [(of_users(users), users), (together(users), users), by_basket]


@every_kind
@pytest.mark.parametrize("united", [False, True])
def test_forms_of_one_label_are_one_item_of_a_catalogue(kind: Kind, united: bool) -> None:
    """A basket with 7 and "7" has it once, and baskets with either as often as there are."""
    users: list[list[list[Item]]] = [[[7, "7", "tea"], ["7"], [7, "zz"]], [["tea", "zz"], ["zz"]]]
    read = read_transactions([basket for user in users for basket in user])
    data = replace(read, unit_offsets=np.array([0, 3, 5]), together=united)
    items = kind.items(data, Catalogue(read_catalogue([7, "tea", "jam"])))
    sums = dict(zip(items.named([[0, 1, 2]])[0], items.level_sums(GRID, 5).tolist(), strict=True))
    assert sums == {7: isqrt(GRID**2 * 3 // 4), "jam": 0, "tea": isqrt(GRID**2 // 4) + GRID}
    assert items.level_sums(GRID, 1).tolist() == [GRID, 0, GRID]
    numbered = items.among(np.arange(3))
    sets = np.array([[0, 1], [0, 2], [1, 2]], np.int32)
    for some in (numbered.pair_level_sums(GRID), numbered.level_sums(sets, GRID)):
        assert sorted(some.tolist()) == [0, 0, GRID]


@every_kind
def test_a_catalogue_has_items_that_nobody_has_and_no_others(kind: Kind) -> None:
    transactions = read_transactions([["b", 3, "zz", 1], ["b", "a"], ["zz"]])
    items = kind.items(transactions, Catalogue(read_catalogue(["b", 1, 2, "a"])))
    assert items.named([range(4)]) == [(1, 2, "a", "b")]
    assert items.sums(np.array([0, 10, 1])).tolist() == [1, 0, 1, 2]
    # The first item in label order: 1 and a; zz is not listed, and takes no place.
    assert items.sums(np.array([0, 10])).tolist() == [10, 0, 10, 0]
    cells = [np.array([[0, 2], [0, 1]], dtype=np.int32)]
    pair = items.among(np.array([3, 1, 0])).sums(cells, np.ones(3, np.int64))
    assert pair.tolist() == [1, 0]


@every_kind
@pytest.mark.parametrize(
    "times", [[2**31 - 1, 2**31 - 2, 1, 2**31 - 1], [2**31 - 1] * 4, [2**30, 3, 2**29 + 1, 1]]
)
def test_very_many_baskets_are_exact(kind: Kind, times: list[int], monkeypatch: Any) -> None:
    """Told how often they repeat what they have: such baskets fit in no memory here."""
    repeated_items = portable_candidates.repeated_items

    def very_often(transactions: Transactions, number_of: Any) -> tuple[Any, Any, Any]:
        starts, items, repeats = repeated_items(transactions, number_of)
        often = {int(number_of[code]): count for code, count in enumerate(times)}
        return starts, items, np.array([often[i] for i in items.tolist()], dtype=repeats.dtype)

    for module in ("portable", *(["compiled"] if "compiled" in COUNTERS else [])):
        monkeypatch.setattr(f"fim_private.counting.{module}.repeated_items", very_often)
    pairs = [(a, b) for b in range(4) for a in range(b)]
    less = {cell: min(times[a], times[b]) for cell, (a, b) in enumerate(pairs)}
    among = kind.among(together([[[0, 1], [2, 3]]]), range(4))
    assert among.pair_level_sums(GRID).tolist() == leveled([less], GRID, 6)
    sets = np.array(pairs, dtype=np.int32)
    assert among.level_sums(sets, GRID).tolist() == leveled([less], GRID, 6)
    single = np.arange(4, dtype=np.int32)[:, None]
    assert among.level_sums(single, GRID).tolist() == leveled([dict(enumerate(times))], GRID, 4)


@every_kind
@given(
    users=random_users,
    candidates=random_candidates,
    sets=random_sets,
    order=order_of_items,
    items=st.integers(0, 7),
    scale=scales,
)
@example(users=[], candidates=[(0,), (1, 2)], sets=[], order=[*range(7)], items=7, scale=1)
@example(users=[[[0, 1]], []], candidates=[], sets=[(0, 1)], order=[*range(7)], items=0, scale=GRID)
@example(
    users=[[[0, 1, 2], [0, 1], [2], [2], [0]]],
    candidates=[(0,), (0, 1), (0, 1, 2), (1,), (0, 2)],
    sets=[(0, 1, 2), (0, 1, 3)],
    order=[*range(7)],
    items=3,
    scale=GRID,
)
@example(
    users=[[[0, 1], [1, 2], [0, 1, 1]], [[0, 1, 2]], []],
    candidates=[(0, 1, 2), (0, 1), (1, 2)],
    sets=[(1,), (0,)],
    order=[*range(6, -1, -1)],
    items=2,
    scale=GRID,
)
@example(
    users=[[[*range(7)]]],
    candidates=[tuple(range(7)), (6,), (5, 6)],
    sets=[(1, 2)],
    order=[*range(7)],
    items=7,
    scale=2,
)
def test_sums_and_numbers_of_candidates_equal_brute_force(
    kind: Kind, users: Any, candidates: Any, sets: Any, order: list[int], items: int, scale: int
) -> None:
    rows, weights = by_size(candidates, order), some_weights(len(candidates) + 1)
    [of_one_size] = by_size(sets, order) or [np.empty((0, 3), dtype=np.int32)]
    # in the order of their cells
    pairs = [(order[a], order[b]) for b in range(items) for a in range(b)]
    for data, units in every_form(users):
        united = [[[item for basket in unit for item in basket]] for unit in units]
        held = held_by(united if data.together else units, candidates)
        source, numbers = kind.among(data, order), Counter(map(len, held))
        expected = weighted(held, weights.tolist(), len(candidates))
        assert source.sums(rows, weights).tolist() == expected
        assert source.units_with(rows).tolist() == [numbers[k] for k in range(len(candidates) + 1)]
        for cells, found in (
            (sets, source.level_sums(of_one_size, scale)),
            (pairs, kind.among(data, order[:items]).pair_level_sums(scale)),
        ):
            times = [repeated(unit, cells, together=data.together) for unit in units]
            assert found.tolist() == leveled(times, scale, len(cells))


def generated(
    units: int, *, seed: int, by_user: bool = True, items: int = 60, length: int = 12
) -> Transactions:
    """Users of 0 to 7 baskets, three of them of hundreds; some items are far more frequent."""
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 8, units) if by_user else np.ones(units, dtype=np.int64)
    if by_user:
        counts[:: units // 3 + 1] = 300
    lengths = generator.integers(0, length, int(counts.sum()))
    drawn = (items * generator.random(int(lengths.sum())) ** 3).astype(np.int64)
    baskets = [basket.tolist() for basket in np.split(drawn, np.cumsum(lengths)[:-1])]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return replace(read_transactions(baskets), unit_offsets=offsets if by_user else None)


def generated_candidates(items: int, *, seed: int) -> list[NDArray[np.int32]]:
    """Items, pairs, and larger sets most of which begin like one another."""
    draw = np.random.default_rng(seed)
    candidates = {
        *(tuple(sorted(draw.choice(items, 3 + n % 4, replace=False).tolist())) for n in range(120)),
        *combinations(range(9), 3),
        *((0, 1, 2, k) for k in range(3, items)),
        *((k,) for k in range(0, items, 3)),
        *((a, b) for a in range(5) for b in range(a + 1, items)),
    }
    return by_size(sorted(candidates, key=lambda row: (len(row), row)), range(items))


@pytest.fixture(scope="module", params=["users", "users together", "baskets"])
def large(request: pytest.FixtureRequest) -> Transactions:
    made = generated(6_000, seed=3, by_user=request.param != "baskets")
    return replace(made, together=request.param == "users together")


@every_kind
def test_kinds_agree_on_larger_data(kind: Kind, large: Transactions, monkeypatch: Any) -> None:
    """Threads share it, and numpy cuts it into many batches."""
    candidates = generated_candidates(60, seed=4)
    width = sum(map(len, candidates))
    assert len(set(map(len, candidates))) > 2

    def counted(kind: Kind) -> list[NDArray[np.int64]]:
        source = kind.items(large)
        labels = np.random.default_rng(5).permutation(source.named([range(60)])[0]).tolist()
        among = kind.among(large, labels)
        return [
            source.sums(some_weights(20)),
            source.level_sums(GRID, 1_000),
            source.level_sums(777, 4),
            among.pair_level_sums(GRID),
            *(among.level_sums(sets, GRID) for sets in candidates),
            among.sums(candidates, some_weights(width + 1)),
            among.units_with(candidates),
        ]

    expected = counted(NUMPY)
    # A basket need not have five or six of the items.
    assert sum(array.any() for array in expected) >= len(expected) - 2
    if kind == NUMPY:
        monkeypatch.setattr(portable_candidates, "_BATCH", 1_000)
    for array, other in zip(counted(kind), expected, strict=True):
        assert array.dtype == np.int64
        np.testing.assert_array_equal(array, other)


@every_kind
def test_sums_beyond_what_floats_hold_are_exact(kind: Kind) -> None:
    transactions = of_baskets([[0, 1, 2]] * 3 + [[0, 1]])
    large = 2**60 + 1
    weights = np.array([0, 1, large, large])
    assert kind.items(transactions).sums(np.array([0, 1, 1, large])).tolist()[0] == 3 * large + 1
    among = kind.among(transactions, range(3))
    assert among.sums(by_size([(0, 1), (2,)]), weights[:3]).tolist() == [3 * large + 1, 3 * large]


@every_kind
def test_more_work_than_allowed_is_refused(kind: Kind, large: Transactions) -> None:
    candidates = generated_candidates(60, seed=4)
    assert candidates[-1].shape[1] == 6
    labels = [large.vocabulary.label(code) for code in range(60)]
    little = kind.among(large, labels, max_work=10)
    counts: list[tuple[int, Callable[[], object]]] = [
        (2, lambda: little.pair_level_sums(GRID)),
        (6, lambda: little.level_sums(candidates[-1], GRID)),
        (6, lambda: little.units_with(candidates)),
    ]
    for size, count in counts:
        said = f"itemsets of size {size} in these baskets took more than max_work = 10 steps"
        with pytest.raises(WorkLimitError, match=said):
            count()
    assert kind.among(large, labels, max_work=10**9).units_with(candidates).sum() == 6_000


@every_kind
def test_progress_is_shown_and_may_end_the_count(kind: Kind, monkeypatch: Any) -> None:
    shown: list[float] = []

    def progress(fraction: float) -> None:
        shown.append(fraction)
        raise KeyboardInterrupt

    monkeypatch.setattr("fim_private.counting.work._PROGRESS_SECONDS", 0.0)
    data = generated(10_000, seed=1, by_user=False, length=30)
    among = kind.among(data, [data.vocabulary.label(code) for code in range(60)], progress=progress)
    with pytest.raises(KeyboardInterrupt):
        among.pair_level_sums(GRID)
    with pytest.raises(KeyboardInterrupt):
        among.level_sums(generated_candidates(60, seed=4)[-1], GRID)
    assert len(shown) >= 2
    assert all(0 < fraction <= 1 for fraction in shown)
