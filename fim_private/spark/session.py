"""A session of Spark: the caller's own where there is one, and otherwise a new one, with few settings of ours."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fim_private.errors import DataError, MissingExtraError, ParameterError, parameter, shown

# pyspark 4 runs on Java 17 and newer.
_JAVA = 17
# All that is ours in a session that we start; what the caller says comes before it, and of a caller's session nothing
# is changed. Spark's bar and its log would mix with what the command prints.
OURS = {
    "spark.app.name": "fim-private",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def session(settings: Mapping[str, str] | None = None) -> Any:
    """Return the session that is active, or a new one: as spark-submit, SPARK_REMOTE or spark-defaults.conf say.

    settings: of Spark, for a new session, such as {"spark.master": "local[4]"}.
    Raises MissingExtraError without pyspark, and DataError without a Java that it runs on.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise MissingExtraError(f"{parameter('engine')} spark needs pyspark: pip install 'fim-private[spark]'")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    with quiet():
        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        given = dict(settings or {})
        submitted = "PYSPARK_GATEWAY_PORT" in os.environ
        remote = "SPARK_REMOTE" in os.environ or "spark.remote" in given
        if not submitted and not remote:
            _check_java()
            # Workers on this machine run the Python that this runs in; on a cluster the caller says which.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder
        for name, value in ({} if submitted or remote else OURS | given).items():
            builder = builder.config(name, value)
        for name, value in given.items():
            builder = builder.remote(value) if name == "spark.remote" else builder.config(name, value)
        try:
            return builder.getOrCreate()
        except PySparkException as error:
            condition = error.getCondition() or type(error).__name__
        except (RuntimeError, OSError) as error:
            condition = type(error).__name__
    raise DataError(f"Spark did not start ({condition}): check the settings of the session, and what Spark says above")


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


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out what pyspark warns of other packages' versions: nobody can do anything about it here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\b")
        warnings.filterwarnings("ignore", category=FutureWarning, message="PySpark does not yet fully support pandas")
        yield


def _check_java() -> None:
    """Raise DataError unless there is a Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    told = f"{parameter('engine')} spark needs Java {_JAVA} or newer"
    if java is None or not Path(java).exists():
        raise DataError(
            f"{told}, and there is none here: install it (Debian: openjdk-{_JAVA}-jre-headless), or set JAVA_HOME"
        )
    # "17.0.15", and before Java 9 "1.8.0_292".
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(?:1\.)?([0-9]+)', answer)
    if version is not None and int(version[1]) < _JAVA:
        raise DataError(f"{told}, and this is Java {version[1]}: set JAVA_HOME to a newer one")
