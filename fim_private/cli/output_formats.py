"""The formats that --format takes."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """How a plan or an audit is written."""

    TABLE = "table"
    JSON = "json"


class ReleaseFormat(StrEnum):
    """How a release is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
