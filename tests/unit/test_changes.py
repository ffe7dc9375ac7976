"""What changed between two releases: what is said to have changed has."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from commands import run
from released import Markup

import fim_private as fim
from fim_private.release.page import changes_page, trend_page

PAIRS = [(f"a{i}", f"b{i}") for i in range(40)]
UNITS = 20_000


def shop(seed: int, *, moved: dict[int, int] | None = None, units: int = UNITS) -> list[Any]:
    """Baskets of one pair each, 400 of every pair and more (or fewer) of those moved."""
    counts = [400 + (moved or {}).get(i, 0) for i in range(len(PAIRS))]
    pairs = [[pair] * count for pair, count in zip(PAIRS, counts, strict=True)]
    baskets: list[tuple[str, ...]] = [pair for own in pairs for pair in own]
    return [*baskets, *[(f"other{seed}",)] * (units - len(baskets))]


def counted(baskets: list[tuple[str, ...]], seed: int, **asked: Any) -> fim.Release:
    return fim.count(baskets, PAIRS, epsilon=1.0, delta=1e-6, seed=seed, **asked)


@pytest.mark.parametrize(
    "asked",
    [{}, {"neighbors": "replace-one"}, {"delta": 0, "count": True}],
    ids=["two normals", "number public", "Laplace and a bought number"],
)
@pytest.mark.every_case
def test_intervals_hold_the_true_difference_and_noise_is_no_change(asked: dict[str, Any]) -> None:
    moved = {0: 200, 1: -200}
    before, after = shop(1), shop(2, moved=moved)
    held = total = false = 0
    for seed in range(10):
        given: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6} | asked
        both = enumerate((before, after))
        ones = [fim.count(rows, PAIRS, seed=2 * seed + place, **given) for place, rows in both]
        found: Any = fim.changes(*ones, keep_all=True)
        assert len(found) == found.compared == len(PAIRS)
        for one in found:
            true = moved.get(int(str(one.items[0])[1:]), 0) / UNITS
            held += one.interval[0] <= true <= one.interval[1]
            total += 1
            false += one.clear and not true
    # Of 400 intervals 380 are to hold; 359 has a probability of 1e-5 or so.
    assert held >= total - 41
    assert false <= 4


def test_what_differs_is_named_with_its_values() -> None:
    """Rules count users who bought a pair in several baskets."""
    items = [(n, item) for n in range(4000) for item in ("tea", f"x{n % 2}")]
    rows = [{"who": n // 2, "order": n, "item": item} for n, item in items]
    table = pa.Table.from_pylist(rows)
    asked: Any = {"user": "who", "basket": "order", "item": "item", "size": 2, "top": 2, "seed": 1}
    asked["mechanism"] = "levelwise"
    plain = fim.mine(table, supports=True, **asked)
    ruled = fim.mine(table, rules=True, **asked)
    differs = (
        r"^these releases are not compared: they differ in together \('basket' and 'user'\); with "
        "rules it is 'user' unless you say otherwise$"
    )
    with pytest.raises(fim.ParameterError, match=differs):
        fim.changes(plain, ruled)
    folded = fim.mine(table, supports=True, fold_case=True, **asked)
    with pytest.raises(fim.ParameterError, match=r"not compared: only the second was made"):
        fim.changes(plain, folded)
    with pytest.raises(fim.ParameterError, match=r"differ in max_basket \(9 and none\)"):
        fim.changes(replace(plain, max_basket=9), plain)
    monthly, by_calendar = (
        replace(plain, scope=replace(plain.scope, per=kind)) for kind in ("month of weeks", "month")
    )
    with pytest.raises(fim.ParameterError, match=r"differ in per \('month' and 'calendar month'\)"):
        fim.changes(monthly, by_calendar)


def test_a_planted_change_is_found_and_ranked_first() -> None:
    moved = {3: 700, 7: -350}
    found = fim.changes(counted(shop(1), 1), counted(shop(2, moved=moved), 2))
    assert {one.items[0]: one.change for one in found if one.clear} == {"a3": "rise", "a7": "fall"}
    assert found[0].items == ("a3", "b3")
    assert found[0].difference == pytest.approx(700 / UNITS, abs=0.01)
    assert "2 of 40 itemsets changed" in str(found)
    assert "Benjamini–Hochberg" in str(found)


def test_where_nothing_changed_the_smallest_change_that_would_be_seen_is_one() -> None:
    """A difference of as much is clear, and one of a unit less is not."""
    before: Any = counted(shop(1), 1)
    found: Any = fim.changes(before, before)
    assert not found
    points = math.ceil(100 * found.smallest * 10**found.decimals) / 10**found.decimals
    sentence = f"more than the noise: it takes a change of {points:g} points to be seen."
    assert sum(sentence in note for note in found.notes) == 1
    assert sentence in changes_page(found)
    for more, is_clear in ((0, False), (2, True)):
        raised = math.floor(found.smallest * before.units) + more
        clear = [len(fim.changes(before, moved(before, place, raised))) for place in range(40)]
        assert any(clear) == is_clear


def test_where_nothing_came_out_nothing_is_compared() -> None:
    full = counted(shop(1), 1)
    empty = replace(full, itemsets=(), abstained=True)
    sentence = "No itemset of before and after can be compared."
    for before, after in ((full, empty), (empty, full), (empty, empty)):
        found = fim.changes(before, after)
        assert sentence in found.notes
        assert not any("Nothing changed" in note for note in found.notes)
        assert sentence in changes_page(found)


def test_a_longer_period_has_more_of_what_a_user_buys() -> None:
    full = counted(shop(1), 1)

    def of(period: str | None, **named: Any) -> fim.Release:
        return replace(full, scope=replace(full.scope, time="day", period=period, **named))

    def said(before: fim.Release, after: fim.Release) -> str:
        users = [replace(release, privacy_unit="user") for release in (before, after)]
        return str(fim.changes(*users))

    assert "Their periods have 30 days and 365 days." in said(of("2025-06"), of("2025"))
    assert "Their periods" not in said(of("2025-02"), of("2025-03"))
    assert "Their periods" not in said(of("2025-06"), of(None))
    assert "Their periods" not in said(of("2025-06", per="month"), of("2025", per="month"))
    assert "Their periods" not in str(fim.changes(of("2025-06"), of("2025")))


def moved(release: fim.Release, place: int, by: int) -> fim.Release:
    """Return a release in which one itemset has more support, by so many units."""
    itemsets: list[Any] = [*release.itemsets]
    old = itemsets[place]
    low, high = old.interval
    itemsets[place] = replace(old, support=old.support + by, interval=(low + by, high + by))
    return replace(release, itemsets=tuple(itemsets))


def test_differences_are_in_percentage_points_with_a_minus() -> None:
    found = fim.changes(counted(shop(1), 1), counted(shop(2, moved={3: 700, 7: -350}), 2))
    assert re.search(r"\+3\.\d+ points +\+3\.\d+ to \+3\.\d+", str(found))
    assert re.search(r"−1\.\d+ points +−[12]\.\d+ to −1\.\d+", str(found))


def test_p_values_are_uniform_where_nothing_changed() -> None:
    rows = shop(1)
    values: list[float] = []
    for seed in range(0, 20, 2):
        found = fim.changes(counted(rows, seed), counted(rows, seed + 1), keep_all=True)
        values += [one.p_value or 0.0 for one in found]
    # never too many; noise is shared within a release, so 400 are not independent
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.array(values) <= level) <= level + 0.35 * math.sqrt(level * (1 - level))
    assert np.mean(np.array(values) <= 0.5) >= 0.25


def test_what_is_in_one_release_only_is_new_or_gone() -> None:
    asked: dict[str, Any] = {"size": 2, "top": 3, "epsilon": 5.0, "delta": 1e-6}
    before = fim.mine(shop(1, moved={0: 900, 1: 800, 2: 700}), seed=1, **asked)
    after = fim.mine(shop(2, moved={0: 900, 1: 800, 5: 1500}), seed=2, **asked)
    found: Any = {one.items[0]: one for one in fim.changes(before, after, keep_all=True)}
    new, gone = found["a5"], found["a2"]
    assert (new.change, new.before, new.clear) == ("new", None, True)
    assert new.interval[0] > 0
    assert new.interval[0] <= 1500 / UNITS <= new.interval[1]
    assert (gone.change, gone.after) == ("gone", None)
    assert {one.items[0] for one in fim.changes(before, after)} >= {"a5"}
    assert "may also have been missed" in str(fim.changes(before, after, keep_all=True))


def test_what_a_release_lacks_is_not_held_against_the_noise_of_its_last_itemset() -> None:
    """Of many equal supports the least noisy one is far too small."""
    frequent = [(f"i{n}",) for n in range(80) for _ in range(50)]
    baskets = [*frequent, *[("last",)] * 50, *[("rest",)] * 4000]
    false = 0
    for seed in range(5):
        rough = fim.count(baskets, [(f"i{n}",) for n in range(80)], epsilon=1.0, seed=2 * seed)
        before = replace(rough, mechanism="levelwise")
        after = fim.count(baskets, [("last",)], epsilon=9.0, seed=2 * seed + 1)
        [new] = [one for one in fim.changes(before, after, keep_all=True) if one.change == "new"]
        assert new.interval is not None
        false += new.clear
    assert not false


def test_what_is_surely_new_says_by_how_much() -> None:
    """The test and the difference are nearest to each other where one release has all the noise."""
    rough = replace(counted(shop(1), 1), mechanism="levelwise")
    before = replace(rough, itemsets=rough.itemsets[:1])
    after = fim.count(shop(2, moved={0: 4000}), PAIRS[:2], rho=500, seed=2)
    [least], [risen, other] = before.itemsets, after.itemsets
    assert least.support is not None
    seen = set()
    for support in range(least.support, least.support + 100):
        new = replace(other, support=support, interval=(support, support), share_interval=None)
        found = fim.changes(before, replace(after, itemsets=(risen, new)), keep_all=True)
        seen |= {(change.clear, change.difference is None) for change in found}
    assert (True, False) in seen
    assert (True, True) not in seen


def test_of_what_a_release_was_not_asked_for_nothing_is_known() -> None:
    baskets = [("milk",)] * 3000 + [("tea",)] * 60 + [("rest",)] * 940
    asked: Any = {"size": 1, "top": 2, "epsilon": 5.0}
    one = fim.count(baskets, [["tea"]], seed=1)
    two = fim.count(baskets, [["tea"], ["milk"]], seed=2)
    few = fim.mine(baskets, catalogue=["tea", "rest"], seed=1, **asked)
    more = fim.mine(baskets, catalogue=["tea", "milk", "rest"], seed=2, **asked)
    for first, second in ((one, two), (few, more), (more, few), (two, one)):
        found = fim.changes(first, second, keep_all=True)
        [change] = [change for change in found if change.items == ("milk",)]
        assert (change.difference, change.interval, change.clear) == (None, None, False)
        assert "another list" in str(found)
    everything = fim.mine(baskets, seed=3, **asked)
    assert [change.items for change in fim.changes(few, everything)] == []


def test_that_noise_lifts_itemsets_over_a_least_support_is_said() -> None:
    before, after = counted(shop(1), 1), counted(shop(2), 2)
    lifted = "Noise lifts some itemsets over a least support."
    assert lifted not in str(fim.changes(before, after))
    limited = replace(before, min_support=100, threshold=100)
    assert lifted in str(fim.changes(limited, after))
    assert lifted in Markup(trend_page({"one": limited, "two": after})).words


def test_items_and_groups_of_items_are_not_compared() -> None:
    """A group such as dairy is no item that is new."""
    baskets = [("milk",)] * 3000 + [("tea",)] * 900
    products = pa.table({"item": ["milk", "tea"], "kind": ["dairy", "drinks"]})
    asked: Any = {"size": 1, "top": 2, "epsilon": 5.0, "seed": 1, "catalogue": products}
    grouped = fim.mine(baskets, catalogue_item="item", group="kind", **asked)
    single = fim.mine(baskets, catalogue_item="item", **asked)
    with pytest.raises(fim.ParameterError, match=r"they differ in group \('kind' and none\)$"):
        fim.changes(grouped, single)
    labelled = fim.mine(baskets, catalogue_item="item", catalogue_label="kind", **asked)
    with pytest.raises(fim.ParameterError, match=r"differ in catalogue_label \(none and 'kind'\)$"):
        fim.changes(single, labelled)


def test_forms(tmp_path: Path) -> None:
    ones = [counted(shop(1), 1), counted(shop(2, moved={3: 700}), 2)]
    paths = [tmp_path / name for name in ("w45.parquet", "w46.json")]
    for one, path in zip(ones, paths, strict=True):
        one.save(path)
    found = fim.changes(*paths)
    assert found.to_dict() == fim.changes(*ones).to_dict()
    values = json.loads(found.to_json())
    assert (values["compared"], values["clear"]) == (40, 1)
    assert values["changes"][0]["items"] == ["a3", "b3"]
    frame = fim.changes(*ones, keep_all=True).to_pandas()
    assert len(frame) == 40
    assert frame.loc[0, "itemsets"] == frozenset({"a3", "b3"})
    assert (frame["lower"] <= frame["difference"]).all()
    assert "<table>" in found._repr_html_()
    done = run(tmp_path, "changes", *paths)
    assert (done.returncode, done.stderr) == (0, "")
    assert "{a3, b3}" in done.stdout
    done = run(tmp_path, "changes", *paths, "--format", "json", "--keep-all")
    assert json.loads(done.stdout)["compared"] == 40


def test_two_segments_of_one_release(tmp_path: Path) -> None:
    import pandas as pd

    stores, both = ["north", "south"] * 3_000, ("tea", "milk")
    rows = [(i, store, item) for i, store in enumerate(stores) for item in both]
    rows += [(10_000 + i, "north", item) for i in range(3_000) for item in ("jam", "toast")]
    frame = pd.DataFrame(rows, columns=["basket", "store", "item"])
    asked: Any = {"basket": "basket", "item": "item", "by": "store", "segments": "north,south"}
    whole = fim.mine(frame, top=2, seed=1, **asked)
    whole.save(tmp_path / "stores.json")
    found = fim.changes(whole["north"], whole["south"])
    assert found.names == ("north", "south")
    done = run(tmp_path, "changes", "stores.json", "--between", "north,south", "--format", "json")
    assert json.loads(done.stdout)["changes"] == found.to_dict()["changes"]
    done = run(tmp_path, "changes", "stores.json", "--between", "north,west")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: --between must name two of these, with a comma between:")
    with pytest.raises(fim.ParameterError) as caught:
        fim.changes(whole["north"], whole)
    said = "after holds 2 releases; take that of one: fim.load(...)['north'].save(...)"
    assert str(caught.value) == said


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    one = counted(shop(1), 1)
    other = counted(shop(1), 2, neighbors="replace-one")
    with pytest.raises(fim.ParameterError, match=r"not compared: they differ in neighbors"):
        fim.changes(one, other)
    bare = fim.mine(shop(1), top=2, supports=False, seed=1, epsilon=5.0)
    with pytest.raises(fim.ParameterError, match="after has no shares to compare"):
        fim.changes(one, bare)
    with pytest.raises(fim.ParameterError, match="before must be a release, or the path"):
        fim.changes([], one)  # type: ignore[arg-type]
    one.save(tmp_path / "one.json")
    done = run(tmp_path, "changes", "one.json")
    assert done.returncode == 2
    assert done.stderr == "Error: name two releases, or one of several segments and --between\n"
    said = run(tmp_path, "changes", "one.json", "two.json").stderr
    assert said.startswith("Error: 'two.json' does not exist")
