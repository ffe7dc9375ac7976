"""`inspect`: how a source would be read, what is in it, and the command that mines it so."""

import json
import shlex
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from files_read import written

import fim_private as fim
from fim_private.output.inspections import command_for, render_inspection
from fim_private.output.screen import Screen

SALES = (
    "Member_number;Date;order_id;itemDescription;price\n"
    "ann;mon;1;milk;1\nann;mon;1;bread;2\nbob;tue;2;milk;1\nbob;tue;2;NULL;0\n;wed;3;tea;1\n"
)


def test_a_table_of_which_nothing_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, "sales.csv", SALES)
    seen = fim.inspect(path)
    assert (seen.read_as.form, seen.read_as.delimiter) == ("long", ";")
    names = ["Member_number", "Date", "order_id", "itemDescription", "price"]
    assert [column.name for column in seen.columns] == names
    assert [column.role for column in seen.columns] == ["user", None, "basket", "item", None]
    assert seen.columns[3].examples == ("milk", "bread", "tea")
    assert (seen.rows, seen.baskets, seen.users, seen.items, seen.empty_baskets) == (5, 2, 2, 2, 0)
    assert seen.basket_lengths == {"min": 1, "median": 1.5, "mean": 1.5, "max": 2}
    assert seen.example_items == ("milk", "bread")
    assert set(seen.guessed) == {"user", "basket", "item", "missing_user"}
    columns = {"user": "Member_number", "basket": "order_id", "item": "itemDescription"}
    assert seen.options == {**columns, "missing_user": "drop"}
    assert shlex.split(command_for(seen))[:3] == ["fim-private", "mine", str(path)]
    assert "--missing-user drop" in command_for(seen)


def test_what_is_said_is_not_guessed(tmp_path: Path) -> None:
    seen = fim.inspect(written(tmp_path, "sales.csv", SALES), basket="Date", item="price")
    assert (seen.guessed, seen.users, seen.baskets) == ((), None, 3)
    assert seen.options == {"basket": "Date", "item": "price"}
    assert any("'Member_number' looks like customers" in note for note in seen.notes)


def test_what_it_says_for_people_and_programs(tmp_path: Path) -> None:
    path = written(tmp_path, "sales.csv", SALES.replace("bread", "\x1b[2Jbread"))
    seen = fim.inspect(path)
    shown = render_inspection(seen, Screen())
    assert shown.startswith("For your eyes only")
    assert "\x1b" not in shown
    for part in ("2 users", "itemDescription", "To mine it: fim-private mine"):
        assert part in shown
    assert "--missing-user 'drop' leaves them out" in shown
    found = json.loads(json.dumps(seen.to_dict()))
    assert found["private"] is False
    first = {"name": "Member_number", "type": "string", "role": "user", "examples": ["ann", "bob"]}
    assert found["columns"][0] == first
    known = "private source form delimiter encoding columns rows baskets users items empty_baskets"
    more = ("items_per_user", "basket_lengths", "examples", "options", "guessed", "notes", "call")
    assert [*found] == [*known.split(), *more]


def test_customers_that_nobody_named() -> None:
    products = ["milk", "bread", "milk"]
    frame = pd.DataFrame({"Member_number": [1, 1, 2], "order_id": [1, 1, 2], "product": products})
    columns: dict[str, Any] = {"basket": "order_id", "item": "product"}
    for asked in (partial(fim.mine, frame), partial(fim.count, frame, [["milk"]])):
        with pytest.warns(fim.PrivacyWarning, match=r"^column 'Member_number' looks like"):
            asked(**columns)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            asked(**columns, user="Member_number")
            asked(**columns, seed=1)


LIKE = {"customer_id": ["a", "a", "b"], "order_id": [1, 1, 2], "product": ["milk", "tea", "milk"]}


