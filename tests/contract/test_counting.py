"""Every counter has the right spectrum, lazily, and can name every itemset of a level.

Every counter that is built is tested, the compiled one with 1, 2 and 8 threads.
The oracle is brute force on small baskets.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from naming import Chooses, named, needs_kernel, of_users
from oracles import brute_force_supports, brute_force_user_supports, spectrum_of
from real_data import CORNER_SHOP

import fim_private as fim
from fim_private.counting import Effort, LocalSource, itemset_spectrum, portable
from fim_private.counting import source as counting_source
from fim_private.counting.source import Catalogue, CountedItemsets, LocalItems, counter_for
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError, WorkLimitError
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_catalogue, read_transactions
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import SupportSpectrum, union

CountItemsets = Callable[[Transactions, int], SupportSpectrum]
Baskets = list[list[Item]]


every_counter = pytest.mark.parametrize(
    "count",
    [
        *(
            pytest.param(
                partial(itemset_spectrum, counter="compiled", effort=Effort(threads=threads)),
                marks=[needs_kernel, *([] if threads == 2 else [pytest.mark.full])],
                id=f"kernel, {threads} threads",
            )
            for threads in (1, 2, 8)
        ),
        pytest.param(partial(itemset_spectrum, counter="numpy"), id="numpy"),
    ],
)


items_of_few_kinds: st.SearchStrategy[Item] = st.one_of(
    st.integers(0, 5), st.sampled_from(["a", "b", "é", "39x"]), st.sampled_from([-7, 2**40])
)
random_baskets = st.lists(st.lists(items_of_few_kinds, max_size=7), max_size=25)
sizes = st.integers(1, 5)


@every_counter
@settings(max_examples=60)
@given(
    users=st.lists(st.lists(st.lists(items_of_few_kinds, max_size=7), max_size=4), max_size=12),
    size=sizes,
    batch=st.sampled_from([1, 2, 7, 1 << 21]),
)
@example(users=[], size=2, batch=1)
@example(users=[[], [[], []]], size=1, batch=1)
@example(users=[[[1, 1, 1]]], size=2, batch=1)
@example(users=[[[1, 2, 3]]] * 9, size=3, batch=1)
@example(users=[[["b", "a"], ["a", "b", "b"]], [[], [0]]], size=2, batch=1)
@example(users=[[[1, 2], [1, 2]], [[1], [2]]], size=1, batch=1)
@example(users=[[[1, 2, 3], [3, 2, 1], []], [], [[1, 2, 3]]], size=3, batch=1)
def test_the_spectrum(count: CountItemsets, users: list[Baskets], size: int, batch: int) -> None:
    """Of baskets, and of users, who count once. numpy cuts its work into batches."""
    baskets = [basket for user in users for basket in user]
    for data, expected in (
        (read_transactions(baskets), brute_force_supports(baskets, size)),
        (of_users(users), brute_force_user_supports(users, size)),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(portable, "_BATCH", batch)
            spectrum = count(data, size)
            assert list(spectrum.levels()) == spectrum_of(expected)
            assert spectrum.universe_size is None
            assert named(spectrum) == expected


@every_counter
@pytest.mark.parametrize("size", [2, 3])
def test_users_with_few_and_many_baskets_side_by_side(count: CountItemsets, size: int) -> None:
    """The kernel counts a unit's pairs in other ways for one basket, for up to 64 and for more."""
    draw = np.random.default_rng(7)
    users: list[Baskets] = [
        [sorted(set(draw.integers(0, 30, 5).tolist())) for _ in range(baskets)]
        for baskets in (1, 64, 65, 2, 63, 200, 1, 3, 66)
    ]
    expected = spectrum_of(brute_force_user_supports(users, size))
    assert list(count(of_users(users), size).levels()) == expected


@every_counter
@settings(max_examples=20)
@given(baskets=random_baskets, size=sizes, order=st.randoms(use_true_random=False))
@pytest.mark.one_in(3)
def test_no_order_matters(count: CountItemsets, baskets: Baskets, size: int, order: Any) -> None:
    shuffled = [order.sample(basket, len(basket)) for basket in order.sample(baskets, len(baskets))]
    spectrum = count(read_transactions(baskets), size)
    other = count(read_transactions(shuffled), size)
    for support, multiplicity in spectrum.levels():
        for number in range(multiplicity):  # the same random number names the same itemset
            names = [s.sample_itemsets([support], Chooses(number))[0] for s in (spectrum, other)]
            assert names[0] == names[1]


@every_counter
def test_a_size_or_a_level_that_there_is_not_is_refused(count: CountItemsets) -> None:
    data = read_transactions([[1, 2], [2, 1]])
    wrong: list[Any] = [0, -1, True, 1.0, "2", None]
    for size in wrong:
        with pytest.raises(ParameterError, match=r"^size must be a whole number of at least 1"):
            count(data, size)
    spectrum = count(data, 2)
    assert list(spectrum.levels()) == [(2, 1)]
    for level in (0, 1, 3, -1):
        with pytest.raises(ParameterError, match=r"level|universe_size"):
            spectrum.sample_itemsets([level], Randomness())


