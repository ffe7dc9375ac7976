"""The public list of items that a caller gives: a list, a table, an earlier release; or the data's own, if told so."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from fim_private.dp.parameters import flag
from fim_private.errors import DataError, ParameterError, parameter, shown, warn
from fim_private.mining.engines import LOCAL, Engine
from fim_private.reading.files import expanded, is_database, scheme_of, shown_source
from fim_private.reading.labels import Vocabulary
from fim_private.reading.options import DIALECT, Options
from fim_private.reading.purchases import ListColumns, read_every_item, read_item_list
from fim_private.release.forms import METADATA
from fim_private.release.release import Release, SegmentedRelease, load
from fim_private.request.itemsets import Listed, names_of
from fim_private.spark.dataframes import is_dataframe

_SEEDED = (
    "the catalogue is a release that was made with a seed, and so is not private: what it names is not public by it"
)


def public_items(
    data: Any,
    reading: Options,
    engine: Engine,
    *,
    catalogue: Any,
    item: str | None,
    label: str | None,
    query: str | None,
    items_are_public: bool,
    universe_size: int | None,
    fold_case: bool,
    private: bool,
) -> tuple[Vocabulary, Listed] | None:
    """Return the items that are public, and what is told of the list; None where there is none.

    catalogue: what `read_item_list` takes, a Release or releases of segments, or the path of a saved one: its items.
    item, label, query: the columns of a table, and what to read of a database. items_are_public: whether all items of
    the data are, before any condition, which are read for it. private: whether randomness is.
    Raises ParameterError for what does not go together, and DataError for a list that cannot be read, or has no items.
    Warns of a release that was not private.
    """
    named = {"catalogue_item": item, "catalogue_label": label, "catalogue_query": query}
    named = {name: value for name, value in named.items() if value is not None}
    if flag("items_are_public", items_are_public):
        others = {"catalogue": catalogue, **named, "universe_size": universe_size}
        for name in (name for name, value in others.items() if value is not None):
            raise ParameterError(
                f"give {parameter(name)} or {parameter('items_are_public')}, not both: the latter takes the items of "
                "the purchases themselves"
            )
        if engine.name != LOCAL:
            raise ParameterError(
                f"{parameter('items_are_public')} is for {parameter('engine')} {LOCAL}: with Spark list the items with "
                f"{parameter('catalogue')}"
            )
        every = read_every_item(data, reading)
        return every, Listed(len(every), items_are_public=True)
    _check_columns(named, is_given=catalogue is not None)
    if catalogue is None:
        return None
    if _is_same(data, catalogue):
        raise ParameterError(
            f"{parameter('catalogue')} names the purchases themselves, and which items occur is private: give a public "
            f"list, or say {parameter('items_are_public')} if the names of all items are public"
        )
    source = _file_name(catalogue)
    if (release := _release(catalogue)) is not None:
        if named:
            raise ParameterError(
                f"leave out {' and '.join(map(parameter, named))}: {parameter('catalogue')} is an earlier release, "
                "whose items are the list"
            )
        found = _of_release(release, source, fold_case=fold_case)
        if private and not release.private:
            warn([_SEEDED], stacklevel=3)
        return found
    if is_dataframe(catalogue):
        catalogue = catalogue.toArrow()
    try:
        listed = read_item_list(catalogue, ListColumns(item, label), query=query, fold_case=fold_case)
    except DataError as error:
        if all(parameter(name) not in error.marked for name in DIALECT):
            raise
        raise DataError(
            f"{error.marked} (but not of a catalogue: save that as CSV in UTF-8, the names of its columns in the first "
            "line)"
        ) from None
    return listed.items, Listed(len(listed.items), source, item, label, names=names_of(listed))


def _check_columns(named: Mapping[str, Any], *, is_given: bool) -> None:
    """Raise ParameterError for columns of a list that is not there, or does not go together."""
    for name, value in named.items():
        if not is_given:
            raise ParameterError(f"{parameter(name)} goes with {parameter('catalogue')}: the table with the items")
        if not isinstance(value, str):
            what = "a select" if name == "catalogue_query" else "the name of a column"
            raise ParameterError(f"{parameter(name)} must be {what}, as text, not {shown(value)}")
    label, item = named.get("catalogue_label"), named.get("catalogue_item")
    if label is not None and item in (None, label):
        problem = "names the same column as" if item else "needs"
        raise ParameterError(
            f"{parameter('catalogue_label')} {problem} {parameter('catalogue_item')}: give there the column of the "
            "items that the labels are of"
        )


def _is_same(data: Any, catalogue: Any) -> bool:
    """Tell whether a list is the purchases: the same object, or the same file. (A database may have both.)"""
    if not (isinstance(data, str | os.PathLike) and isinstance(catalogue, str | os.PathLike)):
        return data is catalogue
    if scheme_of(data) is not None or scheme_of(catalogue) is not None:
        return str(data) == str(catalogue) and not is_database(data)
    with suppress(OSError, RuntimeError, ValueError):  # whatever is wrong with a path, its reader will say
        return expanded(data).resolve() == expanded(catalogue).resolve()
    return False


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
    if path.suffix.lower() == ".parquet":
        return METADATA in (pyarrow.parquet.read_schema(path).metadata or {})
    if path.suffix.lower() != ".json":
        return False
    values = json.loads(path.read_bytes())
    return isinstance(values, dict) and "schema" in values


def _of_release(
    release: Release | SegmentedRelease, source: str | None, *, fold_case: bool
) -> tuple[Vocabulary, Listed]:
    """Return the items of an earlier release, under the names that they have in the data."""
    found = [
        one.items if (listed := part.scope.catalogue) is None else listed.coded(one.items)
        for part in ([release] if isinstance(release, Release) else release.releases)
        for one in part.itemsets
        if one.items is not None
    ]
    items = dict.fromkeys(item for one in found for item in one)
    if not items:
        name = parameter("catalogue") if source is None else f"the catalogue {source!r}"
        raise DataError(f"{name} is a release without items; give one that has some, or a list of items")
    vocabulary = read_item_list([*items], fold_case=fold_case).items
    return vocabulary, Listed(len(vocabulary), source, release=True)
