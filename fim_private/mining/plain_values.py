"""A release as plain values, the JSON schema: of strings, numbers, booleans, None, lists and dicts of them."""

from __future__ import annotations

from typing import Any

from fim_private.mining.itemset import Itemset
from fim_private.mining.noisy_supports import SupportNoise
from fim_private.mining.outcome import Outcome

SCHEMA = 1


def plain_values(outcome: Outcome, guarantee: str, message: str | None = None) -> dict[str, Any]:
    """Return what leaves as plain values, in the order of the JSON schema (docs/architecture.md), with its guarantee.

    What was not asked for has no key: top, union, caps, shares, noise, intervals, parts and keep_all; nor has the
    reason where the mechanism was named, nor the units where their number is not known. noise is None where nothing was
    named. message: that nothing came out, in words; None where something did.
    """
    zcdp, sizes = outcome.zcdp, outcome.sizes
    optional: dict[str, Any] = {
        "units": outcome.units,
        "units_interval": outcome.units_interval and list(outcome.units_interval),
        "units_noise": _noise(outcome.units_noise),
        "where": outcome.where,
        "max_basket": outcome.max_basket,
        "max_baskets": outcome.max_baskets,
        "keep_all": outcome.keep_all or None,
    }
    least = {"min_support": outcome.min_support, "threshold": outcome.threshold, "capped": outcome.capped}
    return {
        "schema": SCHEMA,
        "private": outcome.private,
        "mechanism": outcome.mechanism,
        **({} if outcome.reason is None else {"reason": outcome.reason}),
        "size": outcome.size,
        **({"chosen_from": [*outcome.chosen_from]} if outcome.chosen_from else {}),
        **({} if sizes == tuple(range(sizes[0], sizes[-1] + 1)) else {"sizes": [*sizes]}),
        **({"top": outcome.top} if outcome.wanted > 1 else {}),
        **({"union": True} if outcome.union else {}),
        **({} if outcome.min_support is None else least),
        "epsilon": outcome.epsilon,
        "delta": outcome.delta,
        **({} if zcdp is None else {"rho": float(zcdp.rho), "zcdp_delta": float(zcdp.delta)}),
        "neighbors": str(outcome.neighbors),
        "privacy_unit": outcome.privacy_unit,
        "guarantee": guarantee,
        **{name: value for name, value in optional.items() if value is not None},
        **outcome.scope.to_dict(),
        "abstained": outcome.abstained,
        **({} if message is None else {"message": message}),
        "itemsets": [_itemset(outcome, itemset) for itemset in outcome.itemsets],
        **({"parts": [_itemset(outcome, itemset) for itemset in outcome.parts]} if outcome.with_parts else {}),
        **({"shares": [share.to_dict() for share in outcome.shares]} if len(outcome.shares) > 1 else {}),
        **({"noise": _noise(outcome.noise)} if outcome.has_supports else {}),
        **({} if outcome.charged is None else {"ledger": outcome.charged.to_dict()}),
    }


def _itemset(outcome: Outcome, itemset: Itemset) -> dict[str, Any]:
    """Return an itemset with its share of all units and the interval of that, where supports have shares."""
    if not outcome.has_shares:
        return itemset.to_dict()
    bounds = outcome.share_interval_of(itemset)
    shares = {"share": outcome.share_of(itemset), **({} if bounds is None else {"share_interval": list(bounds)})}
    return itemset.to_dict() | shares


def _noise(noise: SupportNoise | None) -> dict[str, Any] | None:
    """Return what noise is; parameter and, of two normals, of_units are exact, as text."""
    if noise is None:
        return None
    own = {"kind": str(noise.kind), "parameter": str(noise.parameter), "half_width": noise.half_width}
    return own if noise.of_units is None else {**own, "of_units": str(noise.of_units)}
