"""Items that nobody knows in advance: what the mechanisms need, and what the command answers."""

from __future__ import annotations

import json
import math
import string
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.paper.corollary1_tasks import NEIGHBORS, REPLACE_ONE, needed

VOCABULARIES = {"GTIN-13 (10^12)": 10**12, "strings of 32 bytes (2^256)": 2**256}


def needs(name: str, size: int, epsilon: float) -> dict[str, dict[str, int]]:
    """Return the supports needed where items come from an open vocabulary, by relation and mechanism."""
    candidates = math.comb(VOCABULARIES[name], size)
    ours = ("large-margin", "tight-margin", "limited-domain")
    return {
        n: {kind: needed(kind, epsilon, n) for kind in ours}
        | {"named-exponential": needed("named-exponential", epsilon, n, candidates)}
        for n in NEIGHBORS
    }


def end_to_end(name: str, baskets: int, planted: int, seed: int) -> list[dict[str, Any]]:
    """Run the command on generated baskets whose items nobody knows in advance; so many hold the planted pair."""
    rng = np.random.default_rng(seed)
    labels = _labels(name, 2_000, rng)
    weights = 1 / np.arange(20, 2_018)
    rows = [[labels[2 + i] for i in rng.choice(1_998, 5, p=weights / weights.sum())] for _ in range(baskets)]
    for row in rows[:planted]:
        row += labels[:2]
    size = ["--universe-size", str(VOCABULARIES[name])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "baskets.parquet"
        pq.write_table(pa.table({"items": rows}), path)
        return [
            {"mechanism": mechanism, "planted": planted, **_command(path, mechanism, more, set(labels[:2]), seed)}
            for mechanism, more in (
                ("large-margin", []),
                ("limited-domain", []),
                ("exponential", []),
                ("exponential", size),
            )
        ]


def _labels(name: str, count: int, rng: np.random.Generator) -> list[str]:
    if name.startswith("GTIN"):
        return [_with_check_digit(f"{number:012d}") for number in rng.choice(10**12, count, replace=False)]
    letters = np.array(list(string.ascii_letters + string.digits + "-_"))
    return ["".join(row) for row in rng.choice(letters, (count, 32))]


def _with_check_digit(digits: str) -> str:
    total = sum(int(d) * (3 if place % 2 else 1) for place, d in enumerate(digits))
    return digits + str(-total % 10)


def _command(path: Path, mechanism: str, more: list[str], planted: set[str], seed: int) -> dict[str, Any]:
    options = ["--mechanism", mechanism, "--neighbors", REPLACE_ONE, *more]
    arguments = [str(path), "--format", "json", "--seed", str(seed), *options]
    command = [sys.executable, "-m", "fim_private", "mine", *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        answer = done.stderr.strip().replace(str(path), path.name)
    else:
        itemsets = json.loads(done.stdout)["itemsets"]
        found = itemsets[0]["items"] if itemsets else None
        named = {str(item) for item in found} if found else set()
        answer = "the planted pair" if named == planted else "no named itemset" if not named else "another pair"
    return {"options": " ".join(options), "exit": done.returncode, "answer": answer}
