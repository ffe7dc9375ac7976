"""Reading looks at one unit at a time: nobody else's rows change what a unit's baskets are, nor
which of them count.

All proofs rest on it. Checked against a slow definition, for every form and every type of
identifier, and literally: a file is the sum of the files of its units, and one unit more, less or
replaced moves every support by at most 1.
"""

import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import reading_reference as reference
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from reading_files import FORMS, File, Form, drawn_files, small_pieces
from reading_reference import Basket, Meaning
from sources import SOURCES, STRINGS_ONLY, units_of

from fim_private.counting import COUNTERS, Effort, LocalSource, itemset_spectrum
from fim_private.counting.portable import item_level_sums, repeated_items
from fim_private.counting.source import Catalogue, Grouping
from fim_private.errors import DataError
from fim_private.reading import memory as chunk_sizes
from fim_private.reading import transactions
from fim_private.reading.contribution_bounds import drawn_baskets, text_digest
from fim_private.reading.labels import (
    Item,
    Vocabulary,
    canonical_vocabulary,
    mixed_vocabulary,
)
from fim_private.reading.labels import numbers as numbered
from fim_private.reading.purchases import read_catalogue, read_transactions
from fim_private.reading.transactions import Transactions

Units = list[list[Basket]]
Held = Counter[Hashable]

LISTED = ("a", "1", "\u00e9", 0, 2, 2**63 - 1)
SIZES = (1, 2, 3)


def as_multisets(units: Iterable[Iterable[Basket]]) -> Held:
    return Counter(frozenset(Counter(unit).items()) for unit in units)


def as_sets(units: Iterable[Iterable[Basket]]) -> Held:
    """Equal baskets are one under a cap, and empty ones none."""
    return Counter(frozenset(basket for basket in unit if basket) for unit in units)


@dataclass(frozen=True)
class View:
    """What a mechanism may be given of the data.

    definition: what it makes of one unit's baskets, by the reference. caps: max_basket and
    max_baskets, where which of the baskets count has no definition but that it follows from them.
    """

    of: Callable[[Transactions], Transactions]
    definition: Callable[[Sequence[Basket]], list[Basket]] | None = None
    caps: tuple[int, int] | None = None

    @property
    def counted(self) -> Callable[[Units], Held]:
        return as_multisets if self.definition else as_sets


def capped(max_basket: int, max_baskets: int) -> View:
    return View(lambda data: data.capped(max_basket, max_baskets), caps=(max_basket, max_baskets))


CATALOGUE = read_catalogue(LISTED)


def in_catalogue(data: Transactions) -> Transactions:
    return data.recoded(data.vocabulary.codes_in(CATALOGUE), CATALOGUE)


# Groups of some items, by their codes.
GROUP_OF: dict[Item, int] = {"a": 0, "\u00e9": 0, 0: 1, 2: 1}
MEMBERS, PLACES = mixed_vocabulary([*GROUP_OF])
GROUPING = Grouping(MEMBERS, np.array([*GROUP_OF.values()], dtype=np.int32)[np.argsort(PLACES)])


def grouped(data: Transactions) -> Transactions:
    return LocalSource(data).items(Catalogue(numbered(2), GROUPING)).transactions


VIEWS = {
    "as read": View(lambda data: data, list),
    "one item of a basket": capped(1, 2),
    "one basket": capped(2, 1),
    "two baskets": capped(3, 2),
    "catalogue": View(in_catalogue, lambda unit: reference.listed(unit, LISTED)),
    "groups": View(
        grouped,
        lambda unit: [frozenset(GROUP_OF[item] for item in b if item in GROUP_OF) for b in unit],
    ),
    "cut": View(lambda data: data.cut_to(2), lambda unit: reference.cut(unit, 2)),
    "left out": View(lambda d: d.without(CATALOGUE), lambda unit: reference.unlisted(unit, LISTED)),
    "long enough": View(
        lambda data: data.of_length(2),
        lambda unit: [b if len(b) > 1 else frozenset() for b in unit],
    ),
    "united": View(
        lambda data: replace(data, together=True).united(), lambda unit: [frozenset().union(*unit)]
    ),
    "capped, then catalogue": View(lambda data: in_catalogue(data.capped(2, 1))),
}


