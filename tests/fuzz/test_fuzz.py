"""Whatever is to be read, and whatever is asked: an answer that keeps its promises, or one line."""

import contextlib
import io
import json
import os
import re
import tempfile
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any
from unittest.mock import patch

import fuzz_inputs as inputs
import numpy as np
import pyarrow.parquet
import pytest
from byte_targets import LISTS, on_disk
from fuzz_limits import check_transactions, outcome, within_limits
from hypothesis import given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.cli import main
from fim_private.mechanisms.registry import REGISTRY
from fim_private.output.inspections import command_for, render_inspection
from fim_private.output.screen import Screen
from fim_private.reading.inspection import Inspection
from fim_private.reading.transactions import Transactions
from fim_private.release.release import Release

pytestmark = pytest.mark.full
SUFFIXES = st.sampled_from(inputs.SUFFIXES)


def check_read(found: Any) -> None:
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
    kinds = {"tables": inputs.tables(), "frames": inputs.frames(), "objects": inputs.objects}
    source = data.draw(kinds[kind])
    options = data.draw(inputs.options()) if data.draw(st.booleans()) else {}
    check_read(outcome(lambda: fim.read_transactions(source, **options)))


# -------------------- whatever is asked of whatever data: a release in its form, or one line


_NUMBERS: list[Any] = [0, 1, 2, 3, -1, 10**6, 10**30, 10**400, 1.0, 1e-6, 1e-400, 0.5, 1.5, 1e300]
_NUMBERS += [True, None, float("nan"), float("inf"), "", "1", "1_0", "2-4", Fraction(1, 3)]
_NUMBERS += [np.int64(2), np.float64(0.5), [], range(1, 3), object()]
numbers = st.sampled_from(_NUMBERS)
_MECHANISMS = ["auto", "", "no such", *(spec.name for spec in REGISTRY)]
_SHOPS: dict[str, Any] = {
    "many": [["bread", "butter"]] * 900 + [["bread", "jam", 3]] * 500 + [["tea"]] * 20,
    "none": [],
    "empty": [[]],
    "long": inputs.LONG,
    "lists": LISTS,
    "numbers": inputs.NUMBERS,
    "missing": "no such file.csv",
}
_OF_NUMBERS = "epsilon delta size top supports_share max_rank max_basket max_baskets universe_size"
_KNOWN = signature(fim.mine).parameters


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    """Parameters of mine: mostly plain ones, some of them odd."""
    asked: dict[str, Any] = {"seed": 1, "max_work": 10**6}
    for name in _OF_NUMBERS.split():
        if draw(st.integers(0, 5)) == 0:
            asked[name] = draw(numbers)
    plain: dict[str, list[Any]] = {
        "epsilon": [0.1, 1, 5, 20],
        "delta": [0, 1e-9, 1e-6, 0.01],
        "size": [1, 2, "1-2", "1-3", 4],
        "top": [1, 2, 10],
        "union": [True, False],
        "supports": [True, False],
        "keep_all": [True, False],
        "mechanism": _MECHANISMS,
        "neighbors": ["replace-one", "add-remove", "both"],
        "catalogue": [["bread", "butter", "tea", "jam"], [], range(10), "none.csv"],
        "user": ["customer"],
        "missing_user": ["drop", "own-unit"],
        "count": [True, False],
        "rho": [0.1, 1, -1, "x"],
        "min_support": [0.1, 2, 500, -1, "x", 0],
    }
    for name, values in plain.items():
        if name in _KNOWN and name not in asked and draw(st.integers(0, 2)) == 0:
            asked[name] = draw(st.sampled_from(values))
    return asked


def check_release(release: Any) -> None:
    if not isinstance(release, Release):
        return
    assert not release.private
    assert json.loads(release.to_json())["schema"] == 1
    for form in (release.to_csv, release.to_arrow, lambda: repr(release), release._repr_html_):
        assert form() is not None
    outcome(release.to_pandas)


@given(shop=st.sampled_from([*_SHOPS]), asked=questions())
def test_mine(shop: str, asked: dict[str, Any]) -> None:
    check_release(outcome(lambda: fim.mine(_SHOPS[shop], **asked)))


# -------------------- command line

_PLAIN = "0 1 2 -1 1_0 \u0663 \uff11 1e400 nan inf 1.5 2-3 x - 0x10 1e-6 json csv a.csv ~ /"
_WORDS = [*_PLAIN.split(), "b.parquet", "out.txt", "", " 1", "10" * 30, "\0", "\u00e9"]
_NAMES = (
    "size epsilon delta top union supports supports-share keep-all mechanism neighbors max-rank "
    "user missing-user "
    "basket item items input-format delimiter header no-header encoding catalogue format output "
    "seed universe-size "
    "max-work units typical-basket confidence trials help version itemsets"
)
_OPTIONS = ["-h", "-x", *(f"--{name}" for name in _NAMES.split())]
arguments = st.lists(st.sampled_from([*_OPTIONS, *_WORDS, *_MECHANISMS]), max_size=6)


def exit_code(words: list[str]) -> tuple[int, str, str]:
    """Run the command line in this process."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with (
        patch("sys.argv", ["fim-private", *words]),
        patch("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a b\n" * 3))),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        within_limits(),
    ):
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code
    assert isinstance(code, int)
    return code, text_of(out), text_of(err)


def text_of(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


@given(
    command=st.sampled_from(["mine", "count", "inspect", "plan", "audit", "no such", ""]),
    words=arguments,
    content=inputs.contents,
)
def test_command_line(command: str, words: list[str], content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.csv").write_bytes(content)
        pyarrow.parquet.write_table(inputs.LONG, f"{folder}/b.parquet")
        before = {path.name for path in Path(folder).iterdir()}
        here = Path.cwd()
        os.chdir(folder)
        try:
            mined = ["a.csv", "--max-work", "1000000"] if command == "mine" else []
            code, out, err = exit_code([command, *mined, *words])
        finally:
            os.chdir(here)
        left = {path.name for path in Path(folder).iterdir()} - before
    assert code in (0, 2), (code, err)
    assert "Traceback" not in out + err
    if code == 2:
        last = [line for line in err.splitlines() if not line.startswith("Warning: ")]
        assert len(last) == 1 or not words, err
        assert not left, left
    assert not re.search(r"\.part$", " ".join(left))
