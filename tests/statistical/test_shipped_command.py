"""What users run, audited from outside: the command draws what the library draws.

What the library draws is held to exact distributions (test_whole_releases.py). The command, a
process of its own that reads a file and writes JSON, has to draw the same.
"""

import json
from pathlib import Path

import pytest
from patience import python

import fim_private as fim

Itemset = tuple[int | str, ...]
PAIRS: dict[Itemset, int] = {(1, 2): 17, (1, 3): 15, (4, 5): 2}
RUNS = 10


def baskets_of(pairs: dict[Itemset, int]) -> list[list[int | str]]:
    return [list(pair) for pair, support in pairs.items() for _ in range(support)]


def in_process(pairs: dict[Itemset, int], seed: int) -> Itemset | None:
    release = fim.mine(
        baskets_of(pairs),
        mechanism="limited-domain",
        epsilon=1,
        delta=0.01,
        neighbors="add-remove",
        max_rank=2,
        top=1,
        supports=False,
        seed=seed,
    )
    return release.itemsets[0].items if release.itemsets else None


def by_command(data: Path, seed: int) -> Itemset | None:
    command = "--mechanism limited-domain --max-rank 2 --neighbors add-remove --epsilon 1"
    command += f" --delta 0.01 --top 1 --no-supports --json --seed {seed}"
    done = python("-m", "fim_private", "mine", data, *command.split())
    release = json.loads(done.stdout)
    assert release["private"] is False
    return tuple(release["itemsets"][0]["items"]) if release["itemsets"] else None


@pytest.mark.full
@pytest.mark.parametrize("raised", [{}, {(1, 3): 16}], ids=["a file", "its neighbour"])
def test_the_command_draws_as_the_library_does(raised: dict[Itemset, int], tmp_path: Path) -> None:
    """Run by run, under the same seeds: what holds of the library holds of it."""
    pairs = PAIRS | raised
    data = tmp_path / "baskets.dat"
    lines = [" ".join(map(str, basket)) for basket in baskets_of(pairs)]
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    drawn = [by_command(data, seed) for seed in range(RUNS)]
    assert drawn == [in_process(pairs, seed) for seed in range(RUNS)]
    assert len(set(drawn)) > 1
