"""Loading a saved release: it is checked field by field against the schema, and so made."""

from __future__ import annotations

import datetime
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from fim_private.display import JsonObject, printable
from fim_private.dp.accountant import Step
from fim_private.dp.charge import Charged, Left
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost
from fim_private.errors import DataError, ParameterError, shown
from fim_private.periods import Period
from fim_private.reading.labels import Item
from fim_private.release import forms
from fim_private.release.forms import KEYS, SCHEMA, Keys
from fim_private.release.release import Release
from fim_private.release.rules import have_subsets
from fim_private.release.segments import SegmentedRelease
from fim_private.request.itemsets import Itemset, KnownFrom, Listed
from fim_private.request.scope import Scope
from fim_private.request.supports import NoiseKind, SupportNoise

_MOST_SIZES = 1_000_000
_SAVED = "What only `save` writes, in `saved`"
_FIELDS: Keys = {**KEYS, "saved": ("object", "in what `save` writes", "All else that is loaded.")}
# What the objects of the schema are made. Of noise, neither for how many supports it is enough, nor
# what it costs, is saved.
_MADE: Mapping[str, Callable[..., object]] = {
    "An itemset": Itemset,
    "A step of the run, in `shares`": Step,
    "Noise": partial(SupportNoise, count=1, cost=None),
    "A list of items, in `catalogue`": Listed,
    "What a ledger says, in `ledger`": Charged,
    "What is left, in `left` of `ledger`": Left,
    "Known itemsets, in `known_from`": KnownFrom,
}
# What becomes of a plain value, by the name of its field; a list is a tuple.
_CONVERTED: Mapping[str, Callable[[Any], object]] = {
    **dict.fromkeys(("fraction", "epsilon", "delta", "rho", "zcdp_delta", "mu_squared"), Exact),
    **dict.fromkeys(("parameter", "of_units"), Fraction),
    "kind": NoiseKind,
    "date": datetime.date.fromisoformat,
    "codes": lambda codes: tuple(codes.items()),
}
# The items of itemsets; None for the outcome without a name.
_Keys = set[frozenset[Item] | None]
# Whether a value is of a kind.
Fits = Callable[[Any], bool]
Made = TypeVar("Made")


# JSON can write halves of characters, which no file and no screen takes.
_SURROGATE = re.compile("[\ud800-\udfff]")
# Of a length that is soon read, without an exponent.
_RATIONAL = re.compile(r"[0-9]{1,4000}(/[0-9]{1,4000})?")


class _FieldError(ValueError):
    """A field of a saved release is not as the schema has it."""

    def __init__(self, field: str, fault: str) -> None:
        super().__init__(f'field "{field}" {fault}')


def load(path: str | os.PathLike[str]) -> Release | SegmentedRelease:
    """Return the Release, or the SegmentedRelease, that was saved as .json or .parquet.

    It equals what was saved, except where a float is not exact. Shares of the budget are then
    rounded up, and what a ledger had left is rounded down. Raises DataError for a file that cannot
    be read, or is not as the schema has it (docs/json.md).
    """
    values = _values_in(path)
    try:
        release = _segmented(values) if "releases" in values else _release(values, "")
        release.to_dict()  # what follows from several fields, such as shares of units
        return release
    except _FieldError as error:
        raise DataError(f"{printable(str(path))}: {error}; load the file as it was saved") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise _no_release(path) from None


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
    if file.suffix.lower() not in forms.PARQUET_ENDINGS:
        return file.read_bytes()
    import pyarrow as pa
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_schema(file).metadata
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    return bytes((metadata or {}).get(forms.METADATA, b""))


# -------------------- from the fields of a file to a release


