"""Neighbouring data that mechanisms find hard: named itemsets with their supports, and what one unit does to them.

The structured pairs are those where selection mechanisms break: a unit whose itemsets are all new, ties across the
cut, a leader tied with others and then lowered or raised, ranks that swap, empty data, one itemset. A random search
adds pairs nobody thought of.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from fim_private.privacy import Neighbors

Counts = dict[str, int]
Pair = tuple[Counts, Counts]

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")
_RAISED = ("a", "b", "d", "bd", "abcdefgh", "e", "efgh", "cdef")
_LOWERED = ("a", "ab", "bcd", "efgh")


def structured_pairs(neighbors: str, scales: Sequence[int], most: int | None) -> Iterator[Pair]:
    """Yield pairs of neighbours, in one direction each.

    scales: supports of a leader at which the mechanism's outcomes are of middling probability.
    most: how many itemsets one unit supports at most; None: no limit.
    """
    seen = set()
    for base in _bases(scales):
        for raised in _RAISED:
            for lowered in ("", *(_LOWERED if neighbors == Neighbors.REPLACE_ONE else ())):
                if pair := _pair(base, raised[:most], lowered[:most]):
                    key = tuple(tuple(counts.values()) for counts in pair)
                    if key not in seen:
                        seen.add(key)
                        yield pair


def _bases(scales: Sequence[int]) -> Iterator[Counts]:
    for leader in dict.fromkeys((*scales, 0, 1, 2)):
        for runner in dict.fromkeys((0, 1, leader // 2, max(leader - 1, 0), leader)):
            for ties in (1, 2):
                tied = dict.fromkeys(NAMES[1 : 1 + ties], runner)
                yield dict.fromkeys(NAMES, 0) | {"a": leader, **tied, "d": max(runner - 1, 0)}


def _pair(base: Counts, raised: str, lowered: str) -> Pair | None:
    """Return the data with a unit that has the lowered ones, and with one that has the raised ones instead."""
    one = {name: support + (name in lowered and not support) for name, support in base.items()}
    two = {name: support + (name in raised) - (name in lowered) for name, support in one.items()}
    return (one, two) if one != two else None


def random_pairs(neighbors: str, scales: Sequence[int], most: int | None, trials: int, seed: int) -> Iterator[Pair]:
    """Yield pairs of neighbours at random: supports near a few common values, so that ties and swaps are common."""
    generator = random.Random(seed)
    for _ in range(trials):
        centres = [generator.choice((0, 1, *scales, *(scale // 2 for scale in scales))) for _ in range(3)]
        base = {name: max(generator.choice(centres) + generator.choice((-1, 0, 0, 1)), 0) for name in NAMES}
        shuffled = generator.sample(NAMES, len(NAMES))
        raised = "".join(shuffled[: generator.randint(1, len(NAMES))])[:most]
        lowered = ""
        if neighbors == Neighbors.REPLACE_ONE:
            lowered = "".join(generator.sample(NAMES, generator.randint(0, 4)))[:most]
        if pair := _pair(base, raised, lowered):
            yield pair


def are_neighbors(one: Counts, two: Counts, neighbors: str, most: int | None = None) -> bool:
    """Whether one unit can make the difference: added or removed, or exchanged for another."""
    moves = [two.get(name, 0) - one.get(name, 0) for name in {**one, **two}]
    up, down = moves.count(1), moves.count(-1)
    if up + down + moves.count(0) != len(moves) or max(up, down) > (len(moves) if most is None else most):
        return False
    return neighbors == Neighbors.REPLACE_ONE or not (up and down)
