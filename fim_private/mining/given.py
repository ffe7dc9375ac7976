"""What a caller gives that is public: itemsets, and a list of items.

Itemsets are a list, a table, an earlier release, or a text with one a line. Items are a list, a
table, an earlier release; or the data's own, if so asked.
"""

import ast
import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice, takewhile
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from fim_private.counting.source import Catalogue, Grouping
from fim_private.dp.arguments import flag
from fim_private.errors import DataError, FimPrivateError, ParameterError, parameter, shown
from fim_private.reading.columns import suggests_a_column
from fim_private.reading.files import DELIMITER_OF_SUFFIX, File, file_errors, open_file
from fim_private.reading.labels import Item, folded, mixed_vocabulary
from fim_private.reading.locations import Address, InMemory, LocalPath, source_of
from fim_private.reading.options import Reading
from fim_private.reading.purchases import (
    ItemList,
    ListColumns,
    read_catalogue,
    read_every_item,
    read_item_list,
)
from fim_private.reading.sources import file_table
from fim_private.reading.values import integer_or_text, is_missing
from fim_private.release.files import METADATA, PARQUET_ENDINGS
from fim_private.release.forms import as_it_was
from fim_private.release.release import Itemset, Release
from fim_private.release.saved import load
from fim_private.release.segments import SegmentedRelease
from fim_private.request.itemsets import GivenItemsets, Items, Listed, names_of
from fim_private.run.engines import LOCAL
from fim_private.run.run import Run
from fim_private.spark.dataframes import is_dataframe

MOST_ITEMSETS, MOST_ITEMS = 100_000, 1_000
_SEVERAL = "has releases of several segments; take that of one: fim.load(...)['A'].save(...)"


@dataclass(frozen=True)
class _Source:
    """Where itemsets come from: what errors call it, and whether that is a file."""

    name: str
    is_file: bool
    fold_case: bool = False

    def refuse(self, problem: str, place: int | None = None) -> FimPrivateError:
        """Return the error of a problem, of one itemset if its place is given."""
        where = self.name if place is None else f"{self.name}: itemset {place:,}"
        error = DataError if self.is_file else ParameterError
        return error(f"{where} {problem}")

    def items(self, value: object, place: int) -> list[Item]:
        """Return the items of one itemset, each as data are read."""
        return [self._item(item, place) for item in self._collection(value, place)]

    def _collection(self, value: object, place: int) -> list[object]:
        if isinstance(value, Itemset):
            value = value.items
        if isinstance(value, pa.Scalar):
            value = value.as_py()
        if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping):
            with suppress(TypeError):  # what only claims to be one, such as a 0-dimensional array
                return list(islice(value, MOST_ITEMS + 1))
        raise self.refuse(self._no_collection(value), place)

    def _no_collection(self, value: object) -> str:
        """Return what is wrong with a value that is no collection of items, and what to do."""
        if self.is_file:
            return "is not written as a set: put items in braces, such as {milk, bread} or {bread}"
        example = "; write ['bread'] for one item" if isinstance(value, str | int) else ""
        return f"must be a collection of items, not {type(value).__name__}{example}"

    def _item(self, value: object, place: int) -> Item:
        if isinstance(value, pa.Scalar):
            value = value.as_py()
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise self.refuse("holds text that is not valid Unicode", place) from None
            named = folded(value) if self.fold_case else value.strip()
            value = named
        if is_missing(value):
            raise self.refuse(
                "holds a value that stands for no item, such as NULL; leave it out", place
            )
        item = integer_or_text(value)
        if isinstance(item, bool) or not isinstance(item, int | str):
            raise self.refuse(f"must hold numbers and strings, not {type(value).__name__}", place)
        return item


def given_itemsets(
    source: object, *, name: str = "itemsets", fold_case: bool = False
) -> GivenItemsets:
    """Return the itemsets that a caller gives, as `count` takes them. name: of the parameter.

    A text such as "39.0" is the integer 39, and "007" is a text. Raises ParameterError, or
    DataError for a file, if there are none, or more than 100,000, or if one is given twice. So it
    does if one is empty, has more than 1,000 items or an item twice, or is no collection of
    integers and strings.
    """
    if not isinstance(source, str | os.PathLike):
        origin = _Source(parameter(name), is_file=False, fold_case=fold_case)
        return _checked(_of_object(source, origin), origin)
    if not os.fspath(source):
        raise DataError(f"the path of {parameter(name)} is empty; name a file")
    file = File(Path(source))
    origin = _Source(file.name, is_file=True, fold_case=fold_case)
    with file_errors(file.name):
        return _checked(_of_file(file, origin), origin)


