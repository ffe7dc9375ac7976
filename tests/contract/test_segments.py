"""Segments: a unit is in as many as are allowed, with its own rows, by these alone."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources import ANY_ROWS, WRITERS, units_of

from fim_private.errors import ParameterError
from fim_private.reading import transactions as segment_members
from fim_private.reading.locations import source_of
from fim_private.reading.options import Dialect, Reading, Segments, segments_of
from fim_private.reading.purchases import read_parts
from fim_private.reading.transactions import Transactions

# A row: user, basket, segment, item; None for a null.
Row = tuple[int | None, int, str | None, str | None]
# A unit in a segment: its baskets there, each a set of items, in any order.
Unit = tuple[frozenset[str], ...]
NAMES = ("A", "B", "39")

ROWS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 3), st.none()),
        st.integers(0, 3),
        st.sampled_from([*NAMES, "C", None, " A "]),
        st.sampled_from(["milk", "tea", "jam", None]),
    ),
    max_size=14,
)


def reference(rows: Sequence[Row], by_user: bool, most: int) -> list[Counter[Unit]]:
    """What is in each segment, by the definition, one unit at a time."""
    units: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        owner = ("nobody's", row[1]) if row[0] is None else row[0]
        units[owner if by_user else row[1]].append(row)
    found: list[Counter[Unit]] = [Counter() for _ in NAMES]
    for own in units.values():
        baskets: dict[str, dict[int, set[str]]] = {name: defaultdict(set) for name in NAMES}
        for _, basket, segment, item in own:
            if segment is not None and segment.strip() in NAMES:
                baskets[segment.strip()][basket] |= set() if item is None else {item}
        order = sorted(filter(baskets.get, NAMES), key=lambda name: -len(baskets[name]))
        for name in order[:most]:
            found[NAMES.index(name)][as_unit(baskets[name].values())] += 1
    return found


def as_unit(baskets: Any) -> Unit:
    return tuple(sorted(map(frozenset, baskets), key=sorted))


def table(rows: Sequence[Row]) -> pa.Table:
    kinds = {"u": pa.int64(), "b": pa.int64(), "s": pa.string(), "i": pa.string()}
    columns = ([row[place] for row in rows] for place in range(4))
    return pa.table([*map(pa.array, columns, kinds.values())], names=[*kinds])


def held(data: Transactions) -> Counter[Unit]:
    return Counter(as_unit({*map(str, basket)} for basket in unit) for unit in units_of(data))


def read(rows: Any, source: str, folder: Path, *, by_user: bool, most: int) -> list[Any]:
    rule = "own-unit" if by_user else None
    user, by = "u" if by_user else None, Segments("s", NAMES, most)
    options = Reading(user, ("b",), ("i",), missing_user=rule, by=by)
    parts = read_parts(source_of(WRITERS[source](table(rows), folder)), options)
    assert all(part.by_user == by_user for part in parts)
    assert all(len(part.vocabulary) == len({*part.items.tolist()}) for part in parts)
    return [*map(held, parts)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("segments")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("source", ANY_ROWS)
@pytest.mark.parametrize("by_user", [False, True])
@given(rows=ROWS, most=st.integers(1, 3))
def test_segments(rows: list[Row], most: int, by_user: bool, source: str, folder: Path) -> None:
    assert read(rows, source, folder, by_user=by_user, most=most) == reference(rows, by_user, most)


def changes(rows: list[Row], gone: int, by_user: bool, most: int, folder: Path) -> int:
    """How many segments change without a unit, each by that unit alone."""
    before = read(rows, "arrow", folder, by_user=by_user, most=most)
    left = [row for row in rows if row[not by_user] != gone]
    after = read(left, "arrow", folder, by_user=by_user, most=most)
    differ = [one - other for one, other in zip(before, after, strict=True)]
    assert all(not other - one for one, other in zip(before, after, strict=True))
    assert all(part.total() <= 1 for part in differ)
    return sum(map(bool, differ))


@pytest.mark.parametrize("by_user", [False, True])
@given(rows=ROWS, most=st.integers(1, 3), gone=st.integers(0, 3))
def test_a_unit_changes_no_more_segments_than_it_counts_in(
    rows: list[Row], most: int, gone: int, by_user: bool, folder: Path
) -> None:
    assert changes(rows, gone, by_user, most, folder) <= most


# Three users, in A, B and both.
MIXED: list[Row] = [
    *((0, basket, "A", "milk") for basket in range(3)),
    *((1, basket, "B", "tea") for basket in range(2)),
    *((2, basket, "A", "jam") for basket in range(2)),
    *((2, basket, "B", "jam") for basket in range(2, 5)),
]


def by_size_of_segment(units: Any, numbers: Any, baskets: Any) -> Any:
    """A unit's first segment is that in which all units have the most baskets."""
    total = np.bincount(numbers, weights=baskets)
    ranks = np.zeros(len(units), dtype=np.int64)
    for place, unit in enumerate(units):
        own = [number for other, number in zip(units, numbers, strict=True) if other == unit]
        ranks[place] = sorted(own, key=lambda number: -total[number]).index(numbers[place])
    return ranks


