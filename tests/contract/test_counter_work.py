"""How much a counter does: no more than is read or allowed; and it can be stopped."""

import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from naming import needs_kernel
from numpy.typing import NDArray
from oracles import brute_force_supports
from patience import PATIENCE

from fim_private.counting import COUNTERS, Effort, itemset_spectrum, list_itemsets
from fim_private.counting import work as work_limit
from fim_private.counting.counter import Top
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError, WorkLimitError
from fim_private.reading.labels import mixed_vocabulary
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions

COUNTED_WITH = [pytest.param("compiled", marks=needs_kernel), "numpy"]
every_counter = pytest.mark.parametrize("counter", COUNTED_WITH)


def zipf_baskets(baskets: int, items: int, mean: float) -> Transactions:
    """Random baskets whose items have Zipf-like popularity, as arrays: quick to make."""
    draw = np.random.default_rng(1)
    popularity = np.cumsum(1 / np.arange(1, items + 1))
    rows = [
        np.unique(np.searchsorted(popularity, draw.random(length) * popularity[-1]))
        for length in draw.poisson(mean, baskets)
    ]
    return of_rows(rows, items)


def of_rows(rows: list[NDArray[np.integer]], items: int) -> Transactions:
    vocabulary, _ = mixed_vocabulary(list(range(items)))
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    entries = np.concatenate(rows) if rows else np.empty(0)
    return Transactions(offsets, entries.astype(np.int32), vocabulary)


