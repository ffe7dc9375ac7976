"""Loading a saved release: it is checked field by field against the schema, and so made."""

import datetime
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from fim_private.display import JsonObject
from fim_private.dp.accountant import Step, Sums, sums_of
from fim_private.dp.charge import Charged, Left
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost
from fim_private.errors import DataError, shown
from fim_private.periods import Period, kind_of_promise
from fim_private.release import forms
from fim_private.release.files import METADATA, PARQUET_ENDINGS
from fim_private.release.forms import KEYS, SCHEMA, VOTE, Keys
from fim_private.release.release import Release
from fim_private.release.rules import have_subsets
from fim_private.release.segments import SegmentedRelease
from fim_private.request.itemsets import Itemset, KnownFrom, Listed
from fim_private.request.scope import Scope
from fim_private.request.supports import NoiseKind, SupportNoise

_MOST_SIZES = 1_000_000
_SAVED = "What only `save` writes, in `saved`"
_FIELDS: Keys = {**KEYS, "saved": ("object", "in what `save` writes", "All else that is loaded.")}
# Whether a value is of a kind.
Fits = Callable[[Any], bool]
Made = TypeVar("Made")


class _FieldError(ValueError):
    """A field of a saved release, the first argument, is not as the schema has it, by the
    second.
    """


@contextmanager
def _inside(place: str) -> Iterator[None]:
    """Say of a wrong field that it is inside an object, which has this place."""
    try:
        yield
    except _FieldError as error:
        field, fault = error.args
        raise _FieldError(f"{place}.{field}", fault) from None


def load(path: str | os.PathLike[str]) -> Release | SegmentedRelease:
    """Return the Release, or the SegmentedRelease, that was saved as .json or .parquet.

    It equals what was saved, except where a float is not exact. Shares of the budget are then
    rounded up, and what a ledger had left is rounded down. Raises DataError for a file that cannot
    be read, or is not as the schema has it (docs/json.md).
    """
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"a release is loaded from the path of a file, not from {shown(path)}")
    if not os.fspath(path):
        raise DataError("the path of a release is empty; name a file")
    name = str(path)
    try:
        values = json.loads(_json_in(Path(path).expanduser()))
        schema = values["schema"]
        if schema != SCHEMA:
            raise DataError(
                f"{name!r} has a release of schema {shown(schema)}; this version reads schema "
                f"{SCHEMA}"
            )
        if values.get("mechanism") == VOTE:
            raise DataError(
                f"{name!r} is the answer of a vote, which has no itemsets: give a release of mine "
                f"or count"
            )
        release = _segmented(values) if "releases" in values else _release(values)
        release.to_dict()  # what follows from several fields, such as shares of units
        return release
    except _FieldError as error:
        field, fault = error.args
        raise DataError(
            f'{name!r}: field "{field}" {fault}; load the file as it was saved'
        ) from None
    except FileNotFoundError:
        raise DataError(f"{name!r} does not exist; check the path") from None
    except OSError as error:
        reason = error.strerror or "it is not a Parquet file"
        raise DataError(f"{name!r} cannot be read: {reason}") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError):
        raise DataError(
            f"{name!r} is not a release: load what was saved as .json or .parquet"
        ) from None


def _json_in(file: Path) -> bytes:
    """Return the JSON of the release in a file: all of it or, of Parquet, what its metadata has."""
    if file.suffix.lower() not in PARQUET_ENDINGS:
        return file.read_bytes()
    import pyarrow.parquet

    return bytes(pyarrow.parquet.read_schema(file).metadata[METADATA])


# -------------------- from the fields of a file to a release


def _segmented(raw: JsonObject) -> SegmentedRelease:
    values = _checked(raw, forms.SEGMENTED_KEYS)
    if not values["releases"]:
        raise _FieldError("releases", "must not be empty")
    common = {name: raw.get(name, []) for name in ("exclude", "with_each", "groups")}
    releases = []
    for place, fields in enumerate(values["releases"]):
        with _inside(f"releases[{place}]"):
            releases.append(_release(common | fields))
            for name in ("neighbors", "privacy_unit"):
                if fields[name] != values[name]:
                    raise _FieldError(name, f'must be the same as "{name}" of all releases')
    segmented = SegmentedRelease(tuple(releases), *_spent(values), values.get("ledger"))
    names = (*segmented,)
    if names != values["segments"] or len(names) < len(releases):
        raise _FieldError(
            "segments", "must name the segment or period of each release, all different"
        )
    segmented.to_arrow()  # raises if some were asked for what others were not
    return segmented


