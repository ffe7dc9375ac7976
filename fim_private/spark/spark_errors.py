"""What Spark raises, as one line: it may quote rows, so only the name of what went wrong is told."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from fim_private.errors import DataError, FimPrivateError

_PACKAGES = {"pyspark", "py4j", "grpc"}


@contextmanager
def told(what: str, then: str) -> Iterator[None]:
    """Raise what Spark raises in this block as a DataError: "{what} ({its condition}): {then}".

    What pyspark warns of other packages' versions is left out: nobody can do anything about it here.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\b")
            warnings.filterwarnings(
                "ignore", category=FutureWarning, message="PySpark does not yet fully support pandas"
            )
            yield
        return
    except FimPrivateError:
        raise
    except Exception as error:
        condition = _condition(error)
        if condition is None:
            raise
    raise DataError(f"{what} ({condition}): {then}")


def _condition(error: Exception) -> str | None:
    """Return the name of what went wrong, if it is Spark that says so."""
    packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if isinstance(error, ConnectionError):  # Java is gone
        return type(error).__name__
    if packages.isdisjoint(_PACKAGES):
        return None
    if "No module named 'fim_private'" in str(error):
        return "the workers have no fim_private"
    condition = error.getCondition() if hasattr(error, "getCondition") else None
    return condition or type(error).__name__
