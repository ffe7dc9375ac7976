"""JSON, CSV and frames of a release, and files of them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from fim_private.display import as_json
from fim_private.errors import ParameterError, shown
from fim_private.reading.labels import Item
from fim_private.release.outcome import Outcome
from fim_private.request.itemsets import Itemset
from fim_private.request.supports import SupportNoise
from fim_private.whole_files import staged

# -------------------- csv cells
# Cells of CSV: quoted where they must be, and safe to open in a spreadsheet.

# Text that spreadsheets run as a formula (OWASP, "CSV Injection"); full-width and small signs run in some of them.
# What is not seen before the sign does not stop them.
_UNSEEN = "\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_FORMULA = re.compile(rf"[{_UNSEEN}]*[=+\-@\t\r\n＝＋－＠﹦﹢﹣﹫]")
# But for text that is a number, which has a sign and nothing to run.
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
# What separates cells or lines somewhere in the world: unquoted, the rest would be a cell of its own.
_SEPARATOR = re.compile(r'[",;|\t\r\n]')


def csv_line(cells: Iterable[float | str], *, spreadsheet_safe: bool) -> str:
    """Return a line of CSV with commas, as the csv module reads it.

    spreadsheet_safe: whether text that a spreadsheet would run gets an apostrophe in front.

    >>> csv_line([-1, "-1", "=1+1", "tea; milk"], spreadsheet_safe=True)
    '-1,-1,\\'=1+1,"tea; milk"\\n'
    """
    return ",".join(_cell(cell, spreadsheet_safe) for cell in cells) + "\n"


def as_it_was(text: str) -> str:
    """Return the text of a cell of `csv_line`, once the csv module has read it, without the apostrophe put before it.

    >>> as_it_was("'=1+1"), as_it_was("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text[:1] == "'" and _would_run(text[1:]) else text


def _would_run(text: str) -> bool:
    """Tell whether a spreadsheet would run a text as a formula, but for apostrophes before it.

    (Such text gets one more, so that `as_it_was` can tell which one is not of the text.)
    """
    formula = text.lstrip("'")
    return _FORMULA.match(formula) is not None and not _NUMBER.fullmatch(formula)


def _cell(cell: float | str, spreadsheet_safe: bool) -> str:
    """Return one cell."""
    text = str(cell)
    if spreadsheet_safe and isinstance(cell, str) and _would_run(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if _SEPARATOR.search(text) else text


# -------------------- frames
# Releases as tables of Arrow and of pandas: a row for each itemset, under the names that mlxtend has for columns.

# The columns beside the itemsets: whole numbers of units, or shares of them. None where nothing was released.
Columns = Mapping[str, Sequence[int | float | None]]
# Columns of these names are shares in a table of counts.
SHARES = frozenset({"share"})


def arrow_table(itemsets: Sequence[tuple[Item, ...] | None], columns: Columns) -> Any:
    """Return a pyarrow.Table: support, itemsets (null for the outcome without a name), then the other columns.

    columns: each as long as itemsets; int64, or float64 where they are SHARES. Items of both kinds come out as strings,
    for an Arrow list has one type.
    """
    import pyarrow as pa

    kind = pa.int64() if _are_numbers(itemsets) else pa.string()
    made = {name: pa.array(values, pa.float64() if name in SHARES else pa.int64()) for name, values in columns.items()}
    return pa.table({"support": made.pop("support"), "itemsets": pa.array(_lists(itemsets), pa.list_(kind)), **made})


def pandas_frame(
    itemsets: Sequence[tuple[Item, ...]], columns: Columns, dtypes: Mapping[str, str], *, lists: bool
) -> Any:
    """Return a pandas.DataFrame: support, itemsets, then the other columns.

    columns: each as long as itemsets. dtypes: of those that are not Int64. lists: whether itemsets are lists, whose
    items are of one type as in arrow_table, not frozensets.
    """
    import pandas as pd

    made = {name: pd.array(list(values), dtype=dtypes.get(name, "Int64")) for name, values in columns.items()}
    sets = _lists(itemsets) if lists else [frozenset(items) for items in itemsets]
    return pd.DataFrame({"support": made.pop("support"), "itemsets": pd.Series(sets, dtype=object), **made})


def downward_closed(itemsets: Sequence[Itemset]) -> list[Itemset]:
    """Return, in order, the itemsets of which all parts with one item less, and so all parts, are returned as well."""
    kept: set[frozenset[Item]] = set()
    for itemset in sorted(itemsets, key=lambda each: len(each.items or ())):
        items = frozenset(itemset.items or ())
        if len(items) == 1 or all(items - {item} in kept for item in items):
            kept.add(items)
    return [itemset for itemset in itemsets if frozenset(itemset.items or ()) in kept]


def counts(itemsets: Sequence[Itemset], has_supports: bool) -> dict[str, list[int | None]]:
    """Return what is known of itemsets in units: their supports and, where these were asked for, lower and upper."""
    columns = {"support": [itemset.support for itemset in itemsets]}
    if has_supports:
        for place, name in enumerate(("lower", "upper")):
            columns[name] = [itemset.interval and itemset.interval[place] for itemset in itemsets]
    return columns


def of_one_type(tables: Sequence[Any]) -> list[Any]:
    """Return tables as arrow_table makes them with items of one type: of numbers where all that have rows are."""
    import pyarrow as pa

    types = {table.schema.field("itemsets").type for table in tables if len(table)}
    kind = types.pop() if len(types) == 1 else pa.list_(pa.string())
    return [table.set_column(1, "itemsets", table.column("itemsets").cast(kind)) for table in tables]


def _are_numbers(itemsets: Sequence[tuple[Item, ...] | None]) -> bool:
    """Tell whether there are items, all of them integers."""
    items = [item for itemset in itemsets if itemset is not None for item in itemset]
    return bool(items) and all(isinstance(item, int) for item in items)


def _lists(itemsets: Sequence[tuple[Item, ...] | None]) -> list[list[Item] | None]:
    """Return each itemset as a list, all items being integers or all being strings."""
    numbers = _are_numbers(itemsets)
    return [None if itemset is None else [i if numbers else str(i) for i in itemset] for itemset in itemsets]


# -------------------- plain values
# A release as plain values, the JSON schema: of strings, numbers, booleans, None, lists and dicts of them.

SCHEMA = 1


def plain_values(outcome: Outcome, guarantee: str, message: str | None = None) -> dict[str, Any]:
    """Return what leaves as plain values, in the order of the JSON schema (docs/json.md), with its guarantee.

    What was not asked for has no key: top, union, caps, shares, noise, intervals, parts and keep_all; nor has the
    reason where the mechanism was named, nor the units where their number is not known. noise is None where nothing was
    named. message: that nothing came out, in words; None where something did.
    """
    zcdp, sizes = outcome.zcdp, outcome.sizes
    optional: dict[str, Any] = {
        "units": outcome.units,
        "units_interval": outcome.units_interval and list(outcome.units_interval),
        "units_noise": _noise(outcome.units_noise),
        "where": outcome.where,
        "max_basket": outcome.max_basket,
        "max_baskets": outcome.max_baskets,
        "keep_all": outcome.keep_all or None,
    }
    least = {"min_support": outcome.min_support, "threshold": outcome.threshold, "capped": outcome.capped}
    return {
        "schema": SCHEMA,
        "private": outcome.private,
        "mechanism": outcome.mechanism,
        **({} if outcome.reason is None else {"reason": outcome.reason}),
        "size": outcome.size,
        **({"chosen_from": [*outcome.chosen_from]} if outcome.chosen_from else {}),
        **({} if sizes == tuple(range(sizes[0], sizes[-1] + 1)) else {"sizes": [*sizes]}),
        **({"top": outcome.top} if outcome.wanted > 1 else {}),
        **({"union": True} if outcome.union else {}),
        **({} if outcome.min_support is None else least),
        "epsilon": outcome.epsilon,
        "delta": outcome.delta,
        **({} if zcdp is None else {"rho": float(zcdp.rho), "zcdp_delta": float(zcdp.delta)}),
        "neighbors": str(outcome.neighbors),
        "privacy_unit": outcome.privacy_unit,
        "guarantee": guarantee,
        **{name: value for name, value in optional.items() if value is not None},
        **outcome.scope.to_dict(),
        "abstained": outcome.abstained,
        **({} if message is None else {"message": message}),
        "itemsets": [_itemset(outcome, itemset) for itemset in outcome.itemsets],
        **({"parts": [_itemset(outcome, itemset) for itemset in outcome.parts]} if outcome.with_parts else {}),
        **({"shares": [share.to_dict() for share in outcome.shares]} if len(outcome.shares) > 1 else {}),
        **({"noise": _noise(outcome.noise)} if outcome.has_supports else {}),
        **({} if outcome.charged is None else {"ledger": outcome.charged.to_dict()}),
    }


def _itemset(outcome: Outcome, itemset: Itemset) -> dict[str, Any]:
    """Return an itemset with its share of all units and the interval of that, where supports have shares."""
    if not outcome.has_shares:
        return itemset.to_dict()
    bounds = outcome.share_interval_of(itemset)
    shares = {"share": outcome.share_of(itemset), **({} if bounds is None else {"share_interval": list(bounds)})}
    return itemset.to_dict() | shares


def _noise(noise: SupportNoise | None) -> dict[str, Any] | None:
    """Return what noise is; parameter and, of two normals, of_units are exact, as text."""
    if noise is None:
        return None
    own = {"kind": str(noise.kind), "parameter": str(noise.parameter), "half_width": noise.half_width}
    return own if noise.of_units is None else {**own, "of_units": str(noise.of_units)}


# -------------------- release files
# A release as a file: JSON and Parquet, which can be loaded again, and CSV, Markdown and SVG, which cannot.

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
