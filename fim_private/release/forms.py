"""The forms of a release: the schema of its JSON and Parquet, its frames, its CSV, and sheets."""

import datetime
import io
import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

from fim_private.display import JsonObject
from fim_private.dp.accountant import COSTS, Sums
from fim_private.dp.cost import Exact
from fim_private.errors import MissingExtraError
from fim_private.reading.labels import Item
from fim_private.request.itemsets import Items, Itemset
from fim_private.request.supports import SupportNoise

# Text that spreadsheets run as a formula (OWASP, "CSV Injection"); full-width and small signs run
# in some of them. Invisible characters before the sign do not stop them.
_UNSEEN = "\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_FORMULA = re.compile(rf"[{_UNSEEN}]*[=+\-@\t\r\n＝＋－＠﹦﹢﹣﹫]")
# A number may have a sign, too, and there is nothing in it to run.
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
# What separates cells or lines somewhere in the world: unquoted, the rest would be a cell of its
# own.
_SEPARATOR = re.compile(r'[",;|\t\r\n]')
# None: there is none, or it is not known.
Cell = bool | float | str | None
Rows = Sequence[Sequence[Cell]]
# The columns of a frame by name, each with a value for every itemset.
Columns = dict[str, Any]
# A frame of pandas or polars, and the axes of matplotlib: from packages that may be missing.
Frame = Any
Axes = Any
# A Release or a SegmentedRelease: both are made of these forms, and import them.
AnyRelease = Any


def _csv_cell(cell: Cell, spreadsheet_safe: bool) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    text = str(cell)
    if spreadsheet_safe and isinstance(cell, str) and _would_run(cell):
        text = f"'{text}"
    if _SEPARATOR.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def csv_text(rows: Rows, *, spreadsheet_safe: bool = True) -> str:
    """Return rows, the header first, as CSV.

    spreadsheet_safe: with apostrophes before text that spreadsheets would run as a formula.
    """
    lines = [",".join(_csv_cell(cell, spreadsheet_safe) for cell in row) for row in rows]
    return "".join(f"{line}\n" for line in lines)


def as_it_was(text: str) -> str:
    """Return the text of a cell without the apostrophe that `csv_text` put before it."""
    if text.startswith("'") and _would_run(text[1:]):
        return text[1:]
    return text


def _would_run(text: str) -> bool:
    """Return whether a spreadsheet would run a text if it had no apostrophes before it."""
    # A text that has some gets one more, so that the first is always the one that was added.
    formula = text.lstrip("'")
    return _FORMULA.match(formula) is not None and not _NUMBER.fullmatch(formula)


def rows_of(columns: Columns) -> Rows:
    """Return columns as rows, the header first."""
    return [[*columns], *map(list, zip(*columns.values(), strict=True))]


def item_columns(
    title: str, itemsets: Sequence[Items], least: int = 1
) -> dict[str, Sequence[Cell]]:
    """Return the items of itemsets in columns title_1, title_2, …, with empty cells behind short
    ones.

    least: how many columns there are at least.
    """
    columns = [*zip_longest(*itemsets)]
    columns += [(None,) * len(itemsets)] * (least - len(columns))
    return {f"{title}_{number}": column for number, column in enumerate(columns, 1)}


class _Sheet(Protocol):
    def sheet_rows(self) -> Rows:
        """Return rows, the header first."""


def rows_by_segment(sheets: Mapping[str, _Sheet], kind: str) -> Rows:
    """Return the rows of releases, or of their rules, as one table, with the segment in its first
    column; those under no name as they are.

    Some may lack columns that others have. kind: the title of the first column.
    """
    tables = {name: sheet.sheet_rows() for name, sheet in sheets.items()}
    if "" in tables:
        return tables[""]
    columns = max((rows[0] for rows in tables.values()), key=len)
    joined = [[kind, *columns]]
    for name, (header, *rows) in tables.items():
        for row in rows:
            cells = dict(zip(header, row, strict=True))
            joined.append([name, *map(cells.get, columns)])
    return joined


# A sheet of Excel has no more rows, and its numbers no more digits.
_SHEET_ROWS, _SHEET_DIGITS = 1_048_576, 15
# The date in every workbook: the same release is then always the same file.
_WRITTEN_AT = datetime.datetime(2000, 1, 1)


def excel_writer() -> Any:
    """Return the package that writes workbooks, or raise MissingExtraError if it is missing."""
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtraError(
            "writing a workbook of Excel needs XlsxWriter: pip install 'fim-private[excel]', or "
            "save as CSV"
        ) from None
    return xlsxwriter


