"""What a release says in words: what it protects, from what, and what its figures mean."""

from collections.abc import Sequence

from fim_private.display import MARK, in_braces, printable
from fim_private.dp.charge import Left
from fim_private.dp.composition import growth_bound
from fim_private.dp.cost import Exact, least_in_words, most_in_words, rounded_up
from fim_private.dp.neighbors import Neighbors
from fim_private.periods import in_words
from fim_private.reading.labels import Item
from fim_private.reading.options import MissingUser
from fim_private.release.forms import AnyRelease
from fim_private.request.scope import Scope

# The mechanism's name where no itemset was selected: all were given, to be counted.
GIVEN = "count"
# From this ε on e^ε says nothing to anybody.
_LARGE_EPSILON = 20
# In place of a guarantee.
SEEDED = (
    "NOT PRIVATE: a seed was given, so the randomness is predictable. For tests and "
    "benchmarks only."
)
MINUS = "\N{MINUS SIGN}"
# Why rules of users have no lift.
NOT_INDEPENDENCE = (
    "lift 1 would not mean independence, since a pair must share one basket, but "
    "an item may be in any"
)


def number_of(number: int, thing: str) -> str:
    """Return "1 basket", "2 baskets", …"""
    plural = "" if number == 1 else "s"
    return f"{number:,} {thing}{plural}"


def some_of(number: int, every: int, thing: str) -> str:
    """Return "no rule", "3 of 5 rules", "both rules", "all 5 rules", or "the only rule"."""
    if number == 0:
        return f"no {thing}"
    if number == every == 2:
        return f"both {thing}s"
    if every == 1:
        return f"the only {thing}"
    things = number_of(every, thing)
    if number == every:
        return f"all {things}"
    return f"{number:,} of {things}"


def are_above(number: int, every: int, thing: str) -> str:
    """Return "all 5 rules are clearly above chance", "1 of 5 rules is clearly above chance", …"""
    verb = "are" if number > 1 else "is"
    return f"{some_of(number, every, thing)} {verb} clearly above chance"


