"""What Spark raises, as one line: it may quote rows, so only the name of what went wrong is told."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from fim_private.errors import DataError, FimPrivateError

_PACKAGES = {"pyspark", "py4j", "grpc"}
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
# What Spark's message holds where a task or the driver ended, what that means, and what to do.
_CAUSES = {
    "No module named 'fim_private'": ("the workers have no fim_private", "install it where they run"),
    "Python worker exited unexpectedly": (
        "a Python worker died, most often for want of memory",
        "use fewer tasks at a time, with spark.master, or machines with more memory",
    ),
    "java.lang.OutOfMemoryError": (
        "Java ran out of memory",
        "give it more, with spark.driver.memory, or spark.executor.memory on a cluster",
    ),
}


@contextmanager
def told(what: str, then: str) -> Iterator[None]:
    """Raise what Spark raises in this block as a DataError: "{what} ({its condition}): {then}".

    then: what to do, unless the cause is known. What pyspark warns of other packages' versions is left out: nobody can
    do anything about it here. So is what it logs of an error, with Java's trace and a text that may quote rows.
    """
    try:
        with _no_log(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\b")
            warnings.filterwarnings(
                "ignore", category=FutureWarning, message="PySpark does not yet fully support pandas"
            )
            yield
        return
    except FimPrivateError:
        raise
    except Exception as error:
        found = _condition(error, then)
        if found is None:
            raise
    raise DataError(f"{what} ({found[0]}): {found[1]}")


@contextmanager
def _no_log() -> Iterator[None]:
    """Keep pyspark from logging the errors that it raises in this block."""
    if find_spec("pyspark") is None:
        yield
        return
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def _condition(error: Exception, then: str) -> tuple[str, str] | None:
    """Return the name of what went wrong, if it is Spark that says so, and what to do.

    then: what to do if the cause is not known.
    """
    packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if isinstance(error, ConnectionError):  # Java is gone
        return type(error).__name__, then
    if packages.isdisjoint(_PACKAGES):
        return None
    text = str(error)
    for said, cause in _CAUSES.items():
        if said in text:
            return cause
    condition = error.getCondition() if hasattr(error, "getCondition") else None
    return condition or type(error).__name__, then