def _checked(values: Iterable[object], source: _Source) -> GivenItemsets:
    places: dict[frozenset[Item], int] = {}
    for place, value in enumerate(values, 1):
        if place > MOST_ITEMSETS:
            raise source.refuse(f"must be at most {MOST_ITEMSETS:,} itemsets")
        items = source.items(value, place)
        if not items:
            raise source.refuse("is empty; leave it out: every unit has it", place)
        if len(items) > MOST_ITEMS:
            raise source.refuse(f"has more than {MOST_ITEMS:,} items", place)
        itemset = frozenset(items)
        if len(itemset) < len(items):
            raise source.refuse("has an item twice; name each item once", place)
        if itemset in places:
            raise source.refuse(f"is itemset {places[itemset]:,} again; give each once", place)
        places[itemset] = place
    if not places:
        raise source.refuse("must hold at least one itemset")
    return GivenItemsets.of(places)


def _of_object(itemsets: Any, source: _Source) -> Iterable[object]:
    if isinstance(itemsets, SegmentedRelease):
        raise source.refuse(_SEVERAL)
    if isinstance(itemsets, Release):
        return itemsets_of(itemsets)
    if InMemory(itemsets).kind in ("pandas.DataFrame", "polars.DataFrame"):
        return _of_table(itemsets.columns, itemsets.__getitem__, source)
    if isinstance(itemsets, pa.RecordBatchReader):
        itemsets = itemsets.read_all()
    if isinstance(itemsets, pa.Table | pa.RecordBatch):
        columns = itemsets.to_pydict()
        return _of_table([*columns], columns.__getitem__, source)
    if isinstance(itemsets, Iterable) and not isinstance(
        itemsets, bytes | bytearray | Mapping | Itemset
    ):
        with suppress(TypeError):  # an array of no dimensions only claims to be iterable
            return iter(itemsets)
    raise source.refuse(
        f"must be a list of itemsets, a release, a frame or the path of a file, not "
        f"{type(itemsets).__name__}"
    )


def _of_file(file: File, source: _Source) -> Iterable[object]:
    path = file.path
    if path.suffix.lower() == ".json":
        return _of_object(load(path), source)
    file = open_file(file)
    if file.form == "text":
        return _of_text(file, source)
    table = file_table(file, Reading(head=True))
    if METADATA in (table.schema.metadata or {}):
        return _of_object(load(path), source)

    def column(name: str) -> list[object]:
        return [cell for [array] in table.values([name]) for cell in array.to_pylist()]

    return _of_table(table.schema.names, column, source)


# -------------------- tables: of this package, of mlxtend and of arules

_Column = Callable[[Any], Iterable[object]]
# Columns that hold an itemset in each row, or the two sides of a rule, or a rule as arules has it.
# The first of these that are there are read.
_LAYOUTS = (("itemsets",), ("items",), ("antecedents", "consequents"), ("lhs", "rhs"), ("rules",))
_RULE = re.compile(r"(\{.*\})\s*=>\s*(\{.*\})", re.DOTALL)
# What columns beside itemsets are called, and what no first line of items has.
_FIGURES = re.compile(
    "support|confidence|lift|leverage|conviction|coverage|count|length|frequency|itemsets?|items?|"
    "rules?|lhs|rhs|antecedents?|consequents?|item_1|antecedent_1"
)
_LOOK = (
    "must have a column itemsets or items that holds an itemset in each row, such as {milk, "
    "bread}; or the columns "
    "antecedents and consequents, or lhs and rhs, of rules"
)


def _columns_of_itemsets(names: Iterable[object]) -> list[list[object]]:
    """Return the columns of a table that hold the itemset of each row; none in another table.

    Those of the two sides of a rule are apart. A release of ours has a column for each item.
    """
    items, *sides = (_numbered(names, stem) for stem in ("item", "antecedent", "consequent"))
    if all(sides):
        return sides
    if items and "support" in names:
        return [items]
    name_of = {_plain(name): name for name in names}
    for layout in _LAYOUTS:
        if name_of.keys() >= {*layout}:
            return [[name_of[name]] for name in layout]
    return []