class Reading:
    """One form, with the options that it is read with."""

    def __init__(
        self, form: Form, *, by_user: bool = True, has_ids: bool = True, missing_user: str = "drop"
    ) -> None:
        self.form = form
        self.has_ids = has_ids or not form.has_lists
        self.by_user = by_user
        self.missing_user = missing_user
        self.meaning = Meaning(by_user, self.has_ids, missing_user)

    def read(self, file: File) -> Transactions:
        options: dict[str, Any] = {"items" if self.form.has_lists else "item": "i"}
        options |= {"basket": "b"} if self.has_ids else {}
        options |= {"user": "u", "missing_user": self.missing_user} if self.by_user else {}
        with tempfile.TemporaryDirectory() if self.form.on_disk else nullcontext("") as folder:
            return read_transactions(self.form.write(file, Path(folder)), **options)

    def __repr__(self) -> str:
        return f"{self.form}, {self.by_user=}, {self.has_ids=}, {self.missing_user=}"


def check_definition(reading: Reading, file: File) -> None:
    """The units, their baskets and their itemsets are those of the reference."""
    expected = reference.baskets(file.rows, reading.meaning)
    data = reading.read(file)
    levels = Counter(reference.supports(expected, 2).values())
    assert [*itemset_spectrum(data, 2).levels()] == sorted(levels.items(), reverse=True)
    for name, view in VIEWS.items():
        if view.definition is None:
            continue
        defined = [view.definition(unit) for unit in expected]
        found = view.of(data)
        assert as_multisets(units_of(found)) == as_multisets(defined), name
        for size in SIZES:
            supports = reference.supports(defined, size)
            assert reference.supports(units_of(found), size) == supports, name


def check_parts(reading: Reading, file: File) -> None:
    """A file is the sum of the files of its units, each alone; and caps are kept."""
    alone = []
    for numbers in reference.parts(file.rows, reading.meaning):
        rows = [file.rows[number] for number in numbers]
        [own] = reference.baskets(rows, reading.meaning)
        alone.append((own, reading.read(file.of(rows))))
    data = reading.read(file)
    for together in {False, reading.by_user}:
        sums: Counter[frozenset[Item]] = Counter()
        for _, part in alone:
            sums += level_sums(replace(part, together=together))
        assert level_sums(replace(data, together=together)) == sums
    for name, view in VIEWS.items():
        total: Held = Counter()
        for own, part in alone:
            seen = units_of(view.of(part))
            total += view.counted(seen)
            assert len(seen) == 1, name
            if view.caps is not None:
                max_basket, max_baskets = view.caps
                check_caps(max_basket, max_baskets if reading.by_user else 1, own, seen[0])
        assert view.counted(units_of(view.of(data))) == total, name


def level_sums(data: Transactions) -> Counter[frozenset[Item]]:
    """What units add to items, of which two count, and to pairs; nothing of what is 0."""
    items = LocalSource(data, Effort(threads=1)).items()
    codes = range(len(data.vocabulary))
    cells = [*([a] for a in codes), *([a, b] for b in codes for a in range(b))]
    pairs = items.among(np.array(codes, dtype=np.int64)).pair_level_sums(999)
    sums = [*items.level_sums(999, 2).tolist(), *pairs.tolist()]
    return +Counter(dict(zip(map(frozenset, items.named(cells)), sums, strict=True)))


def check_caps(max_basket: int, max_baskets: int, own: Any, counted: Any) -> None:
    """As many of a unit's own baskets count as may, each cut to its first items."""
    short = {reference.shortened(basket, max_basket) for basket in own if basket}
    left = [basket for basket in counted if basket]
    assert set(left) <= short
    assert len(left) <= max_baskets
    assert len(set(left)) == min(len(short), max_baskets)