MUTANTS: dict[str, Callable[..., Any]] = {
    "in all that it names": lambda units, numbers, baskets: np.zeros(len(units), dtype=np.int64),
    "in the largest": by_size_of_segment,
}


@pytest.mark.every_case
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_caught(mutant: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def caught() -> bool:
        try:
            counted = [changes(MIXED, gone, True, 1, folder) for gone in range(3)]
        except AssertionError:
            return True
        found = read(MIXED, "arrow", folder, by_user=True, most=1)
        return max(counted) > 1 or found != reference(MIXED, True, 1)

    assert not caught()
    monkeypatch.setattr(segment_members, "_ranks", MUTANTS[mutant])
    assert caught()


def test_lists_wide_and_one_hot_tables_have_segments(folder: Path) -> None:
    path = folder / "w.csv"
    path.write_text("order_id,s,Item 1,Item 2\n1,A,x,y\n2,39,z\n")
    items = map(list, ["x", "xy", "y", "z"])
    lists = pd.DataFrame({"s": [*"ABAC"], "u": [1, 1, 2, 3], "items": items})
    hot = pd.DataFrame({"s": ["A", "B"], "x": [1, 0], "y": [1, 1]})
    wide: dict[str, Any] = {"basket": ("order_id",), "dialect": Dialect(input_format="wide")}
    cases: list[tuple[Any, dict[str, Any], list[list[str]]]] = [
        (lists, {}, [["x", "y"], ["xy"], []]),
        (hot, {}, [["xy"], ["y"], []]),
        (path, wide, [["xy"], [], ["z"]]),
    ]
    for source, how, wanted in cases:
        found = [*map(held, read_parts(source_of(source), Reading(**how, by=Segments("s", NAMES))))]
        assert found == [Counter(as_unit([{*one}]) for one in each) for each in wanted]


@pytest.mark.parametrize(
    ("by", "segments", "most", "said"),
    [
        (None, "A,B", None, "segments and max_segments go with by"),
        (None, None, 2, "segments and max_segments go with by"),
        ("s", None, None, "by needs segments too"),
        ("s", "", None, "must name one segment or more"),
        ("s", {"A", "B"}, None, "must be a list of names"),
        ("s", ["\udc80"], None, "must be names of valid text"),
        ("s", "A" * 200_000, None, "must be names of valid text"),
        ("s", [10**5000], None, "must be names of valid text"),
        ("s", "A,B,A", None, "names a segment twice"),
        ("s", ["A", " A"], None, "names a segment twice"),
        ("s", [1.5], None, "must be names, texts or whole numbers"),
        ("s", ["NULL"], None, "must be names, texts or whole numbers"),
        ("s", 3, None, "must be a list of names"),
        *(("s", "A,B", most, "from 1 to that of the segments, 2") for most in (3, 0, True)),
        (3, "A,B", None, "by must be the name of a column"),
    ],
)
def test_what_is_said_of_segments_is_checked(by: Any, segments: Any, most: Any, said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        segments_of(by, segments, most)
    assert said in str(caught.value)