def workbook(tables: Mapping[str, Rows]) -> bytes:
    """Return a workbook of Excel with a sheet for each table. No text in it is a formula."""
    stream = io.BytesIO()
    most_rows = _SHEET_ROWS - 1  # below the header
    with excel_writer().Workbook(stream, {"in_memory": True}) as book:
        book.set_properties({"created": _WRITTEN_AT})
        bold = book.add_format({"bold": True})
        for name, (header, *rows) in tables.items():
            for number, start in enumerate(range(0, max(len(rows), 1), most_rows), 1):
                sheet_name = name if number == 1 else f"{name} {number}"
                sheet = book.add_worksheet(sheet_name)
                sheet.write_row(0, 0, header, bold)
                _write_rows(sheet, rows[start : start + most_rows])
                sheet.freeze_panes(1, 0)
    return stream.getvalue()


def _write_rows(sheet: Any, rows: Rows) -> None:
    """Write rows into a sheet, below its header."""
    for place, row in enumerate(rows, 1):
        for column, cell in enumerate(map(_sheet_cell, row)):
            if isinstance(cell, str):
                # Not by `write`, which makes formulas and links of some texts.
                sheet.write_string(place, column, cell)
            else:
                sheet.write(place, column, cell)


def _sheet_cell(value: Cell) -> Cell:
    """Return a cell of a sheet: a number that Excel would round or lacks is text; None if empty."""
    if value == "":
        return None
    # No comparison with NaN holds.
    if isinstance(value, int | float) and not abs(value) < 10**_SHEET_DIGITS:
        return str(value)
    return value


def pandas_frame(
    itemsets: Sequence[Items],
    columns: Columns,
    dtypes: Mapping[str, str],
    *,
    lists: bool = False,
) -> Frame:
    """Return a pandas.DataFrame, in the same order.

    dtypes: of the columns that are not Int64. lists: whether itemsets are lists, not frozensets.
    """
    import pandas as pd

    arrays = {
        name: pd.array(list(values), dtype=dtypes.get(name, "Int64"))
        for name, values in columns.items()
    }
    cells: Sequence[object] = [frozenset(items) for items in itemsets]
    if lists:
        cells, _ = lists_of(itemsets)
    frame = pd.DataFrame(arrays)
    frame.insert(1, "itemsets", pd.Series(cells, dtype=object))
    return frame


def joined(frames: Mapping[str, Frame], kind: str) -> Frame:
    """Return the frames of segments as one, with the segment in a first column; a frame under no
    name as it is.

    kind: the title of the first column.
    """
    import pandas as pd

    if "" in frames:
        return frames[""]
    for name, frame in frames.items():
        frame.insert(0, kind, name)
    filled = [frame for frame in frames.values() if len(frame)]
    return pd.concat(filled or [*frames.values()][:1], ignore_index=True)


def lists_of(itemsets: Sequence[Items | None]) -> tuple[Sequence[object], bool]:
    """Return itemsets as lists, and whether all items are integers. If not, all are text."""
    items = [item for itemset in itemsets if itemset is not None for item in itemset]
    are_integers = bool(items) and all(isinstance(item, int) for item in items)
    kind = int if are_integers else str
    return [itemset and [*map(kind, itemset)] for itemset in itemsets], are_integers


def downward_closed(itemsets: Sequence[Itemset]) -> list[Itemset]:
    """Return, in order, the itemsets whose subsets are all returned too."""
    by_items = {frozenset(itemset.items or ()): itemset for itemset in itemsets}
    closed: set[frozenset[Item]] = {frozenset()}
    for items in sorted(by_items, key=len):
        # It is enough to look at the subsets with one item less.
        if all(items - {item} in closed for item in items):
            closed.add(items)
    return [itemset for items, itemset in by_items.items() if items in closed]


SCHEMA = 1
# What the JSON of a vote names as its mechanism. A vote has an answer, and no itemsets.
VOTE = "vote"
# Of each key its type, when it is there, and what it says: the texts stand in schema.toml.
Keys = Mapping[str, Sequence[str]]
_TABLES = tomllib.loads(Path(__file__).with_name("schema.toml").read_text(encoding="utf-8"))
KEYS: Keys = _TABLES["release"]
SEGMENTED_KEYS: Keys = {name: texts or KEYS[name] for name, texts in _TABLES["segments"].items()}
# The keys of objects inside, by what these are called, and which of them a key has.
INSIDE: dict[str, Keys] = _TABLES["inside"]
OBJECTS: Mapping[str, str] = _TABLES["objects"]
# The texts that a key can have, if not every text will do; and the keys that it needs.
CHOICES: Mapping[str, Sequence[str]] = _TABLES["choices"]
NEEDS: Mapping[str, Sequence[str]] = _TABLES["needs"]


