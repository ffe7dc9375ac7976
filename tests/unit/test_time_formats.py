"""How times are written in texts, and comparisons with texts in another notation."""

import datetime
import locale
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources import WRITERS

import fim_private as fim
from fim_private.reading.columns import suggests_date
from fim_private.reading.times import TimeFormat, moment_of

EPOCH = datetime.datetime(1970, 1, 1)
ROLES: dict[str, Any] = {"basket": "order", "item": "product"}
ASKED: dict[str, Any] = {**ROLES, "size": 1, "top": 3, "epsilon": 5, "delta": 1e-3, "seed": 1}
FORMATS = (
    "%d/%m/%Y|%m/%d/%Y %H:%M|%m/%d/%y %I:%M %p|%Y%m%d|%d %b %Y|%B %d, %Y|%d-%b-%y"
    "|%Y/%m/%d %H:%M:%S.%f|%d.%m.%y|%Y%m%d%H%M%S|%d%%%m/%Y|%d%b%Y"
)


@given(
    st.sampled_from(FORMATS.split("|")),
    st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2068, 12, 31)),
)
def test_a_format_is_read_as_python_reads_it(written: str, moment: datetime.datetime) -> None:
    # of Python's own reading
    assert locale.setlocale(locale.LC_TIME) in ("C", "C.UTF-8", "en_US.UTF-8")
    text = moment.strftime(written)
    expected = datetime.datetime.strptime(text, written)
    micros = (expected - EPOCH) // datetime.timedelta(microseconds=1)
    assert [TimeFormat(written).moment(form) for form in (text, text.upper())] == [micros] * 2


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        ("%d/%m/%Y", ["31/2/2026", "5/13/2026", "5/1/26", "5/1/2026 10:30", "2026-01-05"]),
        ("%Y%m%d", ["2026115"]),
        ("%m/%d/%Y %I:%M %p", ["1/5/2026 13:30 PM"]),
        ("%d %b %Y", ["5 Mai 2026"]),
        ("%d/%m/%Y", ["٥/١/2026"]),
    ],
)
def test_what_does_not_fit_a_format_is_no_time(written: str, texts: list[str]) -> None:
    assert [TimeFormat(written).moment(text) for text in texts] == [None] * len(texts)


def test_a_format_that_is_none_is_one_line(tmp_path: Path) -> None:
    dates = "%d/%m/%Y"
    longer = [f"{dates} {more}" for more in ("%y", "%p", "%I", "%M", "%Z", "%H %I %p", "%H:%S")]
    formats: list[Any] = [3, "", "%d/%m", "%c", "%-d/%m/%Y", *longer]
    for written in formats:
        with pytest.raises(fim.ParameterError, match="time_format must be") as caught:
            fim.mine(tmp_path / "none.csv", **ASKED, time="day", period="2026", time_format=written)
        assert "\n" not in str(caught.value)
    with pytest.raises(fim.ParameterError, match="time_format needs time too, or a date in where"):
        fim.mine(SLASHES, **ASKED, time_format="%d/%m/%Y")


def test_days_with_dots_are_days_and_months() -> None:
    expected = (datetime.datetime(2026, 2, 5) - EPOCH) // datetime.timedelta(microseconds=1)
    assert moment_of("5.2.2026") == moment_of("05.02.2026") == moment_of("2026-02-05") == expected
    assert moment_of("5.2.2026 00:30") == expected + 30 * 60 * 10**6
    assert moment_of("5.13.2026") is moment_of("5.2.26") is moment_of("5/2/2026") is None


# -------------------- in every source


def days(count: int = 200) -> list[datetime.date]:
    draw = random.Random(1)
    first = datetime.date(2026, 1, 1)
    return [first + datetime.timedelta(draw.randrange(90)) for _ in range(count)]