def check_neighbours(reading: Reading, file: File, other: File) -> None:
    """If one unit's rows differ, no other unit does, and no support by more than 1."""
    data, others = reading.read(file), reading.read(other)
    for name, view in VIEWS.items():
        one, two = units_of(view.of(data)), units_of(view.of(others))
        gone, new = view.counted(one) - view.counted(two), view.counted(two) - view.counted(one)
        assert gone.total() <= 1, name
        assert new.total() <= 1, name
        assert abs(len(two) - len(one)) <= 1, name
        for size in SIZES:
            before, after = (reference.supports(units, size) for units in (one, two))
            moved = {after[itemset] - before[itemset] for itemset in before | after}
            # All in one direction where the number of units changes.
            assert moved <= ({-1, 0, 1} if len(one) == len(two) else {0, len(two) - len(one)}), name


def check_all_neighbours(reading: Reading, file: File, seed: int) -> None:
    """Take each unit out, and replace it by other rows, in another order each time."""
    order = random.Random(seed)
    for theirs in reference.parts(file.rows, reading.meaning):
        rest = [row for number, row in enumerate(file.rows) if number not in theirs]
        replaced = order.choices(rest, k=3) if rest else []
        user, basket, _ = file.rows[theirs[0]]
        if reading.by_user and reference.bare(user) is not None:
            replaced = [(user, own, items) for _, own, items in replaced]
        else:  # the unit is one basket
            replaced = [(user, basket, items) for _, _, items in replaced]
            replaced = replaced if reading.has_ids else replaced[:1]
        for rows in ([*rest], [*rest, *replaced]):
            order.shuffle(rows)
            check_neighbours(reading, file, file.of(rows))


Check = Callable[[Reading, File], None]
CHECKS: list[Check] = [
    check_definition,
    check_parts,
    lambda reading, file: check_all_neighbours(reading, file, len(file.rows)),
]


def readings(form: Form) -> st.SearchStrategy[Reading]:
    rules = st.sampled_from(["drop", "own-unit"])
    drawn: Any = {"by_user": st.booleans(), "has_ids": st.booleans()}
    return st.builds(Reading, st.just(form), missing_user=rules, **drawn)


every_form = pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
every_check = pytest.mark.parametrize("check", CHECKS, ids=["definition", "sum", "neighbours"])


# Of each of some twenty forms: the latter together as many as it takes below to meet any mistake.
@pytest.mark.parametrize("examples", [5, pytest.param(25, marks=pytest.mark.full)])
@every_check
@every_form
def test_reading_looks_at_one_unit_at_a_time(form: Form, check: Check, examples: int) -> None:
    @settings(max_examples=examples)
    @given(data=st.data())
    def examine(data: st.DataObject) -> None:
        with small_pieces(data.draw(st.sampled_from([1, 2, 5, 1000]))):
            check(data.draw(readings(form)), data.draw(drawn_files(form)))

    examine()


NAN = float("nan")
ZEROS_ASCENDING = ((-0.0, 0.0, (1,)), (0.0, -0.0, (2,)), (1.0, 0.0, (1,)))
ZEROS_IN_ANY_ORDER = ((0.0, 0.0, (1,)), (1.0, 1.0, (1,)), (-0.0, -0.0, (2,)))
# Files on which reading was once wrong, each in one form or another.
FOUND = {
    "one zero, ascending": File(ZEROS_ASCENDING, "float64", "float32"),
    "one zero, in any order": File(ZEROS_IN_ANY_ORDER, "float64", "float32"),
    "one id, in two ways": File((("7", 1, (1,)), ("8", 1, (1,)), (" 7.0", 2, (2,))), "string"),
    "user's order": File(((5, 2, (0,)), (5, 1, (1,)), (5, 3, (2,)), (4, 9, (0, 1)), (6, 0, (3,)))),
    "null items": File(((1, 1, (1.0, None)), (1, 2, (None,)), (2, 3, (2.5, 0.0))), items="float64"),
    "rows without a basket": File(((1, 1, (2,)), (1, None, (1,)), (1, 1, (1,)), (2, None, (3,)))),
    "no number": File(((1, NAN, (1,)), (1, 1.0, (2,)), (2, NAN, (1,))), baskets="float64"),
}


