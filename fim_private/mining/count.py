"""`count`: the supports of itemsets that the caller gives."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.cost import at_least
from fim_private.dp.parameters import Neighbors, exact_neighbors, flag, is_whole
from fim_private.errors import DataError, FimPrivateError, ParameterError, parameter
from fim_private.mining.catalogue import itemsets_of
from fim_private.mining.engines import Run
from fim_private.options import EPSILON, CountOptions, filled, takes
from fim_private.periods import KINDS
from fim_private.reading.columns import Roles
from fim_private.reading.files import DELIMITER_OF_SUFFIX, File, file_errors, open_file
from fim_private.reading.frames import is_instance
from fim_private.reading.labels import Item, folded, item_of
from fim_private.reading.memory import held_to, read_whole
from fim_private.reading.sources import file_table
from fim_private.reading.values import is_missing
from fim_private.release.forms import METADATA, as_it_was
from fim_private.release.release import GIVEN, Itemset, Release, SegmentedRelease, load
from fim_private.request.budget import Published, allocate_given, estimated, released
from fim_private.request.itemsets import GivenItemsets, supports_of

MOST_ITEMSETS, MOST_ITEMS = 100_000, 1_000
_COLUMNS = ("itemsets", "items")  # that may have them, the first of these that is there
_SEVERAL = "has releases of several segments; take that of one: fim.load(...)['A'].save(...)"


def given_itemsets(source: Any, *, name: str = "itemsets", fold_case: bool = False) -> GivenItemsets:
    """Return the itemsets that a caller gives, as `count` takes them. name: of the parameter.

    A text such as "39.0" is the integer 39, and "007" is a text. Raises ParameterError, or DataError for a
    file, if there are none, or more than 100,000, or if one is given twice. So it does if one is empty, has more than
    1,000 items or an item twice, or is no collection of integers and strings.
    """
    if isinstance(source, str | os.PathLike):
        if not os.fspath(source):
            raise DataError(f"the path of {parameter(name)} is empty; name a file")
        path = Path(source)
        with file_errors(path):
            file = "standard input" if str(path) == "-" else repr(str(path))
            return _checked(_of_file(path, file), file, DataError, fold_case=fold_case)
    return _checked(_of_object(source, parameter(name)), parameter(name), ParameterError, fold_case=fold_case)


def _checked(values: Iterable[Any], name: str, error: type[FimPrivateError], *, fold_case: bool) -> GivenItemsets:
    places: dict[frozenset[Item], int] = {}
    for place, value in enumerate(values, 1):
        if place > MOST_ITEMSETS:
            raise error(f"{name} must be at most {MOST_ITEMSETS:,} itemsets")
        what = f"{name}: itemset {place:,}"
        items = [_item(item, what, error, fold_case=fold_case) for item in _collection(value, what, error)]
        if not items:
            raise error(f"{what} is empty; leave it out: every unit has it")
        if len(items) > MOST_ITEMS:
            raise error(f"{what} has more than {MOST_ITEMS:,} items")
        itemset = frozenset(items)
        if len(itemset) < len(items):
            raise error(f"{what} has an item twice; name each item once")
        if itemset in places:
            raise error(f"{what} is itemset {places[itemset]:,} again; give each once")
        places[itemset] = place
    if not places:
        raise error(f"{name} must hold at least one itemset")
    return GivenItemsets.of(places)


def _collection(value: Any, what: str, error: type[FimPrivateError]) -> list[Any]:
    if isinstance(value, Itemset):
        value = value.items
    if isinstance(value, pa.Array | pa.ChunkedArray | pa.ListScalar | pa.LargeListScalar):
        value = value.as_py() if isinstance(value, pa.Scalar) else value.to_pylist()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping):
        with suppress(TypeError):  # what only claims to be one, such as a 0-dimensional array
            return list(islice(value, MOST_ITEMS + 1))
    kind = type(value).__name__
    example = "; write ['bread'] for one item" if isinstance(value, str | int) else ""
    raise error(f"{what} must be a collection of items, not {kind}{example}")


def _item(value: Any, what: str, error: type[FimPrivateError], *, fold_case: bool) -> Item:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise error(f"{what} holds text that is not valid Unicode") from None
        named = folded(value) if fold_case else value.strip()
        if named is None or is_missing(named):
            raise error(f"{what} holds a text that stands for no item, such as NULL; leave it out")
        return item_of(named)
    if is_whole(type(value)):
        return item_of(int(value))
    raise error(f"{what} must hold whole numbers and strings, not {type(value).__name__}")


def _of_object(source: Any, name: str) -> Iterable[Any]:
    if isinstance(source, Release | SegmentedRelease):
        return _of_release(source, name, ParameterError)
    if is_instance(source, "pandas", "DataFrame") or is_instance(source, "polars", "DataFrame"):
        return source[_column([*source.columns], name, ParameterError)]  # type: ignore[no-any-return]
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        table = source.read_all() if isinstance(source, pa.RecordBatchReader) else source
        return table.column(_column(table.schema.names, name, ParameterError)).to_pylist()  # type: ignore[no-any-return]
    if isinstance(source, Iterable) and not isinstance(source, bytes | bytearray | Mapping | Itemset):
        with suppress(TypeError):  # an array of no dimensions only claims to be iterable
            return iter(source)
    raise ParameterError(
        f"{name} must be a list of itemsets, a release, a frame or the path of a file, not {type(source).__name__}"
    )


def _of_release(release: Release | SegmentedRelease, name: str, error: type[FimPrivateError]) -> list[tuple[Item, ...]]:
    if isinstance(release, SegmentedRelease):
        raise error(f"{name} {_SEVERAL}")
    return itemsets_of(release)


def _column(names: list[Any], name: str, error: type[FimPrivateError]) -> str:
    found = [column for column in _COLUMNS if names.count(column) == 1]
    if not found:
        raise error(f"{name} must have a column {' or '.join(_COLUMNS)} that holds an itemset in each row")
    return found[0]


def _of_file(path: Path, name: str) -> Iterable[Any]:
    if path.suffix.lower() == ".json":
        return _of_release(load(path), name, DataError)
    file = open_file(path)
    if file.form == "text":
        return _of_text(file)
    source = file_table(file, head=True)
    if METADATA in (source.schema.metadata or {}):
        return _of_release(load(path), name, DataError)
    column = _column(source.schema.names, file.name, DataError)
    wanted = Roles(None, (column,)).wanted
    return [itemset for batch in source.batches(wanted) for itemset in batch.column(column).to_pylist()]


def _of_text(file: File) -> Iterator[list[Item]]:
    with file.open() as stream:
        text = read_whole(stream).decode("utf-8-sig")
    lines = [line for line in re.split(r"\r\n|\r|\n", text) if line.strip()]
    delimiter = DELIMITER_OF_SUFFIX.get(file.suffix)
    if delimiter is None:
        # As bytes, which are split at the white space of ASCII alone, as in data.
        rows = [[token.decode() for token in line.encode().split()] for line in lines]
    else:
        # Where something else seems to separate items, each line would be one item, in no basket.
        others = [other for other in ",;\t|" if other != delimiter and any(other in line for line in lines)]
        if others and not any(delimiter in line or '"' in line for line in lines):
            names = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
            raise DataError(
                f"{file.name} has {names[others[0]]} but no {names[delimiter]}: separate items by {names[delimiter]}, "
                "or put items that hold such a character in double quotes"
            )
        # Line by line: no item holds a line break.
        reader = (next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True)) for line in lines)
        rows = [[field.strip() for field in row] for row in reader]
        header = rows[0] if rows else []
        if header[:2] in (["segment", "item_1"], ["period", "item_1"]):
            raise DataError(f"{file.name} {_SEVERAL}")
        # Of a release of ours, which has a header, the columns item_1, item_2, … alone.
        columns = len([*takewhile(lambda pair: pair[1] == f"item_{pair[0]}", enumerate(header, 1))])
        if columns and header[columns : columns + 1] == ["support"]:
            rows = [[as_it_was(item) for item in row[:columns]] for row in rows[1:] if any(row[:columns])]
    for row in rows:
        yield [token for token in row if token]


@takes(CountOptions)
def count(data: Any, itemsets: Any, **options: Unpack[CountOptions]) -> Release:
    """Release noisy supports of given itemsets, (epsilon, delta)-differentially private for each basket or user.

    data: the purchases, how to read them and what counts, as in mine.
    itemsets: 1 to 100,000 different itemsets. They must be public, so do not take them from the data. Give a list of
        collections of items (int and str), a Release, a frame or an Arrow table with a column itemsets or items. A
        file is text with one itemset a line (.csv, .tsv, .dat, .txt, .fimi), Parquet or Arrow with such a column, or a
        saved release. An item that nobody has counts like any other. The number
        39 and the text "39" are the same item.
    The noise is discrete Laplace, which leaves delta unspent (it may be 0), or normal, whichever has the narrower 95 %
    intervals. With rho supports are rho-zCDP, and Gaussian private with μ² = 2 rho. Under "add-remove" normal noise is
    little more than half as wide as under "replace-one", and the number of units comes with it.
    Returns a release with mechanism "count": the itemsets in the order given, each with a noisy support and a 95 %
    interval. Raises ParameterError, DataError, WorkLimitError or MemoryLimitError, and warns, as mine does.
    """
    asked = filled("count", CountOptions, options)
    if all(isinstance(source, str | os.PathLike) and str(source) == "-" for source in (data, itemsets)):
        raise ParameterError(f"only one of the purchases and {parameter('itemsets')} can be standard input")
    if asked["period"] in KINDS:
        raise ParameterError(f"{parameter('period')} must be one period here, such as 2026-W46, not {asked['period']}")
    run = Run(data, asked)
    scope = run.scope()
    with held_to(run.reading.memory):
        given = given_itemsets(itemsets, fold_case=run.fold_case)
    number, with_units = len(given.itemsets), flag("count", asked["count"])
    budget = PrivacyBudget.of(asked["epsilon"], asked["delta"], asked["rho"], otherwise=EPSILON)
    relation = exact_neighbors(asked["neighbors"])
    two = relation == Neighbors.ADD_REMOVE
    public = not two and not scope.chooses_units(run.where)
    allocated = allocate_given(budget, given.sizes, number, count=with_units and not public, two=two)
    noise = allocated.noise(number)
    assert noise is not None
    # How many itemsets, and not which.
    parameters = {"itemsets": number, "count": True if with_units else None, "rho": budget.rho and at_least(budget.rho)}
    parameters = {name: value for name, value in parameters.items() if value is not None}
    recorded = {"zcdp": allocated.concentrated, "parameters": parameters}
    with run.charged("count", scope, allocated.cost, relation, rho=budget.rho, **recorded) as ((opened,), charged):
        source = opened.source
        units = allocated.units(source, run.randomness, public=public)
        values, units = released(supports_of(given, source), noise, run.randomness, units, source.units)
    published = Published(tuple(estimated(given.itemsets, values, noise, units)), noise, units)
    own: Any = {"mechanism": GIVEN, "sizes": given.sizes, "neighbors": relation, "charged": charged}
    return run.release(opened, allocated, published, **own, abstained=False, top=number, union=True)
