"""Releases of several segments under one budget."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fim_private.display import Glance, as_json, printable
from fim_private.dp.charge import Charged
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.release import forms, words
from fim_private.release.chart import BarChart, on_one_scale
from fim_private.release.forms import SCHEMA, csv_line, save
from fim_private.release.release import Release
from fim_private.release.rules import rules_json, rules_of
from fim_private.release.words import escaped
from fim_private.rule_metrics import Rules

# -------------------- segment tables
# Tables of CSV, one of each segment, as one.


def by_segment(tables: Mapping[str, str]) -> str:
    """Return tables of CSV, under the names of their segments, as one, with the segment in a first column.

    tables: not yet safe for spreadsheets; what is returned is. Of different numbers of columns for items the most are
    taken.
    """
    read = {name: [*csv.reader(io.StringIO(table, newline=""))] for name, table in tables.items()}
    head = max((rows[0] for rows in read.values()), key=len)
    lines = [csv_line(["segment", *head], spreadsheet_safe=False)]
    for name, (own, *rows) in read.items():
        held = [dict(zip(own, row, strict=True)) for row in rows]
        lines += [csv_line([name, *(row.get(column, "") for column in head)], spreadsheet_safe=True) for row in held]
    return "".join(lines)


# -------------------- pictured segments
# Releases of several segments as one picture: one below the other, on one scale.


def segment_charts(releases: Mapping[str, Release], whole: Release, *, relative: bool) -> list[BarChart]:
    """Return what is drawn of each segment. releases: by what stands above each. whole: says what holds for them all.

    What holds for all is said once: the guarantee below the last, or the want of one above the first.
    """
    charts = []
    for place, (heading, release) in enumerate(releases.items(), 1):
        chart, promise = release.chart(relative=relative), whole.chart()
        last = place == len(releases)
        notes = tuple(note for note in chart.notes if note != release.guarantee)
        charts.append(
            replace(
                chart,
                title=f"{heading}: {chart.title}",
                short_title=f"{heading}: {chart.short_title}",
                warning=chart.warning if place == 1 else "",
                notes=(*notes, whole.guarantee) if last and whole.private else notes,
                short_note=promise.short_note if last else "",
            )
        )
    return on_one_scale(charts)


def svg_of_segments(releases: Mapping[str, Release], whole: Release, *, relative: bool) -> str:
    """Return the picture as SVG."""
    from fim_private.release.chart import svg

    return svg(*segment_charts(releases, whole, relative=relative))


def plot_of_segments(releases: Mapping[str, Release], whole: Release, *, relative: bool) -> list[Any]:
    """Draw the picture on matplotlib, and return its axes. Raises MissingExtraError without it."""
    from fim_private.release.chart import draw_all

    return draw_all(segment_charts(releases, whole, relative=relative))


# -------------------- segmented
# Releases of several segments, such as stores, that were made together under one budget.

# What is the same in all releases, may be long, and is told once.
_ONCE = "exclude"
# So many segments without itemsets are named in a session.
_FEW = 5


@dataclass(frozen=True, repr=False)
class SegmentedRelease(Mapping[str, Release]):
    """A release of each segment, under its name: a mapping, in the order of the list of segments.

    releases: one of each segment; what one of them says of its budget is of it alone. cost: the (epsilon, delta) of
    all of them together, and zcdp, where the budget was given as rho, the (rho, delta). charged: what a ledger said;
    None where there was none.
    """

    releases: tuple[Release, ...]
    cost: PrivacyCost
    zcdp: ZcdpCost | None = None
    charged: Charged | None = None

    def __getitem__(self, segment: object) -> Release:
        """Return the release of a segment, named as text or as a whole number. Raises KeyError for others."""
        if str(segment) not in self._named:
            raise KeyError(segment)
        return self._named[str(segment)]

    @cached_property
    def _named(self) -> dict[str, Release]:
        """The releases by their segments."""
        return {one.scope.segment or "": one for one in self.releases}

    def __iter__(self) -> Iterator[str]:
        return (one.scope.segment or "" for one in self.releases)

    def __len__(self) -> int:
        return len(self.releases)

    @property
    def by(self) -> str:
        """The column that names segments."""
        return self.releases[0].scope.by or ""

    @property
    def max_segments(self) -> int:
        """In how many segments a unit counts at most."""
        return self.releases[0].scope.max_segments

    @property
    def private(self) -> bool:
        """Whether it is private: not where a seed was given."""
        return all(one.private for one in self.releases)

    @property
    def abstained(self) -> bool:
        """Whether nothing was released of any segment, which is a valid private answer."""
        return all(one.abstained for one in self.releases)

    @property
    def epsilon(self) -> float:
        """The epsilon spent in all, as a float that is rounded up."""
        return float(self.cost.epsilon)

    @property
    def delta(self) -> float:
        """The delta spent in all, as a float that is rounded up."""
        return float(self.cost.delta)

    @property
    def neighbors(self) -> str:
        """The neighbour relation."""
        return self.releases[0].neighbors

    @property
    def privacy_unit(self) -> str:
        """Whom the guarantee is about: one "basket", or one "user" with all their baskets."""
        return self.releases[0].privacy_unit

    @property
    def whole(self) -> Release:
        """A release without itemsets that says of its request and its budget what holds for all segments together."""
        first = self.releases[0]
        every = replace(first.scope, segment=", ".join(self))
        # A way that was taken in one segment may not have been in another.
        shares = first.shares if all(one.shares == first.shares for one in self.releases) else ()
        own = ("units", "units_interval", "units_noise", "noise", "threshold", "shortfall", "request")
        nothing: dict[str, Any] = {"itemsets": (), "parts": (), "capped": False, **dict.fromkeys(own)}
        return replace(
            first, cost=self.cost, zcdp=self.zcdp, charged=self.charged, scope=every, shares=shares, **nothing
        )

    @property
    def guarantee(self) -> str:
        """The guarantee of all of it, in one sentence."""
        return self.whole.guarantee

    @property
    def with_parts(self) -> bool:
        """Whether rules can be made of it."""
        return all(one.with_parts for one in self.releases)

    @property
    def title(self) -> str:
        """What was released, in words."""
        number = "1 segment" if len(self) == 1 else f"{len(self):,} segments"
        found = sum(map(len, self.releases))
        itemsets = "1 itemset" if found == 1 else f"{found:,} itemsets"
        return f"{itemsets} in {number} of {printable(self.by)}"

    def heading(self, release: Release) -> str:
        """Return what stands above the release of a segment: column and segment."""
        return f"{printable(self.by)} {printable(release.scope.segment or '')}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values (docs/json.md): what is said of all, and each release as its own to_dict."""
        return self._values(Release.to_dict)

    def _values(self, of: Callable[[Release], dict[str, Any]]) -> dict[str, Any]:
        """Return plain values. of: gives those of each release."""
        zcdp = self.zcdp
        return {
            "schema": SCHEMA,
            "private": self.private,
            "by": self.by,
            "segments": [*self],
            "max_segments": self.max_segments,
            "epsilon": self.epsilon,
            "delta": self.delta,
            **({} if zcdp is None else {"rho": float(zcdp.rho), "zcdp_delta": float(zcdp.delta)}),
            "neighbors": str(self.neighbors),
            "privacy_unit": self.privacy_unit,
            "guarantee": self.guarantee,
            "abstained": self.abstained,
            **{name: value for name, value in self.whole.scope.to_dict().items() if name == _ONCE},
            "releases": [{name: value for name, value in of(one).items() if name != _ONCE} for one in self.releases],
            **({} if self.charged is None else {"ledger": self.charged.to_dict()}),
        }

    def kept(self) -> dict[str, Any]:
        """Return plain values with all that is kept of each release, from which `fim.load` makes it again."""
        return self._values(Release.kept)

    def to_json(self, rules: Mapping[str, Rules] | None = None, *, kept: bool = False) -> str:
        """Return JSON of to_dict(), on one line. rules: of segments. kept: whether all is in it that load needs."""
        values = self.kept() if kept else self.to_dict()
        for each, one in zip(values["releases"], self.releases, strict=True):
            if rules is not None:
                each |= rules_json(rules[one.scope.segment or ""])
        return as_json(values)

    def to_csv(self) -> str:
        """Return CSV as Release.to_csv does, safe for spreadsheets, with the segment in a first column."""
        return by_segment({name: one.to_csv(spreadsheet_safe=False) for name, one in self.items()})

    def to_markdown(self, rules: Mapping[str, Rules] | None = None) -> str:
        """Return Markdown: a heading and a release for each segment, and the guarantee of all."""
        parts = [
            f"## {escaped(self.heading(one))}\n\n{one.to_markdown(None if rules is None else rules[name])}"
            for name, one in self.items()
        ]
        last = "\n\n".join(map(escaped, (self.guarantee, *words.charged(self.charged))))
        return "\n".join([f"# {escaped(self.title)}\n", *parts, f"{last}\n"])

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table as Release.to_arrow does, of all segments, with the segment in a first column."""
        import pyarrow as pa

        tables = [one.to_arrow() for one in self.releases]
        parts = [
            table.add_column(0, "segment", pa.array([name] * len(table), pa.string()))
            for name, table in zip(self, forms.of_one_type(tables), strict=True)
        ]
        return pa.concat_tables(parts)

    def to_pandas(self, *, relative: bool = True, lists: bool = False, downward_closed: bool = False) -> Any:
        """Return the frames of Release.to_pandas, one below the other, with the segment in a first column.

        Raises ParameterError as Release.to_pandas does.
        """
        import pandas as pd

        tables = {
            name: one.to_pandas(relative=relative, lists=lists, downward_closed=downward_closed)
            for name, one in self.items()
        }
        held = [table.assign(segment=name)[["segment", *table]] for name, table in tables.items()]
        kept = [table for table in held if len(table)] or held[:1]
        return pd.concat(kept, ignore_index=True)

    def rules(self, *, min_confidence: float = 0.0, min_lift: float = 0.0) -> Any:
        """Return the association rules of all segments, as Release.rules does, with the segment in a first column."""
        import pandas as pd

        tables = [
            one.rules(min_confidence=min_confidence, min_lift=min_lift).assign(segment=name)
            for name, one in self.items()
        ]
        kept = [table for table in tables if len(table)] or tables[:1]
        found = pd.concat(kept, ignore_index=True)
        return found[["segment", *(column for column in found if column != "segment")]]

    def plot(self, *, relative: bool = True) -> list[Any]:
        """Draw each segment as Release.plot does, all in a new figure and on one scale, and return their axes."""
        return plot_of_segments(self._headed, self.whole, relative=relative)

    def to_svg(self, *, relative: bool = True) -> str:
        """Return the picture that plot() draws as SVG, for which nothing has to be installed."""
        return svg_of_segments(self._headed, self.whole, relative=relative)

    @property
    def _headed(self) -> dict[str, Release]:
        """The releases by what stands above each."""
        return {self.heading(one): one for one in self.releases}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all releases to one file, as Release.save does: .json or .parquet, which fim.load reads, or another.

        Raises ParameterError for another ending, and OutputError where the file cannot be written.
        """
        save(self, path)

    def _glance(self) -> Glance:
        """Return what is shown of it."""
        columns = max((one.columns for one in self.releases), key=len)
        rows = [(one.scope.segment or "", *one.cells(itemset)) for one in self.releases for itemset in one]
        nothing = [one.nothing for one in self.releases if not len(one)]
        more = [f"and {len(nothing) - _FEW:,} more segments without itemsets"] if len(nothing) > _FEW else []
        certain = dict.fromkeys(told for one in self.releases for told in one.certainty)
        said = [*certain] if len(certain) <= _FEW else []
        whole = self.whole
        notes = [*nothing[:_FEW], *more, *said, *whole.rows_read, self.guarantee, *words.charged(self.charged)]
        numbers = frozenset(range(2, len(columns) + 1))
        return Glance(self.title, ("segment", *columns), rows, numbers=numbers, notes=notes, rest="release[segment]")

    def __repr__(self) -> str:
        return f"SegmentedRelease: {self._glance().text()}"

    def __str__(self) -> str:
        return self._glance().text(sum(map(len, self.releases)))

    def _repr_html_(self) -> str:
        return self._glance().html()


def rules_by_segment(
    release: Release | SegmentedRelease, min_confidence: float = 0.0, min_lift: float = 0.0
) -> Rules | dict[str, Rules]:
    """Return the rules of a release, or those of each segment under its name. Raises ParameterError as rules_of."""
    if isinstance(release, Release):
        return rules_of(release, min_confidence, min_lift)
    return {name: rules_of(one, min_confidence, min_lift) for name, one in release.items()}
