"""What the engine on Spark is made of, without Spark."""

import importlib.util
import re
import sys
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import program

import fim_private as fim
from fim_private.counting import COUNTERS, Effort
from fim_private.counting.counter import Shard, rank_order, ranks_of
from fim_private.counting.source import counter_for, shard_counter
from fim_private.reading.labels import Item, Labels, mixed_vocabulary
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions
from fim_private.spark import dataframes
from fim_private.spark import purchases as pieces_module
from fim_private.spark.dataframes import session, settings_of
from fim_private.spark.purchases import ItemCodes, ItemDigests, digest, joined, pieces
from fim_private.spark.source import projected
from fim_private.spark.tasks import Checksum, spark_call

labels = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-5, 40),
    st.integers(-5, 40).map(str),
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.text("ab0- ", max_size=3),
)


@given(
    own=st.sets(labels, max_size=12),
    listed=st.sets(labels, min_size=1, max_size=12),
    salt=st.integers(0, 255),
)
def test_digests_find_what_a_vocabulary_finds(own: set[Item], listed: set[Item], salt: int) -> None:
    mine, _ = mixed_vocabulary(sorted(own, key=repr))
    theirs, _ = mixed_vocabulary(sorted(listed, key=repr))
    hashes = [digest(mine.label(code), salt) for code in range(len(mine))]
    digests = ItemDigests(np.array(hashes, dtype=np.int64), salt)
    assert digests.codes_in(theirs).tolist() == mine.codes_in(theirs).tolist()
    codes = ItemCodes(digests)
    assert [codes[mine.label(code)] for code in range(len(mine))] == [*range(len(mine))]


@given(
    values=st.lists(
        st.none() | st.sampled_from(["7", "7.0", "007", " tea", "tea", "", "NULL", "-3", "a\x0bb"]),
        max_size=20,
    )
)
def test_known_labels_read_as_collected_ones(values: list[str | None]) -> None:
    array = pa.array(values, pa.string())
    collected = Labels("the table")
    codes = collected.encode(array)
    vocabulary, final = collected.finish([codes])
    expected = [None if code < 0 else vocabulary.label(int(final[code])) for code in codes]
    seen = defaultdict[Item, int](count().__next__)
    Labels("the table", known=seen).encode(array)
    assert {*seen} == {item for item in expected if item is not None}
    code_of = {item: place for place, item in enumerate(seen)}
    known = Labels("the table", known=code_of, count=len(code_of))
    assert known.encode(array).tolist() == [-1 if one is None else code_of[one] for one in expected]
    lists = pa.array([values, None, []], pa.list_(pa.string()))
    lengths, flat = known.encode_lists(lists)
    assert lengths.tolist() == [len(values), 0, 0]
    assert flat.tolist() == known.encode(array).tolist()


def users_of(baskets: list[list[int]], users: int | None) -> Transactions:
    if users is None:
        return read_transactions(baskets)
    cells = [(number, item) for number, items in enumerate(baskets) for item in [*items, None]]
    rows = [{"u": number % users, "b": number, "i": item} for number, item in cells]
    table = pa.Table.from_pylist(rows, schema=pa.schema(dict.fromkeys("ubi", pa.int64())))
    return read_transactions(table, user="u", basket="b", item="i")


_baskets = st.lists(st.sets(st.integers(0, 9), max_size=8).map(sorted), max_size=30)
purchases = st.tuples(_baskets, st.none() | st.integers(1, 6))


@given(given_=purchases, entries=st.integers(1, 40), blank=st.integers(0, 3))
def test_pieces_are_put_together_again(given_: Any, entries: int, blank: int) -> None:
    data = users_of(*given_)
    if not data.by_user:
        data = Transactions(data.offsets, data.items, data.vocabulary, blank=blank)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces_module, "_ENTRIES", entries)
        rows = list(pieces(data, 4))
    assert all(row.column("part").to_pylist() == [4] for row in rows)
    found = joined(rows, 10, by_user=data.by_user)
    assert found.units == data.units
    assert found.offsets.tolist() == data.offsets.tolist() + data.blank * [len(data.items)]
    assert found.items.tolist() == data.items.tolist()
    if data.unit_offsets is not None and found.unit_offsets is not None:
        assert found.unit_offsets.tolist() == data.unit_offsets.tolist()
    doubled = (pa.Table.from_batches([row, row]).combine_chunks() for row in rows)
    batches = [batch for table in doubled for batch in table.to_batches()]
    assert joined(batches, 10, by_user=data.by_user).units == 2 * data.units


def shards(data: Any, cuts: set[int], parts: int, size: int, name: str) -> tuple[list[Any], Any]:
    """One counter for each range of ranks."""
    supports = counter_for(data, size, 1).item_supports
    order = rank_order(supports, 1)
    bounds = np.array(sorted({0, len(order), *(cut for cut in cuts if cut < len(order))}))
    rank_of = ranks_of(order, len(supports))
    rows: list[list[pa.RecordBatch]] = [[] for _ in bounds[1:]]
    for first in range(parts):
        for row in projected(rank_of, bounds, size, _units(data, range(first, data.units, parts))):
            rows[row.column("part")[0].as_py()].append(row)
    made = []
    for own, (low, high) in zip(rows, pairwise(bounds.tolist()), strict=True):
        shard = Shard(joined(own, len(order), by_user=data.by_user), low, high, supports[order])
        made.append(shard_counter(shard, size, Effort(threads=1), name))
    return made, order


