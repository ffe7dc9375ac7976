"""A release, loaded from the file it was saved to."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from fim_private.dp.charge import Charged
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost
from fim_private.errors import DataError, shown
from fim_private.release.forms import METADATA, SCHEMA
from fim_private.release.release import Release
from fim_private.release.segmented import SegmentedRelease
from fim_private.request.budget import Share
from fim_private.request.itemsets import Itemset
from fim_private.request.request import Scope
from fim_private.request.supports import NoiseKind, SupportNoise

# -------------------- saved form
# The form of what a release is loaded from: a file comes from outside, and may have anything under a name.

# JSON can write halves of characters, which no file and no screen takes.
_SURROGATE = re.compile("[\ud800-\udfff]")


def _is_integer(value: Any) -> bool:
    """Tell whether a value is an integer of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def _is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number, >= 0."""
    return _is_integer(value) and value >= 0


def _is_number(value: Any) -> bool:
    """Tell whether a value is a finite number, >= 0."""
    return (isinstance(value, float) or _is_integer(value)) and value >= 0 and math.isfinite(value)


def _is_text(value: Any) -> bool:
    """Tell whether a value is a text that can be written as UTF-8."""
    return isinstance(value, str) and not _SURROGATE.search(value)


def _is_truth(value: Any) -> bool:
    """Tell whether a value is true or false."""
    return isinstance(value, bool)


def _is_pair(value: Any) -> bool:
    """Tell whether a value is an interval of numbers."""
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)) and value[0] <= value[1]


def _is_item(value: Any) -> bool:
    """Tell whether a value is an item."""
    return _is_text(value) or _is_integer(value)


def _all(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return whether a value is a list of such."""
    return lambda value: isinstance(value, list) and all(map(test, value))


_Tests = Mapping[str, Callable[[Any], bool]]
_ITEMSET: _Tests = {
    "items": _all(_is_item),
    "support": _is_whole,
    "interval": _is_pair,
    "doubtful": _is_truth,
    "share": _is_number,
    "share_interval": _is_pair,
}
_SHARE: _Tests = {
    "purpose": _is_text,
    "sizes": _all(_is_whole),
    **dict.fromkeys(("fraction", "epsilon", "delta", "rho", "mu_squared"), _is_number),
}
_NOISE: _Tests = {"kind": _is_text, "parameter": _is_text, "half_width": _is_whole, "of_units": _is_text}
# Files of earlier versions have advice, which nobody is shown any more.
_SAVED: _Tests = {"advice": _is_text, "missing_user": _is_text, "shortfall": _is_whole}
_LISTED: _Tests = {
    "items": _is_whole,
    **dict.fromkeys(("source", "item", "label"), _is_text),
    **dict.fromkeys(("release", "items_are_public"), _is_truth),
    "codes": lambda value: (
        isinstance(value, Mapping) and all(map(_is_text, value)) and all(map(_is_item, value.values()))
    ),
}
_OTHERS: _Tests = {
    **dict.fromkeys(("mechanism", "neighbors", "privacy_unit", "where", "reason", "by", "together", "split"), _is_text),
    **dict.fromkeys(("units", "top", "max_basket", "max_baskets", "min_basket", "max_segments"), _is_whole),
    **dict.fromkeys(("epsilon", "delta", "rho", "zcdp_delta", "threshold", "min_support"), _is_number),
    **dict.fromkeys(("private", "abstained", "union", "keep_all", "capped", "query", "fold_case"), _is_truth),
    "segment": lambda value: _is_text(value) and bool(value),
    **dict.fromkeys(("sizes", "chosen_from"), _all(_is_whole)),
    "units_interval": _is_pair,
    **dict.fromkeys(("basket", "item"), _all(_is_text)),
    "exclude": _all(_is_item),
    "catalogue": lambda value: _fit([value], _LISTED) and "items" in value,
    "itemsets": lambda value: isinstance(value, list) and _fit(value, _ITEMSET),
    "parts": lambda value: isinstance(value, list) and _fit(value, _ITEMSET),
    "shares": lambda value: isinstance(value, list) and _fit(value, _SHARE),
    "noise": lambda value: _fit([value], _NOISE),
    "units_noise": lambda value: _fit([value], _NOISE),
    "saved": lambda value: _fit([value], _SAVED),
}


