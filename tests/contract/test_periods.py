"""A basket has the day of its earliest row, by its own rows; the ledger adds up unit by unit."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources import ANY_ROWS, WRITERS, units_of

import fim_private as fim
from fim_private import periods
from fim_private.dp.accountant import SUMS, cost_of_group, most_spent, smallest_cost
from fim_private.dp.charge import Span
from fim_private.dp.composition import gdp_epsilon, zcdp_epsilon
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.errors import DataError, ParameterError
from fim_private.ledger.chain import Entry, Terms
from fim_private.ledger.statement import Statement
from fim_private.ledger.witness import LastSeen
from fim_private.levelwise.recipe import GRID, item_threshold, naming_probability
from fim_private.periods import Period, first_day, numbers, period_at, several
from fim_private.reading import purchases, record_batches, transactions
from fim_private.reading.locations import source_of
from fim_private.reading.options import Reading, times_of
from fim_private.reading.purchases import read_parts
from fim_private.reading.transactions import Transactions
from fim_private.reading.where import where_of
from fim_private.release.page import named, trend_page

EPOCH = date(1970, 1, 1)
EMPTY = Statement("a.ledger", cast(Terms, None), LastSeen(0, "", "", "", None, {}))
days = st.integers(-40_000, 80_000)


def day_of(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - EPOCH).days


# -------------------- names and days


@given(days, st.sampled_from(periods.KINDS))
def test_a_period_has_a_name_its_days_and_a_number(day: int, kind: str) -> None:
    period = period_at(kind, day)
    assert Period.of(period.name) == period
    assert period.first <= day <= period.last
    assert {period_at(kind, each) for each in (period.first, period.last)} == {period}
    assert period_at(kind, period.last + 1).first == period.last + 1
    [number, same, after] = numbers(kind, np.array([day, period.first, period.last + 1])).tolist()
    assert number == same == after - 1
    assert first_day(kind, number) == period.first
    assert [*period.stretches(kind)] == [number]
    assert [*period.within(kind)] == [period]
    when = EPOCH + timedelta(days=day)
    year, week, _ = when.isocalendar()
    named = {"day": f"{when}", "week": f"{year:04}-W{week:02}", "month": f"{when:%Y-%m}"}
    named |= {"year": f"{when:%Y}", "quarter": f"{when:%Y}-Q{(when.month + 2) // 3}"}
    assert period.name == named[kind]


def test_which_periods_are_asked_for() -> None:
    def names(*asked: Any) -> list[str]:
        return [one.name for one in several(*asked)]

    assert names("2026-W46", None, None, None) == ["2026-W46"]
    assert names("week", "2026-W52..2027-W01", None, None) == ["2026-W52", "2026-W53", "2027-W01"]
    assert names(None, "2026-10..2026-12", None, None) == ["2026-10", "2026-11", "2026-12"]
    assert names(None, ["2026-12", "2026-10"], None, None) == ["2026-12", "2026-10"]
    assert names("month", "2026", None, None)[::11] == ["2026-01", "2026-12"]
    assert names("month", None, "2026-11-01", "2026-12-31") == ["2026-11", "2026-12"]
    assert names(None, None, "2026-11-01", "2026-11-15") == ["2026-11-01..2026-11-15"]
    assert names(None, None, None, None) == []
    assert names("month", "9999-11..9999-12", None, None) == ["9999-11", "9999-12"]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("November", None, None, None), "period must be a period such as 2026, .* not 'November'"),
        (("2026-W60", None, None, None), "not '2026-W60'"),
        (("2026-02-30", None, None, None), "not '2026-02-30'"),
        (("2026-12..2026-11", None, None, None), "ends before it begins"),
        (("week", None, None, None), r"period week needs periods too"),
        (("2026", "2027", None, None), "give one of period with a name"),
        ((None, None, "2026-01-01", None), "start and end go together"),
        ((None, None, "2026-12", "2026-11"), "start 2026-12 is after end 2026-11; exchange them"),
        ((None, None, datetime(2026, 1, 1), "2026-02"), "start must be .*, not '2026-01-01 00:00"),
        ((None, None, "2026-01-01", "2026-02-30"), "end must be a period .*, not '2026-02-30'"),
        ((None, "2026-11,2026-W46", None, None), "2026-11 and 2026-W46 overlap"),
        (("month", "2026-W40..2026-W46", None, None), "is not a number of whole months"),
        (("month", "2026-W40..2026-W46", None, None, "month of weeks"), "name its ends as months$"),
        (("year", "9998..9999-11", None, None), "is not a number of whole years: 9999 is cut"),
        (("day", "2020..2026", None, None), "at most 1,000 periods"),
        ((None, 7, None, None), "periods must be names"),
    ],
)
def test_what_names_no_periods_says_so(asked: tuple[Any, ...], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        several(*asked)


# -------------------- times

INSTANT = datetime(2026, 11, 15, 23, 30)
NANOS = int(INSTANT.replace(tzinfo=UTC).timestamp()) * 10**9


def of_period(name: str) -> Reading:
    return Reading(item=("i",), basket=("b",), times=times_of({"time": "t", "period": name}, None))


TEXT_TIMES = ("2026-11-15", "2026-11-15 23:30", "2026-11-15T23:30:00", " 2026-11-15 ")


@pytest.mark.every_case
@pytest.mark.parametrize(
    "times",
    [
        *(pa.array([INSTANT], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
        pa.array([NANOS // 1000], pa.timestamp("us", "Europe/Berlin")),  # zones are taken in UTC
        pa.array([INSTANT.date()], pa.date32()),
        pa.array([INSTANT.date()], pa.date64()),
        *(pa.array([text]) for text in (*TEXT_TIMES, "2026-11-16T00:30+01:00")),
        pa.array(["2026-11-15"]).dictionary_encode(),
        pa.array(["2026-11-15"], pa.large_string()),
    ],
    ids=str,
)
def test_every_form_of_a_time(times: pa.Array) -> None:
    table = pa.table({"t": times, "i": ["tea"], "b": [1]})
    for name, baskets in (("2026-11-15", 1), ("2026-11-16", 0)):
        for source in (table, table.to_pandas()):
            found = read_parts(source_of(source), of_period(name))
            assert [part.baskets for part in found] == [baskets]


def test_other_objects_of_pandas_are_times() -> None:
    zoned = INSTANT.replace(tzinfo=timezone(timedelta(0)))
    for value in (INSTANT, INSTANT.date(), pd.Timestamp(INSTANT), zoned):
        frame = pd.DataFrame({"t": pd.Series([value], dtype=object), "i": ["tea"], "b": [1]})
        assert [part.baskets for part in read_parts(source_of(frame), of_period("2026-W46"))] == [1]


NO_TIME = "column 't' of .* has rows without a time"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("times", "says"),
    [
        (["16/11/2026"], "'t' of .* holds a text that is not a time; write times as 2026-11-16"),
        ([20261116], "column 't' of .* has type int64, which holds no times"),
        (["2026-11-16", None], f"{NO_TIME}; missing_time drop leaves them out"),
        (pa.array(["2026-11-16", None]).dictionary_encode(), NO_TIME),
        (pa.array(["2026-11-16", "NULL"]).dictionary_encode(), NO_TIME),
        ([["2026-11-16"]], "column 't' .* times"),
    ],
    ids=str,
)
def test_what_is_no_time_names_the_column_and_the_form(times: Any, says: str) -> None:
    table = pa.table({"t": times, "i": ["tea"] * len(times), "b": [1] * len(times)})
    with pytest.raises(DataError, match=says):
        fim.mine(table, item="i", basket="b", time="t", period="2026-11", seed=1)


# -------------------- whose rows are in which period

# A row: user, basket, day of November 2026 (0: October 31st), shop, item; None for none.
Row = tuple[int | None, int, int | None, str, str | None]
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(0, 2),
        st.integers(0, 3),
        st.sampled_from([-1, 0, 1, 7, 8, 9, 30, None]),
        st.sampled_from("FG"),
        st.sampled_from(["milk", "tea", "jam", None]),
    ),
    max_size=12,
)
PERIODS = ("2026-W44", "2026-W45", "2026-11-30")  # the first of two months
Unit = tuple[frozenset[str], ...]


def moment(day: int) -> date:
    return date(2026, 10, 31) + timedelta(days=day)


def thursday_of(day: date) -> date:
    return day + timedelta(days=3 - day.weekday())


def reference(
    rows: Sequence[Row], *, by_user: bool, per: str | None, shop: str | None
) -> list[Counter[Unit]]:
    """What is in each period, by the definition: one basket of one user at a time."""
    baskets: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        if row[2] is not None:
            owner = ("nobody", row[1]) if row[0] is None else row[0]
            baskets[owner if by_user else None, row[1]].append(row)
    units: list[dict[Any, list[frozenset[str]]]] = [defaultdict(list) for _ in PERIODS]
    for (owner, basket), own in baskets.items():
        day = min(moment(row[2]) for row in own if row[2] is not None)
        read = [row for row in own if shop in (None, row[3])]
        of_month = thursday_of(day) if per == "month" else day
        unit = basket if not by_user else (owner, f"{of_month:%Y-%m}" if per else None)
        for place, name in enumerate(PERIODS):
            period = Period.of(name)
            if read and period.first <= (day - EPOCH).days <= period.last:
                units[place][unit].append(frozenset(row[4] for row in read if row[4] is not None))
    return [Counter(tuple(sorted(held, key=sorted)) for held in one.values()) for one in units]


def table(rows: Sequence[Row]) -> pa.Table:
    users, baskets, days, shops, items = [*zip(*rows, strict=True)] or [()] * 5
    times = [None if day is None else moment(day) for day in days]
    arrays = [pa.array(users, pa.int64()), pa.array(baskets, pa.int64())]
    arrays += [pa.array(times, pa.date32()), pa.array(shops, pa.string())]
    return pa.table([*arrays, pa.array(items, pa.string())], names=[*"ubtsi"])


def held(data: Transactions) -> Counter[Unit]:
    units = ([frozenset(map(str, basket)) for basket in unit] for unit in units_of(data))
    return Counter(tuple(sorted(unit, key=sorted)) for unit in units)


def read(source: Any, *, by_user: bool, per: str | None, shop: str | None) -> list[Counter[Unit]]:
    asked: dict[str, Any] = {"time": "t", "periods": [*PERIODS], "missing_time": "drop", "per": per}
    times = times_of(asked | {"user": "u" if by_user else None}, None)
    where = None if shop is None else where_of(f"s = '{shop}'")
    keys: dict[str, Any] = {"user": "u", "missing_user": "own-unit"} if by_user else {}
    options = Reading(item=("i",), basket=("b",), where=where, times=times, **keys)
    return [*map(held, read_parts(source_of(source), options))]


BY_USER = st.sampled_from([(False, None), (True, None), (True, "month"), (True, "calendar-month")])
WHICH = st.tuples(BY_USER, st.none() | st.just("F")).map(lambda drawn: (*drawn[0], drawn[1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("periods")


@pytest.mark.parametrize("write", ANY_ROWS)
def test_a_basket_is_of_the_period_of_its_earliest_row(write: str, folder: Path) -> None:
    @given(ROWS, WHICH, st.randoms(use_true_random=False))
    def check(rows: list[Row], which: tuple[bool, str | None, str | None], order: Any) -> None:
        by_user, per, shop = which
        expected = reference(rows, by_user=by_user, per=per, shop=shop)
        order.shuffle(rows)
        source = WRITERS[write](table(rows), folder)
        assert read(source, by_user=by_user, per=per, shop=shop) == expected

    check()


# One basket in two weeks, whose earlier row the condition leaves out; and a user with two months in
# one week.
EARLY: list[Row] = [(0, 1, 1, "G", "tea"), (0, 1, 8, "F", "jam")]
EARLY += [(0, 2, 0, "F", "milk"), (0, 3, 1, "F", "milk")]


def filtered_first(batch: Any, roles: Any) -> Any:
    """Broken: the condition is applied before the earliest row is found."""
    found = record_batches_chosen(batch, roles)
    return found.filter(pa.compute.greater_equal(found.column(record_batches.SEGMENT), 0))


record_batches_chosen = record_batches.chosen


def one_unit_a_user(rows: Any, labels: Any, times: Any, **more: Any) -> Any:
    """Broken: with --per a user is one unit of a week that two months share."""
    return transactions.assemble(rows, labels, replace(times, per=None), **more)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("place", "name", "broken", "which"),
    [
        (record_batches, "chosen", filtered_first, (False, None, "F")),
        (record_batches, "assemble", one_unit_a_user, (True, "calendar-month", None)),
    ],
)
def test_that_catches_filters_before_times_and_units_across_months(
    monkeypatch: pytest.MonkeyPatch,
    place: Any,
    name: str,
    broken: Any,
    which: tuple[bool, str | None, str | None],
) -> None:
    asked: dict[str, Any] = dict(zip(("by_user", "per", "shop"), which, strict=True))
    assert read(table(EARLY), **asked) == reference(EARLY, **asked)
    monkeypatch.setattr(place, name, broken)
    assert read(table(EARLY), **asked) != reference(EARLY, **asked)


def test_times_of_rows_without_a_user_move_nobodys_basket() -> None:
    rows: list[Row] = [(0, 1, 8, "F", "tea"), (None, 1, 1, "F", "jam")]
    times = times_of({"time": "t", "period": "2026-W45", "user": "u"}, None)
    options = Reading("u", ("b",), ("i",), missing_user="drop", times=times)
    [found] = map(held, purchases.read_parts(source_of(table(rows)), options))
    assert found == Counter([(frozenset(["tea"]),)])


# -------------------- the ledger

SPANS = st.builds(
    Span,
    st.sampled_from(["sold_at", "paid_at"]),
    per=st.none(),
    period=st.none()
    | st.sampled_from(["2026-W44", "2026-W45", "2026-11", "2026-10-31..2026-11-08", "2026-11-30"]),
)


def entry(
    span: Span | None,
    epsilon: int = 1,
    *,
    unit: str = "basket",
    neighbors: str = "add-remove",
    number: int = 1,
) -> Entry:
    costs = PrivacyCost(epsilon, Fraction(epsilon, 10**6)), ZcdpCost(Fraction(epsilon**2, 2), 0)
    charge: Any = "mine", "sales", unit, neighbors, *costs, {}, None, span
    return Entry(*charge, number=number, time="", previous="")


DAYS = range(day_of(2026, 10, 25), day_of(2026, 12, 2))


def is_of(charged: Entry, unit: dict[str, int]) -> bool:
    """Whether a release may depend on a unit. unit: its day, by each column of times."""
    span = charged.span
    if span is None or span.period is None:
        return True
    period = Period.of(span.period)
    day = unit[span.time]
    if span.per is None:
        return period.first <= day <= period.last
    return numbers(span.per, np.array([day]))[0] in period.stretches(span.per)


def brute_force(entries: Sequence[Entry], units: Sequence[dict[str, int]]) -> dict[str, Fraction]:
    charged = [[one for one in entries if is_of(one, unit)] for unit in units]
    return {
        name: max(sum((Fraction(one.sums[name]) for one in own), Fraction(0)) for own in charged)
        for name in SUMS
    }


# The ends of what is there, and days between.
NAMED = [Period.of(name) for name in ("2026-W44", "2026-W45", "2026-11")]
EDGES = sorted({DAYS[0], *(day for one in NAMED for day in (one.first, one.last + 1))})


@given(
    st.lists(st.tuples(st.none() | SPANS, st.integers(1, 5)), min_size=1, max_size=6),
    st.none() | st.just("month"),
)
def test_it_adds_up_unit_by_unit(charged: list[tuple[Span | None, int]], per: str | None) -> None:
    if per is not None:
        charged = [(span and replace(span, per=per), cost) for span, cost in charged]
    entries = [entry(span, cost, unit="user" if per else "basket") for span, cost in charged]
    spent = EMPTY.after(entries).seen.spent
    units = [{"sold_at": sold, "paid_at": paid} for sold in DAYS for paid in EDGES]
    columns = {one.span.time for one in entries if one.span is not None}
    if columns != {"sold_at", "paid_at"}:
        units = [{"sold_at": day, "paid_at": day} for day in DAYS]
        assert most_spent(spent) == brute_force(entries, units)
    else:  # the days of one column were chosen among the ends of what the other's entries have
        sold = [{"sold_at": day, "paid_at": 0} for day in DAYS]
        paid = [{"sold_at": 0, "paid_at": day} for day in DAYS]
        whole = [one for one in entries if one.reach is None]
        parts = [one for one in entries if one.reach is not None]
        own = [
            brute_force([one for one in parts if one.span and one.span.time == column], days)
            for column, days in (("sold_at", sold), ("paid_at", paid))
        ]
        base = brute_force(whole, sold[:1]) if whole else dict.fromkeys(SUMS, Fraction(0))
        assert most_spent(spent) == {key: base[key] + own[0][key] + own[1][key] for key in SUMS}
    for one in entries:
        if one.reach is not None and len(columns) == 1:
            inside = [unit for unit in units if is_of(one, unit)]
            assert most_spent(spent, one.reach) == brute_force(entries, inside)


def test_periods_cost_the_most_expensive_and_replacing_pays_for_both() -> None:
    weeks = [Span("t", ("b",), None, name) for name in ("2026-W45", "2026-W46")]

    def spent(entries: list[Entry]) -> Fraction:
        return most_spent(EMPTY.after(entries).seen.spent)["epsilon"]

    assert spent([entry(week, cost) for week, cost in zip(weeks, (2, 3), strict=True)]) == 3
    assert spent([entry(week, 2, neighbors="replace-one") for week in weeks]) == 4
    assert spent([entry(week, 2, unit="user") for week in weeks]) == 4  # users for good
    assert spent([entry(weeks[0]), entry(replace(weeks[1], time="other"))]) == 2
    assert spent([entry(weeks[0]), entry(replace(weeks[1], baskets=("b", "c")))]) == 2
    fortnights = ("2026-11-01..2026-11-15", "2026-11-16..2026-11-30")
    halves = [Span("t", (), "month", name) for name in fortnights]
    assert spent([entry(half, unit="user") for half in halves]) == 2
    # both have days of November
    across = [Span("t", (), "month", name) for name in ("2026-W44", "2026-W45")]
    assert spent([entry(week, unit="user") for week in across]) == 2


def test_a_sum_over_a_year_is_the_smallest_that_is_valid() -> None:
    rho, names = Fraction(3, 100), Fraction(1, 10**7)
    delta = Fraction(1, 10**5)
    spent = (Fraction(12), 12 * delta, 12 * rho, 12 * names, Fraction(0))
    sums = dict(zip(SUMS, spent, strict=True))
    spare = (12 * delta - 12 * names) / (1 - 12 * names)
    assert smallest_cost(sums) == PrivacyCost(gdp_epsilon(24 * rho, spare), 12 * delta)
    other = sums | {"other_noise": Fraction(1)}
    assert smallest_cost(other) == PrivacyCost(zcdp_epsilon(12 * rho, spare), 12 * delta)
    assert smallest_cost(other | {"rho": Fraction(100)}) == PrivacyCost(12, 12 * delta)
    # basic composition does not hold at a smaller δ, and zCDP does
    smaller = (delta - 12 * names) / (1 - 12 * names)
    assert smallest_cost(other, delta) == PrivacyCost(zcdp_epsilon(12 * rho, smaller), delta)
    assert smallest_cost(sums, names) == PrivacyCost(12, 12 * delta)  # nothing holds there
    assert smallest_cost(dict.fromkeys(SUMS, Fraction(0)), delta).epsilon == 0


def test_what_somebody_spends_who_is_several_units() -> None:
    together = cost_of_group(PrivacyCost(0.1, 1e-6), 12)
    exact = 1e-6 * sum(np.exp(0.1 * power) for power in range(12))
    assert float(together.epsilon) == 1.2
    assert exact <= float(together.delta) <= exact * 1.000001
    assert cost_of_group(PrivacyCost(1000, 1e-6), 12).delta == 1
    assert cost_of_group(PrivacyCost(1000, 0), 12).delta == 0


@pytest.mark.parametrize("sigma", [0.5, 2, 6, 14])
@pytest.mark.parametrize("units", [1, 2, 5])
def test_names_that_only_one_person_has_are_as_rare_as_is_said(sigma: float, units: int) -> None:
    """Of the ways in which a person's weights can lie, none names an item more often."""
    variance, delta, most = Fraction(sigma) ** 2, Fraction(1, 2_000_000), 150
    threshold = item_threshold(variance, delta, most)
    said = float(naming_probability(variance, threshold, most, units))

    def named(*weights: tuple[int, float]) -> float:
        normal, edge = NormalDist(), (threshold - 0.5) / GRID
        return sum(number * normal.cdf((weight - edge) / sigma) for number, weight in weights)

    items = units * most
    ways = [
        # each unit has one item of weight 1 that all of them have, or the same light ones
        named((1, units)),
        named((items, units / items**0.5)),
        *(named((number, units / number**0.5)) for number in (2, 5, 20, most)),
        # half of the squares on one item
        named((1, units * 0.5**0.5), (items - 1, units * (0.5 / (items - 1)) ** 0.5)),
    ]
    assert max(ways) <= said * (1 + 1e-9) or said == 1
    if units == 1:
        assert said <= delta
    elif said < 1:
        assert said > 1.2 * named((most, 1 / most**0.5))  # one unit's would not do
        assert said <= 2.1 * max(ways)


