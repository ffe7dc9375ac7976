"""The hockey-stick divergence of two output distributions: how far a pair of neighbours is from being private."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from fim_private.auditing.digits import DIGITS, number


def hockey_stick(p: Mapping[Any, Decimal], q: Mapping[Any, Decimal], epsilon: Fraction) -> Decimal:
    """Return the hockey-stick divergence Σ max(0, p(o) - e^ε q(o)): the least δ for which p is (ε, δ)-close to q.

    p, q: probabilities by outcome; one that is not there has probability 0.
    """
    with localcontext(DIGITS):
        growth = number(epsilon).exp()
        zero = Decimal(0)
        return sum((max(zero, chance - growth * q.get(o, zero)) for o, chance in p.items()), zero)
