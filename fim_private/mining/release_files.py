"""A release as a file: JSON and Parquet, which can be loaded again, and CSV, Markdown and SVG, which cannot."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from fim_private.errors import ParameterError, shown
from fim_private.glance import as_json
from fim_private.whole_files import staged

# Where the metadata of a Parquet file has all of a release, as its JSON.
METADATA = b"fim_private"
WRITTEN = ".json, .parquet, .csv, .md or .svg"


class Saved(Protocol):
    """What is written of a release, or of releases."""

    def kept(self) -> dict[str, Any]:
        """Return all that can be loaded again, as plain values."""

    def to_arrow(self) -> Any:
        """Return the itemsets as a pyarrow.Table."""

    def to_csv(self) -> str:
        """Return the itemsets as CSV."""

    def to_markdown(self) -> str:
        """Return it as Markdown."""

    def to_svg(self) -> str:
        """Return it as a picture."""


def save(release: Saved, path: str | os.PathLike[str]) -> None:
    """Write a release to a file, in the form that its name ends in, whole or not at all.

    Raises ParameterError for a name of no such form, and OutputError where the file cannot be written.
    """
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"a release is saved to the path of a file, not to {shown(path)}")
    place = Path(path).expanduser()
    write = FORMS.get(place.suffix.lower())
    if write is None:
        raise ParameterError(f"the name of a release's file must end in {WRITTEN}, not {place.suffix!r}")
    content = write(release)
    with staged(place, given="path") as to_file:
        to_file(content)


def parquet(release: Saved) -> bytes:
    """Return a Parquet file: a row for each itemset, and in the metadata all of the release."""
    import pyarrow as pa
    import pyarrow.parquet

    table = release.to_arrow()
    table = table.replace_schema_metadata({METADATA: json.dumps(release.kept()).encode()})
    stream = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, stream)
    return bytes(stream.getvalue())


FORMS: Mapping[str, Callable[[Saved], str | bytes]] = {
    ".json": lambda release: as_json(release.kept()) + "\n",
    ".parquet": parquet,
    ".csv": lambda release: release.to_csv(),
    ".md": lambda release: release.to_markdown(),
    ".svg": lambda release: release.to_svg(),
}