def _segmented(raw: JsonObject) -> SegmentedRelease:
    values = _checked(raw, forms.SEGMENTED_KEYS, "")
    if not values["releases"]:
        raise _FieldError("releases", "must not be empty")
    releases = []
    for place, fields in enumerate(values["releases"]):
        at = f"releases[{place}]"
        release = _release(fields, at)
        for name in ("neighbors", "privacy_unit"):
            if fields[name] != values[name]:
                raise _FieldError(f"{at}.{name}", f'must be the same as "{name}" of all releases')
        scope = replace(release.scope, exclude=values.get("exclude", release.scope.exclude))
        releases.append(replace(release, scope=scope))
    names = tuple(release.scope.part for release in releases)
    if names != values["segments"] or len({*names}) < len(names):
        raise _FieldError(
            "segments", "must name the segment or period of each release, all different"
        )
    segmented = SegmentedRelease(tuple(releases), *_spent(values), values.get("ledger"))
    segmented.to_arrow()  # raises if some were asked for what others were not
    return segmented


def _release(raw: JsonObject, at: str) -> Release:
    values = _checked(raw, _FIELDS, at)
    for name in values:
        for needed in forms.NEEDS.get(name, ()):
            if needed not in values:
                raise _FieldError(_joined(at, needed), "is missing")
    if values["abstained"] != (not values["itemsets"]):
        raise _FieldError(_joined(at, "abstained"), "must say whether there are no itemsets")
    for name in ("noise", "units_noise"):
        _check_noise(values.get(name), _joined(at, name))
    sizes = _sizes(values, at)
    for place, itemset in enumerate(values["itemsets"]):
        if itemset.items is not None and len(itemset.items) not in sizes:
            field = _joined(at, f"itemsets[{place}].items")
            raise _FieldError(field, f'must have as many items as "size" says: {values["size"]}')
    _check_itemsets(values, at)
    values["sizes"] = tuple(sizes)
    if "noise" in values:
        values.setdefault("shares", (Step("supports", values["sizes"], Fraction(1)),))
    for name in ("itemsets", "parts", "known"):
        if "units_interval" not in values:  # the intervals of shares follow from those of supports
            values[name] = tuple(
                replace(itemset, share_interval=None, exact_share_interval=None)
                for itemset in values.get(name, ())
            )
    values["with_parts"] = "parts" in raw
    values["cost"], values["zcdp"] = _spent(values)
    values["charged"] = values.get("ledger")
    values["scope"] = _made(Scope, values)
    saved = _checked(values.get("saved", {}), forms.INSIDE[_SAVED], _joined(at, "saved"))
    return _made(Release, values | saved)


def _spent(values: JsonObject) -> tuple[PrivacyCost, ZcdpCost | None]:
    zcdp = None
    if "rho" in values:
        zcdp = ZcdpCost(values["rho"], values["zcdp_delta"])
    return PrivacyCost(values["epsilon"], values["delta"]), zcdp


def _made(kind: Callable[..., Made], values: JsonObject) -> Made:
    """Return a dataclass of those values that it has fields for."""
    arguments = {name: values[name] for name in signature(kind).parameters if name in values}
    return kind(**arguments)


def _check_noise(noise: SupportNoise | None, at: str) -> None:
    if noise is None:
        return
    if (noise.kind is NoiseKind.TWO_NORMALS) != (noise.of_units is not None):
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
    listed: tuple[int, ...] = values["sizes"]
    are_ascending = bool(listed) and [*listed] == sorted({*listed})
    if not are_ascending or (listed[0], listed[-1]) != (sizes[0], sizes[-1]):
        raise _FieldError(_joined(at, "sizes"), 'must be ascending sizes in the range of "size"')
    return listed


def _check_itemsets(values: JsonObject, at: str) -> None:
    """Check that no itemset comes twice or is empty, and that all have supports, or none has."""
    itemsets = _check_list("itemsets", values, at, set())
    _check_list("known", values, at, itemsets)
    subsets = _check_list("parts", values, at, itemsets)
    named = {items for items in itemsets | subsets if items is not None}
    if "parts" in values and not have_subsets(named):
        raise _FieldError(
            _joined(at, "parts"), "must have every subset of the itemsets that is not among them"
        )


def _check_list(name: str, values: JsonObject, at: str, earlier: _Keys) -> _Keys:
    """Check one list of itemsets, none of which came earlier, and return their items."""
    keys: _Keys = set()
    for place, itemset in enumerate(values.get(name, ())):
        field = _joined(at, f"{name}[{place}]")
        items = itemset.items
        key = None if items is None else frozenset(items)
        if key is not None and (not items or len(items) > len(key)):
            raise _FieldError(f"{field}.items", "must be a list of different items, at least one")
        if key in keys or key in earlier:
            raise _FieldError(f"{field}.items", "must not be an itemset that comes before")
        keys.add(key)
        if items is not None:
            _check_supports(itemset, values, field)
    return keys


