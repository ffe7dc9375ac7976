"""What a ledger is charged for one release, and what the ledger then says of that charge.

A charge states the cost of a release in two measures, (ε, δ) and zCDP. The accountant finds both
from the steps of its plan (`dp.accountant`), and so from public parameters: a release out of which
nothing comes costs as much. A ledger adds up the measure that was chosen when it was created. For
segments it is the cost of all segments in which one unit may count. Periods that are released
apart have a charge each; all of these are written, or none.

When: `mine`, `count` and `vote` check that the budget is enough before they read purchases. (With
items_are_public they read all items before the check.) Then they read, check once more, and write
the charge to the disk. Only then do they count supports and draw noise (`run/run.py`). If reading
fails, nothing is charged. A charge that was written stays, whatever fails later. If writing it
fails, it may be on the disk all the same; LedgerError is raised, and nothing is released. A dry run
has no ledger: it neither checks nor charges. A seed and a ledger are refused together.

Functions of lists, such as `fim.select` and quantiles, have no purchases to read. They check their
arguments, and `begin` writes the charge before a result is computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol, TypedDict

from fim_private.display import JsonObject
from fim_private.dp.accountant import Reach, Sums, cost_of_group, smallest_cost, sums_of
from fim_private.dp.arguments import short
from fim_private.dp.cautions import cautions
from fim_private.dp.cost import PrivacyCost, ZcdpCost, most_in_words, rounded_down
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError, parameter, shown, warn
from fim_private.periods import Period, first_day, in_words, is_of_weeks, most_a_year

UNITS = ("basket", "user")
_LONGEST_NAME = 200
# A parameter from there on is written in four digits.
_LONG = 10**18


@dataclass(frozen=True)
class Span:
    """Which units a release is about, if time divides them (docs/privacy.md, "Periods").

    Attributes:
        time: The column of times.
        baskets: The columns of baskets' ids, sorted.
        per: The kind of period, of `periods.KINDS_OF_PROMISE`, if a unit is what a user buys in
            one; else None.
        period: The period that the release is about; None for all of them.
    """

    time: str
    baskets: tuple[str, ...] = ()
    per: str | None = None
    period: str | None = None

    @property
    def partition(self) -> tuple[str, tuple[str, ...], str | None]:
        """The columns and period that assign a unit to a day."""
        return self.time, self.baskets, self.per

    @property
    def units_of_user(self) -> int:
        """How many units a user may be in it; if it is about no period, in all of a year."""
        if self.per is None:
            return 1
        if self.period is None:
            return most_a_year(self.per)
        return len(Period.of(self.period, per=self.per).stretches(self.per))

    @property
    def days(self) -> tuple[int, int] | None:
        """The first and the last day on which one of its units may be; None for all days."""
        if self.period is None:
            return None
        period = Period.of(self.period, per=self.per)
        if self.per is None:
            return period.first, period.last
        touched = period.stretches(self.per)
        return first_day(self.per, touched[0]), first_day(self.per, touched[-1] + 1) - 1


def reach_of(span: Span | None, unit: str, neighbors: str) -> Reach | None:
    """Return which units a release is of: None for all of them, else their partition, and their
    first and last day.

    A user for good is in all periods, and a unit that is replaced may move from one to another
    (docs/privacy.md).
    """
    days = None if span is None else span.days
    if span is None or days is None or neighbors != Neighbors.ADD_REMOVE:
        return None
    is_for_good = unit == "user" and span.per is None
    return None if is_for_good else (span.partition, *days)


def for_good(per: str, periods: Sequence[str], adds_up: Sums | None) -> str:
    """Return in words what is spent of a user who buys in all periods, where one is protected.

    Args:
        per: The kind of period, each of which is a unit of a user.
        periods: The names of the periods that a release is about; none for all.
        adds_up: What it spends of such a user; None if that is not known.
    """
    kind = in_words(per)
    protected = f"One {kind} of a user is protected, not the user for good."
    if is_of_weeks(per):
        protected += f" A week belongs to the {kind} of its Thursday."
    if adds_up is None:
        return protected
    times, where = 1, "all these periods"
    if not periods:
        where = f"all {kind}s of a year"
    elif len(periods) == 1:
        times, name = Period.of(periods[0], per=per).repeated
        where = f"{times} {name}, with as much spent on each,"
        if times == 1:
            where = f"all {kind}s of {periods[0]}"
    cost = smallest_cost({name: times * amount for name, amount in adds_up.items()})
    return f"{protected} A user who buys in {where} has {cost.in_words} in all."


@dataclass(frozen=True)
class Charge:
    """What a release spends, and what may be written down of it.

    All of it is public, and known before purchases are read. The privacy unit is then confirmed by
    the purchases.

    Attributes:
        command: The command that makes the release, such as "mine".
        dataset: The name of the data set.
        privacy_unit: "basket" or "user".
        neighbors: The neighbour relation.
        cost: The (ε, δ) of the whole release, or of one period if each has a charge of its own.
        zcdp: What the same steps spend in zCDP, mostly less than a conversion of cost would say.
        parameters: What was asked for, as plain values of JSON without floats.
        unit_columns: The columns that name the privacy unit; None if none does, as for lists.
        span: The period of the units, and the columns that assign it.
        of_user: What it adds up to for a user who is several units in it; None where none is, and
            in entries of earlier versions.
    """

    command: str
    dataset: str
    privacy_unit: str
    neighbors: str
    cost: PrivacyCost
    zcdp: ZcdpCost
    parameters: Mapping[str, object]
    unit_columns: tuple[str, ...] | None = None
    span: Span | None = None
    of_user: Sums | None = field(default=None, compare=False)

    @property
    def sums(self) -> Sums:
        """What it adds up to, by the names of `accountant.SUMS`."""
        return sums_of(self.cost, self.zcdp)

    @property
    def adds_up(self) -> Sums:
        """What it adds up to for a user, with all the units that they are in it."""
        if self.of_user is not None:
            return self.of_user
        if self.span is None or self.span.units_of_user == 1:
            return self.sums
        # An earlier version charged it, and did not say.
        cost = cost_of_group(self.cost, self.span.units_of_user)
        return sums_of(cost, ZcdpCost(cost.epsilon**2 / 2, cost.delta))

    @property
    def period(self) -> str | None:
        """The period that the release is about; None for all of them."""
        return None if self.span is None else self.span.period


@dataclass(frozen=True)
class Left:
    """What one more release may spend of a budget, exactly; each >= 0.

    rho: where most is left in zCDP or in Gaussian privacy; epsilon is then √(2 rho) of zCDP,
    rounded down, as for a release known by ε alone. None where most is left as (ε, δ).
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None = None

    @property
    def loss(self) -> tuple[str, Fraction]:
        """The sign and the amount of what is left besides delta."""
        return ("ε", self.epsilon) if self.rho is None else ("ρ", self.rho)

    @property
    def in_words(self) -> str:
        """What it is, rounded down, such as "ε = 1, δ = 1e-06"."""
        sign, loss = self.loss
        return f"{sign} = {most_in_words(loss)}, δ = {most_in_words(self.delta)}"

    def to_dict(self) -> dict[str, float]:
        """Return plain values, rounded down to floats: they claim no more than there is."""
        return {
            name: rounded_down(value) for name, value in vars(self).items() if value is not None
        }


