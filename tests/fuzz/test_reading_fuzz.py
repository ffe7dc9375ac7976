"""Whatever is given to be read: an answer that keeps its promises, or one line. `make fuzz` runs these for long."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import fuzz_inputs as inputs
import pytest
from fuzz_limits import check_transactions, outcome
from hypothesis import given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.mining.count import given_itemsets
from fim_private.output import Screen, command_for, render_inspection
from fim_private.reading.inspection import Inspection
from fim_private.reading.transactions import Transactions

pytestmark = pytest.mark.full
SUFFIXES = st.sampled_from(inputs.SUFFIXES)


def on_disk(content: bytes, suffix: str, ask: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        path.write_bytes(content)
        return outcome(lambda: ask(path))


def check(found: Any) -> None:
    if isinstance(found, Transactions):
        check_transactions(found)
        assert "not shown" in repr(found)


@pytest.mark.parametrize("kind", ["text", "damaged"])
@given(data=st.data())
def test_files(kind: str, data: st.DataObject) -> None:
    content = data.draw(inputs.texts() if kind == "text" else inputs.damaged() | st.binary(max_size=60))
    options = data.draw(inputs.options())
    check(on_disk(content, data.draw(SUFFIXES), lambda path: fim.read_transactions(path, **options)))


@given(content=inputs.contents, suffix=SUFFIXES, options=inputs.options(odd=False))
def test_inspect(content: bytes, suffix: str, options: dict[str, Any]) -> None:
    def both(path: Path) -> tuple[Any, Any]:
        seen = outcome(lambda: fim.inspect(path, **options))
        again = dict(seen.options) if isinstance(seen, Inspection) else options
        return seen, outcome(lambda: fim.read_transactions(path, **again))

    found, read = on_disk(content, suffix, both)
    if isinstance(found, Inspection):
        assert isinstance(read, Transactions), read
        assert (read.baskets, len(read.vocabulary)) == (found.baskets, found.items)
        for screen in (Screen(), Screen(ascii_only=True)):
            assert render_inspection(found, screen)
        assert command_for(found)
    else:
        assert (type(read), str(read)) == (type(found), str(found))


@given(content=inputs.contents, suffix=SUFFIXES)
def test_catalogues_and_given_itemsets(content: bytes, suffix: str) -> None:
    on_disk(content, suffix, fim.read_catalogue)
    on_disk(content, suffix, given_itemsets)


@pytest.mark.parametrize("kind", ["tables", "frames", "objects"])
@given(data=st.data())
def test_in_memory(kind: str, data: st.DataObject) -> None:
    source = data.draw({"tables": inputs.tables(), "frames": inputs.frames(), "objects": inputs.objects}[kind])
    options = data.draw(inputs.options()) if data.draw(st.booleans()) else {}
    check(outcome(lambda: fim.read_transactions(source, **options)))


@given(source=inputs.objects | inputs.frames() | inputs.tables())
def test_in_memory_otherwise(source: Any) -> None:
    outcome(lambda: fim.read_catalogue(source))
    outcome(lambda: given_itemsets(source))
    outcome(lambda: fim.inspect(source))
