"""What to count in: the real files and the generated ones, each with the minimum support that is
asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.frame.datasets import Source, generated, quest, real_sources

LARGEST_CONTEST = 1_000_000  # baskets; what is larger is for growth only
QUEST_SHARE = 0.002
# Of the real data sets, the share of the baskets that is the minimum support.
REAL_SHARES = {
    "retail": 880 / 88162,
    "mushroom": 0.3,
    "t10i4d100k": QUEST_SHARE,
    "bms_webview_1": 0.001,
    "online_retail": 0.01,
    "groceries": 0.005,
}


@dataclass(frozen=True)
class Dataset(Source):
    """A data set to count in. share: of the baskets, for a minimum support."""

    share: float = field(kw_only=True)

    @classmethod
    def of(cls, source: Source, share: float) -> Dataset:
        """Return a data set with its share."""
        return cls(source.name, source.about, source.path, source.columns, share=share)

    def min_support(self, baskets: int) -> int:
        """Return the minimum support, in baskets."""
        return max(2, round(self.share * baskets))


def real_datasets(folder: Path | None) -> tuple[list[Dataset], list[str]]:
    """Return the real data sets in the folder (Parquet), and the names of those that it lacks."""
    found, missing = real_sources(folder)
    return [Dataset.of(source, REAL_SHARES[name]) for name, source in found.items()], missing


def quest_dataset(cache: Path, baskets: int) -> Dataset:
    """Return a Quest data set of so many baskets, made if need be."""
    return Dataset.of(quest(cache, baskets), QUEST_SHARE)


def generated_datasets(cache: Path, growth: Sequence[int]) -> list[Dataset]:
    """Return the generated data sets of the contest, made if need be. growth: numbers of
    baskets.
    """
    sets = [quest_dataset(cache, baskets) for baskets in growth if baskets <= LARGEST_CONTEST]
    click_stream = generated(cache / "kosarak_like.parquet", "--heavy-tail")
    dense = generated(cache / "chess_like.parquet", "--dense")
    heavy_tail = "generated: a click-stream with a heavy tail"
    return [
        *sets,
        Dataset("kosarak-like", heavy_tail, click_stream, share=0.005),
        Dataset("chess-like", "generated: dense, 37 attributes a row", dense, share=0.5),
    ]
