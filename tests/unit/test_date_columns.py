"""What `inspect` says of columns of times."""

from __future__ import annotations

import datetime
from pathlib import Path

import pandas as pd
import pytest

import fim_private as fim
from fim_private.reading.columns import suggests_date

START = datetime.datetime(2026, 1, 3, 9, 5, 7)
WRITTEN = (
    "%d/%m/%Y|%m/%d/%Y|%d-%m-%Y|%m-%d-%y|%d/%m/%y %H:%M|%m/%d/%Y %I:%M %p|%Y/%m/%d|%d %b %Y"
    "|%B %d, %Y|%d-%b-%y|%Y%m%d|%d.%m.%y|%d/%m/%Y %H:%M:%S"
)
DATES = (
    "TRANSACTION_DT,t_dat,InvoiceDate,order_ts,order_date,datetime,sold_at,created_at,Order Date"
    ",Datum,TRANS_DT,day,orderTime"
)
NO_DATES = (
    "products,amounts,discounts,cat,format,updated_at,birth_dt,date_of_birth,weekday,receipts,data"
    ",what,at"
)


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
    note = (
        f"Column 'date' holds times: time 'date' time_format {written!r} and period 2026-02 "
        f"read one period."
    )
    assert note in fim.inspect(path).notes
    seen = fim.inspect(path, time="date")
    assert seen.options["time_format"] == written
    assert "time_format" in seen.guessed
    release = fim.mine(
        path, **seen.options, period="2026-01", size=1, epsilon=9, delta=1e-3, seed=1
    )
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
    frame = pd.DataFrame(
        {"order_id": [20260103] * 20, "product": "tea", "date_of_birth": days, "x": days}
    )
    notes = " ".join(fim.inspect(frame).notes)
    assert "Column 'x' holds times" in notes
    assert "'order_id'" not in notes
    assert "'date_of_birth'" not in notes


def test_names_that_suggest_a_date() -> None:
    dates, others = DATES.split(","), NO_DATES.split(",")
    assert [name for name in (*dates, *others) if suggests_date(name)] == dates
