"""Neighbouring data that mechanisms find hard: named itemsets with their supports, and what one unit does to them.

The structured pairs are those on which selection mechanisms break: a unit whose itemsets are all new, ties across the
cut, a leader that is tied with others and then lowered or raised, ranks that swap, empty data, a single itemset. A
random search adds pairs that nobody thought of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fim_private.dp.parameters import Neighbors
from fim_private.dp.randomness import Randomness, distinct_integers

Counts = dict[str, int]
Pair = tuple[Counts, Counts]

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")
_RAISED = ("a", "b", "d", "bd", "abcdefgh", "e", "efgh", "cdef")
_LOWERED = ("a", "ab", "bcd", "efgh")


def structured_pairs(neighbors: str, scales: Sequence[int], most: int | None) -> Iterator[Pair]:
    """Yield pairs of neighbours, in one direction each.

    scales: supports, in units, of a leader at which the mechanism's outcomes are of middling probability.
    most: how many itemsets one unit supports at most, >= 1; None: no limit.
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
    """Yield data to change: a leader, one or two runners-up, and one itemset just below them."""
    for leader in dict.fromkeys((*scales, 0, 1, 2)):
        for runner in dict.fromkeys((0, 1, leader // 2, max(leader - 1, 0), leader)):
            for ties in (1, 2):
                tied = dict.fromkeys(NAMES[1 : 1 + ties], runner)
                yield dict.fromkeys(NAMES, 0) | {"a": leader, **tied, "d": max(runner - 1, 0)}


def _pair(base: Counts, raised: str, lowered: str) -> Pair | None:
    """Return data before and after a unit with the lowered itemsets becomes one with the raised; None if equal."""
    one = {name: support + (name in lowered and not support) for name, support in base.items()}
    two = {name: support + (name in raised) - (name in lowered) for name, support in one.items()}
    return (one, two) if one != two else None


def random_pairs(neighbors: str, scales: Sequence[int], most: int | None, trials: int, seed: int) -> Iterator[Pair]:
    """Yield at most `trials` random pairs of neighbours, with supports near a few values, so that many tie or swap.

    scales, most: as in structured_pairs. seed: of the random choices.
    """
    randomness = Randomness.seeded(seed)

    def one_of(choices: Sequence[int]) -> int:
        return choices[randomness.below(len(choices))]

    def some(least: int, largest: int) -> str:
        count = least + randomness.below(largest - least + 1)
        return "".join(NAMES[i] for i in distinct_integers(len(NAMES), count, randomness=randomness))[:most]

    centres = (0, 1, *scales, *(scale // 2 for scale in scales))
    for _ in range(trials):
        near = [one_of(centres) for _ in range(3)]
        base = {name: max(one_of(near) + one_of((-1, 0, 0, 1)), 0) for name in NAMES}
        raised = some(1, len(NAMES))
        lowered = some(0, 4) if neighbors == Neighbors.REPLACE_ONE else ""
        if pair := _pair(base, raised, lowered):
            yield pair


def are_neighbors(one: Counts, two: Counts, neighbors: str, most: int | None = None) -> bool:
    """Tell whether two data sets are neighbours; `most`: how many itemsets a unit supports at most, None: no limit."""
    moves = [two.get(name, 0) - one.get(name, 0) for name in {**one, **two}]
    up, down = moves.count(1), moves.count(-1)
    if up + down + moves.count(0) != len(moves) or max(up, down) > (len(moves) if most is None else most):
        return False
    return neighbors == Neighbors.REPLACE_ONE or not (up and down)
