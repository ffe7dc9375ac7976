"""A release as it is shown and handed on: on a screen, in a notebook, and in files of each form."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fim_private.display import JsonObject, Tabular, as_json
from fim_private.dp.arguments import positive_integer
from fim_private.dp.cost import PrivacyCost
from fim_private.errors import MissingExtraError, ParameterError, shown
from fim_private.options.declaration import filled, takes
from fim_private.options.outputs import FORM_OF_ENDING, ReleaseFormat
from fim_private.options.requests import RuleLimits
from fim_private.release.chart import svg
from fim_private.release.figures import charts_of_rules
from fim_private.release.forms import (
    AnyRelease,
    Columns,
    Frame,
    Rows,
    csv_text,
    joined,
    lists_of,
    rows_by_segment,
    workbook,
)
from fim_private.release.picture import charts_of
from fim_private.release.rules import RuleChoice, RulesBySegment, rules_by_segment
from fim_private.whole_files import staged

if TYPE_CHECKING:
    import pyarrow as pa

AnyRules = RulesBySegment | None

PARQUET_ENDINGS = (".parquet", ".pq")
# Where the metadata of a Parquet file has all of a release, as its JSON.
METADATA = b"fim_private"


def _parquet(release: AnyRelease) -> bytes:
    """Return a Parquet file: a row for each itemset, and in the metadata all of the release."""
    import pyarrow as pa
    import pyarrow.parquet

    metadata = {METADATA: json.dumps(release.to_dict(whole=True)).encode()}
    stream = pa.BufferOutputStream()
    pyarrow.parquet.write_table(release.to_arrow().replace_schema_metadata(metadata), stream)
    return bytes(stream.getvalue())


def _csv(release: AnyRelease, rules: AnyRules) -> str:
    if rules is None:
        return csv_text(release.sheet_rows())
    return csv_text(rows_by_segment(rules, release.kind_of_part))


def _workbook(release: AnyRelease, rules: AnyRules) -> bytes:
    sheets = {"itemsets": release.sheet_rows()}
    if rules is not None:
        sheets["rules"] = rows_by_segment(rules, release.kind_of_part)
    return workbook(sheets)


# The functions that make each form of a release, or of a release of segments, with its rules, if
# any. JSON and Parquet have the whole release; Parquet has no place for rules.
CONTENT: Mapping[ReleaseFormat, Callable[[AnyRelease, AnyRules], str | bytes]] = {
    ReleaseFormat.JSON: lambda release, rules: release.to_json(rules, whole=True) + "\n",
    ReleaseFormat.CSV: _csv,
    ReleaseFormat.XLSX: _workbook,
    ReleaseFormat.MARKDOWN: lambda release, rules: release.to_markdown(rules),
    ReleaseFormat.PARQUET: lambda release, rules: _parquet(release),
    ReleaseFormat.SVG: lambda release, rules: release.to_svg(rules),
}


class Published(Tabular):
    """What a Release and a SegmentedRelease have in common: their cost, and their forms."""

    cost: PrivacyCost

    @property
    def epsilon(self) -> float:
        """The epsilon spent in all, as a float that is rounded up; cost has the exact one."""
        return float(self.cost.epsilon)

    @property
    def delta(self) -> float:
        """The delta spent in all, as a float that is rounded up; 0 for a purely private
        mechanism.
        """
        return float(self.cost.delta)

    @abstractmethod
    def sheet_rows(self) -> Rows:
        """Return the rows that CSV and a sheet of Excel have, the header first."""

    @property
    @abstractmethod
    def by_segment(self) -> Mapping[str, AnyRelease]:
        """The release of each segment or period, under its name; or of all, under no name."""

    @property
    def kind_of_part(self) -> str:
        """What each of several releases is of: a "segment", a "period", an "item" or a "level"."""
        first, *_ = self.by_segment.values()
        if first.scope.with_each:
            return "item"
        if first.scope.groups:
            return "level"
        return "period" if first.scope.by is None else "segment"

    @abstractmethod
    def to_dict(self, *, whole: bool = False) -> JsonObject:
        """Return plain values."""

    @abstractmethod
    def to_markdown(self) -> str:
        """Return Markdown."""

    def __str__(self) -> str:
        table = self.table()
        return table.text(len(table.rows))

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def to_csv(self, *, spreadsheet_safe: bool = True) -> str:
        """Return CSV with a header: item_1 … item_size, support and, where known, lower, upper,
        share and doubtful; of segments, the segment comes first.

        spreadsheet_safe: whether to put an apostrophe before text that a spreadsheet would run as a
            formula. Such text begins with =, +, -, @, a tab or a line break, and is no number. The
            text 1 and the number 1 look alike in CSV.
        """
        return csv_text(self.sheet_rows(), spreadsheet_safe=spreadsheet_safe)

    def to_json(self, rules: AnyRules = None, *, whole: bool = False) -> str:
        """Return one line of JSON (docs/json.md). rules: to be added. whole: with all that save()
        writes.
        """
        values = self.to_dict(whole=whole)
        if rules is not None:
            releases = values.get("releases", [values])
            for release, its_rules in zip(releases, rules.values(), strict=True):
                release |= its_rules.to_dict()
        return as_json(values)

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow.Table, one row for each itemset: support (int64) and itemsets (a list of
        the items' type).

        If supports were asked for, it has lower and upper too (int64), and share (float64) if the
        number of units is known. If supports draw on each other, exact_support, exact_lower and
        exact_upper (int64) are those by themselves. Where that can be known, doubtful (bool) says
        which itemsets may not be among those asked for. Items of both kinds come out as strings,
        because an Arrow list has one type. Of several segments, the segment is a first column.
        """
        import pyarrow as pa

        names, itemsets = [], []
        columns: Columns = {}
        for name, release in self.by_segment.items():
            names += [name] * len(release)
            itemsets += [itemset.items for itemset in release]
            for column, values in release.columns_of(release.itemsets).items():
                columns.setdefault(column, []).extend(values)
        lists, are_integers = lists_of(itemsets)
        item_type = pa.int64() if are_integers else pa.string()
        types = {"share": pa.float64(), "doubtful": pa.bool_()}
        arrays = {
            column: pa.array(values, types.get(column, pa.int64()))
            for column, values in columns.items()
        }
        # The itemsets are null where they have no name.
        table = pa.table(arrays).add_column(1, "itemsets", pa.array(lists, pa.list_(item_type)))
        if "" in self.by_segment:
            return table
        return table.add_column(0, self.kind_of_part, pa.array(names, pa.string()))

    def to_polars(self) -> Frame:
        """Return a polars.DataFrame with the columns of to_arrow(). Raises MissingExtraError
        without polars.
        """
        try:
            import polars as pl
        except ImportError:
            raise MissingExtraError(
                "to_polars needs polars, which is not installed: pip install polars"
            ) from None
        return pl.from_arrow(self.to_arrow())

    @takes(RuleLimits)
    def rules(self, **limits: Unpack[RuleLimits]) -> Frame:
        """Return the association rules of the itemsets as a pandas.DataFrame with mlxtend's
        columns, surest first.

        The release must have been mined with rules=True. Looking at rules spends no privacy.
        antecedents, consequents: frozensets. The numbers are noisy: they are what mlxtend computes
            from to_pandas(). From support on each has _lower and _upper, the ends of an interval
            that holds the true number with 95 % probability, each by itself.
        doubtful: within the noise, the two sides may be unrelated, or the rule may miss the
            confidence or lift that was asked for. Doubtful rules come last; the others are in order
            of the lower end of their lift.
        Rules with several items on the right side, and redundant ones, are left out unless
        max_consequent and redundant say otherwise.
        Estimates decide which rules reach a limit. antecedent, consequent and contains are an item
        each, or a list of items. For users with together="basket" there is confidence alone,
        because lift 1 is not independence there. Of several segments, the segment is a first
        column. Raises ParameterError for limits out of range, for a lift where there are none, and
        if the release lacks what rules need.
        """
        return self._rules_frame(RuleChoice.of(filled("rules", RuleLimits, limits)))

    @takes(RuleLimits)
    def recommend(self, basket: object, *, top: int = 5, **limits: Unpack[RuleLimits]) -> Frame:
        """Return what goes with the items of a basket: a frame as rules() has it, with the best
        rule for each item, surest first.

        Each rule has its left side within the basket, and nothing of the basket on its right side.
        What is surely bought less often than by chance is left out. An empty frame says that
        nothing in the release goes with the basket.
        basket: an item, or a list or set of items. top: how many rules there are at most, >= 1; of
        several segments, in each. Raises what rules() raises.
        """
        most = positive_integer("top", top)
        return self._rules_frame(
            RuleChoice.of(filled("recommend", RuleLimits, limits), basket), most
        )

    def _rules_frame(self, choice: RuleChoice, most: int | None = None) -> Frame:
        """Return the first rules that are chosen, of each segment, as a frame."""
        frames = {
            name: rules.at(range(len(rules))[:most]).frame()
            for name, rules in rules_by_segment(self, choice).items()
        }
        return joined(frames, self.kind_of_part)

    def to_svg(self, rules: AnyRules = None, *, relative: bool = True) -> str:
        """Return the itemsets as dots with their 95 % intervals, as SVG, which has no script and
        loads nothing.

        rules: drawn below, if given. relative: False for supports in units, not as shares. Without
        supports it is a list of names. Of several segments all have one scale.
        """
        of_rules = charts_of_rules(self, rules or {})
        drawn = [chart for chart in of_rules if chart.bars]
        return svg(*charts_of(self, relative=relative), *drawn)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all: .json or .parquet, which fim.load reads, .csv,
        .xlsx, .md or .svg.

        Raises ParameterError for another ending, MissingExtraError for .xlsx without XlsxWriter
        (extra excel), and OutputError where the file cannot be written.
        """
        if not isinstance(path, str | os.PathLike):
            raise ParameterError(f"a release is saved to the path of a file, not to {shown(path)}")
        file = Path(path).expanduser()
        form = FORM_OF_ENDING.get(file.suffix.lower())
        if form is None:
            raise ParameterError(
                f"the name of a release's file must end in {', '.join(FORM_OF_ENDING)}, not "
                f"{file.suffix!r}"
            )
        content = CONTENT[form](self, None)
        with staged(file, option="path") as write:
            write(content)
