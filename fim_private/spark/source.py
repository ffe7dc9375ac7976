"""The source on Spark: purchases that stay where they are, behind the door of all sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa

from fim_private.counting.counter import Counter
from fim_private.counting.item_counter import ItemCounter
from fim_private.counting.itemset_spectra import counted_spectrum, listed_spectrum, located
from fim_private.counting.universe import UNKNOWN, Catalogue, SizedUniverse, Universe
from fim_private.counting.unsupported_itemsets import Candidates
from fim_private.counting.work_limit import Effort
from fim_private.dp.parameters import positive_integer
from fim_private.errors import ParameterError, parameter
from fim_private.reading.contribution_bounds import text_digest
from fim_private.reading.vocabulary import Item
from fim_private.spark.check_cells import changed
from fim_private.spark.item_names import ItemNames
from fim_private.spark.purchases import SEGMENT, Kept
from fim_private.spark.spark_counter import SparkCounter
from fim_private.spark.spark_items import SparkItems
from fim_private.spark.tasks import Batches, collected, run
from fim_private.spark.views import Capped, CutTo, Restricted, View, counted_together, united
from fim_private.spectrum import SupportSpectrum, union

_DIGESTS = pa.schema([("digest", pa.int64()), ("of_text", pa.binary())])


@dataclass(frozen=True)
class SparkSource:
    """Purchases that Spark keeps, of one segment; see `counting.source.SupportSource`."""

    view: View
    items_named: ItemNames
    units: int
    missing_user: str | None
    effort: Effort = field(default_factory=Effort)

    @classmethod
    def of(
        cls, kept: Kept, segment: int, missing_user: str | None, effort: Effort, *, together: bool = False
    ) -> SparkSource:
        """Return the source of a segment, of all where there are none. together: whether a user's baskets count so."""
        frame = kept.frame.where(kept.frame[SEGMENT] == segment) if len(kept.units) > 1 else kept.frame
        view = View(frame, len(kept.items.digests), kept.by_user, kept.checksum, kept.cells[segment])
        if together:
            view = view.then(counted_together)
        return cls(view, kept.items, kept.units[segment], missing_user, effort)

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""
        return self.view.by_user

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of that size, or of several; see `SupportSource.spectrum`."""
        sizes = size if isinstance(size, Sequence) else [size]
        if not sizes:
            raise ParameterError(f"{parameter('size')} must be at least one number")
        items = self.items(universe)
        items = replace(items, view=items.view.then(united))
        if isinstance(universe, SizedUniverse):
            items = replace(items, view=items.view.then(CutTo(universe.count)))
        return union([self._spectrum(items, one, listed=isinstance(universe, Catalogue)) for one in sizes])

    def items(self, universe: Universe = UNKNOWN) -> SparkItems:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        if not isinstance(universe, Catalogue):
            return SparkItems(self.view, self.items_named.labels, self.effort.max_work)
        listed = universe.items
        restricted = Restricted(self.items_named.digests.codes_in(listed), len(listed))

        def labels(codes: Sequence[int]) -> dict[int, Item]:
            return {code: listed.label(code) for code in codes}

        return SparkItems(self.view.then(restricted, len(listed)), labels, self.effort.max_work)

    def capped(self, max_basket: int, max_baskets: int) -> SparkSource:
        """Return a source of fewer items and baskets; see `SupportSource.capped`."""
        digests = self._text_digests() if self.by_user else None
        return replace(self, view=self.view.then(Capped(max_basket, max_baskets, digests)))

    def _spectrum(self, items: SparkItems, size: int, *, listed: bool) -> SupportSpectrum:
        """Return the spectrum of the itemsets of one size. listed: whether items are those of a catalogue."""
        size = positive_integer("size", size)
        # Of single items the supports are all there is to know.
        counter = SparkCounter(items.view, max(size, 2), self.effort)
        if size == 1:
            single: Counter = ItemCounter(counter, 1)
            found = counted_spectrum(single, partial(located, single), items.named)
        else:
            found = counted_spectrum(counter, counter.located, items.named)
        if not listed:
            return found

        def is_supported(codes: tuple[int, ...]) -> bool:
            among = items.among(np.array(codes, dtype=np.int64))
            whole = np.arange(size, dtype=np.int32)[None, :]
            return bool(among.sums([whole], np.array([0, 1], dtype=np.int64))[0])

        def supported() -> np.ndarray:
            counting = ItemCounter(counter, 1) if size == 1 else counter
            return counting.itemsets(1, max(self.units, 1))[0]

        return listed_spectrum(found, Candidates(items.view.count, size, is_supported, supported), items.named)

    def _text_digests(self) -> np.ndarray:
        """Return the digest of the text of each code's label, (codes, 16) uint8."""
        table = collected(run(self.items_named.frame, _text_digests, _DIGESTS))
        named = table.column("digest").to_numpy()
        order = np.argsort(named, kind="stable")
        if not np.array_equal(named[order], np.sort(self.items_named.digests.digests)):
            raise changed()
        found = np.frombuffer(b"".join(table.column("of_text").to_pylist()), dtype=np.uint8).reshape(-1, 16)
        digests = self.items_named.digests.digests
        made = np.empty((len(digests), 16), dtype=np.uint8)
        made[np.argsort(digests, kind="stable")] = found[order]
        return made


def _text_digests(batches: Batches) -> Batches:
    """Yield the digest of the text of each item."""
    for batch in batches:
        columns = {name: batch.column(batch.schema.get_field_index(name)) for name in batch.schema.names}
        labels = zip(columns["number"].to_pylist(), columns["text"].to_pylist(), strict=True)
        of_text = [text_digest(text if number is None else str(number)) for number, text in labels]
        yield pa.RecordBatch.from_arrays([columns["digest"], pa.array(of_text, pa.binary())], schema=_DIGESTS)