def _release(raw: JsonObject) -> Release:
    values = _checked(raw, _FIELDS)
    if values["abstained"] != (not values["itemsets"]):
        raise _FieldError("abstained", "must say whether there are no itemsets")
    values["sizes"] = _sizes(values)
    _check_itemsets(values)
    _check_shares(values)
    if "noise" in values:
        values.setdefault("shares", (Step("supports", values["sizes"], Fraction(1)),))
    if "units_interval" not in values:  # the intervals of shares follow from those of supports
        for name in ("itemsets", "parts", "known"):
            values[name] = tuple(
                replace(itemset, share_interval=None, exact_share_interval=None)
                for itemset in values.get(name, ())
            )
    values["with_parts"] = "parts" in raw
    values["cost"], values["zcdp"] = cost, zcdp = _spent(values)
    if "per" in values:
        whole_weeks = values.get("whole_weeks", False)
        values["per"] = kind_of_promise(values["per"], whole_weeks=whole_weeks)
    elif "adds_up" not in values:  # an older version saved it
        values["adds_up"] = sums_of(cost, zcdp or ZcdpCost(cost.epsilon**2 / 2, cost.delta))
    values["charged"] = values.get("ledger")
    with _inside("saved"):
        values |= _checked(values.get("saved", {}), forms.INSIDE[_SAVED])
    values["scope"] = _made(Scope, values)
    return _made(Release, values)


def _spent(values: JsonObject) -> tuple[PrivacyCost, ZcdpCost | None]:
    zcdp = None
    if "rho" in values:
        zcdp = ZcdpCost(values["rho"], values["zcdp_delta"])
    return PrivacyCost(values["epsilon"], values["delta"]), zcdp


def _made(kind: Callable[..., Made], values: JsonObject) -> Made:
    """Return a dataclass of those values that it has fields for."""
    arguments = {name: values[name] for name in signature(kind).parameters if name in values}
    return kind(**arguments)


def _sizes(values: JsonObject) -> tuple[int, ...]:
    """Return the sizes that itemsets may have."""
    first, _, last = str(values["size"]).partition("-")
    sizes: Sequence[int] = ()
    with suppress(ValueError):
        sizes = range(int(first), int(last or first) + 1)
    if not 0 < len(sizes) <= _MOST_SIZES or sizes[0] < 1:
        fault = f"must be a size such as 2, or a range such as 2-4, not {shown(values['size'])}"
        raise _FieldError("size", fault)
    listed: tuple[int, ...] = values.get("sizes", (*sizes,))
    is_ascending = [*listed] == sorted({*listed})
    if not is_ascending or listed[:1] + listed[-1:] != (sizes[0], sizes[-1]):
        raise _FieldError("sizes", 'must be ascending sizes in the range of "size"')
    return listed


def _check_itemsets(values: JsonObject) -> None:
    """Check that no itemset comes twice or is empty, and that all have supports, or none has."""
    seen = set()
    for name in ("itemsets", "parts", "known"):
        for place, itemset in enumerate(values.get(name, ())):
            with _inside(f"{name}[{place}]"):
                key = frozenset(itemset.items or ())  # empty without a name
                if key in seen:
                    raise _FieldError("items", "must not be an itemset that comes before")
                seen.add(key)
                if itemset.items is not None:
                    _check_itemset(itemset, values, with_size=name == "itemsets")
        if name == "parts" and name in values and not have_subsets(seen):
            raise _FieldError(name, "must have every subset of the itemsets that is not among them")


def _check_itemset(itemset: Itemset, values: JsonObject, *, with_size: bool) -> None:
    items = itemset.items or ()
    if not items or len({*items}) < len(items):
        raise _FieldError("items", "must be a list of different items, at least one")
    if with_size and len(items) not in values["sizes"]:
        raise _FieldError("items", f'must have as many items as "size" says: {values["size"]}')
    if values.get("noise") is None:
        if itemset.support is not None or itemset.interval is not None:
            raise _FieldError("support", 'must be null, because there is no "noise"')
        return
    needed = ["support", "interval"]
    if "units_interval" in values and values["units"]:  # of no units there are no shares
        needed.append("share_interval")
        if itemset.exact_interval is not None:
            needed.append("exact_share_interval")
    for name in needed:
        if vars(itemset)[name] is None:
            raise _FieldError(name, "is missing")


