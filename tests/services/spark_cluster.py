"""Mine on a cluster of this machine (`local-cluster`), and kill a worker while it counts: a process
of its own.

    python spark_cluster.py FILE

Prints the release as JSON, and how many executors were killed.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from typing import Any

import fim_private as fim
from fim_private.spark import purchases
from fim_private.spark import source as spark_counter
from fim_private.spark.dataframes import session

EXECUTOR = "CoarseGrainedExecutorBackend"
# What these tests do is over before Java's second compiler pays: without it they take half the
# time.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
REQUEST: Any = {"basket": "basket", "item": "item", "user": "user", "missing_user": "own-unit"}
REQUEST |= {"epsilon": 20, "delta": 1e-3, "seed": 1, "size": "1-2", "top": 3, "supports": True}
REQUEST |= {"mechanism": "limited-domain"}  # whose counter counts in rounds


def executors() -> list[int]:
    """The processes of Spark that run tasks and are children of this one, however far."""
    command = ["pgrep", "-f", EXECUTOR]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return [pid for pid in map(int, found) if os.getpid() in _parents(pid)]


def _parents(pid: int) -> list[int]:
    parents = []
    while pid > 1:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:  # noqa: PTH123
                pid = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            break
        parents.append(pid)
    return parents


def main(path: str) -> None:
    """Mine, killing an executor as soon as counting begins, and another one later."""
    warnings.simplefilter("ignore")
    session(
        {
            "spark.master": "local-cluster[2,1,1024]",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": JAVA,
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            # Each task that takes longer than another one gets a copy.
            "spark.speculation": "true",
            "spark.speculation.interval": "50ms",
            "spark.speculation.quantile": "0.1",
            "spark.speculation.multiplier": "1",
            "spark.speculation.minTaskRuntime": "20ms",
            "spark.sql.shuffle.partitions": "4",
        }
    )
    purchases.FEWEST_ENTRIES = 1
    killed: list[int] = []

    def kill() -> None:
        for pid in executors()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    counted = spark_counter.SparkCounter._round

    def counting(*given: object) -> object:
        kill()  # what it kept is lost
        later = threading.Timer(1.0, kill)  # and a task with what it does
        later.start()
        try:
            return counted(*given)  # type: ignore[arg-type]
        finally:
            later.join()

    spark_counter.SparkCounter._round = counting  # type: ignore[assignment,method-assign]
    release = fim.mine(path, engine="spark", **REQUEST)
    sys.stdout.write(json.dumps({"release": release.to_dict(), "killed": len(killed)}) + "\n")
    session().stop()


if __name__ == "__main__":
    main(sys.argv[1])