@dataclass(frozen=True)
class Charged:
    """What an account says once a release has been charged: its data set, the number of the entry,
    what is left.

    period: the period that it is left for; None for all. spent: the (ε, δ) of all releases so far,
    at the δ of the ledger. id: that of the ledger. Both are None where an earlier version charged
    it. (The hash of the entry would tell the time of day to who knows the one before.)
    """

    dataset: str
    entry: int
    left: Left
    period: str | None = None
    spent: PrivacyCost | None = None
    id: str | None = None

    def to_dict(self) -> JsonObject:
        """Return plain values, as in the JSON of a release."""
        spent = None if self.spent is None else self.spent.to_dict()
        values = vars(self) | {"left": self.left.to_dict(), "spent": spent}
        return {name: value for name, value in values.items() if value is not None}


class Account(Protocol):
    """What is charged: a ledger (`ledger.Ledger`), of which nothing else is known here."""

    @property
    def privacy_unit(self) -> str | None:
        """The unit that it protects, "basket" or "user"; None where that is still open."""

    def check(self, *charges: Charge) -> None:
        """Raise LedgerError where charges would be refused now. Nothing is written."""

    def charge(self, *charges: Charge) -> Charged:
        """Write charges to the disk, all or none; raise LedgerError if they are refused."""


def check_dataset(dataset: object) -> None:
    """Raise ParameterError unless a ledger can show this as the name of its data."""
    is_line = isinstance(dataset, str) and dataset.strip() and dataset.isprintable()
    if not is_line or len(str(dataset)) > _LONGEST_NAME:
        raise ParameterError(
            f"{parameter('dataset')} must be the name that you give to the data, a text of 1 "
            f"to {_LONGEST_NAME} characters on one line, not {shown(dataset)}"
        )


