"""`where`: its grammar, and which rows pass: each by itself, the same in every source."""

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sales import COLUMNS, as_csv, sales
from sources import WRITERS, labels_of

import fim_private as fim
from fim_private.reading.purchases import read_transactions
from fim_private.reading.record_batches import plain
from fim_private.reading.values import is_missing
from fim_private.reading.where import ColumnTest, Condition, Joined, passing, where_of

SIGNS = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
AND_OR = st.sampled_from(["and", "or"])
NAMED = ["a", "b", "größe", "two words", 'say "so"', "and", "NULL", "_1"]
NAMES = st.sampled_from(NAMED) | st.text(min_size=1, max_size=4)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20)
TEXTUAL = st.text(max_size=5) | st.sampled_from(["2011-01-01", "it's", "1"])
LITERALS = TEXTUAL | st.booleans() | st.integers(-(2**70), 2**70) | DECIMALS
# Without one that escapes, which may stand only before %, _ and itself.
PATTERNS = st.text("ab%_é\\.*[]^", max_size=5).map(lambda text: (text,))


def conditions(names: st.SearchStrategy[str], literals: st.SearchStrategy[Any]) -> Any:
    several = st.lists(literals, min_size=1, max_size=3).map(tuple)
    both_ends = st.tuples(literals, literals)
    single = (
        st.builds(ColumnTest, names, st.sampled_from([*SIGNS]), st.tuples(literals))
        | st.builds(ColumnTest, names, st.just("in"), several, st.booleans())
        | st.builds(ColumnTest, names, st.just("between"), both_ends, st.booleans())
        | st.builds(ColumnTest, names, st.just("null"), negated=st.booleans())
    )

    def larger(part: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        negated = st.builds(Joined, st.just("not"), st.tuples(part))
        several = st.lists(part, min_size=2, max_size=3).map(tuple)
        return negated | st.builds(Joined, AND_OR, several)

    return st.recursive(single, larger, max_leaves=6)


ESCAPES = st.sampled_from(["", "!", "'"])
LIKE = st.builds(ColumnTest, NAMES, st.just("like"), PATTERNS, st.booleans(), ESCAPES)


@given(conditions(NAMES, LITERALS) | LIKE)
def test_what_is_written_is_read_as_it_was(condition: Condition) -> None:
    read = where_of(str(condition))
    assert read == condition
    assert str(read) == str(condition)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a != 'x' AND b IN (1, 2.50)", "a <> 'x' and b in (1, 2.50)"),
        ("a = 1 or b = 2 and not c = 3", "a = 1 or (b = 2 and not c = 3)"),
        ("not a not in ('it''s')", "not a not in ('it''s')"),
        ('"a b" = true\n  or\tc is null', '"a b" = true or c is null'),
        ("a >= -1.5e3", "a >= -1.5E+3"),
        (
            "a LIKE '%tea%' and not b not like '_!_' ESCAPE '!'",
            "a like '%tea%' and not b not like '_!_' escape '!'",
        ),
        ("escape = 1", "escape = 1"),
    ],
)
def test_ways_to_write_it(text: str, read: str) -> None:
    assert str(where_of(text)) == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "where lacks a column (in double quotes if its name is not one word) at its end"),
        ("country", "where lacks a sign, 'in', 'between', 'like' or 'is' at its end; write"),
        ("country = France", "where lacks a value ('text', a number, true or false) before 'Fran"),
        ("a = 1 b = 2", "where lacks 'and' or 'or' before 'b = 2'"),
        ("(a = 1", "where lacks ')' at its end"),
        ("a between 1 or 2", "where lacks 'and' before 'or 2'"),
        ("'x' = a", "where lacks a column (in double quotes if its name is not one word) before"),
        ("a like b", "where lacks a pattern ('text' with % or _ in it) before 'b'"),
        ("a like 'x' escape ''", "where must have one character behind escape"),
        ("a like 'x' escape '!!'", "where must have one character behind escape"),
        ("a like '!x' escape '!'", "where must have %, _ or itself behind the character of escape"),
        ("a like 'x!' escape '!'", "where must have %, _ or itself behind the character of escape"),
        ("a in ()", "where lacks a value ('text', a number, true or false) before ')'"),
        ("a = 1; drop table sales", "where lacks 'and' or 'or' before '; drop table sales'"),
        ("(" * 200 + "a = 1", "where must have at most 100 conditions inside each other"),
        (3, "where must be text"),
    ],
)
def test_what_is_not_understood_is_one_line(text: Any, message: str) -> None:
    for call in (lambda: fim.mine(["no file"], where=text), lambda: where_of(text)):
        with pytest.raises(fim.ParameterError) as caught:
            call()
        assert str(caught.value).startswith(message)
        assert "\n" not in str(caught.value)


