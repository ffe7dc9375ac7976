"""Concepts learned of labelled rows: one point, a threshold, a box.

After Beimel, Nissim and Stemmer, "Private learning and sanitization: pure vs. approximate
differential privacy" (2013). Constants differ and, where the paper takes RecConcave, so does the
mechanism: exponential. Theorem 26 of privacy.md.

All take values, or rows of them: whole numbers in [0, 2**bits). labels: one a row, True and False,
or 1 and 0. bits: 1 to 65,536. epsilon, delta, neighbors: as in `mine`. charging: as in
`dp.charge.Charging`. All raise ParameterError. Labels that no concept explains cost usefulness, not
privacy.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Literal, Unpack

from fim_private.dp.charge import Charging, begin
from fim_private.dp.cost import Number, PrivacyCost
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import exact_epsilon, exact_positive
from fim_private.errors import ParameterError, parameter, shown
from fim_private.learning.points import (
    Piece,
    checked_bits,
    draw,
    labelled,
    pieces_of,
    table,
    truths,
)
from fim_private.mechanisms.base import exponential_rate
from fim_private.mechanisms.noisy_max import Distance
from fim_private.options import NEIGHBORS
from fim_private.spectrum import SupportSpectrum

_ERROR_RANGE = (1e-300, 1.0)


def learn_point(
    values: Iterable[int],
    labels: Iterable[bool],
    *,
    bits: int,
    epsilon: Number,
    delta: Number,
    neighbors: str = NEIGHBORS,
    **charging: Unpack[Charging],
) -> int:
    """Return the point whose rows are labelled True, (epsilon, delta)-private, however large the
    domain.

    The value with the most rows labelled True, if it is clear enough of all others (the distance
    mechanism). Otherwise a point drawn uniformly from the whole domain, wrong only about the few
    rows that have the right one. At epsilon 1 and delta 1e-6 17 such rows are enough, whatever
    bits; under "replace-one" 34. Source: section 3.1.
    """
    bits = checked_bits(bits)
    mechanism = Distance(epsilon, delta, exact_neighbors(neighbors))
    rows = labelled(values, labels, bits, neighbors)
    randomness = begin("learn_point", neighbors, mechanism.cost, charging, bits=bits)
    positives = Counter(value for value, label in rows if label)
    spectrum = SupportSpectrum.from_supports(positives.values(), universe_size=1 << bits)
    level = mechanism.select(spectrum, randomness).level
    # it abstained, or no row is labelled True: of 2**bits equal candidates one at random
    if not level:
        return randomness.below(1 << bits)
    tied = sorted(value for value, support in positives.items() if support == level)
    return tied[randomness.below(len(tied))]


def learn_threshold(
    values: Iterable[int],
    labels: Iterable[bool],
    *,
    bits: int,
    epsilon: Number,
    private: Literal["rows", "labels"] = "rows",
    neighbors: str = NEIGHBORS,
    **charging: Unpack[Charging],
) -> int:
    """Return a threshold t, 0 to 2**bits: rows with a value of at least t are taken for True, the
    others for False.

    P(t) ∝ exp(rate * number of rows that t is right about). It is (epsilon, 0)-private with a rate
    of epsilon under add-remove, and of epsilon / 2 under replace-one and with private labels.

    private: "rows" hides a row's value and its label. "labels" hides its label only: anybody may
        know the values, as who was asked often may. One threshold then stands for all between two
        neighbouring values, and neighbours differ in one label, whatever neighbors says. No ledger
        takes it. Else as the module says. Let some threshold be right about all rows, and n >= 1 /
        (α rate) * (bits ln 2 + ln 19); with "labels", n >= 1 / (α rate) * (ln n + ln 19). Then with
        probability 95 % yours is wrong about fewer than a share α of them.
    Source: section 3.4 and Theorem 6.2.
    """
    bits = checked_bits(bits)
    if private not in ("rows", "labels"):
        raise ParameterError(
            f"{parameter('private')} must be 'rows' or 'labels', not {shown(private)}"
        )
    if private == "labels" and charging.get("ledger") is not None:
        raise ParameterError(
            f"{parameter('private')} 'labels' and {parameter('ledger')} contradict each other: a "
            "ledger protects all that a unit has, not its label alone"
        )
    relation = exact_neighbors(neighbors)
    hidden = Neighbors.REPLACE_ONE if private == "labels" else relation
    rate = exponential_rate(epsilon, hidden)
    rows = labelled(values, labels, bits, relation)
    randomness = begin("learn_threshold", neighbors, PrivacyCost(epsilon, 0), charging, bits=bits)
    pieces, wrong = _mistakes(sorted(rows), bits)
    if private == "labels":
        # one threshold for all between two values
        pieces = [
            piece._replace(start=piece.start + piece.length // 2, length=1) for piece in pieces
        ]
    return draw(pieces, wrong, rate, randomness)


def learn_box(
    rows: Iterable[Iterable[int]],
    labels: Iterable[bool],
    *,
    bits: int,
    error: Number,
    epsilon: Number,
    neighbors: str = NEIGHBORS,
    **charging: Unpack[Charging],
) -> tuple[tuple[int, int], ...]:
    """Return a box: (lowest, highest) for each column. Rows inside, both ends included, are taken
    for True.

    From each side of each column the box is cut where about error n / (4 columns) of the rows
    labelled True lie outside. All 2 columns cuts are by the exponential mechanism with as much of
    epsilon: (epsilon, 0)-private. Where a lowest is above its highest, nothing is inside: so it is
    if hardly any row is labelled True.

    rows: (n, columns). Where there may be none at all give an array: a list of none has no number
    of columns.
    error: 1e-300 to 1, the share of rows that the box may be wrong about. n should be at
        least 4 columns / error, and under "replace-one" it must be.
    neighbors: the noise is the same. Else as the module says.

    Let some box be right about all rows, and n >= 16 columns² / (error epsilon) * (bits ln 2 +
    ln(40 columns)) + 4 columns / error. Then with probability 95 % yours is wrong about fewer than
    error n of them. Source: section 3.5.
    """
    bits = checked_bits(bits)
    error = exact_positive("error", error, _ERROR_RANGE)
    relation, epsilon = exact_neighbors(neighbors), exact_epsilon(epsilon)
    listed, columns = table(rows, bits, relation)
    marks = truths(labels, len(listed))
    rank = int(error * len(listed) / (4 * columns))
    if not rank and relation is Neighbors.REPLACE_ONE:
        raise ParameterError(
            f"{parameter('rows')} must be at least 4 times their columns divided by "
            f"{parameter('error')}"
        )
    rank = max(rank, 1)
    randomness = begin(
        "learn_box",
        relation,
        PrivacyCost(epsilon, 0),
        charging,
        bits=bits,
        columns=columns,
        error=error,
    )
    # of ε / (2 columns) half, as a cut's score moves up or down
    rate, top = epsilon / (4 * columns), (1 << bits) - 1
    box = []
    for column in range(columns):
        inside = sorted(row[column] for row, label in zip(listed, marks, strict=True) if label)
        low = _cut(inside, rank, bits, rate, randomness)
        high = top - _cut([top - value for value in reversed(inside)], rank, bits, rate, randomness)
        box.append((low, high))
    return tuple(box)


def _mistakes(rows: list[tuple[int, bool]], bits: int) -> tuple[list[Piece], list[int]]:
    """Cut 0 to 2**bits after each value of (value, label), and count the mistakes of each piece."""
    numbers = Counter(value for value, _ in rows)
    cuts = [0, *(value + 1 for value in numbers), (1 << bits) + 1]
    below = accumulate(numbers.values(), initial=0)
    pieces = [
        Piece(start, end - start, smaller, len(rows) - smaller)
        for (start, end), smaller in zip(pairwise(cuts), below, strict=True)
    ]
    # Above a value its positives are wrong, and its other rows are right.
    change = {True: 1, False: -1}
    negatives = sum(not label for _, label in rows)
    wrong = [*accumulate((change[label] for _, label in rows), initial=negatives)]
    return pieces, [wrong[piece.below] for piece in pieces]


def _cut(
    values: Sequence[int], rank: int, bits: int, rate: Fraction, randomness: Randomness
) -> int:
    """Choose a point with about `rank` of the ascending values below it, from 0 to 2**bits, which
    is above all.

    A point's distance is how many values more than rank lie below it, or fewer at or below it, at
    least 0. The point above all counts as having any number at it: the cut where there are fewer
    than rank. One value more, less or elsewhere moves a distance by 1 at most, also where a value
    more makes the rank one higher (Theorem 26).
    """
    total, last = len(values), 1 << bits
    inner = pieces_of(values, 0, last)
    distances = [max(piece.below - rank, rank - (total - piece.above), 0) for piece in inner]
    distances.append(max(total - rank, 0))
    pieces = [*inner, Piece(last, 1, total, 0)]
    return draw(pieces, distances, rate, randomness)