def about(number: int, interval: tuple[int, int]) -> str:
    """Return a noisy number, rounded to a power of ten that the noise does not fill."""
    step = 10 ** len(str((interval[1] - interval[0]) // 2))
    nearest = step * round(number / step) or number
    return f"about {nearest:,}"


def candidates(number: int, sure: int, among: str) -> str:
    """Return how many itemsets came out, and of how many, fewer than all, the rank is sure."""
    if number == 1:
        return f"1 candidate: it is not sure to be {among}"
    are_sure = {0: "none is", 1: "1 is"}.get(sure, f"{sure:,} are")
    return f"{number:,} candidates: {are_sure} sure to be {among}"


def ranks(marks: Sequence[bool], among: str) -> str:
    """Return in a sentence which itemsets have a rank that is sure.

    marks: whether the rank of each is not. among: what they were sought as.
    """
    if any(marks):
        doubt = (
            f"{MARK} may not be {among}: one that was left out may be as frequent, because of the "
            "noise."
        )
        if all(marks):
            return doubt
        return f"{doubt} The rank is sure for the others."
    if len(marks) == 1:
        return f"Its rank is sure: it is {among}."
    every = "both" if len(marks) == 2 else f"all {len(marks):,}"
    return f"The rank is sure for {every}: each is {among}."


def braces(items: Sequence[Item] | None, unit: str) -> str:
    """Return an itemset as text. unit: what has it, "basket" or "user"."""
    if items is None:
        return f"(no name: no {unit} has it, or too few to name it privately)"
    return in_braces(items)


def customer(unit: str) -> str:
    """Return what readers call a unit."""
    return "customer" if unit == "user" else "basket"


def customers(unit: str) -> str:
    """Return what readers call units."""
    return f"{customer(unit)}s"


def units_of(release: AnyRelease, unit: str) -> str:
    """Return what a release counts, by a word for its unit: "users", or "users' months"."""
    if release.scope.per is None:
        return f"{unit}s"
    return f"{unit}s' {in_words(release.scope.per)}s"


def percent(share: float, decimals: int) -> str:
    """Return a share as text, in per cent."""
    return f"{100 * share:,.{decimals}f} %"


# What neighbouring data share where the list of items is that of the data.
SAME_ITEMS = "among data with the same list of items"


def protected(release: AnyRelease) -> str:
    """Return the unit that a release protects, or a vote, in words."""
    if release.privacy_unit == "basket":
        return "basket"
    baskets = "all their baskets"
    if release.scope.per is not None:
        baskets += f" of that {in_words(release.scope.per)}"
    whom = f"{_unit_of(release)} ({baskets})"
    if release.missing_user == MissingUser.OWN_UNIT:
        whom += " or basket without a user"
    return whom


def _unit_of(release: AnyRelease) -> str:
    """Return the unit that a release or a vote protects, briefly, such as "user's month"."""
    if release.scope.per is None:
        return str(release.privacy_unit)
    return f"user's {in_words(release.scope.per)}"


def guarantee(mechanism: str, neighbors: str, release: AnyRelease) -> str:
    """Return the guarantee in one sentence.

    release: A release or a vote, by the mechanism and under the neighbour relation.
    """
    cost = release.cost
    change = changed(neighbors, release)
    if release.scope.items_are_public:
        change += ","
    epsilon, delta = least_in_words(cost.epsilon), least_in_words(cost.delta)
    factor = f"a factor e^{epsilon}"
    if cost.epsilon < _LARGE_EPSILON:
        # The factor of ε as it is written here, so that the two agree.
        growth = growth_bound(Exact(float(epsilon)))
        if growth is not None:
            factor += f" = {rounded_up(growth, 3)}"
    slack = f", up to an added probability of {delta}" if cost.delta else ""
    return (
        f"Guarantee ({mechanism}, ε = {epsilon}, δ = {delta}): {change} changes the "
        f"probability of any result by at most {factor}{slack}."
    )


def changed(neighbors: str, release: AnyRelease) -> str:
    """Return by what two data sets differ that the guarantee is about: "adding or removing any one
    basket".
    """
    scope = release.scope
    whom = protected(release)
    change = f"adding or removing any one {whom}"
    if neighbors == Neighbors.REPLACE_ONE:
        change = f"replacing any one {whom} by any other{_alike(release.where, scope)}"
    if scope.items_are_public:
        change += f", {SAME_ITEMS}"
    return change


def _alike(where: str | None, scope: Scope) -> str:
    """Return in what a unit and the one that replaces it are alike, to end a clause with.

    A condition, a query and segments choose units: under replace-one they treat both alike
    (docs/privacy.md).
    """
    alike = []
    if where is not None and scope.query:
        alike.append(" that the condition and the query keep as well")
    elif where is not None:
        alike.append(" that the condition keeps as well")
    elif scope.query:
        alike.append(" that the query keeps as well")
    if scope.by is not None:
        alike.append(" that counts in the same segments")
    return " and".join(alike)


IN_ONE_BASKET = "An itemset counts all users who bought all of it in one basket."


def counted_for_rules(who: str) -> str:
    """Return why an itemset counts those who bought it in several baskets.

    who: what users are called.
    """
    return (
        f"Rules need that. Without rules it counts only {who} who bought all of it in one "
        "basket, so the same itemset may have less support."
    )


def rows_where(condition: str | None) -> tuple[str, ...]:
    """Return by which condition rows were read, in a sentence; nothing where all were."""
    if condition is None:
        return ()
    return (f"Only rows where {printable(condition)} were read.",)


def left_briefly(left: Left) -> str:
    """Return what is left of a budget, as briefly as can be: ε of basic composition, else ρ."""
    sign, loss = left.loss
    return f"{sign} {most_in_words(loss)}"


def promises(release: AnyRelease) -> tuple[str, ...]:
    """Return the guarantee of a release, or of a vote, and what a ledger says of its charge."""
    return (release.guarantee, *charged(release))


def charged(release: AnyRelease) -> tuple[str, ...]:
    """Return what a ledger says of a charge, in sentences; nothing if there was none."""
    charge = release.charged
    if charge is None:
        return ()
    where = "" if charge.period is None else f" in {charge.period}"
    sentence = (
        f"Charged to the budget of {printable(charge.dataset)} (entry {charge.entry:,}). "
        f"Left{where}: {charge.left.in_words}."
    )
    if charge.spent is None:
        return (sentence,)
    return (
        sentence,
        f"All that was charged to it so far comes to {charge.spent.as_total} for one "
        f"{_unit_of(release)}.",
    )
