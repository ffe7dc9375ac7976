"""What help texts say of mechanisms, read from the registry when a command is built: to import this costs nothing."""

from __future__ import annotations

from fim_private import defaults


def mechanisms_by_need() -> str:
    """Return every mechanism's name, by what it needs to know."""
    from fim_private.mechanisms.mechanism_spec import BasketCap, UniverseNeed
    from fim_private.mechanisms.registry import MECHANISMS

    unlisted = [spec for spec in MECHANISMS.values() if spec.universe is UniverseNeed.UNKNOWN]
    capped = [spec.name for spec in unlisted if spec.basket_cap is BasketCap.NEEDED]
    names = [spec.name for spec in unlisted if spec.name not in capped]
    names += [f"{name} (with --max-basket)" for name in capped]
    listed = [spec.name for spec in MECHANISMS.values() if spec not in unlisted]
    return (
        "auto: levelwise for several itemsets; for one, and for a few of users, limited-domain, or exponential over a "
        "list; permute-and-flip without delta. "
        f"No item universe needed: {', '.join(names)}. Over a public one: {', '.join(listed)}."
    )


def what_max_rank_caps() -> str:
    """Return what a cap on ranks is to those that have one."""
    from fim_private.mechanisms.mechanism_spec import RankCap
    from fim_private.mechanisms.registry import MECHANISMS

    ranked = [spec for spec in MECHANISMS.values() if spec.rank_cap is not RankCap.NONE]
    searches, others = (
        " and ".join(spec.name for spec in ranked if spec.searches is search) for search in (True, False)
    )
    most = f"{defaults.MAX_RANK:,}"
    return f"Public cap on the rank search of {searches} ({most}), or on the candidates of {others} ({most})."


def whom_max_basket_serves() -> str:
    """Return the mechanisms that make use of a cap on baskets: first those that need it."""
    from fim_private.mechanisms.mechanism_spec import BasketCap
    from fim_private.mechanisms.registry import MECHANISMS

    caps = (BasketCap.NEEDED, BasketCap.OPTIONAL)
    return " and ".join(spec.name for cap in caps for spec in MECHANISMS.values() if spec.basket_cap is cap)


def some_mechanisms() -> str:
    """Return the first names that an audit takes."""
    from fim_private.mechanisms.registry import single

    return ", ".join([*single()][:3])
