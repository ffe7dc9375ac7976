"""Two hundred small files of purchases that people have: what is in each, or why it is refused.

Each has the same forty baskets, in which whole milk and bread are together most often. Shapes are
how a basket is written, and dialects how a text is.
"""

import bz2
import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from workbook_files import workbook

NAMES: tuple[str, ...] = ("whole milk", "bread", "green tea", "jam", "café crème", "eggs")
NAMES += ("butter", "brown rice", "apples", "soap")
TOP = frozenset(NAMES[:2])


def _basket(number: int) -> list[int]:
    """Return the items of a basket, by their places in NAMES."""
    others = [2 + number % 8, 2 + (3 * number + 1) % 8, 2 + (5 * number + 2) % 8]
    beside = others[: 1 + number % 3]
    both = [] if number % 4 == 3 else [0, 1]
    return list(dict.fromkeys([*both, *beside]))


BASKETS = [_basket(number) for number in range(40)]
NAMED = [[NAMES[item] for item in basket] for basket in BASKETS]


@dataclass(frozen=True)
class Purchase:
    """One row of a table: an item of a basket, and what else tills note of it."""

    basket: int
    line: int  # from 1 on, in its basket
    item: int

    @property
    def values(self) -> dict[str, Any]:
        """What there is of it, by what it is."""
        basket, line, item = self.basket, self.line, self.item
        day, minute = f"2011-{1 + basket % 12:02}-{1 + basket % 28:02}", (7 * basket + line) % 60
        invoice, price = 536_365 + basket, f"{1 + item}.{(31 * item) % 100:02}"
        return {
            "name": NAMES[item],
            "code": 85_000 + 17 * item,
            "sku": f"S{85_000 + 17 * item}",
            "group": f"aisle {item % 3}",
            "basket": basket,
            "line": line,
            "row": 5 * basket + line,
            "invoice": invoice,
            "long": 26_984_851_472 + basket,
            "hexadecimal": f"{invoice:032x}",
            "tx": f"tx{invoice}",
            "customer": 17_850 + basket % 13,
            "person": f"p{basket % 13}@example.org",
            "day": day,
            "datum": f"{1 + basket % 28}.07.2024",
            "minute": f"{8 + basket % 12:02}:{minute:02}:11",
            "moment": f"{day} {8 + basket % 12:02}:{minute:02}",
            "quantity": 1 + (basket + line) % 6,
            "price": price,
            "pounds": f"£{price}",
            "preis": price.replace(".", ","),
        }

    def __getattr__(self, name: str) -> Any:
        return self.values[name]


_ROWS = [(number, *line) for number, own in enumerate(BASKETS) for line in enumerate(own, 1)]
PURCHASES = [Purchase(*row) for row in _ROWS]
TOP_CODES = frozenset(85_000 + 17 * item for item in (0, 1))


@dataclass(frozen=True)
class PublicFile:
    """A file, and what reading it must come to.

    Attributes:
        top: The pair of items that are together most often; None if the file is refused.
        refusal: A part of what a refusal says.
        tried: Options with which `mine` refuses it for the reason that `inspect` gives.
    """

    name: str
    content: bytes
    top: frozenset[Any] | None = TOP
    refusal: str = ""
    tried: tuple[tuple[str, Any], ...] = ()


# -------------------- dialects of text

_DIALECTS: dict[str, Callable[[str], bytes]] = {
    "lf": lambda text: text.encode(),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "cr": lambda text: text.replace("\n", "\r").encode(),
    "bom": lambda text: text.encode("utf-8-sig"),
    "utf16": lambda text: text.encode("utf-16"),
    "cp1252": lambda text: text.encode("cp1252"),
    "no-end": lambda text: text.rstrip("\n").encode(),
}
_PACKED: dict[str, Callable[[str], bytes]] = {
    "gz": lambda text: gzip.compress(text.encode(), mtime=0),
    "bz2": lambda text: bz2.compress(text.encode()),
}


def _dialects(name: str, suffix: str, text: str, wanted: str, **outcome: Any) -> Iterator[Any]:
    """Yield a text in several dialects, named by words."""
    for form in wanted.split():
        if form in _PACKED:
            yield PublicFile(f"{name}-{form}.{suffix}.{form}", _PACKED[form](text), **outcome)
        else:
            yield PublicFile(f"{name}-{form}.{suffix}", _DIALECTS[form](text), **outcome)


