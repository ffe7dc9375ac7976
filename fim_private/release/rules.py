"""The association rules of a release."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from fim_private.errors import ParameterError, parameter
from fim_private.reading.labels import Item
from fim_private.release import words
from fim_private.release.forms import csv_line
from fim_private.release.outcome import Outcome
from fim_private.release.words import cells, heads, note
from fim_private.release.words import rule_cells_title as title
from fim_private.request.itemsets import Itemset
from fim_private.request.supports import SupportNoise, UnitCount
from fim_private.rule_metrics import Known, KnownSupport, Rules, Slice, association_rules, least


def rules_of(outcome: Outcome, min_confidence: float = 0.0, min_lift: float = 0.0) -> Rules:
    """Return the rules of a release, the surest first.

    Raises ParameterError for limits out of range, and for min_lift where there are no lifts; where the supports, or the
    number of units, that rules need were not released; and where a part of an itemset is missing.
    """
    lowest = least("min_confidence", min_confidence), least("min_lift", min_lift)
    lifts = outcome.scope.has_lifts(outcome.privacy_unit)
    if lowest[1] and not lifts:
        raise ParameterError(words.no_min_lift())
    if outcome.with_parts and (outcome.noise is None or not outcome.units):
        return association_rules([], _nothing, noisy_units=False, lifts=lifts)  # it abstained, or there is nobody
    noise = outcome.noise
    itemsets = [one for one in outcome.itemsets if one.items is not None and one.interval is not None]
    known = {frozenset(one.items or ()): one for one in (*itemsets, *outcome.parts)}
    lacking = any(
        frozenset(one.items or ()) - {item} not in known
        for one in known.values()
        if len(one.items or ()) > 1
        for item in one.items or ()
    )
    if noise is None or outcome.units is None or lacking:
        raise ParameterError(
            "this release has not all that rules need, which is supports of the parts of its itemsets, too, and the "
            f"number of {outcome.privacy_unit}s: mine with {parameter('rules')}"
        )

    return association_rules(
        [one.items or () for one in itemsets],
        known_within(known, noise, UnitCount(outcome.units, outcome.units_noise)),
        noisy_units=outcome.units_noise is not None,
        lifts=lifts,
        min_confidence=lowest[0],
        min_lift=lowest[1],
    )


def known_within(known: Mapping[frozenset[Item], Itemset], noise: SupportNoise, units: UnitCount) -> Known:
    """Return what is known of supports and of the number of units with so much probability, as rules ask for it.

    known: itemsets with supports of that noise, by their items.
    """

    def within(confidence: Fraction) -> tuple[Mapping[frozenset[Item], KnownSupport], int, Sequence[Slice]]:
        wider = noise.wider(confidence)
        supports = {
            items: KnownSupport(
                one.support or 0, one.interval[0] - wider if one.interval[0] else -math.inf, one.interval[1] + wider
            )
            for items, one in known.items()
            if one.interval is not None
        }
        return supports, units.number, units.slices(confidence, moving=noise.of_units is not None)

    return within


def _nothing(_: Fraction) -> tuple[Mapping[frozenset[Item], KnownSupport], int, Sequence[Slice]]:
    return {}, 0, [Slice(0, 0)]


def _measured(rules: Rules) -> tuple[str, ...]:
    """Return the names of what has intervals, in mlxtend's order."""
    return ("support", *rules.metrics)


def _columns(rules: Rules) -> dict[str, Any]:
    """Return the numbers of rules by the names that mlxtend has for them, then the ends of their intervals."""
    columns: dict[str, Any] = {
        "antecedent support": rules.antecedent_support,
        "consequent support": rules.consequent_support,
        "support": rules.support,
        **rules.metrics,
    }
    for name in _measured(rules):
        columns[f"{name}_lower"], columns[f"{name}_upper"] = rules.bounds[name]
    return columns


def rules_frame(rules: Rules, outcome: Outcome) -> Any:
    """Return a pandas.DataFrame: mlxtend's columns, the ends of the intervals, and doubtful."""
    import pandas as pd

    from fim_private.release.rules_frame import RulesFrame

    sides = {
        name: pd.Series([frozenset(items) for items in each], dtype=object)
        for name, each in (("antecedents", rules.antecedents), ("consequents", rules.consequents))
    }
    columns = {**sides, **_columns(rules), "doubtful": rules.doubtful}
    return RulesFrame.of(columns, decimals=_decimals(outcome), unit=outcome.privacy_unit, lifts=rules.has_lifts)


def rules_values(rules: Rules) -> list[dict[str, Any]]:
    """Return rules as plain values for JSON; what is infinite is None."""
    named = {"support": rules.support, **rules.metrics}

    def number(value: float) -> float | None:
        return float(value) if math.isfinite(value) else None

    return [
        {
            "antecedents": list(rules.antecedents[place]),
            "consequents": list(rules.consequents[place]),
            "antecedent_support": number(rules.antecedent_support[place]),
            "consequent_support": number(rules.consequent_support[place]),
            **{
                key: value
                for name in _measured(rules)
                for key, value in (
                    (name, number(named[name][place])),
                    (f"{name}_interval", [number(end[place]) for end in rules.bounds[name]]),
                )
            },
            "doubtful": bool(rules.doubtful[place]),
        }
        for place in range(len(rules))
    ]


def rules_json(rules: Rules) -> dict[str, Any]:
    """Return what JSON has of rules: these, and how they are to be read."""
    return {"rules": rules_values(rules), **({"rules_note": rules_note(rules)} if len(rules) else {})}


def rules_csv(rules: Rules, *, spreadsheet_safe: bool = True) -> str:
    """Return CSV with a header: antecedent_1 …, consequent_1 …, then the numbers as in the frame."""
    return "".join(csv_line(row, spreadsheet_safe=spreadsheet_safe) for row in _rows(rules))


def _rows(rules: Rules) -> Iterator[list[float | str]]:
    sides = {"antecedent": rules.antecedents, "consequent": rules.consequents}
    widths = {name: max(map(len, each), default=1) for name, each in sides.items()}
    columns = _columns(rules)
    heads = [f"{name}_{place}" for name in sides for place in range(1, widths[name] + 1)]
    yield [*heads, *(name.replace(" ", "_") for name in columns), "doubtful"]
    for place in range(len(rules)):
        items = [
            item for name, each in sides.items() for item in [*each[place], *[""] * (widths[name] - len(each[place]))]
        ]
        numbers = [float(values[place]) for values in columns.values()]
        yield [*items, *numbers, str(bool(rules.doubtful[place])).lower()]


def rules_note(rules: Rules) -> str:
    """Return how many rules are clear of the noise, and how their intervals and the mark of the others are read."""
    return note(int(rules.doubtful.sum()), len(rules), lifts=rules.has_lifts)


def rules_cells(rules: Rules, outcome: Outcome) -> tuple[str, list[str], list[list[str]]]:
    """Return a title, the headings and the rows of a table of rules, as texts."""
    columns = _columns(rules)
    rows = [
        cells(
            (rules.antecedents[place], rules.consequents[place]),
            {name: float(values[place]) for name, values in columns.items()},
            doubtful=bool(rules.doubtful[place]),
            decimals=_decimals(outcome),
            unit=outcome.privacy_unit,
        )
        for place in range(len(rules))
    ]
    return f"{title(len(rules))} of these itemsets, the surest first", heads(lifts=rules.has_lifts), rows


def _decimals(outcome: Outcome) -> int:
    """Return with how many decimals shares are told, in per cent."""
    return words.decimals_of_shares(0 if outcome.noise is None else outcome.noise.half_width, outcome.units or 0)
