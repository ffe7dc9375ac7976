"""Valid files, in every form and dialect: read right where they are described, and right or not at
all elsewhere.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fuzz_limits import outcome
from hypothesis import assume, given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.errors import FimPrivateError
from fim_private.reading.transactions import Transactions

pytestmark = pytest.mark.full

_WORDS = [
    "milk",
    "bread",
    "tea bags",
    "semi-skimmed milk",
    "7up",
    "crème brûlée",
    "rolls/buns",
    "eggs, large",
]
_CODES = ["85123A", "71053", "84406B", "22423", "POST", "S-77"]
_NAMES = {
    "basket": ["order_id", "InvoiceNo", "Transaction", "Bestellnummer", "foo"],
    "item": ["product", "itemDescription", "StockCode", "Artikel", "bar"],
    "user": ["customer", "Member_number", "CustomerID", "Kunde", "baz"],
    "date": ["date", "InvoiceDate", "when"],
    "price": ["UnitPrice", "qty", "n"],
}
# Baskets as they are: each under a user and an id, with its items.
Purchases = list[tuple[str, str, list[str]]]


@st.composite
def purchases(draw: st.DrawFn) -> Purchases:
    items = draw(st.sampled_from([_WORDS, _CODES, [str(n) for n in range(30)]]))
    ids = draw(st.sampled_from(["{}", "O{:05}", "2024-{}"]))
    users = draw(st.sampled_from(["u{}", "{}", "ann {}"]))
    baskets = draw(
        st.lists(
            st.lists(st.sampled_from(items), min_size=1, max_size=5, unique=True),
            min_size=4,
            max_size=12,
        )
    )
    return [
        (users.format(number % 3), ids.format(number), basket)
        for number, basket in enumerate(baskets)
    ]


def read_as(data: Transactions) -> Counter[frozenset[str]]:
    label = data.vocabulary.label
    return Counter(
        frozenset(str(label(code)) for code in data.items[a:b].tolist())
        for a, b in pairwise(data.offsets.tolist())
    )


def with_lines(rows: Sequence[Sequence[str]], delimiter: str, end: str, *, quoted: bool) -> str:
    stream = io.StringIO()
    csv.writer(
        stream, delimiter=delimiter, lineterminator=end, quoting=1 if quoted else 0
    ).writerows(rows)
    return stream.getvalue()


@dataclass(frozen=True)
class Written:
    """A file: what is in it, under which suffix, and the options that describe it, the first of
    which are needed.
    """

    content: bytes
    suffix: str
    options: dict[str, Any]


@st.composite
def text_files(draw: st.DrawFn, bought: Purchases) -> Written:
    delimiter = draw(st.sampled_from([",", ";", "\t", "|"]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    quoted = draw(st.booleans())
    name = {role: draw(st.sampled_from(names)) for role, names in _NAMES.items()}
    form = draw(st.sampled_from(["long", "wide", "one-hot", "lines", "fimi", "jsonl", "jsonl"]))
    extra = draw(st.booleans())
    options: dict[str, Any] = {}
    if form == "long":
        head = (
            [name["user"], name["basket"], name["item"]]
            if extra
            else [name["basket"], name["item"]]
        )
        rows = [
            [user, order, item][-len(head) :] for user, order, items in bought for item in items
        ]
        if extra:
            head, rows = (
                [*head, name["date"], name["price"]],
                [[*row, "2024-01-02", "1.5"] for row in rows],
            )
        rows = [head, *rows]
        options = {"basket": name["basket"], "item": name["item"]}
    elif form == "wide":
        width = max(len(items) for _, _, items in bought)
        pad = draw(st.booleans())
        rows = [[order, *items, *[""] * ((width - len(items)) * pad)] for _, order, items in bought]
        rows = [[name["basket"], *(f"Item {place}" for place in range(1, width + 1))], *rows]
        options = {"input_format": "wide"}
    elif form == "one-hot":
        universe = sorted({item for _, _, items in bought for item in items})
        yes, no = draw(st.sampled_from([("1", "0"), ("True", "False"), ("yes", "no")]))
        rows = [
            universe,
            *([yes if item in items else no for item in universe] for _, _, items in bought),
        ]
        assume(len(universe) > 2)
        options = {"input_format": "one-hot"}
    elif form == "jsonl":
        rows = [list(items) for _, _, items in bought]
        options = {"input_format": "jsonl"}
        quoted = True
    elif form == "lines":
        rows = [list(items) for _, _, items in bought]
        assume(any(len(row) > 1 for row in rows))  # so that the delimiter is there
        options = {"input_format": "lines", "delimiter": delimiter}
    else:
        rows = [[item.replace(" ", "_") for item in items] for _, _, items in bought]
        delimiter, quoted = " ", False
        options = {"input_format": "fimi"}
    text = with_lines(rows, delimiter, end, quoted=quoted)
    if form == "fimi":
        text = end.join(" ".join(row) for row in rows) + end
    if form == "jsonl":
        lines = (
            json.dumps({"items": row, "n": len(row)}, ensure_ascii=draw(st.booleans()))
            for row in rows
        )
        text = end.join(lines) + end
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    # White space is between items where the suffix says so: in .csv it is inside of them.
    suffixes = (
        [".dat", ".txt", ""] if form == "fimi" else [".csv", ".txt", ".tsv", ".dat", ".csv.gz", ""]
    )
    suffix = draw(st.sampled_from(suffixes))
    content = text.encode(encoding)
    if encoding == "cp1252":
        options["encoding"] = encoding
    if form not in ("lines", "fimi", "jsonl") and draw(st.booleans()):
        options["delimiter"] = delimiter
    if not suffix:
        options.setdefault("input_format", form)
    return Written(gzip.compress(content) if suffix.endswith("gz") else content, suffix, options)


def ask(written: Written, options: dict[str, Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{written.suffix}"
        path.write_bytes(written.content)
        return outcome(lambda: fim.read_transactions(path, **options))


def as_written(bought: Purchases, written: Written) -> Counter[frozenset[str]]:
    is_fimi = written.options.get("input_format") == "fimi"
    return Counter(
        frozenset(item.replace(" ", "_") if is_fimi else item for item in items)
        for _, _, items in bought
    )


@given(data=st.data())
def test_text_is_read_as_it_is_described_or_refused(data: st.DataObject) -> None:
    bought = data.draw(purchases())
    written = data.draw(text_files(bought))
    found = ask(written, written.options)
    assert isinstance(found, Transactions), found
    assert read_as(found) == as_written(bought, written)
    given_only = data.draw(st.sets(st.sampled_from(["delimiter", "encoding"])))
    found = ask(
        written, {name: value for name, value in written.options.items() if name in given_only}
    )
    assert isinstance(found, FimPrivateError) or read_as(found) == as_written(bought, written), (
        read_as(found)
    )