def _refused(name: str, content: str | bytes, refusal: str, **tried: Any) -> PublicFile:
    data = content.encode() if isinstance(content, str) else content
    return PublicFile(name, data, None, refusal, tuple(tried.items()))


# -------------------- one basket per line


def _joined(baskets: Iterable[Sequence[object]], between: str, around: str = "") -> str:
    cells = ([f"{around}{item}{around}" for item in basket] for basket in baskets)
    return "".join(between.join(row) + "\n" for row in cells)


def _padded(baskets: Iterable[Sequence[object]], between: str, nothing: str) -> str:
    return _joined(([*basket, *[nothing] * (6 - len(basket))] for basket in baskets), between)


def _lines() -> Iterator[PublicFile]:
    plain, spaces = _joined(NAMED, ","), _joined(BASKETS, " ")
    words = [[name.replace(" ", "_") for name in basket] for basket in NAMED]
    for files, text, dialects in (
        ("groceries.csv", plain, "lf crlf cr bom utf16 cp1252 no-end gz bz2"),
        ("quoted.csv", _joined(NAMED, ",", '"'), "lf crlf bom gz"),
        # Kaggle's Market_Basket_Optimisation.csv, and what spreadsheets and pandas make of it.
        ("padded.csv", _padded(NAMED, ",", ""), "lf crlf cp1252"),
        ("padded-nan.csv", _padded(NAMED, ",", "nan"), "lf"),
        ("padded-NA.csv", _padded(NAMED, ",", "NA"), "lf"),
        ("trailing.csv", plain.replace("\n", ",\n"), "lf"),
        ("spaced.csv", plain.replace(",", ", "), "lf crlf"),
        ("blank-lines.csv", plain.replace("\n", "\n\n"), "lf"),
        ("tabs.tsv tabs.tab tabs.csv tabs.txt", _joined(NAMED, "\t"), "lf"),
        ("more-tabs.tsv", _joined(NAMED, "\t"), "crlf utf16 gz"),
        ("semicolons.csv", _joined(NAMED, ";"), "lf crlf bom cp1252"),
        ("semicolons-quoted.csv", _joined(NAMED, ";", '"'), "lf"),
        ("bars.csv bars.txt", _joined(NAMED, "|"), "lf"),
        ("commas.txt", plain, "lf crlf utf16"),
        ("commas-quoted.txt", _joined(NAMED, ",", '"'), "lf"),
        # R's write() of transactions of arules.
        ("arules.txt arules.csv arules.dat", _joined(NAMED, " ", '"'), "lf"),
        ("more-arules.txt", _joined(NAMED, " ", '"'), "crlf gz"),
    ):
        for name, suffix in (file.split(".") for file in files.split()):
            yield from _dialects(name, suffix, text, dialects)
    # FIMI's repository, and its like.
    top: dict[str, Any] = {"top": frozenset((0, 1))}
    yield from _dialects("fimi", "dat", spaces, "lf crlf no-end gz bz2", **top)
    yield from _dialects("fimi", "txt", spaces, "lf", **top)
    yield from _dialects("fimi", "fimi", spaces, "lf", **top)
    yield from _dialects("fimi-space-at-end", "dat", spaces.replace("\n", " \n"), "lf", **top)
    top = {"top": frozenset(("whole_milk", "bread"))}
    yield from _dialects("words", "txt", _joined(words, " "), "lf bom", **top)