CALENDAR = {"time": "day", "user": "who", "basket": "id", "item": "what"}


@pytest.mark.parametrize("per", ["month", "quarter", "year"])
def test_a_week_belongs_to_the_period_of_its_thursday(per: str) -> None:
    kind = periods.KINDS_OF_PROMISE[per]
    for day in range(day_of(2019, 1, 1), day_of(2027, 12, 31)):
        when = EPOCH + timedelta(days=day)
        period = period_at(kind, day)
        assert period.name == period_at(per, (thursday_of(when) - EPOCH).days).name
        assert Period.of(period.name, per=kind) == period
    january = Period.of("2026-01", per=kind)
    assert (january.first, january.last) == (day_of(2025, 12, 29), day_of(2026, 2, 1))
    [whole] = several("2026", None, None, None, kind)
    assert len([*whole.within("week")]) == 53


def test_months_of_weeks_and_of_the_calendar_are_different_promises(tmp_path: Path) -> None:
    first = date(2025, 12, 28)  # a Sunday: of December by both
    days = [first + timedelta(days=number) for number in range(40)]
    rows = [
        {"id": f"{number} {day}", "day": f"{day}", "who": f"{number}", "what": what}
        for number in range(300)
        for day in days[number % 40 :][:1]
        for what in ("tea", "milk")
    ]
    frame = pd.DataFrame(rows)
    asked: Any = CALENDAR | {"period": "2026-01", "rho": 1, "size": 1, "count": True}
    weeks = fim.mine(frame, per="month", **asked)
    months = fim.mine(frame, per="calendar-month", **asked)
    held = Counter(row["day"] for row in rows[::2])
    of_weeks, of_days = ("2025-12-29", "2026-02-01"), ("2026-01-01", "2026-01-31")
    for per, inside in (("month", of_weeks), ("calendar-month", of_days)):
        release: Any = fim.mine(frame, per=per, seed=1, **asked)
        true = sum(held[day] for day in held if inside[0] <= day <= inside[1])
        assert release.units_interval[0] <= true <= release.units_interval[1]
    assert "A week belongs to the month of its Thursday." in weeks.guarantee
    assert "One calendar month of a user is protected" in months.guarantee
    assert weeks.protected == "user's month (all their baskets of that month)"
    values = weeks.to_dict()
    assert (values["per"], values["whole_weeks"]) == ("month", True)
    weeks.save(tmp_path / "weeks.json")
    assert cast(fim.Release, fim.load(tmp_path / "weeks.json")).scope.per == weeks.scope.per
    created: Any = {"epsilon": 30, "delta": 1e-5, "unit": "user", "per": "month"}
    with fim.Ledger.create(tmp_path / "l", **created) as ledger:
        fim.mine(frame, per="month", ledger=ledger, dataset="shop", **asked)
        with pytest.raises(fim.LedgerError, match="one calendar month; give per month"):
            fim.mine(frame, per="calendar-month", ledger=ledger, dataset="shop", **asked)