def test_a_long_condition_is_read_as_a_short_one_is() -> None:
    column = {"a": pa.array([1, 7, None, 9999])}
    condition: Any = where_of(" or ".join(f"a = {number}" for number in range(5, 5000)))
    assert passing(condition, column, "it").to_pylist() == [False, True, None, False]


def with_a_change(text: str, place: int, sign: str) -> str:
    return text[:place] + sign + text[place + 1 :]


# Of all texts hardly any is a condition; of conditions with one letter changed, many.
CHANGED = st.builds(
    with_a_change,
    conditions(NAMES, LITERALS).map(str),
    st.integers(0, 20),
    st.sampled_from(["", *"ab1 '\"(),=<!.-"]),
)


@example("a<>1 or b is null")
@given(CHANGED | st.text("ab'\"()<>=!,.1e-+ \n", max_size=30) | st.text(max_size=20))
def test_any_text_is_a_condition_or_one_line(text: str) -> None:
    try:
        read = where_of(text)
    except fim.ParameterError as error:
        found = str(error)
    else:
        assert where_of(str(read)) == read
        found = ""
    assert "\n" not in found


_ISO = r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{6})?)?(Z|[+-]\d\d:\d\d)?)?"


def moment(value: Any) -> Any:
    """Microseconds since 1970, UTC; by Python's own reading of ISO 8601."""
    if isinstance(value, str):
        if re.fullmatch(_ISO, value, re.ASCII) is None:
            return None
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    elif not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    try:
        return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    except OverflowError:
        return None


def number(text: str) -> Any:
    if text in ("inf", "-inf", "Infinity", "-Infinity"):
        return float(text)
    if re.fullmatch(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) is None:
        return None
    return Fraction(text)


def single(value: Any, sign: str, literal: Any) -> Any:
    """Whether a value compares so: True, False, or None."""
    if value is None:
        return None
    if isinstance(value, str):
        value = value.strip()
        if isinstance(literal, bool):
            places = {word: place for place, word in enumerate(("false", "true", *"ft01"))}
            place = places.get(value.lower())
            value = None if place is None else bool(place % 2)
        elif not isinstance(literal, str):
            value, literal = number(value), Fraction(literal)
        elif (wanted := moment(literal.strip())) is not None:
            value, literal = moment(value), wanted
        else:
            literal = literal.strip()
        if value is None:
            return None
    elif isinstance(value, date):
        value, literal = moment(value), moment(literal.strip())
    elif isinstance(value, float):
        literal = float(literal)
    else:
        if isinstance(literal, bool) and value not in (0, 1):
            return None
        value, literal = Fraction(value), Fraction(literal)
    return SIGNS[sign](value, literal)


def oracle(condition: Condition, row: dict[str, Any]) -> Any:
    """SQL's three truth values, of one row."""
    if isinstance(condition, Joined):
        found = [oracle(part, row) for part in condition.conditions]
        if condition.word == "not":
            return None if found[0] is None else not found[0]
        decided = condition.word == "or"
        return decided if decided in found else None if None in found else not decided
    value = None if is_missing(row[condition.column]) else row[condition.column]
    match condition.sign:
        case "null":
            return (value is None) != condition.negated
        case "between":
            signs, word = [">=", "<="], "and"
        case "in":
            signs, word = ["="] * len(condition.values), "or"
        case sign:
            return single(value, sign, condition.values[0])
    values = zip(condition.values, strict=True)
    parts = (ColumnTest(condition.column, *one) for one in zip(signs, values, strict=True))
    answer = oracle(Joined(word, tuple(parts)), row)
    return answer if answer is None or not condition.negated else not answer


