"""What a ledger adds up to at one moment, in words and numbers, and what it refuses."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import ClassVar, Self

from fim_private.display import JsonObject, Table, Tabular
from fim_private.dp.accountant import (
    NO_SUMS,
    SUMS,
    Reach,
    Sums,
    added_up,
    both,
    most_spent,
    smallest_cost,
    times_fitting,
)
from fim_private.dp.charge import Charged, Left
from fim_private.dp.composition import growth_bound, root_below
from fim_private.dp.cost import (
    Exact,
    PrivacyCost,
    least_in_words,
    most_in_words,
    rounded_down,
    rounded_up,
)
from fim_private.dp.neighbors import Neighbors
from fim_private.errors import LedgerError, parameter, shown
from fim_private.ledger.chain import SCHEMA, Composition, Entry, Terms, amount_in
from fim_private.ledger.storage import CLOSED, CLOSED_FORMS, FORM
from fim_private.ledger.witness import LastSeen
from fim_private.periods import Period, in_words, is_of_weeks, plain_promise

_NOTHING = Fraction(0)
_COMPOSED = {
    Composition.ANY: "basic, zCDP or Gaussian composition, whichever allows a release",
    Composition.BASIC: "basic composition",
    Composition.ZCDP: "composition in zero-concentrated privacy (zCDP)",
    Composition.GAUSSIAN: "composition in Gaussian privacy",
}

# Which units may replace one, by the parameters of entries that choose or divide the units.
_ALIKE = {
    "where": "every condition keeps as well",
    "query": "every query keeps as well",
    "segments": "counts in the same segments",
}


@dataclass(frozen=True)
class Balance:
    """What has been spent on some units, and what is left.

    Attributes:
        spent: The most that was spent on any one of them, by the names of `accountant.SUMS`.
        limits: What that may be, under each composition that may allow a release.
        is_closed: Whether no composition holds any more, as the ledger was renewed.
    """

    spent: Sums
    limits: Mapping[Composition, Sums]
    is_closed: bool

    @property
    def room(self) -> dict[Composition, Sums]:
        """How much of its sums is left under each composition that still holds.

        One whose limit was exceeded holds no more, also for a release that would add nothing to
        that sum (docs/privacy.md, Theorem 31).
        """
        room: dict[Composition, Sums] = {}
        for composition, limit in self.limits.items():
            left = {name: most - self.spent[name] for name, most in limit.items()}
            if not self.is_closed and min(left.values()) >= 0:
                room[composition] = left
        return room

    def times_left(self, cost: Sums) -> dict[Composition, Fraction]:
        """Return how many times a cost fits in under each composition that still holds."""
        return {name: times_fitting(left, cost) for name, left in self.room.items()}

    @property
    def roomiest(self) -> tuple[Composition, Fraction]:
        """The composition of whose limit the largest share is left, and that share.

        One that has ended comes last. Where as large a share is left of two, as none is once δ is
        spent, the one with more ε or ρ left comes first.
        """
        shares: dict[Composition, tuple[Fraction, Fraction]] = {}
        for composition, left in self.room.items():
            limit = self.limits[composition]
            loss = next(iter(limit))  # ε or ρ
            shares[composition] = times_fitting(left, limit), left[loss] / limit[loss]
        if not shares:
            return next(iter(self.limits)), _NOTHING
        composition = max(shares, key=lambda name: shares[name])
        return composition, shares[composition][0]

    @property
    def left(self) -> Left:
        """What is left under the composition with the largest share left."""
        composition, _ = self.roomiest
        return self.left_under(composition)

    def left_under(self, composition: Composition) -> Left:
        """Return what is left under one composition; nothing if it holds no more.

        A release that is known by ε alone is not for Gaussian privacy: its ε is that of zCDP.
        """
        room = self.room
        left = room.get(composition, NO_SUMS)
        if composition is Composition.BASIC:
            return Left(left["epsilon"], left["delta"])
        epsilon = root_below(2 * room.get(Composition.ZCDP, NO_SUMS)["rho"])
        return Left(epsilon, left["zcdp_delta"], left["rho"])


@dataclass(frozen=True, repr=False)
class Statement(Tabular):
    """What a ledger adds up to at one moment: all that is needed to charge it.

    seen: the verified entries, and what they add up to. first: the first entry. entries: in order,
    where they were asked for. form: `storage.FORM` or an earlier one, or one
    of `CLOSED_FORMS`.
    """

    name: str
    terms: Terms
    seen: LastSeen
    first: Entry | None = None
    entries: tuple[Entry, ...] = ()
    form: int = FORM

    # the headings of rows_of
    columns: ClassVar = ("entry", "time", "command", "ε", "δ", "ρ", "δ of zCDP")

    def after(self, entries: Iterable[Entry]) -> Self:
        """Return that of a ledger with more entries, which are known to follow."""
        seen, first, columns = self.seen, self.first, self.seen.unit_columns
        spent = dict(seen.spent)
        for entry in entries:
            first = first or entry
            if columns is None:
                columns = entry.unit_columns
            spent[entry.reach] = both(spent.get(entry.reach, NO_SUMS), entry.sums)
            seen = LastSeen(entry.number, entry.hash, seen.terms, first.hash, columns, spent)
        return replace(self, seen=seen, first=first)

    @property
    def closed(self) -> str:
        """Why it takes no charges, in words; nothing where it does."""
        return CLOSED_FORMS.get(self.form, "")

    def at(self, reach: Reach | None = None) -> Balance:
        """Return what is spent and left of the units that this reaches; None: of those with the
        most spent.
        """
        spent = most_spent(self.seen.spent, reach)
        return Balance(spent, self.terms.limits, self.form == CLOSED)

    def has(self, charged: Charged) -> bool:
        """Return whether this charge is one of the entries."""
        if charged.id not in (None, self.terms.id):  # an earlier version did not say it
            return False
        places = {(entry.dataset, entry.number) for entry in self.entries}
        return (charged.dataset, charged.entry) in places

    @property
    def together(self) -> PrivacyCost:
        """The (ε, δ) that all releases so far spend of any one unit, at the δ of the terms."""
        return self.spent_at()

    def spent_at(self, reach: Reach | None = None) -> PrivacyCost:
        """Return the (ε, δ) spent of any one of the units that this reaches; None: of any unit.

        It is the limit at most, which holds for each of them: the most ε may have been spent on one
        day, and the most ρ on another.
        """
        limit = PrivacyCost(self.terms.epsilon, self.terms.delta)
        spent = smallest_cost(self.at(reach).spent, self.terms.delta)
        return min(spent, limit, key=lambda cost: cost.epsilon)

    @property
    def spent_of_user(self) -> PrivacyCost:
        """The (ε, δ) that all entries spend of a user who is in all of their periods."""
        sums = added_up(entry.adds_up for entry in self.entries)
        assert sums is not None
        return smallest_cost(sums)

    @property
    def promise(self) -> Terms:
        """The terms, with what they leave open as the first entry decided it."""
        return self.terms if self.first is None else self.terms.filled_from(self.first)

    @property
    def periods(self) -> list[tuple[str, str, Reach]]:
        """The periods charged, the earliest first: name, column of times, and the units reached."""
        periods = {
            (entry.period, entry.reach[0][0], entry.reach)
            for entry in self.entries
            if entry.period and entry.reach
        }
        return sorted(periods, key=lambda period: (period[2][1:], period[:2]))

    @property
    def stretches(self) -> list[tuple[str, Reach]]:
        """The periods of which each is a unit, or else those charged: name, and the units reached.

        The earliest comes first.
        """
        per = self.terms.per
        if per is None:
            return [(name, reach) for name, _, reach in self.periods]
        units = {
            (unit.name, (partition, unit.first, unit.last))
            for _, _, (partition, first, last) in self.periods
            for unit in Period("", first, last, per).within(per)
        }
        return sorted(units, key=lambda unit: unit[1][1:])

    def more_like_last(self, at: Reach | None = None) -> int | None:
        """Return how many more releases like the last fit; None before the first.

        at: of the units that this reaches; None for those with the most spent.
        """
        if not self.entries:
            return None
        last = self.entries[-1].sums
        reaches: list[Reach | None] = [at]
        if at is None:
            # One composition has to hold for all that another like the last reaches.
            reaches = [self.entries[-1].reach, *(reach for _, _, reach in self.periods)]
        return min(
            int(max(self.at(reach).times_left(last).values(), default=0)) for reach in reaches
        )

    @property
    def outlook(self) -> str | None:
        """How many more releases like the last fit, in words; None before the first."""
        if self.closed:
            return f"It {self.closed}."
        number = self.more_like_last()
        if number is None:
            return None
        where = " in the periods that have spent most" if self.periods else ""
        if number == 0:
            return f"The rest is not enough for another like the last{where}."
        return f"The rest is enough for {number:,} more like the last{where}."

    @property
    def notes(self) -> Iterator[str]:
        """What else is to be said of it, in sentences."""
        if self.terms.renewed is not None:
            yield _renewal_in_words(self.terms.renewed, self.terms.delta)
        if not self.entries:
            return
        yield (
            f"So far {self.together.as_total} has been spent on {self._who}, if these releases "
            "were planned beforehand. The limit holds in any case."
        )
        if self.terms.per is not None:
            periods = "all of these periods"
            if any(entry.period is None for entry in self.entries):
                periods += ", or in a year where an entry has none,"
            yield f"A user who buys in {periods} has {self.spent_of_user.in_words} in all."

    def check(self, charge: Entry, *, allow_other_unit: bool = False) -> None:
        """Raise LedgerError unless the ledger is for such a release and has enough left for it."""
        if self.closed:
            raise LedgerError(f"{shown(self.name)} {self.closed}")
        contradiction = self._other_promise(charge)
        if contradiction is None and not allow_other_unit:
            contradiction = self._other_columns(charge)
        if contradiction is not None:
            raise LedgerError(f"{shown(self.name)} {contradiction}")
        self._check_limit(charge)

    def _other_promise(self, charge: Entry) -> str | None:
        """Return in words what a release protects that the ledger does not; None for nothing."""
        promise = self.promise
        if promise.dataset not in (None, charge.dataset):
            return (
                f"is the budget of the data set {shown(promise.dataset)}, not of "
                f"{shown(charge.dataset)}; if they are the same people, give "
                f"{parameter('dataset')} {shown(promise.dataset)}, else another ledger"
            )
        if promise.privacy_unit not in (None, charge.privacy_unit):
            instead = "with" if promise.privacy_unit == "user" else "without"
            return (
                f"protects {promise.privacy_unit}s, and this release protects "
                f"{charge.privacy_unit}s; ask {instead} {parameter('user')}, or take another ledger"
            )
        if promise.neighbors not in (None, charge.neighbors):
            return (
                f"is for {parameter('neighbors')} {promise.neighbors!r}, and this release is for "
                f"{charge.neighbors!r}; give {parameter('neighbors')} {promise.neighbors!r}, "
                f"or another ledger"
            )
        if self.terms.composition is Composition.GAUSSIAN and not charge.zcdp.normal:
            return (
                "adds up Gaussian privacy, and the noise of this release is not all normal; give "
                f"{parameter('mechanism')} levelwise, or another ledger"
            )
        per = None if charge.span is None else charge.span.per
        if charge.privacy_unit != "user" or per == self.terms.per:
            return None
        instead = f"leave out {parameter('per')}"
        if self.terms.per is not None:
            option = in_words(self.terms.per).replace(" ", "-")
            instead = f"give {parameter('per')} {option}"
        return (
            f"protects {_users_for(self.terms.per)}, and this release protects "
            f"{_users_for(per)}; {instead}, or take another ledger"
        )

    def _other_columns(self, charge: Entry) -> str | None:
        """Return in words by which other columns than the first a release finds its units, if any.

        One unit by the columns of periods may be spread over many units by others, and it changes
        all of them (docs/privacy.md).
        """
        named, unit = self.seen.unit_columns, charge.privacy_unit
        if named and charge.unit_columns and sorted(named) != sorted(charge.unit_columns):
            return (
                f"protects {unit}s named by {_listed(named)}, and this release names them by "
                f"{_listed(charge.unit_columns)}. Give {parameter(unit)} {_listed(named)}, or "
                f"another ledger, or say {parameter('allow_other_unit')} if both name the same "
                f"{unit}s"
            )
        if self.first is None:
            return None
        span, first = charge.span, self.first.span
        if span is None or span.per is None or first is None or first.partition == span.partition:
            return None
        kind = in_words(span.per)
        return (
            f"finds the {kind} of a purchase by {_listed([first.time, *first.baskets])}, and "
            f"this release by {_listed([span.time, *span.baskets])}. Give {parameter('time')} "
            f"{shown(first.time)} and the same {parameter('basket')}, or another ledger, or say "
            f"{parameter('allow_other_unit')} if both find the same {kind}s"
        )

    def _check_limit(self, charge: Entry) -> None:
        """Raise LedgerError for a release that costs more than is left."""
        balance, cost = self.at(charge.reach), charge.sums
        times = balance.times_left(cost)
        if max(times.values(), default=_NOTHING) >= 1:
            return
        where = ""
        if charge.reach is not None:
            where = f" in {charge.period}"
        # The composition that comes nearest to allowing it; one that has ended comes last.
        nearest = max(balance.limits, key=lambda name: times.get(name, -1))
        loss, delta = "rho", "zcdp_delta"
        if nearest is Composition.BASIC:
            loss, delta = "epsilon", "delta"
        left = balance.room.get(nearest, NO_SUMS)
        remaining = "nothing is left"
        advice = f"no more can be released of this data{where}"
        if left[loss]:
            remaining = (
                f"{loss} {most_in_words(left[loss])} and delta {most_in_words(left[delta])} are "
                "left"
            )
            if cost[loss] > left[loss]:
                too_large = "epsilon" if charge.parameters.get("rho") is None else "rho"
                advice = f"ask with a smaller {parameter(too_large)}"
            elif left[delta]:
                advice = f"ask with a smaller {parameter('delta')}"
            else:
                advice = "ask for what takes no delta, as with a public list of items"
        raise LedgerError(
            f"this would overspend {shown(self.name)}{where}: {remaining}, and it takes {loss} "
            f"{least_in_words(cost[loss])} and delta {least_in_words(cost[delta])}; {advice}"
        )

    @property
    def title(self) -> str:
        """What the ledger is of, in words."""
        dataset = self.promise.dataset
        whose = "" if dataset is None else f" of {shown(dataset)}"
        return (
            f"The budget{whose}: all releases together are at most ε = "
            f"{least_in_words(self.terms.epsilon)}, "
            f"δ = {least_in_words(self.terms.delta)}, by {_COMPOSED[self.terms.composition]}."
        )

    @property
    def protected(self) -> str:
        """The unit that it protects, and from what, in words."""
        unit, relation = self.promise.privacy_unit, self.promise.neighbors
        if unit is None and relation is None:
            return "Its first release decides what it protects, and under which neighbour relation."
        if unit is None or relation is None:
            known = relation or f"{unit}s"
            return f"It is for {known}; its first release decides the rest."
        who = "one user, with all their baskets" if unit == "user" else "one basket"
        if self.terms.per is not None:
            who += f" of one {in_words(self.terms.per)}"
        if self.seen.unit_columns is not None:
            who += f" (named by {_listed(self.seen.unit_columns)})"
        sentence = f"It is about {who}, under {relation}{self._in_common(relation)}."
        per = self.terms.per
        if per is not None and is_of_weeks(per):
            sentence += f" A week belongs to the {in_words(per)} of its Thursday."
        return sentence

    def _in_common(self, relation: str) -> str:
        """Return what neighbours have in common under a relation, to end a clause with."""
        in_common = ""
        parameters = {*chain.from_iterable(entry.parameters for entry in self.entries)}
        alike = " and ".join(words for name, words in _ALIKE.items() if name in parameters)
        if relation == Neighbors.REPLACE_ONE and alike:
            in_common = f": replacing it by any other that {alike}"
        if "items_are_public" in parameters:
            in_common += ", among data with the same list of items"
        return in_common

    @property
    def repeatable(self) -> str:
        """What all releases together promise, in a sentence that a person can repeat."""
        epsilon, delta = map(least_in_words, (self.terms.epsilon, self.terms.delta))
        growth = growth_bound(self.terms.epsilon)
        factor = f"e^{epsilon}"
        if growth is not None:
            factor = rounded_up(growth, 3)
        return (
            f"In other words: {self._who} changes the probability of whatever all releases say "
            f"together by a factor of at most {factor}, up to an added {delta}."
        )

    @property
    def _who(self) -> str:
        """Whose purchases are protected together, in words."""
        if self.terms.per is None:
            return f"one {self.promise.privacy_unit or 'basket or user'}"
        return f"what one user buys in one {in_words(self.terms.per)}"

    def to_dict(self) -> JsonObject:
        """Return plain values. Limits and what is left are rounded down, what is spent is rounded
        up.
        """
        balance, of_user = self.at(), None
        if self.terms.per is not None:
            of_user = self.spent_of_user.to_dict()
        return {
            "schema": SCHEMA,
            "dataset": self.promise.dataset,
            "privacy_unit": self.promise.privacy_unit,
            "unit_columns": self.seen.unit_columns and [*self.seen.unit_columns],
            "neighbors": self.promise.neighbors,
            "protected": self.protected,
            "composition": str(self.terms.composition),
            "limit": {name: rounded_down(value) for name, value in self.terms.amounts.items()},
            "spent": _rounded_up(balance.spent),
            "left": {str(name): balance.left_under(name).to_dict() for name in balance.limits},
            "together": self.together.to_dict(),
            "of_user": of_user,
            "per": None,
            **plain_promise(self.terms.per),
            "renewed": self.terms.renewed,
            "periods": [
                {
                    "period": period,
                    "time": column,
                    "spent": _rounded_up(self.at(reach).spent),
                    "left": self.at(reach).left.to_dict(),
                    "more_like_last": self.more_like_last(reach),
                }
                for period, column, reach in self.periods
            ],
            "more_like_last": self.more_like_last(),
            "entries": [entry.to_dict() for entry in self.entries],
        }

    def rows_of(self, entries: Iterable[Entry]) -> Iterator[tuple[str, ...]]:
        """Yield entries as texts, one for each of `columns`."""
        for entry in entries:
            parameters = {**entry.parameters, "period": entry.period}
            named = (f"{name}={value}" for name, value in parameters.items() if value is not None)
            command = " ".join([entry.command, *named])
            yield (
                f"{entry.number:,}",
                entry.time,
                command,
                *map(least_in_words, entry.costs.values()),
            )

    def table(self) -> Table:
        """Return what a session and a notebook show."""
        left = f"Left: {self.at().left.in_words}."
        notes = [left, self.protected, self.repeatable, *self.notes]
        if self.outlook is not None:
            notes.append(self.outlook)
        rows = [*self.rows_of(self.entries)]
        return Table(self.title, self.columns, rows, notes, "statement.entries", (1, 2))

    def __repr__(self) -> str:
        return self.table().text()


def _rounded_up(sums: Sums) -> dict[str, float]:
    return {name: float(Exact(value)) for name, value in sums.items()}


def _users_for(per: str | None) -> str:
    """Return in words which purchases of a user are protected together."""
    return "users for good" if per is None else f"what a user buys in one {in_words(per)}"


def _renewal_in_words(renewed: Mapping[str, str], delta: Fraction) -> str:
    """Return what a ledger that was renewed says of those before it: at its own δ."""
    file = shown(renewed["file"])
    if "epsilon" not in renewed:
        return (
            f"It was renewed on {renewed['time'][:10]}. The ledger before it, {file}, promised "
            f"something else, so what that one has spent is not counted here."
        )
    # An earlier version did not say which noise was normal.
    cost = smallest_cost({name: amount_in(renewed.get(name, "1")) for name in SUMS}, delta)
    ledgers = int(renewed.get("ledgers", "1"))
    whose, times, budgets = f"The ledger before it, {file},", "both times", "both budgets"
    if ledgers > 1:
        whose = f"The {ledgers} ledgers before it, the last of them {file},"
        times, budgets = "all these times", "all these budgets"
    return (
        f"It was renewed on {renewed['time'][:10]}. {whose} had spent {cost.as_total}. "
        f"Anyone in the data of {times} is protected by {budgets} together."
    )


def _listed(columns: Iterable[str]) -> str:
    return " and ".join(map(shown, columns))