def fits(form: Form, file: File) -> bool:
    return {file.users, file.baskets} <= set(form.ids) and file.items in form.items


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "form"),
    [(name, form) for name, file in FOUND.items() for form in FORMS.values() if fits(form, file)],
    ids=str,
)
def test_what_was_once_wrong(name: str, form: Form) -> None:
    for reading in (Reading(form, missing_user="own-unit"), Reading(form, by_user=False)):
        check_definition(reading, FOUND[name])
        check_parts(reading, FOUND[name])


PAIRS = [(0.1, np.float32(0.1)), (float(2**53), np.int64(2**53 + 1)), (1, True), (1, Decimal(1))]


@pytest.mark.parametrize("pair", [*PAIRS, ("1", 1), (b"\xff", b"\xfe")])
def test_other_users_do_not_decide_whether_two_objects_are_one(pair: tuple[object, object]) -> None:
    def users(ids: list[object]) -> int:
        frame = pd.DataFrame({"u": pd.Series(ids, dtype=object), "b": 1, "i": 1})
        return read_transactions(frame, user="u", basket="b", item="i").units

    alone = users([*pair])
    for others in range(30):
        ids: list[object] = [other + 0.5 for other in range(others)]
        assert users([*ids, *pair]) == users([*pair, *ids]) == alone + others


@pytest.mark.parametrize("thing", [object(), frozenset("ab"), np.datetime64("2026-01-01")])
def test_objects_that_may_print_in_several_ways_are_no_ids(thing: object) -> None:
    frame = pd.DataFrame({"u": pd.Series([thing], dtype=object), "b": 1, "i": 1})
    # Versions of Arrow differ in what they take for a list.
    refused = "column 'u' of the frame (holds something else than texts|has type list)"
    with pytest.raises(DataError, match=refused):
        read_transactions(frame, user="u", basket="b", item="i")


@pytest.mark.parametrize("name", SOURCES)
@settings(max_examples=5)
@given(data=st.data(), size=st.integers(1, 6))
def test_a_source_is_the_sum_of_its_baskets(name: str, data: st.DataObject, size: int) -> None:
    texts = st.text("ab1\u00e9", min_size=1, max_size=2)
    items: st.SearchStrategy[Any] = texts if name in STRINGS_ONLY else st.integers(0, 9)
    given_baskets = data.draw(st.lists(st.lists(items, max_size=4), min_size=1, max_size=6))

    def read(baskets: list[list[Any]]) -> list[Basket]:
        with tempfile.TemporaryDirectory() as folder:
            source, options = SOURCES[name](baskets, Path(folder))
            return [basket for [basket] in units_of(read_transactions(source, **options))]

    with small_pieces(size), pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_sizes, "BLOCK_BYTES", size)
        assert read(given_baskets) == [basket for one in given_baskets for basket in read([one])]


LINES = st.text('ab01 ,;"\t\r\0\u00a0\x1c-', max_size=9)


@pytest.mark.parametrize(("suffix", "between"), [("csv", ","), ("tsv", "\t"), ("dat", " \t\v\f")])
@settings(max_examples=30)
@given(lines=st.lists(LINES, min_size=1, max_size=6), size=st.integers(1, 40))
def test_each_line_is_read_alone(suffix: str, between: str, lines: list[str], size: int) -> None:
    def read(lines: list[str]) -> list[Basket]:
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(chunk_sizes, "BLOCK_BYTES", size)
            path = Path(folder) / f"a.{suffix}"
            path.write_bytes("".join(line + "\n" for line in lines).encode())
            form = "fimi" if suffix == "dat" else "lines"
            return [basket for [basket] in units_of(read_transactions(path, input_format=form))]

    together = read(lines)
    assert together == [basket for line in lines for basket in read([line])]
    # A carriage return ends a line, too.
    ended = re.split(r"\r\r\n|\r\n?|\n", "".join(line + "\n" for line in lines))[:-1]
    for line, basket in zip(ended, together, strict=True):
        if '"' not in line or suffix == "dat":
            tokens = re.split(f"[{between}]", line)
            assert basket == {one for word in tokens if (one := reference.label(word)) is not None}


