"""Which itemsets are marked as doubtful, and how far picks fall short: what a release says, and whether it holds."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fim_private as fim
from fim_private.counting.source import LocalSource
from fim_private.levelwise.counts import Counted, doubtful
from fim_private.levelwise.discovery import CandidatePool, Level
from fim_private.mechanisms import (
    Choosing,
    Distance,
    Exponential,
    LargeMargin,
    LimitedDomain,
    MaxOfLaplaces,
    PermuteAndFlip,
    TightMargin,
)
from fim_private.mechanisms.top_k import shortfall
from fim_private.output import Screen, render_table
from fim_private.reading.purchases import read_transactions
from fim_private.spectrum import SupportSpectrum

# ------------------------------------------------------------------------------------- what levelwise counted


def sets(*rows: tuple[int, ...], size: int) -> Any:
    return np.array(rows, dtype=np.int32).reshape(-1, size)


def pairs(*estimates: float, deviation: float = 10.0) -> Counted:
    """So many pairs {0, 1}, {0, 2}, … that were counted twice."""
    own = sets(*((0, n) for n in range(1, len(estimates) + 1)), size=2)
    return counted_of(CandidatePool((own,), np.array(estimates, dtype=np.float64)), deviation)


def counted_of(pool: CandidatePool, deviation: float) -> Counted:
    """A pool of which nothing was clear after the first count, and no prediction took noise away."""
    noise = np.full(len(pool), deviation)
    return Counted(pool, noise, noise, np.zeros(len(pool), dtype=np.bool_))


def levels(items: float, pair: float, *, deviation: float = 0.0, weighed: float = 0.0) -> dict[int, Level]:
    """Nine items and the pairs of the first with all others. Items and pairs up to these weights were lost."""
    nine, eight = sets(*((n,) for n in range(9)), size=1), sets(*((0, n) for n in range(1, 9)), size=2)
    return {
        1: Level(nine, np.array([1000.0] * 9), deviation, lost=items),
        2: Level(eight, np.array([100.0] * 7 + [50.0]), deviation, weighed, lost=pair),
    }


def first_pool(found: dict[int, Level], *sizes: int) -> CandidatePool:
    return CandidatePool.of_levels(found, sizes, [99] * len(sizes))


def marks(counted: Counted, chosen: list[int], found: dict[int, Level], *, union: bool = False) -> list[bool]:
    pool = first_pool(found, *(own.shape[1] for own in counted.pool.sets))
    return list(doubtful(counted, np.array(chosen, dtype=np.intp), found, pool, union=union).tolist())


LITTLE_LOST = levels(1.0, 1.0)


def test_what_leads_the_rest_by_less_than_the_noise_of_two_counts_is_doubtful() -> None:
    edge = 100 + math.sqrt(2) * 1.96 * 10
    assert marks(pairs(500, edge + 0.1, edge - 0.1, 100), [0, 1, 2], LITTLE_LOST) == [False, False, True]
    # Nothing was left out, or only what is far below.
    assert marks(pairs(500, 130, 120), [0, 1, 2], LITTLE_LOST) == [False, False, False]
    assert marks(pairs(500, 130, -1e3), [0, 1], LITTLE_LOST) == [False, False]
    assert marks(pairs(500, 130, 120), [], LITTLE_LOST) == []


def test_what_the_first_count_found_has_the_noise_of_that_count() -> None:
    counted = pairs(500, 150, 100)
    noisier = replace(counted, noise=np.array([10.0, 40.0, 10.0]), clear=np.array([False, True, False]))
    assert marks(counted, [0, 1], LITTLE_LOST) == [False, False]
    assert marks(noisier, [0, 1], LITTLE_LOST) == [False, True]
    # It is among the best, whatever the second count gave the others.
    assert noisier.best(1, union=True).tolist() == [1]


def test_what_an_itemset_that_was_lost_can_have_puts_others_in_doubt() -> None:
    """Pairs up to a weight of 50 were lost, and a weight of 1 stands for 5 units here: one of 249 may be among them."""
    found = levels(1.0, 50.0)
    counted = pairs(*[500.0] * 7, 249.0)
    everything = [*range(8)]
    assert marks(counted, everything, found) == [False] * 7 + [True]
    more = counted_of(CandidatePool(counted.pool.sets, np.where(np.arange(8) == 7, 270.0, 500.0)), 10.0)
    assert marks(more, everything, found) == [False] * 8
    noisier = {size: replace(level, deviation=10.0) for size, level in found.items()}
    assert marks(more, everything, noisier) == [False] * 7 + [True]
    nothing_lost = {size: replace(level, lost=-math.inf) for size, level in noisier.items()}
    assert marks(counted, everything, nothing_lost) == [False] * 8


def test_an_item_that_was_not_found_takes_its_pairs_with_it() -> None:
    """Items up to 60 were lost. With √2 W₂/W₁ = 3 a unit holds 9 items, and a weight of 1 stands for 3 units: 180."""
    found = levels(60.0, 1.0, weighed=3 * 9_000 / math.sqrt(2))
    counted = pairs(500, 179, 181)
    assert marks(counted, [0, 1, 2], found) == [False, True, False]


def test_sizes_are_ranked_each_by_itself_or_together() -> None:
    singles = sets((0,), (1,), size=1)
    pool = CandidatePool((singles, sets((0, 1), (0, 2), size=2)), np.array([900.0, 450.0, 440.0, 100.0]))
    both = counted_of(pool, 10.0)
    assert marks(both, [0, 2], LITTLE_LOST) == [False, False]
    assert marks(both, [0, 2], LITTLE_LOST, union=True) == [False, True]


def test_a_level_knows_up_to_which_weight_it_lost_others() -> None:
    level = Level(sets((0,), (1,), (2,), size=1), np.array([9.0, 3.0, 5.0]), 1.0)
    assert level.lost == level.best(3).lost == level.first(3).lost == level.best(99).lost == -math.inf
    assert (level.best(2).lost, level.best(1).lost) == (5.0, 9.0)
    assert level.best(2).best(2).lost == 5.0
    assert replace(level, lost=7.0).best(2).lost == 7.0
    assert replace(level, lost=1.0).best(2).lost == 5.0


def test_where_everything_was_found_and_kept_nothing_is_in_doubt() -> None:
    for baskets in ([["bread", "butter"]] * 2000, [["milk", "tea"]] * 900 + [["jam", "tea"]] * 500):
        for seed in range(5):
            release = fim.mine(baskets, mechanism="levelwise", top=3, seed=seed)
            assert release
            assert not any(itemset.doubtful for itemset in release)


# ---------------------------------------------------------------------------------------------- whole releases

CORNER_SHOP = replace(read_transactions("datasets/corner_shop.parquet"), read_as=None)  # no word of its customers


def least_sought(sizes: tuple[int, ...], top: int) -> int:
    left = top
    for support, many in LocalSource(CORNER_SHOP).spectrum(sizes).levels():
        left -= many
        if left <= 0:
            return support
    raise AssertionError


def true_supports(release: fim.Release) -> list[int]:
    exact = fim.count(CORNER_SHOP, release, epsilon=1e8, seed=1)
    return [itemset.support or 0 for itemset in exact]


@pytest.mark.parametrize(
    ("asked", "least_sure"),
    [
        ({"top": 20}, 0.8),
        ({"top": 20, "supports": True, "epsilon": 0.2}, 0.5),
        ({"top": 10, "mechanism": "limited-domain", "supports": True}, 0.4),
        ({"top": 10, "mechanism": "tight-margin", "supports": True, "epsilon": 4}, 0.4),
    ],
)
@pytest.mark.one_in(4)
def test_what_is_not_marked_is_among_the_most_frequent(asked: dict[str, Any], least_sure: float) -> None:
    cut = least_sought((2,), asked["top"])
    sure, right, all_, wrong_and_marked = 0, 0, 0, 0
    for seed in range(12):
        release = fim.mine(CORNER_SHOP, seed=seed, **asked)
        for itemset, support in zip(release, true_supports(release), strict=True):
            assert itemset.doubtful is not None
            all_ += 1
            sure += not itemset.doubtful
            right += not itemset.doubtful and support >= cut
            wrong_and_marked += itemset.doubtful and support < cut
    assert sure >= least_sure * all_
    assert right >= 0.98 * sure
    if asked["top"] == 20:  # two pairs nearly tie there
        assert wrong_and_marked >= 1


@pytest.mark.full
def test_where_items_are_lost_all_are_doubtful() -> None:
    """Of sixty planted pairs no item is found at so small an ε: what comes out is none of them, and says so."""
    random = np.random.default_rng(5)
    often, planted = 1 / np.arange(10, 310), np.linspace(2, 1, 60)
    baskets = []
    for _ in range(30_000):
        both = random.choice(60, 2, replace=False, p=planted / planted.sum())
        others = random.choice(300, 6, replace=False, p=often / often.sum())
        baskets.append([*(f"pair {n} {side}" for n in both for side in "ab"), *(f"item {n}" for n in others)])
    data = read_transactions(baskets)
    little, enough = (fim.mine(data, top=10, epsilon=epsilon, seed=1) for epsilon in (0.1, 1))
    wrong = [itemset for itemset in little if not str((itemset.items or ("",))[0]).startswith("pair")]
    assert len(wrong) >= 5
    assert all(itemset.doubtful for itemset in little)
    assert sum(not itemset.doubtful for itemset in enough) >= 5
    assert all(str((itemset.items or ("",))[0]).startswith("pair") for itemset in enough)


def test_picks_without_supports_and_single_ones_have_no_marks() -> None:
    shop = [["milk", "tea"]] * 900 + [["jam", "rye"]] * 500
    asked: list[dict[str, Any]] = [
        {"mechanism": "limited-domain", "top": 2},
        {"mechanism": "limited-domain", "supports": True},
        {"mechanism": "choosing", "max_basket": 2, "top": 2, "supports": True},
    ]
    for options in asked:
        assert {itemset.doubtful for itemset in fim.mine(shop, **options)} == {None}


# ----------------------------------------------------------------------------------------------- how it is told


def test_marks_are_told_in_the_table_in_json_and_in_python() -> None:
    release = fim.mine(CORNER_SHOP, top=20, seed=1)
    marked = [itemset for itemset in release if itemset.doubtful]
    assert 0 < len(marked) < 20
    table = render_table(release, Screen())
    assert sum(" ? " in line for line in table.splitlines() if line.startswith("│")) == len(marked)
    legend = "? may not be among the 20 most frequent: by the noise alone, what was left out, or lost on the way, may"
    assert legend in table
    assert legend in repr(release)
    told = [itemset["doubtful"] for itemset in json.loads(release.to_json())["itemsets"]]
    assert told == [itemset.doubtful for itemset in release]
    assert "doubtful" not in fim.mine(CORNER_SHOP, seed=1).to_json()


def test_where_nothing_is_in_doubt_it_says_so() -> None:
    release = fim.mine(CORNER_SHOP, top=2, seed=1)
    assert [itemset.doubtful for itemset in release] == [False] * 2
    assert release.certainty == (
        "Each of them leads what was left out by more than the noise explains, if long baskets hold much the same "
        "items as short ones: it is among the 2 most frequent.",
    )
    of_each_size = fim.mine(CORNER_SHOP, top=2, size="1-2", seed=1)
    assert of_each_size.certainty[0].endswith("among the 2 most frequent of their size.")


def test_picks_say_that_chance_decides_and_how_far() -> None:
    assert fim.mine(CORNER_SHOP, neighbors="replace-one", seed=1).shortfall == 25  # 2 (ln 10,000 + ln 20)
    one = fim.mine(CORNER_SHOP, seed=1)
    assert one.shortfall == 13  # half as much: every support moves the same way
    assert one.certainty == (
        "Picked by lot, the likelier the more support: with 95 % probability none that was passed over has over "
        "13 baskets more.",
    )
    assert fim.mine(CORNER_SHOP, mechanism="distance").certainty == ("None that was passed over has more support.",)
    chosen = fim.mine(CORNER_SHOP, mechanism="choosing", max_basket=9)
    assert chosen.shortfall is None
    assert chosen.certainty == (
        "Picked by lot, the likelier the more support: what nearly ties is a matter of chance.",
    )
    assert fim.count(CORNER_SHOP, [["bananas"]]).certainty == ()
    assert fim.mine([["a", "b"]]).certainty == ()


# ------------------------------------------------------------------------------------------- how far picks fall short

MANY = 500
KNOWN = [Exponential(1.0), PermuteAndFlip(0.5), MaxOfLaplaces(1.0), LimitedDomain(1.0, 1e-3, max_rank=MANY)]
UNKNOWN = [LimitedDomain(1.0, 1e-3, max_rank=MANY), TightMargin(1.0, 1e-3, max_rank=MANY), LargeMargin(1.0, 1e-3)]


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    ("mechanism", "known"), [*((one, True) for one in KNOWN), *((one, False) for one in UNKNOWN)], ids=str
)
def test_nothing_that_was_passed_over_has_much_more(mechanism: Any, known: bool, neighbors: str) -> None:
    """The worst case: one leader, and all others tied far enough below. Exactly, from the output distribution."""
    changed = type(mechanism)(**{**vars(mechanism), "neighbors": neighbors})
    candidates = MANY if known else None
    far = shortfall(changed, candidates, 1)
    assert far is not None

    def passed_over(distance: int) -> float:
        levels_ = [(5000, 1), (5000 - distance, MANY - 1)]
        outcomes = changed.distribution(SupportSpectrum(levels_, universe_size=candidates))
        return float(outcomes.probabilities[outcomes.levels == 5000 - distance].sum())

    assert passed_over(far + 1) <= 0.05
    # It is no idle bound, but where large-margin and tight-margin abstain or find the leader by its margin.
    if not isinstance(changed, LargeMargin | TightMargin):
        assert passed_over(max(far // 2 - 5, 1)) > 0.05


def test_more_picks_fall_further_short_and_the_leader_alone_never_does() -> None:
    for neighbors, scale in (("add-remove", 1), ("replace-one", 2)):
        one, ten = (shortfall(LimitedDomain(1.0, 1e-6, neighbors), None, picks) for picks in (1, 10))
        assert one is not None
        assert ten == math.ceil(scale * math.log(10_000 * 10 / 0.05))
        assert one < ten
    assert shortfall(Distance(1.0, 1e-6), None, 5) == 0
    assert shortfall(Choosing(1.0, 1e-6, max_itemsets=5), None, 5) is None
    assert shortfall(Exponential(Fraction(1), "replace-one"), 10**400, 1) == math.ceil(
        2 * (400 * math.log(10) + math.log(20))
    )


def test_several_sizes_fall_short_each_of_its_own() -> None:
    # A single item of more support than the pair was passed over by the pair's pick: it is not of its size.
    shop = [["p", "q"]] * 800 + [["a"]] * 3000 + [["b"]] * 2990
    release = fim.mine(shop, size="1-2", mechanism="limited-domain", epsilon=0.4, seed=1)
    one = fim.mine(shop, size=1, mechanism="limited-domain", epsilon=0.2, seed=1)
    assert "none of its size that was passed over" in release.certainty[0]
    assert "of its size" not in one.certainty[0]
    assert release.shortfall is not None
    assert one.shortfall is not None
    assert release.shortfall > one.shortfall  # said of two picks at once


@pytest.mark.parametrize(
    "asked",
    [
        {"mechanism": "exponential", "universe_size": 1000},
        {"mechanism": "choosing", "max_basket": 5},
        {"mechanism": "large-margin", "max_basket": 1},
    ],
)
def test_nothing_is_said_where_it_may_be_wrong(asked: dict[str, Any]) -> None:
    try:
        release = fim.mine([["a", "z"]] * 3000 + [["b"]] * 400, size=1, seed=1, **asked)
    except fim.ParameterError:  # it has no cap
        return
    assert release.shortfall is None
