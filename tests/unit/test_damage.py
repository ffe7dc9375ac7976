"""Files cut off at each byte, and with each byte changed: an answer, or one line."""

import gzip
import json
import re
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from byte_targets import arrow_files, parquet_files
from fuzz_limits import outcome
from patience import python

import fim_private as fim
from fim_private.errors import DataError

LONG: dict[str, Any] = {"basket": "order_id", "item": "product"}
WHERE = LONG | {"where": "day >= '1970-01-02' or customer is null or order_id > 1 or product = 'a'"}
OF_LISTS: dict[str, Any] = {"items": "items", "user": "customer", "missing_user": "drop"}
CSV = b'order_id,product\n1,a\n1,"b ""c"""\n2,\xc3\xa9\n'

PROGRAM = """
import json, sys, warnings
from pathlib import Path
import fim_private as fim

warnings.simplefilter("error", append=True)
path, options, places, masks = sys.argv[1], *map(json.loads, sys.argv[2:])
whole, read, refused, lines = Path(path).read_bytes(), 0, 0, set()
for place in range(*places):
    for mask in masks:
        changed = whole[:place] if not mask else whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :]
        Path(path).write_bytes(changed)
        try:
            data = fim.read_transactions(path, **options)
            assert int(data.offsets[-1]) == len(data.items) and data.items.max(initial=-1) < len(data.vocabulary)
            [data.vocabulary.label(code) for code in data.items.tolist()]
            read += 1
        except fim.FimPrivateError as error:
            refused += 1
            lines.add(str(error))
print(json.dumps([read, refused, sorted(lines)]))
"""  # noqa: E501


def outcomes(
    path: Path, content: bytes, options: Any, step: int, masks: Any, places: Any = None
) -> tuple[int, int]:
    """How many of the damaged files were read, and how many refused, each in one line."""
    path.write_bytes(content)
    given = [json.dumps(value) for value in (options, places or [0, len(content), step], masks)]
    read, refused, lines = json.loads(python("-c", PROGRAM, path, *given).stdout)
    assert all(line.isprintable() and "order_id>" not in line for line in lines), lines
    return read, refused


PARQUET, ARROW = parquet_files(), arrow_files()
WHOLE: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "parquet": (".parquet", PARQUET[0], LONG),
    "parquet pages of version 2": (".parquet", PARQUET[1], LONG),
    "parquet row groups": (".parquet", PARQUET[2], LONG),
    "parquet with where": (".parquet", PARQUET[2], WHERE),
    "parquet with where and no arrow schema": (".parquet", PARQUET[3], WHERE),
    "parquet lists": (".parquet", PARQUET[4], OF_LISTS),
    "feather": (".feather", ARROW[0], LONG),
    "feather lz4": (".feather", ARROW[1], LONG),
    "arrow stream": (".arrows", ARROW[3], LONG),
    "arrow lists": (".arrow", ARROW[5], OF_LISTS),
    "csv": (".csv", CSV, LONG),
    "gzip": (".csv.gz", gzip.compress(CSV, mtime=0), LONG),
}


@pytest.mark.parametrize("form", WHOLE)
@pytest.mark.one_in(4)
def test_files_that_are_cut_off(form: str, tmp_path: Path) -> None:
    suffix, content, options = WHOLE[form]
    step = 1 if len(content) < 200 else 37
    read, refused = outcomes(tmp_path / f"a{suffix}", content, options, step, [0])
    assert refused
    assert form == "csv" or "stream" in form or not read


@pytest.mark.full
@pytest.mark.parametrize("form", WHOLE)
def test_files_with_a_byte_changed(form: str, tmp_path: Path) -> None:
    """Every seventh, or every one of a short file."""
    suffix, content, options = WHOLE[form]
    step = 1 if len(content) < 200 else 7
    read, refused = outcomes(tmp_path / f"a{suffix}", content, options, step, [1, 8, 64, 255])
    assert read + refused == 4 * len(range(0, len(content), step))
    assert read
    assert refused
    if form == "parquet with where":
        # Arrow's Python asks without a guard for what is known of columns: it ended the process
        # (abort).
        footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        outcomes(tmp_path / "a.parquet", content, options, 5, [70, 255], [footer, len(content), 5])


@pytest.mark.parametrize(
    "content", [b"a\0b,c\n\0\n", b"\xff\xfe\xfd,a\n", b"\0" * 999, b"a,b\n\xc3\n", b"\xf0\x9f"]
)
@pytest.mark.parametrize("suffix", [".csv", ".dat", ".txt", ".spmf", ".tsv"])
def test_nuls_and_bytes_that_are_no_text(content: bytes, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    asked: list[dict[str, Any]] = [{}, {"basket": "a", "item": "b"}, {"input_format": "wide"}]
    for options, ask in product(asked, (fim.read_transactions, fim.inspect)):
        outcome(partial(ask, path, **options))


def test_a_parquet_file_whose_two_schemas_differ(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    plain = pa.table({"order": [1], "item": ["a"]})
    pyarrow.parquet.write_table(plain, path)
    whole = path.read_bytes()
    refused = 0
    for place in (match.start() for match in re.finditer(rb"item", whole)):
        path.write_bytes(whole[:place] + b"xxxx" + whole[place + 4 :])
        try:
            data = fim.read_transactions(path, basket="order", item="item")
            assert data.vocabulary.label(0) == "a"
        except DataError:
            refused += 1
    assert refused
