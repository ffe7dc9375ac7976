"""`count`: the supports of itemsets that the caller gives."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from fim_private.dp.charge import account_of
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.cost import at_least
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import (
    Neighbors,
    cautions,
    cautions_of_units,
    chosen_units_show,
    exact_neighbors,
    flag,
    is_whole,
)
from fim_private.errors import DataError, FimPrivateError, ParameterError, parameter, warn
from fim_private.mining.engines import Engine
from fim_private.options import EPSILON, CountOptions, filled, takes
from fim_private.reading.columns import Roles
from fim_private.reading.files import DELIMITER_OF_SUFFIX, File, file_errors, open_file
from fim_private.reading.frames import is_instance
from fim_private.reading.labels import INTEGER_TOKEN, Item, folded
from fim_private.reading.memory import held_to, read_whole
from fim_private.reading.options import reading_of
from fim_private.reading.sources import file_table
from fim_private.reading.values import is_missing
from fim_private.release.forms import METADATA, as_it_was
from fim_private.release.release import GIVEN, Itemset, Release, SegmentedRelease
from fim_private.request.budget import (
    allocate_given,
    estimated,
    pending_charge,
    released,
    rows_asked,
    unit_columns,
)
from fim_private.request.itemsets import GivenItemsets, Listed, supports_of
from fim_private.request.request import Scope, counts_users, effort_of, read_by

MOST_ITEMSETS = 100_000
MOST_ITEMS = 1_000
# Columns that may hold them, the first of these that is there.
_COLUMNS = ("itemsets", "items")
_INT64 = range(-(2**63), 2**63)
_NUMBER = re.compile(INTEGER_TOKEN)


def given_itemsets(source: Any, *, fold_case: bool = False) -> GivenItemsets:
    """Return the itemsets that a caller gives.

    source: an iterable of collections of int and str; a Release, whose itemsets with a name are taken, by the names
        that their items have in the data; a frame
        of pandas or polars, or an Arrow table, with a column itemsets (or items) of collections; or the path of a file:
        text with one itemset a line (.csv with commas and perhaps quotes, .tsv, or .dat, .txt and .fimi with white
        space), Parquet or Arrow with such a column, or a release as JSON (.json) or CSV, whose apostrophes before
        text that a spreadsheet would run are left out again.
    fold_case: whether items are taken as `labels.folded` has them.
    In text a token that prints like an integer is one (39, not 007); blank lines and empty fields are left out.
    Raises ParameterError, and DataError for a file, where there are none, more than 100,000, or one is empty, of more
    than 1,000 items, given twice, has an item twice or is no collection of integers and strings.

    >>> given_itemsets([{"tea", "milk"}, ["milk", 39]]).itemsets
    (('milk', 'tea'), (39, 'milk'))
    """
    if isinstance(source, str | os.PathLike):
        if not os.fspath(source):
            raise DataError("the path of the itemsets is empty; name a file")
        path = Path(source)
        with file_errors(path):
            name = "standard input" if str(path) == "-" else repr(str(path))
            return _checked(_of_file(path, name), name, DataError, fold_case=fold_case)
    return _checked(_of_object(source), parameter("itemsets"), ParameterError, fold_case=fold_case)


def _checked(values: Iterable[Any], name: str, error: type[FimPrivateError], *, fold_case: bool) -> GivenItemsets:
    """Return the itemsets, each a collection of labels. name: what errors call the source."""
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
    """Return one itemset as a list of what is in it."""
    if isinstance(value, Itemset):
        value = value.items
    if isinstance(value, pa.Array | pa.ChunkedArray | pa.ListScalar | pa.LargeListScalar):
        value = value.to_pylist() if not isinstance(value, pa.Scalar) else value.as_py()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping):
        try:
            return list(islice(value, MOST_ITEMS + 1))
        except TypeError:  # what only claims to be one, such as a 0-dimensional array
            pass
    kind = type(value).__name__
    example = "; write ['bread'] for one item" if isinstance(value, str | int) else ""
    raise error(f"{what} must be a collection of items, not {kind}{example}")


def _item(value: Any, what: str, error: type[FimPrivateError], *, fold_case: bool) -> Item:
    """Return an item as a Python int or str, as data are read: a number beyond 64 bits is a text."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise error(f"{what} holds text that is not valid Unicode") from None
        named = folded(value) if fold_case else value.strip()
        if named is None or is_missing(named):
            raise error(f"{what} holds a text that stands for no item, such as NULL; leave it out")
        return named
    if is_whole(type(value)):
        return int(value) if int(value) in _INT64 else str(int(value))
    raise error(f"{what} must hold whole numbers and strings, not {type(value).__name__}")