def plain_values(release: AnyRelease, *, everything: bool = False) -> JsonObject:
    """Return a Release as plain values, in the order of KEYS: what was not asked for has no key.

    everything: with what only `save` writes.
    """
    unordered = vars(release) | release.scope.to_dict() | _common(release)
    unordered |= {
        "size": release.size,
        "sizes": [*release.sizes],
        "date": release.date and release.date.isoformat(),
        "units_interval": release.units_interval and [*release.units_interval],
        "units_noise": _noise(release.units_noise),
        "message": release.nothing,
        "itemsets": _itemsets(release, release.itemsets),
        "known": _itemsets(release, release.known),
        "parts": _itemsets(release, release.parts),
        "shares": [share.to_dict() for share in release.shares],
        "noise": _noise(release.noise),
    }
    without = {name for name in KEYS if unordered.get(name) is None}
    if release.has_supports:
        without.discard("noise")  # null if nothing was named
    without |= _needless(release)
    values = {name: unordered[name] for name in KEYS if name not in without}
    if everything:
        saved = _saved(release)
        if saved:
            values["saved"] = saved
    return values


def _needless(release: AnyRelease) -> set[str]:
    """Return the keys whose values follow from others."""
    sizes = release.sizes
    needless = {
        "sizes": sizes == (*range(sizes[0], sizes[-1] + 1),),
        "top": release.top == release.wanted == 1,
        "union": not release.union,
        "capped": release.min_support is None,
        "keep_all": not release.keep_all,
        "message": not release.abstained,
        "known": release.scope.known_from is None,
        "parts": not release.with_parts,
        "shares": len(release.shares) < 2,
    }
    return {name for name, is_needless in needless.items() if is_needless}


def _saved(release: AnyRelease) -> JsonObject:
    """Return what only `save` writes."""
    saved = {
        "missing_user": release.missing_user,
        "shortfall": release.shortfall,
        "version": release.version,
        "unit_columns": [*release.scope.unit_columns] or None,
        "adds_up": release.adds_up and _adds_up(release.adds_up),
    }
    return {name: value for name, value in saved.items() if value is not None}


def plain_segments(segmented: AnyRelease, *, everything: bool = False) -> JsonObject:
    """Return a SegmentedRelease as plain values, in the order of SEGMENTED_KEYS."""
    releases = [plain_values(release, everything=everything) for release in segmented.releases]
    # These lists are the same in all of them, and perhaps long.
    names = ("exclude", "with_each", "groups")
    common, *_ = [{name: release.pop(name, None) for name in names} for release in releases]
    unordered = (
        _common(segmented)
        | common
        | {
            "by": segmented.by,
            "segments": [*segmented],
            "max_segments": segmented.max_segments,
            "releases": releases,
        }
    )
    return {name: unordered[name] for name in SEGMENTED_KEYS if unordered[name] is not None}


def _common(release: AnyRelease) -> JsonObject:
    """Return what a Release and a SegmentedRelease both have."""
    zcdp = release.zcdp
    return {
        "schema": SCHEMA,
        "private": release.private,
        "epsilon": release.epsilon,
        "delta": release.delta,
        "rho": zcdp and float(zcdp.rho),
        "zcdp_delta": zcdp and float(zcdp.delta),
        "neighbors": str(release.neighbors),
        "privacy_unit": release.privacy_unit,
        "guarantee": release.guarantee,
        "abstained": release.abstained,
        "ledger": release.charged and release.charged.to_dict(),
    }


def _itemsets(release: AnyRelease, itemsets: Sequence[Itemset]) -> list[JsonObject]:
    objects = []
    for itemset in itemsets:
        values = itemset.to_dict()
        if release.has_shares:
            values["share"] = release.share_of(itemset)
            versions = {"": itemset}
            if itemset.exact_interval is not None:
                versions["exact_"] = itemset.by_itself
            for prefix, version in versions.items():
                interval = release.share_interval_of(version)
                if interval is not None:
                    values[f"{prefix}share_interval"] = [*interval]
        objects.append(values)
    return objects


def _adds_up(sums: Sums) -> JsonObject:
    values: JsonObject = {name: float(Exact(sums[name])) for name in COSTS}
    return values | {"normal": not sums["other_noise"]}


def _noise(noise: SupportNoise | None) -> JsonObject | None:
    if noise is None:
        return None
    values = {name: vars(noise)[name] for name in INSIDE["Noise"]}
    exact = {name: str(value) for name, value in values.items() if value is not None}
    return exact | {"half_width": noise.half_width}
