"""Loading a saved release: it is checked field by field against the schema, and then made."""

from __future__ import annotations

import datetime
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from fim_private.display import JsonObject, printable
from fim_private.dp.charge import UNITS
from fim_private.dp.cost import Exact
from fim_private.errors import DataError, ParameterError, shown
from fim_private.options import RELATIONS
from fim_private.periods import KINDS, Period
from fim_private.reading.labels import Item
from fim_private.release.forms import (
    INSIDE,
    KEYS,
    METADATA,
    OBJECTS,
    PARQUET_ENDINGS,
    SCHEMA,
    SEGMENTED_KEYS,
    Keys,
)
from fim_private.release.release import Release
from fim_private.release.segments import SegmentedRelease
from fim_private.request.itemsets import subsets_of
from fim_private.request.supports import NoiseKind, SupportNoise

_MOST_SIZES = 1_000_000
_FIELDS: Keys = {
    **KEYS,
    "saved": ("object", "in what `save` writes", ("All else that is loaded again.")),
}
# The texts that a field can have, where not every text will do.
_CHOICES: Mapping[str, Sequence[str]] = {
    "neighbors": RELATIONS,
    "privacy_unit": UNITS,
    "together": ("user",),
    "per": KINDS,
    "missing_time": ("drop",),
    "missing_user": ("drop", "own-unit"),
    "kind": [str(kind) for kind in NoiseKind],
}
# Fields that come together, or not at all; and fields that need another.
_PAIRS = (
    *(("min_support", "threshold"), ("rho", "zcdp_delta"), ("units_interval", "units_noise")),
    *(("by", "segment"), ("segment", "by")),
)
_NEEDS = (("units_interval", "units"), ("period", "time"), ("per", "time"))
# The items of itemsets; None for the outcome without a name.
_Keys = set[frozenset[Item] | None]
# Whether a value is of a kind.
Fits = Callable[[Any], bool]


# JSON can write halves of characters, which no file and no screen takes.
_SURROGATE = re.compile("[\ud800-\udfff]")
# Of a length that is soon read, without an exponent.
_RATIONAL = re.compile(r"[0-9]{1,4000}(/[0-9]{1,4000})?")


class _FieldError(ValueError):
    """A field of a saved release is not as the schema has it."""

    def __init__(self, field: str, fault: str) -> None:
        super().__init__(f'field "{field}" {fault}')


def check(values: JsonObject, path: str | os.PathLike[str]) -> None:
    """Raise DataError, which names the file and the field, if values do not fit the schema."""
    try:
        if "releases" in values:
            _check_segmented(values)
        else:
            _check_release(values, "")
    except _FieldError as error:
        raise DataError(f"{printable(str(path))}: {error}; load the file as it was saved") from None


def _check_segmented(values: JsonObject) -> None:
    _check_keys(values, SEGMENTED_KEYS, "")
    releases, segments = values["releases"], values["segments"]
    if not releases:
        raise _FieldError("releases", "must not be empty")
    names = []
    for place, release in enumerate(releases):
        at = f"releases[{place}]"
        _check_release(release, at)
        for name in ("neighbors", "privacy_unit"):
            if release[name] != values[name]:
                raise _FieldError(f"{at}.{name}", f'must be the same as "{name}" of all releases')
        names.append(release.get("segment", release.get("period")))
    if names != segments or len({*names}) < len(names):
        raise _FieldError(
            "segments", "must name the segment or period of each release, all different"
        )
    for place, release in enumerate(releases):
        if ("noise" in release) != ("noise" in releases[0]):
            raise _FieldError(
                f"releases[{place}].noise", "must be there in all releases, or in none"
            )


def _check_release(values: JsonObject, at: str) -> None:
    _check_keys(values, _FIELDS, at)
    for first, second in _PAIRS:
        if (first in values) != (second in values):
            missing = second if first in values else first
            raise _FieldError(_joined(at, missing), "is missing")
    for name, needed in _NEEDS:
        if name in values and needed not in values:
            raise _FieldError(_joined(at, needed), "is missing")
    if values["abstained"] != (not values["itemsets"]):
        raise _FieldError(_joined(at, "abstained"), "must say whether there are no itemsets")
    for name in ("noise", "units_noise"):
        _check_noise(values.get(name), _joined(at, name))
    sizes = _sizes(values, at)
    for place, itemset in enumerate(values["itemsets"]):
        items = itemset["items"]
        if items is not None and len(items) not in sizes:
            field = _joined(at, f"itemsets[{place}].items")
            raise _FieldError(field, f'must have as many items as "size" says: {values["size"]}')
    _check_itemsets(values, at)


