"""A release as a file, or as what a command writes: its content in each form."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from fim_private.errors import ParameterError, shown
from fim_private.options.outputs import FORM_OF_ENDING, ReleaseFormat
from fim_private.release.forms import AnyRelease, workbook
from fim_private.release.rules import Rules, rules_csv, rules_rows
from fim_private.whole_files import staged

# The rules of a release, or of each segment under its name.
AnyRules = Rules | Mapping[str, Rules] | None

PARQUET_ENDINGS = (".parquet", ".pq")
# Where the metadata of a Parquet file has all of a release, as its JSON.
METADATA = b"fim_private"


def _parquet(release: AnyRelease) -> bytes:
    """Return a Parquet file: a row for each itemset, and in the metadata all of the release."""
    import pyarrow as pa
    import pyarrow.parquet

    metadata = {METADATA: json.dumps(release.to_dict(whole=True)).encode()}
    stream = pa.BufferOutputStream()
    pyarrow.parquet.write_table(release.to_arrow().replace_schema_metadata(metadata), stream)
    return bytes(stream.getvalue())


def _workbook(release: AnyRelease, rules: AnyRules) -> bytes:
    sheets = {"itemsets": release.sheet_rows()}
    if rules is not None:
        sheets["rules"] = rules_rows(rules)
    return workbook(sheets)


# What makes each form of a release, or of that of segments, and of its rules, if any: in JSON and
# Parquet all of it. Parquet has no place for rules.
CONTENT: Mapping[ReleaseFormat, Callable[[AnyRelease, AnyRules], str | bytes]] = {
    ReleaseFormat.JSON: lambda release, rules: release.to_json(rules, whole=True) + "\n",
    ReleaseFormat.CSV: lambda release, rules: (
        release.to_csv() if rules is None else rules_csv(rules)
    ),
    ReleaseFormat.XLSX: _workbook,
    ReleaseFormat.MARKDOWN: lambda release, rules: release.to_markdown(rules),
    ReleaseFormat.PARQUET: lambda release, rules: _parquet(release),
    ReleaseFormat.SVG: lambda release, rules: release.to_svg(rules),
}


def save(release: AnyRelease, path: str | os.PathLike[str]) -> None:
    """Write a release, or that of segments, to a file, whole or not at all.

    The ending of the file's name says in which form.
    """
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"a release is saved to the path of a file, not to {shown(path)}")
    file = Path(path).expanduser()
    form = FORM_OF_ENDING.get(file.suffix.lower())
    if form is None:
        raise ParameterError(
            f"the name of a release's file must end in {', '.join(FORM_OF_ENDING)}, not "
            f"{file.suffix!r}"
        )
    content = CONTENT[form](release, None)
    with staged(file, option="path") as write:
        write(content)