def _numbered(names: Iterable[object], stem: str) -> list[object]:
    """Return the columns stem_1, stem_2, … as far as there are any."""
    return list(takewhile({*names}.__contains__, (f"{stem}_{number}" for number in count(1))))


def _plain(name: object) -> str:
    return str(name).strip().casefold()


def _of_table(names: Iterable[object], column: _Column, source: _Source) -> Iterable[object]:
    """Return the itemset in each row of a table; of rules both sides together, each such itemset
    once.
    """
    sides = _columns_of_itemsets(names)
    if not sides:
        raise source.refuse(_LOOK)
    is_numbered = str(sides[0][0]).endswith("_1")
    if is_numbered and not {"segment", "period"}.isdisjoint(names):
        raise source.refuse(_SEVERAL)
    rows = zip(*(_cells_of_side(side, column) for side in sides), strict=True)
    if len(sides) == 2 or _plain(sides[0][0]) == "rules":
        return _unions(rows, source)
    # Of a release of ours, an itemset without a name is a row without items.
    return (itemset for (itemset,) in rows if not is_numbered or itemset)


def _cells_of_side(names: Sequence[object], column: _Column) -> list[object]:
    """Return the items in each row that these columns hold: sets, or one item in each column."""
    if not str(names[0]).endswith("_1"):
        return [_cell(value) for value in column(names[0])]
    rows = zip(*(column(name) for name in names), strict=True)
    return [[as_it_was(str(cell)) for cell in row if cell not in (None, "")] for row in rows]


def _cell(value: object) -> object:
    """Return the items in a cell: a text is one if it is written as a set or a rule, others stay
    as they are.
    """
    if not isinstance(value, str):
        return value
    rule = _RULE.fullmatch(value.strip())
    if rule is not None:
        return [item for side in rule.groups() for item in set_in(side) or ()]
    items = set_in(value)
    return value if items is None else items


def _unions(rules: Iterable[Sequence[object]], source: _Source) -> Iterable[Items]:
    unions: dict[frozenset[Item], Items] = {}
    for place, sides in enumerate(rules, 1):
        items = dict.fromkeys(item for side in sides for item in source.items(side, place))
        unions.setdefault(frozenset(items), tuple(items))
    return unions.values()


# -------------------- sets as text: frozenset({'milk', 'bread'}), {milk, bread}, ['milk', 'bread']

_CALL = re.compile(r"(?:frozenset|set|list|tuple)\((.*)\)", re.DOTALL)
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# What numpy writes of its numbers and texts.
_NUMPY = re.compile(rf"np\.\w+\(({_QUOTED}|[^()'\",]*)\)")
_MEMBER = re.compile(rf"\s*(?:({_QUOTED})\s*|([^,]+))(?:,|$)")
_BRACKETS = ("{}", "[]", "()")


def set_in(text: str, brackets: Sequence[str] = _BRACKETS) -> list[Item] | None:
    """Return the items of a set that is written as text, as Python and as arules write it; None for
    another text.
    """
    bare = text.strip()
    called = _CALL.fullmatch(bare)
    if called is not None:
        bare, brackets = called[1].strip() or "()", _BRACKETS
    if bare[:1] + bare[-1:] not in brackets:
        return None
    inside = _NUMPY.sub(r"\1", bare[1:-1]).strip().removesuffix(",")
    return [
        _unquoted(quoted) if quoted else plain.strip() for quoted, plain in _MEMBER.findall(inside)
    ]


def _unquoted(literal: str) -> str:
    with suppress(SyntaxError, ValueError):
        return str(ast.literal_eval(literal))
    return literal[1:-1]


# -------------------- texts: one itemset a line, or a table

_NAMES_OF_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LINE_END = re.compile(r"\r\n|\r|\n")


def _of_text(file: File, source: _Source) -> Iterable[object]:
    text, usual = file.public_text(), DELIMITER_OF_SUFFIX.get(file.suffix)
    lines = _lines(text, usual, file.name)
    if not lines:
        return []
    first = lines[0][1]
    for delimiter in (usual or " ", *_NAMES_OF_DELIMITERS, " "):
        names = _cells(first, delimiter)
        if _columns_of_itemsets(names):
            _, *lines = _lines(text, delimiter, file.name)
            rows = [_row(line, delimiter, len(names), where) for where, line in lines]
            columns = {name: cells for name, *cells in zip(names, *rows, strict=True)}
            return _of_table(names, columns.__getitem__, source)
    _refuse_header(first, usual, source)
    return [_of_line(line, usual, where) for where, line in lines]


