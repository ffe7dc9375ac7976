"""The engine on a real local Spark: the same releases, under a seed, as on one machine."""

import datetime
import json
import os
import re
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from patience import program, python
from real_data import CORNER_SHOP, real_data
from spark_cluster import JAVA, REQUEST
from typer.testing import CliRunner

import fim_private as fim
from fim_private.counting import Effort
from fim_private.counting.source import UNKNOWN, Catalogue, SizedUniverse
from fim_private.reading.options import Reading
from fim_private.reading.purchases import read_catalogue
from fim_private.reading.where import where_of
from fim_private.request.scope import Scope
from fim_private.run.engines import Engine
from fim_private.spark import purchases
from fim_private.spark.dataframes import INSTANT, is_query
from fim_private.spark.tasks import spark_call

pytestmark = [
    pytest.mark.full,
    pytest.mark.every_case,
    pytest.mark.filterwarnings("ignore::fim_private.PrivacyWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
SETTINGS = {
    # A task may fail four times, as on a cluster: in plain local mode the first failure is the
    # last.
    "spark.master": "local[2,4]",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session of Spark in this process."""
    assert shutil.which("java"), "Spark needs Java 17 (Debian: openjdk-17-jre-headless)"
    from fim_private.spark.dataframes import session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", JAVA)
        started = session(SETTINGS)
    yield started
    started.stop()


@pytest.fixture(autouse=True)
def many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many tasks as Spark is told to use, however little there is to do."""
    monkeypatch.setattr(purchases, "FEWEST_ENTRIES", 1)


def sales() -> pa.Table:
    """Rows of sales: users with many baskets, nulls in each column, items that repeat."""
    generator, baskets = np.random.default_rng(5), 400
    sizes = generator.integers(1, 7, baskets)
    basket = np.repeat(np.arange(baskets), sizes)
    user = np.minimum(generator.geometric(0.08, baskets), 60)[basket]
    items = np.minimum(generator.zipf(1.4, len(basket)), 40)
    stores = generator.integers(0, 3, baskets)[basket]
    rows = generator.permutation(len(basket))
    ids, sold = basket[rows].tolist(), items[rows].tolist()
    texts = [f"{one}" if one % 3 else f" i{one} " for one in sold]
    return pa.table(
        {
            "user": [None if n == 3 else f"c{n}" if n % 7 else " " for n in user[rows].tolist()],
            "basket": [None if place % 97 == 0 else one for place, one in enumerate(ids)],
            "item": [None if place % 50 == 0 else one for place, one in enumerate(texts)],
            "store": [f"s{one}" for one in stores[rows]],
            "amount": [float(one) for one in generator.integers(1, 9, len(basket))],
            # Of some baskets the rows are of two days, the earlier of which counts.
            "date": [f"{1 + one % 28}/{11 + one % 2}/2026" for one in ids],
            "day": [f"2026-11-{1 + (7 * n + place % 2) % 28:02}" for place, n in enumerate(ids)],
        }
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a file of several row groups."""
    path = tmp_path_factory.mktemp("sales") / "sales.parquet"
    pq.write_table(sales(), path, row_group_size=300)
    return path


OF_USERS: Any = {"user": "user", "missing_user": "drop", "basket": "basket", "item": "item"}
OF_USERS |= {"units": 10**6}  # so that a few itemsets are selected one by one
# With so few rows only a large ε releases anything.
MUCH: Any = {"epsilon": 20, "delta": 1e-3, "seed": 1}
CODES = [*map(str, range(41)), "i3", "i6", "i99"]
LABELS = pa.table({"code": CODES, "label": [f"label {place // 2}" for place in range(len(CODES))]})
REQUESTS: Any = {
    "own unit": OF_USERS | {"missing_user": "own-unit", "size": "1-2", "top": 3, "supports": True},
    "levelwise of users": OF_USERS | {"top": 20, "size": "1-3", "mechanism": "levelwise", "supports": True},  # noqa: E501
    "users together": OF_USERS | {"top": 9, "size": "1-3", "mechanism": "levelwise", "together": "user",  # noqa: E501
        "supports": True},
    "rules of users": OF_USERS | {"top": 9, "rules": True, "missing_user": "own-unit", "catalogue": CODES},  # noqa: E501
    "segments of users": OF_USERS | {"by": "store", "segments": "s2,s0", "top": 9, "size": "1-3",
        "mechanism": "levelwise", "together": "user"},
    "known": OF_USERS | {"top": 9, "size": "1-3", "known": [["7", 1], ["i3", "i99"], ["2", "4", "5"], ["nothing"]],  # noqa: E501
        "rules": True},
    "with an item": OF_USERS | {"top": 9, "size": "2-3", "with_items": ["2"]},
    "periods": {"basket": "basket", "item": "item", "time": "day", "period": "week", "periods": "2026-W45..2026-W47",  # noqa: E501
        "where": "amount > 2", "top": 2},
    "dates in texts": {"basket": "basket", "item": "item", "where": ("date >= '2026-11-15' and "
                                                                    "item not like '_2%'"),
        "time_format": "%d/%m/%Y", "top": 2},
    "baskets by their day": OF_USERS | {"basket": ["user", "date"], "time": "date", "time_format": "%d/%m/%Y",  # noqa: E501
        "period": "2026-11", "top": 2},
    "a user's week": OF_USERS | {"time": "day", "per": "week", "period": "2026-11", "top": 2},
    "labels": OF_USERS | {"size": 1, "top": 9, "supports": True, "catalogue": LABELS, "catalogue_item": "code",  # noqa: E501
        "catalogue_label": "label"},
    "names nobody has": {"basket": "basket", "item": ["store", "item"], "mechanism": "exponential", "top": 9,  # noqa: E501
        "catalogue": [*"abcdefghi"]},
    "no names": {"basket": "basket", "item": "item", "mechanism": "exponential", "universe_size": 50, "top": 2},  # noqa: E501
    "capped": OF_USERS | {"mechanism": "choosing", "max_basket": 3, "max_baskets": 2},
    "least support": OF_USERS | {"min_support": 5, "size": "1-3"},
    "replaced": {"basket": "basket", "item": "item", "top": 5, "rules": True, "neighbors": "replace-one"},  # noqa: E501
    "scope": OF_USERS | {"exclude": [1, "i3", "nothing"], "min_basket": 2, "together": "user", "top": 3},  # noqa: E501
    "where": OF_USERS | {"where": "store <> 's1' and amount >= 3", "top": 2},
    "users and baskets of two columns": OF_USERS | {"basket": ["user", "amount"], "top": 3, "exclude": [1, "I3"],  # noqa: E501
        "fold_case": True},
    "segments": OF_USERS | {"by": "store", "segments": "s2,s0,none", "max_segments": 2, "top": 2, "supports": True},  # noqa: E501
    "segments of baskets": {"basket": "basket", "item": "item", "by": "store", "segments": "s2,s0", "top": 2},  # noqa: E501
}  # fmt: skip


def assert_same(file: Path, **request: Any) -> None:
    there = fim.mine(str(file), engine="spark", **request)
    assert there.to_dict() == fim.mine(file, **request).to_dict()


@pytest.mark.parametrize("name", REQUESTS)
def test_releases_are_those_of_one_machine(spark: Any, file: Path, name: str) -> None:
    assert_same(file, **MUCH | REQUESTS[name])


def test_a_dataframe_is_a_product_list(spark: Any, file: Path) -> None:
    request: Any = MUCH | REQUESTS["labels"]
    listed = spark.createDataFrame(LABELS.to_pylist())
    here = fim.mine(str(file), engine="spark", **request | {"catalogue": listed})
    assert here.to_dict() == fim.mine(file, **request).to_dict()
    with pytest.raises(fim.ParameterError, match=r"^items_are_public is for engine local"):
        fim.mine(str(file), engine="spark", **OF_USERS, items_are_public=True)


def test_cells_are_split_and_letters_folded_as_on_one_machine(spark: Any, tmp_path: Path) -> None:
    cells = ["Tea, milk,1", "['TEA', 'jam']", "milk", None, " jam ,Null, 1"]
    columns = {"b": [n // 3 for n in range(900)], "cells": [cells[n % 5] for n in range(900)]}
    pq.write_table(pa.table(columns), path := tmp_path / "cells.parquet", row_group_size=200)
    keys: Any = {"basket": "b", "item": "cells"}
    request: Any = MUCH | keys | {"top": 3, "catalogue": ["TEA", "Milk", "jam", "1"]}
    request |= {"split": ",", "fold_case": True, "supports": True}
    assert_same(path, **request)
    assert {*fim.mine(path, **request)[0].items} <= {"tea", "milk", "jam", "1"}
    said = "column 'cells' of .* say split ',', or input_format long"
    for engine in ("local", "spark"):
        with pytest.raises(fim.DataError, match=said):
            fim.mine(str(path), engine=engine, **keys)
        long = MUCH | keys | {"input_format": "long", "size": 1}
        assert fim.mine(str(path), engine=engine, **long)


@pytest.fixture
def setting(spark: Any) -> Iterator[Callable[[str, Any], None]]:
    """Sets a setting of the session, until the test ends."""
    before: dict[str, Any] = {}

    def set_to(name: str, value: Any) -> None:
        before.setdefault(name, spark.conf.get(name))
        spark.conf.set(name, value)

    yield set_to
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.parametrize(("partitions", "adaptive"), [(1, True), (7, False), (200, True)])
def test_partitions_and_plans_change_nothing(
    setting: Callable[[str, Any], None], file: Path, partitions: int, adaptive: bool
) -> None:
    setting("spark.sql.shuffle.partitions", partitions)
    setting("spark.sql.adaptive.enabled", adaptive)
    request = MUCH | OF_USERS | {"missing_user": "own-unit", "top": 3}
    assert_same(file, **request | {"mechanism": "limited-domain"})


@pytest.mark.parametrize(
    "universe",
    [UNKNOWN, Catalogue(read_catalogue([*map(str, range(20)), "i3"])), SizedUniverse(4)],
    ids=["unknown", "catalogue", "sized"],
)
@pytest.mark.parametrize("capped", [False, True])
def test_spectra(spark: Any, monkeypatch: Any, file: Path, universe: Any, capped: bool) -> None:
    """Read in many rounds on Spark, and at once here."""
    from fim_private.counting import source as lazy_levels
    from fim_private.spark import source as spark_counter

    reading = Reading("user", ("basket",), ("item",), None, "own-unit", where=where_of("amount>1"))
    found = []
    for engine in ("local", "spark"):
        named = Engine.of(str(file), {"engine": engine})
        with named.opened(reading, Scope(), Effort()) as (opened,):
            source = opened.source.capped(2, 1) if capped else opened.source
            spectra = [source.spectrum(size, universe) for size in (1, 2, 4, [2, 3])]
            found.append((source.units, [[*spectrum.levels()] for spectrum in spectra]))
        monkeypatch.setattr(lazy_levels, "_FIRST_ITEMSETS", 3)
        monkeypatch.setattr(lazy_levels, "_MORE_ITEMSETS", 20)
        monkeypatch.setattr(spark_counter, "_FIRST_ITEMS", 2)
    assert found[0] == found[1]


def test_lists_without_keys_and_lists_of_users(spark: Any) -> None:
    lists = [["b", "a"], None, ["a", None, "b", "a"], [], ["c", "007", "7"]] * 90
    table = pa.table({"u": ([*range(45), None] * 10)[: len(lists)], "items": lists})
    with spark_call():
        made = spark.createDataFrame(table.to_pandas(), "u double, items array<string>")
        frame = made.repartition(5)
    of_users = {"user": "u", "missing_user": "drop"}
    for more in ({"items": "items"}, of_users | {"missing_user": "own-unit"}, of_users):
        request: Any = MUCH | more | {"top": 2, "supports": True, "size": "1-2"}
        assert fim.mine(frame, **request).to_dict() == fim.mine(table, **request).to_dict()
    given: Any = of_users | {"itemsets": [["a", "b"], ["7"], ["zzz"]], "seed": 2}
    assert fim.count(frame, **given).to_dict() == fim.count(table, **given).to_dict()


def test_integers_in_print_are_as_on_one_machine(spark: Any) -> None:
    ways, rows = ["{}", "{}.0", " {}.00 ", "0{}", "{}.5"], range(1500)
    table = pa.table(
        {
            "u": [ways[n % 5].format(n // 10) for n in rows],
            "b": [ways[n % 3].format(n // 6) for n in rows],
            "i": [ways[n % 4].format(n % 7) for n in rows],
        }
    )
    with spark_call():
        frame = spark.createDataFrame(table.to_pandas()).repartition(5)
    for more in ({"basket": "b"}, {"user": "u", "basket": "b"}, {"basket": ["u", "b"]}):
        request: Any = MUCH | {"item": "i", "top": 5, "supports": True, "size": "1-2"} | more
        assert fim.mine(frame, **request).to_dict() == fim.mine(table, **request).to_dict()


def test_tables_views_queries_folders_and_text(spark: Any, file: Path, tmp_path: Path) -> None:
    request: Any = MUCH | OF_USERS | {"top": 2}
    expected = fim.mine(file, **request).to_dict()
    queried = expected | {"query": True}
    frame = spark.read.parquet(str(file))
    frame.createOrReplaceTempView("sales_view")
    query = "select user, basket, item from data where amount > 0"
    asked: Any
    for asked in ({}, {"query": query}):
        found = fim.mine("sales_view", engine="spark", **asked, **request)
        assert found.to_dict() == queried
    assert fim.mine(frame, **request).to_dict() == expected
    frame.write.partitionBy("store").parquet(str(tmp_path / "parts"))
    more: Any
    for more in ({}, {"where": "store = 's1'"}):
        found = fim.mine(tmp_path / "parts", engine="spark", **request, **more)
        assert found.to_dict() == fim.mine(file, **request, **more).to_dict()
    assert not spark.catalog.tableExists("data")
    frame.createTempView("data")
    try:
        with pytest.raises(fim.ParameterError, match="this session has a table of that name: drop"):
            fim.mine(frame, query=query, **request)
    finally:
        spark.catalog.dropTempView("data")


def test_columns_of_any_type_and_name(setting: Callable[[str, Any], None], tmp_path: Path) -> None:
    rows = range(300)
    instants = [1_700_000_000_000_000 + 86_400_000_000 * (place % 9) for place in rows]
    table = pa.table(
        {
            "us`er.x y": [float(place % 20) if place % 9 else -0.0 for place in rows],
            "kind": ["A"] * 300,
            "item": [f"i{place % 4}" for place in rows],
            "failure": ['["DataError","hi"]'] * 300,
            "when": pa.array(instants, INSTANT),
            "amount": pa.array([place % 5 for place in rows]).cast(pa.decimal128(21, 2)),
            "basket": rows,
        }
    )
    pq.write_table(table, path := tmp_path / "odd.parquet")
    odd: Any = MUCH | {"user": "us`er.x y", "basket": "basket", "size": 1, "top": 3}
    setting("spark.sql.session.timeZone", "Asia/Tokyo")
    for more in (
        {"item": "item"},
        {"item": ["kind", "failure"]},
        {"item": "item", "where": "failure <> 'x' and when >= '2023-11-16' and amount > 1.5"},
        {"item": "when"},
        {"item": "item", "user": "when"},
    ):
        assert_same(path, **odd | {"supports": True} | more)


def test_what_spark_raises_is_one_line_without_data(spark: Any, file: Path, tmp_path: Path) -> None:
    broken, text = tmp_path / "broken.parquet", tmp_path / "sales.csv"
    broken.write_bytes(file.read_bytes()[:-9] + b"123456789")
    text.write_text("basket,item\nb,SECRET\n")
    secret = "concat('SECRET', id)"
    with spark_call():
        casting = spark.range(9).selectExpr(f"{secret} u", f"cast({secret} as int) b", "id i")
    for data, options in ((broken, {}), (casting, {"user": "u"}), (text, {})):
        request: Any = {"basket": "b", "item": "i", "seed": 1} | options
        with pytest.raises(fim.DataError) as error:
            fim.mine(data, engine="spark", **request)
        assert "Spark" in str(error.value)
        assert "SECRET" not in str(error.value)
        assert "\n" not in str(error.value)


def test_nothing_is_left_in_the_session(spark: Any, file: Path) -> None:
    partitions = "spark.sql.shuffle.partitions"
    request: Any = MUCH | OF_USERS | {"engine": "spark"}

    def state() -> tuple[int, dict[str, str], str]:
        settings = dict(spark.sparkContext.getConf().getAll())
        # Spark itself notes it when a table is first asked for
        settings.pop("spark.sql.warehouse.dir", None)
        kept = int(spark.sparkContext._jsc.getPersistentRDDs().size())
        return kept, settings, spark.conf.get(partitions)

    before = state()
    fim.mine(str(file), **request)
    with pytest.raises(fim.DataError, match="without a user"):
        fim.mine(str(file), **request | {"missing_user": None})
    assert state() == before
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(fim.mine(str(file), **request)))
    thread.start()
    thread.join()
    assert len(found) == 1
    assert state()[1:] == before[1:]
    said = "the session that runs already has another setting"
    with pytest.raises(fim.ParameterError, match=said):
        fim.mine(str(file), spark_conf={partitions: "9"}, **request)


@pytest.mark.parametrize(
    "more", [{"size": 3}, {"top": 20, "mechanism": "levelwise", "supports": True}]
)
def test_online_retail(spark: Any, more: Any) -> None:
    request: Any = {"user": "CustomerID", "missing_user": "drop", "basket": "InvoiceNo"}
    path = real_data("online_retail.parquet")
    assert_same(path, **request | {"item": "StockCode", "seed": 1} | more)


def test_a_task_that_fails_and_runs_again_changes_nothing(
    spark: Any, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind of task is lost once, after its work: noise is drawn here, and not again."""
    from fim_private.spark import tasks

    lost = tmp_path / "lost"
    lost.mkdir()

    guarded = tasks.guarded

    def losing(task: Any, schema: pa.Schema) -> Any:
        made = guarded(task, schema)
        marker = lost / getattr(getattr(task, "func", task), "__name__", "other")

        def rows(batches: Any) -> Any:
            done = list(made(batches))
            if done and not marker.exists():
                marker.touch()
                raise RuntimeError("this worker is lost")
            yield from done

        return rows

    monkeypatch.setattr(tasks, "guarded", losing)
    request: Any = MUCH | REQUESTS["own unit"]
    found = fim.mine(str(file), engine="spark", **request).to_dict()
    monkeypatch.undo()
    assert found == fim.mine(file, **request).to_dict()
    assert len([*lost.iterdir()]) >= 5


LEVELWISE: Any = MUCH | REQUESTS["levelwise of users"] | {"size": "1-2"}
THREES: Any = MUCH | {"size": 3, "top": 3, "mechanism": "exponential"}
THREES["catalogue"] = [*map(str, range(1, 20))]


def switched(spark: Any, file: Path, column: str, switch: Path) -> Any:
    """The rows of a file, without some of them as soon as there is a switch."""
    from pyspark.sql import functions

    with spark_call():
        frame = spark.read.parquet(str(file))
        stays = lambda value: "2" not in (value or "") or not switch.exists()  # noqa: E731
        test = functions.udf(stays, "boolean").asNondeterministic()
        return frame.where(test(frame[column]))


def lose_blocks(spark: Any, known: set[int]) -> None:
    """Remove the blocks of all that Spark keeps, which goes on thinking that it has them."""
    context = spark.sparkContext._jsc
    known.update(context.getPersistentRDDs())
    for number in known:
        context.sc().unpersistRDD(number, True)


def before_each_sum(monkeypatch: pytest.MonkeyPatch, done: Any) -> None:
    """Do something before each question to the purchases that are kept."""
    from fim_private.spark import source

    for owner, name in ((purchases.StoredPurchases, "summed"), (source, "collected")):
        ask = getattr(owner, name)

        def asked(*given: Any, ask: Any = ask, **named: Any) -> Any:
            done()
            return ask(*given, **named)

        monkeypatch.setattr(owner, name, asked)


@pytest.mark.parametrize("lost", ["blocks", "plans"])
def test_sums_of_other_rows_are_refused(
    spark: Any, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """The source changes after the purchases were kept, and what was kept is lost."""
    request, column = (THREES, "items") if lost == "blocks" else (LEVELWISE, "item")
    if lost == "blocks":
        file = tmp_path / "lists.parquet"
        lists = [[str(number % 7), str(number % 5 + 7), "19"] for number in range(400)]
        pq.write_table(pa.table({"items": lists}), file)
    switch = tmp_path / "switch"
    known: set[int] = set()
    ledger = fim.Ledger.create(tmp_path / "l.ledger", epsilon=100, delta=0.1)

    def change() -> None:
        switch.touch()
        lose_blocks(spark, known) if lost == "blocks" else spark.catalog.clearCache()

    before_each_sum(monkeypatch, change)
    charged = {name: value for name, value in request.items() if name != "seed"}
    with pytest.raises(fim.DataError, match="changed while they were read") as error:
        fim.mine(switched(spark, file, column, switch), ledger=ledger, dataset="sales", **charged)
    assert "\n" not in str(error.value)
    assert len(ledger.statement().entries) == 1


def test_a_source_that_changes_between_its_readings_is_refused_uncharged(
    spark: Any, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By chance, by a switch, or since the file is written anew with the same items."""
    from pyspark.sql import functions

    again = tmp_path / "again.parquet"

    def write(turn: int) -> None:
        baskets, items = np.arange(800) // 2, np.roll(np.arange(800) % 9, turn)
        table = pa.table({"user": baskets, "basket": baskets, "item": items})
        pq.write_table(table, again, compression="none", use_dictionary=False)

    write(0)
    frame = spark.read.parquet(str(file))
    with spark_call():
        chance = functions.udf(lambda item: os.urandom(1) < b"\xe0", "boolean").asNondeterministic()
        by_chance = frame.where(chance(frame["item"]))
    switch = tmp_path / "switch"
    gathered = purchases._gathered
    fim.Ledger.create(tmp_path / "l.ledger", epsilon=100, delta=0.1)
    request: Any = {"epsilon": 1, "delta": 1e-5, "dataset": "sales"}
    request["ledger"] = fim.Ledger(tmp_path / "l.ledger")
    for source, change in (
        (by_chance, lambda: None),
        (switched(spark, file, "item", switch), switch.touch),
        (str(again), lambda: write(1)),
    ):

        def then(*given: Any, change: Any = change) -> Any:
            change()
            return gathered(*given)

        monkeypatch.setattr(purchases, "_gathered", then)
        with pytest.raises(fim.DataError, match="changed while they were read"):
            fim.mine(source, engine="spark", **(request | OF_USERS))
    assert request["ledger"].statement().entries == ()


@pytest.mark.parametrize(
    ("name", "order"), [("own unit", "repartition"), ("segments of baskets", "rand")]
)
def test_lost_blocks_and_other_orders_change_nothing(
    spark: Any, file: Path, monkeypatch: pytest.MonkeyPatch, name: str, order: str
) -> None:
    from pyspark.sql import functions

    known: set[int] = set()
    lost: Any = spark.catalog.clearCache if order == "rand" else lambda: lose_blocks(spark, known)
    before_each_sum(monkeypatch, lost)
    request: Any = MUCH | REQUESTS[name]
    frame = spark.read.parquet(str(file))
    source = frame.repartition(7) if order == "repartition" else frame.orderBy(functions.rand())
    released = "segments" if "by" in request else "itemsets"
    found, expected = (fim.mine(data, **request).to_dict() for data in (source, file))
    assert found[released] == expected[released]
    assert len(known) >= 2 or order == "rand"


def test_only_numbers_and_chosen_reach_the_driver(spark: Any, file: Path, monkeypatch: Any) -> None:
    from fim_private.spark import source, tasks

    seen: list[pa.Table] = []
    collect = tasks.collected

    def watched(frame: Any) -> pa.Table:
        seen.append(collect(frame))
        return seen[-1]

    for module in (tasks, purchases, source):
        monkeypatch.setattr(module, "collected", watched)
    release = fim.mine(str(file), engine="spark", **MUCH | OF_USERS, top=3, supports=True)
    named = {item for itemset in release.itemsets for item in itemset.items or ()}
    rows = [row for table in seen if "text" in table.column_names for row in table.to_pylist()]
    texts = {row["text"] if row.get("number") is None else row["number"] for row in rows}
    assert named <= texts
    # Levelwise names the items that it finds under noise, more than those of its itemsets.
    assert len(texts - named) < 40
    allowed = "block values check count rows shard answer digest number text"
    assert {name for table in seen for name in table.column_names} <= {*allowed.split()}


@pytest.mark.parametrize(
    ("data", "options", "told"),
    [
        ("nowhere.parquet", {}, "Spark cannot read 'nowhere.parquet' (PATH_NOT_FOUND)"),
        ("no_table", {}, "Spark cannot read 'no_table' (TABLE_OR_VIEW_NOT_FOUND)"),
        ("FILE", {"query": "selec 1"}, ("Spark cannot run query (PARSE_SYNTAX_ERROR): correct it; "
                                       "in it the source is")),
        ("FILE", {"query": "select nope from data"}, "Spark cannot run query (UNRESOLVED_COLUMN"),
        ("FILE", OF_USERS | {"item": "product"}, "has no column 'product'; it has"),
        ("FILE", OF_USERS | {"missing_user": None}, ("has rows without a user; missing_user "
                                                    "'drop' leaves them out")),
        ("FILE", {"delimiter": ";"}, "delimiter"),
        ("FILE", OF_USERS | {"where": "date >= '2026-11-15'"}, ("not all of its values are dates "
                                                               "as 2026-01-31")),
        ("FILE", OF_USERS | {"time": "date", "period": "2026-11", "time_format": "%Y%m%d", "missing_time": "drop"},  # noqa: E501
            "is not written as time_format '%Y%m%d' says"),
        ([["a"]], {}, "engine spark reads a DataFrame of Spark, a table or a path, not a list"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_and_costs_nothing(
    spark: Any, file: Path, tmp_path: Path, data: Any, options: Any, told: str
) -> None:
    given = str(file) if data == "FILE" else data
    ledger = fim.Ledger.create(tmp_path / "l.ledger", epsilon=1, delta=1e-5, composition="basic")
    with pytest.raises(fim.FimPrivateError) as error:
        fim.mine(given, engine="spark", ledger=ledger, dataset="sales", **options)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    assert ledger.statement().entries == ()


def test_one_hot_and_wrong_engines_are_refused(spark: Any) -> None:
    frame = spark.createDataFrame([(True, False)], "tea boolean, milk boolean")
    with pytest.raises(fim.DataError, match="column for each item, which engine spark does not"):
        fim.mine(frame, seed=1)
    with pytest.raises(fim.ParameterError, match="leave out engine: Spark counts a DataFrame"):
        fim.mine(frame, engine="local", seed=1)


def test_on_the_command_line(spark: Any) -> None:
    from fim_private.cli.commands import app

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, [words[0], str(CORNER_SHOP), *words[1:]])

    options = "--size 2 --top 5 --supports --seed 1 --format json --engine"
    one, other = (run("mine", *options.split(), engine).stdout for engine in ("local", "spark"))
    assert json.loads(one) == json.loads(other)
    wrong = run("mine", "--engine", "spark", "--spark-conf", "master=local")
    assert isinstance(wrong.exception, fim.ParameterError)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("count", "--engine", "spark", "--itemset", "bread,milk")


def test_killed_workers_of_a_cluster_change_nothing(file: Path) -> None:
    """Two executors die while it counts, one of which has lost what it kept; speculation is on."""
    cluster = Path(__file__).with_name("spark_cluster.py")
    done = python(cluster, file, SPARK_SUBMIT_OPTS=JAVA)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["killed"] == 2
    assert found["release"] == json.loads(fim.mine(file, **REQUEST).to_json())


DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "spark.md"
SHOWN = re.findall(r"(?ms)^```(sh|python)\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("language", "text"), SHOWN, ids=[text.splitlines()[0][:50] for _, text in SHOWN]
)
def test_what_the_document_shows_runs(language: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "datasets").symlink_to(CORNER_SHOP.parent, target_is_directory=True)
    shown = re.sub(r"(?m)^pip install.*\n", "", text)
    command = ["sh", "-ec"] if language == "sh" else [sys.executable, "-c"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    own = {"PATH": path, "PYSPARK_PYTHON": sys.executable, "SPARK_SUBMIT_OPTS": JAVA}
    done = program(*command, shown, folder=tmp_path, **own)
    assert done.returncode == 0, done.stderr[-2000:]
    if language == "sh":
        assert "bread" in done.stdout or "milk" in done.stdout


# -------------------- what is a query


def test_what_of_spark_is_a_query(spark: Any, file: Path, tmp_path: Path) -> None:
    sales_read = spark.read.parquet(str(file))
    folder = str(tmp_path / "orc")
    sales_read.write.orc(folder)
    text = str(tmp_path / "text")
    sales_read.select("basket", "item").write.csv(text)
    sales_read.write.option("path", str(tmp_path / "kept")).saveAsTable("kept_sales")
    sales_read.createOrReplaceTempView("all_sales")
    spark.sql("create or replace view some_sales as select * from kept_sales where amount > 2")
    try:
        plain = {
            "Parquet": sales_read,
            "ORC": spark.read.orc(folder),
            "cached": spark.read.parquet(str(file)).cache(),
            "alias": sales_read.alias("sales"),
            "in other parts": sales_read.repartition(3),
            "in order": sales_read.repartition(3, "store").orderBy("item"),
            "table": spark.table("kept_sales"),
            "name of a table": "kept_sales",
            "path": str(file),
            "rows": spark.createDataFrame([{"visit": 1, "item": "tea"}]),
            "Arrow": spark.createDataFrame(sales().slice(0, 3)),
        }
        queries = {
            "view": spark.table("some_sales"),
            "name of a view": "some_sales",
            "temporary view": spark.table("all_sales"),
            "name of a temporary view": "all_sales",
            "text": spark.read.csv(text),
            "text without comments": spark.read.csv(text, comment="#"),
            "filter": sales_read.filter("amount > 2"),
            "limit": sales_read.limit(3),
            "sample": sales_read.sample(0.5, seed=1),
            "projection": sales_read.select("basket", "item"),
            "join": sales_read.join(spark.createDataFrame([{"store": "s1"}]), "store", "left_semi"),
            "select": spark.sql("select * from kept_sales"),
            "distinct": sales_read.distinct(),
        }
        for name, data in (plain | queries).items():
            assert is_query(data, Reading()) == (name in queries), name
        assert is_query(str(file), Reading(query="select * from data"))
    finally:
        spark.sql("drop view some_sales")
        spark.sql("drop table kept_sales")
        spark.catalog.dropTempView("all_sales")


def test_a_view_is_charged_to_all_periods_and_hides_its_number(spark: Any, tmp_path: Path) -> None:
    visits = pa.table(
        {
            "visit": [visit for visit in range(300) for _ in range(2)],
            "item": ["milk", "tea"] * 300,
            "day": [datetime.datetime(2026, month, 10) for month in (1, 2)] * 300,
        }
    )
    pq.write_table(visits, path := tmp_path / "visits.parquet")
    frame = spark.read.parquet(str(path))
    frame.filter("day >= '2026-02-01'").createOrReplaceTempView("since_february")
    asked: Any = {"engine": "spark", "basket": "visit", "item": "item", "size": 1, "top": 2}
    try:
        ledger = fim.Ledger.create(tmp_path / "a.ledger", epsilon=10, delta=1e-3)
        charged = asked | {"time": "day", "ledger": ledger, "dataset": "visits"}
        fim.mine(frame, period="2026-01", **charged)
        fim.mine("since_february", period="2026-02", **charged)
        assert [entry.span and entry.span.period for entry in ledger.entries] == ["2026-01", None]
        table = fim.mine(frame, neighbors="replace-one", **asked)
        view = fim.mine("since_february", neighbors="replace-one", **asked)
    finally:
        spark.catalog.dropTempView("since_february")
    assert (table.units, view.units) == (300, None)
    assert "by any other changes the probability" in table.guarantee
    assert "by any other that the query keeps as well changes the probability" in view.guarantee


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_a_day_is_of_utc_in_any_zone(spark: Any, setting: Any, zone: str, tmp_path: Path) -> None:
    """The last hours of January in UTC are February in Tokyo; times without a zone stay."""
    late = [datetime.datetime(2026, 1, 31, 20), datetime.datetime(2026, 2, 1, 3)]
    kinds = {"zoned": pa.timestamp("us", "UTC"), "plain": pa.timestamp("us")}
    columns = {name: pa.array(late * 200, kind) for name, kind in kinds.items()}
    table = pa.table({"visit": range(400), "item": ["milk"] * 400, **columns})
    pq.write_table(table, path := tmp_path / "times.parquet")
    asked: Any = {"basket": "visit", "item": "item", "size": 1, "count": True, "epsilon": 9}
    setting("spark.sql.session.timeZone", zone)
    for time in kinds:
        periods: list[Any] = [{"time": time, "period": "2026-01"}]
        for own in (*periods, {"where": f"{time} < '2026-02-01'"}):
            here = fim.mine(path, seed=1, **asked, **own).units
            assert abs(here - 200) < 20
            assert fim.mine(spark.read.parquet(str(path)), seed=1, **asked, **own).units == here