def over_catalogue(baskets: Baskets, catalogue: Sequence[Item], size: int) -> SupportSpectrum:
    source = LocalSource(read_transactions(baskets))
    return source.spectrum(size, Catalogue(read_catalogue(catalogue)))


@given(
    baskets=random_baskets,
    catalogue=st.lists(items_of_few_kinds, min_size=1, max_size=8, unique=True),
    size=st.integers(1, 4),
)
@example(baskets=[], catalogue=["b", "a"], size=2)
@example(baskets=[[1, 2]], catalogue=["b", "a"], size=2)
@example(baskets=[[1, 2]], catalogue=[1, 2], size=2)
@example(baskets=[[1, 2]], catalogue=[1, 2], size=3)
def test_catalogue_spectrum_is_brute_force(baskets: Baskets, catalogue: Any, size: int) -> None:
    spectrum = over_catalogue(baskets, catalogue, size)
    # Items outside the catalogue are dropped; then each candidate has a support, 0 for most.
    listed = [[item for item in basket if item in catalogue] for basket in baskets]
    expected, candidates = brute_force_supports(listed, size), math.comb(len(catalogue), size)
    assert spectrum.universe_size == candidates
    assert list(spectrum.levels()) == spectrum_of(expected)
    assert spectrum.zero_multiplicity() == candidates - len(expected)
    assert named(spectrum) == expected


def test_a_catalogue_may_hold_10_to_the_60_candidates() -> None:
    spectrum = over_catalogue([[1, 2, 3, "x"]], list(range(1_000_000)), 12)
    assert spectrum.universe_size == math.comb(1_000_000, 12) > 10**60
    assert spectrum.zero_multiplicity() == spectrum.universe_size
    name = spectrum.sample_itemsets([0], Randomness())[0]
    assert len(set(name)) == 12
    assert name == tuple(sorted(name, key=int))
    assert set(name) <= set(range(1_000_000))


@every_counter
@pytest.mark.parametrize(("user", "support"), [(None, 8_692), ("customer", 5_197)])
def test_the_top_pair_of_the_shop(count: CountItemsets, user: str | None, support: int) -> None:
    spectrum = count(read_transactions(CORNER_SHOP, user=user), 2)
    assert next(spectrum.levels()) == (support, 1)
    assert spectrum.sample_itemsets([support], Randomness())[0] == ("semi-skimmed milk", "tea bags")


@pytest.mark.parametrize(
    ("baskets", "levels"),
    [
        ([range(300)] * 3 + [range(5, 301)], [(3, 1)]),
        ([range(258)] * 2 + [range(1, 259)], [(2, 1), (1, 1)]),
    ],
)
def test_long_itemsets_of_few_baskets_are_counted(baskets: list[range], levels: Any) -> None:
    """Longer than what the kernel takes, and than Python recurses."""
    assert [*itemset_spectrum(read_transactions(baskets), len(baskets[0])).levels()] == levels


@pytest.mark.parametrize("size", [257, 1000])
def test_long_itemsets_of_longer_baskets_are_refused_at_once(size: int) -> None:
    data = read_transactions([range(2000)] * 10)
    said = "itemsets of more than 256 items takes too much memory"
    with pytest.raises(WorkLimitError, match=said):
        next(itemset_spectrum(data, size).levels())
    assert list(itemset_spectrum(data, 2001).levels()) == []


# -------------------- a spectrum by itself


@pytest.mark.parametrize("wrong", [0, 1.5, "3", True])
def test_from_supports_refuses_what_is_no_positive_whole_number(wrong: Any) -> None:
    with pytest.raises(ParameterError, match=r"^supports must be a whole number of at least 1"):
        SupportSpectrum.from_supports([4, wrong])
    with pytest.raises(ParameterError, match=r"^universe_size must be a whole number of at least"):
        SupportSpectrum.from_supports([4], universe_size=wrong)


def test_union_adds_up_levels_and_names_from_each_part() -> None:
    def named(label: str) -> Any:
        return lambda wanted, _: [[(label, s, at) for at in range(many)] for s, _, many in wanted]

    one = SupportSpectrum([(5, 2), (3, 1)], universe_size=10, sampler=named("one"))
    two = SupportSpectrum([(7, 1), (5, 1)], universe_size=5, sampler=named("two"))
    both = union([one, two])
    assert list(both.levels()) == union([one, two]).all_levels() == [(7, 1), (5, 3), (3, 1)]
    assert both.universe_size == 15
    assert both.zero_multiplicity() == 10
    names = both.sample_itemsets([7, 5, 5, 5, 3], Randomness())
    assert names[0] == ("two", 7, 0)
    assert sorted(names[1:4]) == [("one", 5, 0), ("one", 5, 1), ("two", 5, 0)]
    assert union([one, SupportSpectrum([(2, 1)])]).universe_size is None
    drawn = [both.sample_itemsets([5], Randomness.seeded(seed))[0][0] for seed in range(300)]
    assert 160 < drawn.count("one") < 240  # 2 in 3, five standard deviations