@pytest.mark.parametrize("of", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_of_obvious_columns_says_which_to_give(of: Any, tmp_path: Path) -> None:
    both = "basket='order_id' and item='product'"
    whom = ", and user='customer_id' to protect each customer, not only each basket"
    cases: tuple[tuple[dict[str, Any], dict[str, Any], str], ...] = (
        (LIKE, {}, f"{both}{whom}"),
        (LIKE | {"customer_id": [1, 1, 2], "product": [7, 8, 7]}, {}, f"{both}{whom}"),
        (LIKE | {"gift": [True, False, True]}, {}, f"{both}{whom}"),
        (LIKE, {"user": "customer_id"}, both),
        (LIKE, {"basket": "order_id"}, f"item='product'{whom}"),
        ({"order_id": [1], "product": ["tea"]}, {}, both),
        (
            {"date": ["mon"], "customer": [1], "sku": ["tea"]},
            {},
            f"basket 'customer' and 'date' together and item='sku'{whom.replace('_id', '')}",
        ),
    )
    for columns, given, words in cases:
        with pytest.raises(fim.DataError, match="looks like one row per item: give ") as caught:
            fim.mine(of(columns), **given)
        assert str(caught.value).endswith(f": give {words}")
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table(LIKE), path)
    with pytest.raises(fim.DataError, match="give basket='order_id' and item='product'"):
        fim.mine(path)
    # Truth values, and items that are called so, are a table of items still.
    assert fim.read_transactions(of({"order": [True], "product": [False]})).baskets == 1
    numbers = of({"order": [1, 0], "product": [0, 1]})
    assert fim.read_transactions(numbers, input_format="one-hot").baskets == 2


VISITS = "customer,date,product,price\n" + "".join(
    f"C{n % 50},2011-01-{n % 28 + 1:02d},{item},{n}\n"
    for n in range(600)
    for item in ("Tea", "milk", "TEA ")
)
_LISTED = (f"{n},\"a, b, c\"\n{n + 1000},\"['a', 'b']\"\n" for n in range(300))
LISTS = "order,items\n" + "".join(_LISTED)
_VISITED = (f"{n},C{n % 50},2011-01-{n % 28 + 1:02d},i{n % 3}\n" for n in range(500))
LINES = "line_id,customer,date,product\n" + "".join(_VISITED)
BY_LINE = {"basket": "line_id", "item": "product"}
PIECES = "tea,milk,jam\n" + "3,0,1\n0,2,2\n1.5,0,0\n" * 40


