"""Counting on Spark: what it costs beside one machine, from how many baskets on it pays, and how
Spark's own ways do.

The same generated baskets for all, in a Parquet file with a column of lists; each count in a
process of its own, one at a time. What is asked for are the supports of the 100 most frequent
pairs, exactly, which all have to agree on.
"""

from __future__ import annotations

from typing import Any

from benchmarks.frame.study import Options, Results, Section, Study, Task, main
from benchmarks.frame.tables import Cell, Table
from benchmarks.spark.cost_model import (
    by_way,
    crossing,
    done,
    model_section,
    plan_section,
    through_largest,
)
from benchmarks.spark.watched_process import (
    DRIVER,
    DRIVER_JVM,
    EXECUTORS,
    OK,
    READ_SOURCE,
    SHUFFLED,
    SPILLED,
    STAGES,
    TO_DRIVER,
    TOGETHER,
    WORKER,
    measured,
)
from benchmarks.spark.ways import CLUSTER, FPGROWTH, LOCAL, LOCAL_SPARK, SELF_JOIN, WANTED, WAYS

SIZES = (10**5, 10**6, 10**7)
# Seconds that a count may take, with the release that follows.
LIMIT = 900.0
OURS, PEERS = (LOCAL, LOCAL_SPARK, CLUSTER), (FPGROWTH, SELF_JOIN)


def tasks(options: Options) -> tuple[list[Task], list[str]]:
    """Return the counts, the quick ones first; no data set can be missing. A data set's name is its
    baskets.
    """
    sizes = [2000] if options.quick else [size for size in SIZES if options.takes(str(size))]
    ways = (LOCAL, LOCAL_SPARK) if options.quick else tuple(WAYS)
    found = []
    for size in sizes:
        for way in ways:
            given: dict[str, Any] = {
                "way": way,
                "baskets": size,
                "seed": options.seed,
                "limit": LIMIT,
            }
            found.append(Task(f"{way}|{size}", measured, given))
    return found, []


def sections(results: Results) -> tuple[Section, ...]:
    """Return the seconds, the break-even, the bytes and the memory, the peers, and the model with
    its plan.
    """
    return (
        _seconds(results),
        _break_even(results),
        _bytes(results),
        _peers(results),
        model_section(results),
        plan_section(results),
    )


def agreed(results: Results) -> dict[int, bool]:
    """Say for each number of baskets whether all that came to an end gave the same supports, and
    the same release.
    """
    found: dict[int, bool] = {}
    for size in sorted({size for answers in by_way(results).values() for size in answers}):
        ended = [
            answers[size] for answers in map(done, by_way(results).values()) if size in answers
        ]
        supports = {repr(one["supports"]) for one in ended}
        releases = {repr(one["released"]) for one in ended if "released" in one}
        found[size] = len(supports) <= 1 and len(releases) <= 1
    return found


def _seconds(results: Results) -> Section:
    ways = by_way(results)
    rows: list[tuple[Cell, ...]] = []
    for way, answers in ways.items():
        for size, found in answers.items():
            base = done(ways.get(LOCAL, {})).get(size)
            ratio = (
                found["seconds"] / base["seconds"]
                if base is not None and found["status"] == OK
                else None
            )
            times = (found["seconds"], ratio, found.get("counting"), found.get("release"))
            rows.append((way, size, found["status"], *times))
    same = agreed(results)
    wrong = [f"{size:,}" for size, good in same.items() if not good]
    answer = (
        f"They do NOT give the same answer at {', '.join(wrong)} baskets"
        if wrong
        else "All that came to an end gave the same answer"
    )
    told = [
        one["versions"] for found in ways.values() for one in found.values() if "versions" in one
    ]
    reading = (
        f"All look for the supports of the {WANTED} most frequent pairs of generated baskets "
        f"(16,000 items, about 8 in a basket). {answer}. Seconds in all are from the start of the "
        "process, and include the start of Python, of Java and of the session. Seconds of counting "
        "begin when there is a session, and include reading. A release (ten pairs with supports, "
        "by the default mechanism, reading again) follows in the same process. Under one seed "
        "local and Spark release the same. Each figure is of one run, on a machine whose two cores "
        "are all that Spark has here. So it pays for being distributed and gets nothing for it. "
        f"{_versions(told)}{_busy(results)}"
    )
    columns = (
        "way",
        "baskets",
        "how it ended",
        "seconds",
        "times the local kernel",
        "counting",
        "a release more",
    )
    return Section("Seconds", reading, (Table(columns, tuple(rows)),))


def _versions(told: list[dict[str, str]]) -> str:
    return (
        f"Spark {told[0]['pyspark']} on Java {told[0]['java']}." if told else "Spark was not run."
    )


def _busy(results: Results) -> str:
    """Say whether the machine did other things, too."""
    most = max((one["load"] for one in results["answers"].values()), default=0.0)
    return (
        f" Other work was done on the machine: its load was up to {most:.1f} before a count."
        if most > 1.5
        else ""
    )


