"""What bytes are given to: every reader of files, and every text with a grammar. One function a
target.

The first byte of an input chooses options and suffix, so that a mutation may change them, too; the
rest is the content.
"""

import bz2
import gzip
import io
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from fuzz_limits import check_transactions
from workbook_files import workbook

import fim_private as fim
from fim_private.mining.given import given_itemsets
from fim_private.reading.transactions import Transactions
from fim_private.reading.where import where_of

SALES = pa.table(
    {
        "customer": ["u", "u", None, "v", "v"],
        "order_id": [1, 1, 2, 3, 3],
        "product": ["a", "b", "a", "NULL", "é"],
        "day": pa.array([0, 1, 2, 3, None], pa.date32()),
    }
)
LISTS = pa.table({"customer": [1, 1, 2], "items": [["a", "b"], [], ["a"]]})
NUMBERS = pa.table({"id": [1, 2, 3], "items": [[1, 2], None, [39, 7, 1]]})
HOT = pa.table({"milk": [True, False], "bread": [True, None]})
CODED = SALES.set_column(2, "product", SALES["product"].dictionary_encode())
TABLES = [SALES, LISTS, NUMBERS, HOT, CODED]

_LONG: dict[str, Any] = {"basket": "order_id", "item": "product"}
_OF_TABLES: list[dict[str, Any]] = [
    {},
    _LONG,
    {**_LONG, "user": "customer", "missing_user": "drop"},
    {**_LONG, "user": "customer", "missing_user": "own-unit"},
    {**_LONG, "where": "day >= '1970-01-02' or customer is null"},
    {"items": "items", "user": "customer"},
    {"basket": "order_id", "item": ["product", "day"]},
    {"input_format": "wide"},
    {"input_format": "one-hot"},
]
_OF_TEXTS: list[dict[str, Any]] = [
    *_OF_TABLES,
    {**_LONG, "delimiter": ";"},
    {"basket": "2", "item": "3", "header": False, "delimiter": ","},
    {**_LONG, "encoding": "utf-16"},
    {**_LONG, "encoding": "cp1252"},
    {"input_format": "lines", "delimiter": ","},
    {"input_format": "lines", "delimiter": "|", "encoding": "utf-16-le"},
    {"input_format": "fimi"},
    {"input_format": "spmf"},
    {"input_format": "fimi", "encoding": "utf-7"},
    {**_LONG, "skip_rows": 2},
    {"input_format": "jsonl"},
    {"skip_rows": 1, "delimiter": ","},
]
_OF_SHEETS = [*_OF_TABLES, {**_LONG, "skip_rows": 2}]


@dataclass(frozen=True)
class Target:
    """try_ takes an input; returns what came of it, or raises. seeds: to begin with."""

    try_: Callable[[bytes], object]
    seeds: Sequence[bytes]


def on_disk(content: bytes, suffix: str, ask: Callable[[Path], object]) -> object:
    """What asking gives of a file with this content, in a folder that goes afterwards."""
    in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=in_memory) as folder:
        path = Path(folder) / f"a{suffix}"
        path.write_bytes(content)
        return ask(path)