def _lines(text: str, delimiter: str | None, file_name: str) -> list[tuple[str, str]]:
    """Return the lines of a text that are not blank, each after what errors call it.

    delimiter: between cells. Then a cell in double quotes may have line breaks. None: there are no
    cells.
    """
    pattern = r"[^\r\n]+"
    if delimiter is not None:
        separator = re.escape(delimiter)
        quoted = rf'(?<![^{separator}\r\n])"(?:[^"]|"")*+"(?![^{separator}\r\n])'
        pattern = rf"(?:{quoted}|[^\r\n])+"
    lines = []
    number, start = 1, 0
    for match in re.finditer(pattern, text):
        number += len(_LINE_END.findall(text, start, match.start()))
        start = match.start()
        if match[0].strip():
            lines.append((f"{file_name}: line {number:,}", match[0]))
    return lines


def _row(line: str, delimiter: str, width: int, where: str) -> list[str]:
    """Return the cells of a row of a table, which are `width`. where: what errors call the line."""
    cells = _cells(line, delimiter)
    if len(cells) == width + 1:  # R names rows, and gives their names no title
        cells = cells[1:]
    if len(cells) != width:
        raise DataError(f"{where} has more or fewer fields than the first line names")
    return cells


def _cells(line: str, delimiter: str) -> list[str]:
    """Split a line of a table. A delimiter within double quotes, or within the braces of a set, is
    none.
    """
    separator = re.escape(delimiter)
    pattern = rf'((?:"(?:[^"]|"")*"|\{{[^{{}}]*\}}|[^{separator}])*+){separator}'
    cells = [_without_quotes(cell.strip()) for cell in re.findall(pattern, line + delimiter)]
    if delimiter == " ":
        return [cell for cell in cells if cell]
    return cells


def _without_quotes(cell: str) -> str:
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"').strip()
    return cell


def _refuse_header(first: str, delimiter: str | None, source: _Source) -> None:
    """Raise an error if the first line names columns, of which none holds itemsets."""
    separator = r"[\s,;|]+" if delimiter is None else delimiter
    names = [_plain(name.strip('"')) for name in re.split(separator, first)]
    if any(map(_FIGURES.fullmatch, names)) or (
        len(names) > 1 and all(map(suggests_a_column, names))
    ):
        raise source.refuse(f"seems to be a table: its first line names columns. It {_LOOK}")


def _of_line(line: str, delimiter: str | None, where: str) -> list[Item]:
    """Return the itemset in a line: a set, or items between delimiters. where: what errors call the
    line.
    """
    itemset = set_in(_without_quotes(line.strip()), ("{}", "[]"))
    if itemset is not None:
        return itemset
    _check_separators(line, delimiter, where)
    if delimiter is None:
        # Bytes are split at ASCII white space only, as purchases are.
        return [token.decode() for token in line.encode().split()]
    reader = csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True)
    return [field.strip() for field in next(reader) if field.strip()]


def _check_separators(line: str, delimiter: str | None, where: str) -> None:
    """Raise DataError if another character than the delimiter, or than white space, seems to
    separate the items of a line.
    """
    bare = line.strip()
    present = [name for character, name in _NAMES_OF_DELIMITERS.items() if character in bare]
    if delimiter is None:
        is_clear = present == ["tabs"] and " " not in bare
    else:
        is_clear = delimiter in line or '"' in line
    if not present or is_clear:
        return
    if delimiter is not None:
        expected = _NAMES_OF_DELIMITERS[delimiter]
        raise DataError(
            f"{where} has {present[0]} but no {expected}: separate items by {expected}, or put "
            f"items that hold such a character in double quotes"
        )
    both = f"{present[0]} and spaces" if re.search(r"\s", bare) else present[0]
    raise DataError(
        f"{where} has {both}, but in such a file white space alone separates items: save the list "
        "as .csv. There commas separate items, and an item that holds one stands in double quotes"
    )


# -------------------- the public list of items

# The options that say how a list is read.
_OF_A_LIST = ("catalogue_item", "catalogue_label", "catalogue_query")