WORDS = "| |NA|x| x|X|é|1|01|1.0|-1|1e0|-inf|.5|true|F|0"
TEXTS = [*WORDS.split("|"), "9" * 20]
ISOS = "2011-01-01|2011-01-01 00:00|2011-01-01T12:00:00.500000|2010-12-31 23:00:00-01:00|2011-02-30"
TIMES = ISOS.split("|")
INTEGERS = [0, 1, -1, 127, -128]
MOMENTS = st.datetimes(datetime(2010, 12, 31), datetime(2011, 1, 2))
LARGE = [2**53, 2**53 + 1, -(2**63), 2**63 - 1]
FLOATS = [0.1, 0.0, -0.0, 1.0, math.nan, math.inf]
TENTHS = [Decimal("0.1"), Decimal("-0.01"), 0, 1]
ZONED = pa.timestamp("us", "Europe/Berlin")
HALF = Decimal("0.5")
WHEN = st.sampled_from(TIMES[:4])
one_of = st.sampled_from
# Of each type: its values, and the literals that it may be compared with.
KINDS: dict[str, tuple[Any, Any, Any]] = {
    "text": (pa.string(), one_of(TEXTS + TIMES), one_of([*TEXTS, *TIMES, 1, HALF, True])),
    "integer": (pa.int8(), one_of(INTEGERS), one_of([*INTEGERS, 128, -129, HALF, True])),
    "unsigned": (pa.uint64(), one_of([0, 2**64 - 1]), one_of([0, -1, 2**64 - 1, 2**64])),
    "large": (pa.int64(), one_of(LARGE), one_of([*LARGE, 2**63])),
    "float": (pa.float64(), st.sampled_from(FLOATS), st.sampled_from(TENTHS)),
    "decimal": (pa.decimal128(10, 2), st.decimals(-1, 1, places=2), st.sampled_from(TENTHS)),
    "boolean": (pa.bool_(), st.booleans(), st.booleans()),
    "day": (pa.date32(), MOMENTS.map(datetime.date), WHEN),
    "seconds": (pa.timestamp("s"), MOMENTS.map(lambda one: one.replace(microsecond=0)), WHEN),
    "millis": (pa.timestamp("ms"), MOMENTS.map(lambda one: one.replace(microsecond=500_000)), WHEN),
    "micros": (pa.timestamp("us"), MOMENTS, WHEN),
    "nanos": (pa.timestamp("ns"), MOMENTS, WHEN),
    "zoned": (ZONED, MOMENTS.map(lambda one: one.replace(tzinfo=UTC)), WHEN),
}


@st.composite
def tables(draw: Any, kinds: Any = tuple(KINDS)) -> Any:
    """Rows of two columns, of two types; and a condition on them."""
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=2))
    values = [st.none() | KINDS[kind][1] for kind in chosen]
    rows = draw(st.lists(st.tuples(*values), max_size=8))
    named = zip("ab", chosen, strict=True)
    parts = [conditions(st.just(name), KINDS[kind][2]) for name, kind in named]
    first, second = draw(parts[0]), draw(parts[1])
    joined = Joined(draw(AND_OR), (first, second))
    return chosen, rows, draw(st.sampled_from([joined, Joined("not", (joined,))]))


def columns(chosen: Any, rows: Any) -> dict[str, pa.Array]:
    named = zip("ab", chosen, *rows, strict=True)
    return {name: pa.array(values, KINDS[kind][0]) for name, kind, *values in named}


@given(tables())
@example((["text", "text"], [("é", " x")], where_of("a > 'x' and b = 'x '")))
def test_rows_pass_as_in_sql_and_each_by_itself(case: Any) -> None:
    chosen, rows, condition = case
    expected = [oracle(condition, dict(zip("ab", row, strict=True))) for row in rows]
    held = columns(chosen, rows)
    assert passing(condition, held, "it").to_pylist() == expected
    for place, row in enumerate(rows):  # alone
        assert passing(condition, columns(chosen, [row]), "it").to_pylist() == [expected[place]]
    if all(kind != "decimal" for kind in chosen):
        coded = {name: column.dictionary_encode() for name, column in held.items()}
        assert passing(condition, coded, "it").to_pylist() == expected
    wide = {pa.string(): pa.string_view()}
    views = [plain(column.cast(wide.get(column.type, column.type))) for column in held.values()]
    viewed = dict(zip(held, views, strict=True))
    assert passing(condition, viewed, "it").to_pylist() == expected