def _read(given: bytes, suffixes: Sequence[str], options: Sequence[dict[str, Any]]) -> object:
    """Read purchases; the highest bit of the first byte asks `inspect` instead."""
    choice, content = (given[0], given[1:]) if given else (0, b"")
    suffix = suffixes[(choice & 0x60) // 32 % len(suffixes)]
    named = options[(choice & 0x1F) % len(options)]
    ask = fim.inspect if choice & 0x80 else fim.read_transactions
    found = on_disk(content, suffix, lambda path: ask(path, **named))
    if isinstance(found, Transactions):
        check_transactions(found)
    return found


def _whole(contents: Sequence[bytes], choices: Sequence[int]) -> list[bytes]:
    return [bytes([choice]) + content for content in contents for choice in choices]


def _reads(suffixes: Sequence[str], options: Any, seeds: Any, choices: Sequence[int]) -> Target:
    """Files with one of these suffixes are read; each seed has each choice before it."""
    return Target(lambda given: _read(given, suffixes, options), _whole(seeds, choices))


# -------------------- corpora


def parquet_files() -> list[bytes]:
    """Small Parquet files: both page versions, and all compressions there always are."""
    files = []
    plain: dict[str, Any] = {"compression": "none"}
    for table in TABLES:
        for more in (
            plain,
            {"compression": "snappy", "data_page_version": "2.0", "write_statistics": True},
            {"compression": "zstd", "use_dictionary": False, "row_group_size": 2},
            {**plain, "store_schema": False, "data_page_size": 1, "write_page_index": True},
        ):
            stream = io.BytesIO()
            pyarrow.parquet.write_table(table, stream, **more)
            files.append(stream.getvalue())
    return files


def arrow_files() -> list[bytes]:
    """Small files and streams of Arrow IPC."""
    files = []
    for table in TABLES:
        for compression in ("uncompressed", "lz4", "zstd"):
            stream = io.BytesIO()
            pyarrow.feather.write_feather(table, stream, compression=compression)
            files.append(stream.getvalue())
        stream = io.BytesIO()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        files.append(stream.getvalue())
    return files


TEXTS = [
    b"order_id,product,customer\n1,a,u\n1,b,u\n2,a,\n",
    b'order_id;product;customer\r\n1;"a;b";u\r\n2;"c ""d""";\r\n',
    b"sep=;\norder_id;product\n1;a\n",
    "order_id,product\n1,é\n".encode("utf-16"),
    "order_id,product\n1,é\n".encode("cp1252"),
    b"order_id,product\n1,a\0b\n2,\xff\xfe\n",
    b"Item 1,Item 2\na,b\nc\n",
    b"milk,bread\n1,0\n0,1\n",
    b'bread,milk\n"a,b",c\n\nbread\n',
    b"a|b\nc\n",
    b"1 3 5\n2 4\n\n39 007\n",
    b"a b\rc\r\r\nd",
    b"@ITEM=1=apple\n1 2 -1 3 -1 -2\n% no\n1 -1 -2\n",
]


def _ledger_file() -> bytes:
    """A ledger with two entries, all of it in the file itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.ledger"
        ledger = fim.Ledger.create(path, epsilon=3, delta=1e-5)
        for _ in range(2):
            fim.count([["a"]] * 9, [["a"]], epsilon=1, delta=0, ledger=ledger, dataset="sales")
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("pragma wal_checkpoint(truncate)")
        return path.read_bytes()


def _database() -> bytes:
    """A SQLite file with purchases."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("pragma page_size = 512")
            connection.execute("create table sales (order_id, product)")
            rows = [(1, "a"), (1, b"\0\xff"), (2.5, None), (None, "é"), (str(9**19), 1e300)]
            connection.executemany("insert into sales values (?, ?)", rows)
            connection.commit()
        return path.read_bytes()


def _releases() -> list[bytes]:
    baskets = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50
    by_store = pa.table({"store": ["A", "B"] * 200, "items": [["a", "b"]] * 400})
    made: list[Any] = [
        fim.mine(baskets, seed=1),
        fim.mine(baskets, size="1-2", top=3, rules=True, neighbors="add-remove", rho=0.1, seed=1),
        fim.mine(baskets, min_support=0.1, seed=1),
        fim.mine(by_store, by="store", segments=["A", "B"], seed=1),
        fim.count(baskets, [["bread"], ["jam", "tea"]], seed=1),
    ]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for release in made:
            for suffix in (".json", ".parquet"):
                path = Path(folder) / f"a{suffix}"
                release.save(path)
                found.append((b"\1" if suffix == ".parquet" else b"\0") + path.read_bytes())
                path.unlink()
    return found


# -------------------- targets


def _gzip(given: bytes) -> object:
    """As it is; or, for every other first byte, what is in it once it is compressed."""
    choice, content = (given[0], given[1:]) if given else (0, b"")
    if choice & 1:
        content = gzip.compress(content, mtime=0)
    suffixes = [".csv.gz", ".dat.gz", ".spmf.gz", ".txt.gz"]
    return _read(bytes([choice >> 1]) + content, suffixes, _OF_TEXTS)


def _zipped(given: bytes) -> object:
    """A workbook by its XML, which no change of packed bytes would reach."""
    choice, content = (given[:1], given[1:]) if given else (b"\0", b"")
    sheet, _, strings = content.decode("utf-8", "replace").partition("\0")
    return _read(choice + workbook(sheet, strings=strings.split("\0")), [".xlsx", ""], _OF_SHEETS)


def _show(release: Any) -> None:
    """Every form in which a loaded release is shown."""
    for form in ("to_json", "to_csv", "to_markdown", "to_arrow", "_repr_html_", "__repr__"):
        if (show := getattr(release, form, None)) is not None:
            show()


def _release(given: bytes) -> object:
    suffix = (".json", ".parquet")[given[0] & 1 if given else 0]
    found = on_disk(given[1:], suffix, fim.load)
    _show(found)
    return found


def _ledger(given: bytes) -> object:
    def ask(path: Path) -> object:
        with fim.Ledger(path) as ledger:
            repr(ledger)
            ledger._repr_html_()
            fim.count([["a"]] * 9, [["a"]], epsilon=0.5, delta=0, ledger=ledger, dataset="sales")
            return ledger.entries

    return on_disk(given, ".ledger", ask)


def _sqlite(given: bytes) -> object:
    def ask(path: Path) -> object:
        return fim.read_transactions(
            f"sqlite:///{path}",
            query="select order_id, product from sales",
            basket="order_id",
            item="product",
        )

    found = on_disk(given, ".db", ask)
    assert isinstance(found, Transactions)
    check_transactions(found)
    return found


def _of_suffix(suffixes: Sequence[str], ask: Callable[[Path], object]) -> Callable[[bytes], object]:
    return lambda given: on_disk(given[1:], suffixes[(given or b"\0")[0] % len(suffixes)], ask)


def _where(given: bytes) -> object:
    text = given.decode("utf-8", "replace")
    condition = where_of(text)
    again = where_of(str(condition))
    assert str(again) == str(condition), "what a release states of it means something else"
    return fim.read_transactions(SALES, **_LONG, where=text)


_CONDITIONS = [
    "customer = 'u' and day >= '1970-01-02'",
    "not (order_id in (1, 2, 3) or product is not null)",
    "order_id between 1 and 2.5e0 and customer <> 'it''s'",
    "\"order_id\" < -3 or `product` != 'é' or customer not in ('a')",
]
_LISTED = [b"bread\nbutter\n39\n", b"item\nbread\n", b'"a, b",c\nd\n', b"a b\nc\n"]
_LISTED.append(b'{"schema": 1, "itemsets": []}')

OBJECTS = [
    (
        b'{"order_id": 1, "product": "a", "customer": null}\n{"order_id": 1.0, "product": 39, '
        b'"customer": "u"}\n'
    ),
    (
        b'{"items": ["a", 39, null, true, -1e5], "customer": 1}\n\n{"items": null}\n{"items": [], '
        b'"b": {"c": [[1]]}}\n'
    ),
    b'{"items": ["\\ud83d\\ude00", "\\u0000"]}\r\n{"items": ["\xc3\xa9"]}',
    b'[{"items": ["a"]}]',
]
_SHEETS = [
    b'<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row><row r="2"><c '
    b'r="A2"><v>1</v></c>'
    b'<c r="B2" t="inlineStr"><is><t>tea</t></is></c></row>\0order_id\0product',
    b'<row><c t="str"><v>order_id</v></c><c t="s"><v>0</v></c></row><row><c '
    b's="1"><v>45000.5</v></c>'
    b'<c t="b"><v>1</v></c></row><row r="9"><c r="B9" t="e"><v>#N/A</v></c>'
    b'<c r="D9" t="d"><v>2024-01-02</v></c></row>\0product',
]
WORKBOOKS = [
    workbook({1: ["order_id", "product"], 2: [1, "a"], 3: [1.5, True]}),
    workbook({1: ["Sales"], 3: ["order_id", "product"], 4: [1, "a"]}, {}),
    workbook(_SHEETS[0].split(b"\0")[0].decode(), strings=["order_id", "product"]),
]

TARGETS: dict[str, Callable[[], Target]] = {
    "parquet": lambda: _reads([".parquet", ".pq", ""], _OF_TABLES, parquet_files(), [0, 1, 2, 4]),
    "arrow": lambda: _reads(
        [".arrow", ".feather", ".arrows", ""], _OF_TABLES, arrow_files(), [0, 2]
    ),
    "columns": lambda: _reads(
        [".csv", ".tsv", ".txt", ".csv"], _OF_TEXTS, TEXTS, [1, 2, 7, 9, 11, 128]
    ),
    "lines": lambda: _reads(
        [".csv", ".dat", ".spmf", ".txt"], _OF_TEXTS, TEXTS, [0, 32, 64, 13, 14, 15, 16]
    ),
    "gzip": lambda: Target(
        _gzip, [*_whole(TEXTS, [3, 5]), *_whole([gzip.compress(t) for t in TEXTS], [2, 4])]
    ),
    "json": lambda: _reads(
        [".jsonl", ".txt", ".ndjson", ""], _OF_TEXTS, OBJECTS, [0, 1, 4, 19, 34, 128, 129]
    ),
    "sheets": lambda: Target(_zipped, _whole(_SHEETS, [1, 9, 3, 7, 129, 137])),
    "workbooks": lambda: _reads([".xlsx", ""], _OF_SHEETS, WORKBOOKS, [1, 9, 3, 7, 129]),
    "bzip2": lambda: _reads(
        [".csv.bz2", ".dat.bz2"], _OF_TEXTS, [bz2.compress(t) for t in TEXTS], [1, 33]
    ),
    "sqlite": lambda: Target(_sqlite, [_database()]),
    "release": lambda: Target(_release, _releases()),
    "ledger": lambda: Target(_ledger, [_ledger_file()]),
    "catalogue": lambda: Target(
        _of_suffix([".csv", ".txt", ".parquet", ".arrow", ".csv.gz"], fim.read_catalogue),
        [
            *_whole(_LISTED, [0, 1]),
            *_whole([file for file in parquet_files() if len(file) < 1500], [2]),
            *_whole(arrow_files()[:4], [3]),
        ],
    ),
    "itemsets": lambda: Target(
        _of_suffix([".csv", ".dat", ".json", ".parquet", ".arrow"], given_itemsets),
        [
            *_whole(_LISTED, [0, 1, 2]),
            *(b"\2" + release[1:] for release in _releases()[::2]),
            *_whole(parquet_files()[4:8], [3]),
            *_whole(arrow_files()[4:8], [4]),
        ],
    ),
    "where": lambda: Target(_where, [condition.encode() for condition in _CONDITIONS]),
}