def public_items(run: Run, group: str | None = None) -> tuple[Catalogue, Listed] | None:
    """Return the items that are public, and what a release states of them; None without a list.

    group: the column of the groups that are counted instead of items.

    The catalogue is what `read_item_list` takes, a release, or the path of a saved one. Raises
    ParameterError for what does not go together, and DataError for a list that cannot be read.
    Warns of a release that was not private.
    """
    catalogue = run.values["catalogue"]
    if flag("items_are_public", run.values["items_are_public"]):
        _check_items_are_public(run)
        items = read_every_item(source_of(run.data), run.reading)
        return Catalogue(items), Listed(items_are_public=True)
    named = {name: run.values[name] for name in _OF_A_LIST if run.values[name] is not None}
    if group is not None:
        named["group"] = group
    release = earlier_release(catalogue)
    if release is not None:
        return _items_of_release(run, release, named)
    columns = _checked_columns(run, named)
    if catalogue is None:
        return None
    if is_dataframe(catalogue):
        catalogue = catalogue.toArrow()
    listed = read_item_list(source_of(catalogue), columns, named.get("catalogue_query"))
    universe = Catalogue(listed.items) if group is None else _groups(listed)
    return universe, Listed(
        file_name(catalogue),
        columns.item,
        named.get("catalogue_label"),
        group,
        items=len(universe.items),
        names=names_of(listed) if group is None else {},
    )


def _groups(listed: ItemList) -> Catalogue:
    """Return the groups of the items of a list, as the catalogue of all that is counted."""
    members, member_of = mixed_vocabulary([*listed.labels])
    groups, group_of = mixed_vocabulary([*listed.labels.values()])
    if not len(groups):
        raise DataError(f"{parameter('group')} names a column without any group; name another")
    return Catalogue(groups, Grouping(members, group_of[np.argsort(member_of)]))


def _check_items_are_public(run: Run) -> None:
    """Raise ParameterError if the items of the purchases cannot be the list."""
    for name in ("catalogue", *_OF_A_LIST, "universe_size"):
        if run.values[name] is not None:
            raise ParameterError(
                f"give {parameter(name)} or {parameter('items_are_public')}, not both: the latter "
                f"takes the items from the purchases"
            )
    if run.engine.name != LOCAL:
        raise ParameterError(
            f"{parameter('items_are_public')} is for {parameter('engine')} {LOCAL}: with "
            f"{run.engine.name} list the items with {parameter('catalogue')}"
        )


def _checked_columns(run: Run, named: Mapping[str, str]) -> ListColumns:
    """Return the columns of the items and of their labels, or groups.

    Raises ParameterError for columns of a list that is not there, or that contradict.

    named: the options that say how the list is read.
    """
    for name, value in named.items():
        if run.values["catalogue"] is None:
            raise ParameterError(
                f"{parameter(name)} goes with {parameter('catalogue')}: the table with the items"
            )
        if not isinstance(value, str):
            expected = "a select" if name == "catalogue_query" else "the name of a column"
            raise ParameterError(
                f"{parameter(name)} must be {expected}, as text, not {shown(value)}"
            )
    option = "group" if "group" in named else "catalogue_label"
    item, label = named.get("catalogue_item"), named.get(option)
    if label is not None and item in (None, label):
        raise ParameterError(
            f"{parameter(option)} needs {parameter('catalogue_item')}, another column of "
            f"{parameter('catalogue')}: that of the items"
        )
    return ListColumns(item, label, run.all_rows.fold_case, label_option=option)


def _items_of_release(
    run: Run, release: Release | SegmentedRelease, named: Mapping[str, object]
) -> tuple[Catalogue, Listed]:
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
    warn_of_seed(run, release, "catalogue", stacklevel=7)
    vocabulary = read_catalogue([*items], fold_case=run.all_rows.fold_case)
    return Catalogue(vocabulary), Listed(source, release=True, items=len(vocabulary))


def warn_of_seed(
    run: Run, release: Release | SegmentedRelease, name: str, *, stacklevel: int
) -> None:
    """Warn where what is to be public comes from a release that was not private."""
    if not release.private:
        caution = (
            f"{parameter(name)} is a release that was made with a seed, and so is not private: "
            f"that does not make its items public"
        )
        run.warn([caution], stacklevel)


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


def itemsets_of(release: Release | SegmentedRelease) -> list[Items]:
    """Return the itemsets with a name of a release, under the names that their items have in the
    data.
    """
    if isinstance(release, SegmentedRelease):
        return [itemset for segment in release.releases for itemset in itemsets_of(segment)]
    listed = release.scope.catalogue
    named = [itemset.items for itemset in release.itemsets if itemset.items is not None]
    return named if listed is None else [*map(listed.coded, named)]