def _break_even(results: Results) -> Section:
    ways = by_way(results)
    lines = {
        way: through_largest({n: one["seconds"] for n, one in done(answers).items()})
        for way, answers in ways.items()
    }
    local = lines.get(LOCAL)
    rows: list[tuple[Cell, ...]] = []
    for way, line in lines.items():
        if line is None:
            continue
        most = max(done(ways[way]))
        meets: Cell = None
        if local is not None and way != LOCAL:
            at = crossing(line, local)
            meets = (
                f"none: more for each basket, up to {most:,}"
                if at is None
                else f"{at:.3g} baskets (extrapolated)"
            )
        rows.append((way, line.start, 1e6 * line.slope, meets))
    reading = "There are fewer than two numbers of baskets here, and no line through one point."
    if rows:
        reading = (
            "A line through the two largest numbers of baskets that each came to: seconds before "
            "the first basket, and microseconds for each. Where a way takes more for each basket "
            f"than the local kernel, it never breaks even on these two cores.{_cores(lines)} Spark "
            "is for data that is there already, or is too large for one machine: the memory below "
            "says from where on."
        )
    columns = (
        "way",
        "seconds before the first basket",
        "microseconds a basket",
        "breaks even with the local kernel",
    )
    return Section("Break-even", reading, tables=(Table(columns, tuple(rows)),) if rows else ())


def _cores(lines: dict[str, Any]) -> str:
    """Say on how many cores Spark would take as long for each basket as the local kernel does on
    two.
    """
    spark, local = lines.get(LOCAL_SPARK), lines.get(LOCAL)
    if spark is None or local is None or min(spark.slope, local.slope) <= 0:
        return ""
    cores = 2 * spark.slope / local.slope
    return (
        f" Spark needs {cores:.1f} cores to take as long for each basket as the local kernel "
        f"takes on this machine. "
        "That is if cores of a cluster are as fast as these and the work is shared evenly."
    )


def _bytes(results: Results) -> Section:
    rows: list[tuple[Cell, ...]] = []
    tables = []
    for way in OURS:
        for size, found in done(by_way(results).get(way, {})).items():
            log, peaks = found["log"], found["peaks"]
            per = (
                [log[name] / size for name in (READ_SOURCE, SHUFFLED, SPILLED, TO_DRIVER)]
                if way != LOCAL
                else [None] * 4
            )
            stages = log[STAGES] if way != LOCAL else None
            rows.append((way, size, found["file"] / size, *per, stages))
            tables.append((way, size, *(_megabytes(peaks.get(kind)) for kind in _KINDS)))
    reading = (
        "Bytes for each basket, from Spark's own log, and peaks of resident memory, from Linux. "
        f"{_driver(results)}In local[2] the JVM of the driver is the executor too, and keeps the "
        "baskets; in local-cluster it is the driver alone. A JVM takes up to what it may (3 GB for "
        "the driver, 2 GB for each executor) before it tidies up. So its peak says little of what "
        "it needs."
    )
    of_bytes = (
        "way",
        "baskets",
        "bytes of the file",
        "read of the source",
        "shuffled",
        "spilled",
        "to the driver",
    )
    of_memory = ("way", "baskets", *(f"{kind} (MB)" for kind in _KINDS))
    both = (Table((*of_bytes, "stages"), tuple(rows)), Table(of_memory, tuple(tables)))
    return Section("Bytes and memory for each basket", reading, tables=both if rows else ())


_KINDS = (DRIVER, DRIVER_JVM, EXECUTORS, WORKER, TOGETHER)


def _driver(results: Results) -> str:
    """Say how much the driver's memory grows with the baskets."""
    told = []
    for way, kind in (
        (LOCAL, "The local kernel's process"),
        (CLUSTER, "The driver's Python process in local-cluster"),
    ):
        line = through_largest(
            {n: one["peaks"][DRIVER] for n, one in done(by_way(results).get(way, {})).items()}
        )
        if line is not None:
            told.append(f"{kind} grows by {line.slope:,.1f} bytes for each basket")
            if way == LOCAL and line.slope > 0:
                told[-1] += f", so that 64 GB are enough for {(64e9 - line.start) / line.slope:.1e}"
    return (
        f"Growth is measured between the two largest numbers of baskets. {'. '.join(told)}. "
        if told
        else ""
    )


def _megabytes(value: int | None) -> float | None:
    return None if value is None else value / 1e6


def _peers(results: Results) -> Section:
    ways = by_way(results)
    sizes = sorted({size for answers in ways.values() for size in answers})
    rows: list[tuple[Cell, ...]] = []
    for size in sizes:
        for way in (LOCAL_SPARK, *PEERS):
            if (found := ways.get(way, {}).get(size)) is not None:
                memory = _megabytes(found["peaks"].get(TOGETHER))
                given = (found["status"], found["seconds"] if found["status"] == OK else None)
                rows.append(
                    (
                        size,
                        way,
                        *given,
                        found["log"][SHUFFLED] / 1e6,
                        memory,
                        found["log"][SPILLED] / 1e6,
                    )
                )
    failed = [f"{row[1]} at {row[0]:,} baskets: {row[2]}" for row in rows if row[2] != OK]
    ended = f"These did not come to an end: {'; '.join(failed)}" if failed else "All came to an end"
    reading = (
        "The same pairs by what Spark has: MLlib's FPGrowth, and a self-join of DataFrames. "
        "FPGrowth gets a least support: five standard errors below what the last pair is expected "
        "to have. Ours does without that knowledge. FPGrowth counts itemsets of all sizes that "
        f"reach it. All in local[2] with 3 GB for the JVM. Neither adds noise. {ended}."
    )
    columns = (
        "baskets",
        "way",
        "how it ended",
        "seconds",
        "shuffled (MB)",
        "memory of all (MB)",
        "spilled (MB)",
    )
    return Section("Peers on Spark", reading, tables=(Table(columns, tuple(rows)),) if rows else ())


QUESTION = (
    "Counting on Spark: what does it cost beside one machine, and what will it cost at "
    "10^10 baskets?"
)
STUDY = Study("spark_scale", "benchmarks.spark.scale", QUESTION, tasks, sections, workers=1)

if __name__ == "__main__":
    main(STUDY)