def _of_object(source: Any) -> Iterable[Any]:
    """Return the itemsets of a Python object, unchecked."""
    if isinstance(source, SegmentedRelease):
        raise _several(parameter("itemsets"), ParameterError)
    if isinstance(source, Release):
        named = [itemset.items for itemset in source.itemsets if itemset.items is not None]
        listed = source.scope.catalogue
        return named if listed is None else map(listed.coded, named)
    if is_instance(source, "pandas", "DataFrame") or is_instance(source, "polars", "DataFrame"):
        return list(source[_column([*source.columns], parameter("itemsets"), ParameterError)])
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        table = source.read_all() if isinstance(source, pa.RecordBatchReader) else source
        column = _column(table.schema.names, parameter("itemsets"), ParameterError)
        return list(table.column(column).to_pylist())
    if isinstance(source, Iterable) and not isinstance(source, bytes | bytearray | Mapping | Itemset):
        with suppress(TypeError):  # an array of no dimensions only claims to be iterable
            return iter(source)
    raise ParameterError(
        f"{parameter('itemsets')} must be a list of itemsets, a release, a frame or the path of a file, not "
        f"{type(source).__name__}"
    )


def _several(name: str, error: type[FimPrivateError]) -> FimPrivateError:
    return error(f"{name} has releases of several segments; take that of one: fim.load(...)['A'].save(...)")


def _column(names: list[Any], name: str, error: type[FimPrivateError]) -> str:
    """Return the column of a table that holds itemsets. name: what errors call the table."""
    found = [column for column in _COLUMNS if names.count(column) == 1]
    if not found:
        raise error(f"{name} must have a column {' or '.join(_COLUMNS)} that holds an itemset in each row")
    return found[0]


def _of_file(path: Path, name: str) -> Iterable[Any]:
    """Return the itemsets of a file, unchecked."""
    if path.suffix.lower() == ".json":
        with path.open("rb") as stream:
            return _of_json(read_whole(stream).decode("utf-8-sig"), name)
    file = open_file(path)
    if file.form == "text":
        return _of_text(file)
    source = file_table(file, head=True)
    if source.schema.names[:1] == ["segment"]:
        raise _several(file.name, DataError)
    if (whole := (source.schema.metadata or {}).get(METADATA)) is not None:
        return _of_json(whole.decode(), name)
    column = _column(source.schema.names, file.name, DataError)
    wanted = Roles(None, (column,)).wanted
    return [itemset for batch in source.batches(wanted) for itemset in batch.column(column).to_pylist()]


def _of_json(text: str, name: str) -> list[Any]:
    """Return the itemsets with a name of a release as JSON."""
    try:
        found = json.loads(text)
        if "releases" in found:
            raise _several(name, DataError)
        named = [itemset["items"] for itemset in found["itemsets"] if itemset["items"] is not None]
        # Under the names that items have in the data, where the release shows labels.
        listed = found.get("catalogue")
        return named if listed is None else [*map(Listed.of_dict(listed).coded, named)]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise DataError(f"{name} is no release as JSON: it has no list of itemsets") from None


def _of_text(file: File) -> Iterator[list[Item]]:
    """Yield the itemset of each line of text that is not blank."""
    with file.open() as stream:
        text = read_whole(stream).decode("utf-8-sig")
    lines = [line for line in re.split(r"\r\n|\r|\n", text) if line.strip()]
    delimiter = DELIMITER_OF_SUFFIX.get(file.suffix)
    if delimiter is None:
        # As bytes, which are split at the white space of ASCII alone, as in data.
        rows = [[token.decode() for token in line.encode().split()] for line in lines]
    else:
        _check_delimiter(lines, delimiter, file.name)
        # Line by line: no item holds a line break.
        reader = (next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True)) for line in lines)
        cells = [[field.strip() for field in row] for row in reader]
        if cells and cells[0][:2] == ["segment", "item_1"]:
            raise _several(file.name, DataError)
        rows = _itemset_columns(cells)
    for row in rows:
        yield [int(token) if _NUMBER.fullmatch(token) else token for token in row if token]


