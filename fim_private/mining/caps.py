"""Public caps, on ranks and on baskets: which mechanism has a use for which."""

from __future__ import annotations

from fim_private.counting.universe import Catalogue, Universe
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms import registry
from fim_private.mechanisms.mechanism_spec import BasketCap, MechanismSpec, RankCap


def check_caps(
    spec: MechanismSpec,
    universe: Universe,
    max_rank: int | None,
    max_basket: int | None,
    max_baskets: int | None,
    *,
    by_user: bool,
) -> None:
    """Raise ParameterError for a cap that the mechanism has no use for, or that needs another beside it."""
    if max_rank is not None and spec.rank_cap is RankCap.NONE:
        ranked = [spec.name for spec in registry.MECHANISMS.values() if spec.rank_cap is not RankCap.NONE]
        raise ParameterError(
            f"{parameter('max_rank')} is of use to {', '.join(ranked)} only; {spec.name} has no cap on ranks"
        )
    if max_rank is not None and spec.rank_cap is RankCap.SEARCH and isinstance(universe, Catalogue):
        raise ParameterError(
            f"{parameter('max_rank')} is of no use to {spec.name} with a catalogue, all of which it searches"
        )
    if max_basket is not None and spec.basket_cap is BasketCap.NONE:
        capped = [spec.name for spec in registry.MECHANISMS.values() if spec.basket_cap is not BasketCap.NONE]
        raise ParameterError(
            f"{parameter('max_basket')} is of use to {' and '.join(capped)} only; leave it out, "
            "for it would only lose purchases"
        )
    if max_baskets is not None and (max_basket is None or not by_user):
        raise ParameterError(
            f"{parameter('max_baskets')} goes with {parameter('max_basket')} and {parameter('user')}: "
            "how many baskets of a user count at most"
        )
    if max_basket is not None and by_user and max_baskets is None:
        raise ParameterError(
            f"{parameter('max_baskets')} is needed to protect users with {parameter('max_basket')}: "
            "how many of their baskets count"
        )