MUTANTS: dict[str, tuple[list[str], Any]] = {}


def mutant(*places: str) -> Callable[[Any], Any]:
    """Note a wrong function, and what it stands in the place of."""

    def noted(wrong: Any) -> Any:
        MUTANTS[wrong.__name__] = [f"fim_private.{place}" for place in places], wrong
        return wrong

    return noted


numbers_by_appearance, numbers_of = transactions._numbers_by_appearance, transactions._numbered
units_of_rows, vocabulary_of = transactions._units, canonical_vocabulary
pairs_by_second = transactions.grouping.numbers_of_pairs  # type: ignore[attr-defined]
cut_to, capped_to = Transactions.cut_to, Transactions.capped
_BOTH = ("portable", *(["compiled"] if "compiled" in COUNTERS else []))
COUNTED_BY = [f"counting.{name}" for name in _BOTH]
DRAWN = "reading.transactions.drawn_baskets"


@mutant("reading.transactions._numbers_by_appearance")
def merge_two_ids(keys: Any) -> Any:
    return np.maximum(numbers_by_appearance(keys), 1) - 1


@mutant("reading.record_batches.by_value")
def two_zeros(ids: Any) -> Any:
    return ids


@mutant("reading.transactions._numbered")
def number_each_batch_by_itself(parts: list[Any]) -> Any:
    numbers, above = [], 0
    for part in parts:
        numbers.append(numbers_of([part]) + np.int32(above))
        above = numbers[-1].max(initial=above - 1) + 1
    return np.concatenate(numbers)


@mutant("reading.transactions._numbers_by_appearance")
def a_basket_id_is_good_for_all_users(keys: Any) -> Any:
    one = pc.bit_wise_and(keys, 0xFFFFFFFF) if keys.type == pa.int64() else keys
    return numbers_by_appearance(one)


@mutant("reading.transactions.grouping.numbers_of_pairs")
def a_basket_id_belongs_to_its_first_user(first: Any, second: Any) -> Any:
    return pairs_by_second(np.zeros_like(first), second)


@mutant("reading.transactions._units")
def nobodys_rows_are_the_first_users(users: list[Any], basket: Any) -> Any:
    nobody = np.concatenate([part.is_null().to_numpy(zero_copy_only=False) for part in users])
    units = units_of_rows(users, basket)
    if nobody.any() and not nobody.all():
        units[nobody] = 0
    return np.unique(units, return_inverse=True)[1].astype(np.int32)


@mutant("reading.labels.canonical_vocabulary")
def judge_all_texts_together(labels: Any) -> Any:
    found, code = vocabulary_of(labels)
    if not len(found.strings):
        return found, code
    texts = [*map(str, found.integers.tolist()), *found.strings.to_pylist()]
    return Vocabulary(np.empty(0, dtype=np.int64), pa.array(texts, pa.string())), code


@mutant("reading.record_batches.integers_as_printed")
def two_ways_to_write_an_id(ids: Any) -> Any:
    return ids


@mutant("reading.transactions.Transactions.capped")
def no_cap(data: Transactions, *_: int) -> Transactions:
    return data


@mutant("reading.transactions.Transactions.cut_to")
def no_cut(data: Transactions, _: int) -> Transactions:
    return data


@mutant("reading.transactions.Transactions.cut_to")
def cut_by_how_many_units_there_are(data: Transactions, count: int) -> Transactions:
    offsets = data.offsets if data.unit_offsets is None else data.unit_offsets
    return cut_to(data, 1 + len(offsets) % count)


@mutant("reading.transactions.Transactions.capped")
def cap_by_the_largest(data: Transactions, max_basket: int, max_baskets: int) -> Transactions:
    largest = int(np.diff(data.offsets).max(initial=1))
    return capped_to(data, min(max_basket, largest - 1), max_baskets)