def _lists() -> Iterator[PublicFile]:
    """Lists of items as cells have them."""
    quoted = "".join(f'"{",".join(basket)}"\n' for basket in NAMED)
    yield from _dialects("whole-line", "csv", quoted, "lf crlf bom cp1252 gz")
    yield from _dialects("whole-line", "txt", quoted, "lf")
    yield from _dialects("whole-line-named", "csv", "items\n" + quoted, "lf crlf")
    yield from _dialects("whole-line-x", "csv", "x\n" + quoted, "lf")
    yield from _dialects("whole-line-quoted-name", "csv", '"items"\n' + quoted, "lf")
    yield from _dialects("whole-line-spaced", "csv", quoted.replace(",", ", "), "lf")
    yield from _dialects("whole-line-semicolons", "csv", quoted.replace(",", ";"), "lf")
    some = "".join(f'"{",".join(b)}"\n' if n % 5 else f"{b[0]}\n" for n, b in enumerate(NAMED))
    yield from _dialects("whole-line-some", "csv", some, "lf")
    braces = "".join("{" + ",".join(basket) + "}\n" for basket in NAMED)
    yield from _dialects("braces", "csv", braces, "lf")
    yield from _dialects("braces", "txt", braces, "lf")
    yield from _dialects("braces-quoted", "csv", braces.replace("{", '"{').replace("}", '}"'), "lf")
    python = "".join(f"{basket}\n" for basket in NAMED)
    yield from _dialects("python", "txt", python, "lf")
    yield from _dialects("python-quoted", "csv", "".join(f'"{basket}"\n' for basket in NAMED), "lf")
    for name, cells in (
        ("cells", [",".join(basket) for basket in NAMED]),
        ("cells-spaced", [", ".join(basket) for basket in NAMED]),
        ("cells-bars", ["|".join(basket) for basket in NAMED]),
        ("cells-python", [str(basket) for basket in NAMED]),
        ("cells-braces", ["{" + ",".join(basket) + "}" for basket in NAMED]),
    ):
        rows = [(number, cell) for number, cell in enumerate(cells, 1)]
        yield from _dialects(name, "csv", _csv(("order_id", "items"), rows), "lf crlf")
        frame = pd.DataFrame(rows, columns=["order_id", "items"])
        yield PublicFile(f"{name}.parquet", _parquet(pa.Table.from_pandas(frame)))


# -------------------- tables with one row per item


