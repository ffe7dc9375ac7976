"""What a release promises, and how to read it, in words for people who never heard of differential privacy."""

from __future__ import annotations

from collections.abc import Iterator

from fim_private.dp.accounting import growth_bound
from fim_private.dp.cost import at_least, rounded_up
from fim_private.dp.parameters import Neighbors
from fim_private.glance import printable
from fim_private.mining.release import Release

# Above this ε what is here may be more than twenty times as likely because of one unit.
_WEAK = 3


def promise(release: Release) -> str:
    """Return what the guarantee means to one of those in the data, in a few sentences: its factor, and how strong."""
    who = "customer" if release.privacy_unit == "user" else "basket"
    chosen = release.where is not None or release.scope.query
    of_whom = f"{who} whose rows were read" if chosen else who
    had = "not been in the data" if _may_be_absent(release) else "held anything else"
    if release.privacy_unit == "user" and not _may_be_absent(release):
        had = "bought anything else"
    if chosen and not _may_be_absent(release):
        had += ", and its rows been read just as well"
    if release.scope.segment is not None and not _may_be_absent(release):
        had += f" and counted in the same {printable(release.scope.by or '')}"
    bound = growth_bound(release.cost.epsilon)
    factor = f"e^{at_least(release.cost.epsilon)}" if bound is None else rounded_up(bound, 3)
    added = f", up to an added probability of {_chance(release.delta)}" if release.delta else ""
    told = (
        f"What is on this page was drawn by chance, weighed so that no single {who} matters much: had any one "
        f"{of_whom} {had}, whatever is here would have been at most {factor} times more, or less, likely{added}. "
        f"So little of what it shows can be due to that one {who}."
    )
    if release.cost.epsilon > _WEAK:
        told = told.replace(" So little of what it shows can be due to that one", " That is a weak promise to any one")
    return told


def counted(release: Release) -> str | None:
    """Return what is told exactly, and so hidden of nobody; None where nothing is."""
    if release.units is None or release.units_interval is not None:
        return None
    whose = "customers" if release.privacy_unit == "user" else "baskets"
    hidden = "what one of them holds is hidden, not that it is among them"
    return f"How many {whose} there are is told exactly: {hidden}."


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