def _check_shares(values: JsonObject) -> None:
    """Check that a step of the run which selects itemsets says of which sizes."""
    for place, step in enumerate(values.get("shares", ())):
        if step.purpose == "selection" and not step.sizes:
            with _inside(f"shares[{place}]"):
                raise _FieldError("sizes", "must not be empty")


# -------------------- one field by itself


def _checked(fields: JsonObject, keys: Keys) -> JsonObject:
    """Return the fields of an object that the schema has, each as a release has it."""
    values = {
        name: _value(name, fields[name], kind)
        for name, (kind, _, _) in keys.items()
        if name in fields
    }
    needed = [name for name, (_, there, _) in keys.items() if there == "always"]
    for name in values:
        needed += forms.NEEDS.get(name, ())
    for name in needed:
        if name in keys and name not in values:
            raise _FieldError(name, "is missing")
    return values


def _value(name: str, value: Any, kind: str) -> object:
    """Return the value of a field as a release has it, if it is of its kind. A list is a tuple."""
    required = kind.removesuffix(" or null")
    if value is None and required != kind:
        return None
    fault = f'must be of the type "{kind}", not {shown(value)}'
    if not _KINDS[required](value):
        raise _FieldError(name, fault)
    choices = forms.CHOICES.get(name, [value])
    if value not in choices:
        raise _FieldError(name, f"must be one of {', '.join(choices)}, not {shown(value)}")
    table = forms.OBJECTS.get(name)
    if table is not None and isinstance(value, dict):
        return _object(value, table, name)
    if isinstance(value, list):
        if table is not None:
            value = [_object(made, table, f"{name}[{at}]") for at, made in enumerate(value)]
        return tuple(value)
    converted = _CONVERTED.get(required)
    if converted is None:
        return value
    try:
        return converted(value)
    except ValueError:
        raise _FieldError(name, fault) from None


def _object(fields: JsonObject, table: str, place: str) -> object:
    """Return what an object of the schema stands for."""
    with _inside(place):
        return _made(_MADE[table], _checked(fields, forms.INSIDE[table]))


def _noise(
    kind: str, parameter: Fraction, half_width: int, of_units: Fraction | None = None
) -> SupportNoise:
    """Return noise. For how many supports it is enough is not saved."""
    if (kind == NoiseKind.TWO_NORMALS) != (of_units is not None):
        raise _FieldError("of_units", f"must be there for {NoiseKind.TWO_NORMALS}, and no other")
    return SupportNoise(NoiseKind(kind), parameter, half_width, 1, of_units)


def _adds_up(epsilon: Exact, delta: Exact, rho: Exact, zcdp_delta: Exact, normal: bool) -> Sums:
    return sums_of(PrivacyCost(epsilon, delta), ZcdpCost(rho, zcdp_delta, normal=normal))


def _period(name: str) -> str:
    """Return the name of a period. Raises ParameterError for what is none."""
    Period.of(name)
    return name


# What the objects of the schema are made.
_MADE: Mapping[str, Callable[..., object]] = {
    "An itemset": Itemset,
    "A step of the run, in `shares`": Step,
    "Noise": _noise,
    "A list of items, in `catalogue`": Listed,
    "What a release adds to a sum, in `saved.adds_up`": _adds_up,
    "What a ledger says, in `ledger`": Charged,
    "What is spent, in `ledger.spent`": PrivacyCost,
    "What is left, in `ledger.left`": Left,
    "Known itemsets, in `known_from`": KnownFrom,
}
# What values of a type become.
_CONVERTED: Mapping[str, Callable[[Any], object]] = {
    "number": Exact,
    "number from 0 to 1": Exact,
    "fraction": Fraction,
    "date": datetime.date.fromisoformat,
    "period": _period,
    "object of items": lambda codes: tuple(codes.items()),
}

# No form of a release can hold a larger integer.
_LARGEST = 1 << 63
# JSON can write halves of characters, which no file and no screen takes.
_SURROGATE = re.compile("[\ud800-\udfff]")
# Above 0, and without an exponent; integers of too many digits are refused by Python.
_RATIONAL = re.compile(r"0*[1-9][0-9]*(/0*[1-9][0-9]*)?")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


def _is_number(value: object) -> bool:
    return _is_count(value) or (type(value) is float and 0 <= value < math.inf)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and _SURROGATE.search(value) is None


def _is_item(value: object) -> bool:
    return _is_text(value) or (type(value) is int and -_LARGEST <= value < _LARGEST)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


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
    "date": _is_text,
    "period": _is_text,
    "fraction": lambda value: _is_text(value) and _RATIONAL.fullmatch(value) is not None,
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