def _csv(names: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return written.getvalue()


def _parquet(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def _feather(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pyarrow.feather.write_feather(table, stream)
    return stream.getvalue()


def _json_lines(names: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    lines = (json.dumps(dict(zip(names, row, strict=True))) for row in rows)
    return "\n".join(lines).encode() + b"\n"


def _sheet(names: Sequence[str], rows: Iterable[Sequence[object]], above: int = 0) -> bytes:
    return workbook({above + number: row for number, row in enumerate([names, *rows], 1)})


# The columns of exports: what a purchase has under that name; any other text stands in every row.
_EXPORTS = {
    "online-retail": "InvoiceNo=invoice; StockCode=code; Description=name; Quantity=quantity; "
    "InvoiceDate=moment; UnitPrice=price; CustomerID=customer; Country=United Kingdom",
    "instacart": "order_id=invoice; product_id=code; add_to_cart_order=line; reordered=1",
    "instacart-joined": "order_id=invoice; user_id=customer; product_name=name; aisle=group; "
    "department=department 1",
    "dunnhumby": "household_key=customer; BASKET_ID=long; DAY=basket; PRODUCT_ID=code; "
    "QUANTITY=quantity; SALES_VALUE=price; STORE_ID=364",
    "groceries-members": "Member_number=basket; Date=day; itemDescription=name",
    "bakery": "Date=day; Time=minute; Transaction=basket; Item=name",
    "olist": "order_id=hexadecimal; order_item_id=line; product_id=code; seller_id=group",
    "square": "Date=day; Time=minute; Category=Food; Item=name; Qty=quantity; SKU=; "
    "Gross Sales=pounds; Transaction ID=tx; Customer Name=person",
    "woocommerce": "Order Number=invoice; Order Status=Completed; Order Date=moment; "
    "Email (Billing)=person; SKU=sku; Item Name=name; Item Cost=price",
    "german-till": "Bonnummer=invoice; Datum=datum; Kundennummer=customer; Artikel=name; "
    "Menge=quantity; Preis=preis",
    "online-retail-2": "Invoice=invoice; StockCode=code; Description=name; Quantity=quantity; "
    "Customer ID=customer",
    "bills": "BillNo=invoice; Itemname=name; Quantity=quantity; Date=datum; Price=preis; "
    "CustomerID=customer",
    "superstore": "Row ID=row; Order ID=tx; Order Date=day; Customer ID=person; Segment=Consumer; "
    "Product ID=sku; Category=Furniture; Sub-Category=Chairs; Product Name=name; Sales=price",
    "bakery-2": "TransactionNo=basket; Items=name; DateTime=moment; Daypart=Morning",
}
BY_CODE = ("instacart", "dunnhumby", "olist")


def _export(name: str) -> tuple[list[str], list[list[object]]]:
    """The names of an export's columns, and its rows."""
    columns = [column.split("=") for column in _EXPORTS[name].split("; ")]
    rows = [[row.values.get(held, held) for _, held in columns] for row in PURCHASES]
    return [column for column, _ in columns], rows


def _tables() -> Iterator[PublicFile]:
    """Each export in every second form, so that all have a few and each form has many."""
    for place, name in enumerate(_EXPORTS):
        top = TOP_CODES if name in BY_CODE else TOP
        names, rows = _export(name)
        typed = pa.Table.from_pandas(pd.DataFrame(rows, columns=names), preserve_index=False)
        semicolons = _csv(names, rows, ";")
        forms = [
            *_dialects(name, "csv", _csv(names, rows), "lf cp1252", top=top),
            *_dialects(f"{name}-semicolons", "csv", semicolons, "lf cp1252 gz", top=top),
            *_dialects(f"{name}-tabs", "txt", _csv(names, rows, "\t"), "utf16", top=top),
            PublicFile(f"{name}.xlsx", _sheet(names, rows), top),
            PublicFile(f"{name}.jsonl", _json_lines(names, rows), top),
            PublicFile(f"{name}.parquet", _parquet(typed), top),
        ]
        yield from forms[place % 2 :: 2]
    yield from _orders()


def _orders() -> Iterator[PublicFile]:
    """The same table of two columns, as many programs write it."""
    names, rows = ("order_id", "product"), [(row.invoice, row.name) for row in PURCHASES]
    yield from _dialects("orders", "csv", _csv(names, rows), "crlf cr bom utf16 bz2 no-end")
    yield from _dialects("orders-sep", "csv", "sep=;\n" + _csv(names, rows, ";"), "crlf")
    yield from _dialects("orders-bars", "csv", _csv(names, rows, "|"), "lf")
    yield from _dialects("orders", "tsv", _csv(names, rows, "\t"), "lf gz")
    # R: write.table() without row names.
    spaced = "".join(f'"{basket}" "{item}"\n' for basket, item in [names, *rows])
    yield from _dialects("orders-write.table", "txt", spaced, "lf")
    for name in ("orders", "-orders.csv", "my 'orders'.csv"):  # also of no ending
        yield PublicFile(name, _csv(names, rows).encode())
    frame = pd.DataFrame(rows, columns=[*names])
    indexed = pa.Table.from_pandas(frame.set_index("order_id"))
    yield PublicFile("orders-index.parquet", _parquet(indexed))
    yield PublicFile("orders.feather", _feather(pa.Table.from_pandas(frame)))
    yield PublicFile("orders.xlsx", _sheet(names, rows))
    noted = [(row.invoice, row.name, f"fresh,\n{row.day}") for row in PURCHASES]
    yield from _dialects("orders-notes", "csv", _csv((*names, "note"), noted), "lf crlf")
    yield PublicFile("orders-total.csv", (_csv(names, rows) + "Total,\n").encode())
    reversed_ = [(row.invoice, row.name) for row in sorted(PURCHASES, key=lambda row: row.item)]
    yield from _dialects("orders-unsorted", "csv", _csv(names, reversed_), "lf")


def _first_rows_only() -> Iterator[PublicFile]:
    """Shopify's export: who bought stands in the first row of an order."""
    names = ["Name", "Email", "Financial Status", "Created at", "Lineitem quantity"]
    names.append("Lineitem name")
    rows = [
        (
            f"#{1000 + row.basket}",
            *((row.person, "paid") if row.line == 1 else ("", "")),
            *(f"{row.day} 10:00:00 +0100", row.quantity, row.name),
        )
        for row in PURCHASES
    ]
    yield from _dialects("shopify", "csv", _csv(names, rows), "lf crlf bom")
    yield PublicFile("shopify.xlsx", _sheet(names, rows))


def _cancellations() -> Iterator[PublicFile]:
    names, rows = _export("online-retail")
    returned = [[f"C{row[0]}", *row[1:3], -3, *row[4:]] for row in rows[:9]]
    yield from _dialects("online-retail-returns", "csv", _csv(names, [*rows, *returned]), "lf")
    # Rows of nobody, which have to be decided about.
    unknown = [[*row[:6], "" if n % 3 == 0 else row[6], row[7]] for n, row in enumerate(rows)]
    yield from _dialects("online-retail-unknown", "csv", _csv(names, unknown), "lf")


# -------------------- tables with a row per basket


def _wide_rows() -> list[list[object]]:
    return [[number, *basket, *[""] * (5 - len(basket))] for number, basket in enumerate(NAMED, 1)]


def _wide() -> Iterator[PublicFile]:
    names = ("Transaction", *(f"Item {place}" for place in range(1, 6)))
    text = _csv(names, _wide_rows())
    yield from _dialects("wide", "csv", text, "lf crlf bom cp1252 gz")
    yield from _dialects("wide-semicolons", "csv", _csv(names, _wide_rows(), ";"), "lf")
    ragged = "".join(f"{line.rstrip(',')}\n" for line in text.splitlines())
    yield from _dialects("wide-ragged", "csv", ragged, "lf")
    # Kaggle's groceries: how many items there are stands first.
    counted = [[len(row) - row.count("") - 1, *row[1:]] for row in _wide_rows()]
    yield from _dialects("wide-counted", "csv", _csv(("Item(s)", *names[1:]), counted), "lf")
    numbered = _csv([*map(str, range(5))], [row[1:] for row in _wide_rows()])
    yield from _dialects("wide-pandas", "csv", numbered, "lf")
    r_names = [f"V{place}" for place in range(1, 6)]
    yield from _dialects("wide-R", "csv", _csv(r_names, [row[1:] for row in _wide_rows()]), "lf")
    yield PublicFile("wide.xlsx", _sheet(names, _wide_rows()))
    frame = pd.DataFrame(_wide_rows(), columns=[*names])
    yield PublicFile("wide.parquet", _parquet(pa.Table.from_pandas(frame, preserve_index=False)))
    lists = pa.table({"items": NAMED})
    yield PublicFile("lists.parquet", _parquet(lists))
    yield PublicFile("lists.feather", _feather(lists))
    with_ids = pa.table({"order_id": [*range(40)], "items": NAMED})
    yield PublicFile("lists-ids.parquet", _parquet(with_ids))
    yield PublicFile("lists.jsonl", _json_lines(("items",), [(basket,) for basket in NAMED]))
    rows = [*zip(range(40), NAMED, strict=True)]
    yield PublicFile("lists-ids.jsonl", _json_lines(("order_id", "items"), rows))
    yield PublicFile("lists.jsonl.gz", gzip.compress(_json_lines(("items",), [[b] for b in NAMED])))


def _has(yes: object, no: object) -> list[list[object]]:
    return [[yes if item in basket else no for item in range(len(NAMES))] for basket in BASKETS]


def _one_hot() -> Iterator[PublicFile]:
    for name, yes, no in (
        *(("numbers", 1, 0), ("python", True, False), ("r", "TRUE", "FALSE")),
        *(("words", "yes", "no"), ("letters", "y", "n"), ("crosses", "x", "")),
        *(("german", "WAHR", "FALSCH"), ("quantities", 3, 0)),
    ):
        yield from _dialects(f"one-hot-{name}", "csv", _csv(NAMES, _has(yes, no)), "lf")
    yield from _dialects("one-hot-semicolons", "csv", _csv(NAMES, _has(1, 0), ";"), "lf cp1252")
    words = [name.replace(" ", "_") for name in NAMES]
    top = frozenset(("whole_milk", "bread"))
    yield from _dialects("one-hot-spaces", "txt", _joined([words, *_has(1, 0)], " "), "lf", top=top)
    with_ids = [[number, *row] for number, row in enumerate(_has(1, 0), 100)]
    yield from _dialects("one-hot-ids", "csv", _csv(("order_id", *NAMES), with_ids), "lf")
    for form, cells in (("booleans", _has(True, False)), ("integers", _has(1, 0))):
        frame = pd.DataFrame(cells, columns=[*NAMES])
        table = pa.Table.from_pandas(frame, preserve_index=False)
        yield PublicFile(f"one-hot-{form}.parquet", _parquet(table))
    yield PublicFile("one-hot.xlsx", _sheet(NAMES, _has(1, 0)))
    # Without names an item is the number of its column.
    kinds = (("commas", "csv", ","), ("spaces", "dat", " "), ("semicolons", "csv", ";"))
    for name, suffix, between in kinds:
        text = _joined(_has(1, 0), between)
        yield from _dialects(f"matrix-{name}", suffix, text, "lf", top=frozenset((1, 2)))
    letters = _joined(_has("y", "n"), ",")
    yield from _dialects("matrix-letters", "csv", letters, "lf", top=frozenset((1, 2)))
    levels = [
        [(item + number) % 3 + 1 if item in basket else 0 for item in range(len(NAMES))]
        for number, basket in enumerate(BASKETS)
    ]
    for suffix, between in (("csv", ","), ("dat", " ")):
        text = _joined(levels, between)
        yield from _dialects("matrix-levels", suffix, text, "lf", top=frozenset((1, 2)))


# -------------------- what is refused


def _other_programs() -> Iterator[PublicFile]:
    together = "".join(" ".join(map(str, basket)) + " -1 -2\n" for basket in BASKETS)
    top: Any = frozenset((0, 1))
    yield from _dialects("spmf", "txt", together, "lf", top=top)
    yield from _dialects("spmf", "spmf", together, "lf gz", top=top)
    names = "".join(f"@ITEM={place}={name}\n" for place, name in enumerate(NAMES))
    for name, body in (("sequences", together), ("transactions", _joined(BASKETS, " "))):
        text = "@CONVERTED_FROM_TEXT\n" + names + body
        yield from _dialects(f"spmf-names-{name}", "txt", text, "lf")
    lines = [(" ".join(map(str, basket)), len(basket)) for basket in BASKETS]
    utilities = "".join(f"{b}:{9 * n}:{' '.join('9' * n)}\n" for b, n in lines)
    attributes = "".join(f"@attribute {n.split()[0]} {{t,?}}\n" for n in NAMES)
    arff, data = f"@relation shop\n{attributes}@data\n", _joined(_has("t", "?"), ",")
    tabs = _joined(_has("1", "0"), "\t")
    head = "\t".join(NAMES) + "\n" + "\t".join("d" * 10) + "\n" + "\t" * 9 + "\n"
    ratings = "".join(f"{row.customer}::{row.code}::{row.line}::978300760\n" for row in PURCHASES)
    counted = [[f"{item}={1 + len(item) % 3}" for item in basket] for basket in NAMED]
    libsvm = "".join(f"1 {' '.join(f'{i}:1' for i in sorted(basket))}\n" for basket in BASKETS)
    rows = "".join(f'"{n}" "' + '" "'.join(basket) + '"\n' for n, basket in enumerate(NAMED, 1))
    listed = '"","x"\n' + "".join(f'"{n}","{{{",".join(b)}}}"\n' for n, b in enumerate(NAMED, 1))
    parties = ("democrat", "republican")
    votes = [[parties[n % 2], *("ny?"[(n * at) % 3] for at in range(1, 17))] for n in range(40)]
    mushrooms = [["pxsnf"[(number * place) % 5] for place in range(1, 23)] for number in range(40)]
    for file, content, refusal in (
        ("spmf-utilities.txt", utilities, "utilities. Keep only what stands before"),
        *((f"weka.{end}", arff + data, "ARFF, the format of Weka") for end in ("arff", "csv")),
        ("weka-comment.txt", "% supermarket\n" + arff.upper() + data, "ARFF, the format of Weka"),
        ("orange.tab", head + tabs, "is a table of Orange"),
        ("orange-words.tab", head.replace("\td", "\tdiscrete") + tabs, "is a table of Orange"),
        ("orange-prefix.tab", "D#milk\tmS#note\n1\ta\n0\tb\n", "is a table of Orange"),
        *((f"ratings.{suffix}", ratings, "'::' between its values") for suffix in ("dat", "csv")),
        ("orange.csv", _joined(counted, ","), "quantities behind its items"),
        ("libsvm.txt", libsvm, "quantities behind its items"),
        ("row-names.txt", rows, "row names"),
        ("row-names.csv", rows.replace(" ", ","), "row names"),
        ("row-names-lists.csv", listed, "row names"),
        ("house-votes-84.csv", _joined(votes, ","), "a value in every column"),
        ("agaricus.csv", _joined(mushrooms, ","), "a value in every column"),
    ):
        yield _refused(file, content, refusal)


def _no_tables() -> Iterator[PublicFile]:
    lines = _json_lines(("items",), [(basket,) for basket in NAMED])
    yield _refused("json-lines.json", lines, "jsonl if it has one object a line")
    yield _refused("list.txt", '[{"items": ["tea"]},\n {"items": []}]', "but not one object a line")
    yield _refused("zip.csv.gz", gzip.compress(b"PK\x03\x04" + b"\0" * 60), "is a ZIP archive")
    yield _refused("sales.json", json.dumps([{"items": basket} for basket in NAMED]), "is JSON")
    yield _refused("sales.xml", '<?xml version="1.0"?>\n<sales/>\n', "is XML")
    yield _refused("sales.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(60), "old Office file")
    yield _refused("report.xls", "<html><table></table></html>", "is HTML")
    yield _refused("sales.pdf", b"%PDF-1.7\n", "is PDF")
    yield _refused("sales.zip", b"PK\x03\x04" + b"\0" * 60, "is a ZIP archive")
    yield _refused("shop.db", b"SQLite format 3\0" + b"\0" * 60, "is a SQLite database")
    yield _refused("empty.csv", b"", "is empty")
    cut = gzip.compress(_joined(NAMED, ",").encode())[:-30]
    yield _refused("cut.csv.gz", cut, "is truncated, damaged")
    content = _joined(NAMED, ",").encode("utf-16-le")
    yield _refused("no-mark.csv", content, "has a NUL byte, as UTF-16 does")
    two = {1: ("order", "item"), 2: (1, "milk")}
    yield _refused("two-sheets.xlsx", workbook(two, two), "several sheets")
    yield _refused("cut.xlsx", workbook(two)[:-20], "is a ZIP archive")


def _damaged() -> Iterator[PublicFile]:
    names, rows = ("order_id", "product"), [(row.invoice, row.name) for row in PURCHASES]
    text = _csv(names, rows)
    title = "title above"
    yield _refused("blank.csv", ",\nReport,\n,\n" + text, title)
    yield _refused("nul.csv", text + "7,mi\0lk\n", "has a NUL byte, as UTF-16 does")
    yield _refused("title.csv", "Sales of 2024\n\n" + text, title)
    yield _refused("title-semicolons.csv", "Sales of 2024;;\n" + text.replace(",", ";"), title)
    yield _refused("title.xlsx", workbook({1: ["Sales"], 2: names, 3: rows[0], 4: rows[1]}), title)
    tried = {"basket": "order_id", "item": "product"}
    yield _refused("ragged.csv", text + "9,milk,jam\n", "more or fewer fields", **tried)
    yield _refused("short.csv", text + "9\n", "more or fewer fields", **tried)
    yield _refused("open-quote.csv", text + '9,"milk\n10,jam\n', "check its double quotes", **tried)
    yield _refused("inches.csv", text + '9,"5" nails"\n', "check its double quotes", **tried)
    yield _refused("open-quote-lines.csv", _joined(NAMED, ",") + '"milk,jam\n', "open double quote")
    # Names of columns in a language that is not known: they are listed.
    for language, columns in (
        ("swedish", "Datum;Kvitto;Vara;Antal;Pris"),
        ("french", "Jour;Caisse;Libellé;Nombre;Prix"),
        ("finnish", "Päivä;Kuitti;Tuote;Määrä;Hinta"),
    ):
        cells = [(row.day, row.invoice, row.name, row.quantity, row.preis) for row in PURCHASES]
        content = _csv(columns.split(";"), cells, ";")
        refusal = f"Its first line, cut at ';', is {', '.join(map(repr, columns.split(';')))}"
        outcome = {"top": None, "refusal": refusal, "tried": (("delimiter", ";"),)}
        yield from _dialects(f"till-{language}", "csv", content, "lf bom", **outcome)


def public_files() -> list[PublicFile]:
    """Return all files."""
    parts = (
        *(_lines, _lists, _tables, _first_rows_only, _cancellations, _wide, _one_hot),
        *(_other_programs, _no_tables, _damaged),
    )
    return [file for part in parts for file in part()]