def _check_supports(itemset: Itemset, values: JsonObject, field: str) -> None:
    if values.get("noise") is None:
        if itemset.support is not None or itemset.interval is not None:
            raise _FieldError(f"{field}.support", 'must be null, because there is no "noise"')
        return
    if itemset.support is None:
        raise _FieldError(f"{field}.support", "must be a whole number, 0 or more, not None")
    if itemset.interval is None:
        raise _FieldError(f"{field}.interval", "is missing")
    if "units_interval" in values and itemset.share_interval is None:
        raise _FieldError(f"{field}.share_interval", "is missing")
    exact: list[object] = [itemset.exact_support, itemset.exact_interval]
    if "units_interval" in values:
        exact.append(itemset.exact_share_interval)
    if any(value is None for value in exact) and any(value is not None for value in exact):
        raise _FieldError(f"{field}.exact_support", "needs exact_interval, and for shares its own")


# -------------------- one field by itself


def _checked(fields: object, keys: Keys, at: str) -> JsonObject:
    """Return the fields of an object that the schema has, each as a release has it."""
    if not isinstance(fields, Mapping):
        raise _FieldError(at, f"must be an object, not {shown(fields)}")
    values = {}
    for name, (kind, there, _) in keys.items():
        field = _joined(at, name)
        if name in fields:
            values[name] = _value(name, fields[name], kind, field)
        elif there == "always":
            raise _FieldError(field, "is missing")
    return values


def _value(name: str, value: Any, kind: str, field: str) -> object:
    """Return the value of a field as a release has it, if it is of its kind."""
    if value is None and kind.endswith(" or null"):
        return None
    if not _KINDS[kind.removesuffix(" or null")](value):
        raise _FieldError(field, f'must be of the type "{kind}", not {shown(value)}')
    choices = forms.CHOICES.get(name)
    if choices is not None and kind == "text" and value not in choices:
        raise _FieldError(field, f"must be one of {', '.join(choices)}, not {shown(value)}")
    if name == "period":
        try:
            Period.of(value)
        except ParameterError as error:
            raise _FieldError(field, str(error).removeprefix("period ")) from None
    return _converted(name, value, field)


def _converted(name: str, value: Any, field: str) -> object:
    """Return a value of the right kind as a release has it."""
    table = forms.OBJECTS.get(name)
    if table is not None and isinstance(value, list):
        return tuple(
            _object(element, table, f"{field}[{place}]") for place, element in enumerate(value)
        )
    if table is not None and isinstance(value, Mapping):
        return _object(value, table, field)
    if isinstance(value, list):
        return tuple(value)
    if name in _CONVERTED:
        return _CONVERTED[name](value)
    return value


def _object(fields: object, table: str, at: str) -> object:
    return _made(_MADE[table], _checked(fields, forms.INSIDE[table], at))


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


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


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


# Whether a value is of a type of the schema.
_KINDS: Mapping[str, Fits] = {
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_count,
    "integer from 1": lambda value: _is_count(value) and value >= 1,
    "integer or text": lambda value: _is_count(value) or _is_text(value),
    "number": _is_number,
    "number above 0": lambda value: _is_number(value) and value > 0,
    "number from 0 to 1": lambda value: _is_number(value) and value <= 1,
    "text": _is_text,
    "date": _is_date,
    "fraction": _is_fraction,
    "list of integers": _lists(_is_count),
    "list of texts": _lists(_is_text),
    "list of items": _lists(_is_item),
    "list of objects": _lists(_is_object),
    "[lowest, highest]": _intervals(_is_count),
    "[lowest, highest], shares": _intervals(_is_number),
    "object": _is_object,
    "object of items": lambda value: (
        _is_object(value) and all(map(_is_item, value.values())) and all(map(_is_text, value))
    ),
}