def test_one_number_for_a_year(tmp_path: Path) -> None:
    """The page of a release, the trend of twelve and their ledger say the same of a customer."""
    rows = [
        {"id": f"{who} {month}", "day": f"2026-{month:02}-15", "who": f"{who}", "what": what}
        for who in range(200)
        for month in range(1, 13)
        for what in ("tea", "milk")
    ]
    asked: Any = CALENDAR | {"per": "month", "epsilon": 1, "delta": 1e-6, "dataset": "shop"}
    path = tmp_path / "shop.ledger"
    ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5, unit="user", per="month")
    releases = [
        fim.mine(pd.DataFrame(rows), period=f"2026-{month:02}", ledger=ledger, count=True, **asked)
        for month in range(1, 13)
    ]
    year = "ε = 3.45, δ = 1.2e-05"
    assert f"in 12 months, with as much spent on each, has {year} in all." in releases[0].guarantee
    assert f"Together these 12 releases spend {year} on one customer" in trend_page(named(releases))
    statement = fim.Ledger(path).statement()
    assert statement.spent_of_user.in_words == year
    assert f"A user who buys in all of these periods has {year} in all." in [*statement.notes]
    assert statement.to_dict()["of_user"] == statement.spent_of_user.to_dict()
    # a user for good: at the δ of the ledger, which every release repeats
    del asked["per"]
    ledger = fim.Ledger.create(tmp_path / "good", epsilon=3, delta=1e-5, unit="user")
    frame, asked = pd.DataFrame(rows), {"ledger": ledger, "count": True, **asked}
    releases = [fim.mine(frame, period=f"2026-{month:02}", **asked) for month in (1, 2)]
    spent = cast(Any, releases[1].charged).spent
    assert spent.delta == Fraction(1, 10**5)
    assert f"Together these 2 releases spend {spent.as_total} on" in trend_page(named(releases))
    assert ledger.statement().to_dict()["together"] == spent.to_dict()