def check_form(values: Mapping[str, Any]) -> None:
    """Raise ValueError unless what is under each name is of its kind, or null; unknown names are passed over."""
    if not _fit([values], _OTHERS):
        raise ValueError("it is not of the form of a release")


def _fit(values: Iterable[Any], tests: _Tests) -> bool:
    """Tell whether each value is a mapping in which what is under each name passes its test, or is null."""
    return all(
        isinstance(value, Mapping) and all(value.get(name) is None or test(value[name]) for name, test in tests.items())
        for value in values
    )


# -------------------- loaded
# A release from the file that it was saved to.

_MOST_SIZES = 1_000_000


def load(path: str | os.PathLike[str]) -> Any:
    """Return the Release that a file has, or the SegmentedRelease: one saved as .json or .parquet.

    It is equal to the one that was saved, but for parts of the budget, which are rounded up where a float is not exact,
    and for what a ledger had left, which is rounded down.
    Raises DataError for a file that cannot be read, or has no release.

    >>> import tempfile, fim_private as fim
    >>> release = fim.count([["tea"]] * 90, [["tea"]], seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release.save(f"{folder}/tea.json")
    ...     load(f"{folder}/tea.json")[["tea"]].support == release[["tea"]].support
    True
    """
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"a release is loaded from the path of a file, not from {shown(path)}")
    place = Path(path).expanduser()
    name = repr(str(path))
    wrong = DataError(f"{name} is no release: load what was saved as .json or .parquet")
    try:
        text = _of_parquet(place) if place.suffix.lower() == ".parquet" else place.read_bytes()
        values = json.loads(text, parse_constant=_no_constant)
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or 'it is no Parquet file'}") from None
    except (ValueError, RecursionError):
        raise wrong from None
    if not isinstance(values, dict) or "schema" not in values:
        raise wrong
    if values["schema"] != SCHEMA:
        raise DataError(f"{name} has a release of schema {shown(values['schema'])}; this version reads schema {SCHEMA}")
    try:
        found = _segmented(values) if "releases" in values else release_of(values)
        found.to_dict()  # what follows from several of them, such as shares of units
        return found
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise wrong from None


def _no_constant(name: str) -> None:
    """Raise ValueError for NaN and infinities, which Python takes for JSON."""
    raise ValueError(f"{name} is no JSON")