def _check_noise(noise: JsonObject | None, at: str) -> None:
    if noise is None:
        return
    if (noise["kind"] == NoiseKind.TWO_NORMALS) != ("of_units" in noise):
        raise _FieldError(
            _joined(at, "of_units"), f"must be there for {NoiseKind.TWO_NORMALS}, and only for it"
        )


def _sizes(values: JsonObject, at: str) -> Sequence[int]:
    """Return the sizes that itemsets may have."""
    first, _, last = str(values["size"]).partition("-")
    sizes: Sequence[int] = ()
    with suppress(ValueError):
        sizes = range(int(first), int(last or first) + 1)
    if not 0 < len(sizes) <= _MOST_SIZES or sizes[0] < 1:
        fault = f"must be a size such as 2, or a range such as 2-4, not {shown(values['size'])}"
        raise _FieldError(_joined(at, "size"), fault)
    if "sizes" not in values:
        return sizes
    listed: list[int] = values["sizes"]
    are_ascending = bool(listed) and listed == sorted({*listed})
    if not are_ascending or (listed[0], listed[-1]) != (sizes[0], sizes[-1]):
        raise _FieldError(_joined(at, "sizes"), 'must be ascending sizes in the range of "size"')
    return listed


def _check_itemsets(values: JsonObject, at: str) -> None:
    """Check that no itemset comes twice or is empty, and that all have supports, or none has."""
    itemsets = _check_list("itemsets", values, at, set())
    known = _check_list("known", values, at, itemsets)
    subsets = _check_list("parts", values, at, itemsets)
    if "parts" in values and not _has_all_parts(itemsets, itemsets | known | subsets):
        raise _FieldError(
            _joined(at, "parts"), "must have every subset of the itemsets that is not among them"
        )


def _check_list(name: str, values: JsonObject, at: str, earlier: _Keys) -> _Keys:
    """Check one list of itemsets, none of which came earlier, and return their items."""
    keys: _Keys = set()
    for place, itemset in enumerate(values.get(name, ())):
        field = _joined(at, f"{name}[{place}]")
        items = itemset["items"]
        key = None if items is None else frozenset(items)
        if key is not None and (not items or len(items) > len(key)):
            raise _FieldError(f"{field}.items", "must be a list of different items, at least one")
        if key in keys or key in earlier:
            raise _FieldError(f"{field}.items", "must not be an itemset that comes before")
        keys.add(key)
        if items is not None:
            _check_supports(itemset, values, field)
    return keys


def _has_all_parts(itemsets: _Keys, everything: _Keys) -> bool:
    named = [tuple(items) for items in itemsets if items is not None]
    # An itemset with more subsets than there are itemsets lacks some: there may be too many to try.
    if any(2 ** len(items) - 1 > len(everything) for items in named):
        return False
    return all(frozenset(subset) in everything for subset in subsets_of(named))


def _check_supports(itemset: JsonObject, values: JsonObject, field: str) -> None:
    if values.get("noise") is None:
        if itemset["support"] is not None or "interval" in itemset:
            raise _FieldError(f"{field}.support", 'must be null, because there is no "noise"')
        return
    if itemset["support"] is None:
        raise _FieldError(f"{field}.support", "must be a whole number, 0 or more, not None")
    needed = ["interval"]
    if "units_interval" in values:
        needed.append("share_interval")
    for name in needed:
        if name not in itemset:
            raise _FieldError(f"{field}.{name}", "is missing")


# -------------------- one field by itself


def _check_keys(values: object, keys: Keys, at: str) -> None:
    """Check the fields of an object, and of the objects inside it, but for fields not known."""
    if not isinstance(values, Mapping):
        raise _FieldError(at, f"must be an object, not {shown(values)}")
    for name, (kind, there, _) in keys.items():
        field = _joined(at, name)
        if name in values:
            _check_kind(values[name], kind, field)
            _check_choice(name, values[name], kind, field)
            _check_inside(name, values[name], field)
        elif there == "always":
            raise _FieldError(field, "is missing")


def _check_inside(name: str, value: object, field: str) -> None:
    table = OBJECTS.get(name)
    if table is None:
        return
    if isinstance(value, list):
        for place, element in enumerate(value):
            _check_keys(element, INSIDE[table], f"{field}[{place}]")
    elif isinstance(value, Mapping):
        _check_keys(value, INSIDE[table], field)


def _check_kind(value: object, kind: str, field: str) -> None:
    if kind.endswith(" or null"):
        if value is None:
            return
        kind = kind.removesuffix(" or null")
    fits, description = _KINDS[kind]
    if not fits(value):
        raise _FieldError(field, f"must be {description}, not {shown(value)}")


