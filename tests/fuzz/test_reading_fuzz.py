"""Whatever is to be read: an answer that keeps its promises, or one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fuzz_inputs as inputs
import pytest
from byte_targets import on_disk
from fuzz_limits import check_transactions, outcome
from hypothesis import given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.output.inspections import command_for, render_inspection
from fim_private.output.screen import Screen
from fim_private.reading.inspection import Inspection
from fim_private.reading.transactions import Transactions

pytestmark = pytest.mark.full
SUFFIXES = st.sampled_from(inputs.SUFFIXES)


def check(found: Any) -> None:
    if isinstance(found, Transactions):
        check_transactions(found)
        assert "not shown" in repr(found)


@given(content=inputs.contents, suffix=SUFFIXES, options=inputs.options(odd=False))
def test_inspect(content: bytes, suffix: str, options: dict[str, Any]) -> None:
    def both(path: Path) -> tuple[Any, Any]:
        seen = outcome(lambda: fim.inspect(path, **options))
        again = dict(seen.options) if isinstance(seen, Inspection) else options
        return seen, outcome(lambda: fim.read_transactions(path, **again))

    outcomes: Any = on_disk(content, suffix, both)
    found, read = outcomes
    if isinstance(found, Inspection):
        assert isinstance(read, Transactions), read
        assert (read.baskets, len(read.vocabulary)) == (found.baskets, found.items)
        for screen in (Screen(), Screen(ascii_only=True)):
            assert render_inspection(found, screen)
        assert command_for(found)
    else:
        # The same refusal. To the data's owner, `inspect` may go on: it shows the damaged line.
        assert type(read) is type(found)
        assert str(found).startswith(str(read))


@pytest.mark.parametrize("kind", ["tables", "frames", "objects"])
@given(data=st.data())
def test_in_memory(kind: str, data: st.DataObject) -> None:
    source = data.draw(
        {"tables": inputs.tables(), "frames": inputs.frames(), "objects": inputs.objects}[kind]
    )
    options = data.draw(inputs.options()) if data.draw(st.booleans()) else {}
    check(outcome(lambda: fim.read_transactions(source, **options)))
