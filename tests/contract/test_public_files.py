"""`inspect` and `mine` agree on files of every kind, or on why they are refused."""

import json
import shlex
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from commands import Done, run
from files_read import baskets, written
from public_files import PublicFile, public_files

import fim_private as fim
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions

FILES = public_files()


def test_there_are_two_hundred_kinds() -> None:
    assert len(FILES) >= 200
    assert len({file.name for file in FILES}) == len(FILES)


def most_frequent_pair(data: Transactions) -> frozenset[Any]:
    counts = Counter(two for own in baskets(data) for two in combinations(sorted(own, key=str), 2))
    (first, many), (_, fewer) = counts.most_common(2)
    assert many > fewer
    return frozenset(first)


def check(file: PublicFile, folder: Path) -> None:
    path = written(folder, file.name, file.content)
    if file.top is None:
        with pytest.raises(fim.FimPrivateError) as seen:
            fim.inspect(path)
        assert file.refusal in str(seen.value)
        with pytest.raises(fim.FimPrivateError):
            read_transactions(path)
        with pytest.raises(fim.FimPrivateError) as refused:
            read_transactions(path, **dict(file.tried))
        assert str(seen.value).startswith(str(refused.value))
        return
    found = fim.inspect(path)
    data = read_transactions(path, **found.options)
    assert most_frequent_pair(data) == file.top
    assert (data.baskets, len(data.vocabulary)) == (found.baskets, found.items)
    again = fim.inspect(path, **found.options)
    assert again.guessed == ()
    unsaid: dict[str, Any] = {"guessed": [], "notes": []}
    assert again.to_dict() | unsaid == found.to_dict() | unsaid
    if not found.guessed:
        return
    with pytest.raises(fim.FimPrivateError):
        read_transactions(path)


@pytest.mark.parametrize("start", range(0, len(FILES), 10))
@pytest.mark.every_case
def test_inspect_and_mine_agree(start: int, tmp_path: Path) -> None:
    failures = []
    for file in FILES[start : start + 10]:
        try:
            check(file, tmp_path)
        except (AssertionError, fim.FimPrivateError, pytest.fail.Exception) as error:
            failures.append(f"{file.name}: {error}")
    assert failures == []


# One of each twenty, and of the kinds whose options, or names, are unusual.
UNUSUAL = "whole-line-lf.csv arules-lf.csv matrix-spaces-lf.dat -orders.csv nul.csv json-lines.json"
SOME = [file for place, file in enumerate(FILES) if place % 20 == 0 or file.name in UNUSUAL.split()]


@pytest.mark.parametrize("file", SOME, ids=[file.name for file in SOME])
@pytest.mark.every_case
def test_the_printed_command_finds_the_pair(file: PublicFile, tmp_path: Path) -> None:
    written(tmp_path, file.name, file.content)
    seen = run(tmp_path, "inspect", "--json", "--", file.name)
    if file.top is None:
        assert seen.returncode == 2
        if not file.tried:
            assert run(tmp_path, "mine", file.name) == Done("", seen.stderr, 2)
        assert seen.stderr.startswith("Error: ")
        assert seen.stderr.count("\n") == 1
        return
    assert (seen.returncode, seen.stderr) == (0, "")
    words = shlex.split(json.loads(seen.stdout)["command"])[1:]
    mined = run(tmp_path, *words, "--epsilon", "1000", "--seed", "1", "--json")
    assert mined.returncode == 0, mined.stderr
    assert frozenset(json.loads(mined.stdout)["itemsets"][0]["items"]) == file.top
