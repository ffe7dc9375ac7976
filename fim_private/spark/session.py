"""A session of Spark: the caller's own where there is one, and otherwise a new one, with few settings of ours."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from fim_private.errors import DataError, MissingExtraError, ParameterError, parameter, shown
from fim_private.spark.spark_errors import told

# pyspark 4 runs on Java 17 and newer.
_JAVA = 17
# Where nobody names a master: all cores, and a task may fail four times, as on a cluster. In plain local mode the first
# worker that dies ends the run.
_MASTER = "local[*,4]"
_LOG_LEVEL = "spark.log.level"
# All that is ours in a session that we start; what the caller says comes before it, and of a caller's session nothing
# is changed. Spark's bar and its log would mix with what the command prints.
OURS = {
    "spark.app.name": "fim-private",
    "spark.ui.showConsoleProgress": "false",
    _LOG_LEVEL: "ERROR",
    # What folders are called is text, as on one machine.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}


def need_pyspark() -> None:
    """Raise MissingExtraError where pyspark is not installed."""
    if importlib.util.find_spec("pyspark") is None:
        raise MissingExtraError(f"{parameter('engine')} spark needs pyspark: pip install 'fim-private[spark]'")


def session(settings: Mapping[str, str] | None = None) -> Any:
    """Return the session that there is, or a new one: as spark-submit, SPARK_REMOTE or spark-defaults.conf say.

    settings: of Spark, for a new session, such as {"spark.master": "local[4]"}.
    Raises MissingExtraError without pyspark, DataError without a Java that it runs on, and ParameterError for settings
    that the session that there is has not.
    """
    need_pyspark()
    given = dict(settings or {})
    then = f"check the settings of its session; {parameter('spark_conf')} '{_LOG_LEVEL}=ERROR' shows what it says"
    with told("Spark did not start", then):
        present = _present()
        if present is None:
            return _started(given)
        other = [name for name, value in given.items() if present.conf.get(name, "") != value]
    if other:
        raise ParameterError(
            f"leave out {parameter('spark_conf')} {other[0]!r}: there is a session already, which has another setting"
        )
    return present


def _present() -> Any:
    """Return the session that there is, of this thread or another; None for none."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is None and getattr(SparkContext, "_active_spark_context", None) is not None:
        return SparkSession.builder.getOrCreate()
    return active


def _started(given: Mapping[str, str]) -> Any:
    """Return a new session with these settings."""
    from pyspark.sql import SparkSession

    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    remote = "SPARK_REMOTE" in os.environ or "spark.remote" in given
    here = not submitted and not remote
    if here:
        _check_java()
    builder = SparkSession.builder
    for name, value in ({**OURS, **given} if here else given).items():
        builder = builder.remote(value) if name == "spark.remote" else builder.config(name, value)
    # Workers on this machine run the Python that this runs in; on a cluster the caller says which.
    defaults: dict[str, str] = {}
    if here and given.get("spark.master", "local").startswith("local"):
        defaults["PYSPARK_PYTHON"] = sys.executable
    if here:
        defaults["MASTER"] = _MASTER  # comes after all other places where Spark looks for one
    with _environment(defaults), _hushed() if here and _LOG_LEVEL not in given else nullcontext():
        return builder.getOrCreate()


@contextmanager
def _environment(defaults: Mapping[str, str]) -> Iterator[None]:
    """Set some variables, unless they are set, for as long as this lasts."""
    own = {name: value for name, value in defaults.items() if name not in os.environ}
    os.environ.update(own)
    try:
        yield
    finally:
        for name in own:
            del os.environ[name]


@contextmanager
def _hushed() -> Iterator[None]:
    """Let the processes that are started write no errors: Java's log quotes rows, and says in pages what is one line.

    Nor does this process, in the meantime.
    """
    sys.stderr.flush()
    errors = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(errors, 2)
        os.close(errors)


def settings_of(given: list[str]) -> dict[str, str]:
    """Return settings of Spark given as texts such as "spark.master=local[4]".

    Raises ParameterError for another text.
    """
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark."):
            raise ParameterError(
                f"{parameter('spark_conf')} must be a setting of Spark and its value, such as "
                f"'spark.master=local[4]', not {shown(text)}"
            )
        found[name] = value
    return found


def _check_java() -> None:
    """Raise DataError unless there is a Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    told_need = f"{parameter('engine')} spark needs Java {_JAVA} or newer"
    if java is None or not Path(java).exists():
        raise DataError(
            f"{told_need}, and there is none here: install it (Debian: openjdk-{_JAVA}-jre-headless), or set JAVA_HOME"
        )
    # "17.0.15", and before Java 9 "1.8.0_292".
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        raise DataError(f"{told_need}, and the one here does not run: install it again, or set JAVA_HOME") from None
    version = re.search(r'version "(?:1\.)?([0-9]+)', answer)
    if version is not None and int(version[1]) < _JAVA:
        raise DataError(f"{told_need}, and this is Java {version[1]}: set JAVA_HOME to a newer one")
