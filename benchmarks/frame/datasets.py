"""What to count in: real files where there are any, and generated ones, made once and kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.counting.head_to_head import Dataset
from benchmarks.frame.provenance import ROOT

MAKE_QUEST = ROOT / "scripts" / "make_quest.py"
LARGEST_CONTEST = 1_000_000  # baskets; what is larger is for growth only

# Names, the share of the baskets that is the minimum support, what it is, and options of reading.
REAL: tuple[tuple[str, float, str, tuple[tuple[str, str], ...]], ...] = (
    ("retail", 880 / 88162, "FIMI: a Belgian shop", ()),
    ("mushroom", 0.3, "UCI and FIMI: attributes of mushrooms", ()),
    ("t10i4d100k", 0.002, "FIMI: made by IBM's Quest generator", ()),
    ("bms_webview_1", 0.001, "KDD Cup 2000: clicks in a web shop", ()),
    ("online_retail", 0.01, "UCI: an online shop", (("basket", "InvoiceNo"), ("item", "StockCode"))),
    ("groceries", 0.005, "arules: a grocery shop", ()),
)


def real_datasets(folder: Path | None) -> tuple[list[Dataset], list[str]]:
    """Return the real data sets in the folder (Parquet), and the names of those that it lacks."""
    found, missing = [], []
    for name, share, about, columns in REAL:
        path = None if folder is None else folder / f"{name}.parquet"
        if path is not None and path.is_file():
            found.append(Dataset(name, path, share, about, columns))
        else:
            missing.append(name)
    return found, missing


def generated_datasets(cache: Path, growth: Sequence[int]) -> list[Dataset]:
    """Return the generated data sets of the contest, made if need be."""
    sets = [quest(cache, baskets) for baskets in growth if baskets <= LARGEST_CONTEST]
    click_stream = _made(cache / "kosarak_like.parquet", "--heavy-tail")
    dense = _made(cache / "chess_like.parquet", "--dense")
    return [
        *sets,
        Dataset("kosarak-like", click_stream, 0.005, "generated: a click-stream with a heavy tail"),
        Dataset("chess-like", dense, 0.5, "generated: dense, 37 attributes a row"),
    ]


def quest(cache: Path, baskets: int) -> Dataset:
    """Return a Quest data set of so many baskets, made if need be."""
    path = _made(cache / f"quest_{baskets}.parquet", "--baskets", str(baskets))
    return Dataset(f"quest {baskets:,}", path, 0.002, "generated: T10.I4 as of IBM's Quest generator")


def _made(path: Path, *options: str) -> Path:
    if not path.is_file() or path.stat().st_mtime < MAKE_QUEST.stat().st_mtime:
        path.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([sys.executable, MAKE_QUEST, path, *options], stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise SystemExit(done.returncode)
    return path
