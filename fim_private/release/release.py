"""A release, and the forms in which it is handed on."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from fim_private.display import MARK, Glance, as_json, printable
from fim_private.errors import ParameterError
from fim_private.planning.advice import Advice, advice
from fim_private.release import forms, words
from fim_private.release.chart import Pictured
from fim_private.release.forms import csv_line, plain_values, save
from fim_private.release.rules import rules_cells, rules_frame, rules_json, rules_note, rules_of
from fim_private.release.words import escaped, markdown
from fim_private.request.itemsets import Itemset
from fim_private.rule_metrics import Rules

__all__ = ["GIVEN", "Itemset", "Release"]

# The mechanism's name where no itemset was selected: all were given, to be counted.
GIVEN = "count"
_MOST_COLUMNS = 10_000


class Release(Pictured):
    """What leaves: the itemsets, and the guarantee they were released under; `Outcome` lists what it holds.

    It is a sequence of its itemsets (`Itemsets`): len(release), for itemset in release, release[0],
    release[{"milk", "tea"}].support, {"milk", "tea"} in release. One that abstained is empty, and so is false; it has
    spent its budget all the same.
    """

    @property
    def title(self) -> str:
        """What was released, in words: how many itemsets of how many, by what; or that there are none, and why."""
        if self.mechanism == GIVEN:
            given = f"supports of the {self.top:,} itemsets" if self.top > 1 else "support of the itemset"
            return f"The {given} given"
        if self.min_support is not None:
            if not self.itemsets and self.scope.segment is not None:
                return self.nothing
            least = self._least
            return words.title_reaching(self.mechanism, self.sizes, found=len(self.itemsets), least=least)
        if not self.itemsets and self.scope.segment is not None:
            return self.nothing
        if not self.itemsets:
            return f"No itemset of {words.of_items(self.sizes)} was released: {self._why_nothing}."
        return words.wording_title(
            self.mechanism,
            self.sizes,
            found=len(self.itemsets),
            wanted=self.wanted,
            of_each=None if self.union or len(self.sizes) == 1 else self.top,
            order=self._order if len(self.itemsets) > 1 else None,
        )

    @property
    def nothing(self) -> str:
        """That nothing came out, in plain words: for whoever reads a page, not for whoever made it."""
        segment = self.scope.segment
        for_whom = "" if segment is None else f" for {printable(segment)}"
        if self.min_support is not None:
            return f"Nothing was found{for_whom} with a noisy support of at least {self._least}."
        return f"Nothing {'was found' if self.keep_all else 'stood out from the noise'}{for_whom}."

    @property
    def protected(self) -> str:
        """Whom the guarantee is about, in words."""
        return words.protected(self.privacy_unit, self.missing_user)

    @property
    def guarantee(self) -> str:
        """The guarantee, in one sentence."""
        if not self.private:
            return words.SEEDED
        change = words.change(
            self.neighbors,
            self.protected,
            where=self.where is not None,
            query=self.scope.query,
            segments=self.scope.by is not None,
        )
        return words.guarantee(self.mechanism, self.cost, change) + words.concentrated(self.zcdp)

    @property
    def certainty(self) -> tuple[str, ...]:
        """How certain it is that these itemsets are what was asked for, in sentences; none where they were given."""
        if self.mechanism == GIVEN or not self.itemsets:
            return ()
        if self.min_support is not None:
            marked = sum(itemset.doubtful or False for itemset in self.itemsets)
            return words.certainty_reaching(marked, len(self.itemsets), self._least, capped=self.capped, top=self.top)
        told = [itemset.doubtful for itemset in self.itemsets if itemset.doubtful is not None]
        of_each = len(self.sizes) > 1 and not self.union
        lots = () if self.counted else (words.chance(self.privacy_unit, self.shortfall, of_each=of_each),)
        if not told:
            return lots
        each = " of their size" if of_each else ""
        alike = self.privacy_unit if self.counted else None
        return (*lots, words.doubt(sum(told), len(told), f"{self.top:,} most frequent{each}", alike))

    @cached_property
    def advice(self) -> Advice | None:
        """What to ask instead where nothing, or less than was asked for, came out; None where there is no such thing.

        It follows from what was asked and from how much came out, and is for whoever asks: no form of a release that is
        handed on has it. None of a release that was loaded. It takes a moment to find.
        """
        if self.request is None or self.min_support is not None:
            return None
        low, high = self.units_interval or (0, 0)
        is_clear = self.units is not None and high - low <= self.units / 5  # else a share of it would say nothing
        return advice(self.request, self.units if is_clear else None, len(self.itemsets))

    @property
    def _least(self) -> str:
        """The least support that was asked for, in words."""
        assert self.threshold is not None
        if isinstance(self.min_support, int):
            return words.of_units(self.threshold, self.privacy_unit)
        about = "" if self.units_interval is None else "about "
        return f"{100 * (self.min_support or 0):.6g} % of all {self.privacy_unit}s ({about}{self.threshold:,})"

    @property
    def _order(self) -> str:
        """In which order the itemsets stand, in words."""
        if self.noise is not None:
            return "noisy support"
        return "noisy counts" if self.counted else "selection"

    @property
    def _why_nothing(self) -> str:
        """Why there are no itemsets, in words."""
        if self.counted:
            return "none was found" if self.keep_all else "none stood out from the noise"
        return "the mechanism abstained"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the order of the JSON schema (docs/json.md): see `plain_values`."""
        return plain_values(self, self.guarantee, self.nothing if self.abstained else None)

    @property
    def columns(self) -> tuple[str, ...]:
        """The headings of `cells`: itemset and, where supports were asked for, support, perhaps share, and interval."""
        shares = ("share",) if self.has_shares else ()
        return ("itemset", "support", *shares, "95 % interval") if self.has_supports else ("itemset",)

    def cells(self, itemset: Itemset) -> tuple[str, ...]:
        """Return an itemset of this release as texts, one for each of `columns`."""
        named = words.braces(itemset.items, self.privacy_unit) + (f" {MARK}" if itemset.doubtful else "")
        if not self.has_supports:
            return (named,)
        if itemset.support is None or itemset.interval is None:
            return (named, "not released", *[""] * (len(self.columns) - 2))
        low, high = itemset.interval
        shares = []
        if self.has_shares:
            width = 0 if self.noise is None else self.noise.half_width
            decimals = words.decimals_of_shares(width, self.units or 0)
            shares.append(words.percent(self.share_of(itemset) or 0, decimals))
        return (named, f"{itemset.support:,}", *shares, f"{low:,} to {high:,}")

    def _glance(self) -> Glance:
        """Return what is shown of it."""
        return Glance(
            self.title,
            self.columns,
            [self.cells(itemset) for itemset in self.itemsets],
            numbers=frozenset(range(1, len(self.columns))),
            notes=[*self.certainty, *self.rows_read, self.guarantee, *words.charged(self.charged)],
            rest="release.to_pandas(relative=False)",
        )

    @property
    def _advised(self) -> list[str]:
        """What to ask instead as a line, if something is missing and there is any."""
        if self.advice is None:
            return [self.hopeless] if self.hopeless else []
        return [f"To find more: {self.advice}" if self.itemsets else f"To try: {self.advice}"]

    @property
    def hopeless(self) -> str | None:
        """What is said where nothing came out and there is no advice; None elsewhere."""
        if self.itemsets or self.request is None or self.advice is not None:
            return None
        if self.min_support is not None:
            return f"To try: a smaller least support, a larger budget, or more {self.privacy_unit}s."
        return f"Nothing that could be asked instead is likely to find anything: more {self.privacy_unit}s are needed."

    def __repr__(self) -> str:
        return "\n".join([f"Release: {self._glance().text()}", *self._advised])  # of a session: nobody hands it on

    def __str__(self) -> str:
        return self._glance().text(len(self.itemsets))

    def _repr_html_(self) -> str:
        return self._glance().html()

    def rules(self, *, min_confidence: float = 0.0, min_lift: float = 0.0) -> Any:
        """Return the association rules of the itemsets as a pandas.DataFrame with mlxtend's columns, the surest first.
        The release must have been mined with rules=True, so that it has supports of all parts of its itemsets (parts).
        antecedents, consequents: frozensets. antecedent support, consequent support, support, confidence, lift,
            leverage, conviction, zhangs_metric: as mlxtend.frequent_patterns.association_rules computes them of
            to_pandas(): from noisy supports, and so noisy. Of each but the first two there are _lower and _upper, the
            ends of an interval: all intervals of one rule hold what they are of with 95 % probability together.
        doubtful: whether these leave open whether the two sides are together more, or less, often than by chance, or
            whether the rule has as much confidence and lift as was asked for.
        min_confidence: 0 to 1. min_lift: >= 0. Rules below either, as estimated, are left out.
        Rules whose lift is high for certain come first (by the lower end of its interval), doubtful ones last. Looking
        at rules spends no privacy: they follow from what is released.
        Of users with together="basket" a pair must share one basket, but each item counts users who ever bought it, so
        lift 1 is not independence. There is confidence alone then, rules come by it, and doubtful is what may miss it.
        Raises ParameterError for limits out of range, for min_lift where there are no lifts, and where the release has
        not what rules need.
        """
        return rules_frame(rules_of(self, min_confidence, min_lift), self)

    def kept(self) -> dict[str, Any]:
        """Return to_dict() and, under saved, what it says beyond that: what save() keeps, and fim.load takes."""
        more = {"missing_user": self.missing_user, "shortfall": self.shortfall}
        said = {name: value for name, value in more.items() if value is not None}
        return self.to_dict() | ({"saved": said} if said else {})

    def to_json(self, rules: Rules | None = None, *, kept: bool = False) -> str:
        """Return the release as one line of JSON, schema 1 (docs/json.md).

        rules: to be added under that key, with how they are to be read as rules_note. kept: whether all is added that
            save() keeps.
        """
        made = {} if rules is None else rules_json(rules)
        return as_json((self.kept() if kept else self.to_dict()) | made)

    def to_csv(self, *, spreadsheet_safe: bool = True) -> str:
        """Return CSV with a header: item_1 … item_size, support and, where supports were asked for, lower and upper.

        Where they can be told as shares, share comes last. The text 1 and the number 1 look alike in it.
        spreadsheet_safe: whether an apostrophe is put before text that a spreadsheet would run as a formula (it begins
            with =, +, -, @, a tab or a line break, and is no number); without it all text is as it was.
        """
        # Of sizes that no basket has there are no more columns than a spreadsheet has.
        found = max((len(itemset.items or ()) for itemset in self.itemsets), default=0)
        columns = max(found, min(max(self.sizes), _MOST_COLUMNS))
        bounds = ["lower", "upper"] if self.has_supports else []
        share = ["share"] if self.has_shares else []
        names = [f"item_{place}" for place in range(1, columns + 1)]
        rows: list[list[float | str]] = [[*names, "support", *bounds, *share]]
        for itemset in self.itemsets:
            items = itemset.items or ()
            row: list[float | str] = [*items, *[""] * (columns - len(items))]
            row.append("" if itemset.support is None else itemset.support)
            row += (itemset.interval or ("", "")) if bounds else ()
            row += ["" if (part := self.share_of(itemset)) is None else part] if share else ()
            rows.append(row)
        return "".join(csv_line(row, spreadsheet_safe=spreadsheet_safe) for row in rows)

    def to_markdown(self, rules: Rules | None = None) -> str:
        """Return Markdown: the itemsets as a table, how certain they are, rules if given, and the guarantee."""
        notes = [*self.certainty, *self.rows_read]
        first = markdown(self.title, self.columns, [*map(self.cells, self)], notes)
        told = "" if rules is None else markdown(*rules_cells(rules, self), [rules_note(rules)])
        last = "\n\n".join(map(escaped, (self.guarantee, *words.charged(self.charged))))
        return "\n".join(part for part in (first, told, f"{last}\n") if part)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release to a file, whole or not at all: .json or .parquet, which fim.load reads, .csv, .md or .svg.

        Parquet has a row for each itemset, as to_arrow() has, and all of the release in its metadata.
        Raises ParameterError for another ending, and OutputError where the file cannot be written.
        """
        save(self, path)

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table, one row for each itemset: support (int64) and itemsets (a list of the items' type).

        Where supports were asked for it has lower and upper too (int64), and share (float64) where they can be told as
        shares. Items of both kinds in one release come out as strings, for an Arrow list has one type.
        """
        columns: dict[str, Any] = forms.counts(self.itemsets, self.has_supports)
        if self.has_shares:
            columns["share"] = list(map(self.share_of, self.itemsets))
        return forms.arrow_table([itemset.items for itemset in self.itemsets], columns)

    def to_pandas(self, *, relative: bool = True, lists: bool = False, downward_closed: bool = False) -> Any:
        """Return a pandas.DataFrame with mlxtend's columns: support, a share of all units, and itemsets, frozensets.

        `mlxtend.frequent_patterns.association_rules` takes it as it is, if it was mined with rules=True: the parts of
        the itemsets then follow them. (Of other releases it raises a KeyError where a part of an itemset is missing;
        to_pandas(downward_closed=True) leaves such itemsets out.) Of users with together="basket" its lift 1 is not
        independence: see `rules`.

        support: float64, 0 to 1. Where supports were asked for there are count (Int64), the same in units, and lower
            and upper (float64), the ends of the 95 % interval as shares. Where not, support is missing throughout
            (Float64, for which association_rules raises a TypeError; a plain NaN it would take for "no rules").
        relative: False for support, lower and upper in units (Int64), whatever is known of their number.
        lists: itemsets as lists, which Parquet can hold, not as frozensets; items of both kinds then become strings.
        downward_closed: only the itemsets of which all parts were released too, as rules need.
        An outcome without a name (Itemset.items is None) has no row, for such frames hold sets.
        Raises ParameterError where supports were asked for, but the number of units is not known (add-remove with
        Laplace noise, without count): there are no shares then, and rules made of counts would be wrong.
        """
        named = [itemset for itemset in (*self.itemsets, *self.parts) if itemset.items is not None]
        if downward_closed:
            named = forms.downward_closed(named)
        columns: dict[str, Any] = forms.counts(named, self.has_supports)
        dtypes = {}
        if relative and self.has_supports:
            if self.units is None:
                raise ParameterError(words.no_shares(self.privacy_unit, chosen=self.scope.chooses_units(self.where)))
            bounds = [self.share_interval_of(itemset) or (None, None) for itemset in named]
            columns = {
                "support": list(map(self.share_of, named)),
                "count": columns["support"],
                "lower": [low for low, _ in bounds],
                "upper": [high for _, high in bounds],
            }
            # Of no units there are no shares: missing then, whatever came out.
            dtypes = dict.fromkeys(("support", "lower", "upper"), "float64" if self.units else "Float64")
        elif relative:
            dtypes = {"support": "Float64"}
        return forms.pandas_frame([itemset.items or () for itemset in named], columns, dtypes, lists=lists)
