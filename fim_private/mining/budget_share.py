"""Parts of a budget, as a release tells them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fim_private.dp.cost import Exact

# What the steps of levelwise are for, in words.
_STEPS = {
    "count": "the number of units",
    "size": "choosing the size",
    "items": "finding items",
    "candidates": "finding sets of them",
    **dict.fromkeys(("first count", "histogram", "second count", "item count", "set count"), "counting these"),
}


@dataclass(frozen=True)
class Share:
    """One part of the budget, and what it was spent on.

    purpose: "selection" or "supports"; "size" for choosing one; with levelwise "items", "candidates", "first count",
        "histogram" and "second count" for the steps of its selection.
    sizes: of the itemsets it is about. fraction: the part, of 1.
    epsilon, delta: what it spends under basic composition; None where the parts are composed in zCDP, where rho is what
    it spends, or in Gaussian differential privacy, where mu_squared is. All are exact: together they are the whole.
    """

    purpose: str
    sizes: tuple[int, ...]
    fraction: Fraction
    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None
    mu_squared: Exact | None = None

    @property
    def in_zcdp(self) -> Fraction:
        """The ρ that it spends: of (ε, δ) it is ε²/2, δ-approximately, and of Gaussian privacy μ²/2 (Theorem 18)."""
        if self.rho is not None:
            return Fraction(self.rho)
        if self.mu_squared is not None:
            return self.mu_squared / 2
        return (self.epsilon or Fraction(0)) ** 2 / 2

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, the budget rounded up to floats."""
        return {
            "purpose": self.purpose,
            "sizes": self.sizes,
            "fraction": float(self.fraction),
            **{name: None if part is None else float(part) for name, part in self._spent.items()},
        }

    @property
    def _spent(self) -> dict[str, Exact | None]:
        """What it spends, by name."""
        spent = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return spent if self.mu_squared is None else {**spent, "mu_squared": self.mu_squared}

    @property
    def in_words(self) -> str:
        """What it is for, in words."""
        if self.purpose != "selection":
            return _STEPS.get(self.purpose, self.purpose)
        sizes = str(self.sizes[0]) if len(self.sizes) == 1 else f"{self.sizes[0]}-{self.sizes[-1]}"
        return f"selection of size {sizes}"


def parts_in_words(shares: Sequence[Share]) -> dict[str, Fraction]:
    """Return the part of the budget that each purpose has; parts of one purpose (levelwise has many) as one."""
    parts: dict[str, Fraction] = {}
    for share in shares:
        parts[share.in_words] = parts.get(share.in_words, Fraction(0)) + share.fraction
    return parts