def test_a_query_may_cut_a_basket_and_a_user_is_as_many_units_as_periods(tmp_path: Path) -> None:
    """The page and the ledger say the same of what a query chose, and of a user in all periods."""
    rows = [
        {"id": f"{who} {month}", "day": f"2026-{month:02}-15", "who": f"{who}", "what": "tea"}
        for who in range(200)
        for month in (1, 2)
    ]
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        pd.DataFrame(rows).to_sql("rows", shop)
    asked: Any = CALENDAR | {"query": "SELECT * FROM rows", "size": 1, "count": True, "epsilon": 1}
    asked |= {"data": f"sqlite:///{tmp_path / 'shop.db'}", "delta": 1e-9, "dataset": "shop"}
    of_baskets = asked | {"user": None}
    ledger = fim.Ledger.create(tmp_path / "baskets", epsilon=3, delta=1e-5)
    releases = [
        fim.mine(period=f"2026-{month:02}", ledger=ledger, **of_baskets) for month in (1, 2)
    ]
    both = ledger.statement().together
    assert both.epsilon > releases[0].charged.spent.epsilon
    assert f"Together these 2 releases spend {both.as_total} on" in trend_page(named(releases))
    cases = {
        ("month", "2024..2026"): (36, "all months of 2024..2026"),
        ("month", None): (12, "all months of a year"),
        ("week", None): (53, "all weeks of a year"),
    }
    for (per, period), (units, where) in cases.items():
        path = tmp_path / f"{per} {period}"
        with fim.Ledger.create(path, epsilon=3, delta=1e-5, unit="user", per=per) as ledger:
            release = fim.mine(per=per, period=period, ledger=ledger, **asked)
            [entry] = ledger.entries
            assert entry.adds_up == release.adds_up
            assert entry.adds_up["rho"] == units**2 * entry.sums["rho"]
            said = ledger.statement().spent_of_user.in_words
        assert f"A user who buys in {where} has {said} in all." in release.guarantee