def _itemset_columns(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows of CSV; of a release of ours, which has a header, the columns item_1, item_2, … alone."""
    header = rows[0] if rows else []
    columns = list(takewhile(lambda pair: pair[1] == f"item_{pair[0]}", enumerate(header, 1)))
    if not columns or header[len(columns) : len(columns) + 1] != ["support"]:
        return rows
    return [[as_it_was(item) for item in row[: len(columns)]] for row in rows[1:] if any(row[: len(columns)])]


def _check_delimiter(lines: list[str], delimiter: str, name: str) -> None:
    """Raise DataError where something else seems to separate items: each line would be one item, in no basket."""
    others = [other for other in ",;\t|" if other != delimiter and any(other in line for line in lines)]
    if others and not any(delimiter in line or '"' in line for line in lines):
        names = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
        raise DataError(
            f"{name} has {names[others[0]]} but no {names[delimiter]}: separate items by {names[delimiter]}, or put "
            "items that hold such a character in double quotes"
        )


@takes(CountOptions)
def count(
    data: Any,
    itemsets: Any,
    **options: Unpack[CountOptions],
) -> Release:
    """Release noisy supports of itemsets that you name, (epsilon, delta)-differentially private per basket or per user.

    data: the purchases, and how to read them, and what of them counts: as in mine.
    itemsets: which itemsets; they are taken to be public, so do not take them from the data. A list of collections of
        items (int and str), a Release, a frame or an Arrow table with a column itemsets or items, or the path of a
        file: text with one itemset a line, Parquet or Arrow with such a column, or a release as JSON. 1 to 100,000 of
        them, all different. An item that nobody has is counted like any other. The number 39 and the text "39" mean
        the same item, where the data has one of them only.
    epsilon, delta: of the whole release, as in mine; delta may be 0. Few itemsets are counted with discrete Laplace
        noise, which leaves delta unspent, more of them, where there is a delta, with normal noise: whichever has the
        narrower 95 % intervals.
    rho: in place of epsilon, as in mine: the supports are then rho-zCDP, and Gaussian private with μ² = 2 rho.
    neighbors: "replace-one" or "add-remove". Under "add-remove" normal noise is little more than half as wide, and the
        number of units comes with it.
    Returns a release whose mechanism is "count", the itemsets in the order given, each with its noisy support and a
    95 % interval. Raises ParameterError, DataError, WorkLimitError or MemoryLimitError, and warns, as mine does.

    >>> baskets = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50
    >>> release = count(baskets, [["bread", "butter"], ["jam"], ["tea"]], seed=1)
    >>> [(one.items, one.support, one.interval) for one in release.itemsets]
    [(('bread', 'butter'), 605, (596, 614)), (('jam',), 51, (42, 60)), (('tea',), 0, (0, 1))]
    """
    asked = filled("count", CountOptions, options)
    effort, reading, by_user = effort_of(asked), reading_of(asked), counts_users(data, asked)
    randomness = Randomness.of_seed(asked["seed"])
    if all(isinstance(source, str | os.PathLike) and str(source) == "-" for source in (data, itemsets)):
        raise ParameterError(f"only one of the purchases and {parameter('itemsets')} can be standard input")
    account = account_of(asked["ledger"], asked["dataset"], private=randomness.private)
    engine_of = Engine.of(data, asked["engine"], asked["spark_conf"])
    engine_of.check(data, asked["query"])
    condition, queried, folds = read_by(data, reading)
    scope = Scope.of(
        min_basket=asked["min_basket"], together=asked["together"], by_user=by_user, query=queried, fold_case=folds
    )
    with held_to(reading.memory):
        given = given_itemsets(itemsets, fold_case=folds)
    budget = PrivacyBudget.of(asked["epsilon"], asked["delta"], asked["rho"], otherwise=EPSILON)
    relation, chosen = exact_neighbors(asked["neighbors"]), scope.chooses_units(condition)
    public = relation == Neighbors.REPLACE_ONE and not chosen
    with_units = flag("count", asked["count"])
    allocated = allocate_given(
        budget,
        given.sizes,
        len(given.itemsets),
        count=with_units and not public,
        two=relation == Neighbors.ADD_REMOVE,
    )
    noise = allocated.noise(len(given.itemsets))
    assert noise is not None
    due = pending_charge(
        account,
        command="count",
        dataset=asked["dataset"],
        by_user=by_user,
        neighbors=relation,
        cost=allocated.cost,
        zcdp=allocated.concentrated,
        # How many itemsets, and not which.
        parameters={"itemsets": len(given.itemsets)}
        | ({"count": True} if with_units else {})
        | ({} if budget.rho is None else {"rho": at_least(budget.rho)})
        | rows_asked(data, reading, scope),
        unit_columns=unit_columns(data, reading),
    )
    if randomness.private:
        warn(cautions(allocated.cost, rho=budget.rho), stacklevel=2)
        if chosen and relation == Neighbors.REPLACE_ONE:
            warn([chosen_units_show("user" if by_user else "basket")], stacklevel=2)

    with engine_of.opened(data, reading, scope, effort) as (opened,):
        source = opened.source
        unit = "user" if source.by_user else "basket"
        charged = None if due is None else due.complete(unit)
        if randomness.private and opened.read_as is not None:
            warn(opened.read_as.cautions(), stacklevel=2)
        if randomness.private and public:
            warn(cautions_of_units(allocated.cost, source.units, unit), stacklevel=2)
        units = allocated.units(source, randomness, public=public)
        values, units = released(supports_of(given, source), noise, randomness, units, source.units)
    return Release(
        mechanism=GIVEN,
        sizes=given.sizes,
        cost=allocated.cost,
        zcdp=allocated.zcdp,
        neighbors=relation,
        privacy_unit=unit,
        private=randomness.private,
        abstained=False,
        itemsets=tuple(estimated(given.itemsets, values, noise, units)),
        missing_user=source.missing_user,
        where=opened.where,
        scope=opened.scope,
        top=len(given.itemsets),
        union=True,
        shares=allocated.shares,
        noise=noise,
        units=None if units is None else units.number,
        units_interval=None if units is None else units.interval,
        units_noise=None if units is None else units.noise,
        charged=charged,
    )
