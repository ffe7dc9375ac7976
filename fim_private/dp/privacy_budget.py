"""What all of a release may spend: (ε, δ), or ρ of zero-concentrated privacy; and what each composition makes of it.

δ of either form is for the whole. Where steps may name what one unit alone has, a part of it, δ₀, is theirs: a run is
the mixture (1 - δ₀)M̃ + δ₀Q of a run M̃ that names no such thing, and something else. If M̃ is (ε, δ_c)-private, the run
is (ε, δ₀ + (1 - δ₀)δ_c)-private; if M̃ is ρ-zCDP, it is δ₀-approximately so (docs/privacy.md, "Mixtures").
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from fim_private.dp.accounting import zcdp_epsilon, zcdp_rho
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.dp.gaussian_dp import gdp_epsilon, gdp_mu
from fim_private.dp.parameters import exact_delta_or_zero, exact_epsilon, exact_rho
from fim_private.errors import ParameterError, parameter

# The part of δ that names things where ρ is given: the other half only tells the ε that ρ implies.
_NAMING = Fraction(1, 2)


@dataclass(frozen=True)
class PrivacyBudget:
    """A budget, checked by `of`: either epsilon, or rho with a delta above 0. delta: of the whole, 0 for none."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None = None

    @classmethod
    def of(
        cls,
        epsilon: float | Fraction | None,
        delta: float | Fraction,
        rho: float | Fraction | None,
        *,
        otherwise: float,
    ) -> Self:
        """Return the budget that a caller gives; otherwise: epsilon where neither that nor rho is given.

        Raises ParameterError for numbers out of range, for epsilon and rho together, and for rho with a delta of 0.
        """
        if rho is None:
            return cls(exact_epsilon(otherwise if epsilon is None else epsilon), exact_delta_or_zero(delta))
        if epsilon is not None:
            raise ParameterError(f"give {parameter('epsilon')} or {parameter('rho')}, not both")
        exact = exact_rho(rho)
        if not (exact_delta := exact_delta_or_zero(delta)):
            raise ParameterError(
                f"{parameter('delta')} must be above 0 with {parameter('rho')}: the epsilon that rho implies is told "
                "at that delta (of which nothing is spent where no step needs one)"
            )
        return cls(None, exact_delta, exact)

    @property
    def loss(self) -> Fraction:
        """Epsilon; of rho about that which it implies, for choices that only have to know its order."""
        if self.epsilon is not None:
            return self.epsilon
        assert self.rho is not None
        return zcdp_epsilon(self.rho, self.delta)

    def naming(self, part: Fraction) -> Fraction:
        """Return δ₀: this part of delta, or half of it where rho is given."""
        return self.delta * (part if self.rho is None else _NAMING)

    def conversion(self, naming: Fraction) -> Fraction:
        """Return δ_c: what of delta is left beside δ₀, for what names nothing that one unit alone has."""
        return (self.delta - naming) / (1 - naming)

    def concentrated(self, naming: Fraction, part: Fraction = Fraction(1)) -> Fraction:
        """Return the ρ that steps may spend, with this part of δ_c."""
        if self.rho is not None:
            return self.rho
        assert self.epsilon is not None
        return zcdp_rho(self.epsilon, self.conversion(naming) * part)

    def normal(self, naming: Fraction, part: Fraction = Fraction(1)) -> Fraction:
        """Return the μ² that Gaussian steps may spend, with this part of δ_c: 2ρ where ρ is given."""
        if self.rho is not None:
            return 2 * self.rho
        assert self.epsilon is not None
        return gdp_mu(self.epsilon, self.conversion(naming) * part) ** 2

    def cost(self, naming: Fraction, *, normal: bool) -> PrivacyCost:
        """Return the (ε, δ) of a run that spends all of it. normal: whether all of its noise is Gaussian."""
        if self.epsilon is not None:
            return PrivacyCost(self.epsilon, self.delta)
        assert self.rho is not None
        left = self.conversion(naming)
        return PrivacyCost(gdp_epsilon(2 * self.rho, left) if normal else zcdp_epsilon(self.rho, left), self.delta)

    def zcdp(self, naming: Fraction) -> ZcdpCost | None:
        """Return what a run spends in zCDP, where ρ was given for it."""
        return None if self.rho is None else ZcdpCost(self.rho, naming)
