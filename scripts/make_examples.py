"""Make the small files that the README's commands read, from the corner shop: always the same
bytes.

sales.csv.gz: the first 10,000 baskets as a till exports them: one row per item, semicolons, and
NULL where no loyalty card was shown. catalogue.csv: all items, one a line. pairs.csv: itemsets to
be counted.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

FOLDER = Path(__file__).resolve().parents[1] / "datasets"
BASKETS = 10_000
# One basket in so many was paid without a card.
WITHOUT_CARD = 12
ITEMSETS = (
    ("semi-skimmed milk", "tea bags"),
    ("parmesan", "spaghetti", "tomato sauce for pasta"),
    ("lager", "nappies"),
    ("bananas",),
)


def as_csv(rows: Iterable[Sequence[object]], delimiter: str = ",") -> bytes:
    """Return rows as the bytes of a CSV."""
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()


def sales() -> bytes:
    """Return the first baskets, one row per item, compressed."""
    shop = pq.read_table(FOLDER / "corner_shop.parquet").slice(0, BASKETS).to_pylist()
    rows = [
        (
            row["basket"],
            "NULL" if row["basket"] % WITHOUT_CARD == 0 else f"C{row['customer']:05}",
            item,
        )
        for row in shop
        for item in row["items"]
    ]
    return gzip.compress(as_csv([("order_id", "customer_id", "product"), *rows], ";"), mtime=0)


def catalogue() -> bytes:
    """Return all items of the corner shop, one a line, under a header."""
    items = (
        pq.read_table(FOLDER / "corner_shop.parquet", columns=["items"])["items"]
        .combine_chunks()
        .flatten()
    )
    return as_csv([("item",), *((item,) for item in sorted(items.unique().to_pylist()))])


def files() -> dict[str, bytes]:
    """Return what is in each file."""
    return {"sales.csv.gz": sales(), "catalogue.csv": catalogue(), "pairs.csv": as_csv(ITEMSETS)}


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument(
        "--output",
        type=Path,
        default=FOLDER,
        help="the folder to write to (default: %(default)s)",
    )
    folder: Path = parser.parse_args().output
    for name, content in files().items():
        (folder / name).write_bytes(content)
        print(f"wrote {folder / name} ({len(content)} bytes)")


if __name__ == "__main__":
    main()
