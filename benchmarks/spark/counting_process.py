"""The process in which one of them counts: python -m benchmarks.spark.counting_process WAY FILE
BASKETS FOLDER.

What was found is written to answer.json in the folder.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from benchmarks.frame.output_files import write_json
from benchmarks.spark.ways import counted


def main(name: str, path: Path, baskets: int, folder: Path) -> None:
    """Count, and write down what was found."""
    warnings.simplefilter("ignore")  # a seed is not private
    write_json(counted(name, path, baskets, folder), folder / "answer.json")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