def account_of(ledger: Account | None, dataset: str | None, *, private: bool) -> Account | None:
    """Return the ledger that a caller gave, or None. Raises ParameterError for what contradicts it.

    private: whether noise comes from the operating system: a seed contradicts a ledger.
    """
    if ledger is None:
        if dataset is not None:
            raise ParameterError(
                f"{parameter('dataset')} goes with {parameter('ledger')}: whose budget is charged"
            )
        return None
    if not callable(getattr(ledger, "charge", None)):
        raise ParameterError(
            f"{parameter('ledger')} must be a fim.Ledger, such as fim.Ledger('sales.ledger'), not "
            f"{shown(ledger)}"
        )
    if not dataset:
        raise ParameterError(
            f"{parameter('ledger')} needs {parameter('dataset')}: your name for the data, the same "
            "for all files about the same people"
        )
    check_dataset(dataset)
    if not private:
        raise ParameterError(
            f"{parameter('seed')} and {parameter('ledger')} contradict each other: with a seed "
            "nothing is private; leave one of them out"
        )
    return ledger


class Charging(TypedDict, total=False):
    """What every function of a list takes besides the list.

    ledger, dataset: as in mine; the charge is on the disk before a result is computed, or
    LedgerError is raised.
    unit: what one value of the list is about, "basket" or "user": unless given, what the ledger
    protects, or a basket.
    seed: for tests only, as nothing is private with it. Without it, epsilon above 10 or delta above
    1/1000 gives PrivacyWarning.
    """

    ledger: Account | None
    dataset: str | None
    unit: str | None
    seed: int | None


def begin(
    command: str,
    neighbors: str,
    cost: PrivacyCost,
    charging: Charging,
    *,
    rho: Fraction | None = None,
    **parameters: object,
) -> Randomness:
    """Warn of a cost that promises little, charge it, and return the source of randomness.

    It is for what is about to be computed of a list that has one value for each unit. Without a
    ledger nothing is charged; else the charge is on the disk when this returns. Raises TypeError,
    ParameterError and LedgerError.

    Args:
        command: What makes the release.
        neighbors: The neighbour relation.
        cost: What is spent.
        charging: What the caller gave.
        rho: What it spends in zCDP, with cost.delta; None for ε²/2, which holds for whatever is
            (ε, δ)-private (docs/privacy.md, "The ledger").
        **parameters: Its public parameters; None for one that was not given.
    """
    unknown = charging.keys() - Charging.__annotations__.keys()
    if unknown:
        raise TypeError(f"{command}() got an unexpected keyword argument {min(unknown)!r}")
    randomness = Randomness.of_seed(charging.get("seed"))
    if randomness.private:
        warn(cautions(cost), stacklevel=3)
    dataset, unit = charging.get("dataset"), charging.get("unit")
    account = account_of(charging.get("ledger"), dataset, private=randomness.private)
    if unit is not None and unit not in UNITS:
        raise ParameterError(
            f"{parameter('unit')} must be one of {', '.join(UNITS)}, not {shown(unit)}"
        )
    if unit is not None and account is None:
        raise ParameterError(
            f"{parameter('unit')} goes with {parameter('ledger')}: what one entry of your list is"
        )
    if account is None or dataset is None:
        return randomness
    protected = unit or account.privacy_unit or UNITS[0]
    recorded = {name: _plain(value) for name, value in parameters.items() if value is not None}
    recorded["unit"] = protected
    if rho is None:
        rho = cost.epsilon**2 / 2
    relation, zcdp = str(exact_neighbors(neighbors)), ZcdpCost(rho, cost.delta)
    account.charge(Charge(command, dataset, protected, relation, cost, zcdp, recorded))
    return randomness


def _plain(value: object) -> object:
    """Return a parameter as a ledger records it: fractions and long numbers in four digits."""
    if isinstance(value, Fraction) or (isinstance(value, int) and abs(value) >= _LONG):
        return short(Fraction(value))
    return value
