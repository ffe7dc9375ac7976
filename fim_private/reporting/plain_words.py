"""What a release promises, and how to read it, in words for people who never heard of differential privacy."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fim_private.dp.parameters import Neighbors
from fim_private.mining.release import Release


def promise(release: Release) -> str:
    """Return what the guarantee means to one of those in the data, in a sentence or three."""
    unit, who = release.privacy_unit, "one customer" if release.privacy_unit == "user" else "one basket"
    what = "everything that any one customer ever bought" if unit == "user" else "what is in any one basket"
    hidden = "hidden, and even whether they are in the data at all" if _may_be_absent(release) else "hidden"
    return (
        f"Whatever else somebody knows, this page tells next to nothing of {who}: {what} stays {hidden}. "
        f"It was made by chance that is weighed so carefully that it would have looked nearly the same without them."
    )


def posterior(release: Release) -> str | None:
    """Return how far the page can change what somebody believes of one unit; None where that is all but anything.

    By Bayes' rule: a belief of one half becomes at most e^ε/(1 + e^ε), but for the probability δ.
    """
    if release.epsilon > 6:
        return None
    most = math.exp(release.epsilon) / (1 + math.exp(release.epsilon))
    of_whom = "a customer" if release.privacy_unit == "user" else "a basket"
    return (
        f"Who thought it as likely as not that {of_whom} has something in it will, after reading this page, think so "
        f"with at most {math.ceil(100 * most)} %, and with at least {math.floor(100 * (1 - most))} %"
        + (f" (but for a chance of {_chance(release.delta)})." if release.delta else ".")
    )


def how_to_read(release: Release) -> Iterator[str]:
    """Yield what to know of noise and of what is missing, a paragraph each."""
    unit = release.privacy_unit
    who = "customers" if unit == "user" else "baskets"
    if release.has_supports and release.itemsets:
        yield (
            f"Numbers of {who} are true numbers with noise added on purpose: the same question asked twice has two "
            "answers. The thin line on each bar is where the true number is, with 95 % probability, each by itself. "
            "Two bars whose lines overlap may well be the other way round."
        )
    if any(one.doubtful for one in release.itemsets):
        yield "A striped bar marked with ? may not belong here at all: by the noise alone another may have as much."
    yield (
        "What is not on this page was not necessarily not bought together: it may only not stand out enough from the "
        "noise, or it may have been passed over by chance."
    )
    if not release.itemsets:
        yield (
            "An empty page is a valid answer. It says that nothing stood out from the noise that this much privacy "
            "takes; and the privacy it took is spent all the same."
        )


def _may_be_absent(release: Release) -> bool:
    return release.neighbors == Neighbors.ADD_REMOVE


def _chance(delta: float) -> str:
    """Return a small probability in words."""
    odds = 1 / delta
    return f"one in {odds:,.0f}" if odds < 1e12 else f"{delta:g}"