@pytest.mark.parametrize("name", COUNTERS)
@given(
    given_=purchases,
    cuts=st.sets(st.integers(1, 9)),
    parts=st.integers(1, 3),
    size=st.integers(2, 4),
    floor=st.integers(1, 4),
    wanted=st.none() | st.integers(1, 20),
)
def test_shards_add_up_to_the_whole(
    name: str, given_: Any, cuts: set[int], parts: int, size: int, floor: int, wanted: int | None
) -> None:
    data = users_of(*given_)
    whole = counter_for(data, size, 1)
    made, order = shards(data, cuts, parts, size, name)
    ceiling = data.units + 1
    tops = [one.descend(ceiling, floor, wanted) for one in made]
    least = max((top.floor for top in tops), default=floor)
    assert least >= floor
    found = Tally[int]()
    for top in tops:
        assert all(top.floor <= support < ceiling for support, _ in top.levels)
        found.update({support: count for support, count in top.levels if support >= least})
    expected = {level: count for level, count in whole.top(None, None).levels if level >= least}
    assert dict(found) == expected
    if wanted is not None and any(top.floor > floor for top in tops):
        assert sum(expected.values()) >= wanted
    # In one shard after the other the itemsets stand in scan order.
    listed = [one.itemsets(floor, ceiling) for one in made]
    own = [order[ranks] for ranks, _ in listed]
    codes = np.concatenate([np.empty((0, size), dtype=np.int64), *own])
    assert codes.tolist() == whole.itemsets(floor, ceiling)[0].tolist()
    for one, (ranks, supports) in zip(made, listed, strict=True):
        places = Tally[int]()
        for row, support in zip(ranks.tolist(), supports.tolist(), strict=True):
            assert one.locate(support, places[support]) == row
            places[support] += 1


@given(purchases, st.randoms(use_true_random=False), st.integers(0, 2**64 - 1))
def test_check_cells_are_those_of_the_units_in_any_order(given_: Any, order: Any, key: int) -> None:
    data = users_of(*given_)
    checksum = Checksum(key)
    found = checksum.of_purchases(data)
    assert found[:2].tolist() == [data.units, len(data.items)]
    units = order.sample(range(data.units), data.units)
    assert checksum.of_purchases(_units(data, units)).tolist() == found.tolist()
    if len(data.items):
        changed = data.items.copy()
        changed[order.randrange(len(changed))] += 1
        assert checksum.of_purchases(replace(data, items=changed))[2] != found[2]


def test_a_text_is_refused_before_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(dataframes, "session")
    texts = ("sales.csv", "sales.TAB", "/lake/sales.csv.gz", "s3a://lake/sales.jsonl")
    for name in (*texts, "postgresql://here/shop"):
        with pytest.raises(fim.DataError, match="engine spark does not read"):
            fim.mine(name, engine="spark", seed=1)


def _units(data: Transactions, units: Sequence[int]) -> Transactions:
    """Some units, in that order."""
    bounds = np.arange(data.units + 1) if data.unit_offsets is None else data.unit_offsets
    own = [range(bounds[unit], bounds[unit + 1]) for unit in units]
    rows = [data.items[data.offsets[b] : data.offsets[b + 1]] for baskets in own for b in baskets]
    return Transactions(
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.concatenate([np.empty(0, dtype=np.int32), *rows]),
        data.vocabulary,
        None if data.unit_offsets is None else np.cumsum([0, *map(len, own)], dtype=np.int64),
    )


def test_settings_are_as_spark_submit_takes_them() -> None:
    found = settings_of(["spark.master=local[4]", "spark.x=a=b"])
    assert found == {"spark.master": "local[4]", "spark.x": "a=b"}
    for wrong in ("spark.master", "master=local", ""):
        with pytest.raises(fim.ParameterError, match="spark_conf must be a setting of Spark"):
            settings_of([wrong])


def test_without_pyspark_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(fim.MissingExtraError, match=r"pip install 'fim-private\[spark\]'"):
        session()


@pytest.mark.full
def test_without_java_one_line_says_what_to_do(tmp_path: Any) -> None:
    # In a process of its own: another test may have started Spark here.
    code = "from fim_private.spark.dataframes import session; session()"
    done = program(sys.executable, "-c", code, JAVA_HOME=str(tmp_path))
    assert re.search("DataError: Spark did not start .* needs Java 17 or newer", done.stderr)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"engine": "hadoop"}, "engine must be one of local, spark, sql, not 'hadoop'"),
        ({"spark_conf": {"spark.master": "local"}}, "spark_conf goes with engine spark"),
    ],
)
def test_wrong_engines_are_told(options: Any, told: str) -> None:
    with pytest.raises(fim.ParameterError, match=told):
        fim.mine([["a", "b"]], seed=1, **options)


def test_what_spark_raises_is_one_line_of_ours() -> None:
    class PySparkError(Exception):
        """As pyspark raises it, with a row in its text."""

    PySparkError.__module__ = "pyspark.errors"
    for error, raised, line in (
        (
            PySparkError("('tea', 'milk')"),
            fim.DataError,
            r"^Spark gave up on .* \(PySparkError\): the workers need",
        ),
        (
            PySparkError("Python worker exited unexpectedly"),
            fim.DataError,
            r"\(a Python worker died, .*\): use fewer",
        ),
        (ValueError("not of Spark"), ValueError, "not of Spark"),
    ):
        with pytest.raises(raised, match=line), spark_call():
            raise error
