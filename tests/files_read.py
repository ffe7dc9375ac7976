"""What tests of files share: to write one, to read it, and to be refused in one line."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sources import ANY_ROWS, WRITERS, Item, baskets_of

from fim_private.errors import DataError
from fim_private.reading.purchases import read_transactions

LONG: dict[str, Any] = {"basket": "order_id", "item": "product"}
TWO = [{"milk", "bread"}, {"milk"}]
SECRET = "wine"  # stands for what no message may say


def baskets(source: Any, **options: Any) -> list[set[Item]]:
    return [*map(set, baskets_of(read_transactions(source, **options)))]


def written(folder: Path, name: str, content: str | bytes, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def in_every_form(rows: Sequence[tuple[str, str, str]], folder: Path) -> Iterator[Any]:
    """The same rows of user u, basket b and item i, all of them texts, in every form."""
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate("ubi")})
    for name in ANY_ROWS:
        yield WRITERS[name](table, folder)


def refused(source: Any, *parts: str, error: type[Exception] = DataError, **options: Any) -> str:
    """What the one line says with which a source is refused."""
    with pytest.raises(error) as caught:
        read_transactions(source, **options)
    shown = str(caught.value)
    assert "\n" not in shown
    assert SECRET not in shown
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    for part in parts:
        assert part in shown, shown
    return shown
