"""The form of what a release is loaded from: a file comes from outside, and may have anything under a name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

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
