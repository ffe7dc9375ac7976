"""The schema of a release, which writes and reads JSON and Parquet; its frames, its CSV, and files of all of them."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from fim_private.display import as_json
from fim_private.dp.cost import Exact
from fim_private.errors import DataError, ParameterError, shown
from fim_private.reading.labels import Item
from fim_private.request.itemsets import Itemset
from fim_private.request.supports import NoiseKind, SupportNoise
from fim_private.whole_files import staged

# -------------------- CSV: cells are quoted where they must be, and safe to open in a spreadsheet

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

    def cell(value: float | str) -> str:
        safe = f"'{value}" if spreadsheet_safe and isinstance(value, str) and _would_run(value) else str(value)
        return '"' + safe.replace('"', '""') + '"' if _SEPARATOR.search(safe) else safe

    return ",".join(map(cell, cells)) + "\n"


def as_it_was(text: str) -> str:
    """Return the text of a cell of `csv_line`, once the csv module has read it, without the apostrophe put before it.

    >>> as_it_was("'=1+1"), as_it_was("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text[:1] == "'" and _would_run(text[1:]) else text


def _would_run(text: str) -> bool:
    """Tell whether a spreadsheet would run a text without its apostrophes: one more shows which one is ours."""
    formula = text.lstrip("'")
    return _FORMULA.match(formula) is not None and not _NUMBER.fullmatch(formula)


def by_segment(tables: Mapping[str, str]) -> str:
    """Return tables of CSV, under the names of their segments, as one, with the segment in a first column.

    tables: not yet safe for spreadsheets; what is returned is. Of different numbers of columns for items the most are
    taken.
    """
    readers = {name: csv.DictReader(io.StringIO(table, newline="")) for name, table in tables.items()}
    head = max((reader.fieldnames or () for reader in readers.values()), key=len)
    lines = [csv_line(["segment", *head], spreadsheet_safe=False)]
    for name, rows in readers.items():
        lines += [csv_line([name, *(row.get(one, "") for one in head)], spreadsheet_safe=True) for row in rows]
    return "".join(lines)


# -------------------- frames: a row for each itemset, under the names that mlxtend has for columns


def arrow_table(itemsets: Sequence[tuple[Item, ...] | None], columns: dict[str, Any]) -> Any:
    """Return a pyarrow.Table: support, itemsets (null for the outcome without a name), then the other columns.

    columns: each as long as itemsets; int64, and float64 for share. Items of both kinds come out as strings,
    for an Arrow list has one type.
    """
    import pyarrow as pa

    lists, numbers = _lists(itemsets)
    kind = pa.list_(pa.int64() if numbers else pa.string())
    made = {name: pa.array(values, pa.float64() if name == "share" else pa.int64()) for name, values in columns.items()}
    return pa.table({"support": made.pop("support"), "itemsets": pa.array(lists, kind), **made})


def pandas_frame(
    itemsets: Sequence[tuple[Item, ...]], columns: dict[str, Any], dtypes: Mapping[str, str], *, lists: bool = False
) -> Any:
    """Return a pandas.DataFrame: support, itemsets, then the other columns.

    columns: each as long as itemsets. dtypes: of those that are not Int64. lists: itemsets are lists of items of one
    type, as in arrow_table, and not frozensets.
    """
    import pandas as pd

    made = {name: pd.array(list(values), dtype=dtypes.get(name, "Int64")) for name, values in columns.items()}
    sets = pd.Series(_lists(itemsets)[0] if lists else [*map(frozenset, itemsets)], dtype=object)
    return pd.DataFrame({"support": made.pop("support"), "itemsets": sets, **made})


def _lists(itemsets: Sequence[tuple[Item, ...] | None]) -> tuple[list[list[Item] | None], bool]:
    """Return each itemset as a list, all items being integers or all strings; and whether they are integers."""
    items = [item for one in itemsets if one is not None for item in one]
    numbers = bool(items) and all(isinstance(item, int) for item in items)
    return [None if one is None else [item if numbers else str(item) for item in one] for one in itemsets], numbers


def downward_closed(itemsets: Sequence[Itemset]) -> list[Itemset]:
    """Return, in order, the itemsets of which all subsets with one item less, and so all subsets, are returned too."""
    closed: set[frozenset[Item]] = set()
    for items in sorted((frozenset(one.items or ()) for one in itemsets), key=len):
        if len(items) == 1 or all(items - {item} in closed for item in items):
            closed.add(items)
    return [one for one in itemsets if frozenset(one.items or ()) in closed]


def one_below_another(tables: Mapping[str, Any]) -> Any:
    """Return tables of arrow_table, or frames, of segments as one, with the segment in a first column.

    Items of Arrow tables are numbers where they are in all that have rows.
    """
    if hasattr(next(iter(tables.values())), "assign"):
        import pandas as pd

        named = [table.assign(segment=name)[["segment", *table]] for name, table in tables.items()]
        return pd.concat([table for table in named if len(table)] or named[:1], ignore_index=True)
    import pyarrow as pa

    types = {table.schema.field("itemsets").type for table in tables.values() if len(table)}
    kind = types.pop() if len(types) == 1 else pa.list_(pa.string())
    return pa.concat_tables(
        table.set_column(1, "itemsets", table.column("itemsets").cast(kind)).add_column(
            0, "segment", pa.array([name] * len(table), pa.string())
        )
        for name, table in tables.items()
    )


# -------------------- the schema: written by `plain_values`, and read by the types of the dataclasses

SCHEMA = 1


def plain_values(release: Any, message: str | None = None, *, everything: bool = False) -> dict[str, Any]:
    """Return a Release as plain values, in the order of the JSON schema (docs/json.md).

    What was not asked for, or is not known, has no key; noise is None where nothing was named. message: that nothing
    came out, in words; None where something did. everything: whether what `Release.save` writes is added as saved.
    """
    sizes, zcdp = release.sizes, release.zcdp
    values = {
        "schema": SCHEMA,
        "private": release.private,
        "mechanism": release.mechanism,
        "reason": release.reason,
        "size": release.size,
        "sizes": None if sizes == tuple(range(sizes[0], sizes[-1] + 1)) else [*sizes],
        "top": release.top if release.wanted > 1 else None,
        "union": release.union or None,
        "min_support": release.min_support,
        "threshold": release.threshold,
        "capped": None if release.min_support is None else release.capped,
        "epsilon": release.epsilon,
        "delta": release.delta,
        "rho": None if zcdp is None else float(zcdp.rho),
        "zcdp_delta": None if zcdp is None else float(zcdp.delta),
        "neighbors": str(release.neighbors),
        "privacy_unit": release.privacy_unit,
        "guarantee": release.guarantee,
        "units": release.units,
        "units_interval": release.units_interval and [*release.units_interval],
        "units_noise": _noise(release.units_noise),
        "where": release.where,
        **release.caps,
        "keep_all": release.keep_all or None,
        **release.scope.to_dict(),
        "abstained": release.abstained,
        "message": message,
        "itemsets": [_itemset(release, one) for one in release.itemsets],
        "parts": [_itemset(release, one) for one in release.parts] if release.with_parts else None,
        "shares": [share.to_dict() for share in release.shares] if len(release.shares) > 1 else None,
        "noise": _noise(release.noise),
        "ledger": None if release.charged is None else release.charged.to_dict(),
    }
    if everything:
        more = {"missing_user": release.missing_user, "shortfall": release.shortfall}
        values["saved"] = {name: value for name, value in more.items() if value is not None} or None
    asked_for = {"noise"} if release.has_supports else set()
    return {name: value for name, value in values.items() if value is not None or name in asked_for}


def _itemset(release: Any, one: Itemset) -> dict[str, Any]:
    if not release.has_shares:
        return one.to_dict()
    bounds = release.share_interval_of(one)
    return one.to_dict() | {"share": release.share_of(one)} | ({} if bounds is None else {"share_interval": [*bounds]})


def _noise(noise: SupportNoise | None) -> dict[str, Any] | None:
    """Return what noise is; parameter and, of two normals, of_units are exact, as text."""
    if noise is None:
        return None
    own = {"kind": str(noise.kind), "parameter": str(noise.parameter), "half_width": noise.half_width}
    return own if noise.of_units is None else {**own, "of_units": str(noise.of_units)}


# JSON can write halves of characters, which no file and no screen takes.
_SURROGATE = re.compile("[\ud800-\udfff]")
# Of a length that is soon read, without an exponent.
_RATIONAL = re.compile(r"[0-9]{1,4000}(/[0-9]{1,4000})?")
_SIMPLE: Mapping[Any, Callable[[Any], bool]] = {
    bool: lambda value: isinstance(value, bool),
    int: lambda value: _is_integer(value) and value >= 0,
    float: lambda value: (isinstance(value, float) or _is_integer(value)) and value >= 0 and math.isfinite(value),
    str: lambda value: isinstance(value, str) and not _SURROGATE.search(value),
    Item: lambda value: _is_integer(value) or _SIMPLE[str](value),
    type(None): lambda value: value is None,
}


def _is_integer(value: Any) -> bool:
    """Tell whether a value is an integer of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def read(kind: Any, value: Any) -> Any:
    """Return a plain value as what a field of a type has: a file comes from outside, and may have anything in a place.

    kind: of the types that a Release is made of. Raises ValueError, LookupError, TypeError or ArithmeticError for a
    value that is none of them; keys that are not known are passed over.
    """
    if (fits := _SIMPLE.get(kind)) is not None:
        if not fits(value):
            raise ValueError(f"no {kind}")
        return value
    inside = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        for each in inside[:-1]:
            with suppress(ValueError):
                return read(each, value)
        return read(inside[-1], value)
    if get_origin(kind) is tuple:
        found = [*value.items()] if isinstance(value, dict) else value
        if not isinstance(found, list | tuple):
            raise ValueError("no list")
        if inside[-1] is ...:
            return tuple(read(inside[0], each) for each in found)
        made = tuple(read(each, one) for each, one in zip(inside, found, strict=True))
        if inside[0] == inside[1] and made[0] > made[1]:
            raise ValueError("an interval that ends before it begins")
        return made
    if isinstance(kind, type) and issubclass(kind, Fraction):
        if isinstance(value, str) and not _RATIONAL.fullmatch(value):
            raise ValueError("no rational number")
        return kind(value) if isinstance(value, str) else kind(Exact(float(read(float, value))))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if not is_dataclass(kind) or not isinstance(value, Mapping):
        raise ValueError("no object")
    if kind is SupportNoise:  # how many supports it is enough for is not saved, nor what it costs
        value = {**value, "count": 1, "cost": None}
    kinds = get_type_hints(kind)
    made_of = {each.name: read(kinds[each.name], value[each.name]) for each in fields(kind) if each.name in value}
    if kind is SupportNoise and (made_of["kind"] is NoiseKind.TWO_NORMALS) != (made_of.get("of_units") is not None):
        raise ValueError("two normals are two")
    return kind(**made_of)


# -------------------- files: JSON and Parquet, which can be loaded again, and CSV, Markdown and SVG, which cannot

# Where the metadata of a Parquet file has all of a release, as its JSON.
METADATA = b"fim_private"


def parquet(release: Any) -> bytes:
    """Return a release as a Parquet file: a row for each itemset, and in the metadata all of the release."""
    import pyarrow as pa
    import pyarrow.parquet

    metadata = {METADATA: json.dumps(release.to_dict(whole=True)).encode()}
    stream = pa.BufferOutputStream()
    pyarrow.parquet.write_table(release.to_arrow().replace_schema_metadata(metadata), stream)
    return bytes(stream.getvalue())


_FORMS: Mapping[str, Callable[[Any], str | bytes]] = {
    ".json": lambda release: as_json(release.to_dict(whole=True)) + "\n",
    ".parquet": parquet,
    ".csv": lambda release: release.to_csv(),
    ".md": lambda release: release.to_markdown(),
    ".svg": lambda release: release.to_svg(),
}


def save(release: Any, path: str | os.PathLike[str]) -> None:
    """Write a release, or that of segments, to a file in the form that its name ends in, whole or not at all.

    Raises ParameterError for a name of no such form, and OutputError where the file cannot be written.
    """
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"a release is saved to the path of a file, not to {shown(path)}")
    place = Path(path).expanduser()
    if (form := _FORMS.get(place.suffix.lower())) is None:
        *first, last = _FORMS
        raise ParameterError(
            f"the name of a release's file must end in {', '.join(first)} or {last}, not {place.suffix!r}"
        )
    content = form(release)
    with staged(place, given="path") as write:
        write(content)


def saved_values(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the plain values of the release that a file has. Raises DataError where it cannot be read, or has none."""
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"a release is loaded from the path of a file, not from {shown(path)}")
    place = Path(path).expanduser()
    try:
        text = _of_parquet(place) if place.suffix.lower() == ".parquet" else place.read_bytes()
        values = json.loads(text, parse_constant=_no_constant)
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or 'it is no Parquet file'}") from None
    except (ValueError, RecursionError):
        raise no_release(path) from None
    if not isinstance(values, dict) or "schema" not in values:
        raise no_release(path)
    if (schema := values["schema"]) != SCHEMA:
        raise DataError(f"{str(path)!r} has a release of schema {shown(schema)}; this version reads schema {SCHEMA}")
    return values


def no_release(path: str | os.PathLike[str]) -> DataError:
    """Return the error that a file has no release."""
    return DataError(f"{str(path)!r} is no release: load what was saved as .json or .parquet")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")  # NaN and infinities, which Python takes for JSON


def _of_parquet(place: Path) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_schema(place).metadata
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    return bytes((metadata or {}).get(METADATA, b""))
