"""An object store, read through Arrow's file system: a server of S3's protocol (moto)."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from commands import run
from patience import PATIENCE
from sources import labels_of

import fim_private as fim

pytestmark = pytest.mark.full
READ: dict[str, Any] = {"basket": "order", "item": "product"}
SECRET = "wJalrXUtnFEMI"


def sales(baskets: int, item: str) -> pa.Table:
    products = ["tea"] * baskets + [item] * baskets
    return pa.table({"order": [*range(baskets)] * 2, "product": products})


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """A store with a bucket of three files in two folders: what its addresses end in."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", host.rpartition(":")[2]]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before = dict(os.environ)
    os.environ.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY=SECRET)
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    try:
        _fill(server, host)
        yield f"?endpoint_override={host}&scheme=http&region=us-east-1"
    finally:
        server.kill()
        server.wait()
        os.environ.clear()
        os.environ.update(before)


def _fill(server: subprocess.Popen[bytes], host: str) -> None:
    """Write the files, once the server answers."""
    from pyarrow import fs

    ends = time.monotonic() + PATIENCE
    while True:
        assert server.poll() is None, "moto.server does not start: install the extra bench"
        try:
            socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2])), timeout=1).close()
            break
        except OSError:
            assert time.monotonic() < ends, "moto.server does not answer"
            time.sleep(0.1)
    known: Any = {"scheme": "http", "region": "us-east-1", "allow_bucket_creation": True}
    system = fs.S3FileSystem(endpoint_override=host, **known)
    system.create_dir("shop")
    for path, table in (
        ("shop/sales/year=2024/a.parquet", sales(300, "milk")),
        ("shop/sales/year=2025/b.parquet", sales(200, "jam")),
        ("shop/sales/year=2025/_part.parquet", sales(900, "bread")),
    ):
        pyarrow.parquet.write_table(table, path, filesystem=system)
    with system.open_output_stream("shop/lines.csv") as stream:
        stream.write(b"tea,milk\ntea\n" * 50)
    with system.open_output_stream("shop/listed/items.txt") as stream:
        stream.write(b"milk\ntea\n")


@pytest.mark.parametrize(
    ("place", "where", "baskets", "items"),
    [
        ("sales/year=2024/a.parquet", None, 300, ["milk", "tea"]),
        ("sales", None, 300, ["jam", "milk", "tea"]),
        ("sales", "year = 2025", 200, ["jam", "tea"]),
        ("sales/*/*.parquet", "year = 2024", 300, ["milk", "tea"]),
    ],
)
def test_folders(place: str, where: str | None, baskets: int, items: list[str], store: str) -> None:
    found = fim.read_transactions(f"s3://shop/{place}{store}", **READ, where=where)
    assert (found.baskets, labels_of(found.vocabulary)) == (baskets, items)


def test_text_and_the_command(store: str, tmp_path: Path) -> None:
    assert fim.read_transactions(f"s3://shop/lines.csv{store}").baskets == 100
    options = "--basket order --item product --format json --seed 1"
    done = run(tmp_path, "mine", f"s3://shop/sales{store}", *options.split())
    assert json.loads(done.stdout)["itemsets"][0]["items"] == ["milk", "tea"]


def test_public_lists_are_read_from_there_too(store: str) -> None:
    found = fim.read_catalogue(f"s3://shop/listed/items.txt{store}")
    assert labels_of(found) == ["milk", "tea"]
    asked: dict[str, Any] = {**READ, "size": 1, "epsilon": 100, "seed": 1}
    release = fim.mine(sales(300, "bread"), exclude=f"s3://shop/listed{store}", **asked)
    assert release[0].items == ("bread",)
    listed: dict[str, Any] = {"catalogue": f"s3://shop/sales{store}", "catalogue_item": "product"}
    release = fim.mine(sales(300, "bread"), **asked, **listed)
    assert release.to_dict()["catalogue"]["source"] == "sales"
    assert SECRET not in release.to_json()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("shop/nothing.parquet", "check the path"),
        ("shop/none/*.parquet", "check the path"),
        ("shop/sales/year=2023", "check the path"),
        ("nobucket/sales", "nobucket"),
    ],
)
def test_what_is_not_there_is_one_line(place: str, message: str, store: str) -> None:
    with pytest.raises(fim.DataError, match=message) as caught:
        fim.read_transactions(f"s3://{place}{store}", **READ)
    assert SECRET not in str(caught.value)
