"""The messages of errors: which words of them are parameters."""

import copy
import pickle
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.cli.commands import as_typed
from fim_private.errors import DataError, FimPrivateError, ParameterError, parameter

MARKED = f"{parameter('max_rank')} goes with {parameter('size')}"
FAMILY = [FimPrivateError, ParameterError, DataError, fim.MissingExtraError]
FAMILY += [fim.WorkLimitError, fim.OutputError]


@pytest.mark.parametrize("kind", FAMILY)
def test_a_marked_word_is_spelled_by_whoever_shows_it(kind: type[FimPrivateError]) -> None:
    error = kind(MARKED)
    assert str(error) == "max_rank goes with size"
    assert error.args == ("max_rank goes with size",)
    assert repr(error) == f"{kind.__name__}('max_rank goes with size')"
    assert error.spelled(as_typed) == "--max-rank goes with --size"
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert (type(other), str(other)) == (kind, str(error))
        assert other.spelled(as_typed) == "--max-rank goes with --size"  # also of another process
    plain = kind("max_rank goes with size")
    assert str(plain) == plain.spelled(str.upper) == "max_rank goes with size"


def test_names_of_mlxtend_lead_to_ours_and_a_misspelt_one_is_a_type_error() -> None:
    ours = {"max_len": "size='1-3'", "use_colnames": "leave it out", "metric": "min_lift"}
    ours["min_threshold"] = "rules"
    for name, words in ours.items():
        calls: tuple[Any, ...] = partial(fim.mine, [["tea"]]), fim.mine([["tea"]], seed=1).rules
        for call in calls:
            with pytest.raises(TypeError, match=f"{name}'; that is mlxtend's name: .*{words}"):
                call(**{name: 1})
    with pytest.raises(TypeError, match=r"argument 'epsilonn'$"):
        fim.mine([["tea"]], epsilonn=1)  # type: ignore[call-overload]


@given(st.text(max_size=60))  # longer ones are shortened
@example("size")
@example("it's size")
@example(parameter("size"))
def test_what_a_caller_chose_is_never_respelled(value: str) -> None:
    with pytest.raises(ParameterError) as caught:
        fim.mine("no such file.parquet", neighbors=value)
    rest = f" must be one of replace-one, add-remove, not {value!r}"
    assert str(caught.value) == "neighbors" + rest
    assert caught.value.spelled(str.upper) == "NEIGHBORS" + rest


@pytest.mark.parametrize("field", ["max_rank", "size", "two\nlines", "\x1b[2J", parameter("size")])
def test_the_fields_of_a_struct_are_never_respelled(field: str) -> None:
    struct = pa.array([{field: 1}])
    shown = f"struct<{field}: int64>".encode("unicode_escape").decode()
    table = pa.table({"max_rank": struct, "items": [["tea"]]})
    none: dict[str, Any] = {}
    wrong = ((table.select(["max_rank"]), none), (table, {"user": "max_rank"}), (struct, none))
    for source, options in wrong:
        with pytest.raises(DataError) as caught:
            fim.read_transactions(source, **options)
        assert shown in str(caught.value)
        assert shown in caught.value.spelled(as_typed)
