"""vote: what a block sees, what a question may do, what is drawn of the votes."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import oracles
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.counting.source import counter_for
from fim_private.dp.cost import ZcdpCost
from fim_private.dp.noise import Randomness
from fim_private.errors import LedgerError, ParameterError, PrivacyWarning
from fim_private.learning import voting
from fim_private.learning.voting import Ballots, blocks_of, named_question
from fim_private.mechanisms import Choosing
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import SupportSpectrum

LEVEL, POWER = 1e-6, 0.999
Seen = tuple[frozenset[Any], Counter[Any]]
Law = dict[str | None, float]


def labels(block: Transactions) -> list[Any]:
    return [block.vocabulary.label(code) for code in range(len(block.vocabulary))]


def baskets(block: Transactions) -> list[tuple[Any, ...]]:
    names = labels(block)
    ends = zip(block.offsets, block.offsets[1:], strict=False)
    named = (tuple(names[code] for code in block.items[one:two]) for one, two in ends)
    return [*named, *[()] * block.blank]


def units(block: Transactions) -> list[Any]:
    """The units of a block: baskets, or the baskets of each user in any order."""
    if block.unit_offsets is None:
        return baskets(block)
    ends = zip(block.unit_offsets, block.unit_offsets[1:], strict=False)
    return [tuple(sorted(baskets(block)[one:two])) for one, two in ends]


def seen(block: Transactions) -> Seen:
    """All that a block tells but for orders, which are drawn: its labels, and its units."""
    assert (block.read_as, block.rows, block.segments) == (None, None, None)
    return frozenset(labels(block)), Counter(units(block))


some_baskets = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=4), max_size=12)


def of_users(rows: list[list[list[str]]]) -> Transactions:
    """Purchases of users: each a list of baskets. Users without any are units, too."""
    nothing: list[str | None] = [None]
    table = [
        (user, f"{visit}", item)
        for user, own in enumerate(rows)
        for visit, basket in enumerate(own)
        for item in basket or nothing
    ]
    rows_ = [dict(zip(("who", "visit", "item"), row, strict=True)) for row in table]
    schema = pa.schema([("who", pa.int64()), ("visit", pa.string()), ("item", pa.string())])
    sales = pa.Table.from_pylist(rows_, schema=schema)
    return read_transactions(sales, user="who", basket="visit", item="item")


@given(
    some_baskets,
    st.lists(some_baskets.filter(len), max_size=6),
    st.integers(1, 5),
    st.integers(0, 99),
)
def test_each_unit_is_in_one_block_whole(rows: Any, users: Any, count: int, seed: int) -> None:
    for data in (read_transactions(rows), of_users(users)):
        found = [*blocks_of(data, count, Randomness.seeded(seed))]
        assert len(found) == count
        assert sum((Counter(units(block)) for block in found), Counter()) == Counter(units(data))
        for block in found:
            assert labels(block) == sorted({item for basket in baskets(block) for item in basket})
            assert (block.units, block.by_user) == (len(units(block)), data.by_user)


@given(
    st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=4), min_size=1, max_size=9),
    st.lists(st.sampled_from("hijk"), min_size=1, max_size=3),
    st.integers(0, 8),
)
def test_a_unit_changes_one_block(rows: list[list[str]], other: list[str], place: int) -> None:
    changed = [*rows]
    changed[place % len(rows)] = other
    assert changed_blocks(read_transactions(rows), read_transactions(changed)) <= 1
    users = [[[f"{n % 5}", f"{n % 3}"]] * (1 + n % 3) for n in range(20)]
    assert changed_blocks(of_users(users), of_users([*users[:-1], [["new"], other]])) == 1


def changed_blocks(*both: Transactions) -> int:
    one, two = ([seen(part) for part in blocks_of(data, 4, Randomness.seeded(1))] for data in both)
    return sum(a != b for a, b in zip(one, two, strict=True))


def test_a_list_of_all_labels_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [read_transactions([["a"]] * 8 + [[other]]) for other in "bc"]
    assert changed_blocks(*both) == 1
    monkeypatch.setattr(Transactions, "of_occurring_items", lambda self: self)
    assert changed_blocks(*both) == 4


def test_blocks_and_orders_are_drawn_evenly() -> None:
    draws, stream = 1_500, Randomness.seeded(5)
    many = read_transactions([[number] for number in range(3 * draws)])
    parts = enumerate(blocks_of(many, 2, stream))
    block_of = {item: place for place, block in parts for item in labels(block)}
    counts = Counter(tuple(block_of[3 * draw + part] for part in range(3)) for draw in range(draws))
    even = dict.fromkeys(product((0, 1), repeat=3), 1 / 8)
    uneven = {key: (0.37 if key[0] else 0.63) / 4 for key in even}
    assert oracles.detects(even, uneven, draws, level=LEVEL) > POWER
    assert oracles.chi_square_pvalue(counts, even, draws) > LEVEL
    few = read_transactions([["a"], ["b"], ["c"]])
    orders = Counter(tuple(baskets(next(iter(blocks_of(few, 1, stream))))) for _ in range(200))
    assert len(orders) == 6
    assert min(orders.values()) > 10


def counted(most: int, *given: Any) -> list[int]:
    """How many blocks gave each answer."""
    held, left = Ballots(most), iter(given)
    block = read_transactions([["a"]])
    for _ in given:
        held.ask(lambda _: next(left), block)
    return sorted(held.counts.values(), reverse=True)


def test_which_answers_are_the_same() -> None:
    assert counted(1, ["a"], ("a",), iter(["a"]), {"a"}, "a") == [5]
    assert counted(1, [1], [True], [1.0], [np.int64(1)]) == [1, 1, 1, 1]
    assert counted(1, [(1, 2)], [(True, 2)], [(1, 2)]) == [2, 1]
    assert counted(1, [0.0], [-0.0], [Decimal("1")], [Decimal("1.0")]) == [1, 1, 1, 1]
    assert counted(1, [frozenset({1, 2})], [frozenset({2, 1})], [frozenset({True, 2})]) == [2, 1]
    assert counted(2, ["a", "a", "b"], ["b"]) == [2, 1]


@dataclass(frozen=True)
class Best:
    item: str
    units: Any = field(compare=False, repr=False)


class Pair(NamedTuple):
    first: Best
    second: str


class Colour(Enum):
    RED = 1
    BLUE = 2


def test_an_answer_s_hidden_fields_are_no_way_out() -> None:
    one, two = Best("tea", 1), Best("tea", 2)
    assert one == two
    assert counted(1, [one], [two], [one], [Best("tea", True)]) == [2, 1, 1]
    assert counted(1, [(one,)], [(two,)], [Pair(one, "b")], [Pair(two, "b")]) == [*[1] * 4]
    assert counted(1, [Best("tea", one)], [Best("tea", two)]) == [1, 1]
    assert counted(1, [Best("tea", [1])]) == []  # what can be changed is no answer
    assert counted(1, [Colour.RED], [Colour.RED], [Colour.BLUE], [Best]) == [2, 1, 1]
    assert counted(1, [Pair(one, "b")], [Pair(one, "b")]) == [2]


class Panic(BaseException):
    """As pyo3 raises it where Rust panics."""


@pytest.mark.every_case
@pytest.mark.parametrize("kind", [ValueError, Panic])
def test_what_has_no_vote(kind: type[BaseException]) -> None:
    def failing(block: Transactions) -> list[str]:
        raise kind(labels(block))

    assert counted(1, ["a", "b"], [], None, [None], 3, [["unhashable"]], [1, 1.0]) == []
    held = Ballots(1)
    held.ask(failing, read_transactions([["a"]]))
    assert not held.counts

    def late() -> Iterator[str]:
        yield "a"
        raise kind("b")

    assert counted(2, late()) == []


@pytest.mark.every_case
@pytest.mark.parametrize("kind", [MemoryError, KeyboardInterrupt, SystemExit])
def test_what_ends_a_run(kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        fim.vote([["a"]] * 5, lambda _: (_ for _ in ()).throw(kind), blocks=2, seed=1)


def test_a_frozenset_does_not_tell_how_it_was_filled() -> None:
    # 8 and 16 fall on the same place of a small table: which comes first is seen.
    one, two = frozenset([8, 16]), frozenset([16, 8])
    assert one == two
    assert [*one] != [*two]
    assert [*voting._canonical(one)] == [*voting._canonical(two)]  # type: ignore[misc]
    nested = (frozenset([(1, one)]), "a")
    assert voting._canonical(nested) == nested


def law_of_votes(counts: dict[str, int], epsilon: float, delta: float, votes: int) -> Law:
    """Equation (7), replace-one, in floating point."""
    x = epsilon / 2
    number = votes * max((1 + math.exp(-x)) / delta, math.exp(-x) / x)
    weights: dict[str | None, float] = {name: math.exp(x * n) for name, n in counts.items() if n}
    weights[None] = math.ceil(number) * math.exp(2 * x)
    return {name: weight / math.fsum(weights.values()) for name, weight in weights.items()}


def test_draws_follow_the_law_and_ties_are_even() -> None:
    counts, draws, stream = {"a": 9, "b": 9, "c": 7, "d": 1}, 3_000, Randomness.seeded(2)
    held = Ballots(2)
    for name, number in counts.items():
        for _ in range(number):
            held.ask(lambda _, name=name: [name], read_transactions([]))  # type: ignore[misc]
    # as vote takes it, whatever the relation
    mechanism = Choosing(1, Fraction(1, 20), 2, "replace-one")
    right, wrong = (law_of_votes(counts, epsilon, 0.05, 2) for epsilon in (1.0, 1.3))
    drawn = Counter(held.choose(mechanism, stream) for _ in range(draws))
    assert oracles.detects(right, wrong, draws, level=LEVEL) > POWER
    assert oracles.chi_square_pvalue(drawn, right, draws) > LEVEL


ANSWERS = "abc"


def tables(most: int, rest: int) -> Iterator[Counter[str]]:
    """The votes of so many blocks, each of at most so many answers."""
    ballots_ = [own for size in range(most + 1) for own in combinations(ANSWERS, size)]
    names = ([name for own in some for name in own] for some in product(ballots_, repeat=rest))
    tallies = {tuple(sorted(Counter(own).items())) for own in names}
    yield from (Counter(dict(tally)) for tally in tallies)


def worst(law: Callable[[Counter[str]], Law], most: int, epsilon: float, rest: int = 3) -> float:
    """The least delta that holds at epsilon, over all votes of rest + 1 blocks."""
    own = [some for size in range(most + 1) for some in combinations(ANSWERS, size)]
    return max(
        oracles.hockey_stick(law(table + Counter(one)), law(table + Counter(two)), epsilon)
        for table in tables(most, rest)
        for one, two in product(own, repeat=2)
    )


@pytest.mark.parametrize("most", [1, 3])
def test_all_neighbours_are_within_the_guarantee_and_a_wrong_cap_is_caught(most: int) -> None:
    epsilon, delta = 0.8, 0.02
    used = worst(lambda table: law_of_votes(table, epsilon, delta, most), most, epsilon)
    assert 0.2 * delta < used <= delta
    if most == 3:
        # a mutant
        assert worst(lambda table: law_of_votes(table, epsilon, delta, 1), 3, epsilon) > delta


def test_constants_of_add_remove_do_not_hold() -> None:
    def stick(neighbors: str) -> float:
        mechanism = Choosing(1, 1e-6, 1, neighbors)
        one = mechanism.distribution(SupportSpectrum.from_supports([40, 40]))
        two = mechanism.distribution(SupportSpectrum.from_supports([41, 39]))
        before = {"a": one.probabilities[0] / 2, "b": one.probabilities[0] / 2, None: one.abstain}
        after = {"a": two.probabilities[0], "b": two.probabilities[1], None: two.abstain}
        both_ways = (before, after), (after, before)
        return max(oracles.hockey_stick(*laws, 0.9999) for laws in both_ways)

    assert stick("replace-one") < 1e-6 < 0.01 < stick("add-remove")


def by_hand(rows: list[list[str]], share: Fraction) -> tuple[Any, Any]:
    """The lift of each pair, and the confidence of each rule."""
    single, pair = oracles.brute_force_supports(rows, 1), oracles.brute_force_supports(rows, 2)
    enough = {both: count for both, count in pair.items() if count >= share * len(rows)}
    of = {key[0]: count for key, count in single.items()}
    lift = {(a, b): Fraction(x * len(rows), of[a] * of[b]) for (a, b), x in enough.items()}
    sides = ((x, a, b) for both, x in enough.items() for a, b in (both, both[::-1]))
    sure = {((a,), (b,)): Fraction(x, single[(a,)]) for x, a, b in sides}
    return lift, sure


@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=4), max_size=14),
    st.integers(1, 9),
    st.integers(1, 4),
)
def test_questions_name_the_best(rows: list[list[str]], tenths: int, count: int) -> None:
    block, share = read_transactions(rows), Fraction(tenths, 10)
    questions = (fim.HighestLift(share), fim.HighestConfidence(share))
    for question, scores in zip(questions, by_hand(rows, share), strict=True):
        found = question(block, count)
        assert len(found) == len({*found}) == min(count, len(scores))
        assert [scores[each] for each in found] == sorted(scores.values(), reverse=True)[:count]
    frequent, supports = fim.MostFrequent(2)(block, count), oracles.brute_force_supports(rows, 2)
    assert [supports[each] for each in frequent] == sorted(supports.values(), reverse=True)[:count]


def test_many_answers_take_one_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    block = read_transactions([rng.choice(60, 8, replace=False).tolist() for _ in range(400)])
    counter = counter_for(block, 2, 1)
    levels = counter.top(None, None).levels
    one_by_one = [
        tuple(sorted(counter.locate(support, place)))
        for support, number in levels
        for place in range(number)
    ]
    assert len(one_by_one) > 1000
    monkeypatch.setattr(type(counter), "locate", None)
    for count in (3, 700, 10**6):
        assert fim.MostFrequent(2)(block, count) == one_by_one[:count]
    assert fim.MostFrequent(9)(block, 5) == []


def test_rules_of_users_count_who_ever_bought_all_of_it() -> None:
    """Tea and milk by independent visits, which no basket has both of."""
    rows = [{"u": u, "b": 2 * u, "i": "tea"} for u in range(900) if u % 2]
    rows += [{"u": u, "b": 2 * u + 1, "i": "milk"} for u in range(900) if u % 2]
    for item in ("jam", "rye"):
        rows += [{"u": u, "b": 2 * u, "i": item} for u in range(900) if u % 3]
    asked: Any = {"user": "u", "basket": "b", "item": "i", "blocks": 60, "seed": 1, "votes": 1}
    table = pa.Table.from_pylist(rows)
    lift, confidence = fim.HighestLift(0.2), fim.HighestConfidence(0.2)
    for question in (lift, confidence):
        assert voting.voted(table, question, **asked).to_dict()["together"] == "user"
    assert voting.voted(table, lift, **asked).answer == ("milk", "tea")
    for other in (fim.MostFrequent(size=2), lambda block: ["one"]):
        assert "together" not in voting.voted(table, other, **asked).to_dict()
    asked["together"] = "basket"
    assert voting.voted(table, confidence, **asked).scope.together == "basket"
    with pytest.raises(ParameterError, match=r"^question highest-lift of users needs together"):
        fim.vote(table, lift, **asked)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("best", {}, "question must be one of highest-lift, highest-confidence, most-frequent"),
        ("highest-lift", {}, "question highest-lift needs min_share: which share of a block"),
        ("highest-confidence", {"min_share": 0.1, "size": 2}, "leave out size: question"),
        ("most-frequent", {"min_share": 0.1}, "leave out min_share: question most-frequent has"),
        ("highest-lift", {"min_share": 1.5}, "min_share must be a share above 0 and below 1, such"),
    ],
)
@pytest.mark.every_case
def test_questions_that_are_none(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as refused:
        named_question(name, **options)
    assert str(refused.value).startswith(message)


def most_bought(block: Transactions) -> list[str]:
    return [labels(block)[np.bincount(block.items).argmax()]]


def test_a_question_of_ones_own() -> None:
    rows = [["tea"], ["tea", "milk"], ["jam", "tea"]] * 200
    vote = partial(fim.vote, seed=1)
    assert vote(rows, most_bought, blocks=60) == "tea"
    assert vote(rows, most_bought, blocks=10) is None
    assert vote(rows, most_bought, blocks=60, epsilon=4.0, exclude=["tea", "milk"]) == "jam"
    assert vote([], most_bought, blocks=60) is None
    # What was read already, and what is read here, are the same; and a function of numbers is one,
    # too.
    assert vote(read_transactions(rows), lambda block: [bool(block.units)], blocks=60) is True


def test_the_result_says_what_was_promised() -> None:
    rows = [["tea", "milk"]] * 400
    found = voting.voted(rows, fim.MostFrequent(), blocks=60, neighbors="replace-one", seed=1)
    assert json.loads(json.dumps(found.to_dict())) == {
        "schema": 1, "private": False, "mechanism": "vote", "question": "most-frequent", "size": 2,
        "blocks": 60, "votes": 2, "epsilon": 1.0, "delta": 1e-06, "neighbors": "replace-one",
        "privacy_unit": "basket", "guarantee": found.guarantee, "units": 400, "abstained": False,
        "answer": {"items": ["milk", "tea"]},
    }  # fmt: skip
    assert found.guarantee.startswith("NOT PRIVATE")
    with pytest.warns(PrivacyWarning, match="epsilon 20 promises next to nothing") as warned:
        fim.vote([["a"]], most_bought, epsilon=20.0)
    assert warned[0].filename == __file__
    private = voting.voted(rows, fim.HighestLift(0.5), blocks=5)
    assert (private.private, private.abstained, private.units) == (True, True, None)
    assert "units" not in private.to_dict()
    assert private.guarantee.startswith("Guarantee (vote, ε = 1, δ = 1e-06): adding or removing")
    assert "about 38 blocks" in private.remarks[1]
    assert "but there are fewer" in private.remarks[1]
    unnamed = voting.voted(rows, most_bought, blocks=60, epsilon=2.0, seed=1)
    assert unnamed.title == "The answer, by a vote of 60 blocks"
    single = voting.voted(rows, most_bought, blocks=1, epsilon=2.0, seed=1)
    assert single.title == "The answer, by a vote of 1 block"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"blocks": 0}, "blocks must be a whole number of at least 1, not 0"),
        ({"epsilon": -1}, "epsilon must be a number above 0"),
        ({"delta": 0}, "delta must be a number above 0 and below 1"),
        ({"neighbors": "none"}, "neighbors must be one of"),
        ({"progress": 5}, "progress must be a function, not 5"),
        ({"question": "highest-lift"}, "question must be a function of one block"),
        ({"dataset": "sales"}, "dataset goes with ledger"),
        ({"together": "user"}, "together user needs user too"),
    ],
)
@pytest.mark.every_case
def test_what_is_wrong_is_said_before_anything_is_read(changes: Any, message: str) -> None:
    options = {"question": most_bought} | changes
    with pytest.raises(ParameterError) as refused:
        fim.vote("nowhere.parquet", options.pop("question"), **options)
    assert str(refused.value).startswith(message)


def test_it_is_charged_before_a_block_is_asked(tmp_path: Path) -> None:
    limit: Any = {"epsilon": 2, "delta": 1e-5, "composition": "basic"}
    ledger = fim.Ledger.create(tmp_path / "sales.ledger", **limit)
    charged: Any = {"blocks": 3, "ledger": ledger, "dataset": "sales"}
    entries: list[int] = []

    def watching(block: Transactions) -> list[str]:
        entries.append(len(ledger.entries))
        return []

    fim.vote([["a"]] * 5, watching, votes=2, **charged)
    assert entries == [1, 1, 1]
    fim.vote([["a"]] * 5, fim.HighestLift(0.04), **charged)
    one, two = ledger.entries
    assert (one.command, dict(one.parameters)) == ("vote", {"blocks": 3, "votes": 2})
    question = {"question": "highest-lift", "min_share": "0.04"}
    assert dict(two.parameters) == {**question, "blocks": 3, "votes": 2}
    assert two.zcdp == ZcdpCost(Fraction(1, 8), 1e-6)
    with pytest.raises(LedgerError):
        fim.vote("nowhere.parquet", watching, **charged)
    assert entries == [1, 1, 1]
    with pytest.raises(ParameterError, match="seed and ledger contradict each other"):
        fim.vote([["a"]], watching, **charged, seed=1)