def _of_parquet(place: Path) -> bytes:
    """Return the JSON in the metadata of a Parquet file. Raises ValueError where there is none."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_schema(place).metadata
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    return bytes((metadata or {}).get(METADATA, b""))


def _segmented(values: Mapping[str, Any]) -> SegmentedRelease:
    """Return the releases of segments of plain values. Raises as release_of does."""
    once = {"exclude": values["exclude"]} if "exclude" in values else {}
    releases = tuple(release_of({**one, **once}) for one in values["releases"])
    names = [one.scope.segment for one in releases]
    if not releases or None in names or len({*names}) < len(names):
        raise ValueError("there are no segments, or two of one name")
    cost = PrivacyCost(float(values["epsilon"]), float(values["delta"]))
    zcdp = ZcdpCost(float(values["rho"]), float(values["zcdp_delta"])) if "rho" in values else None
    charged = None if (said := values.get("ledger")) is None else Charged.of(said)
    found = SegmentedRelease(releases, cost, zcdp, charged)
    found.to_arrow()  # raises where some were asked for what others were not, as of releases that were put together
    return found


def release_of(values: Mapping[str, Any]) -> Release:
    """Return the release of plain values, as plain_values has them.

    Raises LookupError, TypeError, ValueError or ArithmeticError for others.
    """
    check_form(values)
    if (values.get("min_support") is None) != (values.get("threshold") is None):
        raise ValueError("a least support has a threshold")
    first, _, last = str(values["size"]).partition("-")
    sizes = range(int(first), int(last or first) + 1)
    if not 0 < len(sizes) <= _MOST_SIZES or sizes[0] < 1:
        raise ValueError("there are no such sizes")
    shares = tuple(map(_share, values.get("shares", ())))
    if not shares and "noise" in values:
        shares = (Share("supports", tuple(sizes), Fraction(1)),)
    given = {
        name: values.get(name)
        for name in (
            *("where", "reason", "units", "min_support", "threshold"),
            *("max_basket", "max_baskets"),
        )
    }
    noisy = "units_interval" in values
    has_rho, saved = "rho" in values, values.get("saved", {})
    return Release(
        mechanism=str(values["mechanism"]),
        sizes=tuple(values.get("sizes", sizes)),
        cost=PrivacyCost(float(values["epsilon"]), float(values["delta"])),
        zcdp=ZcdpCost(float(values["rho"]), float(values["zcdp_delta"])) if has_rho else None,
        neighbors=str(values["neighbors"]),
        scope=Scope.of_dict(values),
        privacy_unit=str(values["privacy_unit"]),
        private=bool(values["private"]),
        abstained=bool(values["abstained"]),
        itemsets=tuple(_itemset(one, noisy=noisy) for one in values["itemsets"]),
        parts=tuple(_itemset(one, noisy=noisy) for one in values.get("parts", ())),
        with_parts="parts" in values,
        top=int(values.get("top", 1)),
        union=bool(values.get("union", False)),
        shares=shares,
        noise=_noise(values.get("noise")),
        keep_all=bool(values.get("keep_all", False)),
        units_interval=_pair(values.get("units_interval")),
        units_noise=_noise(values.get("units_noise")),
        capped=bool(values.get("capped", False)),
        chosen_from=tuple(values.get("chosen_from") or ()),
        shortfall=saved.get("shortfall"),
        missing_user=saved.get("missing_user"),
        charged=None if (said := values.get("ledger")) is None else Charged.of(said),
        **given,
    )


def _itemset(values: Mapping[str, Any], *, noisy: bool) -> Itemset:
    """Return an itemset of plain values. noisy: whether the number of units is; otherwise shares follow from it."""
    items = values["items"]
    if items is not None and not all(isinstance(item, int | str) for item in items):
        raise ValueError("items must be integers and strings")
    support = values["support"]
    return Itemset(
        None if items is None else tuple(items),
        None if support is None else int(support),
        _pair(values.get("interval")),
        values.get("doubtful"),
        _pair(values.get("share_interval")) if noisy else None,
    )


def _pair(values: Any) -> Any:
    """Return an interval as a tuple, None where there is none."""
    if values is None:
        return None
    low, high = values
    return low, high


def _share(values: Mapping[str, Any]) -> Share:
    """Return a part of the budget."""
    spent = ("epsilon", "delta", "rho", "mu_squared")
    parts = {name: None if (part := values.get(name)) is None else Exact(float(part)) for name in spent}
    return Share(values["purpose"], tuple(values["sizes"]), Fraction(repr(float(values["fraction"]))), **parts)


def _noise(values: Mapping[str, Any] | None) -> SupportNoise | None:
    """Return the noise of supports; how many it is enough for is not kept."""
    if values is None:
        return None
    kind, of_units = NoiseKind(values["kind"]), values.get("of_units")
    if (kind is NoiseKind.TWO_NORMALS) != (of_units is not None):
        raise ValueError("two normals are two")
    other = None if of_units is None else Fraction(of_units)
    return SupportNoise(kind, Fraction(values["parameter"]), int(values["half_width"]), 1, None, other)
