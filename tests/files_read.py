"""What tests of files share: to write one, to read it, and to be refused in one line."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fim_private.errors import DataError
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions

LONG: dict[str, Any] = {"basket": "order_id", "item": "product"}
TWO = [{"milk", "bread"}, {"milk"}]


def baskets(data: Transactions) -> list[set[Item]]:
    return [
        {data.vocabulary.label(code) for code in data.items[a:b].tolist()}
        for a, b in pairwise(data.offsets)
    ]


def written(folder: Path, name: str, content: str | bytes, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def refused(source: Any, *parts: str, **options: Any) -> str:
    """What the one line says with which a source is refused."""
    with pytest.raises(DataError) as caught:
        read_transactions(source, **options)
    shown = str(caught.value)
    assert "\n" not in shown
    for part in parts:
        assert part in shown, shown
    return shown