def _check_choice(name: str, value: object, kind: str, field: str) -> None:
    choices = _CHOICES.get(name)
    if choices is not None and kind == "text" and value not in choices:
        raise _FieldError(field, f"must be one of {', '.join(choices)}, not {shown(value)}")
    if name == "period":
        try:
            Period.of(value)
        except ParameterError as error:
            raise _FieldError(field, str(error).removeprefix("period ")) from None


def _joined(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _is_integer(value: object) -> bool:
    """Return whether a plain value is a whole number that all forms of a release can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def _is_count(value: object) -> bool:
    return isinstance(value, int) and _is_integer(value) and value >= 0


def _is_number(value: object) -> bool:
    return (isinstance(value, float) and math.isfinite(value) and value >= 0) or _is_count(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and _SURROGATE.search(value) is None


def _is_item(value: object) -> bool:
    return _is_integer(value) or _is_text(value)


def _is_date(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_fraction(value: object) -> bool:
    if not isinstance(value, str) or _RATIONAL.fullmatch(value) is None:
        return False
    return all(term.strip("0") for term in value.split("/"))


def _lists(fits: Fits) -> Fits:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _intervals(fits: Fits) -> Fits:
    return lambda value: _lists(fits)(value) and len(value) == 2 and value[0] <= value[1]


# What a type of the schema takes, and what a message calls it.
_KINDS: Mapping[str, tuple[Fits, str]] = {
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "integer": (_is_count, "a whole number, 0 or more"),
    "integer from 1": (lambda value: _is_count(value) and value >= 1, "a whole number, 1 or more"),
    "integer or text": (
        lambda value: _is_count(value) or _is_text(value),
        "a whole number or a text",
    ),
    "number": (_is_number, "a number, 0 or more"),
    "number above 0": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "number from 0 to 1": (lambda value: _is_number(value) and value <= 1, "a number from 0 to 1"),
    "text": (_is_text, "a text"),
    "date": (_is_date, "a day such as 2026-11-24"),
    "fraction": (_is_fraction, "a fraction above 0 in a text, such as 9/2"),
    "list of integers": (_lists(_is_count), "a list of whole numbers"),
    "list of texts": (_lists(_is_text), "a list of texts"),
    "list of items": (_lists(_is_item), "a list of whole numbers or texts"),
    "list of objects": (_lists(lambda value: isinstance(value, Mapping)), "a list of objects"),
    "[lowest, highest]": (_intervals(_is_count), "two whole numbers, the smaller one first"),
    "[lowest, highest], shares": (_intervals(_is_number), "two numbers, the smaller one first"),
    "object": (lambda value: isinstance(value, Mapping), "an object"),
    "object of items": (
        lambda value: (
            isinstance(value, Mapping)
            and all(map(_is_item, value.values()))
            and all(map(_is_text, value))
        ),
        "an object of whole numbers or texts",
    ),
}


# -------------------- from checked values to a release


def load(path: str | os.PathLike[str]) -> Release | SegmentedRelease:
    """Return the Release, or the SegmentedRelease, that was saved as .json or .parquet.

    It equals what was saved, except where a float is not exact. Shares of the budget are then
    rounded up, and what a ledger had left is rounded down. Raises DataError for a file that cannot
    be read, or is not as the schema has it (docs/json.md).
    """
    values = _values_in(path)
    check(values, path)
    try:
        release = _segmented(values) if "releases" in values else _release(values)
        release.to_dict()  # what follows from several of them, such as shares of units
        return release
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise _no_release(path) from None


def _release(values: JsonObject) -> Release:
    first, _, last = str(values["size"]).partition("-")
    sizes = range(int(first), int(last or first) + 1)
    itemsets = {name: values[name] for name in ("itemsets", "parts", "known") if name in values}
    if "units_interval" not in values:  # the intervals of shares follow from those of supports
        itemsets = {
            name: [{**itemset, "share_interval": None} for itemset in several]
            for name, several in itemsets.items()
        }
    everything = {"purpose": "supports", "sizes": [*sizes], "fraction": 1.0}
    before: JsonObject = {"sizes": [*sizes], "shares": []}
    if "noise" in values:
        before["shares"] = [everything]
    after = {"scope": values, "with_parts": "parts" in values, "request": None}
    every = {**before, **values, **itemsets, **values.get("saved", {}), **_spent(values), **after}
    return _read(Release, every)  # type: ignore[no-any-return]


def _spent(values: JsonObject) -> JsonObject:
    zcdp = {"rho": values["rho"], "delta": values["zcdp_delta"]} if "rho" in values else None
    return {"cost": values, "zcdp": zcdp, "charged": values.get("ledger")}


def _segmented(values: JsonObject) -> SegmentedRelease:
    once = {name: value for name, value in values.items() if name == "exclude"}
    releases = tuple(_release({**release, **once}) for release in values["releases"])
    empty: SegmentedRelease = _read(SegmentedRelease, _spent(values) | {"releases": []})
    segmented = replace(empty, releases=releases)
    segmented.to_arrow()  # raises if some were asked for what others were not
    return segmented


def _values_in(path: str | os.PathLike[str]) -> JsonObject:
    """Return the plain values of the release in a file.

    Raises DataError for a file that cannot be read, or has no release.
    """
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"a release is loaded from the path of a file, not from {shown(path)}")
    try:
        values = json.loads(_json_of(Path(path).expanduser()))
    except OSError as error:
        reason = error.strerror or "it is no Parquet file"
        raise DataError(f"{str(path)!r} cannot be read: {reason}") from None
    except (ValueError, RecursionError):
        raise _no_release(path) from None
    if not isinstance(values, dict) or "schema" not in values:
        raise _no_release(path)
    schema = values["schema"]
    if schema != SCHEMA:
        raise DataError(
            f"{str(path)!r} has a release of schema {shown(schema)}; this version "
            f"reads schema {SCHEMA}"
        )
    return values


def _no_release(path: str | os.PathLike[str]) -> DataError:
    """Return the error that a file has no release."""
    return DataError(f"{str(path)!r} is no release: load what was saved as .json or .parquet")


def _json_of(file: Path) -> bytes:
    """Return the JSON of the release in a file: all of it or, of Parquet, what its metadata has."""
    if file.suffix.lower() not in PARQUET_ENDINGS:
        return file.read_bytes()
    import pyarrow as pa
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_schema(file).metadata
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    return bytes((metadata or {}).get(METADATA, b""))


# -------------------- from plain values to the types of fields

# Which plain values are of a type.
_SIMPLE: Mapping[object, Fits] = {
    bool: lambda value: isinstance(value, bool),
    int: _is_count,
    float: _is_number,
    str: _is_text,
    Item: _is_item,
    type(None): lambda value: value is None,
}


def _read(kind: Any, value: object) -> Any:
    """Convert a value of a saved file, which may be anything, to the type of a field.

    Raises ValueError, LookupError, TypeError or ArithmeticError for a value that does not fit. Keys
    that are not known are passed over.
    """
    fits = _SIMPLE.get(kind)
    if fits is not None:
        if not fits(value):
            raise ValueError(f"no {kind}")
        return value
    if kind is datetime.date and isinstance(value, str):
        return datetime.date.fromisoformat(value)
    if get_origin(kind) in (Union, UnionType):
        return _read_union(get_args(kind), value)
    if get_origin(kind) is tuple:
        return _read_tuple(get_args(kind), value)
    if isinstance(kind, type) and issubclass(kind, Fraction):
        return _read_fraction(kind, value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if is_dataclass(kind) and isinstance(value, Mapping):
        return _read_object(kind, value)
    raise ValueError("no object")


def _read_union(kinds: Sequence[object], value: object) -> object:
    """Convert a value to the first of several types that it fits."""
    for kind in kinds[:-1]:
        with suppress(ValueError):
            return _read(kind, value)
    return _read(kinds[-1], value)


def _read_tuple(kinds: Sequence[object], value: object) -> tuple[Any, ...]:
    """Convert a list, or the pairs of an object, to a tuple. Two of one type are an interval."""
    if isinstance(value, dict):
        value = [*value.items()]
    if not isinstance(value, list | tuple):
        raise ValueError("no list")
    if kinds[-1] is ...:
        return tuple(_read(kinds[0], element) for element in value)
    converted = tuple(_read(kind, element) for kind, element in zip(kinds, value, strict=True))
    if kinds[0] == kinds[1] and converted[0] > converted[1]:
        raise ValueError("an interval that ends before it begins")
    return converted


def _read_fraction(kind: type[Fraction], value: object) -> Fraction:
    """Convert a text such as 9/2, or a number, to a fraction."""
    if not isinstance(value, str):
        return kind(Exact(float(_read(float, value))))
    if not _RATIONAL.fullmatch(value):
        raise ValueError("no rational number")
    return kind(value)


def _read_object(kind: Any, value: Mapping[str, object]) -> object:
    """Convert an object to a dataclass."""
    if kind is SupportNoise:
        # Neither for how many supports it is enough, nor what it costs, is saved.
        value = {**value, "count": 1, "cost": None}
    kinds = get_type_hints(kind)
    names = [field.name for field in fields(kind) if field.name in value]
    arguments = {name: _read(kinds[name], value[name]) for name in names}
    if kind is SupportNoise:
        has_two_normals = arguments["kind"] is NoiseKind.TWO_NORMALS
        if has_two_normals != (arguments.get("of_units") is not None):
            raise ValueError("two normals are two")
    return kind(**arguments)