def test_a_week_in_two_months_costs_a_customer_four_times_the_rho(tmp_path: Path) -> None:
    rows = [{"id": f"{n}", "day": "2026-04-01", "who": f"{n}", "what": "tea"} for n in range(99)]
    asked: Any = CALENDAR | {"per": "calendar-month", "size": 1, "rho": 0.03, "delta": 1e-6}
    path = tmp_path / "l"
    ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5, unit="user", per="calendar-month")
    release = fim.mine(pd.DataFrame(rows), period="2026-W14", ledger=ledger, dataset="s", **asked)
    [entry] = ledger.entries
    assert release.adds_up is not None
    assert release.adds_up == entry.adds_up == fim.Ledger(path).entries[0].adds_up
    assert (entry.sums["rho"], entry.adds_up["rho"]) == (Fraction("0.03"), Fraction("0.12"))
    names = entry.adds_up["zcdp_delta"] / entry.sums["zcdp_delta"]
    assert 1.5 < names < 10
    # an entry of an earlier version does not say: it counts as what is private by its ε
    earlier = replace(entry, of_user=None).adds_up
    assert earlier["epsilon"] == entry.adds_up["epsilon"] == 2 * entry.cost.epsilon
    assert earlier["rho"] == earlier["epsilon"] ** 2 / 2 > entry.adds_up["rho"]
    [within] = (fim.mine(pd.DataFrame(rows), period="2026-W15", seed=1, **asked).adds_up["rho"],)
    assert within == Fraction("0.03")
    # a selection by ε: (kε, δ (e^{kε} - 1) / (e^ε - 1))
    selected = fim.mine(
        pd.DataFrame(rows),
        period="2026-W14",
        seed=1,
        mechanism="limited-domain",
        supports=False,
        **{**asked, "rho": None, "epsilon": 1},
    )
    assert float(selected.adds_up["epsilon"]) == 2
    assert float(selected.adds_up["delta"]) == pytest.approx(1e-6 * (1 + np.e))