# -------------------- itemsets that no basket contains are drawn uniformly, in reasonable time


def candidates_of(transactions: Transactions, size: int) -> CountedItemsets:
    items, counter = LocalItems(transactions), counter_for(transactions, size, 1)
    return CountedItemsets(items, size, counter, len(transactions.vocabulary))


baskets_of = st.lists(st.sets(st.integers(0, 7), max_size=8).map(sorted), max_size=6)


@given(
    baskets=baskets_of,
    size=st.integers(1, 3),
    share=st.floats(0, 1),
    listed=st.booleans(),
    seed=st.integers(0, 99),
)
def test_they_are_different_and_in_no_basket(
    baskets: list[list[int]], size: int, share: float, listed: bool, seed: int
) -> None:
    catalogue = Catalogue(read_catalogue(range(8)))
    transactions = LocalSource(read_transactions(baskets)).items(catalogue).transactions
    held = [{*basket} for basket in baskets]
    free = {i for i in combinations(range(8), size) if not any({*i} <= own for own in held)}
    number = round(share * len(free))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting_source, "_WORTH_DRAWING", 1 if listed else 1 << 30)
        candidates = candidates_of(transactions, size)
        found = candidates.unsupported(len(free), number, Randomness.seeded(seed))
    assert len(set(found)) == len(found) == number
    assert {*found} <= free


@pytest.mark.parametrize("number", [1, 3, 7])  # drawn one by one, by lists, and from a list of all
def test_each_is_as_likely(number: int) -> None:
    source = LocalSource(read_transactions([[0, 1, 2]]))
    transactions = source.items(Catalogue(read_catalogue(range(5)))).transactions
    assert math.comb(5, 2) - 3 == 7
    candidates = candidates_of(transactions, 2)
    trials, drawn = 2_000, Counter[tuple[int, ...]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting_source, "_WORTH_DRAWING", 3)
        for seed in range(trials):
            drawn.update(candidates.unsupported(7, number, Randomness.seeded(seed))[:1])
    expected = trials / 7
    # of 6 degrees of freedom: 1 in 1,000
    assert sum((drawn[each] - expected) ** 2 / expected for each in drawn) < 22.5
    assert len(drawn) == 7


def test_all_of_a_catalogue_may_be_wanted() -> None:
    baskets = [[item] for item in range(150)] * 20
    asked: dict[str, Any] = {
        "size": 2,
        "top": math.comb(150, 2),
        "mechanism": "exponential",
        "catalogue": range(150),
        "seed": 1,
    }
    release = fim.mine(baskets, supports=False, **asked)
    assert len({itemset.items for itemset in release.itemsets}) == math.comb(150, 2)


# -------------------- blank baskets are counted everywhere, and looked for nowhere


ASKED_OF_BLANK: list[dict[str, Any]] = [
    {"size": 1},
    {"size": 2, "mechanism": "large-margin"},
    {"size": "1-3", "top": 5, "supports": True},
    {"size": 2, "top": 5, "rules": True},
    {"min_support": 0.001, "size": "1-2"},
    {"catalogue": ["a", "b", "c", "d"], "delta": 0, "mechanism": "exponential"},
    {"min_basket": 2, "exclude": ["a"], "neighbors": "replace-one"},
]


def many(baskets: list[list[str]], blank: int) -> tuple[Transactions, Transactions]:
    """The same baskets, of which those without items have a place, or are only counted."""
    data = read_transactions(baskets)
    return read_transactions(baskets + [[]] * blank), replace(data, blank=blank)


@pytest.mark.parametrize("counter", [*counting_source.COUNTERS])
@pytest.mark.parametrize("asked", ASKED_OF_BLANK, ids=str)
def test_many_blank_baskets(asked: Any, counter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting_source, "active_counter", lambda: counter)
    for baskets in ([], [["a", "b", "c"]] * 900 + [["b", "c"]] * 700 + [["d"]] * 300):
        placed, counted = many(baskets, 70_000)
        mined = [fim.mine(data, **asked, seed=3).to_dict() for data in (counted, placed)]
        assert mined[0] == mined[1]
        given = [["a", "b"], ["d"], ["e"]]
        assert fim.count(counted, given, seed=3) == fim.count(placed, given, seed=3)


def test_nothing_but_blank_baskets_beyond_all_arrays() -> None:
    """Their number may not be taken for a place in the arrays: this read far outside of them."""
    beyond = replace(read_transactions([[]]), blank=10**9)
    release = fim.mine(beyond, size=1, neighbors="replace-one", seed=1)
    assert (release.units, len(release)) == (10**9 + 1, 0)
    noisy = fim.mine(beyond, size=1, count=True, seed=1)
    assert noisy.units == pytest.approx(10**9 + 1, abs=400)
    assert len(noisy) == 0
