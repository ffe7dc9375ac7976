"""Who counts: each answers with the supports of the most frequent pairs, and is timed from its
session's start on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fim_private as fim
from benchmarks.frame.support_spectra import top_supports
from benchmarks.spark.generated_baskets import expected_support
from fim_private.counting import Effort
from fim_private.dp.neighbors import Neighbors
from fim_private.reading.options import Reading
from fim_private.request.scope import Scope
from fim_private.run.engines import LOCAL as LOCAL_ENGINE
from fim_private.run.engines import SPARK as SPARK_ENGINE
from fim_private.run.engines import Engine
from fim_private.spark.dataframes import session

# So many of the most frequent pairs are asked for; ties count, so that there is one answer.
WANTED = 100
# What is released afterwards: so many pairs, by the default mechanism.
RELEASED = 10
_COMMON = {
    "spark.log.level": "ERROR",  # whoever watches looks in it for what ended a count
    "spark.ui.enabled": "false",
    "spark.driver.memory": "3g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


@dataclass(frozen=True)
class Way:
    """count: of a file and so many baskets, gives the supports of the most frequent pairs.

    engine: of this project, which then makes a release too; None for a peer. settings: of Spark,
    None without.
    """

    count: Callable[[Path, int], list[int]]
    engine: str | None = None
    settings: dict[str, str] | None = None


@dataclass
class Noted:
    """What is noted while it counts. rounds: of how many items, and entries of theirs, each round
    of Spark was.
    """

    rounds: list[tuple[int, int]] = field(default_factory=list)


def _by_engine(engine: str) -> Callable[[Path, int], list[int]]:
    def count(path: Path, baskets: int) -> list[int]:
        named = Engine.of(str(path), {"engine": engine})
        with named.opened(Reading(), Scope(), Effort()) as (opened,):
            assert opened.source.units == baskets
            return top_supports(opened.source.spectrum(2).levels(), WANTED)

    return count


def fpgrowth(path: Path, baskets: int) -> list[int]:
    """Count by MLlib's FPGrowth, which needs a least support: what the last pair is expected to
    have, less some.
    """
    from pyspark.ml.fpm import FPGrowth
    from pyspark.sql import functions

    share = expected_support(WANTED)
    least = max(share - 5 * math.sqrt(share / baskets), 1 / baskets)  # less five standard errors
    model = FPGrowth(itemsCol="items", minSupport=least).fit(session().read.parquet(str(path)))
    pairs = model.freqItemsets.where(functions.size("items") == 2)
    return [
        row["freq"]
        for row in pairs.orderBy(functions.desc("freq")).limit(WANTED).select("freq").collect()
    ]


def self_join(path: Path, baskets: int) -> list[int]:
    """Count by joining each basket's items with each other, as one writes it with DataFrames."""
    from pyspark.sql import functions

    numbered = (
        session()
        .read.parquet(str(path))
        .withColumn("basket", functions.monotonically_increasing_id())
    )
    rows = numbered.select("basket", functions.explode("items").alias("item"))
    one, other = rows.withColumnRenamed("item", "a"), rows.withColumnRenamed("item", "b")
    pairs = one.join(other, "basket").where("a < b").groupBy("a", "b").count()
    return [row["count"] for row in pairs.orderBy(functions.desc("count")).limit(WANTED).collect()]


LOCAL, LOCAL_SPARK, CLUSTER = "local kernel", "Spark, local[2]", "Spark, local-cluster[2,1,2048]"
FPGROWTH, SELF_JOIN = "MLlib FPGrowth, local[2]", "DataFrame self-join, local[2]"
_ONE_PROCESS = _COMMON | {"spark.master": "local[2]"}
_CLUSTER = _COMMON | {"spark.master": "local-cluster[2,1,2048]", "spark.executor.memory": "2g"}
WAYS = {
    LOCAL: Way(_by_engine(LOCAL_ENGINE), LOCAL_ENGINE),
    LOCAL_SPARK: Way(_by_engine(SPARK_ENGINE), SPARK_ENGINE, _ONE_PROCESS),
    CLUSTER: Way(_by_engine(SPARK_ENGINE), SPARK_ENGINE, _CLUSTER),
    FPGROWTH: Way(fpgrowth, None, _ONE_PROCESS),
    SELF_JOIN: Way(self_join, None, _ONE_PROCESS),
}


def counted(name: str, path: Path, baskets: int, folder: Path) -> dict[str, Any]:
    """Count once, and release once more where that can be done, in this process, which has no
    session yet.

    folder: for Spark's files. Returns seconds from the session's start on, and the time at which it
    had counted.
    """
    way = WAYS[name]
    found: dict[str, Any] = {}
    if way.settings is not None:
        log, files = folder / "log", folder / "spark"
        log.mkdir()
        started = session(
            way.settings | {"spark.eventLog.dir": log.as_uri(), "spark.local.dir": str(files)}
        )
        found["versions"] = {"pyspark": started.version, "java": _java(started)}
    with _noted() as noted:
        start = time.perf_counter()
        found["supports"] = way.count(path, baskets)
        found["counting"] = time.perf_counter() - start
        found["counted at"] = time.time()
        found["rounds"] = noted.rounds[:]
    if way.engine is not None:
        start = time.perf_counter()
        release = fim.mine(
            str(path),
            engine=way.engine,
            top=RELEASED,
            supports=True,
            neighbors=Neighbors.REPLACE_ONE,
            seed=1,
        )
        found["release"] = time.perf_counter() - start
        found["released"] = release.to_dict()["itemsets"]
    if way.settings is not None:
        session().stop()
    return found


@contextmanager
def _noted() -> Iterator[Noted]:
    """Note the rounds of the counter on Spark."""
    from fim_private.spark.source import SparkCounter

    noted, counts = Noted(), SparkCounter._round

    def counting(self: SparkCounter, high: int, *given: Any) -> Any:
        noted.rounds.append((high, int(self._supports[:high].sum())))
        return counts(self, high, *given)

    # Nothing outside of the counter has a use for its rounds, so it has no door for them.
    SparkCounter._round = counting  # type: ignore[method-assign,assignment]
    try:
        yield noted
    finally:
        SparkCounter._round = counts  # type: ignore[method-assign]


def _java(started: Any) -> str:
    return str(started.sparkContext._jvm.System.getProperty("java.version"))
