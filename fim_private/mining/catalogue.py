"""The public list of items that a caller gives: a list, a table, an earlier release; or the data's own, if told so."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from fim_private.dp.parameters import flag
from fim_private.errors import DataError, ParameterError, parameter, shown, warn
from fim_private.mining.engines import LOCAL, Engine
from fim_private.mining.listed import Listed, names_of
from fim_private.mining.loaded import load
from fim_private.mining.release import Release
from fim_private.mining.release_files import METADATA
from fim_private.mining.segmented import SegmentedRelease
from fim_private.reading import read_every_item, read_item_list
from fim_private.reading.addresses import scheme_of, shown_source
from fim_private.reading.catalogue import ListColumns
from fim_private.reading.options import Options
from fim_private.reading.paths import expanded
from fim_private.reading.vocabulary import Vocabulary
from fim_private.spark.dataframes import is_dataframe

_SEEDED = (
    "the catalogue is a release that was made with a seed, and so is not private: what it names is not public by it"
)


def listed_items(
    catalogue: Any,
    *,
    item: str | None = None,
    label: str | None = None,
    query: str | None = None,
    fold_case: bool = False,
    private: bool = True,
) -> tuple[Vocabulary, Listed] | None:
    """Return the items that a caller lists, and what is told of the list; None where there is none.

    catalogue: what `read_item_list` takes, a Release or releases of segments, or the path of a saved one: its items.
    item, label, query: the columns of a table, and what to read of a database. private: whether randomness is.
    Raises ParameterError for what does not go together, and DataError for a list that cannot be read, or has no items.
    Warns of a release that was not private.
    """
    named = {"catalogue_item": item, "catalogue_label": label, "catalogue_query": query}
    said = {name: value for name, value in named.items() if value is not None}
    for name, value in said.items():
        if catalogue is None:
            raise ParameterError(f"{parameter(name)} goes with {parameter('catalogue')}: the table with the list of items")
        if not isinstance(value, str):
            what = "a select" if name == "catalogue_query" else "the name of a column"
            raise ParameterError(f"{parameter(name)} must be {what}, as text, not {shown(value)}")
    if catalogue is None:
        return None
    if label is not None and item in (None, label):
        problem = "names the same column as" if item else "needs"
        raise ParameterError(
            f"{parameter('catalogue_label')} {problem} {parameter('catalogue_item')}: give there the column of the items "
            "that the labels are of"
        )
    source = _file_name(catalogue)
    if (release := _release(catalogue)) is not None:
        if said:
            raise ParameterError(
                f"leave out {' and '.join(map(parameter, said))}: {parameter('catalogue')} is an earlier release, whose "
                "items are the list"
            )
        return _of_release(release, source, fold_case=fold_case, private=private)
    if is_dataframe(catalogue):
        catalogue = catalogue.toPandas()
    found = read_item_list(catalogue, ListColumns(item, label), query=query, fold_case=fold_case)
    return found.items, Listed(len(found.items), source, item, label, names=names_of(found))


def items_of_data(data: Any, reading: Options, engine: Engine, *, others: dict[str, Any]) -> tuple[Vocabulary, Listed]:
    """Return all items of the data, which the caller says are public, before any condition, and what is told of that.

    others: parameters that say the same otherwise. Raises ParameterError for those, and for what is not read twice.
    """
    for name, value in others.items():
        if value is not None:
            raise ParameterError(
                f"give {parameter(name)} or {parameter('items_are_public')}, not both: the latter takes the items of the "
                "purchases themselves for public"
            )
    if engine.name != LOCAL:
        raise ParameterError(
            f"{parameter('items_are_public')} is for {parameter('engine')} {LOCAL}: with Spark list the items with "
            f"{parameter('catalogue')}"
        )
    found = read_every_item(data, reading)
    return found, Listed(len(found), items_are_public=True)


def public_items(
    data: Any,
    reading: Options,
    engine: Engine,
    *,
    catalogue: Any,
    columns: dict[str, Any],
    items_are_public: bool,
    universe_size: int | None,
    fold_case: bool,
    private: bool,
) -> tuple[Vocabulary, Listed] | None:
    """Return the public items: those of a catalogue, or of the data where told so; None where there are none.

    columns: item, label and query of `listed_items`. The others: as `mine` takes them, and these take them.
    """
    if flag("items_are_public", items_are_public):
        named = {f"catalogue_{name}": value for name, value in columns.items()}
        others = {"catalogue": catalogue, **named, "universe_size": universe_size}
        return items_of_data(data, reading, engine, others=others)
    return listed_items(catalogue, **columns, fold_case=fold_case, private=private)


def _file_name(source: Any) -> str | None:
    """Return the name of a file or a folder without those above it, of an address without what is secret in it."""
    if not isinstance(source, str | os.PathLike):
        return None
    if str(source) == "-":
        return "standard input"
    if scheme_of(source) is None:
        return expanded(source).name or str(source)
    return PurePath(shown_source(source).partition("?")[0]).name


def _release(catalogue: Any) -> Release | SegmentedRelease | None:
    """Return an earlier release, or that of a file; None for what is none. Raises DataError for a broken one."""
    if isinstance(catalogue, Release | SegmentedRelease):
        return catalogue
    if not isinstance(catalogue, str | os.PathLike) or scheme_of(catalogue) is not None:
        return None
    path = expanded(catalogue)
    # Whatever is wrong with a file, its reader will say.
    with suppress(OSError, ValueError, RecursionError, pa.ArrowException):
        if path.is_file() and _is_saved(path):
            return load(path)  # type: ignore[no-any-return]
    return None


def _is_saved(path: Path) -> bool:
    """Tell whether a file is a saved release. Raises OSError, ValueError, RecursionError or ArrowException for others."""
    if path.suffix.lower() == ".parquet":
        return METADATA in (pyarrow.parquet.read_schema(path).metadata or {})
    if path.suffix.lower() != ".json":
        return False
    values = json.loads(path.read_bytes())
    return isinstance(values, dict) and "schema" in values


def _of_release(
    release: Release | SegmentedRelease, source: str | None, *, fold_case: bool, private: bool
) -> tuple[Vocabulary, Listed]:
    """Return the items of an earlier release, under the names that they have in the data."""
    if private and not release.private:
        warn([_SEEDED], stacklevel=5)
    each = [release] if isinstance(release, Release) else [*release.releases]
    held = [
        one.items if (listed := part.scope.catalogue) is None else listed.coded(one.items)
        for part in each
        for one in part.itemsets
        if one.items is not None
    ]
    items = dict.fromkeys(item for one in held for item in one)
    if not items:
        raise DataError(
            f"the catalogue {'' if source is None else repr(source)} is a release without items; give one that has some, "
            "or a list of items".replace("  ", " ")
        )
    found = read_item_list([*items], fold_case=fold_case).items
    return found, Listed(len(found), source, release=True)
