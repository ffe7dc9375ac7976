"""Rules as a frame of pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fim_private.display import Glance
from fim_private.reading.labels import Item
from fim_private.release.words import cells, heads, note
from fim_private.release.words import rule_cells_title as title

_NEEDED = {"antecedents", "consequents", "support", "confidence", "confidence_lower", "confidence_upper", "doubtful"}
_LIFTS = {"lift", "lift_lower", "lift_upper"}


class RulesFrame(pd.DataFrame):  # type: ignore[misc]  # pandas tells no types
    """A frame of rules. A notebook shows of each rule what people read first; what is made of it is a plain frame.

    decimals: with how many of them shares are told, in per cent. unit: what has an itemset, "basket" or "user". lifts:
    whether there are any.
    """

    _metadata = ["decimals", "unit", "lifts"]  # noqa: RUF012 - as pandas has it: what copies and pickles carry along

    @classmethod
    def of(cls, columns: Mapping[str, Any], *, decimals: int, unit: str, lifts: bool) -> RulesFrame:
        """Return the frame of these columns."""
        frame = cls(columns)
        frame.decimals, frame.unit, frame.lifts = decimals, unit, lifts
        return frame

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        if not {*self.columns} >= (_NEEDED | _LIFTS if self.lifts else _NEEDED):  # somebody took some away
            return str(pd.DataFrame(self)._repr_html_())
        rows = [
            cells(
                [_in_order(row["antecedents"]), _in_order(row["consequents"])],
                row,
                doubtful=bool(row["doubtful"]),
                decimals=self.decimals,
                unit=self.unit,
            )
            for row in self.to_dict("records")
        ]
        return Glance(
            title(len(self)),
            heads(lifts=self.lifts),
            rows,
            numbers=frozenset(range(1, len(heads(lifts=self.lifts)))),
            notes=[note(int(self["doubtful"].sum()), len(self), lifts=self.lifts)],
            rest=f"the {len(self.columns)} columns of this frame have all of them",
        ).html()


def _in_order(items: frozenset[Item]) -> list[Item]:
    """Return items as itemsets have them: numbers first."""
    return sorted(items, key=lambda item: (isinstance(item, str), item))