def csv(table: pa.Table, folder: Path) -> Path:
    # As Python writes them, and so that a comparison with a text would compare other letters.
    rows = zip(*table.to_pydict().values(), strict=True)
    texts = [["" if value is None else str(value) for value in row] for row in rows]
    lines = [";".join(row) + "\n" for row in [table.column_names, *texts]]
    (folder / "a.csv").write_text("".join(lines), encoding="utf-8")
    return folder / "a.csv"


SOME = ("arrow", "parquet", "pandas", "pandas objects", "polars")
WRITES: dict[str, Callable[[pa.Table, Path], Any]] = {name: WRITERS[name] for name in SOME}
WRITES["csv"] = csv


def kept(source: Any, condition: Condition | None) -> list[int]:
    """The numbers of the rows that pass."""
    read = read_transactions(source, basket="row", item="copy", where=condition)
    return [*map(int, labels_of(read.vocabulary))]


def answered(source: Any, condition: Condition | None) -> list[int] | str:
    """The numbers of the rows that pass, or why they are refused, without the name of the data."""
    try:
        return kept(source, condition)
    except fim.DataError as error:
        return str(error).partition(" of ")[0]


@pytest.mark.parametrize("write", WRITES)
@settings(max_examples=40)
@given(case=tables([kind for kind in KINDS if kind not in ("zoned", "nanos")]))
@pytest.mark.one_in(3)
def test_every_source(write: str, case: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    chosen, rows, condition = case
    if "pandas" in write and {"large", "unsigned"} & {*chosen}:
        return  # pandas makes floats of integers beside missing ones
    places = pa.array(range(len(rows)), pa.int64())
    table = pa.table({"row": places, "copy": places, **columns(chosen, rows)})
    truths = [oracle(condition, dict(zip("ab", row, strict=True))) for row in rows]
    expected = [place for place, is_true in enumerate(truths) if is_true is True]
    source = WRITES[write](table, tmp_path_factory.mktemp("a"))
    in_memory, from_source = answered(table, condition), answered(source, condition)
    if isinstance(in_memory, list):
        assert from_source == in_memory == expected
        return
    # Texts in another notation are refused, and in every source. But of Parquet, what cannot pass
    # by another column is not read.
    assert "text" in chosen
    assert from_source == in_memory or (write == "parquet" and from_source == expected)


def test_a_notation_is_not_looked_at_where_another_column_rules_all_rows_out(
    tmp_path: Path,
) -> None:
    table = pa.table({"row": [0], "copy": [0], "a": ["x"], "b": [0]})
    source = WRITERS["parquet"](table, tmp_path)
    condition = where_of("a < '2011-01-01' and b = 1")
    assert kept(source, condition) == []
    with pytest.raises(fim.DataError, match="not all of its values are dates"):
        kept(table, condition)


@pytest.mark.parametrize(
    ("kind", "values", "where", "message"),
    [
        (pa.int64(), [1], "a = 'x'", "where compares column 'a' of the table with a text"),
        (pa.bool_(), [True], "a = '2026-01-05'", "with a date, and its type is bool: compare it"),
        (pa.date32(), [1], "a = 1", "with a number, and its type is date32[day]: compare"),
        (pa.date32(), [1], "a = 'monday'", "with a text, and its type is date32[day]: compare"),
        (pa.bool_(), [True], "a = 1", "with a number, and its type is bool: compare it with true"),
        (pa.list_(pa.int8()), [[1]], "a in (1)", "with a number, and its type is list"),
    ],
)
def test_incomparable_types_are_named(kind: Any, values: Any, where: str, message: str) -> None:
    for rows in (values, values[:0]):  # also where there are none
        ones = pa.array([1] * len(rows), pa.int8())
        table = pa.table({"row": ones, "copy": ones, "a": pa.array(rows, kind)})
        with pytest.raises(fim.DataError) as caught:
            read_transactions(table, basket="row", item="copy", where=where)
        assert message in str(caught.value)


def likened(text: str, pattern: str, escape: str) -> bool:
    """Whether a text is like a pattern, by the rule of SQL, letter by letter."""
    if not pattern:
        return not text
    first, rest = pattern[0], pattern[1:]
    if escape and first == escape:
        return text[:1] == rest[0] and likened(text[1:], rest[1:], escape)
    if first == "%":
        return any(likened(text[start:], rest, escape) for start in range(len(text) + 1))
    return bool(text) and (first == "_" or first == text[0]) and likened(text[1:], rest, escape)


ALPHABET = "aB%_!é😀\\.*[]^$|(\n"


@given(
    st.lists(st.none() | st.text(ALPHABET, max_size=6), min_size=1, max_size=5),
    st.lists(st.sampled_from([*ALPHABET.replace("!", ""), "!%", "!_", "!!"]), max_size=5).map(
        "".join
    ),
    st.sampled_from(["", "!"]),
)
@example(["tea", "ea", "Tea", "green tea\nbag"], "%tea%", "")
@example(["50 %", "50 x"], "%!%", "!")
def test_like_is_that_of_sql(texts: list[str | None], pattern: str, escape: str) -> None:
    bare = [None if text is None or is_missing(text) else text.strip() for text in texts]
    expected = [None if text is None else likened(text, pattern.strip(), escape) for text in bare]
    test = ColumnTest("a", "like", (pattern,), escape=escape)
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        column = pa.array(texts, pa.string()).cast(kind)
        assert passing(test, {"a": column}, "it").to_pylist() == expected
    opposite = ColumnTest("a", "like", (pattern,), True, escape)
    found = passing(opposite, {"a": pa.array(texts, pa.string())}, "it").to_pylist()
    assert found == [None if one is None else not one for one in expected]


@pytest.mark.parametrize("source", [[["milk"]], np.eye(2, dtype=bool), "baskets.dat"])
def test_sources_without_columns(source: Any, tmp_path: Path) -> None:
    (tmp_path / "baskets.dat").write_text("1 2\n")
    source = tmp_path / source if isinstance(source, str) else source
    with pytest.raises(fim.ParameterError, match="where cannot be used with"):
        read_transactions(source, where="country = 'France'")
    read = fim.read_transactions([["milk"]])
    with pytest.raises(fim.ParameterError, match="leave out where: these purchases have been read"):
        read_transactions(read, where="country = 'France'")


@pytest.mark.parametrize("form", ["one-hot", "wide"])
def test_what_rows_are_chosen_by_is_no_item(form: str) -> None:
    cells: dict[str, Any] = {"one": ["milk", "milk", None], "two": [None, "tea", "tea"]}
    if form == "one-hot":
        cells = {"milk": [1, 1, 0], "tea": [0, 1, 1]}
    columns = {"country": ["France", "Spain", "France"], "member": [True, True, False]}
    table = pa.table({**cells, **columns})
    for source in (table, table.to_pandas(), pl.from_arrow(table)):
        chosen = "country = 'France' and member = true"
        read = read_transactions(source, input_format=form, where=chosen)
        assert (labels_of(read.vocabulary), read.baskets) == (["milk"], 1)


def test_row_groups_and_files_that_cannot_pass_are_not_read(tmp_path: Path) -> None:
    rows = 1000
    table = pa.table(
        {
            "row": range(rows),
            "copy": range(rows),
            "day": pa.array(range(rows), pa.int32()).cast(pa.date32()),
            "price": [float(place) for place in range(rows)],
            "country": sorted(["Austria", "France", "Spain", "Sweden"] * (rows // 4)),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    group = pyarrow.parquet.ParquetFile(tmp_path / "a.parquet").metadata.row_group(9)
    for place in range(group.num_columns):  # the last one is damaged
        column = group.column(place)
        start, size = column.dictionary_page_offset, column.total_compressed_size
        start = start or column.data_page_offset
        content[start : start + size] = b"\xff" * size
    (tmp_path / "a.parquet").write_bytes(content)
    skip_the_last = (
        "row < 900; not row >= 900; price between 10 and 20.5; country = 'France'; "
        "day in ('1970-01-05', '1971-01-01'); country in ('Austria', 'Spain') and row < 5; "
        "row < 5 or price = 7; row = 12.5; row not between 899 and 999; "
        "not (row > 5 or country <> 'France')"
    )
    for where in skip_the_last.split("; "):
        expected = kept(table, where_of(where))
        assert kept(tmp_path / "a.parquet", where_of(where)) == expected
    read_it = "row >= 899; not row < 900; country = 'Sweden'; country is null; price <> 3"
    for where in read_it.split("; "):
        with pytest.raises(fim.DataError, match="truncated, damaged"):
            kept(tmp_path / "a.parquet", where_of(where))
    for place, name in enumerate(("2010", "2011", "x")):
        (tmp_path / "parts" / f"year={name}").mkdir(parents=True)
        path = tmp_path / "parts" / f"year={name}" / "a.parquet"
        pyarrow.parquet.write_table(pa.table({"row": [place], "copy": [place]}), path)
    path.write_bytes(b"PAR1 no more")
    assert kept(tmp_path / "parts", where_of("year >= 2011")) == [1]
    assert kept(tmp_path / "parts", where_of("year = '2010' and row >= 0")) == [0]


@pytest.mark.parametrize(
    "condition", ["x >= true", "x < true", "x = true", "x in (true, 7)", "x between true and true"]
)
@pytest.mark.parametrize("last", [5, -3, 1, 0])
def test_truth_values_hide_no_row_group(condition: str, last: int, tmp_path: Path) -> None:
    """Of numbers 0 and 1 are truth values."""
    table = pa.table({"row": [1, 2, 3, 4, 5], "item": ["a"] * 5, "x": [1, 1, 0, 1, last]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    how: dict[str, Any] = {"basket": "row", "item": "item", "where": condition}
    try:
        expected = fim.read_transactions(table, **how).units
    except fim.FimPrivateError:
        return
    assert fim.read_transactions(tmp_path / "a.parquet", **how).units == expected


def test_white_space_hides_no_row_group(tmp_path: Path) -> None:
    texts = ["x", " x", "\tx", "\u3000x", "x\u3000", "xx", "w", "NA", "\u00a0y"]
    places = [*range(len(texts))]
    table = pa.table({"row": places, "copy": places, "a": texts})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    assert kept(tmp_path / "a.parquet", where_of("a = ' x'")) == [0, 1, 2, 3, 4]
    assert kept(tmp_path / "a.parquet", where_of("a in ('y', 'w')")) == [6, 8]
    assert kept(tmp_path / "a.parquet", where_of("a is null")) == [7]


def test_a_release_and_an_inspection_state_it(tmp_path: Path) -> None:
    from fim_private.output.inspections import command_for
    from fim_private.output.releases import render_table
    from fim_private.output.screen import Screen

    where, normal = "country='France' and price < 5", "country = 'France' and price < 5"
    read = read_transactions(sales(), where=where, basket="order_id", item="product")
    release = fim.mine(read, seed=1, epsilon=20)
    assert release.where == normal
    assert f"Only rows where {normal} were read." in render_table(release, Screen())
    assert release.rows_read[0] in release.to_markdown().replace("\\", "")
    release.save(tmp_path / "release.json")
    loaded = fim.load(tmp_path / "release.json")
    assert isinstance(loaded, fim.Release)
    assert loaded.where == normal
    asked: dict[str, Any] = {"where": where, "basket": "order_id", "item": "product", "seed": 1}
    assert fim.count(sales(), [["product 0"]], **asked).to_dict()["where"] == normal
    assert "where" not in fim.mine([["milk"]] * 9, seed=1).to_dict()
    path = as_csv(sales(), tmp_path / "sales.csv")
    seen = fim.inspect(path, where=where, **COLUMNS, missing_user="drop")
    assert str(seen.read_as).endswith(f"; where {normal}")
    assert {column.name: column.role for column in seen.columns}["country"] == "where"
    rows = sales().to_pylist()
    assert seen.rows == sum(row["country"] == "France" and row["price"] < 5 for row in rows)
    assert "--where" in command_for(seen)
