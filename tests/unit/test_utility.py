"""The study of utility: its measures, who it calls the best, and the cut that the histogram gets."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from real_data import real_data

from benchmarks.frame.datasets import Source, corner_shop, real_sources, shops, user_sources
from benchmarks.frame.study import Options
from benchmarks.frame.support_spectra import transactions
from benchmarks.utility import compare, customers, peer_tasks, privbasis_grid, runs, tasks
from benchmarks.utility.mean_tables import against, complete_rows
from benchmarks.utility.measures import (
    ABSTAINED,
    Releases,
    Row,
    among_best,
    certain,
    key,
    least,
    mean,
    means,
    measures,
    names,
    rows_of,
)
from benchmarks.utility.resampled import every_user
from benchmarks.utility.runs import WITH_ITEMS
from benchmarks.utility.sections import sections
from fim_private.counting import itemset_spectrum
from fim_private.counting.source import Catalogue, LocalItems
from fim_private.errors import ParameterError
from fim_private.mechanisms.registry import check_delta
from fim_private.reading.purchases import read_catalogue
from fim_private.request.request import choose

LEVELS = ((10, 1), (8, 2), (5, 4))


def measured(true: list[list[int]], noisy: list[list[float]], count: int, levels: Any = LEVELS) -> Any:
    return measures(Releases(np.array(true), np.array(noisy)), levels, count, 1)


def test_measures_by_hand() -> None:
    # The second itemset may be any of the two of support 8; the second trial abstains once and picks one of 0.
    found = measured([[10, 8], [0, ABSTAINED]], [[11, 8], [3, 0]], 2)
    assert (found["fnr"], found["abstained"]) == (0.5, 0.25)
    assert found["regret"] == pytest.approx(0.5)
    assert found["error_median"] == pytest.approx(0.1)  # of 0.1, 0 and 3
    assert 0 <= found["low"] <= 0.5 <= found["high"] <= 1
    assert (found["precision"], found["supported"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_fewer_itemsets_than_k() -> None:
    picks = [[4, 3, 0, 0], [4, ABSTAINED, ABSTAINED, ABSTAINED]]
    found = measured(picks, [[4, 3, 0, 0], [4, 0, 0, 0]], 4, ((4, 1), (3, 1)))
    assert (found["fnr"], found["abstained"]) == (0.25, 0.25)
    empty = measured([[ABSTAINED]], [[0]], 1, ())
    assert (empty["fnr"], empty["regret"], empty["abstained"], empty["error_median"]) == (0, 0, 0, None)
    assert (empty["precision"], empty["supported"]) == (None, None)


def test_precision_is_of_what_was_released() -> None:
    # Of three released one is in the top 2, and one occurs below it; any of the two of support 8 would be as good.
    found = measured([[8, 5], [0, ABSTAINED]], [[8, 5], [0, 0]], 2)
    assert (found["precision"], found["supported"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    # Right in all of the little that is said.
    found = measured([[10, ABSTAINED], [ABSTAINED, ABSTAINED]], [[10, 0], [0, 0]], 2)
    assert (found["fnr"], found["precision"], found["supported"]) == (0.75, 1, 1)
    # What is released where nothing occurs is wrong.
    found = measured([[0]], [[0]], 1, ())
    assert (found["precision"], found["supported"]) == (0, 0)
    exact = certain(0.6, 0.5, 0.5, 0.45)
    assert (exact["precision"], exact["supported"]) == (pytest.approx(0.8), pytest.approx(0.9))
    assert (certain(1, 1, 1, 0)["precision"], certain(1, 1, 1, 0)["supported"]) == (None, None)


def test_means_are_of_what_there_is() -> None:
    none = row("a", 1.0)
    none.found["precision"] = None
    rows = [row("a", 0.5), none, replace(none, entry="b")]
    assert mean(rows, "precision") == 0.5
    assert mean(rows[1:], "precision") is None
    assert means(rows, "precision") == {"a": 0.5}


def test_the_rule_of_three() -> None:
    none = measured([[10, 8]] * 50, [[10, 8]] * 50, 2)
    assert (none["fnr"], none["low"], none["high"]) == (0, 0, pytest.approx(0.03))
    every = measured([[5, 5]] * 50, [[5, 5]] * 50, 2)
    assert (every["fnr"], every["low"], every["high"]) == (1, pytest.approx(0.97), 1)
    assert certain(-1e-16, 1 + 1e-12, 0.5, 0.5)["low"] == 0


def row(entry: str, fnr: float, *, low: float | None = None, k: int = 10, epsilon: float = 1.0) -> Row:
    found = {"trials": 100, "fnr": fnr, "low": fnr if low is None else low, "high": fnr, "regret": fnr}
    found |= {"precision": 1 - fnr, "supported": 1.0}
    return Row("d", "2", entry, epsilon, 1e-6, k, {**found, "abstained": 0.0, "error_median": 0.1, "error_95": 0.2})


def test_nearly_equal_rates_are_ties() -> None:
    rows = [row("a", 1e-10), row("b", 0.0), row("c", 0.004), row("d", 0.02, low=0.0049), row("e", 0.02, low=0.006)]
    assert among_best(rows) == ["a", "b", "c", "d"]
    assert among_best([row("a", 1.0), row("b", 0.999)]) == []
    assert least({"a": 0.3, "b": 0.305, "c": 0.306}) == ["a", "b"]
    assert names(dict.fromkeys("abcd", 0.001) | {"e": 0.5}).startswith("4 of 5, at")


def answers(rows: list[Row]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for one in rows:
        sizes = tuple(range(int(one.sizes[0]), int(one.sizes[-1]) + 1))
        name = key(one.data, sizes, one.entry, one.unit, one.neighbors, one.epsilon, one.delta)
        found.setdefault(name, []).append({**one.found, "k": one.k})
    return {"answers": found}


def test_the_tables_say_where_the_histogram_wins() -> None:
    rows = []
    for k, ahead in ((10, False), (100, True)):
        for entry in tasks.ENTRIES:
            rate = (0.1 if ahead else 0.6) if entry == tasks.HISTOGRAM else 0.3
            rows.append(row(entry, rate, k=k))
    told = {section.title: section for section in sections(answers(rows))}
    won = told["Which wins where"]
    assert (
        "misses less than all of ours that need nothing public but a cap or a rank at k = 100 (ε = 1)," in won.reading
    )
    assert "more than the best of these at k = 10 (ε = 1)." in won.reading
    counts, compared, by_data = won.tables
    lines = {line[0]: line[2:4] for line in counts.rows}
    assert lines["large-margin"] == ("1 of 1", "0 of 1")
    assert lines[tasks.HISTOGRAM] == ("0 of 1", "1 of 1")
    assert [line[-1] == tasks.HISTOGRAM for line in compared.rows] == [False, True]
    assert by_data.rows == (("d", "none", "1"),)
    assert {"Regret", "The price of a smaller δ"} <= set(told)


def test_wins_and_losses_are_counted_alike() -> None:
    rows = [row("levelwise", 0.3, k=k) for k in (1, 10, 50)]
    rows += [row("exponential", rate, k=k) for k, rate in ((1, 0.1), (10, 0.302), (50, 0.2))]
    rows += [row("distance", 1.0, k=1), row("levelwise", 0.5, k=100)]
    table = against(rows, "levelwise")
    assert [line[:5] for line in table.rows] == [("distance", "no", 1, 0, 0), ("exponential", "yes", 0, 1, 2)]
    assert table.rows[0][5:] == ("0.700 (d, 2, k = 1)", None)
    assert table.rows[1][5:] == (None, "0.200 (d, 2, k = 1)")


def test_what_has_been_run_in_part_is_left_out() -> None:
    rows = [replace(row(entry, 0.3), data=data) for data in ("a", "b") for entry in ("levelwise", "exponential")]
    part = answers(rows[:-1]) | {"not_done": list(answers(rows[-1:])["answers"])}
    assert {(one.data, one.entry) for one in complete_rows(part)} == {("a", "levelwise"), ("b", "levelwise")}
    assert len(complete_rows(answers(rows))) == 4
    # What was begun of neither, or at another budget, does not matter.
    other = [replace(one, epsilon=0.5) for one in rows]
    assert len(complete_rows(answers(rows) | {"not_done": list(answers(other)["answers"])})) == 4


def test_users_have_levelwise_beside_the_best_of_ours() -> None:
    rates = {"levelwise": 0.3, WITH_ITEMS: 0.1, "limited-domain": 0.2, "exponential": 0.15}
    rows = [replace(row(entry, rates.get(entry, 0.9)), unit="user") for entry in tasks.OURS]
    told = {section.title: section for section in sections(answers(rows))}
    section = told["By user: levelwise against the best of ours"]
    unlisted, listed = (table.rows for table in section.tables)
    assert unlisted == (("d", "add-remove", "2", "0.300, 0.200 (limited-domain) more"),)
    assert listed == (("d", "add-remove", "2", "0.100, 0.150 (exponential)"),)
    assert "levelwise misses more than the best of the others of ours, without a list of items, in 1 of 1" in (
        section.reading
    )
    forms = told["Levelwise told the items, and without supports"].tables[0]
    assert forms.rows == (("user", "add-remove", "levelwise", 0.3), ("user", "add-remove", WITH_ITEMS, 0.1))


def test_keys_and_rows() -> None:
    name = key("shop", (1, 2, 3), "exponential, size only", "user", "replace-one", 0.5, 1e-8)
    (found,) = rows_of({"answers": {name: [{"k": 5, "fnr": 0.1}]}})
    assert (found.data, found.sizes, found.entry, found.unit) == ("shop", "1-3", "exponential, size only", "user")
    assert (found.neighbors, found.epsilon, found.delta, found.k) == ("replace-one", 0.5, 1e-8, 5)


def test_users_and_replaced_units_have_sections_of_their_own() -> None:
    basket = [row(entry, 0.3) for entry in tasks.ENTRIES]
    told = {section.title: section for section in sections(answers(basket))}
    assert not {"By user", "One basket replaced"} & set(told)
    by_user = [replace(one, unit="user", data="u") for one in basket if one.entry not in tasks.BY_BASKET_ONLY]
    replaced = [
        replace(one, neighbors="replace-one", found=row(one.entry, 0.7 if one.entry == "distance" else 0.4).found)
        for one in basket
    ]
    apart = {section.title: section for section in sections(answers([*basket, *by_user, *replaced]))}
    for title, section in told.items():
        if title not in ("What was measured", "Levelwise told the items, and without supports"):
            assert apart[title] == section, "what is of baskets does not mix with the others"
    table, *_ = apart["By user"].tables
    assert [line[0] for line in table.rows] == [e for e in tasks.ENTRIES if e not in tasks.BY_BASKET_ONLY]
    (compared,) = apart["One basket replaced"].tables
    lines = {line[0]: line[1:] for line in compared.rows}
    assert lines["distance"] == (0.3, 0.7)
    assert lines["levelwise"] == (0.3, 0.4)
    assert "costs most for distance (0.400 more is missed" in apart["One basket replaced"].reading
    assert "One user with all their baskets replaced" not in apart


def test_tasks_of_users(tmp_path: Path) -> None:
    built, _ = compare.build(Options(None, quick=True))
    by_user = [task for task in built if task.arguments["source"].by_user]
    assert by_user
    for task in built:
        unit, neighbors = task.key.split("/")[3:5]
        assert (unit == "user") == task.arguments["source"].by_user
        assert neighbors == task.arguments["neighbors"]
    assert not {task.key.split("/")[2] for task in by_user} & set(tasks.BY_BASKET_ONLY)
    shop = Source("online_retail", "", tmp_path / "none", (("basket", "InvoiceNo"), ("item", "StockCode")))
    found = user_sources({"online_retail": shop, "retail": replace(shop, name="retail")})
    assert {name: dict(one.columns)["user"] for name, one in found.items()} == {"online_retail_customers": "CustomerID"}


def test_nothing_to_read() -> None:
    (section,) = sections({"answers": {}})
    assert "No data set was found" in section.reading


def test_measures_of_the_authors_of_privbasis_by_hand() -> None:
    # A list of three has one of the two of support 5, by lot: who releases both hits it once, who releases one by half.
    true = np.array([[9, 5, 5], [9, 7, 5], [ABSTAINED] * 3])
    noisy = np.array([[18.0, 5, 5], [0, 7, 10], [0, 0, 0]])
    found = privbasis_grid.as_theirs(Releases(true, noisy), ((9, 1), (7, 1), (5, 2)), 3)
    assert found["fnr_listed"] == pytest.approx(1 - (2 + 2.5 + 0) / 9)
    assert found["error"] == pytest.approx((0 + 1) / 2)  # medians of 1, 0, 0 and of 1, 0, 1; nothing was released last
    of_nothing = privbasis_grid.as_theirs(Releases(np.full((1, 2), ABSTAINED), np.zeros((1, 2))), ((9, 3),), 2)
    assert of_nothing == {"fnr_listed": 1.0, "error": None}
    made_up = privbasis_grid.as_theirs(Releases(np.array([[0]]), np.array([[3.0]])), ((9, 1),), 1)
    assert made_up == {"fnr_listed": 1.0, "error": 3.0}


def test_losses_to_privbasis_are_said() -> None:
    def answer(fnr: float, error: float | None) -> dict[str, Any]:
        return {"fnr": fnr, "fnr_listed": fnr, "error": error, "abstained": 0.25, "trials": 20}

    found = {
        privbasis_grid.PURE: [answer(0.5, 0.2), answer(0.1, 0.2)],
        privbasis_grid.DEFAULT: [answer(1.0, None), answer(0.1, 0.3)],
        privbasis_grid.ZCDP: [answer(0.4, 0.2), answer(0.1, 0.1)],
        privbasis_grid.LISTED: [answer(0.3, 0.1), answer(0.2, 0.1)],
    }
    given = {
        f"retail/50/{entry}/{epsilon}": one
        for entry, both in found.items()
        for epsilon, one in zip((0.1, 1.0), both, strict=True)
    }
    told = {section.title: section for section in privbasis_grid.sections({"answers": given})}
    missed = told["Who misses less"].reading
    default = (
        "permute-and-flip (δ = 0) misses less than PrivBasis, pure (δ = 0) at 0 of 2 settings, as much at 1, and more"
    )
    assert f"{default} at 1: retail, k = 50 (ε = 0.1)." in missed
    listed = "levelwise, catalogue (δ = 1e-06) misses less than PrivBasis, zCDP (δ = 1e-06) at 1 of 2 settings, as much"
    assert f"{listed} at 0, and more at 1: retail, k = 50 (ε = 1)." in missed
    errors = told["Relative error of supports"]
    assert "errs less than PrivBasis, pure (δ = 0) at 0 of 1 settings, as much at 0, and more at 1" in errors.reading
    assert errors.tables[0].rows[1][3:] == (None, 0.3)
    assert errors.tables[1].rows[0][3:] == (0.75, 0.75)
    (nothing,) = privbasis_grid.sections({"answers": {}})
    assert "No data set was found" in nothing.reading


def test_what_is_said_of_delta_0_is_so(tmp_path: Path) -> None:
    # What is taken by default there; that levelwise has no such form; and that kosarak is said to be missing.
    listed = Catalogue(read_catalogue(list(range(9))))
    assert choose(Fraction(0), (1, 2), listed, several=True, capped=False)[0] == privbasis_grid.DEFAULT
    with pytest.raises(ParameterError, match="delta"):
        check_delta(Fraction(0), "levelwise", listed=True)
    (tmp_path / "retail.parquet").touch()
    built, missing = privbasis_grid.build(Options(tmp_path))
    assert len(built) == 2 * len(privbasis_grid.ENTRIES) * len(privbasis_grid.EPSILONS)
    assert [line.split()[0] for line in missing] == ["mushroom", "kosarak"]
    (tmp_path / "kosarak.parquet").touch()
    more, _ = privbasis_grid.build(Options(tmp_path))
    assert not [task for task in more if task.key.startswith(f"kosarak/100/{privbasis_grid.DEFAULT}/")]
    assert [task for task in more if task.key.startswith(f"kosarak/400/{privbasis_grid.LISTED}/")]


SHOP = (("basket", "order"), ("item", "product"), ("user", "customer"), ("missing_user", "drop"))


def test_halves_hold_every_customer_once(tmp_path: Path) -> None:
    # In no order of rows, with text for numbers: "10" is before "9"; and nobody's rows are in no half.
    rows = [("9", 1, "a"), ("10", 2, "b"), ("", 3, "c"), ("11", 4, "d"), (None, 5, "e"), ("10", 6, "f"), ("12", 7, "g")]
    names = ("customer", "order", "product")
    pq.write_table(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), tmp_path / "shop.parquet")
    shop = Source("shop", "", tmp_path / "shop.parquet", SHOP)
    for which, customers_of in enumerate((["10", "12"], ["11", "9"])):
        every_user(shop, tmp_path / f"{which}.parquet", which, 2)
        table = pq.read_table(tmp_path / f"{which}.parquet")
        assert sorted(set(table["customer"].to_pylist())) == customers_of
        assert set(table.to_pylist()[0]) == set(names)
        assert transactions(replace(shop, path=tmp_path / f"{which}.parquet")).units == 2
    assert pq.read_table(tmp_path / "0.parquet")["product"].to_pylist() == ["b", "f", "g"]


def test_the_default_is_run_with_seeds_and_held_against_true_supports() -> None:
    asked: dict[str, Any] = {"counts": [3], "epsilon": 50.0, "delta": 1e-6, "neighbors": "add-remove", "trials": 2}
    [sure] = runs.by_default(corner_shop(), (1,), True, **asked, seed=1)
    assert (sure["fnr"], sure["abstained"], sure["trials"]) == (0, 0, 2)
    assert sure["error_95"] < 0.01
    assert sure["mechanism"] == "exponential"  # three items of a list are picked
    [unsure] = runs.by_default(corner_shop(), (1, 2), False, **{**asked, "epsilon": 0.01, "counts": [20]}, seed=1)
    assert unsure["fnr"] > 0.5
    assert unsure["mechanism"] == "levelwise"


def test_items_are_counted_once_for_all_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    whole = LocalItems.level_sums

    def counting(self: LocalItems, scale: int, most: int) -> Any:
        counted.append((scale, most))
        return whole(self, scale, most)

    monkeypatch.setattr(LocalItems, "level_sums", counting)
    source = replace(corner_shop(), name="counted once")
    asked = (source, (2,), "levelwise", 20, 1.0, 1e-6, "add-remove")
    first, second = (runs.run(*asked, [1, 2, 3]) for _ in range(2))
    assert len(counted) == 1
    assert first.true.tolist() == second.true.tolist(), "what is counted once is not changed by a run"


def of_customers(rates: dict[str, float], part: str = "whole", neighbors: str = "add-remove") -> dict[str, Any]:
    return {
        key(f"shop, {part}", (2,), entry, "user", neighbors, 1.0, 1e-6): [
            {"k": 50, "fnr": rate, "low": rate, "high": rate, "mechanism": "levelwise"}
        ]
        for entry, rate in rates.items()
    }


def test_losses_by_customer_are_said() -> None:
    rates = {customers.DEFAULT: 0.3, customers.PICKS: 0.2, customers.HISTOGRAM: 0.4, customers.WITH_LIST: 0.1}
    found = of_customers(rates) | of_customers({customers.DEFAULT: 1.0, customers.PICKS: 1.0}, "half 1")
    told = {section.title: section for section in customers.sections({"answers": found})}
    lost = told["Where the tool loses, and to whom"]
    assert "- fim-private misses more than limited-domain at 1 of 1 settings.\n" in lost.reading
    assert f"- fim-private misses more than {customers.HISTOGRAM} at 0 of 1 settings." in lost.reading
    assert "- fim-private, list misses more than limited-domain at 0 of 1 settings." in lost.reading
    where = ("2", "1", "add-remove", 50)
    assert lost.tables[0].rows == ((customers.DEFAULT, customers.PICKS, "shop", "whole", *where, 0.3, 0.2),)
    alone, every = told["Pairs of customers"].tables
    assert alone.rows == (("shop, k = 50", "0.300", None, "0.100", None),)
    assert [line[2:] for line in every.rows] == [
        (customers.DEFAULT, "no", 0.3),
        (customers.PICKS, "no", 0.2),
        (customers.HISTOGRAM, "no", 0.4),
        (customers.WITH_LIST, "yes", 0.1),
    ], "one half is no halves"
    assert "at 0 of 1 settings" in told["Where nearly all is missed"].reading
    found |= of_customers({customers.DEFAULT: 0.9}, "half 2")
    told = {section.title: section for section in customers.sections({"answers": found})}
    every = told["Pairs of customers"].tables[1]
    assert every.columns[4:] == ("whole: k = 50", "halves: k = 50")
    assert every.rows[0][4:] == (0.3, 0.95)
    nearly = told["Where nearly all is missed"]
    assert "- fim-private: at 1 of 2 settings." in nearly.reading
    assert nearly.tables[0].rows == ((customers.DEFAULT, "shop", "halves", *where, 0.95),)


def test_a_pick_by_default_does_not_lose_to_itself() -> None:
    found = of_customers({customers.DEFAULT: 0.3, customers.PICKS: 0.2})
    [(own, rows)] = [(name, rows) for name, rows in found.items() if customers.DEFAULT in name]
    found[own] = [{**rows[0], "mechanism": customers.PICKS}]
    told = {section.title: section for section in customers.sections({"answers": found})}
    lost = told["Where the tool loses, and to whom"].reading
    assert "more than limited-domain at 0 of 0 settings. At 1 more it is that mechanism itself." in lost
    (nothing,) = customers.sections({"answers": {}})
    assert "No data set was found" in nothing.reading


def test_tasks_of_customers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        customers, "half", lambda source, which: replace(source, name=f"{source.name}, half {which + 1}")
    )
    (tmp_path / "valued_shoppers.parquet").touch()
    found, missing = shops(tmp_path)
    assert dict(found["valued_shoppers_customers"].columns)["user"] == "customer"
    assert not {line.split()[0] for line in missing} - {"online_retail", "complete_journey"}
    built, _ = customers.build(Options(tmp_path, only=("valued_shoppers_customers",)))
    # Whole and two halves: pairs at three ε, and three more kinds of sizes at ε = 1, by relation and entry.
    assert len({task.key for task in built}) == len(built) == 3 * (3 + 3) * 2 * len(customers.ENTRIES)
    assert all(task.arguments["trials"] == 10 for task in built[:4] if task.function is runs.by_default)
    for task in built:
        assert task.arguments["neighbors"] == task.key.split("/")[4]
        assert task.arguments["source"].by_user


@pytest.mark.full
@pytest.mark.parametrize("name", ["mushroom", "retail"])
def test_no_larger_itemset_is_among_the_highest(name: str) -> None:
    source = real_sources(real_data(f"{name}.parquet").parent)[0][name]
    least = privbasis_grid.highest(source, 110)[-1][0]
    spectrum = itemset_spectrum(transactions(source), privbasis_grid.SIZES[-1] + 1)
    assert next(iter(spectrum.levels()))[0] < least


def test_peers_get_the_stream_of_picks() -> None:
    ours, theirs = np.random.default_rng([2014, 1]), np.random.default_rng(peer_tasks.seed_of_picks(2014))
    assert ours.random(4).tolist() == theirs.random(4).tolist()


@pytest.mark.full
def test_every_k_has_its_own_cut(tmp_path: Path) -> None:
    # Cut to two by label, the first pair alone clears the threshold; all six need more baskets and the cap of 4.
    pytest.importorskip("opendp", reason="opendp is not installed")
    from benchmarks.peers.best_cut import best_cuts

    path = tmp_path / "four.dat"
    path.write_text("1 2 3 4\n" * 80 + "1 2\n" * 5)
    cuts = best_cuts(Source("four", "", path), (2,), [1, 6], 1.0, 1e-6)
    assert (cuts[1].items, cuts[6].items) == (2, 4)