@pytest.mark.parametrize("content", [VISITS, LISTS, LINES, PIECES], ids=range(4))
@pytest.mark.every_case
def test_what_it_suggests_runs_and_what_it_refuses_is_refused(content: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", content)
    seen = fim.inspect(path)
    read = fim.read_transactions(path, **seen.options)
    assert (read.baskets, len(read.vocabulary)) == (seen.baskets, seen.items)
    words = shlex.split(command_for(seen))[3:]
    assert words == [word for name, value in seen.options.items() for word in _words(name, value)]
    assert fim.mine(path, **seen.options, seed=1).private is False
    refused_alike(path, user="nobody")


def refused_alike(source: Any, **options: Any) -> None:
    with pytest.raises(fim.FimPrivateError) as refused:
        fim.inspect(source, **options)
    with pytest.raises(fim.FimPrivateError) as again:
        fim.read_transactions(source, **options)
    assert str(refused.value) == str(again.value)


def _words(name: str, value: Any) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    if value is True:
        return [option]
    return [word for each in np.atleast_1d(value).tolist() for word in (option, each)]


def test_a_customer_and_a_day_are_a_visit_and_twins_one_item(tmp_path: Path) -> None:
    seen = fim.inspect(path := written(tmp_path, "a.csv", VISITS))
    assert seen.options == {"user": "customer", "basket": ["customer", "date"], "item": "product"}
    assert "--basket customer --basket date" in command_for(seen)
    all_of_them = fim.inspect(path, basket="customer", item="product")
    assert (seen.baskets, all_of_them.baskets) == (600, 50)
    assert any("basket 'customer' and basket 'date'" in note for note in all_of_them.notes)
    # Items that differ by capital letters alone are offered to be one.
    (offer,) = (note for note in seen.notes if "capital" in note)
    assert offer.endswith("such as 'TEA' and 'Tea': fold_case takes them as one.")
    assert "--fold-case takes them as one" in render_inspection(seen, Screen()).replace("\n", " ")
    folded = fim.inspect(path, fold_case=True)
    assert (folded.items, any("capital" in note for note in folded.notes)) == (2, False)
    assert "--fold-case" in command_for(folded)


@pytest.mark.parametrize(
    ("content", "options", "advice"),
    [
        (LINES, BY_LINE, "basket 'customer' and basket 'date'"),
        (LINES.replace("date", "order"), BY_LINE, "basket 'order', it seems"),
        (LINES.replace("date", "x"), BY_LINE, "basket 'customer'."),
        ("tea\nmilk\njam\n" * 9, {"input_format": "lines"}, "say what is between them"),
    ],
)
@pytest.mark.every_case
def test_baskets_of_one_item_first(content: str, options: Any, advice: str, tmp_path: Path) -> None:
    seen = fim.inspect(written(tmp_path, "a.csv", content), **options)
    assert seen.notes[0].startswith("Every basket has one item, so no two items are ever together.")
    assert advice in seen.notes[0]
    shown = render_inspection(seen, Screen())
    assert shown.splitlines()[1].startswith("Every basket has one item")
    assert shown.count("Every basket") == 1


def test_the_command_for_lists_protects_customers_where_a_column_looks_like_them() -> None:
    items = [["tea", "milk"], ["tea"], ["jam"], ["jam"]]
    lists = pd.DataFrame({"customer_id": [1, 1, 2, None], "items": items})
    seen = fim.inspect(lists)
    assert seen.options == {"user": "customer_id", "missing_user": "drop"}
    assert seen.users == 2
    assert fim.inspect(lists.dropna()).options == {"user": "customer_id"}
    assert fim.inspect(lists[["items"]]).options == {}


RETURNS = (
    "InvoiceNo,Description,Quantity,UnitPrice\n"
    "536365,tea,6,2.55\n536365,milk,2,1.00\n536366,jam,1,3.10\nC536367,tea,-6,2.55\n"
)


def notes_on_returns(path: Path, **options: Any) -> list[str]:
    notes = fim.inspect(path, **options).notes
    return [note for note in notes if "returns and cancellations" in note]


def test_cancellations_are_seen_with_what_leaves_them_out(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", RETURNS)
    by_quantity, by_invoice = notes_on_returns(path)
    assert by_quantity.startswith("1 row has a negative 'Quantity'")
    assert 'where "Quantity > 0" leaves them out' in by_quantity
    assert "where \"InvoiceNo not like 'C%'\" leaves them out" in by_invoice
    seen = fim.inspect(path, where="Quantity > 0")
    assert (seen.baskets, seen.rows) == (2, 3)
    assert notes_on_returns(path, where="Quantity > 0") == []
    shown = render_inspection(fim.inspect(path), Screen()).replace("\n", " ")
    assert '--where "Quantity > 0"' in shown


ORDERS = "Name,Email,Lineitem quantity,Lineitem name\n" + "".join(
    f"#{n},{f'p{n % 7}@example.org' if line == 0 else ''},1,{item}\n"
    for n in range(60)
    for line, item in enumerate(("tea", "milk", "jam")[: 2 + n % 2])
)


def test_a_customer_who_is_named_in_the_first_row_of_an_order_only(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", ORDERS)
    seen = fim.inspect(path)
    assert seen.options == {"basket": "Name", "item": "Lineitem name"}
    assert seen.baskets == 60
    (note,) = (note for note in seen.notes if "only in some rows of an order" in note)
    assert note.startswith("Column 'Email' names the customer only in some rows of an order, such")
    assert "t['Email'] = t.groupby('Name')['Email'].transform('first')" in note
    # Who names the customer is told, too, and what the note says to do is done.
    named: dict[str, Any] = {"user": "Email", "missing_user": "drop", **seen.options}
    assert any("only in some rows of an order" in note for note in fim.inspect(path, **named).notes)
    table = pd.read_csv(path)
    table["Email"] = table.groupby("Name")["Email"].transform("first")
    whole = fim.inspect(table)
    assert (whole.users, whole.baskets) == (7, 60)
    assert whole.options["user"] == "Email"
    assert not any("only in some rows of an order" in note for note in whole.notes)


def test_the_index_of_pandas_in_a_file_is_shown_as_no_item(tmp_path: Path) -> None:
    frame = pd.DataFrame({"tea": [1, 1], "milk": [0, 1]}, index=pd.Index([7, 8], name="order"))
    frame.to_parquet(tmp_path / "a.parquet")
    seen = fim.inspect(tmp_path / "a.parquet")
    roles = {column.name: column.role for column in seen.columns}
    assert roles == {"tea": "item", "milk": "item", "order": None}
    assert seen.items == 2


def orders(customer_of: Callable[[int], object]) -> pd.DataFrame:
    rows = [(n, customer_of(n), item) for n in range(300) for item in ("tea", "milk")]
    return pd.DataFrame(rows, columns=["order_id", "customer_id", "product"])


@pytest.mark.parametrize(
    ("guest", "other", "condition"),
    [
        (0, 1000, "customer_id <> 0"),
        (-1, 1000, "customer_id <> -1"),
        (-1.0, 1000.0, "customer_id <> -1"),
        ("0", "C", "customer_id <> '0'"),
        ("it's", "C", "customer_id <> 'it''s'"),
    ],
)
def test_a_user_who_stands_for_many_is_pointed_out(
    guest: Any, other: Any, condition: str, tmp_path: Path
) -> None:
    frame = orders(lambda n: guest if n % 4 == 0 else other + type(other)(n % 50))
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (tmp_path / "a.csv", tmp_path / "a.parquet", frame):
        seen = fim.inspect(source)
        (note,) = (note for note in seen.notes if note.startswith("One user"))
        name = repr(str(guest).removesuffix(".0"))
        assert note.startswith(f"One user, {name} it seems, has 75 of the 300 baskets.")
        assert f'where "{condition}"' in note
        without = fim.inspect(source, where=condition, **seen.options)
        assert (without.baskets, seen.baskets) == (225, 300)
        assert not any(note.startswith("One user") for note in without.notes)


def test_few_users_who_buy_alike_are_not_pointed_out() -> None:
    frame = orders(lambda n: 1000 + n % 25)
    assert not any(note.startswith("One user") for note in fim.inspect(frame).notes)


def test_a_user_whom_a_condition_left_out_is_not_pointed_out() -> None:
    frame = orders(lambda n: 0 if n % 2 else 1 if n % 4 else 1000 + n % 100)
    seen = fim.inspect(frame, user="customer_id", where="customer_id <> 0")
    assert seen.baskets == 150
    assert not any(note.startswith("One user") for note in seen.notes)


def test_an_id_of_a_basket_with_several_users_is_pointed_out() -> None:
    frame = orders(lambda n: 1000 + n % 50)
    assert not any("different ids" in note for note in fim.inspect(frame).notes)
    frame["customer_id"] = frame["customer_id"].astype(str)
    frame.loc[::4, "customer_id"] = "00" + frame.loc[::4, "customer_id"]
    seen = fim.inspect(frame)
    (note,) = (note for note in seen.notes if "different ids" in note)
    assert note.startswith("There are 450 baskets, and 300 different ids in 'order_id'")
    frame["order_id"] %= 6  # as ids that begin anew for each customer
    assert not any("different ids" in note for note in fim.inspect(frame).notes)


def test_items_that_look_the_same_are_pointed_out() -> None:
    seen = fim.inspect([["\xc4pfel", "tea"], ["A\u0308pfel", "tea\u200b"], ["\u00e9", "milk"]])
    (note,) = (note for note in seen.notes if "look the same" in note)
    assert note.startswith("2 items are written in several ways that look the same, such as ")
    assert r"'A\u0308pfel' and '\xc4pfel'" in note
    assert not any("look the same" in note for note in fim.inspect([["tea", "Tea"]]).notes)


def test_numbers_that_were_rounded_are_pointed_out(tmp_path: Path) -> None:
    frame = orders(lambda n: 10**16 + n)
    assert not any("rounded" in note for note in fim.inspect(frame).notes)
    frame["customer_id"] = frame["customer_id"].astype(float)
    (note,) = (note for note in fim.inspect(frame).notes if "rounded" in note)
    assert note.startswith("Column 'customer_id' has numbers that were rounded before, such as '1")
    frame["customer_id"] %= 1000
    frame["product"] = ["4,00638E+12", "4006381333931"] * 300
    frame.to_csv(tmp_path / "a.csv", sep=";", index=False)
    for source in (frame, tmp_path / "a.csv"):
        (note,) = (note for note in fim.inspect(source).notes if "rounded" in note)
        assert "Column 'product' has numbers that were rounded before, such as '4,0" in note


def test_ids_of_baskets_that_begin_anew_are_pointed_out() -> None:
    rows = [(n % 20, f"{1 + n // 20:02d}.03.2026", item) for n in range(300) for item in "ab"]
    frame = pd.DataFrame(rows, columns=["receipt", "date", "product"])
    (note,) = (note for note in fim.inspect(frame).notes if "come again" in note)
    assert note.startswith("Most ids in 'receipt' come again on other days ('date').")
    together: dict[str, Any] = {"basket": ["receipt", "date"], "item": "product"}
    seen = fim.inspect(frame, **together)
    assert seen.baskets == 300
    assert not any("come again" in note for note in seen.notes)
    frame["receipt"] = frame.index // 2
    frame["date"] += [" 10:00", " 10:01"] * 300
    assert not any("come again" in note for note in fim.inspect(frame).notes)
    for times in (["9:59", "10:01"], ["1/3/26 9:59", "1/3/26 10:01"], [1772323200, 1772323237]):
        frame["date"] = times * 300
        assert not any("come again" in note for note in fim.inspect(frame).notes)


def test_a_total_in_a_one_hot_table_is_pointed_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"tea": [1, 0, 1, 1], "milk": [0, 1, 1, 1], "Gesamt": [1, 1, 2, 2]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.csv", tmp_path / "a.parquet"):
        (note,) = (note for note in fim.inspect(source).notes if "'Gesamt'" in note)
        assert note.startswith("Column 'Gesamt' is never 0, so every basket has it as an item.")
    assert not any("never 0" in note for note in fim.inspect(frame[["tea", "milk"]]).notes)


def test_a_misspelt_column_is_told_with_the_names_that_there_are(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", SALES)
    first_line = r"Its first line, cut at ';', is 'Member_number', 'Date', 'order_id', "
    with pytest.raises(fim.DataError, match=f"has no column 'Order_ID' .*{first_line}"):
        fim.inspect(path, basket="Order_ID", item="itemDescription")
    with pytest.raises(fim.DataError, match=r"are called 1, 2, and so on$"):
        fim.inspect(path, basket="7", item="2", header=False)
    with pytest.raises(fim.DataError, match=r"turn off header$"):
        fim.mine(path, basket="Order_ID", item="itemDescription")


def test_a_long_first_line_is_shown_in_short(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("order," + "x" * 100_000 + "\n1,2\n")
    with pytest.raises(fim.DataError, match=r"is 'order', 'x{58}…'$"):
        fim.inspect(tmp_path / "a.csv", basket="Order", item="product")
