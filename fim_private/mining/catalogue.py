"""The public list of items that a caller gives: a list, a table, an earlier release; or the data's
own, if so asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePath

import pyarrow as pa
import pyarrow.parquet

from fim_private.dp.arguments import flag
from fim_private.errors import DataError, ParameterError, parameter, shown, warn
from fim_private.reading.labels import Item, Vocabulary
from fim_private.reading.locations import Address, Database, InMemory, LocalPath, source_of
from fim_private.reading.options import DIALECT
from fim_private.reading.purchases import (
    ListColumns,
    read_catalogue,
    read_every_item,
    read_item_list,
)
from fim_private.release.forms import METADATA, PARQUET_ENDINGS
from fim_private.release.release import Release
from fim_private.release.saved import load
from fim_private.release.segments import SegmentedRelease
from fim_private.request.itemsets import Listed, names_of
from fim_private.run.engines import LOCAL
from fim_private.run.run import Run
from fim_private.spark.dataframes import is_dataframe


def public_items(run: Run) -> tuple[Vocabulary, Listed] | None:
    """Return the items that are public, and what a release states of the list; None where there is
    none.

    The catalogue is what `read_item_list` takes, a release, or the path of a saved one. Raises
    ParameterError for what does not go together, and DataError for a list that cannot be read.
    Warns of a release that was not private.
    """
    catalogue = run.values["catalogue"]
    names = ("catalogue_item", "catalogue_label", "catalogue_query")
    named = {name: run.values[name] for name in names if run.values[name] is not None}
    if flag("items_are_public", run.values["items_are_public"]):
        _check_items_are_public(run, named)
        items = read_every_item(source_of(run.data), run.reading)
        return items, Listed(items_are_public=True)
    _check_named(named, catalogue)
    if catalogue is None:
        return None
    if _is_same(run.data, catalogue):
        raise ParameterError(
            f"{parameter('catalogue')} is the file of purchases, whose items are private: give a "
            f"public list, or {parameter('items_are_public')} if the names of all items are public"
        )
    release = earlier_release(catalogue)
    if release is not None:
        return _items_of_release(run, release, named)
    if is_dataframe(catalogue):
        catalogue = catalogue.toArrow()
    item, label = named.get("catalogue_item"), named.get("catalogue_label")
    try:
        listed = read_item_list(
            source_of(catalogue),
            ListColumns(item, label),
            query=named.get("catalogue_query"),
            fold_case=run.choices.fold_case,
        )
    except DataError as error:
        if all(parameter(name) not in error.marked for name in DIALECT):
            raise
        raise DataError(
            f"{error.marked} (but not of a catalogue: save that as CSV in UTF-8, the names of "
            f"its columns in the first line)"
        ) from None
    source = file_name(run.values["catalogue"])
    return listed.items, Listed(len(listed.items), source, item, label, names=names_of(listed))


def _check_items_are_public(run: Run, named: Mapping[str, object]) -> None:
    """Raise ParameterError if the items of the purchases cannot be the list.

    named: the options for the columns of a list that were given.
    """
    lists = {
        "catalogue": run.values["catalogue"],
        **named,
        "universe_size": run.values["universe_size"],
    }
    for name, value in lists.items():
        if value is not None:
            raise ParameterError(
                f"give {parameter(name)} or {parameter('items_are_public')}, not both: the latter "
                f"takes the items from the purchases"
            )
    if run.engine.name != LOCAL:
        raise ParameterError(
            f"{parameter('items_are_public')} is for {parameter('engine')} {LOCAL}: with Spark "
            f"list the items with {parameter('catalogue')}"
        )


def _check_named(named: Mapping[str, object], catalogue: object) -> None:
    """Raise ParameterError for columns of a list that is not there, or that contradict."""
    for name, value in named.items():
        if catalogue is None:
            raise ParameterError(
                f"{parameter(name)} goes with {parameter('catalogue')}: the table with the items"
            )
        if not isinstance(value, str):
            expected = "a select" if name == "catalogue_query" else "the name of a column"
            raise ParameterError(
                f"{parameter(name)} must be {expected}, as text, not {shown(value)}"
            )
    item, label = named.get("catalogue_item"), named.get("catalogue_label")
    if label is not None and item in (None, label):
        problem = "names the same column as" if item else "needs"
        raise ParameterError(
            f"{parameter('catalogue_label')} {problem} {parameter('catalogue_item')}: the column "
            f"of the items that have these labels"
        )


def _items_of_release(
    run: Run, release: Release | SegmentedRelease, named: Mapping[str, object]
) -> tuple[Vocabulary, Listed]:
    """Return the items of an earlier release, and what a release states of the list."""
    if named:
        raise ParameterError(
            f"leave out {' and '.join(map(parameter, named))}: {parameter('catalogue')} is an "
            f"earlier release, whose items are the list"
        )
    source = file_name(run.values["catalogue"])
    items = dict.fromkeys(item for itemset in itemsets_of(release) for item in itemset)
    if not items:
        name = parameter("catalogue") if source is None else f"the catalogue {source!r}"
        raise DataError(
            f"{name} is a release without items; give one that has some, or a list of items"
        )
    warn_of_seed(run, release, "catalogue", stacklevel=6)
    vocabulary = read_catalogue([*items], fold_case=run.choices.fold_case)
    return vocabulary, Listed(len(vocabulary), source, release=True)


def warn_of_seed(
    run: Run, release: Release | SegmentedRelease, name: str, *, stacklevel: int
) -> None:
    """Warn where what is to be public comes from a release that was not private."""
    if run.randomness.private and not release.private:
        seeded = f"{parameter(name)} is a release that was made with a seed, and so is not private"
        warn([f"{seeded}: that does not make its items public"], stacklevel=stacklevel)


def _is_same(data: object, catalogue: object) -> bool:
    """Whether a list is the purchases: the same object, or the same file. (A database may have
    both.)
    """
    purchases, items = source_of(data), source_of(catalogue)
    if isinstance(purchases, InMemory):
        return data is catalogue
    if isinstance(purchases, Address):
        return purchases == items and not isinstance(purchases, Database)
    if isinstance(items, LocalPath):
        # whatever is wrong with a path, its reader will say
        with suppress(OSError, RuntimeError, ValueError):
            return purchases.path.resolve() == items.path.resolve()
    return False


def file_name(source: object) -> str | None:
    """Return the name of a file without the folders above it, and of an address without what is
    secret in it.
    """
    file = source_of(source)
    if isinstance(file, InMemory):
        return None
    if isinstance(file, Address):
        return PurePath(file.shown.partition("?")[0]).name
    if file.is_standard_input:
        return file.name
    return file.path.name or file.shown


def earlier_release(catalogue: object) -> Release | SegmentedRelease | None:
    """Return the release that is given, or is in the file that is named; None for anything else."""
    if isinstance(catalogue, Release | SegmentedRelease):
        return catalogue
    file = source_of(catalogue)
    if not isinstance(file, LocalPath):
        return None
    path = file.path
    is_parquet = path.suffix.lower() in PARQUET_ENDINGS
    if not (is_parquet or path.suffix.lower() == ".json") or not path.is_file():
        return None
    # of others their reader will say
    with suppress(OSError, ValueError, RecursionError, pa.ArrowException):
        if is_parquet:
            is_saved = METADATA in (pyarrow.parquet.read_schema(path).metadata or {})
        else:
            values = json.loads(path.read_bytes())
            is_saved = isinstance(values, dict) and "schema" in values
        if is_saved:
            return load(path)
    return None


def itemsets_of(release: Release | SegmentedRelease) -> list[tuple[Item, ...]]:
    """Return the itemsets with a name of a release, under the names that their items have in the
    data.
    """
    if isinstance(release, SegmentedRelease):
        return [itemset for segment in release.releases for itemset in itemsets_of(segment)]
    listed = release.scope.catalogue
    named = [itemset.items for itemset in release.itemsets if itemset.items is not None]
    return named if listed is None else [*map(listed.coded, named)]