def sales(written: Callable[[datetime.date], Any], price: Any = float) -> pa.Table:
    """Return two items a basket, whose day is in a column as it is written."""
    when = [day for day in days() for _ in "ab"]
    return pa.table(
        {
            "order": [place // 2 for place in range(len(when))],
            "product": ["tea" if place % 2 else f"item {place % 7}" for place in range(len(when))],
            "day": [*map(written, when)],
            "price": [price(1 + place % 5 / 2) for place in range(len(when))],
        }
    )


BY_TIME: list[dict[str, Any]] = [
    {"time": "day", "period": "2026-02"},
    {"where": "day >= '2026-02-01' and day < '2026-03-01'"},
    {"where": "day = '2026-02-03'"},
]


def found(source: Any, **asked: Any) -> dict[str, Any]:
    """Return what a release has but for how it was asked."""
    release = fim.mine(source, **{**ASKED, **asked}).to_dict()
    return {name: release[name] for name in ("itemsets", "noise", "abstained")}


@pytest.mark.parametrize("write", WRITERS)
def test_the_same_rows_are_read_by_a_format_in_every_source(write: str, tmp_path: Path) -> None:
    table = sales(lambda day: f"{day.day}/{day.month}/{day.year}")
    for asked in BY_TIME:
        expected = found(sales(datetime.date.isoformat), **asked)
        source = WRITERS[write](table, tmp_path)
        assert found(source, **asked, time_format="%d/%m/%Y") == expected


def test_days_with_dots_and_numbers_are_read_as_iso_is() -> None:
    for asked in BY_TIME:
        expected = found(sales(datetime.date.isoformat), **asked)
        assert found(sales(lambda day: f"{day.day}.{day.month:02}.{day.year}"), **asked) == expected
        numbers = sales(lambda day: int(f"{day:%Y%m%d}"))
        assert found(numbers, **asked, time_format="%Y%m%d") == expected


def test_a_release_and_a_ledger_state_the_format(tmp_path: Path) -> None:
    table = sales(lambda day: f"{day.day}/{day.month}/{day.year}")
    asked: dict[str, Any] = {name: value for name, value in ASKED.items() if name != "seed"}
    asked |= {"time": "day", "time_format": "%d/%m/%Y", "neighbors": "add-remove"}
    asked |= {"epsilon": 1, "delta": 1e-6}
    ledger = fim.Ledger.create(tmp_path / "a.ledger", epsilon=2, delta=1e-5, composition="basic")
    release = fim.mine(table, **asked, period="2026-01", ledger=ledger, dataset="sales")
    assert release.to_dict()["time_format"] == "%d/%m/%Y"
    assert "Times are written as %d/%m/%Y." in " ".join(release.scope.sentences("basket"))
    (tmp_path / "a.json").write_text(release.to_json())
    loaded = fim.load(tmp_path / "a.json")
    assert isinstance(loaded, fim.Release)
    assert loaded.scope.time_format == "%d/%m/%Y"
    # Another period is free of charge if it is read alike; read otherwise its baskets may be those
    # of before.
    fim.mine(table, **asked, period="2026-02", ledger=ledger, dataset="sales")
    other = {**asked, "time_format": "%Y/%d/%m"}
    slashes = sales(lambda day: f"{day.year}/{day.day}/{day.month}")
    fim.mine(slashes, **other, period="2026-03", ledger=ledger, dataset="sales")
    spent = [period["spent"]["epsilon"] for period in ledger.statement().to_dict()["periods"]]
    assert max(spent) > 1.5


def test_what_does_not_fit_is_as_a_missing_time() -> None:
    written = [f"{day.day}/{day.month}/{day.year}" for day in days() for _ in "ab"]
    table = sales(datetime.date.isoformat)
    spoilt = pa.array([text if place % 10 else "31/31/2026" for place, text in enumerate(written)])
    asked: dict[str, Any] = {"time": "day", "period": "2026-02", "time_format": "%d/%m/%Y"}
    table = table.set_column(2, "day", spoilt)
    with pytest.raises(fim.DataError, match="rows without a time that is written as time_format"):
        fim.mine(table, **ASKED, **asked)
    blank = pa.array([text if place % 10 else None for place, text in enumerate(written)])
    missing = table.set_column(2, "day", blank)
    asked_to_drop = {**asked, "missing_time": "drop"}
    assert found(table, **asked_to_drop) == found(missing, **asked_to_drop)
    with pytest.raises(fim.DataError, match=r"is not written as time_format '%Y-%d-%m' says"):
        fim.mine(table, **ASKED, **{**asked, "time_format": "%Y-%d-%m"}, missing_time="drop")


# -------------------- another notation


SLASHES = sales(
    lambda day: f"{day.day}/{day.month}/{day.year}",
    price=lambda price: f"{price:.2f}".replace(".", ","),
)
REFUSED = [
    ("day >= '2026-02-01'", "with a date, and not all of its values are dates as 2026-01-31: say"),
    ("day between '2026-02-01' and '2026-02-03'", "with a date, and not all"),
    ("day = '2026-02-01'", "with a date, and not all of its values are dates"),
    ("not day in ('2026-02-01')", "with a date, and not all of its values are dates"),
    ("day >= '1/2/2026'", "with a text, which is written in another way than 2026-01-31: write"),
    ("day >= '2026'", "with a text, and its values are dates: write a whole date"),
    ("price > 1", "with a number, and not all of its values are numbers such as 1.50"),
    ("price = 1", "with a number, and not all of its values are numbers such as 1.50"),
    ("price > '1,50'", "with a text, which seems to be a number: write it without quotes"),
    ("order >= 1 and (price > 1 or product = 'tea')", "column 'price'"),
    ("product > 5", "column 'product' of .* with a number"),
    ("product = true", "with true or false, and its values are not truth values"),
]


@pytest.mark.parametrize(("where", "message"), REFUSED)
@pytest.mark.every_case
def test_comparisons_are_refused_before_a_charge(where: str, message: str, tmp_path: Path) -> None:
    ledger = fim.Ledger.create(tmp_path / "a.ledger", epsilon=5, delta=1e-2)
    asked = {name: value for name, value in ASKED.items() if name != "seed"}
    for write in ("csv", "parquet", "pandas", "pandas objects"):
        source = WRITERS[write](SLASHES, tmp_path)
        with pytest.raises(fim.DataError, match=f"where compares .*{message}") as caught:
            fim.mine(source, **asked, where=where, ledger=ledger, dataset="sales")
        assert "\n" not in str(caught.value)
        assert "/1/2026" not in str(caught.value)
    assert not ledger.entries


def test_other_comparisons_of_texts_are_as_before(tmp_path: Path) -> None:
    source = WRITERS["csv"](SLASHES, tmp_path)
    texts = ("product >= 'item 3'", "product = 'tea'", "price = '1,50'", "day <> '3/2/2026'")
    for where in (*texts, "order > 5", "day like '%/2/2026'", "price is not null"):
        assert found(source, where=where)["itemsets"], where


def prices(*texts: str | None) -> pa.Table:
    return pa.table({"order": range(len(texts)), "product": ["tea"] * len(texts), "price": texts})


def read(table: pa.Table, where: str) -> int:
    return fim.read_transactions(table, **ROLES, where=where).baskets


def test_words_among_numbers_pass_nothing_and_one_large_number_with_marks_is_refused() -> None:
    assert read(prices("1.50", "free", "2", None, "n/a", "", "12", "3"), "price > 1") == 4
    with pytest.raises(fim.DataError, match=r"such as 1\.50"):
        read(prices("12.50", "11", "13.99", "1,234.50"), "price > 100")
    with pytest.raises(fim.DataError, match=r"such as 1\.50"):
        read(prices("free", "gift", "none at all", "1"), "price > 1")
    assert read(prices(None, ""), "price > 1") == 0
    with pytest.raises(fim.DataError, match="dates as 2026-01-31"):
        read(prices("2026-01-05", "5 January 2026"), "price > '2026-01-01'")
    assert read(prices("2026-01-05", "2026-02-30", "2026-01-07"), "price > '2026-01-01'") == 2


# -------------------- a basket may be named by its time


@pytest.mark.parametrize("write", WRITERS)
def test_basket_and_time_may_be_one_column(write: str, tmp_path: Path) -> None:
    when = [day for day in days() for _ in "ab"]
    table = sales(datetime.date.isoformat)
    customers = [f"c{place // 8}" for place in range(len(when))]
    table = table.append_column("customer", pa.array(customers))
    visits = [f"{customer} {day}" for customer, day in zip(customers, when, strict=True)]
    asked: dict[str, Any] = {"user": "customer", "time": "day", "period": "2026-02"}
    expected = found(table.append_column("visit", pa.array(visits)), **asked, basket="visit")
    for source in (table, table.set_column(2, "day", pa.array(when))):
        by_both = found(WRITERS[write](source, tmp_path), **asked, basket=["customer", "day"])
        assert by_both == expected
    with pytest.raises(fim.ParameterError, match="time and user name the same column"):
        fim.mine(table, **ASKED, user="day", time="day", period="2026-02")


# -------------------- what inspect says of columns of times


START = datetime.datetime(2026, 1, 3, 9, 5, 7)
WRITTEN = (
    "%d/%m/%Y|%m/%d/%Y|%d-%m-%Y|%m-%d-%y|%d/%m/%y %H:%M|%m/%d/%Y %I:%M %p|%Y/%m/%d|%d %b %Y"
    "|%B %d, %Y|%d-%b-%y|%Y%m%d|%d.%m.%y|%d/%m/%Y %H:%M:%S"
)
DATES = (
    "TRANSACTION_DT,t_dat,InvoiceDate,order_ts,order_date,datetime,sold_at,created_at,Order Date"
    ",Datum,TRANS_DT,day,orderTime"
)
NO_DATES = "products,amounts,discounts,cat,format,updated_at,birth_dt,date_of_birth,weekday"
NO_DATES += ",receipts,data,what,at"


def csv_of(folder: Path, days: list[str], name: str = "date") -> Path:
    rows = [f"{place // 2};item {place % 3};{day}" for place, day in enumerate(days)]
    path = folder / "sales.csv"
    path.write_text("\n".join([f"order_id;product;{name}", *rows]) + "\n")
    return path


def moments(count: int = 60) -> list[datetime.datetime]:
    steps = [place // 2 for place in range(count)]
    return [START + datetime.timedelta(days=step, minutes=7 * step) for step in steps]


@pytest.mark.parametrize("written", WRITTEN.split("|"))
@pytest.mark.one_in(4)
def test_the_format_that_fits_is_found_and_mines(written: str, tmp_path: Path) -> None:
    path = csv_of(tmp_path, [moment.strftime(written) for moment in moments()])
    said = f"time 'date' time_format {written!r} and period 2026-02 read one period."
    note = f"Column 'date' holds times: {said}"
    assert note in fim.inspect(path).notes
    seen = fim.inspect(path, time="date")
    assert seen.options["time_format"] == written
    assert "time_format" in seen.guessed
    asked: Any = {"period": "2026-01", "size": 1, "epsilon": 9, "delta": 1e-3, "seed": 1}
    release = fim.mine(path, **seen.options, **asked)
    assert release.scope.time_format == written
    by_condition = fim.inspect(path, where="date >= '2026-01-20'")
    assert by_condition.options["time_format"] == written


@pytest.mark.parametrize("written", ["%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%d.%m.%Y", "%d.%m.%Y %H:%M"])
def test_what_need_not_be_said_is_not(written: str, tmp_path: Path) -> None:
    path = csv_of(tmp_path, [moment.strftime(written) for moment in moments()])
    note = "Column 'date' holds times: time 'date' and period 2026-02 read one period."
    assert note in fim.inspect(path).notes
    assert "time_format" not in fim.inspect(path, time="date").options


def test_two_formats_that_fit_are_told_apart_by_all_rows_or_not_at_all(tmp_path: Path) -> None:
    alike = ["1/1/2026"] * 400
    path = csv_of(tmp_path, [*alike, "2/1/2026"])
    both = "all of them fit '%d/%m/%Y' or '%m/%d/%Y': look which is right"
    assert both in " ".join(fim.inspect(path).notes)
    with pytest.raises(fim.DataError, match="column 'date' fits both '%d/%m/%Y' and '%m/%d/%Y'"):
        fim.inspect(path, time="date")
    named = fim.inspect(path, time="date", time_format="%m/%d/%Y")
    assert named.options["time_format"] == "%m/%d/%Y"
    path = csv_of(tmp_path, [*alike, "2/1/2026", "1/13/2026"])
    assert fim.inspect(path, time="date").options["time_format"] == "%m/%d/%Y"


def test_rows_without_a_time_are_told(tmp_path: Path) -> None:
    days = [moment.strftime("%d/%m/%Y") for moment in moments()]
    path = csv_of(tmp_path, [*days, "soon"])
    (note,) = [note for note in fim.inspect(path).notes if "holds times" in note]
    assert note.endswith("Some rows have none: missing_time 'drop' leaves them out.")


def test_ids_and_days_of_birth_are_no_times() -> None:
    days = [moment.strftime("%d/%m/%Y") for moment in moments(20)]
    columns = {"product": "tea", "date_of_birth": days, "x": days}
    frame = pd.DataFrame({"order_id": [20260103] * 20, **columns})
    notes = " ".join(fim.inspect(frame).notes)
    assert "Column 'x' holds times" in notes
    assert "'order_id'" not in notes
    assert "'date_of_birth'" not in notes


def test_names_that_suggest_a_date() -> None:
    dates, others = DATES.split(","), NO_DATES.split(",")
    assert [name for name in (*dates, *others) if suggests_date(name)] == dates