def in_users(transactions: Transactions) -> Transactions:
    """The same baskets, dealt out to users of some four baskets each."""
    count = transactions.baskets
    cuts = np.random.default_rng(2).integers(0, count, count // 4)
    return replace(transactions, unit_offsets=np.unique([0, count, *cuts]).astype(np.int64))


POPULAR = of_rows([np.arange(1_000)] * 6, 1_000)


Rounds = list[tuple[int | None, int]]


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> Rounds:
    """(itemsets wanted, work) of each round of counting, -1 where there was an error."""
    seen: Rounds = []

    def recorded(make: Any, *arguments: Any) -> Any:
        counter: Any = make(*arguments)
        count = counter.top

        def top(ceiling: int | None, wanted: int | None) -> Top:
            seen.append((wanted, -1))
            found: Top = count(ceiling, wanted)
            seen[-1] = wanted, found.work
            return found

        counter.top = top
        return counter

    for name, make in list(COUNTERS.items()):
        monkeypatch.setitem(COUNTERS, name, partial(recorded, make))
    return seen


@every_counter
@pytest.mark.parametrize("size", [2, 3])
def test_who_reads_on_gets_the_rest_in_one_pass(counter: str, size: int, rounds: Rounds) -> None:
    shop = zipf_baskets(20_000, 3_000, 12.0)
    alone = Effort(threads=1)  # so that the steps are the same each time
    whole = itemset_spectrum(shop, size, counter=counter, effort=alone).all_levels()
    [(wanted, work)] = rounds
    assert wanted is None
    assert work > 0
    rounds.clear()
    levels = itemset_spectrum(shop, size, counter=counter, effort=alone).levels()
    assert rounds == []
    assert [next(levels), *levels] == whole
    *before, (wanted, last) = rounds
    assert wanted is None
    assert last == work
    assert all(wanted is not None for wanted, _ in before)
    assert sum(work for _, work in before) < 2 * work
    assert len(before) == 2 or counter == "numpy"  # whose rounds are smaller


@needs_kernel
def test_where_the_rest_is_out_of_reach_reading_goes_on_in_rounds(rounds: Rounds) -> None:
    shop = zipf_baskets(10_000, 3_000, 16.0)
    whole = itemset_spectrum(shop, 4).all_levels()
    rounds.clear()
    # Of up to 15 million steps, which are refused; 10 million for the third round.
    levels = itemset_spectrum(shop, 4, effort=Effort(threads=1, max_work=12_000_000)).levels()
    read: list[tuple[int, int]] = []
    while sum(multiplicity for _, multiplicity in read) < 100_000:
        read.append(next(levels))
    assert read == whole[: len(read)]
    assert [wanted for wanted, _ in rounds] == [1024, 16 * 1024, None, 256 * 1024]
    assert rounds[2][1] == -1
    with pytest.raises(WorkLimitError, match="took more than max_work"):
        list(levels)
    assert [wanted for wanted, _ in rounds[4:]] == [4096 * 1024]  # the rest is not tried again


LARGER: dict[str, tuple[Callable[[], Transactions], int]] = {
    # the tail beyond the table of pairs
    "sparse": (lambda: zipf_baskets(2_000, 2_500, 8.0), 1),
    # bitmaps at the root
    "dense": (lambda: zipf_baskets(3_000, 40, 20.0), 12),
    # bitmaps and tables of pairs below the root
    "long": (lambda: zipf_baskets(400, 300, 60.0), 12),
    # bitmaps become sparse
    "even": (lambda: even_baskets(30, 0.15), 1),
    "more even": (lambda: even_baskets(14, 0.7), 1),
}


def even_baskets(items: int, density: float) -> Transactions:
    draw = np.random.default_rng(3)
    return of_rows([np.flatnonzero(draw.random(items) < density) for _ in range(3_000)], items)


@needs_kernel
@pytest.mark.parametrize("large", [False, True], ids=["small", "as if large"])
@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", LARGER)
@pytest.mark.one_in(5)
def test_kernel_and_numpy_agree_at_size(
    kind: str, size: int, large: bool, monkeypatch: Any
) -> None:
    from fim_private.counting import compiled as compiled_counter

    if large:  # prefixes are copied, a few ranks at a time
        monkeypatch.setattr(compiled_counter, "LARGE", 1)
        monkeypatch.setattr(compiled_counter, "_RANK_STEPS", (10, 100))
    make, factor = LARGER[kind]
    shop, floor = make(), factor * size if factor > 1 and size > 2 else 1
    for data in (shop, in_users(shop)):
        expected = itemset_spectrum(data, size, min_support=floor, counter="numpy").all_levels()
        assert len(expected) >= 5
        for threads in (1, 2, 8):
            asked: Any = {"min_support": floor, "effort": Effort(threads=threads)}
            assert itemset_spectrum(data, size, **asked).all_levels() == expected
            assert list(itemset_spectrum(data, size, **asked).levels()) == expected


@needs_kernel
def test_a_very_long_basket_is_no_problem() -> None:
    long = np.arange(2_500)
    shop = of_rows([long, long[5:], *([np.array([1, 2, 3, 4])] * 7)], 2_500)
    for size in (4, 10):
        spectrum = itemset_spectrum(shop, size)
        both, one = math.comb(2_495, size), math.comb(2_500, size) - math.comb(2_495, size)
        expected = [(2, both), (1, one)]
        if size == 4:  # {1, 2, 3, 4} is in eight baskets
            expected = [(8, 1), (2, both), (1, one - 1)]
        assert list(spectrum.levels()) == expected
        name = spectrum.sample_itemsets([2], Randomness.seeded(3))[0]
        assert len(set(name)) == size
        assert min(int(item) for item in name) >= 5
    assert itemset_spectrum(shop, 30).all_levels()[0] == (2, math.comb(2_495, 30))


@every_counter
@pytest.mark.full
@pytest.mark.parametrize(("size", "itemsets"), [(2, 3), (3, 1)])
def test_supports_may_exceed_16_bits(counter: str, size: int, itemsets: int) -> None:
    shop = of_rows([np.array([0, 1, 2])] * 70_000, 3)
    assert itemset_spectrum(shop, size, counter=counter).all_levels() == [(70_000, itemsets)]


@every_counter
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_itemsets_of_some_levels_can_be_listed(counter: str, size: int) -> None:
    draw = np.random.default_rng(size)
    baskets = [draw.integers(0, 14, draw.integers(0, 9)).tolist() for _ in range(150)]
    expected = brute_force_supports(baskets, size)
    for low, high in ((1, 200), (2, 4), (3, 3), (150, 200)):
        listed = list(list_itemsets(read_transactions(baskets), size, low, high, counter=counter))
        assert dict(listed) == {i: many for i, many in expected.items() if low <= many <= high}
        assert len(listed) == len(dict(listed))


@needs_kernel
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_both_counters_list_and_name_in_the_same_order(size: int) -> None:
    for shop in (zipf_baskets(300, 40, 8.0), in_users(zipf_baskets(300, 40, 8.0))):
        listed = [[*list_itemsets(shop, size, 2, 300, counter=counter)] for counter in COUNTERS]
        assert listed[0] == listed[1]
        spectra = [itemset_spectrum(shop, size, counter=counter) for counter in COUNTERS]
        for support, _ in spectra[0].all_levels()[::7]:
            streams = [(one, Randomness.seeded(support)) for one in spectra]
            names = [one.sample_itemsets([support], stream)[0] for one, stream in streams]
            assert names[0] == names[1]


@every_counter
def test_an_infeasible_spectrum_is_refused(counter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_limit, "_PROGRESS_SECONDS", 0.0)
    told: list[float] = []
    effort = Effort(progress=told.append)
    # Popular items, so that no counter gets by without meeting them: 6 * C(1000, 6) = 8e15.
    with pytest.raises(WorkLimitError, match=r"^.*up to 8\.2e15 steps.*max_work = 1\.0e11.*$"):
        itemset_spectrum(POPULAR, 6, counter=counter, effort=effort).all_levels()
    assert told == []  # of no step


@every_counter
@pytest.mark.one_in(2)
def test_a_lazy_count_that_goes_on_and_on_is_given_up(counter: str) -> None:
    effort = Effort(max_work=2 * 10**7)
    with pytest.raises(WorkLimitError, match=r"took more than max_work = 2\.0e7"):
        list(itemset_spectrum(POPULAR, 6, counter=counter, effort=effort).levels())


def long_baskets(baskets: int, items: int, of_users: int | None) -> Transactions:
    """Equal baskets, whose pairs are counted in a table: of users, or beside a longer one."""
    rare = [] if of_users else [np.arange(items, 20 * items)]
    shop = of_rows([*([np.arange(items)] * baskets), *rare], 20 * items)
    ends = np.unique([*range(0, baskets, of_users or 1), baskets]).astype(np.int64)
    return replace(shop, unit_offsets=ends) if of_users else shop


@needs_kernel
@pytest.mark.parametrize("of_users", [None, 2, 100])
@pytest.mark.parametrize("threads", [1, 2])
def test_pairs_count_as_work(of_users: int | None, threads: int) -> None:
    shop, pairs = long_baskets(200, 200, of_users), math.comb(200, 2)
    said = "itemsets of size 2 in these baskets took more than max_work"
    little = Effort(threads=threads, max_work=200 * pairs // 2)
    with pytest.raises(WorkLimitError, match=said):
        next(itemset_spectrum(shop, 2, effort=little).levels())
    enough = Effort(threads=threads, max_work=10**9)
    units = 200 // (of_users or 1)
    assert next(itemset_spectrum(shop, 2, effort=enough).levels()) == (units, pairs)


@every_counter
@pytest.mark.parametrize("size", [1, 2, 3])
def test_numbers_beyond_all_others_are_no_error(counter: str, size: int) -> None:
    shop, by = zipf_baskets(500, 60, 6.0), {"counter": counter}
    expected = itemset_spectrum(shop, size, counter=counter).all_levels()
    listed = list(list_itemsets(shop, size, 1, 1_000, counter=counter))
    for large in (10**11, 2**63 - 1, 2**63, 10**20):
        spectrum = itemset_spectrum(shop, size, effort=Effort(max_work=large), counter=counter)
        assert list(spectrum.levels()) == expected
        assert not [*itemset_spectrum(shop, size, min_support=large, counter=counter).levels()]
        assert list(list_itemsets(shop, size, 1, large, **by)) == listed
        assert not [*list_itemsets(shop, size, large, large + 1, **by)]


@pytest.mark.parametrize("name", ["threads", "max_work"])
@pytest.mark.parametrize("value", [0, 1.5, "many", True])
def test_what_is_asked_is_checked(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must be a whole number of at least 1"):
        Effort(**{name: value})
    with pytest.raises(ParameterError, match="counter must be one of"):
        itemset_spectrum(read_transactions([]), 2, counter="abacus")


@every_counter
@pytest.mark.one_in(2)
def test_the_counting_thread_gets_progress(counter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_limit, "_PROGRESS_SECONDS", 0.0)
    told: list[tuple[float, int]] = []
    effort = Effort(progress=lambda fraction: told.append((fraction, threading.get_ident())))
    shop = zipf_baskets(30_000, 400, 25.0)
    itemset_spectrum(shop, 4, min_support=6, counter=counter, effort=effort).all_levels()
    assert {thread for _, thread in told} == {threading.get_ident()}
    assert all(0 <= fraction <= 1 for fraction, _ in told)


@every_counter
def test_an_error_in_the_watching_thread_stops_the_count(counter: str) -> None:
    def give_up(fraction: float) -> None:
        raise KeyboardInterrupt

    before, effort = threading.active_count(), Effort(progress=give_up)
    with pytest.raises(KeyboardInterrupt):
        next(itemset_spectrum(POPULAR, 6, counter=counter, effort=effort).levels())
    assert threading.active_count() == before


COUNT_FOR_EVER = """
import numpy as np, sys
from fim_private.counting import Effort, itemset_spectrum
from fim_private.reading.transactions import Transactions
from fim_private.reading.labels import mixed_vocabulary
vocabulary, _ = mixed_vocabulary(list(range(1_000)))
shop = Transactions(np.arange(7) * 1_000, np.tile(np.arange(1_000, dtype=np.int32), 6), vocabulary)
print("ready", flush=True)
try:
    list(itemset_spectrum(shop, 6, effort=Effort(max_work=10**18)).levels())
except KeyboardInterrupt:
    sys.exit(130)
"""


@needs_kernel
def test_ctrl_c_ends_a_count_inside_the_kernel() -> None:
    command = [sys.executable, "-c", COUNT_FOR_EVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        assert process.poll() is None, "the count ended by itself: it cannot have been interrupted"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 130