@mutant("reading.transactions.label_digests")
def order_by_the_codes_of_this_file(_: Any) -> Any:
    return lambda code: text_digest(str(code))


@mutant(DRAWN)
def order_by_all(items: Any, offsets: Any, unit_offsets: Any, digest_of: Any, count: int) -> Any:
    mixed = {code: text_digest(f"{digest_of(code)!r} {len(items)}") for code in items.tolist()}
    return drawn_baskets(items, offsets, unit_offsets, mixed.__getitem__, count)


@mutant(DRAWN)
def merge_if_another_has_many(items: Any, offsets: Any, unit_offsets: Any, *rest: Any) -> Any:
    """As it was: who has few loses equal baskets once anybody has more."""
    counts = drawn_baskets(items, offsets, unit_offsets, *rest)
    for first, last in pairwise(unit_offsets.tolist()):
        seen = set()
        for basket in range(first, last):
            codes = items[offsets[basket] : offsets[basket + 1]].tolist()
            content = sum(len(str(code)) for code in codes)
            counts[basket] &= content not in seen
            seen.add(content)
    return counts


@mutant(DRAWN)
def first_in_the_file(items: Any, offsets: Any, unit_offsets: Any, digests: Any, count: int) -> Any:
    return np.arange(len(offsets) - 1) - np.repeat(unit_offsets[:-1], np.diff(unit_offsets)) < count


@mutant(*(f"{module}.item_level_sums" for module in COUNTED_BY))
def items_that_all_have_most(data: Transactions, scale: int, most: int, *rest: Any) -> Any:
    """A unit's items cut to those that the whole file repeats most."""
    often = np.bincount(data.items, minlength=len(data.vocabulary))
    left = np.argsort(-often, kind="stable")[:most]
    return item_level_sums(data._with(np.isin(data.items, left)), scale, most, *rest)


@mutant(*(f"{module}.repeated_items" for module in COUNTED_BY))
def weighed_by_the_baskets_of_all(data: Transactions, number_of: Any) -> Any:
    """A user whose baskets count together has each item as often as the whole file does."""
    starts, items, repeats = repeated_items(data, number_of)
    return starts, items, np.bincount(items, repeats).astype(repeats.dtype)[items]


def is_caught(check: Callable[[], None]) -> bool:
    try:
        check()
    except AssertionError:
        return True
    return False


def some_file_is_caught(form: Form, checks: Sequence[Check]) -> bool:
    """Whether one of at most two thousand generated files fails one of these checks."""

    def fails(case: tuple[Reading, File]) -> bool:
        with small_pieces(2):
            return any(is_caught(partial(check, *case)) for check in checks)

    few = settings(max_examples=2000, derandomize=True, database=None, phases=[Phase.generate])
    try:
        files = drawn_files(form, only=["int64", "string"])
        find(st.tuples(readings(form), files), fails, settings=few)
    except NoSuchExample:
        return False
    return True


@pytest.mark.one_in(18)
@pytest.mark.parametrize("name", MUTANTS)
def test_reading_that_is_wrong_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    places, wrong = MUTANTS[name]
    for place in places:
        monkeypatch.setattr(place, wrong)
    if wrong in (two_zeros, two_ways_to_write_an_id):
        reading = Reading(FORMS["arrow_table"])
        found = FOUND["one zero, in any order" if wrong is two_zeros else "one id, in two ways"]
        assert is_caught(lambda: check_definition(reading, found))
    elif wrong is order_by_the_codes_of_this_file:
        # Generated files have few baskets of a user, so that it takes very many of them to meet two
        # orders.
        rows = [(user, basket, (3 * basket + user,)) for user in range(4) for basket in range(5)]
        assert is_caught(lambda: check_parts(Reading(FORMS["arrow_table"]), File(tuple(rows))))
    else:
        # The check of all neighbours takes longest, and is asked where it alone catches what is
        # wrong.
        checks = CHECKS[2:] if wrong is first_in_the_file else CHECKS[:2]
        form = FORMS["csv_rows" if wrong is judge_all_texts_together else "arrow_batches"]
        assert some_file_is_caught(form, checks)
